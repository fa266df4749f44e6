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
//! Samples are drawn site by site in random order and stop when the budget is spent. While samples are
//! in flight it waits for their answers; it never waits for a shut host, but spends on the best site it
//! knows and samples the late one when it opens. Sites with equal ρ̂ are taken in random order, the last
//! one in part. A lost sample is not replaced (a dead site must not eat the round); a site that answered
//! nothing ranks with ρ̂ = 0.
//!
//! Paper: CN-07, CN-22 (`docs/papers/cho-ntoulas-2002.md`, section 3.2). Cost: O(log sites) per sample,
//! O(1) per download.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::pool::{Answered, Pool};
use crate::spec::{Call, Mistake};
use crate::{
    Beliefs, Event, Next, Observation, Policy, Purpose, Round, SiteIx, SourceIx, Time, Verdict,
    chance,
};

/// What a person may set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// How many samples from each site.
    pub samples: Samples,
    /// What a sample costs, in downloads.
    pub cost: f64,
}

/// How many samples to take from each site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Samples {
    /// This many.
    Count(u32),
    /// √(N·r): N sources a site on average, r the share of all sources that can be polled (CN-27).
    Sqrt,
}

impl Settings {
    pub(super) fn read(call: &mut Call) -> Result<Self, Mistake> {
        let samples = match call.take("samples", "sqrt".to_owned())?.as_str() {
            "sqrt" => Samples::Sqrt,
            number => Samples::Count(number.parse().map_err(|_| {
                Mistake(format!("`samples={number}` of `{}` must be a number or `sqrt`", call.name))
            })?),
        };
        Ok(Self { samples, cost: call.number("cost", 1.0, 0.0..=1.0)? })
    }
}

impl Samples {
    fn size(self, pool: &Pool, round: Round) -> u32 {
        let sites = pool.sites().filter(|&site| pool.size(site) > 0).count();
        match self {
            Self::Count(count) => count,
            Self::Sqrt if sites == 0 => 0,
            // N·r = (sources / sites) · (polls / sources)
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "small and positive"
            )]
            Self::Sqrt => (round.polls as f64 / sites as f64).sqrt().round() as u32,
        }
    }
}

/// Samples first, then the best sites whole.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Greedy {
    settings: Settings,
    seed: u64,
    round: Option<Round>,
    pool: Pool,
    tallies: Vec<Tally>,
    /// Open sites that still owe samples, in random order.
    sampling: BTreeSet<(u64, SiteIx)>,
    /// Open sites with something left, best ρ̂ first.
    ranking: BTreeSet<(Reverse<u64>, u64, SiteIx)>,
}

/// A site in this round.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Tally {
    owed: u32,
    changed: u32,
    answered: u32,
    sampling_key: Option<u64>,
    ranking_key: Option<(u64, u64)>,
}

impl Tally {
    fn estimate(&self) -> f64 {
        if self.answered == 0 { 0.0 } else { f64::from(self.changed) / f64::from(self.answered) }
    }
}

impl Greedy {
    /// With no sources yet; `seed` fixes its luck.
    pub fn new(settings: Settings, seed: u64) -> Self {
        Self {
            settings,
            seed,
            round: None,
            pool: Pool::new(seed),
            tallies: Vec::new(),
            sampling: BTreeSet::new(),
            ranking: BTreeSet::new(),
        }
    }

    fn begin(&mut self, round: Round) {
        self.round = Some(round);
        self.pool.begin(round.number);
        let owed = self.settings.samples.size(&self.pool, round);
        for site in self.pool.sites() {
            let keys = self.tallies[site.ix()];
            self.tallies[site.ix()] = Tally { owed, changed: 0, answered: 0, ..keys };
            self.refresh(site);
        }
    }

