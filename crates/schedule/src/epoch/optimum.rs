//! The exact optimum of a small epoch, to measure the others by.
//!
//! What the future can earn depends only on when each page was last polled. So: a table of those states, instant by
//! instant, each with the most that was earned on the way to it.
//!
//! Paper: WC-11, WC-13 (`docs/papers/pandey-dhamdhere-olston-2004.md`). Cost: O(states · choices), states up to
//! (instants + 1)^pages.

use std::collections::HashMap;

use super::Epoch;

/// More states than this take too long.
const MOST_STATES: f64 = 200_000.0;

/// The most any schedule earns; `None` if the epoch is too large to tell.
pub fn optimum(epoch: &Epoch) -> Option<f64> {
    let pages = epoch.pages().len();
    let choices: Vec<Vec<usize>> = choices(pages, epoch.capacity(), epoch.len())?;
    let mut states: HashMap<Vec<u32>, f64> = HashMap::from([(vec![0; pages], 0.0)]);
    for at in epoch.instants() {
        let mut next: HashMap<Vec<u32>, f64> = HashMap::with_capacity(states.len() * 2);
        for (last, earned) in states {
            let gain: Vec<f64> =
                epoch.pages().iter().zip(&last).map(|(page, &last)| page.earns(last, at)).collect();
            for choice in &choices {
                let mut state = last.clone();
                choice.iter().for_each(|&page| state[page] = at);
                let total = earned + choice.iter().map(|&page| gain[page]).sum::<f64>();
                let best = next.entry(state).or_insert(total);
                *best = best.max(total);
            }
        }
        states = next;
    }
    states.into_values().reduce(f64::max)
}

/// Every set of at most `capacity` pages; `None` if there would be too many states.
fn choices(pages: usize, capacity: usize, instants: usize) -> Option<Vec<Vec<usize>>> {
    let states = ((instants + 1) as f64).powf(pages as f64);
    if states > MOST_STATES || pages > 16 {
        return None;
    }
    let members = |set: u32| (0..pages).filter(|page| set >> page & 1 == 1).collect::<Vec<usize>>();
    // polling more never earns less, so only full sets need be tried
    let full = capacity.min(pages);
    Some((0..1u32 << pages).map(members).filter(|set| set.len() == full).collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::alike;
    use super::*;
    use crate::utility::{Decay, Shape, Stay};

    #[test]
    fn large_epochs_are_declined() {
        let shape = Shape { decay: Decay::Exponential(1.0), stay: Stay::Append };
        assert_eq!(optimum(&alike(&shape, 1, &vec![vec![0.5; 30]; 8])), None);
        assert!((optimum(&alike(&shape, 1, &[vec![0.5; 30]])).unwrap() - 15.0).abs() < 1e-12);
    }
}
