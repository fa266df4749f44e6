//! Looks at sources as they come: what is noise, what is a change, and what cannot be read.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use detect::{Kind, Limits, Reading, Rule, RuleText, Unreadable, Verdict, judge, read};

fn rule(json: &str) -> Rule {
    Rule::new(&serde_json::from_str::<RuleText>(json).unwrap()).unwrap()
}

fn look(rule: &Rule, body: &str, content_type: &str) -> Result<Reading, Unreadable> {
    read(rule, body.as_bytes(), Some(content_type), &Limits::default())
}

/// The verdict on the second look after the first was taken.
fn check(json: &str, content_type: &str, before: &str, after: &str) -> Verdict {
    let rule = rule(json);
    let before = look(&rule, before, content_type).unwrap();
    judge(Some(&before.fingerprint), &look(&rule, after, content_type))
}

#[test]
fn a_first_look_is_first() {
    let reading = look(&Rule::default(), "a", "text/plain");
    assert_eq!(judge(None, &reading), Verdict::First);
}

#[test]
fn scripts_nonces_comments_and_hidden_inputs_are_noise() {
    let page = |noise: &str| {
        format!(
            "<head><meta name=csrf content={noise}></head><script nonce={noise}>t={noise}</script>\
             <form action='/buy;jsessionid={noise}'><input type=hidden value={noise}></form>\
             <!-- made at {noise} --><p class=c{noise}>price: 12</p>\
             <p>/buy;jsessionid={noise}</p>"
        )
    };
    assert_eq!(
        check("{}", "text/html", &page("0123456789abcdef"), &page("fedcba9876543210")),
        Verdict::Same
    );
}

#[test]
fn a_changed_word_is_a_change() {
    assert_eq!(check("{}", "text/html", "<p>price: 12", "<p>price: 14"), Verdict::Changed);
    assert_eq!(check("{}", "text/plain", "in stock", "sold out"), Verdict::Changed);
    assert_eq!(check("{}", "application/json", r#"{"a":1}"#, r#"{"a":2}"#), Verdict::Changed);
    assert_eq!(check("{}", "image/png", "\u{1}", "\u{2}"), Verdict::Changed);
}

#[test]
fn white_space_and_attributes_are_no_change() {
    assert_eq!(check("{}", "text/html", "<p id=a>x y</p>", "<p\nid=b>x\n  y</p>\n"), Verdict::Same);
    assert_eq!(check("{}", "text/plain", "a \r\nb\n\n", "a\nb"), Verdict::Same);
}

#[test]
fn a_feed_made_anew_is_the_same_feed() {
    let feed = |date: &str, item: &str| {
        format!(
            "<rss><channel><lastBuildDate>{date}</lastBuildDate><item>{item}</item></channel></rss>"
        )
    };
    let xml = "application/rss+xml";
    assert_eq!(check("{}", xml, &feed("Mon", "a"), &feed("Tue", "a")), Verdict::Same);
    assert_eq!(check("{}", xml, &feed("Mon", "a"), &feed("Mon", "b")), Verdict::Changed);
}

#[test]
fn what_the_rule_leaves_out_does_not_count() {
    let page = |ad: &str, visitors: u32| {
        format!("<main>news<p class=ad>{ad}</p><p>{visitors} visitors</p></main><p>{ad}")
    };
    let rule = r#"{"select": "main", "exclude": ".ad", "ignore": "[0-9]+ visitors"}"#;
    assert_eq!(check(rule, "text/html", &page("x", 1), &page("y", 2)), Verdict::Same);
    assert_eq!(check("{}", "text/html", &page("x", 1), &page("x", 2)), Verdict::Changed);
}

#[test]
fn an_ignored_line_may_come_and_go() {
    let rule = r#"{"ignore": "^made .*$"}"#;
    assert_eq!(check(rule, "text/plain", "a\nmade now\nb", "a\nb"), Verdict::Same);
}

/// A page that lost its main element must not look like a change to nothing.
#[test]
fn a_lost_element_is_unreadable_and_not_a_change() {
    let verdict = check(r#"{"select": "main"}"#, "text/html", "<main>a</main>", "<p>maintenance");
    let Verdict::Unreadable(reason) = verdict else { panic!("{verdict:?}") };
    assert_eq!(
        reason.to_string(),
        "`select` found nothing for `main`; the page may have a new layout"
    );
}

#[test]
fn css_is_refused_where_there_are_no_elements() {
    let told = |json: &str, content_type: &str, body: &str| {
        look(&rule(json), body, content_type).unwrap_err().to_string()
    };
    let select = r#"{"select": "main"}"#;
    assert!(told(select, "application/json", "{}").starts_with("`select` is CSS and this is JSON"));
    assert!(told(select, "application/json", "{").contains("plain text"));
    assert!(told(r#"{"exclude": "p"}"#, "text/plain", "a").starts_with("`exclude` is CSS"));
    assert!(told(select, "image/png", "a").contains("not text"));
}

#[test]
fn what_is_malformed_is_read_as_text() {
    let kind =
        |body: &str, content_type: &str| look(&Rule::default(), body, content_type).unwrap().kind;
    assert_eq!(kind("{a", "application/json"), Kind::Text);
    assert_eq!(kind("<a><b></a>", "text/xml"), Kind::Text);
    assert_eq!(kind("<a><b></a>", "text/html"), Kind::Html);
}

#[test]
fn a_picture_is_told_by_type_size_and_hash() {
    let reading = look(&Rule::default(), "abc", "image/png; x=y").unwrap();
    assert!(reading.text.starts_with("image/png, 3 bytes, blake3 6437b3ac"), "{}", reading.text);
}

#[test]
fn the_same_words_in_another_encoding_are_the_same() {
    let rule = Rule::default();
    let limits = Limits::default();
    let utf8 = read(&rule, "café".as_bytes(), Some("text/plain; charset=utf-8"), &limits).unwrap();
    let latin = read(&rule, b"caf\xe9", Some("text/plain; charset=latin1"), &limits);
    assert_eq!(judge(Some(&utf8.fingerprint), &latin), Verdict::Same);
}
