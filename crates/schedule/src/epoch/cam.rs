//! CAM, the rival the paper compares with, and simple baselines: who is polled how often, then when.
//!
//! ```text
//! cam            the C·N pairs (page, instant) of largest W·π: under RIR (overwrite, no delay) each earns just that
//! uniform        every page equally often, evenly spaced: all in turn
//! proportional   polls by expected changes Σπ, evenly spaced
//! ```
//!
//! Tasks are then fitted in the order of their ideal instants: one that finds its instant full moves to the next with
//! room, and earns only what is still there.
//!
//! Paper: WC-23 (`docs/papers/pandey-dhamdhere-olston-2004.md`). CAM's own paper is not among ours: this is our reading of
//! how WIC's authors describe it. Offline: it wants the whole epoch's chances beforehand.

use serde::{Deserialize, Serialize};

use super::{Epoch, Schedule};
use crate::share::share;

/// How tasks are allotted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rule {
    /// Where a poll at once earns most.
    #[default]
    Cam,
    /// Everyone alike.
    Uniform,
    /// By expected changes.
    Proportional,
}

/// The schedule of a rule.
pub fn schedule(epoch: &Epoch, rule: Rule) -> Schedule {
    let tasks = match rule {
        Rule::Cam => best_pairs(epoch),
        Rule::Uniform => in_turn(epoch),
        Rule::Proportional => evenly(epoch, &by_changes(epoch)),
    };
    fit(epoch, tasks)
}

/// A poll and its ideal instant; earlier ones, then those worth more, are fitted first.
struct Task {
    at: u32,
    worth: f64,
    page: usize,
}

fn best_pairs(epoch: &Epoch) -> Vec<Task> {
    let pairs = epoch.pages.iter().enumerate().flat_map(|(page, of)| {
        let within = of.chances.iter().filter(|(at, _)| *at >= epoch.first);
        within.map(move |&(at, chance)| Task { at, worth: of.importance * chance, page })
    });
    let mut pairs: Vec<Task> = pairs.collect();
    let most = epoch.capacity * epoch.len();
    if pairs.len() > most {
        pairs.select_nth_unstable_by(most, |a, b| {
            b.worth.total_cmp(&a.worth).then((a.at, a.page).cmp(&(b.at, b.page)))
        });
        pairs.truncate(most);
    }
    pairs
}

fn in_turn(epoch: &Epoch) -> Vec<Task> {
    let pages = epoch.pages.len();
    let polls = epoch.instants().flat_map(|at| std::iter::repeat_n(at, epoch.capacity.min(pages)));
    polls.enumerate().map(|(turn, at)| Task { at, worth: 0.0, page: turn % pages }).collect()
}

/// Polls of each page by its share of the expected changes, at most one an instant.
fn by_changes(epoch: &Epoch) -> Vec<usize> {
    let weights: Vec<f64> = epoch
        .pages
        .iter()
        .map(|page| page.importance * page.chances.iter().map(|(_, chance)| chance).sum::<f64>())
        .collect();
    share(epoch.capacity * epoch.len(), &weights, &vec![epoch.len(); weights.len()])
}

/// Each page's polls one to a stretch, at a place in it of its own, so that pages alike do not march in step.
fn evenly(epoch: &Epoch, polls: &[usize]) -> Vec<Task> {
    let (length, pages) = (epoch.len(), polls.len());
    let of = |(page, &polls): (usize, &usize)| {
        (0..polls).map(move |poll| {
            let place = (poll * pages + page) * length / (polls * pages);
            let at = epoch.first + u32::try_from(place).unwrap_or(u32::MAX);
            Task { at, worth: 0.0, page }
        })
    };
    polls.iter().enumerate().flat_map(of).collect()
}

fn fit(epoch: &Epoch, mut tasks: Vec<Task>) -> Schedule {
    tasks.sort_by(|a, b| {
        a.at.cmp(&b.at).then(b.worth.total_cmp(&a.worth)).then(a.page.cmp(&b.page))
    });
    let mut schedule = Schedule::empty(epoch.pages.len());
    let mut tasks = tasks.into_iter().peekable();
    // tasks come in order, so those that had to wait are first in line at the next instant
    let mut waiting = std::collections::VecDeque::new();
    for at in epoch.instants() {
        while let Some(task) = tasks.next_if(|task| task.at <= at) {
            waiting.push_back(task.page);
        }
        let mut room = epoch.capacity;
        while room > 0
            && let Some(page) = waiting.pop_front()
        {
            // polled at this instant already: the task is done with it
            if schedule.polls[page].last() != Some(&at) {
                schedule.polls[page].push(at);
                room -= 1;
            }
        }
    }
    schedule
}

#[cfg(test)]
mod tests {
    use super::super::greedy::{self, Options};
    use super::super::tests::{alike, small};
    use super::*;
    use crate::utility::{Decay, Shape, Stay};

    fn rir() -> Shape {
        Shape { decay: Decay::Window(0), stay: Stay::Changes(1) }
    }

    /// Three certain changes at one instant, one poll an instant: CAM takes all three pairs, two of them come late.
    #[test]
    fn wc_23_crowded_tasks_move_and_earn_less() {
        let epoch =
            alike(&rir(), 1, &[vec![1.0, 0.0, 0.0], vec![1.0, 0.0, 0.9], vec![0.8, 0.0, 0.0]]);
        let schedule = schedule(&epoch, Rule::Cam);
        assert_eq!(schedule.by_instant(&epoch), [vec![0], vec![1], vec![1]]);
        assert!((epoch.utility(&schedule) - 1.9).abs() < 1e-12);
    }

    #[test]
    fn no_rule_beats_wic_on_its_own_ground() {
        for seed in 0..500 {
            let epoch = small(&rir(), seed);
            let wic = epoch.utility(&greedy::wic(&epoch, Options::default()));
            for rule in [Rule::Cam, Rule::Uniform, Rule::Proportional] {
                let schedule = schedule(&epoch, rule);
                assert!(epoch.utility(&schedule) <= wic + 1e-12);
                assert!(
                    schedule.by_instant(&epoch).iter().all(|pages| pages.len() <= epoch.capacity())
                );
            }
        }
    }

    #[test]
    fn proportional_follows_the_changes() {
        let epoch = alike(&rir(), 1, &[vec![0.2; 8], vec![0.6; 8]]);
        let schedule = schedule(&epoch, Rule::Proportional);
        assert_eq!(schedule.polls(0).len(), 2);
        // what is pushed over the end of the epoch is lost
        assert!((5..=6).contains(&schedule.polls(1).len()));
        assert_eq!(super::schedule(&epoch, Rule::Uniform).polls(0).len(), 4);
    }
}
