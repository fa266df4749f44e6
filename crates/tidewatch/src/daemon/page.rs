//! A page: everything one turn of the loop has to write, committed in one transaction, as often as it takes.
//!
//! Plain data, so that a full disk can be waited out and the very same page written again.

use std::collections::BTreeMap;

use schedule::SourceIx;
use serde_json::Value;
use store::{Batch, NewEvent, NewVersion, SinkId, State, VersionId};

use crate::journal::{Row, micros, source_id};

/// What a turn writes.
#[derive(Default)]
pub struct Page {
    lines: Vec<Line>,
}

enum Line {
    Row(Row),
    Poll(Box<Poll>),
    Pushed { sink: SinkId, seq: i64, at: schedule::Time, result: Pushed },
}

/// What came of handing an event to a sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// It was taken.
    Done,
    /// Not yet: try again at this time.
    Later(schedule::Time, String),
    /// Never.
    Dead(String),
}

/// The end of a poll, with everything it changes.
pub struct Poll {
    /// The answer's row.
    pub row: Row,
    /// The source stands so afterwards; the version is filled in when it is written.
    pub state: State,
    /// A new version.
    pub version: Option<Version>,
    /// What subscribers are told.
    pub event: Option<Draft>,
    /// What the look at a collection showed.
    pub look: Option<Look>,
}

/// What a look at a collection showed.
pub enum Look {
    /// What the one before did.
    Same,
    /// These objects.
    Objects(Vec<detect::Listed>),
}

/// A version to be written.
pub struct Version {
    /// The raw body.
    pub body: bytes::Bytes,
    /// What was read out of it.
    pub text: String,
    /// Response headers, as JSON.
    pub headers: String,
    /// Its media type.
    pub media_type: Option<String>,
    /// The HTTP status.
    pub status: u16,
    /// What it is compared by.
    pub fingerprint: [u8; 32],
    /// What it calls itself.
    pub title: Option<String>,
}

/// An event to be written.
pub struct Draft {
    /// Its name for the world.
    pub id: String,
    /// What it is about: `source.changed`, …
    pub kind: &'static str,
    /// When.
    pub at: schedule::Time,
    /// Whose.
    pub source: SourceIx,
    /// The event as it is sent; the number of a new version is filled in when it is written.
    pub payload: Value,
    /// Who is told.
    pub sinks: Vec<SinkId>,
}

impl Page {
    /// Nothing to write.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// How many entries of the journal it holds.
    pub fn rows(&self) -> i64 {
        let rows = self.lines.iter().filter(|line| matches!(line, Line::Row(_) | Line::Poll(_)));
        i64::try_from(rows.count()).unwrap_or(i64::MAX)
    }

    /// An entry of the journal.
    pub fn row(&mut self, row: Row) {
        self.lines.push(Line::Row(row));
    }

    /// The end of a poll.
    pub fn poll(&mut self, poll: Poll) {
        self.lines.push(Line::Poll(Box::new(poll)));
    }

    /// What came of handing an event to a sink.
    pub fn pushed(&mut self, sink: SinkId, seq: i64, at: schedule::Time, result: Pushed) {
        self.lines.push(Line::Pushed { sink, seq, at, result });
    }

    /// Writes it all; which source is at which new version.
    pub fn write(&self, batch: &mut Batch<'_>) -> store::Result<BTreeMap<SourceIx, VersionId>> {
        let mut versions = BTreeMap::new();
        for line in &self.lines {
            match line {
                Line::Row(row) => drop(batch.append(&row.as_entry())?),
                Line::Poll(poll) => versions.extend(poll.write(batch)?),
                Line::Pushed { sink, seq, at, result } => drop(match result {
                    Pushed::Done => batch.delivered(*sink, *seq, micros(*at))?,
                    Pushed::Later(next, why) => batch.failed(*sink, *seq, micros(*next), why)?,
                    Pushed::Dead(why) => batch.dead(*sink, *seq, micros(*at), why)?,
                }),
            }
        }
        Ok(versions)
    }
}

impl Poll {
    fn write(&self, batch: &mut Batch<'_>) -> store::Result<Option<(SourceIx, VersionId)>> {
        let n = batch.append(&self.row.as_entry())?;
        let Some(source) = self.row.source else { return Ok(None) };
        let id = source_id(source);
        let version = match &self.version {
            None => None,
            Some(version) => Some(batch.add_version(&NewVersion {
                source: id,
                at: micros(self.row.at),
                n,
                body: &version.body,
                text: Some(&version.text),
                headers: &version.headers,
                media_type: version.media_type.as_deref(),
                status: version.status,
                fingerprint: version.fingerprint,
                title: version.title.as_deref(),
            })?),
        };
        let state = State { version: version.or(self.state.version), ..self.state.clone() };
        batch.set_state(id, &state)?;
        if let Some(event) = &self.event {
            event.write(batch, version)?;
        }
        match &self.look {
            None => {}
            Some(Look::Same) => batch.same_look(id, micros(self.row.at))?,
            Some(Look::Objects(objects)) => {
                let objects: Vec<store::Listed<'_>> = objects
                    .iter()
                    .map(|object| store::Listed {
                        key: &object.key,
                        category: &object.category,
                        version: object.version,
                    })
                    .collect();
                batch.look(id, micros(self.row.at), &objects)?;
            }
        }
        Ok(version.map(|version| (source, version)))
    }
}

impl Draft {
    fn write(&self, batch: &mut Batch<'_>, version: Option<VersionId>) -> store::Result<()> {
        let mut payload = self.payload.clone();
        if let Some(VersionId(version)) = version {
            payload["version"]["to"] = Value::from(format!("v_{version}"));
        }
        let event = NewEvent {
            id: &self.id,
            at: micros(self.at),
            source: Some(source_id(self.source)),
            kind: self.kind,
            payload: &payload.to_string(),
        };
        batch.add_event(&event, &self.sinks)?;
        Ok(())
    }
}
