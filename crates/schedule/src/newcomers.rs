//! Newcomers: sources never seen have a share of the polls of their own, so that an import neither starves the
//! sources already watched nor waits for them.
//!
//! ```text
//! share                     waiting / watched, at least `first_looks` and at most 1 − `first_looks`
//! every poll sent           credit += share      (at most two polls' worth is saved up)
//! a first look              credit −= 1
//! newcomers come first      when credit ≥ 1, or when the policy has nothing to poll
//! ```
//!
//! So a new list is seen in about two laps, and neither an import of thousands nor a few newcomers among thousands
//! shuts the others out. Counted in thousandths, so that replay cannot drift. A newcomer that cannot be read is tried again after a
//! rest that doubles each time ([`rest`]), behind those not tried yet. No paper.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::agenda::Agenda;
use crate::{Gate, HostIx, SourceIx, Span, Time};

const MINUTE: Span = Span::from_secs(60);

/// How long a source is left alone after so many polls in a row told nothing: a minute, doubling, at most a day.
pub fn rest(failures: u32) -> Span {
    match failures {
        0 => Span::ZERO,
        n => MINUTE.times(1 << (n - 1).min(11)).min(Span::DAY),
    }
}

/// One poll, in thousandths.
const POLL: u32 = 1000;

/// Sources waiting for their first look.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Newcomers {
    /// Share of the polls that neither they nor the others go below, in thousandths.
    least: u32,
    credit: u32,
    waiting: BTreeMap<SourceIx, Waiting>,
    agenda: Agenda,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Waiting {
    host: HostIx,
    from: Time,
    failures: u32,
}

impl Newcomers {
    /// `share` in thousandths of all polls.
    pub(crate) fn new(share: u32) -> Self {
        let least = share.min(POLL);
        Self { least, credit: POLL, waiting: BTreeMap::new(), agenda: Agenda::default() }
    }

    pub(crate) fn add(&mut self, now: Time, source: SourceIx, host: HostIx) {
        self.waiting.insert(source, Waiting { host, from: now, failures: 0 });
        self.agenda.add(host, now, source);
    }

    /// Whether it was here.
    pub(crate) fn remove(&mut self, source: SourceIx) -> bool {
        let Some(waiting) = self.waiting.remove(&source) else { return false };
        self.agenda.take(waiting.host, waiting.from, source);
        true
    }

    pub(crate) fn holds(&self, source: SourceIx) -> bool {
        self.waiting.contains_key(&source)
    }

    /// Their share of the polls while `watched` sources are watched, in thousandths.
    fn share(&self, watched: usize) -> u32 {
        let parity = self.waiting.len() * POLL as usize / watched.max(1);
        let parity = u32::try_from(parity).unwrap_or(POLL);
        parity.min(POLL - self.least.min(POLL / 2)).max(self.least)
    }

    /// A poll was sent, of a newcomer or not, while `watched` sources are watched.
    pub(crate) fn sent(&mut self, source: SourceIx, watched: usize) {
        let share = self.share(watched);
        if let Some(waiting) = self.waiting.get(&source) {
            self.credit = self.credit.saturating_sub(POLL);
            self.agenda.take(waiting.host, waiting.from, source);
        }
        self.credit = (self.credit + share).min(2 * POLL);
    }

    /// Its first look told nothing.
    pub(crate) fn failed(&mut self, now: Time, source: SourceIx) {
        if let Some(waiting) = self.waiting.get_mut(&source) {
            waiting.failures += 1;
            waiting.from = now + rest(waiting.failures);
            self.agenda.add(waiting.host, waiting.from, source);
        }
    }

    pub(crate) fn gate(&mut self, host: HostIx, gate: Gate) {
        self.agenda.gate(host, gate);
    }

    /// The next one at an open host, and from when on.
    pub(crate) fn first(&self) -> Option<(Time, SourceIx)> {
        self.agenda.first()
    }

    /// They come before the policy's choice.
    pub(crate) fn come_first(&self) -> bool {
        self.credit >= POLL
    }

    /// How many wait for a first look.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// How often it could not be read; `None` if it is no newcomer.
    pub(crate) fn failures(&self, source: SourceIx) -> Option<u32> {
        self.waiting.get(&source).map(|waiting| waiting.failures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_tells_nothing_rests_longer_each_time_up_to_a_day() {
        let rests: Vec<Span> = [0, 1, 2, 3, 11, 12, 99].map(rest).to_vec();
        let minutes = |n: i64| MINUTE.times(n);
        assert_eq!(
            rests,
            [Span::ZERO, minutes(1), minutes(2), minutes(4), minutes(1024), Span::DAY, Span::DAY]
        );
    }

    fn first_looks(waiting: usize, watched: usize, polls: usize) -> usize {
        let mut newcomers = Newcomers::new(200);
        (0..waiting).for_each(|i| newcomers.add(Time::ZERO, SourceIx::new(i), HostIx::FIRST));
        let mut first_looks = 0;
        for _ in 0..polls {
            match newcomers.first() {
                Some((_, source)) if newcomers.come_first() => {
                    newcomers.sent(source, watched);
                    first_looks += 1;
                }
                _ => newcomers.sent(SourceIx::new(1_000_000), watched),
            }
        }
        first_looks
    }

    #[test]
    fn neither_they_nor_the_others_go_below_the_share() {
        assert!((20..=21).contains(&first_looks(50, 10_000, 100)), "few among many");
        assert!((79..=81).contains(&first_looks(10_000, 10_100, 100)), "a large import");
        assert!((49..=51).contains(&first_looks(1_000, 2_000, 100)), "half of all");
    }
}
