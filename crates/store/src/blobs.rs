//! Contents by their hash, each stored once, most as a difference from an earlier one.
//!
//! ```text
//! place   0   1   2   3   4   5   6   7   8  …  31   0
//! base    –   0   0   2   0   4   4   6   0  …  30   –
//! ```
//!
//! Contents of a source form runs of 32. The first of a run stands alone; place p differs from the
//! content at p with its lowest bit cleared. So a difference spans a few edits instead of one, but
//! reading walks at most five steps where a plain chain would walk 31. A base is always an earlier row,
//! so there are no circles. A difference is from a content, not from how that is packed: repacking one
//! leaves the others valid.

use blake3::Hash;
use rusqlite::{Connection, OptionalExtension, params};

use crate::{Batch, Error, Result, delta};

const RUN: u32 = 32;
/// Bits in the greatest place: the longest walk.
const DEEPEST: u32 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlobId(pub(crate) i64);

/// Where a content stands among the differences.
struct Link {
    id: i64,
    base: Option<i64>,
    place: u32,
    depth: u32,
}

/// What a new content differs from, and the place it takes.
struct Near {
    base: Link,
    content: Vec<u8>,
    place: u32,
}

impl Batch<'_> {
    /// Keeps a content; `before` is what its source said before, likely similar.
    pub(crate) fn keep(&mut self, content: &[u8], before: Option<BlobId>) -> Result<BlobId> {
        let hash = blake3::hash(content);
        let mut find = self.sql()?.prepare_cached("SELECT id FROM blob WHERE hash = ?1")?;
        let known = find.query_row([hash.as_bytes()], |row| row.get(0)).optional()?;
        drop(find);
        match known {
            Some(id) => Ok(BlobId(id)),
            None => self.insert(content, hash, before),
        }
    }

    fn insert(&mut self, content: &[u8], hash: Hash, before: Option<BlobId>) -> Result<BlobId> {
        let sql = self.sql()?;
        // what was damaged before must not keep the new out
        let near = match before {
            Some(before) => sound(near(sql, before))?.flatten(),
            None => None,
        };
        let packed = delta::pack(content, near.as_ref().map(|near| &near.content[..]))?;
        let row = params![
            hash.as_bytes(),
            near.as_ref().map(|near| near.base.id),
            near.as_ref().map_or(0, |near| near.place),
            near.as_ref().map_or(0, |near| near.base.depth + 1),
            signed(content.len()),
            packed
        ];
        let insert = "INSERT INTO blob (hash, base, place, depth, size, data)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let id = sql.prepare_cached(insert)?.insert(row)?;
        self.grown += signed(packed.len());
        Ok(BlobId(id))
    }

    /// Forgets a content that no version names any more.
    pub(crate) fn release(&mut self, id: BlobId) -> Result<()> {
        let sql = "SELECT EXISTS (SELECT 1 FROM version WHERE body = ?1)
            OR EXISTS (SELECT 1 FROM version WHERE text = ?1)";
        if self.sql()?.prepare_cached(sql)?.query_one([id.0], |row| row.get(0))? {
            return Ok(());
        }
        self.free_from(id)?;
        let sql = "DELETE FROM blob WHERE id = ?1 RETURNING length(data)";
        let freed = self.sql()?.prepare_cached(sql)?.query_row([id.0], |row| row.get::<_, i64>(0));
        self.grown -= freed.optional()?.unwrap_or(0);
        Ok(())
    }

    /// Repacks what differs from a content that goes: the first of them alone, the others from it.
    fn free_from(&mut self, id: BlobId) -> Result<()> {
        let mut select =
            self.sql()?.prepare_cached("SELECT id FROM blob WHERE base = ?1 ORDER BY id")?;
        let rows = select.query_map([id.0], |row| row.get(0).map(BlobId))?;
        let orphans = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        drop(select);
        let mut heir: Option<(BlobId, Vec<u8>)> = None;
        for orphan in orphans {
            // a damaged one cannot be read with its base either
            let Some(content) = sound(read(self.sql()?, orphan))? else { continue };
            let base = heir.as_ref().map(|(heir, content)| (*heir, &content[..]));
            self.repack(orphan, &content, base)?;
            heir.get_or_insert((orphan, content));
        }
        Ok(())
    }

    fn repack(&mut self, id: BlobId, content: &[u8], base: Option<(BlobId, &[u8])>) -> Result<()> {
        let packed = delta::pack(content, base.map(|(_, content)| content))?;
        let length = "SELECT length(data) FROM blob WHERE id = ?1";
        let before: i64 =
            self.sql()?.prepare_cached(length)?.query_one([id.0], |row| row.get(0))?;
        let sql = "UPDATE blob SET base = ?2, depth = ?3, data = ?4 WHERE id = ?1";
        let depth = u32::from(base.is_some());
        let row = params![id.0, base.map(|(base, _)| base.0), depth, packed];
        self.sql()?.prepare_cached(sql)?.execute(row)?;
        self.grown += signed(packed.len()) - before;
        Ok(())
    }
}

/// The content, unpacked and compared with its hash.
pub(crate) fn read(sql: &Connection, id: BlobId) -> Result<Vec<u8>> {
    let mut select = sql.prepare_cached("SELECT base, hash, size, data FROM blob WHERE id = ?1")?;
    let mut chain: Vec<([u8; 32], i64, Vec<u8>)> = Vec::new();
    let mut next = Some(id.0);
    while let Some(id) = next {
        let row = select
            .query_row([id], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?, row.get(3)?))));
        let (base, packed) = row.optional()?.ok_or_else(|| missing(id))?;
        chain.push(packed);
        next = base;
        if chain.len() > DEEPEST as usize + 1 {
            return Err(Error::Damaged(format!("content {id} has too many bases")));
        }
    }
    let hash = chain.first().map(|(hash, ..)| *hash);
    let mut content = None;
    for (_, size, packed) in chain.iter().rev() {
        content = Some(delta::unpack(packed, content.as_deref(), *size)?);
    }
    content
        .filter(|content| Some(*blake3::hash(content).as_bytes()) == hash)
        .ok_or_else(|| Error::Damaged(format!("content {} is not what was kept", id.0)))
}

/// Damage as an outcome.
fn sound<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(Error::Damaged(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What a content that follows `before` differs from; nothing if it begins a run.
fn near(sql: &Connection, before: BlobId) -> Result<Option<Near>> {
    let mut base = link(sql, before.0)?;
    let place = base.place + 1;
    while base.place > place & (place - 1)
        && let Some(earlier) = base.base
    {
        base = link(sql, earlier)?;
    }
    if place >= RUN || base.depth >= DEEPEST {
        return Ok(None);
    }
    Ok(Some(Near { content: read(sql, BlobId(base.id))?, base, place }))
}

fn link(sql: &Connection, id: i64) -> Result<Link> {
    let mut select = sql.prepare_cached("SELECT base, place, depth FROM blob WHERE id = ?1")?;
    let found = select.query_row([id], |row| {
        Ok(Link { id, base: row.get(0)?, place: row.get(1)?, depth: row.get(2)? })
    });
    found.optional()?.ok_or_else(|| missing(id))
}

fn missing(id: i64) -> Error {
    Error::Damaged(format!("content {id} is missing"))
}

pub(crate) fn signed(length: usize) -> i64 {
    i64::try_from(length).expect("a length in memory is below 2^63")
}
