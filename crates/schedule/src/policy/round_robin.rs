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
    out: usize,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Place {
    host: HostIx,
    standing: Standing,
    /// When it was last polled.
    sent: Time,
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

impl RoundRobin {
    fn new_turn(&mut self) -> u64 {
        self.turns_given += 1;
        self.turns_given
    }

    fn queue(&mut self, source: SourceIx, turn: u64, again: bool) {
        let place = &mut self.places[source.ix()];
        place.standing = Standing::Queued { turn, again };
        self.lanes.add(place.host, turn, source);
    }

    fn entered(&mut self, source: SourceIx, host: HostIx) {
        let absent = || Place { host, standing: Standing::Absent, sent: Time::MIN };
        grow(&mut self.places, source.ix(), absent).host = host;
        let turn = self.new_turn();
        self.queue(source, turn, false);
    }

    fn left(&mut self, source: SourceIx) {
        let Some(place) = self.places.get_mut(source.ix()) else { return };
        match std::mem::replace(&mut place.standing, Standing::Absent) {
            Standing::Queued { turn, .. } => self.lanes.take(place.host, turn),
            Standing::Out { .. } => self.out -= 1,
            Standing::Absent => {}
        }
    }

    fn sent(&mut self, now: Time, source: SourceIx) {
        let Some(&Place { host, standing: Standing::Queued { turn, again }, .. }) =
            self.places.get(source.ix())
        else {
            return;
        };
        let next = self.new_turn();
        let place = &mut self.places[source.ix()];
        (place.standing, place.sent) = (Standing::Out { had: turn, next, again }, now);
        self.lanes.take(host, turn);
        self.out += 1;
    }

    /// Polled at `now` already, and answered.
    fn was_just_polled(&self, source: SourceIx, now: Time) -> bool {
        let place = self.places[source.ix()];
        place.sent == now && !matches!(place.standing, Standing::Queued { again: true, .. })
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
            None if self.out > 0 => Next::WaitForAnswer,
            None => Next::WaitUntil(Time::MAX),
        }
    }

    fn why(&self, source: SourceIx, _now: Time, _beliefs: &dyn Beliefs) -> String {
        match self.places.get(source.ix()).map(|place| place.standing) {
            Some(Standing::Queued { turn, again: false }) => {
                let ahead =
                    turn.saturating_sub(self.lanes.first().map_or(turn, |(first, _)| first));
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
