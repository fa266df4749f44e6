//! The law of the time between updates, learned from polls alone.
//!
//! | method | file | looks at | samples | estimates | exact for |
//! | --- | --- | --- | --- | --- | --- |
//! | M1 | [`largest_age`] | ages | the last age before each detection | between F_U and G_U | Poisson |
//! | M2 | [`all_ages`] | ages | every age | G_U | any source, any polls |
//! | M3 | [`detected_gaps`] | comparisons, constant Δ | polls from detection to detection | between F_U and G_U | Poisson |
//! | M4 | [`stepped_ages`] | comparisons, constant Δ | polls since the last detection | G_U at nΔ | any source |
//! | M5 | [`capped_gaps`] | comparisons, constant Δ | M3's gaps, capped | G_U at nΔ | any source |
//! | G-M4 | [`bracketed_ages`] | comparisons | time since the last look before the last change | above G_U | constant Δ |
//! | M6 | [`pairs`] | comparisons | every pair of looks, by distance | G_U | polls whose distances reach everywhere |
//! | mixture | [`mixture`] | both | what each look says of the age | G_U, F_U | any source, any polls |
//!
//! From G_U to F_U = 1 − g_U/g_U(0): [`recover`] differentiates as the paper does, [`concave`] first bends the estimate
//! to what an age law must be, [`mixture`] never leaves such laws ([`law`]). [`slope`] is the rate μ = g_U(0) alone.
//! [`bootstrap`] says how sure any of it is.
//!
//! Undefined is `None`, never zero. Estimators hear looks one by one and add up over the stretches of a history
//! ([`Stream`]). Paper: BS-10..BS-46, B11, B12 (`docs/papers/li-cline-loguinov-2015.md`).

pub mod all_ages;
pub mod bootstrap;
pub mod bracketed_ages;
pub mod capped_gaps;
pub mod concave;
pub mod detected_gaps;
pub mod empirical;
pub mod largest_age;
pub mod law;
pub mod mixture;
pub mod pairs;
pub mod recover;
pub mod slope;
pub mod stepped_ages;

pub use law::AgeLaw;
pub use pairs::Pairs;

use crate::history::{History, Look};

/// An estimator that hears looks one by one. What two stretches of a history told adds up to what the whole tells.
pub trait Stream: Sized {
    /// The next look.
    fn hear(&mut self, look: Look);

    /// What the looks right after these told.
    fn join(&mut self, later: Self);

    /// Having heard all of `history`.
    #[must_use]
    fn having_heard(mut self, history: &History) -> Self {
        history.looks().iter().for_each(|&look| self.hear(look));
        self
    }
}

/// The methods, as people name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The largest age of each version seen.
    M1,
    /// All ages.
    M2,
    /// Gaps between detections.
    M3,
    /// Ages in whole polls.
    M4,
    /// Capped gaps.
    M5,
    /// Ages rounded up to the look before the change.
    GM4,
    /// All pairs.
    M6,
    /// One likelihood for ages and comparisons.
    Mixture,
    /// A Poisson source's rate.
    Rate,
}

/// What a method needs of the polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// Any spacing.
    Any,
    /// All gaps alike.
    Constant,
    /// Irregular, so that distances of looks reach everywhere.
    Irregular,
}

/// What a method's distribution tends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// G_U everywhere.
    Ages,
    /// G_U at multiples of the gap.
    SteppedAges,
    /// G_U, and F_U from it.
    AgesAndIntervals,
    /// Something between F_U and G_U; both, where the source is Poisson.
    Between,
    /// Something above both.
    Above,
}

/// A line of the table of methods (BS-46).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ability {
    /// Which.
    pub method: Method,
    /// What people write.
    pub name: &'static str,
    /// Does the source have to tell ages?
    pub needs_ages: bool,
    /// What it needs of the polls.
    pub gaps: Gaps,
    /// What it estimates.
    pub target: Target,
    /// Right only for a Poisson source.
    pub poisson_only: bool,
    /// Work for n looks, of which k lie within the farthest distance of interest.
    pub cost: &'static str,
}

