//! Walking a document without recursion: a hostile one is nested deeper than a stack.

use ego_tree::NodeRef;
use scraper::Node;

/// What is done at the nodes of a walk.
pub(crate) trait Visit<'a> {
    /// A node begins. On `false` neither its children nor its end are visited.
    fn enter(&mut self, node: NodeRef<'a, Node>) -> bool;

    /// A node that was entered ends.
    fn leave(&mut self, node: NodeRef<'a, Node>);
}

/// Visits `root` and what is below it, in the document's order.
pub(crate) fn walk<'a>(root: NodeRef<'a, Node>, visit: &mut impl Visit<'a>) {
    let mut node = root;
    loop {
        if visit.enter(node) {
            if let Some(child) = node.first_child() {
                node = child;
                continue;
            }
            visit.leave(node);
        }
        loop {
            if node == root {
                return;
            }
            if let Some(sibling) = node.next_sibling() {
                node = sibling;
                break;
            }
            node = node.parent().expect("below the root every node has a parent");
            visit.leave(node);
        }
    }
}
