//! How much work one body may cost. Counted in bytes, nodes and steps, never in seconds: a slow machine
//! must reach the same verdict as a fast one.

/// Bounds on reading a body and on describing a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a body.
    pub bytes: usize,
    /// Bytes of the canonical text made from it.
    pub text: usize,
    /// Elements open at once while HTML or XML is read, and nesting of JSON (which stops at 127 anyhow).
    pub depth: usize,
    /// Nodes of a document, and attributes over all of it.
    pub nodes: usize,
    /// Objects of a listing.
    pub items: usize,
    /// Attributes of one tag.
    pub attributes: usize,
    /// Looks at open elements while HTML is read; guards against tags that make the parser search.
    pub parse_steps: u64,
    /// Looks at elements while one CSS selector is matched.
    pub match_steps: u64,
    /// Looks at lines or words while a shortest edit is searched; beyond it a diff is coarse.
    pub edit_steps: usize,
    /// Bytes of a unified diff, and of a word diff.
    pub diff: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 8 << 20,
            text: 32 << 20,
            depth: 512,
            nodes: 250_000,
            items: 100_000,
            attributes: 512,
            parse_steps: 50_000_000,
            match_steps: 100_000_000,
            edit_steps: 10_000_000,
            diff: 64 << 10,
        }
    }
}
