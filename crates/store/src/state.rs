//! How each source stands after its last poll: what the next request and the next comparison need.

use rusqlite::{Row, params};

use crate::{Batch, Micros, Result, SourceId, VersionId};

/// How a source stands. Empty until it is first polled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// When it was last polled.
    pub polled_at: Option<Micros>,
    /// When it last had something readable to say.
    pub seen_at: Option<Micros>,
    /// When it was last seen changed.
    pub changed_at: Option<Micros>,
    /// The last verdict, in the program's word.
    pub verdict: Option<String>,
    /// The last outcome, in the program's words.
    pub outcome: Option<String>,
    /// The version it is at.
    pub version: Option<VersionId>,
    /// What the server wants to hear in `If-None-Match`.
    pub etag: Option<String>,
    /// What the server wants to hear in `If-Modified-Since`.
    pub last_modified: Option<String>,
    /// What the next look is compared with.
    pub fingerprint: Option<[u8; 32]>,
    /// Polls in a row without anything readable.
    pub failures: u32,
}

impl State {
    pub(crate) const COLUMNS: &str = "state.polled_at, state.seen_at, state.changed_at, state.verdict,
        state.outcome, state.version, state.etag, state.last_modified, state.fingerprint, state.failures";

    pub(crate) fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        Ok(Self {
            polled_at: row.get(first)?,
            seen_at: row.get(first + 1)?,
            changed_at: row.get(first + 2)?,
            verdict: row.get(first + 3)?,
            outcome: row.get(first + 4)?,
            version: row.get(first + 5)?,
            etag: row.get(first + 6)?,
            last_modified: row.get(first + 7)?,
            fingerprint: row.get(first + 8)?,
            failures: row.get(first + 9)?,
        })
    }
}

impl Batch<'_> {
    /// Replaces how a source stands; false of a source that never was.
    pub fn set_state(&mut self, source: SourceId, state: &State) -> Result<bool> {
        let sql = "UPDATE state SET polled_at = ?2, seen_at = ?3, changed_at = ?4, verdict = ?5,
            outcome = ?6, version = ?7, etag = ?8, last_modified = ?9, fingerprint = ?10, failures = ?11
            WHERE source = ?1";
        let changed = self.sql()?.prepare_cached(sql)?.execute(params![
            source,
            state.polled_at,
            state.seen_at,
            state.changed_at,
            state.verdict,
            state.outcome,
            state.version,
            state.etag,
            state.last_modified,
            state.fingerprint,
            state.failures,
        ])?;
        Ok(changed == 1)
    }
}
