//! Interprets the errors of providers.

use crate::ModelFault;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::header::HeaderMap;
use serde_json::Value as Json;
use std::time::Duration;

/// The longest wait that is passed on. A server that asks for more than a day is mistaken, and sums would overflow.
const WAIT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// What a provider says is wrong.
#[derive(Debug, Default)]
pub(super) struct ProviderComplaint {
    /// The provider's message.
    pub(super) message: String,
    /// Its names for it, such as `overloaded_error` or `insufficient_quota`.
    codes: Vec<String>,
    /// A status in the body, in addition to or instead of that of the response.
    status: Option<u16>,
}

impl ProviderComplaint {
    /// What the body of a failed response says: JSON in one of the usual shapes, or a page of text.
    pub(super) fn read(body: &[u8]) -> Self {
        let json = serde_json::from_slice(body).ok().and_then(|json: Json| Self::find(&json));
        json.unwrap_or_else(|| Self { message: String::from_utf8_lossy(body).into_owned(), ..Self::default() })
    }

    /// The complaint in an answer that has one. Some servers send it with a status of success.
    pub(super) fn find(json: &Json) -> Option<Self> {
        let json = json.get(0).unwrap_or(json);
        let error = json.get("error").filter(|error| !error.is_null());
        let inner = error.unwrap_or(json);
        let word = |name: &str| inner.get(name).and_then(Json::as_str);
        let message = inner.as_str().or_else(|| word("message")).or_else(|| word("detail"));
        let message = message.map(str::to_owned).or_else(|| error.map(Json::to_string))?;
        let codes = ["type", "code", "status"].into_iter().filter_map(word).map(str::to_owned).collect();
        let status = inner.get("code").and_then(Json::as_u64).and_then(|code| u16::try_from(code).ok());
        Some(Self { message, codes, status })
    }

    fn is(&self, code: &str) -> bool {
        self.codes.iter().any(|known| known == code)
    }

    /// True if the provider refuses to let the question be answered, which counts as an answer.
    pub(super) fn is_filter(&self) -> bool {
        let codes = ["content_filter", "content_policy_violation", "invalid_prompt"];
        // Anthropic has no name for it.
        codes.iter().any(|code| self.is(code)) || self.message.contains("content filtering policy")
    }

    /// What kind of failure it is. If a successful response contains a complaint, the complaint counts.
    pub(super) fn fault(&self, status: u16) -> ModelFault {
        let status = if status < 300 { self.status.unwrap_or(500) } else { status };
        match status {
            // Waiting does not help when the credit has run out.
            _ if self.is("insufficient_quota") => ModelFault::Refused,
            _ if self.is("overloaded_error") || self.is("rate_limit_error") => ModelFault::Busy,
            429 | 529 => ModelFault::Busy,
            408 | 504 => ModelFault::Timeout,
            500.. => ModelFault::Server,
            _ => ModelFault::Refused,
        }
    }
}

/// When the server wants to be asked again: milliseconds, seconds, or a date by its own clock.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let header = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str, unit: f64| Duration::try_from_secs_f64(text.parse::<f64>().ok()? / unit).ok();
    let wait = header("retry-after-ms").and_then(|text| number(text, 1000.0)).or_else(|| {
        let text = header("retry-after")?;
        // The server's clock may be wrong, but both of its dates are wrong by the same.
        let now = || header("date").and_then(date).unwrap_or_else(Timestamp::now);
        number(text, 1.0).or_else(|| Some(until(date(text)?, now())))
    })?;
    Some(wait.min(WAIT_MAX))
}

fn date(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(text).ok()
}

fn until(then: Timestamp, now: Timestamp) -> Duration {
    Duration::from_secs(u64::try_from(then.as_second().saturating_sub(now.as_second())).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};

    fn wait(headers: &[(&'static str, &'static str)]) -> Option<Duration> {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        retry_after(&headers.iter().map(pair).collect())
    }

    #[test]
    fn a_wait_is_seconds_milliseconds_or_a_date() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        for (headers, want_ms) in [
            (vec![("retry-after", "7")], Some(7000)),
            (vec![("retry-after", " 0.5 ")], Some(500)),
            (vec![("retry-after-ms", "250"), ("retry-after", "7")], Some(250)),
            (vec![("retry-after-ms", "soon"), ("retry-after", "7")], Some(7000)),
            (vec![date, ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], Some(30_000)),
            (vec![date, ("retry-after", "Sun, 06 Nov 1994 08:40:00 GMT")], Some(0)),
            (vec![("retry-after", "1e300")], None),
            (vec![("retry-after", "999999999999")], Some(86_400_000)),
            (vec![("retry-after", "-3")], None),
            (vec![("retry-after", "NaN")], None),
            (vec![("retry-after", "after lunch")], None),
            (vec![], None),
        ] {
            assert_eq!(wait(&headers), want_ms.map(Duration::from_millis), "{headers:?}");
        }
    }

    #[test]
    fn a_failure_is_told_by_its_status_and_by_its_name() {
        use ModelFault::{Busy, Refused, Server, Timeout};
        for (status, body, want) in [
            (429, "{}", Busy),
            (429, r#"{"error": {"message": "no money", "code": "insufficient_quota"}}"#, Refused),
            (529, "", Busy),
            (500, r#"{"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}"#, Busy),
            (500, "<html>", Server),
            (503, "", Server),
            (504, "", Timeout),
            (408, "", Timeout),
            (400, r#"{"error": "bad"}"#, Refused),
            (401, "", Refused),
            (302, "", Refused),
            (200, r#"{"error": {"code": 429, "message": "slow down"}}"#, Busy),
            (200, r#"{"error": {"message": "oops"}}"#, Server),
            (200, r#"[{"error": {"code": 400, "message": "oops"}}]"#, Refused),
        ] {
            assert_eq!(ProviderComplaint::read(body.as_bytes()).fault(status), want, "{status} {body}");
        }
    }

    #[test]
    fn the_words_of_a_complaint_are_found_in_the_usual_shapes() {
        for (body, want) in [
            (r#"{"error": {"message": "a", "type": "t"}}"#, "a"),
            (r#"{"error": "b"}"#, "b"),
            (r#"{"detail": "c"}"#, "c"),
            (r#"{"message": "d"}"#, "d"),
            (r#"[{"error": {"message": "e", "status": "INVALID_ARGUMENT"}}]"#, "e"),
            (r#"{"error": {"weird": 1}}"#, r#"{"weird":1}"#),
            ("plain", "plain"),
            (r#"{"other": 1}"#, r#"{"other": 1}"#),
        ] {
            assert_eq!(ProviderComplaint::read(body.as_bytes()).message, want);
        }
    }
}
