//! One poll, in its own task: ask, read, compare. Everything it needs comes in, everything it found goes out.
//!
//! Reading is done on a thread of its own under a deadline: a page that takes too long is given up, and the poll ends
//! as unreadable. A panic ends the poll as lost. Neither delays anyone else.

use std::sync::Arc;
use std::time::Duration;

use detect::{Change, Fingerprint, Listed, Reading};
use fetch::{Answer, Client, Doorman, Host, Leave, Outcome, Response, Validators};
use schedule::{Purpose, SourceIx, Time};
use store::{Reader, VersionId};
use tokio::sync::oneshot;
use url::Url;

use super::{Inbox, Message};
use crate::source::Watch;

/// How long reading one page may take before it is given up.
const READING: Duration = Duration::from_secs(10);

/// What to ask, and what is known so far.
pub struct Errand {
    /// Which source.
    pub source: SourceIx,
    /// Which edit of it.
    pub edits: u32,
    /// Why.
    pub purpose: Purpose,
    /// When the poll was sent.
    pub sent: Time,
    /// Its address.
    pub url: Url,
    /// How to ask and how to read.
    pub watch: Arc<Watch>,
    /// Validators, and the address that gave them.
    pub known: Option<(Validators, Url)>,
    /// What the copy is known by.
    pub fingerprint: Option<Fingerprint>,
    /// The version the copy is at.
    pub version: Option<VersionId>,
}

/// What a poll found.
pub struct Finished {
    /// Which source.
    pub source: SourceIx,
    /// Which edit of it.
    pub edits: u32,
    /// Why.
    pub purpose: Purpose,
    /// When the poll was sent.
    pub sent: Time,
    /// The wire's part; `None` if the poll was cut off.
    pub answer: Option<Answer>,
    /// What was read out of it.
    pub found: Found,
}

/// What was read.
pub enum Found {
    /// The copy is what the source is; the objects it lists, where they were read (a rule may not see all of them).
    Same(Option<Vec<Listed>>),
    /// Something new, or the first thing ever.
    New(Box<New>),
    /// There is something, but nothing to compare: why.
    Unreadable(String),
    /// Nothing: why.
    Nothing(String),
}

/// A new state of a source.
pub struct New {
    /// What it says.
    pub reading: Reading,
    /// As it came.
    pub response: Response,
    /// How it differs; `None` the first time.
    pub change: Option<Change>,
    /// Whether the source's trigger, if it has one, wants it reported.
    pub reported: bool,
    /// The objects it lists, if it is a collection.
    pub objects: Option<Vec<Listed>>,
}

/// What polls work with.
pub struct Tools {
    /// Asks.
    pub client: Client,
    /// Looks up old versions.
    pub readers: Readers,
    /// Bounds on reading.
    pub limits: detect::Limits,
    /// Where findings go.
    pub inbox: Inbox,
}

/// Read connections, handed round.
pub struct Readers {
    dir: std::path::PathBuf,
    idle: std::sync::Mutex<Vec<Reader>>,
}

impl Readers {
    /// Of the store in `dir`.
    pub fn new(dir: &std::path::Path) -> Self {
        Self { dir: dir.to_owned(), idle: std::sync::Mutex::default() }
    }

    fn with<T>(&self, work: impl FnOnce(&Reader) -> store::Result<T>) -> store::Result<T> {
        let taken = lock(&self.idle).pop();
        let reader = match taken {
            Some(reader) => reader,
            None => Reader::open(&self.dir)?,
        };
        let result = work(&reader);
        lock(&self.idle).push(reader);
        result
    }
}

fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Runs an errand and reports, whatever happens to it.
pub async fn run(errand: Errand, tools: Arc<Tools>) {
    let (source, edits, purpose, sent) = (errand.source, errand.edits, errand.purpose, errand.sent);
    let inbox = tools.inbox.clone();
    let (answer, found) = match tokio::spawn(poll(errand, tools)).await {
        Ok((answer, found)) => (Some(answer), found),
        Err(why) => (None, Found::Nothing(format!("the poll was cut off: {why}"))),
    };
    inbox.put(Message::Finished(Box::new(Finished {
        source,
        edits,
        purpose,
        sent,
        answer,
        found,
    })));
}

async fn poll(errand: Errand, tools: Arc<Tools>) -> (Answer, Found) {
    let request = errand.watch.request(&errand.url, errand.known.clone());
    let request = request.expect("a source's request was checked when it was added");
    let doorman = Knocker { inbox: tools.inbox.clone() };
    let mut answer = tools.client.fetch(&request, &doorman).await;
    let found = match take_response(&mut answer) {
        Some(response) => read(errand, response, tools).await,
        None => match &answer.outcome {
            Outcome::NotModified(_) => Found::Same(None),
            Outcome::Unreachable(_) | Outcome::Busy { .. } => {
                Found::Nothing(answer.outcome.to_string())
            }
            other => Found::Unreadable(other.to_string()),
        },
    };
    (answer, found)
}

/// Takes the body out of the answer, which stays as a record of the wire.
fn take_response(answer: &mut Answer) -> Option<Response> {
    let Outcome::Fetched(response) = &mut answer.outcome else { return None };
    let taken = (**response).clone();
    response.body = bytes::Bytes::new();
    Some(taken)
}

async fn read(errand: Errand, response: Response, tools: Arc<Tools>) -> Found {
    let reading = tokio::task::spawn_blocking(move || compare(&errand, response, &tools));
    match tokio::time::timeout(READING, reading).await {
        Ok(Ok(found)) => found,
        Ok(Err(why)) => Found::Unreadable(format!("reading it failed: {why}")),
        Err(_) => Found::Unreadable(format!("reading it took longer than {} s", READING.as_secs())),
    }
}

fn compare(errand: &Errand, response: Response, tools: &Tools) -> Found {
    let content_type =
        response.headers.iter().find(|(name, _)| name == "content-type").map(|(_, value)| &**value);
    let rule = &errand.watch.rule;
    let reading = match detect::read(rule, &response.body, content_type, &tools.limits) {
        Ok(reading) => reading,
        Err(why) => return Found::Unreadable(why.to_string()),
    };
    let objects = errand.watch.objects.as_ref();
    let objects =
        objects.map(|objects| objects.items.read(&response.body, content_type, &tools.limits));
    let objects = match objects.transpose() {
        Ok(objects) => objects,
        Err(why) => return Found::Unreadable(why.to_string()),
    };
    if errand.fingerprint.as_ref() == Some(&reading.fingerprint) {
        return Found::Same(objects);
    }
    let before = match errand.version.filter(|_| errand.fingerprint.is_some()) {
        None => None,
        // a version whose text was dropped can still be told apart, but not shown
        Some(version) => match tools.readers.with(|reader| reader.text(version)) {
            Ok(text) => Some(text.unwrap_or_default()),
            Err(why) => return Found::Nothing(format!("the version before cannot be read: {why}")),
        },
    };
    let change = before.as_deref().map(|before| detect::diff(before, &reading.text, &tools.limits));
    let reported =
        rule.trigger().is_none_or(|trigger| trigger.fires(before.as_deref(), &reading.text));
    Found::New(Box::new(New { reading, response, change, reported, objects }))
}

/// Asks the loop for leave.
struct Knocker {
    inbox: Inbox,
}

impl Doorman for Knocker {
    async fn enter(&self, host: &Host) -> Leave {
        let (reply, answer) = oneshot::channel();
        self.inbox.put(Message::Knock { host: host.to_string(), reply });
        answer.await.unwrap_or(Leave::Stop)
    }
}
