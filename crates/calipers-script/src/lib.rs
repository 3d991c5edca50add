//! Metric expressions in Starlark: `grouped(accuracy(), "category", all="groups")`, and metrics and reducers of your own
//! from a file.
//!
//! A script is data from outside: it has a limit of steps, of call depth, of memory and of time, and a script that goes
//! wrong is an error with the place underlined.

mod functions;
mod library;
mod objects;

pub use library::{Library, ScriptError};
