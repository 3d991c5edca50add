//! From points to figures: each metric is a state, a fold, a merge and a finish.
//!
//! A state folds in any number of shards on any thread, states merge, and one `finish` makes the answer. A
//! metric lives in one file here, with its state, its rules for undefined cases, and what Inspect prints there.

mod about;
mod arguments;
mod clustered;
mod custom;
mod declaration;
mod evidence;
mod evidence_query;
mod figure;
mod filtered;
mod interval;
mod moments;
mod registry;
mod sample_mean;
mod undefined;

/// The files of the metrics that Calipers brings. Each has a list `METRICS` of what it defines; its public functions and
/// types are those of this crate and of the prelude.
macro_rules! metrics {
    ($($file:ident),* $(,)?) => {
        $(mod $file;)*

        /// The metrics that Calipers brings: the functions that make them, and the types that those take.
        pub mod builtin {
            $(pub use super::$file::*;)*
        }

        /// What the files define, in the order in which metrics are listed.
        static DEFINITIONS: &[&[registry::Definition]] = &[$($file::METRICS),*];
    };
}

// To add a metric: one file, and its line here. `cargo fmt` does not look into macros: `rustfmt` the file by its name.
metrics! {
    mean,
    spread,
    stderr,
    bootstrap_stderr,
    ci,
    grouped,
    corrected,
    aggregate,
    frequency,
    krippendorff,
    perplexity,
    pass_rate,
    behavior_coverage,
    latency,
    token_efficiency,
    cost,
    confusion,
    quantile,
    ratio,
}

pub use about::{About, Family, Unit};
pub use arguments::Arguments;
pub use builtin::*;
pub(crate) use clustered::count_alone;
pub use custom::{IntoAnswer, metric, metric_of_rows};
pub use declaration::{MetricBasis, PolicyRole, Scope, ValueSource};
pub use evidence::{Evidence, RatioLimits};
pub use evidence_query::{AttemptEvidence, AttemptPlace, AttemptValues, PartlyMissing, RunRows};
pub use figure::{Answer, Figure};
pub use interval::{clustered_mean, mean_figure, perfect_score_of};
pub use registry::{Registry, is_inspect_metric, metric_with_role, unit_of_field};
pub use undefined::{Reason, Undefined, UndefinedOperation, UnmetCondition};

use crate::{
    Error, ErrorKind, Labels, MetricEnds, Points, Reducer, StateReader, StateWriter, Stored, Value, ValueLimits,
    mean_score,
};
use calipers_stats::{Confidence, Seed};
use clustered::{ClusterState, without_intervals};
use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// What metrics are computed with, besides the scores. Recorded in the results.
#[derive(Clone, Debug)]
pub struct Context {
    /// The level of the intervals shown.
    pub confidence: Confidence,
    /// The seed of all that is random.
    pub seed: Seed,
    /// How labels become numbers.
    pub labels: Labels,
    /// True to compute as Inspect does, placeholders and all, where it would otherwise be an error.
    pub inspect: bool,
    /// How metrics over attempts, such as `pass_rate`, make one value of a sample's attempts.
    pub attempts: Reducer,
    /// The share of expected behaviours, or the score, at which an attempt passes, where a metric does not say so.
    pub pass_threshold: Option<f64>,
    /// The metadata by whose values samples go together; none where samples are independent.
    pub cluster: Vec<Arc<str>>,
    /// The least and the most that the values of attempts can be, where the caller says so.
    pub limits: ValueLimits,
    /// What these limits say of the values of the metric that is finished.
    pub ends: MetricEnds,
}

impl Context {
    /// With intervals at this level, strictly between 0 and 1, this seed and these labels.
    pub fn new(level: f64, seed: Seed, labels: Labels) -> Result<Self, Error> {
        Ok(Self { confidence: two_sided(level)?, seed, labels, ..Self::default() })
    }
}

/// The two-sided confidence at this level, strictly between 0 and 1.
pub(crate) fn two_sided(level: f64) -> Result<Confidence, Error> {
    Confidence::two_sided(level).map_err(|_| {
        let hint = if level > 1.0 && level < 100.0 {
            format!("a level of {level} % is written {}", level / 100.0)
        } else {
            "95 % is written 0.95".into()
        };
        Error::argument(format!("level is {level}, must be strictly between 0 and 1"), hint)
    })
}

