//! Is a source periodic at all, and with which period?
//!
//! Against a constant rate λ₀, a rhythm λ₀(1 + Σ a_h cos hωt + b_h sin hωt) pulls the likelihood by its scores, with
//! C = ∫ₐᵇ of the wave:
//!
//! ```text
//! quiet (a, b]     −λ₀C
//! changed (a, b]   (1/p − 1) λ₀C          p = 1 − e^(−λ₀(b − a))
//! change at b      wave(b) − λ₀C
//! ```
//!
//! The scores of one period are one vector S_d of three waves' cosines and sines. Without rhythm its mean is zero, however
//! the changes of one period hang together. T = (ΣS)ᵀ(ΣSSᵀ)⁻¹(ΣS) then has (D − q)T / (q(D − T)) ~ F(q, D − q): Hotelling's
//! test over the D periods, q = 6. Which period: the one whose profile makes held-out periods likeliest.
//!
//! Paper: CR-20; our own test (`docs/papers/polling-times.md`).

use std::f64::consts::TAU;

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use super::{Evidence, Found, Profile};

/// Waves per period.
const WAVES: usize = 3;
/// q: a cosine and a sine each.
const SCORES: usize = 2 * WAVES;
/// The chance of finding a rhythm where there is none that is taken, over all periods tried together.
const ERROR: f64 = 0.01;
/// A period must be seen this often to be believed.
pub const FEWEST: usize = SCORES + 4;

/// Evidence, in order of time, period by period: each piece belongs to the one it ends in.
fn by_period(period: f64, evidence: &[Evidence]) -> impl Iterator<Item = &[Evidence]> {
    evidence
        .chunk_by(move |a, b| (a.to / period).floor().total_cmp(&(b.to / period).floor()).is_eq())
}

/// In how many periods something was seen.
pub fn periods_seen(period: f64, evidence: &[Evidence]) -> usize {
    by_period(period, evidence).count()
}

/// How likely changes as uneven as these are without a rhythm of this period; `None` with too few periods to say.
pub fn chance_of_none(period: f64, evidence: &[Evidence]) -> Option<f64> {
    let watched: f64 = evidence.iter().map(|e| e.to - e.from).sum();
    let changes = evidence.iter().filter(|e| e.found != Found::Nothing).count();
    if changes == 0 || watched <= 0.0 {
        return None;
    }
    let rate = constant_rate(evidence, changes as f64 / watched);
    let (mut sum, mut squares) = ([0.0; SCORES], [[0.0; SCORES]; SCORES]);
    let mut periods = 0usize;
    for one in by_period(period, evidence) {
        let score = one.iter().fold([0.0; SCORES], |sum, e| added(sum, scores(period, rate, e)));
        periods += 1;
        sum = added(sum, score);
        for (row, a) in squares.iter_mut().zip(score) {
            row.iter_mut().zip(score).for_each(|(cell, b)| *cell += a * b);
        }
    }
    if periods < FEWEST {
        return None;
    }
    let t: f64 = solve(squares, sum).iter().zip(sum).map(|(x, s)| x * s).sum();
    let (q, d) = (SCORES as f64, periods as f64);
    let f = (d - q) / q * t.max(0.0) / (d - t).max(1e-9);
    FisherSnedecor::new(q, d - q).ok().map(|law| 1.0 - law.cdf(f))
}

/// The likeliest constant rate: a few steps of expectation and maximisation.
fn constant_rate(evidence: &[Evidence], start: f64) -> f64 {
    let watched: f64 = evidence.iter().map(|e| e.to - e.from).sum();
    (0..50).fold(start, |rate, _| {
        let count = |e: &Evidence| match e.found {
            Found::Nothing => 0.0,
            Found::AtTheEnd => 1.0,
            Found::Something => {
                let expected = rate * (e.to - e.from);
                expected / (-(-expected).exp_m1()).max(1e-12)
            }
        };
        evidence.iter().map(count).sum::<f64>() / watched
    })
}

fn added(a: [f64; SCORES], b: [f64; SCORES]) -> [f64; SCORES] {
    std::array::from_fn(|at| a[at] + b[at])
}

fn scores(period: f64, rate: f64, e: &Evidence) -> [f64; SCORES] {
    let expected = rate * (e.to - e.from);
    let pull = match e.found {
        Found::Something => {
            let some = (-(-expected).exp_m1()).max(1e-12);
            (1.0 / some - 1.0) * rate
        }
        Found::Nothing | Found::AtTheEnd => -rate,
    };
    let at_end = f64::from(u8::from(e.found == Found::AtTheEnd));
    std::array::from_fn(|at| {
        let pace = TAU * (at / 2 + 1) as f64 / period;
        // phases from the period's own start keep their digits
        let (a, b) = (pace * e.from.rem_euclid(period), pace * e.to.rem_euclid(period));
        if at.is_multiple_of(2) {
            pull * (b.sin() - a.sin()) / pace + at_end * b.cos()
        } else {
            pull * (a.cos() - b.cos()) / pace + at_end * b.sin()
        }
    })
}

