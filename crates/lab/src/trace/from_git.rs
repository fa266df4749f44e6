//! A trace out of git histories, so that anyone can test policies on real data of their own.
//!
//! A file (or the directory of a package) is a source, a directory (or the repository) a site, and the
//! moment a commit reaches the first-parent line of the checked-out branch an update. Only times, ids and
//! directory names are kept: no authors, no messages, no contents, no file names.
//!
//! * First commits are arrivals, never changes. A file that comes back later is a new source.
//! * A file deleted and one added in the same commit are one source, renamed, if they have the same content
//!   or the same last two parts of the path (for packages: the same files, or the same directory name).
//! * A commit that changes at least 50 and at least 30 % of a site's sources is a bulk change there.
//! * Committer dates that go back are lifted to the latest before them: nothing is published before its
//!   parent.
//!
//! Git itself reads the history (`git log --raw`), object names only; no file is opened.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use xxhash_rust::xxh3::xxh3_64;

use super::{Error, Kind, Site, Source, Trace};

/// What a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// Each file.
    File,
    /// Each directory that holds files, as package trees have them.
    Package,
}

/// How to read a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History {
    /// What a source is.
    pub grain: Grain,
    /// How many leading directories name a site; 0: the repository is one site.
    pub site_depth: usize,
    /// Only updates after this second; sources older than it existed before.
    pub from: Option<i64>,
}

const BULK_LEAST: usize = 50;
const BULK_SHARE: f64 = 0.3;

/// Reads the histories of `repositories`; `tick` is called after every commit with how many are to come.
pub fn from_git(
    repositories: &[PathBuf],
    how: History,
    tick: &dyn Fn(u64, u64),
) -> Result<Trace, Error> {
    let mut maker = Maker { how, sites: Vec::new(), pages: Vec::new() };
    for path in repositories {
        let total = count_commits(path)?;
        let mut reader = Log::open(path)?;
        let mut repository = Repository::new(path);
        let mut done = 0;
        while let Some(commit) = reader.next_commit()? {
            repository.apply(&mut maker, &commit);
            done += 1;
            tick(done, total);
        }
        reader.close()?;
        repository.close(&mut maker);
    }
    Ok(maker.finish())
}

/// Sites and sources of all repositories so far.
struct Maker {
    how: History,
    sites: Vec<Site>,
    pages: Vec<Page>,
}

struct Page {
    site: usize,
    first_seen: i64,
    last_seen: Option<i64>,
    updates: Vec<(i64, Kind)>,
}

impl Page {
    fn update(&mut self, t: i64, kind: Kind) {
        let tied = self.updates.iter().rev().take_while(|&&(at, _)| at == t);
        if tied.into_iter().all(|&(_, other)| other != kind) {
            self.updates.push((t, kind));
        }
    }
}

impl Maker {
    fn finish(self) -> Trace {
        let from = self.how.from.unwrap_or(i64::MIN);
        let ended_before = |page: &Page| page.last_seen.is_some_and(|last| last <= from);
        let pages = self.pages.into_iter().filter(|page| !ended_before(page)).enumerate();
        let sources = pages.map(|(id, page)| {
            let site = number(page.site);
            let first_seen = Some(page.first_seen).filter(|&first| first > from);
            let source =
                Source { id: number(id), site, host: site, first_seen, last_seen: page.last_seen };
            (source, page.updates.into_iter().filter(|&(t, _)| t > from).collect())
        });
        let sources: Vec<(Source, Vec<(i64, Kind)>)> = sources.collect();
        let mut sites = self.sites;
        sites.iter_mut().for_each(|site| site.start = site.start.max(from).min(site.end));
        Trace::of(sites, sources)
    }
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// One line of `git log --raw`: a path before and after.
struct Touch {
    path: Vec<u8>,
    /// Hashes of the object's name; `None` where the file is not there.
    before: Option<u64>,
    after: Option<u64>,
}

struct Commit {
    t: i64,
    touches: Vec<Touch>,
}

/// The state of one repository's tree as the history goes on.
struct Repository {
    name: String,
    /// Files that make up each live source, by its key.
    live: HashMap<Vec<u8>, Live>,
    sites: HashMap<Vec<u8>, usize>,
    site_sizes: HashMap<usize, usize>,
    first: Option<i64>,
    latest: i64,
}

struct Live {
    page: usize,
    files: usize,
}

/// What one commit did to one source.
#[derive(Default)]
struct Fate {
    added: usize,
    removed: usize,
    modified: usize,
    /// Order-free digests of the (file name, content) pairs removed and added.
    removed_digest: u64,
    added_digest: u64,
}

impl Repository {
    fn new(path: &Path) -> Self {
        let full = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let name = full
            .file_name()
            .map_or_else(|| "repository".to_owned(), |name| name.to_string_lossy().into_owned());
        Self {
            name,
            live: HashMap::new(),
            sites: HashMap::new(),
            site_sizes: HashMap::new(),
            first: None,
            latest: 0,
        }
    }

