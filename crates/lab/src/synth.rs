//! Made-up worlds, seeded: the papers' synthetic data and ours.
//!
//! **Share worlds** (the sampling paper's data): every site has a share ρ of sources that change per `period`
//! (30 days, the paper's cycle).
//! `v-shaped` has the V of the paper's Figure 5 (many sites near 0, a second peak near 1), `normal` and
//! `uniform` the other two laws it speaks of. A source's own chance is p ~ Beta(mρ, m(1−ρ)), m = `alike`
//! (large: all sources of a site alike), and each period it changes with chance p, at a random moment of it.
//! `repeat` periods of history are drawn, then repeat for ever (CN-50; 0: never repeat).
//!
//! **Process worlds**: every source has its own update process of `dynamics`: `poisson`, `pareto`, `weibull`,
//! `periodic`. Mean intervals are `mean`, times a log-normal factor per site (`between`) and per source
//! (`within`).
//!
//! **Bursts**: what real sites do. A quiet Poisson background, and site-wide bulk edits every `every` on
//! average that touch a `touched` share of the site at once: ρ jumps from near 0 to near 1 and back.
//!
//! Site sizes are log-normal with σ = `skew`, scaled to `pages` exactly. Sites take evenly spaced quantiles
//! of the ρ law in random order, so that a histogram of ρ looks alike under every seed.
//!
//! Paper: CN-50, CN-51, CN-57 (`docs/papers/cho-ntoulas-2002.md`).

use std::str::FromStr;

use dynamics::process::Process;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_distr::{Beta, Distribution, Exp1, LogNormal, Pareto};
use rand_xoshiro::Xoshiro256PlusPlus;
use schedule::spec::{Call, Mistake};
use schedule::{HostIx, SiteIx, Span, Time};
use statrs::distribution::{ContinuousCDF, Normal};

use crate::world::{Place, World};

/// A world as a person writes it: `v-shaped(sites=252,pages=353000)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    sites: usize,
    pages: usize,
    skew: f64,
    importance: Option<f32>,
    law: Law,
}

#[derive(Clone, Debug, PartialEq)]
enum Law {
    Share { rho: Rho, alike: f64, period: Span, repeat: u32 },
    Process { process: Process, between: f64, within: f64 },
    Bursts { mean: Span, between: f64, within: f64, every: Span, touched: f64 },
}

/// The law of ρ over sites.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rho {
    VShaped,
    Normal { mean: f64, deviation: f64 },
    Uniform,
}

/// Share of sites in each tenth of ρ: more than 35 % in the lowest, 18 % in the highest (CN-51).
const V: [f64; 10] = [0.38, 0.11, 0.07, 0.05, 0.04, 0.04, 0.04, 0.04, 0.05, 0.18];

/// What `--world list` prints: name, settings with defaults, meaning.
pub const LIST: [(&str, &str, &str); 8] = [
    (
        "v-shaped",
        "sites 252, pages 353000, skew 1, alike 8, period 30d, repeat 5, importance equal",
        "the sampling paper's data: a site's ρ is near 0 or near 1",
    ),
    ("normal", "as v-shaped; mean 0.5, deviation 0.2", "ρ normal over sites, cut to [0, 1]"),
    ("uniform", "as v-shaped", "ρ even over [0, 1]"),
    (
        "poisson",
        "sites 100, pages 20000, skew 1, mean 30d, between 1, within 0.5, importance equal",
        "each source memoryless",
    ),
    ("pareto", "as poisson; shape 3", "bursts and long silences"),
    ("weibull", "as poisson; shape 0.6", "hazard falling (shape < 1) or rising (> 1) with age"),
    ("periodic", "as poisson", "each source like clockwork, at its own phase"),
    (
        "bursts",
        "as poisson with mean 300d; every 120d, touched 0.8",
        "site-wide bulk edits over a quiet background",
    ),
];

impl FromStr for Spec {
    type Err = Mistake;

