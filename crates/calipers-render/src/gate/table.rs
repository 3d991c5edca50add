//! The gates as a table: blocking ones, then those that only warn.

use crate::gate::cells::Cells;
use crate::gate::rule_words::requirement;
use crate::gate::words::{interval_header, remarks};
use crate::screen::{FlagNames, Screen};
use crate::text::{abridge, clean, left, right, wrap};
use calipers_gate::policy::Level;
use calipers_gate::{BaselineReason, GateKind, GateReason, GateReport, GateResult};
use unicode_width::UnicodeWidthStr;

/// A name column narrower than this is no help; names that do not fit get a separate line.
const NAME_MIN: usize = 8;
/// Words are not squeezed into less than this.
const WORDS_MIN: usize = 24;
/// As much of one text as is shown.
const TEXT_MAX: usize = 400;
/// As much of a name.
const NAME_MAX: usize = 120;
/// Of one level, so many gates are shown before the rest is counted; those that did not pass come first then.
const GATES_MAX: usize = 30;

/// The columns: estimate, the same without weights, interval, threshold, margin, n.
type Columns = [usize; COLUMNS];
const COLUMNS: usize = 6;
/// A threshold as understood is shown in its column up to this width.
const UNDERSTOOD_MAX: usize = 24;

struct Row<'a> {
    gate: &'a GateResult,
    name: String,
    cells: Cells,
}

struct Table<'a> {
    report: &'a GateReport,
    screen: Screen,
    header: [String; COLUMNS],
    columns: Columns,
    verdict: usize,
    name: usize,
    /// Whether thresholds are shown as understood, with counts.
    is_wide: bool,
}

