//! A mirrored collection: from the rows of the store to the forecaster, whichever process asks.
//!
//! The store keeps looks and times of presence; replaying them gives the forecaster with its model, its calibration and
//! the record of what it foretold. So the daemon after a restart, `status` and `quality` all say the same.

use std::collections::HashMap;
use std::collections::hash_map::Entry::{Occupied, Vacant};

use dynamics::collection::{Item, Seen};
use dynamics::quality::forecaster::Outcome;
use dynamics::quality::{Forecaster, Metric};
use dynamics::survival::Unfit;
use lab::listing::{Listing, Spell};
use schedule::{SourceIx, Span, Time};
use store::{Micros, Reader, SourceId};

use crate::source::Target;
use crate::words::seconds::PER_DAY;

/// A collection and who its objects are.
#[derive(Default)]
pub struct Mirror {
    objects: HashMap<String, u32>,
    categories: HashMap<String, u32>,
    here: Vec<Item>,
    last: Option<Time>,
    forecaster: Forecaster,
}

/// One object as a look shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object<'a> {
    /// What it is known by.
    pub key: &'a str,
    /// Its category.
    pub category: &'a str,
    /// Changes when its content does.
    pub version: u64,
}

/// Looks at least so often, so that a source that changes its ways is noticed; and not more often.
const LONGEST: f64 = 7.0;
const SHORTEST: f64 = 1.0 / (24.0 * 60.0);
/// Looks that are replayed at the most, and objects over all of them: so that a start does not take for ever.
const REPLAYED_LOOKS: usize = 2_000;
const REPLAYED_OBJECTS: usize = 20_000_000;
/// Times of presence held before a mirror is made anew from the newest looks.
const HELD: usize = 500_000;
/// Until two looks have told something.
const FIRST: Span = Span::from_secs(3_600);

impl Mirror {
    /// Replays what the store remembers of a collection.
    pub fn load(reader: &Reader, source: SourceId) -> store::Result<Self> {
        let (mut looks, spells) = (reader.looks(source)?, reader.spells(source)?);
        let size = spells.iter().filter(|spell| spell.gone_at.is_none()).count();
        let most = (REPLAYED_OBJECTS / size.max(1)).clamp(50, REPLAYED_LOOKS);
        looks.drain(..looks.len().saturating_sub(most));
        let mut mirror = Self::default();
        let mut coming = spells.iter().peekable();
        let mut here: Vec<&store::Spell> = Vec::new();
        for at in looks {
            here.retain(|spell| spell.gone_at.is_none_or(|gone| gone > at));
            while let Some(spell) = coming.next_if(|spell| spell.first_at <= at) {
                here.push(spell);
            }
            let objects: Vec<Object<'_>> = here
                .iter()
                .map(|spell| Object {
                    key: &spell.key,
                    category: &spell.category,
                    version: spell.version,
                })
                .collect();
            mirror.look(crate::journal::time(at), &objects);
        }
        Ok(mirror)
    }

