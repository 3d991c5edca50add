//! Reads the header of a log: the task, the scorers with their metrics, the figures.

use crate::json::{self, Json, JsonParts};
use crate::{Projection, ReadError, RecordedFigure, RecordedMetric, RecordedResults, RecordedScorer, Source};
use calipers_core::{Samples, Value, is_inspect_metric};
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
    scorers: Option<Json>,
    metrics: Option<Json>,
    config: Option<Config>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Config {
    epochs_reducer: Option<Json>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LoggedResults {
    total_samples: Option<Json>,
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

    /// The number of attempts that the log says it has.
    pub(super) fn total_samples(&self) -> Option<usize> {
        match self.results.as_ref()?.total_samples {
            Some(Json(Value::Int(total))) => usize::try_from(total).ok(),
            _ => None,
        }
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
            .map(|(name, scorer)| RecordedScorer { name, metrics: metrics(scorer.get("metrics")) })
            .collect();
        if self.eval.scorers.is_none() {
            scorers = self.scorers_by_figures();
        }
        // A score that no scorer produced has the metrics of the task.
        let of_task = metrics(self.eval.metrics.as_ref().map(|Json(metrics)| metrics));
        for name in samples.scorers().filter(|_| !of_task.is_empty()) {
            if !scorers.iter().any(|scorer| *scorer.name == **name) {
                scorers.push(RecordedScorer { name: name.to_string(), metrics: of_task.clone() });
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
                scorers.push(RecordedScorer { name: scorer.to_owned(), metrics: Vec::new() });
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
        RecordedMetric::Custom(strip_package(name).to_owned())
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
