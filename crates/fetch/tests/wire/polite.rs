//! Politeness: robots.txt over the wire, and leave asked for every request beyond the first.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use fetch::{Client, Doorman, Host, Leave, Open, Outcome, Refusal, Settings};

use crate::server::{Server, body, check, ok, path, poll, redirect, request, settings};

fn obeying() -> Settings {
    Settings { robots: true, ..settings() }
}

/// A host with a robots.txt and pages that say `page`.
async fn host(robots: Vec<u8>) -> Server {
    Server::replying(move |head| match path(head) {
        "/robots.txt" => robots.clone(),
        _ => ok("", "page"),
    })
    .await
}

fn status(status: u16) -> Vec<u8> {
    format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n").into_bytes()
}

/// Writes down who was asked for, and says the same to all.
struct Porter {
    leave: Leave,
    asked: Mutex<Vec<Host>>,
}

impl Porter {
    fn saying(leave: Leave) -> Self {
        Self { leave, asked: Mutex::default() }
    }
}

impl Doorman for Porter {
    async fn enter(&self, host: &Host) -> Leave {
        self.asked.lock().unwrap().push(host.clone());
        self.leave
    }
}

#[tokio::test]
async fn what_robots_txt_disallows_is_not_asked_for() {
    let rules = "User-agent: tidewatch/0.1\nDisallow: /private\nCrawl-delay: 7\n";
    let server = host(ok("", rules)).await;
    let client = Client::new(obeying()).unwrap();
    let public = client.fetch(&request(server.url("/public")), &Open).await;
    check(&public, "fetched");
    assert_eq!((public.requests, public.crawl_delay), (2, Some(Duration::from_secs(7))));
    let private = client.fetch(&request(server.url("/private/x")), &Open).await;
    check(&private, "robots");
    assert_eq!((private.requests, private.crawl_delay), (0, Some(Duration::from_secs(7))));
    assert_eq!(server.paths(), ["/robots.txt", "/public"]);
}

#[tokio::test]
async fn a_user_may_decide_to_ignore_it() {
    let server = host(ok("", "User-agent: *\nDisallow: /\n")).await;
    check(&poll(settings(), server.url("/")).await, "fetched");
    assert_eq!(server.paths(), ["/"]);
}

#[tokio::test]
async fn no_robots_txt_means_no_rules() {
    for reply in
        [status(404), status(410), status(401), status(403), redirect(301, "/robots.txt").into()]
    {
        let server = host(reply).await;
        check(&poll(obeying(), server.url("/")).await, "fetched");
    }
}

#[tokio::test]
async fn a_robots_txt_that_cannot_be_had_shuts_the_host() {
    for (reply, code) in [
        (status(500), "server_error"),
        (status(503), "busy"),
        (status(429), "busy"),
        (Vec::new(), "not_http"),
        (ok("content-encoding: gzip\r\n", "not gzip"), "robots_unreadable"),
    ] {
        let server = host(reply).await;
        let client = Client::new(obeying()).unwrap();
        for _ in 0..2 {
            check(&client.fetch(&request(server.url("/")), &Open).await, code);
        }
        // remembered for some minutes, not asked again with every poll
        assert_eq!(server.paths(), ["/robots.txt"]);
    }
}

#[tokio::test]
async fn a_robots_txt_may_be_behind_redirects_to_another_host() {
    let other = Server::saying(ok("", "User-agent: *\nDisallow: /private\n")).await;
    let server = host(redirect(301, other.url("/rules.txt")).into_bytes()).await;
    let client = Client::new(obeying()).unwrap();
    let porter = Porter::saying(Leave::Go);
    check(&client.fetch(&request(server.url("/private")), &porter).await, "robots");
    // the poll's own leave went into the first request, the one for robots.txt
    let asked = [other.url("/").as_str().parse().unwrap()];
    assert_eq!(*porter.asked.lock().unwrap(), asked);
}

#[tokio::test]
async fn only_the_start_of_a_long_robots_txt_counts() {
    let filler = "# nothing here\n".repeat(50_000);
    let rules = format!("User-agent: *\nDisallow: /early\n{filler}Disallow: /late\n");
    let server = host(ok("", rules)).await;
    let mut settings = obeying();
    settings.limits.max_body = 4 << 20;
    let client = Client::new(settings).unwrap();
    check(&client.fetch(&request(server.url("/early")), &Open).await, "robots");
    check(&client.fetch(&request(server.url("/late")), &Open).await, "fetched");
}