    /// A look shows these objects; what it showed, and how what was foretold for it turned out.
    pub fn look(&mut self, at: Time, objects: &[Object<'_>]) -> (Seen, Vec<Outcome>) {
        let number = |names: &mut HashMap<String, u32>, name: &str| {
            let next = u32::try_from(names.len()).unwrap_or(u32::MAX);
            *names.entry(name.to_owned()).or_insert(next)
        };
        self.here = objects
            .iter()
            .map(|object| Item {
                object: number(&mut self.objects, object.key),
                category: number(&mut self.categories, object.category),
                version: object.version,
            })
            .collect();
        self.seen(at)
    }

    /// A look shows what the one before did.
    pub fn same(&mut self, at: Time) -> (Seen, Vec<Outcome>) {
        self.seen(at)
    }

    fn seen(&mut self, at: Time) -> (Seen, Vec<Outcome>) {
        // a clock that stood still between two looks must not make a gap of nothing
        let at = self.last.map_or(at, |last| at.max(last + Span::from_micros(1)));
        self.last = Some(at);
        self.forecaster.look(at.micros() as f64 / 1e6 / PER_DAY, &self.here)
    }

    /// When the collection must be looked at again so that every target holds, counted from the last look.
    pub fn wait(&self, target: &Target) -> Span {
        let waits = target.qualities.iter().map(|&(metric, least)| {
            self.forecaster.sync_within(metric, least, target.confidence, LONGEST)
        });
        let waits: Result<Vec<Option<f64>>, Unfit> = waits.collect();
        match waits {
            Err(_) => FIRST,
            // an empty copy has no precision to lose
            Ok(waits) => {
                let days = waits.into_iter().flatten().fold(LONGEST, f64::min).max(SHORTEST);
                Span::from_secs_f64(days * PER_DAY)
            }
        }
    }

    /// It holds more than the newest looks need.
    fn is_crowded(&self) -> bool {
        let collection = self.forecaster.collection();
        collection.spells().len() > HELD && collection.looks().len() > 2 * REPLAYED_LOOKS
    }

    /// The forecaster; its time is in days.
    pub fn forecaster(&self) -> &Forecaster {
        &self.forecaster
    }

    /// When it was last looked at.
    pub fn last(&self) -> Option<Time> {
        self.last
    }

    /// Days since the last look.
    pub fn elapsed(&self, now: Time) -> f64 {
        self.last.map_or(0.0, |last| (now - last).secs().max(0.0) / PER_DAY)
    }
}

/// The collections the daemon has looked at since it started, each loaded when first needed.
#[derive(Default)]
pub struct Mirrors(HashMap<SourceIx, Mirror>);

impl Mirrors {
    /// The mirror of a collection.
    pub fn of(&mut self, reader: &Reader, source: SourceIx) -> store::Result<&mut Mirror> {
        let load = || Mirror::load(reader, crate::journal::source_id(source));
        Ok(match self.0.entry(source) {
            Vacant(place) => place.insert(load()?),
            Occupied(known) if known.get().is_crowded() => {
                let mirror = known.into_mut();
                *mirror = load()?;
                mirror
            }
            Occupied(known) => known.into_mut(),
        })
    }

    /// The collection is read otherwise from now on, or no longer watched.
    pub fn forget(&mut self, source: SourceIx) {
        self.0.remove(&source);
    }
}

/// What the store remembers of a collection, as a trace would tell it.
pub fn listing(
    reader: &Reader,
    source: SourceId,
    name: &str,
) -> store::Result<(Listing, Vec<i64>)> {
    let whole = |at: Micros| at.0.div_euclid(1_000_000);
    let mut looks: Vec<i64> = reader.looks(source)?.into_iter().map(whole).collect();
    looks.dedup();
    let mut listing = Listing {
        name: name.to_owned(),
        start: looks.first().copied().unwrap_or(0),
        end: looks.last().copied().unwrap_or(0),
        ..Listing::default()
    };
    let mut objects: HashMap<String, u32> = HashMap::new();
    let mut categories: HashMap<String, u32> = HashMap::new();
    for spell in reader.spells(source)? {
        let next = u32::try_from(objects.len()).unwrap_or(u32::MAX);
        let object = *objects.entry(spell.key).or_insert(next);
        let next = u32::try_from(categories.len()).unwrap_or(u32::MAX);
        let category = *categories.entry(spell.category.clone()).or_insert_with(|| {
            listing.categories.push(spell.category);
            next
        });
        let gone = spell.gone_at.map(whole);
        listing.spells.push(Spell { object, category, first: whole(spell.first_at), gone });
    }
    Ok((listing, looks))
}

/// `precision 0.931 (0.90–0.96)`
pub fn shown(mirror: &Mirror, metric: Metric, days: f64) -> String {
    match mirror.forecaster().expected(metric, days, 0.9) {
        Ok(Some(expected)) => format!(
            "{} {:.3} ({:.3}–{:.3})",
            metric.word(),
            expected.quality,
            expected.interval.low,
            expected.interval.high
        ),
        Ok(None) => format!("{} unknown: it is empty", metric.word()),
        Err(why) => format!("{} unknown: {why}", metric.word()),
    }
}
