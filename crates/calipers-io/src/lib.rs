//! Files: reads and writes the results of every evaluation harness, reads datasets, and writes the log of a running
//! evaluation.
//!
//! A [`Source`] is a file, a folder's files or standard input. A [`Format`] recognises content by its [`Shape`], not by
//! the name of the file, and reads it into a [`RecordedRun`]. Formats are values in a list, one file each.
//!
//! Readers distinguish four states: scored (whatever the score), failed according to the harness, errored (the attempt
//! did not run), and unscored (it ran and could not be judged). Nothing is dropped silently: whatever could not be read
//! is an error, or a note with the run.

// Parts of the readers of tables serve Parquet alone.
#![cfg_attr(not(feature = "parquet"), allow(dead_code, unused_imports))]

mod catch_panic;
mod columns;
mod dataset;
mod error;
mod folder_cache;
mod formats;
mod json;
mod log;
mod parts;
mod policy;
mod private_file;
mod source;
mod write;

pub use calipers_store::redact;
pub use catch_panic::panic_is_caught;
pub use columns::{ColumnPath, Columns, ColumnsError, PathFault};
pub use dataset::load_dataset;
pub use error::{FilePlace, ReadError, Remedy, printable};
pub use folder_cache::FolderCache;
pub use formats::{
    AttemptDetail, AttemptTexts, CONTENT, Format, InspectLog, Projection, RecordedFigure, RecordedMetric,
    RecordedResults, RecordedRun, RecordedScorer, ShardSink, StreamedTable, choose, explain_unmeasured, formats, read,
    read_as, read_attempt_detail, read_shards, read_texts, sample_place,
};
pub use log::{
    EarlyStop, EarlyStopping, Ending, EvalLog, HeaderDifference, LogDataset, LogHeader, LogLimits, LogScorer,
    LogStatus, LogStep, LoggedAttempt, LoggedAttempts, ResumedLog, log_id, log_name, read_attempts, timestamp,
};
pub use parts::{
    Part, PartHeader, PartInput, PartKind, PartPlace, SampleEvidence, SharedSamples, digest_of, find_shared,
};
pub use policy::{
    BaselineDocument, LoadedPolicy, LookRecord, LooksLock, PolicyError, baseline_json, baseline_text, edit_policy,
    fingerprint, is_outside, load_policy, parse_policy, read_baseline, read_document, read_looks, read_suite,
};
#[cfg(feature = "parquet")]
pub use source::duration_column;
pub use source::{JsonShape, Root, Shape, Source, SourceSearch, SourceVersion, is_address};
pub use write::{Contents, OutputFile, WriteError, Writer, writer, writers};
