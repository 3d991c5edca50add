//! From errors of the libraries to exceptions, with hints that name keyword arguments.

use calipers::data::Value;
use calipers::error::{Error, ErrorKind, Excerpt};
use calipers::io::{PolicyError, ReadError, Remedy, WriteError};
use calipers::policy::{Mistake, PolicyRemedy};
use calipers::{RunError, SetupError};
use calipers_cli::Fault;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// An exception in the making. It becomes one where Python is attached.
#[derive(Debug)]
pub(crate) enum Failure {
    /// One of ours.
    Found { class: &'static str, problems: Vec<Problem> },
    /// One that Python code has raised, such as a custom metric.
    Python(PyErr),
}

/// One thing that is wrong.
#[derive(Clone, Debug, Default)]
pub(crate) struct Problem {
    what: String,
    place: Option<String>,
    hint: Option<String>,
}

const DATA: &str = "DataError";
const USAGE: &str = "UsageError";

impl Failure {
    /// A mistake in a call.
    pub(crate) fn usage(what: impl Into<String>, hint: impl Into<String>) -> Self {
        let problem = Problem { what: what.into(), place: None, hint: Some(hint.into()) };
        Self::Found { class: USAGE, problems: vec![problem] }
    }

    /// Something is wrong with what was handed over.
    pub(crate) fn data(what: String, place: String, hint: &str) -> Self {
        Self::Found { class: DATA, problems: vec![Problem { what, place: Some(place), hint: Some(hint.to_owned()) }] }
    }

    /// A bug in our code.
    pub(crate) fn bug(what: &str) -> Self {
        let what = format!("a bug in Calipers: {what}");
        let hint = "please report it with the data that led to it".to_owned();
        Self::Found { class: "InternalError", problems: vec![Problem { what, place: None, hint: Some(hint) }] }
    }

    /// Both of two failures.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Found { class, mut problems }, Self::Found { problems: others, .. }) => {
                problems.extend(others);
                Self::Found { class, problems }
            }
            (first, _) => first,
        }
    }

    /// The same for the command line.
    pub(crate) fn into_fault(self, py: Python<'_>) -> Fault {
        let error = self.into_exception(py);
        let value = error.value(py);
        let text = |name: &str| value.getattr(name).ok().and_then(|text| text.extract::<String>().ok());
        match text("what") {
            Some(what) => Fault { what, place: text("place"), hint: text("hint") },
            None => {
                // The way that led there is worth more than its last step. `print` would end the process on `SystemExit`.
                error.display(py);
                Fault { what: error.to_string(), place: None, hint: None }
            }
        }
    }

    /// The exception.
    pub(crate) fn into_exception(self, py: Python<'_>) -> PyErr {
        let (class, problems) = match self {
            Self::Python(error) => return error,
            Self::Found { class, problems } => (class, problems),
        };
        let make = || -> PyResult<PyErr> {
            let class = py.import("calipers._errors")?.getattr(class)?;
            let mut problems = problems.into_iter();
            let first = problems.next().unwrap_or_default();
            let keywords = PyDict::new(py);
            keywords.set_item("place", first.place)?;
            keywords.set_item("hint", first.hint)?;
            let others: Vec<(String, Option<String>, Option<String>)> =
                problems.map(|problem| (problem.what, problem.place, problem.hint)).collect();
            keywords.set_item("others", others)?;
            Ok(PyErr::from_value(class.call((first.what,), Some(&keywords))?))
        };
        make().unwrap_or_else(|error| error)
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let class = match error.kind() {
            ErrorKind::Argument { .. }
            | ErrorKind::UnknownName { .. }
            | ErrorKind::Script { .. }
            | ErrorKind::SeveralRuns { .. }
            | ErrorKind::DifferentReducers { .. }
            | ErrorKind::NoPassThreshold { .. } => USAGE,
            _ => DATA,
        };
        let what = match error.kind() {
            ErrorKind::Script { message, excerpt, .. } => {
                format!("{message}{}", excerpt.as_deref().map(Excerpt::lines).unwrap_or_default())
            }
            kind => kind.to_string(),
        };
        let place = Some(error.place().to_string()).filter(|place| !place.is_empty());
        let place = place.map(|place| format!("at {place}"));
        Self::Found { class, problems: vec![Problem { what, place, hint: hint_of(error.kind()) }] }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        let within = error.place().map(|place| format!(", {place}")).unwrap_or_default();
        let line = error.excerpt().map(Excerpt::lines).unwrap_or_default();
        let place = Some(format!("in {}{within}{line}", error.source_name()));
        let hint = hint_with(error.advice(), error.remedy(), error.proposal());
        Self::Found { class: DATA, problems: vec![Problem { what: error.what().to_owned(), place, hint }] }
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        let place = Some(format!("writing {}", error.target()));
        let hint = hint_with(error.advice(), error.remedy(), None);
        Self::Found { class: DATA, problems: vec![Problem { what: error.what().to_owned(), place, hint }] }
    }
}

