//! Round-robin: every source in turn.
//!
//! A fixed cyclic order, the order of entry. With N sources and R polls per cycle a source is looked at
//! every N/R cycles on average (CN-20). A shut host makes its sources wait, not the others: they keep
//! their turn and are served first when it opens. A lost poll is asked again at once, but only once in a
//! row, so a source that never answers cannot hold up the rest.
//!
//! Each host has a queue of (turn, source); the queue whose head has the smallest turn is next, among
//! open hosts. Cost: O(log hosts) per poll.
//!
//! Paper: `docs/papers/cho-ntoulas-2002.md`, section 2.1.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::{Beliefs, Event, Gate, HostIx, Next, Policy, Purpose, SourceIx, Time, Verdict};

/// Every source in turn.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RoundRobin {
    places: Vec<Place>,
    lanes: Vec<Lane>,
    /// Heads of the queues of open hosts.
    heads: BTreeSet<(u64, HostIx)>,
    turns_given: u64,
    out: usize,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Place {
    host: HostIx,
    standing: Standing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Standing {
    Absent,
    /// Waiting with this turn; `again` if its last poll was lost.
    Queued {
        turn: u64,
        again: bool,
    },
    /// In flight: the turn it had, the turn it gets next.
    Out {
        had: u64,
        next: u64,
        again: bool,
    },
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Lane {
    /// Ascending in turn; entries whose source has moved on are skipped.
    queue: VecDeque<(u64, SourceIx)>,
    shut: bool,
    /// Its entry in `heads`.
    head: Option<u64>,
}

impl RoundRobin {
    fn new_turn(&mut self) -> u64 {
        self.turns_given += 1;
        self.turns_given
    }

    fn queue(&mut self, source: SourceIx, turn: u64, again: bool) {
        let place = &mut self.places[source.ix()];
        place.standing = Standing::Queued { turn, again };
        let host = place.host;
        let queue = &mut self.lanes[host.ix()].queue;
        let at = match queue.back() {
            Some(&(last, _)) if last > turn => queue.partition_point(|&(other, _)| other < turn),
            _ => queue.len(),
        };
        queue.insert(at, (turn, source));
        self.refresh(host);
    }

    /// Drops moved-on entries from the front of a host's queue and lists its head if the host is open.
    fn refresh(&mut self, host: HostIx) {
        let lane = &mut self.lanes[host.ix()];
        while let Some(&(turn, source)) = lane.queue.front() {
            match self.places[source.ix()].standing {
                Standing::Queued { turn: current, .. } if current == turn => break,
                _ => lane.queue.pop_front(),
            };
        }
        let head = if lane.shut { None } else { lane.queue.front().map(|&(turn, _)| turn) };
        if head != lane.head {
            if let Some(old) = lane.head {
                self.heads.remove(&(old, host));
            }
            if let Some(new) = head {
                self.heads.insert((new, host));
            }
            lane.head = head;
        }
    }

    fn entered(&mut self, source: SourceIx, host: HostIx) {
        if host.ix() >= self.lanes.len() {
            self.lanes.resize_with(host.ix() + 1, Lane::default);
        }
        if source.ix() >= self.places.len() {
            self.places.resize(source.ix() + 1, Place { host, standing: Standing::Absent });
        }
        self.places[source.ix()].host = host;
        let turn = self.new_turn();
        self.queue(source, turn, false);
    }

    fn left(&mut self, source: SourceIx) {
        let Some(place) = self.places.get_mut(source.ix()) else { return };
        let was = std::mem::replace(&mut place.standing, Standing::Absent);
        let host = place.host;
        if let Standing::Out { .. } = was {
            self.out -= 1;
        }
        self.refresh(host);
    }

    fn sent(&mut self, source: SourceIx) {
        let Some(&Place { host, standing: Standing::Queued { turn, again } }) =
            self.places.get(source.ix())
        else {
            return;
        };
        let next = self.new_turn();
        self.places[source.ix()].standing = Standing::Out { had: turn, next, again };
        self.out += 1;
        self.refresh(host);
    }

    fn heard(&mut self, source: SourceIx, verdict: Verdict) {
        let Some(&Place { standing: Standing::Out { had, next, again }, .. }) =
            self.places.get(source.ix())
        else {
            return;
        };
        self.out -= 1;
        if verdict == Verdict::Lost && !again {
            self.queue(source, had, true);
        } else {
            self.queue(source, next, false);
        }
    }
}

impl Policy for RoundRobin {
    fn tell(&mut self, _now: Time, event: &Event, _beliefs: &dyn Beliefs) {
        match *event {
            Event::Entered(source, facts) => self.entered(source, facts.host),
            Event::Left(source) => self.left(source),
            Event::Sent(source, _) => self.sent(source),
            Event::Heard(heard) => self.heard(heard.source, heard.verdict),
            Event::Host(host, gate) => {
                if host.ix() >= self.lanes.len() {
                    self.lanes.resize_with(host.ix() + 1, Lane::default);
                }
                self.lanes[host.ix()].shut = gate != Gate::Open;
                self.refresh(host);
            }
            Event::Round(_) | Event::Manners(..) => {}
        }
    }

    fn next(&self, _now: Time, _left: f64, _beliefs: &dyn Beliefs) -> Next {
        let head = self.heads.first().and_then(|&(_, host)| self.lanes[host.ix()].queue.front());
        match head {
            Some(&(_, source)) => Next::Poll(source, Purpose::Look),
            None if self.out > 0 => Next::WaitForAnswer,
            None => Next::WaitUntil(Time::MAX),
        }
    }

    fn why(&self, source: SourceIx, _now: Time, _beliefs: &dyn Beliefs) -> String {
        match self.places.get(source.ix()).map(|place| place.standing) {
            Some(Standing::Queued { turn, again: false }) => {
                let ahead =
                    turn.saturating_sub(self.heads.first().map_or(turn, |&(first, _)| first));
                format!("every source in turn; at most {ahead} turns before this one")
            }
            Some(Standing::Queued { again: true, .. }) => {
                "its last poll was lost, so it is asked again first".to_owned()
            }
            Some(Standing::Out { .. }) => "a poll of it is under way".to_owned(),
            Some(Standing::Absent) | None => "it is not watched".to_owned(),
        }
    }
}
