//! HTML as a person reads it: words in lines, without what a browser does not show.
//!
//! Block elements and `<br>` break lines, table cells are parted by a tab, inline elements part nothing, images
//! are their `alt` text, and white space is one space except in `<pre>`. Gone are the head, scripts, styles,
//! comments, templates, `<noscript>` and what is shown only when media cannot be; attributes are not text.
//! Elements hidden by the `hidden` attribute or by CSS stay: tabs and folds hold what people watch.

mod attributes;
mod gate;

use std::collections::HashSet;

use ego_tree::{NodeId, NodeRef};
use html5ever::{LocalName, local_name};
use scraper::{Html, Node};

use crate::reading::Canonical;
use crate::tree::{Visit, walk};
use crate::{Kind, Limits, Rule, Unreadable, css, text};

/// The text and the title of an HTML document.
pub(crate) fn read(text: &str, rule: &Rule, limits: &Limits) -> Result<Canonical, Unreadable> {
    let document = gate::parse(text, limits)?;
    let roots = css::roots(&document, rule.select(), limits)?;
    let mut lines = Lines::new(css::find(&document, rule.exclude(), limits)?);
    for root in roots {
        lines.part(Gap::Line);
        walk(root, &mut lines);
    }
    Ok(Canonical { kind: Kind::Html, title: title(&document), text: lines.text })
}

/// The first `<title>`, which is the document's; those of drawings come later.
fn title(document: &Html) -> Option<String> {
    let is_title = |node: &NodeRef<Node>| {
        node.value().as_element().is_some_and(|element| element.name.local == local_name!("title"))
    };
    let element = document.tree.nodes().find(is_title)?;
    let texts = element.children().filter_map(|child| child.value().as_text());
    let title = text::collapsed(&texts.map(|text| &**text).collect::<String>());
    (!title.is_empty()).then_some(title)
}

/// What stands between two words; the strongest wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Space,
    Cell,
    Line,
}

/// How an element takes part in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Gone,
    Block,
    Preformatted,
    Break,
    Cell,
    Image,
    Inline,
}

struct Lines {
    text: String,
    gap: Gap,
    preformatted: usize,
    excluded: HashSet<NodeId>,
}

impl Lines {
    fn new(excluded: HashSet<NodeId>) -> Self {
        Self { text: String::new(), gap: Gap::None, preformatted: 0, excluded }
    }

    fn part(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    fn push(&mut self, word: &str) {
        if !self.text.is_empty() {
            match self.gap {
                Gap::None => {}
                Gap::Space => self.text.push(' '),
                Gap::Cell => self.text.push('\t'),
                Gap::Line => self.text.push('\n'),
            }
        }
        self.gap = Gap::None;
        self.text.push_str(word);
    }

    fn push_words(&mut self, text: &str) {
        let mut rest = text;
        loop {
            let word = rest.trim_start();
            if word.len() < rest.len() {
                self.part(Gap::Space);
            }
            if word.is_empty() {
                return;
            }
            let end = word.find(char::is_whitespace).unwrap_or(word.len());
            self.push(&word[..end]);
            rest = &word[end..];
        }
    }

    /// Keeps lines and their indentation.
    fn push_lines(&mut self, text: &str) {
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.part(Gap::Line);
            }
            let shown = line.trim_end();
            if !shown.is_empty() {
                self.push(shown);
            }
            if shown.len() < line.len() {
                self.part(Gap::Space);
            }
        }
    }

    fn begin(&mut self, role: Role, element: &scraper::node::Element) {
        match role {
            Role::Block | Role::Break => self.part(Gap::Line),
            Role::Preformatted => {
                self.part(Gap::Line);
                self.preformatted += 1;
            }
            Role::Cell => self.part(Gap::Cell),
            Role::Image => self.push_image(element.attr("alt").unwrap_or_default()),
            Role::Gone | Role::Inline => {}
        }
    }

    fn push_image(&mut self, alt: &str) {
        self.part(Gap::Space);
        self.push_words(alt);
        self.part(Gap::Space);
    }
}

impl<'a> Visit<'a> for Lines {
    fn enter(&mut self, node: NodeRef<'a, Node>) -> bool {
        match node.value() {
            Node::Text(text) if self.preformatted > 0 => self.push_lines(text),
            Node::Text(text) => self.push_words(text),
            Node::Element(element) => {
                let role = role(&element.name.local);
                if role == Role::Gone || self.excluded.contains(&node.id()) {
                    return false;
                }
                self.begin(role, element);
            }
            _ => {}
        }
        true
    }

