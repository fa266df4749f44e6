//! What a poll is worth after `elapsed`, for each goal, when the change rate is known.
//!
//! If waiting τ between polls pays g(τ) per poll, polling is worth it from the τ on at which
//! V(τ) = g(τ) − τ g′(τ) reaches the price of a poll. With x = Δτ and R₁(x) = 1 − (1 + x)e^(−x):
//!
//! ```text
//! captured    V = R₁(x)                                      at most 1
//! freshness   V = R₁(x) / Δ                                  at most 1/Δ
//! age         V = ( x²/2 + x e^(−x) − (1 − e^(−x)) ) / Δ²    without bound
//! ```
//!
//! Where the rate is only believed, V is averaged over the belief ([`Belief`] has the closed forms): that the rate may
//! be high keeps an unknown source worth a look.
//!
//! V never falls as τ grows, so each price has one τ. Plainly written both expressions cancel for small x; the
//! first terms of their series stand in there. Paper: B1; Olston and Pandey's form for age
//! (`docs/papers/cho-ntoulas-2002.md`, "the frequency policy").

use dynamics::rate::Belief;
use dynamics::solve;
use serde::{Deserialize, Serialize};

/// What the user wants most of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Objective {
    /// Changes captured.
    Captured,
    /// Time the copy is up to date.
    Freshness,
    /// Little time since it went stale.
    Age,
    /// What changes are worth, by each source's urgency and life ([`crate::utility::index`]); of one that says nothing
    /// of them, captured changes.
    Utility,
}

impl std::str::FromStr for Objective {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "captured" => Ok(Self::Captured),
            "freshness" => Ok(Self::Freshness),
            "age" => Ok(Self::Age),
            "utility" => Ok(Self::Utility),
            _ => Err("it must be `captured`, `freshness`, `age` or `utility`"),
        }
    }
}

impl Objective {
    /// V(τ) at change rate Δ > 0, importance 1.
    pub fn value(self, rate: f64, elapsed: f64) -> f64 {
        let x = rate * elapsed;
        match self {
            Self::Captured | Self::Utility => captured(x),
            Self::Freshness => captured(x) / rate,
            Self::Age => aged(x) / (rate * rate),
        }
    }

    /// E\[V(τ)\] over a belief about the change rate, importance 1.
    pub fn believed_value(self, belief: Belief, elapsed: f64) -> f64 {
        match self {
            Self::Captured | Self::Utility => belief.capture_value(elapsed),
            Self::Freshness => belief.freshness_value(elapsed),
            Self::Age => belief.age_value(elapsed),
        }
    }

    /// The τ at which E\[V\] reaches `price`; see [`elapsed_at`].
    pub fn believed_elapsed_at(self, belief: Belief, price: f64) -> Option<f64> {
        elapsed_at(-belief.mean().ln(), price, |elapsed| self.believed_value(belief, elapsed))
    }

    /// What V tends to: at or above this price the source is never worth a poll.
    pub fn ceiling(self, rate: f64) -> f64 {
        match self {
            Self::Captured => 1.0,
            Self::Freshness => 1.0 / rate,
            Self::Age | Self::Utility => f64::INFINITY,
        }
    }

    /// The τ at which V reaches `price`; `None` if it never does.
    pub fn elapsed_at(self, rate: f64, price: f64) -> Option<f64> {
        if price >= self.ceiling(rate) {
            return None;
        }
        let short = |x: f64| price - self.value(rate, x / rate);
        let mut high = 1.0;
        while short(high) > 0.0 && high < 1e9 {
            high *= 4.0;
        }
        Some(solve::falling(1e-9, high, short) / rate)
    }
}

/// The τ at which a value that never falls reaches `price`, to a per mille of it, looked for around the exponential of
/// `guess`; `None` if that takes longer than a century.
///
/// ln V is nearly straight in ln τ, so a few steps of false position find it.
pub fn elapsed_at(guess: f64, price: f64, worth: impl Fn(f64) -> f64) -> Option<f64> {
    let over = |ln_secs: f64| {
        let value = worth(ln_secs.exp());
        value.max(f64::MIN_POSITIVE).ln() - price.max(f64::MIN_POSITIVE).ln()
    };
    let (mut low, mut high) = (guess, guess);
    let (mut below, mut above) = (over(guess), over(guess));
    while below > 0.0 && low > LN_WAITS.0 {
        (high, above) = (low, below);
        low -= STRIDE;
        below = over(low);
    }
    while above < 0.0 && high < LN_WAITS.1 {
        (low, below) = (high, above);
        high += STRIDE;
        above = over(high);
    }
    if above < 0.0 {
        return None;
    }
    for _ in 0..STEPS {
        let slope = (above - below).max(f64::MIN_POSITIVE);
        let at = (low - below * (high - low) / slope).clamp(low, high);
        let error = over(at);
        if error.abs() < 1e-3 {
            return Some(at.exp());
        }
        // the end that stays counts half (Illinois), so that both move
        if error < 0.0 {
            (low, below, above) = (at, error, above / 2.0);
        } else {
            (high, above, below) = (at, error, below / 2.0);
        }
    }
    Some(high.exp())
}

