//! Samples that go together: which ones share a document, a template, a repository.

use super::{Samples, Value};
use hashbrown::HashMap;
use std::hash::Hash;

/// The clusters of the samples of a run.
///
/// ```
/// use calipers_core::{Clusters, Samples};
///
/// let mut samples = Samples::new();
/// samples.push(1).metadata("document", "a").metadata("template", "x");
/// samples.push(2).metadata("document", "b").metadata("template", "x");
/// samples.push(3).metadata("document", "c");
/// assert_eq!(Clusters::by(&samples, ["document"]).of_samples, [0, 1, 2]);
/// assert_eq!(Clusters::by(&samples, ["document", "template"]).of_samples, [0, 0, 1]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clusters {
    /// For each sample its cluster; clusters are counted from 0 in the order of their first samples.
    pub of_samples: Vec<u32>,
    /// How many there are.
    pub count: u64,
    /// Samples that have a value of none of the fields, and are clusters by themselves.
    pub alone: u64,
}

impl Clusters {
    /// The clusters by these fields. Samples that share a value of any of them are in one cluster, and so are samples that
    /// are connected through others: what depends on the document and what depends on the template goes together if either is
    /// the same.
    pub fn by<'f>(samples: &Samples, fields: impl IntoIterator<Item = &'f str>) -> Self {
        Self::by_values(samples.len(), fields.into_iter().map(|field| codes_of(samples, field)))
    }

    /// The same by what each of so many samples has of each field.
    pub fn by_values<K: Eq + Hash>(samples: usize, fields: impl IntoIterator<Item = Vec<Option<K>>>) -> Self {
        let mut parents: Vec<u32> = (0..samples as u32).collect();
        let mut is_alone = vec![true; samples];
        for values in fields {
            let mut first_with: HashMap<K, u32> = HashMap::new();
            for (sample, value) in (0..samples as u32).zip(values) {
                let Some(value) = value else { continue };
                is_alone[sample as usize] = false;
                let first = *first_with.entry(value).or_insert(sample);
                let (a, b) = (root(&mut parents, first), root(&mut parents, sample));
                // The earlier sample leads, so that clusters are in the order of their first samples.
                parents[a.max(b) as usize] = a.min(b);
            }
        }
        let mut codes = HashMap::new();
        let mut of_samples = Vec::with_capacity(samples);
        for sample in 0..samples as u32 {
            let next = codes.len() as u32;
            of_samples.push(*codes.entry(root(&mut parents, sample)).or_insert(next));
        }
        let alone = is_alone.iter().filter(|alone| **alone).count() as u64;
        Self { of_samples, count: codes.len() as u64, alone }
    }
}

/// What names the cluster of a sample by a field, if anything does; 1, 1.0 and true are one name.
#[must_use]
pub fn cluster_name(samples: &Samples, sample: u32, field: &str) -> Option<Value> {
    let column = samples.metadata_column(field)?;
    let value = column.dictionary().get(column.code(sample)? as usize)?;
    names_a_cluster(value).then(|| value.canonical_number().unwrap_or_else(|| value.clone()))
}

/// True when a value says which cluster a sample is in.
pub(crate) fn names_a_cluster(value: &Value) -> bool {
    match value {
        Value::Text(text) => !text.is_empty(),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => true,
        _ => false,
    }
}

/// For each sample a number that stands for its value of a field. Values are hashed once each, not once per sample.
fn codes_of(samples: &Samples, field: &str) -> Vec<Option<u32>> {
    let Some(column) = samples.metadata_column(field) else { return vec![None; samples.len()] };
    let mut first_with: HashMap<Value, u32> = HashMap::new();
    let code = |(code, value): (u32, &Value)| {
        let name = value.canonical_number().unwrap_or_else(|| value.clone());
        names_a_cluster(value).then(|| *first_with.entry(name).or_insert(code))
    };
    let codes: Vec<Option<u32>> = (0..).zip(column.dictionary()).map(code).collect();
    let of = |sample: u32| *codes.get(column.code(sample)? as usize)?;
    (0..samples.len() as u32).map(of).collect()
}

fn root(parents: &mut [u32], sample: u32) -> u32 {
    let mut at = sample;
    while parents[at as usize] != at {
        let above = parents[parents[at as usize] as usize];
        parents[at as usize] = above;
        at = above;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(rows: &[(Option<&str>, Option<&str>)]) -> Samples {
        let mut samples = Samples::new();
        for (id, (document, template)) in rows.iter().enumerate() {
            let mut row = samples.push(id as i64);
            if let Some(document) = document {
                row = row.metadata("document", *document);
            }
            if let Some(template) = template {
                row.metadata("template", *template);
            }
        }
        samples
    }

    #[test]
    fn samples_without_a_value_are_clusters_by_themselves() {
        let run = samples(&[(Some("a"), None), (None, None), (Some("a"), None), (Some(""), None), (Some("b"), None)]);
        let clusters = Clusters::by(&run, ["document"]);
        assert_eq!(clusters, Clusters { of_samples: vec![0, 1, 0, 2, 3], count: 4, alone: 2 });
    }

    #[test]
    fn of_several_fields_any_connects() {
        let run = samples(&[(Some("a"), Some("x")), (Some("b"), Some("y")), (Some("b"), Some("x")), (Some("c"), None)]);
        assert_eq!(Clusters::by(&run, ["document", "template"]).of_samples, [0, 0, 0, 1]);
        assert_eq!(Clusters::by(&run, ["document"]).of_samples, [0, 1, 1, 2]);
    }

    #[test]
    fn numbers_that_are_equal_name_one_cluster() {
        let mut run = Samples::new();
        run.push(1).metadata("page", 1);
        run.push(2).metadata("page", 1.0);
        run.push(3).metadata("page", "1");
        assert_eq!(Clusters::by(&run, ["page"]).of_samples, [0, 0, 1]);
        assert_eq!(cluster_name(&run, 0, "page"), cluster_name(&run, 1, "page"));
    }
}
