//! Plans from what polls have shown: a change is only known to lie between two of them.
//!
//! A [`Profile`] is learned from the polls, tested for a rhythm, and the exact optimum for what it makes one expect is the
//! plan ([`Expected`]). A source that moves makes its old polls misleading: of all, the last half, the last quarter …
//! those are believed under which the newest eighth of the polls is likeliest.
//!
//! ```text
//! quiet (a, b], quiet (b, c]    one look, quiet (a, c]: −Λ adds up, so nothing is lost while both end in one period
//! changed (a, b], told at t     a change at the end of (a, t], then quiet (t, b]; only if a < t < b
//! ```
//!
//! Paper: CR-20, CR-23; B9 (`docs/papers/polling-times.md`).

use dynamics::profile::rhythm::{self, chance_of_none, periods_seen};
use dynamics::profile::{Evidence, Found, Profile};
use serde::{Deserialize, Serialize};

use super::cost::{Expected, missed};
use super::empirical::Aim;
use super::history::Grid;
use super::{Strategy, circle};
use crate::{Observation, Span, Time, Verdict};

/// What one answer showed of (from, to].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// After the look before.
    pub from: Time,
    /// Up to and with this moment.
    pub to: Time,
    /// What happened.
    pub saw: Saw,
}

/// What a look saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Saw {
    /// No change.
    Nothing,
    /// A change, some time.
    Change,
    /// A change, the newest at this moment.
    ChangeAt(Time),
}

impl Look {
    /// `None` if the answer says nothing about a stretch of time. A moment outside that stretch is not believed.
    pub fn of(heard: &Observation) -> Option<Self> {
        let (from, to) = (heard.since?, heard.sent);
        let told = |age: Span| Time::from_micros(to.micros().saturating_sub(age.micros()));
        let saw = match heard.verdict {
            Verdict::Same => Saw::Nothing,
            Verdict::Changed => heard
                .age
                .map(told)
                .filter(|&told| from < told && told < to)
                .map_or(Saw::Change, Saw::ChangeAt),
            Verdict::First | Verdict::Unreadable | Verdict::Lost => return None,
        };
        (from < to).then_some(Self { from, to, saw })
    }

    /// This look and the next as one, if that tells as much of a source with this period.
    pub fn joined(&self, next: &Self, period: Span) -> Option<Self> {
        let number = |look: &Self| look.to.micros().div_euclid(period.micros().max(1));
        let quiet = self.saw == Saw::Nothing && next.saw == Saw::Nothing;
        (quiet && self.to == next.from && number(self) == number(next))
            .then_some(Self { from: self.from, ..*next })
    }

    /// For a profile.
    pub fn evidence(&self) -> impl Iterator<Item = Evidence> + use<> {
        let (from, to) = (self.from.secs(), self.to.secs());
        let (first, rest) = match self.saw {
            Saw::Nothing => (Evidence { from, to, found: Found::Nothing }, None),
            Saw::Change => (Evidence { from, to, found: Found::Something }, None),
            Saw::ChangeAt(told) => {
                let told = told.secs();
                let after = Evidence { from: told, to, found: Found::Nothing };
                (Evidence { from, to: told, found: Found::AtTheEnd }, Some(after))
            }
        };
        std::iter::once(first).chain(rest)
    }
}

/// Change times, in order, as evidence: silence, then a change.
pub fn log(changes: &[Time]) -> Vec<Evidence> {
    let times: Vec<f64> = changes.iter().map(|t| t.secs()).collect();
    times.first().map_or(Vec::new(), |&first| Evidence::log(first, &times[1..]))
}

/// A rhythm, and when in it the source changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Learned {
    /// When in its period the source changes.
    pub profile: Profile,
    /// How likely such polls are without a rhythm.
    pub chance_of_none: f64,
}

/// The chance of taking a source without rhythm for one with it.
const ERROR: f64 = 0.01;
/// Parts of the period that are told apart.
const BINS: usize = 48;
/// Kernel, in bins, with which parts of the past are compared.
const WIDTH: f64 = 2.0;

/// The part of the evidence, in order of time, that speaks for now.
fn believed(period: f64, evidence: &[Evidence]) -> &[Evidence] {
    let (past, newest) = evidence.split_at(evidence.len() - evidence.len() / 8);
    let parts = (0..6).map(|halvings| past.len() - (past.len() >> halvings));
    let enough = |from: &usize| periods_seen(period, &past[*from..]) >= rhythm::FEWEST;
    let tried = parts.take_while(enough).map(|from| {
        let profile = Profile::smoothed(period, BINS, &past[from..], WIDTH);
        (newest.iter().map(|e| profile.likelihood(e)).sum::<f64>(), from)
    });
    // a shorter memory must be clearly better
    let best = tried.reduce(|best, next| if next.0 > best.0 + 2.0 { next } else { best });
    &evidence[best.map_or(0, |(_, from)| from)..]
}

