//! The shortest edit between two lists, where finding it is not too much work.
//!
//! What both begin and end with is set aside first. Then a cheap walk of Myers' algorithm, which keeps no path,
//! counts its steps: if it arrives within the limit, `similar` finds the edit for about twice that; if not,
//! everything between is replaced, which is coarse and still correct.

use std::collections::HashMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Operations that lead from one list to the other.
pub(super) fn between(before: &[&str], after: &[&str], steps: usize) -> Vec<DiffOp> {
    let start = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (old, new) = (&before[start..], &after[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    let mut ops = Vec::new();
    if start > 0 {
        ops.push(DiffOp::Equal { old_index: 0, new_index: 0, len: start });
    }
    ops.extend(middle(old, new, steps).into_iter().map(|op| shifted(op, start)));
    if end > 0 {
        let (old_index, new_index) = (before.len() - end, after.len() - end);
        ops.push(DiffOp::Equal { old_index, new_index, len: end });
    }
    ops
}

fn middle(old: &[&str], new: &[&str], steps: usize) -> Vec<DiffOp> {
    match (old.len(), new.len()) {
        (0, 0) => Vec::new(),
        (old_len, 0) => vec![DiffOp::Delete { old_index: 0, old_len, new_index: 0 }],
        (0, new_len) => vec![DiffOp::Insert { old_index: 0, new_index: 0, new_len }],
        (old_len, new_len) => {
            let (old, new) = numbered(old, new);
            if is_near(&old, &new, steps) {
                return capture_diff_slices(Algorithm::Myers, &old, &new);
            }
            vec![DiffOp::Replace { old_index: 0, old_len, new_index: 0, new_len }]
        }
    }
}

/// Equal texts get equal numbers, which compare in one step.
fn numbered<'a>(old: &[&'a str], new: &[&'a str]) -> (Vec<usize>, Vec<usize>) {
    let mut numbers: HashMap<&'a str, usize> = HashMap::new();
    let mut number = |text: &&'a str| {
        let next = numbers.len();
        *numbers.entry(text).or_insert(next)
    };
    (old.iter().map(&mut number).collect(), new.iter().map(&mut number).collect())
}

/// Whether the shortest edit is found within so many steps. `reach[k]` is how far into `old` the best path
/// came that deleted k more than it inserted (Myers 1986, the greedy algorithm).
fn is_near(old: &[usize], new: &[usize], steps: usize) -> bool {
    // round d takes more than d steps
    let rounds = (2 * steps).isqrt().min(old.len() + new.len());
    let mut reach = vec![0; 2 * rounds + 3];
    let mut left = steps;
    for d in 0..=rounds {
        for diagonal in (0..=2 * d).step_by(2) {
            // index of k = diagonal − d, with room for its neighbours
            let k = rounds + 1 + diagonal - d;
            let deletes = diagonal > 0 && (diagonal == 2 * d || reach[k - 1] >= reach[k + 1]);
            let x = if deletes { reach[k - 1] + 1 } else { reach[k + 1] };
            let y = x + d - diagonal;
            let same =
                old.iter().skip(x).zip(new.iter().skip(y)).take_while(|(a, b)| a == b).count();
            if left <= same {
                return false;
            }
            left -= same + 1;
            reach[k] = x + same;
            if x + same >= old.len() && y + same >= new.len() {
                return true;
            }
        }
    }
    false
}

fn shifted(op: DiffOp, by: usize) -> DiffOp {
    let mut op = op;
    match &mut op {
        DiffOp::Equal { old_index, new_index, .. }
        | DiffOp::Delete { old_index, new_index, .. }
        | DiffOp::Insert { old_index, new_index, .. }
        | DiffOp::Replace { old_index, new_index, .. } => {
            *old_index += by;
            *new_index += by;
        }
    }
    op
}

#[cfg(test)]
mod tests {
    use similar::DiffTag;

    use super::*;

    fn tags(before: &[&str], after: &[&str], steps: usize) -> Vec<DiffTag> {
        between(before, after, steps).iter().map(|op| op.tag()).collect()
    }

    #[test]
    fn two_far_changes_in_a_long_text_are_found() {
        let lines: Vec<String> = (0..20_000).map(|line| line.to_string()).collect();
        let before: Vec<&str> = lines.iter().map(String::as_str).collect();
        let mut after = before.clone();
        (after[1], after[19_998]) = ("x", "y");
        let (equal, replace) = (DiffTag::Equal, DiffTag::Replace);
        assert_eq!(tags(&before, &after, 1_000_000), [equal, replace, equal, replace, equal]);
    }

    #[test]
    fn beyond_the_limit_everything_between_is_replaced() {
        let before = ["a", "1", "b", "2", "c", "z"];
        let after = ["a", "3", "b", "4", "c", "z"];
        assert_eq!(tags(&before, &after, 3), [DiffTag::Equal, DiffTag::Replace, DiffTag::Equal]);
        assert_eq!(tags(&before, &after, 1000).len(), 5);
        assert_eq!(tags(&before, &after, 0).len(), 3);
    }
}
