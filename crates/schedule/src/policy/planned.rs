//! Policies that plan: what an epoch's chances say for the instants to come, one instant committed at a time.
//!
//! ```text
//! every `every` rounds    chances of the next `horizon` instants, and what each source has had to offer since its last
//!                         poll → a schedule ([`crate::epoch::search`] or [`crate::epoch::cam`])
//! every round             the pages the plan has for this instant; a host that is shut keeps its own waiting
//! ```
//!
//! What is learned meanwhile enters with the next plan: a rolling horizon. Told all chances of a whole epoch and planning
//! it at once, `wic+search` is never below WIC.
//!
//! Paper: B10 (ours), WC-23 (`docs/papers/pandey-dhamdhere-olston-2004.md`). Cost: a plan every so often, then O(C) a round.

use serde::{Deserialize, Serialize};

use super::ticking::Seats;
use super::wic::period;
use crate::epoch::cam::{self, Rule};
use crate::epoch::search::{Effort, search};
use crate::epoch::{Epoch, Schedule};
use crate::spec::{Call, Mistake};
use crate::utility::Shape;
use crate::{Beliefs, Event, Next, Policy, Purpose, Round, SourceIx, Span, Time};

/// How a plan is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    /// Greedy, improved by prices and swaps.
    Search,
    /// CAM or a baseline of its.
    Cam(Rule),
}

/// What a person may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// How plans are made.
    pub method: Method,
    /// Instants a plan looks ahead; none: [`HORIZON`].
    pub horizon: Option<u32>,
    /// Instants until the next plan; none: half the horizon.
    pub every: Option<u32>,
    /// The period of hours that sites keep, to be learned.
    pub period: Option<Span>,
}

/// Instants a plan looks ahead unless told otherwise: two hours of minutes.
pub const HORIZON: u32 = 120;
/// The longest.
const LONGEST: u32 = 100_000;
/// Chances a plan may ask for: sources × instants.
const ROOM: usize = 20_000_000;

impl Settings {
    /// `wic+search(horizon=.., every=..)`
    pub(super) fn search(call: &mut Call) -> Result<Self, Mistake> {
        Self::read(call, Method::Search)
    }

    /// `cam(rule=.., horizon=.., every=..)`
    pub(super) fn cam(call: &mut Call) -> Result<Self, Mistake> {
        let rule = match call.take("rule", "cam".to_owned())?.as_str() {
            "cam" => Rule::Cam,
            "uniform" => Rule::Uniform,
            "proportional" => Rule::Proportional,
            other => {
                let problem =
                    format!("`rule={other}` of `cam` must be `cam`, `uniform` or `proportional`");
                return Err(Mistake(problem));
            }
        };
        Self::read(call, Method::Cam(rule))
    }

    fn read(call: &mut Call, method: Method) -> Result<Self, Mistake> {
        let mut number = |key: &str| {
            let value = call.take(key, 0u32)?;
            if value > LONGEST {
                return Err(Mistake(format!(
                    "`{key}={value}` of `{}` must be at most {LONGEST}",
                    call.name
                )));
            }
            Ok(Some(value).filter(|value| *value > 0))
        };
        let (horizon, every) = (number("horizon")?, number("every")?);
        Ok(Self { method, horizon, every, period: period(call)? })
    }
}

/// Follows a plan.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Planned {
    settings: Settings,
    seats: Seats<Offer>,
    /// Sources for each instant from `made_at` on.
    plan: Vec<Vec<SourceIx>>,
    made_at: u32,
}

/// What a source has had to offer since its last poll.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Offer(Vec<(u32, f64)>);

/// Instants of the past that are kept: a source unpolled for longer offers what it offered since then.
const MEMORY: usize = 2_000;

impl Planned {
    /// With no sources yet. `alike`: every source's worth, in instants; else each source's own.
    pub fn new(settings: Settings, alike: Option<Shape>) -> Self {
        Self { settings, seats: Seats::new(alike, settings.period), plan: Vec::new(), made_at: 0 }
    }

    fn round(&mut self, round: Round, beliefs: &dyn Beliefs) {
        self.seats.begin(round);
        let at = self.seats.at();
        self.seats.each(beliefs, |_, seat, _, chance| {
            let Offer(past) = seat.state.get_or_insert_default();
            if past.len() >= MEMORY {
                past.drain(..MEMORY / 2);
            }
            let chance = chance(round.start, round.end);
            if chance > 0.0 {
                past.push((at, chance));
            }
        });
        // no plan takes more room than this many chances
        let room = u32::try_from(ROOM / self.seats.len().max(1)).unwrap_or(u32::MAX);
        let horizon = self.settings.horizon.unwrap_or(HORIZON).min(room.max(1));
        let every = self.settings.every.unwrap_or(horizon.div_ceil(2)).clamp(1, horizon);
        if self.plan.is_empty() || at >= self.made_at + every {
            // a plan that is soon made anew need not be polished
            let effort = if every < horizon { Effort::QUICK } else { Effort::default() };
            self.make(round, horizon, effort, beliefs);
        }
    }

