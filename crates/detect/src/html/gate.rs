//! A bounded HTML parser: html5ever behind a gate that watches what each tag may cost.
//!
//! The standard's tree construction searches the open elements at nearly every token, and its repair of
//! misnested formatting (`<b><p></b>`) searches them once for every element it makes or moves. So the price of
//! a token grows with the nesting, and a document of nested lists costs its length squared. The gate stands
//! between tokenizer and tree builder. It looks at the nesting every few tokens, charges each token for the
//! searches it may have caused, and ends the parse once a limit is broken.
//!
//! ```text
//! price of a token = n · (1 + w · attributes + 8 · nodes made beyond one)
//! ```
//!
//! n counts open elements and formatting elements, and w is 4 for a formatting tag, whose attributes are
//! compared with those of its like, else 1. Repair copies tags with their attributes, so what it makes counts
//! as having as many as any formatting tag had.
//!
//! The tokenizer itself compares each attribute of a tag with all before it. So the text is fed in pieces. A
//! piece that yields no token lies inside a tag, a comment or the like; after a few of them in a row the parse
//! begins anew with pieces that end at each `<` and `>`, where a tag's attributes are counted before it is fed.

use std::cell::{Cell, RefCell};

use ego_tree::NodeId;
use html5ever::buffer_queue::BufferQueue;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::tree_builder::{Tracer, TreeBuilder, TreeBuilderOpts, TreeSink};
use html5ever::{LocalName, TokenizerResult, local_name};
use scraper::{Html, HtmlTreeSink};

use super::attributes::Attributes;
use crate::text::beginning;
use crate::{Limits, Unreadable};

/// How many tokens may pass between two looks at the nesting.
const LOOK_EVERY: usize = 16;
/// How many repeated `<html>` and `<body>` tags may still add attributes; each addition moves the others.
const REPEATED_ROOTS: usize = 16;

/// Bytes fed at once.
const PIECE: usize = 1024;
/// How many pieces may yield no token; a tag within them has too few attributes to matter.
const SILENT: usize = 4;

/// The document, or the limit it broke.
pub(super) fn parse(text: &str, limits: &Limits) -> Result<Html, Unreadable> {
    if u32::try_from(text.len()).is_err() {
        return Err(Unreadable::TooLarge { limit: limits.bytes });
    }
    let quick = Feeder::new(text, limits);
    if quick.feed_quickly(text)? {
        return quick.finish();
    }
    let careful = Feeder::new(text, limits);
    careful.feed_carefully(text, limits)?;
    careful.finish()
}

struct Feeder {
    whole: StrTendril,
    queue: BufferQueue,
    tokenizer: Tokenizer<Gate>,
}

impl Feeder {
    fn new(text: &str, limits: &Limits) -> Self {
        Self {
            whole: StrTendril::from_slice(text),
            queue: BufferQueue::default(),
            tokenizer: Tokenizer::new(Gate::new(*limits), TokenizerOpts::default()),
        }
    }

    fn finish(self) -> Result<Html, Unreadable> {
        self.tokenizer.end();
        self.tokenizer.sink.verdict()?;
        Ok(self.tokenizer.sink.builder.sink.finish())
    }

    /// Whether everything was fed; if not, some tag may be too long to be fed like this.
    fn feed_quickly(&self, text: &str) -> Result<bool, Unreadable> {
        let (mut at, mut silent) = (0, 0);
        while at < text.len() && silent <= SILENT {
            let end = at + beginning(&text[at..], PIECE).len();
            silent = if self.feed(at, end)? { 0 } else { silent + 1 };
            at = end;
        }
        Ok(silent <= SILENT)
    }

    fn feed_carefully(&self, text: &str, limits: &Limits) -> Result<(), Unreadable> {
        let mut at = 0;
        while let Some(found) = text[at..].find('<') {
            let inside = at + found + 1;
            self.feed(at, inside)?;
            at = match text.as_bytes().get(inside) {
                Some(b'/') => self.feed_tag(text, inside, limits)?,
                // `a<b` in a script is no tag
                Some(byte) if byte.is_ascii_alphabetic() && !self.tokenizer.sink.raw.get() => {
                    self.feed_tag(text, inside, limits)?
                }
                _ => inside,
            };
        }
        self.feed(at, text.len()).map(drop)
    }

    /// Feeds a tag up to its end and says where that is. What looked like a tag may lie in a comment or a
    /// script; then a token ends it early and the search goes on from there.
    fn feed_tag(&self, text: &str, start: usize, limits: &Limits) -> Result<usize, Unreadable> {
        let mut attributes = Attributes::new();
        let mut at = start;
        loop {
            let end = text[at..].find('>').map_or(text.len(), |found| at + found + 1);
            attributes.scan(&text[at..end]);
            if attributes.count > limits.attributes {
                return Err(Unreadable::TooManyAttributes { limit: limits.attributes });
            }
            if self.feed(at, end)? || !attributes.in_quotes() || end == text.len() {
                return Ok(end);
            }
            at = end;
        }
    }

