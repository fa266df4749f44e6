//! What a poll now would earn, kept up to date from instant to instant.
//!
//! ```text
//! append, overwrite × r        g ← (1 − π)·r·g + π               (append: without 1 − π)
//! last Z × r                   h_q ← r((1 − π)h_q + π·h_{q−1}), h_0 += π;  g = Σ h_q           O(Z)
//! windows × r                  g ← r·g + π − r^(w+1)·π_{j−w−1}   where that instant is not polled yet
//! overwrite × sliding window   g = 1 − Π over the window (1 − π)  two stacks: dividing by 1 − π fails at π = 1
//! everything else              the sum itself, over the instants since the last poll that can still earn
//! ```
//!
//! Two windows, or a window and append, are one window: the shorter. A poll takes everything: g starts again from 0.
//!
//! Paper: WC-09 (`docs/papers/pandey-dhamdhere-olston-2004.md`). Cost: O(1) an instant, O(Z) for a change window, else
//! O(instants with a chance since the last poll).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Decay, Shape, Stay, one_more, power};

/// g of one source, importance 1.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Running {
    /// The instant it speaks of.
    at: u32,
    g: f64,
    form: Form,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Form {
    /// Only g; `true`: a change overwrites.
    Sum { r: f64, overwrites: bool },
    /// h_q
    Changes { r: f64, fewer: Vec<f64> },
    /// What may still fall out of the window.
    Window { r: f64, last: u32, inside: VecDeque<(u32, f64)> },
    /// Overwrite, seen through a sliding window.
    Product { last: u32, quiet: WindowedProduct },
    /// No short way.
    Past { shape: Shape, chances: Vec<(u32, f64)> },
}

impl Running {
    /// Nothing to earn yet.
    pub fn new(shape: &Shape) -> Self {
        let window = |r: f64, last: u32| Form::Window { r, last, inside: VecDeque::new() };
        let form = match (&shape.decay, shape.stay) {
            (&Decay::Exponential(r), Stay::Append) => Form::Sum { r, overwrites: false },
            (&Decay::Exponential(r), Stay::Changes(0 | 1)) => Form::Sum { r, overwrites: true },
            (&Decay::Exponential(r), Stay::Changes(z)) => {
                Form::Changes { r, fewer: vec![0.0; z as usize] }
            }
            (&Decay::Exponential(r), Stay::Window(last)) => window(r, last),
            (&Decay::Window(last), Stay::Append) => window(1.0, last),
            (&Decay::Window(late), Stay::Window(last)) => window(1.0, last.min(late)),
            (&Decay::Window(last), Stay::Changes(0 | 1)) => {
                Form::Product { last, quiet: WindowedProduct::default() }
            }
            _ => Form::Past { shape: shape.clone(), chances: Vec::new() },
        };
        Self { at: 0, g: 0.0, form }
    }

    /// What a poll would earn.
    pub fn value(&self) -> f64 {
        self.g
    }

    /// Instants without a chance leave the value as it is, so they may be left out.
    pub fn keeps(&self) -> bool {
        match self.form {
            Form::Sum { r, .. } | Form::Changes { r, .. } => r >= 1.0,
            _ => false,
        }
    }

    /// On to instant `now`, at which it changes with chance π; instants left out had none. What a poll would earn.
    pub fn step(&mut self, now: u32, chance: f64) -> f64 {
        let gone = now.saturating_sub(self.at);
        self.at = now;
        let g = self.g;
        self.g = match &mut self.form {
            Form::Sum { r, overwrites } => {
                let left = if *overwrites { 1.0 - chance } else { 1.0 };
                left * faded(*r, gone) * g + chance
            }
            Form::Changes { r, fewer } => {
                let fade = faded(*r, gone);
                fewer.iter_mut().for_each(|h| *h *= fade);
                one_more(fewer, chance);
                fewer[0] += chance;
                fewer.iter().sum()
            }
            Form::Window { r, last, inside } => {
                let mut left = faded(*r, gone) * g;
                while let Some(&(k, out)) = inside.front().filter(|(k, _)| now - k > *last) {
                    left -= power(*r, now - k) * out;
                    inside.pop_front();
                }
                // what rounding leaves of an empty window is nothing
                left = if inside.is_empty() { 0.0 } else { left.max(0.0) };
                if chance > 0.0 {
                    inside.push_back((now, chance));
                }
                left + chance
            }
            Form::Product { last, quiet } => {
                quiet.forget(now.saturating_sub(*last));
                if chance > 0.0 {
                    quiet.push(now, 1.0 - chance);
                }
                1.0 - quiet.product()
            }
            Form::Past { shape, chances } => {
                chances.retain(|&(k, _)| now - k <= shape.reach());
                if chance > 0.0 {
                    chances.push((now, chance));
                }
                shape.earns(chances, now)
            }
        };
        self.g
    }

