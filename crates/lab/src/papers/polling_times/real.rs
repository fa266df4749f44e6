//! Figure 5 on real periodic sources: plans from the first 60 % of a history, judged on the rest.
//!
//! Which period a source has is decided on its first part, too, by the likelihood of held-out periods; sources without a
//! rhythm are left out of the comparison and counted. Intervals are over periods: 400 draws of the judged periods with
//! replacement, planned and even polls judged on the same.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use schedule::polling_times::empirical::{self, Aim};
use schedule::polling_times::history::Grid;
use schedule::polling_times::{Judged, Method, Strategy};
use schedule::{Span, Time};

use super::super::Report;
use super::super::sampling::Failure;
use crate::figure::{Chart, Series};
use crate::score::mean;
use crate::timing;
use crate::trace::{Kinds, Trace};

/// A source and the changes it is planned and judged by.
pub struct Source {
    /// Id in the trace.
    pub id: u32,
    /// Its site's name, where known.
    pub name: String,
    /// Its period.
    pub period: Span,
    /// Periods it was watched for until the first 60 % of its time were over.
    pub watched: f64,
    /// The first 60 % of its time.
    pub past: Vec<Time>,
    /// The rest.
    pub future: Vec<Time>,
}

/// Periods a source may have, in seconds, with their names and grids.
const PERIODS: [(&str, i64, i64); 3] =
    [("hourly", 3_600, 60), ("daily", 86_400, 300), ("weekly", 604_800, 1_800)];
/// Changes needed on either side of the cut.
const FEWEST: usize = 20;
/// Polls per period of the figures.
const POLLS: [usize; 6] = [1, 2, 3, 4, 6, 8];

fn grid(period: Span) -> Result<Grid, Failure> {
    let step = PERIODS
        .iter()
        .find(|(_, length, _)| Span::from_secs(*length) == period)
        .map_or(60, |&(.., step)| step);
    Ok(Grid::new(period, Span::from_secs(step))?)
}

/// The sources of a trace that have a rhythm, and how many have none or too few changes.
pub fn sources(trace: &Trace) -> (Vec<Source>, usize) {
    let one = |at: usize| {
        let changes = trace.changes(at, Kinds::default());
        let (past, future) = timing::cut(&changes);
        if past.len() < FEWEST || future.len() < FEWEST {
            return None;
        }
        let period = Span::from_secs_f64(timing::rhythm_of(past)?.profile.period());
        let source = trace.sources[at];
        let site = trace.sites.iter().find(|site| site.id == source.site);
        let name = site.and_then(|site| site.name.clone()).unwrap_or_default();
        let since = past.first()?.min(&Time::from_secs(trace.watched(at).0)).to_owned();
        let watched = (*past.last()? - since).secs() / period.secs();
        let (past, future) = (past.to_vec(), future.to_vec());
        Some(Source { id: source.id, name, period, watched, past, future })
    };
    let found: Vec<Source> = (0..trace.sources.len()).into_par_iter().filter_map(one).collect();
    let without = trace.sources.len() - found.len();
    (found, without)
}

/// One source under one number of polls.
pub struct Trial {
    /// By the plan.
    pub planned: Judged,
    /// By even polls, mean over offsets.
    pub even: Judged,
    /// Planned delay over even delay, with its 95 % interval.
    pub ratio: (f64, [f64; 2]),
}

/// Plans from the past and judges on the future.
pub fn trial(source: &Source, method: Method, aim: Aim, polls: usize) -> Result<Trial, Failure> {
    let strategy = method.plan(grid(source.period)?, &source.past, aim, polls)?;
    let (planned, even) =
        (strategy.judge(&source.future), timing::even(source.period, polls, &source.future));
    Ok(Trial { planned, even, ratio: ratio(source, &strategy, polls) })
}

