//! `choice`: the choices that `multiple_choice` marked are those of the target.

use super::{because, grade};
use crate::catalog::CatalogEntry;
use crate::text::choice_letters::{letter, list_choices, original_order, place};
use crate::text::python_text::is_blank;
use crate::{AttemptFault, AttemptScope, AttemptState, Scorer, ScorerResult};
use async_trait::async_trait;
use calipers_core::{Score, Target};
use std::sync::Arc;

pub(super) const ENTRY: CatalogEntry<dyn Scorer> = CatalogEntry {
    name: "choice",
    about: "did the model pick the choices of the target? for `multiple_choice`",
    params: &[],
    places: 0,
    open: false,
    make: |_| Ok(Arc::new(ByChoice)),
};

struct ByChoice;

#[async_trait]
impl Scorer for ByChoice {
    fn name(&self) -> &str {
        ENTRY.name
    }

    async fn score(&self, state: &AttemptState, _: &AttemptScope) -> Result<ScorerResult, AttemptFault> {
        if state.choices.is_empty() {
            return Err(AttemptFault::new("`choice` needs samples with choices, and this one has none"));
        }
        let wanted = target_places(&state.target, state.choices.len())?;
        let ordered = original_order(&state.choices);
        let picked = ordered.iter().enumerate().filter(|(_, choice)| choice.correct == Some(true));
        let picked: Vec<usize> = picked.map(|(at, _)| at).collect();
        let letters: Vec<String> = picked.iter().map(|at| letter(*at)).collect();
        let scored = |value: &str| Score::new(value).answer(letters.join(", ")).explanation(explanation(state));
        let is_right = picked == wanted;
        if is_right || !picked.is_empty() {
            return Ok(scored(grade(is_right)).into());
        }
        let silent = is_blank(state.completion());
        let (value, reason) = if silent { ("N", "no_response") } else { ("I", "invalid_response_format") };
        Ok(because(scored(value), reason).into())
    }
}

/// The places of the right choices. A target may be a letter, several letters in a row, or several texts.
fn target_places(target: &Target, choices: usize) -> Result<Vec<usize>, AttemptFault> {
    let mut places = Vec::new();
    for word in target.0.iter().flat_map(|text| text.split(|c: char| c == ',' || c.is_whitespace())) {
        let number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        let letters = if number { vec![word.to_owned()] } else { word.chars().map(String::from).collect() };
        for letter in letters {
            let at = place(&letter).filter(|at| *at < choices).ok_or_else(|| {
                AttemptFault::new(format!(
                    "the target `{letter}` is not one of the {choices} choices, which are letters from `A`"
                ))
            })?;
            places.push(at);
        }
    }
    places.sort_unstable();
    Ok(places)
}

fn explanation(state: &AttemptState) -> String {
    if state.choices.iter().enumerate().all(|(at, choice)| choice.original == at) {
        return state.completion().to_owned();
    }
    let picked = state.choices.iter().enumerate().filter(|(_, choice)| choice.correct == Some(true));
    let letters: Vec<String> = picked.map(|(at, _)| letter(at)).collect();
    format!(
        "Choices were shuffled before generating a response, the following was sent to the model:\n\n{}\nShuffled \
         answer:\nANSWER: {}",
        list_choices(&state.choices),
        letters.join(", ")
    )
}
