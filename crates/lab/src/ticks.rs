//! Ticks: a round is an instant with C polls, a change is worth what urgency and life leave of it.
//!
//! ```text
//! truth      the instants at which each source changed; changes of one instant are one
//! told       what policies are told of them: all (`exact`), with the paper's noise, or nothing (`learned`)
//! utility    Σ over captured changes of urgency(delay), over the number of changes: 1 if all are caught at once
//! bound      of utility: what no schedule could beat that knew every change ([`schedule::bound`])
//! ```
//!
//! The paper's noise (WC-15): each change is dropped with chance FPN, and then a spurious one put at any instant of the
//! same source; each is spread over the instants around it like a bell of σ instants. What the bell has beyond 4σ or the
//! epoch is lost, and where chances meet they add up to at most 1: the paper leaves both open.
//!
//! A policy that is told hears it the way it hears everything it believes, as chances of a change; telling is the lab's
//! own, and no live program can do it. Paper page: `docs/papers/pandey-dhamdhere-olston-2004.md`.

use std::str::FromStr;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use dynamics::rate::Belief;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use schedule::bound::{prices_of, tighten};
use schedule::epoch::greedy::{self, Options};
use schedule::epoch::{Epoch, Schedule, optimum::optimum};
use schedule::spec::{Call, Mistake};
use schedule::utility::{Shape, Stay};
use schedule::value::Objective;
use schedule::{Beliefs, Event, Next, Observation, Policy, Purpose, SourceIx, Span, Time};
use statrs::distribution::{ContinuousCDF, Normal};

use crate::run::{self, Clock, Count};
use crate::score::Score;
use crate::world::World;

/// How time goes, what counts and what is told.
#[derive(Clone, Debug)]
pub struct Ticks {
    /// How long an instant lasts.
    pub tick: Span,
    /// C
    pub capacity: u64,
    /// Urgency and life.
    pub shape: Shape,
    /// What policies are told.
    pub told: Told,
}

impl Ticks {
    /// As the scheduler's rounds.
    pub fn clock(&self) -> Clock {
        Clock::Cycles { length: self.tick, polls: self.capacity, count: Count::SinceLast }
    }

    /// An epoch of these instants; `chances` are those of each source of the world.
    fn epoch(&self, world: &World, instants: u32, chances: &[Vec<(u32, f64)>]) -> Epoch {
        let capacity = usize::try_from(self.capacity).unwrap_or(usize::MAX).min(world.len());
        let mut epoch = Epoch::new(1, instants, capacity);
        for (source, chances) in world.sources().zip(chances) {
            epoch.add(world.importance(source), &self.shape, chances.iter().copied());
        }
        epoch
    }
}

/// What policies are told of the chances of changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Told {
    /// Nothing: they learn from their polls.
    Learned,
    /// Every change, with noise; without any: exactly.
    Noisy {
        /// The chance that a change is moved to any other instant.
        fpn: f64,
        /// σ, in instants.
        spread: f64,
    },
}

impl Told {
    /// Every change as it is.
    pub const EXACT: Self = Self::Noisy { fpn: 0.0, spread: 0.0 };
}

impl FromStr for Told {
    type Err = Mistake;

    /// `exact`, `learned` or `noisy(fpn=0.1,spread=2)`.
    fn from_str(text: &str) -> Result<Self, Mistake> {
        let mut call: Call = text.parse()?;
        let told = match call.name.as_str() {
            "exact" => Self::EXACT,
            "learned" => Self::Learned,
            "noisy" => Self::Noisy {
                fpn: call.number("fpn", 0.1, 0.0..=1.0)?,
                spread: call.number("spread", 2.0, 0.0..=10_000.0)?,
            },
            other => {
                let known = "`exact`, `learned` and `noisy(fpn=0.1,spread=2)`";
                return Err(Mistake(format!(
                    "`{other}` says nothing of probabilities; known are {known}"
                )));
            }
        };
        call.finish(if told == Self::EXACT || told == Self::Learned {
            ""
        } else {
            "`fpn` and `spread`"
        })?;
        Ok(told)
    }
}