    /// It was polled: what was there to earn is earned.
    pub fn reset(&mut self) {
        self.g = 0.0;
        match &mut self.form {
            Form::Sum { .. } => {}
            Form::Changes { fewer, .. } => fewer.fill(0.0),
            Form::Window { inside, .. } => inside.clear(),
            Form::Product { quiet, .. } => *quiet = WindowedProduct::default(),
            Form::Past { chances, .. } => chances.clear(),
        }
    }
}

/// What is left after so many instants; nearly always one.
fn faded(r: f64, gone: u32) -> f64 {
    if gone == 1 { r } else { power(r, gone) }
}

/// A queue that knows the product of what is in it: two stacks, each with its running products.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct WindowedProduct {
    /// Newest last; with the product of all below and itself.
    newer: Vec<(u32, f64, f64)>,
    /// Oldest last; with the product of all below and itself.
    older: Vec<(u32, f64, f64)>,
}

impl WindowedProduct {
    fn push(&mut self, at: u32, factor: f64) {
        let before = self.newer.last().map_or(1.0, |&(_, _, product)| product);
        self.newer.push((at, factor, before * factor));
    }

    /// Drops what is older than `first`.
    fn forget(&mut self, first: u32) {
        loop {
            if self.older.is_empty() {
                let mut product = 1.0;
                for (at, factor, _) in self.newer.drain(..).rev() {
                    product *= factor;
                    self.older.push((at, factor, product));
                }
            }
            if self.older.pop_if(|&mut (at, _, _)| at < first).is_none() {
                return;
            }
        }
    }

    fn product(&self) -> f64 {
        let of = |stack: &[(u32, f64, f64)]| stack.last().map_or(1.0, |&(_, _, product)| product);
        of(&self.newer) * of(&self.older)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::shapes;
    use super::*;

    /// Sometimes certain, often nothing: the cases where shortcuts go wrong.
    fn any_chance() -> impl Strategy<Value = f64> {
        prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0f64]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// WC-09: the short way is the sum, to 1e-12, through polls, silences and certainties.
        #[test]
        fn wc_09_incremental_equals_direct(
            which in 0usize..40, steps in prop::collection::vec((any_chance(), prop::bool::weighted(0.15)), 1..60),
        ) {
            let shape = &shapes()[which];
            let mut running = Running::new(shape);
            let mut since: Vec<(u32, f64)> = Vec::new();
            for (now, &(chance, polled)) in (1u32..).zip(&steps) {
                since.push((now, chance));
                let (short, direct) = (running.step(now, chance), shape.earns(&since, now));
                prop_assert!((short - direct).abs() < 1e-12, "{shape:?} at {now}: {short} {direct}");
                if polled {
                    running.reset();
                    since.clear();
                }
            }
        }

        /// Quiet instants may be left out.
        #[test]
        fn silence_may_be_skipped(which in 0usize..40, gaps in prop::collection::vec((1u32..6, 0.01..=1.0f64), 1..20)) {
            let shape = &shapes()[which];
            let (mut every, mut sparse) = (Running::new(shape), Running::new(shape));
            let mut now = 0;
            for (gap, chance) in gaps {
                (1..gap).for_each(|quiet| _ = every.step(now + quiet, 0.0));
                now += gap;
                let (a, b) = (every.step(now, chance), sparse.step(now, chance));
                prop_assert!((a - b).abs() < 1e-12);
            }
        }
    }

    /// The indicator and the weight in WC-09's window: what was polled away does not fall out a second time.
    #[test]
    fn wc_09_a_window_forgets_only_what_was_not_polled() {
        let shape = Shape { decay: Decay::Exponential(0.5), stay: Stay::Window(1) };
        let mut running = Running::new(&shape);
        running.step(1, 1.0);
        running.reset();
        assert!((running.step(2, 0.4) - 0.4).abs() < 1e-15);
        assert!((running.step(3, 0.0) - 0.2).abs() < 1e-15);
        assert!(running.step(4, 0.0).abs() < 1e-15);
    }
}
