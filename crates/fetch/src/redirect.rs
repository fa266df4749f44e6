//! Redirects, followed by hand: each hop is guarded, counted and asked for anew.

use http::HeaderMap;
use http::header::LOCATION;
use url::Url;

use crate::request::cleaned;
use crate::{Broken, Hop, Host};

/// Where an answer sends us, if it does.
pub(crate) fn hop(status: u16, headers: &HeaderMap, from: &Url) -> Result<Option<Hop>, Broken> {
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let location = headers.get(LOCATION).ok_or(Broken::BadLocation)?;
    // some servers send raw UTF-8 here; `url` escapes it as browsers do
    let location = std::str::from_utf8(location.as_bytes()).map_err(|_| Broken::BadLocation)?;
    let mut to = from.join(location.trim()).map_err(|_| Broken::BadLocation)?;
    Host::try_from(&to).map_err(|_| Broken::BadLocation)?;
    cleaned(&mut to);
    Ok(Some(Hop { status, to }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn led(location: &str) -> Result<Option<Hop>, Broken> {
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, http::HeaderValue::from_bytes(location.as_bytes()).unwrap());
        hop(302, &headers, &"https://example.org/a/b?c#d".parse().unwrap())
    }

    #[test]
    fn any_spelling_of_a_place() {
        for (location, place) in [
            ("/x", "https://example.org/x"),
            ("x", "https://example.org/a/x"),
            ("?q", "https://example.org/a/b?q"),
            ("//other.example/", "https://other.example/"),
            (" http://Other.example#frag ", "http://other.example/"),
            ("https://user:pass@other.example/", "https://other.example/"),
            ("/ä b", "https://example.org/%C3%A4%20b"),
        ] {
            assert_eq!(led(location).unwrap().unwrap().to.as_str(), place);
        }
    }

    #[test]
    fn other_schemes_lead_nowhere() {
        for location in
            ["ftp://example.org/", "file:///etc/passwd", "javascript:1", "http://", "data:,"]
        {
            assert_eq!(led(location), Err(Broken::BadLocation), "{location}");
        }
        let nowhere = hop(301, &HeaderMap::new(), &"https://example.org".parse().unwrap());
        assert_eq!(nowhere, Err(Broken::BadLocation));
    }

    #[test]
    fn other_statuses_lead_nowhere_and_that_is_fine() {
        for status in [200, 300, 304, 305, 404] {
            let from = "https://example.org".parse().unwrap();
            assert_eq!(hop(status, &HeaderMap::new(), &from), Ok(None));
        }
    }
}
