//! A trip: one poll from its first request to its outcome, over every redirect.
//!
//! ```text
//! admit: guard → robots.txt → doorman      ask: send, wait for headers, check the peer
//!   ▲                                        │
//!   └────────────── redirect ◄───────────────┴──► conclude: what status and body mean
//! ```

use std::time::Duration;

use http::HeaderMap;
use http::header::RETRY_AFTER;
use jiff::Timestamp;
use tokio::time::Instant;
use url::Url;

use crate::body::{self, Wanted};
use crate::patience::Patience;
use crate::{
    Answer, Broken, Client, Doorman, Hop, Host, Leave, Media, Outcome, Refusal, Request, Response,
    Timeout, Unreachable, Validators, conditional, failure, redirect, resolve, retry_after, robots,
};

/// What the trip is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Errand {
    /// A source: robots.txt is obeyed.
    Poll,
    /// A robots.txt: its start is enough.
    Robots,
}

pub(crate) struct Trip<'a, D> {
    client: &'a Client,
    doorman: &'a D,
    errand: Errand,
    /// Leave for one request was given beforehand: whichever comes first.
    announced: bool,
    url: Url,
    hops: Vec<Hop>,
    crawl_delay: Option<Duration>,
    pub(crate) requests: u32,
    started: Instant,
    /// Not on our clock: leave, and other people's robots.txt.
    waited: Duration,
}

impl<'a, D: Doorman> Trip<'a, D> {
    pub(crate) fn new(
        client: &'a Client,
        doorman: &'a D,
        errand: Errand,
        announced: bool,
        url: Url,
    ) -> Self {
        let (hops, started, waited) = (Vec::new(), Instant::now(), Duration::ZERO);
        Self {
            client,
            doorman,
            errand,
            announced,
            url,
            hops,
            crawl_delay: None,
            requests: 0,
            started,
            waited,
        }
    }

    pub(crate) fn answer(self, outcome: Outcome) -> Answer {
        Answer {
            outcome,
            url: self.url,
            hops: self.hops,
            crawl_delay: self.crawl_delay,
            requests: self.requests,
            elapsed: self.started.elapsed().saturating_sub(self.waited),
        }
    }

    /// To the end, wherever it is.
    pub(crate) async fn walk(&mut self, request: &Request) -> Outcome {
        self.steps(request).await.unwrap_or_else(|ended| ended)
    }

    async fn steps(&mut self, request: &Request) -> Result<Outcome, Outcome> {
        loop {
            self.admit().await?;
            let response = self.ask(request).await?;
            let status = response.status().as_u16();
            let hop = redirect::hop(status, response.headers(), &self.url);
            match hop.map_err(Outcome::Broken)? {
                Some(hop) => self.follow(request.url(), hop).map_err(Outcome::Broken)?,
                None => return self.conclude(request, response).await,
            }
        }
    }

    fn patience(&self) -> Patience {
        Patience { until: self.started + self.client.limits.total + self.waited }
    }

    /// May we ask at all?
    async fn admit(&mut self) -> Result<(), Outcome> {
        let host = Host::try_from(&self.url).map_err(|_| Outcome::Broken(Broken::BadLocation))?;
        self.guard().await?;
        let since = Instant::now();
        let admitted = self.admitted_by(&host).await;
        self.waited += since.elapsed();
        admitted
    }

    async fn guard(&self) -> Result<(), Outcome> {
        let refused = |guarded| Outcome::Refused(Refusal::Guard(guarded));
        let Client { guard, lookup, limits, is_proxied, .. } = self.client;
        guard.check_url(&self.url).map_err(refused)?;
        match self.url.domain() {
            Some(name) if *is_proxied => {
                let checking = resolve::check_name(lookup.as_ref(), guard, name);
                let checked = self.patience().wait(Timeout::Connect, limits.connect, checking);
                checked.await?.map_err(refused)
            }
            _ => Ok(()),
        }
    }

