//! bigcode-evaluation-harness: its metrics, and the outcomes of its tests.
//!
//! The metrics file has figures by task beside the `config` of the run. The results file has, by task of the benchmark, pairs of
//! the number of a completion and its outcome.

use super::Format;
use super::placed_value::{PlacedValue, document, figure};
use crate::{ReadError, RecordedRun, Shape, Source};
use calipers_core::{Score, Value};

/// What bigcode-evaluation-harness writes.
pub(crate) struct Bigcode;

/// A run has far fewer completions per task.
const NUMBER_MAX: u32 = 1_000_000_000;

impl Format for Bigcode {
    fn name(&self) -> &'static str {
        "bigcode"
    }

    fn about(&self) -> &'static str {
        "bigcode-evaluation-harness: outcomes of tests, or metrics with recorded figures only"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        is_metrics(shape) || is_outcomes(&shape.head)
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        let content = document(source)?;
        let root = PlacedValue::root(source, &content).map()?;
        if matches!(root.get("config").value, Value::Map(_)) { read_metrics(root) } else { read_outcomes(root) }
    }
}

/// The figures of each task are in a map, and those of one of them are pass@k.
fn is_metrics(shape: &Shape) -> bool {
    let Some(json) = shape.json.as_ref().filter(|json| !json.lines) else { return false };
    let is_rate = |(key, metric): &(String, String)| key != "config" && metric.starts_with("pass@");
    let has_figures = |key: &String| json.inner.iter().any(|(outer, _)| outer == key);
    shape.has_keys(&["config"]) && json.inner.iter().any(is_rate) && json.keys.iter().all(has_figures)
}

/// The first value begins like `[[0, {"task_id": …, "passed"`.
fn is_outcomes(head: &[u8]) -> bool {
    /// The keys of an outcome stand within as many bytes, unless the name of the task is very long.
    const LOOKED_AT: usize = 1 << 12;
    let plain: Vec<u8> = head.iter().take(LOOKED_AT).copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let Some(start) = memchr::memmem::find(&plain, b"\":[[").filter(|_| plain.starts_with(b"{\"")) else {
        return false;
    };
    let digits = plain[start + 4..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_first = !plain[2..start].contains(&b'"');
    let outcome = &plain[start + 4 + digits..];
    let has = |key: &[u8]| memchr::memmem::find(outcome, key).is_some();
    is_first && digits > 0 && outcome.starts_with(b",{") && has(b"\"task_id\":") && has(b"\"passed\":")
}

fn read_metrics(root: PlacedValue<'_>) -> Result<Vec<RecordedRun>, ReadError> {
    let config = root.get("config");
    let model = config.get("model").text()?.map(str::to_owned);
    let mut runs = Vec::new();
    for (task, metrics) in root.entries()?.filter(|(task, _)| &***task != "config") {
        let mut run = RecordedRun { task: Some(task.to_string()), model: model.clone(), ..RecordedRun::default() };
        for (metric, value) in metrics.entries()? {
            run.recorded.figures.push(figure("passed", metric, value.number()?));
        }
        run.notes.push("the file records figures only: the outcomes of the tests are in another file".to_owned());
        runs.push(run);
    }
    if runs.is_empty() {
        return Err(root.error("there is no task beside `config`").hint("the run may have stopped before its end"));
    }
    Ok(runs)
}

fn read_outcomes(root: PlacedValue<'_>) -> Result<Vec<RecordedRun>, ReadError> {
    let mut run: RecordedRun = RecordedRun::default();
    for (task, completions) in root.entries()? {
        for pair in completions.items()? {
            let parts: Vec<PlacedValue<'_>> = pair.items()?.collect();
            let [number, outcome] = &parts[..] else {
                return Err(pair.wrong("the number of a completion and its outcome"));
            };
            let number = number
                .count()?
                .filter(|number| *number < NUMBER_MAX)
                .ok_or_else(|| number.wrong("the number of a completion"))?;
            let passed = outcome.get("passed");
            let is_passed = passed.flag()?.ok_or_else(|| passed.wrong("true or false"))?;
            let mut score = Score::new(i64::from(is_passed));
            if let Some(result) = outcome.get("result").text()? {
                score = score.explanation(result);
            }
            // Completions are counted from 0, and attempts from 1.
            run.samples.push_epoch(&**task, number + 1).score("passed", score);
        }
    }
    Ok(vec![run])
}
