//! An estimate of G_U, bent to what an age law must be: concave, from zero.
//!
//! ```text
//! majorant     the least concave curve over the ages' distribution: its slopes are Grenander's density;
//!              the youngest n^(2/3) of n ages count together
//! regression   min Σ ωᵢ (Gᵢ − Σ w_θ min(xᵢ, θ)/θ)²   over w ≥ 0, θ among the xᵢ
//! ```
//!
//! A single age near nothing would make the curve as steep as it likes at zero, where its slope is the rate:
//! Grenander's density is wrong there at every n, and right from about the n^(2/3)-th age on (Kulikov and Lopuhaä
//! 2006).
//!
//! The first is for ages told (M2), the likeliest of all laws; the second for points with weights (M6's bins), least
//! squares over the very curves an [`AgeLaw`] is made of. Paper: B11; the paper leaves smoothing to future work
//! (`docs/papers/li-cline-loguinov-2015.md`). Cost: majorant O(n); regression O(points²) a sweep.

use super::AgeLaw;
use super::empirical::Empirical;

/// Grenander's law of these ages.
pub fn majorant(ages: &Empirical) -> AgeLaw {
    let n = ages.values().len() as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place in the list"
    )]
    let youngest = (n.powf(2.0 / 3.0).floor() as usize).saturating_sub(1);
    let mut hull: Vec<(f64, f64)> = vec![(0.0, 0.0)];
    for (i, &age) in ages.values().iter().enumerate().skip(youngest) {
        let point = (age.max(f64::MIN_POSITIVE), (i + 1) as f64 / n);
        while hull.len() > 1 && !turns_down(hull[hull.len() - 2], hull[hull.len() - 1], point) {
            hull.pop();
        }
        if hull.last().is_some_and(|last| last.0 < point.0) {
            hull.push(point);
        } else if hull.len() > 1 {
            // as old as the last: only the higher of the two counts
            let last = hull.len() - 1;
            hull[last].1 = point.1;
        }
    }
    let slopes: Vec<f64> = hull.windows(2).map(|p| (p[1].1 - p[0].1) / (p[1].0 - p[0].0)).collect();
    let next = slopes.iter().skip(1).chain([&0.0]);
    let parts = hull[1..].iter().zip(slopes.iter().zip(next));
    AgeLaw::new(parts.map(|(&(theta, _), (slope, next))| (theta, theta * (slope - next))).collect())
}

/// Is the slope from b to c below that from a to b?
fn turns_down(a: (f64, f64), b: (f64, f64), c: (f64, f64)) -> bool {
    (c.1 - b.1) * (b.0 - a.0) < (b.1 - a.1) * (c.0 - b.0)
}

/// Sweeps over all weights; the last ones move nothing that shows.
const SWEEPS: usize = 3_000;

/// The closest age law to points (x, G, weight), in order of x.
pub fn regression(points: &[(f64, f64, f64)]) -> AgeLaw {
    let kernel = |x: f64, theta: f64| (x / theta).min(1.0);
    let inner = |f: &dyn Fn(f64) -> f64, g: &dyn Fn(f64, f64) -> f64| -> f64 {
        points.iter().map(|&(x, y, weight)| weight * f(x) * g(x, y)).sum()
    };
    let thetas: Vec<f64> = points.iter().map(|&(x, ..)| x).collect();
    let gram: Vec<Vec<f64>> = thetas
        .iter()
        .map(|&a| thetas.iter().map(|&b| inner(&|x| kernel(x, a), &|x, _| kernel(x, b))).collect())
        .collect();
    let target: Vec<f64> = thetas.iter().map(|&a| inner(&|x| kernel(x, a), &|_, y| y)).collect();
    let mut weights = vec![0.0f64; thetas.len()];
    for _ in 0..SWEEPS {
        let mut moved = 0.0f64;
        for at in 0..weights.len() {
            let fitted: f64 = gram[at].iter().zip(&weights).map(|(a, w)| a * w).sum();
            let best = (weights[at] + (target[at] - fitted) / gram[at][at].max(f64::MIN_POSITIVE))
                .max(0.0);
            moved = moved.max((best - weights[at]).abs());
            weights[at] = best;
        }
        if moved < 1e-9 {
            break;
        }
    }
    AgeLaw::new(thetas.into_iter().zip(weights).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::interval::testing::PAPER;

    /// Ages 1, 2, 4: the curve over (1, ⅓), (2, ⅔), (4, 1) turns only at 2, so ⅔ − 2·⅙ = ⅓ of the weight is at 2, ⅔ at
    /// 4.
    #[test]
    fn grenander_by_hand() {
        let law = majorant(&[1.0, 2.0, 4.0].into_iter().collect());
        let [(a, u), (b, v)] = law.parts() else { panic!("{law:?}") };
        assert!((a - 2.0).abs() < 1e-12 && (b - 4.0).abs() < 1e-12);
        assert!((u - 1.0 / 3.0).abs() < 1e-12 && (v - 2.0 / 3.0).abs() < 1e-12);
        assert!(majorant(&Empirical::default()).parts().is_empty());
    }

    /// One age of nearly nothing does not move the rate.
    #[test]
    fn a_single_young_age_changes_little() {
        let mut ages: Vec<f64> = (1..1_000).map(|n| f64::from(n) / 100.0).collect();
        let before = majorant(&ages.iter().copied().collect()).rate();
        ages.push(1e-9);
        let after = majorant(&ages.into_iter().collect()).rate();
        assert!(
            (before - 0.1).abs() < 1e-3 && (after / before - 1.0).abs() < 0.02,
            "{before} {after}"
        );
    }

    #[test]
    fn a_concave_curve_is_left_as_it_is() {
        let points: Vec<_> =
            (1..30).map(|n| f64::from(n) * 0.2).map(|x| (x, PAPER.age_cdf(x), 1.0)).collect();
        let law = regression(&points);
        for (x, g, _) in points {
            assert!((law.age_cdf(x) - g).abs() < 2e-3, "{x}");
        }
    }

    proptest! {
        /// Over the distribution from the youngest ages on, touching it at the end.
        #[test]
        fn the_majorant_lies_above(ages in prop::collection::vec(0.01..10.0f64, 1..60)) {
            let ages: Empirical = ages.into_iter().collect();
            let law = majorant(&ages);
            let youngest = (ages.values().len() as f64).powf(2.0 / 3.0).floor();
            let counted = ages.values().iter().filter(|&&x| ages.cdf(x).unwrap() * ages.values().len() as f64 >= youngest);
            for &x in counted {
                prop_assert!(law.age_cdf(x) >= ages.cdf(x).unwrap() - 1e-9);
            }
            prop_assert!((law.age_cdf(11.0) - 1.0).abs() < 1e-9);
        }
    }
}
