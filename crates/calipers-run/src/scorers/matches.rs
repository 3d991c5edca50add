//! `match`: the answer begins with, ends with, contains or is the target, as text or as a number.

use super::first_match;
use super::numerals::{is_number, normal_number, parse, plain_number};
use crate::catalog::{CatalogEntry, CatalogParams};
use crate::text::python_text::{casefold, is_space, strip_punctuation};
use crate::{AttemptFault, AttemptScope, AttemptState, Scorer, ScorerResult};
use async_trait::async_trait;
use calipers_core::{Error, decimal_digit};
use std::sync::Arc;

pub(super) const ENTRY: CatalogEntry<dyn Scorer> = CatalogEntry {
    name: "match",
    about: "is the target at the end of the answer, at its beginning, anywhere in it, or the whole answer? as text or as a number",
    params: &["location", "ignore_case", "numeric"],
    places: 1,
    open: false,
    make,
};

fn make(params: &CatalogParams<'_>) -> Result<Arc<dyn Scorer>, Error> {
    let location = match params.word("location", &["begin", "end", "any", "exact"])? {
        Some("begin") => Location::Begin,
        Some("any") => Location::Any,
        Some("exact") => Location::Exact,
        _ => Location::End,
    };
    let ignore_case = params.flag("ignore_case", true)?;
    Ok(Arc::new(Match { location, ignore_case, numeric: params.flag("numeric", false)? }))
}

#[derive(Clone, Copy, PartialEq)]
enum Location {
    Begin,
    End,
    Any,
    Exact,
}

struct Match {
    location: Location,
    ignore_case: bool,
    numeric: bool,
}

#[async_trait]
impl Scorer for Match {
    fn name(&self) -> &str {
        ENTRY.name
    }

    async fn score(&self, state: &AttemptState, _: &AttemptScope) -> Result<ScorerResult, AttemptFault> {
        Ok(first_match(state, |completion, target| self.check(completion, target)))
    }
}

impl Match {
    fn check(&self, completion: &str, target: &str) -> (String, bool) {
        let answer = completion.trim_matches(is_space);
        let fold = |text: &str| if self.ignore_case { casefold(text) } else { text.to_owned() };
        let (said, mut wanted) = (fold(answer), fold(target.trim_matches(is_space)));
        if self.numeric {
            wanted = without_signs(&wanted);
            if is_number(&wanted) {
                return self.check_number(answer, &without_signs(&said), &normal_number(&wanted));
            }
        }
        let (said, wanted) = (strip_punctuation(&said), strip_punctuation(&wanted));
        let matches = match self.location {
            Location::Begin => said.starts_with(wanted),
            Location::End => said.ends_with(wanted),
            Location::Any => said.contains(wanted),
            Location::Exact => said == wanted,
        };
        (answer.to_owned(), matches)
    }

    /// Numbers are compared as numbers, never as text: 25 ends with a 5 and is not 5.
    fn check_number(&self, answer: &str, said: &str, wanted: &str) -> (String, bool) {
        let mut numbers = said.split(is_space).filter(|word| is_number(word)).map(normal_number);
        let found = match self.location {
            Location::Begin => numbers.next().unwrap_or_default(),
            Location::End => numbers.next_back().unwrap_or_default(),
            Location::Any => {
                let found = numbers.find(|number| number == wanted);
                return found.map_or_else(|| (answer.to_owned(), false), |number| (number, true));
            }
            // Exact stays exact: `(42)` is not `42`.
            Location::Exact => parse(said).map_or_else(|| said.to_owned(), plain_number),
        };
        let matches = found == wanted;
        (found, matches)
    }
}

/// A number without currency signs, thousands separators, emphasis and a final full stop. The percent sign stays: 60 %
/// may mean 60 or 0.6.
fn without_signs(text: &str) -> String {
    const SIGNS: [char; 6] = ['$', ',', '£', '€', '*', '_'];
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let next = characters.peek().copied();
        let is_escape = c == '\\' && next.is_some_and(|next| SIGNS.contains(&next));
        if !is_escape && !SIGNS.contains(&c) {
            plain.push(c);
        }
    }
    let mut trimmed = String::with_capacity(plain.len());
    let mut characters = plain.chars().peekable();
    while let Some(c) = characters.next() {
        let before_digit = characters.peek().is_some_and(|next| decimal_digit(*next).is_some());
        if c != '.' || before_digit {
            trimmed.push(c);
        }
    }
    trimmed
}
