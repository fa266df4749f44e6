//! The scheduler: one owner for policy, budget, politeness and beliefs, because all four decide.
//!
//! The lab and the daemon drive it with the same two calls. [`Scheduler::tell`] folds an event into the
//! state; [`Scheduler::next`] says what to do now. The driver then tells `Sent`, and later `Heard` or
//! the loss, for every poll it takes on.
//!
//! ```text
//! loop:  next(now) → Poll(source)   tell(now, Sent), … tell(later, Heard)
//!                  → WaitUntil(t)   ask again at t, or after any event
//!                  → WaitForAnswer  ask again after the next answer
//!                  → RoundOver      ask again after the next Round
//! ```
//!
//! `next` takes `&mut self` only to let hosts whose gap is over open at their own times; that is a
//! function of the events told and of time, so asking more or less often changes no choice. The whole
//! state is serialisable: a snapshot is the serde form of this struct. No paper.

use serde::{Deserialize, Serialize};

use crate::budget::Purse;
use crate::learner::Learner;
use crate::politeness::Politeness;
use crate::source::grow;
use crate::{
    Beliefs, Budget, Event, Facts, Gate, HostIx, Manners, Next, Observation, Policy, Purpose,
    SourceIx, Time, Why,
};

/// What a scheduler is made with, besides its policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// How polls are paid for.
    pub budget: Budget,
    /// How hosts are treated unless they ask otherwise.
    pub manners: Manners,
}

impl Default for Settings {
    /// Rounds bring the budget and hosts bear anything: the lab's cycles.
    fn default() -> Self {
        Self { budget: Budget::PerRound, manners: Manners::NONE }
    }
}

/// Policy, budget, politeness and beliefs under one roof.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scheduler<P> {
    policy: P,
    purse: Purse,
    politeness: Politeness,
    learner: Learner,
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Slot {
    facts: Option<Facts>,
    flight: Option<Flight>,
}

/// A poll under way.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Flight {
    host: HostIx,
    /// The source left or was edited meanwhile: the answer frees the host and teaches nothing.
    orphan: bool,
}

impl<P: Policy> Scheduler<P> {
    /// With no sources and nothing to spend yet.
    pub fn new(policy: P, settings: Settings) -> Self {
        Self {
            policy,
            purse: Purse::new(settings.budget),
            politeness: Politeness::new(settings.manners),
            learner: Learner::default(),
            slots: Vec::new(),
        }
    }

    /// What is believed about every source.
    pub fn beliefs(&self) -> &impl Beliefs {
        &self.learner
    }

    /// What to do at `now`.
    pub fn next(&mut self, now: Time) -> Next {
        self.open_hosts(now);
        let left = self.purse.left(now);
        let wanted = self.policy.next(now, left, &self.learner);
        match wanted {
            Next::Poll(_, purpose) if !self.purse.affords(now, self.policy.cost(purpose)) => {
                let cost = self.policy.cost(purpose);
                self.purse.affordable_at(now, cost).map_or(Next::RoundOver, Next::WaitUntil)
            }
            Next::WaitUntil(until) => Next::WaitUntil(
                self.politeness.next_opening().map_or(until, |opening| until.min(opening)),
            ),
            Next::RoundOver | Next::WaitForAnswer => match self.politeness.next_opening() {
                Some(opening) => Next::WaitUntil(opening),
                None => wanted,
            },
            Next::Poll(..) => wanted,
        }
    }

    /// Folds an event that happened at `now` into the state.
    ///
    /// Total: an event that makes no sense (an answer nobody waits for, a source unknown) is ignored.
    pub fn tell(&mut self, now: Time, event: Event) {
        self.open_hosts(now);
        match event {
            Event::Entered(source, facts) => self.entered(now, source, facts),
            Event::Left(source) => self.left(now, source),
            Event::Round(round) => {
                self.purse.round(now, round.polls);
                self.policy.tell(now, &event, &self.learner);
            }
            Event::Manners(host, manners) => {
                let gate = self.politeness.set_manners(now, host, manners);
                self.pass_on(now, host, gate);
            }
            Event::Host(host, gate) => {
                let gate = self.politeness.set_gate(now, host, gate);
                self.pass_on(now, host, gate);
            }
            Event::Sent(source, purpose) => self.sent(now, source, purpose),
            Event::Heard(heard) => self.heard(now, heard),
        }
    }

    /// How this source stands, for people.
    pub fn why(&self, source: SourceIx, now: Time) -> Why {
        Why {
            because: self.policy.why(source, now, &self.learner),
            stale: self.learner.stale(source, now),
            value: self.learner.value(source, now),
        }
    }

    fn slot(&mut self, source: SourceIx) -> &mut Slot {
        grow(&mut self.slots, source.ix(), Slot::default)
    }

    fn entered(&mut self, now: Time, source: SourceIx, facts: Facts) {
        let was = self.slot(source).facts;
        if was.is_some() {
            self.withdraw(now, source);
        }
        self.slot(source).facts = Some(facts);
        self.learner.entered(now, source, &facts);
        if self.slot(source).flight.is_none() {
            self.policy.tell(now, &Event::Entered(source, facts), &self.learner);
        }
    }

    fn left(&mut self, now: Time, source: SourceIx) {
        if self.slot(source).facts.is_some() {
            self.withdraw(now, source);
            self.slot(source).facts = None;
            self.learner.left(source);
        }
    }

    /// Takes a source from the policy; an answer still out becomes an orphan.
    fn withdraw(&mut self, now: Time, source: SourceIx) {
        let waiting_for_orphan = self.slot(source).flight.is_some_and(|flight| flight.orphan);
        if !waiting_for_orphan {
            self.policy.tell(now, &Event::Left(source), &self.learner);
        }
        if let Some(flight) = &mut self.slot(source).flight {
            flight.orphan = true;
        }
    }

    fn sent(&mut self, now: Time, source: SourceIx, purpose: Purpose) {
        let slot = self.slot(source);
        let (Some(facts), None) = (slot.facts, slot.flight) else { return };
        slot.flight = Some(Flight { host: facts.host, orphan: false });
        self.purse.charge(now, self.policy.cost(purpose));
        self.policy.tell(now, &Event::Sent(source, purpose), &self.learner);
        let gate = self.politeness.sent(now, facts.host);
        self.pass_on(now, facts.host, gate);
    }

    fn heard(&mut self, now: Time, heard: Observation) {
        let slot = self.slot(heard.source);
        let Some(flight) = slot.flight.take() else { return };
        let facts = slot.facts;
        if flight.orphan {
            if let Some(facts) = facts {
                self.policy.tell(now, &Event::Entered(heard.source, facts), &self.learner);
            }
        } else {
            self.learner.heard(&heard);
            self.policy.tell(now, &Event::Heard(heard), &self.learner);
        }
        let gate = self.politeness.heard(now, flight.host);
        self.pass_on(now, flight.host, gate);
    }

    fn pass_on(&mut self, now: Time, host: HostIx, gate: Option<Gate>) {
        if let Some(gate) = gate {
            self.policy.tell(now, &Event::Host(host, gate), &self.learner);
        }
    }

    /// Hosts whose time to open has come open, each at its own time.
    fn open_hosts(&mut self, now: Time) {
        while let Some((at, host)) = self.politeness.open_next(now) {
            self.pass_on(at, host, Some(Gate::Open));
        }
    }
}
