//! From runs to their reports: the metrics that their files record, or those that are asked for.

use crate::judge::unless_said;
use crate::load::{has_scores, load, load_as, with_columns};
use crate::pipeline::NeverRan;
use crate::{LoadedFile, LoadedNames, Needs, RunError, Selection, pipeline, recorded_check};
use calipers_core::{
    Average, Caveat, Completeness, Error, Metric, MetricSpec, Partial, Plan, RecordedResult, Reducer, Registry,
    RunReport, SampleCounts, SampleId, Samples, Shards, Value, accuracy, behavior_coverage, by_key, judge_caveats,
    pass_rate,
};
use calipers_io::{Format, RecordedFigure, RecordedMetric, RecordedResults, RecordedRun, RecordedScorer, Source};
use calipers_render::{RunNote, note_sentence};
use calipers_stats::{Confidence, Interval, recorded_error};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

/// What to compute, besides what the selection says.
#[derive(Clone, Debug)]
pub struct ScoreOptions {
    /// Metrics in place of those that the file records.
    pub metrics: Option<Vec<MetricSpec>>,
    /// True to compute as Inspect does.
    pub inspect: bool,
    /// True to keep the reduced score of every sample.
    pub keep_reductions: bool,
    /// The metrics that names stand for.
    pub registry: Registry,
    /// The metrics and reducers of loaded files.
    pub loaded: LoadedNames,
}

impl Default for ScoreOptions {
    fn default() -> Self {
        let (registry, loaded) = (Registry::builtin(), LoadedNames::default());
        Self { metrics: None, inspect: false, keep_reductions: false, registry, loaded }
    }
}

impl ScoreOptions {
    /// The columns that are read for these metrics.
    #[must_use]
    pub fn needs(&self, selection: &Selection) -> Needs {
        // A metric of a log that a loaded file defines may look at anything.
        if self.metrics.is_none() && !self.loaded.is_empty() {
            return Needs { allows_empty_files: false, ..Needs::everything() };
        }
        Needs::of_metrics(selection, self.metrics.as_deref(), self.keep_reductions)
    }
}

/// The reports of all runs in a selection, file by file.
///
/// A Parquet table is measured while it is read, if its order allows it; everything else is loaded first.
///
/// ```
/// use calipers::Selection;
/// use calipers::io::Source;
/// use calipers::score::{ScoreOptions, score};
///
/// let lines = r#"{"id": 1, "score": "C"}
/// {"id": 2, "score": "I"}"#;
/// let selection = Selection::of([Source::bytes("results.jsonl", lines.as_bytes())]);
/// for reports in score(&selection, &ScoreOptions::default()) {
///     assert_eq!(reports?[0].results.figure("score", "accuracy").expect("default").value, Ok(0.5));
/// }
/// # Ok::<(), calipers::RunError>(())
/// ```
pub fn score(selection: &Selection, options: &ScoreOptions) -> impl Iterator<Item = Result<Vec<RunReport>, RunError>> {
    let needs = options.needs(selection);
    let is_joined = selection.joins_files();
    let joined: Vec<_> = if is_joined { load(selection, &needs).collect() } else { Vec::new() };
    let one_by_one = if is_joined { &[][..] } else { &selection.sources[..] };
    let one_by_one = one_by_one.iter().map(move |source| {
        let source = &with_columns(source, selection);
        let format = calipers_io::choose(source, selection.format.as_deref())?;
        match score_stream(source, format, &needs, selection, options) {
            Some(report) => Ok(vec![report]),
            None => score_file(load_as(source, format, selection, &needs)?, selection, options),
        }
    });
    one_by_one.chain(joined.into_iter().map(|file| score_file(file?, selection, options)))
}

/// The reports of the runs in a file that was loaded with [`ScoreOptions::needs`].
pub fn score_file(file: LoadedFile, selection: &Selection, options: &ScoreOptions) -> Result<Vec<RunReport>, RunError> {
    let measure = |run| score_run(run, selection, options).map_err(RunError::in_source(&file.source.name));
    let reports: Vec<RunReport> = file.runs.into_iter().map(measure).collect::<Result<_, _>>()?;
    // Records without any column that says how they went: one of the columns is, under a name that is not known.
    let is_unmeasured = |run: &RunReport| {
        run.samples.total > 0 && run.results.scores.is_empty() && run.recorded.is_empty() && !has_limits(run)
    };
    if !reports.is_empty()
        && reports.iter().all(is_unmeasured)
        && let Some(error) = calipers_io::explain_unmeasured(&file.source)
    {
        return Err(error.into());
    }
    Ok(reports)
}

