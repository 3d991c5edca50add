//! What a plan found, named as Inspect names it.

use super::glob;
use crate::data::scores::Values;
use crate::metric::{Precision, Split, State};
use crate::reduce::{AttemptGroups, ReduceRule};
use crate::{
    Answer, Caveat, Context, Error, ErrorKind, Figure, Metric, Points, Reason, Reducer, SampleId, Score, Seed,
    Undefined, Value,
};
use calipers_stats::StatisticCaveat as Statistic;
use indexmap::{IndexMap, IndexSet};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// All that a plan found out about a run.
#[derive(Clone, Debug)]
pub struct Results {
    /// How many attempts there were.
    pub total_samples: u64,
    /// How many of them ended without an error.
    pub completed_samples: u64,
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
    /// The number.
    pub figure: Figure,
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

/// A metric, or metrics for the keys of scores that are maps.
#[derive(Clone, Debug)]
pub enum MetricSpec {
    /// A metric of the score.
    One(Metric),
    /// Metrics of the entries of a map score, by key or pattern (`*`, `?`, `[ab]`).
    Keyed(Vec<(String, Vec<Metric>)>),
}

impl MetricSpec {
    /// The metrics, whatever keys they are for.
    #[must_use]
    pub fn metrics(&self) -> Vec<&Metric> {
        match self {
            Self::One(metric) => vec![metric],
            Self::Keyed(keys) => keys.iter().flat_map(|(_, metrics)| metrics).collect(),
        }
    }
}

impl From<Metric> for MetricSpec {
    fn from(metric: Metric) -> Self {
        Self::One(metric)
    }
}

macro_rules! spec_from_builder {
    ($($builder:ty),*) => {$(
        impl From<$builder> for MetricSpec {
            fn from(builder: $builder) -> Self {
                Self::One(builder.into())
            }
        }
    )*};
}
spec_from_builder!(crate::Ci, crate::Grouped);

/// Metrics of the entries of scores that are maps.
///
/// A key may be a pattern. A key matched by several patterns gets the metrics of all of them.
///
/// ```
/// use calipers_core::{by_key, mean, std, Plan, Samples};
///
/// let mut samples = Samples::new();
/// samples.push(1).score("judge", [("tone", 1.0), ("facts", 0.5)]);
/// samples.push(2).score("judge", [("tone", 0.0), ("facts", 0.5)]);
/// let plan = Plan::new().metrics([by_key([("*", vec![mean()]), ("t*", vec![std()])])]);
/// let results = plan.measure(&samples)?;
/// assert_eq!(results.figure("tone", "mean").expect("matched").value, Ok(0.5));
/// assert!(results.figure("facts", "std").is_none());
/// # Ok::<(), calipers_core::Error>(())
/// ```
pub fn by_key<K: Into<String>>(metrics: impl IntoIterator<Item = (K, Vec<Metric>)>) -> MetricSpec {
    MetricSpec::Keyed(metrics.into_iter().map(|(key, metrics)| (key.into(), metrics)).collect())
}

/// The states of one scorer's metrics under one reducer.
pub(crate) struct ScoreState {
    scorer: Arc<str>,
    reducer: Option<Reducer>,
    label: Option<String>,
    simple: Option<Block>,
    keyed: Vec<KeyedBlock>,
    reduced: Vec<(SampleId, Score)>,
    notes: Notes,
}

/// What is noticed about the attempts on the way.
#[derive(Default)]
struct Notes {
    /// Samples whose mode is decided by the order of attempts.
    ties: u64,
    /// Samples that have too few attempts for the reducer.
    too_few: u64,
    /// The most attempts that a sample has.
    attempts_max: u64,
    /// True when some sample's attempts differ in their score.
    varied: bool,
    /// A label that was counted as 0.
    unknown: Option<String>,
    /// Rows and samples, when attempts are rows.
    pooled: Option<(u64, u64)>,
}

/// States that see the same rows.
#[derive(Default)]
struct Block {
    states: Vec<State>,
    scored: u64,
    unscored: u64,
}

/// States for the keys of a map.
struct KeyedBlock {
    patterns: Vec<(String, Vec<Metric>)>,
    keys: IndexMap<Arc<str>, Block>,
    /// The keys of the maps seen, with a sample for each set of them.
    shapes: BTreeMap<BTreeSet<Arc<str>>, SampleId>,
    unscored: u64,
    matched: Vec<bool>,
}

impl ScoreState {
    /// The states of these metrics. With `always_whole` there is a result for the whole score even without metrics
    /// of it, as there is in Inspect when a scorer lists its metrics.
    pub(crate) fn new(
        scorer: Arc<str>,
        reducer: Option<Reducer>,
        label: Option<String>,
        specs: &[MetricSpec],
        always_whole: bool,
    ) -> Self {
        let mut simple = Vec::new();
        let mut keyed = Vec::new();
        for spec in specs {
            match spec {
                MetricSpec::One(metric) => simple.push(metric.start()),
                MetricSpec::Keyed(patterns) => keyed.push(KeyedBlock {
                    matched: vec![false; patterns.len()],
                    patterns: patterns.clone(),
                    keys: IndexMap::new(),
                    shapes: BTreeMap::new(),
                    unscored: 0,
                }),
            }
        }
        let simple = (always_whole || !simple.is_empty()).then(|| Block { states: simple, ..Block::default() });
        Self { scorer, reducer, label, simple, keyed, reduced: Vec::new(), notes: Notes::default() }
    }

