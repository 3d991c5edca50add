//! `prompt_template` and `chain_of_thought`: reword the question.

use super::{look_up, question};
use crate::catalog::{CatalogEntry, CatalogParams};
use crate::text::template::fill;
use crate::{AttemptFault, AttemptScope, AttemptState, Solver};
use async_trait::async_trait;
use calipers_core::{Error, Value};
use std::borrow::Cow;
use std::sync::Arc;

pub(super) const PROMPT_TEMPLATE: CatalogEntry<dyn Solver> = CatalogEntry {
    name: "prompt_template",
    about: "puts the question into a template as {prompt}; other {names} come from its parameters and the sample's metadata",
    params: &["template"],
    places: 1,
    open: true,
    make: |params| {
        let (template, params) = (params.needed_text("template")?, params.all_but("template"));
        Ok(Arc::new(Reword { name: "prompt_template", template, params, knows_sample: true }))
    },
};

pub(super) const CHAIN_OF_THOUGHT: CatalogEntry<dyn Solver> = CatalogEntry {
    name: "chain_of_thought",
    about: "asks the model to reason first and to end with a line `ANSWER: …`; a custom template needs {prompt}",
    params: &["template"],
    places: 1,
    open: false,
    make: chain_of_thought,
};

const STEP_BY_STEP: &str = "{prompt}

Think it through step by step before you answer. Then give the answer on a line of its own at the very end, in the form \
\"ANSWER: $ANSWER\" (without the quotes), where $ANSWER is your answer to the question.
";

fn chain_of_thought(params: &CatalogParams<'_>) -> Result<Arc<dyn Solver>, Error> {
    let template = params.text("template")?.unwrap_or_else(|| STEP_BY_STEP.into());
    Ok(Arc::new(Reword { name: "chain_of_thought", template, params: Vec::new(), knows_sample: false }))
}

struct Reword {
    name: &'static str,
    template: Arc<str>,
    params: Vec<(Arc<str>, Value)>,
    /// True if the template may use the metadata of the sample.
    knows_sample: bool,
}

#[async_trait]
impl Solver for Reword {
    fn name(&self) -> &str {
        self.name
    }

    fn asks_model(&self) -> bool {
        false
    }

    async fn solve(&self, state: &mut AttemptState, _: &AttemptScope) -> Result<(), AttemptFault> {
        let prompt = question(state)?.content.clone();
        let text = fill(&self.template, |name| match name {
            "prompt" if self.params.iter().all(|(key, _)| &**key != name) => {
                Some(Cow::Owned(Value::Text(prompt.clone())))
            }
            _ if self.knows_sample => look_up(&self.params, state, name),
            _ => None,
        });
        question(state)?.content = text.into();
        Ok(())
    }
}
