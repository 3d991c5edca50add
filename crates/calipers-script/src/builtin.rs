//! The metrics that expressions name, and functions of scripts under their names.

use crate::callable::{Callable, callable};
use crate::catalog_functions::{PartFunction, PartObject};
use crate::error::ArgumentError;
use crate::mathematics::{ToFloat, mean_of_numbers};
use crate::score_objects::{MetricObject, ReducerObject, from_starlark, plain, short_text};
use crate::script_call::{script_metric, script_reducer, session};
use allocative::Allocative;
use calipers_core::{Metric, Reducer, Value as CoreValue};
use starlark::any::ProvidesStaticType;
use starlark::collections::SmallMap;
use starlark::docs::{DocItem, DocMember};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::float::UnpackFloat;
use starlark::values::none::NoneOr;
use starlark::values::{NoSerialize, OwnedFrozenValue, StarlarkPagablePanic, StringValue, Value, ValueLike};
use std::sync::Arc;

/// A metric of the registry: called, it gives the metric with these parameters.
#[derive(Clone, Debug, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct Builtin {
    name: String,
}

callable!(Builtin);

/// Every metric of the registry under its name.
pub(crate) fn add_metrics(builder: &mut GlobalsBuilder, names: impl Iterator<Item = String>) {
    for name in names {
        builder.set(&name.clone(), Builtin { name });
    }
}

impl Callable for Builtin {
    fn call<'v>(
        &self,
        positions: &[Value<'v>],
        named: &SmallMap<StringValue<'v>, Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        if let ([values], "mean", true) = (positions, &*self.name, named.is_empty())
            && values.unpack_str().is_none()
            && !values.is_none()
        {
            return Ok(eval.heap().alloc(mean_of_numbers(*values, eval)?));
        }
        let metric = self.call_with(positions, named, eval)?;
        Ok(eval.heap().alloc(MetricObject { metric, function: None }))
    }
}

/// Arguments by their names, of a function that takes some of them by place.
pub(crate) fn bound<'v>(
    function: &str,
    places: &[&str],
    positions: &[Value<'v>],
    named: &SmallMap<StringValue<'v>, Value<'v>>,
) -> Result<Vec<(String, Value<'v>)>, ArgumentError> {
    if positions.len() > places.len() {
        return Err(match places {
            [] => ArgumentError::new(format!("`{function}` takes no arguments without a name")),
            _ => ArgumentError::new(format!("`{function}` takes at most {} arguments without a name", places.len()))
                .hint(format!("they are {}; name the others", places.join(", "))),
        });
    }
    let places = places.iter().map(|place| (*place).to_owned());
    let mut given: Vec<(String, Value<'v>)> = places.zip(positions.iter().copied()).collect();
    for (name, value) in named {
        let name = name.as_str();
        if given.iter().any(|(taken, _)| taken == name) {
            let mut twice = ArgumentError::new(format!("`{function}` is given `{name}` twice"));
            twice.focus = Some(name.to_owned());
            return Err(twice);
        }
        given.push((name.to_owned(), *value));
    }
    Ok(given)
}

impl Builtin {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned() }
    }

    /// The metric with these arguments.
    pub(crate) fn call_with<'v>(
        &self,
        positions: &[Value<'v>],
        named: &SmallMap<StringValue<'v>, Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Metric> {
        let places = session(eval)?.shared.vocabulary.metrics.places(&self.name);
        let given = bound(&self.name, places, positions, named).map_err(|complaint| match places {
            [] if complaint.hint.is_none() && complaint.focus.is_none() => {
                complaint.hint(format!("name them, as in `{}(where={{\"category\": \"adversarial\"}})`", self.name))
            }
            _ => complaint,
        })?;
        self.metric(given, eval)
    }

    fn metric<'v>(
        &self,
        given: Vec<(String, Value<'v>)>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Metric> {
        let mut params: Vec<(Arc<str>, CoreValue)> = Vec::new();
        let mut inner: Vec<(String, Metric)> = Vec::new();
        for (name, value) in given {
            if let Some(to_float) = value.downcast_ref::<ToFloat>() {
                params.push((name.into(), to_float.as_param()));
            } else if is_metric(value) {
                let metric = as_metric(value, eval)?;
                inner.push((name, metric));
            } else {
                let value =
                    plain(value).map_err(|complaint| ArgumentError { focus: Some(name.clone()), ..complaint })?;
                params.push((name.into(), value));
            }
        }
        let registry = &session(eval)?.shared.vocabulary.metrics;
        let made = registry.metric_of(&self.name, &CoreValue::Map(params), inner);
        made.map_err(|error| ArgumentError::from(error).into())
    }
}

/// A function of a loaded file under the name it has there. What it makes is a metric of that name: the function that
/// it returns usually has no name worth showing.
#[derive(Clone, Debug, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct NamedFunction {
    name: String,
    #[allocative(skip)]
    function: OwnedFrozenValue,
}

