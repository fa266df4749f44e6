//! The law of a source's updates, from what polls saw of it, with what speaks for it: what `tidewatch estimate` prints.
//!
//! Every method of [`dynamics::interval`] behind one question: G_U, which is also the chance that a copy synced so long
//! ago is stale, and F_U on a grid with bands, rate and mean with intervals, what the history can tell at all, and what
//! to beware of.

use dynamics::diagnosis::{self, Diagnosis, PhaseLock, Spacing};
use dynamics::history::History;
use dynamics::interval::all_ages::AllAges;
use dynamics::interval::bootstrap::{self, Kind};
use dynamics::interval::bracketed_ages::BracketedAges;
use dynamics::interval::detected_gaps::DetectedGaps;
use dynamics::interval::empirical::Empirical;
use dynamics::interval::largest_age::LargestAge;
use dynamics::interval::{
    AgeLaw, Gaps, Method, Pairs, Stream, Target, capped_gaps, concave, mixture, slope, stepped_ages,
};
use dynamics::process::{Aging, Process};
use dynamics::rate::{Estimate, last_modified::Tally, likelihood};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use schedule::Span;
use schedule::spec::{Call, Mistake};
use serde::Serialize;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// How; the one that applies if not given.
    pub method: Option<Method>,
    /// Where on the grid, in seconds; chosen if empty.
    pub at: Vec<f64>,
    /// Reshuffled histories behind every band; none, no bands.
    pub replicates: usize,
    /// Of the reshuffling.
    pub seed: u64,
}

/// A number and its 95 % interval; an end is missing where nothing bounds it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The estimate; missing where it is infinite.
    pub value: Option<f64>,
    /// Lower and upper end.
    pub ci95: Option<[Option<f64>; 2]>,
}

impl Measured {
    fn new(value: f64, band: Option<[f64; 2]>) -> Self {
        let finite = |x: f64| x.is_finite().then_some(x);
        Self { value: finite(value), ci95: band.map(|ends| ends.map(finite)) }
    }
}

impl From<Estimate> for Measured {
    fn from(estimate: Estimate) -> Self {
        Self::new(estimate.rate, Some(estimate.ci95))
    }
}

/// A point of the curves.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// x
    pub seconds: f64,
    /// G_U(x): P(the current version is at most x old) = P(a copy synced x ago is stale).
    pub stale: Option<Measured>,
    /// F_U(x): P(an interval between updates is at most x).
    pub interval: Option<Measured>,
}

/// The law, and what speaks for it.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// The method used.
    pub method: &'static str,
    /// Whether it was chosen by the history.
    pub chosen: bool,
    /// The method of the paper that applies, and why.
    pub applies: &'static str,
    /// What the history can tell.
    #[serde(flatten)]
    pub diagnosis: Diagnosis,
    /// μ per second, whatever the law; missing where polls cannot see it.
    pub rate: Option<Measured>,
    /// E\[U\] in seconds.
    pub mean_seconds: Option<Measured>,
    /// μ is at least this: G_U is concave.
    pub rate_at_least: Option<f64>,
    /// The rate of a Poisson source that would show this.
    pub poisson_rate: Option<Measured>,
    /// G_U and F_U.
    pub grid: Vec<Point>,
    /// What to beware of.
    pub warnings: Vec<String>,
}

/// Points of a grid that nobody chose.
const POINTS: usize = 12;
/// Bins of M6 when it is asked for.
const BINS: usize = 60;
/// From here on a departure from Poisson is called one.
const LEVEL: f64 = 0.01;

/// What `history` says; `tick` after every reshuffled history.
pub fn estimate(
    history: &History,
    question: &Question,
    tick: &dyn Fn(),
) -> Result<Answer, Mistake> {
    let diagnosis = diagnosis::diagnose(history);
    let method = question.method.unwrap_or(match diagnosis.advice {
        Method::Rate => Method::Rate,
        _ => Method::Mixture,
    });
    check(method, &diagnosis)?;
    let at = if question.at.is_empty() { grid(&diagnosis) } else { question.at.clone() };
    let poisson = poisson_rate(history);
    let (curves, numbers) = if method == Method::Rate {
        (by_rate(poisson, &at), Numbers::default())
    } else {
        with_bands(history, method, &at, question, tick)
    };
    let grid = at.iter().zip(curves).map(|(&seconds, (stale, interval))| Point {
        seconds,
        stale,
        interval,
    });
    Ok(Answer {
        method: method.ability().name,
        chosen: question.method.is_none(),
        applies: diagnosis.advice.ability().name,
        rate: numbers.rate,
        mean_seconds: numbers.mean,
        rate_at_least: at_least(history),
        poisson_rate: poisson.map(Measured::from),
        grid: grid.collect(),
        warnings: warnings(method, &diagnosis, numbers.rate.is_some()),
        diagnosis,
    })
}

