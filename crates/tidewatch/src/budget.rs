//! `--budget`: a count or share per cycle, or a flow: `28%`, `100000`, `600/h`, `28%/30d`.

use std::str::FromStr;

use schedule::Span;
use schedule::spec::Mistake;

/// A budget as written; what it comes to depends on how many sources there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Budget {
    amount: Amount,
    /// `None`: per cycle.
    pub(crate) per: Option<Span>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Amount {
    Polls(u64),
    Share(f64),
}

impl FromStr for Budget {
    type Err = Mistake;

    fn from_str(text: &str) -> Result<Self, Mistake> {
        let (amount, per) = match text.split_once('/') {
            None => (text, None),
            Some((amount, per)) => (amount, Some(span(per, text)?)),
        };
        Ok(Self { amount: self::amount(amount.trim(), text)?, per })
    }
}

fn span(per: &str, whole: &str) -> Result<Span, Mistake> {
    let per = per.trim();
    let bare = per.chars().all(|c| c.is_ascii_alphabetic());
    let span: Span =
        if bare { format!("1{per}") } else { per.to_owned() }.parse().map_err(|_| wrong(whole))?;
    if span == Span::ZERO { Err(wrong(whole)) } else { Ok(span) }
}

fn amount(text: &str, whole: &str) -> Result<Amount, Mistake> {
    if let Some(percent) = text.strip_suffix('%') {
        let share: f64 = percent.trim().parse().map_err(|_| wrong(whole))?;
        return if (0.0..=1e6).contains(&share) {
            Ok(Amount::Share(share / 100.0))
        } else {
            Err(wrong(whole))
        };
    }
    text.replace([',', '_'], "").parse().map(Amount::Polls).map_err(|_| wrong(whole))
}

fn wrong(text: &str) -> Mistake {
    Mistake(format!(
        "`{text}` is not a budget; write polls per cycle (`28%` of the sources, or `100000`) or a flow (`600/h`, `28%/30d`)"
    ))
}

/// Shares are kept to a thousandth of a poll, so that a small flow is not rounded away.
const FINE: i64 = 1_000;

impl Budget {
    /// R = floor(sources × share), or the count.
    pub(crate) fn per_cycle(self, sources: usize) -> u64 {
        match self.amount {
            Amount::Polls(polls) => polls,
            Amount::Share(share) => floor(share * sources as f64),
        }
    }

    /// The flow, if it is written as one that does not depend on the number of sources.
    pub(crate) fn fixed_flow(self) -> Option<(u64, Span)> {
        match (self.amount, self.per) {
            (Amount::Polls(polls), Some(per)) => Some((polls, per)),
            _ => None,
        }
    }

    /// The flow as polls per span.
    pub(crate) fn flow(self, sources: usize, per: Span) -> (u64, Span) {
        match self.amount {
            Amount::Polls(polls) => (polls, per),
            Amount::Share(share) => (floor(share * sources as f64 * FINE as f64), per.times(FINE)),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative; the cast saturates"
)]
fn floor(polls: f64) -> u64 {
    // a share that was meant to be whole must not lose a poll to rounding
    (polls + 1e-9).floor() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_counts_and_flows() {
        let read = |text: &str| text.parse::<Budget>().unwrap();
        assert_eq!(read("28%").per_cycle(79_532), 22_268);
        assert_eq!(read("10%").per_cycle(50), 5);
        assert_eq!(read("100,000").per_cycle(5), 100_000);
        assert_eq!(read("600/h").flow(5, Span::from_secs(3_600)), (600, Span::from_secs(3_600)));
        assert_eq!(read("600/h").per, Some(Span::from_secs(3_600)));
        assert_eq!(read("0.2%/1d").flow(20_242, Span::DAY), (40_484, Span::DAY.times(1_000)));
    }

    #[test]
    fn nonsense_is_named() {
        for text in ["", "lots", "-5", "10%%", "5/", "5/0s", "5/x", "-1%"] {
            assert!(
                text.parse::<Budget>().unwrap_err().to_string().contains("is not a budget"),
                "{text}"
            );
        }
    }
}
