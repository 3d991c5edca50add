//! The pieces that the JSON documents of several reports share, and the schema of a document.
//!
//! To add a report: write its document as structs in `<report>/json.rs` with `#[derive(Serialize, JsonSchema)]`, fill them
//! from the report, and offer two functions, `<report>_json` (with [`to_json`]) and `<report>_schema` (with
//! [`schema_text`]). Doc comments become the descriptions of the schema, and the order of the fields is that of the keys.
//! A key that is not always there is an `Option` with `skip_serializing_if`; any other `Option` is written as null. Then
//! add its name to `tests/it/documents.rs` of `calipers-cli`, which keeps the published schema in `docs/schemas` and checks that
//! documents of earlier versions stay valid.

use crate::words::{caveat_next_step, caveat_sentence, undefined_sentence};
use calipers_core::{Caveat, Figure, Interval, SampleId, Unit, Value};
use calipers_gate::policy::{Comparison, Level, Rule};
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;

/// A document as JSON.
pub(crate) fn to_json(document: &impl Serialize) -> Json {
    serde_json::to_value(document).expect("the keys of a document are texts")
}

/// The JSON Schema (2020-12) of a document, as text. `name` is `results` for `calipers.results/1`.
///
/// # Panics
///
/// If the schema cannot be written as JSON, which does not happen to one that is derived.
#[must_use]
pub fn schema_text<Document: JsonSchema>(name: &str) -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(Closed);
    let mut schema = settings.into_generator().into_root_schema_for::<Document>();
    schema.insert("title".to_owned(), json!(format!("calipers.{name}/1")));
    let mut ordered = Map::new();
    ordered.insert("$schema".to_owned(), schema.remove("$schema").unwrap_or_default());
    ordered.insert("$id".to_owned(), json!(format!("urn:calipers:schema:{name}:1")));
    ordered.extend(schema.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())));
    let mut text = serde_json::to_string_pretty(&ordered).expect("a schema has strings as keys");
    text.push('\n');
    text
}

/// Forbids keys that are not named, and leaves out the sizes of Rust's numbers, which say nothing to readers.
#[derive(Clone)]
struct Closed;

impl Transform for Closed {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        schema.remove("format");
        if schema.get("type").is_some_and(|of| of == "object") && schema.get("properties").is_some() {
            schema.insert("additionalProperties".to_owned(), json!(false));
        }
    }
}

/// What was read as what; none where all columns have our names.
pub(crate) fn columns_document(columns: &[(String, String)]) -> Option<BTreeMap<String, String>> {
    (!columns.is_empty()).then(|| columns.iter().cloned().collect())
}

/// Something to know before relying on a number.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "caveat")]
pub(crate) struct CaveatDocument {
    /// Its short stable name.
    #[schemars(extend("pattern" = "^[a-z0-9-]+$"))]
    id: &'static str,
    /// What it says.
    #[schemars(length(min = 1))]
    text: String,
    /// One thing to do about it; null where there is nothing to do.
    #[schemars(length(min = 1))]
    next_step: Option<String>,
}

impl From<&Caveat> for CaveatDocument {
    fn from(caveat: &Caveat) -> Self {
        Self { id: caveat.id(), text: caveat_sentence(caveat), next_step: caveat_next_step(caveat) }
    }
}

/// The caveats of something, in their order.
pub(crate) fn caveat_documents<'a>(caveats: impl IntoIterator<Item = &'a Caveat>) -> Vec<CaveatDocument> {
    caveats.into_iter().map(CaveatDocument::from).collect()
}

/// A confidence interval.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "interval")]
pub(crate) struct IntervalDocument {
    /// Its level.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    level: f64,
    /// Its lower bound; null where it has none.
    lower: Option<f64>,
    /// Its upper bound; null where it has none.
    upper: Option<f64>,
    /// How it was computed.
    method: &'static str,
}

impl From<Interval> for IntervalDocument {
    fn from(interval: Interval) -> Self {
        Self {
            level: interval.confidence.level(),
            lower: interval.lower,
            upper: interval.upper,
            method: interval.method.name(),
        }
    }
}

