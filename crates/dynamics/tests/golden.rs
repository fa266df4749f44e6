//! Estimators against values that are not ours (tests/golden/README.md).

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use dynamics::rate::{Poll, likelihood, posterior, regular};
use serde_json::Value;

fn golden() -> Value {
    serde_json::from_str(include_str!("golden/estimators.json")).unwrap()
}

/// P(X = x) for X ~ Binomial(n, p), by the recurrence.
fn binomial(n: u32, p: f64) -> Vec<f64> {
    let mut chances = vec![(1.0 - p).powi(i32::try_from(n).unwrap())];
    for x in 0..n {
        let next = chances[x as usize] * f64::from(n - x) / f64::from(x + 1) * p / (1.0 - p);
        chances.push(next);
    }
    chances
}

/// CN-X2: exact E[r̂]/r of the naive and the bias-reduced estimator, by summing over all outcomes.
#[test]
fn cn_x2_expectations_are_the_published_ones() {
    for row in golden()["cgm_bias"].as_array().unwrap() {
        let n = u32::try_from(row["n"].as_u64().unwrap()).unwrap();
        let r = row["r"].as_f64().unwrap();
        let chances = binomial(n, -(-r).exp_m1());
        let expect = |rate: fn(u32, u32) -> f64| -> f64 {
            (0..=n).map(|x| chances[x as usize] * rate(x, n)).sum::<f64>() / r
        };
        let naive = expect(|x, n| regular::naive(x, n).rate);
        let reduced = expect(|x, n| regular::bias_reduced(x, n).rate);
        assert!((naive - row["naive_ratio"].as_f64().unwrap()).abs() < 1e-6, "naive n={n} r={r}");
        assert!((reduced - row["log_ratio"].as_f64().unwrap()).abs() < 1e-6, "reduced n={n} r={r}");
    }
}

/// CN-X4: scipy's maximum, standard error and profile interval; scipy's posterior under Gamma(1, 1).
#[test]
fn cn_x4_irregular_likelihood_and_posterior() {
    let golden = &golden()["irregular_mle"];
    let gaps = |key: &str| {
        golden[key].as_array().unwrap().iter().map(|gap| gap.as_f64().unwrap()).collect::<Vec<_>>()
    };
    let polls: Vec<Poll> = gaps("ch")
        .into_iter()
        .map(|gap| Poll { gap, changed: true })
        .chain(gaps("un").into_iter().map(|gap| Poll { gap, changed: false }))
        .collect();
    let value = |key: &str| golden[key].as_f64().unwrap();
    let estimate = likelihood::most_likely(&polls).unwrap();
    assert!((estimate.rate - value("rate")).abs() < 1e-8);
    assert!(
        (1.0 / likelihood::information(&polls, estimate.rate).sqrt() - value("se")).abs() < 1e-6
    );
    for end in 0..2 {
        assert!((estimate.ci95[end] - golden["ci95"][end].as_f64().unwrap()).abs() < 1e-6);
    }
    let believed = posterior::posterior(&polls, 1.0, 1.0);
    assert!((believed.estimate.rate - value("post_mean")).abs() < 1e-6);
    assert!((believed.deviation - value("post_sd")).abs() < 1e-6);
}
