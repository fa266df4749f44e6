//! What changed between two texts: in lines for programs, in words for people, and in one sentence.

mod edits;
mod summary;
mod unified;
mod words;

use similar::{DiffOp, DiffTag};

use crate::Limits;
pub use words::{Span, Tag, marked, words};

/// A change, described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Lines that came.
    pub added: usize,
    /// Lines that went.
    pub removed: usize,
    /// The first change, in at most 120 characters: `price: 12 → 14`. Empty if nothing changed.
    pub summary: String,
    /// The lines in unified form with three lines of context. Where it ends in `…`, that line says what was left
    /// out.
    pub unified: String,
}

/// Describes the change from one text to another, line by line.
pub fn diff(before: &str, after: &str, limits: &Limits) -> Change {
    let (before, after) = (lines(before), lines(after));
    let ops = edits::between(&before, &after, limits.edit_steps);
    let changed = || ops.iter().filter(|op| op.tag() != DiffTag::Equal);
    Change {
        added: changed().map(|op| op.new_range().len()).sum(),
        removed: changed().map(|op| op.old_range().len()).sum(),
        summary: summary::sentence(&before, &after, &changed().copied().collect::<Vec<DiffOp>>()),
        unified: unified::text(&before, &after, ops, limits.diff),
    }
}

/// No text has no lines; any other has one more than it has line ends.
fn lines(text: &str) -> Vec<&str> {
    if text.is_empty() { Vec::new() } else { text.split('\n').collect() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_changed_line_goes_and_comes() {
        let change = diff("a\nprice: 12\nc", "a\nprice: 14\nc\nd", &Limits::default());
        assert_eq!((change.added, change.removed), (2, 1));
        assert_eq!(change.unified, "@@ -1,3 +1,4 @@\n a\n-price: 12\n+price: 14\n c\n+d\n");
        assert_eq!(change.summary, "price: 12 → 14 (and 1 more)");
    }

    #[test]
    fn no_change_says_nothing() {
        let nothing =
            Change { added: 0, removed: 0, summary: String::new(), unified: String::new() };
        assert_eq!(diff("a\nb", "a\nb", &Limits::default()), nothing);
        assert_eq!(diff("", "", &Limits::default()), nothing);
    }

    /// Follows the hunks of a unified diff through the lines of the text before.
    fn apply(before: &str, unified: &str) -> String {
        let before = lines(before);
        let mut after: Vec<&str> = Vec::new();
        let mut at = 0;
        for line in unified.lines() {
            let text = line.get(1..).unwrap_or_default();
            match line.as_bytes()[0] {
                b'@' => {
                    let range = line.split(['-', ' ']).nth(2).unwrap();
                    let (start, length) = range.split_once(',').unwrap_or((range, "1"));
                    // a hunk that takes nothing names the line before it
                    let start = start.parse::<usize>().unwrap() - usize::from(length != "0");
                    after.extend(&before[at..start]);
                    at = start;
                }
                b'+' => after.push(text),
                sign => {
                    assert_eq!(before[at], text);
                    after.extend((sign == b' ').then_some(text));
                    at += 1;
                }
            }
        }
        after.extend(&before[at..]);
        after.join("\n")
    }

    proptest! {
        #[test]
        fn a_unified_diff_leads_from_one_text_to_the_other(
            before in "([abc]{1,2}\n){0,30}[abc]", after in "([abc]{1,2}\n){0,30}[abc]", edit_steps in 0usize..400,
        ) {
            let limits = Limits { edit_steps, ..Limits::default() };
            let change = diff(&before, &after, &limits);
            prop_assert_eq!(apply(&before, &change.unified), after.clone());
            let (before, after) = (lines(&before).len(), lines(&after).len());
            prop_assert_eq!(before - change.removed + change.added, after);
        }

        #[test]
        fn a_description_is_bounded(before in ".{0,300}", after in "(.{0,40}\n){0,40}", diff in 0usize..300) {
            let limits = Limits { diff, ..Limits::default() };
            let change = super::diff(&before, &after, &limits);
            prop_assert!(change.unified.len() <= diff + 40);
            prop_assert!(change.summary.chars().count() <= 120);
            prop_assert!(!change.summary.contains('\n'));
            prop_assert_eq!(change.summary.is_empty(), before == after);
        }
    }
}
