//! Timed: poll every source at the moments of its period at which a look is worth most.
//!
//! ```text
//! no rhythm known   N polls a period, one in each N-th of it, at a moment drawn anew every time: the polls wander,
//!                   so that the hours between them are told apart
//! a rhythm known    the best N moments of the period ([`crate::polling_times`]), learned from the polls so far
//! a share explored  instead of the next planned moment, one drawn from now to the one after it: a source that moves
//!                   is noticed
//! ```
//!
//! Plans are made anew as looks come in, from the newest of them. A source whose answers tell when it changed can be
//! planned by the exact optimum of those times (`empirical`) or by the paper's model of them (`modelled`); one that does
//! not is planned by what the polls show (`profile`), whatever was asked. A poll that tells nothing is followed by a rest.
//!
//! Paper: CR-03, CR-04 and the sections on the two approaches (`docs/papers/polling-times.md`). Cost: O(log sources) per
//! poll, and a plan of some milliseconds whenever a source's looks have grown by half or by [`EVERY`].

use std::collections::VecDeque;

use dynamics::profile::{Evidence, Found};
use serde::{Deserialize, Serialize};

use crate::agenda::Agenda;
use crate::newcomers::rest;
use crate::polling_times::empirical::{self, Aim};
use crate::polling_times::history::{Grid, History};
use crate::polling_times::modelled::{Model, best_bins};
use crate::polling_times::{Method, Strategy, learned};
use crate::source::grow;
use crate::spec::{Call, Mistake};
use crate::{
    Beliefs, Event, Facts, HostIx, Next, Observation, Policy, Purpose, Round, SourceIx, Span, Time,
    Verdict, chance,
};

/// What a person may set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// T
    pub period: Span,
    /// Moments that are told apart.
    pub step: Span,
    /// Polls a period for each source; `None`: an even share of the budget.
    pub polls: Option<u32>,
    /// How plans are made.
    pub method: Method,
    /// What they are for.
    pub aim: Aim,
    /// Share of the polls that look where no plan would.
    pub explore: f64,
}

impl Settings {
    pub(super) fn read(call: &mut Call) -> Result<Self, Mistake> {
        let span = |call: &mut Call, key: &str, default: Span| -> Result<Span, Mistake> {
            let text: String = call.take(key, default.to_string())?;
            text.parse().map_err(|why| Mistake(format!("`{key}` of `timed`: {why}")))
        };
        let period = span(call, "period", Span::DAY)?;
        let coarse =
            |period: Span| Grid::reasonable(period).max(Span::from_micros(period.micros() / 288));
        let fits = |step: Span| step > Span::ZERO && period.micros() % step.micros() == 0;
        let default = if fits(coarse(period)) { coarse(period) } else { Grid::reasonable(period) };
        let step = span(call, "grid", default)?;
        Grid::new(period, step).map_err(|why| Mistake(format!("`timed`: {why}")))?;
        let polls: String = call.take("polls", "auto".to_owned())?;
        let polls = match polls.as_str() {
            "auto" => None,
            number => Some(number.parse().ok().filter(|polls| (1..=MOST).contains(polls)).ok_or_else(|| {
                Mistake(format!("`polls={number}` of `timed` must be `auto` or a number from 1 to {MOST}"))
            })?),
        };
        let method: String = call.take("method", "profile".to_owned())?;
        let aim: String = call.take("aim", "mixed".to_owned())?;
        let explore = call.number("explore", 0.1, 0.0..=1.0)?;
        Ok(Self { period, step, polls, method: method.parse()?, aim: aim.parse()?, explore })
    }

    fn grid(&self) -> Option<Grid> {
        Grid::new(self.period, self.step).ok()
    }
}

/// Polls a period, at most.
const MOST: u32 = 1_000;
/// Looks a source is planned by, the newest.
const LOOKS: usize = 256;
/// The first plan is made after so many looks …
const FIRST: u32 = 32;
/// … and another at the latest after so many more.
const EVERY: u32 = 64;

/// Polls at planned moments.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Timed {
    settings: Settings,
    seed: u64,
    places: Vec<Option<Box<Place>>>,
    agenda: Agenda,
    /// N of every source.
    polls: u32,
    watched: u32,
    out: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Place {
    host: HostIx,
    stands: Stands,
    failures: u32,
    looks: VecDeque<Look>,
    /// Looks so far, and at which number the next plan is made.
    seen: u32,
    plan_at: u32,
    /// The plan, and for how many polls it was made.
    plan: Option<Strategy>,
    polls: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stands {
    /// On the agenda from this moment on.
    Wanted(Time),
    /// A poll is under way.
    Out,
}

/// One informative look.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Look {
    from: Time,
    to: Time,
    changed: bool,
    /// When it says it last changed.
    told: Option<Time>,
}

