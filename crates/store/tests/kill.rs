//! A writer killed at any moment loses nothing it has acknowledged.
//!
//! The test starts itself as a child that commits batches without end and prints the last number after
//! each; the parent kills it, opens the store and looks for everything that was printed.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use store::{
    Added, Error, Kind, Micros, NewEntry, NewEvent, NewSource, NewVersion, SourceId, State, Store,
    event_id,
};

const DIR: &str = "TIDEWATCH_TEST_STORE";
const KILLS: u64 = 20;
const ROWS: i64 = 8;

#[test]
fn a_killed_writer_loses_nothing_it_acknowledged() {
    if let Ok(dir) = std::env::var(DIR) {
        write_until_killed(&dir);
    }
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged = 0;
    for kill in 0..KILLS {
        // moments spread over 0..160 ms without a pattern the writer could fall into step with
        let moment = Duration::from_micros(kill * 7919 * 13 % 160_000);
        acknowledged = acknowledged.max(run_and_kill(dir.path(), moment));
        check(dir.path(), acknowledged);
    }
    assert!(acknowledged > ROWS * 20, "only {acknowledged} entries were written");
}

/// The number the child printed last.
fn run_and_kill(dir: &Path, moment: Duration) -> i64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_killed_writer_loses_nothing_it_acknowledged", "--nocapture"])
        .env(DIR, dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut last = 0;
    let mut hear = |line: std::io::Result<String>| {
        if let Some(n) = line.ok().and_then(|line| line.strip_prefix("acknowledged ")?.parse().ok())
        {
            last = n;
        }
        last
    };
    while lines.next().is_some_and(|line| hear(line) == 0) {}
    std::thread::sleep(moment);
    assert!(child.try_wait().unwrap().is_none(), "the writer ended by itself");
    child.kill().unwrap();
    child.wait().unwrap();
    // what was printed before the kill is still in the pipe; a torn last line does not parse or is smaller
    lines.for_each(|line| {
        hear(line);
    });
    last
}

fn check(dir: &Path, acknowledged: i64) {
    let store = Store::open(dir).expect("sound after a kill");
    let read = store.read();
    let last = read.last_n().unwrap();
    assert!(last >= acknowledged, "{acknowledged} was acknowledged, {last} is there");
    assert_eq!(last % ROWS, 0, "a batch is there whole or not at all");
    let mut expected = 1;
    read.replay(0, |entry| {
        assert_eq!((entry.n, entry.at), (expected, Micros(expected)));
        expected += 1;
        Ok::<_, Error>(())
    })
    .unwrap();
    let batches = last / ROWS;
    for number in (1..=batches).rev().take(40) {
        let version = read.version_of(SourceId(1), number).unwrap().unwrap();
        assert_eq!(read.body(version.id).unwrap().unwrap(), body(version.n));
    }
    assert_eq!(read.versions(SourceId(1), None, 1).unwrap()[0].number, batches);
    let state = read.source(SourceId(1)).unwrap().unwrap().state;
    assert_eq!(state.polled_at, Some(Micros(last)));
    assert_eq!(read.events(batches - 1, 9).unwrap().len(), 1);
}

fn body(n: i64) -> Vec<u8> {
    format!("{} version {n} {}", "before ".repeat(300), "after ".repeat(300)).into_bytes()
}

#[expect(clippy::print_stdout, reason = "the parent reads it")]
fn write_until_killed(dir: &str) -> ! {
    let mut store = Store::open(dir).unwrap();
    let (url, site, host, spec, origin) = ("http://a.example/", "a", "a.example", "{}", "cli");
    let new = NewSource { url, site, host, tags: &[], importance: 1.0, spec, origin };
    loop {
        let n = write_batch(&mut store, &new).unwrap();
        println!("acknowledged {n}");
    }
}

fn write_batch(store: &mut Store, new: &NewSource<'_>) -> Result<i64, Error> {
    let mut n = store.read().last_n()?;
    store.commit(|batch| {
        let source = match batch.add_source(new, Micros(0))? {
            Added::As { source, .. } | Added::Already(source) => source,
        };
        for _ in 0..ROWS {
            let (at, kind) = (Micros(n + 1), Kind::Heard);
            n = batch.append(&NewEntry { at, kind, source: Some(source), detail: None })?;
        }
        let version = batch.add_version(&NewVersion {
            source,
            at: Micros(n),
            n,
            body: &body(n),
            text: None,
            headers: "{}",
            media_type: None,
            status: 200,
            fingerprint: [0; 32],
            title: None,
        })?;
        let (at, version) = (Some(Micros(n)), Some(version));
        batch.set_state(source, &State { polled_at: at, version, ..State::default() })?;
        let (id, kind, payload) =
            (event_id(Micros(n), n.unsigned_abs().into()), "source.changed", "{}");
        let event = NewEvent { id: &id, at: Micros(n), source: Some(source), kind, payload };
        batch.add_event(&event, &[])?;
        Ok(n)
    })
}
