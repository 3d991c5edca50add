//! `self_critique`: a model criticises the answer, and the model of the task answers again.

use super::{ask, look_up};
use crate::catalog::{CatalogEntry, CatalogParams};
use crate::text::template::fill;
use crate::{AttemptFault, AttemptScope, AttemptState, Solver};
use async_trait::async_trait;
use calipers_core::{Error, GenerateConfig, Message, Value};
use std::sync::Arc;

pub(super) const ENTRY: CatalogEntry<dyn Solver> = CatalogEntry {
    name: "self_critique",
    about: "has the answer criticised, by the same model or another, and asks for a better one",
    params: &["critique_template", "completion_template", "model"],
    places: 2,
    open: false,
    make,
};

const CRITIQUE: &str = "Here are a question and an answer to it. Criticise the answer: say what is wrong, missing or unclear. A good \
answer deals with the whole question and does not refuse to answer. If the answer is right as it stands, find no fault with it: \
reply only 'The original answer is fully correct'.

[BEGIN DATA]
***
[Question]: {question}
***
[Answer]: {completion}
***
[END DATA]

Critique: ";

const COMPLETION: &str = "Here are a question, a first answer to it, and a critique of that answer. Write a better answer to the \
question.

[BEGIN DATA]
***
[Question]: {question}
***
[Answer]: {completion}
***
[Critique]: {critique}
***
[END DATA]

If the first answer is right as it stands, repeat it exactly. Give the answer on a line of its own at the very end, in the form \
\"ANSWER: $ANSWER\" (without the quotes), where $ANSWER is the answer to the question.
";

fn make(params: &CatalogParams<'_>) -> Result<Arc<dyn Solver>, Error> {
    Ok(Arc::new(SelfCritique {
        critique: params.text("critique_template")?.unwrap_or_else(|| CRITIQUE.into()),
        completion: params.text("completion_template")?.unwrap_or_else(|| COMPLETION.into()),
        model: params.text("model")?,
    }))
}

struct SelfCritique {
    critique: Arc<str>,
    completion: Arc<str>,
    model: Option<Arc<str>>,
}

#[async_trait]
impl Solver for SelfCritique {
    fn name(&self) -> &str {
        ENTRY.name
    }

    async fn solve(&self, state: &mut AttemptState, scope: &AttemptScope) -> Result<(), AttemptFault> {
        let mut names: Vec<(Arc<str>, Value)> = vec![
            ("question".into(), state.sample.input.text().into()),
            ("completion".into(), state.completion().into()),
        ];
        let asked = [Message::user(fill(&self.critique, |name| look_up(&names, state, name)))];
        let config = GenerateConfig::default();
        let critique = match &self.model {
            Some(model) => scope.generate_as(model, &asked, &config).await?,
            None => scope.generate(&asked, &config).await?,
        };
        names.push(("critique".into(), critique.completion().into()));
        let again = fill(&self.completion, |name| look_up(&names, state, name));
        state.messages.push(Message::user(again));
        ask(state, scope, &config).await
    }
}
