//! A small website whose pages change when told, and an engine set up to watch it.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]
#![allow(dead_code, reason = "every test file uses its own part of it")]

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Path as UrlPath, State};
use axum::http::header::{ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use tidewatch::config::{self, Config};
use tokio::runtime::Runtime;

/// Pages by number: how often each was edited.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    shop: Arc<Shop>,
}

struct Shop {
    editions: Vec<AtomicU64>,
    /// Every look is a new edition.
    restless: bool,
    requests: AtomicU64,
    gone: Mutex<Vec<usize>>,
}

impl Site {
    pub(crate) fn start(pages: usize, restless: bool, runtime: &Runtime) -> Self {
        let shop = Arc::new(Shop {
            editions: (0..pages).map(|_| AtomicU64::new(0)).collect(),
            restless,
            requests: AtomicU64::new(0),
            gone: Mutex::default(),
        });
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new()
            .route("/{page}", get(page))
            .route("/{page}/jobs", get(jobs))
            .with_state(Arc::clone(&shop));
        runtime.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, shop }
    }

    pub(crate) fn edit(&self, page: usize) {
        self.shop.editions[page].fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn take_down(&self, page: usize) {
        self.shop.gone.lock().unwrap().push(page);
    }

    pub(crate) fn put_back(&self, page: usize) {
        self.shop.gone.lock().unwrap().retain(|gone| *gone != page);
    }

    pub(crate) fn requests(&self) -> u64 {
        self.shop.requests.load(Ordering::SeqCst)
    }

    pub(crate) fn url(&self, page: usize) -> String {
        format!("http://{}/{page}", self.address)
    }

    /// A configuration that watches all pages.
    pub(crate) fn toml(&self, rest: &str) -> String {
        let sources: String = (0..self.shop.editions.len())
            .map(|page| format!("[[source]]\nurl = \"{}\"\n", self.url(page)))
            .collect();
        format!("{rest}\n[fetch]\nrobots = false\nallow = [\"{}\"]\n{sources}", self.address)
    }
}

async fn page(
    State(shop): State<Arc<Shop>>,
    UrlPath(page): UrlPath<usize>,
    headers: HeaderMap,
) -> Response {
    shop.requests.fetch_add(1, Ordering::SeqCst);
    let Some(edition) = shop.editions.get(page) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if shop.gone.lock().unwrap().contains(&page) {
        return StatusCode::GONE.into_response();
    }
    let edition = if shop.restless {
        edition.fetch_add(1, Ordering::SeqCst)
    } else {
        edition.load(Ordering::SeqCst)
    };
    let tag = format!("\"{edition}\"");
    if headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, [(ETAG, tag)]).into_response();
    }
    let body = format!("<title>Page {page}</title><main><p>Edition {edition}</p></main>");
    ([(ETAG, tag)], Html(body)).into_response()
}

/// Forty jobs, of which every edition drops the oldest and adds one.
async fn jobs(State(shop): State<Arc<Shop>>, UrlPath(page): UrlPath<usize>) -> Response {
    shop.requests.fetch_add(1, Ordering::SeqCst);
    let edition = shop.editions[page].load(Ordering::SeqCst);
    let job =
        |id: u64| format!("{{\"id\":{id},\"team\":\"{}\"}}", ["sea", "land"][(id % 2) as usize]);
    let jobs: Vec<String> = (edition..edition + 40).map(job).collect();
    let body = format!("{{\"jobs\":[{}]}}", jobs.join(","));
    ([(axum::http::header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// A configuration in a directory.
pub(crate) fn config(dir: &Path, toml: &str) -> Config {
    let mut config = config::parse(toml).unwrap().check().unwrap();
    dir.clone_into(&mut config.dir);
    config
}
