//! What a failed exchange means: the client's chain of causes, read once and turned into an outcome.

use std::error::Error;
use std::io;

use crate::{Broken, Guarded, Outcome, Refusal, Timeout, Unreachable};

pub(crate) fn outcome(error: &reqwest::Error) -> Outcome {
    if let Some(guarded) = causes(error).find_map(|cause| cause.downcast_ref::<Guarded>()) {
        return Outcome::Refused(Refusal::Guard(guarded.clone()));
    }
    if error.is_request() { Outcome::Unreachable(unreachable(error)) } else { in_body(error) }
}

fn unreachable(error: &reqwest::Error) -> Unreachable {
    if causes(error).any(<dyn Error>::is::<rustls::Error>) {
        return Unreachable::Tls(innermost(error));
    }
    // the client's only timer is the one for connecting
    if error.is_timeout() {
        return Unreachable::Timeout(Timeout::Connect);
    }
    if error.is_dns() {
        return Unreachable::Dns(innermost(error));
    }
    if error.is_connect() {
        return Unreachable::Connect(innermost(error));
    }
    match io_kind(error) {
        Some(_) => Unreachable::Reset(innermost(error)),
        None => Unreachable::NotHttp(innermost(error)),
    }
}

/// An end that came too early belongs to this answer; a broken connection, to the host.
fn in_body(error: &reqwest::Error) -> Outcome {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    match io_kind(error) {
        Some(ConnectionReset | ConnectionAborted | BrokenPipe) => {
            Outcome::Unreachable(Unreachable::Reset(innermost(error)))
        }
        _ => Outcome::Broken(Broken::CutShort(innermost(error))),
    }
}

fn io_kind(error: &reqwest::Error) -> Option<io::ErrorKind> {
    causes(error).find_map(|cause| Some(cause.downcast_ref::<io::Error>()?.kind()))
}

fn innermost(error: &reqwest::Error) -> String {
    causes(error).last().map_or_else(String::new, ToString::to_string)
}

/// The causes, outermost first.
fn causes<'a>(error: &'a reqwest::Error) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(error.source(), |&cause| under(cause))
}

/// An `io::Error` hides what it wraps from `source`.
fn under<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let wrapped = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    wrapped.map(|inner| inner as &(dyn Error + 'static)).or_else(|| cause.source())
}
