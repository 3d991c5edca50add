//! One aligned table per run, or one for several runs side by side, and below it what is worth knowing.

use super::caveats;
use super::cells::{Block, blocks};
use super::side_by_side::Comparison;
use super::table::{self, Entry};
use crate::numbers::percent;
use crate::screen::Screen;
use crate::text::{clean, wrap};
use crate::words::columns_sentence;
use calipers_core::{Caveat, Report, RunReport, Value, pluralize};
use unicode_width::UnicodeWidthStr;

/// The report as text.
///
/// Runs that share figures stand side by side; others follow one another.
#[must_use]
pub fn results_text(report: &Report, screen: Screen) -> String {
    let runs = &report.runs;
    let headings = runs.iter().enumerate().map(|(place, run)| heading(&number(place, runs.len()), run, screen));
    let text = if let Some(comparison) = Comparison::new(runs) {
        format!("{}\n{}", headings.collect::<String>(), comparison.text(screen))
    } else {
        let texts: Vec<String> = headings.zip(runs).map(|(heading, run)| heading + &figures(run, screen)).collect();
        texts.join("\n")
    };
    let reductions: String =
        runs.iter().enumerate().map(|(place, run)| reductions(&number(place, runs.len()), run, screen)).collect();
    screen.defuse(&(text + &reductions + &caveats::caveats(report, screen)))
}

/// The reduced scores, sample by sample, where they were asked for.
fn reductions(number: &str, run: &RunReport, screen: Screen) -> String {
    let mut text = String::new();
    for reduction in &run.results.reductions {
        let by = reduction.reducer.as_ref().map_or_else(String::new, |reducer| format!(" · {}", clean(reducer)));
        let title = format!("{number}{}{by}, sample by sample", clean(&reduction.scorer));
        text += &format!("\n{}\n", screen.style.bold(&title));
        let ids: Vec<String> = reduction.samples.iter().map(|(id, _)| clean(&id.to_string())).collect();
        let width = ids.iter().map(|id| id.width()).max().unwrap_or(0).min(screen.width / 2);
        for (id, (_, score)) in ids.iter().zip(&reduction.samples) {
            text += &format!("  {}  {}\n", crate::text::left(id, width), value(&score.value));
        }
    }
    text
}

fn value(value: &Value) -> String {
    match value {
        Value::Missing => "unscored".to_owned(),
        Value::Float(x) => crate::numbers::number(*x),
        other => clean(&other.to_string()),
    }
}

/// The number of one of several runs, by which the tables and caveats name it. The only run needs none.
pub(super) fn number(place: usize, runs: usize) -> String {
    let width = runs.to_string().len();
    if runs == 1 { String::new() } else { format!("{:>width$} ", place + 1) }
}

fn figures(run: &RunReport, screen: Screen) -> String {
    let mut entries = Vec::new();
    for Block { title, figures } in blocks(run) {
        entries.push(Entry::Title(title));
        entries.extend(figures.into_iter().map(|(name, cells)| Entry::Line(name, cells)));
    }
    table::layout(&level_of(std::slice::from_ref(run)), &entries, 2, screen)
}

/// The name of the run, what it is, and what was not read of it.
fn heading(number: &str, run: &RunReport, screen: Screen) -> String {
    let of_file = run.name.as_ref().map_or_else(String::new, |name| format!(" · {}", clean(name)));
    let source = format!("{number}{}{of_file}", clean(&run.source));
    let about = about(run);
    let margin = " ".repeat(number.len());
    let mut text = screen.style.bold(&source);
    if source.width() + 2 + about.width() <= screen.width {
        text += &format!("  {}\n", screen.style.dim(&about));
    } else {
        text.push('\n');
        for line in wrap(&about, screen.width.saturating_sub(number.len() + 2)) {
            text += &format!("{margin}  {}\n", screen.style.dim(&line));
        }
    }
    if !run.columns.is_empty() {
        for line in wrap(&columns_sentence(&run.columns), screen.width.saturating_sub(number.len() + 2)) {
            text += &format!("{margin}  {}\n", screen.style.dim(&line));
        }
    }
    for note in &run.notes {
        for (index, line) in wrap(&clean(note), screen.width.saturating_sub(number.len() + 6)).iter().enumerate() {
            text += &format!("{margin}{}{line}\n", if index == 0 { "note: " } else { "      " });
        }
    }
    text
}

fn about(run: &RunReport) -> String {
    let mut parts = vec![run.format.clone()];
    parts.extend(run.task.as_ref().map(|task| clean(task)));
    parts.extend(run.model.as_ref().map(|model| clean(model)));
    let attempts = run.results.attempts;
    let total = run.samples.total;
    // Of a run that broke off, the announced samples are counted too.
    let announced = run.results.caveats.iter().find_map(|caveat| match caveat {
        Caveat::Incomplete { samples, samples_expected, .. } if samples < samples_expected => {
            Some(format!("{samples} of {}", pluralize(*samples_expected, "sample")))
        }
        _ => None,
    });
    let samples = announced.unwrap_or_else(|| pluralize(total, "sample"));
    parts.push(if attempts == total { samples } else { format!("{samples}, {}", pluralize(attempts, "attempt")) });
    let errored = attempts - run.results.completed_attempts;
    if errored > 0 {
        parts.push(format!("{errored} errored"));
    }
    parts.join(" · ")
}

/// The header of the intervals: all runs of a report have the same level.
pub(super) fn level_of(runs: &[RunReport]) -> String {
    runs.first().map_or_else(String::new, |run| {
        let level = percent(run.results.level);
        match &run.results.cluster[..] {
            [] => format!("{level} interval"),
            fields => format!("{level} interval by {}", fields.join(", ")),
        }
    })
}
