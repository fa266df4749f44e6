//! A source as a person describes it, and as the daemon uses it.
//!
//! [`Wanted`] is what stands in the file, on the command line or in the store: plain words, nothing resolved.
//! [`Watch`] is the same, checked: the rule compiled, secrets fetched from where they are kept. Between the two stands
//! one function that reports all mistakes at once. The store keeps the words, never a secret.

use std::collections::BTreeMap;
use std::fs;

use detect::{Items, ItemsText, Rule, RuleText, TriggerText};
use dynamics::quality::Metric;
use fetch::{Auth, Host, Request, Secret, Validators};
use schedule::Span;
use schedule::spec::Mistake;
use schedule::utility::{Life, Urgency, Worth};
use serde::{Deserialize, Serialize};
use url::Url;

/// A source as written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wanted {
    /// Its address.
    pub url: String,
    /// The group it may change alike with; its host unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// Words to find it and to route its events by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// How much a change of it matters; 1 is ordinary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub importance: Option<f64>,
    /// What to watch of it and how to ask for it.
    #[serde(flatten)]
    pub spec: Spec,
}

/// What the store keeps beside address, site, tags and importance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// CSS of what to watch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select: Option<OneOrMany>,
    /// CSS of what to leave out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude: Option<OneOrMany>,
    /// Regular expressions of text that does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore: Option<OneOrMany>,
    /// When a change is worth an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<TriggerText>,
    /// A fixed interval, whatever the policy thinks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<String>,
    /// What waiting does to the worth of a change of it: `half-life 30m`, `within 2h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urgency: Option<String>,
    /// What a page does with old information: `overwrite`, `append`, `last 20`, `for 7d`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub life: Option<String>,
    /// Header lines to send.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Header lines whose values are in these environment variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers_env: BTreeMap<String, String>,
    /// Cookies to send.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cookies: BTreeMap<String, String>,
    /// How to log in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Login>,
    /// It lists objects: where they are, and how good the mirrored list must be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<Collection>,
}

/// A list of one may be written without brackets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany {
    /// `"main"`
    One(String),
    /// `["main", "aside"]`
    Many(Vec<String>),
}

impl OneOrMany {
    fn list(written: Option<&Self>) -> Vec<String> {
        match written {
            None => Vec::new(),
            Some(Self::One(text)) => vec![text.clone()],
            Some(Self::Many(list)) => list.clone(),
        }
    }
}

/// How to log in: user and password, or a token; each from the environment or a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// The user's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The environment variable with the password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_env: Option<String>,
    /// The file with the password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_file: Option<String>,
    /// The environment variable with the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bearer_env: Option<String>,
    /// The file with the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bearer_file: Option<String>,
}

/// A listing of objects, as written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collection {
    /// JSONPath of the items; a feed needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<String>,
    /// JSONPath of the key within an item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// JSONPath of the category within an item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// Sync it when its quality is foretold to fall to this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetText>,
}

/// A target for the quality of the copy, as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetText {
    /// Least precision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<f64>,
    /// Least recall.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recall: Option<f64>,
    /// With what chance it must hold; 0.9 unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
}

/// A target, checked: every one of these qualities, with this chance.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Which quality, and how much of it.
    pub qualities: Vec<(Metric, f64)>,
    /// With what chance.
    pub confidence: f64,
}

impl TargetText {
    fn check(self) -> Result<Target, Flaw> {
        let inside = |x: f64| x > 0.0 && x < 1.0;
        let qualities: Vec<(Metric, f64)> =
            [(Metric::Precision, self.precision), (Metric::Recall, self.recall)]
                .into_iter()
                .filter_map(|(metric, least)| Some((metric, least?)))
                .collect();
        let confidence = self.confidence.unwrap_or(0.9);
        if qualities.is_empty() {
            return Err(flaw(
                "collection.target",
                "give `precision` or `recall`, such as `{ recall = 0.9 }`",
            ));
        }
        if !inside(confidence) || qualities.iter().any(|&(_, least)| !inside(least)) {
            return Err(flaw(
                "collection.target",
                "precision, recall and confidence lie between 0 and 1",
            ));
        }
        Ok(Target { qualities, confidence })
    }
}

impl Collection {
    fn without_target(&self) -> Self {
        Self { target: None, ..self.clone() }
    }

    fn check(&self) -> Result<Objects, Vec<Flaw>> {
        let text = ItemsText {
            items: self.items.clone(),
            key: self.key.clone(),
            category: self.category.clone(),
        };
        let items = Items::new(&text).map_err(|mistakes| {
            let wrong = |mistake: &detect::Mistake| {
                flaw(
                    &format!("collection.{}", mistake.key),
                    format!("`{}` {}", mistake.value, mistake.reason),
                )
            };
            mistakes.iter().map(wrong).collect::<Vec<Flaw>>()
        })?;
        let target = self.target.map(TargetText::check).transpose().map_err(|flaw| vec![flaw])?;
        Ok(Objects { items, target })
    }
}

