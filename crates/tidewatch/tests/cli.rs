//! The program as a person runs it: results, help, bad questions, exit codes.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use tempfile::TempDir;

fn tidewatch(args: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("tidewatch").unwrap().args(args).assert()
}

fn stdout(args: &[&str]) -> String {
    let output = tidewatch(args).success().get_output().stdout.clone();
    String::from_utf8(output).unwrap()
}

/// What it says on stderr when it ends with `code`.
fn refused(args: &[&str], code: i32) -> String {
    let output = tidewatch(args).code(code).get_output().clone();
    assert!(output.stdout.is_empty(), "a failure prints no result");
    String::from_utf8(output.stderr).unwrap()
}

fn json(args: &[&str]) -> serde_json::Value {
    serde_json::from_str(&stdout(args)).unwrap()
}

const SMALL: [&str; 7] =
    ["simulate", "--world", "v-shaped(sites=20,pages=2000)", "--seeds", "3", "--budget", "28%"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    SMALL.iter().copied().chain(more.iter().copied()).collect()
}

#[test]
fn json_has_the_promised_keys_and_policies_as_given() {
    let given = "round-robin, greedy(samples=5),oracle";
    let document = json(&with(&["--count", "per-cycle", "--policies", given, "--json"]));
    assert_eq!(document["sources"], 2000);
    assert_eq!(document["sites"], 20);
    assert_eq!(document["cycles"], 5);
    assert_eq!(document["budget_per_cycle"], 560);
    let policies = document["policies"].as_array().unwrap();
    let names: Vec<&str> =
        policies.iter().map(|policy| policy["policy"].as_str().unwrap()).collect();
    assert_eq!(names, ["round-robin", "greedy(samples=5)", "oracle"]);
    for policy in policies {
        let ratio = &policy["change_ratio"];
        assert_eq!(ratio["by_cycle"].as_array().unwrap().len(), 5);
        assert_eq!(ratio["ci95"].as_array().unwrap().len(), 2);
        for score in ["change_recall", "freshness", "age_seconds"] {
            assert!(policy[score]["mean"].is_f64(), "{score}");
            assert_eq!(policy[score]["ci95"].as_array().unwrap().len(), 2, "{score}");
        }
        assert_eq!(policy["polls"], 2800.0);
        assert!(policy["decide_seconds"].is_f64());
    }
    let ratio = |at: usize| policies[at]["change_ratio"]["mean"].as_f64().unwrap();
    assert!(ratio(0) < ratio(1) && ratio(1) < ratio(2));
}

/// README's first command.
#[test]
fn without_arguments_it_runs_a_built_in_world_under_all_policies() {
    let table = stdout(&["simulate"]);
    assert!(
        table.starts_with("353,000 sources on 252 sites, 5 cycles of 30d, 100,000 polls each"),
        "{table}"
    );
    for policy in ["round-robin", "greedy", "oracle †"] {
        assert!(table.contains(policy), "{table}");
    }
}

#[test]
fn the_table_stars_the_best_and_puts_bounds_last() {
    let table = stdout(&with(&[
        "--count",
        "per-cycle",
        "--policies",
        "oracle,round-robin,greedy(samples=5)",
    ]));
    let line = |word: &str| table.lines().position(|line| line.contains(word)).unwrap();
    assert!(line("greedy") < line("round-robin") && line("round-robin") < line("oracle †"));
    assert!(table.lines().nth(line("greedy")).unwrap().contains('★'), "{table}");
    assert!(
        table.starts_with("2,000 sources on 20 sites, 5 cycles of 30d, 560 polls each, 3 seeds"),
        "{table}"
    );
}

#[test]
fn polls_may_flow() {
    let world = "v-shaped(sites=20,pages=2000)";
    let flow = [
        "simulate", "--world", world, "--budget", "28%/30d", "--cycle", "10d", "--cycles", "6",
        "--json",
    ];
    let document = json(&flow);
    let policies = document["policies"].as_array().unwrap();
    for policy in policies {
        let polls = policy["polls"].as_f64().unwrap();
        assert!((1_000.0..=1_121.0).contains(&polls), "{policy}");
    }
}