/// A list whose items are made when it is written, one after the other: a run may have millions of samples.
pub(crate) struct ListDocument<'r, T, D> {
    items: &'r [T],
    form: PhantomData<fn(&T) -> D>,
}

impl<'r, T, D> From<&'r [T]> for ListDocument<'r, T, D> {
    fn from(items: &'r [T]) -> Self {
        Self { items, form: PhantomData }
    }
}

impl<'r, T, D: Serialize + From<&'r T>> Serialize for ListDocument<'r, T, D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.items.iter().map(D::from))
    }
}

impl<T, D: JsonSchema> JsonSchema for ListDocument<'_, T, D> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Vec::<D>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<D>::json_schema(generator)
    }
}

/// Numbers made on the way, by name. None where there are none.
pub(crate) fn details_of(figure: &Figure) -> Option<DetailsDocument> {
    let details = figure.details.iter().map(|(name, x)| ((*name).to_owned(), Json::from(*x)));
    (!figure.details.is_empty()).then(|| DetailsDocument(details.collect()))
}

/// Numbers made on the way, in the order in which they were made.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct DetailsDocument(Map<String, Json>);

impl JsonSchema for DetailsDocument {
    fn schema_name() -> Cow<'static, str> {
        "details".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, f64>::json_schema(generator)
    }
}

/// A number with everything that defends it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "figure")]
#[schemars(extend("if" = {"properties": {"estimate": {"type": "null"}}}, "then" = {"required": ["undefined"]}))]
pub(crate) struct EstimateDocument {
    /// The number; null where it is undefined.
    pub(crate) estimate: Option<f64>,
    /// Why there is no number.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), with = "String")]
    pub(crate) undefined: Option<String>,
    /// How far it may be from the truth; null where that is not known.
    pub(crate) interval: Option<IntervalDocument>,
    /// How many samples, pairs or attempts it rests on.
    pub(crate) n: u64,
    /// How many have no value or no partner and are left out.
    pub(crate) missing: u64,
    /// How it was computed.
    pub(crate) method: String,
    /// What to know before relying on it.
    pub(crate) caveats: Vec<CaveatDocument>,
    /// Intermediate numbers, such as clusters and degrees of freedom.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DetailsDocument")]
    pub(crate) details: Option<DetailsDocument>,
}

impl From<&Figure> for EstimateDocument {
    fn from(figure: &Figure) -> Self {
        Self {
            estimate: figure.value.as_ref().ok().copied(),
            undefined: figure.value.as_ref().err().map(undefined_sentence),
            interval: figure.interval.map(IntervalDocument::from),
            n: figure.n,
            missing: figure.missing,
            method: figure.method.to_string(),
            caveats: caveat_documents(&figure.caveats),
            details: details_of(figure),
        }
    }
}

/// The unit of a metric's values. A rate is a fraction between 0 and 1.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "unit")]
pub(crate) enum UnitDocument {
    Rate,
    Milliseconds,
    Usd,
    Tokens,
    Ratio,
    Plain,
}

impl From<Unit> for UnitDocument {
    fn from(unit: Unit) -> Self {
        match unit {
            Unit::Rate => Self::Rate,
            Unit::Milliseconds => Self::Milliseconds,
            Unit::Usd => Self::Usd,
            Unit::Tokens => Self::Tokens,
            Unit::Ratio => Self::Ratio,
            Unit::Plain => Self::Plain,
        }
    }
}

/// What happens if a threshold is missed: the evaluation fails, or the report says so.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "level")]
pub(crate) enum LevelName {
    Blocking,
    Warning,
}

impl From<Level> for LevelName {
    fn from(level: Level) -> Self {
        match level {
            Level::Blocking => Self::Blocking,
            Level::Warning => Self::Warning,
        }
    }
}

/// A threshold as it is understood, in the metric's own unit.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "threshold")]
pub(crate) struct ThresholdDocument {
    /// How the estimate is compared with it.
    comparison: ComparisonSign,
    /// The number.
    value: f64,
}

