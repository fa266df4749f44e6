//! A mirrored collection that says how good it is, and keeps the record of what it said.
//!
//! ```text
//! at a look     what was foretold for now 1, 2, 4, … 32 looks ago is compared with what is seen: each such horizon has
//!               a calibration of its own, because misses of neighbouring gaps go together
//! after it      the model is fitted anew once a tenth more looks have come (at once while they are few)
//! between       outlook(t): precision and recall t after the look, with calibrated intervals; sync_within(target)
//! ```
//!
//! The fit takes the recent past: the last 30 looks, or as many more as hold 200 removals, because sources change
//! their ways. The lab and the daemon hold the same one. Paper: SA-08, SA-09, SA-21, B15, B16
//! (`docs/papers/repository-quality.md`).

use std::collections::VecDeque;

use super::{Calibration, Metric, Model, Stock};
use crate::binomial::Interval;
use crate::collection::{Collection, Item, Part, Seen};
use crate::survival::Unfit;

/// Removals that make a rate known to about 7 %.
const REMOVALS: usize = 200;
/// Looks that the recent past holds at least.
const LOOKS: usize = 30;

/// Horizons with a calibration of their own, in looks.
pub const HORIZONS: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// A collection with its model and the record of its forecasts.
#[derive(Clone, Debug)]
pub struct Forecaster {
    collection: Collection,
    /// What was held and believed at the last looks, newest first.
    past: VecDeque<(Stock, Option<Model>)>,
    model: Result<Model, Unfit>,
    /// Looks at which the model was fitted.
    fitted: usize,
    /// By horizon, then quality.
    calibrations: [[Calibration; 2]; HORIZONS.len()],
}

/// A quality to come, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// The middle.
    pub quality: f64,
    /// The middle share of what may be.
    pub interval: Interval,
}

/// What was foretold for a look, and what it showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Which quality.
    pub metric: Metric,
    /// How many looks before it was said.
    pub looks: usize,
    /// What was said, with its 90 % interval.
    pub foretold: Expected,
    /// What was seen.
    pub seen: f64,
}

impl Outcome {
    /// Inside the interval?
    pub fn is_covered(&self) -> bool {
        let Interval { low, high } = self.foretold.interval;
        low - 1e-12 <= self.seen && self.seen <= high + 1e-12
    }
}

impl Default for Forecaster {
    fn default() -> Self {
        Self {
            collection: Collection::default(),
            past: VecDeque::new(),
            model: Err(Unfit::Empty),
            fitted: 0,
            calibrations: Default::default(),
        }
    }
}

impl Forecaster {
    /// A look shows these objects; what had been foretold for it, and how that turned out.
    pub fn look(&mut self, at: f64, items: &[Item]) -> (Seen, Vec<Outcome>) {
        let seen = self.collection.look(at, items);
        let outcomes = self.learn(at);
        let looks = self.collection.looks().len();
        if looks <= 20 || looks * 10 >= self.fitted * 11 || self.model.is_err() {
            self.model = self.collection.model(self.recent());
            self.fitted = looks;
        }
        self.past.push_front((self.collection.stock(None), self.model.ok()));
        self.past.truncate(HORIZONS[HORIZONS.len() - 1]);
        (seen, outcomes)
    }