/// The paper's taxonomy (its Figure 2), and ours beside it.
pub const ABILITIES: [Ability; 9] = {
    const fn line(
        method: Method,
        name: &'static str,
        needs_ages: bool,
        gaps: Gaps,
        target: Target,
        cost: &'static str,
    ) -> Ability {
        let poisson_only = matches!(target, Target::Between) || matches!(method, Method::Rate);
        Ability { method, name, needs_ages, gaps, target, poisson_only, cost }
    }
    use Gaps::{Any, Constant, Irregular};
    use Target::{Above, Ages, AgesAndIntervals, Between, SteppedAges};
    [
        line(Method::M1, "m1", true, Any, Between, "n"),
        line(Method::M2, "m2", true, Any, Ages, "n"),
        line(Method::M3, "m3", false, Constant, Between, "n"),
        line(Method::M4, "m4", false, Constant, SteppedAges, "n"),
        line(Method::M5, "m5", false, Constant, SteppedAges, "n"),
        line(Method::GM4, "gm4", false, Any, Above, "n"),
        line(Method::M6, "m6", false, Irregular, Ages, "n·k"),
        line(Method::Mixture, "mixture", false, Any, AgesAndIntervals, "n + bins·80 a step"),
        line(Method::Rate, "rate", false, Any, AgesAndIntervals, "n a step"),
    ]
};

impl Method {
    /// Its line in the table.
    pub fn ability(self) -> Ability {
        ABILITIES.into_iter().find(|line| line.method == self).unwrap_or(ABILITIES[0])
    }

    /// The method people call this.
    pub fn named(name: &str) -> Option<Self> {
        ABILITIES.iter().find(|line| line.name == name).map(|line| line.method)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bs_46_the_taxonomy() {
        let shaded: Vec<_> = ABILITIES.iter().filter(|a| a.poisson_only).map(|a| a.name).collect();
        assert_eq!(shaded, ["m1", "m3", "rate"]);
        let aged: Vec<_> = ABILITIES.iter().filter(|a| a.needs_ages).map(|a| a.name).collect();
        assert_eq!(aged, ["m1", "m2"]);
        for ability in ABILITIES {
            assert_eq!(Method::named(ability.name), Some(ability.method));
            assert_eq!(ability.method.ability(), ability);
        }
        assert_eq!(Method::named("m7"), None);
    }
}

/// Random histories, and the law that stretches add up, for the tests of every estimator.
#[cfg(test)]
pub(crate) mod testing {
    use std::fmt::Debug;

    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::Stream;
    use crate::history::History;
    use crate::process::Process;

    /// The paper's source: Pareto, α = 3, β = 1.
    pub(crate) const PAPER: Process = Process::Pareto { mean: 0.5, shape: 3.0 };

    /// Ticks of a seeded generator.
    pub(crate) fn rng(seed: u64) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(seed)
    }

    /// A blind poller's history of `updates`, polled by `sampling`, over (0, `horizon`].
    pub(crate) fn history(
        updates: &Process,
        sampling: &Process,
        horizon: f64,
        seed: u64,
    ) -> History {
        let mut rng = rng(seed);
        let path = updates.path(horizon, &mut rng);
        let polls = sampling.polls(horizon, &mut rng);
        History::blind(&path, &polls)
    }

    /// Histories short and long, of sources slow and fast, polled irregularly or by the clock.
    pub(crate) fn any_history() -> impl Strategy<Value = History> {
        (0u64..10_000, 0usize..4, 0.05..3.0f64, 0.0..60.0f64).prop_map(
            |(seed, law, mean, horizon)| {
                let sampling = [
                    Process::Constant { period: 1.0 },
                    Process::Exponential { mean: 1.0 },
                    Process::Uniform { mean: 1.0 },
                    Process::Lattice { mean: 1.5, step: 0.5 },
                ];
                history(&Process::Pareto { mean, shape: 3.0 }, &sampling[law], horizon, seed)
            },
        )
    }

    /// What two stretches told, joined, is what the whole tells.
    pub(crate) fn check_joining<S: Stream + Debug + PartialEq + Clone>(
        empty: &S,
        history: &History,
        at: usize,
    ) -> Result<(), TestCaseError> {
        let (before, after) = history.cut(at);
        let mut joined = empty.clone().having_heard(&before);
        joined.join(empty.clone().having_heard(&after));
        prop_assert_eq!(joined, empty.clone().having_heard(history));
        Ok(())
    }
}
