//! When to sync so that precision or recall stays above a target.

use clap::Args;
use dynamics::quality::Metric;
use schedule::{Span, Time};
use serde_json::json;

use super::super::table::{facts, table};
use super::super::{Failure, Voice};
use super::forecast::course;
use super::{Which, share};
use crate::words::seconds::PER_DAY;
use crate::words::{duration, rfc3339};

/// When to sync
#[derive(Args)]
#[command(group = clap::ArgGroup::new("goal").required(true).args(["precision", "recall"]))]
pub(crate) struct Plan {
    #[command(flatten)]
    which: Which,
    /// Least precision to keep
    #[arg(long, value_name = "SHARE")]
    precision: Option<f64>,
    /// Least recall to keep
    #[arg(long, value_name = "SHARE")]
    recall: Option<f64>,
    /// With what chance the target must hold
    #[arg(long, value_name = "SHARE", default_value_t = 0.9)]
    confidence: f64,
}

impl Plan {
    pub(super) fn run(self, voice: Voice) -> Result<(), Failure> {
        /// Beyond a decade nobody plans.
        const MOST: f64 = 3_650.0;
        let confidence = share("--confidence", self.confidence)?;
        let mirrored = self.which.mirrored()?;
        let (metric, target) = match (self.precision, self.recall) {
            (Some(target), _) => (Metric::Precision, share("--precision", target)?),
            (None, target) => (Metric::Recall, share("--recall", target.unwrap_or(0.9))?),
        };
        let wait = |confidence: f64| {
            let found = mirrored.forecaster.sync_within(metric, target, confidence, MOST);
            let found = found.map_err(|why| mirrored.could_not(why))?;
            found
                .ok_or_else(|| mirrored.could_not("the copy is empty, so there is nothing to keep"))
        };
        let chosen = wait(confidence)?;
        let others = [0.5, 0.8, 0.9, 0.95, 0.99];
        let waits: Vec<(f64, f64)> = others
            .into_iter()
            .map(|level| wait(level).map(|days| (level, days)))
            .collect::<Result<_, _>>()?;
        if let Some(path) = &self.which.plot {
            lab::figure::lines(&course(&mirrored, chosen.min(MOST / 2.0), confidence), path)?;
        }
        let due = Time::from_secs(mirrored.last) + Span::from_secs_f64(chosen * PER_DAY);
        let document = json!({
            "collection": mirrored.name(),
            "target": { metric.word(): target, "confidence": confidence },
            "synced": rfc3339(Time::from_secs(mirrored.last)),
            "sync_within_seconds": chosen * PER_DAY,
            "sync_by": rfc3339(due),
            "never": chosen >= MOST * 0.999,
            "by_confidence": waits.iter().map(|(level, days)| json!({
                "confidence": level, "sync_within_seconds": days * PER_DAY })).collect::<Vec<_>>(),
        });
        voice.result(&document, || {
            let mut rows = facts();
            rows.add_row(["collection".to_owned(), mirrored.name()]);
            rows.add_row([
                "to keep".to_owned(),
                format!("{} ≥ {target} with {:.0} % confidence", metric.word(), 100.0 * confidence),
            ]);
            let answer = if chosen >= MOST * 0.999 {
                "not within ten years, as things are".to_owned()
            } else {
                format!(
                    "within {} of the last sync: by {}",
                    duration(chosen * PER_DAY),
                    rfc3339(due)
                )
            };
            rows.add_row(["sync".to_owned(), answer]);
            let mut levels = table(&["confidence", "sync within"]);
            for (level, days) in &waits {
                levels.add_row([format!("{:.0} %", 100.0 * level), duration(days * PER_DAY)]);
            }
            format!("{rows}\n{levels}")
        })
    }
}
