//! What a command looks at, and the choices that every question about it shares.

use calipers_compare::labelled::LabelBook;
use calipers_core::{Context, Error, Labels, MissingRule, Reducer, Seed, ValueLimits};
use calipers_io::{Columns, Source};
use std::sync::Arc;

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
    /// Which columns of the files are what, where their names do not say it.
    pub columns: Arc<Columns>,
    /// Only these runs of the files, in this order; all if empty.
    pub runs: Vec<String>,
    /// What the attempts of one run are spread over, if they are.
    pub attempts_from: Option<AttemptsFrom>,
    /// Only these scorers; all if empty.
    pub scorers: Vec<String>,
    /// Only samples whose metadata has these values.
    pub filter: Vec<(String, String)>,
    /// How labels become numbers.
    pub labels: Labels,
    /// What people said about some of the samples: the field `human_label` of every run that is loaded.
    pub human_labels: Option<Arc<LabelBook>>,
    /// Reducers of attempts in place of the recorded ones; an empty list turns reduction off.
    pub reducers: Option<Vec<Reducer>>,
    /// The share of expected behaviours, or the score, at which an attempt passes; 1 unless it is said.
    pub pass_threshold: Option<f64>,
    /// The metadata by whose values samples go together, for the intervals of scores and pages; none where they are independent.
    pub cluster: Vec<String>,
    /// The least and the most that the values of attempts can be, for the intervals of scores and pages. Policies state their own.
    pub limits: ValueLimits,
    /// How attempts without a score count, in place of what each question does with them.
    pub missing: Option<MissingRule>,
    /// The level of intervals; tests have the error 1 − level.
    pub level: f64,
    /// The seed of everything random.
    pub seed: Seed,
    /// True for a share of a run: what the others hold is not known, so a scorer or a condition that nothing here meets is no
    /// mistake.
    pub is_part: bool,
    /// Starlark files that metrics and reducers were loaded from, for reports to name.
    pub scripts: Vec<String>,
}

/// What the attempts of one run are spread over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptsFrom {
    /// Each file is one attempt at every sample in it.
    Files,
    /// Each folder is; the files in a folder are parts of one attempt.
    Folders,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            sources: Vec::new(),
            format: None,
            columns: Arc::default(),
            runs: Vec::new(),
            attempts_from: None,
            scorers: Vec::new(),
            filter: Vec::new(),
            labels: Labels::default(),
            human_labels: None,
            reducers: None,
            pass_threshold: None,
            cluster: Vec::new(),
            limits: ValueLimits::default(),
            missing: None,
            level: 0.95,
            seed: Seed(0),
            is_part: false,
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

    /// True when the runs of several files may be one: something says what names runs, or attempts are spread over files.
    pub(crate) fn joins_files(&self) -> bool {
        self.attempts_from.is_some() || self.columns.iter().any(|(name, _)| name == "run")
    }

    /// The one reducer, where a question takes only one.
    #[must_use]
    pub fn reducer(&self) -> Option<&Reducer> {
        self.reducers.as_ref()?.first()
    }

    /// What metrics are computed with.
    pub(crate) fn context(&self) -> Result<Context, Error> {
        let context = Context::new(self.level, self.seed, self.labels.clone())?;
        Ok(Context { pass_threshold: self.pass_threshold, ..context })
    }

    /// The labels that were given a number, for reports.
    pub(crate) fn mapped_labels(&self) -> Vec<(String, f64)> {
        self.labels.own_labels().map(|(label, number)| (label.to_string(), number)).collect()
    }
}
