//! A plan for programs: `calipers.plan/1`.

use crate::document::caveat_json;
use crate::gate::json::{list, unit};
use crate::plan::words::{method, unplannable};
use calipers_compare::sizing::{
    AttemptsOption, AttemptsPlan, GateNeed, Pairing, PilotRun, PlanBasis, PlanReport, SampleNeed, SizePoint,
    SizingQuestion, Spread, Unplannable,
};
use calipers_core::stats::threshold_test::Direction;
use serde_json::{Value as Json, json};

/// The name and version of the schema.
const SCHEMA: &str = "calipers.plan/1";

/// The schema itself: JSON Schema 2020-12, with every property described.
pub const PLAN_SCHEMA: &str = include_str!("../../schema/calipers.plan.1.json");

/// The plan as JSON, with its answers as sentences too.
#[must_use]
pub fn plan_json(report: &PlanReport) -> Json {
    let sizing = &report.sizing;
    let told = crate::plan::words::PlanWords::of(report);
    let pilot = match &report.basis {
        PlanBasis::Run(run) => of_pilot(run),
        PlanBasis::Assumed => Json::Null,
    };
    json!({
        "schema": SCHEMA,
        "answers": told.answers(),
        "basis": told.basis(),
        "pilot": pilot,
        "unit": unit(report.unit),
        "question": of_question(&report.question),
        "interval": sizing.interval.as_ref().map(of_needed),
        "gate": sizing.gate.as_ref().map(of_gate),
        "paired": sizing.paired.as_ref().map(of_needed),
        "unpaired": sizing.unpaired.as_ref().map(of_needed),
        "attempts": sizing.attempts.as_ref().map(of_attempts),
        "finished": sizing.finished.as_ref().map(of_point),
        "table": list(&sizing.table, of_point),
        "curve": list(&sizing.curve, of_point),
        "tool": report.tool,
        "caveats": list(&sizing.caveats, caveat_json),
    })
}

fn of_pilot(run: &PilotRun) -> Json {
    let filter = run.filter.iter().map(|(key, value)| json!({"key": key, "value": value}));
    let clusters = run.pilot.clusters.map(|found| json!({"size": found.size, "design_effect": found.design_effect}));
    json!({
        "name": run.name,
        "metric": run.metric,
        "samples": run.pilot.samples,
        "attempts": run.pilot.attempts,
        "clusters": clusters,
        "against": run.against,
        "filter": filter.collect::<Vec<_>>(),
        "scorers": run.scorers,
    })
}

fn of_spread(spread: &Spread) -> Json {
    json!({
        "mean": spread.mean,
        "between": spread.between,
        "within": spread.within,
        "share": spread.is_share,
    })
}

fn of_question(question: &SizingQuestion) -> Json {
    let gate = question.gate.map(|(threshold, direction)| {
        let comparison = match direction {
            Direction::AtLeast => ">=",
            Direction::AtMost => "<=",
        };
        json!({"comparison": comparison, "value": threshold})
    });
    let pairing = question.pairing.map(|pairing| match pairing {
        Pairing::Correlation(x) => json!({"correlation": x}),
        Pairing::Disagreement(x) => json!({"disagreement": x}),
        Pairing::Measured(found) => {
            json!({"between": found.between, "within_a": found.within_a, "within_b": found.within_b})
        }
    });
    json!({
        "spread": of_spread(&question.spread),
        "level": question.level,
        "power": question.power,
        "attempts": question.attempts,
        "half_width": question.half_width,
        "gate": gate,
        "difference": question.difference,
        "pairing": pairing,
        "costs": question.costs.map(|costs| json!({"sample": costs.sample, "attempt": costs.attempt})),
        "samples": question.finished,
    })
}

/// A number or why there is none, under two keys.
fn or_why(found: &Result<u64, Unplannable>) -> (Json, Json) {
    match found {
        Ok(n) => (Json::from(*n), Json::Null),
        Err(why) => (Json::Null, Json::from(unplannable(why))),
    }
}

fn of_needed(needed: &SampleNeed) -> Json {
    let (samples, undefined) = or_why(&needed.samples);
    let normal = needed.normal.map(|size| json!({"real": size.real, "whole": size.whole}));
    json!({"samples": samples, "undefined": undefined, "normal": normal, "method": method(needed.method)})
}

fn of_gate(gate: &GateNeed) -> Json {
    let (perfect, perfect_undefined) = or_why(&gate.perfect);
    let (first, undefined) = or_why(&gate.expected.clone().map(|size| size.first));
    json!({
        "perfect": perfect,
        "perfect_undefined": perfect_undefined,
        "first": first,
        "stable": gate.expected.as_ref().ok().and_then(|size| size.stable),
        "undefined": undefined,
    })
}

fn of_attempts(worth: &AttemptsPlan) -> Json {
    let (optimal, undefined) = or_why(&worth.optimal.clone().map(|best| best.whole));
    json!({
        "optimal": optimal,
        "real": worth.optimal.as_ref().ok().map(|best| best.real),
        "undefined": undefined,
        "options": list(&worth.options, of_option),
    })
}

fn of_option(option: &AttemptsOption) -> Json {
    json!({"attempts": option.attempts, "samples": option.samples, "cost": option.cost})
}

fn of_point(point: &SizePoint) -> Json {
    json!({
        "samples": point.samples,
        "half_width": point.half_width,
        "detectable_paired": point.detectable_paired,
        "detectable_unpaired": point.detectable_unpaired,
        "power": point.power,
        "attainable_gate": point.attainable_gate,
    })
}
