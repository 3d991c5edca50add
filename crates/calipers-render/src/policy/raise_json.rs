//! Proposed thresholds for programs: `calipers.raise/1`. No number is rounded.

use crate::document::to_json;
use crate::gate::json::{level, of_rule, unit};
use crate::policy::findings_json::PlaceDocument;
use crate::policy::raise_words::kept_sentence;
use calipers_gate::{NewThreshold, Raise, RaiseOptions};
use serde_json::{Value as Json, json};

/// The name and version of the schema.
const SCHEMA: &str = "calipers.raise/1";

/// The schema itself: JSON Schema 2020-12, with every property described.
pub const RAISE_SCHEMA: &str = include_str!("../../schema/calipers.raise.1.json");

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
    let changed = raised.raises.iter().filter(|raise| raise.change.is_ok()).count();
    json!({
        "schema": SCHEMA,
        "policy": raised.policy,
        "headroom": raised.options.headroom,
        "allow_lower": raised.options.allow_lower,
        "written": raised.is_written && changed > 0,
        "changed": changed,
        "kept": raised.raises.len() - changed,
        "thresholds": raised.raises.iter().map(of_raise).collect::<Vec<_>>(),
    })
}

fn of_raise(raise: &Raise) -> Json {
    json!({
        "metric": raise.metric,
        "level": level(raise.level),
        "threshold": of_rule(raise.rule),
        "unit": unit(raise.unit),
        "place": to_json(&PlaceDocument::from(&raise.span)),
        "estimate": raise.estimate,
        "n": raise.n,
        "missing": raise.missing,
        "bound": raise.bound,
        "confidence": raise.confidence,
        "change": raise.change.as_ref().ok().map(of_change),
        "kept_because": raise.change.as_ref().err().map(|reason| kept_sentence(raise, reason)),
    })
}

fn of_change(change: &NewThreshold) -> Json {
    json!({"value": change.value, "written": change.written, "lower": change.is_lower})
}
