//! The client: one pool of connections, one guard, one shelf of robots.txt files for all polls.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use http::header::{ACCEPT_ENCODING, HeaderMap};
use reqwest::{Certificate, Proxy, redirect, retry};
use url::Url;

use crate::resolve::{Sieve, System};
use crate::robots::shelf::{Rules, Shelf};
use crate::trip::{Errand, Trip};
use crate::{
    Answer, Doorman, Guard, Host, Limits, Lookup, Outcome, Request, Robots, coding, robots,
};

/// Hosts whose robots.txt is remembered.
const HOSTS: usize = 10_000;

/// Idle connections cost memory; a host polled again within this time saves a handshake.
const IDLE: Duration = Duration::from_secs(30);
const IDLE_PER_HOST: usize = 2;

/// How to fetch.
pub struct Settings {
    /// Bounds on every poll.
    pub limits: Limits,
    /// Where requests may go.
    pub guard: Guard,
    /// Whether robots.txt is obeyed.
    pub robots: bool,
    /// Where the owner of a watched host can complain: an address or a mail, sent with every request.
    pub contact: Option<String>,
    /// Certificates to trust besides the system's and Mozilla's, as PEM.
    pub ca_pem: Option<Vec<u8>>,
    /// An HTTP proxy for everything; proxies from the environment are never used.
    pub proxy: Option<Url>,
    /// Another name service than the machine's own.
    pub lookup: Option<Arc<dyn Lookup>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            guard: Guard::default(),
            robots: true,
            contact: None,
            ca_pem: None,
            proxy: None,
            lookup: None,
        }
    }
}

/// Why a client cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The contact is no header text.
    #[error("the contact `{0}` cannot be sent in a header; use plain ASCII, such as an address")]
    Contact(String),
    /// The extra certificates cannot be read.
    #[error("the extra certificates cannot be read; give them as PEM")]
    Certificates(#[source] Option<reqwest::Error>),
    /// The proxy's address is none.
    #[error("the proxy's address cannot be used; write it as `http://proxy.example:3128`")]
    Proxy(#[source] Option<reqwest::Error>),
    /// Something in the machine.
    #[error("the http client cannot be built")]
    Build(#[source] reqwest::Error),
}

/// Fetches sources; share it.
pub struct Client {
    pub(crate) http: reqwest::Client,
    pub(crate) limits: Limits,
    pub(crate) guard: Arc<Guard>,
    pub(crate) lookup: Arc<dyn Lookup>,
    pub(crate) obeys_robots: bool,
    pub(crate) is_proxied: bool,
    shelf: Shelf,
}

impl Client {
    /// Ready to fetch; reads the machine's certificates and name servers.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let lookup = settings.lookup.clone().unwrap_or_else(|| Arc::new(System::new()));
        let guard = Arc::new(settings.guard.clone());
        let proxy = settings.proxy.as_ref().and_then(Url::host_str).map(str::to_owned);
        let sieve = Sieve { lookup: Arc::clone(&lookup), guard: Arc::clone(&guard), proxy };
        Ok(Self {
            http: http(&settings, sieve)?,
            limits: settings.limits,
            guard,
            lookup,
            obeys_robots: settings.robots,
            is_proxied: settings.proxy.is_some(),
            shelf: Shelf::new(HOSTS),
        })
    }

    /// Asks once. Ends within the limits, in an outcome, whatever the server does.
    pub async fn fetch<D: Doorman>(&self, request: &Request, doorman: &D) -> Answer {
        let mut trip = Trip::new(self, doorman, Errand::Poll, true, request.url().clone());
        let outcome = trip.walk(request).await;
        trip.answer(outcome)
    }

    /// The rules of a host, remembered for a day; an outcome says why they are not known now.
    pub async fn robots<D: Doorman>(
        &self,
        host: &Host,
        doorman: &D,
    ) -> Result<Arc<Robots>, Outcome> {
        self.rules(host, doorman, false).await.0
    }

    /// The rules, and how many requests it took to know them.
    pub(crate) async fn rules<D: Doorman>(
        &self,
        host: &Host,
        doorman: &D,
        announced: bool,
    ) -> (Rules, u32) {
        robots::rules(self, &self.shelf, host, doorman, announced).await
    }
}

fn http(settings: &Settings, sieve: Sieve) -> Result<reqwest::Client, Error> {
    let limits = &settings.limits;
    let builder = reqwest::Client::builder()
        .user_agent(user_agent(settings.contact.as_deref())?)
        .default_headers(HeaderMap::from_iter([(
            ACCEPT_ENCODING,
            HeaderValue::from_static(coding::OFFERED),
        )]))
        .redirect(redirect::Policy::none())
        // a second request is for the doorman to allow
        .retry(retry::never())
        .referer(false)
        .no_proxy()
        .dns_resolver(sieve)
        .tls_certs_merge(certificates(settings.ca_pem.as_deref())?)
        .connect_timeout(limits.connect)
        .http1_max_headers(limits.max_headers)
        .http2_max_header_list_size(limits.max_header_bytes)
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(IDLE_PER_HOST);
    proxied(builder, settings.proxy.as_ref())?.build().map_err(Error::Build)
}

fn proxied(
    builder: reqwest::ClientBuilder,
    proxy: Option<&Url>,
) -> Result<reqwest::ClientBuilder, Error> {
    let Some(proxy) = proxy else { return Ok(builder) };
    Host::try_from(proxy).map_err(|_| Error::Proxy(None))?;
    let proxy = Proxy::all(proxy.clone()).map_err(|error| Error::Proxy(Some(error)))?;
    Ok(builder.proxy(proxy))
}

/// Mozilla's list stands in where the machine has none.
fn certificates(extra: Option<&[u8]>) -> Result<Vec<Certificate>, Error> {
    let unreadable = |error| Error::Certificates(Some(error));
    let mut certificates =
        Certificate::from_pem_bundle(extra.unwrap_or_default()).map_err(unreadable)?;
    if extra.is_some() && certificates.is_empty() {
        return Err(Error::Certificates(None));
    }
    for der in webpki_root_certs::TLS_SERVER_ROOT_CERTS {
        certificates.push(Certificate::from_der(der).map_err(unreadable)?);
    }
    Ok(certificates)
}

/// Honest: who we are, which version, and whom to write to.
fn user_agent(contact: Option<&str>) -> Result<HeaderValue, Error> {
    let us = concat!("tidewatch/", env!("CARGO_PKG_VERSION"));
    let Some(contact) = contact else { return Ok(HeaderValue::from_static(us)) };
    let refused = || Error::Contact(contact.to_owned());
    if contact.is_empty() || contact.contains(['(', ')']) || !contact.is_ascii() {
        return Err(refused());
    }
    format!("{us} (+{contact})").parse().map_err(|_| refused())
}
