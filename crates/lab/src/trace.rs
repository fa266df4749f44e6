//! Traces: real change histories in a directory, read, checked, cut to a window, written.
//!
//! A trace directory holds `updates` (source_id, site_id, t, kind) and `sources` (source_id, site_id,
//! first_seen?, last_seen?, host_id?), optionally `sites` (site_id, start, end), each as `.parquet` or
//! `.csv` with the same columns; other columns are ignored. Times are whole seconds since 1970, UTC.
//! Updates are sorted by (source_id, t). Without a `kind` column every update is a change.
//!
//! What a file claims is checked before it is believed; a complaint names file, column and row.

mod from_git;
mod info;
pub(crate) mod read;
pub(crate) mod table;
mod write;

use std::collections::HashMap;
use std::path::PathBuf;
use std::str::FromStr;

use schedule::spec::Mistake;
use schedule::{HostIx, SiteIx, Time};

use crate::world::{Place, World};

pub use from_git::{Grain, History, from_git};
pub use info::{Info, tenth};
pub use write::Format;

/// What an update did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The source came into being.
    Arrival,
    /// Its content changed.
    Change,
    /// It went away.
    Removal,
    /// It changed together with many others of its site.
    Bulk,
    /// It moved without a change of content.
    Rename,
}

impl Kind {
    /// In the order of their codes 0 to 4.
    pub const ALL: [Self; 5] =
        [Self::Arrival, Self::Change, Self::Removal, Self::Bulk, Self::Rename];

    /// Code in the files.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The word people use.
    pub fn word(self) -> &'static str {
        ["arrival", "change", "removal", "bulk", "rename"][usize::from(self.code())]
    }
}

/// Which kinds of update count as a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds([bool; 5]);

impl Default for Kinds {
    /// Changes and bulk changes.
    fn default() -> Self {
        Self([false, true, false, true, false])
    }
}

impl Kinds {
    /// Does this kind count?
    pub fn has(self, kind: Kind) -> bool {
        self.0[usize::from(kind.code())]
    }
}

impl FromStr for Kinds {
    type Err = Mistake;

    /// `change,bulk` or the codes `1,3`.
    fn from_str(text: &str) -> Result<Self, Mistake> {
        let mut kinds = [false; 5];
        for part in text.split(',').map(str::trim) {
            let known = Kind::ALL
                .iter()
                .find(|kind| kind.word() == part || kind.code().to_string() == part);
            let kind = known.ok_or_else(|| {
                Mistake(format!("`{part}` is no kind of update; known are arrival, change, removal, bulk, rename"))
            })?;
            kinds[usize::from(kind.code())] = true;
        }
        Ok(Self(kinds))
    }
}

/// A source as a trace tells of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Id in the files.
    pub id: u32,
    /// Site id in the files.
    pub site: u32,
    /// Host id in the files; the site's when not given.
    pub host: u32,
    /// When it appeared, in seconds; `None`: before the trace begins.
    pub first_seen: Option<i64>,
    /// When it was last there, in seconds; `None`: still there.
    pub last_seen: Option<i64>,
}

/// A site as a trace tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Id in the files.
    pub id: u32,
    /// When its observation began, in seconds.
    pub start: i64,
    /// When it ended.
    pub end: i64,
    /// What people call it, where known.
    pub name: Option<String>,
}

/// A change history: sources, their sites, their updates in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// In the order of the file.
    pub sources: Vec<Source>,
    /// Empty when the trace does not say.
    pub sites: Vec<Site>,
    /// `updates[offsets[i]..offsets[i + 1]]` belong to source i.
    offsets: Vec<usize>,
    updates: Vec<(i64, Kind)>,
}

/// Which sources take part in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Present {
    /// Those there, on sites observed, over the whole window.
    Throughout,
    /// All that are there at some moment of it; they come and go.
    Any,
}

