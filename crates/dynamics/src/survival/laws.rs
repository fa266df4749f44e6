//! Exponential and Weibull lives by maximum likelihood, whatever the looks left open.
//!
//! ```text
//! S(t) = e^(−H(t)),  H(t) = (a·t)^k        exponential: k = 1
//! ln L = Σ H(entry) − H(low) + ⎧ ln h(low)                        gone at low
//!                              ⎨ ln(1 − e^(−(H(high) − H(low))))   gone in (low, high]
//!                              ⎩ 0                                 still there
//! exact or censored, exponential:  â = removals / time watched
//! ```
//!
//! Maximised by Newton's steps in (ln 1/a, ln k), in which H has simple derivatives: with u = k·(ln t − b), H = e^u,
//! ∂H/∂b = −kH, ∂H/∂ln k = uH. Paper: SA-06, SA-07, SA-17, B15 (`docs/papers/repository-quality.md`).

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Gamma};
use statrs::function::gamma::{gamma, gamma_lr};

use super::{Life, Unfit, checked};

/// Memoryless lives: a removal rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exponential {
    /// a: removals per object and time; 0 if nobody has gone.
    pub rate: f64,
    /// How many have gone.
    pub removals: f64,
    /// Time watched, over all objects; where removals fell between looks, what would teach as much.
    pub exposure: f64,
    /// ln L at its peak.
    pub log_likelihood: f64,
}

/// Lives whose hazard rises (k > 1) or falls (k < 1) with age.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weibull {
    /// 1/a: 63 % have gone at this age.
    pub scale: f64,
    /// k
    pub shape: f64,
    /// Covariance of (ln scale, ln shape): var, cov, var.
    pub covariance: [f64; 3],
    /// ln L at its peak.
    pub log_likelihood: f64,
}

/// A law of lives.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Law {
    /// Memoryless.
    Exponential(Exponential),
    /// Hazard changing with age.
    Weibull(Weibull),
}

impl Exponential {
    /// The most likely rate. Nobody gone is an answer: the rate 0, with an upper bound.
    pub fn fit(lives: &[Life]) -> Result<Self, Unfit> {
        checked(lives)?;
        let removals = lives.iter().filter(|life| life.is_over()).count() as f64;
        let watched: f64 = lives.iter().map(|life| life.low - life.entry).sum();
        let between = lives.iter().any(|life| life.is_over() && life.high > life.low);
        let rate = if between { between_looks(lives) } else { removals / watched };
        if !rate.is_finite() {
            return Err(Unfit::OneLook);
        }
        let exposure = if removals > 0.0 { removals / rate } else { watched };
        let log_likelihood =
            if rate > 0.0 { Terms::new(lives).at(-rate.ln(), 0.0).value } else { 0.0 };
        Ok(Self { rate, removals, exposure, log_likelihood })
    }

    /// Ends of the interval of the rate at `confidence`: chance of so many removals or more, or fewer, in the exposure.
    ///
    /// ```text
    /// Gamma(d, T) and Gamma(d + 1, T) quantiles; with d = 0 the upper end is ln(1/tail) / T
    /// ```
    pub fn interval(&self, confidence: f64) -> [f64; 2] {
        let tail = (1.0 - confidence) / 2.0;
        let point = |shape: f64, q: f64| {
            Gamma::new(shape, self.exposure).map_or(f64::INFINITY, |law| law.inverse_cdf(q))
        };
        let low = if self.removals > 0.0 { point(self.removals, tail) } else { 0.0 };
        [low, point(self.removals + 1.0, 1.0 - tail)]
    }

    /// Standard error of the mean life 1/a.
    pub fn mean_error(&self) -> f64 {
        1.0 / (self.rate * self.removals.sqrt())
    }
}

/// The rate at which the slope of ln L vanishes, removals falling between looks.
///
/// ```text
/// Σ_gone (high − low) / (e^(a(high − low)) − 1) + Σ_exact 1/a = Σ (low − entry)
/// ```
fn between_looks(lives: &[Life]) -> f64 {
    let watched: f64 = lives.iter().map(|life| life.low - life.entry).sum();
    let mut gaps: Vec<f64> =
        lives.iter().filter(|life| life.is_over()).map(|life| life.high - life.low).collect();
    gaps.sort_by(f64::total_cmp);
    // looks come in few distinct gaps
    let mut counted: Vec<(f64, f64)> = Vec::new();
    for gap in gaps {
        match counted.last_mut() {
            Some((last, count)) if (*last - gap).abs() <= 1e-12 * gap => *count += 1.0,
            _ => counted.push((gap, 1.0)),
        }
    }
    let slope = |a: f64| {
        let gone = counted.iter().map(|&(gap, count)| {
            count * if gap > 0.0 { gap / (a * gap).exp_m1() } else { 1.0 / a }
        });
        gone.sum::<f64>() - watched
    };
    // all gone before the second look: the likelihood rises for ever
    if watched <= 0.0 {
        return f64::INFINITY;
    }
    let longest = lives.iter().map(|life| life.low).fold(0.0, f64::max);
    crate::solve::falling(1e-12 / longest, 1e12 / longest, slope)
}

