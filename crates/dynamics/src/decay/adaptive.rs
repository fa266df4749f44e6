//! The paper's adaptive autoregression: after each sync the model is pushed towards what was seen.
//!
//! ```text
//! D̂, D       decay of the cycle, forecast and seen;  g = ∇D̂ in (α, β…)
//! full        θ ← θ + τ (D − D̂) g/‖g‖²                       normalised least mean squares
//! intercept   α ← α + τ (D − D̂)/g_α                          τ = 1 would have forecast D exactly
//! ```
//!
//! The paper says "pushed towards the newly observed one" and no more; this reading is ours. An update under which
//! shocks would no longer die out is not made. After a gap only the sum of its steps is known: it is laid out as the
//! forecast was, the difference spread evenly. τ → 0 is the static model. Paper: SA-13, SA-19
//! (`docs/papers/repository-quality.md`).

use serde::{Deserialize, Serialize};

use super::Ar;

/// What is pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rule {
    /// α and every β.
    Full,
    /// α alone.
    Intercept,
}

/// An autoregression that learns from every sync.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Adaptive {
    model: Ar,
    rule: Rule,
    rate: f64,
    past: Vec<f64>,
}

impl Adaptive {
    /// Starts from a fitted model and the steps before; `rate` is τ in [0, 1].
    pub fn new(model: Ar, past: &[f64], rule: Rule, rate: f64) -> Self {
        let mut adaptive = Self { model, rule, rate, past: Vec::new() };
        adaptive.remember(past);
        adaptive
    }

    /// The model as it stands.
    pub fn model(&self) -> &Ar {
        &self.model
    }

    /// What comes next.
    pub fn forecast(&self, ahead: usize) -> super::Forecast {
        self.model.forecast(&self.past, ahead)
    }

    /// A sync after `gap` steps saw ln q = `seen`. Was the model moved?
    pub fn synced(&mut self, gap: usize, seen: f64) -> bool {
        if gap == 0 {
            return false;
        }
        let forecast = self.forecast(gap);
        let miss = seen - forecast.sums[gap - 1];
        let slope = self.model.slope(&self.past, gap);
        let mut next = self.model.clone();
        match self.rule {
            Rule::Intercept => next.intercept += self.rate * miss / slope[0],
            Rule::Full => {
                let push = self.rate * miss / slope.iter().map(|g| g * g).sum::<f64>();
                next.intercept += push * slope[0];
                next.weights.iter_mut().zip(&slope[1..]).for_each(|(b, g)| *b += push * g);
            }
        }
        let sound = next.is_stationary() && next.intercept.is_finite();
        if sound {
            self.model = next;
        }
        let spread: Vec<f64> = forecast.steps.iter().map(|d| d + miss / gap as f64).collect();
        self.remember(&spread);
        sound
    }

    /// Keeps as many steps as the longest lag asks for.
    fn remember(&mut self, steps: &[f64]) {
        self.past.extend_from_slice(steps);
        let spare = self.past.len().saturating_sub(self.model.memory());
        self.past.drain(..spare);
    }
}

#[cfg(test)]
mod laws_of_it {
    use proptest::prelude::*;

    use super::*;

    fn ar(intercept: f64, weight: f64) -> Ar {
        Ar {
            intercept,
            lags: vec![1],
            weights: vec![weight],
            variance: 1e-4,
            steps: 0,
            covariance: Vec::new(),
        }
    }

    /// AR(1) with α = −.01, β = .5 after d = −.02 forecasts −.24 over 12 steps; −.35 is seen, τ = .2.
    #[test]
    fn sa_13_by_hand() {
        let forecast = |adaptive: &Adaptive| adaptive.model().forecast(&[-0.02], 12).sums[11];
        let start = |rule| Adaptive::new(ar(-0.01, 0.5), &[-0.02], rule, 0.2);
        assert!((forecast(&start(Rule::Full)) + 0.24).abs() < 1e-12);
        let mut one = start(Rule::Intercept);
        assert!(one.synced(12, -0.35));
        assert!((one.model().intercept + 0.010_999_977_8).abs() < 1e-9);
        assert!((forecast(&one) + 0.262).abs() < 1e-9);
        let mut full = start(Rule::Full);
        assert!(full.synced(12, -0.35));
        assert!((full.model().intercept + 0.010_999_58).abs() < 1e-8, "{:?}", full.model());
        assert!((full.model().weights[0] - 0.500_019_99).abs() < 1e-8);
        assert!((forecast(&full) + 0.262_000_7).abs() < 1e-7);
    }

    #[test]
    fn an_update_that_would_explode_is_not_made() {
        let mut adaptive = Adaptive::new(ar(-0.001, 0.98), &[-3.0], Rule::Full, 1.0);
        let before = adaptive.model().clone();
        assert!(!adaptive.synced(2, -9.0));
        assert_eq!(adaptive.model(), &before);
    }

    proptest! {
        #[test]
        fn sa_13_tau_one_reproduces_and_tau_zero_stands_still(seen in -2.0..0.0f64, gap in 1usize..20, b in -0.8..0.8f64) {
            let mut all = Adaptive::new(ar(-0.01, b), &[-0.02], Rule::Intercept, 1.0);
            all.synced(gap, seen);
            prop_assert!((all.model().forecast(&[-0.02], gap).sums[gap - 1] - seen).abs() < 1e-9);
            for rule in [Rule::Full, Rule::Intercept] {
                let mut none = Adaptive::new(ar(-0.01, b), &[-0.02], rule, 0.0);
                none.synced(gap, seen);
                prop_assert_eq!(none.model(), &ar(-0.01, b));
            }
        }
    }
}
