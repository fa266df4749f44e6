//! The local copy: what it last saw of every source, and how fresh and how old it was meanwhile.
//!
//! Freshness and age are integrated exactly, not sampled. Between two looks at L and P, with the unseen
//! changes u₁ < … < u_k:
//!
//! ```text
//! fresh time            u₁ − L              (P − L when there are none)
//! age since first       ∫ (t − u₁) dt      = (P − u₁)² / 2
//! age since last        Σ ∫ (t − u_j) dt   = Σ (u_{j+1} − u_j)² / 2,   u_{k+1} = P
//! ```
//!
//! *Age* has two readings (CN-05): since the first change the copy lacks, and since the last. A source that
//! came later than the world's start is not fresh, and ages since it came, until it is first looked at.
//!
//! Paper: CN-04, CN-05 (`docs/papers/cho-ntoulas-2002.md`).

use schedule::{SourceIx, Time};

use crate::world::World;

/// What a look at a source found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Nothing to compare with.
    pub first: bool,
    /// Changes since the last look; all but the newest are lost for good.
    pub unseen: usize,
    /// The last look, if there was one.
    pub since: Option<Time>,
    /// The newest change of the source, seen now or before.
    pub last_change: Option<Time>,
}

/// Integrals over time, per unit of importance or plain.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quality {
    /// Seconds of life of all sources.
    pub life: f64,
    /// Seconds the copy was up to date.
    pub fresh: f64,
    /// Seconds² of age since the first change missed.
    pub age_of_first: f64,
    /// Seconds² of age since the last change missed.
    pub age_of_last: f64,
}

impl Quality {
    /// Integrals kept in microseconds, told in seconds.
    fn in_seconds(self) -> Self {
        Self {
            life: self.life / 1e6,
            fresh: self.fresh / 1e6,
            age_of_first: self.age_of_first / 1e12,
            age_of_last: self.age_of_last / 1e12,
        }
    }

    fn add(&mut self, part: &Self, weight: f64) {
        self.life += part.life * weight;
        self.fresh += part.fresh * weight;
        self.age_of_first += part.age_of_first * weight;
        self.age_of_last += part.age_of_last * weight;
    }
}

/// What we hold of every source of a world.
#[derive(Clone, Debug)]
pub struct Copy<'w> {
    world: &'w World,
    held: Vec<Held>,
    plain: Quality,
    weighted: Quality,
}

/// What we hold of one source: all a look reads besides the changes themselves, in one place.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// Up to here the integrals are done; the last look, unless it is unknown.
    counted: Time,
    /// The next change we have not seen, as an index into the source's changes.
    unseen: u32,
    /// Not looked at since it came.
    unknown: bool,
}

impl<'w> Copy<'w> {
    /// Synced at the world's start with every source that exists then.
    pub fn synced(world: &'w World) -> Self {
        let start = world.start();
        let hold = |source| {
            let enters = world.place(source).enters;
            Held { counted: enters.max(start), unseen: 0, unknown: enters > start }
        };
        Self {
            world,
            held: world.sources().map(hold).collect(),
            plain: Quality::default(),
            weighted: Quality::default(),
        }
    }

    /// Looks at a source that is there at `now`: the copy becomes what the source is.
    pub fn look(&mut self, source: SourceIx, now: Time) -> Seen {
        let Held { counted, unknown, .. } = self.held[source.ix()];
        let missed = self.count(source, now);
        let held = &mut self.held[source.ix()];
        held.counted = now.max(counted);
        held.unknown = false;
        held.unseen += u32::try_from(missed).unwrap_or(u32::MAX);
        let newest = (held.unseen as usize).checked_sub(1);
        Seen {
            first: unknown,
            unseen: missed,
            since: (!unknown).then_some(counted),
            last_change: newest.map(|newest| self.world.changes(source)[newest]),
        }
    }

    /// Adds the time from where the integrals stopped to `until`; how many changes are unseen by then.
    fn count(&mut self, source: SourceIx, until: Time) -> usize {
        let Held { counted, unseen, unknown } = self.held[source.ix()];
        let unseen = &self.world.changes(source)[unseen as usize..];
        // one by one, since each is passed once in a run
        let missed = &unseen[..unseen.iter().take_while(|&&t| t <= until).count()];
        let until = until.min(self.world.end());
        if until > counted {
            let start = if unknown { Some(counted) } else { missed.first().copied() };
            let part = stretch(counted, start, missed, until);
            self.plain.add(&part, 1.0);
            if self.world.is_weighted() {
                self.weighted.add(&part, self.world.importance(source));
            }
        }
        missed.len()
    }

