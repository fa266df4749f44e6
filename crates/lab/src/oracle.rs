//! The oracles: what a poller who knew every change could have captured. Bounds, lab only.
//!
//! Under per-cycle count only this cycle's flags matter, and a list will do ([`crate::listed`]).
//!
//! [`Deadlines`] is for everything else. Each version is a job: it can be captured from the moment of its
//! change until the next change overwrites it. At every poll the oracle takes, among the versions now
//! waiting, the one that will be overwritten first. For jobs of one poll each this *earliest deadline first*
//! rule captures as many as any schedule with the same poll times can (a maximum matching of a convex
//! bipartite graph; Glover 1967). When nothing waits it polls anything, so that its poll times are those of
//! every policy that spends what it has. So it bounds change recall, and the ChangeRatio of policies that spend
//! as much. It does not bound freshness or age: for those it is only a well-informed competitor. And it is a
//! bound only where all sources are there throughout: the first look at a newcomer captures nothing but makes
//! later captures possible, which it weighs by a rule of thumb (look before the newcomer's first change).

use std::cell::RefCell;
use std::collections::BTreeSet;

use schedule::{Beliefs, Event, Next, Policy, Purpose, SourceIx, Time};

use crate::world::World;

/// Polls the version that will be overwritten first.
pub struct Deadlines {
    /// What time has revealed so far: a cache, a function of `now` and of the polls told.
    waiting: RefCell<Waiting>,
    present: BTreeSet<SourceIx>,
    /// Newcomers not yet looked at.
    unseen: BTreeSet<SourceIx>,
    /// Not yet polled this round: what fills up when nothing waits.
    idle: BTreeSet<SourceIx>,
    /// A source may be polled again in the same round: time has passed since.
    repeats: bool,
}

struct Waiting {
    /// All versions in order of time: when it came, which source, when it is overwritten.
    order: Vec<(Time, SourceIx, Time)>,
    happened: usize,
    deadlines: BTreeSet<(Time, SourceIx)>,
    by_source: Vec<Option<Time>>,
    first_changes: Vec<Option<Time>>,
}

impl Deadlines {
    /// Knows `world`; `repeats` if a round lasts longer than a moment.
    pub fn new(world: &World, repeats: bool) -> Self {
        let mut order: Vec<_> = world
            .sources()
            .flat_map(|source| {
                let changes = world.changes(source);
                let overwritten =
                    changes.iter().skip(1).copied().chain([world.place(source).leaves]);
                changes.iter().zip(overwritten).map(move |(&t, end)| (t, source, end))
            })
            .collect();
        order.sort_unstable();
        let by_source = vec![None; world.len()];
        let first_changes =
            world.sources().map(|source| world.changes(source).first().copied()).collect();
        let waiting =
            Waiting { order, happened: 0, deadlines: BTreeSet::new(), by_source, first_changes };
        Self {
            waiting: RefCell::new(waiting),
            present: BTreeSet::new(),
            unseen: BTreeSet::new(),
            idle: BTreeSet::new(),
            repeats,
        }
    }
}

impl Waiting {
    /// Versions that came by `now` wait from then on; one that is overwritten is replaced.
    fn reveal(&mut self, unseen: &BTreeSet<SourceIx>, now: Time) {
        while let Some(&(_, source, deadline)) =
            self.order.get(self.happened).filter(|&&(t, ..)| t <= now)
        {
            if !unseen.contains(&source) {
                self.set(source, Some(deadline));
            }
            self.happened += 1;
        }
    }

    /// The first version of a newcomer still to come.
    fn first_change_of(&self, source: SourceIx, now: Time) -> Option<Time> {
        self.first_changes[source.ix()].filter(|&first| first > now)
    }

    fn set(&mut self, source: SourceIx, deadline: Option<Time>) {
        if let Some(old) = std::mem::replace(&mut self.by_source[source.ix()], deadline) {
            self.deadlines.remove(&(old, source));
        }
        if let Some(new) = deadline {
            self.deadlines.insert((new, source));
        }
    }
}

