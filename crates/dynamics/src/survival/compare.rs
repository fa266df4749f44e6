//! Does the law fit, is the second parameter needed, and do categories differ? Each said with a test.
//!
//! ```text
//! Weibull or exponential    2·(ln L_W − ln L_E)              χ² with 1 degree under k = 1
//! a law and the lives       Σ_bands (O − E)²/E, E = Σ H(leaves band) − H(enters band)
//!                                                            χ² with bands − parameters degrees
//! groups (log-rank)         Σ_g (O_g − E_g)²/E_g             χ² with groups − 1 degrees (a little cautious)
//! ```
//!
//! Bands are of age, so the second also answers "by age": where more objects went than the law expects. Paper: SA-06,
//! SA-16, SA-21 (`docs/papers/repository-quality.md`).

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::{Exponential, Law, Life, Unfit, Weibull};

/// Outcome of a test: a large statistic, a small chance, speak against "no difference".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tested {
    /// χ²
    pub statistic: f64,
    /// Degrees of freedom.
    pub degrees: usize,
    /// The chance of so much or more if there were no difference.
    pub chance: f64,
}

impl Tested {
    fn new(statistic: f64, degrees: usize) -> Self {
        let law = ChiSquared::new(degrees.max(1) as f64);
        let chance = law.map_or(1.0, |law| 1.0 - law.cdf(statistic.max(0.0)));
        Self { statistic, degrees, chance }
    }
}

/// The law to use: Weibull if it is needed (chance below 1 %), else exponential; with the test that decided.
pub fn choose(lives: &[Life]) -> Result<(Law, Option<Tested>), Unfit> {
    let plain = Exponential::fit(lives)?;
    let Ok(weibull) = Weibull::fit(lives) else { return Ok((Law::Exponential(plain), None)) };
    let gain = 2.0 * (weibull.log_likelihood - plain.log_likelihood);
    let tested = Tested::new(gain, 1);
    let law = if tested.chance < 0.01 { Law::Weibull(weibull) } else { Law::Exponential(plain) };
    Ok((law, Some(tested)))
}

/// Removals in a band of age, seen and expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// From this age.
    pub from: f64,
    /// To this age; infinite in the last.
    pub to: f64,
    /// Removals seen.
    pub seen: f64,
    /// Removals the law expects of those watched.
    pub expected: f64,
}

/// Removals by age against a law; bands hold about as many removals each, at least 8.
pub fn by_age(lives: &[Life], law: &Law, bands: usize) -> (Vec<Band>, Tested) {
    let exit =
        |life: &Life| if life.is_over() { f64::midpoint(life.low, life.high) } else { life.low };
    let mut gone: Vec<f64> = lives.iter().filter(|life| life.is_over()).map(exit).collect();
    gone.sort_by(f64::total_cmp);
    let bands = bands.min(gone.len() / 8).max(1);
    let mut edges: Vec<f64> = (1..bands).map(|at| gone[at * gone.len() / bands]).collect();
    edges.dedup();
    edges.insert(0, 0.0);
    edges.push(f64::INFINITY);
    let mut table: Vec<Band> = edges
        .windows(2)
        .map(|edge| Band { from: edge[0], to: edge[1], seen: 0.0, expected: 0.0 })
        .collect();
    for life in lives {
        let (enters, leaves) = (life.entry, exit(life));
        for band in &mut table {
            let (from, to) = (enters.max(band.from), leaves.min(band.to));
            if to > from {
                band.expected += law.hazard(to) - law.hazard(from);
            }
            let last = band.to.is_infinite();
            if life.is_over() && leaves >= band.from && (leaves < band.to || last) {
                band.seen += 1.0;
            }
        }
    }
    let statistic = table
        .iter()
        .filter(|band| band.expected > 0.0)
        .map(|band| (band.seen - band.expected).powi(2) / band.expected)
        .sum();
    let degrees = table.len().saturating_sub(law.parameters());
    (table, Tested::new(statistic, degrees))
}

/// Do these groups live equally long?
pub fn log_rank(groups: &[Vec<Life>]) -> Option<Tested> {
    let groups: Vec<&Vec<Life>> = groups.iter().filter(|group| !group.is_empty()).collect();
    if groups.len() < 2 {
        return None;
    }
    let all: Vec<Life> = groups.iter().flat_map(|group| group.iter().copied()).collect();
    let curve = super::Curve::of(&all).ok()?;
    let mut statistic = 0.0;
    for group in &groups {
        let seen = group.iter().filter(|life| life.is_over()).count() as f64;
        let expected: f64 = group
            .iter()
            .map(|life| {
                let exit =
                    if life.is_over() { f64::midpoint(life.low, life.high) } else { life.low };
                curve.hazard(exit) - curve.hazard(life.entry)
            })
            .sum();
        if expected > 0.0 {
            statistic += (seen - expected).powi(2) / expected;
        }
    }
    Some(Tested::new(statistic, groups.len() - 1))
}

#[cfg(test)]
mod laws_of_it {
    use rand::{RngExt as _, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn drawn(n: usize, scale: f64, shape: f64, seed: u64) -> Vec<Life> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let draw = |_| {
            let age = scale * (-(1.0 - rng.random::<f64>()).ln()).powf(1.0 / shape) + 1e-9;
            let end = 2.0 * scale * rng.random::<f64>() + 1e-6;
            if age < end { Life::exact(age) } else { Life::there(end) }
        };
        (0..n).map(draw).collect()
    }

    /// Of 200 memoryless samples about 1 % may be called Weibull (more than 8 has chance 10⁻⁴); a shape of 0.6 never
    /// passes for memoryless.
    #[test]
    fn the_test_keeps_its_level_and_sees_what_is_there() {
        let called = |shape: f64| {
            (0..200)
                .filter(|&seed| {
                    let (law, _) = choose(&drawn(200, 10.0, shape, seed)).unwrap();
                    matches!(law, Law::Weibull(_))
                })
                .count()
        };
        assert!(called(1.0) <= 8, "{}", called(1.0));
        assert_eq!(called(0.6), 200);
    }

    #[test]
    fn bands_count_every_removal_once_and_show_a_wrong_law() {
        let lives = drawn(2_000, 10.0, 0.5, 7);
        let removals = lives.iter().filter(|life| life.is_over()).count() as f64;
        let right = Law::Weibull(Weibull::fit(&lives).unwrap());
        let wrong = Law::Exponential(Exponential::fit(&lives).unwrap());
        let (table, fits) = by_age(&lives, &right, 10);
        let (_, fails) = by_age(&lives, &wrong, 10);
        assert!((table.iter().map(|band| band.seen).sum::<f64>() - removals).abs() < 1e-9);
        assert!((table.iter().map(|band| band.expected).sum::<f64>() - removals).abs() < 1.0);
        assert!(fits.chance > 1e-3 && fails.chance < 1e-9, "{fits:?} {fails:?}");
    }

    #[test]
    fn groups_that_differ_are_told_apart() {
        let same = log_rank(&[drawn(400, 10.0, 1.0, 1), drawn(400, 10.0, 1.0, 2)]).unwrap();
        let other = log_rank(&[drawn(400, 10.0, 1.0, 1), drawn(400, 20.0, 1.0, 2)]).unwrap();
        assert!(same.chance > 1e-3 && other.chance < 1e-9, "{same:?} {other:?}");
        assert_eq!(log_rank(&[drawn(4, 1.0, 1.0, 1), Vec::new()]), None);
    }
}
