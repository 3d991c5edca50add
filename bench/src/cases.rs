//! What is measured, and our half of it.

use crate::data::{Columns, SCORER};
use calipers_core::{
    Answer, Context, Epochs, Error, Labels, Metric, Plan, Reducer, Results, Samples, Value, accuracy, bootstrap_stderr,
    by_key, ci, frequency, grouped, mean, std, stderr, stderr_clustered,
};

/// Samples that several cases share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Data {
    Scores,
    Attempts,
    Dicts,
}

impl Data {
    pub(crate) const ALL: [Self; 3] = [Self::Scores, Self::Attempts, Self::Dicts];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Scores => "scores",
            Self::Attempts => "attempts",
            Self::Dicts => "dicts",
        }
    }

    pub(crate) fn build(self, columns: &Columns) -> Samples {
        match self {
            Self::Scores => columns.scores(),
            Self::Attempts => columns.attempts(),
            Self::Dicts => columns.dicts(),
        }
    }
}

/// A question that all implementations answer.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) data: Data,
    /// How many times faster than Inspect we mean to be at full size.
    pub(crate) required: Option<f64>,
    /// The largest relative difference between two answers.
    pub(crate) tolerance: f64,
    what: What,
}

enum What {
    Metric { scorer: &'static str, metric: Metric },
    Reducer(Reducer),
    Plan(Box<Plan>),
}

/// Formulas that differ in the order of their additions.
const EXACT: f64 = 1e-9;
/// Two bootstraps of 1000 resamples differ by 3 % (one standard deviation).
const RANDOM: f64 = 0.1;
const RESAMPLES: u64 = 1000;

/// All cases, in the order of their data.
pub(crate) fn all() -> Result<Vec<Case>, Error> {
    let mut cases: Vec<Case> = ["labels", "floats"].into_iter().flat_map(of_scores).collect();
    let metric = frequency(Vec::<String>::new(), true);
    let what = What::Metric { scorer: "labels", metric };
    cases.push(Case { name: "labels.frequency".into(), data: Data::Scores, required: None, tolerance: EXACT, what });
    for name in ["mean", "median", "mode", "max", "at_least_2", "pass_at_3", "pass_k_3", "collect"] {
        cases.push(Case {
            name: format!("reduce.{name}"),
            data: Data::Attempts,
            required: Some(100.0),
            tolerance: EXACT,
            what: What::Reducer(Reducer::parse(name)?),
        });
    }
    cases.push(whole()?);
    cases.push(dicts());
    Ok(cases)
}

fn of_scores(scorer: &'static str) -> Vec<Case> {
    let resampled = if scorer == "labels" { 1000.0 } else { 15.0 };
    let metrics = [
        ("accuracy", accuracy(), Some(100.0), EXACT),
        ("mean", mean(), Some(100.0), EXACT),
        ("std", std(), Some(100.0), EXACT),
        ("stderr", stderr(), Some(100.0), EXACT),
        ("stderr_cluster", stderr_clustered("cluster"), Some(100.0), EXACT),
        ("grouped_accuracy", grouped(accuracy(), "group"), Some(100.0), EXACT),
        ("ci", ci(), None, EXACT),
        ("bootstrap_stderr", bootstrap_stderr(RESAMPLES), Some(resampled), RANDOM),
    ];
    let case = |(name, metric, required, tolerance)| Case {
        name: format!("{scorer}.{name}"),
        data: Data::Scores,
        required,
        tolerance,
        what: What::Metric { scorer, metric },
    };
    metrics.into_iter().map(case).collect()
}

/// Inspect's `eval_results` makes the reductions too, so we do as well.
fn whole() -> Result<Case, Error> {
    let plan = Plan::new()
        .metrics([accuracy(), stderr(), grouped(accuracy(), "group")])
        .epochs(Epochs::new(5, ["mean", "mode", "pass_at_3"])?)
        .keep_reductions();
    let (name, what) = ("whole.eval_results".into(), What::Plan(Box::new(plan)));
    Ok(Case { name, data: Data::Attempts, required: None, tolerance: EXACT, what })
}

fn dicts() -> Case {
    let plan = Plan::new().metrics([by_key([("*", vec![mean(), stderr()])])]).keep_reductions();
    let (name, what) = ("dicts.mean_stderr".into(), What::Plan(Box::new(plan)));
    Case { name, data: Data::Dicts, required: Some(200.0), tolerance: EXACT, what }
}

/// An answer as numbers, with names where there are several kinds of them.
#[derive(Debug)]
pub(crate) struct Numbers {
    pub(crate) names: Vec<String>,
    pub(crate) values: Vec<f64>,
}

impl Case {
    /// Answers on ready-made samples: all that is measured.
    pub(crate) fn run<'a>(&self, samples: &'a Samples) -> Result<Found<'a>, Error> {
        let context = Context::default();
        Ok(match &self.what {
            What::Metric { scorer, metric } => Found::Answer(metric.measure(&samples.points(scorer)?, &context)?),
            What::Reducer(reducer) => Found::Points(samples.points(SCORER)?.reduce(reducer, &context)?),
            What::Plan(plan) => Found::Results(plan.measure(samples)?),
        })
    }
}

