//! Loading a trace of the size of the real ones: 270,000 sources, 1.9 million updates.
//!
//! `cargo bench -p lab --bench trace`; with `TIDEWATCH_TRACE=DIR` that trace is loaded too. Figures in
//! `docs/speed.md`.

use std::path::PathBuf;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use lab::trace::{Format, Kind, Site, Source, Trace};
use schedule::chance;

const SOURCES: u32 = 270_000;
const SITES: u32 = 900;

/// Seven updates a source at random seconds of six years.
fn made_up() -> Trace {
    let sites = (0..SITES).map(|id| Site { id, start: 0, end: 190_000_000, name: None }).collect();
    let sources = (0..SOURCES).map(|id| {
        let source =
            Source { id, site: id % SITES, host: id % SITES, first_seen: None, last_seen: None };
        let second =
            |k| i64::try_from(chance::below(190_000_000, 1, [u64::from(id), k])).unwrap_or(0);
        let mut times: Vec<i64> = (0..7).map(second).collect();
        times.sort_unstable();
        times.dedup();
        (source, times.into_iter().map(|t| (t, Kind::Change)).collect())
    });
    Trace::of(sites, sources.collect::<Vec<_>>())
}

fn load(c: &mut Criterion) {
    let dir = tempfile::TempDir::new().expect("a temporary directory");
    let trace = made_up();
    let mut group = c.benchmark_group("load");
    group.sample_size(10).throughput(Throughput::Elements(trace.total_updates() as u64));
    let mut places: Vec<(&str, PathBuf)> = Vec::new();
    for (name, format) in [("parquet", Format::Parquet), ("csv", Format::Csv)] {
        let place = dir.path().join(name);
        trace.write(&place, format).expect("a trace is written");
        places.push((name, place));
    }
    places.extend(std::env::var_os("TIDEWATCH_TRACE").map(|place| ("given", place.into())));
    for (name, place) in places {
        group.bench_function(name, |b| b.iter(|| Trace::read(&place).expect("the trace reads")));
    }
    group.finish();
}

criterion_group!(benches, load);
criterion_main!(benches);
