//! The blind-sampling paper, figure by figure and table by table, and the same methods on real sequences.
//!
//! | what | where |
//! | --- | --- |
//! | Figures 4 to 9, 12, 14, 15 and Table I: the paper's Pareto source | here |
//! | recovery of F_U, and whether bands cover | here |
//! | the methods, and the scheduler's belief, on real sequences | [`real`] |
//!
//! The values behind the paper's figures are not in its text; its curves are its own formulas, so the limit laws stand
//! for them. Paper page: `docs/papers/li-cline-loguinov-2015.md`.

pub mod real;

use std::path::{Path, PathBuf};

use dynamics::distance::{ks, wmrd};
use dynamics::history::History;
use dynamics::interval::all_ages::AllAges;
use dynamics::interval::bootstrap::{self, Kind};
use dynamics::interval::bracketed_ages::{self, BracketedAges};
use dynamics::interval::detected_gaps::DetectedGaps;
use dynamics::interval::largest_age::{self, LargestAge};
use dynamics::interval::recover::{self, Flat};
use dynamics::interval::{Pairs, Stream, capped_gaps, concave, mixture, slope, stepped_ages};
use dynamics::process::Process;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::Report;
use super::sampling::Failure;
use crate::figure::{Chart, Series};
use crate::score::mean;
use crate::trace::Trace;

/// α = 3, β = 1: μ = 2.
const PAPER: Process = Process::Pareto { mean: 0.5, shape: 3.0 };
const EXPONENTIAL: Process = Process::Exponential { mean: 1.0 };
const UNIFORM: Process = Process::Uniform { mean: 1.0 };
/// A name, and the law by its mean.
type Named = (&'static str, fn(f64) -> Process);

/// Where tails are shown.
const AT: [f64; 9] = [0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0];

/// How much.
pub struct Scale {
    /// Paths behind every mean.
    pub paths: u64,
    /// T of the single paths.
    pub horizon: f64,
    /// The longest T of Table I and Figure 9.
    pub longest: f64,
    /// A trace of long sequences.
    pub real: Option<Trace>,
}

impl Default for Scale {
    fn default() -> Self {
        Self { paths: 200, horizon: 2e5, longest: 1e5, real: None }
    }
}

/// Writes the whole report into `dir`; where it is. `tick` hears what is being worked on.
pub fn reproduce(
    dir: &Path,
    scale: &Scale,
    tick: &(dyn Fn(&str) + Sync),
) -> Result<PathBuf, Failure> {
    let mut report =
        Report::new(dir, "Temporal update dynamics under blind sampling: theirs and ours")?;
    report.say(
        "The paper's source throughout: Pareto, α = 3, β = 1, so μ = 2 and G_U(x) = 1 − (1 + x)^(−2). Its figures show its formulas and \
         simulations of them without numbers; here the formula is the column *limit*, and ours is a path from this code.",
    );
    tick("figure 4");
    figure_4(&mut report, scale)?;
    tick("figures 5 to 7");
    figures_5_to_7(&mut report, scale)?;
    tick("figures 8 and 9");
    figure_8(&mut report, scale)?;
    figure_9(&mut report, scale)?;
    tick("figure 12 and table I");
    figure_12(&mut report, scale)?;
    table_1(&mut report, scale)?;
    tick("figures 14 and 15");
    figures_14_and_15(&mut report, scale)?;
    tick("recovery and bands");
    recovery(&mut report, scale)?;
    coverage(&mut report, scale)?;
    if let Some(trace) = &scale.real {
        real::report(&mut report, trace, tick)?;
    }
    Ok(report.finish()?)
}

fn blind(updates: &Process, polls: &Process, horizon: f64, seed: u64) -> History {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let path = updates.path(horizon, &mut rng);
    History::blind(&path, &polls.polls(horizon, &mut rng))
}

fn digits(x: f64) -> String {
    if x.abs() < 0.01 { format!("{x:.2e}") } else { format!("{x:.4}") }
}

fn or_dash(x: Option<f64>) -> String {
    x.map_or("–".to_owned(), digits)
}

fn figure_4(report: &mut Report, scale: &Scale) -> Result<(), Failure> {
    report.heading("Figure 4: the share p of ages that M1 keeps");
    let laws: [Named; 2] = [
        ("constant S", |mean| Process::Constant { period: mean }),
        ("exponential S", |mean| Process::Exponential { mean }),
    ];
    let rates = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0];
    let mut rows: Vec<Vec<String>> = rates.iter().map(|rate| vec![rate.to_string()]).collect();
    let mut series = Vec::new();
    for (name, law) in laws {
        let mut points = Vec::new();
        for (row, rate) in rows.iter_mut().zip(rates) {
            let polls = law(1.0 / rate);
            let limit = largest_age::share_kept(&PAPER, &polls);
            let history = blind(&PAPER, &polls, scale.horizon / rate.max(1.0), 1);
            row.extend(
                [Some(limit), LargestAge::default().having_heard(&history).kept()].map(or_dash),
            );
            points.push((rate, limit));
        }
        series.push(Series { name: name.to_owned(), points });
    }
    let title = "Figure 4: share of ages kept by M1".to_owned();
    report.chart(
        "figure4",
        &Chart { title, x: "polls per unit of time, λ", y: "p", logarithmic: true, series },
    )?;
    let heading = ["λ", "constant S, limit (5)", "ours", "exponential S, limit (5)", "ours"];
    Ok(report.table("figure4-table", &heading, &rows)?)
}

