//! The live engine against nginx: polls per second and core, memory, start-up, idling.
//!
//! `cargo bench -p tidewatch --bench live` (needs nginx); figures in `docs/speed.md`. Rates are per second of this
//! process's CPU time, nginx's own not counted, so that a busy machine hurts them little.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail as a test does")]
#![expect(clippy::print_stdout, reason = "it is its result")]

#[path = "../tests/common/nginx.rs"]
mod server;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use server::Nginx;
use tidewatch::clock::Clock;
use tidewatch::config;
use tidewatch::daemon::wish::Wish;
use tidewatch::daemon::{Core, Message};
use tidewatch::source::Wanted;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PAGES: usize = 2_000;
const SECONDS: u64 = 8;
const MANY: usize = 100_000;

/// 7 KB pages; under `/same` with an ETag, under `/new` with another number in every answer.
fn serve(dir: &Path) -> Nginx {
    fs::create_dir_all(dir.join("site")).unwrap();
    let paragraph =
        "<p>Words that stand on a page and say a little about something or other.</p>\n";
    let page = format!(
        "<html><head><title>Page</title></head><body><h1>EDITION</h1>{}</body></html>",
        paragraph.repeat(92)
    );
    fs::write(dir.join("site/page.html"), page).unwrap();
    Nginx::start(
        dir,
        "location /same { rewrite ^ /page.html break; }
         location /new { rewrite ^ /page.html break; sub_filter EDITION $request_id; }",
    )
}

/// CPU seconds this process has used.
fn cpu() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}

/// Megabytes this process holds.
fn memory() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}

fn open(dir: &Path, toml: &str, runtime: &tokio::runtime::Runtime) -> Core {
    let mut config = config::parse(toml).unwrap().check().unwrap();
    dir.clone_into(&mut config.dir);
    Core::open(Arc::new(config), runtime.handle().clone(), |last| Arc::new(Clock::wall(last)))
        .unwrap()
}

fn settings(port: u16) -> String {
    format!(
        "[budget]\npolls = \"1000000/s\"\nburst = 100000\nper_host_gap = \"0s\"\nper_host_parallel = 64\nparallel = 64\n\
         [policy]\nname = \"round-robin\"\n[fetch]\nrobots = false\nallow = [\"127.0.0.1:{port}\"]\n"
    )
}

/// Runs for a while; polls, and CPU seconds they took.
fn poll(dir: &Path, port: u16, kind: &str, runtime: &tokio::runtime::Runtime) -> (u64, f64, u64) {
    let mut core = open(dir, &settings(port), runtime);
    let wanted =
        (0..PAGES).map(|page| Wanted::address(&format!("http://127.0.0.1:{port}/{kind}/{page}")));
    let now = core.now();
    core.grant(now, &Wish::Add(wanted.collect()), "bench");
    // the first look at every page is not what is measured
    let inbox = core.inbox();
    let mut start: Option<(Instant, f64, u64, u64)> = None;
    loop {
        let messages = core.messages();
        if messages.is_empty() {
            std::thread::sleep(Duration::from_micros(200));
        }
        core.turn(messages).unwrap();
        let books = &core.memory().books;
        match start {
            None if books.polls >= PAGES as u64 * 2 => {
                start = Some((Instant::now(), cpu(), books.polls, books.changed));
            }
            Some((at, used, polls, changed)) if at.elapsed() >= Duration::from_secs(SECONDS) => {
                let result = (books.polls - polls, cpu() - used, books.changed - changed);
                inbox.put(Message::Stop);
                core.run().unwrap();
                return result;
            }
            _ => {}
        }
    }
}

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let nginx = serve(dir.path());
    let port = nginx.port;
    for (kind, what) in [("same", "unchanged (304)"), ("new", "changed, 7 KB HTML")] {
        let (polls, cpu, changed) = poll(&dir.path().join(kind), port, kind, &runtime);
        println!(
            "{what:<22} {polls:>8} polls, {changed:>7} changes, {cpu:>6.2} CPU s  → {:>7.0} polls/s/core, {:>6.0} polls/s",
            polls as f64 / cpu,
            polls as f64 / SECONDS as f64
        );
    }
    let many = dir.path().join("many");
    let idle = "[budget]\npolls = \"1/h\"\nburst = 1\n";
    let mut core = open(&many, idle, &runtime);
    let now = core.now();
    for start in (0..MANY).step_by(1_000) {
        let wanted = (start..start + 1_000)
            .map(|page| Wanted::address(&format!("https://host-{}.example/{page}", page % 5_000)));
        core.grant(now, &Wish::Add(wanted.collect()), "bench");
    }
    drop(core);
    let (before, began) = (memory(), Instant::now());
    let core = open(&many, idle, &runtime);
    let first = began.elapsed();
    println!(
        "start, 100,000 sources {:>8.0} ms, {:.0} MB more than before",
        first.as_secs_f64() * 1e3,
        memory() - before
    );
    let inbox = core.inbox();
    let (before, began) = (cpu(), Instant::now());
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(10));
        inbox.put(Message::Stop);
    });
    core.run().unwrap();
    println!(
        "idle, 100,000 sources  {:>8.2} % of a core",
        100.0 * (cpu() - before) / began.elapsed().as_secs_f64()
    );
}
