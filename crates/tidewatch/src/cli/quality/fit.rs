//! How objects arrive and how long they live, with the tests that say which law fits.

use clap::Args;
use comfy_table::Table;
use dynamics::arrival::Counts;
use dynamics::arrival::week::Week;
use dynamics::collection::Part;
use dynamics::survival::compare::{Band, Tested, by_age, choose, log_rank};
use dynamics::survival::turnbull::{self, Estimate};
use dynamics::survival::{Curve, Exponential, Law, Life, Unfit, Weibull};
use lab::figure::{Chart, Series};
use serde_json::{Value, json};

use super::super::table::{count, counted, facts, table};
use super::super::{Failure, Voice};
use super::{Mirrored, Which};
use crate::words::duration;
use crate::words::seconds::PER_DAY;

/// How objects arrive and how long they live
#[derive(Args)]
pub(crate) struct Fit {
    #[command(flatten)]
    which: Which,
    /// Categories to list, the largest first
    #[arg(long, value_name = "N", default_value_t = 5)]
    categories: usize,
}

/// Lives up to which the most likely curve between looks is searched for.
const TURNBULL: usize = 5_000;

impl Fit {
    pub(super) fn run(self, voice: Voice) -> Result<(), Failure> {
        let mirrored = self.which.mirrored()?;
        let fitted = self.fitted(&mirrored).map_err(|why| mirrored.could_not(why))?;
        if let Some(path) = &self.which.plot {
            lab::figure::lines(&fitted.chart(&mirrored.name()), path)?;
        }
        voice.result(&fitted.document(&mirrored), || {
            let mut tables = vec![fitted.facts(&mirrored), fitted.ages().to_string()];
            if fitted.groups.len() > 1 {
                tables.push(fitted.categories().to_string());
            }
            tables.join("\n")
        })
    }

    fn fitted(&self, mirrored: &Mirrored) -> Result<Fitted, Unfit> {
        let lives = mirrored.lives(None);
        let (law, tested) = choose(&lives)?;
        let (bands, fits) = by_age(&lives, &law, 8);
        let daily = mirrored.forecaster.collection().arrivals_by(1.0, Part::default());
        let known: Vec<f64> = daily.iter().copied().flatten().collect();
        let groups = self.groups(mirrored);
        Ok(Fitted {
            plain: Exponential::fit(&lives)?,
            weibull: Weibull::fit(&lives).ok(),
            curve: Curve::of(&lives)?,
            between: Some(&lives)
                .filter(|lives| lives.len() <= TURNBULL)
                .and_then(|lives| turnbull::estimate(lives).ok()),
            differ: log_rank(&groups.iter().map(|(_, lives)| lives.clone()).collect::<Vec<_>>()),
            arrivals: Counts::fit(&known).ok(),
            week: Week::of(&daily),
            days: known.len(),
            lives: lives.len(),
            law,
            tested,
            bands,
            fits,
            groups,
        })
    }

    /// Lives by category, the largest first, those with at least 20.
    fn groups(&self, mirrored: &Mirrored) -> Vec<(String, Vec<Life>)> {
        if mirrored.category.is_some() {
            return Vec::new();
        }
        let mut groups: Vec<(String, Vec<Life>)> = (0u32..)
            .zip(&mirrored.listing.categories)
            .map(|(at, name)| (name.clone(), mirrored.lives(Some(at))))
            .filter(|(_, lives)| lives.len() >= 20)
            .collect();
        groups.sort_by_key(|(_, lives)| std::cmp::Reverse(lives.len()));
        groups.truncate(self.categories);
        groups
    }
}

/// What was learned of a collection.
struct Fitted {
    lives: usize,
    plain: Exponential,
    weibull: Option<Weibull>,
    law: Law,
    /// Weibull against exponential.
    tested: Option<Tested>,
    /// Kaplan–Meier, removals in the middle of their gaps; and Turnbull, which needs no middle.
    curve: Curve,
    between: Option<Estimate>,
    bands: Vec<Band>,
    /// The law against removals by age.
    fits: Tested,
    days: usize,
    arrivals: Option<Counts>,
    week: Week,
    groups: Vec<(String, Vec<Life>)>,
    /// Categories against each other.
    differ: Option<Tested>,
}

