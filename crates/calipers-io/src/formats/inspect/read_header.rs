//! Reads the header of a log: the task, the scorers with their metrics, the figures.

use crate::json::{self, Json, JsonParts};
use crate::{Projection, ReadError, RecordedFigure, RecordedMetric, RecordedResults, RecordedScorer, Source};
use calipers_core::{ExpectedRun, RunEnding, SampleId, Samples, Value, is_inspect_metric};
use serde::Deserialize;

/// The parts of a header that we need. Everything else is skipped.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Header {
    pub(super) status: Option<Json>,
    pub(super) eval: Spec,
    results: Option<LoggedResults>,
    error: Option<Json>,
    invalidated: Option<Json>,
    /// False for the beginning of a log that has no header.
    #[serde(skip)]
    pub(super) is_finished: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Spec {
    task: Option<Json>,
    model: Option<Json>,
    created: Option<Json>,
    revision: Option<Json>,
    scorers: Option<Json>,
    metrics: Option<Json>,
    config: Option<Config>,
    dataset: Option<Json>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Config {
    epochs_reducer: Option<Json>,
    epochs: Option<Json>,
    limit: Option<Json>,
    sample_id: Option<Json>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LoggedResults {
    total_samples: Option<Json>,
    early_stopping: Option<Json>,
    scores: Option<Json>,
    /// Old logs have a single scorer, with its metrics beside it.
    scorer: Option<Json>,
    metrics: Option<Json>,
}

fn text(value: Option<&Json>) -> Option<String> {
    match value {
        Some(Json(Value::Text(text))) => Some(text.to_string()),
        _ => None,
    }
}

fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Int(count) => u64::try_from(*count).ok(),
        _ => None,
    }
}

fn sample_id(value: &Value) -> Option<SampleId> {
    match value {
        Value::Int(id) => Some(SampleId::Int(*id)),
        Value::Text(id) => Some(SampleId::Text(id.clone())),
        _ => None,
    }
}

fn skipped_attempt(stop: &Value) -> Option<(SampleId, u32)> {
    let epoch = stop.part("epoch").and_then(count).and_then(|epoch| u32::try_from(epoch).ok());
    Some((sample_id(stop.part("id")?)?, epoch?))
}

/// The samples of a dataset that were asked for: those that are named, or the first ones, or a range of them.
fn choose_ids(mut ids: Vec<SampleId>, named: Option<&Value>, limit: Option<&Value>) -> Vec<SampleId> {
    let names: Vec<String> = match named {
        Some(Value::List(names)) => names.iter().map(Value::to_string).collect(),
        Some(name @ (Value::Int(_) | Value::Text(_))) => vec![name.to_string()],
        _ => Vec::new(),
    };
    if !names.is_empty() {
        let is_named = |id: &SampleId| {
            let id = id.to_string();
            names.iter().any(|name| *name == id || (name.contains(['*', '?', '[']) && matches_pattern(name, &id)))
        };
        ids.retain(is_named);
        return ids;
    }
    match limit {
        Some(Value::Int(limit)) => ids.truncate(usize::try_from(*limit).unwrap_or(0)),
        Some(Value::List(range)) => {
            if let [from, to] = &range[..]
                && let (Some(from), Some(to)) = (count(from), count(to))
            {
                let (from, to) = (from.min(ids.len() as u64), to.min(ids.len() as u64));
                ids = ids.drain(from as usize..to.max(from) as usize).collect();
            }
        }
        _ => {}
    }
    ids
}

/// Names of samples may be patterns, as in a shell.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    glob::Pattern::new(pattern).is_ok_and(|pattern| pattern.matches(name))
}

fn items(value: Option<&Json>) -> &[Value] {
    match value {
        Some(Json(Value::List(items))) => items,
        _ => &[],
    }
}

impl Header {
    pub(super) fn parse(source: &Source, bytes: &[u8]) -> Result<Self, ReadError> {
        let standard = json::standard(bytes);
        let mut header: Self = serde_json::from_slice(&standard).map_err(|error| {
            let text = error.to_string();
            // The line number would refer to the header, which is not a file.
            let what = text.split(" at line ").next().unwrap_or_default();
            source.error(format!("not the header of a log: {what}")).hint("write the log again with Inspect")
        })?;
        header.is_finished = true;
        if let Some(results) = &mut header.results {
            results.migrate();
        }
        Ok(header)
    }

    pub(super) fn task(&self) -> Option<String> {
        text(self.eval.task.as_ref())
    }

    pub(super) fn model(&self) -> Option<String> {
        // Inspect's name for no model at all.
        text(self.eval.model.as_ref()).filter(|model| model != "none/none")
    }

