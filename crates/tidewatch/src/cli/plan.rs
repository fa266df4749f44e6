//! `tidewatch plan times`: the best minutes to poll, and what speaks for them.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use dynamics::profile::Evidence;
use lab::figure::{self, Chart, Series};
use lab::timing::{self, Answer, Question, Versus};
use lab::trace::{Kinds, Trace};
use schedule::polling_times::empirical;
use schedule::polling_times::history::Grid;
use schedule::polling_times::learned::Look;
use schedule::spec::Mistake;
use schedule::{Span, Time};
use serde::Serialize;

use super::place::{Place, answers, find};
use super::simulate::moment;
use super::table::{self, counted};
use super::{Failure, Voice};
use crate::words::duration;

#[derive(Subcommand)]
pub(crate) enum Plan {
    /// At which moments of its period a source is best polled
    ///
    /// From a trace, from a list of change times, or from what the running store has seen of a source. Without --period
    /// it is found out whether the source changes by the hour, the day or the week, or by a clock of its own.
    Times(Box<Moments>),
}

impl Plan {
    pub(crate) fn run(self, voice: Voice) -> Result<(), Failure> {
        let Self::Times(times) = self;
        times.run(voice)
    }
}

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Moments {
    /// A watched source: its number, its address or any unambiguous part of it
    #[arg(value_name = "SOURCE", conflicts_with_all = ["trace", "times"])]
    source: Option<String>,
    /// Plan for the sources of this trace
    #[arg(long, value_name = "DIR", conflicts_with = "times")]
    trace: Option<PathBuf>,
    /// Of the trace only the source with this id
    #[arg(long, value_name = "ID", requires = "trace")]
    only: Option<u32>,
    /// A list of change times, one a line, as seconds since 1970 or `2026-11-16T09:30:00Z`; `-` reads them from stdin
    #[arg(long, value_name = "FILE")]
    times: Option<PathBuf>,
    /// The period the plan repeats in, e.g. `1h` or `1d` [default: found out]
    #[arg(long, value_name = "SPAN")]
    period: Option<String>,
    /// Distance of the moments that are considered, e.g. `1m` [default: by the period]
    #[arg(long, value_name = "SPAN")]
    grid: Option<String>,
    /// Polls per period
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    polls: u32,
    /// Polls per period for all sources of the trace together, shared out where they gain most; needs `--period`
    #[arg(long, value_name = "N", requires = "trace", requires = "period", conflicts_with_all = ["only", "polls"])]
    total: Option<u32>,
    /// How to plan: `empirical`, `modelled`, `profile` or `uniform` (polls of the store are planned by their profile or evenly)
    #[arg(long, value_name = "METHOD", default_value = "empirical")]
    method: String,
    /// What for: `recall`, `delay`, `mixed` (a miss is as bad as half a period's delay) or a number (as so many periods');
    /// `modelled` knows recall only
    #[arg(long, value_name = "AIM", default_value = "mixed")]
    aim: String,
    /// Draw when the source changes and when it is polled into this SVG file
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

const EXAMPLES: &str = "\
Examples:
  tidewatch plan times --times changes.txt --period 1h --grid 1m --polls 2
  tidewatch plan times --trace DIR --only 7 --polls 4 --plot plan.svg
  tidewatch plan times --trace DIR --period 1d --total 100 --json
  tidewatch plan times example.org/news --polls 4";

/// A plan for somebody.
#[derive(Serialize)]
struct Planned {
    source: String,
    #[serde(flatten)]
    answer: Answer,
}

impl Moments {
    fn run(&self, voice: Voice) -> Result<(), Failure> {
        if let Some(path) = &self.plot {
            figure::can_draw(path)?;
        }
        let span = |text: &Option<String>| text.as_deref().map(str::parse::<Span>).transpose();
        let question = Question {
            period: span(&self.period)?,
            grid: span(&self.grid)?,
            polls: self.polls as usize,
            method: self.method.parse()?,
            aim: self.aim.parse()?,
        };
        if let Some(period) = question.period {
            Grid::new(period, question.grid.unwrap_or_else(|| Grid::reasonable(period)))?;
        }
        let plans = match (&self.trace, &self.times, &self.source) {
            (Some(dir), ..) => self.of_trace(&Trace::read(dir)?, &question, voice)?,
            (_, Some(file), _) => {
                let changes = read_times(file)?;
                vec![Planned {
                    source: file.display().to_string(),
                    answer: timing::from_changes(&changes, &question)?,
                }]
            }
            (.., Some(name)) => vec![self.of_store(name, &question)?],
            _ => {
                let problem = "say for what: a watched source, `--trace DIR` or `--times FILE`";
                return Err(Failure::Asked(problem.to_owned()));
            }
        };
        let drawn = self.plot.as_ref().zip(plans.first());
        if let Some((path, first)) = drawn {
            draw(first, path)?;
        }
        voice.result(&plans, || match plans.as_slice() {
            [one] => describe(one),
            many => overview(many),
        })?;
        if let Some((path, first)) = drawn {
            let of = if plans.len() > 1 {
                format!(", of {}", short(&first.source))
            } else {
                String::new()
            };
            voice.remark(&format!("drew {}{of}", path.display()));
        }
        Ok(())
    }

    fn of_trace(
        &self,
        trace: &Trace,
        question: &Question,
        voice: Voice,
    ) -> Result<Vec<Planned>, Failure> {
        let wanted: Vec<usize> = (0..trace.sources.len())
            .filter(|&at| self.only.is_none_or(|id| trace.sources[at].id == id))
            .collect();
        if let (true, Some(id)) = (wanted.is_empty(), self.only) {
            return Err(Failure::Asked(format!("the trace has no source {id}")));
        }
        let polls = match self.total {
            None => vec![question.polls; wanted.len()],
            Some(total) => share(trace, &wanted, total as usize, question)?,
        };
        let asked: Vec<(Vec<Time>, usize)> =
            wanted.iter().map(|&at| trace.changes(at, Kinds::default())).zip(polls).collect();
        let bar = voice.progress(wanted.len() as u64, "planning");
        let answers = timing::from_many(&asked, question, &|| bar.inc(1));
        bar.finish_and_clear();
        let name = |at: usize| trace.sources[at].id.to_string();
        let planned = |(&at, answer)| Planned { source: name(at), answer };
        Ok(wanted.iter().zip(answers?).map(planned).collect())
    }

    /// From the polls in the journal.
    fn of_store(&self, name: &str, question: &Question) -> Result<Planned, Failure> {
        let (_, reader) = self.place.reader()?;
        let source = find(&reader, name)?;
        let looks: Vec<Look> = answers(&reader, source.id)?.iter().filter_map(Look::of).collect();
        let evidence: Vec<Evidence> = looks.iter().flat_map(Look::evidence).collect();
        // a look that tells when the change was is two pieces of evidence and one poll
        let answer =
            Answer { observations: looks.len(), ..timing::from_polls(&evidence, question)? };
        Ok(Planned { source: format!("s_{} {}", source.id.0, source.url), answer })
    }
}

/// Polls for each source, one budget for all.
fn share(
    trace: &Trace,
    wanted: &[usize],
    total: usize,
    question: &Question,
) -> Result<Vec<usize>, Failure> {
    if total < wanted.len() {
        return Err(Failure::Asked(format!(
            "{} need a poll each; `--total {total}` is too little",
            counted(wanted.len(), "source")
        )));
    }
    let period = question.period.unwrap_or(Span::DAY);
    let grid = Grid::new(period, question.grid.unwrap_or_else(|| Grid::reasonable(period)))?;
    let known = |&at: &usize| {
        let (from, to) = trace.watched(at);
        let watched = Span::from_secs(to.saturating_sub(from));
        (trace.changes(at, Kinds::default()), watched.secs() / period.secs())
    };
    let sources: Vec<(Vec<Time>, f64)> = wanted.iter().map(known).collect();
    Ok(empirical::shared(grid, &sources, question.aim, total)?)
}

fn read_times(file: &PathBuf) -> Result<Vec<Time>, Failure> {
    let text = if file.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        text
    } else {
        fs::read_to_string(file)
            .map_err(|why| Failure::Could(anyhow::anyhow!("{}: {why}", file.display())))?
    };
    let mut times = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let seconds = line.parse::<i64>().or_else(|_| moment(line)).map_err(|_| {
            Mistake(format!(
                "{} line {}: `{line}` is no time; write seconds since 1970 or `2026-11-16T09:30:00Z`",
                file.display(),
                at + 1
            ))
        })?;
        times.push(Time::from_secs(seconds));
    }
    times.sort_unstable();
    times.dedup();
    Ok(times)
}