impl Default for Context {
    /// 95 % intervals, seed 0, the usual labels.
    fn default() -> Self {
        let confidence = Confidence::two_sided(0.95).expect("0.95 lies between 0 and 1");
        Self {
            confidence,
            seed: Seed(0),
            labels: Labels::default(),
            inspect: false,
            attempts: mean_score(),
            pass_threshold: None,
            cluster: Vec::new(),
            limits: ValueLimits::default(),
            ends: MetricEnds::default(),
        }
    }
}

/// Which rows a metric folds in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// One row per sample, its attempts reduced; every attempt if reduction is turned off.
    #[default]
    Auto,
    /// One row per sample, and an error if reduction is turned off and samples repeat.
    Reduced,
    /// Every attempt that was scored.
    Unreduced,
    /// Every attempt of the run, scored or not: for metrics over fields. Computed once, not for each scorer.
    Attempts,
}

impl View {
    /// The rows of a metric that passes its rows on to one with this view: as in Inspect, the outer one decides, unless the
    /// inner one cannot do with others.
    fn of_outer(self) -> Self {
        if matches!(self, Self::Attempts | Self::Reduced) { self } else { Self::Auto }
    }
}

/// How many rows a metric has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Rows folded in.
    pub n: u64,
    /// Rows that have no score and were left out.
    pub missing: u64,
}

impl Stored for Tally {
    fn save(&self, out: &mut StateWriter) {
        out.put(&(self.n, self.missing));
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        let (n, missing) = from.take()?;
        Ok(Self { n, missing })
    }
}

