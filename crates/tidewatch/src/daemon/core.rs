//! The loop: one turn after the other, each as the daemon's page describes.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use anyhow::Context;
use detect::Fingerprint;
use fetch::{Answer, Client, Leave, Outcome, Validators};
use schedule::{
    Budget, Event, HostIx, Manners, Next, Observation, Pin, Purpose, Round, Setup, SourceIx, Span,
    Time, Verdict,
};
use store::{State, Store};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use url::Url;

use super::event::{FAILING, Subject, estimate};
use super::memory::Memory;
use super::page::{Look, Page, Poll, Version};
use super::poll::{Errand, Finished, Found, New, Readers, Tools, run as run_poll};
use super::register::{Register, Watched};
use super::trouble::Trouble;
use super::{Inbox, Message};
use crate::clock::Clock;
use crate::collection::{Mirror, Mirrors, Object};
use crate::config::Config;
use crate::journal::{Heard, Row, micros, source_id, time, verdict_word};
use crate::push::Sink;
use crate::source::Objects;

/// Entries between two snapshots.
const SNAPSHOT_EVERY: i64 = 50_000;
/// How often wishes of other processes are looked for.
const WISHES_EVERY: Duration = Duration::from_millis(250);
/// How long polls under way are waited for at the end.
const DRAIN: Duration = Duration::from_secs(5);
/// Pause before a page that could not be written is written again.
const DISK_PAUSE: Duration = Duration::from_secs(5);
/// How often retention looks, and how many versions it drops at a time.
const TIDY_EVERY: Duration = Duration::from_secs(60);
const TIDY_SLICE: NonZeroU32 = NonZeroU32::new(200).expect("not zero");

/// The daemon's one thread of thought.
pub struct Core {
    pub(super) store: Store,
    pub(super) memory: Memory,
    pub(super) register: Register,
    pub(super) config: Arc<Config>,
    clock: Arc<Clock>,
    trouble: Trouble,
    pub(super) mirrors: Mirrors,
    tools: Arc<Tools>,
    runtime: Handle,
    messages: mpsc::Receiver<Message>,
    sinks: Vec<Sink>,
    knocks: Vec<(HostIx, oneshot::Sender<Leave>)>,
    outside_writes: i64,
    wishes_at: Instant,
    tidy_at: Instant,
    snapshot_n: i64,
    /// Asked to end, by then at the latest.
    stop_by: Option<Instant>,
    /// Sources polled since the start.
    polled: BTreeSet<SourceIx>,
    /// Polls sent since the start.
    sent: usize,
    /// Nothing more is polled once every source was: `once`.
    one_lap: bool,
}

/// What the loop waits for after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Until this time, or a message.
    Until(Time),
    /// Nothing more to do: it was asked to end and everything is written.
    Ended,
}

impl Core {
    /// Opens the store, folds the journal, applies the configuration. The clock starts no earlier than the journal ends.
    pub fn open(
        config: Arc<Config>,
        runtime: Handle,
        clock: impl FnOnce(Time) -> Arc<Clock>,
    ) -> anyhow::Result<Self> {
        let store = Store::open(&config.dir)?;
        let remembered = Memory::load(store.read())?;
        let last_at = remembered.as_ref().map_or(Time::MIN, |memory| memory.books.last_at);
        let clock = clock(last_at);
        let register = Register::load(store.read())?;
        let client = Client::new(config.fetch.settings())?;
        let (inbox, messages) = Inbox::new();
        let readers = Readers::new(&config.dir);
        let tools = Tools { client, readers, limits: detect::Limits::default(), inbox };
        let is_new = remembered.is_none();
        let memory = remembered.unwrap_or_else(|| Memory::new(&config.setup));
        let mut core = Self {
            snapshot_n: memory.books.n,
            outside_writes: store.outside_writes()?,
            store,
            memory,
            register,
            config,
            clock,
            trouble: Trouble::default(),
            mirrors: Mirrors::default(),
            tools: Arc::new(tools),
            runtime,
            messages,
            sinks: Vec::new(),
            knocks: Vec::new(),
            wishes_at: Instant::now(),
            tidy_at: Instant::now() + TIDY_EVERY,
            stop_by: None,
            polled: BTreeSet::new(),
            sent: 0,
            one_lap: false,
        };
        core.begin(is_new)?;
        Ok(core)
    }

