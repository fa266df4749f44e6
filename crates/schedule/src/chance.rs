//! Chance as a function: the same question always gets the same draw.
//!
//! A policy that needs randomness asks for `draw(seed, [round, site, …])` instead of holding a
//! generator. So asking twice changes nothing, threads cannot disturb one another, and a replay or a
//! restored snapshot continues with the same luck. No paper; the mixing step is SplitMix64's finaliser.

/// 64 bits that depend on every number given and look random.
pub fn draw<const N: usize>(seed: u64, about: [u64; N]) -> u64 {
    about.into_iter().fold(mix(seed ^ 0x9e37_79b9_7f4a_7c15), |state, word| {
        mix(state.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ word.wrapping_mul(0xd6e8_feb8_6659_fd93))
    })
}

/// An index below `bound`, each equally likely to within 2⁻³²; `bound` must be positive.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the high word of the product is below `bound`"
)]
pub fn below<const N: usize>(bound: usize, seed: u64, about: [u64; N]) -> usize {
    ((u128::from(draw(seed, about)) * bound as u128) >> 64) as usize
}

const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chi-square of 100,000 draws into 64 cells: 63 degrees of freedom, above 103.4 once in a thousand.
    #[test]
    fn draws_are_even_along_every_argument() {
        for turn in [|i| [i, 0, 0], |i| [0, i, 0], |i| [0, 0, i], |i| [i % 7, i / 7, 3]] {
            let mut cells = [0u32; 64];
            for i in 0..100_000 {
                cells[below(64, 42, turn(i))] += 1;
            }
            let expected = 100_000.0 / 64.0;
            let chi2: f64 =
                cells.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
            assert!(chi2 < 103.4, "{chi2}");
        }
    }

    /// Stability: these values are part of every recorded choice. A change belongs under *Decisions*.
    #[test]
    fn the_stream_is_fixed() {
        assert_eq!(draw(0, [0]), 12_035_550_249_420_947_055);
    }
}
