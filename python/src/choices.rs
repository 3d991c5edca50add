//! From keyword arguments to what the facade takes.

use crate::failure::Failure;
use calipers::data::{Labels, MissingRule, PassRule, Value};
use calipers::io::{Columns, ColumnsError};
use calipers::plan::{Seed, ValueLimits};
use calipers::{AttemptsFrom, Selection};
use calipers_cli::{LimitMistake, read_limit};
use pyo3::prelude::*;

/// What every question about results shares, as the package has normalised it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Choices {
    scorer: Vec<String>,
    r#where: Vec<(String, String)>,
    label: Vec<(String, f64)>,
    pass_threshold: Option<f64>,
    missing: Option<String>,
    seed: u64,
    format: Option<String>,
    columns: Vec<ColumnChoice>,
    run: Vec<String>,
    attempts_from: Option<String>,
    level: f64,
    cluster: Vec<String>,
    limits: Vec<String>,
    load: Vec<String>,
    script_time: u64,
}

/// Which scripts run, and for how long.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScriptChoices {
    pub(crate) load: Vec<String>,
    pub(crate) seconds: u64,
}

/// What is said about columns: `id=question`, or a name and a column.
#[derive(FromPyObject)]
pub(crate) enum ColumnChoice {
    Pair(String, String),
    Text(String),
}

/// The columns that were named.
pub(crate) fn columns(argument: &str, given: &[ColumnChoice]) -> Result<Columns, Failure> {
    let mut columns = Columns::default();
    let refuse = |error: ColumnsError| Failure::usage(format!("`{argument}`: {error}"), error.hint());
    for choice in given {
        match choice {
            ColumnChoice::Pair(name, column) => columns.set(name, column),
            ColumnChoice::Text(text) => columns.add(text),
        }
        .map_err(refuse)?;
    }
    columns.check().map_err(refuse)?;
    Ok(columns)
}

impl Choices {
    /// The scripts.
    pub(crate) fn scripts(&self) -> ScriptChoices {
        ScriptChoices { load: self.load.clone(), seconds: self.script_time }
    }

    /// The selection, without its sources.
    pub(crate) fn selection(self) -> Result<Selection, Failure> {
        let attempts_from = match self.attempts_from.as_deref() {
            None => None,
            Some("files") => Some(AttemptsFrom::Files),
            Some("folders") => Some(AttemptsFrom::Folders),
            Some(other) => return Err(unknown("attempts_from", other, "\"files\" or \"folders\"")),
        };
        let missing = match self.missing.as_deref() {
            None => None,
            Some("failed") => Some(MissingRule::Failed),
            Some("excluded") => Some(MissingRule::Excluded),
            Some(other) => return Err(unknown("missing", other, "\"failed\" or \"excluded\"")),
        };
        let pass_threshold = self.pass_threshold.map(|threshold| Ok(PassRule::new(threshold)?.threshold()));
        let mut labels = Labels::default();
        for (label, number) in self.label {
            if !number.is_finite() {
                let what = format!("`label` gives `{label}` no number");
                return Err(Failure::usage(what, "write `label={\"maybe\": 0.5}`"));
            }
            labels = labels.with(Value::from(label.as_str()), number);
        }
        Ok(Selection {
            sources: Vec::new(),
            format: self.format,
            columns: columns("columns", &self.columns)?.into(),
            runs: self.run,
            attempts_from,
            scorers: self.scorer,
            filter: self.r#where,
            labels,
            reducers: None,
            pass_threshold: pass_threshold.transpose().map_err(|error: calipers::Error| Failure::from(error))?,
            cluster: self.cluster,
            limits: limits(&self.limits)?,
            human_labels: None,
            missing,
            level: self.level,
            seed: Seed(self.seed),
            is_part: false,
            scripts: self.load,
        })
    }
}

/// The limits that were stated, each as `cost_usd=2` or `judge=1..5`.
fn limits(given: &[String]) -> Result<ValueLimits, Failure> {
    let limit = |written: &String| {
        read_limit(written).map_err(|LimitMistake { what, hint }| {
            let hint = hint.unwrap_or_else(|| "write `limits={\"cost_usd\": 2, \"judge\": (1, 5)}`".to_owned());
            Failure::usage(format!("`limits`: `{written}` {what}"), hint)
        })
    };
    Ok(ValueLimits::new(given.iter().map(limit).collect::<Result<Vec<_>, _>>()?)?)
}

/// The failure for a choice that there is not.
pub(crate) fn unknown(argument: &str, given: &str, known: &str) -> Failure {
    Failure::usage(format!("`{argument}` cannot be `{given}`"), format!("write {known}"))
}
