//! How plans are made, by name; and what a method has made of change times, ready for any number of polls.
//!
//! What there is to learn from a history (how much of it to believe, the laws of its model, its profile) is learned once;
//! plans for one poll more or fewer then cost a solve each. Paper: CR-17 (`docs/papers/polling-times.md`).

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Strategy;
use super::empirical::{self, Aim, Believed};
use super::history::{Grid, History};
use super::learned::{self, Learned};
use super::modelled::{Model, best_bins};
use crate::Time;
use crate::spec::Mistake;

/// How plans are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    /// The exact optimum of change times.
    Empirical,
    /// The paper's model of change times. It knows misses only, whatever the aim.
    Modelled,
    /// From what polls show, or a log of changes taken as such.
    Profile,
    /// Not at all: even polls.
    Uniform,
}

impl std::str::FromStr for Method {
    type Err = Mistake;

    fn from_str(text: &str) -> Result<Self, Mistake> {
        match text {
            "profile" => Ok(Self::Profile),
            "empirical" => Ok(Self::Empirical),
            "modelled" => Ok(Self::Modelled),
            "uniform" => Ok(Self::Uniform),
            _ => Err(Mistake(format!(
                "`{text}` is no method; known are `empirical`, `modelled`, `profile` and `uniform`"
            ))),
        }
    }
}

impl Method {
    /// Learns from change times in order, for about `polls` polls.
    pub fn learn(
        self,
        grid: Grid,
        changes: &[Time],
        aim: Aim,
        polls: usize,
    ) -> Result<Planner<'_>, Mistake> {
        let basis = match self {
            Self::Uniform => Basis::Even,
            Self::Empirical => Basis::Past(Believed::choose(grid, changes, aim, polls)?),
            Self::Modelled => {
                let history = History::new(grid, changes);
                let bins = best_bins(&history);
                Basis::Model(Model::fitted(&history, bins), bins)
            }
            Self::Profile => learned::learn(grid, &learned::log(changes))
                .map_or(Basis::NoRhythm, |learned| Basis::Profile(Box::new(learned))),
        };
        Ok(Planner { grid, changes, aim, basis })
    }

    /// A strategy of at most `polls` polls for change times in order.
    pub fn plan(
        self,
        grid: Grid,
        changes: &[Time],
        aim: Aim,
        polls: usize,
    ) -> Result<Strategy, Mistake> {
        self.learn(grid, changes, aim, polls)?.strategy(polls)
    }
}

/// What a method has made of change times. Displays as what its plans rest on.
#[derive(Clone, Debug)]
pub struct Planner<'c> {
    grid: Grid,
    changes: &'c [Time],
    aim: Aim,
    basis: Basis,
}

#[derive(Clone, Debug)]
enum Basis {
    Even,
    NoRhythm,
    Past(Believed),
    Model(Model, usize),
    Profile(Box<Learned>),
}

impl Planner<'_> {
    /// The best strategy of at most `polls` polls.
    pub fn strategy(&self, polls: usize) -> Result<Strategy, Mistake> {
        let Self { grid, changes, aim, ref basis } = *self;
        match basis {
            Basis::Even | Basis::NoRhythm => Ok(empirical::even(grid, changes, aim, polls)),
            Basis::Past(believed) => believed.strategy(grid, changes, aim, polls),
            Basis::Model(model, _) => Ok(model.optimum(polls)),
            Basis::Profile(learned) => Ok(learned.strategy(grid, aim, polls)),
        }
    }
}

impl fmt::Display for Planner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.basis {
            Basis::Even => f.write_str("equal distances, at the best offset of those tried"),
            Basis::NoRhythm => f.write_str("no rhythm: equal distances"),
            Basis::Past(believed) => believed.fmt(f),
            Basis::Model(_, bins) => {
                write!(f, "the law of each change of a period, in {bins} parts")
            }
            Basis::Profile(learned) => learned.fmt(f),
        }
    }
}