    /// Brings the site's places in `sampling` and `ranking` in line with its tally and its pool.
    fn refresh(&mut self, site: SiteIx) {
        let ready = self.round.is_some() && self.pool.ready(site) > 0;
        let tally = self.tallies[site.ix()];
        let tie = chance::draw(
            self.seed,
            [u64::from(self.round.map_or(0, |r| r.number)), site.ix() as u64],
        );
        let sampling_key = (ready && tally.owed > 0).then_some(tie);
        // the bits of a non-negative float sort as the number does
        let ranking_key = ready.then_some((tally.estimate().to_bits(), tie));
        if sampling_key != tally.sampling_key {
            tally.sampling_key.map(|key| self.sampling.remove(&(key, site)));
            sampling_key.map(|key| self.sampling.insert((key, site)));
        }
        if ranking_key != tally.ranking_key {
            tally.ranking_key.map(|(rank, tie)| self.ranking.remove(&(Reverse(rank), tie, site)));
            ranking_key.map(|(rank, tie)| self.ranking.insert((Reverse(rank), tie, site)));
        }
        self.tallies[site.ix()] = Tally { sampling_key, ranking_key, ..tally };
    }

    fn sent(&mut self, source: SourceIx, purpose: Purpose) {
        let Some(site) = self.pool.sent(source, purpose) else { return };
        if purpose == Purpose::Sample {
            let tally = &mut self.tallies[site.ix()];
            tally.owed = tally.owed.saturating_sub(1);
        }
        self.refresh(site);
    }

    fn heard(&mut self, heard: &Observation) {
        let lost = heard.verdict == Verdict::Lost;
        let Some(Answered { site, of_this_round }) = self.pool.heard(heard.source, lost) else {
            return;
        };
        if heard.purpose == Purpose::Sample && of_this_round {
            let tally = &mut self.tallies[site.ix()];
            tally.changed += u32::from(heard.verdict == Verdict::Changed);
            tally.answered += u32::from(matches!(heard.verdict, Verdict::Changed | Verdict::Same));
        }
        self.refresh(site);
    }
}

impl Policy for Greedy {
    fn tell(&mut self, _now: Time, event: &Event, _beliefs: &dyn Beliefs) {
        match *event {
            Event::Entered(source, facts) => {
                self.pool.enter(source, facts.site, facts.host);
                if facts.site.ix() >= self.tallies.len() {
                    self.tallies.resize(facts.site.ix() + 1, Tally::default());
                }
                self.refresh(facts.site);
            }
            Event::Left(source) => {
                if let Some(site) = self.pool.leave(source) {
                    self.refresh(site);
                }
            }
            Event::Round(round) => self.begin(round),
            Event::Host(host, gate) => {
                for site in self.pool.gate(host, gate) {
                    self.refresh(site);
                }
            }
            Event::Sent(source, purpose) => self.sent(source, purpose),
            Event::Heard(ref heard) => self.heard(heard),
            Event::Manners(..) => {}
        }
    }

    fn next(&self, _now: Time, _left: f64, _beliefs: &dyn Beliefs) -> Next {
        let (site, purpose) = match (self.sampling.first(), self.ranking.first()) {
            (Some(&(_, site)), _) => (site, Purpose::Sample),
            (None, _) if self.pool.samples_out() > 0 => return Next::WaitForAnswer,
            (None, Some(&(_, _, site))) => (site, Purpose::Look),
            (None, None) if self.pool.out() > 0 => return Next::WaitForAnswer,
            (None, None) => return Next::RoundOver,
        };
        self.pool.draw(site).map_or(Next::RoundOver, |source| Next::Poll(source, purpose))
    }

    fn why(&self, source: SourceIx, _now: Time, _beliefs: &dyn Beliefs) -> String {
        let Some(site) = self.pool.site_of(source) else { return "it is not watched".to_owned() };
        let Tally { owed, changed, answered, .. } = self.tallies[site.ix()];
        if owed > 0 {
            return format!("its site is being sampled: {answered} answers so far, {owed} to come");
        }
        format!(
            "{changed} of {answered} samples of its site changed; sites with most changed samples come first"
        )
    }

    fn cost(&self, purpose: Purpose) -> f64 {
        match purpose {
            Purpose::Sample => self.settings.cost,
            Purpose::Look => 1.0,
        }
    }
}
