//! Why a command did not finish: what is wrong, where, and what to do about it, kept apart up to the exit.

use crate::flag_hints;
use calipers::error::{Error, ErrorKind, Excerpt};
use calipers::io::{PolicyError, ReadError, WriteError};
use calipers::policy::Mistake;
#[cfg(feature = "eval")]
use calipers::script::ScriptError;
use calipers::text::{brief, one_line};
use calipers::{RunError, SetupError};
use std::fmt;

/// Why a command did not finish.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// Something is wrong with the input, the configuration or the usage; several problems if several were found.
    Input(Vec<Problem>),
    /// The reader of our output went away, as `head` does. That is no mistake.
    ClosedPipe,
}

/// One thing that is wrong.
#[derive(Clone, Debug, Default)]
pub(crate) struct Problem {
    /// What is wrong.
    what: String,
    /// Where: lines such as `in results.jsonl, line 3`, or a line of a file with a part underlined.
    places: Vec<Place>,
    /// What to do about it.
    hint: Option<String>,
}

#[derive(Clone, Debug)]
enum Place {
    /// A place in words.
    Words(String),
    /// A line of what is named, with a part underlined.
    Line(Excerpt),
    /// The same where the name is said already.
    LineOnly(Excerpt),
}

/// Why something did not finish, in three parts: for programs that call this one as a library.
#[derive(Clone, Debug, Default)]
pub struct Fault {
    /// What is wrong.
    pub what: String,
    /// Where.
    pub place: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        let Failure::Input(problems) = failure else { return Self::default() };
        let Some(first) = problems.into_iter().next() else { return Self::default() };
        let places: Vec<String> = first.places.iter().map(|place| place.lines().trim().to_owned()).collect();
        Self { what: first.what, place: Some(places.join("\n  ")).filter(|place| !place.is_empty()), hint: first.hint }
    }
}

/// As many problems are printed as a person corrects at once.
const PROBLEMS_MAX: usize = 20;

impl Failure {
    /// Something is wrong.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self::Input(vec![Problem { what: what.into(), ..Problem::default() }])
    }

    /// With a place, such as `in results.jsonl`.
    pub(crate) fn at(mut self, place: impl Into<String>) -> Self {
        if let Self::Input(problems) = &mut self {
            let place = place.into();
            problems.iter_mut().for_each(|problem| problem.places.push(Place::Words(place.clone())));
        }
        self
    }

    /// With what to do about it, in place of what was said before.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Self::Input(problems) = &mut self {
            let hint = hint.into();
            problems.iter_mut().for_each(|problem| problem.hint = Some(hint.clone()));
        }
        self
    }

    /// With another flag in place of one that hints name.
    pub(crate) fn hint_with_flag(mut self, flag: &str, other: &str) -> Self {
        if let Self::Input(problems) = &mut self {
            for hint in problems.iter_mut().filter_map(|problem| problem.hint.as_mut()) {
                *hint = hint.replace(&format!("`{flag}"), &format!("`{other}"));
            }
        }
        self
    }

    /// With what to do about it, where nothing is said yet.
    pub(crate) fn hint_if_none(self, hint: &str) -> Self {
        match &self {
            Self::Input(problems) if problems.iter().all(|problem| problem.hint.is_none()) => self.hint(hint),
            _ => self,
        }
    }

    /// Both of two failures.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Input(mut first), Self::Input(second)) => {
                first.extend(second);
                Self::Input(first)
            }
            (Self::ClosedPipe, other) => other,
            (first, Self::ClosedPipe) => first,
        }
    }
}

impl Problem {
    /// The lines that are printed for these problems.
    pub(crate) fn print(problems: &[Self]) -> String {
        let shown: Vec<String> = problems.iter().take(PROBLEMS_MAX).map(ToString::to_string).collect();
        let mut text = shown.join("\nerror: ");
        if problems.len() > PROBLEMS_MAX {
            text += &format!("\nand {} more errors", problems.len() - PROBLEMS_MAX);
        }
        text
    }
}

impl Place {
    /// The lines that are printed below what is wrong.
    fn lines(&self) -> String {
        match self {
            Self::Words(words) => format!("\n  {}", brief(&one_line(words))),
            Self::Line(excerpt) => excerpt.to_string(),
            Self::LineOnly(excerpt) => excerpt.lines(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&in_lines(&self.what))?;
        for place in &self.places {
            f.write_str(&place.lines())?;
        }
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {}", in_lines(hint)),
            None => Ok(()),
        }
    }
}

/// As many lines of one message as a person reads.
const LINES_MAX: usize = 20;

/// A message whose further lines stand below the first: none of them can be taken for another message.
fn in_lines(text: &str) -> String {
    let brief = brief(text);
    let mut lines: Vec<String> = brief.lines().take(LINES_MAX).map(one_line).collect();
    lines.iter_mut().skip(1).filter(|line| !line.starts_with("  ")).for_each(|line| line.insert_str(0, "    "));
    let more = text.lines().count().saturating_sub(LINES_MAX);
    let more = if more > 0 { format!("\n    … and {more} more lines") } else { String::new() };
    lines.join("\n") + &more
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Input(vec![problem])
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let mut problem = Problem { hint: flag_hints::of_error(error.kind()), ..Problem::default() };
        match error.kind() {
            ErrorKind::Script { message, excerpt, .. } => {
                problem.what.clone_from(message);
                problem.places.extend(excerpt.as_deref().cloned().map(Place::Line));
            }
            kind => problem.what = kind.to_string(),
        }
        let place = error.place().to_string();
        if !place.is_empty() {
            problem.places.push(Place::Words(format!("at {place}")));
        }
        problem.into()
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        let place = error.place().map(|place| format!(", {place}")).unwrap_or_default();
        let mut places = vec![Place::Words(format!("in {}{place}", error.source_name()))];
        places.extend(error.excerpt().cloned().map(Place::LineOnly));
        let hint = flag_hints::of_file(error.advice(), error.remedy(), error.proposal());
        Problem { what: error.what().to_owned(), places, hint }.into()
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        let places = vec![Place::Words(format!("writing {}", error.target()))];
        let hint = flag_hints::of_file(error.advice(), error.remedy(), None);
        Problem { what: error.what().to_owned(), places, hint }.into()
    }
}

impl From<PolicyError> for Failure {
    fn from(error: PolicyError) -> Self {
        let problem = |mistake: &Mistake| Problem {
            what: mistake.message.clone(),
            places: mistake
                .span
                .iter()
                .map(|span| Place::Line(Excerpt::of(&span.text.name, &span.text.text, span.range.clone())))
                .collect(),
            hint: flag_hints::of_mistake(mistake),
        };
        Self::Input(error.mistakes().iter().map(problem).collect())
    }
}

#[cfg(feature = "eval")]
impl From<ScriptError> for Failure {
    fn from(error: ScriptError) -> Self {
        Error::from(error).into()
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        Problem { what: error.to_string(), places: Vec::new(), hint: flag_hints::of_setup(&error) }.into()
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Read(error) => error.into(),
            RunError::Write(error) => error.into(),
            RunError::Policy(error) => error.into(),
            RunError::Measure { error, source: None } => error.into(),
            RunError::Measure { error, source: Some(source) } => Self::from(error).at(format!("in {source}")),
            RunError::Setup(error) => error.into(),
            error => Self::new(error.to_string()),
        }
    }
}
