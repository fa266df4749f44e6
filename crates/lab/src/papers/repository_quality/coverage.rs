//! Do 90 % intervals cover 90 %? Every listing is mirrored by looks every few steps; each look is foretold from what
//! the looks before it showed, and nothing else. The first half of the looks only teaches.

use dynamics::quality::Forecaster;
use dynamics::quality::Metric;
use rayon::prelude::*;

use super::super::{Error, Report};
use crate::listing::{DAY, Listing};

/// Steps between looks.
pub const GAPS: [i64; 4] = [1, 3, 7, 12];

/// Looks ahead of the far forecasts.
const FAR: usize = 8;

/// How forecasts of one listing turned out at one gap.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Forecasts, and how many were covered: precision, recall.
    pub told: [usize; 2],
    /// How many were covered.
    pub covered: [usize; 2],
    /// Sum of squared misses of the middle.
    pub squares: [f64; 2],
    /// Sum of interval widths.
    pub widths: [f64; 2],
    /// Forecasts made `FAR` looks before, and how many were covered.
    pub far: [usize; 2],
    /// Truths equal to the commonest truth, 1: where these are more than 95 %, no interval can cover less.
    pub ones: [usize; 2],
}

impl Record {
    /// Share covered of one quality.
    pub fn share(&self, metric: Metric) -> f64 {
        let at = metric as usize;
        self.covered[at] as f64 / self.told[at].max(1) as f64
    }

    fn add(&mut self, other: &Self) {
        for at in 0..2 {
            self.far[at] += other.far[at];
            self.told[at] += other.told[at];
            self.covered[at] += other.covered[at];
            self.squares[at] += other.squares[at];
            self.widths[at] += other.widths[at];
            self.ones[at] += other.ones[at];
        }
    }
}

/// Mirrors a listing by looks every `gap` seconds.
pub fn mirror(listing: &Listing, gap: i64) -> Record {
    let moments = listing.moments(listing.start, gap);
    let mut forecaster = Forecaster::default();
    let mut record = Record::default();
    let half = moments.len() / 2;
    let mut look = 0;
    listing.replay(&moments, None, |at, items| {
        let (_, outcomes) = forecaster.look((at - listing.start) as f64 / gap as f64, items);
        look += 1;
        if look <= half {
            return;
        }
        for outcome in &outcomes {
            if outcome.looks == FAR {
                record.far[0] += 1;
                record.far[1] += usize::from(outcome.is_covered());
            }
        }
        for outcome in outcomes.into_iter().filter(|outcome| outcome.looks == 1) {
            let which = outcome.metric as usize;
            record.told[which] += 1;
            record.covered[which] += usize::from(outcome.is_covered());
            record.squares[which] += (outcome.seen - outcome.foretold.quality).powi(2);
            let interval = outcome.foretold.interval;
            record.widths[which] += interval.high - interval.low;
            record.ones[which] += usize::from(outcome.seen >= 1.0);
        }
    });
    record
}

/// Every listing at every gap.
pub fn all(listings: &[&Listing]) -> Vec<Vec<Record>> {
    listings
        .par_iter()
        .map(|listing| {
            let step = listing.step();
            GAPS.par_iter().map(|gap| mirror(listing, gap * step)).collect()
        })
        .collect()
}

pub(super) fn report(report: &mut Report, listings: &[&Listing]) -> Result<(), Error> {
    report.heading("Do 90 % intervals cover 90 %?");
    report.say(
        "Each listing is mirrored by a sync every 1, 3, 7 and 12 steps (a step is a day, or an hour where objects live \
         for hours). Precision and recall at each sync are foretold at the one before, by survival and arrivals fitted to \
         the recent past, with intervals calibrated on earlier forecasts. Only the later half of the syncs is counted. \
         *8 syncs ahead* is the same for forecasts over eight gaps without a sync between. *Nothing happened* is the share of truths that are exactly 1; where it is above 95 %, no interval that holds 1 \
         can cover less.",
    );
    let records = all(listings);
    let mut rows = Vec::new();
    let mut total = Record::default();
    let mut by_gap = vec![Record::default(); GAPS.len()];
    for (listing, records) in listings.iter().zip(&records) {
        let mut sum = Record::default();
        for (at, record) in records.iter().enumerate() {
            sum.add(record);
            by_gap[at].add(record);
        }
        total.add(&sum);
        let unit = if listing.step() == DAY { "days" } else { "hours" };
        rows.push(row(&listing.name, unit, &sum));
    }
    for (at, record) in by_gap.iter().enumerate() {
        rows.push(row(&format!("all, every {} steps", GAPS[at]), "", record));
    }
    rows.push(row("all", "", &total));
    let heading = [
        "listing",
        "steps",
        "forecasts",
        "precision covered",
        "recall covered",
        "both",
        "8 syncs ahead",
        "width, precision",
        "width, recall",
        "nothing happened",
    ];
    report.table("coverage", &heading, &rows)
}

fn row(name: &str, unit: &str, record: &Record) -> Vec<String> {
    let told = record.told[0] + record.told[1];
    let share = |part: usize, of: usize| format!("{:.1} %", 100.0 * part as f64 / of.max(1) as f64);
    vec![
        name.to_owned(),
        unit.to_owned(),
        told.to_string(),
        share(record.covered[0], record.told[0]),
        share(record.covered[1], record.told[1]),
        share(record.covered[0] + record.covered[1], told),
        share(record.far[1], record.far[0]),
        format!("{:.4}", record.widths[0] / record.told[0].max(1) as f64),
        format!("{:.4}", record.widths[1] / record.told[1].max(1) as f64),
        share(record.ones[0] + record.ones[1], told),
    ]
}
