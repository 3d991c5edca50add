//! DeepEval: a test run as `deepeval test run` and `evaluate()` save it. Nulls are left out of the file.
//!
//! Repeats have no index: cases with the same name that ask the same are attempts of one sample.

use super::Format;
use super::placed_value::{PlacedValue, SampleNamer, UniqueNames, document, fact, figure, outcome, summary};
use crate::json::JsonParts;
use crate::{ReadError, RecordedResults, RecordedRun, Shape, Source};
use calipers_core::{Metadata, Outcome, Value, pluralize};

/// What DeepEval saves of a test run.
pub(crate) struct DeepEval;

impl Format for DeepEval {
    fn name(&self) -> &'static str {
        "deepeval"
    }

    fn about(&self) -> &'static str {
        "DeepEval: a saved test run, `test_run_….json` or `.latest_run_full.json`"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        // The cases may fill the part of the file that is inspected, and hide the keys after them.
        let beside =
            ["conversationalTestCases", "metricsScores", "testPassed", "testFailed", "runDuration", "testFile"];
        let has_metrics = memchr::memmem::find(&shape.head, b"\"metricsData\"").is_some();
        let cases = shape.has_keys(&["testCases"]) || shape.has_keys(&["conversationalTestCases"]);
        cases && (has_metrics || beside.iter().any(|key| shape.has_keys(&[key])))
            || shape.has_inner("testRunData", "testCases")
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        let content = document(source)?;
        let root = PlacedValue::root(source, &content).map()?;
        let wrapped = root.get("testRunData");
        let run = if wrapped.is_null() { read_run(root)? } else { read_run(wrapped.map()?)? };
        Ok(vec![run])
    }
}

fn read_run(root: PlacedValue<'_>) -> Result<RecordedRun, ReadError> {
    let file = root.get("testFile").text()?;
    let mut run = RecordedRun {
        task: file.map_or(root.get("identifier").text()?, Some).map(str::to_owned),
        model: root.value.path(&["hyperparameters", "model"]).and_then(fact).map(|model| model.to_string()),
        recorded: read_recorded_results(root)?,
        ..RecordedRun::default()
    };
    let (single, turns) = (root.get("testCases"), root.get("conversationalTestCases"));
    if single.is_null() && turns.is_null() {
        return Err(single.wrong("a list of test cases"));
    }
    let mut names = SampleNamer::default();
    let mut numbers = Vec::new();
    for case in single.items()?.chain(turns.items()?) {
        numbers.push(sample(case.map()?, &mut names)?);
    }
    let ids = names.ids();
    let repeats = numbers.len() - ids.len();
    if repeats > 0 {
        let cases = pluralize(repeats, "case");
        run.notes.push(format!("{cases} with the name, input and expectations of another: attempts of one sample"));
    }
    let mut lost = CaseLosses::default();
    for (case, number) in single.items()?.chain(turns.items()?).zip(numbers.iter()) {
        push(case, &ids[*number], &mut run, &mut lost)?;
    }
    lost.note(&mut run.notes);
    let counts = [root.get("testPassed").count()?, root.get("testFailed").count()?];
    let counted_cases: u32 = counts.into_iter().flatten().sum();
    if counts.iter().any(Option::is_some) && counted_cases as usize != numbers.len() {
        let (cases, counted) = (pluralize(numbers.len(), "test case"), counted_cases);
        run.notes.push(format!("the file has {cases} and counts {counted}: reruns may be counted twice"));
    }
    Ok(run)
}

#[derive(Default)]
struct CaseLosses {
    span_metrics: usize,
    undecided: usize,
    unmeasured: usize,
}

impl CaseLosses {
    fn note(&self, notes: &mut Vec<String>) {
        if self.span_metrics > 0 {
            let metrics = pluralize(self.span_metrics, "metric");
            notes.push(format!("{metrics} of spans within traces not read: they judge parts of a case"));
        }
        if self.undecided > 0 {
            let cases = pluralize(self.undecided, "case");
            notes.push(format!("{cases} failed only because a metric had an error: neither passed nor failed"));
        }
        if self.unmeasured > 0 {
            notes.push(format!("{} without metrics: unscored", pluralize(self.unmeasured, "case")));
        }
    }
}