/// What evidence in order of time says of a source; `None` if it shows no rhythm of this period.
pub fn learn(grid: Grid, evidence: &[Evidence]) -> Option<Learned> {
    let period = grid.period().secs();
    if periods_seen(period, evidence) < rhythm::FEWEST {
        return None;
    }
    let evidence = believed(period, evidence);
    let chance_of_none = chance_of_none(period, evidence).filter(|chance| *chance <= ERROR)?;
    let (profile, gain) = Profile::fit(period, BINS.min(grid.slots()), evidence);
    (gain > 0.0).then_some(Learned { profile, chance_of_none })
}

impl Learned {
    /// The best `polls` polls.
    pub fn strategy(&self, grid: Grid, aim: Aim, polls: usize) -> Strategy {
        let rate = self.profile.by_slot(grid.slots());
        let cost = Expected::new(&rate, &aim.objective_expected(grid.slots()));
        let (_, slots) = circle::best(&cost, polls);
        Strategy::new(grid.period(), slots.iter().map(|&slot| grid.moment(slot)))
    }
}

impl std::fmt::Display for Learned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Profile { smoothing, changes, .. } = self.profile;
        let parts = self.profile.rates().len();
        write!(f, "a profile of {parts} parts, smoothed over {smoothing}, of {changes} changes")
    }
}