#[test]
fn a_plot_is_an_svg() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("figure.svg");
    stdout(&with(&["--plot", path.to_str().unwrap()]));
    let svg = fs::read_to_string(&path).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("round-robin") && svg.contains("greedy"));
    let nowhere = dir.path().join("no/such/place.svg");
    assert!(refused(&with(&["--plot", nowhere.to_str().unwrap(), "-q"]), 1).contains("place.svg"));
}

#[test]
fn policies_and_worlds_are_listed() {
    let policies = stdout(&["simulate", "--policies", "list"]);
    let worlds = stdout(&["simulate", "--world", "list"]);
    assert!(policies.contains("round-robin") && policies.contains("oracle"));
    assert!(json(&["simulate", "--policies", "list", "--json"]).as_array().unwrap().len() > 8);
    assert!(worlds.contains("v-shaped") && worlds.contains("bursts"));
}

#[test]
fn wrong_questions_end_with_two_and_say_what_to_write() {
    for (args, word) in [
        (vec!["--policies", "gready"], "`gready`"),
        (vec!["--policies", "greedy(samples=many)"], "`samples=many`"),
        (vec!["--policies", "greedy(samples=5"], "not closed"),
        (vec!["--policies", ","], "names no policy"),
        (vec!["--world", "flat"], "`flat`"),
        (vec!["--budget", "much"], "`much` is not a budget"),
        (vec!["--cycle", "month"], "`month` is not a duration"),
        (vec!["--cycle", "0s"], "at least one second"),
        (
            vec!["--budget", "5/h", "--count", "per-cycle", "--world", "uniform"],
            "since the last look",
        ),
        (vec!["--world", "uniform", "--from", "2023-07-01"], "cut a trace"),
        (vec!["--cycles", "0"], "0"),
        (vec!["--seeds", "none"], "none"),
        (vec!["--policies", "oracle(x=1)"], "`oracle`"),
        (vec!["--kinds", "nonsense", "--world", "uniform"], "`nonsense`"),
        (
            vec!["--cycle", "1000000d", "--cycles", "110", "--world", "uniform"],
            "ten thousand years",
        ),
    ] {
        let args: Vec<&str> = ["simulate"].into_iter().chain(args).collect();
        let said = refused(&args, 2);
        assert!(said.contains(word), "{args:?}: {said}");
    }
}

fn write_trace(dir: &Path, updates: &str) {
    fs::write(dir.join("sources.csv"), "source_id,site_id\n1,1\n2,1\n").unwrap();
    fs::write(dir.join("updates.csv"), updates).unwrap();
}

#[test]
fn a_trace_replays_and_a_broken_one_ends_with_one() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().to_str().unwrap();
    // two sources over ten days from 2020-01-01; the first changes daily at noon
    let rows: String =
        (0..10).map(|day| format!("1,{}\n", 1_577_836_800 + day * 86_400 + 43_200)).collect();
    write_trace(dir.path(), &format!("source_id,t\n{rows}2,1578700800\n"));
    let base = [
        "simulate",
        "--trace",
        path,
        "--cycle",
        "1d",
        "--json",
        "--policies",
        "round-robin,oracle",
    ];
    let args = |more: &[&'static str]| {
        base.iter().copied().chain(more.iter().copied()).collect::<Vec<_>>()
    };
    let document = json(&args(&[
        "--from",
        "2020-01-01",
        "--cycles",
        "10",
        "--budget",
        "1",
        "--count",
        "per-cycle",
    ]));
    assert_eq!((&document["sources"], &document["sites"]), (&2.into(), &1.into()));
    // the first source is polled every other day, from the first or the second on
    let ratio = document["policies"][0]["change_ratio"]["mean"].as_f64().unwrap();
    assert!((0.5..=0.6).contains(&ratio), "{ratio}");
    assert_eq!(document["policies"][1]["change_ratio"]["mean"], 1.0);
    assert!(refused(&args(&["--from", "2031-01-01"]), 2).contains("the trace covers 2020-01-01"));
    let noon = args(&[
        "--from",
        "2020-01-01T12:00:00Z",
        "--cycles",
        "2",
        "--budget",
        "2",
        "--count",
        "per-cycle",
    ]);
    // from noon to noon: the change at the second noon counts, the one at the first does not
    assert_eq!(json(&noon)["policies"][1]["change_recall"]["mean"], 1.0);
    assert!(refused(&args(&["--from", "2020-01-01T12:00:00"]), 2).contains("with its zone"));
    assert!(refused(&args(&["--from", "1999-01-01"]), 2).contains("the trace covers"));
    assert!(refused(&args(&["--from", "yesterday"]), 2).contains("`yesterday` is not a date"));
    write_trace(dir.path(), "source_id,t\n7,5\n");
    let said = refused(&args(&[]), 1);
    assert!(said.contains("updates.csv") && said.contains("row 1"), "{said}");
    assert!(refused(&["simulate", "--trace", "/nowhere/at/all"], 1).contains("/nowhere/at/all"));
}

