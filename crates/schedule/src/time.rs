//! Time as the scheduler knows it: whole microseconds, handed in from outside.
//!
//! Whole numbers, so that replaying a journal reaches bit for bit the same state. Nothing here reads
//! a clock. No paper.

use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::spec::Mistake;

const MICROS: i64 = 1_000_000;

/// A moment: microseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Time(i64);

/// A length of time in microseconds, never negative.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Span(i64);

impl Time {
    /// 1970-01-01 00:00 UTC.
    pub const ZERO: Self = Self(0);
    /// Before everything.
    pub const MIN: Self = Self(i64::MIN);
    /// Never.
    pub const MAX: Self = Self(i64::MAX);

    /// From microseconds since 1970.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// From whole seconds since 1970; far-off values stop at [`Time::MAX`].
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(MICROS))
    }

    /// Microseconds since 1970.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Seconds since 1970.
    pub fn secs(self) -> f64 {
        self.0 as f64 / MICROS as f64
    }

    /// From `earlier` to here; zero when `earlier` is later.
    pub fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0).max(0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The shortest step of time.
    pub const TICK: Self = Self(1);
    /// 24 hours.
    pub const DAY: Self = Self::from_secs(86_400);

    /// From microseconds; negative counts as zero.
    pub const fn from_micros(micros: i64) -> Self {
        Self(if micros > 0 { micros } else { 0 })
    }

    /// From whole seconds.
    pub const fn from_secs(secs: i64) -> Self {
        Self::from_micros(secs.saturating_mul(MICROS))
    }

    /// From seconds with a fraction, to the nearest microsecond.
    #[expect(clippy::cast_possible_truncation, reason = "float to int casts saturate, as wanted")]
    pub fn from_secs_f64(secs: f64) -> Self {
        Self::from_micros((secs * MICROS as f64).round() as i64)
    }

    /// Microseconds.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Seconds.
    pub fn secs(self) -> f64 {
        self.0 as f64 / MICROS as f64
    }

    /// This many of them in a row.
    #[must_use]
    pub const fn times(self, count: i64) -> Self {
        Self(self.0.saturating_mul(count))
    }
}

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub for Time {
    type Output = Span;
    fn sub(self, earlier: Self) -> Span {
        self.since(earlier)
    }
}

/// Units as people write them, longest first.
const UNITS: [(&str, i64); 7] = [
    ("w", 604_800 * MICROS),
    ("d", 86_400 * MICROS),
    ("h", 3_600 * MICROS),
    ("m", 60 * MICROS),
    ("s", MICROS),
    ("ms", 1_000),
    ("us", 1),
];

impl FromStr for Span {
    type Err = Mistake;

    /// `10m`, `1h30m`, `0.5d`, `2w`.
    fn from_str(text: &str) -> Result<Self, Mistake> {
        let wrong = || {
            Mistake(format!("`{text}` is not a duration; write it like `10m`, `1h30m` or `30d`"))
        };
        let mut rest = text.trim();
        let mut total = 0.0;
        if rest.is_empty() {
            return Err(wrong());
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
            let unit_end = rest[digits..]
                .find(|c: char| !c.is_ascii_alphabetic())
                .map_or(rest.len(), |n| digits + n);
            let number: f64 = rest[..digits].parse().map_err(|_| wrong())?;
            let unit = &rest[digits..unit_end];
            let (_, micros) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
            total += number * *micros as f64;
            rest = &rest[unit_end..];
        }
        if total > i64::MAX as f64 / 4.0 {
            return Err(Mistake(format!("`{text}` is longer than any run can last")));
        }
        Ok(Self::from_secs_f64(total / MICROS as f64))
    }
}

impl fmt::Display for Span {
    /// The way people write it: `1h30m`, `30d`, `0s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = self.0;
        if left == 0 {
            return f.write_str("0s");
        }
        for (unit, micros) in UNITS.into_iter().filter(|(unit, _)| *unit != "w") {
            if left >= micros {
                write!(f, "{}{unit}", left / micros)?;
                left %= micros;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_read_as_people_write_them() {
        for (text, secs) in [
            ("10m", 600.0),
            ("1h30m", 5_400.0),
            ("30d", 2_592_000.0),
            ("0.5h", 1_800.0),
            ("250ms", 0.25),
        ] {
            let span: Span = text.parse().unwrap();
            assert!((span.secs() - secs).abs() < 1e-9, "{text}");
        }
    }

    #[test]
    fn nonsense_is_named() {
        for text in ["", "10", "m", "1x", "1.2.3s", "-5m", "99999999999999w"] {
            let mistake = text.parse::<Span>().unwrap_err();
            assert!(mistake.to_string().contains(&format!("`{text}`")), "{mistake}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_can_be_read_back(micros in 0i64..1_000_000_000_000_000) {
            let span = Span::from_micros(micros);
            prop_assert_eq!(span.to_string().parse::<Span>().unwrap(), span);
        }

        #[test]
        fn time_never_wraps(a in any::<i64>(), b in 0i64..) {
            let (time, span) = (Time::from_micros(a), Span::from_micros(b));
            prop_assert!(time + span >= time);
            prop_assert_eq!(time - (time + span), Span::ZERO);
        }
    }
}