/// A metric of your own with a state: fold shards in, merge states, finish once.
///
/// A plain function of all scores is simpler: see [`metric`]. A state is for metrics over many rows, or over
/// rows that do not fit into one place. The answer must not depend on the order of folds and merges.
///
/// ```
/// use calipers_core::{Answer, Context, Error, Figure, Measure, Metric, Plan, Points, Samples, Tally};
///
/// struct Best;
///
/// impl Measure for Best {
///     type State = f64;
///
///     fn start(&self) -> f64 {
///         f64::NEG_INFINITY
///     }
///
///     fn fold(&self, best: &mut f64, points: &Points<'_>, context: &Context) -> Result<(), Error> {
///         *best = points.floats(context)?.iter().fold(*best, |best, &x| best.max(x));
///         Ok(())
///     }
///
///     fn merge(&self, best: &mut f64, other: f64) {
///         *best = best.max(other);
///     }
///
///     fn finish(&self, best: f64, tally: Tally, _: &Context) -> Result<Answer, Error> {
///         Ok(Figure::new(best, tally, "largest").into())
///     }
/// }
///
/// let mut samples = Samples::new();
/// samples.push(1).score("judge", 0.25);
/// samples.push(2).score("judge", 0.75);
/// let results = Plan::new().metrics([Metric::new("best", Best)]).measure(&samples)?;
/// assert_eq!(results.figure("judge", "best").expect("asked for").value, Ok(0.75));
/// # Ok::<(), Error>(())
/// ```
pub trait Measure: Send + Sync + 'static {
    /// What is kept between folds.
    type State: Send + 'static;

    /// The state before the first row.
    fn start(&self) -> Self::State;

    /// Folds in a shard. All rows have a value (but for metrics over [`View::Attempts`], which read fields).
    fn fold(&self, state: &mut Self::State, points: &Points<'_>, context: &Context) -> Result<(), Error>;

    /// Folds in what another state has seen.
    fn merge(&self, state: &mut Self::State, other: Self::State);

    /// The answer.
    fn finish(&self, state: Self::State, tally: Tally, context: &Context) -> Result<Answer, Error>;

    /// Counts rows without a value, where the metric has to know whose they are.
    fn fold_missing(&self, _state: &mut Self::State, _points: &Points<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Writes a state, so that it can be merged elsewhere. A metric that does not say how has states that stay here.
    fn save(&self, _state: &Self::State, _out: &mut StateWriter) -> Result<(), Error> {
        Err(ErrorKind::UnsavedMetric { metric: String::new() }.into())
    }

    /// Reads a state that the same metric has written. The bytes may be damaged.
    fn load(&self, _from: &mut StateReader<'_>) -> Result<Self::State, Error> {
        Err(ErrorKind::UnsavedMetric { metric: String::new() }.into())
    }

    /// True when it matters which rows have no value, not only how many.
    fn tells_missing_apart(&self) -> bool {
        false
    }

    /// What the figure rests on, sample by sample, where it is a mean, a ratio of sums or a quantile. The rows are all
    /// of a run, those without a value among them.
    fn evidence(&self, _points: &Points<'_>, _context: &Context) -> Result<Option<Evidence>, Error> {
        Ok(None)
    }
}

/// The same with the state's type forgotten.
trait Erased: Send + Sync {
    fn start(&self) -> Box<dyn Any + Send>;
    fn fold(&self, state: &mut dyn Any, points: &Points<'_>, context: &Context) -> Result<(), Error>;
    fn merge(&self, state: &mut dyn Any, other: Box<dyn Any + Send>);
    fn finish(&self, state: Box<dyn Any + Send>, tally: Tally, context: &Context) -> Result<Answer, Error>;
    fn fold_missing(&self, state: &mut dyn Any, points: &Points<'_>) -> Result<(), Error>;
    fn tells_missing_apart(&self) -> bool;
    fn evidence(&self, points: &Points<'_>, context: &Context) -> Result<Option<Evidence>, Error>;
    fn save(&self, state: &(dyn Any + Send), out: &mut StateWriter) -> Result<(), Error>;
    fn load(&self, from: &mut StateReader<'_>) -> Result<Box<dyn Any + Send>, Error>;
}

const SAME_STATE: &str = "a metric is only given states that it started itself";

impl<M: Measure> Erased for M {
    fn start(&self) -> Box<dyn Any + Send> {
        Box::new(Measure::start(self))
    }

    fn fold(&self, state: &mut dyn Any, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        Measure::fold(self, state.downcast_mut().expect(SAME_STATE), points, context)
    }

    fn merge(&self, state: &mut dyn Any, other: Box<dyn Any + Send>) {
        Measure::merge(self, state.downcast_mut().expect(SAME_STATE), *other.downcast().expect(SAME_STATE));
    }

    fn finish(&self, state: Box<dyn Any + Send>, tally: Tally, context: &Context) -> Result<Answer, Error> {
        Measure::finish(self, *state.downcast().expect(SAME_STATE), tally, context)
    }

    fn fold_missing(&self, state: &mut dyn Any, points: &Points<'_>) -> Result<(), Error> {
        Measure::fold_missing(self, state.downcast_mut().expect(SAME_STATE), points)
    }

    fn tells_missing_apart(&self) -> bool {
        Measure::tells_missing_apart(self)
    }

    fn evidence(&self, points: &Points<'_>, context: &Context) -> Result<Option<Evidence>, Error> {
        Measure::evidence(self, points, context)
    }

    fn save(&self, state: &(dyn Any + Send), out: &mut StateWriter) -> Result<(), Error> {
        Measure::save(self, state.downcast_ref().expect(SAME_STATE), out)
    }

    fn load(&self, from: &mut StateReader<'_>) -> Result<Box<dyn Any + Send>, Error> {
        Ok(Box::new(Measure::load(self, from)?))
    }
}

/// A metric, by value: made by [`accuracy`] and its kin, by [`metric`] from a function, or from a [`Measure`].
#[derive(Clone)]
pub struct Metric {
    name: Arc<str>,
    params: Vec<(Cow<'static, str>, Value)>,
    view: View,
    /// The only scorer that it is for, if it is not for all.
    scorer: Option<Arc<str>>,
    /// The scorer that others are compared with, which it is not for.
    reference: Option<Arc<str>>,
    labels: Option<Arc<Labels>>,
    /// The fields that it reads.
    fields: Vec<Arc<str>>,
    /// The fields that it reads where they are.
    optional: Vec<Arc<str>>,
    /// What takes its place in a run that no scorer has looked at.
    without_scores: Option<Arc<Metric>>,
    /// The metadata that it groups or clusters by; `None` when it may look at anything.
    keys: Option<Vec<Arc<str>>>,
    /// True when it passes its rows on to another metric, which answers.
    passes_on: bool,
    /// True when it is an error or an interval of the mean of the scores that takes the clusters of the plan.
    is_of_mean: bool,
    /// True when name and parameters do not tell it from every other metric, as with a function of the user's.
    unlike_others: bool,
    /// The unit of its values; `None` for that of its definition.
    unit: Option<Unit>,
    precision: Precision,
    scope: Scope,
    basis: MetricBasis,
    source: ValueSource,
    measure: Arc<dyn Erased>,
}

/// Whether a metric states how far another one may be from the truth. Each metric declares it for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Precision {
    /// No: it is an estimate itself.
    #[default]
    NotStated,
    /// It is a standard error.
    StandardError,
    /// It is an interval.
    Interval,
}

impl Metric {
    /// A metric with a state.
    pub fn new(name: impl Into<Arc<str>>, measure: impl Measure) -> Self {
        Self {
            name: name.into(),
            params: Vec::new(),
            view: View::Auto,
            scorer: None,
            reference: None,
            labels: None,
            fields: Vec::new(),
            optional: Vec::new(),
            without_scores: None,
            keys: None,
            passes_on: false,
            is_of_mean: false,
            unlike_others: true,
            unit: Some(Unit::Plain),
            precision: Precision::NotStated,
            scope: Scope::Unknown,
            basis: MetricBasis::Unknown,
            source: ValueSource::Unknown,
            measure: Arc::new(measure),
        }
    }

    /// A metric whose name and parameters say all about it.
    pub(crate) fn recorded(name: impl Into<Arc<str>>, measure: impl Measure) -> Self {
        Self { unlike_others: false, keys: Some(Vec::new()), unit: None, ..Self::new(name, measure) }
    }

    /// A metric that passes its rows on to this one.
    pub(crate) fn within(&self, name: &str, outer: impl Measure) -> Self {
        let inner = self.clone();
        let outer = Self {
            fields: inner.fields,
            optional: inner.optional,
            keys: inner.keys,
            scorer: inner.scorer,
            reference: inner.reference,
            unit: Some(self.unit()),
            passes_on: true,
            ..Self::recorded(name, outer)
        };
        outer.view(self.view.of_outer()).unlike_others_if(self.unlike_others || self.labels.is_some())
    }

    pub(crate) fn stating(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// Declares that it is an error or an interval of the mean of the scores, which the clusters of a plan change.
    pub(crate) fn of_mean(mut self) -> Self {
        self.is_of_mean = true;
        self
    }

    /// Declares which samples it is about.
    pub(crate) fn about_samples(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Declares what it is computed from.
    pub(crate) fn based_on(mut self, basis: MetricBasis) -> Self {
        self.basis = basis;
        self
    }

    /// Declares what the values of attempts are.
    pub(crate) fn summing(mut self, source: ValueSource) -> Self {
        self.source = source;
        self
    }

    /// What the values of attempts are that it sums up or averages.
    #[must_use]
    pub fn source(&self) -> &ValueSource {
        &self.source
    }

    /// The only scorer that it is for, if it is not for all.
    #[must_use]
    pub fn scorer(&self) -> Option<&str> {
        self.scorer.as_deref()
    }

    /// Which samples of a run it is about.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// What it is computed from, as far as that is known before any sample is.
    #[must_use]
    pub fn basis(&self) -> MetricBasis {
        self.basis
    }

    /// The unit of its values. That of a field follows from the field's name, and a function of the user's has plain numbers.
    ///
    /// ```
    /// use calipers_core::{Unit, grouped, latency_p95, mean_of};
    ///
    /// assert_eq!(latency_p95().unit(), Unit::Milliseconds);
    /// assert_eq!(grouped(latency_p95(), "category").unit(), Unit::Milliseconds);
    /// assert_eq!(mean_of("cost_usd").unit(), Unit::Usd);
    /// ```
    #[must_use]
    pub fn unit(&self) -> Unit {
        self.unit.unwrap_or_else(|| registry::unit_of_definition(self))
    }

    /// The metadata key that it has a figure for each value of, if it is grouped.
    pub(crate) fn group_key(&self) -> Option<&str> {
        self.text_param("group_key")
    }

    /// The name of the figure for all groups.
    pub(crate) fn all_label(&self) -> &str {
        self.text_param("all_label").unwrap_or(grouped::ALL_LABEL)
    }

    /// True if a condition leaves only samples with one value of this metadata key.
    pub(crate) fn is_within_one(&self, key: &str) -> bool {
        let has_key =
            |value: &Value| matches!(value, Value::Map(entries) if entries.iter().any(|(own, _)| **own == *key));
        self.params.iter().any(|(name, value)| name == "where" && has_key(value))
    }

    pub(crate) fn without_param(mut self, name: &str) -> Self {
        self.params.retain(|(known, _)| known != name);
        self
    }

    fn text_param(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(known, _)| known == name).and_then(|(_, value)| match value {
            Value::Text(text) => Some(&**text),
            _ => None,
        })
    }

    pub(crate) fn precision(&self) -> Precision {
        self.precision
    }

    pub(crate) fn unlike_others_if(mut self, condition: bool) -> Self {
        self.unlike_others |= condition;
        self
    }

    pub(crate) fn reading<'f>(mut self, fields: impl IntoIterator<Item = &'f str>) -> Self {
        self.fields = fields.into_iter().map(Arc::from).collect();
        self
    }

    /// That it looks at these fields where they are.
    pub(crate) fn reading_if_there<'f>(mut self, fields: impl IntoIterator<Item = &'f str>) -> Self {
        self.optional.extend(fields.into_iter().map(Arc::from));
        self
    }

    /// With another metric, over attempts, that takes its place in a run without scores.
    pub(crate) fn or_without_scores(mut self, other: Self) -> Self {
        self.without_scores = Some(Arc::new(other));
        self
    }

    /// What takes its place in a run without scores, under its name and with its parameters.
    pub(crate) fn stand_in(&self) -> Option<Self> {
        let other = Self::clone(self.without_scores.as_ref()?);
        Some(Self { name: self.name.clone(), params: self.params.clone(), labels: self.labels.clone(), ..other })
    }

    /// True when a run with these fields and without scores has its figure.
    #[must_use]
    pub fn does_without_scores(&self, fields: &BTreeSet<&Arc<str>>) -> bool {
        self.view == View::Attempts || self.stand_in().is_some_and(|metric| metric.has_field_among(fields))
    }

    /// True when one of the fields that it reads where they are is among the known ones.
    pub(crate) fn has_field_among(&self, known: &BTreeSet<&Arc<str>>) -> bool {
        self.optional.iter().any(|field| known.contains(field))
    }

    /// That it groups or clusters by this metadata.
    pub(crate) fn keyed_by(mut self, key: &str) -> Self {
        if let Some(keys) = &mut self.keys {
            keys.push(key.into());
        }
        self
    }

    /// The fields and metadata that it looks at besides scores; `None` when it may look at anything.
    #[must_use]
    pub fn columns(&self) -> Option<impl Iterator<Item = &str>> {
        let keys = self.keys.as_ref()?;
        Some(self.fields.iter().chain(keys).map(|name| &**name))
    }

    /// The fields and metadata that it looks at where they are, and does without where they are not.
    pub fn optional_columns(&self) -> impl Iterator<Item = &str> {
        let stand_in = self.without_scores.iter().flat_map(|other| &other.optional);
        self.optional.iter().chain(stand_in).map(|name| &**name)
    }

    /// True when the other is certain to give the same figures.
    pub fn is_same_as(&self, other: &Self) -> bool {
        let alike = !self.unlike_others && !other.unlike_others && self.labels == other.labels;
        self.name == other.name
            && self.params == other.params
            && self.view == other.view
            && (alike || Arc::ptr_eq(&self.measure, &other.measure))
    }

    /// True when its name and parameters do not say what it computes: it is a user's function, it has its own labels, or it
    /// contains such a metric.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.unlike_others || self.labels.is_some()
    }

    /// The metric as a parameter of another: its name, and its parameters if it has any.
    pub(crate) fn as_param(&self) -> Value {
        let name = Value::from(&*self.name);
        if self.params.is_empty() {
            return name;
        }
        let params = self.params.iter().map(|(name, value)| (Arc::from(&**name), value.clone())).collect();
        Value::from([("name", name), ("params", Value::Map(params))])
    }

    /// An error unless every field that the metric reads is among the known ones.
    pub(crate) fn check_fields(&self, known: &BTreeSet<&Arc<str>>) -> Result<(), Error> {
        let Some(field) = self.fields.iter().find(|field| !known.contains(field)) else { return Ok(()) };
        let known = known.iter().map(ToString::to_string).collect();
        Err(Error::from(ErrorKind::NoField { field: field.to_string(), known }).at_metric(&self.name))
    }

    /// With a parameter, for the record.
    #[must_use]
    pub fn param(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Value>) -> Self {
        self.params.push((name.into(), value.into()));
        self
    }

    /// Over these rows.
    #[must_use]
    pub fn view(mut self, view: View) -> Self {
        self.view = view;
        self
    }

    /// With its own labels, in place of those of the plan.
    #[must_use]
    pub fn with_labels(mut self, labels: Labels) -> Self {
        self.labels = Some(Arc::new(labels));
        self
    }

    /// Under another name.
    #[must_use]
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// The name in results.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The parameters that were set.
    #[must_use]
    pub fn params(&self) -> &[(Cow<'static, str>, Value)] {
        &self.params
    }

    /// The rows it folds in.
    #[must_use]
    pub fn rows(&self) -> View {
        self.view
    }

    /// The context with the metric's own labels, if it has some.
    fn own_context<'c>(&self, context: &'c Context) -> Cow<'c, Context> {
        let Some(labels) = &self.labels else { return Cow::Borrowed(context) };
        let labels = Labels::clone(labels);
        let labels = if context.labels.is_lenient() { labels.unknown_as_zero() } else { labels };
        Cow::Owned(Context { labels, ..context.clone() })
    }

    /// The level of an interval that has one of its own.
    fn own_confidence(&self) -> Option<Confidence> {
        let (_, value) = self.params.iter().find(|(name, _)| self.is_of_mean && name == "level")?;
        Confidence::two_sided(value.as_number()?).ok()
    }

    pub(crate) fn cluster(&self) -> Option<String> {
        let (_, value) = self.params.iter().find(|(name, _)| *name == "cluster")?;
        Some(value.to_string())
    }

    /// Its name and parameters, its own labels and its rows: all that tells it from others, unless it is a function.
    pub(crate) fn describe(&self) -> String {
        let labels = self.labels.as_ref().map(|labels| format!("/{labels:?}")).unwrap_or_default();
        format!("{self:?}/{:?}{labels}", self.view)
    }

    /// A state that has seen nothing.
    #[must_use]
    pub fn start(&self) -> State {
        State { tally: Tally::default(), metric: self.clone(), inner: self.measure.start(), clusters: None }
    }

    /// A state that [`State::save`] has written.
    pub fn load(&self, from: &mut StateReader<'_>) -> Result<State, Error> {
        let tally = from.take()?;
        let inner = self.measure.load(from).map_err(|error| self.name_unsaved(error))?;
        let clusters = from.take::<bool>()?.then(|| ClusterState::load(from).map(Box::new)).transpose()?;
        Ok(State { tally, metric: self.clone(), inner, clusters })
    }

    fn name_unsaved(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::UnsavedMetric { metric } if metric.is_empty() => {
                ErrorKind::UnsavedMetric { metric: self.name.to_string() }.into()
            }
            _ => error,
        }
    }

    /// The answer for these points. Rows without a value are left out and counted as missing.
    pub fn measure(&self, points: &Points<'_>, context: &Context) -> Result<Answer, Error> {
        self.check_fields(&points.samples().columns().collect())?;
        let mut state = self.start();
        state.fold(points, context)?;
        state.finish(context)
    }
}

impl fmt::Debug for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name)?;
        for (index, (name, value)) in self.params.iter().enumerate() {
            write!(f, "{}{name}={value}", if index > 0 { ", " } else { "" })?;
        }
        f.write_str(")")
    }
}

