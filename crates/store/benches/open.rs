//! Starting: how long it takes to load the sources, to fold the journal and, after a writer died, to
//! check the file.
//!
//! `cargo bench -p store --bench open`; figures in `docs/speed.md`.

use std::hint::black_box;
use std::path::Path;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use store::{Error, Kind, Micros, NewEntry, NewSource, SourceId, State, Store};

const SOURCES: i64 = 100_000;
const ENTRIES: i64 = 1_000_000;

fn fill(dir: &Path) -> Result<(), Error> {
    let mut store = Store::open(dir)?;
    let tags = ["news".to_owned(), "daily".to_owned()];
    let etag = Some("\"5f3b-61c2a4e8\"".to_owned());
    let state = State { etag, fingerprint: Some([3; 32]), ..State::default() };
    store.commit(|batch| {
        for source in 1..=SOURCES {
            let (site, host) = (format!("site-{}", source % 700), format!("host-{}", source % 900));
            let url = format!("https://{host}.example/a/page/with/a/name/{source}");
            let (spec, origin) = (r#"{"select":"main","exclude":[".ad"]}"#, "file");
            let new = NewSource {
                url: &url,
                site: &site,
                host: &host,
                tags: &tags,
                importance: 1.0,
                spec,
                origin,
            };
            batch.add_source(&new, Micros(0))?;
            batch.set_state(SourceId(source), &state)?;
        }
        (0..ENTRIES).try_for_each(|n| {
            let source = Some(SourceId(n * 7919 % SOURCES + 1));
            batch.append(&NewEntry {
                at: Micros(n),
                kind: Kind::Heard,
                source,
                detail: Some(&[7; 20]),
            })?;
            Ok(())
        })
    })
}

fn starts(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fill(dir.path()).expect("a new store takes rows");
    let mut group = c.benchmark_group("start");
    group.sample_size(10);
    group.bench_function("open", |b| b.iter(|| Store::open(dir.path()).expect("it is closed")));
    group.bench_function("open after a writer died", |b| {
        let die = || std::fs::write(dir.path().join("tidewatch.lock"), "1").expect("it is closed");
        b.iter_batched(
            die,
            |()| Store::open(dir.path()).expect("it is sound"),
            BatchSize::PerIteration,
        );
    });
    let store = Store::open(dir.path()).expect("it is closed");
    group.bench_function("load 100,000 sources", |b| {
        b.iter(|| black_box(store.read().sources().expect("they are there")));
    });
    group.bench_function("replay 1,000,000 entries", |b| {
        b.iter(|| {
            store.read().replay(0, |entry| {
                black_box(entry);
                Ok::<_, Error>(())
            })
        });
    });
    group.finish();
}

criterion_group!(benches, starts);
criterion_main!(benches);
