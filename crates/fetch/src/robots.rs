//! robots.txt: what a host asks of crawlers (RFC 9309), read for our name.
//!
//! | what came | what it means |
//! |---|---|
//! | a file | its group for us, else the group for everyone; the first 500 KiB count |
//! | 4xx, too many redirects | no rules |
//! | 429, 5xx, nothing | not now: the last file read still holds; without one the host is not polled |

pub(crate) mod shelf;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::Instant;
use url::Url;

use self::shelf::{Known, Rules, Shelf};
use crate::trip::{Errand, Trip};
use crate::{Broken, Client, Doorman, Host, Outcome, Refusal, Request};

/// The name groups call us by.
const PRODUCT: &str = "tidewatch";

/// More of a file is not read (RFC 9309, section 2.5).
pub(crate) const MOST_BYTES: usize = robotxt::BYTE_LIMIT;

/// A host that wants us less often than this can be paused by the user.
const LONGEST_DELAY: Duration = Duration::from_secs(300);

/// The rules of one host, for us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Robots {
    rules: robotxt::Robots,
}

impl Robots {
    pub(crate) fn parse(text: &[u8]) -> Self {
        Self { rules: robotxt::Robots::parse(&plain_agents(text), PRODUCT) }
    }

    fn none() -> Self {
        Self { rules: robotxt::Robots::allow_all() }
    }

    /// What the end of a fetch of robots.txt says; an outcome means "not now".
    pub(crate) fn from_outcome(host: &Host, outcome: Outcome) -> Result<Self, Outcome> {
        match outcome {
            Outcome::Fetched(response) => Ok(Self::parse(&response.body)),
            Outcome::Gone { .. }
            | Outcome::Broken(
                Broken::Status(_)
                | Broken::TooManyRedirects { .. }
                | Broken::RedirectLoop
                | Broken::BadLocation,
            ) => Ok(Self::none()),
            Outcome::Broken(why) => {
                Err(Outcome::Refused(Refusal::RobotsUnreadable { host: host.clone(), why }))
            }
            Outcome::NotModified(_)
            | Outcome::Busy { .. }
            | Outcome::Unreachable(_)
            | Outcome::Refused(_) => Err(outcome),
        }
    }

    /// Whether we may ask for an address of this host.
    pub fn allows(&self, url: &Url) -> bool {
        self.rules.is_url_allowed(url)
    }

    /// The gap the host asks for, capped at 300 s.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.rules.crawl_delay().map(|delay| delay.min(LONGEST_DELAY))
    }
}

/// The rules of a host, from the shelf or fetched, and how many requests that took.
pub(crate) async fn rules<D: Doorman>(
    client: &Client,
    shelf: &Shelf,
    host: &Host,
    doorman: &D,
    announced: bool,
) -> (Rules, u32) {
    let slot = shelf.slot(host);
    let mut known = slot.lock().await;
    if let Some(known) = known.as_ref().filter(|known| known.holds(Instant::now())) {
        return (known.rules(), 0);
    }
    let (rules, requests) = fetched(client, host, doorman, announced).await;
    if let Err(Outcome::Refused(Refusal::NoLeave(_))) = rules {
        // the host was not asked, so nothing was learned
        return (rules, requests);
    }
    let now_known = Known::after(known.take(), Instant::now(), rules);
    (known.insert(now_known).rules(), requests)
}

/// Boxed, since a poll's trip leads through here to another trip.
fn fetched<'a, D: Doorman>(
    client: &'a Client,
    host: &'a Host,
    doorman: &'a D,
    announced: bool,
) -> BoxFuture<'a, (Rules, u32)> {
    Box::pin(async move {
        let url = host.robots_txt();
        let request = Request::new(url.clone()).expect("a host's address is http");
        let mut trip = Trip::new(client, doorman, Errand::Robots, announced, url);
        let outcome = trip.walk(&request).await;
        (Robots::from_outcome(host, outcome).map(Arc::new), trip.requests)
    })
}

/// Groups written for `bot/1.0` or `bot (x)` are for `bot`: RFC 9309 compares the product token alone.
/// Sitemap lines are left out, so that a long list of them is not kept for a day.
fn plain_agents(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|&byte| matches!(byte, b'\n' | b'\r')) {
        match line.iter().position(|&byte| byte == b':').map(|colon| line.split_at(colon + 1)) {
            Some((key, value)) if is_key(key, "user-agent:") => {
                plain.extend_from_slice(b"user-agent: ");
                plain.extend_from_slice(token(value));
                plain.push(b'\n');
            }
            Some((key, _)) if is_key(key, "sitemap:") => {}
            _ => plain.extend_from_slice(line),
        }
    }
    plain
}

