//! What a history can tell at all: before any estimate, and beside it.
//!
//! ```text
//! Poisson?    each poll sees a change with chance p = 1 − e^(−λτ), whatever came before
//!             score of "and more often (less often) the longer the last change is past":
//!             Z = Σ sⱼ(zⱼ − z̄) / √Σ vⱼ(zⱼ − z̄)²     zⱼ = ln(1 + time since the last change / mean gap)
//!             sⱼ = λτ (Qⱼ − pⱼ)/pⱼ,  vⱼ = (λτ)² (1 − pⱼ)/pⱼ,  z̄ the mean of z by v
//! ```
//!
//! Under a Poisson source zⱼ is known before poll j and Z is standard normal; hazards that fall (bursts) make it
//! negative, rising ones (clockwork) positive. Phase-lock: where polls and updates both keep a beat, polls see a
//! pattern and not the law; it shows as changes at every poll, or in a pattern that repeats, or as ages all alike. Then
//! only a bound can be given, and irregular polls are the cure. Paper: BS-03, BS-46, BS-48
//! (`docs/papers/li-cline-loguinov-2015.md`); the test is ours.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::history::History;
use crate::interval::Method;
use crate::interval::empirical::Empirical;
use crate::process::Aging;
use crate::rate::likelihood;

/// How the polls are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// All gaps alike.
    Constant(f64),
    /// Gaps are multiples of this.
    Lattice(f64),
    /// Neither.
    Irregular,
}

/// How polls and updates keep step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseLock {
    /// Every poll saw a change: intervals may be anything up to the gap.
    EveryPoll,
    /// Changes repeat in a pattern of so many polls.
    Pattern(usize),
    /// All ages are the same.
    SameAge,
}

/// The answer to "is it Poisson?".
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Poisson {
    /// How likely so clear a departure is for a Poisson source.
    pub p_value: f64,
    /// Z
    pub z: f64,
}

impl Poisson {
    /// Which way it departs, if at this level it does.
    pub fn departs(self, level: f64) -> Option<Aging> {
        let side = if self.z < 0.0 { Aging::NewWorse } else { Aging::NewBetter };
        (self.p_value < level).then_some(side)
    }
}

/// What a history can tell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// Looks.
    pub looks: usize,
    /// Looks that saw a change since the one before.
    pub detections: usize,
    /// From the first look to the last.
    pub span: f64,
    /// E\[S\]
    pub mean_gap: Option<f64>,
    /// How the polls are spaced; `None` below two looks.
    pub spacing: Option<Spacing>,
    /// Share of the looks that tell an age.
    pub told: f64,
    /// Ages that contradict the comparison.
    pub contradictions: usize,
    /// Polls and updates in step.
    pub phase_lock: Option<PhaseLock>,
    /// Is it Poisson? `None` with too few polls of either kind to say.
    pub poisson: Option<Poisson>,
    /// Intervals shorter than this are not told apart; zero where ages are told.
    pub sees_from: Option<f64>,
    /// The longest time without a change that was seen.
    pub sees_to: Option<f64>,
    /// Which of the paper's methods applies.
    #[serde(skip)]
    pub advice: Method,
    /// And why.
    pub because: &'static str,
}

/// Detections for a law rather than a rate.
pub const ENOUGH: usize = 20;
/// Polls of either kind for the test.
const TESTED: usize = 8;
/// A pattern must be seen so often.
const REPEATS: usize = 4;
/// Gaps shorter than this share of all are taken for the shortest.
const SHORT: f64 = 0.05;

/// Looks a history over.
pub fn diagnose(history: &History) -> Diagnosis {
    let gaps: Empirical = history.gaps().collect();
    let spacing = spacing(history);
    let told = history.told();
    let detections = history.detections().count();
    let mostly_told = told > 0.9;
    let phase_lock = spacing.and_then(|spacing| phase_lock(history, spacing));
    let (advice, because) = advice(history, detections, mostly_told, spacing, phase_lock);
    Diagnosis {
        looks: history.looks().len(),
        detections,
        span: history.span(),
        mean_gap: history.mean_gap(),
        spacing,
        told,
        contradictions: history.contradictions(),
        phase_lock,
        poisson: poisson(history),
        sees_from: if mostly_told { Some(0.0) } else { gaps.quantile(SHORT) },
        sees_to: longest_silence(history),
        advice,
        because,
    }
}

fn longest_silence(history: &History) -> Option<f64> {
    let looks = history.looks();
    let edges = history.detections().map(|at| looks[at].at);
    let edges = looks.first().map(|look| look.at).into_iter().chain(edges);
    let edges: Vec<f64> = edges.chain(looks.last().map(|look| look.at)).collect();
    edges.windows(2).map(|pair| pair[1] - pair[0]).reduce(f64::max)
}