impl Policy for Deadlines {
    fn tell(&mut self, now: Time, event: &Event, _beliefs: &dyn Beliefs) {
        let waiting = self.waiting.get_mut();
        waiting.reveal(&self.unseen, now);
        match *event {
            Event::Entered(source, facts) => {
                self.present.insert(source);
                self.idle.insert(source);
                if !facts.known {
                    self.unseen.insert(source);
                    waiting.set(source, waiting.first_change_of(source, now));
                }
            }
            Event::Left(source) => {
                self.present.remove(&source);
                self.idle.remove(&source);
                self.unseen.remove(&source);
                waiting.set(source, None);
            }
            Event::Round(_) => self.idle.clone_from(&self.present),
            Event::Sent(source, _) => {
                waiting.set(source, None);
                self.idle.remove(&source);
                self.unseen.remove(&source);
            }
            Event::Heard(_)
            | Event::Host(..)
            | Event::Manners(..)
            | Event::Visit(_)
            | Event::Pinned(..) => {}
        }
    }

    fn next(&self, now: Time, _left: f64, _beliefs: &dyn Beliefs) -> Next {
        let mut waiting = self.waiting.borrow_mut();
        waiting.reveal(&self.unseen, now);
        let wanted = waiting.deadlines.first().map(|&(_, source)| source);
        let any =
            || self.idle.first().or_else(|| self.present.first().filter(|_| self.repeats)).copied();
        wanted.or_else(any).map_or(Next::RoundOver, |source| Next::Poll(source, Purpose::Look))
    }

    fn why(&self, _source: SourceIx, _now: Time, _beliefs: &dyn Beliefs) -> String {
        "it knows every change, and polls what will be overwritten first".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use schedule::{HostIx, SiteIx, Span};

    use super::*;
    use crate::run::{Clock, run};
    use crate::world::Place;

    fn world_of(changes: &[Vec<i64>], leaves: i64) -> World {
        let mut world = World::new(Time::ZERO, Time::from_secs(12));
        for times in changes {
            let place = Place {
                site: SiteIx::FIRST,
                host: HostIx::FIRST,
                importance: 1.0,
                enters: Time::ZERO,
                leaves: Time::from_secs(leaves),
            };
            world.add(place, times.iter().map(|&t| Time::from_secs(t)));
        }
        world
    }

    /// The most versions any choice of one source per second can capture, by trying all of them.
    fn brute_force(changes: &[Vec<i64>], leaves: i64, second: i64, seen: &mut [i64]) -> usize {
        if second > 12 || (leaves < 12 && second >= leaves) {
            return 0;
        }
        (0..changes.len())
            .map(|source| {
                let fresh = changes[source].iter().any(|&t| t > seen[source] && t <= second);
                let before = std::mem::replace(&mut seen[source], second);
                let total = usize::from(fresh) + brute_force(changes, leaves, second + 2, seen);
                seen[source] = before;
                total
            })
            .max()
            .unwrap_or(0)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

        /// One poll every two seconds, up to three sources: earliest deadline first is the optimum.
        #[test]
        fn captures_as_many_as_any_schedule(
            changes in prop::collection::vec(prop::collection::btree_set(1i64..13, 0..6), 1..4), leaves in 6i64..20,
        ) {
            let changes: Vec<Vec<i64>> = changes.into_iter().map(|set| set.into_iter().collect()).collect();
            let world = world_of(&changes, leaves);
            let clock = Clock::Continuous { polls: 1, per: Span::from_secs(2), round: Span::from_secs(12) };
            let score = run(&world, Deadlines::new(&world, true), clock, 1, &|| {});
            let captured = usize::try_from(score.cycles[0].changed).unwrap();
            let best = brute_force(&changes, leaves, 2, &mut vec![0; changes.len()]);
            prop_assert_eq!(captured, best);
        }
    }
}
