//! Which kind a body is: what its `Content-Type` says, or how it begins where that says nothing.

use std::fmt;

/// The kinds of body that are read differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// HTML, as a person sees it.
    Html,
    /// XML, feeds among it.
    Xml,
    /// JSON.
    Json,
    /// Plain text and what reads like it.
    Text,
    /// Anything else: compared byte for byte.
    Other,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Html => "HTML",
            Self::Xml => "XML",
            Self::Json => "JSON",
            Self::Text => "plain text",
            Self::Other => "not text",
        })
    }
}

impl Kind {
    /// The kind of a body.
    pub fn of(content_type: Option<&str>, body: &[u8]) -> Self {
        content_type
            .and_then(|written| Self::named(&essence(written)))
            .unwrap_or_else(|| sniff(body))
    }

    /// What a media type without its parameters says; `None` where it says nothing.
    fn named(essence: &str) -> Option<Self> {
        match essence {
            ""
            | "*/*"
            | "unknown/unknown"
            | "application/unknown"
            | "application/octet-stream"
            | "binary/octet-stream" => None,
            "text/html" | "application/xhtml+xml" => Some(Self::Html),
            "text/xml" | "application/xml" => Some(Self::Xml),
            "text/json" | "application/json" => Some(Self::Json),
            "application/javascript"
            | "application/x-javascript"
            | "application/x-ndjson"
            | "application/jsonl"
            | "application/yaml"
            | "application/x-yaml"
            | "application/toml"
            | "application/sql" => Some(Self::Text),
            _ if essence.ends_with("+xml") => Some(Self::Xml),
            _ if essence.ends_with("+json") => Some(Self::Json),
            _ if essence.starts_with("text/") => Some(Self::Text),
            _ => Some(Self::Other),
        }
    }
}

/// A media type without its parameters, in lower case.
pub(crate) fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn sniff(body: &[u8]) -> Kind {
    let head = &body[..body.len().min(1024)];
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return Kind::Text;
    }
    if head.iter().any(|&byte| matches!(byte, 0..=8 | 0x0e..=0x1a | 0x1c..=0x1f)) {
        return Kind::Other;
    }
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let head = head.trim_start_matches('\u{feff}').trim_start();
    let begins = |openings: &[&str]| openings.iter().any(|opening| head.starts_with(opening));
    if begins(&["<!doctype html", "<html", "<head", "<body"]) {
        Kind::Html
    } else if begins(&["<?xml"]) {
        if head.contains("<html") { Kind::Html } else { Kind::Xml }
    } else if begins(&["<rss", "<feed", "<rdf:rdf", "<urlset", "<sitemapindex", "<opml", "<svg"]) {
        Kind::Xml
    } else if begins(&["{", "["]) {
        Kind::Json
    } else if begins(&["<"]) {
        Kind::Html
    } else {
        Kind::Text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_decides() {
        let of = |content_type| Kind::of(Some(content_type), b"<html>");
        assert_eq!(of("Text/HTML; charset=x"), Kind::Html);
        assert_eq!(of("application/atom+xml"), Kind::Xml);
        assert_eq!(of("application/ld+json"), Kind::Json);
        assert_eq!(of("text/csv"), Kind::Text);
        assert_eq!(of("image/png"), Kind::Other);
    }

    #[test]
    fn a_header_that_says_nothing_leaves_it_to_the_body() {
        let of = |body: &[u8]| Kind::of(Some("application/octet-stream"), body);
        assert_eq!(of(b"\xef\xbb\xbf <!DOCTYPE HTML><p>x"), Kind::Html);
        assert_eq!(of(b"<?xml version='1.0'?><html xmlns='x'>"), Kind::Html);
        assert_eq!(of(b"<?xml version='1.0'?><rss/>"), Kind::Xml);
        assert_eq!(of(b"<feed/>"), Kind::Xml);
        assert_eq!(of(b"<p>x"), Kind::Html);
        assert_eq!(of(b" [1]"), Kind::Json);
        assert_eq!(of(b"\x89PNG\r\n\x1a\n\0\0"), Kind::Other);
        assert_eq!(Kind::of(None, b"hello"), Kind::Text);
        assert_eq!(Kind::of(None, b""), Kind::Text);
    }
}
