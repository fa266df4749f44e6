//! The demonstration's website: pages that are at whatever version their world says by now.
//!
//! One server a site, each at an address of its own (127.0.0.1, 127.0.0.2, … where the system has them), so that the
//! engine sees several hosts. Pages carry an ETag; an unchanged one costs a 304.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context;
use axum::extract::{Path, State};
use axum::http::header::{ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::{Router, http};
use lab::world::World;
use schedule::{SourceIx, Time};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::clock::wall_now;

/// Pages on loopback.
pub struct Website {
    /// What changes when.
    pub world: Arc<World>,
    /// When the world's time began, by the wall clock.
    pub began: Time,
    /// `127.0.0.2:41234`, one a host.
    pub addresses: Vec<String>,
    /// The address of every page.
    pub urls: Vec<String>,
    pages: HashMap<String, SourceIx>,
}

#[derive(Clone)]
struct Shop {
    world: Arc<World>,
    began: Time,
}

impl Website {
    /// Serves all pages of the world from now on.
    pub fn start(world: Arc<World>, began: Time, runtime: &Runtime) -> anyhow::Result<Self> {
        let shop = Shop { world: Arc::clone(&world), began };
        let mut site =
            Self { world, began, addresses: Vec::new(), urls: Vec::new(), pages: HashMap::new() };
        for host in 0..site.world.sites() {
            let listener = runtime.block_on(listen(host)).context("no port on loopback is free")?;
            site.addresses.push(listener.local_addr()?.to_string());
            let router = Router::new().route("/page/{number}", get(page)).with_state(shop.clone());
            runtime.spawn(async move {
                // the demonstration ends with the program
                let _ = axum::serve(listener, router).await;
            });
        }
        for page in site.world.sources() {
            let host = &site.addresses[site.world.place(page).site.ix() % site.addresses.len()];
            let url = format!("http://{host}/page/{}", page.ix());
            site.pages.insert(url.clone(), page);
            site.urls.push(url);
        }
        Ok(site)
    }

    /// How many hosts it has.
    pub fn hosts(&self) -> usize {
        self.addresses.len()
    }

    /// The page at an address.
    pub fn page(&self, url: &str) -> Option<SourceIx> {
        self.pages.get(url).copied()
    }

    /// How many changes a page had seen by a wall-clock time.
    pub fn changes_by(&self, page: SourceIx, wall: Time) -> usize {
        changes_by(&self.world, self.began, page, wall)
    }
}

fn changes_by(world: &World, began: Time, page: SourceIx, wall: Time) -> usize {
    let now = world.start() + (wall - began);
    world.changes(page).partition_point(|&at| at <= now)
}

/// A loopback address of its own where the system has one.
async fn listen(host: usize) -> std::io::Result<TcpListener> {
    let last = u8::try_from(host + 1).unwrap_or(1);
    match TcpListener::bind(SocketAddr::from((Ipv4Addr::new(127, 0, 0, last), 0))).await {
        Ok(listener) => Ok(listener),
        Err(_) => TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await,
    }
}

async fn page(
    State(shop): State<Shop>,
    Path(number): Path<usize>,
    headers: HeaderMap,
) -> Result<Response, http::StatusCode> {
    if number >= shop.world.len() {
        return Err(StatusCode::NOT_FOUND);
    }
    let version = changes_by(&shop.world, shop.began, SourceIx::new(number), wall_now());
    let tag = format!("\"v{version}\"");
    if headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return Ok((StatusCode::NOT_MODIFIED, [(ETAG, tag)]).into_response());
    }
    let price = 100 + (version * 37 + number * 11) % 900;
    let body = format!(
        "<!doctype html><title>Page {number}</title><h1>Page {number}</h1>\
         <p>Edition {version}.</p><p>Price: {price}.00</p>"
    );
    Ok(([(ETAG, tag)], Html(body)).into_response())
}
