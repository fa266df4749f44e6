//! Who has still to hear of an event: at least once, and in order per source.
//!
//! Per sink and source one delivery is ready, the others wait behind it; whatever ends the ready one
//! makes the next ready. So what is due is found without looking at what waits, however much that is.
//! A delivery given up is a dead letter: it lets the next one pass and can be sent again.

use rusqlite::params;

use crate::{Batch, Event, Micros, Reader, Result, SinkId, SourceId};

/// An event to be delivered now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// What to send.
    pub event: Event,
    /// How often that failed before.
    pub attempts: u32,
}

/// An event that was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// What was to be sent.
    pub event: Event,
    /// How often that was tried.
    pub attempts: u32,
    /// Why it failed.
    pub error: String,
    /// When it was given up.
    pub at: Micros,
}

impl Batch<'_> {
    pub(crate) fn owe(
        &mut self,
        sink: SinkId,
        seq: i64,
        source: Option<SourceId>,
        at: Micros,
    ) -> Result<()> {
        let sql = "INSERT INTO delivery (seq, sink, source, state, next_at) VALUES (?1, ?2, ?3,
            NOT EXISTS (SELECT 1 FROM delivery WHERE sink = ?2 AND source = ?3 AND state < 2), ?4)";
        self.sql()?.prepare_cached(sql)?.execute(params![seq, sink, source, at])?;
        Ok(())
    }

    /// The sink has it. False if it was not due there.
    pub fn delivered(&mut self, sink: SinkId, seq: i64, at: Micros) -> Result<bool> {
        let sql = "UPDATE delivery SET state = 2, attempts = attempts + 1, error = NULL,
            finished_at = ?3 WHERE seq = ?1 AND sink = ?2 AND state = 1";
        let ended = self.sql()?.prepare_cached(sql)?.execute(params![seq, sink, at])? == 1;
        self.pass_on(ended, sink, seq)
    }

    /// The sink did not take it; try again at `next_at`. False if it was not due there.
    pub fn failed(&mut self, sink: SinkId, seq: i64, next_at: Micros, error: &str) -> Result<bool> {
        let sql = "UPDATE delivery SET attempts = attempts + 1, next_at = ?3, error = ?4
            WHERE seq = ?1 AND sink = ?2 AND state = 1";
        Ok(self.sql()?.prepare_cached(sql)?.execute(params![seq, sink, next_at, error])? == 1)
    }

    /// The sink did not take it and is not asked again. False if it was not due there.
    pub fn dead(&mut self, sink: SinkId, seq: i64, at: Micros, error: &str) -> Result<bool> {
        let sql = "UPDATE delivery SET state = 3, attempts = attempts + 1, error = ?4,
            finished_at = ?3 WHERE seq = ?1 AND sink = ?2 AND state = 1";
        let ended = self.sql()?.prepare_cached(sql)?.execute(params![seq, sink, at, error])? == 1;
        self.pass_on(ended, sink, seq)
    }

    /// Sends a finished delivery again, before others of its source that wait. False if it was not.
    pub fn redeliver(&mut self, sink: SinkId, seq: i64, at: Micros) -> Result<bool> {
        let sql =
            "UPDATE delivery SET attempts = 0, error = NULL, finished_at = NULL, next_at = ?3,
            state = NOT EXISTS (SELECT 1 FROM delivery AS other WHERE other.sink = ?2
                AND other.source = delivery.source AND other.state < 2)
            WHERE seq = ?1 AND sink = ?2 AND state >= 2";
        Ok(self.sql()?.prepare_cached(sql)?.execute(params![seq, sink, at])? == 1)
    }

    /// Forgets a sink and all it was owed. False if there was none of this name.
    pub fn remove_sink(&mut self, name: &str) -> Result<bool> {
        let sql = "DELETE FROM delivery WHERE sink = (SELECT id FROM sink WHERE name = ?1)";
        self.sql()?.prepare_cached(sql)?.execute([name])?;
        Ok(self.sql()?.prepare_cached("DELETE FROM sink WHERE name = ?1")?.execute([name])? == 1)
    }

    /// Makes the next of the same source ready.
    fn pass_on(&mut self, ended: bool, sink: SinkId, seq: i64) -> Result<bool> {
        if ended {
            let sql = "UPDATE delivery SET state = 1 WHERE sink = ?2 AND seq = (
                SELECT min(seq) FROM delivery WHERE state < 2 AND sink = ?2 AND source =
                    (SELECT source FROM delivery WHERE seq = ?1 AND sink = ?2))";
            self.sql()?.prepare_cached(sql)?.execute(params![seq, sink])?;
        }
        Ok(ended)
    }
}