impl Fitted {
    fn document(&self, mirrored: &Mirrored) -> Value {
        let steps = [1.0, 7.0, 30.0, 90.0].map(|age| {
            let seen = age <= self.curve.end();
            let between = self.between.as_ref().filter(|_| seen);
            json!({
                "age_days": age, "kaplan_meier": seen.then(|| self.curve.survival(age)),
                "turnbull": between.map(|curve| curve.survival(age)) })
        });
        let weibull = self.weibull.map(|law| {
            json!({
                "scale_days": law.scale, "shape": law.shape, "errors": law.errors(),
                "log_likelihood": law.log_likelihood })
        });
        let bands: Vec<Value> = self
            .bands
            .iter()
            .map(|band| {
                json!({
                    "from_days": band.from, "to_days": finite(band.to), "removed": band.seen,
                    "expected": band.expected })
            })
            .collect();
        let arrivals = self.arrivals.as_ref().map(|law| {
            let week = law.sum(7.0);
            json!({
                "days": self.days, "mean_per_day": law.mean(), "variance": law.variance(),
                "law": law_of_counts(law), "week_ahead_90": [week.quantile(0.05), week.quantile(0.95)],
                "weekday_p": self.week.chance,
                "weekday_factors": self.week.is_seen().then_some(self.week.factors) })
        });
        let categories: Vec<Value> =
            self.groups.iter().map(|(name, lives)| category_row(name, lives)).collect();
        json!({
            "collection": mirrored.name(),
            "looks": mirrored.looks(),
            "objects_now": mirrored.forecaster.collection().size(),
            "lives": self.lives,
            "removed": self.plain.removals,
            "exponential": {
                "rate_per_day": self.plain.rate, "ci95": self.plain.interval(0.95),
                "log_likelihood": self.plain.log_likelihood },
            "weibull": weibull,
            "weibull_against_exponential_p": self.tested.map(|tested| tested.chance),
            "chosen": chosen(&self.law),
            "fit_p": self.fits.chance,
            "mean_life_days": finite(self.law.mean()),
            "median_life_days": finite(self.law.median()),
            "survival": steps,
            "updates": mirrored.updates,
            "by_age": bands,
            "arrivals": arrivals,
            "categories": categories,
            "categories_differ_p": self.differ.map(|tested| tested.chance),
        })
    }

    fn facts(&self, mirrored: &Mirrored) -> String {
        let mut rows = facts();
        let mut row = |what: &str, text: String| {
            rows.add_row([what.to_owned(), text]);
        };
        let there = count(mirrored.forecaster.collection().size());
        row("collection", mirrored.name());
        row("seen", format!("{}, {there} there now", counted(mirrored.looks(), "look")));
        row("lives", format!("{}, {:.0} of them over", count(self.lives), self.plain.removals));
        if let Some(updates) = mirrored.updates {
            row("updates", format!("{updates} times an object changed and stayed"));
        }
        let [low, high] = self.plain.interval(0.95);
        row("removal rate", format!("{:.4} a day ({low:.4}–{high:.4}, 95 %)", self.plain.rate));
        if let Some(law) = self.weibull {
            let scale = duration(law.scale * PER_DAY);
            row(
                "Weibull",
                format!("scale {scale}, shape {:.3} ± {:.3}", law.shape, law.errors()[1]),
            );
        }
        let test = self.tested.map_or(String::new(), |tested| {
            format!(" (likelihood ratio {:.1}, p {})", tested.statistic, chance(tested.chance))
        });
        row("law taken", format!("{}{test}", chosen(&self.law)));
        row("does it fit?", format!("by age {}", chi_squared(&self.fits)));
        let median = self.curve.median();
        row(
            "half are gone after",
            median.map_or("not seen yet".to_owned(), |median| duration(median * PER_DAY)),
        );
        if let Some(law) = &self.arrivals {
            let (mean, variance) = (law.mean(), law.variance());
            row(
                "arrivals",
                format!("{mean:.2} a day, {} (variance {variance:.1})", law_of_counts(law)),
            );
            let week = law.sum(7.0);
            row(
                "in a week",
                format!("{:.0} to {:.0} (90 %)", week.quantile(0.05), week.quantile(0.95)),
            );
            row(
                "weekly pattern",
                match self.week.chance {
                    None => "too few days to say".to_owned(),
                    Some(p) if self.week.is_seen() => {
                        format!("yes, p {}: {}", chance(p), self.weekdays(mirrored.first))
                    }
                    Some(p) => format!("none seen, p {}", chance(p)),
                },
            );
        }
        if let Some(differ) = &self.differ {
            row("categories differ?", format!("log-rank {}", chi_squared(differ)));
        }
        rows.to_string()
    }

