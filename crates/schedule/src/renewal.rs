//! The law of a source's updates as a belief, and what a poll is worth by it.
//!
//! With G_U the chance that it changed within τ of a look, a poll after τ is worth V = g − τg′ of what it pays (B1,
//! last line):
//!
//! ```text
//! captured    V = G_U(τ) − τ g_U(τ)                    Σ w · 1{θ ≤ τ}
//! freshness   V = ∫₀^τ Ḡ_U − τ Ḡ_U(τ)                  Σ w · ( θ/2           if θ ≤ τ,  else τ²/2θ )
//! age         V = τ D(τ) − ∫₀^τ D,  D = ∫ G_U          Σ w · ( τ²/2 − θ²/6   if θ ≤ τ,  else τ³/3θ )
//! ```
//!
//! The sums are over the parts (θ, w) of an [`AgeLaw`]: exact, and rising in τ. Putting Ḡ_U into the Poisson formulas
//! instead would be wrong. A law is learned by the mixture likelihood from the latest looks, once there are many and a
//! test says with a chance of error below a thousandth that the source is not Poisson; until then, and for all others,
//! the Gamma belief holds.
//!
//! Paper: B1, B11, BS-47 (`docs/papers/li-cline-loguinov-2015.md`). Cost: a fit of a few milliseconds every fifty
//! looks.

use std::collections::VecDeque;

use dynamics::diagnosis;
use dynamics::history::{History, Look};
use dynamics::interval::{AgeLaw, mixture};
use dynamics::solve;
use serde::{Deserialize, Serialize};

use crate::source::grow;
use crate::value::Objective;
use crate::{SourceIx, Time};

/// Looks that are remembered, and between two fits.
const LONGEST: usize = 400;
const EVERY: u32 = 50;
/// What makes a history long.
const LONG: usize = 150;
const CHANGES: usize = 30;
/// From here on a source is clearly not Poisson.
const CLEARLY: f64 = 1e-3;
/// Parts lighter than this move nothing.
const LIGHT: f64 = 1e-6;
/// Waits looked at, in seconds: from a microsecond to a century.
const WAITS: (f64, f64) = (1e-6, 3.2e9);

/// Laws of sources, by ordinal; a source that has not been looked at has no record.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Laws {
    records: Vec<Option<Box<Record>>>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Record {
    looks: VecDeque<Look>,
    since_fit: u32,
    law: Option<AgeLaw>,
}

impl Laws {
    /// The source's law, if it has one of its own.
    pub(crate) fn of(&self, source: SourceIx) -> Option<&AgeLaw> {
        self.records.get(source.ix())?.as_ref()?.law.as_ref()
    }

    pub(crate) fn forget(&mut self, source: SourceIx) {
        if let Some(record) = self.records.get_mut(source.ix()) {
            *record = None;
        }
    }

    /// A look at `at` compared with the one at `since`.
    pub(crate) fn hear(&mut self, source: SourceIx, since: Time, at: Time, changed: bool) {
        let record = grow(&mut self.records, source.ix(), || None).get_or_insert_default();
        record.hear(seconds(since), seconds(at), changed);
    }
}

fn seconds(time: Time) -> f64 {
    time.micros() as f64 / 1e6
}

impl Record {
    fn hear(&mut self, since: f64, at: f64, changed: bool) {
        // a look that compares with another than the last one begins a new history
        let follows = self.looks.back().is_some_and(|last| (last.at - since).abs() < 1e-6);
        if !follows {
            self.looks.clear();
            self.looks.push_back(Look { at: since, changed: false, age: None });
        }
        if at <= since {
            return;
        }
        self.looks.push_back(Look { at, changed, age: None });
        if self.looks.len() > LONGEST {
            self.looks.pop_front();
        }
        self.since_fit += 1;
        if self.since_fit >= EVERY {
            self.since_fit = 0;
            self.law = self.learned();
        }
    }

    fn learned(&self) -> Option<AgeLaw> {
        let history = History::new(self.looks.iter().copied().collect()).ok()?;
        let long = self.looks.len() >= LONG && history.detections().count() >= CHANGES;
        let clear = long && diagnosis::poisson(&history)?.p_value < CLEARLY;
        let law = mixture::fit(&history).filter(|_| clear)?;
        let parts = law.parts().iter().copied().filter(|&(_, weight)| weight > LIGHT);
        Some(AgeLaw::new(parts.collect()))
    }
}

/// V(τ) by this law, importance 1.
pub fn value(law: &AgeLaw, objective: Objective, elapsed: f64) -> f64 {
    let tau = elapsed.max(0.0);
    let part = |theta: f64| match objective {
        // worth that fades is not known for laws: what is captured stands for it
        Objective::Captured | Objective::Utility => f64::from(u8::from(theta <= tau)),
        Objective::Freshness if theta <= tau => theta / 2.0,
        Objective::Freshness => tau * tau / (2.0 * theta),
        Objective::Age if theta <= tau => tau * tau / 2.0 - theta * theta / 6.0,
        Objective::Age => tau.powi(3) / (3.0 * theta),
    };
    law.parts().iter().map(|&(theta, weight)| weight * part(theta)).sum()
}

