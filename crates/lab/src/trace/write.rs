//! A trace into a directory, as Parquet or CSV, so that it reads back equal.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt8Array, UInt32Array};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::{Error, Trace};

/// The form of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Small and quick.
    Parquet,
    /// Readable anywhere.
    Csv,
}

impl Trace {
    /// Sees that `dir` can take a trace: it is made if need be, and holds no files of another.
    pub fn prepare(dir: &Path) -> Result<(), Error> {
        fs::create_dir_all(dir).map_err(|why| problem(dir, why))?;
        for stem in ["updates", "sources", "sites"] {
            for form in ["parquet", "csv"] {
                let path = dir.join(format!("{stem}.{form}"));
                if path.exists() {
                    return Err(problem(
                        &path,
                        "exists already; choose another directory or remove it",
                    ));
                }
            }
        }
        Ok(())
    }

    /// Writes the trace into `dir`, which is made if need be. Existing files of a trace are not overwritten, and
    /// none appears before it is whole.
    pub fn write(&self, dir: &Path, format: Format) -> Result<(), Error> {
        Self::prepare(dir)?;
        let order = self.by_id();
        let mut tables = vec![
            ("updates", self.update_columns(&order)),
            ("sources", self.source_columns(&order)),
        ];
        if !self.sites.is_empty() {
            tables.push(("sites", self.site_columns()));
        }
        for (stem, columns) in tables {
            let form = if format == Format::Parquet { "parquet" } else { "csv" };
            let (draft, path) =
                (dir.join(format!(".{stem}.{form}.part")), dir.join(format!("{stem}.{form}")));
            match format {
                Format::Parquet => write_parquet(&draft, columns)?,
                Format::Csv => write_csv(&draft, &columns)?,
            }
            fs::rename(&draft, &path).map_err(|why| problem(&path, why))?;
        }
        Ok(())
    }

    /// Places of the sources in order of id, as updates must stand.
    fn by_id(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.sources.len()).collect();
        order.sort_by_key(|&at| self.sources[at].id);
        order
    }

    fn update_columns(&self, order: &[usize]) -> Vec<Column> {
        let rows =
            || order.iter().flat_map(|&at| self.updates(at).iter().map(move |update| (at, update)));
        vec![
            ("source_id", Cells::Id(rows().map(|(at, _)| self.sources[at].id).collect())),
            ("site_id", Cells::Id(rows().map(|(at, _)| self.sources[at].site).collect())),
            ("t", Cells::Time(rows().map(|(_, &(t, _))| Some(t)).collect())),
            ("kind", Cells::Kind(rows().map(|(_, &(_, kind))| kind.code()).collect())),
        ]
    }

    fn source_columns(&self, order: &[usize]) -> Vec<Column> {
        let sources = || order.iter().map(|&at| &self.sources[at]);
        vec![
            ("source_id", Cells::Id(sources().map(|source| source.id).collect())),
            ("site_id", Cells::Id(sources().map(|source| source.site).collect())),
            ("host_id", Cells::Id(sources().map(|source| source.host).collect())),
            ("first_seen", Cells::Time(sources().map(|source| source.first_seen).collect())),
            ("last_seen", Cells::Time(sources().map(|source| source.last_seen).collect())),
        ]
    }

    fn site_columns(&self) -> Vec<Column> {
        let sites = || self.sites.iter();
        let mut columns = vec![
            ("site_id", Cells::Id(sites().map(|site| site.id).collect())),
            ("start", Cells::Time(sites().map(|site| Some(site.start)).collect())),
            ("end", Cells::Time(sites().map(|site| Some(site.end)).collect())),
        ];
        if sites().any(|site| site.name.is_some()) {
            columns.push((
                "name",
                Cells::Name(sites().map(|site| site.name.clone().unwrap_or_default()).collect()),
            ));
        }
        columns
    }
}

type Column = (&'static str, Cells);

enum Cells {
    Id(Vec<u32>),
    Time(Vec<Option<i64>>),
    Kind(Vec<u8>),
    Name(Vec<String>),
}

impl Cells {
    fn len(&self) -> usize {
        match self {
            Self::Id(cells) => cells.len(),
            Self::Time(cells) => cells.len(),
            Self::Kind(cells) => cells.len(),
            Self::Name(cells) => cells.len(),
        }
    }

    fn text(&self, row: usize) -> String {
        match self {
            Self::Id(cells) => cells[row].to_string(),
            Self::Time(cells) => cells[row].map(|t| t.to_string()).unwrap_or_default(),
            Self::Kind(cells) => cells[row].to_string(),
            Self::Name(cells) => cells[row].clone(),
        }
    }

    fn array(self) -> ArrayRef {
        match self {
            Self::Id(cells) => Arc::new(UInt32Array::from(cells)),
            Self::Time(cells) => Arc::new(Int64Array::from(cells)),
            Self::Kind(cells) => Arc::new(UInt8Array::from(cells)),
            Self::Name(cells) => Arc::new(StringArray::from(cells)),
        }
    }
}

fn problem(path: &Path, why: impl ToString) -> Error {
    Error::File { path: path.to_owned(), problem: why.to_string() }
}

fn write_parquet(path: &Path, columns: Vec<Column>) -> Result<(), Error> {
    let failed = |why: &dyn ToString| problem(path, why.to_string());
    let arrays = columns.into_iter().map(|(name, cells)| {
        let nullable = matches!(cells, Cells::Time(_));
        (name, cells.array(), nullable)
    });
    let batch = RecordBatch::try_from_iter_with_nullable(arrays).map_err(|why| failed(&why))?;
    let file = File::create(path).map_err(|why| failed(&why))?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let mut writer =
        ArrowWriter::try_new(file, batch.schema(), Some(properties)).map_err(|why| failed(&why))?;
    writer.write(&batch).map_err(|why| failed(&why))?;
    writer.close().map_err(|why| failed(&why))?;
    Ok(())
}

fn write_csv(path: &Path, columns: &[Column]) -> Result<(), Error> {
    let failed = |why: &dyn ToString| problem(path, why.to_string());
    let mut writer = csv::Writer::from_path(path).map_err(|why| failed(&why))?;
    writer.write_record(columns.iter().map(|(name, _)| *name)).map_err(|why| failed(&why))?;
    let rows = columns.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0);
    for row in 0..rows {
        writer
            .write_record(columns.iter().map(|(_, cells)| cells.text(row)))
            .map_err(|why| failed(&why))?;
    }
    writer.flush().map_err(|why| failed(&why))
}
