//! Solvers, scorers and models for task files, and scorers that task files define.

use crate::attempt_objects::{StateObject, TargetObject};
use crate::builtin::{Builtin, bound, own_name, strip_name, takes_nothing};
use crate::callable::{Callable, callable};
use crate::error::ArgumentError;
use crate::library::{SharedContext, specs};
use crate::limits::Time;
use crate::score_objects::{items, plain, score_in, short_text};
use crate::script_call::{Callee, FunctionSlot, session};
use allocative::Allocative;
use calipers_core::{Labels, Metric, MetricSpec, Outcome, Registry, Value as CoreValue, accuracy, stderr};
use calipers_run::providers::{MockModel, MockOutputs};
use calipers_run::{AttemptFault, AttemptState, Model, Scorer, ScorerResult, Scorers, Solver, Solvers, scorer_fn};
use starlark::any::ProvidesStaticType;
use starlark::collections::SmallMap;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::values::none::NoneOr;
use starlark::values::{
    NoSerialize, StarlarkPagablePanic, StarlarkValue, StringValue, Value, ValueLike, starlark_value,
};
use starlark::{starlark_module, starlark_simple_value};
use std::fmt;
use std::sync::Arc;

/// The names available to task files: metrics, solvers and scorers, and the numbers of labels.
#[derive(Debug)]
pub struct Vocabulary {
    /// The metrics.
    pub metrics: Registry,
    /// The numbers of labels.
    pub labels: Labels,
    /// The solvers.
    pub solvers: Solvers,
    /// The scorers.
    pub scorers: Scorers,
}

impl Vocabulary {
    /// Everything that comes with Calipers.
    #[must_use]
    pub fn builtin() -> Self {
        Self {
            // A task is written to a log, which names metrics as Inspect does.
            metrics: Registry::builtin().as_logged(),
            labels: Labels::default(),
            solvers: Solvers::builtin(),
            scorers: Scorers::builtin(),
        }
    }
}

/// Every solver and scorer under its name. One name may stand for several things: `f1` is a metric and a scorer,
/// `command` a solver and a scorer. The context decides which is meant.
pub(crate) fn add_parts(builder: &mut GlobalsBuilder, vocabulary: &Vocabulary) {
    for name in vocabulary.solvers.names().chain(vocabulary.scorers.names()) {
        builder.set(name, PartFunction { name: name.to_owned() });
    }
}

/// A solver or scorer as a function: a call returns the one with these parameters.
#[derive(Clone, Debug, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct PartFunction {
    name: String,
}

callable!(PartFunction);

impl Callable for PartFunction {
    fn call<'v>(
        &self,
        positions: &[Value<'v>],
        named: &SmallMap<StringValue<'v>, Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let made = self.call_with(positions, named, eval)?;
        Ok(eval.heap().alloc(made))
    }
}

/// The part or the error of creating it; `None` if no part of that kind has the name.
type PartResult<T> = Option<Result<T, ArgumentError>>;

impl PartFunction {
    /// The result of a call without arguments.
    pub(crate) fn make_default<'v>(&self, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<PartObject> {
        self.call_with(&[], &SmallMap::new(), eval)
    }

    fn call_with<'v>(
        &self,
        positions: &[Value<'v>],
        named: &SmallMap<StringValue<'v>, Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<PartObject> {
        let vocabulary = &session(eval)?.shared.vocabulary;
        let mut models = Vec::new();
        let mut params = |places: &[&str]| {
            let given = bound(&self.name, places, positions, named)?;
            plain_params(given, &mut models)
        };
        let (solvers, scorers) = (&vocabulary.solvers, &vocabulary.scorers);
        let solver = has(solvers.names(), &self.name).then(|| {
            let params = params(solvers.places(&self.name))?;
            solvers.make(&self.name, &params).map_err(ArgumentError::from)
        });
        let scorer = has(scorers.names(), &self.name).then(|| {
            let params = params(scorers.places(&self.name))?;
            scorers.make(&self.name, &params).map_err(ArgumentError::from)
        });
        let is_metric = has(vocabulary.metrics.names(), &self.name);
        let metric = is_metric.then(|| Builtin::new(&self.name).call_with(positions, named, eval));
        let metric = metric.map(|made| made.map_err(|error| ArgumentError::of(&error)));
        let made = PartObject { name: self.name.clone(), metric, solver, scorer, models };
        match made.mistake() {
            Some(complaint) => Err(complaint.into()),
            None => Ok(made),
        }
    }
}

fn has<'a>(mut names: impl Iterator<Item = &'a str>, name: &str) -> bool {
    names.any(|known| known == name)
}

