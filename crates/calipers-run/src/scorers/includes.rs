//! `includes`: the target is somewhere in the answer.

use super::first_match;
use crate::catalog::CatalogEntry;
use crate::text::python_text::casefold;
use crate::{AttemptFault, AttemptScope, AttemptState, Scorer, ScorerResult};
use async_trait::async_trait;
use std::sync::Arc;

pub(super) const ENTRY: CatalogEntry<dyn Scorer> = CatalogEntry {
    name: "includes",
    about: "is the target somewhere in the answer?",
    params: &["ignore_case"],
    places: 1,
    open: false,
    make: |params| Ok(Arc::new(Includes { ignore_case: params.flag("ignore_case", true)? })),
};

struct Includes {
    ignore_case: bool,
}

#[async_trait]
impl Scorer for Includes {
    fn name(&self) -> &str {
        ENTRY.name
    }

    async fn score(&self, state: &AttemptState, _: &AttemptScope) -> Result<ScorerResult, AttemptFault> {
        let fold = |text: &str| if self.ignore_case { casefold(text) } else { text.to_owned() };
        Ok(first_match(state, |completion, target| {
            let said = fold(completion);
            let is_in = said.contains(&fold(target));
            (said, is_in)
        }))
    }
}
