//! `tidewatch estimate`: the law of a source's updates, from polls.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use dynamics::diagnosis::Spacing;
use dynamics::history::{History, InvalidHistory, Look};
use dynamics::interval::{ABILITIES, Gaps, Method, Target};
use dynamics::process::Aging;
use lab::figure::{self, Chart, Series};
use lab::law::{self, Answer, Measured, Question};
use lab::trace::{Kinds, Trace};
use schedule::spec::Mistake;
use schedule::{Span, Time, Verdict};
use serde::Serialize;
use store::Reader;

use super::place::{Place, answers, find};
use super::simulate::moment;
use super::table::{self, counted};
use super::{Failure, Voice};
use crate::words::duration;

/// The law of a source's updates, from what polls saw of it
///
/// From a poll history, from a source of a trace under polls of your choice, or from what the running store has seen.
/// Prints G_U(x), which is also the chance that a copy synced x ago is stale, F_U(x), the share of intervals between
/// updates up to x, rate and mean, each with 95 % intervals, and what the history can tell at all.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Estimate {
    /// A watched source: its number, its address or any unambiguous part of it
    #[arg(value_name = "SOURCE", conflicts_with_all = ["trace", "polls"])]
    source: Option<String>,
    /// A poll history: CSV with the columns `t` and `changed`, optionally `age`; `-` reads it from stdin
    #[arg(long, value_name = "FILE", conflicts_with = "trace")]
    polls: Option<PathBuf>,
    /// A source of this trace, polled as `--sampling` says
    #[arg(long, value_name = "DIR", requires = "only")]
    trace: Option<PathBuf>,
    /// The source of the trace with this id
    #[arg(long, value_name = "ID", requires = "trace")]
    only: Option<u32>,
    /// How the trace's source is polled: `exponential`, `constant`, `uniform`, `gamma`, `lattice`, `pareto` or
    /// `weibull`, e.g. `constant(mean=10m)`
    #[arg(long, value_name = "LAW", default_value = "exponential(mean=1h)")]
    sampling: String,
    /// Let the trace's source tell how old its version is
    #[arg(long, requires = "trace")]
    ages: bool,
    /// How: `m1` to `m6`, `gm4`, `mixture`, `rate`, or `auto`; `list` prints what each can do
    #[arg(long, value_name = "METHOD", default_value = "auto")]
    method: String,
    /// Where to show the law, e.g. `10m,1h,1d` [default: over what was seen]
    #[arg(long, value_name = "SPANS", value_delimiter = ',')]
    at: Vec<String>,
    /// Reshuffled histories behind the intervals; 0 prints none
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    replicates: u32,
    /// Fixes the luck of polls and intervals
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Draw G_U and F_U with their bands into this SVG file
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

const EXAMPLES: &str = "\
Examples:
  tidewatch estimate --polls history.csv
  tidewatch estimate --polls history.csv --method m6 --at 10m,1h,6h --json
  tidewatch estimate --trace DIR --only 7 --sampling 'uniform(mean=2h)' --plot law.svg
  tidewatch estimate example.org/news
  tidewatch estimate --method list";

#[derive(Serialize)]
struct Estimated {
    source: String,
    #[serde(flatten)]
    answer: Answer,
}

impl Estimate {
    pub(crate) fn run(&self, voice: Voice) -> Result<(), Failure> {
        if self.method == "list" {
            return methods(voice);
        }
        let question = self.question()?;
        if let Some(path) = &self.plot {
            figure::can_draw(path)?;
        }
        let (source, history) = self.history()?;
        let bar = voice.progress(u64::from(self.replicates) + 1, "reshuffling");
        let answer = law::estimate(&history, &question, &|| bar.inc(1));
        bar.finish_and_clear();
        let estimated = Estimated { source, answer: answer? };
        if let Some(path) = &self.plot {
            draw(&estimated, path)?;
        }
        voice.result(&estimated, || describe(&estimated))?;
        if let Some(path) = &self.plot {
            voice.remark(&format!("drew {}", path.display()));
        }
        Ok(())
    }