    /// The first entries of this run: how it decides, what was lost, what the file wants.
    fn begin(&mut self, is_new: bool) -> anyhow::Result<()> {
        let now = self.now();
        let mut page = Page::default();
        if is_new {
            // a new store starts with its burst saved up
            let start = Time::from_micros(now.micros() - fill_time(&self.config.setup).micros());
            page.row(Row::setup(start, &self.config.setup));
            self.round(start, &mut page);
        } else if self.memory.books.setup != self.config.setup {
            page.row(Row::setup(now, &self.config.setup));
            self.memory.fold(now, &schedule::Entry::Setup(self.config.setup.clone()));
            // another budget or policy counts its polls from now on
            self.round(now, &mut page);
        }
        for (source, (purpose, sent)) in self.memory.books.flights.clone() {
            let lost = Observation {
                source,
                purpose,
                sent,
                since: None,
                verdict: Verdict::Lost,
                age: None,
            };
            let note = Some("the daemon was stopped before the answer".to_owned());
            page.row(Row::heard(now, &lost, Heard { note, ..Heard::default() }));
            self.memory.tell(now, Event::Heard(lost));
        }
        self.write(&page)?;
        self.sinks = crate::push::sinks(&self.config, &mut self.store)?;
        self.apply_file(now)
    }

    /// Now, never before what was last written down.
    pub fn now(&self) -> Time {
        self.clock.now().max(self.memory.books.last_at)
    }

    /// What is remembered.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Where messages can be left for it.
    pub fn inbox(&self) -> Inbox {
        self.tools.inbox.clone()
    }

    /// How many sources are watched.
    pub fn watched(&self) -> usize {
        self.register.iter().count()
    }

    /// Polls sent and not yet answered.
    pub fn flying(&self) -> usize {
        self.memory.books.flights.len()
    }

    /// Turns until it is asked to stop.
    pub fn run(mut self) -> anyhow::Result<()> {
        let mut messages = Vec::new();
        while let Wait::Until(wake) = self.turn(messages)? {
            messages = self.wait(wake);
        }
        self.end()
    }

    /// Spends what has accrued, until every source was polled, then ends. How many sources were.
    pub fn once(mut self) -> anyhow::Result<usize> {
        self.one_lap = true;
        let mut messages = Vec::new();
        let patience = self.now() + Span::from_secs(60);
        loop {
            let Wait::Until(wake) = self.turn(messages)? else { break };
            let done = self.is_lap_over() || wake > patience;
            if done && self.flying() == 0 && self.sinks.iter().all(|sink| !sink.busy) {
                self.stop();
            }
            messages = self.wait(wake.min(patience));
        }
        let polls = self.polled.len();
        self.end()?;
        Ok(polls)
    }

    /// Every source was polled, or as many polls were sent as two rounds of them would take.
    fn is_lap_over(&self) -> bool {
        let watched = self.watched();
        self.polled.len() >= watched || self.sent >= 2 * watched
    }

    /// Messages, as soon as there are any or it is time.
    fn wait(&self, wake: Time) -> Vec<Message> {
        let wait = self.clock.real_wait(wake, WISHES_EVERY);
        let first = self.messages.recv_timeout(wait).ok();
        first.into_iter().chain(self.messages.try_iter()).collect()
    }

    /// All messages that are there.
    pub fn messages(&self) -> Vec<Message> {
        self.messages.try_iter().collect()
    }

