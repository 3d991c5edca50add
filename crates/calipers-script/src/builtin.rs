//! The metrics that expressions name, and functions of scripts under their names.

use crate::call::{script_metric, session};
use crate::error::Complaint;
use crate::mathematics::{ToFloat, mean_of_numbers};
use crate::objects::{MetricObject, from_starlark, plain, shown};
use allocative::Allocative;
use calipers_core::{Metric, Value as CoreValue};
use starlark::any::ProvidesStaticType;
use starlark::docs::{DocItem, DocMember};
use starlark::environment::GlobalsBuilder;
use starlark::eval::{Arguments, Evaluator};
use starlark::starlark_simple_value;
use starlark::values::{
    NoSerialize, OwnedFrozenValue, StarlarkPagablePanic, StarlarkValue, Value, ValueLike, starlark_value,
};
use std::fmt;
use std::sync::Arc;

/// A metric of the registry: called, it gives the metric with these parameters.
#[derive(Clone, Debug, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct Builtin {
    name: String,
}

starlark_simple_value!(Builtin);

impl fmt::Display for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Every metric of the registry under its name.
pub(crate) fn add_metrics(builder: &mut GlobalsBuilder, names: impl Iterator<Item = String>) {
    for name in names {
        builder.set(&name.clone(), Builtin { name });
    }
}

#[starlark_value(type = "function")]
impl<'v> StarlarkValue<'v> for Builtin {
    fn name_for_call_stack(&self, _: Value<'v>) -> String {
        self.name.clone()
    }

    fn invoke(
        &self,
        _: Value<'v>,
        arguments: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let positions: Vec<Value<'v>> = arguments.positions(eval.heap())?.collect();
        let named = arguments.names_map()?;
        if let ([values], "mean", true) = (&positions[..], &*self.name, named.is_empty())
            && values.unpack_str().is_none()
            && !values.is_none()
        {
            return Ok(eval.heap().alloc(mean_of_numbers(*values, eval)?));
        }
        let mut given: Vec<(String, Value<'v>)> = Vec::new();
        let places = session(eval)?.shared.registry.places(&self.name);
        if positions.len() > places.len() {
            return Err(self.too_many(places).into());
        }
        given.extend(places.iter().map(|place| (*place).to_owned()).zip(positions));
        for (name, value) in named {
            let name = name.as_str();
            if given.iter().any(|(taken, _)| taken == name) {
                let mut twice = Complaint::new(format!("`{}` is given `{name}` twice", self.name));
                twice.focus = Some(name.to_owned());
                return Err(twice.into());
            }
            given.push((name.to_owned(), value));
        }
        let metric = self.metric(given, eval)?;
        Ok(eval.heap().alloc(MetricObject { metric, function: None }))
    }
}

impl Builtin {
    fn too_many(&self, places: &[&str]) -> Complaint {
        match places {
            [] => Complaint::new(format!("`{}` takes no arguments without a name", self.name))
                .hint(format!("name them, as in `{}(where={{\"category\": \"adversarial\"}})`", self.name)),
            _ => Complaint::new(format!("`{}` takes at most {} arguments without a name", self.name, places.len()))
                .hint(format!("they are {}; name the others", places.join(", "))),
        }
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
                let value = plain(value).map_err(|complaint| Complaint { focus: Some(name.clone()), ..complaint })?;
                params.push((name.into(), value));
            }
        }
        let registry = &session(eval)?.shared.registry;
        let made = registry.metric_of(&self.name, &CoreValue::Map(params), inner);
        made.map_err(|error| Complaint::from(error).into())
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

starlark_simple_value!(NamedFunction);

impl fmt::Display for NamedFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl NamedFunction {
    pub(crate) fn new(name: &str, function: OwnedFrozenValue) -> Self {
        Self { name: name.to_owned(), function }
    }
}

#[starlark_value(type = "function")]
impl<'v> StarlarkValue<'v> for NamedFunction {
    fn name_for_call_stack(&self, _: Value<'v>) -> String {
        self.name.clone()
    }

    fn invoke(
        &self,
        _: Value<'v>,
        arguments: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let function = eval.heap().access_owned_frozen_value(&self.function);
        let positions: Vec<Value<'v>> = arguments.positions(eval.heap())?.collect();
        let named = arguments.names_map()?;
        let named: Vec<(&str, Value<'v>)> = named.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let made = eval.eval_function(function, &positions, &named)?;
        if made.parameters_spec().is_none() {
            return Ok(made);
        }
        let places = parameters(&function.documentation()).into_iter().zip(positions);
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
    if let Some(builtin) = value.downcast_ref::<Builtin>() {
        return Ok(MetricObject { metric: builtin.metric(Vec::new(), eval)?, function: None });
    }
    if let Some(named) = value.downcast_ref::<NamedFunction>() {
        let function = eval.heap().access_owned_frozen_value(&named.function);
        return from_function(function, &named.name, eval);
    }
    if value.parameters_spec().is_some() {
        let name = value.function_name().unwrap_or("metric");
        return from_function(value, name, eval);
    }
    let found = Complaint::new(format!("expected a metric, found {}", shown(value)));
    Err(found.hint("write one such as `accuracy()`").into())
}

/// A function that can do without arguments makes the metric; one that needs an argument is the metric.
fn from_function<'v>(
    function: Value<'v>,
    name: &str,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<MetricObject> {
    let makes_one = function.parameters_spec().is_some_and(|parameters| parameters.can_fill_with_args(0, &[]));
    if !makes_one {
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
        let complaint = Complaint::new(format!("`{name}` cannot be called with the scores alone"));
        return Err(complaint.hint("a metric is a function of one argument, the list of scores").into());
    }
    let slot = session.keep(function, eval);
    Ok(MetricObject { metric: script_metric(&session.shared, name, params, slot.clone()), function: Some(slot) })
}