/// True when a run says of itself what went wrong: no attempt came to its end, or something else than an error ended some.
fn has_limits(run: &RunReport) -> bool {
    run.results.completed_attempts == 0 || !run.results.caveats.iter().all(is_about_scores)
}

fn is_about_scores(caveat: &Caveat) -> bool {
    matches!(caveat, Caveat::NoScores | Caveat::Errored { .. })
}

/// What was folded of a part of a table.
struct FoldedPart<'p> {
    partial: Partial<'p>,
    samples: SampleCounts,
    /// The scorers that all of it has.
    scorers: BTreeSet<Arc<str>>,
    first: SampleId,
    last: SampleId,
}

/// Measures a table while it is read, and keeps nothing of it. This works only while sample ids ascend, so that no sample
/// can be in two shards; otherwise, and if anything is wrong, there is no report, and the table is read whole.
fn score_stream(
    source: &Source,
    format: &dyn Format,
    needs: &Needs,
    selection: &Selection,
    options: &ScoreOptions,
) -> Option<RunReport> {
    let is_choosy = !selection.scorers.is_empty() || !selection.filter.is_empty() || !selection.runs.is_empty();
    let is_choosy = is_choosy || selection.human_labels.is_some();
    if !format.can_stream() || selection.missing.is_some() || is_choosy {
        return None;
    }
    let (plan, _) = plan(&RecordedResults::default(), selection, options, &mut Vec::new()).ok()?;
    let parts: Mutex<BTreeMap<usize, FoldedPart<'_>>> = Mutex::default();
    let lock = || parts.lock().unwrap_or_else(PoisonError::into_inner);
    let fold = |part: usize, samples: Samples| {
        // Two deliveries of one attempt are compared in all they hold, which is not read here.
        if samples.has_repeats() {
            return false;
        }
        let Some((first, last)) = samples.id_range() else { return false };
        let taken = lock().remove(&part);
        let scorers: BTreeSet<Arc<str>> = samples.scorers().cloned().collect();
        let mut folded = match taken {
            // A scorer that only some parts know of would not count the samples of the others as missing.
            Some(folded) if folded.last < first && folded.scorers == scorers => folded,
            Some(_) => return false,
            None => FoldedPart {
                partial: plan.start(),
                samples: SampleCounts::default(),
                scorers,
                first,
                last: last.clone(),
            },
        };
        // What records without scores are asked is decided when all are there.
        let is_undecided = samples.scorers().next().is_none()
            && options.metrics.as_ref().is_none_or(|metrics| {
                let fields = samples.fields().collect();
                metrics.iter().flat_map(MetricSpec::metrics).any(|metric| !metric.does_without_scores(&fields))
            });
        if is_undecided || folded.partial.fold(&samples).is_err() {
            return false;
        }
        let counts = samples.counts();
        // Without scores, other columns say how samples went, and not all of them are read.
        if counts.unscored > 0 && samples.scorers().next().is_none() {
            return false;
        }
        folded.samples += counts;
        folded.last = last;
        lock().insert(part, folded);
        true
    };
    let table = format.stream(source, &needs.columns, &fold)?;
    let mut parts = parts.into_inner().unwrap_or_else(PoisonError::into_inner).into_values();
    let mut whole = parts.next()?;
    for part in parts {
        if part.first <= whole.last || part.scorers != whole.scorers {
            return None;
        }
        whole.partial.merge(part.partial);
        whole.samples += part.samples;
        whole.last = part.last;
    }
    Some(RunReport {
        source: source.name.clone(),
        format: format.name().to_owned(),
        name: None,
        columns: table.columns,
        task: None,
        model: None,
        created: None,
        commit: None,
        samples: whole.samples,
        results: whole.partial.finish().ok()?,
        recorded: Vec::new(),
        notes: table.notes,
    })
}

