//! The methods on real sequences, where the truth is known in full, and what the scheduler gains by believing a law.

use dynamics::diagnosis;
use dynamics::history::History;
use dynamics::interval::empirical::Empirical;
use dynamics::interval::{Pairs, Stream, mixture};
use dynamics::process::{Aging, Process};
use rayon::prelude::*;
use schedule::{Span, Time};

use super::super::Report;
use super::super::sampling::Failure;
use crate::compare::Contender;
use crate::law;
use crate::run::Clock;
use crate::score::mean;
use crate::trace::{Kinds, Trace};
use crate::world::World;

/// Updates of a source since its first, in seconds; the newest at most.
const NEWEST: usize = 20_000;

fn updates(trace: &Trace, at: usize) -> Vec<f64> {
    let times: Vec<f64> = trace.changes(at, Kinds::default()).into_iter().map(Time::secs).collect();
    let times = &times[times.len().saturating_sub(NEWEST)..];
    times.iter().map(|t| t - times[0]).collect()
}

/// G_U as it was: how much of the time the newest update was at most x old.
fn age_law(gaps: &Empirical, x: f64) -> f64 {
    let whole: f64 = gaps.values().iter().sum();
    gaps.values().iter().map(|gap| gap.min(x)).sum::<f64>() / whole
}

