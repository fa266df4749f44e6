//! The blind-sampling paper against values that are not ours (tests/golden/README.md), its Table I, and how good the
//! recovered laws and their bands are. Long versions: `tidewatch reproduce blind-sampling`.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use dynamics::distance::{ks, wmrd};
use dynamics::history::History;
use dynamics::interval::bootstrap::{self, Kind};
use dynamics::interval::detected_gaps::{self, DetectedGaps};
use dynamics::interval::{
    Pairs, Stream, bracketed_ages, capped_gaps, largest_age, mixture,
    recover::{self, Flat},
    slope, stepped_ages,
};
use dynamics::process::Process;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;

/// α = 3, β = 1: μ = 2.
const PAPER: Process = Process::Pareto { mean: 0.5, shape: 3.0 };

/// A law by its mean.
type Law = fn(f64) -> Process;
/// What is estimated of a history.
type Estimate<'a> = &'a dyn Fn(&History) -> Vec<(Kind, Option<f64>)>;

fn golden() -> Value {
    serde_json::from_str(include_str!("golden/blind_limits.json")).unwrap()
}

fn blind(updates: &Process, polls: &Process, horizon: f64, seed: u64) -> History {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let path = updates.path(horizon, &mut rng);
    History::blind(&path, &polls.polls(horizon, &mut rng)).without_ages()
}

/// BS-11: p over λ for constant, exponential and uniform polls, to 1e-6.
#[test]
fn bs_11_share_kept() {
    let golden = golden();
    let laws: [(&str, Law); 3] = [
        ("p_const", |mean| Process::Constant { period: mean }),
        ("p_exp", |mean| Process::Exponential { mean }),
        ("p_unif0_2overlam", |mean| Process::Uniform { mean }),
    ];
    for (key, law) in laws {
        let values = golden[key].as_object().unwrap();
        assert_eq!(values.len(), 10);
        for (rate, p) in values {
            let mean = 1.0 / rate.parse::<f64>().unwrap();
            let got = largest_age::share_kept(&PAPER, &law(mean));
            assert!((got - p.as_f64().unwrap()).abs() < 1e-6, "{key} {rate}: {got}");
        }
    }
}

/// BS-13, BS-41: tails of U, A_U, M1 and G-M4 from 0 to 100, to 1e-6.
#[test]
fn bs_13_bs_41_tails() {
    let (exponential, second) =
        (Process::Exponential { mean: 1.0 }, |period| Process::Constant { period });
    for row in golden()["M1_GM4_tails"].as_array().unwrap() {
        let x = row["x"].as_f64().unwrap();
        let tails = [
            ("FUbar", Some(PAPER.interval_tail(x))),
            ("GUbar", Some(1.0 - PAPER.age_cdf(x))),
            ("M1_exp_l1", Some(largest_age::limit_tail(&PAPER, &exponential, x))),
            ("M1_const_l1", Some(largest_age::limit_tail(&PAPER, &second(1.0), x))),
            ("M1_const_l10", Some(largest_age::limit_tail(&PAPER, &second(0.1), x))),
            // the golden list of G-M4 goes on where its own integral still has digits
            (
                "GM4_exp_l1",
                bracketed_ages::limit_tail(&PAPER, &exponential, x).filter(|_| x <= 20.0),
            ),
        ];
        for (key, got) in tails {
            if let Some(got) = got {
                assert!((got - row[key].as_f64().unwrap()).abs() < 1e-6, "{key} at {x}: {got}");
            }
        }
    }
}

