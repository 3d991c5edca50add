//! Baseline files: small JSON files to commit, so that a change shows as a diff of a line or two.
//!
//! Each metric and scenario has one line, sorted by name, and numbers have the digits that a comparison uses: the same
//! results give the same bytes.

use crate::{FilePlace, ReadError, Source};
use calipers_core::ScenarioOutcome;
use calipers_gate::{Baseline, BaselineMetric, BaselineScenario};
use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

/// The schema of baselines: JSON Schema 2020-12, with every property described.
pub const BASELINE_SCHEMA: &str = include_str!("../../schema/calipers.baseline.1.json");

const SCHEMA: &str = "calipers.baseline/1";

/// The schema that a JSON file claims to have.
#[derive(Deserialize)]
struct SchemaLine {
    schema: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BaselineFile {
    #[serde(rename = "schema")]
    _schema: IgnoredAny,
    date: Option<String>,
    #[serde(default)]
    tool: String,
    policy_hash: Option<String>,
    #[serde(default)]
    files: Vec<String>,
    model: Option<String>,
    reducer: Option<String>,
    metrics: IndexMap<String, MetricLine>,
    scenarios: IndexMap<String, ScenarioLine>,
    /// Derived from the rest, and only present in the JSON for programs.
    #[serde(rename = "summary")]
    _summary: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricLine {
    value: f64,
    n: u64,
    lower: Option<f64>,
    upper: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioLine {
    outcome: OutcomeLine,
    passed: u32,
    attempts: u32,
    #[serde(default)]
    values: IndexMap<String, f64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
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

/// The name of an outcome in the file.
fn name(outcome: ScenarioOutcome) -> &'static str {
    match outcome {
        ScenarioOutcome::Passed => "passed",
        ScenarioOutcome::Failed => "failed",
        ScenarioOutcome::Errored => "errored",
        ScenarioOutcome::Unscored => "unscored",
    }
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
    let file: BaselineFile = serde_json::from_slice(&bytes).map_err(fail)?;
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

impl BaselineFile {
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

/// The text of a baseline file: one line per metric and per scenario, sorted by name.
#[must_use]
pub fn baseline_text(baseline: &Baseline) -> String {
    let head = [
        ("schema", json!(SCHEMA)),
        ("date", json!(baseline.date)),
        ("tool", json!(baseline.tool)),
        ("policy_hash", json!(baseline.policy_hash)),
        ("files", json!(baseline.files)),
        ("model", json!(baseline.model)),
        ("reducer", json!(baseline.reducer)),
    ];
    let mut parts: Vec<String> =
        head.iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| format!("  \"{key}\": {value}")).collect();
    let metrics = baseline.metrics.iter().map(|(name, metric)| (name.as_str(), metric_line(metric)));
    parts.push(section("metrics", metrics.collect()));
    let scenarios = baseline.scenarios.iter().map(|(id, scenario)| (id.as_str(), scenario_line(scenario)));
    parts.push(section("scenarios", scenarios.collect()));
    format!("{{\n{}\n}}\n", parts.join(",\n"))
}

fn metric_line(metric: &BaselineMetric) -> String {
    let interval = metric.interval.map(|(lower, upper)| {
        format!(", \"lower\": {}, \"upper\": {}", Baseline::settle(lower), Baseline::settle(upper))
    });
    format!("{{\"value\": {}, \"n\": {}{}}}", Baseline::settle(metric.value), metric.n, interval.unwrap_or_default())
}

fn scenario_line(scenario: &BaselineScenario) -> String {
    let BaselineScenario { outcome, passed, attempts, values } = scenario;
    let mut values: Vec<String> =
        values.iter().map(|(name, value)| format!("{}: {}", Value::from(&**name), Baseline::settle(*value))).collect();
    values.sort();
    let values = if values.is_empty() { String::new() } else { format!(", \"values\": {{{}}}", values.join(", ")) };
    format!("{{\"outcome\": \"{}\", \"passed\": {passed}, \"attempts\": {attempts}{values}}}", name(*outcome))
}

fn section(key: &str, mut entries: Vec<(&str, String)>) -> String {
    entries.sort();
    let lines: Vec<String> =
        entries.iter().map(|(name, value)| format!("\n    {}: {value}", Value::from(*name))).collect();
    if lines.is_empty() { format!("  \"{key}\": {{}}") } else { format!("  \"{key}\": {{{}\n  }}", lines.join(",")) }
}

/// A baseline as JSON, with a summary of its age and the outcomes of its scenarios.
#[must_use]
pub fn baseline_json(baseline: &Baseline, age_days: Option<f64>) -> Value {
    let mut json: Value = serde_json::from_str(&baseline_text(baseline)).expect("the text of a baseline is JSON");
    let counts = baseline.counts();
    json["summary"] = json!({
        "age_days": age_days,
        "is_stale": age_days.map(|age| age > Baseline::STALE_DAYS),
        "scenarios": {
            "total": counts.total,
            "passed": counts.passed,
            "failed": counts.failed,
            "errored": counts.errored,
            "unscored": counts.unscored,
            "flaky": counts.flaky,
        },
    });
    json
}
