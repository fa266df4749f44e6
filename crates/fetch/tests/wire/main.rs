//! The wire, on real sockets: what servers do wrong, what they do right, and what we may not do.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

mod codings;
mod guarded;
mod misbehaving;
mod polite;
mod server;
mod stories;
mod tls;