    fn apply(&mut self, maker: &mut Maker, commit: &Commit) {
        let t = commit.t.max(self.latest);
        self.latest = t;
        self.first.get_or_insert(t);
        let fates = fates(maker.how.grain, &commit.touches);
        let (mut gone, mut come) = (Vec::new(), Vec::new());
        let mut changed: Vec<usize> = Vec::new();
        for (key, fate) in &fates {
            let files = self.live.get(key).map_or(0, |live| live.files);
            let left = (files + fate.added).saturating_sub(fate.removed);
            match (files > 0, left > 0) {
                (true, true) => {
                    if let Some(live) = self.live.get_mut(key) {
                        live.files = left;
                        changed.push(live.page);
                    }
                }
                (true, false) => gone.push(key),
                (false, true) => come.push((key, left)),
                (false, false) => {}
            }
        }
        let mut renames = Renames::of(&fates, &gone);
        let mut arrivals = Vec::new();
        for (key, files) in come {
            let Some(old) = renames.source_of(&fates, key) else {
                arrivals.push((key, files));
                continue;
            };
            if let Some(Live { page, .. }) = self.live.remove(old) {
                self.live.insert(key.clone(), Live { page, files });
                if fates[old].removed_digest == fates[key].added_digest {
                    maker.pages[page].update(t, Kind::Rename);
                } else {
                    changed.push(page);
                }
            }
        }
        self.record_changes(maker, t, &changed);
        for key in gone.into_iter().filter(|key| !renames.used.contains(key)) {
            if let Some(Live { page, .. }) = self.live.remove(key) {
                maker.pages[page].update(t, Kind::Removal);
                maker.pages[page].last_seen = Some(t);
                *self.site_sizes.entry(maker.pages[page].site).or_default() -= 1;
            }
        }
        for (key, files) in arrivals {
            let site = self.site_of(maker, key);
            *self.site_sizes.entry(site).or_default() += 1;
            self.live.insert(key.clone(), Live { page: maker.pages.len(), files });
            maker.pages.push(Page {
                site,
                first_seen: t,
                last_seen: None,
                updates: vec![(t, Kind::Arrival)],
            });
        }
    }

    fn record_changes(&self, maker: &mut Maker, t: i64, changed: &[usize]) {
        let mut per_site: HashMap<usize, usize> = HashMap::new();
        for &page in changed {
            *per_site.entry(maker.pages[page].site).or_default() += 1;
        }
        for &page in changed {
            let site = maker.pages[page].site;
            let (touched, size) =
                (per_site[&site], self.site_sizes.get(&site).copied().unwrap_or(0));
            let bulk = touched >= BULK_LEAST && touched as f64 >= BULK_SHARE * size as f64;
            maker.pages[page].update(t, if bulk { Kind::Bulk } else { Kind::Change });
        }
    }

    fn site_of(&mut self, maker: &mut Maker, key: &[u8]) -> usize {
        let directory = match maker.how.grain {
            Grain::File => key.iter().rposition(|&b| b == b'/').map_or(&[][..], |at| &key[..at]),
            Grain::Package => key,
        };
        let parts: Vec<&[u8]> =
            directory.split(|&b| b == b'/').filter(|part| !part.is_empty()).collect();
        // a package is not its own site: its parents are
        let most = if maker.how.grain == Grain::Package {
            parts.len().saturating_sub(1)
        } else {
            parts.len()
        };
        let prefix = parts[..maker.how.site_depth.min(most)].join(&b'/');
        *self.sites.entry(prefix).or_insert_with_key(|prefix| {
            let name = match String::from_utf8_lossy(prefix) {
                dir if dir.is_empty() => self.name.clone(),
                dir => format!("{}/{dir}", self.name),
            };
            maker.sites.push(Site {
                id: number(maker.sites.len()),
                start: 0,
                end: 0,
                name: Some(name),
            });
            maker.sites.len() - 1
        })
    }

