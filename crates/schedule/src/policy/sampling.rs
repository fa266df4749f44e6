//! The sampling stage that greedy, proportional and adaptive share: who still owes samples, what they said, and
//! what the round has spent.
//!
//! Sites that owe samples and can be asked are served in random order, so that a budget too small for all of
//! them picks evenly. While samples are in flight one waits for their answers, but never for a shut host: its
//! site is sampled when it opens. A lost sample is not replaced (a dead site must not eat the round).
//!
//! Paper: CN-07, CN-22 (`docs/papers/cho-ntoulas-2002.md`, section 3).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::pool::{Answered, Pool};
use crate::sample_size::{Law, SampleSize, Setting};
use crate::source::grow;
use crate::spec::{Call, Mistake};
use crate::{Event, Next, Observation, Purpose, Round, SiteIx, SourceIx, Verdict};

/// Settings of policies that sample every site once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// How many samples from each site.
    pub samples: SampleSize,
    /// What a sample costs.
    pub price: Price,
}

/// What a sample costs, in downloads (CN-07). One that was not stored and turns out changed is downloaded after all,
/// so it is paid whole at first, and the rest comes back when it did not change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Price {
    cost: f64,
    stored: bool,
}

impl Price {
    /// A sample is a download.
    pub const WHOLE: Self = Self { cost: 1.0, stored: true };

    fn at_first(self) -> f64 {
        if self.stored { self.cost } else { 1.0 }
    }

    fn back(self, verdict: Verdict) -> f64 {
        if self.stored || verdict == Verdict::Changed { 0.0 } else { 1.0 - self.cost }
    }
}

impl Settings {
    /// `samples`, `cost` and `stored` of a call.
    pub(super) fn read(call: &mut Call) -> Result<Self, Mistake> {
        let samples = match call.take("samples", "auto".to_owned())?.as_str() {
            "auto" => SampleSize::Refined,
            "theorem2" => SampleSize::Theorem2,
            "sqrt" => SampleSize::Sqrt,
            number => SampleSize::Count(number.parse().map_err(|_| {
                Mistake(format!(
                    "`samples={number}` of `{}` must be a number, `auto`, `sqrt` or `theorem2`",
                    call.name
                ))
            })?),
        };
        let price = Price {
            cost: call.number("cost", 1.0, 0.0..=1.0)?,
            stored: call.take("stored", true)?,
        };
        Ok(Self { samples, price })
    }
}

/// The state of a round's sampling.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sampling {
    price: Price,
    round: Option<Round>,
    spent: f64,
    /// The sources, and who was drawn.
    pub pool: Pool,
    tallies: Vec<Tally>,
    /// Open sites that owe samples, in random order.
    queue: BTreeSet<(u64, SiteIx)>,
    /// The law of ρ, from the last round that told.
    law: Option<Law>,
}

/// A site in this round.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Samples still to be sent.
    pub owed: u32,
    /// Samples that changed.
    pub changed: u32,
    /// Samples that could be compared.
    pub answered: u32,
    queued: bool,
}

impl Tally {
    /// ρ̂ = changed/answered; 0 where nothing was answered.
    pub fn estimate(&self) -> f64 {
        if self.answered == 0 { 0.0 } else { f64::from(self.changed) / f64::from(self.answered) }
    }
}

/// The sites an event touched.
pub enum Touched {
    /// At most one.
    One(Option<SiteIx>),
    /// Those of a host.
    Many(std::vec::IntoIter<SiteIx>),
}

impl Iterator for Touched {
    type Item = SiteIx;

    fn next(&mut self) -> Option<SiteIx> {
        match self {
            Self::One(site) => site.take(),
            Self::Many(sites) => sites.next(),
        }
    }
}

impl Sampling {
    /// Nothing known yet; `seed` fixes the draws.
    pub fn new(seed: u64, price: Price) -> Self {
        Self {
            price,
            round: None,
            spent: 0.0,
            pool: Pool::new(seed),
            tallies: Vec::new(),
            queue: BTreeSet::new(),
            law: None,
        }
    }

    /// A site in this round.
    pub fn tally(&self, site: SiteIx) -> Tally {
        self.tallies.get(site.ix()).copied().unwrap_or_default()
    }

    /// Has a round begun?
    pub fn has_begun(&self) -> bool {
        self.round.is_some()
    }

    /// Polls this round can still pay for.
    pub fn left(&self) -> f64 {
        self.round.map_or(0.0, |round| round.polls as f64 - self.spent)
    }

    /// Nobody who can be asked owes samples, and no sample is in flight.
    pub fn is_settled(&self) -> bool {
        self.queue.is_empty() && self.pool.samples_out() == 0
    }

    /// A random number for this site in this round: breaks ties.
    pub fn tie(&self, site: SiteIx) -> u64 {
        self.pool.luck(site)
    }

    /// A round in which every site owes the number of samples the rule says.
    pub fn begin_with(&mut self, round: Round, rule: SampleSize) {
        self.begin(round);
        let samples = self.sample_size(rule);
        self.pool.sites().for_each(|site| self.owe(site, samples));
    }

