//! Hosts in trouble: how long each is left alone.
//!
//! ```text
//! failures in a row     1     2     3    …
//! left alone for       30 s   1 min  2 min …  at most 6 h,   each ± a quarter by chance
//! ```
//!
//! A host that says how long (Retry-After) is believed, if that is longer. Chance is a hash of host and count, so a
//! restart rolls no other dice. One good answer and all is forgotten.

use std::time::Duration;

use schedule::{HostIx, Span, chance};

const FIRST: Span = Span::from_secs(30);
const LONGEST: Span = Span::from_secs(6 * 3_600);

/// Failures in a row, by host.
#[derive(Clone, Debug, Default)]
pub struct Trouble {
    failures: Vec<u32>,
}

impl Trouble {
    /// The host answered.
    pub fn over(&mut self, host: HostIx) {
        if let Some(failures) = self.failures.get_mut(host.ix()) {
            *failures = 0;
        }
    }

    /// The host failed again, and perhaps said how long to wait: how long to leave it alone.
    pub fn again(&mut self, host: HostIx, asked: Option<Duration>) -> Span {
        if self.failures.len() <= host.ix() {
            self.failures.resize(host.ix() + 1, 0);
        }
        let failures = &mut self.failures[host.ix()];
        *failures = failures.saturating_add(1);
        let asked = asked.map_or(Span::ZERO, |asked| Span::from_secs_f64(asked.as_secs_f64()));
        rest(host, *failures).max(asked)
    }
}

fn rest(host: HostIx, failures: u32) -> Span {
    let doubled = FIRST.times(1 << failures.saturating_sub(1).min(16)).min(LONGEST);
    let draw = chance::draw(u64::from(failures), [u64::from(host.raw())]) as f64 / u64::MAX as f64;
    Span::from_secs_f64(doubled.secs() * (0.75 + draw / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_up_to_six_hours_and_is_forgotten_after_one_answer() {
        let (mut trouble, host) = (Trouble::default(), HostIx::new(3));
        let rests: Vec<f64> = (0..20).map(|_| trouble.again(host, None).secs()).collect();
        for (at, rest) in rests.iter().enumerate() {
            let expected = (30.0 * 2f64.powi(i32::try_from(at).unwrap())).min(21_600.0);
            assert!((0.75..=1.25).contains(&(rest / expected)), "{at}: {rest}");
        }
        trouble.over(host);
        assert!(trouble.again(host, None).secs() < 40.0);
    }

    #[test]
    fn a_host_that_says_how_long_is_believed() {
        let mut trouble = Trouble::default();
        let asked = Some(Duration::from_secs(3_600));
        assert_eq!(trouble.again(HostIx::FIRST, asked), Span::from_secs(3_600));
    }
}
