//! Proportional sampling: look at a few random sources of every site, then share the rest of the budget by the
//! number of changed samples.
//!
//! ```text
//! dᵢ = B · xᵢ / Σx      downloads of site i, B polls left after sampling
//! ```
//!
//! In whole polls by largest remainder; what exceeds a site goes to the other sites with changed samples, then to
//! all; where nothing changed, evenly ([`crate::share`]). Less daring than greedy: it downloads from every site
//! with a changed sample. Counts are not scaled by the size of a site, as in the paper.
//!
//! The shares are struck when all samples that can be had are in, and again when a site whose host was shut has
//! been sampled late. Paper: CN-21 (`docs/papers/cho-ntoulas-2002.md`, section 3.2).

use serde::{Deserialize, Serialize};

use super::ranking::Ranking;
use super::sampling::{Sampling, Settings, Tally};
use crate::share::share;
use crate::{Beliefs, Event, Next, Observation, Policy, Purpose, SiteIx, SourceIx, Time};

/// Samples first, then downloads in proportion.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Proportional {
    settings: Settings,
    sampling: Sampling,
    /// Downloads each site may still have.
    shares: Vec<usize>,
    struck: bool,
    ranking: Ranking,
}

impl Proportional {
    /// With no sources yet; `seed` fixes its luck.
    pub fn new(settings: Settings, seed: u64) -> Self {
        Self {
            settings,
            sampling: Sampling::new(seed, settings.price),
            shares: Vec::new(),
            struck: false,
            ranking: Ranking::default(),
        }
    }

    fn strike(&mut self) {
        let pool = &self.sampling.pool;
        let weights: Vec<f64> =
            pool.sites().map(|site| f64::from(self.sampling.tally(site).changed)).collect();
        let caps: Vec<usize> = pool.sites().map(|site| pool.undrawn(site)).collect();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative; saturates"
        )]
        let left = (self.sampling.left() + 1e-9).max(0.0).floor() as usize;
        self.shares = share(left, &weights, &caps);
        self.struck = true;
        self.sampling.pool.sites().for_each(|site| self.refresh(site));
    }

    /// A download out of its site's share.
    fn spend(&mut self, source: SourceIx) {
        let Some(site) = self.sampling.pool.site_of(source) else { return };
        let Some(share) = self.shares.get_mut(site.ix()) else { return };
        *share = share.saturating_sub(1);
        if *share == 0 {
            self.refresh(site);
        }
    }

    fn refresh(&mut self, site: SiteIx) {
        let due = self.struck && self.shares.get(site.ix()).is_some_and(|&share| share > 0);
        let ready = due && self.sampling.pool.ready(site) > 0;
        self.ranking.set(site, ready.then(|| (0.0, self.sampling.tie(site))));
    }
}

impl Policy for Proportional {
    fn tell(&mut self, _now: Time, event: &Event, _beliefs: &dyn Beliefs) {
        if let Event::Round(round) = *event {
            self.struck = false;
            self.sampling.begin_with(round, self.settings.samples);
            self.sampling.pool.sites().for_each(|site| self.refresh(site));
        }
        if let Event::Sent(source, Purpose::Look) = *event {
            self.spend(source);
        }
        for site in self.sampling.tell(event) {
            self.refresh(site);
        }
        if !self.sampling.is_settled() {
            self.struck = false;
        } else if !self.struck && self.sampling.has_begun() {
            self.strike();
        }
    }

    fn next(&self, _now: Time, _left: f64, _beliefs: &dyn Beliefs) -> Next {
        let look = || self.ranking.first().and_then(|site| self.sampling.look(site));
        self.sampling.next().or_else(look).unwrap_or_else(|| self.sampling.nothing())
    }

    fn why(&self, source: SourceIx, _now: Time, _beliefs: &dyn Beliefs) -> String {
        let Some(site) = self.sampling.pool.site_of(source) else {
            return "it is not watched".to_owned();
        };
        let Tally { changed, answered, .. } = self.sampling.tally(site);
        let share = self.shares.get(site.ix()).copied().unwrap_or(0);
        format!(
            "{changed} of {answered} samples of its site changed, which earned it {share} more downloads"
        )
    }

    fn cost(&self, purpose: Purpose) -> f64 {
        self.sampling.cost(purpose)
    }

    fn refund(&self, heard: &Observation) -> f64 {
        self.sampling.refund(heard)
    }
}
