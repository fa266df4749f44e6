//! Versions: each distinct state of a source we caught, with everything needed to judge it again.

use rusqlite::{OptionalExtension, Row, params};

use crate::blobs::{self, BlobId};
use crate::{Batch, Error, Micros, Reader, Result, SourceId, VersionId};

/// A version to be kept.
#[derive(Clone, Copy, Debug)]
pub struct NewVersion<'a> {
    /// Whose.
    pub source: SourceId,
    /// When it was seen.
    pub at: Micros,
    /// The journal entry of the answer.
    pub n: i64,
    /// The raw body.
    pub body: &'a [u8],
    /// What was read out of it.
    pub text: Option<&'a str>,
    /// The response headers, as the program encodes them.
    pub headers: &'a str,
    /// Its media type, where told.
    pub media_type: Option<&'a str>,
    /// The HTTP status.
    pub status: u16,
    /// What it is compared by.
    pub fingerprint: [u8; 32],
    /// What it calls itself.
    pub title: Option<&'a str>,
}

/// A version without its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Its number over all sources.
    pub id: VersionId,
    /// Whose.
    pub source: SourceId,
    /// Its number among the versions of its source, from 1.
    pub number: i64,
    /// When it was seen.
    pub at: Micros,
    /// The journal entry of the answer.
    pub n: i64,
    /// The response headers, as the program encoded them.
    pub headers: String,
    /// Its media type, where told.
    pub media_type: Option<String>,
    /// The HTTP status.
    pub status: u16,
    /// The length of its body in bytes.
    pub size: i64,
    /// What it is compared by.
    pub fingerprint: [u8; 32],
    /// What it calls itself.
    pub title: Option<String>,
    /// When retention dropped its body and text.
    pub dropped_at: Option<Micros>,
}

const COLUMNS: &str =
    "id, source, number, at, n, headers, media_type, status, size, fingerprint, title, dropped_at";

fn version(row: &Row<'_>) -> rusqlite::Result<Version> {
    Ok(Version {
        id: row.get(0)?,
        source: row.get(1)?,
        number: row.get(2)?,
        at: row.get(3)?,
        n: row.get(4)?,
        headers: row.get(5)?,
        media_type: row.get(6)?,
        status: row.get(7)?,
        size: row.get(8)?,
        fingerprint: row.get(9)?,
        title: row.get(10)?,
        dropped_at: row.get(11)?,
    })
}

/// What the next version of a source follows.
struct Before {
    id: VersionId,
    number: i64,
    body: Option<BlobId>,
    text: Option<BlobId>,
}

impl Batch<'_> {
    /// Keeps a version of a source after all its others.
    pub fn add_version(&mut self, new: &NewVersion<'_>) -> Result<VersionId> {
        let before = self.newest(new.source)?;
        let body = self.keep(new.body, before.as_ref().and_then(|before| before.body))?;
        let near = before.as_ref().and_then(|before| before.text);
        let text = new.text.map(|text| self.keep(text.as_bytes(), near)).transpose()?;
        if let Some(before) = &before {
            let sql = "UPDATE version SET superseded = 1 WHERE id = ?1";
            self.sql()?.prepare_cached(sql)?.execute([before.id])?;
        }
        let sql =
            "INSERT INTO version (source, number, at, n, body, text, headers, media_type, status,
            size, fingerprint, title) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
        let id = self.sql()?.prepare_cached(sql)?.insert(params![
            new.source,
            before.map_or(1, |before| before.number + 1),
            new.at,
            new.n,
            body.0,
            text.map(|text| text.0),
            new.headers,
            new.media_type,
            new.status,
            blobs::signed(new.body.len()),
            new.fingerprint,
            new.title,
        ])?;
        Ok(VersionId(id))
    }

    fn newest(&self, source: SourceId) -> Result<Option<Before>> {
        let sql = "SELECT id, number, body, text FROM version WHERE source = ?1
            ORDER BY number DESC LIMIT 1";
        let mut select = self.sql()?.prepare_cached(sql)?;
        let found = select.query_row([source], |row| {
            Ok(Before {
                id: row.get(0)?,
                number: row.get(1)?,
                body: row.get::<_, Option<i64>>(2)?.map(BlobId),
                text: row.get::<_, Option<i64>>(3)?.map(BlobId),
            })
        });
        Ok(found.optional()?)
    }

    /// Drops body and text of a version; what is known about it stays.
    pub(crate) fn drop_contents(&mut self, id: VersionId, now: Micros) -> Result<()> {
        let sql = "SELECT body, text FROM version WHERE id = ?1";
        let contents: [Option<i64>; 2] = self
            .sql()?
            .prepare_cached(sql)?
            .query_one([id], |row| Ok([row.get(0)?, row.get(1)?]))?;
        let sql = "UPDATE version SET body = NULL, text = NULL, dropped_at = ?2 WHERE id = ?1";
        self.sql()?.prepare_cached(sql)?.execute(params![id, now])?;
        contents.into_iter().flatten().try_for_each(|content| self.release(BlobId(content)))
    }
}