/// The report of a run whose scorers and samples have been selected, as [`load()`](crate::load()) does.
///
/// ```
/// use calipers::Selection;
/// use calipers::io::{Source, read};
/// use calipers::score::{ScoreOptions, score_run};
///
/// let lines = r#"{"id": 1, "score": "C"}
/// {"id": 2, "score": "I"}"#;
/// let runs = read(&Source::bytes("results.jsonl", lines.as_bytes()), None)?;
/// let run = runs.into_iter().next().expect("one run");
/// let report = score_run(run, &Selection::default(), &ScoreOptions::default())?;
/// assert_eq!(report.results.figure("score", "accuracy").expect("default").value, Ok(0.5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn score_run(
    run: RecordedRun<impl Into<Shards>>,
    selection: &Selection,
    options: &ScoreOptions,
) -> Result<RunReport, Error> {
    let (mut samples, never_ran, caveats) = count_missing(run.samples.into(), run.completeness, selection);
    if options.metrics.as_deref().is_some_and(|metrics| lacks_scores(metrics, &samples)) {
        samples.score_by_fields(&SCORING_FIELDS);
    }
    let parts = NonZeroUsize::new(samples.iter().count()).unwrap_or(NonZeroUsize::MIN);
    let mut notes = run.notes;
    let in_log = run.recorded.figures.clone();
    let recorded = with_default_metrics(run.recorded, &samples);
    let (plan, mut figures) = plan(&recorded, selection, options, &mut notes)?;
    // A filter may have left nothing: the file's figures would be about more than was asked for.
    if samples.is_empty() && options.metrics.is_none() && selection.filter.is_empty() {
        figures = figures_without_samples(&recorded, selection.level);
        let is_asked = |figure: &RecordedResult| selection.scorers.contains(&figure.score);
        figures.retain(|figure| selection.scorers.is_empty() || is_asked(figure));
    }
    let plan = match metrics_without_scores(&samples) {
        metrics if options.metrics.is_none() && !metrics.is_empty() => plan.metrics(metrics),
        _ => plan,
    };
    let plan = plan.run_scorers(samples.iter().flat_map(Samples::scorers));
    let disagreements = judge_caveats(&samples.iter().collect::<Vec<_>>(), &selection.context()?).unwrap_or_default();
    let counts = samples.counts();
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut results = pipeline::measure_with(&plan, samples, &never_ran, threads.min(parts))?;
    recorded_check::check_results(&mut results, &in_log, selection);
    // A file of figures has them in place of scores.
    if counts.total == 0 && !figures.is_empty() {
        results.caveats.retain(|caveat| *caveat != Caveat::NoScores);
    }
    let shown = results.scores.iter().flat_map(|score| score.metrics.values()).map(|metric| &metric.figure);
    let disagreements = unless_said(disagreements, shown);
    results.caveats.splice(0..0, caveats.into_iter().chain(disagreements));
    Ok(RunReport {
        source: run.source,
        format: run.format.to_owned(),
        name: run.name,
        columns: run.columns,
        task: run.task,
        model: run.model,
        created: run.created,
        commit: run.commit,
        samples: counts,
        results,
        recorded: figures,
        notes,
    })
}

/// The fields that act as scorers in records without scores.
pub(crate) const SCORING_FIELDS: [&str; 2] = ["correct", "passed"];

/// True when there are no scores, and one of the metrics has no figure without them.
pub(crate) fn lacks_scores(metrics: &[MetricSpec], samples: &Shards) -> bool {
    if has_scores(samples) {
        return false;
    }
    let fields: BTreeSet<&Arc<str>> = samples.iter().flat_map(Samples::fields).collect();
    metrics.iter().flat_map(MetricSpec::metrics).any(|metric| !metric.does_without_scores(&fields))
}

/// The samples with what is missing counted as the selection says, and what to know about them.
fn count_missing(
    samples: Shards,
    completeness: Option<Completeness>,
    selection: &Selection,
) -> (Shards, NeverRan, Vec<Caveat>) {
    let mut caveats: Vec<Caveat> = completeness.iter().filter_map(|one| one.caveat(None)).collect();
    caveats.extend(limits_caveat(limits_hit(&samples)));
    caveats.extend(Caveat::of_cached(None, cached_answers(&samples), attempts_of(&samples)));
    let never_ran = completeness.as_ref().map_or(&[][..], |one| &one.never_ran);
    let Some(rule) = selection.missing else {
        let never_ran = NeverRan::of(never_ran, &samples);
        return (samples, never_ran, caveats);
    };
    let mut whole = samples.into_whole();
    whole.add_never_ran(never_ran);
    let ruled = whole.with_missing(rule);
    caveats.extend(ruled.caveat(false));
    (Shards::from(ruled.samples), NeverRan::default(), caveats)
}

/// How many attempts each kind of limit stopped.
pub(crate) fn limits_hit(samples: &Shards) -> BTreeMap<Arc<str>, u64> {
    let mut kinds: BTreeMap<Arc<str>, u64> = BTreeMap::new();
    for (kind, count) in samples.iter().flat_map(Samples::limits_hit) {
        *kinds.entry(kind).or_default() += count;
    }
    kinds
}

