//! `simulate --tick`: what is asked of instants, and how it is shown.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use clap::Args;
use lab::compare::{Comparison, Standing};
use lab::figure::{Chart, Series};
use lab::ticks::{Ticks, Told};
use schedule::Span;
use schedule::spec::Mistake;
use schedule::utility::{Decay, Life, Shape, Urgency, Worth};

use super::table::{self, counted, with_interval};

/// Flags about instants and the worth of changes.
#[derive(Args)]
pub(crate) struct InTicks {
    /// Length of an instant, e.g. `1m`: rounds are instants
    #[arg(long, value_name = "SPAN", requires = "capacity")]
    tick: Option<String>,
    /// Polls an instant can pay for
    #[arg(long, value_name = "C", requires = "tick", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    capacity: Option<u64>,
    /// How many instants
    #[arg(long, value_name = "N", requires = "tick", default_value_t = 1_440, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    ticks: u32,
    /// What waiting does to a change's worth: `none`, `half-life 30m`, `within 2h`, `per-tick 0.9`, `polynomial 2` or
    /// `table FILE` (one number a line, the first for no delay) [default: none]
    #[arg(long, value_name = "WORDS")]
    urgency: Option<String>,
    /// How long what a change brought can be found: `overwrite`, `append`, `last 20` (changes), `for 7d` [default: overwrite]
    #[arg(long, value_name = "WORDS")]
    life: Option<String>,
    /// What policies are told of the chances: `exact`, `noisy(fpn=0.1,spread=2)` or `learned` from their own polls
    #[arg(long, value_name = "WORDS", requires = "tick", default_value = "learned")]
    probabilities: String,
}

/// What was asked, understood.
pub(crate) struct Asked {
    pub(crate) ticks: Ticks,
    pub(crate) instants: u32,
    /// As far as it can be said in time.
    pub(crate) worth: Worth,
    /// For the heading.
    words: String,
}

impl InTicks {
    /// What a change is worth; a table counts in ticks and is none here.
    pub(crate) fn worth(&self) -> Result<Worth, Mistake> {
        let table = self.urgency.as_deref().is_some_and(|text| table_file(text).is_some());
        let urgency = match &self.urgency {
            Some(text) if !table => text.parse()?,
            _ => Urgency::None,
        };
        let life = self.life.as_deref().map_or(Ok(Life::default()), str::parse)?;
        Ok(Worth { urgency, life })
    }

    /// None unless `--tick` is given.
    pub(crate) fn settings(&self) -> Result<Option<Asked>, Mistake> {
        let (Some(tick), Some(capacity)) = (&self.tick, self.capacity) else { return Ok(None) };
        let tick: Span = tick.parse()?;
        if tick < Span::from_secs(1) {
            return Err(Mistake("`--tick` must last at least one second".to_owned()));
        }
        let (worth, told) = (self.worth()?, self.probabilities.parse::<Told>()?);
        let urgency = self.urgency.as_deref().unwrap_or("none");
        let decay = match table_file(urgency) {
            Some(file) => read_table(Path::new(file))?,
            None => worth.urgency.per(tick),
        };
        let shape = Shape { decay, stay: worth.life.per(tick) };
        let words =
            format!("urgency {urgency}, life {}, probabilities {}", worth.life, self.probabilities);
        Ok(Some(Asked {
            ticks: Ticks { tick, capacity, shape, told },
            instants: self.ticks,
            worth,
            words,
        }))
    }
}

/// The file of `table FILE`.
fn table_file(text: &str) -> Option<&str> {
    text.trim().strip_prefix("table ").map(str::trim)
}

fn read_table(path: &Path) -> Result<Decay, Mistake> {
    let name = path.display();
    let text = fs::read_to_string(path)
        .map_err(|why| Mistake(format!("cannot read the urgency table `{name}`: {why}")))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let values: Result<Vec<f64>, _> = lines.map(str::parse).collect();
    let values = values
        .map_err(|_| Mistake(format!("`{name}` is no urgency table: write one number a line")))?;
    Decay::table(values).map_err(|mistake| Mistake(format!("`{name}`: {mistake}")))
}