/// `0.812 (uniform 0.764)`
fn versus(value: f64, uniform: f64, show: &dyn Fn(f64) -> String) -> String {
    format!("{} (uniform {})", show(value), show(uniform))
}

fn describe(plan: &Planned) -> String {
    let answer = &plan.answer;
    let mut facts = table::facts();
    let period = Span::from_secs_f64(answer.period_seconds);
    let rhythm = match answer.chance_of_no_rhythm {
        None => "too few periods to say".to_owned(),
        Some(p) if p < 0.0005 => "yes (by chance alone in fewer than 1 of 2,000)".to_owned(),
        Some(p) if p < 0.01 => format!("yes (by chance alone in {:.1} %)", 100.0 * p),
        Some(p) => format!("not clearly (by chance alone in {:.0} %)", 100.0 * p),
    };
    let seen = if answer.observations == answer.changes {
        counted(answer.changes, "change")
    } else {
        format!("{}, {} with a change", counted(answer.observations, "poll"), answer.changes)
    };
    facts.add_row(["source".to_owned(), plan.source.clone()]);
    facts.add_row(["poll at".to_owned(), format!("{} of every {period}, UTC", listed(&answer.at))]);
    facts.add_row(["seen".to_owned(), seen]);
    facts.add_row([format!("a rhythm of {period}?"), rhythm]);
    facts.add_row(["planned from".to_owned(), answer.basis.clone()]);
    let mut choices =
        table::table(&["polls", "at", "recall", "delay", "recall, held out", "delay, held out"]);
    let recall = |v: Option<Versus>| {
        v.map_or("–".to_owned(), |v| versus(v.recall, v.uniform_recall, &|x| format!("{x:.3}")))
    };
    let delay = |v: Option<Versus>| {
        v.map_or("–".to_owned(), |v| versus(v.delay_seconds, v.uniform_delay_seconds, &duration))
    };
    for choice in &answer.choices {
        choices.add_row([
            choice.polls.to_string(),
            listed(&choice.at),
            recall(choice.expected),
            delay(choice.expected),
            recall(choice.held_out),
            delay(choice.held_out),
        ]);
    }
    let note = "Held out: planned from the first 60 % of the time, judged on the rest; – where these show another period. \
                Uniform: even polls, mean over offsets.";
    format!("{facts}\n{choices}\n{note}")
}

