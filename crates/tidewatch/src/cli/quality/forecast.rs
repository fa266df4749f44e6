//! Precision and recall some time after a sync, and how many objects are gone by then.

use clap::Args;
use dynamics::decay::ar::Criterion;
use dynamics::decay::{Ar, decay};
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
        let direct = direct(&mirrored, days);
        if let Some(path) = &self.which.plot {
            lab::figure::lines(&course(&mirrored, days, confidence), path)?;
        }
        let gone = |quality: f64| size * (1.0 - quality);
        let view = |expected: &Expected| {
            json!({
                "expected": expected.quality, "low": expected.interval.low, "high": expected.interval.high })
        };
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
            "direct": direct.map(|[precision, recall]| json!({ "precision": precision, "recall": recall })),
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
            if let Some([precision, recall]) = direct {
                row("by the time series", format!("precision {precision:.3}, recall {recall:.3}"));
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

/// The direct forecast (SA-15): an autoregression on the decay between looks, where they came evenly.
fn direct(mirrored: &Mirrored, days: f64) -> Option<[f64; 2]> {
    let looks = mirrored.forecaster.collection().looks();
    let gap = looks.last()?.gap;
    if gap <= 0.0 || looks.iter().skip(1).any(|look| (look.gap / gap - 1.0).abs() > 0.2) {
        return None;
    }
    let ahead = (days / gap).max(1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "steps of a forecast"
    )]
    let whole = ahead.ceil().min(10_000.0) as usize;
    let mut qualities = [0.0; 2];
    for (metric, quality) in Metric::ALL.into_iter().zip(&mut qualities) {
        let series: Vec<f64> = looks
            .iter()
            .skip(1)
            .filter_map(|look| match metric {
                Metric::Precision => decay(look.overlap.both, look.overlap.copy),
                Metric::Recall => decay(look.overlap.both, look.overlap.source),
            })
            .collect();
        let selected = Ar::select(&series, 7, None, Criterion::Bic).ok()?;
        let model = if selected.is_stationary() { selected } else { Ar::constant(&series).ok()? };
        let sum = model.forecast(&series, whole).sums[whole - 1];
        *quality = (sum * ahead / whole as f64).min(0.0).exp();
    }
    Some(qualities)
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
