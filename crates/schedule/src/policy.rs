//! Policies: which source next? The trait, and the one list of them.
//!
//! A policy is told everything that happens and, when there is budget, asked what to poll. Being asked
//! changes nothing: state moves only through [`Policy::tell`], and chance is a hash ([`crate::chance`]).
//! So how often it was asked cannot matter, and a replayed journal cannot choose otherwise.
//!
//! Policies are one `enum`, so that serde on it is the snapshot and the compiler finds what a new one
//! forgot. The bounds of the lab (oracle) implement the trait there, knowing a truth that no live
//! program has.

pub mod lanes;
pub mod pool;
pub mod ranking;
mod rhythm;
pub mod sampling;
mod ticking;

pub mod adaptive;
pub mod blend;
pub mod frequency;
pub mod greedy;
pub mod planned;
pub mod proportional;
pub mod round_robin;
pub mod subset;
pub mod timed;
pub mod value;
pub mod wic;

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::spec::{Call, Mistake};
use crate::value::Objective;
use crate::{Beliefs, Event, Next, Observation, Purpose, SourceIx, Time};

/// A rule for spending polls.
pub trait Policy: Send {
    /// Something happened. The only way a policy's state moves.
    fn tell(&mut self, now: Time, event: &Event, beliefs: &dyn Beliefs);

    /// What to poll, given that `left` polls can be paid now. Sources of shut hosts and sources with a
    /// poll in flight are never offered. `WaitUntil(Time::MAX)`: nothing until something is told.
    fn next(&self, now: Time, left: f64, beliefs: &dyn Beliefs) -> Next;

    /// One sentence on how this source stands, for people.
    fn why(&self, source: SourceIx, now: Time, beliefs: &dyn Beliefs) -> String;

    /// Takes the place of an earlier policy, of which it may keep what it knows; told before anything else.
    fn inherit(&mut self, _old: Self)
    where
        Self: Sized,
    {
    }

    /// What a poll costs, in polls.
    fn cost(&self, _purpose: Purpose) -> f64 {
        1.0
    }

    /// Does it want the law of a source's updates learned, where its history is long and clearly not Poisson?
    fn wants_laws(&self) -> bool {
        false
    }

    /// What comes back of a poll's cost, now that it is answered; asked before the answer is told.
    fn refund(&self, _heard: &Observation) -> f64 {
        0.0
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
pub const LIST: [Entry; 12] = [
    Entry {
        name: "round-robin",
        settings: "",
        about: "every source in turn",
        from: "sampling paper",
    },
    Entry {
        name: "frequency",
        settings: "rule myopic (freshness, captured), estimator posterior (naive, bias-reduced, likelihood, last-modified)",
        about: "learn each source's change rate; poll the likeliest changed, or at the best rates for a goal",
        from: "sampling paper",
    },
    Entry {
        name: "proportional",
        settings: "samples auto (sqrt, theorem2, a number), cost 1, stored true",
        about: "sample every site, then share downloads by the number of changed samples",
        from: "sampling paper",
    },
    Entry {
        name: "greedy",
        settings: "samples auto (sqrt, theorem2, a number), cost 1, stored true",
        about: "sample every site, then download the sites with most changed samples whole",
        from: "sampling paper",
    },
    Entry {
        name: "adaptive",
        settings: "k 10, confidence 0.9, interval wilson (wald, clopper, jeffreys), finite false",
        about: "sample in batches of k until each site is clearly in or out",
        from: "sampling paper",
    },
    Entry {
        name: "subset",
        settings: "with greedy, share 0.18",
        about: "one group of sites per cycle, for budgets too small to sample all",
        from: "sampling paper",
    },
    Entry {
        name: "blend",
        settings: "share 0.3, with greedy",
        about: "a share of the polls in turn, the rest by another policy",
        from: "sampling paper",
    },
    Entry {
        name: "timed",
        settings: "period 1d, grid 5m, polls auto (a number), method profile (empirical, modelled, uniform), aim mixed (recall, delay, a number), explore 0.1",
        about: "learn when in its period each source changes; poll at the moments that miss and wait least",
        from: "polling times",
    },
    Entry {
        name: "wic",
        settings: "ties first (longest), idle poll (skip), period none (1d: learn each site's hours)",
        about: "in ticks: poll what earns most now, by each source's urgency and life",
        from: "WIC",
    },
    Entry {
        name: "wic+search",
        settings: "horizon auto (ticks ahead), every auto (ticks between plans), period none",
        about: "in ticks: plan ahead by prices and swaps, commit one tick at a time",
        from: "ours",
    },
    Entry {
        name: "cam",
        settings: "rule cam (uniform, proportional), horizon auto, every auto",
        about: "in ticks: allot polls to the likeliest changes of an epoch, then fit them in",
        from: "WIC, our reading",
    },
    Entry {
        name: "value",
        settings: "objective captured (freshness, age, utility), law poisson (renewal)",
        about: "poll whatever a poll is worth most now, by what is believed of each source",
        from: "ours",
    },
];

/// A policy as a person writes it, understood and checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Spec {
    /// `round-robin`
    RoundRobin,
    /// `frequency(rule=.., estimator=..)`
    Frequency(frequency::Settings),
    /// `proportional(samples=.., cost=.., stored=..)`
    Proportional(sampling::Settings),
    /// `greedy(samples=.., cost=.., stored=..)`
    Greedy(sampling::Settings),
    /// `adaptive(k=.., confidence=.., interval=..)`
    Adaptive(adaptive::Settings),
    /// `subset(with=.., share=..)`
    Subset(Box<Spec>, f64),
    /// `blend(share=.., with=..)`
    Blend(Box<Spec>, f64),
    /// `timed(period=.., grid=.., polls=.., method=.., aim=.., explore=..)`
    Timed(timed::Settings),
    /// `value(objective=..)`
    Value(Objective),
    /// `value(objective=.., law=renewal)`
    Renewal(Objective),
    /// `wic(ties=.., idle=.., period=..)`
    Wic(wic::Settings),
    /// `wic+search(horizon=.., every=..)` or `cam(rule=.., horizon=.., every=..)`
    Planned(planned::Settings),
}

/// How deep policies may hold policies.
const DEEPEST: usize = 3;

impl FromStr for Spec {
    type Err = Mistake;

