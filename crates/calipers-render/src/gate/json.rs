//! A verdict for programs: `calipers.gate/1`. Everything that the report has, and no number rounded.

use crate::document::{caveat_json, details_json, id_json, interval_json};
use crate::gate::reason_words::{gate_decision, gate_reason};
use crate::gate::rule_words::gate_rule;
use crate::outcome_words::{outcome_word, shortcoming_sentence};
use crate::words::undefined_sentence;
use calipers_core::{Figure, Unit};
use calipers_gate::policy::{BaselineMode, Comparison, Level, Rule};
use calipers_gate::{
    AttemptResult, BaselineResult, CategoryResult, CompositeResult, Coverage, ExpectedBy, GateKind, GateReport,
    GateResult, MetricDifference, Mode, Provenance, ScenarioCheck, ScenarioResult, Term,
};
use serde_json::{Map, Value as Json, json};

/// The name and version of the schema.
const SCHEMA: &str = "calipers.gate/1";

/// The schema itself: JSON Schema 2020-12, with every property described.
pub const GATE_SCHEMA: &str = include_str!("../../schema/calipers.gate.1.json");

/// The verdict as JSON.
#[must_use]
pub fn gate_json(report: &GateReport) -> Json {
    let (mode, confidence) = match report.mode {
        Mode::Point => ("point", None),
        Mode::Confidence(level) => ("confidence", Some(level)),
    };
    json!({
        "schema": SCHEMA,
        "verdict": report.verdict.name(),
        "decided_by": gate_decision(report),
        "deciding_gate": report.decided_by.gate(),
        "mode": mode,
        "confidence": confidence,
        "gates": list(&report.gates, of_gate),
        "required": list(&report.required, of_check),
        "optional": list(&report.optional, of_check),
        "categories": list(&report.categories, of_category),
        "composite": list(&report.composites, of_composite),
        "baseline": report.baseline.as_ref().map(of_baseline),
        "coverage": of_coverage(&report.coverage),
        "scenarios": list(&report.scenarios, of_scenario),
        "provenance": of_provenance(&report.provenance),
        "caveats": list(&report.caveats, caveat_json),
    })
}

pub(crate) fn list<T>(items: &[T], json: fn(&T) -> Json) -> Json {
    items.iter().map(json).collect()
}

fn of_gate(gate: &GateResult) -> Json {
    let (kind, subject) = kind(&gate.kind);
    let mut json = json!({
        "metric": gate.metric,
        "level": level(gate.level),
        "kind": kind,
        "subject": subject,
        "rule": gate_rule(gate),
        "threshold": gate.threshold.map(of_rule),
        "unit": unit(gate.unit),
        "verdict": gate.verdict.name(),
        "reason": gate_reason(&gate.reason),
        "rationale": gate.rationale,
        "unweighted": gate.unweighted,
        "margin": gate.margin,
    });
    let object = json.as_object_mut().expect("it was made as one");
    if let Some(figure) = &gate.figure {
        object.extend(of_figure(figure));
    } else {
        let nothing = ["estimate", "interval", "n", "missing", "method"].map(|key| (key.to_owned(), Json::Null));
        object.extend(nothing);
        object.insert("caveats".to_owned(), json!([]));
    }
    if let Some(more) = gate.more_samples {
        object.insert("more_samples".to_owned(), Json::from(more));
    }
    json
}

/// The keys of a figure.
pub(crate) fn of_figure(figure: &Figure) -> Map<String, Json> {
    let mut map = Map::new();
    let mut put = |key: &str, value| map.insert(key.to_owned(), value);
    put("estimate", json!(figure.value.as_ref().ok()));
    if let Err(why) = &figure.value {
        put("undefined", Json::from(undefined_sentence(why)));
    }
    put("interval", interval_json(figure));
    put("n", Json::from(figure.n));
    put("missing", Json::from(figure.missing));
    put("method", json!(figure.method));
    put("caveats", figure.caveats.iter().map(caveat_json).collect());
    if !figure.details.is_empty() {
        put("details", details_json(figure));
    }
    map
}

/// An object with the keys of a figure besides its own.
pub(crate) fn with_figure(mut json: Json, figure: &Figure) -> Json {
    json.as_object_mut().expect("it was made as one").extend(of_figure(figure));
    json
}

/// What a gate is about, and of what: a category, a risk, a version, a mode.
fn kind(kind: &GateKind) -> (&'static str, Option<&str>) {
    match kind {
        GateKind::Metric => ("metric", None),
        GateKind::Overall => ("overall", None),
        GateKind::Category(category) => ("category", Some(category)),
        GateKind::Risk(level) => ("risk", Some(level.name())),
        GateKind::Progressive(version) => ("progressive", Some(version)),
        GateKind::Composite => ("composite", None),
        GateKind::Baseline(BaselineMode::NonInferiority) => ("baseline", Some("non_inferiority")),
        GateKind::Baseline(BaselineMode::Above) => ("baseline", Some("above")),
        GateKind::Required => ("required_scenarios", None),
        GateKind::BlockingFailures => ("blocking_failures", None),
        GateKind::MinPassRate => ("min_pass_rate", None),
        GateKind::Rubric => ("rubric", None),
        GateKind::Coverage => ("coverage", None),
    }
}

