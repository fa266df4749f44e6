//! Patience: every wait for a server ends at its own limit or at the poll's, whichever comes first.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::{Outcome, Timeout, Unreachable};

/// When a poll must be over.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    pub(crate) until: Instant,
}

impl Patience {
    /// One timer for both limits: the nearer one is set, and named if it fires.
    pub(crate) async fn wait<T>(
        self,
        which: Timeout,
        limit: Duration,
        what: impl Future<Output = T>,
    ) -> Result<T, Outcome> {
        let own = Instant::now() + limit;
        let (until, which) =
            if own < self.until { (own, which) } else { (self.until, Timeout::Total) };
        timeout_at(until, what).await.map_err(|_| Outcome::Unreachable(Unreachable::Timeout(which)))
    }
}
