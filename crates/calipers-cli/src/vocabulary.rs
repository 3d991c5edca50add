//! What expressions may name: metrics, reducers and functions, built in and from files, in Starlark.

use crate::flags::ScriptFlags;
use crate::{script_child, script_watch};
use calipers::data::{Labels, Value};
use calipers::plan::MetricSpec;
use calipers::script::{Library, ScriptLimits};
use calipers::{Error, Metric, Reducer, Registry};
use std::time::Duration;

/// The names that expressions may use, with those of the loaded files.
pub(crate) struct Vocabulary(Library);

impl Vocabulary {
    /// Runs the files that are loaded.
    pub(crate) fn load(scripts: &ScriptFlags, labels: Labels) -> Result<Self, Error> {
        let seconds = scripts.script_time;
        let limits = ScriptLimits { time: Duration::from_secs(seconds), ..ScriptLimits::default() };
        let mut library = Library::new(Registry::builtin(), labels, limits);
        script_watch::watch(library.watch(), seconds);
        let _limit = script_child::limit_memory();
        for file in &scripts.load {
            library.load_file(file)?;
        }
        Ok(Self(library))
    }

    /// The metrics of an expression: one, a list of them, or a map of keys to lists.
    pub(crate) fn metrics(&self, expression: &str) -> Result<Vec<MetricSpec>, Error> {
        Ok(self.0.metrics(expression)?)
    }

    /// The metric of a name and parameters, if a loaded file defines it.
    pub(crate) fn own_metric(&self, name: &str, params: &Value) -> Option<Result<Metric, Error>> {
        Some(self.0.own_metric(name, params)?.map_err(Into::into))
    }

    /// The reducer of a name, built in or from a loaded file.
    pub(crate) fn reducer(&self, name: &str) -> Result<Reducer, Error> {
        Ok(self.0.reducer(name)?)
    }
}
