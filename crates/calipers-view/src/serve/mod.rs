//! The server: pages and API over a history, with a watcher that reads new files.

mod answer;
mod api;
mod audit;
mod labels;
mod live;
mod pages;
mod question;
mod replay;
#[cfg(test)]
mod route_tests;
mod routes;
mod search;
mod wish;

use crate::access::{AccessRules, AccessToken, Refusal, Role};
use crate::indexer::index_again;
use crate::{History, HistoryError, ReadingChoices};
use answer::{api_problem, content_policy, page_answer, problem, secure};
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::serve::ListenerExt;
use calipers::io::{LoadedPolicy, Source, is_address};
use calipers::render::view::problem_html;
use routes::routes;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

/// How a server is started.
#[derive(Debug)]
pub struct ServerOptions {
    /// Where it listens. Port 0 takes a free one.
    pub address: SocketAddr,
    /// What it watches: files, folders, patterns.
    pub roots: Vec<String>,
    /// How they are read; none for as they were read before.
    pub choices: Option<ReadingChoices>,
    /// Tokens. Without any, only the loopback interface is allowed.
    pub tokens: Vec<AccessToken>,
    /// Further names that it is called by, such as that of a proxy before it.
    pub hosts: Vec<String>,
    /// A policy that is replayed over past runs, with its file.
    pub policy: Option<(String, LoadedPolicy)>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        Self { address, roots: Vec::new(), choices: None, tokens: Vec::new(), hosts: Vec::new(), policy: None }
    }
}

/// A server that listens already.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    app: Arc<App>,
}

/// What all requests share.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) history: History,
    pub(crate) roots: Vec<String>,
    choices: Option<ReadingChoices>,
    pub(crate) policy: Option<(String, LoadedPolicy)>,
    rules: AccessRules,
    /// True while files are read.
    pub(crate) is_reading: AtomicBool,
    /// What is in the way in the folders that are watched.
    pub(crate) obstacles: Mutex<Vec<(String, String)>>,
    /// Changes whenever the history does.
    pub(crate) news: watch::Sender<i64>,
    /// Fires when the server ends.
    pub(crate) ending: watch::Sender<bool>,
    /// Work that reads files: a few at a time, so that memory stays bounded.
    readers: Semaphore,
    /// Work that asks the database: each takes a connection, which has memory of its own.
    askers: Semaphore,
    pub(crate) counters: Counters,
    started: Instant,
}

/// What the server did.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) requests: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) microseconds: AtomicU64,
    pub(crate) files_read: AtomicU64,
}

/// As many requests may read files at a time.
const READERS: usize = 3;
/// As many others may ask the database.
const ASKERS: usize = 8;
/// No question is longer.
const QUESTION_MAX: usize = 8 * 1024;
/// No body is longer.
const BODY_MAX: usize = 64 * 1024;