/// What a metric has seen so far.
pub struct State {
    tally: Tally,
    metric: Metric,
    inner: Box<dyn Any + Send>,
    /// What the figure rests on by cluster, where the plan names clusters.
    clusters: Option<Box<ClusterState>>,
}

/// Rows told apart by whether they have a value.
pub(crate) struct Split<'a> {
    pub(crate) scored: Points<'a>,
    pub(crate) unscored: Points<'a>,
    /// How many more have no value, and no row either.
    pub(crate) absent: u64,
}

impl<'a> Split<'a> {
    pub(crate) fn new(points: &Points<'a>) -> Self {
        Self { scored: points.scored(), unscored: points.unscored(), absent: 0 }
    }
}

impl State {
    /// Folds in a shard. Rows without a value are counted as missing.
    pub fn fold(&mut self, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        // Called by hand, Inspect's metrics see unscored rows too; here they are told apart before any metric runs.
        if context.inspect || self.metric.view == View::Attempts {
            return self.fold_rows(points, context);
        }
        self.fold_split(&Split::new(points), context)
    }

    pub(crate) fn fold_split(&mut self, split: &Split<'_>, context: &Context) -> Result<(), Error> {
        if !split.scored.is_empty() {
            self.fold_rows(&split.scored, context)?;
        }
        self.tally.missing += split.absent;
        self.fold_missing(&split.unscored)
    }