/// Recall and seconds of delay that a profile makes one expect of a strategy; `None` without polls.
pub fn expects(profile: &Profile, strategy: &Strategy) -> Option<(f64, f64)> {
    let period = profile.period();
    let polls: Vec<f64> = strategy.polls().iter().map(|poll| poll.secs()).collect();
    let next = polls.iter().skip(1).copied().chain([polls.first()? + period]);
    let (mut misses, mut waited) = (0.0, 0.0);
    for (from, to) in polls.iter().copied().zip(next) {
        misses += missed(profile.expected(from, to));
        waited += profile.waiting(from, to);
    }
    let changes = profile.expected(0.0, period);
    Some((1.0 - misses / changes, waited / changes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Strategy, *};
    use crate::{Purpose, SourceIx, chance};

    /// A change a day at about this hour, seen by four polls a day at moments that wander.
    fn seen(days: std::ops::Range<u64>, hour: u64) -> Vec<Evidence> {
        let draw = |about: [u64; 2], below: u64| (chance::draw(4, about) % below) as f64;
        let change =
            |day: u64| day as f64 * 86_400.0 + hour as f64 * 3_600.0 + draw([day, 9], 1_800);
        let first = days.start as f64 * 86_400.0;
        let polls = days.flat_map(|day| (0..4).map(move |part| (day, part)));
        let mut from = first;
        polls
            .map(|(day, part)| {
                let to = (day * 4 + part) as f64 * 21_600.0 + draw([day, part], 21_600) + 1.0;
                let some = [day.saturating_sub(1), day]
                    .iter()
                    .any(|&day| change(day) > from && change(day) <= to);
                let found = if some { Found::Something } else { Found::Nothing };
                Evidence { from: std::mem::replace(&mut from, to), to, found }
            })
            .collect()
    }

    fn grid() -> Grid {
        Grid::new(Span::DAY, Span::from_secs(900)).unwrap()
    }

    /// Mean hours from a change at `hour` to the next poll.
    fn wait(strategy: &Strategy, hour: i64) -> f64 {
        let changes: Vec<Time> =
            (0..50).map(|day| Time::from_secs(day * 86_400 + hour * 3_600 + 900)).collect();
        strategy.judge(&changes).delay().unwrap() / 3_600.0
    }

    #[test]
    fn polls_gather_behind_the_change() {
        let learned = learn(grid(), &seen(100..160, 9)).unwrap();
        let planned = learned.strategy(grid(), Aim::default(), 4);
        assert!(wait(&planned, 9) < 1.5, "{planned:?}");
        assert!(learned.chance_of_none < 0.01);
        // what is expected is what comes
        let (recall, delay) = expects(&learned.profile, &planned).unwrap();
        assert!(
            recall > 0.5 && (delay / 3_600.0 - wait(&planned, 9)).abs() < 1.0,
            "{recall} {delay}"
        );
        assert_eq!(expects(&learned.profile, &Strategy::new(Span::DAY, [])), None);
    }

    #[test]
    fn a_source_that_moved_is_followed() {
        let mut evidence = seen(100..200, 9);
        evidence.extend(seen(200..240, 20));
        let planned = learn(grid(), &evidence).unwrap().strategy(grid(), Aim::default(), 4);
        assert!(wait(&planned, 20) < 1.5, "{planned:?}");
    }

    #[test]
    fn no_rhythm_no_plan() {
        let odd = |n: u64| chance::draw(6, [n]) % 2 == 0;
        let evidence: Vec<Evidence> = (0..300u64)
            .map(|n| {
                let found = if odd(n) { Found::Something } else { Found::Nothing };
                Evidence { from: n as f64 * 20_000.0, to: (n + 1) as f64 * 20_000.0, found }
            })
            .collect();
        assert_eq!(learn(grid(), &evidence), None);
        assert_eq!(learn(grid(), &evidence[..5]), None);
    }

    /// Fewest misses first: with more polls than it takes to be quick, recall still decides.
    #[test]
    fn each_aim_is_best_by_its_own_measure() {
        let learned = learn(grid(), &seen(100..160, 9)).unwrap();
        let [recall, delay] = [Aim::Recall, Aim::Delay]
            .map(|aim| expects(&learned.profile, &learned.strategy(grid(), aim, 3)).unwrap());
        assert!(recall.0 > delay.0 && recall.1 > delay.1, "{recall:?} {delay:?}");
    }

    fn heard(since: i64, sent: i64, verdict: Verdict, age: Option<i64>) -> Observation {
        Observation {
            source: SourceIx::FIRST,
            purpose: Purpose::Look,
            sent: Time::from_secs(sent),
            since: Some(Time::from_secs(since)),
            verdict,
            age: age.map(Span::from_secs),
        }
    }

    /// A moment before the last look or not before this one is no news about the change.
    #[test]
    fn only_a_moment_between_the_looks_is_believed() {
        let saw = |age| Look::of(&heard(100, 200, Verdict::Changed, age)).unwrap().saw;
        assert_eq!(saw(Some(30)), Saw::ChangeAt(Time::from_secs(170)));
        for age in [None, Some(0), Some(100), Some(5_000), Some(i64::MAX / 2)] {
            assert_eq!(saw(age), Saw::Change, "{age:?}");
        }
        assert_eq!(Look::of(&heard(100, 200, Verdict::Same, Some(30))).unwrap().saw, Saw::Nothing);
        assert_eq!(Look::of(&heard(100, 200, Verdict::Lost, None)), None);
        assert_eq!(Look::of(&heard(200, 200, Verdict::Same, None)), None);
    }

    proptest! {
        /// Joined looks say as much of a profile, and of a rhythm, as all of them.
        #[test]
        fn joining_loses_nothing(gaps in prop::collection::vec((600i64..20_000, 0u8..4), 60..160)) {
            let mut at = 0;
            let mut looks: Vec<Look> = Vec::new();
            let mut joined: Vec<Look> = Vec::new();
            for (gap, luck) in gaps {
                let verdict = if luck == 0 { Verdict::Changed } else { Verdict::Same };
                let age = (luck == 0 && gap % 2 == 0).then_some(gap / 3);
                let look = Look::of(&heard(at, at + gap, verdict, age)).unwrap();
                at += gap;
                looks.push(look);
                match joined.last().and_then(|last| last.joined(&look, Span::DAY)) {
                    Some(both) => *joined.last_mut().unwrap() = both,
                    None => joined.push(look),
                }
            }
            let [all, fewer] = [&looks, &joined]
                .map(|looks| looks.iter().flat_map(Look::evidence).collect::<Vec<_>>());
            let day = Span::DAY.secs();
            let profile = Profile::smoothed(day, 24, &all, 1.0);
            let sum = |evidence: &[Evidence]| evidence.iter().map(|e| profile.likelihood(e)).sum::<f64>();
            prop_assert!((sum(&all) - sum(&fewer)).abs() < 1e-6, "{} {}", sum(&all), sum(&fewer));
            match (chance_of_none(day, &all), chance_of_none(day, &fewer)) {
                (Some(a), Some(b)) => prop_assert!((a - b).abs() < 1e-6, "{a} {b}"),
                (a, b) => prop_assert_eq!(a, b),
            }
        }
    }
}
