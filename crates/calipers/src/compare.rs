//! From two runs or more to what changed between them.

use crate::run_reducer::recorded_reducer;
use crate::score::metrics_by_fields;
use crate::{LoadedNames, LoadedRun, Needs, Selection, TOOL, recorded_check};
pub use calipers_compare::*;
use calipers_core::stats::components::Estimand;
use calipers_core::stats::multiplicity::Correction;
use calipers_core::{
    Caveat, Context, Error, ErrorKind, Metric, PassRule, Reducer, Registry, Samples, accuracy, judge_caveats,
};
use calipers_io::{RecordedMetric, RecordedResults};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a comparison depends on besides the runs and their selection.
#[derive(Clone, Debug)]
pub struct CompareOptions {
    /// Metrics in place of those that the candidate records.
    pub metrics: Option<Vec<Metric>>,
    /// What errors speak of.
    pub estimand: Estimand,
    /// The metadata by which samples go together.
    pub cluster: Vec<String>,
    /// How much of a change does not matter.
    pub margin: Option<f64>,
    /// How p-values are adjusted.
    pub correction: Correction,
    /// The metrics that names stand for.
    pub registry: Registry,
    /// The metrics and reducers of loaded files.
    pub loaded: LoadedNames,
    /// How many pairs of each metric the report lists, those that differ most; all of them if nothing is said.
    pub pairs_max: Option<usize>,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            metrics: None,
            estimand: Estimand::Population,
            cluster: Vec::new(),
            margin: None,
            correction: Correction::Holm,
            registry: Registry::builtin(),
            loaded: LoadedNames::default(),
            pairs_max: None,
        }
    }
}

impl CompareOptions {
    /// The columns that are read for this comparison.
    #[must_use]
    pub fn needs(&self, selection: &Selection) -> Needs {
        // A metric of a log that a loaded file defines may look at anything.
        if self.metrics.is_none() && !self.loaded.is_empty() {
            return Needs::everything();
        }
        Needs::of_comparison(selection, self.metrics.as_deref(), &self.cluster)
    }
}

/// Compares the first run with every other one, by the metrics that are asked for or those that the records speak of.
///
/// ```
/// use calipers::compare::{ChangeVerdict, CompareOptions, compare};
/// use calipers::io::Source;
/// use calipers::{LoadedRun, Selection};
///
/// let (selection, options) = (Selection::default(), CompareOptions::default());
/// let run = |name: &str, failures: usize| {
///     let lines: String =
///         (0..40).map(|id| format!("{{\"id\": {id}, \"score\": {}}}\n", u8::from(id >= failures))).collect();
///     let selection = selection.with_sources([Source::bytes(name, lines.as_bytes())]);
///     LoadedRun::load(name, &selection, &options.needs(&selection))
/// };
/// let report = compare(&[run("new.jsonl", 20)?, run("old.jsonl", 10)?], &selection, &options)?;
/// let accuracy = &report.comparisons[0].metrics[0];
/// assert_eq!((accuracy.metric.as_str(), accuracy.verdict), ("accuracy", ChangeVerdict::Regressed));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compare(runs: &[LoadedRun], selection: &Selection, options: &CompareOptions) -> Result<CompareReport, Error> {
    let (ruled, mut caveats) = count_missing(runs, selection);
    let runs = ruled.as_deref().unwrap_or(runs);
    let all: Vec<&LoadedRun> = runs.iter().collect();
    let reducer = reducer_of(&all, selection.reducer(), &options.loaded, &mut caveats)?;
    let used = reducer.name().to_owned();
    let context = Context { limits: selection.limits.clone(), ..selection.context()? };
    let metrics = match &options.metrics {
        Some(metrics) => metrics.clone(),
        None => metrics_of(&all, &reducer, &context, (&options.registry, &options.loaded), &mut caveats)?,
    };
    let cluster: Vec<&str> = options.cluster.iter().map(String::as_str).collect();
    let question = CompareQuestion {
        metrics: &metrics,
        registry: &options.registry,
        reducer,
        context,
        estimand: options.estimand,
        cluster: &cluster,
        margin: options.margin,
        correction: options.correction,
        pass_rule: PassRule::default(),
        pairs_max: options.pairs_max,
    };
    let named: Vec<ComparedRun<'_>> =
        runs.iter().map(|run| ComparedRun { name: run.name.clone(), samples: &run.samples }).collect();
    check_scales(runs, &question.context)?;
    let mut report = calipers_compare::compare(&named, &question)?;
    for (place, run) in runs.iter().enumerate() {
        // The candidate is in every comparison, every other run in its own.
        let comparison = report.comparisons.get(place.saturating_sub(1));
        let figures = comparison.into_iter().flat_map(|comparison| &comparison.metrics);
        let figures = figures.map(|one| (one.metric.as_str(), if place == 0 { &one.candidate } else { &one.baseline }));
        caveats.extend(recorded_check::caveats(run, figures, &used, selection));
    }
    for run in runs {
        let judges = judge_caveats(&[&run.samples], &question.context).unwrap_or_default();
        caveats.extend(judges.into_iter().map(|caveat| caveat.in_run(&run.name)));
    }
    caveats.extend(matched_by_line(runs));
    report.caveats.splice(0..0, caveats);
    report.provenance = CompareProvenance {
        runs: runs.iter().map(origin).collect(),
        filter: selection.filter.clone(),
        scorers: selection.scorers.clone(),
        labels: selection.mapped_labels(),
        scripts: selection.scripts.clone(),
        tool: TOOL.to_owned(),
    };
    Ok(report)
}

