//! The questions: one function for each command of the command line.

use crate::calls::{compute, compute_here};
use crate::choices::{Choices, ColumnChoice, ScriptChoices, columns, unknown};
use crate::data::{Given, Source};
use crate::failure::Failure;
use crate::human_labels::{LabelChoice, LabelSource, note_unused, read_labels};
use crate::metrics::{MetricChoice, Raised, ReducerChoice, Vocabulary, calls_python};
use crate::reports::{Content, Report};
use calipers::compare::CompareOptions;
use calipers::gate::{GateOptions, GateReport, Provenance};
use calipers::io::{LoadedPolicy, OutputFile, load_policy, parse_policy, read_baseline, read_suite, writer};
use calipers::judge::{JudgeOptions, assess, load_labels};
use calipers::metric::Unit;
use calipers::plan::Report as ResultsReport;
use calipers::policy::{Comparison, Span, Threshold};
use calipers::render::page_html;
use calipers::score::ScoreOptions;
use calipers::sizing::{Pairing, PilotOptions, PlanQuestion, Spread};
use calipers::stats::components::Estimand;
use calipers::stats::multiplicity::Correction;
use calipers::stats::power::Costs;
use calipers::stats::threshold_test::Direction;
use calipers::text::pluralize;
use calipers::{LoadedFile, LoadedRun, Metric, Needs, Registry, RunError, Selection, load};
use calipers_cli::judge_with_looks;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Runs work where it belongs: what calls Python stays in the thread of the caller.
fn run<T: Send + 'static>(
    py: Python<'_>,
    is_python: bool,
    raised: &Raised,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let answer = if is_python { compute_here(py, work) } else { compute(py, work) };
    raised.settle(py, answer)
}

/// The selection that choices make, and the scripts that they name.
pub(crate) fn selection_of(py: Python<'_>, choices: Choices) -> PyResult<(Selection, ScriptChoices)> {
    let scripts = choices.scripts();
    let selection = choices.selection().map_err(|failure| failure.into_exception(py))?;
    Ok((selection, scripts))
}

/// The metrics of runs.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "one for each option")]
pub(crate) fn score(
    py: Python<'_>,
    sources: Vec<PyRef<'_, Source>>,
    choices: Choices,
    metric: Vec<MetricChoice>,
    reducer: Vec<ReducerChoice>,
    compat: Option<String>,
    reductions: bool,
    labels: Option<LabelChoice<'_>>,
) -> PyResult<Report> {
    let given = Given::new(&sources);
    let labels_given = labels.map(LabelSource::new);
    let (selection, scripts) = selection_of(py, choices)?;
    let is_python = calls_python(&metric, &reducer);
    let raised = Raised::default();
    let vocabulary_raised = raised.clone();
    run(py, is_python, &raised, move || {
        let is_inspect = match compat.as_deref() {
            None => false,
            Some("inspect") => true,
            Some(other) => return Err(unknown("compat", other, "\"inspect\"")),
        };
        if is_inspect && !selection.cluster.is_empty() {
            let hint = "name the clusters where Inspect does, as in `metric='ci(cluster=\"document\")'`";
            return Err(Failure::usage("Inspect has no `cluster` for all metrics", hint));
        }
        let labels = selection.labels.clone();
        let labels = if is_inspect { labels.unknown_as_zero() } else { labels };
        let vocabulary = Vocabulary::load(labels, scripts, &vocabulary_raised)?;
        let options = ScoreOptions {
            metrics: vocabulary.metric_specs(metric)?,
            inspect: is_inspect,
            keep_reductions: reductions,
            loaded: vocabulary.loaded_names()?,
            ..ScoreOptions::default()
        };
        let reducers = vocabulary.reducers(reducer)?;
        let human_labels = read_labels(labels_given.as_ref(), &selection)?;
        let (sources, mut notes) = given.find(&selection)?;
        let selection = Selection { sources, reducers, human_labels, ..selection };
        let mut report = ResultsReport::default();
        let mut failures: Vec<Failure> = Vec::new();
        for reports in calipers::score::score(&selection, &options) {
            match reports {
                Ok(reports) => report.runs.extend(reports),
                Err(error) => failures.push(error.into()),
            }
        }
        // One bad file is not passed over, whatever the others say.
        if let Some(failure) = failures.into_iter().reduce(Failure::and) {
            return Err(failure);
        }
        if selection.human_labels.is_some() && report.runs.len() > 1 {
            let what = format!("`labels` are of one run, and there are {}", report.runs.len());
            return Err(Failure::usage(what, "score each run with the labels of its own answers"));
        }
        note_unused(selection.human_labels.as_deref(), &mut notes)?;
        Ok(Report { content: Content::Results(Box::new(report)), notes })
    })
}

