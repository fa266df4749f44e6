//! Change-frequency: learn how often each source changes, and poll accordingly.
//!
//! The first pass is round-robin: sources never polled come first, in order of entry. After that each round
//! picks its R polls by one of three rules, from an estimate Δ̂ of each source's change rate and the time τ since
//! its last look:
//!
//! ```text
//! myopic      the likeliest to be seen changed:  largest 1 − e^(−Δ̂w), w the time a verdict speaks about
//! freshness   the most overdue: largest τ·ξ, ξ the polling rates that maximise freshness   (water-filling)
//! captured    the same with the rates that maximise captured changes
//! ```
//!
//! Live, a verdict speaks about the time since the last look: w = τ. Under the papers' per-cycle count it speaks
//! only about the current cycle, which the policy learns from what it hears; then w is the cycle, sources that
//! never changed would never be looked at again, and one poll in twenty goes to the source likeliest to have
//! changed since its last look. So none is given up: a source never seen to change keeps a small positive rate
//! (half a change over the time watched) and is looked at again at growing intervals (CN-34).
//!
//! The price of it all is a history per source: see [`Frequency::bytes_per_source`].
//!
//! Estimators (`estimator`): `posterior` (the scheduler's own belief, default), `naive`, `bias-reduced`,
//! `likelihood` (irregular polls), `last-modified`. Paper: CN-34, CN-X1..X5
//! (`docs/papers/cho-ntoulas-2002.md`). Cost: O(sources) once a round.

use std::collections::BTreeMap;

use dynamics::rate::{Poll, last_modified, likelihood, regular};
use serde::{Deserialize, Serialize};

use super::lanes::Lanes;
use crate::allocate::{Class, rates};
use crate::source::grow;
use crate::spec::{Call, Mistake};
use crate::value::Objective;
use crate::{
    Beliefs, Event, HostIx, Next, Observation, Policy, Purpose, Round, SourceIx, Span, Time,
    Verdict,
};

/// What a person may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// How polls follow from rates.
    pub rule: Rule,
    /// How rates follow from polls.
    pub estimator: Estimator,
}

/// How polls follow from rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rule {
    /// The likeliest changed first.
    Myopic,
    /// The rates that are best for a goal.
    Best(Objective),
}

/// How rates follow from polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Estimator {
    /// The scheduler's belief.
    Posterior,
    /// X/n over the mean gap.
    Naive,
    /// −ln((n − X + ½)/(n + ½)) over the mean gap.
    BiasReduced,
    /// Maximum likelihood for irregular gaps.
    Likelihood,
    /// From the times sources say they changed.
    LastModified,
}

impl Settings {
    pub(super) fn read(call: &mut Call) -> Result<Self, Mistake> {
        let rule = match call.take("rule", "myopic".to_owned())?.as_str() {
            "myopic" => Rule::Myopic,
            "freshness" => Rule::Best(Objective::Freshness),
            "captured" => Rule::Best(Objective::Captured),
            other => {
                return Err(Mistake(format!(
                    "`rule={other}` of `frequency` must be `myopic`, `freshness` or `captured`"
                )));
            }
        };
        let estimator = match call.take("estimator", "posterior".to_owned())?.as_str() {
            "posterior" => Estimator::Posterior,
            "naive" => Estimator::Naive,
            "bias-reduced" => Estimator::BiasReduced,
            "likelihood" => Estimator::Likelihood,
            "last-modified" => Estimator::LastModified,
            other => {
                return Err(Mistake(format!(
                    "`estimator={other}` of `frequency` must be `posterior`, `naive`, `bias-reduced`, `likelihood` or `last-modified`"
                )));
            }
        };
        Ok(Self { rule, estimator })
    }
}

/// What a poll of a source is worth.
type Scorer<'a> = Box<dyn Fn(SourceIx, &Place) -> f64 + 'a>;

/// Learns rates, plans a round at a time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Frequency {
    settings: Settings,
    places: Vec<Option<Place>>,
    /// By source, only for the estimator that needs them.
    ages: Vec<last_modified::Tally>,
    /// Gaps and verdicts by source, only for the likelihood.
    gaps: Vec<Vec<(f32, bool)>>,
    /// This round's polls, best first.
    plan: Lanes,
    /// Numbers given out in the plan.
    planned: u32,
    entries: u32,
    out: usize,
    /// Verdicts speak about the current round alone, not about the time since the last look.
    sees_round_only: bool,
}