    /// One turn: hear, fold, choose, commit, dispatch.
    pub fn turn(&mut self, messages: Vec<Message>) -> anyhow::Result<Wait> {
        let now = self.now();
        let mut page = Page::default();
        messages.into_iter().for_each(|message| self.hear(now, message, &mut page));
        if self.memory.books.round.is_none_or(|round| round.end <= now) {
            self.round(now, &mut page);
        }
        let admitted = self.answer_knocks(now, &mut page);
        let (errands, wake) = self.choose(now, &mut page);
        self.write(&page)?;
        for reply in admitted {
            let _ = reply.send(Leave::Go);
        }
        for errand in errands {
            self.runtime.spawn(run_poll(errand, Arc::clone(&self.tools)));
        }
        self.push(now)?;
        self.heed_wishes(now)?;
        self.tidy(now)?;
        let drained = self.flying() == 0;
        if self.stop_by.is_some_and(|by| drained || Instant::now() >= by) {
            return Ok(Wait::Ended);
        }
        Ok(Wait::Until(wake.min(self.next_knock())))
    }

    fn hear(&mut self, now: Time, message: Message, page: &mut Page) {
        match message {
            Message::Finished(finished) => self.finished(now, *finished, page),
            Message::Knock { host, reply } => self.knock(&host, reply),
            Message::Pushed { sink, seq, result } => {
                let result = result.map_or_else(|why| why.at(now), |()| super::Pushed::Done);
                page.pushed(sink, seq, now, result);
            }
            Message::Rested(sink) => self.sinks.iter_mut().for_each(|known| known.rest(sink)),
            Message::Wake => {}
            Message::Stop => self.stop(),
        }
    }

    /// A round begins; for policies without rounds it only starts the budget's clock.
    fn round(&mut self, at: Time, page: &mut Page) {
        let number = self.memory.books.round.map_or(1, |round| round.number + 1);
        let cycle = self.config.cycle;
        let round = Round::of(number, at, at + cycle, polls_in(&self.config.setup, cycle));
        page.row(Row::round(at, round));
        self.memory.tell(at, Event::Round(round));
    }

    /// Asks the scheduler until it waits, or enough polls are under way.
    fn choose(&mut self, now: Time, page: &mut Page) -> (Vec<Errand>, Time) {
        let mut errands = Vec::new();
        let far = self.memory.books.round.map_or(Time::MAX, |round| round.end);
        if self.stop_by.is_some() {
            return (errands, now + Span::from_secs(1));
        }
        while self.flying() < self.config.parallel {
            match self.memory.scheduler.next(now) {
                Next::Poll(..) if self.one_lap && self.is_lap_over() => break,
                Next::Poll(source, purpose) => {
                    self.memory.tell(now, Event::Sent(source, purpose));
                    page.row(Row::sent(now, source, purpose));
                    self.polled.insert(source);
                    self.sent += 1;
                    errands.extend(self.errand(now, source, purpose));
                }
                Next::WaitUntil(until) => return (errands, until.max(now + Span::TICK).min(far)),
                Next::WaitForAnswer | Next::RoundOver => break,
            }
        }
        (errands, far)
    }

    fn errand(&self, now: Time, source: SourceIx, purpose: Purpose) -> Option<Errand> {
        let watched = self.register.get(source)?;
        let url: Url = watched.url.parse().ok()?;
        let State { etag, last_modified, fingerprint, version, .. } = &watched.state;
        let validators = Validators { etag: etag.clone(), last_modified: last_modified.clone() };
        let from = watched.validated.clone().unwrap_or_else(|| url.clone());
        let known = fingerprint.is_some() && validators != Validators::default();
        Some(Errand {
            source,
            edits: watched.edits,
            purpose,
            sent: now,
            watch: Arc::clone(&watched.watch),
            known: known.then_some((validators, from)),
            fingerprint: fingerprint.map(Fingerprint::from_bytes),
            version: *version,
            url,
        })
    }