impl Reader {
    /// The version with this number over all sources.
    pub fn version(&self, id: VersionId) -> Result<Option<Version>> {
        let sql = format!("SELECT {COLUMNS} FROM version WHERE id = ?1");
        Ok(self.connection.prepare_cached(&sql)?.query_row([id], version).optional()?)
    }

    /// The version with this number among those of its source.
    pub fn version_of(&self, source: SourceId, number: i64) -> Result<Option<Version>> {
        let sql = format!("SELECT {COLUMNS} FROM version WHERE source = ?1 AND number = ?2");
        let mut select = self.connection.prepare_cached(&sql)?;
        Ok(select.query_row(params![source, number], version).optional()?)
    }

    /// Up to `limit` versions of a source, newest first, from before number `before` on.
    pub fn versions(
        &self,
        source: SourceId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Version>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM version WHERE source = ?1 AND number < ?2
             ORDER BY number DESC LIMIT ?3"
        );
        let mut select = self.connection.prepare_cached(&sql)?;
        let given = params![source, before.unwrap_or(i64::MAX), limit];
        let found = select.query_map(given, version)?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// The raw body of a version; `None` if it was dropped or there is no such version.
    pub fn body(&self, id: VersionId) -> Result<Option<Vec<u8>>> {
        self.content(id, "SELECT body FROM version WHERE id = ?1")
    }

    /// The text of a version; `None` if it was dropped or there never was one.
    pub fn text(&self, id: VersionId) -> Result<Option<String>> {
        let text = self.content(id, "SELECT text FROM version WHERE id = ?1")?;
        let damaged = |_| Error::Damaged(format!("the text of version {} is no text", id.0));
        text.map(|text| String::from_utf8(text).map_err(damaged)).transpose()
    }

