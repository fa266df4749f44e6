//! From bytes to text: which encoding a body is in.
//!
//! A byte order mark beats the `Content-Type` header, which beats what the document declares of itself; without
//! any of them text that is UTF-8 is UTF-8, and the rest is guessed by `chardetng`. Decoding never fails: what
//! cannot be decoded becomes U+FFFD, the same one every time.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};

use crate::Kind;

/// Documents declare their encoding this early or not at all.
const DECLARED_WITHIN: usize = 1024;
/// More bytes than this do not make a guess better.
const GUESSED_FROM: usize = 64 << 10;

/// The body as text, without its byte order mark.
pub(crate) fn decode<'a>(body: &'a [u8], content_type: Option<&str>, kind: Kind) -> Cow<'a, str> {
    if let Some((encoding, mark)) = Encoding::for_bom(body) {
        return encoding.decode_without_bom_handling(&body[mark..]).0;
    }
    let encoding = content_type
        .and_then(in_header)
        .or_else(|| in_document(body, kind))
        .unwrap_or_else(|| guess(body));
    encoding.decode_without_bom_handling(body).0
}

/// `text/html; charset="utf-8"`.
fn in_header(content_type: &str) -> Option<&'static Encoding> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| known(value))?
    })
}

fn in_document(body: &[u8], kind: Kind) -> Option<&'static Encoding> {
    let head = &body[..body.len().min(DECLARED_WITHIN)];
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let declared = match kind {
        Kind::Html => in_meta(&head).or_else(|| in_declaration(&head)),
        Kind::Xml => in_declaration(&head),
        Kind::Json | Kind::Text | Kind::Other => None,
    }?;
    // whoever could read the declaration byte by byte was not reading UTF-16
    Some(declared.output_encoding())
}

/// `<meta charset=utf-8>` and `<meta http-equiv=… content="text/html; charset=utf-8">`.
fn in_meta(head: &str) -> Option<&'static Encoding> {
    head.split("<meta").skip(1).find_map(|rest| {
        let tag = rest.split('>').next()?;
        known(tag.split_once("charset")?.1.trim_start().strip_prefix('=')?)
    })
}

/// `<?xml version="1.0" encoding="utf-8"?>`.
fn in_declaration(head: &str) -> Option<&'static Encoding> {
    let declaration = head.trim_start().strip_prefix("<?xml")?.split("?>").next()?;
    known(declaration.split_once("encoding")?.1.trim_start().strip_prefix('=')?)
}

/// The encoding of a label, quoted or not. Those the standard replaces by nothing but U+FFFD are unknown:
/// every such body would look the same.
fn known(label: &str) -> Option<&'static Encoding> {
    let label = label.trim_start().trim_start_matches(['"', '\'']);
    let end = label.find(['"', '\'', ';', '/']).unwrap_or(label.len());
    Encoding::for_label_no_replacement(label[..end].trim().as_bytes())
}

fn guess(body: &[u8]) -> &'static Encoding {
    if std::str::from_utf8(body).is_ok() {
        return UTF_8;
    }
    // the detector wants a little of what stands before the first foreign letter
    let start = Encoding::ascii_valid_up_to(body).saturating_sub(16);
    let end = body.len().min(start + GUESSED_FROM);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(&body[start..end], end == body.len());
    detector.guess(None, Utf8Detection::Allow)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATIN: &[u8] = b"caf\xe9";

    #[test]
    fn a_byte_order_mark_beats_the_header() {
        assert_eq!(
            decode(b"\xef\xbb\xbfa\xc3\xa9", Some("text/html; charset=latin1"), Kind::Html),
            "aé"
        );
        assert_eq!(decode(b"\xff\xfea\0", Some("text/plain; charset=utf-8"), Kind::Text), "a");
    }

    #[test]
    fn the_header_beats_the_document() {
        let body = b"<meta charset=utf-8>caf\xe9";
        assert!(
            decode(body, Some("text/html;Charset=\"ISO-8859-1\""), Kind::Html).ends_with("café")
        );
        assert!(decode(body, None, Kind::Html).ends_with("caf\u{fffd}"));
    }

    #[test]
    fn a_document_declares_itself() {
        let meta = b"<meta http-equiv=x content='text/html; charset=windows-1251'>\xcf";
        assert!(decode(meta, Some("text/html"), Kind::Html).ends_with('П'));
        let xml = b"<?xml version='1.0' encoding='koi8-r'?><a>\xf0</a>";
        assert!(decode(xml, None, Kind::Xml).contains('П'));
    }

    #[test]
    fn an_undeclared_text_is_guessed() {
        assert_eq!(decode("naïve".as_bytes(), None, Kind::Text), "naïve");
        assert_eq!(decode(LATIN, None, Kind::Text), "café");
    }

    #[test]
    fn a_replaced_encoding_still_tells_bodies_apart() {
        let look = |body| decode(body, Some("text/plain; charset=iso-2022-kr"), Kind::Text);
        assert_ne!(look(b"one"), look(b"two"));
    }
}
