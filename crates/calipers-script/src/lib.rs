//! Metric expressions in Starlark: `grouped(accuracy(), "category", all="groups")`, custom metrics and reducers from
//! files, and task files.
//!
//! Scripts are untrusted. They have [`ScriptLimits`] on steps, call depth, memory and time, and a mistake is a
//! [`ScriptError`] that underlines the place. One thing cannot be caught within a process: a single operation that asks
//! for more memory than is available ends it. Run untrusted scripts in a child process with a memory limit, as the
//! command line does.

mod attempt_objects;
mod builtin;
mod callable;
mod catalog_functions;
mod dataset_objects;
mod error;
mod library;
mod limits;
mod makers;
mod mathematics;
mod named_arguments;
mod score_objects;
mod script_call;
mod task_file;
mod task_object;

pub use catalog_functions::Vocabulary;
pub use error::ScriptError;
pub use library::Library;
pub use limits::{ScriptLimits, ScriptWatchdog};
pub use script_call::is_about_memory;
pub use task_file::{TaskFile, literal};
