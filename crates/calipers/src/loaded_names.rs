//! Metrics and reducers that the user has loaded, by the names under which logs record them.

use calipers_core::{Error, Metric, Reducer, Value};
use std::fmt;
use std::sync::Arc;

type FindMetric = dyn Fn(&str, &Value) -> Option<Result<Metric, Error>> + Send + Sync;
type FindReducer = dyn Fn(&str) -> Result<Reducer, Error> + Send + Sync;

/// What the names in a log stand for beside ours: a log records the metrics and reducers of its own code by name, and
/// where the same code is loaded, it is used again.
///
/// ```
/// use calipers::LoadedNames;
///
/// let none = LoadedNames::default();
/// assert!(none.is_empty() && none.metric("pass_rate", &calipers::data::Value::Null).is_none());
/// assert_eq!(none.reducer("mode")?.name(), "mode");
/// # Ok::<(), calipers::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct LoadedNames {
    found: Option<(Arc<FindMetric>, Arc<FindReducer>)>,
}

impl LoadedNames {
    /// Names that are looked up: metrics with their parameters, none if there is no such function, and reducers, ours included.
    pub fn new(
        metric: impl Fn(&str, &Value) -> Option<Result<Metric, Error>> + Send + Sync + 'static,
        reducer: impl Fn(&str) -> Result<Reducer, Error> + Send + Sync + 'static,
    ) -> Self {
        Self { found: Some((Arc::new(metric), Arc::new(reducer))) }
    }

    /// True when nothing is loaded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_none()
    }

    /// The metric of a loaded file with these parameters.
    #[must_use]
    pub fn metric(&self, name: &str, params: &Value) -> Option<Result<Metric, Error>> {
        self.found.as_ref().and_then(|(metric, _)| metric(name, params))
    }

    /// The reducer of a name: ours, or that of a loaded file.
    pub fn reducer(&self, name: &str) -> Result<Reducer, Error> {
        self.found.as_ref().map_or_else(|| Reducer::parse(name), |(_, reducer)| reducer(name))
    }
}

impl fmt::Debug for LoadedNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedNames").field("is_empty", &self.is_empty()).finish()
    }
}
