//! A metric of one run, and the values behind it.

use super::{CompareQuestion, ComparedRun};
use calipers_core::metric::RunRows;
use calipers_core::{Context, Error, Evidence, Family, Figure, Incomparable, Metric, Registry, Unit, Value, View};
use calipers_core::{FIELDS, several_scorers};
use calipers_stats::threshold_test::Direction;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What an attempt takes. Less is better.
pub(super) const RESOURCES: [(&str, Unit); 3] =
    [("latency_ms", Unit::Milliseconds), ("tokens_used", Unit::Tokens), ("cost_usd", Unit::Usd)];

/// A metric to compare, with its unit and better side.
pub(super) struct ComparedMetric {
    pub(super) name: String,
    pub(super) definition: Metric,
    pub(super) unit: Unit,
    pub(super) direction: Option<Direction>,
}

impl ComparedMetric {
    pub(super) fn new(metric: &Metric, registry: &Registry) -> Self {
        let name = if metric.params().is_empty() { metric.name().to_owned() } else { format!("{metric:?}") };
        let field = metric.params().iter().find(|(name, _)| name == "field").map(|(_, field)| field.to_string());
        let resource = RESOURCES.iter().find(|(known, _)| field.as_deref() == Some(*known));
        let about = registry.about(metric.name());
        let (unit, direction) = match (resource, about) {
            (Some((_, unit)), _) => (*unit, Some(Direction::AtMost)),
            // One that is made of another has its unit.
            (None, Some(about)) if about.family == Family::Compound => {
                (metric.unit(), about.direction.or_else(|| inner_direction(metric, registry)))
            }
            (None, Some(about)) => (about.unit, about.direction),
            (None, None) => (Unit::Plain, None),
        };
        Self { name, definition: metric.clone(), unit, direction }
    }

    /// Scores on another scale are no shares, whatever the metric makes of them.
    pub(super) fn fit_unit<'m>(&mut self, mut measured: impl Iterator<Item = &'m RunMetric>) {
        let is_scale = |run: &RunMetric| run.evidence.as_ref().is_some_and(|evidence| !evidence.are_shares());
        if self.unit == Unit::Rate && measured.any(is_scale) {
            self.unit = Unit::Plain;
        }
    }

    /// The mean of what attempts take: latency, tokens or cost.
    pub(super) fn of_resource(field: &str, unit: Unit) -> Self {
        let definition = calipers_core::mean_of(field);
        Self { name: field.to_owned(), definition, unit, direction: Some(Direction::AtMost) }
    }

    /// True for metrics that say how many samples passed, which count a sample that did not run as failed.
    fn counts_passes(&self) -> bool {
        self.definition.rows() == View::Attempts && self.definition.optional_columns().any(|column| column == "passed")
    }

    /// The scorer whose scores are compared, or why there is none. One run's judge is not another's.
    pub(super) fn find_scorer(
        &self,
        runs: &[ComparedRun<'_>],
    ) -> Result<Result<Option<Arc<str>>, Incomparable>, Error> {
        let is_named = self.definition.params().iter().any(|(name, _)| name == "scorer");
        // Whether a sample passed may rest on its score, where nothing else in the records decides it.
        let has_outcome = |run: &ComparedRun<'_>| run.samples.fields().any(|field| FIELDS.contains(&&**field));
        let rests_on_score = self.counts_passes() && !runs.iter().any(has_outcome);
        if is_named || (self.definition.rows() == View::Attempts && !rests_on_score) {
            return Ok(Ok(None));
        }
        let each: Vec<BTreeSet<&Arc<str>>> = runs.iter().map(|run| run.samples.scorers().collect()).collect();
        if each.iter().all(BTreeSet::is_empty) {
            return Ok(Ok(None));
        }
        let mut shared = each[0].clone();
        shared.retain(|scorer| self.definition.is_for(scorer) && each.iter().all(|scorers| scorers.contains(*scorer)));
        match shared.len() {
            _ if rests_on_score && !shared.is_empty() => Ok(Ok(None)),
            1 => Ok(Ok(shared.first().map(|scorer| Arc::clone(scorer)))),
            0 => Ok(Err(no_shared_scorer(runs))),
            _ => Err(several_scorers(shared.into_iter(), self.definition.name())),
        }
    }
}

/// The better side of the metric that another one is made of, as `aggregate("tone", accuracy())` is of `accuracy`.
fn inner_direction(metric: &Metric, registry: &Registry) -> Option<Direction> {
    let (_, inner) = metric.params().iter().find(|(name, _)| name == "agg")?;
    let name = match inner {
        Value::Text(name) => name,
        Value::Map(entries) => entries.iter().find_map(|(key, value)| match value {
            Value::Text(name) if &**key == "name" => Some(name),
            _ => None,
        })?,
        _ => return None,
    };
    registry.about(name)?.direction
}