/// Tails at the usual places: a row each.
fn tails(columns: &[&dyn Fn(f64) -> Option<f64>]) -> Vec<Vec<String>> {
    let row = |x: f64| {
        let cells = columns.iter().map(|tail| or_dash(tail(x)));
        std::iter::once(x.to_string()).chain(cells).collect()
    };
    AT.map(row).to_vec()
}

fn curve(name: &str, tail: &dyn Fn(f64) -> Option<f64>) -> Series {
    let points = (0..=40).map(|n| 0.1 * 100f64.powf(f64::from(n) / 40.0));
    let points = points.filter_map(|x| Some((x, tail(x)?))).collect();
    Series { name: name.to_owned(), points }
}

fn chart(title: &str, series: Vec<Series>) -> Chart {
    Chart { title: title.to_owned(), x: "x", y: "P(> x)", logarithmic: true, series }
}

fn figures_5_to_7(report: &mut Report, scale: &Scale) -> Result<(), Failure> {
    report.heading("Figure 5: M1 under exponential S, λ = 1");
    let f = |x: f64| Some(PAPER.interval_tail(x));
    let g = |x: f64| Some(1.0 - PAPER.age_cdf(x));
    let heard = LargestAge::default()
        .having_heard(&blind(&PAPER, &EXPONENTIAL, scale.horizon, 2))
        .distribution();
    let limit = |x: f64| Some(largest_age::limit_tail(&PAPER, &EXPONENTIAL, x));
    let ours = |x: f64| Some(1.0 - heard.cdf(x)?);
    let poisson = Process::Exponential { mean: 0.5 };
    let heard = LargestAge::default()
        .having_heard(&blind(&poisson, &EXPONENTIAL, scale.horizon, 3))
        .distribution();
    let (exact, of_poisson) =
        (|x: f64| Some(poisson.interval_tail(x)), |x: f64| Some(1.0 - heard.cdf(x)?));
    report.table(
        "figure5",
        &["x", "F̄_U", "Ḡ_U", "M1, limit (8)", "M1, ours", "Poisson: F̄_U", "Poisson: M1, ours"],
        &tails(&[&f, &g, &limit, &ours, &exact, &of_poisson]),
    )?;
    report.heading("Figure 6: the sandwich, constant S");
    let slow =
        |x: f64| Some(largest_age::limit_tail(&PAPER, &Process::Constant { period: 1.0 }, x));
    let fast =
        |x: f64| Some(largest_age::limit_tail(&PAPER, &Process::Constant { period: 0.1 }, x));
    let series = vec![
        curve("F̄_U", &f),
        curve("Ḡ_U", &g),
        curve("M1, λ = 1", &slow),
        curve("M1, λ = 10", &fast),
    ];
    report.chart("figure6", &chart("Figure 6: M1 between F̄_U and Ḡ_U", series))?;
    report.table(
        "figure6-table",
        &["x", "F̄_U", "M1, λ = 10", "M1, λ = 1", "Ḡ_U"],
        &tails(&[&f, &fast, &slow, &g]),
    )?;
    report.heading("Figure 7: M2 lies on Ḡ_U, λ = 1");
    let of = |polls: &Process| {
        AllAges::default().having_heard(&blind(&PAPER, polls, scale.horizon, 4)).distribution()
    };
    let (constant, exponential) = (of(&Process::Constant { period: 1.0 }), of(&EXPONENTIAL));
    let (constant, exponential) =
        (|x: f64| Some(1.0 - constant.cdf(x)?), |x: f64| Some(1.0 - exponential.cdf(x)?));
    let heading = ["x", "Ḡ_U", "M2, constant S", "M2, exponential S"];
    Ok(report.table("figure7", &heading, &tails(&[&g, &constant, &exponential]))?)
}