impl Reader {
    /// Up to `limit` events a sink should be sent now, longest due first.
    pub fn due(&self, sink: SinkId, now: Micros, limit: u32) -> Result<Vec<Due>> {
        let mut select = self.connection.prepare_cached(&format!(
            "SELECT {}, attempts FROM delivery JOIN event USING (seq)
             WHERE sink = ?1 AND state = 1 AND next_at <= ?2 ORDER BY next_at, delivery.seq LIMIT ?3",
            Event::COLUMNS
        ))?;
        let rows = select.query_map(params![sink, now, limit], |row| {
            Ok(Due { event: Event::read(row)?, attempts: row.get(6)? })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// When a sink should next be sent something.
    pub fn next_due(&self, sink: SinkId) -> Result<Option<Micros>> {
        let sql = "SELECT min(next_at) FROM delivery WHERE sink = ?1 AND state = 1";
        Ok(self.connection.prepare_cached(sql)?.query_one([sink], |row| row.get(0))?)
    }

    /// How many events a sink is owed.
    pub fn backlog(&self, sink: SinkId) -> Result<i64> {
        let sql = "SELECT count(*) FROM delivery WHERE sink = ?1 AND state < 2";
        Ok(self.connection.prepare_cached(sql)?.query_one([sink], |row| row.get(0))?)
    }

    /// Up to `limit` events a sink was not given after all, after place `after`, in order.
    pub fn dead_letters(&self, sink: SinkId, after: i64, limit: u32) -> Result<Vec<DeadLetter>> {
        let mut select = self.connection.prepare_cached(&format!(
            "SELECT {}, attempts, error, finished_at FROM delivery JOIN event USING (seq)
             WHERE sink = ?1 AND state = 3 AND delivery.seq > ?2 ORDER BY delivery.seq LIMIT ?3",
            Event::COLUMNS
        ))?;
        let rows = select.query_map(params![sink, after, limit], |row| {
            let (attempts, error, at) = (row.get(6)?, row.get(7)?, row.get(8)?);
            Ok(DeadLetter { event: Event::read(row)?, attempts, error, at })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use crate::testing::scratch;
    use crate::{Error, NewEvent, Store, event_id};

    fn send(store: &mut Store, source: Option<i64>, at: i64, sinks: &[SinkId]) -> i64 {
        let chance = store.read().events(0, 999).unwrap().len() as u128;
        let (id, source) = (event_id(Micros(at), chance), source.map(SourceId));
        let (kind, payload) = ("source.changed", "{}");
        let event = NewEvent { id: &id, at: Micros(at), source, kind, payload };
        store.commit(|batch| batch.add_event(&event, sinks)).unwrap()
    }

    fn due(store: &Store, sink: SinkId, now: i64) -> Vec<i64> {
        let due = store.read().due(sink, Micros(now), 99).unwrap();
        due.into_iter().map(|due| due.event.seq).collect()
    }

    fn sink(store: &mut Store, name: &str) -> SinkId {
        store.commit(|batch| batch.sink(name)).unwrap()
    }

    #[test]
    fn an_event_waits_for_the_one_before_it_of_the_same_source_and_sink() {
        let (_dir, mut store) = scratch();
        let (hook, mail) = (sink(&mut store, "hook"), sink(&mut store, "mail"));
        for source in [Some(1), Some(1), Some(2), None, None] {
            send(&mut store, source, 10, &[hook, mail]);
        }
        assert!(due(&store, hook, 9).is_empty());
        assert_eq!(due(&store, hook, 10), [1, 3, 4, 5]);
        assert!(store.commit(|batch| batch.failed(hook, 1, Micros(50), "503")).unwrap());
        assert_eq!(due(&store, hook, 49), [3, 4, 5]);
        assert_eq!(store.read().due(hook, Micros(50), 9).unwrap()[3].attempts, 1);
        assert!(store.commit(|batch| batch.delivered(hook, 1, Micros(51))).unwrap());
        assert_eq!(due(&store, hook, 51), [2, 3, 4, 5]);
        assert_eq!(due(&store, mail, 51), [1, 3, 4, 5], "sinks do not wait for each other");
        assert_eq!(store.read().backlog(hook).unwrap(), 4);
    }

    #[test]
    fn a_delivery_is_finished_once() {
        let (_dir, mut store) = scratch();
        let hook = sink(&mut store, "hook");
        let [first, second] = [1, 2].map(|at| send(&mut store, Some(1), at, &[hook]));
        let mut finish = |seq| store.commit(|batch| batch.delivered(hook, seq, Micros(9))).unwrap();
        assert!(!finish(second), "still waits");
        assert!(finish(first));
        assert!(!finish(first));
        assert!(finish(second));
        assert_eq!(store.read().next_due(hook).unwrap(), None);
    }

    #[test]
    fn a_dead_letter_lets_others_pass_and_can_be_sent_again() {
        let (_dir, mut store) = scratch();
        let hook = sink(&mut store, "hook");
        for at in 1..=3 {
            send(&mut store, Some(1), at, &[hook]);
        }
        assert!(store.commit(|batch| batch.dead(hook, 1, Micros(7), "410 gone")).unwrap());
        let letters = store.read().dead_letters(hook, 0, 9).unwrap();
        assert_eq!((letters.len(), letters[0].attempts, letters[0].at), (1, 1, Micros(7)));
        assert_eq!((letters[0].event.seq, &*letters[0].error), (1, "410 gone"));
        assert_eq!(due(&store, hook, 9), [2]);
        assert!(store.commit(|batch| batch.redeliver(hook, 1, Micros(8))).unwrap());
        assert_eq!(due(&store, hook, 9), [2], "one at a time");
        store.commit(|batch| batch.delivered(hook, 2, Micros(9))).unwrap();
        assert_eq!(due(&store, hook, 9), [1], "before the third");
        assert!(!store.commit(|batch| batch.redeliver(hook, 1, Micros(8))).unwrap());
        assert_eq!(store.read().dead_letters(hook, 0, 9).unwrap(), []);
    }

    #[test]
    fn a_removed_sink_is_owed_nothing() {
        let (_dir, mut store) = scratch();
        let hook = sink(&mut store, "hook");
        send(&mut store, Some(1), 1, &[hook]);
        assert!(store.commit(|batch| batch.remove_sink("hook")).unwrap());
        assert!(!store.commit(|batch| batch.remove_sink("hook")).unwrap());
        assert_eq!(store.read().backlog(hook).unwrap(), 0);
        assert_eq!(store.read().sinks().unwrap(), []);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// Whatever fails and dies in between: of each source one event is due at a time, first deliveries
        /// come in order, and in the end nothing is owed.
        #[test]
        fn order_is_kept_per_source_and_nothing_is_lost(
            sources in prop::collection::vec(1..4i64, 1..20),
            fates in prop::collection::vec((any::<usize>(), 0..4u8), 0..60),
        ) {
            let (_dir, mut store) = scratch();
            let hook = sink(&mut store, "hook");
            let sent: Vec<(i64, i64)> =
                sources.iter().map(|source| (send(&mut store, Some(*source), 0, &[hook]), *source)).collect();
            let mut ended: HashMap<i64, Vec<i64>> = HashMap::new();
            let mut fates = fates.into_iter();
            loop {
                let due = store.read().due(hook, Micros(0), 99).unwrap();
                let mut owners: Vec<_> = due.iter().map(|due| due.event.source).collect();
                owners.sort();
                owners.dedup();
                prop_assert_eq!(owners.len(), due.len());
                if due.is_empty() { break }
                let (which, fate) = fates.next().unwrap_or((0, 0));
                let event = &due[which % due.len()].event;
                let owner = event.source.unwrap().0;
                store.commit(|batch| match fate {
                    0 | 1 => batch.delivered(hook, event.seq, Micros(0)),
                    2 => batch.failed(hook, event.seq, Micros(0), "no"),
                    _ => batch.dead(hook, event.seq, Micros(0), "no"),
                }).map_err(|error: Error| TestCaseError::fail(error.to_string()))?;
                if fate != 2 {
                    ended.entry(owner).or_default().push(event.seq);
                }
            }
            for owner in 1..4 {
                let expected: Vec<i64> = sent.iter().filter(|(_, of)| *of == owner).map(|(seq, _)| *seq).collect();
                prop_assert_eq!(ended.remove(&owner).unwrap_or_default(), expected);
            }
            prop_assert_eq!(store.read().backlog(hook).unwrap(), 0);
        }
    }
}