    /// Closes the books at the world's end: integrals plain and weighted by importance.
    pub fn finish(mut self) -> (Quality, Quality) {
        for source in self.world.sources() {
            self.count(source, self.world.place(source).leaves);
        }
        let weighted = if self.world.is_weighted() { self.weighted } else { self.plain };
        (self.plain.in_seconds(), weighted.in_seconds())
    }
}

/// The integrals from `from` to `until`, stale from `start` on.
fn stretch(from: Time, start: Option<Time>, missed: &[Time], until: Time) -> Quality {
    let life = micros(from, until);
    let Some(start) = start else { return Quality { life, fresh: life, ..Quality::default() } };
    let (mut age_of_last, mut newest) = (0.0, start);
    for &change in missed.iter().chain([&until]) {
        age_of_last += half_square(newest, change);
        newest = change;
    }
    let age_of_first = half_square(start, until);
    Quality { life, fresh: micros(from, start), age_of_first, age_of_last }
}

/// From a to a later b in microseconds: a division less for every look, and within a world nothing to saturate.
fn micros(a: Time, b: Time) -> f64 {
    (b.micros() - a.micros()) as f64
}

/// ∫ (t − a) dt from a to b = (b − a)²/2
fn half_square(a: Time, b: Time) -> f64 {
    micros(a, b).powi(2) / 2.0
}

#[cfg(test)]
mod tests {
    use schedule::{HostIx, SiteIx};

    use super::*;
    use crate::world::Place;

    fn at(secs: i64) -> Time {
        Time::from_secs(secs)
    }

    fn world_of(enters: Time, leaves: Time, changes: &[i64]) -> World {
        let mut world = World::new(at(0), at(100));
        let place =
            Place { site: SiteIx::FIRST, host: HostIx::FIRST, importance: 3.0, enters, leaves };
        world.add(place, changes.iter().map(|&t| at(t)));
        world
    }

    fn check(world: &World, looks: &[i64], expected: [f64; 4]) {
        let mut copy = Copy::synced(world);
        for &look in looks {
            copy.look(SourceIx::FIRST, at(look));
        }
        let (plain, weighted) = copy.finish();
        let got = [plain.life, plain.fresh, plain.age_of_first, plain.age_of_last];
        assert_eq!(got.map(|x| format!("{x:.6}")), expected.map(|x| format!("{x:.6}")));
        assert!((weighted.fresh - 3.0 * plain.fresh).abs() < 1e-9);
    }

    /// Changes at 10 and 30, looked at 50: fresh 0–10 and 50–100; age 40²/2; 20²/2 + 20²/2.
    #[test]
    fn one_stale_stretch_by_hand() {
        check(&world_of(at(0), Time::MAX, &[10, 30]), &[50], [100.0, 60.0, 800.0, 400.0]);
    }

    #[test]
    fn a_source_nobody_looks_at_ages_from_its_first_change() {
        check(&world_of(at(0), Time::MAX, &[20]), &[], [100.0, 20.0, 3_200.0, 3_200.0]);
    }

    /// Comes at 40, looked at 60: not fresh and ageing for 20, then fresh for 40.
    #[test]
    fn a_newcomer_is_stale_until_first_seen() {
        check(&world_of(at(40), Time::MAX, &[]), &[60], [60.0, 40.0, 200.0, 200.0]);
    }

    #[test]
    fn a_source_that_goes_stops_counting() {
        check(&world_of(at(0), at(50), &[10, 70]), &[], [50.0, 10.0, 800.0, 800.0]);
    }

    #[test]
    fn a_look_sees_only_what_is_new() {
        let world = world_of(at(0), Time::MAX, &[10, 30, 50]);
        let mut copy = Copy::synced(&world);
        let seen = copy.look(SourceIx::FIRST, at(30));
        assert_eq!(
            seen,
            Seen { first: false, unseen: 2, since: Some(at(0)), last_change: Some(at(30)) }
        );
        assert_eq!(copy.look(SourceIx::FIRST, at(30)).unseen, 0);
        assert_eq!(copy.look(SourceIx::FIRST, at(50)).unseen, 1);
    }
}
