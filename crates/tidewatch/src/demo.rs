//! The demonstration: a small website that changes as a bursty world of the lab says, watched by the real engine.
//!
//! Because the website is ours, the truth is known: what was caught, what was overwritten unseen, what is stale right
//! now. Beside it stands what the engine believes without knowing it. Everything is on loopback, in a temporary
//! directory, and goes away at the end.

pub mod site;

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use lab::synth::Spec;
use schedule::{Beliefs, Budget, Manners, SourceIx, Span, Time};
use store::Reader;
use tokio::runtime::Runtime;

use self::site::Website;
use crate::clock::wall_now;
use crate::config::{self, Config};
use crate::daemon::memory::Memory;
use crate::journal::{source_ix, time};
use crate::source::Wanted;

/// Six sites, 60 pages; a page changes every minute or two, some far more often, and now and then most of a site at once.
const WORLD: &str = "bursts(sites=6,pages=60,mean=100s,between=1,within=1,every=30s,touched=0.8)";
/// The world is drawn for this long; nobody watches a demonstration for longer.
const HOURS: u32 = 6;

/// A running demonstration.
pub struct Demo {
    website: Website,
    dir: tempfile::TempDir,
    /// Where the engine's data is.
    pub config: Option<Config>,
    polls_per_second: u64,
}

/// How engine and truth stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Standing {
    /// Seconds since it began.
    pub seconds: f64,
    /// Polls sent.
    pub polls: u64,
    /// Changes that happened to pages since their first look.
    pub happened: usize,
    /// Changes captured.
    pub captured: u64,
    /// Changes overwritten before anyone looked: the truth.
    pub missed: usize,
    /// The same as the engine estimates it.
    pub missed_estimated: f64,
    /// Pages of which the copy is stale now: the truth.
    pub stale: usize,
    /// The same as the engine expects it.
    pub stale_expected: f64,
    /// Pages watched.
    pub pages: usize,
    /// Pages never seen yet.
    pub unseen: usize,
}

impl Demo {
    /// Starts the website and sets the engine up beside it.
    pub fn start(polls_per_second: u64, seed: u64, runtime: &Runtime) -> anyhow::Result<Self> {
        let spec: Spec = WORLD.parse().map_err(|why| anyhow::anyhow!("{why}"))?;
        let world = Arc::new(spec.build(Span::from_secs(3_600), HOURS, seed));
        let website = Website::start(world, wall_now(), runtime)?;
        let dir = tempfile::tempdir().context("a temporary directory is needed")?;
        let config = settings(&website, dir.path(), polls_per_second)?;
        Ok(Self { website, dir, config: Some(config), polls_per_second })
    }

    /// Which page stands at which address.
    pub fn pages(&self) -> usize {
        self.website.urls.len()
    }

    /// Hosts it runs on.
    pub fn hosts(&self) -> usize {
        self.website.hosts()
    }

    /// The budget.
    pub fn polls_per_second(&self) -> u64 {
        self.polls_per_second
    }

    /// How it stands now: the truth beside what is believed.
    pub fn standing(&self) -> anyhow::Result<Standing> {
        let reader = Reader::open(self.dir.path())?;
        let Some(memory) = Memory::load(&reader)? else { return Ok(Standing::default()) };
        let now = wall_now().max(memory.books.last_at);
        let mut standing = Standing {
            seconds: (now - self.website.began).secs(),
            polls: memory.books.polls,
            captured: memory.books.changed,
            missed_estimated: memory.books.missed,
            pages: self.pages(),
            ..Standing::default()
        };
        for source in reader.sources()? {
            let Some(page) = self.website.page(&source.url) else { continue };
            let happened = self.website.changes_by(page, now);
            match source.state.seen_at.map(time) {
                None => standing.unseen += 1,
                Some(seen) => {
                    let known = self.website.changes_by(page, seen);
                    standing.stale += usize::from(known < happened);
                    let at = source_ix(source.id);
                    standing.stale_expected += memory.scheduler.beliefs().stale(at, now);
                }
            }
        }
        (standing.happened, standing.missed) = self.truth(&reader, now)?;
        Ok(standing)
    }

    /// Changes since each page's first look: all, and those a later one had overwritten by the time anybody looked.
    fn truth(&self, reader: &Reader, now: Time) -> anyhow::Result<(usize, usize)> {
        let mut seen: Vec<Option<usize>> = vec![None; self.website.world.len()];
        let mut happened = 0;
        let pages: Vec<Option<SourceIx>> =
            reader.sources()?.iter().map(|source| self.website.page(&source.url)).collect();
        let mut missed = 0;
        reader.replay(0, |row| {
            for entry in crate::journal::entries(&row)? {
                let schedule::Entry::Event(schedule::Event::Heard(heard)) = entry else { continue };
                let Some(Some(page)) = pages.get(heard.source.ix()) else { continue };
                if matches!(heard.verdict, schedule::Verdict::Lost | schedule::Verdict::Unreadable)
                {
                    continue;
                }
                let known = self.website.changes_by(*page, heard.sent);
                match seen[page.ix()].replace(known) {
                    Some(before) => missed += known.saturating_sub(before).saturating_sub(1),
                    None => happened += self.website.changes_by(*page, now).saturating_sub(known),
                }
            }
            anyhow::Ok(())
        })?;
        Ok((happened, missed))
    }
}

/// A tight budget, short gaps, and the guard open for the website's own ports only.
fn settings(website: &Website, dir: &Path, polls_per_second: u64) -> anyhow::Result<Config> {
    let mut config = config::File::default().check()?;
    dir.clone_into(&mut config.dir);
    config.setup.settings.budget =
        Budget::Flow { polls: polls_per_second, per: Span::from_secs(1), burst: 5 };
    config.setup.settings.manners = Manners { gap: Span::from_micros(50_000), parallel: 1 };
    config.fetch.guard = fetch::Guard::allowing(website.addresses.iter().map(String::as_str))?;
    config.fetch.robots = false;
    config.sources = website.urls.iter().map(|url| Wanted::address(url)).collect();
    Ok(config)
}

/// Seconds, for people.
pub fn is_over(since: Time, limit: Option<Span>) -> bool {
    limit.is_some_and(|limit| wall_now() - since >= limit)
}
