//! The samples as JSON within the page: rows for the table in one block, and what a sample's own view shows in further ones, which
//! are only read when a sample is opened.
//!
//! Text of models goes in here and nowhere else. `<` is written as an escape, so that no text can end the block it stands in.

use super::runs::run_names;
use crate::numbers::{Scale, number};
use crate::outcome_words::shortcoming_sentence;
use crate::page::{PageAttempt, PageOutcome, PageReport, PageSample, PageScore, PageText, SampleStanding};
use calipers_core::{Unit, Value};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

/// A block of details ends after so many bytes.
const BLOCK: usize = 256 * 1024;

/// The blocks of a page, each a JSON document.
pub(super) struct Blocks {
    /// The table.
    pub(super) rows: String,
    /// The samples in full.
    pub(super) details: Vec<String>,
}

pub(super) fn blocks(report: &PageReport) -> Blocks {
    let mut details = vec![String::from("[")];
    let mut starts = vec![0];
    for (place, sample) in report.samples.iter().enumerate() {
        if details.last().is_some_and(|block| block.len() > BLOCK) {
            details.push(String::from("["));
            starts.push(place);
        }
        let block = details.last_mut().expect("there is always one");
        if block.len() > 1 {
            block.push(',');
        }
        put_sample(block, sample);
    }
    details.iter_mut().for_each(|block| block.push(']'));
    Blocks { rows: rows(report, &starts), details }
}

/// The table column by column. A number has the text that is shown and, to sort by, itself.
fn rows(report: &PageReport, starts: &[usize]) -> String {
    let samples = &report.samples;
    let mut out = String::from("{");
    column(&mut out, "id", samples, |out, sample| put_text(out, &sample.id.to_string()));
    column(&mut out, "run", samples, |out, sample| put_int(out, sample.run));
    let mut places: HashMap<&Arc<str>, usize> = HashMap::new();
    let mut names: Vec<&Arc<str>> = Vec::new();
    column(&mut out, "category", samples, |out, sample| match &sample.category {
        None => out.push_str("-1"),
        Some(category) => {
            let place = *places.entry(category).or_insert_with(|| {
                names.push(category);
                names.len() - 1
            });
            put_int(out, place);
        }
    });
    key(&mut out, "categories");
    list(&mut out, &names, |out, name| put_text(out, name));
    let letters: String = samples.iter().map(|sample| letter(sample.outcome)).collect();
    key(&mut out, "outcome");
    put_text(&mut out, &letters);
    let standings: String = samples.iter().map(|sample| sample.standing.map_or('-', standing)).collect();
    if report.samples.iter().any(|sample| sample.standing.is_some()) {
        key(&mut out, "standing");
        put_text(&mut out, &standings);
    }
    column(&mut out, "flaky", samples, |out, sample| out.push(if sample.is_flaky { '1' } else { '0' }));
    column(&mut out, "required", samples, |out, sample| out.push(if sample.is_required { '1' } else { '0' }));
    column(&mut out, "attempts", samples, |out, sample| {
        let letters: String = sample.attempts.iter().map(|attempt| letter(attempt.outcome)).collect();
        put_text(out, &letters);
    });
    column(&mut out, "why", samples, |out, sample| {
        put_text(out, &sample.reason.as_ref().map(shortcoming_sentence).unwrap_or_default());
    });
    if samples.iter().any(|sample| sample.scores.first().is_some_and(Option::is_some)) {
        numbers(&mut out, "score", samples, Unit::Plain, |sample| sample.scores.first().copied().flatten());
    }
    let columns: [(&str, Unit, Of); 3] = [
        ("latency", Unit::Milliseconds, |sample| sample.latency_ms),
        ("tokens", Unit::Tokens, |sample| sample.tokens),
        ("cost", Unit::Usd, |sample| sample.cost_usd),
    ];
    for (name, unit, of) in columns {
        if samples.iter().any(|sample| of(sample).is_some()) {
            numbers(&mut out, name, samples, unit, of);
        }
    }
    key(&mut out, "runs");
    list(&mut out, &run_names(report), |out, name| put_text(out, name));
    key(&mut out, "starts");
    list(&mut out, starts, |out, start| put_int(out, *start));
    out.push('}');
    out
}

/// A number of a sample.
type Of = fn(&PageSample) -> Option<f64>;

fn column<'a>(out: &mut String, name: &str, samples: &'a [PageSample], put: impl FnMut(&mut String, &'a PageSample)) {
    key(out, name);
    list(out, samples, put);
}

/// A column of numbers as they are shown, and another as they are.
fn numbers(out: &mut String, name: &str, samples: &[PageSample], unit: Unit, of: impl Fn(&PageSample) -> Option<f64>) {
    column(out, name, samples, |out, sample| {
        put_text(out, &of(sample).map_or_else(String::new, |value| cell_text(unit, value)));
    });
    column(out, &format!("{name}_n"), samples, |out, sample| match of(sample) {
        Some(value) if value.is_finite() => put_number(out, value),
        _ => out.push_str("null"),
    });
}

fn cell_text(unit: Unit, value: f64) -> String {
    Scale::of(unit, value).text(value)
}

fn letter(outcome: PageOutcome) -> char {
    match outcome {
        PageOutcome::Passed => 'p',
        PageOutcome::Failed => 'f',
        PageOutcome::Scored => 's',
        PageOutcome::Errored => 'e',
        PageOutcome::Unscored => 'u',
    }
}

