//! One aligned table a run, or one for several runs side by side, and below it what is worth knowing.

mod baseline;
mod caveats;
mod cells;
mod compare;
mod comparison;
mod forest;
mod gate;
mod gate_table;
mod plan;
mod raise;
mod table;

use crate::numbers::percent;
use crate::text::{clean, wrapped};
pub use baseline::baseline_text;
use calipers_core::{Report, RunReport, Value, Verdict, counted};
pub(crate) use cells::title as score_title;
use cells::{Block, blocks};
use compare::Comparison;
pub use comparison::compare_text;
pub use forest::{Ink, compare_plot, gate_plot, results_plot};
pub use gate::gate_text;
pub(crate) use gate::without_commands;
pub use plan::plan_text;
pub use raise::raise_text;
use table::Entry;
use unicode_width::UnicodeWidthStr;

/// Whether the text may use colour. It reads as well without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// No colour: for files, pipes, and terminals that ask for none.
    Plain,
    /// Bold headings, dim details, and verdicts in green, yellow or red.
    Colour,
}

impl Style {
    pub(crate) fn paint(self, code: &str, text: &str) -> String {
        if self == Self::Colour && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    /// The colour of a verdict. It is always said in words too.
    fn verdict(self, verdict: Verdict, text: &str) -> String {
        let code = match verdict {
            Verdict::Pass => "1;32",
            Verdict::Undecided => "1;33",
            Verdict::Fail => "1;31",
        };
        self.paint(code, text)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }
}

/// What is written on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Whether it shows colour.
    pub style: Style,
    /// How many columns it has.
    pub width: usize,
}

impl Screen {
    /// The width where none is known: that of files, pipes and the terminals of old.
    pub const WIDTH: usize = 80;

    /// No colour, 80 columns.
    pub const PLAIN: Self = Self { style: Style::Plain, width: Self::WIDTH };
}

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
    text + &reductions + &caveats::caveats(report, screen)
}

/// The reduced scores, sample by sample, where they were asked for.
fn reductions(number: &str, run: &RunReport, screen: Screen) -> String {
    let mut text = String::new();
    for reduction in &run.results.reductions {
        let by = reduction.reducer.as_ref().map_or_else(String::new, |reducer| format!(" · {reducer}"));
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
fn number(place: usize, runs: usize) -> String {
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
    let source = format!("{number}{}", clean(&run.source));
    let about = about(run);
    let margin = " ".repeat(number.len());
    let mut text = screen.style.bold(&source);
    if source.width() + 2 + about.width() <= screen.width {
        text += &format!("  {}\n", screen.style.dim(&about));
    } else {
        text.push('\n');
        for line in wrapped(&about, screen.width.saturating_sub(number.len() + 2)) {
            text += &format!("{margin}  {}\n", screen.style.dim(&line));
        }
    }
    for note in &run.notes {
        for (index, line) in wrapped(&clean(note), screen.width.saturating_sub(number.len() + 6)).iter().enumerate() {
            text += &format!("{margin}{}{line}\n", if index == 0 { "note: " } else { "      " });
        }
    }
    text
}

fn about(run: &RunReport) -> String {
    let mut parts = vec![run.format.clone()];
    parts.extend(run.task.as_ref().map(|task| clean(task)));
    parts.extend(run.model.as_ref().map(|model| clean(model)));
    let attempts = run.results.total_samples;
    let total = run.samples.total;
    let samples = counted(total, "sample");
    parts.push(if attempts == total { samples } else { format!("{samples}, {}", counted(attempts, "attempt")) });
    let errored = attempts - run.results.completed_samples;
    if errored > 0 {
        parts.push(format!("{errored} errored"));
    }
    parts.join(" · ")
}

/// The header of the intervals: all runs of a report have the same level.
fn level_of(runs: &[RunReport]) -> String {
    runs.first().map_or_else(String::new, |run| format!("{} interval", percent(run.results.level)))
}
