//! Timed: poll every source at the moments of its period at which a look is worth most.
//!
//! ```text
//! no rhythm known   N polls a period, one in each N-th of it, at a moment drawn anew every time: the polls wander,
//!                   so that the hours between them are told apart
//! a rhythm known    the best N moments of the period ([`crate::polling_times`]), learned from the polls so far
//! a share explored  instead of the next planned moment, one drawn from now to the one after it: a source that moves
//!                   is noticed
//! N                 as asked, or ⌊polls of a round / its length · period / sources⌋, by the sources there are now
//! ```
//!
//! Plans are made anew as looks come in, from the newest of them; quiet ones in a row are kept as one. A rhythm must show
//! before anything is planned. Then a source whose answers tell when it changed can be planned by the exact optimum of those
//! times (`empirical`) or by the paper's model of them (`modelled`); one that does not is planned by what the polls show
//! (`profile`), whatever was asked. A poll that tells nothing is followed by a rest. What was learned outlives a change of
//! settings (`Timed::take_over`).
//!
//! Paper: CR-03, CR-04 and the sections on the two approaches (`docs/papers/polling-times.md`). Cost: O(log sources) per
//! poll, and a plan of some milliseconds whenever a source's looks have grown by half, by `EVERY` or by a period's.

use std::collections::{BTreeMap, VecDeque};

use dynamics::profile::Evidence;
use serde::{Deserialize, Serialize};

use crate::agenda::Agenda;
use crate::newcomers::rest;
use crate::polling_times::empirical::Aim;
use crate::polling_times::history::{FINE, Grid};
use crate::polling_times::learned::{self, Look, Saw};
use crate::polling_times::{Method, Strategy};
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

/// The shortest period: a live poll takes seconds.
const SHORTEST: Span = Span::from_secs(60);
/// Slots of the grid unless another is asked for.
const USUAL: usize = 288;

impl Settings {
    pub(super) fn read(call: &mut Call) -> Result<Self, Mistake> {
        let wrong = |why: Mistake| Mistake(format!("`timed`: {why}"));
        let span = |call: &mut Call, key: &str, default: Span| -> Result<Span, Mistake> {
            let text: String = call.take(key, default.to_string())?;
            text.parse().map_err(|why| Mistake(format!("`{key}` of `timed`: {why}")))
        };
        let period = span(call, "period", Span::DAY)?;
        if period < SHORTEST {
            return Err(Mistake(format!(
                "`period={period}` of `timed` is too short to plan; take {SHORTEST} or more"
            )));
        }
        let usual = Grid::new(period, Grid::reasonable(period)).map_err(wrong)?.coarser(USUAL);
        let step = span(call, "grid", usual.step())?;
        let grid = Grid::new(period, step).map_err(wrong)?;
        if grid.slots() > FINE {
            return Err(Mistake(format!(
                "`grid={step}` of `timed` cuts {period} into {} moments, more than {FINE}; take a coarser one, such as {}",
                grid.slots(),
                usual.step()
            )));
        }
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

    /// Plans of the one are plans of the other, but for how many polls.
    fn plans_alike(&self, other: &Self) -> bool {
        let plans = |s: &Self| (s.period, s.step, s.method, s.aim);
        plans(self) == plans(other)
    }
}

/// Polls a period, at most.
const MOST: u32 = 1_000;
/// Looks a source is planned by, the newest …
const LOOKS: usize = 256;
/// … or as many more as it takes to see so many periods …
const PERIODS: i64 = 16;
/// … but never more than this: one that changed in all of them has no rhythm to speak of.
const MOST_LOOKS: usize = 2_048;
/// The first plan is made after so many looks …
const FIRST: u32 = 32;
/// … and another at the latest after so many more, or a period's.
const EVERY: u32 = 64;

/// Polls at planned moments.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Timed {
    settings: Settings,
    seed: u64,
    places: Vec<Option<Box<Place>>>,
    /// What an earlier policy learned of sources that are not seated yet.
    kept: BTreeMap<SourceIx, Memory>,
    agenda: Agenda,
    /// Polls a second for all sources together, as the last round had it.
    pace: f64,
    watched: u32,
    out: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Place {
    host: HostIx,
    stands: Stands,
    failures: u32,
    memory: Memory,
}

/// What was seen of a source, and the plan made from it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Memory {
    /// In order; quiet ones in a row are one.
    looks: VecDeque<Look>,
    /// Looks so far, and at which number the next plan is made.
    seen: u32,
    plan_at: u32,
    plan: Option<Strategy>,
    /// For how many polls it was made.
    polls: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stands {
    /// On the agenda from this moment on.
    Wanted(Time),
    /// A poll is under way.
    Out,
}

impl Timed {
    /// With no sources yet.
    pub fn new(settings: Settings, seed: u64) -> Self {
        Self {
            settings,
            seed,
            places: Vec::new(),
            kept: BTreeMap::new(),
            agenda: Agenda::default(),
            pace: 0.0,
            watched: 0,
            out: 0,
        }
    }

