//! XML in one form: an element a line, attributes sorted, white space between elements gone, as are comments,
//! processing instructions and the document type. Entities beyond the five of XML are left as written.
//!
//! Of feeds, the stamps that change at every look are left out: `lastBuildDate` and `pubDate` of an RSS
//! channel and `updated` of an Atom feed; those of the entries stay, and so do they where `select` names them.

use std::collections::HashSet;

use ego_tree::{NodeId, NodeMut, NodeRef};
use html5ever::{Attribute, LocalName, QualName, ns};
use quick_xml::XmlVersion;
use quick_xml::escape::{minimal_escape, resolve_xml_entity};
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::reader::Reader;
use scraper::node::{Element, Text};
use scraper::{Html, Node};

use crate::reading::Canonical;
use crate::tree::{Visit, walk};
use crate::{Kind, Limits, Listed, Rule, Unreadable, css, items, text};

/// The canonical form; `None` if this is no XML.
pub(crate) fn read(
    text: &str,
    rule: &Rule,
    limits: &Limits,
) -> Result<Option<Canonical>, Unreadable> {
    let Some(document) = parse(text, limits)? else {
        return Ok(None);
    };
    let roots = css::roots(&document, rule.select(), limits)?;
    let excluded = css::find(&document, rule.exclude(), limits)?;
    let mut lines = Lines { text: String::new(), last: Last::Nothing, excluded, root: None };
    for root in roots {
        lines.root = Some(root.id());
        walk(root, &mut lines);
    }
    Ok(Some(Canonical { kind: Kind::Xml, title: title(&document), text: lines.text }))
}

/// The document as a tree; `None` if it is malformed.
fn parse(text: &str, limits: &Limits) -> Result<Option<Html>, Unreadable> {
    let mut reader = Reader::from_str(text);
    let mut builder = Builder::new(limits);
    loop {
        let Ok(event) = reader.read_event() else {
            return Ok(None);
        };
        let well_formed = match event {
            Event::Start(tag) => builder.open(&tag)?,
            Event::Empty(tag) => builder.open(&tag)? && builder.close(),
            Event::End(_) => builder.close(),
            Event::Text(text) => builder.text(&text.xml10_content())?,
            Event::CData(text) => builder.text(&text.xml10_content())?,
            Event::GeneralRef(entity) => builder.text(&resolve(&entity))?,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => true,
            Event::Eof => return Ok(builder.finish()),
        };
        if !well_formed {
            return Ok(None);
        }
    }
}

fn resolve(entity: &BytesRef<'_>) -> String {
    if let Ok(Some(letter)) = entity.resolve_char_ref() {
        return letter.to_string();
    }
    let name = entity.xml10_content();
    resolve_xml_entity(&name).map_or_else(|| format!("&{name};"), str::to_owned)
}

struct Builder {
    document: Html,
    open: Vec<NodeId>,
    attributes: usize,
    limits: Limits,
}

impl Builder {
    fn new(limits: &Limits) -> Self {
        let document = Html::new_document();
        let root = document.tree.root().id();
        Self { document, open: vec![root], attributes: 0, limits: *limits }
    }

    fn append(&mut self, node: Node) -> Result<NodeId, Unreadable> {
        let Limits { nodes: limit, .. } = self.limits;
        if self.document.tree.nodes().len().max(self.attributes) > limit {
            return Err(Unreadable::TooManyNodes { limit });
        }
        Ok(self.parent().append(node).id())
    }

    fn parent(&mut self) -> NodeMut<'_, Node> {
        let parent = *self.open.last().expect("the document itself is never closed");
        self.document.tree.get_mut(parent).expect("it was appended")
    }

    fn open(&mut self, tag: &BytesStart<'_>) -> Result<bool, Unreadable> {
        let Limits { depth, attributes: limit, .. } = self.limits;
        if self.open.len() > depth {
            return Err(Unreadable::TooDeep { limit: depth });
        }
        let is_second_root = self.open.len() == 1 && self.document.tree.root().has_children();
        let Some(attributes) = attributes(tag, limit) else {
            return Ok(false);
        };
        if attributes.len() > limit {
            return Err(Unreadable::TooManyAttributes { limit });
        }
        self.attributes += attributes.len();
        let element = self.append(Node::Element(Element::new(named(tag.name().0), attributes)))?;
        self.open.push(element);
        Ok(!is_second_root)
    }

    fn close(&mut self) -> bool {
        self.open.len() > 1 && self.open.pop().is_some()
    }

    /// Text belongs inside the root; around it only white space may stand. What follows a text joins it,
    /// whether it was written plainly, as an entity or as CDATA.
    fn text(&mut self, text: &str) -> Result<bool, Unreadable> {
        if self.open.len() == 1 {
            return Ok(text.trim().is_empty());
        }
        let mut parent = self.parent();
        let mut last = parent.last_child();
        if let Some(Node::Text(before)) = last.as_mut().map(NodeMut::value) {
            before.text.push_slice(text);
        } else {
            self.append(Node::Text(Text { text: text.into() }))?;
        }
        Ok(true)
    }

    fn finish(self) -> Option<Html> {
        let complete = self.open.len() == 1 && self.document.tree.root().has_children();
        complete.then_some(self.document)
    }
}