/// How to read a collection, and how good its copy must be.
#[derive(Clone, Debug)]
pub struct Objects {
    /// Where the objects are.
    pub items: Items,
    /// How good the copy must be.
    pub target: Option<Target>,
}

/// Every key a source may have, to name them when one is misspelt.
pub const KEYS: [&str; 16] = [
    "url",
    "site",
    "tags",
    "importance",
    "select",
    "exclude",
    "ignore",
    "trigger",
    "every",
    "urgency",
    "life",
    "headers",
    "headers_env",
    "cookies",
    "auth",
    "collection",
];

/// A source ready to be asked and read.
pub struct Watch {
    /// What of it matters.
    pub rule: Rule,
    /// A fixed interval.
    pub every: Option<Span>,
    /// What a change of it is worth.
    pub worth: Worth,
    /// The objects it lists, if it is a collection.
    pub objects: Option<Objects>,
    headers: Vec<(String, Secret)>,
    auth: Option<Auth>,
}

/// A mistake in a source: the key and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Which key.
    pub key: String,
    /// What is wrong and what to do.
    pub why: String,
}

fn flaw(key: &str, why: impl Into<String>) -> Flaw {
    Flaw { key: key.to_owned(), why: why.into() }
}

impl Wanted {
    /// Only an address.
    pub fn address(url: &str) -> Self {
        Self { url: url.to_owned(), ..Self::default() }
    }

    /// The address and who answers for it; or what is wrong with it.
    pub fn place(&self) -> Result<(Url, Host), Flaw> {
        let url: Url = self.url.parse().map_err(|why| {
            flaw(
                "url",
                format!(
                    "`{}` is no address ({why}); write it as `https://example.org/path`",
                    self.url
                ),
            )
        })?;
        let host = Host::try_from(&url).map_err(|why| flaw("url", why.to_string()))?;
        Ok((url, host))
    }

    /// The name of its site.
    pub fn site(&self, host: &Host) -> String {
        self.site.clone().unwrap_or_else(|| host.name().to_owned())
    }

    /// Everything wrong with it.
    pub fn flaws(&self) -> Vec<Flaw> {
        let mut flaws: Vec<Flaw> = self.place().err().into_iter().collect();
        let weight = self.importance.unwrap_or(1.0);
        if !(weight > 0.0 && weight <= 1e6) {
            flaws.push(flaw(
                "importance",
                format!("`{weight}` must be above 0 and at most 1000000"),
            ));
        }
        flaws.extend(self.spec.watch().err().unwrap_or_default());
        flaws
    }
}

impl Spec {
    /// As the store keeps it.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a spec is plain text and maps of text")
    }

    /// As the store kept it.
    pub fn from_text(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The same is read of it: it may differ in when it is looked at, in what a change is worth and in what is told of it.
    pub fn reads_like(&self, other: &Self) -> bool {
        let read = |spec: &Self| Self {
            trigger: None,
            every: None,
            urgency: None,
            life: None,
            collection: spec.collection.as_ref().map(Collection::without_target),
            ..spec.clone()
        };
        read(self) == read(other)
    }

    /// The same objects are listed, under the same names.
    pub fn lists_like(&self, other: &Self) -> bool {
        let listed = |spec: &Self| spec.collection.as_ref().map(Collection::without_target);
        listed(self) == listed(other)
    }

    /// Checked, with its secrets.
    pub fn watch(&self) -> Result<Watch, Vec<Flaw>> {
        let mut flaws = Vec::new();
        let rule = Rule::new(&RuleText {
            select: OneOrMany::list(self.select.as_ref()),
            exclude: OneOrMany::list(self.exclude.as_ref()),
            ignore: OneOrMany::list(self.ignore.as_ref()),
            trigger: self.trigger.clone(),
        });
        let rule = rule.map_err(|mistakes| {
            let wrong = |mistake: &detect::Mistake| {
                flaw(&mistake.key, format!("`{}`: {}", mistake.value, mistake.reason))
            };
            flaws.extend(mistakes.iter().map(wrong));
        });
        let every = self.every.as_deref().map(str::parse::<Span>).transpose();
        let every = match every {
            Ok(Some(span)) if span < Span::from_secs(1) => {
                flaws.push(flaw("every", format!("`{span}` is too often; at least `1s`")));
                None
            }
            Ok(every) => every,
            Err(why) => {
                flaws.push(flaw("every", why.to_string()));
                None
            }
        };
        let worth = self.worth().map_err(|why| flaws.push(why)).unwrap_or_default();
        let mut keep = |result: Result<_, Flaw>| result.map_err(|why| flaws.push(why)).ok();
        let headers: Vec<(String, Secret)> =
            self.lines().into_iter().filter_map(&mut keep).collect();
        let auth = match &self.auth {
            None => None,
            Some(login) => match login.auth() {
                Ok(auth) => Some(auth),
                Err(why) => {
                    flaws.push(why);
                    None
                }
            },
        };
        let objects = match self.collection.as_ref().map(Collection::check).transpose() {
            Ok(objects) => objects,
            Err(wrong) => {
                flaws.extend(wrong);
                None
            }
        };
        if every.is_some() && objects.as_ref().is_some_and(|objects| objects.target.is_some()) {
            flaws.push(flaw(
                "every",
                "give `every` or a `target`, not both: each says when to look",
            ));
        }
        flaws.extend(bad_headers(&headers));
        match rule {
            Ok(rule) if flaws.is_empty() => {
                Ok(Watch { rule, every, worth, objects, headers, auth })
            }
            _ => Err(flaws),
        }
    }

    /// What a change of it is worth.
    pub fn worth(&self) -> Result<Worth, Flaw> {
        let urgency = self.urgency.as_deref().map_or(Ok(Urgency::default()), str::parse);
        let life = self.life.as_deref().map_or(Ok(Life::default()), str::parse);
        let said = |key: &str, why: Mistake| flaw(key, why.to_string());
        Ok(Worth {
            urgency: urgency.map_err(|why| said("urgency", why))?,
            life: life.map_err(|why| said("life", why))?,
        })
    }

    /// With these words on urgency and life where it has none of its own.
    pub fn fill(&mut self, urgency: Option<&String>, life: Option<&String>) {
        self.urgency = self.urgency.take().or(urgency.cloned());
        self.life = self.life.take().or(life.cloned());
    }

    /// All header lines, cookies last.
    fn lines(&self) -> Vec<Result<(String, Secret), Flaw>> {
        let plain = self.headers.iter().map(|(name, value)| Ok((name.clone(), Secret::new(value))));
        let hidden = self.headers_env.iter().map(|(name, variable)| {
            let value = from_env(&format!("headers_env.{name}"), variable)?;
            Ok((name.clone(), value))
        });
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let cookie = (!cookies.is_empty())
            .then(|| Ok(("Cookie".to_owned(), Secret::new(cookies.join("; ")))));
        plain.chain(hidden).chain(cookie).collect()
    }
}