    fn leave(&mut self, node: NodeRef<'a, Node>) {
        let Some(element) = node.value().as_element() else {
            return;
        };
        match role(&element.name.local) {
            Role::Block => self.part(Gap::Line),
            Role::Preformatted => {
                self.part(Gap::Line);
                self.preformatted -= 1;
            }
            Role::Cell => self.part(Gap::Cell),
            Role::Gone | Role::Break | Role::Image | Role::Inline => {}
        }
    }
}

#[rustfmt::skip]
fn role(name: &LocalName) -> Role {
    match *name {
        local_name!("head") | local_name!("title") | local_name!("script") | local_name!("style")
        | local_name!("noscript") | local_name!("template") | local_name!("iframe")
        | local_name!("noframes") | local_name!("noembed") | local_name!("canvas")
        | local_name!("audio") | local_name!("video") | local_name!("datalist") => Role::Gone,
        local_name!("address") | local_name!("article") | local_name!("aside")
        | local_name!("blockquote") | local_name!("body") | local_name!("caption")
        | local_name!("center") | local_name!("dd") | local_name!("details")
        | local_name!("dialog") | local_name!("dir") | local_name!("div") | local_name!("dl")
        | local_name!("dt") | local_name!("fieldset") | local_name!("figcaption")
        | local_name!("figure") | local_name!("footer") | local_name!("form")
        | local_name!("h1") | local_name!("h2") | local_name!("h3") | local_name!("h4")
        | local_name!("h5") | local_name!("h6") | local_name!("header") | local_name!("hgroup")
        | local_name!("hr") | local_name!("legend") | local_name!("li") | local_name!("main")
        | local_name!("menu") | local_name!("nav") | local_name!("ol") | local_name!("optgroup")
        | local_name!("option") | local_name!("p") | local_name!("search")
        | local_name!("section") | local_name!("summary") | local_name!("table")
        | local_name!("tbody") | local_name!("tfoot") | local_name!("thead") | local_name!("tr")
        | local_name!("ul") => Role::Block,
        local_name!("pre") | local_name!("textarea") | local_name!("listing")
        | local_name!("plaintext") | local_name!("xmp") => Role::Preformatted,
        local_name!("br") => Role::Break,
        local_name!("td") | local_name!("th") => Role::Cell,
        local_name!("img") => Role::Image,
        _ => Role::Inline,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RuleText;

    fn text(html: &str) -> String {
        read(html, &Rule::default(), &Limits::default()).unwrap().text
    }

    #[test]
    fn blocks_break_lines_and_inline_elements_do_not() {
        assert_eq!(text("<h1>A</h1><p>b<i>c</i> d\n  e<br>f</p>g<div>h"), "A\nbc d e\nf\ng\nh");
    }

    #[test]
    fn cells_are_parted_and_rows_are_lines() {
        assert_eq!(text("<table><tr><th>a<th>b<tr><td>1<td>2</table>"), "a\tb\n1\t2");
    }

    #[test]
    fn what_is_not_shown_is_gone() {
        let html = "<head><title>t</title><style>s</style></head><script>1</script><!-- c --><template>t\
            </template><noscript>n</noscript><input type=hidden value=v><p hidden>kept</p>a";
        assert_eq!(text(html), "kept\na");
    }

    #[test]
    fn images_are_their_text() {
        assert_eq!(text("a<img alt='the  sea' src=x>b<img>"), "a the sea b");
    }

    #[test]
    fn preformatted_text_keeps_its_lines() {
        assert_eq!(
            text("<pre>\nfn a() {\n    b  c \n\n}\n</pre> d   e"),
            "fn a() {\n    b  c\n}\nd e"
        );
    }

    #[test]
    fn the_title_is_the_documents() {
        let read = |html| read(html, &Rule::default(), &Limits::default()).unwrap().title;
        assert_eq!(
            read("<title> a\n b </title><svg><title>c</title></svg>"),
            Some("a b".to_owned())
        );
        assert_eq!(read("<p>x"), None);
    }

    /// What is left out is as if it had never been there: an advertisement may come and go.
    #[test]
    fn select_and_exclude_choose() {
        let rule = RuleText {
            select: vec!["main".to_owned(), "h1".to_owned()],
            exclude: vec![".ad".to_owned()],
            ..RuleText::default()
        };
        let rule = Rule::new(&rule).unwrap();
        let html = "<p>x</p><h1>A</h1><main>b<p class='c ad'>no</p><span>d</span></main>";
        assert_eq!(super::read(html, &rule, &Limits::default()).unwrap().text, "A\nbd");
    }
}
