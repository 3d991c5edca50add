//! The forms that a report can be written in, as data. The command line, its help and the tests follow from them.

use crate::screen::Screen;
use serde::Serialize;
use serde_json::Value;
use std::error::Error;

/// A form that reports of one kind can be written in.
pub struct Form<R> {
    /// Its names. The first is the one that help and hints use.
    pub names: &'static [&'static str],
    /// Writes a report in this form. Only text is laid out for a screen.
    pub render: Renderer<R>,
}

/// Writes a report as text of some kind.
pub type Renderer<R> = fn(&R, Screen) -> Result<String, Box<dyn Error>>;

impl<R> Form<R> {
    /// The form with this name.
    #[must_use]
    pub fn find<'a>(forms: &'a [Self], name: &str) -> Option<&'a Self> {
        forms.iter().find(|form| form.names.contains(&name))
    }
}

/// A JSON document as it stands in a file.
pub(crate) fn indent(document: &Value) -> String {
    format!("{document:#}\n")
}

/// A document as indented text, without a value in between.
///
/// # Panics
///
/// If a key is no text.
pub(crate) fn indent_document(document: &impl Serialize) -> String {
    serde_json::to_string_pretty(document).expect("the keys of a document are texts") + "\n"
}
