//! Precision and recall some time after a sync, with what is uncertain about them; and when to sync.
//!
//! ```text
//! loss        −ln q
//! precision   p = mean over the stock of S(age + t)/S(age)
//! recall      r = K/(K + N), K = n₀p, N = m ∫₀ᵗ S
//! Var −ln p = Σ s(1−s)/(n₀p)²  +  (ln p)²·(Var ln H + v/t)     chance · the law itself · common shocks
//! Var −ln r = (1−r)²·(Var N/N² + Var ln p)
//! law         −ln q ~ Gamma with this mean and variance: never below 0, a long tail where little is known
//! sync        the last t at which P(q(t) ≥ target) ≥ confidence
//! ```
//!
//! v is how much more the removals of a period vary than chance allows: whole categories go at once. Ages matter where
//! lives are not memoryless: old stock of a law with k < 1 hardly goes. Paper: SA-08, SA-09, B15
//! (`docs/papers/repository-quality.md`).

use serde::{Deserialize, Serialize};

use super::Calibration;
use crate::arrival::{Counts, gamma_quantile};
use crate::binomial::Interval;
use crate::survival::{Exponential, Law};

/// Which quality.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// The share of the copy that is still there.
    Precision,
    /// The share of the source that the copy holds.
    Recall,
}

impl Metric {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Precision, Self::Recall];

    /// As people write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Precision => "precision",
            Self::Recall => "recall",
        }
    }
}

/// What the copy holds: how many objects of which age at the sync.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stock {
    ages: Vec<(f64, f64)>,
    /// Objects that were there before we looked first: of unknown age.
    old: f64,
    size: f64,
}

/// Ages kept apart; beyond, neighbours are put together.
const BINS: usize = 64;

impl Stock {
    /// Nothing.
    pub const fn empty() -> &'static Self {
        static EMPTY: Stock = Stock { ages: Vec::new(), old: 0.0, size: 0.0 };
        &EMPTY
    }

    /// Of objects of these ages.
    pub fn of(mut ages: Vec<f64>) -> Self {
        ages.sort_by(f64::total_cmp);
        let size = ages.len() as f64;
        let bin =
            |chunk: &[f64]| (chunk.iter().sum::<f64>() / chunk.len() as f64, chunk.len() as f64);
        let ages = ages.chunks(ages.len().div_ceil(BINS).max(1)).map(bin).collect();
        Self { ages, old: 0.0, size }
    }

    /// With so many more of unknown age.
    #[must_use]
    pub fn and_old(self, old: usize) -> Self {
        let old = old as f64;
        Self { old, size: self.size + old, ..self }
    }

    /// How many.
    pub fn size(&self) -> f64 {
        self.size
    }
}

/// How a collection changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// How long objects live.
    pub life: Law,
    /// How fast those go that were there before we looked first.
    pub old: Exponential,
    /// How many arrive per unit of time, whether or not they live to be seen.
    pub arrivals: Counts,
    /// Units of time the arrivals were counted over: of each gap as much as an arrival lived to show, ∫₀ᵍ S.
    pub watched: f64,
    /// v: variance of the removals of one unit of time beyond chance, relative to their mean squared.
    pub shock: f64,
}

/// A quality to come: the loss −ln q by its mean and variance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outlook {
    /// E(−ln q)
    pub loss: f64,
    /// Var(−ln q)
    pub variance: f64,
}

impl Outlook {
    /// The middle: e^(−loss).
    pub fn quality(&self) -> f64 {
        (-self.loss).exp()
    }

    /// The loss that is not exceeded with chance `q`.
    pub fn loss_quantile(&self, q: f64) -> f64 {
        if self.loss <= 0.0 || self.variance <= 0.0 {
            return self.loss.max(0.0);
        }
        let shape = self.loss * self.loss / self.variance;
        if shape < 1e-3 { 0.0 } else { gamma_quantile(shape, self.variance / self.loss, q) }
    }

    /// The middle share `confidence` of what may be.
    pub fn interval(&self, confidence: f64) -> Interval {
        let tail = (1.0 - confidence) / 2.0;
        Interval {
            low: (-self.loss_quantile(1.0 - tail)).exp(),
            high: (-self.loss_quantile(tail)).exp(),
        }
    }
}

/// Nobody gone yet is no promise: the rate then stands at half a removal in the time watched (Jeffreys).
fn cautious(law: Exponential) -> Exponential {
    if law.removals < 0.5 { Exponential { rate: 0.5 / law.exposure, ..law } } else { law }
}

impl Model {
    fn cautious(&self) -> Law {
        match self.life {
            Law::Exponential(law) => Law::Exponential(cautious(law)),
            life @ Law::Weibull(_) => life,
        }
    }

