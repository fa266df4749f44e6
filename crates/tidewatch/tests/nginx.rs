//! The program whole, against nginx serving a site that is edited meanwhile: every edit the budget could catch is caught.
//!
//! Needs nginx: `cargo xtask test --full`.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use store::Reader;

const PAGES: usize = 20;
/// Every page is looked at about every half second, and edited every five.
const EDITS: usize = 60;

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn nginx(dir: &Path, port: u16) -> Running {
    let here = dir.display();
    let conf = format!(
        "daemon off; worker_processes 1; pid {here}/pid; error_log {here}/error.log;\n\
         events {{ worker_connections 256; }}\n\
         http {{ access_log off; client_body_temp_path {here}/t1; proxy_temp_path {here}/t2;\n\
         fastcgi_temp_path {here}/t3; uwsgi_temp_path {here}/t4; scgi_temp_path {here}/t5;\n\
         server {{ listen 127.0.0.1:{port}; root {here}/site; }} }}\n"
    );
    fs::write(dir.join("nginx.conf"), conf).unwrap();
    let child =
        Command::new("nginx").arg("-c").arg(dir.join("nginx.conf")).stderr(Stdio::null()).spawn();
    let running = Running(child.expect("nginx is installed"));
    let deadline = Instant::now() + Duration::from_secs(10);
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "nginx does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    running
}

fn write_page(dir: &Path, page: usize, edition: usize) {
    let body = format!(
        "<title>{page}</title><p>page {page} edition {edition}</p>{}",
        "<p>filler</p>".repeat(edition % 7)
    );
    let draft = dir.join("draft");
    fs::write(&draft, body).unwrap();
    fs::rename(&draft, dir.join(format!("site/{page}.html"))).unwrap();
}

#[test]
#[ignore = "needs nginx: cargo xtask test --full"]
fn every_edit_the_budget_could_catch_is_caught() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("site")).unwrap();
    (0..PAGES).for_each(|page| write_page(dir.path(), page, 0));
    let port = free_port();
    let _nginx = nginx(dir.path(), port);
    let sources: String = (0..PAGES)
        .map(|page| {
            format!("[[source]]\nurl = \"http://127.0.0.1:{port}/{page}.html\"\nevery = \"1s\"\n")
        })
        .collect();
    let toml = format!(
        "[budget]\npolls = \"60/s\"\nper_host_gap = \"0s\"\nper_host_parallel = 4\n\
         [fetch]\nallow = [\"127.0.0.1:{port}\"]\n[store]\ndir = \"{}\"\n{sources}",
        dir.path().join("data").display()
    );
    let config = dir.path().join("tidewatch.toml");
    fs::write(&config, toml).unwrap();
    let _daemon = Running(
        Command::new(assert_cmd::cargo::cargo_bin!("tidewatch"))
            .args(["run", "--quiet", "--config"])
            .arg(&config)
            .spawn()
            .unwrap(),
    );
    std::thread::sleep(Duration::from_secs(4));
    let mut editions: BTreeMap<usize, usize> = BTreeMap::new();
    for edit in 0..EDITS {
        let page = edit % PAGES;
        let edition = editions.entry(page).or_default();
        *edition += 1;
        write_page(dir.path(), page, *edition);
        std::thread::sleep(Duration::from_millis(150));
    }
    std::thread::sleep(Duration::from_secs(3));
    let reader = Reader::open(dir.path().join("data")).unwrap();
    for source in reader.sources().unwrap() {
        let versions = reader.versions(source.id, None, 100).unwrap();
        let texts: Vec<String> = versions
            .iter()
            .rev()
            .map(|version| reader.text(version.id).unwrap().unwrap())
            .collect();
        assert_eq!(versions.len(), 1 + EDITS / PAGES, "{}: {texts:?}", source.url);
        for (edition, text) in texts.iter().enumerate() {
            assert!(text.contains(&format!("edition {edition}")), "{}: {texts:?}", source.url);
        }
    }
}