#[test]
fn an_empty_trace_gives_an_empty_table() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("sources.csv"), "source_id,site_id\n").unwrap();
    fs::write(dir.path().join("updates.csv"), "source_id,t\n").unwrap();
    let path = dir.path().to_str().unwrap();
    let document = json(&["simulate", "--trace", path, "--json"]);
    assert_eq!(document["sources"], 0);
    assert!(document["policies"][0]["change_ratio"]["mean"].is_null());
    assert!(stdout(&["simulate", "--trace", path]).contains('–'));
    assert!(stdout(&["trace", "info", path]).contains("nothing"));
}

#[test]
fn git_histories_become_traces_that_can_be_described_and_replayed() {
    let dir = TempDir::new().unwrap();
    let repository = dir.path().join("repository");
    fs::create_dir_all(&repository).unwrap();
    let git = |args: &[&str], day: i64| {
        let date = format!("{} +0000", 1_600_000_000 + day * 86_400);
        let done = std::process::Command::new("git")
            .args(["-c", "user.name=Ada Lovelace", "-c", "user.email=ada@example.org"])
            .args(args)
            .current_dir(&repository)
            .env("GIT_COMMITTER_DATE", &date)
            .env("GIT_AUTHOR_DATE", &date)
            .status();
        assert!(done.unwrap().success());
    };
    git(&["init", "--quiet", "."], 0);
    for day in 0..40 {
        fs::write(repository.join(format!("page{}.md", day % 5)), format!("{day}")).unwrap();
        git(&["add", "--all"], day);
        git(&["commit", "--quiet", "-m", "secret plans"], day);
    }
    let trace = dir.path().join("trace");
    let (from, to) = (repository.to_str().unwrap(), trace.to_str().unwrap());
    assert!(
        stdout(&["trace", "from-git", from, "--out", to, "--format", "csv"])
            .contains("5 sources on 1 site,")
    );
    for file in fs::read_dir(&trace).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(
            !text.contains("Ada") && !text.contains("secret") && !text.contains("page"),
            "{text}"
        );
    }
    assert!(refused(&["trace", "from-git", from, "--out", to], 1).contains("exists already"));
    let other = dir.path().join("other");
    let plot = dir.path().join("info.svg");
    let info =
        json(&["trace", "info", to, "--json", "--cycle", "10d", "--plot", plot.to_str().unwrap()]);
    assert_eq!((&info["sources"], &info["kinds"]["change"]), (&5.into(), &35.into()));
    assert!(fs::read_to_string(plot).unwrap().starts_with("<svg"));
    let run = json(&[
        "simulate",
        "--trace",
        to,
        "--cycle",
        "5d",
        "--budget",
        "2",
        "--json",
        "--present",
        "any",
    ]);
    assert_eq!(run["sources"], 5);
    let said = refused(
        &["trace", "from-git", dir.path().to_str().unwrap(), "--out", other.to_str().unwrap()],
        1,
    );
    assert!(said.contains("git cannot read a history here"), "{said}");
}

#[test]
fn help_speaks_of_everything() {
    let help = stdout(&["--help"]);
    assert!(help.contains("simulate") && help.contains("trace"));
    let simulate = stdout(&["simulate", "--help"]);
    for flag in [
        "--trace",
        "--world",
        "--policies",
        "--budget",
        "--cycle",
        "--cycles",
        "--from",
        "--count",
        "--present",
        "--seeds",
        "--json",
        "--plot",
    ] {
        assert!(simulate.contains(flag), "{flag}");
    }
    assert!(
        simulate.contains("Continuous:")
            && stdout(&["trace", "from-git", "--help"]).contains("never authors")
    );
}
