//! From the files of two runs or more to what changed between them.

use crate::gate::{self, Evaluated};
use crate::score::{metrics_by_fields, recorded_reducers};
pub use calipers_compare::*;
use calipers_core::stats::components::Estimand;
use calipers_core::stats::multiplicity::Correction;
use calipers_core::{
    Context, Error, ErrorKind, Labels, Metric, Note, PassRule, Reducer, Registry, Samples, Seed, accuracy, mean_score,
};
use calipers_io::{RecordedMetric, RecordedResults, Source};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What of runs is looked at.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// Only these scorers; all if empty.
    pub scorers: Vec<String>,
    /// Only samples whose metadata has these values.
    pub filter: Vec<(String, String)>,
}

/// What a comparison depends on besides the runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// What of the runs was looked at, as they were read.
    pub chosen: Chosen,
    /// Metrics in place of those that the candidate records.
    pub metrics: Option<Vec<Metric>>,
    /// How attempts are reduced, in place of what the candidate records.
    pub reducer: Option<Reducer>,
    /// How labels become numbers.
    pub labels: Labels,
    /// The level of intervals; 1 − level is the error that tests are allowed.
    pub level: f64,
    /// The seed of all that is random.
    pub seed: Seed,
    /// What errors speak of.
    pub estimand: Estimand,
    /// The metadata by which samples go together.
    pub cluster: Option<String>,
    /// How much of a change does not matter.
    pub margin: Option<f64>,
    /// How p-values are adjusted.
    pub correction: Correction,
    /// Files that metrics and reducers were loaded from.
    pub scripts: Vec<String>,
    /// The metrics that names stand for.
    pub registry: Registry,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            chosen: Chosen::default(),
            metrics: None,
            reducer: None,
            labels: Labels::default(),
            level: 0.95,
            seed: Seed(0),
            estimand: Estimand::Population,
            cluster: None,
            margin: None,
            correction: Correction::Holm,
            scripts: Vec::new(),
            registry: Registry::builtin(),
        }
    }
}

/// Reads all of these sources as one run, with this name.
pub fn read(
    name: &str,
    sources: impl IntoIterator<Item = Source>,
    format: Option<&str>,
    chosen: &Chosen,
) -> Result<Loaded, gate::Failure> {
    let Chosen { scorers, filter } = chosen.clone();
    let options = gate::Options { scorers, filter, ..gate::Options::default() };
    Ok(Loaded { name: name.to_owned(), run: gate::read(sources, format, &options)? })
}

/// A run that was read, by the name that reports use.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The name.
    pub name: String,
    /// The run.
    pub run: Evaluated,
}

/// Compares the first run with every other one, by the metrics that are asked for or those that the records speak of.
///
/// ```
/// use calipers::compare::{ChangeVerdict, Options, compare, read};
/// use calipers::io::Source;
///
/// let options = Options::default();
/// let run = |name: &str, failures: usize| {
///     let lines: String =
///         (0..40).map(|id| format!("{{\"id\": {id}, \"score\": {}}}\n", u8::from(id >= failures))).collect();
///     read(name, [Source::bytes(name, lines.as_bytes())], None, &options.chosen)
/// };
/// let report = compare(&[run("new.jsonl", 20)?, run("old.jsonl", 10)?], &options)?;
/// let accuracy = &report.comparisons[0].metrics[0];
/// assert_eq!((accuracy.metric.as_str(), accuracy.verdict), ("accuracy", ChangeVerdict::Regressed));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compare(runs: &[Loaded], options: &Options) -> Result<CompareReport, Error> {
    let mut notes = Vec::new();
    let all: Vec<&Evaluated> = runs.iter().map(|loaded| &loaded.run).collect();
    let reducer = reducer_of(&all, options.reducer.as_ref(), &mut notes);
    let context = Context::new(options.level, options.seed, options.labels.clone())?;
    let metrics = match &options.metrics {
        Some(metrics) => metrics.clone(),
        None => metrics_of(&all, &reducer, &context, &options.registry, &mut notes)?,
    };
    let question = CompareQuestion {
        metrics: &metrics,
        registry: &options.registry,
        reducer,
        context,
        estimand: options.estimand,
        cluster: options.cluster.as_deref(),
        margin: options.margin,
        correction: options.correction,
        pass_rule: PassRule::default(),
    };
    let named: Vec<ComparedRun<'_>> =
        runs.iter().map(|loaded| ComparedRun { name: loaded.name.clone(), samples: &loaded.run.samples }).collect();
    let mut report = calipers_compare::compare(&named, &question)?;
    report.caveats.splice(0..0, notes);
    report.provenance = CompareProvenance {
        runs: runs.iter().map(origin).collect(),
        filter: options.chosen.filter.clone(),
        scorers: options.chosen.scorers.clone(),
        labels: options.labels.mapped().map(|(label, number)| (label.to_string(), number)).collect(),
        scripts: options.scripts.clone(),
        tool: TOOL.to_owned(),
    };
    Ok(report)
}

pub(crate) const TOOL: &str = concat!("calipers ", env!("CARGO_PKG_VERSION"));

fn origin(loaded: &Loaded) -> RunOrigin {
    let run = &loaded.run;
    RunOrigin { name: loaded.name.clone(), files: run.files.clone(), task: run.task.clone(), model: run.model.clone() }
}

