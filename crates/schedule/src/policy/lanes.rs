//! Sources in an order: which comes first among those whose host is open?
//!
//! Each source stands under a number, the smaller the earlier, in one line for all. Whoever comes to its front while
//! their host is shut steps aside, into a queue of that host, and is served from there once it opens. So a shut host
//! makes its own sources wait, never the others. What is taken out leaves a gap that is skipped when it reaches the
//! front. Cost: O(1) a source while hosts are open, O(log hosts) for those that stepped aside. No paper.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::source::grow;
use crate::{Gate, HostIx, SourceIx};

/// The line, and who stepped aside.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Lanes {
    line: Queue,
    hosts: Vec<Lane>,
    /// Heads of the queues of open hosts.
    heads: BTreeSet<(u64, HostIx)>,
}

/// Sources of one host that came to the front while it was shut.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Lane {
    aside: Queue,
    shut: bool,
    /// Its entry in `heads`.
    head: Option<u64>,
}

impl Lanes {
    fn lane(&mut self, host: HostIx) -> &mut Lane {
        grow(&mut self.hosts, host.ix(), Lane::default)
    }

    /// Puts a source under a number that is not in use.
    pub fn add(&mut self, host: HostIx, number: u64, source: SourceIx) {
        self.lane(host);
        self.line.add(Entry { number, host, source: Some(source) });
        self.advance();
    }

    /// Takes out whatever stands under a number.
    pub fn take(&mut self, host: HostIx, number: u64) {
        if self.line.take(number) {
            self.advance();
        } else if self.lane(host).aside.take(number) {
            self.refresh(host);
        }
    }

    /// A host shut or opened.
    pub fn gate(&mut self, host: HostIx, gate: Gate) {
        self.lane(host).shut = gate != Gate::Open;
        self.refresh(host);
        self.advance();
    }

    /// Empties all queues; who was still in them. Hosts stay shut or open.
    pub fn clear(&mut self) -> Vec<SourceIx> {
        self.heads.clear();
        self.hosts.iter_mut().for_each(|lane| lane.head = None);
        let queues = self.hosts.iter_mut().map(|lane| &mut lane.aside).chain([&mut self.line]);
        queues.flat_map(|queue| queue.0.drain(..)).filter_map(|entry| entry.source).collect()
    }

    /// The first source of an open host, with its number.
    pub fn first(&self) -> Option<(u64, SourceIx)> {
        let aside = self.heads.first().and_then(|&(_, host)| self.hosts[host.ix()].aside.first());
        match (self.line.first(), aside) {
            (Some(line), Some(aside)) => Some(line.min(aside)),
            (line, aside) => line.or(aside),
        }
    }

    /// Lets those at the front of the line whose host is shut step aside.
    fn advance(&mut self) {
        while let Some(&front) = self.line.0.front() {
            let lane = &mut self.hosts[front.host.ix()];
            if front.source.is_some() && !lane.shut {
                break;
            }
            self.line.0.pop_front();
            if front.source.is_some() {
                lane.aside.add(front);
            }
        }
    }

    /// Lists the head of a host's own queue if the host is open.
    fn refresh(&mut self, host: HostIx) {
        let lane = &mut self.hosts[host.ix()];
        let head = lane.aside.first().filter(|_| !lane.shut).map(|(number, _)| number);
        if head != lane.head {
            lane.head.map(|old| self.heads.remove(&(old, host)));
            head.map(|new| self.heads.insert((new, host)));
            lane.head = head;
        }
    }
}

/// Entries in ascending order of their numbers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Queue(VecDeque<Entry>);

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Entry {
    number: u64,
    host: HostIx,
    /// `None` where a source was taken out.
    source: Option<SourceIx>,
}

impl Queue {
    /// The first, unless a gap is in front.
    fn first(&self) -> Option<(u64, SourceIx)> {
        let front = self.0.front()?;
        Some((front.number, front.source?))
    }

    fn add(&mut self, entry: Entry) {
        let at = match self.0.back() {
            Some(last) if last.number >= entry.number => self.position(entry.number),
            _ => return self.0.push_back(entry),
        };
        match self.0.get_mut(at) {
            Some(gap) if gap.number == entry.number => *gap = entry,
            _ => self.0.insert(at, entry),
        }
    }

    /// Leaves a gap, or none in front; whether the number was here.
    fn take(&mut self, number: u64) -> bool {
        let is_front = self.0.front().is_some_and(|front| front.number == number);
        let at = if is_front { 0 } else { self.position(number) };
        let Some(entry) = self.0.get_mut(at).filter(|entry| entry.number == number) else {
            return false;
        };
        entry.source = None;
        while self.0.front().is_some_and(|front| front.source.is_none()) {
            self.0.pop_front();
        }
        true
    }

    /// Where a number stands or would stand.
    fn position(&self, number: u64) -> usize {
        self.0.partition_point(|entry| entry.number < number)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::Time;

    proptest! {
        /// Against a plain map: the first is always the smallest number of an open host.
        #[test]
        fn behaves_like_a_sorted_map(steps in prop::collection::vec((0u8..4, 0u64..30, 0usize..3), 0..300)) {
            let mut lanes = Lanes::default();
            let mut plain: BTreeMap<u64, (usize, SourceIx)> = BTreeMap::new();
            let mut shut = [false; 3];
            for (step, number, host) in steps {
                match step {
                    0 if !plain.contains_key(&number) => {
                        let source = SourceIx::new(usize::try_from(number).unwrap());
                        lanes.add(HostIx::new(host), number, source);
                        plain.insert(number, (host, source));
                    }
                    1 => if let Some((host, _)) = plain.remove(&number) {
                        lanes.take(HostIx::new(host), number);
                    },
                    2 => { lanes.gate(HostIx::new(host), Gate::ShutUntil(Time::MAX)); shut[host] = true; }
                    3 => { lanes.gate(HostIx::new(host), Gate::Open); shut[host] = false; }
                    _ => {}
                }
                let expected = plain.iter().find(|(_, (host, _))| !shut[*host]).map(|(&n, &(_, source))| (n, source));
                prop_assert_eq!(lanes.first(), expected);
            }
        }
    }
}
