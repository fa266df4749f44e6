//! A copy of the store in one file, made beside a running writer, and the way back.

use std::fs;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::lock::Lock;
use crate::store::check_pages;
use crate::{Error, Reader, Result, files, reader, schema};

/// What becomes of a file that stands in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays and nothing is done.
    Keep,
    /// It gives way, once the new one is whole.
    Replace,
}

/// Writes the store of a data directory, as of now, to a file.
pub fn backup(dir: impl AsRef<Path>, file: impl AsRef<Path>, existing: Existing) -> Result<()> {
    let (dir, file) = (dir.as_ref(), file.as_ref());
    refuse_itself(file, &files::database(dir))?;
    make_way(file, existing)?;
    let reader = Reader::open(dir)?;
    let unfinished = files::beside(file, ".part");
    files::remove(&unfinished)?;
    files::private_file(&unfinished)?;
    let target = unfinished.to_str().ok_or_else(|| not_text(&unfinished))?;
    let copied = reader.connection.execute("VACUUM INTO ?1", [target]).map_err(Error::from);
    let done = copied.and_then(|_| files::put_in_place(&unfinished, file));
    if done.is_err() {
        files::remove(&unfinished)?;
    }
    done
}

/// Makes a file written by [`backup`] the store of a data directory that nobody uses.
pub fn restore(file: impl AsRef<Path>, dir: impl AsRef<Path>, existing: Existing) -> Result<()> {
    let (file, dir) = (file.as_ref(), dir.as_ref());
    let database = files::database(dir);
    files::private_dir(dir)?;
    let _lock = Lock::take(dir)?;
    refuse_itself(file, &database)?;
    make_way(&database, existing)?;
    let unfinished = files::beside(&database, ".part");
    let done = copy(file, &unfinished)
        .and_then(|()| check(&unfinished, file))
        .and_then(|()| retire(&database))
        .and_then(|()| files::put_in_place(&unfinished, &database));
    if done.is_err() {
        files::remove(&unfinished)?;
    }
    done
}

/// A live database must neither be replaced by its copy nor be copied without its log.
fn refuse_itself(file: &Path, database: &Path) -> Result<()> {
    match (fs::canonicalize(file), fs::canonicalize(database)) {
        (Ok(one), Ok(other)) if one == other => Err(Error::Exists { path: one }),
        _ => Ok(()),
    }
}

fn make_way(path: &Path, existing: Existing) -> Result<()> {
    if existing == Existing::Keep && path.exists() {
        return Err(Error::Exists { path: path.to_owned() });
    }
    Ok(())
}

fn not_text(path: &Path) -> Error {
    let source = std::io::Error::other("its name is not valid text");
    Error::Io { path: path.to_owned(), source }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut source = fs::File::open(from).map_err(|error| Error::io(from, error))?;
    files::remove(to)?;
    let mut target = files::private_file(to)?;
    std::io::copy(&mut source, &mut target).map_err(|error| Error::io(to, error))?;
    Ok(())
}

/// Checks the copy, which nobody can change any more, in the name of the original.
fn check(copy: &Path, original: &Path) -> Result<()> {
    // a writer takes its side files away when it leaves
    let checked = reader::open(copy, OpenFlags::SQLITE_OPEN_READ_WRITE).and_then(|connection| {
        schema::check_foreign(&connection, original)?;
        check_pages(&connection, "integrity_check")
    });
    match checked {
        Err(Error::Damaged(why)) => {
            let why = format!("it is damaged: {why}");
            Err(Error::NotAStore { path: original.to_owned(), why })
        }
        checked => checked,
    }
}

/// Folds the log of the old database into it, because beside another database it would be taken for
/// that one's.
fn retire(database: &Path) -> Result<()> {
    if database.exists()
        && let Ok(old) = Connection::open(database)
    {
        // of a damaged one there is nothing to save
        let _ = old.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }
    files::remove(&files::beside(database, "-wal"))?;
    files::remove(&files::beside(database, "-shm"))
}
