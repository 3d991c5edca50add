//! A plan for programs: `calipers.plan/1`.

use super::words::{PlanWords, sizing_method, unplannable};
use crate::document::{CaveatDocument, ConditionDocument, UnitDocument, caveat_documents, schema_text, to_json};
use calipers_compare::sizing::{
    AttemptsOption, AttemptsPlan, GateNeed, Pairing, PilotRun, PlanBasis, PlanReport, SampleNeed, SizePoint,
    SizingQuestion, Spread,
};
use calipers_core::stats::power::{ClusterDesign, Costs, SampleSize};
use calipers_core::stats::threshold_test::Direction;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

/// The name and version of the schema.
const SCHEMA: &str = "calipers.plan/1";

/// The plan as JSON, with its answers as sentences too.
#[must_use]
pub fn plan_json(report: &PlanReport) -> Json {
    to_json(&PlanDocument::from(report))
}

/// The schema of the JSON: JSON Schema 2020-12, with every property described.
#[must_use]
pub fn plan_schema() -> String {
    schema_text::<PlanDocument>("plan")
}

/// What `calipers plan --json` prints: how many samples and attempts a run needs. A question that was not asked is null.
#[derive(Serialize, JsonSchema)]
struct PlanDocument {
    /// The name and version of this schema.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// The answers as sentences.
    answers: Vec<String>,
    /// What the plan rests on, as a sentence.
    basis: String,
    /// The run that the plan rests on; null if scores are assumed.
    pilot: Option<PilotDocument>,
    /// The unit of widths and differences.
    unit: UnitDocument,
    /// The question.
    question: QuestionDocument,
    /// Samples for an interval of the given width.
    interval: Option<NeedDocument>,
    /// Samples for the gate.
    gate: Option<GateNeedDocument>,
    /// Samples that two runs share, for the difference.
    paired: Option<NeedDocument>,
    /// Samples of each of two runs that share none, for the difference.
    unpaired: Option<NeedDocument>,
    /// Attempts that are worth their price.
    attempts: Option<AttemptsPlanDocument>,
    /// What a run of a given size, or the pilot, could have shown.
    finished: Option<SizePointDocument>,
    /// A few sizes.
    table: Vec<SizePointDocument>,
    /// The same for many sizes, to draw.
    curve: Vec<SizePointDocument>,
    /// The program that planned it.
    tool: String,
    /// What to know about the plan.
    caveats: Vec<CaveatDocument>,
}

impl From<&PlanReport> for PlanDocument {
    fn from(report: &PlanReport) -> Self {
        let sizing = &report.sizing;
        let words = PlanWords::of(report);
        Self {
            schema: SCHEMA,
            answers: words.answers(),
            basis: words.basis(),
            pilot: match &report.basis {
                PlanBasis::Run(run) => Some(PilotDocument::from(&**run)),
                PlanBasis::Assumed => None,
            },
            unit: UnitDocument::from(report.unit),
            question: QuestionDocument::from(&report.question),
            interval: sizing.interval.as_ref().map(NeedDocument::from),
            gate: sizing.gate.as_ref().map(GateNeedDocument::from),
            paired: sizing.paired.as_ref().map(NeedDocument::from),
            unpaired: sizing.unpaired.as_ref().map(NeedDocument::from),
            attempts: sizing.attempts.as_ref().map(AttemptsPlanDocument::from),
            finished: sizing.finished.as_ref().map(SizePointDocument::from),
            table: sizing.table.iter().map(SizePointDocument::from).collect(),
            curve: sizing.curve.iter().map(SizePointDocument::from).collect(),
            tool: report.tool.clone(),
            caveats: caveat_documents(&sizing.caveats),
        }
    }
}

/// A run that a plan rests on.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "pilot")]
struct PilotDocument {
    /// The run.
    name: String,
    /// How columns were read, where that differs: our name, and the column.
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<std::collections::BTreeMap<String, String>>,
    /// The metric, with its parameters if it has any.
    metric: String,
    /// Samples that have a score.
    samples: u64,
    /// Samples that have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<u64>,
    /// The mean number of attempts per sample.
    #[schemars(range(min = 1))]
    attempts: f64,
    /// The clusters of samples; null if there are none.
    clusters: Option<ClustersDocument>,
    /// A second run on the same samples.
    against: Option<String>,
    /// Only samples whose metadata has these values.
    filter: Vec<ConditionDocument>,
    /// Only these scorers; all if empty.
    scorers: Vec<String>,
}