    /// Folds the end of a poll.
    fn finished(&mut self, now: Time, finished: Finished, page: &mut Page) {
        let Finished { source, edits, purpose, sent, answer, found } = finished;
        if let Some(answer) = &answer {
            self.hear_host(now, source, answer, page);
        }
        let watched = self.register.get(source).filter(|watched| watched.edits == edits);
        let state = watched.map(|watched| watched.state.clone()).unwrap_or_default();
        let (verdict, note) = match &found {
            Found::Same(_) => (Verdict::Same, None),
            Found::New(new) if state.fingerprint.is_none() => {
                (Verdict::First, new.reading.title.clone())
            }
            Found::New(new) => {
                (Verdict::Changed, new.change.as_ref().map(|change| change.summary.clone()))
            }
            Found::Unreadable(why) => (Verdict::Unreadable, Some(why.clone())),
            Found::Nothing(why) => (Verdict::Lost, Some(why.clone())),
        };
        let age = match &found {
            Found::New(new) => {
                new.response.last_modified.map(|at| sent - Time::from_micros(at.as_microsecond()))
            }
            _ => None,
        };
        let since = state.seen_at.map(time).filter(|_| verdict != Verdict::First);
        let heard = Observation { source, purpose, sent, since, verdict, age };
        self.memory.tell(now, Event::Heard(heard));
        let record = record(answer.as_ref(), note);
        let row = Row::heard(now, &heard, record.clone());
        match self.register.get(source).filter(|watched| watched.edits == edits) {
            None => page.row(row),
            Some(watched) => {
                let objects = watched.watch.objects.clone();
                let event = self.event(now, &heard, watched, &found, answer.as_ref());
                let state = next_state(state, now, &heard, &found, answer.as_ref(), &record);
                if let Some(watched) = self.register.get_mut(source) {
                    watched.state = state.clone();
                    if let (Some(answer), Found::New(_) | Found::Same(_)) = (&answer, &found) {
                        watched.validated =
                            (answer.url.as_str() != watched.url).then(|| answer.url.clone());
                    }
                }
                let (version, look) = match found {
                    Found::New(mut new) => {
                        let look = new.objects.take().map(Look::Objects);
                        (Some(as_version(*new)), look)
                    }
                    Found::Same(objects) => (None, Some(objects.map_or(Look::Same, Look::Objects))),
                    _ => (None, None),
                };
                let look = look.filter(|_| objects.is_some());
                let due = objects.zip(look.as_ref());
                let due = due.and_then(|(objects, look)| self.due(now, source, &objects, look));
                page.poll(Poll { row, state, version, event, look });
                if let Some((every, due)) = due {
                    page.row(Row::due(now, source, every, due));
                    self.memory.tell(now, Event::Pinned(source, every, Pin::Target(due)));
                }
            }
        }
    }

    /// The mirror learns what a look showed; when the collection is due again, if it has a target.
    fn due(
        &mut self,
        now: Time,
        source: SourceIx,
        objects: &Objects,
        look: &Look,
    ) -> Option<(Span, Time)> {
        let target = objects.target.as_ref()?;
        let mirror = self.mirror(source)?;
        match look {
            Look::Same => {
                mirror.same(now);
            }
            Look::Objects(listed) => {
                let listed: Vec<Object<'_>> = listed
                    .iter()
                    .map(|one| Object {
                        key: &one.key,
                        category: &one.category,
                        version: one.version,
                    })
                    .collect();
                mirror.look(now, &listed);
            }
        }
        let wait = mirror.wait(target);
        Some((wait, now + wait))
    }

    /// What is known of a collection; nothing if it cannot be read, which is said.
    pub(super) fn mirror(&mut self, source: SourceIx) -> Option<&mut Mirror> {
        let mirror = self.mirrors.of(self.store.read(), source);
        let unread = |why: &store::Error| {
            tracing::warn!(
                "what collection s_{} listed cannot be read: {why}",
                source_id(source).0
            );
        };
        mirror.inspect_err(unread).ok()
    }

