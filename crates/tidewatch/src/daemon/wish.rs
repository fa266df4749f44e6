//! Wishes: what people want watched. The file, the command line and other processes all end up here.
//!
//! A wish is applied in one transaction of its own, with its journal entries; only then is the scheduler told. While a
//! daemon runs, other processes leave their wishes in the store and wait for the answer.

use std::collections::BTreeMap;

use anyhow::Context;
use schedule::utility::Worth;
use schedule::{Event, Facts, Pin, SourceIx, Span, Time};
use serde::{Deserialize, Serialize};
use store::{Added, Batch, HostId, NewSource, SiteId, Source, SourceId, State};

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
            Wish::Add(wanted) => self.add(now, wanted, origin).map(Granted::Added),
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

    fn add(&mut self, now: Time, wanted: &[Wanted], origin: &str) -> anyhow::Result<Vec<Watching>> {
        let draft = |wanted: &Wanted| {
            let mut wanted = wanted.clone();
            self.config.fill(&mut wanted.spec);
            self.config.fits(&wanted.spec)?;
            Draft::new(&wanted, self.config.importance)
        };
        let drafts: anyhow::Result<Vec<Draft>> = wanted.iter().map(draft).collect();
        let drafts = drafts?;
        let added = self.commit_sources(now, &drafts, origin)?;
        let watching = |(draft, added): (&Draft, &Added)| {
            let url = draft.url.clone();
            match *added {
                Added::Already(SourceId(id)) => Watching { id, url, already: true },
                Added::As { source: SourceId(id), .. } => Watching { id, url, already: false },
            }
        };
        Ok(drafts.iter().zip(&added).map(watching).collect())
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
            self.mirrors.forget(source);
        }
        Ok(removed)
    }

    /// Adds sources, or edits those a draft says, a thousand in a transaction.
    fn commit_sources(
        &mut self,
        now: Time,
        drafts: &[Draft],
        origin: &str,
    ) -> anyhow::Result<Vec<Added>> {
        let mut all = Vec::new();
        for drafts in drafts.chunks(1_000) {
            let added = self.store.commit(|batch| -> store::Result<Vec<Option<Added>>> {
                drafts.iter().map(|draft| draft.write(batch, now, origin)).collect()
            })?;
            let mut entered = Vec::new();
            for (draft, added) in drafts.iter().zip(added) {
                let added = added.with_context(|| format!("{} is no longer watched", draft.url))?;
                if let Added::As { source, site, host } = added {
                    self.memory.books.n += 1;
                    self.enter(now, source_ix(source), draft.facts(site, host), draft.every)?;
                    entered.push(source_ix(source));
                }
                all.push(added);
            }
            self.pin_targets(now, &entered)?;
        }
        Ok(all)
    }

    /// Collections that were edited keep the moment at which their quality is foretold to reach its target.
    fn pin_targets(&mut self, now: Time, entered: &[SourceIx]) -> anyhow::Result<()> {
        for &source in entered {
            let objects = self.register.get(source).and_then(|w| w.watch.objects.as_ref());
            let Some(target) = objects.and_then(|objects| objects.target.clone()) else { continue };
            let Some(mirror) = self.mirror(source) else { continue };
            let Some(last) = mirror.last() else { continue };
            let (every, due) = (mirror.wait(&target), last + mirror.wait(&target));
            self.store.commit(|batch| {
                batch.append(&Row::due(now, source, every, due).as_entry()).map(|_| ())
            })?;
            self.memory.books.n += 1;
            self.memory.tell(now, Event::Pinned(source, every, Pin::Target(due)));
        }
        Ok(())
    }

    fn enter(
        &mut self,
        now: Time,
        source: SourceIx,
        facts: Facts,
        every: Option<Span>,
    ) -> anyhow::Result<()> {
        let row = self.store.read().source(source_id(source))?.context("the source just added")?;
        self.register.put(row)?;
        self.mirrors.forget(source);
        self.memory.tell(now, Event::Entered(source, facts));
        if let Some(every) = every {
            self.memory.tell(now, Event::Pinned(source, every, Pin::Asked));
        }
        Ok(())
    }

    /// Brings the store's sources in line with the file's.
    pub(super) fn apply_file(&mut self, now: Time) -> anyhow::Result<()> {
        let plan =
            Plan::new(&self.config.sources, self.store.read().sources()?, self.config.importance);
        let importance = self.config.importance;
        let add = plan.add.iter().map(|wanted| Draft::new(wanted, importance));
        let edit = plan.edit.iter().map(|(before, wanted)| {
            Ok(Draft { edits: Some(before.clone()), ..Draft::new(wanted, importance)? })
        });
        let drafts: anyhow::Result<Vec<Draft>> = add.chain(edit).collect();
        self.commit_sources(now, &drafts?, FILE)?;
        for source in &plan.remove {
            self.remove(now, source.id)?;
        }
        Ok(())
    }
}

