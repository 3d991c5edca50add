//! A baseline for people: where it comes from, its metrics, and its scenarios by outcome.

use crate::gate::words::{first_of, outcome_parts};
use crate::numbers::Scale;
use crate::screen::Screen;
use crate::text::{clean, left, right, wrap};
use calipers_core::{OutcomeCounts, Unit, pluralize};
use calipers_gate::{Baseline, BaselineMetric};
use unicode_width::UnicodeWidthStr;

/// As many files are named.
const FILES_MAX: usize = 3;
/// As much of a hash tells two policies apart.
const HASH_DIGITS: usize = 12;

/// A baseline as lines. It does not say in what unit its metrics are, so `unit` does.
#[must_use]
pub fn baseline_text(
    baseline: &Baseline,
    age_days: Option<f64>,
    unit: &dyn Fn(&str) -> Unit,
    screen: Screen,
) -> String {
    let mut text = format!("{}\n", screen.style.bold(&clean(&title(baseline, age_days))));
    for line in wrap(&clean(&origin(baseline)), screen.width) {
        text += &format!("{}\n", screen.style.dim(&line));
    }
    text += &format!("\n{}", metrics(baseline, unit, screen));
    text += &format!("\n{}\n", scenarios(&baseline.counts()));
    if let Some(age) = age_days.filter(|age| *age > Baseline::STALE_DAYS) {
        text += &format!(
            "\nstale: it is {} old\n  → record it again with `calipers baseline record`\n",
            pluralize(age.round(), "day")
        );
    }
    screen.defuse(&text)
}

fn title(baseline: &Baseline, age_days: Option<f64>) -> String {
    let mut title = baseline.source.clone();
    match &baseline.date {
        Some(date) => title += &format!(", recorded {date}"),
        None => title += ", without a date",
    }
    match age_days.map(f64::floor) {
        Some(days) if days > 0.0 => title += &format!(" ({} old)", pluralize(days as u64, "day")),
        Some(0.0) => title += " (today)",
        Some(_) => title += " (in the future)",
        None => {}
    }
    if baseline.tool.is_empty() { title } else { format!("{title} by {}", baseline.tool) }
}

fn origin(baseline: &Baseline) -> String {
    let mut parts = Vec::new();
    if !baseline.files.is_empty() {
        parts.push(format!("from {}", first_of(&baseline.files, FILES_MAX)));
    }
    parts.extend(baseline.model.clone());
    parts.extend(baseline.reducer.as_ref().map(|reducer| format!("attempts reduced by {reducer}")));
    let hash = baseline.policy_hash.as_ref().map(|hash| hash.chars().take(HASH_DIGITS).collect::<String>());
    parts.extend(hash.map(|hash| format!("policy {hash}")));
    parts.join(" · ")
}

fn metrics(baseline: &Baseline, unit: &dyn Fn(&str) -> Unit, screen: Screen) -> String {
    let row = |(name, metric): (&String, &BaselineMetric)| {
        let scale = Scale::of(unit(name), metric.value);
        let interval = metric.interval.map(|(lower, upper)| scale.interval(Some(lower), Some(upper)));
        [clean(name), scale.text(metric.value), interval.unwrap_or_default(), metric.n.to_string()]
    };
    let mut rows = vec![["", "estimate", "95 % interval", "n"].map(str::to_owned)];
    rows.extend(baseline.metrics.iter().map(row));
    let width = |column: usize| rows.iter().map(|row| row[column].width()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2), width(3)];
    let line = |[name, estimate, interval, n]: &[String; 4]| {
        let cells = [left(name, widths[0]), right(estimate, widths[1]), left(interval, widths[2]), right(n, widths[3])];
        cells.join("  ").trim_end().to_owned()
    };
    let mut text = format!("{}\n", screen.style.dim(&line(&rows[0])));
    text.extend(rows[1..].iter().map(|row| line(row) + "\n"));
    text
}

fn scenarios(counts: &OutcomeCounts) -> String {
    format!("{}: {}", pluralize(counts.total, "scenario"), outcome_parts(counts, 0).join(", "))
}