    /// What subscribers are told of it.
    fn event(
        &self,
        now: Time,
        heard: &Observation,
        watched: &Watched,
        found: &Found,
        answer: Option<&Answer>,
    ) -> Option<super::page::Draft> {
        let sinks = self.sinks.iter().filter(|sink| sink.wants(&watched.tags)).map(|sink| sink.id);
        let subject = Subject {
            source: heard.source,
            watched,
            at: now,
            sent: heard.sent,
            since: heard.since,
            sinks: sinks.collect(),
        };
        let failures = watched.state.failures;
        let was_gone =
            watched.state.outcome.as_deref().is_some_and(|outcome| outcome.starts_with("gone"));
        match found {
            Found::New(new) if new.reported => {
                let belief = self.memory.scheduler.why(heard.source, now).belief;
                let estimate = estimate(belief, self.memory.missed_between(heard));
                Some(subject.new_version(new, watched.state.version, estimate))
            }
            Found::New(_) | Found::Same(_) if was_gone || failures >= FAILING => {
                Some(subject.turn("source.back", "it can be read again"))
            }
            Found::New(_) | Found::Same(_) => None,
            Found::Unreadable(why) | Found::Nothing(why) => {
                let is_gone =
                    answer.is_some_and(|answer| matches!(answer.outcome, Outcome::Gone { .. }));
                if is_gone && !was_gone {
                    return Some(subject.turn("source.gone", why));
                }
                (failures + 1 == FAILING && !is_gone).then(|| subject.turn("source.failing", why))
            }
        }
    }

    /// What the answer says about its host: trouble, a wish to be left alone, a Crawl-delay.
    fn hear_host(&mut self, now: Time, source: SourceIx, answer: &Answer, page: &mut Page) {
        let Some(host) = self.register.get(source).map(|watched| watched.host_ix) else { return };
        // trouble after a redirect is another host's
        let host = match fetch::Host::try_from(&answer.url) {
            Ok(last) => self.register.host(&last.to_string()).unwrap_or(host),
            Err(_) => host,
        };
        match &answer.outcome {
            Outcome::Busy { retry_after, .. } => {
                let rest = self.trouble.again(host, *retry_after);
                self.shut(now, host, rest, &answer.outcome.to_string(), page);
            }
            Outcome::Unreachable(why) => {
                let rest = self.trouble.again(host, None);
                self.shut(now, host, rest, &why.to_string(), page);
            }
            Outcome::Refused(_) => {}
            _ => self.trouble.over(host),
        }
        if let Some(delay) = answer.crawl_delay {
            self.mind_crawl_delay(now, source, Span::from_secs_f64(delay.as_secs_f64()), page);
        }
    }

    fn shut(&mut self, now: Time, host: HostIx, rest: Span, why: &str, page: &mut Page) {
        let until = now + rest;
        page.row(Row::shut(now, host, until, why));
        self.memory.tell(now, Event::Host(host, schedule::Gate::ShutUntil(until)));
    }

    fn mind_crawl_delay(&mut self, now: Time, source: SourceIx, delay: Span, page: &mut Page) {
        let Some(host) = self.register.get(source).map(|watched| watched.host_ix) else { return };
        let ours = self.config.setup.settings.manners;
        let manners = Manners { gap: ours.gap.max(delay), ..ours };
        if self.memory.scheduler.manners(host) != manners {
            page.row(Row::manners(now, host, manners));
            self.memory.tell(now, Event::Manners(host, manners));
        }
    }

    /// A poll wants to ask a host something more.
    fn knock(&mut self, host: &str, reply: oneshot::Sender<Leave>) {
        let known = self.register.host(host);
        let host = match known {
            Some(host) => host,
            None => match self.store.commit(|batch| batch.host(host)) {
                Ok(id) => {
                    let ix = crate::journal::host_ix(id);
                    self.register.add_host(host, ix);
                    ix
                }
                Err(why) => {
                    tracing::warn!("a redirect to {host} is not followed: {why}");
                    let _ = reply.send(Leave::Stop);
                    return;
                }
            },
        };
        self.knocks.push((host, reply));
    }