/// The runs are scored by different scorers.
pub(super) fn no_shared_scorer<'r>(runs: impl IntoIterator<Item = &'r ComparedRun<'r>>) -> Incomparable {
    let scorers = |run: &ComparedRun<'_>| {
        let scorers: BTreeSet<&Arc<str>> = run.samples.scorers().collect();
        (run.name.clone(), scorers.into_iter().cloned().collect())
    };
    Incomparable::NoSharedScorer { scorers: runs.into_iter().map(scorers).collect() }
}

/// The detail of a figure that says what a share is one of.
pub const DENOMINATOR: &str = "denominator";

/// A metric of a run.
pub(super) struct RunMetric {
    pub(super) figure: Figure,
    pub(super) evidence: Option<Evidence>,
    /// The value of each attempt, where some samples have several and the mean is taken of them.
    pub(super) attempts: Option<Vec<(u32, f64)>>,
    /// By place, samples that count as failed because they did not run.
    pub(super) errored: Vec<bool>,
    /// The least and the most that one attempt can have of what is averaged, if that is stated and no value lies beyond it.
    pub(super) limits: Option<[f64; 2]>,
}

impl RunMetric {
    pub(super) fn new(
        metric: &ComparedMetric,
        run: &ComparedRun<'_>,
        rows: &RunRows<'_>,
        question: &CompareQuestion<'_>,
        scorer: Option<&str>,
    ) -> Result<Self, Error> {
        let context = Context { attempts: question.reducer.clone(), ..question.context.clone() };
        let answer = metric.definition.answer_for(rows, &question.reducer, scorer, &context)?;
        let mut figure = answer.figure().ok_or_else(|| not_one_number(metric))?.clone();
        let evidence = metric.definition.evidence_for(rows, &question.reducer, scorer, &context)?;
        if let Some(Evidence::Ratio { denominators, limits, .. }) = &evidence
            && limits.is_share()
        {
            // What it is a share of: predictions, or positives.
            figure.details.push((DENOMINATOR, denominators.iter().sum()));
        }
        let is_repeated = run.samples.attempts() > run.samples.len() && question.reducer.is_mean();
        let attempts = match evidence {
            Some(Evidence::Mean { .. }) if is_repeated => metric.definition.attempts_for(rows, scorer, &context)?,
            _ => None,
        };
        let stated = question.context.limits.stated_for(metric.definition.source(), scorer, &question.reducer);
        let limits = stated.filter(|[least, most]| {
            let is_within = |x: f64| (*least..=*most).contains(&x);
            let are_within = match &evidence {
                Some(Evidence::Mean { values, .. }) => values.iter().all(|x| is_within(*x)),
                Some(Evidence::Ratio { numerators, denominators, .. }) => {
                    // The mean of attempts that are within their limits is so too.
                    numerators.iter().zip(denominators).all(|(y, x)| *x == 0.0 || is_within(y / x))
                }
                _ => false,
            };
            are_within && attempts.iter().flatten().all(|(_, x)| is_within(*x))
        });
        let errored = if metric.counts_passes() { find_errored(run, rows) } else { vec![false; run.samples.len()] };
        Ok(Self { figure, evidence, attempts, errored, limits })
    }

    /// Keeps the figure alone.
    pub(super) fn forget_samples(&mut self) {
        (self.evidence, self.attempts, self.errored) = (None, None, Vec::new());
    }
}

fn not_one_number(metric: &ComparedMetric) -> Error {
    let hint = "compare a metric that is one, or one group of it with `where=`";
    Error::argument(format!("`{}` is not one number", metric.name), hint)
}

/// Samples of which an attempt ended in an error: an outage must not look like a regression.
fn find_errored(run: &ComparedRun<'_>, rows: &RunRows<'_>) -> Vec<bool> {
    let mut errored = vec![false; run.samples.len()];
    if run.samples.errored_attempts() > 0 {
        let attempts = rows.attempts();
        for (row, &sample) in attempts.sample_codes().iter().enumerate() {
            errored[sample as usize] |= attempts.is_errored(row);
        }
    }
    errored
}

/// How many attempts of a run timed out.
pub(super) fn count_timeouts(rows: &RunRows<'_>, context: &Context) -> Result<u64, Error> {
    calipers_core::count_timeouts(&rows.attempts(), context)
}
