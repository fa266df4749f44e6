//! Counts the attributes of a tag before the parser sees it: html5ever compares each attribute with all
//! before it, so a tag with a hundred thousand of them would hold a core for minutes.
//!
//! Follows the standard's tokenizer states between `<name` and `>`, nothing more.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    TagName,
    Between,
    Name,
    AfterName,
    BeforeValue,
    Quoted(u8),
    Unquoted,
}

/// Where in a tag we are, and how many attributes it had so far.
#[derive(Debug)]
pub(super) struct Attributes {
    at: At,
    pub(super) count: usize,
}

impl Attributes {
    /// At the first letter of a tag's name.
    pub(super) fn new() -> Self {
        Self { at: At::TagName, count: 0 }
    }

    /// Goes through a piece of the tag that may end in `>`.
    pub(super) fn scan(&mut self, piece: &str) {
        for &byte in piece.as_bytes() {
            let next = self.at.after(byte);
            self.count += usize::from(next == At::Name && self.at != At::Name);
            self.at = next;
        }
    }

    /// Whether a `>` here belongs to a value instead of ending the tag.
    pub(super) fn in_quotes(&self) -> bool {
        matches!(self.at, At::Quoted(_))
    }
}

impl At {
    fn after(self, byte: u8) -> Self {
        let space = matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c);
        match (self, byte) {
            (Self::Quoted(quote), _) if byte == quote => Self::Between,
            (Self::Quoted(_), _) => self,
            (Self::BeforeValue, b'"' | b'\'') => Self::Quoted(byte),
            (Self::Name | Self::AfterName, b'=') => Self::BeforeValue,
            (Self::Unquoted | Self::BeforeValue, b'/') => Self::Unquoted,
            (_, b'/') => Self::Between,
            (Self::Name, _) if space => Self::AfterName,
            (Self::TagName | Self::Unquoted, _) if space => Self::Between,
            (Self::Between | Self::AfterName | Self::BeforeValue, _) if space => self,
            (Self::Between | Self::AfterName, _) if byte != b'>' => Self::Name,
            (Self::BeforeValue, _) => Self::Unquoted,
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(tag: &str) -> usize {
        let mut attributes = Attributes::new();
        attributes.scan(tag);
        attributes.count
    }

    #[test]
    fn attributes_are_counted_as_the_standard_reads_them() {
        assert_eq!(count("p>"), 0);
        assert_eq!(count("br/>"), 0);
        assert_eq!(count("p class=a id='b c' hidden>"), 3);
        assert_eq!(count("a href=/x/y/z rel=\"a=b c=d\"title=t>"), 3);
        assert_eq!(count("a b = 'x' c\t=y d/e>"), 4);
        assert_eq!(count("a =b c"), 2);
    }

    #[test]
    fn a_bracket_in_quotes_does_not_end_the_tag() {
        let mut attributes = Attributes::new();
        attributes.scan("a title=\"x>");
        assert!(attributes.in_quotes());
        attributes.scan(" y\" b>");
        assert!(!attributes.in_quotes());
        assert_eq!(attributes.count, 2);
    }
}
