//! Proposed thresholds for programs: `calipers.raise/1`. No number is rounded.

use crate::document::{LevelName, ThresholdDocument, UnitDocument, schema_text, to_json};
use crate::policy::findings_json::PlaceDocument;
use crate::policy::raise_words::kept_sentence;
use calipers_gate::{NewThreshold, Raise, RaiseOptions};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

/// The name and version of the schema.
const SCHEMA: &str = "calipers.raise/1";

/// What a run says about the thresholds of a policy.
#[derive(Clone, Debug)]
pub struct RaiseReport<'a> {
    /// The policy, as it was named.
    pub policy: &'a str,
    /// How thresholds were allowed to move.
    pub options: RaiseOptions,
    /// True when the policy was changed.
    pub is_written: bool,
    /// The thresholds, in the order of the policy.
    pub raises: &'a [Raise],
}

/// The proposed thresholds as JSON.
#[must_use]
pub fn raise_json(raised: &RaiseReport<'_>) -> Json {
    to_json(&RaiseDocument::from(raised))
}

/// The schema of the JSON: JSON Schema 2020-12, with every property described.
#[must_use]
pub fn raise_schema() -> String {
    schema_text::<RaiseDocument>("raise")
}

/// What `calipers baseline raise --json` prints: what results say about raising the thresholds of a policy.
#[derive(Serialize, JsonSchema)]
struct RaiseDocument {
    /// The name and version of this schema.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// The policy, as it was named.
    policy: String,
    /// How far below the shown value thresholds stay: a share of all for a rate, and of the bound for everything else.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    headroom: f64,
    /// True when thresholds that the results do not show may be lowered.
    allow_lower: bool,
    /// True when the policy was changed; false when changes are only proposed, or there are none.
    written: bool,
    /// How many thresholds change.
    changed: usize,
    /// How many stay as they are.
    kept: usize,
    /// The thresholds, in the order of the policy.
    thresholds: Vec<RaisedThresholdDocument>,
}

impl From<&RaiseReport<'_>> for RaiseDocument {
    fn from(raised: &RaiseReport<'_>) -> Self {
        let changed = raised.raises.iter().filter(|raise| raise.change.is_ok()).count();
        Self {
            schema: SCHEMA,
            policy: raised.policy.to_owned(),
            headroom: raised.options.headroom,
            allow_lower: raised.options.allow_lower,
            written: raised.is_written && changed > 0,
            changed,
            kept: raised.raises.len() - changed,
            thresholds: raised.raises.iter().map(RaisedThresholdDocument::from).collect(),
        }
    }
}

/// A threshold, and what the results say about it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "raised_threshold")]
struct RaisedThresholdDocument {
    /// The metric as reports name it.
    metric: String,
    /// What happens if the threshold is missed.
    level: LevelName,
    /// The threshold as it is understood, in the metric's own unit.
    threshold: ThresholdDocument,
    /// The unit of the metric's values.
    unit: UnitDocument,
    /// Where the threshold is written.
    place: PlaceDocument,
    /// The estimate; null if it is undefined.
    estimate: Option<f64>,
    /// How many samples or attempts it rests on.
    n: u64,
    /// How many of them have no value.
    missing: u64,
    /// The one-sided bound on the side that the threshold guards; null where there is none.
    bound: Option<f64>,
    /// The confidence of the bound.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    confidence: f64,
    /// The new threshold; null where it stays as it is.
    change: Option<NewThresholdDocument>,
    /// Why the threshold stays as it is; null where it changes.
    kept_because: Option<String>,
}

impl From<&Raise> for RaisedThresholdDocument {
    fn from(raise: &Raise) -> Self {
        Self {
            metric: raise.metric.clone(),
            level: LevelName::from(raise.level),
            threshold: ThresholdDocument::from(raise.rule),
            unit: UnitDocument::from(raise.unit),
            place: PlaceDocument::from(&raise.span),
            estimate: raise.estimate,
            n: raise.n,
            missing: raise.missing,
            bound: raise.bound,
            confidence: raise.confidence,
            change: raise.change.as_ref().ok().map(NewThresholdDocument::from),
            kept_because: raise.change.as_ref().err().map(|reason| kept_sentence(raise, reason)),
        }
    }
}

/// A new threshold.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "new_threshold")]
struct NewThresholdDocument {
    /// The number, in the metric's own unit.
    value: f64,
    /// The text that replaces the old threshold, written in the same way.
    written: String,
    /// True when less is asked for than before.
    lower: bool,
}

impl From<&NewThreshold> for NewThresholdDocument {
    fn from(change: &NewThreshold) -> Self {
        Self { value: change.value, written: change.written.clone(), lower: change.is_lower }
    }
}
