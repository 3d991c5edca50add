//! pydantic-evals: an `EvaluationReport` as pydantic writes it, or the list of its cases.
//!
//! `cases` has only what ran. What raised is under `failures`, and counts here as errored attempts.

use super::Format;
use super::placed_value::{PlacedValue, UniqueNames, document, fact, figure, outcome};
use crate::json::JsonParts;
use crate::{ReadError, RecordedResults, RecordedRun, Shape, Source};
use calipers_core::{Attempt, Outcome, Value, pluralize};
use std::collections::{BTreeSet, HashMap};

/// A serialised `EvaluationReport`.
pub(crate) struct PydanticEvals;

impl Format for PydanticEvals {
    fn name(&self) -> &'static str {
        "pydantic-evals"
    }

    fn about(&self) -> &'static str {
        "pydantic-evals: a serialised evaluation report, or the list of its cases"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        let marks: [&[u8]; 3] = [b"\"task_duration\"", b"\"evaluator_failures\"", b"\"source_case_name\""];
        let has_mark = marks.iter().any(|mark| memchr::memmem::find(&shape.head, mark).is_some());
        let beside = ["failures", "analyses", "report_evaluator_failures", "experiment_metadata"];
        let report = shape.has_keys(&["cases"]) && (has_mark || beside.iter().any(|key| shape.has_keys(&[key])));
        report || shape.lists_keys(&["name", "scores", "assertions", "task_duration"])
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        let content = document(source)?;
        let root = PlacedValue::root(source, &content);
        let mut reader = ReportReader::default();
        if let Value::List(_) = content {
            reader.cases(root)?;
        } else {
            reader.report(root.map()?)?;
        }
        Ok(vec![reader.finish()])
    }
}

#[derive(Default)]
struct ReportReader {
    run: RecordedRun,
    /// The attempts by sample, so that none is taken for another delivered twice.
    seen: HashMap<String, BTreeSet<u32>>,
    failures: usize,
    evaluator_failures: usize,
}

impl ReportReader {
    fn report(&mut self, root: PlacedValue<'_>) -> Result<(), ReadError> {
        self.run.task = root.get("name").text()?.map(str::to_owned);
        let model = root.value.path(&["experiment_metadata", "model"]).and_then(fact);
        self.run.model = model.map(|model| model.to_string());
        let cases = root.get("cases");
        if cases.is_null() {
            return Err(cases.wrong("a list of cases"));
        }
        self.cases(cases)?;
        for failure in root.get("failures").items()? {
            self.failure(failure.map()?)?;
        }
        self.analyses(root.get("analyses"))?;
        let broken = root.get("report_evaluator_failures").items()?.count();
        if broken > 0 {
            self.run.notes.push(format!("{} raised", pluralize(broken, "report evaluator")));
        }
        Ok(())
    }

    fn cases(&mut self, cases: PlacedValue<'_>) -> Result<(), ReadError> {
        cases.items()?.try_for_each(|case| self.case(case.map()?))
    }

    fn case(&mut self, case: PlacedValue<'_>) -> Result<(), ReadError> {
        let (scores, assertions) = scores(case)?;
        let failed = evaluator_failures(case)?;
        self.evaluator_failures += failed.len();
        let passed = match (&assertions[..], failed.is_empty()) {
            ([], _) => None,
            (assertions, _) if assertions.contains(&false) => Some(false),
            // The evaluator that raised might have failed the case.
            (_, is_complete) => is_complete.then_some(true),
        };
        let fields = measurements(case)?;
        let facts = facts(case)?;
        let mut attempt = self.push(case)?;
        for (key, value) in facts {
            attempt = attempt.metadata(key, value);
        }
        let mut unique = UniqueNames::default();
        for (name, outcome) in scores {
            attempt = attempt.score(unique.name(&name), outcome);
        }
        for (name, reason) in failed {
            let outcome = Outcome::unscored(format!("the evaluator raised: {reason}"));
            attempt = attempt.score(unique.name(&name), outcome);
        }
        for (name, value) in fields {
            attempt = attempt.field(name, value);
        }
        if let Some(passed) = passed {
            attempt.field("passed", passed);
        }
        Ok(())
    }

    fn failure(&mut self, failure: PlacedValue<'_>) -> Result<(), ReadError> {
        let message = failure.get("error_message").text()?.filter(|text| !text.is_empty());
        let message = message.or(failure.get("error_type").text()?).unwrap_or("the report names no error").to_owned();
        let facts = facts(failure)?;
        self.failures += 1;
        let mut attempt = self.push(failure)?;
        for (key, value) in facts {
            attempt = attempt.metadata(key, value);
        }
        attempt.error(message);
        Ok(())
    }