    fn content(&self, id: VersionId, which: &str) -> Result<Option<Vec<u8>>> {
        let mut select = self.connection.prepare_cached(which)?;
        let blob: Option<Option<i64>> = select.query_row([id], |row| row.get(0)).optional()?;
        blob.flatten().map(|blob| blobs::read(&self.connection, BlobId(blob))).transpose()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Store;
    use crate::testing::{any_story, html, page, scratch, stored_bytes, version, watch};

    fn keep(store: &mut Store, source: SourceId, body: &[u8]) -> VersionId {
        store.commit(|batch| batch.add_version(&version(source, 0, body))).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Edited, repeated, flipped back, emptied, replaced: two sources that share contents.
        #[test]
        fn every_body_reads_back_exactly(story in any_story()) {
            let (_dir, mut store) = scratch();
            let sources = ["http://a.example/", "http://b.example/"].map(|url| watch(&mut store, url));
            let kept = store.commit(|batch| {
                let mut keep = |(which, body): &(usize, Vec<u8>)| {
                    batch.add_version(&version(sources[*which], 0, body))
                };
                story.iter().map(&mut keep).collect::<Result<Vec<_>>>()
            }).unwrap();
            for (id, (_, body)) in kept.iter().zip(&story) {
                prop_assert_eq!(&store.read().body(*id).unwrap().unwrap(), body);
            }
        }
    }

    #[test]
    fn a_megabyte_of_noise_reads_back_exactly() {
        let (_dir, mut store) = scratch();
        let source = watch(&mut store, "http://a.example/");
        let mut body = page(7, 1 << 20);
        let first = keep(&mut store, source, &body);
        let before = stored_bytes(&store);
        body[500_000] ^= 1;
        let second = keep(&mut store, source, &body);
        assert_eq!(store.read().body(second).unwrap().unwrap(), body);
        body[500_000] ^= 1;
        assert_eq!(store.read().body(first).unwrap().unwrap(), body);
        assert!(stored_bytes(&store) - before < 2_000);
    }

    #[test]
    fn versions_are_counted_per_source_and_listed_newest_first() {
        let (_dir, mut store) = scratch();
        let sources = ["http://a.example/", "http://b.example/"].map(|url| watch(&mut store, url));
        for body in [b"1", b"2", b"3"] {
            sources.iter().for_each(|source| _ = keep(&mut store, *source, body));
        }
        let numbers = |before, limit| -> Vec<i64> {
            let page = store.read().versions(sources[1], before, limit).unwrap();
            page.into_iter().map(|version| version.number).collect()
        };
        assert_eq!(numbers(None, 2), [3, 2]);
        assert_eq!(numbers(Some(2), 2), [1]);
        let second = store.read().version_of(sources[1], 2).unwrap().unwrap();
        assert_eq!(store.read().version(second.id).unwrap().unwrap(), second);
        assert_eq!(store.read().body(second.id).unwrap().unwrap(), b"2");
        assert_eq!((second.size, second.status, second.dropped_at), (1, 200, None));
    }

    #[test]
    fn the_same_content_is_stored_once_as_body_text_and_for_others() {
        let (_dir, mut store) = scratch();
        let sources = ["http://a.example/", "http://b.example/"].map(|url| watch(&mut store, url));
        let body = page(3, 4_000);
        let text: String = body.iter().map(|byte| char::from(b'a' + byte % 26)).collect();
        for source in sources {
            let plain = NewVersion { text: Some(&text), ..version(source, 0, text.as_bytes()) };
            store.commit(|batch| batch.add_version(&plain)).unwrap();
        }
        assert!(stored_bytes(&store) < 4_000);
    }

    /// Measured: 169 bytes a version of a page that takes 2,115 packed alone.
    #[test]
    fn a_thousand_small_edits_cost_little() {
        let (_dir, mut store) = scratch();
        let source = watch(&mut store, "http://a.example/");
        keep(&mut store, source, html(1, 0).as_bytes());
        let alone = stored_bytes(&store);
        store
            .commit(|batch| {
                (1..1000).try_for_each(|edit| {
                    let body = html(1, edit);
                    batch.add_version(&version(source, 0, body.as_bytes())).map(|_| ())
                })
            })
            .unwrap();
        let each = stored_bytes(&store) / 1000;
        assert!(each < alone / 6, "{each} bytes a version, {alone} alone");
    }

    #[test]
    fn a_damaged_content_is_told_and_does_not_keep_the_next_out() {
        let (_dir, mut store) = scratch();
        let source = watch(&mut store, "http://a.example/");
        let first = keep(&mut store, source, html(1, 0).as_bytes());
        store
            .commit(|batch| {
                batch.sql()?.execute("UPDATE blob SET data = zeroblob(9)", [])?;
                Ok::<_, Error>(())
            })
            .unwrap();
        assert!(matches!(store.read().body(first), Err(Error::Damaged(_))));
        let second = keep(&mut store, source, html(1, 1).as_bytes());
        assert_eq!(store.read().body(second).unwrap().unwrap(), html(1, 1).as_bytes());
        store.commit(|batch| batch.drop_contents(first, Micros(1))).unwrap();
        assert_eq!(store.read().body(second).unwrap().unwrap(), html(1, 1).as_bytes());
    }
}
