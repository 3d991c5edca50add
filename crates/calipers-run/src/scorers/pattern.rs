//! `pattern`: what a regular expression finds in the answer is the target.

use super::{because, grade, no_target, noting_silence, unscored_outcome};
use crate::catalog::{CatalogEntry, CatalogParams, argument};
use crate::scorers::blocking;
use crate::text::python_regex::Pattern;
use crate::text::python_text::is_blank;
use crate::{AttemptFault, AttemptScope, AttemptState, Scorer, ScorerResult};
use async_trait::async_trait;
use calipers_core::{Error, Score, Target};
use std::sync::Arc;

pub(super) const ENTRY: CatalogEntry<dyn Scorer> = CatalogEntry {
    name: "pattern",
    about: "do the groups of a regular expression find the target in the answer? without groups: the whole match",
    params: &["pattern", "ignore_case", "match_all"],
    places: 3,
    open: false,
    make,
};

fn make(params: &CatalogParams<'_>) -> Result<Arc<dyn Scorer>, Error> {
    let text = params.needed_text("pattern")?;
    let ignore_case = params.flag("ignore_case", true)?;
    let pattern = Pattern::new(&text, ignore_case).map_err(|error| {
        argument(
            format!("the `pattern` `{text}` is not a regular expression: {error}"),
            "escape characters that are meant literally",
        )
    })?;
    Ok(Arc::new(ByPattern { pattern, ignore_case, match_all: params.flag("match_all", false)? }))
}

struct ByPattern {
    pattern: Pattern,
    ignore_case: bool,
    match_all: bool,
}

#[async_trait]
impl Scorer for ByPattern {
    fn name(&self) -> &str {
        ENTRY.name
    }

    async fn score(&self, state: &AttemptState, _: &AttemptScope) -> Result<ScorerResult, AttemptFault> {
        if state.target.0.is_empty() {
            return Ok(no_target());
        }
        let completion = state.completion();
        let found = match blocking(|| self.pattern.search(completion)) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(not_found(state)),
            Err(why) => return Ok(unscored_outcome(why, completion, completion).into()),
        };
        let mut groups: Vec<Option<&str>> = found.iter().skip(1).map(|group| Some(group?.as_str())).collect();
        if groups.is_empty() {
            groups.push(found.get(0).map(|whole| whole.as_str()));
        }
        Ok(judge(state, &groups, self.ignore_case, self.match_all))
    }
}

/// The score if the pattern is not found.
pub(super) fn not_found(state: &AttemptState) -> ScorerResult {
    let completion = state.completion();
    let score = Score::new("I").explanation(format!("Scoring pattern not matched in output: {completion}"));
    because(score, if is_blank(completion) { "no_response" } else { "invalid_response_format" }).into()
}

/// The score of the groups that were found.
pub(super) fn judge(state: &AttemptState, groups: &[Option<&str>], ignore_case: bool, match_all: bool) -> ScorerResult {
    let is_target = |group: &str| is_among(group, &state.target, ignore_case);
    let present: Vec<&str> = groups.iter().flatten().copied().collect();
    let found: Option<String> = if match_all {
        let all = !present.is_empty() && present.iter().all(|group| is_target(group));
        all.then(|| state.target.text())
    } else {
        present.iter().find(|group| is_target(group)).map(|group| (*group).to_owned())
    };
    let is_right = found.as_ref().is_some_and(|found| !found.is_empty());
    // A single group is worth showing even if it is not the target.
    let shown = found.or_else(|| (groups.len() == 1 && !match_all).then(|| groups[0].map(str::to_owned)).flatten());
    let mut score = Score::new(grade(is_right)).explanation(state.completion());
    score.answer = shown.map(Into::into);
    noting_silence(score, state)
}

fn is_among(group: &str, target: &Target, ignore_case: bool) -> bool {
    let lower = |text: &str| if ignore_case { text.to_lowercase() } else { text.to_owned() };
    let group = lower(group);
    target.0.iter().any(|target| lower(target) == group)
}
