//! Many runs in one table: a line per run, with the figures that fit.

use super::caveats;
use super::cells::{Block, Cells, FROM_RECORDED_ERROR, blocks};
use super::side_by_side::names;
use super::text::{level_of, number};
use crate::screen::Screen;
use crate::text::{clean, join_names, left, right, shorten, wrap};
use crate::words::columns_sentence;
use calipers_core::{Family, Registry, Report, RunReport, pluralize};
use indexmap::IndexMap;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use unicode_width::UnicodeWidthStr;

/// The report as one table with a line per run.
///
/// Runs of one file that differ only in their task share a line, with a column per task. Of the figures, as many are shown as
/// fit side by side, the first of each score before the others; the rest is counted. Lines are in the order in which people
/// count: step 2 before step 10.
#[must_use]
pub fn results_table(report: &Report, screen: Screen) -> String {
    let mut sorted = report.clone();
    sorted.runs.sort_by(|a, b| natural_order(&a.source, &b.source));
    let table = CompactTable::new(&sorted.runs, screen);
    let names: Vec<String> = (1..=table.labels.len()).map(|line| line.to_string()).collect();
    let lines: Vec<&str> = table.line_of_run.iter().map(|line| names[*line].as_str()).collect();
    heading(&sorted, &lines, table.labels.len(), screen)
        + &table.text(screen)
        + &caveats::caveats_by_name(&sorted, &lines, table.labels.len(), screen)
}

/// The order of texts with numbers in them: digits are compared as the number that they are.
fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let (in_a, in_b) = (digits(a), digits(b));
        if in_a > 0 && in_b > 0 {
            let (number_a, number_b) = (a[..in_a].trim_start_matches('0'), b[..in_b].trim_start_matches('0'));
            let order = number_a.len().cmp(&number_b.len()).then_with(|| number_a.cmp(number_b));
            if order != Ordering::Equal {
                return order;
            }
            (a, b) = (&a[in_a..], &b[in_b..]);
            continue;
        }
        let (mut rest_a, mut rest_b) = (a.chars(), b.chars());
        match (rest_a.next(), rest_b.next()) {
            (Some(next_a), Some(next_b)) if next_a == next_b => (a, b) = (rest_a.as_str(), rest_b.as_str()),
            (next_a, next_b) => return next_a.cmp(&next_b),
        }
    }
}

/// What all runs are, and what was not read of them.
fn heading(report: &Report, lines: &[&str], lines_total: usize, screen: Screen) -> String {
    let runs = &report.runs;
    let distinct = |part: fn(&RunReport) -> Option<&String>| {
        let found: BTreeSet<String> = runs.iter().filter_map(part).map(|part| clean(part)).collect();
        found.into_iter().collect::<Vec<String>>()
    };
    let mut parts = distinct(|run| Some(&run.format));
    parts.extend([distinct(|run| run.task.as_ref()), distinct(|run| run.model.as_ref())].iter().filter_map(|found| {
        // What differs between runs names them.
        if let [one] = &found[..] { Some(one.clone()) } else { None }
    }));
    let title = screen.style.bold(&pluralize(runs.len(), "run"));
    let mut text = format!("{title}  {}\n", screen.style.dim(&parts.join(" · ")));
    let mut notes: IndexMap<String, Vec<String>> = IndexMap::new();
    for (line, run) in lines.iter().zip(runs) {
        let columns = (!run.columns.is_empty()).then(|| columns_sentence(&run.columns));
        for note in columns.into_iter().chain(run.notes.iter().map(|note| format!("note: {}", clean(note)))) {
            let about = notes.entry(note).or_default();
            if about.last().map(String::as_str) != Some(line) {
                about.push((*line).to_owned());
            }
        }
    }
    const NOTES_MAX: usize = 6;
    for (note, about) in notes.iter().take(NOTES_MAX) {
        let about = match about.len() {
            all if all == lines_total => String::new(),
            1 => format!(" (line {})", about[0]),
            _ => format!(" (lines {})", join_names(about)),
        };
        for words in wrap(&format!("{note}{about}"), screen.width.saturating_sub(2)) {
            text += &format!("  {}\n", screen.style.dim(&words));
        }
    }
    if notes.len() > NOTES_MAX {
        text += &format!("  and {}{}\n", pluralize(notes.len() - NOTES_MAX, "more note"), screen.where_all());
    }
    text
}

/// A figure that runs have: the score that it is of, its name, and its cells by run.
struct FigureColumn {
    title: String,
    name: String,
    cells: Vec<Option<Cells>>,
}

struct CompactTable {
    labels: Vec<String>,
    /// The line of each run.
    line_of_run: Vec<usize>,
    columns: Vec<FigureColumn>,
    /// How many figures are left out.
    hidden: usize,
    /// True when intervals come from recorded errors.
    is_recorded: bool,
    level: String,
}