impl Timed {
    /// With no sources yet.
    pub fn new(settings: Settings, seed: u64) -> Self {
        let polls = settings.polls.unwrap_or(1);
        Self {
            settings,
            seed,
            places: Vec::new(),
            agenda: Agenda::default(),
            polls,
            watched: 0,
            out: 0,
        }
    }

    fn place(&mut self, source: SourceIx) -> Option<&mut Place> {
        self.places.get_mut(source.ix())?.as_deref_mut()
    }

    fn want(&mut self, source: SourceIx, at: Time) {
        let Some(place) = self.place(source) else { return };
        place.stands = Stands::Wanted(at);
        let host = place.host;
        self.agenda.add(host, at, source);
    }

    /// Takes the source off the agenda or out of the air.
    fn lift(&mut self, source: SourceIx) {
        let Some(&mut Place { host, stands, .. }) = self.place(source) else { return };
        match stands {
            Stands::Wanted(at) => self.agenda.take(host, at, source),
            Stands::Out => self.out -= 1,
        }
    }

    fn entered(&mut self, now: Time, source: SourceIx, facts: &Facts) {
        let place = Place {
            host: facts.host,
            stands: Stands::Wanted(now),
            failures: 0,
            looks: VecDeque::new(),
            seen: 0,
            plan_at: FIRST,
            plan: None,
            polls: self.polls,
        };
        *grow(&mut self.places, source.ix(), || None) = Some(Box::new(place));
        self.watched += 1;
        let at = if facts.known { self.moment(source, now) } else { now };
        self.want(source, at);
    }

    fn left(&mut self, source: SourceIx) {
        self.lift(source);
        if self.places.get_mut(source.ix()).and_then(Option::take).is_some() {
            self.watched -= 1;
        }
    }

    fn sent(&mut self, source: SourceIx) {
        self.lift(source);
        let Some(place) = self.place(source) else { return };
        place.stands = Stands::Out;
        self.out += 1;
    }

    fn heard(&mut self, now: Time, heard: &Observation) {
        let (settings, polls) = (self.settings, self.polls);
        let Some(place) = self.place(heard.source) else { return };
        place.failures = match heard.verdict {
            Verdict::Lost | Verdict::Unreadable => place.failures + 1,
            Verdict::First | Verdict::Same | Verdict::Changed => 0,
        };
        place.learn(heard, settings, polls);
        let rested = now + rest(place.failures);
        let at = if place.failures > 0 { rested } else { self.moment(heard.source, now) };
        self.out -= 1;
        self.want(heard.source, at);
    }

    /// A round brings polls: everybody's even share of a period's.
    fn round(&mut self, round: &Round) {
        let length = (round.end - round.start).secs();
        if self.settings.polls.is_none() && length > 0.0 && self.watched > 0 {
            let rate = round.polls as f64 / length / f64::from(self.watched);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "clamped to 1..=MOST"
            )]
            let polls =
                (rate * self.settings.period.secs()).floor().clamp(1.0, f64::from(MOST)) as u32;
            self.polls = polls;
        }
    }

    /// The next moment after `now` at which the source is wanted.
    fn moment(&self, source: SourceIx, now: Time) -> Time {
        let Some(Some(place)) = self.places.get(source.ix()) else { return now };
        let about = [u64::from(source.raw()), u64::from(place.seen), now.micros().unsigned_abs()];
        let within = |from: Time, to: Time| {
            let room = usize::try_from((to - from).micros()).unwrap_or(usize::MAX).max(1);
            let steps = i64::try_from(chance::below(room, self.seed, about)).unwrap_or(0);
            from + Span::from_micros(steps + 1)
        };
        if let Some(plan) = &place.plan {
            let next = plan.next_after(now);
            // 53 bits of the draw, as a share
            let draw = (chance::draw(self.seed ^ 1, about) >> 11) as f64 / (1u64 << 53) as f64;
            return if draw < self.settings.explore {
                within(now, plan.next_after(next))
            } else {
                next
            };
        }
        let cell = Span::from_micros(self.settings.period.micros() / i64::from(self.polls.max(1)))
            .max(Span::TICK);
        let number = now.micros().div_euclid(cell.micros());
        let drawn = |number: i64| {
            let room = usize::try_from(cell.micros()).unwrap_or(1);
            let about = [u64::from(source.raw()), number.unsigned_abs()];
            let offset = if self.settings.method == Method::Uniform {
                // everybody's own, the same in every period
                chance::below(room, self.seed, [u64::from(source.raw())])
            } else {
                chance::below(room, self.seed, about)
            };
            Time::from_micros(number.saturating_mul(cell.micros()))
                + Span::from_micros(i64::try_from(offset).unwrap_or(0))
        };
        let here = drawn(number);
        if here > now { here } else { drawn(number.saturating_add(1)).max(now + Span::TICK) }
    }
}

