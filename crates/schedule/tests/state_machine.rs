//! Whatever order things happen in: the budget is never exceeded, no gate is broken, no source in flight
//! is offered again, no source is forgotten, asking is free, and a snapshot continues as the original.
//!
//! A driver with its own books (kept apart from the scheduler's) plays random sequences of arrivals,
//! departures, rounds, closures, waiting, polling, losing and answering.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use schedule::policy::{AnyPolicy, Spec};
use schedule::utility::Worth;
use schedule::{
    Budget, Event, Facts, Gate, HostIx, Manners, Next, Observation, Pin, Purpose, Round, Scheduler,
    Settings, SiteIx, SourceIx, Span, Time, Verdict,
};

const SOURCES: usize = 12;
const HOSTS: usize = 3;
const POLICIES: [&str; 25] = [
    "round-robin",
    "greedy(samples=2)",
    "greedy(samples=1,cost=0.25)",
    "greedy(samples=2,cost=0.25,stored=false)",
    "greedy",
    "proportional(samples=2)",
    "proportional(samples=1,cost=0.25)",
    "adaptive(k=1)",
    "adaptive(k=2,interval=wald)",
    "frequency",
    "frequency(rule=captured,estimator=likelihood)",
    "frequency(rule=freshness,estimator=bias-reduced)",
    "subset(share=0.9,with=greedy(samples=1))",
    "subset(share=0.5,with=adaptive(k=1))",
    "blend(share=0.4,with=greedy(samples=1))",
    "timed(period=1h)",
    "timed(period=1h,polls=3,explore=0.5)",
    "timed(period=10m,grid=10s,polls=2,method=empirical)",
    "value",
    "value(objective=age)",
    "value(law=renewal)",
    "wic",
    "wic+search(horizon=4)",
    "wic(ties=longest,idle=skip)",
    "cam(horizon=3)",
];
/// The last two may leave a source alone for good: what earns nothing, and what is less likely than the others.
const FAIR: usize = POLICIES.len() - 2;

#[derive(Clone, Copy, Debug)]
enum Step {
    Enter(usize),
    Pin(usize, i64),
    Leave(usize),
    Visit(usize),
    /// Set up anew, with the same settings.
    Change,
    Round(u64),
    Shut(usize, i64),
    Open(usize),
    CrawlDelay(usize, i64),
    Wait(i64),
    Poll,
    Answer(usize, u8),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..SOURCES).prop_map(Step::Enter),
        1 => (0..SOURCES).prop_map(Step::Leave),
        1 => (0..SOURCES, 1i64..30).prop_map(|(source, secs)| Step::Pin(source, secs)),
        1 => (0..HOSTS).prop_map(Step::Visit),
        1 => Just(Step::Change),
        1 => (0u64..12).prop_map(Step::Round),
        1 => (0..HOSTS, 0i64..50).prop_map(|(host, secs)| Step::Shut(host, secs)),
        1 => (0..HOSTS).prop_map(Step::Open),
        1 => (0..HOSTS, 0i64..8).prop_map(|(host, secs)| Step::CrawlDelay(host, secs)),
        3 => (0i64..10).prop_map(Step::Wait),
        8 => Just(Step::Poll),
        4 => (0..SOURCES, 0u8..5).prop_map(|(which, verdict)| Step::Answer(which, verdict)),
    ]
}

fn any_settings() -> impl Strategy<Value = Settings> {
    let budget = prop_oneof![
        Just(Budget::PerRound),
        (0u64..20, 1i64..60, 1u32..5).prop_map(|(polls, secs, burst)| Budget::Flow {
            polls,
            per: Span::from_secs(secs),
            burst
        }),
    ];
    let first_looks = prop_oneof![Just(None), (0u32..1000).prop_map(Some)];
    (budget, 0i64..6, 1u32..4, first_looks).prop_map(|(budget, gap, parallel, first_looks)| {
        Settings { budget, manners: Manners { gap: Span::from_secs(gap), parallel }, first_looks }
    })
}

/// The driver's own books.
struct Driver {
    scheduler: Scheduler<AnyPolicy>,
    spec: Spec,
    settings: Settings,
    now: Time,
    round: u32,
    present: BTreeSet<usize>,
    out: BTreeMap<usize, (Purpose, Time, usize)>,
    host_out: [u32; HOSTS],
    last_sent: [Option<Time>; HOSTS],
    shut_until: [Time; HOSTS],
    gap: [Span; HOSTS],
    spent: f64,
    granted: f64,
    flow_from: Option<Time>,
    choices: Vec<(Time, SourceIx, Purpose)>,
    sample_cost: f64,
    asks: usize,
}