/// For each source, instants with the chance of a change, in order.
pub type Chances = Vec<Vec<(u32, f64)>>;

/// The instants at which sources changed.
#[derive(Clone, Debug)]
pub struct Truth {
    /// How many instants there are.
    pub instants: u32,
    /// For each source, in order.
    pub changes: Vec<Vec<u32>>,
}

impl Truth {
    /// Of a world cut into instants: a change within (start + (k − 1)·tick, start + k·tick] happens at instant k.
    pub fn of(world: &World, tick: Span) -> Self {
        let instant = |t: Time| instant(t - world.start(), tick);
        let changes = |source| {
            let mut instants: Vec<u32> =
                world.changes(source).iter().map(|&t| instant(t)).collect();
            instants.dedup();
            instants
        };
        Self { instants: instant(world.end()), changes: world.sources().map(changes).collect() }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.changes.iter().map(Vec::len).sum()
    }

    /// Nothing ever changed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As chances: certain.
    pub fn certain(&self) -> Chances {
        self.changes.iter().map(|changes| changes.iter().map(|&k| (k, 1.0)).collect()).collect()
    }

    /// As chances, with the paper's noise.
    pub fn noisy(&self, fpn: f64, spread: f64, seed: u64) -> Chances {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let bell = bell(spread);
        let reach = i64::try_from(bell.len() / 2).unwrap_or(0);
        let mut row = vec![0.0; self.instants as usize + 1];
        self.changes
            .iter()
            .map(|changes| {
                let mut touched = Vec::new();
                for &change in changes {
                    let moved = fpn > 0.0 && rng.random::<f64>() < fpn;
                    let at = if moved { rng.random_range(1..=self.instants) } else { change };
                    for (step, mass) in bell.iter().enumerate() {
                        let k = i64::from(at) - reach + i64::try_from(step).unwrap_or(0);
                        if let Some(k) =
                            u32::try_from(k).ok().filter(|k| (1..=self.instants).contains(k))
                        {
                            row[k as usize] += mass;
                            touched.push(k);
                        }
                    }
                }
                touched.sort_unstable();
                touched.dedup();
                touched
                    .into_iter()
                    .map(|k| (k, std::mem::take(&mut row[k as usize]).min(1.0)))
                    .collect()
            })
            .collect()
    }
}

/// The instant, counting from 1, in which so much time has passed.
fn instant(elapsed: Span, tick: Span) -> u32 {
    let length = tick.micros().max(1);
    u32::try_from((elapsed.micros() + length - 1) / length).unwrap_or(u32::MAX)
}

/// How a change's chance is spread over the instants around it, the middle one its own.
pub fn bell(spread: f64) -> Vec<f64> {
    let Some(normal) = Normal::new(0.0, spread).ok().filter(|_| spread > 0.0) else {
        return vec![1.0];
    };
    #[expect(clippy::cast_possible_truncation, reason = "four spreads of at most 10,000")]
    let reach = (4.0 * spread).ceil() as i32;
    (-reach..=reach)
        .map(|step| normal.cdf(f64::from(step) + 0.5) - normal.cdf(f64::from(step) - 0.5))
        .collect()
}

/// What a schedule made of the changes that happened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Earned {
    /// Σ importance · urgency(delay) over captured changes.
    pub utility: f64,
    /// Σ importance over all changes: what catching all of them at once would earn.
    pub most: f64,
    /// Changes that happened.
    pub changes: u64,
    /// By delay in instants: changes captured; the last holds all longer ones.
    pub delays: [u64; LONG + 1],
    /// What no schedule could beat, of `utility`.
    pub bound: f64,
    /// By the chances told, where there are any.
    pub expected: Option<Expected>,
}

/// Delays from this one on are counted together.
pub const LONG: usize = 10;

/// What a schedule is worth by the chances it was told, rather than by what then happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// U
    pub utility: f64,
    /// What no schedule could beat.
    pub bound: f64,
    /// What the best earns, where that can be told.
    pub optimum: Option<f64>,
}

