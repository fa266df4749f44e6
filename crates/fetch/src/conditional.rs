//! Conditional requests: the server's own marks of a version, kept and sent back.

use http::header::{ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED};
use http::{HeaderMap, HeaderName, HeaderValue};
use jiff::Timestamp;

use crate::http_date;

/// A longer mark would make our own requests too big for the server that gave it.
const LONGEST: usize = 1024;

/// What a server gave to recognise a version by, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    /// The ETag, quotes and weakness mark included.
    pub etag: Option<String>,
    /// The Last-Modified date.
    pub last_modified: Option<String>,
}

impl Validators {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        Self { etag: mark(headers, &ETAG), last_modified: mark(headers, &LAST_MODIFIED) }
    }

    /// After a 304: what it names anew, else what was sent.
    pub(crate) fn renewed(&self, headers: &HeaderMap) -> Self {
        let new = Self::of(headers);
        Self {
            etag: new.etag.or_else(|| self.etag.clone()),
            last_modified: new.last_modified.or_else(|| self.last_modified.clone()),
        }
    }

    /// The header lines that ask "only if changed".
    pub(crate) fn lines(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let lines = [(IF_NONE_MATCH, &self.etag), (IF_MODIFIED_SINCE, &self.last_modified)];
        lines.into_iter().filter_map(|(name, mark)| Some((name, mark.as_ref()?.parse().ok()?)))
    }
}

fn mark(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let text = headers.get(name)?.to_str().ok()?.trim();
    (!text.is_empty() && text.len() <= LONGEST).then(|| text.to_owned())
}

/// When the source last changed, if the server says so and it can be true.
pub(crate) fn last_modified(headers: &HeaderMap, now: Timestamp) -> Option<Timestamp> {
    let text = headers.get(LAST_MODIFIED)?.to_str().ok()?;
    http_date::parse(text).filter(|&then| then <= now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_304_renews_what_it_names_and_keeps_the_rest() {
        let sent =
            Validators { etag: Some("\"a\"".into()), last_modified: Some("yesterday".into()) };
        let mut headers = HeaderMap::new();
        assert_eq!(sent.renewed(&headers), sent);
        headers.insert(ETAG, "W/\"b\"".parse().unwrap());
        let renewed = sent.renewed(&headers);
        assert_eq!(renewed.etag.as_deref(), Some("W/\"b\""));
        assert_eq!(renewed.last_modified.as_deref(), Some("yesterday"));
    }

    #[test]
    fn a_mark_too_long_to_send_is_not_kept() {
        let mut headers = HeaderMap::new();
        headers.insert(ETAG, "x".repeat(LONGEST + 1).parse().unwrap());
        assert_eq!(Validators::of(&headers), Validators::default());
    }
}
