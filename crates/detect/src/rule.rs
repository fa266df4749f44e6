//! What of a source matters: as a person wrote it, and as it was checked.

use std::fmt;

use regex::Regex;
use serde::{Deserialize, Deserializer, Serialize};

use crate::css::Css;
use crate::trigger::{Trigger, TriggerText};
use crate::{Kind, Unreadable, pattern};

/// More selectors or expressions than this are not a rule but a program.
const MOST: usize = 64;

/// A rule as written. Everything may be left out; a list of one may be written without brackets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RuleText {
    /// CSS of the elements to watch, all of them; the whole document if left out. For HTML and XML.
    #[serde(deserialize_with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    pub select: Vec<String>,
    /// CSS of elements to leave out. For HTML and XML.
    #[serde(deserialize_with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Regular expressions; what they match in the text does not count, nor do empty lines then.
    #[serde(deserialize_with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// When a change is worth an event; always if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<TriggerText>,
}

/// A rule that is known to make sense. The default watches everything.
#[derive(Clone, Debug, Default)]
pub struct Rule {
    select: Vec<Css>,
    exclude: Vec<Css>,
    ignore: Vec<Regex>,
    trigger: Option<Trigger>,
}

/// Something in a rule that cannot be taken, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` is `{value}`: {reason}")]
pub struct Mistake {
    /// Which key, e.g. `trigger.above`.
    pub key: String,
    /// What it was set to.
    pub value: String,
    /// Why not, and what instead.
    pub reason: String,
}

impl Mistake {
    pub(crate) fn new(key: &str, value: impl fmt::Display, reason: impl Into<String>) -> Self {
        Self { key: key.to_owned(), value: value.to_string(), reason: reason.into() }
    }
}

impl Rule {
    /// Checks what was written; says all that is wrong with it.
    pub fn new(text: &RuleText) -> Result<Self, Vec<Mistake>> {
        let mut mistakes = Vec::new();
        let rule = Self {
            select: each("select", &text.select, Css::new, &mut mistakes),
            exclude: each("exclude", &text.exclude, Css::new, &mut mistakes),
            ignore: each("ignore", &text.ignore, pattern::compile, &mut mistakes),
            trigger: text.trigger.as_ref().and_then(|trigger| {
                Trigger::new(trigger).map_err(|wrong| mistakes.extend(wrong)).ok()
            }),
        };
        if mistakes.is_empty() { Ok(rule) } else { Err(mistakes) }
    }

    /// When a change is worth an event; `None` means always.
    pub fn trigger(&self) -> Option<&Trigger> {
        self.trigger.as_ref()
    }

    pub(crate) fn select(&self) -> &[Css] {
        &self.select
    }

    pub(crate) fn exclude(&self) -> &[Css] {
        &self.exclude
    }

    pub(crate) fn ignore(&self) -> &[Regex] {
        &self.ignore
    }

    /// CSS chooses elements, and this kind of body has none.
    pub(crate) fn needs_no_elements(&self, kind: Kind) -> Result<(), Unreadable> {
        let refuse = |key| Err(Unreadable::NotCss { key, kind });
        if !self.select.is_empty() {
            refuse("select")
        } else if !self.exclude.is_empty() {
            refuse("exclude")
        } else {
            Ok(())
        }
    }
}

fn each<T>(
    key: &str,
    written: &[String],
    check: impl Fn(&str) -> Result<T, String>,
    mistakes: &mut Vec<Mistake>,
) -> Vec<T> {
    if written.len() > MOST {
        let reason = format!("at most {MOST} are taken; join some");
        mistakes.push(Mistake::new(key, format!("{} entries", written.len()), reason));
        return Vec::new();
    }
    let mut checked = Vec::new();
    for one in written {
        match check(one) {
            Ok(one) => checked.push(one),
            Err(reason) => mistakes.push(Mistake::new(key, one, reason)),
        }
    }
    checked
}

fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a text or a list of texts")]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(one) => vec![one],
        OneOrMany::Many(many) => many,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(json: &str) -> Result<RuleText, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn one_or_many_and_nothing_are_all_fine() {
        let text = written(r#"{"select": "main", "exclude": [".ad", "time"]}"#).unwrap();
        assert_eq!(text.select, ["main"]);
        assert_eq!(text.exclude, [".ad", "time"]);
        assert!(Rule::new(&text).is_ok());
        assert_eq!(written("{}").unwrap(), RuleText::default());
        let again = serde_json::to_string(&text).unwrap();
        assert_eq!(written(&again).unwrap(), text);
    }

    #[test]
    fn unknown_keys_and_wrong_types_are_refused() {
        assert!(written(r#"{"selct": "main"}"#).unwrap_err().to_string().contains("selct"));
        assert!(written(r#"{"select": 1}"#).unwrap_err().to_string().contains("list of texts"));
        assert!(written(r#"{"trigger": {"apears": "x"}}"#).is_err());
    }

    #[test]
    fn all_mistakes_are_told_with_key_value_and_reason() {
        let text = written(r#"{"select": ["a", "b["], "ignore": "(x", "trigger": {"above": 3}}"#);
        let told: Vec<String> =
            Rule::new(&text.unwrap()).unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[0].starts_with("`select` is `b[`: not a CSS selector"));
        assert!(told[1].starts_with("`ignore` is `(x`: not a regular expression"));
        assert!(told[2].starts_with("`trigger.above` is `3`: `number` must say"));
    }

    #[test]
    fn a_rule_is_not_a_program() {
        let text = RuleText { ignore: vec!["a".to_owned(); 65], ..RuleText::default() };
        assert!(Rule::new(&text).unwrap_err()[0].reason.contains("64"));
    }
}
