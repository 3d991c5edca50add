//! lm-evaluation-harness: `samples_<task>_<date>.jsonl` and `results_<date>.json`.
//!
//! A samples file has one line per document and filter; the lines of a document are the scorers `metric,filter` of one
//! attempt. A results file alone has recorded figures and no samples.

use super::Format;
use super::placed_value::{PlacedValue, document, each_line, fact, figure, outcome};
use super::recorded_errors::attach_errors;
use crate::{ReadError, RecordedResults, RecordedRun, Shape, Source};
use calipers_core::{Outcome, SampleId, Samples, Value, pluralize};
use std::collections::{BTreeMap, HashMap};

/// What `lm_eval --output_path` writes.
pub(crate) struct LmEval;

impl Format for LmEval {
    fn name(&self) -> &'static str {
        "lm-eval"
    }

    fn about(&self) -> &'static str {
        "lm-evaluation-harness: logged samples, or results with recorded figures only"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        is_samples(shape) || is_results(shape)
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        let shape = Shape::new(source.head()?, source.file_name());
        if shape.has_keys(&["results"]) { read_results(source) } else { Ok(vec![read_samples(source)?]) }
    }
}

fn is_samples(shape: &Shape) -> bool {
    shape.has_keys(&["doc_id"]) && ["filtered_resps", "resps", "doc_hash"].iter().any(|key| shape.has_keys(&[key]))
}

fn is_results(shape: &Shape) -> bool {
    let beside = ["group_subtasks", "configs", "n-shot", "higher_is_better"];
    let older = shape.has_keys(&["results", "versions", "config"]);
    let has_results = shape.has_keys(&["results"]) && !shape.has_keys(&["config_general"]);
    has_results && !shape.has_keys(&["evalId"]) && (older || beside.iter().any(|key| shape.has_keys(&[key])))
}

/// One attempt at a document: scores by scorer, from as many lines as there are filters.
#[derive(Default)]
struct DocumentAttempt {
    filters: Vec<Option<String>>,
    scores: Vec<(String, Outcome)>,
}

#[derive(Default)]
struct Docs {
    order: Vec<SampleId>,
    attempts: HashMap<SampleId, Vec<DocumentAttempt>>,
    facts: HashMap<SampleId, Vec<(String, Value)>>,
    /// Metrics whose values are the parts of a figure over the whole corpus.
    corpus: BTreeMap<String, usize>,
}

fn read_samples(source: &Source) -> Result<RecordedRun, ReadError> {
    let mut docs = Docs::default();
    each_line(source, |line| docs.take(line))?;
    let mut run = RecordedRun { samples: docs.samples(), ..RecordedRun::default() };
    for (scorer, values) in &docs.corpus {
        let values = pluralize(*values, "value");
        run.notes.push(format!("{values} of `{scorer}` not read: parts of a figure over all samples, not scores"));
    }
    add_results_beside(source, &mut run);
    Ok(run)
}

/// Keys of a line that are no metric, for files that do not list their metrics.
const NOT_METRICS: [&str; 12] = [
    "doc_id",
    "doc",
    "target",
    "arguments",
    "resps",
    "filtered_resps",
    "filter",
    "metrics",
    "doc_hash",
    "prompt_hash",
    "target_hash",
    "schema_version",
];

impl Docs {
    fn take(&mut self, line: PlacedValue<'_>) -> Result<(), ReadError> {
        let doc = line.get("doc_id");
        let id = match doc.value {
            Value::Int(id) => SampleId::from(*id),
            Value::Text(id) => SampleId::Text(id.clone()),
            _ => return Err(doc.wrong("a number or text")),
        };
        let filter = line.get("filter").text()?.map(str::to_owned);
        if !self.attempts.contains_key(&id) {
            self.order.push(id.clone());
            self.facts.insert(id.clone(), facts(line)?);
        }
        let scores = self.scores(line, filter.as_deref())?;
        let attempts = self.attempts.entry(id).or_default();
        // The same document and filter again is another attempt.
        let place = attempts.iter().position(|attempt| !attempt.filters.contains(&filter)).unwrap_or(attempts.len());
        if place == attempts.len() {
            attempts.push(DocumentAttempt::default());
        }
        attempts[place].filters.push(filter);
        attempts[place].scores.extend(scores);
        Ok(())
    }