/// BS-32, BS-33, BS-34: tails of M3 and M4 at the multiples of Δ = 1 to 1e-9, means at five Δ to 1e-6.
#[test]
fn bs_32_bs_34_constant_polls() {
    let golden = golden();
    let list = |key: &str| {
        golden[key].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect::<Vec<_>>()
    };
    for (n, (m3, m4)) in (0u32..).zip(list("M3_tail_D1").into_iter().zip(list("M4_tail_D1"))) {
        assert!((detected_gaps::limit_tail(&PAPER, 1.0, n) - m3).abs() < 1e-9, "M3 at {n}");
        assert!((1.0 - PAPER.age_cdf(f64::from(n)) - m4).abs() < 1e-9, "M4 at {n}");
    }
    for (delta, row) in golden["ED"].as_object().unwrap() {
        let delta: f64 = delta.parse().unwrap();
        assert!(
            (stepped_ages::limit_mean(&PAPER, delta) - row["ED4"].as_f64().unwrap()).abs() < 1e-6
        );
        assert!(
            (detected_gaps::limit_mean(&PAPER, delta) - row["ED3"].as_f64().unwrap()).abs() < 1e-9
        );
        // BS-35: U and A_U are NWU
        assert!(row["ED4"].as_f64() >= row["ED3"].as_f64());
    }
}

/// BS-37, Table I: mean over 200 paths within 15 % of the paper's WMRD (n ≤ 9) and KS, M4 and M5, T = 10² to 10⁵.
#[test]
fn bs_37_table_1() {
    let table = [
        (100u32, [3.5e-2, 6.4e-2, 3.7e-2, 6.7e-2]),
        (1_000, [1.4e-2, 2.2e-2, 1.4e-2, 2.2e-2]),
        (10_000, [4.7e-3, 7.2e-3, 4.7e-3, 7.3e-3]),
        (100_000, [1.5e-3, 2.4e-3, 1.5e-3, 2.4e-3]),
    ];
    for (polls, paper) in table {
        let mut sums = [0.0; 4];
        let paths = 200;
        for seed in 0..paths {
            // the window begins with a detection, so that M5's first gap is known, as in a simulation that knows all
            // ages
            let whole =
                blind(&PAPER, &Process::Constant { period: 1.0 }, f64::from(polls) + 50.0, seed);
            let (_, from) = whole.cut(whole.detections().next().unwrap() - 1);
            let (window, _) = from.cut(polls as usize);
            let gaps = DetectedGaps::default().having_heard(&window);
            let pairs = |cdf: &dyn Fn(u64) -> Option<f64>, most: u64| -> Vec<(f64, f64)> {
                (1..=most).map(|n| (cdf(n).unwrap_or(0.0), PAPER.age_cdf(n as f64))).collect()
            };
            let (m4, m5) = (|n| stepped_ages::cdf(&gaps, n), |n| capped_gaps::paper_cdf(&gaps, n));
            let errors = [
                wmrd(&pairs(&m4, 9)),
                ks(&pairs(&m4, 60)),
                wmrd(&pairs(&m5, 9)),
                ks(&pairs(&m5, 60)),
            ];
            sums.iter_mut().zip(errors).for_each(|(sum, error)| *sum += error / paths as f64);
        }
        for (ours, paper) in sums.iter().zip(paper) {
            assert!((ours / paper - 1.0).abs() < 0.15, "T = {polls}: {sums:?}");
        }
    }
}

/// Mean |F̂ − F| at 60 points up to 3: by the mixture, by M6 (bins of .05) differentiated where the search finds E\[U\]
/// flat, and with the best of four steps in hindsight.
fn errors(horizon: f64, seed: u64) -> [f64; 3] {
    let history = blind(&PAPER, &Process::Exponential { mean: 1.0 }, horizon, seed);
    let law = mixture::fit(&history).unwrap();
    let pairs = Pairs::new(0.05, 120).having_heard(&history);
    let error = |f: &dyn Fn(f64) -> f64| {
        let at = (1..=60).map(|n| f64::from(n) * 0.05);
        at.map(|x| (f(x) - PAPER.interval_cdf(x)).abs()).sum::<f64>() / 60.0
    };
    let differentiated = |flat: Flat| {
        error(&|x| recover::interval_cdf(|x| pairs.between(x), flat, x).unwrap_or(0.0))
    };
    let with_step = |step: f64| {
        let slope = recover::slope_right_of(|x| pairs.between(x), 0.0, step)?;
        Some(Flat { step, mean: 1.0 / slope, is_flat: false })
    };
    let steps = [0.05, 0.1, 0.2, 0.4].into_iter().filter_map(with_step);
    [
        error(&|x| law.interval_cdf(x).unwrap()),
        differentiated(recover::flat_mean(|x| pairs.between(x), 0.8, 0.05).unwrap()),
        steps.map(differentiated).fold(f64::INFINITY, f64::min),
    ]
}