    fn from_str(text: &str) -> Result<Self, Mistake> {
        Self::read(text, DEEPEST)
    }
}

impl Spec {
    fn read(text: &str, depth: usize) -> Result<Self, Mistake> {
        let mut call: Call = text.parse()?;
        let (spec, known) = match call.name.as_str() {
            "round-robin" => (Self::RoundRobin, ""),
            "frequency" => {
                (Self::Frequency(frequency::Settings::read(&mut call)?), "`rule` and `estimator`")
            }
            "proportional" => (
                Self::Proportional(sampling::Settings::read(&mut call)?),
                "`samples`, `cost` and `stored`",
            ),
            "greedy" => (
                Self::Greedy(sampling::Settings::read(&mut call)?),
                "`samples`, `cost` and `stored`",
            ),
            "adaptive" => (
                Self::Adaptive(adaptive::Settings::read(&mut call)?),
                "`k`, `confidence` and `interval`",
            ),
            "subset" => {
                let share = call.number("share", 0.18, 0.001..=1.0)?;
                (Self::Subset(Self::inner(&mut call, depth)?, share), "`with` and `share`")
            }
            "blend" => {
                let share = call.number("share", 0.3, 0.0..=1.0)?;
                (Self::Blend(Self::inner(&mut call, depth)?, share), "`share` and `with`")
            }
            "timed" => (
                Self::Timed(timed::Settings::read(&mut call)?),
                "`period`, `grid`, `polls`, `method`, `aim` and `explore`",
            ),
            "wic" => (Self::Wic(wic::Settings::read(&mut call)?), "`ties`, `idle` and `period`"),
            "wic+search" => (
                Self::Planned(planned::Settings::search(&mut call)?),
                "`horizon`, `every` and `period`",
            ),
            "cam" => (
                Self::Planned(planned::Settings::cam(&mut call)?),
                "`rule`, `horizon`, `every` and `period`",
            ),
            "value" => (value::read(&mut call)?, "`objective` and `law`"),
            unknown => {
                let known = LIST.map(|entry| format!("`{}`", entry.name)).join(", ");
                return Err(Mistake(format!("there is no policy `{unknown}`; known are {known}")));
            }
        };
        call.finish(known).map(|()| spec)
    }

    fn inner(call: &mut Call, depth: usize) -> Result<Box<Self>, Mistake> {
        let text: String = call.take("with", "greedy".to_owned())?;
        if depth == 0 {
            return Err(Mistake(format!(
                "`{text}` sits too deep in other policies; {DEEPEST} levels are enough"
            )));
        }
        Self::read(&text, depth - 1).map(Box::new)
    }

