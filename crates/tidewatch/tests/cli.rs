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
    assert!(help.contains("simulate") && help.contains("trace") && help.contains("plan"));
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

/// A hundred days of a listing: 50 objects, one of which goes and one comes each day.
fn write_objects(dir: &Path) {
    let day = 86_400;
    fs::write(
        dir.join("listings.csv"),
        format!("listing_id,name,start,end\n1,cars,0,{}\n", 100 * day),
    )
    .unwrap();
    let row = |object: i64| {
        let first = (object - 49).max(0) * day;
        let gone = (object + 1) * day;
        let gone = if gone <= 100 * day { gone.to_string() } else { String::new() };
        format!("1,{object},{},{first},{gone}\n", ["bmw", "vw"][usize::from(object % 2 == 0)])
    };
    let rows: String = (0..149).map(row).collect();
    fs::write(
        dir.join("objects.csv"),
        format!("listing_id,object_id,category,first_seen,removed_at\n{rows}"),
    )
    .unwrap();
}

#[test]
fn quality_of_a_listing_is_fitted_foretold_and_planned() {
    let dir = TempDir::new().unwrap();
    write_objects(dir.path());
    let trace = dir.path().to_str().unwrap();
    let ask = |what: &str, more: &[&str]| {
        json(&[&["quality", what, "--trace", trace, "--json"], more].concat())
    };
    let fit = ask("fit", &[]);
    assert_eq!((fit["objects_now"].as_u64(), fit["looks"].as_u64()), (Some(49), Some(101)));
    assert!((fit["arrivals"]["mean_per_day"].as_f64().unwrap() - 0.99).abs() < 0.05, "{fit}");
    // three of about fifty go in three days: "synced three days ago, how many are gone?"
    let forecast = ask("forecast", &["--after", "3d"]);
    let gone = &forecast["gone"];
    assert!((gone["expected"].as_f64().unwrap() - 3.0).abs() < 1.0, "{forecast}");
    // objects are whole, and so they are printed: three lies inside
    let whole = |end: &str| gone[end].as_f64().unwrap().round();
    assert!(whole("low") <= 3.0 && whole("high") >= 3.0, "{forecast}");
    let half = ask("forecast", &["--after", "3d", "--category", "bmw"]);
    assert!(half["objects"].as_f64().unwrap() < 30.0, "{half}");
    // a fiftieth goes each day, so nine tenths are there for about five days
    let plan = ask("plan", &["--precision", "0.9"]);
    let days = plan["sync_within_seconds"].as_f64().unwrap() / 86_400.0;
    assert!((2.0..6.5).contains(&days), "{plan}");
    let figure = dir.path().join("course.svg");
    stdout(&["quality", "forecast", "--trace", trace, "--plot", figure.to_str().unwrap()]);
    assert!(fs::read_to_string(figure).unwrap().contains("recall"));
    let why = refused(&["quality", "plan", "--trace", trace, "--recall", "90"], 2);
    assert!(why.contains("`--recall 90` must lie between 0 and 1"), "{why}");
    let why = refused(&["quality", "fit", "--trace", trace, "--category", "audi"], 2);
    assert!(why.contains("`bmw`, `vw`"), "{why}");
    let why = refused(&["reproduce", "repository-quality", "--out", trace], 2);
    assert!(why.contains("--trace"), "{why}");
}

