//! Metrics for the documentation: the generated parts of `docs/metrics.md` and `docs/expressions.md`.

use super::{better, family_title, metrics_by_family, sections};
use calipers_core::{About, Registry};

/// The table of `docs/metrics.md`.
#[must_use]
pub fn metric_table_markdown(registry: &Registry) -> String {
    let mut text = String::from("| metric | what it is | unit | better | typical threshold |\n|---|---|---|---|---|\n");
    for (family, metrics) in metrics_by_family(registry) {
        text += &format!("| **{}** | | | | |\n", family_title(family));
        text.extend(metrics.into_iter().map(|about| {
            let typical = about.typical_threshold.map_or_else(String::new, |typical| format!("`{typical}`"));
            let (unit, better) = (about.unit.name(), better(about).unwrap_or_default());
            format!("| [`{0}`](#{0}) | {1} | {unit} | {better} | {typical} |\n", about.name, about.summary)
        }));
    }
    text
}

/// The table of `docs/expressions.md`: how each metric is written.
#[must_use]
pub fn expression_table_markdown(registry: &Registry) -> String {
    let mut text = String::from("| expression | what it is |\n|---|---|\n");
    for about in metrics_by_family(registry).into_iter().flat_map(|(_, metrics)| metrics) {
        text += &format!("| `{}` | {} |\n", about.usage, about.summary);
    }
    text
}

/// The reference of `docs/metrics.md`: a part for each metric, with the same headings.
#[must_use]
pub fn metric_reference_markdown(registry: &Registry) -> String {
    let parts: Vec<String> =
        metrics_by_family(registry).into_iter().flat_map(|(_, metrics)| metrics).map(metric_part).collect();
    parts.join("\n")
}

fn metric_part(about: &About) -> String {
    let capital = |text: &str| {
        let mut chars = text.chars();
        chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
    };
    let mut text = format!("### {}\n\n{}.\n\n", about.name, capital(about.summary));
    for (head, body) in sections(about) {
        // What is literal stands in backticks; prose has its own.
        let body = match head {
            "Written" => format!("`{body}`"),
            "In Inspect" if about.inspect.is_some() => format!("`{body}`"),
            _ => body,
        };
        text += &format!("- **{head}:** {body}\n");
    }
    text + &format!("\n```sh\n{}\n```\n", about.example)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_a_row_and_a_part() {
        let registry = Registry::builtin();
        let (table, reference) = (metric_table_markdown(&registry), metric_reference_markdown(&registry));
        let expressions = expression_table_markdown(&registry);
        for name in registry.names() {
            assert!(table.contains(&format!("| [`{name}`](#{name}) |")), "{name}");
            assert!(reference.contains(&format!("### {name}\n")), "{name}");
            assert!(expressions.contains(&format!("| `{name}")), "{name}");
        }
    }
}
