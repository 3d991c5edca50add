//! What scripts see: metrics, and scores with the attributes that Inspect gives them.

use allocative::Allocative;
use calipers_core::{Metric, SampleScore, Score, Value as CoreValue};
use starlark::any::ProvidesStaticType;
use starlark::environment::{Methods, MethodsBuilder};
use starlark::values::dict::AllocDict;
use starlark::values::list::AllocList;
use starlark::values::none::NoneType;
use starlark::values::{Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, ValueLike, starlark_value};
use starlark::{starlark_module, starlark_simple_value};
use std::fmt;

/// A metric.
#[derive(Clone, Debug, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct MetricObject(#[allocative(skip)] pub(crate) Metric);

starlark_simple_value!(MetricObject);

impl fmt::Display for MetricObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

#[starlark_value(type = "Metric")]
impl<'v> StarlarkValue<'v> for MetricObject {}

/// A score with the sample it belongs to.
#[derive(Clone, Debug, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct SampleScoreObject(#[allocative(skip)] pub(crate) SampleScore);

starlark_simple_value!(SampleScoreObject);

impl fmt::Display for SampleScoreObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SampleScore({}, {})", self.0.sample_id, self.0.score.value)
    }
}

#[starlark_module]
fn sample_score_methods(builder: &mut MethodsBuilder) {
    #[starlark(attribute)]
    fn score<'v>(this: &SampleScoreObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        Ok(heap.alloc(ScoreObject(this.0.score.clone())))
    }

    #[starlark(attribute)]
    fn sample_id(this: &SampleScoreObject) -> anyhow::Result<String> {
        Ok(this.0.sample_id.to_string())
    }

    #[starlark(attribute)]
    fn sample_metadata<'v>(this: &SampleScoreObject, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        let entries = this.0.sample_metadata.iter().map(|(key, value)| (&**key, to_starlark(value, heap)));
        Ok(heap.alloc(AllocDict(entries.collect::<Vec<_>>())))
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

#[starlark_module]
fn score_methods(builder: &mut MethodsBuilder) {
    fn as_float(this: &ScoreObject) -> anyhow::Result<f64> {
        Ok(this.0.as_float()?)
    }

    fn as_bool(this: &ScoreObject) -> anyhow::Result<bool> {
        Ok(this.0.as_bool()?)
    }

    fn as_str(this: &ScoreObject) -> anyhow::Result<String> {
        Ok(this.0.as_str())
    }

    fn as_int(this: &ScoreObject) -> anyhow::Result<i64> {
        Ok(this.0.as_float()? as i64)
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
}

starlark::methods_static!(SCORE_METHODS = score_methods);

#[starlark_value(type = "Score")]
impl<'v> StarlarkValue<'v> for ScoreObject {
    fn get_methods() -> Option<&'static Methods> {
        Some(SCORE_METHODS.methods())
    }
}

fn optional<'v>(text: Option<&str>, heap: Heap<'v>) -> Value<'v> {
    text.map_or_else(Value::new_none, |text| heap.alloc(text))
}

/// A value of ours as a script sees it.
pub(crate) fn to_starlark<'v>(value: &CoreValue, heap: Heap<'v>) -> Value<'v> {
    match value {
        CoreValue::Null | CoreValue::Missing => heap.alloc(NoneType),
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

/// What a script gives, as a value of ours; `None` for what no score can be.
pub(crate) fn from_starlark(value: Value<'_>) -> Option<CoreValue> {
    use starlark::values::UnpackValue;
    use starlark::values::dict::DictRef;
    use starlark::values::float::UnpackFloat;
    use starlark::values::list::ListRef;
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
    if let Some(list) = ListRef::from_value(value) {
        return list.iter().map(from_starlark).collect::<Option<Vec<_>>>().map(CoreValue::List);
    }
    let dict = DictRef::from_value(value)?;
    let entries = dict.iter().map(|(key, value)| Some((key.unpack_str()?.into(), from_starlark(value)?)));
    entries.collect::<Option<Vec<_>>>().map(CoreValue::Map)
}

/// The score in a value that is one.
pub(crate) fn score_in(value: Value<'_>) -> Option<Score> {
    match value.downcast_ref::<ScoreObject>() {
        Some(score) => Some(score.0.clone()),
        None => from_starlark(value).map(Score::new),
    }
}
