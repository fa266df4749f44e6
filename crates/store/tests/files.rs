//! Directories and files: who may write, who may read meanwhile, what is refused, copies and the way back.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use std::fs;
use std::path::Path;

use store::{
    Added, Error, Existing, Kind, Micros, NewEntry, NewSource, NewVersion, Reader, SourceId, Store,
    ask, backup, restore,
};

const PAGE: &[u8] = b"<html>a page</html>";

fn note() -> NewEntry<'static> {
    NewEntry { at: Micros(1), kind: Kind::Note, source: None, detail: Some(b"note") }
}

fn write_note(store: &mut Store) -> i64 {
    store.commit(|batch| batch.append(&note())).unwrap()
}

/// A store with a source and a version of it.
fn filled(dir: &Path) -> Store {
    let mut store = Store::open(dir).unwrap();
    let (url, site, host, spec, origin) = ("http://a.example/", "a", "a.example", "{}", "cli");
    let new = NewSource { url, site, host, tags: &[], importance: 1.0, spec, origin };
    store
        .commit(|batch| {
            let Added::As { source, .. } = batch.add_source(&new, Micros(1))? else {
                unreachable!("the store is new")
            };
            batch.append(&note())?;
            batch.add_version(&NewVersion {
                source,
                at: Micros(1),
                n: 1,
                body: PAGE,
                text: Some("a page"),
                headers: "{}",
                media_type: Some("text/html"),
                status: 200,
                fingerprint: [1; 32],
                title: None,
            })
        })
        .unwrap();
    store
}

fn assert_filled(dir: &Path) {
    let reader = Reader::open(dir).unwrap();
    let version = reader.version_of(SourceId(1), 1).unwrap().unwrap();
    assert_eq!(reader.body(version.id).unwrap().unwrap(), PAGE);
    assert_eq!(reader.text(version.id).unwrap().unwrap(), "a page");
}

#[test]
fn one_directory_has_one_writer() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let Err(Error::Locked { pid, .. }) = Store::open(dir.path()) else {
        panic!("two writers");
    };
    assert_eq!(pid, Some(std::process::id()));
    drop(store);
    Store::open(dir.path()).unwrap();
}

#[test]
fn readers_look_on_while_the_writer_writes() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(Reader::open(dir.path()), Err(Error::NoStore { .. })));
    let mut store = Store::open(dir.path()).unwrap();
    let reader = Reader::open(dir.path()).unwrap();
    for n in 1..=3 {
        write_note(&mut store);
        assert_eq!(reader.last_n().unwrap(), n);
    }
    drop(store);
    assert_eq!(Reader::open(dir.path()).unwrap().last_n().unwrap(), 3);
}

#[test]
fn what_was_written_is_there_after_opening_again() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("not/yet/there");
    drop(filled(&deep));
    let mut store = Store::open(&deep).unwrap();
    store.commit(|batch| batch.set_meta("colour", "green")).unwrap();
    store.commit(|batch| batch.set_meta("colour", "blue")).unwrap();
    assert_eq!(write_note(&mut store), 2);
    drop(store);
    assert_filled(&deep);
    let reader = Reader::open(&deep).unwrap();
    assert_eq!(reader.meta("colour").unwrap().unwrap(), "blue");
    assert_eq!(reader.meta("shape").unwrap(), None);
}

#[cfg(unix)]
#[test]
fn files_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let _store = filled(&data);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    for file in fs::read_dir(&data).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
}

/// `/sys` cannot be written even by root.
#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_cannot_be_written_is_told() {
    let Err(error) = Store::open("/sys/tidewatch") else { panic!("wrote to /sys") };
    assert!(matches!(error, Error::ReadOnly(_)), "{error}");
    assert!(error.to_string().contains("/sys/tidewatch"), "{error}");
}

#[test]
fn what_stands_in_the_way_is_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("tidewatch.db")).unwrap();
    let Err(error) = Store::open(dir.path()) else { panic!("opened a directory") };
    assert!(error.to_string().contains("tidewatch.db"), "{error}");
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let Err(error) = Store::open(file.join("data")) else { panic!("opened under a file") };
    assert!(error.to_string().contains("file"), "{error}");
}

#[test]
fn a_file_that_is_no_database_is_refused_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tidewatch.db");
    let letter = "Dear reader, this is a letter. ".repeat(200);
    fs::write(&path, &letter).unwrap();
    assert!(matches!(Store::open(dir.path()), Err(Error::Damaged(_))));
    assert_eq!(fs::read_to_string(&path).unwrap(), letter);
}

#[test]
fn a_database_of_another_program_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tidewatch.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE theirs (x)").unwrap();
    assert!(matches!(Store::open(dir.path()), Err(Error::NotAStore { .. })));
    assert!(matches!(Reader::open(dir.path()), Err(Error::NotAStore { .. })));
}

#[test]
fn a_newer_store_is_refused_by_writer_reader_asker_and_restore() {
    let dir = tempfile::tempdir().unwrap();
    drop(filled(dir.path()));
    let path = dir.path().join("tidewatch.db");
    let later = rusqlite::Connection::open(&path).unwrap();
    later.pragma_update(None, "user_version", 99).unwrap();
    drop(later);
    let newer = |error: Option<Error>| matches!(error, Some(Error::Newer { found: 99, .. }));
    assert!(newer(Store::open(dir.path()).err()));
    assert!(newer(Reader::open(dir.path()).err()));
    assert!(newer(ask(dir.path(), Micros(0), "{}").err()));
    let elsewhere = tempfile::tempdir().unwrap();
    assert!(newer(restore(&path, elsewhere.path(), Existing::Keep).err()));
}

