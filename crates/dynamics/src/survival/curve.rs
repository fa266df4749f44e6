//! The survival curve with nothing assumed: Kaplan–Meier and Nelson–Aalen, with late entry.
//!
//! ```text
//! d, n         gone at t, and watched just before t (entry < t ≤ low)
//! S(t) = Π (1 − d/n)                       Kaplan–Meier
//! H(t) = Σ d/n                             Nelson–Aalen (textbook; no tie correction)
//! Var ln S = Σ d/(n(n−d))                  Greenwood; the interval is S^(e^(±z·se/ln S)) (log-log)
//! ```
//!
//! A removal between two looks is put in the middle of the gap: good while gaps are short against lives, else
//! [`super::turnbull`]. Paper: SA-06 (`docs/papers/repository-quality.md`).

use statrs::distribution::{ContinuousCDF, Normal};

use super::{Life, Unfit, checked};
use crate::binomial::Interval;

/// A step of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Age.
    pub at: f64,
    /// n: watched just before.
    pub watched: f64,
    /// d: gone here.
    pub gone: f64,
    /// S from here on.
    pub survival: f64,
    /// H from here on.
    pub hazard: f64,
    /// Greenwood's sum from here on.
    pub variance: f64,
}

/// A survival curve.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Curve {
    steps: Vec<Step>,
    /// The greatest age anybody was watched at.
    end: f64,
}

impl Curve {
    /// The curve of these lives.
    pub fn of(lives: &[Life]) -> Result<Self, Unfit> {
        checked(lives)?;
        let mut entries: Vec<f64> = lives.iter().map(|life| life.entry).collect();
        let mut exits: Vec<f64> = lives.iter().map(exit).collect();
        let mut gone: Vec<f64> = lives.iter().filter(|life| life.is_over()).map(exit).collect();
        [&mut entries, &mut exits, &mut gone]
            .into_iter()
            .for_each(|list| list.sort_by(f64::total_cmp));
        let (mut survival, mut hazard, mut variance) = (1.0, 0.0, 0.0);
        let mut steps = Vec::new();
        for same in gone.chunk_by(|a, b| a.total_cmp(b).is_eq()) {
            let (at, d) = (same[0], same.len() as f64);
            let entered = entries.partition_point(|&entry| entry < at);
            let left = exits.partition_point(|&exit| exit < at);
            let n = (entered - left) as f64;
            survival *= 1.0 - d / n;
            hazard += d / n;
            variance += d / (n * (n - d));
            steps.push(Step { at, watched: n, gone: d, survival, hazard, variance });
        }
        Ok(Self { steps, end: exits.last().copied().unwrap_or(0.0) })
    }

    /// Where it falls.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The greatest age anybody was watched at; beyond it the curve says nothing.
    pub fn end(&self) -> f64 {
        self.end
    }

    fn step(&self, age: f64) -> Option<&Step> {
        self.steps[..self.steps.partition_point(|step| step.at <= age)].last()
    }

    /// S(age).
    pub fn survival(&self, age: f64) -> f64 {
        self.step(age).map_or(1.0, |step| step.survival)
    }

    /// H(age).
    pub fn hazard(&self, age: f64) -> f64 {
        self.step(age).map_or(0.0, |step| step.hazard)
    }

    /// The interval of S(age) at `confidence`.
    pub fn interval(&self, age: f64, confidence: f64) -> Interval {
        let Some(step) = self.step(age) else { return Interval { low: 1.0, high: 1.0 } };
        if step.survival <= 0.0 {
            return Interval { low: 0.0, high: 1.0 };
        }
        let z = Normal::new(0.0, 1.0)
            .map_or(f64::NAN, |law| law.inverse_cdf(f64::midpoint(1.0, confidence)));
        let log = step.survival.ln();
        let reach = z * step.variance.sqrt() / log;
        Interval { low: (log * (-reach).exp()).exp(), high: (log * reach.exp()).exp() }
    }

    /// The age by which half have gone; `None` if the curve does not fall so far.
    pub fn median(&self) -> Option<f64> {
        self.steps.iter().find(|step| step.survival <= 0.5).map(|step| step.at)
    }

    /// ∫₀ᵗ S: the mean life, lives cut at t.
    pub fn restricted_mean(&self, to: f64) -> f64 {
        let (mut area, mut at, mut height) = (0.0, 0.0, 1.0);
        for step in self.steps.iter().take_while(|step| step.at < to) {
            area += (step.at - at) * height;
            (at, height) = (step.at, step.survival);
        }
        area + (to - at) * height
    }
}

/// When a life leaves the watch.
fn exit(life: &Life) -> f64 {
    if life.is_over() { f64::midpoint(life.low, life.high) } else { life.low }
}

#[cfg(test)]
mod laws_of_it {
    use proptest::prelude::*;

    use super::*;

    /// Three objects, gone at 1 and 3, one still there at 2: S = ⅔ from 1, 0 from 3.
    #[test]
    fn three_lives_by_hand() {
        let curve = Curve::of(&[Life::exact(1.0), Life::there(2.0), Life::exact(3.0)]).unwrap();
        assert!((curve.survival(1.0) - 2.0 / 3.0).abs() < 1e-12);
        assert!((curve.survival(2.9) - 2.0 / 3.0).abs() < 1e-12);
        assert!(curve.survival(3.0).abs() < 1e-12 && curve.median() == Some(3.0));
        assert!((curve.restricted_mean(3.0) - (1.0 + 4.0 / 3.0)).abs() < 1e-12);
        assert_eq!(Curve::of(&[]), Err(Unfit::Empty));
        assert_eq!(Curve::of(&[Life::there(2.0)]).unwrap().median(), None);
    }

    proptest! {
        #[test]
        fn without_censoring_it_is_the_share_alive(ages in prop::collection::vec(1u32..40, 1..60), at in 0u32..50) {
            let lives: Vec<Life> = ages.iter().map(|&age| Life::exact(f64::from(age))).collect();
            let alive = ages.iter().filter(|&&age| age > at).count() as f64 / ages.len() as f64;
            prop_assert!((Curve::of(&lives).unwrap().survival(f64::from(at)) - alive).abs() < 1e-9);
        }

        #[test]
        fn it_falls_from_one_and_the_interval_holds_it(ages in prop::collection::vec((0.1..40f64, any::<bool>()), 1..60)) {
            let lives: Vec<Life> = ages
                .iter()
                .map(|&(age, over)| if over { Life::exact(age) } else { Life::there(age) })
                .collect();
            let curve = Curve::of(&lives).unwrap();
            let mut last = 1.0;
            for step in curve.steps() {
                let Interval { low, high } = curve.interval(step.at, 0.9);
                prop_assert!(step.survival <= last && step.survival >= -1e-12);
                prop_assert!(low <= step.survival + 1e-9 && step.survival <= high + 1e-9);
                // Π(1 − d/n) ≤ e^(−Σ d/n)
                prop_assert!(step.hazard <= -step.survival.max(1e-300).ln() + 1e-9);
                last = step.survival;
            }
        }
    }
}
