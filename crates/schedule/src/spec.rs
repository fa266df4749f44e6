//! The one grammar for things with parameters: `adaptive(k=5, confidence=0.9)`.
//!
//! Policies, worlds and their parts are written as a name with settings in brackets; a setting's value
//! may itself be such a call (`subset(with=greedy(samples=5), share=0.18)`). Parsing stops at the first
//! mistake and says what would have been understood. No paper.

use std::fmt;
use std::str::FromStr;

/// Something a person wrote that we could not take, with the remedy. Reads as a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Mistake(pub String);

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A name with settings, not yet understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// What is called.
    pub name: String,
    settings: Vec<(String, String)>,
}

impl FromStr for Call {
    type Err = Mistake;

    fn from_str(text: &str) -> Result<Self, Mistake> {
        let text = text.trim();
        let Some(open) = text.find('(') else {
            return Self::named(text, text);
        };
        let inner = text[open + 1..].strip_suffix(')').ok_or_else(|| {
            Mistake(format!("`{text}` opens a bracket that is not closed at its end"))
        })?;
        let mut call = Self::named(&text[..open], text)?;
        for setting in split(inner)? {
            let (key, value) = setting.split_once('=').ok_or_else(|| {
                Mistake(format!("`{setting}` in `{text}` needs the form `key=value`"))
            })?;
            let key = key.trim().to_owned();
            if call.settings.iter().any(|(known, _)| *known == key) {
                return Err(Mistake(format!("`{key}` is set twice in `{text}`")));
            }
            call.settings.push((key, value.trim().to_owned()));
        }
        Ok(call)
    }
}

impl Call {
    fn named(name: &str, whole: &str) -> Result<Self, Mistake> {
        let name = name.trim();
        let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '+' || c == '_';
        if name.is_empty() || !name.chars().all(fine) {
            return Err(Mistake(format!("`{whole}` does not start with a name")));
        }
        Ok(Self { name: name.to_owned(), settings: Vec::new() })
    }

    /// The value of `key`, or `default` when it was not set. The key is used up.
    pub fn take<T: FromStr>(&mut self, key: &str, default: T) -> Result<T, Mistake> {
        let Some(at) = self.settings.iter().position(|(known, _)| known == key) else {
            return Ok(default);
        };
        let (_, value) = self.settings.remove(at);
        value
            .parse()
            .map_err(|_| Mistake(format!("`{key}={value}` of `{}` cannot be read", self.name)))
    }

    /// Like [`Call::take`], for a number that must lie within `range`.
    pub fn number(
        &mut self,
        key: &str,
        default: f64,
        range: std::ops::RangeInclusive<f64>,
    ) -> Result<f64, Mistake> {
        let value: f64 = self.take(key, default)?;
        if range.contains(&value) {
            return Ok(value);
        }
        let (low, high) = (range.start(), range.end());
        Err(Mistake(format!(
            "`{key}={value}` of `{}` must lie between {low} and {high}",
            self.name
        )))
    }

    /// Complains about settings nobody took.
    pub fn finish(self, known: &str) -> Result<(), Mistake> {
        match self.settings.first() {
            None => Ok(()),
            Some((key, _)) if known.is_empty() => {
                Err(Mistake(format!("`{}` has no settings, so `{key}` cannot be set", self.name)))
            }
            Some((key, _)) => {
                Err(Mistake(format!("`{}` has no setting `{key}`; it has {known}", self.name)))
            }
        }
    }
}

/// Splits at commas that are not inside brackets: `a(x=1,y=2),b` → `a(x=1,y=2)` and `b`.
pub fn split(text: &str) -> Result<Vec<&str>, Mistake> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => {
                depth = depth.checked_sub(1).ok_or_else(|| {
                    Mistake(format!("`{text}` closes a bracket that was never opened"))
                })?;
            }
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(Mistake(format!("`{text}` opens a bracket that is not closed")));
    }
    parts.push(text[start..].trim());
    Ok(parts.into_iter().filter(|part| !part.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn settings_are_read_by_name_and_defaults_fill_the_rest() {
        let mut call: Call = "adaptive( k = 5, confidence=0.9)".parse().unwrap();
        assert_eq!(call.name, "adaptive");
        assert_eq!(call.take("k", 10u32), Ok(5));
        assert_eq!(call.take("missing", 3u32), Ok(3));
        assert!((call.number("confidence", 0.5, 0.0..=1.0).unwrap() - 0.9).abs() < 1e-12);
        assert_eq!(call.finish("`k`"), Ok(()));
    }

    #[test]
    fn brackets_nest() {
        let mut call: Call = "subset(with=greedy(samples=5,cost=0.1),share=0.2)".parse().unwrap();
        assert_eq!(call.take("with", String::new()).unwrap(), "greedy(samples=5,cost=0.1)");
        assert_eq!(split("a(x=1,y=2),b, ,c").unwrap(), ["a(x=1,y=2)", "b", "c"]);
    }

    #[test]
    fn mistakes_say_what_and_what_instead() {
        let say = |text: &str| text.parse::<Call>().unwrap_err().to_string();
        assert!(say("greedy(samples=5").contains("not closed"));
        assert!(say("greedy(samples)").contains("key=value"));
        assert!(say("greedy(a=1,a=2)").contains("twice"));
        assert!(say("(x=1)").contains("name"));
        let mut call: Call = "greedy(speed=9,samples=x)".parse().unwrap();
        assert!(call.take("samples", 1u32).unwrap_err().to_string().contains("`samples=x`"));
        assert!(call.finish("`samples`").unwrap_err().to_string().contains("no setting `speed`"));
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parser(text in "[a-z(),=0-9 ]{0,40}") {
            let _ = text.parse::<Call>();
            let _ = split(&text);
        }
    }
}
