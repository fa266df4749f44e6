//! How many samples to take from each site.
//!
//! N sources a site on average, r the share of all sources that can be polled, f the density of ρ over sites,
//! ρ_t the threshold above which a share r of the sites lies, ρ̄ the mean of ρ, ρ̄_r its mean above ρ_t.
//!
//! ```text
//! rule of thumb   s = √(N r)
//! Theorem 2       s = √( N r f(ρ_t) / (6 (ρ̄_r − ρ̄)) )
//! refined (B7)    s = √( N f(ρ_t) ρ_t (1 − ρ_t) / (2 [r ρ̄_r + (1 − r) ρ_t − ρ̄]) )
//! ```
//!
//! Theorem 2 tends to be too small. The refined form weighs what misranking costs, N f(ρ_t) σ²/2 with
//! σ² = ρ_t(1 − ρ_t)/s, against what a sample costs: samples of chosen sites are not wasted, and the threshold
//! moves. Both need the law of ρ, taken as the Beta fitted to the samples of earlier rounds (moments of the
//! beta-binomial); before there are any, the rule of thumb stands in.
//!
//! Paper: CN-26..CN-29, B7 (`docs/papers/cho-ntoulas-2002.md`, section 3.3).

use serde::{Deserialize, Serialize};
use statrs::distribution::{Beta, Continuous, ContinuousCDF};
use statrs::function::beta::beta_reg;

/// How the number is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SampleSize {
    /// The refined formula.
    Refined,
    /// Theorem 2.
    Theorem2,
    /// √(N r)
    Sqrt,
    /// This many.
    Count(u32),
}

/// What is known about a round before sampling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// N: sources a site on average.
    pub site_size: f64,
    /// r: polls over sources, at most 1.
    pub share: f64,
    /// The law of ρ, where earlier rounds told.
    pub law: Option<Law>,
}

impl SampleSize {
    /// Samples a site, at least one unless told otherwise.
    pub fn samples(self, setting: Setting) -> u32 {
        let Setting { site_size, share, law } = setting;
        let thumb = (site_size * share).sqrt();
        let threshold = || law.and_then(|law| law.threshold(share));
        let size = match self {
            Self::Count(count) => return count,
            Self::Sqrt => thumb,
            Self::Theorem2 => threshold().map_or(thumb, |t| theorem2(site_size, share, t)),
            Self::Refined => threshold().map_or(thumb, |t| refined(site_size, share, t)),
        };
        // a law fitted to few sites may say anything: three times the rule of thumb is as far as it is trusted, and
        // a third of the polls stays for downloads, which the formulas take for granted
        let size = if size.is_finite() { size.clamp(thumb / 3.0, thumb * 3.0) } else { thumb };
        let size = size.min(site_size * share * 2.0 / 3.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at least 1, far below 2³²"
        )]
        let whole = size.round().max(1.0) as u32;
        whole
    }
}

/// The law of ρ over sites at the threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// ρ_t
    pub at: f64,
    /// f(ρ_t)
    pub density: f64,
    /// ρ̄_r
    pub mean_above: f64,
    /// ρ̄
    pub mean: f64,
}

/// √(N r f(ρ_t) / (6(ρ̄_r − ρ̄)))
pub fn theorem2(site_size: f64, share: f64, t: Threshold) -> f64 {
    (site_size * share * t.density / (6.0 * (t.mean_above - t.mean))).sqrt()
}

/// √(N f(ρ_t) ρ_t(1 − ρ_t) / (2[r ρ̄_r + (1 − r)ρ_t − ρ̄]))
pub fn refined(site_size: f64, share: f64, t: Threshold) -> f64 {
    let misranked = site_size * t.density * t.at * (1.0 - t.at);
    let wasted = share * t.mean_above + (1.0 - share) * t.at - t.mean;
    (misranked / (2.0 * wasted)).sqrt()
}

/// ρ ~ Beta(a, b) over sites.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Law {
    /// a
    pub a: f64,
    /// b
    pub b: f64,
}