/// A method that cannot work on this history is refused with the one that can.
fn check(method: Method, diagnosis: &Diagnosis) -> Result<(), Mistake> {
    let ability = method.ability();
    let instead = diagnosis.advice.ability().name;
    let refuse = |what: &str| {
        Err(Mistake(format!(
            "`{}` needs {what}; for this history use `{instead}` or `mixture`",
            ability.name
        )))
    };
    if ability.needs_ages && diagnosis.told <= 0.0 {
        return refuse("ages, and these looks tell none");
    }
    if ability.gaps == Gaps::Constant && !matches!(diagnosis.spacing, Some(Spacing::Constant(_))) {
        return refuse("polls at a constant distance, and these are not");
    }
    Ok(())
}

/// Multiples of a constant distance; else evenly in the logarithm, over what was seen.
fn grid(diagnosis: &Diagnosis) -> Vec<f64> {
    let Some(to) = diagnosis.sees_to.filter(|&to| to > 0.0) else { return Vec::new() };
    if let Some(Spacing::Constant(gap)) = diagnosis.spacing {
        let last = (to / gap).round().max(1.0);
        let mut at: Vec<f64> =
            (0..POINTS).map(|n| gap * last.powf(n as f64 / (POINTS - 1) as f64).round()).collect();
        at.dedup();
        return at;
    }
    let gap = diagnosis.mean_gap.unwrap_or(to);
    let from = diagnosis.sees_from.filter(|&from| from > 0.0).unwrap_or(gap / 20.0).min(to / 2.0);
    (0..POINTS).map(|n| from * (to / from).powf(n as f64 / (POINTS - 1) as f64)).collect()
}

/// By the times of quiet where most ages are told (CN-X5), else by the gaps (CN-X4).
fn poisson_rate(history: &History) -> Option<Estimate> {
    if history.told() > 0.9 {
        let mut tally = Tally::default();
        for (poll, look) in history.polls().iter().zip(&history.looks()[1..]) {
            tally.add(poll.gap, look.age.filter(|_| poll.changed));
        }
        return tally.bias_reduced();
    }
    likelihood::most_likely(&history.polls())
}

/// μ ≥ G_U(x)/x, at the polls' own mean distance.
fn at_least(history: &History) -> Option<f64> {
    let polls = history.polls().len();
    let detected = history.detections().count();
    (detected > 0)
        .then(|| detected as f64 / polls as f64 / history.mean_gap().unwrap_or(f64::INFINITY))
}

type Curves = Vec<(Option<Measured>, Option<Measured>)>;

/// A Poisson source's curves: F = G = 1 − e^(−λx).
fn by_rate(poisson: Option<Estimate>, at: &[f64]) -> Curves {
    let curve = |x: &f64| {
        let share = |rate: f64| -(-rate * x).exp_m1();
        let both = poisson
            .map(|estimate| Measured::new(share(estimate.rate), Some(estimate.ci95.map(share))));
        (both, both)
    };
    at.iter().map(curve).collect()
}

#[derive(Clone, Copy, Default)]
struct Numbers {
    rate: Option<Measured>,
    mean: Option<Measured>,
}

/// The estimate, and the same on reshuffled histories.
fn with_bands(
    history: &History,
    method: Method,
    at: &[f64],
    question: &Question,
    tick: &dyn Fn(),
) -> (Curves, Numbers) {
    let all = |history: &History| {
        let (ages, intervals) = curves(method, history, at);
        let rate = slope::of(history);
        let shares = ages.into_iter().chain(intervals).map(|share| (Kind::Share, share));
        let rates = [rate, rate.map(|rate| 1.0 / rate)].map(|value| (Kind::Positive, value));
        shares.chain(rates).collect::<Vec<_>>()
    };
    let here = all(history);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(question.seed);
    let bands = bootstrap::bands(history, question.replicates, &mut rng, |history| {
        tick();
        all(history)
    });
    let measured = |place: usize| here[place].1.map(|value| Measured::new(value, bands[place]));
    let n = at.len();
    let curves = (0..n).map(|place| (measured(place), measured(n + place))).collect();
    (curves, Numbers { rate: measured(2 * n), mean: measured(2 * n + 1) })
}

type Values = Vec<Option<f64>>;

