//! Content codings: which we offer, which an answer used, and how each is undone.

use std::pin::Pin;

use async_compression::tokio::bufread::{
    BrotliDecoder, DeflateDecoder, GzipDecoder, ZlibDecoder, ZstdDecoder,
};
use async_compression::zstd::DParameter;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead};

use crate::Broken;

/// What we say we can read.
pub(crate) const OFFERED: &str = "gzip, br, zstd, deflate";

/// More layers than this serve nobody but an attacker.
const MOST_LAYERS: usize = 2;

/// 8 MiB, the most that RFC 9659 lets a server ask of us.
const ZSTD_WINDOW_LOG: u32 = 23;

pub(crate) type Reader = Pin<Box<dyn AsyncRead + Send>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Brotli,
    Zstd,
    Deflate,
}

/// The codings of an answer, in the order they were applied.
pub(crate) fn of(headers: &HeaderMap) -> Result<Vec<Coding>, Broken> {
    let mut codings = Vec::new();
    for line in headers.get_all(CONTENT_ENCODING) {
        let line = String::from_utf8_lossy(line.as_bytes()).to_ascii_lowercase();
        for name in line.split(',').map(str::trim) {
            match name {
                "" | "identity" => {}
                "gzip" | "x-gzip" => codings.push(Coding::Gzip),
                "br" => codings.push(Coding::Brotli),
                "zstd" => codings.push(Coding::Zstd),
                "deflate" => codings.push(Coding::Deflate),
                _ => return Err(Broken::UnknownEncoding(line.clone())),
            }
        }
        if codings.len() > MOST_LAYERS {
            return Err(Broken::UnknownEncoding(line));
        }
    }
    Ok(codings)
}

impl Coding {
    /// Undoes this coding.
    pub(crate) async fn undo<R>(self, mut wire: R) -> std::io::Result<Reader>
    where
        R: AsyncBufRead + Send + Unpin + 'static,
    {
        // servers say `gzip` over empty bodies; nothing decodes to nothing
        let Some(&first) = wire.fill_buf().await?.first() else {
            return Ok(Box::pin(wire));
        };
        Ok(match self {
            Self::Gzip => {
                let mut decoder = GzipDecoder::new(wire);
                decoder.multiple_members(true);
                Box::pin(decoder)
            }
            Self::Brotli => Box::pin(BrotliDecoder::new(wire)),
            Self::Zstd => {
                let window = [DParameter::window_log_max(ZSTD_WINDOW_LOG)];
                let mut decoder = ZstdDecoder::with_params(wire, &window);
                decoder.multiple_members(true);
                Box::pin(decoder)
            }
            // the name means zlib, but some servers send the bare stream; a zlib header says method 8,
            // which no encoder starts a bare stream with
            Self::Deflate if first & 0x0f == 8 => Box::pin(ZlibDecoder::new(wire)),
            Self::Deflate => Box::pin(DeflateDecoder::new(wire)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(lines: &[&str]) -> Result<Vec<Coding>, Broken> {
        let mut headers = HeaderMap::new();
        headers.extend(lines.iter().map(|line| (CONTENT_ENCODING, line.parse().unwrap())));
        of(&headers)
    }

    #[test]
    fn layers_in_one_line_or_many() {
        use Coding::{Brotli, Gzip};
        assert_eq!(named(&[]), Ok(vec![]));
        assert_eq!(named(&["identity", ""]), Ok(vec![]));
        assert_eq!(named(&["X-GZIP , br"]), Ok(vec![Gzip, Brotli]));
        assert_eq!(named(&["gzip", "gzip"]), Ok(vec![Gzip, Gzip]));
    }

    #[test]
    fn a_third_layer_and_an_unknown_one_are_refused() {
        for lines in
            [&["gzip, gzip, gzip"][..], &["gzip, gzip", "br"], &["compress"], &["gzip;q=1"]]
        {
            assert!(matches!(named(lines), Err(Broken::UnknownEncoding(_))), "{lines:?}");
        }
    }
}
