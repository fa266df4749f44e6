//! The journal's language: what the scheduler was told, as rows of the store and back.
//!
//! A row has a kind, a source and a detail in JSON with stable names, because journals outlive programs. Reading a
//! row gives the very entries the scheduler heard, so that folding them gives the very scheduler.

use schedule::spec::Mistake;
use schedule::utility::Worth;
use schedule::{
    Entry, Event, Facts, Gate, HostIx, Manners, Observation, Pin, Purpose, Round, Setup, SiteIx,
    SourceIx, Span, Time, Verdict,
};
use serde::{Deserialize, Serialize};
use store::{HostId, Kind, Micros, SiteId, SourceId};

/// A row to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// When.
    pub at: Time,
    /// What.
    pub kind: Kind,
    /// Whose.
    pub source: Option<SourceIx>,
    /// The rest.
    pub detail: String,
}

/// A source and its ordinal: the store counts from 1.
pub fn source_ix(id: SourceId) -> SourceIx {
    SourceIx::new(usize::try_from(id.0 - 1).unwrap_or(0))
}

/// The store's number of a source.
pub fn source_id(source: SourceIx) -> SourceId {
    SourceId(i64::from(source.raw()) + 1)
}

/// A host and its ordinal: the store counts from 0.
pub fn host_ix(id: HostId) -> HostIx {
    HostIx::new(usize::try_from(id.0).unwrap_or(0))
}

/// A site and its ordinal: the store counts from 0.
pub fn site_ix(id: SiteId) -> SiteIx {
    SiteIx::new(usize::try_from(id.0).unwrap_or(0))
}

/// The store's time.
pub fn micros(time: Time) -> Micros {
    Micros(time.micros())
}

/// The scheduler's time.
pub fn time(micros: Micros) -> Time {
    Time::from_micros(micros.0)
}

/// `look` or `sample`.
fn purpose_word(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Look => "look",
        Purpose::Sample => "sample",
    }
}

/// The verdict's word, in the journal and for people.
pub fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::First => "first",
        Verdict::Same => "same",
        Verdict::Changed => "changed",
        Verdict::Unreadable => "unreadable",
        Verdict::Lost => "lost",
    }
}

#[derive(Serialize, Deserialize)]
struct Entered {
    site: u32,
    host: u32,
    importance: f32,
    known: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    every: Option<i64>,
    /// As people write them; absent where nothing was said of them, as in journals of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    urgency: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    life: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct RoundBegan {
    number: u32,
    start: i64,
    end: i64,
    polls: u64,
}

#[derive(Serialize, Deserialize)]
struct HostManners {
    host: u32,
    gap: i64,
    parallel: u32,
}

#[derive(Serialize, Deserialize)]
struct HostGate {
    host: u32,
    /// `None`: open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Visited {
    host: u32,
}

#[derive(Serialize, Deserialize)]
struct DueAt {
    every: i64,
    due: i64,
}

#[derive(Serialize, Deserialize)]
struct SentFor {
    purpose: String,
}

/// What is kept of an answer, beside what the scheduler hears.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Heard {
    /// `look` or `sample`.
    pub purpose: String,
    /// When it was sent.
    pub sent: i64,
    /// The look before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// `first`, `same`, `changed`, `unreadable` or `lost`.
    pub verdict: String,
    /// How old the source said its state was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age: Option<i64>,
    /// The outcome's code.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub outcome: String,
    /// What was wrong, or what changed, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Bytes on the wire.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// Milliseconds from asking to the last byte.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ms: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What is not the default, as people write it.
fn said<T: Default + PartialEq + ToString>(value: T) -> Option<String> {
    (value != T::default()).then(|| value.to_string())
}

/// What was said, or the default.
fn meant<T: Default + std::str::FromStr<Err = Mistake>>(
    text: Option<&String>,
) -> Result<T, String> {
    text.map_or(Ok(T::default()), |text| text.parse().map_err(|why: Mistake| why.to_string()))
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("numbers and text can be written")
}

impl Row {
    fn new(at: Time, kind: Kind, source: Option<SourceIx>, detail: &impl Serialize) -> Self {
        Self { at, kind, source, detail: json(detail) }
    }

    /// How it decides from here on.
    pub fn setup(at: Time, setup: &Setup) -> Self {
        Self::new(at, Kind::Settings, None, setup)
    }

    /// A source is watched, or watched otherwise.
    pub fn entered(at: Time, source: SourceIx, facts: Facts, every: Option<Span>) -> Self {
        let detail = Entered {
            site: facts.site.raw(),
            host: facts.host.raw(),
            importance: facts.importance,
            known: facts.known,
            every: every.map(Span::micros),
            urgency: said(facts.worth.urgency),
            life: said(facts.worth.life),
        };
        Self::new(at, Kind::Entered, Some(source), &detail)
    }

    /// A source is no longer watched.
    pub fn left(at: Time, source: SourceIx) -> Self {
        Self { at, kind: Kind::Left, source: Some(source), detail: String::new() }
    }

