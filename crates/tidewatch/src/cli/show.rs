//! `show`, `history`, `diff`, `why`: one source, from close by.

use clap::Args;
use serde_json::json;
use store::{Kind, Reader, Source, Version, VersionId};

use super::place::{Place, find, recall};
use super::table::{facts, words};
use super::watch::view;
use super::{Failure, Voice};
use crate::clock::wall_now;
use crate::journal::{heard_of, source_ix, time};
use crate::words::{duration, relative, rfc3339, seconds};

/// One source.
#[derive(Args, Debug)]
pub(crate) struct One {
    /// The source: its number, its address or any unambiguous part of it
    source: String,
    #[command(flatten)]
    place: Place,
}

impl One {
    fn find(&self) -> Result<(Reader, Source), Failure> {
        let (_, reader) = self.place.reader()?;
        let source = find(&reader, &self.source)?;
        Ok((reader, source))
    }
}

/// Shows a source: what is watched of it, how it stands, what it says now.
#[derive(Args, Debug)]
pub(crate) struct Show {
    #[command(flatten)]
    one: One,
    /// Print the text of this version (a number such as `v_12`) instead; `latest` for the newest
    #[arg(long, value_name = "VERSION")]
    text: Option<String>,
}

impl Show {
    pub(crate) fn run(&self, voice: Voice) -> Result<(), Failure> {
        let (reader, source) = self.one.find()?;
        if let Some(name) = &self.text {
            let version = version(&reader, &source, name)?;
            return text_of(&reader, &version).and_then(|text| {
                voice.result(
                    &json!({
                        "version": format!("v_{}", version.id.0), "text": text,
                    }),
                    || text.clone(),
                )
            });
        }
        let versions = reader.versions(source.id, None, 5)?;
        let mut document = view(&source);
        document["versions"] = versions.iter().map(version_view).collect();
        voice.result(&document, || describe(&source, &versions))
    }
}

fn describe(source: &Source, versions: &[Version]) -> String {
    let (now, state) = (wall_now(), &source.state);
    let when =
        |at: Option<store::Micros>| at.map_or("never".to_owned(), |at| relative(time(at), now));
    let mut rows = facts();
    rows.add_row(["source".to_owned(), format!("s_{}", source.id.0)]);
    rows.add_row(["address".to_owned(), source.url.clone()]);
    rows.add_row(["site, host".to_owned(), format!("{}, {}", source.site, source.host)]);
    rows.add_row(["importance".to_owned(), source.importance.to_string()]);
    if !source.tags.is_empty() {
        rows.add_row(["tags".to_owned(), source.tags.join(", ")]);
    }
    if source.spec != "{}" {
        rows.add_row(["rule".to_owned(), source.spec.clone()]);
    }
    rows.add_row(["last poll".to_owned(), when(state.polled_at)]);
    rows.add_row(["last change".to_owned(), when(state.changed_at)]);
    rows.add_row([
        "last outcome".to_owned(),
        state.outcome.clone().unwrap_or_else(|| "none yet".to_owned()),
    ]);
    let mut text = rows.to_string();
    if !versions.is_empty() {
        let mut shown = words(&["version", "number", "seen", "bytes", "title"]);
        for version in versions {
            shown.add_row([
                format!("v_{}", version.id.0),
                version.number.to_string(),
                relative(time(version.at), now),
                version.size.to_string(),
                version.title.clone().unwrap_or_default(),
            ]);
        }
        text = format!("{text}\n{shown}");
    }
    text
}

fn version_view(version: &Version) -> serde_json::Value {
    json!({
        "id": format!("v_{}", version.id.0),
        "number": version.number,
        "at": rfc3339(time(version.at)),
        "bytes": version.size,
        "status": version.status,
        "media_type": version.media_type,
        "title": version.title,
        "dropped": version.dropped_at.map(|at| rfc3339(time(at))),
    })
}

/// A version by `v_12`, by its number among the source's versions, or `latest`.
fn version(reader: &Reader, source: &Source, name: &str) -> Result<Version, Failure> {
    let unknown = || {
        Failure::Asked(format!(
            "s_{} has no version `{name}`; `tidewatch show s_{}` lists them",
            source.id.0, source.id.0
        ))
    };
    let found = if name == "latest" {
        source.state.version.map(|id| reader.version(id)).transpose()?.flatten()
    } else if let Some(id) = name.strip_prefix("v_").and_then(|id| id.parse().ok()) {
        reader.version(VersionId(id))?
    } else {
        name.parse().ok().map(|number| reader.version_of(source.id, number)).transpose()?.flatten()
    };
    found.filter(|version| version.source == source.id).ok_or_else(unknown)
}

fn text_of(reader: &Reader, version: &Version) -> Result<String, Failure> {
    reader.text(version.id)?.ok_or_else(|| {
        Failure::Could(anyhow::anyhow!("the text of v_{} was dropped by retention", version.id.0))
    })
}

/// Lists polls and what came of them, newest first.
#[derive(Args, Debug)]
pub(crate) struct History {
    #[command(flatten)]
    one: One,
    /// At most so many
    #[arg(long, default_value_t = 30)]
    limit: usize,
    /// Only changes
    #[arg(long)]
    changes: bool,
}