callable!(NamedFunction);

impl NamedFunction {
    pub(crate) fn new(name: &str, function: OwnedFrozenValue) -> Self {
        Self { name: name.to_owned(), function }
    }
}

impl Callable for NamedFunction {
    fn call<'v>(
        &self,
        positions: &[Value<'v>],
        named: &SmallMap<StringValue<'v>, Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let function = eval.heap().access_owned_frozen_value(&self.function);
        let named: Vec<(&str, Value<'v>)> = named.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let made = eval.eval_function(function, positions, &named)?;
        if made.parameters_spec().is_none() {
            return Ok(made);
        }
        let places = parameters(&function.documentation()).into_iter().zip(positions.iter().copied());
        let given = places.chain(named.iter().map(|(name, value)| ((*name).to_owned(), *value)));
        let params = given.filter_map(|(name, value)| Some((name, from_starlark(value)?))).collect();
        Ok(eval.heap().alloc(of_function(made, &self.name, params, eval)?))
    }
}

/// The names of a function's parameters.
pub(crate) fn parameters(documentation: &DocItem) -> Vec<String> {
    let DocItem::Member(DocMember::Function(function)) = documentation else { return Vec::new() };
    let of = &function.params;
    of.pos_only.iter().chain(&of.pos_or_named).chain(&of.named_only).map(|parameter| parameter.name.clone()).collect()
}

/// True for whatever can stand for a metric.
fn is_metric(value: Value<'_>) -> bool {
    value.downcast_ref::<MetricObject>().is_some()
        || value.downcast_ref::<PartObject>().is_some_and(PartObject::is_metric)
        || value.downcast_ref::<Builtin>().is_some()
        || value.downcast_ref::<NamedFunction>().is_some()
        || value.parameters_spec().is_some()
}

/// The metric that a value stands for: one that was made, or the name of one, which stands for a call without arguments.
pub(crate) fn as_metric<'v>(value: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Metric> {
    Ok(as_object(value, eval)?.metric)
}

/// The same, with the function that it comes from.
pub(crate) fn as_object<'v>(value: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<MetricObject> {
    if let Some(made) = value.downcast_ref::<MetricObject>() {
        return Ok(made.clone());
    }
    if let Some(part) = value.downcast_ref::<PartFunction>() {
        return Ok(MetricObject { metric: part.make_default(eval)?.metric()?, function: None });
    }
    if let Some(made) = value.downcast_ref::<PartObject>() {
        return Ok(MetricObject { metric: made.metric()?, function: None });
    }
    if let Some(builtin) = value.downcast_ref::<Builtin>() {
        return Ok(MetricObject { metric: builtin.metric(Vec::new(), eval)?, function: None });
    }
    if let Some(named) = value.downcast_ref::<NamedFunction>() {
        let function = eval.heap().access_owned_frozen_value(&named.function);
        return from_function(function, &named.name, eval);
    }
    if value.parameters_spec().is_some() {
        let name = session(eval)?.shared.name_of(value.function_name().unwrap_or("metric"));
        return from_function(value, &name, eval);
    }
    let found = ArgumentError::new(format!("expected a metric, found {}", short_text(value)));
    Err(found.hint("write one such as `accuracy()`").into())
}

/// A function without the name that it was imported under; any other value as it is.
pub(crate) fn strip_name<'v>(value: Value<'v>, eval: &Evaluator<'v, '_, '_>) -> Value<'v> {
    match value.downcast_ref::<NamedFunction>() {
        Some(named) => eval.heap().access_owned_frozen_value(&named.function),
        None => value,
    }
}

/// True for a function that can be called without arguments.
pub(crate) fn takes_nothing(value: Value<'_>) -> bool {
    value.parameters_spec().is_some_and(|parameters| parameters.can_fill_with_args(0, &[]))
}

/// A function that can do without arguments makes the metric; one that needs an argument is the metric.
fn from_function<'v>(
    function: Value<'v>,
    name: &str,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<MetricObject> {
    if !takes_nothing(function) {
        return of_function(function, name, Vec::new(), eval);
    }
    let made = eval.eval_function(function, &[], &[])?;
    if made.parameters_spec().is_some() { of_function(made, name, Vec::new(), eval) } else { as_object(made, eval) }
}

fn of_function<'v>(
    function: Value<'v>,
    name: &str,
    params: Vec<(String, CoreValue)>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<MetricObject> {
    let session = session(eval)?;
    if !function.parameters_spec().is_some_and(|parameters| parameters.can_fill_with_args(1, &[])) {
        let complaint = ArgumentError::new(format!("`{name}` cannot be called with the scores alone"));
        return Err(complaint.hint("a metric is a function of one argument, the list of scores").into());
    }
    let slot = session.keep(function, eval);
    Ok(MetricObject { metric: script_metric(&session.shared, name, params, slot.clone()), function: Some(slot) })
}

