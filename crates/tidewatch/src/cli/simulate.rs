//! `tidewatch simulate`: policies side by side on a trace or a world, three clocks, one scheduler.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use jiff::civil;
use jiff::tz::TimeZone;
use lab::compare::{self, Comparison, Contender, Ground, Standing};
use lab::run::{Clock, Count};
use lab::trace::{Kinds, Present, Trace};
use lab::world::World;
use lab::{figure, synth};
use schedule::spec::{Mistake, split};
use schedule::{Span, policy};

use super::table::{self, counted, with_interval};
use super::ticks::InTicks;
use super::{Failure, Voice};
use crate::budget::Budget;
use crate::words::duration;
use serde::Serialize;

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Simulate {
    /// Trace directory to replay
    #[arg(long, value_name = "DIR", conflicts_with = "world")]
    trace: Option<PathBuf>,
    /// Made-up world, e.g. `v-shaped(sites=100,pages=20000)`; `list` shows them
    #[arg(long, value_name = "SPEC")]
    world: Option<String>,
    /// Comma-separated, e.g. `round-robin,greedy(samples=5),oracle`; `list` shows them, `all` runs them
    #[arg(long, value_name = "LIST", default_value = "all")]
    policies: String,
    /// Polls per cycle (`28%`, `100000`) or flowing (`600/h`, `28%/30d`) [default: 28%]
    #[arg(long, value_name = "BUDGET")]
    budget: Option<String>,
    /// Length of a cycle, e.g. `30d` [default: 30d; 1d when polls flow]
    #[arg(long, value_name = "SPAN")]
    cycle: Option<String>,
    /// How many cycles [default: as many as the trace has; 5 for a world]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    cycles: Option<u32>,
    /// First day or moment of a trace, UTC, e.g. `2023-07-01` [default: where the trace begins]
    #[arg(long, value_name = "DATE")]
    from: Option<String>,
    /// What a poll sees and scores [default: since-last]
    #[arg(long, value_enum)]
    count: Option<CountArg>,
    /// Which sources of a trace take part [default: throughout in cycles, any when polls flow]
    #[arg(long, value_enum)]
    present: Option<PresentArg>,
    /// Which kinds of update count as a change
    #[arg(long, value_name = "KINDS", default_value = "change,bulk")]
    kinds: String,
    #[command(flatten)]
    ticks: InTicks,
    /// Run with seeds 1 to N; intervals are over seeds
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,
    /// Draw the ChangeRatio of every policy into this SVG file
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

/// The long help.
pub(crate) const ABOUT: &str = "\
Replays a trace or a made-up world under policies and scores them.

Without --trace and --world: the sampling paper's main experiment on its synthetic world.

Cycles: `--cycle 30d --cycles 24 --budget 28%` makes every poll of a cycle at the cycle's end.
Continuous: `--budget 600/h` or `28%/30d` spreads polls over time.
Ticks: `--tick 1m --capacity 8` makes at most 8 polls an instant; what a change is worth falls with its delay
(`--urgency`) and with what the page does to it (`--life`), and every policy is shown beside what no schedule could beat.";

const EXAMPLES: &str = "\
Examples:
  tidewatch simulate
  tidewatch simulate --world 'bursts(sites=50,pages=5000)' --cycles 24 --budget 10%
  tidewatch simulate --trace DIR --from 2023-07-01 --cycles 24 --budget 28% --count per-cycle
  tidewatch simulate --trace DIR --budget 1%/1d --policies round-robin,oracle --json
  tidewatch simulate --tick 1m --capacity 8 --urgency 'per-tick 0.9' --life overwrite --policies wic,wic+search,cam";

#[derive(Clone, Copy, ValueEnum)]
enum CountArg {
    /// This cycle's change flag: the papers' rule, which no live poller could see
    PerCycle,
    /// Changed since the last look: what the daemon lives with
    SinceLast,
}

#[derive(Clone, Copy, ValueEnum)]
enum PresentArg {
    /// Sources and sites there over the whole window
    Throughout,
    /// They come and go
    Any,
}

impl Simulate {
    pub(crate) fn run(mut self, voice: Voice) -> Result<(), Failure> {
        if self.policies.trim() == "list" {
            return policy_list(voice);
        }
        if self.world.as_deref() == Some("list") {
            return world_list(voice);
        }
        if let Some(ticks) = self.ticks.settings()? {
            return self.run_in_ticks(&ticks, voice);
        }
        let built_in = self.trace.is_none() && self.world.is_none();
        if built_in {
            self.fill_in();
        }
        let contenders = contenders(&self.policies, Contender::all)?;
        if let Some(who) = contenders.iter().find(|who| who.wants_ticks()) {
            let problem = format!("`{}` plans instants; give `--tick 1m --capacity 8`", who.text);
            return Err(Failure::Asked(problem));
        }
        let budget: Budget = self.budget.as_deref().unwrap_or("28%").parse()?;
        let cycle = self.cycle(budget)?;
        let clock = self.clock(budget, cycle)?;
        let ground = self.ground(budget, cycle, voice)?;
        if let Some(path) = &self.plot {
            figure::can_draw(path)?;
        }
        if built_in {
            voice.remark("a built-in world, the sampling paper's: v-shaped");
        }
        let rounds = u64::from(ground.rounds) * self.seeds * contenders.len() as u64;
        let bar = voice.progress(rounds, "simulating");
        let comparison =
            compare::compare(&ground.ground, &clock, &contenders, self.seeds, &|| bar.inc(1));
        bar.finish_and_clear();
        if comparison.budget_per_cycle == 0 {
            voice.remark("the budget comes to no polls a cycle; give more, e.g. `--budget 10%`");
        }
        voice.result(&comparison, || report(&comparison, cycle))?;
        if let Some(path) = &self.plot {
            figure::comparison(&comparison, path)?;
            voice.remark(&format!("drew {}", path.display()));
        }
        Ok(())
    }

    /// Rounds are instants.
    fn run_in_ticks(&self, asked: &super::ticks::Asked, voice: Voice) -> Result<(), Failure> {
        for (flag, given) in [
            ("--budget", self.budget.is_some()),
            ("--cycle", self.cycle.is_some()),
            ("--cycles", self.cycles.is_some()),
            ("--count", self.count.is_some()),
        ] {
            if given {
                let problem = format!(
                    "`{flag}` is for cycles and flows; ticks have `--capacity` and `--ticks`"
                );
                return Err(Failure::Asked(problem));
            }
        }
        let contenders = contenders(&self.policies, Contender::in_ticks)?;
        let ground = self.ground_of_ticks(asked, voice)?;
        if let Some(path) = &self.plot {
            figure::can_draw(path)?;
        }
        let instants = u64::from(asked.instants) * self.seeds * contenders.len() as u64;
        let bar = voice.progress(instants, "simulating");
        let comparison =
            compare::compare_in_ticks(&ground, &asked.ticks, &contenders, self.seeds, &|| {
                bar.inc(1);
            });
        bar.finish_and_clear();
        voice.result(&comparison, || super::ticks::report(&comparison, asked))?;
        if let Some(path) = &self.plot {
            figure::lines(&super::ticks::chart(&comparison), path)?;
            voice.remark(&format!("drew {}", path.display()));
        }
        Ok(())
    }

    fn ground_of_ticks(
        &self,
        asked: &super::ticks::Asked,
        voice: Voice,
    ) -> Result<Ground, Failure> {
        let tick = asked.ticks.tick;
        let Some(dir) = &self.trace else {
            if self.world.is_none() {
                voice.remark(&format!("a built-in world: {BUILT_IN}"));
            }
            let spec: synth::Spec = self.world.as_deref().unwrap_or(BUILT_IN).parse()?;
            if self.from.is_some() || self.present.is_some() {
                return Err(Failure::Asked(
                    "`--from` and `--present` cut a trace; a world has neither".to_owned(),
                ));
            }
            let (cycle, cycles) = (tick, asked.instants);
            return Ok(Ground::Drawn { spec, cycle, cycles, worth: asked.worth });
        };
        let kinds: Kinds = self.kinds.parse()?;
        let trace = Trace::read(dir)?;
        let window = self.window(&trace, tick, Some(asked.instants))?;
        let present = match self.present {
            Some(PresentArg::Throughout) => Present::Throughout,
            Some(PresentArg::Any) | None => Present::Any,
        };
        let world = trace.world(window.from, window.to, present, kinds);
        if world.is_empty() {
            voice.remark("no source takes part in this window; try another `--from`");
        }
        Ok(Ground::Fixed(Arc::new(world.with_worth(asked.worth))))
    }

    /// The built-in run: CN-52's setting.
    fn fill_in(&mut self) {
        self.world = Some("v-shaped".to_owned());
        self.budget.get_or_insert_with(|| "100000".to_owned());
        self.cycles.get_or_insert(5);
        if self.budget.as_deref().is_some_and(|budget| !budget.contains('/')) {
            self.count.get_or_insert(CountArg::PerCycle);
        }
    }

    fn cycle(&self, budget: Budget) -> Result<Span, Mistake> {
        let default = if budget.per.is_some() { "1d" } else { "30d" };
        let cycle: Span = self.cycle.as_deref().unwrap_or(default).parse()?;
        if cycle < Span::from_secs(1) {
            return Err(Mistake("a cycle must last at least one second".to_owned()));
        }
        Ok(cycle)
    }

    fn clock(
        &self,
        budget: Budget,
        cycle: Span,
    ) -> Result<impl Fn(&World) -> Clock + Sync + use<>, Mistake> {
        let count = match self.count {
            Some(CountArg::PerCycle) if budget.per.is_some() => {
                let problem = "`--count per-cycle` needs polls per cycle; a flow of polls counts since the last look";
                return Err(Mistake(problem.to_owned()));
            }
            Some(CountArg::PerCycle) => Count::PerCycle,
            Some(CountArg::SinceLast) | None => Count::SinceLast,
        };
        Ok(move |world: &World| match budget.per {
            None => Clock::Cycles { length: cycle, polls: budget.per_cycle(world.len()), count },
            Some(per) => {
                let (polls, per) = budget.flow(world.len(), per);
                Clock::Continuous { polls, per, round: cycle }
            }
        })
    }

    fn ground(&self, budget: Budget, cycle: Span, voice: Voice) -> Result<Grounded, Failure> {
        let kinds: Kinds = self.kinds.parse()?;
        let longest = Span::DAY.times(365 * 10_000);
        if i128::from(cycle.micros()) * i128::from(self.cycles.unwrap_or(1))
            > i128::from(longest.micros())
        {
            return Err(Failure::Asked(format!(
                "{} cycles of {cycle} are more than ten thousand years",
                self.cycles.unwrap_or(1)
            )));
        }
        let Some(dir) = &self.trace else {
            let spec: synth::Spec = self.world.as_deref().unwrap_or("v-shaped").parse()?;
            if self.from.is_some() || self.present.is_some() {
                return Err(Failure::Asked(
                    "`--from` and `--present` cut a trace; a world has neither".to_owned(),
                ));
            }
            let cycles = self.cycles.unwrap_or(5);
            let ground = Ground::Drawn { spec, cycle, cycles, worth: self.ticks.worth()? };
            return Ok(Grounded { ground, rounds: cycles });
        };
        let trace = Trace::read(dir)?;
        let window = self.window(&trace, cycle, self.cycles)?;
        let present = match self.present {
            Some(PresentArg::Any) => Present::Any,
            None if budget.per.is_some() => Present::Any,
            Some(PresentArg::Throughout) | None => Present::Throughout,
        };
        let world = trace.world(window.from, window.to, present, kinds);
        if world.is_empty() {
            voice.remark(
                "no source takes part in this window; try `--present any` or another `--from`",
            );
        }
        let world = world.with_worth(self.ticks.worth()?);
        Ok(Grounded { ground: Ground::Fixed(Arc::new(world)), rounds: window.cycles })
    }

    fn window(&self, trace: &Trace, cycle: Span, cycles: Option<u32>) -> Result<Window, Failure> {
        let length = cycle.micros() / 1_000_000;
        if Span::from_secs(length) != cycle {
            return Err(Failure::Asked(
                "a trace has whole seconds, so its cycle must be a whole number of them".to_owned(),
            ));
        }
        let Some((start, end)) = trace.span() else {
            let from = self.from.as_deref().map_or(Ok(0), moment)?;
            let cycles = cycles.unwrap_or(1);
            return Ok(Window { from, to: from + length * i64::from(cycles), cycles });
        };
        let from = self.from.as_deref().map_or(Ok(start), moment)?;
        let whole = u32::try_from((end - from).max(0) / length).unwrap_or(u32::MAX);
        let cycles = cycles.unwrap_or(whole);
        let covers = i64::from(cycles) * length;
        if cycles == 0 || from + covers > end + length - 1 || from + length <= start {
            return Err(Failure::Asked(format!(
                "the trace covers {} to {}; no window of {} cycles of {cycle} fits behind {}",
                date(start),
                date(end),
                cycles.max(1),
                date(from)
            )));
        }
        Ok(Window { from, to: from + length * i64::from(cycles), cycles })
    }
}

struct Grounded {
    ground: Ground,
    rounds: u32,
}

struct Window {
    from: i64,
    to: i64,
    cycles: u32,
}

/// The world of `--tick` without another: 200 sources that change every few hours.
const BUILT_IN: &str = "poisson(sites=10,pages=200,mean=2h)";

/// What `--policies` names; `all` stands for every one that fits, with its default settings.
fn contenders(text: &str, all: fn() -> Vec<Contender>) -> Result<Vec<Contender>, Mistake> {
    let mut list = Vec::new();
    for part in split(text)? {
        match part {
            "all" => list.extend(all()),
            policy => list.push(policy.parse()?),
        }
    }
    if list.is_empty() {
        return Err(Mistake(
            "`--policies` names no policy; `--policies list` shows them".to_owned(),
        ));
    }
    Ok(list)
}

/// `2023-07-01` or `2023-07-01T12:00:00Z`, as seconds since 1970.
pub(crate) fn moment(text: &str) -> Result<i64, Mistake> {
    let text = text.trim();
    let day = || match text.len() {
        10 => text
            .parse::<civil::Date>()
            .ok()?
            .to_zoned(TimeZone::UTC)
            .ok()
            .map(|day| day.timestamp()),
        _ => None,
    };
    let stamp = text.parse::<jiff::Timestamp>().ok().or_else(day);
    stamp.map(jiff::Timestamp::as_second).ok_or_else(|| {
        Mistake(format!(
            "`{text}` is not a date; write `2023-07-01` or, with its zone, `2023-07-01T12:00:00Z`"
        ))
    })
}

/// Seconds since 1970 as a day.
pub(crate) fn date(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).map_or_else(
        |_| seconds.to_string(),
        |stamp| stamp.to_zoned(TimeZone::UTC).date().to_string(),
    )
}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    settings: &'static str,
    about: &'static str,
    from: &'static str,
}

