//! What holds for every body: reading is repeatable, canonical text is canonical, form is not content.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use detect::{Limits, Reading, Rule, RuleText, read};
use proptest::prelude::*;
use serde_json::Value;

const TYPES: [Option<&str>; 7] = [
    None,
    Some("text/html"),
    Some("text/plain"),
    Some("application/json"),
    Some("application/xml"),
    Some("image/png"),
    Some("text/html; charset=shift_jis"),
];

/// Small, so that random bodies break them.
const TIGHT: Limits = Limits {
    bytes: 600,
    text: 300,
    depth: 12,
    nodes: 60,
    items: 50,
    attributes: 4,
    parse_steps: 2_000,
    match_steps: 3_000,
    edit_steps: 100,
    diff: 100,
};

fn look(body: &[u8], content_type: &str) -> Reading {
    read(&Rule::default(), body, Some(content_type), &Limits::default()).unwrap()
}

fn choosy() -> Rule {
    let text = r#"{"select": "p, b ~ *, :has(i)", "exclude": "a", "ignore": "x+"}"#;
    Rule::new(&serde_json::from_str::<RuleText>(text).unwrap()).unwrap()
}

/// Pieces that together make something near HTML, XML and JSON.
fn any_markup() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "<p>",
        "</p>",
        "<b>",
        "</b>",
        "<a href='x>y'>",
        "</a>",
        "<table>",
        "<tr>",
        "<td>",
        "</table>",
        "<pre>",
        "</pre>",
        "<script>",
        "</script>",
        "<!--",
        "-->",
        "<svg>",
        "<![CDATA[",
        "]]>",
        "<template>",
        "<title>",
        "</title>",
        "<br/>",
        "<img alt='a  b'>",
        "&amp;",
        "&nbsp;",
        "&#xfeff;",
        "\u{feff}",
        "\r",
        "\r\n",
        "\n",
        " ",
        "\t",
        "x",
        "é",
        "<",
        ">",
        "\"",
        "'",
        "=",
        "&",
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "1",
        "\"k\"",
        "null",
        "<r>",
        "</r>",
        "<?xml?>",
        "nonce=abcdefghijklmnop",
        ";jsessionid=",
        "\0",
        "\u{b}",
        "\u{2028}",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (-1e6..1e6f64).prop_map(Value::from),
        "[a-c\"\\\\\n]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 30, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::hash_map("[a-z]{0,3}", inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The same JSON with its keys the other way round and white space everywhere.
fn rewritten(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(rewritten).collect();
            format!("[\t{}\r\n]", items.join(" , "))
        }
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .rev()
                .map(|(key, value)| {
                    format!("{} :\n{}", Value::from(key.as_str()), rewritten(value))
                })
                .collect();
            format!("{{ {} }}", members.join("\n,"))
        }
        plain => plain.to_string(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_bytes_break_a_reading(body in prop::collection::vec(any::<u8>(), 0..400)) {
        for content_type in TYPES {
            for rule in [Rule::default(), choosy()] {
                let first = read(&rule, &body, content_type, &Limits::default());
                prop_assert_eq!(&first, &read(&rule, &body, content_type, &Limits::default()));
            }
        }
    }

    #[test]
    fn no_markup_breaks_a_reading_and_limits_hold(body in any_markup()) {
        for content_type in TYPES {
            for rule in [Rule::default(), choosy()] {
                let reading = read(&rule, body.as_bytes(), content_type, &TIGHT);
                prop_assert_eq!(&reading, &read(&rule, body.as_bytes(), content_type, &TIGHT));
                prop_assert!(reading.is_err() || body.len() <= TIGHT.bytes);
                prop_assert!(reading.is_err() || reading.unwrap().text.len() <= TIGHT.text);
            }
        }
    }

    #[test]
    fn canonical_text_read_as_text_is_itself(body in any_markup()) {
        for content_type in ["text/html", "text/plain", "application/json", "application/xml"] {
            let reading = look(body.as_bytes(), content_type);
            let again = look(reading.text.as_bytes(), "text/plain; charset=utf-8");
            prop_assert_eq!(&again.text, &reading.text);
            prop_assert_eq!(again.fingerprint, reading.fingerprint);
        }
    }

    #[test]
    fn the_order_of_keys_and_white_space_are_not_content(value in any_json()) {
        let json = "application/json";
        let plain = look(value.to_string().as_bytes(), json);
        prop_assert_eq!(plain, look(rewritten(&value).as_bytes(), json));
    }

    #[test]
    fn values_of_json_are_content(one in any_json(), other in any_json()) {
        let json = "application/json";
        let (seen_one, seen_other) =
            (look(one.to_string().as_bytes(), json), look(other.to_string().as_bytes(), json));
        prop_assert_eq!(one == other, seen_one.fingerprint == seen_other.fingerprint);
    }

    /// However a text is cut by comments and inline elements, it reads the same.
    #[test]
    fn inline_markup_is_not_content(words in prop::collection::vec("[a-z]{1,6}", 1..10)) {
        let plain = look(format!("<p>{}</p>", words.join(" ")).as_bytes(), "text/html");
        let marked: Vec<String> = words.iter().map(|word| format!("<b>{word}</b><!-- x -->")).collect();
        let marked = look(format!("<div>\n{}</div>", marked.join("\n\t")).as_bytes(), "text/html");
        prop_assert_eq!(&plain.text, &words.join(" "));
        prop_assert_eq!(plain.fingerprint, marked.fingerprint);
    }
}