    /// The attempt of a case: the third of five is named `greeting [3/5]`, and `source_case_name` is `greeting`.
    fn push(&mut self, case: PlacedValue<'_>) -> Result<Attempt<'_>, ReadError> {
        let name = case.get("name").name()?;
        let stem = case.get("source_case_name").text()?;
        let epoch = stem.and_then(|stem| name.strip_prefix(stem)).and_then(repeat);
        let id = stem.unwrap_or(name);
        let seen = self.seen.entry(id.to_owned()).or_default();
        if !seen.insert(epoch.unwrap_or_else(|| seen.last().map_or(1, |last| last.saturating_add(1)))) {
            return Err(case.error(format!("`{name}` appears twice")));
        }
        Ok(match epoch {
            Some(epoch) => self.run.samples.push_epoch(id, epoch),
            None => self.run.samples.push(id),
        })
    }

    /// Scalars that report evaluators computed.
    fn analyses(&mut self, analyses: PlacedValue<'_>) -> Result<(), ReadError> {
        let mut figures = Vec::new();
        let mut others = 0;
        for analysis in analyses.items()? {
            let value = analysis.get("value");
            if analysis.value.text("type") != Some("scalar") {
                others += 1;
                continue;
            }
            figures.push(figure(analysis.get("title").name()?, "value", value.number()?));
        }
        if others > 0 {
            let analyses = format!("{others} {}", if others == 1 { "analysis" } else { "analyses" });
            self.run.notes.push(format!("{analyses} not read: no single number"));
        }
        self.run.recorded = RecordedResults { figures, ..RecordedResults::default() };
        Ok(())
    }

    fn finish(mut self) -> RecordedRun {
        if self.failures > 0 {
            let failures = pluralize(self.failures, "failure");
            self.run.notes.push(format!("{failures} counted as errored: the report's own averages leave them out"));
        }
        if self.evaluator_failures > 0 {
            let failures = pluralize(self.evaluator_failures, "evaluator failure");
            self.run.notes.push(format!("{failures}: unscored"));
        }
        self.run
    }
}

/// ` [3/5]` as 3.
fn repeat(suffix: &str) -> Option<u32> {
    let (number, of) = suffix.trim_start().strip_prefix('[')?.strip_suffix(']')?.split_once('/')?;
    of.parse::<u32>().ok()?;
    number.parse().ok()
}

type CaseScores = Vec<(String, Outcome)>;

/// Scores and assertions by name, and what the assertions said.
fn scores(case: PlacedValue<'_>) -> Result<(CaseScores, Vec<bool>), ReadError> {
    let mut scores = Vec::new();
    let mut assertions = Vec::new();
    for group in ["scores", "assertions"] {
        for (name, result) in case.get(group).entries()? {
            // A result is a map with its value; a plain value is accepted, too.
            let value = if let Value::Map(_) = result.value { result.get("value") } else { result };
            if group == "assertions" {
                let flag = value.flag()?.ok_or_else(|| value.wrong("true or false"))?;
                assertions.push(flag);
            }
            let mut score = value.score()?;
            if let Value::Map(_) = result.value
                && let Some(reason) = result.get("reason").text()?
            {
                score = score.explanation(reason);
            }
            if let Value::Text(output) = case.get("output").value {
                score = score.answer(output.clone());
            }
            scores.push((name.to_string(), outcome(score, "the evaluator gave no value")));
        }
    }
    Ok((scores, assertions))
}

fn evaluator_failures(case: PlacedValue<'_>) -> Result<Vec<(String, String)>, ReadError> {
    let mut failures = Vec::new();
    for failure in case.get("evaluator_failures").items()? {
        let message = failure.get("error_message").text()?.unwrap_or("no message");
        failures.push((failure.get("name").name()?.to_owned(), message.to_owned()));
    }
    Ok(failures)
}

/// The task's duration is the latency; labels, metrics and attributes keep their names behind what they are.
fn measurements(case: PlacedValue<'_>) -> Result<Vec<(String, Value)>, ReadError> {
    let mut fields: Vec<(String, Value)> = Vec::new();
    let mut add = |name: &str, value: Option<f64>| fields.extend(value.map(|x| (name.to_owned(), x.into())));
    let metrics = case.get("metrics");
    let tokens = [metrics.get("input_tokens").number()?, metrics.get("output_tokens").number()?];
    add("latency_ms", case.get("task_duration").number()?.map(|seconds| seconds * 1000.0));
    add("total_ms", case.get("total_duration").number()?.map(|seconds| seconds * 1000.0));
    add("tokens_used", tokens.into_iter().flatten().reduce(|a, b| a + b));
    add("cost_usd", metrics.get("cost").number()?);
    for (name, value) in metrics.entries()? {
        fields.extend(value.number()?.map(|x| (format!("metrics.{name}"), x.into())));
    }
    for (name, value) in case.get("attributes").entries()? {
        fields.extend(fact(value.value).map(|value| (format!("attributes.{name}"), value)));
    }
    for (name, label) in case.get("labels").entries()? {
        let value = if let Value::Map(_) = label.value { label.get("value") } else { label };
        fields.extend(fact(value.value).map(|value| (format!("labels.{name}"), value)));
    }
    Ok(fields)
}

fn facts(case: PlacedValue<'_>) -> Result<Vec<(String, Value)>, ReadError> {
    let mut facts = Vec::new();
    let metadata = case.get("metadata");
    match metadata.value {
        Value::Map(_) => {
            for (key, value) in metadata.entries()? {
                facts.extend(fact(value.value).map(|value| (key.to_string(), value)));
            }
        }
        other => facts.extend(fact(other).map(|value| ("metadata".to_owned(), value))),
    }
    for key in ["inputs", "expected_output"] {
        facts.extend(fact(case.get(key).value).map(|value| (key.to_owned(), value)));
    }
    Ok(facts)
}
