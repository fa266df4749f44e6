//! JSON in one form: keys sorted, one value a line, no commas, so that a value that joins changes one line.
//!
//! Numbers are as `serde_json` reads them: `1e2` is `100.0`, and whole numbers beyond 64 bits lose digits.

use serde_json::Value;

use crate::reading::Canonical;
use crate::{Kind, Limits, Unreadable};

/// Where `serde_json` stops by itself.
const DEEPEST: usize = 127;

/// The canonical form; `None` if this is no JSON.
pub(crate) fn read(text: &str, limits: &Limits) -> Result<Option<Canonical>, Unreadable> {
    let Some(value) = parse(text, limits)? else { return Ok(None) };
    let mut lines = Lines { text: String::new(), limit: limits.text };
    lines.push(&value, 0, "")?;
    Ok(Some(Canonical { kind: Kind::Json, title: None, text: lines.text }))
}

/// The value; `None` if this is no JSON.
pub(crate) fn parse(text: &str, limits: &Limits) -> Result<Option<Value>, Unreadable> {
    let limit = limits.depth.min(DEEPEST);
    if depth(text) > limit {
        return Err(Unreadable::TooDeep { limit });
    }
    Ok(serde_json::from_str(text).ok())
}

/// The deepest nesting of brackets outside strings.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    let (mut quoted, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

struct Lines {
    text: String,
    limit: usize,
}

impl Lines {
    /// Recursive, but no deeper than `DEEPEST`.
    fn push(&mut self, value: &Value, depth: usize, label: &str) -> Result<(), Unreadable> {
        match value {
            Value::Array(items) if !items.is_empty() => {
                self.line(depth, label, "[")?;
                for item in items {
                    self.push(item, depth + 1, "")?;
                }
                self.line(depth, "", "]")
            }
            Value::Object(members) if !members.is_empty() => {
                self.line(depth, label, "{")?;
                let mut members: Vec<_> = members.iter().collect();
                members.sort_unstable_by_key(|&(key, _)| key);
                for (key, value) in members {
                    let label = format!("{}: ", Value::from(key.as_str()));
                    self.push(value, depth + 1, &label)?;
                }
                self.line(depth, "", "}")
            }
            plain => self.line(depth, label, &plain.to_string()),
        }
    }

    fn line(&mut self, depth: usize, label: &str, value: &str) -> Result<(), Unreadable> {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        for _ in 0..depth {
            self.text.push_str("  ");
        }
        self.text.push_str(label);
        self.text.push_str(value);
        if self.text.len() > self.limit {
            return Err(Unreadable::TextTooLong { limit: self.limit });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> String {
        read(json, &Limits::default()).unwrap().unwrap().text
    }

    #[test]
    fn one_value_a_line_with_sorted_keys() {
        let json = r#"{"b":[1, 1e2,{"x":null}],"a":"q\"[","c":[],"d":{}}"#;
        let lines = [
            "{",
            r#"  "a": "q\"[""#,
            r#"  "b": ["#,
            "    1",
            "    100.0",
            "    {",
            r#"      "x": null"#,
            "    }",
            "  ]",
            r#"  "c": []"#,
            r#"  "d": {}"#,
            "}",
        ];
        assert_eq!(text(json), lines.join("\n"));
        assert_eq!(text("\"a\\nb\""), "\"a\\nb\"");
    }

    #[test]
    fn what_is_no_json_is_none() {
        assert!(read("{a:1}", &Limits::default()).unwrap().is_none());
        assert!(read("", &Limits::default()).unwrap().is_none());
    }

    #[test]
    fn nesting_and_length_are_bounded() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(read(&nested(127), &Limits::default()).unwrap().is_some());
        assert_eq!(
            read(&nested(128), &Limits::default()).unwrap_err(),
            Unreadable::TooDeep { limit: 127 }
        );
        assert!(read(&"[".repeat(1 << 20), &Limits::default()).is_err());
        // sixty levels of two spaces before each of a hundred thousand ones
        let wide = "[".repeat(60) + &"1,".repeat(100_000) + "1" + &"]".repeat(60);
        let limits = Limits { text: 1 << 20, ..Limits::default() };
        assert_eq!(read(&wide, &limits).unwrap_err(), Unreadable::TextTooLong { limit: 1 << 20 });
    }
}
