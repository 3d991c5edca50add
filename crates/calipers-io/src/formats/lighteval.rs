//! lighteval: the details of a task in Parquet, and the results of a run in JSON.
//!
//! [`lighteval_details`](super::lighteval_details) reads the former.

use super::{Format, parquet};
use crate::formats::{RecordedFigure, RecordedResults};
use crate::json::{self, JsonParts};
use crate::{FilePlace, ReadError, RecordedRun, Remedy, Shape, Source};
use calipers_core::Value;
use std::collections::BTreeSet;

/// Results by lighteval.
pub(crate) struct Lighteval;

impl Format for Lighteval {
    fn name(&self) -> &'static str {
        "lighteval"
    }

    fn about(&self) -> &'static str {
        "lighteval: details of a task (Parquet), or the figures of a run (JSON)"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        // Details are Parquet and are recognised by their columns.
        shape.has_keys(&["config_general", "results"])
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        if source.head()?.starts_with(b"PAR1") {
            return parquet::Parquet.read(source);
        }
        let results = json::parse(&source.name, &source.read_all()?)?;
        if !matches!(results.get("results"), Some(Value::Map(_))) {
            let what = "`results` is not a map of tasks to metrics";
            return Err(source
                .error(what)
                .at(FilePlace::Path("results".into()))
                .hint("choose another format")
                .with_remedy(Remedy::NameFormat));
        }
        let mut notes = vec!["the file holds figures only; read the details (Parquet) for samples".to_owned()];
        let mut figures = Vec::new();
        for (task, metrics) in results.entries("results") {
            // lighteval averages standard errors there as if they were figures, so these rows mislead.
            if **task == *"all" || task.contains("_average") {
                notes.push(format!("row `{task}` is an average over tasks and was not read"));
                continue;
            }
            let Value::Map(metrics) = metrics else {
                let what = format!("the metrics of a task are a {}, not a map", metrics.kind());
                return Err(source.error(what).at(FilePlace::Path(format!("results.{task}"))));
            };
            figures.extend(metrics.iter().map(|(metric, value)| RecordedFigure {
                scorer: task.to_string(),
                score: task.to_string(),
                reducer: None,
                metric: metric.to_string(),
                value: value.as_number(),
                ..RecordedFigure::default()
            }));
        }
        let tasks: BTreeSet<&str> = figures.iter().map(|figure| figure.scorer.as_str()).collect();
        let task = if tasks.len() == 1 { tasks.first().map(ToString::to_string) } else { None };
        let general = results.get("config_general");
        let named = |value: Option<&Value>| value.and_then(|value| value.text("model_name")).map(ToOwned::to_owned);
        let model = named(general).or_else(|| named(general.and_then(|general| general.part("model_config"))));
        let recorded = RecordedResults { figures, ..RecordedResults::default() };
        Ok(vec![RecordedRun { task, model, recorded, notes, ..RecordedRun::default() }])
    }
}
