//! The runs of a history for a terminal, a line each.

use super::{HistoryList, HistoryRun};
use crate::numbers::count;
use crate::results::figure_scale;
use crate::screen::Screen;
use crate::text::{clean, left, right, shorten};
use crate::view::date_of;
use calipers_core::pluralize;
use unicode_width::UnicodeWidthStr;

/// A part of a history as a table: key, date, suite, model, version, samples, the first figure and the verdict.
#[must_use]
pub fn history_text(list: &HistoryList, screen: Screen) -> String {
    if list.runs.is_empty() {
        let nothing = if list.total == 0 { "no runs" } else { "no more runs" };
        return format!("{nothing}\n");
    }
    let rows: Vec<[String; 7]> = list.runs.iter().map(row).collect();
    let header = ["run", "date", "suite", "model", "version", "samples", "first figure"].map(str::to_owned);
    let width = |column: usize| {
        let widest = rows.iter().chain([&header]).map(|row| row[column].width()).max().unwrap_or(0);
        widest.min(MOST[column])
    };
    let has_text = |column: &usize| rows.iter().any(|row| !row[*column].is_empty());
    let columns: Vec<usize> = (0..header.len()).filter(has_text).collect();
    let mut widths: Vec<usize> = (0..header.len()).map(width).collect();
    shrink(&mut widths, &columns, screen.width);
    let line = |row: &[String; 7]| {
        let cells = columns.iter().map(|&column| {
            let text = shorten(&row[column], widths[column]);
            if column == 5 { right(&text, widths[column]) } else { left(&text, widths[column]) }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines = vec![screen.style.dim(&line(&header))];
    for (run, row) in list.runs.iter().zip(&rows) {
        lines.push(line(row));
        lines.extend(remarks(run).map(|remark| format!("  {}", shorten(&remark, screen.width.saturating_sub(2)))));
    }
    let last = list.first + list.runs.len() as u64;
    if (list.runs.len() as u64) < list.total {
        lines.push(String::new());
        lines.push(format!("{} to {} of {}", count(list.first + 1), count(last), pluralize(list.total, "run")));
    }
    screen.defuse(&(lines.join("\n") + "\n"))
}

/// The most columns that a cell takes.
const MOST: [usize; 7] = [8, 20, 24, 28, 14, 14, 40];
/// As many letters of a key tell it from others.
const KEY_SHOWN: usize = 8;

/// Names give way to numbers: suite, model and version become narrower until a line fits.
fn shrink(widths: &mut [usize], columns: &[usize], screen: usize) {
    const LEAST: usize = 8;
    loop {
        let line: usize = columns.iter().map(|&column| widths[column] + 2).sum::<usize>().saturating_sub(2);
        let widest = [2, 3, 4, 6].into_iter().filter(|column| columns.contains(column)).max_by_key(|&c| widths[c]);
        match widest.filter(|&column| line > screen && widths[column] > LEAST) {
            Some(column) => widths[column] -= 1,
            None => return,
        }
    }
}

fn row(run: &HistoryRun) -> [String; 7] {
    let figure = run.headline().map_or_else(String::new, |figure| {
        let name = clean(&figure.metric);
        figure.value.map_or_else(
            || format!("{name} undefined"),
            |value| {
                let scale = figure_scale(figure.unit, value);
                let interval = if figure.has_interval() {
                    format!(" {}", scale.interval(figure.lower, figure.upper))
                } else {
                    String::new()
                };
                format!("{name} {}{interval}", scale.text(value))
            },
        )
    });
    let samples = match run.never_ran() {
        0 => count(run.counts.total),
        _ => format!("{} of {}", count(run.counts.total), count(run.expected.unwrap_or_default())),
    };
    [
        run.key.chars().take(KEY_SHOWN).collect(),
        date_of(run),
        clean(&run.suite),
        clean(run.model.as_deref().unwrap_or_default()),
        clean(run.version_or_commit().unwrap_or_default()),
        samples,
        figure,
    ]
}

/// What to know before its number is used.
fn remarks(run: &HistoryRun) -> impl Iterator<Item = String> {
    let verdict = run.verdict.as_ref().map(|verdict| {
        let hash: String = verdict.policy_hash.chars().take(8).collect();
        format!("{} by {} ({hash})", verdict.verdict.name(), clean(&verdict.policy))
    });
    let errored = (run.counts.errored > 0).then(|| format!("{} errored", pluralize(run.counts.errored, "sample")));
    let unscored =
        (run.counts.unscored > 0).then(|| format!("{} without a score", pluralize(run.counts.unscored, "sample")));
    let ending = (run.ending != "finished").then(|| match run.ending.as_str() {
        "open" => "still running, or killed".to_owned(),
        other => format!("the run was {}", clean(other)),
    });
    let invalid = run.invalid.as_ref().map(|why| format!("not counted: {}", clean(why)));
    let gone = run.is_gone.then(|| "its file is gone".to_owned());
    [verdict, errored, unscored, ending, invalid, gone].into_iter().flatten()
}
