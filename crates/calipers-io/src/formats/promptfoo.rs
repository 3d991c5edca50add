//! promptfoo: the JSON export and its JSON Lines, `promptfoo eval -o out.json` and `-o out.jsonl`, and its table, `-o out.csv`.
//!
//! A column of promptfoo's table (a prompt with a provider) is a run. Repeats have no index in the file: rows of a column
//! whose test cases are the same are attempts of one sample, as in promptfoo's own action.

use super::Format;
use super::placed_value::{
    PlacedValue, SampleNamer, UniqueNames, canonical, document, each_line, fact, figure, outcome, summary,
};
use super::promptfoo_table;
use crate::json::JsonParts;
use crate::{ReadError, RecordedFigure, RecordedResults, RecordedRun, Shape, Source};
use calipers_core::{Metadata, Score, Value, pluralize};
use std::collections::HashMap;

/// What `promptfoo eval -o` writes.
pub(crate) struct Promptfoo;

const ROW_KEYS: [&str; 3] = ["testIdx", "promptIdx", "success"];

impl Format for Promptfoo {
    fn name(&self) -> &'static str {
        "promptfoo"
    }

    fn about(&self) -> &'static str {
        "promptfoo: JSON export, JSON Lines or CSV, one run for each prompt and provider"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        // The keys after the results may lie beyond the first bytes.
        let inner = ["version", "timestamp", "prompts", "results", "stats", "table"];
        let inner = inner.iter().filter(|key| shape.has_inner("results", key)).count();
        let beside = ["evalId", "config", "shareableUrl"].iter().any(|key| shape.has_keys(&[key]));
        shape.has_keys(&["results"]) && inner + usize::from(beside) >= 2
            || shape.has_keys(&ROW_KEYS)
            || is_first_version(shape)
            || shape.has_keys(&["_resultsLoaded", "results"])
            || promptfoo_table::is_table(&shape.head)
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        let mut table = PromptTable::default();
        let shape = Shape::new(source.head()?, source.file_name());
        if promptfoo_table::is_table(&shape.head) {
            promptfoo_table::each_row(source, &mut |row| table.take(row))?;
        } else if shape.has_keys(&["results"]) && !shape.has_keys(&ROW_KEYS) {
            read_export(source, &mut table)?;
        } else {
            each_line(source, |row| table.take(row))?;
        }
        Ok(table.runs())
    }
}

/// Version 1 has its rows at the root; they name neither provider nor score.
fn is_first_version(shape: &Shape) -> bool {
    let has = |key: &[u8]| memchr::memmem::find(&shape.head, key).is_some();
    shape.has_keys(&["version", "results"])
        && (shape.has_keys(&["stats", "table"]) || has(b"\"success\"") && has(b"\"vars\""))
}

fn read_export(source: &Source, table: &mut PromptTable) -> Result<(), ReadError> {
    let content = document(source)?;
    let root = PlacedValue::root(source, &content);
    if let Value::List(_) = root.get("results").value {
        return read_list(root, table);
    }
    let results = root.get("results").map()?;
    let rows = results.get("results");
    if !matches!(rows.value, Value::List(_)) {
        let error = rows.wrong("a list of results");
        return Err(error.hint("export the results again with a promptfoo that writes version 3"));
    }
    let config = root.get("config");
    table.task = config.get("description").text()?.map(str::to_owned);
    table.repeat = config.get("evaluateOptions").get("repeat").count()?;
    let prompts = results.get("prompts");
    for prompt in prompts.items()? {
        table.prompts.push(figures(prompt)?);
    }
    rows.items()?.try_for_each(|row| table.take(row))?;
    table.check(results.get("stats"))
}

/// Version 1, or the object that promptfoo's package returns: that one has figures of its prompts, and often no rows.
fn read_list(root: PlacedValue<'_>, table: &mut PromptTable) -> Result<(), ReadError> {
    let config = root.get("config");
    if let Value::Map(_) = config.value {
        table.task = config.get("description").text()?.map(str::to_owned);
    }
    let prompts = root.get("prompts");
    for prompt in prompts.items()? {
        let label = prompt.get("label").text()?.filter(|label| !label.is_empty());
        let label = label.map_or(prompt.get("raw").text()?, Some).unwrap_or_default();
        let provider = prompt.get("provider").text()?.unwrap_or_default();
        table.prompt_names.push((label.to_owned(), provider.to_owned()));
        table.prompts.push(figures(prompt)?);
    }
    let rows = root.get("results");
    rows.items()?.try_for_each(|row| table.take(row))?;
    table.check(root.get("stats"))
}