/// The attributes of a tag, at most one more than the limit; `None` if they are malformed.
fn attributes(tag: &BytesStart<'_>, limit: usize) -> Option<Vec<Attribute>> {
    // quick-xml's own check compares each with all before it
    let mut written = tag.attributes();
    written.with_checks(false);
    let mut attributes = Vec::new();
    for attribute in written.take(limit.saturating_add(1)) {
        let attribute = attribute.ok()?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0);
        let value = value.unwrap_or_else(|_| attribute.value.clone());
        attributes.push(Attribute { name: named(attribute.key.0), value: (&*value).into() });
    }
    Some(attributes)
}

/// Prefixes are part of the name: CSS says `media\:title`.
fn named(name: &str) -> QualName {
    QualName::new(None, ns!(), LocalName::from(name))
}

/// The entries of a feed, those that something names; `None` if this is no feed.
pub(crate) fn entries(text: &str, limits: &Limits) -> Result<Option<Vec<Listed>>, Unreadable> {
    let Some(document) = parse(text, limits)? else { return Ok(None) };
    let is = |node: &NodeRef<'_, Node>, names: &[&str]| {
        name_of(*node).is_some_and(|name| names.contains(&name))
    };
    let root = document.tree.root().children().find(|node| name_of(*node).is_some());
    let Some(root) = root.filter(|root| is(root, &["rss", "rdf:RDF", "feed"])) else {
        return Ok(None);
    };
    // of RSS they stand in the channel, else below the root; entries within entries are no feed's
    let channels = root.children().filter(|node| is(node, &["channel"]));
    let all = std::iter::once(root).chain(channels).flat_map(|node| node.children());
    let entries = all.filter(|node| is(node, &["item", "entry"]));
    Ok(Some(entries.filter_map(items::of_entry).collect()))
}

/// The title of a feed.
fn title(document: &Html) -> Option<String> {
    let child = |node: NodeRef<'_, Node>, name: &str| {
        node.children().find(|child| name_of(*child) == Some(name)).map(|child| child.id())
    };
    let root = document.tree.root().first_child()?;
    let feed = match name_of(root)? {
        "rss" | "rdf:RDF" => document.tree.get(child(root, "channel")?)?,
        "feed" => root,
        _ => return None,
    };
    let title = document.tree.get(child(feed, "title")?)?;
    let texts = title.children().filter_map(|child| child.value().as_text());
    let title = text::collapsed(&texts.map(|text| &**text).collect::<String>());
    (!title.is_empty()).then_some(title)
}

pub(crate) fn name_of(node: NodeRef<'_, Node>) -> Option<&str> {
    node.value().as_element().map(Element::name)
}

/// Whether this is when a feed was made, which says nothing about what is in it.
fn is_stamp(node: NodeRef<'_, Node>) -> bool {
    let parent = node.parent().and_then(name_of);
    matches!(
        (parent, name_of(node)),
        (Some("channel"), Some("lastBuildDate" | "pubDate")) | (Some("feed"), Some("updated"))
    )
}

/// What was written last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Nothing,
    /// `<name`, still without `>`.
    Opening,
    Text,
    Closing,
}

struct Lines {
    text: String,
    last: Last,
    excluded: HashSet<NodeId>,
    /// Where the walk began.
    root: Option<NodeId>,
}

impl Lines {
    /// Ends an opening tag that turned out to have content.
    fn settle(&mut self) {
        if self.last == Last::Opening {
            self.text.push('>');
        }
    }

    fn open(&mut self, element: &Element) {
        self.settle();
        if self.last != Last::Nothing {
            self.text.push('\n');
        }
        self.text.push('<');
        self.text.push_str(element.name());
        let mut before = None;
        for (name, value) in element.attrs() {
            if before.replace(name) != Some(name) {
                let value = minimal_escape(text::collapsed(value)).replace('"', "&quot;");
                self.text.extend([" ", name, "=\"", &value, "\""]);
            }
        }
        self.last = Last::Opening;
    }

    fn push(&mut self, text: &str) {
        let text = text::collapsed(text);
        if text.is_empty() {
            return;
        }
        self.settle();
        match self.last {
            Last::Closing => self.text.push('\n'),
            // something between the two was left out
            Last::Text => self.text.push(' '),
            Last::Nothing | Last::Opening => {}
        }
        self.text.push_str(&minimal_escape(text));
        self.last = Last::Text;
    }

