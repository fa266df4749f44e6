//! `run`, `once`, `status`: the engine itself.

use std::sync::Arc;

use clap::Args;
use dynamics::quality::Metric;
use schedule::{Beliefs, Budget, Time};
use serde_json::json;
use store::{Reader, Source};
use tokio::runtime::Runtime;

use super::place::{Place, recall};
use super::table::{count, counted, facts};
use super::{Failure, Voice};
use crate::clock::Clock;
use crate::collection::Mirror;
use crate::config::Config;
use crate::daemon::{Core, Message};
use crate::journal::source_ix;
use crate::source::Spec;
use crate::words::{duration, relative};

/// Polls, compares, remembers and tells, until it is stopped.
#[derive(Args, Debug)]
pub(crate) struct Run {
    /// Also print every event on stdout, one JSON document a line
    #[arg(long)]
    events: bool,
    #[command(flatten)]
    place: Place,
}

pub(super) fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()
}

pub(super) fn open(config: Config, runtime: &Runtime) -> anyhow::Result<Core> {
    Core::open(Arc::new(config), runtime.handle().clone(), |last| Arc::new(Clock::wall(last)))
}

/// Ctrl-C and the like end the loop once what is under way is written.
pub(super) fn stop_on_signal(core: &Core, runtime: &Runtime, voice: Voice) {
    let inbox = core.inbox();
    runtime.spawn(async move {
        signalled().await;
        voice.remark("stopping: polls under way have five seconds");
        inbox.put(Message::Stop);
    });
}

#[cfg(unix)]
async fn signalled() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

#[cfg(not(unix))]
async fn signalled() {
    let _ = tokio::signal::ctrl_c().await;
}

impl Run {
    pub(crate) fn run(&self, voice: Voice) -> Result<(), Failure> {
        super::log(voice);
        let mut config = self.place.config()?;
        config.stdout |= self.events;
        let dir = config.dir.clone();
        let runtime = runtime()?;
        let core = open(config, &runtime)?;
        let watched = core.watched();
        voice.remark(&format!(
            "watching {} in `{}`; Ctrl-C stops",
            super::table::counted(watched, "source"),
            dir.display()
        ));
        if watched == 0 {
            voice.remark("nothing to poll yet: `tidewatch add URL` in another terminal, or a [[source]] in the configuration");
        }
        stop_on_signal(&core, &runtime, voice);
        let ended = core.run();
        runtime.shutdown_background();
        Ok(ended?)
    }
}

/// Spends what has accrued since the last run, then exits: for cron.
#[derive(Args, Debug)]
pub(crate) struct Once {
    /// Also print every event on stdout, one JSON document a line
    #[arg(long)]
    events: bool,
    #[command(flatten)]
    place: Place,
}

impl Once {
    pub(crate) fn run(&self, voice: Voice) -> Result<(), Failure> {
        super::log(voice);
        let mut config = self.place.config()?;
        config.stdout |= self.events;
        // polls are saved up between two runs, but for a day at most
        if let Budget::Flow { polls, per, burst } = &mut config.setup.settings.budget {
            let a_day = *polls as f64 * 86_400.0 / per.secs();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "saturates"
            )]
            let a_day = a_day.ceil() as u32;
            *burst = (*burst).max(a_day);
        }
        let runtime = runtime()?;
        let core = open(config, &runtime)?;
        stop_on_signal(&core, &runtime, voice);
        let polls = core.once();
        runtime.shutdown_background();
        let polls = polls?;
        voice.remark(&format!("{} polled", super::table::counted(polls, "source")));
        Ok(())
    }
}

/// Says how fresh the copy is, what was spent and what was missed.
#[derive(Args, Debug)]
pub(crate) struct Status {
    #[command(flatten)]
    place: Place,
}

/// The copy as a whole.
struct Copy {
    sources: usize,
    seen: usize,
    fresh: f64,
    stale: f64,
    age: f64,
}

