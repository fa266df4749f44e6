//! Listings: collections of objects as a trace tells of them, and as a poller would see them.
//!
//! An object trace is a directory with `listings` (listing_id, name, start, end) and `objects` (listing_id, object_id,
//! category?, first_seen, removed_at?), each as `.parquet` or `.csv`. A row of `objects` is one spell of presence; an
//! object that comes back has several. Times are whole seconds since 1970, UTC. An object is there from `first_seen`
//! until just before `removed_at`.
//!
//! [`Listing::replay`] shows it at chosen moments, in one pass over the spells; what a look cannot see stays unseen.

use std::collections::HashMap;
use std::path::Path;

use dynamics::collection::Item;
use dynamics::quality::Overlap;

use crate::trace::Error;
use crate::trace::read::{id, time};
use crate::trace::table::Table;

/// Seconds of an hour and of a day.
pub const HOUR: i64 = 3_600;
/// Seconds of a day.
pub const DAY: i64 = 24 * HOUR;

/// A collection's history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// What it is called.
    pub name: String,
    /// When its observation began, in seconds.
    pub start: i64,
    /// When it ended.
    pub end: i64,
    /// Names of the categories.
    pub categories: Vec<String>,
    /// Times of presence.
    pub spells: Vec<Spell>,
}

/// One time of presence of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spell {
    /// Which object.
    pub object: u32,
    /// An index into [`Listing::categories`].
    pub category: u32,
    /// When it appeared.
    pub first: i64,
    /// When it was gone; `None`: still there.
    pub gone: Option<i64>,
}

impl Listing {
    /// The listings of a directory, in the order of their ids.
    pub fn read(dir: &Path) -> Result<Vec<Self>, Error> {
        if !dir.is_dir() {
            return Err(Error::NoDirectory(dir.to_owned()));
        }
        let missing = |stem| move || Error::Missing(dir.to_owned(), stem);
        let table = Table::open(dir, "listings", &["listing_id", "start", "end"], &["name"])?;
        let (mut listings, by_id) = read_listings(table.ok_or_else(missing("listings"))?)?;
        let columns = ["listing_id", "object_id", "first_seen", "removed_at"];
        let table = Table::open(dir, "objects", &columns, &["category"])?;
        read_objects(table.ok_or_else(missing("objects"))?, &mut listings, &by_id)?;
        Ok(listings)
    }

    /// How many objects it ever held.
    pub fn objects(&self) -> usize {
        let mut objects: Vec<u32> = self.spells.iter().map(|spell| spell.object).collect();
        objects.sort_unstable();
        objects.dedup();
        objects.len()
    }

    /// The category of this name.
    pub fn category(&self, name: &str) -> Option<u32> {
        let at = self.categories.iter().position(|known| known == name)?;
        u32::try_from(at).ok()
    }

    /// An hour where objects that went lived less than a day (in the middle), else a day: looks worth having.
    pub fn step(&self) -> i64 {
        let mut lives: Vec<i64> =
            self.spells.iter().filter_map(|spell| Some(spell.gone? - spell.first)).collect();
        let middle = lives.len() / 2;
        if lives.is_empty() {
            return DAY;
        }
        let (_, &mut median, _) = lives.select_nth_unstable(middle);
        if median < DAY { HOUR } else { DAY }
    }

    /// Moments every `step` seconds from `from` to the end.
    pub fn moments(&self, from: i64, step: i64) -> Vec<i64> {
        let step = step.max(1);
        (0..=(self.end - from).div_euclid(step)).map(|at| from + step * at).collect()
    }

    /// Shows what is there at each of these moments, which rise; each object once.
    pub fn replay(
        &self,
        moments: &[i64],
        category: Option<u32>,
        mut show: impl FnMut(i64, &[Item]),
    ) {
        let mut order: Vec<u32> = (0..u32::try_from(self.spells.len()).unwrap_or(u32::MAX))
            .filter(|&at| category.is_none_or(|wanted| wanted == self.spells[at as usize].category))
            .collect();
        order.sort_by_key(|&at| self.spells[at as usize].first);
        let mut waiting = order.into_iter().peekable();
        let mut here: Vec<u32> = Vec::new();
        let mut items = Vec::new();
        for &moment in moments {
            here.retain(|&at| self.spells[at as usize].gone.is_none_or(|gone| gone > moment));
            while let Some(at) = waiting.next_if(|&at| self.spells[at as usize].first <= moment) {
                if self.spells[at as usize].gone.is_none_or(|gone| gone > moment) {
                    here.push(at);
                }
            }
            items.clear();
            items.extend(here.iter().map(|&at| {
                let Spell { object, category, .. } = self.spells[at as usize];
                Item { object, category, version: 0 }
            }));
            items.sort_unstable_by_key(|item| item.object);
            items.dedup_by_key(|item| item.object);
            show(moment, &items);
        }
    }

