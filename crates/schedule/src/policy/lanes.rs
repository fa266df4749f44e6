//! Sources in an order, one queue a host: which comes first among hosts that are open?
//!
//! Each source stands under a number, the smaller the earlier. A shut host makes its own sources wait, never
//! the others. What is taken out leaves a gap that is skipped when it reaches the front. Cost: O(log hosts)
//! to add behind, to take, and to see who is first. No paper.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::source::grow;
use crate::{Gate, HostIx, SourceIx};

/// Queues of all hosts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Lanes {
    lanes: Vec<Lane>,
    /// Heads of the queues of open hosts.
    heads: BTreeSet<(u64, HostIx)>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Lane {
    /// Ascending in number; `None` where a source was taken out.
    queue: VecDeque<(u64, Option<SourceIx>)>,
    shut: bool,
    /// Its entry in `heads`.
    head: Option<u64>,
}

impl Lanes {
    fn lane(&mut self, host: HostIx) -> &mut Lane {
        grow(&mut self.lanes, host.ix(), Lane::default)
    }

    /// Puts a source under a number that is not in use at this host.
    pub fn add(&mut self, host: HostIx, number: u64, source: SourceIx) {
        let queue = &mut self.lane(host).queue;
        let at = match queue.back() {
            Some(&(last, _)) if last >= number => {
                queue.partition_point(|&(other, _)| other < number)
            }
            _ => queue.len(),
        };
        match queue.get_mut(at) {
            Some(gap) if gap.0 == number => gap.1 = Some(source),
            _ => queue.insert(at, (number, Some(source))),
        }
        self.refresh(host);
    }

    /// Takes out whatever stands under a number.
    pub fn take(&mut self, host: HostIx, number: u64) {
        let queue = &mut self.lane(host).queue;
        let is_front = queue.front().is_some_and(|&(front, _)| front == number);
        let at = if is_front { 0 } else { queue.partition_point(|&(other, _)| other < number) };
        if let Some(entry) = queue.get_mut(at).filter(|entry| entry.0 == number) {
            entry.1 = None;
        }
        self.refresh(host);
    }

    /// A host shut or opened.
    pub fn gate(&mut self, host: HostIx, gate: Gate) {
        self.lane(host).shut = gate != Gate::Open;
        self.refresh(host);
    }

    /// Empties all queues; hosts stay shut or open.
    pub fn clear(&mut self) {
        self.heads.clear();
        for lane in &mut self.lanes {
            lane.queue.clear();
            lane.head = None;
        }
    }

    /// The first source of an open host, with its number.
    pub fn first(&self) -> Option<(u64, SourceIx)> {
        let &(number, host) = self.heads.first()?;
        let &(_, source) = self.lanes[host.ix()].queue.front()?;
        Some((number, source?))
    }

    /// Drops gaps at the front and lists the head if the host is open.
    fn refresh(&mut self, host: HostIx) {
        let lane = &mut self.lanes[host.ix()];
        while let Some((_, None)) = lane.queue.front() {
            lane.queue.pop_front();
        }
        let head = if lane.shut { None } else { lane.queue.front().map(|&(number, _)| number) };
        if head != lane.head {
            lane.head.map(|old| self.heads.remove(&(old, host)));
            head.map(|new| self.heads.insert((new, host)));
            lane.head = head;
        }
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