impl Status {
    pub(crate) fn run(&self, voice: Voice) -> Result<(), Failure> {
        let (config, reader) = self.place.reader()?;
        let (memory, now) = recall(&reader)?;
        let copy = copy_of(&reader, &memory, now)?;
        let books = &memory.books;
        let shut: Vec<(String, Time)> = {
            let hosts = reader.hosts()?;
            let still = books.shut.iter().filter(|(_, until)| **until > now);
            still
                .filter_map(|(host, until)| Some((hosts.get(host.ix())?.clone(), *until)))
                .collect()
        };
        let left = memory.scheduler.left_to_spend(now);
        let collections = collections(&reader, now)?;
        let failing: Vec<Source> =
            reader.sources()?.into_iter().filter(|source| source.state.failures > 0).collect();
        voice.result(
            &json!({
                "data": config.dir,
                "sources": copy.sources,
                "seen": copy.seen,
                "freshness": copy.fresh,
                "stale_expected": copy.stale,
                "expected_age_seconds": copy.age,
                "polls": books.polls,
                "visits": books.visits,
                "lost": books.lost,
                "captured": books.changed,
                "missed_estimated": books.missed,
                "budget_left": left,
                "newcomers": memory.scheduler.newcomers(),
                "in_flight": books.flights.len(),
                "hosts_shut": shut.iter().map(|(host, until)| json!({
                    "host": host, "until": crate::words::rfc3339(*until) })).collect::<Vec<_>>(),
                "failing": failing.len(),
                "policy": config.policy,
                "collections": collections.iter().map(Mirrored::view).collect::<Vec<_>>(),
            }),
            || {
                let mut rows = facts();
                rows.add_row([
                    "sources".to_owned(),
                    format!("{}, {} of them seen", count(copy.sources), count(copy.seen)),
                ]);
                rows.add_row([
                    "fresh now".to_owned(),
                    format!("{:.1} % expected; {:.1} stale", 100.0 * copy.fresh, copy.stale),
                ]);
                rows.add_row([
                    "age now".to_owned(),
                    format!("{} expected, on average", duration(copy.age)),
                ]);
                rows.add_row([
                    "captured".to_owned(),
                    format!("{} changes; {:.1} more estimated missed", books.changed, books.missed),
                ]);
                rows.add_row([
                    "polls".to_owned(),
                    format!(
                        "{} sent, {} lost; {} other requests",
                        books.polls, books.lost, books.visits
                    ),
                ]);
                rows.add_row(["to spend".to_owned(), format!("{left:.1} polls saved up")]);
                rows.add_row([
                    "waiting".to_owned(),
                    format!("{} for a first look", memory.scheduler.newcomers()),
                ]);
                for one in &collections {
                    one.lines().into_iter().for_each(|line| {
                        rows.add_row(["collection".to_owned(), line]);
                    });
                }
                for (host, until) in &shut {
                    rows.add_row([
                        "left alone".to_owned(),
                        format!("{host}, opens {}", relative(*until, now)),
                    ]);
                }
                for source in failing.iter().take(5) {
                    let why = source.state.outcome.clone().unwrap_or_default();
                    rows.add_row([
                        "failing".to_owned(),
                        format!("s_{} {}: {why}", source.id.0, source.url),
                    ]);
                }
                rows.to_string()
            },
        )
    }
}

/// A collection, how good its copy is now and how past forecasts turned out.
struct Mirrored {
    source: Source,
    mirror: Mirror,
    days: f64,
}

fn collections(reader: &Reader, now: Time) -> Result<Vec<Mirrored>, Failure> {
    let mut found = Vec::new();
    for source in reader.sources()? {
        if Spec::from_text(&source.spec)?.collection.is_some() {
            let mirror = Mirror::load(reader, source.id)?;
            let days = mirror.elapsed(now);
            found.push(Mirrored { source, mirror, days });
        }
    }
    Ok(found)
}

impl Mirrored {
    fn view(&self) -> serde_json::Value {
        let forecaster = self.mirror.forecaster();
        let quality = |metric| {
            let expected = forecaster.expected(metric, self.days, 0.9).ok().flatten();
            let (told, covered) = forecaster.record(metric);
            json!({
                "expected": expected.map(|expected| expected.quality),
                "low": expected.map(|expected| expected.interval.low),
                "high": expected.map(|expected| expected.interval.high),
                "forecasts": told,
                "inside_90": covered,
            })
        };
        json!({
            "source": format!("s_{}", self.source.id.0),
            "url": self.source.url,
            "objects": forecaster.collection().size(),
            "looks": forecaster.collection().looks().len(),
            "synced": self.mirror.last().map(crate::words::rfc3339),
            "precision": quality(Metric::Precision),
            "recall": quality(Metric::Recall),
        })
    }

    fn lines(&self) -> [String; 2] {
        let forecaster = self.mirror.forecaster();
        let shown = |metric| crate::collection::shown(&self.mirror, metric, self.days);
        let objects = counted(forecaster.collection().size(), "object");
        let (told, covered) = Metric::ALL
            .map(|metric| forecaster.record(metric))
            .into_iter()
            .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        [
            format!("s_{} {}: {objects}", self.source.id.0, self.source.url),
            format!(
                "{}, {} now; {covered} of {told} past forecasts inside their 90 % interval",
                shown(Metric::Precision),
                shown(Metric::Recall)
            ),
        ]
    }
}

fn copy_of(
    reader: &Reader,
    memory: &crate::daemon::memory::Memory,
    now: Time,
) -> Result<Copy, Failure> {
    let sources = reader.sources()?;
    let beliefs = memory.scheduler.beliefs();
    let mut copy = Copy { sources: sources.len(), seen: 0, fresh: 0.0, stale: 0.0, age: 0.0 };
    for source in &sources {
        let at = source_ix(source.id);
        copy.stale += beliefs.stale(at, now);
        if let Some(known_at) = beliefs.known_at(at) {
            copy.seen += 1;
            let elapsed = (now - known_at).secs();
            copy.age +=
                beliefs.belief(at).map_or(0.0, |belief| elapsed - belief.fresh_time(elapsed));
        }
    }
    copy.fresh = if sources.is_empty() { 1.0 } else { 1.0 - copy.stale / sources.len() as f64 };
    copy.age /= copy.seen.max(1) as f64;
    Ok(copy)
}