/// Header lines that HTTP could not carry.
fn bad_headers(headers: &[(String, Secret)]) -> Vec<Flaw> {
    let any: Url = "http://example.org/".parse().expect("a fixed address");
    let Ok(request) = Request::new(any) else { return Vec::new() };
    let bad = |(name, value): &(String, Secret)| {
        request.clone().with_header(name, value).err().map(|why| flaw("headers", why.to_string()))
    };
    headers.iter().filter_map(bad).collect()
}

impl Login {
    fn auth(&self) -> Result<Auth, Flaw> {
        let secret = |key: &str, env: &Option<String>, file: &Option<String>| match (env, file) {
            (Some(variable), None) => from_env(&format!("auth.{key}_env"), variable).map(Some),
            (None, Some(path)) => from_file(&format!("auth.{key}_file"), path).map(Some),
            (None, None) => Ok(None),
            (Some(_), Some(_)) => {
                Err(flaw("auth", format!("give `{key}_env` or `{key}_file`, not both")))
            }
        };
        let password = secret("password", &self.password_env, &self.password_file)?;
        let bearer = secret("bearer", &self.bearer_env, &self.bearer_file)?;
        match (&self.user, password, bearer) {
            (Some(user), Some(password), None) => Ok(Auth::Basic { user: user.clone(), password }),
            (None, None, Some(token)) => Ok(Auth::Bearer(token)),
            _ => Err(flaw(
                "auth",
                "give `user` with `password_env` or `password_file`, or `bearer_env` or `bearer_file`",
            )),
        }
    }
}

/// A secret from the environment.
pub fn from_env(key: &str, variable: &str) -> Result<Secret, Flaw> {
    std::env::var(variable)
        .map(Secret::new)
        .map_err(|_| flaw(key, format!("the environment variable `{variable}` is not set")))
}

/// A secret from a file, without the line's end.
pub fn from_file(key: &str, path: &str) -> Result<Secret, Flaw> {
    fs::read_to_string(path)
        .map(|text| Secret::new(text.trim_end_matches(['\r', '\n'])))
        .map_err(|why| flaw(key, format!("the file `{path}` cannot be read: {why}")))
}

impl Watch {
    /// The request for a look at `url`; `known` are validators and the address that gave them.
    pub fn request(&self, url: &Url, known: Option<(Validators, Url)>) -> Option<Request> {
        let mut request = Request::new(url.clone()).ok()?;
        if let Some(auth) = &self.auth {
            request = request.with_auth(auth.clone());
        }
        for (name, value) in &self.headers {
            request = request.with_header(name, value).ok()?;
        }
        Some(match known {
            Some((validators, from)) => request.with_validators(validators, from),
            None => request,
        })
    }
}