/// A policy as the package hands it over: a path, or what it says.
#[derive(FromPyObject)]
pub(crate) enum PolicyChoice {
    #[pyo3(transparent)]
    Path(PathBuf),
    Text(String, Vec<u8>),
}

impl PolicyChoice {
    fn load(&self) -> Result<(LoadedPolicy, Provenance), Failure> {
        let (loaded, name) = match self {
            Self::Path(path) => (load_policy(path)?, path.display().to_string()),
            Self::Text(name, bytes) => (parse_policy(name, bytes)?, name.clone()),
        };
        let provenance = Provenance { policy: name, policy_hash: loaded.hash.clone(), ..Provenance::default() };
        Ok((loaded, provenance))
    }
}

/// What a verdict depends on besides results.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct JudgingChoices {
    policy: PolicyChoice,
    suite: Option<String>,
    baseline: Option<String>,
    baseline_age: Option<f64>,
    for_version: Option<String>,
    looks: Option<String>,
    metric: Vec<MetricChoice>,
    reducer: Vec<ReducerChoice>,
}

impl JudgingChoices {
    fn calls_python(&self) -> bool {
        calls_python(&self.metric, &self.reducer)
    }

    /// The columns that are read for this verdict.
    pub(crate) fn needs(
        self,
        selection: &Selection,
        scripts: ScriptChoices,
        raised: &Raised,
    ) -> Result<Needs, Failure> {
        let (loaded, _) = self.policy.load()?;
        let vocabulary = Vocabulary::load(selection.labels.clone(), scripts, raised)?;
        let known = vocabulary.metrics(self.metric)?.unwrap_or_default();
        let expression = |text: &str| match known.iter().find(|metric| metric.name() == text) {
            Some(metric) => Ok(metric.clone()),
            None => vocabulary.metric(text),
        };
        let cluster = selection.cluster.clone();
        let options = GateOptions { cluster, expression: &expression, ..GateOptions::default() };
        Ok(options.needs(selection, &loaded.policy))
    }

    fn judge(
        self,
        selection: Selection,
        scripts: ScriptChoices,
        raised: &Raised,
        load: impl FnOnce(&Selection, &Needs) -> Result<LoadedRun, Failure>,
    ) -> Result<GateReport, Failure> {
        let (loaded, provenance) = self.policy.load()?;
        let vocabulary = Vocabulary::load(selection.labels.clone(), scripts, raised)?;
        let reducers = vocabulary.one_reducer(self.reducer)?;
        let known: HashMap<String, Metric> = vocabulary
            .metrics(self.metric)?
            .unwrap_or_default()
            .into_iter()
            .map(|metric| (metric.name().to_owned(), metric))
            .collect();
        let expression = |text: &str| match known.get(text) {
            Some(metric) => Ok(metric.clone()),
            None => vocabulary.metric(text),
        };
        let reducer = |name: &str| vocabulary.named_reducer(name);
        let baseline = self.baseline.as_deref().map(read_baseline).transpose()?;
        let options = GateOptions {
            suite: self.suite.as_deref().map(read_suite).transpose()?,
            baseline: baseline.map(|baseline| (baseline, self.baseline_age)),
            version: self.for_version,
            cluster: selection.cluster.clone(),
            provenance,
            expression: &expression,
            reducers: &reducer,
            ..GateOptions::default()
        };
        let selection = Selection { reducers, ..selection };
        let run = load(&selection, &options.needs(&selection, &loaded.policy))?;
        let Some(looks) = &self.looks else {
            return Ok(calipers::gate::gate(&run, &loaded.policy, &selection, &options)?);
        };
        if loaded.policy.confidence.is_none() {
            let hint = "add `\"confidence\": \"95%\"` to the policy, or leave `looks` out";
            return Err(Failure::usage("`looks` counts looks at a confidence, and the policy has none", hint));
        }
        Ok(judge_with_looks(looks, &run, &loaded.policy, &selection, &options)?)
    }
}

