//! `tidewatch reproduce PAPER`: every figure and table of a paper, theirs beside ours.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use lab::papers::sampling::{self, Scale};
use lab::trace::{Kinds, Present, Trace};
use serde::Serialize;

use super::simulate::moment;
use super::{Failure, Voice};

#[derive(Args)]
pub(crate) struct Reproduce {
    /// Which paper
    #[arg(value_enum)]
    paper: Paper,
    /// Directory for report.md, its figures (SVG) and tables (CSV)
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// A real trace to run the same experiments on, 24 cycles of 30 days
    #[arg(long, value_name = "DIR")]
    trace: Option<PathBuf>,
    /// First day of the trace's window, UTC
    #[arg(long, value_name = "DATE", default_value = "2023-07-01")]
    from: String,
    /// Seeds
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=100))]
    seeds: u64,
    /// A small world instead of the paper's 353,000 pages: seconds instead of minutes
    #[arg(long)]
    small: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Paper {
    /// Cho & Ntoulas 2002, Effective Change Detection Using Sampling
    Sampling,
    /// All papers
    All,
}

#[derive(Serialize)]
struct Written {
    paper: &'static str,
    report: PathBuf,
}

impl Reproduce {
    pub(crate) fn run(self, voice: Voice) -> Result<(), Failure> {
        let mut scale = Scale { seeds: self.seeds, ..Scale::default() };
        if self.small {
            scale = Scale { pages: 20_000, sites: 100, long: 40, ..scale };
        }
        if let Some(dir) = &self.trace {
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
        let (Paper::Sampling | Paper::All) = self.paper;
        let bar = voice.progress(10, "figures");
        let report = sampling::reproduce(&self.out, &scale, &|what| {
            bar.set_message(what.to_owned());
            bar.inc(1);
        })?;
        bar.finish_and_clear();
        let written = [Written { paper: "sampling", report }];
        voice.result(&written, || format!("wrote {}", written[0].report.display()))
    }
}