    pub(crate) fn fold(&mut self, attempts: &Points<'_>, keep: bool, context: &Context) -> Result<(), Error> {
        let rows = match &self.reducer {
            Some(reducer) => attempts.reduce(reducer, context)?,
            None => attempts.unique()?,
        };
        self.notes.take(attempts, &rows, self.reducer.as_ref(), context);
        if keep && self.reducer.is_some() {
            let scores = (0..rows.len()).map(|row| (rows.sample_id(row), rows.scores().score(row)));
            self.reduced.extend(scores);
        }
        if let Some(block) = &mut self.simple {
            block.fold(&Split::new(&rows), context)?;
        }
        self.keyed.iter_mut().try_for_each(|block| block.fold(&rows, context))
    }

    pub(crate) fn merge(&mut self, other: Self) {
        match (&mut self.simple, other.simple) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine, theirs) => *mine = mine.take().or(theirs),
        }
        for (mine, theirs) in self.keyed.iter_mut().zip(other.keyed) {
            mine.merge(theirs);
        }
        self.reduced.extend(other.reduced);
        self.notes.merge(other.notes);
    }

    pub(crate) fn finish(self, results: &mut Results, keep: bool, context: &Context) -> Result<(), Error> {
        results.caveats.extend(self.notes.caveats(self.reducer.as_ref()));
        if keep && self.reducer.is_some() {
            results.reductions.push(Reduction {
                scorer: self.scorer.clone(),
                reducer: self.label.clone(),
                samples: self.reduced,
            });
        }
        let pooled = self.notes.pooled.filter(|(attempts, samples)| attempts > samples);
        let finish = |name: String, block: Block, keyed: bool| -> Result<ScoreResult, Error> {
            Ok(ScoreResult {
                name,
                scorer: Some(self.scorer.clone()),
                reducer: self.label.clone(),
                scored_samples: block.scored,
                unscored_samples: block.unscored,
                metrics: block.finish(keyed, pooled, context)?,
            })
        };
        if let Some(block) = self.simple {
            results.scores.push(finish(self.scorer.to_string(), block, false)?);
        }
        for mut block in self.keyed {
            block.check_shapes(context).map_err(|error| error.at_scorer(&self.scorer))?;
            results.caveats.extend(block.unmatched(context));
            block.name_unresolved();
            for (key, mut states) in block.keys {
                states.unscored += block.unscored;
                results.scores.push(finish(key.to_string(), states, true)?);
            }
        }
        Ok(())
    }
}

