//! The sources of each site, drawn at random without replacement within a round.
//!
//! What sampling policies share: *give me a random source of this site that was not polled this round,
//! is not in flight, and whose host is open*. A site's members stand polled first, the rest behind. A draw picks
//! evenly among the rest by a hash of (seed, round, site, polls so far), again if the pick's host is shut, and
//! swaps the pick forward when it is sent: a Fisher–Yates shuffle that does only as much work as is polled. No
//! pass over the sources when a round begins.
//!
//! A source whose poll was lost may be drawn once more in the round, so that one that never answers cannot eat
//! the budget.
//!
//! Paper: CN-22's "random subset", CN-07's "not downloaded again in the cycle"
//! (`docs/papers/cho-ntoulas-2002.md`).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::source::{grow, ordinal};
use crate::{Gate, HostIx, Purpose, SiteIx, SourceIx, chance};

/// Sources by site and host, with this round's draws.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pool {
    seed: u64,
    round: u64,
    /// Rounds begun so far: what tells this round's flights from older ones.
    laps: u32,
    places: Vec<Option<Place>>,
    sites: Vec<Site>,
    lanes: Vec<Lane>,
    by_key: BTreeMap<(SiteIx, HostIx), LaneIx>,
    /// The lane last entered.
    entered: Option<LaneIx>,
    hosts: Vec<Host>,
    /// Few at a time, the latest last.
    flights: Vec<Flight>,
    /// Sources of which a lost poll was forgiven this round.
    forgiven: BTreeSet<SourceIx>,
    sources: usize,
    samples_out: usize,
}

ordinal! {
    /// The sources of one site on one host.
    LaneIx
}

/// Eight bytes, absent or not: every draw reads one at random.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Place {
    lane: LaneIx,
    /// Index among its site's members.
    at: u32,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Site {
    /// `[..done]` were polled this round or are in flight; the rest may be drawn.
    members: Vec<SourceIx>,
    done: usize,
    /// Of the rest, those whose host is open.
    ready: usize,
    /// Polls sent this round.
    sends: u64,
    /// A random number for this site and round.
    luck: u64,
}

/// The sources of one site on one host: how many, and how many may be drawn.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Lane {
    site: SiteIx,
    host: HostIx,
    size: usize,
    undrawn: usize,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Host {
    lanes: Vec<LaneIx>,
    shut: bool,
}

/// A poll under way, from whichever round.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Flight {
    source: SourceIx,
    purpose: Purpose,
    lap: u32,
}

/// What an answer is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The source's site.
    pub site: SiteIx,
    /// It was asked in this round; an answer to an earlier round's question says nothing about this one.
    pub of_this_round: bool,
}

/// Random picks before giving up on chance where most hosts are shut.
const TRIES: u64 = 24;

