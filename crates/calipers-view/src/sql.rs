//! What both databases understand: values, rows, and connections that take the same questions. A question marks its values by `?`,
//! and is written in the part of SQL that SQLite and Postgres share; what differs is in [`Dialect`].

use crate::HistoryError;

/// A value of a row or of a question.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SqlValue {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

impl From<i64> for SqlValue {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<u64> for SqlValue {
    fn from(value: u64) -> Self {
        Self::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<usize> for SqlValue {
    fn from(value: usize) -> Self {
        Self::from(value as u64)
    }
}

impl From<bool> for SqlValue {
    fn from(value: bool) -> Self {
        Self::Integer(i64::from(value))
    }
}

impl From<f64> for SqlValue {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<&str> for SqlValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<&String> for SqlValue {
    fn from(value: &String) -> Self {
        Self::Text(value.clone())
    }
}

impl From<String> for SqlValue {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<Vec<u8>> for SqlValue {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value)
    }
}

impl<T: Into<Self>> From<Option<T>> for SqlValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Clone + Into<Self>> From<&Option<T>> for SqlValue {
    fn from(value: &Option<T>) -> Self {
        value.clone().into()
    }
}

/// Values of a question, in the order of their marks.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::sql::SqlValue::from($value)),*] };
}
pub(crate) use values;

/// A row of an answer. Each value is taken once.
#[derive(Debug)]
pub(crate) struct SqlRow(pub(crate) Vec<SqlValue>);

impl SqlRow {
    /// Takes the value at this place.
    pub(crate) fn get<T: TryFrom<SqlValue, Error = WrongType>>(&mut self, place: usize) -> Result<T, HistoryError> {
        let value = self.0.get_mut(place).map_or(SqlValue::Null, |value| std::mem::replace(value, SqlValue::Null));
        T::try_from(value).map_err(|_| HistoryError::Database(format!("column {place} has an unexpected type")))
    }

    /// Takes a number of things.
    pub(crate) fn count(&mut self, place: usize) -> Result<u64, HistoryError> {
        Ok(self.get::<i64>(place)?.max(0) as u64)
    }

    /// Takes a value that may be none.
    pub(crate) fn optional<T: TryFrom<SqlValue, Error = WrongType>>(
        &mut self,
        place: usize,
    ) -> Result<Option<T>, HistoryError> {
        if matches!(self.0.get(place), None | Some(SqlValue::Null)) { Ok(None) } else { self.get(place).map(Some) }
    }
}

/// A value is of another type than expected.
#[derive(Debug)]
pub(crate) struct WrongType;

impl TryFrom<SqlValue> for i64 {
    type Error = WrongType;

    fn try_from(value: SqlValue) -> Result<Self, WrongType> {
        if let SqlValue::Integer(value) = value { Ok(value) } else { Err(WrongType) }
    }
}

impl TryFrom<SqlValue> for bool {
    type Error = WrongType;

    fn try_from(value: SqlValue) -> Result<Self, WrongType> {
        i64::try_from(value).map(|value| value != 0)
    }
}

impl TryFrom<SqlValue> for f64 {
    type Error = WrongType;

    fn try_from(value: SqlValue) -> Result<Self, WrongType> {
        match value {
            SqlValue::Real(value) => Ok(value),
            SqlValue::Integer(value) => Ok(value as Self),
            _ => Err(WrongType),
        }
    }
}

impl TryFrom<SqlValue> for String {
    type Error = WrongType;

    fn try_from(value: SqlValue) -> Result<Self, WrongType> {
        if let SqlValue::Text(value) = value { Ok(value) } else { Err(WrongType) }
    }
}

impl TryFrom<SqlValue> for Vec<u8> {
    type Error = WrongType;

    fn try_from(value: SqlValue) -> Result<Self, WrongType> {
        match value {
            SqlValue::Bytes(value) => Ok(value),
            SqlValue::Null => Ok(Self::new()),
            _ => Err(WrongType),
        }
    }
}

/// How one database writes what the other writes otherwise.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// A number that is given to each new row, and to no other row ever again.
    pub(crate) serial: &'static str,
    /// Bytes.
    pub(crate) bytes: &'static str,
    /// Texts, which are compared by their bytes.
    pub(crate) text: &'static str,
    /// After a table that is kept in the order of its key.
    pub(crate) by_key: &'static str,
    /// That records are neither changed nor deleted.
    pub(crate) guard: &'static str,
    /// Indices that only one of them needs.
    pub(crate) indices: &'static str,
    /// The tables that exist, no matter which program made them.
    pub(crate) tables: &'static str,
}

/// A connection to a database.
pub(crate) trait SqlConnection: Send + std::fmt::Debug {
    /// The rows of an answer.
    fn query(&mut self, question: &str, values: &[SqlValue]) -> Result<Vec<SqlRow>, HistoryError>;

    /// Changes something; how many rows were changed.
    fn execute(&mut self, question: &str, values: &[SqlValue]) -> Result<u64, HistoryError>;

    /// Several statements without values.
    fn batch(&mut self, statements: &str) -> Result<(), HistoryError>;

    /// Begins a change. Of several connections, one changes something at a time.
    fn begin(&mut self) -> Result<(), HistoryError>;

    /// Whether a commit is on the disk when it returns, or a little later.
    fn set_durable(&mut self, is_durable: bool) -> Result<(), HistoryError>;

    /// False once the connection is lost.
    fn is_alive(&self) -> bool;

    fn dialect(&self) -> &'static Dialect;
}

impl dyn SqlConnection + '_ {
    /// The first row of an answer, if there is one.
    pub(crate) fn first(&mut self, question: &str, values: &[SqlValue]) -> Result<Option<SqlRow>, HistoryError> {
        Ok(self.query(question, values)?.into_iter().next())
    }

    /// The number that is the answer.
    pub(crate) fn number(&mut self, question: &str, values: &[SqlValue]) -> Result<i64, HistoryError> {
        self.first(question, values)?.map_or(Ok(0), |mut row| row.get(0))
    }

    /// Changes something as a whole, or not at all.
    pub(crate) fn change<T>(
        &mut self,
        work: impl FnOnce(&mut dyn SqlConnection) -> Result<T, HistoryError>,
    ) -> Result<T, HistoryError> {
        self.begin()?;
        match work(self) {
            Ok(done) => self.batch("COMMIT").map(|()| done),
            Err(error) => {
                // What is wrong was said; a connection that cannot even undo is not used again.
                let _ = self.batch("ROLLBACK");
                Err(error)
            }
        }
    }
}
