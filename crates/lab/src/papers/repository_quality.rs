//! Repository quality, table by table and figure by figure, on real object traces.
//!
//! | what | file |
//! | --- | --- |
//! | arrivals and lives of each listing (Table I, Figures 1 and 2) | here |
//! | a model that stands still against one that learns (Figure 3, SA-14) | [`race`] |
//! | do intervals cover what they say? | [`coverage`] |
//!
//! Paper page: `docs/papers/repository-quality.md`.

pub mod coverage;
pub mod race;

use std::path::{Path, PathBuf};

use dynamics::arrival::Counts;
use dynamics::arrival::week::Week;
use dynamics::collection::{Collection, Part};
use dynamics::survival::compare::{Tested, by_age, choose, log_rank};
use dynamics::survival::{Curve, Exponential, Law, Life, Weibull};
use rayon::prelude::*;

use super::{Error, Report};
use crate::figure::{Chart, Series};
use crate::listing::{DAY, Listing};

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It could not be written.
    #[error(transparent)]
    Report(#[from] Error),
    /// There is nothing to report on.
    #[error(
        "the trace holds no listing with objects; give a directory with `listings` and `objects`"
    )]
    Nothing,
}

/// The paper's Table I (reconstructed: the scan is scrambled).
const PAPER: [[&str; 4]; 6] = [
    ["Car Web source 1", "10", "10 (2006/01–2006/12)", "43,597"],
    ["Car Web source 2", "10", "13 (2005/10–2006/11)", "37,173"],
    ["Book Web source 1", "3", "3 (2005/08–2005/12)", "3,349"],
    ["Job Web source 1", "2", "3 (2006/12–2007/03)", "2,959"],
    ["Job Web source 2", "7", "4 (2006/06–2006/10)", "31,223"],
    ["Forums Web source 1", "4", "2 (2006/12–2007/02)", "25,370"],
];

/// A listing as looks at its own step show it.
pub struct Shown<'a> {
    /// The listing.
    pub listing: &'a Listing,
    /// Seconds between looks.
    pub step: i64,
    /// What looks showed, time in steps since the start.
    pub collection: Collection,
}

impl<'a> Shown<'a> {
    /// Looks at it every hour or day, as its objects' lives call for.
    pub fn of(listing: &'a Listing) -> Self {
        let step = listing.step();
        let mut collection = Collection::default();
        listing.replay(&listing.moments(listing.start, step), None, |at, items| {
            collection.look((at - listing.start) as f64 / step as f64, items);
        });
        Self { listing, step, collection }
    }

    /// `day` or `hour`
    pub fn unit(&self) -> &'static str {
        if self.step == DAY { "day" } else { "hour" }
    }

    fn lives(&self) -> Vec<Life> {
        self.collection.lives(Part::default()).0
    }
}

/// Writes the report with its figures into `dir`; where it is. `tick` hears what is being done: five times.
pub fn reproduce(
    dir: &Path,
    listings: &[Listing],
    tick: &(dyn Fn(&str) + Sync),
) -> Result<PathBuf, Failure> {
    let listings: Vec<&Listing> =
        listings.iter().filter(|listing| !listing.spells.is_empty()).collect();
    if listings.is_empty() {
        return Err(Failure::Nothing);
    }
    let mut report = Report::new(dir, "Repository quality: theirs and ours")?;
    tick("looking at the listings");
    let shown: Vec<Shown<'_>> = listings.par_iter().map(|listing| Shown::of(listing)).collect();
    table_one(&mut report, &shown)?;
    tick("arrivals");
    figure_one(&mut report, &shown)?;
    tick("lives");
    figure_two(&mut report, &shown)?;
    tick("static against adaptive");
    race::report(&mut report, &listings)?;
    tick("coverage of intervals");
    coverage::report(&mut report, &listings)?;
    Ok(report.finish()?)
}

