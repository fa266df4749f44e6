//! The memory: the scheduler and a few books, folded out of the journal, from a snapshot on where there is one.
//!
//! Starting the daemon, answering `why` from another process, and replaying a journal in the lab are this one fold.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use anyhow::Context;
use schedule::journal::Replay;
use schedule::policy::AnyPolicy;
use schedule::{
    Beliefs, Entry, Event, HostIx, Observation, Purpose, Round, Scheduler, Setup, SourceIx, Time,
    Verdict,
};
use serde::{Deserialize, Serialize};
use store::Reader;

use crate::journal;

/// What the journal amounts to.
pub struct Memory {
    /// The scheduler as the journal left it.
    pub scheduler: Scheduler<AnyPolicy>,
    /// What else is known from it.
    pub books: Books,
}

/// Counts and open ends.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Books {
    /// With what it decides.
    pub setup: Setup,
    /// The time of the last entry.
    pub last_at: Time,
    /// The number of the last entry.
    pub n: i64,
    /// The round under way.
    pub round: Option<Round>,
    /// Polls sent and not answered.
    pub flights: BTreeMap<SourceIx, (Purpose, Time)>,
    /// Hosts shut from outside, until when.
    pub shut: BTreeMap<HostIx, Time>,
    /// Polls sent.
    pub polls: u64,
    /// Requests that were no polls.
    pub visits: u64,
    /// Polls that ended without an answer.
    pub lost: u64,
    /// Changes captured.
    pub changed: u64,
    /// Changes estimated to have been overwritten between two looks.
    pub missed: f64,
}

impl Books {
    fn new(setup: Setup) -> Self {
        Self {
            setup,
            last_at: Time::MIN,
            n: 0,
            round: None,
            flights: BTreeMap::new(),
            shut: BTreeMap::new(),
            polls: 0,
            visits: 0,
            lost: 0,
            changed: 0,
            missed: 0.0,
        }
    }
}

impl Memory {
    /// Nothing happened yet.
    pub fn new(setup: &Setup) -> Self {
        Self { scheduler: setup.build(), books: Books::new(setup.clone()) }
    }

    /// What the store remembers; `None` of an empty journal.
    pub fn load(reader: &Reader) -> anyhow::Result<Option<Self>> {
        let mut memory = Self::snapshot(reader)?;
        let from = memory.as_ref().map_or(0, |memory| memory.books.n);
        reader.replay(from, |row| {
            for entry in journal::entries(&row)? {
                let at = journal::time(row.at);
                match (&mut memory, &entry) {
                    (Some(memory), entry) => memory.fold(at, entry),
                    (none, Entry::Setup(setup)) => *none = Some(Self::new(setup)),
                    (None, Entry::Event(_)) => {}
                }
            }
            if let Some(memory) = &mut memory {
                memory.books.n = row.n;
            }
            anyhow::Ok(())
        })?;
        Ok(memory)
    }

    /// A snapshot by this very program, if there is one it can read.
    fn snapshot(reader: &Reader) -> anyhow::Result<Option<Self>> {
        let Some((_, bytes)) = reader.load_snapshot(&code()?)? else { return Ok(None) };
        let read = postcard::from_bytes::<(Scheduler<AnyPolicy>, Books)>(&bytes);
        Ok(read.ok().map(|(scheduler, books)| Self { scheduler, books }))
    }

    /// As a snapshot keeps it, under the name of this very program.
    pub fn to_snapshot(&self) -> anyhow::Result<(String, Vec<u8>)> {
        let bytes = postcard::to_stdvec(&(&self.scheduler, &self.books))
            .context("the scheduler's state cannot be written")?;
        Ok((code()?, bytes))
    }

    /// Folds an entry, exactly as a replay would.
    pub fn fold(&mut self, at: Time, entry: &Entry) {
        match entry {
            Entry::Setup(setup) => {
                self.scheduler.change(at, setup.policy.build(setup.seed), setup.settings);
                self.books.setup = setup.clone();
            }
            Entry::Event(event) => {
                self.scheduler.tell(at, *event);
                self.book(event, at);
            }
        }
        self.books.last_at = at;
    }

    /// Tells the scheduler and keeps the books.
    pub fn tell(&mut self, at: Time, event: Event) {
        self.fold(at, &Entry::Event(event));
    }

    fn book(&mut self, event: &Event, at: Time) {
        let books = &mut self.books;
        match *event {
            Event::Sent(source, purpose) => {
                books.polls += 1;
                books.flights.insert(source, (purpose, at));
            }
            Event::Heard(heard) => self.book_answer(&heard),
            Event::Round(round) => books.round = Some(round),
            Event::Visit(_) => books.visits += 1,
            Event::Host(host, gate) => match gate {
                schedule::Gate::Open => drop(books.shut.remove(&host)),
                schedule::Gate::ShutUntil(until) => drop(books.shut.insert(host, until)),
            },
            Event::Entered(..) | Event::Left(_) | Event::Manners(..) | Event::Pinned(..) => {}
        }
    }

    fn book_answer(&mut self, heard: &Observation) {
        self.books.flights.remove(&heard.source);
        match heard.verdict {
            Verdict::Changed => {
                self.books.changed += 1;
                self.books.missed += self.missed_between(heard);
            }
            Verdict::Lost => self.books.lost += 1,
            Verdict::First | Verdict::Same | Verdict::Unreadable => {}
        }
    }

    /// Changes expected between two looks beyond the one that was seen: E\[N | N ≥ 1\] − 1.
    pub fn missed_between(&self, heard: &Observation) -> f64 {
        let Some((belief, since)) = self.scheduler.beliefs().belief(heard.source).zip(heard.since)
        else {
            return 0.0;
        };
        let elapsed = (heard.sent - since).secs();
        let chance = belief.chance(elapsed);
        if chance > 0.0 { (belief.mean() * elapsed / chance - 1.0).max(0.0) } else { 0.0 }
    }
}

/// Checks every choice of a journal against what the scheduler would do.
pub fn choices(reader: &Reader) -> anyhow::Result<Vec<schedule::journal::Choice>> {
    let mut replay = Replay::default();
    let mut choices = Vec::new();
    reader.replay(0, |row| {
        for entry in journal::entries(&row)? {
            choices.extend(replay.check(journal::time(row.at), &entry));
        }
        anyhow::Ok(())
    })?;
    Ok(choices)
}

/// The name of this very program: a snapshot by any other is ignored.
fn code() -> anyhow::Result<String> {
    static CODE: OnceLock<String> = OnceLock::new();
    match CODE.get() {
        Some(code) => Ok(code.clone()),
        None => Ok(CODE
            .get_or_init({
                let code = hash_of_program()?;
                || code
            })
            .clone()),
    }
}

fn hash_of_program() -> anyhow::Result<String> {
    let exe = std::env::current_exe().context("where is this program?")?;
    let mut hasher = blake3::Hasher::new();
    let mut file =
        std::fs::File::open(&exe).with_context(|| format!("cannot read {}", exe.display()))?;
    std::io::copy(&mut file, &mut hasher)?;
    Ok(hasher.finalize().to_hex().to_string())
}
