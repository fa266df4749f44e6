//! A change in one sentence: the first words that changed, a little of what stands before them, and how many
//! other places changed.
//!
//! ```text
//! price: 12 → 14        words gave way to others
//! + In stock            words or a line came          − Sold out      … or went
//! ```

use similar::DiffOp;

use crate::text::beginning;

/// Characters of a summary.
const LONGEST: usize = 120;
/// Words shown before the first that changed.
const CONTEXT: usize = 4;

/// The sentence about these changes; empty if there are none.
pub(super) fn sentence(before: &[&str], after: &[&str], changed: &[DiffOp]) -> String {
    let Some(first) = changed.first() else {
        return String::new();
    };
    let tail = match changed.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let pick = |lines: &[&str]| {
        lines
            .iter()
            .find(|line| !line.trim().is_empty())
            .map_or(String::new(), |line| words(line).join(" "))
    };
    let (old, new) = (pick(&before[first.old_range()]), pick(&after[first.new_range()]));
    clipped(&step(&words(&old), &words(&new)), LONGEST - tail.chars().count()) + &tail
}

/// A long line may be a megabyte; its first words do.
fn words(line: &str) -> Vec<&str> {
    beginning(line, 64 << 10).split_whitespace().collect()
}

fn step(old: &[&str], new: &[&str]) -> String {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let went = old_rest[..old_rest.len() - end].join(" ");
    let came = new_rest[..new_rest.len() - end].join(" ");
    let context = old[start.saturating_sub(CONTEXT)..start].join(" ");
    let said = match (went.is_empty(), came.is_empty()) {
        (true, true) => return "white space".to_owned(),
        (true, false) => format!("+ {came}"),
        (false, true) => format!("− {went}"),
        (false, false) => {
            format!("{} → {}", clipped(&went, LONGEST / 3), clipped(&came, LONGEST / 3))
        }
    };
    if context.is_empty() { said } else { format!("{} {said}", clipped(&context, LONGEST / 4)) }
}

fn clipped(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        None => text.to_owned(),
        Some(_) => text.chars().take(longest - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Limits, diff};

    fn summary(before: &str, after: &str) -> String {
        diff(before, after, &Limits::default()).summary
    }

    #[test]
    fn the_first_change_is_told_in_its_context() {
        assert_eq!(
            summary("the price is 12 € today", "the price is 14 € today"),
            "the price is 12 → 14"
        );
        assert_eq!(summary("a\nb", "a\nIn  stock\nb"), "+ In stock");
        assert_eq!(summary("a\nSold out\nb", "a\nb"), "− Sold out");
        assert_eq!(summary("in stock", "in stock now"), "in stock + now");
        assert_eq!(summary("a  b", "a b"), "white space");
    }

    #[test]
    fn long_changes_are_clipped_on_both_sides() {
        let told = summary(&"old ".repeat(100), &"new ".repeat(100));
        assert!(
            told.starts_with("old old") && told.ends_with("new…") && told.contains("… → new"),
            "{told}"
        );
    }
}
