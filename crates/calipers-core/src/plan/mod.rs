//! All questions, known before the first row.

mod attempt_notes;
mod figure_names;
mod glob;
mod metric_spec;
mod results;
mod run_report;
mod score_state;
mod state_block;

pub use metric_spec::{MetricSpec, by_key};
pub use results::{MetricResult, Reduction, Results, ScoreResult};
pub use run_report::{RecordedResult, Report, RunReport, SampleCounts};
pub(crate) use state_block::finish_one;

use crate::metric::{State, two_sided};
use crate::{Caveat, Context, Error, Labels, Metric, Reducer, Samples, Seed, View, accuracy, mean_score, stderr};
use figure_names::run_result;
use indexmap::IndexMap;
use score_state::ScoreState;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What to compute, and how: scorers with their metrics, metrics that override them, reducers, level and seed.
///
/// A scorer that the plan does not name gets `accuracy` and `stderr`. The defaults are 95 % intervals, seed 0 and
/// the mean over attempts; level and seed are recorded in the results.
///
/// ```
/// use calipers_core::{accuracy, grouped, stderr, Epochs, Plan, Samples};
///
/// let mut samples = Samples::new();
/// for (id, category) in [(1, "physics"), (2, "physics"), (3, "chemistry")] {
///     for attempt in ["C", "C", "I", "C", "I"] {
///         samples.push(id).metadata("category", category).score("choice", attempt);
///     }
/// }
/// let plan = Plan::new()
///     .scorer("choice", [accuracy(), stderr()])
///     .epochs(Epochs::new(5, ["at_least_2", "at_least_5"])?);
/// let results = plan.measure(&samples)?;
/// assert_eq!(results.reduced("choice", "at_least_2").expect("asked for").metrics["accuracy"].figure.value, Ok(1.0));
/// assert_eq!(results.reduced("choice", "at_least_5").expect("asked for").metrics["accuracy"].figure.value, Ok(0.0));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Plan {
    scorers: IndexMap<Arc<str>, Vec<MetricSpec>>,
    metrics: Option<Vec<MetricSpec>>,
    reducers: Option<Vec<Reducer>>,
    /// Scorers that some shard has scores of, besides those that are declared.
    run_scorers: Vec<Arc<str>>,
    context: Context,
    keep_reductions: bool,
}

/// How many attempts each sample has, and how they are reduced.
///
/// ```
/// use calipers_core::Epochs;
///
/// assert!(Epochs::new(5, "mode").is_ok());
/// let error = Epochs::new(3, "pass_at_5").unwrap_err();
/// assert!(error.to_string().starts_with("`pass_at_5` needs 5 attempts, there are 3"));
/// ```
#[derive(Clone, Debug)]
pub struct Epochs {
    count: u64,
    reducers: Option<Vec<Reducer>>,
}

/// One or several reducers, by name or by value.
pub trait IntoReducers {
    /// The reducers.
    fn into_reducers(self) -> Result<Vec<Reducer>, Error>;
}

impl IntoReducers for &str {
    fn into_reducers(self) -> Result<Vec<Reducer>, Error> {
        Ok(vec![Reducer::parse(self)?])
    }
}

impl IntoReducers for Reducer {
    fn into_reducers(self) -> Result<Vec<Reducer>, Error> {
        Ok(vec![self])
    }
}

impl<R: IntoReducers, const N: usize> IntoReducers for [R; N] {
    fn into_reducers(self) -> Result<Vec<Reducer>, Error> {
        let nested = self.into_iter().map(R::into_reducers).collect::<Result<Vec<_>, _>>()?;
        Ok(nested.into_iter().flatten().collect())
    }
}

impl<R: IntoReducers> IntoReducers for Vec<R> {
    fn into_reducers(self) -> Result<Vec<Reducer>, Error> {
        let nested = self.into_iter().map(R::into_reducers).collect::<Result<Vec<_>, _>>()?;
        Ok(nested.into_iter().flatten().collect())
    }
}

impl Epochs {
    /// `epochs` attempts of each sample, reduced as usual: by their mean.
    #[must_use]
    pub fn of(epochs: u64) -> Self {
        Self { count: epochs, reducers: None }
    }