    /// Everything anew; each site will owe what [`Sampling::owe`] says.
    pub fn begin(&mut self, round: Round) {
        self.law =
            Law::fit(self.tallies.iter().map(|tally| (tally.changed, tally.answered))).or(self.law);
        self.round = Some(round);
        self.spent = 0.0;
        self.pool.begin(round.number);
        self.queue.clear();
        self.tallies.fill(Tally::default());
    }

    /// How many samples a site this round calls for.
    pub fn sample_size(&self, rule: SampleSize) -> u32 {
        let sites = self.pool.sites().filter(|&site| self.pool.size(site) > 0).count();
        let (sources, polls) =
            (self.pool.sources() as f64, self.round.map_or(0.0, |round| round.polls as f64));
        if sites == 0 {
            return 0;
        }
        let share = (polls / sources).min(1.0);
        rule.samples(Setting { site_size: sources / sites as f64, share, law: self.law })
    }

    /// The site owes this many more samples.
    pub fn owe(&mut self, site: SiteIx, samples: u32) {
        self.tallies[site.ix()].owed += samples;
        self.refresh(site);
    }

    /// Folds an event; the sites whose answers or readiness may have moved. Rounds are begun by the policy.
    pub fn tell(&mut self, event: &Event) -> Touched {
        let touched = match *event {
            Event::Entered(source, facts) => {
                self.pool.enter(source, facts.site, facts.host);
                grow(&mut self.tallies, facts.site.ix(), Tally::default);
                Some(facts.site)
            }
            Event::Left(source) => self.pool.leave(source),
            Event::Sent(source, purpose) => self.sent(source, purpose),
            Event::Heard(ref heard) => self.heard(heard),
            Event::Host(host, gate) => {
                let sites = self.pool.gate(host, gate);
                sites.iter().for_each(|&site| self.refresh(site));
                return Touched::Many(sites.into_iter());
            }
            Event::Round(_) | Event::Manners(..) | Event::Visit(_) | Event::Pinned(..) => None,
        };
        if let Some(site) = touched {
            self.refresh(site);
        }
        Touched::One(touched)
    }

    fn sent(&mut self, source: SourceIx, purpose: Purpose) -> Option<SiteIx> {
        let site = self.pool.sent(source, purpose)?;
        self.spent += self.cost(purpose);
        if purpose == Purpose::Sample {
            let tally = &mut self.tallies[site.ix()];
            tally.owed = tally.owed.saturating_sub(1);
        }
        // one look more or less moves nothing while there are others
        (purpose == Purpose::Sample || self.pool.ready(site) == 0).then_some(site)
    }

    /// What a poll costs.
    pub fn cost(&self, purpose: Purpose) -> f64 {
        if purpose == Purpose::Sample { self.price.at_first() } else { 1.0 }
    }

    /// What comes back of a sample's cost now that its answer is here; an earlier round's is forfeit.
    pub fn refund(&self, heard: &Observation) -> f64 {
        let counts = heard.purpose == Purpose::Sample && self.pool.is_of_this_round(heard.source);
        if counts { self.price.back(heard.verdict) } else { 0.0 }
    }

    fn heard(&mut self, heard: &Observation) -> Option<SiteIx> {
        let Answered { site, of_this_round } =
            self.pool.heard(heard.source, heard.verdict == Verdict::Lost)?;
        if heard.purpose == Purpose::Sample && of_this_round {
            self.spent -= self.price.back(heard.verdict);
            let tally = &mut self.tallies[site.ix()];
            tally.changed += u32::from(heard.verdict == Verdict::Changed);
            tally.answered += u32::from(matches!(heard.verdict, Verdict::Changed | Verdict::Same));
        }
        (heard.purpose == Purpose::Sample || heard.verdict == Verdict::Lost).then_some(site)
    }

    fn refresh(&mut self, site: SiteIx) {
        let Tally { owed, queued, .. } = self.tallies[site.ix()];
        let wanted = owed > 0 && self.pool.ready(site) > 0;
        if wanted != queued {
            let entry = (self.tie(site), site);
            if wanted {
                self.queue.insert(entry)
            } else {
                self.queue.remove(&entry)
            };
            self.tallies[site.ix()].queued = wanted;
        }
    }

    /// The next sample, or the wait for those in flight; `None` when settled.
    pub fn next(&self) -> Option<Next> {
        match self.queue.first() {
            Some(&(_, site)) => {
                self.pool.draw(site).map(|source| Next::Poll(source, Purpose::Sample))
            }
            None if self.pool.samples_out() > 0 => Some(Next::WaitForAnswer),
            None => None,
        }
    }

    /// A look at a random source of the site.
    pub fn look(&self, site: SiteIx) -> Option<Next> {
        self.pool.draw(site).map(|source| Next::Poll(source, Purpose::Look))
    }

    /// A look at a source of a site that is to be downloaded whole, as far as the round pays: at random only where it does not.
    pub fn look_at_all(&self, site: SiteIx) -> Option<Next> {
        let whole = self.left() >= self.pool.undrawn(site) as f64;
        let source = if whole { self.pool.any(site) } else { self.pool.draw(site) };
        source.map(|source| Next::Poll(source, Purpose::Look))
    }

    /// Nothing to look at: wait for what is in flight, or the round is over.
    pub fn nothing(&self) -> Next {
        if self.pool.out() > 0 { Next::WaitForAnswer } else { Next::RoundOver }
    }
}
