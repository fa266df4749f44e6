//! Subset sampling: when polls are too few to sample every site, work on one group of sites per round, the
//! groups in turn.
//!
//! ```text
//! sources in a group = R / share        share: how much of a group should be downloaded (0.18: the paper's
//!                                        peak of lively sites)
//! ```
//!
//! Sites stand in a fixed random order and are cut into groups of about that many sources. The inner policy only
//! ever hears of the current group: for it the others do not exist. With polls enough for one group of all
//! sites it is the inner policy itself.
//!
//! Paper: CN-13, CN-32, CN-60 (`docs/papers/cho-ntoulas-2002.md`, section 3.5).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::AnyPolicy;
use crate::source::grow;
use crate::{
    Beliefs, Event, Facts, Next, Observation, Policy, Purpose, Round, SiteIx, SourceIx, Time,
    chance,
};

/// One group of sites per round.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subset {
    share: f64,
    seed: u64,
    inner: Box<AnyPolicy>,
    sites: BTreeMap<SiteIx, BTreeMap<SourceIx, Facts>>,
    places: Vec<Option<SiteIx>>,
    /// The sites the inner policy knows of.
    current: BTreeSet<SiteIx>,
    /// Which group comes next.
    turn: usize,
    /// Polls under way; sources that may not be shown to the inner policy until they end are `hidden`.
    out: BTreeMap<SourceIx, Shown>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Shown {
    /// The inner policy sent it and waits for the answer.
    Yes,
    /// It left the inner policy's sight meanwhile.
    No,
}

impl Subset {
    /// Around `inner`; `seed` fixes the order of the sites.
    pub fn new(inner: AnyPolicy, share: f64, seed: u64) -> Self {
        Self {
            share,
            seed,
            inner: Box::new(inner),
            sites: BTreeMap::new(),
            places: Vec::new(),
            current: BTreeSet::new(),
            turn: 0,
            out: BTreeMap::new(),
        }
    }

    /// Sites in their fixed order, cut into groups of R/share sources.
    fn groups(&self, polls: u64) -> Vec<Vec<SiteIx>> {
        let most = polls as f64 / self.share;
        let mut order: Vec<(u64, SiteIx, usize)> = self
            .sites
            .iter()
            .filter(|(_, sources)| !sources.is_empty())
            .map(|(&site, sources)| {
                (chance::draw(self.seed, [site.ix() as u64]), site, sources.len())
            })
            .collect();
        order.sort_unstable();
        let total: usize = order.iter().map(|&(_, _, size)| size).sum();
        let count = (total as f64 / most.max(1.0)).ceil().max(1.0);
        let target = total as f64 / count;
        let mut groups: Vec<Vec<SiteIx>> = Vec::new();
        let (mut reached, mut open) = (0.0, 0.0);
        for (_, site, size) in order {
            if groups.is_empty() || (reached >= open * target && open < count) {
                groups.push(Vec::new());
                open += 1.0;
            }
            if let Some(group) = groups.last_mut() {
                group.push(site);
            }
            reached += size as f64;
        }
        groups
    }

    fn begin(&mut self, now: Time, round: Round, beliefs: &dyn Beliefs) {
        let groups = self.groups(round.polls);
        let wanted: BTreeSet<SiteIx> = if groups.is_empty() {
            BTreeSet::new()
        } else {
            groups[self.turn % groups.len()].iter().copied().collect()
        };
        self.turn += 1;
        if wanted != self.current {
            let gone: Vec<SiteIx> = self.current.difference(&wanted).copied().collect();
            let come: Vec<SiteIx> = wanted.difference(&self.current).copied().collect();
            for site in gone {
                for source in self.members(site) {
                    self.hide(now, source, beliefs);
                }
            }
            for site in come {
                for source in self.members(site) {
                    self.show(now, source, beliefs);
                }
            }
            self.current = wanted;
        }
        self.inner.tell(now, &Event::Round(round), beliefs);
    }