    /// `epochs` attempts of each sample, reduced by each of the reducers. Fails when one needs more attempts.
    pub fn new(epochs: u64, reducers: impl IntoReducers) -> Result<Self, Error> {
        let reducers = reducers.into_reducers()?;
        for reducer in &reducers {
            if let Some(needed) = reducer.attempts_needed().filter(|&needed| needed > epochs) {
                let message = format!("`{}` needs {needed} attempts, there are {epochs}", reducer.name());
                return Err(Error::argument(message, "run more epochs, or ask for a smaller k"));
            }
        }
        Ok(Self { count: epochs, reducers: Some(reducers) })
    }

    /// How many attempts each sample has.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How they are reduced, if the caller says so.
    #[must_use]
    pub fn reducers(&self) -> Option<&[Reducer]> {
        self.reducers.as_deref()
    }
}

impl Plan {
    /// A plan that asks nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A scorer and the metrics that it comes with.
    #[must_use]
    pub fn scorer<M: Into<MetricSpec>>(
        mut self,
        name: impl Into<Arc<str>>,
        metrics: impl IntoIterator<Item = M>,
    ) -> Self {
        self.scorers.insert(name.into(), metrics.into_iter().map(Into::into).collect());
        self
    }

    /// Metrics that take the place of those that the scorers come with.
    #[must_use]
    pub fn metrics<M: Into<MetricSpec>>(mut self, metrics: impl IntoIterator<Item = M>) -> Self {
        self.metrics = Some(metrics.into_iter().map(Into::into).collect());
        self
    }