/// What a method says of ages and of intervals at these points.
fn curves(method: Method, history: &History, at: &[f64]) -> (Values, Values) {
    let none = || vec![None; at.len()];
    let sampled = |values: Empirical| at.iter().map(|&x| values.cdf(x)).collect();
    let of_law = |law: Option<AgeLaw>| -> (Values, Values) {
        let law = law.unwrap_or_default();
        let known = !law.parts().is_empty();
        (
            at.iter().map(|&x| known.then(|| law.age_cdf(x))).collect(),
            at.iter().map(|&x| law.interval_cdf(x)).collect(),
        )
    };
    let steps = |cdf: &dyn Fn(&DetectedGaps, u64) -> Option<f64>| -> Values {
        let gaps = DetectedGaps::default().having_heard(history);
        let gap = history.mean_gap().unwrap_or(1.0);
        at.iter().map(|x| cdf(&gaps, polls_within(*x, gap))).collect()
    };
    match method {
        Method::M1 => (sampled(LargestAge::default().having_heard(history).distribution()), none()),
        Method::M2 => {
            let ages = AllAges::default().having_heard(history).distribution();
            let intervals = of_law(Some(concave::majorant(&ages))).1;
            (sampled(ages), intervals)
        }
        Method::M3 => (steps(&|gaps, n| gaps.cdf(n)), none()),
        Method::M4 => (steps(&stepped_ages::cdf), none()),
        Method::M5 => (steps(&capped_gaps::cdf), none()),
        Method::GM4 => {
            (sampled(BracketedAges::default().having_heard(history).distribution()), none())
        }
        Method::M6 => {
            let pairs = of_pairs(history, at);
            let points: Vec<_> =
                pairs.bins().map(|bin| (bin.at, bin.share(), bin.pairs as f64)).collect();
            (
                at.iter().map(|&x| pairs.cdf(x)).collect(),
                of_law(Some(concave::regression(&points))).1,
            )
        }
        Method::Mixture => of_law(mixture::fit(history)),
        Method::Rate => (none(), none()),
    }
}

/// Whole polls within x, forgiving the last digit.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of polls")]
fn polls_within(x: f64, gap: f64) -> u64 {
    (x / gap + 1e-6).floor() as u64
}

fn of_pairs(history: &History, at: &[f64]) -> Pairs {
    let reach = at.iter().copied().fold(0.0, f64::max) * 1.001;
    let reach = reach.min(200.0 * history.mean_gap().unwrap_or(1.0)).max(f64::MIN_POSITIVE);
    Pairs::new(reach / BINS as f64, BINS).having_heard(history)
}

fn warnings(method: Method, diagnosis: &Diagnosis, knows_rate: bool) -> Vec<String> {
    let mut all = Vec::new();
    match diagnosis.phase_lock {
        Some(PhaseLock::EveryPoll) => all.push(
            "every poll saw a change and polls keep a beat: intervals may be anything up to the gap between polls".to_owned(),
        ),
        Some(PhaseLock::Pattern(polls)) => all.push(format!(
            "changes repeat in a pattern of {polls} polls: polls and updates keep step, and the law cannot be seen; poll at irregular distances"
        )),
        Some(PhaseLock::SameAge) => all.push(
            "all ages are the same: polls and updates keep step, and the law cannot be seen; poll at irregular distances".to_owned(),
        ),
        None => {}
    }
    if matches!(diagnosis.spacing, Some(Spacing::Lattice(_))) {
        all.push(
            "polls lie at multiples of one distance: what happens within it cannot be seen"
                .to_owned(),
        );
    }
    let departs = diagnosis.poisson.and_then(|test| test.departs(LEVEL));
    if let (true, Some(side)) = (method.ability().poisson_only, departs) {
        let how =
            if side == Aging::NewWorse { "in bursts" } else { "more regularly than by chance" };
        all.push(format!(
            "`{}` is right for Poisson sources only, and this one changes {how}",
            method.ability().name
        ));
    }
    if method.ability().target == Target::Above {
        all.push(
            "`gm4` rounds ages up by a random distance: its curve lies below G_U near zero"
                .to_owned(),
        );
    }
    if diagnosis.contradictions > 0 {
        all.push(format!(
            "{} ages contradict what the comparison saw; where they do, the comparison is believed",
            diagnosis.contradictions
        ));
    }
    if !knows_rate && method != Method::Rate && diagnosis.detections > 0 {
        all.push(
            "polls at one distance do not show the law near zero: the rate has only a lower bound"
                .to_owned(),
        );
    }
    all
}

/// What polls over \[0, `horizon`\] that follow `sampling` see of a source that changes at `updates`.
pub fn polled(updates: &[f64], sampling: &Process, horizon: f64, seed: u64) -> History {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    History::blind(updates, &sampling.polls(horizon, &mut rng))
}