    /// `Mon ×1.20, Tue ×1.31, …`, days beginning at the hour of the first look.
    fn weekdays(&self, first: i64) -> String {
        const NAMES: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
        let today = usize::try_from(first.div_euclid(86_400).rem_euclid(7)).unwrap_or(0);
        let day = |(at, factor): (usize, &f64)| format!("{} ×{factor:.2}", NAMES[(today + at) % 7]);
        self.week.factors.iter().enumerate().map(day).collect::<Vec<_>>().join(", ")
    }

    fn ages(&self) -> Table {
        let mut ages = table(&["age", "removed", "expected"]);
        for band in &self.bands {
            let to =
                if band.to.is_finite() { duration(band.to * PER_DAY) } else { "…".to_owned() };
            ages.add_row([
                format!("{} to {to}", duration(band.from * PER_DAY)),
                format!("{:.0}", band.seen),
                format!("{:.1}", band.expected),
            ]);
        }
        ages
    }

    fn categories(&self) -> Table {
        let mut by = table(&["category", "lives", "removed", "rate a day"]);
        for (name, lives) in &self.groups {
            let Ok(law) = Exponential::fit(lives) else { continue };
            let (gone, rate) = (format!("{:.0}", law.removals), format!("{:.4}", law.rate));
            by.add_row([name.clone(), count(lives.len()), gone, rate]);
        }
        by
    }

    fn chart(&self, name: &str) -> Chart {
        let end = self.curve.end();
        let ages: Vec<f64> = (0..=60).map(|at| end * f64::from(at) / 60.0).collect();
        let line = |name: &str, f: &dyn Fn(f64) -> f64| Series {
            name: name.to_owned(),
            points: ages.iter().map(|&age| (age, f(age))).collect(),
        };
        let plain = Law::Exponential(self.plain);
        let mut series = vec![line("Kaplan–Meier", &|age| self.curve.survival(age))];
        if let Some(between) = &self.between {
            series.push(line("Turnbull", &|age| between.survival(age)));
        }
        series.push(line("exponential", &|age| plain.survival(age)));
        if let Some(law) = self.weibull.map(Law::Weibull) {
            series.push(line("Weibull", &|age| law.survival(age)));
        }
        Chart {
            title: format!("How long objects live: {name}"),
            x: "age, days",
            y: "share still there",
            logarithmic: false,
            series,
        }
    }
}

fn chi_squared(tested: &Tested) -> String {
    format!(
        "χ² {:.1} with {} degrees, p {}",
        tested.statistic,
        tested.degrees,
        chance(tested.chance)
    )
}

fn category_row(name: &str, lives: &[Life]) -> Value {
    let law = Exponential::fit(lives).ok();
    json!({
        "category": name, "lives": lives.len(),
        "removed": law.map(|law| law.removals), "rate_per_day": law.map(|law| law.rate) })
}

fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

fn chance(p: f64) -> String {
    if p < 1e-4 { "< 0.0001".to_owned() } else { format!("{p:.4}") }
}

fn chosen(law: &Law) -> &'static str {
    match law {
        Law::Exponential(_) => "exponential",
        Law::Weibull(_) => "Weibull",
    }
}

fn law_of_counts(law: &Counts) -> &'static str {
    match law {
        Counts::Gamma { .. } => "Gamma",
        Counts::NegativeBinomial { .. } => "negative binomial",
        Counts::Poisson { .. } => "Poisson",
    }
}