/// The columns of the table, in the order of their first row.
#[derive(Default)]
struct PromptTable {
    task: Option<String>,
    repeat: Option<u32>,
    prompts: Vec<Vec<RecordedFigure>>,
    prompt_names: Vec<(String, String)>,
    prompt_places: HashMap<String, u32>,
    passed: u32,
    rows: u32,
    notes: Vec<String>,
    columns: Vec<PromptColumn>,
    places: HashMap<(String, u32), usize>,
}

/// What the export says of a column.
fn figures(prompt: PlacedValue<'_>) -> Result<Vec<RecordedFigure>, ReadError> {
    let mut figures = Vec::new();
    let metrics = prompt.get("metrics");
    for (name, value) in metrics.entries()? {
        match (&**name, value.value) {
            // A sum over rows, not a mean.
            ("score", _) => figures.push(figure("score", "sum", value.number()?)),
            ("namedScores", _) => {
                for (scorer, sum) in value.entries()? {
                    figures.push(figure(scorer, "sum", sum.number()?));
                }
            }
            (name, Value::Int(_) | Value::Float(_)) => figures.push(figure("score", name, value.number()?)),
            _ => {}
        }
    }
    Ok(figures)
}

#[derive(Default)]
struct PromptColumn {
    provider: String,
    prompt: Option<String>,
    index: usize,
    names: SampleNamer,
    rows: Vec<PromptRow>,
}

/// A row, read but not yet named: the name depends on what else is in its column.
struct PromptRow {
    sample: usize,
    test: u32,
    score: Option<(Score, &'static str)>,
    named: Vec<(String, Score)>,
    fields: Vec<(String, Value)>,
    metadata: Vec<(String, Value)>,
    error: Option<String>,
    is_cached: bool,
    has_no_assertions: bool,
}

impl PromptTable {
    fn take(&mut self, row: PlacedValue<'_>) -> Result<(), ReadError> {
        let row = row.map()?;
        let provider = provider(row)?;
        let index = match row.get("promptIdx").count()? {
            Some(index) => index,
            // Before version 3 rows have no index, so the prompts tell the columns apart.
            None => {
                let prompt = prompt_label(row).unwrap_or_default().to_owned();
                let next = u32::try_from(self.prompt_places.len()).unwrap_or(u32::MAX);
                *self.prompt_places.entry(prompt).or_insert(next)
            }
        };
        self.rows += 1;
        self.passed += u32::from(row.get("success").flag()? == Some(true));
        let place = *self.places.entry((provider.clone(), index)).or_insert_with(|| {
            self.columns.push(PromptColumn { provider, index: index as usize, ..PromptColumn::default() });
            self.columns.len() - 1
        });
        self.columns[place].take(row)
    }

    /// Compares the rows with the file's own counts.
    fn check(&mut self, stats: PlacedValue<'_>) -> Result<(), ReadError> {
        if !matches!(stats.value, Value::Map(_)) {
            return Ok(());
        }
        let passed = stats.get("successes").count()?;
        let others = [stats.get("failures").count()?, stats.get("errors").count()?];
        let all = passed
            .zip(others[0])
            .map(|(passed, failed)| passed.saturating_add(failed).saturating_add(others[1].unwrap_or(0)));
        if passed.is_some_and(|passed| passed != self.passed) || all.is_some_and(|all| all != self.rows) {
            let (found, rows) = (self.passed, pluralize(self.rows, "row"));
            let counted = passed.map_or_else(|| "none".to_owned(), |passed| passed.to_string());
            let of = all.map_or_else(String::new, |all| format!(" of {all}"));
            self.notes.push(format!("the file has {found} passed of {rows}, and its `stats` count {counted}{of}"));
        }
        Ok(())
    }