/// Parameters as values. A model stands for its name, and is kept.
fn plain_params(given: Vec<(String, Value<'_>)>, models: &mut Vec<Arc<dyn Model>>) -> Result<CoreValue, ArgumentError> {
    let mut params: Vec<(Arc<str>, CoreValue)> = Vec::new();
    for (name, value) in given {
        let value = named_models(value, models).map_or_else(|| plain(value), Ok);
        let value = value.map_err(|complaint| ArgumentError { focus: Some(name.clone()), ..complaint })?;
        params.push((name.into(), value));
    }
    Ok(CoreValue::Map(params))
}

/// The name of a model that a script made, or the names in a list with such models.
fn named_models(value: Value<'_>, models: &mut Vec<Arc<dyn Model>>) -> Option<CoreValue> {
    if let Some(model) = value.downcast_ref::<ModelObject>() {
        models.push(model.0.clone());
        return Some(model.0.name().into());
    }
    let items = items(value)?;
    if !items.iter().any(|item| item.downcast_ref::<ModelObject>().is_some()) {
        return None;
    }
    let name = |item: &Value<'_>| named_models(*item, models).or_else(|| plain(*item).ok());
    items.iter().map(name).collect::<Option<Vec<_>>>().map(CoreValue::List)
}

/// The result of calling a solver or scorer by name.
#[derive(Clone, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct PartObject {
    name: String,
    #[allocative(skip)]
    metric: PartResult<Metric>,
    #[allocative(skip)]
    solver: PartResult<Arc<dyn Solver>>,
    #[allocative(skip)]
    scorer: PartResult<Arc<dyn Scorer>>,
    /// Models that its parameters name.
    #[allocative(skip)]
    models: Vec<Arc<dyn Model>>,
}

starlark_simple_value!(PartObject);

impl fmt::Display for PartObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(…)", self.name)
    }
}

impl fmt::Debug for PartObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[starlark_value(type = "Part")]
impl<'v> StarlarkValue<'v> for PartObject {}

impl PartObject {
    fn of_scorer(scorer: Arc<dyn Scorer>) -> Self {
        let name = scorer.name().to_owned();
        Self { name, metric: None, solver: None, scorer: Some(Ok(scorer)), models: Vec::new() }
    }

    /// The error, if it could not be created.
    fn mistake(&self) -> Option<ArgumentError> {
        fn wrong<T>(made: &PartResult<T>) -> Option<&ArgumentError> {
            made.as_ref().and_then(|made| made.as_ref().err())
        }
        let is_good = matches!(self.metric, Some(Ok(_))) || matches!(self.solver, Some(Ok(_)));
        if is_good || matches!(self.scorer, Some(Ok(_))) {
            return None;
        }
        wrong(&self.scorer).or(wrong(&self.solver)).or(wrong(&self.metric)).cloned()
    }

    pub(crate) fn is_metric(&self) -> bool {
        self.metric.is_some()
    }

    pub(crate) fn metric(&self) -> Result<Metric, ArgumentError> {
        self.metric.clone().unwrap_or_else(|| Err(self.is_not("metric")))
    }

    fn is_not(&self, kind: &str) -> ArgumentError {
        ArgumentError::new(format!("`{}` is not a {kind}", self.name)).hint(such_as(kind))
    }
}

fn such_as(kind: &str) -> &'static str {
    match kind {
        "solver" => "write one such as `generate()`",
        "scorer" => "write one such as `match()`",
        _ => "write one such as `accuracy()`",
    }
}

/// Solvers or scorers, and the models that they use.
pub(crate) struct PartList<P: ?Sized> {
    pub(crate) parts: Vec<Arc<P>>,
    pub(crate) models: Vec<Arc<dyn Model>>,
}

impl<P: ?Sized> PartList<P> {
    fn new() -> Self {
        Self { parts: Vec::new(), models: Vec::new() }
    }
}

/// The kind of part: solver or scorer.
struct PartKind<P: ?Sized> {
    kind: &'static str,
    of: fn(&PartObject) -> &PartResult<Arc<P>>,
    /// True if a function can be one.
    takes_functions: bool,
}

/// The solvers that a value stands for: one, or a list of them.
pub(crate) fn solvers<'v>(
    value: Value<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<PartList<dyn Solver>> {
    let mut chosen = PartList::new();
    PartKind { kind: "solver", of: |part| &part.solver, takes_functions: false }.gather(value, eval, 0, &mut chosen)?;
    Ok(chosen)
}

/// The scorers that a value stands for: one, or a list of them.
pub(crate) fn scorers<'v>(
    value: Value<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<PartList<dyn Scorer>> {
    let mut chosen = PartList::new();
    PartKind { kind: "scorer", of: |part| &part.scorer, takes_functions: true }.gather(value, eval, 0, &mut chosen)?;
    Ok(chosen)
}

/// How deep nested lists, and functions that return functions, are followed.
const DEPTH_MAX: usize = 8;

