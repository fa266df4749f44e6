//! The scheduler's memory as of a journal number, so that a start need not fold the whole journal.
//!
//! Only a shortcut: one that is damaged, or of another code, is as good as none.

use rusqlite::params;

use crate::blobs::signed;
use crate::{Batch, Reader, Result, delta};

/// How many are kept: the newest, and one in case it is damaged.
const KEPT: i64 = 2;

impl Batch<'_> {
    /// Keeps the state after journal number `n` as this code encodes it.
    pub fn save_snapshot(&mut self, n: i64, code: &str, state: &[u8]) -> Result<()> {
        let mut packed = signed(state.len()).to_le_bytes().to_vec();
        packed.extend(delta::pack(state, None)?);
        let sql = self.sql()?;
        sql.prepare_cached("INSERT OR REPLACE INTO snapshot VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![n, code, blake3::hash(state).as_bytes(), packed])?;
        sql.prepare_cached(
            "DELETE FROM snapshot WHERE n NOT IN (SELECT n FROM snapshot ORDER BY n DESC LIMIT ?1)",
        )?
        .execute([KEPT])?;
        Ok(())
    }
}

impl Reader {
    /// The newest sound state of this code, and the journal number it stands after.
    pub fn load_snapshot(&self, code: &str) -> Result<Option<(i64, Vec<u8>)>> {
        let sql = "SELECT n, hash, state FROM snapshot WHERE code = ?1 ORDER BY n DESC";
        let mut select = self.connection.prepare_cached(sql)?;
        let mut rows = select.query([code])?;
        while let Some(row) = rows.next()? {
            let (hash, packed): ([u8; 32], Vec<u8>) = (row.get(1)?, row.get(2)?);
            if let Some(state) = sound(&packed, hash) {
                return Ok(Some((row.get(0)?, state)));
            }
        }
        Ok(None)
    }
}

fn sound(packed: &[u8], hash: [u8; 32]) -> Option<Vec<u8>> {
    let (size, packed) = packed.split_first_chunk()?;
    let state = delta::unpack(packed, None, i64::from_le_bytes(*size)).ok()?;
    (*blake3::hash(&state).as_bytes() == hash).then_some(state)
}

#[cfg(test)]
mod tests {
    use crate::testing::{page, scratch};
    use crate::{Error, Store};

    fn save(store: &mut Store, n: i64, code: &str, state: &[u8]) {
        store.commit(|batch| batch.save_snapshot(n, code, state)).unwrap();
    }

    #[test]
    fn the_newest_of_the_same_code_is_loaded() {
        let (_dir, mut store) = scratch();
        assert_eq!(store.read().load_snapshot("a").unwrap(), None);
        save(&mut store, 5, "a", b"five");
        save(&mut store, 7, "a", &page(1, 100_000));
        assert_eq!(store.read().load_snapshot("a").unwrap(), Some((7, page(1, 100_000))));
        assert_eq!(store.read().load_snapshot("b").unwrap(), None);
        save(&mut store, 9, "b", b"");
        assert_eq!(store.read().load_snapshot("b").unwrap(), Some((9, vec![])));
    }

    #[test]
    fn two_are_kept() {
        let (_dir, mut store) = scratch();
        for n in 1..=5 {
            save(&mut store, n, "a", b"state");
        }
        let count = "SELECT count(*) FROM snapshot";
        let count: i64 = store.read().connection.query_one(count, [], |row| row.get(0)).unwrap();
        assert_eq!(count, 2);
    }

    #[test]
    fn a_damaged_one_gives_way_to_the_one_before() {
        let (_dir, mut store) = scratch();
        save(&mut store, 1, "a", b"one");
        save(&mut store, 2, "a", b"two");
        for damage in ["zeroblob(3)", "zeroblob(99)", "x'ffffffffffffffff00'"] {
            let sql = format!("UPDATE snapshot SET state = {damage} WHERE n = 2");
            store.commit(|batch| Ok::<_, Error>(batch.sql()?.execute(&sql, [])?)).unwrap();
            assert_eq!(store.read().load_snapshot("a").unwrap(), Some((1, b"one".to_vec())));
        }
    }
}