/// The gates as lines, or nothing if there are none.
pub(super) fn gates(report: &GateReport, screen: Screen) -> String {
    let levels = [(Level::Blocking, "blocking"), (Level::Warning, "warning")];
    let groups: Vec<(&str, Vec<Row<'_>>, usize)> = levels
        .iter()
        .map(|(level, title)| {
            let (rows, more) = rows(report, *level, screen.flags);
            (*title, rows, more)
        })
        .filter(|(_, rows, _)| !rows.is_empty())
        .collect();
    let all: Vec<&Row<'_>> = groups.iter().flat_map(|(_, rows, _)| rows).collect();
    let wide = Table::new(report, &all, true, screen);
    let table = if wide.width() <= screen.width { wide } else { Table::new(report, &all, false, screen) };
    let mut text = String::new();
    for (place, (title, rows, more)) in groups.iter().enumerate() {
        text += if place == 0 { "" } else { "\n" };
        let has_numbers = all.iter().any(|row| row.cells.words.is_empty());
        let header = if place == 0 && has_numbers { table.header_line(title) } else { (*title).to_owned() };
        text += &format!("{}\n", screen.style.dim(&header));
        text.extend(rows.iter().map(|row| table.line(row)));
        if *more > 0 {
            text += &format!("and {more} more that passed{}\n", screen.where_all());
        }
    }
    text
}

/// The gates of a level that are shown, and how many more have passed. What did not pass is never left out.
fn rows(report: &GateReport, level: Level, flags: FlagNames) -> (Vec<Row<'_>>, usize) {
    let gates: Vec<&GateResult> = report.gates.iter().filter(|gate| gate.level == level).collect();
    let passed = |gate: &GateResult| gate.verdict == calipers_core::Verdict::Pass;
    let mut room = GATES_MAX.saturating_sub(gates.iter().filter(|gate| !passed(gate)).count());
    let mut shown = Vec::new();
    for gate in &gates {
        if passed(gate) {
            if room == 0 {
                continue;
            }
            room -= 1;
        }
        let mut cells = Cells::of(gate);
        if let (GateReason::Baseline(BaselineReason::NotGiven), Some(flag)) = (&gate.reason, flags.baseline) {
            cells.words += &format!("; name one with `{flag}`");
        }
        shown.push(Row { gate, name: clean(&abridge(&short_name(gate, &cells.name), NAME_MAX)), cells });
    }
    let more = gates.len() - shown.len();
    (shown, more)
}

/// True if a gate has another estimate without weights, so that the table has a column for it.
pub(super) fn has_plain_column(report: &GateReport) -> bool {
    report.gates.iter().any(|gate| !Cells::of(gate).without_weights.is_empty())
}

/// The pass rate of a category goes by its name alone: there are many of them, and little room.
fn short_name(gate: &GateResult, name: &str) -> String {
    match &gate.kind {
        GateKind::Category(category) => format!("[{category}]"),
        _ => name.to_owned(),
    }
}

impl<'a> Table<'a> {
    fn new(report: &'a GateReport, rows: &[&Row<'_>], is_wide: bool, screen: Screen) -> Self {
        let is_weighted = rows.iter().any(|row| !row.cells.without_weights.is_empty());
        let without_weights = if is_weighted { "plain" } else { "" };
        let header =
            ["estimate", without_weights, &interval_header(report), "threshold", "margin", "n"].map(str::to_owned);
        let mut table = Self {
            report,
            screen,
            columns: header.each_ref().map(|cell| cell.width()),
            header,
            verdict: 0,
            name: 0,
            is_wide,
        };
        for row in rows {
            table.verdict = table.verdict.max(row.gate.verdict.name().len());
            if row.cells.words.is_empty() {
                table.name = table.name.max(row.name.width());
                let cells = table.cells(row);
                for (column, cell) in table.columns.iter_mut().zip(cells) {
                    *column = (*column).max(cell.width());
                }
            }
        }
        if !is_wide {
            let room = screen.width.saturating_sub(table.width() - table.name).max(NAME_MIN);
            table.name = table.name.min(room);
        }
        table
    }

    fn width(&self) -> usize {
        let columns = self.columns.iter().filter(|column| **column > 0);
        self.verdict + 2 + self.name + columns.map(|column| column + 2).sum::<usize>()
    }

    fn cells<'r>(&self, row: &'r Row<'_>) -> [&'r str; COLUMNS] {
        let cells = &row.cells;
        let understood = cells.requirement();
        let is_short = self.is_wide && understood.width() <= UNDERSTOOD_MAX;
        let threshold = if is_short || cells.threshold.is_empty() { understood } else { &cells.threshold };
        // Points of per cent need no sign here: they stand beside per cents.
        let margin = cells.margin.trim_end_matches(" pp");
        [&cells.estimate, &cells.without_weights, &cells.interval, threshold, margin, &cells.n]
    }

    fn header_line(&self, title: &str) -> String {
        self.row(left(title, self.verdict + 2 + self.name), &self.header.each_ref().map(String::as_str))
    }

    fn row(&self, start: String, cells: &[&str; COLUMNS]) -> String {
        let mut line = start;
        for (place, (cell, &width)) in cells.iter().zip(&self.columns).enumerate().filter(|(_, (_, width))| **width > 0)
        {
            // Intervals and thresholds begin in a line, numbers end in one.
            let is_text = matches!(place, 2 | 3);
            line += "  ";
            line += &if is_text { left(cell, width) } else { right(cell, width) };
        }
        line.trim_end().to_owned()
    }

    fn line(&self, row: &Row<'_>) -> String {
        let verdict = row.gate.verdict;
        let margin = self.verdict + 2;
        let word = self.screen.style.verdict(verdict, verdict.name());
        let mut text = format!("{word}{}", " ".repeat(margin - verdict.name().len()));
        let mut name = row.name.clone();
        let has_numbers = row.cells.words.is_empty();
        let is_long = name.width() > if has_numbers { self.name } else { self.screen.width / 2 };
        if is_long {
            for line in wrap(&name, self.screen.width.saturating_sub(margin).max(WORDS_MIN)) {
                text += &format!("{line}\n{}", " ".repeat(margin));
            }
            name = String::new();
        }
        if has_numbers {
            let cells = self.cells(row).map(clean);
            text += &self.row(left(&name, self.name), &cells.each_ref().map(String::as_str));
            text.push('\n');
        } else {
            text += &self.words(&left(&name, self.name), &row.cells.words);
        }
        let formula = (row.gate.kind == GateKind::Composite).then(|| requirement(row.gate));
        for remark in formula.into_iter().chain(remarks(row.gate, self.report)) {
            for line in wrap(&clean(&abridge(&remark, TEXT_MAX)), self.screen.width.saturating_sub(margin + 2)) {
                text += &format!("{}{}\n", " ".repeat(margin + 2), self.screen.style.dim(&line));
            }
        }
        text
    }

    /// Words beside a name, in place of numbers.
    fn words(&self, name: &str, words: &str) -> String {
        let margin = self.verdict + 2 + name.width() + 2;
        let room = self.screen.width.saturating_sub(margin).max(WORDS_MIN);
        let lines = wrap(&clean(&abridge(words, TEXT_MAX)), room);
        format!("{name}  {}\n", lines.join(&format!("\n{}", " ".repeat(margin))))
    }
}