pub(crate) fn limits_caveat(kinds: BTreeMap<Arc<str>, u64>) -> Option<Caveat> {
    let kinds: Vec<(String, u64)> = kinds.into_iter().map(|(kind, count)| (kind.to_string(), count)).collect();
    (!kinds.is_empty()).then_some(Caveat::LimitsHit { run: None, kinds })
}

/// Attempts with answers from a cache, and these answers.
pub(crate) fn cached_answers(samples: &Shards) -> (u64, u64) {
    let add = |(a, b): (u64, u64), (c, d): (u64, u64)| (a + c, b.saturating_add(d));
    samples.iter().map(Samples::cached_answers).fold((0, 0), add)
}

/// Attempts, as the caveat of cached answers counts them.
pub(crate) fn attempts_of(samples: &Shards) -> u64 {
    samples.iter().map(|shard| shard.attempts() as u64).sum()
}

/// The metrics of scores that are maps and that the file names none for: the usual ones, by key.
pub(crate) fn with_default_metrics(mut recorded: RecordedResults, samples: &Shards) -> RecordedResults {
    let usual = |name: &str| RecordedMetric::Named { name: name.to_owned(), params: Value::Null };
    let names: BTreeSet<&Arc<str>> = samples.iter().flat_map(Samples::scorers).collect();
    for name in names {
        let is_named = recorded.scorers.iter().any(|scorer| *scorer.name == **name);
        if !is_named && samples.iter().any(|part| part.has_maps(name)) {
            let by_key = RecordedMetric::Keyed(vec![("*".to_owned(), vec![usual("accuracy"), usual("stderr")])]);
            recorded.scorers.push(RecordedScorer { name: name.to_string(), metrics: vec![by_key], options: None });
        }
    }
    recorded
}

/// The metrics that records without scores may be measured by.
pub(crate) fn default_metrics() -> impl Iterator<Item = Metric> {
    [accuracy(), pass_rate(), behavior_coverage(Average::Macro)].into_iter()
}

/// Those of these names.
pub(crate) fn metrics_by_names(names: &[String]) -> Vec<Metric> {
    default_metrics().filter(|metric| names.iter().any(|name| name == metric.name())).collect()
}

/// What records without scores are measured by, from what they say: whether they are correct, whether they passed, which
/// behaviours were observed.
pub(crate) fn metrics_without_scores(samples: &Shards) -> Vec<Metric> {
    if has_scores(samples) {
        return Vec::new();
    }
    let fields = samples.iter().flat_map(Samples::fields).map(|field| &**field).collect();
    metrics_by_fields(&fields)
}

/// What records with these fields, and without scores, are measured by.
pub(crate) fn metrics_by_fields(fields: &BTreeSet<&str>) -> Vec<Metric> {
    let has = |names: &[&str]| names.iter().any(|name| fields.contains(name));
    let behaviors = ["expected_behaviors", "must_not", "violations"];
    let is_said = [has(&["correct"]), has(&["passed"]) || has(&behaviors), has(&behaviors)];
    default_metrics().zip(is_said).filter_map(|(metric, is_said)| is_said.then_some(metric)).collect()
}