    /// When the evaluation began.
    pub(super) fn created(&self) -> Option<String> {
        text(self.eval.created.as_ref()).filter(|created| !created.is_empty())
    }

    /// The commit of the repository that the evaluation was started in.
    pub(super) fn commit(&self) -> Option<String> {
        let Json(revision) = self.eval.revision.as_ref()?;
        match revision.get("commit") {
            Some(Value::Text(commit)) if !commit.is_empty() => Some(commit.to_string()),
            _ => None,
        }
    }

    /// The number of attempts that the log says it has.
    fn total_samples(&self) -> Option<u64> {
        self.results.as_ref()?.total_samples.as_ref().and_then(|Json(total)| count(total))
    }

    /// What the log announces; none where it announces nothing. `read` attempts were found.
    ///
    /// A run that came to its end has the total in its results. One that did not has its dataset, of which a limit or a
    /// choice of samples may have been asked for.
    pub(super) fn expected_run(&self, read: usize) -> Option<ExpectedRun> {
        let ending = match text(self.status.as_ref()).as_deref() {
            _ if !self.is_finished => RunEnding::Open,
            Some("started") => RunEnding::Open,
            Some("cancelled") => RunEnding::Cancelled,
            Some("error") => RunEnding::Broken,
            _ => RunEnding::Finished,
        };
        let total = self.total_samples();
        // A log may be written without its samples; only its figures are there then.
        if ending == RunEnding::Finished && (read == 0 || total.is_none()) {
            return None;
        }
        // Nothing is missing of a run whose samples do not all have the same number of attempts.
        if ending == RunEnding::Finished && total == Some(read as u64) {
            return None;
        }
        let config = self.eval.config.as_ref();
        let part =
            |of: fn(&Config) -> &Option<Json>| config.and_then(|config| of(config).as_ref()).map(|Json(value)| value);
        let epochs = part(|config| &config.epochs).and_then(count).unwrap_or(1).max(1);
        let dataset = self.eval.dataset.as_ref().map(|Json(dataset)| dataset);
        let ids = dataset.and_then(|dataset| match dataset.part("sample_ids") {
            Some(Value::List(ids)) if !ids.is_empty() => ids.iter().map(sample_id).collect::<Option<Vec<_>>>(),
            _ => None,
        });
        let mut ids = ids.map(|ids| choose_ids(ids, part(|config| &config.sample_id), part(|config| &config.limit)));
        let in_dataset = dataset.and_then(|dataset| dataset.part("samples")).and_then(count);
        let limited = in_dataset.map(|samples| match part(|config| &config.limit).and_then(count) {
            Some(limit) => samples.min(limit),
            None => samples,
        });
        let listed = ids.as_ref().map(|ids| ids.len() as u64).or(limited);
        let samples = match total {
            // The total of a run that broke off may be that of its finished part.
            Some(total) if ending != RunEnding::Finished => listed.unwrap_or(0).max(total.div_ceil(epochs)),
            Some(total) if listed.is_none_or(|samples| samples.saturating_mul(epochs) != total) => {
                ids = None;
                total.div_ceil(epochs)
            }
            _ => listed?,
        };
        let stopping = self.results.as_ref().and_then(|results| results.early_stopping.as_ref());
        let stops = stopping.and_then(|Json(stopping)| stopping.part("early_stops"));
        let skipped = match stops {
            Some(Value::List(stops)) => stops.iter().filter_map(skipped_attempt).collect(),
            _ => Vec::new(),
        };
        Some(ExpectedRun { samples, epochs: u32::try_from(epochs).ok()?, ids, skipped, ending })
    }

