//! Servers that misbehave, one tiny handler per misdeed. Every poll ends in its outcome, in time.

use std::time::Duration;

use fetch::{Broken, Limits, Outcome, Settings};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::server::{Server, body, check, fetch, ok, poll, redirect, request, say, settings};

const TICK: Duration = Duration::from_millis(50);

async fn dribble(mut stream: TcpStream, start: &str, piece: &str, pause: Duration) {
    let mut sent = stream.write_all(start.as_bytes()).await;
    while sent.is_ok() {
        sleep(pause).await;
        sent = stream.write_all(piece.as_bytes()).await;
    }
}

async fn flood(stream: TcpStream, start: &str, piece: &str) {
    dribble(stream, start, &piece.repeat(1000), Duration::ZERO).await;
}

#[tokio::test]
async fn headers_that_dribble_run_out_of_time() {
    let server =
        Server::start(|_, stream| dribble(stream, "HTTP/1.1 200 OK\r\nx: ", "y", TICK)).await;
    check(&fetch(server.url("/")).await, "timeout_header");
}

#[tokio::test]
async fn silence_runs_out_of_time() {
    let server = Server::start(|_, stream| dribble(stream, "", "", Duration::from_secs(9))).await;
    check(&fetch(server.url("/")).await, "timeout_header");
}

#[tokio::test]
async fn endless_headers_are_cut_off() {
    let server =
        Server::start(|_, stream| flood(stream, "HTTP/1.1 200 OK\r\n", "x-y: zzzzzzzzzz\r\n"))
            .await;
    check(&fetch(server.url("/")).await, "not_http");
}

#[tokio::test]
async fn an_endless_header_is_cut_off() {
    let server =
        Server::start(|_, stream| flood(stream, "HTTP/1.1 200 OK\r\nx: ", "zzzzzzzz")).await;
    check(&fetch(server.url("/")).await, "not_http");
}

#[tokio::test]
async fn a_huge_header_is_refused() {
    let server = Server::saying(ok(&format!("x: {}\r\n", "y".repeat(100 << 10)), "hi")).await;
    check(&fetch(server.url("/")).await, "headers_too_big");
}

#[tokio::test]
async fn a_flood_of_informational_answers_runs_out_of_time() {
    let server =
        Server::start(|_, stream| flood(stream, "", "HTTP/1.1 100 Continue\r\n\r\n")).await;
    check(&fetch(server.url("/")).await, "timeout_header");
}

#[tokio::test]
async fn an_endless_body_is_too_big() {
    let server =
        Server::start(|_, stream| flood(stream, "HTTP/1.1 200 OK\r\n\r\n", "zzzzzzzz")).await;
    let mut settings = settings();
    settings.limits.max_body = 1 << 20;
    check(&poll(settings, server.url("/")).await, "too_big");
}

#[tokio::test]
async fn a_body_that_says_it_is_too_big_is_not_read() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n";
    let server = Server::start(|_, stream| dribble(stream, head, "x", TICK)).await;
    let answer = fetch(server.url("/")).await;
    check(&answer, "too_big");
    assert!(answer.elapsed < settings().limits.idle);
}

#[tokio::test]
async fn a_body_that_stalls_runs_out_of_patience() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc";
    let server = Server::start(|_, stream| dribble(stream, head, "", Duration::from_secs(9))).await;
    check(&fetch(server.url("/")).await, "timeout_idle");
}

#[tokio::test]
async fn a_body_that_dribbles_runs_out_of_time() {
    let server =
        Server::start(|_, stream| dribble(stream, "HTTP/1.1 200 OK\r\n\r\n", "x", TICK)).await;
    check(&fetch(server.url("/")).await, "timeout_total");
}

#[tokio::test]
async fn a_body_shorter_than_its_length_is_no_version() {
    let server = Server::saying("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc").await;
    check(&fetch(server.url("/")).await, "cut_short");
}

#[tokio::test]
async fn chunks_that_stop_early_are_no_version() {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    for chunks in ["3\r\nabc\r\n", "9\r\nabc", "zz\r\nabc\r\n", "3\r\nabcdef\r\n"] {
        let server = Server::saying(format!("{head}{chunks}")).await;
        check(&fetch(server.url("/")).await, "cut_short");
    }
}

/// What follows the announced length is not the body: a client cannot tell it from another answer.
#[tokio::test]
async fn a_body_longer_than_its_length_ends_where_it_said() {
    let server = Server::saying("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabcdef").await;
    let answer = fetch(server.url("/")).await;
    check(&answer, "fetched");
    assert_eq!(body(&answer), b"abc");
}

#[tokio::test]
async fn lengths_that_contradict_each_other_are_not_http() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd";
    let server = Server::saying(head).await;
    check(&fetch(server.url("/")).await, "not_http");
}

#[tokio::test]
async fn a_reset_before_the_answer_is_a_broken_connection() {
    let server = Server::start(|_, stream| async move { stream.set_zero_linger().unwrap() }).await;
    check(&fetch(server.url("/")).await, "reset");
}

#[tokio::test]
async fn a_reset_in_the_body_is_a_broken_connection() {
    let server = Server::start(|_, mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc").await.unwrap();
        sleep(TICK).await;
        stream.set_zero_linger().unwrap();
    })
    .await;
    check(&fetch(server.url("/")).await, "reset");
}

