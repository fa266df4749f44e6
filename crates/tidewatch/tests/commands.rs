//! The commands of the live engine, as a person uses them, on a real server and in a scratch directory.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

mod common;

use std::path::Path;
use std::process::{Command, Output};

use common::Site;
use serde_json::Value;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

fn tidewatch(dir: &Path, args: &[&str]) -> Output {
    Command::new(assert_cmd::cargo::cargo_bin!("tidewatch"))
        .current_dir(dir)
        .env_remove("TIDEWATCH_CONFIG")
        .env("TIDEWATCH_DATA", dir.join("data"))
        .args(args)
        .output()
        .unwrap()
}

/// The one JSON document a command prints.
fn json(dir: &Path, args: &[&str]) -> Value {
    let output = tidewatch(dir, &[args, &["--json"]].concat());
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The exit code and what was said on stderr.
fn refused(dir: &Path, args: &[&str]) -> (i32, String) {
    let output = tidewatch(dir, args);
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn allowing(dir: &Path, site: &Site, rest: &str) {
    let toml = format!(
        "[budget]\nper_host_gap = \"1ms\"\n[fetch]\nrobots = false\nallow = [\"{}\"]\n{rest}",
        site.address
    );
    std::fs::write(dir.join("tidewatch.toml"), toml).unwrap();
}

#[test]
fn from_add_to_diff() {
    let (runtime, dir) = (runtime(), tempfile::tempdir().unwrap());
    let (dir, site) = (dir.path(), Site::start(2, false, &runtime));
    allowing(dir, &site, "");
    let added = json(dir, &["add", &site.url(0), &site.url(1), "--tag", "news", "--select", "p"]);
    assert_eq!(added["sources"][1]["id"], "s_2");
    let again = json(dir, &["add", &site.url(0), "--tag", "news", "--select", "p"]);
    assert_eq!(again["sources"][0]["already"], true);

    assert!(tidewatch(dir, &["once"]).status.success());
    site.edit(0);
    assert!(tidewatch(dir, &["once"]).status.success());
    let list = json(dir, &["list", "--tag", "news"]);
    let changes = |at: usize| list["sources"][at]["last_change"].is_string();
    assert_eq!((changes(0), changes(1)), (true, false), "{list}");
    let diff = json(dir, &["diff", "s_1"]);
    assert_eq!(diff["summary"], "Edition 0 → 1");
    let shown = json(dir, &["show", &site.url(0)]);
    assert_eq!(shown["versions"].as_array().unwrap().len(), 2);
    let history = json(dir, &["history", "s_1", "--changes"]);
    assert_eq!(history["polls"][0]["verdict"], "changed");
    let why = json(dir, &["why", "s_1"]);
    assert!(why["rate_per_day"].as_f64().unwrap() > 0.0 && why["because"].is_string());
    let status = json(dir, &["status"]);
    assert_eq!((&status["sources"], &status["captured"]), (&2.into(), &1.into()));

    let removed = json(dir, &["remove", "s_2"]);
    assert_eq!(removed["removed"], 1);
    assert_eq!(json(dir, &["list"])["sources"].as_array().unwrap().len(), 1);
}

#[test]
fn a_collection_says_how_good_its_copy_is() {
    let (runtime, dir) = (runtime(), tempfile::tempdir().unwrap());
    let dir = dir.path();
    let site = Site::start(1, false, &runtime);
    let collection = format!(
        "[[collection]]\nurl = \"{}/jobs\"\nitems = \"$.jobs[*]\"\nkey = \"$.id\"\ncategory = \"$.team\"\n",
        site.url(0)
    );
    allowing(dir, &site, &collection);
    for _ in 0..4 {
        assert!(tidewatch(dir, &["once"]).status.success());
        site.edit(0);
    }
    let status = json(dir, &["status"]);
    let shown = &status["collections"][0];
    assert_eq!(
        (shown["objects"].as_u64(), shown["looks"].as_u64()),
        (Some(40), Some(4)),
        "{status}"
    );
    assert!(shown["recall"]["expected"].as_f64().is_some_and(|q| q > 0.0 && q <= 1.0), "{status}");
    assert!(shown["recall"]["forecasts"].as_u64() >= Some(1), "{status}");
    let people = tidewatch(dir, &["status"]);
    let people = String::from_utf8(people.stdout).unwrap();
    assert!(people.contains("40 objects") && people.contains("past forecasts"), "{people}");
    let forecast = json(dir, &["quality", "forecast", "jobs", "--category", "sea"]);
    assert_eq!(forecast["objects"].as_f64(), Some(20.0), "{forecast}");
    let (code, why) = refused(dir, &["quality", "fit", "nothing"]);
    assert!(code == 2 && why.contains("no source is called"), "{why}");
    // a page that is no collection says so
    json(dir, &["add", &site.url(0), "--tag", "plain"]);
    let (code, why) = refused(dir, &["quality", "fit", "s_2"]);
    assert!(code == 2 && why.contains("not been seen as a collection"), "{why}");
}

#[test]
fn a_backup_restores_and_a_journal_becomes_a_trace() {
    let (runtime, dir) = (runtime(), tempfile::tempdir().unwrap());
    let (dir, site) = (dir.path(), Site::start(3, true, &runtime));
    allowing(dir, &site, "");
    json(dir, &["add", &site.url(0), &site.url(1), &site.url(2)]);
    for _ in 0..3 {
        assert!(tidewatch(dir, &["once"]).status.success());
    }
    json(dir, &["backup", "all.db"]);
    let (code, problem) = refused(dir, &["backup", "all.db"]);
    assert_eq!(code, 1);
    assert!(problem.contains("exists"), "{problem}");
    let before = json(dir, &["status"])["captured"].clone();
    assert!(before.as_u64() >= Some(3), "three looks at restless pages: {before}");
    let (code, problem) = refused(dir, &["restore", "all.db"]);
    assert_eq!(code, 1, "{problem}");
    std::fs::remove_dir_all(dir.join("data")).unwrap();
    json(dir, &["restore", "all.db"]);
    assert_eq!(json(dir, &["status"])["captured"], before);

    let exported = json(dir, &["export", "trace", "trace"]);
    assert_eq!(exported["sources"], 3);
    assert!(exported["changes"].as_u64() >= Some(1), "{exported}");
    let info = json(dir, &["trace", "info", "trace"]);
    assert_eq!(info["sources"], 3, "{info}");
}

#[test]
fn bad_questions_get_clear_answers() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let (code, said) = refused(dir, &["list"]);
    assert_eq!((code, said.contains("tidewatch add URL")), (1, true), "{said}");
    let (code, said) = refused(dir, &["add", "example.org"]);
    assert_eq!((code, said.contains("`example.org`")), (2, true), "{said}");
    let (code, said) = refused(dir, &["add", "https://example.org", "--importance", "0"]);
    assert_eq!((code, said.contains("importance")), (2, true), "{said}");
    let (code, said) = refused(dir, &["add", "https://example.org", "--every", "soon"]);
    assert_eq!((code, said.contains("`soon`")), (2, true), "{said}");
    std::fs::write(dir.join("tidewatch.toml"), "[budget]\npolls = 5\nbursts = 2\n").unwrap();
    let (code, said) = refused(dir, &["config", "check"]);
    assert_eq!(code, 2);
    assert!(said.contains("tidewatch.toml"), "{said}");
    std::fs::write(dir.join("tidewatch.toml"), "").unwrap();
    json(dir, &["add", "https://example.org/a", "https://example.org/b"]);
    let (code, said) = refused(dir, &["show", "example.org"]);
    assert_eq!((code, said.contains("s_1") && said.contains("s_2")), (2, true), "{said}");
    let (code, said) = refused(dir, &["why", "nowhere"]);
    assert_eq!((code, said.contains("`nowhere`")), (2, true), "{said}");
    let (code, said) = refused(dir, &["diff", "s_1"]);
    assert_ne!(code, 0, "{said}");
}

#[test]
fn config_check_shows_the_plan_and_warns_of_greedy_pins() {
    let (runtime, dir) = (runtime(), tempfile::tempdir().unwrap());
    let (dir, site) = (dir.path(), Site::start(2, false, &runtime));
    allowing(dir, &site, &format!("[[source]]\nurl = \"{}\"\nevery = \"5s\"\n", site.url(0)));
    let plan = json(dir, &["config", "check"]);
    assert_eq!(plan["add"][0], site.url(0));
    assert!(plan["warning"].as_str().unwrap().contains("cannot all be kept"), "{plan}");
    assert!(tidewatch(dir, &["once"]).status.success());
    allowing(dir, &site, &format!("[[source]]\nurl = \"{}\"\n", site.url(1)));
    let plan = json(dir, &["config", "check"]);
    assert_eq!((&plan["add"][0], &plan["remove"][0]), (&site.url(1).into(), &site.url(0).into()));
}

#[test]
fn the_demonstration_ends_by_itself_and_knows_the_truth() {
    let dir = tempfile::tempdir().unwrap();
    let end = json(dir.path(), &["demo", "--for", "6s", "--polls", "20", "--quiet"]);
    assert_eq!(end["pages"], 60, "{end}");
    assert!(end["polls"].as_u64().unwrap() >= 30);
    let number = |key: &str| end[key].as_f64().unwrap();
    assert!(number("captured") + number("missed") <= number("happened"), "{end}");
    let (code, said) = refused(dir.path(), &["demo", "--for", "ever"]);
    assert_eq!((code, said.contains("`ever`")), (2, true), "{said}");
}