    /// A policy ready to be told things. `seed` fixes its luck.
    pub fn build(&self, seed: u64) -> AnyPolicy {
        match self {
            Self::RoundRobin => AnyPolicy::RoundRobin(Box::default()),
            Self::Frequency(settings) => {
                AnyPolicy::Frequency(Box::new(frequency::Frequency::new(*settings)))
            }
            Self::Proportional(settings) => {
                AnyPolicy::Proportional(Box::new(proportional::Proportional::new(*settings, seed)))
            }
            Self::Greedy(settings) => {
                AnyPolicy::Greedy(Box::new(greedy::Greedy::new(*settings, seed)))
            }
            Self::Adaptive(settings) => {
                AnyPolicy::Adaptive(Box::new(adaptive::Adaptive::new(*settings, seed)))
            }
            Self::Subset(inner, share) => {
                AnyPolicy::Subset(Box::new(subset::Subset::new(inner.build(seed), *share, seed)))
            }
            Self::Blend(inner, share) => {
                AnyPolicy::Blend(Box::new(blend::Blend::new(inner.build(seed), *share)))
            }
            Self::Timed(settings) => AnyPolicy::Timed(Box::new(timed::Timed::new(*settings, seed))),
            Self::Value(objective) => AnyPolicy::Value(Box::new(value::Value::new(*objective))),
            Self::Renewal(objective) => {
                AnyPolicy::Value(Box::new(value::Value::new(*objective).with_laws()))
            }
            Self::Wic(settings) => AnyPolicy::Wic(Box::new(wic::Wic::new(*settings, None))),
            Self::Planned(settings) => {
                AnyPolicy::Planned(Box::new(planned::Planned::new(*settings, None)))
            }
        }
    }
}

/// A running policy, whichever it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum AnyPolicy {
    /// Every source in turn.
    RoundRobin(Box<round_robin::RoundRobin>),
    /// By learned change rates.
    Frequency(Box<frequency::Frequency>),
    /// Samples, then downloads in proportion.
    Proportional(Box<proportional::Proportional>),
    /// Samples, then the best sites whole.
    Greedy(Box<greedy::Greedy>),
    /// Samples until each site is decided.
    Adaptive(Box<adaptive::Adaptive>),
    /// One group of sites per round.
    Subset(Box<subset::Subset>),
    /// A share in turn, the rest by another policy.
    Blend(Box<blend::Blend>),
    /// At planned moments.
    Timed(Box<timed::Timed>),
    /// The largest value first.
    Value(Box<value::Value>),
    /// What earns most in this instant.
    Wic(Box<wic::Wic>),
    /// By a plan of the instants ahead.
    Planned(Box<planned::Planned>),
}

impl AnyPolicy {
    fn inner(&self) -> &dyn Policy {
        match self {
            Self::RoundRobin(policy) => &**policy,
            Self::Frequency(policy) => &**policy,
            Self::Proportional(policy) => &**policy,
            Self::Greedy(policy) => &**policy,
            Self::Adaptive(policy) => &**policy,
            Self::Subset(policy) => &**policy,
            Self::Blend(policy) => &**policy,
            Self::Timed(policy) => &**policy,
            Self::Value(policy) => &**policy,
            Self::Wic(policy) => &**policy,
            Self::Planned(policy) => &**policy,
        }
    }

    fn inner_mut(&mut self) -> &mut dyn Policy {
        match self {
            Self::RoundRobin(policy) => &mut **policy,
            Self::Frequency(policy) => &mut **policy,
            Self::Proportional(policy) => &mut **policy,
            Self::Greedy(policy) => &mut **policy,
            Self::Adaptive(policy) => &mut **policy,
            Self::Subset(policy) => &mut **policy,
            Self::Blend(policy) => &mut **policy,
            Self::Timed(policy) => &mut **policy,
            Self::Value(policy) => &mut **policy,
            Self::Wic(policy) => &mut **policy,
            Self::Planned(policy) => &mut **policy,
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

    fn inherit(&mut self, old: Self) {
        if let (Self::Timed(policy), Self::Timed(old)) = (self, old) {
            policy.take_over(*old);
        }
    }

    fn cost(&self, purpose: Purpose) -> f64 {
        self.inner().cost(purpose)
    }

    fn wants_laws(&self) -> bool {
        self.inner().wants_laws()
    }

    fn refund(&self, heard: &Observation) -> f64 {
        self.inner().refund(heard)
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
