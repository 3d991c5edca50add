//! The scorers: one file each, and one line in [`ALL`].

mod answer;
mod bag_of_words;
mod behaviors;
mod choice;
mod command;
mod exact;
mod f1;
mod includes;
mod matches;
mod model_graded;
mod numerals;
mod pattern;
mod scorer_fn;

pub(crate) use scorer_fn::blocking;
pub use scorer_fn::{ScorerFn, scorer_fn};

use crate::catalog::CatalogEntry;
use crate::text::python_text::is_blank;
use crate::{AttemptState, Scorer, ScorerResult};
use calipers_core::{Metadata, Outcome, Score, Value};
use std::sync::Arc;

/// All entries, in the order in which they are listed.
pub(crate) static ALL: &[CatalogEntry<dyn Scorer>] = &[
    matches::ENTRY,
    includes::ENTRY,
    exact::ENTRY,
    f1::ENTRY,
    pattern::ENTRY,
    answer::ENTRY,
    choice::ENTRY,
    model_graded::QA,
    model_graded::FACT,
    behaviors::ENTRY,
    command::ENTRY,
];

/// The grade of an answer that is right or wrong.
fn grade(is_right: bool) -> &'static str {
    if is_right { "C" } else { "I" }
}

/// The explanation of a score, in Inspect's words.
fn because(mut score: Score, reason: &str) -> Score {
    score.metadata = Some(Arc::new(Metadata::new([("reason", reason)])));
    score
}

/// The score, with a note if the model gave no answer.
fn noting_silence(score: Score, state: &AttemptState) -> ScorerResult {
    if is_blank(state.completion()) { because(score, "no_response").into() } else { score.into() }
}

/// Tries each target until one matches. Without any there is nothing to compare with.
fn first_match(state: &AttemptState, check: impl Fn(&str, &str) -> (String, bool)) -> ScorerResult {
    let completion = state.completion();
    let mut last = None;
    for target in &state.target.0 {
        let (answer, is_right) = check(completion, target);
        let is_done = is_right;
        last = Some(Score::new(grade(is_right)).answer(answer).explanation(completion));
        if is_done {
            break;
        }
    }
    last.map_or_else(no_target, |score| noting_silence(score, state))
}

/// Not scored, because there is nothing to compare with.
fn no_target() -> ScorerResult {
    Outcome::unscored("the sample has no target").into()
}

/// Unscored, with an answer and an explanation.
fn unscored_outcome(reason: impl Into<Arc<str>>, answer: &str, explanation: impl Into<Arc<str>>) -> Outcome {
    let score = Score::new(Value::Missing).answer(answer).explanation(explanation);
    Outcome::Unscored { reason: reason.into(), score: Some(Box::new(score)) }
}
