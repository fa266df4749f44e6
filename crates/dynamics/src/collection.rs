//! A collection of objects as looks show it: a set over time.
//!
//! ```text
//! look k at tₖ        the set Rₖ;  arrived Rₖ∖Rₖ₋₁, gone Rₖ₋₁∖Rₖ, updated: the same object, another version
//! the copy            L = Rₖ from tₖ until the next look;  q(tₖ, tₖ₊₁) is known exactly at tₖ₊₁
//! a life              born in (tₖ₋₁, tₖ], taken in the middle; watched from its age at tₖ; gone in (last, next look]
//! ```
//!
//! What was there at the first look is of unknown age: it tells how fast old objects go, and nothing of young ones.
//! Objects are dense numbers here; who they are is the caller's business. Time is in the caller's unit. Paper: SA-01,
//! SA-02, SA-07 (`docs/papers/repository-quality.md`).

use std::collections::HashMap;

use crate::arrival::Counts;
use crate::quality::outlook::{Counted, shock};
use crate::quality::{Model, Overlap, Stock};
use crate::survival::compare::choose;
use crate::survival::{Exponential, Law, Life, Unfit};

/// One object as one look shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Which object.
    pub object: u32,
    /// Its category.
    pub category: u32,
    /// Changes when its content does.
    pub version: u64,
}

/// A time of presence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spell {
    /// Its category.
    pub category: u32,
    /// When it came, as near as known; `None` if it was there at the first look.
    pub born: Option<f64>,
    /// The first look that saw it.
    pub first: f64,
    /// The last look that saw it.
    pub last: f64,
    /// The look that found it gone.
    pub gone: Option<f64>,
    /// The object's time of presence before this one.
    pub before: Option<usize>,
}

/// What one look showed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// When.
    pub at: f64,
    /// Since the look before; 0 at the first.
    pub gap: f64,
    /// The copy made at the look before against the source now; all new at the first look.
    pub overlap: Overlap,
    /// Objects that were not there before.
    pub arrived: usize,
    /// Objects no longer there.
    pub gone: usize,
    /// Objects with another version.
    pub updated: usize,
}

/// A collection, remembered.
#[derive(Clone, Debug, Default)]
pub struct Collection {
    spells: Vec<Spell>,
    /// The open spell of each object here, and its version.
    here: HashMap<u32, (usize, u64)>,
    /// The last spell of each object that is gone.
    gone: HashMap<u32, usize>,
    looks: Vec<Seen>,
}

/// Which part of a collection, and how far back.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    /// Only this category.
    pub category: Option<u32>,
    /// Only what happened from this time on; lives begun before are watched from then.
    pub since: Option<f64>,
}

impl Collection {
    /// A look at `at` shows these objects, each once. Looks come in order.
    pub fn look(&mut self, at: f64, items: &[Item]) -> Seen {
        let before = self.looks.last().copied();
        let born = before.map(|before| f64::midpoint(before.at, at));
        let mut seen =
            Seen { at, gap: before.map_or(0.0, |before| at - before.at), ..Seen::default() };
        seen.overlap.copy = self.here.len();
        seen.overlap.source = items.len();
        for item in items {
            if let Some((spell, version)) = self.here.get_mut(&item.object) {
                seen.overlap.both += 1;
                seen.updated += usize::from(*version != item.version);
                *version = item.version;
                self.spells[*spell].last = at;
            } else {
                seen.arrived += 1;
                let before = self.gone.remove(&item.object);
                self.here.insert(item.object, (self.spells.len(), item.version));
                self.spells.push(Spell {
                    category: item.category,
                    born,
                    first: at,
                    last: at,
                    gone: None,
                    before,
                });
            }
        }
        let (spells, gone) = (&mut self.spells, &mut self.gone);
        self.here.retain(|&object, &mut (spell, _)| {
            let stays = spells[spell].last >= at;
            if !stays {
                spells[spell].gone = Some(at);
                gone.insert(object, spell);
                seen.gone += 1;
            }
            stays
        });
        self.looks.push(seen);
        seen
    }

    /// What every look showed.
    pub fn looks(&self) -> &[Seen] {
        &self.looks
    }

    /// Every time of presence.
    pub fn spells(&self) -> &[Spell] {
        &self.spells
    }

    /// Copies made `ago` looks before the last one, for each, against the source at the last look; `None` where there
    /// were not so many looks.
    pub fn overlaps<const N: usize>(&self, ago: [usize; N]) -> [Option<Overlap>; N] {
        let last = self.looks.len().saturating_sub(1);
        let copies = ago.map(|ago| self.looks.get(last.checked_sub(ago)?));
        let mut both = [0; N];
        for &(spell, _) in self.here.values() {
            for (both, copy) in both.iter_mut().zip(&copies) {
                *both += usize::from(copy.is_some_and(|copy| self.was_here(spell, copy.at)));
            }
        }
        let source = self.here.len();
        let mut overlaps = [None; N];
        for ((overlap, copy), both) in overlaps.iter_mut().zip(copies).zip(both) {
            *overlap = copy.map(|copy| Overlap { copy: copy.overlap.source, source, both });
        }
        overlaps
    }

