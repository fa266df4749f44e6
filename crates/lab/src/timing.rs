//! A plan of polling times with what speaks for it: what it would have done, what it does on changes it was not made
//! from, and what one poll more or fewer would do. What `tidewatch plan times` prints.
//!
//! From change times: *expected* is the plan on all of them, *held out* a plan made from the first 60 % of the time and
//! judged on the rest. From polls nothing is known about the hour of a change but between which polls it lies: *expected* is
//! by the profile learned from them, *held out* a plan from the first 60 % by the profile of the rest. Where the period is
//! found out, nothing is held out unless the first 60 % show the same.

use dynamics::profile::rhythm::{self, Rhythm};
use dynamics::profile::{Evidence, Found, Profile};
use rayon::prelude::*;
use schedule::polling_times::empirical::Aim;
use schedule::polling_times::history::Grid;
use schedule::polling_times::learned::{self, Learned, log};
use schedule::polling_times::{Judged, Method, Strategy};
use schedule::spec::Mistake;
use schedule::{Span, Time};
use serde::Serialize;

use crate::score::mean;

/// Periods that are tried, in seconds, with the bins they are learned in.
const PERIODS: [(f64, usize); 3] = [(3_600.0, 30), (86_400.0, 48), (604_800.0, 56)];
/// The newest changes or polls a period is chosen by.
const NEWEST: usize = 2_000;
/// Parts of the period a profile is drawn in.
const BINS: usize = 48;
/// Offsets over which even polls are averaged.
const OFFSETS: i64 = 12;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// T; found out if not given.
    pub period: Option<Span>,
    /// Moments that are told apart; a reasonable grid if not given.
    pub grid: Option<Span>,
    /// N
    pub polls: usize,
    /// How to plan.
    pub method: Method,
    /// What for.
    pub aim: Aim,
}

/// A plan and what speaks for it.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// T
    pub period_seconds: f64,
    /// Of the grid.
    pub grid_seconds: f64,
    /// Changes behind it.
    pub changes: usize,
    /// Changes or polls behind it.
    pub observations: usize,
    /// How likely such changes are without a rhythm of this period; `None` with too few periods to say.
    pub chance_of_no_rhythm: Option<f64>,
    /// What the plan rests on, in words.
    pub basis: String,
    /// Polls asked for; a plan can do with fewer.
    pub polls: usize,
    /// When to poll, since the period's start.
    pub at_seconds: Vec<f64>,
    /// The same for people.
    pub at: Vec<String>,
    /// One poll fewer, as many as asked for, one more.
    pub choices: Vec<Choice>,
    /// Changes expected in each part of the period.
    #[serde(skip)]
    pub profile: Profile,
}

/// What so many polls would do.
#[derive(Clone, Debug, Serialize)]
pub struct Choice {
    /// N
    pub polls: usize,
    /// When.
    pub at: Vec<String>,
    /// On everything known.
    pub expected: Option<Versus>,
    /// On what the plan was not made from.
    pub held_out: Option<Versus>,
}

/// Planned beside even polls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Versus {
    /// Of the plan.
    pub recall: f64,
    /// Of the plan.
    pub delay_seconds: f64,
    /// Of even polls, mean over their offsets.
    pub uniform_recall: f64,
    /// Of even polls, mean over their offsets.
    pub uniform_delay_seconds: f64,
}

impl Versus {
    /// On changes that happened.
    fn judged(strategy: &Strategy, polls: usize, changes: &[Time]) -> Option<Self> {
        let (planned, uniform) = (strategy.judge(changes), even(strategy.period(), polls, changes));
        Some(Self {
            recall: planned.recall()?,
            delay_seconds: planned.delay()?,
            uniform_recall: uniform.recall()?,
            uniform_delay_seconds: uniform.delay()?,
        })
    }

    /// By a profile.
    fn foretold(strategy: &Strategy, polls: usize, profile: &Profile) -> Option<Self> {
        let (recall, delay_seconds) = learned::expects(profile, strategy)?;
        let even = offsets(strategy.period(), polls)
            .filter_map(|even| learned::expects(profile, &even))
            .collect::<Vec<_>>();
        Some(Self {
            recall,
            delay_seconds,
            uniform_recall: mean(even.iter().map(|foretold| foretold.0))?,
            uniform_delay_seconds: mean(even.iter().map(|foretold| foretold.1))?,
        })
    }
}

/// Even polls, over all of their offsets together.
pub fn even(period: Span, polls: usize, changes: &[Time]) -> Judged {
    offsets(period, polls).map(|strategy| strategy.judge(changes)).sum()
}