impl Weibull {
    /// The most likely scale and shape.
    pub fn fit(lives: &[Life]) -> Result<Self, Unfit> {
        let start = Exponential::fit(lives)?;
        if start.removals < 1.0 {
            return Err(Unfit::NoRemovals { exposure: start.exposure });
        }
        // a thinned sample brings the start close, so that few steps go over all lives
        let mut at = (-start.rate.ln(), 0.0);
        let thin = lives.len() / THIN;
        if thin >= 4 {
            let sample: Vec<Life> = lives.iter().step_by(thin).copied().collect();
            at = climb(&Terms::new(&sample), at).map_or(at, |(at, _)| at);
        }
        let ((b, p), peak) = climb(&Terms::new(lives), at).ok_or(Unfit::NoPeak)?;
        let known = p.abs() >= SHAPES;
        let covariance = if known { peak.covariance_of_scale() } else { peak.covariance() };
        let covariance = covariance.ok_or(Unfit::NoPeak)?;
        Ok(Self { scale: b.exp(), shape: p.exp(), covariance, log_likelihood: peak.value })
    }

    /// Standard errors of scale and shape.
    pub fn errors(&self) -> [f64; 2] {
        let [b, _, p] = self.covariance;
        [self.scale * b.sqrt(), self.shape * p.sqrt()]
    }
}

/// Lives looked at to find where to start.
const THIN: usize = 5_000;
/// Steps before giving up; six or seven are usual.
const STEPS: usize = 100;
/// Shapes from e^−5 to e^5. Where the likelihood rises for ever towards one age for all (advertisements that run thirty
/// days), the last of them stands for it.
const SHAPES: f64 = 5.0;

/// Newton's steps up to the peak, halved where they would lead down.
fn climb(terms: &Terms, start: (f64, f64)) -> Option<((f64, f64), Peak)> {
    let mut at = start;
    let mut here = terms.at(at.0, at.1);
    for _ in 0..STEPS {
        let (mut db, mut dp) = here.step();
        if (at.1 + dp).abs() > SHAPES && at.1.abs() >= SHAPES {
            (db, dp) = (here.step_of_scale(), 0.0);
        }
        let far = db.abs().max(dp.abs());
        if far > 2.0 {
            (db, dp) = (db * 2.0 / far, dp * 2.0 / far);
        }
        let mut size = 1.0;
        let next = loop {
            let to = (at.0 + size * db, (at.1 + size * dp).clamp(-SHAPES, SHAPES));
            let there = terms.at(to.0, to.1);
            if there.value >= here.value - 1e-12 * here.value.abs() {
                break (to, there);
            }
            size /= 2.0;
            if size < 1e-10 {
                break (at, here);
            }
        };
        let moved = (next.0.0 - at.0).abs().max((next.0.1 - at.1).abs());
        (at, here) = next;
        if moved < 1e-9 {
            return Some((at, here));
        }
    }
    None
}

/// ln L with its slope and curvature at one place.
#[derive(Clone, Copy, Debug, Default)]
struct Peak {
    value: f64,
    slope: [f64; 2],
    /// ∂²/∂b², ∂²/∂b∂p, ∂²/∂p²
    bend: [f64; 3],
}

impl Peak {
    /// Newton's step; uphill along the slope where ln L is not curved like a peak.
    fn step(&self) -> (f64, f64) {
        let [bb, bp, pp] = self.bend;
        let det = bb * pp - bp * bp;
        let [gb, gp] = self.slope;
        if bb < 0.0 && det > 0.0 {
            (-(pp * gb - bp * gp) / det, -(bb * gp - bp * gb) / det)
        } else {
            let size = gb.abs().max(gp.abs()).max(1e-300);
            (gb / size, gp / size)
        }
    }

    /// Newton's step along the scale alone.
    fn step_of_scale(&self) -> f64 {
        let (slope, bend) = (self.slope[0], self.bend[0]);
        if bend < 0.0 { -slope / bend } else { slope.signum() * 0.1 }
    }

