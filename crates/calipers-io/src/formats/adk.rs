//! Google ADK: the results of an evaluation set.
//!
//! ADK writes a JSON text that holds the JSON document; newer versions write the document itself. Keys are in snake
//! or camel case.

use super::Format;
use crate::json::{self, JsonParts};
use crate::{FilePlace, ReadError, RecordedRun, Root, Shape, Source};
use calipers_core::{Metadata, Outcome, Score, Value};

/// Results by Google ADK.
pub(crate) struct Adk;

/// Conversations, which no metric reads.
const UNREAD: [&str; 6] = [
    "session_details",
    "sessionDetails",
    "eval_metric_result_per_invocation",
    "evalMetricResultPerInvocation",
    "actual_invocation",
    "actualInvocation",
];

impl Format for Adk {
    fn name(&self) -> &'static str {
        "adk"
    }

    fn about(&self) -> &'static str {
        "Google ADK: *.evalset_result.json"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        let names = ["eval_case_results", "evalCaseResults"];
        match shape.json.as_ref().map(|json| json.root) {
            Some(Root::Map) => names.iter().any(|name| shape.has_keys(&[name])),
            Some(Root::Text) => names.iter().any(|name| memchr::memmem::find(&shape.head, name.as_bytes()).is_some()),
            _ => false,
        }
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        let bytes = source.read_all()?;
        let document = match json::parse_without(&source.name, &bytes, &UNREAD)? {
            Value::Text(inner) => json::parse_without(&source.name, inner.as_bytes(), &UNREAD)
                .map_err(|error| source.error(format!("the document within the document is {}", error.what())))?,
            document => document,
        };
        let Some(Value::List(cases)) = either(&document, "eval_case_results", "evalCaseResults") else {
            let what = "the document has no list of `eval_case_results`";
            return Err(source.error(what).hint("the file may be cut off, or may not be an ADK evaluation result"));
        };
        let task = text(&document, "eval_set_id", "evalSetId").map(ToOwned::to_owned);
        let mut run = RecordedRun { task, ..RecordedRun::default() };
        for (index, case) in cases.iter().enumerate() {
            push(&mut run, case).map_err(|(key, what)| {
                source.error(what).at(FilePlace::Path(format!("eval_case_results[{index}].{key}")))
            })?;
        }
        Ok(vec![run])
    }
}

fn either<'a>(value: &'a Value, snake: &str, camel: &str) -> Option<&'a Value> {
    value.part(snake).or_else(|| value.part(camel))
}

fn text<'a>(value: &'a Value, snake: &str, camel: &str) -> Option<&'a str> {
    value.text(snake).or_else(|| value.text(camel))
}

/// Passed, failed, or not evaluated.
fn status(value: Option<&Value>) -> Result<Option<bool>, String> {
    match value {
        None | Some(Value::Int(3)) => Ok(None),
        Some(Value::Int(1)) => Ok(Some(true)),
        Some(Value::Int(2)) => Ok(Some(false)),
        Some(Value::Text(text)) => match text.to_ascii_uppercase().as_str() {
            "PASSED" | "1" => Ok(Some(true)),
            "FAILED" | "2" => Ok(Some(false)),
            "NOT_EVALUATED" | "3" => Ok(None),
            _ => Err(format!("the status is `{text}`, not PASSED, FAILED or NOT_EVALUATED")),
        },
        Some(other) => Err(format!("the status is `{other}`, not 1 (passed), 2 (failed) or 3 (not evaluated)")),
    }
}

fn push(run: &mut RecordedRun, case: &Value) -> Result<(), (String, String)> {
    let Some(id) = text(case, "eval_id", "evalId") else {
        return Err(("eval_id".into(), "the case has no `eval_id`".into()));
    };
    let passed = status(either(case, "final_eval_status", "finalEvalStatus"))
        .map_err(|what| ("final_eval_status".to_owned(), what))?;
    let metrics = match either(case, "overall_eval_metric_results", "overallEvalMetricResults") {
        None => &[][..],
        Some(Value::List(metrics)) => metrics,
        Some(_) => return Err(("overall_eval_metric_results".into(), "the metrics are not a list".into())),
    };
    let mut attempt = run.samples.push(id);
    if let Some(passed) = passed {
        attempt = attempt.field("passed", passed);
    }
    for (index, metric) in metrics.iter().enumerate() {
        let at = |key: &str| format!("overall_eval_metric_results[{index}].{key}");
        let Some(name) = text(metric, "metric_name", "metricName") else {
            return Err((at("metric_name"), "the metric has no name".into()));
        };
        let passed = status(either(metric, "eval_status", "evalStatus")).map_err(|what| (at("eval_status"), what))?;
        let outcome = match (metric.part("score"), passed) {
            (Some(value), _) if value.as_number().is_some() => {
                let threshold = metric.part("threshold").map(|value| ("threshold", value.clone()));
                let passed = passed.map(|passed| ("passed", Value::Bool(passed)));
                let known: Vec<(&str, Value)> = threshold.into_iter().chain(passed).collect();
                let score = Score::new(value.clone());
                Outcome::from(if known.is_empty() { score } else { score.metadata(Metadata::new(known)) })
            }
            (Some(Value::Missing) | None, _) => Outcome::unscored("not evaluated"),
            (Some(other), _) => return Err((at("score"), format!("the score is a {}, not a number", other.kind()))),
        };
        attempt = attempt.score(name, outcome);
    }
    // A case that was not judged at all is unscored, not absent.
    if metrics.is_empty() && passed.is_none() {
        attempt.score("eval_status", Outcome::unscored("not evaluated"));
    }
    Ok(())
}