/// May this version ship?
#[pyfunction]
pub(crate) fn gate(
    py: Python<'_>,
    sources: Vec<PyRef<'_, Source>>,
    choices: Choices,
    judging: JudgingChoices,
    labels: Option<LabelChoice<'_>>,
) -> PyResult<Report> {
    let given = Given::new(&sources);
    let labels = labels.map(LabelSource::new);
    let (selection, scripts) = selection_of(py, choices)?;
    let raised = Raised::default();
    let kept = raised.clone();
    run(py, judging.calls_python(), &raised, move || {
        let (sources, mut notes) = given.find(&selection)?;
        let human_labels = read_labels(labels.as_ref(), &selection)?;
        let selection = Selection { sources, human_labels, ..selection };
        let report = judging.judge(selection, scripts, &kept, |selection, needs| {
            let run = LoadedRun::load("", selection, needs)?;
            notes.extend(run.notes.iter().cloned());
            note_unused(selection.human_labels.as_deref(), &mut notes)?;
            Ok(run)
        })?;
        Ok(Report { content: Content::Gate(Box::new(report)), notes })
    })
}

/// What changed between runs, and is it real?
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "one for each option")]
pub(crate) fn compare(
    py: Python<'_>,
    candidate: Vec<PyRef<'_, Source>>,
    baselines: Vec<Vec<PyRef<'_, Source>>>,
    choices: Choices,
    by: Option<String>,
    metric: Vec<MetricChoice>,
    reducer: Vec<ReducerChoice>,
    margin: Option<f64>,
    cluster: Vec<String>,
    estimand: String,
    correction: String,
    labels: Vec<LabelChoice<'_>>,
) -> PyResult<Report> {
    let labels: Vec<LabelSource> = labels.into_iter().map(LabelSource::new).collect();
    let given: Vec<Given> =
        std::iter::once(Given::new(&candidate)).chain(baselines.iter().map(|one| Given::new(one))).collect();
    let (mut selection, scripts) = selection_of(py, choices)?;
    let is_python = calls_python(&metric, &reducer);
    let raised = Raised::default();
    let kept = raised.clone();
    run(py, is_python, &raised, move || {
        if let Some(column) = &by {
            let named = Arc::make_mut(&mut selection.columns);
            named
                .set("run", column)
                .and_then(|()| named.check())
                .map_err(|error| Failure::usage(format!("`by`: {error}"), error.hint()))?;
        }
        let vocabulary = Vocabulary::load(selection.labels.clone(), scripts, &kept)?;
        let options = CompareOptions {
            metrics: vocabulary.metrics(metric)?,
            estimand: match &*estimand {
                "population" => Estimand::Population,
                "suite" => Estimand::FixedSuite,
                other => return Err(unknown("estimand", other, "\"population\" or \"suite\"")),
            },
            cluster,
            margin,
            correction: match &*correction {
                "holm" => Correction::Holm,
                "bh" => Correction::BenjaminiHochberg,
                other => return Err(unknown("correction", other, "\"holm\" or \"bh\"")),
            },
            loaded: vocabulary.loaded_names()?,
            ..CompareOptions::default()
        };
        let selection = Selection { reducers: vocabulary.one_reducer(reducer)?, ..selection };
        let needs = options.needs(&selection);
        let mut notes = Vec::new();
        let mut runs: Vec<LoadedRun> = Vec::new();
        if !labels.is_empty() && given.len() == 1 {
            let hint = "pass each run by itself, or record labels as the column `human_label`";
            return Err(Failure::usage("`labels` do not say which run they are of", hint));
        }
        if !labels.is_empty() && labels.len() != given.len() {
            let what =
                format!("`labels` has {} for {}", pluralize(labels.len(), "entry"), pluralize(given.len(), "run"));
            return Err(Failure::usage(what, "give one for each run, in their order"));
        }
        if let [one] = &given[..] {
            let (sources, found) = one.find(&selection)?;
            notes.extend(found);
            (runs, _) = LoadedRun::load_split(&selection.with_sources(sources), &needs)?;
            let is_called = |run: &LoadedRun, name: &String| {
                [Some(&run.name), run.model.as_ref(), run.task.as_ref()].contains(&Some(name))
            };
            let place = |run: &LoadedRun| selection.runs.iter().position(|name| is_called(run, name));
            runs.sort_by_key(|run| place(run).unwrap_or(usize::MAX));
            if runs.len() < 2 {
                let what = format!("{} holds one run, and there is no other to compare it with", one.name());
                let hint = "pass a second run, or say with `by=\"model\"` which column tells the runs apart";
                return Err(Failure::usage(what, hint));
            }
        } else {
            for (place, one) in given.iter().enumerate() {
                let (sources, found) = one.find(&selection)?;
                notes.extend(found);
                let human_labels = read_labels(labels.get(place), &selection)?;
                let selection = Selection { sources, human_labels, ..selection.clone() };
                runs.push(LoadedRun::load(&one.name(), &selection, &needs)?);
                note_unused(selection.human_labels.as_deref(), &mut notes)?;
            }
        }
        notes.extend(runs.iter().flat_map(|run| run.notes.iter().map(|note| format!("{}: {note}", run.name))));
        let report = calipers::compare::compare(&runs, &selection, &options)?;
        Ok(Report { content: Content::Compare(Box::new(report)), notes })
    })
}