    /// Whether the object of this spell was there at an earlier look.
    fn was_here(&self, spell: usize, at: f64) -> bool {
        let mut spell = Some(&self.spells[spell]);
        while let Some(one) = spell {
            if one.first <= at {
                return one.last >= at;
            }
            spell = one.before.map(|before| &self.spells[before]);
        }
        false
    }

    /// How many are here.
    pub fn size(&self) -> usize {
        self.here.len()
    }

    /// The lives of objects whose arrival was seen, and of those of unknown age (counted from the first look).
    pub fn lives(&self, part: Part) -> (Vec<Life>, Vec<Life>) {
        let (mut known, mut old) = (Vec::new(), Vec::new());
        let since = part.since.unwrap_or(f64::NEG_INFINITY);
        for spell in &self.spells {
            let over_before = spell.gone.unwrap_or(spell.last) <= since;
            if over_before || part.category.is_some_and(|category| category != spell.category) {
                continue;
            }
            let birth = spell.born.unwrap_or(spell.first);
            let entry = spell.first.max(since) - birth;
            // last seen before the window, found gone in it: it entered alive, as far as is known
            let low = (spell.last - birth).max(entry);
            let high = spell.gone.map_or(f64::INFINITY, |gone| gone - birth);
            let life = Life { entry, low, high };
            if spell.born.is_some() { known.push(life) } else { old.push(life) }
        }
        (known, old)
    }

    /// What the copy made at the last look holds.
    pub fn stock(&self, category: Option<u32>) -> Stock {
        let Some(now) = self.looks.last().map(|look| look.at) else { return Stock::default() };
        let mine = |spell: &&Spell| category.is_none_or(|category| category == spell.category);
        let spells = || self.here.values().map(|&(spell, _)| &self.spells[spell]).filter(mine);
        let ages = spells().filter_map(|spell| spell.born).map(|born| now - born).collect();
        Stock::of(ages).and_old(spells().filter(|spell| spell.born.is_none()).count())
    }

    /// The time from which on `removals` objects went, or all there is; at least `looks` looks.
    pub fn recent(&self, removals: usize, looks: usize) -> f64 {
        let mut left = removals;
        for (ago, look) in self.looks.iter().rev().enumerate() {
            left = left.saturating_sub(look.gone);
            if left == 0 && ago >= looks {
                return look.at - look.gap;
            }
        }
        f64::NEG_INFINITY
    }

    /// How it changes, learned from a part of it.
    pub fn model(&self, part: Part) -> Result<Model, Unfit> {
        let (known, old) = self.lives(part);
        let old_law = Exponential::fit(&old);
        let life = match choose(&known) {
            Ok((law, _)) => law,
            // nobody came since the first look: the old ones are all that is known
            Err(why) => Law::Exponential(old_law.map_err(|_| why)?),
        };
        let all = || Exponential::fit(&[known.as_slice(), old.as_slice()].concat());
        let old = match old_law {
            Ok(law) => law,
            Err(_) => all()?,
        };
        let gaps = self.counts(part);
        // a look shows those who came and were still there: m ∫₀ᵍ S of the mg that came in a gap g
        let shown = |gap: &Gap| life.presence(gap.length);
        let arrived: Vec<(f64, f64)> = gaps.iter().map(|gap| (gap.arrived, shown(gap))).collect();
        let arrivals = Counts::of_gaps(&arrived).or(Err(Unfit::OneLook))?;
        // chance alone would spread removals about the mean rate of what was here
        let rate = gaps.iter().map(|gap| gap.gone).sum::<f64>()
            / gaps.iter().map(|gap| gap.here * gap.length).sum::<f64>().max(1e-300);
        let counted = gaps.iter().map(|gap| Counted {
            gap: gap.length,
            seen: gap.gone,
            expected: gap.here * -(-rate * gap.length).exp_m1(),
        });
        let watched = gaps.iter().map(shown).sum();
        Ok(Model { life, old, arrivals, watched, shock: shock(counted) })
    }

