//! What may be forgotten: bodies of old versions, events everybody has, answered wishes.
//!
//! Versions keep their rows and the journal keeps everything; a source never loses its newest body.
//! Each call does a bounded piece of work and says whether more is left, so that the daemon can go on
//! polling in between.

use std::num::NonZeroU32;
use std::time::Duration;

use rusqlite::{Connection, params};

use crate::store::Swept;
use crate::{Batch, Micros, Result, Store, VersionId};

/// Versions compared with the number to keep, per version that may be dropped in a slice.
const STRIDE: u32 = 16;
/// Pages given back to the file system in a slice.
const PAGES: i64 = 2048;
/// How long an answer waits for whoever asked.
const ANSWER_KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// What is kept; the default is everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retention {
    /// So many bodies per source, the newest.
    pub versions: Option<NonZeroU32>,
    /// Bodies not older than this.
    pub age: Option<Duration>,
    /// Bodies and texts, as packed, up to this many bytes together; the oldest go first.
    pub bytes: Option<u64>,
    /// Delivered events not older than this.
    pub events: Option<Duration>,
}

/// What a slice of retention did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retained {
    /// Versions whose contents were dropped.
    pub versions: u32,
    /// Events that were forgotten.
    pub events: u32,
    /// There is more to do.
    pub more: bool,
}

impl Store {
    /// Forgets up to `slice` versions' contents, and as many events, that need not be kept at `now`.
    pub fn retain(&mut self, keep: &Retention, now: Micros, slice: NonZeroU32) -> Result<Retained> {
        let swept = if self.swept.keep == keep.versions {
            self.swept
        } else {
            Swept { keep: keep.versions, to: VersionId(0) }
        };
        let (mut done, swept) = self.commit(|batch| batch.retain(keep, swept, now, slice.get()))?;
        self.swept = swept;
        done.more |= give_pages_back(&self.read().connection)?;
        Ok(done)
    }
}

