//! Retry-After: how long a busy host asks us to wait, in seconds or until a date.

use std::time::Duration;

use jiff::Timestamp;

use crate::http_date;

/// No host shuts us out for longer by one header; it can say so again tomorrow.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The wait from `now` on; a date in the past means none, nonsense means `None`.
pub(crate) fn parse(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let wait = if digits {
        text.parse().map_or(LONGEST, Duration::from_secs)
    } else {
        Duration::try_from(http_date::parse(text)?.duration_since(now)).unwrap_or_default()
    };
    Some(wait.min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(text: &str) -> Option<u64> {
        let now = "1994-11-06T08:49:37Z".parse().unwrap();
        parse(text, now).map(|wait| wait.as_secs())
    }

    #[test]
    fn seconds_or_a_date() {
        assert_eq!(after("120"), Some(120));
        assert_eq!(after(" 0 "), Some(0));
        assert_eq!(after("Sun, 06 Nov 1994 08:51:37 GMT"), Some(120));
        assert_eq!(after("Sunday, 06-Nov-94 08:50:37 GMT"), Some(60));
    }

    #[test]
    fn never_longer_than_a_day_never_negative() {
        assert_eq!(after("99999999"), Some(86_400));
        assert_eq!(after("99999999999999999999999999"), Some(86_400));
        assert_eq!(after("Fri, 31 Dec 1999 23:59:59 GMT"), Some(86_400));
        assert_eq!(after("Sat, 05 Nov 1994 08:49:37 GMT"), Some(0));
    }

    #[test]
    fn nonsense_says_nothing() {
        for text in ["", "soon", "-5", "1.5", "1h"] {
            assert_eq!(after(text), None, "{text}");
        }
    }
}
