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
    if let Some(key) = key_in_text(kind) {
        return Some(format!(
            "it is a text that holds JSON: say which part is the score, as in `--columns score=score.{key}`"
        ));
    }
    if let ErrorKind::UnknownLabels { unknown, letters } = kind {
        let number = |label: &Value| likely_number(&label.to_string()).unwrap_or("NUMBER");
        let is_given = |label: &&Value| !label.to_string().trim().is_empty();
        let mut flags: Vec<String> =
            unknown.iter().filter(is_given).filter_map(|label| label_flag(label, number(label))).collect();
        // What letters count by themselves may not be what they count here.
        flags.extend(letters.iter().filter_map(|(letter, count)| label_flag(letter, &count.to_string())));
        let known: Vec<String> =
            letters.iter().map(|(letter, count)| format!("`{letter}` counts as {count} by itself")).collect();
        let known = if known.is_empty() { String::new() } else { format!("; {}", known.join(", ")) };
        let is_quoted = |label: &Value| {
            let text = label.to_string();
            text.len() > 1 && text.starts_with('\'') && text.ends_with('\'')
        };
        if unknown.iter().all(is_quoted) {
            return Some("put the cells in double quotes or in none: single quotes are a part of the text".to_owned());
        }
        if flags.is_empty() {
            flags.push("--label LABEL=NUMBER".to_owned());
        }
        let empty = unknown.iter().any(|label| is_no_outcome(&label.to_string()));
        let empty = if empty { LEAVE_EMPTY } else { "" };
        return Some(format!("say what each counts with `{}`{known}{empty}", flags.join(" ")));
    }
    if let ErrorKind::UnknownLabel(Value::List(_)) = kind {
        let hint =
            "if its items are attempts, say so with `--columns 'score=score[]'`; otherwise use a metric for lists";
        return Some(hint.to_owned());
    }
    let ErrorKind::UnknownLabel(label @ Value::Text(text)) = kind else { return kind.hint() };
    if text.trim().is_empty() {
        return Some("write null, or nothing, where there was no outcome: it counts as missing".to_owned());
    }
    let flag = label_flag(label, likely_number(text).unwrap_or("NUMBER"));
    let flag = flag.unwrap_or_else(|| "--label LABEL=NUMBER".to_owned());
    let empty = if is_no_outcome(text) { LEAVE_EMPTY } else { "" };
    Some(format!("say what it counts with `{flag}`, or score it C, I, P or N{empty}"))
}

/// The key of a number in a score that is a text with JSON.
fn key_in_text(kind: &ErrorKind) -> Option<String> {
    let label = match kind {
        ErrorKind::UnknownLabel(label) => label,
        ErrorKind::UnknownLabels { unknown, .. } => unknown.first()?,
        _ => return None,
    };
    let Value::Text(text) = label else { return None };
    let entries: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text.trim()).ok()?;
    let is_plain = |key: &str| !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_outcome = |value: &serde_json::Value| value.is_number() || value.is_boolean();
    entries.into_iter().find(|(key, value)| is_plain(key) && is_outcome(value)).map(|(key, _)| key)
}

/// What can be done about a word that says that there is no score.
const LEAVE_EMPTY: &str = "; where there was no outcome, leave the score empty, which counts as missing";

/// True for a word that says that an attempt was not judged. Whether it failed is for the reader to say.
fn is_no_outcome(word: &str) -> bool {
    const WORDS: [&str; 21] = [
        "",
        "?",
        ".",
        "n.a.",
        "none",
        "null",
        "undefined",
        "missing",
        "pending",
        "tbd",
        "error",
        "errored",
        "timeout",
        "timed out",
        "timed_out",
        "crash",
        "crashed",
        "exception",
        "skip",
        "skipped",
        "unknown",
    ];
    WORDS.iter().any(|known| word.trim().eq_ignore_ascii_case(known))
}

/// The flag that gives a label this number; none for a label that is hard to write.
fn label_flag(label: &Value, number: &str) -> Option<String> {
    let label = label.to_string();
    let is_plain = label.chars().count() <= 40 && label.chars().all(|c| !c.is_control() && c != '\'');
    // A value that begins with a dash is taken for a flag, unless it is joined to one.
    let join = if label.starts_with('-') { '=' } else { ' ' };
    is_plain.then(|| format!("--label{join}'{label}={number}'"))
}

/// What a word most likely counts as a score, for a proposal.
fn likely_number(word: &str) -> Option<&'static str> {
    const GOOD: [&str; 17] = [
        "right",
        "good",
        "ok",
        "okay",
        "valid",
        "accept",
        "accepted",
        "win",
        "won",
        "t",
        "y",
        "да",
        "верно",
        "对",
        "是",
        "正确",
        "on",
    ];
    const BAD: [&str; 20] = [
        "wrong",
        "bad",
        "nok",
        "ko",
        "invalid",
        "reject",
        "rejected",
        "lose",
        "lost",
        "f",
        "loss",
        "miss",
        "нет",
        "неверно",
        "错",
        "否",
        "错误",
        "off",
        "wrong answer",
        "not solved",
    ];
    let word = word.trim().to_lowercase();
    match () {
        () if GOOD.contains(&word.as_str()) => Some("1"),
        () if BAD.contains(&word.as_str()) => Some("0"),
        () if matches!(
            word.as_str(),
            "maybe" | "tie" | "draw" | "partial" | "partially" | "partly correct" | "half"
        ) =>
        {
            Some("0.5")
        }
        () => None,
    }
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
