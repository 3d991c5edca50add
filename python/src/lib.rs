//! Calipers for Python: the part in Rust. The package `calipers` around it, in `../calipers`, has the names that people use.
//!
//! Every question goes to the facade crate, as on the command line. Data in memory becomes a [`Source`](calipers::io::Source), so
//! that a data frame and a file with the same columns give the same answer.

mod attempt_state;
mod calls;
mod choices;
mod data;
mod evaluation;
mod event_loop;
mod failure;
mod human_labels;
mod lone_scorer;
mod metrics;
mod parts;
mod python_code;
mod questions;
mod records;
mod reports;
mod score_objects;
mod scorer_metrics;
mod value_metrics;
mod values;

use pyo3::prelude::*;

/// The part of Calipers that is written in Rust.
#[pymodule]
mod _core {
    use super::*;

    #[cfg(feature = "shared")]
    #[pymodule_export]
    use calls::panic_on_purpose;
    #[pymodule_export]
    use data::Source;
    #[pymodule_export]
    use evaluation::{run_command, run_task};
    #[pymodule_export]
    use event_loop::{AttemptLink, Calls};
    #[pymodule_export]
    use lone_scorer::LoneScorer;
    #[pymodule_export]
    use parts::{
        buckets, fold_rows, fold_states, merge_rows, merge_states, needs_of_compare, needs_of_gate, needs_of_score,
    };
    #[pymodule_export]
    use questions::{compare, convert, gate, judge, page, plan, score};
    #[pymodule_export]
    use records::{Records, read};
    #[pymodule_export]
    use reports::Report;
    #[pymodule_export]
    use score_objects::{SampleScore, Score};
    #[pymodule_export]
    use scorer_metrics::{measure, metric_documentation, reduce, to_float};
    #[pymodule_export]
    use value_metrics::measure_values;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        calls::remember_process();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
