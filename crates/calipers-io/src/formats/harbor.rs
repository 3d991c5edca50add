//! Harbor's `result.json` of a trial, and the trials of Terminal-Bench, which came before it.
//!
//! A trial may have both an exception and a reward. The exception counts: a reward computed on what a crashed agent
//! left behind measures the crash.

use super::Format;
use crate::json::{self, JsonParts};
use crate::{FilePlace, ReadError, RecordedRun, Shape, Source};
use calipers_core::{Attempt, Outcome, Value};

/// Results by Harbor and Terminal-Bench.
pub(crate) struct Harbor;

/// What kept an agent of Terminal-Bench from running at all.
const BROKEN: [&str; 3] = ["agent_installation_failed", "unknown_agent_error", "unknown"];
/// What kept a trial of Terminal-Bench from being judged.
const UNJUDGED: [&str; 1] = ["parse_error"];

impl Format for Harbor {
    fn name(&self) -> &'static str {
        "harbor"
    }

    fn about(&self) -> &'static str {
        "Harbor: result.json of a trial; Terminal-Bench: results.json"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        let marks = ["verifier_result", "agent_info", "exception_info", "task_checksum"];
        let is_harbor =
            shape.has_keys(&["task_name", "trial_name"]) && marks.iter().any(|mark| shape.has_keys(&[mark]));
        let mentions = |name: &[u8]| memchr::memmem::find(&shape.head, name).is_some();
        let is_bench_run = shape.has_keys(&["results"]) && mentions(b"\"is_resolved\"") && mentions(b"\"trial_name\"");
        is_harbor || is_bench_run || shape.has_keys(&["task_id", "is_resolved"])
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        let document = json::parse(&source.name, &source.read_all()?)?;
        let mut run = RecordedRun::default();
        let fail =
            |at: String| move |(key, what): TrialFault| source.error(what).at(FilePlace::Path(format!("{at}{key}")));
        if document.get("task_name").is_some() {
            push_harbor(&mut run, &document).map_err(fail(String::new()))?;
        } else if let Some(Value::List(trials)) = document.get("results") {
            for (index, trial) in trials.iter().enumerate() {
                push_bench(&mut run, trial).map_err(fail(format!("results[{index}].")))?;
            }
        } else {
            push_bench(&mut run, &document).map_err(fail(String::new()))?;
        }
        Ok(vec![run])
    }
}

type TrialFault = (&'static str, String);

fn push_harbor(run: &mut RecordedRun, trial: &Value) -> Result<(), TrialFault> {
    let Some(task) = trial.text("task_name") else { return Err(("task_name", "the task has no name".into())) };
    let agent = trial.get("agent_info");
    run.model = agent.and_then(|agent| agent.part("model_info")?.text("name")).map(ToOwned::to_owned);
    run.task = trial.text("source").map(ToOwned::to_owned);
    let rewards = rewards(trial)?;
    let mut attempt = run.samples.push(task);
    for key in ["source", "task_checksum"] {
        if let Some(fact) = trial.text(key) {
            attempt = attempt.metadata(key, fact);
        }
    }
    if let Some(name) = trial.text("trial_name") {
        attempt = attempt.field("trial_name", name);
    }
    let execution = trial.part("agent_execution").and_then(|span| elapsed_ms(span, "started_at", "finished_at"));
    if let Some(ms) = execution.or_else(|| elapsed_ms(trial, "started_at", "finished_at")) {
        attempt = attempt.field("latency_ms", ms);
    }
    if let Some(result) = trial.part("agent_result") {
        let tokens = [result.number("n_input_tokens"), result.number("n_output_tokens")];
        attempt = with_tokens(attempt, tokens);
        if let Some(cost) = result.number("cost_usd") {
            attempt = attempt.field("cost_usd", cost);
        }
    }
    if let Some(exception) = trial.part("exception_info") {
        let kind = exception.text("exception_type").unwrap_or("exception");
        let text = exception.text("exception_message").or_else(|| exception.text("message"));
        let text = text.map_or_else(|| kind.to_owned(), |text| format!("{kind}: {text}"));
        if kind.contains("Timeout") {
            attempt = attempt.field("timed_out", true);
        }
        attempt.error(text);
        if let Some((name, reward)) = rewards.first() {
            let named = trial.text("trial_name").unwrap_or(task);
            let note = format!("trial `{named}` ended with {kind} and has {name} {reward}; the exception counts");
            run.notes.push(note);
        }
        return Ok(());
    }
    if rewards.is_empty() {
        attempt.score("reward", Outcome::unscored("not verified"));
        return Ok(());
    }
    rewards.into_iter().fold(attempt, |attempt, (name, reward)| attempt.score(name, reward));
    Ok(())
}

/// The rewards of a trial by name.
fn rewards(trial: &Value) -> Result<Vec<(String, Value)>, TrialFault> {
    let Some(result) = trial.part("verifier_result") else { return Ok(Vec::new()) };
    let one = |name: &str, value: &Value| match value {
        Value::Null | Value::Missing => Ok(None),
        value if value.as_number().is_some() => Ok(Some((name.to_owned(), value.clone()))),
        value => Err(("verifier_result", format!("the reward `{name}` is a {}, not a number", value.kind()))),
    };
    let found = match result.part("rewards") {
        None => result.part("reward").map(|reward| one("reward", reward)).into_iter().collect::<Result<Vec<_>, _>>()?,
        Some(Value::Map(rewards)) => rewards.iter().map(|(name, value)| one(name, value)).collect::<Result<_, _>>()?,
        Some(other) => return Err(("verifier_result.rewards", format!("the rewards are a {}", other.kind()))),
    };
    Ok(found.into_iter().flatten().collect())
}

fn push_bench(run: &mut RecordedRun, trial: &Value) -> Result<(), TrialFault> {
    let Some(task) = trial.text("task_id") else { return Err(("task_id", "the trial has no `task_id`".into())) };
    let resolved = match trial.get("is_resolved") {
        None | Some(Value::Null) => None,
        Some(Value::Bool(resolved)) => Some(*resolved),
        Some(other) => return Err(("is_resolved", format!("it is a {}, not true or false", other.kind()))),
    };
    let name = trial.text("trial_name");
    let mut attempt = match name.and_then(trial_number) {
        Some(number) => run.samples.push_epoch(task, number),
        None => run.samples.push(task),
    };
    if let Some(ms) = elapsed_ms(trial, "agent_started_at", "agent_ended_at")
        .or_else(|| elapsed_ms(trial, "trial_started_at", "trial_ended_at"))
    {
        attempt = attempt.field("latency_ms", ms);
    }
    let tokens = [trial.number("total_input_tokens"), trial.number("total_output_tokens")];
    attempt = with_tokens(attempt, tokens);
    let tests = trial.entries("parser_results");
    if !tests.is_empty() {
        let passed = tests.iter().filter(|(_, result)| matches!(result, Value::Text(text) if **text == *"passed"));
        attempt = attempt.field("tests_passed", passed.count() as i64).field("tests", tests.len() as i64);
    }
    let mode = trial.text("failure_mode").unwrap_or("unset");
    if !matches!(mode, "unset" | "none") {
        attempt = attempt.field("failure_mode", mode);
    }
    if mode.contains("timeout") {
        attempt = attempt.field("timed_out", true);
    }
    match resolved {
        Some(true) => attempt.score("resolved", true).field("passed", true),
        _ if BROKEN.contains(&mode) => attempt.error(mode),
        _ if UNJUDGED.contains(&mode) => attempt.score("resolved", Outcome::unscored(mode)),
        Some(false) => attempt.score("resolved", false).field("passed", false),
        None => attempt.score("resolved", Outcome::unscored(format!("no verdict, failure mode {mode}"))),
    };
    Ok(())
}

/// Input and output tokens. Two zeros mean that the agent does not count tokens.
fn with_tokens<'a>(attempt: Attempt<'a>, counts: [Option<f64>; 2]) -> Attempt<'a> {
    let tokens: f64 = counts.iter().flatten().sum();
    if tokens > 0.0 { attempt.field("tokens_used", tokens) } else { attempt }
}