impl Law {
    /// Fits the Beta to (changed, answered) of each site; `None` from fewer than eight sites, or when they
    /// differ no more than chance would have it.
    ///
    /// For equal n: E\[x/n\] = μ, Var\[x/n\] = μ(1−μ)/n·(1 + (n−1)/(a+b+1)); with unequal n the harmonic mean.
    pub fn fit(tallies: impl Iterator<Item = (u32, u32)> + Clone) -> Option<Self> {
        let shares = tallies
            .filter(|&(_, n)| n > 0)
            .map(|(x, n)| (f64::from(x) / f64::from(n), f64::from(n)));
        let sites = shares.clone().count();
        if sites < 8 {
            return None;
        }
        let count = sites as f64;
        let mean = shares.clone().map(|(share, _)| share).sum::<f64>() / count;
        let spread =
            shares.clone().map(|(share, _)| (share - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let n = count / shares.map(|(_, n)| 1.0 / n).sum::<f64>();
        // spread = μ(1−μ)(1 + (n−1)φ)/n with φ = 1/(a+b+1)
        let unit = mean * (1.0 - mean);
        let alike = if n > 1.0 { (spread * n / unit - 1.0) / (n - 1.0) } else { spread / unit };
        if unit <= 0.0 || alike.is_nan() || alike <= 0.001 {
            return None;
        }
        let total = (1.0 / alike.min(0.99) - 1.0).max(0.01);
        Some(Self { a: mean * total, b: (1.0 - mean) * total })
    }

    /// Where a share `r` of the sites lies above.
    pub fn threshold(self, share: f64) -> Option<Threshold> {
        if !(share > 0.0 && share < 1.0) {
            return None;
        }
        let law = Beta::new(self.a, self.b).ok()?;
        let at = law.inverse_cdf(1.0 - share).clamp(1e-9, 1.0 - 1e-9);
        let mean = self.a / (self.a + self.b);
        // E[ρ; ρ > t] = μ·P(Beta(a+1, b) > t)
        let mean_above = mean * (1.0 - beta_reg(self.a + 1.0, self.b, at)) / share;
        Some(Threshold { at, density: law.pdf(at), mean_above, mean })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use statrs::distribution::Normal;

    use super::*;

    fn uniform(share: f64) -> Threshold {
        Law { a: 1.0, b: 1.0 }.threshold(share).unwrap()
    }

    #[test]
    fn cn_26_theorem_two_values() {
        for (n, r, s) in [
            (1400.0, 0.28, 13.4715),
            (1000.0, 0.5, 18.2574),
            (100.0, 0.5, 5.7735),
            (500.0, 0.1, 4.3033),
            (5000.0, 0.2, 20.4124),
        ] {
            assert!((theorem2(n, r, uniform(r)) - s).abs() < 1e-4, "uniform {n} {r}");
        }
        let beta = Law { a: 2.0, b: 5.0 }.threshold(0.28).unwrap();
        assert!((theorem2(1400.0, 0.28, beta) - 23.4).abs() < 0.05);
        assert!((theorem2(1400.0, 0.28, truncated_normal(0.28)) - 22.0).abs() < 0.05);
        assert!((theorem2(1000.0, 0.5, truncated_normal(0.5)) - 33.0).abs() < 0.05);
    }

    /// Normal(.5, .2) cut to [0, 1], by summing on a grid.
    fn truncated_normal(share: f64) -> Threshold {
        let law = Normal::new(0.5, 0.2).unwrap();
        let mass = law.cdf(1.0) - law.cdf(0.0);
        let at = law.inverse_cdf(law.cdf(0.0) + (1.0 - share) * mass);
        let steps = 100_000;
        let width = (1.0 - at) / f64::from(steps);
        let above: f64 = (0..steps)
            .map(|i| at + (f64::from(i) + 0.5) * width)
            .map(|x| x * law.pdf(x) * width)
            .sum();
        Threshold { at, density: law.pdf(at) / mass, mean_above: above / mass / share, mean: 0.5 }
    }

    #[test]
    fn cn_27_rule_of_thumb() {
        let setting = Setting { site_size: 353_000.0 / 252.0, share: 0.283_286, law: None };
        assert!(((setting.site_size * setting.share).sqrt() - 19.9205).abs() < 1e-3);
        assert_eq!(SampleSize::Sqrt.samples(setting), 20);
        assert_eq!(SampleSize::Refined.samples(setting), 20);
    }

    /// B7's predictions, found best in simulation at 20, 26, 8, 7 and 35.
    #[test]
    fn b7_refined_values() {
        for (n, r, s) in [
            (1400.0, 0.28, 23.3),
            (1000.0, 0.5, 31.6),
            (100.0, 0.5, 10.0),
            (500.0, 0.1, 7.5),
            (5000.0, 0.2, 35.4),
        ] {
            assert!(
                (refined(n, r, uniform(r)) - s).abs() < 0.1,
                "{n} {r}: {}",
                refined(n, r, uniform(r))
            );
        }
    }

    proptest! {
        /// CN-28: each factor alone, the others held fixed.
        #[test]
        fn cn_28_theorem_two_grows_with_size_share_and_density(
            n in 10.0..5000.0f64, r in 0.05..0.5f64, density in 0.1..5.0f64, gap in 0.05..0.5f64,
        ) {
            let t = |density: f64, gap: f64| Threshold { at: 0.5, density, mean_above: 0.3 + gap, mean: 0.3 };
            let base = theorem2(n, r, t(density, gap));
            prop_assert!((theorem2(4.0 * n, r, t(density, gap)) / base - 2.0).abs() < 1e-9);
            prop_assert!((theorem2(n, 4.0 * r, t(density, gap)) / base - 2.0).abs() < 1e-9);
            prop_assert!((theorem2(n, r, t(4.0 * density, gap)) / base - 2.0).abs() < 1e-9);
            prop_assert!((theorem2(n, r, t(density, 4.0 * gap)) / base - 0.5).abs() < 1e-9);
        }
    }

    /// The fit finds the Beta behind many sites' samples (even quantiles, expected counts).
    #[test]
    fn the_fit_recovers_the_law() {
        let law = Beta::new(0.6, 1.2).unwrap();
        let tallies: Vec<(u32, u32)> = (0..4_000)
            .map(|i| law.inverse_cdf((f64::from(i) + 0.5) / 4_000.0))
            .map(|share| {
                ((0..2_000).filter(|&k| f64::from(k) + 0.5 < share * 2_000.0).count(), 2_000)
            })
            .map(|(changed, answered)| (u32::try_from(changed).unwrap(), answered))
            .collect();
        let fitted = Law::fit(tallies.into_iter()).unwrap();
        assert!((fitted.a - 0.6).abs() < 0.03 && (fitted.b - 1.2).abs() < 0.06, "{fitted:?}");
    }

    #[test]
    fn sites_that_do_not_differ_have_no_law() {
        assert_eq!(Law::fit((0..100).map(|_| (0, 10))), None);
        assert_eq!(Law::fit((0..100).map(|_| (5, 10))), None);
        assert_eq!(Law::fit((0..3).map(|i| (i, 10))), None);
    }
}
