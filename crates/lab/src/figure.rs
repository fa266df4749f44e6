//! Figures as SVG: what a person would rather look at than read.
//!
//! Direct labels instead of legends, zero-based axes, a thin grid, intervals drawn, colours that the
//! colour-blind can tell apart (Okabe and Ito's), grey for bounds.

use std::path::{Path, PathBuf};

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::compare::{Comparison, Standing};
use crate::trace::Info;

/// The figure could not be drawn or written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: cannot draw: {problem}")]
pub struct Error {
    path: PathBuf,
    problem: String,
}

const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(120, 94, 40),
];
const BOUND: RGBColor = RGBColor(120, 120, 120);
const INK: RGBColor = RGBColor(40, 40, 40);
const GRID: RGBColor = RGBColor(225, 225, 225);
const FONT: &str = "sans-serif";

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

fn draw(path: &Path, size: (u32, u32), body: impl FnOnce(&Area<'_>) -> Drawn) -> Result<(), Error> {
    let attempt = || -> Drawn {
        let area = SVGBackend::new(path, size).into_drawing_area();
        area.fill(&WHITE)?;
        body(&area)?;
        area.present()?;
        Ok(())
    };
    attempt().map_err(|why| Error { path: path.to_owned(), problem: why.to_string() })
}

/// Sees that a figure could be written here, before the work it would show.
pub fn can_draw(path: &Path) -> Result<(), Error> {
    let opened = std::fs::OpenOptions::new().append(true).create(true).open(path);
    opened.map(|_| ()).map_err(|why| Error { path: path.to_owned(), problem: why.to_string() })
}

/// ChangeRatio of every policy: its course over the cycles, and the mean with its interval.
pub fn comparison(comparison: &Comparison, path: &Path) -> Result<(), Error> {
    let rows = comparison.policies.len().max(1);
    let height = 420.max(u32::try_from(rows).unwrap_or(20) * 34 + 110);
    draw(path, (1000, height), |area| {
        let (left, right) = area.split_horizontally(560);
        by_cycle(&left, comparison)?;
        league(&right, comparison)
    })
}

fn colour(comparison: &Comparison, at: usize) -> RGBColor {
    let live = comparison.policies[..at].iter().filter(|standing| !standing.bound).count();
    if comparison.policies[at].bound { BOUND } else { COLOURS[live % COLOURS.len()] }
}

fn by_cycle(area: &Area<'_>, comparison: &Comparison) -> Drawn {
    let last = comparison.cycles.max(2);
    let mut chart = ChartBuilder::on(area)
        .caption("ChangeRatio by cycle", (FONT, 17, &INK))
        .margin(12)
        .margin_right(20)
        .x_label_area_size(36)
        .y_label_area_size(44)
        .build_cartesian_2d(1.0..last as f64, 0.0..1.0)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(GRID)
        .axis_style(GRID)
        .x_labels(last.min(12))
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.1}"))
        .label_style((FONT, 13, &INK))
        .x_desc("cycle")
        .draw()?;
    for (at, standing) in comparison.policies.iter().enumerate() {
        let points = standing.change_ratio.by_cycle.iter().enumerate();
        let points: Vec<(f64, f64)> =
            points.filter_map(|(c, y)| y.map(|y| ((c + 1) as f64, y))).collect();
        let style = colour(comparison, at).stroke_width(if standing.bound { 1 } else { 2 });
        chart.draw_series(LineSeries::new(points.iter().copied(), style))?;
        if points.len() < 40 {
            let dot = |&point: &(f64, f64)| Circle::new(point, 2, colour(comparison, at).filled());
            chart.draw_series(points.iter().map(dot))?;
        }
    }
    Ok(())
}

/// Bars with intervals, named directly.
fn league(area: &Area<'_>, comparison: &Comparison) -> Drawn {
    let rows = comparison.policies.len();
    let mut chart = ChartBuilder::on(area)
        .caption("mean, 95 % interval over seeds", (FONT, 17, &INK))
        .margin(12)
        .margin_right(20)
        .x_label_area_size(36)
        .build_cartesian_2d(0.0..1.0, 0.0..rows.max(1) as f64)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .light_line_style(WHITE)
        .bold_line_style(GRID)
        .axis_style(GRID)
        .x_label_formatter(&|x| format!("{x:.1}"))
        .label_style((FONT, 13, &INK))
        .draw()?;
    for (at, standing) in comparison.policies.iter().enumerate() {
        let y = (rows - at) as f64 - 0.5;
        let mean = standing.change_ratio.mean.unwrap_or(0.0);
        let bar = Rectangle::new(
            [(0.0, y - 0.32), (mean, y - 0.05)],
            colour(comparison, at).mix(0.85).filled(),
        );
        chart.draw_series([bar])?;
        if let Some([low, high]) = standing.change_ratio.ci95 {
            let middle = y - 0.185;
            chart.draw_series([PathElement::new(
                [(low, middle), (high, middle)],
                INK.stroke_width(2),
            )])?;
        }
        let left = Pos::new(HPos::Left, VPos::Bottom);
        let style = TextStyle::from((FONT, 14).into_font()).color(&INK).pos(left);
        chart.draw_series([Text::new(label(standing), (0.005, y - 0.02), style)])?;
    }
    Ok(())
}

