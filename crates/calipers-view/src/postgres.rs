//! A history for a team: Postgres. Several servers may use one database.

use crate::HistoryError;
use crate::sql::{Dialect, SqlConnection, SqlRow, SqlValue};
use postgres::config::{Host, SslMode};
use postgres::types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked};
use postgres::{Client, Config, NoTls, Row, Statement};
use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;
use tokio_postgres_rustls::MakeRustlsConnect;

/// How long a server may take to answer at all.
const PATIENCE: Duration = Duration::from_secs(10);
/// A connection that changes something holds this lock, so that one change comes after another as in SQLite. The letters of `calipers`.
const LOCK: i64 = 0x6361_6c69_7065_7273;
/// As many questions are kept prepared on a connection.
const PREPARED_MAX: usize = 128;

const POSTGRES: Dialect = Dialect {
    serial: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    bytes: "BYTEA",
    // Texts are compared by their bytes, whatever the language of the database.
    text: "TEXT COLLATE \"C\"",
    by_key: "",
    guard: "
CREATE OR REPLACE FUNCTION record_stays() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'records are neither changed nor deleted'; END $$;
CREATE OR REPLACE TRIGGER record_stays BEFORE UPDATE OR DELETE ON record FOR EACH ROW EXECUTE FUNCTION record_stays();
CREATE OR REPLACE TRIGGER record_remains BEFORE TRUNCATE ON record EXECUTE FUNCTION record_stays();",
    // An index over texts would refuse long ones; a history has far fewer runs than would need it.
    indices: "",
    tables: "SELECT table_name::text FROM information_schema.tables WHERE table_schema = current_schema()",
};

/// True for the address of a Postgres database.
pub(crate) fn is_postgres(name: &str) -> bool {
    name.starts_with("postgres://") || name.starts_with("postgresql://")
}

impl From<postgres::Error> for HistoryError {
    fn from(error: postgres::Error) -> Self {
        let inner = || error.source().map(|inner| format!("{error}: {inner}"));
        let said = error.as_db_error().map(|said| said.message().to_owned());
        Self::Database(said.or_else(inner).unwrap_or_else(|| error.to_string()))
    }
}

/// A connection to a server.
pub(crate) struct PostgresConnection {
    client: Client,
    prepared: HashMap<String, Statement>,
}

impl std::fmt::Debug for PostgresConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresConnection").finish_non_exhaustive()
    }
}

impl PostgresConnection {
    /// Connects to the database at an address. What it says may be secret, and is in no message.
    pub(crate) fn open(address: &str) -> Result<Self, HistoryError> {
        let mut config: Config = address
            .parse()
            .map_err(|_| HistoryError::Database("the address of the database is not understood".to_owned()))?;
        if config.get_password().is_none()
            && let Ok(password) = std::env::var("PGPASSWORD")
        {
            config.password(password);
        }
        config.application_name("calipers");
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(PATIENCE);
        }
        if config.get_ssl_mode() == SslMode::Prefer {
            // Traffic within this machine needs no encryption, and local servers have self-signed certificates. A server
            // elsewhere must not decide that there is none.
            config.ssl_mode(if is_local(&config) { SslMode::Disable } else { SslMode::Require });
        }
        let client =
            if config.get_ssl_mode() == SslMode::Disable { config.connect(NoTls)? } else { config.connect(tls()?)? };
        let mut connection = Self { client, prepared: HashMap::new() };
        connection.settle()?;
        Ok(connection)
    }

    fn settle(&mut self) -> Result<(), HistoryError> {
        // Our tables stand in a schema of their own, so that those of others are safe from us. Two servers may start at once.
        self.begin()?;
        self.batch("CREATE SCHEMA IF NOT EXISTS calipers; COMMIT")?;
        self.batch("SET search_path TO calipers; SET synchronous_commit TO OFF; SET client_min_messages TO WARNING")
    }

    fn prepare(&mut self, question: &str) -> Result<Statement, HistoryError> {
        if let Some(known) = self.prepared.get(question) {
            return Ok(known.clone());
        }
        let statement = self.client.prepare(&number_marks(question))?;
        if self.prepared.len() >= PREPARED_MAX {
            self.prepared.clear();
        }
        self.prepared.insert(question.to_owned(), statement.clone());
        Ok(statement)
    }
}

