//! Media types: what a body says it is.

use http::HeaderMap;
use http::header::CONTENT_TYPE;

/// A Content-Type, split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// Such as `text/html`, in lower case.
    pub essence: String,
    /// As labelled, in lower case; whether it is true or even exists is not checked.
    pub charset: Option<String>,
}

impl Media {
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        Self::parse(headers.get(CONTENT_TYPE)?.to_str().ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let essence = parts.next().filter(|essence| essence.contains('/'))?.to_ascii_lowercase();
        let charset = parts
            .filter_map(|part| part.split_once('='))
            .find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))
            .map(|(_, value)| value.trim().trim_matches('"').to_ascii_lowercase())
            .filter(|charset| !charset.is_empty());
        Some(Self { essence, charset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn essence_and_charset_in_any_spelling() {
        for (text, essence, charset) in [
            ("text/html", "text/html", None),
            ("Text/HTML; Charset=\"UTF-8\"", "text/html", Some("utf-8")),
            ("application/json;a=b ; charset = x-none", "application/json", Some("x-none")),
            ("text/plain; charset=", "text/plain", None),
        ] {
            let media = Media::parse(text).unwrap();
            assert_eq!((media.essence.as_str(), media.charset.as_deref()), (essence, charset));
        }
        assert_eq!(Media::parse("html"), None);
    }
}