    /// A copy made at every `cycle`-th moment from the first on, against the source at each moment after it, up to and
    /// with the next copy's.
    pub fn courses(&self, moments: &[i64], cycle: usize) -> Vec<Vec<Overlap>> {
        let objects =
            self.spells.iter().map(|spell| spell.object).max().map_or(0, |most| most as usize + 1);
        let mut copied = vec![0u32; objects];
        let (mut copies, mut size, mut since) = (0u32, 0, 0);
        let mut courses: Vec<Vec<Overlap>> = Vec::new();
        self.replay(moments, None, |_, items| {
            if copies > 0 {
                let both =
                    items.iter().filter(|item| copied[item.object as usize] == copies).count();
                if let Some(course) = courses.last_mut() {
                    course.push(Overlap { copy: size, source: items.len(), both });
                }
                since += 1;
            }
            if copies == 0 || since == cycle {
                copies += 1;
                (size, since) = (items.len(), 0);
                items.iter().for_each(|item| copied[item.object as usize] = copies);
                courses.push(Vec::with_capacity(cycle));
            }
        });
        courses.retain(|course| course.len() == cycle);
        courses
    }
}

type ById = HashMap<u32, usize>;

fn read_listings(mut table: Table) -> Result<(Vec<Listing>, ById), Error> {
    let ids = table.required("listing_id")?;
    let (starts, ends) = (table.required("start")?, table.required("end")?);
    let names = table.text("name");
    let mut by_id = HashMap::new();
    let mut listings = Vec::with_capacity(ids.len());
    for row in 0..ids.len() {
        let listing = id(&table, "listing_id", row, ids[row])?;
        if by_id.insert(listing, row).is_some() {
            return Err(table.row("listing_id", row, format!("{listing} stands in two rows")));
        }
        let start = time(&table, "start", row, starts[row])?;
        let end = time(&table, "end", row, ends[row])?;
        if end < start {
            return Err(table.row("end", row, format!("{end} lies before the start, {start}")));
        }
        let name =
            names.as_ref().map_or_else(|| format!("listing {listing}"), |names| names[row].clone());
        listings.push(Listing { name, start, end, ..Listing::default() });
    }
    Ok((listings, by_id))
}

fn read_objects(mut table: Table, listings: &mut [Listing], by_id: &ById) -> Result<(), Error> {
    let (ids, objects) = (table.required("listing_id")?, table.required("object_id")?);
    let firsts = table.required("first_seen")?;
    let gone = table.optional("removed_at");
    let words = table.text("category");
    let mut known: HashMap<(usize, String), u32> = HashMap::new();
    let mut numbers: HashMap<(usize, u32), u32> = HashMap::new();
    for row in 0..ids.len() {
        let listing = id(&table, "listing_id", row, ids[row])?;
        let at = *by_id.get(&listing).ok_or_else(|| {
            table.row(
                "listing_id",
                row,
                format!("there is no listing {listing} in the listings file"),
            )
        })?;
        // numbered densely, whatever the file calls them
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        let object = id(&table, "object_id", row, objects[row])?;
        let object = *numbers.entry((at, object)).or_insert(next);
        let first = time(&table, "first_seen", row, firsts[row])?;
        let gone = gone.as_ref().and_then(|column| column[row]);
        let gone = gone.map(|gone| time(&table, "removed_at", row, gone)).transpose()?;
        if gone.is_some_and(|gone| gone < first) {
            return Err(table.row("removed_at", row, format!("lies before first_seen, {first}")));
        }
        let word = words.as_ref().map_or("", |words| words[row].as_str());
        let categories = &mut listings[at].categories;
        let category = *known.entry((at, word.to_owned())).or_insert_with(|| {
            categories.push(word.to_owned());
            u32::try_from(categories.len() - 1).unwrap_or(u32::MAX)
        });
        listings[at].spells.push(Spell { object, category, first, gone });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing() -> Listing {
        let spell = |object, first, gone| Spell { object, category: object % 2, first, gone };
        Listing {
            name: "made up".to_owned(),
            start: 0,
            end: 40,
            categories: vec!["even".to_owned(), "odd".to_owned()],
            // 1 comes back, 3 is never seen by looks every ten seconds
            spells: vec![
                spell(1, 0, Some(15)),
                spell(1, 25, None),
                spell(2, 0, Some(20)),
                spell(3, 11, Some(19)),
                spell(4, 12, None),
            ],
        }
    }

    #[test]
    fn a_replay_shows_what_is_there() {
        let mut seen = Vec::new();
        let listing = listing();
        listing.replay(&listing.moments(0, 10), None, |at, items| {
            seen.push((at, items.iter().map(|item| item.object).collect::<Vec<_>>()));
        });
        let wanted =
            [(0, vec![1, 2]), (10, vec![1, 2]), (20, vec![4]), (30, vec![1, 4]), (40, vec![1, 4])];
        assert_eq!(seen, wanted);
    }

    /// The copy {1, 2} of 0 against {1, 2}, {4}; the copy {4} of 20 against {1, 4} twice.
    #[test]
    fn sa_01_courses_by_hand() {
        let listing = listing();
        let overlap = |copy, source, both| Overlap { copy, source, both };
        assert_eq!(
            listing.courses(&listing.moments(0, 10), 2),
            [vec![overlap(2, 2, 2), overlap(2, 1, 0)], vec![overlap(1, 2, 1), overlap(1, 2, 1)]]
        );
    }
}
