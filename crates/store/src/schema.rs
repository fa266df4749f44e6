//! The format of the file: a list of steps, how many were taken, and refusal of what is not ours.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::{Error, Result};

/// Step k brings a file from format k to k + 1. Released steps are never edited.
const STEPS: &[&str] = &[include_str!("schema/1.sql"), include_str!("schema/2.sql")];

/// "TIDE", in SQLite's field for the kind of a file.
const APPLICATION: i64 = 0x5449_4445;

/// Brings the file to the format of this program.
pub(crate) fn migrate(connection: &mut Connection, path: &Path) -> Result<()> {
    let is_empty: bool =
        connection.query_one("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))?;
    if !is_empty {
        recognise(connection, path)?;
    }
    take_steps(connection, STEPS)
}

fn take_steps(connection: &mut Connection, steps: &[&str]) -> Result<()> {
    let taken = format(connection)?;
    if taken > steps.len() {
        return Err(Error::Newer { found: taken, known: steps.len() });
    }
    for (step, number) in steps.iter().zip(1..).skip(taken) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", number)?;
        transaction.commit()?;
    }
    Ok(())
}

/// Refuses a file that a reader of this program cannot read.
pub(crate) fn check(connection: &Connection, path: &Path) -> Result<()> {
    recognise(connection, path)?;
    match format(connection)? {
        found if found > STEPS.len() => Err(Error::Newer { found, known: STEPS.len() }),
        found if found < STEPS.len() => Err(Error::Older { found, known: STEPS.len() }),
        _ => Ok(()),
    }
}

/// Refuses a file from elsewhere unless it holds exactly the tables its format says: a foreign trigger
/// would run inside our transactions.
pub(crate) fn check_foreign(connection: &Connection, path: &Path) -> Result<()> {
    recognise(connection, path)?;
    let found = format(connection)?;
    let Some(steps) = STEPS.get(..found) else {
        return Err(Error::Newer { found, known: STEPS.len() });
    };
    let mut model = Connection::open_in_memory()?;
    take_steps(&mut model, steps)?;
    if outline(connection)? == outline(&model)? {
        return Ok(());
    }
    Err(not_a_store(path, "its tables are not those of a store"))
}

fn recognise(connection: &Connection, path: &Path) -> Result<()> {
    let application: i64 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if application == APPLICATION {
        return Ok(());
    }
    Err(not_a_store(path, "it belongs to another program"))
}

fn not_a_store(path: &Path, why: &str) -> Error {
    Error::NotAStore { path: path.to_owned(), why: why.to_owned() }
}

fn format(connection: &Connection) -> Result<usize> {
    let taken: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(taken as usize)
}

fn outline(connection: &Connection) -> Result<Vec<(String, Option<String>)>> {
    let mut tables = connection.prepare(
        "SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite@_stat%' ESCAPE '@' ORDER BY name",
    )?;
    let rows = tables.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table_count(connection: &Connection) -> i64 {
        let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table'";
        connection.query_one(sql, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_step_that_fails_leaves_the_format_before_it() {
        let mut connection = Connection::open_in_memory().unwrap();
        let steps = ["CREATE TABLE a (x)", "CREATE TABLE b (x); CREATE TABLE a (x)"];
        assert!(take_steps(&mut connection, &steps).is_err());
        assert_eq!((format(&connection).unwrap(), table_count(&connection)), (1, 1));
        take_steps(&mut connection, &["", "CREATE TABLE b (x)"]).unwrap();
        assert_eq!((format(&connection).unwrap(), table_count(&connection)), (2, 2));
    }

    #[test]
    fn a_file_of_the_first_format_keeps_its_rows() {
        let mut connection = Connection::open_in_memory().unwrap();
        take_steps(&mut connection, &STEPS[..1]).unwrap();
        let before = table_count(&connection);
        connection.execute_batch("INSERT INTO host (name) VALUES ('example.org')").unwrap();
        take_steps(&mut connection, STEPS).unwrap();
        assert_eq!(format(&connection).unwrap(), STEPS.len());
        assert_eq!(table_count(&connection), before + 2);
        let hosts =
            connection.query_one("SELECT count(*) FROM host", [], |row| row.get::<_, i64>(0));
        assert_eq!(hosts.unwrap(), 1);
    }

    #[test]
    fn a_newer_file_is_refused_and_left_alone() {
        let mut connection = Connection::open_in_memory().unwrap();
        take_steps(&mut connection, &["CREATE TABLE a (x)", "CREATE TABLE b (x)"]).unwrap();
        let refusal = take_steps(&mut connection, &["CREATE TABLE a (x)"]).unwrap_err();
        assert!(matches!(refusal, Error::Newer { found: 2, known: 1 }));
        assert_eq!(table_count(&connection), 2);
    }

    #[test]
    fn a_foreign_trigger_is_refused() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, Path::new("x")).unwrap();
        check_foreign(&connection, Path::new("x")).unwrap();
        connection
            .execute_batch("CREATE TRIGGER t AFTER INSERT ON wish BEGIN DELETE FROM source; END")
            .unwrap();
        assert!(matches!(check_foreign(&connection, Path::new("x")), Err(Error::NotAStore { .. })));
    }
}