    fn runs(self) -> Vec<RecordedRun> {
        let several_prompts =
            self.columns.iter().any(|a| self.columns.iter().any(|b| a.provider == b.provider && a.prompt != b.prompt));
        let Self { task, repeat, prompts, prompt_names, mut notes, mut columns, .. } = self;
        if columns.is_empty() && !prompt_names.is_empty() {
            return figure_runs(task.as_deref(), prompts, prompt_names);
        }
        if columns.is_empty() {
            let notes = vec!["the file has no results".to_owned()];
            return vec![RecordedRun { task, notes, ..RecordedRun::default() }];
        }
        // Rows are in the order in which they finished; columns and attempts have their own indices.
        columns.sort_by_key(|column| column.index);
        let mut run = |column: PromptColumn| {
            let figures = prompts.get(column.index).cloned().unwrap_or_default();
            let task = match (&task, column.prompt.as_deref().filter(|_| several_prompts)) {
                (Some(task), Some(prompt)) => Some(format!("{task} [{}]", summary(prompt))),
                (None, Some(prompt)) => Some(summary(prompt)),
                (task, None) => task.clone(),
            };
            let recorded = RecordedResults { figures, ..RecordedResults::default() };
            let notes = std::mem::take(&mut notes);
            column.run(RecordedRun { task, recorded, notes, ..RecordedRun::default() }, repeat)
        };
        columns.into_iter().map(&mut run).collect()
    }
}

/// Runs without rows, with what the file says of each prompt.
fn figure_runs(
    task: Option<&str>,
    prompts: Vec<Vec<RecordedFigure>>,
    names: Vec<(String, String)>,
) -> Vec<RecordedRun> {
    let run = |(figures, (prompt, provider)): (Vec<RecordedFigure>, (String, String))| RecordedRun {
        task: Some(task.map_or_else(|| summary(&prompt), |task| format!("{task} [{}]", summary(&prompt)))),
        model: Some(provider).filter(|provider| !provider.is_empty()),
        recorded: RecordedResults { figures, ..RecordedResults::default() },
        notes: vec!["the file records figures only; export the results with `promptfoo export` for scores".to_owned()],
        ..RecordedRun::default()
    };
    prompts.into_iter().zip(names).map(run).collect()
}

/// What tells a prompt from others: its label, its template, or its id.
fn prompt_label(row: PlacedValue<'_>) -> Option<&str> {
    let part = |key: &str| row.value.get("prompt").and_then(|prompt| prompt.text(key));
    part("label").or_else(|| part("display")).or_else(|| row.value.text("promptId"))
}

fn provider(row: PlacedValue<'_>) -> Result<String, ReadError> {
    let provider = row.get("provider");
    if let Value::Text(id) = provider.value {
        return Ok(id.to_string());
    }
    let label = provider.get("label").text()?.filter(|label| !label.is_empty());
    Ok(label.map_or(provider.get("id").text()?, Some).unwrap_or_default().to_owned())
}

impl PromptColumn {
    fn take(&mut self, row: PlacedValue<'_>) -> Result<(), ReadError> {
        if self.prompt.is_none() {
            self.prompt = prompt_label(row).map(str::to_owned);
        }
        let sample = self.sample(row)?;
        self.rows.push(PromptRow::read(row, sample)?);
        Ok(())
    }

    fn sample(&mut self, row: PlacedValue<'_>) -> Result<usize, ReadError> {
        let test = row.get("testCase");
        let vars = if test.get("vars").is_null() { row.get("vars") } else { test.get("vars") };
        let described = test.get("description").text()?.map_or(row.get("description").text()?, Some);
        let named = match (test.get("id").value, test.value.path(&["metadata", "testCaseId"])) {
            (Value::Text(id), _) | (_, Some(Value::Text(id))) => Some(&**id),
            _ => described,
        };
        let label = match named {
            Some(name) => summary(name),
            None => vars_label(vars)?,
        };
        let identity = match test.value {
            Value::Map(_) => canonical(test.value),
            _ => format!("{described:?} {}", canonical(vars.value)),
        };
        Ok(self.names.number(&label, identity))
    }

