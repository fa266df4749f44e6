//! `tidewatch reproduce PAPER`: every figure and table of a paper, theirs beside ours.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use lab::listing::Listing;
use lab::papers::{blind_sampling, polling_times, repository_quality, sampling, wic};
use lab::trace::{Kinds, Present, Trace};
use serde::Serialize;

use super::simulate::moment;
use super::{Failure, Voice};

#[derive(Args)]
pub(crate) struct Reproduce {
    /// Which paper
    #[arg(value_enum)]
    paper: Paper,
    /// Directory for report.md, its figures (SVG) and tables (CSV); with `all`, one directory in it for each paper
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// A real trace to run the same experiments on: of sites for `sampling` (24 cycles of 30 days), of periodic sources
    /// for `polling-times`, of long sequences for `blind-sampling`, of objects for `repository-quality`, of streams (and
    /// `ebay_bids`) for `wic`. With `all`, a directory with `sites`, `periodic`, `sequences`, `objects` and `streams` in it,
    /// as many of them as there are
    #[arg(long, value_name = "DIR")]
    trace: Option<PathBuf>,
    /// First day of the trace's window, UTC
    #[arg(long, value_name = "DATE", default_value = "2023-07-01")]
    from: String,
    /// Seeds
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=100))]
    seeds: u64,
    /// Small worlds and few paths instead of the papers' sizes: seconds instead of minutes
    #[arg(long)]
    small: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Paper {
    /// Cho & Ntoulas 2002, Effective Change Detection Using Sampling
    Sampling,
    /// Polling times for change capture: at which minutes to look
    PollingTimes,
    /// Li, Cline & Loguinov 2015, Temporal Update Dynamics under Blind Sampling
    BlindSampling,
    /// Repository quality: survival, arrivals and decay of mirrored collections; needs an object trace
    RepositoryQuality,
    /// Pandey, Dhamdhere & Olston 2004, WIC: what a poll is worth, and the schedule that earns most
    Wic,
    /// All papers
    All,
}

impl Paper {
    const EACH: [Self; 5] = [
        Self::Sampling,
        Self::PollingTimes,
        Self::BlindSampling,
        Self::RepositoryQuality,
        Self::Wic,
    ];

    /// The name of the paper, and of the kind of trace that goes with it.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Sampling => ("sampling", "sites"),
            Self::PollingTimes => ("polling-times", "periodic"),
            Self::BlindSampling => ("blind-sampling", "sequences"),
            Self::RepositoryQuality => ("repository-quality", "objects"),
            Self::Wic => ("wic", "streams"),
            Self::All => ("all", ""),
        }
    }
}

#[derive(Serialize)]
struct Written {
    paper: &'static str,
    report: PathBuf,
}

/// Where a paper's report goes and what real data it may use.
struct Place<'a> {
    out: &'a Path,
    trace: Option<&'a Path>,
}

impl Reproduce {
    pub(crate) fn run(self, voice: Voice) -> Result<(), Failure> {
        let mut written = Vec::new();
        if self.paper == Paper::All {
            for paper in Paper::EACH {
                let (name, kind) = paper.names();
                let trace =
                    self.trace.as_ref().map(|dir| dir.join(kind)).filter(|dir| dir.exists());
                if paper == Paper::RepositoryQuality && trace.is_none() {
                    voice.remark("repository-quality is left out: it needs `objects` in `--trace`");
                    continue;
                }
                let place = Place { out: &self.out.join(name), trace: trace.as_deref() };
                written.push(self.one(paper, &place, voice)?);
            }
        } else {
            let place = Place { out: &self.out, trace: self.trace.as_deref() };
            written.push(self.one(self.paper, &place, voice)?);
        }
        voice.result(&written, || {
            let line = |one: &Written| format!("wrote {}", one.report.display());
            written.iter().map(line).collect::<Vec<_>>().join("\n")
        })
    }

