//! How far an estimated distribution lies from another.
//!
//! ```text
//! WMRD   w = Σ |Hₙ − Gₙ| / ( Σ (Hₙ + Gₙ)/2 )        weighted mean relative difference
//! KS     κ = max |Hₙ − Gₙ|                          Kolmogorov and Smirnov's
//! ```
//!
//! Both over the points at which the two are compared. The sum of WMRD must be cut off somewhere (its denominator grows
//! for ever), and over all x a step function never comes near a smooth one; so the points belong to the number.
//! Paper: (23), (24), BS-37, BS-48 (`docs/papers/li-cline-loguinov-2015.md`).

/// Σ|H − G| / Σ(H + G)/2 over pairs (H, G); zero of nothing.
pub fn wmrd(pairs: &[(f64, f64)]) -> f64 {
    let apart: f64 = pairs.iter().map(|(h, g)| (h - g).abs()).sum();
    let whole: f64 = pairs.iter().map(|(h, g)| f64::midpoint(*h, *g)).sum();
    if whole > 0.0 { apart / whole } else { 0.0 }
}

/// max|H − G| over pairs (H, G); zero of nothing.
pub fn ks(pairs: &[(f64, f64)]) -> f64 {
    pairs.iter().map(|(h, g)| (h - g).abs()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (.5, .75) and (.8, .9): .35 over (.625 + .85); at most .25 apart.
    #[test]
    fn by_hand() {
        let pairs = [(0.5, 0.75), (0.8, 0.9)];
        assert!((wmrd(&pairs) - 0.35 / 1.475).abs() < 1e-12 && (ks(&pairs) - 0.25).abs() < 1e-12);
        assert!(wmrd(&[]).abs() < 1e-12 && ks(&[]).abs() < 1e-12);
    }
}