/// Planned over even delay, and its interval over periods.
fn ratio(source: &Source, strategy: &Strategy, polls: usize) -> (f64, [f64; 2]) {
    let number = |t: &Time| t.micros().div_euclid(source.period.micros());
    let periods: Vec<(f64, f64)> = source
        .future
        .chunk_by(|a, b| number(a) == number(b))
        .map(|one| {
            let even = timing::even(source.period, polls, one).delay().unwrap_or(0.0);
            (strategy.judge(one).waited, even * one.len() as f64)
        })
        .collect();
    let over = |sums: (f64, f64)| sums.0 / sums.1.max(f64::MIN_POSITIVE);
    let add = |a: (f64, f64), b: &(f64, f64)| (a.0 + b.0, a.1 + b.1);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(u64::from(source.id));
    let mut draw = || {
        let drawn = (0..periods.len()).map(|_| &periods[rng.random_range(0..periods.len())]);
        over(drawn.fold((0.0, 0.0), add))
    };
    let mut draws: Vec<f64> = (0..400).map(|_| draw()).collect();
    draws.sort_by(f64::total_cmp);
    (over(periods.iter().fold((0.0, 0.0), add)), [draws[10], draws[389]])
}

/// Everything about real sources.
pub(super) fn report(
    report: &mut Report,
    trace: &Trace,
    tick: &(dyn Fn(&str) + Sync),
) -> Result<(), Failure> {
    tick("periods of real sources");
    let (sources, without) = sources(trace);
    report.heading("Real sources");
    let count = |name: &str, length: i64| {
        format!("{} {name}", sources.iter().filter(|s| s.period == Span::from_secs(length)).count())
    };
    let calendar = |source: &&Source| {
        PERIODS.iter().any(|(_, length, _)| source.period == Span::from_secs(*length))
    };
    let own = sources.len() - sources.iter().filter(calendar).count();
    report.say(&format!(
        "{} sources of the trace: {}, {own} with a clock of their own (left out); {without} without a rhythm, or with too few changes to judge. Plans are made for a mixed aim (a miss is \
         as bad as half a period's delay) from the first 60 % of each history and judged on the rest, against even polls \
         averaged over their offsets.",
        trace.sources.len(),
        PERIODS.map(|(name, length, _)| count(name, length)).join(", "),
    ));
    let mut all = Vec::new();
    for (name, length, _) in PERIODS {
        let these: Vec<&Source> =
            sources.iter().filter(|s| s.period == Span::from_secs(length)).collect();
        if !these.is_empty() {
            tick(&format!("{name} sources"));
            all.push((name, class(report, name, &these)?));
        }
    }
    at_two_polls(report, &all)?;
    tick("one budget");
    one_budget(report, &sources)
}

/// What is compared with even polls.
const PLANS: [(&str, Method, Option<Aim>); 4] = [
    ("empirical", Method::Empirical, None),
    ("empirical, for recall alone", Method::Empirical, Some(Aim::Recall)),
    ("modelled", Method::Modelled, None),
    ("profile", Method::Profile, None),
];

/// Trials of every source of a class, one list for each of [`PLANS`].
type Trials = Vec<Vec<Trial>>;