impl Earned {
    /// Captured changes.
    pub fn captured(&self) -> u64 {
        self.delays.iter().sum()
    }

    /// Per change: 1 if all were caught at once.
    pub fn normalised(&self) -> Option<f64> {
        (self.most > 0.0).then(|| self.utility / self.most)
    }

    /// A part of all changes.
    pub fn share(&self, part: u64) -> Option<f64> {
        (self.changes > 0).then(|| part as f64 / self.changes as f64)
    }

    /// Judges polls of each source, in order of time, by what really happened.
    pub fn of(
        truth: &Truth,
        polls: &[Vec<u32>],
        shape: &Shape,
        importance: impl Fn(usize) -> f64,
    ) -> Self {
        let mut earned = Self { changes: truth.len() as u64, ..Self::default() };
        let urgency = shape.curve(truth.instants);
        for (source, (changes, polls)) in truth.changes.iter().zip(polls).enumerate() {
            let weight = importance(source);
            earned.most += weight * changes.len() as f64;
            let mut seen = 0;
            for &poll in polls {
                let until = changes.partition_point(|&k| k <= poll);
                for (newer, &k) in changes[seen..until].iter().rev().enumerate() {
                    let late = poll - k;
                    let there = match shape.stay {
                        Stay::Append => true,
                        Stay::Window(last) => late <= last,
                        Stay::Changes(changes) => newer < changes as usize,
                    };
                    if there {
                        earned.utility += weight * urgency[late as usize];
                        earned.delays[(late as usize).min(LONG)] += 1;
                    }
                }
                seen = until;
            }
        }
        earned
    }
}

/// The polls of a run, source by source.
pub fn polls_of(sources: usize, log: impl Iterator<Item = (u32, SourceIx)>) -> Vec<Vec<u32>> {
    let mut polls = vec![Vec::new(); sources];
    log.for_each(|(at, source)| polls[source.ix()].push(at));
    // a poll lost and asked again in the same instant is one look
    polls.iter_mut().for_each(Vec::dedup);
    polls
}

/// A world with all that every contender shares: what happened, what is told, and how good anyone could be.
pub struct Stage<'w> {
    pub(crate) world: &'w World,
    pub(crate) ticks: &'w Ticks,
    /// What happened.
    pub truth: Truth,
    chances: Option<Arc<Chances>>,
    bound: f64,
    told: Option<(Epoch, f64, Option<f64>)>,
}

/// Rounds of pricing for a report's bounds.
const ROUNDS: u32 = 150;

impl<'w> Stage<'w> {
    /// `seed` fixes the noise.
    pub fn new(world: &'w World, ticks: &'w Ticks, seed: u64) -> Self {
        let truth = Truth::of(world, ticks.tick);
        let real = ticks.epoch(world, truth.instants, &truth.certain());
        let chances = match ticks.told {
            Told::Learned => None,
            Told::Noisy { fpn, spread } => Some(Arc::new(truth.noisy(fpn, spread, seed))),
        };
        let told = chances.as_ref().map(|chances| {
            let epoch = ticks.epoch(world, truth.instants, chances);
            let (bound, best) = (bound(&epoch), optimum(&epoch));
            (epoch, bound, best)
        });
        Self { world, ticks, bound: bound(&real), truth, chances, told }
    }

    /// Instants that plans may look ahead: all, where all is told.
    pub fn horizon(&self) -> Option<u32> {
        self.chances.is_some().then_some(self.truth.instants.max(1))
    }

    /// Runs a policy; `tick` is called after every instant.
    pub fn run<P: Policy>(&self, policy: P, seed: u64, tick: &dyn Fn()) -> Score {
        let (polls, log) = channel();
        let informed = Informed {
            policy,
            chances: self.chances.clone(),
            start: self.world.start(),
            tick: self.ticks.tick,
            at: 0,
            polls,
        };
        let mut score = run::run(self.world, informed, self.ticks.clock(), seed, tick);
        let polls = polls_of(self.world.len(), log.try_iter());
        score.ticks = Some(self.judge(polls));
        score
    }