    /// All of a repository's sites were observed from its first commit to its last.
    fn close(self, maker: &mut Maker) {
        for site in self.sites.into_values() {
            maker.sites[site].start = self.first.unwrap_or(0);
            maker.sites[site].end = self.latest;
        }
    }
}

/// Groups what a commit touched by source, in order of key.
fn fates(grain: Grain, touches: &[Touch]) -> BTreeMap<Vec<u8>, Fate> {
    let mut fates: BTreeMap<Vec<u8>, Fate> = BTreeMap::new();
    // a commit that only changes a file's mode publishes nothing new
    for Touch { path, before, after } in touches.iter().filter(|touch| touch.before != touch.after)
    {
        let split = path.iter().rposition(|&b| b == b'/');
        let name = split.map_or(&path[..], |at| &path[at + 1..]);
        let key = match grain {
            Grain::File => path.clone(),
            Grain::Package => split.map_or_else(|| b".".to_vec(), |at| path[..at].to_vec()),
        };
        // a file's own name may change in a rename; a package's files keep theirs
        let label = if grain == Grain::Package { xxh3_64(name) } else { 0 };
        let digest = |object: u64| (object ^ label).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let fate = fates.entry(key).or_default();
        match (before, after) {
            (None, Some(object)) => {
                fate.added += 1;
                fate.added_digest = fate.added_digest.wrapping_add(digest(*object));
            }
            (Some(object), None) => {
                fate.removed += 1;
                fate.removed_digest = fate.removed_digest.wrapping_add(digest(*object));
            }
            _ => fate.modified += 1,
        }
    }
    fates.retain(|_, fate| fate.added + fate.removed + fate.modified > 0);
    fates
}

/// Which of the sources gone in a commit live on under another key: same content first, else same ending.
struct Renames<'a> {
    by_content: HashMap<u64, Vec<&'a Vec<u8>>>,
    by_ending: HashMap<&'a [u8], Vec<&'a Vec<u8>>>,
    used: HashSet<&'a Vec<u8>>,
}

impl<'a> Renames<'a> {
    fn of(fates: &BTreeMap<Vec<u8>, Fate>, gone: &[&'a Vec<u8>]) -> Self {
        let mut renames =
            Self { by_content: HashMap::new(), by_ending: HashMap::new(), used: HashSet::new() };
        // popped from the back: the first in order of path is taken first
        for &old in gone.iter().rev() {
            renames.by_content.entry(fates[old].removed_digest).or_default().push(old);
            renames.by_ending.entry(ending(old)).or_default().push(old);
        }
        renames
    }

    fn source_of(&mut self, fates: &BTreeMap<Vec<u8>, Fate>, key: &[u8]) -> Option<&'a Vec<u8>> {
        let content = fates.get(key)?.added_digest;
        let used = &mut self.used;
        let mut unused = |list: &mut Vec<&'a Vec<u8>>| loop {
            let old = list.pop()?;
            if used.insert(old) {
                return Some(old);
            }
        };
        let same_content = self.by_content.get_mut(&content).and_then(&mut unused);
        same_content.or_else(|| self.by_ending.get_mut(ending(key)).and_then(&mut unused))
    }
}

/// The last two parts of a path.
fn ending(path: &[u8]) -> &[u8] {
    let mut slashes = path.iter().enumerate().rev().filter(|&(_, &b)| b == b'/').map(|(at, _)| at);
    slashes.nth(1).map_or(path, |at| &path[at + 1..])
}

fn git(path: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(path).env("GIT_OPTIONAL_LOCKS", "0").env("LC_ALL", "C").stdin(Stdio::null());
    git
}

fn failed(path: &Path, problem: impl ToString) -> Error {
    Error::Git { path: path.to_owned(), problem: problem.to_string() }
}

fn started(path: &Path, why: &std::io::Error) -> Error {
    match why.kind() {
        std::io::ErrorKind::NotFound => {
            failed(path, "`git` was not found; install it to read histories")
        }
        _ => failed(path, why),
    }
}

/// A directory inside a repository would silently stand for the whole of it.
fn refuse_inside(path: &Path) -> Result<(), Error> {
    let asked = git(path)
        .args(["rev-parse", "--is-bare-repository", "--is-inside-git-dir", "--show-prefix"])
        .output()
        .map_err(|why| started(path, &why))?;
    if !asked.status.success() {
        let said = String::from_utf8_lossy(&asked.stderr);
        return Err(failed(path, format!("git cannot read a history here: {}", said.trim())));
    }
    let answer = String::from_utf8_lossy(&asked.stdout);
    let mut lines = answer.lines();
    let (bare, inside) = (lines.next() == Some("true"), lines.next() == Some("true"));
    let prefix = lines.next().unwrap_or_default();
    if !bare && (inside || !prefix.is_empty()) {
        return Err(failed(
            path,
            "lies inside a repository; give the directory of the repository itself",
        ));
    }
    Ok(())
}

