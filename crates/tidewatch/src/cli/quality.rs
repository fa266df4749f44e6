//! `tidewatch quality fit|forecast|plan`: how good a mirrored collection is, and when to sync it. Here: which
//! collection; one file per question.

mod fit;
mod forecast;
mod plan;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use dynamics::collection::Part;
use dynamics::quality::Forecaster;
use dynamics::survival::Life;
use lab::listing::Listing;
use schedule::Span;

use super::place::{Place, find};
use super::{Failure, Voice};
use crate::words::seconds::PER_DAY;

#[derive(Subcommand)]
pub(crate) enum Quality {
    /// How objects arrive and how long they live, with the tests that say which law fits
    Fit(fit::Fit),
    /// Precision and recall some time after a sync, and how many objects are gone by then
    Forecast(forecast::Forecast),
    /// When to sync so that precision or recall stays above a target
    Plan(plan::Plan),
}

impl Quality {
    pub(crate) fn run(self, voice: Voice) -> Result<(), Failure> {
        match self {
            Self::Fit(fit) => fit.run(voice),
            Self::Forecast(forecast) => forecast.run(voice),
            Self::Plan(plan) => plan.run(voice),
        }
    }
}

/// Which collection.
#[derive(Args)]
struct Which {
    /// A watched collection: its number, its address or any unambiguous part of it
    #[arg(conflicts_with = "trace", required_unless_present = "trace")]
    source: Option<String>,
    /// A directory with `listings` and `objects` instead (Parquet or CSV)
    #[arg(long, value_name = "DIR")]
    trace: Option<PathBuf>,
    /// Which listing of the trace; may be left out if there is one
    #[arg(long, value_name = "NAME", requires = "trace")]
    listing: Option<String>,
    /// Only objects of this category
    #[arg(long, value_name = "NAME")]
    category: Option<String>,
    /// Time between looks at the trace; by default an hour or a day, as its objects' lives call for
    #[arg(long, value_name = "SPAN", requires = "trace")]
    every: Option<Span>,
    /// Draw it into this SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

/// A collection, looked at.
struct Mirrored {
    listing: Listing,
    category: Option<u32>,
    /// The first look and the last, in seconds.
    first: i64,
    last: i64,
    /// How often an object changed and stayed, where versions are known.
    updates: Option<u64>,
    /// Time in days.
    forecaster: Forecaster,
    /// Live: the clock goes on.
    live: bool,
}

impl Which {
    fn mirrored(&self) -> Result<Mirrored, Failure> {
        let (listing, looks, updates) = match (&self.source, &self.trace) {
            (Some(name), _) => {
                let (_, reader) = self.place.reader()?;
                let source = find(&reader, name)?;
                let (listing, looks) = crate::collection::listing(&reader, source.id, &source.url)?;
                if looks.is_empty() {
                    return Err(Failure::Asked(format!(
                        "s_{} has not been seen as a collection; give it `items` and `key` in a [[collection]] \
                         of the configuration, and let it be polled",
                        source.id.0
                    )));
                }
                (listing, looks, Some(reader.updates(source.id)?))
            }
            (None, dir) => {
                let dir = dir.clone().unwrap_or_default();
                let listing = pick(Listing::read(&dir)?, self.listing.as_deref())?;
                let step = match self.every {
                    None => listing.step(),
                    Some(every) if every >= Span::from_secs(1) => every.micros() / 1_000_000,
                    Some(every) => {
                        return Err(Failure::Asked(format!(
                            "`--every {every}` is too often; at least `1s`"
                        )));
                    }
                };
                let looks = listing.moments(listing.start, step);
                (listing, looks, None)
            }
        };
        let category = match &self.category {
            None => None,
            Some(name) => Some(listing.category(name).ok_or_else(|| no_category(&listing, name))?),
        };
        let mut forecaster = Forecaster::default();
        listing.replay(&looks, category, |at, items| {
            forecaster.look(at as f64 / PER_DAY, items);
        });
        let first = looks.first().copied().unwrap_or(listing.start);
        let last = looks.last().copied().unwrap_or(listing.end);
        let live = self.source.is_some();
        Ok(Mirrored { listing, category, first, last, updates, forecaster, live })
    }
}

fn pick(listings: Vec<Listing>, name: Option<&str>) -> Result<Listing, Failure> {
    let names: Vec<String> = listings.iter().map(|listing| format!("`{}`", listing.name)).collect();
    let mut fitting: Vec<Listing> = listings
        .into_iter()
        .filter(|listing| name.is_none_or(|name| listing.name.contains(name)))
        .collect();
    if let Some(exact) = fitting.iter().position(|listing| Some(listing.name.as_str()) == name) {
        return Ok(fitting.swap_remove(exact));
    }
    match fitting.len() {
        1 => Ok(fitting.swap_remove(0)),
        0 => {
            Err(Failure::Asked(format!("no listing is called so; there are {}", names.join(", "))))
        }
        _ => Err(Failure::Asked(format!("give `--listing`: one of {}", names.join(", ")))),
    }
}

fn no_category(listing: &Listing, name: &str) -> Failure {
    let mut known: Vec<&str> = listing.categories.iter().map(String::as_str).collect();
    known.sort_unstable();
    let some = known.iter().take(12).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    Failure::Asked(format!(
        "no object is of category `{name}`; of {} categories some are {some}",
        known.len()
    ))
}

impl Mirrored {
    fn looks(&self) -> usize {
        self.forecaster.collection().looks().len()
    }

    /// Lives whose beginning was seen, or all if there are none.
    fn lives(&self, category: Option<u32>) -> Vec<Life> {
        let (known, old) = self.forecaster.collection().lives(Part { category, since: None });
        if known.iter().any(Life::is_over) { known } else { [known, old].concat() }
    }

    fn name(&self) -> String {
        match self.category {
            None => self.listing.name.clone(),
            Some(at) => format!("{} / {}", self.listing.name, self.listing.categories[at as usize]),
        }
    }

    fn could_not(&self, why: impl std::fmt::Display) -> Failure {
        Failure::Could(anyhow::anyhow!("{}: {why}", self.name()))
    }
}

fn share(flag: &str, value: f64) -> Result<f64, Failure> {
    if value > 0.0 && value < 1.0 {
        return Ok(value);
    }
    Err(Failure::Asked(format!("`{flag} {value}` must lie between 0 and 1, such as `{flag} 0.9`")))
}