impl From<&PilotRun> for PilotDocument {
    fn from(run: &PilotRun) -> Self {
        Self {
            name: run.name.clone(),
            columns: crate::document::columns_document(&run.columns),
            metric: run.metric.clone(),
            samples: run.pilot.samples,
            missing: Some(run.pilot.missing).filter(|missing| *missing > 0),
            attempts: run.pilot.attempts,
            clusters: run.pilot.clusters.map(ClustersDocument::from),
            against: run.against.clone(),
            filter: run.filter.iter().map(ConditionDocument::from).collect(),
            scorers: run.scorers.clone(),
        }
    }
}

/// Clusters of samples.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "clusters")]
struct ClustersDocument {
    /// The mean number of samples per cluster.
    #[schemars(range(min = 1))]
    size: f64,
    /// By how much they inflate the variance.
    #[schemars(range(min = 1))]
    design_effect: f64,
}

impl From<ClusterDesign> for ClustersDocument {
    fn from(clusters: ClusterDesign) -> Self {
        Self { size: clusters.size, design_effect: clusters.design_effect }
    }
}

/// What the plan is to answer.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "question")]
struct QuestionDocument {
    /// How much scores vary.
    spread: SpreadDocument,
    /// The level of intervals; tests have an error of 1 − level.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    level: f64,
    /// How often a difference that is there should be detected.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    power: f64,
    /// Attempts per sample.
    #[schemars(range(min = 1))]
    attempts: u64,
    /// Half the width that an interval should have.
    #[schemars(extend("exclusiveMinimum" = 0))]
    half_width: Option<f64>,
    /// A threshold for a rate.
    gate: Option<GateTargetDocument>,
    /// A difference between two runs that should be detected.
    difference: Option<f64>,
    /// What two runs on the same samples share; null if it is not known.
    pairing: Option<PairingDocument>,
    /// What samples and attempts cost.
    costs: Option<CostsDocument>,
    /// The size that `finished` is about.
    samples: Option<u64>,
}

impl From<&SizingQuestion> for QuestionDocument {
    fn from(question: &SizingQuestion) -> Self {
        Self {
            spread: SpreadDocument::from(&question.spread),
            level: question.level,
            power: question.power,
            attempts: question.attempts,
            half_width: question.half_width,
            gate: question.gate.map(|(value, direction)| GateTargetDocument {
                comparison: match direction {
                    Direction::AtLeast => GateSide::AtLeast,
                    Direction::AtMost => GateSide::AtMost,
                },
                value,
            }),
            difference: question.difference,
            pairing: question.pairing.map(PairingDocument::from),
            costs: question.costs.map(CostsDocument::from),
            samples: question.finished,
        }
    }
}

/// How much scores vary.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "spread")]
struct SpreadDocument {
    /// The mean score, where it is known.
    mean: Option<f64>,
    /// The variance of the samples' true means; of single attempts, where attempts are not separated.
    #[schemars(range(min = 0))]
    between: f64,
    /// The variance of attempts at one sample; null where it is not known.
    #[schemars(range(min = 0))]
    within: Option<f64>,
    /// True when an attempt scores 0 or 1.
    share: bool,
}

impl From<&Spread> for SpreadDocument {
    fn from(spread: &Spread) -> Self {
        Self { mean: spread.mean, between: spread.between, within: spread.within, share: spread.is_share }
    }
}

/// A threshold.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "gate")]
struct GateTargetDocument {
    /// Its side.
    comparison: GateSide,
    /// The number.
    value: f64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "gate_side")]
enum GateSide {
    #[serde(rename = ">=")]
    AtLeast,
    #[serde(rename = "<=")]
    AtMost,
}

/// What two runs on the same samples share.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "pairing")]
enum PairingDocument {
    /// As a correlation.
    Correlation {
        /// The correlation.
        #[schemars(range(min = -1, max = 1))]
        correlation: f64,
    },
    /// As the share of samples that one run passes and the other fails.
    Disagreement {
        /// The share.
        #[schemars(range(min = 0, max = 1))]
        disagreement: f64,
    },
    /// As two runs have shown it.
    Measured {
        /// The variance of the true difference from sample to sample.
        #[schemars(range(min = 0))]
        between: f64,
        /// The variance of attempts at one sample in the first run.
        #[schemars(range(min = 0))]
        within_a: f64,
        /// The same in the second run.
        #[schemars(range(min = 0))]
        within_b: f64,
    },
}

impl From<Pairing> for PairingDocument {
    fn from(pairing: Pairing) -> Self {
        match pairing {
            Pairing::Correlation(correlation) => Self::Correlation { correlation },
            Pairing::Disagreement(disagreement) => Self::Disagreement { disagreement },
            Pairing::Measured(found) => {
                Self::Measured { between: found.between, within_a: found.within_a, within_b: found.within_b }
            }
        }
    }
}

/// What samples and attempts cost.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "costs")]
struct CostsDocument {
    /// Of a sample before its first attempt.
    sample: f64,
    /// Of an attempt.
    attempt: f64,
}

