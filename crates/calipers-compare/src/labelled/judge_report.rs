//! What is known of a judge. Renderers compute nothing.

use calipers_core::{Caveat, Figure, SampleId, Unit};
use calipers_stats::confusion::Confusion;

/// How far a judge's scores can be trusted, by the labels of people, and what its rate comes to when it is corrected.
#[derive(Clone, Debug)]
pub struct JudgeReport {
    /// The run.
    pub run: String,
    /// The scorer that is judged; none where records say themselves whether they passed.
    pub scorer: Option<String>,
    /// Where the labels came from.
    pub labels: String,
    /// The level of all intervals.
    pub level: f64,
    /// The score from which both count as passed, if one was given.
    pub pass_threshold: Option<f64>,
    /// The unit of rates and means: a rate where all scores and labels are 0 or 1.
    pub unit: Unit,
    /// What was joined, and what was not.
    pub counts: LabelCounts,
    /// How far people agree with one another, where some sample has several ratings.
    pub people: Option<Figure>,
    /// All samples together.
    pub all: JudgedGroup,
    /// Rogan and Gladen's estimate, a check on the corrected one; none where scores are not all 0 or 1.
    pub rogan_gladen: Option<Figure>,
    /// How many labels would halve the interval of the corrected rate.
    pub halving: Halving,
    /// The metadata key by which samples are grouped, if they are.
    pub by: Option<String>,
    /// The groups, by name.
    pub groups: Vec<(String, JudgedGroup)>,
    /// What to know before relying on any of it.
    pub caveats: Vec<Caveat>,
    /// The program that made it.
    pub tool: String,
}

/// A judge on some samples.
#[derive(Clone, Debug)]
pub struct JudgedGroup {
    /// Samples with a score.
    pub samples: u64,
    /// Samples with a score and a label.
    pub labelled: u64,
    /// How judge and people answered; none where they did not only say 0 or 1.
    pub table: Option<Confusion>,
    /// The share of labelled attempts on which both agree; none where they did not only say 0 or 1.
    pub agreement: Option<Figure>,
    /// Cohen's kappa, in the same case.
    pub kappa: Option<Figure>,
    /// Krippendorff's alpha.
    pub alpha: Figure,
    /// How much of what people pass the judge passes too, in the same case as kappa.
    pub sensitivity: Option<Figure>,
    /// How much of what people fail the judge fails too, in the same case.
    pub specificity: Option<Figure>,
    /// The mean of the judge's score minus that of people, on what both scored.
    pub bias: Figure,
    /// The mean of the judge's scores, as they are.
    pub naive: Figure,
    /// What people would have said, had they labelled everything.
    pub corrected: Figure,
}

/// What would halve an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halving {
    /// This many more labels.
    Labels(u64),
    /// Not even labels for all samples: there are too few samples.
    Samples,
    /// There is no interval to halve.
    NoInterval,
}

/// What was joined, and what was not.
#[derive(Clone, Debug, Default)]
pub struct LabelCounts {
    /// Samples with a score by the judge.
    pub samples: u64,
    /// Samples with a score and a label.
    pub labelled: u64,
    /// Attempts with both.
    pub labelled_attempts: u64,
    /// Attempts of the run.
    pub attempts: u64,
    /// Attempts without a score and without a label.
    pub unscored: u64,
    /// Ratings that were read.
    pub ratings: u64,
    /// Rows of the labels without a label.
    pub blank: u64,
    /// Ratings that were there twice, and counted once.
    pub doubled: u64,
    /// Attempts on which people are evenly split, which have no label.
    pub tied: u64,
    /// Labels of samples or attempts that the run does not have.
    pub unknown: Vec<LabelPlace>,
    /// Labels of attempts that the judge did not score.
    pub unjudged: Vec<LabelPlace>,
}

/// What a label is about.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelPlace {
    /// The sample.
    pub id: SampleId,
    /// The attempt, where labels name attempts.
    pub epoch: Option<u32>,
}
