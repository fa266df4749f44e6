//! Sources with the time each is wanted, one list a host: who has waited longest among hosts that are open?
//!
//! What pinned sources, newcomers and the value policy share. A shut host makes its own sources wait, never the
//! others. Cost: O(log sources) to add and to take, O(1) to see who is first. No paper.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::source::grow;
use crate::{Gate, HostIx, SourceIx, Time};

/// The lists of all hosts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Agenda {
    pages: Vec<Page>,
    /// The first entry of every open host.
    heads: BTreeSet<(Time, SourceIx, HostIx)>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Page {
    entries: BTreeSet<(Time, SourceIx)>,
    shut: bool,
    /// Its entry in `heads`.
    head: Option<(Time, SourceIx)>,
}

impl Agenda {
    /// Wants the source from `at` on.
    pub fn add(&mut self, host: HostIx, at: Time, source: SourceIx) {
        self.page(host).entries.insert((at, source));
        self.refresh(host);
    }

    /// No longer wants it.
    pub fn take(&mut self, host: HostIx, at: Time, source: SourceIx) {
        self.page(host).entries.remove(&(at, source));
        self.refresh(host);
    }

    /// A host shut or opened.
    pub fn gate(&mut self, host: HostIx, gate: Gate) {
        self.page(host).shut = gate != Gate::Open;
        self.refresh(host);
    }

    /// Who is wanted first among open hosts, and from when on.
    pub fn first(&self) -> Option<(Time, SourceIx)> {
        self.heads.first().map(|&(at, source, _)| (at, source))
    }

    /// Empties all lists; hosts stay shut or open.
    pub fn clear(&mut self) {
        self.heads.clear();
        for page in &mut self.pages {
            page.entries.clear();
            page.head = None;
        }
    }

    fn page(&mut self, host: HostIx) -> &mut Page {
        grow(&mut self.pages, host.ix(), Page::default)
    }

    fn refresh(&mut self, host: HostIx) {
        let page = &mut self.pages[host.ix()];
        let head = if page.shut { None } else { page.entries.first().copied() };
        let before = std::mem::replace(&mut page.head, head);
        if before != head {
            before.map(|(at, source)| self.heads.remove(&(at, source, host)));
            head.map(|(at, source)| self.heads.insert((at, source, host)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a plain map: the first is always the earliest of an open host.
        #[test]
        fn behaves_like_a_sorted_list(steps in prop::collection::vec((0u8..4, 0i64..9, 0usize..12), 0..300)) {
            let mut agenda = Agenda::default();
            let mut plain: BTreeMap<usize, Time> = BTreeMap::new();
            let mut shut = [false; 3];
            for (step, at, number) in steps {
                let (host, source, at) = (number % 3, SourceIx::new(number), Time::from_secs(at));
                match step {
                    0 if !plain.contains_key(&number) => {
                        agenda.add(HostIx::new(host), at, source);
                        plain.insert(number, at);
                    }
                    1 => if let Some(at) = plain.remove(&number) {
                        agenda.take(HostIx::new(host), at, source);
                    },
                    2 => { agenda.gate(HostIx::new(host), Gate::ShutUntil(Time::MAX)); shut[host] = true; }
                    3 => { agenda.gate(HostIx::new(host), Gate::Open); shut[host] = false; }
                    _ => {}
                }
                let open = plain.iter().filter(|(number, _)| !shut[*number % 3]);
                let expected = open.map(|(&number, &at)| (at, SourceIx::new(number))).min();
                prop_assert_eq!(agenda.first(), expected);
            }
        }
    }
}
