//! A judge for programs: `calipers.judge/1`.

use super::words::halving;
use crate::document::{
    CaveatDocument, EstimateDocument, SampleIdDocument, UnitDocument, caveat_documents, schema_text, to_json,
};
use calipers_compare::labelled::{Halving, JudgeReport, JudgedGroup, LabelCounts, LabelPlace};
use calipers_core::stats::confusion::Confusion;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

/// The name and version of the schema.
const SCHEMA: &str = "calipers.judge/1";

/// The report as JSON.
#[must_use]
pub fn judge_json(report: &JudgeReport) -> Json {
    to_json(&JudgeDocument::from(report))
}

/// The schema of the JSON: JSON Schema 2020-12, with every property described.
#[must_use]
pub fn judge_schema() -> String {
    schema_text::<JudgeDocument>("judge")
}

/// What `calipers judge --json` prints: how well a judge agrees with people, and its rate corrected by their labels.
#[derive(Serialize, JsonSchema)]
struct JudgeDocument {
    /// The name and version of this schema.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// The run.
    run: String,
    /// The scorer that is judged; null if the records themselves say whether they passed.
    scorer: Option<String>,
    /// Where the labels came from.
    labels: String,
    /// The level of all intervals.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    level: f64,
    /// The least score that counts as passed for both; null if none was given.
    pass_threshold: Option<f64>,
    /// The unit of rates and means.
    unit: UnitDocument,
    /// What was joined, and what was not.
    counts: CountsDocument,
    /// All samples together.
    all: GroupDocument,
    /// Rogan and Gladen's estimate, a check on the corrected one; null where scores are not all 0 or 1.
    rogan_gladen: Option<EstimateDocument>,
    /// How well people agree with one another; null where nothing has several ratings.
    people: Option<EstimateDocument>,
    /// What would halve the interval of the corrected rate.
    halving: HalvingDocument,
    /// The metadata key by which samples are grouped; null where they are not.
    by: Option<String>,
    /// The groups.
    groups: Vec<NamedGroupDocument>,
    /// What to know before relying on any of it.
    caveats: Vec<CaveatDocument>,
    /// The program that made it.
    tool: String,
}

impl From<&JudgeReport> for JudgeDocument {
    fn from(report: &JudgeReport) -> Self {
        Self {
            schema: SCHEMA,
            run: report.run.clone(),
            scorer: report.scorer.clone(),
            labels: report.labels.clone(),
            level: report.level,
            pass_threshold: report.pass_threshold,
            unit: UnitDocument::from(report.unit),
            counts: CountsDocument::from(&report.counts),
            all: GroupDocument::from(&report.all),
            rogan_gladen: report.rogan_gladen.as_ref().map(EstimateDocument::from),
            people: report.people.as_ref().map(EstimateDocument::from),
            halving: HalvingDocument {
                labels: match report.halving {
                    Halving::Labels(more) => Some(more),
                    Halving::Samples | Halving::NoInterval => None,
                },
                text: halving(report),
            },
            by: report.by.clone(),
            groups: report
                .groups
                .iter()
                .map(|(name, group)| NamedGroupDocument { name: name.clone(), figures: GroupDocument::from(group) })
                .collect(),
            caveats: caveat_documents(&report.caveats),
            tool: report.tool.clone(),
        }
    }
}

/// A group of samples.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "named_group")]
struct NamedGroupDocument {
    /// Its value of the metadata key.
    name: String,
    /// The judge on its samples.
    figures: GroupDocument,
}