impl From<Costs> for CostsDocument {
    fn from(costs: Costs) -> Self {
        Self { sample: costs.sample, attempt: costs.attempt }
    }
}

/// A number of samples, or why there is none.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "need")]
struct NeedDocument {
    /// The smallest number that is enough.
    samples: Option<u64>,
    /// Why there is none.
    undefined: Option<String>,
    /// The same by the normal approximation, as in the literature; null where there is none.
    normal: Option<SampleSizeDocument>,
    /// How it was found.
    method: &'static str,
}

impl From<&SampleNeed> for NeedDocument {
    fn from(need: &SampleNeed) -> Self {
        Self {
            samples: need.samples.as_ref().ok().copied(),
            undefined: need.samples.as_ref().err().map(unplannable),
            normal: need.normal.map(SampleSizeDocument::from),
            method: sizing_method(need.method),
        }
    }
}

/// A size.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "sample_size")]
struct SampleSizeDocument {
    /// What solves the equation.
    real: f64,
    /// The smallest whole number that is enough.
    whole: u64,
}

impl From<SampleSize> for SampleSizeDocument {
    fn from(size: SampleSize) -> Self {
        Self { real: size.real, whole: size.whole }
    }
}

/// The samples that a gate needs, by the exact binomial distribution.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "gate_need")]
struct GateNeedDocument {
    /// The fewest with which it can pass at all: with a perfect score.
    perfect: Option<u64>,
    /// Why there is no such number.
    perfect_undefined: Option<String>,
    /// The first number with which a run of the assumed rate passes with the given power.
    first: Option<u64>,
    /// The number from which it always does, where that is known.
    stable: Option<u64>,
    /// Why there is no such number.
    undefined: Option<String>,
}

impl From<&GateNeed> for GateNeedDocument {
    fn from(gate: &GateNeed) -> Self {
        Self {
            perfect: gate.perfect.as_ref().ok().copied(),
            perfect_undefined: gate.perfect.as_ref().err().map(unplannable),
            first: gate.expected.as_ref().ok().map(|size| size.first),
            stable: gate.expected.as_ref().ok().and_then(|size| size.stable),
            undefined: gate.expected.as_ref().err().map(unplannable),
        }
    }
}

/// What attempts are worth.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "attempts_plan")]
struct AttemptsPlanDocument {
    /// The number of attempts per sample that buys the smallest error for the money.
    optimal: Option<u64>,
    /// The same before it is rounded to a whole number.
    #[schemars(range(min = 0))]
    real: Option<f64>,
    /// Why there is none.
    undefined: Option<String>,
    /// Plans with the same power or width, and their price.
    options: Vec<AttemptsOptionDocument>,
}

impl From<&AttemptsPlan> for AttemptsPlanDocument {
    fn from(plan: &AttemptsPlan) -> Self {
        Self {
            optimal: plan.optimal.as_ref().ok().map(|best| best.whole),
            real: plan.optimal.as_ref().ok().map(|best| best.real),
            undefined: plan.optimal.as_ref().err().map(unplannable),
            options: plan.options.iter().map(AttemptsOptionDocument::from).collect(),
        }
    }
}

/// A number of attempts, and what it takes.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "attempts_option")]
struct AttemptsOptionDocument {
    /// Attempts per sample.
    attempts: u64,
    /// Samples that it then takes.
    samples: u64,
    /// What all of it costs.
    cost: f64,
}

impl From<&AttemptsOption> for AttemptsOptionDocument {
    fn from(option: &AttemptsOption) -> Self {
        Self { attempts: option.attempts, samples: option.samples, cost: option.cost }
    }
}

/// What a number of samples shows.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "size_point")]
struct SizePointDocument {
    /// The number of samples.
    samples: u64,
    /// Half the width of the interval.
    #[schemars(range(min = 0))]
    half_width: Option<f64>,
    /// The smallest difference that two runs on these samples detect with the given power.
    #[schemars(range(min = 0))]
    detectable_paired: Option<f64>,
    /// The same for two runs on different samples, as many each.
    #[schemars(range(min = 0))]
    detectable_unpaired: Option<f64>,
    /// How often the difference is detected, in pairs.
    #[schemars(range(min = 0, max = 1))]
    power: Option<f64>,
    /// The strictest threshold that a perfect score passes.
    #[schemars(range(min = 0, max = 1))]
    attainable_gate: Option<f64>,
}

impl From<&SizePoint> for SizePointDocument {
    fn from(point: &SizePoint) -> Self {
        Self {
            samples: point.samples,
            half_width: point.half_width,
            detectable_paired: point.detectable_paired,
            detectable_unpaired: point.detectable_unpaired,
            power: point.power,
            attainable_gate: point.attainable_gate,
        }
    }
}
