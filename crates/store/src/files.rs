//! Files and directories as the store wants them: private to their owner, and on disk when we say so.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// The database of a data directory.
pub(crate) fn database(dir: &Path) -> PathBuf {
    dir.join("tidewatch.db")
}

/// `path` with `suffix` after its name.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Creates the directory, if it is missing, for its owner alone.
pub(crate) fn private_dir(dir: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(|error| Error::io(dir, error))
}

/// Opens the file, created if missing for its owner alone. SQLite gives its side files the same mode.
pub(crate) fn private_file(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| Error::io(path, error))
}

/// Gives the finished file its name, such that after a power cut it is there whole or not at all.
pub(crate) fn put_in_place(finished: &Path, path: &Path) -> Result<()> {
    let sync = |path: &Path| File::open(path).and_then(|file| file.sync_all());
    sync(finished).map_err(|error| Error::io(finished, error))?;
    fs::rename(finished, path).map_err(|error| Error::io(path, error))?;
    #[cfg(unix)]
    sync(parent(path)).map_err(|error| Error::io(path, error))?;
    Ok(())
}

#[cfg(unix)]
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(dir) if dir != Path::new("") => dir,
        _ => Path::new("."),
    }
}

/// Removes the file if it is there.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(path, error)),
        _ => Ok(()),
    }
}