    /// The scorers of the whole run. A shard that has no score by one of them counts its samples as missing to it; a
    /// scorer that is neither named here nor declared is known only to the shards that have its scores.
    #[must_use]
    pub fn run_scorers<'a>(mut self, names: impl IntoIterator<Item = &'a Arc<str>>) -> Self {
        let mut known = BTreeSet::new();
        self.run_scorers = names.into_iter().filter(|name| known.insert(*name)).cloned().collect();
        self
    }

    /// How attempts are reduced, as a task declares it.
    #[must_use]
    pub fn epochs(mut self, epochs: Epochs) -> Self {
        self.reducers = epochs.reducers;
        self
    }

    /// How attempts are reduced. With none, every attempt is a separate row.
    #[must_use]
    pub fn reducers(mut self, reducers: impl IntoIterator<Item = Reducer>) -> Self {
        self.reducers = Some(reducers.into_iter().collect());
        self
    }

    /// How labels become numbers.
    #[must_use]
    pub fn labels(mut self, labels: Labels) -> Self {
        self.context.labels = if self.context.inspect { labels.unknown_as_zero() } else { labels };
        self
    }

    /// The level of the intervals, strictly between 0 and 1.
    pub fn level(mut self, level: f64) -> Result<Self, Error> {
        self.context.confidence = two_sided(level)?;
        Ok(self)
    }

    /// The seed of all that is random.
    #[must_use]
    pub fn seed(mut self, seed: Seed) -> Self {
        self.context.seed = seed;
        self
    }

    /// The score from which an attempt has passed, for metrics that do not say so themselves.
    #[must_use]
    pub fn pass_threshold(mut self, threshold: Option<f64>) -> Self {
        self.context.pass_threshold = threshold;
        self
    }

    /// Keeps the reduced score of every sample in the results.
    #[must_use]
    pub fn keep_reductions(mut self) -> Self {
        self.keep_reductions = true;
        self
    }

    /// Computes as Inspect does where that differs: unknown labels count 0, and undefined figures carry its
    /// placeholders (see [`Figure::inspect_value`](crate::Figure::inspect_value)).
    #[must_use]
    pub fn inspect_compatible(mut self) -> Self {
        self.context.inspect = true;
        self.context.labels = self.context.labels.unknown_as_zero();
        self
    }

    /// The results for a run.
    pub fn measure(&self, samples: &Samples) -> Result<Results, Error> {
        let mut partial = self.start();
        partial.fold(samples)?;
        partial.finish()
    }

    /// Results that have seen nothing: fold shards in on any thread, merge, and finish once.
    ///
    /// All attempts of a sample must be in the same shard.
    ///
    /// ```
    /// use calipers_core::{Plan, Samples};
    ///
    /// let mut shards = [Samples::new(), Samples::new()];
    /// for id in 0..10 {
    ///     shards[id as usize % 2].push(id).score("match", if id < 7 { "C" } else { "I" });
    /// }
    /// let plan = Plan::new();
    /// let mut left = plan.start();
    /// let mut right = plan.start();
    /// left.fold(&shards[0])?;
    /// right.fold(&shards[1])?;
    /// left.merge(right);
    /// assert_eq!(left.finish()?.figure("match", "accuracy").expect("default").value, Ok(0.7));
    /// # Ok::<(), calipers_core::Error>(())
    /// ```
    #[must_use]
    pub fn start(&self) -> Partial<'_> {
        let run = self.all_metrics().filter(|metric| metric.rows() == View::Attempts);
        let mut partial = Partial {
            plan: self,
            scorers: IndexMap::new(),
            run: unique(run).map(Metric::start).collect(),
            stand_ins: self.stand_ins().iter().map(Metric::start).collect(),
            attempts: 0,
            errored: 0,
            ran: 0,
            looked_at: IndexMap::new(),
            fields: BTreeSet::new(),
            run_attempts: 0,
        };
        for scorer in self.scorers.keys() {
            partial.scorers.insert(scorer.clone(), self.views(scorer));
        }
        partial
    }

    fn specs(&self, scorer: &str) -> Vec<MetricSpec> {
        let declared = self.metrics.as_ref().or_else(|| self.scorers.get(scorer));
        let specs = declared.cloned().unwrap_or_else(|| vec![accuracy().into(), stderr().into()]);
        let for_all = specs.iter().flat_map(MetricSpec::metrics).all(|metric| metric.is_for(scorer));
        if for_all { specs } else { keep(&specs, |metric| metric.is_for(scorer)) }
    }

    /// The scorers that the run is known to have before its shards are seen.
    fn known_scorers(&self) -> impl Iterator<Item = &Arc<str>> {
        let declared = self.scorers.keys();
        declared.chain(self.run_scorers.iter().filter(|name| !self.scorers.contains_key(*name)))
    }

    fn all_metrics(&self) -> impl Iterator<Item = &Metric> {
        let lists: Vec<&Vec<MetricSpec>> =
            self.metrics.as_ref().map_or_else(|| self.scorers.values().collect(), |metrics| vec![metrics]);
        lists.into_iter().flatten().flat_map(MetricSpec::metrics)
    }

    /// What takes the place of metrics of scores in a run that has none. Inspect knows no such thing.
    fn stand_ins(&self) -> Vec<Metric> {
        let metrics = self.metrics.iter().flatten().flat_map(MetricSpec::metrics);
        if self.context.inspect { Vec::new() } else { unique(metrics).filter_map(Metric::stand_in).collect() }
    }

    /// The ways in which a scorer's attempts are looked at, with the metrics of each.
    fn views(&self, scorer: &Arc<str>) -> Vec<ScoreState> {
        let specs = self.specs(scorer);
        // One entry by key alone stands for a scorer that declares a map of metrics; the rest are lists, of which one
        // without keys is the empty one.
        let is_map = matches!(&specs[..], [MetricSpec::Keyed(keys)] if !keys.is_empty());
        let listed = self.context.inspect && !is_map;
        let view =
            |reducer, label, specs: &[MetricSpec]| ScoreState::new(scorer.clone(), reducer, label, specs, listed);
        if self.reducers.as_ref().is_some_and(Vec::is_empty) {
            let all = keep(&specs, |metric| metric.rows() != View::Attempts);
            return (listed || !all.is_empty()).then(|| view(None, None, &all)).into_iter().collect();
        }
        let reduced = keep(&specs, |metric| matches!(metric.rows(), View::Auto | View::Reduced));
        let unreduced = keep(&specs, |metric| metric.rows() == View::Unreduced);
        let mut views = Vec::new();
        if !reduced.is_empty() {
            match &self.reducers {
                None => {
                    let label = (!unreduced.is_empty()).then(|| "mean".to_owned());
                    views.push(view(Some(mean_score()), label, &reduced));
                }
                Some(reducers) => views.extend(
                    reducers
                        .iter()
                        .map(|reducer| view(Some(reducer.clone()), Some(reducer.name().to_owned()), &reduced)),
                ),
            }
        }
        if !unreduced.is_empty() {
            views.push(view(None, None, &unreduced));
        }
        views
    }
}