    fn run(mut self, mut run: RecordedRun, repeat: Option<u32>) -> RecordedRun {
        self.rows.sort_by_key(|row| row.test);
        run.model = Some(self.provider).filter(|name| !name.is_empty());
        let ids = self.names.ids();
        let mut attempts = vec![0u32; ids.len()];
        let (mut cached, mut unasserted) = (0, 0);
        for row in self.rows {
            attempts[row.sample] += 1;
            cached += usize::from(row.is_cached);
            unasserted += usize::from(row.has_no_assertions);
            row.push(&ids, &mut run);
        }
        let is_nameless = run.model.is_none() && repeat.is_none();
        if is_nameless && attempts.iter().any(|&attempts| attempts > 1) {
            let why = "this version of promptfoo records neither provider nor repeats";
            run.notes.push(format!("rows of the same prompt and variables are attempts of one sample: {why}"));
        }
        if cached > 0 {
            let rows = pluralize(cached, "row");
            run.notes.push(format!("the latency of {rows} from promptfoo's cache is under `latency_ms_cached`"));
        }
        if unasserted > 0 {
            let rows = pluralize(unasserted, "row");
            run.notes.push(format!("{rows} without assertions: promptfoo counts these as passed with score 1"));
        }
        if let Some(repeat) = repeat {
            let odd = attempts.iter().filter(|&&attempts| attempts != repeat).count();
            if odd > 0 {
                let samples = pluralize(odd, "sample");
                let why = "test cases that are alike count as repeats, and runs that were stopped have fewer";
                run.notes.push(format!("{samples} without {repeat} attempts, as the file's `repeat` says: {why}"));
            }
        }
        run
    }
}

/// The variables of a test as its name: `city=Oslo, unit=celsius`.
fn vars_label(vars: PlacedValue<'_>) -> Result<String, ReadError> {
    let mut entries: Vec<_> = vars.entries()?.collect();
    if entries.is_empty() {
        return Ok("test".to_owned());
    }
    entries.sort_by(|a, b| a.0.cmp(b.0));
    let parts: Vec<String> = entries.iter().map(|(key, value)| format!("{key}={}", value.value)).collect();
    Ok(summary(&parts.join(", ")))
}

impl PromptRow {
    fn read(row: PlacedValue<'_>, sample: usize) -> Result<Self, ReadError> {
        let grading = row.get("gradingResult");
        let components = grading.get("componentResults");
        let test = row.get("testCase");
        let passed = row.get("success").flag()?.ok_or_else(|| row.get("success").wrong("true or false"))?;
        let error = error(row)?;
        let mut fields = measurements(row)?;
        let is_cached = fields.iter().any(|(name, _)| name == "latency_ms_cached");
        let (mut score, mut named) = (None, Vec::new());
        let mut has_no_assertions = false;
        if error.is_none() {
            fields.push(("passed".to_owned(), passed.into()));
            score = Some((main_score(row)?, "promptfoo gave no score"));
            let scores = row.get("namedScores");
            for (name, value) in scores.entries()? {
                named.push((name.to_string(), value.score()?));
            }
            let asserts = test.get("assert");
            let is_first_version = row.value.get("score").is_none() && grading.is_null();
            if is_first_version {
                // Passed or failed is all that version 1 says.
                score = Some((first_score(row, passed)?, "promptfoo gave no score"));
            }
            has_no_assertions =
                !is_first_version && asserts.items()?.next().is_none() && components.items()?.next().is_none();
        }
        let metadata = facts(row)?;
        let test = row.get("testIdx").count()?.unwrap_or(0);
        Ok(Self { sample, test, score, named, fields, metadata, error, is_cached, has_no_assertions })
    }

