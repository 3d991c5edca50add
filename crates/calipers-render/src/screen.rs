//! What text is written on: its width, and whether it shows colour.

use calipers_core::Verdict;

/// Whether the text may use colour. It reads as well without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// No colour: for files, pipes, and terminals that ask for none.
    Plain,
    /// Bold headings, dim details, and verdicts in green, yellow or red.
    Colour,
}

impl Style {
    pub(crate) fn paint(self, code: &str, text: &str) -> String {
        if self == Self::Colour && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    /// The colour of a verdict. It is always said in words too.
    pub(crate) fn verdict(self, verdict: Verdict, text: &str) -> String {
        let code = match verdict {
            Verdict::Pass => "1;32",
            Verdict::Undecided => "1;33",
            Verdict::Fail => "1;31",
        };
        self.paint(code, text)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }
}

/// What is written on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Whether it shows colour.
    pub style: Style,
    /// How many columns it has.
    pub width: usize,
}

impl Screen {
    /// The width where none is known: that of files, pipes and the terminals of old.
    pub const WIDTH: usize = 80;

    /// No colour, 80 columns.
    pub const PLAIN: Self = Self { style: Style::Plain, width: Self::WIDTH };
}
