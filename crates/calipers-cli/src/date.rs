//! Days, in UTC.

use jiff::civil::Date;
use jiff::{Timestamp, tz::TimeZone};

/// Today, as in `2026-11-16`.
pub(crate) fn today() -> String {
    now().to_string()
}

fn now() -> Date {
    Timestamp::now().to_zoned(TimeZone::UTC).date()
}

/// How many days ago a date was, if it is one.
pub(crate) fn age_days(date: &str) -> Option<f64> {
    let then: Date = date.get(..10)?.parse().ok()?;
    Some(now().duration_since(then).as_hours() as f64 / 24.0)
}