    fn question(&self) -> Result<Question, Failure> {
        let method = match self.method.as_str() {
            "auto" => None,
            name => Some(Method::named(name).ok_or_else(|| {
                let known = ABILITIES.map(|ability| format!("`{}`", ability.name)).join(", ");
                Mistake(format!("there is no method `{name}`; known are `auto`, {known}"))
            })?),
        };
        let at = self.at.iter().map(|text| text.trim().parse::<Span>().map(Span::secs));
        let mut at = at.collect::<Result<Vec<f64>, _>>()?;
        at.sort_by(f64::total_cmp);
        at.dedup();
        Ok(Question { method, at, replicates: self.replicates as usize, seed: self.seed })
    }

    fn history(&self) -> Result<(String, History), Failure> {
        match (&self.trace, &self.polls, &self.source) {
            (Some(dir), ..) => self.of_trace(&Trace::read(dir)?),
            (_, Some(file), _) => Ok((file.display().to_string(), read_polls(file)?)),
            (.., Some(name)) => {
                let (_, reader) = self.place.reader()?;
                let source = find(&reader, name)?;
                Ok((format!("s_{} {}", source.id.0, source.url), of_store(&reader, source.id)?))
            }
            _ => Err(Failure::Asked(
                "say of what: a watched source, `--polls FILE`, or `--trace DIR --only ID`"
                    .to_owned(),
            )),
        }
    }

    /// The source's changes as blind polls would have seen them, from its first change on.
    fn of_trace(&self, trace: &Trace) -> Result<(String, History), Failure> {
        let id = self.only.unwrap_or_default();
        let at = trace.sources.iter().position(|source| source.id == id);
        let at = at.ok_or_else(|| Failure::Asked(format!("the trace has no source {id}")))?;
        let sampling = law::read_process(&self.sampling)?;
        let changes = trace.changes(at, Kinds::default());
        let mut updates: Vec<f64> = changes.into_iter().map(Time::secs).collect();
        let (Some(&first), Some(&last)) = (updates.first(), updates.last()) else {
            return Err(Failure::Asked(format!("source {id} of the trace never changes")));
        };
        let polls = (last - first) / sampling.mean();
        if polls > MOST_POLLS {
            return Err(Failure::Asked(format!(
                "`{}` makes {polls:.0} polls of this source; ten million are enough, so poll less often",
                self.sampling
            )));
        }
        updates.iter_mut().for_each(|t| *t -= first);
        let history = law::polled(&updates, &sampling, last - first, self.seed);
        let name = format!("source {id}, polled by {}", self.sampling);
        Ok((name, if self.ages { history } else { history.without_ages() }))
    }
}

const MOST_POLLS: f64 = 1e7;

/// `t,changed[,age]`, one look a line.
fn read_polls(file: &Path) -> Result<History, Failure> {
    let mut text = String::new();
    if file.as_os_str() == "-" {
        std::io::stdin().read_to_string(&mut text)?;
    } else {
        text = fs::read_to_string(file)
            .map_err(|why| Failure::Could(anyhow::anyhow!("{}: {why}", file.display())))?;
    }
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let heading: Vec<&str> =
        lines.next().map_or(Vec::new(), |(_, line)| line.split(',').map(str::trim).collect());
    let column = |name: &str| heading.iter().position(|cell| *cell == name);
    let (Some(t), Some(changed)) = (column("t"), column("changed")) else {
        return Err(Failure::Asked(format!(
            "{} needs a heading with the columns `t` and `changed`, optionally `age`",
            file.display()
        )));
    };
    let age = column("age");
    let (mut looks, mut numbers) = (Vec::new(), Vec::new());
    for (at, line) in lines {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let cell = |place: usize| cells.get(place).copied().unwrap_or_default();
        let wrong = |what: &str, cell: &str| {
            Mistake(format!("{} line {}: `{cell}` is no {what}", file.display(), at + 1))
        };
        looks.push(Look {
            at: seconds(cell(t))
                .ok_or_else(|| wrong("time; write seconds or `2026-11-16T09:30:00Z`", cell(t)))?,
            changed: flag(cell(changed)).ok_or_else(|| {
                wrong("answer to `changed`; write `true` or `false`, `1` or `0`", cell(changed))
            })?,
            age: match age.map(cell).filter(|text| !text.is_empty()) {
                None => None,
                Some(text) => Some(span(text).ok_or_else(|| {
                    wrong("age; write seconds or `1h30m`, or leave it empty", text)
                })?),
            },
        });
        numbers.push(at + 1);
    }
    History::new(looks).map_err(|why| {
        let look = match why {
            InvalidHistory::NotANumber(look)
            | InvalidHistory::Backwards { look, .. }
            | InvalidHistory::NegativeAge { look, .. } => look,
        };
        let line = numbers.get(look - 1).copied().unwrap_or_default();
        Failure::Asked(format!("{} line {line}: {why}", file.display()))
    })
}

