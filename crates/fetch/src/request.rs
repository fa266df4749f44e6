//! Requests: one source's address, what to send with it, and to whom.
//!
//! Credentials and custom headers are for the origin the user named; a redirect to any other origin
//! goes out without them. Validators are for the very address that gave them: another one might use
//! the same mark for another version.

use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, HOST, IF_MODIFIED_SINCE, IF_NONE_MATCH, RANGE, TE,
    TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use url::Url;

use crate::{Host, NotHttp, Secret, Validators};

/// Lines that are ours to write: they frame the message or decide what an answer means.
const OURS: [HeaderName; 11] = [
    ACCEPT_ENCODING,
    CONNECTION,
    CONTENT_LENGTH,
    HOST,
    IF_MODIFIED_SINCE,
    IF_NONE_MATCH,
    RANGE,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
    USER_AGENT,
];

/// How a source wants to be logged in to.
#[derive(Clone, PartialEq, Eq)]
pub enum Auth {
    /// User name and password.
    Basic {
        /// The name.
        user: String,
        /// The password.
        password: Secret,
    },
    /// A token.
    Bearer(Secret),
}

/// What to ask.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    url: Url,
    host: Host,
    headers: HeaderMap,
    auth: Option<Auth>,
    validators: Validators,
    validated: Option<Url>,
}

/// A header line that cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadHeader {
    /// Not allowed in HTTP.
    #[error("`{0}` is not a header that http can carry")]
    Malformed(String),
    /// Ours to set.
    #[error("the header `{0}` is set by tidewatch itself; leave it out")]
    Ours(HeaderName),
}

impl Request {
    /// Asks for an address. A user name and password written into it become its [`Auth`].
    pub fn new(mut url: Url) -> Result<Self, NotHttp> {
        let host = Host::try_from(&url)?;
        let auth = written_in(&url);
        cleaned(&mut url);
        let (headers, validators) = (HeaderMap::new(), Validators::default());
        Ok(Self { url, host, headers, auth, validators, validated: None })
    }

    /// Logs in.
    #[must_use]
    pub fn with_auth(mut self, auth: Auth) -> Self {
        self.auth = Some(auth);
        self
    }

    /// Adds a header line, such as `Cookie` or `Accept-Language`; it is treated as a secret.
    pub fn with_header(mut self, name: &str, value: &Secret) -> Result<Self, BadHeader> {
        let malformed = || BadHeader::Malformed(name.to_owned());
        let name: HeaderName = name.parse().map_err(|_| malformed())?;
        if OURS.contains(&name) {
            return Err(BadHeader::Ours(name));
        }
        let mut value: HeaderValue = value.reveal().parse().map_err(|_| malformed())?;
        value.set_sensitive(true);
        self.headers.append(name, value);
        Ok(self)
    }

    /// Asks "only if changed", of the address that gave the validators ([`Answer::url`](crate::Answer)).
    #[must_use]
    pub fn with_validators(mut self, validators: Validators, mut from: Url) -> Self {
        cleaned(&mut from);
        self.validators = validators;
        self.validated = Some(from);
        self
    }

    /// The address, without credentials and fragment.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Who answers for it.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The validators that may be shown to `url`.
    pub(crate) fn validators_for(&self, url: &Url) -> Option<&Validators> {
        let given_here = self.validated.as_ref() == Some(url);
        (given_here && self.validators != Validators::default()).then_some(&self.validators)
    }

    /// The message for one hop, with what that hop may see.
    pub(crate) fn message(&self, client: &reqwest::Client, url: &Url) -> reqwest::RequestBuilder {
        let mut headers = HeaderMap::new();
        headers.extend(self.validators_for(url).into_iter().flat_map(Validators::lines));
        if url.origin() != self.url.origin() {
            return client.get(url.clone()).headers(headers);
        }
        headers.extend(self.headers.clone());
        let message = client.get(url.clone()).headers(headers);
        match &self.auth {
            None => message,
            Some(Auth::Basic { user, password }) => {
                message.basic_auth(user, Some(password.reveal()))
            }
            Some(Auth::Bearer(token)) => message.bearer_auth(token.reveal()),
        }
    }
}

/// Takes out what is not for the wire: a fragment, and credentials, which travel in a header if at all.
pub(crate) fn cleaned(url: &mut Url) {
    url.set_fragment(None);
    if !url.username().is_empty() || url.password().is_some() {
        // fails only for addresses without a host, which cannot hold credentials
        let _ = url.set_username("");
        let _ = url.set_password(None);
    }
}

fn written_in(url: &Url) -> Option<Auth> {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    (!url.username().is_empty() || url.password().is_some()).then(|| Auth::Basic {
        user: decoded(url.username()),
        password: Secret::new(decoded(url.password().unwrap_or_default())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(url: &str) -> Request {
        Request::new(url.parse().unwrap()).unwrap()
    }

    #[test]
    fn credentials_leave_the_address() {
        let request = asking("https://anna:p%40ss@example.org/a#top");
        assert_eq!(request.url().as_str(), "https://example.org/a");
        assert!(
            request.auth
                == Some(Auth::Basic { user: "anna".into(), password: Secret::new("p@ss") })
        );
    }

    #[test]
    fn lines_that_frame_a_message_are_ours() {
        for name in ["Host", "content-length", "Range", "If-None-Match", "Accept-Encoding"] {
            let refused = asking("http://example.org").with_header(name, &Secret::new("x"));
            assert!(matches!(refused, Err(BadHeader::Ours(_))), "{name}");
        }
        for (name, value) in [("X Y", "z"), ("X-Y", "a\r\nHost: b")] {
            let refused = asking("http://example.org").with_header(name, &Secret::new(value));
            assert!(matches!(refused, Err(BadHeader::Malformed(_))), "{name}");
        }
    }

    #[test]
    fn validators_are_shown_only_where_they_came_from() {
        let marks = Validators { etag: Some("\"1\"".into()), last_modified: None };
        let there: Url = "http://example.org/b".parse().unwrap();
        let request = asking("http://example.org/a").with_validators(marks.clone(), there.clone());
        assert_eq!(request.validators_for(&there), Some(&marks));
        assert_eq!(request.validators_for(request.url()), None);
    }
}