fn count_commits(path: &Path) -> Result<u64, Error> {
    if !path.is_dir() {
        return Err(failed(path, "is not a directory; give the checkout of a git repository"));
    }
    refuse_inside(path)?;
    let output = git(path)
        .args(["rev-list", "--count", "--first-parent", "HEAD"])
        .output()
        .map_err(|why| started(path, &why))?;
    if !output.status.success() {
        return Err(failed(path, "the repository has no commits yet"));
    }
    String::from_utf8_lossy(&output.stdout)
        .trim()
        .parse()
        .map_err(|_| failed(path, "git gave no commit count"))
}

/// A commit's time, and the header of its first touch if it has any.
type Heading = (i64, Option<Vec<u8>>);

/// `git log` as it streams by.
struct Log {
    path: PathBuf,
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
    /// The next commit's heading, read one too far.
    pending: Option<Heading>,
    complaints: std::thread::JoinHandle<String>,
}

impl Log {
    fn open(path: &Path) -> Result<Self, Error> {
        let mut child = git(path)
            .args([
                "-c",
                "log.showRoot=true",
                "log",
                "--first-parent",
                "--diff-merges=first-parent",
                "--reverse",
            ])
            .args(["--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv", "-z"])
            .args(["--format=format:%x01%ct", "HEAD"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|why| started(path, &why))?;
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(failed(path, "git gave no output"));
        };
        let complaints = std::thread::spawn(move || {
            let mut said = String::new();
            let _ = stderr.take(64 * 1024).read_to_string(&mut said);
            said
        });
        let lines = BufReader::with_capacity(1 << 18, stdout);
        Ok(Self { path: path.to_owned(), child, lines, pending: None, complaints })
    }

    fn token(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let mut token = Vec::new();
        let read = self.lines.read_until(0, &mut token).map_err(|why| failed(&self.path, why))?;
        if token.last() == Some(&0) {
            token.pop();
        }
        Ok((read > 0).then_some(token))
    }

    /// The next commit, oldest first.
    fn next_commit(&mut self) -> Result<Option<Commit>, Error> {
        while self.pending.is_none() {
            let Some(token) = self.token()? else { return Ok(None) };
            self.pending = self.heading(&token)?;
        }
        let Some((t, mut header)) = self.pending.take() else { return Ok(None) };
        let mut touches = Vec::new();
        loop {
            if let Some(line) = header.take() {
                let file = self
                    .token()?
                    .ok_or_else(|| failed(&self.path, "git's log ended within a line"))?;
                touches.extend(touch(&line, file));
            }
            match self.token()? {
                None => break,
                Some(token) if token.first() == Some(&b':') => header = Some(token),
                Some(token) => {
                    self.pending = self.heading(&token)?;
                    if self.pending.is_some() {
                        break;
                    }
                }
            }
        }
        Ok(Some(Commit { t, touches }))
    }

    /// `\x01<seconds>`, and behind a line feed the header of the first touch.
    fn heading(&self, token: &[u8]) -> Result<Option<Heading>, Error> {
        let Some(rest) = token.strip_prefix(&[1]) else { return Ok(None) };
        let mut parts = rest.splitn(2, |&b| b == b'\n');
        let t = parts
            .next()
            .and_then(|t| std::str::from_utf8(t).ok())
            .and_then(|t| t.trim().parse::<i64>().ok());
        let t = t.ok_or_else(|| failed(&self.path, "git's log has a commit without a date"))?;
        let header = parts.next().filter(|line| line.first() == Some(&b':')).map(<[u8]>::to_vec);
        Ok(Some((t.max(0), header)))
    }

    fn close(mut self) -> Result<(), Error> {
        let status = self.child.wait().map_err(|why| failed(&self.path, why))?;
        let said = self.complaints.join().unwrap_or_default();
        if status.success() {
            return Ok(());
        }
        Err(failed(&self.path, format!("git log stopped: {}", said.trim())))
    }
}

/// `:<old mode> <new mode> <old object> <new object> <status>` and its path; submodules are passed over.
fn touch(header: &[u8], path: Vec<u8>) -> Option<Touch> {
    let mut fields = header.get(1..)?.split(|&b| b == b' ');
    let (old_mode, new_mode) = (fields.next()?, fields.next()?);
    let (old, new) = (fields.next()?, fields.next()?);
    if [old_mode, new_mode].contains(&&b"160000"[..]) {
        return None;
    }
    let there = |mode: &[u8], object: &[u8]| (mode != b"000000").then(|| xxh3_64(object));
    Some(Touch { path, before: there(old_mode, old), after: there(new_mode, new) })
}