pub(crate) fn level(level: Level) -> &'static str {
    match level {
        Level::Blocking => "blocking",
        Level::Warning => "warning",
    }
}

pub(crate) fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Rate => "rate",
        Unit::Milliseconds => "milliseconds",
        Unit::Usd => "usd",
        Unit::Tokens => "tokens",
        Unit::Ratio => "ratio",
        Unit::Plain => "plain",
    }
}

/// A comparison is written with ASCII, as programs compare.
pub(crate) fn of_rule(rule: Rule) -> Json {
    let comparison = match rule.comparison {
        Comparison::AtLeast => ">=",
        Comparison::Above => ">",
        Comparison::AtMost => "<=",
        Comparison::Below => "<",
        Comparison::Equal => "=",
    };
    json!({"comparison": comparison, "value": rule.value})
}

fn of_check(check: &ScenarioCheck) -> Json {
    json!({
        "id": check.id,
        "outcome": check.outcome.map(|found| outcome_word(Some(found))),
        "passed_attempts": check.passed.0,
        "attempts": check.passed.1,
        "reason": check.reason.as_ref().map(shortcoming_sentence),
    })
}

fn of_category(category: &CategoryResult) -> Json {
    let json = json!({"category": &*category.category, "weight": category.weight, "gate": category.gate});
    with_figure(json, &category.figure)
}

fn of_composite(composite: &CompositeResult) -> Json {
    let json = json!({
        "name": composite.name,
        "formula": composite.formula,
        "gate": composite.gate,
        "terms": list(&composite.terms, of_term),
    });
    with_figure(json, &composite.figure)
}

fn of_term(term: &Term) -> Json {
    let metrics = term.metrics.iter().map(|(name, value)| json!({"metric": name, "value": value}));
    json!({"text": term.text, "value": term.value, "metrics": metrics.collect::<Vec<_>>()})
}

fn of_baseline(baseline: &BaselineResult) -> Json {
    json!({
        "source": baseline.source,
        "recorded": baseline.recorded,
        "age_days": baseline.age_days,
        "differences": list(&baseline.differences, of_difference),
        "newly_failing": baseline.newly_failing,
        "newly_passing": baseline.newly_passing,
        "added": baseline.added,
        "removed": baseline.removed,
    })
}

fn of_difference(difference: &MetricDifference) -> Json {
    let json = json!({
        "metric": difference.metric,
        "unit": unit(difference.unit),
        "baseline": difference.baseline,
        "candidate": difference.candidate,
        "gate": difference.gate,
    });
    with_figure(json, &difference.difference)
}

fn of_coverage(coverage: &Coverage) -> Json {
    let counts = &coverage.counts;
    json!({
        "total": counts.total,
        "passed": counts.passed,
        "failed": counts.failed,
        "errored": counts.errored,
        "unscored": counts.unscored,
        "attempts": counts.attempts,
        "errored_attempts": counts.errored_attempts,
        "missing": coverage.missing,
        "expected_by": coverage.expected_by.map(ExpectedBy::name),
        "unexpected": coverage.unexpected,
        "flaky": counts.flaky,
    })
}

fn of_scenario(scenario: &ScenarioResult) -> Json {
    let scores: Map<String, Json> =
        scenario.scores.iter().map(|(name, score)| (name.clone(), Json::from(*score))).collect();
    json!({
        "id": id_json(&scenario.id),
        "category": scenario.category.as_deref(),
        "outcome": outcome_word(Some(scenario.outcome)),
        "weight": scenario.weight,
        "required": scenario.is_required,
        "scores": scores,
        "attempts": list(&scenario.attempts, of_attempt),
    })
}

fn of_attempt(attempt: &AttemptResult) -> Json {
    json!({
        "epoch": attempt.epoch,
        "outcome": outcome_word(Some(attempt.outcome)),
        "reason": attempt.reason.as_ref().map(shortcoming_sentence),
        "latency_ms": attempt.latency_ms,
    })
}

fn of_provenance(provenance: &Provenance) -> Json {
    let filter = provenance.filter.iter().map(|(key, value)| json!({"key": key, "value": value}));
    let labels = provenance.labels.iter().map(|(label, number)| json!({"label": label, "value": number}));
    json!({
        "files": provenance.files,
        "task": provenance.task,
        "model": provenance.model,
        "policy": provenance.policy,
        "policy_hash": provenance.policy_hash,
        "version": provenance.version,
        "filter": filter.collect::<Vec<_>>(),
        "scorers": provenance.scorers,
        "labels": labels.collect::<Vec<_>>(),
        "scripts": provenance.scripts,
        "level": provenance.level,
        "seed": provenance.seed,
        "reducer": provenance.reducer,
        "tool": provenance.tool,
    })
}