impl From<PolicyError> for Failure {
    fn from(error: PolicyError) -> Self {
        let problem = |mistake: &Mistake| Problem {
            what: mistake.message.clone(),
            place: mistake.span.as_ref().map(|span| format!("in {}, line {}", span.text.name, span.line())),
            hint: mistake.hint.as_ref().map(|hint| match mistake.remedy {
                None => hint.clone(),
                Some(PolicyRemedy::ChooseVersion) => format!("{hint} with `for_version=`"),
                Some(PolicyRemedy::LeaveVersionOut) => format!("{hint}: leave `for_version` out"),
            }),
        };
        Self::Found { class: "PolicyError", problems: error.mistakes().iter().map(problem).collect() }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Read(error) => error.into(),
            RunError::Write(error) => error.into(),
            RunError::Policy(error) => error.into(),
            RunError::Measure { error, source: None } => error.into(),
            RunError::Measure { error, source: Some(source) } => {
                let mut failure = Self::from(error);
                if let Self::Found { problems, .. } = &mut failure {
                    for problem in problems {
                        let place = problem.place.take().map(|place| format!("{place}, ")).unwrap_or_default();
                        problem.place = Some(format!("{place}in {source}"));
                    }
                }
                failure
            }
            RunError::Setup(error) => error.into(),
            error => Self::Found {
                class: DATA,
                problems: vec![Problem { what: error.to_string(), place: None, hint: None }],
            },
        }
    }
}

impl From<Fault> for Failure {
    fn from(Fault { what, place, hint }: Fault) -> Self {
        Self::Found { class: DATA, problems: vec![Problem { what, place, hint }] }
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        Self::Found {
            class: USAGE,
            problems: vec![Problem { what: error.to_string(), place: None, hint: error.hint() }],
        }
    }
}

/// What to do about an error, in Python.
fn hint_of(kind: &ErrorKind) -> Option<String> {
    match kind {
        ErrorKind::SeveralRuns { runs } => {
            let run = runs.first().map_or("NAME", String::as_str);
            Some(format!("choose one with `run={run:?}`"))
        }
        ErrorKind::NoPassThreshold { .. } => {
            Some("give the score that an attempt needs to pass, as in `pass_threshold=4`".to_owned())
        }
        ErrorKind::DifferentReducers { files } => {
            let first = files.iter().flat_map(|(_, reducers)| reducers).next().map_or("mean", String::as_str);
            Some(format!("choose one for all of them, as in `reducer={first:?}`"))
        }
        ErrorKind::SeveralValues { key, first, .. } => {
            let kept = format!("where={{{key:?}: {:?}}}", first.to_string());
            Some(format!("keep one of them with `{kept}`, or give all attempts of a sample the same"))
        }
        ErrorKind::UnknownLabel(Value::Map(entries)) => {
            let key = entries.first().map_or("*", |(key, _)| &**key);
            Some(format!(
                "measure its keys, as in `metric={{{key:?}: [\"accuracy\", \"stderr\"]}}`; `*` stands for all of them"
            ))
        }
        ErrorKind::UnknownLabel(Value::Text(label)) => {
            Some(format!("say what it counts with `label={{{:?}: 0.5}}`, or score it C, I, P or N", &**label))
        }
        ErrorKind::UnknownLabels { unknown, letters } => {
            let unknown = unknown.iter().map(|label| format!("{:?}: NUMBER", label.to_string()));
            let letters = letters.iter().map(|(letter, number)| format!("{:?}: {number}", letter.to_string()));
            let all: Vec<String> = unknown.chain(letters).collect();
            Some(format!("say what each counts with `label={{{}}}`", all.join(", ")))
        }
        kind => kind.hint(),
    }
}

/// The hint of a library, with the keyword argument for the choice that it ends with.
fn hint_with(hint: Option<&str>, remedy: Option<Remedy>, proposal: Option<&str>) -> Option<String> {
    let argument = match remedy {
        None | Some(Remedy::AllowMemory) => return hint.map(str::to_owned),
        Some(Remedy::NameColumns) => format!("columns={:?}", proposal.unwrap_or("id=COLUMN,score=COLUMN")),
        Some(Remedy::ChooseRows) => {
            let (key, value) = proposal.and_then(|one| one.split_once('=')).unwrap_or(("KEY", "VALUE"));
            format!("where={{{key:?}: {value:?}}}")
        }
        Some(Remedy::NameFormat) => "format=".to_owned(),
        Some(Remedy::NameForm) => "to=".to_owned(),
        Some(Remedy::WriteRecords) => "to=\"native\"".to_owned(),
        Some(Remedy::ReplaceFile) => "force=True".to_owned(),
    };
    hint.map(|hint| format!("{hint} with `{argument}`"))
}
