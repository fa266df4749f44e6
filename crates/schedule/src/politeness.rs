//! Politeness: each host's gap, how many polls it bears at once, and the times it is shut.
//!
//! Part of the scheduler because it changes decisions: a simulator with other manners would be about
//! another program. Policies are told when a host shuts or opens and offer only open ones; the moment a
//! gap ends is known in advance, so openings wait in a queue and happen at their own time, whenever the
//! scheduler is next asked. That keeps the state independent of how often it is asked. No paper.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use crate::source::grow;
use crate::{Gate, HostIx, Span, Time};

/// How a host wants to be treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manners {
    /// At least this long between the starts of two polls.
    pub gap: Span,
    /// At most this many polls at once.
    pub parallel: u32,
}

impl Manners {
    /// No gap, any number at once: the lab's cycles, where every poll happens in one instant.
    pub const NONE: Self = Self { gap: Span::ZERO, parallel: u32::MAX };
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Door {
    manners: Option<Manners>,
    flying: u32,
    gap_over: Time,
    shut_until: Time,
    /// What the policy was last told.
    open: bool,
    /// The time it waits for in `openings`.
    opening: Option<Time>,
}

const FRESH: Door = Door {
    manners: None,
    flying: 0,
    gap_over: Time::MIN,
    shut_until: Time::MIN,
    open: true,
    opening: None,
};

impl Door {
    fn opens(&self, default: Manners) -> Time {
        if self.flying >= self.manners.unwrap_or(default).parallel.max(1) {
            Time::MAX
        } else {
            self.gap_over.max(self.shut_until)
        }
    }
}

/// The doors of all hosts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Politeness {
    default: Manners,
    doors: Vec<Door>,
    openings: BinaryHeap<Reverse<(Time, HostIx)>>,
}

impl Politeness {
    pub(crate) fn new(default: Manners) -> Self {
        Self { default, doors: Vec::new(), openings: BinaryHeap::new() }
    }

    fn door(&mut self, host: HostIx) -> &mut Door {
        grow(&mut self.doors, host.ix(), || FRESH)
    }

    pub(crate) fn set_manners(
        &mut self,
        now: Time,
        host: HostIx,
        manners: Manners,
    ) -> Option<Gate> {
        let default = self.default;
        let door = self.door(host);
        let before = door.manners.replace(manners).unwrap_or(default);
        // a longer gap counts from the last poll, too
        if door.gap_over > Time::MIN && manners.gap > before.gap {
            door.gap_over =
                door.gap_over + Span::from_micros(manners.gap.micros() - before.gap.micros());
        }
        self.settle(now, host)
    }

    pub(crate) fn set_gate(&mut self, now: Time, host: HostIx, gate: Gate) -> Option<Gate> {
        self.door(host).shut_until = match gate {
            Gate::Open => Time::MIN,
            Gate::ShutUntil(until) => until,
        };
        self.settle(now, host)
    }

    pub(crate) fn sent(&mut self, now: Time, host: HostIx) -> Option<Gate> {
        let default = self.default;
        let door = self.door(host);
        door.flying += 1;
        door.gap_over = now + door.manners.unwrap_or(default).gap;
        self.settle(now, host)
    }

    /// Asked something that is no poll.
    pub(crate) fn visited(&mut self, now: Time, host: HostIx) -> Option<Gate> {
        let default = self.default;
        let door = self.door(host);
        door.gap_over = now + door.manners.unwrap_or(default).gap;
        self.settle(now, host)
    }

    pub(crate) fn manners(&self, host: HostIx) -> Manners {
        self.doors.get(host.ix()).and_then(|door| door.manners).unwrap_or(self.default)
    }

    /// When gap and gate allow a request that belongs to a poll under way.
    pub(crate) fn may_visit(&self, host: HostIx) -> Time {
        self.doors.get(host.ix()).map_or(Time::MIN, |door| door.gap_over.max(door.shut_until))
    }

    /// Other manners for all who did not ask for their own; how every host stands now.
    pub(crate) fn set_default(&mut self, now: Time, manners: Manners) -> Vec<(HostIx, Gate)> {
        self.default = manners;
        let hosts = (0..self.doors.len()).map(HostIx::new);
        hosts
            .map(|host| {
                self.settle(now, host);
                let gate = match self.doors[host.ix()].opens(manners) {
                    opens if opens > now => Gate::ShutUntil(opens),
                    _ => Gate::Open,
                };
                (host, gate)
            })
            .collect()
    }

