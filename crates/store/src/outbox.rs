//! Events: what subscribers receive, written in the transaction of the version they tell of.

use rusqlite::{OptionalExtension, Row, params};
use ulid::Ulid;

use crate::{Batch, Micros, Reader, Result, SinkId, SourceId};

/// An event to be sent.
#[derive(Clone, Copy, Debug)]
pub struct NewEvent<'a> {
    /// Its name for the world: see [`event_id`].
    pub id: &'a str,
    /// When it happened.
    pub at: Micros,
    /// Whose; events of one source reach each sink in order.
    pub source: Option<SourceId>,
    /// What: `source.changed`, ...
    pub kind: &'a str,
    /// The event as it is sent.
    pub payload: &'a str,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its place among all events: from 1, never used again.
    pub seq: i64,
    /// Its name for the world.
    pub id: String,
    /// When it happened.
    pub at: Micros,
    /// Whose.
    pub source: Option<SourceId>,
    /// What.
    pub kind: String,
    /// The event as it is sent.
    pub payload: String,
}

/// A name for an event that sorts by its time, to the millisecond; `chance` sets it apart from others.
pub fn event_id(at: Micros, chance: u128) -> String {
    let millis = u64::try_from(at.0 / 1000).unwrap_or(0);
    Ulid::from_parts(millis, chance).to_string()
}

impl Event {
    pub(crate) const COLUMNS: &str =
        "event.seq, event.id, event.at, event.source, event.kind, event.payload";

    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: row.get(0)?,
            id: row.get(1)?,
            at: row.get(2)?,
            source: row.get(3)?,
            kind: row.get(4)?,
            payload: row.get(5)?,
        })
    }
}

impl Batch<'_> {
    /// Writes an event and owes it to these sinks; says its place.
    pub fn add_event(&mut self, new: &NewEvent<'_>, sinks: &[SinkId]) -> Result<i64> {
        let sql = "INSERT INTO event (id, at, source, kind, payload) VALUES (?1, ?2, ?3, ?4, ?5)";
        let row = params![new.id, new.at, new.source, new.kind, new.payload];
        let seq = self.sql()?.prepare_cached(sql)?.insert(row)?;
        sinks.iter().try_for_each(|sink| self.owe(*sink, seq, new.source, new.at))?;
        Ok(seq)
    }
}

impl Reader {
    /// Up to `limit` events after place `after`, in order.
    pub fn events(&self, after: i64, limit: u32) -> Result<Vec<Event>> {
        let columns = Event::COLUMNS;
        let sql = format!("SELECT {columns} FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2");
        let mut select = self.connection.prepare_cached(&sql)?;
        let found = select.query_map(params![after, limit], Event::read)?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// The event of this name.
    pub fn event(&self, id: &str) -> Result<Option<Event>> {
        let sql = format!("SELECT {} FROM event WHERE id = ?1", Event::COLUMNS);
        Ok(self.connection.prepare_cached(&sql)?.query_row([id], Event::read).optional()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_events_sort_by_time() {
        let times = [0, 999, 1000, 5_000_000, 1_795_000_000_000_000];
        let mut chance = u128::MAX;
        let names = times.map(|at| {
            chance /= 3;
            event_id(Micros(at), chance)
        });
        assert!(names[0] < names[2] && names[1..].is_sorted(), "{names:?}");
        assert_eq!(event_id(Micros(7), 9), event_id(Micros(7), 9));
    }
}