/// The plan, and the recorded figures of metrics that cannot be computed here.
pub(crate) fn plan(
    recorded: &RecordedResults,
    selection: &Selection,
    options: &ScoreOptions,
    notes: &mut Vec<String>,
) -> Result<(Plan, Vec<RecordedResult>), Error> {
    let mut plan = Plan::new().level(selection.level)?.seed(selection.seed).labels(selection.labels.clone());
    plan = plan.pass_threshold(selection.pass_threshold).limits(selection.limits.clone());
    if options.inspect {
        // Inspect clusters where a metric says so, and nowhere else.
        plan = plan.inspect_compatible();
    } else {
        plan = plan.cluster(selection.cluster.iter().map(String::as_str));
    }
    if options.keep_reductions {
        plan = plan.keep_reductions();
    }
    if let Some(reducers) = &selection.reducers {
        plan = plan.reducers(reducers.clone());
    } else {
        let mut unknown = Vec::new();
        if let Some(reducers) =
            recorded_reducers(recorded.reducers.as_deref(), &|name| options.loaded.reducer(name), &mut unknown)
        {
            plan = plan.reducers(reducers);
        }
        let note = |name: &String| note_sentence(RunNote::UnknownReducer(name));
        notes.extend(unknown.iter().map(note));
    }
    if let Some(metrics) = &options.metrics {
        return Ok((plan.metrics(metrics.clone()), Vec::new()));
    }
    let mut unknown = Vec::new();
    let registry = options.registry.clone().as_logged();
    for scorer in &recorded.scorers {
        if matches!(&scorer.metrics[..], [RecordedMetric::Keyed(keys)] if keys.is_empty()) {
            notes.push(note_sentence(RunNote::ScorerWithoutMetrics(&scorer.name)));
        }
        let specs: Vec<MetricSpec> =
            scorer.metrics.iter().filter_map(|metric| spec(metric, &registry, &options.loaded, &mut unknown)).collect();
        // A scorer whose metrics are all custom has no others.
        if !specs.is_empty() || !scorer.metrics.is_empty() {
            plan = plan.scorer(scorer.name.as_str(), specs);
        }
    }
    let broken = unknown.iter().filter_map(|metric| Some((&metric.name, metric.error.as_ref()?)));
    notes.extend(broken.map(|(name, error)| note_sentence(RunNote::BrokenMetric(name, error))));
    let unknown: Vec<&str> = unknown.iter().map(|metric| metric.name.as_str()).collect();
    let figures = recorded.figures.iter().filter(|figure| unknown.iter().any(|name| figure.metric.starts_with(name)));
    Ok((plan, figures.map(|figure| recorded_result(figure, None)).collect()))
}

fn recorded_result(figure: &RecordedFigure, interval: Option<Interval>) -> RecordedResult {
    RecordedResult {
        score: figure.score.clone(),
        reducer: figure.reducer.clone(),
        metric: figure.metric.clone(),
        value: figure.value,
        stderr: figure.stderr,
        n: figure.n,
        interval,
    }
}

/// The figures of a file that has no samples, with the intervals that follow from their recorded errors.
fn figures_without_samples(recorded: &RecordedResults, level: f64) -> Vec<RecordedResult> {
    let interval = |figure: &RecordedFigure| {
        let confidence = Confidence::two_sided(level).ok()?;
        recorded_error::interval(figure.value?, figure.stderr?, confidence).ok()
    };
    recorded.figures.iter().map(|figure| recorded_result(figure, interval(figure))).collect()
}

/// The reducers that a log names; the names of those that only its own code knows are added to `unknown`.
pub(crate) fn recorded_reducers(
    names: Option<&[String]>,
    find: &dyn Fn(&str) -> Result<Reducer, Error>,
    unknown: &mut Vec<String>,
) -> Option<Vec<Reducer>> {
    let names = names?;
    let known: Vec<Reducer> = names.iter().filter_map(|name| find(name).ok()).collect();
    unknown.extend(names.iter().filter(|name| find(name).is_err()).cloned());
    (names.is_empty() || !known.is_empty()).then_some(known)
}

/// A metric of a log that cannot be computed here.
struct UnknownMetric {
    name: String,
    /// What is wrong with the function of this name in a loaded file.
    error: Option<Error>,
}

/// The metric that a log names; what is not known here is remembered.
fn spec(
    recorded: &RecordedMetric,
    registry: &Registry,
    loaded: &LoadedNames,
    unknown: &mut Vec<UnknownMetric>,
) -> Option<MetricSpec> {
    let mut one = |recorded: &RecordedMetric| -> Option<Metric> {
        match recorded {
            RecordedMetric::Named { name, params } => {
                let forget = |_| unknown.push(UnknownMetric { name: name.clone(), error: None });
                registry.metric(name, params).map_err(forget).ok()
            }
            RecordedMetric::Custom { name, params } => match loaded.metric(name, params) {
                Some(Ok(metric)) => Some(metric),
                found => {
                    let error = found.and_then(Result::err);
                    unknown.push(UnknownMetric { name: name.clone(), error });
                    None
                }
            },
            RecordedMetric::Keyed(_) => None,
        }
    };
    match recorded {
        RecordedMetric::Named { .. } | RecordedMetric::Custom { .. } => one(recorded).map(MetricSpec::from),
        RecordedMetric::Keyed(keys) => {
            let known: Vec<(String, Vec<Metric>)> = keys
                .iter()
                .map(|(key, metrics)| (key.clone(), metrics.iter().filter_map(&mut one).collect()))
                .collect();
            Some(by_key(known))
        }
    }
}
