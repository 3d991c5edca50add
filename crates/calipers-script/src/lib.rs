//! Metric expressions in Starlark: `grouped(accuracy(), "category", all="groups")`, metrics and reducers of your own from a
//! file, and files whose functions are tasks.
//!
//! A script is data from outside. It has [`ScriptLimits`] of steps, of call depth, of memory and of time, and one that goes
//! wrong is a [`ScriptError`] that underlines the place. One thing cannot be caught from within a process: a single
//! operation that asks for more memory than there is ends it. A program that runs scripts it does not trust runs them
//! in a child process with a limit on its memory, as the command line does.

mod attempt_objects;
mod builtin;
mod catalog_functions;
mod dataset_objects;
mod error;
mod library;
mod limits;
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