impl From<Rule> for ThresholdDocument {
    fn from(rule: Rule) -> Self {
        Self { comparison: ComparisonSign::from(rule.comparison), value: rule.value }
    }
}

// A comparison is written with ASCII, as programs compare.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "comparison_sign")]
enum ComparisonSign {
    #[serde(rename = ">=")]
    AtLeast,
    #[serde(rename = ">")]
    Above,
    #[serde(rename = "<=")]
    AtMost,
    #[serde(rename = "<")]
    Below,
    #[serde(rename = "=")]
    Equal,
}

impl From<Comparison> for ComparisonSign {
    fn from(comparison: Comparison) -> Self {
        match comparison {
            Comparison::AtLeast => Self::AtLeast,
            Comparison::Above => Self::Above,
            Comparison::AtMost => Self::AtMost,
            Comparison::Below => Self::Below,
            Comparison::Equal => Self::Equal,
        }
    }
}

/// Which part of the runs was used, and what it was read with.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SelectionDocument {
    /// Only samples whose metadata has these values; all if empty.
    filter: Vec<ConditionDocument>,
    /// Only these scorers; all if empty.
    scorers: Vec<String>,
    /// Labels that were given a number by hand.
    labels: Vec<LabelDocument>,
    /// Files that metrics and reducers were loaded from.
    scripts: Vec<String>,
}

impl SelectionDocument {
    pub(crate) fn new(
        filter: &[(String, String)],
        scorers: &[String],
        labels: &[(String, f64)],
        scripts: &[String],
    ) -> Self {
        Self {
            filter: filter.iter().map(ConditionDocument::from).collect(),
            scorers: scorers.to_vec(),
            labels: labels.iter().map(LabelDocument::from).collect(),
            scripts: scripts.to_vec(),
        }
    }
}

/// A condition on metadata.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "condition")]
pub(crate) struct ConditionDocument {
    /// The metadata key.
    key: String,
    /// The value that it must have.
    value: String,
}

impl From<&(String, String)> for ConditionDocument {
    fn from((key, value): &(String, String)) -> Self {
        Self { key: key.clone(), value: value.clone() }
    }
}

/// A label that was given a number by hand.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "label")]
pub(crate) struct LabelDocument {
    /// The label.
    label: String,
    /// Its number.
    value: f64,
}

impl From<&(String, f64)> for LabelDocument {
    fn from((label, value): &(String, f64)) -> Self {
        Self { label: label.clone(), value: *value }
    }
}

/// A sample, as its file names it.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct SampleIdDocument(Json);

impl From<&SampleId> for SampleIdDocument {
    fn from(id: &SampleId) -> Self {
        Self(match id {
            SampleId::Int(i) => Json::from(*i),
            SampleId::Text(text) => Json::from(&**text),
        })
    }
}

impl JsonSchema for SampleIdDocument {
    fn schema_name() -> Cow<'static, str> {
        "sample_id".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"description": "A sample, as its file names it.", "type": ["integer", "string"]})
    }
}

/// A value of a score or a parameter; what JSON cannot write, such as NaN, is null.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct ValueDocument(Json);

impl From<&Value> for ValueDocument {
    fn from(value: &Value) -> Self {
        Self(Json::from(value))
    }
}

impl JsonSchema for ValueDocument {
    fn schema_name() -> Cow<'static, str> {
        "value".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<Self>();
        json_schema!({
            "description": "A value of a score or a parameter; what JSON cannot write, such as NaN, is null.",
            "type": ["string", "number", "boolean", "null", "array", "object"],
            "items": value,
            "additionalProperties": value,
        })
    }
}

/// Entries by name, in their order: the names are of the user's, such as metrics and parameters.
pub(crate) struct EntriesDocument<Entry>(pub(crate) Vec<(String, Entry)>);

impl<Entry: Serialize> Serialize for EntriesDocument<Entry> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, entry)| (name, entry)))
    }
}

impl<Entry: JsonSchema> JsonSchema for EntriesDocument<Entry> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{}_by_name", Entry::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, Entry>::json_schema(generator)
    }
}