    /// Lets those through whose host may be asked now.
    fn answer_knocks(&mut self, now: Time, page: &mut Page) -> Vec<oneshot::Sender<Leave>> {
        let mut admitted = Vec::new();
        for (host, reply) in std::mem::take(&mut self.knocks) {
            if self.stop_by.is_some() {
                let _ = reply.send(Leave::Stop);
            } else if self.memory.scheduler.may_visit(host) <= now {
                page.row(Row::visit(now, host));
                self.memory.tell(now, Event::Visit(host));
                admitted.push(reply);
            } else {
                self.knocks.push((host, reply));
            }
        }
        admitted
    }

    /// When the next knock can be answered.
    fn next_knock(&self) -> Time {
        let opens = self.knocks.iter().map(|(host, _)| self.memory.scheduler.may_visit(*host));
        opens.min().unwrap_or(Time::MAX)
    }

    /// Commits a page; a full disk or a busy database is waited out, for nothing was dispatched yet.
    pub(super) fn write(&mut self, page: &Page) -> anyhow::Result<()> {
        if page.is_empty() {
            return Ok(());
        }
        let versions = loop {
            match self.store.commit(|batch| page.write(batch)) {
                Ok(versions) => break versions,
                Err(
                    why @ (store::Error::DiskFull(_)
                    | store::Error::ReadOnly(_)
                    | store::Error::Busy),
                ) => {
                    tracing::error!("{why}; polling waits until it can be written");
                    if self.waits_in_vain() {
                        return Err(why.into());
                    }
                }
                Err(why) => return Err(why).context("the journal cannot be written"),
            }
        };
        for (source, version) in versions {
            if let Some(watched) = self.register.get_mut(source) {
                watched.state.version = Some(version);
            }
        }
        self.memory.books.n += page.rows();
        Ok(())
    }

    /// Pauses; whether it was asked to stop meanwhile.
    fn waits_in_vain(&mut self) -> bool {
        let until = Instant::now() + DISK_PAUSE;
        let mut kept = Vec::new();
        while Instant::now() < until && self.stop_by.is_none() {
            match self.messages.recv_timeout(Duration::from_millis(100)) {
                Ok(Message::Stop) => self.stop(),
                Ok(other) => kept.push(other),
                Err(_) => {}
            }
        }
        kept.into_iter().for_each(|message| self.tools.inbox.put(message));
        self.stop_by.is_some()
    }

    fn stop(&mut self) {
        self.stop_by.get_or_insert(Instant::now() + DRAIN);
    }

    /// Hands due events to sinks that are free.
    fn push(&mut self, now: Time) -> anyhow::Result<()> {
        for sink in &mut self.sinks {
            sink.push(now, self.store.read(), &self.runtime, &self.tools.inbox)?;
        }
        Ok(())
    }

    fn heed_wishes(&mut self, now: Time) -> anyhow::Result<()> {
        if Instant::now() < self.wishes_at {
            return Ok(());
        }
        self.wishes_at = Instant::now() + WISHES_EVERY;
        let writes = self.store.outside_writes()?;
        if writes != std::mem::replace(&mut self.outside_writes, writes) {
            self.grant_wishes(now)?;
        }
        Ok(())
    }

    /// Retention and snapshots, a little at a time.
    fn tidy(&mut self, now: Time) -> anyhow::Result<()> {
        if self.memory.books.n - self.snapshot_n >= SNAPSHOT_EVERY {
            self.snapshot()?;
        }
        if Instant::now() < self.tidy_at {
            return Ok(());
        }
        let tidied = self.store.retain(&self.config.retention, micros(now), TIDY_SLICE)?;
        self.tidy_at = Instant::now() + if tidied.more { Duration::ZERO } else { TIDY_EVERY };
        Ok(())
    }

