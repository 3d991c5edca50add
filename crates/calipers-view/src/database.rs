//! The database: its layout, and connections to it.
//!
//! The tables of the index can be made again from the files, and are dropped when their layout changes. The table of records cannot:
//! rows are only ever appended, which triggers enforce, and its layout stays.

use crate::HistoryError;
#[cfg(feature = "postgres")]
use crate::postgres::{PostgresConnection, is_postgres};
use crate::sql::{Dialect, SqlConnection, values};
use crate::sqlite::SqliteConnection;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Where the history of a folder is, unless it is named.
pub const DEFAULT_FILE: &str = ".calipers/history.db";

/// The layout of the index. Another one is dropped and made again.
const INDEX_LAYOUT: i64 = 4;
/// The layout of the records. An unknown one is not touched.
const RECORDS_LAYOUT: i64 = 1;

const RECORDS: &str = "
CREATE TABLE IF NOT EXISTS record (
    place {serial},
    at {text} NOT NULL,
    kind {text} NOT NULL,
    run {text} NOT NULL,
    body {text} NOT NULL
);
CREATE INDEX IF NOT EXISTS record_of_run ON record (run, kind, place);
CREATE TABLE IF NOT EXISTS layout (name {text} PRIMARY KEY, version BIGINT NOT NULL) {by_key};
";

const INDEX: &str = "
CREATE TABLE source (
    id {serial},
    path {text} NOT NULL UNIQUE,
    size BIGINT NOT NULL,
    modified BIGINT NOT NULL,
    tag {text} NOT NULL DEFAULT '',
    choices {text} NOT NULL DEFAULT '',
    problem {text},
    is_other BIGINT NOT NULL DEFAULT 0,
    is_gone BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE case_set (
    hash {text} PRIMARY KEY,
    names {text} NOT NULL,
    contents {bytes} NOT NULL
);
CREATE TABLE run (
    id {serial},
    key {text} NOT NULL UNIQUE,
    source BIGINT NOT NULL REFERENCES source (id) ON DELETE CASCADE,
    place BIGINT NOT NULL,
    name {text},
    format {text} NOT NULL,
    own_suite {text} NOT NULL,
    suite {text} NOT NULL,
    task {text},
    model {text},
    version {text},
    branch {text},
    own_commit {text},
    commit_hash {text},
    tags {text} NOT NULL DEFAULT '{}',
    started {text},
    at BIGINT NOT NULL,
    is_judged BIGINT NOT NULL,
    total BIGINT NOT NULL,
    passed BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    scored BIGINT NOT NULL,
    errored BIGINT NOT NULL,
    unscored BIGINT NOT NULL,
    flaky BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    errored_attempts BIGINT NOT NULL,
    expected BIGINT,
    ending {text} NOT NULL,
    case_set {text} NOT NULL REFERENCES case_set (hash),
    scorers {text} NOT NULL,
    verdict {text},
    verdict_name {text},
    invalid {text},
    endings {bytes} NOT NULL,
    report {text} NOT NULL
);
CREATE INDEX run_by_time ON run (at DESC, id DESC);
CREATE INDEX run_of_source ON run (source);
CREATE INDEX run_of_case_set ON run (case_set);
CREATE TABLE figure (
    run BIGINT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    place BIGINT NOT NULL,
    score {text} NOT NULL,
    reducer {text},
    metric {text} NOT NULL,
    unit {text} NOT NULL,
    value DOUBLE PRECISION,
    lower DOUBLE PRECISION,
    upper DOUBLE PRECISION,
    level DOUBLE PRECISION NOT NULL,
    n BIGINT NOT NULL,
    missing BIGINT NOT NULL,
    PRIMARY KEY (run, place)
) {by_key};
CREATE TABLE tag (
    run BIGINT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    name {text} NOT NULL,
    value {text} NOT NULL,
    PRIMARY KEY (run, name)
) {by_key};
CREATE TABLE change (
    question {text} PRIMARY KEY,
    answer {text} NOT NULL
) {by_key};
";

const INDEX_TABLES: [&str; 6] = ["change", "tag", "figure", "run", "case_set", "source"];

/// A history of runs in a database.
///
/// ```
/// use calipers_view::History;
///
/// let history = History::in_memory()?;
/// assert_eq!(history.count()?, 0);
/// # Ok::<(), calipers_view::HistoryError>(())
/// ```
#[derive(Debug)]
pub struct History {
    place: HistoryPlace,
    /// Connections that are idle.
    idle: Mutex<Vec<Box<dyn SqlConnection>>>,
}

/// Where a history is.
enum HistoryPlace {
    File(PathBuf),
    Memory,
    #[cfg(feature = "postgres")]
    Postgres(String),
}

impl std::fmt::Debug for HistoryPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Memory => f.write_str("Memory"),
            // Its address may hold a password.
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => f.write_str("Postgres"),
        }
    }
}

