//! What text is written on: its width, and whether it shows colour.

use calipers_core::{Verdict, defuse};

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
    /// The flags that its reader can use.
    pub flags: FlagNames,
}

/// The flags of the program that shows a text, for what the text advises. The renderers know none by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlagNames {
    /// Prints everything, where a text shows the first few.
    pub everything: Option<&'static str>,
    /// Shows every run with all its figures, where a text has a line per run.
    pub long: Option<&'static str>,
    /// Chooses the version of a policy's thresholds.
    pub version: Option<&'static str>,
    /// Names a baseline.
    pub baseline: Option<&'static str>,
}

impl FlagNames {
    /// No flags: for a text that no command line asked for.
    pub const NONE: Self = Self { everything: None, long: None, version: None, baseline: None };
}

impl Screen {
    /// The width where none is known: that of files, pipes and the terminals of old.
    pub const WIDTH: usize = 80;

    /// No colour, 80 columns.
    pub const PLAIN: Self = Self { style: Style::Plain, width: Self::WIDTH, flags: FlagNames::NONE };

    /// What follows a count of figures that are left out: how each run is shown whole.
    pub(crate) fn where_more(self) -> String {
        self.flags.long.map(|flag| format!(" (`{flag}` shows them)")).unwrap_or_default()
    }

    /// A text as it leaves: colour steers the terminal, and nothing else does.
    pub(crate) fn defuse(self, text: &str) -> String {
        defuse(text, self.style == Style::Colour).into_owned()
    }

    /// Sections as a text that leaves, with an empty line between two of them.
    pub(crate) fn join_sections(self, sections: &[String]) -> String {
        let text = self.defuse(&sections.join("\n"));
        if text.is_empty() || text.ends_with('\n') { text } else { text + "\n" }
    }

    /// What follows a count of things that are left out: where they all are, if the reader can ask for them.
    pub(crate) fn where_all(self) -> String {
        self.flags.everything.map(|flag| format!(" (`{flag}` has all)")).unwrap_or_default()
    }
}