    /// A plan from this instant on.
    fn make(&mut self, round: Round, horizon: u32, effort: Effort, beliefs: &dyn Beliefs) {
        let (first, tick) = (self.seats.at(), self.seats.tick());
        let capacity = usize::try_from(round.polls).unwrap_or(usize::MAX).min(self.seats.len());
        let mut epoch = Epoch::new(first, first + horizon - 1, capacity);
        let mut sources = Vec::with_capacity(self.seats.len());
        self.seats.each(beliefs, |source, seat, shape, chance| {
            let past = seat.state.iter().flat_map(|Offer(past)| past.iter().copied());
            let ahead = (1..horizon).map(|step| {
                let from = round.start + tick.times(i64::from(step));
                (first + step, chance(from, from + tick))
            });
            epoch.add(seat.importance, shape, past.chain(ahead));
            sources.push(source);
        });
        let schedule = self.schedule(&epoch, effort);
        let named = |pages: Vec<usize>| pages.into_iter().map(|page| sources[page]).collect();
        self.plan = schedule.by_instant(&epoch).into_iter().map(named).collect();
        self.made_at = first;
    }

    fn schedule(&self, epoch: &Epoch, effort: Effort) -> Schedule {
        match self.settings.method {
            Method::Search => search(epoch, effort).schedule,
            Method::Cam(rule) => cam::schedule(epoch, rule),
        }
    }

    /// Whom the plan has for this instant.
    fn now(&self) -> &[SourceIx] {
        let instant = self.seats.at().saturating_sub(self.made_at) as usize;
        self.plan.get(instant).map_or(&[], Vec::as_slice)
    }
}

impl Policy for Planned {
    fn tell(&mut self, now: Time, event: &Event, beliefs: &dyn Beliefs) {
        match event {
            Event::Round(round) => self.round(*round, beliefs),
            Event::Heard(heard) => {
                if let Some(seat) = self.seats.heard(heard) {
                    seat.state = None;
                }
            }
            other => self.seats.tell(now, other),
        }
    }

    fn next(&self, _now: Time, _left: f64, _beliefs: &dyn Beliefs) -> Next {
        let free = self.now().iter().find(|&&source| self.seats.may_be_polled(source));
        free.map_or(Next::RoundOver, |&source| Next::Poll(source, Purpose::Look))
    }

    fn why(&self, source: SourceIx, _now: Time, _beliefs: &dyn Beliefs) -> String {
        if self.seats.get(source).is_none() {
            return "it is not watched".to_owned();
        }
        let gone = self.seats.at().saturating_sub(self.made_at) as usize;
        let ahead = self.plan.iter().skip(gone).position(|sources| sources.contains(&source));
        match ahead {
            Some(0) => "the plan has it in this round".to_owned(),
            Some(rounds) => format!("the plan has it in {rounds} rounds"),
            None => "the plan does not have it in the rounds it looks ahead".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ticking::tests::{Told, play};
    use super::*;
    use crate::epoch::greedy::{self, Options};
    use crate::epoch::tests::alike;
    use crate::utility::tests::shapes;

    fn settings(method: Method, horizon: u32, every: u32) -> Settings {
        Settings { method, horizon: Some(horizon), every: Some(every), period: None }
    }

    /// Told everything and planned at once: the very schedule, never below greedy. Rolling on, it still beats greedy as a whole.
    #[test]
    fn b10_a_plan_is_followed_and_pays() {
        let (mut rolled, mut waited) = (0.0, 0.0);
        for (seed, shape) in (0u64..).zip(shapes()) {
            let chance = |page: u64, k: u64| {
                (crate::chance::below(140, seed, [page, k]) as f64 / 100.0 - 0.4).max(0.0)
            };
            let chances: Vec<Vec<f64>> =
                (0..8).map(|page| (1..=24).map(|k| chance(page, k)).collect()).collect();
            let epoch = alike(&shape, 2, &chances);
            let told = Told(chances);
            let greedy = epoch.utility(&greedy::wic(&epoch, Options::default()));
            let at_once =
                play(Planned::new(settings(Method::Search, 24, 24), Some(shape.clone())), &told, 2);
            assert_eq!(at_once, search(&epoch, Effort::default()).schedule);
            assert!(epoch.utility(&at_once) >= greedy - 1e-9, "{shape:?}");
            let rolling =
                play(Planned::new(settings(Method::Search, 8, 1), Some(shape.clone())), &told, 2);
            rolled += epoch.utility(&rolling);
            waited += greedy;
        }
        assert!(rolled > waited, "{rolled} {waited}");
    }

    #[test]
    fn cam_through_the_policy_is_cam() {
        let shape = &shapes()[3];
        let chances =
            vec![vec![0.9, 0.1, 0.0, 0.5], vec![0.8, 0.0, 0.2, 0.1], vec![0.0, 0.7, 0.0, 0.6]];
        let epoch = alike(shape, 1, &chances);
        let method = Method::Cam(Rule::Cam);
        let played =
            play(Planned::new(settings(method, 4, 4), Some(shape.clone())), &Told(chances), 1);
        assert_eq!(played, cam::schedule(&epoch, Rule::Cam));
    }
}