    /// A round began.
    pub fn round(at: Time, round: Round) -> Self {
        let Round { number, start, end, polls } = round;
        let detail = RoundBegan { number, start: start.micros(), end: end.micros(), polls };
        Self::new(at, Kind::Round, None, &detail)
    }

    /// A host wants other manners.
    pub fn manners(at: Time, host: HostIx, manners: Manners) -> Self {
        let detail =
            HostManners { host: host.raw(), gap: manners.gap.micros(), parallel: manners.parallel };
        Self::new(at, Kind::Manners, None, &detail)
    }

    /// A host was shut, with the reason for people.
    pub fn shut(at: Time, host: HostIx, until: Time, why: &str) -> Self {
        let detail =
            HostGate { host: host.raw(), until: Some(until.micros()), why: Some(why.to_owned()) };
        Self::new(at, Kind::Host, None, &detail)
    }

    /// A host was asked something that is no poll.
    pub fn visit(at: Time, host: HostIx) -> Self {
        Self::new(at, Kind::Visit, None, &Visited { host: host.raw() })
    }

    /// A collection is due when its quality is foretold to reach its target.
    pub fn due(at: Time, source: SourceIx, every: Span, due: Time) -> Self {
        Self::new(at, Kind::Due, Some(source), &DueAt { every: every.micros(), due: due.micros() })
    }

    /// A poll was sent.
    pub fn sent(at: Time, source: SourceIx, purpose: Purpose) -> Self {
        let detail = SentFor { purpose: purpose_word(purpose).to_owned() };
        Self::new(at, Kind::Sent, Some(source), &detail)
    }

    /// A poll ended; `rest` is for people.
    pub fn heard(at: Time, heard: &Observation, rest: Heard) -> Self {
        let detail = Heard {
            purpose: purpose_word(heard.purpose).to_owned(),
            sent: heard.sent.micros(),
            since: heard.since.map(Time::micros),
            verdict: verdict_word(heard.verdict).to_owned(),
            age: heard.age.map(Span::micros),
            ..rest
        };
        Self::new(at, Kind::Heard, Some(heard.source), &detail)
    }

    /// As the store takes it.
    pub fn as_entry(&self) -> store::NewEntry<'_> {
        store::NewEntry {
            at: micros(self.at),
            kind: self.kind,
            source: self.source.map(source_id),
            detail: (!self.detail.is_empty()).then_some(self.detail.as_bytes()),
        }
    }
}

/// A row that says nothing this program understands.
#[derive(Debug, thiserror::Error)]
#[error(
    "entry {n} of the journal cannot be read ({why}): it was written by another program or damaged"
)]
pub struct Unread {
    n: i64,
    why: String,
}

/// What an answer's row says for people.
pub fn heard_of(entry: &store::Entry) -> Option<Heard> {
    serde_json::from_slice(entry.detail.as_deref()?).ok()
}

/// The entries the scheduler heard, at the row's time. A note is for people only: none.
pub fn entries(row: &store::Entry) -> Result<Vec<Entry>, Unread> {
    read(row).map_err(|why| Unread { n: row.n, why })
}

fn read(row: &store::Entry) -> Result<Vec<Entry>, String> {
    let detail = row.detail.as_deref().unwrap_or(b"{}");
    let source = || row.source.map(source_ix).ok_or_else(|| "it names no source".to_owned());
    let event = |event: Event| Ok(vec![Entry::Event(event)]);
    match row.kind {
        Kind::Settings => Ok(vec![Entry::Setup(from(detail)?)]),
        Kind::Entered => entered(source()?, &from(detail)?),
        Kind::Left => event(Event::Left(source()?)),
        Kind::Round => {
            let RoundBegan { number, start, end, polls } = from(detail)?;
            let (start, end) = (Time::from_micros(start), Time::from_micros(end));
            event(Event::Round(Round::of(number, start, end, polls)))
        }
        Kind::Manners => {
            let HostManners { host, gap, parallel } = from(detail)?;
            let manners = Manners { gap: Span::from_micros(gap), parallel };
            event(Event::Manners(HostIx::new(host as usize), manners))
        }
        Kind::Host => {
            let HostGate { host, until, .. } = from(detail)?;
            let gate = until.map_or(Gate::Open, |until| Gate::ShutUntil(Time::from_micros(until)));
            event(Event::Host(HostIx::new(host as usize), gate))
        }
        Kind::Visit => {
            let Visited { host } = from(detail)?;
            event(Event::Visit(HostIx::new(host as usize)))
        }
        Kind::Sent => {
            let SentFor { purpose: word } = from(detail)?;
            event(Event::Sent(source()?, purpose(&word)?))
        }
        Kind::Heard => event(Event::Heard(observation(source()?, &from(detail)?)?)),
        Kind::Due => {
            let DueAt { every, due } = from(detail)?;
            let why = Pin::Target(Time::from_micros(due));
            event(Event::Pinned(source()?, Span::from_micros(every), why))
        }
        Kind::Note => Ok(Vec::new()),
    }
}

