//! A search through what was asked and answered in a run, and through one conversation.

use super::App;
use super::answer::problem;
use super::question::Question;
use super::wish::Wish;
use crate::HistoryError;
use crate::reading_choices::source_of;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use calipers::RunError;
use calipers::io::{AttemptTexts, read, read_texts};
use calipers::render::HistoryRun;
use calipers::render::view::{SearchView, TextHit, search_html};
use std::sync::Arc;

/// As many places are shown.
const HITS_MAX: usize = 200;
/// As many letters are shown on either side.
const AROUND: usize = 80;

pub(super) async fn search(
    State(app): State<Arc<App>>,
    Path(key): Path<String>,
    wish: Wish,
    question: Question,
) -> Response {
    let Some(text) = question.get("q") else {
        return problem(StatusCode::BAD_REQUEST, "There is nothing to search for", "Write what was asked or answered.");
    };
    wish.answer(app.read(move |app| search_run(app, &key, text)).await, search_html)
}

fn search_run(app: &App, key: &str, text: String) -> Result<SearchView, HistoryError> {
    let run = app.history.find(key)?;
    let (mut hits, mut has_more) = (Vec::new(), false);
    let wanted = text.to_lowercase();
    let searched = for_each_attempt(&run, &mut |id, epoch, texts| {
        if has_more {
            return;
        }
        hits.extend(find_in(&texts, &wanted).into_iter().map(|hit| (id.clone(), epoch, hit)));
        has_more = hits.len() > HITS_MAX;
    });
    hits.truncate(HITS_MAX);
    Ok(SearchView { run, text, hits, has_more, problem: searched.err().map(|error| error.to_string()) })
}

/// Passes on the texts of all attempts of a run.
fn for_each_attempt(run: &HistoryRun, each: &mut dyn FnMut(String, u32, AttemptTexts)) -> Result<(), RunError> {
    let source = source_of(run)?;
    // Records of several runs in one file are told apart by more than their sample; other columns are known to the readers only.
    if run.name.is_none() && run.choices.is_empty() && ["inspect", "native"].contains(&run.format.as_str()) {
        return Ok(read_texts(&source, &run.format, &mut |id, epoch, texts| each(id.to_string(), epoch, texts))?);
    }
    for one in read(&source, Some(&run.format))? {
        if run.name.is_none() || one.name.as_deref() == run.name.as_deref() {
            for record in one.samples.records() {
                each(record.id.to_string(), record.epoch, AttemptTexts::among(record.metadata.iter()));
            }
        }
    }
    Ok(())
}

/// The places in the texts of an attempt that have what is wanted, which is in small letters.
pub(super) fn find_in(texts: &AttemptTexts, wanted: &str) -> Vec<TextHit> {
    let mut hits = Vec::new();
    let mut look = |message: Option<usize>, role: &str, text: &str| {
        if let Some(excerpt) = excerpt(text, wanted) {
            hits.push(TextHit { message, role: role.to_owned(), excerpt });
        }
    };
    // A conversation begins with what was asked and ends with what was answered.
    let is_said = |text: &Arc<str>| texts.messages.iter().any(|message| message.content == *text);
    for (role, text) in [("asked", &texts.input), ("expected", &texts.target), ("answered", &texts.output)] {
        if let Some(text) = text.as_ref().filter(|text| role == "expected" || !is_said(text)) {
            look(None, role, text);
        }
    }
    for (place, message) in texts.messages.iter().enumerate() {
        let role = message.role.name();
        look(Some(place + 1), role, &message.content);
        for call in &message.tool_calls {
            look(Some(place + 1), role, &format!("{} {}", call.function, call.arguments));
        }
    }
    hits
}

/// The text around the first place that has what is wanted.
fn excerpt(text: &str, wanted: &str) -> Option<String> {
    let small = text.to_lowercase();
    let at = small.find(wanted)?;
    // Small letters may be longer than large ones: places are counted in letters.
    let letters = small[..at].chars().count();
    let (first, size) = (letters.saturating_sub(AROUND), wanted.chars().count() + 2 * AROUND);
    let mut part: String = text.chars().skip(first).take(size).collect();
    if first > 0 {
        part.insert(0, '…');
    }
    if text.chars().nth(first + size).is_some() {
        part.push('…');
    }
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_around_a_place_is_shown() {
        assert_eq!(excerpt("Where is my REFUND?", "refund").as_deref(), Some("Where is my REFUND?"));
        assert_eq!(excerpt("nothing", "refund"), None);
        let long = format!("{}refund{}", "a".repeat(500), "b".repeat(500));
        let found = excerpt(&long, "refund").expect("it is there");
        assert!(found.starts_with("…aaa") && found.ends_with("bbb…") && found.contains("refund"));
        assert!(excerpt(&"İ".repeat(300), "i̇").is_some(), "letters that grow when they are made small");
    }
}
