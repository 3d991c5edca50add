//! Hints that can be followed on a command line, in place of those that the libraries give to programs.

use calipers::SetupError;
use calipers::data::Value;
use calipers::error::ErrorKind;
use calipers::gate::{BlockingLint, ChanceLint, Finding, Lint};
use calipers::io::Remedy;

/// What to do about an error of the libraries.
pub(crate) fn of_error(kind: &ErrorKind) -> Option<String> {
    let ErrorKind::UnknownLabel(Value::Text(label)) = kind else { return kind.hint() };
    let is_plain = label.chars().count() <= 40 && label.chars().all(|c| !c.is_control() && c != '\'');
    let label = if is_plain { format!("'{label}=0.5'") } else { "LABEL=NUMBER".to_owned() };
    Some(format!("say what it counts with `--label {label}`, or score it C, I, P or N"))
}

/// What to do about a file that cannot be read or written: the hint of the library, and the flag for the choice that it
/// ends with.
pub(crate) fn of_file(hint: Option<&str>, remedy: Option<Remedy>) -> Option<String> {
    let flag = match remedy {
        None => return hint.map(str::to_owned),
        Some(Remedy::NameFormat) => "--format",
        Some(Remedy::NameForm) => "--to",
        Some(Remedy::WriteRecords) => "--to native",
        Some(Remedy::ReplaceFile) => "--force",
    };
    hint.map(|hint| format!("{hint} with `{flag}`"))
}

/// The flag that tells more about a finding of `policy check`, or that the policy needs when it is used.
pub(crate) fn of_finding(finding: &Finding) -> Option<&'static str> {
    match &finding.lint {
        Lint::Chance(ChanceLint::PerfectRunNeeds { .. }) => Some("`--samples` or `--suite`"),
        Lint::Blocking(BlockingLint::NothingBlocksWithoutVersion) => Some("`calipers gate --for-version`"),
        _ => None,
    }
}

/// What to do about a run that cannot begin.
pub(crate) fn of_setup(error: &SetupError) -> Option<String> {
    match error {
        SetupError::NoModel => {
            let hint =
                "give one with `--model openai/gpt-4o`, or `model=` in the task; `mockllm/model` answers without one";
            Some(hint.to_owned())
        }
        SetupError::NoSamples => Some("check its dataset and `--limit`".to_owned()),
        error => error.hint(),
    }
}
