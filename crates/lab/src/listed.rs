//! Who knows the flags: under per-cycle count a download earns its source's change flag of the cycle, so someone who
//! knows the world only has to list what to download, best first. Bounds, lab only.
//!
//! ```text
//! oracle      knows this cycle's flags: flagged sources, then any others; ChangeRatio = min(1, changed/R)  (CN-35)
//! hindsight   knows how often each source is flagged: the best fixed choice, the same R sources in every cycle
//! ```
//!
//! Paper: `docs/papers/cho-ntoulas-2002.md`.

use std::cmp::Reverse;

use schedule::{Beliefs, Event, Next, Policy, Purpose, Round, SourceIx, Span, Time};

use crate::world::World;

/// Downloads the list of each cycle from its top, and when it ends any others.
pub struct Listed {
    /// Cycle after cycle, at least one; the last is for all that follow.
    lists: Vec<Vec<SourceIx>>,
    present: Vec<bool>,
    /// This cycle's downloads.
    queue: Vec<SourceIx>,
    sent: usize,
    why: &'static str,
}

impl Listed {
    /// Knows what changes in each cycle of `length`.
    pub fn oracle(world: &World, length: Span) -> Self {
        let mut lists: Vec<Vec<SourceIx>> = Vec::new();
        for (cycle, source) in flags(world, length) {
            grow(&mut lists, cycle).push(source);
        }
        lists.push(Vec::new());
        Self::new(world, lists, "it knows what changed in this cycle")
    }

    /// Knows in how many cycles of `length` each source changes.
    pub fn hindsight(world: &World, length: Span) -> Self {
        let mut flagged = vec![0u32; world.len()];
        flags(world, length).for_each(|(_, source)| flagged[source.ix()] += 1);
        let mut order: Vec<SourceIx> = world.sources().collect();
        order.sort_by_key(|source| Reverse(flagged[source.ix()]));
        Self::new(world, vec![order], "it knows how often each source changes")
    }

    fn new(world: &World, lists: Vec<Vec<SourceIx>>, why: &'static str) -> Self {
        Self { lists, present: vec![false; world.len()], queue: Vec::new(), sent: 0, why }
    }

    /// As many as the round can pay for.
    fn begin(&mut self, round: Round) {
        let polls = usize::try_from(round.polls).unwrap_or(usize::MAX);
        let list = &self.lists[(round.number as usize).clamp(1, self.lists.len()) - 1];
        let present = |source: &SourceIx| self.present[source.ix()];
        (self.queue, self.sent) = (list.iter().copied().filter(present).take(polls).collect(), 0);
        if self.queue.len() < polls {
            let mut others = self.present.clone();
            self.queue.iter().for_each(|source| others[source.ix()] = false);
            let others = (0..others.len()).filter(|&at| others[at]).map(SourceIx::new);
            self.queue.extend(others.take(polls - self.queue.len()));
        }
    }
}

/// The change flags of all sources: in which cycle, counting from 0, and of which source.
fn flags(world: &World, length: Span) -> impl Iterator<Item = (usize, SourceIx)> {
    let length = length.micros().max(1);
    let cycle = move |t: Time| ((t - world.start()).micros() - 1) / length;
    world.sources().flat_map(move |source| {
        let cycles = world.changes(source).iter().map(move |&t| cycle(t));
        let mut last = -1;
        cycles
            .filter(move |&cycle| std::mem::replace(&mut last, cycle) != cycle)
            .map(move |cycle| (usize::try_from(cycle).unwrap_or(0), source))
    })
}

/// The list at `index`, and those before it.
fn grow(lists: &mut Vec<Vec<SourceIx>>, index: usize) -> &mut Vec<SourceIx> {
    if index >= lists.len() {
        lists.resize_with(index + 1, Vec::new);
    }
    &mut lists[index]
}

impl Policy for Listed {
    fn tell(&mut self, _now: Time, event: &Event, _beliefs: &dyn Beliefs) {
        match *event {
            Event::Entered(source, _) => self.present[source.ix()] = true,
            Event::Left(source) => self.present[source.ix()] = false,
            Event::Round(round) => self.begin(round),
            Event::Sent(..) => self.sent += 1,
            Event::Heard(_)
            | Event::Host(..)
            | Event::Manners(..)
            | Event::Visit(_)
            | Event::Pinned(..) => {}
        }
    }

    fn next(&self, _now: Time, _left: f64, _beliefs: &dyn Beliefs) -> Next {
        self.queue
            .get(self.sent)
            .map_or(Next::RoundOver, |&source| Next::Poll(source, Purpose::Look))
    }

    fn why(&self, _source: SourceIx, _now: Time, _beliefs: &dyn Beliefs) -> String {
        self.why.to_owned()
    }
}
