//! A judge on one screen: the rate, how it agrees with people, the groups, and what is worth knowing.

use super::words::{
    ASSUMPTION, FigureRow, agreement, coverage, describe_unjoined, group_cells, group_heads, halving, heading,
    interval_head, method, rates,
};
use crate::numbers::count;
use crate::results::caveats::known_thing;
use crate::screen::Screen;
use crate::text::{abridge, clean, left, right, shorten, wrap};
use crate::words::{caveat_next_step, caveat_sentence};
use calipers_compare::labelled::JudgeReport;
use unicode_width::UnicodeWidthStr;

/// Groups before the rest is counted.
const GROUPS_MAX: usize = 20;
/// As much of a name.
const NAME_MAX: usize = 24;
/// As much of one text as is shown.
const TEXT_MAX: usize = 300;

/// The report as text.
#[must_use]
pub fn judge_text(report: &JudgeReport, screen: Screen) -> String {
    let bold = |text: &str| screen.style.bold(text);
    let wrapped = |text: &str| -> String {
        wrap(&clean(&abridge(text, TEXT_MAX)), screen.width).iter().map(|line| line.clone() + "\n").collect()
    };
    let title: String =
        wrap(&clean(&abridge(&heading(report), TEXT_MAX)), screen.width).iter().map(|line| bold(line) + "\n").collect();
    let mut rates_text = rows(&rates(report), &interval_head(report), screen);
    rates_text += &halving(report).map_or_else(String::new, |sentence| format!("  {sentence}\n"));
    let agreed = rows(&agreement(&report.all, report), &interval_head(report), screen);
    let mut sections = vec![
        format!("{title}{}", wrapped(&coverage(report))),
        rates_text,
        format!("{}\n{agreed}", bold("agreement with people")),
        groups(report, screen),
        list_caveats(report, screen),
        wrapped(ASSUMPTION),
        wrap(&method(report), screen.width).iter().map(|line| screen.style.dim(line) + "\n").collect(),
    ];
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

/// Lines of numbers under a head. A number that is a sentence takes the rest of its line.
fn rows(rows: &[FigureRow], interval: &str, screen: Screen) -> String {
    let is_plain = |row: &&FigureRow| !row.value.starts_with("undefined");
    let width = |cell: fn(&FigureRow) -> usize, least: usize| {
        rows.iter().filter(is_plain).map(cell).max().unwrap_or(0).max(least)
    };
    let names = rows.iter().map(|row| row.name.width()).max().unwrap_or(0);
    let values = width(|row| row.value.width(), 0);
    let intervals = width(|row| row.interval.width(), interval.width());
    let head =
        format!("  {}  {}  {}  {}", left("", names), right("", values), left(interval, intervals), right("n", 6));
    let mut text = format!("{}\n", screen.style.dim(head.trim_end()));
    for row in rows {
        let name = left(row.name, names);
        if row.value.starts_with("undefined") {
            let room = screen.width.saturating_sub(names + 4).max(24);
            let margin = " ".repeat(names + 4);
            let lines = wrap(&clean(&row.value), room);
            text += &format!("  {name}  {}\n", lines.join(&format!("\n{margin}")));
            continue;
        }
        let (value, interval) = (right(&row.value, values), left(&row.interval, intervals));
        text += format!("  {name}  {value}  {interval}  {}", right(&count(row.n), 6)).trim_end();
        text.push('\n');
    }
    text
}

fn groups(report: &JudgeReport, screen: Screen) -> String {
    if report.groups.is_empty() {
        return String::new();
    }
    let short = |name: &str| shorten(&clean(&abridge(name, 200)), NAME_MAX);
    let shown = report.groups.iter().take(GROUPS_MAX);
    let mut lines: Vec<[String; 6]> = vec![group_heads(report)];
    lines.extend(shown.map(|(name, group)| group_cells(name, group, report)));
    lines.iter_mut().for_each(|cells| cells[0] = short(&cells[0]));
    let widths: Vec<usize> = (0..6).map(|at| lines.iter().map(|cells| cells[at].width()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for (at, cells) in lines.iter().enumerate() {
        let cell = |(at, cell): (usize, &String)| match at {
            0 | 5 => left(cell, widths[at]),
            _ => right(cell, widths[at]),
        };
        let line = cells.iter().enumerate().map(cell).collect::<Vec<String>>().join("  ");
        let line = format!("  {}", line.trim_end());
        text += &if at == 0 { screen.style.dim(&line) } else { line };
        text.push('\n');
    }
    let more = report.groups.len().saturating_sub(GROUPS_MAX);
    if more > 0 {
        text += &format!("  and {} more{}\n", count(more as u64), screen.where_all());
    }
    text
}

/// What was not joined, and the caveats.
fn list_caveats(report: &JudgeReport, screen: Screen) -> String {
    let mut text: String = describe_unjoined(report)
        .iter()
        .map(|sentence| known_thing(&abridge(sentence, TEXT_MAX), None, screen))
        .collect();
    for caveat in &report.caveats {
        text += &known_thing(&abridge(&caveat_sentence(caveat), TEXT_MAX), caveat_next_step(caveat).as_deref(), screen);
    }
    if text.is_empty() { text } else { format!("{}\n{text}", screen.style.bold("worth knowing")) }
}
