//! The command line: one file per command, and the rules all commands share.
//!
//! Results go to stdout (a table for people, one document with `--json`), everything else to stderr. Exit
//! code 0: done; 1: could not; 2: asked wrongly.

mod demo;
mod estimate;
mod keep;
mod place;
mod plan;
mod quality;
mod reproduce;
mod run;
mod show;
mod simulate;
mod table;
mod ticks;
mod trace;
mod watch;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use schedule::spec::Mistake;
use serde::Serialize;

/// A change-capture engine for web sources: decides when to poll which, within a budget.
#[derive(Parser)]
#[command(name = "tidewatch", version, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    voice: Voice,
}

#[derive(Subcommand)]
enum Command {
    /// A living example: a small changing website, watched under a tight budget
    Demo(demo::DemoCommand),
    /// Poll, compare, remember and tell, until it is stopped
    Run(run::Run),
    /// Spend what has accrued since the last run, then exit (for cron)
    Once(run::Once),
    /// Watch sources
    Add(watch::Add),
    /// Stop watching sources; their history stays
    #[command(visible_alias = "rm")]
    Remove(watch::Remove),
    /// Show what is watched
    #[command(visible_alias = "ls")]
    List(watch::List),
    /// Show one source and its latest versions
    Show(show::Show),
    /// List the polls of a source and what came of them
    History(show::History),
    /// Show what changed between two versions of a source
    Diff(show::Diff),
    /// Say why a source is polled when it is
    Why(show::Why),
    /// Say how fresh the copy is, what was spent and what was missed
    Status(run::Status),
    /// Take data out
    #[command(subcommand)]
    Export(keep::Export),
    /// Copy everything into one file, also while the daemon runs
    Backup(keep::Backup),
    /// Put a backup in the place of the data directory
    Restore(keep::Restore),
    /// Look at the configuration
    #[command(subcommand)]
    Config(keep::ConfigCommand),
    /// Replay a trace or a made-up world under policies, with the oracle beside them
    #[command(long_about = simulate::ABOUT)]
    Simulate(simulate::Simulate),
    Estimate(Box<estimate::Estimate>),
    /// Plan when to poll
    #[command(subcommand)]
    Plan(plan::Plan),
    /// Write every figure and table of a paper, theirs beside ours
    Reproduce(reproduce::Reproduce),
    /// How good a mirrored collection is, and when to sync it
    #[command(subcommand)]
    Quality(quality::Quality),
    /// Make a trace from git histories, or describe one
    #[command(subcommand)]
    Trace(trace::Trace),
}

/// How to speak.
#[derive(Args, Clone, Copy)]
pub(crate) struct Voice {
    /// Print one JSON document with stable keys instead of a table
    #[arg(long, global = true, help_heading = "Output")]
    json: bool,
    /// No progress and no remarks on stderr
    #[arg(long, short, global = true, help_heading = "Output")]
    quiet: bool,
}

/// Why a command ended without its result.
pub(crate) enum Failure {
    /// The question makes no sense: exit code 2.
    Asked(String),
    /// It could not be done: exit code 1.
    Could(anyhow::Error),
}

impl From<Mistake> for Failure {
    fn from(mistake: Mistake) -> Self {
        Self::Asked(mistake.to_string())
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure
where
    E: NotAMistake,
{
    fn from(error: E) -> Self {
        Self::Could(error.into())
    }
}

/// Errors that mean "could not", as opposed to a [`Mistake`] in the question.
pub(crate) trait NotAMistake {}
impl NotAMistake for anyhow::Error {}
impl NotAMistake for io::Error {}
impl NotAMistake for serde_json::Error {}
impl NotAMistake for lab::trace::Error {}
impl NotAMistake for lab::figure::Error {}
impl NotAMistake for lab::papers::sampling::Failure {}
impl NotAMistake for lab::papers::repository_quality::Failure {}

/// Parses, runs, reports.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Demo(demo) => demo.run(cli.voice),
        Command::Run(run) => run.run(cli.voice),
        Command::Once(once) => once.run(cli.voice),
        Command::Add(add) => add.run(cli.voice),
        Command::Remove(remove) => remove.run(cli.voice),
        Command::List(list) => list.run(cli.voice),
        Command::Show(show) => show.run(cli.voice),
        Command::History(history) => history.run(cli.voice),
        Command::Diff(diff) => diff.run(cli.voice),
        Command::Why(why) => why.run(cli.voice),
        Command::Status(status) => status.run(cli.voice),
        Command::Export(export) => export.run(cli.voice),
        Command::Backup(backup) => backup.run(cli.voice),
        Command::Restore(restore) => restore.run(cli.voice),
        Command::Config(config) => config.run(cli.voice),
        Command::Simulate(simulate) => simulate.run(cli.voice),
        Command::Estimate(estimate) => estimate.run(cli.voice),
        Command::Plan(plan) => plan.run(cli.voice),
        Command::Reproduce(reproduce) => reproduce.run(cli.voice),
        Command::Quality(quality) => quality.run(cli.voice),
        Command::Trace(trace) => trace.run(cli.voice),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Asked(problem)) => complain(&problem, 2),
        Err(Failure::Could(error)) => {
            // a reader that has seen enough (`| head`) is no failure
            let closed = |cause: &(dyn std::error::Error + 'static)| {
                cause
                    .downcast_ref::<io::Error>()
                    .is_some_and(|why| why.kind() == io::ErrorKind::BrokenPipe)
            };
            if error.chain().any(closed) {
                return ExitCode::SUCCESS;
            }
            complain(&format!("{error:#}"), 1)
        }
    }
}

/// The log goes to stderr; `RUST_LOG`-like levels by `TIDEWATCH_LOG`.
fn log(voice: Voice) {
    let default = if voice.quiet { tracing::Level::ERROR } else { tracing::Level::INFO };
    let wanted = std::env::var("TIDEWATCH_LOG").ok().and_then(|level| level.parse().ok());
    let _ = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_max_level(wanted.unwrap_or(default))
        .with_target(false)
        .try_init();
}

fn complain(problem: &str, code: u8) -> ExitCode {
    let _ = writeln!(io::stderr(), "tidewatch: {problem}");
    ExitCode::from(code)
}

/// Text to stdout.
fn say(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", text.trim_end())?;
    out.flush()?;
    Ok(())
}

impl Voice {
    /// The result, to stdout: one document, or the text for people.
    fn result(self, value: &impl Serialize, text: impl FnOnce() -> String) -> Result<(), Failure> {
        if self.json { say(&serde_json::to_string_pretty(value)?) } else { say(&text()) }
    }

    /// A remark that is not the result.
    fn remark(self, text: &str) {
        if !self.quiet {
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// A bar on a terminal's stderr; silent elsewhere.
    fn progress(self, total: u64, what: &'static str) -> ProgressBar {
        let target = if self.quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr_with_hz(10)
        };
        let style = ProgressStyle::with_template("{msg} {wide_bar:.cyan/dim} {pos}/{len} {eta}");
        let bar = ProgressBar::with_draw_target(Some(total), target).with_message(what);
        match style {
            Ok(style) => bar.with_style(style.progress_chars("━╸─")),
            Err(_) => bar,
        }
    }
}
