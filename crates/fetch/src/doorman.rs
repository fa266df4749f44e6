//! The doorman: whoever keeps hosts' gaps is asked before every request a poll did not announce.
//!
//! A scheduler opens the door for the poll's own first request. robots.txt and redirects come on top;
//! the driver behind this trait charges them and lets them wait for the host's gap, but not for the poll
//! that asks: that one is still under way.

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
