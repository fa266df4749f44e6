//! Commits: poll results per second on one core, by the size of the batch, unchanged and changed.
//!
//! Unchanged is two journal entries and the state; changed is that, a version (7 kB of body, 5 kB of
//! text) and an event for one sink. Ten thousand sources in turn. The store lies in the temporary
//! directory, so `TMPDIR` says on which disk.
//!
//! `cargo bench -p store --bench commit`; figures in `docs/speed.md`.

use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use store::{
    Added, Batch, Error, Kind, Micros, NewEntry, NewEvent, NewSource, NewVersion, SinkId, SourceId,
    State, Store, event_id,
};
use tempfile::TempDir;

const SOURCES: i64 = 10_000;
const WORDS: [&str; 16] = [
    "tide", "harbour", "watch", "of", "the", "and", "vessel", "arrives", "departs", "at", "noon",
    "delayed", "cargo", "pilot", "berth", "north",
];

/// One poll's answer. `page` is empty if it is unchanged.
struct Poll {
    source: SourceId,
    round: i64,
    page: String,
    text: String,
}

fn filled() -> (TempDir, Store, SinkId) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut store = Store::open(dir.path()).expect("a new store");
    let sink = store.commit(|batch| {
        for source in 0..SOURCES {
            let url = format!("https://host-{}.example/page/{source}", source % 100);
            let (site, spec, origin) = ("site", "{}", "cli");
            let new = NewSource {
                url: &url,
                site,
                host: &url[..24],
                tags: &[],
                importance: 1.0,
                spec,
                origin,
            };
            assert!(matches!(batch.add_source(&new, Micros(0))?, Added::As { .. }));
        }
        batch.sink("hook")
    });
    (dir, store, sink.expect("a new store takes sources"))
}

/// The text of a page of 90 paragraphs, of which one is rewritten each round.
fn paragraphs(source: i64, round: i64) -> Vec<String> {
    let paragraph = |place: i64| {
        let written = round - (round - place * 7).rem_euclid(90);
        let mut chance = (source * 1_000_003 + place * 7919 + written * 104_729).unsigned_abs();
        let mut word = || {
            chance = chance
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            WORDS[usize::try_from(chance >> 60).expect("four bits")]
        };
        [(); 9].map(|()| word()).join(" ")
    };
    (0..90).map(paragraph).collect()
}

fn poll(count: i64, is_changed: bool) -> Poll {
    let (source, round) = (SourceId(count % SOURCES + 1), count / SOURCES);
    if !is_changed {
        return Poll { source, round, page: String::new(), text: String::new() };
    }
    let text = paragraphs(source.0, round);
    let page = format!(
        "<html><body>\n<p class=\"e\">{}</p></body></html>",
        text.join("</p>\n<p class=\"e\">")
    );
    Poll { source, round, page, text: text.join("\n") }
}

fn write(batch: &mut Batch<'_>, poll: &Poll, count: i64, sink: SinkId) -> Result<(), Error> {
    let (at, source) = (Micros(poll.round * 1_000_000), Some(poll.source));
    batch.append(&NewEntry { at, kind: Kind::Sent, source, detail: Some(&[1]) })?;
    let n = batch.append(&NewEntry { at, kind: Kind::Heard, source, detail: Some(&[7; 20]) })?;
    let mut state = State {
        polled_at: Some(at),
        seen_at: Some(at),
        verdict: Some("same".into()),
        outcome: Some("200".into()),
        etag: Some("\"5f3b-61c2a4e8\"".into()),
        fingerprint: Some([3; 32]),
        ..State::default()
    };
    if !poll.page.is_empty() {
        let version = NewVersion {
            source: poll.source,
            at,
            n,
            body: poll.page.as_bytes(),
            text: Some(&poll.text),
            headers: r#"[["content-type","text/html"],["etag","\"5f3b-61c2a4e8\""]]"#,
            media_type: Some("text/html"),
            status: 200,
            fingerprint: [3; 32],
            title: Some("Arrivals"),
        };
        state.version = Some(batch.add_version(&version)?);
        let (id, kind) = (event_id(at, count.unsigned_abs().into()), "source.changed");
        let payload = &poll.text[..poll.text.len().min(800)];
        batch.add_event(&NewEvent { id: &id, at, source, kind, payload }, &[sink])?;
    }
    batch.set_state(poll.source, &state)?;
    Ok(())
}

fn commits(c: &mut Criterion) {
    for (name, is_changed) in [("unchanged", false), ("changed", true)] {
        let mut group = c.benchmark_group(name);
        group.sample_size(10).measurement_time(Duration::from_secs(4));
        for size in [1, 16, 64, 256i64] {
            let (_dir, mut store, sink) = filled();
            let mut count = 0;
            group.throughput(Throughput::Elements(size.unsigned_abs()));
            group.bench_function(BenchmarkId::from_parameter(size), |b| {
                b.iter_batched(
                    || {
                        count += size;
                        (count - size..count)
                            .map(|count| (count, poll(count, is_changed)))
                            .collect()
                    },
                    |polls: Vec<(i64, Poll)>| {
                        store
                            .commit(|batch| {
                                polls
                                    .iter()
                                    .try_for_each(|(count, poll)| write(batch, poll, *count, sink))
                            })
                            .expect("there is space");
                    },
                    BatchSize::PerIteration,
                );
            });
        }
        group.finish();
    }
}

criterion_group!(benches, commits);
criterion_main!(benches);