impl Notes {
    fn take(&mut self, attempts: &Points<'_>, rows: &Points<'_>, reducer: Option<&Reducer>, context: &Context) {
        if context.labels.is_lenient() && self.unknown.is_none() {
            self.unknown = attempts.unknown_label(context);
        }
        let Some(reducer) = reducer else {
            let (all, samples) = self.pooled.unwrap_or_default();
            self.pooled = Some((all + rows.len() as u64, samples + rows.distinct_samples()));
            return;
        };
        if reducer.attempts_needed().is_some() {
            self.too_few += (rows.len() - rows.scored().len()) as u64;
        }
        if let Some(k) =
            reducer.attempts_needed().filter(|_| reducer.is_rule(|r| matches!(r, ReduceRule::AtLeast { .. })))
        {
            self.too_few += short_of(k, attempts);
        }
        if attempts.len() == rows.len() {
            self.attempts_max = self.attempts_max.max(1);
            return;
        }
        let Ok(grouped) = AttemptGroups::of(attempts.scores()) else { return };
        self.attempts_max = grouped.iter().map(|(_, rows)| rows.len() as u64).max().unwrap_or(0).max(self.attempts_max);
        self.varied = self.varied || grouped.iter().any(|(_, rows)| attempts.values().differ(rows));
        if reducer.is_rule(|rule| matches!(rule, ReduceRule::Mode)) {
            self.ties += ties(attempts, &grouped);
        }
    }

    fn merge(&mut self, other: Self) {
        self.ties += other.ties;
        self.too_few += other.too_few;
        self.attempts_max = self.attempts_max.max(other.attempts_max);
        self.varied |= other.varied;
        // The smaller of two, so that the order of shards does not show.
        self.unknown = match (self.unknown.take(), other.unknown) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        if let (Some(mine), Some(theirs)) = (&mut self.pooled, other.pooled) {
            *mine = (mine.0 + theirs.0, mine.1 + theirs.1);
        }
    }

    fn caveats(&self, reducer: Option<&Reducer>) -> Vec<Caveat> {
        let mut caveats = Vec::new();
        if let Some(example) = &self.unknown {
            caveats.push(Caveat::UnknownLabels { example: example.clone() });
        }
        let Some(reducer) = reducer else { return caveats };
        if self.ties > 0 {
            caveats.push(Caveat::ModeTies { samples: self.ties });
        }
        if self.too_few > 0 {
            caveats.push(Caveat::TooFewAttempts { reducer: reducer.name().to_owned(), samples: self.too_few });
        }
        if self.attempts_max > 1 && !self.varied {
            caveats.push(Statistic::IdenticalAttempts.into());
        }
        let estimates_k = reducer.is_rule(|rule| matches!(rule, ReduceRule::PassAt { .. } | ReduceRule::PassK { .. }));
        if let Some(k) =
            reducer.attempts_needed().filter(|&k| estimates_k && k > 1 && self.attempts_max < k.saturating_mul(2))
        {
            caveats.push(Statistic::FewAttempts { attempts: self.attempts_max, k }.into());
        }
        caveats
    }
}

impl Block {
    /// Starts the metrics that are not there yet.
    fn start_new(&mut self, metrics: &[Metric], context: &Context) {
        for metric in metrics {
            // Inspect keeps only the first of two metrics with the same name, whatever their parameters.
            let same = |state: &State| {
                let other = state.metric();
                other.is_same_as(metric) || (context.inspect && other.name() == metric.name())
            };
            if !self.states.iter().any(same) {
                self.states.push(metric.start());
            }
        }
    }

    fn fold(&mut self, split: &Split<'_>, context: &Context) -> Result<(), Error> {
        self.scored += split.scored.len() as u64;
        self.unscored += split.unscored.len() as u64;
        self.states.iter_mut().try_for_each(|state| state.fold_split(split, context))
    }

    fn merge(&mut self, other: Self) {
        self.scored += other.scored;
        self.unscored += other.unscored;
        for (mine, theirs) in self.states.iter_mut().zip(other.states) {
            mine.merge(theirs);
        }
    }