    fn snapshot(&mut self) -> anyhow::Result<()> {
        let n = self.memory.books.n;
        let (code, state) = self.memory.to_snapshot()?;
        self.store.commit(|batch| batch.save_snapshot(n, &code, &state))?;
        self.snapshot_n = n;
        Ok(())
    }

    /// Everything that is over is written; what is still under way counts as lost at the next start.
    fn end(mut self) -> anyhow::Result<()> {
        let until = Instant::now() + DRAIN;
        while self.sinks.iter().any(|sink| sink.busy) && Instant::now() < until {
            let messages = self.wait(self.now() + Span::from_secs(1));
            self.turn(messages)?;
        }
        if self.memory.books.n > self.snapshot_n {
            self.snapshot()?;
        }
        Ok(())
    }
}

/// How long it takes to save up the burst.
fn fill_time(setup: &Setup) -> Span {
    match setup.settings.budget {
        Budget::Flow { polls, per, burst } if polls > 0 => {
            Span::from_secs_f64(per.secs() * f64::from(burst) / polls as f64)
        }
        _ => Span::ZERO,
    }
}

/// Polls that accrue in a span.
fn polls_in(setup: &Setup, span: Span) -> u64 {
    let Budget::Flow { polls, per, .. } = setup.settings.budget else { return 0 };
    let exact = u128::from(polls) * u128::from(span.micros().unsigned_abs());
    u64::try_from(exact / u128::from(per.micros().max(1).unsigned_abs())).unwrap_or(u64::MAX)
}

fn record(answer: Option<&Answer>, note: Option<String>) -> Heard {
    let millis = |elapsed: Duration| u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    Heard {
        outcome: answer.map_or("lost", |answer| answer.outcome.code()).to_owned(),
        note,
        bytes: answer.map_or(0, |answer| match &answer.outcome {
            Outcome::Fetched(response) => response.wire_bytes,
            _ => 0,
        }),
        ms: answer.map_or(0, |answer| millis(answer.elapsed)),
        ..Heard::default()
    }
}

/// How a source stands after an answer.
fn next_state(
    before: State,
    now: Time,
    heard: &Observation,
    found: &Found,
    answer: Option<&Answer>,
    record: &Heard,
) -> State {
    let (at, sent) = (Some(micros(now)), Some(micros(heard.sent)));
    let mut state = State {
        polled_at: sent,
        verdict: Some(verdict_word(heard.verdict).to_owned()),
        outcome: Some(match &record.note {
            Some(note) if matches!(found, Found::Unreadable(_) | Found::Nothing(_)) => {
                format!("{}: {note}", record.outcome)
            }
            _ => record.outcome.clone(),
        }),
        failures: before.failures + 1,
        ..before
    };
    if let Found::Same(_) | Found::New(_) = found {
        (state.seen_at, state.failures) = (sent, 0);
    }
    let validators = match answer.map(|answer| &answer.outcome) {
        Some(Outcome::Fetched(response)) => Some(response.validators.clone()),
        Some(Outcome::NotModified(validators)) => Some(validators.clone()),
        _ => None,
    };
    if let (Some(validators), Found::Same(_) | Found::New(_)) = (validators, found) {
        (state.etag, state.last_modified) = (validators.etag, validators.last_modified);
    }
    if let Found::New(new) = found {
        state.fingerprint = Some(*new.reading.fingerprint.as_bytes());
        state.changed_at = if heard.verdict == Verdict::Changed { at } else { state.changed_at };
    }
    state
}

fn as_version(new: New) -> Version {
    let headers: BTreeMap<&str, &str> =
        new.response.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
    Version {
        headers: serde_json::to_string(&headers).expect("text can be written"),
        media_type: new.response.media.map(|media| media.essence),
        status: new.response.status,
        fingerprint: *new.reading.fingerprint.as_bytes(),
        title: new.reading.title,
        text: new.reading.text,
        body: new.response.body,
    }
}
