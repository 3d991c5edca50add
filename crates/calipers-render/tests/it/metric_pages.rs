//! The parts of the documentation that are made from the metrics' own descriptions. `BLESS=1` writes them.

use calipers_core::Registry;
use calipers_render::{expression_table_markdown, metric_reference_markdown, metric_table_markdown};
use calipers_testing::{ROOT, snapshot};
use std::path::Path;

type Part = fn(&Registry) -> String;

/// A page, its marks, and the text between them.
const PARTS: [(&str, &str, Part); 3] = [
    ("docs/metrics.md", "table", metric_table_markdown),
    ("docs/metrics.md", "reference", metric_reference_markdown),
    ("docs/expressions.md", "expressions", expression_table_markdown),
];

#[test]
fn pages_say_what_the_metrics_say_of_themselves() {
    let registry = Registry::builtin();
    for (page, part, write) in PARTS {
        let path = Path::new(ROOT).join(page);
        let text = std::fs::read_to_string(&path).unwrap();
        let mark = format!("<!-- generated: {part} -->\n");
        let (before, rest) = text.split_once(&mark).unwrap_or_else(|| panic!("{page} has no part `{part}`"));
        let (_, after) = rest.split_once("<!-- end -->\n").unwrap();
        snapshot::assert_file(&path, &format!("{before}{mark}{}<!-- end -->\n{after}", write(&registry)));
    }
}
