//! Everything that can happen, as a closed list. The journal is a list of these; the scheduler folds it.
//!
//! No paper.

use dynamics::rate::Belief;
use serde::{Deserialize, Serialize};

use crate::politeness::Manners;
use crate::{Facts, HostIx, SourceIx, Span, Time};

/// One thing that happened. Only these move a decision.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// A source is watched from now on; told again, its facts are replaced.
    Entered(SourceIx, Facts),
    /// A look this often, whatever the policy thinks; told after `Entered`, until it enters anew or is told again.
    Pinned(SourceIx, Span, Pin),
    /// A source is no longer watched. An answer still out is ignored when it comes.
    Left(SourceIx),
    /// A cycle, a tick, or one endless round began.
    Round(Round),
    /// A host asked for other manners than the default (Crawl-delay).
    Manners(HostIx, Manners),
    /// A host was shut (Retry-After, back-off) or opened again from outside.
    Host(HostIx, Gate),
    /// A host was asked something that is no poll (robots.txt, where a redirect led): charged, and its gap kept.
    Visit(HostIx),
    /// A poll was committed and charged.
    Sent(SourceIx, Purpose),
    /// A poll ended, whatever came of it. Every `Sent` is followed by one of these.
    Heard(Observation),
}

/// Why a source is looked at on its own terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pin {
    /// A user insists: the first look is due at once.
    Asked,
    /// A collection: at this time its quality is foretold to reach its target.
    Target(Time),
}

/// A stretch of time with a plan: a download cycle, a tick, or one endless round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// Counts from 1.
    pub number: u32,
    /// When it began.
    pub start: Time,
    /// When it ends.
    pub end: Time,
    /// How many polls it can pay for: the budget itself when it is counted per round, the expected
    /// number when polls flow.
    pub polls: u64,
}

impl Round {
    /// Round `number` from `start` to `end` with `polls` to spend.
    pub const fn of(number: u32, start: Time, end: Time, polls: u64) -> Self {
        Self { number, start, end, polls }
    }
}

/// Whether a host may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Gate {
    /// It may.
    Open,
    /// Not before this moment; [`Time::MAX`] means not until an answer comes back.
    ShutUntil(Time),
}

/// Why a source is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// To learn about its site; may cost less than a look.
    Sample,
    /// For its own sake; costs one poll.
    Look,
}

/// What the comparison concluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// Seen for the first time: nothing to compare with.
    First,
    /// As before.
    Same,
    /// Different.
    Changed,
    /// The host answered, but not with something comparable.
    Unreadable,
    /// No answer: the poll was cut off. Charged, learned nothing, ask again.
    Lost,
}

/// What the scheduler hears about one finished poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// Which source.
    pub source: SourceIx,
    /// Why it was polled.
    pub purpose: Purpose,
    /// When the poll was sent.
    pub sent: Time,
    /// The verdict speaks about the time from here to `sent`: the previous readable look, or the
    /// cycle's start where a cycle's own change flag is seen. `None` on the first look.
    pub since: Option<Time>,
    /// What came of it.
    pub verdict: Verdict,
    /// How long before `sent` the source says it last changed, if it says so.
    pub age: Option<Span>,
}

/// What the scheduler wants now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Poll this source now.
    Poll(SourceIx, Purpose),
    /// Nothing before this moment; [`Time::MAX`] means nothing until something else happens.
    WaitUntil(Time),
    /// Nothing until an answer comes back.
    WaitForAnswer,
    /// This round is done: budget spent, or nothing left worth a poll.
    RoundOver,
}

/// The reason behind a source's place in the queue, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    /// One sentence.
    pub because: String,
    /// P(the copy is stale now).
    pub stale: f64,
    /// What a poll now is worth in captured changes, times importance.
    pub value: f64,
    /// The belief about its change rate, if anything informative was seen.
    pub belief: Option<Belief>,
    /// When the copy was last known to be the source's state.
    pub known_at: Option<Time>,
}