/// The number of a trial in `task.2-of-5.date`.
fn trial_number(name: &str) -> Option<u32> {
    name.split('.').find_map(|part| {
        let (number, of) = part.split_once("-of-")?;
        of.parse::<u32>().ok()?;
        number.parse::<u32>().ok().filter(|number| *number < 1_000_000_000)
    })
}

/// Milliseconds between two times.
fn elapsed_ms(span: &Value, start: &str, end: &str) -> Option<f64> {
    let ms = milliseconds(span.text(end)?)? - milliseconds(span.text(start)?)?;
    (ms >= 0.0).then_some(ms)
}

/// Milliseconds since 1970 of a time such as `2025-09-05T23:33:51.941797+00:00`.
fn milliseconds(text: &str) -> Option<f64> {
    let (date, time) = text.split_once(['T', ' '])?;
    let mut parts = date.splitn(3, '-').map(|part| part.parse::<i64>().ok().filter(|n| (0..10_000).contains(n)));
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let (clock, offset) = match time.find(['Z', 'z', '+', '-']) {
        Some(at) => (&time[..at], &time[at..]),
        None => (time, "Z"),
    };
    let mut parts = clock.splitn(3, ':').map(|part| part.parse::<f64>().ok().filter(|x| (0.0..100.0).contains(x)));
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    let shift = if offset.eq_ignore_ascii_case("z") {
        0.0
    } else {
        let (hours, minutes) = offset.get(1..)?.split_once(':')?;
        let minutes = hours.parse::<f64>().ok()? * 60.0 + minutes.parse::<f64>().ok()?;
        if offset.starts_with('-') { -minutes } else { minutes }
    };
    // Days of the civil calendar (Howard Hinnant, `days_from_civil`).
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    Some(((days as f64 * 24.0 + hours) * 60.0 + minutes - shift) * 60_000.0 + seconds * 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        for (text, want) in [
            ("1970-01-01T00:00:00Z", 0.0),
            ("2000-03-01T00:00:00+00:00", 951_868_800_000.0),
            ("2025-09-05T23:33:51.500+00:00", 1_757_115_231_500.0),
            ("2025-09-06T01:33:51.500+02:00", 1_757_115_231_500.0),
            ("2025-09-05 23:33:51.5", 1_757_115_231_500.0),
        ] {
            assert_eq!(milliseconds(text), Some(want), "{text}");
        }
        for text in ["", "T", "2025-09", "2025-09-05T", "2025-09-05T1:2", "a-b-cTd:e:f", "2025-09-05T10:00:00+é"] {
            assert_eq!(milliseconds(text), None, "{text}");
        }
    }

    #[test]
    fn trials_are_numbered_by_their_names() {
        assert_eq!(trial_number("sort-logs.2-of-5.2026-01-02__03-04-05"), Some(2));
        assert_eq!(trial_number("sort-logs__abc"), None);
    }
}