fn list(what: &str, entries: &[Listed], voice: Voice) -> Result<(), Failure> {
    voice.result(&entries, || {
        let mut table = table::table(&[what, "settings (default)", "what it is", "from"]);
        for entry in entries {
            let settings = if entry.settings.is_empty() { "–" } else { entry.settings };
            table.add_row([entry.name, settings, entry.about, entry.from]);
        }
        table.to_string()
    })
}

fn policy_list(voice: Voice) -> Result<(), Failure> {
    let entries = policy::LIST.iter().chain(&compare::BOUNDS);
    let listed = |entry: &policy::Entry| Listed {
        name: entry.name,
        settings: entry.settings,
        about: entry.about,
        from: entry.from,
    };
    list("policy", &entries.map(listed).collect::<Vec<_>>(), voice)
}

fn world_list(voice: Voice) -> Result<(), Failure> {
    let listed = synth::LIST.map(|(name, settings, about)| Listed {
        name,
        settings,
        about,
        from: "made up",
    });
    list("world", &listed, voice)
}

/// The table: policies best first, bounds last, the best of each column starred.
fn report(comparison: &Comparison, cycle: Span) -> String {
    let mut standings: Vec<&Standing> = comparison.policies.iter().collect();
    let rank = |standing: &Standing| standing.change_ratio.mean.unwrap_or(-1.0);
    standings.sort_by(|a, b| a.bound.cmp(&b.bound).then(rank(b).total_cmp(&rank(a))));
    let mut table = table::table(&[
        "policy",
        "ChangeRatio",
        "change recall",
        "freshness",
        "age",
        "polls",
        "time",
    ]);
    let best = |value: &dyn Fn(&Standing) -> Option<f64>| {
        standings
            .iter()
            .filter(|s| !s.bound)
            .filter_map(|s| value(s))
            .fold(f64::NEG_INFINITY, f64::max)
    };
    let ratio = |s: &Standing| s.change_ratio.mean;
    let recall = |s: &Standing| s.change_recall.mean;
    let fresh = |s: &Standing| s.freshness.mean;
    let young = |s: &Standing| s.age_seconds.mean.map(|age| -age);
    let tops = [best(&ratio), best(&recall), best(&fresh), best(&young)];
    for s in &standings {
        let star = |value: Option<f64>, top: f64| {
            if !s.bound && value.is_some_and(|value| value >= top) { "★ " } else { "" }
        };
        let ratio_summary =
            lab::score::Summary { mean: s.change_ratio.mean, ci95: s.change_ratio.ci95 };
        let name = if s.bound { format!("{} †", s.policy) } else { s.policy.clone() };
        table.add_row([
            name,
            star(ratio(s), tops[0]).to_owned() + &with_interval(&ratio_summary),
            star(recall(s), tops[1]).to_owned() + &with_interval(&s.change_recall),
            star(fresh(s), tops[2]).to_owned() + &with_interval(&s.freshness),
            star(young(s), tops[3]).to_owned()
                + &s.age_seconds.mean.map_or("–".to_owned(), duration),
            format!("{:.0}", s.polls),
            duration(s.decide_seconds),
        ]);
    }
    let heading = format!(
        "{} on {}, {} of {cycle}, {} each, {}{}",
        counted(comparison.sources, "source"),
        counted(comparison.sites, "site"),
        counted(comparison.cycles, "cycle"),
        counted(usize::try_from(comparison.budget_per_cycle).unwrap_or(usize::MAX), "poll"),
        counted(usize::try_from(comparison.seeds).unwrap_or(usize::MAX), "seed"),
        if comparison.seeds == 1 { "" } else { "; ± is the 95 % interval over them" }
    );
    let note = "† knows what no live program can: a bound on ChangeRatio and change recall, not on freshness or age";
    let bounded = standings.iter().any(|s| s.bound);
    format!("{heading}\n{table}\n{}", if bounded { note } else { "" })
}
