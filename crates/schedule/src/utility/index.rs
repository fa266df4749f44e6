//! What a poll is worth after `elapsed` when urgency and life count: the marginal-value index in continuous time.
//!
//! A change s seconds old earns u(s)·L(s); changes come at rate Δ, so a poll τ after the last one earns g(τ) and is worth
//! V(τ) = g(τ) − τ·g′(τ) (B1):
//!
//! ```text
//! h(s)    Δ·u(s)·L(s)                     never rises
//! V(τ)    ∫₀^τ h(s) ds − τ·h(τ)           never falls
//!
//! append,    u = e^(−δs)                  V = (Δ/δ)·R₁(δτ)
//! overwrite, u = e^(−δs)                  V = Δ/(Δ+δ)·R₁((Δ+δ)τ)           R₁(x) = 1 − (1 + x)e^(−x)
//! ```
//!
//! Where the rate is only believed, h is averaged over the Gamma belief in closed form, and one integral does every pair:
//!
//! ```text
//! E[Δ]             a/b
//! E[Δ; overwrite]  (a/b)·(b/(b+s))^(a+1)
//! E[Δ; last Z]     Σ_{q<Z} of the term before × (a+q)/q · s/(b+s)
//! ```
//!
//! Paper: B1, WC-02 (`docs/papers/pandey-dhamdhere-olston-2004.md`). Urgencies counted in instants have no meaning
//! between them, and append without urgency makes no moment better than a later one: [`supported`] says so.

use dynamics::rate::Belief;

use super::{Life, Urgency, Worth};
use crate::spec::Mistake;

/// Whether a worth can steer polls that are not bound to instants.
pub fn supported(worth: Worth) -> Result<(), Mistake> {
    match (worth.urgency, worth.life) {
        (Urgency::PerTick(_) | Urgency::Polynomial(_), _) => Err(Mistake(format!(
            "`{}` counts in ticks, which only `simulate --tick` has; write `half-life 30m` or `within 2h`",
            worth.urgency
        ))),
        (Urgency::None, Life::Append) => Err(Mistake(
            "with life `append` and urgency `none` nothing is ever lost by waiting, so no moment is better than another; \
             give an urgency, such as `half-life 1d`"
                .to_owned(),
        )),
        _ => Ok(()),
    }
}

/// V(τ) over a belief about the change rate, importance 1.
pub fn value(belief: Belief, worth: Worth, elapsed: f64) -> f64 {
    if elapsed <= 0.0 {
        return 0.0;
    }
    let h = |s: f64| fade(worth.urgency, s) * changes_left(belief, worth.life, s);
    let end = elapsed.min(reach(worth));
    let at_end = if elapsed > end { 0.0 } else { h(elapsed) };
    (integral(h, end) - elapsed * at_end).max(0.0)
}

/// u(s)
fn fade(urgency: Urgency, seconds: f64) -> f64 {
    match urgency {
        Urgency::HalfLife(half) => (-seconds / half.secs() * std::f64::consts::LN_2).exp(),
        _ => 1.0,
    }
}

/// The age from which nothing is earned any more.
fn reach(worth: Worth) -> f64 {
    let urgent =
        if let Urgency::Within(window) = worth.urgency { window.secs() } else { f64::INFINITY };
    if let Life::For(window) = worth.life { urgent.min(window.secs()) } else { urgent }
}

/// E\[Δ·L(s)\]: how often a change happens that is still there s seconds later.
fn changes_left(belief: Belief, life: Life, seconds: f64) -> f64 {
    let (a, b) = belief.parameters();
    let rate = a / b;
    let changes = match life {
        Life::Append | Life::For(_) => return rate,
        Life::Overwrite => 1,
        Life::Last(changes) => changes,
    };
    let mut term = rate * (b / (b + seconds)).powf(a + 1.0);
    let mut sum = term;
    for q in 1..changes {
        let q = f64::from(q);
        term *= (a + q) / q * seconds / (b + seconds);
        sum += term;
        // from its peak on it falls; what is left cannot matter
        if term < 1e-16 * sum && q > a * seconds / b {
            break;
        }
    }
    sum
}

