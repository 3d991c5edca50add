//! A table with one figure per line.

use super::cells::Cells;
use crate::screen::Screen;
use crate::text::{left, right, wrap, wrap_within};
use unicode_width::UnicodeWidthStr;

pub(super) enum Entry {
    /// A score, in bold, with the header of the table below it.
    Title(String),
    /// What the next lines have in common.
    Subtitle(String),
    /// A figure under a name.
    Line(String, Cells),
}

/// The columns: estimate, interval, n, missing.
type Columns = [usize; 4];

pub(super) struct Table {
    header: [String; 4],
    columns: Columns,
    indent: usize,
    name: usize,
    screen: Screen,
}

/// A name column narrower than this is no help; names that do not fit get a separate line.
const NAME_MIN: usize = 12;
/// Words are not squeezed into less than this.
const WORDS_MIN: usize = 24;

/// The entries as lines. Figures are indented by so many columns.
pub(super) fn layout(interval: &str, entries: &[Entry], indent: usize, screen: Screen) -> String {
    let table = Table::new(interval, entries, indent, screen);
    let mut text = String::new();
    for (index, entry) in entries.iter().enumerate() {
        match entry {
            Entry::Title(title) => {
                if index > 0 {
                    text.push('\n');
                }
                let header = table.row("", &table.header.each_ref().map(String::as_str));
                for (line, words) in wrap(title, screen.width).iter().enumerate() {
                    text += &format!("{}{}\n", if line == 0 { "" } else { "    " }, screen.style.bold(words));
                }
                text += &format!("{}\n", screen.style.dim(&header));
            }
            Entry::Subtitle(subtitle) => {
                for line in wrap_within(subtitle, screen.width.saturating_sub(2).max(NAME_MIN)) {
                    text += &format!("  {line}\n");
                }
            }
            Entry::Line(name, cells) => text += &table.line(name, cells),
        }
    }
    text
}

impl Table {
    fn new(interval: &str, entries: &[Entry], indent: usize, screen: Screen) -> Self {
        let header = ["estimate", interval, "n", "missing"].map(str::to_owned);
        let mut columns = header.each_ref().map(|cell| cell.width());
        let mut name = 0;
        for entry in entries {
            let Entry::Line(own, cells) = entry else { continue };
            name = name.max(own.width());
            for (column, cell) in columns.iter_mut().zip([&cells.estimate, &cells.interval, &cells.n, &cells.missing]) {
                *column = (*column).max(cell.width());
            }
        }
        let figures: usize = columns.iter().map(|column| column + 2).sum();
        let room = screen.width.saturating_sub(indent + figures).max(NAME_MIN);
        Self { header, columns, indent, name: name.min(room), screen }
    }

    fn line(&self, name: &str, cells: &Cells) -> String {
        let mut text = String::new();
        let mut name = name;
        if name.width() > self.name {
            for line in wrap_within(name, self.screen.width.saturating_sub(self.indent).max(NAME_MIN)) {
                text += &format!("{}{line}\n", " ".repeat(self.indent));
            }
            name = "";
        }
        if cells.words.is_empty() {
            let row = self.row(name, &[&cells.estimate, &cells.interval, &cells.n, &cells.missing]);
            return text + &row + "\n";
        }
        let mut start = left(&format!("{}{name}", " ".repeat(self.indent)), self.indent + self.name) + "  ";
        if !cells.estimate.is_empty() {
            start += &format!("{}  ", right(&cells.estimate, self.columns[0]));
        }
        let margin = start.width();
        for line in wrap(&cells.words, self.screen.width.saturating_sub(margin).max(WORDS_MIN)) {
            text += &format!("{start}{line}\n");
            start = " ".repeat(margin);
        }
        text
    }

    fn row(&self, name: &str, [estimate, interval, n, missing]: &[&str; 4]) -> String {
        let cells = [
            left(name, self.name),
            right(estimate, self.columns[0]),
            left(interval, self.columns[1]),
            right(n, self.columns[2]),
            right(missing, self.columns[3]),
        ];
        format!("{}{}", " ".repeat(self.indent), cells.join("  ")).trim_end().to_owned()
    }
}
