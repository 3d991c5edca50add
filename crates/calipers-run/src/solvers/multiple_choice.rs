//! `multiple_choice`: the model picks among lettered answers.

use super::{ask, question};
use crate::catalog::{CatalogEntry, CatalogParams, argument};
use crate::text::choice_letters::{letter, list_choices, original_order, place};
use crate::text::python_regex::{last_group, ours};
use crate::text::template::fill;
use crate::{AttemptFault, AttemptScope, AttemptState, Choice, Solver};
use async_trait::async_trait;
use calipers_core::{Error, GenerateConfig, SampleId, Value};
use regex::{Captures, Regex};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

pub(super) const ENTRY: CatalogEntry<dyn Solver> = CatalogEntry {
    name: "multiple_choice",
    about: "shows the choices with letters, asks the model, and marks its choice; scored by `choice`",
    params: &["template", "cot", "multiple_correct", "max_tokens", "shuffle"],
    places: 0,
    open: false,
    make,
};

fn make(params: &CatalogParams<'_>) -> Result<Arc<dyn Solver>, Error> {
    let multiple_correct = params.flag("multiple_correct", false)?;
    let template = match params.text("template")? {
        Some(template) if template.contains("{question}") && template.contains("{choices}") => template,
        Some(_) => {
            let message = "the `template` of `multiple_choice` has no place for the question or the choices";
            return Err(argument(message, "write {question} and {choices} into it; {letters} is optional"));
        }
        None => usual_template(params.flag("cot", false)?, multiple_correct).into(),
    };
    let shuffle = match params.get("shuffle") {
        None | Some(Value::Bool(false)) => None,
        Some(Value::Bool(true)) => Some(Shuffle::OfRun),
        Some(Value::Int(seed)) => Some(Shuffle::Seed(*seed)),
        Some(other) => return Err(params.wrong("shuffle", "true or a seed", other)),
    };
    let config = GenerateConfig { max_tokens: params.whole("max_tokens")?, ..GenerateConfig::default() };
    Ok(Arc::new(MultipleChoice { template, multiple_correct, shuffle, config }))
}

fn usual_template(cot: bool, multiple_correct: bool) -> String {
    let several = if multiple_correct { ", of which more than one answer may be right" } else { "" };
    let which = match multiple_correct {
        true => "$LETTERS' (without the quotes), where LETTERS is one or more of {letters}",
        false => "$LETTER' (without the quotes), where LETTER is one of {letters}",
    };
    let form = match cot {
        true => {
            format!("The last line of your response must have the form 'ANSWER: {which}. Think step by step first.")
        }
        false => format!("Your whole response must have the form 'ANSWER: {which}."),
    };
    format!("Answer the following multiple choice question{several}. {form}\n\n{{question}}\n\n{{choices}}")
}

struct MultipleChoice {
    template: Arc<str>,
    multiple_correct: bool,
    shuffle: Option<Shuffle>,
    config: GenerateConfig,
}

/// Where the order of choices comes from.
#[derive(Clone, Copy)]
enum Shuffle {
    /// The seed of the run.
    OfRun,
    /// A fixed seed: the same order in every run.
    Seed(i64),
}

#[async_trait]
impl Solver for MultipleChoice {
    fn name(&self) -> &str {
        ENTRY.name
    }

    async fn solve(&self, state: &mut AttemptState, scope: &AttemptScope) -> Result<(), AttemptFault> {
        if state.choices.is_empty() {
            return Err(AttemptFault::new("`multiple_choice` needs samples with choices, and this one has none"));
        }
        if let Some(shuffle) = self.shuffle {
            let seed = shuffle.of_attempt(scope.seed(), &state.id, state.epoch);
            shuffle_choices(&mut state.choices, seed);
        }
        let asked = question(state)?.content.clone();
        let prompt = self.prompt(&asked, &state.choices.iter().collect::<Vec<_>>());
        question(state)?.content = prompt.into();
        ask(state, scope, &self.config).await?;
        let chosen = find_choices(state.completion(), state.choices.len(), self.multiple_correct);
        if chosen.is_empty() {
            return Ok(());
        }
        for (at, choice) in state.choices.iter_mut().enumerate() {
            choice.correct = Some(chosen.contains(&at));
        }
        if self.shuffle.is_some() { self.tell_unshuffled(state, &asked) } else { Ok(()) }
    }
}

impl MultipleChoice {
    fn prompt(&self, asked: &str, choices: &[&Choice]) -> String {
        let letters: Vec<String> = (0..choices.len()).map(letter).collect();
        fill(&self.template, |name| {
            let text = match name {
                "question" => asked.to_owned(),
                "choices" => list_choices(choices.iter().copied()),
                "letters" => letters.join(","),
                _ => return None,
            };
            Some(Cow::Owned(Value::from(text)))
        })
    }

    /// Rewrites the conversation as if nothing had been shuffled, so that its letters match the dataset and the target.
    /// The choices keep the order that was shown; the scorer explains it.
    fn tell_unshuffled(&self, state: &mut AttemptState, asked: &str) -> Result<(), AttemptFault> {
        let ordered = original_order(&state.choices);
        let prompt = self.prompt(asked, &ordered);
        let picked = ordered.iter().filter(|choice| choice.correct == Some(true));
        let mut letters: Vec<String> = picked.map(|choice| letter(choice.original)).collect();
        letters.sort();
        let answer: Arc<str> = format!("ANSWER: {}", letters.join(", ")).into();
        question(state)?.content = prompt.into();
        if let Some(output) = &mut state.output {
            output.message.content = answer.clone();
        }
        if let Some(last) = state.messages.last_mut() {
            last.content = answer;
        }
        Ok(())
    }
}