/// The polling-times paper's Table 1, as a list of times.
#[test]
fn plan_times_finds_the_minutes_of_the_worked_example() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("changes.txt");
    fs::write(&file, "# 1:05 … 3:14\n3900\n4440\n7440\n1970-01-01T02:15:00Z\n10980\n11640\n")
        .unwrap();
    let (file, plot) = (file.to_str().unwrap(), dir.path().join("plan.svg"));
    let asked =
        ["plan", "times", "--times", file, "--period", "1h", "--grid", "1m", "--aim", "recall"];
    let plan = json(&[&asked[..], &["--json"]].concat());
    assert_eq!(plan[0]["at"], serde_json::json!([":05", ":15"]));
    assert_eq!(plan[0]["at_seconds"], serde_json::json!([300.0, 900.0]));
    assert_eq!(plan[0]["choices"].as_array().unwrap().len(), 3);
    assert_eq!(plan[0]["choices"][1]["expected"]["recall"], 1.0);
    assert!(plan[0]["choices"][0]["expected"]["recall"].as_f64().unwrap() < 1.0);
    let said = stdout(&[&asked[..], &["--plot", plot.to_str().unwrap()]].concat());
    assert!(said.contains(":05, :15 of every 1h") && said.contains("held out"), "{said}");
    assert!(fs::read_to_string(&plot).unwrap().contains("<svg"));
    let modelled = json(&[&asked[..], &["--method", "modelled", "--json"]].concat());
    assert_eq!(modelled[0]["choices"][1]["expected"]["recall"], 1.0, "{modelled}");
    let uniform = json(&[&asked[..], &["--method", "uniform", "--json"]].concat());
    let [a, b] = [0, 1].map(|at| uniform[0]["at_seconds"][at].as_f64().unwrap());
    assert!((b - a - 1_800.0).abs() < 1e-9, "{uniform}");
}

#[test]
fn plan_times_refuses_what_it_cannot_plan() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("changes.txt");
    fs::write(&file, "3900\nsoon\n").unwrap();
    let file = file.to_str().unwrap();
    assert!(refused(&["plan", "times"], 2).contains("--trace DIR"));
    assert!(refused(&["plan", "times", "--times", file], 2).contains("line 2: `soon`"));
    let grid = ["plan", "times", "--times", file, "--period", "1h", "--grid", "7m"];
    assert!(refused(&grid, 2).contains("grid that divides it"));
    let nothing = ["plan", "times", "--times", file, "--period", "0s"];
    assert!(refused(&nothing, 2).contains("such as 1h"));
    let aim = ["plan", "times", "--times", file, "--aim", "speed"];
    assert!(refused(&aim, 2).contains("`speed`"));
    assert!(refused(&["plan", "times", "--times", "/nowhere"], 1).contains("/nowhere"));
    let data = dir.path().join("data");
    let watched = refused(&["plan", "times", "news", "--data", data.to_str().unwrap()], 1);
    assert!(watched.contains("tidewatch add"), "{watched}");
}

/// Two sources of a trace, one busy, one quiet: the busy one gets the polls.
#[test]
fn plan_times_shares_one_budget() {
    let dir = TempDir::new().unwrap();
    let row = |source: u32, day: i64, hour: i64, minute: i64| {
        format!("{source},1,{}\n", day * 86_400 + hour * 3_600 + minute * 60)
    };
    let busy = |day| [2, 6, 9, 13, 18, 22].map(|hour| row(1, day, hour, day % 7)).concat();
    let quiet = |day| row(2, day, 8, day % 5);
    let updates: String = (0..60).map(busy).chain((0..60).map(quiet)).collect();
    let updates = format!("source_id,site_id,t\n{updates}");
    fs::write(dir.path().join("updates.csv"), updates).unwrap();
    fs::write(dir.path().join("sources.csv"), "source_id,site_id\n1,1\n2,1\n").unwrap();
    let trace = dir.path().to_str().unwrap();
    let plans = json(&[
        "plan", "times", "--trace", trace, "--period", "1d", "--grid", "5m", "--total", "7",
        "--json",
    ]);
    let counts: Vec<usize> =
        plans.as_array().unwrap().iter().map(|plan| plan["at"].as_array().unwrap().len()).collect();
    assert_eq!(counts, [6, 1]);
    let one = json(&["plan", "times", "--trace", trace, "--only", "2", "--polls", "1", "--json"]);
    assert_eq!(one[0]["period_seconds"], 86_400.0);
    assert_eq!(one[0]["at"], serde_json::json!(["08:04"]));
}

