//! The one integral: a smooth function over a stretch, or over all that lies beyond a point. No paper.
//!
//! Gauss and Legendre's eight points in each of many panels: a dozen digits where the function is smooth. Where it has
//! a corner, the caller cuts there.

/// Half of the points and weights on \[−1, 1\]; the other half mirrors them.
const POINTS: [(f64, f64); 4] = [
    (0.183_434_642_495_649_8, 0.362_683_783_378_362),
    (0.525_532_409_916_329, 0.313_706_645_877_887_3),
    (0.796_666_477_413_626_7, 0.222_381_034_453_374_5),
    (0.960_289_856_497_536_3, 0.101_228_536_290_376_3),
];
/// Panels a stretch is cut into.
const PANELS: u32 = 128;

/// ∫ f over \[from, to\]
pub fn stretch(from: f64, to: f64, f: impl Fn(f64) -> f64) -> f64 {
    let half = (to - from) / f64::from(2 * PANELS);
    let panel = |at: u32| {
        let middle = from + f64::from(2 * at + 1) * half;
        POINTS.iter().map(|(x, w)| w * (f(middle - half * x) + f(middle + half * x))).sum::<f64>()
    };
    half * (0..PANELS).map(panel).sum::<f64>()
}

/// ∫ f over \[from, ∞), through s = from + scale·z/(1 − z): half of the points lie within `scale`.
pub fn half_line(from: f64, scale: f64, f: impl Fn(f64) -> f64) -> f64 {
    stretch(0.0, 1.0, |z| {
        let left = 1.0 - z;
        f(from + scale * z / left) * scale / (left * left)
    })
}

/// ∫ f over \[0, ∞), cut at `edges`.
pub(crate) fn with_edges(edges: &[f64], scale: f64, f: impl Fn(f64) -> f64) -> f64 {
    let mut edges: Vec<f64> = edges.iter().copied().filter(|&edge| edge > 0.0).collect();
    edges.sort_by(f64::total_cmp);
    let (mut from, mut sum) = (0.0, 0.0);
    for edge in edges {
        sum += stretch(from, edge, &f);
        from = edge;
    }
    sum + half_line(from, scale, f)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// ∫₀^∞ e^(−ax) = 1/a and ∫₀^b x³ = b⁴/4
        #[test]
        fn knows_what_can_be_done_by_hand(a in 0.05..20.0f64, b in 0.1..10.0f64) {
            prop_assert!((half_line(0.0, 1.0, |x| (-a * x).exp()) * a - 1.0).abs() < 1e-9);
            prop_assert!((stretch(0.0, b, |x| x * x * x) / b.powi(4) - 0.25).abs() < 1e-12);
            let corner = |x: f64| (b - x).max(0.0);
            prop_assert!((with_edges(&[b], 1.0, corner) - b * b / 2.0).abs() < 1e-9);
        }
    }
}