/// The first 60 % of the time, and the rest.
pub fn cut(changes: &[Time]) -> (&[Time], &[Time]) {
    let cut = changes.first().zip(changes.last()).map_or(Time::ZERO, |(&first, &last)| {
        first + Span::from_micros((last - first).micros() / 10 * 6)
    });
    changes.split_at(changes.partition_point(|&t| t <= cut))
}

fn offsets(period: Span, polls: usize) -> impl Iterator<Item = Strategy> {
    let gap = period.micros() / i64::try_from(polls).unwrap_or(1).max(1);
    (0..OFFSETS)
        .map(move |at| Strategy::uniform(period, polls, Span::from_micros(gap * at / OFFSETS)))
}

/// Periods not much shorter than the usual gap between changes: a source that changes twice a day at five past the hour is
/// polled by the day, not by the hour.
fn periods(gap: f64) -> Vec<(f64, usize)> {
    PERIODS.into_iter().filter(|(period, _)| 2.0 * period >= gap).collect()
}

/// The rhythm change times show, if any: hourly, daily or weekly, or a clock of the source's own.
pub fn rhythm_of(changes: &[Time]) -> Option<Rhythm> {
    let newest = &changes[changes.len().saturating_sub(NEWEST)..];
    let times: Vec<f64> = newest.iter().map(|t| t.secs()).collect();
    let mut gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_by(f64::total_cmp);
    let usual = gaps.get(gaps.len() / 2).copied().unwrap_or(0.0);
    rhythm::choose(&periods(usual), &log(newest)).or_else(|| {
        let own = Span::from_secs_f64(rhythm::detect(&times)?.round());
        rhythm::choose(&[(own.secs(), 30)], &log(newest))
    })
}

/// The period of a rhythm.
fn period_of(found: Option<Rhythm>) -> Option<Span> {
    found.map(|rhythm| Span::from_secs_f64(rhythm.profile.period()))
}

/// The grid of a question whose period may have been found out.
fn grid(question: &Question, found: Option<Span>) -> Result<Grid, Mistake> {
    let period = question.period.or(found).unwrap_or(Span::DAY);
    Grid::new(period, question.grid.unwrap_or_else(|| Grid::reasonable(period)))
}

/// One poll fewer, as many as asked for, one more.
fn around(polls: usize) -> impl Iterator<Item = usize> {
    polls.saturating_sub(1).max(1)..=polls + 1
}

/// Plans from change times, in order.
pub fn from_changes(changes: &[Time], question: &Question) -> Result<Answer, Mistake> {
    let Question { method, aim, polls, .. } = *question;
    let (past, future) = cut(changes);
    let (found, found_then) = match question.period {
        Some(_) => (None, None),
        None => (period_of(rhythm_of(changes)), period_of(rhythm_of(past))),
    };
    let grid = grid(question, found)?;
    let planner = method.learn(grid, changes, aim, polls)?;
    let then = if found == found_then { Some(method.learn(grid, past, aim, polls)?) } else { None };
    let mut choices = Vec::new();
    for polls in around(polls) {
        let strategy = planner.strategy(polls)?;
        let held_out = match &then {
            Some(then) => Versus::judged(&then.strategy(polls)?, polls, future),
            None => None,
        };
        let expected = Versus::judged(&strategy, polls, changes);
        choices.push((strategy, polls, expected, held_out));
    }
    let evidence = log(&changes[changes.len().saturating_sub(NEWEST)..]);
    Ok(Answer::of(
        grid,
        polls,
        choices,
        Basis {
            changes: changes.len(),
            observations: changes.len(),
            chance_of_no_rhythm: rhythm::chance_of_none(grid.period().secs(), &evidence),
            words: planner.to_string(),
            profile: drawn(grid, &evidence),
        },
    ))
}

/// The same for many sources at once, each with its changes and its polls; `tick` hears of every one done.
pub fn from_many(
    sources: &[(Vec<Time>, usize)],
    question: &Question,
    tick: &(dyn Fn() + Sync),
) -> Result<Vec<Answer>, Mistake> {
    let one = |(changes, polls): &(Vec<Time>, usize)| {
        let answer = from_changes(changes, &Question { polls: *polls, ..*question });
        tick();
        answer
    };
    sources.par_iter().map(one).collect()
}

/// When in its period the source changes, for a drawing.
fn drawn(grid: Grid, evidence: &[Evidence]) -> Profile {
    Profile::fit(grid.period().secs(), BINS.min(grid.slots()), evidence).0
}

/// What a plan rests on.
struct Basis {
    changes: usize,
    observations: usize,
    chance_of_no_rhythm: Option<f64>,
    words: String,
    profile: Profile,
}