fn figure_8(report: &mut Report, scale: &Scale) -> Result<(), Failure> {
    report.heading(
        "Figure 8: E[U] over the step of the derivative, and F_U from M2, constant S, λ = 100",
    );
    let history = blind(&PAPER, &Process::Constant { period: 0.01 }, scale.horizon / 10.0, 5);
    let ages = AllAges::default().having_heard(&history).distribution();
    let row = |h: f64| {
        let mean = |cdf: &dyn Fn(f64) -> Option<f64>| {
            recover::slope_right_of(cdf, 0.0, h).map(|slope| 1.0 / slope)
        };
        vec![
            h.to_string(),
            or_dash(mean(&|x| Some(PAPER.age_cdf(x)))),
            or_dash(mean(&|x| ages.cdf(x))),
        ]
    };
    let rows = [1.0, 0.5, 0.2, 0.1, 0.05, 0.02].map(row);
    report.table("figure8-mean", &["h", "E[U] on the exact G_U", "E[U], ours"], &rows)?;
    if let Some(flat) = recover::flat_mean(|x| ages.cdf(x), 1.0, 0.02) {
        report.say(&format!(
            "Flat at h = {:.4}: E[U] = {:.4} (true .5; the paper: \"the true value\").",
            flat.step, flat.mean
        ));
        let derived = |x: f64| Some(1.0 - recover::interval_cdf(|x| ages.cdf(x), flat, x)?);
        let law = concave::majorant(&ages);
        let grenander = |x: f64| Some(1.0 - law.interval_cdf(x)?);
        let rows = tails(&[&|x| Some(PAPER.interval_tail(x)), &derived, &grenander]);
        report.table("figure8-law", &["x", "F̄_U", "differentiated", "Grenander"], &rows)?;
    }
    Ok(())
}

/// ε(T): mean relative error of the mean age over paths.
fn error_of_mean(polls: &Process, horizon: f64, paths: u64) -> f64 {
    let error = |seed: u64| {
        let ages =
            AllAges::default().having_heard(&blind(&PAPER, polls, horizon, seed)).distribution();
        (1.0 - ages.mean().unwrap_or(0.0) / PAPER.mean_age()).abs()
    };
    let errors: Vec<f64> = (0..paths).into_par_iter().map(error).collect();
    mean(errors.into_iter()).unwrap_or(f64::NAN)
}

fn figure_9(report: &mut Report, scale: &Scale) -> Result<(), Failure> {
    report.heading("Figure 9: error of the mean age");
    let horizons = [1e2, 1e3, 1e4, 1e5].into_iter().filter(|&t| t <= scale.longest);
    let row = |t: f64| vec![format!("{t:.0}"), digits(error_of_mean(&EXPONENTIAL, t, scale.paths))];
    report.table("figure9a", &["T", "ε(T), λ = 1"], &horizons.map(row).collect::<Vec<_>>())?;
    let gaps = [10.0, 3.0, 1.0, 0.3, 0.1];
    let row = |gap: f64| {
        let horizon = scale.longest.min(1e4);
        vec![
            gap.to_string(),
            digits(error_of_mean(&Process::Exponential { mean: gap }, horizon, scale.paths)),
        ]
    };
    report.table("figure9b", &["E[S]", "ε, T = 10⁴"], &gaps.map(row))?;
    report.say(&format!(
        "{} paths (the paper: 1,000, up to T = 10⁷). Both fall as the paper says: with T for ever, with E[S] only to a point. Ages have no \
         variance, so the means themselves converge slowly.",
        scale.paths
    ));
    Ok(())
}

