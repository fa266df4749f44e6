//! Adaptive sampling: sample k sources of every undecided site, decide those whose interval clears the
//! threshold, repeat with the rest.
//!
//! ```text
//! (lᵢ, hᵢ)   confidence interval for ρᵢ after the samples so far
//! ρ_t        fill the polls left with the undecided sites, best ρ̂ first: the ρ̂ of the site where they end,
//!            midway to the next where they end exactly between two
//! hᵢ < ρ_t   out: no more samples, no downloads
//! ρ_t < lᵢ   in: downloaded whole at once
//! ```
//!
//! Sites easy to tell get few samples, close ones many. When nobody is undecided and polls are left, they go to
//! the remaining sites by ρ̂. Several sites decided at once are served best ρ̂ first.
//!
//! Paper: Algorithm 3.1, CN-30, CN-31, CN-61 (`docs/papers/cho-ntoulas-2002.md`, section 3.4). Readings: the
//! paper names no interval; Wilson's is the default, since Wald's has no width after 0 or n changed samples. With
//! `finite=true` intervals shrink by √((N−n)/(N−1)), N the site's size: a site sampled whole is known.
//! Cost: O(sites log sites) per batch of k.

use dynamics::binomial::{self, Interval, Method};
use serde::{Deserialize, Serialize};

use super::ranking::Ranking;
use super::sampling::{Price, Sampling, Tally};
use crate::source::grow;
use crate::spec::{Call, Mistake};
use crate::{Beliefs, Event, Next, Policy, SiteIx, SourceIx, Time};

/// What a person may set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// k: samples per site and batch.
    pub k: u32,
    /// α: confidence of the intervals.
    pub confidence: f64,
    /// Which interval.
    pub interval: Method,
    /// Narrow it for sampling without replacement from a small site.
    pub finite: bool,
}

impl Settings {
    pub(super) fn read(call: &mut Call) -> Result<Self, Mistake> {
        let k: u32 = call.take("k", 10)?;
        if k == 0 {
            return Err(Mistake(
                "`k=0` of `adaptive` would never learn anything; it must be at least 1".to_owned(),
            ));
        }
        let interval = match call.take("interval", "wilson".to_owned())?.as_str() {
            "wald" => Method::Wald,
            "wilson" => Method::Wilson,
            "clopper" => Method::Clopper,
            "jeffreys" => Method::Jeffreys,
            other => {
                return Err(Mistake(format!(
                    "`interval={other}` of `adaptive` must be `wilson`, `wald`, `clopper` or `jeffreys`"
                )));
            }
        };
        let confidence = call.number("confidence", 0.9, 0.01..=0.9999)?;
        Ok(Self { k, confidence, interval, finite: call.take("finite", false)? })
    }
}

/// Batches of samples until every site is decided.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Adaptive {
    settings: Settings,
    sampling: Sampling,
    stands: Vec<Stand>,
    /// Sites to download: those that are in, and at the end all.
    ranking: Ranking,
}

/// How a site stands in this round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Stand {
    #[default]
    Undecided,
    In,
    Out,
    /// Nobody is undecided any more: what is left goes by ρ̂.
    Leftover,
}

impl Adaptive {
    /// With no sources yet; `seed` fixes its luck.
    pub fn new(settings: Settings, seed: u64) -> Self {
        let sampling = Sampling::new(seed, Price::WHOLE);
        Self { settings, sampling, stands: Vec::new(), ranking: Ranking::default() }
    }

    fn stand(&self, site: SiteIx) -> Stand {
        self.stands.get(site.ix()).copied().unwrap_or_default()
    }

    fn refresh(&mut self, site: SiteIx) {
        let wanted = matches!(self.stand(site), Stand::In | Stand::Leftover);
        let ready = wanted && self.sampling.pool.ready(site) > 0;
        let place = ready.then(|| (self.sampling.tally(site).estimate(), self.sampling.tie(site)));
        self.ranking.set(site, place);
    }