fn from<'a, T: Deserialize<'a>>(detail: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(detail).map_err(|why| why.to_string())
}

fn entered(source: SourceIx, detail: &Entered) -> Result<Vec<Entry>, String> {
    let facts = Facts {
        site: SiteIx::new(detail.site as usize),
        host: HostIx::new(detail.host as usize),
        importance: detail.importance,
        known: detail.known,
        worth: Worth {
            urgency: meant(detail.urgency.as_ref())?,
            life: meant(detail.life.as_ref())?,
        },
    };
    let pinned =
        detail.every.map(|every| Event::Pinned(source, Span::from_micros(every), Pin::Asked));
    let events = std::iter::once(Event::Entered(source, facts)).chain(pinned);
    Ok(events.map(Entry::Event).collect())
}

fn purpose(word: &str) -> Result<Purpose, String> {
    match word {
        "look" => Ok(Purpose::Look),
        "sample" => Ok(Purpose::Sample),
        other => Err(format!("`{other}` is no purpose")),
    }
}

fn observation(source: SourceIx, heard: &Heard) -> Result<Observation, String> {
    let verdicts =
        [Verdict::First, Verdict::Same, Verdict::Changed, Verdict::Unreadable, Verdict::Lost];
    let verdict = verdicts
        .into_iter()
        .find(|&verdict| verdict_word(verdict) == heard.verdict)
        .ok_or_else(|| format!("`{}` is no verdict", heard.verdict))?;
    Ok(Observation {
        source,
        purpose: purpose(&heard.purpose)?,
        sent: Time::from_micros(heard.sent),
        since: heard.since.map(Time::from_micros),
        verdict,
        age: heard.age.map(Span::from_micros),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(row: &Row) -> Vec<Entry> {
        let entry = row.as_entry();
        let stored = store::Entry {
            n: 1,
            at: entry.at,
            kind: entry.kind,
            source: entry.source,
            detail: entry.detail.map(<[u8]>::to_vec),
        };
        entries(&stored).unwrap()
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let (at, source, host) = (Time::from_secs(5), SourceIx::new(3), HostIx::new(2));
        let worth =
            Worth { urgency: "half-life 30m".parse().unwrap(), life: "last 20".parse().unwrap() };
        let facts = Facts { site: SiteIx::new(1), host, importance: 2.5, known: false, worth };
        let every = Span::from_secs(600);
        let round = Round::of(4, at, at + every, 77);
        let manners = Manners { gap: every, parallel: 2 };
        let heard = Observation {
            source,
            purpose: Purpose::Sample,
            sent: at,
            since: Some(Time::ZERO),
            verdict: Verdict::Changed,
            age: Some(every),
        };
        let event = |event| vec![Entry::Event(event)];
        let pinned = [Event::Entered(source, facts), Event::Pinned(source, every, Pin::Asked)]
            .map(Entry::Event);
        let cases = [
            (Row::entered(at, source, facts, None), event(Event::Entered(source, facts))),
            (Row::entered(at, source, facts, Some(every)), pinned.to_vec()),
            (Row::left(at, source), event(Event::Left(source))),
            (Row::round(at, round), event(Event::Round(round))),
            (Row::manners(at, host, manners), event(Event::Manners(host, manners))),
            (Row::shut(at, host, at, "busy"), event(Event::Host(host, Gate::ShutUntil(at)))),
            (Row::visit(at, host), event(Event::Visit(host))),
            (
                Row::due(at, source, every, at + every),
                event(Event::Pinned(source, every, Pin::Target(at + every))),
            ),
            (Row::sent(at, source, Purpose::Sample), event(Event::Sent(source, Purpose::Sample))),
            (Row::heard(at, &heard, Heard::default()), event(Event::Heard(heard))),
        ];
        for (row, expected) in cases {
            assert_eq!(back(&row), expected, "{row:?}");
        }
    }

    /// A journal from before urgency and life reads as it always did.
    #[test]
    fn an_old_entry_says_nothing_of_worth() {
        let detail = br#"{"site":1,"host":2,"importance":1.0,"known":true}"#.to_vec();
        let row = store::Entry {
            n: 1,
            at: Micros(0),
            kind: Kind::Entered,
            source: Some(SourceId(1)),
            detail: Some(detail),
        };
        let Entry::Event(Event::Entered(_, facts)) = entries(&row).unwrap()[0] else {
            panic!("an entry")
        };
        assert_eq!(facts.worth, Worth::default());
    }

    #[test]
    fn a_row_nobody_understands_is_named() {
        let row = store::Entry {
            n: 17,
            at: Micros(0),
            kind: Kind::Heard,
            source: Some(SourceId(1)),
            detail: Some(b"{}".to_vec()),
        };
        assert!(entries(&row).unwrap_err().to_string().contains("entry 17"));
    }
}