/// True for the errors of other figures, which intervals show already: metrics of that family, and figures that other
/// programs recorded under such a name.
fn is_error(name: &str) -> bool {
    let metric = name.split('(').next().unwrap_or(name);
    let about = Registry::builtin().about(metric);
    about.map_or_else(|| name.ends_with("_stderr"), |about| about.family == Family::Error)
}

/// The names of lines, with their numbers, and without what all of them begin with.
fn line_names(runs: &[&RunReport], is_by_task: bool) -> Vec<String> {
    let names = names(runs, !is_by_task);
    let is_break = |c: char| matches!(c, '/' | '-' | '_' | '@' | ' ' | '=');
    let shared = names.iter().skip(1).fold(names.first().map_or(0, String::len), |shared, name| {
        let first = names[0].char_indices().take_while(|(at, c)| name[(*at).min(name.len())..].starts_with(*c));
        first.last().map_or(0, |(at, c)| at + c.len_utf8()).min(shared)
    });
    let shared = names.first().and_then(|name| name[..shared].rfind(is_break)).unwrap_or(0);
    let cut = |name: &String| if shared > PREFIX_MAX { format!("…{}", &name[shared..]) } else { name.clone() };
    names.iter().enumerate().map(|(place, name)| number(place, runs.len()) + &cut(name)).collect()
}

/// What all names begin with is left out if it is longer than this.
const PREFIX_MAX: usize = 12;

/// What a line is about: runs that differ only in their task share one.
type LineKey<'a> = (&'a str, Option<&'a str>, Option<&'a str>);

fn line_key(run: &RunReport) -> LineKey<'_> {
    (&run.source, run.name.as_deref(), run.model.as_deref())
}

impl CompactTable {
    fn new(runs: &[RunReport], screen: Screen) -> Self {
        let mut by_key: IndexMap<LineKey<'_>, usize> = IndexMap::new();
        let mut line_of_run = Vec::new();
        let mut firsts = Vec::new();
        for run in runs {
            let next = by_key.len();
            let line = *by_key.entry(line_key(run)).or_insert(next);
            if line == next {
                firsts.push(run);
            }
            line_of_run.push(line);
        }
        let is_by_task = firsts.len() < runs.len();
        let mut is_recorded = false;
        let mut found: IndexMap<(String, String), Vec<Option<Cells>>> = IndexMap::new();
        for (report, line) in runs.iter().zip(&line_of_run) {
            for Block { title, figures } in blocks(report) {
                let title = match title.strip_suffix(FROM_RECORDED_ERROR) {
                    Some(title) => {
                        is_recorded = true;
                        title.to_owned()
                    }
                    None => title,
                };
                for (name, cells) in figures {
                    // A metric that is called as its score is needs no second name.
                    let title = match report.task.as_ref().filter(|_| is_by_task) {
                        Some(task) if title == name => clean(task),
                        Some(task) => format!("{}: {title}", clean(task)),
                        None => title.clone(),
                    };
                    let column = found.entry((title, name)).or_insert_with(|| vec![None; firsts.len()]);
                    column[*line].get_or_insert(cells);
                }
            }
        }
        let all = found.len();
        let columns = found.into_iter().map(|((title, name), cells)| FigureColumn { title, name, cells });
        let mut columns: Vec<FigureColumn> = columns.collect();
        // The first figure of each score, then the others; errors only where there is nothing else.
        let mut seen = BTreeSet::new();
        let rank = |column: &FigureColumn, seen: &mut BTreeSet<String>| {
            let is_error = is_error(&column.name);
            let is_first = !is_error && seen.insert(column.title.clone());
            (is_error, !is_first)
        };
        let ranks: Vec<(bool, bool)> = columns.iter().map(|column| rank(column, &mut seen)).collect();
        let mut order: Vec<usize> = (0..columns.len()).collect();
        order.sort_by_key(|at| ranks[*at]);
        let chosen = order.iter().filter(|at| !ranks[**at].0 || ranks.iter().all(|rank| rank.0)).copied();
        let chosen: Vec<usize> = chosen.collect();
        let mut kept = Vec::new();
        let labels: Vec<String> =
            line_names(&firsts, is_by_task).iter().map(|name| shorten(name, screen.width * 2 / 5)).collect();
        let level = level_of(runs);
        let cells = || columns.iter().flat_map(|column| column.cells.iter().flatten());
        let n = cells().map(|cells| cells.n.width()).max().unwrap_or(0);
        let missing = if cells().any(|cells| !cells.missing.is_empty()) { 2 + "missing".len() } else { 0 };
        let label = labels.iter().map(|label| label.width()).max().unwrap_or(0);
        let mut room = screen.width.saturating_sub(label + missing + if n > 0 { n + 2 } else { 0 });
        for at in chosen {
            let width = columns[at].width(&level) + 2;
            if kept.is_empty() || width <= room {
                room = room.saturating_sub(width);
                kept.push(at);
            } else {
                break;
            }
        }
        let errors = columns.iter().filter(|column| is_error(&column.name)).count();
        let errors = if ranks.iter().all(|rank| rank.0) { 0 } else { errors };
        let hidden = all - errors - kept.len();
        let mut place = 0;
        columns.retain(|_| {
            place += 1;
            kept.contains(&(place - 1))
        });
        Self { labels, line_of_run, columns, hidden, level, is_recorded }
    }