    fn from_str(text: &str) -> Result<Self, Mistake> {
        let mut call: Call = text.parse()?;
        let Some(&(_, settings, _)) = LIST.iter().find(|(name, ..)| *name == call.name) else {
            let known: Vec<String> = LIST.iter().map(|(name, ..)| format!("`{name}`")).collect();
            return Err(Mistake(format!(
                "there is no world `{}`; known are {}",
                call.name,
                known.join(", ")
            )));
        };
        let shares = matches!(call.name.as_str(), "v-shaped" | "normal" | "uniform");
        let (sites, pages) = if shares { (252, 353_000) } else { (100, 20_000) };
        let (sites, pages) = (call.take("sites", sites)?, call.take("pages", pages)?);
        if sites == 0 || pages < sites || pages > 50_000_000 {
            return Err(Mistake(format!(
                "`{text}` needs at least one site, a page for each, and at most 50,000,000 pages"
            )));
        }
        let skew = call.number("skew", 1.0, 0.0..=3.0)?;
        let importance = match call.take("importance", "equal".to_owned())?.as_str() {
            "equal" => None,
            shape => Some(shape.parse().ok().filter(|shape| *shape > 0.1f32).ok_or_else(|| {
                Mistake(format!("`importance={shape}` must be `equal` or a Pareto shape above 0.1"))
            })?),
        };
        let law = if shares { share_law(&mut call)? } else { time_law(&mut call)? };
        call.finish(&format!("(`--world list` shows them) {settings}"))?;
        Ok(Self { sites, pages, skew, importance, law })
    }
}

fn share_law(call: &mut Call) -> Result<Law, Mistake> {
    let rho = match call.name.as_str() {
        "normal" => Rho::Normal {
            mean: call.number("mean", 0.5, 0.0..=1.0)?,
            deviation: call.number("deviation", 0.2, 0.001..=10.0)?,
        },
        "uniform" => Rho::Uniform,
        _ => Rho::VShaped,
    };
    let period = call.take("period", Span::DAY.times(30))?;
    if period < Span::from_secs(1) {
        return Err(Mistake("`period` must be at least a second".to_owned()));
    }
    Ok(Law::Share {
        rho,
        alike: call.number("alike", 8.0, 0.01..=1e6)?,
        period,
        repeat: call.take("repeat", 5)?,
    })
}

fn time_law(call: &mut Call) -> Result<Law, Mistake> {
    let name = call.name.clone();
    let days = if name == "bursts" { 300 } else { 30 };
    let mean = call.take("mean", Span::DAY.times(days))?;
    let between = call.number("between", 1.0, 0.0..=5.0)?;
    let within = call.number("within", 0.5, 0.0..=5.0)?;
    if name == "bursts" {
        let every = call.take("every", Span::DAY.times(120))?;
        let touched = call.number("touched", 0.8, 0.0..=1.0)?;
        if every == Span::ZERO || mean == Span::ZERO {
            return Err(Mistake(
                "`mean` and `every` of `bursts` must be longer than nothing".to_owned(),
            ));
        }
        return Ok(Law::Bursts { mean, between, within, every, touched });
    }
    let mean = mean.secs();
    let process = match name.as_str() {
        "pareto" => Process::Pareto { mean, shape: call.take("shape", 3.0)? },
        "weibull" => Process::Weibull { mean, shape: call.take("shape", 0.6)? },
        "periodic" => Process::Constant { period: mean },
        _ => Process::Exponential { mean },
    };
    let process = process.checked().map_err(|why| Mistake(format!("`{name}`: {why}")))?;
    Ok(Law::Process { process, between, within })
}