fn note(id: &str, message: String, next: &str) -> Note {
    Note { id: id.into(), message, next: Some(next.into()) }
}

/// The reducer that is asked for, or the first that the candidate's log names, or the mean.
pub(crate) fn reducer_of(runs: &[&Evaluated], asked: Option<&Reducer>, notes: &mut Vec<Note>) -> Reducer {
    if let Some(reducer) = asked {
        return reducer.clone();
    }
    let mut unknown = Vec::new();
    let recorded = runs.first().and_then(|run| recorded_reducers(&run.recorded, &mut unknown)).unwrap_or_default();
    let hint = "choose one with `--reducer`";
    notes.extend(unknown.into_iter().map(|message| note("unknown-reducer", message, hint)));
    if recorded.len() > 1 {
        let names: Vec<&str> = recorded.iter().map(Reducer::name).collect();
        let message = format!("the log reduces attempts by {}; the first is used", names.join(", "));
        notes.push(note("several-reducers", message, hint));
    }
    recorded.into_iter().next().unwrap_or_else(mean_score)
}

/// What runs are compared by when nothing is asked for: what the first records, or what all records speak of.
///
/// Fails if there are scores, and none of them is one number.
pub(crate) fn metrics_of(
    runs: &[&Evaluated],
    reducer: &Reducer,
    context: &Context,
    registry: &Registry,
    notes: &mut Vec<Note>,
) -> Result<Vec<Metric>, Error> {
    // An empty run says nothing, and is told as such when it is compared.
    let held: Vec<&Samples> = runs.iter().map(|run| &run.samples).filter(|samples| !samples.is_empty()).collect();
    let scorers: Vec<BTreeSet<&Arc<str>>> = held.iter().map(|samples| samples.scorers().collect()).collect();
    if scorers.iter().all(BTreeSet::is_empty) {
        let fields = shared(held.iter().map(|samples| samples.fields().map(|field| &**field).collect()));
        let metrics = metrics_by_fields(&fields);
        return Ok(if metrics.is_empty() { vec![accuracy()] } else { metrics });
    }
    let common = shared(scorers.iter().cloned());
    let mut left_out: Vec<&str> = scorers.iter().flatten().map(|scorer| &***scorer).collect();
    left_out.retain(|scorer| !common.iter().any(|known| &***known == *scorer));
    if !common.is_empty() && !left_out.is_empty() {
        left_out.sort_unstable();
        left_out.dedup();
        let message = format!("only scorers that all runs have are compared, without {}", left_out.join(", "));
        notes.push(note("unshared-scorer", message, "score both runs with the same scorers"));
    }
    let (maps, plain): (Vec<&Arc<str>>, Vec<&Arc<str>>) =
        common.iter().copied().partition(|scorer| held.iter().any(|samples| samples.has_maps(scorer)));
    if common.is_empty() {
        // Comparing them says why that cannot be.
        return Ok(vec![accuracy()]);
    }
    if plain.is_empty() {
        let message = format!("the scores of `{}` are maps, of which no single number is compared", maps[0]);
        let hint = "compare a scorer that gives one number, or a field with `-m`".to_owned();
        return Err(ErrorKind::Argument { message, hint }.into());
    }
    if !maps.is_empty() {
        let names: Vec<&str> = maps.iter().map(|scorer| &***scorer).collect();
        let message = format!("scores that are maps of several numbers are not compared: {}", names.join(", "));
        notes.push(note("map-scores", message, "record the number that matters as a scorer of its own"));
    }
    let is_only = common.len() == 1;
    let mut metrics = Vec::new();
    for scorer in plain {
        for metric in recorded_metrics(&runs[0].recorded, scorer, held[0], reducer, context, registry) {
            metrics.push(if is_only { metric } else { metric.of_scorer(scorer.clone())? });
        }
    }
    Ok(metrics)
}

fn shared<T: Ord>(mut sets: impl Iterator<Item = BTreeSet<T>>) -> BTreeSet<T> {
    let first = sets.next().unwrap_or_default();
    sets.fold(first, |mut common, set| {
        common.retain(|item| set.contains(item));
        common
    })
}

/// The metrics that a log names for a scorer and that are made of samples, or accuracy: errors have no change of their own.
fn recorded_metrics(
    recorded: &RecordedResults,
    scorer: &Arc<str>,
    samples: &Samples,
    reducer: &Reducer,
    context: &Context,
    registry: &Registry,
) -> Vec<Metric> {
    let named = recorded.scorers.iter().filter(|known| *known.name == **scorer).flat_map(|known| &known.metrics);
    let known = named.filter_map(|metric| match metric {
        RecordedMetric::Named { name, params } => registry.metric(name, params).ok(),
        RecordedMetric::Custom(_) | RecordedMetric::Keyed(_) => None,
    });
    let is_of_samples = |metric: &Metric| {
        let evidence = metric.evidence(samples, reducer, Some(scorer), context);
        // What is wrong with a score is said when it is compared.
        evidence.as_ref().is_ok_and(Option::is_some) || evidence.is_err()
    };
    let found: Vec<Metric> = known.filter(is_of_samples).collect();
    if found.is_empty() { vec![accuracy()] } else { found }
}