/// The runs with what is missing counted as the selection says, if it says so, and what to know about them.
pub(crate) fn count_missing(runs: &[LoadedRun], selection: &Selection) -> (Option<Vec<LoadedRun>>, Vec<Caveat>) {
    let mut caveats: Vec<Caveat> = runs.iter().flat_map(|run| run.caveats(runs.len() > 1)).collect();
    let ruled = selection.missing.map(|rule| {
        let one = |run: &LoadedRun| {
            let (run, caveat) = run.with_missing(rule, false);
            caveats.extend(caveat);
            run
        };
        runs.iter().map(one).collect()
    });
    (ruled, caveats)
}

/// An error if the first run has its scores on another scale than one of the others, by the same scorer: a percentage is no improvement on
/// a share.
fn check_scales(runs: &[LoadedRun], context: &Context) -> Result<(), Error> {
    let [first, others @ ..] = runs else { return Ok(()) };
    for scorer in first.samples.scorers() {
        let Some(mine) = ScoreRange::of(&first.samples, scorer, context) else { continue };
        for other in others {
            let Some(theirs) = ScoreRange::of(&other.samples, scorer, context) else { continue };
            if mine.is_other_scale_than(&theirs) || theirs.is_other_scale_than(&mine) {
                let (one, two) = (&first.name, &other.name);
                let message = format!(
                    "scores of `{scorer}` go up to {} in `{one}` and to {} in `{two}`: they are on two scales",
                    mine.most, theirs.most
                );
                return Err(Error::argument(message, "write the scores of both on one scale"));
            }
        }
    }
    Ok(())
}

/// Between which numbers the scores of a run lie.
struct ScoreRange {
    least: f64,
    most: f64,
    /// True when some lie between 0 and 1.
    has_shares: bool,
}

impl ScoreRange {
    /// Nothing if there are few scores, or some are no numbers.
    fn of(samples: &Samples, scorer: &str, context: &Context) -> Option<Self> {
        const SCORES_MIN: usize = 5;
        let points = samples.points(scorer).ok()?;
        let floats = points.floats(context).ok()?;
        let mut range = Self { least: f64::INFINITY, most: f64::NEG_INFINITY, has_shares: false };
        for &score in floats.iter().filter(|score| !score.is_nan()) {
            (range.least, range.most) = (range.least.min(score), range.most.max(score));
            range.has_shares |= score > 0.0 && score < 1.0;
        }
        (floats.len() >= SCORES_MIN && range.least <= range.most).then_some(range)
    }

