//! The configuration: the example is complete and true, and mistakes are all named at once.

use std::collections::BTreeSet;

use tidewatch::config;

const EXAMPLE: &str = include_str!("../../../tidewatch.example.toml");

/// The example with every commented-out key and table switched on.
fn everything() -> String {
    let switch = |line: &str| {
        let rest = line.strip_prefix("# ")?;
        let key: &str = rest.split(" = ").next()?;
        let is_key = key.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        (rest.starts_with("[[") || is_key && rest.contains(" = ")).then(|| rest.to_owned())
    };
    EXAMPLE.lines().map(|line| switch(line).unwrap_or_else(|| line.to_owned()) + "\n").collect()
}

fn same(a: &config::Config, b: &config::Config) -> bool {
    a.setup == b.setup
        && a.cycle == b.cycle
        && a.parallel == b.parallel
        && a.importance.to_bits() == b.importance.to_bits()
        && a.fetch.limits == b.fetch.limits
        && a.fetch.robots == b.fetch.robots
        && a.fetch.guard.allow.is_empty() == b.fetch.guard.allow.is_empty()
        && a.stdout == b.stdout
        && a.sources == b.sources
}

#[test]
fn the_example_says_the_defaults() {
    let example = config::parse(EXAMPLE).unwrap().check().unwrap();
    let empty = config::parse("").unwrap().check().unwrap();
    assert!(same(&example, &empty));
}

#[test]
fn every_key_of_the_example_is_understood() {
    let text = everything();
    assert!(text.contains("\nurl = \"https://example.org/news\"\n"), "{text}");
    // what the environment and the disk of a test cannot have is complained about, and nothing else
    let wrong = config::parse(&text).unwrap().check().err().unwrap();
    let keys: BTreeSet<&str> = wrong.0.iter().map(|line| line.split('`').nth(1).unwrap()).collect();
    let expected = [
        "fetch.ca_file",
        "source[0].auth.password_env",
        "source[0].headers_env.X-Api-Key",
        "webhook[0].secret_env",
    ];
    assert_eq!(keys, BTreeSet::from(expected), "{wrong}");
}

#[test]
fn all_mistakes_are_named_at_once() {
    let text = r#"
        [budget]
        polls = "lots"
        first_looks = "120%"
        [policy]
        name = "gready"
        [fetch]
        allow = ["10.0.0.0/99"]
        max_body = "8 elephants"
        [[source]]
        url = "ftp://example.org"
        select = "p["
        evry = "5m"
        [[source]]
        url = "https://example.org"
        every = "1ms"
        ignore = "("
    "#;
    let wrong = config::parse(text).unwrap().check().err().unwrap().to_string();
    for key in [
        "budget.polls",
        "budget.first_looks",
        "policy.name",
        "fetch.allow",
        "fetch.max_body",
        "source[0].url",
        "source[0].select",
        "source[0].evry",
        "source[1].every",
        "source[1].ignore",
    ] {
        assert!(wrong.contains(&format!("`{key}`")), "{key} is not named in\n{wrong}");
    }
}

#[test]
fn unknown_keys_are_refused_by_name() {
    let wrong = config::parse("[budgt]\npolls = \"1/h\"").unwrap_err();
    assert!(wrong.contains("budgt"), "{wrong}");
    let wrong = config::parse("[fetch]\ntimout = \"3s\"").unwrap_err();
    assert!(wrong.contains("timout"), "{wrong}");
}

/// Urgency and life of the defaults reach every source that says nothing; what cannot steer is refused by name.
#[test]
fn urgency_and_life_are_understood_and_refused_where_they_cannot_steer() {
    let text = |urgency: &str, life: &str| {
        format!(
            "[policy]\nobjective = \"utility\"\n[defaults]\nurgency = \"half-life 6h\"\n\
             [[source]]\nurl = \"https://example.org/a\"\nurgency = \"{urgency}\"\nlife = \"{life}\"\n\
             [[source]]\nurl = \"https://example.org/b\"\n"
        )
    };
    let config = config::parse(&text("within 2h", "append")).unwrap().check().unwrap();
    let worth = |at: usize| config.sources[at].spec.worth().unwrap();
    assert_eq!(
        (worth(0).urgency.to_string(), worth(0).life.to_string()),
        ("within 2h".into(), "append".into())
    );
    assert_eq!(
        (worth(1).urgency.to_string(), worth(1).life.to_string()),
        ("half-life 6h".into(), "overwrite".into())
    );
    for (urgency, life, named) in [
        ("per-tick 0.9", "append", "source[0].urgency"),
        ("none", "append", "source[0].urgency"),
        ("soon", "append", "source[0].urgency"),
        ("none", "for ever", "source[0].life"),
    ] {
        let wrong = config::parse(&text(urgency, life)).unwrap().check().err().unwrap().to_string();
        assert!(wrong.contains(&format!("`{named}`")), "{wrong}");
    }
    let other = config::parse("[defaults]\nlife = \"last\"").unwrap().check().err().unwrap();
    assert!(other.to_string().contains("`defaults.life`"));
}
