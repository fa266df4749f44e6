//! The largest value first: poll whatever a poll is worth most now.
//!
//! ```text
//! V(τ)   what a poll is worth τ after the last look, for the goal, averaged over what is believed of the source
//! λ      the price: what recent polls were worth (a running mean)
//! tᵢ     the moment at which Vᵢ reaches λ; the earliest is polled next
//! ```
//!
//! Values grow at different speeds, so the best now is not the best later; but near the price all that matters is
//! who reaches it first (B1). The times stand in an [`Agenda`] and are worked out anew for a source when it is
//! heard, and for all when the price has drifted by a quarter, at most four times a lap. A source just looked at rests
//! until the next instant, one that told nothing for longer ([`rest`]).
//!
//! Paper: B1, B3, B5 in its simplest form (`docs/papers/cho-ntoulas-2002.md`, "the frequency policy"). Cost:
//! O(log sources) per poll.

use serde::{Deserialize, Serialize};

use crate::agenda::Agenda;
use crate::newcomers::rest;
use crate::policy::Spec;
use crate::source::grow;
use crate::spec::{Call, Mistake};
use crate::value::Objective;
use crate::{
    Beliefs, Event, Facts, HostIx, Next, Observation, Policy, Purpose, SourceIx, Span, Time,
    Verdict,
};

/// What a person may set.
pub(super) fn read(call: &mut Call) -> Result<Spec, Mistake> {
    let written = call.take("objective", "captured".to_owned())?;
    let objective = written
        .parse()
        .map_err(|why| Mistake(format!("`objective={written}` of `value`: {why}")))?;
    match call.take("law", "poisson".to_owned())?.as_str() {
        "poisson" => Ok(Spec::Value(objective)),
        "renewal" if objective == Objective::Utility => {
            let why = "`value(law=renewal)` knows no urgency; its objective is captured, freshness or age";
            Err(Mistake(why.to_owned()))
        }
        "renewal" => Ok(Spec::Renewal(objective)),
        other => Err(Mistake(format!("`law={other}` of `value` must be `poisson` or `renewal`"))),
    }
}

