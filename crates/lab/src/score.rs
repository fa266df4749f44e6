//! Scores of one run, and their summary over seeds.
//!
//! ```text
//! ChangeRatio of a cycle   changed downloads / downloads                     (CN-02; undefined if none)
//! … weighted               Σ_{downloaded} w·1(changed) / Σ_{downloaded} w     (CN-03)
//! … of the best            Σ_{downloaded} w·1(changed) / Σ of the largest w   (CN-03, our second variant)
//! change recall            changes captured / changes that happened           (CR-01)
//! freshness, age           time averages over sources and time                (CN-04, CN-05)
//! ```
//!
//! The reported ChangeRatio is the mean over cycles that downloaded anything. CN-03's own normaliser pays 1
//! for a single unimportant changed download; the second variant cannot be gamed that way. First looks at
//! newcomers are outside the ratio. An average over nothing is undefined (`None`), never zero.
//!
//! Paper: `docs/papers/cho-ntoulas-2002.md`, section 2.2.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::copy::Quality;
use crate::ticks::Earned;

/// Downloads of one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cycle {
    /// Polls that could be judged (not first looks).
    pub judged: u64,
    /// Of those, changed.
    pub changed: u64,
    /// Importance of the judged.
    pub weight: f64,
    /// Importance of the changed.
    pub weight_changed: f64,
    /// All polls, first looks included.
    pub polls: u64,
}

impl Cycle {
    /// changed / judged
    pub fn ratio(&self) -> Option<f64> {
        (self.judged > 0).then(|| self.changed as f64 / self.judged as f64)
    }

    /// Σw·1(changed) / Σw over the downloaded
    pub fn weighted_ratio(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.weight_changed / self.weight)
    }
}

/// What one run earned.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// Cycle by cycle.
    pub cycles: Vec<Cycle>,
    /// Σ of the largest importances, as many as each cycle judged.
    pub best_weight: Vec<f64>,
    /// Changes that happened.
    pub changes: u64,
    /// Time integrals, plain and weighted.
    pub quality: (Quality, Quality),
    /// Seconds the loop of decisions took.
    pub decide_seconds: f64,
    /// What polls earned, where rounds are instants.
    pub ticks: Option<Earned>,
}

impl Score {
    /// Mean ChangeRatio over the cycles that have one.
    pub fn change_ratio(&self) -> Option<f64> {
        mean(self.cycles.iter().filter_map(Cycle::ratio))
    }

    /// Standard deviation of the ChangeRatio between cycles.
    pub fn change_ratio_deviation(&self) -> Option<f64> {
        deviation(self.cycles.iter().filter_map(Cycle::ratio))
    }

    /// The same, weighted by importance over the downloaded.
    pub fn weighted_change_ratio(&self) -> Option<f64> {
        mean(self.cycles.iter().filter_map(Cycle::weighted_ratio))
    }

    /// The same, over the largest importances that could have been downloaded.
    pub fn change_ratio_of_best(&self) -> Option<f64> {
        mean(
            self.cycles
                .iter()
                .zip(&self.best_weight)
                .filter(|&(_, &best)| best > 0.0)
                .map(|(cycle, best)| cycle.weight_changed / best),
        )
    }

    /// Captured over happened.
    pub fn change_recall(&self) -> Option<f64> {
        let captured: u64 = self.cycles.iter().map(|cycle| cycle.changed).sum();
        (self.changes > 0).then(|| captured as f64 / self.changes as f64)
    }

    /// Share of source-time the copy was up to date.
    pub fn freshness(&self) -> Option<f64> {
        per_life(self.quality.0, |quality| quality.fresh)
    }

    /// … weighted by importance.
    pub fn weighted_freshness(&self) -> Option<f64> {
        per_life(self.quality.1, |quality| quality.fresh)
    }

    /// Mean seconds since the copy went stale, zero while fresh.
    pub fn age_of_first(&self) -> Option<f64> {
        per_life(self.quality.0, |quality| quality.age_of_first)
    }