impl Batch<'_> {
    fn retain(
        &mut self,
        keep: &Retention,
        swept: Swept,
        now: Micros,
        slice: u32,
    ) -> Result<(Retained, Swept)> {
        let (swept, surplus) = self.surplus(swept, slice)?;
        let mut versions = self.drop_all(surplus, now)?;
        let aged = self.aged(keep.age.map(|age| before(now, age)), slice - versions)?;
        versions += self.drop_all(aged, now)?;
        let over = self.over_quota(keep.bytes, slice - versions)?;
        let over = self.drop_all(over, now)?;
        versions += over;
        let events = match keep.events {
            Some(age) => self.forget_events(before(now, age), slice)?,
            None => 0,
        };
        self.forget_answers(before(now, ANSWER_KEPT))?;
        let more = versions == slice
            || events == slice
            || swept.to < self.newest_version(swept)?
            || (over > 0 && self.excess(keep.bytes)? > 0);
        Ok((Retained { versions, events, more }, swept))
    }

    /// Versions that have `keep` newer ones: of each version swept over, the one `keep` before it.
    fn surplus(&self, swept: Swept, slice: u32) -> Result<(Swept, Vec<VersionId>)> {
        let Some(keep) = swept.keep else { return Ok((swept, Vec::new())) };
        let sql = "SELECT new.id, old.id FROM
                (SELECT id, source, number FROM version WHERE id > ?1 ORDER BY id LIMIT ?2) AS new
            LEFT JOIN version AS old ON old.source = new.source AND old.number = new.number - ?3
                AND old.dropped_at IS NULL
            ORDER BY new.id";
        let mut select = self.sql()?.prepare_cached(sql)?;
        let mut rows = select.query(params![swept.to, slice.saturating_mul(STRIDE), keep.get()])?;
        let (mut to, mut found) = (swept.to, Vec::new());
        while found.len() < slice as usize
            && let Some(row) = rows.next()?
        {
            to = row.get(0)?;
            found.extend(row.get::<_, Option<VersionId>>(1)?);
        }
        Ok((Swept { to, ..swept }, found))
    }

    fn newest_version(&self, swept: Swept) -> Result<VersionId> {
        if swept.keep.is_none() {
            return Ok(swept.to);
        }
        let sql = "SELECT coalesce(max(id), 0) FROM version";
        Ok(self.sql()?.prepare_cached(sql)?.query_one([], |row| row.get(0))?)
    }

    fn aged(&self, before: Option<Micros>, limit: u32) -> Result<Vec<VersionId>> {
        let sql = "SELECT id FROM version WHERE superseded = 1 AND dropped_at IS NULL AND at < ?1
            ORDER BY at LIMIT ?2";
        let Some(before) = before else { return Ok(Vec::new()) };
        let mut select = self.sql()?.prepare_cached(sql)?;
        let rows = select.query_map(params![before, limit], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The oldest versions whose contents seem to make up for what is too much. Shared contents and
    /// repacked neighbours make the truth less: the next slice goes on from there.
    fn over_quota(&self, quota: Option<u64>, limit: u32) -> Result<Vec<VersionId>> {
        let mut excess = self.excess(quota)?;
        let sql = "SELECT id, coalesce((SELECT length(data) FROM blob WHERE blob.id = body), 0)
                + coalesce((SELECT length(data) FROM blob WHERE blob.id = text), 0)
            FROM version WHERE superseded = 1 AND dropped_at IS NULL ORDER BY at LIMIT ?1";
        let mut select = self.sql()?.prepare_cached(sql)?;
        let mut rows = select.query([limit])?;
        let mut found = Vec::new();
        while excess > 0
            && let Some(row) = rows.next()?
        {
            found.push(row.get(0)?);
            excess -= row.get::<_, i64>(1)?;
        }
        Ok(found)
    }

    /// By how much the contents are too much; never of no quota.
    fn excess(&self, quota: Option<u64>) -> Result<i64> {
        let mut select = self.sql()?.prepare_cached("SELECT bytes FROM space")?;
        let stored: i64 = select.query_one([], |row| row.get(0))?;
        let quota = quota.and_then(|quota| i64::try_from(quota).ok()).unwrap_or(i64::MAX);
        Ok((stored + self.grown).saturating_sub(quota))
    }

    /// Newest first: a content whose later neighbours are gone has nobody to be repacked for.
    fn drop_all(&mut self, mut versions: Vec<VersionId>, now: Micros) -> Result<u32> {
        versions.sort_unstable();
        let mut dropped = 0;
        for version in versions.into_iter().rev() {
            self.drop_contents(version, now)?;
            dropped += 1;
        }
        Ok(dropped)
    }

    fn forget_events(&mut self, before: Micros, limit: u32) -> Result<u32> {
        // in the order of their time, so that a look at what is young enough ends the search
        let sql = "DELETE FROM event WHERE seq IN (SELECT seq FROM event
            WHERE seq < coalesce((SELECT seq FROM event WHERE at >= ?1 ORDER BY seq LIMIT 1), 1 << 62)
            AND NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.seq = event.seq AND state < 2)
            ORDER BY seq LIMIT ?2)";
        let forgotten = self.sql()?.prepare_cached(sql)?.execute(params![before, limit])?;
        Ok(u32::try_from(forgotten).unwrap_or(limit))
    }

    fn forget_answers(&mut self, before: Micros) -> Result<()> {
        let sql = "DELETE FROM wish WHERE answered_at < ?1";
        self.sql()?.prepare_cached(sql)?.execute([before])?;
        Ok(())
    }
}

fn before(now: Micros, age: Duration) -> Micros {
    Micros(now.0.saturating_sub(i64::try_from(age.as_micros()).unwrap_or(i64::MAX)))
}

