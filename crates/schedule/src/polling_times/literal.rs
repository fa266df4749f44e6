//! The paper's recurrence, corrected but otherwise as printed: O(s³N).
//!
//! ```text
//! NumMisses(i, k, 0)   the cost of (i, i + k]
//! NumMisses(i, k, l)   min over j in 1..k of NumMisses(i, j, 0) + NumMisses(i + j, k − j, l − 1)
//! the answer           min over starts i of NumMisses(i, s, N − 1)
//! ```
//!
//! Corrected (CR-07): the first term has no interior polls, indices wrap, the stretch is the whole period, N polls are a
//! start and N − 1 interior ones, and fewer than l + 1 steps are infeasible. Kept as an oracle for tests and a yardstick
//! for `cargo bench`. Paper: CR-07 (`docs/papers/polling-times.md`).

use super::cost::Cost;

/// The least cost of exactly `polls` polls, at least one.
pub fn best(cost: &impl Cost, polls: usize) -> f64 {
    let s = cost.points();
    let mut misses = vec![vec![f64::INFINITY; s + 1]; s];
    for (i, row) in misses.iter_mut().enumerate() {
        (1..=s).for_each(|k| row[k] = cost.of(i, i + k));
    }
    let alone = misses.clone();
    for _ in 1..polls {
        let before = misses.clone();
        for i in 0..s {
            for k in 1..=s {
                let split = |j: usize| alone[i][j] + before[(i + j) % s][k - j];
                misses[i][k] = (1..k).map(split).fold(f64::INFINITY, f64::min);
            }
        }
    }
    misses.iter().map(|row| row[s]).fold(f64::INFINITY, f64::min)
}
