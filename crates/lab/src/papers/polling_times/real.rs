//! Figure 5 on real periodic sources: plans from the first 60 % of a history, judged on the rest.
//!
//! Which period a source has is decided on its first part, too, by the likelihood of held-out periods; sources without a
//! rhythm are left out of the comparison and counted. Intervals are over periods: 400 draws of the judged periods with
//! replacement, planned and even polls judged on the same.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use schedule::polling_times::empirical::{self, Aim};
use schedule::polling_times::history::{Grid, History};
use schedule::polling_times::split::split;
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
    let kinds = Kinds::default();
    let one = |at: usize| {
        let mut times: Vec<i64> = trace
            .updates(at)
            .iter()
            .filter(|(_, kind)| kinds.has(*kind))
            .map(|&(t, _)| t)
            .collect();
        times.dedup();
        let cut = times.first()? + (times.last()? - times.first()?) * 6 / 10;
        let (past, future) = times.split_at(times.partition_point(|&t| t <= cut));
        if past.len() < FEWEST || future.len() < FEWEST {
            return None;
        }
        let of =
            |times: &[i64]| -> Vec<Time> { times.iter().map(|&t| Time::from_secs(t)).collect() };
        let (past, future) = (of(past), of(future));
        let period = Span::from_secs_f64(timing::rhythm_of(&past)?.profile.period());
        let source = trace.sources[at];
        let site = trace.sites.iter().find(|site| site.id == source.site);
        let name = site.and_then(|site| site.name.clone()).unwrap_or_default();
        Some(Source { id: source.id, name, period, past, future })
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
    let (strategy, _) = method.plan(grid(source.period)?, &source.past, aim, polls)?;
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
            (strategy.judge(one).waited, timing::even(source.period, polls, one).waited / 12.0)
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
    for (name, length, _) in PERIODS {
        let these: Vec<&Source> =
            sources.iter().filter(|s| s.period == Span::from_secs(length)).collect();
        if !these.is_empty() {
            tick(&format!("{name} sources"));
            class(report, name, &these)?;
        }
    }
    tick("one budget");
    one_budget(report, &sources)
}

fn class(report: &mut Report, name: &str, sources: &[&Source]) -> Result<(), Failure> {
    report.heading(&format!("{name} sources"));
    let unit = match name {
        "hourly" => "polls per hour",
        "daily" => "polls per day",
        _ => "polls per week",
    };
    let methods = [
        ("empirical", Method::Empirical),
        ("modelled", Method::Modelled),
        ("profile", Method::Profile),
    ];
    let line = |name: &str| Series { name: name.to_owned(), points: Vec::new() };
    let mut recall: Vec<Series> =
        methods.iter().map(|(name, _)| line(name)).chain([line("uniform")]).collect();
    let mut delay: Vec<Series> = methods.iter().map(|(name, _)| line(name)).collect();
    let mut rows = Vec::new();
    for polls in POLLS {
        let mut row = vec![polls.to_string()];
        for (at, &(_, method)) in methods.iter().enumerate() {
            let trials: Vec<Trial> = sources
                .par_iter()
                .map(|source| trial(source, method, Aim::default(), polls))
                .collect::<Result<_, _>>()?;
            let average = |of: &dyn Fn(&Trial) -> Option<f64>| {
                mean(trials.iter().filter_map(of)).unwrap_or(f64::NAN)
            };
            let (planned, even) = (average(&|t| t.planned.recall()), average(&|t| t.even.recall()));
            let ratio = average(&|t| Some(t.ratio.0));
            let mut ratios: Vec<f64> = trials.iter().map(|t| t.ratio.0).collect();
            ratios.sort_by(f64::total_cmp);
            recall[at].points.push((polls as f64, planned));
            delay[at].points.push((polls as f64, ratio));
            if at == 0 {
                recall[methods.len()].points.push((polls as f64, even));
                row.push(format!("{even:.3}"));
            }
            row.push(format!("{planned:.3}"));
            row.push(format!("{ratio:.3} ({:.3})", ratios[ratios.len() / 2]));
            if at == 0 && polls == 2 {
                per_source(report, name, sources, &trials)?;
            }
        }
        rows.push(row);
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
        &[unit, "recall, even", "empirical", "delay", "modelled", "delay", "profile", "delay"],
        &rows,
    )?;
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

/// Polls a day for each daily source, and the most that one may be given.
const EACH: usize = 4;
const MOST: usize = 16;

/// Four polls a day for each daily source, shared out evenly or where they gain most.
fn one_budget(report: &mut Report, sources: &[Source]) -> Result<(), Failure> {
    let daily: Vec<&Source> = sources.iter().filter(|source| source.period == Span::DAY).collect();
    if daily.len() < 2 {
        return Ok(());
    }
    report.heading("One budget for all daily sources");
    let curve = |source: &&Source| -> Result<Vec<f64>, Failure> {
        let newest = &source.past[source.past.len().saturating_sub(500)..];
        let history = History::new(Grid::new(Span::DAY, Span::from_secs(900))?, newest);
        let periods = newest
            .last()
            .zip(newest.first())
            .map_or(1.0, |(last, first)| (*last - *first).secs() / 86_400.0)
            .max(1.0);
        let costs = empirical::curve(&history, Aim::default(), MOST)?;
        Ok(costs.into_iter().map(|cost| cost / periods).collect())
    };
    let curves: Vec<Vec<f64>> = daily.par_iter().map(curve).collect::<Result<_, _>>()?;
    let shared =
        split(daily.len(), 1, EACH * daily.len(), |at, polls| curves[at][polls.min(MOST) - 1]);
    let judged = |polls: &[usize]| -> Result<(Judged, Judged), Failure> {
        let one = |(source, &polls): (&&Source, &usize)| -> Result<(Judged, Judged), Failure> {
            let (strategy, _) = Method::Empirical.plan(
                grid(source.period)?,
                &source.past,
                Aim::default(),
                polls,
            )?;
            Ok((strategy.judge(&source.future), timing::even(source.period, polls, &source.future)))
        };
        let all: Vec<(Judged, Judged)> =
            daily.par_iter().zip(polls).map(|(s, p)| one((s, p))).collect::<Result<_, _>>()?;
        let add = |a: Judged, b: &Judged| Judged {
            changes: a.changes + b.changes,
            captured: a.captured + b.captured,
            waited: a.waited + b.waited,
        };
        let sum = |of: &dyn Fn(&(Judged, Judged)) -> Judged| {
            all.iter().fold(Judged::default(), |sum, pair| add(sum, &of(pair)))
        };
        Ok((sum(&|pair| pair.0), sum(&|pair| pair.1)))
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