fn advice(
    history: &History,
    detections: usize,
    mostly_told: bool,
    spacing: Option<Spacing>,
    phase_lock: Option<PhaseLock>,
) -> (Method, &'static str) {
    let polls = history.looks().len().saturating_sub(1);
    match spacing {
        _ if polls == 0 => (Method::Rate, "fewer than two looks compare nothing"),
        _ if detections == 0 => {
            (Method::Rate, "no change was seen: only a bound on the rate can be given")
        }
        _ if detections == polls && !mostly_told => (
            Method::Rate,
            "every poll saw a change: only a bound on the rate can be given; poll faster",
        ),
        _ if phase_lock.is_some() => {
            (Method::Rate, "polls and updates keep step: poll at irregular distances")
        }
        _ if detections < ENOUGH => {
            (Method::Rate, "fewer than 20 detections are too few for a law")
        }
        _ if mostly_told => {
            (Method::M2, "ages are told: all of them follow G_U, whatever the polls")
        }
        Some(Spacing::Constant(_)) => (
            Method::M4,
            "polls at a constant distance: ages in whole polls follow G_U at its multiples",
        ),
        Some(Spacing::Lattice(_)) => {
            (Method::M6, "polls at multiples of one distance: pairs follow G_U at those multiples")
        }
        _ => (Method::M6, "polls at irregular distances: pairs of looks follow G_U"),
    }
}

/// Constant, on a lattice, or neither; `None` below two looks.
fn spacing(history: &History) -> Option<Spacing> {
    if let Some(gap) = history.constant_gap() {
        return Some(Spacing::Constant(gap));
    }
    let shortest = history.gaps().reduce(f64::min)?;
    let finest = shortest / 8.0;
    let step = history.gaps().try_fold(shortest, |step, gap| {
        let step = common(step, gap, shortest / 50.0);
        (step > finest).then_some(step)
    });
    Some(step.map_or(Spacing::Irregular, Spacing::Lattice))
}

/// The greatest number that divides both, nearly.
fn common(mut a: f64, mut b: f64, near: f64) -> f64 {
    while b > near {
        (a, b) = (b, (a - b * (a / b).round()).abs());
    }
    a
}

fn phase_lock(history: &History, spacing: Spacing) -> Option<PhaseLock> {
    let Spacing::Constant(gap) = spacing else { return None };
    let looks = &history.looks()[1..];
    let ages: Vec<f64> = looks.iter().filter_map(|look| look.age).collect();
    let same = |age: &f64| (age - ages[0]).abs() < 1e-6 * gap;
    if looks.len() >= TESTED && ages.len() == looks.len() && ages.iter().all(same) {
        return Some(PhaseLock::SameAge);
    }
    let flags: Vec<bool> = looks.iter().map(|look| look.changed).collect();
    if flags.len() < 2 * TESTED || !flags.contains(&true) {
        return None;
    }
    if !flags.contains(&false) {
        return Some(PhaseLock::EveryPoll);
    }
    let repeats = |period: &usize| flags.iter().skip(*period).zip(&flags).all(|(a, b)| a == b);
    // a pattern of n polls is no accident once it was seen often enough for every poll of it to be foretold
    (2..=flags.len() / REPEATS).find(repeats).map(PhaseLock::Pattern)
}

