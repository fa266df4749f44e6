//! What collections listed at each look: times of presence of their objects.
//!
//! A look writes only what differs from the one before: arrivals, removals, new versions. So a collection that hardly
//! changes costs a row a look.

use std::collections::HashMap;

use rusqlite::params;

use crate::{Batch, Micros, Reader, Result, SourceId};

/// One object as a look shows it.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'a> {
    /// What it is known by.
    pub key: &'a str,
    /// Its category.
    pub category: &'a str,
    /// Changes when its content does.
    pub version: u64,
}

/// One time of presence of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spell {
    /// What it is known by.
    pub key: String,
    /// Its category when it came.
    pub category: String,
    /// Its version when last seen.
    pub version: u64,
    /// The first look that saw it.
    pub first_at: Micros,
    /// The look that found it gone.
    pub gone_at: Option<Micros>,
}

impl Batch<'_> {
    /// A look at a collection showed what the one before did.
    pub fn same_look(&mut self, source: SourceId, at: Micros) -> Result<()> {
        self.looked(source, at, 0)
    }

    fn looked(&mut self, source: SourceId, at: Micros, updated: u32) -> Result<()> {
        let sql = "INSERT OR IGNORE INTO look (source, at, updated) VALUES (?1, ?2, ?3)";
        self.sql()?.prepare_cached(sql)?.execute(params![source, at, updated])?;
        Ok(())
    }

    /// A look at a collection showed these objects, each key once.
    pub fn look(&mut self, source: SourceId, at: Micros, items: &[Listed<'_>]) -> Result<()> {
        let mut updated = 0;
        let sql = self.sql()?;
        let mut here: HashMap<String, (i64, i64)> = {
            let mut select = sql.prepare_cached(
                "SELECT key, id, version FROM spell WHERE source = ?1 AND gone_at IS NULL",
            )?;
            let rows = select
                .query_map(params![source], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
            rows.collect::<rusqlite::Result<_>>()?
        };
        for item in items {
            let version = item.version.cast_signed();
            match here.remove(item.key) {
                Some((_, before)) if before == version => {}
                Some((id, _)) => {
                    sql.prepare_cached("UPDATE spell SET version = ?2 WHERE id = ?1")?
                        .execute(params![id, version])?;
                    updated += 1;
                }
                None => {
                    let new = "INSERT INTO spell (source, key, category, version, first_at)
                        VALUES (?1, ?2, ?3, ?4, ?5)";
                    sql.prepare_cached(new)?.execute(params![
                        source,
                        item.key,
                        item.category,
                        version,
                        at
                    ])?;
                }
            }
        }
        for (id, _) in here.values() {
            sql.prepare_cached("UPDATE spell SET gone_at = ?2 WHERE id = ?1")?
                .execute(params![id, at])?;
        }
        self.looked(source, at, updated)
    }

    /// Forgets what a collection listed: its rule changed, and nothing before can be compared with what comes.
    pub fn forget_looks(&mut self, source: SourceId) -> Result<()> {
        self.sql()?.execute("DELETE FROM look WHERE source = ?1", params![source])?;
        self.sql()?.execute("DELETE FROM spell WHERE source = ?1", params![source])?;
        Ok(())
    }
}

impl Reader {
    /// When a collection was looked at, in order.
    pub fn looks(&self, source: SourceId) -> Result<Vec<Micros>> {
        let mut looks =
            self.connection.prepare_cached("SELECT at FROM look WHERE source = ?1 ORDER BY at")?;
        let rows = looks.query_map(params![source], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// How often an object of a collection changed and stayed.
    pub fn updates(&self, source: SourceId) -> Result<u64> {
        let sql = "SELECT coalesce(sum(updated), 0) FROM look WHERE source = ?1";
        let sum: i64 =
            self.connection.prepare_cached(sql)?.query_row([source], |row| row.get(0))?;
        Ok(sum.cast_unsigned())
    }

    /// What a collection listed, by arrival.
    pub fn spells(&self, source: SourceId) -> Result<Vec<Spell>> {
        let mut spells = self.connection.prepare_cached(
            "SELECT key, category, version, first_at, gone_at FROM spell WHERE source = ?1
             ORDER BY first_at, id",
        )?;
        let rows = spells.query_map(params![source], |row| {
            Ok(Spell {
                key: row.get(0)?,
                category: row.get(1)?,
                version: row.get::<_, i64>(2)?.cast_unsigned(),
                first_at: row.get(3)?,
                gone_at: row.get(4)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{scratch, watch};

    fn items<'a>(keys: &[&'a str], version: u64) -> Vec<Listed<'a>> {
        keys.iter().map(|&key| Listed { key, category: "c", version }).collect()
    }

    #[test]
    fn looks_write_what_differs() {
        let (_dir, mut store) = scratch();
        let (source, other) = (watch(&mut store, "http://a/"), watch(&mut store, "http://b/"));
        store
            .commit(|batch| -> Result<()> {
                batch.look(source, Micros(1), &items(&["a", "b"], 1))?;
                batch.look(other, Micros(1), &items(&["a"], 1))?;
                batch.same_look(source, Micros(2))?;
                batch.look(source, Micros(3), &items(&["b", "c"], u64::MAX))?;
                batch.look(source, Micros(4), &items(&["a"], 1))
            })
            .unwrap();
        let reader = store.read();
        assert_eq!(reader.looks(source).unwrap(), [1, 2, 3, 4].map(Micros));
        let spell = |key: &str, version, first, gone: Option<i64>| Spell {
            key: key.to_owned(),
            category: "c".to_owned(),
            version,
            first_at: Micros(first),
            gone_at: gone.map(Micros),
        };
        let wanted = [
            spell("a", 1, 1, Some(3)),
            spell("b", u64::MAX, 1, Some(4)),
            spell("c", u64::MAX, 3, Some(4)),
            spell("a", 1, 4, None),
        ];
        assert_eq!(reader.spells(source).unwrap(), wanted);
        assert_eq!(reader.updates(source).unwrap(), 1);
        store.commit(|batch| batch.forget_looks(source)).unwrap();
        assert!(store.read().looks(source).unwrap().is_empty());
        assert_eq!(store.read().spells(other).unwrap().len(), 1);
    }
}