impl<P: ?Sized> PartKind<P> {
    fn gather<'v>(
        &self,
        value: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
        depth: usize,
        chosen: &mut PartList<P>,
    ) -> starlark::Result<()> {
        let value = strip_name(value, eval);
        if let Some(made) = value.downcast_ref::<PartObject>() {
            return Ok(self.take(made, chosen)?);
        }
        if let Some(part) = value.downcast_ref::<PartFunction>() {
            return Ok(self.take(&part.make_default(eval)?, chosen)?);
        }
        if depth < DEPTH_MAX {
            if let Some(items) = items(value) {
                return items.iter().try_for_each(|item| self.gather(*item, eval, depth + 1, chosen));
            }
            if takes_nothing(value) {
                let made = eval.eval_function(value, &[], &[])?;
                return self.gather(made, eval, depth + 1, chosen);
            }
            if self.takes_functions && value.parameters_spec().is_some() {
                let name = own_name(value, NoneOr::None, self.kind, eval)?;
                return Ok(self.take(&own_scorer(value, &name, None, eval)?, chosen)?);
            }
        }
        let found = ArgumentError::new(format!("expected a {}, found {}", self.kind, short_text(value)));
        Err(found.hint(such_as(self.kind)).into())
    }

    fn take(&self, made: &PartObject, chosen: &mut PartList<P>) -> Result<(), ArgumentError> {
        let part = (self.of)(made).clone().unwrap_or_else(|| Err(made.is_not(self.kind)))?;
        chosen.parts.push(part);
        chosen.models.extend(made.models.iter().cloned());
        Ok(())
    }
}

/// A scorer from a function of the state and the target.
fn own_scorer<'v>(
    function: Value<'v>,
    name: &str,
    metrics: Option<Vec<MetricSpec>>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<PartObject> {
    let session = session(eval)?;
    if !function.parameters_spec().is_some_and(|parameters| parameters.can_fill_with_args(2, &[])) {
        let complaint = ArgumentError::new(format!("`{name}` cannot be called with a state and a target"));
        return Err(complaint.hint("a scorer is a function of two arguments, `state` and `target`").into());
    }
    let (slot, shared) = (session.keep(function, eval), session.shared.clone());
    let metrics = metrics.unwrap_or_else(|| vec![accuracy().into(), stderr().into()]);
    let judge = move |state: &AttemptState| judge(&shared, &slot, state);
    Ok(PartObject::of_scorer(Arc::new(scorer_fn(name, metrics, judge))))
}

fn judge(shared: &Arc<SharedContext>, slot: &FunctionSlot, state: &AttemptState) -> Result<ScorerResult, AttemptFault> {
    let callee = Callee { shared, slot, scores: 1, time: Time::PerCall };
    let judged = callee.call(
        |heap| vec![heap.alloc(StateObject(state.clone())), heap.alloc(TargetObject(state.target.clone()))],
        outcome,
    );
    judged.map(ScorerResult::from).map_err(AttemptFault::new)
}

/// The result of a script scorer: a score, a plain value, or `None` if it cannot decide.
fn outcome(answer: Value<'_>) -> Result<Outcome, ArgumentError> {
    if answer.is_none() {
        return Ok(Outcome::unscored("the scorer gave no score"));
    }
    let Some(mut score) = score_in(answer) else {
        let what = format!("the scorer gives {}, not a score", short_text(answer));
        return Err(ArgumentError::new(what).hint("return `Score(value = …)`, a plain value, or `None` for no score"));
    };
    if matches!(score.value, CoreValue::Null) {
        score.value = CoreValue::Missing;
    }
    Ok(match Outcome::from(score) {
        Outcome::Unscored { reason, score } if &*reason == "no value" => {
            Outcome::Unscored { reason: "the scorer gave no value".into(), score }
        }
        outcome => outcome,
    })
}

/// A model that a script made.
#[derive(Clone, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct ModelObject(#[allocative(skip)] pub(crate) Arc<dyn Model>);

starlark_simple_value!(ModelObject);

impl fmt::Display for ModelObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl fmt::Debug for ModelObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[starlark_value(type = "Model")]
impl<'v> StarlarkValue<'v> for ModelObject {}

#[starlark_module]
pub(crate) fn part_names(builder: &mut GlobalsBuilder) {
    /// A scorer from a function of the state and the target.
    fn scorer<'v>(
        #[starlark(require = pos)] function: Value<'v>,
        #[starlark(default = NoneOr::None)] name: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] metrics: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<PartObject> {
        let name = own_name(function, name, "scorer", eval)?;
        let metrics = metrics.into_option().map(|metrics| specs(metrics, eval, 0)).transpose()?;
        own_scorer(function, &name, metrics, eval)
    }

    /// A mock model: one answer, several in turn, or answers by sample.
    fn mockllm<'v>(
        #[starlark(default = NoneOr::None)] outputs: NoneOr<Value<'v>>,
        #[starlark(default = "model")] name: &str,
    ) -> starlark::Result<ModelObject> {
        let outputs = match outputs.into_option() {
            Some(outputs) => MockOutputs::from_value(&plain(outputs)?).map_err(ArgumentError::new)?,
            None => MockOutputs::default(),
        };
        Ok(ModelObject(Arc::new(MockModel::new(outputs).named(format!("mockllm/{name}")))))
    }
}
