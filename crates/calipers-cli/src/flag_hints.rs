//! Hints that can be followed on a command line, in place of those that the libraries give to programs.

use calipers::SetupError;
use calipers::data::Value;
use calipers::error::ErrorKind;
use calipers::gate::{BlockingLint, ChanceLint, Finding, Lint};
use calipers::io::Remedy;
use calipers::policy::{Mistake, PolicyRemedy};
use calipers::render::FlagNames;

/// The flags that texts name where they advise something.
pub(crate) const FLAGS: FlagNames = FlagNames {
    everything: Some("--json"),
    long: Some("--long"),
    version: Some("--for-version"),
    baseline: Some("--baseline"),
};

/// What to do about an error of the libraries.
pub(crate) fn of_error(kind: &ErrorKind) -> Option<String> {
    if let ErrorKind::SeveralRuns { runs } = kind {
        let run = runs.first().map_or_else(|| "NAME".to_owned(), |run| quote_argument(run));
        return Some(format!("choose one with `--run {run}`"));
    }
    if let ErrorKind::NoPassThreshold { .. } = kind {
        let hint = "give the score that an attempt needs to pass, as in `--pass-threshold 4`";
        return Some(format!("{hint} or `pass_rate(pass_threshold=4)`"));
    }
    if let ErrorKind::DifferentReducers { files } = kind {
        let first = files.iter().flat_map(|(_, reducers)| reducers).next().map_or("mean", String::as_str);
        return Some(format!("choose one for all of them, as in `--reducer '{first}'`"));
    }
    if let ErrorKind::SeveralValues { key, first, .. } = kind {
        let condition = format!("{key}={first}");
        let is_plain = condition.chars().count() <= 60 && condition.chars().all(|c| !c.is_control() && c != '\'');
        let condition = if is_plain { format!("'{condition}'") } else { "KEY=VALUE".to_owned() };
        return Some(format!("keep one of them with `--where {condition}`, or give all attempts of a sample the same"));
    }
    if let ErrorKind::UnknownLabel(Value::Map(entries)) = kind {
        let is_plain =
            |key: &str| key.len() <= 40 && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' '));
        let key = entries.iter().map(|(key, _)| &**key).find(|key| is_plain(key)).unwrap_or("*");
        return Some(format!(
            "measure its keys, as in `-m '{{\"{key}\": [accuracy(), stderr()]}}'`, where `*` stands for all of them; gate or compare one of them \
             as `aggregate(\"{key}\", accuracy())`"
        ));
    }
    let ErrorKind::UnknownLabel(Value::Text(label)) = kind else { return kind.hint() };
    let is_plain = label.chars().count() <= 40 && label.chars().all(|c| !c.is_control() && c != '\'');
    let label = if is_plain { format!("'{label}=0.5'") } else { "LABEL=NUMBER".to_owned() };
    Some(format!("say what it counts with `--label {label}`, or score it C, I, P or N"))
}

/// What to do about a file that cannot be read or written: the hint of the library, and the flag for the choice that it
/// ends with.
pub(crate) fn of_file(hint: Option<&str>, remedy: Option<Remedy>, proposal: Option<&str>) -> Option<String> {
    let flag = match remedy {
        None => return hint.map(str::to_owned),
        Some(Remedy::NameColumns) => {
            let columns = quote_argument(proposal.unwrap_or("id=COLUMN,score=COLUMN"));
            return hint.map(|hint| format!("{hint} with `--columns {columns}`"));
        }
        Some(Remedy::ChooseRows) => {
            let condition = quote_argument(proposal.unwrap_or("KEY=VALUE"));
            return hint.map(|hint| format!("{hint} with `--where {condition}`"));
        }
        Some(Remedy::NameFormat) => "--format",
        Some(Remedy::NameForm) => "--to",
        Some(Remedy::WriteRecords) => "--to native",
        Some(Remedy::ReplaceFile) => "--force",
        Some(Remedy::AllowMemory) => "--memory",
    };
    hint.map(|hint| format!("{hint} with `{flag}`"))
}

/// An argument as a shell takes it.
pub(crate) fn quote_argument(argument: &str) -> String {
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '=' | ',' | '.' | '_' | '-' | '@' | '/' | ':' | '%' | '+');
    if !argument.is_empty() && argument.chars().all(is_plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', "'\\''"))
    }
}

/// What to do about a mistake in a policy, with the flag for it where it is not the policy that has to change.
pub(crate) fn of_mistake(mistake: &Mistake) -> Option<String> {
    let hint = mistake.hint.as_ref()?;
    Some(match mistake.remedy {
        None => hint.clone(),
        Some(PolicyRemedy::ChooseVersion) => format!("{hint} with `--for-version`"),
        Some(PolicyRemedy::LeaveVersionOut) => format!("{hint}: leave `--for-version` out"),
    })
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
        SetupError::NoPrice { model, .. } => {
            let price = quote_argument(&format!("{model}=IN,OUT"));
            Some(format!("give it with `--price {price}`, in USD per million tokens in and out"))
        }
        SetupError::OtherRun { .. } => {
            Some("repeat the command that started the run, without the changes; or start a new run".to_owned())
        }
        error => error.hint(),
    }
}