/// Polls whatever is worth most.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Value {
    objective: Objective,
    /// Sources that are clearly not Poisson are judged by their own law ([`crate::renewal`]).
    laws: bool,
    places: Vec<Option<Place>>,
    /// By the time each reaches the price.
    agenda: Agenda,
    /// By the time each has rested.
    resting: Agenda,
    /// λ, and the λ the agenda was made with.
    price: f64,
    agenda_price: f64,
    watched: u32,
    out: usize,
    /// Polls since the agenda was made.
    since_plan: u32,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Place {
    host: HostIx,
    stands: Stands,
    failures: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stands {
    /// On the agenda from this moment on.
    Wanted(Time),
    /// Not to be asked before this moment.
    Resting(Time),
    /// A poll is under way.
    Out,
}

/// How far the price may drift before all times are worked out anew.
const DRIFT: f64 = 1.25;
/// At most so often per poll of every source, so that planning costs a few looks at each source a lap.
const PLANS_PER_LAP: u32 = 4;
/// A price is the mean over about a tenth of the sources, so that one odd poll does not move it.
const MEMORY: std::ops::RangeInclusive<f64> = 8.0..=1000.0;

impl Value {
    /// With no sources yet.
    pub fn new(objective: Objective) -> Self {
        Self {
            objective,
            laws: false,
            places: Vec::new(),
            agenda: Agenda::default(),
            resting: Agenda::default(),
            price: 0.0,
            agenda_price: 0.0,
            watched: 0,
            out: 0,
            since_plan: 0,
        }
    }

    /// The same, judging by laws.
    #[must_use]
    pub fn with_laws(self) -> Self {
        Self { laws: true, ..self }
    }

    fn place(&mut self, source: SourceIx) -> Option<&mut Place> {
        self.places.get_mut(source.ix())?.as_mut()
    }

    /// Works out when the source is wanted and puts it on the agenda.
    fn plan(&mut self, source: SourceIx, beliefs: &dyn Beliefs) {
        let at = beliefs.ripe(source, self.objective, self.agenda_price);
        let Some(place) = self.place(source) else { return };
        place.stands = Stands::Wanted(at);
        let host = place.host;
        self.agenda.add(host, at, source);
    }

    fn plan_all(&mut self, beliefs: &dyn Beliefs) {
        self.agenda_price = self.price;
        self.since_plan = 0;
        self.agenda.clear();
        for at in 0..self.places.len() {
            if self.places[at].is_some_and(|place| matches!(place.stands, Stands::Wanted(_))) {
                self.plan(SourceIx::new(at), beliefs);
            }
        }
    }

    /// Sources that have rested by `now` are wanted again.
    fn wake(&mut self, now: Time, beliefs: &dyn Beliefs) {
        while let Some((_, source)) = self.resting.first().filter(|&(until, _)| until <= now) {
            self.lift(source);
            self.plan(source, beliefs);
        }
    }

    /// Takes the source off whichever list it stands on.
    fn lift(&mut self, source: SourceIx) {
        let Some(&mut Place { host, stands, .. }) = self.place(source) else { return };
        match stands {
            Stands::Wanted(at) => self.agenda.take(host, at, source),
            Stands::Resting(until) => self.resting.take(host, until, source),
            Stands::Out => self.out -= 1,
        }
    }

    fn entered(&mut self, source: SourceIx, facts: &Facts, beliefs: &dyn Beliefs) {
        let place = Place { host: facts.host, stands: Stands::Out, failures: 0 };
        *grow(&mut self.places, source.ix(), || None) = Some(place);
        self.watched += 1;
        self.plan(source, beliefs);
    }

    fn left(&mut self, source: SourceIx) {
        self.lift(source);
        if self.places.get_mut(source.ix()).and_then(Option::take).is_some() {
            self.watched -= 1;
        }
    }

    fn sent(&mut self, now: Time, source: SourceIx, beliefs: &dyn Beliefs) {
        self.lift(source);
        let Some(place) = self.place(source) else { return };
        place.stands = Stands::Out;
        self.out += 1;
        self.pay(beliefs.value(source, self.objective, now), beliefs);
    }

    /// A poll worth `worth` was sent: the price follows.
    fn pay(&mut self, worth: f64, beliefs: &dyn Beliefs) {
        if worth.is_finite() {
            let memory = (f64::from(self.watched) / 10.0).clamp(*MEMORY.start(), *MEMORY.end());
            self.price += (worth - self.price) / memory;
        }
        let drift = self.price.max(f64::MIN_POSITIVE) / self.agenda_price.max(f64::MIN_POSITIVE);
        self.since_plan += 1;
        let enough = self.since_plan >= self.watched / PLANS_PER_LAP;
        if enough && !(1.0 / DRIFT..=DRIFT).contains(&drift) {
            self.plan_all(beliefs);
        }
    }

    fn heard(&mut self, now: Time, heard: &Observation) {
        let told_nothing = matches!(heard.verdict, Verdict::Lost | Verdict::Unreadable);
        let Some(place) = self.place(heard.source) else { return };
        place.failures = if told_nothing { place.failures + 1 } else { 0 };
        let until = now + rest(place.failures).max(Span::TICK);
        place.stands = Stands::Resting(until);
        let host = place.host;
        self.out -= 1;
        self.resting.add(host, until, heard.source);
    }
}

/// To the second: nobody reads microseconds.
fn whole(span: Span) -> Span {
    Span::from_secs(span.micros() / 1_000_000)
}

impl Policy for Value {
    fn tell(&mut self, now: Time, event: &Event, beliefs: &dyn Beliefs) {
        self.wake(now, beliefs);
        match event {
            Event::Entered(source, facts) => self.entered(*source, facts, beliefs),
            Event::Left(source) => self.left(*source),
            Event::Sent(source, _) => self.sent(now, *source, beliefs),
            Event::Heard(heard) => self.heard(now, heard),
            Event::Host(host, gate) => {
                self.agenda.gate(*host, *gate);
                self.resting.gate(*host, *gate);
            }
            Event::Round(_) | Event::Manners(..) | Event::Visit(_) | Event::Pinned(..) => {}
        }
    }

    fn next(&self, now: Time, _left: f64, _beliefs: &dyn Beliefs) -> Next {
        let rested = self.resting.first();
        let ready = rested.filter(|&(until, _)| until <= now);
        match self.agenda.first().into_iter().chain(ready).min() {
            Some((_, source)) => Next::Poll(source, Purpose::Look),
            None => match rested {
                Some((until, _)) => Next::WaitUntil(until),
                None if self.out > 0 => Next::WaitForAnswer,
                None => Next::WaitUntil(Time::MAX),
            },
        }
    }

    fn wants_laws(&self) -> bool {
        self.laws
    }

    fn why(&self, source: SourceIx, now: Time, beliefs: &dyn Beliefs) -> String {
        let Some(Some(place)) = self.places.get(source.ix()) else {
            return "it is not watched".to_owned();
        };
        let at = match place.stands {
            Stands::Out => return "a poll of it is under way".to_owned(),
            Stands::Resting(until) if place.failures > 0 => {
                let rests = whole(until - now);
                return format!(
                    "its last {} polls told nothing, so it rests for {rests}",
                    place.failures
                );
            }
            Stands::Resting(_) => beliefs.ripe(source, self.objective, self.agenda_price),
            Stands::Wanted(at) => at,
        };
        let worth = beliefs.value(source, self.objective, now);
        let price = self.price;
        if at <= now {
            return format!(
                "a poll is worth {worth:.3} now, polls go at {price:.3}: it is next in line"
            );
        }
        if at == Time::MAX {
            return format!(
                "a poll is worth {worth:.3} now and never {price:.3}, what polls go at"
            );
        }
        format!(
            "a poll is worth {worth:.3} now; polls go at {price:.3}, which it reaches in {}",
            whole(at - now)
        )
    }
}
