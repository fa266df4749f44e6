//! Hosts: who answers for sources. Politeness, robots.txt and credentials are per host.

use std::fmt;
use std::str::FromStr;

use url::Url;

use crate::request::cleaned;

/// Scheme, name and port, normalised: lower case, punycode, no trailing dot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Host {
    name: String,
    port: u16,
    https: bool,
}

/// The address is not one HTTP could ask.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an http or https address; write it as `https://example.org/path`")]
pub struct NotHttp(String);

impl Host {
    /// The name alone, as people know it; an IPv6 address is in brackets.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn robots_txt(&self) -> Url {
        format!("{self}/robots.txt").parse().expect("a host was part of an address")
    }

    fn default_port(&self) -> u16 {
        if self.https { 443 } else { 80 }
    }
}

impl TryFrom<&Url> for Host {
    type Error = NotHttp;

    fn try_from(url: &Url) -> Result<Self, NotHttp> {
        let https = match url.scheme() {
            "http" => false,
            "https" => true,
            _ => return Err(NotHttp::shown(url)),
        };
        let name = url.host_str().map(|name| name.strip_suffix('.').unwrap_or(name));
        match (name, url.port_or_known_default()) {
            (Some(name), Some(port)) if !name.is_empty() => {
                Ok(Self { name: name.to_owned(), port, https })
            }
            _ => Err(NotHttp::shown(url)),
        }
    }
}

impl NotHttp {
    /// Without what may be secret in an address: user, password, query.
    fn shown(url: &Url) -> Self {
        let mut url = url.clone();
        cleaned(&mut url);
        url.set_query(None);
        Self(url.to_string())
    }
}

impl FromStr for Host {
    type Err = NotHttp;

    fn from_str(text: &str) -> Result<Self, NotHttp> {
        let url: Url = text.parse().map_err(|_| NotHttp(text.to_owned()))?;
        Self::try_from(&url)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.https { "https" } else { "http" }, self.name)?;
        if self.port == self.default_port() { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_host_has_one_spelling() {
        for (written, meant) in [
            ("https://Example.ORG/a?b#c", "https://example.org"),
            ("https://example.org.:443/", "https://example.org"),
            ("http://example.org:443", "http://example.org:443"),
            ("http://user:pass@example.org:80/", "http://example.org"),
            ("https://bücher.example/", "https://xn--bcher-kva.example"),
            ("http://[::1]:8080/", "http://[::1]:8080"),
            ("http://0x7f.1/", "http://127.0.0.1"),
        ] {
            assert_eq!(written.parse::<Host>().unwrap().to_string(), meant);
        }
    }

    #[test]
    fn a_host_reads_back_as_itself() {
        for text in ["https://example.org", "http://example.org:8080", "http://[::1]"] {
            let host: Host = text.parse().unwrap();
            assert_eq!(host.to_string().parse::<Host>().unwrap(), host);
        }
    }

    #[test]
    fn a_complaint_shows_no_secret() {
        let complaint = "ftp://me:secret@example.org/a?key=secret".parse::<Host>().unwrap_err();
        assert!(complaint.to_string().contains("ftp://example.org/a"));
        assert!(!complaint.to_string().contains("secret"));
    }

    #[test]
    fn only_http_has_hosts() {
        for text in
            ["ftp://example.org", "file:///etc/passwd", "data:,x", "example.org", "http://./"]
        {
            assert!(text.parse::<Host>().is_err(), "{text}");
        }
    }
}