    fn judge(&self, polls: Vec<Vec<u32>>) -> Earned {
        let importance = |source| self.world.importance(SourceIx::new(source));
        let mut earned = Earned::of(&self.truth, &polls, &self.ticks.shape, importance);
        earned.bound = self.bound;
        earned.expected = self.told.as_ref().map(|(epoch, bound, optimum)| Expected {
            utility: epoch.utility(&Schedule::of(polls)),
            bound: *bound,
            optimum: *optimum,
        });
        earned
    }
}

/// What no schedule of the epoch can beat.
pub fn bound(epoch: &Epoch) -> f64 {
    let schedule = greedy::wic(epoch, Options::default());
    tighten(epoch, &prices_of(epoch, &schedule), epoch.utility(&schedule), ROUNDS).value
}

/// A policy that may be told chances, and whose polls are written down.
struct Informed<P> {
    policy: P,
    chances: Option<Arc<Chances>>,
    start: Time,
    tick: Span,
    at: u32,
    polls: Sender<(u32, SourceIx)>,
}

impl<P: Policy> Informed<P> {
    fn knows<'b>(&'b self, beliefs: &'b dyn Beliefs) -> Option<Knows<'b>> {
        let chances = self.chances.as_deref()?;
        Some(Knows { chances, start: self.start, tick: self.tick, beliefs })
    }
}

impl<P: Policy> Policy for Informed<P> {
    fn tell(&mut self, now: Time, event: &Event, beliefs: &dyn Beliefs) {
        match *event {
            Event::Round(round) => self.at = round.number,
            Event::Sent(source, _) => drop(self.polls.send((self.at, source))),
            _ => {}
        }
        let chances = self.chances.clone();
        match &chances {
            Some(chances) => {
                let knows = Knows { chances, start: self.start, tick: self.tick, beliefs };
                self.policy.tell(now, event, &knows);
            }
            None => self.policy.tell(now, event, beliefs),
        }
    }

    fn next(&self, now: Time, left: f64, beliefs: &dyn Beliefs) -> Next {
        match self.knows(beliefs) {
            Some(knows) => self.policy.next(now, left, &knows),
            None => self.policy.next(now, left, beliefs),
        }
    }

    fn why(&self, source: SourceIx, now: Time, beliefs: &dyn Beliefs) -> String {
        self.policy.why(source, now, beliefs)
    }

    fn cost(&self, purpose: Purpose) -> f64 {
        self.policy.cost(purpose)
    }

    fn refund(&self, heard: &Observation) -> f64 {
        self.policy.refund(heard)
    }
}

/// Beliefs of one who was told the chance of a change at every instant.
struct Knows<'a> {
    chances: &'a [Vec<(u32, f64)>],
    start: Time,
    tick: Span,
    beliefs: &'a dyn Beliefs,
}

impl Beliefs for Knows<'_> {
    /// Of the instant that ends at `to`.
    fn chance(&self, source: SourceIx, _from: Time, to: Time) -> f64 {
        let at = instant(to - self.start, self.tick);
        let chances = &self.chances[source.ix()];
        chances.binary_search_by_key(&at, |&(k, _)| k).map_or(0.0, |found| chances[found].1)
    }

    fn likely(&self, source: SourceIx, from: Time, to: Time) -> f64 {
        self.chance(source, from, to)
    }

    fn stale(&self, source: SourceIx, now: Time) -> f64 {
        self.beliefs.stale(source, now)
    }

    fn rate(&self, source: SourceIx) -> Option<f64> {
        self.beliefs.rate(source)
    }

    fn value(&self, source: SourceIx, objective: Objective, now: Time) -> f64 {
        self.beliefs.value(source, objective, now)
    }

    fn ripe(&self, source: SourceIx, objective: Objective, price: f64) -> Time {
        self.beliefs.ripe(source, objective, price)
    }

    fn belief(&self, source: SourceIx) -> Option<Belief> {
        self.beliefs.belief(source)
    }

    fn known_at(&self, source: SourceIx) -> Option<Time> {
        self.beliefs.known_at(source)
    }
}