#[test]
fn a_damaged_page_is_found_after_a_writer_died() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = filled(dir.path());
    for _ in 0..2000 {
        write_note(&mut store);
    }
    drop(store);
    let path = dir.path().join("tidewatch.db");
    let mut bytes = fs::read(&path).unwrap();
    let end = bytes.len();
    bytes[end - 30_000..end - 20_000].fill(0xAA);
    fs::write(&path, bytes).unwrap();
    fs::write(dir.path().join("tidewatch.lock"), "4711").unwrap();
    assert!(matches!(Store::open(dir.path()), Err(Error::Damaged(_))));
}

#[test]
fn a_wish_reaches_the_writer_and_its_answer_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(ask(dir.path(), Micros(0), "{}"), Err(Error::NoStore { .. })));
    let mut store = filled(dir.path());
    let quiet = store.outside_writes().unwrap();
    write_note(&mut store);
    assert_eq!(store.outside_writes().unwrap(), quiet, "own writes do not count");

    let first = ask(dir.path(), Micros(5), "first").unwrap();
    let second = ask(dir.path(), Micros(6), "second").unwrap();
    assert_ne!(store.outside_writes().unwrap(), quiet);
    let wishes = store.read().open_wishes(9).unwrap();
    assert_eq!(wishes.iter().map(|wish| &*wish.what).collect::<Vec<_>>(), ["first", "second"]);
    assert_eq!((wishes[0].id, wishes[0].at), (first, Micros(5)));

    let reader = Reader::open(dir.path()).unwrap();
    assert_eq!(reader.answer(first).unwrap(), None);
    assert!(store.commit(|batch| batch.answer(first, Micros(7), "done")).unwrap());
    assert!(!store.commit(|batch| batch.answer(first, Micros(8), "again")).unwrap());
    assert_eq!(reader.answer(first).unwrap().unwrap(), "done");
    assert_eq!(store.read().open_wishes(9).unwrap()[0].id, second);
}

#[test]
fn a_backup_of_a_running_store_comes_back_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (data, file, other) =
        (dir.path().join("data"), dir.path().join("copy"), dir.path().join("other"));
    let mut store = filled(&data);
    backup(&data, &file, Existing::Keep).unwrap();
    write_note(&mut store);
    assert!(matches!(backup(&data, &file, Existing::Keep), Err(Error::Exists { .. })));

    restore(&file, &other, Existing::Keep).unwrap();
    assert_filled(&other);
    let mut copy = Store::open(&other).unwrap();
    assert_eq!(write_note(&mut copy), 2, "as of the backup");
    drop(copy);

    backup(&data, &file, Existing::Replace).unwrap();
    assert!(matches!(restore(&file, &other, Existing::Keep), Err(Error::Exists { .. })));
    restore(&file, &other, Existing::Replace).unwrap();
    assert_eq!(Reader::open(&other).unwrap().last_n().unwrap(), 2);
    assert!(matches!(restore(&file, &data, Existing::Replace), Err(Error::Locked { .. })));
    assert!(matches!(
        backup(&data, data.join("tidewatch.db"), Existing::Replace),
        Err(Error::Exists { .. })
    ));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3, "nothing is left lying about");
}

/// A writer that died leaves its log; beside the restored database it would be taken for that one's.
#[test]
fn the_log_of_a_dead_writer_does_not_reach_the_restored_store() {
    let dir = tempfile::tempdir().unwrap();
    let (data, dead, file) =
        (dir.path().join("data"), dir.path().join("dead"), dir.path().join("copy"));
    let mut store = filled(&data);
    backup(&data, &file, Existing::Keep).unwrap();
    fs::create_dir(&dead).unwrap();
    for _ in 0..50 {
        write_note(&mut store);
    }
    for name in ["tidewatch.db", "tidewatch.db-wal"] {
        fs::copy(data.join(name), dead.join(name)).unwrap();
    }
    restore(&file, &dead, Existing::Replace).unwrap();
    assert_filled(&dead);
    assert_eq!(Reader::open(&dead).unwrap().last_n().unwrap(), 1);
}

#[test]
fn what_is_no_backup_is_refused_and_the_store_stays() {
    let dir = tempfile::tempdir().unwrap();
    let (data, file) = (dir.path().join("data"), dir.path().join("copy"));
    drop(filled(&data));
    let refused = |bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        let error = restore(&file, &data, Existing::Replace).unwrap_err();
        assert!(matches!(error, Error::NotAStore { .. }), "{error}");
        assert_filled(&data);
    };
    refused(b"");
    refused(&[b'x'; 9000]);
    let whole = {
        fs::remove_file(&file).unwrap();
        backup(&data, &file, Existing::Keep).unwrap();
        fs::read(&file).unwrap()
    };
    let mut holed = whole.clone();
    holed[20_000..30_000].fill(0xAA);
    refused(&holed);
    refused(&whole[..whole.len() / 2]);
    let missing = restore(dir.path().join("nowhere"), &data, Existing::Replace);
    assert!(matches!(missing, Err(Error::Io { .. })));
}
