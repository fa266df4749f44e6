//! One look at a body: its kind, its title, its canonical text and the fingerprint of that.

use std::borrow::Cow;

use crate::{Fingerprint, Kind, Limits, Rule, charset, html, json, media, text, volatile, xml};

/// What a body says, its noise aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// How it was read; malformed XML and JSON are read as text.
    pub kind: Kind,
    /// The title of an HTML document or a feed.
    pub title: Option<String>,
    /// The canonical text. Of what is not text: its type, size and hash, in one line.
    pub text: String,
    /// Of the canonical text, or of the bytes of what is not text.
    pub fingerprint: Fingerprint,
}

/// Why a body was not read. Not a change: the last version stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// The body has too many bytes.
    #[error("the body has more than {limit} bytes")]
    TooLarge {
        /// [`Limits::bytes`].
        limit: usize,
    },
    /// The canonical text would have too many bytes.
    #[error("its text would have more than {limit} bytes; select a part of it")]
    TextTooLong {
        /// [`Limits::text`].
        limit: usize,
    },
    /// Elements or values are nested too deeply.
    #[error("it is nested more than {limit} deep")]
    TooDeep {
        /// [`Limits::depth`].
        limit: usize,
    },
    /// There are too many nodes or attributes.
    #[error("it has more than {limit} nodes or attributes")]
    TooManyNodes {
        /// [`Limits::nodes`].
        limit: usize,
    },
    /// One tag has too many attributes.
    #[error("a tag has more than {limit} attributes")]
    TooManyAttributes {
        /// [`Limits::attributes`].
        limit: usize,
    },
    /// Putting its misnested tags in order would be too much work.
    #[error("its tags are too tangled to be put in order")]
    TooTangled,
    /// A selector would look at too many elements.
    #[error(
        "`{selector}` asks too much of so large a document; name elements without `~` or `:has`"
    )]
    TooCostly {
        /// As written.
        selector: String,
    },
    /// The rule chooses elements where there are none.
    #[error("`{key}` is CSS and this is {kind}; remove `{key}` or watch another address")]
    NotCss {
        /// Which part of the rule.
        key: &'static str,
        /// What was found.
        kind: Kind,
    },
    /// The elements to watch are not there.
    #[error("`select` found nothing for `{select}`; the page may have a new layout")]
    NothingSelected {
        /// As written.
        select: String,
    },
}

/// What each kind of body is brought into.
#[derive(Debug)]
pub(crate) struct Canonical {
    pub(crate) kind: Kind,
    pub(crate) title: Option<String>,
    pub(crate) text: String,
}

/// Reads a body under a rule.
pub fn read(
    rule: &Rule,
    body: &[u8],
    content_type: Option<&str>,
    limits: &Limits,
) -> Result<Reading, Unreadable> {
    if body.len() > limits.bytes {
        return Err(Unreadable::TooLarge { limit: limits.bytes });
    }
    let kind = Kind::of(content_type, body);
    if kind == Kind::Other {
        rule.needs_no_elements(kind)?;
        return Ok(bytes_only(body, content_type));
    }
    let written = charset::decode(body, content_type, kind);
    let Canonical { kind, title, text } = canonical(rule, kind, &written, limits)?;
    let text = without_noise(&text, rule);
    if text.len() > limits.text {
        return Err(Unreadable::TextTooLong { limit: limits.text });
    }
    Ok(Reading { kind, title, fingerprint: Fingerprint::of(text.as_bytes()), text })
}

fn canonical(
    rule: &Rule,
    kind: Kind,
    written: &str,
    limits: &Limits,
) -> Result<Canonical, Unreadable> {
    let read = match kind {
        Kind::Html => Some(html::read(written, rule, limits)?),
        Kind::Xml => xml::read(written, rule, limits)?,
        Kind::Json => json::read(written, limits)?,
        Kind::Text | Kind::Other => None,
    };
    let read = read.unwrap_or_else(|| Canonical {
        kind: Kind::Text,
        title: None,
        text: written.to_owned(),
    });
    if !matches!(read.kind, Kind::Html | Kind::Xml) {
        rule.needs_no_elements(read.kind)?;
    }
    Ok(read)
}

fn without_noise(text: &str, rule: &Rule) -> String {
    let text = text::canonical(text);
    let text = volatile::mask(&text);
    if rule.ignore().is_empty() {
        return text.into_owned();
    }
    let kept = rule
        .ignore()
        .iter()
        .fold(text, |text, ignored| Cow::Owned(ignored.replace_all(&text, "").into_owned()));
    text::without_empty_lines(&kept)
}

fn bytes_only(body: &[u8], content_type: Option<&str>) -> Reading {
    let fingerprint = Fingerprint::of(body);
    let essence = content_type.map(media::essence).filter(|essence| !essence.is_empty());
    let essence = essence.as_deref().unwrap_or("application/octet-stream");
    let text = format!("{essence}, {} bytes, blake3 {fingerprint}", body.len());
    Reading { kind: Kind::Other, title: None, text, fingerprint }
}
