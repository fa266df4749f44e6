//! The doorman: whoever keeps hosts' gaps is asked before every request a poll did not announce.
//!
//! A scheduler opens the door for the poll's first request. Where that has to be the one for robots.txt, the source
//! itself waits like every redirect: the driver behind this trait charges it and lets it wait for the host's gap. It
//! must not wait for the asking poll's own flight.

use crate::Host;

/// Whether a request may go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// Now.
    Go,
    /// Not in this poll.
    Stop,
}

/// Gives leave for requests beyond a poll's first.
pub trait Doorman: Sync {
    /// Resolves when one request to `host` may start, or must not.
    fn enter(&self, host: &Host) -> impl Future<Output = Leave> + Send;
}

/// Always lets through: for one-off use, where nobody keeps gaps.
#[derive(Clone, Copy, Debug)]
pub struct Open;

impl Doorman for Open {
    async fn enter(&self, _: &Host) -> Leave {
        Leave::Go
    }
}