    /// Arrivals of whole periods of this length; `None` where looks came less often, so that nobody knows.
    pub fn arrivals_by(&self, period: f64, part: Part) -> Vec<Option<f64>> {
        let from = part.since.unwrap_or(f64::NEG_INFINITY);
        let Some(start) = self.looks.iter().map(|look| look.at).find(|&at| at >= from) else {
            return Vec::new();
        };
        let end = self.looks.last().map_or(start, |look| look.at);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "periods of a span watched"
        )]
        let place = |at: f64| ((at - start) / period + 1e-9).floor() as usize;
        let mut counts = vec![Some(0.0); place(end)];
        for gap in self.looks.windows(2).filter(|pair| pair[0].at >= start) {
            let [from, to] = [gap[0].at, gap[1].at];
            if to - from > period * 1.01 {
                let (first, last) =
                    (place(from), (place(to - 1e-6 * period) + 1).min(counts.len()));
                counts[first.min(last)..last].fill(None);
            }
        }
        for spell in self.spells.iter().filter(|spell| spell.born.is_some() && spell.first > start)
        {
            let mine = part.category.is_none_or(|category| category == spell.category);
            // a look at the end of a period closes it
            let place = place(spell.first - 1e-6 * period);
            if let Some(Some(count)) = counts.get_mut(place).filter(|_| mine) {
                *count += 1.0;
            }
        }
        counts
    }

    fn counts(&self, part: Part) -> Vec<Gap> {
        let since = part.since.unwrap_or(f64::NEG_INFINITY);
        let looks = || self.looks.windows(2).filter(|pair| pair[0].at >= since);
        let mut gaps: Vec<Gap> = looks()
            .map(|pair| Gap {
                length: pair[1].gap,
                arrived: pair[1].arrived as f64,
                gone: pair[1].gone as f64,
                here: pair[1].overlap.copy as f64,
            })
            .collect();
        if let Some(category) = part.category {
            let ends: Vec<f64> = looks().map(|pair| pair[1].at).collect();
            let place = |at: f64| ends.partition_point(|&end| end < at);
            gaps.iter_mut().for_each(|gap| (gap.arrived, gap.gone, gap.here) = (0.0, 0.0, 0.0));
            for spell in self.spells.iter().filter(|spell| spell.category == category) {
                if let Some(gap) = gaps.get_mut(place(spell.first)).filter(|_| spell.born.is_some())
                {
                    gap.arrived += f64::from(u8::from(spell.first >= since));
                }
                let gone = spell.gone.map(place);
                if let Some(gap) = gone.and_then(|at| gaps.get_mut(at)) {
                    gap.gone += 1.0;
                }
                let last = gone.map_or(gaps.len(), |at| (at + 1).min(gaps.len()));
                let first = ends.partition_point(|&end| end <= spell.first).min(last);
                gaps[first..last].iter_mut().for_each(|gap| gap.here += 1.0);
            }
        }
        gaps
    }
}

/// What happened between two looks.
struct Gap {
    length: f64,
    arrived: f64,
    gone: f64,
    here: f64,
}

#[cfg(test)]
mod laws_of_it {
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_distr::{Distribution, Exp, Poisson};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::quality::Metric;

    fn items(objects: &[u32]) -> Vec<Item> {
        objects.iter().map(|&object| Item { object, category: object % 2, version: 0 }).collect()
    }

    /// SA-08 in balance, half of all objects gone in a look's gap: arrivals that did not live to be seen are reckoned with,
    /// so recall is precision, as it is.
    #[test]
    fn sa_08_in_balance_recall_is_precision() {
        let (rate, size, gap) = (0.5, 400.0, 2.0);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let arrivals = Poisson::new(size * rate * gap).unwrap();
        let mut collection = Collection::default();
        // (object, time it goes)
        let mut here: Vec<(u32, f64)> = Vec::new();
        let mut next = 0;
        for look in 0..300 {
            let now = f64::from(look) * gap;
            let mut coming = arrivals.sample(&mut rng);
            while coming >= 1.0 {
                let born = now - gap * rng.random::<f64>();
                let life: f64 = Exp::new(rate).unwrap().sample(&mut rng);
                here.push((next, born + life));
                (next, coming) = (next + 1, coming - 1.0);
            }
            here.retain(|&(_, goes)| goes > now);
            let objects: Vec<u32> = here.iter().map(|&(object, _)| object).collect();
            collection.look(now, &items(&objects));
        }
        let model = collection.model(Part { category: None, since: Some(100.0) }).unwrap();
        assert!((model.arrivals.mean() / (size * rate) - 1.0).abs() < 0.1, "{model:?}");
        let stock = collection.stock(None);
        for t in [0.5, 1.0, 2.0, 4.0] {
            let at = |metric| model.outlook(&stock, metric, t).unwrap().quality();
            let (precision, recall) = (at(Metric::Precision), at(Metric::Recall));
            assert!((precision - (-rate * t).exp()).abs() < 0.04, "{t}: {precision}");
            assert!((precision - recall).abs() < 0.04, "{t}: {precision} {recall}");
        }
    }

