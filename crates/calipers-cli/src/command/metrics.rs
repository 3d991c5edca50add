//! `calipers metrics`: what can be computed, and what each metric means.

use crate::exit::Outcome;
use crate::failure::Failure;
use crate::terminal::{print_json, print_text};
use calipers::Registry;
use calipers::metric::About;
use calipers::stats::threshold_test::Direction;
use clap::Args;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// No line is longer.
const WIDTH: usize = 80;

/// `calipers metrics`
#[derive(Args, Debug)]
pub(crate) struct Metrics {
    /// The metric to explain, such as `latency_p95`
    name: Option<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Metrics {
    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        let registry = Registry::builtin();
        match &self.name {
            None => {
                let list = listed(&registry);
                match self.json {
                    true => print_json(&list.into_iter().map(as_json).collect())?,
                    false => print_text(&table(&list))?,
                }
            }
            Some(name) => {
                let unknown = || Failure::from(registry.unknown(name)).hint_if_none("`calipers metrics` lists them");
                let about = registry.about(name).ok_or_else(unknown)?;
                if self.json { print_json(&as_json(about))? } else { print_text(&page(about))? }
            }
        }
        Ok(Outcome::Done)
    }
}

/// The metrics by family, in the order of their registration.
fn listed(registry: &Registry) -> Vec<&'static About> {
    let mut list: Vec<&About> = registry.names().filter_map(|name| registry.about(name)).collect();
    list.sort_by_key(|about| about.family);
    list
}

fn better(about: &About) -> &'static str {
    match about.direction {
        Some(Direction::AtLeast) => "higher",
        Some(Direction::AtMost) => "lower",
        None => "",
    }
}

fn as_json(about: &About) -> Value {
    let direction = about.direction.map(|direction| match direction {
        Direction::AtLeast => "higher",
        Direction::AtMost => "lower",
    });
    json!({
        "name": about.name,
        "summary": about.summary,
        "usage": about.usage,
        "family": about.family.title(),
        "unit": about.unit.name(),
        "range": about.range,
        "better": direction,
        "typical_threshold": about.typical_threshold,
        "use_case": about.use_case,
        "tells": about.tells,
        "misleads": about.misleads,
        "formula": about.formula,
        "interval": about.interval,
        "example": about.example,
    })
}

/// All metrics, a line each or a little more.
fn table(list: &[&About]) -> String {
    let heads = ["metric", "unit", "better", "typical"];
    let cells = |about: &About| {
        [about.name, about.unit.name(), better(about), about.typical_threshold.unwrap_or_default()].map(str::to_owned)
    };
    let mut widths = heads.map(|head| head.chars().count());
    for about in list {
        widths.iter_mut().zip(cells(about)).for_each(|(width, cell)| *width = cell.chars().count().max(*width));
    }
    let row = |cells: &[String], text: &str| {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(widths) {
            // Padding by characters: `≥` is one of them.
            let _ = write!(line, "{cell}{}  ", " ".repeat(width - cell.chars().count()));
        }
        let left = line.chars().count();
        let lines = wrapped(text, WIDTH - left);
        line + &lines.join(&format!("\n{}", " ".repeat(left))) + "\n"
    };
    let mut text = row(&heads.map(str::to_owned), "what it is");
    let mut family = None;
    for about in list {
        if family.replace(about.family) != Some(about.family) {
            let _ = write!(text, "\n{}\n", about.family.title());
        }
        text += &row(&cells(about), about.summary);
    }
    text + "\n`calipers metrics NAME` explains one.\n"
}

/// All that there is to say about one.
fn page(about: &About) -> String {
    let mut text = format!("{}: {}\n", about.name, about.summary);
    let better = if better(about).is_empty() { "neither higher nor lower" } else { better(about) };
    let parts = [
        ("What it tells you", about.tells),
        ("When it misleads", about.misleads),
        ("Formula", about.formula),
        ("Interval", about.interval),
        ("Written", about.usage),
        ("Range", about.range),
        ("Unit", about.unit.name()),
        ("Better", better),
        ("Typical threshold", about.typical_threshold.unwrap_or("none")),
        ("Used for", about.use_case),
    ];
    let left = parts.iter().map(|(head, _)| head.len()).max().unwrap_or(0) + 2;
    text.push('\n');
    for (head, body) in parts {
        let lines = wrapped(body, WIDTH - left).join(&format!("\n{}", " ".repeat(left)));
        let _ = writeln!(text, "{head:<left$}{lines}");
    }
    // A command is copied as it stands, so it is not broken.
    let _ = write!(text, "\nExample\n  {}\n", about.example);
    text
}

