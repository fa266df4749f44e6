//! Which elements a CSS selector means, and whether that may be asked of this document.
//!
//! Matching asks, for every element, about its ancestors, with `~` about its earlier siblings and theirs, and
//! with `:has` about everything below it. A hostile document can make each of these as long as itself. So the
//! looks that a selector may need are added up beforehand from the document's shape, and a selector that may
//! need too many is refused.
//!
//! ```text
//! looks ≤ parts · Σ reach(e)       reach(e) = a(e), with :has a(e) · depth(e), for every element e
//! a(e)  = 1 + depth(e),            with ~ or alike: 1 + Σ position among siblings, over e and its ancestors
//! ```

use std::collections::HashSet;

use ego_tree::{NodeId, NodeRef};
use scraper::{Html, Node, Selector};

use crate::tree::{Visit, walk};
use crate::{Limits, Unreadable};

/// Longer selectors are programs.
const LONGEST: usize = 1024;

/// A selector with how it was written and what it may cost.
#[derive(Clone, Debug)]
pub(crate) struct Css {
    pub(crate) written: String,
    selector: Selector,
    parts: u64,
    asks_siblings: bool,
    asks_below: bool,
}

impl Css {
    /// Reads a selector, or says in words what is wrong with it.
    pub(crate) fn new(written: &str) -> Result<Self, String> {
        if written.len() > LONGEST {
            return Err(format!(
                "a selector may have {LONGEST} bytes, this one has {}",
                written.len()
            ));
        }
        let selector = Selector::parse(written)
            .map_err(|_| "not a CSS selector; write one such as `main .price`".to_owned())?;
        let asks =
            |words: &[&str]| words.iter().any(|word| written.to_ascii_lowercase().contains(word));
        Ok(Self {
            parts: 1 + written.matches([' ', '>', '+', '~', ',', '.', '#', ':', '[', '(']).count()
                as u64,
            asks_siblings: asks(&["~", "of-type", "nth-last"]),
            asks_below: asks(&[":has"]),
            written: written.to_owned(),
            selector,
        })
    }

    fn looks(&self, shape: &Shape) -> u64 {
        let sum = match (self.asks_below, self.asks_siblings) {
            (false, false) => shape.ancestors,
            (false, true) => shape.siblings,
            (true, false) => shape.ancestors_below,
            (true, true) => shape.siblings_below,
        };
        self.parts.saturating_mul(sum)
    }
}

/// The elements that any of the selectors means.
pub(crate) fn find(
    document: &Html,
    selectors: &[Css],
    limits: &Limits,
) -> Result<HashSet<NodeId>, Unreadable> {
    if selectors.is_empty() {
        return Ok(HashSet::new());
    }
    let shape = Shape::of(document);
    let mut found = HashSet::new();
    for css in selectors {
        if css.looks(&shape) > limits.match_steps {
            return Err(Unreadable::TooCostly { selector: css.written.clone() });
        }
        found.extend(document.select(&css.selector).map(|element| element.id()));
    }
    Ok(found)
}

/// What is read of a document: all of it, or the outermost of the elements found, in the document's order.
pub(crate) fn roots<'a>(
    document: &'a Html,
    select: &[Css],
    limits: &Limits,
) -> Result<Vec<NodeRef<'a, Node>>, Unreadable> {
    let root = document.tree.root();
    if select.is_empty() {
        return Ok(vec![root]);
    }
    let mut outermost = Outermost { found: find(document, select, limits)?, roots: Vec::new() };
    walk(root, &mut outermost);
    if outermost.roots.is_empty() {
        let written: Vec<&str> = select.iter().map(|css| css.written.as_str()).collect();
        return Err(Unreadable::NothingSelected { select: written.join(", ") });
    }
    Ok(outermost.roots)
}

struct Outermost<'a> {
    found: HashSet<NodeId>,
    roots: Vec<NodeRef<'a, Node>>,
}

impl<'a> Visit<'a> for Outermost<'a> {
    fn enter(&mut self, node: NodeRef<'a, Node>) -> bool {
        let found = self.found.contains(&node.id());
        if found {
            self.roots.push(node);
        }
        !found
    }

    fn leave(&mut self, _: NodeRef<'a, Node>) {}
}

/// The sums above, over a whole document.
#[derive(Debug, Default)]
struct Shape {
    ancestors: u64,
    siblings: u64,
    ancestors_below: u64,
    siblings_below: u64,
    /// For the open nodes: looks along their ancestors' siblings, and children seen so far.
    open: Vec<(u64, u64)>,
}

impl Shape {
    fn of(document: &Html) -> Self {
        let mut shape = Self::default();
        walk(document.tree.root(), &mut shape);
        shape
    }
}

impl<'a> Visit<'a> for Shape {
    fn enter(&mut self, node: NodeRef<'a, Node>) -> bool {
        let depth = self.open.len() as u64;
        let (above, position) = self.open.last_mut().map_or((0, 0), |(above, children)| {
            *children += 1;
            (*above, *children)
        });
        let along = above + position;
        self.open.push((along, 0));
        if node.value().is_element() {
            self.ancestors += 1 + depth;
            self.siblings += 1 + along;
            self.ancestors_below += (1 + depth) * depth;
            self.siblings_below += (1 + along) * depth;
        }
        true
    }

    fn leave(&mut self, _: NodeRef<'a, Node>) {
        self.open.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(html: &str, select: &str) -> Result<Vec<String>, Unreadable> {
        let document = Html::parse_document(html);
        let css = [Css::new(select).unwrap()];
        let roots = roots(&document, &css, &Limits::default())?;
        let id = |node: &NodeRef<Node>| node.value().as_element()?.attr("id").map(str::to_owned);
        Ok(roots.iter().filter_map(id).collect())
    }

    #[test]
    fn an_element_inside_a_chosen_one_is_not_read_twice() {
        let html = "<p id=a></p><div id=b><div id=c></div></div><div id=d>";
        assert_eq!(names(html, "div, p").unwrap(), ["a", "b", "d"]);
    }

    #[test]
    fn nothing_found_is_said_and_not_empty() {
        let reason = names("<p>", "main").unwrap_err().to_string();
        assert!(reason.contains("`main`"), "{reason}");
    }

    /// html, head and body, then a list of `li` at depth 4: `~` may look at every earlier one.
    #[test]
    fn a_costly_selector_is_refused_on_a_hostile_document_only() {
        let long = format!("<ul>{}</ul>", "<li>".repeat(20_000));
        assert!(matches!(names(&long, "b ~ li"), Err(Unreadable::TooCostly { .. })));
        assert!(matches!(names(&long, "li"), Ok(found) if found.is_empty()));
        assert_eq!(names("<ul><b></b><li id=a></ul>", "b ~ li").unwrap(), ["a"]);
        assert_eq!(names("<div id=a><b>", "div:has(> b)").unwrap(), ["a"]);
    }

    #[test]
    fn what_is_no_selector_is_told_apart() {
        assert!(Css::new("div[").unwrap_err().contains("CSS"));
        assert!(Css::new(&"a ".repeat(600)).unwrap_err().contains("1024"));
    }
}
