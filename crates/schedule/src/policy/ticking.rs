//! Who sits in a policy whose rounds are instants: hosts, polls under way, what was polled in this round. What WIC and the
//! policies that plan an epoch share.
//!
//! Paper: `docs/papers/pandey-dhamdhere-olston-2004.md`.

use serde::{Deserialize, Serialize};

use super::rhythm::Rhythm;
use crate::source::grow;
use crate::utility::{Shape, Worth};
use crate::{
    Beliefs, Event, Facts, Gate, HostIx, Observation, Round, SiteIx, SourceIx, Span, Time, Verdict,
};

/// A source and what a policy keeps of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Seat<T> {
    host: HostIx,
    site: SiteIx,
    pub(super) importance: f64,
    worth: Worth,
    out: bool,
    /// The instant it was last polled in.
    polled_in: u32,
    /// When that was.
    pub(super) polled_at: Time,
    /// The policy's own, from the first round on.
    pub(super) state: Option<T>,
}

/// All of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Seats<T> {
    /// Every source's worth in instants, where all are alike.
    alike: Option<Shape>,
    places: Vec<Option<Seat<T>>>,
    watched: usize,
    shut: Vec<bool>,
    /// The instant, counting from 1, and how long one lasts.
    at: u32,
    tick: Span,
    /// The period of hours to be learned, and those of each site.
    period: Option<Span>,
    hours: Vec<Rhythm>,
}

impl<T> Seats<T> {
    pub(super) fn new(alike: Option<Shape>, period: Option<Span>) -> Self {
        Self {
            alike,
            places: Vec::new(),
            watched: 0,
            shut: Vec::new(),
            at: 0,
            tick: Span::ZERO,
            period,
            hours: Vec::new(),
        }
    }

    /// How many are watched.
    pub(super) fn len(&self) -> usize {
        self.watched
    }

    /// Another instant begins. One of another length starts everything anew: chances of other instants do not add up.
    pub(super) fn begin(&mut self, round: Round) {
        let tick = round.end - round.start;
        if tick != self.tick && self.alike.is_none() {
            self.places.iter_mut().flatten().for_each(|seat| seat.state = None);
        }
        self.tick = tick;
        self.at += 1;
    }

    /// The instant.
    pub(super) fn at(&self) -> u32 {
        self.at
    }

    /// How long one lasts.
    pub(super) fn tick(&self) -> Span {
        self.tick
    }

    pub(super) fn get(&self, source: SourceIx) -> Option<&Seat<T>> {
        self.places.get(source.ix())?.as_ref()
    }

    /// Every source with its worth, and π as a question: the chance of a change from one moment to another.
    pub(super) fn each(
        &mut self,
        beliefs: &dyn Beliefs,
        mut visit: impl FnMut(SourceIx, &mut Seat<T>, &Shape, &dyn Fn(Time, Time) -> f64),
    ) {
        // sources with the same worth stand together more often than not
        let mut last: Option<(Worth, Shape)> = None;
        for (number, seat) in self.places.iter_mut().enumerate() {
            let Some(seat) = seat else { continue };
            let shape = match (&self.alike, &last) {
                (Some(alike), _) => alike,
                (None, Some((worth, shape))) if *worth == seat.worth => shape,
                _ => &last.insert((seat.worth, seat.worth.per(self.tick))).1,
            };
            let source = SourceIx::new(number);
            let hours = self.hours.get(seat.site.ix());
            let chance = |from, to| {
                let chance = beliefs.likely(source, from, to);
                hours.map_or(chance, |hours| hours.bend(chance, to))
            };
            visit(source, seat, shape, &chance);
        }
    }

    /// Free to be polled: its host is open, no poll of it is under way, and it had none in this round.
    pub(super) fn may_be_polled(&self, source: SourceIx) -> bool {
        self.get(source).is_some_and(|seat| {
            let shut = self.shut.get(seat.host.ix()).copied().unwrap_or(false);
            !shut && !seat.out && seat.polled_in != self.at
        })
    }

    /// An answer came; the seat if its changes are caught now.
    pub(super) fn heard(&mut self, heard: &Observation) -> Option<&mut Seat<T>> {
        let seat = self.places.get_mut(heard.source.ix())?.as_mut()?;
        if let Some(period) = self.period {
            grow(&mut self.hours, seat.site.ix(), || Rhythm::new(period)).heard(heard);
        }
        seat.out = false;
        let caught = !matches!(heard.verdict, Verdict::Lost | Verdict::Unreadable);
        caught.then_some(seat)
    }