impl Place {
    /// Keeps what was seen, and plans anew when enough was.
    fn learn(&mut self, heard: &Observation, settings: Settings, polls: u32) {
        let (Some(from), Verdict::Same | Verdict::Changed) = (heard.since, heard.verdict) else {
            return;
        };
        let told = heard
            .age
            .map(|age| Time::from_micros(heard.sent.micros().saturating_sub(age.micros())));
        let changed = heard.verdict == Verdict::Changed;
        if self.looks.len() == LOOKS {
            self.looks.pop_front();
        }
        self.looks.push_back(Look { from, to: heard.sent, changed, told });
        self.seen = self.seen.saturating_add(1);
        if settings.method != Method::Uniform
            && (self.seen >= self.plan_at || (self.plan.is_some() && self.polls != polls))
        {
            self.plan_at = self.seen.saturating_add((self.seen / 2).clamp(1, EVERY));
            self.polls = polls;
            self.plan =
                settings.grid().and_then(|grid| self.planned(grid, settings, polls as usize));
        }
    }

    /// The best moments by what was seen; `None` if it shows no rhythm.
    fn planned(&self, grid: Grid, settings: Settings, polls: usize) -> Option<Strategy> {
        let changed = || self.looks.iter().filter(|look| look.changed);
        let told: Vec<Time> = changed().filter_map(|look| look.told).collect();
        let all_told = !told.is_empty() && told.len() == changed().count();
        let strategy = match settings.method {
            Method::Empirical if all_told => {
                empirical::plan(grid, &told, settings.aim, polls).ok()?.strategy
            }
            Method::Modelled if all_told => {
                let history = History::new(grid, &told);
                Model::fitted(&history, best_bins(&history)).strategy(polls)
            }
            _ => {
                let found =
                    |look: &Look| if look.changed { Found::Something } else { Found::Nothing };
                let secs = |t: Time| t.micros() as f64 / 1e6;
                let evidence: Vec<Evidence> = self
                    .looks
                    .iter()
                    .map(|look| Evidence {
                        from: secs(look.from),
                        to: secs(look.to),
                        found: found(look),
                    })
                    .collect();
                learned::plan(grid, &evidence, settings.aim, polls)?.strategy
            }
        };
        (!strategy.polls().is_empty()).then(|| strategy.filled(polls))
    }
}

impl Policy for Timed {
    fn tell(&mut self, now: Time, event: &Event, _beliefs: &dyn Beliefs) {
        match event {
            Event::Entered(source, facts) => self.entered(now, *source, facts),
            Event::Left(source) => self.left(*source),
            Event::Round(round) => self.round(round),
            Event::Sent(source, _) => self.sent(*source),
            Event::Heard(heard) => self.heard(now, heard),
            Event::Host(host, gate) => self.agenda.gate(*host, *gate),
            Event::Manners(..) | Event::Visit(_) | Event::Pinned(..) => {}
        }
    }

    fn next(&self, now: Time, _left: f64, _beliefs: &dyn Beliefs) -> Next {
        match self.agenda.first() {
            Some((at, source)) if at <= now => Next::Poll(source, Purpose::Look),
            Some((at, _)) => Next::WaitUntil(at),
            None if self.out > 0 => Next::WaitForAnswer,
            None => Next::WaitUntil(Time::MAX),
        }
    }

