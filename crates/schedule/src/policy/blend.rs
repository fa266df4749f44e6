//! Blend: a share of the polls goes round-robin, the rest to another policy.
//!
//! Both hear of every poll, so neither repeats what the other has just done. Round-robin is served whenever its
//! polls so far fall short of φ times all polls; fractions carry over from round to round. So every source is
//! looked at within ⌈N/⌊φR⌋⌉ cycles, whatever the other policy thinks of it (CN-15).
//!
//! The other policy plans with the whole round's polls, not with its share: with greedy inside only the sample
//! size depends on them. Paper: `docs/papers/cho-ntoulas-2002.md`, sections 2.1 and 3.6.

use serde::{Deserialize, Serialize};

use super::AnyPolicy;
use super::round_robin::RoundRobin;
use crate::{Beliefs, Event, Next, Observation, Policy, Purpose, SourceIx, Time};

/// Round-robin beside another policy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Blend {
    share: f64,
    tour: RoundRobin,
    inner: Box<AnyPolicy>,
    polls: u64,
    tour_polls: u64,
}

impl Blend {
    /// A `share` of the polls round-robin, the others by `inner`.
    pub fn new(inner: AnyPolicy, share: f64) -> Self {
        Self { share, tour: RoundRobin::default(), inner: Box::new(inner), polls: 0, tour_polls: 0 }
    }

    fn is_tours_turn(&self) -> bool {
        (self.tour_polls + 1) as f64 <= self.share * (self.polls + 1) as f64 + 1e-9
    }
}

impl Policy for Blend {
    fn tell(&mut self, now: Time, event: &Event, beliefs: &dyn Beliefs) {
        if let Event::Sent(source, Purpose::Look) = *event {
            let tour = matches!(self.tour.next(now, 0.0, beliefs), Next::Poll(first, _) if first == source);
            self.tour_polls += u64::from(tour && self.is_tours_turn());
        }
        self.polls += u64::from(matches!(event, Event::Sent(..)));
        self.tour.tell(now, event, beliefs);
        self.inner.tell(now, event, beliefs);
    }

    fn next(&self, now: Time, left: f64, beliefs: &dyn Beliefs) -> Next {
        let tour = self.tour.next(now, left, beliefs);
        if self.is_tours_turn() && matches!(tour, Next::Poll(..)) {
            return tour;
        }
        match self.inner.next(now, left, beliefs) {
            // the other policy has nothing left to do: the tour takes what remains
            Next::RoundOver => tour,
            next => next,
        }
    }

    fn why(&self, source: SourceIx, now: Time, beliefs: &dyn Beliefs) -> String {
        let percent = 100.0 * self.share;
        format!(
            "{percent:.0} % of polls go in turn ({}); the rest: {}",
            self.tour.why(source, now, beliefs),
            self.inner.why(source, now, beliefs)
        )
    }

    fn cost(&self, purpose: Purpose) -> f64 {
        self.inner.cost(purpose)
    }

    fn refund(&self, heard: &Observation) -> f64 {
        self.inner.refund(heard)
    }
}