    /// The same for a shape that is taken as it is.
    fn covariance_of_scale(&self) -> Option<[f64; 3]> {
        let bend = self.bend[0];
        (bend < 0.0).then(|| [-1.0 / bend, 0.0, 0.0])
    }

    /// The inverse of the observed information.
    fn covariance(&self) -> Option<[f64; 3]> {
        let [bb, bp, pp] = self.bend;
        let det = bb * pp - bp * bp;
        (bb < 0.0 && det > 0.0).then(|| [-pp / det, bp / det, -bb / det])
    }
}

/// H and its derivatives at ln t = x.
#[derive(Clone, Copy)]
struct Hazard {
    value: f64,
    slope: [f64; 2],
    bend: [f64; 3],
}

impl Hazard {
    fn at(x: f64, b: f64, k: f64) -> Self {
        let u = k * (x - b);
        let value = u.min(690.0).exp();
        Self {
            value,
            slope: [-k * value, u * value],
            bend: [k * k * value, -k * value * (u + 1.0), value * u * (u + 1.0)],
        }
    }
}

/// Lives, with their logarithms taken once.
struct Terms {
    /// ln entry, of those entered later than at birth.
    entries: Vec<f64>,
    /// ln low of exact removals.
    exact: Vec<f64>,
    /// ln low of those still there.
    there: Vec<f64>,
    /// ln low (−∞ at 0) and ln high of those gone between.
    between: Vec<(f64, f64)>,
}

impl Terms {
    fn new(lives: &[Life]) -> Self {
        let mut terms =
            Self { entries: Vec::new(), exact: Vec::new(), there: Vec::new(), between: Vec::new() };
        for life in lives {
            if life.entry > 0.0 {
                terms.entries.push(life.entry.ln());
            }
            if !life.is_over() {
                if life.low > 0.0 {
                    terms.there.push(life.low.ln());
                }
            } else if life.high > life.low {
                terms.between.push((life.low.ln(), life.high.ln()));
            } else {
                terms.exact.push(life.low.ln());
            }
        }
        terms
    }

    /// ln L at scale e^b and shape e^p.
    fn at(&self, b: f64, p: f64) -> Peak {
        let k = p.exp();
        let mut sum = Peak::default();
        let mut add = |hazard: Hazard, sign: f64| {
            sum.value += sign * hazard.value;
            (0..2).for_each(|i| sum.slope[i] += sign * hazard.slope[i]);
            (0..3).for_each(|i| sum.bend[i] += sign * hazard.bend[i]);
        };
        self.entries.iter().for_each(|&x| add(Hazard::at(x, b, k), 1.0));
        self.there.iter().for_each(|&x| add(Hazard::at(x, b, k), -1.0));
        self.exact.iter().for_each(|&x| add(Hazard::at(x, b, k), -1.0));
        for &x in &self.exact {
            // ln h = p + u − x
            let u = k * (x - b);
            sum.value += p + u - x;
            sum.slope[0] -= k;
            sum.slope[1] += 1.0 + u;
            sum.bend[1] -= k;
            sum.bend[2] += u;
        }
        for &(low, high) in &self.between {
            gone_between(&mut sum, low, high, b, k);
        }
        sum
    }
}

/// Adds ln(S(low) − S(high)).
fn gone_between(sum: &mut Peak, low: f64, high: f64, b: f64, k: f64) {
    let after = Hazard::at(high, b, k);
    let mut over = after;
    if low > f64::NEG_INFINITY {
        let before = Hazard::at(low, b, k);
        sum.value -= before.value;
        (0..2).for_each(|i| sum.slope[i] -= before.slope[i]);
        (0..3).for_each(|i| sum.bend[i] -= before.bend[i]);
        over.value -= before.value;
        (0..2).for_each(|i| over.slope[i] -= before.slope[i]);
        (0..3).for_each(|i| over.bend[i] -= before.bend[i]);
    }
    let d = over.value.max(1e-300);
    // g = ln(1 − e^−d), g' = 1/(e^d − 1), g'' = −g'(1 + g')
    sum.value += (-(-d).exp_m1()).ln();
    let first = 1.0 / d.exp_m1();
    let second = if first.is_finite() { -first * (1.0 + first) } else { 0.0 };
    let [sb, sp] = over.slope;
    sum.slope[0] += first * sb;
    sum.slope[1] += first * sp;
    sum.bend[0] += first * over.bend[0] + second * sb * sb;
    sum.bend[1] += first * over.bend[1] + second * sb * sp;
    sum.bend[2] += first * over.bend[2] + second * sp * sp;
}