/// A class of sources; its trials at two polls a period.
fn class(report: &mut Report, name: &str, sources: &[&Source]) -> Result<Trials, Failure> {
    report.heading(&format!("{name} sources"));
    let unit = match name {
        "hourly" => "polls per hour",
        "daily" => "polls per day",
        _ => "polls per week",
    };
    let line = |name: &str| Series { name: name.to_owned(), points: Vec::new() };
    let mut delay: Vec<Series> = PLANS.iter().map(|(name, ..)| line(name)).collect();
    let mut recall: Vec<Series> = delay.iter().cloned().chain([line("uniform")]).collect();
    let (mut rows, mut two) = (Vec::new(), Vec::new());
    for polls in POLLS {
        let trials: Trials = PLANS
            .iter()
            .map(|&(_, method, aim)| {
                let one = |source: &&Source| trial(source, method, aim.unwrap_or_default(), polls);
                sources.par_iter().map(one).collect::<Result<_, _>>()
            })
            .collect::<Result<_, Failure>>()?;
        let even = average(&trials[0], &|t| t.even.recall());
        recall[PLANS.len()].points.push((polls as f64, even));
        let mut row = vec![polls.to_string(), format!("{even:.3}")];
        for (at, trials) in trials.iter().enumerate() {
            let (planned, ratio) =
                (average(trials, &|t| t.planned.recall()), average(trials, &|t| Some(t.ratio.0)));
            let mut ratios: Vec<f64> = trials.iter().map(|t| t.ratio.0).collect();
            ratios.sort_by(f64::total_cmp);
            recall[at].points.push((polls as f64, planned));
            delay[at].points.push((polls as f64, ratio));
            row.push(format!("{planned:.3}"));
            row.push(format!("{ratio:.3} ({:.3})", ratios[ratios.len() / 2]));
        }
        rows.push(row);
        if polls == 2 {
            per_source(report, name, sources, &trials[0])?;
            two = trials;
        }
    }
    report.chart(
        &format!("{name}-recall"),
        &Chart {
            title: format!("Change recall, mean of {} {name} sources", sources.len()),
            x: unit,
            y: "change recall",
            series: recall,
            ..Chart::default()
        },
    )?;
    report.chart(
        &format!("{name}-delay"),
        &Chart {
            title: format!(
                "Delay over even polls' delay, mean of {} {name} sources",
                sources.len()
            ),
            x: unit,
            y: "ratio of delays",
            series: delay,
            ..Chart::default()
        },
    )?;
    report.say(
        "Delays are ratios to even polls': the mean over sources and, in brackets, the median.",
    );
    report.table(
        &format!("{name}-summary"),
        &[
            unit,
            "recall, even",
            "empirical",
            "delay",
            "for recall alone",
            "delay",
            "modelled",
            "delay",
            "profile",
            "delay",
        ],
        &rows,
    )?;
    Ok(two)
}

fn average(trials: &[Trial], of: &dyn Fn(&Trial) -> Option<f64>) -> f64 {
    mean(trials.iter().filter_map(of)).unwrap_or(f64::NAN)
}

/// Every class at two polls a period, and what CR-19 says of them.
fn at_two_polls(report: &mut Report, classes: &[(&str, Trials)]) -> Result<(), Failure> {
    report.heading("All sources at two polls a period");
    let row = |name: &str, classes: &[&Trials]| -> Vec<String> {
        let all = |at: usize, of: &dyn Fn(&Trial) -> Option<f64>| {
            mean(classes.iter().flat_map(|trials| &trials[at]).filter_map(of)).unwrap_or(f64::NAN)
        };
        let sources = classes.iter().map(|trials| trials[0].len()).sum::<usize>();
        let recall = |at| format!("{:.3}", all(at, &|t| t.planned.recall()));
        let delay = |at| format!("{:.3}", all(at, &|t| Some(t.ratio.0)));
        let even = format!("{:.3}", all(0, &|t| t.even.recall()));
        vec![name.to_owned(), sources.to_string(), even, recall(0), delay(0), recall(1), delay(1)]
    };
    let mut rows: Vec<Vec<String>> =
        classes.iter().map(|(name, trials)| row(name, &[trials])).collect();
    rows.push(row("all", &classes.iter().map(|(_, trials)| trials).collect::<Vec<_>>()));
    report.table(
        "two-polls",
        &["", "sources", "recall, even", "empirical", "delay", "for recall alone", "delay"],
        &rows,
    )?;
    let trials = |at: usize| classes.iter().flat_map(move |(_, trials)| &trials[at]);
    let quicker = |at: usize| trials(at).filter(|t| t.ratio.0 < 1.0).count();
    report.say(&format!(
        "\"In many cases\" plans for recall alone also lower the delay (CR-19): here on {} of {} sources; plans for both on {}.",
        quicker(1),
        trials(0).count(),
        quicker(0),
    ));
    Ok(())
}

