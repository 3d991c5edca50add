//! Expressions and files of definitions, evaluated under limits.

use crate::functions::{mathematics, metrics};
use crate::objects::{MetricObject, SampleScoreObject, ScoreObject, score_in};
use calipers_core::{
    Error, Metric, MetricSpec, Reducer, SampleScore, Score, Value as CoreValue, by_key, metric, score_reducer,
};
use starlark::environment::{FrozenModule, Globals, GlobalsBuilder, LibraryExtension, Module};
use starlark::eval::Evaluator;
use starlark::syntax::{AstModule, Dialect};
use starlark::values::dict::DictRef;
use starlark::values::float::UnpackFloat;
use starlark::values::list::{AllocList, ListRef};
use starlark::values::{OwnedFrozenValue, UnpackValue, Value, ValueLike};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Steps: calls and rounds of loops.
const STEPS_MAX: u64 = 200_000_000;
const DEPTH_MAX: usize = 200;
const HEAP_MAX: usize = 1 << 30;
const TIME_MAX: Duration = Duration::from_secs(60);

/// What is wrong with a script, with the place underlined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError(String);

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ScriptError {}

impl From<starlark::Error> for ScriptError {
    fn from(error: starlark::Error) -> Self {
        Self(format!("{error:#}").trim_end().to_owned())
    }
}

/// The names that expressions may use: the built-in metrics, and those of files that were loaded.
///
/// ```
/// use calipers_core::{Context, Plan, Samples};
/// use calipers_script::Library;
///
/// let mut library = Library::builtin();
/// library.load("metrics.star", r#"
/// def pass_rate(threshold = 0.5):
///     """Proportion of samples scoring at or above `threshold`."""
///     def metric(scores):
///         passed = [s for s in scores if s.score.as_float() >= threshold]
///         return len(passed) / len(scores)
///     return metric
/// "#)?;
/// let metrics = library.metrics("pass_rate(0.5)")?;
///
/// let mut samples = Samples::new();
/// for (id, score) in [(1, 0.25), (2, 0.5), (3, 1.0)] {
///     samples.push(id).score("overlap", score);
/// }
/// let results = Plan::new().metrics(metrics).measure(&samples)?;
/// assert_eq!(results.figure("overlap", "pass_rate").expect("asked for").value, Ok(2.0 / 3.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Library {
    globals: Globals,
    modules: Vec<FrozenModule>,
}

fn dialect() -> Dialect {
    Dialect {
        enable_f_strings: true,
        enable_keyword_only_arguments: true,
        enable_top_level_stmt: true,
        ..Dialect::Standard
    }
}

fn limited(evaluator: &mut Evaluator<'_, '_, '_>) -> Result<(), ScriptError> {
    let own = |error: anyhow::Error| ScriptError(error.to_string());
    evaluator.set_max_tick_count(STEPS_MAX).map_err(own)?;
    evaluator.set_max_callstack_size(DEPTH_MAX).map_err(own)?;
    evaluator.set_max_heap_size(HEAP_MAX).map_err(own)?;
    let start = Instant::now();
    evaluator.set_check_cancelled(Box::new(move || start.elapsed() > TIME_MAX));
    Ok(())
}

impl Library {
    /// The built-in metrics, and what the language lacks.
    #[must_use]
    pub fn builtin() -> Self {
        let extensions = [LibraryExtension::StructType, LibraryExtension::Map, LibraryExtension::Filter];
        let globals = GlobalsBuilder::extended_by(&extensions).with(metrics).with(mathematics).build();
        Self { globals, modules: Vec::new() }
    }

    /// Reads definitions from a file's text. Later files may use what earlier ones define.
    pub fn load(&mut self, name: &str, source: &str) -> Result<(), ScriptError> {
        let frozen = self.evaluate(name, source)?;
        self.modules.push(frozen);
        Ok(())
    }

    fn evaluate(&self, name: &str, source: &str) -> Result<FrozenModule, ScriptError> {
        let ast = AstModule::parse(name, source.to_owned(), &dialect())?;
        Module::with_temp_heap(|module| {
            for loaded in &self.modules {
                module.import_public_symbols(loaded);
            }
            {
                let mut evaluator = Evaluator::new(&module);
                limited(&mut evaluator)?;
                evaluator.eval_module(ast, &self.globals)?;
            }
            module.freeze().map_err(|error| ScriptError(format!("{error:?}")))
        })
    }

    /// The metrics that an expression stands for: one, a list of them, or a map of keys to lists.
    pub fn metrics(&self, expression: &str) -> Result<Vec<MetricSpec>, ScriptError> {
        let value = self.value(expression)?;
        self.specs(&value, expression)
    }

