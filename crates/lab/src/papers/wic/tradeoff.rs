//! Section 5 on one day: noise, capacity, urgency, and CAM, with what the paper says beside it.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use rayon::prelude::*;
use schedule::Span;
use schedule::epoch::cam::{Rule, schedule as cam};
use schedule::epoch::greedy::{Options, wic};
use schedule::epoch::{Epoch, Schedule};
use schedule::utility::{Decay, Shape, Stay};

use super::super::Report;
use super::super::sampling::Failure;
use crate::compare::{Contender, Ground, compare_in_ticks};
use crate::figure::{Chart, Series};
use crate::score::Summary;
use crate::ticks::{Chances, Earned, LONG, Ticks, Told, Truth, bound};
use crate::trace::{Kinds, Present, Trace};
use crate::world::World;

/// A day by the minute.
pub struct Day {
    /// What it is.
    pub name: String,
    /// What happened in it.
    pub truth: Truth,
    world: std::sync::Arc<World>,
}

const MINUTE: Span = Span::from_secs(60);
/// The paper's noise from Figure 7 on.
const NOISE: (f64, f64) = (0.1, 2.0);
const CAPACITIES: [usize; 8] = [1, 2, 4, 6, 8, 10, 12, 16];

fn append(r: f64) -> Shape {
    Shape { decay: Decay::Exponential(r), stay: Stay::Append }
}

fn overwrite(r: f64) -> Shape {
    Shape { decay: Decay::Exponential(r), stay: Stay::Changes(1) }
}

fn three(x: f64) -> String {
    format!("{x:.3}")
}

/// How many times as much; nothing of nothing.
fn times(ours: f64, theirs: f64) -> String {
    if theirs > 0.0 { format!("{:.2}", ours / theirs) } else { "–".to_owned() }
}

fn percent(x: f64) -> String {
    format!("{:.1} %", 100.0 * x)
}

impl Day {
    /// Of a world that lasts a day.
    pub fn new(name: &str, world: World) -> Self {
        Self {
            name: name.to_owned(),
            truth: Truth::of(&world, MINUTE),
            world: std::sync::Arc::new(world),
        }
    }

    /// A day of a trace, UTC; `None` if nothing changed in it.
    pub fn of_trace(trace: &Trace, date: &str) -> Option<Self> {
        let midnight = date.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok()?;
        let from = midnight.timestamp().as_second();
        let world = trace.world(from, from + 86_400, Present::Any, Kinds::default());
        let name =
            format!("{date}: {} items of a stream, {} changes", world.len(), world.total_changes());
        (world.total_changes() > 0).then(|| Self::new(&name, world))
    }

    fn chances(&self, (fpn, spread): (f64, f64)) -> Chances {
        self.truth.noisy(fpn, spread, 1)
    }

    fn epoch(&self, shape: &Shape, capacity: usize, chances: &Chances) -> Epoch {
        let mut epoch = Epoch::new(1, self.truth.instants, capacity);
        chances.iter().for_each(|chances| epoch.add(1.0, shape, chances.iter().copied()));
        epoch
    }

    fn judge(&self, shape: &Shape, schedule: &Schedule) -> Earned {
        let polls: Vec<Vec<u32>> =
            (0..self.truth.changes.len()).map(|page| schedule.polls(page).to_vec()).collect();
        Earned::of(&self.truth, &polls, shape, |_| 1.0)
    }

    fn wic(&self, shape: &Shape, capacity: usize, chances: &Chances) -> Earned {
        self.judge(shape, &wic(&self.epoch(shape, capacity, chances), Options::default()))
    }

    /// A line over capacities.
    fn over_capacity(
        &self,
        name: String,
        shape: &Shape,
        chances: &Chances,
        part: impl Fn(&Earned) -> f64 + Sync,
    ) -> Series {
        let point =
            |&capacity: &usize| (capacity as f64, part(&self.wic(shape, capacity, chances)));
        Series { name, points: CAPACITIES.par_iter().map(point).collect() }
    }

