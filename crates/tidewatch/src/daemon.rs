//! The daemon: decide, poll, compare, remember, tell.
//!
//! One thread owns the decisions and the store; polls and deliveries run as tasks beside it and only send messages.
//! Each turn of the loop is the same five steps:
//!
//! ```text
//! hear      messages since the last turn: polls that ended, knocks of redirects, deliveries, wishes
//! fold      each becomes journal entries, and the scheduler is told exactly those
//! choose    ask the scheduler until it wants to wait; every poll is an entry too
//! commit    everything of this turn in one transaction: under load that is many polls at once
//! dispatch  only now do polls go out and answers count as heard
//! ```
//!
//! So nothing is acknowledged that a crash could lose, and replaying the journal gives the same scheduler.

pub mod core;
pub mod event;
pub mod memory;
pub mod page;
pub mod poll;
pub mod register;
pub mod trouble;
pub mod wish;

use std::sync::mpsc;

use fetch::Leave;
use schedule::Time;
use store::SinkId;
use tokio::sync::oneshot;

pub use self::core::{Core, Wait};
use self::page::Pushed;
use self::poll::Finished;

/// What the loop hears.
pub enum Message {
    /// A poll ended.
    Finished(Box<Finished>),
    /// A poll wants to ask a host something more.
    Knock {
        /// Which host.
        host: String,
        /// Where the answer goes.
        reply: oneshot::Sender<Leave>,
    },
    /// An event was handed to a sink, or not.
    Pushed {
        /// Which sink.
        sink: SinkId,
        /// Which event.
        seq: i64,
        /// What came of it; the time of another try is counted from now.
        result: Result<(), Refused>,
    },
    /// A delivery task is done with what it was given.
    Rested(SinkId),
    /// Nothing: only look again.
    Wake,
    /// End.
    Stop,
}

/// Why a sink did not take an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It may later: after so long.
    ForNow(schedule::Span, String),
    /// It never will.
    ForGood(String),
}

impl Refused {
    fn at(self, now: Time) -> Pushed {
        match self {
            Self::ForNow(wait, why) => Pushed::Later(now + wait, why),
            Self::ForGood(why) => Pushed::Dead(why),
        }
    }
}

/// Where tasks leave their messages.
#[derive(Clone)]
pub struct Inbox(mpsc::Sender<Message>);

impl Inbox {
    /// An inbox and the loop's end of it.
    pub fn new() -> (Self, mpsc::Receiver<Message>) {
        let (sender, receiver) = mpsc::channel();
        (Self(sender), receiver)
    }

    /// Leaves a message; after the end nobody reads it.
    pub fn put(&self, message: Message) {
        let _ = self.0.send(message);
    }
}