fn standing(standing: SampleStanding) -> char {
    match standing {
        SampleStanding::NewlyFailing => 'f',
        SampleStanding::NewlyPassing => 'p',
        SampleStanding::Changed => 'c',
        SampleStanding::Same => 's',
        SampleStanding::Added => 'a',
    }
}

fn put_sample(out: &mut String, sample: &PageSample) {
    out.push('{');
    put_page_text(out, "input", sample.input.as_ref());
    put_page_text(out, "target", sample.target.as_ref());
    if !sample.behaviors.is_empty() {
        key(out, "behaviors");
        list(out, &sample.behaviors, |out, behavior| {
            out.push('[');
            put_text(out, &behavior.name);
            out.push_str(if behavior.is_forbidden { ",1]" } else { ",0]" });
        });
    }
    if !sample.facts.is_empty() {
        key(out, "facts");
        list(out, &sample.facts, |out, (name, text)| {
            out.push('[');
            put_text(out, name);
            out.push(',');
            put_whole(out, text);
            out.push(']');
        });
    }
    key(out, "attempts");
    list(out, &sample.attempts, put_attempt);
    out.push('}');
}

fn put_attempt(out: &mut String, attempt: &PageAttempt) {
    out.push('{');
    key(out, "epoch");
    put_int(out, attempt.epoch as usize);
    key(out, "outcome");
    put_text(out, attempt.outcome.name());
    if let Some(reason) = &attempt.reason {
        key(out, "why");
        put_text(out, &shortcoming_sentence(reason));
    }
    if !attempt.scores.is_empty() {
        key(out, "scores");
        list(out, &attempt.scores, put_score);
    }
    if !attempt.happened.is_empty() {
        key(out, "happened");
        let marks: String = attempt.happened.iter().map(|happened| if *happened { '1' } else { '0' }).collect();
        put_text(out, &marks);
    }
    let spent = [
        ("latency", Unit::Milliseconds, attempt.latency_ms),
        ("tokens", Unit::Tokens, attempt.tokens),
        ("cost", Unit::Usd, attempt.cost_usd),
    ];
    for (name, unit, value) in spent {
        if let Some(value) = value {
            key(out, name);
            put_text(out, &cell_text(unit, value));
        }
    }
    put_page_text(out, "error", attempt.error.as_ref());
    if !attempt.messages.is_empty() {
        key(out, "messages");
        list(out, &attempt.messages, |out, (role, text)| {
            out.push('[');
            put_text(out, role);
            out.push(',');
            put_whole(out, text);
            out.push(']');
        });
    }
    put_page_text(out, "output", attempt.output.as_ref());
    out.push('}');
}

fn put_score(out: &mut String, score: &PageScore) {
    out.push('{');
    key(out, "scorer");
    put_text(out, &score.scorer);
    key(out, "value");
    put_text(out, &value(&score.value));
    put_page_text(out, "answer", score.answer.as_ref());
    put_page_text(out, "explanation", score.explanation.as_ref());
    out.push('}');
}

fn value(value: &Value) -> String {
    match value {
        Value::Missing => "unscored".to_owned(),
        Value::Float(x) => number(*x),
        other => other.to_string(),
    }
}

fn put_page_text(out: &mut String, name: &str, text: Option<&PageText>) {
    if let Some(text) = text {
        key(out, name);
        put_whole(out, text);
    }
}

/// A text; one that was cut says so at its end.
fn put_whole(out: &mut String, text: &PageText) {
    if text.left_out == 0 {
        return put_text(out, &text.text);
    }
    put_text(out, &format!("{}\n… ({} more characters are not on this page)", text.text, text.left_out));
}

fn key(out: &mut String, name: &str) {
    if !out.ends_with(['{', '[']) {
        out.push(',');
    }
    put_text(out, name);
    out.push(':');
}

fn list<'a, T>(out: &mut String, items: &'a [T], mut put: impl FnMut(&mut String, &'a T)) {
    out.push('[');
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        put(out, item);
    }
    out.push(']');
}

fn put_int(out: &mut String, number: usize) {
    let _ = write!(out, "{number}");
}

fn put_number(out: &mut String, number: f64) {
    let _ = write!(out, "{number}");
}

/// A text in quotes. Most of a text needs no escape and is copied in one piece.
fn put_text(out: &mut String, text: &str) {
    out.push('"');
    let mut copied = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\t' => "\\t",
            b'<' => "\\u003c",
            0..=0x1f => "",
            _ => continue,
        };
        out.push_str(&text[copied..at]);
        copied = at + 1;
        if escape.is_empty() {
            let _ = write!(out, "\\u{byte:04x}");
        } else {
            out.push_str(escape);
        }
    }
    out.push_str(&text[copied..]);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_end_the_block_it_stands_in() {
        for text in
            ["</script><script>alert(1)</script>", "<!--<script>", "a\"b\\c\u{1}\r\n\t", "評価 \u{2028} 👍", "]]>"]
        {
            let mut out = String::new();
            put_text(&mut out, text);
            assert!(!out.contains('<'), "{out}");
            assert_eq!(serde_json::from_str::<String>(&out).expect("it is JSON"), text);
        }
    }
}