/// The metrics that are wanted.
fn keep(specs: &[MetricSpec], wanted: impl Fn(&Metric) -> bool) -> Vec<MetricSpec> {
    let kept = |metrics: &[Metric]| metrics.iter().filter(|metric| wanted(metric)).cloned().collect::<Vec<_>>();
    let spec = |spec: &MetricSpec| match spec {
        MetricSpec::One(metric) => wanted(metric).then(|| MetricSpec::One(metric.clone())),
        MetricSpec::Keyed(keys) => {
            let keys: Vec<_> = keys.iter().map(|(key, metrics)| (key.clone(), kept(metrics))).collect();
            let keys: Vec<_> = keys.into_iter().filter(|(_, metrics)| !metrics.is_empty()).collect();
            (!keys.is_empty()).then_some(MetricSpec::Keyed(keys))
        }
    };
    specs.iter().filter_map(spec).collect()
}

/// Each metric once.
fn unique<'a>(metrics: impl Iterator<Item = &'a Metric>) -> impl Iterator<Item = &'a Metric> {
    let mut seen: Vec<&Metric> = Vec::new();
    metrics.filter(move |metric| {
        let fresh = !seen.iter().any(|other| other.is_same_as(metric));
        if fresh {
            seen.push(metric);
        }
        fresh
    })
}

/// Results in the making.
pub struct Partial<'a> {
    plan: &'a Plan,
    scorers: IndexMap<Arc<str>, Vec<ScoreState>>,
    run: Vec<State>,
    /// Metrics over fields for a run without scores.
    stand_ins: Vec<State>,
    attempts: u64,
    errored: u64,
    /// Samples that ran, and those of them that each scorer has a score or a reason for.
    ran: u64,
    looked_at: IndexMap<Arc<str>, u64>,
    /// The fields that some shard has.
    fields: BTreeSet<Arc<str>>,
    /// Attempts that metrics over fields have seen.
    run_attempts: u64,
}

