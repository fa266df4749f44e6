//! What is remembered: sources, journal, versions, outbox, in one SQLite file.
//!
//! Rows in, rows out: this room knows no scheduler, no wire and no comparison; the program translates.
//! One [`Store`] writes, everything of one step of the daemon in one transaction ([`Store::commit`]).
//! Any number of [`Reader`]s look on from other processes, and [`ask`] leaves a wish for the writer.
//!
//! | question | file |
//! |---|---|
//! | who may write, and is the file sound? | `store`, `lock`, `schema`, `files`, `error` |
//! | what is watched, and how does it stand? | `sources`, `state`, `names` |
//! | what happened, in order? | `journal`, `snapshot` |
//! | what did it say? | `versions`, `blobs`, `delta` |
//! | what did collections list, and when? | `collections` |
//! | who has still to hear of it? | `outbox`, `deliveries` |
//! | what do others want? | `wishes` |
//! | what may be forgotten, what is copied? | `retention`, `backup` |
//!
//! ```
//! use store::{Kind, Micros, NewEntry, Store};
//!
//! # let dir = tempfile::tempdir()?;
//! let mut store = Store::open(dir.path())?;
//! let n = store.commit(|batch| {
//!     batch.append(&NewEntry { at: Micros(0), kind: Kind::Note, source: None, detail: None })
//! })?;
//! assert_eq!(store.read().last_n()?, n);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod backup;
mod blobs;
mod collections;
mod deliveries;
mod delta;
mod error;
mod files;
mod journal;
mod lock;
mod meta;
mod names;
mod numbers;
mod outbox;
mod reader;
mod retention;
mod schema;
mod snapshot;
mod sources;
mod state;
mod store;
#[cfg(test)]
mod testing;
mod versions;
mod wishes;

pub use backup::{Existing, backup, restore};
pub use collections::{Listed, Spell};
pub use deliveries::{DeadLetter, Due};
pub use error::Error;
pub use journal::{Entry, Kind, NewEntry};
pub use numbers::{HostId, Micros, SinkId, SiteId, SourceId, VersionId, WishId};
pub use outbox::{Event, NewEvent, event_id};
pub use reader::Reader;
pub use retention::{Retained, Retention};
pub use sources::{Added, Filter, Found, NewSource, Source};
pub use state::State;
pub use store::{Batch, Store};
pub use versions::{NewVersion, Version};
pub use wishes::{Wish, ask};

/// What most calls answer.
pub type Result<T, E = Error> = std::result::Result<T, E>;
