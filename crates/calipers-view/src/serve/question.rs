//! The parameters of a request. What is too long, doubled or not understood is left out or refused, and never guessed.

use crate::series::TrendQuestion;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use calipers::render::view::TrendChoice;
use calipers::render::{RunFilter, RunState};

/// The names and values of a question.
pub(super) struct Question(Vec<(String, String)>);

/// No value is longer.
const VALUE_MAX: usize = 1000;
/// No list goes further.
const PAGE_MAX: u64 = 10_000_000;
/// As many runs are compared at once.
pub(super) const RUNS_MAX: usize = 12;

impl<S: Send + Sync> FromRequestParts<S> for Question {
    type Rejection = QueryRejection;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let Query(pairs) = Query::from_request_parts(parts, state).await?;
        Ok(Self(pairs))
    }
}

impl Question {
    /// The value of a name: the first, if it is neither empty nor too long.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        let (_, value) = self.0.iter().find(|(known, _)| known == name)?;
        let is_usable = !value.is_empty() && value.len() <= VALUE_MAX && !value.contains('\0');
        is_usable.then(|| value.clone())
    }

    /// All values of a name.
    pub(super) fn all(&self, name: &str) -> Vec<String> {
        let values = self.0.iter().filter(|(known, _)| known == name).map(|(_, value)| value.clone());
        values.filter(|value| value.len() <= VALUE_MAX).collect()
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok().filter(|number| *number <= PAGE_MAX)
    }

    pub(super) fn is_set(&self, name: &str) -> bool {
        self.get(name).as_deref() == Some("1")
    }

    pub(super) fn filter(&self) -> RunFilter {
        let verdict = self.get("verdict").filter(|one| ["pass", "fail", "undecided", "none"].contains(&one.as_str()));
        RunFilter {
            text: self.get("q"),
            suite: self.get("suite"),
            model: self.get("model"),
            branch: self.get("branch"),
            version: self.get("version"),
            tag: self
                .get("tag")
                .and_then(|tag| tag.split_once('=').map(|(one, value)| (one.to_owned(), value.to_owned()))),
            verdict,
            state: self.get("state").as_deref().and_then(RunState::parse),
        }
    }

    pub(super) fn trend(&self) -> TrendQuestion {
        let by_name = || {
            Some(TrendChoice { score: self.get("score")?, metric: self.get("metric")?, reducer: self.get("reducer") })
        };
        TrendQuestion {
            suite: self.get("suite"),
            model: self.get("model"),
            branch: self.get("branch"),
            choice: self.get("figure").as_deref().and_then(TrendChoice::parse).or_else(by_name),
            by_date: self.get("by").as_deref() == Some("date"),
        }
    }
}
