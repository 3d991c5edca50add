//! Metrics for programs.

use super::{better, family_title, metrics_by_family};
use crate::document::to_json;
use calipers_core::{About, Registry};
use serde::Serialize;
use serde_json::Value as Json;

/// What a metric is, as JSON.
#[must_use]
pub fn metric_json(about: &About) -> Json {
    to_json(&MetricPageDocument::from(about))
}

/// All metrics, by family, as JSON.
#[must_use]
pub fn metric_list_json(registry: &Registry) -> Json {
    metrics_by_family(registry).into_iter().flat_map(|(_, metrics)| metrics).map(metric_json).collect()
}

#[derive(Serialize)]
struct MetricPageDocument {
    name: &'static str,
    summary: &'static str,
    usage: &'static str,
    family: &'static str,
    unit: &'static str,
    range: &'static str,
    better: Option<&'static str>,
    typical_threshold: Option<&'static str>,
    use_case: &'static str,
    tells: &'static str,
    misleads: &'static str,
    formula: &'static str,
    interval: &'static str,
    example: &'static str,
    parameters: Vec<ParameterDocument>,
    /// Its name in Inspect, if Inspect computes it too.
    inspect: Option<&'static str>,
}

#[derive(Serialize)]
struct ParameterDocument {
    name: &'static str,
    takes: &'static str,
}

impl From<&About> for MetricPageDocument {
    fn from(about: &About) -> Self {
        Self {
            name: about.name,
            summary: about.summary,
            usage: about.usage,
            family: family_title(about.family),
            unit: about.unit.name(),
            range: about.range,
            better: better(about),
            typical_threshold: about.typical_threshold,
            use_case: about.use_case,
            tells: about.tells,
            misleads: about.misleads,
            formula: about.formula,
            interval: about.interval,
            example: about.example,
            parameters: about.parameters.iter().map(|&(name, takes)| ParameterDocument { name, takes }).collect(),
            inspect: about.inspect,
        }
    }
}
