//! `backup`, `restore`, `export`, `config`: the data and the configuration as a whole.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use lab::trace::{Format, Kind, Site, Source, Trace};
use schedule::{Entry, Event, SourceIx, Span, Time, Verdict};
use serde_json::json;
use store::Existing;

use super::place::Place;
use super::table::counted;
use super::{Failure, Voice};
use crate::daemon::wish::Plan;
use crate::journal;

/// Copies everything into one file, also while the daemon runs.
#[derive(Args, Debug)]
pub(crate) struct Backup {
    /// The file to write
    file: PathBuf,
    /// Overwrite it if it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    place: Place,
}

fn existing(force: bool) -> Existing {
    if force { Existing::Replace } else { Existing::Keep }
}

impl Backup {
    pub(crate) fn run(&self, voice: Voice) -> Result<(), Failure> {
        let config = self.place.config()?;
        store::backup(&config.dir, &self.file, existing(self.force))?;
        voice.result(&json!({ "file": self.file }), || {
            format!("everything is in `{}`", self.file.display())
        })
    }
}

/// Puts a backup in the place of the data directory.
#[derive(Args, Debug)]
pub(crate) struct Restore {
    /// The file a backup wrote
    file: PathBuf,
    /// Replace what is in the data directory
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    place: Place,
}

impl Restore {
    pub(crate) fn run(&self, voice: Voice) -> Result<(), Failure> {
        let config = self.place.config()?;
        store::restore(&self.file, &config.dir, existing(self.force))?;
        voice.result(&json!({ "data": config.dir }), || {
            format!("`{}` is as the backup was", config.dir.display())
        })
    }
}

/// Takes data out.
#[derive(Subcommand, Debug)]
pub(crate) enum Export {
    /// The journal as a trace for the lab: when each source was seen to change
    Trace(ExportTrace),
}

/// What the polls saw, as a trace.
#[derive(Args, Debug)]
pub(crate) struct ExportTrace {
    /// The directory to write the trace into
    dir: PathBuf,
    /// Write CSV instead of Parquet
    #[arg(long)]
    csv: bool,
    #[command(flatten)]
    place: Place,
}

impl Export {
    pub(crate) fn run(&self, voice: Voice) -> Result<(), Failure> {
        let Self::Trace(trace) = self;
        trace.run(voice)
    }
}

impl ExportTrace {
    fn run(&self, voice: Voice) -> Result<(), Failure> {
        let (_, reader) = self.place.reader()?;
        let seen = Seen::of(&reader)?;
        let trace = seen.trace(&reader.sites()?);
        let (sources, changes) = (trace.sources.len(), seen.changes);
        trace.write(&self.dir, if self.csv { Format::Csv } else { Format::Parquet })?;
        voice.result(&json!({ "trace": self.dir, "sources": sources, "changes": changes }), || {
            format!(
                "{} with {} in `{}`; compare policies on it with `tidewatch simulate --trace {}`",
                counted(sources, "source"),
                counted(changes, "change"),
                self.dir.display(),
                self.dir.display()
            )
        })
    }
}

/// What the journal saw of every source. A change is dated when the source says so, else when it was seen.
#[derive(Default)]
struct Seen {
    start: Option<Time>,
    end: Option<Time>,
    sources: BTreeMap<SourceIx, (Source, Vec<(i64, Kind)>)>,
    changes: usize,
}

/// Traces count whole seconds.
fn secs(time: Time) -> i64 {
    time.micros().div_euclid(1_000_000)
}

impl Seen {
    fn of(reader: &store::Reader) -> anyhow::Result<Self> {
        let mut seen = Self::default();
        reader.replay(0, |row| {
            let at = journal::time(row.at);
            seen.start.get_or_insert(at);
            seen.end = seen.end.max(Some(at));
            for entry in journal::entries(&row)? {
                if let Entry::Event(event) = entry {
                    seen.fold(at, event);
                }
            }
            anyhow::Ok(())
        })?;
        Ok(seen)
    }

