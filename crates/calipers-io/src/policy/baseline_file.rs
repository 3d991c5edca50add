//! Baseline files: small JSON files to commit, so that a change shows as a diff of a line or two.
//!
//! Each metric and scenario has one line, sorted by name, and numbers have the digits that a comparison uses: the same
//! results give the same bytes.

use super::baseline_layout::BaselineLayout;
use crate::{FilePlace, ReadError, Source};
use calipers_core::ScenarioOutcome;
use calipers_gate::{Baseline, BaselineMetric, BaselineScenario};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

const SCHEMA: &str = "calipers.baseline/1";

/// The schema that a JSON file claims to have.
#[derive(Deserialize)]
struct SchemaLine {
    schema: Option<String>,
}

/// What is kept of a run, to compare later runs with: written by `calipers baseline record`.
///
/// Files are read and written through this type, and its schema is derived.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(description = "What is kept of a run, to compare later runs with: written by `calipers baseline record`.")]
pub struct BaselineDocument {
    /// The name and version of this schema.
    #[schemars(extend("const" = SCHEMA))]
    schema: String,
    /// The day it was recorded, in UTC: 2026-11-16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("pattern" = r"^\d{4}-\d{2}-\d{2}"))]
    date: Option<String>,
    /// The program and its version.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    tool: String,
    /// The SHA-256 of the policy it was recorded under, with all that it extends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    policy_hash: Option<String>,
    /// The results it was recorded from, as they were named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    /// The model, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    model: Option<String>,
    /// How the attempts of a scenario were reduced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    reducer: Option<String>,
    /// The metrics of the policy, by name.
    #[schemars(with = "BTreeMap<String, MetricLine>")]
    metrics: IndexMap<String, MetricLine>,
    /// The scenarios by id, each with its outcome.
    #[schemars(with = "BTreeMap<String, ScenarioLine>")]
    scenarios: IndexMap<String, ScenarioLine>,
    /// What follows from the rest; only `calipers baseline show --json` prints it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BaselineSummary")]
    summary: Option<BaselineSummary>,
}

/// A metric.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "metric")]
struct MetricLine {
    /// Its value: a rate is a fraction, a latency is in milliseconds.
    value: f64,
    /// How many samples or attempts it rests on.
    n: u64,
    /// The lower bound of its 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    lower: Option<f64>,
    /// The upper bound of its 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    upper: Option<f64>,
}

impl From<&BaselineMetric> for MetricLine {
    fn from(metric: &BaselineMetric) -> Self {
        let (lower, upper) = metric.interval.unzip();
        Self {
            value: Baseline::settle(metric.value),
            n: metric.n,
            lower: lower.map(Baseline::settle),
            upper: upper.map(Baseline::settle),
        }
    }
}

/// A scenario.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "scenario")]
struct ScenarioLine {
    /// The outcome of the scenario as a whole.
    outcome: OutcomeLine,
    /// Attempts that passed.
    passed: u32,
    /// All attempts.
    attempts: u32,
    /// Its part in metrics that are means over scenarios, where that is not the share of attempts that passed.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(with = "BTreeMap<String, f64>")]
    values: IndexMap<String, f64>,
}

impl From<&BaselineScenario> for ScenarioLine {
    fn from(scenario: &BaselineScenario) -> Self {
        let values = scenario.values.iter().map(|(name, value)| (name.clone(), Baseline::settle(*value)));
        Self {
            outcome: OutcomeLine::from(scenario.outcome),
            passed: scenario.passed,
            attempts: scenario.attempts,
            values: sort_by_name(values),
        }
    }
}

#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "outcome")]
enum OutcomeLine {
    Passed,
    Failed,
    Errored,
    Unscored,
}

impl From<OutcomeLine> for ScenarioOutcome {
    fn from(outcome: OutcomeLine) -> Self {
        match outcome {
            OutcomeLine::Passed => Self::Passed,
            OutcomeLine::Failed => Self::Failed,
            OutcomeLine::Errored => Self::Errored,
            OutcomeLine::Unscored => Self::Unscored,
        }
    }
}

impl From<ScenarioOutcome> for OutcomeLine {
    fn from(outcome: ScenarioOutcome) -> Self {
        match outcome {
            ScenarioOutcome::Passed => Self::Passed,
            ScenarioOutcome::Failed => Self::Failed,
            ScenarioOutcome::Errored => Self::Errored,
            ScenarioOutcome::Unscored => Self::Unscored,
        }
    }
}

/// What follows from the rest of a baseline.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "summary")]
struct BaselineSummary {
    /// Its age in days, if it is known.
    age_days: Option<f64>,
    /// True when it is older than 90 days; null if its age is not known.
    is_stale: Option<bool>,
    /// The scenarios by outcome.
    scenarios: ScenarioCounts,
}

/// How many scenarios have which outcome.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "scenario_counts")]
struct ScenarioCounts {
    /// All scenarios.
    total: u64,
    /// Those that passed.
    passed: u64,
    /// Those that failed.
    failed: u64,
    /// Those that did not run.
    errored: u64,
    /// Those that ran and of which nothing said whether they passed.
    unscored: u64,
    /// Those of which some attempts passed and others did not.
    flaky: u64,
}

fn sort_by_name<T>(entries: impl Iterator<Item = (String, T)>) -> IndexMap<String, T> {
    let mut sorted: IndexMap<String, T> = entries.collect();
    sorted.sort_unstable_keys();
    sorted
}

