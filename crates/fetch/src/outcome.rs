//! Outcomes: what became of one poll. All of them are ordinary; none is an error.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use url::Url;

use crate::{Broken, Media, Refusal, Unreachable, Validators};

/// What a driver must tell apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A body to compare.
    Fetched(Box<Response>),
    /// A 304 to a conditional request; the validators to send next time.
    NotModified(Validators),
    /// 404 or 410.
    Gone {
        /// Which.
        status: u16,
    },
    /// 429 or 503: the host asks us to wait.
    Busy {
        /// Which.
        status: u16,
        /// How long, if it said; at most a day.
        retry_after: Option<Duration>,
    },
    /// The host is in trouble: back off.
    Unreachable(Unreachable),
    /// We did not ask.
    Refused(Refusal),
    /// This answer is unusable.
    Broken(Broken),
}

impl Outcome {
    /// A stable name for journals, metrics and the API.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Fetched(_) => "fetched",
            Self::NotModified(_) => "not_modified",
            Self::Gone { .. } => "gone",
            Self::Busy { .. } => "busy",
            Self::Unreachable(why) => why.code(),
            Self::Refused(why) => why.code(),
            Self::Broken(why) => why.code(),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fetched(response) => {
                write!(f, "status {}, {} bytes", response.status, response.body.len())
            }
            Self::NotModified(_) => f.write_str("not modified since the last look"),
            Self::Gone { status } => write!(f, "gone: the server answered with status {status}"),
            Self::Busy { status, retry_after: None } => {
                write!(f, "the host asks to wait (status {status})")
            }
            Self::Busy { status, retry_after: Some(wait) } => {
                write!(f, "the host asks to wait {} s (status {status})", wait.as_secs())
            }
            Self::Unreachable(why) => why.fmt(f),
            Self::Refused(why) => why.fmt(f),
            Self::Broken(why) => why.fmt(f),
        }
    }
}

/// A readable answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// 200 or 203.
    pub status: u16,
    /// Names in lower case, values as text; what is not UTF-8 is replaced.
    pub headers: Vec<(String, String)>,
    /// Decoded, otherwise as sent: charsets are the reader's business.
    pub body: Bytes,
    /// Size of the body before decoding.
    pub wire_bytes: u64,
    /// What to send next time, to this address only.
    pub validators: Validators,
    /// What the body says it is.
    pub media: Option<Media>,
    /// When the server says the source last changed; `None` if it lies in the future.
    pub last_modified: Option<Timestamp>,
}

/// One redirect that was followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// 301, 302, 303, 307 or 308.
    pub status: u16,
    /// Where it led.
    pub to: Url,
}

impl Hop {
    /// Whether the server means for ever.
    pub fn permanent(&self) -> bool {
        matches!(self.status, 301 | 308)
    }
}

/// The outcome of a poll and what it cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What became of it.
    pub outcome: Outcome,
    /// The address that was asked last; validators belong to it.
    pub url: Url,
    /// The redirects followed, in order.
    pub hops: Vec<Hop>,
    /// What the robots.txt of the source's own host asks for, capped at 300 s.
    pub crawl_delay: Option<Duration>,
    /// Requests sent, those for robots.txt included.
    pub requests: u32,
    /// Time on the poll's own requests; waiting for leave and for robots.txt is left out.
    pub elapsed: Duration,
}

impl Answer {
    /// Where the source moved for good: as far as permanent redirects lead without a break.
    pub fn moved_to(&self) -> Option<&Url> {
        self.hops.iter().take_while(|hop| hop.permanent()).last().map(|hop| &hop.to)
    }
}