    /// The batch is in and the chosen sites are downloaded: decide, and owe the next batch.
    fn step(&mut self) {
        let mut undecided = self.undecided();
        let threshold = self.threshold(&undecided);
        undecided.retain(|&site| {
            let Interval { low, high } = self.interval(site);
            let stand = match threshold {
                Some(threshold) if high < threshold => Stand::Out,
                Some(threshold) if low <= threshold => Stand::Undecided,
                // the polls left suffice for everyone, or the interval clears the threshold
                _ => Stand::In,
            };
            self.stands[site.ix()] = stand;
            stand == Stand::Undecided
        });
        if undecided.is_empty() && self.ranking_will_be_empty() {
            for stand in self.stands.iter_mut().filter(|stand| **stand == Stand::Out) {
                *stand = Stand::Leftover;
            }
        }
        for site in self.sampling.pool.sites() {
            self.refresh(site);
        }
        for site in undecided {
            self.sampling.owe(site, self.settings.k);
        }
    }

    /// (lᵢ, hᵢ)
    fn interval(&self, site: SiteIx) -> Interval {
        let Settings { interval, confidence, finite, .. } = self.settings;
        let Tally { changed, answered, .. } = self.sampling.tally(site);
        let plain = interval.interval(changed, answered, confidence);
        if !finite {
            return plain;
        }
        let size = u32::try_from(self.sampling.pool.size(site)).unwrap_or(u32::MAX);
        binomial::finite(plain, changed, answered, size)
    }

    fn ranking_will_be_empty(&self) -> bool {
        let pool = &self.sampling.pool;
        pool.sites().all(|site| self.stand(site) != Stand::In || pool.ready(site) == 0)
    }

    /// Undecided sites with sources left that can be asked now.
    fn undecided(&self) -> Vec<SiteIx> {
        let pool = &self.sampling.pool;
        pool.sites()
            .filter(|&site| self.stand(site) == Stand::Undecided && pool.ready(site) > 0)
            .collect()
    }

    /// ρ_t; `None` when the polls left suffice for all undecided sites.
    fn threshold(&self, undecided: &[SiteIx]) -> Option<f64> {
        let mut sites: Vec<(f64, f64)> = undecided
            .iter()
            .map(|&site| {
                (self.sampling.tally(site).estimate(), self.sampling.pool.undrawn(site) as f64)
            })
            .collect();
        sites.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut left = self.sampling.left();
        let mut sites = sites.into_iter().peekable();
        while let Some((estimate, size)) = sites.next() {
            left -= size;
            if left < 0.0 {
                return Some(estimate);
            }
            if left <= 0.0 {
                return sites.peek().map(|&(next, _)| f64::midpoint(estimate, next));
            }
        }
        None
    }

    /// Time to decide: no sample is due or in flight, nothing chosen is left to download.
    fn is_due(&self) -> bool {
        let undecided = || !self.undecided().is_empty();
        let leftover = || self.stands.contains(&Stand::Out);
        self.sampling.has_begun()
            && self.sampling.is_settled()
            && self.ranking.first().is_none()
            && self.sampling.left() > 0.0
            && (undecided() || leftover())
    }
}

impl Policy for Adaptive {
    fn tell(&mut self, _now: Time, event: &Event, _beliefs: &dyn Beliefs) {
        if let Event::Round(round) = *event {
            self.sampling.begin(round);
            self.stands = self.sampling.pool.sites().map(|_| Stand::Undecided).collect();
            for site in self.sampling.pool.sites() {
                self.sampling.owe(site, self.settings.k);
                self.refresh(site);
            }
        }
        for site in self.sampling.tell(event) {
            grow(&mut self.stands, site.ix(), Stand::default);
            self.refresh(site);
        }
        if self.is_due() {
            self.step();
        }
    }

    fn next(&self, _now: Time, _left: f64, _beliefs: &dyn Beliefs) -> Next {
        let chosen = self.ranking.first().and_then(|site| self.sampling.look_at_all(site));
        chosen.or_else(|| self.sampling.next()).unwrap_or_else(|| self.sampling.nothing())
    }

    fn why(&self, source: SourceIx, _now: Time, _beliefs: &dyn Beliefs) -> String {
        let Some(site) = self.sampling.pool.site_of(source) else {
            return "it is not watched".to_owned();
        };
        let Tally { changed, answered, .. } = self.sampling.tally(site);
        let stand = match self.stand(site) {
            Stand::Undecided => "too close to call, so it is sampled further",
            Stand::In => "enough to download it whole",
            Stand::Out => "too few to download it",
            Stand::Leftover => "too few, but polls were left",
        };
        format!("{changed} of {answered} samples of its site changed: {stand}")
    }
}