fn figure_12(report: &mut Report, scale: &Scale) -> Result<(), Failure> {
    report.heading("Figure 12: M5 lies on Ḡ_U at the multiples of Δ");
    for delta in [0.5, 1.0] {
        let history = blind(&PAPER, &Process::Constant { period: delta }, scale.horizon, 6);
        let gaps = DetectedGaps::default().having_heard(&history);
        let row = |n: u32| {
            let x = f64::from(n) * delta;
            let estimates = [capped_gaps::cdf, stepped_ages::cdf, DetectedGaps::cdf];
            let tails = estimates.map(|cdf| or_dash(cdf(&gaps, u64::from(n)).map(|g| 1.0 - g)));
            [vec![x.to_string(), digits(1.0 - PAPER.age_cdf(x))], tails.to_vec()].concat()
        };
        let rows: Vec<_> = [1, 2, 3, 5, 10, 20].into_iter().map(row).collect();
        report.table(
            &format!("figure12-{delta}"),
            &["x", "Ḡ_U", "M5", "M4", "M3 (biased)"],
            &rows,
        )?;
    }
    let gaps = DetectedGaps::default().having_heard(&blind(
        &PAPER,
        &Process::Constant { period: 1.0 },
        scale.horizon,
        7,
    ));
    report.say(&format!(
        "Means at Δ = 1: E[D₃] paper 1.33, exact 4/3, ours {}; E[D₄] paper 1.63 (a finite run), exact π²/6 = {:.4}; of min(D₄, 10) exact 1.5498, \
         ours {}.",
        or_dash(gaps.mean()),
        stepped_ages::limit_mean(&PAPER, 1.0),
        or_dash(stepped_ages::mean(&gaps, 10)),
    ));
    Ok(())
}

/// WMRD and KS of M4 and M5 on a path whose window begins with a detection.
fn table_1_errors(horizon: f64, seed: u64) -> [f64; 4] {
    let whole = blind(&PAPER, &Process::Constant { period: 1.0 }, horizon + 50.0, seed);
    let first = whole.detections().next().unwrap_or(1);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a power of ten")]
    let window = whole.cut(first - 1).1.cut(horizon as usize).0;
    let gaps = DetectedGaps::default().having_heard(&window);
    let pairs = |cdf: fn(&DetectedGaps, u64) -> Option<f64>, most: u32| -> Vec<(f64, f64)> {
        (1..=most)
            .map(|n| (cdf(&gaps, u64::from(n)).unwrap_or(0.0), PAPER.age_cdf(f64::from(n))))
            .collect()
    };
    let (m4, m5) = (stepped_ages::cdf, capped_gaps::paper_cdf);
    [wmrd(&pairs(m4, 9)), ks(&pairs(m4, 60)), wmrd(&pairs(m5, 9)), ks(&pairs(m5, 60))]
}

fn table_1(report: &mut Report, scale: &Scale) -> Result<(), Failure> {
    report.heading("Table I: convergence of M4 and M5");
    let paper = [
        (1e2, ["3.5e-2", "6.4e-2", "3.7e-2", "6.7e-2"]),
        (1e3, ["1.4e-2", "2.2e-2", "1.4e-2", "2.2e-2"]),
        (1e4, ["4.7e-3", "7.2e-3", "4.7e-3", "7.3e-3"]),
        (1e5, ["1.5e-3", "2.4e-3", "1.5e-3", "2.4e-3"]),
    ];
    let mut rows = Vec::new();
    for (horizon, theirs) in paper.into_iter().filter(|(t, _)| *t <= scale.longest) {
        let all: Vec<[f64; 4]> =
            (0..scale.paths).into_par_iter().map(|seed| table_1_errors(horizon, seed)).collect();
        let mut row = vec![format!("{horizon:.0}")];
        for (at, theirs) in theirs.iter().enumerate() {
            let ours = mean(all.iter().map(|errors| errors[at])).unwrap_or(f64::NAN);
            row.extend([(*theirs).to_owned(), format!("{ours:.1e}")]);
        }
        rows.push(row);
    }
    let heading = [
        "T",
        "M4 w, paper",
        "ours",
        "M4 κ, paper",
        "ours",
        "M5 w, paper",
        "ours",
        "M5 κ, paper",
        "ours",
    ];
    report.table("table1", &heading, &rows)?;
    report.say(&format!(
        "Means of {} paths; WMRD over n = 1..9 (the paper does not say where its sum ends), KS over the points nΔ.",
        scale.paths
    ));
    Ok(())
}

