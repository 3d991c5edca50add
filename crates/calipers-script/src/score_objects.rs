//! Metrics and scores as scripts see them, with Inspect's attributes.

use crate::error::ArgumentError;
use crate::script_call::{FunctionSlot, session};
use allocative::Allocative;
use calipers_core::{Metadata, Metric, Reducer, SampleId, SampleScore, Score, Value as CoreValue};
use starlark::any::ProvidesStaticType;
use starlark::environment::{Methods, MethodsBuilder};
use starlark::eval::Evaluator;
use starlark::values::dict::{AllocDict, DictRef};
use starlark::values::float::UnpackFloat;
use starlark::values::list::{AllocList, ListRef};
use starlark::values::tuple::TupleRef;
use starlark::values::{
    Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, UnpackValue, Value, ValueLike, starlark_value,
};
use starlark::{starlark_module, starlark_simple_value};
use std::fmt;
use std::sync::Arc;

/// A metric, and its function if it comes from a script: a reducer can be made from that.
#[derive(Clone, Debug, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct MetricObject {
    #[allocative(skip)]
    pub(crate) metric: Metric,
    #[allocative(skip)]
    pub(crate) function: Option<FunctionSlot>,
}

starlark_simple_value!(MetricObject);

impl fmt::Display for MetricObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.metric)
    }
}

#[starlark_value(type = "Metric")]
impl<'v> StarlarkValue<'v> for MetricObject {}

/// A reducer.
#[derive(Clone, Debug, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct ReducerObject(#[allocative(skip)] pub(crate) Reducer);

starlark_simple_value!(ReducerObject);

impl fmt::Display for ReducerObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

#[starlark_value(type = "ScoreReducer")]
impl<'v> StarlarkValue<'v> for ReducerObject {}

/// A score with the sample it belongs to.
#[derive(Clone, Debug, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct SampleScoreObject(#[allocative(skip)] pub(crate) SampleScore);

starlark_simple_value!(SampleScoreObject);

impl fmt::Display for SampleScoreObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SampleScore({}, {})", self.0.sample_id, self.0.score.value)
    }
}

/// The name of a sample, as scripts see it.
pub(crate) fn id_value<'v>(id: &SampleId, heap: Heap<'v>) -> Value<'v> {
    match id {
        SampleId::Int(i) => heap.alloc(*i),
        SampleId::Text(text) => heap.alloc(&**text),
    }
}

#[starlark_module]
fn sample_score_methods(builder: &mut MethodsBuilder) {
    #[starlark(attribute)]
    fn score<'v>(this: &SampleScoreObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(heap.alloc(ScoreObject(this.0.score.clone())))
    }

    #[starlark(attribute)]
    fn sample_id<'v>(this: &SampleScoreObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(id_value(&this.0.sample_id, heap))
    }

    #[starlark(attribute)]
    fn sample_metadata<'v>(this: &SampleScoreObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(metadata_value(&this.0.sample_metadata, heap))
    }
}

starlark::methods_static!(SAMPLE_SCORE_METHODS = sample_score_methods);

#[starlark_value(type = "SampleScore")]
impl<'v> StarlarkValue<'v> for SampleScoreObject {
    fn get_methods() -> Option<&'static Methods> {
        Some(SAMPLE_SCORE_METHODS.methods())
    }
}

/// A score.
#[derive(Clone, Debug, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct ScoreObject(#[allocative(skip)] pub(crate) Score);

starlark_simple_value!(ScoreObject);

impl fmt::Display for ScoreObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Score({})", self.0.value)
    }
}

/// The float of a value under the labels that the user chose.
pub(crate) fn float_of(value: &CoreValue, eval: &Evaluator<'_, '_, '_>) -> anyhow::Result<f64> {
    let number = session(eval)?.shared.vocabulary.labels.to_float(value);
    Ok(number.ok_or_else(|| calipers_core::Error::from(calipers_core::ErrorKind::UnknownLabel(value.clone())))?)
}

#[starlark_module]
fn score_methods(builder: &mut MethodsBuilder) {
    fn as_float<'v>(this: &ScoreObject, eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<f64> {
        float_of(&this.0.value, eval)
    }

    fn as_int<'v>(this: &ScoreObject, eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<i64> {
        Ok(float_of(&this.0.value, eval)? as i64)
    }

    fn as_bool<'v>(this: &ScoreObject, eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<bool> {
        Ok(float_of(&this.0.value, eval)? != 0.0)
    }

    fn as_str(this: &ScoreObject) -> anyhow::Result<String> {
        Ok(this.0.as_str())
    }

    fn as_list<'v>(this: &ScoreObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        let items = this.0.as_list()?.iter().map(|item| to_starlark(item, heap));
        Ok(heap.alloc(AllocList(items.collect::<Vec<_>>())))
    }

    fn as_dict<'v>(this: &ScoreObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        this.0.as_map()?;
        Ok(to_starlark(&this.0.value, heap))
    }

    #[starlark(attribute)]
    fn value<'v>(this: &ScoreObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(to_starlark(&this.0.value, heap))
    }

    #[starlark(attribute)]
    fn answer<'v>(this: &ScoreObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(optional(this.0.answer.as_deref(), heap))
    }

    #[starlark(attribute)]
    fn explanation<'v>(this: &ScoreObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(optional(this.0.explanation.as_deref(), heap))
    }

    #[starlark(attribute)]
    fn metadata<'v>(this: &ScoreObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(this.0.metadata.as_ref().map_or_else(Value::new_none, |metadata| metadata_value(metadata, heap)))
    }
}