impl Pool {
    /// Empty; `seed` fixes the draws.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            round: 0,
            laps: 0,
            places: Vec::new(),
            sites: Vec::new(),
            lanes: Vec::new(),
            by_key: BTreeMap::new(),
            entered: None,
            hosts: Vec::new(),
            flights: Vec::new(),
            forgiven: BTreeSet::new(),
            sources: 0,
            samples_out: 0,
        }
    }

    /// Polls in flight.
    pub fn out(&self) -> usize {
        self.flights.len()
    }

    /// Samples of this round in flight.
    pub fn samples_out(&self) -> usize {
        self.samples_out
    }

    /// How many sources are in it.
    pub fn sources(&self) -> usize {
        self.sources
    }

    /// Site ordinals that may hold sources.
    pub fn sites(&self) -> impl Iterator<Item = SiteIx> + use<> {
        (0..self.sites.len()).map(SiteIx::new)
    }

    /// The site of a source in the pool.
    pub fn site_of(&self, source: SourceIx) -> Option<SiteIx> {
        self.place(source).map(|place| self.lanes[place.lane.ix()].site)
    }

    /// How many sources the site has.
    pub fn size(&self, site: SiteIx) -> usize {
        self.sites.get(site.ix()).map_or(0, |site| site.members.len())
    }

    /// How many of the site's sources could be drawn, counting those behind shut hosts.
    pub fn undrawn(&self, site: SiteIx) -> usize {
        self.sites.get(site.ix()).map_or(0, |site| site.members.len() - site.done)
    }

    /// How many could be drawn right now.
    pub fn ready(&self, site: SiteIx) -> usize {
        self.sites.get(site.ix()).map_or(0, |site| site.ready)
    }

    /// A random source of the site that may be polled now.
    pub fn draw(&self, site: SiteIx) -> Option<SourceIx> {
        let pool = self.sites.get(site.ix()).filter(|pool| pool.ready > 0)?;
        let rest = &pool.members[pool.done..];
        let pick = |attempt| {
            chance::below(
                rest.len(),
                self.seed,
                [self.round, site.ix() as u64, pool.sends, attempt],
            )
        };
        let at_once = rest[pick(0)];
        if self.is_open(at_once) {
            return Some(at_once);
        }
        let in_order = (0..rest.len()).map(|step| (pick(TRIES) + step) % rest.len());
        (1..TRIES).map(pick).chain(in_order).map(|at| rest[at]).find(|&source| self.is_open(source))
    }

    /// Any source of the site that may be polled now, for who is going to poll all of them: neighbours in memory come one
    /// after another, and nothing is drawn.
    pub fn any(&self, site: SiteIx) -> Option<SourceIx> {
        let pool = self.sites.get(site.ix()).filter(|pool| pool.ready > 0)?;
        let next = pool.members[pool.done];
        if self.is_open(next) { Some(next) } else { self.draw(site) }
    }

    fn place(&self, source: SourceIx) -> Option<Place> {
        self.places.get(source.ix()).copied().flatten()
    }

    fn is_open(&self, source: SourceIx) -> bool {
        self.place(source)
            .is_some_and(|place| !self.hosts[self.lanes[place.lane.ix()].host.ix()].shut)
    }

    /// A random number for the site in this round.
    pub fn luck(&self, site: SiteIx) -> u64 {
        self.sites.get(site.ix()).map_or(0, |site| site.luck)
    }

    fn draw_luck(&self, site: usize) -> u64 {
        chance::draw(self.seed, [self.round, site as u64])
    }

    /// A new round: everything may be drawn again, except what is still in flight.
    pub fn begin(&mut self, round: u32) {
        self.round = u64::from(round);
        self.laps += 1;
        self.samples_out = 0;
        self.forgiven.clear();
        for at in 0..self.sites.len() {
            let luck = self.draw_luck(at);
            let site = &mut self.sites[at];
            (site.done, site.ready, site.sends, site.luck) = (0, 0, 0, luck);
        }
        for lane in &mut self.lanes {
            lane.undrawn = lane.size;
            if !self.hosts[lane.host.ix()].shut {
                self.sites[lane.site.ix()].ready += lane.size;
            }
        }
        let flying: Vec<SourceIx> = self.flights.iter().map(|flight| flight.source).collect();
        flying.into_iter().for_each(|source| self.mark_drawn(source));
    }

    /// A source enters, into the part that may be drawn.
    pub fn enter(&mut self, source: SourceIx, site: SiteIx, host: HostIx) {
        while self.sites.len() <= site.ix() {
            let luck = self.draw_luck(self.sites.len());
            self.sites.push(Site { luck, ..Site::default() });
        }
        let lane = self.lane(site, host);
        self.entered = Some(lane);
        let members = &mut self.sites[site.ix()].members;
        let place = Place { lane, at: SourceIx::new(members.len()).raw() };
        members.push(source);
        *grow(&mut self.places, source.ix(), || None) = Some(place);
        self.lanes[lane.ix()].size += 1;
        self.sources += 1;
        self.set_drawable(place, true);
    }

    /// The lane of a site on a host.
    fn lane(&mut self, site: SiteIx, host: HostIx) -> LaneIx {
        // neighbours often enter one after another
        let same = |lane: &LaneIx| {
            let lane = self.lanes[lane.ix()];
            (lane.site, lane.host) == (site, host)
        };
        if let Some(lane) = self.entered.filter(same) {
            return lane;
        }
        *self.by_key.entry((site, host)).or_insert_with(|| {
            let lane = LaneIx::new(self.lanes.len());
            self.lanes.push(Lane { site, host, size: 0, undrawn: 0 });
            grow(&mut self.hosts, host.ix(), Host::default).lanes.push(lane);
            lane
        })
    }

    /// A source leaves; its site, if it was here.
    pub fn leave(&mut self, source: SourceIx) -> Option<SiteIx> {
        let place = self.place(source)?;
        let site = self.lanes[place.lane.ix()].site;
        self.land(source);
        self.forgiven.remove(&source);
        self.mark_drawn(source);
        // from the last of the drawn to the last of all, then off
        let (done, last) =
            (self.sites[site.ix()].done - 1, self.sites[site.ix()].members.len() - 1);
        self.swap(site, self.place(source)?.at as usize, done);
        self.swap(site, done, last);
        self.sites[site.ix()].done = done;
        self.sites[site.ix()].members.pop();
        self.lanes[place.lane.ix()].size -= 1;
        self.places[source.ix()] = None;
        self.sources -= 1;
        Some(site)
    }

    /// A poll of the source is in flight.
    pub fn sent(&mut self, source: SourceIx, purpose: Purpose) -> Option<SiteIx> {
        let site = self.site_of(source)?;
        self.mark_drawn(source);
        self.flights.push(Flight { source, purpose, lap: self.laps });
        self.samples_out += usize::from(purpose == Purpose::Sample);
        self.sites[site.ix()].sends += 1;
        Some(site)
    }

    /// Its answer came, or was lost.
    pub fn heard(&mut self, source: SourceIx, lost: bool) -> Option<Answered> {
        let site = self.site_of(source)?;
        let flight = self.land(source)?;
        if lost {
            self.forgive(source);
        }
        Some(Answered { site, of_this_round: flight.lap == self.laps })
    }

    /// A poll of it is under way and was sent in this round.
    pub fn is_of_this_round(&self, source: SourceIx) -> bool {
        self.flights.iter().any(|flight| flight.source == source && flight.lap == self.laps)
    }

    /// A host shut or opened; the sites this touches.
    pub fn gate(&mut self, host: HostIx, gate: Gate) -> Vec<SiteIx> {
        let host = grow(&mut self.hosts, host.ix(), Host::default);
        let shut = gate != Gate::Open;
        if std::mem::replace(&mut host.shut, shut) == shut {
            return Vec::new();
        }
        let lanes = host.lanes.iter().map(|lane| self.lanes[lane.ix()]);
        lanes
            .map(|Lane { site, undrawn, .. }| {
                let ready = &mut self.sites[site.ix()].ready;
                *ready = if shut { *ready - undrawn } else { *ready + undrawn };
                site
            })
            .collect()
    }

    /// Takes the source's poll off the list of those under way.
    fn land(&mut self, source: SourceIx) -> Option<Flight> {
        let at = self.flights.iter().rposition(|flight| flight.source == source)?;
        let flight = self.flights.swap_remove(at);
        if flight.purpose == Purpose::Sample && flight.lap == self.laps {
            self.samples_out -= 1;
        }
        Some(flight)
    }

    /// Lets a source be drawn again, once a round.
    fn forgive(&mut self, source: SourceIx) {
        let Some(place) = self.place(source) else { return };
        if !self.forgiven.insert(source) {
            return;
        }
        let site = self.lanes[place.lane.ix()].site;
        let done = self.sites[site.ix()].done;
        if (place.at as usize) < done {
            self.swap(site, place.at as usize, done - 1);
            self.sites[site.ix()].done -= 1;
            self.set_drawable(place, true);
        }
    }

    /// Moves a source to the drawn part of its site.
    fn mark_drawn(&mut self, source: SourceIx) {
        let Some(place) = self.place(source) else { return };
        let site = self.lanes[place.lane.ix()].site;
        let done = self.sites[site.ix()].done;
        if place.at as usize >= done {
            self.swap(site, place.at as usize, done);
            self.sites[site.ix()].done += 1;
            self.set_drawable(place, false);
        }
    }

    /// Keeps the counts when a source joins or leaves the part that may be drawn.
    fn set_drawable(&mut self, place: Place, drawable: bool) {
        let lane = &mut self.lanes[place.lane.ix()];
        let open = !self.hosts[lane.host.ix()].shut;
        let ready = &mut self.sites[lane.site.ix()].ready;
        if drawable {
            lane.undrawn += 1;
            *ready += usize::from(open);
        } else {
            lane.undrawn -= 1;
            *ready -= usize::from(open);
        }
    }

    fn swap(&mut self, site: SiteIx, a: usize, b: usize) {
        let members = &mut self.sites[site.ix()].members;
        members.swap(a, b);
        for at in [a, b] {
            if let Some(place) = &mut self.places[members[at].ix()] {
                place.at = SourceIx::new(at).raw();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn pool_of(sources: usize, hosts: usize) -> Pool {
        let mut pool = Pool::new(5);
        for i in 0..sources {
            pool.enter(SourceIx::new(i), SiteIx::FIRST, HostIx::new(i % hosts));
        }
        pool.begin(1);
        pool
    }

    proptest! {
        #[test]
        fn a_round_draws_every_source_once(sources in 1usize..60, hosts in 1usize..4) {
            let mut pool = pool_of(sources, hosts);
            let mut seen = BTreeSet::new();
            while let Some(source) = pool.draw(SiteIx::FIRST) {
                pool.sent(source, Purpose::Look);
                pool.heard(source, false);
                prop_assert!(seen.insert(source));
            }
            prop_assert_eq!(seen.len(), sources);
        }

        #[test]
        fn whatever_happens_a_draw_is_present_open_and_not_in_flight(
            steps in prop::collection::vec((0u8..6, 0usize..12), 0..300),
        ) {
            let mut pool = Pool::new(9);
            let (mut present, mut out, mut shut) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
            for (step, number) in steps {
                let (source, host) = (SourceIx::new(number), HostIx::new(number % 3));
                match step {
                    0 if present.insert(number) => pool.enter(source, SiteIx::new(number % 2), host),
                    1 if present.remove(&number) => { pool.leave(source); out.remove(&number); }
                    2 => { pool.gate(host, Gate::ShutUntil(crate::Time::MAX)); shut.insert(number % 3); }
                    3 => { pool.gate(host, Gate::Open); shut.remove(&(number % 3)); }
                    4 => pool.begin(SourceIx::new(number).raw()),
                    5 if out.remove(&number) => { pool.heard(source, number % 2 == 0); }
                    _ => {}
                }
                for site in [0, 1].map(SiteIx::new) {
                    if let Some(drawn) = pool.draw(site) {
                        prop_assert!(present.contains(&drawn.ix()) && !out.contains(&drawn.ix()));
                        prop_assert!(!shut.contains(&(drawn.ix() % 3)) && drawn.ix() % 2 == site.ix());
                        if number % 2 == 0 {
                            pool.sent(drawn, Purpose::Sample);
                            out.insert(drawn.ix());
                        }
                    }
                }
                prop_assert_eq!(pool.sources(), present.len());
            }
        }
    }

    /// A source that never answers is drawn at most twice a round; everyone else is still polled.
    #[test]
    fn a_dead_source_cannot_eat_the_round() {
        let mut pool = pool_of(10, 1);
        let mut polls = [0; 10];
        while let Some(source) = pool.draw(SiteIx::FIRST) {
            pool.sent(source, Purpose::Look);
            pool.heard(source, source.ix() == 3);
            polls[source.ix()] += 1;
        }
        assert_eq!(polls, [1, 1, 1, 2, 1, 1, 1, 1, 1, 1]);
    }

    /// Each of 20 sources is among the first 5 drawn with chance ¼: over 8,000 rounds the count has
    /// standard deviation 39, so 2,000 ± 155 fails once in about 700 runs for the worst of 20 sources.
    #[test]
    fn draws_are_even() {
        let mut pool = pool_of(20, 1);
        let mut counts = [0u32; 20];
        for round in 0..8_000 {
            pool.begin(round);
            for _ in 0..5 {
                let source = pool.draw(SiteIx::FIRST).unwrap();
                pool.sent(source, Purpose::Look);
                pool.heard(source, false);
                counts[source.ix()] += 1;
            }
        }
        assert!(counts.iter().all(|&count| count.abs_diff(2_000) < 155), "{counts:?}");
    }
}
