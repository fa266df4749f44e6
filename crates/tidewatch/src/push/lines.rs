//! Events as JSON lines, on stdout or appended to a file that is synced after each.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use schedule::Span;

use crate::daemon::Refused;

/// Where lines go.
pub struct Lines {
    file: Option<Mutex<File>>,
}

impl Lines {
    /// The terminal, or whatever reads our output.
    pub fn stdout() -> Self {
        Self { file: None }
    }

    /// A file, created if missing.
    pub fn file(path: &Path) -> anyhow::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file =
            file.with_context(|| format!("events cannot be written to `{}`", path.display()))?;
        Ok(Self { file: Some(Mutex::new(file)) })
    }

    /// One line; taken once it is on its way to the disk or to the reader.
    pub fn write(&self, payload: &str) -> Result<(), Refused> {
        self.put(payload).map_err(|why| again(why.to_string()))
    }

    fn put(&self, payload: &str) -> io::Result<()> {
        let line = format!("{payload}\n");
        match &self.file {
            None => {
                let mut out = io::stdout().lock();
                out.write_all(line.as_bytes())?;
                out.flush()
            }
            Some(file) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.write_all(line.as_bytes())?;
                file.sync_data()
            }
        }
    }
}

/// A file or pipe in trouble is tried again soon: its events wait in the outbox.
pub fn again(why: String) -> Refused {
    Refused::ForNow(Span::from_secs(10), why)
}
