//! Regular expressions as people write them in a rule: `^` and `$` mean lines, and none may grow too large.

use regex::{Error, Regex, RegexBuilder};

/// Bytes a compiled expression may take. Matching is linear in the text whatever it says.
const LARGEST: usize = 1 << 20;

/// Compiles an expression, or says in words what is wrong with it.
pub(crate) fn compile(written: &str) -> Result<Regex, String> {
    RegexBuilder::new(written).multi_line(true).size_limit(LARGEST).build().map_err(|error| {
        match error {
            Error::CompiledTooBig(limit) => {
                format!("it compiles to more than {limit} bytes; repeat less")
            }
            other => {
                let told = other.to_string();
                let last = told.lines().last().unwrap_or_default();
                format!("not a regular expression: {}", last.trim_start_matches("error: "))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_mean_lines() {
        assert_eq!(compile("^b$").unwrap().replace_all("a\nb\nc", "x"), "a\nx\nc");
    }

    #[test]
    fn mistakes_are_one_line() {
        assert_eq!(compile("(a").unwrap_err(), "not a regular expression: unclosed group");
        assert!(compile(r"(\pL{100}){100}").unwrap_err().contains("repeat less"));
    }
}
