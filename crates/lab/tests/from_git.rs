//! Histories of real git repositories, made on the spot by git itself, become the traces one would expect.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lab::trace::Kind::{self, Arrival, Change, Removal, Rename};
use lab::trace::{Grain, History, Trace, from_git};
use tempfile::TempDir;

/// A repository whose commits are an hour apart.
struct Repository {
    dir: TempDir,
    hour: i64,
}

impl Repository {
    fn new() -> Self {
        let repository = Self { dir: TempDir::new().unwrap(), hour: 0 };
        repository.git(&["init", "--quiet", "--initial-branch=main", "."]);
        repository
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn git(&self, args: &[&str]) {
        let date = format!("{} +0000", at(self.hour));
        let status = Command::new("git")
            .args([
                "-c",
                "user.name=n",
                "-c",
                "user.email=e@example.org",
                "-c",
                "commit.gpgsign=false",
            ])
            .args(args)
            .current_dir(self.path())
            .env("GIT_COMMITTER_DATE", &date)
            .env("GIT_AUTHOR_DATE", &date)
            .status()
            .unwrap();
        assert!(status.success(), "git {args:?}");
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    /// Commits everything at the given hour.
    fn commit(&mut self, hour: i64) {
        self.hour = hour;
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "m"]);
    }
}

/// Hour 0 of these histories, in seconds; git refuses dates near 1970.
const HOUR_ZERO: i64 = 444_445 * 3_600;

fn at(hour: i64) -> i64 {
    HOUR_ZERO + hour * 3_600
}

const FILES: History = History { grain: Grain::File, site_depth: 1, from: None };

fn read(repository: &Repository, how: History) -> Trace {
    from_git(&[repository.path().to_owned()], how, &|_, _| {}).unwrap()
}

/// (first seen, last seen, updates) of every source, hours instead of seconds.
type Life = (Option<i64>, Option<i64>, Vec<(i64, Kind)>);

fn lives(trace: &Trace) -> Vec<Life> {
    let hours = |t: i64| (t - HOUR_ZERO) / 3_600;
    let life = |at: usize| {
        let source = trace.sources[at];
        let updates = trace.updates(at).iter().map(|&(t, kind)| (hours(t), kind)).collect();
        (source.first_seen.map(hours), source.last_seen.map(hours), updates)
    };
    (0..trace.sources.len()).map(life).collect()
}

#[test]
fn arrivals_changes_removals_and_returns() {
    let mut repository = Repository::new();
    repository.write("docs/a.md", "one");
    repository.write("docs/b.md", "b");
    repository.commit(1);
    repository.write("docs/a.md", "two");
    repository.commit(2);
    fs::remove_file(repository.path().join("docs/b.md")).unwrap();
    repository.commit(3);
    repository.write("docs/b.md", "back again");
    repository.commit(4);
    assert_eq!(
        lives(&read(&repository, FILES)),
        [
            (Some(1), None, vec![(1, Arrival), (2, Change)]),
            (Some(1), Some(3), vec![(1, Arrival), (3, Removal)]),
            (Some(4), None, vec![(4, Arrival)]),
        ]
    );
}

#[test]
fn a_rename_keeps_the_source() {
    let mut repository = Repository::new();
    repository.write("a/guide/x.md", "text");
    repository.write("b/y.md", "other");
    repository.commit(1);
    // same content, other name
    repository.git(&["mv", "b/y.md", "b/z.md"]);
    repository.commit(2);
    // same last two parts, other content
    repository.git(&["mv", "a", "c"]);
    repository.write("c/guide/x.md", "new text");
    repository.commit(3);
    assert_eq!(
        lives(&read(&repository, FILES)),
        [
            (Some(1), None, vec![(1, Arrival), (3, Change)]),
            (Some(1), None, vec![(1, Arrival), (2, Rename)]),
        ]
    );
}

#[test]
fn a_merge_counts_when_it_reaches_the_first_parent_line() {
    let mut repository = Repository::new();
    repository.write("a.md", "1");
    repository.commit(1);
    repository.git(&["checkout", "--quiet", "-b", "side"]);
    repository.write("a.md", "2");
    repository.commit(2);
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write("b.md", "1");
    repository.commit(3);
    repository.hour = 9;
    repository.git(&["merge", "--quiet", "--no-ff", "-m", "m", "side"]);
    let lives = lives(&read(&repository, FILES));
    assert_eq!(lives[0].2, [(1, Arrival), (9, Change)]);
}

#[test]
fn an_edit_of_most_of_a_site_is_a_bulk_change() {
    let mut repository = Repository::new();
    for page in 0..60 {
        repository.write(&format!("docs/{page}.md"), "old");
        repository.write(&format!("blog/{page}.md"), "old");
    }
    repository.commit(1);
    for page in 0..55 {
        repository.write(&format!("docs/{page}.md"), "new");
    }
    (0..10).for_each(|page| repository.write(&format!("blog/{page}.md"), "new"));
    repository.commit(2);
    let trace = read(&repository, FILES);
    let count =
        |kind| (0..120).filter(|&source| trace.updates(source).contains(&(at(2), kind))).count();
    assert_eq!((count(Kind::Bulk), count(Change)), (55, 10));
    assert_eq!(trace.sites.len(), 2);
    assert!(trace.sites.iter().any(|site| site.name.as_ref().unwrap().ends_with("/docs")));
}

