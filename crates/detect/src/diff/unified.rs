//! Unified diffs of bounded size.

use similar::udiff::UnifiedHunkHeader;
use similar::{DiffOp, DiffTag, group_diff_ops};

use crate::text::beginning;

/// Lines around a change.
const CONTEXT: usize = 3;
/// A longer line is cut: some texts are one line.
const LONGEST_LINE: usize = 4096;

/// Hunks of lines, in at most `limit` bytes and a line about what was left out.
pub(super) fn text(before: &[&str], after: &[&str], ops: Vec<DiffOp>, limit: usize) -> String {
    let mut lines = Lines { text: String::new(), limit, left_out: 0 };
    let groups = group_diff_ops(ops, CONTEXT);
    for group in groups.iter().filter(|group| group.iter().any(|op| op.tag() != DiffTag::Equal)) {
        lines.push("", &UnifiedHunkHeader::new(group).to_string());
        for op in group {
            let (old, new) = (&before[op.old_range()], &after[op.new_range()]);
            if op.tag() == DiffTag::Equal {
                lines.push_all(" ", old);
            } else {
                lines.push_all("-", old);
                lines.push_all("+", new);
            }
        }
    }
    lines.finish()
}

struct Lines {
    text: String,
    limit: usize,
    left_out: usize,
}

impl Lines {
    fn push_all(&mut self, sign: &str, lines: &[&str]) {
        for line in lines {
            self.push(sign, line);
        }
    }

    fn push(&mut self, sign: &str, line: &str) {
        let shown = beginning(line, LONGEST_LINE);
        let rest = match line.len() - shown.len() {
            0 => String::new(),
            bytes => format!("… {bytes} bytes left out"),
        };
        let needed = sign.len() + shown.len() + rest.len() + 1;
        if self.left_out > 0 || self.text.len() + needed > self.limit {
            self.left_out += 1;
            return;
        }
        self.text.extend([sign, shown, &rest, "\n"]);
    }

    fn finish(mut self) -> String {
        if self.left_out > 0 {
            self.text.extend(["… ", &self.left_out.to_string(), " lines left out\n"]);
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use crate::{Limits, diff};

    #[test]
    fn what_is_left_out_is_counted() {
        let limits = Limits { diff: 25, ..Limits::default() };
        let change = diff("", "aaa\nbbb\nccc\nddd", &limits);
        assert_eq!(change.unified, "@@ -0,0 +1,4 @@\n+aaa\n… 3 lines left out\n");
    }

    #[test]
    fn a_text_of_one_line_is_cut() {
        let change = diff("", &"é".repeat(3000), &Limits::default());
        assert!(change.unified.ends_with("é… 1904 bytes left out\n"), "{}", change.unified);
    }
}
