//! A plan of polling times with what speaks for it: what it would have done, what it does on changes it was not made
//! from, and what one poll more or fewer would do. What `tidewatch plan times` prints.
//!
//! From change times: *expected* is the plan on all of them, *held out* a plan made from the first 60 % and judged on the
//! rest. From polls nothing is known about the hour of a change but between which polls it lies: *expected* is by the
//! profile learned from them.

use dynamics::profile::rhythm::{self, Rhythm};
use dynamics::profile::{Evidence, Found, Profile};
use schedule::polling_times::empirical::Aim;
use schedule::polling_times::history::Grid;
use schedule::polling_times::learned::{self, log};
use schedule::polling_times::{Judged, Method, Strategy};
use schedule::spec::Mistake;
use schedule::{Span, Time};
use serde::Serialize;

/// Periods that are tried, in seconds, with the bins they are learned in.
const PERIODS: [(f64, usize); 3] = [(3_600.0, 30), (86_400.0, 48), (604_800.0, 56)];
/// The newest changes or polls a period is chosen by.
const NEWEST: usize = 2_000;
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
    /// When to poll, since the period's start.
    pub at_seconds: Vec<f64>,
    /// The same for people.
    pub at: Vec<String>,
    /// One poll fewer, as many as asked for, one more.
    pub choices: Vec<Choice>,
    /// Changes expected in each part of the period.
    #[serde(skip)]
    pub profile: Profile,
    /// The plan itself.
    #[serde(skip)]
    pub strategy: Strategy,
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
    fn of(planned: Judged, uniform: Judged) -> Option<Self> {
        Some(Self {
            recall: planned.recall()?,
            delay_seconds: planned.delay()?,
            uniform_recall: uniform.recall()?,
            uniform_delay_seconds: uniform.delay()?,
        })
    }
}

/// Even polls, summed over their offsets.
pub fn even(period: Span, polls: usize, changes: &[Time]) -> Judged {
    offsets(period, polls).fold(Judged::default(), |sum, strategy| {
        let judged = strategy.judge(changes);
        Judged {
            changes: sum.changes + judged.changes,
            captured: sum.captured + judged.captured,
            waited: sum.waited + judged.waited,
        }
    })
}

fn offsets(period: Span, polls: usize) -> impl Iterator<Item = Strategy> {
    let gap = period.micros() / i64::try_from(polls).unwrap_or(1).max(1);
    (0..OFFSETS)
        .map(move |at| Strategy::uniform(period, polls, Span::from_micros(gap * at / OFFSETS)))
}

fn secs(t: Time) -> f64 {
    t.micros() as f64 / 1e6
}

/// Periods not much shorter than the usual gap between changes: a source that changes twice a day at five past the hour is
/// polled by the day, not by the hour.
fn periods(gap: f64) -> Vec<(f64, usize)> {
    PERIODS.into_iter().filter(|(period, _)| 2.0 * period >= gap).collect()
}

/// The rhythm change times show, if any: hourly, daily or weekly, or a clock of the source's own.
pub fn rhythm_of(changes: &[Time]) -> Option<Rhythm> {
    let newest = &changes[changes.len().saturating_sub(NEWEST)..];
    let times: Vec<f64> = newest.iter().map(|&t| secs(t)).collect();
    let mut gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_by(f64::total_cmp);
    let usual = gaps.get(gaps.len() / 2).copied().unwrap_or(0.0);
    rhythm::choose(&periods(usual), &log(newest)).or_else(|| {
        let own = Span::from_secs_f64(rhythm::detect(&times)?.round());
        rhythm::choose(&[(own.secs(), 30)], &log(newest))
    })
}

/// The grid of a question, for a rhythm found or not.
fn grid(question: &Question, found: Option<&Rhythm>) -> Result<Grid, Mistake> {
    let period = question
        .period
        .or_else(|| found.map(|rhythm| Span::from_secs_f64(rhythm.profile.period())));
    let period = period.unwrap_or(Span::DAY);
    Grid::new(period, question.grid.unwrap_or_else(|| Grid::reasonable(period)))
}