    /// True for scores above 1 beside shares, which no scale has.
    fn is_other_scale_than(&self, shares: &Self) -> bool {
        const POINTS_MIN: f64 = 10.0;
        // A run of zeros may be on any scale.
        let are_shares = shares.least >= 0.0 && shares.most <= 1.0 && shares.most > 0.5 && shares.least < shares.most;
        // On a scale from 1 to 5 nothing is 0, and points are whole.
        let has_no_zero = self.least >= 1.0 && shares.least < 1.0;
        let is_whole = !self.has_shares && shares.has_shares;
        are_shares && self.most >= 2.0 && (self.most >= POINTS_MIN || has_no_zero || is_whole)
    }
}

/// What to know about runs whose samples have no names but their lines or places: files in another order match other samples. The facts
/// that were read show whether they do.
fn matched_by_line(runs: &[LoadedRun]) -> Option<Caveat> {
    let [first, others @ ..] = runs else { return None };
    // The runs of one table have the same lines in the same order.
    let is_other = |run: &&LoadedRun| run.files != first.files && run.is_by_line() && first.is_by_line();
    let mut others = others.iter().filter(is_other);
    let other = others.next()?;
    let places = first.samples.places_in(&other.samples);
    let pairs: Vec<(u32, u32)> = (0..).zip(places).filter_map(|(mine, theirs)| Some((mine, theirs?))).collect();
    let differing = first.samples.metadata_keys().filter_map(|key| {
        let (mine, theirs) = (first.samples.metadata_column(key)?, other.samples.metadata_column(key)?);
        let count = pairs.iter().filter(|(a, b)| mine.value(*a) != theirs.value(*b)).count() as u64;
        (count > 0).then(|| (key.to_string(), count))
    });
    Some(Caveat::MatchedByLine { matched: pairs.len() as u64, differing: differing.max_by_key(|(_, count)| *count) })
}

fn origin(run: &LoadedRun) -> RunOrigin {
    RunOrigin {
        name: run.name.clone(),
        files: run.files.clone(),
        columns: run.columns.clone(),
        task: run.task.clone(),
        model: run.model.clone(),
    }
}

/// The reducer that is asked for, or the one that all runs record, or the mean.
pub(crate) fn reducer_of(
    runs: &[&LoadedRun],
    asked: Option<&Reducer>,
    loaded: &LoadedNames,
    caveats: &mut Vec<Caveat>,
) -> Result<Reducer, Error> {
    match asked {
        Some(reducer) => Ok(reducer.clone()),
        None => recorded_reducer(runs, &|name| loaded.reducer(name), caveats),
    }
}