#[test]
fn a_package_directory_is_one_source() {
    let mut repository = Repository::new();
    repository.write("devel/tool/Portfile", "1");
    repository.write("devel/tool/patch", "1");
    repository.write("lang/other/Portfile", "1");
    repository.commit(1);
    repository.write("devel/tool/patch", "2");
    repository.commit(2);
    fs::remove_file(repository.path().join("devel/tool/patch")).unwrap();
    repository.commit(3);
    repository.git(&["mv", "devel/tool", "lang/tool"]);
    repository.commit(4);
    repository.git(&["rm", "-r", "--quiet", "lang/other"]);
    repository.commit(5);
    let packages = History { grain: Grain::Package, ..FILES };
    let trace = read(&repository, packages);
    assert_eq!(
        lives(&trace),
        [
            (Some(1), None, vec![(1, Arrival), (2, Change), (3, Change), (4, Rename)]),
            (Some(1), Some(5), vec![(1, Arrival), (5, Removal)]),
        ]
    );
    assert_eq!(trace.sites.len(), 2);
}

#[test]
fn clocks_that_go_back_are_lifted_and_a_second_holds_one_of_a_kind() {
    let mut repository = Repository::new();
    repository.write("a.md", "1");
    repository.commit(5);
    repository.write("a.md", "2");
    repository.commit(3);
    repository.write("a.md", "3");
    repository.commit(3);
    let lives = lives(&read(&repository, FILES));
    assert_eq!(lives, [(Some(5), None, vec![(5, Arrival), (5, Change)])]);
}

#[test]
fn from_cuts_what_came_before() {
    let mut repository = Repository::new();
    repository.write("a.md", "1");
    repository.write("b.md", "1");
    repository.commit(1);
    fs::remove_file(repository.path().join("b.md")).unwrap();
    repository.commit(2);
    repository.write("a.md", "2");
    repository.commit(6);
    let trace = read(&repository, History { from: Some(at(4)), ..FILES });
    assert_eq!(lives(&trace), [(None, None, vec![(6, Change)])]);
}

/// chmod is no change of content.
#[test]
fn a_change_of_mode_is_no_change() {
    let mut repository = Repository::new();
    repository.write("a.sh", "1");
    repository.commit(1);
    repository.git(&["update-index", "--chmod=+x", "a.sh"]);
    repository.hour = 2;
    repository.git(&["commit", "--quiet", "--message", "m"]);
    assert_eq!(lives(&read(&repository, FILES))[0].2, [(1, Arrival)]);
}

/// Three thousand files move at once, half of them edited: seconds would mean a quadratic search.
#[test]
fn a_great_move_is_followed() {
    let mut repository = Repository::new();
    (0..3_000)
        .for_each(|page| repository.write(&format!("old/dir{page}/index.md"), &format!("{page}")));
    repository.commit(1);
    repository.git(&["mv", "old", "new"]);
    (0..1_500)
        .for_each(|page| repository.write(&format!("new/dir{page}/index.md"), &format!("{page}!")));
    repository.commit(2);
    let trace = read(&repository, FILES);
    let count = |kind| {
        (0..trace.sources.len()).filter(|&s| trace.updates(s).contains(&(at(2), kind))).count()
    };
    assert_eq!(
        (trace.sources.len(), count(Rename), count(Change) + count(Kind::Bulk)),
        (3_000, 1_500, 1_500)
    );
}

/// Names with spaces, quotes, line feeds and a leading colon are only bytes.
#[test]
fn odd_names_are_no_trouble_and_no_name_is_written() {
    let mut repository = Repository::new();
    for name in [": colon", "line\nfeed", "quote\".md", "ünï", "-dash"] {
        repository.write(&format!("d/{name}"), "1");
    }
    repository.commit(1);
    repository.commit(2);
    let trace = read(&repository, FILES);
    assert_eq!(trace.sources.len(), 5);
    let out = TempDir::new().unwrap();
    trace.write(out.path(), lab::trace::Format::Csv).unwrap();
    for file in ["sources.csv", "updates.csv"] {
        let text = fs::read_to_string(out.path().join(file)).unwrap();
        assert!(!text.contains("colon") && !text.contains("example.org"), "{text}");
    }
    assert_eq!(Trace::read(out.path()).unwrap(), trace);
}

#[test]
fn what_is_no_repository_is_said() {
    let empty = TempDir::new().unwrap();
    let problem = |path: PathBuf| from_git(&[path], FILES, &|_, _| {}).unwrap_err().to_string();
    assert!(problem(empty.path().to_owned()).contains("git cannot read a history here"));
    assert!(problem(empty.path().join("nowhere")).contains("is not a directory"));
    let mut repository = Repository::new();
    assert!(problem(repository.path().to_owned()).contains("no commits yet"));
    repository.write("docs/a.md", "1");
    repository.commit(1);
    for inside in ["docs", ".git"] {
        assert!(
            problem(repository.path().join(inside)).contains("lies inside a repository"),
            "{inside}"
        );
    }
}
