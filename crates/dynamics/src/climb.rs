//! The one maximiser in several dimensions: up a smooth hill without its slope (Nelder and Mead 1965). No paper.
//!
//! For likelihoods with a handful of parameters, whose slopes would be longer than the formula. A place where the
//! function is not defined is −∞ there, and is never chosen.

/// The place near `start` where `f` is greatest, and how great; `size` is a first step.
pub fn climb(start: &[f64], size: f64, f: impl Fn(&[f64]) -> f64) -> (Vec<f64>, f64) {
    let (mut best, mut value) = (start.to_vec(), f(start));
    // a simplex may fold up early: it is set up anew, smaller, until that gains nothing
    let mut step = size;
    for _ in 0..12 {
        let (place, height) = fold(&best, step, &f);
        let gain = height - value;
        if height > value {
            (best, value) = (place, height);
        }
        step *= 0.3;
        if gain.abs() < 1e-11 * (1.0 + value.abs()) {
            break;
        }
    }
    (best, value)
}

/// One simplex, until it has folded up.
fn fold(start: &[f64], size: f64, f: &impl Fn(&[f64]) -> f64) -> (Vec<f64>, f64) {
    let n = start.len();
    let mut corners: Vec<(Vec<f64>, f64)> = Vec::with_capacity(n + 1);
    corners.push((start.to_vec(), f(start)));
    for at in 0..n {
        let mut corner = start.to_vec();
        corner[at] += size;
        let height = f(&corner);
        corners.push((corner, height));
    }
    for _ in 0..400 * (n + 1) {
        corners.sort_by(|a, b| b.1.total_cmp(&a.1));
        let spread = (corners[0].1 - corners[n].1).abs();
        if spread <= 1e-13 * (1.0 + corners[0].1.abs()) {
            break;
        }
        let middle: Vec<f64> =
            (0..n).map(|at| corners[..n].iter().map(|c| c.0[at]).sum::<f64>() / n as f64).collect();
        let worst = corners[n].0.clone();
        let try_at = |by: f64| {
            let place: Vec<f64> =
                middle.iter().zip(&worst).map(|(m, w)| m + by * (m - w)).collect();
            let height = f(&place);
            (place, height)
        };
        let mirrored = try_at(1.0);
        let chosen = if mirrored.1 > corners[0].1 {
            let farther = try_at(2.0);
            if farther.1 > mirrored.1 { farther } else { mirrored }
        } else if mirrored.1 > corners[n - 1].1 {
            mirrored
        } else {
            let inside = try_at(if mirrored.1 > corners[n].1 { 0.5 } else { -0.5 });
            if inside.1 > corners[n].1 {
                inside
            } else {
                let top = corners[0].0.clone();
                for corner in &mut corners[1..] {
                    corner.0.iter_mut().zip(&top).for_each(|(x, t)| *x = f64::midpoint(*x, *t));
                    corner.1 = f(&corner.0);
                }
                continue;
            }
        };
        corners[n] = chosen;
    }
    corners.sort_by(|a, b| b.1.total_cmp(&a.1));
    corners.swap_remove(0)
}

#[cfg(test)]
mod laws_of_it {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn finds_the_top_of_a_tilted_hill(a in -5.0..5.0f64, b in -5.0..5.0f64, tilt in -0.9..0.9f64) {
            let hill = |at: &[f64]| {
                let (x, y) = (at[0] - a, at[1] - b);
                -(x * x + 10.0 * y * y + 2.0 * tilt * x * y)
            };
            let (top, height) = climb(&[0.0, 0.0], 0.5, hill);
            prop_assert!((top[0] - a).abs() < 1e-4 && (top[1] - b).abs() < 1e-4 && height > -1e-8);
        }
    }
}