    /// Nobody come yet is no promise either: half an arrival in the time watched.
    fn coming(&self) -> Counts {
        let seen = self.arrivals.mean() > 0.0;
        if seen { self.arrivals } else { Counts::Poisson { mean: 0.5 / self.watched.max(1e-9) } }
    }

    /// The outlook for a stock, t after its sync; `None` of an empty stock.
    pub fn outlook(&self, stock: &Stock, metric: Metric, t: f64) -> Option<Outlook> {
        if stock.size <= 0.0 {
            return None;
        }
        if t <= 0.0 {
            return Some(Outlook { loss: 0.0, variance: 0.0 });
        }
        let life = self.cautious();
        let (mut kept, mut chance, mut mean_age) = (0.0, 0.0, 0.0);
        for &(age, count) in &stock.ages {
            let s = life.survival_from(age, t);
            kept += count * s;
            chance += count * s * (1.0 - s);
            mean_age += count * age;
        }
        let stays = (-cautious(self.old).rate * t).exp();
        kept += stock.old * stays;
        chance += stock.old * stays * (1.0 - stays);
        let kept = kept.max(1e-9);
        let loss = -(kept / stock.size).ln();
        let known = (stock.size - stock.old).max(1.0);
        let young = 1.0 - stock.old / stock.size;
        let spread = young * life.spread(mean_age / known + t)
            + (1.0 - young) * Law::Exponential(self.old).spread(t)
            + self.shock / t;
        let variance = chance / (kept * kept) + loss * loss * spread;
        match metric {
            Metric::Precision => Some(Outlook { loss, variance }),
            Metric::Recall => {
                let arrivals = self.coming();
                let share = life.presence(t) / t;
                let new = arrivals.mean() * t * share;
                let counted = arrivals.variance() * t * (1.0 + t / self.watched.max(1e-9));
                let spread = (counted * share * share + new * (1.0 - share)) / (new * new);
                let missing = new / (kept + new);
                Some(Outlook {
                    loss: -(-missing).ln_1p(),
                    variance: missing * missing * (spread + variance),
                })
            }
        }
    }

    /// How long nobody comes to an empty copy with this confidence, up to `most`: e^(−m ∫₀ᵗ S) = confidence.
    fn alone(&self, confidence: f64, most: f64) -> f64 {
        let (life, mean) = (self.cautious(), self.coming().mean());
        crate::solve::falling(most * 1e-9, most, |t| -confidence.ln() - mean * life.presence(t))
    }

    /// The longest wait after a sync at which quality is still `target` or better with this confidence, up to `most`.
    /// An empty copy has no precision to lose (`None`), and no recall once somebody comes.
    pub fn sync_within(
        &self,
        stock: &Stock,
        metric: Metric,
        target: f64,
        confidence: f64,
        calibration: &Calibration,
        most: f64,
    ) -> Option<f64> {
        if stock.size <= 0.0 {
            return (metric == Metric::Recall).then(|| self.alone(confidence, most));
        }
        let floor = -target.ln();
        let spare = |t: f64| {
            let outlook = self.outlook(stock, metric, t)?;
            Some(floor - calibration.loss_quantile(&outlook, confidence))
        };
        spare(most)?;
        Some(crate::solve::falling(most * 1e-9, most, |t| spare(t).unwrap_or(-1.0)))
    }
}

/// v: what counts vary beyond chance, per unit of time and relative to their mean squared.
///
/// ```text
/// v = max(0, Σ (seen − expected)² − expected) / Σ expected²/gap
/// ```
pub fn shock(seen: impl Iterator<Item = Counted> + Clone) -> f64 {
    let seen = seen.filter(|one| one.gap > 0.0);
    let beyond = |one: Counted| (one.seen - one.expected).powi(2) - one.expected;
    let scale: f64 = seen.clone().map(|one| one.expected * one.expected / one.gap).sum();
    if scale > 0.0 { (seen.map(beyond).sum::<f64>() / scale).max(0.0) } else { 0.0 }
}

/// Arrivals or removals between two looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// Time between the looks.
    pub gap: f64,
    /// How many there were.
    pub seen: f64,
    /// How many were to be expected.
    pub expected: f64,
}

#[cfg(test)]
mod laws_of_it {
    use proptest::prelude::*;

    use super::*;
    use crate::survival::Weibull;

    fn memoryless(rate: f64, arrivals: f64) -> Model {
        let old = Exponential { rate, removals: 1e9, exposure: 1e9 / rate, log_likelihood: 0.0 };
        Model {
            life: Law::Exponential(old),
            old,
            arrivals: Counts::Poisson { mean: arrivals },
            watched: 1e9,
            shock: 0.0,
        }
    }