/// ∫ of a smooth falling function from 0 to `end`: panels that double, five Gauss–Legendre points each.
fn integral(h: impl Fn(f64) -> f64, end: f64) -> f64 {
    const POINTS: [(f64, f64); 5] = [
        (0.0, 0.568_888_888_888_888_9),
        (-0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
        (0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
        (-0.906_179_845_938_664, 0.236_926_885_056_189_08),
        (0.906_179_845_938_664, 0.236_926_885_056_189_08),
    ];
    let panel = |from: f64, to: f64| {
        let (middle, half) = (f64::midpoint(from, to), (to - from) / 2.0);
        half * POINTS.iter().map(|(x, weight)| weight * h(middle + half * x)).sum::<f64>()
    };
    (0..PANELS)
        .fold((0.0, end), |(sum, to), at| {
            let from = if at + 1 == PANELS { 0.0 } else { to / 2.0 };
            (sum + panel(from, to), from)
        })
        .0
}

/// Each half as long as the one above it: the last begins at 0 and is a 65,536th of the whole.
const PANELS: u32 = 17;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Span;
    use crate::value::Objective;

    fn half_life(seconds: f64) -> Urgency {
        Urgency::HalfLife(Span::from_secs_f64(seconds))
    }

    fn r1(x: f64) -> f64 {
        1.0 - (1.0 + x) * (-x).exp()
    }

    /// A belief so sure that it is a rate.
    fn sure(rate: f64) -> Belief {
        Belief::new(1e7, 1e7 / rate)
    }

    proptest! {
        #[test]
        fn b1_the_closed_forms_of_a_known_rate(rate in 1e-4..1e-1f64, half in 60.0..1e5f64, elapsed in 60.0..1e5f64) {
            let decay = std::f64::consts::LN_2 / half;
            let of = |life, urgency| value(sure(rate), Worth { urgency, life }, elapsed);
            let append = rate / decay * r1(decay * elapsed);
            let both = rate + decay;
            let overwrite = rate / both * r1(both * elapsed);
            let near = |ours: f64, formula: f64| (ours - formula).abs() < 1e-5 * (formula + 1e-3);
            prop_assert!(near(of(Life::Append, half_life(half)), append), "{} {append}", of(Life::Append, half_life(half)));
            prop_assert!(near(of(Life::Overwrite, half_life(half)), overwrite));
        }

        /// A source that says nothing of worth is polled for captured changes.
        #[test]
        fn the_default_worth_is_the_captured_objective(a in 0.5..20.0f64, b in 100.0..1e6f64, elapsed in 1.0..1e6f64) {
            let belief = Belief::new(a, b);
            let (ours, theirs) = (value(belief, Worth::default(), elapsed), Objective::Captured.believed_value(belief, elapsed));
            prop_assert!((ours - theirs).abs() < 1e-6 * (theirs + 1e-3), "{ours} {theirs}");
        }

        #[test]
        fn value_never_falls(
            which in 0usize..4, z in 1u32..30, a in 0.5..20.0f64, b in 100.0..1e6f64, t in 1.0..1e6f64, more in 1.0..3.0f64,
        ) {
            let life = [Life::Append, Life::Overwrite, Life::Last(z), Life::For(Span::from_secs(5_000))][which];
            for urgency in [half_life(3_600.0), Urgency::Within(Span::from_secs(7_200)), Urgency::None] {
                let v = |elapsed| value(Belief::new(a, b), Worth { urgency, life }, elapsed);
                prop_assert!(v(t) <= v(t * more) * (1.0 + 1e-6) + 1e-9, "{} {}", v(t), v(t * more));
            }
        }
    }

    /// Last Z, no urgency, known rate, x = Δτ: V = E[min(N, Z)] − x·P(N < Z). Z = 2, x = 1: 2 − 5/e.
    #[test]
    fn last_two_by_hand() {
        let worth = Worth { urgency: Urgency::None, life: Life::Last(2) };
        let expected = 2.0 - 3.0 * (-1f64).exp() - 2.0 * (-1f64).exp();
        assert!((value(sure(0.01), worth, 100.0) - expected).abs() < 1e-5);
    }

    /// Within W and append: nothing is lost before W, everything after: the moment is W.
    #[test]
    fn a_window_is_polled_at_its_end() {
        let worth = Worth { urgency: Urgency::Within(Span::from_secs(100)), life: Life::Append };
        assert!(value(sure(0.01), worth, 99.0).abs() < 1e-9);
        assert!((value(sure(0.01), worth, 101.0) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn what_cannot_steer_is_refused() {
        let refused = |urgency: &str, life: &str| {
            supported(Worth { urgency: urgency.parse().unwrap(), life: life.parse().unwrap() })
                .unwrap_err()
                .to_string()
        };
        assert!(refused("per-tick 0.9", "append").contains("`per-tick 0.9`"));
        assert!(refused("none", "append").contains("half-life"));
        assert!(supported(Worth::default()).is_ok());
    }
}
