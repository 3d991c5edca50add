//! Several runs side by side: a column per run where the screen is wide enough, else a line per run under each metric, where
//! numbers that are compared stand below one another.

use super::cells::{Block, Cells, blocks};
use super::table::{self, Entry};
use super::text::{level_of, number};
use crate::screen::Screen;
use crate::text::{clean, left, right, shorten, wrap};
use calipers_core::{RunIdentity, RunReport, telling_names};
use std::collections::{BTreeMap, HashMap};
use unicode_width::UnicodeWidthStr;

/// The figures of all runs under the same titles and names.
pub(super) struct Comparison<'a> {
    runs: &'a [RunReport],
    titles: Vec<(String, Vec<Row>)>,
}

/// A figure in each of the runs; some may lack it.
struct Row {
    name: String,
    /// By the place of the run.
    cells: BTreeMap<usize, Cells>,
}

impl<'a> Comparison<'a> {
    /// The comparison, if at least two runs share a figure.
    pub(super) fn new(runs: &'a [RunReport]) -> Option<Self> {
        if runs.len() < 2 {
            return None;
        }
        let mut titles: Vec<(String, Vec<Row>)> = Vec::new();
        let mut title_places: HashMap<String, usize> = HashMap::new();
        // The rows of a name under a title.
        let mut row_places: HashMap<(usize, String), Vec<usize>> = HashMap::new();
        for (run, report) in runs.iter().enumerate() {
            for Block { title, figures } in blocks(report) {
                let title_place = *title_places.entry(title.clone()).or_insert(titles.len());
                if title_place == titles.len() {
                    titles.push((title, Vec::new()));
                }
                let rows = &mut titles[title_place].1;
                for (name, cells) in figures {
                    // Within one run each name occurs once; a second figure of the same name gets a separate row.
                    let places = row_places.entry((title_place, name.clone())).or_default();
                    let place = places.iter().copied().find(|&place| !rows[place].cells.contains_key(&run));
                    let place = place.unwrap_or_else(|| {
                        rows.push(Row { name, cells: BTreeMap::new() });
                        places.push(rows.len() - 1);
                        rows.len() - 1
                    });
                    rows[place].cells.insert(run, cells);
                }
            }
        }
        let shared = |row: &Row| row.cells.len() > 1;
        titles.iter().any(|(_, rows)| rows.iter().any(shared)).then_some(Self { runs, titles })
    }

    pub(super) fn text(&self, screen: Screen) -> String {
        let labels = labels(&self.runs.iter().collect::<Vec<_>>());
        self.columns(&labels, screen).unwrap_or_else(|| self.lines(&labels, screen))
    }

    /// A line per run.
    fn lines(&self, labels: &[String], screen: Screen) -> String {
        // A label is an aid beside the number of its run, so it gives way to the figures.
        let room = screen.width / 3;
        let labels: Vec<String> = labels.iter().map(|label| shorten(label, room)).collect();
        let mut entries = Vec::new();
        for (title, rows) in &self.titles {
            entries.push(Entry::Title(title.clone()));
            for row in rows {
                entries.push(Entry::Subtitle(row.name.clone()));
                entries.extend(row.cells.iter().map(|(run, cells)| Entry::Line(labels[*run].clone(), cells.clone())));
            }
        }
        table::layout(&level_of(self.runs), &entries, 4, screen)
    }