/// The reducer that a value stands for: one that was made, a function, or the name of one that Calipers brings. A function
/// has the name that is given, or else its own.
pub(crate) fn as_reducer<'v>(
    value: Value<'v>,
    name: Option<&str>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Reducer> {
    if let Some(made) = value.downcast_ref::<ReducerObject>() {
        return Ok(made.0.clone());
    }
    if let Some(name) = value.unpack_str() {
        return Reducer::parse(name).map_err(|error| ArgumentError::from(error).into());
    }
    let function = strip_name(value, eval);
    if takes_nothing(function) {
        let made = eval.eval_function(function, &[], &[])?;
        if let Some(reducer) = made.downcast_ref::<ReducerObject>() {
            return Ok(reducer.0.clone());
        }
    }
    let made = as_object(value, eval)?;
    let name = name.unwrap_or(made.metric.name());
    let Some(function) = made.function else {
        let complaint = ArgumentError::new(format!("`{name}` is a metric, not a reducer"));
        return Err(complaint.hint("a reducer is a function from the scores of one sample to one score").into());
    };
    Ok(script_reducer(&session(eval)?.shared, name, function))
}

fn counting_reducer(make: fn(u64) -> Reducer, k: u32, value: UnpackFloat) -> starlark::Result<ReducerObject> {
    if !value.0.is_finite() {
        return Err(ArgumentError::new(format!("`value` is {}, which is not a threshold", value.0)).into());
    }
    Ok(ReducerObject(make(u64::from(k)).value(value.0)))
}

/// Calipers' reducers, by the names of Inspect's functions.
#[starlark_module]
pub(crate) fn reducer_functions(builder: &mut GlobalsBuilder) {
    /// The average of the attempts.
    fn mean_score() -> starlark::Result<ReducerObject> {
        Ok(ReducerObject(calipers_core::mean_score()))
    }

    /// The middle attempt.
    fn median_score() -> starlark::Result<ReducerObject> {
        Ok(ReducerObject(calipers_core::median_score()))
    }

    /// The commonest value.
    fn mode_score() -> starlark::Result<ReducerObject> {
        Ok(ReducerObject(calipers_core::mode_score()))
    }

    /// The largest value.
    fn max_score() -> starlark::Result<ReducerObject> {
        Ok(ReducerObject(calipers_core::max_score()))
    }

    /// The probability that one of k attempts succeeds.
    fn pass_at(k: u32, #[starlark(default = UnpackFloat(1.0))] value: UnpackFloat) -> starlark::Result<ReducerObject> {
        counting_reducer(calipers_core::pass_at, k, value)
    }

    /// The probability that all of k attempts succeed.
    fn pass_k(k: u32, #[starlark(default = UnpackFloat(1.0))] value: UnpackFloat) -> starlark::Result<ReducerObject> {
        counting_reducer(calipers_core::pass_k, k, value)
    }

    /// Whether at least k attempts succeed.
    fn at_least(k: u32, #[starlark(default = UnpackFloat(1.0))] value: UnpackFloat) -> starlark::Result<ReducerObject> {
        counting_reducer(calipers_core::at_least, k, value)
    }
}

#[starlark_module]
pub(crate) fn own_functions(builder: &mut GlobalsBuilder) {
    /// A metric from a function of the list of scores.
    fn metric<'v>(
        #[starlark(require = pos)] function: Value<'v>,
        #[starlark(default = NoneOr::None)] name: NoneOr<&str>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<MetricObject> {
        let name = own_name(function, name, "metric", eval)?;
        of_function(function, &name, Vec::new(), eval)
    }

    /// A reducer from a function of the scores of one sample.
    fn score_reducer<'v>(
        #[starlark(require = pos)] function: Value<'v>,
        #[starlark(default = NoneOr::None)] name: NoneOr<&str>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ReducerObject> {
        let name = own_name(function, name, "score_reducer", eval)?;
        let slot = of_function(function, &name, Vec::new(), eval)?.function;
        let slot = slot.ok_or_else(|| ArgumentError::new(format!("`{name}` is not a function")))?;
        Ok(ReducerObject(script_reducer(&session(eval)?.shared, &name, slot)))
    }
}

/// The name of what is made of a function: the one given, that of the function which returns it, or its own.
pub(crate) fn own_name<'v>(
    function: Value<'v>,
    given: NoneOr<&str>,
    maker: &str,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<String> {
    if function.parameters_spec().is_none() {
        let complaint = ArgumentError::new(format!("`{maker}` is given {}, not a function", short_text(function)));
        return Err(complaint.hint(format!("write `{maker}(function, name = \"…\")`")).into());
    }
    Ok(match given.into_option() {
        Some(given) => given.to_owned(),
        None => session(eval)?.shared.name_of(function.function_name().unwrap_or(maker)),
    })
}
