//! Metrics and reducers that are named by expressions, on the command line or in a policy.

use crate::failure::Failure;
use crate::flags::ScriptFlags;
use crate::script_child;
use calipers::data::Labels;
use calipers::plan::MetricSpec;
use calipers::script::{Library, ScriptError, ScriptLimits};
use calipers::{Error, Metric, Reducer, Registry};
use std::cell::OnceCell;
use std::time::Duration;

/// The metrics and reducers that expressions and loaded files stand for. The library of names is made only if one is asked
/// for: that takes time.
pub(crate) struct Expressions<'a> {
    scripts: &'a ScriptFlags,
    labels: Labels,
    library: OnceCell<Result<Library, ScriptError>>,
}

impl<'a> Expressions<'a> {
    /// With the names of the files that are loaded. One that is wrong is wrong whether it is used or not.
    pub(crate) fn load(scripts: &'a ScriptFlags, labels: Labels) -> Result<Self, Failure> {
        let expressions = Self { scripts, labels, library: OnceCell::new() };
        if !scripts.load.is_empty() {
            expressions.library()?;
        }
        Ok(expressions)
    }

    fn library(&self) -> Result<&Library, Error> {
        let made = self.library.get_or_init(|| library(self.scripts, self.labels.clone()));
        made.as_ref().map_err(|error| error.clone().into())
    }

    /// The metrics of expressions, if there are any.
    pub(crate) fn metric_specs(&self, expressions: &[String]) -> Result<Option<Vec<MetricSpec>>, Failure> {
        if expressions.is_empty() {
            return Ok(None);
        }
        let library = self.library()?;
        let _limit = script_child::limit_memory();
        let mut metrics = Vec::new();
        for expression in expressions {
            metrics.extend(library.metrics(expression)?);
        }
        Ok(Some(metrics))
    }

    /// The same where each is one metric.
    pub(crate) fn metrics(&self, expressions: &[String]) -> Result<Option<Vec<Metric>>, Failure> {
        let _limit = script_child::limit_memory();
        let metrics = expressions.iter().map(|text| self.metric(text)).collect::<Result<Vec<Metric>, _>>()?;
        Ok(if metrics.is_empty() { None } else { Some(metrics) })
    }

    /// The one metric of an expression.
    pub(crate) fn metric(&self, text: &str) -> Result<Metric, Error> {
        match &self.library()?.metrics(text)?[..] {
            [MetricSpec::One(metric)] => Ok(metric.clone()),
            _ => Err(Error::custom(format!("`{text}` is not one metric"))),
        }
    }

    /// The reducer of a name.
    pub(crate) fn reducer(&self, name: &str) -> Result<Reducer, Error> {
        if self.scripts.load.is_empty() { Reducer::parse(name) } else { Ok(self.library()?.reducer(name)?) }
    }
}

/// The names that expressions may use, with those of the loaded files.
fn library(scripts: &ScriptFlags, labels: Labels) -> Result<Library, ScriptError> {
    let seconds = scripts.script_time;
    let limits = ScriptLimits { time: Duration::from_secs(seconds), ..ScriptLimits::default() };
    let mut library = Library::new(Registry::builtin(), labels, limits);
    script_child::watch(library.watch(), seconds);
    let _limit = script_child::limit_memory();
    for file in &scripts.load {
        library.load_file(file)?;
    }
    Ok(library)
}