    fn finish(
        self,
        keyed: bool,
        pooled: Option<(u64, u64)>,
        context: &Context,
    ) -> Result<IndexMap<String, MetricResult>, Error> {
        let cluster = self.states.iter().find_map(|state| state.metric().cluster());
        let mut names = Names { keyed, metrics: IndexMap::new() };
        for state in self.states {
            let metric = state.metric().clone();
            let mut answer = finish_one(state, context)?;
            add_caveats(&mut answer, &metric, cluster.as_deref(), pooled);
            names.add(&metric, answer, context)?;
        }
        Ok(names.metrics)
    }
}

/// The answer of a metric, whatever it saw.
pub(crate) fn finish_one(state: State, context: &Context) -> Result<Answer, Error> {
    let tally = state.tally();
    let answer = state.finish(context);
    if tally.n > 0 {
        return answer;
    }
    // Inspect prints NaN for a metric of nothing, also where the metric refuses, unless it has a shape of its own.
    Ok(match answer {
        Err(error) if !context.inspect => return Err(error),
        Ok(Answer::Named(entries)) if !entries.is_empty() => Answer::Named(entries),
        _ => Figure::from_result(Err(Undefined::new(Reason::NothingScored, f64::NAN)), tally, "none").into(),
    })
}

fn add_caveats(answer: &mut Answer, metric: &Metric, cluster: Option<&str>, pooled: Option<(u64, u64)>) {
    let states_precision = metric.precision() != Precision::NotStated;
    answer.for_each(&mut |figure| {
        if figure.value.is_err() || !(states_precision || figure.interval.is_some()) {
            return;
        }
        if let (Some(key), None) = (cluster, metric.cluster()) {
            figure.caveats.push(Caveat::IgnoresClusters { key: key.to_owned() });
        }
        if let Some((attempts, samples)) = pooled {
            figure.caveats.push(Caveat::PooledAttempts { attempts, samples });
        }
    });
}

impl KeyedBlock {
    fn fold(&mut self, rows: &Points<'_>, context: &Context) -> Result<(), Error> {
        let unscored = rows.unscored();
        let rows = rows.scored();
        self.unscored += unscored.len() as u64;
        if rows.is_empty() {
            return Ok(());
        }
        match rows.values() {
            Values::Maps(maps) => {
                self.resolve(&maps.keys, &rows.sample_id(0), context);
                for (key, column) in maps.keys.iter().zip(&maps.columns) {
                    if let Some(block) = self.keys.get_mut(key) {
                        let under_key = rows.with_values(Values::Scalars(column.clone()));
                        block.fold(&Split::new(&under_key), context)?;
                    }
                }
                Ok(())
            }
            _ => self.fold_mixed(&rows, context),
        }
    }

    fn fold_mixed(&mut self, rows: &Points<'_>, context: &Context) -> Result<(), Error> {
        let values: Vec<Value> = (0..rows.len()).map(|row| rows.values().get(row)).collect();
        let maps = values.iter().filter_map(|value| match value {
            Value::Map(entries) => Some(entries.iter().map(|(key, _)| key.clone())),
            _ => None,
        });
        // Inspect goes by the first map alone.
        let keys: IndexSet<Arc<str>> = maps.take(if context.inspect { 1 } else { values.len() }).flatten().collect();
        if values.iter().any(|value| matches!(value, Value::Map(_))) {
            self.resolve(&keys.into_iter().collect::<Vec<_>>(), &rows.sample_id(0), context);
        }
        // Inspect does not look at scores that no metric is for.
        if context.inspect && if self.is_resolved() { self.keys.is_empty() } else { self.patterns.is_empty() } {
            return Ok(());
        }
        if let Some(row) = values.iter().position(|value| !matches!(value, Value::Map(_))) {
            let kind = ErrorKind::NotMap { by: "a map of metrics".into(), found: values[row].kind() };
            return Err(rows.at(row, kind));
        }
        for (key, block) in &mut self.keys {
            let mut under_key = Vec::with_capacity(values.len());
            for (row, value) in values.iter().enumerate() {
                let missing = || rows.at(row, ErrorKind::MissingKey { key: key.to_string(), null: false });
                under_key.push(value.get(key).cloned().ok_or_else(missing)?);
            }
            let under_key = rows.with_values(under_key.into_iter().collect());
            block.fold(&Split::new(&under_key), context)?;
        }
        Ok(())
    }