fn table_one(report: &mut Report, shown: &[Shown<'_>]) -> Result<(), Error> {
    report.heading("Table I: the sources");
    report.say("Theirs were crawled daily and are not public. Ours are listings kept in public repositories.");
    let heading = ["source", "categories", "months", "objects"];
    let theirs = PAPER.iter().map(|row| row.iter().map(|&cell| cell.to_owned()).collect());
    let ours = shown.iter().map(|one| {
        let listing = one.listing;
        let months = (listing.end - listing.start) as f64 / (30.44 * DAY as f64);
        vec![
            listing.name.clone(),
            listing.categories.len().to_string(),
            format!("{months:.0}"),
            listing.objects().to_string(),
        ]
    });
    let rows: Vec<Vec<String>> = theirs.chain(ours).collect();
    report.table("table1", &heading, &rows)
}

fn law(counts: &Counts) -> String {
    match counts {
        Counts::Gamma { shape, scale } => format!("Gamma({shape:.2}, {scale:.2})"),
        Counts::NegativeBinomial { size, .. } => format!("negative binomial(r = {size:.2})"),
        Counts::Poisson { .. } => "Poisson".to_owned(),
    }
}

/// Arrivals per day, where looks came so often.
fn daily(one: &Shown<'_>) -> Vec<Option<f64>> {
    one.collection.arrivals_by((DAY / one.step) as f64, Part::default())
}

fn figure_one(report: &mut Report, shown: &[Shown<'_>]) -> Result<(), Error> {
    report.heading("Figure 1: arrivals");
    report.say(
        "The paper draws daily arrivals of two sources and a Gamma law through them. A Gamma law wants every day to have \
         arrivals; where one has none, or where it is the less likely (AIC), a negative binomial stands in.",
    );
    let mut rows = Vec::new();
    let mut fits = Vec::new();
    for one in shown {
        let days = daily(one);
        let counts: Vec<f64> = days.iter().copied().flatten().collect();
        let Ok(fit) = Counts::fit(&counts) else { continue };
        let zeros = counts.iter().filter(|&&x| x <= 0.0).count() as f64 / counts.len() as f64;
        let week = Week::of(&days);
        rows.push(vec![
            one.listing.name.clone(),
            counts.len().to_string(),
            format!("{:.2}", fit.mean()),
            format!("{:.1}", fit.variance() / fit.mean().max(1e-9)),
            format!("{:.0} %", zeros * 100.0),
            law(&fit),
            if week.is_seen() {
                let (low, high) =
                    week.factors.iter().fold((f64::MAX, 0f64), |(l, h), &x| (l.min(x), h.max(x)));
                format!("yes ({low:.2}–{high:.2})")
            } else {
                "no".to_owned()
            },
        ]);
        fits.push((zeros, one.listing.name.clone(), counts, fit));
    }
    let heading =
        ["listing", "days", "mean", "variance/mean", "days without", "law", "weekly pattern"];
    report.table("arrivals", &heading, &rows)?;
    report.say("Drawn: the two listings with fewest days without arrivals, where a Gamma law has its best chance.");
    fits.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (at, (_, name, counts, fit)) in fits.iter().take(2).enumerate() {
        let chart = histogram(name, counts, fit);
        report.chart(&format!("figure1{}", ["a", "b"][at]), &chart)?;
    }
    Ok(())
}

/// Shares of days by count, and what the law and the best Gamma expect.
fn histogram(name: &str, counts: &[f64], fit: &Counts) -> Chart {
    let top = fit.quantile(0.995).max(20.0);
    let width = (top / 24.0).ceil();
    let bins: Vec<f64> = (0..24).map(|at| f64::from(at) * width).collect();
    let share = |low: f64| {
        counts.iter().filter(|&&x| x >= low && x < low + width).count() as f64 / counts.len() as f64
    };
    let expected = |law: &Counts, low: f64| {
        // P(low ≤ X < low + width), by inverting the quantile
        let below = |x: f64| {
            dynamics::solve::falling(1e-9, 1.0, |q| x - law.quantile(q.min(1.0 - 1e-9)) - 1e-9)
        };
        (below(low + width) - if low > 0.0 { below(low) } else { 0.0 }).max(0.0)
    };
    let line = |name: &str, f: &dyn Fn(f64) -> f64| Series {
        name: name.to_owned(),
        points: bins.iter().map(|&low| (low + width / 2.0, f(low))).collect(),
    };
    let mut series = vec![line("seen", &share), line(&law(fit), &|low| expected(fit, low))];
    let positive: Vec<f64> = counts.iter().copied().filter(|&x| x > 0.0).collect();
    if !matches!(fit, Counts::Gamma { .. })
        && let Ok(gamma) = Counts::gamma(&positive)
    {
        series.push(line("Gamma, days with", &|low| expected(&gamma, low)));
    }
    Chart {
        title: format!("Arrivals per day: {name}"),
        x: "arrivals",
        y: "share of days",
        logarithmic: false,
        series,
    }
}

fn figure_two(report: &mut Report, shown: &[Shown<'_>]) -> Result<(), Error> {
    report.heading("Figure 2: lives");
    report.say(
        "The paper finds the difference between exponential and Weibull negligible and takes the exponential. Here a \
         likelihood-ratio test decides (p: chance of so much gain if the exponential were right), and removals by age \
         against the chosen law say whether it fits (χ² per degree; 1 is what chance gives). *Gone only* is the rate \
         that comes of dropping the objects still there.",
    );
    let mut rows = Vec::new();
    for one in shown {
        let lives = one.lives();
        let Ok(plain) = Exponential::fit(&lives) else { continue };
        let gone: Vec<Life> = lives.iter().filter(|life| life.is_over()).copied().collect();
        let careless = Exponential::fit(&gone).map_or(f64::NAN, |law| law.rate);
        let (chosen, tested) = choose(&lives).unwrap_or((Law::Exponential(plain), None));
        let (_, bands) = by_age(&lives, &chosen, 10);
        let (_, plain_bands) = by_age(&lives, &Law::Exponential(plain), 10);
        let per_degree =
            |tested: &Tested| format!("{:.1}", tested.statistic / tested.degrees.max(1) as f64);
        let per_day = DAY as f64 / one.step as f64;
        rows.push(vec![
            one.listing.name.clone(),
            lives.len().to_string(),
            format!("{:.0} %", 100.0 * (1.0 - gone.len() as f64 / lives.len() as f64)),
            format!("{:.5}", plain.rate * per_day),
            format!("×{:.2}", careless / plain.rate),
            match Weibull::fit(&lives) {
                Ok(law) => format!("{:.3} ± {:.3}", law.shape, law.errors()[1]),
                Err(_) => "–".to_owned(),
            },
            tested.map_or("–".to_owned(), |tested| chance(tested.chance)),
            per_degree(&plain_bands),
            per_degree(&bands),
            categories(one).map_or("–".to_owned(), |tested| chance(tested.chance)),
        ]);
    }
    let heading = [
        "listing",
        "lives",
        "still there",
        "rate per day",
        "gone only",
        "Weibull k",
        "p",
        "fit, exponential",
        "fit, chosen",
        "categories differ, p",
    ];
    report.table("lives", &heading, &rows)?;
    report.say("Drawn: the listings with the shortest and the longest mean life among those looked at daily.");
    let mut daily: Vec<(f64, &Shown<'_>)> = shown
        .iter()
        .filter(|one| one.step == DAY)
        .filter_map(|one| Some((Exponential::fit(&one.lives()).ok()?.rate, one)))
        .collect();
    daily.sort_by(|a, b| b.0.total_cmp(&a.0));
    let ends = [daily.first(), daily.last()].into_iter().flatten();
    for (letter, (_, one)) in ["a", "b"].iter().zip(ends) {
        if let Some(chart) = survival_chart(one) {
            report.chart(&format!("figure2{letter}"), &chart)?;
        }
    }
    Ok(())
}

/// Do the twenty largest categories live equally long?
fn categories(one: &Shown<'_>) -> Option<Tested> {
    let mut groups: Vec<Vec<Life>> = (0u32..)
        .zip(&one.listing.categories)
        .map(|(at, _)| one.collection.lives(Part { category: Some(at), since: None }).0)
        .filter(|lives| lives.len() >= 50)
        .collect();
    groups.sort_by_key(|lives| std::cmp::Reverse(lives.len()));
    groups.truncate(20);
    log_rank(&groups)
}

fn chance(p: f64) -> String {
    if p < 1e-4 { "< 0.0001".to_owned() } else { format!("{p:.4}") }
}

/// Kaplan–Meier with the two laws.
fn survival_chart(one: &Shown<'_>) -> Option<Chart> {
    let lives = one.lives();
    let curve = Curve::of(&lives).ok()?;
    let plain = Law::Exponential(Exponential::fit(&lives).ok()?);
    let end = curve.end();
    let ages: Vec<f64> = (0..=60).map(|at| end * f64::from(at) / 60.0).collect();
    let per_day = DAY as f64 / one.step as f64;
    let line = |name: &str, f: &dyn Fn(f64) -> f64| Series {
        name: name.to_owned(),
        points: ages.iter().map(|&age| (age / per_day, f(age))).collect(),
    };
    let mut series = vec![
        line("Kaplan–Meier", &|age| curve.survival(age)),
        line("exponential", &|age| plain.survival(age)),
    ];
    if let Ok(law) = Weibull::fit(&lives) {
        let law = Law::Weibull(law);
        series.push(line("Weibull", &|age| law.survival(age)));
    }
    Some(Chart {
        title: format!("How long objects live: {}", one.listing.name),
        x: "age, days",
        y: "share still there",
        logarithmic: false,
        series,
    })
}