/// The indices of the choices that a model picked; empty if the form is not recognised.
fn find_choices(completion: &str, choices: usize, several: bool) -> BTreeSet<usize> {
    let Some(letters) = answer_letters(completion) else { return BTreeSet::new() };
    let places = |words: Vec<String>| -> Option<BTreeSet<usize>> {
        let known = |word: &String| place(word).filter(|at| *at < choices && letter(*at) == *word);
        words.iter().map(known).collect()
    };
    let comma_separated = |text: &str| text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect();
    if several {
        let packed = letters.replace(" AND ", ",").replace(' ', "");
        let apart = || packed.chars().map(String::from).collect();
        return places(comma_separated(&packed)).or_else(|| places(apart())).unwrap_or_default();
    }
    let words: Vec<String> = comma_separated(&letters);
    if words.len() == 1 { places(words).unwrap_or_default() } else { BTreeSet::new() }
}

/// What follows the last `ANSWER:` alone on its line, else the last anywhere; in upper case.
fn answer_letters(completion: &str) -> Option<String> {
    static DOLLARS: LazyLock<Regex> = LazyLock::new(|| ours(r"\$\s*([A-Za-z\d][A-Za-z\d ,]*?)\s*\$"));
    static STARS: LazyLock<Regex> = LazyLock::new(|| ours(r"\*\*\s*([A-Za-z\d][A-Za-z\d ,]*?)\s*\*\*"));
    static STRICT: LazyLock<Regex> = LazyLock::new(|| ours(r"(?im)^ANSWER\s*:\s*([A-Za-z\d ,]+)\s*(?:$|\n|\.)"));
    // To Python `²` is part of a word.
    static LENIENT: LazyLock<Regex> =
        LazyLock::new(|| ours(r"(?i)ANSWER\s*:\s*([A-Za-z\d ,]+)(?:[^\w\p{No}\p{Nl}]|$)"));
    let plain = DOLLARS.replace_all(completion, "$1");
    let plain = STARS.replace_all(&plain, "$1");
    let plain = without_parentheses(&plain);
    let letters = last_group(&STRICT, &plain).or_else(|| last_group(&LENIENT, &plain))?;
    Some(letters.trim().trim_end_matches('.').to_uppercase())
}

/// `(A)` becomes `A` after a colon, a comma or nothing, if a comma, a full stop or the end of the line follows.
fn without_parentheses(text: &str) -> Cow<'_, str> {
    static PARENTHESES: LazyLock<Regex> = LazyLock::new(|| ours(r"(^|[:,])(\s*)\(([A-Za-z\d])\)"));
    PARENTHESES.replace_all(text, |found: &Captures<'_>| {
        let after = found.get(0).map_or("", |all| &text[all.end()..]);
        let next = after.trim_start();
        let space = &after[..after.len() - next.len()];
        let ends = next.is_empty() || next.starts_with([',', '.']) || space.contains('\n');
        if ends { format!("{}{}{}", &found[1], &found[2], &found[3]) } else { found[0].to_owned() }
    })
}

impl Shuffle {
    /// The seed for one attempt. A seed of the run already differs between attempts.
    fn of_attempt(self, of_run: u64, id: &SampleId, epoch: u32) -> u64 {
        match self {
            Self::OfRun => of_run,
            Self::Seed(seed) => {
                let digest = Sha256::digest(format!("{seed}\n{epoch}\n{id}"));
                digest.iter().take(8).fold(0, |bits, byte| bits << 8 | u64::from(*byte))
            }
        }
    }
}

/// Shuffles by Fisher and Yates; the random numbers are those of SplitMix64 (Steele, Lea and Flood 2014).
fn shuffle_choices(choices: &mut [Choice], seed: u64) {
    let mut state = seed;
    for last in (1..choices.len()).rev() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        let other = (u128::from(bits) * (last as u128 + 1)) >> 64;
        choices.swap(last, other as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_from_what_models_write() {
        for (completion, several, want) in [
            ("ANSWER: $B$", false, vec![1]),
            ("ANSWER: **C**", false, vec![2]),
            ("I think A.\nANSWER: A\nNo wait.\nANSWER: D", false, vec![3]),
            ("so the answer : b, surely", false, vec![]),
            ("the answer: b!", false, vec![1]),
            ("ANSWER: A and C", true, vec![0, 2]),
            ("ANSWER: A, B, and D", true, vec![0, 1, 3]),
            ("ANSWER: ABD", true, vec![0, 1, 3]),
            ("ANSWER: (A), (C)", true, vec![0, 2]),
            ("ANSWER: AE", true, vec![]),
            ("ANSWER: 1", false, vec![]),
            ("ANSWER:", false, vec![]),
        ] {
            assert_eq!(find_choices(completion, 4, several).into_iter().collect::<Vec<_>>(), want, "{completion}");
        }
    }

    #[test]
    fn a_seed_gives_every_attempt_an_order_of_its_own() {
        let order = |seed| {
            let choice = |original| Choice { text: "".into(), correct: None, original };
            let mut choices: Vec<Choice> = (0..8).map(choice).collect();
            shuffle_choices(&mut choices, seed);
            choices.iter().map(|choice| choice.original).collect::<Vec<_>>()
        };
        let of = |epoch| order(Shuffle::Seed(7).of_attempt(1, &SampleId::from(3), epoch));
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        let mut sorted = of(1);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..8).collect::<Vec<_>>());
    }
}