/// A source checked and ready to be written.
struct Draft {
    url: String,
    site: String,
    host: String,
    tags: Vec<String>,
    importance: f64,
    spec: String,
    every: Option<Span>,
    worth: Worth,
    /// The source it replaces.
    edits: Option<Source>,
}

impl Draft {
    fn new(wanted: &Wanted, importance: f64) -> anyhow::Result<Self> {
        let (url, host) = wanted.place().map_err(|flaw| anyhow::anyhow!("{}", flaw.why))?;
        let watch = wanted.spec.watch().map_err(|flaws| {
            let lines: Vec<String> =
                flaws.iter().map(|flaw| format!("`{}`: {}", flaw.key, flaw.why)).collect();
            anyhow::anyhow!("{url}: {}", lines.join("; "))
        })?;
        Ok(Self {
            url: url.to_string(),
            site: wanted.site(&host),
            host: host.to_string(),
            tags: wanted.tags.clone(),
            importance: wanted.importance.unwrap_or(importance),
            spec: wanted.spec.to_text(),
            every: watch.every,
            worth: watch.worth,
            edits: None,
        })
    }

    /// Another rule means another baseline: the next look is a first one.
    fn keeps_rule(&self) -> bool {
        self.compares(Spec::reads_like)
    }

    /// Other objects, or other names for them: what was listed before cannot be compared with what comes.
    fn keeps_objects(&self) -> bool {
        self.compares(Spec::lists_like)
    }

    fn compares(&self, like: impl Fn(&Spec, &Spec) -> bool) -> bool {
        let before = self.edits.as_ref().and_then(|before| Spec::from_text(&before.spec).ok());
        before.zip(Spec::from_text(&self.spec).ok()).is_some_and(|(a, b)| like(&a, &b))
    }

    #[expect(clippy::cast_possible_truncation, reason = "importance is at most a million")]
    fn facts(&self, site: SiteId, host: HostId) -> Facts {
        let was_seen = self.edits.as_ref().is_some_and(|before| before.state.fingerprint.is_some());
        Facts {
            site: site_ix(site),
            host: host_ix(host),
            importance: self.importance as f32,
            known: self.keeps_rule() && was_seen,
            worth: self.worth,
        }
    }

    /// Writes it with its journal entry; `None` if what it edits is gone.
    fn write(
        &self,
        batch: &mut Batch<'_>,
        now: Time,
        origin: &str,
    ) -> store::Result<Option<Added>> {
        let new = NewSource {
            url: &self.url,
            site: &self.site,
            host: &self.host,
            tags: &self.tags,
            importance: self.importance,
            spec: &self.spec,
            origin,
        };
        let added = match &self.edits {
            None => Some(batch.add_source(&new, micros(now))?),
            Some(before) => batch.edit_source(before.id, &new)?,
        };
        if let Some(Added::As { source, site, host }) = added {
            if let Some(before) = self.edits.as_ref().filter(|_| !self.keeps_rule()) {
                batch.set_state(source, &without_baseline(&before.state))?;
            }
            if self.edits.is_some() && !self.keeps_objects() {
                batch.forget_looks(source)?;
            }
            let facts = self.facts(site, host);
            batch.append(&Row::entered(now, source_ix(source), facts, self.every).as_entry())?;
        }
        Ok(added)
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