#[tokio::test]
async fn nonsense_in_place_of_an_answer_is_not_http() {
    for reply in [
        "",
        "<html>HTTP/0.9 says hello</html>",
        "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/9.9 200 OK\r\n\r\n",
        "SSH-2.0-OpenSSH_9.9\r\n",
        "HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-le",
    ] {
        let server = Server::saying(reply).await;
        check(&fetch(server.url("/")).await, "not_http");
    }
}

#[tokio::test]
async fn nobody_listening_is_no_connection() {
    let server = Server::saying("").await;
    let mut url = server.url("/");
    url.set_port(Some(1)).unwrap();
    check(&fetch(url).await, "connect");
}

#[tokio::test]
async fn redirects_in_a_circle() {
    let itself = Server::replying(|_| redirect(302, "/")).await;
    check(&fetch(itself.url("/")).await, "redirect_loop");
    let pair = Server::replying(|head| {
        redirect(301, if head.starts_with("GET /a") { "/b" } else { "/a#again" })
    })
    .await;
    let answer = fetch(pair.url("/a")).await;
    check(&answer, "redirect_loop");
    assert_eq!(answer.requests, 2);
}

#[tokio::test]
async fn a_chain_of_redirects_ends_at_the_limit() {
    let server = Server::replying(|head| {
        let step: u32 = crate::server::path(head)[1..].parse().unwrap();
        redirect(302, format!("/{}", step + 1))
    })
    .await;
    let answer = fetch(server.url("/0")).await;
    check(&answer, "too_many_redirects");
    assert_eq!((answer.requests, answer.hops.len()), (6, 5));
    assert_eq!(answer.url.path(), "/5");
}

#[tokio::test]
async fn redirects_to_nowhere() {
    for location in ["", "http://", "http://[", "gopher://x/", "file:///etc/passwd", "http://a b/"]
    {
        let server = Server::saying(redirect(302, location)).await;
        // an empty reference means the page itself
        let code = if location.is_empty() { "redirect_loop" } else { "bad_location" };
        check(&fetch(server.url("/")).await, code);
    }
    let server = Server::saying("HTTP/1.1 301 Moved\r\ncontent-length: 0\r\n\r\n").await;
    check(&fetch(server.url("/")).await, "bad_location");
}

#[tokio::test]
async fn a_304_nobody_asked_for_is_no_news() {
    let server = Server::saying("HTTP/1.1 304 Not Modified\r\netag: \"1\"\r\n\r\n").await;
    check(&fetch(server.url("/")).await, "unasked_not_modified");
}

#[tokio::test]
async fn a_body_after_a_304_spoils_no_later_answer() {
    let server = Server::start(|_, stream| {
        say(stream, b"HTTP/1.1 304 Not Modified\r\n\r\nHTTP/1.1 200 OK\r\n\r\nforged".to_vec())
    })
    .await;
    let client = fetch::Client::new(settings()).unwrap();
    let marks = fetch::Validators { etag: Some("\"1\"".into()), last_modified: None };
    let request = request(server.url("/")).with_validators(marks, server.url("/"));
    for _ in 0..3 {
        check(&client.fetch(&request, &fetch::Open).await, "not_modified");
    }
}

#[tokio::test]
async fn a_change_in_the_future_is_not_believed() {
    let server = Server::saying(ok(
        "last-modified: Fri, 01 Jan 2999 00:00:00 GMT\r\ndate: Fri, 01 Jan 2999 00:00:00 GMT\r\n",
        "hi",
    ))
    .await;
    let answer = fetch(server.url("/")).await;
    let Outcome::Fetched(response) = answer.outcome else { panic!("{}", answer.outcome) };
    assert_eq!(response.last_modified, None);
    assert!(response.validators.last_modified.is_some());
}

#[tokio::test]
async fn statuses_without_a_body_to_read_are_unusable() {
    for status in [204, 206, 300, 305, 400, 401, 403, 418, 451] {
        let reply = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n");
        let server = Server::saying(reply).await;
        let answer = fetch(server.url("/")).await;
        assert_eq!(answer.outcome, Outcome::Broken(Broken::Status(status)));
    }
    for status in [500, 502, 504, 599, 999] {
        let server =
            Server::saying(format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n")).await;
        check(&fetch(server.url("/")).await, "server_error");
    }
}

/// What a body means is not for this room: bytes in, bytes out.
#[tokio::test]
async fn bytes_are_passed_on_as_they_are() {
    let nested = "<ul><li>".repeat(32 << 10);
    assert_eq!(nested.len(), 256 << 10);
    for (label, bytes) in [
        ("text/html; charset=no-such-thing", b"\xff\xfe\x00\xd8".as_slice()),
        ("text/html; charset=utf-8", b"\xc3\x28\xed\xa0\x80"),
        ("text/html", nested.as_bytes()),
    ] {
        let server = Server::saying(ok(&format!("content-type: {label}\r\n"), bytes)).await;
        let answer = fetch(server.url("/")).await;
        check(&answer, "fetched");
        assert_eq!(body(&answer), bytes);
    }
}

#[tokio::test]
async fn a_name_server_that_hangs_runs_out_of_time() {
    struct Hanging;
    impl fetch::Lookup for Hanging {
        fn addresses<'a>(&'a self, _: &'a str) -> fetch::Looking<'a> {
            Box::pin(std::future::pending())
        }
    }
    let limits = Limits { header: Duration::from_secs(2), ..settings().limits };
    let settings = Settings { lookup: Some(std::sync::Arc::new(Hanging)), limits, ..settings() };
    check(&poll(settings, "http://slow.test/".parse().unwrap()).await, "timeout_connect");
}