    /// Everything but rounds and answers.
    pub(super) fn tell(&mut self, now: Time, event: &Event) {
        match event {
            Event::Entered(source, facts) => self.entered(*source, facts),
            Event::Left(source) => {
                let seat = self.places.get_mut(source.ix()).and_then(Option::take);
                self.watched -= usize::from(seat.is_some());
            }
            Event::Sent(source, _) => {
                let at = self.at;
                if let Some(Some(seat)) = self.places.get_mut(source.ix()) {
                    (seat.out, seat.polled_in, seat.polled_at) = (true, at, now);
                }
            }
            Event::Host(host, gate) => {
                *grow(&mut self.shut, host.ix(), || false) = *gate != Gate::Open;
            }
            Event::Round(_)
            | Event::Heard(_)
            | Event::Manners(..)
            | Event::Visit(_)
            | Event::Pinned(..) => {}
        }
    }

    fn entered(&mut self, source: SourceIx, facts: &Facts) {
        let seat = Seat {
            host: facts.host,
            site: facts.site,
            importance: f64::from(facts.importance),
            worth: facts.worth,
            out: false,
            polled_in: 0,
            polled_at: Time::MIN,
            state: None,
        };
        let place = grow(&mut self.places, source.ix(), || None);
        self.watched += usize::from(place.is_none());
        *place = Some(seat);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use dynamics::rate::Belief;

    use crate::epoch::Schedule;
    use crate::value::Objective;
    use crate::{
        Beliefs, Event, Facts, HostIx, Next, Observation, Policy, Purpose, Round, SiteIx, SourceIx,
        Time, Verdict,
    };

    /// Knows the chance of every source at every second from 1 on, and nothing else.
    pub(in crate::policy) struct Told(pub(in crate::policy) Vec<Vec<f64>>);

    impl Beliefs for Told {
        fn chance(&self, source: SourceIx, _from: Time, to: Time) -> f64 {
            let second = usize::try_from(to.micros() / 1_000_000).unwrap();
            self.0[source.ix()].get(second - 1).copied().unwrap_or(0.0)
        }
        fn likely(&self, source: SourceIx, from: Time, to: Time) -> f64 {
            self.chance(source, from, to)
        }
        fn stale(&self, _source: SourceIx, _now: Time) -> f64 {
            1.0
        }
        fn rate(&self, _source: SourceIx) -> Option<f64> {
            None
        }
        fn value(&self, _source: SourceIx, _objective: Objective, _now: Time) -> f64 {
            0.0
        }
        fn ripe(&self, _source: SourceIx, _objective: Objective, _price: f64) -> Time {
            Time::MAX
        }
        fn belief(&self, _source: SourceIx) -> Option<Belief> {
            None
        }
        fn known_at(&self, _source: SourceIx) -> Option<Time> {
            None
        }
    }

    /// What a policy does in rounds of a second with `capacity` polls, every poll answered at once.
    pub(in crate::policy) fn play(mut policy: impl Policy, told: &Told, capacity: u64) -> Schedule {
        let facts = Facts {
            site: SiteIx::FIRST,
            host: HostIx::FIRST,
            importance: 1.0,
            known: true,
            worth: crate::utility::Worth::default(),
        };
        for source in 0..told.0.len() {
            policy.tell(Time::ZERO, &Event::Entered(SourceIx::new(source), facts), told);
        }
        let last = u32::try_from(told.0[0].len()).unwrap();
        let mut polls = vec![Vec::new(); told.0.len()];
        for number in 1..=last {
            let (start, end) =
                (Time::from_secs(i64::from(number) - 1), Time::from_secs(i64::from(number)));
            policy.tell(end, &Event::Round(Round::of(number, start, end, capacity)), told);
            for _ in 0..capacity {
                let Next::Poll(source, purpose) = policy.next(end, 1.0, told) else { break };
                policy.tell(end, &Event::Sent(source, purpose), told);
                let heard = Observation {
                    source,
                    purpose: Purpose::Look,
                    sent: end,
                    since: None,
                    verdict: Verdict::Same,
                    age: None,
                };
                policy.tell(end, &Event::Heard(heard), told);
                polls[source.ix()].push(number);
            }
        }
        Schedule::of(polls)
    }
}