/// ln of the waits looked at, in seconds: from a microsecond to a century.
const LN_WAITS: (f64, f64) = (-13.815_510_557_964_274, 21.876_912);
/// How the bracket grows, in ln seconds.
const STRIDE: f64 = 2.0;
/// False position needs about five.
const STEPS: u32 = 40;

/// R₁(x) = 1 − (1 + x)e^(−x)
fn captured(x: f64) -> f64 {
    if x < 1e-2 {
        x * x * (1.0 / 2.0 - x * (1.0 / 3.0 - x * (1.0 / 8.0 - x * (1.0 / 30.0 - x / 144.0))))
    } else {
        -(-x).exp_m1() - x * (-x).exp()
    }
}

/// x²/2 + x e^(−x) − (1 − e^(−x))
fn aged(x: f64) -> f64 {
    if x < 1e-2 {
        x * x * x * (1.0 / 3.0 - x * (1.0 / 8.0 - x * (1.0 / 30.0 - x / 144.0)))
    } else {
        x * x / 2.0 + x * (-x).exp() + (-x).exp_m1()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Objective; 3] = [Objective::Captured, Objective::Freshness, Objective::Age];

    #[test]
    fn the_series_meet_the_closed_forms() {
        for form in [captured, aged] {
            let (below, above) = (form(0.01 * (1.0 - 1e-12)), form(0.01 * (1.0 + 1e-12)));
            assert!((below / above - 1.0).abs() < 1e-9, "{below} {above}");
        }
    }

    proptest! {
        #[test]
        fn the_price_is_met_at_the_returned_time(which in 0usize..3, rate in 1e-3..1e3f64, share in 0.001..0.999f64) {
            let objective = ALL[which];
            let price = if objective == Objective::Age { share * 100.0 / (rate * rate) } else { share * objective.ceiling(rate) };
            let elapsed = objective.elapsed_at(rate, price).unwrap();
            prop_assert!((objective.value(rate, elapsed) / price - 1.0).abs() < 1e-6);
        }

        #[test]
        fn a_believed_price_is_met_at_the_returned_time(which in 0usize..3, a in 0.1..20.0f64, b in 10.0..1e6f64, at in 1.0..1e6f64) {
            let (objective, belief) = (ALL[which], Belief::new(a, b));
            let price = objective.believed_value(belief, at);
            if price > 1e-9 && price < 0.999 * objective.ceiling(0.0) {
                let elapsed = objective.believed_elapsed_at(belief, price).unwrap();
                let met = objective.believed_value(belief, elapsed);
                prop_assert!((met / price - 1.0).abs() < 1e-2, "{met} {price}");
            }
        }

        #[test]
        fn value_never_falls(which in 0usize..3, rate in 1e-3..1e3f64, t in 0.0..10.0f64, more in 0.0..10.0f64) {
            prop_assert!(ALL[which].value(rate, t) <= ALL[which].value(rate, t + more) * (1.0 + 1e-12) + 1e-15);
        }

        /// V is the slope of the goal in the polling rate: for freshness F(ξ), dF/dξ at ξ = 1/τ.
        #[test]
        fn freshness_value_is_the_slope_of_freshness(rate in 0.1..10.0f64, elapsed in 0.1..10.0f64) {
            let fresh = |poll_rate: f64| dynamics::freshness::periodic_freshness(rate, 1.0 / poll_rate);
            let (at, step) = (1.0 / elapsed, 1e-5 / elapsed);
            let slope = (fresh(at + step) - fresh(at - step)) / (2.0 * step);
            prop_assert!((Objective::Freshness.value(rate, elapsed) - slope).abs() < 1e-4 * (1.0 + slope));
        }
    }
}