    #[test]
    fn sa_08_with_nothing_uncertain_it_is_the_formula() {
        let model = memoryless(0.05, 60.0);
        let stock = Stock::of(vec![3.0; 1_000]);
        let at = |metric| model.outlook(&stock, metric, 7.0).unwrap().quality();
        assert!((at(Metric::Precision) - 0.704_688).abs() < 1e-6);
        assert!((at(Metric::Recall) - 0.665_389).abs() < 1e-6);
        // SA-18: the deviation of the number gone in three days is 10.949
        let three = model.outlook(&stock, Metric::Precision, 3.0).unwrap();
        assert!((three.variance.sqrt() * three.quality() * 1_000.0 - 10.949).abs() < 1e-2);
    }

    #[test]
    fn sa_09_confidence_makes_the_sync_sooner() {
        let stock = Stock::of(vec![1.0; 1_000]);
        let plain = Calibration::default();
        let when = |model: &Model, confidence| {
            model.sync_within(&stock, Metric::Precision, 0.9, confidence, &plain, 1e4).unwrap()
        };
        let sure = memoryless(0.05, 60.0);
        assert!((when(&sure, 0.5) - 2.107).abs() < 0.02, "{}", when(&sure, 0.5));
        assert!(when(&sure, 0.9) < 2.0);
        // ten removals seen, and removals in swarms: sooner still
        let life = Law::Exponential(Exponential {
            rate: 0.05,
            removals: 10.0,
            exposure: 200.0,
            log_likelihood: 0.0,
        });
        let unsure = Model { life, shock: 0.5, ..sure };
        assert!(when(&unsure, 0.9) < 0.9 * when(&sure, 0.9));
    }

    #[test]
    fn ends_are_answers() {
        let model = memoryless(0.05, 60.0);
        assert_eq!(model.outlook(&Stock::default(), Metric::Recall, 3.0), None);
        let none = Law::Exponential(Exponential {
            rate: 0.0,
            removals: 0.0,
            exposure: 500.0,
            log_likelihood: 0.0,
        });
        let quiet = Model { life: none, arrivals: Counts::Poisson { mean: 0.0 }, ..model };
        let stock = Stock::of(vec![10.0; 50]);
        let outlook = quiet.outlook(&stock, Metric::Precision, 30.0).unwrap();
        assert!(outlook.quality() > 0.96 && outlook.interval(0.9).low < 0.96, "{outlook:?}");
        // nobody came in 1e9 days; nobody came in an hour
        assert!(quiet.outlook(&stock, Metric::Recall, 30.0).unwrap().quality() > 0.999_999);
        let hour = Model { watched: 1.0 / 24.0, ..quiet };
        let day = hour.outlook(&stock, Metric::Recall, 1.0).unwrap();
        assert!(day.interval(0.9).low < 0.7, "{day:?}");
        // an empty copy: e^(−60t) = .9 gives t = .00176, and precision has nothing to lose
        let sync = |metric| {
            let (empty, plain) = (Stock::default(), Calibration::default());
            memoryless(1e-9, 60.0).sync_within(&empty, metric, 0.9, 0.9, &plain, 7.0)
        };
        assert_eq!(sync(Metric::Precision), None);
        assert!((sync(Metric::Recall).unwrap() - 0.001_756).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn intervals_hold_the_middle_and_old_stock_of_a_falling_hazard_stays(age in 1.0..500.0f64, t in 0.1..40.0f64, shock in 0.0..1.0f64) {
            let law = Weibull { scale: 30.0, shape: 0.6, covariance: [1e-4, 0.0, 1e-4], log_likelihood: 0.0 };
            let model = Model { life: Law::Weibull(law), shock, ..memoryless(0.1, 10.0) };
            let outlook = |age: f64, metric| model.outlook(&Stock::of(vec![age; 200]), metric, t).unwrap();
            for metric in Metric::ALL {
                let Interval { low, high } = outlook(age, metric).interval(0.9);
                prop_assert!(low >= 0.0 && low <= high && high <= 1.0);
                prop_assert!(outlook(age + 50.0, metric).quality() >= outlook(age, metric).quality());
            }
        }

        #[test]
        fn at_the_planned_time_the_target_is_met_and_soon_after_no_more(rate in 0.001..1.0f64, target in 0.5..0.99f64, confidence in 0.5..0.99f64) {
            let (model, stock) = (memoryless(rate, 50.0 * rate), Stock::of(vec![2.0; 500]));
            let plain = Calibration::default();
            for metric in Metric::ALL {
                let t = model.sync_within(&stock, metric, target, confidence, &plain, 1e5).unwrap();
                let low = |t: f64| (-plain.loss_quantile(&model.outlook(&stock, metric, t).unwrap(), confidence)).exp();
                prop_assert!(low(t * 0.999) >= target - 1e-6);
                prop_assert!(low(t * 1.01) <= target + 1e-6);
            }
        }
    }
}
