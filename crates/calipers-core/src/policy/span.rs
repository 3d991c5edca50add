//! Places in a policy file, and mistakes that are underlined there.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A file as it was read.
#[derive(Debug, PartialEq, Eq)]
pub struct Text {
    /// What it is called.
    pub name: String,
    /// What it says.
    pub text: String,
}

/// A part of a file, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The file.
    pub text: Arc<Text>,
    /// The part.
    pub range: Range<usize>,
}

/// A value with the place it was read from.
#[derive(Clone, Debug, PartialEq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// The place.
    pub span: Span,
}

/// What is wrong with a policy, with the place underlined and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// What is wrong.
    pub message: String,
    /// Where.
    pub span: Option<Span>,
    /// What to do.
    pub hint: Option<String>,
}

impl<T> std::ops::Deref for Spanned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Mistake {}
