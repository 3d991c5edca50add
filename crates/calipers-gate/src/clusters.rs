//! Fields by which samples probably go together, though a policy does not say so.

use calipers_core::{Samples, Value};
use std::collections::HashMap;

/// The code of a sample's value of a field, if it has one.
fn code_of(samples: &Samples, field: &str, sample: u32) -> Option<u32> {
    let column = samples.metadata_column(field)?;
    let code = column.code(sample)?;
    let value = column.dictionary().get(code as usize)?;
    let is_empty = matches!(value, Value::Text(text) if text.is_empty());
    (!matches!(value, Value::Null | Value::Missing) && !is_empty).then_some(code)
}

/// A field by which samples go together, though nothing says so.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LikelyCluster {
    pub(crate) field: String,
    pub(crate) clusters: u64,
    pub(crate) samples: u64,
    /// How much samples of one cluster are alike: the intra-class correlation, where their values vary at all.
    pub(crate) correlation: Option<f64>,
}

/// Names of fields that say where a sample comes from. Samples that share one of these share what is hard about it.
pub const SOURCE_FIELDS: [&str; 34] = [
    "article",
    "article_id",
    "book",
    "chapter",
    "cluster",
    "context_id",
    "conversation",
    "conversation_id",
    "database",
    "database_id",
    "db_id",
    "dialogue_id",
    "doc",
    "doc_id",
    "document",
    "document_id",
    "image_id",
    "paragraph",
    "paragraph_id",
    "parent_id",
    "passage",
    "passage_id",
    "project",
    "repo",
    "repository",
    "session_id",
    "source",
    "source_id",
    "story",
    "template",
    "template_id",
    "thread",
    "thread_id",
    "video_id",
];

/// Fewer samples say too little of how alike they are.
const SAMPLES_MIN: usize = 20;
/// Samples of one cluster that are less alike than this hardly matter.
const CORRELATION_MIN: f64 = 0.05;
/// How improbable what is seen must be if samples of one cluster were not alike.
const P_MAX: f64 = 0.01;

/// How improbable what is seen must be if samples of one source were alike, before the source is taken to be of no matter.
const P_RULED_OUT: f64 = 0.05;

/// The field by which samples most clearly go together, from one value per sample.
///
/// A field that names a source counts if it is shared, unless the data rule out that its samples are alike; another one only
/// if samples that share it are clearly alike. Categories and capabilities are not looked at: they say what is asked, and a suite is made to have all of them.
pub(crate) fn find_likely(samples: &Samples, values: &[(u32, f64)]) -> Option<LikelyCluster> {
    if values.len() < SAMPLES_MIN {
        return None;
    }
    let fields = samples.metadata_keys().filter(|key| !matches!(&***key, "category" | "capability"));
    let found = fields.filter_map(|key| likely(samples, values, key));
    found.max_by(|a, b| a.correlation.unwrap_or(0.0).total_cmp(&b.correlation.unwrap_or(0.0)))
}

fn likely(samples: &Samples, values: &[(u32, f64)], field: &str) -> Option<LikelyCluster> {
    // A field that many samples lack is no source of them, and there may be as many of these as samples.
    if (samples.metadata_column(field)?.count_given() as f64) < 0.9 * values.len() as f64 {
        return None;
    }
    let mut groups: HashMap<u32, (f64, f64)> = HashMap::new();
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for &(sample, x) in values {
        let Some(code) = code_of(samples, field, sample) else { continue };
        let group = groups.entry(code).or_insert((0.0, 0.0));
        *group = (group.0 + 1.0, group.1 + x);
        (n, sum, squares) = (n + 1.0, sum + x, squares + x * x);
    }
    let clusters = groups.len() as f64;
    if n < 0.9 * values.len() as f64 || clusters < 2.0 || clusters > n / 2.0 {
        return None;
    }
    let is_source = SOURCE_FIELDS.contains(&&*field.to_lowercase());
    let total = squares - sum * sum / n;
    let correlation = if total <= 1e-12 * n {
        None
    } else {
        // One-way analysis of variance.
        let mut sums: Vec<(f64, f64)> = groups.into_values().collect();
        sums.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let between = sums.iter().map(|(size, sum)| sum * sum / size).sum::<f64>() - sum * sum / n;
        let within = (total - between).max(0.0);
        let size = (n - sums.iter().map(|(size, _)| size * size).sum::<f64>() / n) / (clusters - 1.0);
        let (msb, msw) = (between / (clusters - 1.0), within / (n - clusters));
        let correlation = (msb - msw) / (msb + (size - 1.0) * msw);
        let f = msb / msw.max(f64::MIN_POSITIVE);
        // P(F > f) by the incomplete beta function.
        let (a, b) = ((n - clusters) / 2.0, (clusters - 1.0) / 2.0);
        let p_above = |f: f64| calipers_stats::special::beta_cdf(a / (a + b * f), a, b);
        let is_alike = p_above(f) <= P_MAX && correlation >= CORRELATION_MIN;
        // Samples that are just alike enough to matter have an F that is this many times as large.
        let inflation = 1.0 + size * CORRELATION_MIN / (1.0 - CORRELATION_MIN);
        let is_ruled_out = 1.0 - p_above(f / inflation) <= P_RULED_OUT;
        if !is_alike && (!is_source || is_ruled_out) {
            return None;
        }
        is_alike.then_some(correlation)
    };
    (correlation.is_some() || is_source).then(|| LikelyCluster {
        field: field.to_owned(),
        clusters: clusters as u64,
        samples: n as u64,
        correlation,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_source_is_found_and_other_fields_only_where_samples_are_alike() {
        let mut run = Samples::new();
        for id in 0..60i64 {
            let row = run.push(id).metadata("document", format!("d{}", id / 20)).metadata("shift", id % 3);
            row.metadata("author", format!("a{}", id / 6)).metadata("category", id / 30);
        }
        let all = |value: fn(u32) -> f64| (0..60).map(|id| (id, value(id))).collect::<Vec<_>>();
        let perfect = find_likely(&run, &all(|_| 1.0)).unwrap();
        assert_eq!((perfect.field.as_str(), perfect.clusters, perfect.correlation), ("document", 3, None));
        let by_author = find_likely(&run, &all(|id| f64::from(id / 6 % 2))).unwrap();
        assert_eq!((by_author.field.as_str(), by_author.clusters), ("author", 10));
        assert!(by_author.correlation.unwrap() > 0.9);
        // Three documents with 9, 10 and 11 of 20 say little: their samples may still go together.
        let level = find_likely(&run, &all(|id| f64::from(u8::from(id * 7 % 20 < 9 + id / 20)))).unwrap();
        assert_eq!((level.field.as_str(), level.correlation), ("document", None));
        // A hundred that do rule it out.
        let mut large = Samples::new();
        for id in 0..2000i64 {
            large.push(id).metadata("document", id / 20);
        }
        let level: Vec<(u32, f64)> = (0..2000).map(|id| (id, f64::from(id % 2))).collect();
        assert_eq!(find_likely(&large, &level), None);
    }
}