/// What a case found, before it is read.
pub(crate) enum Found<'a> {
    Answer(Answer),
    Points(calipers_core::Points<'a>),
    Results(Results),
}

impl Found<'_> {
    pub(crate) fn numbers(&self) -> Numbers {
        let mut numbers = Numbers { names: Vec::new(), values: Vec::new() };
        match self {
            Self::Answer(answer) => numbers.push_answer(answer),
            Self::Points(points) => (0..points.len()).for_each(|row| numbers.push_value(&points.get(row).score.value)),
            Self::Results(results) => numbers.push_results(results),
        }
        numbers
    }
}

impl Numbers {
    fn push_answer(&mut self, answer: &Answer) {
        match answer {
            Answer::Named(answers) => {
                for (name, answer) in answers {
                    self.names.push(name.clone());
                    self.push_answer(answer);
                }
            }
            answer => {
                let value = answer.figure().and_then(|figure| figure.value.as_ref().ok().copied());
                self.values.push(value.unwrap_or(f64::NAN));
            }
        }
    }

    fn push_value(&mut self, value: &Value) {
        match value {
            Value::List(items) => items.iter().for_each(|item| self.push_value(item)),
            value => self.values.push(Labels::default().to_float(value).unwrap_or(f64::NAN)),
        }
    }

    fn push_results(&mut self, results: &Results) {
        for score in &results.scores {
            for (name, metric) in &score.metrics {
                self.names.push(format!("{}/{}/{name}", score.name, score.reducer.as_deref().unwrap_or_default()));
                self.values.push(metric.figure.value.clone().unwrap_or(f64::NAN));
            }
        }
    }

    /// The first difference from what a peer found, in words. The order of names is no difference.
    pub(crate) fn difference(&self, peer: &Self, tolerance: f64) -> Option<String> {
        if (self.names.len(), self.values.len()) != (peer.names.len(), peer.values.len()) {
            return Some(format!("{} numbers here, {} there", self.values.len(), peer.values.len()));
        }
        for (place, &ours) in self.values.iter().enumerate() {
            let name = self.names.get(place);
            let other = name.map_or(Some(place), |name| peer.names.iter().position(|other| other == name));
            let label = name.map_or_else(|| format!("number {place}"), |name| format!("`{name}`"));
            let Some(&theirs) = other.and_then(|place| peer.values.get(place)) else {
                return Some(format!("{label} is missing there"));
            };
            let close = ours == theirs || (ours - theirs).abs() <= tolerance * ours.abs().max(theirs.abs());
            if !close {
                return Some(format!("{label} is {ours} here, {theirs} there"));
            }
        }
        None
    }
}
