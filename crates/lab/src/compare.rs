//! Policies side by side: every policy over every seed, on all cores, with intervals.
//!
//! The same seed means the same world and the same luck, whatever thread it runs on. A trace is one world
//! for all seeds; a made-up world is drawn anew for each.

use std::str::FromStr;
use std::sync::Arc;

use rayon::prelude::*;
use schedule::Span;
use schedule::policy;
use schedule::spec::Mistake;
use schedule::utility::Worth;
use serde::Serialize;

use crate::hindsight::FixedRates;
use crate::listed::Listed;
use crate::oracle::Deadlines;
use crate::run::{self, Clock, Count};
use crate::score::{Cycle, Score, Summary, mean};
use crate::synth;
use crate::ticks::{Earned, LONG, Stage, Ticks};
use crate::world::World;

/// What takes part: a policy that can run live, or a bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    /// As it was written.
    pub text: String,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Live(policy::Spec),
    Hindsight,
    Oracle,
}

/// The lab's own entries behind [`policy::LIST`].
pub const BOUNDS: [policy::Entry; 2] = [
    policy::Entry {
        name: "hindsight",
        settings: "",
        about: "knows how often each source changes, and polls at the best fixed rates",
        from: "bound, lab only",
    },
    policy::Entry {
        name: "oracle",
        settings: "",
        about: "knows every change; captures as many as any schedule could",
        from: "bound, lab only",
    },
];

impl FromStr for Contender {
    type Err = Mistake;

    fn from_str(text: &str) -> Result<Self, Mistake> {
        let kind = match text.trim() {
            "hindsight" => Kind::Hindsight,
            "oracle" => Kind::Oracle,
            policy => Kind::Live(policy.parse().map_err(|mistake: Mistake| with_bounds(&mistake))?),
        };
        Ok(Self { text: text.trim().to_owned(), kind })
    }
}

/// A list of known policies names the lab's bounds too.
fn with_bounds(mistake: &Mistake) -> Mistake {
    let bounds = BOUNDS.map(|entry| format!("`{}`", entry.name)).join(", ");
    let known = mistake.0.contains("known are");
    Mistake(if known {
        format!("{mistake}, and without settings {bounds}")
    } else {
        mistake.0.clone()
    })
}

impl Contender {
    /// Every policy and bound, with default settings; without those that plan instants.
    pub fn all() -> Vec<Self> {
        let all = policy::LIST.iter().chain(&BOUNDS).filter_map(|entry| entry.name.parse().ok());
        all.filter(|contender: &Self| !contender.wants_ticks()).collect()
    }

    /// What is compared in instants unless asked otherwise.
    pub fn in_ticks() -> Vec<Self> {
        let names = [
            "wic",
            "wic+search",
            "cam",
            "cam(rule=uniform)",
            "cam(rule=proportional)",
            "round-robin",
            "value",
        ];
        names.into_iter().filter_map(|name| name.parse().ok()).collect()
    }

    /// It plans instants, and has nothing to go by elsewhere.
    pub fn wants_ticks(&self) -> bool {
        matches!(self.kind, Kind::Live(policy::Spec::Wic(_) | policy::Spec::Planned(_)))
    }

    /// One run in instants.
    fn run_in_ticks(&self, stage: &Stage<'_>, seed: u64, tick: &dyn Fn()) -> Score {
        let (world, ticks) = (stage.world, stage.ticks);
        let shape = || Some(ticks.shape.clone());
        match &self.kind {
            Kind::Live(policy::Spec::Wic(settings)) => {
                stage.run(policy::wic::Wic::new(*settings, shape()), seed, tick)
            }
            Kind::Live(policy::Spec::Planned(settings)) => {
                let horizon = settings.horizon.or(stage.horizon());
                let settings = policy::planned::Settings {
                    horizon,
                    every: settings.every.or(stage.horizon().and(horizon)),
                    ..*settings
                };
                stage.run(policy::planned::Planned::new(settings, shape()), seed, tick)
            }
            Kind::Live(spec) => stage.run(spec.build(seed), seed, tick),
            Kind::Hindsight => {
                let rates = FixedRates::new(world, polls_per_second(ticks.clock()), true, seed);
                stage.run(rates, seed, tick)
            }
            Kind::Oracle => stage.run(Deadlines::new(world, false), seed, tick),
        }
    }

