//! The oracle: what a poller who knew every change could have captured. A bound, lab only.
//!
//! Each version is a job: it can be captured from the moment of its change until the next change
//! overwrites it. At every poll the oracle takes, among the versions now waiting, the one that will be
//! overwritten first. For jobs of one poll each this *earliest deadline first* rule captures as many as
//! any schedule with the same poll times can (a maximum matching of a convex bipartite graph, Glover
//! 1967). So it bounds change recall and the number of changed downloads. It does not bound freshness or
//! age: for those it is only a well-informed competitor.
//!
//! Under per-cycle count only this cycle's flags matter, so it downloads flagged sources first and
//! fills up with any others; ChangeRatio = min(1, changed/R) (CN-35, `docs/papers/cho-ntoulas-2002.md`).

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use schedule::{Beliefs, Event, Next, Policy, Purpose, SourceIx, Time};

use crate::run::Count;
use crate::world::World;

/// Polls what it knows to have changed.
pub struct Oracle {
    world: Arc<World>,
    count: Count,
    /// What time has revealed so far: a cache, a function of `now` and of the looks told.
    waiting: RefCell<Waiting>,
    /// Polled this round: not polled again in it, whatever it would yield.
    idle: BTreeSet<SourceIx>,
    absent: BTreeSet<SourceIx>,
    /// Without flow, unchanged sources fill the round up.
    fills: bool,
}

#[derive(Default)]
struct Waiting {
    /// All changes of the world in order of time, and how many have happened.
    order: Vec<(Time, SourceIx)>,
    happened: usize,
    /// Versions to be captured, by the time they are overwritten.
    deadlines: BTreeSet<(Time, SourceIx)>,
    by_source: Vec<Option<Time>>,
}

impl Oracle {
    /// Knows `world`. `fills` if a round's budget is to be spent in full (cycles).
    pub fn new(world: Arc<World>, count: Count, fills: bool) -> Self {
        let mut order: Vec<_> = world
            .sources()
            .flat_map(|source| world.changes(source).iter().map(move |&t| (t, source)))
            .collect();
        order.sort_unstable();
        let waiting =
            Waiting { order, happened: 0, deadlines: BTreeSet::new(), by_source: vec![None; world.len()] };
        Self {
            world,
            count,
            waiting: RefCell::new(waiting),
            idle: BTreeSet::new(),
            absent: BTreeSet::new(),
            fills,
        }
    }
}

impl Waiting {
    /// Versions that came by `now` wait from then on; one that is overwritten is replaced.
    fn reveal(&mut self, world: &World, now: Time) {
        while let Some(&(t, source)) = self.order.get(self.happened).filter(|&&(t, _)| t <= now) {
            let changes = world.changes(source);
            let next = changes.get(changes.partition_point(|&other| other <= t));
            self.set(source, Some(next.copied().unwrap_or(Time::MAX)));
            self.happened += 1;
        }
    }

    fn set(&mut self, source: SourceIx, deadline: Option<Time>) {
        if let Some(old) = std::mem::replace(&mut self.by_source[source.ix()], deadline) {
            self.deadlines.remove(&(old, source));
        }
        if let Some(new) = deadline {
            self.deadlines.insert((new, source));
        }
    }

    fn forget(&mut self) {
        self.deadlines.clear();
        self.by_source.fill(None);
    }
}

impl Policy for Oracle {
    fn tell(&mut self, now: Time, event: &Event, _beliefs: &dyn Beliefs) {
        let waiting = self.waiting.get_mut();
        match *event {
            Event::Entered(source, _) => {
                self.absent.remove(&source);
                self.idle.insert(source);
            }
            Event::Left(source) => {
                self.idle.remove(&source);
                self.absent.insert(source);
                waiting.reveal(&self.world, now);
                waiting.set(source, None);
            }
            Event::Round(round) => {
                if self.count == Count::PerCycle {
                    waiting.forget();
                    waiting.happened = waiting.order.partition_point(|&(t, _)| t <= round.start);
                }
                if self.fills {
                    self.idle = self.world.sources().filter(|source| !self.absent.contains(source)).collect();
                }
            }
            Event::Sent(source, _) => {
                waiting.reveal(&self.world, now);
                waiting.set(source, None);
                self.idle.remove(&source);
            }
            Event::Heard(_) | Event::Host(..) | Event::Manners(..) => {}
        }
    }

    fn next(&self, now: Time, _left: f64, _beliefs: &dyn Beliefs) -> Next {
        let mut waiting = self.waiting.borrow_mut();
        waiting.reveal(&self.world, now);
        let known = waiting.deadlines.iter().map(|&(_, source)| source);
        let wanted = known.into_iter().find(|source| !self.absent.contains(source));
        match wanted.or_else(|| self.fills.then(|| self.idle.first().copied()).flatten()) {
            Some(source) => Next::Poll(source, Purpose::Look),
            None if self.fills => Next::RoundOver,
            None => Next::WaitUntil(waiting.order.get(waiting.happened).map_or(Time::MAX, |&(t, _)| t)),
        }
    }

    fn why(&self, _source: SourceIx, _now: Time, _beliefs: &dyn Beliefs) -> String {
        "it knows what changed".to_owned()
    }
}