    fn push(self, ids: &[String], run: &mut RecordedRun) {
        let mut attempt = run.samples.push(ids[self.sample].clone());
        for (key, value) in self.metadata {
            attempt = attempt.metadata(key, value);
        }
        if let Some((score, reason)) = self.score {
            attempt = attempt.score("score", outcome(score, reason));
        }
        let mut unique = UniqueNames::default();
        unique.name("score");
        for (name, score) in self.named {
            attempt = attempt.score(unique.name(&name), outcome(score, "promptfoo gave no score"));
        }
        for (name, value) in self.fields {
            attempt = attempt.field(name, value);
        }
        if let Some(error) = self.error {
            attempt.error(error);
        }
    }
}

/// The error of a row that did not run. `error` alone does not show it, because failed assertions write there, too.
fn error(row: PlacedValue<'_>) -> Result<Option<String>, ReadError> {
    let text = row.get("error");
    let text = if let Value::Map(_) = text.value { text.get("message").text()? } else { text.text()? };
    let reason = row.get("failureReason");
    let is_error = match reason.count()? {
        Some(0 | 1) => false,
        Some(2) => true,
        Some(other) => return Err(reason.error(format!("`failureReason` is {other}; expected 0, 1 or 2"))),
        // Older files have no reason: a row with an error and no grade did not run.
        // In version 1 no row has a grade, and one that ran has an output.
        None => {
            let is_first_version = row.value.get("score").is_none();
            let has_output =
                row.value.path(&["response", "output"]).is_some_and(|output| !matches!(output, Value::Null));
            text.is_some_and(|text| !text.is_empty())
                && row.get("gradingResult").is_null()
                && !(is_first_version && has_output)
        }
    };
    Ok(is_error.then(|| text.filter(|text| !text.is_empty()).unwrap_or("promptfoo names no error").to_owned()))
}

/// The score of a row of version 1: whether it passed, with its output, and with why it failed.
fn first_score(row: PlacedValue<'_>, passed: bool) -> Result<Score, ReadError> {
    let mut score = Score::new(i64::from(passed));
    if let Some(error) = row.get("error").text()?.filter(|error| !error.is_empty()) {
        score = score.explanation(error);
    }
    if let Some(Value::Text(output)) = row.value.path(&["response", "output"]) {
        score = score.answer(output.clone());
    }
    Ok(score)
}

fn main_score(row: PlacedValue<'_>) -> Result<Score, ReadError> {
    let grading = row.get("gradingResult");
    let mut score = row.get("score").score()?;
    if let Some(reason) = grading.get("reason").text()? {
        score = score.explanation(reason);
    }
    if let Some(Value::Text(output)) = row.value.path(&["response", "output"]) {
        score = score.answer(output.clone());
    }
    let components = grading.get("componentResults");
    let mut assertions = Vec::new();
    for component in components.items()? {
        let assertion = component.get("assertion");
        let mut parts: Vec<(std::sync::Arc<str>, Value)> = Vec::new();
        for (name, part) in [
            ("type", assertion.get("type")),
            ("metric", assertion.get("metric")),
            ("weight", assertion.get("weight")),
            ("pass", component.get("pass")),
            ("score", component.get("score")),
            ("reason", component.get("reason")),
        ] {
            if !part.is_null() {
                parts.push((name.into(), part.value.clone()));
            }
        }
        assertions.push(Value::Map(parts));
    }
    Ok(if assertions.is_empty() {
        score
    } else {
        score.metadata(Metadata::new([("assertions", Value::List(assertions))]))
    })
}

fn measurements(row: PlacedValue<'_>) -> Result<Vec<(String, Value)>, ReadError> {
    let response = row.get("response");
    let is_cached = response.value.flag("cached") == Some(true);
    let mut fields = Vec::new();
    let mut add = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            fields.push((name.to_owned(), value.into()));
        }
    };
    // Of a cached row, promptfoo writes the first call's latency or the time the cache took, and does not say which.
    add(if is_cached { "latency_ms_cached" } else { "latency_ms" }, row.get("latencyMs").number()?);
    let usage = if row.get("tokenUsage").is_null() { response.get("tokenUsage") } else { row.get("tokenUsage") };
    let parts = [usage.get("prompt").number()?, usage.get("completion").number()?];
    let sum = parts.iter().flatten().copied().reduce(|a, b| a + b);
    add("tokens_used", usage.get("total").number()?.or(sum));
    add("cost_usd", row.get("cost").number()?);
    let known = row.get("testCase").value.entries("metadata");
    for (key, value) in row.value.entries("metadata") {
        let is_ours = key.starts_with('_') || known.iter().any(|(name, _)| name == key);
        if let Some(value) = fact(value).filter(|_| !is_ours) {
            fields.push((format!("metadata.{key}"), value));
        }
    }
    Ok(fields)
}

/// What is known of a test: its metadata under their own names, its variables as `vars.name`.
fn facts(row: PlacedValue<'_>) -> Result<Vec<(String, Value)>, ReadError> {
    let test = row.get("testCase");
    let mut facts = Vec::new();
    for (key, value) in test.get("metadata").entries()? {
        facts.extend(fact(value.value).map(|value| (key.to_string(), value)));
    }
    facts.extend(fact(test.get("description").value).map(|value| ("description".to_owned(), value)));
    let vars = if test.get("vars").is_null() { row.get("vars") } else { test.get("vars") };
    for (key, value) in vars.entries()? {
        facts.extend(fact(value.value).map(|value| (format!("vars.{key}"), value)));
    }
    Ok(facts)
}