    fn one(&self, paper: Paper, place: &Place<'_>, voice: Voice) -> Result<Written, Failure> {
        let report = match paper {
            Paper::Sampling | Paper::All => self.sampling(place, voice),
            Paper::PollingTimes => self.polling_times(place, voice),
            Paper::BlindSampling => self.blind_sampling(place, voice),
            Paper::RepositoryQuality => repository_quality(place, voice),
            Paper::Wic => self.wic(place, voice),
        };
        Ok(Written { paper: paper.names().0, report: report? })
    }

    fn sampling(&self, place: &Place<'_>, voice: Voice) -> Result<PathBuf, Failure> {
        let mut scale = sampling::Scale { seeds: self.seeds, ..sampling::Scale::default() };
        if self.small {
            scale = sampling::Scale { pages: 20_000, sites: 100, long: 40, ..scale };
        }
        if let Some(dir) = place.trace {
            let from = moment(&self.from)?;
            let to = from + 24 * 30 * 86_400;
            let world = Trace::read(dir)?.world(from, to, Present::Throughout, Kinds::default());
            if world.is_empty() {
                let problem = format!(
                    "no source of the trace is there for 24 cycles of 30 days from {}",
                    self.from
                );
                return Err(Failure::Asked(format!("{problem}; give another `--from`")));
            }
            scale.real = Some(Arc::new(world));
        }
        let bar = voice.progress(10, "figures");
        let report = sampling::reproduce(place.out, &scale, &|what| step(&bar, what))?;
        bar.finish_and_clear();
        Ok(report)
    }

    fn polling_times(&self, place: &Place<'_>, voice: Voice) -> Result<PathBuf, Failure> {
        let real = place.trace.map(Trace::read).transpose()?;
        let hours = if self.small { 1_000 } else { 4_000 };
        let bar = voice.progress(if real.is_some() { 8 } else { 3 }, "figures");
        let scale = polling_times::Scale { hours, real, ..polling_times::Scale::default() };
        let report = polling_times::reproduce(place.out, &scale, &|what| step(&bar, what))?;
        bar.finish_and_clear();
        Ok(report)
    }

    fn blind_sampling(&self, place: &Place<'_>, voice: Voice) -> Result<PathBuf, Failure> {
        let real = place.trace.map(Trace::read).transpose()?;
        let mut scale = blind_sampling::Scale { real, ..blind_sampling::Scale::default() };
        if self.small {
            scale = blind_sampling::Scale { paths: 20, horizon: 2e4, longest: 1e3, ..scale };
        }
        let bar = voice.progress(if scale.real.is_some() { 8 } else { 6 }, "figures");
        let report = blind_sampling::reproduce(place.out, &scale, &|what| step(&bar, what))?;
        bar.finish_and_clear();
        Ok(report)
    }

    fn wic(&self, place: &Place<'_>, voice: Voice) -> Result<PathBuf, Failure> {
        let mut scale = wic::Scale::default();
        if self.small {
            scale = wic::Scale { pages: 400, seeds: 1, ..scale };
        }
        if let Some(dir) = place.trace {
            scale.auctions = wic::auctions::read(dir)?;
            scale.streams = Some(Trace::read(dir)?);
        }
        let bar = voice.progress(if scale.streams.is_some() { 36 } else { 13 }, "figures");
        let report = wic::reproduce(place.out, &scale, &|what| step(&bar, what))?;
        bar.finish_and_clear();
        Ok(report)
    }
}

fn repository_quality(place: &Place<'_>, voice: Voice) -> Result<PathBuf, Failure> {
    let Some(dir) = place.trace else {
        return Err(Failure::Asked(
            "the paper's data is not public: give `--trace DIR` with `listings` and `objects`"
                .to_owned(),
        ));
    };
    let listings = Listing::read(dir)?;
    let bar = voice.progress(5, "figures");
    let report = repository_quality::reproduce(place.out, &listings, &|what| step(&bar, what))?;
    bar.finish_and_clear();
    Ok(report)
}

fn step(bar: &ProgressBar, what: &str) {
    bar.set_message(what.to_owned());
    bar.inc(1);
}