    /// Both the host's rules and whoever keeps its gap have a say.
    async fn admitted_by(&mut self, host: &Host) -> Result<(), Outcome> {
        if self.errand == Errand::Poll && self.client.obeys_robots {
            let (rules, requests) = self.client.rules(host, self.doorman, self.announced).await;
            self.requests += requests;
            self.announced &= requests == 0;
            let rules = rules?;
            if self.hops.is_empty() {
                self.crawl_delay = rules.crawl_delay();
            }
            if !rules.allows(&self.url) {
                return Err(Outcome::Refused(Refusal::Robots(host.clone())));
            }
        }
        let announced = std::mem::take(&mut self.announced);
        if !announced && self.doorman.enter(host).await == Leave::Stop {
            return Err(Outcome::Refused(Refusal::NoLeave(host.clone())));
        }
        Ok(())
    }

    async fn ask(&mut self, request: &Request) -> Result<reqwest::Response, Outcome> {
        self.requests += 1;
        let limits = &self.client.limits;
        let sent = request.message(&self.client.http, &self.url).send();
        let answered = self.patience().wait(Timeout::Header, limits.header, sent).await?;
        let response = answered.map_err(|error| failure::outcome(&error))?;
        if let (false, Some(peer)) = (self.client.is_proxied, response.remote_addr()) {
            let checked = self.client.guard.check_peer(peer);
            checked.map_err(|guarded| Outcome::Refused(Refusal::Guard(guarded)))?;
        }
        let size: usize =
            response.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        if size > limits.max_header_bytes as usize {
            return Err(Outcome::Broken(Broken::HeadersTooBig { limit: limits.max_header_bytes }));
        }
        Ok(response)
    }

    fn follow(&mut self, start: &Url, hop: Hop) -> Result<(), Broken> {
        let limit = self.client.limits.max_redirects;
        if *start == hop.to || self.hops.iter().any(|seen| seen.to == hop.to) {
            return Err(Broken::RedirectLoop);
        }
        if self.hops.len() >= limit {
            return Err(Broken::TooManyRedirects { limit });
        }
        self.url = hop.to.clone();
        self.hops.push(hop);
        Ok(())
    }

    async fn conclude(
        &self,
        request: &Request,
        response: reqwest::Response,
    ) -> Result<Outcome, Outcome> {
        let status = response.status().as_u16();
        Ok(match status {
            200 | 203 => Outcome::Fetched(Box::new(self.read(response).await?)),
            304 => match request.validators_for(&self.url) {
                Some(sent) => Outcome::NotModified(sent.renewed(response.headers())),
                None => Outcome::Broken(Broken::UnaskedNotModified),
            },
            404 | 410 => Outcome::Gone { status },
            429 | 503 => Outcome::Busy { status, retry_after: wait(response.headers()) },
            500.. => Outcome::Unreachable(Unreachable::ServerError(status)),
            _ => Outcome::Broken(Broken::Status(status)),
        })
    }

    async fn read(&self, response: reqwest::Response) -> Result<Response, Outcome> {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let wanted = match self.errand {
            Errand::Poll => Wanted::Whole,
            Errand::Robots => Wanted::Start(robots::MOST_BYTES),
        };
        let body = body::read(response, wanted, &self.client.limits, self.patience()).await?;
        Ok(Response {
            status,
            body: body.bytes,
            wire_bytes: body.wire_bytes,
            validators: Validators::of(&headers),
            media: Media::of(&headers),
            last_modified: conditional::last_modified(&headers, Timestamp::now()),
            headers: lines(&headers),
        })
    }
}

fn wait(headers: &HeaderMap) -> Option<Duration> {
    retry_after::parse(headers.get(RETRY_AFTER)?.to_str().ok()?, Timestamp::now())
}

fn lines(headers: &HeaderMap) -> Vec<(String, String)> {
    let line = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    headers.iter().map(line).collect()
}
