//! The rooms of the house and the arrows between them: the workspace's real edges equal the plan.
//!
//! Also what each pure room must not know: no clock, no async, no files, no network.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Who may use whom (ARCHITECTURE.md, "What each room may touch").
const PLAN: [(&str, &[&str]); 8] = [
    ("dynamics", &[]),
    ("schedule", &["dynamics"]),
    ("lab", &["dynamics", "schedule"]),
    ("detect", &[]),
    ("fetch", &[]),
    ("store", &[]),
    ("tidewatch", &["detect", "dynamics", "fetch", "lab", "schedule", "store"]),
    ("xtask", &[]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn manifest(room: &str) -> PathBuf {
    let dir = if room == "xtask" { root().join(room) } else { root().join("crates").join(room) };
    dir.join("Cargo.toml")
}

/// Names in the `[dependencies]` table, without those for tests.
fn dependencies(room: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(manifest(room)).unwrap();
    let table = text.split("[dependencies]").nth(1).unwrap_or_default();
    let lines = table.lines().take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| line.split_once('=')).map(|(name, _)| name.trim().to_owned()).collect()
}

#[test]
fn the_arrows_are_the_planned_ones() {
    let rooms: BTreeMap<&str, &[&str]> = PLAN.into_iter().collect();
    for (room, planned) in &rooms {
        let real: BTreeSet<String> = dependencies(room)
            .into_iter()
            .filter(|name| rooms.contains_key(name.as_str()))
            .collect();
        let planned: BTreeSet<String> = planned.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(real, planned, "arrows out of `{room}`");
    }
}

#[test]
fn every_room_is_in_the_plan() {
    let found: BTreeSet<String> = fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .chain(["xtask".to_owned()])
        .collect();
    let planned: BTreeSet<String> = PLAN.iter().map(|(room, _)| (*room).to_owned()).collect();
    assert_eq!(found, planned);
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn pure_rooms_know_no_clock_no_thread_and_no_file() {
    let forbidden = [
        "std::fs",
        "std::net",
        "std::thread",
        "Instant::now",
        "SystemTime",
        "async fn",
        "std::env",
    ];
    for room in ["dynamics", "schedule", "detect"] {
        let mut files = Vec::new();
        sources(&manifest(room).with_file_name("src"), &mut files);
        assert!(!files.is_empty());
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            for word in forbidden {
                assert!(!text.contains(word), "{} knows `{word}`", file.display());
            }
        }
    }
}

#[test]
fn every_file_opens_by_saying_why_it_exists() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    sources(&root().join("xtask"), &mut files);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("//! "), "{} has no opening line", file.display());
    }
}

/// Paper pages named in the code, and links between documents, lead somewhere.
#[test]
fn pages_and_links_exist() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for rest in text.split("docs/papers/").skip(1) {
            let name: String = rest
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || "-.".contains(*c))
                .collect();
            let page = root().join("docs/papers").join(name.trim_end_matches('.'));
            assert!(
                page.is_file() || name.is_empty(),
                "{} names {}",
                file.display(),
                page.display()
            );
        }
    }
    for page in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "docs/SUMMARY.md",
        "docs/start.md",
        "docs/reproducing.md",
        "docs/guides/simulate.md",
        "docs/guides/watching.md",
        "docs/guides/events.md",
        "docs/guides/traces.md",
        "docs/papers/cho-ntoulas-2002.md",
    ] {
        let path = root().join(page);
        let text = fs::read_to_string(&path).unwrap();
        for rest in text.split("](").skip(1) {
            let link = rest.split(')').next().unwrap();
            assert!(path.with_file_name("").join(link).exists(), "{page} links to {link}");
        }
    }
}