fn label(standing: &Standing) -> String {
    let mean = standing.change_ratio.mean.map_or("–".to_owned(), |mean| format!("{mean:.3}"));
    format!("{}  {mean}{}", standing.policy, if standing.bound { "  (bound)" } else { "" })
}

/// A chart of lines, labelled where they end.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// Above it.
    pub title: String,
    /// Below the horizontal axis.
    pub x: &'static str,
    /// Beside the vertical axis.
    pub y: &'static str,
    /// Horizontal axis in decades.
    pub logarithmic: bool,
    /// The lines.
    pub series: Vec<Series>,
}

/// One line.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Its label.
    pub name: String,
    /// In order of x.
    pub points: Vec<(f64, f64)>,
}

/// Draws a chart of lines from zero up.
pub fn lines(chart: &Chart, path: &Path) -> Result<(), Error> {
    draw(path, (760, 440), |area| {
        let points = || chart.series.iter().flat_map(|series| series.points.iter().copied());
        let place = |x: f64| if chart.logarithmic { x.max(1e-9).log10() } else { x };
        let (left, right) = points()
            .map(|(x, _)| place(x))
            .fold((f64::MAX, f64::MIN), |(l, r), x| (l.min(x), r.max(x)));
        let top = points().map(|(_, y)| y).fold(0.0, f64::max).max(1e-9) * 1.06;
        let mut plot = ChartBuilder::on(area)
            .caption(&chart.title, (FONT, 17, &INK))
            .margin(12)
            .margin_right(170)
            .x_label_area_size(38)
            .y_label_area_size(52)
            .build_cartesian_2d(left..right.max(left + 1e-9), 0.0..top)?;
        let tick = |x: &f64| if chart.logarithmic { number(10f64.powf(*x)) } else { number(*x) };
        plot.configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(GRID)
            .axis_style(GRID)
            .x_label_formatter(&tick)
            .y_label_formatter(&|y| format!("{y:.2}"))
            .label_style((FONT, 13, &INK))
            .x_desc(chart.x)
            .y_desc(chart.y)
            .draw()?;
        let mut labels: Vec<(f64, f64, usize)> = Vec::new();
        for (at, series) in chart.series.iter().enumerate() {
            let colour = COLOURS[at % COLOURS.len()];
            let points: Vec<(f64, f64)> =
                series.points.iter().map(|&(x, y)| (place(x), y)).collect();
            plot.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?;
            if points.len() < 40 {
                plot.draw_series(
                    points.iter().map(|&point| Circle::new(point, 2, colour.filled())),
                )?;
            }
            labels.extend(points.last().map(|&(x, y)| (x, y, at)));
        }
        // labels that would overlap are pushed apart, keeping their order
        labels.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut lowest = f64::MAX;
        for (x, y, at) in labels {
            let y = y.min(lowest - top / 20.0);
            lowest = y;
            let colour = COLOURS[at % COLOURS.len()];
            let (px, py) = plot.backend_coord(&(x, y));
            let style = TextStyle::from((FONT, 13).into_font())
                .color(&colour)
                .pos(Pos::new(HPos::Left, VPos::Center));
            area.draw(&Text::new(chart.series[at].name.clone(), (px + 8, py), style))?;
        }
        Ok(())
    })
}

/// `10,000`, `0.25`
fn number(x: f64) -> String {
    if x >= 1_000.0 {
        format!("{:.0}k", x / 1_000.0)
    } else if x.fract().abs() < 1e-6 || x >= 20.0 {
        format!("{x:.0}")
    } else {
        format!("{x:.2}")
    }
}

/// A trace at a glance: changes per cycle, and the histogram of ρ.
pub fn trace(info: &Info, path: &Path) -> Result<(), Error> {
    draw(path, (1000, 400), |area| {
        let (left, right) = area.split_horizontally(520);
        let changes: Vec<f64> = info.changes_by_cycle.iter().map(|&n| n as f64).collect();
        let days = info.cycle_seconds / 86_400.0;
        columns(&left, &format!("changes in each {days:.0} days"), &changes, &|at| {
            format!("{at:.0}")
        })?;
        let shares: Vec<f64> = info.share_histogram.iter().map(|&n| n as f64).collect();
        let title = "share ρ of a site's sources that change in a cycle";
        columns(&right, title, &shares, &|at| format!("{:.1}", at / 10.0))
    })
}

fn columns(area: &Area<'_>, title: &str, values: &[f64], label: &dyn Fn(f64) -> String) -> Drawn {
    let top = values.iter().copied().fold(1.0, f64::max) * 1.05;
    let mut chart = ChartBuilder::on(area)
        .caption(title, (FONT, 16, &INK))
        .margin(12)
        .x_label_area_size(30)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..values.len().max(1) as f64, 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(WHITE)
        .bold_line_style(GRID)
        .axis_style(GRID)
        .x_labels(11)
        .x_label_formatter(&|x| label(*x))
        .y_label_formatter(&|y| format!("{y:.0}"))
        .label_style((FONT, 13, &INK))
        .draw()?;
    chart.draw_series(values.iter().enumerate().map(|(at, &value)| {
        let (low, high) = (at as f64 + 0.08, at as f64 + 0.92);
        Rectangle::new([(low, 0.0), (high, value)], COLOURS[0].filled())
    }))?;
    Ok(())
}