/// Why a trace could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such directory.
    #[error("{0} does not exist or is no directory; give a trace directory")]
    NoDirectory(PathBuf),
    /// No such file, in either form.
    #[error("{0} holds no `{1}.parquet` and no `{1}.csv`; a trace directory needs one of them")]
    Missing(PathBuf, &'static str),
    /// Both forms at once.
    #[error("{0} holds both `{1}.parquet` and `{1}.csv`; remove one")]
    Twice(PathBuf, &'static str),
    /// The file could not be opened, read or written.
    #[error("{path}: {problem}")]
    File {
        /// Which file.
        path: PathBuf,
        /// What went wrong.
        problem: String,
    },
    /// A column is missing or of the wrong type.
    #[error("{path}: column `{column}`: {problem}")]
    Column {
        /// Which file.
        path: PathBuf,
        /// Which column.
        column: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A value makes no sense.
    #[error("{path}: column `{column}`, row {row}: {problem}")]
    Row {
        /// Which file.
        path: PathBuf,
        /// Which column.
        column: &'static str,
        /// Counting from 1, without a header.
        row: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// Git could not tell.
    #[error("{path}: {problem}")]
    Git {
        /// Which repository.
        path: PathBuf,
        /// What git said.
        problem: String,
    },
}

impl Trace {
    /// From sources with their updates, each in order of time.
    pub fn of(
        sites: Vec<Site>,
        sources: impl IntoIterator<Item = (Source, Vec<(i64, Kind)>)>,
    ) -> Self {
        let mut trace = Self { sites, offsets: vec![0], ..Self::default() };
        for (source, updates) in sources {
            trace.sources.push(source);
            trace.updates.extend(updates);
            trace.offsets.push(trace.updates.len());
        }
        trace
    }

    /// When a source changed, in seconds, in order, each moment once.
    pub fn changes(&self, at: usize, kinds: Kinds) -> Vec<i64> {
        let changes = self.updates(at).iter().filter(|&&(_, kind)| kinds.has(kind));
        let mut times: Vec<i64> = changes.map(|&(t, _)| t).collect();
        times.dedup();
        times
    }

    /// Updates of the source at this place in `sources`: seconds and kind.
    pub fn updates(&self, at: usize) -> &[(i64, Kind)] {
        &self.updates[self.offsets[at]..self.offsets[at + 1]]
    }

    /// Updates of all sources together.
    pub fn total_updates(&self) -> usize {
        self.updates.len()
    }

    /// First and last second anything is known about.
    pub fn span(&self) -> Option<(i64, i64)> {
        let times = self.updates.iter().map(|&(t, _)| t);
        let sites = self.sites.iter().flat_map(|site| [site.start, site.end]);
        let lives =
            self.sources.iter().flat_map(|source| [source.first_seen, source.last_seen]).flatten();
        times.chain(sites).chain(lives).fold(None, |span, t| match span {
            None => Some((t, t)),
            Some((low, high)) => Some((t.min(low), t.max(high))),
        })
    }

    /// The world over (from, to], in seconds.
    pub fn world(&self, from: i64, to: i64, present: Present, kinds: Kinds) -> World {
        let sites: HashMap<u32, &Site> = self.sites.iter().map(|site| (site.id, site)).collect();
        let (mut site_ix, mut host_ix) = (HashMap::new(), HashMap::new());
        let mut world = World::new(Time::from_secs(from), Time::from_secs(to));
        for (at, source) in self.sources.iter().enumerate() {
            let Some(life) = life(source, sites.get(&source.site).copied(), from, to, present)
            else {
                continue;
            };
            let next = site_ix.len();
            let site = *site_ix.entry(source.site).or_insert(next);
            let next = host_ix.len();
            let host = *host_ix.entry(source.host).or_insert(next);
            let place = Place {
                site: SiteIx::new(site),
                host: HostIx::new(host),
                importance: 1.0,
                enters: Time::from_secs(life.0),
                leaves: if life.1 < to { Time::from_secs(life.1) } else { Time::MAX },
            };
            world.add(place, self.changes(at, kinds).into_iter().map(Time::from_secs));
        }
        world
    }
}

/// From when to when a source is known to be there, if it takes part in (from, to\].
fn life(
    source: &Source,
    site: Option<&Site>,
    from: i64,
    to: i64,
    present: Present,
) -> Option<(i64, i64)> {
    let (start, end) = site.map_or((i64::MIN, i64::MAX), |site| (site.start, site.end));
    let first = source.first_seen.unwrap_or(i64::MIN).max(start);
    let last = source.last_seen.unwrap_or(i64::MAX).min(end);
    let takes_part = match present {
        Present::Throughout => first <= from && last >= to,
        Present::Any => first < to && last > from && first < last,
    };
    takes_part.then_some((first, last))
}

#[cfg(test)]
mod tests {
    use schedule::SourceIx;

    use super::*;

    fn source(id: u32, first_seen: Option<i64>, last_seen: Option<i64>) -> Source {
        Source { id, site: 7, host: 7, first_seen, last_seen }
    }

    fn small() -> Trace {
        let site = Site { id: 7, start: 0, end: 1_000, name: None };
        Trace::of(
            vec![site],
            [
                (
                    source(1, None, None),
                    vec![(10, Kind::Change), (10, Kind::Rename), (20, Kind::Bulk)],
                ),
                (source(2, Some(50), None), vec![(50, Kind::Arrival), (60, Kind::Change)]),
                (source(3, None, Some(80)), vec![(80, Kind::Removal)]),
            ],
        )
    }

    #[test]
    fn throughout_keeps_what_is_there_all_along() {
        let world = small().world(0, 100, Present::Throughout, Kinds::default());
        assert_eq!(world.len(), 1);
        assert_eq!(world.changes(SourceIx::FIRST), [10, 20].map(Time::from_secs));
    }

    #[test]
    fn any_lets_them_come_and_go() {
        let world = small().world(0, 100, Present::Any, Kinds::default());
        assert_eq!(world.len(), 3);
        assert_eq!(world.place(SourceIx::new(1)).enters, Time::from_secs(50));
        assert_eq!(world.place(SourceIx::new(2)).leaves, Time::from_secs(80));
        assert_eq!(small().world(60, 100, Present::Any, Kinds::default()).len(), 3);
        assert_eq!(small().world(80, 100, Present::Any, Kinds::default()).len(), 2);
        let ghost = Trace::of(Vec::new(), [(source(1, Some(50), Some(50)), vec![])]);
        assert!(ghost.world(0, 100, Present::Any, Kinds::default()).is_empty());
    }

    #[test]
    fn a_site_is_there_while_it_is_observed() {
        let site = Site { id: 7, start: 40, end: 60, name: None };
        let trace = Trace::of(vec![site], [(source(1, None, None), vec![])]);
        let world = trace.world(0, 100, Present::Any, Kinds::default());
        let place = world.place(SourceIx::FIRST);
        assert_eq!((place.enters, place.leaves), (Time::from_secs(40), Time::from_secs(60)));
    }

    #[test]
    fn a_site_not_observed_throughout_is_left_out() {
        assert_eq!(small().world(0, 2_000, Present::Throughout, Kinds::default()).len(), 0);
    }

    #[test]
    fn kinds_can_be_chosen() {
        let kinds: Kinds = "rename,3".parse().unwrap();
        assert!(kinds.has(Kind::Rename) && kinds.has(Kind::Bulk) && !kinds.has(Kind::Change));
        let world = small().world(0, 100, Present::Throughout, "change".parse().unwrap());
        assert_eq!(world.changes(SourceIx::FIRST), [Time::from_secs(10)]);
        assert!("chnage".parse::<Kinds>().unwrap_err().to_string().contains("`chnage`"));
    }
}
