//! What a poller saw: when it looked, whether anything had changed, and how old the source said its version was.
//!
//! ```text
//! sⱼ            the looks, in order
//! Q_ij = 1      something changed in (sᵢ, sⱼ]      ⇔  c_j > c_i, where c counts the detections
//! A_U(sⱼ)       the age of the version seen, if the source tells
//! ```
//!
//! A look says *changed* about the time since the look before it. The first look of a history has none before it, so
//! its word counts only when the history continues an earlier one. Q_ij from c assumes that a version never comes back.
//!
//! Paper: BS-01, BS-04, BS-48 (`docs/papers/li-cline-loguinov-2015.md`). Times are seconds, or any unit used
//! throughout.

use serde::{Deserialize, Serialize};

use crate::rate::Poll;

/// One look.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// s
    pub at: f64,
    /// Did it change since the look before?
    pub changed: bool,
    /// How long ago the source says it changed.
    pub age: Option<f64>,
}

/// Looks in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    looks: Vec<Look>,
}

/// Why looks make no history. Looks are counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum InvalidHistory {
    /// A time or an age that is no number.
    #[error("look {0} has a time or an age that is no finite number")]
    NotANumber(usize),
    /// Not after the look before.
    #[error(
        "look {look} is at {at}, not after the one before it at {before}: sort the looks by time; \
         where a clock was set back, estimate the stretches before and after it apart"
    )]
    Backwards {
        /// Which.
        look: usize,
        /// When it claims to be.
        at: f64,
        /// When the one before was.
        before: f64,
    },
    /// An age below zero.
    #[error("look {look} has the age {age}: an age is the time since the last change, at least 0")]
    NegativeAge {
        /// Which.
        look: usize,
        /// What it says.
        age: f64,
    },
}

/// How far a gap may lie from the others and still count as the same: clocks and queues are never exact.
const SAME: f64 = 0.01;

impl History {
    /// These looks, if their times rise.
    pub fn new(looks: Vec<Look>) -> Result<Self, InvalidHistory> {
        for (at, look) in looks.iter().enumerate() {
            if !(look.at.is_finite() && look.age.is_none_or(f64::is_finite)) {
                return Err(InvalidHistory::NotANumber(at + 1));
            }
            if let Some(age) = look.age.filter(|&age| age < 0.0) {
                return Err(InvalidHistory::NegativeAge { look: at + 1, age });
            }
        }
        match looks.windows(2).position(|pair| pair[1].at <= pair[0].at) {
            None => Ok(Self { looks }),
            Some(at) => Err(InvalidHistory::Backwards {
                look: at + 2,
                at: looks[at + 1].at,
                before: looks[at].at,
            }),
        }
    }

    /// What looks at `polls` see of a source that changes at `updates`, both in order; ages are told once there was an
    /// update. An update at the very moment of a look is seen by it (BS-01).
    pub fn blind(updates: &[f64], polls: &[f64]) -> Self {
        let (mut seen, mut looks) = (0, Vec::with_capacity(polls.len()));
        for &at in polls {
            let before = seen;
            while updates.get(seen).is_some_and(|&update| update <= at) {
                seen += 1;
            }
            let age = seen.checked_sub(1).map(|last| at - updates[last]);
            let changed = seen > before && !looks.is_empty();
            looks.push(Look { at, changed, age });
        }
        Self { looks }
    }

    /// The same looks at a source that does not tell ages.
    #[must_use]
    pub fn without_ages(mut self) -> Self {
        self.looks.iter_mut().for_each(|look| look.age = None);
        self
    }

    /// All looks.
    pub fn looks(&self) -> &[Look] {
        &self.looks
    }

    /// The looks before the one at `at`, and those from it on.
    pub fn cut(&self, at: usize) -> (Self, Self) {
        let (before, after) = self.looks.split_at(at.min(self.looks.len()));
        (Self { looks: before.to_vec() }, Self { looks: after.to_vec() })
    }