    fn why(&self, source: SourceIx, now: Time, _beliefs: &dyn Beliefs) -> String {
        let Some(Some(place)) = self.places.get(source.ix()) else {
            return "it is not watched".to_owned();
        };
        let Stands::Wanted(at) = place.stands else {
            return "a poll of it is under way".to_owned();
        };
        let wait = Span::from_secs((at - now).micros() / 1_000_000);
        if place.failures > 0 {
            return format!(
                "its last {} polls told nothing, so it rests for {wait}",
                place.failures
            );
        }
        let period = self.settings.period;
        match &place.plan {
            Some(plan) => {
                let moments: Vec<String> = plan.polls().iter().map(ToString::to_string).collect();
                format!(
                    "planned from {} looks: at {} of every {period}; next in {wait}",
                    place.looks.len(),
                    moments.join(", ")
                )
            }
            None => format!(
                "no rhythm is known after {} looks: {} a {period}, at moments drawn anew; next in {wait}",
                place.looks.len(),
                if self.polls == 1 {
                    "one poll".to_owned()
                } else {
                    format!("{} polls", self.polls)
                }
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Spec;
    use crate::scheduler::Settings as SchedulerSettings;
    use crate::utility::Worth;
    use crate::{Budget, Scheduler, SiteIx};

    /// One source that changes daily at `hour` of the day, watched for `days`; the mean wait of the last thirty changes.
    fn waits(policy: &str, days: i64, hour: impl Fn(i64) -> i64) -> f64 {
        let spec: Spec = policy.parse().unwrap();
        let budget = Budget::flow(1_000, Span::DAY);
        let mut scheduler = Scheduler::new(
            spec.build(2),
            SchedulerSettings { budget, ..SchedulerSettings::default() },
        );
        let facts = Facts {
            site: SiteIx::FIRST,
            host: HostIx::FIRST,
            importance: 1.0,
            known: true,
            worth: Worth::default(),
        };
        scheduler.tell(Time::ZERO, Event::Entered(SourceIx::FIRST, facts));
        scheduler.tell(Time::ZERO, Event::Round(Round::of(1, Time::ZERO, Time::MAX, 4)));
        let change = |day: i64| {
            let late = i64::try_from(chance::draw(1, [day.unsigned_abs()]) % 1_200).unwrap();
            Time::from_secs(day * 86_400 + hour(day) * 3_600 + late)
        };
        let (mut now, mut day, mut last, mut polls) = (Time::ZERO, 0, Time::ZERO, 0i64);
        let mut waited = Vec::new();
        while day < days {
            match scheduler.next(now) {
                Next::Poll(source, purpose) => {
                    scheduler.tell(now, Event::Sent(source, purpose));
                    let mut verdict = Verdict::Same;
                    let mut age = None;
                    while change(day) <= now {
                        waited.push((now - change(day)).secs());
                        (verdict, age) = (Verdict::Changed, Some(now - change(day)));
                        day += 1;
                    }
                    let heard =
                        Observation { source, purpose, sent: now, since: Some(last), verdict, age };
                    scheduler.tell(now, Event::Heard(heard));
                    last = now;
                    polls += 1;
                }
                Next::WaitUntil(until) => now = until,
                other => panic!("{other:?}"),
            }
        }
        assert!((polls - 4 * days).abs() <= days / 2, "{polls} polls in {days} days");
        let newest = &waited[waited.len() - 30..];
        newest.iter().sum::<f64>() / 30.0 / 3_600.0
    }

    /// Four even polls a day wait three hours; planned ones far less, however they are planned.
    #[test]
    fn polls_gather_where_changes_are() {
        let uniform = waits("timed(polls=4,method=uniform)", 120, |_| 9);
        let profile = waits("timed(polls=4)", 120, |_| 9);
        let exact = waits("timed(polls=4,method=empirical)", 120, |_| 9);
        let modelled = waits("timed(polls=4,method=modelled)", 120, |_| 9);
        assert!(
            profile < 0.5 * 3.0 && exact < 0.5 * 3.0 && modelled < 3.0,
            "{uniform} {profile} {exact} {modelled}"
        );
    }

    #[test]
    fn a_source_that_moves_is_noticed() {
        let moved = waits("timed(polls=4)", 300, |day| if day < 150 { 9 } else { 21 });
        assert!(moved < 0.5 * 3.0, "{moved}");
    }

    #[test]
    fn settings_are_checked() {
        let say = |text: &str| text.parse::<Spec>().unwrap_err().to_string();
        assert!(say("timed(period=1h,grid=7m)").contains("whole number"));
        assert!(say("timed(polls=0)").contains("auto"));
        assert!(say("timed(method=guess)").contains("`guess`"));
        assert!(say("timed(period=soon)").contains("`soon`"));
        assert!(say("timed(explore=2)").contains("explore"));
        for fine in ["timed", "timed(period=1h)", "timed(period=1w,polls=14)", "timed(period=47m)"]
        {
            assert!(fine.parse::<Spec>().is_ok(), "{fine}");
        }
    }
}