    fn members(&self, site: SiteIx) -> Vec<SourceIx> {
        self.sites.get(&site).map(|sources| sources.keys().copied().collect()).unwrap_or_default()
    }

    fn hide(&mut self, now: Time, source: SourceIx, beliefs: &dyn Beliefs) {
        match self.out.get_mut(&source) {
            Some(Shown::No) => {}
            Some(shown) => {
                *shown = Shown::No;
                self.inner.tell(now, &Event::Left(source), beliefs);
            }
            None => self.inner.tell(now, &Event::Left(source), beliefs),
        }
    }

    /// A source in flight is shown when its answer is in.
    fn show(&mut self, now: Time, source: SourceIx, beliefs: &dyn Beliefs) {
        let facts = self
            .places
            .get(source.ix())
            .copied()
            .flatten()
            .and_then(|site| self.sites.get(&site)?.get(&source).copied());
        if let (Some(facts), None) = (facts, self.out.get(&source)) {
            self.inner.tell(now, &Event::Entered(source, facts), beliefs);
        }
    }

    fn entered(&mut self, now: Time, source: SourceIx, facts: Facts, beliefs: &dyn Beliefs) {
        *grow(&mut self.places, source.ix(), || None) = Some(facts.site);
        self.sites.entry(facts.site).or_default().insert(source, facts);
        if self.current.contains(&facts.site) {
            self.show(now, source, beliefs);
        }
    }

    fn left(&mut self, now: Time, source: SourceIx, beliefs: &dyn Beliefs) {
        let Some(site) = self.places.get_mut(source.ix()).and_then(Option::take) else { return };
        if self.current.contains(&site) {
            self.hide(now, source, beliefs);
        }
        // the scheduler answers for it from here on: no `Heard` will be told
        self.out.remove(&source);
        if let Some(sources) = self.sites.get_mut(&site) {
            sources.remove(&source);
        }
    }
}

impl Policy for Subset {
    fn tell(&mut self, now: Time, event: &Event, beliefs: &dyn Beliefs) {
        match *event {
            Event::Entered(source, facts) => self.entered(now, source, facts, beliefs),
            Event::Left(source) => self.left(now, source, beliefs),
            Event::Round(round) => self.begin(now, round, beliefs),
            Event::Sent(source, _) => {
                let site = self.places.get(source.ix()).copied().flatten();
                let shown = site.is_some_and(|site| self.current.contains(&site));
                self.out.insert(source, if shown { Shown::Yes } else { Shown::No });
                if shown {
                    self.inner.tell(now, event, beliefs);
                }
            }
            Event::Heard(heard) => match self.out.remove(&heard.source) {
                Some(Shown::Yes) => self.inner.tell(now, event, beliefs),
                Some(Shown::No) => {
                    let site = self.places.get(heard.source.ix()).copied().flatten();
                    if site.is_some_and(|site| self.current.contains(&site)) {
                        self.show(now, heard.source, beliefs);
                    }
                }
                None => {}
            },
            Event::Host(..) | Event::Manners(..) | Event::Visit(_) | Event::Pinned(..) => {
                self.inner.tell(now, event, beliefs);
            }
        }
    }

    fn next(&self, now: Time, left: f64, beliefs: &dyn Beliefs) -> Next {
        match self.inner.next(now, left, beliefs) {
            Next::RoundOver if !self.out.is_empty() => Next::WaitForAnswer,
            next => next,
        }
    }

    fn why(&self, source: SourceIx, now: Time, beliefs: &dyn Beliefs) -> String {
        let site = self.places.get(source.ix()).copied().flatten();
        if site.is_some_and(|site| self.current.contains(&site)) {
            return self.inner.why(source, now, beliefs);
        }
        "its site is not in this round's group; groups take turns".to_owned()
    }

    fn cost(&self, purpose: Purpose) -> f64 {
        self.inner.cost(purpose)
    }

    fn refund(&self, heard: &Observation) -> f64 {
        self.inner.refund(heard)
    }
}