impl Spec {
    /// The world over `cycles` cycles of `length` from the year 2000, drawn with `seed`.
    pub fn build(&self, length: Span, cycles: u32, seed: u64) -> World {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x7469_6465);
        let start = Time::from_secs(946_684_800);
        let mut world = World::new(start, start + length.times(i64::from(cycles)));
        let sizes = self.sizes(&mut rng);
        let mut shares: Vec<f64> = self.shares();
        shares.shuffle(&mut rng);
        for (site, (&size, &share)) in sizes.iter().zip(&shares).enumerate() {
            let mut grounds =
                Grounds { world: &mut world, rng: &mut rng, site, importance: self.importance };
            match self.law {
                Law::Share { alike, period, repeat, .. } => {
                    let span = length.times(i64::from(cycles)).micros();
                    let periods = u32::try_from((span + period.micros() - 1) / period.micros())
                        .unwrap_or(u32::MAX);
                    let repeat = if repeat == 0 { periods } else { repeat };
                    for _ in 0..size {
                        grounds.by_share(share, alike, period, periods, repeat);
                    }
                }
                Law::Process { ref process, between, within } => {
                    let factor = log_normal(grounds.rng, between);
                    for _ in 0..size {
                        let own = factor * log_normal(grounds.rng, within);
                        grounds.by_process(process, own);
                    }
                }
                Law::Bursts { mean, between, within, every, touched } => {
                    let edits = grounds.edits(every);
                    let quiet = Process::Exponential { mean: mean.secs() };
                    let factor = log_normal(grounds.rng, between);
                    for _ in 0..size {
                        let own = factor * log_normal(grounds.rng, within);
                        grounds.by_bursts(&quiet, own, &edits, touched);
                    }
                }
            }
        }
        world
    }

    /// Log-normal sizes that add up to `pages`, none below one.
    fn sizes(&self, rng: &mut Xoshiro256PlusPlus) -> Vec<usize> {
        let raw: Vec<f64> = (0..self.sites).map(|_| log_normal(rng, self.skew)).collect();
        let (total, spare) = (raw.iter().sum::<f64>(), self.pages - self.sites);
        let (mut reached, mut given) = (0.0, 0);
        raw.into_iter()
            .map(|size| {
                reached += size;
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "at most `pages`"
                )]
                let upto = (reached / total * spare as f64).round() as usize;
                let mine = upto.min(spare) - given;
                given += mine;
                mine + 1
            })
            .collect()
    }

    /// Evenly spaced quantiles of ρ, one a site.
    fn shares(&self) -> Vec<f64> {
        let quantile = |q: f64| match self.law {
            Law::Share { rho: Rho::VShaped, .. } => v_quantile(q),
            Law::Share { rho: Rho::Normal { mean, deviation }, .. } => {
                Normal::new(mean, deviation).map_or(mean, |law| law.inverse_cdf(q)).clamp(0.0, 1.0)
            }
            _ => q,
        };
        (0..self.sites).map(|site| quantile((site as f64 + 0.5) / self.sites as f64)).collect()
    }
}

/// ρ at quantile q of the V: even within each tenth.
fn v_quantile(q: f64) -> f64 {
    let mut below = 0.0;
    for (tenth, share) in V.into_iter().enumerate() {
        if q < below + share {
            return (tenth as f64 + (q - below) / share) / 10.0;
        }
        below += share;
    }
    1.0
}

fn log_normal(rng: &mut Xoshiro256PlusPlus, sigma: f64) -> f64 {
    LogNormal::new(-sigma * sigma / 2.0, sigma).map_or(1.0, |law| law.sample(rng))
}

/// Where the sources of one site are being added.
struct Grounds<'a> {
    world: &'a mut World,
    rng: &'a mut Xoshiro256PlusPlus,
    site: usize,
    importance: Option<f32>,
}

