//! `system_message`, `user_message` and `assistant_message`: something is said before the model answers.

use super::look_up;
use crate::catalog::{CatalogEntry, CatalogParams};
use crate::text::template::fill;
use crate::{AttemptFault, AttemptScope, AttemptState, Solver};
use async_trait::async_trait;
use calipers_core::{Error, Message, Role, Value};
use std::sync::Arc;

pub(super) const SYSTEM: CatalogEntry<dyn Solver> = CatalogEntry {
    name: "system_message",
    about: "adds a system message after existing ones; {names} come from its parameters and the sample's metadata",
    params: &["template"],
    places: 1,
    open: true,
    make: |params| make(params, Role::System),
};

pub(super) const USER: CatalogEntry<dyn Solver> = CatalogEntry {
    name: "user_message",
    about: "adds a user message at the end; {names} come from its parameters and the sample's metadata",
    make: |params| make(params, Role::User),
    ..SYSTEM
};

pub(super) const ASSISTANT: CatalogEntry<dyn Solver> = CatalogEntry {
    name: "assistant_message",
    about: "adds an assistant message at the end; {names} come from its parameters and the sample's metadata",
    make: |params| make(params, Role::Assistant),
    ..SYSTEM
};

fn make(params: &CatalogParams<'_>, role: Role) -> Result<Arc<dyn Solver>, Error> {
    Ok(Arc::new(Say { role, template: params.needed_text("template")?, params: params.all_but("template") }))
}

struct Say {
    role: Role,
    template: Arc<str>,
    params: Vec<(Arc<str>, Value)>,
}

#[async_trait]
impl Solver for Say {
    fn name(&self) -> &str {
        match self.role {
            Role::System => SYSTEM.name,
            Role::Assistant => ASSISTANT.name,
            _ => USER.name,
        }
    }

    fn asks_model(&self) -> bool {
        false
    }

    async fn solve(&self, state: &mut AttemptState, _: &AttemptScope) -> Result<(), AttemptFault> {
        let text = fill(&self.template, |name| look_up(&self.params, state, name));
        let after_rules = |message: &Message| message.role == Role::System;
        let place = match self.role {
            Role::System => state.messages.iter().rposition(after_rules).map_or(0, |last| last + 1),
            _ => state.messages.len(),
        };
        state.messages.insert(place, Message::new(self.role, text));
        Ok(())
    }
}