/// A judge on some samples.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "group")]
struct GroupDocument {
    /// Samples with a score by the judge.
    samples: u64,
    /// Samples with a score and a label.
    labelled: u64,
    /// How judge and people answered; null where they did not only say 0 or 1.
    table: Option<TableDocument>,
    /// The share of labelled attempts on which both agree; null in the same case.
    agreement: Option<EstimateDocument>,
    /// Cohen's kappa; null in the same case.
    kappa: Option<EstimateDocument>,
    /// Krippendorff's alpha.
    alpha: EstimateDocument,
    /// How much of what people pass the judge passes too; null in the same case.
    sensitivity: Option<EstimateDocument>,
    /// How much of what people fail the judge fails too; null in the same case.
    specificity: Option<EstimateDocument>,
    /// The judge's score minus that of people.
    bias: EstimateDocument,
    /// The mean of the judge's scores, as they are.
    naive: EstimateDocument,
    /// What people would have said if they had labelled everything.
    corrected: EstimateDocument,
}

impl From<&JudgedGroup> for GroupDocument {
    fn from(group: &JudgedGroup) -> Self {
        Self {
            samples: group.samples,
            labelled: group.labelled,
            table: group.table.map(TableDocument::from),
            agreement: group.agreement.as_ref().map(EstimateDocument::from),
            kappa: group.kappa.as_ref().map(EstimateDocument::from),
            alpha: EstimateDocument::from(&group.alpha),
            sensitivity: group.sensitivity.as_ref().map(EstimateDocument::from),
            specificity: group.specificity.as_ref().map(EstimateDocument::from),
            bias: EstimateDocument::from(&group.bias),
            naive: EstimateDocument::from(&group.naive),
            corrected: EstimateDocument::from(&group.corrected),
        }
    }
}

/// Labelled attempts by what judge and people said.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "table")]
struct TableDocument {
    /// Passed by both.
    both_pass: u64,
    /// Passed by the judge alone.
    judge_only: u64,
    /// Passed by people alone.
    people_only: u64,
    /// Passed by neither.
    both_fail: u64,
}

impl From<Confusion> for TableDocument {
    fn from(table: Confusion) -> Self {
        Self {
            both_pass: table.true_positives,
            judge_only: table.false_positives,
            people_only: table.false_negatives,
            both_fail: table.true_negatives,
        }
    }
}

/// What would halve an interval.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "halving")]
struct HalvingDocument {
    /// This many more labels; null where labels alone do not.
    labels: Option<u64>,
    /// The same as a sentence; null where there is no interval.
    text: Option<String>,
}

/// What was joined, and what was not.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "counts")]
struct CountsDocument {
    /// Samples with a score by the judge.
    samples: u64,
    /// Samples with a score and a label.
    labelled: u64,
    /// Attempts with both.
    labelled_attempts: u64,
    /// Attempts of the run.
    attempts: u64,
    /// Attempts without a score and without a label.
    unscored: u64,
    /// Ratings that were read.
    ratings: u64,
    /// Rows of the labels without a label.
    blank: u64,
    /// Ratings that were there twice, and counted once.
    doubled: u64,
    /// Attempts on which people are evenly split.
    tied: u64,
    /// Labels of samples or attempts that the run does not have.
    unknown: Vec<PlaceDocument>,
    /// Labels of attempts that the judge did not score.
    unjudged: Vec<PlaceDocument>,
}

impl From<&LabelCounts> for CountsDocument {
    fn from(counts: &LabelCounts) -> Self {
        Self {
            samples: counts.samples,
            labelled: counts.labelled,
            labelled_attempts: counts.labelled_attempts,
            attempts: counts.attempts,
            unscored: counts.unscored,
            ratings: counts.ratings,
            blank: counts.blank,
            doubled: counts.doubled,
            tied: counts.tied,
            unknown: counts.unknown.iter().map(PlaceDocument::from).collect(),
            unjudged: counts.unjudged.iter().map(PlaceDocument::from).collect(),
        }
    }
}

/// What a label is about.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "label_place")]
struct PlaceDocument {
    /// The sample.
    id: SampleIdDocument,
    /// The attempt; null where labels name none.
    epoch: Option<u32>,
}

impl From<&LabelPlace> for PlaceDocument {
    fn from(place: &LabelPlace) -> Self {
        Self { id: SampleIdDocument::from(&place.id), epoch: place.epoch }
    }
}