impl Answer {
    fn of(
        grid: Grid,
        polls: usize,
        choices: Vec<(Strategy, usize, Option<Versus>, Option<Versus>)>,
        basis: Basis,
    ) -> Self {
        let asked = choices.iter().find(|choice| choice.1 == polls).map(|choice| &choice.0);
        let at_seconds = asked.map(|plan| plan.polls().iter().map(|poll| poll.secs()).collect());
        Self {
            period_seconds: grid.period().secs(),
            grid_seconds: grid.step().secs(),
            changes: basis.changes,
            observations: basis.observations,
            chance_of_no_rhythm: basis.chance_of_no_rhythm,
            basis: basis.words,
            polls,
            at_seconds: at_seconds.unwrap_or_default(),
            at: asked.map(moments).unwrap_or_default(),
            choices: choices
                .into_iter()
                .map(|(plan, polls, expected, held_out)| Choice {
                    polls,
                    at: moments(&plan),
                    expected,
                    held_out,
                })
                .collect(),
            profile: basis.profile,
        }
    }
}

/// Plans from polls, in order of time.
pub fn from_polls(evidence: &[Evidence], question: &Question) -> Result<Answer, Mistake> {
    let Question { method, aim, polls, .. } = *question;
    let newest = &evidence[evidence.len().saturating_sub(NEWEST)..];
    let (past, future) = cut_polls(newest);
    let (found, found_then) = match question.period {
        Some(_) => (None, None),
        None => (period_of(rhythm_of_polls(newest)), period_of(rhythm_of_polls(past))),
    };
    let grid = grid(question, found)?;
    let learn = |evidence: &[Evidence]| match method {
        Method::Uniform => None,
        _ => learned::learn(grid, evidence),
    };
    let plan = |learned: Option<&Learned>, polls: usize| match learned {
        Some(learned) => learned.strategy(grid, aim, polls),
        None => Strategy::uniform(grid.period(), polls, Span::ZERO),
    };
    let (now, then) = (learn(newest), learn(past));
    let profile = now.as_ref().map_or_else(|| drawn(grid, newest), |now| now.profile.clone());
    let after = drawn(grid, future);
    let choices = around(polls).map(|polls| {
        let strategy = plan(now.as_ref(), polls);
        let held_out = Versus::foretold(&plan(then.as_ref(), polls), polls, &after)
            .filter(|_| found == found_then && after.changes > 0);
        let expected = Versus::foretold(&strategy, polls, &profile);
        (strategy, polls, expected, held_out)
    });
    let words = match (&now, method) {
        (Some(learned), _) => learned.to_string(),
        (None, Method::Uniform) => "equal distances, as asked".to_owned(),
        (None, _) => "no rhythm: equal distances".to_owned(),
    };
    Ok(Answer::of(
        grid,
        polls,
        choices.collect(),
        Basis {
            changes: evidence.iter().filter(|e| e.found != Found::Nothing).count(),
            observations: evidence.len(),
            chance_of_no_rhythm: rhythm::chance_of_none(grid.period().secs(), newest),
            words,
            profile,
        },
    ))
}

/// The polls of the first 60 % of the time, and the rest.
fn cut_polls(evidence: &[Evidence]) -> (&[Evidence], &[Evidence]) {
    let cut = evidence
        .first()
        .zip(evidence.last())
        .map_or(0.0, |(first, last)| first.from + 0.6 * (last.to - first.from));
    evidence.split_at(evidence.partition_point(|e| e.to <= cut))
}

/// The rhythm polls show, if any.
fn rhythm_of_polls(evidence: &[Evidence]) -> Option<Rhythm> {
    let watched: f64 = evidence.iter().map(|e| e.to - e.from).sum();
    let changes = evidence.iter().filter(|e| e.found != Found::Nothing).count();
    rhythm::choose(&periods(watched / changes.max(1) as f64), evidence)
}

/// 1970 began on a Thursday.
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