/// What a plan is asked.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PlanChoices {
    rate: Option<f64>,
    sd: Option<f64>,
    within: Option<f64>,
    half_width: Option<f64>,
    gate: Option<String>,
    difference: Option<f64>,
    power: f64,
    correlation: Option<f64>,
    disagreement: Option<f64>,
    epochs: Option<u64>,
    cost_sample: Option<f64>,
    cost_attempt: Option<f64>,
    samples: Option<u64>,
    cluster: Vec<String>,
    metric: Vec<MetricChoice>,
    reducer: Vec<ReducerChoice>,
}

/// How many samples, before the money is spent.
#[pyfunction]
pub(crate) fn plan(
    py: Python<'_>,
    pilot: Option<Vec<PyRef<'_, Source>>>,
    against: Option<Vec<PyRef<'_, Source>>>,
    choices: Choices,
    asked: PlanChoices,
) -> PyResult<Report> {
    let pilot = pilot.map(|sources| Given::new(&sources));
    let against = against.map(|sources| Given::new(&sources));
    let (selection, scripts) = selection_of(py, choices)?;
    let is_python = calls_python(&asked.metric, &asked.reducer);
    let raised = Raised::default();
    let kept = raised.clone();
    run(py, is_python, &raised, move || {
        let question = asked.question(selection.level)?;
        let Some(pilot) = pilot else {
            let spread = match (asked.rate, asked.sd) {
                (Some(rate), _) => Spread::of_rate(rate)?,
                (None, Some(sd)) => Spread::of_sd(sd)?,
                (None, None) => {
                    let hint = "pass a run like the one to come, or assume `rate=0.8` or `sd=0.3`";
                    return Err(Failure::usage("nothing says how much scores vary", hint));
                }
            };
            let spread = asked.within.map_or(Ok(spread), |share| spread.with_within(share))?;
            let report = calipers::sizing::plan(spread, &question)?;
            return Ok(Report { content: Content::Plan(Box::new(report)), notes: Vec::new() });
        };
        let vocabulary = Vocabulary::load(selection.labels.clone(), scripts, &kept)?;
        let options = PilotOptions {
            metric: vocabulary.metrics(asked.metric)?.and_then(|metrics| metrics.into_iter().next()),
            cluster: asked.cluster,
            registry: Registry::builtin(),
            loaded: vocabulary.loaded_names()?,
        };
        let selection = Selection { reducers: vocabulary.one_reducer(asked.reducer)?, ..selection };
        let needs = options.needs(&selection);
        let mut notes = Vec::new();
        let mut load = |given: &Given| -> Result<LoadedRun, Failure> {
            let (sources, found) = given.find(&selection)?;
            let run = LoadedRun::load(&given.name(), &selection.with_sources(sources), &needs)?;
            notes.extend(found.into_iter().chain(run.notes.iter().cloned()));
            Ok(run)
        };
        let pilot = load(&pilot)?;
        let against = against.as_ref().map(&mut load).transpose()?;
        let report = calipers::sizing::plan_by_run(&pilot, against.as_ref(), &selection, &options, &question)?;
        Ok(Report { content: Content::Plan(Box::new(report)), notes })
    })
}