/// The τ at which V reaches `price`; `None` if that takes longer than a century.
pub fn elapsed_at(law: &AgeLaw, objective: Objective, price: f64) -> Option<f64> {
    let short = |tau: f64| price - value(law, objective, tau);
    (short(WAITS.1) <= 0.0).then(|| solve::falling(WAITS.0, WAITS.1, short))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Span;

    const ALL: [Objective; 3] = [Objective::Captured, Objective::Freshness, Objective::Age];

    fn any_law() -> impl Strategy<Value = AgeLaw> {
        prop::collection::btree_map(1u32..5_000, 0.01..1.0f64, 1..12).prop_map(|parts| {
            let whole: f64 = parts.values().sum();
            AgeLaw::new(parts.into_iter().map(|(t, w)| (f64::from(t), w / whole)).collect())
        })
    }

    /// A thousand parts like an exponential age of mean 100: its density's slope, −g′, spread over θ.
    fn nearly_poisson() -> AgeLaw {
        let part = |n: u32| {
            let theta = f64::from(n) - 0.5;
            (theta, theta / 1e4 * (-theta / 100.0).exp())
        };
        AgeLaw::new((1..2_000).map(part).collect())
    }

    /// B1: for a Poisson source the general value is the Poisson one.
    #[test]
    fn a_poisson_law_is_worth_what_poisson_is() {
        for objective in ALL {
            for tau in [20.0, 100.0, 300.0] {
                let (ours, poisson) =
                    (value(&nearly_poisson(), objective, tau), objective.value(0.01, tau));
                assert!(
                    (ours / poisson - 1.0).abs() < 0.02,
                    "{objective:?} {tau}: {ours} {poisson}"
                );
            }
        }
    }

    fn polled(period: f64, jitter: impl Fn(u32) -> f64) -> Laws {
        let mut laws = Laws::default();
        let (mut before, mut seen) = (0.0, 0.0);
        for n in 1..600 {
            let at = f64::from(n) + 0.9 * jitter(n);
            let updates = (at / period).floor();
            let time = |t: f64| Time::ZERO + Span::from_secs_f64(t);
            laws.hear(SourceIx::FIRST, time(before), time(at), updates > seen);
            (before, seen) = (at, updates);
        }
        laws
    }

    fn luck(n: u32) -> f64 {
        (crate::chance::draw(5, [u64::from(n)]) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// An update every 4.3 s, polled about once a second: known by its clock, so worth a poll just then.
    #[test]
    fn clockwork_gets_a_law_of_its_own() {
        let laws = polled(4.3, luck);
        let law = laws.of(SourceIx::FIRST).expect("a law");
        let (early, late) =
            (value(law, Objective::Captured, 3.0), value(law, Objective::Captured, 6.0));
        assert!(early < 0.2 && late > 0.8, "{early} {late}");
        let mut gone = laws.clone();
        gone.forget(SourceIx::FIRST);
        assert!(gone.of(SourceIx::FIRST).is_none());
    }

    /// A look that compares with another than the last begins anew: nothing is learned across it.
    #[test]
    fn a_broken_history_begins_anew() {
        let mut laws = polled(4.3, luck);
        laws.hear(SourceIx::FIRST, Time::from_secs(10_000), Time::from_secs(10_001), true);
        assert_eq!(laws.records[0].as_ref().unwrap().looks.len(), 2);
    }

    proptest! {
        /// V = g − τg′ by differences: captured pays G_U, freshness ∫Ḡ_U.
        #[test]
        fn values_are_what_the_payments_say(law in any_law(), tau in 1.0..6_000.0f64) {
            let step = tau * 1e-6;
            let slope = (law.age_cdf(tau + step) - law.age_cdf(tau - step)) / (2.0 * step);
            let captured = law.age_cdf(tau) - tau * slope;
            let kink = law.parts().iter().any(|&(theta, _)| (theta - tau).abs() < 2.0 * step);
            prop_assert!(kink || (value(&law, Objective::Captured, tau) - captured).abs() < 1e-6);
            let steps = 2_000;
            let width = tau / f64::from(steps);
            let fresh: f64 = (0..steps).map(|n| (1.0 - law.age_cdf((f64::from(n) + 0.5) * width)) * width).sum();
            let freshness = fresh - tau * (1.0 - law.age_cdf(tau));
            prop_assert!((value(&law, Objective::Freshness, tau) - freshness).abs() < 1e-3 * tau);
        }

        #[test]
        fn value_never_falls_and_prices_are_met(which in 0usize..3, law in any_law(), tau in 1.0..6_000.0f64, more in 0.0..5_000.0f64) {
            let here = value(&law, ALL[which], tau);
            prop_assert!(here <= value(&law, ALL[which], tau + more) * (1.0 + 1e-12) + 1e-12);
            if here > 1e-6 {
                let met = elapsed_at(&law, ALL[which], here * 0.999).unwrap();
                prop_assert!(met <= tau * (1.0 + 1e-6) && value(&law, ALL[which], met * (1.0 + 1e-9)) >= here * 0.99);
            }
        }
    }
}