/// A source's place and what every estimator keeps of its polls: 40 bytes, since every round reads them all.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Place {
    /// When it was last looked at; [`Time::MIN`] if never.
    looked: Time,
    /// Seconds its looks speak about.
    time: f64,
    looks: u32,
    changed: u32,
    host: HostIx,
    /// Its place in the order of entry.
    entered: u32,
    /// Number in the plan; 0 when not in it or in flight.
    number: u32,
    is_out: bool,
}

impl Place {
    fn new(host: HostIx, entered: u32) -> Self {
        let looked = Time::MIN;
        Self { looked, time: 0.0, looks: 0, changed: 0, host, entered, number: 0, is_out: false }
    }

    /// Never polled yet.
    fn is_new(&self) -> bool {
        self.looks == 0 && self.looked == Time::MIN
    }

    /// Seconds from its last look to `at`; none if there was no look.
    fn elapsed(&self, at: Time) -> f64 {
        if self.looked == Time::MIN { 0.0 } else { (at - self.looked).secs() }
    }
}

impl Frequency {
    /// With no sources yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            places: Vec::new(),
            ages: Vec::new(),
            gaps: Vec::new(),
            plan: Lanes::default(),
            planned: 0,
            entries: 0,
            out: 0,
            sees_round_only: false,
        }
    }

    /// CN-62: what the history costs, per source, without what `likelihood` and `last-modified` keep besides.
    pub const fn bytes_per_source() -> usize {
        size_of::<Option<Place>>()
    }

    fn begin(&mut self, now: Time, round: Round, beliefs: &dyn Beliefs) {
        for source in self.plan.clear() {
            self.places[source.ix()].iter_mut().for_each(|place| place.number = 0);
        }
        self.planned = 0;
        // worth is judged as of the round's end; an endless round has none
        let at = if round.end < Time::MAX { round.end } else { now };
        let score = self.scorer(at, round, beliefs);
        let worth = |(ix, place): (usize, &Option<Place>)| {
            let (place, source) = (place.filter(|place| !place.is_out)?, SourceIx::new(ix));
            // in order of entry, before all others
            let first = || 3.0 - f64::from(place.entered) * 1e-12;
            Some(rank(if place.is_new() { first() } else { score(source, &place) }, source))
        };
        let mut best: Vec<Rank> = Vec::with_capacity(self.places.len());
        best.extend(self.places.iter().enumerate().filter_map(worth));
        let polls = usize::try_from(round.polls).unwrap_or(usize::MAX);
        let revisits = if self.sees_round_only && self.settings.rule == Rule::Myopic {
            polls.div_ceil(REVISITS)
        } else {
            0
        };
        drop(score);
        let (planned, rest) = top(&mut best, polls.saturating_sub(revisits));
        for entry in rest.iter_mut().filter(|_| revisits > 0) {
            let source = ranked(*entry);
            if let Some(Some(place)) = self.places.get(source.ix()) {
                *entry = rank(self.chance_since_look(source, place, at, beliefs), source);
            }
        }
        let (revisited, _) = top(rest, revisits);
        for &entry in planned.iter().chain(&*revisited) {
            self.enlist(ranked(entry));
        }
    }

    fn rate(&self, source: SourceIx, place: &Place, beliefs: &dyn Beliefs) -> f64 {
        let own = || self.own_rate(source, place);
        match self.settings.estimator {
            Estimator::Posterior => beliefs.rate(source).unwrap_or_else(own),
            _ => own(),
        }
    }

    /// Δ̂ per second, never zero: at least half a change over the time watched, at most one a second.
    fn own_rate(&self, source: SourceIx, place: &Place) -> f64 {
        let Place { looks, changed, time, .. } = *place;
        let mean_gap = time / f64::from(looks.max(1));
        let rate = match self.settings.estimator {
            Estimator::Naive => regular::naive(changed, looks).rate / mean_gap,
            Estimator::Posterior | Estimator::BiasReduced => {
                regular::bias_reduced(changed, looks).rate / mean_gap
            }
            Estimator::Likelihood => {
                let gaps = self.gaps.get(source.ix()).map_or(&[][..], Vec::as_slice);
                let poll = |&(gap, changed)| Poll { gap: f64::from(gap), changed };
                let polls: Vec<Poll> = gaps.iter().map(poll).collect();
                likelihood::most_likely(&polls).map_or(0.0, |estimate| estimate.rate)
            }
            Estimator::LastModified => {
                let ages = self.ages.get(source.ix()).copied().unwrap_or_default();
                ages.bias_reduced().map_or(0.0, |estimate| estimate.rate)
            }
        };
        rate.clamp(0.5 / time.max(1.0), 1.0)
    }

    fn chance_since_look(
        &self,
        source: SourceIx,
        place: &Place,
        at: Time,
        beliefs: &dyn Beliefs,
    ) -> f64 {
        match self.settings.estimator {
            Estimator::Posterior => beliefs.stale(source, at),
            _ => -(-self.rate(source, place, beliefs) * place.elapsed(at)).exp_m1(),
        }
    }

    fn enlist(&mut self, source: SourceIx) {
        if let Some(place) = &mut self.places[source.ix()] {
            self.planned += 1;
            place.number = self.planned;
            self.plan.add(place.host, u64::from(self.planned), source);
        }
    }

    /// The worth of a poll at `at`, in [0, 2].
    fn scorer<'a>(&'a self, at: Time, round: Round, beliefs: &'a dyn Beliefs) -> Scorer<'a> {
        match self.settings.rule {
            Rule::Myopic if self.sees_round_only => {
                Box::new(move |source, place| match self.settings.estimator {
                    Estimator::Posterior => beliefs.chance(source, round.start, round.end),
                    _ => -(-self.rate(source, place, beliefs) * (round.end - round.start).secs())
                        .exp_m1(),
                })
            }
            Rule::Myopic => {
                Box::new(move |source, place| self.chance_since_look(source, place, at, beliefs))
            }
            Rule::Best(objective) => {
                let best = self.best_rates(objective, round, beliefs);
                Box::new(move |source, place| {
                    let class = class_of(self.rate(source, place, beliefs));
                    let overdue = place.elapsed(at) * best.get(&class).copied().unwrap_or(0.0);
                    // squeezed into [0, 2), keeping the order
                    2.0 * overdue / (1.0 + overdue)
                })
            }
        }
    }

    /// Polling rates by class of change rate, for the polls of a round.
    fn best_rates(
        &self,
        objective: Objective,
        round: Round,
        beliefs: &dyn Beliefs,
    ) -> BTreeMap<i32, f64> {
        let mut counts: BTreeMap<i32, f64> = BTreeMap::new();
        for (ix, place) in self.places.iter().enumerate() {
            if let Some(place) = place {
                *counts
                    .entry(class_of(self.rate(SourceIx::new(ix), place, beliefs)))
                    .or_default() += 1.0;
            }
        }
        let classes: Vec<Class> = counts
            .iter()
            .map(|(&class, &count)| Class { rate: rate_of(class), importance: 1.0, count })
            .collect();
        let length = (round.end - round.start).secs().max(1.0);
        let best = rates(&classes, objective, round.polls as f64 / length);
        counts.into_keys().zip(best).collect()
    }

    fn heard(&mut self, heard: &Observation) {
        let Some(Some(place)) = self.places.get_mut(heard.source.ix()) else { return };
        if !std::mem::take(&mut place.is_out) {
            return;
        }
        self.out -= 1;
        let changed = match heard.verdict {
            Verdict::Lost => return self.enlist(heard.source),
            Verdict::Unreadable => return,
            Verdict::First => None,
            Verdict::Same => Some(false),
            Verdict::Changed => Some(true),
        };
        if let (true, Some(since)) = (place.looked > Time::MIN, heard.since) {
            self.sees_round_only = since > place.looked;
        }
        place.looked = heard.sent;
        if let (Some(changed), Some(since)) = (changed, heard.since) {
            let gap = (heard.sent - since).secs();
            place.looks += 1;
            place.changed += u32::from(changed);
            place.time += gap;
            self.keep(heard, gap, changed);
        }
    }

    /// What two of the estimators keep besides.
    fn keep(&mut self, heard: &Observation, gap: f64, changed: bool) {
        let at = heard.source.ix();
        match self.settings.estimator {
            // a gap in single precision is good to a second in half a year
            #[expect(
                clippy::cast_possible_truncation,
                reason = "single precision is enough for a gap"
            )]
            Estimator::Likelihood => {
                grow(&mut self.gaps, at, Vec::new).push((gap as f32, changed));
            }
            Estimator::LastModified => {
                let age = heard.age.filter(|_| changed).map(Span::secs);
                grow(&mut self.ages, at, last_modified::Tally::default).add(gap, age);
            }
            Estimator::Posterior | Estimator::Naive | Estimator::BiasReduced => {}
        }
    }

    fn left(&mut self, source: SourceIx) {
        let Some(place) = self.places.get_mut(source.ix()).and_then(Option::take) else { return };
        if place.number > 0 {
            self.plan.take(place.host, u64::from(place.number));
        }
        self.out -= usize::from(place.is_out);
        self.gaps.get_mut(source.ix()).map(std::mem::take);
        self.ages.get_mut(source.ix()).map(std::mem::take);
    }
}

