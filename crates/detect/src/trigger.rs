//! When a change is worth an event: a text appears or goes, or a number crosses a bound.
//!
//! A trigger fires on the crossing, not on the level: only if what it waits for was not so before. It governs
//! events, never verdicts: the change rate is learned from every change.

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::rule::Mistake;
use crate::{number, pattern};

/// A trigger as written. Where several keys are set, each alone suffices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TriggerText {
    /// A text that was not there before, in upper or lower case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub appears: Option<String>,
    /// A text that was there before, in upper or lower case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disappears: Option<String>,
    /// A regular expression whose one group finds a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<String>,
    /// The number rises above this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub above: Option<f64>,
    /// The number falls below this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below: Option<f64>,
}

/// A trigger that is known to make sense.
#[derive(Clone, Debug)]
pub struct Trigger {
    appears: Option<String>,
    disappears: Option<String>,
    crossing: Option<Crossing>,
}

#[derive(Clone, Debug)]
struct Crossing {
    number: Regex,
    above: Option<f64>,
    below: Option<f64>,
}

impl Trigger {
    /// Checks what was written; says all that is wrong with it.
    pub fn new(text: &TriggerText) -> Result<Self, Vec<Mistake>> {
        let mut mistakes = Vec::new();
        let trigger = Self {
            appears: word("trigger.appears", text.appears.as_deref(), &mut mistakes),
            disappears: word("trigger.disappears", text.disappears.as_deref(), &mut mistakes),
            crossing: crossing(text, &mut mistakes),
        };
        if *text == TriggerText::default() {
            let reason = "it would never fire; set `appears`, `disappears` or `number`";
            mistakes.push(Mistake::new("trigger", "{}", reason));
        }
        if mistakes.is_empty() { Ok(trigger) } else { Err(mistakes) }
    }

    /// Whether the step from one canonical text to the next is worth an event. Before the first there was
    /// nothing.
    pub fn fires(&self, before: Option<&str>, after: &str) -> bool {
        let before = before.unwrap_or_default();
        let came = |word: &String| contains(after, word) && !contains(before, word);
        let went = |word: &String| contains(before, word) && !contains(after, word);
        self.appears.as_ref().is_some_and(came)
            || self.disappears.as_ref().is_some_and(went)
            || self.crossing.as_ref().is_some_and(|crossing| crossing.fires(before, after))
    }
}

impl Crossing {
    fn fires(&self, before: &str, after: &str) -> bool {
        let Some(now) = self.read(after) else {
            return false;
        };
        let then = self.read(before);
        let rose = |bound| now > bound && then.is_none_or(|then| then <= bound);
        let fell = |bound| now < bound && then.is_none_or(|then| then >= bound);
        self.above.is_some_and(rose) || self.below.is_some_and(fell)
    }

    /// The first number that the expression finds.
    fn read(&self, text: &str) -> Option<f64> {
        self.number.captures_iter(text).find_map(|found| number::parse(found.get(1)?.as_str()))
    }
}

fn contains(text: &str, lower_case_word: &str) -> bool {
    text.to_lowercase().contains(lower_case_word)
}

fn word(key: &str, written: Option<&str>, mistakes: &mut Vec<Mistake>) -> Option<String> {
    let written = written?;
    if written.trim().is_empty() {
        mistakes.push(Mistake::new(key, written, "it is in every text; write what to wait for"));
    }
    Some(written.to_lowercase())
}

fn crossing(text: &TriggerText, mistakes: &mut Vec<Mistake>) -> Option<Crossing> {
    let bounds = [("trigger.above", text.above), ("trigger.below", text.below)];
    for (key, bound) in bounds {
        let Some(bound) = bound else { continue };
        if !bound.is_finite() {
            mistakes.push(Mistake::new(key, bound, "not a bound; write a number such as 9.99"));
        }
        if text.number.is_none() {
            mistakes.push(Mistake::new(
                key,
                bound,
                "`number` must say which number, e.g. `€ ([0-9.,]+)`",
            ));
        }
    }
    let written = text.number.as_deref()?;
    if text.above.is_none() && text.below.is_none() {
        mistakes.push(Mistake::new(
            "trigger.number",
            written,
            "set `above` or `below` as its bound",
        ));
    }
    match one_group(written) {
        Ok(number) => Some(Crossing { number, above: text.above, below: text.below }),
        Err(reason) => {
            mistakes.push(Mistake::new("trigger.number", written, reason));
            None
        }
    }
}

fn one_group(written: &str) -> Result<Regex, String> {
    let number = pattern::compile(written)?;
    match number.captures_len() - 1 {
        1 => Ok(number),
        groups => Err(format!("it has {groups} groups; put `(` and `)` around the number alone")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trigger(toml: serde_json::Value) -> Trigger {
        Trigger::new(&serde_json::from_value(toml).unwrap()).unwrap()
    }

    #[test]
    fn a_text_appears_once() {
        let trigger = trigger(serde_json::json!({"appears": "in stock"}));
        assert!(trigger.fires(Some("sold out"), "now In Stock"));
        assert!(!trigger.fires(Some("in stock: 3"), "in stock: 2"));
        assert!(!trigger.fires(Some("in stock"), "sold out"));
        assert!(trigger.fires(None, "in stock"));
    }

    #[test]
    fn a_text_goes_only_if_it_was_there() {
        let trigger = trigger(serde_json::json!({"disappears": "Sold out"}));
        assert!(trigger.fires(Some("SOLD OUT"), "buy"));
        assert!(!trigger.fires(Some("buy"), "buy now"));
        assert!(!trigger.fires(None, "buy"));
    }

    #[test]
    fn a_number_fires_when_it_crosses_and_not_while_it_stays() {
        let trigger =
            trigger(serde_json::json!({"number": "€ ([0-9.,]+)", "above": 1000, "below": 5}));
        assert!(trigger.fires(Some("€ 999.99"), "€ 1,000.01"));
        assert!(!trigger.fires(Some("€ 1,200"), "€ 1,300"));
        assert!(!trigger.fires(Some("€ 5"), "€ 1,000"));
        assert!(trigger.fires(Some("€ 5"), "€ 4,99"));
        assert!(!trigger.fires(Some("€ 4"), "€ 3"));
        assert!(!trigger.fires(Some("€ 6"), "on request"));
        assert!(trigger.fires(Some("on request"), "€ 3"));
    }

    #[test]
    fn all_mistakes_are_told_at_once() {
        let text = TriggerText {
            appears: Some(" ".to_owned()),
            number: Some("[0-9]+".to_owned()),
            ..TriggerText::default()
        };
        let told: Vec<String> =
            Trigger::new(&text).unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(
            told[0].contains("trigger.appears")
                && told[1].contains("`above`")
                && told[2].contains("0 groups")
        );
        assert!(Trigger::new(&TriggerText::default()).is_err());
        let bound = TriggerText { above: Some(f64::NAN), ..TriggerText::default() };
        assert_eq!(Trigger::new(&bound).unwrap_err().len(), 2);
    }
}