    pub(crate) fn heard(&mut self, now: Time, host: HostIx) -> Option<Gate> {
        let door = self.door(host);
        door.flying = door.flying.saturating_sub(1);
        self.settle(now, host)
    }

    /// The next host whose time to open came by `now`, with that time.
    #[inline]
    pub(crate) fn open_next(&mut self, now: Time) -> Option<(Time, HostIx)> {
        if self.openings.is_empty() { None } else { self.open_first(now) }
    }

    fn open_first(&mut self, now: Time) -> Option<(Time, HostIx)> {
        while let Some(&Reverse((at, host))) = self.openings.peek() {
            // an entry the door no longer stands by (opened from outside, shut for longer) is dropped
            let stands = self.doors[host.ix()].opening == Some(at);
            if stands && at > now {
                return None;
            }
            self.openings.pop();
            if !stands {
                continue;
            }
            if self.settle(at, host) == Some(Gate::Open) {
                return Some((at, host));
            }
        }
        None
    }

    /// When the next shut host opens by itself.
    pub(crate) fn next_opening(&self) -> Option<Time> {
        self.openings.peek().map(|&Reverse((at, _))| at)
    }

    /// Brings what the policy knows in line with the door; says what to tell it.
    #[inline]
    fn settle(&mut self, now: Time, host: HostIx) -> Option<Gate> {
        let default = self.default;
        let door = self.door(host);
        let opens = door.opens(default);
        // an open door waits for nothing
        if door.open && opens <= now {
            return None;
        }
        self.turn(now, host, opens)
    }

    /// A door that is shut, or was.
    fn turn(&mut self, now: Time, host: HostIx, opens: Time) -> Option<Gate> {
        let door = self.door(host);
        let was_open = std::mem::replace(&mut door.open, opens <= now);
        let waits = (opens > now && opens < Time::MAX).then_some(opens);
        if std::mem::replace(&mut door.opening, waits) != waits {
            self.openings.extend(waits.map(|opens| Reverse((opens, host))));
        }
        if opens > now {
            return was_open.then_some(Gate::ShutUntil(opens));
        }
        (!was_open).then_some(Gate::Open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: HostIx = HostIx::FIRST;

    fn at(secs: i64) -> Time {
        Time::from_secs(secs)
    }

    #[test]
    fn a_gap_shuts_and_opens_at_its_own_time() {
        let mut doors = Politeness::new(Manners { gap: Span::from_secs(5), parallel: 2 });
        assert_eq!(doors.sent(at(10), HOST), Some(Gate::ShutUntil(at(15))));
        assert_eq!(doors.open_next(at(14)), None);
        assert_eq!(doors.open_next(at(99)), Some((at(15), HOST)));
        assert_eq!(doors.open_next(at(99)), None);
    }

    #[test]
    fn a_full_host_opens_with_an_answer_but_not_before_its_gap() {
        let mut doors = Politeness::new(Manners { gap: Span::from_secs(5), parallel: 1 });
        assert_eq!(doors.sent(at(10), HOST), Some(Gate::ShutUntil(Time::MAX)));
        assert_eq!(doors.heard(at(12), HOST), None);
        assert_eq!(doors.open_next(at(20)), Some((at(15), HOST)));
    }

    #[test]
    fn retry_after_outlasts_the_gap() {
        let mut doors = Politeness::new(Manners { gap: Span::from_secs(5), parallel: 9 });
        doors.sent(at(0), HOST);
        assert_eq!(doors.set_gate(at(1), HOST, Gate::ShutUntil(at(60))), None);
        assert_eq!(doors.open_next(at(59)), None);
        assert_eq!(doors.open_next(at(60)), Some((at(60), HOST)));
    }

    #[test]
    fn a_host_opened_from_outside_waits_for_nothing() {
        let mut doors = Politeness::new(Manners::NONE);
        doors.set_gate(at(0), HOST, Gate::ShutUntil(at(900)));
        assert_eq!(doors.set_gate(at(1), HOST, Gate::Open), Some(Gate::Open));
        assert_eq!(doors.open_next(at(2)), None);
        assert_eq!(doors.next_opening(), None);
    }

    #[test]
    fn manners_none_never_shuts() {
        let mut doors = Politeness::new(Manners::NONE);
        assert_eq!(doors.sent(at(0), HOST), None);
        assert_eq!(doors.sent(at(0), HOST), None);
    }
}