/// The table: best first.
pub(crate) fn report(comparison: &Comparison, asked: &Asked) -> String {
    let utility = |standing: &Standing| {
        standing.ticks.as_ref().and_then(|ticks| ticks.utility.mean).unwrap_or(-1.0)
    };
    let mut standings: Vec<&Standing> = comparison.policies.iter().collect();
    standings.sort_by(|a, b| utility(b).total_cmp(&utility(a)));
    let told = standings
        .iter()
        .any(|standing| standing.ticks.as_ref().is_some_and(|ticks| ticks.expected.is_some()));
    let mut headings =
        vec!["policy", "utility", "of the bound", "captured", "at once", "≥ 10 ticks late"];
    if told {
        headings.extend(["expected", "of its bound"]);
    }
    let mut table = table::table(&headings);
    for standing in &standings {
        let Some(ticks) = &standing.ticks else { continue };
        let mut row = vec![
            if standing.bound {
                format!("{} †", standing.policy)
            } else {
                standing.policy.clone()
            },
            with_interval(&ticks.utility),
            percent(ticks.share_of_bound.mean),
            with_interval(&ticks.captured),
            with_interval(&ticks.zero_delay),
            percent(ticks.delay.last().copied()),
        ];
        if let Some(expected) = &ticks.expected {
            row.push(expected.utility.mean.map_or("–".to_owned(), |mean| format!("{mean:.1}")));
            row.push(percent(expected.share_of_bound.mean));
        }
        table.add_row(row);
    }
    let heading = format!(
        "{}, {} of {}, {} each; {}, {}",
        counted(comparison.sources, "source"),
        counted(comparison.cycles, "tick"),
        asked.ticks.tick,
        counted(usize::try_from(comparison.budget_per_cycle).unwrap_or(usize::MAX), "poll"),
        asked.words,
        counted(usize::try_from(comparison.seeds).unwrap_or(usize::MAX), "seed"),
    );
    format!("{heading}\n{table}\n{}", notes(comparison, told))
}

/// What the columns mean, and the numbers that are the same for all.
fn notes(comparison: &Comparison, told: bool) -> String {
    let first = comparison.policies.first().and_then(|standing| standing.ticks.as_ref());
    let bound = first
        .and_then(|ticks| ticks.bound.mean)
        .map_or("–".to_owned(), |bound| format!("{bound:.3}"));
    let mut notes = format!(
        "utility: worth of what was captured, 1 if every change were caught at once; no schedule could exceed {bound}"
    );
    let optimum = first.and_then(|ticks| ticks.expected.as_ref()?.optimum.as_ref()?.mean);
    if told {
        notes += "\nexpected: by the chances that were told, whatever then happened";
    }
    if let Some(optimum) = optimum {
        let _ = write!(notes, "; the best schedule expects {optimum:.3}");
    }
    if comparison.policies.iter().any(|standing| standing.bound) {
        notes += "\n† knows what no live program can";
    }
    notes
}

fn percent(share: Option<f64>) -> String {
    share.map_or("–".to_owned(), |share| format!("{:.1} %", 100.0 * share))
}

/// How late changes are captured, policy by policy.
pub(crate) fn chart(comparison: &Comparison) -> Chart {
    let series = comparison.policies.iter().filter_map(|standing| {
        let ticks = standing.ticks.as_ref()?;
        let captured = ticks.captured.mean?;
        let caught = ticks.delay.iter().scan(0.0, |sum, share| {
            *sum += share * captured;
            Some(*sum)
        });
        let points = caught.enumerate().map(|(delay, share)| (delay as f64, share)).collect();
        Some(Series { name: standing.policy.clone(), points })
    });
    Chart {
        title: "Changes captured within so many ticks, of all that happened".to_owned(),
        x: "delay in ticks (the last: any)",
        y: "share of changes",
        series: series.collect(),
        ..Chart::default()
    }
}
