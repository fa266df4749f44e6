//! Names that get a number at first sight and keep it: sites, hosts, sinks.

use rusqlite::OptionalExtension;
use rusqlite::types::FromSql;

use crate::{Batch, HostId, Result, SinkId, SiteId};

impl Batch<'_> {
    pub(crate) fn site(&mut self, name: &str) -> Result<SiteId> {
        self.number(
            name,
            "SELECT id FROM site WHERE name = ?1",
            "INSERT INTO site SELECT coalesce(max(id) + 1, 0), ?1 FROM site RETURNING id",
        )
    }

    /// The number of a host.
    pub fn host(&mut self, name: &str) -> Result<HostId> {
        self.number(
            name,
            "SELECT id FROM host WHERE name = ?1",
            "INSERT INTO host SELECT coalesce(max(id) + 1, 0), ?1 FROM host RETURNING id",
        )
    }

    /// The number of a sink.
    pub fn sink(&mut self, name: &str) -> Result<SinkId> {
        self.number(
            name,
            "SELECT id FROM sink WHERE name = ?1",
            "INSERT INTO sink (name) VALUES (?1) RETURNING id",
        )
    }

    fn number<Id: FromSql>(&self, name: &str, find: &str, insert: &str) -> Result<Id> {
        let known = self.sql()?.prepare_cached(find)?.query_row([name], |row| row.get(0));
        match known.optional()? {
            Some(id) => Ok(id),
            None => Ok(self.sql()?.prepare_cached(insert)?.query_one([name], |row| row.get(0))?),
        }
    }
}

impl crate::Reader {
    /// Every host in the order of its number, which begins at 0.
    pub fn hosts(&self) -> Result<Vec<String>> {
        self.names("SELECT name FROM host ORDER BY id")
    }

    /// Every site in the order of its number, which begins at 0.
    pub fn sites(&self) -> Result<Vec<String>> {
        self.names("SELECT name FROM site ORDER BY id")
    }

    /// Every sink with its number.
    pub fn sinks(&self) -> Result<Vec<(SinkId, String)>> {
        let mut select = self.connection.prepare_cached("SELECT id, name FROM sink ORDER BY id")?;
        let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn names(&self, sql: &str) -> Result<Vec<String>> {
        let mut select = self.connection.prepare_cached(sql)?;
        let rows = select.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scratch;

    #[test]
    fn numbers_are_dense_from_zero_and_stay() {
        let (_dir, mut store) = scratch();
        let mut number = |name: &str| store.commit(|batch| batch.host(name)).unwrap();
        assert_eq!(["a", "b", "a", "c"].map(&mut number), [0, 1, 0, 2].map(HostId));
        assert_eq!(store.read().hosts().unwrap(), ["a", "b", "c"]);
    }
}