    fn scores(&mut self, line: PlacedValue<'_>, filter: Option<&str>) -> Result<Vec<(String, Outcome)>, ReadError> {
        let listed = line.get("metrics");
        let mut names = Vec::new();
        for name in listed.items()? {
            names.push(name.name()?.to_owned());
        }
        if listed.is_null() {
            let others = line.entries()?.filter(|(key, _)| !NOT_METRICS.contains(&&***key));
            names.extend(others.map(|(key, _)| key.to_string()));
        }
        let mut scores = Vec::new();
        for name in names {
            let scorer = filter.map_or_else(|| name.clone(), |filter| format!("{name},{filter}"));
            let value = line.get(&name);
            if matches!(value.value, Value::List(_) | Value::Map(_) | Value::Text(_)) {
                *self.corpus.entry(scorer).or_default() += 1;
                continue;
            }
            let mut score = value.score()?;
            if let Some(answer) = line.get("filtered_resps").items()?.next()
                && let Value::Text(answer) = answer.value
            {
                score = score.answer(answer.clone());
            }
            scores.push((scorer, outcome(score, "lm-eval gave no value")));
        }
        Ok(scores)
    }

    fn samples(&mut self) -> Samples {
        let mut samples = Samples::new();
        for id in &self.order {
            let mut facts = self.facts.remove(id);
            for attempt in self.attempts.remove(id).unwrap_or_default() {
                let mut pushed = samples.push(id.clone());
                for (key, value) in facts.take().unwrap_or_default() {
                    pushed = pushed.metadata(key, value);
                }
                for (scorer, outcome) in attempt.scores {
                    pushed = pushed.score(scorer, outcome);
                }
            }
        }
        samples
    }
}

/// The hashes, by which documents can be paired, the target, and what the document says of itself.
fn facts(line: PlacedValue<'_>) -> Result<Vec<(String, Value)>, ReadError> {
    let mut facts = Vec::new();
    for key in ["doc_hash", "prompt_hash", "target_hash", "target"] {
        facts.extend(fact(line.get(key).value).map(|value| (key.to_owned(), value)));
    }
    let doc = line.get("doc");
    if let Value::Map(_) = doc.value {
        for (key, value) in doc.entries()? {
            facts.extend(fact(value.value).map(|value| (key.to_string(), value)));
        }
    }
    Ok(facts)
}

/// `samples_<task>_<date>.jsonl` as task and date.
fn task_and_date(file_name: &str) -> Option<(&str, &str)> {
    let name = file_name.trim_end_matches(".gz").trim_end_matches(".zst");
    let stem = name.strip_prefix("samples_")?.strip_suffix(".jsonl")?;
    let (task, date) = stem.rsplit_once('_')?;
    date.starts_with(|first: char| first.is_ascii_digit()).then_some((task, date))
}

/// A samples file does not name its task and model. The file name has the task, and the results file of the same date
/// has the model and the figures.
fn add_results_beside(source: &Source, run: &mut RecordedRun) {
    let Some((task, date)) = task_and_date(source.file_name()) else { return };
    run.task = Some(task.to_owned());
    let Some(beside) = source.beside(&format!("results_{date}.json")) else { return };
    match read_results(&beside) {
        Ok(runs) => {
            if let Some(found) = runs.into_iter().find(|found| found.task == run.task) {
                run.model = found.model;
                run.recorded = found.recorded;
            }
        }
        Err(error) => run.notes.push(format!("the results beside the samples were not read: {error}")),
    }
}

