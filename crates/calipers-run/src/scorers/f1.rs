//! `f1`: how many words the answer and the target share.

use super::bag_of_words::{normal_token, words};
use super::{no_target, noting_silence};
use crate::catalog::{CatalogEntry, CatalogParams};
use crate::{AttemptFault, AttemptScope, AttemptState, Scorer, ScorerResult};
use async_trait::async_trait;
use calipers_core::{Error, MetricSpec, Score, mean, stderr};
use std::collections::HashMap;
use std::sync::Arc;

pub(super) const ENTRY: CatalogEntry<dyn Scorer> = CatalogEntry {
    name: "f1",
    about: "how many words do the answer and the target share? the harmonic mean of precision and recall",
    params: &["stop_words"],
    places: 1,
    open: false,
    make,
};

fn make(params: &CatalogParams<'_>) -> Result<Arc<dyn Scorer>, Error> {
    let stop_words = params.texts("stop_words")?.unwrap_or_default();
    Ok(Arc::new(F1 { stop_words: stop_words.iter().map(|word| normal_token(word)).collect() }))
}

struct F1 {
    stop_words: Vec<String>,
}

#[async_trait]
impl Scorer for F1 {
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
        let said = words(state.completion(), &self.stop_words);
        let targets = state.target.0.iter().map(|target| words(target, &self.stop_words));
        let best = targets.map(|wanted| f1(&said, &wanted)).fold(0.0, f64::max);
        Ok(noting_silence(Score::new(two_decimals(best)).answer(state.completion()), state))
    }
}

/// The words in both, each as often as in the one that has it less often (Rajpurkar et al. 2016).
fn f1(said: &[String], wanted: &[String]) -> f64 {
    let mut left: HashMap<&str, usize> = HashMap::new();
    for word in wanted {
        *left.entry(word).or_default() += 1;
    }
    let mut shared = 0usize;
    for word in said {
        if let Some(count) = left.get_mut(word.as_str()).filter(|count| **count > 0) {
            *count -= 1;
            shared += 1;
        }
    }
    if shared == 0 {
        return 0.0;
    }
    let (precision, recall) = (shared as f64 / said.len() as f64, shared as f64 / wanted.len() as f64);
    2.0 * precision * recall / (precision + recall)
}

/// Rounded as Inspect rounds it: part of the score's definition there, not of its display.
fn two_decimals(share: f64) -> f64 {
    format!("{share:.2}").parse().unwrap_or(share)
}
