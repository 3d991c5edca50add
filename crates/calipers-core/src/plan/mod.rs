//! All questions, known before the first row.

mod attempt_notes;
mod figure_names;
mod glob;
mod metric_spec;
mod partly_scored;
mod results;
mod run_report;
mod score_state;
mod state_block;

pub use metric_spec::{MetricSpec, by_key};
pub use results::{MetricResult, Reduction, Results, ScoreResult};
pub use run_report::{RecordedResult, Report, RunReport, SampleCounts};
pub(crate) use state_block::finish_one;

use crate::metric::{State, count_alone, two_sided};
use crate::value_limits::LimitWatch;
use crate::{
    Caveat, Context, Error, ErrorKind, Labels, Metric, MetricBasis, Reducer, Samples, Seed, StateReader, StateWriter,
    ValueLimit, ValueLimits, View, accuracy, damaged, mean_score, stderr,
};
use figure_names::run_result;
use indexmap::IndexMap;
use partly_scored::PartlyScored;
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
    /// True when parts are folded that do not know which scorers the others have.
    in_parts: bool,
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

    /// The metadata by whose values samples go together: every interval is then that of clusters, or none. Samples that share a
    /// value of any of several keys are one cluster; one that has none is a cluster by itself.
    ///
    /// ```
    /// use calipers_core::{accuracy, Plan, Samples};
    ///
    /// let mut samples = Samples::new();
    /// for id in 0..60 {
    ///     samples.push(id).metadata("document", id % 3).score("match", "C");
    /// }
    /// let of = |plan: Plan| plan.metrics([accuracy()]).measure(&samples).map(|results| {
    ///     results.figure("match", "accuracy").and_then(|figure| figure.interval).and_then(|interval| interval.lower)
    /// });
    /// assert!(of(Plan::new())? > Some(0.94));
    /// assert!(of(Plan::new().cluster(["document"]))? < Some(0.37));
    /// # Ok::<(), calipers_core::Error>(())
    /// ```
    #[must_use]
    pub fn cluster<K: Into<Arc<str>>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        self.context.cluster = keys.into_iter().map(Into::into).collect();
        self
    }

    /// The least and the most that the values of attempts can be: what bounds the mean of values without a natural limit.
    #[must_use]
    pub fn limits(mut self, limits: ValueLimits) -> Self {
        self.context.limits = limits;
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

    /// For parts that are folded apart, such as on several machines, and that do not know which scorers the others have. A
    /// sample that a scorer of another part has not looked at is missing to it, as it would be in one place.
    ///
    /// ```
    /// use calipers_core::{Plan, Samples, StateReader, StateWriter, accuracy};
    ///
    /// let plan = Plan::new().metrics([accuracy()]).in_parts();
    /// let part = |id: i64, scorer: &str| {
    ///     let mut samples = Samples::new();
    ///     samples.push(id).score(scorer, "C");
    ///     let mut part = plan.start();
    ///     part.fold(&samples)?;
    ///     let mut out = StateWriter::new();
    ///     part.save(&mut out)?;
    ///     Ok::<_, calipers_core::Error>(out.finish())
    /// };
    /// let (here, there) = (part(1, "match")?, part(2, "judge")?);
    /// let mut whole = plan.load(&mut StateReader::new(&here))?;
    /// whole.merge(plan.load(&mut StateReader::new(&there))?);
    /// let results = whole.finish()?;
    /// let accuracy = results.figure("judge", "accuracy").expect("asked for");
    /// assert_eq!((accuracy.n, accuracy.missing), (1, 1));
    /// # Ok::<(), calipers_core::Error>(())
    /// ```
    #[must_use]
    pub fn in_parts(mut self) -> Self {
        self.in_parts = true;
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
            scored_errors: 0,
            ran: 0,
            looked_at: IndexMap::new(),
            partly_scored: IndexMap::new(),
            partly_given: PartlyScored::default(),
            fields: BTreeSet::new(),
            run_attempts: 0,
            keys: BTreeSet::new(),
            alone: 0,
            watch: LimitWatch::default(),
            absent: (self.in_parts && !self.context.inspect)
                .then(|| self.views_of(&Arc::from(""), &self.general_specs())),
        };
        for scorer in self.scorers.keys() {
            partial.scorers.insert(scorer.clone(), self.views(scorer));
        }
        partial
    }

    /// What a part with the same plan has written with [`Partial::save`]. Fails on anything else, as far as it can be told:
    /// where parts are stored, their plans have to be compared.
    pub fn load(&self, from: &mut StateReader<'_>) -> Result<Partial<'_>, Error> {
        let mut partial = self.start();
        partial.scorers = IndexMap::new();
        for _ in 0..from.length()? {
            let scorer: Arc<str> = from.take()?;
            let mut views = self.views(&scorer);
            views.iter_mut().try_for_each(|view| view.load(from, &self.context))?;
            partial.scorers.insert(scorer, views);
        }
        if self.scorers.keys().any(|scorer| !partial.scorers.contains_key(scorer)) {
            return Err(damaged("a scorer of the plan is not there"));
        }
        for view in partial.absent.iter_mut().flatten() {
            view.load(from, &self.context)?;
        }
        for state in partial.run.iter_mut().chain(&mut partial.stand_ins) {
            *state = state.metric().load(from)?;
        }
        (partial.attempts, partial.errored) = from.take()?;
        partial.scored_errors = from.take()?;
        (partial.ran, partial.run_attempts) = from.take()?;
        partial.looked_at = from.list(StateReader::take)?.into_iter().collect();
        let partly = from.list(|from| Ok((from.take()?, PartlyScored::load(from)?)))?;
        partial.partly_scored = partly.into_iter().collect();
        partial.partly_given = PartlyScored::load(from)?;
        (partial.fields, partial.keys) = from.take()?;
        partial.alone = from.take()?;
        if !self.context.limits.is_empty() {
            partial.watch = LimitWatch::load(from)?;
        }
        let is_counted = partial.errored <= partial.attempts && partial.scored_errors <= partial.errored;
        if is_counted { Ok(partial) } else { Err(damaged("counts contradict one another")) }
    }

    /// Everything that moves the figures, by name: parts whose plans differ in any of it cannot be merged. What a function of
    /// the user's computes is not among it.
    #[must_use]
    pub fn describe(&self) -> Vec<(&'static str, String)> {
        let spec = |spec: &MetricSpec| match spec {
            MetricSpec::One(metric) => metric.describe(),
            MetricSpec::Keyed(keys) => {
                let of_key = |(key, metrics): &(String, Vec<Metric>)| {
                    let metrics: Vec<String> = metrics.iter().map(Metric::describe).collect();
                    format!("{key:?}: [{}]", metrics.join(", "))
                };
                format!("{{{}}}", keys.iter().map(of_key).collect::<Vec<_>>().join(", "))
            }
        };
        let list = |specs: &[MetricSpec]| specs.iter().map(spec).collect::<Vec<_>>().join(", ");
        let mut scorers: Vec<String> =
            self.scorers.iter().map(|(name, specs)| format!("{name:?}: [{}]", list(specs))).collect();
        scorers.sort_unstable();
        let reducers = |reducers: &Vec<Reducer>| {
            let names: Vec<&str> = reducers.iter().map(Reducer::name).collect();
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        };
        let context = &self.context;
        let limit = |limit: &ValueLimit| format!("{:?}: {}..{}", limit.name, limit.least, limit.most);
        vec![
            ("metrics", self.metrics.as_deref().map_or_else(|| "recorded".to_owned(), list)),
            ("scorers", scorers.join(", ")),
            ("reducers", self.reducers.as_ref().map_or_else(|| "mean".to_owned(), reducers)),
            ("level", context.confidence.level().to_string()),
            ("seed", context.seed.0.to_string()),
            ("labels", format!("{:?}", context.labels)),
            (
                "pass threshold",
                context.pass_threshold.map_or_else(|| "1".to_owned(), |threshold| threshold.to_string()),
            ),
            ("cluster", context.cluster.join(", ")),
            ("limits", context.limits.iter().map(limit).collect::<Vec<_>>().join(", ")),
            ("compatibility", if context.inspect { "inspect" } else { "none" }.to_owned()),
            ("reductions", if self.keep_reductions { "kept" } else { "not kept" }.to_owned()),
        ]
    }

    /// The metrics of scorers that the plan does not name.
    fn general_specs(&self) -> Vec<MetricSpec> {
        self.metrics.clone().unwrap_or_else(|| vec![accuracy().into(), stderr().into()])
    }

    fn specs(&self, scorer: &str) -> Vec<MetricSpec> {
        let declared = self.scorers.get(scorer).filter(|_| self.metrics.is_none());
        let specs = declared.cloned().unwrap_or_else(|| self.general_specs());
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
        self.views_of(scorer, &self.specs(scorer))
    }

    fn views_of(&self, scorer: &Arc<str>, specs: &[MetricSpec]) -> Vec<ScoreState> {
        // One entry by key alone stands for a scorer that declares a map of metrics; the rest are lists, of which one
        // without keys is the empty one.
        let is_map = matches!(specs, [MetricSpec::Keyed(keys)] if !keys.is_empty());
        let listed = self.context.inspect && !is_map;
        let view =
            |reducer, label, specs: &[MetricSpec]| ScoreState::new(scorer.clone(), reducer, label, specs, listed);
        if self.reducers.as_ref().is_some_and(Vec::is_empty) {
            let all = keep(specs, |metric| metric.rows() != View::Attempts);
            return (listed || !all.is_empty()).then(|| view(None, None, &all)).into_iter().collect();
        }
        let reduced = keep(specs, |metric| matches!(metric.rows(), View::Auto | View::Reduced));
        let unreduced = keep(specs, |metric| metric.rows() == View::Unreduced);
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
    /// Those of them that have a score.
    scored_errors: u64,
    /// Samples that ran, and those of them that each scorer has a score or a reason for.
    ran: u64,
    looked_at: IndexMap<Arc<str>, u64>,
    /// The samples that each scorer has scored in part.
    partly_scored: IndexMap<Arc<str>, PartlyScored>,
    /// The same for the field that stands in for scores.
    partly_given: PartlyScored,
    /// The fields that some shard has.
    fields: BTreeSet<Arc<str>>,
    /// Attempts that metrics over fields have seen.
    run_attempts: u64,
    /// The metadata that some shard has, where the plan names clusters.
    keys: BTreeSet<Arc<str>>,
    /// Samples that are in no cluster of others, since they have no value of its keys.
    alone: u64,
    /// The values that limits are stated for.
    watch: LimitWatch,
    /// What all samples are to a scorer that has looked at none of them, where other parts may have such scorers.
    absent: Option<Vec<ScoreState>>,
}

impl Partial<'_> {
    /// Folds in whole samples.
    pub fn fold(&mut self, samples: &Samples) -> Result<(), Error> {
        let plan = self.plan;
        self.fold_clusters(samples)?;
        self.watch.fold(samples, &plan.context);
        for scorer in samples.scorers() {
            let points = samples.points(scorer)?;
            plan.check_reduction(scorer, &points)?;
            *self.looked_at.entry(scorer.clone()).or_default() += points.distinct_samples();
            let partly = self.partly_scored.entry(scorer.clone()).or_default();
            *partly = partly.plus(PartlyScored::of(&points, samples));
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
        self.fold_absent(samples, samples)?;
        let counts = samples.counts();
        self.ran += counts.total - counts.errored;
        self.attempts += samples.attempts() as u64;
        self.errored += samples.errored_attempts() as u64;
        self.scored_errors += samples.scored_errors() as u64;
        self.fields.extend(samples.columns().cloned());
        // Once there is a score, nothing stands in for scores any more.
        let stand_ins = if self.looked_at.is_empty() { &mut self.stand_ins[..] } else { &mut [] };
        let is_asked = !self.run.is_empty() || !stand_ins.is_empty();
        if is_asked && !samples.is_empty() {
            let points = samples.attempt_points();
            self.run_attempts += points.len() as u64;
            let mut states = self.run.iter_mut().chain(stand_ins);
            states.try_for_each(|state| state.fold_rows(&points, &plan.context))?;
            let mut metrics = self.run.iter().chain(&self.stand_ins).map(State::metric);
            if self.looked_at.is_empty()
                && let Some(metric) = metrics.find(|metric| metric.basis() == MetricBasis::PassShares)
            {
                let partly = PartlyScored::of_shares(metric, samples, &plan.context)?;
                self.partly_given = self.partly_given.plus(partly);
            }
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
        self.fold_absent(other_samples, attempts)
    }

    /// Notes samples as missing to scorers that only other parts have.
    fn fold_absent(&mut self, samples: &Samples, attempts: &Samples) -> Result<(), Error> {
        let Some(views) = &mut self.absent else { return Ok(()) };
        for view in views {
            let rows = if view.is_reduced() { samples } else { attempts };
            if !rows.is_empty() {
                view.fold(&rows.no_points(&Arc::from("")), false, &self.plan.context)?;
            }
        }
        Ok(())
    }

    /// What a shard says of the clusters that the plan names.
    fn fold_clusters(&mut self, samples: &Samples) -> Result<(), Error> {
        let keys = &self.plan.context.cluster;
        if keys.is_empty() {
            return Ok(());
        }
        keys.iter().try_for_each(|key| samples.check_single(key))?;
        self.keys.extend(samples.metadata_keys().cloned());
        self.alone += count_alone(samples, keys);
        Ok(())
    }

    /// Writes what has been seen, for [`Plan::load`] of the same plan.
    pub fn save(&self, out: &mut StateWriter) -> Result<(), Error> {
        out.length(self.scorers.len());
        for (scorer, views) in &self.scorers {
            out.put(scorer);
            views.iter().try_for_each(|view| view.save(out))?;
        }
        self.absent.iter().flatten().try_for_each(|view| view.save(out))?;
        self.run.iter().chain(&self.stand_ins).try_for_each(|state| state.save(out))?;
        out.put(&(self.attempts, self.errored));
        out.put(&self.scored_errors);
        out.put(&(self.ran, self.run_attempts));
        out.length(self.looked_at.len());
        for (scorer, samples) in &self.looked_at {
            out.put(scorer);
            out.put(samples);
        }
        out.length(self.partly_scored.len());
        for (scorer, partly) in &self.partly_scored {
            out.put(scorer);
            partly.save(out);
        }
        self.partly_given.save(out);
        out.put(&self.fields);
        out.put(&self.keys);
        out.put(&self.alone);
        if !self.plan.context.limits.is_empty() {
            self.watch.save(out);
        }
        Ok(())
    }

    /// What all samples are to a scorer that has looked at none of them.
    fn absent_views(&self, scorer: &Arc<str>) -> Option<Vec<ScoreState>> {
        let absent = self.absent.as_ref()?;
        let mut views = self.plan.views(scorer);
        // A state that was started here can be written and read back.
        views.iter_mut().try_for_each(|view| view.copy_absent(absent)).ok()?;
        Some(views)
    }

    /// Folds in what another part of the same plan has seen.
    pub fn merge(&mut self, mut other: Self) {
        let known: Vec<Arc<str>> = self.scorers.keys().cloned().collect();
        for scorer in known {
            if !other.scorers.contains_key(&scorer)
                && let Some(absent) = other.absent_views(&scorer)
            {
                other.scorers.insert(scorer, absent);
            }
        }
        for (scorer, theirs) in std::mem::take(&mut other.scorers) {
            if !self.scorers.contains_key(&scorer)
                && let Some(absent) = self.absent_views(&scorer)
            {
                self.scorers.insert(scorer.clone(), absent);
            }
            match self.scorers.get_mut(&scorer) {
                Some(mine) => mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| mine.merge(theirs)),
                None => {
                    self.scorers.insert(scorer, theirs);
                }
            }
        }
        if let (Some(mine), Some(theirs)) = (&mut self.absent, other.absent) {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| mine.merge(theirs));
        }
        let (states, others) = (self.run.iter_mut().chain(&mut self.stand_ins), other.run.into_iter());
        states.zip(others.chain(other.stand_ins)).for_each(|(mine, theirs)| mine.merge(theirs));
        self.ran += other.ran;
        for (scorer, samples) in other.looked_at {
            *self.looked_at.entry(scorer).or_default() += samples;
        }
        for (scorer, theirs) in other.partly_scored {
            let partly = self.partly_scored.entry(scorer).or_default();
            *partly = partly.plus(theirs);
        }
        self.partly_given = self.partly_given.plus(other.partly_given);
        self.attempts += other.attempts;
        self.errored += other.errored;
        self.scored_errors += other.scored_errors;
        self.fields.extend(other.fields);
        self.run_attempts += other.run_attempts;
        self.keys.extend(other.keys);
        self.alone += other.alone;
        self.watch.merge(other.watch);
    }

    /// The results.
    pub fn finish(mut self) -> Result<Results, Error> {
        let context = &Context { limits: self.watch.tell(&self.plan.context.limits), ..self.plan.context.clone() };
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
        if let Some(key) = context.cluster.iter().find(|key| self.attempts > 0 && !self.keys.contains(*key)) {
            let known = self.keys.iter().map(ToString::to_string).collect();
            return Err(ErrorKind::NoField { field: key.to_string(), known }.into());
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
            cluster: context.cluster.clone(),
            limits: self.plan.context.limits.clone(),
            inspect: context.inspect,
        };
        if self.alone > 0 {
            let key = context.cluster.join(", ");
            results.caveats.push(Caveat::SamplesAlone { key, samples: self.alone });
        }
        if self.errored > 0 {
            results.caveats.push(Caveat::Errored { attempts: self.errored, scored: self.scored_errors });
        }
        for (scorer, &samples) in self.looked_at.iter().filter(|(_, samples)| **samples < self.ran) {
            let samples = self.ran - samples;
            results.caveats.push(Caveat::NotLookedAt { scorer: scorer.to_string(), samples });
        }
        let given = self.looked_at.is_empty().then_some((None, self.partly_given));
        let scored = self.partly_scored.iter().map(|(scorer, partly)| (Some(scorer.to_string()), *partly));
        for (scorer, PartlyScored { samples, attempts }) in scored.chain(given).filter(|(_, partly)| partly.samples > 0)
        {
            results.caveats.push(Caveat::PartlyScored { scorer, samples, attempts });
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
