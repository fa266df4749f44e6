//! The sources of each site, drawn at random without replacement within a round.
//!
//! What sampling policies share: *give me a random source of this site that was not polled this round,
//! is not in flight, and whose host is open*. Each site has one lane per host; a lane's members stand
//! polled first, the rest behind. A draw picks evenly among the rest by a hash of (seed, round, site,
//! draws so far) and swaps the pick forward when it is sent: a Fisher–Yates shuffle that does only as
//! much work as is polled. No pass over the sources when a round begins.
//!
//! Paper: CN-22's "random subset", CN-07's "not downloaded again in the cycle"
//! (`docs/papers/cho-ntoulas-2002.md`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Gate, HostIx, Purpose, SiteIx, SourceIx, chance};

/// Sources by site and host, with this round's draws.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pool {
    seed: u64,
    round: u64,
    /// Rounds begun so far: what tells this round's flights from older ones.
    laps: u64,
    places: Vec<Option<Place>>,
    lanes: Vec<Lane>,
    by_key: BTreeMap<(SiteIx, HostIx), usize>,
    sites: Vec<Vec<usize>>,
    hosts: Vec<Host>,
    sources: usize,
    out: usize,
    samples_out: usize,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Place {
    lane: u32,
    at: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Lane {
    site: SiteIx,
    host: HostIx,
    /// `[..done]` were polled this round or are in flight; the rest may be drawn.
    members: Vec<SourceIx>,
    done: usize,
    out: Vec<Flight>,
}

/// A poll under way, from whichever round.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Flight {
    source: SourceIx,
    purpose: Purpose,
    lap: u64,
}

/// What an answer is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The source's site.
    pub site: SiteIx,
    /// It was asked in this round; an answer to an earlier round's question says nothing about this one.
    pub of_this_round: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Host {
    lanes: Vec<usize>,
    shut: bool,
}

fn at_least<T: Clone>(list: &mut Vec<T>, index: usize, fill: &T) {
    if index >= list.len() {
        list.resize(index + 1, fill.clone());
    }
}

