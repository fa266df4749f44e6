//! Columns of whole numbers and names out of a Parquet or CSV file, whichever it is.
//!
//! The rest of the trace reader sees only [`Table`]; what differs between the two forms stays here.
//! Reading is bounded by the file: no column is taken that was not asked for.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::Error;

/// A column of whole numbers; empty cells are `None`.
pub(crate) type Numbers = Vec<Option<i64>>;

/// The wanted columns of one file.
pub(crate) struct Table {
    pub(crate) path: PathBuf,
    numbers: Vec<(&'static str, Numbers)>,
    texts: Vec<(&'static str, Vec<String>)>,
}

impl Table {
    /// The file `stem`.parquet or `stem`.csv in `dir`; `None` if there is neither.
    pub(crate) fn open(
        dir: &Path,
        stem: &'static str,
        columns: &[&'static str],
        texts: &[&'static str],
    ) -> Result<Option<Self>, Error> {
        let (parquet, csv) = (dir.join(format!("{stem}.parquet")), dir.join(format!("{stem}.csv")));
        match (parquet.exists(), csv.exists()) {
            (true, true) => Err(Error::Twice(dir.to_owned(), stem)),
            (true, false) => read_parquet(parquet, columns, texts).map(Some),
            (false, true) => read_csv(csv, columns, texts).map(Some),
            (false, false) => Ok(None),
        }
    }

    /// A column that may be absent.
    pub(crate) fn optional(&mut self, column: &'static str) -> Option<Numbers> {
        let at = self.numbers.iter().position(|(name, _)| *name == column)?;
        Some(self.numbers.swap_remove(at).1)
    }

    /// A column of words, where there is one.
    pub(crate) fn text(&mut self, column: &'static str) -> Option<Vec<String>> {
        let at = self.texts.iter().position(|(name, _)| *name == column)?;
        Some(self.texts.swap_remove(at).1)
    }

    /// A column that must be there, without empty cells.
    pub(crate) fn required(&mut self, column: &'static str) -> Result<Vec<i64>, Error> {
        let Some(numbers) = self.optional(column) else {
            let problem = "is missing".to_owned();
            return Err(Error::Column {
                path: self.path.clone(),
                column: column.to_owned(),
                problem,
            });
        };
        let full: Option<Vec<i64>> = numbers.iter().copied().collect();
        full.ok_or_else(|| {
            let row = numbers.iter().position(Option::is_none).unwrap_or(0);
            self.row(column, row, "is empty")
        })
    }

    /// A complaint about a value; `row` counts from 0 here and from 1 in the message.
    pub(crate) fn row(
        &self,
        column: &'static str,
        row: usize,
        problem: impl Into<String>,
    ) -> Error {
        Error::Row { path: self.path.clone(), column, row: row + 1, problem: problem.into() }
    }
}

fn file_error(path: &Path, problem: impl ToString) -> Error {
    Error::File { path: path.to_owned(), problem: problem.to_string() }
}

fn read_parquet(
    path: PathBuf,
    columns: &[&'static str],
    texts: &[&'static str],
) -> Result<Table, Error> {
    let file = File::open(&path).map_err(|why| file_error(&path, why))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)
        .map_err(|why| file_error(&path, format!("is not a whole Parquet file: {why}")))?;
    let schema = builder.schema().clone();
    let wanted: Vec<&'static str> =
        columns.iter().copied().filter(|name| schema.column_with_name(name).is_some()).collect();
    let is_text = |name: &str| {
        schema.column_with_name(name).is_some_and(|(_, field)| *field.data_type() == DataType::Utf8)
    };
    let texts: Vec<&'static str> = texts.iter().copied().filter(|name| is_text(name)).collect();
    let mask =
        ProjectionMask::columns(builder.parquet_schema(), wanted.iter().chain(&texts).copied());
    let batches = builder
        .with_projection(mask)
        .with_batch_size(1 << 16)
        .build()
        .map_err(|why| file_error(&path, why))?;
    let mut table = Table {
        path: path.clone(),
        numbers: wanted.iter().map(|&name| (name, Vec::new())).collect(),
        texts: texts.iter().map(|&name| (name, Vec::new())).collect(),
    };
    for batch in batches {
        let batch = batch.map_err(|why| file_error(&path, format!("cannot be decoded: {why}")))?;
        for (name, numbers) in &mut table.numbers {
            take_numbers(&path, &batch, name, numbers)?;
        }
        for (name, words) in &mut table.texts {
            if let Some(column) = batch.column_by_name(name) {
                let cells = column.as_string::<i32>().iter();
                words.extend(cells.map(|word| word.unwrap_or_default().to_owned()));
            }
        }
    }
    Ok(table)
}

fn take_numbers(
    path: &Path,
    batch: &RecordBatch,
    name: &'static str,
    into: &mut Numbers,
) -> Result<(), Error> {
    let Some(column) = batch.column_by_name(name) else { return Ok(()) };
    match column.data_type() {
        DataType::Int8 => extend::<Int8Type>(column, into),
        DataType::Int16 => extend::<Int16Type>(column, into),
        DataType::Int32 => extend::<Int32Type>(column, into),
        DataType::Int64 => extend::<Int64Type>(column, into),
        DataType::UInt8 => extend::<UInt8Type>(column, into),
        DataType::UInt16 => extend::<UInt16Type>(column, into),
        DataType::UInt32 => extend::<UInt32Type>(column, into),
        DataType::Boolean => {
            into.extend(column.as_boolean().iter().map(|value| value.map(i64::from)));
        }
        DataType::UInt64 => {
            for value in column.as_primitive::<UInt64Type>() {
                into.push(value.map(|value| i64::try_from(value).unwrap_or(i64::MAX)));
            }
        }
        other => {
            let problem = format!("must hold whole numbers, but holds {other}");
            return Err(Error::Column { path: path.to_owned(), column: name.to_owned(), problem });
        }
    }
    Ok(())
}

fn extend<T: ArrowPrimitiveType>(column: &dyn Array, into: &mut Numbers)
where
    T::Native: Into<i64>,
{
    into.extend(column.as_primitive::<T>().iter().map(|value| value.map(Into::into)));
}

fn read_csv(
    path: PathBuf,
    columns: &[&'static str],
    texts: &[&'static str],
) -> Result<Table, Error> {
    let mut reader = csv::Reader::from_path(&path).map_err(|why| file_error(&path, why))?;
    let headers = reader.headers().map_err(|why| file_error(&path, why))?.clone();
    let place = |name: &str| headers.iter().position(|header| header.trim() == name);
    let places: Vec<(&'static str, usize)> =
        columns.iter().filter_map(|&name| place(name).map(|at| (name, at))).collect();
    let text_places: Vec<(&'static str, usize)> =
        texts.iter().filter_map(|&name| place(name).map(|at| (name, at))).collect();
    let mut table = Table {
        path: path.clone(),
        numbers: places.iter().map(|&(name, _)| (name, Vec::new())).collect(),
        texts: text_places.iter().map(|&(name, _)| (name, Vec::new())).collect(),
    };
    let mut record = csv::StringRecord::new();
    let mut row = 0;
    loop {
        let more = match reader.read_record(&mut record) {
            Ok(more) => more,
            Err(why) => return Err(cut_short(&path, &headers, row + 1, &why)),
        };
        if !more {
            return Ok(table);
        }
        row += 1;
        for ((_, numbers), &(name, at)) in table.numbers.iter_mut().zip(&places) {
            let cell = record.get(at).unwrap_or_default().trim();
            let number = match cell {
                "" => None,
                "true" => Some(1),
                "false" => Some(0),
                _ => Some(cell.parse().map_err(|_| Error::Row {
                    path: path.clone(),
                    column: name,
                    row,
                    problem: format!("`{cell}` is not a whole number"),
                })?),
            };
            numbers.push(number);
        }
        for ((_, words), &(_, at)) in table.texts.iter_mut().zip(&text_places) {
            words.push(record.get(at).unwrap_or_default().to_owned());
        }
    }
}

/// A row with too few or too many cells, named by the first column that is wrong.
fn cut_short(path: &Path, headers: &csv::StringRecord, row: usize, why: &csv::Error) -> Error {
    let csv::ErrorKind::UnequalLengths { expected_len, len, .. } = why.kind() else {
        return file_error(path, why);
    };
    let at = usize::try_from(*len.min(expected_len)).unwrap_or(0);
    Error::Column {
        path: path.to_owned(),
        column: headers.get(at).unwrap_or("beyond the last").to_owned(),
        problem: format!("row {row} has {len} cells instead of {expected_len}"),
    }
}
