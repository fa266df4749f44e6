//! Bodies: read and decoded under caps, so that no answer costs more than it may.
//!
//! ```text
//! wire ─ counted, idle limit ─► coding ─ metered ─► coding ─ metered ─► gathered up to the cap
//! ```
//!
//! Every layer is metered, not only the last: the inner one may swallow gigabytes and yield nothing.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures_util::stream::try_unfold;
use http::header::CONTENT_LENGTH;
use tokio::io::{AsyncRead, AsyncReadExt, BufReader, ReadBuf};
use tokio_util::io::StreamReader;

use crate::coding::{self, Coding, Reader};
use crate::patience::Patience;
use crate::{Broken, Limits, Outcome, Timeout, failure};

/// Small bodies may expand as they like.
const BOMBS_FROM: u64 = 1 << 20;

/// Room made for a body at a time.
const PIECE: usize = 16 << 10;

/// How much of a body is wanted.
#[derive(Clone, Copy)]
pub(crate) enum Wanted {
    /// All of it; one over the limit is broken.
    Whole,
    /// The first bytes, as many as these.
    Start(usize),
}

pub(crate) struct Body {
    pub(crate) bytes: Bytes,
    pub(crate) wire_bytes: u64,
}

/// An outcome on its way through readers that know only `io::Error`.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Ended(Outcome);

impl From<Ended> for io::Error {
    fn from(ended: Ended) -> Self {
        Self::other(ended)
    }
}

fn broken(why: Broken) -> Ended {
    Ended(Outcome::Broken(why))
}

fn outcome(error: io::Error) -> Outcome {
    match error.downcast::<Ended>() {
        Ok(Ended(outcome)) => outcome,
        Err(error) => Outcome::Broken(Broken::BadEncoding(error.to_string())),
    }
}

pub(crate) async fn read(
    response: reqwest::Response,
    wanted: Wanted,
    limits: &Limits,
    patience: Patience,
) -> Result<Body, Outcome> {
    let codings = coding::of(response.headers()).map_err(Outcome::Broken)?;
    announced(&response, wanted, limits)?;
    let taken = Arc::new(AtomicU64::new(0));
    let wire = Wire { response, taken: Arc::clone(&taken), limits: *limits, patience };
    let reader = undone(wire, &codings).await.map_err(outcome)?;
    let bytes = gather(reader, wanted, limits).await.map_err(outcome)?;
    Ok(Body { bytes, wire_bytes: taken.load(Ordering::Relaxed) })
}

/// A body that says it is too big need not be read to know.
fn announced(response: &reqwest::Response, wanted: Wanted, limits: &Limits) -> Result<(), Outcome> {
    let length = response.headers().get(CONTENT_LENGTH).and_then(|line| line.to_str().ok());
    let length = length.and_then(|length| length.parse::<u64>().ok());
    match (wanted, length) {
        (Wanted::Whole, Some(length)) if length > limits.max_body => {
            Err(Outcome::Broken(Broken::TooBig { limit: limits.max_body }))
        }
        _ => Ok(()),
    }
}

/// The body as it comes in.
struct Wire {
    response: reqwest::Response,
    taken: Arc<AtomicU64>,
    limits: Limits,
    patience: Patience,
}

impl Wire {
    async fn piece(&mut self) -> Result<Option<Bytes>, Ended> {
        let waiting = self.patience.wait(Timeout::Idle, self.limits.idle, self.response.chunk());
        let piece = waiting.await.map_err(Ended)?;
        let piece = piece.map_err(|error| Ended(failure::outcome(&error)))?;
        let size = piece.as_ref().map_or(0, Bytes::len) as u64;
        let taken = self.taken.fetch_add(size, Ordering::Relaxed) + size;
        if taken > self.limits.max_body {
            return Err(broken(Broken::TooBig { limit: self.limits.max_body }));
        }
        Ok(piece)
    }
}

/// The last coding applied is the first undone.
async fn undone(wire: Wire, codings: &[Coding]) -> io::Result<Reader> {
    let (taken, limits) = (Arc::clone(&wire.taken), wire.limits);
    let pieces = try_unfold(wire, |mut wire| async move {
        Ok::<_, io::Error>(wire.piece().await?.map(|piece| (piece, wire)))
    });
    let mut reader: Reader = Box::pin(StreamReader::new(Box::pin(pieces)));
    for coding in codings.iter().rev() {
        let inner = coding.undo(BufReader::new(reader)).await?;
        reader = Box::pin(Meter { inner, seen: 0, taken: Arc::clone(&taken), limits });
    }
    Ok(reader)
}

async fn gather(mut reader: Reader, wanted: Wanted, limits: &Limits) -> io::Result<Bytes> {
    let mut body = BytesMut::new();
    loop {
        body.reserve(PIECE);
        let read = reader.read_buf(&mut body).await?;
        match wanted {
            _ if read == 0 => return Ok(body.freeze()),
            Wanted::Start(enough) if body.len() >= enough => {
                body.truncate(enough);
                return Ok(body.freeze());
            }
            Wanted::Whole if body.len() as u64 > limits.max_body => {
                return Err(broken(Broken::TooBig { limit: limits.max_body }).into());
            }
            Wanted::Start(_) | Wanted::Whole => {}
        }
    }
}

/// Counts what a coding yields and stops it where no honest body goes.
struct Meter {
    inner: Reader,
    seen: u64,
    taken: Arc<AtomicU64>,
    limits: Limits,
}

impl Meter {
    fn check(&self) -> Result<(), Ended> {
        let honest = self.taken.load(Ordering::Relaxed).saturating_mul(self.limits.max_expansion);
        if self.seen > BOMBS_FROM && self.seen > honest {
            return Err(broken(Broken::Bomb { ratio: self.limits.max_expansion }));
        }
        if self.seen > self.limits.max_body {
            return Err(broken(Broken::TooBig { limit: self.limits.max_body }));
        }
        Ok(())
    }
}

impl AsyncRead for Meter {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(self.inner.as_mut().poll_read(context, into))?;
        self.seen += (into.filled().len() - before) as u64;
        Poll::Ready(self.check().map_err(io::Error::from))
    }
}