    /// Knows more than any live program could.
    pub fn is_bound(&self) -> bool {
        !matches!(self.kind, Kind::Live(_))
    }

    /// One run over `world` with this seed.
    pub fn run(&self, world: &Arc<World>, clock: Clock, seed: u64, tick: &dyn Fn()) -> Score {
        match &self.kind {
            Kind::Live(spec) => run::run(world, spec.build(seed), clock, seed, tick),
            Kind::Hindsight => match clock {
                Clock::Cycles { count: Count::PerCycle, length, .. } => {
                    run::run(world, Listed::hindsight(world, length), clock, seed, tick)
                }
                Clock::Cycles { .. } => run::run(
                    world,
                    FixedRates::new(world, polls_per_second(clock), true, seed),
                    clock,
                    seed,
                    tick,
                ),
                Clock::Continuous { .. } => run::run(
                    world,
                    FixedRates::new(world, polls_per_second(clock), false, seed),
                    clock,
                    seed,
                    tick,
                ),
            },
            Kind::Oracle => match clock {
                Clock::Cycles { count: Count::PerCycle, length, .. } => {
                    run::run(world, Listed::oracle(world, length), clock, seed, tick)
                }
                Clock::Cycles { .. } => {
                    run::run(world, Deadlines::new(world, false), clock, seed, tick)
                }
                Clock::Continuous { .. } => {
                    run::run(world, Deadlines::new(world, true), clock, seed, tick)
                }
            },
        }
    }
}

fn polls_per_second(clock: Clock) -> f64 {
    match clock {
        Clock::Cycles { length, polls, .. } => polls as f64 / length.secs(),
        Clock::Continuous { polls, per, .. } => polls as f64 / per.secs(),
    }
}

/// Where the worlds of a comparison come from.
pub enum Ground {
    /// The same for every seed.
    Fixed(Arc<World>),
    /// Drawn for each seed.
    Drawn {
        /// Which world.
        spec: synth::Spec,
        /// Length of a cycle.
        cycle: Span,
        /// How many.
        cycles: u32,
        /// What a change is worth.
        worth: Worth,
    },
}

impl Ground {
    fn world(&self, seed: u64) -> Arc<World> {
        match self {
            Self::Fixed(world) => Arc::clone(world),
            Self::Drawn { spec, cycle, cycles, worth } => {
                Arc::new(spec.build(*cycle, *cycles, seed).with_worth(*worth))
            }
        }
    }
}

/// A comparison, ready to be printed as a table or as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// How many sources.
    pub sources: usize,
    /// On how many sites.
    pub sites: usize,
    /// Cycles, or rounds in continuous time.
    pub cycles: usize,
    /// Polls a cycle pays for.
    pub budget_per_cycle: u64,
    /// Changes that happened, mean over seeds.
    pub changes: f64,
    /// Seeds run.
    pub seeds: u64,
    /// In the order given.
    pub policies: Vec<Standing>,
}

/// One policy's scores over all seeds.
#[derive(Clone, Debug, Serialize)]
pub struct Standing {
    /// As it was written.
    pub policy: String,
    /// A bound, not a policy that could run live.
    pub bound: bool,
    /// Changed downloads over downloads.
    pub change_ratio: Ratio,
    /// CN-03's weighting; only where importances differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weighted_change_ratio: Option<Summary>,
    /// Importance of changed downloads over the largest importances; only where importances differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change_ratio_of_best: Option<Summary>,
    /// Changes captured over changes that happened.
    pub change_recall: Summary,
    /// Share of time the copy was up to date.
    pub freshness: Summary,
    /// Only where importances differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weighted_freshness: Option<Summary>,
    /// Mean seconds since the copy went stale (first missed change).
    pub age_seconds: Summary,
    /// Mean age in seconds of the version the copy lacks (last missed change).
    pub age_of_last_change_seconds: Summary,
    /// Polls a run made, mean over seeds.
    pub polls: f64,
    /// Seconds a run's loop took, mean over seeds.
    pub decide_seconds: f64,
    /// What polls earned, where rounds are instants.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub ticks: Option<InTicks>,
}