impl Partial<'_> {
    /// Folds in whole samples.
    pub fn fold(&mut self, samples: &Samples) -> Result<(), Error> {
        let plan = self.plan;
        for scorer in samples.scorers() {
            let points = samples.points(scorer)?;
            plan.check_reduction(scorer, &points)?;
            *self.looked_at.entry(scorer.clone()).or_default() += points.distinct_samples();
            let views = self.scorers.entry(scorer.clone()).or_insert_with(|| plan.views(scorer));
            for view in views {
                view.fold(&points, plan.keep_reductions, &plan.context)?;
            }
        }
        // Inspect counts no sample that its scorers did not look at.
        if !plan.context.inspect && !samples.is_empty() {
            for scorer in plan.known_scorers().filter(|scorer| samples.scores(scorer).is_none()) {
                let views = self.scorers.entry(scorer.clone()).or_insert_with(|| plan.views(scorer));
                let none = samples.no_points(scorer);
                views.iter_mut().try_for_each(|view| view.fold(&none, false, &plan.context))?;
            }
        }
        let counts = samples.counts();
        self.ran += counts.total - counts.errored;
        self.attempts += samples.attempts() as u64;
        self.errored += samples.errored_attempts() as u64;
        self.fields.extend(samples.columns().cloned());
        // Once there is a score, nothing stands in for scores any more.
        let stand_ins = if self.looked_at.is_empty() { &mut self.stand_ins[..] } else { &mut [] };
        let is_asked = !self.run.is_empty() || !stand_ins.is_empty();
        if is_asked && !samples.is_empty() {
            let points = samples.attempt_points();
            self.run_attempts += points.len() as u64;
            let mut states = self.run.iter_mut().chain(stand_ins);
            states.try_for_each(|state| state.fold_rows(&points, &plan.context))?;
        }
        Ok(())
    }

    /// Counts attempts that never ran as missing, to every scorer of the run. `other_samples` are those of which no attempt
    /// ran, `attempts` all that did not.
    pub fn fold_never_ran(&mut self, other_samples: &Samples, attempts: &Samples) -> Result<(), Error> {
        let plan = self.plan;
        for (scorer, views) in &mut self.scorers {
            for view in views {
                let samples = if view.is_reduced() { other_samples } else { attempts };
                view.fold(&samples.no_points(scorer), false, &plan.context)?;
            }
        }
        Ok(())
    }

    /// Folds in what another part of the same plan has seen.
    pub fn merge(&mut self, other: Self) {
        for (scorer, theirs) in other.scorers {
            match self.scorers.get_mut(&scorer) {
                Some(mine) => mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| mine.merge(theirs)),
                None => {
                    self.scorers.insert(scorer, theirs);
                }
            }
        }
        let (states, others) = (self.run.iter_mut().chain(&mut self.stand_ins), other.run.into_iter());
        states.zip(others.chain(other.stand_ins)).for_each(|(mine, theirs)| mine.merge(theirs));
        self.ran += other.ran;
        for (scorer, samples) in other.looked_at {
            *self.looked_at.entry(scorer).or_default() += samples;
        }
        self.attempts += other.attempts;
        self.errored += other.errored;
        self.fields.extend(other.fields);
        self.run_attempts += other.run_attempts;
    }

    /// The results.
    pub fn finish(mut self) -> Result<Results, Error> {
        let context = &self.plan.context;
        if self.looked_at.is_empty() {
            let known = self.fields.iter().collect();
            let stand_ins = self.stand_ins.drain(..).filter(|state| state.metric().has_field_among(&known));
            self.run.extend(stand_ins);
        }
        // An attempt that did not run has no fields, so a run in which none did says nothing about their names.
        if self.attempts > self.errored {
            let known = self.fields.iter().collect();
            self.plan.all_metrics().try_for_each(|metric| metric.check_fields(&known))?;
            let scorers: Vec<&Arc<str>> = self.scorers.keys().collect();
            self.plan.all_metrics().try_for_each(|metric| metric.check_scorer(&scorers))?;
        }
        // What was asked for is shown or refused, never left out beside figures that are shown.
        if self.looked_at.is_empty() && !self.run.is_empty() && self.attempts > self.errored && !context.inspect {
            let known = self.fields.iter().collect();
            let asked = self.plan.metrics.iter().flatten().flat_map(MetricSpec::metrics);
            if let Some(metric) = { asked }.find(|metric| !metric.does_without_scores(&known)) {
                return Err(metric.no_scores());
            }
        }
        let mut results = Results {
            attempts: self.attempts,
            completed_attempts: self.attempts - self.errored,
            scores: Vec::new(),
            reductions: Vec::new(),
            caveats: Vec::new(),
            level: context.confidence.level(),
            seed: context.seed,
            inspect: context.inspect,
        };
        if self.errored > 0 {
            results.caveats.push(Caveat::Errored { attempts: self.errored });
        }
        for (scorer, &samples) in self.looked_at.iter().filter(|(_, samples)| **samples < self.ran) {
            let samples = self.ran - samples;
            results.caveats.push(Caveat::NotLookedAt { scorer: scorer.to_string(), samples });
        }
        if self.scorers.is_empty() && self.run.is_empty() {
            results.caveats.push(Caveat::NoScores);
        }
        for view in self.scorers.into_values().flatten() {
            view.finish(&mut results, self.plan.keep_reductions, context)?;
        }
        if !self.run.is_empty() {
            results.scores.push(run_result(self.run, self.run_attempts, context)?);
        }
        Ok(results)
    }
}

impl Plan {
    /// A metric of reduced scores cannot look at attempts.
    fn check_reduction(&self, scorer: &Arc<str>, points: &crate::Points<'_>) -> Result<(), Error> {
        let off = self.reducers.as_ref().is_some_and(Vec::is_empty);
        if !off || points.distinct_samples() == points.len() as u64 {
            return Ok(());
        }
        let specs = self.specs(scorer);
        match specs.iter().flat_map(MetricSpec::metrics).find(|metric| metric.rows() == View::Reduced) {
            None => Ok(()),
            Some(metric) => {
                let message = format!("`{}` needs one score per sample, but reduction is turned off", metric.name());
                Err(Error::argument(message, "choose a reducer such as `mean`").at_scorer(scorer))
            }
        }
    }
}
