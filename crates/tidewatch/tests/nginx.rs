//! The program whole, against nginx serving a site that is edited meanwhile: every edit the budget could catch is caught.
//!
//! Needs nginx: `cargo xtask test --full`.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

#[path = "common/nginx.rs"]
mod server;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use server::Nginx;
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
    let nginx = Nginx::start(dir.path(), "");
    let port = nginx.port;
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
