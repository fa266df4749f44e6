//! The reading side: any number of them, beside a running writer and without its lock.
//!
//! What can be read of each table stands in that table's file.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::{Error, Result, files, schema};

/// How long to wait for another process's transaction, each of which is short.
const PATIENCE: Duration = Duration::from_secs(10);

/// A view of the store that changes nothing.
#[derive(Debug)]
pub struct Reader {
    pub(crate) connection: Connection,
}

impl Reader {
    /// Opens the store of a data directory for reading.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self> {
        let reader = Self { connection: connect(dir.as_ref(), OpenFlags::SQLITE_OPEN_READ_ONLY)? };
        schema::check(&reader.connection, &files::database(dir.as_ref()))?;
        Ok(reader)
    }
}

/// A connection to an existing database.
pub(crate) fn connect(dir: &Path, access: OpenFlags) -> Result<Connection> {
    let path = files::database(dir);
    if !path.exists() {
        return Err(Error::NoStore { dir: dir.to_owned() });
    }
    open(&path, access)
}

/// A connection to the file, prepared as every connection of ours.
pub(crate) fn open(path: &Path, access: OpenFlags) -> Result<Connection> {
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(128);
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}
