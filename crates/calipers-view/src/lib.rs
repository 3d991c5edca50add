//! The history of all runs: an index in SQLite or Postgres that can be made again from the files at any time, records that cannot (what people
//! said about runs, and verdicts that were given), and a local server with pages over both.
//!
//! - [`History`]: opens the database; adds files, lists runs, records, exports.
//! - [`Server`]: the pages and the API, on the loopback interface unless a token protects it.
//!
//! Figures are those of the facade: nothing here computes one. Files stay the truth; the index remembers what was computed from
//! them, and is keyed by what they contain.

mod access;
mod catalog;
mod database;
mod demo;
mod error;
mod indexer;
mod loaded;
#[cfg(feature = "postgres")]
mod postgres;
mod reading_choices;
mod records;
mod sample_blob;
mod series;
mod serve;
mod sql;
mod sqlite;

pub use access::{AccessToken, Role};
pub use database::{DEFAULT_FILE, History};
pub use demo::{DEMO_POLICY, write_demo};
pub use error::HistoryError;
pub use indexer::{IndexReport, index_files};
pub use loaded::score_again;
pub use reading_choices::ReadingChoices;
pub use records::{RunDescription, VerdictRecord};
pub use serve::{Server, ServerOptions};
