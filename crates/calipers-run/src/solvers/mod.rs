//! The solvers: one file each, and one line in [`ALL`].

mod command;
mod generate;
mod messages;
mod multiple_choice;
mod prompts;
mod self_critique;

pub use generate::{Generate, generate};

use crate::catalog::CatalogEntry;
use crate::{AttemptFault, AttemptScope, AttemptState, Solver};
use calipers_core::{GenerateConfig, Message, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// All entries, in the order in which they are listed.
pub(crate) static ALL: &[CatalogEntry<dyn Solver>] = &[
    generate::ENTRY,
    messages::SYSTEM,
    messages::USER,
    messages::ASSISTANT,
    prompts::PROMPT_TEMPLATE,
    prompts::CHAIN_OF_THOUGHT,
    multiple_choice::ENTRY,
    self_critique::ENTRY,
    command::ENTRY,
];

/// Asks the model of the task and adds its answer to the conversation.
async fn ask(state: &mut AttemptState, scope: &AttemptScope, config: &GenerateConfig) -> Result<(), AttemptFault> {
    let output = scope.generate(&state.messages, config).await?;
    state.messages.push(output.message.clone());
    state.output = Some(output);
    Ok(())
}

/// The question, for solvers that reword it.
fn question(state: &mut AttemptState) -> Result<&mut Message, AttemptFault> {
    state.user_prompt().ok_or_else(|| AttemptFault::new("the conversation has no message of a user to reword"))
}

/// Looks up a name of a template: in the parameters, then in the store of the solvers, then in the metadata of the
/// sample.
fn look_up<'a>(params: &'a [(Arc<str>, Value)], state: &'a AttemptState, name: &str) -> Option<Cow<'a, Value>> {
    let among =
        |entries: &'a [(Arc<str>, Value)]| entries.iter().find(|(key, _)| **key == *name).map(|(_, value)| value);
    among(params).or_else(|| among(&state.store)).or_else(|| state.metadata.get(name)).map(Cow::Borrowed)
}
