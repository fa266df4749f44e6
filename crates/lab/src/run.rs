//! One run: a policy in the real scheduler, a world, and the books kept beside it.
//!
//! Two clocks. In **cycles** every poll of a cycle happens at the cycle's end, without latency, hosts open,
//! and the cycle brings R polls. In **continuous** time polls accrue and are spread over time. Either way
//! the loop only carries words between the scheduler and the world: next → look → tell.
//!
//! What a poll sees depends on the count (CN-08): *per cycle* it sees this cycle's change flag, the papers'
//! rule, which no live poller could see; *since last* it sees whether anything changed since the last look,
//! which is what the daemon lives with.

use std::time::Instant;

use schedule::{
    Budget, Event, Facts, Next, Observation, Policy, Purpose, Round, Scheduler, Settings, SourceIx,
    Span, Time, Verdict, chance,
};

use crate::copy::Copy;
use crate::score::{Cycle, Score};
use crate::world::World;

/// What counts as changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// This cycle's flag.
    PerCycle,
    /// Anything since the last look.
    SinceLast,
}

/// How time and polls go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// `polls` at the end of every `length`.
    Cycles {
        /// Length of a cycle.
        length: Span,
        /// R
        polls: u64,
        /// What a poll sees.
        count: Count,
    },
    /// `polls` accrue over every `per`; policies that plan in rounds get one every `round`.
    Continuous {
        /// Polls per `per`.
        polls: u64,
        /// The span they accrue over.
        per: Span,
        /// Length of a round.
        round: Span,
    },
}

impl Clock {
    /// Length of a cycle or round.
    pub fn round(self) -> Span {
        match self {
            Self::Cycles { length, .. } => length,
            Self::Continuous { round, .. } => round,
        }
    }

    /// Polls a cycle or round can pay for.
    pub fn polls_per_round(self) -> u64 {
        match self {
            Self::Cycles { polls, .. } => polls,
            Self::Continuous { polls, per, round } => {
                let exact = u128::from(polls) * u128::from(round.micros().unsigned_abs());
                u64::try_from(exact / u128::from(per.micros().max(1).unsigned_abs()))
                    .unwrap_or(u64::MAX)
            }
        }
    }

    fn settings(self) -> Settings {
        let budget = match self {
            Self::Cycles { .. } => Budget::PerRound,
            Self::Continuous { polls, per, .. } => Budget::flow(polls, per),
        };
        Settings { budget, ..Settings::default() }
    }
}

/// How many neighbours enter together: few enough that round-robin's result does not hang on the order of a file,
/// enough that a simulation reads memory in order.
const RUN: usize = 16;

/// Runs `policy` over `world`; `seed` fixes the order in which sources that are there at the start enter. `tick` is called after every round.
pub fn run<P: Policy>(world: &World, policy: P, clock: Clock, seed: u64, tick: &dyn Fn()) -> Score {
    let began = Instant::now();
    let mut bench = Bench::new(world, policy, clock, seed);
    for number in 1..=bench.rounds() {
        bench.round(number);
        tick();
    }
    bench.finish(began)
}

/// The scheduler, the copy and the books of one run.
pub struct Bench<'w, P> {
    /// The very scheduler the daemon drives.
    pub scheduler: Scheduler<P>,
    world: &'w World,
    clock: Clock,
    copy: Copy<'w>,
    cycles: Vec<Cycle>,
    /// Arrivals and departures to come, latest first.
    moves: Vec<(Time, Move)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Move {
    Leave(SourceIx),
    Enter(SourceIx),
}

impl<'w, P: Policy> Bench<'w, P> {
    /// Ready for its first round.
    pub fn new(world: &'w World, policy: P, clock: Clock, seed: u64) -> Self {
        let place = |source: &SourceIx| world.place(*source);
        let arrivals = world.sources().filter(|source| place(source).enters > world.start());
        let departures = world.sources().filter(|source| place(source).leaves < world.end());
        let mut moves: Vec<(Time, Move)> = arrivals
            .map(|source| (place(&source).enters, Move::Enter(source)))
            .chain(departures.map(|source| (place(&source).leaves, Move::Leave(source))))
            .collect();
        moves.sort_unstable_by(|a, b| b.cmp(a));
        let mut bench = Self {
            scheduler: Scheduler::new(policy, clock.settings()),
            world,
            clock,
            copy: Copy::synced(world),
            cycles: Vec::new(),
            moves,
        };
        bench.enter_all(seed);
        bench
    }

    /// Sources that are there at the start enter in short runs, the runs in random order.
    fn enter_all(&mut self, seed: u64) {
        let world = self.world;
        let there: Vec<SourceIx> =
            world.sources().filter(|&source| world.place(source).enters <= world.start()).collect();
        let mut runs: Vec<(u64, &[SourceIx])> =
            there.chunks(RUN).map(|run| (chance::draw(seed, [run[0].ix() as u64]), run)).collect();
        runs.sort_unstable();
        self.scheduler.expect(world.len());
        for &source in runs.into_iter().flat_map(|(_, run)| run) {
            self.enter(world.start(), source);
        }
    }