/// `08:15, 20:45`; only the first dozen.
fn listed(moments: &[String]) -> String {
    const MOST: usize = 12;
    match moments.len() {
        0 => "no moment: nothing is known".to_owned(),
        n if n <= MOST => moments.join(", "),
        n => format!("{} and {} more", moments[..MOST].join(", "), n - MOST),
    }
}

fn overview(plans: &[Planned]) -> String {
    let mut table = table::table(&[
        "source",
        "changes",
        "period",
        "polls",
        "at",
        "recall, held out",
        "delay, held out",
    ]);
    for Planned { source, answer } in plans {
        let choice = answer.choices.iter().find(|choice| choice.polls == answer.polls);
        let held_out = choice.and_then(|choice| choice.held_out);
        table.add_row([
            source.clone(),
            answer.changes.to_string(),
            Span::from_secs_f64(answer.period_seconds).to_string(),
            answer.at.len().to_string(),
            listed(&answer.at),
            held_out.map_or("–".to_owned(), |v| {
                versus(v.recall, v.uniform_recall, &|x| format!("{x:.3}"))
            }),
            held_out.map_or("–".to_owned(), |v| {
                versus(v.delay_seconds, v.uniform_delay_seconds, &duration)
            }),
        ]);
    }
    table.to_string()
}

/// `source 7`, or the end of a long name.
fn short(name: &str) -> String {
    const MOST: usize = 40;
    if name.chars().all(|c| c.is_ascii_digit()) {
        return format!("source {name}");
    }
    let skipped = name.chars().count().saturating_sub(MOST);
    let tail: String = name.chars().skip(skipped).collect();
    if skipped > 0 { format!("…{tail}") } else { tail }
}

/// When it changes, and when it is polled.
fn draw(plan: &Planned, path: &std::path::Path) -> Result<(), Failure> {
    let answer = &plan.answer;
    let (unit, x, y) = match answer.period_seconds {
        p if p <= 7_200.0 => (60.0, "minutes since the period's start", "changes per minute"),
        p if p <= 172_800.0 => (3_600.0, "hours since the period's start, UTC", "changes per hour"),
        _ => (86_400.0, "days since the period's start, a Thursday 00:00 UTC", "changes per day"),
    };
    let rates = answer.profile.rates();
    let width = answer.period_seconds / rates.len() as f64;
    let bars = rates.iter().enumerate().flat_map(|(at, rate)| {
        let (from, to) = (at as f64 * width / unit, (at + 1) as f64 * width / unit);
        [(from, rate * unit), (to, rate * unit)]
    });
    let top = rates.iter().copied().fold(0.0, f64::max) * unit;
    let spikes = answer
        .at_seconds
        .iter()
        .flat_map(|at| [(at / unit, 0.0), (at / unit, top), (at / unit, 0.0)]);
    let end = answer.period_seconds / unit;
    let polls = std::iter::once((0.0, 0.0)).chain(spikes).chain([(end, 0.0)]);
    let chart = Chart {
        title: format!("When {} changes, and when to poll it", short(&plan.source)),
        x,
        y,
        series: vec![
            Series { name: "changes".to_owned(), points: bars.collect() },
            Series { name: "polls".to_owned(), points: polls.collect() },
        ],
        ..Chart::default()
    };
    Ok(figure::lines(&chart, path)?)
}