    /// The reducer that a name or an expression stands for.
    pub fn reducer(&self, expression: &str) -> Result<Reducer, ScriptError> {
        let unknown = match Reducer::parse(expression) {
            Ok(reducer) => return Ok(reducer),
            Err(unknown) => unknown,
        };
        if !self.defines(name_of(expression)) {
            return Err(ScriptError(unknown.to_string()));
        }
        let call = if expression.contains('(') { expression.to_owned() } else { format!("{expression}()") };
        let function = self.value(&call)?;
        let name = name_of(expression).to_owned();
        Ok(score_reducer(name, move |scores| reduce(&function, scores)))
    }

    fn defines(&self, name: &str) -> bool {
        self.modules.iter().any(|module| matches!(module.get_option(name), Ok(Some(_))))
    }

    fn value(&self, expression: &str) -> Result<OwnedFrozenValue, ScriptError> {
        // The expression stands on a line of its own, so that messages show it as it was written.
        let module = self.evaluate("expression", &format!("RESULT = (\n{expression}\n)"))?;
        module.get("RESULT").map_err(|error| ScriptError(error.to_string()))
    }

    fn specs(&self, owned: &OwnedFrozenValue, expression: &str) -> Result<Vec<MetricSpec>, ScriptError> {
        Module::with_temp_heap(|module| {
            let value = module.heap().access_owned_frozen_value(owned);
            if let Some(list) = ListRef::from_value(value) {
                return list.iter().map(|item| self.spec(item, owned, expression)).collect();
            }
            Ok(vec![self.spec(value, owned, expression)?])
        })
    }

    fn spec(&self, value: Value<'_>, owned: &OwnedFrozenValue, expression: &str) -> Result<MetricSpec, ScriptError> {
        if let Some(metric) = value.downcast_ref::<MetricObject>() {
            return Ok(metric.0.clone().into());
        }
        if let Some(dict) = DictRef::from_value(value) {
            let mut keys = Vec::new();
            for (key, metrics) in dict.iter() {
                let (Some(key), Some(list)) = (key.unpack_str(), ListRef::from_value(metrics)) else {
                    return Err(ScriptError("a map of metrics has text keys and lists of metrics".into()));
                };
                let own = |item: Value<'_>| item.downcast_ref::<MetricObject>().map(|metric| metric.0.clone());
                let list: Option<Vec<Metric>> = list.iter().map(own).collect();
                let list = list.ok_or_else(|| ScriptError(format!("`{key}` lists something that is no metric")))?;
                keys.push((key.to_owned(), list));
            }
            return Ok(by_key(keys));
        }
        if value.get_type() == "function" {
            let function = owned.clone();
            let name: Arc<str> = name_of(expression).into();
            return Ok(metric(name, move |scores: &[SampleScore]| measure(&function, scores)).into());
        }
        let what = format!("`{expression}` is a {}, not a metric", value.get_type());
        Err(ScriptError(format!("{what}\n  hint: write it as a call, such as `accuracy()`")))
    }
}

/// The name before the parentheses.
fn name_of(expression: &str) -> &str {
    expression.split('(').next().unwrap_or(expression).trim()
}

fn failed(error: starlark::Error) -> Error {
    Error::custom(ScriptError::from(error).0)
}

/// Calls a script's metric.
fn measure(function: &OwnedFrozenValue, scores: &[SampleScore]) -> Result<f64, Error> {
    Module::with_temp_heap(|module| {
        let heap = module.heap();
        let function = heap.access_owned_frozen_value(function);
        let scores =
            heap.alloc(AllocList(scores.iter().map(|score| SampleScoreObject(score.clone())).collect::<Vec<_>>()));
        let mut evaluator = Evaluator::new(&module);
        limited(&mut evaluator).map_err(|error| Error::custom(error.0))?;
        let answer = evaluator.eval_function(function, &[scores], &[]).map_err(failed)?;
        match UnpackFloat::unpack_value(answer) {
            Ok(Some(UnpackFloat(x))) => Ok(x),
            _ => Err(Error::custom(format!("the metric gives `{}`, not a number", answer.to_repr()))),
        }
    })
}

/// Calls a script's reducer.
fn reduce(function: &OwnedFrozenValue, scores: &[Score]) -> Result<Score, Error> {
    Module::with_temp_heap(|module| {
        let heap = module.heap();
        let function = heap.access_owned_frozen_value(function);
        let scores = heap.alloc(AllocList(scores.iter().map(|score| ScoreObject(score.clone())).collect::<Vec<_>>()));
        let mut evaluator = Evaluator::new(&module);
        limited(&mut evaluator).map_err(|error| Error::custom(error.0))?;
        let answer = evaluator.eval_function(function, &[scores], &[]).map_err(failed)?;
        match score_in(answer) {
            Some(mut score) => {
                if matches!(score.value, CoreValue::Null) {
                    score.value = CoreValue::Missing;
                }
                Ok(score)
            }
            None => Err(Error::custom(format!("the reducer gives `{}`, not a score", answer.to_repr()))),
        }
    })
}