    fn fold(&mut self, at: Time, event: Event) {
        match event {
            Event::Entered(source, facts) => {
                let (id, site, host) = (source.raw(), facts.site.raw(), facts.host.raw());
                let (first_seen, last_seen) = (Some(secs(at)), None);
                let entry = Source { id, site, host, first_seen, last_seen };
                self.sources.entry(source).or_insert((entry, Vec::new()));
            }
            Event::Left(source) => {
                if let Some((entry, _)) = self.sources.get_mut(&source) {
                    entry.last_seen = Some(secs(at));
                }
            }
            Event::Heard(heard) if heard.verdict == Verdict::Changed => {
                if let Some((_, updates)) = self.sources.get_mut(&heard.source) {
                    let age = heard.age.map_or(0, Span::micros);
                    let changed = secs(Time::from_micros(heard.sent.micros() - age));
                    let last = updates.last().map_or(i64::MIN, |&(at, _)| at);
                    // traces count whole seconds: of several changes in one, the first stands for all
                    if changed > last {
                        updates.push((changed, Kind::Change));
                        self.changes += 1;
                    }
                }
            }
            _ => {}
        }
    }

    fn trace(&self, names: &[String]) -> Trace {
        let (start, end) = (self.start.map_or(0, secs), self.end.map_or(1, |end| secs(end) + 1));
        let sites = names.iter().enumerate().map(|(at, name)| {
            let id = u32::try_from(at).unwrap_or(u32::MAX);
            Site { id, start, end, name: Some(name.clone()) }
        });
        Trace::of(sites.collect(), self.sources.values().cloned())
    }
}

/// Looks at the configuration.
#[derive(Subcommand, Debug)]
pub(crate) enum ConfigCommand {
    /// Say everything that is wrong with it, and what applying it would change
    Check(Check),
}

/// Checks the configuration.
#[derive(Args, Debug)]
pub(crate) struct Check {
    #[command(flatten)]
    place: Place,
}

impl ConfigCommand {
    pub(crate) fn run(&self, voice: Voice) -> Result<(), Failure> {
        let Self::Check(check) = self;
        check.run(voice)
    }
}

impl Check {
    fn run(&self, voice: Voice) -> Result<(), Failure> {
        let config = self.place.config()?;
        let watched = match store::Reader::open(&config.dir) {
            Ok(reader) => reader.sources()?,
            Err(store::Error::NoStore { .. }) => Vec::new(),
            Err(why) => return Err(why.into()),
        };
        let share = pinned_share(&config, &watched);
        let plan = Plan::new(&config.sources, watched, config.importance);
        let warning = (share > 0.5).then(|| {
            format!(
                "fixed intervals (`every`) take {:.0} % of the budget: {}",
                100.0 * share,
                if share > 1.0 {
                    "they cannot all be kept"
                } else {
                    "little is left for the policy to spend well"
                }
            )
        });
        let urls = |sources: &[store::Source]| {
            sources.iter().map(|source| source.url.clone()).collect::<Vec<_>>()
        };
        let edits: Vec<String> = plan.edit.iter().map(|(before, _)| before.url.clone()).collect();
        let adds: Vec<String> = plan.add.iter().map(|wanted| wanted.url.clone()).collect();
        voice.result(
            &json!({
                "file": self.place.file(), "data": config.dir, "setup": config.setup,
                "add": adds, "edit": edits, "remove": urls(&plan.remove),
                "pinned_share": share, "warning": warning,
            }),
            || {
                let file = self.place.file().map_or("no file: all defaults".to_owned(), |file| {
                    format!("`{}` is fine", file.display())
                });
                let mut lines = vec![file, format!("data in `{}`", config.dir.display())];
                lines.push(format!("policy `{}`", config.policy));
                lines.extend(adds.iter().map(|url| format!("+ {url}")));
                lines.extend(edits.iter().map(|url| format!("~ {url}")));
                lines.extend(plan.remove.iter().map(|source| format!("- {}", source.url)));
                lines.extend(warning.as_ref().map(|warning| format!("warning: {warning}")));
                lines.join("\n")
            },
        )
    }
}

/// The share of the budget that fixed intervals take, of the file's sources and those already watched.
fn pinned_share(config: &crate::config::Config, watched: &[store::Source]) -> f64 {
    let schedule::Budget::Flow { polls, per, .. } = config.setup.settings.budget else {
        return 0.0;
    };
    let rate = |spec: &crate::source::Spec| {
        let every: Option<schedule::Span> =
            spec.every.as_deref().and_then(|every| every.parse().ok());
        every.map_or(0.0, |every| 1.0 / every.secs().max(1e-6))
    };
    let file: f64 = config.sources.iter().map(|wanted| rate(&wanted.spec)).sum();
    let others = watched.iter().filter(|source| source.origin != "file");
    let others: f64 = others
        .filter_map(|source| crate::source::Spec::from_text(&source.spec).ok())
        .map(|spec| rate(&spec))
        .sum();
    (file + others) * per.secs() / (polls as f64).max(1e-9)
}