fn seconds(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().or_else(|| moment(text).ok().map(|t| t as f64))
}

fn span(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().or_else(|| text.parse::<Span>().ok().map(Span::secs))
}

fn flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "changed" => Some(true),
        "0" | "false" | "no" | "same" => Some(false),
        _ => None,
    }
}

/// What polls of a source have shown, since it was last seen for the first time.
fn of_store(reader: &Reader, source: store::SourceId) -> Result<History, Failure> {
    let mut looks = Vec::new();
    for heard in answers(reader, source)? {
        let changed = match heard.verdict {
            Verdict::Unreadable | Verdict::Lost => continue,
            Verdict::Changed => true,
            Verdict::Same => false,
            Verdict::First => {
                looks.clear();
                false
            }
        };
        let at = heard.sent.micros() as f64 / 1e6;
        looks.push(Look { at, changed, age: heard.age.map(Span::secs) });
    }
    History::new(looks).map_err(|why| Failure::Could(why.into()))
}

/// The table of methods (BS-46).
fn methods(voice: Voice) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Line {
        method: &'static str,
        needs_ages: bool,
        polls: &'static str,
        estimates: &'static str,
        poisson_only: bool,
        cost: &'static str,
    }
    let line = |ability: dynamics::interval::Ability| Line {
        method: ability.name,
        needs_ages: ability.needs_ages,
        polls: match ability.gaps {
            Gaps::Any => "any",
            Gaps::Constant => "at a constant distance",
            Gaps::Irregular => "at irregular distances",
        },
        estimates: match ability.target {
            Target::Ages => "G_U",
            Target::SteppedAges => "G_U at multiples of the distance",
            Target::AgesAndIntervals => "G_U and F_U",
            Target::Between => "between F_U and G_U",
            Target::Above => "ages rounded up",
        },
        poisson_only: ability.poisson_only,
        cost: ability.cost,
    };
    let lines = ABILITIES.map(line);
    voice.result(&lines, || {
        let mut table =
            table::words(&["method", "needs ages", "polls", "estimates", "right for", "cost"]);
        for line in &lines {
            let right = if line.poisson_only { "Poisson sources" } else { "any source" };
            let ages = if line.needs_ages { "yes" } else { "no" };
            table.add_row([line.method, ages, line.polls, line.estimates, right, line.cost]);
        }
        table.to_string()
    })
}

/// `0.250 (0.221–0.282)`
fn shown(measured: Option<Measured>, show: &dyn Fn(f64) -> String) -> String {
    let Some(measured) = measured else { return "–".to_owned() };
    let value = measured.value.map_or("∞".to_owned(), show);
    let Some([low, high]) = measured.ci95 else { return value };
    let end = |end: Option<f64>| end.map_or("∞".to_owned(), show);
    format!("{value} ({}–{})", end(low), end(high))
}