/// What runs are compared by when nothing is asked for: what the first records, or what all records speak of.
///
/// Fails if there are scores, and none of them is one number, or if a loaded file has no metric for what is recorded.
pub(crate) fn metrics_of(
    runs: &[&LoadedRun],
    reducer: &Reducer,
    context: &Context,
    names: (&Registry, &LoadedNames),
    caveats: &mut Vec<Caveat>,
) -> Result<Vec<Metric>, Error> {
    // An empty run says nothing; the comparison reports it.
    let held: Vec<&Samples> = runs.iter().map(|run| &run.samples).filter(|samples| !samples.is_empty()).collect();
    let scorers: Vec<BTreeSet<&Arc<str>>> = held.iter().map(|samples| samples.scorers().collect()).collect();
    if scorers.iter().all(BTreeSet::is_empty) {
        let fields = intersect(held.iter().map(|samples| samples.fields().map(|field| &**field).collect()));
        let metrics = metrics_by_fields(&fields);
        return Ok(if metrics.is_empty() { vec![accuracy()] } else { metrics });
    }
    let common = intersect(scorers.iter().cloned());
    let mut left_out: Vec<&str> = scorers.iter().flatten().map(|scorer| &***scorer).collect();
    left_out.retain(|scorer| !common.iter().any(|known| &***known == *scorer));
    if !common.is_empty() && !left_out.is_empty() {
        left_out.sort_unstable();
        left_out.dedup();
        caveats.push(Caveat::UnsharedScorers { scorers: left_out.into_iter().map(str::to_owned).collect() });
    }
    let (maps, plain): (Vec<&Arc<str>>, Vec<&Arc<str>>) =
        common.iter().copied().partition(|scorer| held.iter().any(|samples| samples.has_maps(scorer)));
    if common.is_empty() {
        // Comparing them says why that cannot be.
        return Ok(vec![accuracy()]);
    }
    if plain.is_empty() {
        let message = format!("the scores of `{}` are maps, of which no single number is compared", maps[0]);
        let key = held.iter().find_map(|samples| samples.map_key(maps[0])).unwrap_or_else(|| "KEY".into());
        let key = if key.contains(['"', '\'', '\\']) || key.chars().any(char::is_control) { "KEY" } else { &*key };
        let hint = format!("compare one of their keys, as in `-m 'aggregate(\"{key}\", mean())'`");
        return Err(ErrorKind::Argument { message, hint }.into());
    }
    if !maps.is_empty() {
        caveats.push(Caveat::MapScores { scorers: maps.iter().map(ToString::to_string).collect() });
    }
    let is_only = common.len() == 1;
    let (mut metrics, mut unknown) = (Vec::new(), BTreeSet::new());
    for scorer in plain {
        let recorded = RecordedNames { recorded: &runs[0].recorded, names, unknown: &mut unknown };
        for metric in recorded.metrics(scorer, held[0], reducer, context)? {
            metrics.push(if is_only { metric } else { metric.of_scorer(scorer.clone())? });
        }
    }
    if !unknown.is_empty() {
        caveats.push(Caveat::UnknownMetrics { metrics: unknown.into_iter().collect() });
    }
    Ok(metrics)
}

fn intersect<T: Ord>(mut sets: impl Iterator<Item = BTreeSet<T>>) -> BTreeSet<T> {
    let first = sets.next().unwrap_or_default();
    sets.fold(first, |mut common, set| {
        common.retain(|item| set.contains(item));
        common
    })
}

/// The metrics that a log names, and what the names stand for.
struct RecordedNames<'a> {
    recorded: &'a RecordedResults,
    names: (&'a Registry, &'a LoadedNames),
    /// The metrics that only the code of the log knows.
    unknown: &'a mut BTreeSet<String>,
}

impl RecordedNames<'_> {
    /// The metrics that a log names for a scorer and that are made of samples, or else accuracy. An error is not compared.
    fn metrics(
        self,
        scorer: &Arc<str>,
        samples: &Samples,
        reducer: &Reducer,
        context: &Context,
    ) -> Result<Vec<Metric>, Error> {
        let (registry, loaded) = self.names;
        let scorers = self.recorded.scorers.iter().filter(|known| *known.name == **scorer);
        let is_of_samples = |metric: &Metric| {
            let evidence = metric.evidence(samples, reducer, Some(scorer), context);
            // What is wrong with a score is said when it is compared.
            evidence.as_ref().is_ok_and(Option::is_some) || evidence.is_err()
        };
        let mut found = Vec::new();
        for metric in scorers.flat_map(|known| &known.metrics) {
            match metric {
                RecordedMetric::Named { name, params } => {
                    found.extend(registry.metric(name, params).ok().filter(is_of_samples));
                }
                RecordedMetric::Custom { name, params } => match loaded.metric(name, params) {
                    Some(metric) => found.push(metric?),
                    None => {
                        self.unknown.insert(name.clone());
                    }
                },
                RecordedMetric::Keyed(_) => {}
            }
        }
        Ok(if found.is_empty() { vec![accuracy()] } else { found })
    }
}
