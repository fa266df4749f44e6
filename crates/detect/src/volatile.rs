//! What changes in a text at every look without anything having changed: session ids and one-time tokens.
//!
//! Attributes are not text, so most of these never arrive; the rest stand in visible addresses and in data.
//! Only a known name, `=` or `:`, and a value of at least sixteen letters and digits (eight after
//! `;jsessionid=`) is taken for one. The name stays, the value becomes `…`:
//!
//! | name | from |
//! | --- | --- |
//! | `;jsessionid=` | Java servlets, in addresses |
//! | `JSESSIONID`, `PHPSESSID`, `ASPSESSIONID…`, `ASP.NET_SessionId`, `session_id`, `sessionid` | session ids |
//! | `csrf…`, `xsrf…`, `authenticity_token`, `__RequestVerificationToken`, `nonce` | one-time tokens |

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

static TOKENS: LazyLock<Regex> = LazyLock::new(|| {
    let names = r"\b(?:jsessionid|phpsessid|aspsessionid[a-z]{0,8}|asp\.net_sessionid|session_?id|[cx]srf[a-z_-]{0,24}|authenticity_token|__requestverificationtoken|nonce)";
    let join = r#"["']?\s{0,2}[=:]\s{0,2}["']?"#;
    let value = "[0-9a-z+/_=.~-]";
    Regex::new(&format!(
        "(?i-u)(?P<name>;jsessionid=){value}{{8,}}|(?P<pair>{names}{join}){value}{{16,}}"
    ))
    .expect("a regex of constants")
});

/// The text with the values of such tokens masked.
pub(crate) fn mask(text: &str) -> Cow<'_, str> {
    TOKENS.replace_all(text, "$name$pair…")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn session_ids_and_tokens_are_masked() {
        let masked = [
            ("/shop;jsessionid=0A1B2C3D4E5F.node1?x=1", "/shop;jsessionid=…?x=1"),
            ("?PHPSESSID=q1w2e3r4t5y6u7i8o9p0&a=b", "?PHPSESSID=…&a=b"),
            (r#""csrf_token": "Zm9vYmFyYmF6cXV4Zm9v""#, r#""csrf_token": "…""#),
            ("csrfmiddlewaretoken=abcdefghijklmnop0123", "csrfmiddlewaretoken=…"),
            ("nonce: r4nd0mr4nd0mr4nd0m", "nonce: …"),
        ];
        for (text, expected) in masked {
            assert_eq!(mask(text), expected);
        }
    }

    #[test]
    fn words_and_numbers_are_left_alone() {
        for text in [
            "the csrf token: see below",
            "nonce: 17",
            "session id: 12",
            "pronounce=abcdefghijklmnopqrst",
            "price=1234567890123456",
        ] {
            assert_eq!(mask(text), text);
        }
    }

    proptest! {
        #[test]
        fn masking_twice_masks_no_more(text in "(nonce|csrf|;jsessionid|[=:\" a]|[a-z0-9]{8}){0,12}") {
            let once = mask(&text).into_owned();
            prop_assert_eq!(mask(&once), once.clone());
        }
    }
}
