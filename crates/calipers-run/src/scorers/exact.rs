//! `exact`: the answer is the target, ignoring case, punctuation and articles.

use super::bag_of_words::words;
use super::{grade, no_target, noting_silence};
use crate::catalog::CatalogEntry;
use crate::{AttemptFault, AttemptScope, AttemptState, Scorer, ScorerResult};
use async_trait::async_trait;
use calipers_core::{MetricSpec, Score, mean, stderr};
use std::sync::Arc;

pub(super) const ENTRY: CatalogEntry<dyn Scorer> = CatalogEntry {
    name: "exact",
    about: "is the answer the target, ignoring case, punctuation and articles?",
    params: &[],
    places: 0,
    open: false,
    make: |_| Ok(Arc::new(Exact)),
};

struct Exact;

#[async_trait]
impl Scorer for Exact {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn metrics(&self) -> Vec<MetricSpec> {
        vec![mean().into(), stderr().into()]
    }

    async fn score(&self, state: &AttemptState, _: &AttemptScope) -> Result<ScorerResult, AttemptFault> {
        if state.target.0.is_empty() {
            return Ok(no_target());
        }
        let said = words(state.completion(), &[]);
        // A target of articles only, such as `the`, never matches.
        let is_said = |target: &Arc<str>| {
            let wanted = words(target, &[]);
            !wanted.is_empty() && wanted == said
        };
        let score = Score::new(grade(state.target.0.iter().any(is_said))).answer(state.completion());
        Ok(noting_silence(score, state))
    }
}