/// The number of the sample that a case is an attempt of.
fn sample(case: PlacedValue<'_>, names: &mut SampleNamer) -> Result<usize, ReadError> {
    let name = case.get("name").text()?.map(without_repeat);
    let content = case.first(["input", "scenario"]);
    let content = match content.value {
        Value::Null => case.get("turns").value.clone(),
        value => value.clone(),
    };
    // Two cases with one input may ask for different things. What the system under test made of them does not count.
    let asked = ASKED.map(|key| super::placed_value::canonical(case.get(key).value));
    // `evaluate()` names unnamed cases by their index, so repeats have different names.
    let name = name.filter(|name| !is_numbered(name));
    if name.is_none() && matches!(content, Value::Null) {
        return Err(case.get("input").wrong("text, since the case has no name"));
    }
    let label = name.map_or_else(|| summary(&content.to_string()), summary);
    Ok(names.number(&label, format!("{name:?} {} {asked:?}", super::placed_value::canonical(&content))))
}

/// What a case asks for, besides its input.
const ASKED: [&str; 5] = ["expectedOutput", "expectedOutcome", "context", "expectedTools", "userDescription"];

/// pytest-repeat adds `[2-5]` to the second of five.
fn without_repeat(name: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_repeat = |inner: &str| inner.split_once('-').is_some_and(|(a, b)| is_number(a) && is_number(b));
    match name.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
        Some((stem, inner)) if is_repeat(inner) && !stem.is_empty() => stem,
        _ => name,
    }
}