    fn text(&self, screen: Screen) -> String {
        let label = self.labels.iter().map(|label| label.width()).max().unwrap_or(0);
        let widths: Vec<usize> = self.columns.iter().map(|column| column.width(&self.level)).collect();
        let counts: Vec<(String, String)> = (0..self.labels.len()).map(|run| self.count(run)).collect();
        let n = counts.iter().map(|(n, _)| n.width()).max().unwrap_or(0);
        let has_missing = counts.iter().any(|(_, missing)| !missing.is_empty());
        let line = |start: &str, cells: &[String], n_cell: &str, missing: &str| {
            let mut text = left(start, label);
            for (cell, width) in cells.iter().zip(&widths) {
                text += &format!("  {}", left(cell, *width));
            }
            if n > 0 {
                text += &format!("  {}", right(n_cell, n));
            }
            if has_missing {
                text += &format!("  {}", right(missing, "missing".len()));
            }
            text.trim_end().to_owned()
        };
        let mut text = String::new();
        // A score that is called as its only metric is needs no second name.
        let title =
            |column: &FigureColumn| if column.title == column.name { String::new() } else { column.title.clone() };
        let titles: Vec<String> = self.columns.iter().map(title).collect();
        let shown = |cells: &[String]| {
            cells.iter().zip(&widths).map(|(cell, width)| shorten(cell, *width)).collect::<Vec<String>>()
        };
        text.push('\n');
        if titles.iter().any(|title| !title.is_empty()) {
            text += &format!("{}\n", screen.style.bold(&line("", &shown(&titles), "", "")));
        }
        let names: Vec<String> = self.columns.iter().map(|column| column.header(&self.level)).collect();
        text += &format!("{}\n", screen.style.dim(&line("", &shown(&names), "n", "missing")));
        for (run, name) in self.labels.iter().enumerate() {
            let cells: Vec<String> = self.columns.iter().map(|column| column.cell(run)).collect();
            let (n, missing) = &counts[run];
            text += &format!("{}\n", line(name, &cells, n, missing));
        }
        if self.is_recorded {
            text += "\n  as recorded; intervals from the recorded standard errors\n";
        }
        let undefined: usize = self.columns.iter().map(FigureColumn::undefined).sum();
        if undefined > 0 {
            text += &format!("\n  {} undefined here{}\n", pluralize(undefined, "figure"), screen.where_all());
        }
        if self.hidden > 0 {
            let figures = pluralize(self.hidden, "figure");
            text += &format!("\n  and {figures} more{}\n", screen.where_more());
        }
        text
    }

    /// The samples of a run, and those without a score, where its figures agree on them.
    fn count(&self, run: usize) -> (String, String) {
        let cells = || self.columns.iter().filter_map(|column| column.cells[run].as_ref());
        let ns: BTreeSet<&String> = cells().map(|cells| &cells.n).collect();
        let missing: BTreeSet<&String> = cells().map(|cells| &cells.missing).collect();
        let only = |set: &BTreeSet<&String>| match set.len() {
            1 => set.first().map(|one| (*one).clone()).unwrap_or_default(),
            0 => String::new(),
            _ => "–".to_owned(),
        };
        (only(&ns), only(&missing))
    }
}

impl FigureColumn {
    fn header(&self, level: &str) -> String {
        if self.cells.iter().flatten().any(|cells| !cells.interval.is_empty()) {
            format!("{}, {level}", self.name)
        } else {
            self.name.clone()
        }
    }

    fn cell(&self, run: usize) -> String {
        match &self.cells[run] {
            None => String::new(),
            Some(cells) if cells.estimate.is_empty() => "–".to_owned(),
            Some(cells) => format!("{} {}", cells.estimate, cells.interval).trim_end().to_owned(),
        }
    }

    fn undefined(&self) -> usize {
        self.cells.iter().flatten().filter(|cells| cells.estimate.is_empty()).count()
    }

    fn width(&self, level: &str) -> usize {
        let cells = (0..self.cells.len()).map(|run| self.cell(run).width()).max().unwrap_or(0);
        // The title may be long, and is shortened before a figure is left out.
        cells.max(self.header(level).width().min(28))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_in_the_order_of_numbers() {
        let mut names = ["step10", "step2", "step", "step2b", "step02", "a", "step10a2", "step10a10"];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(names, ["a", "step", "step2", "step02", "step2b", "step10", "step10a2", "step10a10"]);
        assert_eq!(natural_order("99999999999999999999999", "100000000000000000000000"), Ordering::Less);
    }
}
