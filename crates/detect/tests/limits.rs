//! Hostile bodies: what would hold a core for minutes is refused or read at once.
//!
//! No clock is read here: without the limits this file would take hours.

use detect::{Limits, Reading, Rule, RuleText, Unreadable, diff, read};

const MEGABYTE: usize = 1 << 20;

fn look(body: &str) -> Result<Reading, Unreadable> {
    read(&Rule::default(), body.as_bytes(), Some("text/html"), &Limits::default())
}

fn repeated(piece: &str) -> String {
    piece.repeat(MEGABYTE / piece.len())
}

/// As many different attributes as fit.
fn attributes() -> String {
    (0..MEGABYTE / 7).map(|number| format!("a{number:x} ")).collect()
}

#[test]
fn nesting_is_refused() {
    for piece in
        ["<ul><li>", "<table><tr><td>", "<svg><g>", "<template>", "<b>", "<b><div></b>", "<x>"]
    {
        let reading = look(&repeated(piece));
        assert_eq!(reading.unwrap_err(), Unreadable::TooDeep { limit: 512 }, "{piece}");
    }
}

#[test]
fn tags_that_close_each_other_are_read_while_they_are_few() {
    for piece in ["<table>", "<nobr>", "<button><p>", "<select><option>", "<i><b></i></b>"] {
        assert_eq!(look(&repeated(piece)).unwrap().text, "", "{piece}");
    }
    for piece in ["<a>", "<a><p>", "<b><p>", "<p>x"] {
        let reading = look(&repeated(piece));
        assert_eq!(reading.unwrap_err(), Unreadable::TooManyNodes { limit: 250_000 }, "{piece}");
    }
}

#[test]
fn a_search_through_open_elements_at_every_tag_is_refused() {
    let deep = "<span>".repeat(480);
    for piece in ["</x>", "<br>", "<p></p>"] {
        let reading = look(&(deep.clone() + &repeated(piece)));
        assert_eq!(reading.unwrap_err(), Unreadable::TooTangled, "{piece}");
    }
}

/// Every `x` makes the parser copy the open formatting elements with all their attributes.
#[test]
fn copies_of_formatting_elements_are_refused() {
    let wide: String = (0..400).map(|number| format!("a{number} ")).collect();
    let open: String = (0..100).map(|number| format!("<b id={number} {wide}>")).collect();
    let reading = look(&format!("<p>{open}</p>{}", repeated("<p>x</p>")));
    assert_eq!(reading.unwrap_err(), Unreadable::TooManyNodes { limit: 250_000 });
    let open: String = (0..240).map(|number| format!("<b id={number}>")).collect();
    let reading = look(&format!("<p>{open}</p>{}", repeated("<p>x</p>")));
    assert_eq!(reading.unwrap_err(), Unreadable::TooTangled);
}

/// However the tag is dressed up so that it is not seen to begin.
#[test]
fn thousands_of_attributes_are_refused() {
    let many = attributes();
    for (before, after) in [
        ("<p ", ">"),
        ("<svg><![CDATA[<a x=\">]]><a ", ">"),
        ("<!-- <a x=\"--><a ", "\">"),
        ("<title></title ", ">"),
        ("&lt<a x=\">\" ", ">"),
        ("<script>'<!--<a x=\"'</script><a ", ">"),
        ("<p ", ""),
    ] {
        let reading = look(&format!("{before}{many}{after}"));
        assert_eq!(reading.unwrap_err(), Unreadable::TooManyAttributes { limit: 512 }, "{before}");
    }
}

#[test]
fn words_in_scripts_and_comments_are_no_attributes() {
    let many = attributes();
    for body in [
        format!("<script>if (a<b) {{ {many} }}</script>x"),
        format!("<!-- {many} -->x"),
        format!("<style>a<b {many}</style>x"),
        format!("<p title=\"{many}\">x"),
        format!("<textarea>a<b</textarea><p title='> {many}'>x"),
    ] {
        assert!(look(&body).unwrap().text.ends_with('x'));
    }
}

#[test]
fn attributes_added_to_the_root_are_bounded() {
    let bodies: String =
        (0..MEGABYTE / 24).map(|n| format!("<html a{n:x}><body b{n:x}>")).collect();
    assert_eq!(look(&(bodies + "x")).unwrap().text, "x");
}

#[test]
fn a_body_too_large_is_not_looked_at() {
    let limits = Limits { bytes: 3, ..Limits::default() };
    let reading = read(&Rule::default(), b"abcd", None, &limits);
    assert_eq!(reading.unwrap_err(), Unreadable::TooLarge { limit: 3 });
}

/// Ten thousand siblings make `~` and its like dear, four hundred ancestors `:has`.
#[test]
fn a_selector_is_refused_where_it_would_look_too_often() {
    let wide = format!("<ul>{}</ul>", "<li><b></b>".repeat(10_000));
    let deep = "<div>".repeat(400) + &"<p>x</p>".repeat(1_000);
    for (select, refused_wide, refused_deep) in [
        ("li", false, false),
        ("i div div div div p", false, false),
        ("li:nth-child(3)", false, false),
        ("b ~ li", true, false),
        ("li:nth-last-child(2)", true, false),
        ("li:nth-of-type(3)", true, false),
        ("li:has(i)", false, true),
        (":not(:has(i)) > b", false, true),
        ("li:has(~ i)", true, true),
    ] {
        let rule = Rule::new(&RuleText { select: vec![select.to_owned()], ..RuleText::default() })
            .unwrap();
        for (body, refused) in [(&wide, refused_wide), (&deep, refused_deep)] {
            let reading = read(&rule, body.as_bytes(), Some("text/html"), &Limits::default());
            assert_eq!(matches!(reading, Err(Unreadable::TooCostly { .. })), refused, "{select}");
        }
    }
}

#[test]
fn json_and_xml_are_bounded_too() {
    let read = |body: &str, content_type| {
        read(&Rule::default(), body.as_bytes(), Some(content_type), &Limits::default()).unwrap_err()
    };
    assert_eq!(read(&"[".repeat(MEGABYTE), "application/json"), Unreadable::TooDeep { limit: 127 });
    assert_eq!(read(&repeated("<a>"), "text/xml"), Unreadable::TooDeep { limit: 512 });
    let wide: String = (0..100_000).map(|number| format!("a{number}='' ")).collect();
    assert_eq!(
        read(&format!("<a {wide}/>"), "text/xml"),
        Unreadable::TooManyAttributes { limit: 512 }
    );
}

/// Two texts of a hundred thousand lines with nothing in common.
#[test]
fn a_diff_of_strangers_is_coarse_and_short() {
    let text =
        |word: &str| -> String { (0..100_000).map(|line| format!("{word} {line}\n")).collect() };
    let change = diff(&text("a"), &text("b"), &Limits::default());
    assert_eq!((change.added, change.removed), (100_000, 100_000));
    assert!(change.unified.len() < 65 << 10 && change.unified.contains("lines left out"));
    assert_eq!(change.summary, "a → b");
}
