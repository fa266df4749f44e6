//! Why a poll brought nothing: unreachable, refused by us, or an answer nobody can use.
//!
//! Texts inside are the innermost cause as the libraries put it; none holds an address with its query.

use crate::{Guarded, Host};

/// The host could not be reached or is in trouble: back off and ask again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    /// The name has no address.
    #[error("the name was not found: {0}")]
    Dns(String),
    /// No connection.
    #[error("no connection: {0}")]
    Connect(String),
    /// No trust: certificate or handshake.
    #[error("no secure connection: {0}")]
    Tls(String),
    /// Too slow.
    #[error("{0}")]
    Timeout(Timeout),
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Reset(String),
    /// Something answered, but not in HTTP, or it hung up before answering.
    #[error("no answer in http: {0}")]
    NotHttp(String),
    /// A 5xx status other than 503.
    #[error("the server failed with status {0}")]
    ServerError(u16),
}

/// Which limit ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Timeout {
    /// [`Limits::connect`](crate::Limits::connect)
    #[error("no connection in time")]
    Connect,
    /// [`Limits::header`](crate::Limits::header)
    #[error("no headers in time")]
    Header,
    /// [`Limits::idle`](crate::Limits::idle)
    #[error("the body stopped arriving")]
    Idle,
    /// [`Limits::total`](crate::Limits::total)
    #[error("not done in time")]
    Total,
}

/// We did not ask, or did not listen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The host's robots.txt says no.
    #[error("robots.txt of {0} disallows it")]
    Robots(Host),
    /// The host has a robots.txt that cannot be read.
    #[error("robots.txt of {host} cannot be read: {why}")]
    RobotsUnreadable {
        /// Whose.
        host: Host,
        /// What was wrong with it.
        why: Broken,
    },
    /// The address is not for strangers.
    #[error("{0}")]
    Guard(Guarded),
    /// The doorman said stop.
    #[error("no leave to ask {0}")]
    NoLeave(Host),
}

/// The answer is unusable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// Neither a body, nor gone, nor busy, nor a failure of the server.
    #[error("the server answered with status {0}")]
    Status(u16),
    /// More than [`Limits::max_body`](crate::Limits::max_body).
    #[error("the body is over {limit} bytes; raise `fetch.max_body` to read it")]
    TooBig {
        /// The limit.
        limit: u64,
    },
    /// Expands suspiciously.
    #[error("the body expands more than {ratio} times")]
    Bomb {
        /// The limit.
        ratio: u64,
    },
    /// Headers over their limit.
    #[error("the headers are over {limit} bytes")]
    HeadersTooBig {
        /// The limit.
        limit: u32,
    },
    /// A content encoding we did not offer, or too many layers.
    #[error("the content encoding `{0}` is unknown")]
    UnknownEncoding(String),
    /// The body is not what its encoding says.
    #[error("the body is not readable in its encoding: {0}")]
    BadEncoding(String),
    /// The body ended before its end.
    #[error("the body did not arrive whole: {0}")]
    CutShort(String),
    /// A redirect to a place already visited.
    #[error("the redirects run in a circle")]
    RedirectLoop,
    /// More redirects than [`Limits::max_redirects`](crate::Limits::max_redirects).
    #[error("more than {limit} redirects")]
    TooManyRedirects {
        /// The limit.
        limit: usize,
    },
    /// A redirect to nowhere, or to something other than http.
    #[error("the redirect leads nowhere we can follow")]
    BadLocation,
    /// A 304 although no validator was sent.
    #[error("the server says `not modified` to a request that did not ask")]
    UnaskedNotModified,
}

impl Unreachable {
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Dns(_) => "dns",
            Self::Connect(_) => "connect",
            Self::Tls(_) => "tls",
            Self::Timeout(Timeout::Connect) => "timeout_connect",
            Self::Timeout(Timeout::Header) => "timeout_header",
            Self::Timeout(Timeout::Idle) => "timeout_idle",
            Self::Timeout(Timeout::Total) => "timeout_total",
            Self::Reset(_) => "reset",
            Self::NotHttp(_) => "not_http",
            Self::ServerError(_) => "server_error",
        }
    }
}

impl Refusal {
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Robots(_) => "robots",
            Self::RobotsUnreadable { .. } => "robots_unreadable",
            Self::Guard(_) => "guard",
            Self::NoLeave(_) => "no_leave",
        }
    }
}

impl Broken {
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Status(_) => "status",
            Self::TooBig { .. } => "too_big",
            Self::Bomb { .. } => "bomb",
            Self::HeadersTooBig { .. } => "headers_too_big",
            Self::UnknownEncoding(_) => "unknown_encoding",
            Self::BadEncoding(_) => "bad_encoding",
            Self::CutShort(_) => "cut_short",
            Self::RedirectLoop => "redirect_loop",
            Self::TooManyRedirects { .. } => "too_many_redirects",
            Self::BadLocation => "bad_location",
            Self::UnaskedNotModified => "unasked_not_modified",
        }
    }
}
