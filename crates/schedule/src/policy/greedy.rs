//! Greedy sampling: look at a few random sources of every site, then download the sites with most
//! changed samples whole, best first, until the budget ends.
//!
//! ```text
//! ρ̂ᵢ = xᵢ / nᵢ      changed samples over answered samples of site i in this round
//! ```
//!
//! It needs no history: every round starts from nothing. Among policies that take the same number of
//! random samples from each site this one expects the most changed downloads (Theorem 1, CN-23).
//!
//! Sites with equal ρ̂ are taken in random order, the last one in part. A site that answered nothing ranks with
//! ρ̂ = 0. While a shut host delays its site's samples, the best site known is downloaded meanwhile.
//!
//! Paper: CN-07, CN-22 (`docs/papers/cho-ntoulas-2002.md`, section 3.2). Cost: O(log sites) per sample,
//! O(1) per download.

use serde::{Deserialize, Serialize};

use super::ranking::Ranking;
use super::sampling::{Sampling, Settings, Tally};
use crate::{Beliefs, Event, Next, Observation, Policy, Purpose, SiteIx, SourceIx, Time};

/// Samples first, then the best sites whole.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Greedy {
    settings: Settings,
    sampling: Sampling,
    ranking: Ranking,
}

impl Greedy {
    /// With no sources yet; `seed` fixes its luck.
    pub fn new(settings: Settings, seed: u64) -> Self {
        Self {
            settings,
            sampling: Sampling::new(seed, settings.price),
            ranking: Ranking::default(),
        }
    }

    fn refresh(&mut self, site: SiteIx) {
        let ready = self.sampling.has_begun() && self.sampling.pool.ready(site) > 0;
        let place = ready.then(|| (self.sampling.tally(site).estimate(), self.sampling.tie(site)));
        self.ranking.set(site, place);
    }
}

impl Policy for Greedy {
    fn tell(&mut self, _now: Time, event: &Event, _beliefs: &dyn Beliefs) {
        if let Event::Round(round) = *event {
            self.sampling.begin_with(round, self.settings.samples);
            self.sampling.pool.sites().for_each(|site| self.refresh(site));
        }
        for site in self.sampling.tell(event) {
            self.refresh(site);
        }
    }

    fn next(&self, _now: Time, _left: f64, _beliefs: &dyn Beliefs) -> Next {
        let look = || self.ranking.first().and_then(|site| self.sampling.look_at_all(site));
        self.sampling.next().or_else(look).unwrap_or_else(|| self.sampling.nothing())
    }

    fn why(&self, source: SourceIx, _now: Time, _beliefs: &dyn Beliefs) -> String {
        let Some(site) = self.sampling.pool.site_of(source) else {
            return "it is not watched".to_owned();
        };
        let Tally { owed, changed, answered, .. } = self.sampling.tally(site);
        if owed > 0 {
            return format!("its site is being sampled: {answered} answers so far, {owed} to come");
        }
        format!(
            "{changed} of {answered} samples of its site changed; sites with most changed samples come first"
        )
    }

    fn cost(&self, purpose: Purpose) -> f64 {
        self.sampling.cost(purpose)
    }

    fn refund(&self, heard: &Observation) -> f64 {
        self.sampling.refund(heard)
    }
}
