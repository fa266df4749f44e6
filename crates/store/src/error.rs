//! What can go wrong with the store that a caller would tell apart.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use rusqlite::ffi;

/// Why the store could not do it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process writes to this directory.
    #[error(
        "`{}` is in use{}: stop that process, or choose another directory",
        dir.display(), pid.map(|pid| format!(" by process {pid}")).unwrap_or_default()
    )]
    Locked {
        /// The data directory.
        dir: PathBuf,
        /// Who, where it could be read.
        pid: Option<u32>,
    },
    /// There is nothing to read yet.
    #[error("no store in `{}`: start the daemon there, or name another directory", dir.display())]
    NoStore {
        /// The data directory.
        dir: PathBuf,
    },
    /// The file is no store, or not only a store.
    #[error("`{}` is not a store of this program: {why}", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// What gives it away.
        why: String,
    },
    /// A newer program wrote the file.
    #[error(
        "the store has format {found}, this program knows formats up to {known}: use a newer program"
    )]
    Newer {
        /// What the file says.
        found: usize,
        /// What this program writes.
        known: usize,
    },
    /// An older program wrote the file and no writer has brought it up to date.
    #[error(
        "the store has format {found}, this program reads {known}: restart the daemon to convert it"
    )]
    Older {
        /// What the file says.
        found: usize,
        /// What this program writes.
        known: usize,
    },
    /// What is stored is not what was written.
    #[error("the store is damaged ({0}): restore a backup")]
    Damaged(String),
    /// Nothing can be written here.
    #[error("the store cannot be written ({0}): check the owner and mode of its directory")]
    ReadOnly(String),
    /// Nothing more can be written here.
    #[error("the store's disk is full ({0}): free some space; nothing was lost")]
    DiskFull(String),
    /// Another process kept the database to itself for too long.
    #[error("the store is busy: try again")]
    Busy,
    /// The transaction was given up after an earlier error in the same batch.
    #[error("the batch was rolled back after an error: commit it again")]
    RolledBack,
    /// A file would be overwritten.
    #[error("`{}` exists: name another, or ask for it to be overwritten", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The linked SQLite has a known fault.
    #[error("SQLite {0} is too old: 3.51.3 or newer is needed")]
    OldSqlite(&'static str),
    /// A file or directory could not be used.
    #[error("could not use `{}`: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// zstd refused.
    #[error("could not compress: {0}")]
    Compression(&'static str),
    /// Anything else SQLite says.
    #[error("the store failed: {0}")]
    Sql(#[source] rusqlite::Error),
}

impl Error {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        let text = || format!("`{}`: {source}", path.display());
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::ReadOnly(text())
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull(text()),
            _ => Self::Io { path: path.to_owned(), source },
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        let Some(code) = error.sqlite_error() else { return Self::unreadable(error) };
        match (code.code, code.extended_code) {
            // a quota is told as a failed write, a full disk under the shared index as a failed resize
            (ErrorCode::DiskFull, _) | (_, ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE) => {
                Self::DiskFull(error.to_string())
            }
            (ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied, _) => {
                Self::ReadOnly(error.to_string())
            }
            (ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase, _) => {
                Self::Damaged(error.to_string())
            }
            (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => Self::Busy,
            _ => Self::Sql(error),
        }
    }
}

impl Error {
    /// A value of the wrong kind in a column of ours was not written by us.
    fn unreadable(error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..) => Self::Damaged(error.to_string()),
            _ => Self::Sql(error),
        }
    }
}