/// `exponential(mean=1h)`, `constant(mean=10m)`, `uniform(mean=..)`, `gamma(mean=..,shape=2)`,
/// `lattice(mean=..,step=..)`,
/// `pareto(mean=..,shape=3)`, `weibull(mean=..,shape=0.6)`: how polls, or updates, follow one another.
pub fn read_process(text: &str) -> Result<Process, Mistake> {
    let mut call: Call = text.parse()?;
    let name = call.name.clone();
    let mean = call.take("mean", Span::from_secs(3_600))?.secs();
    let (process, known) = match name.as_str() {
        "constant" => (Process::Constant { period: mean }, "`mean`"),
        "exponential" => (Process::Exponential { mean }, "`mean`"),
        "uniform" => (Process::Uniform { mean }, "`mean`"),
        "gamma" => (Process::Gamma { mean, shape: call.take("shape", 2.0)? }, "`mean` and `shape`"),
        "pareto" => {
            (Process::Pareto { mean, shape: call.take("shape", 3.0)? }, "`mean` and `shape`")
        }
        "weibull" => {
            (Process::Weibull { mean, shape: call.take("shape", 0.6)? }, "`mean` and `shape`")
        }
        "lattice" => {
            let step = call.take("step", Span::from_secs_f64(mean / 2.0))?.secs();
            (Process::Lattice { mean, step }, "`mean` and `step`")
        }
        unknown => {
            return Err(Mistake(format!(
                "there is no law `{unknown}`; known are `constant`, `exponential`, `uniform`, `gamma`, `lattice`, `pareto` and `weibull`"
            )));
        }
    };
    call.finish(known)?;
    process.checked().map_err(|why| Mistake(format!("`{text}`: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASK: Question = Question { method: None, at: Vec::new(), replicates: 20, seed: 1 };

    fn seen(updates: &Process, polls: &Process, horizon: f64) -> History {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
        History::blind(&updates.path(horizon, &mut rng), &polls.polls(horizon, &mut rng))
    }

    const PARETO: Process = Process::Pareto { mean: 1_800.0, shape: 3.0 };

    #[test]
    fn every_method_answers_or_says_what_it_lacks() {
        let hourly = seen(&PARETO, &Process::Constant { period: 3_600.0 }, 2e6);
        let random = seen(&PARETO, &Process::Exponential { mean: 3_600.0 }, 2e6).without_ages();
        for ability in dynamics::interval::ABILITIES {
            let question = Question { method: Some(ability.method), replicates: 4, ..ASK };
            let answer = estimate(&hourly, &question, &|| {}).unwrap();
            assert_eq!(answer.method, ability.name);
            let first = answer.grid[0].stale.unwrap().value.unwrap();
            assert!((0.0..=1.0).contains(&first), "{}: {first}", ability.name);
            let fits = !ability.needs_ages && ability.gaps != Gaps::Constant;
            assert_eq!(estimate(&random, &question, &|| {}).is_ok(), fits, "{}", ability.name);
        }
    }

    /// The law is chosen by the history; its curves rise, its intervals hold the estimate, and stale is G_U.
    #[test]
    fn auto_takes_the_mixture_of_a_long_history() {
        let random = seen(&PARETO, &Process::Exponential { mean: 3_600.0 }, 4e6).without_ages();
        let answer = estimate(&random, &ASK, &|| {}).unwrap();
        assert!(answer.chosen && answer.method == "mixture" && answer.applies == "m6");
        let values: Vec<f64> =
            answer.grid.iter().map(|point| point.stale.unwrap().value.unwrap()).collect();
        assert!(values.is_sorted());
        for point in &answer.grid {
            let (x, got) = (point.seconds, point.stale.unwrap().value.unwrap());
            assert!((got - PARETO.age_cdf(x)).abs() < 0.1, "{x}: {got}");
        }
        let mean = answer.mean_seconds.unwrap().value.unwrap();
        assert!((mean / 1_800.0 - 1.0).abs() < 0.3, "{mean}");
    }

    #[test]
    fn corners_have_clear_answers() {
        let of = |updates: &[f64], polls: &[f64]| {
            estimate(&History::blind(updates, polls).without_ages(), &ASK, &|| {}).unwrap()
        };
        let nothing = of(&[], &[]);
        assert!(
            nothing.grid.is_empty() && nothing.poisson_rate.is_none() && nothing.method == "rate"
        );
        let never = of(&[], &[0.0, 10.0, 20.0]);
        assert_eq!(never.poisson_rate.unwrap().value, Some(0.0));
        assert!(never.poisson_rate.unwrap().ci95.unwrap()[1].is_some());
        let always = of(&[5.0, 15.0], &[0.0, 10.0, 20.0]);
        assert_eq!(always.poisson_rate.unwrap().value, None);
        assert!(always.diagnosis.because.contains("every poll"));
    }

    #[test]
    fn laws_are_read_or_refused_with_a_remedy() {
        assert_eq!(read_process("constant(mean=10m)"), Ok(Process::Constant { period: 600.0 }));
        let said = |text| read_process(text).unwrap_err().to_string();
        assert!(
            said("poisson").contains("known are") && said("pareto(shape=1)").contains("above 1")
        );
        assert!(said("uniform(shape=2)").contains("no setting `shape`"));
        assert!(said("lattice(mean=1h,step=2h)").contains("at most its mean"));
    }
}