    /// Folds in a shard as it is.
    pub(crate) fn fold_rows(&mut self, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        self.tally.n += points.len() as u64;
        let context = self.metric.own_context(context);
        let folded = self.metric.measure.fold(self.inner.as_mut(), points, &context);
        let folded = folded.and_then(|()| self.fold_clusters(points, &context));
        folded.map_err(|error| error.at_metric_if_unnamed(&self.metric.name))
    }

    /// Adds up by cluster what the figure rests on, where the plan names clusters.
    fn fold_clusters(&mut self, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        if context.cluster.is_empty() || self.metric.passes_on {
            return Ok(());
        }
        let evidence = match self.metric.is_of_mean {
            true => Some(Evidence::of_scores(points, context)?),
            false => self.metric.measure.evidence(points, context)?,
        };
        if let Some(evidence) = evidence {
            self.clusters.get_or_insert_default().fold(evidence, points.samples(), &context.cluster);
        }
        Ok(())
    }

    /// Counts rows that have no score.
    pub(crate) fn fold_missing(&mut self, points: &Points<'_>) -> Result<(), Error> {
        self.tally.missing += points.len() as u64;
        if points.is_empty() { Ok(()) } else { self.metric.measure.fold_missing(self.inner.as_mut(), points) }
    }

    /// True when it matters which rows have no value, not only how many.
    pub(crate) fn tells_missing_apart(&self) -> bool {
        self.metric.measure.tells_missing_apart()
    }

