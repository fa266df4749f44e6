//! Wishes: what another process wants of the running writer, and its answers.
//!
//! The command line may not write while a daemon does. It leaves a wish; the daemon sees by
//! [`Store::outside_writes`](crate::Store::outside_writes) that somebody wrote, takes the open wishes
//! and answers each in the batch that fulfils it.

use std::path::Path;

use rusqlite::{OpenFlags, OptionalExtension, params};

use crate::{Batch, Micros, Reader, Result, WishId, files, reader, schema};

/// Something another process wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Its number.
    pub id: WishId,
    /// When it was left.
    pub at: Micros,
    /// What is wanted, as the program encoded it.
    pub what: String,
}

/// Leaves a wish for the writer of a data directory, whether or not one runs.
pub fn ask(dir: impl AsRef<Path>, at: Micros, what: &str) -> Result<WishId> {
    let dir = dir.as_ref();
    let connection = reader::connect(dir, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    schema::check(&connection, &files::database(dir))?;
    let mut insert = connection.prepare("INSERT INTO wish (at, what) VALUES (?1, ?2)")?;
    Ok(WishId(insert.insert(params![at, what])?))
}

impl Batch<'_> {
    /// Answers an open wish; false if there is none of this number.
    pub fn answer(&mut self, id: WishId, at: Micros, answer: &str) -> Result<bool> {
        let sql = "UPDATE wish SET answer = ?2, answered_at = ?3
            WHERE id = ?1 AND answered_at IS NULL";
        Ok(self.sql()?.prepare_cached(sql)?.execute(params![id, answer, at])? == 1)
    }
}

impl Reader {
    /// Up to `limit` wishes without an answer, oldest first.
    pub fn open_wishes(&self, limit: u32) -> Result<Vec<Wish>> {
        let sql = "SELECT id, at, what FROM wish WHERE answered_at IS NULL ORDER BY id LIMIT ?1";
        let mut select = self.connection.prepare_cached(sql)?;
        let rows = select.query_map([limit], |row| {
            Ok(Wish { id: row.get(0)?, at: row.get(1)?, what: row.get(2)? })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The answer to a wish, once there is one.
    pub fn answer(&self, id: WishId) -> Result<Option<String>> {
        let mut select = self.connection.prepare_cached("SELECT answer FROM wish WHERE id = ?1")?;
        Ok(select.query_row([id], |row| row.get(0)).optional()?.flatten())
    }
}