#[tokio::test]
async fn polls_that_arrive_together_ask_for_robots_txt_once() {
    let server = host(ok("", "User-agent: *\nDisallow: /x\n")).await;
    let client = Arc::new(Client::new(obeying()).unwrap());
    let polls = [server.url("/1"), server.url("/2")].map(|url| {
        let client = Arc::clone(&client);
        tokio::spawn(async move { client.fetch(&request(url), &Open).await })
    });
    for poll in polls {
        check(&poll.await.unwrap(), "fetched");
    }
    let asked = server.paths().iter().filter(|path| *path == "/robots.txt").count();
    assert_eq!((asked, server.paths().len()), (1, 3));
}

#[tokio::test]
async fn a_redirect_obeys_the_robots_txt_of_where_it_leads() {
    let other = host(ok("", "User-agent: *\nDisallow: /\n")).await;
    let target = other.url("/page");
    let server = Server::replying(move |head| match path(head) {
        "/robots.txt" => status(404),
        _ => redirect(302, &target).into_bytes(),
    })
    .await;
    let answer = poll(obeying(), server.url("/")).await;
    let Outcome::Refused(Refusal::Robots(whose)) = &answer.outcome else { panic!() };
    assert_eq!(whose.to_string(), other.url("/").as_str().trim_end_matches('/'));
    assert_eq!(other.paths(), ["/robots.txt"]);
}

#[tokio::test]
async fn leave_is_asked_for_every_request_but_the_polls_own_first() {
    let other = Server::saying(ok("", "end")).await;
    let target = other.url("/end");
    let server = Server::replying(move |head| match path(head) {
        "/" => redirect(302, "/same"),
        _ => redirect(302, &target),
    })
    .await;
    let client = Client::new(settings()).unwrap();
    let porter = Porter::saying(Leave::Go);
    let answer = client.fetch(&request(server.url("/")), &porter).await;
    assert_eq!((body(&answer), answer.requests), (&b"end"[..], 3));
    let hosts = [&server, &other].map(|server| server.url("/").as_str().parse().unwrap());
    assert_eq!(*porter.asked.lock().unwrap(), hosts);
}

#[tokio::test]
async fn without_leave_nothing_goes_out() {
    let server = Server::replying(|_| redirect(302, "/next")).await;
    let porter = Porter::saying(Leave::Stop);
    let client = Client::new(settings()).unwrap();
    let answer = client.fetch(&request(server.url("/")), &porter).await;
    check(&answer, "no_leave");
    assert_eq!((answer.requests, server.paths().len()), (1, 1));

    let server = host(status(404)).await;
    let client = Client::new(obeying()).unwrap();
    // the poll's own leave is spent on robots.txt, and the page has to wait for another
    check(&client.fetch(&request(server.url("/")), &porter).await, "no_leave");
    assert_eq!(server.paths(), ["/robots.txt"]);
    check(&client.fetch(&request(server.url("/")), &Open).await, "fetched");
}

/// Waiting for a host's gap is not the server's slowness.
#[tokio::test]
async fn time_at_the_door_is_not_counted() {
    struct Slow;
    impl Doorman for Slow {
        async fn enter(&self, _: &Host) -> Leave {
            tokio::time::sleep(Duration::from_secs(2)).await;
            Leave::Go
        }
    }
    assert!(settings().limits.total < Duration::from_secs(2));
    let server = Server::replying(|head| match path(head) {
        "/" => redirect(302, "/next").into_bytes(),
        _ => ok("", "end"),
    })
    .await;
    let client = Client::new(settings()).unwrap();
    let answer = client.fetch(&request(server.url("/")), &Slow).await;
    check(&answer, "fetched");
    assert!(answer.elapsed < Duration::from_secs(1));
}

#[tokio::test]
async fn the_rules_of_a_host_can_be_asked_for() {
    let server = host(ok("", "User-agent: *\nDisallow: /private\nCrawl-delay: 1\n")).await;
    let client = Client::new(settings()).unwrap();
    let robots = client.robots(request(server.url("/")).host(), &Open).await.unwrap();
    assert!(robots.allows(&server.url("/")) && !robots.allows(&server.url("/private")));
    assert_eq!(robots.crawl_delay(), Some(Duration::from_secs(1)));
}
