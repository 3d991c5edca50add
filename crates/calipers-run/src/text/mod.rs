//! Text, handled as Inspect and Python handle it, so that scores agree.

pub(crate) mod choice_letters;
pub(crate) mod python_regex;
pub(crate) mod python_text;
pub(crate) mod template;