fn is_numbered(name: &str) -> bool {
    let number = ["test_case_", "conversational_test_case_"].iter().find_map(|stem| name.strip_prefix(stem));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn push(case: PlacedValue<'_>, id: &str, run: &mut RecordedRun, lost: &mut CaseLosses) -> Result<(), ReadError> {
    let metrics = read_metrics(case)?;
    let passed = decide_pass(case, &metrics, lost)?;
    let fields = measurements(case)?;
    let facts = facts(case)?;
    lost.span_metrics += span_metrics(case.get("trace").value);
    let trace = case.get("trace");
    let is_errored = trace.value.text("status") == Some("ERRORED");
    let has_output = !case.get("actualOutput").is_null() || !case.get("turns").is_null();
    let did_not_run = is_errored && !has_output && metrics.is_empty();
    lost.unmeasured += usize::from(metrics.is_empty() && !did_not_run);

    let mut attempt = run.samples.push(id);
    for (key, value) in facts {
        attempt = attempt.metadata(key, value);
    }
    for (name, value) in fields {
        attempt = attempt.field(name, value);
    }
    if did_not_run {
        attempt.error(first_error(trace.value).unwrap_or("the trace ended in an error").to_owned());
        return Ok(());
    }
    for metric in metrics {
        attempt = attempt.score(metric.name, metric.outcome);
    }
    if let Some(passed) = passed {
        attempt.field("passed", passed);
    }
    Ok(())
}

struct MetricData {
    name: String,
    outcome: Outcome,
    success: Option<bool>,
    is_flaky: bool,
    has_error: bool,
}

fn read_metrics(case: PlacedValue<'_>) -> Result<Vec<MetricData>, ReadError> {
    let mut unique = UniqueNames::default();
    let mut metrics = Vec::new();
    for metric in case.get("metricsData").items()? {
        let metric = metric.map()?;
        let error = metric.get("error").text()?;
        let mut score = metric.get("score").score()?;
        if let Some(reason) = metric.get("reason").text()? {
            score = score.explanation(reason);
        }
        if let Some(output) = case.get("actualOutput").text()? {
            score = score.answer(output);
        }
        let keys = ["threshold", "success", "strictMode", "flaky", "evaluationModel", "evaluationCost"];
        let facts = keys.map(|key| (key, metric.get(key).value.clone()));
        let facts: Vec<_> = facts.into_iter().filter(|(_, value)| !matches!(value, Value::Null)).collect();
        if !facts.is_empty() {
            score = score.metadata(Metadata::new(facts));
        }
        // A score beside an error is a placeholder.
        let outcome = match error {
            Some(error) => Outcome::unscored(format!("metric error: {error}")),
            None => outcome(score, "the metric gave no score"),
        };
        metrics.push(MetricData {
            name: unique.name(metric.get("name").name()?),
            outcome,
            success: metric.get("success").flag()?,
            is_flaky: metric.get("flaky").flag()?.unwrap_or(false),
            has_error: error.is_some(),
        });
    }
    Ok(metrics)
}

/// What DeepEval decided, unless a metric's error decided it: DeepEval counts such a case as failed.
fn decide_pass(
    case: PlacedValue<'_>,
    metrics: &[MetricData],
    lost: &mut CaseLosses,
) -> Result<Option<bool>, ReadError> {
    let success = case.get("success").flag()?;
    let deciding = || metrics.iter().filter(|metric| !metric.is_flaky);
    let has_failed = deciding().any(|metric| !metric.has_error && metric.success == Some(false));
    if success == Some(false) && !has_failed && deciding().any(|metric| metric.has_error) {
        lost.undecided += 1;
        return Ok(None);
    }
    Ok(success)
}

fn measurements(case: PlacedValue<'_>) -> Result<Vec<(&'static str, Value)>, ReadError> {
    let parts = [case.get("inputTokenCount").number()?, case.get("outputTokenCount").number()?];
    let fields = [
        ("latency_ms", case.get("completionTime").number()?.map(|seconds| seconds * 1000.0)),
        ("tokens_used", parts.into_iter().flatten().reduce(|a, b| a + b)),
        ("cost_usd", case.get("tokenCost").number()?),
        // Duration and cost of the metrics themselves. They are not what is measured, but worth keeping.
        ("evaluation_ms", case.get("runDuration").number()?.map(|seconds| seconds * 1000.0)),
        ("evaluation_cost_usd", case.get("evaluationCost").number()?),
    ];
    let mut fields: Vec<_> = fields.into_iter().filter_map(|(name, value)| Some((name, value?.into()))).collect();
    if let Some(status) = case.get("trace").value.text("status") {
        fields.push(("trace_status", status.into()));
    }
    Ok(fields)
}

fn facts(case: PlacedValue<'_>) -> Result<Vec<(String, Value)>, ReadError> {
    let mut facts = Vec::new();
    for (key, value) in case.get("metadata").entries()? {
        facts.extend(fact(value.value).map(|value| (key.to_string(), value)));
    }
    for key in ["name", "input", "scenario", "expectedOutput", "tags", "comments", "flaky"] {
        facts.extend(fact(case.get(key).value).map(|value| (key.to_owned(), value)));
    }
    Ok(facts)
}

const SPANS: [&str; 5] = ["baseSpans", "agentSpans", "llmSpans", "retrieverSpans", "toolSpans"];

fn span_metrics(trace: &Value) -> usize {
    SPANS.iter().flat_map(|spans| trace.items(spans)).map(|span| span.items("metricsData").len()).sum()
}

fn first_error(trace: &Value) -> Option<&str> {
    SPANS.iter().flat_map(|spans| trace.items(spans)).find_map(|span| span.text("error"))
}

fn read_recorded_results(root: PlacedValue<'_>) -> Result<RecordedResults, ReadError> {
    let mut figures = Vec::new();
    let mut add = |scorer: &str, metric: &str, value| figures.push(figure(scorer, metric, value));
    for metric in root.get("metricsScores").items()? {
        let name = metric.map()?.get("metric").name()?.to_owned();
        for key in ["passes", "fails", "errors"] {
            add(&name, key, metric.get(key).number()?);
        }
    }
    for key in ["testPassed", "testFailed", "runDuration", "evaluationCost"] {
        if let Some(value) = root.get(key).number()? {
            add("run", key, Some(value));
        }
    }
    Ok(RecordedResults { figures, ..RecordedResults::default() })
}