    /// Takes over what an earlier one learned; its plans, too, where they answer the same question.
    pub(super) fn take_over(&mut self, old: Self) {
        let alike = self.settings.plans_alike(&old.settings);
        let seated = old.places.into_iter().enumerate();
        let seated = seated.filter_map(|(at, place)| Some((SourceIx::new(at), place?.memory)));
        self.kept = old.kept.into_iter().chain(seated).collect();
        self.pace = old.pace;
        if !alike {
            self.kept.values_mut().for_each(Memory::forget_the_plan);
        }
    }

    fn place(&mut self, source: SourceIx) -> Option<&mut Place> {
        self.places.get_mut(source.ix())?.as_deref_mut()
    }

    /// N of every source.
    fn polls(&self) -> u32 {
        let share = self.pace / f64::from(self.watched.max(1)) * self.settings.period.secs();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to 1..=MOST"
        )]
        let auto = share.floor().clamp(1.0, f64::from(MOST)) as u32;
        self.settings.polls.unwrap_or(auto)
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
        let memory = self.kept.remove(&source).unwrap_or_default();
        let place = Place { host: facts.host, stands: Stands::Wanted(now), failures: 0, memory };
        *grow(&mut self.places, source.ix(), || None) = Some(Box::new(place));
        self.watched += 1;
        let at = if facts.known { self.moment(source, now) } else { now };
        self.want(source, at);
    }

    fn left(&mut self, source: SourceIx) {
        self.lift(source);
        self.kept.remove(&source);
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
        let (settings, polls) = (self.settings, self.polls());
        let Some(place) = self.place(heard.source) else { return };
        place.failures = match heard.verdict {
            Verdict::Lost | Verdict::Unreadable => place.failures + 1,
            Verdict::First | Verdict::Same | Verdict::Changed => 0,
        };
        if let Some(look) = Look::of(heard) {
            place.memory.learn(look, &settings, polls);
        }
        let rested = now + rest(place.failures);
        let at = if place.failures > 0 { rested } else { self.moment(heard.source, now) };
        self.out -= 1;
        self.want(heard.source, at);
    }

    fn round(&mut self, round: &Round) {
        let length = (round.end - round.start).secs();
        if length > 0.0 {
            self.pace = round.polls as f64 / length;
        }
    }

    /// The next moment after `now` at which the source is wanted.
    fn moment(&self, source: SourceIx, now: Time) -> Time {
        let Some(Some(place)) = self.places.get(source.ix()) else { return now };
        match &place.memory.plan {
            Some(plan) => self.planned(source, place.memory.seen, plan, now),
            None => self.wandering(source, now),
        }
    }

    /// The plan's next moment, or an explored one in its stead.
    fn planned(&self, source: SourceIx, seen: u32, plan: &Strategy, now: Time) -> Time {
        let about = [u64::from(source.raw()), u64::from(seen), now.micros().unsigned_abs()];
        let next = plan.next_after(now);
        // 53 bits of the draw, as a share
        let draw = (chance::draw(self.seed ^ 1, about) >> 11) as f64 / (1u64 << 53) as f64;
        if draw >= self.settings.explore {
            return next;
        }
        let room = (plan.next_after(next) - now).micros();
        let steps =
            chance::below(usize::try_from(room).unwrap_or(usize::MAX).max(1), self.seed, about);
        now + Span::from_micros(i64::try_from(steps).unwrap_or(0)) + Span::TICK
    }

    /// A moment of this N-th of the period, or of the next.
    fn wandering(&self, source: SourceIx, now: Time) -> Time {
        let cell = Span::from_micros(self.settings.period.micros() / i64::from(self.polls()))
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

impl Default for Memory {
    fn default() -> Self {
        Self { looks: VecDeque::new(), seen: 0, plan_at: FIRST, plan: None, polls: 1 }
    }
}

impl Memory {
    /// Keeps what was seen, and plans anew when enough was.
    fn learn(&mut self, look: Look, settings: &Settings, polls: u32) {
        self.keep(look, settings.period);
        self.seen = self.seen.saturating_add(1);
        // a plan for about as many polls will do until its time
        let is_off = self.plan.is_some() && 4 * polls.abs_diff(self.polls) > self.polls;
        if settings.method != Method::Uniform && (self.seen >= self.plan_at || is_off) {
            let wait = (self.seen / 2).clamp(1, EVERY.max(polls));
            self.plan_at = self.seen.saturating_add(wait);
            self.polls = polls;
            self.plan = self.planned(settings, polls as usize);
        }
    }

    fn keep(&mut self, look: Look, period: Span) {
        match self.looks.back_mut().map(|last| (last.joined(&look, period), last)) {
            Some((Some(both), last)) => *last = both,
            _ => self.looks.push_back(look),
        }
        let periods = |first: &Look| (look.to - first.to).micros() / period.micros();
        while self.looks.len() > MOST_LOOKS
            || self.looks.len() > LOOKS
                && self.looks.front().is_some_and(|first| periods(first) > PERIODS)
        {
            self.looks.pop_front();
        }
    }

    fn forget_the_plan(&mut self) {
        self.plan = None;
        self.plan_at = self.seen.max(FIRST);
    }

    /// The best moments by what was seen; `None` if it shows no rhythm.
    fn planned(&self, settings: &Settings, polls: usize) -> Option<Strategy> {
        let grid = settings.grid()?;
        let evidence: Vec<Evidence> = self.looks.iter().flat_map(Look::evidence).collect();
        let learned = learned::learn(grid, &evidence)?;
        let strategy = match (settings.method, self.told()) {
            (Method::Empirical | Method::Modelled, Some(told)) => {
                settings.method.plan(grid, &told, settings.aim, polls).ok()?
            }
            _ => learned.strategy(grid, settings.aim, polls),
        };
        (!strategy.polls().is_empty()).then(|| strategy.filled(polls))
    }

    /// When it changed, if all answers told.
    fn told(&self) -> Option<Vec<Time>> {
        let changes = self.looks.iter().filter(|look| look.saw != Saw::Nothing);
        changes
            .map(|look| match look.saw {
                Saw::ChangeAt(told) => Some(told),
                Saw::Nothing | Saw::Change => None,
            })
            .collect()
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
        let (period, memory) = (self.settings.period, &place.memory);
        let how_many = match self.polls() {
            1 => "one poll".to_owned(),
            polls => format!("{polls} polls"),
        };
        match &memory.plan {
            Some(plan) => format!(
                "planned after {} looks: at {} of every {period}; next in {wait}",
                memory.seen,
                some_of(plan.polls())
            ),
            None if self.settings.method == Method::Uniform => {
                format!("{how_many} a {period}, at equal distances; next in {wait}")
            }
            None => format!(
                "no rhythm is known after {} looks: {how_many} a {period}, at moments drawn anew; next in {wait}",
                memory.seen
            ),
        }
    }
}

/// `8h15m, 20h45m`; only the first few.
fn some_of(moments: &[Span]) -> String {
    const MOST: usize = 8;
    let shown: Vec<String> = moments.iter().take(MOST).map(ToString::to_string).collect();
    match moments.len().saturating_sub(MOST) {
        0 => shown.join(", "),
        more => format!("{} and {more} more moments", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::AnyPolicy;
    use crate::policy::Spec;
    use crate::scheduler::Settings as SchedulerSettings;
    use crate::utility::Worth;
    use crate::{Budget, Scheduler, SiteIx};

    /// One source that changes daily at some hour of the day, and how long its changes waited to be seen.
    struct Rig<H> {
        scheduler: Scheduler<AnyPolicy>,
        hour: H,
        /// Its answers say when it changed.
        tells: bool,
        now: Time,
        last: Time,
        /// Of the next change.
        day: i64,
        polls: i64,
        /// In hours.
        waited: Vec<f64>,
    }

    impl<H: Fn(i64) -> i64 + Copy> Rig<H> {
        fn new(policy: &str, hour: H) -> Self {
            let spec: Spec = policy.parse().unwrap();
            let budget = Budget::flow(1_000, Span::DAY);
            let settings = SchedulerSettings { budget, ..SchedulerSettings::default() };
            let mut scheduler = Scheduler::new(spec.build(2), settings);
            let facts = Facts {
                site: SiteIx::FIRST,
                host: HostIx::FIRST,
                importance: 1.0,
                known: true,
                worth: Worth::default(),
            };
            scheduler.tell(Time::ZERO, Event::Entered(SourceIx::FIRST, facts));
            scheduler.tell(Time::ZERO, Event::Round(Round::of(1, Time::ZERO, Time::MAX, 4)));
            let waited = Vec::new();
            let (now, last) = (Time::ZERO, Time::ZERO);
            Self { scheduler, hour, tells: false, now, last, day: 0, polls: 0, waited }
        }

        fn change(&self) -> Time {
            let late = i64::try_from(chance::draw(1, [self.day.unsigned_abs()]) % 1_200).unwrap();
            Time::from_secs(self.day * 86_400 + (self.hour)(self.day) * 3_600 + late)
        }

        /// Runs until so many changes were seen.
        fn run(mut self, days: i64) -> Self {
            while self.day < days {
                match self.scheduler.next(self.now) {
                    Next::Poll(source, purpose) => self.poll(source, purpose),
                    Next::WaitUntil(until) => self.now = until,
                    other => panic!("{other:?}"),
                }
            }
            self
        }

        fn poll(&mut self, source: SourceIx, purpose: Purpose) {
            let now = self.now;
            self.scheduler.tell(now, Event::Sent(source, purpose));
            let (mut verdict, mut age) = (Verdict::Same, None);
            while self.change() <= now {
                let wait = now - self.change();
                self.waited.push(wait.secs() / 3_600.0);
                (verdict, age) = (Verdict::Changed, self.tells.then_some(wait));
                self.day += 1;
            }
            let since = Some(self.last);
            let heard = Observation { source, purpose, sent: now, since, verdict, age };
            self.scheduler.tell(now, Event::Heard(heard));
            self.last = now;
            self.polls += 1;
        }

        fn why(&self) -> String {
            self.scheduler.why(SourceIx::FIRST, self.now).because
        }

        /// Mean hours of the last thirty changes.
        fn wait(&self) -> f64 {
            self.waited[self.waited.len() - 30..].iter().sum::<f64>() / 30.0
        }
    }

    /// The mean wait of the last thirty changes, at four polls a day.
    fn waits<H: Fn(i64) -> i64 + Copy>(rig: Rig<H>, days: i64) -> f64 {
        let rig = rig.run(days);
        let asked = 4 * days;
        assert!((rig.polls - asked).abs() <= asked / 8, "{} polls in {days} days", rig.polls);
        rig.wait()
    }

    /// Four even polls a day wait three hours; planned ones far less, however they are planned.
    #[test]
    fn polls_gather_where_changes_are() {
        let silent = |method: &str| Rig::new(&format!("timed(polls=4,method={method})"), |_| 9);
        let telling = |method| Rig { tells: true, ..silent(method) };
        let (uniform, profile) = (waits(silent("uniform"), 120), waits(silent("profile"), 120));
        // one offset of the even polls, not their mean: the same wait every day
        assert!((0.0..6.0).contains(&uniform), "{uniform}");
        assert!(profile < 1.5, "{profile}");
        let (told, exact) = (waits(telling("profile"), 120), waits(telling("empirical"), 120));
        let modelled = waits(telling("modelled"), 120);
        assert!(told < 1.0 && exact < 1.0 && modelled < 1.5, "{told} {exact} {modelled}");
    }

    /// Forty-eight even polls a day wait a quarter of an hour. So many looks a day must not push the days out of memory.
    #[test]
    fn many_polls_a_period_are_planned_too() {
        let rig = Rig::new("timed(polls=48)", |_| 9).run(60);
        assert!(
            rig.why().contains("planned") && rig.why().contains("more moments"),
            "{}",
            rig.why()
        );
        assert!(rig.wait() < 0.125, "{}", rig.wait());
    }

    /// The tenth of the polls that looks elsewhere finds the new hour sooner than a plan that only fails does.
    #[test]
    fn a_source_that_moves_is_noticed() {
        let moves = |day: i64| if day < 150 { 9 } else { 21 };
        let after_the_move = |policy: &str| {
            let rig = Rig::new(policy, moves).run(300);
            assert!(rig.wait() < 1.5, "{policy}: {} hours in the end", rig.wait());
            rig.waited[150..].iter().sum::<f64>()
        };
        let explored = after_the_move("timed(polls=4)");
        let unexplored = after_the_move("timed(polls=4,explore=0)");
        assert!(
            explored < 0.8 * unexplored,
            "{explored} hours in all, {unexplored} without exploring"
        );
    }

    /// A snapshot of a source with a plan goes on as the original does.
    #[test]
    fn a_plan_outlives_a_snapshot() {
        let mut rig = Rig::new("timed(polls=4)", |_| 9).run(60);
        assert!(rig.why().contains("planned"), "{}", rig.why());
        let bytes = postcard::to_stdvec(&rig.scheduler).unwrap();
        let original = rig.waited.clone();
        rig.scheduler = postcard::from_bytes(&bytes).unwrap();
        let rig = rig.run(90);
        let straight = Rig::new("timed(polls=4)", |_| 9).run(90);
        assert_eq!(rig.waited, straight.waited);
        assert!(rig.waited.starts_with(&original));
    }

    /// Other settings keep what was seen; the same question keeps the plan.
    #[test]
    fn what_was_learned_outlives_a_change_of_settings() {
        let settings = SchedulerSettings {
            budget: Budget::flow(900, Span::DAY),
            ..SchedulerSettings::default()
        };
        let change = |policy: &str| {
            let mut rig = Rig::new("timed(polls=4)", |_| 9).run(60);
            let policy = policy.parse::<Spec>().unwrap().build(2);
            rig.scheduler.change(rig.now, policy, settings);
            rig
        };
        let same = change("timed(polls=4,explore=0.2)");
        assert!(same.why().contains("planned"), "{}", same.why());
        let other = change("timed(polls=4,aim=delay)");
        assert!(other.why().contains("no rhythm is known after"), "{}", other.why());
        assert!(!other.why().contains("after 0 looks"), "{}", other.why());
        let planned_again = other.run(62);
        assert!(planned_again.why().contains("planned"), "{}", planned_again.why());
        let gone = change("round-robin");
        assert!(!gone.why().contains("planned"), "{}", gone.why());
    }

    /// 96 polls a day: 48 for each of two sources, whenever they came, 32 for each of three.
    #[test]
    fn an_even_share_is_of_the_sources_there_are() {
        let Spec::Timed(settings) = "timed".parse().unwrap() else { panic!() };
        let mut timed = Timed::new(settings, 1);
        let learner = crate::learner::Learner::default();
        let enters = |timed: &mut Timed, at| {
            let facts = Facts {
                site: SiteIx::FIRST,
                host: HostIx::FIRST,
                importance: 1.0,
                known: true,
                worth: Worth::default(),
            };
            timed.tell(Time::ZERO, &Event::Entered(SourceIx::new(at), facts), &learner);
        };
        assert_eq!(timed.polls(), 1);
        let round = Round::of(1, Time::ZERO, Time::ZERO + Span::DAY, 96);
        timed.tell(Time::ZERO, &Event::Round(round), &learner);
        (0..2).for_each(|at| enters(&mut timed, at));
        assert_eq!(timed.polls(), 48);
        enters(&mut timed, 2);
        assert_eq!(timed.polls(), 32);
        timed.tell(Time::ZERO, &Event::Left(SourceIx::FIRST), &learner);
        assert_eq!(timed.polls(), 48);
    }

    #[test]
    fn settings_are_checked() {
        let say = |text: &str| text.parse::<Spec>().unwrap_err().to_string();
        assert!(say("timed(period=1h,grid=7m)").contains("whole number"));
        assert!(say("timed(period=10s)").contains("`period=10s`"));
        assert!(say("timed(period=1d,grid=1s)").contains("such as 5m"));
        assert!(say("timed(polls=0)").contains("auto"));
        assert!(say("timed(method=guess)").contains("`guess`"));
        assert!(say("timed(aim=fast)").contains("`fast`"));
        assert!(say("timed(period=soon)").contains("`soon`"));
        assert!(say("timed(explore=2)").contains("explore"));
        for fine in [
            "timed",
            "timed(period=1h)",
            "timed(period=1w,polls=14)",
            "timed(period=47m)",
            "timed(period=8d1s)",
            "timed(aim=0.2)",
        ] {
            assert!(fine.parse::<Spec>().is_ok(), "{fine}");
        }
    }
}
