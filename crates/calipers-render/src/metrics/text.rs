//! Metrics for a terminal.

use super::{better, family_title, metrics_by_family, sections};
use crate::text::{left, wrap};
use calipers_core::{About, Registry};
use unicode_width::UnicodeWidthStr;

/// No line is longer.
const WIDTH: usize = 80;

/// All metrics by family, with what each is in a few words.
#[must_use]
pub fn metric_list_text(registry: &Registry) -> String {
    let heads = ["metric", "unit", "better", "typical"];
    let families = metrics_by_family(registry);
    let cells = |about: &About| {
        [about.name, about.unit.name(), better(about).unwrap_or_default(), about.typical_threshold.unwrap_or_default()]
    };
    let mut widths = heads.map(UnicodeWidthStr::width);
    for about in families.iter().flat_map(|(_, metrics)| metrics) {
        widths.iter_mut().zip(cells(about)).for_each(|(width, cell)| *width = cell.width().max(*width));
    }
    let row = |cells: [&str; 4], summary: &str| {
        let start: String = cells.iter().zip(widths).map(|(cell, width)| left(cell, width) + "  ").collect();
        hanging(&start, summary)
    };
    let mut text = row(heads, "what it is");
    for (family, metrics) in &families {
        text += &format!("\n{}\n", family_title(*family));
        text.extend(metrics.iter().map(|about| row(cells(about), about.summary)));
    }
    text + "\n`calipers metrics NAME` explains one.\n"
}

/// What a metric is.
#[must_use]
pub fn metric_text(about: &About) -> String {
    let sections = sections(about);
    let width = sections.iter().map(|(head, _)| head.width()).max().unwrap_or(0) + 2;
    let body: String = sections.iter().map(|(head, body)| hanging(&left(head, width), body)).collect();
    // A command is copied as it stands, so it is not broken.
    format!("{}: {}\n\n{body}\nExample\n  {}\n", about.name, about.summary, about.example)
}

/// Text after a start, its further lines below its first one.
fn hanging(start: &str, text: &str) -> String {
    let width = start.width();
    start.to_owned() + &wrap(text, WIDTH - width).join(&format!("\n{}", " ".repeat(width))) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_too_long_and_every_metric_is_listed() {
        let registry = Registry::builtin();
        let list = metric_list_text(&registry);
        assert!(list.lines().all(|line| line.width() <= WIDTH), "{list}");
        for name in registry.names() {
            assert!(list.lines().any(|line| line.starts_with(&format!("{name} "))), "{name}");
            let page = metric_text(registry.about(name).expect("described"));
            let (body, _) = page.split_once("\nExample\n").expect("an example");
            assert!(body.lines().all(|line| line.width() <= WIDTH), "{page}");
        }
    }

    #[test]
    fn a_page_has_every_heading_and_ends_with_a_command() {
        let registry = Registry::builtin();
        let page = metric_text(registry.about("latency_p95").expect("described"));
        for head in ["What it tells you", "When it misleads", "Formula", "Interval", "Written", "In Inspect"] {
            assert!(page.lines().any(|line| line.starts_with(head)), "{head}: {page}");
        }
        assert!(page.contains("\nBetter             lower\n"), "{page}");
        assert!(page.ends_with("\nExample\n  calipers score results.jsonl -m latency_p95\n"), "{page}");
    }
}