fn entry(source: usize) -> Event {
    let facts = Facts {
        site: SiteIx::new(source % 4),
        host: HostIx::new(source % HOSTS),
        importance: 1.0,
        known: source.is_multiple_of(2),
        worth: Worth::default(),
    };
    Event::Entered(SourceIx::new(source), facts)
}

impl Driver {
    fn new(policy: &str, settings: Settings, asks: usize) -> Self {
        let spec: Spec = policy.parse().unwrap();
        Self {
            scheduler: Scheduler::new(spec.build(3), settings),
            spec,
            settings,
            now: Time::from_secs(1_000),
            round: 0,
            present: BTreeSet::new(),
            out: BTreeMap::new(),
            host_out: [0; HOSTS],
            last_sent: [None; HOSTS],
            shut_until: [Time::MIN; HOSTS],
            gap: [settings.manners.gap; HOSTS],
            spent: 0.0,
            granted: 0.0,
            flow_from: None,
            choices: Vec::new(),
            sample_cost: if policy.contains("cost=0.25") { 0.25 } else { 1.0 },
            asks,
        }
    }

    fn tell(&mut self, event: Event) {
        self.scheduler.tell(self.now, event);
    }

    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Enter(source) if self.present.insert(source) => {
                self.tell(entry(source));
            }
            Step::Leave(source) if self.present.remove(&source) => {
                self.tell(Event::Left(SourceIx::new(source)));
            }
            Step::Pin(source, secs) => {
                // both reasons for a pin: a user's, and a target foretold for later
                let (every, at) = (Span::from_secs(secs), self.now + Span::from_secs(secs));
                let why = if secs % 2 == 0 { Pin::Asked } else { Pin::Target(at) };
                self.tell(Event::Pinned(SourceIx::new(source), every, why));
            }
            Step::Change => {
                self.flow_from.get_or_insert(self.now);
                self.scheduler.change(self.now, self.spec.build(3), self.settings);
            }
            Step::Visit(host) => {
                self.spent += 1.0;
                self.flow_from.get_or_insert(self.now);
                self.last_sent[host] = Some(self.now + self.gap[host]);
                self.tell(Event::Visit(HostIx::new(host)));
            }
            Step::Round(polls) => {
                self.round += 1;
                let end = self.now + Span::from_secs(60);
                if self.settings.budget == Budget::PerRound {
                    (self.spent, self.granted) = (0.0, polls as f64);
                }
                self.flow_from.get_or_insert(self.now);
                self.tell(Event::Round(Round::of(self.round, self.now, end, polls)));
            }
            Step::Shut(host, secs) => {
                let until = self.now + Span::from_secs(secs);
                self.shut_until[host] = until;
                self.tell(Event::Host(HostIx::new(host), Gate::ShutUntil(until)));
            }
            Step::Open(host) => {
                self.shut_until[host] = Time::MIN;
                self.tell(Event::Host(HostIx::new(host), Gate::Open));
            }
            Step::CrawlDelay(host, secs) => {
                let manners = Manners {
                    gap: Span::from_secs(secs),
                    parallel: self.settings.manners.parallel,
                };
                // a longer gap counts from the last poll, too
                let longer = manners.gap.micros() - self.gap[host].micros();
                self.last_sent[host] =
                    self.last_sent[host].map(|over| over + Span::from_micros(longer));
                self.gap[host] = manners.gap;
                self.tell(Event::Manners(HostIx::new(host), manners));
            }
            Step::Wait(secs) => {
                for ask in 1..self.asks {
                    let between = Span::from_secs(secs).micros() * i64::try_from(ask).unwrap() / 3;
                    self.scheduler.next(self.now + Span::from_micros(between));
                }
                self.now = self.now + Span::from_secs(secs);
            }
            Step::Poll => self.poll()?,
            Step::Answer(which, verdict) => self.answer(which, verdict),
            Step::Enter(_) | Step::Leave(_) => {}
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<(), TestCaseError> {
        let mut next = self.scheduler.next(self.now);
        for _ in 1..self.asks {
            let again = self.scheduler.next(self.now);
            prop_assert_eq!(next, again, "asking twice must not matter");
            next = again;
        }
        match next {
            Next::Poll(source, purpose) => self.check_and_send(source, purpose),
            Next::WaitUntil(until) => {
                prop_assert!(until > self.now, "waiting for the past would hang");
                Ok(())
            }
            Next::WaitForAnswer => {
                prop_assert!(!self.out.is_empty(), "no answer can come");
                Ok(())
            }
            Next::RoundOver => Ok(()),
        }
    }

