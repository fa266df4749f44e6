//! Round-robin: every source in turn.
//!
//! A fixed cyclic order, the order of entry. With N sources and R polls per cycle a source is looked at
//! every N/R cycles on average (CN-20). A shut host makes its sources wait, not the others: they keep
//! their turn and are served first when it opens. A lost poll is asked again at once, but only once in a
//! row, so a source that never answers cannot hold up the rest.
//!
//! Where a round's polls all happen in one instant, no source is polled twice in it.
//!
//! Paper: `docs/papers/cho-ntoulas-2002.md`, section 2.1. Cost: O(log hosts) per poll.

use serde::{Deserialize, Serialize};

use super::lanes::Lanes;
use crate::source::grow;
use crate::{Beliefs, Event, HostIx, Next, Policy, Purpose, SourceIx, Time, Verdict};

/// Every source in turn.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RoundRobin {
    places: Vec<Place>,
    lanes: Lanes,
    turns_given: u64,
    /// Polls under way with the turn each source gets next; few at a time, the latest last.
    flights: Vec<(SourceIx, u64)>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Place {
    host: HostIx,
    standing: Standing,
    /// Its last poll before this one was lost.
    again: bool,
    /// Its turn; in flight, the one it had.
    turn: u64,
    /// When it was last polled.
    sent: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Standing {
    Absent,
    Queued,
    Out,
}

impl RoundRobin {
    fn new_turn(&mut self) -> u64 {
        self.turns_given += 1;
        self.turns_given
    }

    fn queue(&mut self, source: SourceIx, turn: u64, again: bool) {
        let place = &mut self.places[source.ix()];
        (place.standing, place.turn, place.again) = (Standing::Queued, turn, again);
        self.lanes.add(place.host, turn, source);
    }

    fn entered(&mut self, source: SourceIx, host: HostIx) {
        let absent =
            Place { host, standing: Standing::Absent, again: false, turn: 0, sent: Time::MIN };
        grow(&mut self.places, source.ix(), || absent).host = host;
        let turn = self.new_turn();
        self.queue(source, turn, false);
    }

    fn left(&mut self, source: SourceIx) {
        let Some(place) = self.places.get_mut(source.ix()) else { return };
        match std::mem::replace(&mut place.standing, Standing::Absent) {
            Standing::Queued => self.lanes.take(place.host, place.turn),
            Standing::Out => drop(self.land(source)),
            Standing::Absent => {}
        }
    }

    fn sent(&mut self, now: Time, source: SourceIx) {
        let Some(place) = self.places.get_mut(source.ix()) else { return };
        if place.standing != Standing::Queued {
            return;
        }
        (place.standing, place.sent) = (Standing::Out, now);
        self.lanes.take(place.host, place.turn);
        let next = self.new_turn();
        self.flights.push((source, next));
    }

    /// Polled at `now` already, and answered.
    fn was_just_polled(&self, source: SourceIx, now: Time) -> bool {
        let place = self.places[source.ix()];
        place.sent == now && !place.again
    }

    fn heard(&mut self, source: SourceIx, verdict: Verdict) {
        let Some(next) = self.land(source) else { return };
        let Place { turn, again, .. } = self.places[source.ix()];
        if verdict == Verdict::Lost && !again {
            self.queue(source, turn, true);
        } else {
            self.queue(source, next, false);
        }
    }

    /// Takes the source's poll off the list of those under way; the turn it gets next.
    fn land(&mut self, source: SourceIx) -> Option<u64> {
        let at = self.flights.iter().rposition(|&(other, _)| other == source)?;
        Some(self.flights.swap_remove(at).1)
    }
}

impl Policy for RoundRobin {
    fn tell(&mut self, now: Time, event: &Event, _beliefs: &dyn Beliefs) {
        match *event {
            Event::Entered(source, facts) => self.entered(source, facts.host),
            Event::Left(source) => self.left(source),
            Event::Sent(source, _) => self.sent(now, source),
            Event::Heard(heard) => self.heard(heard.source, heard.verdict),
            Event::Host(host, gate) => self.lanes.gate(host, gate),
            Event::Round(_) | Event::Manners(..) | Event::Visit(_) | Event::Pinned(..) => {}
        }
    }

    fn next(&self, now: Time, _left: f64, _beliefs: &dyn Beliefs) -> Next {
        match self.lanes.first() {
            // everyone was polled in this very instant: another look would see the same
            Some((_, source)) if self.was_just_polled(source, now) => Next::RoundOver,
            Some((_, source)) => Next::Poll(source, Purpose::Look),
            None if !self.flights.is_empty() => Next::WaitForAnswer,
            None => Next::WaitUntil(Time::MAX),
        }
    }

    fn why(&self, source: SourceIx, _now: Time, _beliefs: &dyn Beliefs) -> String {
        match self.places.get(source.ix()) {
            Some(&Place { standing: Standing::Queued, again: false, turn, .. }) => {
                let ahead =
                    turn.saturating_sub(self.lanes.first().map_or(turn, |(first, _)| first));
                format!("every source in turn; at most {ahead} turns before this one")
            }
            Some(Place { standing: Standing::Queued, again: true, .. }) => {
                "its last poll was lost, so it is asked again first".to_owned()
            }
            Some(Place { standing: Standing::Out, .. }) => "a poll of it is under way".to_owned(),
            Some(Place { standing: Standing::Absent, .. }) | None => "it is not watched".to_owned(),
        }
    }
}