/// One poll in so many goes to the source likeliest to have changed since its last look.
const REVISITS: usize = 20;

/// A worth and its source as one number, which sorts best first, equals by ordinal: quick to compare.
type Rank = u128;

/// `worth` must not be negative: then its bits sort as it does.
fn rank(worth: f64, source: SourceIx) -> Rank {
    (u128::from(!worth.max(0.0).to_bits()) << 32) | u128::from(source.raw())
}

fn ranked(rank: Rank) -> SourceIx {
    #[expect(clippy::cast_possible_truncation, reason = "the low half is the ordinal")]
    let source = rank as u32;
    SourceIx::new(source as usize)
}

/// The `most` best in order, best first, and the others.
fn top(list: &mut [Rank], most: usize) -> (&mut [Rank], &mut [Rank]) {
    let most = most.min(list.len());
    if most > 0 && most < list.len() {
        list.select_nth_unstable(most);
    }
    let (best, rest) = list.split_at_mut(most);
    best.sort_unstable();
    (best, rest)
}

/// Rates a percent apart share a class, so that planning costs the number of distinct rates.
fn class_of(rate: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "a logarithm is small")]
    let class = (rate.ln() * 100.0).round() as i32;
    class
}

fn rate_of(class: i32) -> f64 {
    (f64::from(class) / 100.0).exp()
}