    /// A note on how the evaluation ended, unless it ended well.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let message = match self.error.as_ref().and_then(|Json(error)| error.text("message")) {
            Some(message) => format!(": {}", message.trim()),
            None => String::new(),
        };
        match text(self.status.as_ref()).as_deref() {
            _ if !self.is_finished => {
                notes.push("the log has no header: the evaluation is still running, or it was cut short".to_owned());
            }
            Some("started") => notes.push("the evaluation is still running, or it was cut short".to_owned()),
            Some("cancelled") => notes.push(format!("the evaluation was cancelled{message}")),
            Some("error") => notes.push(format!("the evaluation ended in an error{message}")),
            _ => {}
        }
        if matches!(self.invalidated, Some(Json(Value::Bool(true)))) {
            notes.push("the log is marked as invalid: some of its samples were invalidated by hand".to_owned());
        }
        notes
    }

    /// The scorer that unnamed scores belong to.
    pub(super) fn only_scorer(&self) -> String {
        let figured = self.scores().first().and_then(|score| score.text("name")).map(str::to_owned);
        let listed = || self.named_scorers(None).into_iter().next().map(|(name, _)| name);
        figured.or_else(listed).unwrap_or_else(|| "score".to_owned())
    }

    fn scores(&self) -> &[Value] {
        items(self.results.as_ref().and_then(|results| results.scores.as_ref()))
    }

    /// Widens a projection by what the log's own metrics may read: any text among their parameters may be the name of a
    /// key.
    pub(super) fn widen_projection(&self, wanted: &Projection) -> Projection {
        let mut texts = Vec::new();
        for listed in [&self.eval.scorers, &self.eval.metrics].into_iter().flatten() {
            collect_texts(&listed.0, &mut texts);
        }
        self.scores().iter().for_each(|score| collect_texts(score, &mut texts));
        wanted.clone().and(texts)
    }

    /// What the log records about its scorers, metrics and figures. The samples show the names of the scores.
    pub(super) fn recorded_results(&self, samples: &Samples) -> RecordedResults {
        let mut scorers: Vec<RecordedScorer> = self
            .named_scorers(Some(samples))
            .into_iter()
            .map(|(name, scorer)| RecordedScorer {
                name,
                metrics: metrics(scorer.get("metrics")),
                options: scorer.get("options").cloned(),
            })
            .collect();
        if self.eval.scorers.is_none() {
            scorers = self.scorers_by_figures();
        }
        // A score that no scorer produced has the metrics of the task.
        let of_task = metrics(self.eval.metrics.as_ref().map(|Json(metrics)| metrics));
        for name in samples.scorers().filter(|_| !of_task.is_empty()) {
            if !scorers.iter().any(|scorer| *scorer.name == **name) {
                scorers.push(RecordedScorer { name: name.to_string(), metrics: of_task.clone(), options: None });
            }
        }
        let reducers = self.eval.config.as_ref().and_then(|config| config.epochs_reducer.as_ref());
        let reducers = reducers.and_then(|Json(reducers)| match reducers {
            Value::List(names) => Some(names.iter().map(ToString::to_string).collect()),
            Value::Text(name) => Some(vec![name.to_string()]),
            _ => None,
        });
        RecordedResults { scorers, reducers, figures: self.figures() }
    }

    /// The scorers under the names of their scores: without the package, and with a counter for repeated names.
    fn named_scorers(&self, samples: Option<&Samples>) -> Vec<(String, &Value)> {
        let mut named: Vec<(String, &Value)> = Vec::new();
        for scorer in items(self.eval.scorers.as_ref()) {
            let base = scorer.text("name").map(strip_package).unwrap_or_default().to_owned();
            let is_new = |name: &String| named.iter().all(|(other, _)| other != name);
            let is_scored =
                |name: &String| samples.is_some_and(|samples| samples.scorers().any(|known| **known == **name));
            // Inspect counts `match`, `match1`, and, where a log was scored again, `match-1`.
            let counted = |mark: &str| (1..).map(|count| format!("{base}{mark}{count}")).find(&is_new);
            let name = if is_new(&base) {
                base
            } else {
                counted("-").filter(&is_scored).or_else(|| counted("")).unwrap_or_default()
            };
            named.push((name, scorer));
        }
        named
    }

    fn figures(&self) -> Vec<RecordedFigure> {
        let mut figures = Vec::new();
        for score in self.scores() {
            let name = score.text("name").unwrap_or_default();
            for (key, metric) in score.entries("metrics") {
                figures.push(RecordedFigure {
                    scorer: score.text("scorer").unwrap_or(name).to_owned(),
                    score: name.to_owned(),
                    reducer: score.text("reducer").map(str::to_owned),
                    metric: key.to_string(),
                    value: metric.number("value"),
                    ..RecordedFigure::default()
                });
            }
        }
        figures
    }

    /// The scorers of a log that lists only figures: the metrics are those that the figures name.
    fn scorers_by_figures(&self) -> Vec<RecordedScorer> {
        let mut scorers: Vec<RecordedScorer> = Vec::new();
        for score in self.scores() {
            let name = score.text("name").unwrap_or_default();
            let scorer = score.text("scorer").unwrap_or(name);
            let mut metrics: Vec<RecordedMetric> = Vec::new();
            for (key, metric) in score.entries("metrics") {
                let name = metric.text("group").or(metric.text("name")).unwrap_or(key);
                let params = metric.part("params").or(metric.part("options")).unwrap_or(&Value::Null);
                let named = find_metric(name, params);
                if !metrics.contains(&named) {
                    metrics.push(named);
                }
            }
            let index = scorers.iter().position(|known| known.name == scorer).unwrap_or_else(|| {
                scorers.push(RecordedScorer { name: scorer.to_owned(), ..RecordedScorer::default() });
                scorers.len() - 1
            });
            let known = &mut scorers[index].metrics;
            if name == scorer {
                // The same metrics come back for every reducer.
                let new: Vec<_> = metrics.into_iter().filter(|metric| !known.contains(metric)).collect();
                known.extend(new);
            } else if let Some(RecordedMetric::Keyed(keys)) =
                known.iter_mut().find(|metric| matches!(metric, RecordedMetric::Keyed(_)))
            {
                if !keys.iter().any(|(key, _)| key == name) {
                    keys.push((name.to_owned(), metrics));
                }
            } else {
                known.push(RecordedMetric::Keyed(vec![(name.to_owned(), metrics)]));
            }
        }
        scorers
    }
}

