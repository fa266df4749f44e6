//! Push: events out of the outbox, to whoever asked for them.
//!
//! ```text
//! stdout, file   one JSON document a line
//! webhook        a signed POST (Standard Webhooks), tried again for two days, then kept as a dead letter
//! ```
//!
//! At least once, in order per source: the outbox hands out an event only when those before it are done, and an event
//! counts as delivered when that is written down. A sink has one task at a time; a slow one delays nobody else.

pub mod lines;
pub mod signature;
pub mod webhook;

use std::sync::Arc;

use schedule::{Span, Time};
use store::{Due, Reader, SinkId, Store};
use tokio::runtime::Handle;

use self::lines::Lines;
use self::webhook::Hook;
use crate::config::Config;
use crate::daemon::{Inbox, Message};
use crate::journal::micros;

/// Events handed to a sink at a time.
const BATCH: u32 = 64;

/// Someone who is told.
pub struct Sink {
    /// Its number in the store.
    pub id: SinkId,
    /// A task of it is under way.
    pub busy: bool,
    tags: Vec<String>,
    means: Means,
}

#[derive(Clone)]
enum Means {
    Lines(Arc<Lines>),
    Hook(Arc<Hook>),
}

/// All sinks of the configuration.
pub fn sinks(config: &Config, store: &mut Store) -> anyhow::Result<Vec<Sink>> {
    let mut wanted: Vec<(String, Vec<String>, Means)> = Vec::new();
    if config.stdout {
        wanted.push(("stdout".to_owned(), Vec::new(), Means::Lines(Arc::new(Lines::stdout()))));
    }
    if let Some(path) = &config.events_file {
        let lines = Means::Lines(Arc::new(Lines::file(path)?));
        wanted.push((format!("file:{}", path.display()), Vec::new(), lines));
    }
    for hook in &config.webhooks {
        let means = Means::Hook(Arc::new(Hook::new(hook, &config.fetch)?));
        wanted.push((format!("webhook:{}", hook.url), hook.tags.clone(), means));
    }
    wanted
        .into_iter()
        .map(|(name, tags, means)| {
            let id = store.commit(|batch| batch.sink(&name))?;
            Ok(Sink { id, busy: false, tags, means })
        })
        .collect()
}

impl Sink {
    /// Whether events of a source with these tags concern it.
    pub fn wants(&self, tags: &[String]) -> bool {
        self.tags.is_empty() || self.tags.iter().any(|tag| tags.contains(tag))
    }

    /// Its task is done.
    pub fn rest(&mut self, sink: SinkId) {
        if self.id == sink {
            self.busy = false;
        }
    }

    /// Starts a task with what is due, if it has none.
    pub fn push(
        &mut self,
        now: Time,
        reader: &Reader,
        runtime: &Handle,
        inbox: &Inbox,
    ) -> anyhow::Result<()> {
        if self.busy {
            return Ok(());
        }
        let due = reader.due(self.id, micros(now), BATCH)?;
        if due.is_empty() {
            return Ok(());
        }
        self.busy = true;
        let (id, means, inbox) = (self.id, self.means.clone(), inbox.clone());
        runtime.spawn(async move {
            means.deliver(id, due, &inbox).await;
            inbox.put(Message::Rested(id));
        });
        Ok(())
    }
}

impl Means {
    async fn deliver(self, sink: SinkId, due: Vec<Due>, inbox: &Inbox) {
        for Due { event, attempts } in due {
            let seq = event.seq;
            let result = match &self {
                Self::Lines(lines) => {
                    let lines = Arc::clone(lines);
                    let write = move || lines.write(&event.payload);
                    let written = tokio::task::spawn_blocking(write).await;
                    written.unwrap_or_else(|why| Err(lines::again(why.to_string())))
                }
                Self::Hook(hook) => hook.call(&event, attempts).await,
            };
            inbox.put(Message::Pushed { sink, seq, result });
        }
    }
}

/// How long until another try after so many: half a minute, doubling, at most six hours.
fn pause(attempts: u32) -> Span {
    Span::from_secs(30).times(1 << attempts.min(16)).min(Span::from_secs(6 * 3_600))
}