/// As many idle connections are kept.
const IDLE_MAX: usize = 12;

impl History {
    /// Opens the history in this file, and creates it if there is none.
    pub fn open(file: &Path) -> Result<Self, HistoryError> {
        let refuse = |error| HistoryError::File { path: file.display().to_string(), error };
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
            fs::create_dir_all(folder).map_err(refuse)?;
            // The folder is ours: what is in it is for this machine, unless the user decides otherwise.
            if folder.file_name().is_some_and(|name| name == ".calipers") {
                fs::write(folder.join(".gitignore"), "*\n").map_err(refuse)?;
            }
        }
        Self::at(HistoryPlace::File(file.to_path_buf()))
    }

    /// Opens the history in this file, which must be there.
    pub fn open_existing(file: &Path) -> Result<Self, HistoryError> {
        if let Err(error) = fs::metadata(file) {
            return Err(HistoryError::File { path: file.display().to_string(), error });
        }
        Self::open(file)
    }

    /// True for the address of a database on a server, such as `postgres://host/evals`.
    #[must_use]
    pub fn is_address(name: &str) -> bool {
        name.starts_with("postgres://") || name.starts_with("postgresql://")
    }

    /// Connects to the history at this address, and creates it if the database has none.
    pub fn connect(address: &str) -> Result<Self, HistoryError> {
        #[cfg(feature = "postgres")]
        if is_postgres(address) {
            return Self::at(HistoryPlace::Postgres(address.to_owned()));
        }
        let scheme = address.split_once("://").map_or("", |(scheme, _)| scheme);
        Err(HistoryError::Database(format!("this program was built without support for `{scheme}://`")))
    }

    /// A history that is gone with this value.
    pub fn in_memory() -> Result<Self, HistoryError> {
        let mut database: Box<dyn SqlConnection> = Box::new(SqliteConnection::in_memory()?);
        prepare(&mut *database)?;
        Ok(Self { place: HistoryPlace::Memory, idle: Mutex::new(vec![database]) })
    }

    fn at(place: HistoryPlace) -> Result<Self, HistoryError> {
        let history = Self { place, idle: Mutex::default() };
        history.with(prepare)?;
        Ok(history)
    }

    /// Uses a connection.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&mut dyn SqlConnection) -> Result<T, HistoryError>,
    ) -> Result<T, HistoryError> {
        let mut connection = self.take()?;
        let done = work(&mut *connection);
        let is_kept = done.is_ok() || connection.is_alive();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if is_kept && (idle.len() < IDLE_MAX || matches!(self.place, HistoryPlace::Memory)) {
            idle.push(connection);
        }
        done
    }

    fn take(&self) -> Result<Box<dyn SqlConnection>, HistoryError> {
        loop {
            // A server may have been restarted since.
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            if let Some(connection) = idle.filter(|connection| connection.is_alive()) {
                return Ok(connection);
            }
            match &self.place {
                HistoryPlace::File(file) => return Ok(Box::new(SqliteConnection::open(file)?)),
                // There is one connection to a database in memory, and it comes back.
                HistoryPlace::Memory => std::thread::sleep(Duration::from_millis(1)),
                #[cfg(feature = "postgres")]
                HistoryPlace::Postgres(address) => return Ok(Box::new(PostgresConnection::open(address)?)),
            }
        }
    }
}

impl Drop for History {
    fn drop(&mut self) {
        let idle = std::mem::take(self.idle.get_mut().unwrap_or_else(PoisonError::into_inner));
        // Connections to a server must not be closed on a thread that serves requests.
        let _ = std::thread::spawn(move || drop(idle)).join();
    }
}

fn translate(statements: &str, dialect: &Dialect) -> String {
    statements
        .replace("{serial}", dialect.serial)
        .replace("{bytes}", dialect.bytes)
        .replace("{text}", dialect.text)
        .replace("{by_key}", dialect.by_key)
}