/// One run per task, with the recorded figures and no samples.
fn read_results(source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
    let content = document(source)?;
    let root = PlacedValue::root(source, &content).map()?;
    let config = root.get("config");
    let named = root.get("model_name").text()?.map(str::to_owned);
    let model = match (named, config.value) {
        (Some(name), _) => Some(name),
        (None, Value::Map(_)) => config.get("model").text()?.map(str::to_owned),
        _ => None,
    };
    let results = root.get("results").map()?;
    let groups = root.get("groups");
    let counts = root.get("n-samples");
    // Versions that name no model have it among the arguments.
    let model = if root.get("model_name").is_null() { named_in_arguments(config).or(model) } else { model };
    let mut runs = Vec::new();
    for (task, figures) in results.entries()? {
        let mut run = results_run(task, figures, model.clone())?;
        if let Value::Map(_) = counts.get(task).value {
            let n = counts.get(task).get("effective").count()?.map(u64::from);
            run.recorded.figures.iter_mut().filter(|figure| figure.metric != "stderr").for_each(|figure| figure.n = n);
        }
        runs.push(run);
    }
    // Some versions list groups among the results as well.
    for (task, figures) in groups.entries()?.filter(|(task, _)| results.get(task).is_null()) {
        runs.push(results_run(task, figures, model.clone())?);
    }
    if runs.is_empty() {
        runs.push(RecordedRun { model, notes: vec!["the file has no results".to_owned()], ..RecordedRun::default() });
    }
    Ok(runs)
}

/// `pretrained=org/model,revision=step1000` as `org/model@step1000`, where the file has no `model_name`.
fn named_in_arguments(config: PlacedValue<'_>) -> Option<String> {
    let arguments = config.get("model_args").text().ok()??;
    let argument = |name: &str| {
        let mut parts = arguments.split(',').filter_map(|part| part.trim().split_once('='));
        parts.find(|(key, _)| *key == name).map(|(_, value)| value)
    };
    argument("pretrained").map(|model| match argument("revision") {
        Some(revision) => format!("{model}@{revision}"),
        None => model.to_owned(),
    })
}

fn results_run(task: &str, figures: PlacedValue<'_>, model: Option<String>) -> Result<RecordedRun, ReadError> {
    let mut run = RecordedRun { task: Some(task.to_owned()), model, ..RecordedRun::default() };
    let mut recorded = Vec::new();
    for (key, value) in figures.map()?.entries()? {
        let number = match value.value {
            Value::Int(_) | Value::Float(_) => value.number()?,
            Value::Missing | Value::Null => None,
            Value::Text(text) if **text == *"N/A" => None,
            _ if matches!(key.trim(), "alias" | "") => continue,
            other => {
                run.notes.push(format!("`{key}` is a {}, not a figure", other.kind()));
                continue;
            }
        };
        if &**key == "sample_len" {
            continue;
        }
        let (scorer, metric) = scorer_and_metric(key);
        recorded.push(figure(&scorer, &metric, number));
    }
    attach_errors(&mut recorded);
    run.recorded = RecordedResults { figures: recorded, ..RecordedResults::default() };
    run.notes.push("the file records figures only; read the samples file for scores".to_owned());
    Ok(run)
}

/// `acc,none` is the figure `acc` of scorer `acc,none`; `acc_stderr,none` is its standard error. Evalchemy writes
/// `accuracy_avg` and `accuracy_std_err`.
fn scorer_and_metric(key: &str) -> (String, String) {
    if let Some((name, filter)) = key.split_once(',') {
        return match name.strip_suffix("_stderr") {
            Some(name) => (format!("{name},{filter}"), "stderr".to_owned()),
            None => (key.to_owned(), name.to_owned()),
        };
    }
    for (suffix, metric) in [("_std_err", "stderr"), ("_stderr", "stderr"), ("_avg", "avg")] {
        if let Some(name) = key.strip_suffix(suffix) {
            return (name.to_owned(), metric.to_owned());
        }
    }
    (key.to_owned(), key.to_owned())
}
