//! Trace files: what is written reads back equal, in either form, and whatever is wrong is named with file,
//! column and row.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use std::fs;
use std::path::Path;

use lab::trace::{Error, Format, Kind, Site, Source, Trace};
use proptest::prelude::*;
use tempfile::TempDir;

fn any_trace() -> impl Strategy<Value = Trace> {
    let updates = prop::collection::btree_set((0i64..1_000_000, 0usize..5), 0..12);
    let source =
        (0u32..4, prop::option::of(0i64..1_000), prop::option::of(1_000i64..9_000), updates);
    prop::collection::vec(source, 0..25).prop_map(|sources| {
        let sites = (0..4).map(|id| Site {
            id,
            start: 0,
            end: 2_000_000,
            name: Some(format!("site {id}")),
        });
        let sources =
            sources.into_iter().enumerate().map(|(at, (site, first_seen, last_seen, updates))| {
                let id = u32::try_from(at * 7).unwrap();
                let source = Source { id, site, host: site, first_seen, last_seen };
                (source, updates.into_iter().map(|(t, kind)| (t, Kind::ALL[kind])).collect())
            });
        Trace::of(sites.collect(), sources)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn both_forms_read_back_equal(trace in any_trace()) {
        for format in [Format::Parquet, Format::Csv] {
            let dir = TempDir::new().unwrap();
            trace.write(dir.path(), format).unwrap();
            prop_assert_eq!(Trace::read(dir.path()).unwrap(), trace.clone());
        }
    }

    /// Any prefix of a Parquet file is an error, never a panic and never a shorter trace.
    #[test]
    fn a_truncated_parquet_file_is_refused(trace in any_trace(), cut in 0usize..1_000) {
        let dir = TempDir::new().unwrap();
        trace.write(dir.path(), Format::Parquet).unwrap();
        let path = dir.path().join("updates.parquet");
        let bytes = fs::read(&path).unwrap();
        let keep = bytes.len() * cut / 1_000;
        fs::write(&path, &bytes[..keep]).unwrap();
        let problem = Trace::read(dir.path()).unwrap_err().to_string();
        prop_assert!(problem.contains("updates.parquet"), "{}", problem);
    }
}

const SOURCES: &str = "source_id,site_id,first_seen,last_seen\n1,10,,\n2,10,50,90\n5,11,,\n";
const UPDATES: &str = "source_id,site_id,t,kind\n1,10,100,1\n1,10,200,1\n2,10,60,3\n";

fn write(dir: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        fs::write(dir.join(name), text).unwrap();
    }
}

/// Reads a CSV trace made of the good files with some replaced, and checks what the complaint says.
fn complains(replaced: &[(&str, &str)], words: &[&str]) {
    let dir = TempDir::new().unwrap();
    write(dir.path(), &[("sources.csv", SOURCES), ("updates.csv", UPDATES)]);
    write(dir.path(), replaced);
    let problem = Trace::read(dir.path()).unwrap_err().to_string();
    for word in words {
        assert!(problem.contains(word), "`{problem}` does not say `{word}`");
    }
}

#[test]
fn the_good_files_are_good() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), &[("sources.csv", SOURCES), ("updates.csv", UPDATES)]);
    let trace = Trace::read(dir.path()).unwrap();
    assert_eq!((trace.sources.len(), trace.total_updates()), (3, 3));
    assert_eq!(trace.updates(0), [(100, Kind::Change), (200, Kind::Change)]);
    assert_eq!(trace.sources[1].first_seen, Some(50));
}

#[test]
fn without_a_kind_column_every_update_is_a_change() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), &[("sources.csv", SOURCES), ("updates.csv", "t,source_id,note\n7,1,x\n")]);
    assert_eq!(Trace::read(dir.path()).unwrap().updates(0), [(7, Kind::Change)]);
}