    /// Figures 5 to 9 and section 5.4.
    pub fn figures(
        &self,
        report: &mut Report,
        tick: &(dyn Fn(&str) + Sync),
    ) -> Result<(), Failure> {
        tick("figures 5 and 6");
        self.figure_of_noise(report, "5", "σ", &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], |spread| {
            (0.0, spread)
        })?;
        self.figure_of_noise(report, "6", "FPN", &[0.0, 0.1, 0.2, 0.3, 0.4], |fpn| (fpn, 0.0))?;
        tick("figures 7 to 9");
        self.figure_7(report)?;
        self.figure_8_and_9(report, "")?;
        tick("section 5.4");
        self.against_cam(report, "section5-4")?;
        tick("bounds");
        self.against_bound(report)
    }

    /// What a day of another kind says of the same claims.
    pub fn short(&self, report: &mut Report, name: &str) -> Result<(), Failure> {
        self.figure_8_and_9(report, name)?;
        self.against_cam(report, &format!("{name}-cam"))
    }

    fn figure_of_noise(
        &self,
        report: &mut Report,
        number: &str,
        what: &str,
        levels: &[f64],
        noise: impl Fn(f64) -> (f64, f64),
    ) -> Result<(), Failure> {
        report
            .heading(&format!("Figure {number}: utility when the chances told are wrong ({what})"));
        for (suffix, shape, words) in
            [("a", append(1.0), "append, r = 1"), ("b", overwrite(0.0), "overwrite, r = 0")]
        {
            let series: Vec<Series> = levels
                .iter()
                .map(|&level| {
                    let chances = self.chances(noise(level));
                    let utility = |earned: &Earned| earned.normalised().unwrap_or(0.0);
                    self.over_capacity(format!("{what} = {level}"), &shape, &chances, utility)
                })
                .collect();
            let (rising, falling) = directions(&series);
            let chart = Chart {
                title: format!("Figure {number}{suffix}: {words}"),
                x: "C, polls a minute",
                y: "utility",
                series,
                ..Chart::default()
            };
            report.chart(&format!("figure{number}{suffix}"), &chart)?;
            report.say(&format!(
                "{words}. Paper: falls as {what} grows, rises with C. Ours: rises with C in {rising}, falls with {what} in {falling}."
            ));
        }
        Ok(())
    }

    fn figure_7(&self, report: &mut Report) -> Result<(), Failure> {
        report.heading("Figure 7: share of changes captured, by urgency (append, FPN .1, σ 2)");
        let chances = self.chances(NOISE);
        let captured = |earned: &Earned| earned.share(earned.captured()).unwrap_or(0.0);
        let line = |r: f64| self.over_capacity(format!("r = {r}"), &append(r), &chances, captured);
        let series: Vec<Series> = [0.0, 0.3, 0.6, 0.9, 1.0].map(line).to_vec();
        let gains: Vec<String> = series[0]
            .points
            .iter()
            .zip(&series[4].points)
            .map(|((c, low), (_, high))| format!("{:+.0} % at C = {c}", 100.0 * (high / low - 1.0)))
            .collect();
        report.chart(
            "figure7",
            &Chart {
                title: "Figure 7: changes captured".to_owned(),
                x: "C, polls a minute",
                y: "share of changes",
                series,
                ..Chart::default()
            },
        )?;
        report.say(&format!(
            "Paper: r = 1 captures 20 % to 80 % more than r = 0 for C ≤ 12. Ours: {}.",
            gains.join(", ")
        ));
        Ok(())
    }

    fn figure_8_and_9(&self, report: &mut Report, prefix: &str) -> Result<(), Failure> {
        let dash = if prefix.is_empty() { "" } else { "-" };
        report.heading(&format!(
            "Figures 8 and 9: how late, and what it costs (append, C = 8){dash}{prefix}"
        ));
        let chances = self.chances(NOISE);
        let rs = [0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 0.99, 1.0];
        let earned: Vec<Earned> =
            rs.par_iter().map(|&r| self.wic(&append(r), 8, &chances)).collect();
        let rows: Vec<Vec<String>> =
            rs.iter().zip(&earned).map(|(r, earned)| delays(*r, earned)).collect();
        let heading = [
            "r",
            "captured",
            "zero delay, of all",
            "zero delay, of captured",
            "1–3 min",
            "4–9 min",
            "10 min or more",
        ];
        report.table(&format!("{prefix}{dash}figure8"), &heading, &rows)?;
        let line = |name: &str, part: &dyn Fn(&Earned) -> f64| Series {
            name: name.to_owned(),
            points: rs.iter().zip(&earned).map(|(&r, earned)| (r, part(earned))).collect(),
        };
        let all = |earned: &Earned| earned.share(earned.captured()).unwrap_or(0.0);
        let once = |earned: &Earned| earned.share(earned.delays[0]).unwrap_or(0.0);
        report.chart(
            &format!("{prefix}{dash}figure9"),
            &Chart {
                title: "Figure 9: timeliness against completeness, C = 8".to_owned(),
                x: "r",
                y: "share of changes",
                series: vec![line("captured", &all), line("zero delay", &once)],
                ..Chart::default()
            },
        )?;
        let of_captured = |earned: &Earned, from: usize| {
            earned.delays[from..].iter().sum::<u64>() as f64 / earned.captured().max(1) as f64
        };
        let (timely, complete) = (&earned[0], &earned[rs.len() - 1]);
        report.say(&format!(
            "Paper: r = 0 captures over 90 % of what it captures at once; r = 1 under 25 %, and about half of it 10 minutes late or \
             more; both curves of Figure 9 are monotone. Ours: {} at r = 0; {} at r = 1, {} of it 10 minutes late or more. Captured \
             rises with r in {}, zero delay falls in {} of {} steps.",
            percent(1.0 - of_captured(timely, 1)),
            percent(1.0 - of_captured(complete, 1)),
            percent(of_captured(complete, LONG)),
            earned.windows(2).filter(|pair| all(&pair[1]) >= all(&pair[0])).count(),
            earned.windows(2).filter(|pair| once(&pair[1]) <= once(&pair[0])).count(),
            rs.len() - 1,
        ));
        Ok(())
    }

    fn against_cam(&self, report: &mut Report, name: &str) -> Result<(), Failure> {
        report.heading("Section 5.4: RIR (overwrite, r = 0), WIC beside CAM");
        let (shape, chances) = (overwrite(0.0), self.chances(NOISE));
        let row = |&capacity: &usize| {
            let epoch = self.epoch(&shape, capacity, &chances);
            let both = |schedule: &Schedule| {
                (epoch.utility(schedule), self.judge(&shape, schedule).normalised().unwrap_or(0.0))
            };
            let ours = both(&wic(&epoch, Options::default()));
            let theirs =
                [Rule::Cam, Rule::Uniform, Rule::Proportional].map(|rule| both(&cam(&epoch, rule)));
            let mut cells = vec![capacity.to_string(), three(ours.1)];
            cells.extend(theirs.iter().map(|(_, real)| three(*real)));
            cells.push(times(ours.0, theirs[0].0));
            cells.push(times(ours.1, theirs[0].1));
            cells
        };
        let rows: Vec<Vec<String>> = CAPACITIES.par_iter().map(row).collect();
        let heading = [
            "C",
            "WIC",
            "CAM",
            "uniform",
            "proportional",
            "WIC/CAM, by the chances told",
            "WIC/CAM, by what happened",
        ];
        report.table(name, &heading, &rows)?;
        report.say("Paper: WIC, which is optimal here by the chances told, earns up to twice what CAM earns (FPN .1, σ 2). CAM is our reading of it (WC-23).");
        Ok(())
    }

    fn against_bound(&self, report: &mut Report) -> Result<(), Failure> {
        report.heading(
            "How much of what anyone could earn (FPN .1, σ 2, C = 8, by the chances told)",
        );
        let chances = self.chances(NOISE);
        let shapes = [
            ("append, none", append(1.0)),
            ("append, r = 0.9", append(0.9)),
            ("overwrite, none", overwrite(1.0)),
            ("overwrite, r = 0.9", overwrite(0.9)),
            ("overwrite, r = 0", overwrite(0.0)),
        ];
        let row = |(words, shape): &(&str, Shape)| {
            let epoch = self.epoch(shape, 8, &chances);
            let (earned, most) = (epoch.utility(&wic(&epoch, Options::default())), bound(&epoch));
            vec![
                (*words).to_owned(),
                format!("{earned:.1}"),
                format!("{most:.1}"),
                percent(earned / most),
            ]
        };
        let rows: Vec<Vec<String>> = shapes.par_iter().map(row).collect();
        report.table(
            "bounds",
            &["life, urgency", "WIC", "no schedule can beat", "share"],
            &rows,
        )?;
        Ok(())
    }

    /// The same policies told exactly, with noise, and nothing: what knowing is worth.
    pub fn told_and_learned(
        &self,
        report: &mut Report,
        name: &str,
        tick: &(dyn Fn(&str) + Sync),
    ) -> Result<(), Failure> {
        report.heading(&format!(
            "What knowing is worth: told, or learned from its own polls ({name})"
        ));
        let contenders: Vec<Contender> =
            ["wic", "round-robin"].into_iter().filter_map(|name| name.parse().ok()).collect();
        let mut rows = Vec::new();
        let told = [
            ("exact", Told::EXACT),
            ("noisy(fpn=0.1,spread=2)", Told::Noisy { fpn: 0.1, spread: 2.0 }),
            ("learned", Told::Learned),
        ];
        for (words, shape) in
            [("append, r = 0.95", append(0.95)), ("overwrite, r = 0.95", overwrite(0.95))]
        {
            for (probabilities, told) in told {
                tick(probabilities);
                let ticks = Ticks { tick: MINUTE, capacity: 8, shape: shape.clone(), told };
                let ground = Ground::Fixed(std::sync::Arc::clone(&self.world));
                let comparison = compare_in_ticks(&ground, &ticks, &contenders, 1, &|| {});
                let mean = |summary: &Summary| summary.mean.map_or("–".to_owned(), three);
                for standing in &comparison.policies {
                    let Some(ticks) = &standing.ticks else { continue };
                    rows.push(vec![
                        words.to_owned(),
                        probabilities.to_owned(),
                        standing.policy.clone(),
                        mean(&ticks.utility),
                        mean(&ticks.captured),
                        mean(&ticks.zero_delay),
                        ticks.share_of_bound.mean.map_or("–".to_owned(), percent),
                    ]);
                }
            }
        }
        let heading = [
            "life, urgency",
            "told",
            "policy",
            "utility",
            "captured",
            "zero delay",
            "of the bound",
        ];
        report.table(&format!("{name}-told"), &heading, &rows)?;
        Ok(())
    }
}