/// What polls earned in instants.
#[derive(Clone, Debug, Serialize)]
pub struct InTicks {
    /// Worth of what was captured, over what capturing every change at once would be worth.
    pub utility: Summary,
    /// What no schedule could beat, on the same scale, had it known every change.
    pub bound: Summary,
    /// Utility over bound.
    pub share_of_bound: Summary,
    /// Changes captured over changes that happened.
    pub captured: Summary,
    /// … captured in the instant they happened.
    pub zero_delay: Summary,
    /// Share of the captured changes by delay in instants 0, 1, …; the last is that of all longer delays.
    pub delay: Vec<f64>,
    /// The same by the chances that were told, rather than by what happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<InExpectation>,
}

/// By the chances that were told.
#[derive(Clone, Debug, Serialize)]
pub struct InExpectation {
    /// Expected worth of what is captured.
    pub utility: Summary,
    /// What no schedule could beat.
    pub bound: Summary,
    /// Utility over bound.
    pub share_of_bound: Summary,
    /// What the best schedule earns; only of worlds small enough to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optimum: Option<Summary>,
}

impl InTicks {
    fn of(scores: &[&Score]) -> Option<Self> {
        let earned: Option<Vec<&Earned>> =
            scores.iter().map(|score| score.ticks.as_ref()).collect();
        let earned = earned.filter(|earned| !earned.is_empty())?;
        let over = |part: &dyn Fn(&Earned) -> Option<f64>| {
            Summary::of(earned.iter().map(|earned| part(earned)))
        };
        let captured: u64 = earned.iter().map(|earned| earned.captured()).sum();
        let late = |delay| earned.iter().map(|earned| earned.delays[delay]).sum::<u64>() as f64;
        Some(Self {
            utility: over(&Earned::normalised),
            bound: over(&|earned| ratio(earned.bound, earned.most)),
            share_of_bound: over(&|earned| ratio(earned.utility, earned.bound)),
            captured: over(&|earned| earned.share(earned.captured())),
            zero_delay: over(&|earned| earned.share(earned.delays[0])),
            delay: (0..=LONG).map(|delay| late(delay) / captured.max(1) as f64).collect(),
            expected: earned[0].expected.map(|_| InExpectation {
                utility: over(&|earned| earned.expected.map(|told| told.utility)),
                bound: over(&|earned| earned.expected.map(|told| told.bound)),
                share_of_bound: over(&|earned| {
                    earned.expected.and_then(|told| ratio(told.utility, told.bound))
                }),
                optimum: earned[0]
                    .expected
                    .and_then(|told| told.optimum)
                    .map(|_| over(&|earned| earned.expected.and_then(|told| told.optimum))),
            }),
        })
    }
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// ChangeRatio with its course over the cycles.
#[derive(Clone, Debug, Serialize)]
pub struct Ratio {
    /// Mean over cycles, then over seeds.
    pub mean: Option<f64>,
    /// Over seeds.
    pub ci95: Option<[f64; 2]>,
    /// Standard deviation between cycles, mean over seeds.
    pub sd_between_cycles: Option<f64>,
    /// Each cycle, mean over seeds; null where nothing was downloaded.
    pub by_cycle: Vec<Option<f64>>,
}

impl Standing {
    fn of(contender: &Contender, scores: &[&Score], weighted: bool) -> Self {
        let over =
            |part: fn(&Score) -> Option<f64>| Summary::of(scores.iter().map(|score| part(score)));
        let ratio = over(Score::change_ratio);
        let cycles = scores.iter().map(|score| score.cycles.len()).max().unwrap_or(0);
        let by_cycle = (0..cycles)
            .map(|c| {
                mean(scores.iter().filter_map(|score| score.cycles.get(c).and_then(Cycle::ratio)))
            })
            .collect();
        let seeds = scores.len().max(1) as f64;
        Self {
            policy: contender.text.clone(),
            bound: contender.is_bound(),
            change_ratio: Ratio {
                mean: ratio.mean,
                ci95: ratio.ci95,
                sd_between_cycles: mean(
                    scores.iter().filter_map(|score| score.change_ratio_deviation()),
                ),
                by_cycle,
            },
            weighted_change_ratio: weighted.then(|| over(Score::weighted_change_ratio)),
            change_ratio_of_best: weighted.then(|| over(Score::change_ratio_of_best)),
            change_recall: over(Score::change_recall),
            freshness: over(Score::freshness),
            weighted_freshness: weighted.then(|| over(Score::weighted_freshness)),
            age_seconds: over(Score::age_of_first),
            age_of_last_change_seconds: over(Score::age_of_last),
            polls: scores.iter().map(|score| score.polls() as f64).sum::<f64>() / seeds,
            decide_seconds: scores.iter().map(|score| score.decide_seconds).sum::<f64>() / seeds,
            ticks: InTicks::of(scores),
        }
    }
}

/// Runs every contender over seeds 1..=`seeds`; `tick` is called after every round of every run.
pub fn compare(
    ground: &Ground,
    clock: &(dyn Fn(&World) -> Clock + Sync),
    contenders: &[Contender],
    seeds: u64,
    tick: &(dyn Fn() + Sync),
) -> Comparison {
    over_seeds(ground, contenders, seeds, |world, seed| {
        let clock = clock(world);
        let run = |who: &Contender| who.run(world, clock, seed, &|| tick());
        (clock, contenders.par_iter().map(run).collect())
    })
}

/// The same in instants: every contender on the same stage, which is set once a seed.
pub fn compare_in_ticks(
    ground: &Ground,
    ticks: &Ticks,
    contenders: &[Contender],
    seeds: u64,
    tick: &(dyn Fn() + Sync),
) -> Comparison {
    over_seeds(ground, contenders, seeds, |world, seed| {
        let stage = Stage::new(world, ticks, seed);
        let run = |who: &Contender| who.run_in_ticks(&stage, seed, &|| tick());
        (ticks.clock(), contenders.par_iter().map(run).collect())
    })
}

/// What `play` makes of the world of every seed.
fn over_seeds(
    ground: &Ground,
    contenders: &[Contender],
    seeds: u64,
    play: impl Fn(&Arc<World>, u64) -> (Clock, Vec<Score>) + Sync,
) -> Comparison {
    let seed = |seed: u64| {
        let world = ground.world(seed);
        let (clock, scores) = play(&world, seed);
        Seed { scores, facts: Facts::of(&world, clock) }
    };
    let runs: Vec<Seed> = (1..=seeds.max(1)).into_par_iter().map(seed).collect();
    let scores_of = |who: usize| runs.iter().map(|run| &run.scores[who]).collect::<Vec<_>>();
    let Facts { sources, sites, budget_per_cycle, weighted, .. } = runs[0].facts;
    Comparison {
        sources,
        sites,
        cycles: runs[0].scores.iter().map(|score| score.cycles.len()).max().unwrap_or(0),
        budget_per_cycle,
        changes: runs.iter().map(|run| run.facts.changes as f64).sum::<f64>() / runs.len() as f64,
        seeds: runs.len() as u64,
        policies: contenders
            .iter()
            .enumerate()
            .map(|(who, contender)| Standing::of(contender, &scores_of(who), weighted))
            .collect(),
    }
}

/// One seed: what its world was, and what every contender scored on it.
struct Seed {
    scores: Vec<Score>,
    facts: Facts,
}

struct Facts {
    sources: usize,
    sites: usize,
    changes: usize,
    budget_per_cycle: u64,
    weighted: bool,
}

impl Facts {
    fn of(world: &World, clock: Clock) -> Self {
        Self {
            sources: world.len(),
            sites: world.sites(),
            changes: world.total_changes(),
            budget_per_cycle: clock.polls_per_round(),
            weighted: world.is_weighted(),
        }
    }
}