impl Law {
    /// H(t): the hazard gathered by age t.
    pub fn hazard(&self, age: f64) -> f64 {
        match self {
            Self::Exponential(law) => law.rate * age,
            Self::Weibull(law) => (age / law.scale).powf(law.shape),
        }
    }

    /// S(t): the chance to live longer than t.
    pub fn survival(&self, age: f64) -> f64 {
        (-self.hazard(age)).exp()
    }

    /// S(age + t) / S(age): the chance to live t longer.
    pub fn survival_from(&self, age: f64, t: f64) -> f64 {
        match self {
            Self::Exponential(_) => self.survival(t),
            Self::Weibull(_) => (self.hazard(age) - self.hazard(age + t)).exp(),
        }
    }

    /// ∫₀ᵗ S: how much of t an object that arrives at its start is there on average.
    ///
    /// ```text
    /// (1 − e^(−at))/a      Γ(1 + 1/k)/a · P(1/k, (at)^k)
    /// ```
    pub fn presence(&self, t: f64) -> f64 {
        if t <= 0.0 {
            return 0.0;
        }
        match self {
            Self::Exponential(law) if law.rate * t < 1e-12 => t,
            Self::Exponential(law) => -(-law.rate * t).exp_m1() / law.rate,
            Self::Weibull(law) => {
                let power = 1.0 / law.shape;
                let within = (t / law.scale).powf(law.shape);
                if within < 1e-12 {
                    return t;
                }
                law.scale * gamma(1.0 + power) * gamma_lr(power, within)
            }
        }
    }

    /// The mean life; infinite if nobody goes.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Exponential(law) => 1.0 / law.rate,
            Self::Weibull(law) => law.scale * gamma(1.0 + 1.0 / law.shape),
        }
    }

    /// The age by which half have gone.
    pub fn median(&self) -> f64 {
        match self {
            Self::Exponential(law) => std::f64::consts::LN_2 / law.rate,
            Self::Weibull(law) => law.scale * std::f64::consts::LN_2.powf(1.0 / law.shape),
        }
    }

    /// ln L at its peak.
    pub fn log_likelihood(&self) -> f64 {
        match self {
            Self::Exponential(law) => law.log_likelihood,
            Self::Weibull(law) => law.log_likelihood,
        }
    }

    /// Free parameters.
    pub fn parameters(&self) -> usize {
        match self {
            Self::Exponential(_) => 1,
            Self::Weibull(_) => 2,
        }
    }

    /// Variance of ln H(t): what is not known of the law itself.
    pub fn spread(&self, age: f64) -> f64 {
        match self {
            Self::Exponential(law) => 1.0 / law.removals.max(0.5),
            Self::Weibull(law) => {
                // ln H = k(ln t − b): ∂/∂b = −k, ∂/∂ln k = k(ln t − b)
                let u = law.shape * (age.max(1e-12) / law.scale).ln();
                let [bb, bp, pp] = law.covariance;
                law.shape * law.shape * bb - 2.0 * law.shape * u * bp + u * u * pp
            }
        }
    }
}

