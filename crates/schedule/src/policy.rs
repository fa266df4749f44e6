//! Policies: which source next? The trait, and the one list of them.
//!
//! A policy is told everything that happens and, when there is budget, asked what to poll. Being asked
//! changes nothing: state moves only through [`Policy::tell`], and chance is a hash ([`crate::chance`]).
//! So how often it was asked cannot matter, and a replayed journal cannot choose otherwise.
//!
//! Policies are one `enum`, so that serde on it is the snapshot and the compiler finds what a new one
//! forgot. The bounds of the lab (oracle) implement the trait there, knowing a truth that no live
//! program has.

pub mod greedy;
pub mod pool;
pub mod round_robin;

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::spec::{Call, Mistake};
use crate::{Beliefs, Event, Next, Purpose, SourceIx, Time};

/// A rule for spending polls.
pub trait Policy: Send {
    /// Something happened. The only way a policy's state moves.
    fn tell(&mut self, now: Time, event: &Event, beliefs: &dyn Beliefs);

    /// What to poll, given that `left` polls can be paid now. Sources of shut hosts and sources with a
    /// poll in flight are never offered. `WaitUntil(Time::MAX)`: nothing until something is told.
    fn next(&self, now: Time, left: f64, beliefs: &dyn Beliefs) -> Next;

    /// One sentence on how this source stands, for people.
    fn why(&self, source: SourceIx, now: Time, beliefs: &dyn Beliefs) -> String;

    /// What a poll costs, in polls.
    fn cost(&self, _purpose: Purpose) -> f64 {
        1.0
    }
}

/// A line of the list that `--policies list` prints.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What to write.
    pub name: &'static str,
    /// Settings with their defaults.
    pub settings: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Where it comes from.
    pub from: &'static str,
}

/// Every policy that can run live.
pub const LIST: [Entry; 2] = [
    Entry {
        name: "round-robin",
        settings: "",
        about: "every source in turn",
        from: "sampling paper",
    },
    Entry {
        name: "greedy",
        settings: "samples sqrt (√(N·r) a site; or a number), cost 1",
        about: "sample every site, then download the sites with most changed samples",
        from: "sampling paper",
    },
];

/// A policy as a person writes it, understood and checked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Spec {
    /// `round-robin`
    RoundRobin,
    /// `greedy(samples=.., cost=..)`
    Greedy(greedy::Settings),
}

impl FromStr for Spec {
    type Err = Mistake;

    fn from_str(text: &str) -> Result<Self, Mistake> {
        let mut call: Call = text.parse()?;
        match call.name.as_str() {
            "round-robin" => call.finish("").map(|()| Self::RoundRobin),
            "greedy" => {
                let settings = greedy::Settings::read(&mut call)?;
                call.finish("`samples` and `cost`").map(|()| Self::Greedy(settings))
            }
            unknown => Err(Mistake(format!(
                "there is no policy `{unknown}`; known are {}",
                LIST.map(|entry| format!("`{}`", entry.name)).join(", ")
            ))),
        }
    }
}

impl Spec {
    /// A policy ready to be told things. `seed` fixes its luck.
    pub fn build(self, seed: u64) -> AnyPolicy {
        match self {
            Self::RoundRobin => AnyPolicy::RoundRobin(round_robin::RoundRobin::default()),
            Self::Greedy(settings) => {
                AnyPolicy::Greedy(Box::new(greedy::Greedy::new(settings, seed)))
            }
        }
    }
}

/// A running policy, whichever it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum AnyPolicy {
    /// Every source in turn.
    RoundRobin(round_robin::RoundRobin),
    /// Samples, then the best sites whole.
    Greedy(Box<greedy::Greedy>),
}

impl AnyPolicy {
    fn inner(&self) -> &dyn Policy {
        match self {
            Self::RoundRobin(policy) => policy,
            Self::Greedy(policy) => &**policy,
        }
    }

    fn inner_mut(&mut self) -> &mut dyn Policy {
        match self {
            Self::RoundRobin(policy) => policy,
            Self::Greedy(policy) => &mut **policy,
        }
    }
}

impl Policy for AnyPolicy {
    fn tell(&mut self, now: Time, event: &Event, beliefs: &dyn Beliefs) {
        self.inner_mut().tell(now, event, beliefs);
    }

    fn next(&self, now: Time, left: f64, beliefs: &dyn Beliefs) -> Next {
        self.inner().next(now, left, beliefs)
    }

    fn why(&self, source: SourceIx, now: Time, beliefs: &dyn Beliefs) -> String {
        self.inner().why(source, now, beliefs)
    }

    fn cost(&self, purpose: Purpose) -> f64 {
        self.inner().cost(purpose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_policy_can_be_written_bare() {
        for entry in LIST {
            assert!(entry.name.parse::<Spec>().is_ok(), "{}", entry.name);
        }
    }

    #[test]
    fn an_unknown_policy_is_named_beside_the_known_ones() {
        let mistake = "gready".parse::<Spec>().unwrap_err().to_string();
        assert!(mistake.contains("`gready`") && mistake.contains("`greedy`"), "{mistake}");
        assert!(
            "round-robin(x=1)".parse::<Spec>().unwrap_err().to_string().contains("no settings")
        );
    }
}
