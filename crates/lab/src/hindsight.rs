//! Hindsight: the best that fixed polling rates could have done, had every source's rate been known. A second
//! bound, lab only, on policies that only learn rates; one that senses bursts may beat it.
//!
//! Under per-cycle count a download earns its source's flag, so the best fixed choice is the same R sources in
//! every cycle: those flagged most often ([`crate::listed`]). Otherwise each source is polled at the rate that
//! maximises captured changes within the budget for its true mean change rate ([`FixedRates`], water-filling,
//! CN-X1 in `docs/papers/cho-ntoulas-2002.md`).

use std::collections::BTreeSet;

use schedule::allocate::{Class, rates};
use schedule::value::Objective;
use schedule::{Beliefs, Event, Next, Policy, Purpose, SourceIx, Span, Time, chance};

use crate::world::World;

/// Each source at its own fixed interval.
pub struct FixedRates {
    /// Time between polls of each source.
    every: Vec<Span>,
    /// By the time the next poll is due.
    due: BTreeSet<(Time, SourceIx)>,
    places: Vec<Option<Time>>,
    /// Polled in this instant; due again from the next round on.
    rested: Vec<SourceIx>,
    in_cycles: bool,
    seed: u64,
}

/// How long a source that never changes waits.
const NEVER: Span = Span::DAY.times(100_000);

impl FixedRates {
    /// Knows every mean change rate; `polls` per second are shared out. `in_cycles` if all polls of a round happen
    /// in one instant.
    pub fn new(world: &World, polls: f64, in_cycles: bool, seed: u64) -> Self {
        let life = |source: SourceIx| {
            let place = world.place(source);
            (world.end().min(place.leaves) - world.start().max(place.enters)).secs().max(1.0)
        };
        // sources with equally many changes over equally long lives are alike
        let mut classes: Vec<Class> = Vec::new();
        let mut known: std::collections::HashMap<(usize, u64), usize> =
            std::collections::HashMap::new();
        let class: Vec<Option<usize>> = world
            .sources()
            .map(|source| {
                let (changes, life) = (world.changes(source).len(), life(source));
                let next = classes.len();
                (changes > 0).then(|| {
                    let at = *known.entry((changes, life.to_bits())).or_insert(next);
                    if at == next {
                        classes.push(Class {
                            rate: changes as f64 / life,
                            importance: 1.0,
                            count: 0.0,
                        });
                    }
                    classes[at].count += 1.0;
                    at
                })
            })
            .collect();
        let rates = rates(&classes, Objective::Captured, polls);
        let every = |class: Option<usize>| match class.map(|class| rates[class]) {
            Some(rate) if rate > 0.0 => Span::from_secs_f64(1.0 / rate).max(Span::TICK).min(NEVER),
            _ => NEVER,
        };
        Self {
            every: class.into_iter().map(every).collect(),
            due: BTreeSet::new(),
            places: vec![None; world.len()],
            rested: Vec::new(),
            in_cycles,
            seed,
        }
    }

    fn set(&mut self, source: SourceIx, due: Option<Time>) {
        if let Some(old) = std::mem::replace(&mut self.places[source.ix()], due) {
            self.due.remove(&(old, source));
        }
        if let Some(new) = due {
            self.due.insert((new, source));
        }
    }

    /// The first poll falls evenly into the interval, so that sources alike do not march in step.
    fn phase(&self, source: SourceIx) -> Span {
        let part = chance::draw(self.seed, [source.ix() as u64]) as f64 / u64::MAX as f64;
        Span::from_secs_f64(self.every[source.ix()].secs() * part)
    }
}

impl Policy for FixedRates {
    fn tell(&mut self, now: Time, event: &Event, _beliefs: &dyn Beliefs) {
        match *event {
            Event::Entered(source, _) => self.set(source, Some(now + self.phase(source))),
            Event::Left(source) => self.set(source, None),
            Event::Round(_) => {
                for source in std::mem::take(&mut self.rested) {
                    // due since its last poll, one round ago
                    self.set(source, self.places[source.ix()]);
                    if let Some(due) = self.places[source.ix()] {
                        self.due.insert((due, source));
                    }
                }
            }
            Event::Sent(source, _) => {
                let next = now + self.every[source.ix()];
                if self.in_cycles {
                    self.set(source, None);
                    self.places[source.ix()] = Some(next);
                    self.rested.push(source);
                } else {
                    self.set(source, Some(next));
                }
            }
            Event::Heard(_)
            | Event::Host(..)
            | Event::Manners(..)
            | Event::Visit(_)
            | Event::Pinned(..) => {}
        }
    }

    fn next(&self, _now: Time, _left: f64, _beliefs: &dyn Beliefs) -> Next {
        self.due.first().map_or(Next::RoundOver, |&(_, source)| Next::Poll(source, Purpose::Look))
    }

    fn why(&self, source: SourceIx, _now: Time, _beliefs: &dyn Beliefs) -> String {
        format!(
            "it knows how often each source changes; this one is due every {}",
            self.every[source.ix()]
        )
    }
}
