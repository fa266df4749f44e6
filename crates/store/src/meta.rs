//! Small facts the program keeps by name.

use rusqlite::OptionalExtension;

use crate::{Batch, Reader, Result};

impl Batch<'_> {
    /// Remembers a value under a name.
    pub fn set_meta(&mut self, key: &str, value: &str) -> Result<()> {
        let sql =
            "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value";
        self.sql()?.prepare_cached(sql)?.execute([key, value])?;
        Ok(())
    }
}

impl Reader {
    /// The value under a name.
    pub fn meta(&self, key: &str) -> Result<Option<String>> {
        let mut find = self.connection.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
        Ok(find.query_row([key], |row| row.get(0)).optional()?)
    }
}
