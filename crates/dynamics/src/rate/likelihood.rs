//! Change rate by maximum likelihood from polls at any spacing.
//!
//! ```text
//! ℓ(λ)  = Σ_changed ln(1 − e^(−λτ)) − λ Σ_same τ
//! ℓ′(λ) = Σ_changed τ/(e^(λτ) − 1) − Σ_same τ = 0
//! I(λ)  = Σ_changed τ² e^(λτ)/(e^(λτ) − 1)²              observed information; se = I^(−1/2)
//! ```
//!
//! ℓ is concave and ℓ′ falls from +∞, so the root is unique; where all polls saw a change there is none
//! (λ̂ = ∞), where none did λ̂ = 0. The 95 % interval holds the rates whose ℓ is within χ²₁(95 %)/2 = 1.9207 of
//! the best. Paper: CN-X4 (`docs/papers/cho-ntoulas-2002.md`). Cost: O(polls) per step, about fifty steps.

use super::{Estimate, Poll};
use crate::solve;

/// Half the 95 % point of χ² with one degree of freedom.
const DROP: f64 = 1.920_729_410_347_062;

/// What the likelihood says; `None` of no polls.
pub fn most_likely(polls: &[Poll]) -> Option<Estimate> {
    let quiet: f64 = polls.iter().filter(|poll| !poll.changed).map(|poll| poll.gap).sum();
    let (shortest, longest) = polls
        .iter()
        .map(|poll| poll.gap)
        .fold((f64::INFINITY, 0.0f64), |(low, high), gap| (low.min(gap), high.max(gap)));
    if polls.is_empty() {
        return None;
    }
    let any_changed = polls.iter().any(|poll| poll.changed);
    let rate = match (any_changed, quiet > 0.0) {
        (false, _) => 0.0,
        (true, false) => f64::INFINITY,
        // at e^(λτ) − 1 the score is positive below 1e-9 changes per longest gap, negative above 700 per shortest
        (true, true) => {
            solve::falling(1e-9 / longest, 700.0 / shortest, |rate| score(polls, quiet, rate))
        }
    };
    Some(Estimate { rate, ci95: profile(polls, quiet, rate, shortest, longest) })
}

/// ℓ′(λ)
fn score(polls: &[Poll], quiet: f64, rate: f64) -> f64 {
    let changed = polls.iter().filter(|poll| poll.changed);
    changed.map(|poll| poll.gap / (rate * poll.gap).exp_m1()).sum::<f64>() - quiet
}

/// I(λ): how sharply the likelihood is bent at λ.
pub fn information(polls: &[Poll], rate: f64) -> f64 {
    let changed = polls.iter().filter(|poll| poll.changed);
    let bend = |poll: &Poll| {
        let x = rate * poll.gap;
        poll.gap * poll.gap / (x.exp_m1() * -(-x).exp_m1())
    };
    changed.map(bend).sum()
}

/// ℓ(λ)
pub fn log_likelihood(polls: &[Poll], rate: f64) -> f64 {
    let term = |poll: &Poll| {
        if poll.changed { (-(-rate * poll.gap).exp_m1()).ln() } else { -rate * poll.gap }
    };
    polls.iter().map(term).sum()
}

fn profile(polls: &[Poll], quiet: f64, rate: f64, shortest: f64, longest: f64) -> [f64; 2] {
    let (floor, ceiling) = (1e-12 / longest, 1e3 / shortest);
    let best = log_likelihood(polls, rate.clamp(floor, ceiling));
    let short = |rate: f64| log_likelihood(polls, rate) - (best - DROP);
    let low = if rate > 0.0 {
        solve::falling(floor, rate.min(ceiling), |rate| -short(rate))
    } else {
        0.0
    };
    let high =
        if quiet > 0.0 { solve::falling(rate.max(floor), ceiling, short) } else { f64::INFINITY };
    [low, high]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rate::polls;

    #[test]
    fn cn_x4_irregular_polls() {
        let polls = polls(&[1.0, 2.0, 0.5, 3.0], &[1.0, 1.0, 0.25, 0.5, 2.0]);
        let estimate = most_likely(&polls).unwrap();
        assert!((estimate.rate - 0.542_252_851_5).abs() < 1e-9);
        assert!((information(&polls, estimate.rate) - 12.525_893).abs() < 1e-6);
        assert!((estimate.ci95[0] - 0.163_549_533_2).abs() < 1e-7);
        assert!((estimate.ci95[1] - 1.329_592_867_8).abs() < 1e-7);
    }

    #[test]
    fn all_or_none_changed_is_said_plainly() {
        let all = most_likely(&polls(&[1.0, 2.0], &[])).unwrap();
        assert!(all.rate.is_infinite() && all.ci95[0] > 0.0 && all.ci95[1].is_infinite());
        let none = most_likely(&polls(&[], &[1.0, 2.0])).unwrap();
        // e^(−3λ) ≥ e^(−1.92): λ ≤ 1.9207/3
        assert!(none.rate.abs() < 1e-12 && (none.ci95[1] - DROP / 3.0).abs() < 1e-6);
        assert_eq!(most_likely(&[]), None);
    }

    /// One look each way over the same gap: even odds, so e^(−λτ) = ½ and λ = ln 2 / τ.
    #[test]
    fn even_odds_by_hand() {
        let estimate = most_likely(&polls(&[4.0], &[4.0])).unwrap();
        assert!((estimate.rate - 2f64.ln() / 4.0).abs() < 1e-9);
    }

    proptest! {
        /// X-03: on regular polls it is −ln(1 − X/n).
        #[test]
        fn regular_polls_have_a_closed_form(x in 1u32..30, same in 1u32..30, gap in 0.1..10.0f64) {
            let polls = polls(&vec![gap; x as usize], &vec![gap; same as usize]);
            let regular = crate::rate::regular::most_likely(x, x + same).rate / gap;
            prop_assert!((most_likely(&polls).unwrap().rate / regular - 1.0).abs() < 1e-9);
        }

        #[test]
        fn seeing_a_change_never_lowers_the_rate(
            changed in prop::collection::vec(0.01..10.0f64, 1..10), same in prop::collection::vec(0.01..10.0f64, 1..10),
            gap in 0.01..10.0f64,
        ) {
            let before = most_likely(&polls(&changed, &same)).unwrap();
            let more: Vec<f64> = changed.iter().copied().chain([gap]).collect();
            let after = most_likely(&polls(&more, &same)).unwrap();
            prop_assert!(after.rate >= before.rate * (1.0 - 1e-9));
            prop_assert!(before.ci95[0] <= before.rate && before.rate <= before.ci95[1]);
        }
    }
}
