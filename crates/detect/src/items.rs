//! The objects a collection lists: keys, categories and versions out of a JSON array or a feed.
//!
//! ```text
//! JSON     items = "$.jobs[*]", key = "$.id", category = "$.team"      RFC 9535, the latter two within each item
//! feed     every item or entry; key is its guid or id, else its link; category its first category
//! ```
//!
//! A version is a hash of the whole item, so that an update of an object can be told from the object itself. Items
//! without a key are counted, not guessed at. Same bytes, same items; work is bounded by the reader's limits.

use std::collections::HashMap;

use ego_tree::NodeRef;
use scraper::Node;
use serde_json::Value;
use serde_json_path::JsonPath;

use crate::{Kind, Limits, Mistake, Unreadable, charset, json, xml};

/// One object as a look shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// What it is known by.
    pub key: String,
    /// Its category; empty if it has none.
    pub category: String,
    /// Changes when its content does.
    pub version: u64,
}

/// Where the objects are, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemsText {
    /// JSONPath of the items; of a feed nothing.
    pub items: Option<String>,
    /// JSONPath of the key within an item.
    pub key: Option<String>,
    /// JSONPath of the category within an item.
    pub category: Option<String>,
}

/// Where the objects are, understood.
#[derive(Clone, Debug)]
pub struct Items {
    place: Option<JsonPath>,
    key: Option<JsonPath>,
    category: Option<JsonPath>,
}

/// Why no objects were found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoItems {
    /// The body could not be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// Neither JSON nor a feed.
    #[error("it is neither JSON nor a feed, so it lists no objects")]
    NotAListing,
    /// JSON, and nobody said where.
    #[error(
        "it is JSON: say where the objects are, such as `items = \"$.jobs[*]\"` and `key = \"$.id\"`"
    )]
    NoPath,
    /// Objects without a key.
    #[error("none of {0} items has anything at `key`; name a member that they have")]
    NoKey(usize),
    /// More than are remembered.
    #[error("it lists {found} objects, more than {most}; narrow `items`")]
    TooMany {
        /// How many.
        found: usize,
        /// How many may be.
        most: usize,
    },
}

impl Items {
    /// Understands what was written; or everything wrong with it.
    pub fn new(text: &ItemsText) -> Result<Self, Vec<Mistake>> {
        let mut mistakes = Vec::new();
        let mut path = |key: &'static str, text: &Option<String>| {
            let text = text.as_ref()?;
            JsonPath::parse(text)
                .map_err(|why| {
                    mistakes.push(Mistake {
                        key: key.to_owned(),
                        value: text.clone(),
                        reason: format!("is no JSONPath ({why}); write it as `$.jobs[*]`"),
                    });
                })
                .ok()
        };
        let (place, key, category) =
            (path("items", &text.items), path("key", &text.key), path("category", &text.category));
        if mistakes.is_empty() { Ok(Self { place, key, category }) } else { Err(mistakes) }
    }

    /// The objects of a body, each key once (the last one counts).
    pub fn read(
        &self,
        body: &[u8],
        content_type: Option<&str>,
        limits: &Limits,
    ) -> Result<Vec<Listed>, NoItems> {
        if body.len() > limits.bytes {
            return Err(Unreadable::TooLarge { limit: limits.bytes }.into());
        }
        let kind = Kind::of(content_type, body);
        let written = charset::decode(body, content_type, kind);
        let listed = match kind {
            Kind::Xml => xml::entries(&written, limits)?.ok_or(NoItems::NotAListing)?,
            _ => self.of_json(&written, limits)?,
        };
        if listed.len() > limits.items {
            return Err(NoItems::TooMany { found: listed.len(), most: limits.items });
        }
        let mut places: HashMap<String, usize> = HashMap::with_capacity(listed.len());
        let mut unique: Vec<Listed> = Vec::with_capacity(listed.len());
        for item in listed {
            let at = *places.entry(item.key.clone()).or_insert(unique.len());
            match unique.get_mut(at) {
                Some(before) => *before = item,
                None => unique.push(item),
            }
        }
        Ok(unique)
    }

    fn of_json(&self, text: &str, limits: &Limits) -> Result<Vec<Listed>, NoItems> {
        let value = json::parse(text, limits)?.ok_or(NoItems::NotAListing)?;
        let items: Vec<&Value> = match (&self.place, &value) {
            (Some(path), _) => path.query(&value).all(),
            (None, Value::Array(items)) => items.iter().collect(),
            (None, _) => return Err(NoItems::NoPath),
        };
        let word = |path: Option<&JsonPath>, item: &Value| match path?.query(item).first()? {
            Value::Null | Value::Array(_) | Value::Object(_) => None,
            Value::String(word) => Some(word.clone()),
            other => Some(other.to_string()),
        };
        let mut listed = Vec::with_capacity(items.len());
        for item in &items {
            // without `key` an item is known by itself: names and numbers in an array
            let key = if self.key.is_some() {
                word(self.key.as_ref(), item)
            } else {
                Some(item.to_string())
            };
            let Some(key) = key else { continue };
            let category = word(self.category.as_ref(), item).unwrap_or_default();
            let version = version(item.to_string().as_bytes());
            listed.push(Listed { key: short(key), category: short(category), version });
        }
        if listed.is_empty() && !items.is_empty() {
            return Err(NoItems::NoKey(items.len()));
        }
        Ok(listed)
    }
}

/// Bytes of a name that is kept as it is.
const LONGEST: usize = 1_024;

/// A name, or a hash of one so long that it names nothing to anybody.
fn short(name: String) -> String {
    if name.len() <= LONGEST { name } else { blake3::hash(name.as_bytes()).to_hex().to_string() }
}

