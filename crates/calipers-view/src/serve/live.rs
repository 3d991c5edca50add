//! News for pages that are open: that the history changed, and whether files are being read.

use super::answer::page;
use super::{App, error_answer};
use axum::extract::{Path, State};
use axum::response::Response;
use axum::response::sse::{Event, KeepAlive, Sse};
use calipers::render::view::progress_html;
use futures_util::stream::{Stream, unfold};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How far a run is that goes on; nothing once it has ended.
pub(super) async fn progress(State(app): State<Arc<App>>, Path(key): Path<String>) -> Response {
    match app.ask(move |app| app.history.find(&key)).await {
        Ok(run) => page(progress_html(&run), false),
        Err(error) => error_answer(&error),
    }
}

/// An event whenever the history changes, until the server ends.
pub(super) async fn events(State(app): State<Arc<App>>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (mut news, ending) = (app.news.subscribe(), app.ending.subscribe());
    // The first event tells the state that the page is compared with.
    news.mark_changed();
    let stream = unfold((app, news, ending), |(app, mut news, mut ending)| async move {
        if *ending.borrow() {
            return None;
        }
        tokio::select! {
            changed = news.changed() => changed.ok()?,
            _ = ending.changed() => return None,
        }
        let state = *news.borrow_and_update();
        let word = if app.is_reading.load(Ordering::Relaxed) { "reading" } else { "idle" };
        let event = Event::default().event("history").data(format!("{state} {word}"));
        // Many files in a row are one piece of news.
        tokio::time::sleep(Duration::from_millis(200)).await;
        Some((Ok(event), (app, news, ending)))
    });
    Sse::new(stream).keep_alive(KeepAlive::default())
}
