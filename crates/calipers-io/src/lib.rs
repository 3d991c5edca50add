//! The world at rest: the results of every evaluation harness, in and out; the samples of an evaluation to be made, and
//! the log of one in motion.
//!
//! A [`Source`] is a file, a folder's files or standard input. A [`Format`] recognises content by its [`Shape`], not by
//! the name of the file, and reads it into a [`Run`]. Formats are values in a list, one file each.
//!
//! Readers keep four states apart: scored (whatever the score), failed as the harness saw it, errored (the attempt did
//! not run), and unscored (it ran and could not be judged). Nothing is dropped in silence: what could not be read is an
//! error, or a note with the run.

mod baseline;
mod catch_panic;
mod dataset;
mod document;
mod edit;
mod error;
mod folder_cache;
mod formats;
mod json;
mod log;
mod policy;
mod run;
mod shape;
mod source;
mod suite;
mod texts;
mod wanted;
mod write;

pub use baseline::{BASELINE_SCHEMA, baseline_json, baseline_text, read_baseline};
pub use catch_panic::panic_is_caught;
pub use dataset::load_dataset;
pub use document::read_document;
pub use edit::edited_policy;
pub use error::{Place, ReadError, printable};
pub use folder_cache::FolderCache;
pub use formats::{Format, InspectLog, Sink, choose, formats, read, read_as, read_shards, sample_place};
pub use log::{
    EarlyStop, EarlyStopping, Ending, EvalLog, LogDataset, LogHeader, LogLimits, LogScorer, LogStatus, LogStep,
    LoggedAttempt, LoggedAttempts, Resumed, log_id, log_name, read_attempts, timestamp,
};
pub use policy::{LoadedPolicy, PolicyError, load_policy};
pub use run::{Recorded, RecordedFigure, RecordedMetric, RecordedScorer, Run};
pub use shape::{JsonShape, Root, Shape};
pub use source::Source;
pub use suite::read_suite;
pub use texts::{Texts, read_texts};
pub use wanted::Wanted;
pub use write::{Contents, Output, WriteError, Writer, writer, writers};
