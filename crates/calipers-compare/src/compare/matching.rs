//! Which sample of one run is which of another.

use super::ComparedRun;
use super::compare_report::Matching;
use calipers_core::{Clusters, Error, ErrorKind, Incomparable, SampleId, Samples, Value, cluster_name};
use hashbrown::HashMap;
use std::sync::Arc;

/// Two runs joined by the names of their samples, ordered by name, so that the order of arrival does not show.
pub(super) struct RunMatch {
    pub(super) pairs: Vec<MatchedSample>,
    pub(super) only_candidate: Vec<u32>,
    pub(super) only_baseline: Vec<u32>,
    pub(super) matching: Matching,
    /// Samples that have no value of any of the fields that name clusters, and are clusters by themselves.
    pub(super) alone: u64,
}

/// A sample that both runs have.
pub(super) struct MatchedSample {
    pub(super) id: SampleId,
    /// Its place in the candidate.
    pub(super) candidate: u32,
    /// Its place in the baseline.
    pub(super) baseline: u32,
    pub(super) category: Option<Arc<str>>,
    /// Its cluster; its own place where there are no clusters.
    pub(super) cluster: u32,
}

impl RunMatch {
    pub(super) fn new(
        candidate: &ComparedRun<'_>,
        baseline: &ComparedRun<'_>,
        cluster: &[&str],
    ) -> Result<Self, Error> {
        let (ours, theirs) = (candidate.samples, baseline.samples);
        let places: HashMap<SampleId, u32> = theirs.ids().zip(0..).collect();
        let mut is_taken = vec![false; theirs.len()];
        // A sample whose attempts are in several categories is in none: it counts, but not in a breakdown.
        let in_several = [ours.other_values("category"), theirs.other_values("category")];
        let (mut pairs, mut only_candidate) = (Vec::new(), Vec::new());
        for (id, place) in ours.ids().zip(0..) {
            let Some(&other) = places.get(&id) else {
                only_candidate.push(place);
                continue;
            };
            is_taken[other as usize] = true;
            let is_in_one = !in_several[0].contains_key(&place) && !in_several[1].contains_key(&other);
            let category = metadata_text(ours, place, "category").or_else(|| metadata_text(theirs, other, "category"));
            let category = category.filter(|_| is_in_one);
            pairs.push(MatchedSample { id, candidate: place, baseline: other, category, cluster: 0 });
        }
        pairs.sort_by(|a, b| a.id.cmp(&b.id));
        let only_baseline: Vec<u32> =
            (0..).zip(&is_taken).filter(|(_, taken)| !**taken).map(|(place, _)| place).collect();
        let named = |samples: &Samples, places: &[u32]| {
            let mut ids: Vec<SampleId> = places.iter().map(|&place| samples.id(place)).collect();
            ids.sort();
            ids
        };
        let matching = Matching {
            candidate: ours.len() as u64,
            baseline: theirs.len() as u64,
            matched: pairs.len() as u64,
            only_candidate: named(ours, &only_candidate),
            only_baseline: named(theirs, &only_baseline),
        };
        let mut joined = Self { pairs, only_candidate, only_baseline, matching, alone: 0 };
        joined.cluster_by(cluster, ours, theirs)?;
        Ok(joined)
    }

    /// Finds the clusters by these fields, as in a gate: samples that share a value of any of them go together. What one run does not
    /// say of a sample, the other may.
    fn cluster_by(&mut self, fields: &[&str], ours: &Samples, theirs: &Samples) -> Result<(), Error> {
        for &field in fields {
            ours.check_single(field)?;
            theirs.check_single(field)?;
            if ours.metadata_column(field).is_none()
                && theirs.metadata_column(field).is_none()
                && !self.pairs.is_empty()
            {
                let known = ours.metadata_keys().map(ToString::to_string).collect();
                return Err(ErrorKind::NoField { field: field.to_owned(), known }.into());
            }
        }
        let name = |pair: &MatchedSample, field: &str| {
            cluster_name(ours, pair.candidate, field).or_else(|| cluster_name(theirs, pair.baseline, field))
        };
        let values = fields.iter().map(|field| self.pairs.iter().map(|pair| name(pair, field)).collect::<Vec<_>>());
        let clusters = Clusters::by_values(self.pairs.len(), values);
        self.pairs.iter_mut().zip(clusters.of_samples).for_each(|(pair, cluster)| pair.cluster = cluster);
        self.alone = if fields.is_empty() { 0 } else { clusters.alone };
        Ok(())
    }