#[test]
fn the_polling_times_paper_is_written() {
    let dir = TempDir::new().unwrap();
    let out = dir.path().to_str().unwrap();
    assert!(stdout(&["reproduce", "polling-times", "--small", "--out", out]).contains("report.md"));
    let report = fs::read_to_string(dir.path().join("report.md")).unwrap();
    assert!(report.contains("| at :05 and :15 | {5, 15} | close to 1.0 | 1.000 |"), "{report}");
    assert!(dir.path().join("figure5.svg").exists());
}

const TICKS: [&str; 9] = [
    "simulate",
    "--world",
    "poisson(sites=2,pages=12,mean=30m)",
    "--tick",
    "1m",
    "--capacity",
    "1",
    "--ticks",
    "60",
];

fn in_ticks<'a>(more: &[&'a str]) -> Vec<&'a str> {
    TICKS.iter().copied().chain(more.iter().copied()).collect()
}

#[test]
fn ticks_add_utility_delays_and_the_bound() {
    let document = json(&in_ticks(&[
        "--seeds",
        "2",
        "--urgency",
        "per-tick 0.9",
        "--life",
        "overwrite",
        "--probabilities",
        "noisy(fpn=0.1,spread=2)",
        "--policies",
        "wic,wic+search,cam,round-robin",
        "--json",
    ]));
    assert_eq!((&document["sources"], &document["cycles"]), (&12.into(), &60.into()));
    for policy in document["policies"].as_array().unwrap() {
        for score in ["utility", "bound", "share_of_bound", "captured", "zero_delay"] {
            let mean = policy[score]["mean"].as_f64().unwrap();
            assert!((0.0..=1.0).contains(&mean), "{score}: {mean}");
        }
        assert_eq!(policy["delay"].as_array().unwrap().len(), 11);
        assert!(policy["expected"]["share_of_bound"]["mean"].as_f64().unwrap() <= 1.0 + 1e-9);
    }
    let expected =
        |at: usize| document["policies"][at]["expected"]["utility"]["mean"].as_f64().unwrap();
    assert!(expected(1) >= expected(0) && expected(0) >= expected(3));
}

#[test]
fn ticks_are_shown_drawn_and_asked_for_wisely() {
    let dir = TempDir::new().unwrap();
    let (plot, table) = (dir.path().join("late.svg"), dir.path().join("urgency.txt"));
    fs::write(&table, "1\n0.5\n0.25\n").unwrap();
    let urgency = format!("table {}", table.display());
    let args = [
        "--urgency",
        &urgency,
        "--life",
        "last 2",
        "--plot",
        plot.to_str().unwrap(),
        "--seeds",
        "1",
    ];
    let shown = stdout(&in_ticks(&args));
    assert!(shown.contains("wic+search") && shown.contains("no schedule could exceed"), "{shown}");
    assert!(fs::read_to_string(&plot).unwrap().contains("<svg"));
    fs::write(&table, "1\n2\n").unwrap();
    assert!(refused(&in_ticks(&["--urgency", &urgency]), 2).contains("never rises"));
    assert!(refused(&in_ticks(&["--life", "for ever"]), 2).contains("`for ever`"));
    assert!(refused(&in_ticks(&["--probabilities", "exakt"]), 2).contains("`exakt`"));
    assert!(refused(&in_ticks(&["--budget", "10%"]), 2).contains("--capacity"));
    assert!(refused(&with(&["--policies", "wic+search"]), 2).contains("--tick"));
    refused(&["simulate", "--tick", "1m"], 2);
}

#[test]
fn the_wic_paper_is_written() {
    let dir = TempDir::new().unwrap();
    let out = dir.path().to_str().unwrap();
    assert!(stdout(&["reproduce", "wic", "--small", "--out", out]).contains("report.md"));
    let report = fs::read_to_string(dir.path().join("report.md")).unwrap();
    for part in [
        "Figure 5",
        "Figure 7",
        "Figures 8 and 9",
        "Section 5.4",
        "Section 4",
        "Better than greedy",
    ] {
        assert!(report.contains(part), "{part}");
    }
    assert!(dir.path().join("figure9.svg").exists() && dir.path().join("better.csv").exists());
}