/// B11: better than M6 differentiated, by half and more, at T = 10³ and 10⁴; even than with a step chosen in hindsight.
#[test]
fn b11_the_mixture_beats_differentiation() {
    for (horizon, paths) in [(1e3, 16), (1e4, 6)] {
        let all: Vec<[f64; 3]> = (0..paths).map(|seed| errors(horizon, seed)).collect();
        let [mixed, searched, best] =
            [0, 1, 2].map(|at| all.iter().map(|e| e[at]).sum::<f64>() / all.len() as f64);
        println!(
            "T = {horizon}: mixture {mixed:.4}, M6 differentiated {searched:.4}, best step {best:.4}"
        );
        assert!(
            searched > 1.5 * mixed && best > 1.5 * mixed,
            "T = {horizon}: {mixed} {searched} {best}"
        );
    }
}

/// How often 95 % bands of these numbers hold the truth, over histories of T polls.
fn coverage(
    source: &Process,
    horizon: f64,
    histories: u64,
    replicates: usize,
    truth: &[f64],
    estimate: Estimate<'_>,
) -> Vec<u32> {
    let mut covered = vec![0; truth.len()];
    for seed in 0..histories {
        let history = blind(source, &Process::Exponential { mean: 1.0 }, horizon, seed);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let bands = bootstrap::bands(&history, replicates, &mut rng, estimate);
        for (count, (band, truth)) in covered.iter_mut().zip(bands.iter().zip(truth)) {
            *count += u32::from(band.is_some_and(|[low, high]| low <= *truth && *truth <= high));
        }
    }
    covered
}

const SOURCES: [Process; 3] =
    [PAPER, Process::Exponential { mean: 0.5 }, Process::Weibull { mean: 1.0, shape: 2.0 }];

/// M6's G_U, rate and mean, bands at 95 %: of 60 histories fewer than 51 would cover in one run of a thousand.
#[test]
fn bands_of_pairs_rate_and_mean_cover_at_their_level() {
    let at = [0.25, 0.5, 1.0];
    for source in SOURCES {
        let truth: Vec<f64> =
            at.iter().map(|&x| source.age_cdf(x)).chain([source.rate(), source.mean()]).collect();
        let covered = coverage(&source, 1e3, 60, 40, &truth, &|history| {
            let pairs = Pairs::new(0.1, 15).having_heard(history);
            let rate = slope::of(history);
            let ages = at.iter().map(|&x| (Kind::Share, pairs.between(x)));
            ages.chain([rate, rate.map(|rate| 1.0 / rate)].map(|v| (Kind::Positive, v))).collect()
        });
        assert!(covered.iter().all(|&count| count >= 51), "{source:?}: {covered:?}");
    }
}

/// The mixture's G_U, the same; of 24 histories fewer than 19 would cover in one run of six hundred.
#[test]
fn bands_of_the_mixture_cover_at_their_level() {
    let at = [0.25, 0.5, 1.0, 2.0];
    for source in SOURCES {
        let truth: Vec<f64> = at.iter().map(|&x| source.age_cdf(x)).collect();
        let covered = coverage(&source, 400.0, 24, 20, &truth, &|history| {
            let law = mixture::fit(history);
            at.iter().map(|&x| (Kind::Share, law.as_ref().map(|law| law.age_cdf(x)))).collect()
        });
        assert!(covered.iter().all(|&count| count >= 19), "{source:?}: {covered:?}");
    }
}