    /// Why nothing can be compared, if that is so.
    pub(super) fn problem(&self, candidate: &str, baseline: &str) -> Option<Incomparable> {
        for (name, samples) in [(candidate, self.matching.candidate), (baseline, self.matching.baseline)] {
            if samples == 0 {
                return Some(Incomparable::EmptyRun { run: name.to_owned() });
            }
        }
        if self.matching.matched > 0 {
            return None;
        }
        let (candidate, baseline) = (self.matching.only_candidate.first()?, self.matching.only_baseline.first()?);
        Some(Incomparable::NoSharedSample { candidate: candidate.clone(), baseline: baseline.clone() })
    }
}

/// The value of a sample's metadata, as text.
fn metadata_text(samples: &Samples, sample: u32, key: &str) -> Option<Arc<str>> {
    let column = samples.metadata_column(key)?;
    match column.value(sample)? {
        Value::Null | Value::Missing => None,
        Value::Text(text) => Some(text.clone()),
        other => Some(other.to_string().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(ids: &[&str]) -> Samples {
        let mut samples = Samples::new();
        for id in ids {
            let document = id.split('-').next().unwrap_or_default().to_owned();
            samples.push(*id).metadata("document", document).score("score", 1.0);
        }
        samples
    }

    fn join(candidate: &Samples, baseline: &Samples, cluster: &[&str]) -> Result<RunMatch, Error> {
        let [candidate, baseline] =
            [("new", candidate), ("old", baseline)].map(|(name, samples)| ComparedRun { name: name.into(), samples });
        RunMatch::new(&candidate, &baseline, cluster)
    }

    #[test]
    fn samples_are_paired_by_name_whatever_their_order() {
        let joined = join(&run(&["c", "a", "b"]), &run(&["b", "d", "a"]), &[]).unwrap();
        let pairs: Vec<(String, u32, u32)> =
            joined.pairs.iter().map(|pair| (pair.id.to_string(), pair.candidate, pair.baseline)).collect();
        assert_eq!(pairs, [("a".into(), 1, 2), ("b".into(), 2, 0)]);
        assert_eq!((&joined.only_candidate[..], &joined.only_baseline[..]), (&[0][..], &[1][..]));
        assert_eq!(joined.problem("new", "old"), None);
    }

    #[test]
    fn samples_with_the_same_metadata_are_one_cluster() {
        let (candidate, baseline) = (run(&["x-1", "y-1", "x-2"]), run(&["x-2", "x-1", "y-1"]));
        let joined = join(&candidate, &baseline, &["document"]).unwrap();
        let clusters: Vec<u32> = joined.pairs.iter().map(|pair| pair.cluster).collect();
        assert_eq!(clusters, [0, 0, 1]);
        let error = join(&candidate, &baseline, &["author"]).err().unwrap();
        assert!(matches!(error.kind(), ErrorKind::NoField { field, .. } if field == "author"), "{error}");
    }

    #[test]
    fn runs_without_a_common_sample_are_a_problem() {
        for (candidate, baseline, want) in [
            (&[][..], &["a"][..], Incomparable::EmptyRun { run: "new".into() }),
            (&["a"], &[], Incomparable::EmptyRun { run: "old".into() }),
            (&["b", "a"], &["d", "c"], Incomparable::NoSharedSample { candidate: "a".into(), baseline: "c".into() }),
        ] {
            let joined = join(&run(candidate), &run(baseline), &[]).unwrap();
            assert_eq!(joined.problem("new", "old"), Some(want));
        }
    }
}
