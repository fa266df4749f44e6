//! Water-filling: the polling rates that earn most within a budget, when change rates are known.
//!
//! ```text
//! maximise  Σ wᵢ·goal(Δᵢ, ξᵢ)   subject to  Σ ξᵢ = B
//! optimum:  wᵢ·V(Δᵢ, 1/ξᵢ) = price for every source polled, ξᵢ = 0 where even its ceiling is below the price
//! ```
//!
//! At the optimum one more poll is worth the same everywhere. Each source's rate follows from that price, and
//! their sum falls as the price rises, so one bisection meets the budget. For freshness this starves sources
//! that change too fast to be caught; for captured changes with equal importance it is exactly proportional to
//! the change rate.
//!
//! Sources with equal rate and importance form one class, so the cost is that of the distinct values. Paper:
//! CN-X1 and B2 (`docs/papers/cho-ntoulas-2002.md`).

use dynamics::solve;

use crate::value::Objective;

/// Sources alike: how many, how fast they change, how much they matter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// Change rate Δ, positive.
    pub rate: f64,
    /// Importance w, positive.
    pub importance: f64,
    /// How many sources.
    pub count: f64,
}

/// Polling rate of each source of each class; together they make up the budget.
pub fn rates(classes: &[Class], objective: Objective, budget: f64) -> Vec<f64> {
    let most = classes
        .iter()
        .map(|class| class.importance * objective.ceiling(class.rate).min(1e18 / class.rate));
    let Some(high) = most.reduce(f64::max).filter(|_| budget > 0.0) else {
        return vec![0.0; classes.len()];
    };
    let at = |price: f64| -> Vec<f64> {
        classes.iter().map(|class| rate_at(class, objective, price)).collect()
    };
    let total = |rates: &[f64]| {
        classes.iter().zip(rates).map(|(class, rate)| class.count * rate).sum::<f64>()
    };
    let price = solve::falling(high * 1e-30, high, |price| total(&at(price)) - budget);
    between(&at(price * (1.0 - 1e-9)), &at(price * (1.0 + 1e-9)), |rates| total(rates), budget)
}

/// The mix of a little too much and a little too little that meets the budget exactly. Just below its ceiling a
/// source's rate jumps to zero faster than a price can be written down; the mix fills that step.
fn between(more: &[f64], less: &[f64], total: impl Fn(&[f64]) -> f64, budget: f64) -> Vec<f64> {
    let (most, least) = (total(more), total(less));
    let part = if most > least { ((budget - least) / (most - least)).clamp(0.0, 1.0) } else { 0.5 };
    more.iter().zip(less).map(|(more, less)| less + part * (more - less)).collect()
}

/// ξ(price): how often a source is polled when a poll costs that much.
fn rate_at(class: &Class, objective: Objective, price: f64) -> f64 {
    objective.elapsed_at(class.rate, price / class.importance).map_or(0.0, |elapsed| 1.0 / elapsed)
}

#[cfg(test)]
mod tests {
    use dynamics::freshness::{periodic_age_of_first_change, periodic_freshness};
    use proptest::prelude::*;

    use super::*;

    fn five() -> Vec<Class> {
        (1..=5).map(|rate| Class { rate: f64::from(rate), importance: 1.0, count: 1.0 }).collect()
    }

    fn check(objective: Objective, expected: [f64; 5]) {
        let got = rates(&five(), objective, 5.0);
        for (got, expected) in got.iter().zip(expected) {
            assert!((got - expected).abs() < 1e-3, "{objective:?}: {got} for {expected}");
        }
    }

    /// Five pages changing 1..5 times a day, five polls a day (published to two digits; golden/alloc5.json).
    #[test]
    fn cn_x1_optimal_rates_of_five_pages() {
        check(Objective::Freshness, [1.149_892, 1.358_412, 1.353_835, 1.137_860, 0.0]);
        check(Objective::Age, [0.834_870, 0.967_925, 1.033_520, 1.070_613, 1.093_072]);
        check(Objective::Captured, [1.0 / 3.0, 2.0 / 3.0, 1.0, 4.0 / 3.0, 5.0 / 3.0]);
    }

    #[test]
    fn cn_x1_mean_freshness_and_age() {
        let mean = |polls: &[f64], of: &dyn Fn(f64, f64) -> f64| {
            polls
                .iter()
                .zip(1..=5)
                .map(|(&poll_rate, rate)| of(f64::from(rate), poll_rate))
                .sum::<f64>()
                / 5.0
        };
        let fresh = |rate, poll_rate: f64| {
            if poll_rate > 0.0 { periodic_freshness(rate, 1.0 / poll_rate) } else { 0.0 }
        };
        let age = |rate, poll_rate: f64| periodic_age_of_first_change(rate, 1.0 / poll_rate);
        let best = rates(&five(), Objective::Freshness, 5.0);
        let proportional: Vec<f64> = (1..=5).map(|rate| f64::from(rate) / 3.0).collect();
        assert!((mean(&best, &fresh) - 0.373_889).abs() < 1e-5);
        assert!((mean(&[1.0; 5], &fresh) - 0.365_053).abs() < 1e-5);
        assert!((mean(&proportional, &fresh) - 0.316_738).abs() < 1e-5);
        assert!((mean(&rates(&five(), Objective::Age, 5.0), &age) - 0.250_335).abs() < 1e-5);
        assert!((mean(&[1.0; 5], &age) - 0.254_324).abs() < 1e-5);
        assert!((mean(&proportional, &age) - 0.372_977).abs() < 1e-5);
    }

    fn any_classes() -> impl Strategy<Value = Vec<Class>> {
        let class = (0.01..100.0f64, 0.1..10.0f64, 1.0..50.0f64);
        let class = class.prop_map(|(rate, importance, count)| Class { rate, importance, count });
        prop::collection::vec(class, 1..12)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

        #[test]
        fn spends_the_budget_at_one_price(classes in any_classes(), budget in 0.1..1000.0f64, which in 0usize..3) {
            let objective = [Objective::Captured, Objective::Freshness, Objective::Age][which];
            let rates = rates(&classes, objective, budget);
            let spent: f64 = classes.iter().zip(&rates).map(|(class, rate)| class.count * rate).sum();
            prop_assert!((spent / budget - 1.0).abs() < 1e-6, "{} of {}", spent, budget);
            let prices: Vec<f64> = classes
                .iter()
                .zip(&rates)
                .filter(|&(_, &rate)| rate > 0.0)
                .map(|(class, rate)| class.importance * objective.value(class.rate, 1.0 / rate))
                .collect();
            prop_assert!(prices.iter().all(|price| (price / prices[0] - 1.0).abs() < 1e-5));
        }
    }

    #[test]
    fn nothing_to_poll_or_nothing_to_spend() {
        assert!(rates(&[], Objective::Age, 1.0).is_empty());
        assert!(rates(&five(), Objective::Freshness, 0.0).iter().all(|&rate| rate.abs() < 1e-300));
    }
}
