//! One aligned table a run, and below it what is worth knowing.

use crate::numbers::{number, percent};
use calipers_core::{Caveat, Figure, Report, RunReport, ScoreResult, Undefined};
use unicode_width::UnicodeWidthStr;

/// Whether the text may use colour. It reads as well without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// No colour: for files, pipes, and terminals that ask for none.
    Plain,
    /// Bold headings and dim details.
    Colour,
}

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        if self == Self::Colour && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }
}

/// The report as text.
#[must_use]
pub fn results_text(report: &Report, style: Style) -> String {
    let runs: Vec<String> = report.runs.iter().map(|run| run_text(run, style)).collect();
    runs.join("\n")
}

fn run_text(run: &RunReport, style: Style) -> String {
    let mut text = style.bold(&clean(&run.source));
    text += &style.dim(&heading(run));
    text.push('\n');
    for note in &run.notes {
        text += &format!("note: {}\n", clean(note));
    }
    text += &table(run, style);
    text += &caveats(run, style);
    text
}

fn heading(run: &RunReport) -> String {
    let mut parts = vec![run.format.clone()];
    parts.extend(run.task.as_ref().map(|task| clean(task)));
    parts.extend(run.model.as_ref().map(|model| clean(model)));
    let attempts = run.results.total_samples;
    let samples = if run.samples == 1 { "1 sample".to_owned() } else { format!("{} samples", run.samples) };
    parts.push(if attempts == run.samples { samples } else { format!("{samples}, {attempts} attempts") });
    let errored = attempts - run.results.completed_samples;
    if errored > 0 {
        parts.push(format!("{errored} errored"));
    }
    format!("  {}", parts.join(" · "))
}

/// A line of the table: name, estimate, interval, n, missing.
type Line = [String; 5];

enum Entry {
    Heading(String),
    Line(Line),
    Wide(String, String),
}

fn table(run: &RunReport, style: Style) -> String {
    let interval = format!("{} interval", percent(run.results.level));
    let mut entries = Vec::new();
    for score in &run.results.scores {
        entries.push(Entry::Heading(title(score)));
        for (name, metric) in &score.metrics {
            entries.push(entry(name, &metric.figure, run.results.shown(&metric.figure)));
        }
        for recorded in run.recorded.iter().filter(|r| r.score == score.name && r.reducer == score.reducer) {
            let value = recorded.value.map_or_else(|| "–".to_owned(), number);
            entries.push(Entry::Wide(clean(&recorded.metric), format!("{value}  (recorded in the log)")));
        }
    }
    let header: Line = ["".into(), "estimate".into(), interval, "n".into(), "missing".into()];
    layout(&header, &entries, style)
}

fn title(score: &ScoreResult) -> String {
    let mut title = clean(&score.name);
    if let Some(scorer) = score.scorer.as_ref().filter(|scorer| ***scorer != *score.name) {
        title += &format!(" of {}", clean(scorer));
    }
    if let Some(reducer) = &score.reducer {
        title += &format!(", reduced by {}", clean(reducer));
    }
    title
}

fn entry(name: &str, figure: &Figure, shown: Result<f64, &Undefined>) -> Entry {
    let name = clean(name);
    let value = match shown {
        Ok(value) => number(value),
        Err(why) => return Entry::Wide(name, format!("undefined: {}", clean(&why.to_string()))),
    };
    let bound = |bound: Option<f64>| bound.map_or_else(|| "–".to_owned(), number);
    let interval = figure.interval.map(|i| format!("[{}, {}]", bound(i.lower), bound(i.upper)));
    let missing = if figure.missing == 0 { String::new() } else { figure.missing.to_string() };
    Entry::Line([name, value, interval.unwrap_or_default(), figure.n.to_string(), missing])
}

fn layout(header: &Line, entries: &[Entry], style: Style) -> String {
    let mut widths = header.each_ref().map(|cell| cell.width());
    for entry in entries {
        match entry {
            Entry::Line(line) => {
                for (width, cell) in widths.iter_mut().zip(line) {
                    *width = (*width).max(cell.width());
                }
            }
            Entry::Wide(name, _) => widths[0] = widths[0].max(name.width()),
            Entry::Heading(_) => {}
        }
    }
    let mut text = String::new();
    for (index, entry) in entries.iter().enumerate() {
        match entry {
            Entry::Heading(title) => {
                if index > 0 {
                    text.push('\n');
                }
                text += &format!("{}\n{}\n", style.bold(title), style.dim(&row(header, &widths)));
            }
            Entry::Line(line) => text += &format!("{}\n", row(line, &widths)),
            Entry::Wide(name, rest) => text += &format!("  {}  {}\n", left(name, widths[0]), rest),
        }
    }
    text
}

fn row(line: &Line, widths: &[usize; 5]) -> String {
    let [name, estimate, interval, n, missing] = line;
    let cells = [
        left(name, widths[0]),
        right(estimate, widths[1]),
        left(interval, widths[2]),
        right(n, widths[3]),
        right(missing, widths[4]),
    ];
    format!("  {}", cells.join("  ")).trim_end().to_owned()
}

fn left(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

fn right(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(text.width())))
}

/// Each caveat once, with the figures it is about.
fn caveats(run: &RunReport, style: Style) -> String {
    let mut seen: Vec<(&Caveat, Vec<String>)> = run.results.caveats.iter().map(|caveat| (caveat, Vec::new())).collect();
    for score in &run.results.scores {
        for (name, metric) in &score.metrics {
            for caveat in &metric.figure.caveats {
                match seen.iter_mut().find(|(other, _)| *other == caveat) {
                    Some((_, names)) if !names.contains(name) => names.push(name.clone()),
                    Some(_) => {}
                    None => seen.push((caveat, vec![name.clone()])),
                }
            }
        }
    }
    if seen.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", style.bold("worth knowing"));
    for (caveat, names) in seen {
        let about = if names.is_empty() { String::new() } else { format!("{}: ", clean(&shortened(&names))) };
        text += &format!("  {about}{}\n", clean(&caveat.to_string()));
        text += &format!("    {}\n", style.dim(&format!("→ {}", clean(&caveat.next_step()))));
    }
    text
}

fn shortened(names: &[String]) -> String {
    match names {
        [a, b, c, rest @ ..] if !rest.is_empty() => format!("{a}, {b}, {c} and {} more", rest.len()),
        names => names.join(", "),
    }
}

/// Text from a file with its control characters made visible.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