    /// Whether this yielded a token.
    fn feed(&self, from: usize, to: usize) -> Result<bool, Unreadable> {
        let small = |at: usize| u32::try_from(at).expect("texts beyond 4 GiB are refused");
        self.tokenizer.sink.spoke.set(false);
        self.queue.push_back(self.whole.subtendril(small(from), small(to - from)));
        while !matches!(self.tokenizer.feed(&self.queue), TokenizerResult::Done) {}
        self.tokenizer.sink.verdict()?;
        Ok(self.tokenizer.sink.spoke.get())
    }
}

struct Gate {
    builder: TreeBuilder<NodeId, HtmlTreeSink>,
    limits: Limits,
    broken: RefCell<Option<Unreadable>>,
    /// Whether a token passed since this was last cleared.
    spoke: Cell<bool>,
    /// Whether the tokenizer is inside a script, a style or the like.
    raw: Cell<bool>,
    tokens: Cell<usize>,
    open: Cell<usize>,
    steps: Cell<u64>,
    attributes: Cell<usize>,
    /// The most attributes any formatting tag had.
    copied: Cell<usize>,
    roots: Cell<usize>,
}

impl Gate {
    fn new(limits: Limits) -> Self {
        let sink = HtmlTreeSink::new(Html::new_document());
        Self {
            builder: TreeBuilder::new(sink, TreeBuilderOpts::default()),
            limits,
            broken: RefCell::new(None),
            spoke: Cell::new(false),
            raw: Cell::new(false),
            tokens: Cell::new(0),
            open: Cell::new(0),
            steps: Cell::new(0),
            attributes: Cell::new(0),
            copied: Cell::new(0),
            roots: Cell::new(0),
        }
    }

    fn verdict(&self) -> Result<(), Unreadable> {
        self.broken.borrow().clone().map_or(Ok(()), Err)
    }

    /// Hands the token on, then charges for it.
    fn pass(&self, mut token: Token, line: u64) -> TokenSinkResult<NodeId> {
        let (weight, attributes) = match &mut token {
            Token::TagToken(tag) => (self.weigh(tag), tag.attrs.len()),
            _ => (1, 0),
        };
        let before = self.nodes();
        let result = self.builder.process_token(token, line);
        let made = self.nodes() - before;
        let extra = made.saturating_sub(1);
        raise(&self.open, made);
        raise(&self.attributes, attributes + extra * self.copied.get());
        let price = self.open.get() * (1 + weight * attributes + 8 * extra);
        self.steps.set(self.steps.get() + price as u64);
        if let Err(reason) = self.check(attributes) {
            self.broken.replace(Some(reason));
        }
        result
    }

    /// How dear the tag's attributes are.
    fn weigh(&self, tag: &mut Tag) -> usize {
        if tag.kind == TagKind::EndTag {
            self.raw.set(false);
        }
        if is_root(&tag.name) && raise(&self.roots, 1) > REPEATED_ROOTS {
            tag.attrs.clear();
        }
        if !is_formatting(&tag.name) {
            return 1;
        }
        self.copied.set(self.copied.get().max(tag.attrs.len()));
        4
    }

    fn check(&self, attributes: usize) -> Result<(), Unreadable> {
        let Limits { depth, nodes, parse_steps, attributes: limit, .. } = self.limits;
        if attributes > limit {
            return Err(Unreadable::TooManyAttributes { limit });
        }
        if raise(&self.tokens, 1).is_multiple_of(LOOK_EVERY) {
            let count = Count(Cell::new(0));
            self.builder.trace_handles(&count);
            self.open.set(count.0.get());
            if count.0.get() > depth {
                return Err(Unreadable::TooDeep { limit: depth });
            }
        }
        if self.nodes().max(self.attributes.get()) > nodes {
            return Err(Unreadable::TooManyNodes { limit: nodes });
        }
        if self.steps.get() > parse_steps { Err(Unreadable::TooTangled) } else { Ok(()) }
    }

    fn nodes(&self) -> usize {
        self.builder.sink.0.borrow().tree.nodes().len()
    }
}

impl TokenSink for Gate {
    type Handle = NodeId;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<NodeId> {
        // scraper would keep every complaint
        if matches!(token, Token::ParseError(_)) || self.broken.borrow().is_some() {
            return TokenSinkResult::Continue;
        }
        self.spoke.set(true);
        let result = self.pass(token, line);
        if matches!(result, TokenSinkResult::RawData(_) | TokenSinkResult::Plaintext) {
            self.raw.set(true);
        }
        result
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

/// Counts what the tree builder holds: open elements and formatting elements.
struct Count(Cell<usize>);

impl Tracer for Count {
    type Handle = NodeId;

    fn trace_handle(&self, _: &NodeId) {
        self.0.set(self.0.get() + 1);
    }
}

fn raise(counter: &Cell<usize>, by: usize) -> usize {
    counter.set(counter.get() + by);
    counter.get()
}

fn is_root(name: &LocalName) -> bool {
    matches!(*name, local_name!("html") | local_name!("body"))
}

/// The tags whose misnesting the standard repairs.
fn is_formatting(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("a")
            | local_name!("b")
            | local_name!("big")
            | local_name!("code")
            | local_name!("em")
            | local_name!("font")
            | local_name!("i")
            | local_name!("nobr")
            | local_name!("s")
            | local_name!("small")
            | local_name!("strike")
            | local_name!("strong")
            | local_name!("tt")
            | local_name!("u")
    )
}
