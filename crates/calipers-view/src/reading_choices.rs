//! How a file is read where its content does not say it. The index keeps these choices with the file, so that everything that is
//! computed from it later is computed from the same rows and columns.

use crate::HistoryError;
use calipers::data::{Labels, MissingRule};
use calipers::io::{Columns, Source, fingerprint};
use calipers::plan::Seed;
use calipers::render::HistoryRun;
use calipers::{RunError, Selection};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Which columns of a file are what, which of its rows count, and how.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadingChoices {
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<String>,
    /// Names and paths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    columns: Vec<(String, String)>,
    /// The file as it was named: its parts may name runs, and a whole path has others.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// True for a file that was found in a folder, where logs of tools stand beside tables.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_for_tables: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    runs: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scorers: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    filter: Vec<(String, String)>,
    #[serde(skip_serializing_if = "CountingChoices::is_usual")]
    counting: CountingChoices,
}

/// What turns scores into figures: two runs can only be compared if it is the same for both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct CountingChoices {
    labels: Vec<(String, f64)>,
    pass_threshold: Option<f64>,
    /// Attempts without a score are failed, or left out; none where each question decides.
    counts_missing_as_failed: Option<bool>,
    seed: u64,
}

impl CountingChoices {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

impl ReadingChoices {
    /// The choices of a selection. Its files, its level and its reducers are no part of them.
    #[must_use]
    pub fn of(selection: &Selection) -> Self {
        let labels = selection.labels.own_labels().map(|(label, number)| (label.to_string(), number));
        Self {
            format: selection.format.clone(),
            columns: selection.columns.iter().map(|(name, path)| (name.to_owned(), path)).collect(),
            name: None,
            is_for_tables: false,
            runs: selection.runs.clone(),
            scorers: selection.scorers.clone(),
            filter: selection.filter.clone(),
            counting: CountingChoices {
                labels: labels.collect(),
                pass_threshold: selection.pass_threshold,
                counts_missing_as_failed: selection.missing.map(|rule| rule == MissingRule::Failed),
                seed: selection.seed.0,
            },
        }
    }

    /// True when files say everything themselves.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The choices for one file, which was named like this or was found in a folder.
    pub(crate) fn for_file(&self, name: &str, is_named: bool) -> Self {
        if self.columns.is_empty() {
            return self.clone();
        }
        Self { name: Some(name.to_owned()), is_for_tables: !is_named, ..self.clone() }
    }

    /// As the index keeps them; nothing if files say everything themselves.
    pub(crate) fn to_text(&self) -> String {
        if self.is_empty() { String::new() } else { serde_json::to_string(self).unwrap_or_default() }
    }

    /// What the index has kept.
    pub(crate) fn from_text(text: &str) -> Result<Self, HistoryError> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let damaged = |error| HistoryError::Database(format!("how a file is read cannot be understood: {error}"));
        serde_json::from_str(text).map_err(damaged)
    }

    /// The selection of a file by these choices.
    pub(crate) fn selection(&self, path: &Path) -> Result<Selection, HistoryError> {
        let mut columns = Columns::default();
        let damaged = |error: calipers::io::ColumnsError| HistoryError::Database(error.to_string());
        for (name, path) in &self.columns {
            columns.set(name, path).map_err(damaged)?;
        }
        let columns = if self.is_for_tables { columns.for_tables() } else { columns };
        let mut source = Source::path(path).with_columns(columns.clone());
        if let Some(name) = &self.name {
            source.name.clone_from(name);
        }
        Ok(Selection {
            sources: vec![source],
            format: self.format.clone(),
            columns: columns.into(),
            runs: self.runs.clone(),
            scorers: self.scorers.clone(),
            filter: self.filter.clone(),
            ..self.counting_selection()
        })
    }

    /// A selection of nothing that counts by these choices.
    fn counting_selection(&self) -> Selection {
        let counting = &self.counting;
        let labels = counting.labels.iter();
        Selection {
            labels: labels.fold(Labels::default(), |all, (label, number)| all.with(label.as_str(), *number)),
            pass_threshold: counting.pass_threshold,
            missing: counting.counts_missing_as_failed.map(|is_failed| match is_failed {
                true => MissingRule::Failed,
                false => MissingRule::Excluded,
            }),
            seed: Seed(counting.seed),
            ..Selection::default()
        }
    }

    /// The fingerprint of scorers whose scores count by these choices: a trend is interrupted where they change.
    pub(crate) fn scorers(&self, scorers: &str) -> String {
        if self.counting.is_usual() {
            return scorers.to_owned();
        }
        fingerprint([scorers, &serde_json::to_string(&self.counting).unwrap_or_default()])
    }
}

/// What is read for a run: its file, and of that only the run.
pub(crate) fn selection_of(run: &HistoryRun) -> Result<Selection, RunError> {
    let made = ReadingChoices::from_text(&run.choices).and_then(|choices| choices.selection(Path::new(&run.source)));
    let mut selection = made.map_err(|error| match error {
        HistoryError::Run(error) => error,
        other => calipers::io::ReadError::new(&run.source, other.to_string()).into(),
    })?;
    if let Some(name) = &run.name {
        selection.runs = vec![name.clone()];
    }
    Ok(selection)
}

/// The source of a run, with what is known about its columns.
pub(crate) fn source_of(run: &HistoryRun) -> Result<Source, RunError> {
    let selection = selection_of(run)?;
    Ok(selection.sources.into_iter().next().unwrap_or_else(|| Source::path(&run.source)))
}

/// How scores count in all of these runs.
pub(crate) fn shared_counting<'r>(runs: impl IntoIterator<Item = &'r HistoryRun>) -> Result<Selection, HistoryError> {
    let mut shared: Option<ReadingChoices> = None;
    for run in runs {
        let choices = ReadingChoices::from_text(&run.choices)?;
        match &shared {
            Some(first) if first.counting != choices.counting => return Err(HistoryError::CountedDifferently),
            Some(_) => {}
            None => shared = Some(choices),
        }
    }
    Ok(shared.unwrap_or_default().counting_selection())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_kept_whole() {
        let selection = Selection {
            format: Some("csv".to_owned()),
            columns: std::sync::Arc::new("id=question+part,score=info.reward,run=@path.2".parse().expect("right")),
            runs: vec!["a".to_owned()],
            scorers: vec!["score".to_owned()],
            filter: vec![("lang".to_owned(), "de".to_owned())],
            labels: Labels::default().with("maybe", 0.5),
            pass_threshold: Some(4.0),
            missing: Some(MissingRule::Excluded),
            seed: Seed(7),
            ..Selection::default()
        };
        let choices = ReadingChoices::of(&selection).for_file("runs/a/x.csv", false);
        let kept = ReadingChoices::from_text(&choices.to_text()).expect("it is ours");
        assert_eq!(kept, choices);
        let again = kept.selection(Path::new("/data/runs/a/x.csv")).expect("the columns are right");
        assert_eq!(ReadingChoices::of(&again), ReadingChoices::of(&selection));
        assert_eq!(again.sources[0].name, "runs/a/x.csv");
        assert_eq!(again.sources[0].as_path(), Some(Path::new("/data/runs/a/x.csv")));
    }

    #[test]
    fn nothing_is_kept_where_nothing_was_chosen() {
        let choices = ReadingChoices::of(&Selection::default()).for_file("x.csv", true);
        assert!(choices.is_empty() && choices.to_text().is_empty());
        assert_eq!(ReadingChoices::from_text("").expect("none"), choices);
        assert!(ReadingChoices::from_text("{").is_err());
    }
}
