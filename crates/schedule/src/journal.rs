//! The journal as the scheduler hears it: how it was set up, and what happened, in order.
//!
//! The scheduler's memory is a fold over these entries, so restart, replay and simulation are one mechanism:
//!
//! ```text
//! state = fold(entries)          the daemon's start
//! next(tᵢ) = Sentᵢ  for all i    the proof that live and lab decide alike ([`Replay`])
//! ```
//!
//! No paper.

use serde::{Deserialize, Serialize};

use crate::policy::{AnyPolicy, Spec};
use crate::{Event, Next, Purpose, Scheduler, Settings, SourceIx, Time};

/// With what a scheduler decides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// Which policy.
    pub policy: Spec,
    /// Fixes its luck.
    pub seed: u64,
    /// Budget, manners and the share for newcomers.
    pub settings: Settings,
}

impl Setup {
    /// A scheduler set up this way, without sources.
    pub fn build(&self) -> Scheduler<AnyPolicy> {
        Scheduler::new(self.policy.build(self.seed), self.settings)
    }
}

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Entry {
    /// From here on it decides so; the first line of every journal.
    Setup(Setup),
    /// Something happened.
    Event(Event),
}

/// A poll that was sent, and what the scheduler would have done at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// When.
    pub at: Time,
    /// What was sent.
    pub sent: (SourceIx, Purpose),
    /// What the scheduler says.
    pub chosen: Next,
}

impl Choice {
    /// The same.
    pub fn agrees(&self) -> bool {
        let (source, purpose) = self.sent;
        self.chosen == Next::Poll(source, purpose)
    }
}

/// A scheduler made by folding a journal.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    scheduler: Option<Scheduler<AnyPolicy>>,
}

impl Replay {
    /// Goes on from a snapshot.
    pub fn from(scheduler: Scheduler<AnyPolicy>) -> Self {
        Self { scheduler: Some(scheduler) }
    }

    /// Folds one line; events before the first setup have nobody to tell.
    pub fn fold(&mut self, at: Time, entry: &Entry) {
        match (entry, &mut self.scheduler) {
            (Entry::Setup(setup), Some(scheduler)) => {
                scheduler.change(at, setup.policy.build(setup.seed), setup.settings);
            }
            (Entry::Setup(setup), none) => *none = Some(setup.build()),
            (Entry::Event(event), Some(scheduler)) => scheduler.tell(at, *event),
            (Entry::Event(_), None) => {}
        }
    }

    /// The same, asking before every poll what the scheduler would do.
    pub fn check(&mut self, at: Time, entry: &Entry) -> Option<Choice> {
        let choice = match (entry, &mut self.scheduler) {
            (&Entry::Event(Event::Sent(source, purpose)), Some(scheduler)) => {
                Some(Choice { at, sent: (source, purpose), chosen: scheduler.next(at) })
            }
            _ => None,
        };
        self.fold(at, entry);
        choice
    }

    /// The scheduler as the journal left it; `None` of an empty one.
    pub fn scheduler(self) -> Option<Scheduler<AnyPolicy>> {
        self.scheduler
    }
}