    fn enter(&mut self, now: Time, source: SourceIx) {
        let place = self.world.place(source);
        let facts = Facts {
            site: place.site,
            host: place.host,
            importance: place.importance,
            known: place.enters <= self.world.start(),
            worth: self.world.worth(),
        };
        self.scheduler.tell(now, Event::Entered(source, facts));
    }

    /// How many rounds the world has; the last may be cut short.
    pub fn rounds(&self) -> u32 {
        let span = (self.world.end() - self.world.start()).micros().unsigned_abs();
        let round = self.clock.round().micros().max(1).unsigned_abs();
        u32::try_from(span.div_ceil(round)).unwrap_or(u32::MAX)
    }

    /// Plays round `number`, counting from 1.
    pub fn round(&mut self, number: u32) {
        let length = self.clock.round();
        let start = self.world.start() + length.times(i64::from(number) - 1);
        let end = (start + length).min(self.world.end());
        let round = Round::of(number, start, end, self.clock.polls_per_round());
        self.cycles.push(Cycle::default());
        match self.clock {
            Clock::Cycles { .. } => {
                self.move_sources(end);
                self.scheduler.tell(end, Event::Round(round));
                while let Next::Poll(source, purpose) = self.scheduler.next(end) {
                    self.poll(end, source, purpose, round);
                }
            }
            Clock::Continuous { .. } => self.flow(round),
        }
    }

    fn flow(&mut self, round: Round) {
        let mut now = round.start;
        self.move_sources(now);
        self.scheduler.tell(now, Event::Round(round));
        // a round ends where the next begins; the world's last instant belongs to its last round
        let over = if round.end < self.world.end() { round.end } else { round.end + Span::TICK };
        while now < over {
            let next_move = self.moves.last().map_or(Time::MAX, |&(at, _)| at);
            now = match self.scheduler.next(now) {
                Next::Poll(source, purpose) => {
                    self.poll(now, source, purpose, round);
                    continue;
                }
                Next::WaitUntil(until) => until.max(now + Span::TICK).min(next_move),
                Next::WaitForAnswer | Next::RoundOver => next_move,
            };
            if now < over {
                self.move_sources(now);
            }
        }
    }

    /// Sources come and go up to `now`.
    fn move_sources(&mut self, now: Time) {
        while let Some((at, movement)) = self.moves.pop_if(|&mut (at, _)| at <= now) {
            match movement {
                Move::Enter(source) => self.enter(at, source),
                Move::Leave(source) => self.scheduler.tell(at, Event::Left(source)),
            }
        }
    }

    fn poll(&mut self, now: Time, source: SourceIx, purpose: Purpose, round: Round) {
        self.scheduler.tell(now, Event::Sent(source, purpose));
        let seen = self.copy.look(source, now);
        let (since, changed) = match self.clock {
            Clock::Cycles { count: Count::PerCycle, .. } => {
                (Some(round.start), seen.last_change.is_some_and(|changed| changed > round.start))
            }
            _ => (seen.since, seen.unseen > 0),
        };
        let verdict = match (seen.first, changed) {
            (true, _) => Verdict::First,
            (false, true) => Verdict::Changed,
            (false, false) => Verdict::Same,
        };
        self.book(source, verdict);
        let since = since.filter(|_| verdict != Verdict::First);
        let age = seen.last_change.map(|changed| now - changed);
        let heard = Observation { source, purpose, sent: now, since, verdict, age };
        self.scheduler.tell(now, Event::Heard(heard));
    }

    fn book(&mut self, source: SourceIx, verdict: Verdict) {
        let Some(cycle) = self.cycles.last_mut() else { return };
        cycle.polls += 1;
        if verdict != Verdict::First {
            let importance = self.world.importance(source);
            cycle.judged += 1;
            cycle.weight += importance;
            if verdict == Verdict::Changed {
                cycle.changed += 1;
                cycle.weight_changed += importance;
            }
        }
    }

    /// Σ of the largest importances, as many as each cycle judged.
    fn best_weight(&self) -> Vec<f64> {
        if !self.world.is_weighted() {
            let most = self.world.len() as u64;
            return self.cycles.iter().map(|cycle| cycle.judged.min(most) as f64).collect();
        }
        let mut weights: Vec<f64> =
            self.world.sources().map(|source| self.world.importance(source)).collect();
        weights.sort_unstable_by(|a, b| b.total_cmp(a));
        let judged = |cycle: &Cycle| usize::try_from(cycle.judged).unwrap_or(usize::MAX);
        let best = |cycle| weights.iter().take(judged(cycle)).sum();
        self.cycles.iter().map(best).collect()
    }

    /// Closes the books.
    pub fn finish(self, began: Instant) -> Score {
        let decide_seconds = began.elapsed().as_secs_f64();
        Score {
            best_weight: self.best_weight(),
            cycles: self.cycles,
            changes: self.world.total_changes() as u64,
            quality: self.copy.finish(),
            decide_seconds,
            ticks: None,
        }
    }
}
