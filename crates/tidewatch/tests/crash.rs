//! The crash harness: the program is killed at random moments under load, again and again, and its disk fills up.
//! Nothing acknowledged is lost, the store opens, and every event is delivered at least once under an id that never
//! changes.
//!
//! A few kills in every run; `TIDEWATCH_KILLS=200 cargo test --test crash`, as `cargo xtask test --full` has it, for more.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::Site;
use store::Reader;

fn start(config: &Path, data: &Path) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin!("tidewatch"))
        .args(["run", "--quiet", "--config"])
        .arg(config)
        .arg("--data")
        .arg(data)
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// Events in the file, by id; a half-written last line of a killed program is no event.
fn delivered(file: &Path) -> BTreeMap<String, serde_json::Value> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let events =
        text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut by_id = BTreeMap::new();
    for event in events {
        let id = event["id"].as_str().unwrap().to_owned();
        if let Some(before) = by_id.insert(id.clone(), event.clone()) {
            assert_eq!(before, event, "{id} was delivered twice, and differently");
        }
    }
    by_id
}

fn version_number(name: &serde_json::Value) -> i64 {
    name.as_str().unwrap().strip_prefix("v_").unwrap().parse().unwrap()
}

/// Everything that was delivered is in the store, whole.
fn check(data: &Path, file: &Path) -> usize {
    let reader = Reader::open(data).unwrap();
    let events = delivered(file);
    for event in events.values() {
        let version = store::VersionId(version_number(&event["version"]["to"]));
        assert!(reader.version(version).unwrap().is_some(), "{event}");
        assert!(reader.text(version).unwrap().unwrap().contains("Edition"), "{event}");
        assert!(reader.body(version).unwrap().is_some(), "{event}");
    }
    events.len()
}

/// A site of 40 restless pages and a configuration that polls it as fast as it can, in `dir`.
fn under_load(dir: &Path, runtime: &tokio::runtime::Runtime) -> Site {
    let site = Site::start(40, true, runtime);
    let toml = site.toml(&format!(
        "[budget]\npolls = \"500/s\"\nburst = 50\nper_host_gap = \"0s\"\nper_host_parallel = 16\n[events]\nfile = \"{}\"\n",
        dir.join("events.jsonl").display()
    ));
    std::fs::write(dir.join("tidewatch.toml"), toml).unwrap();
    site
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// No file may grow beyond a megabyte, then any may: the program says what is wrong, waits, and goes on by itself.
#[test]
fn a_full_disk_is_named_and_waited_out() {
    let (runtime, dir) = (runtime(), tempfile::tempdir().unwrap());
    let _site = under_load(dir.path(), &runtime);
    let (data, events) = (dir.path().join("data"), dir.path().join("events.jsonl"));
    let said = dir.path().join("said");
    let mut child = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -S -f 2048; exec \"$@\"", "sh"])
        .arg(assert_cmd::cargo::cargo_bin!("tidewatch"))
        .args(["run", "--config"])
        .arg(dir.path().join("tidewatch.toml"))
        .arg("--data")
        .arg(&data)
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&said).unwrap())
        .spawn()
        .unwrap();
    let says = |what: &str| std::fs::read_to_string(&said).unwrap().contains(what);
    until("the disk fills up and is named", || says("disk is full"));
    let before = check(&data, &events);
    let unlimited = ["--fsize=unlimited", "--pid", &child.id().to_string()];
    assert!(Command::new("prlimit").args(unlimited).status().unwrap().success());
    until("it goes on", || delivered(&events).len() > before + 50);
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(child.wait().unwrap().success());
    check(&data, &events);
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let said = Command::new(assert_cmd::cargo::cargo_bin!("tidewatch"))
        .args(["run", "--data", "/sys/tidewatch"])
        .output()
        .unwrap();
    let text = String::from_utf8(said.stderr).unwrap();
    assert!(!said.status.success());
    assert!(text.contains("/sys/tidewatch") && text.contains("cannot be written"), "{text}");
}

#[test]
fn killed_at_random_moments_nothing_acknowledged_is_lost() {
    let kills: u64 =
        std::env::var("TIDEWATCH_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(6);
    let (runtime, dir) = (runtime(), tempfile::tempdir().unwrap());
    let _site = under_load(dir.path(), &runtime);
    let (data, events, config) = (
        dir.path().join("data"),
        dir.path().join("events.jsonl"),
        dir.path().join("tidewatch.toml"),
    );
    let mut seen = 0;
    for kill in 0..kills {
        let mut child = start(&config, &data);
        // somewhere between the first breath and full swing
        let wait = schedule::chance::below(900, 7, [kill]) as u64 + 100;
        std::thread::sleep(Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
        if data.join("tidewatch.db").exists() {
            let now = check(&data, &events);
            assert!(now >= seen, "delivered events vanished");
            seen = now;
        }
    }
    // one calm run, stopped politely, delivers what was left
    let mut last = start(&config, &data);
    std::thread::sleep(Duration::from_secs(3));
    Command::new("kill").args(["-TERM", &last.id().to_string()]).status().unwrap();
    assert!(last.wait().unwrap().success());
    assert!(check(&data, &events) > 50, "the harness was under load");

    let reader = Reader::open(&data).unwrap();
    let mut owed = BTreeSet::new();
    let mut after = 0;
    loop {
        let page = reader.events(after, 1000).unwrap();
        let Some(last) = page.last() else { break };
        after = last.seq;
        owed.extend(page.iter().map(|event| event.id.clone()));
    }
    let delivered: BTreeSet<String> = delivered(&events).into_keys().collect();
    let (sink, _) = reader.sinks().unwrap()[0].clone();
    let backlog = usize::try_from(reader.backlog(sink).unwrap()).unwrap();
    assert!(delivered.is_subset(&owed));
    assert!(
        owed.len() - delivered.len() <= backlog,
        "{} lost",
        owed.len() - delivered.len() - backlog
    );
    for source in reader.sources().unwrap() {
        // versions count up without a hole: none was lost between two others
        let versions = reader.versions(source.id, None, 100_000).unwrap();
        let numbers: Vec<i64> = versions.iter().rev().map(|version| version.number).collect();
        assert!(numbers.iter().copied().eq(1..=i64::try_from(numbers.len()).unwrap()));
    }
    assert!(
        tidewatch::daemon::memory::choices(&reader)
            .unwrap()
            .iter()
            .all(schedule::journal::Choice::agrees)
    );
}
