//! `add`, `remove`, `list`: what is watched.

use std::io::IsTerminal;

use clap::Args;
use serde_json::json;
use store::{Filter, Source, SourceId};

use super::place::{Place, find};
use super::table::{counted, words};
use super::{Failure, Voice};
use crate::clock::wall_now;
use crate::daemon::wish::{Granted, Wish};
use crate::journal::time;
use crate::source::{OneOrMany, Spec, Wanted};
use crate::words::{relative, rfc3339};

/// Watches sources.
#[derive(Args, Debug)]
pub(crate) struct Add {
    /// Addresses to watch
    #[arg(required = true, value_name = "URL")]
    urls: Vec<String>,
    /// CSS of the part that matters (may be given several times)
    #[arg(long, value_name = "CSS")]
    select: Vec<String>,
    /// CSS of parts to leave out
    #[arg(long, value_name = "CSS")]
    exclude: Vec<String>,
    /// Regular expression of text that does not count
    #[arg(long, value_name = "REGEX")]
    ignore: Vec<String>,
    /// The group the source may change alike with; its host by default
    #[arg(long)]
    site: Option<String>,
    /// How much a change matters; 1 is ordinary
    #[arg(long)]
    importance: Option<f64>,
    /// A word to find it and to route its events by
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Look this often, whatever the policy thinks, such as `10m`
    #[arg(long, value_name = "SPAN")]
    every: Option<String>,
    /// What waiting does to a change's worth, such as `half-life 30m` or `within 2h`
    #[arg(long, value_name = "WORDS")]
    urgency: Option<String>,
    /// What the page does with old information: `overwrite`, `append`, `last 20` or `for 7d`
    #[arg(long, value_name = "WORDS")]
    life: Option<String>,
    #[command(flatten)]
    place: Place,
}

fn many(list: &[String]) -> Option<OneOrMany> {
    (!list.is_empty()).then(|| OneOrMany::Many(list.to_vec()))
}

impl Add {
    fn wanted(&self, url: &str) -> Wanted {
        Wanted {
            url: url.to_owned(),
            site: self.site.clone(),
            tags: self.tag.clone(),
            importance: self.importance,
            spec: Spec {
                select: many(&self.select),
                exclude: many(&self.exclude),
                ignore: many(&self.ignore),
                every: self.every.clone(),
                urgency: self.urgency.clone(),
                life: self.life.clone(),
                ..Spec::default()
            },
        }
    }

    pub(crate) fn run(&self, voice: Voice) -> Result<(), Failure> {
        let wanted: Vec<Wanted> = self.urls.iter().map(|url| self.wanted(url)).collect();
        let flaws: Vec<String> = wanted
            .iter()
            .flat_map(|wanted| {
                wanted.flaws().into_iter().map(|flaw| format!("`{}`: {}", flaw.key, flaw.why))
            })
            .collect();
        if !flaws.is_empty() {
            return Err(Failure::Asked(flaws.join("\n")));
        }
        match self.place.wish(&Wish::Add(wanted))? {
            Granted::Added(added) => voice.result(
                &json!({ "sources": added.iter().map(|source| json!({
                "id": format!("s_{}", source.id), "url": source.url, "already": source.already,
            })).collect::<Vec<_>>() }),
                || {
                    let line = |source: &crate::daemon::wish::Watching| {
                        let how = if source.already { "already watched" } else { "watched" };
                        format!("s_{}  {how}: {}", source.id, source.url)
                    };
                    added.iter().map(line).collect::<Vec<_>>().join("\n")
                },
            ),
            Granted::Refused(why) => Err(Failure::Could(anyhow::anyhow!(why))),
            Granted::Removed(_) => Ok(()),
        }
    }
}

/// Stops watching a source; its versions and history stay.
#[derive(Args, Debug)]
pub(crate) struct Remove {
    /// The source: its number, its address or any unambiguous part of it
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<String>,
    #[command(flatten)]
    place: Place,
}

