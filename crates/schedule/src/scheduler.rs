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
use crate::newcomers::Newcomers;
use crate::pinned::Pinned;
use crate::politeness::Politeness;
use crate::source::grow;
use crate::value::Objective;
use crate::{
    Beliefs, Budget, Event, Facts, Gate, HostIx, Manners, Next, Observation, Pin, Policy, Purpose,
    SourceIx, Span, Time, Verdict, Why,
};

/// What a scheduler is made with, besides its policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// How polls are paid for.
    pub budget: Budget,
    /// How hosts are treated unless they ask otherwise.
    pub manners: Manners,
    /// Share of the polls kept for sources never seen, in thousandths; none: the policy takes them as they come.
    pub first_looks: Option<u32>,
}

impl Default for Settings {
    /// Rounds bring the budget and hosts bear anything: the lab's cycles.
    fn default() -> Self {
        Self { budget: Budget::PerRound, manners: Manners::NONE, first_looks: None }
    }
}

/// Policy, budget, politeness and beliefs under one roof.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scheduler<P> {
    policy: P,
    purse: Purse,
    politeness: Politeness,
    learner: Learner,
    /// A source is held by one of three: its pin, the newcomers, or else the policy.
    pinned: Pinned,
    newcomers: Option<Newcomers>,
    /// How many sources there are.
    watched: usize,
    slots: Vec<Slot>,
    /// Apart from the slots: a poll does not need them.
    facts: Vec<Option<Facts>>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Slot {
    /// Who answers for it; `None` if it is not watched.
    host: Option<HostIx>,
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
        let mut learner = Learner::default();
        learner.learn_laws(policy.wants_laws());
        Self {
            policy,
            purse: Purse::new(settings.budget),
            politeness: Politeness::new(settings.manners),
            learner,
            pinned: Pinned::default(),
            newcomers: settings.first_looks.map(Newcomers::new),
            watched: 0,
            slots: Vec::new(),
            facts: Vec::new(),
        }
    }

    /// Makes room for this many sources, so that their entry moves nothing.
    pub fn expect(&mut self, sources: usize) {
        self.slots.reserve(sources.saturating_sub(self.slots.len()));
        self.facts.reserve(sources.saturating_sub(self.facts.len()));
        self.learner.expect(sources);
    }

    /// Another policy, budget or manners from `now` on. What was learned stays, and so do hosts' gates and polls
    /// saved up (as far as the new budget may save up); an answer still out teaches nothing.
    pub fn change(&mut self, now: Time, policy: P, settings: Settings) {
        self.learner.learn_laws(policy.wants_laws());
        let old = std::mem::replace(&mut self.policy, policy);
        self.policy.inherit(old);
        self.purse = self.purse.changed(now, settings.budget);
        let pins = std::mem::take(&mut self.pinned).into_pins();
        self.newcomers = settings.first_looks.map(Newcomers::new);
        for (host, gate) in self.politeness.set_default(now, settings.manners) {
            self.pass_on(now, host, Some(gate));
        }
        for at in 0..self.slots.len() {
            let source = SourceIx::new(at);
            if let Some(flight) = &mut self.slots[at].flight {
                flight.orphan = true;
            } else if let Some(facts) = self.facts(source) {
                let known = facts.known || self.learner.known_at(source).is_some();
                self.seat(now, source, Facts { known, ..facts });
            }
        }
        for (source, every, why) in pins {
            self.pin(now, source, every, why);
        }
    }

    /// What is believed about every source.
    pub fn beliefs(&self) -> &impl Beliefs {
        &self.learner
    }

    /// What to do at `now`.
    pub fn next(&mut self, now: Time) -> Next {
        self.open_hosts(now);
        let wanted = self.wanted(now);
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

    /// Pinned sources first, newcomers in their share, else what the policy chooses.
    fn wanted(&self, now: Time) -> Next {
        let pinned = self.pinned.first();
        let newcomer = self.newcomers.as_ref().and_then(Newcomers::first);
        let ready = |entry: Option<(Time, SourceIx)>| {
            let (_, source) = entry.filter(|&(from, _)| from <= now)?;
            Some(Next::Poll(source, Purpose::Look))
        };
        let newcomers_first = self.newcomers.as_ref().is_some_and(Newcomers::come_first);
        let urgent = ready(pinned).or_else(|| ready(newcomer.filter(|_| newcomers_first)));
        urgent.unwrap_or_else(|| {
            match (self.policy.next(now, self.purse.left(now), &self.learner), ready(newcomer)) {
                (choice @ Next::Poll(..), _) | (_, Some(choice)) => choice,
                (idle, None) => {
                    let soonest = pinned.into_iter().chain(newcomer).map(|(from, _)| from).min();
                    match (idle, soonest) {
                        (Next::WaitUntil(until), Some(soonest)) => {
                            Next::WaitUntil(until.min(soonest))
                        }
                        (_, Some(soonest)) => Next::WaitUntil(soonest),
                        (idle, None) => idle,
                    }
                }
            }
        })
    }

    /// Folds an event that happened at `now` into the state.
    ///
    /// Total: an event that makes no sense (an answer nobody waits for, a source unknown) is ignored.
    pub fn tell(&mut self, now: Time, event: Event) {
        self.open_hosts(now);
        match event {
            Event::Entered(source, facts) => self.entered(now, source, facts),
            Event::Pinned(source, every, why) => self.pin(now, source, every, why),
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
            Event::Visit(host) => {
                self.purse.charge(now, 1.0);
                let gate = self.politeness.visited(now, host);
                self.pass_on(now, host, gate);
            }
            Event::Sent(source, purpose) => self.sent(now, source, purpose),
            Event::Heard(heard) => self.heard(now, heard),
        }
    }

    /// How this source stands, for people.
    pub fn why(&self, source: SourceIx, now: Time) -> Why {
        Why {
            because: self.because(source, now),
            stale: self.learner.stale(source, now),
            value: self.learner.value(source, Objective::Captured, now),
            belief: self.learner.belief(source),
            known_at: self.learner.known_at(source),
        }
    }

    fn because(&self, source: SourceIx, now: Time) -> String {
        match self.pinned.pin(source) {
            Some((every, Pin::Asked)) => {
                return format!(
                    "it is pinned: looked at every {every}, whatever the policy thinks"
                );
            }
            Some((every, Pin::Target(_))) => {
                return format!(
                    "it is a collection with a target: its quality is foretold to reach it {every} after a look"
                );
            }
            None => {}
        }
        match self.newcomers.as_ref().and_then(|newcomers| newcomers.failures(source)) {
            Some(0) => "it was never seen: it waits for its first look".to_owned(),
            Some(failures) => {
                format!("it could not be read yet ({failures} tries), so it rests before the next")
            }
            None => self.policy.why(source, now, &self.learner),
        }
    }

    /// When this host may next be asked something that is no poll.
    pub fn may_visit(&self, host: HostIx) -> Time {
        self.politeness.may_visit(host)
    }

    /// How this host is treated.
    pub fn manners(&self, host: HostIx) -> Manners {
        self.politeness.manners(host)
    }

    /// Polls that could be paid now.
    pub fn left_to_spend(&self, now: Time) -> f64 {
        self.purse.left(now)
    }

    /// Sources that wait for their first look.
    pub fn newcomers(&self) -> usize {
        self.newcomers.as_ref().map_or(0, Newcomers::len)
    }

    fn slot(&mut self, source: SourceIx) -> &mut Slot {
        grow(&mut self.slots, source.ix(), Slot::default)
    }

    fn facts(&self, source: SourceIx) -> Option<Facts> {
        self.facts.get(source.ix()).copied().flatten()
    }

    fn entered(&mut self, now: Time, source: SourceIx, facts: Facts) {
        if self.slot(source).host.is_some() {
            self.withdraw(now, source);
        } else {
            self.watched += 1;
        }
        self.slot(source).host = Some(facts.host);
        *grow(&mut self.facts, source.ix(), || None) = Some(facts);
        self.learner.entered(now, source, &facts);
        if self.slot(source).flight.is_none() {
            self.seat(now, source, facts);
        }
    }

    fn left(&mut self, now: Time, source: SourceIx) {
        if self.slot(source).host.is_some() {
            self.withdraw(now, source);
            self.watched -= 1;
            self.slot(source).host = None;
            self.facts[source.ix()] = None;
            self.learner.left(source);
        }
    }

    /// Takes the source from whoever holds it and pins it.
    fn pin(&mut self, now: Time, source: SourceIx, every: Span, why: Pin) {
        let Slot { host: Some(host), flight } = *self.slot(source) else { return };
        if !flight.is_some_and(|flight| flight.orphan) {
            self.take_back(now, source);
        }
        self.pinned.remove(source);
        self.pinned.add(now, source, host, every, why);
        if flight.is_some() {
            self.pinned.sent(now, source);
        }
    }

    /// Takes a source away; an answer still out becomes an orphan.
    fn withdraw(&mut self, now: Time, source: SourceIx) {
        let waiting_for_orphan = self.slot(source).flight.is_some_and(|flight| flight.orphan);
        if !waiting_for_orphan {
            self.take_back(now, source);
        }
        self.pinned.remove(source);
        if let Some(flight) = &mut self.slot(source).flight {
            flight.orphan = true;
        }
    }

    /// Gives a source with no poll under way to whoever is to hold it.
    fn seat(&mut self, now: Time, source: SourceIx, facts: Facts) {
        match &mut self.newcomers {
            _ if self.pinned.holds(source) => self.pinned.heard(source),
            Some(newcomers) if !facts.known => newcomers.add(now, source, facts.host),
            _ => self.policy.tell(now, &Event::Entered(source, facts), &self.learner),
        }
    }

    fn take_back(&mut self, now: Time, source: SourceIx) {
        if self.pinned.remove(source) || self.newcomer(source).is_some_and(|n| n.remove(source)) {
            return;
        }
        self.policy.tell(now, &Event::Left(source), &self.learner);
    }

    /// The newcomers, if they hold this source.
    fn newcomer(&mut self, source: SourceIx) -> Option<&mut Newcomers> {
        self.newcomers.as_mut().filter(|newcomers| newcomers.holds(source))
    }

    fn sent(&mut self, now: Time, source: SourceIx, purpose: Purpose) {
        let slot = self.slot(source);
        let (Some(host), None) = (slot.host, slot.flight) else { return };
        slot.flight = Some(Flight { host, orphan: false });
        self.purse.charge(now, self.policy.cost(purpose));
        if self.pinned.holds(source) {
            self.pinned.sent(now, source);
        } else if self.newcomer(source).is_none() {
            self.policy.tell(now, &Event::Sent(source, purpose), &self.learner);
        }
        if let Some(newcomers) = &mut self.newcomers {
            newcomers.sent(source, self.watched);
        }
        let gate = self.politeness.sent(now, host);
        self.pass_on(now, host, gate);
    }

    fn heard(&mut self, now: Time, heard: Observation) {
        let slot = self.slot(heard.source);
        let Some(flight) = slot.flight.take() else { return };
        if !flight.orphan {
            self.answered(now, heard);
        } else if let Some(facts) = self.facts(heard.source) {
            self.seat(now, heard.source, facts);
        }
        let gate = self.politeness.heard(now, flight.host);
        self.pass_on(now, flight.host, gate);
    }

    /// An answer to a question still asked.
    fn answered(&mut self, now: Time, heard: Observation) {
        let source = heard.source;
        self.learner.heard(&heard);
        if self.pinned.holds(source) {
            self.pinned.heard(source);
        } else if let Some(newcomers) = self.newcomer(source) {
            if matches!(heard.verdict, Verdict::Lost | Verdict::Unreadable) {
                newcomers.failed(now, source);
            } else {
                newcomers.remove(source);
                if let Some(facts) = self.facts(source) {
                    let seen = Event::Entered(source, Facts { known: true, ..facts });
                    self.policy.tell(now, &seen, &self.learner);
                }
            }
        } else {
            let back = self.policy.refund(&heard);
            if back > 0.0 {
                self.purse.refund(now, back);
            }
            self.policy.tell(now, &Event::Heard(heard), &self.learner);
        }
    }

    fn pass_on(&mut self, now: Time, host: HostIx, gate: Option<Gate>) {
        if let Some(gate) = gate {
            self.pinned.gate(host, gate);
            if let Some(newcomers) = &mut self.newcomers {
                newcomers.gate(host, gate);
            }
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
