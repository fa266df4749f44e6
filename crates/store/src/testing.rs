//! What the tests of this room share: a store in a scratch directory, sources, pages.

use proptest::prelude::*;
use tempfile::TempDir;

use crate::{Added, Kind, Micros, NewEntry, NewSource, NewVersion, SourceId, Store};

/// A new store in a directory that goes with the first value.
pub(crate) fn scratch() -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    (dir, store)
}

/// Watches an address.
pub(crate) fn watch(store: &mut Store, url: &str) -> SourceId {
    let (site, host, spec, origin) = ("site", "host", "{}", "cli");
    let new = NewSource { url, site, host, tags: &[], importance: 1.0, spec, origin };
    match store.commit(|batch| batch.add_source(&new, Micros(0))).unwrap() {
        Added::As { source, .. } | Added::Already(source) => source,
    }
}

pub(crate) fn note(at: i64) -> NewEntry<'static> {
    NewEntry { at: Micros(at), kind: Kind::Note, source: None, detail: None }
}

pub(crate) fn version(source: SourceId, at: i64, body: &[u8]) -> NewVersion<'_> {
    NewVersion {
        source,
        at: Micros(at),
        n: 1,
        body,
        text: None,
        headers: "{}",
        media_type: None,
        status: 200,
        fingerprint: [0; 32],
        title: None,
    }
}

/// Noise that zstd cannot shorten, the same for the same seed.
pub(crate) fn page(seed: u32, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    let mut noise = blake3::Hasher::new();
    noise.update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

/// A page of about 7 kB in which every edit rewrites a paragraph.
pub(crate) fn html(seed: u32, edit: u32) -> String {
    let paragraph = |place: u32| {
        let written = edit.saturating_sub((edit + PARAGRAPHS - place) % PARAGRAPHS);
        let words = page(seed ^ place << 8 ^ written << 16, 12).into_iter();
        words.map(|byte| format!("w{byte} ")).collect::<String>()
    };
    let paragraphs = (0..PARAGRAPHS).map(paragraph);
    let body: String = paragraphs.map(|text| format!("<p class=\"entry\">{text}</p>\n")).collect();
    format!("<html><body>{body}</body></html>")
}

const PARAGRAPHS: u32 = 90;

/// What the contents take.
pub(crate) fn stored_bytes(store: &Store) -> i64 {
    let sql = "SELECT coalesce(sum(length(data)), 0) FROM blob";
    store.read().connection.query_one(sql, [], |row| row.get(0)).unwrap()
}

/// Bodies of two sources in order: edits of what was, repeats, returns, nothing, something else.
pub(crate) fn any_story() -> impl Strategy<Value = Vec<(usize, Vec<u8>)>> {
    prop::collection::vec((0..2usize, 0..6u8, any::<u32>()), 1..80).prop_map(|steps| {
        let mut bodies: Vec<Vec<u8>> = vec![html(0, 0).into_bytes()];
        for (_, what, chance) in &steps {
            let chosen = bodies[*chance as usize % bodies.len()].clone();
            let last = bodies[bodies.len() - 1].clone();
            bodies.push(match what {
                0..=2 => edited(last, *chance),
                3 => chosen,
                4 => page(*chance, *chance as usize % 3000),
                _ => Vec::new(),
            });
        }
        steps.iter().zip(bodies).map(|((source, ..), body)| (*source, body)).collect()
    })
}

fn edited(mut body: Vec<u8>, chance: u32) -> Vec<u8> {
    let place = chance as usize % (body.len() + 1);
    let cut = (place + chance as usize % 40).min(body.len());
    body.splice(place..cut, chance.to_string().into_bytes());
    body
}