    fn close(&mut self, element: &Element) {
        match self.last {
            Last::Opening => self.text.push_str("/>"),
            Last::Closing => self.text.extend(["\n</", element.name(), ">"]),
            Last::Text | Last::Nothing => self.text.extend(["</", element.name(), ">"]),
        }
        self.last = Last::Closing;
    }
}

impl<'a> Visit<'a> for Lines {
    fn enter(&mut self, node: NodeRef<'a, Node>) -> bool {
        let is_root = self.root == Some(node.id());
        if self.excluded.contains(&node.id()) || (!is_root && is_stamp(node)) {
            return false;
        }
        match node.value() {
            Node::Element(element) => self.open(element),
            Node::Text(text) => self.push(text),
            _ => {}
        }
        true
    }

    fn leave(&mut self, node: NodeRef<'a, Node>) {
        if let Node::Element(element) = node.value() {
            self.close(element);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RuleText;

    fn read_with(xml: &str, rule: RuleText) -> Canonical {
        read(xml, &Rule::new(&rule).unwrap(), &Limits::default()).unwrap().unwrap()
    }

    fn text(xml: &str) -> String {
        read_with(xml, RuleText::default()).text
    }

    #[test]
    fn an_element_a_line_with_sorted_attributes() {
        let xml = "<?xml version='1.0'?>\n<!-- c --><a z='1'  y='&lt;\"'>\n <b/> <c> x &amp; <![CDATA[<y>]]> </c>\n</a>";
        assert_eq!(text(xml), "<a y=\"&lt;&quot;\" z=\"1\">\n<b/>\n<c>x &amp; &lt;y></c>\n</a>");
    }

    #[test]
    fn mixed_content_keeps_its_order() {
        assert_eq!(
            text("<p>a&#33; <b>c</b> d&unknown;</p>"),
            "<p>a!\n<b>c</b>\nd&amp;unknown;</p>"
        );
    }

    #[test]
    fn what_is_no_xml_is_none() {
        for xml in ["", "x", "<a>", "</a>", "<a></b>", "<a/><b/>", "<a/>x", "<a b></a>", "<a>&</a>"]
        {
            assert!(read(xml, &Rule::default(), &Limits::default()).unwrap().is_none(), "{xml}");
        }
    }

    #[test]
    fn the_stamps_of_a_feed_do_not_count_but_those_of_its_entries_do() {
        let rss = "<rss><channel><title> The\nsea </title><lastBuildDate>1</lastBuildDate><pubDate>2</pubDate>\
            <item><pubDate>3</pubDate></item></channel></rss>";
        let read = read_with(rss, RuleText::default());
        assert_eq!(read.title.as_deref(), Some("The sea"));
        assert!(!read.text.contains('1') && !read.text.contains('2') && read.text.contains('3'));
        let atom =
            "<feed><title>t</title><updated>1</updated><entry><updated>3</updated></entry></feed>";
        assert_eq!(
            text(atom),
            "<feed>\n<title>t</title>\n<entry>\n<updated>3</updated>\n</entry>\n</feed>"
        );
    }

    #[test]
    fn css_chooses_elements_by_their_written_names() {
        let xml =
            "<r><item><media:title>a</media:title><pubDate>b</pubDate></item><link>c</link></r>";
        let select = |css: &str| RuleText { select: vec![css.to_owned()], ..RuleText::default() };
        assert_eq!(read_with(xml, select(r"media\:title")).text, "<media:title>a</media:title>");
        assert_eq!(
            read_with(xml, select("pubDate, link")).text,
            "<pubDate>b</pubDate>\n<link>c</link>"
        );
        let rule = RuleText { exclude: vec!["item".to_owned()], ..RuleText::default() };
        assert_eq!(read_with(xml, rule).text, "<r>\n<link>c</link>\n</r>");
    }

    #[test]
    fn nesting_nodes_and_attributes_are_bounded() {
        let limits = Limits { depth: 10, nodes: 100, attributes: 5, ..Limits::default() };
        let reason = |xml: &str| read(xml, &Rule::default(), &limits).map(|_| ()).unwrap_err();
        assert_eq!(reason(&"<a>".repeat(11)), Unreadable::TooDeep { limit: 10 });
        assert_eq!(
            reason(&format!("<a>{}", "<b/>".repeat(101))),
            Unreadable::TooManyNodes { limit: 100 }
        );
        assert_eq!(
            reason("<a a='' b='' c='' d='' e='' f=''/>"),
            Unreadable::TooManyAttributes { limit: 5 }
        );
    }
}
