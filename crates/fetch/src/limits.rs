//! Limits: how long and how much one poll may cost us, whatever the server does.

use std::time::Duration;

/// Bounds on one poll. Time spent waiting for leave or for robots.txt does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// To a ready connection: name lookup, TCP and TLS.
    pub connect: Duration,
    /// From asking to the last header, connecting included.
    pub header: Duration,
    /// Between two pieces of a body.
    pub idle: Duration,
    /// For all of it, redirects included.
    pub total: Duration,
    /// Bytes of a body, on the wire and decoded.
    pub max_body: u64,
    /// A decoded body beyond 1 MiB may be this many times its size on the wire.
    pub max_expansion: u64,
    /// Redirects followed.
    pub max_redirects: usize,
    /// Header lines of an answer.
    pub max_headers: usize,
    /// Bytes of all header lines of an answer.
    pub max_header_bytes: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            header: Duration::from_secs(20),
            idle: Duration::from_secs(15),
            total: Duration::from_secs(30),
            max_body: 8 << 20,
            max_expansion: 100,
            max_redirects: 5,
            max_headers: 100,
            max_header_bytes: 64 << 10,
        }
    }
}
