//! What a plan found, named as Inspect names it.

use crate::{Caveat, Figure, SampleId, Score, Seed, Undefined, Unit, Value, ValueLimits};
use indexmap::IndexMap;
use std::borrow::Cow;
use std::sync::Arc;

/// All that a plan found out about a run.
#[derive(Clone, Debug)]
pub struct Results {
    /// How many attempts there were.
    pub attempts: u64,
    /// How many of them ended without an error.
    pub completed_attempts: u64,
    /// The metrics of each scorer, for each way of reducing attempts.
    pub scores: Vec<ScoreResult>,
    /// The reduced score of every sample, if they were asked for.
    pub reductions: Vec<Reduction>,
    /// What to know about the run as a whole.
    pub caveats: Vec<Caveat>,
    /// The level of the intervals.
    pub level: f64,
    /// The seed of what was random.
    pub seed: Seed,
    /// The metadata by whose values samples go together; none where they are independent.
    pub cluster: Vec<Arc<str>>,
    /// The least and the most that the values of attempts can be, as the caller stated them.
    pub limits: ValueLimits,
    /// True when figures are to be shown as Inspect shows them, with its placeholders.
    pub inspect: bool,
}

/// The metrics of one scorer, or of one key of its scores, under one reducer.
#[derive(Clone, Debug)]
pub struct ScoreResult {
    /// The scorer, or the key of a scorer that judges several things; `run` for metrics over fields.
    pub name: String,
    /// The scorer; none for metrics over fields.
    pub scorer: Option<Arc<str>>,
    /// The reducer, if it was named or has to be.
    pub reducer: Option<String>,
    /// How many rows have a score.
    pub scored_samples: u64,
    /// How many rows have none.
    pub unscored_samples: u64,
    /// The metrics by their unique names.
    pub metrics: IndexMap<String, MetricResult>,
}

/// One number of a metric, with where it comes from.
#[derive(Clone, Debug)]
pub struct MetricResult {
    /// The metric, or the name of this number within it.
    pub name: String,
    /// The metric, for numbers that are one of several.
    pub group: Option<String>,
    /// The metric's parameters.
    pub params: Vec<(Cow<'static, str>, Value)>,
    /// The unit of the number.
    pub unit: Unit,
    /// The number.
    pub figure: Figure,
    /// The same number as the file records it, where that is another.
    pub recorded: Option<f64>,
}

/// The reduced scores of one scorer.
#[derive(Clone, Debug)]
pub struct Reduction {
    /// The scorer.
    pub scorer: Arc<str>,
    /// The reducer, if it was named or has to be.
    pub reducer: Option<String>,
    /// The score of each sample.
    pub samples: Vec<(SampleId, Score)>,
}

impl Results {
    /// The number to show for a figure, or why there is none; its placeholder where Inspect's were asked for.
    pub fn shown<'a>(&self, figure: &'a Figure) -> Result<f64, &'a Undefined> {
        if self.inspect { Ok(figure.inspect_value()) } else { figure.value.as_ref().copied() }
    }

    /// The first result of a scorer (or of a key of its scores) with this metric.
    #[must_use]
    pub fn figure(&self, name: &str, metric: &str) -> Option<&Figure> {
        let named = self.scores.iter().filter(|score| score.name == name);
        named.flat_map(|score| score.metrics.get(metric)).map(|found| &found.figure).next()
    }

    /// The result of a scorer under a reducer.
    #[must_use]
    pub fn reduced(&self, name: &str, reducer: &str) -> Option<&ScoreResult> {
        self.scores.iter().find(|score| score.name == name && score.reducer.as_deref() == Some(reducer))
    }
}
