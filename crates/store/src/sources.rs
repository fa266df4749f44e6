//! What is watched: sources with their rules, as entered, edited and removed.
//!
//! A source is an address and a rule: the same address may be watched twice with different rules. One
//! that is removed keeps its row, because journal and versions speak of it; watched again it is another.

use rusqlite::{OptionalExtension, Row, named_params, params};

use crate::{Batch, Error, HostId, Micros, Reader, Result, SiteId, SourceId, State};

/// How many sources of an ambiguous name are shown.
const SHOWN: u32 = 20;

/// A source to be watched.
#[derive(Clone, Debug)]
pub struct NewSource<'a> {
    /// Its address.
    pub url: &'a str,
    /// The group it may change alike with.
    pub site: &'a str,
    /// Who answers for it.
    pub host: &'a str,
    /// Words to find it by.
    pub tags: &'a [String],
    /// How much it matters.
    pub importance: f64,
    /// Everything else about it, as the program encodes it.
    pub spec: &'a str,
    /// Where it was asked for: `file`, `cli`, ...
    pub origin: &'a str,
}

/// A source and how it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Its number.
    pub id: SourceId,
    /// Its address.
    pub url: String,
    /// Its site's number.
    pub site_id: SiteId,
    /// The group it may change alike with.
    pub site: String,
    /// Its host's number.
    pub host_id: HostId,
    /// Who answers for it.
    pub host: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// How much it matters.
    pub importance: f64,
    /// Everything else about it, as the program encoded it.
    pub spec: String,
    /// Where it was asked for.
    pub origin: String,
    /// Since when it is watched.
    pub added_at: Micros,
    /// Since when it is not.
    pub removed_at: Option<Micros>,
    /// How it stands.
    pub state: State,
}

/// What became of entering or editing a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is watched so.
    As {
        /// Its number.
        source: SourceId,
        /// Its site's number.
        site: SiteId,
        /// Its host's number.
        host: HostId,
    },
    /// That address is watched with that rule already; nothing was changed.
    Already(SourceId),
}

/// Which sources to list; the default is all that are watched.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// A part of the address, in either case.
    pub text: Option<String>,
    /// A tag it has.
    pub tag: Option<String>,
    /// The name of its site.
    pub site: Option<String>,
}

/// Who is meant by a name.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// This one.
    One(Box<Source>),
    /// Nobody.
    None,
    /// Any of these, or more.
    Many(Vec<Source>),
}

impl Batch<'_> {
    /// Watches a source from now on.
    pub fn add_source(&mut self, new: &NewSource<'_>, at: Micros) -> Result<Added> {
        if let Some(source) = self.watched(new)? {
            return Ok(Added::Already(source));
        }
        let (site, host) = (self.site(new.site)?, self.host(new.host)?);
        let sql = "INSERT INTO source (url, site, host, tags, importance, spec, origin, added_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let tags = encoded(new.tags);
        let source = SourceId(self.sql()?.prepare_cached(sql)?.insert(params![
            new.url,
            site,
            host,
            tags,
            new.importance,
            new.spec,
            new.origin,
            at
        ])?);
        self.sql()?.prepare_cached("INSERT INTO state (source) VALUES (?1)")?.execute([source])?;
        Ok(Added::As { source, site, host })
    }

    /// Replaces all of a watched source but its number; `None` if there is no such source.
    pub fn edit_source(&mut self, id: SourceId, new: &NewSource<'_>) -> Result<Option<Added>> {
        if let Some(other) = self.watched(new)?.filter(|other| *other != id) {
            return Ok(Some(Added::Already(other)));
        }
        let (site, host) = (self.site(new.site)?, self.host(new.host)?);
        let sql = "UPDATE source SET url = ?2, site = ?3, host = ?4, tags = ?5, importance = ?6,
            spec = ?7, origin = ?8 WHERE id = ?1 AND removed_at IS NULL";
        let tags = encoded(new.tags);
        let changed = self.sql()?.prepare_cached(sql)?.execute(params![
            id,
            new.url,
            site,
            host,
            tags,
            new.importance,
            new.spec,
            new.origin
        ])?;
        Ok((changed == 1).then_some(Added::As { source: id, site, host }))
    }

    /// Watches it no longer; false if it was not.
    pub fn remove_source(&mut self, id: SourceId, at: Micros) -> Result<bool> {
        let sql = "UPDATE source SET removed_at = ?2 WHERE id = ?1 AND removed_at IS NULL";
        Ok(self.sql()?.prepare_cached(sql)?.execute(params![id, at])? == 1)
    }

    fn watched(&self, new: &NewSource<'_>) -> Result<Option<SourceId>> {
        let sql = "SELECT id FROM source WHERE url = ?1 AND spec = ?2 AND removed_at IS NULL";
        let mut find = self.sql()?.prepare_cached(sql)?;
        Ok(find.query_row([new.url, new.spec], |row| row.get(0)).optional()?)
    }
}