/// Reads a baseline.
pub fn read_baseline(path: &str) -> Result<Baseline, ReadError> {
    let hint = "record the baseline again";
    let bytes = Source::path(path).read_all()?;
    let fail = |error: serde_json::Error| {
        let explain_io_error = error.to_string();
        let what = explain_io_error.rsplit_once(" at line ").map_or(&*explain_io_error, |(what, _)| what);
        let marks: [&[u8]; 2] = [b"<<<<<<<", b">>>>>>>"];
        let is_conflict =
            bytes.split(|&byte| byte == b'\n').any(|line| marks.iter().any(|mark| line.starts_with(mark)));
        let (what, hint) = if is_conflict {
            ("it contains unresolved merge conflicts".to_owned(), "keep one side, or record it again")
        } else {
            (format!("this is not a baseline: {what}"), hint)
        };
        ReadError::new(path, what).at_line(error.line() as u64).hint(hint)
    };
    let head: SchemaLine = serde_json::from_slice(&bytes).map_err(fail)?;
    if head.schema.as_deref() != Some(SCHEMA) {
        let what = match head.schema {
            Some(other) => format!("its schema is `{other}`, not `{SCHEMA}`"),
            None => format!("this is not a baseline: it has no schema `{SCHEMA}`"),
        };
        return Err(ReadError::new(path, what).hint(hint));
    }
    let file: BaselineDocument = serde_json::from_slice(&bytes).map_err(fail)?;
    file.check(path)
}

/// True for a calendar day such as `2026-11-16`, optionally followed by a time.
fn is_day(date: &str) -> bool {
    let (day, time) = date.split_at_checked(10).unwrap_or((date, ""));
    let mut parts = day.split('-').map(|part| {
        let is_digits = part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<u32>().ok().filter(|_| is_digits)
    });
    let (Some(Some(year)), Some(Some(month)), Some(Some(day)), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => 0,
    };
    date.len() >= 10 && (1..=days).contains(&day) && (time.is_empty() || time.starts_with(['T', ' ']))
}

impl BaselineDocument {
    fn check(self, path: &str) -> Result<Baseline, ReadError> {
        let wrong = |place: String, what: &str| {
            let hint = "record the baseline again";
            Err(ReadError::new(path, what).at(FilePlace::Path(place)).hint(hint))
        };
        if let Some(date) = self.date.as_deref().filter(|date| !is_day(date)) {
            return wrong("date".to_owned(), &format!("`{date}` is not a day, such as 2026-11-16"));
        }
        let mut baseline = Baseline {
            source: path.to_owned(),
            date: self.date,
            tool: self.tool,
            policy_hash: self.policy_hash,
            files: self.files,
            model: self.model,
            reducer: self.reducer,
            ..Baseline::default()
        };
        for (name, MetricLine { value, n, lower, upper }) in self.metrics {
            let interval = lower.zip(upper);
            if interval.is_some_and(|(lower, upper)| lower > upper) {
                return wrong(format!("metrics.{name}"), "`lower` is above `upper`");
            }
            baseline.metrics.insert(name, BaselineMetric { value, n, interval });
        }
        for (id, ScenarioLine { outcome, passed, attempts, values }) in self.scenarios {
            if passed > attempts {
                return wrong(format!("scenarios.{id}"), "more attempts passed than there are");
            }
            baseline.scenarios.insert(id, BaselineScenario { outcome: outcome.into(), passed, attempts, values });
        }
        Ok(baseline)
    }
}

impl From<&Baseline> for BaselineDocument {
    fn from(baseline: &Baseline) -> Self {
        let metrics = baseline.metrics.iter().map(|(name, metric)| (name.clone(), MetricLine::from(metric)));
        let scenarios = baseline.scenarios.iter().map(|(id, scenario)| (id.clone(), ScenarioLine::from(scenario)));
        Self {
            schema: SCHEMA.to_owned(),
            date: baseline.date.clone(),
            tool: baseline.tool.clone(),
            policy_hash: baseline.policy_hash.clone(),
            files: baseline.files.clone(),
            model: baseline.model.clone(),
            reducer: baseline.reducer.clone(),
            metrics: sort_by_name(metrics),
            scenarios: sort_by_name(scenarios),
            summary: None,
        }
    }
}

/// The text of a baseline file: one line per metric and per scenario, sorted by name.
#[must_use]
pub fn baseline_text(baseline: &Baseline) -> String {
    BaselineLayout::write(&BaselineDocument::from(baseline))
}

/// A baseline as JSON, with a summary of its age and the outcomes of its scenarios.
#[must_use]
pub fn baseline_json(baseline: &Baseline, age_days: Option<f64>) -> Value {
    let counts = baseline.counts();
    let summary = BaselineSummary {
        age_days,
        is_stale: age_days.map(|age| age > Baseline::STALE_DAYS),
        scenarios: ScenarioCounts {
            total: counts.total,
            passed: counts.passed,
            failed: counts.failed,
            errored: counts.errored,
            unscored: counts.unscored,
            flaky: counts.flaky,
        },
    };
    // From the text, so that numbers are written as in the file: 1 and not 1.0.
    let mut json: Value = serde_json::from_str(&baseline_text(baseline)).expect("the text of a baseline is JSON");
    json["summary"] = serde_json::to_value(summary).expect("the keys of a summary are texts");
    json
}
