//! promptfoo's CSV: the variables of a test, then one column for each prompt with a provider.
//!
//! A cell of such a column begins with its outcome, and in newer versions with its score: `[PASS] (0.50, tone: 1.00)`. Then comes
//! the answer, and why it passed or failed; older versions write `[FAIL] why`, a rule, and the answer.

use super::any_table::SURVEYED;
use super::csv;
use super::placed_value::PlacedValue;
use crate::{ReadError, Source};
use calipers_core::Value;
use std::sync::Arc;

/// The outcomes, as promptfoo writes them.
const PASS: &str = "[PASS]";
const FAIL: &str = "[FAIL]";
const ERROR: &str = "[ERROR]";
/// What stands before the reason of a failure, below the answer.
const REASONS: [&str; 2] = ["Pass Reason: ", "Fail Reason: "];
const RULE: &str = "\n---\n";

/// True when this is the beginning of such a table: its first row has an outcome.
pub(super) fn is_table(head: &[u8]) -> bool {
    let is_likely = [PASS, FAIL, ERROR].iter().any(|mark| memchr::memmem::find(head, mark.as_bytes()).is_some());
    if !is_likely || head.trim_ascii_start().starts_with(b"{") {
        return false;
    }
    let mut rows = csv::builder(b',').from_reader(head).into_byte_records();
    let header = rows.next().and_then(Result::ok);
    let first = rows.next().and_then(Result::ok);
    header.zip(first).is_some_and(|(header, first)| header.len() == first.len() && first.iter().any(is_outcome_cell))
}

fn is_outcome_cell(cell: &[u8]) -> bool {
    [PASS, FAIL, ERROR].iter().any(|mark| cell.starts_with(mark.as_bytes()))
}

/// Passes on each cell with an outcome, as the row that the other exports have for it.
pub(super) fn each_row(
    source: &Source,
    take: &mut dyn FnMut(PlacedValue<'_>) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let table = csv::CsvTable::of(source)?;
    // A prompt may not have been tried with the first test.
    let mut outcomes = vec![false; table.names.len()];
    for row in table.first_rows(SURVEYED) {
        for (is_outcome, cell) in outcomes.iter_mut().zip(&row) {
            *is_outcome |= is_outcome_cell(cell.as_bytes());
        }
    }
    let mut test = 0;
    table.each_row(&mut |line, row| {
        let cells: Vec<&str> = (0..row.len()).map(|place| table.text(row, place, line)).collect::<Result<_, _>>()?;
        let places = || table.names.iter().zip(&cells).zip(&outcomes);
        let vars = places().filter(|(_, is_outcome)| !**is_outcome);
        let vars: Vec<(Arc<str>, Value)> = vars.map(|((name, cell), _)| (name.clone(), Value::from(*cell))).collect();
        for (prompt, ((name, cell), _)) in places().filter(|(_, is_outcome)| **is_outcome).enumerate() {
            // A prompt that was not tried with this test.
            if cell.trim().is_empty() {
                continue;
            }
            let row = read_cell(name, cell, &vars, (test, prompt)).ok_or_else(|| {
                let what = format!("a cell of `{name}` does not begin with `{PASS}`, `{FAIL}` or `{ERROR}`");
                source.error(what).at_line(line).hint("the file may have been edited; export it again")
            })?;
            take(PlacedValue::root(source, &row).at_line(line))?;
        }
        test += 1;
        Ok(())
    })?;
    Ok(())
}

/// The row of a cell: of this test, in the column of this prompt.
fn read_cell(name: &str, cell: &str, vars: &[(Arc<str>, Value)], (test, prompt): (i64, usize)) -> Option<Value> {
    let (mark, rest) = [PASS, FAIL, ERROR].iter().find_map(|mark| Some((*mark, cell.strip_prefix(mark)?)))?;
    let (provider, label) = match name.strip_prefix('[').and_then(|name| name.split_once("] ")) {
        Some((provider, label)) => (provider, label),
        None => ("", name),
    };
    let (scores, rest) = split_scores(rest.trim_start());
    let (answer, reason) = split_reason(rest.trim());
    let entry = |key: &str, value: Value| (Arc::from(key), value);
    let one = |key: &str, value: &str| Value::Map(vec![entry(key, value.into())]);
    // The table does not say what was asserted, so it does not say of any test that nothing was.
    let asserted = Value::List(vec![Value::Null]);
    let mut row = vec![
        entry("testIdx", test.into()),
        entry("promptIdx", Value::Int(i64::try_from(prompt).ok()?)),
        entry("provider", provider.into()),
        entry("prompt", one("label", label)),
        entry("testCase", Value::Map(vec![entry("vars", Value::Map(vars.to_vec())), entry("assert", asserted)])),
        entry("success", (mark == PASS).into()),
    ];
    if mark == ERROR {
        row.push(entry("failureReason", Value::Int(2)));
        row.push(entry("error", rest.trim().into()));
        return Some(Value::Map(row));
    }
    match scores {
        Some((score, named)) => {
            row.push(entry("score", score.into()));
            row.push(entry("namedScores", Value::Map(named)));
        }
        // Older versions write no score.
        None => row.push(entry("score", Value::Int(i64::from(mark == PASS)))),
    }
    row.push(entry("gradingResult", one("reason", reason)));
    row.push(entry("response", one("output", answer)));
    Some(Value::Map(row))
}

type NamedScores = (f64, Vec<(Arc<str>, Value)>);

/// The scores in brackets at the beginning of a text, and what follows them.
fn split_scores(text: &str) -> (Option<NamedScores>, &str) {
    let split = || {
        let (inside, rest) = text.strip_prefix('(')?.split_once(')')?;
        let mut parts = inside.split(", ");
        let score = parse_score(parts.next()?)?;
        let named = parts.map(|part| {
            let (name, value) = part.rsplit_once(": ")?;
            Some((name.into(), parse_score(value)?.into()))
        });
        Some(((score, named.collect::<Option<_>>()?), rest))
    };
    split().map_or((None, text), |(scores, rest)| (Some(scores), rest))
}

/// Two decimals, as promptfoo writes them: `(2024)` is a part of an answer.
fn parse_score(text: &str) -> Option<f64> {
    let (_, decimals) = text.split_once('.')?;
    (decimals.len() == 2).then(|| text.parse().ok()).flatten().filter(|score: &f64| score.is_finite())
}

/// The answer, and why it passed or failed.
fn split_reason(text: &str) -> (&str, &str) {
    let below = REASONS.iter().filter_map(|start| Some((text.rfind(start)?, start.len()))).max();
    match (below, text.split_once(RULE)) {
        (Some((at, length)), _) => (text[..at].trim_end(), &text[at + length..]),
        (None, Some((reason, answer))) => (answer, reason),
        (None, None) => (text, ""),
    }
}