fn encoded(tags: &[String]) -> String {
    serde_json::Value::from(tags).to_string()
}

fn source(row: &Row<'_>) -> Result<Source> {
    let tags: String = row.get(6)?;
    Ok(Source {
        id: row.get(0)?,
        url: row.get(1)?,
        site_id: row.get(2)?,
        site: row.get(3)?,
        host_id: row.get(4)?,
        host: row.get(5)?,
        tags: serde_json::from_str(&tags).map_err(|_| Error::Damaged(format!("tags `{tags}`")))?,
        importance: row.get(7)?,
        spec: row.get(8)?,
        origin: row.get(9)?,
        added_at: row.get(10)?,
        removed_at: row.get(11)?,
        state: State::read(row, 12)?,
    })
}

impl Reader {
    /// Every watched source, by number.
    pub fn sources(&self) -> Result<Vec<Source>> {
        self.list(&Filter::default(), None, u32::MAX)
    }

    /// Up to `limit` watched sources after number `after`, by number.
    pub fn list(
        &self,
        filter: &Filter,
        after: Option<SourceId>,
        limit: u32,
    ) -> Result<Vec<Source>> {
        self.select(
            "source.id > :after AND removed_at IS NULL
             AND (:text IS NULL OR instr(lower(url), lower(:text)) > 0)
             AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value = :tag))
             AND (:site IS NULL OR site.name = :site) ORDER BY source.id LIMIT :limit",
            named_params! {
                ":after": after.unwrap_or(SourceId(0)),
                ":text": filter.text,
                ":tag": filter.tag,
                ":site": filter.site,
                ":limit": limit,
            },
        )
    }

    /// The source with this number, watched or not.
    pub fn source(&self, id: SourceId) -> Result<Option<Source>> {
        Ok(self.select("source.id = :id", named_params! { ":id": id })?.pop())
    }

    /// Who is meant: a number (also `s_17`, and of a removed source too), an address, or a part of one.
    pub fn find(&self, name: &str) -> Result<Found> {
        if let Ok(id) = name.strip_prefix("s_").unwrap_or(name).parse()
            && let Some(source) = self.source(SourceId(id))?
        {
            return Ok(Found::One(Box::new(source)));
        }
        let exact = self.select(
            "url = :name AND removed_at IS NULL ORDER BY source.id LIMIT :shown",
            named_params! { ":name": name, ":shown": SHOWN },
        )?;
        let mut found = if exact.is_empty() {
            let filter = Filter { text: Some(name.to_owned()), ..Filter::default() };
            self.list(&filter, None, SHOWN)?
        } else {
            exact
        };
        Ok(match (found.pop(), found.is_empty()) {
            (None, _) => Found::None,
            (Some(source), true) => Found::One(Box::new(source)),
            (Some(source), false) => {
                found.push(source);
                Found::Many(found)
            }
        })
    }

    fn select(&self, which: &str, given: &[(&str, &dyn rusqlite::ToSql)]) -> Result<Vec<Source>> {
        let mut select = self.connection.prepare_cached(&format!(
            "SELECT source.id, url, site, site.name, host, host.name, tags, importance, spec, origin,
                added_at, removed_at, {}
             FROM source JOIN site ON site.id = site JOIN host ON host.id = host
             JOIN state ON state.source = source.id WHERE {which}",
            State::COLUMNS
        ))?;
        select.query_and_then(given, source)?.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{scratch, watch};
    use crate::{Store, VersionId};

    const NEWS: NewSource<'static> = NewSource {
        url: "https://a.example/News",
        site: "a",
        host: "https://a.example:443",
        tags: &[],
        importance: 2.0,
        spec: r#"{"select":"main"}"#,
        origin: "cli",
    };

    fn add(store: &mut Store, new: &NewSource<'_>) -> Added {
        store.commit(|batch| batch.add_source(new, Micros(5))).unwrap()
    }

    #[test]
    fn what_is_added_is_read() {
        let (_dir, mut store) = scratch();
        let tags = ["news".to_owned(), "with \"quotes\"".to_owned()];
        let added = add(&mut store, &NewSource { tags: &tags, ..NEWS });
        let (source, site, host) = (SourceId(1), SiteId(0), HostId(0));
        assert_eq!(added, Added::As { source, site, host });
        let read = store.read().source(source).unwrap().unwrap();
        assert_eq!((&*read.url, &*read.site, &*read.host), (NEWS.url, NEWS.site, NEWS.host));
        assert_eq!((&read.tags[..], &*read.spec, &*read.origin), (&tags[..], NEWS.spec, "cli"));
        assert_eq!((read.added_at, read.removed_at), (Micros(5), None));
        assert!((read.importance - 2.0).abs() < f64::EPSILON);
        assert_eq!(read.state, State::default());
    }

    #[test]
    fn the_same_address_may_be_watched_by_another_rule_but_not_by_the_same() {
        let (_dir, mut store) = scratch();
        add(&mut store, &NEWS);
        assert_eq!(add(&mut store, &NEWS), Added::Already(SourceId(1)));
        let other = NewSource { spec: "{}", ..NEWS };
        assert!(matches!(add(&mut store, &other), Added::As { source: SourceId(2), .. }));
        let edited = store.commit(|batch| batch.edit_source(SourceId(2), &NEWS)).unwrap();
        assert_eq!(edited, Some(Added::Already(SourceId(1))));
    }

    #[test]
    fn a_source_watched_again_is_another() {
        let (_dir, mut store) = scratch();
        add(&mut store, &NEWS);
        let mut remove = |id| store.commit(|batch| batch.remove_source(id, Micros(9))).unwrap();
        assert!(remove(SourceId(1)));
        assert!(!remove(SourceId(1)));
        assert_eq!(store.read().sources().unwrap(), []);
        assert!(matches!(add(&mut store, &NEWS), Added::As { source: SourceId(2), .. }));
        let gone = store.read().source(SourceId(1)).unwrap().unwrap();
        assert_eq!(gone.removed_at, Some(Micros(9)));
        let edited = store.commit(|batch| batch.edit_source(SourceId(1), &NEWS)).unwrap();
        assert_eq!(edited, Some(Added::Already(SourceId(2))));
    }

    #[test]
    fn an_edit_keeps_number_and_state() {
        let (_dir, mut store) = scratch();
        add(&mut store, &NEWS);
        let id = SourceId(1);
        let state = State {
            polled_at: Some(Micros(7)),
            verdict: Some("same".into()),
            version: Some(VersionId(3)),
            etag: Some("\"x\"".into()),
            fingerprint: Some([7; 32]),
            failures: 2,
            ..State::default()
        };
        assert!(store.commit(|batch| batch.set_state(id, &state)).unwrap());
        assert!(!store.commit(|batch| batch.set_state(SourceId(9), &state)).unwrap());
        let edit = NewSource { spec: "{}", site: "b", ..NEWS };
        let edited = store.commit(|batch| batch.edit_source(id, &edit)).unwrap().unwrap();
        assert_eq!(edited, Added::As { source: id, site: SiteId(1), host: HostId(0) });
        let read = store.read().source(id).unwrap().unwrap();
        assert_eq!((read.state, &*read.spec, &*read.site), (state, "{}", "b"));
        let nobody = store.commit(|batch| batch.edit_source(SourceId(8), &NEWS)).unwrap();
        assert_eq!(nobody, None);
    }

    #[test]
    fn a_name_is_a_number_an_address_or_an_unambiguous_part() {
        let (_dir, mut store) = scratch();
        let urls = ["http://a.example/", "http://a.example/x_1", "http://b.example/100%25"];
        let ids = urls.map(|url| watch(&mut store, url));
        let found = |name: &str| match store.read().find(name).unwrap() {
            Found::One(source) => vec![source.id],
            Found::None => vec![],
            Found::Many(sources) => sources.into_iter().map(|source| source.id).collect(),
        };
        assert_eq!(found("2"), [ids[1]]);
        assert_eq!(found("s_3"), [ids[2]]);
        assert_eq!(found("http://a.example/"), [ids[0]], "exact before part");
        assert_eq!(found("B.EXAMPLE"), [ids[2]]);
        assert_eq!(found("a.example"), ids[..2]);
        assert_eq!(found("%"), [ids[2]], "no wildcards");
        assert_eq!(found("s_9"), []);
        assert_eq!(found("100"), [ids[2]], "no such number, but a part");
        assert_eq!(found("nowhere"), []);
    }

    #[test]
    fn lists_are_filtered_and_paged() {
        let (_dir, mut store) = scratch();
        let tag = ["odd".to_owned()];
        for n in 1..=7 {
            let url = format!("http://a.example/{n}");
            let tags: &[String] = if n % 2 == 1 { &tag } else { &[] };
            let site = if n < 4 { "low" } else { "high" };
            add(&mut store, &NewSource { url: &url, tags, site, ..NEWS });
        }
        let list = |filter: &Filter, after, limit| -> Vec<i64> {
            let page = store.read().list(filter, after, limit).unwrap();
            page.into_iter().map(|source| source.id.0).collect()
        };
        let odd = Filter { tag: Some("odd".into()), ..Filter::default() };
        assert_eq!(list(&odd, None, 3), [1, 3, 5]);
        assert_eq!(list(&odd, Some(SourceId(5)), 3), [7]);
        let high = Filter { site: Some("high".into()), ..odd };
        assert_eq!(list(&high, None, 9), [5, 7]);
        let text = Filter { text: Some("EXAMPLE/6".into()), ..Filter::default() };
        assert_eq!(list(&text, None, 9), [6]);
    }
}
