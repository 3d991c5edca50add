//! Baselines at rest: a small JSON file that is committed, so that what changes shows in a diff of a line or two.

use crate::{ReadError, Source};
use calipers_core::{Baseline, BaselineMetric, BaselineScenario};
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write;

const SCHEMA: &str = "calipers.baseline/1";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    date: Option<String>,
    #[serde(default)]
    tool: String,
    policy_hash: Option<String>,
    #[serde(default)]
    files: Vec<String>,
    model: Option<String>,
    reducer: Option<String>,
    #[serde(default)]
    metrics: IndexMap<String, Metric>,
    #[serde(default)]
    scenarios: IndexMap<String, Scenario>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Metric {
    value: f64,
    n: u64,
    lower: Option<f64>,
    upper: Option<f64>,
}

#[derive(Deserialize)]
struct Scenario {
    outcome: Outcome,
    passed: u32,
    attempts: u32,
    #[serde(flatten)]
    values: IndexMap<String, f64>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Passed,
    Failed,
}

/// Reads a baseline.
pub fn read_baseline(path: &str) -> Result<Baseline, ReadError> {
    let hint = "write one with `calipers baseline record`";
    let bytes = Source::path(path).read_all()?;
    let file: File = serde_json::from_slice(&bytes)
        .map_err(|error| ReadError::new(path, format!("this is not a baseline: {error}")).hint(hint))?;
    if file.schema != SCHEMA {
        return Err(ReadError::new(path, format!("the schema is `{}`, not `{SCHEMA}`", file.schema)).hint(hint));
    }
    let metric =
        |metric: Metric| BaselineMetric { value: metric.value, n: metric.n, interval: metric.lower.zip(metric.upper) };
    let scenario = |scenario: Scenario| BaselineScenario {
        has_passed: scenario.outcome == Outcome::Passed,
        passed: scenario.passed,
        attempts: scenario.attempts,
        values: scenario.values,
    };
    Ok(Baseline {
        source: path.to_owned(),
        date: file.date,
        tool: file.tool,
        policy_hash: file.policy_hash,
        files: file.files,
        model: file.model,
        reducer: file.reducer,
        metrics: file.metrics.into_iter().map(|(name, value)| (name, metric(value))).collect(),
        scenarios: file.scenarios.into_iter().map(|(id, value)| (id, scenario(value))).collect(),
    })
}

/// A baseline as text: a line a metric and a line a scenario, in the order of their names.
#[must_use]
pub fn baseline_text(baseline: &Baseline) -> String {
    let mut text = String::from("{\n");
    let mut line = |key: &str, value: &Value| {
        if !value.is_null() {
            let _ = writeln!(text, "  {}: {value},", Value::from(key));
        }
    };
    line("schema", &SCHEMA.into());
    line("date", &json!(baseline.date));
    line("tool", &json!(baseline.tool));
    line("policy_hash", &json!(baseline.policy_hash));
    line("files", &json!(baseline.files));
    line("model", &json!(baseline.model));
    line("reducer", &json!(baseline.reducer));
    let metric = |metric: &BaselineMetric| {
        let mut entry = json!({"value": metric.value, "n": metric.n});
        if let Some((lower, upper)) = metric.interval {
            entry["lower"] = lower.into();
            entry["upper"] = upper.into();
        }
        entry
    };
    let scenario = |scenario: &BaselineScenario| {
        let mut entry = json!({"outcome": if scenario.has_passed { "passed" } else { "failed" }, "passed": scenario.passed, "attempts": scenario.attempts});
        for (name, value) in &scenario.values {
            entry[name] = (*value).into();
        }
        entry
    };
    let metrics = baseline.metrics.iter().map(|(name, value)| (name.as_str(), metric(value)));
    let scenarios = baseline.scenarios.iter().map(|(id, value)| (id.as_str(), scenario(value)));
    section(&mut text, "metrics", metrics.collect());
    text.push_str(",\n");
    section(&mut text, "scenarios", scenarios.collect());
    text.push_str("\n}\n");
    text
}

fn section(text: &mut String, key: &str, mut entries: Vec<(&str, Value)>) {
    entries.sort_by(|a, b| a.0.cmp(b.0));
    let lines: Vec<String> =
        entries.iter().map(|(name, value)| format!("    {}: {value}", Value::from(*name))).collect();
    let _ = write!(text, "  \"{key}\": {{\n{}\n  }}", lines.join(",\n"));
}
