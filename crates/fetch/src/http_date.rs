//! HTTP dates: the three forms of RFC 9110, section 5.6.7.

use jiff::Timestamp;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;

/// The preferred form, that of RFC 850, and that of C's `asctime`; all mean UTC.
const FORMS: [&str; 3] =
    ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];

pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    FORMS.iter().find_map(|form| {
        let time = strtime::parse(form, text.trim()).ok()?.to_datetime().ok()?;
        Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The RFC's own example, in its three spellings.
    #[test]
    fn three_forms_name_one_moment() {
        let moment: Timestamp = "1994-11-06T08:49:37Z".parse().unwrap();
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(parse(text), Some(moment), "{text}");
        }
    }

    #[test]
    fn anything_else_is_no_date() {
        for text in ["", "0", "-1", "tomorrow", "Sun, 06 Nov 1994", "Mon, 06 Nov 1994 08:49:37 GMT"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