    /// Weekly looks say nothing of days.
    #[test]
    fn days_between_rare_looks_are_unknown() {
        let mut collection = Collection::default();
        for (at, objects) in
            [(0.0, vec![1]), (1.0, vec![1, 2]), (8.0, vec![1, 2, 3]), (9.0, vec![4])]
        {
            collection.look(at, &items(&objects));
        }
        let known = [Some(1.0), None, None, None, None, None, None, None, Some(1.0)];
        assert_eq!(collection.arrivals_by(1.0, Part::default()), known);
    }

    /// Three looks, by hand: {1,2,3}, {2,3,4}, {2,4,5} with 2 updated.
    #[test]
    fn sa_02_three_looks() {
        let mut collection = Collection::default();
        let first = collection.look(0.0, &items(&[1, 2, 3]));
        assert_eq!((first.arrived, first.overlap.copy, first.overlap.source), (3, 0, 3));
        let second = collection.look(1.0, &items(&[2, 3, 4]));
        assert_eq!((second.arrived, second.gone), (1, 1));
        assert_eq!(second.overlap, Overlap { copy: 3, source: 3, both: 2 });
        let mut third = items(&[2, 4, 5]);
        third[0].version = 9;
        let third = collection.look(3.0, &third);
        assert_eq!((third.arrived, third.gone, third.updated), (1, 1, 1));
        let (known, old) = collection.lives(Part::default());
        // 4 came in (0, 1], taken at ½; seen at 1 and 3; 5 came in (1, 3], taken at 2
        assert_eq!(known, [Life::there(2.5).from(0.5), Life::there(1.0).from(1.0)]);
        assert_eq!(old, [Life::between(0.0, 1.0), Life::there(3.0), Life::between(1.0, 3.0)]);
        assert!((collection.stock(None).size() - 3.0).abs() < 1e-12);
        assert!((collection.stock(Some(1)).size() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn ends_are_answers() {
        let mut collection = Collection::default();
        assert_eq!(collection.model(Part::default()), Err(Unfit::Empty));
        collection.look(0.0, &[]);
        collection.look(1.0, &[]);
        assert_eq!(collection.model(Part::default()), Err(Unfit::Empty));
        collection.look(2.0, &items(&[1, 2]));
        assert!(collection.model(Part::default()).is_err());
        collection.look(30.0, &items(&[1, 2]));
        // nobody gone in weeks: a model all the same, with a rate of 0
        let model = collection.model(Part::default()).unwrap();
        assert!(model.life.hazard(1.0).abs() < 1e-300);
        // all gone at once
        collection.look(31.0, &[]);
        assert!(collection.model(Part::default()).unwrap().life.hazard(1.0) > 0.0);
        assert!(collection.stock(None).size().abs() < 1e-300);
    }

    proptest! {
        #[test]
        fn the_books_balance(sets in prop::collection::vec(prop::collection::btree_set(0u32..30, 0..20), 1..12)) {
            let mut collection = Collection::default();
            let mut size = 0;
            for (at, set) in sets.iter().enumerate() {
                // what a copy made some looks ago still shares with the source, by the sets themselves
                if let Some(before) = at.checked_sub(1) {
                    for ago in 1..=before {
                        let both = sets[before].intersection(&sets[before - ago]).count();
                        let wanted = Overlap { copy: sets[before - ago].len(), source: sets[before].len(), both };
                        prop_assert_eq!(collection.overlaps([ago]), [Some(wanted)]);
                    }
                    prop_assert_eq!(collection.overlaps([before + 1]), [None]);
                }
                let objects: Vec<u32> = set.iter().copied().collect();
                let seen = collection.look(at as f64, &items(&objects));
                prop_assert_eq!(size + seen.arrived - seen.gone, set.len());
                prop_assert_eq!(seen.overlap.both + seen.arrived, seen.overlap.source);
                prop_assert_eq!(seen.overlap.both + seen.gone, seen.overlap.copy);
                size = set.len();
            }
            let (known, old) = collection.lives(Part::default());
            prop_assert_eq!(known.len() + old.len(), collection.spells().len());
            prop_assert!(known.iter().chain(&old).all(Life::is_possible));
            // both categories together are the whole
            let whole = collection.counts(Part::default());
            let parts = [0, 1].map(|category| collection.counts(Part { category: Some(category), since: None }));
            for at in 0..whole.len() {
                let sum = |f: fn(&Gap) -> f64| parts.iter().map(|gaps| f(&gaps[at])).sum::<f64>();
                prop_assert!((sum(|gap| gap.arrived) - whole[at].arrived).abs() < 1e-9);
                prop_assert!((sum(|gap| gap.gone) - whole[at].gone).abs() < 1e-9);
                prop_assert!((sum(|gap| gap.here) - whole[at].here).abs() < 1e-9);
            }
        }
    }
}