impl Policy for Frequency {
    fn tell(&mut self, now: Time, event: &Event, beliefs: &dyn Beliefs) {
        match *event {
            Event::Entered(source, facts) => {
                self.entries = self.entries.saturating_add(1);
                let place = Place::new(facts.host, self.entries);
                *grow(&mut self.places, source.ix(), || None) = Some(place);
            }
            Event::Left(source) => self.left(source),
            Event::Round(round) => self.begin(now, round, beliefs),
            Event::Host(host, gate) => self.plan.gate(host, gate),
            Event::Sent(source, _) => {
                if let Some(Some(place)) = self.places.get_mut(source.ix()) {
                    place.is_out = true;
                    self.out += 1;
                    match std::mem::take(&mut place.number) {
                        0 => {}
                        number => self.plan.take(place.host, u64::from(number)),
                    }
                }
            }
            Event::Heard(ref heard) => self.heard(heard),
            Event::Manners(..) | Event::Visit(_) | Event::Pinned(..) => {}
        }
    }

    fn next(&self, _now: Time, _left: f64, _beliefs: &dyn Beliefs) -> Next {
        match self.plan.first() {
            Some((_, source)) => Next::Poll(source, Purpose::Look),
            None if self.out > 0 => Next::WaitForAnswer,
            None => Next::RoundOver,
        }
    }

    fn why(&self, source: SourceIx, now: Time, beliefs: &dyn Beliefs) -> String {
        let Some(Some(place)) = self.places.get(source.ix()) else {
            return "it is not watched".to_owned();
        };
        let Place { looks, changed, .. } = *place;
        let chance = 100.0 * beliefs.stale(source, now);
        match (looks, place.number) {
            (0, _) => "never polled yet: the first pass takes every source in turn".to_owned(),
            (_, 1..) => format!(
                "changed in {changed} of {looks} looks, probably changed now ({chance:.0} %); number {} of this round's plan",
                place.number
            ),
            (_, 0) => format!(
                "changed in {changed} of {looks} looks, probably changed now ({chance:.0} %); not in this round's plan"
            ),
        }
    }
}
