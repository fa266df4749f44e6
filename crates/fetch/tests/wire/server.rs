//! A server that does what it is told, right or wrong, and remembers what it was asked.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fetch::{Answer, Client, Guard, Limits, Looking, Lookup, Open, Request, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

/// On loopback until the test ends.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Reads one request per connection, then leaves the socket to `answer`.
    pub(crate) async fn start<F, A>(answer: F) -> Self
    where
        F: Fn(String, TcpStream) -> A + Send + Sync + 'static,
        A: Future<Output = ()> + Send + 'static,
    {
        Self::at("127.0.0.1:0".parse().unwrap(), answer).await
    }

    pub(crate) async fn at<F, A>(address: SocketAddr, answer: F) -> Self
    where
        F: Fn(String, TcpStream) -> A + Send + Sync + 'static,
        A: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&heads);
        let answer = Arc::new(answer);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (answer, heard) = (Arc::clone(&answer), Arc::clone(&heard));
                tokio::spawn(async move {
                    let Some(head) = head(&mut stream).await else { return };
                    heard.lock().unwrap().push(head.clone());
                    answer(head, stream).await;
                });
            }
        });
        Self { address, heads }
    }

    /// Says the same to everyone.
    pub(crate) async fn saying(reply: impl Into<Vec<u8>>) -> Self {
        let reply = reply.into();
        Self::start(move |_, stream| say(stream, reply.clone())).await
    }

    /// Says what `reply` makes of the request's head.
    pub(crate) async fn replying<R: Into<Vec<u8>>>(
        reply: impl Fn(&str) -> R + Send + Sync + 'static,
    ) -> Self {
        Self::start(move |head, stream| say(stream, reply(&head).into())).await
    }

    pub(crate) fn url(&self, path: &str) -> Url {
        format!("http://{}{path}", self.address).parse().unwrap()
    }

    /// The heads of all requests so far, header names in lower case.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// The paths asked for so far.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.heads().iter().map(|head| path(head).to_owned()).collect()
    }
}

/// The path of a request's head.
pub(crate) fn path(head: &str) -> &str {
    head.split(' ').nth(1).unwrap()
}

/// The value of a header line in a request's head.
pub(crate) fn line<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

async fn head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}

/// Writes all, says so, and waits for the other side to hang up, so that nothing is reset.
pub(crate) async fn say(mut stream: TcpStream, reply: Vec<u8>) {
    let _ = stream.write_all(&reply).await;
    let _ = stream.shutdown().await;
    let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
}

/// A well-formed answer with a length.
pub(crate) fn ok(headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let reply = format!("HTTP/1.1 200 OK\r\n{headers}content-length: {}\r\n\r\n", body.len());
    let mut reply = reply.into_bytes();
    reply.extend_from_slice(body);
    reply
}

pub(crate) fn redirect(status: u16, to: impl std::fmt::Display) -> String {
    format!("HTTP/1.1 {status} Moved\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")
}

/// Names as a test wants them.
pub(crate) struct Names<F>(pub(crate) F);

impl<F: Fn(&str) -> Vec<&'static str> + Send + Sync> Lookup for Names<F> {
    fn addresses<'a>(&'a self, name: &'a str) -> Looking<'a> {
        let found: Vec<IpAddr> = self.0(name).into_iter().map(|ip| ip.parse().unwrap()).collect();
        let found =
            if found.is_empty() { Err(io::Error::other("no such name")) } else { Ok(found) };
        Box::pin(async { found })
    }
}

/// Every name is loopback: a test never leaves it.
pub(crate) fn loopback() -> Arc<dyn Lookup> {
    Arc::new(Names(|_: &str| vec!["127.0.0.1"]))
}

/// Loopback allowed, robots.txt ignored, little patience.
pub(crate) fn settings() -> Settings {
    Settings {
        limits: Limits {
            connect: Duration::from_millis(800),
            header: Duration::from_millis(800),
            idle: Duration::from_millis(500),
            total: Duration::from_millis(1500),
            max_body: 64 << 20,
            ..Limits::default()
        },
        guard: Guard::allowing(["127.0.0.1"]).unwrap(),
        robots: false,
        lookup: Some(loopback()),
        ..Settings::default()
    }
}

pub(crate) fn request(url: Url) -> Request {
    Request::new(url).unwrap()
}

/// One poll with a client of its own.
pub(crate) async fn poll(settings: Settings, url: Url) -> Answer {
    Client::new(settings).unwrap().fetch(&request(url), &Open).await
}

/// One poll under the usual settings.
pub(crate) async fn fetch(url: Url) -> Answer {
    poll(settings(), url).await
}

/// The poll ends in this outcome, and no later than its limits and some slack allow.
pub(crate) fn check(answer: &Answer, code: &str) {
    assert_eq!(answer.outcome.code(), code, "{}", answer.outcome);
    assert!(answer.elapsed < Duration::from_secs(5), "took {:?}", answer.elapsed);
}

/// The body of a readable answer.
pub(crate) fn body(answer: &Answer) -> &[u8] {
    match &answer.outcome {
        fetch::Outcome::Fetched(response) => &response.body,
        other => panic!("no body: {other}"),
    }
}
