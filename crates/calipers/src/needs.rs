//! Which columns of the records a question reads.

use crate::Selection;
use crate::score::{SCORING_FIELDS, default_metrics};
use calipers_core::{Error, Metric, MetricSpec, StateReader, StateWriter};
use calipers_gate::SOURCE_FIELDS;
use calipers_gate::policy::{Policy, WEIGHTED_SCORE, normalized, pass_rate_name};
use calipers_io::{AttemptTexts, Projection};

/// The columns that a question reads besides sample ids, attempts, errors and scores, which are always read.
#[derive(Clone, Debug)]
pub struct Needs {
    pub(crate) columns: Projection,
    /// The columns in place of these where there are no scores.
    pub(crate) columns_without_scores: Option<Projection>,
    /// True where an empty file is a run without samples, not a mistake.
    pub(crate) allows_empty_files: bool,
    /// True where an answer that equals the right one is correct: no metric looks at the two by itself.
    pub(crate) compares_predictions: bool,
}

/// What says whether a sample passed, and what kind it is. The judge reads these whatever the policy asks.
const JUDGE_COLUMNS: [&str; 14] = [
    "passed",
    "expected_behaviors",
    "observed_behaviors",
    "must_not",
    "violations",
    "correct",
    "predicted",
    "actual",
    "limit",
    "category",
    "capability",
    "failure_type",
    "failure_types",
    "failures",
];

/// An answer and the right one, which say how an attempt went if nothing else does.
const PREDICTIONS: [&str; 2] = ["predicted", "actual"];
/// What says whether a sample passed, where nothing is asked.
const OUTCOME_COLUMNS: [&str; 5] = ["passed", "expected_behaviors", "observed_behaviors", "must_not", "violations"];

/// What attempts took. A comparison always reads these, and a verdict where its report lists the attempts.
const RESOURCE_COLUMNS: [&str; 3] = ["latency_ms", "tokens_used", "cost_usd"];

impl Needs {
    /// All columns, answers and explanations: what a page shows, and what a lint may suggest.
    #[must_use]
    pub fn everything() -> Self {
        Self {
            columns: Projection::everything(),
            columns_without_scores: None,
            allows_empty_files: true,
            compares_predictions: true,
        }
    }

    /// The same with all columns.
    #[must_use]
    pub(crate) fn of_all_columns(&self) -> Self {
        Self { columns: Projection::everything(), columns_without_scores: None, ..self.clone() }
    }

    /// The same for rows that are kept: of records with scores and of those without.
    #[must_use]
    pub(crate) fn for_all_rows(self) -> Self {
        let columns = match &self.columns_without_scores {
            Some(more) => self.columns.clone().or(more),
            None => self.columns.clone(),
        };
        Self { columns, columns_without_scores: None, allows_empty_files: true, ..self }
    }

