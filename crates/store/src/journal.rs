//! The journal: everything that can move a decision, in order, numbered because times tie.
//!
//! Only ever appended to. The scheduler's memory is a fold over it, so numbers have no holes and what
//! an entry says in `detail` is the program's own language.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Row, params};

use crate::{Batch, Error, Micros, Reader, Result, SourceId};

/// What happened. The numbers are in files: never change one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A source is watched, or watched otherwise.
    Entered = 1,
    /// A source is no longer watched.
    Left = 2,
    /// A round began.
    Round = 3,
    /// A host asked to be treated otherwise.
    Manners = 4,
    /// A host shut or opened.
    Host = 5,
    /// A poll was sent.
    Sent = 6,
    /// A poll was answered, or lost.
    Heard = 7,
    /// Budget, policy or seed changed.
    Settings = 8,
    /// A request that is no poll: robots.txt, a redirect.
    Visit = 9,
    /// Anything for people only.
    Note = 10,
    /// A collection's next look is due when its quality is foretold to reach its target.
    Due = 11,
}

impl Kind {
    const ALL: [Self; 11] = [
        Self::Entered,
        Self::Left,
        Self::Round,
        Self::Manners,
        Self::Host,
        Self::Sent,
        Self::Heard,
        Self::Settings,
        Self::Visit,
        Self::Note,
        Self::Due,
    ];
}

impl ToSql for Kind {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok((*self as u8).into())
    }
}

impl FromSql for Kind {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let number = i64::column_result(value)?;
        let kind = Self::ALL.into_iter().find(|kind| *kind as i64 == number);
        kind.ok_or(FromSqlError::OutOfRange(number))
    }
}

/// Something that happened, to be written down.
#[derive(Clone, Copy, Debug)]
pub struct NewEntry<'a> {
    /// When, as the scheduler was told.
    pub at: Micros,
    /// What.
    pub kind: Kind,
    /// Of which source, if it is about one.
    pub source: Option<SourceId>,
    /// The rest, as the program encodes it.
    pub detail: Option<&'a [u8]>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number: from 1, without holes.
    pub n: i64,
    /// When, as the scheduler was told.
    pub at: Micros,
    /// What.
    pub kind: Kind,
    /// Of which source, if it is about one.
    pub source: Option<SourceId>,
    /// The rest, as the program encoded it.
    pub detail: Option<Vec<u8>>,
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry {
        n: row.get(0)?,
        at: row.get(1)?,
        kind: row.get(2)?,
        source: row.get(3)?,
        detail: row.get(4)?,
    })
}

impl Batch<'_> {
    /// Writes down what happened; says its number.
    pub fn append(&mut self, entry: &NewEntry<'_>) -> Result<i64> {
        let sql = "INSERT INTO journal (at, kind, source, detail) VALUES (?1, ?2, ?3, ?4)";
        let mut insert = self.sql()?.prepare_cached(sql)?;
        Ok(insert.insert(params![entry.at, entry.kind, entry.source, entry.detail])?)
    }
}

impl Reader {
    /// The number of the newest entry, 0 of an empty journal.
    pub fn last_n(&self) -> Result<i64> {
        let mut last = self.connection.prepare_cached("SELECT coalesce(max(n), 0) FROM journal")?;
        Ok(last.query_one([], |row| row.get(0))?)
    }

    /// Shows every entry after number `after`, in order, holding one in memory at a time.
    pub fn replay<E: From<Error>>(
        &self,
        after: i64,
        mut visit: impl FnMut(Entry) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = "SELECT n, at, kind, source, detail FROM journal WHERE n > ?1 ORDER BY n";
        let mut select = self.connection.prepare_cached(sql).map_err(Error::from)?;
        for found in select.query_map([after], entry).map_err(Error::from)? {
            visit(found.map_err(Error::from)?)?;
        }
        Ok(())
    }

    /// Up to `limit` entries after number `after`, in order.
    pub fn journal(&self, after: i64, limit: u32) -> Result<Vec<Entry>> {
        let sql =
            "SELECT n, at, kind, source, detail FROM journal WHERE n > ?1 ORDER BY n LIMIT ?2";
        let mut select = self.connection.prepare_cached(sql)?;
        let found = select.query_map(params![after, limit], entry)?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// Up to `limit` entries about a source, newest first, from before number `before` on.
    pub fn history(&self, source: SourceId, before: Option<i64>, limit: u32) -> Result<Vec<Entry>> {
        let sql = "SELECT n, at, kind, source, detail FROM journal
            WHERE source = ?1 AND n < ?2 ORDER BY n DESC LIMIT ?3";
        let mut select = self.connection.prepare_cached(sql)?;
        let found = select.query_map(params![source, before.unwrap_or(i64::MAX), limit], entry)?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::scratch;

    fn any_entry() -> impl Strategy<Value = (i64, Kind, Option<SourceId>, Option<Vec<u8>>)> {
        let source = prop::option::of((1..4i64).prop_map(SourceId));
        let detail = prop::option::of(prop::collection::vec(any::<u8>(), 0..9));
        (any::<i64>(), prop::sample::select(Kind::ALL.to_vec()), source, detail)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn what_is_appended_is_replayed_in_order_without_holes(
            batches in prop::collection::vec(prop::collection::vec(any_entry(), 0..5), 1..6),
            after in 0..9i64,
        ) {
            let (_dir, mut store) = scratch();
            let mut told = Vec::new();
            for batch in &batches {
                store.commit(|open| batch.iter().try_for_each(|(at, kind, source, detail)| {
                    let detail = detail.as_deref();
                    let entry = NewEntry { at: Micros(*at), kind: *kind, source: *source, detail };
                    told.push((open.append(&entry)?, entry.at, *kind, *source, detail.map(<[u8]>::to_vec)));
                    Ok::<_, Error>(())
                })).unwrap();
            }
            let told: Vec<Entry> = told.into_iter()
                .map(|(n, at, kind, source, detail)| Entry { n, at, kind, source, detail })
                .collect();
            prop_assert!(told.iter().zip(1..).all(|(entry, n)| entry.n == n));

            let mut heard = Vec::new();
            store.read().replay(after, |entry| { heard.push(entry); Ok::<_, Error>(()) }).unwrap();
            let rest: Vec<Entry> = told.iter().filter(|entry| entry.n > after).cloned().collect();
            prop_assert_eq!(&heard, &rest);
            prop_assert_eq!(store.read().journal(after, 3).unwrap(), rest[..rest.len().min(3)].to_vec());
        }

        #[test]
        fn a_history_read_in_pages_is_the_journal_backwards(
            entries in prop::collection::vec(any_entry(), 0..20), limit in 1..4u32,
        ) {
            let (_dir, mut store) = scratch();
            store.commit(|open| entries.iter().try_for_each(|(at, kind, source, _)| {
                open.append(&NewEntry { at: Micros(*at), kind: *kind, source: *source, detail: None }).map(|_| ())
            })).unwrap();
            let source = SourceId(1);
            let (mut paged, mut before) = (Vec::new(), None);
            loop {
                let page = store.read().history(source, before, limit).unwrap();
                let Some(last) = page.last() else { break };
                before = Some(last.n);
                paged.extend(page);
            }
            let mut all = store.read().journal(0, 99).unwrap();
            all.retain(|entry| entry.source == Some(source));
            all.reverse();
            prop_assert_eq!(paged, all);
        }
    }
}
