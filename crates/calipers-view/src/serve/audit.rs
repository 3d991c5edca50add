//! The audit trail, for those who may see who said what.

use super::App;
use super::answer::json;
use super::question::Question;
use super::wish::Wish;
use crate::HistoryError;
use axum::extract::State;
use axum::response::Response;
use calipers::render::view::{AuditEntry, AuditView, audit_html};
use serde_json::{Value, json as value};
use std::sync::Arc;

/// As many records are on one page.
const ON_PAGE: u64 = 100;
/// The most in one answer.
const IN_ANSWER: u64 = 1000;

pub(super) async fn audit_page(State(app): State<Arc<App>>, wish: Wish, question: Question) -> Response {
    let first = question.number("page").unwrap_or(0).saturating_mul(ON_PAGE);
    wish.answer(app.ask(move |app| view(app, first)).await, audit_html)
}

fn view(app: &App, first: u64) -> Result<AuditView, HistoryError> {
    let (records, total) = app.history.audit(first, ON_PAGE)?;
    let text = |record: &Value, name: &str| record.get(name).and_then(Value::as_str).map(str::to_owned);
    let entry = |record: &Value| {
        let body = record.get("body").cloned().unwrap_or_default();
        AuditEntry {
            at: text(record, "at").unwrap_or_default(),
            kind: text(record, "kind").unwrap_or_default(),
            run: text(record, "run").unwrap_or_default(),
            by: text(&body, "by").or_else(|| text(&body, "rater")),
            facts: facts(&body),
        }
    };
    Ok(AuditView { entries: records.iter().map(entry).collect(), first, total, page_size: ON_PAGE })
}

/// A body without who said it.
fn facts(body: &Value) -> Vec<(String, String)> {
    let said = body.as_object().into_iter().flatten().filter(|(name, value)| *name != "by" && !value.is_null());
    said.map(|(name, value)| (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))).collect()
}

pub(super) async fn audit_list(State(app): State<Arc<App>>, question: Question) -> Response {
    let first = question.number("first").unwrap_or(0);
    let size = question.number("size").unwrap_or(ON_PAGE).min(IN_ANSWER);
    match app.ask(move |app| app.history.audit(first, size)).await {
        Ok((records, total)) => json(&value!({ "records": records, "first": first, "total": total })),
        Err(error) => super::api::api_failure(&error),
    }
}
