//! Every address of the server, with what it needs. What is not in this list is not served, and the tests try all that is.

use super::{App, answer, api, audit, labels, live, pages, search};
use crate::access::Role;
use axum::http::Method;
use axum::routing::{MethodRouter, get, post};
use std::sync::Arc;

/// An address with its method.
pub(super) struct Route {
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests ask by it; the server has it in `serve`"))]
    pub(super) method: Method,
    pub(super) path: &'static str,
    /// What someone must be allowed; none for what tells nothing about runs.
    pub(super) needs: Option<Role>,
    pub(super) serve: MethodRouter<Arc<App>>,
}

fn to_read(path: &'static str, serve: MethodRouter<Arc<App>>) -> Route {
    Route { method: Method::GET, path, needs: Some(Role::Read), serve }
}

fn to_label(method: Method, path: &'static str, serve: MethodRouter<Arc<App>>) -> Route {
    Route { method, path, needs: Some(Role::Label), serve }
}

fn to_administer(path: &'static str, serve: MethodRouter<Arc<App>>) -> Route {
    Route { method: Method::GET, path, needs: Some(Role::Admin), serve }
}

fn to_all(method: Method, path: &'static str, serve: MethodRouter<Arc<App>>) -> Route {
    Route { method, path, needs: None, serve }
}

/// All of them.
pub(super) fn routes() -> Vec<Route> {
    let (read, change) = (Method::GET, Method::POST);
    vec![
        to_read("/", get(pages::runs)),
        to_read("/runs/{key}", get(pages::run)),
        to_read("/runs/{key}/report", get(pages::report)),
        to_read("/runs/{key}/samples", get(pages::samples)),
        to_read("/runs/{key}/sample", get(pages::sample)),
        to_read("/runs/{key}/search", get(search::search)),
        to_read("/runs/{key}/live", get(live::progress)),
        to_read("/runs/{key}/judge", get(labels::judge_page)),
        to_read("/case", get(pages::case)),
        to_read("/compare", get(pages::compare)),
        to_read("/trend", get(pages::trend)),
        to_read("/verdicts", get(pages::verdicts)),
        to_read("/events", get(live::events)),
        to_read("/api/runs", get(api::runs)),
        to_read("/api/runs/{key}", get(api::run)),
        to_read("/api/runs/{key}/judge", get(labels::judge)),
        to_read("/api/runs/{key}/samples", get(api::samples)),
        to_read("/api/runs/{key}/sample", get(api::sample)),
        to_read("/api/case", get(api::case)),
        to_read("/api/verdicts", get(api::verdicts)),
        to_read("/api/compare", get(api::compare)),
        to_read("/api/trend", get(api::trend)),
        to_read("/api/openapi.json", get(api::description)),
        to_label(read.clone(), "/runs/{key}/label", get(labels::label_page)),
        to_label(read.clone(), "/api/runs/{key}/labels", get(labels::label_list)),
        to_label(change.clone(), "/api/runs/{key}/labels", post(labels::label)),
        to_label(change.clone(), "/api/runs/{key}/invalidate", post(api::invalidate)),
        to_label(change.clone(), "/api/runs/{key}/restore", post(api::restore)),
        to_administer("/audit", get(audit::audit_page)),
        to_administer("/api/audit", get(audit::audit_list)),
        to_administer("/metrics", get(api::metrics)),
        to_all(read.clone(), "/assets/view.js", get(answer::script)),
        to_all(read.clone(), "/health", get(answer::health)),
        to_all(read, "/login", get(api::login_page)),
        to_all(change, "/login", post(api::login)),
    ]
}
