//! Webhooks, against a real receiver: signed, in order, again after a failure, given up when told so.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

mod common;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use common::{Site, config};
use schedule::{Span, Time};
use tidewatch::clock::Clock;
use tidewatch::daemon::Core;
use tidewatch::push::signature;
use tokio::runtime::Runtime;

type Calls = Arc<Mutex<Vec<(HeaderMap, String)>>>;

#[derive(Clone)]
struct Receiver {
    calls: Calls,
    /// What to answer, first call first; then 204.
    answers: Arc<Mutex<Vec<u16>>>,
}

async fn hook(State(receiver): State<Receiver>, headers: HeaderMap, body: String) -> StatusCode {
    receiver.calls.lock().unwrap().push((headers, body));
    let mut answers = receiver.answers.lock().unwrap();
    let status = if answers.is_empty() { 204 } else { answers.remove(0) };
    StatusCode::from_u16(status).unwrap()
}

fn receiver(answers: &[u16], runtime: &Runtime) -> (Receiver, std::net::SocketAddr) {
    let receiver =
        Receiver { calls: Calls::default(), answers: Arc::new(Mutex::new(answers.to_vec())) };
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/hook", post(hook)).with_state(receiver.clone());
    runtime.spawn(async move { axum::serve(listener, router).await.unwrap() });
    (receiver, address)
}

/// Runs a daemon over a site of one page until the receiver was called `calls` times; what it was told.
fn told(answers: &[u16], calls: usize) -> (Vec<(HeaderMap, String)>, tempfile::TempDir) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let site = Site::start(1, true, &runtime);
    let (receiver, address) = receiver(answers, &runtime);
    let secret = dir.path().join("secret");
    std::fs::write(&secret, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n").unwrap();
    let toml = format!(
        "[budget]\npolls = \"3600/h\"\nper_host_gap = \"1s\"\n[fetch]\nrobots = false\nallow = [\"{}\", \"{address}\"]\n\
         [[source]]\nurl = \"{}\"\n[[webhook]]\nurl = \"http://{address}/hook\"\nsecret_file = \"{}\"\n",
        site.address,
        site.url(0),
        secret.display()
    );
    let clock = Arc::new(Clock::manual(Time::from_secs(1_790_000_000)));
    let own = Arc::clone(&clock);
    let config = Arc::new(config(&dir.path().join("data"), &toml));
    let mut core = Core::open(config, runtime.handle().clone(), move |_| own).unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while receiver.calls.lock().unwrap().len() < calls {
        assert!(Instant::now() < deadline, "only {} calls", receiver.calls.lock().unwrap().len());
        let messages = core.messages();
        core.turn(messages).unwrap();
        clock.advance(Span::from_micros(200_000));
        std::thread::sleep(Duration::from_millis(2));
    }
    let calls = receiver.calls.lock().unwrap().clone();
    (calls, dir)
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).unwrap().to_str().unwrap()
}

#[test]
fn every_call_is_signed_and_says_which_event_it_is() {
    let (calls, _dir) = told(&[], 3);
    let key =
        signature::key(&fetch::Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")).unwrap();
    for (headers, body) in &calls {
        let event: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(event["id"], header(headers, "webhook-id"));
        let timestamp = header(headers, "webhook-timestamp").parse().unwrap();
        let expected = signature::sign(&key, header(headers, "webhook-id"), timestamp, body);
        assert_eq!(header(headers, "webhook-signature"), expected);
    }
    let ids: Vec<&str> = calls.iter().map(|(headers, _)| header(headers, "webhook-id")).collect();
    assert!(ids.is_sorted(), "in order: {ids:?}");
}

#[test]
fn a_refused_event_comes_again_before_the_next_of_its_source() {
    let (calls, _dir) = told(&[500, 503], 4);
    let ids: Vec<&str> = calls.iter().map(|(headers, _)| header(headers, "webhook-id")).collect();
    assert_eq!([ids[1], ids[2]], [ids[0], ids[0]], "twice refused, three times sent");
    assert!(ids[3] > ids[0]);
}

#[test]
fn a_receiver_that_is_gone_makes_a_dead_letter_and_the_next_event_goes_on() {
    let (calls, dir) = told(&[410], 2);
    let ids: Vec<&str> = calls.iter().map(|(headers, _)| header(headers, "webhook-id")).collect();
    assert!(ids[1] > ids[0], "not the same again");
    let reader = store::Reader::open(dir.path().join("data")).unwrap();
    let (sink, _) = reader.sinks().unwrap()[0].clone();
    let dead = reader.dead_letters(sink, 0, 10).unwrap();
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].event.id, ids[0]);
}
