//! The WIC paper, figure by figure: on real auction bids, on made-up ones of their kind, and on other streams by the minute.
//!
//! The paper's 7,550 auction pages are not public. WC-25 draws as many from real auctions of the same site; without them a
//! made-up kind with the same rush of bids at the end stands in. Utility is judged on the changes that happened, schedules
//! are made from what was told of them (FPN, σ). Paper page: `docs/papers/pandey-dhamdhere-olston-2004.md`.

pub mod auctions;
pub mod better;
pub mod tradeoff;

use std::path::{Path, PathBuf};

use schedule::epoch::Epoch;
use schedule::epoch::greedy::{Options, wic};
use schedule::epoch::optimum::optimum;
use schedule::utility::{Decay, Shape, Stay};

use super::Report;
use super::sampling::Failure;
use crate::figure::{Chart, Series};
use crate::trace::Trace;
use auctions::{Auction, epoch_day, made_up};
use tradeoff::Day;

/// How much.
pub struct Scale {
    /// Pages of an epoch.
    pub pages: usize,
    /// Seeds of the comparison with the bound.
    pub seeds: u64,
    /// Real auctions; made-up ones stand in for none.
    pub auctions: Option<Vec<Auction>>,
    /// A trace of streams by the minute.
    pub streams: Option<Trace>,
}

impl Default for Scale {
    fn default() -> Self {
        Self { pages: 7_550, seeds: 20, auctions: None, streams: None }
    }
}

/// Writes the whole report into `dir`; where it is. `tick` hears what is being worked on.
pub fn reproduce(
    dir: &Path,
    scale: &Scale,
    tick: &(dyn Fn(&str) + Sync),
) -> Result<PathBuf, Failure> {
    let mut report = Report::new(dir, "WIC: theirs and ours")?;
    report.say(
        "Utility: worth of what was captured, judged on the changes that happened, over their number: 1 if every change were caught \
         at once. C: polls an instant can pay for. Captured, zero delay: shares of all changes.",
    );
    tick("figures 1, 3 and 4");
    urgencies(&mut report)?;
    tick("section 4");
    section_4(&mut report)?;
    let real = scale.auctions.is_some();
    let kind = if real { "real bids" } else { "made-up bids" };
    let auctions = scale.auctions.clone().unwrap_or_else(|| made_up(370, 1));
    let day = Day::new(&format!("auctions, {kind}"), epoch_day(&auctions, scale.pages, 1));
    report.heading(&format!("Section 5 on {kind}"));
    report.say(&format!(
        "{} pages drawn from {} auctions, {} changes in 1,440 minutes; the paper: 7,550 pages, one day.",
        scale.pages,
        auctions.len(),
        day.truth.len()
    ));
    day.figures(&mut report, tick)?;
    day.told_and_learned(&mut report, "auctions", tick)?;
    if let Some(trace) = &scale.streams {
        for date in ["2019-10-27", "2021-01-27", "2024-02-04"] {
            tick(date);
            if let Some(day) = Day::of_trace(trace, date) {
                report.heading(&format!("The same on {}", day.name));
                day.short(&mut report, date)?;
                day.told_and_learned(&mut report, date, tick)?;
            }
        }
    }
    tick("better than greedy");
    better::report(&mut report, scale.seeds)?;
    Ok(report.finish()?)
}

fn curve(name: &str, decay: &Decay) -> Series {
    let points = (0..=20u32).map(|late| (f64::from(late), decay.at(late))).collect();
    Series { name: name.to_owned(), points }
}

fn urgencies(report: &mut Report) -> Result<(), Failure> {
    report.heading("Figures 1 and 4: urgency functions");
    let figure_1 = [
        ("a: timeliness counts (r = 0.5)", Decay::Exponential(0.5)),
        ("b: completeness counts (r = 0.95)", Decay::Exponential(0.95)),
        ("sliding window 5", Decay::Window(5)),
        ("polynomial 1", Decay::Polynomial(1.0)),
    ];
    let rs = [0.0, 0.3, 0.5, 0.7, 0.9, 1.0].map(|r| (format!("r = {r}"), Decay::Exponential(r)));
    let series = figure_1.map(|(name, decay)| curve(name, &decay)).to_vec();
    let chart = |title: &str, series| Chart {
        title: title.to_owned(),
        x: "delay in instants",
        y: "urgency",
        series,
        ..Chart::default()
    };
    report.chart("figure1", &chart("Figure 1: what a change is worth, by its delay", series))?;
    let series = rs.map(|(name, decay)| curve(&name, &decay)).to_vec();
    report.chart("figure4", &chart("Figure 4: urgency r^t", series))?;
    report.heading("Figure 3: life and urgency of the extreme scenarios");
    let rows = [
        ["appends, not urgent (résumés)", "append", "none"],
        ["overwrites, not urgent (front pages)", "overwrite", "none"],
        ["appends, urgent (security bulletins)", "append", "within 0s"],
        ["overwrites, urgent (prices, bids): RIR, what CAM is for", "overwrite", "within 0s"],
    ];
    let rows = rows.map(|row| row.map(str::to_owned).to_vec());
    report.table("figure3", &["scenario", "--life", "--urgency"], &rows)?;
    Ok(())
}

/// |P| pages, all π but one π′, N instants, one poll each.
fn one_livelier(pages: usize, instants: u32, common: f64, lively: f64, decay: Decay) -> Epoch {
    let shape = Shape { decay, stay: Stay::Append };
    let mut epoch = Epoch::new(1, instants, 1);
    for page in 1..=pages {
        let chance = if page == pages { lively } else { common };
        epoch.add(1.0, &shape, (1..=instants).map(|k| (k, chance)));
    }
    epoch
}

fn section_4(report: &mut Report) -> Result<(), Failure> {
    report.heading("Section 4: the table of timeliness against completeness");
    let mut rows = Vec::new();
    for (pages, instants, common, lively) in
        [(3, 10, 0.2, 0.5), (2, 12, 0.1, 0.9), (4, 12, 0.3, 0.4)]
    {
        let of = |decay| one_livelier(pages, instants, common, lively, decay);
        let (complete, timely) = (of(Decay::Exponential(1.0)), of(Decay::Window(0)));
        let (p, n) = (pages as f64, f64::from(instants));
        let paper = n * lively + ((p - 1.0) * n - p * (p - 1.0) / 2.0) * common;
        let best =
            |epoch: &Epoch| optimum(epoch).map_or("–".to_owned(), |best| format!("{best:.3}"));
        let greedy =
            |epoch: &Epoch| format!("{:.3}", epoch.utility(&wic(epoch, Options::default())));
        rows.push(vec![
            format!("{pages}, {instants}, {common}, {lively}"),
            format!("{:.3}", n * lively),
            best(&timely),
            greedy(&timely),
            format!("{paper:.3}"),
            best(&complete),
            greedy(&complete),
        ]);
    }
    let heading = [
        "pages, N, π, π′",
        "timeliness only, paper",
        "optimum, ours",
        "WIC",
        "completeness only, paper",
        "optimum, ours",
        "WIC",
    ];
    report.table("section4", &heading, &rows)?;
    report.say("The paper's formulas are the exact optimum; WIC itself, which looks at nothing to come, is a little below it where only completeness counts.");
    Ok(())
}