    /// Gives each key that a pattern matches the metrics of that pattern, in the order of the patterns.
    fn resolve(&mut self, keys: &[Arc<str>], sample: &SampleId, context: &Context) {
        let shape: BTreeSet<Arc<str>> = keys.iter().cloned().collect();
        if self.shapes.contains_key(&shape) || (context.inspect && self.is_resolved()) {
            return;
        }
        self.shapes.insert(shape, sample.clone());
        for ((pattern, metrics), matched) in self.patterns.iter().zip(&mut self.matched) {
            for key in keys.iter().filter(|key| glob::matches(pattern, key)) {
                *matched = true;
                self.keys.entry(key.clone()).or_default().start_new(metrics, context);
            }
        }
    }

    fn merge(&mut self, other: Self) {
        self.unscored += other.unscored;
        for (shape, sample) in other.shapes {
            self.shapes.entry(shape).or_insert(sample);
        }
        for (mine, theirs) in self.matched.iter_mut().zip(other.matched) {
            *mine |= theirs;
        }
        for (key, theirs) in other.keys {
            match self.keys.get_mut(&key) {
                Some(mine) => mine.merge(theirs),
                None => {
                    self.keys.insert(key, theirs);
                }
            }
        }
    }

    /// True once a map was seen whose keys the patterns were matched with.
    fn is_resolved(&self) -> bool {
        !self.shapes.is_empty()
    }

    /// A key that has metrics must be in every map, whichever shard it was in.
    fn check_shapes(&self, context: &Context) -> Result<(), Error> {
        if context.inspect {
            return Ok(());
        }
        for key in self.keys.keys() {
            if let Some((_, sample)) = self.shapes.iter().find(|(shape, _)| !shape.contains(key)) {
                let missing = ErrorKind::MissingKey { key: key.to_string(), null: false };
                return Err(Error::from(missing).at_sample(sample));
            }
        }
        Ok(())
    }

    fn unmatched(&self, context: &Context) -> Vec<Caveat> {
        if !self.is_resolved() || context.inspect {
            return Vec::new();
        }
        let known: BTreeSet<&Arc<str>> = self.shapes.keys().flatten().collect();
        let known: Vec<String> = known.into_iter().map(ToString::to_string).collect();
        let lonely = self.patterns.iter().zip(&self.matched).filter(|(_, matched)| !**matched);
        lonely.map(|((key, _), _)| Caveat::UnmatchedKey { key: key.clone(), known: known.clone() }).collect()
    }

    /// When no sample has a score there are no keys to match, and the patterns stand for themselves.
    fn name_unresolved(&mut self) {
        if self.is_resolved() {
            return;
        }
        for (pattern, metrics) in &self.patterns {
            let states = metrics.iter().map(Metric::start).collect();
            self.keys.insert(pattern.as_str().into(), Block { states, ..Block::default() });
        }
    }
}

/// Collects figures under unique names.
struct Names {
    keyed: bool,
    metrics: IndexMap<String, MetricResult>,
}

impl Names {
    fn add(&mut self, metric: &Metric, answer: Answer, context: &Context) -> Result<(), Error> {
        let own = metric.name();
        match answer {
            Answer::One(figure) => {
                let key = self.free(own, context);
                self.insert(key, own.to_owned(), None, metric, figure);
            }
            Answer::Named(entries) => self.add_named("", entries, metric, context)?,
            Answer::Listed(figures) => {
                let base = self.free(own, context);
                for (index, figure) in figures.into_iter().enumerate() {
                    let (key, name) = if self.keyed {
                        (format!("{own}_{index}"), index.to_string())
                    } else {
                        (format!("{base}-{}", index + 1), (index + 1).to_string())
                    };
                    let key = self.free(&key, context);
                    self.insert(key, name, Some(own), metric, figure);
                }
            }
        }
        Ok(())
    }