impl Server {
    /// Listens at the address of the options. Fails if it is beyond loopback and no token protects it.
    pub async fn bind(history: History, options: ServerOptions) -> Result<Self, HistoryError> {
        if !options.address.ip().is_loopback() && options.tokens.is_empty() {
            let what =
                format!("`{}` can be reached from other machines, and no token protects it", options.address.ip());
            return Err(HistoryError::Server(what));
        }
        let refuse =
            |error: std::io::Error| HistoryError::Server(format!("cannot listen on {}: {error}", options.address));
        let listener = TcpListener::bind(options.address).await.map_err(refuse)?;
        let address = listener.local_addr().map_err(refuse)?;
        let rules = AccessRules::new(address, options.tokens, options.hosts);
        // A database may be far away: it is not waited for on a thread that serves requests.
        let asked = tokio::task::spawn_blocking(move || history.state().map(|state| (history, state))).await;
        let (history, state) = asked.map_err(|error| HistoryError::Server(error.to_string()))??;
        let news = watch::Sender::new(state);
        let app = App {
            history,
            roots: options.roots,
            choices: options.choices,
            policy: options.policy,
            rules,
            is_reading: AtomicBool::new(false),
            obstacles: Mutex::default(),
            news,
            ending: watch::Sender::new(false),
            readers: Semaphore::new(READERS),
            askers: Semaphore::new(ASKERS),
            counters: Counters::default(),
            started: Instant::now(),
        };
        Ok(Self { listener, app: Arc::new(app) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// Serves until `end` is done; requests that have begun are answered.
    pub async fn run(self, end: impl Future<Output = ()> + Send + 'static) -> Result<(), HistoryError> {
        let app = self.app.clone();
        let watcher = std::thread::spawn(move || watch_files(&app));
        let (routes, app) = (router(self.app.clone()), self.app.clone());
        // The end of an answer is not held back until its beginning has been acknowledged.
        let listener = self.listener.tap_io(|connection| {
            let _ = connection.set_nodelay(true);
        });
        let served = axum::serve(listener, routes)
            .with_graceful_shutdown(async move {
                end.await;
                app.ending.send_replace(true);
            })
            .await;
        self.app.ending.send_replace(true);
        let _ = watcher.join();
        served.map_err(|error| HistoryError::Server(error.to_string()))
    }
}

/// The shortest time between two looks at the files.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The same for buckets: every look is a request that costs something.
const LOOK_AT_BUCKETS_EVERY: Duration = Duration::from_secs(30);

/// Reads new and changed files until the server ends. A look that takes long is followed by a longer pause.
fn watch_files(app: &App) {
    let is_over = || *app.ending.borrow();
    let (buckets, folders): (Vec<_>, Vec<_>) = app.roots.iter().cloned().partition(|name| is_address(name));
    let mut obstacles = [Vec::new(), Vec::new()];
    let mut next_look_at_buckets = Instant::now();
    while !is_over() {
        let start = Instant::now();
        look_at_files(app, &folders, &mut obstacles[0]);
        if start >= next_look_at_buckets {
            look_at_files(app, &buckets, &mut obstacles[1]);
            next_look_at_buckets = Instant::now() + LOOK_AT_BUCKETS_EVERY.max(start.elapsed() * 10);
        }
        *app.obstacles.lock().unwrap_or_else(PoisonError::into_inner) = obstacles.concat();
        tell_news(app);
        let pause = LOOK_EVERY.max(start.elapsed() * 10);
        let end = Instant::now() + pause;
        while Instant::now() < end && !is_over() {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Reads what is new in these files and folders, and says what is in the way.
fn look_at_files(app: &App, names: &[String], obstacles: &mut Vec<(String, String)>) {
    if names.is_empty() {
        return;
    }
    app.is_reading.store(true, Ordering::Relaxed);
    match index_again(&app.history, names, app.choices.as_ref(), &|_, _| tell_news(app)) {
        Ok(report) => {
            app.counters.files_read.fetch_add(report.read as u64, Ordering::Relaxed);
            *obstacles = report.obstacles.iter().map(|(name, why)| (name.clone(), why.to_string())).collect();
        }
        // It is tried again. A page that needs the database says what is wrong with it.
        Err(error) => {
            app.counters.failed.fetch_add(1, Ordering::Relaxed);
            if let HistoryError::Run(error) = error {
                // The name of a source has no secrets of its address.
                let names: Vec<String> = names.iter().map(|name| Source::path(name).name).collect();
                *obstacles = vec![(names.join(", "), error.to_string())];
            }
        }
    }
    app.is_reading.store(false, Ordering::Relaxed);
}

pub(crate) fn tell_news(app: &App) {
    if let Ok(state) = app.history.state() {
        app.news.send_if_modified(|known| std::mem::replace(known, state) != state);
    }
}

fn router(app: Arc<App>) -> Router {
    let mut all = Router::new();
    for route in routes() {
        let serve = match route.needs {
            Some(needed) => route.serve.route_layer(from_fn_with_state((app.clone(), needed), authorize)),
            None => route.serve,
        };
        all = all.route(route.path, serve);
    }
    all.fallback(answer::not_found)
        .layer(from_fn_with_state(app.clone(), guard))
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .with_state(app)
}

/// What holds for every request: it is meant for this server, and not too long. Every answer gets the headers that protect it.
async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    app.counters.requests.fetch_add(1, Ordering::Relaxed);
    let is_long = request.uri().query().is_some_and(|question| question.len() > QUESTION_MAX)
        || request.uri().path().len() > QUESTION_MAX;
    let is_api = request.uri().path().starts_with("/api/");
    let answer = if is_long {
        problem(StatusCode::URI_TOO_LONG, "The address is too long", "Ask for less at once.")
    } else {
        let checked = app.rules.check_target(request.uri());
        match checked.and_then(|()| app.rules.check_origin(request.method(), request.headers())) {
            Ok(()) => next.run(request).await,
            Err(refusal) => refuse_request(&app, refusal, is_api),
        }
    };
    if answer.status().is_server_error() {
        app.counters.failed.fetch_add(1, Ordering::Relaxed);
    }
    let took = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    app.counters.microseconds.fetch_add(took, Ordering::Relaxed);
    secure(answer)
}

async fn authorize(State((app, needed)): State<(Arc<App>, Role)>, mut request: Request, next: Next) -> Response {
    match app.rules.check(request.method(), request.headers(), needed) {
        Ok(visitor) => {
            request.extensions_mut().insert(visitor);
            next.run(request).await
        }
        Err(refusal) => {
            let is_api = request.uri().path().starts_with("/api/");
            let is_page = !is_api && request.method().is_safe();
            if refusal.status == StatusCode::UNAUTHORIZED && is_page && request.uri().path() != "/metrics" {
                app.counters.refused.fetch_add(1, Ordering::Relaxed);
                return Redirect::to("/login").into_response();
            }
            refuse_request(&app, refusal, is_api)
        }
    }
}

fn refuse_request(app: &App, refusal: Refusal, is_api: bool) -> Response {
    app.counters.refused.fetch_add(1, Ordering::Relaxed);
    if is_api { api_problem(refusal.status, refusal.why) } else { problem(refusal.status, refusal.why, "") }
}

impl App {
    /// Does something with the history on a thread for it.
    pub(crate) async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, HistoryError> + Send + 'static,
    ) -> Result<T, HistoryError> {
        self.work_as(&self.askers, work).await
    }

    /// The same where files are read: only a few at a time.
    pub(crate) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, HistoryError> + Send + 'static,
    ) -> Result<T, HistoryError> {
        self.work_as(&self.readers, work).await
    }

    async fn work_as<T: Send + 'static>(
        self: &Arc<Self>,
        allowed: &Semaphore,
        work: impl FnOnce(&Self) -> Result<T, HistoryError> + Send + 'static,
    ) -> Result<T, HistoryError> {
        let Ok(_permit) = allowed.acquire().await else {
            return Err(HistoryError::Server("the server is ending".to_owned()));
        };
        let app = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&app)).await;
        done.unwrap_or_else(|_| Err(HistoryError::Server("the answer could not be computed".to_owned())))
    }

    pub(crate) fn rules(&self) -> &AccessRules {
        &self.rules
    }

    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }
}

/// A page for an error.
pub(crate) fn error_answer(error: &HistoryError) -> Response {
    let (status, hint) = match error {
        HistoryError::UnknownRun(_) | HistoryError::AmbiguousRun(_) => {
            (StatusCode::NOT_FOUND, "It may have been written again under another name. All runs are in the list.")
        }
        HistoryError::Run(_) => (StatusCode::UNPROCESSABLE_ENTITY, ""),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, ""),
    };
    let text = error.to_string();
    page_answer(status, problem_html("This does not work", &text, hint), content_policy())
}