    pub(crate) fn tally(&self) -> Tally {
        self.tally
    }

    pub(crate) fn metric(&self) -> &Metric {
        &self.metric
    }

    /// Folds in what another state of the same metric has seen.
    ///
    /// # Panics
    ///
    /// When the other state belongs to another metric.
    pub fn merge(&mut self, other: Self) {
        self.tally.n += other.tally.n;
        self.tally.missing += other.tally.missing;
        self.metric.measure.merge(self.inner.as_mut(), other.inner);
        match (&mut self.clusters, other.clusters) {
            (Some(mine), Some(theirs)) => mine.merge(*theirs),
            (mine @ None, theirs) => *mine = theirs,
            (_, None) => {}
        }
    }

    /// Writes what has been seen, for [`Metric::load`] of the same metric.
    ///
    /// ```
    /// use calipers_core::{Context, Plan, Samples, StateReader, StateWriter, accuracy};
    ///
    /// let mut samples = Samples::new();
    /// (0..4).for_each(|id| drop(samples.push(id).score("match", if id < 3 { "C" } else { "I" })));
    /// let (context, mut state) = (Context::default(), accuracy().start());
    /// state.fold(&samples.points("match")?, &context)?;
    /// let mut out = StateWriter::new();
    /// state.save(&mut out)?;
    /// let copy = accuracy().load(&mut StateReader::new(&out.finish()))?;
    /// assert_eq!(copy.finish(&context)?.figure().expect("one figure").value, Ok(0.75));
    /// # Ok::<(), calipers_core::Error>(())
    /// ```
    pub fn save(&self, out: &mut StateWriter) -> Result<(), Error> {
        out.put(&self.tally);
        self.metric.measure.save(self.inner.as_ref(), out).map_err(|error| self.metric.name_unsaved(error))?;
        out.put(&self.clusters.is_some());
        self.clusters.iter().for_each(|clusters| clusters.save(out));
        Ok(())
    }

    /// The answer.
    pub fn finish(self, context: &Context) -> Result<Answer, Error> {
        let own = (!context.limits.is_empty())
            .then(|| Context { ends: context.limits.ends_of(&self.metric.source), ..context.clone() });
        let context = own.as_ref().unwrap_or(context);
        let finished = self.metric.measure.finish(self.inner, self.tally, context);
        let answer = finished.map_err(|error| error.at_metric_if_unnamed(&self.metric.name))?;
        Ok(match self.clusters {
            Some(clusters) => {
                let confidence = self.metric.own_confidence().unwrap_or(context.confidence);
                clusters.apply(answer, self.metric.precision, &context.ends, confidence)
            }
            // An error or an interval with its own clusters has its own key.
            None if context.cluster.is_empty() || self.metric.passes_on || self.metric.cluster().is_some() => answer,
            None => without_intervals(answer, &context.cluster),
        })
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("metric", &self.metric).field("tally", &self.tally).finish_non_exhaustive()
    }
}