    fn add_named(
        &mut self,
        prefix: &str,
        entries: IndexMap<String, Answer>,
        metric: &Metric,
        context: &Context,
    ) -> Result<(), Error> {
        for (name, answer) in entries {
            let name = format!("{prefix}{name}");
            match answer {
                Answer::One(figure) => {
                    let key = if self.keyed { format!("{}_{name}", metric.name()) } else { name.clone() };
                    let key = self.free(&key, context);
                    self.insert(key, name, Some(metric.name()), metric, figure);
                }
                _ if context.inspect => {
                    let message =
                        format!("`{}` has several figures for `{name}`, which Inspect refuses", metric.name());
                    return Err(Error::argument(message, "compute it without Inspect's rules"));
                }
                Answer::Named(inner) => self.add_named(&format!("{name}_"), inner, metric, context)?,
                Answer::Listed(figures) => {
                    let numbered = figures.into_iter().enumerate();
                    let inner = numbered.map(|(index, figure)| ((index + 1).to_string(), figure.into())).collect();
                    self.add_named(&format!("{name}_"), inner, metric, context)?;
                }
            }
        }
        Ok(())
    }

    /// A name that is not taken. Under a key, Inspect lets the later of two figures take the place of the earlier.
    fn free(&self, name: &str, context: &Context) -> String {
        if self.keyed && context.inspect { name.to_owned() } else { unique_key(name, self.metrics.keys()) }
    }

    fn insert(&mut self, key: String, name: String, group: Option<&str>, metric: &Metric, figure: Figure) {
        let result = MetricResult { name, group: group.map(str::to_owned), params: metric.params().to_vec(), figure };
        self.metrics.insert(key, result);
    }
}

/// The metrics of a run that belong to no scorer.
pub(crate) fn run_result(states: Vec<State>, tally: (u64, u64), context: &Context) -> Result<ScoreResult, Error> {
    let (scored_samples, unscored_samples) = tally;
    let mut names = Names { keyed: false, metrics: IndexMap::new() };
    for state in states {
        let metric = state.metric().clone();
        names.add(&metric, state.finish(context)?, context)?;
    }
    Ok(ScoreResult {
        name: "run".into(),
        scorer: None,
        reducer: None,
        scored_samples,
        unscored_samples,
        metrics: names.metrics,
    })
}

/// A name that is not taken, by a number behind it: `lower`, `lower2`, `lower3`.
///
/// The number goes beyond any that a taken name shows at that place, even in a longer name, as in Inspect.
pub(crate) fn unique_key<'a>(key: &str, taken: impl Iterator<Item = &'a String>) -> String {
    let mut number = 2u64;
    let mut free = true;
    for name in taken {
        free &= name != key;
        let Some(rest) = name.strip_prefix(key) else { continue };
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if let Ok(found) = rest[..digits].parse::<u64>() {
            number = number.max(found.saturating_add(1));
        }
    }
    if free { key.to_owned() } else { format!("{key}{number}") }
}

/// How many samples have scored attempts, but fewer than k: they cannot have k successes.
fn short_of(k: u64, attempts: &Points<'_>) -> u64 {
    let Ok(grouped) = AttemptGroups::of(attempts.scores()) else { return 0 };
    let scored =
        |rows: &[u32]| rows.iter().filter(|&&row| !attempts.values().is_root_missing(row as usize)).count() as u64;
    grouped.iter().filter(|(_, rows)| (1..k).contains(&scored(rows))).count() as u64
}

/// How many samples have more than one commonest score.
fn ties(attempts: &Points<'_>, grouped: &AttemptGroups) -> u64 {
    let mut tied = 0;
    let mut counts: Vec<(Value, usize)> = Vec::new();
    for (_, rows) in grouped.iter().filter(|(_, rows)| rows.len() > 1) {
        counts.clear();
        for &row in rows {
            let value = attempts.values().get(row as usize);
            match counts.iter_mut().find(|(seen, _)| seen.equals(&value)) {
                Some((_, count)) => *count += 1,
                None if value.is_missing() => {}
                None => counts.push((value, 1)),
            }
        }
        let most = counts.iter().map(|(_, count)| *count).max();
        tied += u64::from(counts.iter().filter(|(_, count)| Some(*count) == most).count() > 1);
    }
    tied
}