    /// A column a run, if all of them fit.
    fn columns(&self, labels: &[String], screen: Screen) -> Option<String> {
        if self.runs.len() > screen.width / GAP {
            return None;
        }
        let rows = || self.titles.iter().flat_map(|(_, rows)| rows);
        let name = rows().map(|row| row.name.width()).max().unwrap_or(0);
        let header = level_of(self.runs);
        let columns: Vec<Column> = (0..self.runs.len())
            .map(|run| Column::new(&header, rows().filter_map(|row| row.cells.get(&run))))
            .collect();
        let width = 2 + name + columns.iter().map(|column| GAP + column.width()).sum::<usize>();
        if width > screen.width {
            return None;
        }
        let line = |start: &str, cells: &[String]| {
            let cells = cells.iter().zip(&columns).map(|(cell, column)| left(cell, column.width()));
            let cells: Vec<String> = cells.collect();
            let gap = " ".repeat(GAP);
            format!("  {}{gap}{}", left(start, name), cells.join(&gap)).trim_end().to_owned()
        };
        let labels: Vec<String> =
            labels.iter().zip(&columns).map(|(label, column)| shorten(label, column.width())).collect();
        let headers: Vec<String> = columns.iter().map(|column| column.header(&header)).collect();
        let mut text = format!("{}\n", screen.style.bold(&line("", &labels)));
        text += &format!("{}\n", screen.style.dim(&line("", &headers)));
        for (index, (title, rows)) in self.titles.iter().enumerate() {
            if index > 0 {
                text.push('\n');
            }
            text += &format!("{}\n", screen.style.bold(title));
            for row in rows {
                let cells: Vec<Vec<String>> =
                    columns.iter().enumerate().map(|(run, column)| column.cells(row.cells.get(&run))).collect();
                let height = cells.iter().map(Vec::len).max().unwrap_or(0);
                for at in 0..height {
                    let part = |lines: &Vec<String>| lines.get(at).cloned().unwrap_or_default();
                    let start = if at == 0 { &*row.name } else { "" };
                    text += &format!("{}\n", line(start, &cells.iter().map(part).collect::<Vec<_>>()));
                }
            }
        }
        Some(text)
    }
}

/// Between runs: more than between the cells of one run, so that they stay apart.
const GAP: usize = 4;

/// The widths of a run's cells.
struct Column {
    estimate: usize,
    interval: usize,
    n: usize,
    /// None if nothing is missing anywhere.
    missing: Option<usize>,
}

impl Column {
    fn new<'a>(interval: &str, cells: impl Iterator<Item = &'a Cells>) -> Self {
        let mut column = Self { estimate: "estimate".len(), interval: interval.width(), n: "n".len(), missing: None };
        for cells in cells {
            column.estimate = column.estimate.max(cells.estimate.width());
            column.interval = column.interval.max(cells.interval.width());
            column.n = column.n.max(cells.n.width());
            if !cells.missing.is_empty() {
                let widest = column.missing.unwrap_or("missing".len());
                column.missing = Some(widest.max(cells.missing.width()));
            }
        }
        column
    }

    fn width(&self) -> usize {
        self.estimate + 2 + self.interval + 2 + self.n + self.missing.map_or(0, |missing| 2 + missing)
    }

    fn header(&self, interval: &str) -> String {
        self.line("estimate", interval, "n", "missing")
    }

    fn line(&self, estimate: &str, interval: &str, n: &str, missing: &str) -> String {
        let line = [right(estimate, self.estimate), left(interval, self.interval), right(n, self.n)].join("  ");
        self.missing.map_or_else(|| line.clone(), |width| format!("{line}  {}", right(missing, width)))
    }

    /// The lines of a cell: several where it takes words.
    fn cells(&self, cells: Option<&Cells>) -> Vec<String> {
        let Some(cells) = cells else { return vec![String::new()] };
        if cells.words.is_empty() {
            return vec![self.line(&cells.estimate, &cells.interval, &cells.n, &cells.missing)];
        }
        if cells.estimate.is_empty() {
            return wrap(&cells.words, self.width());
        }
        let mut start = right(&cells.estimate, self.estimate);
        let words = wrap(&cells.words, self.width() - self.estimate - 2);
        words
            .iter()
            .map(|line| format!("{}  {line}", std::mem::replace(&mut start, " ".repeat(self.estimate))))
            .collect()
    }
}

/// The number of each run, with what tells it from the others.
fn labels(runs: &[&RunReport]) -> Vec<String> {
    names(runs, true).iter().enumerate().map(|(place, name)| number(place, runs.len()) + name).collect()
}

/// What tells each run from the others; its task only if that may.
pub(super) fn names(runs: &[&RunReport], may_be_task: bool) -> Vec<String> {
    let identities: Vec<RunIdentity<'_>> = runs
        .iter()
        .map(|run| RunIdentity {
            name: run.name.as_deref(),
            model: run.model.as_deref(),
            task: run.task.as_deref().filter(|_| may_be_task),
            source: &run.source,
        })
        .collect();
    telling_names(&identities).iter().map(|name| clean(name)).collect()
}