    /// Compares what was foretold with what the last look shows.
    fn learn(&mut self, at: f64) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        let looks = self.collection.looks();
        let overlaps = self.collection.overlaps(HORIZONS);
        for ((ago, overlap), calibrations) in
            HORIZONS.into_iter().zip(overlaps).zip(&mut self.calibrations)
        {
            let (Some(overlap), Some((stock, Some(model)))) = (overlap, self.past.get(ago - 1))
            else {
                continue;
            };
            let t = at - looks[looks.len() - 1 - ago].at;
            for (metric, calibration) in Metric::ALL.into_iter().zip(calibrations) {
                let (Some(outlook), Some(quality)) =
                    (model.outlook(stock, metric, t), overlap.quality(metric))
                else {
                    continue;
                };
                let interval = calibration.interval(&outlook, 0.9);
                calibration.learn(&outlook, quality);
                let foretold = Expected { quality: outlook.quality(), interval };
                outcomes.push(Outcome { metric, looks: ago, foretold, seen: quality });
            }
        }
        outcomes
    }

    /// The recent past that the model is fitted to.
    pub fn recent(&self) -> Part {
        let since = self.collection.recent(REMOVALS, LOOKS);
        Part { category: None, since: since.is_finite().then_some(since) }
    }

    /// The calibration for a time after the last look: of the horizon nearest to it that has a record.
    fn calibration(&self, metric: Metric, t: f64) -> &Calibration {
        let looks = self.collection.looks();
        let recent = &looks[looks.len().saturating_sub(LOOKS).max(1).min(looks.len())..];
        let gap = recent.iter().map(|look| look.gap).sum::<f64>() / recent.len().max(1) as f64;
        let far = |horizon: usize| (t / (gap * horizon as f64)).ln().abs();
        let known = HORIZONS
            .iter()
            .zip(&self.calibrations)
            .filter(|(_, pair)| pair[metric as usize].is_learned());
        let nearest = known.min_by(|a, b| far(*a.0).total_cmp(&far(*b.0)));
        nearest.map_or(&self.calibrations[0][metric as usize], |(_, pair)| &pair[metric as usize])
    }

    /// Quality `t` after the last look, with the interval at `confidence`; `None` of an empty copy.
    pub fn expected(
        &self,
        metric: Metric,
        t: f64,
        confidence: f64,
    ) -> Result<Option<Expected>, Unfit> {
        let outlook = self.model?.outlook(self.stock(), metric, t);
        Ok(outlook.map(|outlook| Expected {
            quality: outlook.quality(),
            interval: self.calibration(metric, t).interval(&outlook, confidence),
        }))
    }

    /// How long after the last look quality is still `target` or better with this confidence, `most` at the most;
    /// `None` of an empty copy.
    pub fn sync_within(
        &self,
        metric: Metric,
        target: f64,
        confidence: f64,
        most: f64,
    ) -> Result<Option<f64>, Unfit> {
        let (model, stock) = (self.model?, self.stock());
        let within = |t: f64| {
            let calibration = self.calibration(metric, t);
            model.sync_within(stock, metric, target, confidence, calibration, most)
        };
        // which calibration counts depends on the answer: twice asked, the nearer horizon decides
        Ok(within(most).and_then(&within).and_then(&within))
    }

    /// Forecasts for the next look that have turned out, and how many were inside their 90 % interval.
    pub fn record(&self, metric: Metric) -> (u32, u32) {
        self.calibrations[0][metric as usize].record()
    }

    /// How it changes, as believed now.
    pub fn model(&self) -> Result<&Model, Unfit> {
        self.model.as_ref().map_err(|why| *why)
    }

    /// What the copy holds.
    pub fn stock(&self) -> &Stock {
        self.past.front().map_or(Stock::empty(), |(stock, _)| stock)
    }

    /// The collection.
    pub fn collection(&self) -> &Collection {
        &self.collection
    }
}

#[cfg(test)]
mod laws_of_it {
    use rand::{RngExt as _, SeedableRng};
    use rand_distr::{Distribution, Poisson};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// A memoryless source in balance, looked at irregularly: intervals cover about 90 %, and a plan for 80 % recall with
    /// 90 % confidence is met about nine times in ten.
    #[test]
    fn sa_09_a_made_up_source_is_foretold() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
        let (mut at, mut next, mut objects) = (0.0, 0u32, Vec::<u32>::new());
        let mut forecaster = Forecaster::default();
        let (mut covered, mut told, mut met, mut plans) = (0, 0, 0, 0);
        for look in 0..600 {
            let plan = forecaster.sync_within(Metric::Recall, 0.8, 0.9, 30.0).ok().flatten();
            let gap = match plan {
                Some(gap) if look % 2 == 0 => gap,
                _ => 0.5 + 3.0 * rng.random::<f64>(),
            };
            // 300 objects, each going at 0.05 a day; as many come
            objects.retain(|_| rng.random::<f64>() < (-0.05 * gap).exp());
            let mean = 300.0 * -(-0.05 * gap).exp_m1();
            let come: f64 = Poisson::new(mean).unwrap().sample(&mut rng);
            let mut coming = if look == 0 { 300.0 } else { come };
            while coming >= 1.0 {
                objects.push(next);
                (next, coming) = (next + 1, coming - 1.0);
            }
            at += gap;
            let items: Vec<Item> =
                objects.iter().map(|&object| Item { object, category: 0, version: 0 }).collect();
            let (_, outcomes) = forecaster.look(at, &items);
            if look > 20 {
                covered += outcomes.iter().filter(|outcome| outcome.is_covered()).count();
                told += outcomes.len();
                let next: Vec<&Outcome> =
                    outcomes.iter().filter(|outcome| outcome.looks == 1).collect();
                if look % 2 == 0 {
                    plans += 1;
                    met += usize::from(
                        next.iter().any(|o| o.metric == Metric::Recall && o.seen >= 0.8),
                    );
                }
            }
        }
        let share = covered as f64 / told as f64;
        assert!((0.86..0.95).contains(&share), "{share}");
        let kept = met as f64 / f64::from(plans);
        assert!((0.83..0.97).contains(&kept), "{kept}");
        assert_eq!(forecaster.record(Metric::Recall).0 as usize, 598);
    }
}