starlark::methods_static!(SCORE_METHODS = score_methods);

#[starlark_value(type = "Score")]
impl<'v> StarlarkValue<'v> for ScoreObject {
    fn get_methods() -> Option<&'static Methods> {
        Some(SCORE_METHODS.methods())
    }
}

pub(crate) fn optional<'v>(text: Option<&str>, heap: Heap<'v>) -> Value<'v> {
    text.map_or_else(Value::new_none, |text| heap.alloc(text))
}

pub(crate) fn metadata_value<'v>(metadata: &Metadata, heap: Heap<'v>) -> Value<'v> {
    let entries = metadata.iter().map(|(key, value)| (&**key, to_starlark(value, heap)));
    heap.alloc(AllocDict(entries.collect::<Vec<_>>()))
}

/// A value of ours as a script sees it.
pub(crate) fn to_starlark<'v>(value: &CoreValue, heap: Heap<'v>) -> Value<'v> {
    match value {
        CoreValue::Null | CoreValue::Missing => Value::new_none(),
        CoreValue::Bool(b) => Value::new_bool(*b),
        CoreValue::Int(i) => heap.alloc(*i),
        CoreValue::Float(x) => heap.alloc(*x),
        CoreValue::Text(text) => heap.alloc(&**text),
        CoreValue::List(items) => {
            heap.alloc(AllocList(items.iter().map(|item| to_starlark(item, heap)).collect::<Vec<_>>()))
        }
        CoreValue::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| (&**key, to_starlark(value, heap)));
            heap.alloc(AllocDict(entries.collect::<Vec<_>>()))
        }
    }
}

/// The maximum nesting of values: a script could nest them until the stack overflows.
const DEPTH_MAX: usize = 50;

/// A script's value as one of ours; `None` for what cannot be a score.
pub(crate) fn from_starlark(value: Value<'_>) -> Option<CoreValue> {
    from_nested(value, 0)
}

fn from_nested(value: Value<'_>, depth: usize) -> Option<CoreValue> {
    if depth > DEPTH_MAX {
        return None;
    }
    if value.is_none() {
        return Some(CoreValue::Null);
    }
    if let Some(b) = value.unpack_bool() {
        return Some(CoreValue::Bool(b));
    }
    if let Ok(Some(i)) = i64::unpack_value(value) {
        return Some(CoreValue::Int(i));
    }
    if let Ok(Some(UnpackFloat(x))) = UnpackFloat::unpack_value(value) {
        return Some(CoreValue::from(x));
    }
    if let Some(text) = value.unpack_str() {
        return Some(CoreValue::from(text));
    }
    if let Some(items) = items(value) {
        let items = items.iter().map(|item| from_nested(*item, depth + 1));
        return items.collect::<Option<Vec<_>>>().map(CoreValue::List);
    }
    let dict = DictRef::from_value(value)?;
    let entries = dict.iter().map(|(key, value)| Some((key.unpack_str()?.into(), from_nested(value, depth + 1)?)));
    entries.collect::<Option<Vec<_>>>().map(CoreValue::Map)
}

/// The items of a list or a tuple.
pub(crate) fn items<'v>(value: Value<'v>) -> Option<&'v [Value<'v>]> {
    match ListRef::from_value(value) {
        Some(list) => Some(list.content()),
        None => TupleRef::from_value(value).map(TupleRef::content),
    }
}

/// A number: an int, a float, or a bool as 1 or 0.
pub(crate) fn number(value: Value<'_>) -> Option<f64> {
    if let Some(b) = value.unpack_bool() {
        return Some(f64::from(u8::from(b)));
    }
    UnpackFloat::unpack_value(value).ok().flatten().map(|UnpackFloat(x)| x)
}

pub(crate) fn plain(value: Value<'_>) -> Result<CoreValue, ArgumentError> {
    from_starlark(value).ok_or_else(|| ArgumentError::new(format!("{} is not a plain value", short_text(value))))
}

/// The score in a value that is one.
pub(crate) fn score_in(value: Value<'_>) -> Option<Score> {
    match value.downcast_ref::<ScoreObject>() {
        Some(score) => Some(score.0.clone()),
        None => from_starlark(value).map(Score::new),
    }
}

pub(crate) fn metadata_in(value: Value<'_>) -> Result<Option<Arc<Metadata>>, ArgumentError> {
    match plain(value)? {
        CoreValue::Null => Ok(None),
        CoreValue::Map(entries) => Ok(Some(Arc::new(Metadata::new(entries)))),
        _ => Err(ArgumentError::new(format!("metadata is {}, not a dict with text keys", short_text(value)))),
    }
}

/// A value for a message, shortened.
pub(crate) fn short_text(value: Value<'_>) -> String {
    const LONG: usize = 60;
    let is_short = value.unpack_str().map_or(i64::unpack_value(value).ok().flatten().is_some(), |s| s.len() < LONG)
        || value.is_none()
        || value.unpack_bool().is_some()
        || value.get_type() == "float";
    if is_short {
        return format!("`{}`", value.to_repr());
    }
    match value.get_type() {
        "string" => "a long text".into(),
        "int" => "an int".into(),
        "Epochs" => "an Epochs".into(),
        kind => format!("a {kind}"),
    }
}