/// Two polls a period, source by source, those with most changes per period first.
fn per_source(
    report: &mut Report,
    name: &str,
    sources: &[&Source],
    trials: &[Trial],
) -> Result<(), Failure> {
    let per_period = |source: &Source| {
        let span = source
            .past
            .last()
            .zip(source.past.first())
            .map_or(1.0, |(last, first)| (*last - *first).secs());
        source.past.len() as f64 / (span / source.period.secs()).max(1.0)
    };
    let mut order: Vec<usize> = (0..sources.len()).collect();
    order.sort_by(|&a, &b| per_period(sources[b]).total_cmp(&per_period(sources[a])));
    let rows: Vec<Vec<String>> = order
        .iter()
        .map(|&at| {
            let (source, trial) = (sources[at], &trials[at]);
            let [low, high] = trial.ratio.1;
            vec![
                source.id.to_string(),
                source.name.clone(),
                source.past.len().to_string(),
                source.future.len().to_string(),
                format!("{:.2}", per_period(source)),
                format!("{:.3}", trial.even.recall().unwrap_or(f64::NAN)),
                format!("{:.3}", trial.planned.recall().unwrap_or(f64::NAN)),
                format!("{:.3} ({low:.3} to {high:.3})", trial.ratio.0),
            ]
        })
        .collect();
    report.say("Two polls a period, empirical, source by source; the interval is over periods. Where a period has several changes, recall itself can gain.");
    report.table(
        &format!("{name}-two-polls"),
        &[
            "source",
            "site",
            "changes planned by",
            "judged by",
            "per period",
            "recall, even",
            "recall, planned",
            "delay over even",
        ],
        &rows,
    )?;
    Ok(())
}

/// Polls a day for each daily source.
const EACH: usize = 4;

/// Four polls a day for each daily source, shared out evenly or where they gain most.
fn one_budget(report: &mut Report, sources: &[Source]) -> Result<(), Failure> {
    let daily: Vec<&Source> = sources.iter().filter(|source| source.period == Span::DAY).collect();
    if daily.len() < 2 {
        return Ok(());
    }
    report.heading("One budget for all daily sources");
    let known: Vec<(Vec<Time>, f64)> =
        daily.iter().map(|source| (source.past.clone(), source.watched)).collect();
    let shared = empirical::shared(grid(Span::DAY)?, &known, Aim::default(), EACH * daily.len())?;
    let judged = |polls: &[usize]| -> Result<(Judged, Judged), Failure> {
        let one = |(source, &polls): (&&Source, &usize)| -> Result<(Judged, Judged), Failure> {
            let grid = grid(source.period)?;
            let strategy = Method::Empirical.plan(grid, &source.past, Aim::default(), polls)?;
            Ok((strategy.judge(&source.future), timing::even(source.period, polls, &source.future)))
        };
        let all: Vec<(Judged, Judged)> =
            daily.par_iter().zip(polls).map(one).collect::<Result<_, _>>()?;
        Ok((all.iter().map(|pair| pair.0).sum(), all.iter().map(|pair| pair.1).sum()))
    };
    let equal = vec![EACH; daily.len()];
    let ((planned_equal, even_equal), (planned_shared, _)) = (judged(&equal)?, judged(&shared)?);
    let row = |name: &str, judged: &Judged| {
        vec![
            name.to_owned(),
            format!("{:.3}", judged.recall().unwrap_or(f64::NAN)),
            format!("{:.0}", judged.delay().unwrap_or(f64::NAN) / 60.0),
        ]
    };
    let rows = [
        row("4 even polls each", &even_equal),
        row("4 planned polls each", &planned_equal),
        row("as many polls, where they gain most", &planned_shared),
    ];
    report.table(
        "one-budget",
        &["", "recall, all changes", "minutes of delay, all changes"],
        &rows,
    )?;
    let (fewest, most) =
        (shared.iter().min().copied().unwrap_or(0), shared.iter().max().copied().unwrap_or(0));
    report.say(&format!(
        "{} sources, {} polls a day; the split gives from {fewest} to {most} polls.",
        daily.len(),
        EACH * daily.len()
    ));
    Ok(())
}