/// Moments as people write them: `:05` of an hour, `08:15` of a day, `Mon 08:15` of a week, else `12m30s` since the
/// period's start.
pub fn moments(strategy: &Strategy) -> Vec<String> {
    let one = |poll: &Span| {
        let seconds = poll.micros() / 1_000_000;
        let (day, hour, minute, second) =
            (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
        let tail = if second == 0 { String::new() } else { format!(":{second:02}") };
        match strategy.period().micros() / 1_000_000 {
            3_600 => format!(":{minute:02}{tail}"),
            86_400 => format!("{hour:02}:{minute:02}{tail}"),
            604_800 => {
                let day =
                    usize::try_from(day).ok().and_then(|day| DAYS.get(day)).copied().unwrap_or("");
                format!("{day} {hour:02}:{minute:02}{tail}")
            }
            _ => poll.to_string(),
        }
    };
    strategy.polls().iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUESTION: Question = Question {
        period: None,
        grid: None,
        polls: 2,
        method: Method::Empirical,
        aim: Aim::Mixed(0.5),
    };

    /// Two changes a day at about 8:10 and 20:40, 200 days.
    fn twice_a_day() -> Vec<Time> {
        let late = |n: i64| 37 * n % 300;
        (0..400)
            .map(|n| {
                Time::from_secs(
                    n / 2 * 86_400 + [29_400, 74_400][usize::try_from(n % 2).unwrap()] + late(n),
                )
            })
            .collect()
    }

    #[test]
    fn a_daily_source_is_planned_by_the_day() {
        let answer = from_changes(&twice_a_day(), &QUESTION).unwrap();
        assert!((answer.period_seconds - 86_400.0).abs() < 1e-9);
        assert!(answer.chance_of_no_rhythm.unwrap() < 1e-6);
        assert_eq!(answer.at, ["08:15", "20:45"]);
        assert_eq!(answer.choices.iter().map(|choice| choice.polls).collect::<Vec<_>>(), [1, 2, 3]);
        let held_out = answer.choices[1].held_out.unwrap();
        assert!(
            held_out.recall > 0.99
                && held_out.delay_seconds < 0.05 * held_out.uniform_delay_seconds
        );
        assert!(
            answer.choices[0].held_out.unwrap().recall < 0.6,
            "one poll misses every other change"
        );
    }

    #[test]
    fn polls_alone_do_as_well() {
        let changes: Vec<f64> = twice_a_day().into_iter().map(Time::secs).collect();
        let polls = (1..2_400).map(|n| f64::from(n) * 7_100.0);
        let mut from = 0.0;
        let evidence: Vec<Evidence> = polls
            .map(|to| {
                let some = changes.iter().any(|&t| t > from && t <= to);
                let found = if some { Found::Something } else { Found::Nothing };
                Evidence { from: std::mem::replace(&mut from, to), to, found }
            })
            .collect();
        let answer = from_polls(&evidence, &Question { polls: 4, ..QUESTION }).unwrap();
        assert!((answer.period_seconds - 86_400.0).abs() < 1e-9);
        for versus in [answer.choices[1].expected.unwrap(), answer.choices[1].held_out.unwrap()] {
            assert!(versus.delay_seconds < 0.7 * versus.uniform_delay_seconds, "{versus:?}");
        }
        // what is foretold is what comes, uniform and planned alike
        let (foretold, came) =
            (answer.choices[1].expected.unwrap(), even(Span::DAY, 4, &twice_a_day()));
        let came = came.delay().unwrap();
        assert!((foretold.uniform_delay_seconds - came).abs() < 0.05 * came, "{foretold:?} {came}");
        let even =
            from_polls(&evidence, &Question { method: Method::Uniform, ..QUESTION }).unwrap();
        assert_eq!(even.basis, "equal distances, as asked");
    }

    /// A source that changed its hours by the week before and by the day since: a plan by the day could not have been made
    /// from the first part, so nothing is held out.
    #[test]
    fn a_period_that_the_past_did_not_show_is_not_held_out() {
        let weekly = (0..60).map(|week| Time::from_secs(week * 604_800 + 30_000));
        let daily = (420..800).map(|day| Time::from_secs(day * 86_400 + 30_000 + 37 * day % 300));
        let changes: Vec<Time> = weekly.chain(daily).collect();
        let answer = from_changes(&changes, &QUESTION).unwrap();
        assert!((answer.period_seconds - 86_400.0).abs() < 1e-9, "{}", answer.period_seconds);
        assert_eq!(answer.choices[1].held_out, None);
        let told = Question { period: Some(Span::DAY), ..QUESTION };
        assert!(from_changes(&changes, &told).unwrap().choices[1].held_out.is_some());
    }

    #[test]
    fn nothing_known_makes_even_polls() {
        let answer = from_polls(&[], &QUESTION).unwrap();
        assert_eq!(answer.at, ["00:00", "12:00"]);
        assert!(answer.basis.contains("no rhythm"));
        assert!(from_changes(&[], &QUESTION).unwrap().at.is_empty());
    }

    #[test]
    fn moments_read_well() {
        let at = |period: &str, poll: &str| {
            moments(&Strategy::new(period.parse().unwrap(), [poll.parse().unwrap()])).join("")
        };
        assert_eq!(at("1h", "5m"), ":05");
        assert_eq!(at("1d", "8h15m30s"), "08:15:30");
        assert_eq!(at("1w", "4d8h"), "Mon 08:00");
        assert_eq!(at("47m", "12m30s"), "12m30s");
    }
}
