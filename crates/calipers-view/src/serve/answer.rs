//! Answers with their headers.

use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use calipers::render::view::{CONTENT_POLICY, SCRIPT, SCRIPT_ADDRESS, problem_html};
use serde_json::Value;

/// The headers of every answer that does not say otherwise.
const HEADERS: [(HeaderName, &str); 7] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    // Stricter would hide from us where our own forms come from.
    (header::REFERRER_POLICY, "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

pub(super) fn secure(mut answer: Response) -> Response {
    answer.headers_mut().entry(header::CONTENT_SECURITY_POLICY).or_insert_with(content_policy);
    for (name, value) in HEADERS {
        answer.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    answer
}

/// What a page of ours may do.
pub(super) fn content_policy() -> HeaderValue {
    HeaderValue::from_static(CONTENT_POLICY.as_str())
}

/// A page with its policy.
pub(super) fn page_answer(status: StatusCode, html: String, policy: HeaderValue) -> Response {
    let kind = (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    (status, [kind, (header::CONTENT_SECURITY_POLICY, policy)], html).into_response()
}

/// A page, or the same as a file to keep.
pub(super) fn page(html: String, is_file: bool) -> Response {
    if !is_file {
        return page_answer(StatusCode::OK, html, content_policy());
    }
    // The file has its policy in itself; nothing of it is shown here.
    let policy = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'; sandbox");
    let mut answer = page_answer(StatusCode::OK, html, policy);
    let name = HeaderValue::from_static("attachment; filename=\"calipers.html\"");
    answer.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    answer
}

pub(super) fn json(value: &Value) -> Response {
    json_text(format!("{value:#}\n"))
}

pub(super) fn json_text(text: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// What is wrong with a request, as a page.
pub(super) fn problem(status: StatusCode, what: &str, hint: &str) -> Response {
    page_answer(status, problem_html(what, what, hint), content_policy())
}

/// What is wrong with a request to the API.
pub(super) fn api_problem(status: StatusCode, what: &str) -> Response {
    let text = serde_json::json!({ "error": what }).to_string();
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

pub(super) async fn not_found(uri: Uri) -> Response {
    if uri.path().starts_with("/api/") {
        return api_problem(StatusCode::NOT_FOUND, "there is no such address");
    }
    problem(StatusCode::NOT_FOUND, "There is no such page", "The list of runs leads to all pages.")
}

/// The script. Under the address that its content has, it never changes.
pub(super) async fn script(uri: Uri) -> Response {
    let is_current = uri.path_and_query().is_some_and(|asked| asked.as_str() == *SCRIPT_ADDRESS);
    let kept = if is_current { "public, max-age=31536000, immutable" } else { "no-cache" };
    let kind = (header::CONTENT_TYPE, "text/javascript; charset=utf-8");
    ([kind, (header::CACHE_CONTROL, kept)], SCRIPT).into_response()
}

pub(super) async fn health() -> &'static str {
    "ok\n"
}