    /// From the first look to the last.
    pub fn span(&self) -> f64 {
        self.looks.last().zip(self.looks.first()).map_or(0.0, |(last, first)| last.at - first.at)
    }

    /// Times between looks.
    pub fn gaps(&self) -> impl Iterator<Item = f64> {
        self.looks.windows(2).map(|pair| pair[1].at - pair[0].at)
    }

    /// E\[S\], as seen; `None` below two looks.
    pub fn mean_gap(&self) -> Option<f64> {
        (self.looks.len() > 1).then(|| self.span() / (self.looks.len() - 1) as f64)
    }

    /// Δ, if all gaps are the same to a hundredth.
    pub fn constant_gap(&self) -> Option<f64> {
        let mean = self.mean_gap()?;
        self.gaps().all(|gap| (gap / mean - 1.0).abs() <= SAME).then_some(mean)
    }

    /// The polls as the rate's estimators want them: the first look has no gap.
    pub fn polls(&self) -> Vec<Poll> {
        let changed = self.looks.iter().skip(1).map(|look| look.changed);
        self.gaps().zip(changed).map(|(gap, changed)| Poll { gap, changed }).collect()
    }

    /// Looks, counted from 0, that saw a change since the look before.
    pub fn detections(&self) -> impl Iterator<Item = usize> {
        self.looks.iter().enumerate().skip(1).filter(|(_, look)| look.changed).map(|(at, _)| at)
    }

    /// Share of the looks that tell an age.
    pub fn told(&self) -> f64 {
        let told = self.looks.iter().filter(|look| look.age.is_some()).count();
        if self.looks.is_empty() { 0.0 } else { told as f64 / self.looks.len() as f64 }
    }

    /// Looks whose age contradicts the comparison: Q = 1 exactly where the age is below the gap (BS-04).
    pub fn contradictions(&self) -> usize {
        let contradicts = |pair: &[Look]| {
            let gap = pair[1].at - pair[0].at;
            pair[1].age.is_some_and(|age| {
                (age < gap * (1.0 - 1e-9)) != pair[1].changed && (age - gap).abs() > 1e-9 * gap
            })
        };
        self.looks.windows(2).filter(|pair| contradicts(pair)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(at: f64, changed: bool) -> Look {
        Look { at, changed, age: None }
    }

    #[test]
    fn what_a_blind_poller_sees() {
        let history = History::blind(&[1.0, 1.5, 4.0], &[0.0, 2.0, 3.0, 4.0]);
        let seen: Vec<_> = history.looks().iter().map(|look| (look.changed, look.age)).collect();
        assert_eq!(seen, [(false, None), (true, Some(0.5)), (false, Some(1.5)), (true, Some(0.0))]);
        assert_eq!(history.contradictions(), 0);
        assert_eq!(history.detections().collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn a_clock_that_steps_back_is_named() {
        let wrong = History::new(vec![look(0.0, false), look(5.0, true), look(3.0, true)]);
        let said = wrong.unwrap_err().to_string();
        assert!(said.contains("look 3") && said.contains("set back"), "{said}");
        assert!(History::new(vec![look(1.0, false), look(1.0, false)]).is_err());
        assert!(History::new(vec![look(f64::NAN, false)]).is_err());
        let aged = Look { age: Some(-1.0), ..look(0.0, false) };
        assert!(History::new(vec![aged]).unwrap_err().to_string().contains("age -1"));
    }

    #[test]
    fn nothing_and_one_look_are_histories_too() {
        for looks in [vec![], vec![look(3.0, true)]] {
            let history = History::new(looks).unwrap();
            assert!(history.span().abs() < 1e-12 && history.mean_gap().is_none());
            assert_eq!((history.detections().count(), history.polls().len()), (0, 0));
        }
    }

    #[test]
    fn an_age_may_not_contradict_the_comparison() {
        let history = History::new(vec![
            look(0.0, false),
            Look { at: 2.0, changed: false, age: Some(1.0) },
            Look { at: 4.0, changed: true, age: Some(1.0) },
        ]);
        assert_eq!(history.unwrap().contradictions(), 1);
    }
}