impl PlanChoices {
    fn question(&self, level: f64) -> Result<PlanQuestion, Failure> {
        check(self.correlation, -1.0, "a correlation lies between -1 and 1")?;
        check(self.disagreement, 0.0, "a share lies between 0 and 1 (15 % is written 0.15)")?;
        let costs = self.cost_sample.zip(self.cost_attempt);
        Ok(PlanQuestion {
            level,
            power: self.power,
            attempts: self.epochs,
            half_width: self.half_width,
            gate: self.gate.as_deref().map(threshold).transpose()?,
            difference: self.difference,
            pairing: self.correlation.map(Pairing::Correlation).or(self.disagreement.map(Pairing::Disagreement)),
            costs: costs.map(|(sample, attempt)| Costs { sample, attempt }),
            samples: self.samples,
        })
    }
}

/// An error unless a number, if it is given, lies between this and 1.
fn check(given: Option<f64>, low: f64, what: &str) -> Result<(), Failure> {
    match given.filter(|x| !(low..=1.0).contains(x)) {
        Some(x) => Err(Failure::usage(format!("{what}, and {x} does not"), "write it as a fraction")),
        None => Ok(()),
    }
}

/// A threshold of a rate, written as in a policy.
fn threshold(text: &str) -> Result<(f64, Direction), Failure> {
    let refuse = |what: String| Failure::usage(what, "write `gate=\">= 0.95\"` or `gate=\"<= 5%\"`");
    let read = Threshold::read(text, &Span::nowhere());
    let rule = read.and_then(|read| read.rule_in(Unit::Rate, Some(Direction::AtLeast), "the rate"));
    let rule = rule.map_err(|_| refuse(format!("`gate={text:?}` is no threshold of a rate")))?;
    match rule.comparison {
        Comparison::AtLeast | Comparison::Above => Ok((rule.value, Direction::AtLeast)),
        Comparison::AtMost | Comparison::Below => Ok((rule.value, Direction::AtMost)),
        Comparison::Equal => Err(refuse(format!("`gate={text:?}` asks for equality, which no interval shows"))),
    }
}

/// How far a judge agrees with people, and what its rate really is.
#[pyfunction]
pub(crate) fn judge(
    py: Python<'_>,
    sources: Vec<PyRef<'_, Source>>,
    labels: Vec<PyRef<'_, Source>>,
    choices: Choices,
    label_columns: Vec<ColumnChoice>,
    by: Option<String>,
) -> PyResult<Report> {
    let (given, labels) = (Given::new(&sources), Given::new(&labels));
    let (selection, _) = selection_of(py, choices)?;
    compute(py, move || {
        let options = JudgeOptions { by };
        let (sources, mut notes) = given.find(&selection)?;
        let run = LoadedRun::load(&given.name(), &selection.with_sources(sources), &options.needs(&selection))?;
        let of_labels = Selection { columns: columns("label_columns", &label_columns)?.into(), ..Selection::default() };
        let (sources, found) = labels.find(&of_labels)?;
        let labels = load_labels(&labels.name(), &of_labels.with_sources(sources))?;
        notes.extend(found.into_iter().chain(run.notes.iter().cloned()).chain(labels.notes.iter().cloned()));
        let report = assess(&run, &labels, &selection, &options)?;
        Ok(Report { content: Content::Judge(Box::new(report)), notes })
    })
}