/// A poll history as a file: looks every 10 minutes, a change wherever the pattern says so.
fn polls(dir: &TempDir, flags: &str) -> String {
    let path = dir.path().join("polls.csv");
    let line = |(at, flag): (usize, char)| format!("{},{flag}\n", 600 * at);
    let lines: String = flags.chars().enumerate().map(line).collect();
    fs::write(&path, format!("t,changed\n{lines}")).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn an_estimate_has_the_promised_keys() {
    let dir = TempDir::new().unwrap();
    // squares modulo a prime: no pattern that repeats within 202 polls
    let flags: String = (0..202).map(|n| if n * n % 1_009 < 400 { '1' } else { '0' }).collect();
    let (file, plot) = (polls(&dir, &flags), dir.path().join("law.svg"));
    let document = json(&[
        "estimate",
        "--polls",
        &file,
        "--method",
        "m4",
        "--at",
        "10m,1h",
        "--replicates",
        "20",
        "--plot",
        plot.to_str().unwrap(),
        "--json",
    ]);
    assert_eq!(document["method"], "m4");
    assert_eq!(document["looks"], 202);
    for key in
        ["detections", "span", "spacing", "poisson", "sees_from", "sees_to", "because", "warnings"]
    {
        assert!(!document[key].is_null(), "{key}: {document}");
    }
    assert!(document["poisson_rate"]["value"].is_f64());
    let grid = document["grid"].as_array().unwrap();
    assert_eq!(grid.len(), 2);
    assert_eq!(grid[1]["seconds"], 3600.0);
    let stale = &grid[0]["stale"];
    let [low, value, high] =
        [&stale["ci95"][0], &stale["value"], &stale["ci95"][1]].map(|v| v.as_f64().unwrap());
    assert!(low < value && value < high, "{stale}");
    assert!(fs::read_to_string(plot).unwrap().contains("</svg>"));
    let table = stdout(&["estimate", "--polls", &file, "--replicates", "0"]);
    assert!(table.contains("mixture (chosen)") && table.contains("is it Poisson?"), "{table}");
}

#[test]
fn odd_histories_have_clear_answers() {
    let dir = TempDir::new().unwrap();
    for (flags, said) in [
        ("", "fewer than two looks"),
        ("0", "fewer than two looks"),
        ("000000000000", "no change was seen"),
        ("0111111111111111111111", "anything up to the gap"),
        ("0101010101010101010101010101", "pattern of 2 polls"),
    ] {
        let table = stdout(&["estimate", "--polls", &polls(&dir, flags)]);
        assert!(table.contains(said), "{flags}: {table}");
    }
}

#[test]
fn broken_histories_are_refused_with_the_line() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("bad.csv");
    let refuse = |text: &str, more: &[&str]| {
        fs::write(&file, text).unwrap();
        refused(&[&["estimate", "--polls", file.to_str().unwrap()], more].concat(), 2)
    };
    let stepped = refuse("t,changed\n10,0\n30,1\n20,0\n", &[]);
    assert!(stepped.contains("line 4") && stepped.contains("set back"), "{stepped}");
    assert!(refuse("when,what\n1,0\n", &[]).contains("columns `t` and `changed`"));
    assert!(refuse("t,changed\nsoon,0\n", &[]).contains("line 2: `soon`"));
    assert!(refuse("t,changed\n1,maybe\n", &[]).contains("`maybe`"));
    assert!(refuse("t,changed,age\n1,0,-5\n", &[]).contains("age -5"));
    let lacks = refuse("t,changed\n1,0\n2,1\n", &["--method", "m2"]);
    assert!(lacks.contains("needs ages") && lacks.contains("mixture"), "{lacks}");
    assert!(refuse("t,changed\n1,0\n", &["--method", "m7"]).contains("known are `auto`"));
    assert!(refused(&["estimate"], 2).contains("--polls FILE"));
}

#[test]
fn the_methods_are_listed() {
    let table = stdout(&["estimate", "--method", "list"]);
    for word in ["m1", "gm4", "mixture", "Poisson sources", "at a constant distance"] {
        assert!(table.contains(word), "{word}: {table}");
    }
}
