//! Wishes: what people want watched. The file, the command line and other processes all end up here.
//!
//! A wish is applied in one transaction of its own, with its journal entries; only then is the scheduler told. While a
//! daemon runs, other processes leave their wishes in the store and wait for the answer.

use std::collections::BTreeMap;

use anyhow::Context;
use schedule::{Event, Facts, SourceIx, Time};
use serde::{Deserialize, Serialize};
use store::{Added, Batch, NewSource, Source, SourceId, State};

use super::core::Core;
use crate::journal::{Row, host_ix, micros, site_ix, source_id, source_ix};
use crate::source::{Spec, Wanted};

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wish {
    /// Watch this.
    Add(Vec<Wanted>),
    /// Watch these no longer, by number.
    Remove(Vec<i64>),
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Granted {
    /// For each source, in order.
    Added(Vec<Watching>),
    /// How many were watched and are no longer.
    Removed(usize),
    /// Why not.
    Refused(String),
}

/// A source that is watched now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Watching {
    /// Its number.
    pub id: i64,
    /// Its address.
    pub url: String,
    /// It was watched before, just so.
    pub already: bool,
}

/// Where sources of the configuration come from.
const FILE: &str = "file";

impl Core {
    /// Grants a wish.
    pub fn grant(&mut self, now: Time, wish: &Wish, origin: &str) -> Granted {
        let granted = match wish {
            Wish::Add(wanted) => {
                let added: anyhow::Result<Vec<Watching>> =
                    wanted.iter().map(|wanted| self.add(now, wanted, origin)).collect();
                added.map(Granted::Added)
            }
            Wish::Remove(ids) => {
                let removed: anyhow::Result<Vec<bool>> =
                    ids.iter().map(|id| self.remove(now, SourceId(*id))).collect();
                removed.map(|removed| Granted::Removed(removed.iter().filter(|was| **was).count()))
            }
        };
        granted.unwrap_or_else(|why| Granted::Refused(format!("{why:#}")))
    }

    /// Grants what other processes left in the store.
    pub(super) fn grant_wishes(&mut self, now: Time) -> anyhow::Result<()> {
        for wish in self.store.read().open_wishes(100)? {
            let granted = match serde_json::from_str(&wish.what) {
                Ok(what) => self.grant(now, &what, "cli"),
                Err(why) => Granted::Refused(format!("the daemon does not understand this: {why}")),
            };
            let answer = serde_json::to_string(&granted)?;
            self.store.commit(|batch| batch.answer(wish.id, micros(now), &answer))?;
        }
        Ok(())
    }

    fn add(&mut self, now: Time, wanted: &Wanted, origin: &str) -> anyhow::Result<Watching> {
        let url = wanted.url.clone();
        let added = self.commit_source(now, None, wanted, origin)?;
        Ok(match added {
            Added::Already(SourceId(id)) => Watching { id, url, already: true },
            Added::As { source: SourceId(id), .. } => Watching { id, url, already: false },
        })
    }

    fn remove(&mut self, now: Time, id: SourceId) -> anyhow::Result<bool> {
        let source = source_ix(id);
        let removed = self.store.commit(|batch| -> store::Result<bool> {
            let was = batch.remove_source(id, micros(now))?;
            if was {
                batch.append(&Row::left(now, source).as_entry())?;
            }
            Ok(was)
        })?;
        if removed {
            self.memory.books.n += 1;
            self.memory.tell(now, Event::Left(source));
            self.register.remove(source);
        }
        Ok(removed)
    }