    /// The columns as bytes, for another machine.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = StateWriter::new();
        out.put(&self.clone().for_all_rows().columns);
        out.put(&self.compares_predictions);
        out.finish()
    }

    /// The columns that another machine has sent.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut from = StateReader::new(bytes);
        let (columns, compares_predictions) = (from.take()?, from.take()?);
        from.end()?;
        Ok(Self { columns, columns_without_scores: None, allows_empty_files: true, compares_predictions })
    }

    /// True when no column is left out.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.columns == Projection::everything()
    }

    /// What these metrics read, or the recorded ones if there are none.
    ///
    /// Behaviours are slow to read and few records are measured by them, so without metrics they are read only where there
    /// are no scores.
    #[must_use]
    pub fn of_metrics(selection: &Selection, metrics: Option<&[MetricSpec]>, with_answers: bool) -> Self {
        let filter = selection.filter.iter().map(|(key, _)| key.as_str());
        let filter = filter.chain(selection.cluster.iter().map(String::as_str));
        let Some(metrics) = metrics else {
            let columns = Projection::usual(filter, with_answers);
            let stand_ins: Vec<Metric> = default_metrics().collect();
            let more = stand_ins.iter().flat_map(Metric::optional_columns).map(str::to_owned);
            let without_scores = columns.clone().and_if_there(more).and_if_there(PREDICTIONS);
            return Self {
                columns,
                columns_without_scores: Some(without_scores),
                allows_empty_files: false,
                compares_predictions: true,
            };
        };
        let compares_predictions = !metrics.iter().flat_map(MetricSpec::metrics).any(reads_predictions);
        let columns = match columns_of(metrics.iter().flat_map(MetricSpec::metrics), filter) {
            Some(columns) if with_answers => columns.with_answers(),
            Some(columns) => columns,
            None => Projection::everything(),
        };
        let without_scores = columns.clone().and_if_there(SCORING_FIELDS).and_if_there(PREDICTIONS);
        Self { columns, columns_without_scores: Some(without_scores), allows_empty_files: false, compares_predictions }
    }

    /// What a policy's metrics read, and what the judge itself does. `resolve` finds the metric of a name or an expression;
    /// where one is not found, or may read anything, everything is needed. A report that lists scenarios shows what their
    /// attempts took, whether the policy asks for that or not.
    #[must_use]
    pub fn of_policy(
        selection: &Selection,
        policy: &Policy,
        cluster: &[String],
        lists_scenarios: bool,
        resolve: impl Fn(&str) -> Option<Metric>,
    ) -> Self {
        let metrics: Option<Vec<Metric>> = metric_names(policy).iter().map(|name| resolve(name)).collect();
        let of_policy = policy.cluster.iter().map(|field| &field.value).filter(|_| cluster.is_empty());
        let cluster: Vec<&str> = cluster.iter().chain(of_policy).map(String::as_str).collect();
        let mut needs = Self::of_run(selection, metrics.as_deref(), &cluster);
        if lists_scenarios {
            needs.columns = needs.columns.and_if_there(RESOURCE_COLUMNS);
        }
        if policy.confidence.is_some() && cluster.is_empty() {
            // To find out whether samples go together, though nothing says so.
            needs.columns = needs.columns.and_if_there(SOURCE_FIELDS);
        }
        needs
    }

    /// What comparing or sizing by these metrics reads, or by those that the records speak of if there are none.
    #[must_use]
    pub fn of_comparison(selection: &Selection, metrics: Option<&[Metric]>, cluster: &[String]) -> Self {
        let cluster: Vec<&str> = cluster.iter().map(String::as_str).collect();
        let needs = Self::of_run(selection, Some(metrics.unwrap_or_default()), &cluster);
        Self { columns: needs.columns.and_if_there(RESOURCE_COLUMNS), ..needs }
    }

    /// The same, and what says how each sample ended and what it asked.
    pub(crate) fn for_summary(self) -> Self {
        let wider = |columns: Projection| {
            let more = OUTCOME_COLUMNS.into_iter().chain(AttemptTexts::question_names()).map(str::to_owned);
            columns.and_if_there(more).with_content()
        };
        let without_scores = self.columns_without_scores.map(wider);
        Self { columns: wider(self.columns), columns_without_scores: without_scores, ..self }
    }

    fn of_run(selection: &Selection, metrics: Option<&[Metric]>, cluster: &[&str]) -> Self {
        let named = selection.filter.iter().map(|(key, _)| key.as_str()).chain(cluster.iter().copied());
        let columns = metrics.and_then(|metrics| columns_of(metrics.iter(), named));
        let columns = columns.map(|columns| columns.and_if_there(JUDGE_COLUMNS));
        Self {
            columns: columns.unwrap_or_else(Projection::everything),
            columns_without_scores: None,
            // An evaluation that wrote nothing has an answer: there is nothing to judge.
            allows_empty_files: true,
            compares_predictions: metrics.is_some_and(|metrics| !metrics.iter().any(reads_predictions)),
        }
    }
}

/// True for a metric that looks at answers and the right ones by itself, or may do so.
fn reads_predictions(metric: &Metric) -> bool {
    metric.columns().is_none_or(|mut columns| columns.any(|column| PREDICTIONS.contains(&column)))
}

/// The columns that these metrics read and these; none where a metric may read anything.
fn columns_of<'a>(
    metrics: impl Iterator<Item = &'a Metric> + Clone,
    named: impl Iterator<Item = &'a str>,
) -> Option<Projection> {
    let mut columns: Vec<&str> = named.collect();
    for metric in metrics.clone() {
        columns.extend(metric.columns()?);
    }
    Some(Projection::only(columns).and_if_there(metrics.flat_map(Metric::optional_columns)))
}

/// The metric that a name in a policy stands for; none for what is made of other metrics.
pub(crate) fn measured_name(name: &str) -> Option<String> {
    (name != WEIGHTED_SCORE).then(|| normalized(name).unwrap_or_else(|| name.to_owned()))
}

/// Every metric that a policy asks for, by name or expression.
fn metric_names(policy: &Policy) -> Vec<String> {
    let formulas = policy.composite.iter().map(|composite| &composite.formula).chain(&policy.pass);
    let in_formulas = formulas.flat_map(|formula| formula.value.expression.names()).map(str::to_owned);
    let named = (policy.gates.iter().map(|gate| &gate.metric))
        .chain(policy.progressive.iter().map(|progressive| &progressive.metric))
        .chain(policy.weights.by_metric.iter().map(|(metric, _)| metric))
        .chain(policy.normalize.iter().map(|(metric, _)| metric))
        .chain(policy.baseline.iter().flat_map(|baseline| &baseline.metrics))
        .chain(&policy.shown)
        .map(|name| name.value.clone());
    let is_formula = |name: &String| policy.composite.iter().any(|composite| composite.name.value == *name);
    let own = |name: String| {
        let known = policy.metrics.iter().find(|(known, _)| known.value == name);
        known.map_or(name, |(_, expression)| expression.value.clone())
    };
    let mut names: Vec<String> = named
        .chain(in_formulas)
        .filter(|name| !is_formula(name) && name != WEIGHTED_SCORE)
        .map(|name| normalized(&name).unwrap_or(name))
        .map(own)
        .chain([pass_rate_name().to_owned()])
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}
