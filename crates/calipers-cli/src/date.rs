//! Days, in UTC.

use crate::failure::Failure;
use jiff::civil::Date;
use jiff::{Timestamp, tz::TimeZone};

/// Today, as in `2026-11-16`.
pub(crate) fn today() -> String {
    now().to_string()
}

fn now() -> Date {
    Timestamp::now().to_zoned(TimeZone::UTC).date()
}

/// A day in the form `2026-11-16`.
pub(crate) fn parse(day: &str) -> Result<String, Failure> {
    let date: Result<Date, _> = day.trim().parse();
    date.map(|date| date.to_string())
        .map_err(|_| Failure::new(format!("`--date {day}` is not a date")).hint("write `--date 2026-11-16`"))
}

/// How many days ago a date was, if it is one.
pub(crate) fn age_days(date: &str) -> Option<f64> {
    let then: Date = date.get(..10)?.parse().ok()?;
    Some(now().duration_since(then).as_hours() as f64 / 24.0)
}
