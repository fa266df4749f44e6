//! Events: what subscribers receive, in the words of the interface.
//!
//! ```text
//! source.first_seen   the first version
//! source.changed      a new version, unless the source's trigger holds it back
//! source.failing      nothing readable three times in a row
//! source.gone         404 or 410, the first time in a row
//! source.back         readable again after failing or gone
//! ```
//!
//! An id sorts by time and is a hash of what it tells of, so that a page written twice makes the same event once.

use dynamics::rate::Belief;
use schedule::{SourceIx, Time, chance};
use serde_json::{Value, json};
use store::{SinkId, VersionId};

use super::page::Draft;
use super::poll::New;
use super::register::Watched;
use crate::journal::{micros, source_id};
use crate::words::{rfc3339, seconds};

/// Polls without anything readable until a source counts as failing.
pub const FAILING: u32 = 3;

/// What all events of a source share.
pub struct Subject<'a> {
    /// Which source.
    pub source: SourceIx,
    /// As it is watched.
    pub watched: &'a Watched,
    /// When it happened.
    pub at: Time,
    /// When the look was sent.
    pub sent: Time,
    /// The look before.
    pub since: Option<Time>,
    /// Who is told.
    pub sinks: Vec<SinkId>,
}

impl Subject<'_> {
    fn draft(self, kind: &'static str, rest: Value) -> Draft {
        let id = id(self.at, self.source, kind);
        let Watched { url, site, host, tags, .. } = self.watched;
        let mut payload = json!({
            "id": id,
            "type": kind,
            "at": rfc3339(self.at),
            "source": {
                "id": format!("s_{}", source_id(self.source).0),
                "url": url, "site": site, "host": host, "tags": tags,
            },
            "seen": {
                "previous_poll": self.since.map(rfc3339),
                "this_poll": rfc3339(self.sent),
            },
        });
        if let (Value::Object(payload), Value::Object(rest)) = (&mut payload, rest) {
            payload.extend(rest);
        }
        Draft { id, kind, at: self.at, source: self.source, payload, sinks: self.sinks }
    }

    /// The first version, or a new one.
    pub fn new_version(self, new: &New, from: Option<VersionId>, estimate: Value) -> Draft {
        let version = |id: Option<VersionId>| id.map(|VersionId(id)| format!("v_{id}"));
        let kind = if new.change.is_some() { "source.changed" } else { "source.first_seen" };
        let change = new.change.as_ref().map(|change| {
            json!({
                "added": change.added, "removed": change.removed,
                "summary": change.summary, "diff": change.unified,
            })
        });
        let last_modified = new.response.last_modified.map(|at| at.to_string());
        self.draft(
            kind,
            json!({
                "version": { "from": version(from), "to": null },
                "title": new.reading.title,
                "last_modified": last_modified,
                "change": change,
                "estimate": estimate,
            }),
        )
    }

    /// It went away, fails, or is back; `why` in a sentence.
    pub fn turn(self, kind: &'static str, why: &str) -> Draft {
        self.draft(kind, json!({ "why": why }))
    }
}

/// What is estimated about the source, from its belief.
pub fn estimate(belief: Option<Belief>, missed: f64) -> Value {
    belief.map_or(Value::Null, |belief| {
        let [low, high] = belief.interval95().map(|rate| rate * seconds::PER_DAY);
        json!({
            "missed_between": missed,
            "rate_per_day": belief.mean() * seconds::PER_DAY,
            "rate_ci95": [low, high],
        })
    })
}

fn id(at: Time, source: SourceIx, kind: &str) -> String {
    let words = [at.micros().unsigned_abs(), u64::from(source.raw()), kind.len() as u64];
    let high = u128::from(chance::draw(1, words));
    let low = u128::from(chance::draw(2, words));
    store::event_id(micros(at), (high << 64 | low) & ((1 << 80) - 1))
}