impl Pool {
    /// Empty; `seed` fixes the draws.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            round: 0,
            laps: 0,
            places: Vec::new(),
            lanes: Vec::new(),
            by_key: BTreeMap::new(),
            sites: Vec::new(),
            hosts: Vec::new(),
            sources: 0,
            out: 0,
            samples_out: 0,
        }
    }

    /// Polls in flight.
    pub fn out(&self) -> usize {
        self.out
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
        let place = self.places.get(source.ix()).copied().flatten()?;
        Some(self.lanes[place.lane as usize].site)
    }

    /// How many sources the site has.
    pub fn size(&self, site: SiteIx) -> usize {
        self.lanes_of(site).map(|lane| lane.members.len()).sum()
    }

    /// How many of the site's sources could be drawn, counting those behind shut hosts.
    pub fn undrawn(&self, site: SiteIx) -> usize {
        self.lanes_of(site).map(|lane| lane.members.len() - lane.done).sum()
    }

    /// How many could be drawn right now.
    pub fn ready(&self, site: SiteIx) -> usize {
        self.open_lanes(site).map(|lane| lane.members.len() - lane.done).sum()
    }

    /// A random source of the site that may be polled now.
    pub fn draw(&self, site: SiteIx) -> Option<SourceIx> {
        let ready = self.ready(site);
        if ready == 0 {
            return None;
        }
        let drawn: usize = self.lanes_of(site).map(|lane| lane.done).sum();
        let mut pick =
            chance::below(ready, self.seed, [self.round, site.ix() as u64, drawn as u64]);
        for lane in self.open_lanes(site) {
            let rest = &lane.members[lane.done..];
            if pick < rest.len() {
                return Some(rest[pick]);
            }
            pick -= rest.len();
        }
        None
    }

    fn lanes_of(&self, site: SiteIx) -> impl Iterator<Item = &Lane> {
        self.sites.get(site.ix()).into_iter().flatten().map(|&lane| &self.lanes[lane])
    }

    fn open_lanes(&self, site: SiteIx) -> impl Iterator<Item = &Lane> {
        self.lanes_of(site).filter(|lane| !self.hosts[lane.host.ix()].shut)
    }

    /// A new round: everything may be drawn again, except what is still in flight.
    pub fn begin(&mut self, round: u32) {
        self.round = u64::from(round);
        self.laps += 1;
        self.samples_out = 0;
        for at in 0..self.lanes.len() {
            self.lanes[at].done = 0;
            for i in 0..self.lanes[at].out.len() {
                let source = self.lanes[at].out[i].source;
                self.mark_drawn(source);
            }
        }
    }

    /// A source enters, into the part that may be drawn.
    pub fn enter(&mut self, source: SourceIx, site: SiteIx, host: HostIx) {
        at_least(&mut self.places, source.ix(), &None);
        at_least(&mut self.sites, site.ix(), &Vec::new());
        at_least(&mut self.hosts, host.ix(), &Host::default());
        let lane = *self.by_key.entry((site, host)).or_insert_with(|| {
            let lane = self.lanes.len();
            self.lanes.push(Lane { site, host, members: Vec::new(), done: 0, out: Vec::new() });
            self.sites[site.ix()].push(lane);
            self.hosts[host.ix()].lanes.push(lane);
            lane
        });
        let at = self.lanes[lane].members.len();
        self.lanes[lane].members.push(source);
        self.places[source.ix()] =
            Some(Place { lane: SourceIx::new(lane).raw(), at: SourceIx::new(at).raw() });
        self.sources += 1;
    }

    /// A source leaves; its site, if it was here.
    pub fn leave(&mut self, source: SourceIx) -> Option<SiteIx> {
        let place = self.places.get_mut(source.ix())?.take()?;
        let (lane_ix, mut hole) = (place.lane as usize, place.at as usize);
        let done = self.lanes[lane_ix].done;
        if hole < done {
            self.swap(lane_ix, hole, done - 1);
            hole = done - 1;
            self.lanes[lane_ix].done -= 1;
        }
        let last = self.lanes[lane_ix].members.len() - 1;
        self.swap(lane_ix, hole, last);
        let lane = &mut self.lanes[lane_ix];
        lane.members.pop();
        let site = lane.site;
        self.places[source.ix()] = None;
        self.sources -= 1;
        self.land(lane_ix, source);
        Some(site)
    }

    /// A poll of the source is in flight.
    pub fn sent(&mut self, source: SourceIx, purpose: Purpose) -> Option<SiteIx> {
        let place = self.places.get(source.ix()).copied().flatten()?;
        self.mark_drawn(source);
        let lane = &mut self.lanes[place.lane as usize];
        lane.out.push(Flight { source, purpose, lap: self.laps });
        self.out += 1;
        self.samples_out += usize::from(purpose == Purpose::Sample);
        Some(lane.site)
    }

    /// Its answer came; a source whose poll was lost may be drawn again in this round.
    pub fn heard(&mut self, source: SourceIx, lost: bool) -> Option<Answered> {
        let place = self.places.get(source.ix()).copied().flatten()?;
        let lane_ix = place.lane as usize;
        let flight = self.land(lane_ix, source)?;
        let done = self.lanes[lane_ix].done;
        if lost && (place.at as usize) < done {
            self.swap(lane_ix, place.at as usize, done - 1);
            self.lanes[lane_ix].done -= 1;
        }
        let of_this_round = flight.lap == self.laps;
        Some(Answered { site: self.lanes[lane_ix].site, of_this_round })
    }

    /// Takes the source's poll off the list of those under way.
    fn land(&mut self, lane: usize, source: SourceIx) -> Option<Flight> {
        let out = &mut self.lanes[lane].out;
        let flight = out.swap_remove(out.iter().position(|flight| flight.source == source)?);
        self.out -= 1;
        if flight.purpose == Purpose::Sample && flight.lap == self.laps {
            self.samples_out -= 1;
        }
        Some(flight)
    }

    /// A host shut or opened; the sites this touches.
    pub fn gate(&mut self, host: HostIx, gate: Gate) -> Vec<SiteIx> {
        at_least(&mut self.hosts, host.ix(), &Host::default());
        let host = &mut self.hosts[host.ix()];
        host.shut = gate != Gate::Open;
        host.lanes.iter().map(|&lane| self.lanes[lane].site).collect()
    }

    /// Moves a source to the drawn part of its lane.
    fn mark_drawn(&mut self, source: SourceIx) {
        let Some(place) = self.places[source.ix()] else { return };
        let lane = place.lane as usize;
        let done = self.lanes[lane].done;
        if place.at as usize >= done {
            self.swap(lane, place.at as usize, done);
            self.lanes[lane].done += 1;
        }
    }

    fn swap(&mut self, lane: usize, a: usize, b: usize) {
        let members = &mut self.lanes[lane].members;
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
