//! A world: which sources exist when, and at which moments each changes. Everything a run may know.
//!
//! Traces and made-up worlds end up here alike. Changes are kept in one array, source after source, each
//! in order. What a look needs is kept apart from what is known of a source's life, so that a run reads little memory.

use schedule::utility::Worth;
use schedule::{HostIx, SiteIx, SourceIx, Time};

/// A source's place in a world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// The group it may change with.
    pub site: SiteIx,
    /// Who answers for it.
    pub host: HostIx,
    /// How much its changes matter.
    pub importance: f32,
    /// When it comes into being; at or before the world's start counts as synced then.
    pub enters: Time,
    /// When it goes; [`Time::MAX`] if never.
    pub leaves: Time,
}

/// Sources and their changes over (start, end].
#[derive(Clone, Debug)]
pub struct World {
    start: Time,
    end: Time,
    places: Vec<Place>,
    /// Somebody's importance is not 1.
    weighted: bool,
    worth: Worth,
    /// Where each source's changes end.
    ends: Vec<u32>,
    changes: Vec<Time>,
}

impl World {
    /// Without sources yet.
    pub fn new(start: Time, end: Time) -> Self {
        Self {
            start,
            end,
            places: Vec::new(),
            weighted: false,
            worth: Worth::default(),
            ends: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// Adds a source with its change times, in order; those outside its life or the world are left out.
    ///
    /// # Panics
    /// Above `u32::MAX` changes: more than one machine holds.
    pub fn add(&mut self, place: Place, changes: impl IntoIterator<Item = Time>) {
        let before = self.changes.len();
        let (from, to) = (self.start.max(place.enters), self.end.min(place.leaves));
        self.changes.extend(changes.into_iter().filter(|&t| t > from && t <= to));
        debug_assert!(self.changes[before..].is_sorted());
        self.ends.push(u32::try_from(self.changes.len()).expect("changes fit 32 bits"));
        self.weighted |= (place.importance - 1.0).abs() > 0.0;
        self.places.push(place);
    }

    /// What a change of any source is worth.
    #[must_use]
    pub fn with_worth(self, worth: Worth) -> Self {
        Self { worth, ..self }
    }

    /// What a change of any source is worth.
    pub fn worth(&self) -> Worth {
        self.worth
    }

    /// When it begins. Sources that exist by then count as synced then.
    pub fn start(&self) -> Time {
        self.start
    }

    /// When it ends.
    pub fn end(&self) -> Time {
        self.end
    }

    /// How many sources it has, over its whole span.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Nothing in it.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// All sources, in order.
    pub fn sources(&self) -> impl Iterator<Item = SourceIx> + use<> {
        (0..self.places.len()).map(SourceIx::new)
    }

    /// How many sites have sources.
    pub fn sites(&self) -> usize {
        let mut seen =
            vec![false; self.places.iter().map(|place| place.site.ix() + 1).max().unwrap_or(0)];
        self.places.iter().for_each(|place| seen[place.site.ix()] = true);
        seen.into_iter().filter(|&has| has).count()
    }

    /// Where a source stands.
    pub fn place(&self, source: SourceIx) -> &Place {
        &self.places[source.ix()]
    }

    /// Do changes of one source matter more than those of another?
    pub fn is_weighted(&self) -> bool {
        self.weighted
    }

    /// How much its changes matter.
    pub fn importance(&self, source: SourceIx) -> f64 {
        if self.weighted { f64::from(self.place(source).importance) } else { 1.0 }
    }

    /// Change times of a source, in order.
    pub fn changes(&self, source: SourceIx) -> &[Time] {
        let first = source.ix().checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.changes[first..self.ends[source.ix()] as usize]
    }

    /// Changes of all sources together.
    pub fn total_changes(&self) -> usize {
        self.changes.len()
    }

    /// Did it change in (from, to]?
    pub fn changed(&self, source: SourceIx, from: Time, to: Time) -> bool {
        let changes = self.changes(source);
        let first = changes.partition_point(|&t| t <= from);
        changes.get(first).is_some_and(|&t| t <= to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_open_on_the_left_and_closed_on_the_right() {
        let at = Time::from_secs;
        let mut world = World::new(at(0), at(100));
        let place = Place {
            site: SiteIx::FIRST,
            host: HostIx::FIRST,
            importance: 1.0,
            enters: Time::MIN,
            leaves: Time::MAX,
        };
        world.add(place, [at(0), at(10), at(100), at(101)]);
        let source = SourceIx::FIRST;
        assert_eq!(world.changes(source), [at(10), at(100)]);
        assert!(world.changed(source, at(9), at(10)));
        assert!(!world.changed(source, at(10), at(99)));
        assert!(world.changed(source, at(99), at(100)));
    }
}