    fn check_and_send(&mut self, source: SourceIx, purpose: Purpose) -> Result<(), TestCaseError> {
        let (number, host) = (source.ix(), source.ix() % HOSTS);
        prop_assert!(self.present.contains(&number), "only watched sources");
        prop_assert!(!self.out.contains_key(&number), "never twice at once");
        prop_assert!(self.host_out[host] < self.settings.manners.parallel, "concurrency");
        prop_assert!(self.now >= self.shut_until[host], "Retry-After");
        if let Some(last) = self.last_sent[host] {
            prop_assert!(self.now >= last, "gap: {last:?}");
        }
        self.last_sent[host] = Some(self.now + self.gap[host]);
        self.spent += if purpose == Purpose::Sample { self.sample_cost } else { 1.0 };
        let allowed = match self.settings.budget {
            Budget::PerRound => self.granted,
            Budget::Flow { polls, per, .. } => {
                let from = self.flow_from.unwrap_or(self.now);
                (self.now - from).secs() / per.secs() * polls as f64
            }
        };
        prop_assert!(self.spent <= allowed + 1e-6, "budget: {} of {allowed}", self.spent);
        self.host_out[host] += 1;
        self.out.insert(number, (purpose, self.now, host));
        self.choices.push((self.now, source, purpose));
        self.tell(Event::Sent(source, purpose));
        Ok(())
    }

    fn answer(&mut self, which: usize, verdict: u8) {
        let Some(&number) = self.out.keys().nth(which % self.out.len().max(1)) else { return };
        let Some((purpose, sent, host)) = self.out.remove(&number) else { return };
        self.host_out[host] -= 1;
        let verdict =
            [Verdict::First, Verdict::Same, Verdict::Changed, Verdict::Unreadable, Verdict::Lost]
                [usize::from(verdict)];
        let since = Some(Time::from_secs(0));
        self.tell(Event::Heard(Observation {
            source: SourceIx::new(number),
            purpose,
            sent,
            since,
            verdict,
            age: None,
        }));
    }
}

fn play(
    policy: &str,
    settings: Settings,
    steps: &[Step],
    asks: usize,
) -> Result<Driver, TestCaseError> {
    let mut driver = Driver::new(policy, settings, asks);
    for &step in steps {
        driver.step(step)?;
    }
    Ok(driver)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_order_of_calls_breaks_budget_gates_or_flight(
        policy in 0..POLICIES.len(), settings in any_settings(), steps in prop::collection::vec(any_step(), 0..250),
    ) {
        play(POLICIES[policy], settings, &steps, 1)?;
    }

    #[test]
    fn asking_more_often_changes_no_choice(
        policy in 0..POLICIES.len(), settings in any_settings(), steps in prop::collection::vec(any_step(), 0..250),
    ) {
        let once = play(POLICIES[policy], settings, &steps, 1)?;
        let thrice = play(POLICIES[policy], settings, &steps, 3)?;
        prop_assert_eq!(once.choices, thrice.choices);
    }

    #[test]
    fn a_snapshot_continues_as_the_original(
        policy in 0..POLICIES.len(), settings in any_settings(),
        before in prop::collection::vec(any_step(), 0..150), after in prop::collection::vec(any_step(), 0..150),
    ) {
        let mut original = play(POLICIES[policy], settings, &before, 1)?;
        let mut restored = play(POLICIES[policy], settings, &before, 1)?;
        let bytes = postcard::to_stdvec(&original.scheduler).unwrap();
        restored.scheduler = postcard::from_bytes(&bytes).unwrap();
        for &step in &after {
            original.step(step)?;
            restored.step(step)?;
        }
        prop_assert_eq!(original.choices, restored.choices);
    }

    /// However it was treated, give it time, money and answers, and every watched source is polled.
    #[test]
    fn no_source_is_forgotten(
        policy in 0..FAIR, settings in any_settings(), steps in prop::collection::vec(any_step(), 0..250),
    ) {
        let plenty = match settings.budget {
            Budget::Flow { polls: 0, per, burst } => Budget::Flow { polls: 1, per, burst },
            other => other,
        };
        let mut driver = play(POLICIES[policy], Settings { budget: plenty, ..settings }, &steps, 1)?;
        while !driver.out.is_empty() {
            driver.answer(0, 1);
        }
        for host in 0..HOSTS {
            driver.step(Step::Open(host))?;
        }
        // a pin may eat the whole budget: that is what insisting means
        for source in driver.present.clone() {
            driver.tell(entry(source));
        }
        driver.choices.clear();
        for _ in 0..6 {
            driver.step(Step::Round(1_000))?;
            for _ in 0..400 {
                driver.step(Step::Wait(9))?;
                driver.step(Step::Poll)?;
                driver.answer(0, 1);
            }
        }
        let polled: BTreeSet<usize> = driver.choices.iter().map(|(_, source, _)| source.ix()).collect();
        prop_assert_eq!(polled, driver.present);
    }
}