/// Lines of at most this many characters, broken between words.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Arguments, Command};
    use calipers::script::Library;
    use clap::Parser;

    /// The words of a command, as a shell would take them apart.
    fn words(command: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut is_quoted = false;
        for c in command.chars() {
            match c {
                '\'' => is_quoted = !is_quoted,
                ' ' if !is_quoted => words.push(String::new()),
                c => words.last_mut().expect("there is always a word").push(c),
            }
        }
        words
    }

    #[test]
    fn every_metric_is_explained_with_a_command_that_can_be_run() {
        let registry = Registry::builtin();
        for name in registry.names() {
            let about = registry.about(name).unwrap_or_else(|| panic!("{name} has nothing to say"));
            assert_eq!(about.name, name);
            let texts = [about.summary, about.usage, about.tells, about.misleads, about.formula, about.interval];
            assert!(texts.iter().chain(&[about.range, about.use_case]).all(|text| !text.is_empty()), "{name}");
            let arguments = Arguments::try_parse_from(words(about.example)).unwrap_or_else(|error| panic!("{error}"));
            let Command::Score(score) = arguments.command else { panic!("{name}: {}", about.example) };
            let metrics: Vec<_> = score
                .metric
                .iter()
                .flat_map(|expression| Library::builtin().metrics(expression).unwrap_or_else(|error| panic!("{error}")))
                .collect();
            let named =
                |metric: &calipers::plan::MetricSpec| metric.metrics().iter().any(|metric| metric.name() == name);
            assert!(metrics.iter().any(named), "{name}: {}", about.example);
            calipers::script::Library::builtin()
                .metrics(name_or_usage(about))
                .unwrap_or_else(|error| panic!("{error}"));
        }
    }

    /// How it is written, unless it needs an argument.
    fn name_or_usage(about: &About) -> &str {
        let needs_arguments = ["grouped", "aggregate", "quantile", "ratio"].contains(&about.name);
        if needs_arguments { "accuracy" } else { about.usage }
    }

    #[test]
    fn no_line_of_the_table_is_too_long_and_every_metric_is_in_it() {
        let registry = Registry::builtin();
        let table = table(&listed(&registry));
        assert!(table.lines().all(|line| line.chars().count() <= WIDTH), "{table}");
        for name in registry.names() {
            assert!(table.lines().any(|line| line.starts_with(&format!("{name} "))), "{name}");
            let page = page(registry.about(name).expect("explained"));
            let (body, _) = page.split_once("\nExample\n").expect("an example");
            assert!(body.lines().all(|line| line.chars().count() <= WIDTH), "{page}");
        }
    }

    #[test]
    fn the_table_of_the_documentation_is_that_of_the_program() {
        let registry = Registry::builtin();
        let row = |about: &About| {
            let typical = about.typical_threshold.map_or(String::new(), |typical| format!("`{typical}`"));
            let unit = about.unit.name();
            format!("| `{}` | {} | {unit} | {} | {typical} |", about.name, about.summary, better(about))
        };
        let mut want = Vec::new();
        let mut family = None;
        for about in listed(&registry) {
            if family.replace(about.family) != Some(about.family) {
                want.push(format!("| **{}** | | | | |", about.family.title()));
            }
            want.push(row(about));
        }
        let page = include_str!("../../../../docs/metrics.md");
        let found: Vec<&str> =
            page.lines().filter(|line| line.starts_with("| `") || line.starts_with("| **")).collect();
        assert_eq!(found, want, "docs/metrics.md should have:\n{}", want.join("\n"));
    }
}