impl Grounds<'_> {
    fn add(&mut self, changes: Vec<Time>) {
        let importance = self
            .importance
            .and_then(|shape| Pareto::new(1.0, shape).ok())
            .map_or(1.0, |law: Pareto<f32>| law.sample(self.rng).min(1e6));
        let place = Place {
            site: SiteIx::new(self.site),
            host: HostIx::new(self.site),
            importance,
            enters: self.world.start(),
            leaves: Time::MAX,
        };
        self.world.add(place, changes);
    }

    fn by_share(&mut self, share: f64, alike: f64, length: Span, cycles: u32, repeat: u32) {
        let chance = match Beta::new(alike * share, alike * (1.0 - share)) {
            Ok(law) if share > 0.0 && share < 1.0 => law.sample(self.rng),
            _ => share,
        };
        let history: Vec<Option<f64>> = (0..repeat.min(cycles))
            .map(|_| (self.rng.random::<f64>() < chance).then(|| 1.0 - self.rng.random::<f64>()))
            .collect();
        let start = self.world.start();
        let changes = (0..cycles)
            .filter_map(|cycle| {
                let moment = history[cycle as usize % history.len()]?;
                // within (start, end] of its cycle
                let into = Span::from_secs_f64(length.secs() * moment).max(Span::TICK).min(length);
                Some(start + length.times(i64::from(cycle)) + into)
            })
            .collect();
        self.add(changes);
    }

    /// A path of `process` with time stretched by `factor`.
    fn path(&mut self, process: &Process, factor: f64) -> Vec<Time> {
        let horizon = (self.world.end() - self.world.start()).secs();
        let start = self.world.start();
        let path = process.path(horizon / factor, self.rng);
        path.into_iter().map(|t| start + Span::from_secs_f64(t * factor)).collect()
    }

    fn by_process(&mut self, process: &Process, factor: f64) {
        let changes = self.path(process, factor);
        self.add(changes);
    }

    /// Moments of site-wide edits: Poisson with one per `every`.
    fn edits(&mut self, every: Span) -> Vec<Time> {
        let mut edits = Vec::new();
        let mut t = self.world.start();
        loop {
            let gap: f64 = Exp1.sample(self.rng);
            t = t + Span::from_secs_f64(gap * every.secs()).max(Span::TICK);
            if t > self.world.end() {
                return edits;
            }
            edits.push(t);
        }
    }

    fn by_bursts(&mut self, quiet: &Process, factor: f64, edits: &[Time], touched: f64) {
        let mut changes = self.path(quiet, factor);
        changes.extend(edits.iter().filter(|_| self.rng.random::<f64>() < touched));
        changes.sort_unstable();
        changes.dedup();
        self.add(changes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MONTH: Span = Span::DAY.times(30);

    fn flags(world: &World, cycle: i64) -> Vec<bool> {
        let from = world.start() + MONTH.times(cycle);
        world.sources().map(|source| world.changed(source, from, from + MONTH)).collect()
    }

    /// CN-50: flag(c) = flag(((c − 1) mod 5) + 1).
    #[test]
    fn cn_50_history_repeats_with_period_five() {
        let spec: Spec = "v-shaped(sites=9,pages=500)".parse().unwrap();
        let world = spec.build(MONTH, 17, 3);
        for cycle in 5..17 {
            assert_eq!(flags(&world, cycle), flags(&world, cycle % 5), "cycle {cycle}");
        }
        assert_ne!(flags(&world, 0), flags(&world, 1));
    }

    /// CN-51: more than 35 % of sites in [0, .1], about 18 % in (.9, 1].
    #[test]
    fn cn_51_the_v_has_two_peaks() {
        let spec: Spec = "v-shaped".parse().unwrap();
        let shares = spec.shares();
        let part = |low: f64, high: f64| {
            shares.iter().filter(|&&share| share > low && share <= high).count() as f64 / 252.0
        };
        assert!(part(-1.0, 0.1) > 0.35 && (part(0.9, 1.0) - 0.18).abs() < 0.01);
        assert!((V.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn sizes_add_up_and_every_site_has_a_page() {
        for text in [
            "v-shaped(sites=252,pages=353000)",
            "uniform(sites=7,pages=7)",
            "poisson(sites=3,pages=10,skew=3)",
        ] {
            let spec: Spec = text.parse().unwrap();
            let sizes = spec.sizes(&mut Xoshiro256PlusPlus::seed_from_u64(1));
            assert_eq!(sizes.iter().sum::<usize>(), spec.pages, "{text}");
            assert!(sizes.iter().all(|&size| size > 0));
        }
    }

    #[test]
    fn process_worlds_change_once_a_mean() {
        for name in ["poisson", "pareto", "weibull", "periodic"] {
            let spec: Spec =
                format!("{name}(sites=20,pages=4000,mean=10d,between=0,within=0)").parse().unwrap();
            let changes = spec.build(Span::DAY, 100, 1).total_changes() as f64;
            assert!((changes / 40_000.0 - 1.0).abs() < 0.05, "{name}: {changes}");
        }
    }

    #[test]
    fn bursts_take_most_of_a_site_at_once() {
        let spec: Spec = "bursts(sites=5,pages=500,skew=0)".parse().unwrap();
        let world = spec.build(MONTH, 24, 2);
        let share = |cycle| flags(&world, cycle)[..100].iter().filter(|&&flag| flag).count();
        let shares: Vec<usize> = (0..24).map(share).collect();
        assert!(shares.iter().any(|&n| n > 70) && shares.iter().any(|&n| n < 30), "{shares:?}");
    }

    #[test]
    fn one_seed_one_world() {
        let spec: Spec = "weibull(sites=3,pages=50)".parse().unwrap();
        let times = |seed| {
            let world = spec.build(MONTH, 3, seed);
            world.sources().flat_map(|source| world.changes(source).to_vec()).collect::<Vec<_>>()
        };
        assert_eq!(times(1), times(1));
        assert_ne!(times(1), times(2));
    }

    #[test]
    fn nonsense_is_named() {
        for (text, word) in [
            ("w-shaped", "`v-shaped`"),
            ("poisson(sites=0)", "at least one site"),
            ("pareto(shape=1)", "shape"),
            ("normal(mean=2)", "between 0 and 1"),
            ("uniform(mean=1)", "no setting `mean`"),
            ("poisson(mean=soon)", "`mean=soon`"),
        ] {
            let mistake = text.parse::<Spec>().unwrap_err().to_string();
            assert!(mistake.contains(word), "{text}: {mistake}");
        }
    }
}