/// Z, and how likely it is.
pub fn poisson(history: &History) -> Option<Poisson> {
    let polls = history.polls();
    let detected = polls.iter().filter(|poll| poll.changed).count();
    let mean_gap = history.mean_gap()?;
    if detected < TESTED || polls.len() - detected < TESTED {
        return None;
    }
    let rate = likelihood::most_likely(&polls)?.rate;
    let looks = history.looks();
    let mut last: Option<f64> = None;
    let mut terms = Vec::with_capacity(polls.len());
    for (at, poll) in polls.iter().enumerate() {
        if let Some(last) = last {
            let z = ((looks[at].at - last).max(0.0) / mean_gap).ln_1p();
            let x = rate * poll.gap;
            let p = -(-x).exp_m1();
            terms.push((z, x * (f64::from(u8::from(poll.changed)) - p) / p, x * x * (1.0 - p) / p));
        }
        let (before, now) = (looks[at].at, looks[at + 1].at);
        if poll.changed {
            let told = looks[at + 1].age.filter(|&age| age <= poll.gap);
            last = Some(told.map_or(f64::midpoint(before, now), |age| now - age));
        }
    }
    let whole: f64 = terms.iter().map(|(_, _, v)| v).sum();
    let middle: f64 = terms.iter().map(|(z, _, v)| z * v).sum::<f64>() / whole;
    let score: f64 = terms.iter().map(|(z, s, _)| s * (z - middle)).sum();
    let variance: f64 = terms.iter().map(|(z, _, v)| v * (z - middle).powi(2)).sum();
    let z = score / variance.sqrt();
    let normal = Normal::standard();
    z.is_finite().then(|| Poisson { p_value: 2.0 * normal.sf(z.abs()), z })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::testing::{PAPER, history, rng};
    use crate::process::Process;

    fn clockwork(period: f64, gap: f64) -> History {
        let updates: Vec<f64> = (1..2_000).map(|n| f64::from(n) * period).collect();
        let polls: Vec<f64> = (0..100).map(|n| f64::from(n) * gap).collect();
        History::blind(&updates, &polls)
    }

    /// BS-03: U ≡ 1, S ≡ 2: all ages 0, and without ages a change at every poll. BS-48: U ≡ 2, S ≡ 1 alternates.
    #[test]
    fn bs_03_phase_lock_is_flagged() {
        let lock = |history: &History| diagnose(history).phase_lock;
        assert_eq!(lock(&clockwork(1.0, 2.0)), Some(PhaseLock::SameAge));
        assert_eq!(lock(&clockwork(1.0, 2.0).without_ages()), Some(PhaseLock::EveryPoll));
        assert_eq!(lock(&clockwork(2.0, 1.0).without_ages()), Some(PhaseLock::Pattern(2)));
        assert_eq!(lock(&clockwork(1.5, 1.0).without_ages()), Some(PhaseLock::Pattern(3)));
        assert_eq!(diagnose(&clockwork(2.0, 1.0).without_ages()).advice, Method::Rate);
        // half, one and two all look alike, so nothing else can be said
        let same = |a: &History, b: &History| a.clone().without_ages() == b.clone().without_ages();
        assert!(same(&clockwork(1.0, 2.0), &clockwork(0.5, 2.0)));
    }

    #[test]
    fn sources_out_of_step_are_not_flagged() {
        let paper = history(&PAPER, &Process::Constant { period: 1.0 }, 200.0, 1);
        assert_eq!(diagnose(&paper).phase_lock, None);
        assert_eq!(diagnose(&clockwork(1.0, 2f64.sqrt() / 3.0)).phase_lock, None);
    }

    #[test]
    fn spacings_are_told_apart() {
        let spaced = |process: &Process| {
            spacing(&History::blind(&[], &process.polls(200.0, &mut rng(2)))).unwrap()
        };
        assert!(
            matches!(spaced(&Process::Constant { period: 2.0 }), Spacing::Constant(gap) if (gap - 2.0).abs() < 1e-9)
        );
        assert!(
            matches!(spaced(&Process::Lattice { mean: 2.0, step: 0.5 }), Spacing::Lattice(step) if (step - 0.5).abs() < 1e-6)
        );
        assert_eq!(spaced(&Process::Exponential { mean: 1.0 }), Spacing::Irregular);
        assert_eq!(spaced(&Process::Uniform { mean: 1.0 }), Spacing::Irregular);
    }

    /// 400 Poisson sources at 5 %: 20 are expected to fail, fewer than 7 or more than 36 in one run of a thousand.
    #[test]
    fn a_poisson_source_is_seldom_doubted() {
        let failed = |sampling: &Process| {
            let test = |seed| {
                poisson(
                    &history(&Process::Exponential { mean: 1.3 }, sampling, 300.0, seed)
                        .without_ages(),
                )
                .unwrap()
            };
            (0..400).filter(|&seed| test(seed).p_value < 0.05).count()
        };
        for sampling in [Process::Exponential { mean: 1.0 }, Process::Constant { period: 1.0 }] {
            let failed = failed(&sampling);
            assert!((7..=36).contains(&failed), "{failed} of 400 under {sampling:?}");
        }
    }

    #[test]
    fn bursts_and_clockwork_are_told_from_poisson() {
        let exponential = Process::Exponential { mean: 1.0 };
        let test = |process: &Process| {
            poisson(&history(process, &exponential, 2_000.0, 5).without_ages()).unwrap()
        };
        assert_eq!(test(&PAPER).departs(0.001), Some(Aging::NewWorse));
        assert_eq!(
            test(&Process::Weibull { mean: 2.0, shape: 3.0 }).departs(0.001),
            Some(Aging::NewBetter)
        );
        assert_eq!(test(&Process::Exponential { mean: 2.0 }).departs(0.001), None);
    }

    #[test]
    fn corners_have_clear_answers() {
        let of = |updates: &[f64], polls: &[f64]| {
            diagnose(&History::blind(updates, polls).without_ages())
        };
        assert!(of(&[], &[]).because.contains("fewer than two looks"));
        assert!(of(&[], &[1.0]).because.contains("fewer than two looks"));
        let never = of(&[], &[1.0, 2.0, 3.0]);
        assert!(
            never.because.contains("no change")
                && never.poisson.is_none()
                && never.sees_to == Some(2.0)
        );
        assert!(of(&[1.5, 2.5], &[1.0, 2.0, 3.0]).because.contains("every poll saw a change"));
        assert!(of(&[1.5], &[1.0, 2.0, 3.0, 4.5]).because.contains("too few"));
    }

    #[test]
    fn advice_follows_the_taxonomy() {
        let advice = |sampling: &Process, told: bool| {
            let seen = history(&PAPER, sampling, 300.0, 9);
            diagnose(&if told { seen } else { seen.without_ages() }).advice
        };
        let (constant, random) =
            (Process::Constant { period: 1.0 }, Process::Uniform { mean: 1.0 });
        assert_eq!(advice(&constant, true), Method::M2);
        assert_eq!(advice(&constant, false), Method::M4);
        assert_eq!(advice(&random, false), Method::M6);
    }
}