impl LoggedResults {
    /// Turns the form for one scorer into that for several.
    fn migrate(&mut self) {
        let only = match (self.scorer.take(), self.metrics.take()) {
            _ if !items(self.scores.as_ref()).is_empty() => return,
            (None, None) => return,
            (scorer, metrics) => (scorer.map(|Json(scorer)| scorer), metrics.map(|Json(metrics)| metrics)),
        };
        let mut entries = match only.0 {
            Some(Value::Map(entries)) => entries,
            Some(name @ Value::Text(_)) => vec![("name".into(), name)],
            _ => vec![("name".into(), "score".into())],
        };
        if let Some(metrics) = only.1 {
            entries.retain(|(key, _)| **key != *"metrics");
            entries.push(("metrics".into(), metrics));
        }
        self.scores = Some(Json(Value::List(vec![Value::Map(entries)])));
    }
}

fn collect_texts<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    match value {
        Value::Text(text) => texts.push(text),
        Value::List(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Map(entries) => entries.iter().for_each(|(_, value)| collect_texts(value, texts)),
        _ => {}
    }
}

/// The name without its package: `inspect_ai/accuracy` is `accuracy`.
fn strip_package(name: &str) -> &str {
    name.split_once('/').map_or(name, |(_, name)| name)
}

/// A metric by its name: one of Inspect's, with its package or, in old logs, without it, or a custom one.
fn find_metric(name: &str, params: &Value) -> RecordedMetric {
    let short = name.strip_prefix("inspect_ai/").unwrap_or(name);
    if is_inspect_metric(short) {
        RecordedMetric::Named { name: short.to_owned(), params: plain(params) }
    } else {
        RecordedMetric::Custom { name: strip_package(name).to_owned(), params: plain(params) }
    }
}

/// Metrics as they are listed, by key, or both.
pub(crate) fn metrics(listed: Option<&Value>) -> Vec<RecordedMetric> {
    match listed {
        Some(Value::List(items)) => {
            let mut metrics: Vec<RecordedMetric> = items.iter().filter_map(metric).collect();
            // An empty list differs from no list, and a list of one map from the map alone: Inspect has no results for
            // the former, and results for the whole score beside those by key for the latter.
            if matches!(&metrics[..], [] | [RecordedMetric::Keyed(_)]) {
                metrics.insert(0, RecordedMetric::Keyed(Vec::new()));
            }
            metrics
        }
        Some(keyed @ Value::Map(_)) => metric(keyed).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn metric(written: &Value) -> Option<RecordedMetric> {
    match written {
        Value::Text(name) => Some(find_metric(name, &Value::Null)),
        Value::Map(entries) => match written.get("name") {
            Some(Value::Text(name)) => {
                let params = written.part("options").or(written.part("params")).unwrap_or(&Value::Null);
                Some(find_metric(name, params))
            }
            // A score may have a key `name`, too; its value is then a list.
            _ => {
                let keyed = entries.iter().map(|(key, listed)| (key.to_string(), metrics(Some(listed))));
                Some(RecordedMetric::Keyed(keyed.collect()))
            }
        },
        _ => None,
    }
}

/// Parameters, with the packages removed from the names of metrics among them.
fn plain(params: &Value) -> Value {
    let Value::Map(entries) = params else { return params.clone() };
    let is_metric = matches!(params.get("type"), Some(Value::Text(kind)) if **kind == *"metric");
    let entry = |(key, value): &(std::sync::Arc<str>, Value)| match value {
        Value::Text(name) if is_metric && **key == *"name" => (key.clone(), strip_package(name).into()),
        other => (key.clone(), plain(other)),
    };
    Value::Map(entries.iter().map(entry).collect())
}