#[cfg(test)]
mod tests {
    use schedule::utility::Decay;

    use super::*;

    fn truth() -> Truth {
        Truth { instants: 100, changes: vec![vec![1, 5, 6, 40], vec![], vec![99]] }
    }

    /// WC-15: peak densities of σ = 2, 4, 5, and what the middle instant of the bell gets.
    #[test]
    fn wc_15_the_bell() {
        for (spread, density, middle) in
            [(2.0, 0.19947, 0.19741), (4.0, 0.09974, 0.09948), (5.0, 0.07979, 0.07966)]
        {
            let bell = bell(spread);
            assert!((bell[bell.len() / 2] - middle).abs() < 1e-5, "{spread}");
            assert!((1.0 / (spread * std::f64::consts::TAU.sqrt()) - density).abs() < 1e-5);
            assert!((bell.iter().sum::<f64>() - 1.0).abs() < 1e-4);
        }
        assert_eq!(bell(0.0), [1.0]);
    }

    #[test]
    fn wc_15_without_noise_all_is_told() {
        assert_eq!(truth().noisy(0.0, 0.0, 1), truth().certain());
    }

    /// Moved changes stay as many, spread ones keep their mass except at the edges.
    #[test]
    fn wc_15_noise_moves_and_spreads_but_does_not_lose() {
        let many = Truth { instants: 1_000, changes: vec![(1..=1_000).step_by(10).collect(); 50] };
        let moved = many.noisy(0.3, 0.0, 1);
        let (mut kept, mut all) = (0, 0);
        for (now, before) in moved.iter().zip(&many.changes) {
            all += before.len();
            kept += now.iter().filter(|(k, _)| before.contains(k)).count();
        }
        let share = kept as f64 / all as f64;
        // a moved change lands on a change in one of ten cases: .7 + .3·.1, now and then onto one still there
        assert!((0.69..0.74).contains(&share), "{share}");
        let mass: f64 = many.noisy(0.0, 2.0, 1).iter().flatten().map(|(_, chance)| chance).sum();
        assert!((mass / 5_000.0 - 1.0).abs() < 0.01, "{mass}");
    }

    /// By hand: changes at 1, 5, 6, polls at 3 and 8. Overwrite finds the newest of each stretch, append all.
    #[test]
    fn wc_16_utility_is_judged_on_what_happened() {
        let truth = Truth { instants: 10, changes: vec![vec![1, 5, 6, 10]] };
        let judge = |stay, r| {
            Earned::of(&truth, &[vec![3, 8]], &Shape { decay: Decay::Exponential(r), stay }, |_| {
                1.0
            })
        };
        let overwrite = judge(Stay::Changes(1), 0.5);
        assert!((overwrite.utility - (0.25 + 0.25)).abs() < 1e-12);
        assert_eq!((overwrite.captured(), overwrite.changes, overwrite.delays[2]), (2, 4, 2));
        let append = judge(Stay::Append, 1.0);
        assert!((append.normalised().unwrap() - 0.75).abs() < 1e-12);
        assert_eq!(judge(Stay::Window(2), 1.0).captured(), 2);
        assert_eq!(judge(Stay::Changes(2), 1.0).captured(), 3);
    }

    #[test]
    fn what_is_told_is_read_and_mistakes_are_named() {
        assert_eq!("exact".parse::<Told>(), Ok(Told::EXACT));
        assert_eq!("noisy(fpn=0.2)".parse::<Told>(), Ok(Told::Noisy { fpn: 0.2, spread: 2.0 }));
        for text in ["exakt", "noisy(fpn=2)", "exact(x=1)", "noisy(sigma=2)"] {
            assert!(text.parse::<Told>().is_err(), "{text}");
        }
    }
}
