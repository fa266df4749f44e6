//! The engine whole, with a manual clock, against a real server on loopback.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

mod common;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Site, config};
use schedule::journal::Choice;
use schedule::{SourceIx, Span, Time};
use store::{Found, Reader, Source};
use tidewatch::clock::Clock;
use tidewatch::daemon::memory::{self, Memory};
use tidewatch::daemon::wish::{Granted, Wish};
use tidewatch::daemon::{Core, Message};
use tidewatch::source::Wanted;
use tokio::runtime::Runtime;

/// Monday morning.
const START: Time = Time::from_secs(1_790_000_000);

const QUICK: &str = "[budget]\npolls = \"3600/h\"\nburst = 3\nper_host_gap = \"1s\"\n";

struct Rig {
    core: Core,
    clock: Arc<Clock>,
}

fn open(dir: &Path, toml: &str, runtime: &Runtime, at: Time) -> Rig {
    let clock = Arc::new(Clock::manual(at));
    let own = Arc::clone(&clock);
    let config = Arc::new(config(dir, toml));
    let core = Core::open(config, runtime.handle().clone(), move |_| own).unwrap();
    Rig { core, clock }
}

impl Rig {
    /// Turns until nothing is under way.
    fn settle(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let messages = self.core.messages();
            self.core.turn(messages).unwrap();
            if self.core.flying() == 0 {
                return;
            }
            assert!(Instant::now() < deadline, "a poll never ended");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn pass(&mut self, secs: i64) {
        for _ in 0..secs {
            self.clock.advance(Span::from_secs(1));
            self.settle();
        }
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn source(reader: &Reader, url: &str) -> Source {
    match reader.find(url).unwrap() {
        Found::One(source) => *source,
        _ => panic!("{url} is not watched"),
    }
}

/// The proof (ARCHITECTURE.md): live and replayed, the same choices in the same order, under every kind of policy.
#[test]
fn a_replayed_journal_makes_the_same_choices() {
    for policy in [
        "value",
        "value\"\nobjective = \"age",
        "value\"\nobjective = \"utility",
        "round-robin",
        "greedy(samples=2)",
        "frequency",
        "wic",
        "timed(period=1m,polls=8)",
    ] {
        let (runtime, dir) = (runtime(), tempfile::tempdir().unwrap());
        let site = Site::start(9, false, &runtime);
        let worth = "[defaults]\nurgency = \"half-life 30s\"\nlife = \"last 3\"\n";
        let toml = format!("{QUICK}{worth}[policy]\nname = \"{policy}\"\ncycle = \"10s\"\n");
        let toml = site.toml(&toml);
        let mut rig = open(dir.path(), &toml, &runtime, START);
        for second in 0..70 {
            if second % 3 == 0 {
                site.edit(second % 9);
            }
            rig.pass(1);
        }
        let (live, now) = (rig.core.memory().to_snapshot().unwrap(), rig.core.now());
        drop(rig);
        let reader = Reader::open(dir.path()).unwrap();
        let choices = memory::choices(&reader).unwrap();
        assert!(choices.len() > 30, "{policy}: only {} polls", choices.len());
        for choice in &choices {
            assert!(choice.agrees(), "{policy}: {choice:?}");
        }
        let mut replayed = Memory::load(&reader).unwrap().unwrap();
        // hosts open when somebody asks
        replayed.scheduler.next(now);
        assert!(
            replayed.to_snapshot().unwrap() == live,
            "{policy}: the fold differs from the live state"
        );
    }
}

/// A page edited at second 20 of every minute: `timed` finds the second, lives by it, replays alike, keeps its plan through a
/// change of budget, and `plan times` says the same of the store.
#[test]
fn timed_finds_the_second_of_the_minute() {
    let (runtime, dir) = (runtime(), tempfile::tempdir().unwrap());
    let site = Site::start(1, false, &runtime);
    let policy = "[policy]\nname = \"timed(period=1m,grid=1s,polls=6)\"\ncycle = \"20s\"\n";
    let toml = site.toml(&format!("{QUICK}{policy}"));
    let start = Time::from_secs(1_790_000_040);
    let mut rig = open(dir.path(), &toml, &runtime, start);
    let minutes = |rig: &mut Rig, minutes: i64| {
        for second in 1..=60 * minutes {
            rig.pass(1);
            if second % 60 == 20 {
                site.edit(0);
            }
        }
    };
    assert_eq!(start.micros() % 60_000_000, 0);
    minutes(&mut rig, 16);
    let page = SourceIx::FIRST;
    let why = |rig: &Rig| rig.core.memory().scheduler.why(page, rig.core.now()).because;
    assert!(why(&rig).starts_with("planned after"), "{}", why(&rig));
    drop(rig);

    let reader = Reader::open(dir.path()).unwrap();
    let choices = memory::choices(&reader).unwrap();
    assert!(choices.len() > 80 && choices.iter().all(Choice::agrees), "{} polls", choices.len());
    drop(reader);
    let output = Command::new(assert_cmd::cargo::cargo_bin!("tidewatch"))
        .current_dir(dir.path())
        .env_remove("TIDEWATCH_CONFIG")
        .args(["plan", "times", "s_1", "--period", "1m", "--grid", "1s", "--polls", "3", "--json"])
        .args(["--data", dir.path().to_str().unwrap()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let plans: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let at: Vec<f64> = plans[0]["at_seconds"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(serde_json::Value::as_f64)
        .collect();
    assert!(at.iter().any(|at| (20.0..=27.0).contains(at)), "{plans}");
    let [expected, held_out] = ["expected", "held_out"].map(|key| &plans[0]["choices"][1][key]);
    for versus in [expected, held_out] {
        let [planned, even] =
            ["delay_seconds", "uniform_delay_seconds"].map(|key| versus[key].as_f64().unwrap());
        assert!(planned < even, "{plans}");
    }

    let faster = toml.replace("3600/h", "1800/h");
    let rig = open(dir.path(), &faster, &runtime, start + Span::from_secs(970));
    assert!(why(&rig).starts_with("planned after"), "{}", why(&rig));
}

#[test]
fn an_edit_becomes_a_version_and_an_event_and_a_304_keeps_the_version() {
    let (runtime, dir) = (runtime(), tempfile::tempdir().unwrap());
    let site = Site::start(1, false, &runtime);
    let events = dir.path().join("events.jsonl");
    let toml = site.toml(&format!("{QUICK}[events]\nfile = \"{}\"\n", events.display()));
    let mut rig = open(dir.path(), &toml, &runtime, START);
    rig.pass(5);
    site.edit(0);
    rig.pass(5);
    let reader = Reader::open(dir.path()).unwrap();
    let page = source(&reader, &site.url(0));
    let versions = reader.versions(page.id, None, 10).unwrap();
    assert_eq!(versions.len(), 2, "looks that saw nothing new made no version");
    assert_eq!(reader.text(versions[0].id).unwrap().unwrap().trim(), "Edition 1");
    assert_eq!(page.state.verdict.as_deref(), Some("same"));
    // the deliveries are real work: give them a moment
    let deadline = Instant::now() + Duration::from_secs(10);
    let lines = loop {
        rig.settle();
        let lines = std::fs::read_to_string(&events).unwrap();
        if lines.lines().count() >= 2 || Instant::now() > deadline {
            break lines;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let events: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events[0]["type"], "source.first_seen");
    assert_eq!(events[1]["type"], "source.changed");
    assert_eq!(events[1]["version"]["to"], format!("v_{}", versions[0].id.0));
    assert_eq!(events[1]["version"]["from"], format!("v_{}", versions[1].id.0));
    assert!(events[1]["change"]["diff"].as_str().unwrap().contains("+Edition 1"), "{}", events[1]);
    assert!(events[1]["id"].as_str() > events[0]["id"].as_str(), "ids sort by time");
}

#[test]
fn a_page_that_goes_and_comes_back_is_told_once_each() {
    let (runtime, dir) = (runtime(), tempfile::tempdir().unwrap());
    let site = Site::start(1, false, &runtime);
    let toml = site.toml(QUICK) + "every = \"2s\"\n";
    let mut rig = open(dir.path(), &toml, &runtime, START);
    rig.pass(5);
    site.take_down(0);
    rig.pass(7);
    site.put_back(0);
    rig.pass(5);
    let reader = Reader::open(dir.path()).unwrap();
    let kinds: Vec<String> =
        reader.events(0, 100).unwrap().into_iter().map(|event| event.kind).collect();
    assert_eq!(kinds, ["source.first_seen", "source.gone", "source.back"]);
}

/// A poll under way at a crash was charged, counts as lost, and is asked again; nothing else is lost or doubled.
#[test]
fn a_restart_goes_on_where_the_journal_ends() {
    let (runtime, dir) = (runtime(), tempfile::tempdir().unwrap());
    let site = Site::start(4, false, &runtime);
    let toml = site.toml(QUICK);
    let mut rig = open(dir.path(), &toml, &runtime, START);
    rig.pass(6);
    rig.clock.advance(Span::from_secs(1));
    rig.core.turn(Vec::new()).unwrap();
    assert_eq!(rig.core.flying(), 1, "a poll is under way");
    let polls = rig.core.memory().books.polls;
    drop(rig);

    let mut rig = open(dir.path(), &toml, &runtime, START + Span::from_secs(8));
    let books = &rig.core.memory().books;
    assert_eq!((books.polls, books.lost, books.flights.len()), (polls, 1, 0));
    rig.pass(4);
    let reader = Reader::open(dir.path()).unwrap();
    assert!(memory::choices(&reader).unwrap().iter().all(schedule::journal::Choice::agrees));
    for page in 0..4 {
        assert_eq!(reader.versions(source(&reader, &site.url(page)).id, None, 9).unwrap().len(), 1);
    }
}

/// After a long sleep no more is fired than the burst allows.
#[test]
fn a_clock_that_jumps_causes_no_storm() {
    let (runtime, dir) = (runtime(), tempfile::tempdir().unwrap());
    let site = Site::start(12, false, &runtime);
    let toml = site.toml(
        "[budget]\npolls = \"3600/h\"\nburst = 3\nper_host_gap = \"0s\"\nper_host_parallel = 9\n",
    );
    let mut rig = open(dir.path(), &toml, &runtime, START);
    rig.pass(20);
    let before = site.requests();
    rig.clock.advance(Span::DAY.times(30));
    rig.settle();
    assert!(site.requests() - before <= 3, "{} at once", site.requests() - before);
}

#[test]
fn a_pinned_source_keeps_its_interval() {
    let (runtime, dir) = (runtime(), tempfile::tempdir().unwrap());
    let site = Site::start(5, false, &runtime);
    let toml = site.toml(QUICK) + "every = \"10s\"\n";
    let mut rig = open(dir.path(), &toml, &runtime, START);
    rig.pass(61);
    let reader = Reader::open(dir.path()).unwrap();
    let pinned = source(&reader, &site.url(4));
    let sent = reader.history(pinned.id, None, 1000).unwrap();
    let polls = sent.iter().filter(|entry| entry.kind == store::Kind::Sent).count();
    assert!((6..=7).contains(&polls), "{polls} polls in a minute");
}

#[test]
fn a_change_of_policy_and_budget_keeps_what_was_learned() {
    let (runtime, dir) = (runtime(), tempfile::tempdir().unwrap());
    let site = Site::start(3, false, &runtime);
    let mut rig = open(dir.path(), &site.toml(QUICK), &runtime, START);
    for _ in 0..10 {
        site.edit(0);
        rig.pass(3);
    }
    let rate =
        |core: &Core| core.memory().scheduler.why(schedule::SourceIx::FIRST, core.now()).belief;
    let learned = rate(&rig.core).unwrap();
    drop(rig);
    let slow = site.toml("[budget]\npolls = \"60/h\"\n[policy]\nname = \"round-robin\"\n");
    let rig = open(dir.path(), &slow, &runtime, START + Span::from_secs(60));
    assert_eq!(rate(&rig.core), Some(learned));
    let left = rig.core.memory().scheduler.left_to_spend(rig.core.now());
    assert!(left <= 3.0, "no more saved up than before: {left}");
    drop(rig);
    let reader = Reader::open(dir.path()).unwrap();
    assert!(memory::choices(&reader).unwrap().iter().all(schedule::journal::Choice::agrees));
}

/// Another rule is another baseline: no event, nothing learned from the difference.
#[test]
fn an_edited_rule_makes_no_change_out_of_nothing() {
    let (runtime, dir) = (runtime(), tempfile::tempdir().unwrap());
    let site = Site::start(1, false, &runtime);
    let mut rig = open(dir.path(), &site.toml(QUICK), &runtime, START);
    rig.pass(4);
    drop(rig);
    let toml = site.toml(QUICK) + "select = \"main p\"\n";
    let mut rig = open(dir.path(), &toml, &runtime, START + Span::from_secs(10));
    rig.pass(4);
    let reader = Reader::open(dir.path()).unwrap();
    assert_eq!(reader.sources().unwrap().len(), 1, "edited, not added");
    assert_eq!(rig.core.memory().books.changed, 0);
    assert!(reader.events(0, 9).unwrap().iter().all(|event| event.kind == "source.first_seen"));
}

#[test]
fn wishes_of_others_are_granted_while_it_runs() {
    let (runtime, dir) = (runtime(), tempfile::tempdir().unwrap());
    let site = Site::start(2, false, &runtime);
    let mut rig = open(dir.path(), &site.toml(QUICK), &runtime, START);
    rig.pass(1);
    let add = Wish::Add(vec![Wanted::address("http://127.0.0.9:9/new")]);
    let id =
        store::ask(dir.path(), store::Micros(0), &serde_json::to_string(&add).unwrap()).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    rig.settle();
    let reader = Reader::open(dir.path()).unwrap();
    let granted: Granted = serde_json::from_str(&reader.answer(id).unwrap().unwrap()).unwrap();
    let Granted::Added(added) = granted else { panic!("{granted:?}") };
    assert_eq!(added[0].id, 3);
    // an address behind the guard is never asked, and says so
    rig.pass(3);
    let outcome = source(&reader, "127.0.0.9").state.outcome.unwrap();
    assert!(outcome.starts_with("guard"), "{outcome}");
    let now = rig.core.now();
    assert_eq!(rig.core.grant(now, &Wish::Remove(vec![3]), "cli"), Granted::Removed(1));
    assert_eq!(rig.core.grant(now, &Wish::Remove(vec![3]), "cli"), Granted::Removed(0));
}

#[test]
fn asked_to_stop_it_ends_and_remembers() {
    let (runtime, dir) = (runtime(), tempfile::tempdir().unwrap());
    let site = Site::start(3, false, &runtime);
    let mut rig = open(dir.path(), &site.toml(QUICK), &runtime, START);
    rig.pass(3);
    rig.core.inbox().put(Message::Stop);
    let n = rig.core.memory().books.n;
    rig.core.run().unwrap();
    let reader = Reader::open(dir.path()).unwrap();
    let memory = Memory::load(&reader).unwrap().unwrap();
    assert_eq!(memory.books.n, n, "the snapshot stands for the whole journal");
}

/// SA-09, live: of forty objects one is replaced every two hours; the copy is to hold nine tenths of them, with 90 %
/// confidence. The collection is looked at when that is foretold to end, not before and not much later; a restart
/// changes nothing, and the journal replays to the same choices.
#[test]
fn a_collection_is_synced_when_its_quality_reaches_its_target() {
    let (runtime, dir) = (runtime(), tempfile::tempdir().unwrap());
    let site = Site::start(1, false, &runtime);
    let collection = format!(
        "[[collection]]\nurl = \"{}/jobs\"\nitems = \"$.jobs[*]\"\nkey = \"$.id\"\ncategory = \"$.team\"\n\
         target = {{ recall = 0.9, confidence = 0.9 }}\n",
        site.url(0)
    );
    let fetch = format!("[fetch]\nrobots = false\nallow = [\"{}\"]\n", site.address);
    let toml = format!("{QUICK}{fetch}{collection}");
    let mut rig = open(dir.path(), &toml, &runtime, START);
    let run = |rig: &mut Rig, hours: usize| {
        for step in 0..hours * 6 {
            rig.clock.advance(Span::from_secs(600));
            if step % 12 == 11 {
                site.edit(0);
            }
            rig.settle();
        }
    };
    run(&mut rig, 24 * 8);
    let now = rig.core.now();
    drop(rig);
    let mut rig = open(dir.path(), &toml, &runtime, now);
    run(&mut rig, 24 * 4);
    drop(rig);
    let reader = Reader::open(dir.path()).unwrap();
    let jobs = source(&reader, "jobs");
    let mirror = tidewatch::collection::Mirror::load(&reader, jobs.id).unwrap();
    let looks = mirror.forecaster().collection().looks();
    // an hour apart at first; later it takes about eight hours until four of forty are new
    let later = &looks[looks.len() / 2..];
    let mean = later.iter().map(|look| look.gap * 24.0).sum::<f64>() / later.len() as f64;
    assert!((3.0..9.0).contains(&mean), "{mean} hours between looks");
    let kept = later.iter().filter(|look| look.overlap.recall().unwrap() >= 0.9).count();
    assert!(kept * 10 >= later.len() * 8, "{kept} of {} looks", later.len());
    let (told, covered) = mirror.forecaster().record(dynamics::quality::Metric::Recall);
    assert!(told > 20 && covered * 10 > told * 7, "{covered} of {told}");
    for choice in memory::choices(&reader).unwrap() {
        assert!(choice.agrees(), "{choice:?}");
    }
}

/// Another target or tag changes when a collection is looked at, not what is known of it; other objects do.
#[test]
fn an_edited_target_keeps_what_was_listed() {
    let (runtime, dir) = (runtime(), tempfile::tempdir().unwrap());
    let site = Site::start(1, false, &runtime);
    let toml = |items: &str, recall: f64, tags: &str| {
        format!(
            "{QUICK}[fetch]\nrobots = false\nallow = [\"{}\"]\n[[collection]]\nurl = \"{}/jobs\"\n\
             items = \"{items}\"\nkey = \"$.id\"\ntarget = {{ recall = {recall} }}\ntags = [{tags}]\n",
            site.address,
            site.url(0)
        )
    };
    let looks = || {
        let reader = Reader::open(dir.path()).unwrap();
        reader.looks(source(&reader, "jobs").id).unwrap().len()
    };
    let mut rig = open(dir.path(), &toml("$.jobs[*]", 0.9, ""), &runtime, START);
    for _ in 0..5 {
        site.edit(0);
        rig.clock.advance(Span::from_secs(3_601));
        rig.settle();
    }
    let (now, seen) = (rig.core.now(), looks());
    assert!(seen >= 3, "{seen} looks");
    drop(rig);
    for (recall, tags) in [(0.95, ""), (0.95, "\"work\"")] {
        let rig = open(dir.path(), &toml("$.jobs[*]", recall, tags), &runtime, now);
        assert_eq!(looks(), seen);
        let source = schedule::SourceIx::FIRST;
        let why = rig.core.memory().scheduler.why(source, rig.core.now());
        assert!(why.because.contains("a collection with a target"), "{}", why.because);
    }
    drop(open(dir.path(), &toml("$.jobs[0:10]", 0.95, ""), &runtime, now));
    assert_eq!(looks(), 0);
    let reader = Reader::open(dir.path()).unwrap();
    assert!(memory::choices(&reader).unwrap().iter().all(schedule::journal::Choice::agrees));
}
