//! The writer: opens the file safely, and commits everything that happened in one transaction.

use std::num::NonZeroU32;
use std::path::Path;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::lock::Lock;
use crate::{Error, Reader, Result, VersionId, files, reader, schema};

/// Before it SQLite has a fault in WAL mode.
const OLDEST_SQLITE: i32 = 3_051_003;
/// Pages kept in memory, in KiB: the states of tens of thousands of sources.
const CACHE_KIB: i64 = 32 * 1024;
/// Pages in the log before it is folded into the file: often rewritten ones are folded once.
const LOG_PAGES: i64 = 8192;
/// What the log is cut back to after a burst.
const LOG_BYTES: i64 = 64 << 20;

/// The one writer of a data directory.
pub struct Store {
    // the order matters: the connection closes before the lock is given back
    reader: Reader,
    pub(crate) swept: Swept,
    _lock: Lock,
}

/// How far retention has compared versions with the number to keep.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Swept {
    pub(crate) keep: Option<NonZeroU32>,
    pub(crate) to: VersionId,
}

impl Store {
    /// Opens the directory, created if missing, for writing; waits for nobody.
    ///
    /// A writer that died is no harm to SQLite, but its disk or machine may have been: only then is the
    /// whole file checked, which takes seconds per gigabyte.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self> {
        let dir = dir.as_ref();
        if rusqlite::version_number() < OLDEST_SQLITE {
            return Err(Error::OldSqlite(rusqlite::version()));
        }
        files::private_dir(dir)?;
        let lock = Lock::take(dir)?;
        let path = files::database(dir);
        files::private_file(&path)?;
        let mut connection = reader::open(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        tune(&connection)?;
        if lock.last_writer_died() {
            check_pages(&connection, "quick_check")?;
        }
        schema::migrate(&mut connection, &path)?;
        let swept = Swept { keep: None, to: VersionId(0) };
        Ok(Self { reader: Reader { connection }, swept, _lock: lock })
    }

    /// What can be read, as of the last commit.
    pub fn read(&self) -> &Reader {
        &self.reader
    }

    /// Everything `work` does happens, durably, or nothing does.
    pub fn commit<T, E: From<Error>>(
        &mut self,
        work: impl FnOnce(&mut Batch<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut batch = Batch::begin(&mut self.reader.connection)?;
        let done = work(&mut batch)?;
        batch.finish()?;
        Ok(done)
    }

    /// A number that differs from an earlier one if another process has written since.
    pub fn outside_writes(&self) -> Result<i64> {
        let mut ask = self.reader.connection.prepare_cached("PRAGMA data_version")?;
        Ok(ask.query_one([], |row| row.get(0))?)
    }
}

/// The order matters: the kind of vacuum can only be chosen for an empty file, and WAL writes to it.
fn tune(connection: &Connection) -> Result<()> {
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode != "wal" {
        return Err(Error::ReadOnly(format!("its disk does not support WAL, only {mode}")));
    }
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.pragma_update_and_check(None, "wal_autocheckpoint", LOG_PAGES, |_| Ok(()))?;
    connection.pragma_update_and_check(None, "journal_size_limit", LOG_BYTES, |_| Ok(()))?;
    Ok(())
}

/// Runs one of SQLite's checks.
pub(crate) fn check_pages(connection: &Connection, check: &str) -> Result<()> {
    let finding: String =
        connection.query_row(&format!("PRAGMA {check}(1)"), [], |row| row.get(0))?;
    if finding == "ok" { Ok(()) } else { Err(Error::Damaged(finding)) }
}

/// One transaction under way. What can be written to each table stands in that table's file.
pub struct Batch<'a> {
    transaction: Transaction<'a>,
    /// By how much the stored blobs grew.
    pub(crate) grown: i64,
}

impl<'a> Batch<'a> {
    fn begin(connection: &'a mut Connection) -> Result<Self> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        Ok(Self { transaction, grown: 0 })
    }

    /// The connection, as long as the transaction lives: after some errors SQLite rolls back by itself,
    /// and what is written then would stand alone.
    pub(crate) fn sql(&self) -> Result<&Connection> {
        if self.transaction.is_autocommit() {
            return Err(Error::RolledBack);
        }
        Ok(&self.transaction)
    }

    fn finish(self) -> Result<()> {
        if self.grown != 0 {
            self.sql()?
                .prepare_cached("UPDATE space SET bytes = bytes + ?1")?
                .execute([self.grown])?;
        }
        self.sql()?;
        Ok(self.transaction.commit()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{note, page, scratch, watch};
    use crate::{Kind, Micros, NewEntry};

    #[test]
    fn all_or_nothing() {
        let (_dir, mut store) = scratch();
        let failed: Result<()> = store.commit(|batch| {
            batch.append(&note(1))?;
            Err(Error::Busy)
        });
        assert!(failed.is_err());
        assert_eq!(store.read().last_n().unwrap(), 0);
        assert_eq!(store.commit(|batch| batch.append(&note(2))).unwrap(), 1);
    }

    /// The limit is on pages here; a small disk gives the same error.
    #[test]
    fn a_full_disk_keeps_what_was_and_goes_on_when_space_returns() {
        let (dir, mut store) = scratch();
        let source = watch(&mut store, "http://a.example/");
        let limit = |store: &Store, pages: i64| {
            let connection = &store.reader.connection;
            connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
        };
        let pages: i64 = store
            .reader
            .connection
            .pragma_query_value(None, "page_count", |row| row.get(0))
            .unwrap();
        limit(&store, pages + 20);
        let mut kept = 0;
        let full = loop {
            let random = page(kept, 50_000);
            match store.commit(|batch| {
                batch.append(&note(kept.into()))?;
                batch.add_version(&crate::testing::version(source, kept.into(), &random))
            }) {
                Ok(_) => kept += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(full, Error::DiskFull(_)), "{full}");
        assert!(kept > 0);
        assert_eq!(store.read().last_n().unwrap(), i64::from(kept));

        limit(&store, 1_000_000);
        assert_eq!(store.commit(|batch| batch.append(&note(0))).unwrap(), i64::from(kept) + 1);
        check_pages(&store.reader.connection, "integrity_check").unwrap();
        drop(store);
        assert_eq!(Reader::open(dir.path()).unwrap().last_n().unwrap(), i64::from(kept) + 1);
    }

    #[test]
    fn a_batch_that_swallows_a_rollback_commits_nothing() {
        let (_dir, mut store) = scratch();
        let result: Result<()> = store.commit(|batch| {
            batch.append(&note(1))?;
            batch.transaction.execute_batch("ROLLBACK").unwrap();
            assert!(matches!(batch.append(&note(2)), Err(Error::RolledBack)));
            Ok(())
        });
        assert!(matches!(result, Err(Error::RolledBack)));
        assert_eq!(store.read().last_n().unwrap(), 0);
    }

    #[test]
    fn a_store_that_cannot_be_written_says_so() {
        let (_dir, mut store) = scratch();
        store.reader.connection.pragma_update(None, "query_only", true).unwrap();
        let entry = NewEntry { at: Micros(0), kind: Kind::Note, source: None, detail: None };
        let refused = store.commit(|batch| batch.append(&entry));
        assert!(matches!(refused, Err(Error::ReadOnly(_))));
    }
}