/// A page in one file, with the verdict of a policy and a comparison if they are asked for.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "one for each option")]
pub(crate) fn page(
    py: Python<'_>,
    sources: Vec<PyRef<'_, Source>>,
    choices: Choices,
    judging: Option<JudgingChoices>,
    against: Option<Vec<PyRef<'_, Source>>>,
    reducer: Vec<ReducerChoice>,
    title: Option<String>,
    commit: Option<String>,
    labels: Vec<LabelChoice<'_>>,
) -> PyResult<String> {
    let given = Given::new(&sources);
    let against = against.map(|sources| Given::new(&sources));
    let labels: Vec<LabelSource> = labels.into_iter().map(LabelSource::new).collect();
    let (selection, scripts) = selection_of(py, choices)?;
    let is_python = judging.as_ref().is_some_and(JudgingChoices::calls_python) || calls_python(&[], &reducer);
    let raised = Raised::default();
    let kept = raised.clone();
    run(py, is_python, &raised, move || {
        let (sources, _) = given.find(&selection)?;
        let reducers = Vocabulary::load(selection.labels.clone(), scripts.clone(), &kept)?.one_reducer(reducer)?;
        let selection = Selection { sources, reducers, ..selection };
        let wanted = 1 + usize::from(against.is_some());
        if !labels.is_empty() && labels.len() != wanted {
            let what = format!("`labels` has {} for {}", pluralize(labels.len(), "entry"), pluralize(wanted, "run"));
            return Err(Failure::usage(what, "give one for each run: that of the page, and that of `against`"));
        }
        let mut unused = Vec::new();
        let human_labels = read_labels(labels.first(), &selection)?;
        let labelled = Selection { human_labels, ..selection.clone() };
        let files: Vec<LoadedFile> = load(&labelled, &Needs::everything()).collect::<Result<_, RunError>>()?;
        note_unused(labelled.human_labels.as_deref(), &mut unused)?;
        if files.iter().all(|file| file.runs.is_empty()) {
            let hint = "rerun the evaluation that should have written it";
            return Err(Failure::usage("there are no results to show", hint));
        }
        let comparison = against.map(|against| -> Result<_, Failure> {
            let options = CompareOptions::default();
            let candidate = LoadedRun::merge(&given.name(), files.iter().cloned())?;
            let (sources, _) = against.find(&selection)?;
            let human_labels = read_labels(labels.get(1), &selection)?;
            let other = Selection { sources, human_labels, ..selection.clone() };
            let baseline = LoadedRun::load(&against.name(), &other, &options.needs(&selection))?;
            Ok(calipers::compare::compare(&[candidate, baseline], &selection, &options)?)
        });
        let gate = judging.map(|judging| {
            judging.judge(selection.clone(), scripts, &kept, |_, _| Ok(LoadedRun::merge("", files.iter().cloned())?))
        });
        let mut page =
            calipers::page::page(files.iter().cloned(), &selection, gate.transpose()?, comparison.transpose()?)?;
        if let Some(title) = title {
            page.title = title;
        }
        page.commit = commit;
        Ok(page_html(&page))
    })
}

/// Writes a run in another form, and returns notes on what was not read and what the form cannot hold.
#[pyfunction]
pub(crate) fn convert(
    py: Python<'_>,
    sources: Vec<PyRef<'_, Source>>,
    choices: Choices,
    output: PathBuf,
    to: Option<String>,
    reducer: Vec<ReducerChoice>,
    force: bool,
) -> PyResult<Vec<String>> {
    let given = Given::new(&sources);
    let (selection, _) = selection_of(py, choices)?;
    let raised = Raised::default();
    let kept = raised.clone();
    run(py, calls_python(&[], &reducer), &raised, move || {
        let reducers = Vocabulary::new(selection.labels.clone(), &kept).reducers(reducer)?;
        let (sources, mut notes) = given.find(&selection)?;
        let name = output.display().to_string();
        let too_many = |count: usize, what: &str| {
            Failure::usage(format!("{count} {what} do not fit into one file"), "convert them one at a time")
        };
        let [source] = &sources[..] else { return Err(too_many(sources.len(), "files")) };
        // A wrong name fails before anything is read.
        writer(to.as_deref(), &name)?;
        let mut out = OutputFile::create(Path::new(&output), force)?;
        let mut runs = calipers::io::read(source, selection.format.as_deref())?;
        if !selection.runs.is_empty() {
            runs.retain(|run| run.name.as_ref().is_some_and(|name| selection.runs.contains(name)));
        }
        let count = runs.len();
        let (Some(run), 1) = (runs.pop(), count) else { return Err(too_many(count, "runs")) };
        let is_json = name.to_lowercase().trim_end_matches(".gz").trim_end_matches(".zst").ends_with(".json");
        let to = if to.is_none() && is_json && run.format == "inspect" { Some("inspect".to_owned()) } else { to };
        notes.extend(calipers::convert::convert(source, run, writer(to.as_deref(), &name)?, reducers, &mut out)?);
        out.finish()?;
        Ok(notes)
    })
}
