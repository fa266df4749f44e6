//! The configuration: what a person wrote ([`File`]), and what it means ([`Config`]).
//!
//! Everything has a default and the file may be empty. Unknown keys are refused; all mistakes are reported at once,
//! each with its key. Flags win over the environment, the environment over the file, the file over the defaults.

mod size;

use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fetch::{Guard, Limits};
use schedule::policy::Spec as Policy;
use schedule::spec::Mistake;
use schedule::utility::{Life, Urgency, index};
use schedule::value::Objective;
use schedule::{Budget, Manners, Settings, Setup, Span};
use serde::Deserialize;
use url::Url;

use crate::budget;
use crate::source::{Flaw, Spec, Wanted, from_env, from_file};

/// The file, exactly as written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    budget: BudgetFile,
    policy: PolicyFile,
    defaults: DefaultsFile,
    fetch: FetchFile,
    store: StoreFile,
    events: EventsFile,
    source: Vec<toml::Table>,
    collection: Vec<toml::Table>,
    webhook: Vec<WebhookFile>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct BudgetFile {
    polls: Option<String>,
    burst: Option<u32>,
    first_looks: Option<String>,
    per_host_gap: Option<String>,
    per_host_parallel: Option<u32>,
    parallel: Option<u32>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PolicyFile {
    name: Option<String>,
    objective: Option<String>,
    cycle: Option<String>,
    seed: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct DefaultsFile {
    importance: Option<f64>,
    urgency: Option<String>,
    life: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FetchFile {
    timeout: Option<String>,
    connect_timeout: Option<String>,
    header_timeout: Option<String>,
    idle_timeout: Option<String>,
    max_body: Option<String>,
    max_expansion: Option<u64>,
    max_redirects: Option<usize>,
    robots: Option<bool>,
    allow: Vec<String>,
    contact: Option<String>,
    proxy: Option<String>,
    ca_file: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct StoreFile {
    dir: Option<PathBuf>,
    keep_versions: Option<NonZeroU32>,
    keep_for: Option<String>,
    quota: Option<String>,
    keep_events: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct EventsFile {
    stdout: Option<bool>,
    file: Option<PathBuf>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WebhookFile {
    url: String,
    secret_env: Option<String>,
    secret_file: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
}

/// What the daemon goes by.
pub struct Config {
    /// Policy, budget, manners.
    pub setup: Setup,
    /// The policy, as written.
    pub policy: String,
    /// Length of a cycle, for policies that work in cycles.
    pub cycle: Span,
    /// Polls under way at once, over all hosts.
    pub parallel: usize,
    /// Importance of a source that says nothing.
    pub importance: f64,
    /// Urgency of a source that says nothing, where it is not `none`.
    pub urgency: Option<String>,
    /// Life of a source that says nothing, where it is not `overwrite`.
    pub life: Option<String>,
    /// How to fetch.
    pub fetch: Fetch,
    /// Where everything is kept.
    pub dir: PathBuf,
    /// What may be forgotten.
    pub retention: store::Retention,
    /// Events as JSON lines on stdout.
    pub stdout: bool,
    /// Events as JSON lines into this file.
    pub events_file: Option<PathBuf>,
    /// Who is called with each event.
    pub webhooks: Vec<Webhook>,
    /// Sources of the file.
    pub sources: Vec<Wanted>,
}

impl Config {
    /// The defaults, where a source says nothing of urgency and life.
    pub fn fill(&self, spec: &mut Spec) {
        spec.fill(self.urgency.as_ref(), self.life.as_ref());
    }

    /// Whether the policy can go by a source's urgency and life.
    pub fn fits(&self, spec: &Spec) -> Result<(), Mistake> {
        let Ok(worth) = spec.worth() else { return Ok(()) };
        match self.setup.policy {
            Policy::Value(Objective::Utility) => index::supported(worth),
            _ => Ok(()),
        }
    }
}

/// How to fetch, as far as the file says.
#[derive(Clone)]
pub struct Fetch {
    /// Bounds on every poll.
    pub limits: Limits,
    /// Where requests may go.
    pub guard: Guard,
    /// Whether robots.txt is obeyed.
    pub robots: bool,
    /// Whom a host's owner can write to.
    pub contact: Option<String>,
    /// An HTTP proxy for everything.
    pub proxy: Option<Url>,
    /// Certificates to trust besides the usual ones, as PEM.
    pub ca_pem: Option<Vec<u8>>,
}

impl Fetch {
    /// As the client takes it.
    pub fn settings(&self) -> fetch::Settings {
        fetch::Settings {
            limits: self.limits,
            guard: self.guard.clone(),
            robots: self.robots,
            contact: self.contact.clone(),
            ca_pem: self.ca_pem.clone(),
            proxy: self.proxy.clone(),
            lookup: None,
        }
    }
}

/// Who is called with each event.
#[derive(Clone)]
pub struct Webhook {
    /// Where.
    pub url: Url,
    /// What the calls are signed with, decoded.
    pub key: Option<Vec<u8>>,
    /// Only events of sources with one of these; all if empty.
    pub tags: Vec<String>,
}

/// Mistakes found while the meaning is worked out.
#[derive(Default)]
struct Complaints(Vec<Flaw>);

impl Complaints {
    fn add(&mut self, key: &str, why: impl ToString) {
        self.0.push(Flaw { key: key.to_owned(), why: why.to_string() });
    }

    /// The value; or the default, and a complaint.
    fn take<T, E: ToString>(&mut self, key: &str, result: Result<T, E>, default: T) -> T {
        result.unwrap_or_else(|why| {
            self.add(key, why);
            default
        })
    }

    fn span(&mut self, key: &str, text: Option<&String>, default: Span) -> Span {
        text.map_or(default, |text| self.take(key, text.parse(), default))
    }
}

/// What is wrong with a configuration: one line each.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct Wrong(pub Vec<String>);

/// Reads a file; `None` is an empty one.
pub fn read(path: Option<&Path>) -> Result<File, Wrong> {
    let Some(path) = path else { return Ok(File::default()) };
    let text = fs::read_to_string(path)
        .map_err(|why| Wrong(vec![format!("cannot read `{}`: {why}", path.display())]))?;
    parse(&text).map_err(|why| Wrong(vec![format!("in `{}`: {why}", path.display())]))
}

/// Reads a text.
pub fn parse(text: &str) -> Result<File, String> {
    toml::from_str(text).map_err(|why| why.to_string().trim_end().to_owned())
}

impl File {
    /// What it means; or everything that is wrong with it.
    pub fn check(&self) -> Result<Config, Wrong> {
        let mut wrong = Complaints::default();
        let config = Config {
            setup: self.setup(&mut wrong),
            policy: self.policy_text(),
            cycle: self.cycle(&mut wrong),
            parallel: self.budget.parallel.unwrap_or(256).clamp(1, 10_000) as usize,
            importance: self.defaults.importance.unwrap_or(1.0),
            urgency: self.urgency(&mut wrong),
            life: self.life(&mut wrong),
            fetch: self.fetch.meaning(&mut wrong),
            dir: self.store.dir.clone().unwrap_or_else(default_dir),
            retention: self.store.retention(&mut wrong),
            stdout: self.events.stdout.unwrap_or(false),
            events_file: self.events.file.clone(),
            webhooks: self.webhooks(&mut wrong),
            sources: self.sources(&mut wrong),
        };
        if !(config.importance > 0.0 && config.importance <= 1e6) {
            wrong.add("defaults.importance", "it must be above 0 and at most 1000000");
        }
        for (at, wanted) in config.sources.iter().enumerate() {
            if let Err(why) = config.fits(&wanted.spec) {
                wrong.add(&format!("source[{at}].urgency"), why);
            }
        }
        if wrong.0.is_empty() {
            return Ok(config);
        }
        Err(Wrong(wrong.0.iter().map(|Flaw { key, why }| format!("`{key}`: {why}")).collect()))
    }

    fn setup(&self, wrong: &mut Complaints) -> Setup {
        let Self { budget, policy, .. } = self;
        let (polls, per) = budget.polls.as_deref().map_or((600, Span::from_secs(3_600)), |text| {
            wrong.take("budget.polls", flow(text), (600, Span::from_secs(3_600)))
        });
        let share = budget
            .first_looks
            .as_deref()
            .map_or(200, |text| wrong.take("budget.first_looks", size::share(text), 200));
        let gap =
            wrong.span("budget.per_host_gap", budget.per_host_gap.as_ref(), Span::from_secs(5));
        let parallel = budget.per_host_parallel.unwrap_or(1);
        if parallel == 0 || budget.burst == Some(0) || budget.parallel == Some(0) {
            wrong.add("budget", "`burst`, `parallel` and `per_host_parallel` must be at least 1");
        }
        let burst = budget.burst.unwrap_or(20);
        Setup {
            policy: self.policy_spec(wrong),
            seed: policy.seed.unwrap_or(1),
            settings: Settings {
                budget: Budget::Flow { polls, per, burst },
                manners: Manners { gap, parallel },
                first_looks: Some(share),
            },
        }
    }

    /// The policy by its name; `objective` is a setting of the value policy.
    fn policy_spec(&self, wrong: &mut Complaints) -> Policy {
        let text = self.policy_text();
        if self.policy.objective.is_some() && !text.starts_with("value(") {
            let why = format!("`{text}` has no objective; only `value` has");
            wrong.add("policy.objective", why);
        }
        let default = Policy::Value(Objective::Captured);
        wrong.take("policy.name", text.parse(), default)
    }

    fn policy_text(&self) -> String {
        let name = self.policy.name.as_deref().unwrap_or("value");
        match &self.policy.objective {
            Some(objective) if name == "value" => format!("value(objective={objective})"),
            _ => name.to_owned(),
        }
    }

    fn cycle(&self, wrong: &mut Complaints) -> Span {
        let cycle = wrong.span("policy.cycle", self.policy.cycle.as_ref(), Span::DAY);
        if cycle < Span::from_secs(1) {
            wrong.add("policy.cycle", "a cycle lasts at least `1s`");
        }
        cycle.max(Span::from_secs(1))
    }

    fn webhooks(&self, wrong: &mut Complaints) -> Vec<Webhook> {
        let hooks = self.webhook.iter().enumerate();
        hooks.filter_map(|(at, hook)| hook.meaning(&format!("webhook[{at}]"), wrong)).collect()
    }

    fn urgency(&self, wrong: &mut Complaints) -> Option<String> {
        let text = self.defaults.urgency.as_ref()?;
        let urgency = wrong.take("defaults.urgency", text.parse(), Urgency::default());
        (urgency != Urgency::default()).then(|| urgency.to_string())
    }

    fn life(&self, wrong: &mut Complaints) -> Option<String> {
        let text = self.defaults.life.as_ref()?;
        let life = wrong.take("defaults.life", text.parse(), Life::default());
        (life != Life::default()).then(|| life.to_string())
    }

    /// Sources and collections: a collection is a source that lists objects.
    fn sources(&self, wrong: &mut Complaints) -> Vec<Wanted> {
        let collections: Vec<toml::Table> = self.collection.iter().map(as_source).collect();
        let mut wanted = wanted("source", &self.source, wrong);
        wanted.extend(self::wanted("collection", &collections, wrong));
        let defaults =
            (self.urgency(&mut Complaints::default()), self.life(&mut Complaints::default()));
        for source in &mut wanted {
            source.spec.fill(defaults.0.as_ref(), defaults.1.as_ref());
        }
        wanted
    }
}

/// Keys of a collection that are about its objects.
const OBJECT_KEYS: [&str; 4] = ["items", "key", "category", "target"];

/// A collection as a source: its own keys put where a source has them.
fn as_source(table: &toml::Table) -> toml::Table {
    let (objects, mut source): (toml::Table, toml::Table) =
        table.clone().into_iter().partition(|(key, _)| OBJECT_KEYS.contains(&key.as_str()));
    source.insert("collection".to_owned(), toml::Value::Table(objects));
    source
}

/// The sources of a list of tables.
fn wanted(what: &str, tables: &[toml::Table], wrong: &mut Complaints) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    for (at, table) in tables.iter().enumerate() {
        let key =
            |key: &str| format!("{what}[{at}].{}", key.strip_prefix("collection.").unwrap_or(key));
        for unknown in table.keys().filter(|name| !crate::source::KEYS.contains(&name.as_str())) {
            let plain = crate::source::KEYS.into_iter().filter(|&key| key != "collection");
            let known = plain.chain(OBJECT_KEYS.into_iter().filter(|_| what == "collection"));
            let known: Vec<&str> = known.collect();
            wrong.add(&key(unknown), format!("unknown key; known are {}", known.join(", ")));
        }
        match table.clone().try_into::<Wanted>() {
            Ok(source) => {
                source.flaws().iter().for_each(|flaw| wrong.add(&key(&flaw.key), &flaw.why));
                wanted.push(source);
            }
            Err(why) => wrong.add(&format!("{what}[{at}]"), why.to_string().trim_end()),
        }
    }
    wanted
}

impl FetchFile {
    fn meaning(&self, wrong: &mut Complaints) -> Fetch {
        let mut limits = Limits::default();
        let mut time = |key: &str, text: &Option<String>, limit: &mut Duration| {
            let span = text.as_ref().map(|text| wrong.span(key, Some(text), Span::from_secs(30)));
            if let Some(span) = span.filter(|span| *span > Span::ZERO) {
                *limit = Duration::from_micros(span.micros().unsigned_abs());
            }
        };
        time("fetch.timeout", &self.timeout, &mut limits.total);
        time("fetch.connect_timeout", &self.connect_timeout, &mut limits.connect);
        time("fetch.header_timeout", &self.header_timeout, &mut limits.header);
        time("fetch.idle_timeout", &self.idle_timeout, &mut limits.idle);
        if let Some(text) = &self.max_body {
            limits.max_body = wrong.take("fetch.max_body", size::bytes(text), limits.max_body);
        }
        limits.max_expansion = self.max_expansion.unwrap_or(limits.max_expansion);
        limits.max_redirects = self.max_redirects.unwrap_or(limits.max_redirects);
        let guard = Guard::allowing(self.allow.iter().map(String::as_str));
        let proxy = self.proxy.as_deref().map(str::parse::<Url>).transpose();
        let ca_pem = self.ca_file.as_deref().map(|path| {
            fs::read(path).map_err(|why| format!("cannot read `{}`: {why}", path.display()))
        });
        Fetch {
            limits,
            guard: wrong.take("fetch.allow", guard, Guard::default()),
            robots: self.robots.unwrap_or(true),
            contact: self.contact.clone(),
            proxy: wrong.take("fetch.proxy", proxy, None),
            ca_pem: wrong.take("fetch.ca_file", ca_pem.transpose(), None),
        }
    }
}

impl StoreFile {
    fn retention(&self, wrong: &mut Complaints) -> store::Retention {
        let mut time = |key: &str, text: &Option<String>| {
            text.as_ref().map(|text| {
                let span = wrong.span(key, Some(text), Span::DAY);
                Duration::from_micros(span.micros().unsigned_abs())
            })
        };
        let age = time("store.keep_for", &self.keep_for);
        let events = time("store.keep_events", &self.keep_events);
        let bytes =
            self.quota.as_deref().map(|text| wrong.take("store.quota", size::bytes(text), 0));
        store::Retention { versions: self.keep_versions, age, bytes, events }
    }
}

impl WebhookFile {
    fn meaning(&self, at: &str, wrong: &mut Complaints) -> Option<Webhook> {
        let secret = match (&self.secret_env, &self.secret_file) {
            (Some(variable), None) => from_env("secret_env", variable).map(Some),
            (None, Some(path)) => from_file("secret_file", path).map(Some),
            (None, None) => Ok(None),
            (Some(_), Some(_)) => Err(Flaw {
                key: "secret_env".to_owned(),
                why: "give `secret_env` or `secret_file`, not both".to_owned(),
            }),
        };
        let url = self.url.parse::<Url>().map_err(|why| wrong.add(&format!("{at}.url"), why)).ok();
        let secret =
            secret.map_err(|flaw| wrong.add(&format!("{at}.{}", flaw.key), flaw.why)).ok()?;
        let key = secret.as_ref().map(crate::push::signature::key).transpose();
        let key = key.map_err(|why| wrong.add(&format!("{at}.secret"), why)).ok()?;
        Some(Webhook { url: url?, key, tags: self.tags.clone() })
    }
}

/// `600/h`; a share would need to know how many sources there will be.
fn flow(text: &str) -> Result<(u64, Span), String> {
    let budget: budget::Budget =
        text.parse().map_err(|why: schedule::spec::Mistake| why.to_string())?;
    budget.fixed_flow().ok_or_else(|| format!("`{text}` must be polls per time, such as `600/h`"))
}

/// Beside other data of the user; in the current directory where the system names no home.
fn default_dir() -> PathBuf {
    let variable =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("XDG_DATA_HOME")
        .or_else(|| variable("HOME").map(|home| home.join(".local/share")))
        .map_or_else(|| PathBuf::from("tidewatch-data"), |base| base.join("tidewatch"))
}