/// True if the server can only be on this machine, whatever it is called.
fn is_local(config: &Config) -> bool {
    let is_local = |host: &Host| match host {
        Host::Tcp(name) => ["localhost", "127.0.0.1", "::1"].contains(&name.as_str()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    };
    config.get_hosts().iter().all(is_local) && config.get_hostaddrs().iter().all(std::net::IpAddr::is_loopback)
}

/// Encryption with the certificates that this system trusts.
fn tls() -> Result<MakeRustlsConnect, HistoryError> {
    // Others of this process may have chosen already, and chose the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let refuse =
        |_| HistoryError::Database("this system trusts no certificates, so no server can be trusted".to_owned());
    MakeRustlsConnect::with_native_certs().map(|(tls, _)| tls).map_err(refuse)
}

/// `?` becomes `$1`, `$2` and so on. No question has one within a text.
fn number_marks(question: &str) -> String {
    let mut numbered = String::with_capacity(question.len() + 16);
    let mut number = 0;
    for letter in question.chars() {
        if letter == '?' {
            number += 1;
            numbered += &format!("${number}");
        } else {
            numbered.push(letter);
        }
    }
    numbered
}

impl ToSql for SqlValue {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Integer(value) if *ty == Type::INT4 => i32::try_from(*value)?.to_sql(ty, out),
            Self::Integer(value) => value.to_sql(ty, out),
            Self::Real(value) => value.to_sql(ty, out),
            // Postgres has no texts with a zero byte.
            Self::Text(value) if value.contains('\0') => value.replace('\0', "\u{fffd}").to_sql(ty, out),
            Self::Text(value) => value.to_sql(ty, out),
            Self::Bytes(value) => value.to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl SqlConnection for PostgresConnection {
    fn query(&mut self, question: &str, values: &[SqlValue]) -> Result<Vec<SqlRow>, HistoryError> {
        let statement = self.prepare(question)?;
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        let rows = self.client.query(&statement, &values)?;
        rows.iter().map(from_postgres).collect()
    }

    fn execute(&mut self, question: &str, values: &[SqlValue]) -> Result<u64, HistoryError> {
        let statement = self.prepare(question)?;
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        Ok(self.client.execute(&statement, &values)?)
    }

    fn batch(&mut self, statements: &str) -> Result<(), HistoryError> {
        Ok(self.client.batch_execute(statements)?)
    }

    fn begin(&mut self) -> Result<(), HistoryError> {
        self.batch(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK})"))
    }

    fn set_durable(&mut self, is_durable: bool) -> Result<(), HistoryError> {
        self.batch(if is_durable { "SET synchronous_commit TO ON" } else { "SET synchronous_commit TO OFF" })
    }

    fn is_alive(&self) -> bool {
        !self.client.is_closed()
    }

    fn dialect(&self) -> &'static Dialect {
        &POSTGRES
    }
}

fn from_postgres(row: &Row) -> Result<SqlRow, HistoryError> {
    let value = |place: usize| -> Result<SqlValue, postgres::Error> {
        let ty = row.columns()[place].type_();
        Ok(match *ty {
            Type::INT8 => row.try_get::<_, Option<i64>>(place)?.into(),
            Type::INT4 => row.try_get::<_, Option<i32>>(place)?.map(i64::from).into(),
            Type::FLOAT8 => row.try_get::<_, Option<f64>>(place)?.into(),
            Type::BOOL => row.try_get::<_, Option<bool>>(place)?.into(),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(place)?.into(),
            _ => row.try_get::<_, Option<String>>(place)?.into(),
        })
    };
    Ok(SqlRow((0..row.len()).map(value).collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_numbered_in_their_order() {
        assert_eq!(number_marks("a = ? AND b < ? LIMIT ?"), "a = $1 AND b < $2 LIMIT $3");
    }

    #[test]
    fn an_address_that_is_not_understood_is_not_repeated() {
        let error = PostgresConnection::open("postgres://me:secret@[nowhere/db").expect_err("it is wrong");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
