//! Times and spans as they are written for people and programs.

use jiff::Timestamp;
use schedule::{Span, Time};

/// Seconds, as rates need them.
pub mod seconds {
    /// In a day.
    pub const PER_DAY: f64 = 86_400.0;
}

/// `2026-11-16T09:30:00Z`, to the second; a time no calendar has is written as its number.
pub fn rfc3339(time: Time) -> String {
    match Timestamp::from_microsecond(time.micros()) {
        Ok(at) => at.round(jiff::Unit::Second).unwrap_or(at).to_string(),
        Err(_) => time.micros().to_string(),
    }
}

/// `3 min ago`, `in 2.0 h`, `now`.
pub fn relative(time: Time, now: Time) -> String {
    let (ago, ahead) = (now - time, time - now);
    if ago > Span::from_secs(1) {
        format!("{} ago", duration(ago.secs()))
    } else if ahead > Span::from_secs(1) {
        format!("in {}", duration(ahead.secs()))
    } else {
        "now".to_owned()
    }
}

/// `3.2 d`, `14 min`, `0 s`.
pub fn duration(seconds: f64) -> String {
    let units = [(86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s")];
    match units.into_iter().find(|&(size, _)| seconds >= size) {
        Some((size, unit)) if seconds / size < 9.95 => format!("{:.1} {unit}", seconds / size),
        Some((size, unit)) => format!("{:.0} {unit}", seconds / size),
        None if seconds < 0.0005 => "0 s".to_owned(),
        None => format!("{:.0} ms", seconds * 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_well() {
        let now = Time::from_secs(1_700_000_000);
        assert_eq!(rfc3339(now), "2023-11-14T22:13:20Z");
        assert_eq!(relative(now, now + Span::from_secs(180)), "3.0 min ago");
        assert_eq!(relative(now + Span::from_secs(7_200), now), "in 2.0 h");
        assert_eq!(
            [0.0, 0.02, 59.0, 5_400.0, 864_000.0].map(duration),
            ["0 s", "20 ms", "59 s", "1.5 h", "10 d"]
        );
    }
}
