//! Ordinary polls: conditional requests, logins, redirects that lead somewhere, hosts that are busy.

use std::time::Duration;

use fetch::{Auth, Client, Open, Outcome, Secret, Settings, Validators};

use crate::server::{
    Server, body, check, fetch, line, ok, path, poll, redirect, request, settings,
};

fn conditional(
    name: &'static str,
    mark: &'static str,
    value: &'static str,
) -> impl Fn(&str) -> Vec<u8> {
    move |head| {
        if line(head, name) == Some(value) {
            return b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec();
        }
        ok(&format!("{mark}: {value}\r\n"), "first")
    }
}

#[tokio::test]
async fn a_mark_sent_back_saves_the_body() {
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    for server in [
        Server::replying(conditional("if-none-match", "etag", "W/\"a b\"")).await,
        Server::replying(conditional("if-modified-since", "last-modified", date)).await,
    ] {
        let client = Client::new(settings()).unwrap();
        let first = client.fetch(&request(server.url("/")), &Open).await;
        let Outcome::Fetched(response) = first.outcome else { panic!("{}", first.outcome) };
        let again =
            request(server.url("/")).with_validators(response.validators.clone(), first.url);
        let second = client.fetch(&again, &Open).await;
        assert_eq!(second.outcome, Outcome::NotModified(response.validators));
    }
}

/// The mark belongs to where the redirect led, and still works there.
#[tokio::test]
async fn a_mark_works_behind_a_redirect() {
    let server = Server::replying(|head| match path(head) {
        "/" => redirect(302, "/there").into_bytes(),
        _ => conditional("if-none-match", "etag", "\"1\"")(head),
    })
    .await;
    let first = fetch(server.url("/")).await;
    let Outcome::Fetched(response) = first.outcome else { panic!("{}", first.outcome) };
    let again = request(server.url("/")).with_validators(response.validators, first.url);
    let second = Client::new(settings()).unwrap().fetch(&again, &Open).await;
    check(&second, "not_modified");
    let shown: Vec<bool> =
        server.heads().iter().map(|head| line(head, "if-none-match").is_some()).collect();
    assert_eq!(shown, [false, false, false, true]);
}

#[tokio::test]
async fn a_changed_source_answers_a_conditional_request_with_its_body() {
    let server = Server::saying(ok("etag: \"2\"\r\n", "second")).await;
    let old = Validators { etag: Some("\"1\"".into()), last_modified: None };
    let request = request(server.url("/")).with_validators(old, server.url("/"));
    let answer = Client::new(settings()).unwrap().fetch(&request, &Open).await;
    assert_eq!(body(&answer), b"second");
}

#[tokio::test]
async fn an_answer_is_told_in_full() {
    let server = Server::saying(ok(
        "content-type: Text/HTML; charset=UTF-8\r\nlast-modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
         x-twice: a\r\nx-twice: b\r\n",
        "hello",
    ))
    .await;
    let answer = fetch(server.url("/a?b#c")).await;
    assert_eq!(answer.url, server.url("/a?b"));
    assert_eq!((answer.requests, answer.crawl_delay, answer.hops.len()), (1, None, 0));
    let Outcome::Fetched(response) = answer.outcome else { panic!("{}", answer.outcome) };
    let media = response.media.unwrap();
    assert_eq!((media.essence.as_str(), media.charset.as_deref()), ("text/html", Some("utf-8")));
    assert_eq!(response.last_modified, Some("1994-11-06T08:49:37Z".parse().unwrap()));
    let twice: Vec<_> = response.headers.iter().filter(|(name, _)| name == "x-twice").collect();
    assert_eq!(twice.len(), 2);
    assert_eq!((response.status, response.wire_bytes, &response.body[..]), (200, 5, &b"hello"[..]));
}

#[tokio::test]
async fn we_say_who_we_are() {
    let server = Server::saying(ok("", "hi")).await;
    let contact = Some("https://example.org/bot".to_owned());
    poll(Settings { contact, ..settings() }, server.url("/")).await;
    fetch(server.url("/")).await;
    let agents: Vec<_> =
        server.heads().iter().map(|head| line(head, "user-agent").unwrap().to_owned()).collect();
    let us = concat!("tidewatch/", env!("CARGO_PKG_VERSION"));
    assert_eq!(agents, [format!("{us} (+https://example.org/bot)"), us.to_owned()]);
    for contact in ["", "a\r\nb", "grüße", "a) b"] {
        let contact = Some(contact.to_owned());
        assert!(Client::new(Settings { contact, ..settings() }).is_err());
    }
}

#[tokio::test]
async fn a_login_is_sent_as_asked() {
    let server = Server::saying(ok("", "hi")).await;
    let mut written = server.url("/");
    written.set_username("Aladdin").unwrap();
    written.set_password(Some("open sesame")).unwrap();
    let password = Secret::new("open sesame");
    let client = Client::new(settings()).unwrap();
    for request in [
        request(server.url("/")).with_auth(Auth::Basic { user: "Aladdin".into(), password }),
        request(written),
    ] {
        client.fetch(&request, &Open).await;
    }
    for head in server.heads() {
        // the example of RFC 7617, section 2
        let expected = "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==";
        assert_eq!(line(&head, "authorization"), Some(expected));
        assert!(head.starts_with("GET / HTTP/1.1"));
    }
}

#[tokio::test]
async fn a_source_that_moved_for_good_is_told_from_one_that_is_elsewhere_today() {
    let server = Server::replying(|head| match path(head) {
        "/old" => redirect(301, "/new").into_bytes(),
        "/new" => redirect(308, "/newest").into_bytes(),
        "/newest" => redirect(307, "/today").into_bytes(),
        "/today" => redirect(301, "/end").into_bytes(),
        "/moody" => redirect(303, "/end").into_bytes(),
        _ => ok("", "end"),
    })
    .await;
    let moved = fetch(server.url("/old")).await;
    assert_eq!((body(&moved), moved.url.path(), moved.requests), (&b"end"[..], "/end", 5));
    assert_eq!(moved.moved_to().unwrap().path(), "/newest");
    assert_eq!(fetch(server.url("/moody")).await.moved_to(), None);
}

#[tokio::test]
async fn a_source_that_is_gone() {
    for status in [404, 410] {
        let server =
            Server::saying(format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n")).await;
        assert_eq!(fetch(server.url("/")).await.outcome, Outcome::Gone { status });
    }
}

#[tokio::test]
async fn a_busy_host_says_how_long() {
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(100);
    let date = soon.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    for (status, header, seconds) in [
        (429, "retry-after: 120\r\n".to_owned(), Some(120..=120)),
        (503, format!("retry-after: {date}\r\n"), Some(90..=100)),
        (503, "retry-after: later\r\n".to_owned(), None),
        (429, String::new(), None),
    ] {
        let reply = format!("HTTP/1.1 {status} Busy\r\n{header}content-length: 0\r\n\r\n");
        let server = Server::saying(reply).await;
        let answer = fetch(server.url("/")).await;
        let Outcome::Busy { status: heard, retry_after } = answer.outcome else { panic!() };
        assert_eq!(heard, status);
        let wait = retry_after.as_ref().map(Duration::as_secs);
        assert_eq!(wait.is_some(), seconds.is_some());
        assert!(
            wait.zip(seconds).is_none_or(|(wait, seconds)| seconds.contains(&wait)),
            "{wait:?}"
        );
    }
}
