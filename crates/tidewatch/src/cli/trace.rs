//! `tidewatch trace`: make a trace from git histories, or describe one.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use lab::figure;
use lab::trace::{self, Format, Grain, History, Info, Kinds};
use schedule::Span;

use super::simulate::{date, moment};
use super::table::{self, count, counted};
use super::{Failure, Voice};

#[derive(Subcommand)]
pub(crate) enum Trace {
    /// Make a trace from the histories of local git repositories
    ///
    /// A file is a source, a directory a site, a commit on the first-parent line an update. Kept are times, ids and
    /// directory names; never authors, messages, file names or contents.
    FromGit(FromGit),
    /// Describe a trace: sizes, span, how its sources and sites change
    Info(Describe),
}

#[derive(Args)]
pub(crate) struct FromGit {
    /// Checkouts of git repositories
    #[arg(required = true, value_name = "DIR")]
    repositories: Vec<PathBuf>,
    /// Directory to write the trace into
    #[arg(long, value_name = "TRACE")]
    out: PathBuf,
    /// What is a source: every file, or every directory that holds files (package trees)
    #[arg(long, value_enum, default_value = "file")]
    source: SourceArg,
    /// How many leading directories name a site; 0 makes the repository one site
    #[arg(long, value_name = "N", default_value_t = 1)]
    site_depth: usize,
    /// Leave out what came before this day, UTC
    #[arg(long, value_name = "DATE")]
    from: Option<String>,
    /// Form of the files
    #[arg(long, value_enum, default_value = "parquet")]
    format: FormatArg,
}

#[derive(Clone, Copy, ValueEnum)]
enum SourceArg {
    File,
    Package,
}

#[derive(Clone, Copy, ValueEnum)]
enum FormatArg {
    Parquet,
    Csv,
}

#[derive(Args)]
pub(crate) struct Describe {
    /// Trace directory
    #[arg(value_name = "TRACE")]
    dir: PathBuf,
    /// Length of a cycle for the figures per cycle
    #[arg(long, value_name = "SPAN", default_value = "30d")]
    cycle: String,
    /// Which kinds of update count as a change
    #[arg(long, value_name = "KINDS", default_value = "change,bulk")]
    kinds: String,
    /// Draw changes over time and the shares of changed sources into this SVG file
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

impl Trace {
    pub(crate) fn run(self, voice: Voice) -> Result<(), Failure> {
        match self {
            Self::FromGit(from_git) => from_git.run(voice),
            Self::Info(describe) => describe.run(voice),
        }
    }
}

impl FromGit {
    fn run(self, voice: Voice) -> Result<(), Failure> {
        let how = History {
            grain: match self.source {
                SourceArg::File => Grain::File,
                SourceArg::Package => Grain::Package,
            },
            site_depth: self.site_depth,
            from: self.from.as_deref().map(moment).transpose()?,
        };
        trace::Trace::prepare(&self.out)?;
        let bar = voice.progress(0, "reading commits");
        let trace = trace::from_git(&self.repositories, how, &|done, total| {
            bar.set_length(total);
            bar.set_position(done);
        })?;
        bar.finish_and_clear();
        let format = match self.format {
            FormatArg::Parquet => Format::Parquet,
            FormatArg::Csv => Format::Csv,
        };
        trace.write(&self.out, format)?;
        let info = describe(&trace, Kinds::default(), Span::DAY.times(30))?;
        voice.result(&info, || {
            format!(
                "wrote {}: {} on {}, {}",
                self.out.display(),
                counted(info.sources, "source"),
                counted(info.sites, "site"),
                counted(info.updates, "update")
            )
        })
    }
}

impl Describe {
    fn run(self, voice: Voice) -> Result<(), Failure> {
        let cycle: Span = self.cycle.parse()?;
        if cycle < Span::from_secs(1) {
            return Err(Failure::Asked("a cycle must last at least one second".to_owned()));
        }
        let kinds: Kinds = self.kinds.parse()?;
        let trace = trace::Trace::read(&self.dir)?;
        let info = describe(&trace, kinds, cycle)?;
        voice.result(&info, || report(&info, cycle))?;
        if let Some(path) = &self.plot {
            figure::trace(&info, path)?;
            voice.remark(&format!("drew {}", path.display()));
        }
        Ok(())
    }
}

fn describe(trace: &trace::Trace, kinds: Kinds, cycle: Span) -> Result<Info, Failure> {
    Info::of(trace, kinds, cycle).ok_or_else(|| {
        Failure::Asked(format!(
            "cycles of {cycle} cut this trace into too many pieces; take longer ones"
        ))
    })
}

fn report(info: &Info, cycle: Span) -> String {
    let mut table = table::facts();
    let five = |points: &[usize]| points.iter().map(|&n| count(n)).collect::<Vec<_>>().join(" / ");
    let span = match (info.start, info.end) {
        (Some(start), Some(end)) => format!("{} to {}", date(start), date(end)),
        _ => "nothing".to_owned(),
    };
    let kinds: Vec<String> =
        info.kinds.iter().map(|(kind, &n)| format!("{kind} {}", count(n))).collect();
    table.add_row(["sources".to_owned(), count(info.sources)]);
    table.add_row(["sites".to_owned(), count(info.sites)]);
    table.add_row(["updates".to_owned(), count(info.updates)]);
    table.add_row(["by kind".to_owned(), kinds.join(", ")]);
    table.add_row(["observed".to_owned(), span]);
    table.add_row([
        "never changed".to_owned(),
        info.never_changed.map_or("–".to_owned(), |x| format!("{:.1} %", 100.0 * x)),
    ]);
    table.add_row([
        "changes per source, 5/25/50/75/95 %".to_owned(),
        five(&info.changes_per_source),
    ]);
    table.add_row(["sources per site, 5/25/50/75/95 %".to_owned(), five(&info.sources_per_site)]);
    let correlation = info.share_autocorrelation.map_or("–".to_owned(), |x| format!("{x:.2}"));
    table.add_row([format!("ρ from one {cycle} to the next correlates"), correlation]);
    format!(
        "{table}\n\nρ: share of a site's sources that change in {cycle}, over sites and cycles\n{}",
        bars(info)
    )
}

/// The histogram of ρ in the terminal.
fn bars(info: &Info) -> String {
    let most = info.share_histogram.iter().copied().max().unwrap_or(0).max(1);
    let lines = info.share_histogram.iter().enumerate().map(|(tenth, &n)| {
        let low =
            if tenth == 0 { "[0.0".to_owned() } else { format!("({:.1}", tenth as f64 / 10.0) };
        let bar = "█".repeat((n * 50).div_ceil(most));
        format!("{low}, {:.1}] {:>9} {bar}", (tenth + 1) as f64 / 10.0, count(n))
    });
    lines.collect::<Vec<_>>().join("\n")
}