fn figures_14_and_15(report: &mut Report, scale: &Scale) -> Result<(), Failure> {
    report.heading("Figure 14: G-M4 is biased, λ = 1");
    let g = |x: f64| Some(1.0 - PAPER.age_cdf(x));
    let pareto = Process::Pareto { mean: 1.0, shape: 3.0 };
    let of = |polls: &Process| {
        BracketedAges::default()
            .having_heard(&blind(&PAPER, polls, scale.horizon, 8))
            .distribution()
    };
    let (by_exponential, by_pareto) = (of(&EXPONENTIAL), of(&pareto));
    let limit = |x: f64| bracketed_ages::limit_tail(&PAPER, &EXPONENTIAL, x);
    let limit_pareto = |x: f64| bracketed_ages::limit_tail(&PAPER, &pareto, x);
    let ours = |x: f64| Some(1.0 - by_exponential.cdf(x)?);
    let ours_pareto = |x: f64| Some(1.0 - by_pareto.cdf(x)?);
    let heading = ["x", "Ḡ_U", "exponential S, limit", "ours", "Pareto S, limit", "ours"];
    report.table(
        "figure14",
        &heading,
        &tails(&[&g, &limit, &ours, &limit_pareto, &ours_pareto]),
    )?;
    let series =
        vec![curve("Ḡ_U", &g), curve("exponential S", &ours), curve("Pareto S", &ours_pareto)];
    report.chart("figure14", &chart("Figure 14: G-M4 against Ḡ_U", series))?;
    report.heading("Figure 15: M6 lies on Ḡ_U, λ = 1, h = .05");
    let of = |polls: &Process| {
        Pairs::new(0.05, 240).having_heard(&blind(&PAPER, polls, scale.horizon, 9))
    };
    let (exponential, uniform) = (of(&EXPONENTIAL), of(&UNIFORM));
    let worst = |pairs: &Pairs| {
        pairs
            .bins()
            .filter(|bin| bin.at <= 3.0)
            .map(|bin| (bin.share() - PAPER.age_cdf(bin.at)).abs())
            .fold(0.0, f64::max)
    };
    report.say(&format!(
        "Greatest distance from G_U up to x = 3, at the middles of the bins: {:.4} (exponential S), {:.4} (uniform on [0, 2/λ]).",
        worst(&exponential),
        worst(&uniform)
    ));
    let (exponential, uniform) =
        (|x: f64| Some(1.0 - exponential.between(x)?), |x: f64| Some(1.0 - uniform.between(x)?));
    let series =
        vec![curve("Ḡ_U", &g), curve("exponential S", &exponential), curve("uniform S", &uniform)];
    report.chart("figure15", &chart("Figure 15: M6 against Ḡ_U", series))?;
    Ok(report.table(
        "figure15-table",
        &["x", "Ḡ_U", "M6, exponential S", "M6, uniform S"],
        &tails(&[&g, &exponential, &uniform]),
    )?)
}

