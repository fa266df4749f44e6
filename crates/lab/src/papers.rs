//! The papers' figures and tables, theirs beside ours: what `tidewatch reproduce` writes.
//!
//! A paper's file computes; a [`Report`] collects prose, tables and figures and writes them as Markdown, CSV and
//! SVG, so that every number shown can be read by a program too.

pub mod blind_sampling;
pub mod polling_times;
pub mod repository_quality;
pub mod sampling;
pub mod two_sites;
pub mod wic;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::figure::{self, Chart};

/// The report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file.
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
    /// A figure.
    #[error(transparent)]
    Figure(#[from] figure::Error),
}

/// A report in the making, in a directory.
pub struct Report {
    dir: PathBuf,
    text: String,
}

impl Report {
    /// Begins a report titled `title` in `dir`, which is made if need be.
    pub fn new(dir: &Path, title: &str) -> Result<Self, Error> {
        fs::create_dir_all(dir).map_err(|why| Error::File(dir.to_owned(), why))?;
        Ok(Self { dir: dir.to_owned(), text: format!("# {title}\n") })
    }

    /// A heading.
    pub fn heading(&mut self, text: &str) {
        let _ = write!(self.text, "\n## {text}\n");
    }

    /// A paragraph.
    pub fn say(&mut self, text: &str) {
        let _ = write!(self.text, "\n{text}\n");
    }

    /// A table in the text and as `name`.csv.
    pub fn table(
        &mut self,
        name: &str,
        heading: &[&str],
        rows: &[Vec<String>],
    ) -> Result<(), Error> {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let heading: Vec<String> = heading.iter().map(|&cell| cell.to_owned()).collect();
        self.text.push('\n');
        self.text.push_str(&line(&heading));
        let _ = writeln!(self.text, "|{}", "---|".repeat(heading.len()));
        rows.iter().for_each(|row| self.text.push_str(&line(row)));
        self.csv(name, std::iter::once(&heading).chain(rows))
    }

    /// A chart as `name`.svg and `name`.csv, shown in the text.
    pub fn chart(&mut self, name: &str, chart: &Chart) -> Result<(), Error> {
        figure::lines(chart, &self.dir.join(format!("{name}.svg")))?;
        let heading = vec!["series".to_owned(), chart.x.to_owned(), chart.y.to_owned()];
        let rows: Vec<Vec<String>> = chart
            .series
            .iter()
            .flat_map(|series| {
                series
                    .points
                    .iter()
                    .map(|(x, y)| vec![series.name.clone(), x.to_string(), format!("{y:.6}")])
            })
            .collect();
        let _ = write!(self.text, "\n![{}]({name}.svg)\n", chart.title);
        self.csv(name, std::iter::once(&heading).chain(&rows))
    }

    fn csv<'a>(
        &self,
        name: &str,
        rows: impl Iterator<Item = &'a Vec<String>>,
    ) -> Result<(), Error> {
        let quoted = |cell: &String| {
            if cell.contains([',', '"', '\n']) {
                format!("\"{}\"", cell.replace('"', "\"\""))
            } else {
                cell.clone()
            }
        };
        let text: String =
            rows.map(|row| row.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n").collect();
        self.write(&format!("{name}.csv"), &text)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.dir.join(name);
        fs::write(&path, text).map_err(|why| Error::File(path, why))
    }

    /// Writes `report.md`; where it is.
    pub fn finish(self) -> Result<PathBuf, Error> {
        self.write("report.md", &self.text)?;
        Ok(self.dir.join("report.md"))
    }
}