impl Remove {
    pub(crate) fn run(&self, voice: Voice) -> Result<(), Failure> {
        let (_, reader) = self.place.reader()?;
        let found: Result<Vec<Source>, Failure> =
            self.sources.iter().map(|name| find(&reader, name)).collect();
        let found = found?;
        match self.place.wish(&Wish::Remove(found.iter().map(|source| source.id.0).collect()))? {
            Granted::Removed(removed) => voice.result(&json!({ "removed": removed }), || {
                let lines = found
                    .iter()
                    .map(|source| format!("s_{}  no longer watched: {}", source.id.0, source.url));
                lines.collect::<Vec<_>>().join("\n")
            }),
            Granted::Refused(why) => Err(Failure::Could(anyhow::anyhow!(why))),
            Granted::Added(_) => Ok(()),
        }
    }
}

/// Shows what is watched.
#[derive(Args, Debug)]
pub(crate) struct List {
    /// Only addresses with this in them
    text: Option<String>,
    /// Only sources with this tag
    #[arg(long)]
    tag: Option<String>,
    /// Only sources of this site
    #[arg(long)]
    site: Option<String>,
    /// At most so many
    #[arg(long, default_value_t = 1000)]
    limit: u32,
    /// Go on after this source
    #[arg(long, value_name = "NUMBER")]
    after: Option<i64>,
    #[command(flatten)]
    place: Place,
}

impl List {
    pub(crate) fn run(&self, voice: Voice) -> Result<(), Failure> {
        let (_, reader) = self.place.reader()?;
        let filter =
            Filter { text: self.text.clone(), tag: self.tag.clone(), site: self.site.clone() };
        let sources = reader.list(&filter, self.after.map(SourceId), self.limit)?;
        let now = wall_now();
        let items: Vec<_> = sources.iter().map(view).collect();
        voice.result(&json!({ "sources": items }), || {
            if sources.is_empty() {
                return "nothing is watched so; `tidewatch add URL` watches something".to_owned();
            }
            let mut shown = words(&["source", "address", "last look", "last change", "verdict"]);
            for source in &sources {
                let when = |at: Option<store::Micros>| {
                    at.map_or("–".to_owned(), |at| relative(time(at), now))
                };
                shown.add_row([
                    format!("s_{}", source.id.0),
                    shorten(&source.url),
                    when(source.state.polled_at),
                    when(source.state.changed_at),
                    source.state.verdict.clone().unwrap_or_else(|| "–".to_owned()),
                ]);
            }
            format!("{shown}\n{}", counted(sources.len(), "source"))
        })
    }
}

/// Long addresses lose their middle on a terminal.
fn shorten(url: &str) -> String {
    let letters: Vec<char> = url.chars().collect();
    if letters.len() <= 70 || !std::io::stdout().is_terminal() {
        return url.to_owned();
    }
    let (head, tail) = (&letters[..40], &letters[letters.len() - 28..]);
    format!("{}…{}", head.iter().collect::<String>(), tail.iter().collect::<String>())
}

/// A source for programs.
pub(crate) fn view(source: &Source) -> serde_json::Value {
    let state = &source.state;
    let when = |at: Option<store::Micros>| at.map(|at| rfc3339(time(at)));
    json!({
        "id": format!("s_{}", source.id.0),
        "url": source.url,
        "site": source.site,
        "host": source.host,
        "tags": source.tags,
        "importance": source.importance,
        "rule": serde_json::from_str::<serde_json::Value>(&source.spec).unwrap_or_default(),
        "origin": source.origin,
        "added": rfc3339(time(source.added_at)),
        "last_poll": when(state.polled_at),
        "last_look": when(state.seen_at),
        "last_change": when(state.changed_at),
        "verdict": state.verdict,
        "outcome": state.outcome,
        "version": state.version.map(|version| format!("v_{}", version.0)),
        "failures": state.failures,
    })
}