fn delays(r: f64, earned: &Earned) -> Vec<String> {
    let captured = earned.captured().max(1) as f64;
    let part = |from: usize, to: usize| {
        percent(earned.delays[from..to].iter().sum::<u64>() as f64 / captured)
    };
    vec![
        r.to_string(),
        three(earned.share(earned.captured()).unwrap_or(0.0)),
        three(earned.share(earned.delays[0]).unwrap_or(0.0)),
        part(0, 1),
        part(1, 4),
        part(4, LONG),
        part(LONG, LONG + 1),
    ]
}

/// In how many steps lines rise along x, and in how many points each line lies at or below the one before.
fn directions(series: &[Series]) -> (String, String) {
    let steps = series.iter().flat_map(|line| line.points.windows(2));
    let rising = steps.clone().filter(|pair| pair[1].1 >= pair[0].1).count();
    let below = series.windows(2).flat_map(|pair| pair[0].points.iter().zip(&pair[1].points));
    let falling = below.clone().filter(|(less, more)| more.1 <= less.1 + 1e-9).count();
    (
        format!("{rising} of {} steps", steps.count()),
        format!("{falling} of {} points", below.count()),
    )
}

#[cfg(test)]
mod tests {
    use super::super::auctions::{epoch_day, made_up};
    use super::*;

