//! From a run and the labels of people for some of its samples to how far its judge can be trusted.

use crate::compare::count_missing;
use crate::{LoadedRun, Needs, RunError, Selection, TOOL};
pub use calipers_compare::labelled::*;
use calipers_core::{Caveat, Error, Figure};
use std::sync::Arc;

/// What a report about a judge depends on besides the run, its selection and the labels.
#[derive(Clone, Debug, Default)]
pub struct JudgeOptions {
    /// The metadata by which samples are grouped too; `category`, where samples have one, if it is not said.
    pub by: Option<String>,
}

impl JudgeOptions {
    /// The columns that are read of the run.
    #[must_use]
    pub fn needs(&self, selection: &Selection) -> Needs {
        Needs::of_comparison(selection, None, self.by.as_slice())
    }
}

/// The metadata by which samples are grouped, where nothing else is said.
const USUAL_GROUP: &str = "category";
/// Columns that are a label, the first that there is; without any, the scores are the labels.
const LABEL_COLUMNS: [&str; 6] = ["label", "human_label", "human", "human_score", "human_rating", "rating"];

/// Reads labels: records with the `id` of a sample and a label, in any format that results are read in.
///
/// A label is in a column such as `label`, or is the score; several scorers, or several rows, are several people.
///
/// ```
/// use calipers::io::Source;
/// use calipers::judge::{JudgeOptions, assess, load_labels};
/// use calipers::{LoadedRun, Selection};
///
/// let scores: String = (0..90).map(|id| format!("{{\"id\": {id}, \"score\": {}}}\n", u8::from(id % 3 > 0))).collect();
/// let labels: String = (0..30).map(|id| format!("{{\"id\": {id}, \"label\": {}}}\n", u8::from(id % 3 > 1))).collect();
/// let selection = Selection::of([Source::bytes("run.jsonl", scores.as_bytes())]);
/// let options = JudgeOptions::default();
/// let run = LoadedRun::load("run.jsonl", &selection, &options.needs(&selection))?;
/// let labels = load_labels("labels.jsonl", &Selection::of([Source::bytes("labels.jsonl", labels.as_bytes())]))?;
/// let report = assess(&run, &labels, &selection, &options)?;
/// let rate = report.all.corrected.value.expect("there are labels");
/// assert!((rate - 1.0 / 3.0).abs() < 1e-9, "{rate}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load_labels(name: &str, selection: &Selection) -> Result<LoadedRun, RunError> {
    let plain = LoadedRun::load(name, selection, &Needs::everything());
    if selection.columns.iter().any(|(name, _)| name == "score" || name.starts_with("score.")) {
        return plain;
    }
    // Read as a score, a label that is missing is missing; as metadata it would be that of the sample's other rows.
    let as_score = |column: &str| {
        let mut columns = selection.columns.clone();
        let named = Arc::make_mut(&mut columns);
        named.set("score", column).and_then(|()| named.check()).ok()?;
        Some(LoadedRun::load(name, &Selection { columns, ..selection.clone() }, &Needs::everything()))
    };
    match &plain {
        Ok(labels) => {
            let has = |column: &str| labels.samples.columns().any(|known| **known == *column);
            let label = LABEL_COLUMNS.into_iter().find(|column| has(column));
            label.and_then(as_score).unwrap_or(plain)
        }
        // A table that has nothing of ours but ids is no results to the readers.
        Err(_) => LABEL_COLUMNS.into_iter().filter_map(as_score).find(Result::is_ok).unwrap_or(plain),
    }
}

/// Reads labels as [`load_labels`] does, to be joined to the samples of every run that is loaded with a selection.
///
/// ```
/// use calipers::io::Source;
/// use calipers::judge::read_label_book;
/// use calipers::score::{ScoreOptions, score};
/// use calipers::Selection;
/// use calipers::metric::{accuracy, corrected};
/// use std::sync::Arc;
///
/// let scores: String = (0..90).map(|id| format!("{{\"id\": {id}, \"score\": {}}}\n", u8::from(id % 3 > 0))).collect();
/// let labels: String = (0..30).map(|id| format!("{{\"id\": {id}, \"label\": {}}}\n", u8::from(id % 3 > 1))).collect();
/// let run = Selection::of([Source::bytes("run.jsonl", scores.as_bytes())]);
/// let book = read_label_book("labels.jsonl", &Selection::of([Source::bytes("labels.jsonl", labels.as_bytes())]))?;
/// let selection = Selection { human_labels: Some(Arc::new(book)), ..run };
/// let metric = corrected(accuracy(), "human_label")?.into();
/// let options = ScoreOptions { metrics: Some(vec![metric]), ..ScoreOptions::default() };
/// let reports = score(&selection, &options).next().expect("one file")?;
/// let rate = reports[0].results.figure("score", "corrected").expect("asked for").value.clone();
/// assert!((rate.expect("there are labels") - 1.0 / 3.0).abs() < 1e-9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_label_book(name: &str, selection: &Selection) -> Result<LabelBook, RunError> {
    let labels = load_labels(name, selection)?;
    let book = LabelBook::new(&labels.samples, &selection.context()?);
    book.map_err(RunError::in_source(name))
}

/// What is not said of a figure already.
pub(crate) fn unless_said<'f>(caveats: Vec<Caveat>, mut figures: impl Iterator<Item = &'f Figure>) -> Vec<Caveat> {
    let is_it = |caveat: &Caveat| matches!(caveat, Caveat::JudgeDisagrees { .. });
    let is_said = figures.any(|figure| figure.caveats.iter().any(is_it));
    if is_said { Vec::new() } else { caveats }
}

/// How far the judge of a run agrees with labels, and its rate corrected by them.
///
/// Fails as [`assess_judge`] does.
pub fn assess(
    run: &LoadedRun,
    labels: &LoadedRun,
    selection: &Selection,
    options: &JudgeOptions,
) -> Result<JudgeReport, Error> {
    let (ruled, caveats) = count_missing(std::slice::from_ref(run), selection);
    let run = ruled.as_ref().map_or(run, |runs| &runs[0]);
    let usual = run.samples.metadata_keys().any(|key| **key == *USUAL_GROUP).then_some(USUAL_GROUP);
    let context = selection.context()?;
    let question = JudgeQuestion {
        run_name: &run.name,
        run: &run.samples,
        labels_name: &labels.name,
        labels: &labels.samples,
        by: options.by.as_deref().or(usual),
        context: &context,
        tool: TOOL,
    };
    let mut report = assess_judge(&question)?;
    report.caveats.splice(0..0, caveats);
    Ok(report)
}