/// Plans from change times, in order.
pub fn from_changes(changes: &[Time], question: &Question) -> Result<Answer, Mistake> {
    let found = if question.period.is_none() { rhythm_of(changes) } else { None };
    let grid = grid(question, found.as_ref())?;
    let period = grid.period();
    let evidence = log(&changes[changes.len().saturating_sub(NEWEST)..]);
    let chance_of_no_rhythm = rhythm::chance_of_none(period.secs(), &evidence);
    let (profile, _) = Profile::fit(period.secs(), 48.min(grid.slots()), &evidence);
    let cut = match (changes.first(), changes.last()) {
        (Some(&first), Some(&last)) => first + Span::from_micros((last - first).micros() / 10 * 6),
        _ => Time::ZERO,
    };
    let (past, future) = changes.split_at(changes.partition_point(|&t| t <= cut));
    let plan = |changes: &[Time], polls| question.method.plan(grid, changes, question.aim, polls);
    let choice = |polls: usize| -> Result<Choice, Mistake> {
        let whole = plan(changes, polls)?.0;
        let held_out = plan(past, polls)?.0.judge(future);
        Ok(Choice {
            polls,
            at: moments(&whole),
            expected: Versus::of(whole.judge(changes), even(period, polls, changes)),
            held_out: Versus::of(held_out, even(period, polls, future)),
        })
    };
    let (strategy, basis) = plan(changes, question.polls)?;
    let choices = around(question.polls).map(choice).collect::<Result<_, _>>()?;
    Ok(answer(
        grid,
        (changes.len(), changes.len()),
        chance_of_no_rhythm,
        basis,
        choices,
        profile,
        strategy,
    ))
}

fn around(polls: usize) -> impl Iterator<Item = usize> {
    polls.saturating_sub(1).max(1)..=polls + 1
}

fn answer(
    grid: Grid,
    (changes, observations): (usize, usize),
    chance_of_no_rhythm: Option<f64>,
    basis: String,
    choices: Vec<Choice>,
    profile: Profile,
    strategy: Strategy,
) -> Answer {
    Answer {
        period_seconds: grid.period().secs(),
        grid_seconds: grid.step().secs(),
        changes,
        observations,
        chance_of_no_rhythm,
        basis,
        at_seconds: strategy.polls().iter().map(|poll| poll.secs()).collect(),
        at: moments(&strategy),
        choices,
        profile,
        strategy,
    }
}

/// Plans from polls, in order of time.
pub fn from_polls(evidence: &[Evidence], question: &Question) -> Result<Answer, Mistake> {
    let newest = &evidence[evidence.len().saturating_sub(NEWEST)..];
    let changes = evidence.iter().filter(|e| e.found != Found::Nothing).count();
    let watched: f64 = evidence.iter().map(|e| e.to - e.from).sum();
    let found = match question.period {
        None => rhythm::choose(&periods(watched / changes.max(1) as f64), newest),
        Some(_) => None,
    };
    let grid = grid(question, found.as_ref())?;
    let period = grid.period();
    let (profile, _) = Profile::fit(period.secs(), 48.min(grid.slots()), newest);
    let plan = |polls: usize| match question.method {
        Method::Uniform => None,
        _ => learned::plan(grid, newest, question.aim, polls).map(|plan| plan.strategy),
    };
    let planned =
        |polls| plan(polls).unwrap_or_else(|| Strategy::uniform(period, polls, Span::ZERO));
    let choice = |polls: usize| {
        let strategy = planned(polls);
        let (recall, delay_seconds) = learned::expects(&profile, grid, &strategy);
        let even: Vec<(f64, f64)> =
            offsets(period, polls).map(|even| learned::expects(&profile, grid, &even)).collect();
        let mean =
            |of: &dyn Fn(&(f64, f64)) -> f64| even.iter().map(of).sum::<f64>() / even.len() as f64;
        let expected = Versus {
            recall,
            delay_seconds,
            uniform_recall: mean(&|e| e.0),
            uniform_delay_seconds: mean(&|e| e.1),
        };
        Choice { polls, at: moments(&strategy), expected: Some(expected), held_out: None }
    };
    let basis = match plan(question.polls) {
        Some(_) => format!(
            "a profile smoothed over {} of {} parts",
            profile.smoothing,
            profile.rates().len()
        ),
        None => "no rhythm: equal distances".to_owned(),
    };
    let strategy = planned(question.polls);
    let choices = around(question.polls).map(choice).collect();
    let chance_of_no_rhythm = rhythm::chance_of_none(period.secs(), newest);
    Ok(answer(
        grid,
        (changes, evidence.len()),
        chance_of_no_rhythm,
        basis,
        choices,
        profile,
        strategy,
    ))
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
        let changes: Vec<f64> = twice_a_day().into_iter().map(secs).collect();
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
        let expected = answer.choices[1].expected.unwrap();
        assert!(expected.delay_seconds < 0.7 * expected.uniform_delay_seconds, "{expected:?}");
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