    fn day() -> Day {
        Day::new("made up", epoch_day(&made_up(100, 1), 1_500, 1))
    }

    /// WC-17: utility rises with C and falls with noise, told in steps wide enough to see.
    #[test]
    fn wc_17_more_polls_more_noise() {
        let day = day();
        for shape in [append(1.0), overwrite(0.0)] {
            let utility = |noise, capacity| {
                day.wic(&shape, capacity, &day.chances(noise)).normalised().unwrap()
            };
            let rising = [1, 2, 4, 8].map(|capacity| utility(NOISE, capacity));
            assert!(rising.is_sorted(), "{rising:?}");
            for noises in
                [[(0.0, 0.0), (0.0, 2.0), (0.0, 5.0)], [(0.0, 0.0), (0.2, 0.0), (0.4, 0.0)]]
            {
                let falling = noises.map(|noise| utility(noise, 2));
                assert!(falling.is_sorted_by(|a, b| a >= b), "{falling:?}");
            }
        }
    }

    /// WC-18, WC-19, WC-21: r trades timeliness for completeness.
    #[test]
    fn wc_18_19_urgency_is_the_knob() {
        let day = day();
        let chances = day.chances(NOISE);
        let earned = [0.0, 0.7, 1.0].map(|r| day.wic(&append(r), 2, &chances));
        let captured = earned.clone().map(|earned| earned.captured());
        let at_once = earned.map(|earned| earned.delays[0]);
        assert!(captured.is_sorted() && captured[2] > captured[0] * 6 / 5, "{captured:?}");
        assert!(at_once.is_sorted_by(|a, b| a > b), "{at_once:?}");
    }

    /// WC-20: by the chances told WIC is optimal on RIR, so CAM cannot be better; where polls are few it is clearly worse.
    #[test]
    fn wc_20_wic_beats_cam_on_rir() {
        let day = day();
        let (shape, chances) = (overwrite(0.0), day.chances(NOISE));
        for capacity in [1, 2, 4] {
            let epoch = day.epoch(&shape, capacity, &chances);
            let (ours, theirs) = (wic(&epoch, Options::default()), cam(&epoch, Rule::Cam));
            assert!(epoch.utility(&ours) > epoch.utility(&theirs));
            assert!(day.judge(&shape, &ours).utility > day.judge(&shape, &theirs).utility);
        }
    }
}