fn is_key(written: &[u8], key: &str) -> bool {
    let written = written.trim_ascii();
    let written = written.strip_prefix("\u{feff}".as_bytes()).unwrap_or(written);
    written.eq_ignore_ascii_case(key.as_bytes())
}

/// The leading product token, or `*`.
fn token(value: &[u8]) -> &[u8] {
    let value = value.trim_ascii();
    if value.first() == Some(&b'*') {
        return b"*";
    }
    let letters =
        value.iter().take_while(|byte| byte.is_ascii_alphabetic() || b"-_".contains(byte));
    &value[..letters.count()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(text: &str, path: &str) -> bool {
        let url = format!("https://example.org{path}").parse().unwrap();
        Robots::parse(text.as_bytes()).allows(&url)
    }

    /// Section 2.2.1: product tokens without regard to case, groups of one name joined.
    #[test]
    fn groups_for_our_name_are_joined_and_beat_the_group_for_everyone() {
        let text = "User-Agent: *\nDisallow: /\n\nUser-agent: Tidewatch\nDisallow: /a\n\n\
                    User-agent: other\nDisallow: /c\n\nuser-agent: TIDEWATCH\nDisallow: /b\n";
        assert!(allows(text, "/") && allows(text, "/c"));
        assert!(!allows(text, "/a") && !allows(text, "/b"));
    }

    #[test]
    fn a_version_in_a_group_line_is_no_part_of_the_name() {
        for agent in
            ["tidewatch/1.0", "tidewatch (+https://example.org)", "Tidewatch # us", "tidewatch\t"]
        {
            let text = format!("User-agent: {agent}\nDisallow: /\n\nUser-agent: *\nAllow: /\n");
            assert!(!allows(&text, "/x"), "{agent}");
        }
        assert!(allows("User-agent: tidewatcher/1.0\nDisallow: /\n", "/x"));
        assert!(!allows("User-agent: * # all\nDisallow: /\n", "/x"));
        assert!(!allows("\u{feff}User-agent: *\r\nDisallow: /\r\n", "/x"));
    }

    /// Section 2.2.2: the most octets win; on a tie, allow.
    #[test]
    fn the_longest_match_wins() {
        let text = "User-agent: *\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n";
        assert!(allows(text, "/example/page/ok.gif"));
        assert!(!allows(text, "/example/page/disallowed.gif"));
        assert!(allows("User-agent: *\nDisallow: /p\nAllow: /p\n", "/page"));
        assert!(allows("User-agent: *\nDisallow:\n", "/"));
        assert!(allows("User-agent: *\nDisallow: /\n", "/robots.txt"));
    }

    /// Section 2.2.2, table 1 and section 2.2.3: octets are compared after percent-encoding.
    #[test]
    fn encodings_and_wildcards() {
        assert!(!allows("User-agent: *\nDisallow: /foo/bar/ツ\n", "/foo/bar/%E3%83%84"));
        assert!(!allows("User-agent: *\nDisallow: /foo/bar/%62%61%7A\n", "/foo/bar/baz"));
        let text = "User-agent: *\nDisallow: *.gif$\nAllow: /publications/\nDisallow: /*?q=\n";
        assert!(!allows(text, "/a.gif") && allows(text, "/a.gif?x"));
        assert!(!allows(text, "/search?q=1") && allows(text, "/publications/"));
    }

    #[test]
    fn a_crawl_delay_is_reported_up_to_five_minutes() {
        let delay = |text: &str| Robots::parse(text.as_bytes()).crawl_delay();
        assert_eq!(delay("User-agent: *\nCrawl-delay: 2.5\n"), Some(Duration::from_millis(2500)));
        assert_eq!(delay("User-agent: *\nCrawl-delay: 99999\n"), Some(LONGEST_DELAY));
        assert_eq!(delay("User-agent: *\nCrawl-delay: soon\n"), None);
        assert_eq!(delay("User-agent: other\nCrawl-delay: 9\n"), None);
    }

    #[test]
    fn a_page_in_its_place_is_no_rules() {
        assert!(allows("<!doctype html><html><body>404</body></html>", "/x"));
    }
}
