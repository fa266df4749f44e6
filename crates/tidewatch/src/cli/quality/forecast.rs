//! Precision and recall some time after a sync, and how many objects are gone by then.

use clap::Args;
use dynamics::binomial;
use dynamics::collection::Seen;
use dynamics::decay::ar::Criterion;
use dynamics::decay::state_space::Ahead;
use dynamics::decay::{Ar, Tracker, decay};
use dynamics::quality::{Expected, Metric};
use lab::figure::{Chart, Series};
use schedule::{Span, Time};
use serde_json::json;

use super::super::table::facts;
use super::super::{Failure, Voice};
use super::{Mirrored, Which, share};
use crate::clock::wall_now;
use crate::words::seconds::PER_DAY;
use crate::words::{duration, rfc3339};

/// Precision and recall some time after a sync
#[derive(Args)]
pub(crate) struct Forecast {
    #[command(flatten)]
    which: Which,
    /// Time since the sync; of a watched collection by default the time since its last look, of a trace a week
    #[arg(long, value_name = "SPAN")]
    after: Option<Span>,
    /// Of the intervals
    #[arg(long, value_name = "SHARE", default_value_t = 0.9)]
    confidence: f64,
}

impl Forecast {
    pub(super) fn run(self, voice: Voice) -> Result<(), Failure> {
        let confidence = share("--confidence", self.confidence)?;
        let mirrored = self.which.mirrored()?;
        let after = match self.after {
            Some(after) if after > Span::ZERO => after.secs(),
            Some(after) => {
                return Err(Failure::Asked(format!("`--after {after}` must be above 0")));
            }
            None if mirrored.live => (wall_now() - Time::from_secs(mirrored.last)).secs().max(1.0),
            None => 7.0 * PER_DAY,
        };
        let days = after / PER_DAY;
        let size = mirrored.forecaster.stock().size();
        let expected = |metric| {
            let found = mirrored.forecaster.expected(metric, days, confidence);
            found.map_err(|why| mirrored.could_not(why))
        };
        let [precision, recall] = [expected(Metric::Precision)?, expected(Metric::Recall)?];
        let (Some(precision), Some(recall)) = (precision, recall) else {
            return Err(mirrored
                .could_not("the copy is empty, so there is nothing whose quality could fall"));
        };
        let direct = Metric::ALL.map(|metric| direct(&mirrored, metric, days, confidence));
        if let Some(path) = &self.which.plot {
            lab::figure::lines(&course(&mirrored, days, confidence), path)?;
        }
        let gone = |quality: f64| size * (1.0 - quality);
        let view = |expected: &Expected| {
            json!({
                "expected": expected.quality, "low": expected.interval.low, "high": expected.interval.high })
        };
        let direct_view = |direct: Direct| json!({ "expected": direct.quality, "low": direct.low, "high": direct.high });
        let record = |metric| {
            let (told, covered) = mirrored.forecaster.record(metric);
            json!({ "forecasts": told, "inside_90": covered })
        };
        let document = json!({
            "collection": mirrored.name(),
            "synced": rfc3339(Time::from_secs(mirrored.last)),
            "after_seconds": after,
            "objects": size,
            "confidence": confidence,
            "precision": view(&precision),
            "recall": view(&recall),
            "gone": { "expected": gone(precision.quality), "low": gone(precision.interval.high), "high": gone(precision.interval.low) },
            "direct": { "precision": direct[0].map(direct_view), "recall": direct[1].map(direct_view) },
            "record": { "precision": record(Metric::Precision), "recall": record(Metric::Recall) },
        });
        voice.result(&document, || {
            let mut rows = facts();
            let mut row = |what: &str, text: String| {
                rows.add_row([what.to_owned(), text]);
            };
            let line = |expected: &Expected| {
                format!(
                    "{:.3} ({:.3}–{:.3}, {:.0} %)",
                    expected.quality,
                    expected.interval.low,
                    expected.interval.high,
                    100.0 * confidence
                )
            };
            row("collection", mirrored.name());
            row("synced", format!("{}, {} objects", rfc3339(Time::from_secs(mirrored.last)), size));
            row("after", duration(after));
            row("precision", line(&precision));
            row("recall", line(&recall));
            row(
                "gone by then",
                format!(
                    "{:.0} objects ({:.0}–{:.0})",
                    gone(precision.quality),
                    gone(precision.interval.high),
                    gone(precision.interval.low)
                ),
            );
            for (metric, direct) in Metric::ALL.into_iter().zip(direct) {
                if let Some(Direct { quality, low, high }) = direct {
                    let word = metric.word();
                    row("by the time series", format!("{word} {quality:.3} ({low:.3}–{high:.3})"));
                }
            }
            for metric in Metric::ALL {
                let (told, covered) = mirrored.forecaster.record(metric);
                row(
                    "record",
                    format!(
                        "{}: {covered} of {told} earlier forecasts inside their 90 % interval",
                        metric.word()
                    ),
                );
            }
            rows.to_string()
        })
    }
}