    /// Adds a source, or edits the one with this number.
    fn commit_source(
        &mut self,
        now: Time,
        edited: Option<&Source>,
        wanted: &Wanted,
        origin: &str,
    ) -> anyhow::Result<Added> {
        let (url, host) = wanted.place().map_err(|flaw| anyhow::anyhow!("{}", flaw.why))?;
        let watch = wanted.spec.watch().map_err(|flaws| {
            let lines: Vec<String> =
                flaws.iter().map(|flaw| format!("`{}`: {}", flaw.key, flaw.why)).collect();
            anyhow::anyhow!("{url}: {}", lines.join("; "))
        })?;
        let (spec, site, host) = (wanted.spec.to_text(), wanted.site(&host), host.to_string());
        let new = NewSource {
            url: url.as_str(),
            site: &site,
            host: &host,
            tags: &wanted.tags,
            importance: wanted.importance.unwrap_or(self.config.importance),
            spec: &spec,
            origin,
        };
        // another rule means another baseline: the next look is a first one
        let same_rule = edited.is_some_and(|before| before.spec == spec);
        let known = same_rule && edited.is_some_and(|before| before.state.fingerprint.is_some());
        let mut entered = None;
        let added = self.store.commit(|batch| -> store::Result<Option<Added>> {
            let added = put(batch, edited, &new, now)?;
            if let Some(Added::As { source, site, host }) = added {
                if let Some(before) = edited.filter(|_| !same_rule) {
                    batch.set_state(source, &without_baseline(&before.state))?;
                }
                #[expect(clippy::cast_possible_truncation, reason = "at most a million")]
                let importance = new.importance as f32;
                let facts = Facts { site: site_ix(site), host: host_ix(host), importance, known };
                batch
                    .append(&Row::entered(now, source_ix(source), facts, watch.every).as_entry())?;
                entered = Some((source_ix(source), facts));
            }
            Ok(added)
        })?;
        let added = added.with_context(|| format!("{url} is no longer watched"))?;
        if let Some((source, facts)) = entered {
            self.memory.books.n += 1;
            self.enter(now, source, facts, watch.every)?;
        }
        Ok(added)
    }

    fn enter(
        &mut self,
        now: Time,
        source: SourceIx,
        facts: Facts,
        every: Option<schedule::Span>,
    ) -> anyhow::Result<()> {
        let row = self.store.read().source(source_id(source))?.context("the source just added")?;
        self.register.put(row)?;
        self.memory.tell(now, Event::Entered(source, facts));
        if let Some(every) = every {
            self.memory.tell(now, Event::Pinned(source, every));
        }
        Ok(())
    }

    /// Brings the store's sources in line with the file's.
    pub(super) fn apply_file(&mut self, now: Time) -> anyhow::Result<()> {
        let plan =
            Plan::new(&self.config.sources, self.store.read().sources()?, self.config.importance);
        for wanted in &plan.add {
            self.commit_source(now, None, wanted, FILE)?;
        }
        for (before, wanted) in &plan.edit {
            self.commit_source(now, Some(before), wanted, FILE)?;
        }
        for source in &plan.remove {
            self.remove(now, source.id)?;
        }
        Ok(())
    }
}

fn put(
    batch: &mut Batch<'_>,
    edited: Option<&Source>,
    new: &NewSource<'_>,
    now: Time,
) -> store::Result<Option<Added>> {
    match edited {
        None => batch.add_source(new, micros(now)).map(Some),
        Some(before) => batch.edit_source(before.id, new),
    }
}

/// How a source stands when what was seen of it can no longer be compared with.
fn without_baseline(state: &State) -> State {
    State { etag: None, last_modified: None, fingerprint: None, ..state.clone() }
}

/// What applying the file would do.
pub struct Plan {
    /// Sources of the file that are not watched.
    pub add: Vec<Wanted>,
    /// Sources watched otherwise.
    pub edit: Vec<(Source, Wanted)>,
    /// Sources the file no longer has.
    pub remove: Vec<Source>,
}

impl Plan {
    /// Compares what the file wants with what is watched on its behalf.
    pub fn new(wanted: &[Wanted], watched: Vec<Source>, importance: f64) -> Self {
        let mut by_url: BTreeMap<String, Vec<Source>> = BTreeMap::new();
        for source in watched.into_iter().filter(|source| source.origin == FILE) {
            by_url.entry(source.url.clone()).or_default().push(source);
        }
        let mut plan = Self { add: Vec::new(), edit: Vec::new(), remove: Vec::new() };
        for wanted in wanted {
            let Ok((url, host)) = wanted.place() else { continue };
            let same_url = by_url.entry(url.to_string()).or_default();
            let spec = wanted.spec.to_text();
            let at = same_url.iter().position(|source| source.spec == spec).unwrap_or(0);
            if same_url.is_empty() {
                plan.add.push(wanted.clone());
                continue;
            }
            let before = same_url.remove(at);
            let weight = wanted.importance.unwrap_or(importance);
            let same = before.spec == spec
                && before.site == wanted.site(&host)
                && before.tags == wanted.tags
                && (before.importance - weight).abs() < 1e-12;
            if !same {
                plan.edit.push((before, wanted.clone()));
            }
        }
        plan.remove = by_url.into_values().flatten().collect();
        plan
    }
}

/// A source of the store, as a person would have described it.
pub fn described(source: &Source) -> Wanted {
    Wanted {
        url: source.url.clone(),
        site: Some(source.site.clone()),
        tags: source.tags.clone(),
        importance: Some(source.importance),
        spec: Spec::from_text(&source.spec).unwrap_or_default(),
    }
}