/// Makes the tables that are not there, and makes those of the index again if their layout is another.
fn prepare(database: &mut dyn SqlConnection) -> Result<(), HistoryError> {
    let dialect = database.dialect();
    // Usually there is nothing to do, and no reader has to wait for a writer.
    let is_ready = |database: &mut dyn SqlConnection| -> Result<bool, HistoryError> {
        let mut tables = Vec::new();
        for mut row in database.query(dialect.tables, &[])? {
            tables.push(row.get::<String>(0)?);
        }
        if tables.is_empty() {
            return Ok(false);
        }
        // Tables with our names may be those of others: what is not ours is neither used nor dropped.
        if !tables.iter().any(|name| name == "layout") || !tables.iter().any(|name| name == "record") {
            return Err(HistoryError::Foreign);
        }
        match version(database, "records")? {
            Some(found) if found > RECORDS_LAYOUT => Err(HistoryError::Newer { found }),
            found => Ok(found.is_some() && version(database, "index")? == Some(INDEX_LAYOUT)),
        }
    };
    if is_ready(database)? {
        return Ok(());
    }
    database.change(|database| {
        if is_ready(database)? {
            return Ok(());
        }
        database.batch(&(translate(RECORDS, dialect) + dialect.guard))?;
        let set = |database: &mut dyn SqlConnection, name: &str, version: i64| {
            let put = "INSERT INTO layout (name, version) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET version = excluded.version";
            database.execute(put, values![name, version])
        };
        set(database, "records", RECORDS_LAYOUT)?;
        for table in INDEX_TABLES {
            database.batch(&format!("DROP TABLE IF EXISTS {table}"))?;
        }
        database.batch(&(translate(INDEX, dialect) + dialect.indices))?;
        set(database, "index", INDEX_LAYOUT)?;
        Ok(())
    })
}

fn version(database: &mut dyn SqlConnection, name: &str) -> Result<Option<i64>, HistoryError> {
    let found = database.first("SELECT version FROM layout WHERE name = ?", values![name])?;
    found.map(|mut row| row.get(0)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use calipers_testing::Scratch;

    #[test]
    fn records_are_neither_changed_nor_deleted() {
        let history = History::in_memory().expect("it opens");
        history
            .with(|database| {
                database.execute("INSERT INTO record (at, kind, run, body) VALUES ('', 'x', 'r', '{}')", &[])?;
                assert!(database.execute("UPDATE record SET body = '1'", &[]).is_err());
                assert!(database.execute("DELETE FROM record", &[]).is_err());
                Ok(())
            })
            .expect("it is used");
    }

    #[test]
    fn another_layout_of_the_index_is_made_again_and_records_stay() {
        let folder = Scratch::new();
        let file = folder.join("h.db");
        let history = History::open(&file).expect("it opens");
        history
            .with(|database| {
                database.execute("INSERT INTO record (at, kind, run, body) VALUES ('', 'x', 'r', '{}')", &[])?;
                database.execute("INSERT INTO source (path, size, modified) VALUES ('a', 1, 1)", &[])?;
                database.execute("UPDATE layout SET version = 0 WHERE name = 'index'", &[])?;
                Ok(())
            })
            .expect("it is used");
        drop(history);
        let count = |table: &str| {
            let history = History::open(&file).expect("it opens again");
            history.with(|database| database.number(&format!("SELECT count(*) FROM {table}"), &[])).expect("it counts")
        };
        assert_eq!((count("record"), count("source")), (1, 0));
        let history = History::open(&file).expect("it opens");
        history
            .with(|database| database.execute("UPDATE layout SET version = 99 WHERE name = 'records'", &[]))
            .expect("set");
        drop(history);
        assert!(matches!(History::open(&file), Err(HistoryError::Newer { found: 99 })));
    }

    #[test]
    fn a_database_of_another_program_is_left_alone() {
        let folder = Scratch::new();
        let file = folder.join("theirs.db");
        let mut theirs = SqliteConnection::open(&file).expect("it opens");
        theirs.batch("CREATE TABLE run (thesis TEXT); INSERT INTO run VALUES ('all of it')").expect("theirs");
        assert!(matches!(History::open(&file), Err(HistoryError::Foreign)));
        let database: &mut dyn SqlConnection = &mut theirs;
        assert_eq!(database.number("SELECT count(*) FROM run", &[]).expect("it is there"), 1);
    }
}