/// Mean |F̂ − F| at 60 points up to 3: mixture, M6 differentiated, M6 bent concave.
fn recovery_errors(horizon: f64, seed: u64) -> [f64; 3] {
    let history = blind(&PAPER, &EXPONENTIAL, horizon, seed).without_ages();
    let pairs = Pairs::new(0.05, 120).having_heard(&history);
    let error = |f: &dyn Fn(f64) -> Option<f64>| {
        let at = (1..=60).map(|n| f64::from(n) * 0.05);
        at.map(|x| (f(x).unwrap_or(0.0) - PAPER.interval_cdf(x)).abs()).sum::<f64>() / 60.0
    };
    let law = mixture::fit(&history).unwrap_or_default();
    let flat = recover::flat_mean(|x| pairs.between(x), 0.8, 0.05);
    let flat = flat.unwrap_or(Flat { step: 0.8, mean: 1.0, is_flat: false });
    let points: Vec<_> = pairs.bins().map(|bin| (bin.at, bin.share(), bin.pairs as f64)).collect();
    let bent = concave::regression(&points);
    [
        error(&|x| law.interval_cdf(x)),
        error(&|x| recover::interval_cdf(|x| pairs.between(x), flat, x)),
        error(&|x| bent.interval_cdf(x)),
    ]
}

fn recovery(report: &mut Report, scale: &Scale) -> Result<(), Failure> {
    report.heading("Recovery of F_U from comparisons, exponential S, λ = 1");
    let mut rows = Vec::new();
    for horizon in [1e3, 1e4].into_iter().filter(|&t| t <= scale.longest) {
        let all: Vec<[f64; 3]> = (0..scale.paths.min(40))
            .into_par_iter()
            .map(|seed| recovery_errors(horizon, seed))
            .collect();
        let means = [0, 1, 2]
            .map(|at| digits(mean(all.iter().map(|errors| errors[at])).unwrap_or(f64::NAN)));
        rows.push([vec![format!("{horizon:.0}")], means.to_vec()].concat());
    }
    Ok(report.table(
        "recovery",
        &["T", "mixture", "M6 differentiated", "M6, concave regression"],
        &rows,
    )?)
}

/// Which of G_U(.5), G_U(1), F_U(.5), F_U(1) by the mixture, rate and mean the bands of a history hold.
fn covered(source: &Process, seed: u64) -> [bool; 6] {
    let history = blind(source, &EXPONENTIAL, 1e3, seed).without_ages();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let bands = bootstrap::bands(&history, 60, &mut rng, |history| {
        let law = mixture::fit(history).unwrap_or_default();
        let rate = slope::of(history);
        let shares = [
            Some(law.age_cdf(0.5)),
            Some(law.age_cdf(1.0)),
            law.interval_cdf(0.5),
            law.interval_cdf(1.0),
        ];
        let rates = [rate, rate.map(|rate| 1.0 / rate)];
        shares
            .map(|v| (Kind::Share, v))
            .into_iter()
            .chain(rates.map(|v| (Kind::Positive, v)))
            .collect()
    });
    let truth = [
        source.age_cdf(0.5),
        source.age_cdf(1.0),
        source.interval_cdf(0.5),
        source.interval_cdf(1.0),
        source.rate(),
        source.mean(),
    ];
    std::array::from_fn(|at| {
        bands[at].is_some_and(|[low, high]| low <= truth[at] && truth[at] <= high)
    })
}

fn coverage(report: &mut Report, scale: &Scale) -> Result<(), Failure> {
    report.heading("Do 95 % bands cover? T = 10³, exponential S, λ = 1");
    let sources = [
        ("Pareto, the paper's", PAPER),
        ("exponential, mean .5", Process::Exponential { mean: 0.5 }),
        ("Weibull, shape 2, mean 1", Process::Weibull { mean: 1.0, shape: 2.0 }),
    ];
    let mut rows = Vec::new();
    for (name, source) in sources {
        let all: Vec<[bool; 6]> =
            (0..scale.paths.min(60)).into_par_iter().map(|seed| covered(&source, seed)).collect();
        let share =
            |at: usize| all.iter().filter(|hits| hits[at]).count() as f64 / all.len() as f64;
        let cells = (0..6).map(|at| format!("{:.1} %", 100.0 * share(at)));
        rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
    }
    report.table(
        "coverage",
        &["source", "G_U(.5)", "G_U(1)", "F_U(.5)", "F_U(1)", "rate", "mean"],
        &rows,
    )?;
    report.say(&format!(
        "{} histories, 60 reshuffled ones each; G_U and F_U by the mixture. For F_U the ordinary bootstrap is not consistent: its columns are \
         what was measured, not a promise.",
        scale.paths.min(60)
    ));
    Ok(())
}
