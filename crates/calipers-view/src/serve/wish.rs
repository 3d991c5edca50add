//! What a request for a page asks for.

use super::answer::page;
use super::error_answer;
use super::question::Question;
use crate::HistoryError;
use crate::access::cookie;
use axum::extract::FromRequestParts;
use axum::extract::rejection::QueryRejection;
use axum::http::request::Parts;
use axum::response::Response;
use calipers::render::view::{Delivery, Theme};

/// The cookie in which a browser keeps the colours that its reader has chosen.
const THEME_COOKIE: &str = "calipers_theme";

/// How a page is delivered, and its address.
pub(super) struct Wish {
    is_file: bool,
    address: String,
    theme: Theme,
}

impl Wish {
    /// The page of what was found, or of why nothing was.
    pub(super) fn answer<View>(
        &self,
        found: Result<View, HistoryError>,
        to_html: impl FnOnce(&View, Delivery<'_>) -> String,
    ) -> Response {
        let served = Delivery::Served { address: &self.address, theme: self.theme };
        let delivery = if self.is_file { Delivery::File } else { served };
        match found {
            Ok(view) => page(to_html(&view, delivery), self.is_file),
            Err(error) => error_answer(&error),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Wish {
    type Rejection = QueryRejection;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let question = Question::from_request_parts(parts, state).await?;
        let address = parts.uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string);
        // A cookie, and not what only a script can read: the page comes in its colours, and does not flash in others.
        let theme = cookie(&parts.headers, THEME_COOKIE).map(Theme::parse).unwrap_or_default();
        Ok(Self { is_file: question.is_set("save"), address, theme })
    }
}
