//! A history in a file: SQLite.

use crate::HistoryError;
use crate::sql::{Dialect, SqlConnection, SqlRow, SqlValue};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, OpenFlags, Statement, ToSql};
use std::path::Path;
use std::time::Duration;

/// How long one connection waits for another that writes.
const PATIENCE: Duration = Duration::from_secs(20);

const SQLITE: Dialect = Dialect {
    serial: "INTEGER PRIMARY KEY AUTOINCREMENT",
    bytes: "BLOB",
    text: "TEXT",
    by_key: "WITHOUT ROWID",
    guard: "
CREATE TRIGGER IF NOT EXISTS record_stays BEFORE UPDATE ON record BEGIN SELECT RAISE(ABORT, 'records are not changed'); END;
CREATE TRIGGER IF NOT EXISTS record_remains BEFORE DELETE ON record BEGIN SELECT RAISE(ABORT, 'records are not deleted'); END;",
    indices: "
CREATE INDEX run_by_suite ON run (suite, at DESC, id DESC);
CREATE INDEX run_by_model ON run (model, at DESC, id DESC);
CREATE INDEX run_by_branch ON run (branch);
CREATE INDEX run_by_version ON run (version);
CREATE INDEX tag_by_value ON tag (name, value);",
    tables: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'",
};

impl From<rusqlite::Error> for HistoryError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error.to_string())
    }
}

impl ToSql for SqlValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => return Ok(ToSqlOutput::Owned(Value::Null)),
            Self::Integer(value) => ValueRef::Integer(*value),
            Self::Real(value) => ValueRef::Real(*value),
            Self::Text(value) => ValueRef::Text(value.as_bytes()),
            Self::Bytes(value) => ValueRef::Blob(value),
        }))
    }
}

/// A connection to a file, or to memory.
#[derive(Debug)]
pub(crate) struct SqliteConnection(Connection);

impl SqliteConnection {
    pub(crate) fn open(file: &Path) -> Result<Self, HistoryError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Self::settle(Connection::open_with_flags(file, flags)?)
    }

    pub(crate) fn in_memory() -> Result<Self, HistoryError> {
        Self::settle(Connection::open_in_memory()?)
    }

    fn settle(database: Connection) -> Result<Self, HistoryError> {
        database.busy_timeout(PATIENCE)?;
        let others =
            "SELECT count(*) > 0 AND coalesce(sum(name = 'record'), 0) = 0 FROM sqlite_master WHERE type = 'table'";
        if database.query_row(others, [], |row| row.get(0))? {
            // Not even its settings are changed.
            return Err(HistoryError::Foreign);
        }
        database.pragma_update(None, "journal_mode", "WAL")?;
        // A commit survives the end of the process; see `set_durable` for the end of the machine.
        database.pragma_update(None, "synchronous", "NORMAL")?;
        database.pragma_update(None, "foreign_keys", true)?;
        database.set_prepared_statement_cache_capacity(64);
        Ok(Self(database))
    }
}

impl SqlConnection for SqliteConnection {
    fn query(&mut self, question: &str, values: &[SqlValue]) -> Result<Vec<SqlRow>, HistoryError> {
        let mut statement = self.0.prepare_cached(question)?;
        bind(&mut statement, values)?;
        let columns = statement.column_count();
        let mut rows = statement.raw_query();
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let values = (0..columns).map(|place| Ok(from_sqlite(row.get_ref(place)?)));
            found.push(SqlRow(values.collect::<Result<_, rusqlite::Error>>()?));
        }
        Ok(found)
    }

    fn execute(&mut self, question: &str, values: &[SqlValue]) -> Result<u64, HistoryError> {
        let mut statement = self.0.prepare_cached(question)?;
        bind(&mut statement, values)?;
        Ok(statement.raw_execute()? as u64)
    }

    fn batch(&mut self, statements: &str) -> Result<(), HistoryError> {
        Ok(self.0.execute_batch(statements)?)
    }

    fn begin(&mut self) -> Result<(), HistoryError> {
        self.batch("BEGIN IMMEDIATE")
    }

    fn set_durable(&mut self, is_durable: bool) -> Result<(), HistoryError> {
        Ok(self.0.pragma_update(None, "synchronous", if is_durable { "FULL" } else { "NORMAL" })?)
    }

    fn is_alive(&self) -> bool {
        // A connection within a change that could be neither kept nor undone is of no use.
        self.0.is_autocommit()
    }

    fn dialect(&self) -> &'static Dialect {
        &SQLITE
    }
}

fn bind(statement: &mut Statement<'_>, values: &[SqlValue]) -> Result<(), rusqlite::Error> {
    values.iter().enumerate().try_for_each(|(place, value)| statement.raw_bind_parameter(place + 1, value))
}

fn from_sqlite(value: ValueRef<'_>) -> SqlValue {
    match value {
        ValueRef::Null => SqlValue::Null,
        ValueRef::Integer(value) => SqlValue::Integer(value),
        ValueRef::Real(value) => SqlValue::Real(value),
        ValueRef::Text(value) => SqlValue::Text(String::from_utf8_lossy(value).into_owned()),
        ValueRef::Blob(value) => SqlValue::Bytes(value.to_vec()),
    }
}
