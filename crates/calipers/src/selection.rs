//! What a command looks at, and the choices that every question about it shares.

use calipers_core::{Context, Error, Labels, Reducer, Seed};
use calipers_io::Source;

/// Files, what of them is looked at, and what moves the numbers.
///
/// Scoring, judging, comparing, sizing and pages all begin with one, and [`load()`](crate::load()) reads it.
///
/// ```
/// use calipers::io::Source;
/// use calipers::score::{ScoreOptions, score};
/// use calipers::Selection;
///
/// let lines = r#"{"id": 1, "score": "C", "category": "physics"}
/// {"id": 2, "score": "I", "category": "chemistry"}"#;
/// let selection = Selection {
///     filter: vec![("category".into(), "physics".into())],
///     ..Selection::of([Source::bytes("results.jsonl", lines.as_bytes())])
/// };
/// let reports = score(&selection, &ScoreOptions::default()).next().expect("one file")?;
/// assert_eq!(reports[0].results.figure("score", "accuracy").expect("default").value, Ok(1.0));
/// # Ok::<(), calipers::RunError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Selection {
    /// The files, or standard input.
    pub sources: Vec<Source>,
    /// The name of their format, in place of the one that is detected from their content.
    pub format: Option<String>,
    /// Only these scorers; all if empty.
    pub scorers: Vec<String>,
    /// Only samples whose metadata has these values.
    pub filter: Vec<(String, String)>,
    /// How labels become numbers.
    pub labels: Labels,
    /// Reducers of attempts in place of the recorded ones; an empty list turns reduction off.
    pub reducers: Option<Vec<Reducer>>,
    /// The level of intervals; tests have the error 1 − level.
    pub level: f64,
    /// The seed of everything random.
    pub seed: Seed,
    /// Starlark files that metrics and reducers were loaded from, for reports to name.
    pub scripts: Vec<String>,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            sources: Vec::new(),
            format: None,
            scorers: Vec::new(),
            filter: Vec::new(),
            labels: Labels::default(),
            reducers: None,
            level: 0.95,
            seed: Seed(0),
            scripts: Vec::new(),
        }
    }
}

impl Selection {
    /// All of these files, with the usual choices.
    #[must_use]
    pub fn of(sources: impl IntoIterator<Item = Source>) -> Self {
        Self { sources: sources.into_iter().collect(), ..Self::default() }
    }

    /// The same choices for other files.
    #[must_use]
    pub fn with_sources(&self, sources: impl IntoIterator<Item = Source>) -> Self {
        Self { sources: sources.into_iter().collect(), ..self.clone() }
    }

    /// The one reducer, where a question takes only one.
    #[must_use]
    pub fn reducer(&self) -> Option<&Reducer> {
        self.reducers.as_ref()?.first()
    }

    /// What metrics are computed with.
    pub(crate) fn context(&self) -> Result<Context, Error> {
        Context::new(self.level, self.seed, self.labels.clone())
    }

    /// The labels that have a number of their own, for reports.
    pub(crate) fn mapped_labels(&self) -> Vec<(String, f64)> {
        self.labels.own_labels().map(|(label, number)| (label.to_string(), number)).collect()
    }
}
