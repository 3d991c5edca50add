//! Which sample of one run is which of another.

use super::ComparedRun;
use super::compare_report::Matching;
use calipers_core::{Clusters, Error, ErrorKind, FactColumn, Incomparable, SampleId, Samples, Value, cluster_name};
use indexmap::IndexSet;
use std::num::NonZeroU32;
use std::sync::Arc;

/// Two runs joined by the names of their samples, ordered by name, so that the order of arrival does not show.
pub(super) struct RunMatch<'a> {
    candidate: &'a Samples,
    categories: Vec<Arc<str>>,
    pub(super) pairs: MatchedSamples,
    pub(super) only_candidate: Vec<u32>,
    pub(super) only_baseline: Vec<u32>,
    pub(super) matching: Matching,
    /// True when both runs have the same samples in the order of their names, so that pairs and samples have the same places.
    pub(super) is_in_order: bool,
    /// Samples that have no value of any of the fields that name clusters, and are clusters by themselves.
    pub(super) alone: u64,
}

/// The samples that both runs have.
pub(super) enum MatchedSamples {
    /// Both runs have this many samples, the same at every place, of no category, and each its own cluster.
    InOrder(u32),
    Listed(Vec<MatchedSample>),
}

impl MatchedSamples {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::InOrder(count) => *count as usize,
            Self::Listed(pairs) => pairs.len(),
        }
    }

    pub(super) fn get(&self, place: u32) -> MatchedSample {
        match self {
            Self::InOrder(_) => MatchedSample::at(place),
            Self::Listed(pairs) => pairs[place as usize],
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = MatchedSample> {
        (0..self.len() as u32).map(|place| self.get(place))
    }
}

/// A sample that both runs have. There may be millions of them, so their names are looked up where they are shown.
#[derive(Clone, Copy)]
pub(super) struct MatchedSample {
    /// Its place in the candidate.
    pub(super) candidate: u32,
    /// Its place in the baseline.
    pub(super) baseline: u32,
    /// Its category's place among those of the match.
    category: Option<NonZeroU32>,
    /// Its cluster; its own place where there are no clusters.
    pub(super) cluster: u32,
}

impl MatchedSample {
    /// A sample that is at one place in both runs, and its own cluster.
    pub(super) fn at(place: u32) -> Self {
        Self { candidate: place, baseline: place, category: None, cluster: place }
    }

    /// The place of its category among those of the match.
    pub(super) fn category_place(&self) -> Option<usize> {
        Some(self.category?.get() as usize - 1)
    }
}

/// The values that samples of two runs have of a key, as names that both share.
struct SharedNames<'a> {
    columns: [Option<&'a FactColumn>; 2],
    /// For each code of either column the place of its name, from 1 on; 0 for what is no name.
    places: [Vec<u32>; 2],
    names: IndexSet<Arc<str>>,
}

impl<'a> SharedNames<'a> {
    fn new(runs: [&'a Samples; 2], key: &str) -> Self {
        let columns = runs.map(|samples| samples.metadata_column(key));
        let mut names = IndexSet::new();
        let mut place = |value: &Value| match value {
            Value::Null | Value::Missing => 0,
            Value::Text(text) => names.insert_full(text.clone()).0 as u32 + 1,
            other => names.insert_full(other.to_string().into()).0 as u32 + 1,
        };
        let places = columns.map(|column| match column {
            Some(column) => column.dictionary().iter().map(&mut place).collect(),
            None => Vec::new(),
        });
        Self { columns, places, names }
    }

    /// The place of the name of a sample in one of the runs.
    fn of(&self, run: usize, sample: u32) -> Option<NonZeroU32> {
        NonZeroU32::new(*self.places[run].get(self.columns[run]?.code(sample)? as usize)?)
    }
}

impl<'a> RunMatch<'a> {
    pub(super) fn new(
        candidate: &ComparedRun<'a>,
        baseline: &ComparedRun<'a>,
        cluster: &[&str],
    ) -> Result<Self, Error> {
        let (ours, theirs) = (candidate.samples, baseline.samples);
        let has_categories = [ours, theirs].iter().any(|run| run.metadata_column("category").is_some());
        if cluster.is_empty() && !has_categories && ours.has_same_order(theirs) {
            return Ok(Self::in_order(ours));
        }
        let categories = SharedNames::new([ours, theirs], "category");
        let mut is_taken = vec![false; theirs.len()];
        // A sample whose attempts are in several categories is in none: it counts, but not in a breakdown.
        let in_several = [ours.other_values("category"), theirs.other_values("category")];
        let (mut pairs, mut only_candidate) = (Vec::with_capacity(ours.len().min(theirs.len())), Vec::new());
        for (other, place) in ours.places_in(theirs).into_iter().zip(0..) {
            let Some(other) = other else {
                only_candidate.push(place);
                continue;
            };
            is_taken[other as usize] = true;
            let is_in_one = || !in_several[0].contains_key(&place) && !in_several[1].contains_key(&other);
            let category = categories.of(0, place).or_else(|| categories.of(1, other)).filter(|_| is_in_one());
            pairs.push(MatchedSample { candidate: place, baseline: other, category, cluster: 0 });
        }
        if ours.id_range().is_none() {
            pairs.sort_by(|a, b| ours.compare_ids(a.candidate, b.candidate));
        }
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
        let (candidate, categories) = (ours, categories.names.into_iter().collect());
        let is_at = |(pair, place): (&MatchedSample, u32)| pair.candidate == place && pair.baseline == place;
        let is_in_order = pairs.len() == ours.len() && pairs.len() == theirs.len() && pairs.iter().zip(0..).all(is_at);
        let alone = cluster_by(&mut pairs, cluster, ours, theirs)?;
        let pairs = MatchedSamples::Listed(pairs);
        Ok(Self { candidate, categories, pairs, only_candidate, only_baseline, matching, is_in_order, alone })
    }

    /// Two runs with the same samples in the order of their names, of which nothing else has to be known.
    fn in_order(candidate: &'a Samples) -> Self {
        let samples = candidate.len() as u64;
        let matching = Matching { candidate: samples, baseline: samples, matched: samples, ..Matching::default() };
        Self {
            candidate,
            categories: Vec::new(),
            pairs: MatchedSamples::InOrder(candidate.len() as u32),
            only_candidate: Vec::new(),
            only_baseline: Vec::new(),
            matching,
            is_in_order: true,
            alone: 0,
        }
    }

    /// The name of a sample.
    pub(super) fn id(&self, pair: &MatchedSample) -> SampleId {
        self.candidate.id(pair.candidate)
    }

    /// The categories of samples, by their places.
    pub(super) fn categories(&self) -> &[Arc<str>] {
        &self.categories
    }

    /// Its category, if it is in one.
    pub(super) fn category(&self, pair: &MatchedSample) -> Option<&Arc<str>> {
        self.categories.get(pair.category_place()?)
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

/// Finds the clusters by these fields, as in a gate: samples that share a value of any of them go together. What one run does not
/// say of a sample, the other may. Returns how many samples have no value of any field, and are clusters by themselves.
fn cluster_by(pairs: &mut [MatchedSample], fields: &[&str], ours: &Samples, theirs: &Samples) -> Result<u64, Error> {
    if fields.is_empty() {
        pairs.iter_mut().zip(0..).for_each(|(pair, place)| pair.cluster = place);
        return Ok(0);
    }
    for &field in fields {
        ours.check_single(field)?;
        theirs.check_single(field)?;
        if ours.metadata_column(field).is_none() && theirs.metadata_column(field).is_none() && !pairs.is_empty() {
            let known = ours.metadata_keys().map(ToString::to_string).collect();
            return Err(ErrorKind::NoField { field: field.to_owned(), known }.into());
        }
    }
    let name = |pair: &MatchedSample, field: &str| {
        cluster_name(ours, pair.candidate, field).or_else(|| cluster_name(theirs, pair.baseline, field))
    };
    let values = fields.iter().map(|field| pairs.iter().map(|pair| name(pair, field)).collect::<Vec<_>>());
    let clusters = Clusters::by_values(pairs.len(), values);
    pairs.iter_mut().zip(clusters.of_samples).for_each(|(pair, cluster)| pair.cluster = cluster);
    Ok(clusters.alone)
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

    fn join<'a>(candidate: &'a Samples, baseline: &'a Samples, cluster: &[&str]) -> Result<RunMatch<'a>, Error> {
        let [candidate, baseline] =
            [("new", candidate), ("old", baseline)].map(|(name, samples)| ComparedRun { name: name.into(), samples });
        RunMatch::new(&candidate, &baseline, cluster)
    }

    #[test]
    fn samples_are_paired_by_name_whatever_their_order() {
        let (candidate, baseline) = (run(&["c", "a", "b"]), run(&["b", "d", "a"]));
        let joined = join(&candidate, &baseline, &[]).unwrap();
        let pairs: Vec<(String, u32, u32)> =
            joined.pairs.iter().map(|pair| (joined.id(&pair).to_string(), pair.candidate, pair.baseline)).collect();
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
            let (candidate, baseline) = (run(candidate), run(baseline));
            let joined = join(&candidate, &baseline, &[]).unwrap();
            assert_eq!(joined.problem("new", "old"), Some(want));
        }
    }
}