/// A quality by the time series alone: the middle and its interval.
#[derive(Clone, Copy)]
struct Direct {
    quality: f64,
    low: f64,
    high: f64,
}

/// The direct forecast (SA-15): the decay itself as a series. Where looks came evenly an autoregression with its delta-method
/// error, else the state-space form, which takes gaps as they are.
fn direct(mirrored: &Mirrored, metric: Metric, days: f64, confidence: f64) -> Option<Direct> {
    let looks = &mirrored.forecaster.collection().looks()[1..];
    let mut gaps: Vec<f64> = looks.iter().map(|look| look.gap).collect();
    gaps.sort_by(f64::total_cmp);
    let step = *gaps.get(gaps.len() / 2).filter(|&&step| step > 0.0)?;
    let whole = |gap: f64| -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "steps of a forecast"
        )]
        let steps = (gap / step).round().clamp(1.0, 1_000.0) as usize;
        steps
    };
    let decayed = |look: &Seen| match metric {
        Metric::Precision => decay(look.overlap.both, look.overlap.copy),
        Metric::Recall => decay(look.overlap.both, look.overlap.source),
    };
    let syncs: Vec<(usize, f64)> =
        looks.iter().filter_map(|look| Some((whole(look.gap), decayed(look)?))).collect();
    let ahead = whole(days);
    let (sum, error) = if syncs.iter().all(|&(gap, _)| gap == 1) {
        let series: Vec<f64> = syncs.iter().map(|&(_, seen)| seen).collect();
        let selected = Ar::select(&series, 7, None, Criterion::Bic).ok()?;
        let model = if selected.is_stationary() { selected } else { Ar::constant(&series).ok()? };
        let forecast = model.forecast_with_parameters(&series, ahead);
        (forecast.sums[ahead - 1], forecast.sum_errors[ahead - 1])
    } else {
        let Ahead { mean, variance } = Tracker::learn_syncs(&syncs, 7).ok()?.ahead(ahead);
        (mean, variance.max(0.0).sqrt())
    };
    let z = binomial::normal_point(f64::midpoint(1.0, confidence));
    // less than a step, or not a whole number of them: in proportion
    let part = days / (step * ahead as f64);
    let at = |deviations: f64| ((sum + deviations * error) * part).min(0.0).exp();
    Some(Direct { quality: at(0.0), low: at(-z), high: at(z) })
}

/// Precision and recall from the sync to twice the time asked about.
pub(super) fn course(mirrored: &Mirrored, days: f64, confidence: f64) -> Chart {
    let times: Vec<f64> = (0..=48).map(|at| 2.0 * days * f64::from(at) / 48.0).collect();
    let line = |name: &str, metric: Metric, pick: &dyn Fn(Expected) -> f64| Series {
        name: name.to_owned(),
        points: times
            .iter()
            .filter_map(|&t| {
                Some((t, pick(mirrored.forecaster.expected(metric, t, confidence).ok()??)))
            })
            .collect(),
    };
    let mut series = Vec::new();
    for metric in Metric::ALL {
        let word = metric.word();
        series.push(line(word, metric, &|expected| expected.quality));
        series.push(line(&format!("{word}, low"), metric, &|expected| expected.interval.low));
        series.push(line(&format!("{word}, high"), metric, &|expected| expected.interval.high));
    }
    Chart {
        title: format!("Quality of the copy after a sync: {}", mirrored.name()),
        x: "days since the sync",
        y: "share",
        logarithmic: false,
        series,
    }
}