fn describe(estimated: &Estimated) -> String {
    let Estimated { source, answer } = estimated;
    let diagnosis = &answer.diagnosis;
    let mut facts = table::facts();
    let polls = match diagnosis.spacing {
        None => "too few".to_owned(),
        Some(Spacing::Constant(gap)) => format!("every {}", duration(gap)),
        Some(Spacing::Lattice(step)) => format!("at multiples of {}", duration(step)),
        Some(Spacing::Irregular) => {
            format!(
                "irregular, {} apart on average",
                duration(diagnosis.mean_gap.unwrap_or_default())
            )
        }
    };
    let chosen = if answer.chosen { " (chosen)" } else { "" };
    let poisson = diagnosis.poisson.map_or("too few polls to say".to_owned(), |test| {
        match (test.departs(0.01), test.p_value) {
            (None, p) => format!("nothing speaks against it (p = {p:.2})"),
            (Some(side), p) => {
                let how = if side == Aging::NewWorse { "in bursts" } else { "regularly" };
                let p = if p < 1e-4 { "p < 0.0001".to_owned() } else { format!("p = {p:.4}") };
                format!("no: it changes {how} ({p})")
            }
        }
    });
    let per_day = |rate: f64| format!("{:.3}/d", rate * 86_400.0);
    let sees = match (diagnosis.sees_from, diagnosis.sees_to) {
        (Some(from), Some(to)) => format!("from {} to {}", duration(from), duration(to)),
        _ => "nothing".to_owned(),
    };
    facts.add_row(["source".to_owned(), source.clone()]);
    let seen = format!(
        "{} over {}, {} with a change",
        counted(diagnosis.looks, "look"),
        duration(diagnosis.span),
        diagnosis.detections
    );
    facts.add_row(["seen".to_owned(), seen]);
    facts.add_row(["polls".to_owned(), polls]);
    facts.add_row(["method".to_owned(), format!("{}{chosen}", answer.method)]);
    facts.add_row([
        "of the paper's".to_owned(),
        format!("{}: {}", answer.applies, diagnosis.because),
    ]);
    facts.add_row(["is it Poisson?".to_owned(), poisson]);
    facts.add_row(["intervals it can see".to_owned(), sees]);
    facts.add_row(["rate".to_owned(), shown(answer.rate, &per_day)]);
    facts.add_row(["mean interval".to_owned(), shown(answer.mean_seconds, &duration)]);
    facts.add_row(["rate if it were Poisson".to_owned(), shown(answer.poisson_rate, &per_day)]);
    if let (None, Some(least)) = (answer.rate, answer.rate_at_least) {
        facts.add_row(["rate at least".to_owned(), per_day(least)]);
    }
    let mut grid = table::table(&["x", "stale after x = G_U(x)", "intervals up to x = F_U(x)"]);
    let share = |x: f64| format!("{x:.3}");
    for point in &answer.grid {
        grid.add_row([
            duration(point.seconds),
            shown(point.stale, &share),
            shown(point.interval, &share),
        ]);
    }
    let warnings: String =
        answer.warnings.iter().map(|warning| format!("\nBeware: {warning}.")).collect();
    let note = "In brackets: 95 % intervals. Those of F_U are a sketch: the bootstrap is not consistent for it.";
    format!("{facts}\n{grid}\n{note}{warnings}")
}

/// G_U and F_U with their bands.
fn draw(estimated: &Estimated, path: &Path) -> Result<(), Failure> {
    let points = &estimated.answer.grid;
    let hours = |seconds: f64| seconds / 3_600.0;
    let line = |name: &str, value: &dyn Fn(&law::Point) -> Option<f64>| {
        let points = points.iter().filter_map(|p| Some((hours(p.seconds), value(p)?))).collect();
        Series { name: name.to_owned(), points }
    };
    let end = |measured: Option<Measured>, at: usize| measured.and_then(|m| m.ci95?[at]);
    let series = [
        line("G_U: stale", &|p| p.stale?.value),
        line("F_U: intervals", &|p| p.interval?.value),
        line("G_U, 97.5 %", &|p| end(p.stale, 1)),
        line("G_U, 2.5 %", &|p| end(p.stale, 0)),
    ];
    let series: Vec<Series> = series.into_iter().filter(|line| !line.points.is_empty()).collect();
    if series.is_empty() {
        return Err(Failure::Asked("there is no law to draw: too little was seen".to_owned()));
    }
    let chart = Chart {
        title: "How soon it changes, as far as the polls can tell".to_owned(),
        x: "hours",
        y: "share",
        logarithmic: true,
        series,
    };
    Ok(figure::lines(&chart, path)?)
}
