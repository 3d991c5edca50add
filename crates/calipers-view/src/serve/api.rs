//! The API: the same answers as JSON, changes, and how the server is doing.

use super::answer::{api_problem, json, json_text, page, problem};
use super::pages::{Compared, SamplePlace, case_view, sample_list, sample_view};
use super::question::{Question, RUNS_MAX};
use super::{App, replay, tell_news};
use crate::HistoryError;
use crate::access::{COOKIE_NAME, Visitor};
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderValue};
use axum::response::{IntoResponse, Redirect, Response};
use calipers::render::view::{case_json, sample_json, samples_json, trend_json, verdicts_json};
use calipers::render::{compare_json, history_json};
use serde_json::{Value, json as value};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// As many runs or samples are in an answer if nothing is said.
const SIZE_UNASKED: u64 = 50;
/// The most of them in one answer.
const SIZE_MAX: u64 = 1000;

/// The place of the first that is asked for, and how many are.
fn part(question: &Question) -> (u64, u64) {
    let size = question.number("size").unwrap_or(SIZE_UNASKED).min(SIZE_MAX);
    (question.number("first").unwrap_or(0), size)
}

pub(super) fn api_failure(error: &HistoryError) -> Response {
    let status = match error {
        HistoryError::UnknownRun(_) | HistoryError::AmbiguousRun(_) => StatusCode::NOT_FOUND,
        HistoryError::Run(_) => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    api_problem(status, &error.to_string())
}

pub(super) async fn runs(State(app): State<Arc<App>>, question: Question) -> Response {
    let (filter, (first, size)) = (question.filter(), part(&question));
    match app.ask(move |app| app.history.list(&filter, first, size)).await {
        Ok(list) => json(&history_json(&list)),
        Err(error) => api_failure(&error),
    }
}

/// The report of a run, byte for byte as `calipers score --json` prints it.
pub(super) async fn run(State(app): State<Arc<App>>, Path(key): Path<String>) -> Response {
    let made = app.ask(move |app| app.history.report_json(&app.history.find(&key)?.key)).await;
    made.map_or_else(|error| api_failure(&error), json_text)
}

pub(super) async fn samples(State(app): State<Arc<App>>, Path(key): Path<String>, question: Question) -> Response {
    let made = app.ask(move |app| sample_list(app, &key, &question, part(&question))).await;
    made.map_or_else(|error| api_failure(&error), |list| json(&samples_json(&list)))
}

pub(super) async fn sample(State(app): State<Arc<App>>, Path(key): Path<String>, question: Question) -> Response {
    let Some(place) = SamplePlace::of(&question) else {
        return api_problem(StatusCode::BAD_REQUEST, "name a sample, as `id=NAME`");
    };
    match app.read(move |app| sample_view(app, &key, place)).await {
        Ok(Some(view)) => json(&sample_json(&view)),
        Ok(None) => api_problem(StatusCode::NOT_FOUND, "the run has no such sample"),
        Err(error) => api_failure(&error),
    }
}

pub(super) async fn case(State(app): State<Arc<App>>, question: Question) -> Response {
    let (Some(suite), Some(id)) = (question.get("suite"), question.get("id")) else {
        return api_problem(StatusCode::BAD_REQUEST, "name a suite and a sample, as `suite=NAME&id=NAME`");
    };
    let made = app.ask(move |app| case_view(app, suite, id)).await;
    made.map_or_else(|error| api_failure(&error), |view| json(&case_json(&view)))
}

pub(super) async fn verdicts(State(app): State<Arc<App>>, question: Question) -> Response {
    let suite = question.get("suite");
    let made = app.read(move |app| replay::verdicts(app, suite)).await;
    made.map_or_else(|error| api_failure(&error), |view| json(&verdicts_json(&view)))
}

pub(super) async fn compare(State(app): State<Arc<App>>, question: Question) -> Response {
    let (keys, has_all) = (question.all("run"), question.get("cases").as_deref() == Some("all"));
    if !(2..=RUNS_MAX).contains(&keys.len()) {
        return api_problem(StatusCode::BAD_REQUEST, "name two to twelve runs, each as `run=KEY`");
    }
    match app.read(move |app| Compared::of(app, &keys, has_all)?.compare()).await {
        Ok(report) => json(&compare_json(&report)),
        Err(error) => api_failure(&error),
    }
}

pub(super) async fn trend(State(app): State<Arc<App>>, question: Question) -> Response {
    let asked = question.trend();
    match app.read(move |app| app.history.trend(&asked)).await {
        Ok(view) => json(&trend_json(&view)),
        Err(error) => api_failure(&error),
    }
}

/// Why a run is not to be counted is no longer than this.
const WHY_MAX: usize = 2000;

pub(super) async fn invalidate(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Path(key): Path<String>,
    body: String,
) -> Response {
    let why =
        serde_json::from_str::<Value>(&body).ok().and_then(|body| Some(body.get("why")?.as_str()?.trim().to_owned()));
    let Some(why) = why.filter(|why| !why.is_empty() && why.len() <= WHY_MAX) else {
        return api_problem(StatusCode::BAD_REQUEST, "say why, as {\"why\": \"…\"}, in up to 2000 bytes");
    };
    change(&app, move |app| app.history.invalidate(&app.history.find(&key)?.key, &why, &visitor.name)).await
}

pub(super) async fn restore(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Path(key): Path<String>,
) -> Response {
    change(&app, move |app| app.history.restore(&app.history.find(&key)?.key, &visitor.name)).await
}

async fn change(app: &Arc<App>, work: impl FnOnce(&App) -> Result<(), HistoryError> + Send + 'static) -> Response {
    let made = app
        .ask(move |app| {
            work(app)?;
            tell_news(app);
            Ok(())
        })
        .await;
    made.map_or_else(|error| api_failure(&error), |()| json(&value!({ "done": true })))
}

pub(super) async fn login_page(State(app): State<Arc<App>>) -> Response {
    if !app.rules().needs_token() {
        return Redirect::to("/").into_response();
    }
    page(calipers::render::view::login_html(false), false)
}

/// Keeps the token in a cookie that no script can read and no other site can send.
pub(super) async fn login(State(app): State<Arc<App>>, body: String) -> Response {
    if !app.rules().needs_token() {
        return Redirect::to("/").into_response();
    }
    let token = body.split('&').find_map(|pair| pair.strip_prefix("token=")).map(decode).unwrap_or_default();
    if app.rules().visitor_of(&token).is_none() {
        app.counters.refused.fetch_add(1, Ordering::Relaxed);
        let mut answer = page(calipers::render::view::login_html(true), false);
        *answer.status_mut() = StatusCode::UNAUTHORIZED;
        return answer;
    }
    let cookie = format!("{COOKIE_NAME}={token}; Path=/; HttpOnly; SameSite=Strict");
    match HeaderValue::from_str(&cookie) {
        Ok(cookie) => ([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response(),
        Err(_) => problem(StatusCode::BAD_REQUEST, "The token cannot be kept", ""),
    }
}

/// A value of a form.
fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let two: Vec<u8> = rest.by_ref().take(2).collect();
                let code = std::str::from_utf8(&two).ok().and_then(|two| u8::from_str_radix(two, 16).ok());
                bytes.extend(code);
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// How the server is doing, for Prometheus.
pub(super) async fn metrics(State(app): State<Arc<App>>) -> Response {
    let runs = app.ask(|app| app.history.count()).await.unwrap_or(0);
    let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed) as f64;
    let counters = &app.counters;
    let lines = [
        ("calipers_runs", "gauge", "Runs in the history.", runs as f64),
        (
            "calipers_reading",
            "gauge",
            "1 while files are read.",
            f64::from(u8::from(app.is_reading.load(Ordering::Relaxed))),
        ),
        ("calipers_files_read_total", "counter", "Files that were read.", load(&counters.files_read)),
        ("calipers_requests_total", "counter", "Requests.", load(&counters.requests)),
        (
            "calipers_requests_refused_total",
            "counter",
            "Requests without the right to an answer.",
            load(&counters.refused),
        ),
        ("calipers_failures_total", "counter", "Answers and looks at files that failed.", load(&counters.failed)),
        ("calipers_request_seconds_total", "counter", "Time spent on requests.", load(&counters.microseconds) / 1e6),
        ("calipers_uptime_seconds", "gauge", "Time since the start.", app.uptime().as_secs_f64()),
    ];
    let text: String = lines
        .iter()
        .map(|(name, kind, about, number)| format!("# HELP {name} {about}\n# TYPE {name} {kind}\n{name} {number}\n"))
        .collect();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}

/// The OpenAPI document of this API.
pub(super) async fn description() -> Response {
    json(&openapi())
}

pub(super) fn openapi() -> Value {
    let text = |name: &str, about: &str| value!({ "name": name, "in": "query", "description": about, "schema": { "type": "string" } });
    let number = |name: &str, about: &str| value!({ "name": name, "in": "query", "description": about, "schema": { "type": "integer", "minimum": 0 } });
    let key = value!({ "name": "key", "in": "path", "required": true, "description": "The key of a run.", "schema": { "type": "string", "pattern": "^[0-9a-f]{1,16}$" } });
    let filters = [
        text("q", "A part of the suite, model, version, branch, commit, file or key."),
        text("suite", "Only this suite."),
        text("model", "Only this model."),
        text("branch", "Only this branch."),
        text("version", "Only this version."),
        text("tag", "Only runs with this tag, as name=value."),
        text("verdict", "pass, fail, undecided or none."),
        text("state", "whole, lacking or invalid."),
    ];
    let schema = |name: &str, text: &str| {
        let schema: Value = serde_json::from_str(text).unwrap_or_default();
        (name.to_owned(), schema)
    };
    let schemas: serde_json::Map<String, Value> = [
        schema("history", &calipers::render::history_schema()),
        schema("results", &calipers::render::results_schema()),
        schema("compare", &calipers::render::compare_schema()),
        schema("trend", &calipers::render::view::trend_schema()),
        schema("judge", &calipers::render::judge_schema()),
        schema("samples", &calipers::render::view::samples_schema()),
        schema("sample", &calipers::render::view::sample_schema()),
        schema("case", &calipers::render::view::case_schema()),
        schema("verdicts", &calipers::render::view::verdicts_schema()),
    ]
    .into_iter()
    .collect();
    let answer = |name: &str| {
        let schema = format!("#/components/schemas/{name}");
        value!({ "200": { "description": "The answer.", "content": { "application/json": { "schema": { "$ref": schema } } } }, "default": { "description": "What is wrong, as {\"error\": \"…\"}." } })
    };
    let done = value!({ "200": { "description": "Done." }, "default": { "description": "What is wrong, as {\"error\": \"…\"}." } });
    let change = value!({ "name": "x-calipers", "in": "header", "required": true, "description": "Any value. A page of another site cannot send it.", "schema": { "type": "string" } });
    let list: Vec<Value> = filters
        .iter()
        .cloned()
        .chain([number("first", "The place of the first run."), number("size", "How many runs, up to 1000.")])
        .collect();
    let compared = [
        value!({ "name": "run", "in": "query", "required": true, "description": "Two to twelve keys; the first is compared with the others.", "schema": { "type": "array", "items": { "type": "string" } }, "explode": true }),
        text("cases", "all: also cases that ask something else under the same name."),
    ];
    let part = [number("first", "The place of the first record."), number("size", "How many records, up to 1000.")];
    let listed = value!([
        key,
        text("q", "A part of the names of samples."),
        text("outcome", "Only this outcome: passed, failed, scored, errored or unscored."),
        number("first", "The place of the first sample."),
        number("size", "How many samples, up to 1000."),
    ]);
    let shown = value!([
        key,
        text("id", "The sample."),
        number("attempt", "The epoch of its attempt; 1 if it is not named."),
        number("from", "The place of the first message that is listed; up to 100 are."),
    ]);
    let followed = [text("suite", "The suite."), text("id", "The sample.")];
    let judged = [text("suite", "Only runs of this suite.")];
    let plain = |about: &str, kind: &str| value!({ "200": { "description": about, "content": { kind: {} } }, "default": { "description": "What is wrong, as {\"error\": \"…\"}." } });
    let label = value!({ "type": "object", "required": ["id", "epoch", "rater", "value"], "properties": {
        "id": { "type": "string", "description": "The sample." },
        "epoch": { "type": "integer", "minimum": 1, "description": "Its attempt." },
        "rater": { "type": "string", "minLength": 1, "maxLength": 100 },
        "value": { "enum": [1, 0, null], "description": "1 for right, 0 for wrong, null for what cannot be judged; then the note says why." },
        "note": { "type": "string", "maxLength": 1000 },
        "queue": { "enum": ["random", "disagreements", "threshold"], "default": "random" }
    } });
    let trend = [
        text("suite", "The suite."),
        text("score", "The score of the figure."),
        text("metric", "Its metric."),
        text("reducer", "Its reducer, if it is named."),
        text("model", "Only this model."),
        text("branch", "Only this branch."),
    ];
    value!({
        "openapi": "3.1.0",
        "info": { "title": "Calipers", "version": env!("CARGO_PKG_VERSION"), "description": "The history of all runs." },
        "paths": {
            "/api/runs": { "get": { "summary": "Runs, the latest first", "parameters": list, "responses": answer("history") } },
            "/api/runs/{key}": { "get": { "summary": "The metrics of a run, as the command line prints them", "parameters": [key], "responses": answer("results") } },
            "/api/runs/{key}/samples": { "get": { "summary": "The samples of a run, those that did not pass first", "parameters": listed, "responses": answer("samples") } },
            "/api/runs/{key}/sample": { "get": { "summary": "A sample with one of its attempts and its conversation", "parameters": shown, "responses": answer("sample") } },
            "/api/case": { "get": { "summary": "A sample over the latest 300 runs that have it", "parameters": followed, "responses": answer("case") } },
            "/api/verdicts": { "get": { "summary": "The verdicts on runs, and what the policy of the server says about the latest 50", "parameters": judged, "responses": answer("verdicts") } },
            "/api/compare": { "get": { "summary": "Runs compared, as the command line prints it", "parameters": compared, "responses": answer("compare") } },
            "/api/trend": { "get": { "summary": "A figure over time", "parameters": trend, "responses": answer("trend") } },
            "/api/runs/{key}/judge": { "get": { "summary": "The judge beside human labels, as the command line prints it", "parameters": [key], "responses": answer("judge") } },
            "/api/runs/{key}/labels": {
                "get": { "summary": "Labels of a run as records that the command line reads", "parameters": [key, text("queue", "all: also labels of answers that were not chosen at random.")], "responses": plain("One record on each line.", "application/jsonl") },
                "post": { "summary": "Say whether an answer is right", "parameters": [key, change], "requestBody": { "required": true, "content": { "application/json": { "schema": label } } }, "responses": done }
            },
            "/api/audit": { "get": { "summary": "What people said, the latest first", "parameters": part, "responses": plain("The records.", "application/json") } },
            "/api/openapi.json": { "get": { "summary": "This document", "responses": plain("The document.", "application/json") } },
            "/api/runs/{key}/invalidate": { "post": { "summary": "Say that a run is not to be counted", "parameters": [key, change], "requestBody": { "required": true, "content": { "application/json": { "schema": { "type": "object", "required": ["why"], "properties": { "why": { "type": "string", "maxLength": 2000 } } } } } }, "responses": done } },
            "/api/runs/{key}/restore": { "post": { "summary": "Say that a run is to be counted again", "parameters": [key, change], "responses": done } }
        },
        "components": { "schemas": schemas, "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } } },
        "security": [{}, { "token": [] }]
    })
}