/// A name, and who belongs to it.
type Group<T> = (&'static str, fn(T) -> bool);

struct Trial {
    cv: f64,
    departs: Option<Aging>,
    /// Mean distance from G_U: Poisson of the same rate, M6, mixture.
    ages: [f64; 3],
    /// Mean distance from F_U: Poisson of the same rate, mixture.
    intervals: [f64; 2],
}

/// Polled at random, once per median gap on average.
fn trial(updates: &[f64]) -> Option<Trial> {
    let gaps: Empirical = updates.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let (median, mean_gap, span) = (gaps.quantile(0.5)?, gaps.mean()?, *updates.last()?);
    let polls = Process::Exponential { mean: median.max(span / 50_000.0) };
    let history: History = law::polled(updates, &polls, span, 1).without_ages();
    let law = mixture::fit(&history)?;
    let at: Vec<f64> = (0..24).map(|n| median * 0.2 * 250f64.powf(f64::from(n) / 23.0)).collect();
    let pairs = Pairs::new(at[23] / 400.0, 401).having_heard(&history);
    let distance = |estimate: &dyn Fn(f64) -> f64, truth: &dyn Fn(f64) -> f64| {
        mean(at.iter().map(|&x| (estimate(x) - truth(x)).abs())).unwrap_or(f64::NAN)
    };
    let ages = |estimate: &dyn Fn(f64) -> f64| distance(estimate, &|x| age_law(&gaps, x));
    let intervals =
        |estimate: &dyn Fn(f64) -> f64| distance(estimate, &|x| gaps.cdf(x).unwrap_or(0.0));
    let poisson = |x: f64| -(-x / mean_gap).exp_m1();
    let variance = gaps.values().iter().map(|gap| (gap - mean_gap).powi(2)).sum::<f64>()
        / gaps.values().len() as f64;
    Some(Trial {
        cv: variance.sqrt() / mean_gap,
        departs: diagnosis::poisson(&history).and_then(|test| test.departs(1e-3)),
        ages: [ages(&poisson), ages(&|x| pairs.cdf(x).unwrap_or(0.0)), ages(&|x| law.age_cdf(x))],
        intervals: [intervals(&poisson), intervals(&|x| law.interval_cdf(x).unwrap_or(0.0))],
    })
}

/// Writes both comparisons.
pub fn report(
    report: &mut Report,
    trace: &Trace,
    tick: &(dyn Fn(&str) + Sync),
) -> Result<(), Failure> {
    tick("real sequences");
    report.heading("Real sequences: how far the estimates are from the truth");
    let trials: Vec<Trial> = (0..trace.sources.len())
        .into_par_iter()
        .filter_map(|at| trial(&updates(trace, at)))
        .collect();
    let groups: [Group<&Trial>; 3] = [
        ("all", |_| true),
        ("regular (CV of gaps below 1.5)", |trial| trial.cv < 1.5),
        ("bursty (CV 1.5 and above)", |trial| trial.cv >= 1.5),
    ];
    let mut rows = Vec::new();
    for (name, group) in groups {
        let group: Vec<&Trial> = trials.iter().filter(|trial| group(trial)).collect();
        let average = |part: &dyn Fn(&Trial) -> f64| {
            mean(group.iter().map(|trial| part(trial)))
                .map_or("–".to_owned(), |x| format!("{x:.4}"))
        };
        let doubted = group.iter().filter(|trial| trial.departs.is_some()).count();
        rows.push(vec![
            name.to_owned(),
            group.len().to_string(),
            doubted.to_string(),
            average(&|t| t.ages[0]),
            average(&|t| t.ages[1]),
            average(&|t| t.ages[2]),
            average(&|t| t.intervals[0]),
            average(&|t| t.intervals[1]),
        ]);
    }
    report.table(
        "real",
        &[
            "sources",
            "number",
            "clearly not Poisson",
            "G_U: Poisson",
            "M6",
            "mixture",
            "F_U: Poisson",
            "mixture",
        ],
        &rows,
    )?;
    report.say(
        "Mean distance from the source's own G_U and F_U at 24 points from a fifth to fifty median gaps; exponential polls, one per median gap on \
         average, from the newest 20,000 updates. Poisson: the law of a Poisson source that is told the true mean.",
    );
    tick("a law as a belief");
    beliefs(report, trace)
}

/// A year of the trace's busiest common time, only sources that pass `keep`.
fn world(trace: &Trace, keep: &dyn Fn(f64) -> bool) -> World {
    let from = 1_688_169_600; // 2023-07-01
    let to = from + 365 * 86_400;
    let all = trace.world(from, to, crate::trace::Present::Any, Kinds::default());
    let mut world = World::new(Time::from_secs(from), Time::from_secs(to));
    for source in all.sources() {
        let changes = all.changes(source);
        let gaps: Empirical = changes.windows(2).map(|pair| (pair[1] - pair[0]).secs()).collect();
        let Some(average) = gaps.mean().filter(|_| gaps.values().len() >= 100) else { continue };
        let square = gaps.values().iter().map(|gap| (gap - average).powi(2)).sum::<f64>();
        let cv = (square / gaps.values().len() as f64).sqrt() / average;
        if keep(cv) {
            world.add(*all.place(source), changes.iter().copied());
        }
    }
    world
}

fn beliefs(report: &mut Report, trace: &Trace) -> Result<(), Failure> {
    report.heading("A law as the scheduler's belief: `value(law=renewal)` against `value`");
    let groups: [Group<f64>; 2] =
        [("regular (CV below 1.5)", |cv| cv < 1.5), ("bursty (CV 1.5 and above)", |cv| cv >= 1.5)];
    let mut jobs = Vec::new();
    for (name, keep) in groups {
        let world = std::sync::Arc::new(world(trace, &keep));
        for share in [0.1, 0.5] {
            for objective in ["captured", "freshness"] {
                jobs.push((name, world.clone(), share, objective));
            }
        }
    }
    let rows: Vec<Result<Vec<String>, Failure>> = jobs
        .into_par_iter()
        .map(|(name, world, share, objective)| {
            let year = Span::DAY.times(365);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a count of polls"
            )]
            let polls = (share * world.total_changes() as f64) as u64;
            let clock = Clock::Continuous { polls, per: year, round: Span::DAY.times(30) };
            let score = |law: &str| -> Result<Option<f64>, Failure> {
                let contender: Contender =
                    format!("value(objective={objective},law={law})").parse()?;
                let score = contender.run(&world, clock, 1, &|| {});
                Ok(if objective == "captured" { score.change_recall() } else { score.freshness() })
            };
            let (poisson, renewal) =
                (score("poisson")?.unwrap_or(0.0), score("renewal")?.unwrap_or(0.0));
            Ok(vec![
                format!("{name}, {} sources", world.len()),
                share.to_string(),
                objective.to_owned(),
                format!("{poisson:.4}"),
                format!("{renewal:.4}"),
                format!("{:+.1} %", 100.0 * (renewal / poisson - 1.0)),
            ])
        })
        .collect();
    let rows = rows.into_iter().collect::<Result<Vec<_>, _>>()?;
    let heading =
        ["sources", "polls per change", "goal", "Poisson belief", "law where clear", "gain"];
    report.table("belief", &heading, &rows)?;
    report.say("One year from 2023-07-01, sources with at least 100 changes in it; the score is change recall for `captured` and freshness for `freshness`.");
    Ok(())
}