/// A hash of what an item says.
fn version(bytes: &[u8]) -> u64 {
    let hash = blake3::hash(bytes);
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_le_bytes(first)
}

/// An entry of a feed; `None` if nothing names it.
pub(crate) fn of_entry(entry: NodeRef<'_, Node>) -> Option<Listed> {
    let named = |name: &str| entry.children().find(|child| xml::name_of(*child) == Some(name));
    let text = |node: NodeRef<'_, Node>| {
        let text: String = node
            .descendants()
            .filter_map(|node| node.value().as_text().map(|text| text.to_string()))
            .collect();
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let attribute = |node: NodeRef<'_, Node>, name: &str| {
        node.value().as_element().and_then(|element| element.attr(name)).map(str::to_owned)
    };
    let key = ["guid", "id"].into_iter().find_map(|name| text(named(name)?));
    let link = || named("link").and_then(|link| text(link).or_else(|| attribute(link, "href")));
    let category = named("category")
        .and_then(|category| text(category).or_else(|| attribute(category, "term")));
    let all: String = entry
        .descendants()
        .map(|node| match node.value() {
            Node::Text(text) => text.to_string(),
            Node::Element(element) => element.name().to_owned(),
            _ => String::new(),
        })
        .collect();
    Some(Listed {
        key: short(key.or_else(link)?),
        category: short(category.unwrap_or_default()),
        version: version(all.as_bytes()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(items: Option<&str>, key: Option<&str>, category: Option<&str>) -> Items {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Items::new(&ItemsText { items: owned(items), key: owned(key), category: owned(category) })
            .unwrap()
    }

    fn read(
        rule: &Items,
        body: &str,
        content_type: &str,
    ) -> Result<Vec<(String, String)>, NoItems> {
        let listed = rule.read(body.as_bytes(), Some(content_type), &Limits::default())?;
        Ok(listed.into_iter().map(|item| (item.key, item.category)).collect())
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, category)| ((*key).to_owned(), (*category).to_owned())).collect()
    }

    #[test]
    fn objects_of_a_json_array() {
        let rule = items(Some("$.jobs[*]"), Some("$.id"), Some("$.team"));
        let body = r#"{"jobs":[{"id":7,"team":"sea"},{"id":"x","pay":1},{"id":7,"team":"land"}]}"#;
        let found = read(&rule, body, "application/json").unwrap();
        assert_eq!(found, pairs(&[("7", "land"), ("x", "")]));
        let version = |body: &str| {
            rule.read(body.as_bytes(), Some("application/json"), &Limits::default()).unwrap()[0]
                .version
        };
        assert_ne!(
            version(r#"{"jobs":[{"id":1,"pay":1}]}"#),
            version(r#"{"jobs":[{"id":1,"pay":2}]}"#)
        );
        // a bare array of names needs nothing said
        let found = read(&items(None, None, None), r#"["a","b"]"#, "application/json").unwrap();
        assert_eq!(found, pairs(&[("\"a\"", ""), ("\"b\"", "")]));
    }

    #[test]
    fn entries_of_feeds() {
        let rule = items(None, None, None);
        let rss = "<rss><channel><title>t</title><item><guid>g1</guid><category>c</category></item>\
                   <item><link>http://x/2</link></item><item><title>nameless</title></item></channel></rss>";
        assert_eq!(
            read(&rule, rss, "application/rss+xml").unwrap(),
            pairs(&[("g1", "c"), ("http://x/2", "")])
        );
        let atom = "<feed><id>f</id><entry><id>e1</id><category term=\"c\"/></entry></feed>";
        assert_eq!(read(&rule, atom, "application/atom+xml").unwrap(), pairs(&[("e1", "c")]));
    }

    #[test]
    fn what_lists_nothing_says_so() {
        let rule = items(Some("$.jobs[*]"), Some("$.id"), None);
        let refused = |body: &str, kind: &str| read(&rule, body, kind).unwrap_err();
        assert_eq!(
            refused(r#"{"jobs":[{"name":"no id"},{"name":"nor this"}]}"#, "application/json"),
            NoItems::NoKey(2)
        );
        // one without a key is left out, as in feeds
        let some = read(&rule, r#"{"jobs":[{"id":1},{"name":"no id"}]}"#, "application/json");
        assert_eq!(some.unwrap(), pairs(&[("1", "")]));
        assert_eq!(refused("<p>hello</p>", "text/html"), NoItems::NotAListing);
        assert_eq!(refused("<root><a/></root>", "application/xml"), NoItems::NotAListing);
        assert_eq!(read(&items(None, None, None), "{}", "application/json"), Err(NoItems::NoPath));
        // an empty listing is a listing
        assert_eq!(read(&rule, r#"{"jobs":[]}"#, "application/json"), Ok(Vec::new()));
        let wrong =
            Items::new(&ItemsText { items: Some("jobs".to_owned()), ..ItemsText::default() });
        assert_eq!(wrong.unwrap_err()[0].key, "items");
    }

    /// Entries within entries, a name of megabytes, more objects than are kept: bounded and named.
    #[test]
    fn hostile_listings_are_bounded() {
        let rule = items(None, None, None);
        let nested = format!(
            "<rss><channel>{}{}{}</channel></rss>",
            "<item><guid>x".repeat(200),
            "y".repeat(1 << 20),
            "</guid></item>".repeat(200)
        );
        let found = read(&rule, &nested, "application/rss+xml").unwrap();
        assert_eq!(found.len(), 1);
        assert!(found[0].0.len() <= LONGEST);
        let limits = Limits { items: 3, ..Limits::default() };
        let many = rule.read(b"[1,2,3,4]", Some("application/json"), &limits);
        assert_eq!(many, Err(NoItems::TooMany { found: 4, most: 3 }));
    }
}
