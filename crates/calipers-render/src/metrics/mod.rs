//! What can be computed: the list of metrics and the page of each, all from the metrics' own `About`.

mod json;
mod markdown;
mod text;

pub use json::{metric_json, metric_list_json};
pub use markdown::{expression_table_markdown, metric_reference_markdown, metric_table_markdown};
pub use text::{metric_list_text, metric_text};

use calipers_core::stats::threshold_test::Direction;
use calipers_core::{About, Family, Registry};

/// The metrics that are described, by family.
fn metrics_by_family(registry: &Registry) -> Vec<(Family, Vec<&'static About>)> {
    let mut families: Vec<(Family, Vec<&About>)> = Vec::new();
    for about in registry.names().filter_map(|name| registry.about(name)) {
        match families.iter_mut().find(|(family, _)| *family == about.family) {
            Some((_, metrics)) => metrics.push(about),
            None => families.push((about.family, vec![about])),
        }
    }
    families.sort_by_key(|(family, _)| *family);
    families
}

/// The heading of a family.
fn family_title(family: Family) -> &'static str {
    match family {
        Family::Suite => "Suites of scenarios",
        Family::Classification => "Predictions and truths",
        Family::Scores => "Scores",
        Family::Error => "Errors and intervals of a mean",
        Family::Fields => "Any field",
        Family::Compound => "Made of other metrics",
    }
}

/// Which values are better, if some are.
fn better(about: &About) -> Option<&'static str> {
    about.direction.map(|direction| match direction {
        Direction::AtLeast => "higher",
        Direction::AtMost => "lower",
    })
}

/// What a metric is, heading by heading. Its example stands apart, because a command is copied as a whole.
fn sections(about: &About) -> Vec<(&'static str, String)> {
    let mut sections = vec![
        ("What it tells you", about.tells.to_owned()),
        ("When it misleads", about.misleads.to_owned()),
        ("Formula", about.formula.to_owned()),
        ("Interval", about.interval.to_owned()),
        ("Written", about.usage.to_owned()),
    ];
    let parameters: Vec<String> = about.parameters.iter().map(|(name, takes)| format!("`{name}`: {takes}")).collect();
    if !parameters.is_empty() {
        sections.push(("Parameters", parameters.join("; ")));
    }
    sections.extend([
        ("Range", about.range.to_owned()),
        ("Unit", about.unit.name().to_owned()),
        ("Better", better(about).unwrap_or("neither higher nor lower").to_owned()),
        ("Typical threshold", about.typical_threshold.unwrap_or("none").to_owned()),
        ("Used for", about.use_case.to_owned()),
        ("In Inspect", about.inspect.unwrap_or("no equivalent").to_owned()),
    ]);
    sections
}