impl History {
    pub(crate) fn run(&self, voice: Voice) -> Result<(), Failure> {
        let (reader, source) = self.one.find()?;
        let mut polls = Vec::new();
        let mut before = None;
        while polls.len() < self.limit {
            let page = reader.history(source.id, before, 500)?;
            let Some(last) = page.last() else { break };
            before = Some(last.n);
            for entry in page.iter().filter(|entry| entry.kind == Kind::Heard) {
                let Some(heard) = heard_of(entry) else { continue };
                let is_change = matches!(heard.verdict.as_str(), "first" | "changed");
                if polls.len() < self.limit && (is_change || !self.changes) {
                    polls.push((time(entry.at), heard));
                }
            }
        }
        let items: Vec<_> = polls
            .iter()
            .map(|(at, heard)| {
                json!({
                    "at": rfc3339(*at), "verdict": heard.verdict, "outcome": heard.outcome,
                    "note": heard.note, "bytes": heard.bytes, "ms": heard.ms,
                })
            })
            .collect();
        voice.result(&json!({ "source": format!("s_{}", source.id.0), "polls": items }), || {
            let mut shown = words(&["when", "verdict", "outcome", "bytes", "ms", "note"]);
            for (at, heard) in &polls {
                shown.add_row([
                    rfc3339(*at),
                    heard.verdict.clone(),
                    heard.outcome.clone(),
                    heard.bytes.to_string(),
                    heard.ms.to_string(),
                    heard.note.clone().unwrap_or_default(),
                ]);
            }
            shown.to_string()
        })
    }
}

/// Shows what changed between two versions; by default the last two.
#[derive(Args, Debug)]
pub(crate) struct Diff {
    #[command(flatten)]
    one: One,
    /// The older version: `v_12`, or its number among the source's versions
    from: Option<String>,
    /// The newer version; by default the newest
    to: Option<String>,
}

impl Diff {
    pub(crate) fn run(&self, voice: Voice) -> Result<(), Failure> {
        let (reader, source) = self.one.find()?;
        let to = version(&reader, &source, self.to.as_deref().unwrap_or("latest"))?;
        let from = match &self.from {
            Some(name) => version(&reader, &source, name)?,
            None => reader.version_of(source.id, to.number - 1)?.ok_or_else(|| {
                Failure::Could(anyhow::anyhow!("s_{} has only one version so far", source.id.0))
            })?,
        };
        let (before, after) = (text_of(&reader, &from)?, text_of(&reader, &to)?);
        let change = detect::diff(&before, &after, &detect::Limits::default());
        let name = |version: &Version| format!("v_{}", version.id.0);
        voice.result(&json!({
            "from": name(&from), "to": name(&to), "added": change.added, "removed": change.removed,
            "summary": change.summary, "diff": change.unified,
        }), || {
            let head = format!(
                "{} ({}) → {} ({})", name(&from), rfc3339(time(from.at)), name(&to), rfc3339(time(to.at))
            );
            format!("{head}\n{}", change.unified)
        })
    }
}

/// Says why a source is polled when it is: the belief about it, what a poll is worth, and the reason.
#[derive(Args, Debug)]
pub(crate) struct Why {
    #[command(flatten)]
    one: One,
}

impl Why {
    pub(crate) fn run(&self, voice: Voice) -> Result<(), Failure> {
        let (reader, source) = self.one.find()?;
        let (memory, now) = recall(&reader)?;
        let why = memory.scheduler.why(source_ix(source.id), now);
        let rate = why.belief.map(|belief| {
            let [low, high] = belief.interval95().map(|rate| rate * seconds::PER_DAY);
            (belief.mean() * seconds::PER_DAY, low, high)
        });
        let expected_age = why.belief.zip(why.known_at).map(|(belief, known_at)| {
            let elapsed = (now - known_at).secs();
            elapsed - belief.fresh_time(elapsed)
        });
        let polls = effective(&reader, &source)?;
        let last = source.state.polled_at.map(time);
        voice.result(
            &json!({
                "source": format!("s_{}", source.id.0),
                "because": why.because,
                "stale": why.stale,
                "expected_age_seconds": expected_age,
                "value": why.value,
                "rate_per_day": rate.map(|(mean, ..)| mean),
                "rate_ci95": rate.map(|(_, low, high)| [low, high]),
                "polls_per_day": polls,
                "last_poll": last.map(rfc3339),
            }),
            || {
                let mut rows = facts();
                rows.add_row(["source".to_owned(), format!("s_{}  {}", source.id.0, source.url)]);
                rows.add_row(["because".to_owned(), why.because.clone()]);
                rows.add_row(["P(stale) now".to_owned(), format!("{:.2}", why.stale)]);
                if let Some(age) = expected_age {
                    rows.add_row(["expected age".to_owned(), duration(age)]);
                }
                rows.add_row([
                    "worth of a poll".to_owned(),
                    format!("{:.3} captured changes", why.value),
                ]);
                let change = rate.map_or("nothing learned yet".to_owned(), |(mean, low, high)| {
                    format!("{mean:.2} a day (95 %: {low:.2} to {high:.2})")
                });
                rows.add_row(["changes".to_owned(), change]);
                rows.add_row([
                    "polled".to_owned(),
                    polls.map_or("too seldom to say".to_owned(), |rate| {
                        format!("{rate:.1} times a day")
                    }),
                ]);
                rows.add_row([
                    "last poll".to_owned(),
                    last.map_or("never".to_owned(), |at| relative(at, now)),
                ]);
                rows.to_string()
            },
        )
    }
}

/// How often it was polled lately, per day.
fn effective(reader: &Reader, source: &Source) -> Result<Option<f64>, Failure> {
    let sent: Vec<_> = reader
        .history(source.id, None, 400)?
        .into_iter()
        .filter(|entry| entry.kind == Kind::Sent)
        .map(|entry| time(entry.at))
        .collect();
    let (Some(&newest), Some(&oldest)) = (sent.first(), sent.last()) else { return Ok(None) };
    let span = (newest - oldest).secs();
    Ok((span > 0.0).then(|| (sent.len() - 1) as f64 / span * seconds::PER_DAY))
}
