//! The register: what is watched, by ordinal, and what the next look at it needs.
//!
//! The one map between the store's numbers and the scheduler's ordinals. Rules are compiled once however many sources
//! share them.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Context;
use schedule::{Facts, HostIx, SiteIx, SourceIx};
use store::{Reader, Source, State};
use url::Url;

use crate::journal::{host_ix, site_ix, source_ix};
use crate::source::{Spec, Watch};

/// Everything watched.
#[derive(Default)]
pub struct Register {
    sources: Vec<Option<Watched>>,
    hosts: HashMap<String, HostIx>,
    watches: HashMap<String, Arc<Watch>>,
}

/// One source.
pub struct Watched {
    /// Its address.
    pub url: String,
    /// The group it may change alike with.
    pub site: String,
    /// Its site's ordinal.
    pub site_ix: SiteIx,
    /// Who answers for it.
    pub host: String,
    /// Its host's ordinal.
    pub host_ix: HostIx,
    /// Words to route its events by.
    pub tags: Vec<String>,
    /// How much it matters.
    pub importance: f64,
    /// How to ask and how to read.
    pub watch: Arc<Watch>,
    /// How it stands.
    pub state: State,
    /// The address that gave the validators, where a redirect led elsewhere.
    pub validated: Option<Url>,
    /// How often it was edited since the start: an answer to an older question says nothing.
    pub edits: u32,
}

impl Watched {
    /// What the scheduler is told about it.
    #[expect(clippy::cast_possible_truncation, reason = "importance is at most a million")]
    pub fn facts(&self) -> Facts {
        Facts {
            site: self.site_ix,
            host: self.host_ix,
            importance: self.importance as f32,
            known: self.state.fingerprint.is_some(),
            worth: self.watch.worth,
        }
    }
}

impl Register {
    /// All sources of the store.
    pub fn load(reader: &Reader) -> anyhow::Result<Self> {
        let mut register = Self::default();
        for (at, name) in reader.hosts()?.into_iter().enumerate() {
            register.hosts.insert(name, HostIx::new(at));
        }
        for source in reader.sources()? {
            register.put(source)?;
        }
        Ok(register)
    }

    /// A source is watched, or watched otherwise.
    pub fn put(&mut self, source: Source) -> anyhow::Result<SourceIx> {
        let at = source_ix(source.id);
        let watch = self
            .watch(&source.spec)
            .with_context(|| format!("source s_{} ({})", source.id.0, source.url))?;
        let host_ix = host_ix(source.host_id);
        self.hosts.insert(source.host.clone(), host_ix);
        if self.sources.len() <= at.ix() {
            self.sources.resize_with(at.ix() + 1, || None);
        }
        let edits = self.sources[at.ix()].as_ref().map_or(0, |before| before.edits + 1);
        self.sources[at.ix()] = Some(Watched {
            url: source.url,
            site: source.site,
            site_ix: site_ix(source.site_id),
            host: source.host,
            host_ix,
            tags: source.tags,
            importance: source.importance,
            watch,
            state: source.state,
            validated: None,
            edits,
        });
        Ok(at)
    }

    /// A source is no longer watched.
    pub fn remove(&mut self, source: SourceIx) {
        if let Some(place) = self.sources.get_mut(source.ix()) {
            *place = None;
        }
    }

    /// A source.
    pub fn get(&self, source: SourceIx) -> Option<&Watched> {
        self.sources.get(source.ix())?.as_ref()
    }

    /// A source, to change how it stands.
    pub fn get_mut(&mut self, source: SourceIx) -> Option<&mut Watched> {
        self.sources.get_mut(source.ix())?.as_mut()
    }

    /// All sources.
    pub fn iter(&self) -> impl Iterator<Item = (SourceIx, &Watched)> {
        let all = self.sources.iter().enumerate();
        all.filter_map(|(at, place)| Some((SourceIx::new(at), place.as_ref()?)))
    }

    /// The ordinal of a host that was seen before.
    pub fn host(&self, name: &str) -> Option<HostIx> {
        self.hosts.get(name).copied()
    }

    /// A host was seen for the first time.
    pub fn add_host(&mut self, name: &str, host: HostIx) {
        self.hosts.insert(name.to_owned(), host);
    }

    fn watch(&mut self, spec: &str) -> anyhow::Result<Arc<Watch>> {
        if let Some(watch) = self.watches.get(spec) {
            return Ok(Arc::clone(watch));
        }
        let watch = Spec::from_text(spec)?.watch().map_err(|flaws| {
            let lines: Vec<String> =
                flaws.iter().map(|flaw| format!("`{}`: {}", flaw.key, flaw.why)).collect();
            anyhow::anyhow!("{}", lines.join("; "))
        })?;
        let watch = Arc::new(watch);
        self.watches.insert(spec.to_owned(), Arc::clone(&watch));
        Ok(watch)
    }
}
