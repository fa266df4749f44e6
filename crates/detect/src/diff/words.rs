//! The changed lines, word by word, for people.

use similar::{DiffOp, DiffTag};

use super::{edits, lines};
use crate::Limits;

/// What became of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// It was there and is.
    Same,
    /// It came.
    Added,
    /// It went.
    Removed,
}

/// A piece of text and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// What became of it.
    pub tag: Tag,
    /// The piece, white space included.
    pub text: String,
}

/// The lines that changed, as pieces that stayed, went and came. Unchanged lines are left out; where the changes
/// are too long, the last piece says how many were left out.
pub fn words(before: &str, after: &str, limits: &Limits) -> Vec<Span> {
    let (before, after) = (lines(before), lines(after));
    let ops = edits::between(&before, &after, limits.edit_steps);
    let changed: Vec<&DiffOp> = ops.iter().filter(|op| op.tag() != DiffTag::Equal).collect();
    let mut spans = Spans::default();
    for (index, op) in changed.iter().enumerate() {
        if index > 0 {
            spans.push(Tag::Same, "\n");
        }
        let (old, new) = (before[op.old_range()].join("\n"), after[op.new_range()].join("\n"));
        if spans.bytes + old.len() + new.len() > limits.diff {
            spans.push(Tag::Same, &format!("… {} changes left out", changed.len() - index));
            break;
        }
        spans.push_changed(&pieces(&old), &pieces(&new), limits.edit_steps);
    }
    spans.spans
}

/// Pieces in one text: `price: [-12-]{+14+}`.
pub fn marked(spans: &[Span]) -> String {
    let mark = |span: &Span| match span.tag {
        Tag::Same => span.text.clone(),
        Tag::Added => format!("{{+{}+}}", span.text),
        Tag::Removed => format!("[-{}-]", span.text),
    };
    spans.iter().map(mark).collect()
}

#[derive(Default)]
struct Spans {
    spans: Vec<Span>,
    bytes: usize,
}

impl Spans {
    fn push(&mut self, tag: Tag, text: &str) {
        if text.is_empty() {
            return;
        }
        self.bytes += text.len();
        match self.spans.last_mut() {
            Some(last) if last.tag == tag => last.text.push_str(text),
            _ => self.spans.push(Span { tag, text: text.to_owned() }),
        }
    }

    fn push_changed(&mut self, old: &[&str], new: &[&str], steps: usize) {
        for op in edits::between(old, new, steps) {
            let (old, new) = (old[op.old_range()].concat(), new[op.new_range()].concat());
            if op.tag() == DiffTag::Equal {
                self.push(Tag::Same, &old);
            } else {
                self.push(Tag::Removed, &old);
                self.push(Tag::Added, &new);
            }
        }
    }
}

/// Words and the white space between them.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_space = first.is_whitespace();
        let end = rest.find(|c: char| c.is_whitespace() != is_space).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(before: &str, after: &str) -> String {
        marked(&words(before, after, &Limits::default()))
    }

    #[test]
    fn only_changed_words_are_marked() {
        assert_eq!(shown("a\nprice: 12 €\nb", "a\nprice: 14 €\nb"), "price: [-12-]{+14+} €");
        assert_eq!(shown("a\nb\nc", "x\nb\nc\nd"), "[-a-]{+x+}\n{+d+}");
        assert_eq!(shown("a", "a"), "");
    }

    #[test]
    fn too_much_is_counted_instead() {
        let limits = Limits { diff: 10, ..Limits::default() };
        let text = marked(&words("a\nb\nc", "x\nb\nyyyyyyyyyyy", &limits));
        assert_eq!(text, "[-a-]{+x+}\n… 1 changes left out");
    }

    proptest! {
        /// Of lines that all changed, nothing is lost: either side can be put together again.
        #[test]
        fn both_sides_are_in_the_pieces(before in "[ab ]{1,20}", after in "[cd \n]{1,20}") {
            let spans = words(&before, &after, &Limits::default());
            let side = |without: Tag| -> String {
                spans.iter().filter(|span| span.tag != without).map(|span| span.text.as_str()).collect()
            };
            prop_assume!(lines(&before).iter().all(|line| !lines(&after).contains(line)));
            prop_assert_eq!(side(Tag::Added), before);
            prop_assert_eq!(side(Tag::Removed), after);
        }
    }
}
