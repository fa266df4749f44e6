//! Two sites, exactly: the sampling paper's Figure 1 without a random number.
//!
//! Sites A and B have 100 pages each, 70 and 20 of them changed; 100 downloads, s samples from each site, drawn
//! without replacement. All outcomes (x_A, x_B) are summed with their exact probabilities:
//!
//! ```text
//! P(x) = C(c, x) C(N−c, s−x) / C(N, s)           c changed pages of N
//! greedy        all L = R − 2s downloads left go to the site with more changed samples, half and half in a tie
//! proportional  L·x_A/(x_A + x_B) and L·x_B/(x_A + x_B), evenly where both are 0; not rounded
//! gain          x_A + x_B + Σ downloads · (c − x)/(N − s)
//! ```
//!
//! Paper: CN-24, CN-25 (`docs/papers/cho-ntoulas-2002.md`).

use num_bigint::BigInt;
use num_rational::BigRational;

/// Pages of a site.
const N: u32 = 100;
/// Changed pages of A and of B.
const CHANGED: [u32; 2] = [70, 20];
/// Downloads a cycle.
const R: u32 = 100;

/// What s samples a site lead to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Expected ChangeRatio of greedy.
    pub greedy: BigRational,
    /// Expected ChangeRatio of proportional.
    pub proportional: BigRational,
    /// P(the site with fewer changed pages shows more changed samples).
    pub wrong: BigRational,
    /// P(both show equally many).
    pub tie: BigRational,
}

/// Exactly, for `samples` from 0 to 50.
pub fn outcome(samples: u32) -> Outcome {
    let zero = || BigRational::from_integer(BigInt::from(0));
    let whole = |n: u32| BigRational::from_integer(BigInt::from(n));
    let half = BigRational::new(BigInt::from(1), BigInt::from(2));
    let left = whole(R - 2 * samples);
    let chances = CHANGED.map(|changed| sampled(changed, samples));
    let mut total = Outcome { greedy: zero(), proportional: zero(), wrong: zero(), tie: zero() };
    for (a, chance_a) in chances[0].iter().enumerate() {
        for (b, chance_b) in chances[1].iter().enumerate() {
            let chance = chance_a * chance_b;
            let [a, b] = [a, b].map(|x| u32::try_from(x).unwrap_or(0));
            // what one more download of each site is worth
            let worth = |site: usize, x: u32| {
                if samples == N { zero() } else { whole(CHANGED[site] - x) / whole(N - samples) }
            };
            let (worth_a, worth_b) = (worth(0, a), worth(1, b));
            let to_a = if a + b == 0 { half.clone() } else { whole(a) / whole(a + b) };
            let chosen = match a.cmp(&b) {
                std::cmp::Ordering::Greater => worth_a.clone(),
                std::cmp::Ordering::Less => worth_b.clone(),
                std::cmp::Ordering::Equal => (&worth_a + &worth_b) * &half,
            };
            let shared = &to_a * &worth_a + (whole(1) - &to_a) * &worth_b;
            total.greedy += &chance * (whole(a + b) + &left * chosen) / whole(R);
            total.proportional += &chance * (whole(a + b) + &left * shared) / whole(R);
            if a < b {
                total.wrong += &chance;
            }
            if a == b {
                total.tie += &chance;
            }
        }
    }
    total
}

/// P(x) for x = 0..=samples.
fn sampled(changed: u32, samples: u32) -> Vec<BigRational> {
    let all = choose(N, samples);
    (0..=samples.min(changed))
        .map(|x| {
            BigRational::new(choose(changed, x) * choose(N - changed, samples - x), all.clone())
        })
        .collect()
}

/// C(n, k), zero for k > n.
fn choose(n: u32, k: u32) -> BigInt {
    if k > n {
        return BigInt::from(0);
    }
    (0..k).fold(BigInt::from(1), |product, i| product * BigInt::from(n - i) / BigInt::from(i + 1))
}

/// As a float, for charts.
pub fn float(exact: &BigRational) -> f64 {
    // a shift keeps 60 bits of numbers far beyond the range of floats
    let scaled = (exact * BigRational::from_integer(BigInt::from(1u64 << 60))).to_integer();
    i64::try_from(scaled).map_or(f64::NAN, |scaled| scaled as f64 / (1u64 << 60) as f64)
}
