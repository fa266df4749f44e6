//! One writer per directory, and whether the last one left in order.
//!
//! The lock file names the process while it writes and is empty after an orderly end. So a name found
//! in a file nobody holds is that of a writer that died.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;

use fs4::{FileExt, TryLockError};

use crate::{Error, Result, files};

pub(crate) struct Lock {
    file: File,
    last_writer_died: bool,
}

impl Lock {
    pub(crate) fn take(dir: &Path) -> Result<Self> {
        let path = dir.join("tidewatch.lock");
        let mut file = files::private_file(&path)?;
        match FileExt::try_lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let pid = named(&mut file).trim().parse().ok();
                return Err(Error::Locked { dir: dir.to_owned(), pid });
            }
            Err(TryLockError::Error(error)) => return Err(Error::io(&path, error)),
        }
        let last_writer_died = !named(&mut file).is_empty();
        sign(&mut file).map_err(|error| Error::io(&path, error))?;
        Ok(Self { file, last_writer_died })
    }

    pub(crate) fn last_writer_died(&self) -> bool {
        self.last_writer_died
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // if this fails the next start checks the file, which is no harm
        let _ = self.file.set_len(0);
    }
}

/// What the file says; where the system forbids reading a locked file, nothing.
fn named(file: &mut File) -> String {
    let mut name = String::new();
    match file.read_to_string(&mut name) {
        Ok(_) => name,
        Err(_) => String::new(),
    }
}

fn sign(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_that_died_is_noticed_and_one_that_left_is_not() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!Lock::take(dir.path()).unwrap().last_writer_died());
        assert!(!Lock::take(dir.path()).unwrap().last_writer_died());
        std::fs::write(dir.path().join("tidewatch.lock"), "4711\n").unwrap();
        assert!(Lock::take(dir.path()).unwrap().last_writer_died());
    }
}
