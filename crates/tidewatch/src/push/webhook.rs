//! Webhooks: each event as a signed POST, under the same guard as fetches.
//!
//! ```text
//! 2xx                          taken
//! 410                          never again: the receiver says so
//! anything else, or no answer  again later; after `ATTEMPTS` tries a dead letter
//! ```

use std::time::Duration;

use fetch::{Client, Posted};
use schedule::Span;
use store::Event;
use url::Url;

use super::{pause, signature};
use crate::clock::wall_now;
use crate::config::{Fetch, Webhook};
use crate::daemon::Refused;

/// Tries until an event is given up: with [`pause`] about two days.
const ATTEMPTS: u32 = 18;
const TIMEOUT: Duration = Duration::from_secs(15);

/// A receiver.
pub struct Hook {
    client: Client,
    url: Url,
    key: Option<Vec<u8>>,
}

impl Hook {
    /// Ready to call.
    pub fn new(hook: &Webhook, fetch: &Fetch) -> anyhow::Result<Self> {
        let client = Client::new(fetch.settings())?;
        Ok(Self { client, url: hook.url.clone(), key: hook.key.clone() })
    }

    /// Calls with one event.
    pub async fn call(&self, event: &Event, attempts: u32) -> Result<(), Refused> {
        let timestamp = wall_now().micros() / 1_000_000;
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("webhook-id", event.id.clone()),
            ("webhook-timestamp", timestamp.to_string()),
        ];
        if let Some(key) = &self.key {
            let signed = signature::sign(key, &event.id, timestamp, &event.payload);
            headers.push(("webhook-signature", signed));
        }
        match self.client.post(&self.url, &headers, &event.payload, TIMEOUT).await {
            Posted::Status(status) if (200..300).contains(&status) => Ok(()),
            Posted::Status(410) => {
                Err(Refused::ForGood("the receiver answered 410 Gone".to_owned()))
            }
            Posted::Status(status) => {
                Err(later(attempts, format!("the receiver answered {status}")))
            }
            Posted::Failed(why) => Err(later(attempts, why)),
        }
    }
}

fn later(attempts: u32, why: String) -> Refused {
    if attempts + 1 >= ATTEMPTS {
        return Refused::ForGood(format!("given up after {ATTEMPTS} tries: {why}"));
    }
    Refused::ForNow(pause(attempts).max(Span::TICK), why)
}