#[test]
fn broken_input_is_named_by_file_column_and_row() {
    let updates = |text| [("updates.csv", text)];
    complains(
        &updates("source_id,t\n1,200\n1,100\n"),
        &["updates.csv", "`t`", "row 2", "out of order"],
    );
    complains(
        &updates("source_id,t\n2,200\n1,100\n"),
        &["updates.csv", "`source_id`", "row 2", "out of order"],
    );
    complains(&updates("source_id,t,kind\n1,5,1\n1,5,1\n"), &["updates.csv", "row 2", "repeats"]);
    complains(
        &updates("source_id,t\n1,5\n9,5\n"),
        &["updates.csv", "`source_id`", "row 2", "no source 9"],
    );
    complains(&updates("source_id,t\n1,-5\n"), &["updates.csv", "`t`", "row 1", "-5", "1970"]);
    complains(&updates("source_id,t\n-1,5\n"), &["updates.csv", "`source_id`", "row 1", "-1"]);
    complains(&updates("source_id,t\n1,soon\n"), &["updates.csv", "`t`", "row 1", "`soon`"]);
    complains(&updates("source_id,t\n1,\n"), &["updates.csv", "`t`", "row 1", "empty"]);
    complains(&updates("source_id,t,kind\n1,5,7\n"), &["updates.csv", "`kind`", "row 1", "7"]);
    complains(
        &updates("source_id,t,site_id\n1,5,11\n"),
        &["updates.csv", "`site_id`", "row 1", "site 10"],
    );
    complains(&updates("source_id,kind\n1,1\n"), &["updates.csv", "`t`", "missing"]);
    complains(&updates("source_id,t\n1,5,6\n"), &["updates.csv", "row 1", "3 cells"]);
    complains(&updates("source_id,t\n1,5\n1\n"), &["updates.csv", "`t`", "row 2", "1 cells"]);
    complains(&updates("source_id,t\n\n1,5\n\n1,-5\n"), &["updates.csv", "`t`", "row 2"]);
    complains(
        &updates("source_id,t\n1,1700000000000\n"),
        &["updates.csv", "`t`", "row 1", "milliseconds"],
    );
    complains(&[("sites.csv", "site_id,start,end\n")], &["sources.csv", "`site_id`", "no site 10"]);
    let sources = |text| [("sources.csv", text)];
    complains(
        &sources("source_id,site_id\n1,10\n1,10\n"),
        &["sources.csv", "`source_id`", "row 2", "row 1 already"],
    );
    complains(
        &sources("source_id,site_id,first_seen,last_seen\n1,1,9,8\n"),
        &["sources.csv", "`last_seen`", "row 1"],
    );
    complains(
        &[("sites.csv", "site_id,start,end\n10,0,9\n")],
        &["sources.csv", "`site_id`", "row 3", "no site 11"],
    );
    complains(&[("sites.csv", "site_id,start,end\n10,9,0\n")], &["sites.csv", "`end`", "row 1"]);
    complains(
        &[("sites.csv", "site_id,start,end\n10,0,9\n10,0,9\n")],
        &["sites.csv", "`site_id`", "row 2"],
    );
}

#[test]
fn a_column_of_the_wrong_type_is_named() {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, RecordBatch, UInt32Array};
    let dir = TempDir::new().unwrap();
    write(dir.path(), &[("sources.csv", SOURCES)]);
    let columns: [(&str, ArrayRef); 2] = [
        ("source_id", Arc::new(UInt32Array::from(vec![1]))),
        ("t", Arc::new(Float64Array::from(vec![1.5]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = fs::File::create(dir.path().join("updates.parquet")).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let problem = Trace::read(dir.path()).unwrap_err().to_string();
    assert!(
        problem.contains("updates.parquet")
            && problem.contains("`t`")
            && problem.contains("Float64"),
        "{problem}"
    );
}

#[test]
fn missing_and_doubled_files_are_told_apart() {
    let dir = TempDir::new().unwrap();
    assert!(matches!(Trace::read(&dir.path().join("nowhere")), Err(Error::NoDirectory(..))));
    assert!(matches!(Trace::read(dir.path()), Err(Error::Missing(..))));
    write(
        dir.path(),
        &[("sources.csv", SOURCES), ("sources.parquet", ""), ("updates.csv", UPDATES)],
    );
    assert!(matches!(Trace::read(dir.path()), Err(Error::Twice(..))));
}

#[test]
fn an_existing_trace_is_not_overwritten() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), &[("updates.csv", UPDATES)]);
    let problem =
        Trace::of(Vec::new(), []).write(dir.path(), Format::Parquet).unwrap_err().to_string();
    assert!(problem.contains("updates.csv") && problem.contains("exists already"), "{problem}");
}

#[test]
fn an_empty_trace_is_a_trace() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), &[("sources.csv", "source_id,site_id\n"), ("updates.csv", "source_id,t\n")]);
    let trace = Trace::read(dir.path()).unwrap();
    assert_eq!((trace.sources.len(), trace.total_updates(), trace.span()), (0, 0, None));
}