    /// Mean age in seconds of the version the copy lacks, zero while fresh.
    pub fn age_of_last(&self) -> Option<f64> {
        per_life(self.quality.0, |quality| quality.age_of_last)
    }

    /// All polls.
    pub fn polls(&self) -> u64 {
        self.cycles.iter().map(|cycle| cycle.polls).sum()
    }
}

fn per_life(quality: Quality, part: impl Fn(&Quality) -> f64) -> Option<f64> {
    (quality.life > 0.0).then(|| part(&quality) / quality.life)
}

/// The mean; `None` of nothing.
pub fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0u32, 0.0), |(count, sum), x| (count + 1, sum + x));
    (count > 0).then(|| sum / f64::from(count))
}

/// The standard deviation (n − 1); `None` below two values.
pub fn deviation(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let center = mean(values.clone())?;
    let (count, squares) =
        values.fold((0u32, 0.0), |(count, sum), x| (count + 1, sum + (x - center).powi(2)));
    (count > 1).then(|| (squares / f64::from(count - 1)).sqrt())
}

/// A mean over seeds with its 95 % interval (Student's t; none from a single seed).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Over the seeds in which the score is defined; `None` if in none.
    pub mean: Option<f64>,
    /// Lower and upper end; `None` when fewer than two seeds have a value.
    pub ci95: Option<[f64; 2]>,
}

impl Summary {
    /// Of one value per seed.
    pub fn of(values: impl Iterator<Item = Option<f64>>) -> Self {
        let values: Vec<f64> = values.flatten().collect();
        let center = mean(values.iter().copied());
        let ci95 = center.zip(deviation(values.iter().copied())).map(|(center, deviation)| {
            let n = values.len() as f64;
            let half = t_975(n - 1.0) * deviation / n.sqrt();
            [center - half, center + half]
        });
        Self { mean: center, ci95 }
    }
}

/// The 97.5 % point of Student's t.
fn t_975(freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |t| t.inverse_cdf(0.975))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score_of(cycles: Vec<Cycle>) -> Score {
        let best_weight = vec![10.0; cycles.len()];
        Score {
            cycles,
            best_weight,
            changes: 20,
            quality: (Quality::default(), Quality::default()),
            decide_seconds: 0.0,
            ticks: None,
        }
    }

    fn cycle(judged: u64, changed: u64) -> Cycle {
        let (weight, weight_changed) = (judged as f64, changed as f64);
        Cycle { judged, changed, weight, weight_changed, polls: judged }
    }

    /// CN-02: 700,000 changed of 1,000,000 is 0.7; an empty cycle does not count.
    #[test]
    fn cn_02_change_ratio_is_the_mean_over_cycles() {
        let score = score_of(vec![cycle(1_000_000, 700_000), cycle(0, 0), cycle(10, 1)]);
        assert_eq!(score.cycles[0].ratio(), Some(0.7));
        assert_eq!(score.cycles[1].ratio(), None);
        assert!((score.change_ratio().unwrap() - 0.4).abs() < 1e-12);
    }

    #[test]
    fn cn_03_equal_weights_are_no_weights() {
        let score = score_of(vec![cycle(10, 3)]);
        assert_eq!(score.weighted_change_ratio(), score.change_ratio());
        assert!((score.change_ratio_of_best().unwrap() - 0.3).abs() < 1e-12);
    }

    #[test]
    fn nothing_downloaded_is_undefined_not_zero() {
        let score = score_of(vec![cycle(0, 0)]);
        assert_eq!(score.change_ratio(), None);
        assert_eq!(score.freshness(), None);
    }

    /// Of 1, 2, 3: mean 2, sd 1, t(2) = 4.302653, half width 4.302653/√3.
    #[test]
    fn the_interval_is_students() {
        let summary = Summary::of([1.0, 2.0, 3.0].into_iter().map(Some));
        let half = 4.302_652_73 / 3f64.sqrt();
        let [low, high] = summary.ci95.unwrap();
        assert!((low - (2.0 - half)).abs() < 1e-6 && (high - (2.0 + half)).abs() < 1e-6);
        assert_eq!(Summary::of([Some(1.0)].into_iter()).ci95, None);
    }
}
