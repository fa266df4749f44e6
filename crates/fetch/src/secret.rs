//! Secrets: text that goes to a server and nowhere else.

/// Text no log can show: the type has neither `Debug` nor `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps what was read from a file or the environment.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for whoever must send or sign with it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}