/// Shortens the file by a bounded number of free pages; says whether more are free.
fn give_pages_back(sql: &Connection) -> Result<bool> {
    let mut vacuum = sql.prepare(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
    let mut rows = vacuum.query([])?;
    while rows.next()?.is_some() {}
    let free: i64 = sql.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
    Ok(free > 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{any_story, html, page, scratch, stored_bytes, version, watch};
    use crate::{Error, NewEvent, SourceId, event_id};

    const DAY: i64 = 24 * 60 * 60 * 1_000_000;
    const SLICE: NonZeroU32 = NonZeroU32::new(5).unwrap();

    fn keep(store: &mut Store, source: SourceId, day: i64, body: &[u8]) -> VersionId {
        store.commit(|batch| batch.add_version(&version(source, day * DAY, body))).unwrap()
    }

    fn retain_all(store: &mut Store, keep: &Retention, day: i64) -> u32 {
        let mut dropped = 0;
        loop {
            let done = store.retain(keep, Micros(day * DAY), SLICE).unwrap();
            assert!(done.versions <= SLICE.get() && done.events <= SLICE.get());
            dropped += done.versions;
            if !done.more {
                return dropped;
            }
        }
    }

    fn counted_bytes(store: &Store) -> i64 {
        let sql = "SELECT bytes FROM space";
        store.read().connection.query_one(sql, [], |row| row.get(0)).unwrap()
    }

    fn is_kept(store: &Store, id: VersionId) -> bool {
        let version = store.read().version(id).unwrap().unwrap();
        assert_eq!(version.dropped_at.is_none(), store.read().body(id).unwrap().is_some());
        version.dropped_at.is_none()
    }

    fn any_retention() -> impl Strategy<Value = Retention> {
        let versions = prop::option::of((1..9u32).prop_map(|n| NonZeroU32::new(n).unwrap()));
        let age = prop::option::of((0..60u64).prop_map(|days| Duration::from_secs(days * 86_400)));
        let bytes = prop::option::of(0..9_000u64);
        (versions, age, bytes).prop_map(|(versions, age, bytes)| Retention {
            versions,
            age,
            bytes,
            events: None,
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// In the middle of a story and at its end, by any rule: what is kept reads back exactly, each
        /// source keeps its newest, the rules hold, the count of bytes is right, and life goes on.
        #[test]
        fn what_is_kept_reads_back_exactly(
            story in any_story(), early in any_retention(), late in any_retention(), cut in 0..80usize,
        ) {
            let (_dir, mut store) = scratch();
            let sources = ["http://a.example/", "http://b.example/"].map(|url| watch(&mut store, url));
            let mut kept = Vec::new();
            for (day, (which, body)) in (0..).zip(&story) {
                if day == i64::try_from(cut).unwrap() {
                    retain_all(&mut store, &early, day);
                }
                kept.push((keep(&mut store, sources[*which], day, body), body));
            }
            let today = i64::try_from(story.len()).unwrap();
            retain_all(&mut store, &late, today);
            prop_assert_eq!(counted_bytes(&store), stored_bytes(&store));

            for (id, body) in &kept {
                if is_kept(&store, *id) {
                    prop_assert_eq!(&store.read().body(*id).unwrap().unwrap(), *body);
                }
            }
            let oldest = late.age.map_or(i64::MIN, |age| before(Micros(today * DAY), age).0);
            let mut only_newest = true;
            for source in sources {
                let versions = store.read().versions(source, None, 99).unwrap();
                let left: Vec<_> = versions.iter().filter(|version| version.dropped_at.is_none()).collect();
                prop_assert_eq!(left.first().map(|version| version.id), versions.first().map(|version| version.id));
                prop_assert!(late.versions.is_none_or(|most| left.len() <= most.get() as usize));
                prop_assert!(left.iter().skip(1).all(|version| version.at.0 >= oldest));
                only_newest &= left.len() <= 1;
            }
            let quota = late.bytes.map_or(i64::MAX, |bytes| i64::try_from(bytes).unwrap());
            prop_assert!(only_newest || stored_bytes(&store) <= quota);
        }
    }

    #[test]
    fn without_rules_nothing_goes() {
        let (_dir, mut store) = scratch();
        let source = watch(&mut store, "http://a.example/");
        let ids: Vec<_> = (0..40)
            .map(|day| keep(&mut store, source, day.into(), html(1, day).as_bytes()))
            .collect();
        assert_eq!(retain_all(&mut store, &Retention::default(), 9_999), 0);
        assert!(ids.iter().all(|id| is_kept(&store, *id)));
    }

    #[test]
    fn the_oldest_go_first_when_it_is_too_much_and_the_file_shrinks() {
        let (dir, mut store) = scratch();
        let sources = ["http://a.example/", "http://b.example/"].map(|url| watch(&mut store, url));
        let ids: Vec<_> = (0..60)
            .map(|day| keep(&mut store, sources[day as usize % 2], day.into(), &page(day, 50_000)))
            .collect();
        let pages = |store: &Store| -> i64 {
            store
                .read()
                .connection
                .pragma_query_value(None, "page_count", |row| row.get(0))
                .unwrap()
        };
        let before = pages(&store);
        retain_all(&mut store, &Retention { bytes: Some(520_000), ..Retention::default() }, 60);
        let left: Vec<bool> = ids.iter().map(|id| is_kept(&store, *id)).collect();
        assert_eq!(left, [vec![false; 50], vec![true; 10]].concat());
        assert!(pages(&store) < before / 4);
        drop(store);
        let size = std::fs::metadata(crate::files::database(dir.path())).unwrap().len();
        assert!(size < 1_000_000, "{size}");
    }

    #[test]
    fn a_stricter_rule_reaches_what_an_earlier_one_kept() {
        let (_dir, mut store) = scratch();
        let source = watch(&mut store, "http://a.example/");
        for day in 0..30 {
            keep(&mut store, source, day.into(), html(1, day).as_bytes());
        }
        let most = |n| Retention { versions: NonZeroU32::new(n), ..Retention::default() };
        assert_eq!(retain_all(&mut store, &most(20), 30), 10);
        assert_eq!(retain_all(&mut store, &most(20), 30), 0);
        assert_eq!(retain_all(&mut store, &most(3), 30), 17);
        keep(&mut store, source, 30, b"new");
        assert_eq!(retain_all(&mut store, &most(3), 31), 1);
    }

    #[test]
    fn events_go_when_they_are_old_and_nobody_waits_for_them() {
        let (_dir, mut store) = scratch();
        let hook = store.commit(|batch| batch.sink("hook")).unwrap();
        for day in 0..20 {
            let (at, kind, payload) = (Micros(day * DAY), "source.changed", "{}");
            let id = event_id(at, 0);
            let event = NewEvent { id: &id, at, source: None, kind, payload };
            store.commit(|batch| batch.add_event(&event, &[hook])).unwrap();
        }
        let deliver = |store: &mut Store, seq| {
            assert!(store.commit(|batch| batch.delivered(hook, seq, Micros(0))).unwrap());
        };
        (2..=20).for_each(|seq| deliver(&mut store, seq));
        let rule =
            Retention { events: Some(Duration::from_secs(10 * 86_400)), ..Retention::default() };
        retain_all(&mut store, &rule, 20);
        let left = |store: &Store| {
            store.read().events(0, 99).unwrap().iter().map(|event| event.seq).collect::<Vec<_>>()
        };
        assert_eq!(left(&store), [vec![1], (11..=20).collect()].concat());
        deliver(&mut store, 1);
        retain_all(&mut store, &rule, 99);
        assert!(left(&store).is_empty());
        let event = NewEvent { id: "x", at: Micros(0), source: None, kind: "", payload: "" };
        assert_eq!(
            store.commit(|batch| batch.add_event(&event, &[])).unwrap(),
            21,
            "never used again"
        );
    }

    #[test]
    fn an_answered_wish_is_forgotten_after_a_day_and_an_open_one_never() {
        let (dir, mut store) = scratch();
        let [answered, open] =
            ["a", "b"].map(|what| crate::ask(dir.path(), Micros(0), what).unwrap());
        store.commit(|batch| batch.answer(answered, Micros(0), "done")).unwrap();
        let mut answer_on = |day| {
            store.retain(&Retention::default(), Micros(day * DAY), SLICE)?;
            Ok::<_, Error>((store.read().answer(answered)?, store.read().open_wishes(9)?[0].id))
        };
        assert_eq!(answer_on(1).unwrap(), (Some("done".to_owned()), open));
        assert_eq!(answer_on(2).unwrap(), (None, open));
    }
}
