//! Plain text in one form: line ends are `\n`, lines do not end in white space, the text not in empty lines.

/// The canonical form. Applied to its own result it changes nothing.
pub(crate) fn canonical(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // U+FEFF inside a text is invisible, and at its start would be taken for a mark
    for line in text.replace("\r\n", "\n").replace('\u{feff}', "").split(['\n', '\r']) {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out
}

/// The words with one space between them.
pub(crate) fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// As much of the text as fits into so many bytes.
pub(crate) fn beginning(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The text without its empty lines.
pub(crate) fn without_empty_lines(text: &str) -> String {
    let lines: Vec<&str> =
        text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_line_ends_and_what_stands_before_them_change() {
        assert_eq!(canonical("\u{feff}  a \r\nb\t\rc\n\n  d  \n \n"), "  a\nb\nc\n\n  d");
        assert_eq!(canonical(" \n "), "");
    }

    proptest! {
        #[test]
        fn canonical_text_is_canonical(text in "[ a-c\n\r\t\u{feff}\u{a0}\u{85}]{0,30}") {
            let once = canonical(&text);
            prop_assert_eq!(canonical(&once), once.clone());
            prop_assert!(!once.contains('\r'));
        }
    }
}