#[cfg(test)]
mod laws_of_it {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-6 * (1.0 + b.abs())
    }

    /// Lives drawn from a Weibull law, looked at every `gap`, entered at a random age, watched for a while.
    fn drawn(n: usize, scale: f64, shape: f64, gap: f64, seed: u64) -> Vec<Life> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut lives = Vec::new();
        while lives.len() < n {
            let u: f64 = rng.random();
            let age = scale * (-(1.0 - u).ln()).powf(1.0 / shape);
            let entry = if rng.random::<f64>() < 0.5 { 0.0 } else { rng.random::<f64>() * scale };
            let watched = entry + 2.0 * scale * rng.random::<f64>() + gap;
            if age <= entry {
                continue;
            }
            let steps = ((age - entry) / gap).floor();
            let low = entry + steps * gap;
            let life = if low + gap > watched {
                Life::there(entry + ((watched - entry) / gap).floor() * gap)
            } else {
                Life::between(low, low + gap)
            };
            lives.push(life.from(entry));
        }
        lives
    }

    #[test]
    fn sa_07_truncated_and_interval_censored_lives_give_back_their_law() {
        let lives = drawn(20_000, 12.0, 0.7, 3.0, 1);
        let law = Weibull::fit(&lives).unwrap();
        let [scale, shape] = law.errors();
        assert!((law.scale - 12.0).abs() < 4.0 * scale, "{law:?}");
        assert!((law.shape - 0.7).abs() < 4.0 * shape, "{law:?}");
        // counted from the middle of the gap and from birth, as if nothing were hidden, it is far off
        let naive: Vec<Life> =
            lives.iter().filter(|life| life.is_over()).map(|life| Life::exact(life.high)).collect();
        let wrong = Weibull::fit(&naive).unwrap();
        assert!((wrong.shape - 0.7).abs() > 20.0 * shape, "{wrong:?}");
    }

    #[test]
    fn ends_are_answers() {
        assert_eq!(Exponential::fit(&[]), Err(Unfit::Empty));
        assert_eq!(Exponential::fit(&[Life::between(2.0, 1.0)]), Err(Unfit::Impossible(0)));
        assert_eq!(Exponential::fit(&[Life::there(0.0)]), Err(Unfit::OneLook));
        assert_eq!(Exponential::fit(&[Life::between(0.0, 1.0)]), Err(Unfit::OneLook));
        // nobody gone in 100: the rate is 0, and with 95 % (two-sided) confidence below ln 40 / 100
        let none = Exponential::fit(&[Life::there(60.0), Life::there(40.0)]).unwrap();
        let [low, high] = none.interval(0.95);
        assert!(none.rate.abs() < 1e-300 && low.abs() < 1e-300 && close(high, 40f64.ln() / 100.0));
        assert_eq!(
            Weibull::fit(&[Life::there(60.0), Life::there(40.0)]),
            Err(Unfit::NoRemovals { exposure: 100.0 })
        );
        let steepest = Weibull::fit(&[Life::exact(3.0); 5]).unwrap();
        assert!(close(steepest.scale, 3.0) && steepest.shape > 100.0, "{steepest:?}");
        // one removal is enough for a rate
        assert!(close(Exponential::fit(&[Life::exact(4.0)]).unwrap().rate, 0.25));
    }

    /// Everybody lives fifty days: a law as steep as there is, not the exponential.
    #[test]
    fn one_age_for_all_is_the_steepest_law() {
        let gone = (0..50).map(|_| Life::between(49.5, 50.5).from(0.5));
        let there = (0..49u8).map(|age| Life::there(f64::from(age) + 0.5).from(0.5));
        let law = Weibull::fit(&gone.chain(there).collect::<Vec<_>>()).unwrap();
        assert!(law.shape > 100.0 && (law.scale - 50.0).abs() < 1.0, "{law:?}");
        let law = Law::Weibull(law);
        assert!(law.survival_from(40.0, 3.0) > 0.999 && law.survival_from(48.0, 4.0) < 0.001);
        assert!(law.spread(30.0).is_finite() && law.presence(20.0).is_finite());
    }

    proptest! {
        #[test]
        fn time_in_other_units_is_the_same_law(seed in 0u64..50, unit in 0.01..100f64) {
            let lives = drawn(200, 5.0, 1.3, 1.0, seed);
            let other: Vec<Life> = lives
                .iter()
                .map(|life| Life { entry: life.entry * unit, low: life.low * unit, high: life.high * unit })
                .collect();
            let (one, two) = (Weibull::fit(&lives).unwrap(), Weibull::fit(&other).unwrap());
            prop_assert!((two.scale / (one.scale * unit) - 1.0).abs() < 1e-5);
            prop_assert!((two.shape / one.shape - 1.0).abs() < 1e-5);
            prop_assert!(one.log_likelihood >= Exponential::fit(&lives).unwrap().log_likelihood - 1e-9);
        }

        #[test]
        fn narrow_gaps_are_moments(rate in 0.05..2.0f64, seed in 0u64..50) {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let ages: Vec<f64> = (0..60).map(|_| -(1.0 - rng.random::<f64>()).ln() / rate + 1e-3).collect();
            let exact: Vec<Life> = ages.iter().map(|&age| Life::exact(age)).collect();
            let narrow: Vec<Life> = ages.iter().map(|&age| Life::between(age, age + 1e-7)).collect();
            let (one, two) = (Exponential::fit(&exact).unwrap(), Exponential::fit(&narrow).unwrap());
            prop_assert!((one.rate / two.rate - 1.0).abs() < 1e-4);
        }

        #[test]
        fn presence_is_the_integral_of_survival(scale in 0.5..20.0f64, shape in 0.4..3.0f64, t in 0.1..30.0f64) {
            let law = Law::Weibull(Weibull { scale, shape, covariance: [0.0; 3], log_likelihood: 0.0 });
            let n = 20_000;
            let step = t / f64::from(n);
            let sum: f64 = (0..n).map(|i| law.survival((f64::from(i) + 0.5) * step) * step).sum();
            prop_assert!((law.presence(t) - sum).abs() < 2e-3 * t);
            prop_assert!(law.presence(t) <= t + 1e-12 && law.presence(t) <= law.mean() + 1e-9);
        }
    }
}
