//! Posts: a message to a receiver of ours, under the same guard and bounds as a fetch. Nothing is followed and the
//! answer's body is not read.

use std::time::Duration;

use url::Url;

use crate::patience::Patience;
use crate::{Client, Host, Outcome, Timeout, failure, resolve};

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Posted {
    /// The receiver answered with this status.
    Status(u16),
    /// It could not be reached, or may not be: why.
    Failed(String),
}

impl Client {
    /// Sends `body` once, within `limit`.
    pub async fn post(
        &self,
        url: &Url,
        headers: &[(&'static str, String)],
        body: &str,
        limit: Duration,
    ) -> Posted {
        match self.deliver(url, headers, body, limit).await {
            Ok(status) => Posted::Status(status),
            Err(why) => Posted::Failed(why),
        }
    }

    async fn deliver(
        &self,
        url: &Url,
        headers: &[(&'static str, String)],
        body: &str,
        limit: Duration,
    ) -> Result<u16, String> {
        Host::try_from(url).map_err(|why| why.to_string())?;
        self.guard.check_url(url).map_err(|why| why.to_string())?;
        if let (true, Some(name)) = (self.is_proxied, url.domain()) {
            let checked = resolve::check_name(self.lookup.as_ref(), &self.guard, name).await;
            checked.map_err(|why| why.to_string())?;
        }
        let request = self.http.post(url.clone()).body(body.to_owned());
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
        let patience = Patience { until: tokio::time::Instant::now() + limit };
        let sent = patience.wait(Timeout::Total, limit, request.send()).await;
        let response = sent
            .map_err(|ended| Outcome::to_string(&ended))?
            .map_err(|why| failure::outcome(&why).to_string())?;
        if let (false, Some(peer)) = (self.is_proxied, response.remote_addr()) {
            self.guard.check_peer(peer).map_err(|why| why.to_string())?;
        }
        Ok(response.status().as_u16())
    }
}
