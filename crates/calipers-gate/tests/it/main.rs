//! Verdicts, from the outside.
#![allow(clippy::unwrap_used)] // a test that cannot be set up must fail loudly

mod calibration;
mod laws;
mod verdicts;

use calipers_core::{
    Context, Error, Metric, OnMissing, Reducer, Registry, Samples, Value, aggregate, mean, mean_of, pass_rate,
};
use calipers_gate::policy::document::{Data, Item};
use calipers_gate::policy::{Policy, Span, Spanned};
use calipers_gate::{Baseline, Case, Fault, GateReport, GateResult, Provenance, judge, record};
use serde_json::Value as Json;

/// A policy from JSON.
fn policy(text: &str) -> Policy {
    let json: Json = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    Policy::parse(&item(&json)).unwrap_or_else(|mistakes| panic!("{mistakes:?}"))
}

fn item(json: &Json) -> Item {
    let value = match json {
        Json::Null => Data::Null,
        Json::Bool(is) => Data::Bool(*is),
        Json::Number(number) => Data::Number(number.as_f64().unwrap()),
        Json::String(text) => Data::Text(text.clone()),
        Json::Array(items) => Data::List(items.iter().map(item).collect()),
        Json::Object(entries) => {
            let named = |name: &String| Spanned { value: name.clone(), span: Span::nowhere() };
            Data::Map(entries.iter().map(|(name, json)| (named(name), item(json))).collect())
        }
    };
    Item { value, span: Span::nowhere() }
}

/// Calls with a case for a policy and a run.
fn with_case<T>(
    policy: &Policy,
    samples: &Samples,
    baseline: Option<&Baseline>,
    look: Option<u64>,
    answer: impl Fn(&Case<'_>) -> Result<T, Fault>,
) -> T {
    let registry = Registry::builtin();
    let resolve = |name: &str| -> Result<Metric, Error> {
        let micro = name == "behavior_coverage(average=\"micro\")";
        if micro {
            let average: Value = Value::from("micro");
            let arguments = Value::Map(vec![("average".into(), average)]);
            return registry.metric("behavior_coverage", &arguments);
        }
        if name == "aggregate(tone)" {
            return Ok(aggregate("tone", mean(), OnMissing::Error));
        }
        if name == "pass_rate(happy_path)" {
            return pass_rate().only_where([("category", "happy_path")]);
        }
        if let Some(field) = name.strip_prefix("mean(\"").and_then(|rest| rest.strip_suffix("\")")) {
            return Ok(mean_of(field));
        }
        registry.metric(name, &Value::Null)
    };
    let case = Case {
        policy,
        samples,
        context: Context::default(),
        registry: &registry,
        resolve: &resolve,
        reducer: None,
        reducers: &Reducer::parse,
        suite: None,
        baseline: baseline.map(|baseline| (baseline, None)),
        look,
        version: None,
        lists_scenarios: true,
        provenance: Provenance::default(),
    };
    answer(&case).unwrap_or_else(|fault| panic!("{fault}"))
}

/// The report of a policy on a run, at a look if looks are counted.
fn judged_at(policy: &Policy, samples: &Samples, look: Option<u64>) -> GateReport {
    with_case(policy, samples, None, look, judge)
}

fn judged(policy: &Policy, samples: &Samples) -> GateReport {
    judged_at(policy, samples, None)
}

/// The report on a run beside an earlier one.
fn judged_against(policy: &Policy, samples: &Samples, before: &Samples) -> GateReport {
    let baseline = with_case(policy, before, None, None, record);
    with_case(policy, samples, Some(&baseline), None, judge)
}

/// The gate on a metric.
fn gate_on(report: &GateReport, metric: &str) -> GateResult {
    report.gates.iter().find(|gate| gate.metric == metric).unwrap_or_else(|| panic!("no gate on {metric}")).clone()
}
