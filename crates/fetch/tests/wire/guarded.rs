//! Where requests may not go: literals, names, redirects, names that change their mind, proxies.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fetch::{Client, Guard, Open, Outcome, Refusal, Settings};

use crate::server::{
    Names, Server, body, check, fetch, line, ok, path, poll, redirect, request, say, settings,
};

fn guarded() -> Settings {
    Settings { guard: Guard::default(), ..settings() }
}

#[tokio::test]
async fn a_literal_in_any_spelling_is_never_asked() {
    let server = Server::saying(ok("", "secret")).await;
    let port = server.address.port();
    for host in ["127.0.0.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "0.0.0.0", "localhost"]
    {
        let url = format!("http://{host}:{port}/").parse().unwrap();
        check(&poll(guarded(), url).await, "guard");
    }
    assert!(server.heads().is_empty());
}

#[tokio::test]
async fn the_machines_own_names_are_guarded_too() {
    let server = Server::saying(ok("", "secret")).await;
    let url = format!("http://localhost:{}/", server.address.port()).parse().unwrap();
    let answer = poll(Settings { lookup: None, ..guarded() }, url).await;
    check(&answer, "guard");
    let text = answer.outcome.to_string();
    assert!(text.contains("loopback") && text.contains("`fetch.allow`"), "{text}");
    assert!(server.heads().is_empty());
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_not_followed() {
    let inside =
        Server::at("127.0.0.2:0".parse().unwrap(), |_, stream| say(stream, ok("", "secret"))).await;
    let (literal, port) = (inside.url("/"), inside.address.port());
    let lookup = Arc::new(Names(|name: &str| {
        vec![if name == "inside.test" { "127.0.0.2" } else { "127.0.0.1" }]
    }));
    for target in [literal.to_string(), format!("http://inside.test:{port}/")] {
        let server = Server::saying(redirect(302, target)).await;
        let settings = Settings { lookup: Some(lookup.clone()), ..settings() };
        let answer = poll(settings, server.url("/")).await;
        check(&answer, "guard");
        assert_eq!(answer.hops.len(), 1);
    }
    assert!(inside.heads().is_empty());
}

/// The name is harmless when first looked up and private the next time. The second connection goes to
/// no address that was not checked.
#[tokio::test]
async fn a_name_that_changes_its_mind_is_caught_at_the_connection() {
    let outside = Server::saying(ok("connection: close\r\n", "public")).await;
    let port = outside.address.port();
    let inside = Server::at(format!("127.0.0.2:{port}").parse().unwrap(), |_, stream| {
        say(stream, ok("", "secret"))
    })
    .await;
    let lookups = AtomicUsize::new(0);
    let lookup = Names(move |_: &str| match lookups.fetch_add(1, Ordering::Relaxed) {
        0 => vec!["127.0.0.1"],
        1 => vec!["127.0.0.2"],
        _ => vec!["127.0.0.2", "127.0.0.1"],
    });
    let settings = Settings { lookup: Some(Arc::new(lookup)), ..settings() };
    let client = Client::new(settings).unwrap();
    let request = request(format!("http://rebinding.test:{port}/").parse().unwrap());
    let mut codes = Vec::new();
    for _ in 0..3 {
        codes.push(client.fetch(&request, &Open).await.outcome.code());
    }
    // of two addresses the forbidden one is dropped, the other is asked
    assert_eq!(codes, ["fetched", "guard", "fetched"]);
    assert!(inside.heads().is_empty());
}

#[tokio::test]
async fn an_unknown_name_is_unreachable_not_refused() {
    let settings = Settings { lookup: Some(Arc::new(Names(|_: &str| vec![]))), ..settings() };
    check(&poll(settings, "http://nowhere.test/".parse().unwrap()).await, "dns");
}

#[tokio::test]
async fn an_exception_with_a_port_opens_that_port() {
    let (open, shut) = (Server::saying(ok("", "hi")).await, Server::saying(ok("", "secret")).await);
    let guard = Guard::allowing([open.address.to_string().as_str()]).unwrap();
    for (server, code) in [(&open, "fetched"), (&shut, "guard")] {
        let settings = Settings { guard: guard.clone(), ..settings() };
        check(&poll(settings, server.url("/")).await, code);
    }
    assert!(shut.heads().is_empty());
}

#[tokio::test]
async fn a_configured_proxy_is_used_and_may_be_anywhere() {
    let proxy = Server::replying(|head| ok("", format!("proxied {}", path(head)))).await;
    let lookup = Arc::new(Names(|name: &str| match name {
        "news.test" => vec!["93.184.216.34"],
        "inside.test" => vec!["10.0.0.1"],
        "proxy.test" => vec!["127.0.0.1"],
        _ => vec![],
    }));
    let proxied = || Settings {
        proxy: Some(format!("http://proxy.test:{}", proxy.address.port()).parse().unwrap()),
        lookup: Some(lookup.clone()),
        ..guarded()
    };
    for (url, code) in [
        ("http://news.test/a", "fetched"),
        ("http://93.184.216.34/b", "fetched"),
        ("http://inside.test/", "guard"),
        ("http://10.0.0.1/", "guard"),
        ("http://proxy.test/", "guard"),
        // only the proxy can know it, so the proxy must judge
        ("http://known-to-the-proxy.test/c", "fetched"),
    ] {
        check(&poll(proxied(), url.parse().unwrap()).await, code);
    }
    let asked =
        ["http://news.test/a", "http://93.184.216.34/b", "http://known-to-the-proxy.test/c"];
    assert_eq!(proxy.paths(), asked);
}

#[tokio::test]
async fn credentials_stay_with_the_origin_they_were_given_for() {
    let other = Server::saying(ok("", "other")).await;
    let elsewhere = other.url("/end");
    let own = Server::replying(move |head| match path(head) {
        "/start" => redirect(302, "/same"),
        "/same" => redirect(302, &elsewhere),
        _ => unreachable!(),
    })
    .await;
    let request = request(own.url("/start"))
        .with_auth(fetch::Auth::Bearer(fetch::Secret::new("token")))
        .with_header("Cookie", &fetch::Secret::new("session=1"))
        .unwrap()
        .with_header("X-Api-Key", &fetch::Secret::new("key"))
        .unwrap();
    let answer = Client::new(settings()).unwrap().fetch(&request, &Open).await;
    assert_eq!(body(&answer), b"other");
    assert_eq!(own.paths(), ["/start", "/same"]);
    for head in own.heads() {
        assert_eq!(line(&head, "authorization"), Some("Bearer token"));
        assert_eq!(line(&head, "cookie"), Some("session=1"));
        assert_eq!(line(&head, "x-api-key"), Some("key"));
    }
    let seen_elsewhere = other.heads().concat();
    for secret in ["authorization", "cookie", "x-api-key", "token", "session", "referer"] {
        assert!(!seen_elsewhere.contains(secret), "{seen_elsewhere}");
    }
}

#[tokio::test]
async fn credentials_in_a_location_are_dropped() {
    let server = Server::start(|head, stream| {
        let host = line(&head, "host").unwrap().to_owned();
        let reply = match path(&head) {
            "/" => redirect(302, format!("http://root:toor@{host}/end")).into_bytes(),
            _ => ok("", "end"),
        };
        say(stream, reply)
    })
    .await;
    let answer = fetch(server.url("/")).await;
    check(&answer, "fetched");
    assert_eq!(answer.url, server.url("/end"));
    assert!(!server.heads().concat().contains("authorization"));
}

#[tokio::test]
async fn a_refusal_names_the_address_and_what_lies_there() {
    let answer = poll(guarded(), "http://169.254.169.254/latest".parse().unwrap()).await;
    let Outcome::Refused(Refusal::Guard(guarded)) = answer.outcome else { panic!() };
    assert_eq!(guarded.realm, "cloud metadata");
    assert_eq!(answer.requests, 0);
}