/// Solves a small symmetric system; directions without variation are left out.
fn solve(mut matrix: [[f64; SCORES]; SCORES], mut right: [f64; SCORES]) -> [f64; SCORES] {
    let trace: f64 = (0..SCORES).map(|at| matrix[at][at]).sum();
    (0..SCORES).for_each(|at| matrix[at][at] += 1e-9 * trace + f64::MIN_POSITIVE);
    for column in 0..SCORES {
        for row in column + 1..SCORES {
            let factor = matrix[row][column] / matrix[column][column];
            let above = matrix[column];
            matrix[row].iter_mut().zip(above).for_each(|(cell, pivot)| *cell -= factor * pivot);
            right[row] -= factor * right[column];
        }
    }
    for row in (0..SCORES).rev() {
        let known: f64 = (row + 1..SCORES).map(|at| matrix[row][at] * right[at]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    right
}

/// A rhythm found.
#[derive(Clone, Debug, PartialEq)]
pub struct Rhythm {
    /// When in its period the source changes.
    pub profile: Profile,
    /// How likely this is without a rhythm.
    pub chance_of_none: f64,
    /// How much likelier held-out periods are than at a constant rate, in nats.
    pub gain: f64,
}

/// The period, with its number of bins, under which held-out evidence is likeliest; `None` if the source shows no
/// rhythm. Evidence must be in order of time.
pub fn choose(periods: &[(f64, usize)], evidence: &[Evidence]) -> Option<Rhythm> {
    let tried = periods.iter().filter_map(|&(period, bins)| {
        let chance_of_none = chance_of_none(period, evidence)?;
        if chance_of_none > ERROR / periods.len() as f64 {
            return None;
        }
        let (profile, gain) = Profile::fit(period, bins, evidence);
        (gain > 0.0).then_some(Rhythm { profile, chance_of_none, gain })
    });
    tried.reduce(|best, next| if next.gain > best.gain { next } else { best })
}

/// Changes a period is looked for in, the newest …
const NEWEST: usize = 400;
/// … and over no more than so many of the usual gaps, since every one needs frequencies of its own.
const LONGEST: f64 = 10_000.0;

/// The period near the usual gap in which change times line up best; `None` if they do not. For sources with a clock
/// of their own.
pub fn detect(changes: &[f64]) -> Option<f64> {
    let newest = &changes[changes.len().saturating_sub(NEWEST)..];
    let mut gaps: Vec<f64> =
        newest.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.0).collect();
    gaps.sort_by(f64::total_cmp);
    let (usual, last) = (*gaps.get(gaps.len() / 2)?, *newest.last()?);
    let newest = &newest[newest.partition_point(|t| last - t > LONGEST * usual)..];
    if newest.len() <= 20 {
        return None;
    }
    let (span, n) = (last - newest[0], newest.len() as f64);
    let alignment = |period: f64| {
        let phase = |t: &f64| TAU * (t / period).fract();
        let (c, s) =
            newest.iter().map(phase).fold((0.0, 0.0), |(c, s), x| (c + x.cos(), s + x.sin()));
        c.hypot(s) / n
    };
    // frequencies half a turn apart over the whole span
    let (low, high, step) = (0.4 / usual, 1.25 / usual, 0.5 / span);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most twice LONGEST"
    )]
    let steps = ((high - low) / step) as usize;
    let tried = (0..=steps)
        .map(|at| 1.0 / (low + at as f64 * step))
        .map(|period| (alignment(period), period));
    let coarse = tried.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    let near = (-20..=20).map(|at| 1.0 / (1.0 / coarse.1 + f64::from(at) * step / 20.0));
    let best = near
        .map(|period| (alignment(period), period))
        .reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    // by chance nR² exceeds ln(frequencies/0.01) once in a hundred
    (n * best.0 * best.0 > ((steps + 1) as f64 / 0.01).ln()).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::super::tests::{mornings, polled, steady};
    use super::*;

    const PERIODS: [(f64, usize); 3] = [(1.0, 12), (24.0, 24), (168.0, 56)];

    #[test]
    fn a_daily_source_is_found_daily() {
        let rhythm = choose(&PERIODS, &Evidence::log(0.0, &mornings(150, 5))).unwrap();
        assert!((rhythm.profile.period() - 24.0).abs() < 1e-9);
        assert!(rhythm.chance_of_none < 1e-6);
    }

    #[test]
    fn through_polls_as_well() {
        let polls = (1..2_000).map(|n| f64::from(n) * 3.1);
        let rhythm = choose(&PERIODS, &polled(&mornings(250, 6), polls)).unwrap();
        assert!((rhythm.profile.period() - 24.0).abs() < 1e-9);
    }

    /// Of 60 sources without rhythm, polled at fixed hours or logged, at most a few are taken for daily.
    #[test]
    fn false_alarms_are_rare() {
        let alarms = (0..60).filter(|&seed| {
            let changes = steady(0.08, 24.0 * 120.0, 100 + seed);
            let fixed =
                (0..120).flat_map(|day| [8.0, 9.0, 20.0].map(|hour| f64::from(day) * 24.0 + hour));
            let evidence =
                if seed % 2 == 0 { polled(&changes, fixed) } else { Evidence::log(0.0, &changes) };
            chance_of_none(24.0, &evidence).is_some_and(|p| p < 0.05)
        });
        let alarms = alarms.count();
        assert!(alarms <= 8, "{alarms} of 60 at 5 %");
    }

    #[test]
    fn too_little_says_nothing() {
        assert_eq!(chance_of_none(24.0, &[]), None);
        assert_eq!(chance_of_none(24.0, &Evidence::log(0.0, &[5.0, 30.0])), None);
        assert_eq!(detect(&[1.0, 2.0]), None);
    }

    #[test]
    fn a_clock_of_its_own_is_detected() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(8);
        let changes: Vec<f64> =
            (0..200).map(|n| 47.3 * f64::from(n) + 4.0 * rng.random::<f64>()).collect();
        let period = detect(&changes).unwrap();
        assert!((period / 47.3 - 1.0).abs() < 0.002, "{period}");
        assert_eq!(detect(&steady(1.0, 300.0, 9)), None);
        // one change long ago hides nothing
        let and_long_ago: Vec<f64> = std::iter::once(-1e9).chain(changes).collect();
        assert_eq!(detect(&and_long_ago).map(f64::round), Some(47.0));
        assert_eq!(detect(&[5.0; 60]), None);
    }
}
