//! Numbers as people print them: `1,234.50`, `1.234,50`, `1 234`, `−3`.
//!
//! Spaces and apostrophes only group digits. Of `.` and `,` the last that occurs once marks the decimals and
//! what occurs more often groups, with one exception: a single comma before exactly three digits groups,
//! `1,234`, while a single point never does, `1.234`, as in data.

/// The number that the text is, with anything before and after its digits ignored.
pub(crate) fn parse(text: &str) -> Option<f64> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let before = text[..start].trim_end();
    // `.5` and `-.5`
    let (before, point) = before.strip_suffix('.').map_or((before, ""), |rest| (rest, "0."));
    let is_negative = before.trim_end().ends_with(['-', '−', '–']);
    let digits: String =
        text[start..].chars().filter(|c| !groups(*c)).take_while(|c| is_numeral(*c)).collect();
    let digits = digits.trim_end_matches(['.', ',']);
    let number: f64 = format!("{point}{}", plain(digits)).parse().ok()?;
    Some(if is_negative { -number } else { number })
}

fn groups(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\'' | '’' | '_')
}

fn is_numeral(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '.' | ',')
}

/// Digits with a point before the decimals and nothing else.
fn plain(digits: &str) -> String {
    let mark = decimal_mark(digits);
    digits
        .char_indices()
        .filter_map(|(at, c)| match c {
            _ if Some(at) == mark => Some('.'),
            '.' | ',' => None,
            digit => Some(digit),
        })
        .collect()
}

fn decimal_mark(digits: &str) -> Option<usize> {
    let last = digits.rfind(['.', ','])?;
    let mark = if digits[last..].starts_with(',') { ',' } else { '.' };
    let occurs = digits.matches(mark).count();
    let has_other = digits.contains(if mark == ',' { '.' } else { ',' });
    let is_group =
        mark == ',' && !has_other && digits.len() - last == 4 && !digits.starts_with('0');
    (occurs == 1 && !is_group).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        let cases = [
            ("12", 12.0),
            ("1,234.50", 1234.5),
            ("1.234,50", 1234.5),
            ("1,234", 1234.0),
            ("1.234", 1.234),
            ("1,5", 1.5),
            ("0,125", 0.125),
            ("1,234,567", 1_234_567.0),
            ("1.234.567", 1_234_567.0),
            ("1 234 567,8", 1_234_567.8),
            ("1\u{a0}234", 1234.0),
            ("1'234.5", 1234.5),
            ("€ −3.50 each", -3.5),
            ("-.5", -0.5),
            ("$12.", 12.0),
        ];
        for (text, number) in cases {
            let read = parse(text).unwrap();
            assert!((read - number).abs() < 1e-9, "{text} was read as {read}");
        }
    }

    #[test]
    fn what_has_no_digits_is_no_number() {
        assert_eq!(parse("sold out"), None);
        assert_eq!(parse(""), None);
    }
}
