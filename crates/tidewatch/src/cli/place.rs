//! Where things are: the configuration and the data directory, for every command that touches them.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use schedule::{Entry, Event, Observation, Time};
use store::{Found, Kind, Reader, Source};

use super::{Failure, NotAMistake};
use crate::clock::{Clock, wall_now};
use crate::config::{self, Config};
use crate::daemon::Core;
use crate::daemon::memory::Memory;
use crate::daemon::wish::{Granted, Wish};
use crate::journal::{self, micros};

impl NotAMistake for store::Error {}

/// Which configuration, which data.
#[derive(Args, Clone, Debug)]
pub(crate) struct Place {
    /// The configuration; `tidewatch.toml` in the current directory if it is there
    #[arg(long, short, env = "TIDEWATCH_CONFIG", value_name = "FILE", help_heading = "Where")]
    pub(crate) config: Option<PathBuf>,
    /// The data directory; by default `store.dir` of the configuration, else the user's data directory
    #[arg(long, env = "TIDEWATCH_DATA", value_name = "DIR", help_heading = "Where")]
    pub(crate) data: Option<PathBuf>,
}

/// Looked for where nothing is said.
const DEFAULT_FILE: &str = "tidewatch.toml";

impl Place {
    /// The file that is read, if any.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        let default = || Some(PathBuf::from(DEFAULT_FILE)).filter(|path| path.exists());
        self.config.clone().or_else(default)
    }

    /// The configuration, checked; mistakes in it are mistakes of the question.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        let asked =
            |wrong: config::Wrong| Failure::Asked(format!("the configuration is wrong:\n{wrong}"));
        let mut config =
            config::read(self.file().as_deref()).map_err(asked)?.check().map_err(asked)?;
        if let Some(data) = &self.data {
            config.dir.clone_from(data);
        }
        Ok(config)
    }

    /// The store, to look at.
    pub(crate) fn reader(&self) -> Result<(Config, Reader), Failure> {
        let config = self.config()?;
        let reader = Reader::open(&config.dir).map_err(|why| match why {
            store::Error::NoStore { dir } => Failure::Could(anyhow::anyhow!(
                "nothing is watched yet in `{}`; start with `tidewatch add URL`",
                dir.display()
            )),
            other => other.into(),
        })?;
        Ok((config, reader))
    }

    /// Grants a wish here, or has the running daemon grant it.
    pub(crate) fn wish(&self, wish: &Wish) -> Result<Granted, Failure> {
        let config = Arc::new(self.config()?);
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let dir = config.dir.clone();
        let opened =
            Core::open(config, runtime.handle().clone(), |last| Arc::new(Clock::wall(last)));
        match opened {
            Ok(mut core) => {
                let now = core.now();
                Ok(core.grant(now, wish, "cli"))
            }
            Err(why) => match why.downcast_ref::<store::Error>() {
                Some(store::Error::Locked { .. }) => leave_wish(&dir, wish),
                _ => Err(Failure::Could(why)),
            },
        }
    }
}

/// Asks the running daemon and waits for its answer.
fn leave_wish(dir: &std::path::Path, wish: &Wish) -> Result<Granted, Failure> {
    let id = store::ask(dir, micros(wall_now()), &serde_json::to_string(wish)?)?;
    let reader = Reader::open(dir)?;
    for _ in 0..200 {
        if let Some(answer) = reader.answer(id)? {
            return Ok(serde_json::from_str(&answer)?);
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    Err(Failure::Could(anyhow::anyhow!(
        "the process that uses `{}` did not answer within 10 s; the wish stays and may still be granted",
        dir.display()
    )))
}

/// One source by number, address or any unambiguous part of it.
pub(crate) fn find(reader: &Reader, name: &str) -> Result<Source, Failure> {
    match reader.find(name)? {
        Found::One(source) => Ok(*source),
        Found::None => Err(Failure::Asked(format!(
            "no source is called `{name}`; `tidewatch list` shows them all"
        ))),
        Found::Many(sources) => {
            let lines: Vec<String> = sources
                .iter()
                .map(|source| format!("  s_{}  {}", source.id.0, source.url))
                .collect();
            Err(Failure::Asked(format!(
                "`{name}` could be any of these; say more, or give the number:\n{}",
                lines.join("\n")
            )))
        }
    }
}

/// What became of every poll of a source, oldest first.
pub(crate) fn answers(
    reader: &Reader,
    source: store::SourceId,
) -> Result<Vec<Observation>, Failure> {
    let mut all = Vec::new();
    let mut before = None;
    loop {
        let page = reader.history(source, before, 500)?;
        let Some(last) = page.last() else { break };
        before = Some(last.n);
        for row in page.iter().filter(|row| row.kind == Kind::Heard) {
            for entry in journal::entries(row).map_err(anyhow::Error::from)? {
                if let Entry::Event(Event::Heard(heard)) = entry {
                    all.push(heard);
                }
            }
        }
    }
    all.reverse();
    Ok(all)
}

/// What the journal amounts to, and the time to ask it about.
pub(crate) fn recall(reader: &Reader) -> Result<(Memory, Time), Failure> {
    let memory =
        Memory::load(reader)?.context("the journal is empty; start with `tidewatch add URL`")?;
    let now = wall_now().max(memory.books.last_at);
    Ok((memory, now))
}
