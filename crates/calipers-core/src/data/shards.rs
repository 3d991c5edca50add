//! The samples of a run in parts that can be folded side by side.

use crate::data::ids::SampleIds;
use crate::{Error, ErrorKind, SampleCounts, Samples};
use std::collections::BTreeSet;

/// The samples of a run in one or more parts. No sample is in two of them.
///
/// ```
/// use calipers_core::{Samples, Shards};
///
/// let part = |ids: [i64; 2]| {
///     let mut samples = Samples::new();
///     for id in ids {
///         samples.push(id).score("match", "C");
///     }
///     samples
/// };
/// assert_eq!(Shards::new([part([1, 2]), part([3, 4])]).iter().count(), 2);
/// let shared = Shards::new([part([1, 2]), part([2, 3])]); // attempts of one sample belong together
/// assert_eq!((shared.iter().count(), shared.len(), shared.attempts()), (1, 3, 4));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Shards(Vec<Samples>);

impl Shards {
    /// The parts of a run in order. Parts that share a sample become one.
    #[must_use]
    pub fn new(parts: impl IntoIterator<Item = Samples>) -> Self {
        let parts: Vec<Samples> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let shards = Self(parts);
        if SampleIds::are_apart(shards.0.iter().map(|part| &part.ids)) { shards } else { shards.into_whole().into() }
    }

    /// The parts.
    pub fn iter(&self) -> impl Iterator<Item = &Samples> {
        self.0.iter()
    }

    /// All samples in one part.
    #[must_use]
    pub fn into_whole(self) -> Samples {
        let mut whole = Samples::new();
        self.0.into_iter().for_each(|part| whole.append(part));
        whole
    }

    /// Leaves out all scorers but these. Fails when one of them has not scored.
    pub fn keep_scorers(&mut self, scorers: &[String]) -> Result<(), Error> {
        let mut known: Vec<String> = self.iter().flat_map(Samples::scorers).map(ToString::to_string).collect();
        if let Some(unknown) = scorers.iter().find(|name| !known.contains(name)) {
            let mut seen = BTreeSet::new();
            known.retain(|name| seen.insert(name.clone()));
            return Err(ErrorKind::NoScorer { scorer: unknown.clone(), known }.into());
        }
        self.0.iter_mut().for_each(|part| part.scores.retain(|name, _| scorers.iter().any(|kept| **kept == **name)));
        Ok(())
    }

    /// Makes a scorer of each of these fields that the attempts have, with its values as scores.
    pub fn score_by_fields(&mut self, fields: &[&str]) {
        for part in &mut self.0 {
            fields.iter().for_each(|field| part.score_by_field(field));
        }
    }

    /// The parts, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Samples> {
        self.0.iter_mut()
    }

    /// The samples whose metadata has this value, as it prints. Fails when no sample has it.
    pub fn keep_where(&self, key: &str, value: &str) -> Result<Self, Error> {
        let (mut kept, mut refused) = (Vec::new(), None);
        for part in &self.0 {
            match part.keep_where(key, value) {
                Ok(part) => kept.push(part),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        if kept.is_empty() { refused.map_or_else(|| Ok(Self::default()), Err) } else { Ok(Self(kept)) }
    }

    /// The number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.iter().map(Samples::len).sum()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of attempts, each counted once however often it was delivered.
    #[must_use]
    pub fn attempts(&self) -> usize {
        self.0.iter().map(Samples::attempts).sum()
    }

    /// The counts of samples and attempts.
    #[must_use]
    pub fn counts(&self) -> SampleCounts {
        let mut counts = SampleCounts::default();
        self.0.iter().for_each(|part| counts += part.counts());
        counts
    }

    /// The number of attempts that ended in an error.
    #[must_use]
    pub fn errored_attempts(&self) -> usize {
        self.0.iter().map(Samples::errored_attempts).sum()
    }
}

impl From<Samples> for Shards {
    fn from(samples: Samples) -> Self {
        Self(vec![samples])
    }
}

impl IntoIterator for Shards {
    type Item = Samples;
    type IntoIter = std::vec::IntoIter<Samples>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part with these samples, whose scorer and category are those given.
    fn part(ids: &[&str], scorer: &str, category: &str) -> Samples {
        let mut samples = Samples::new();
        for id in ids {
            samples.push(*id).metadata("category", category).score(scorer, 1.0);
        }
        samples
    }

    fn ids(shards: &Shards) -> Vec<Vec<String>> {
        shards.iter().map(|part| part.ids().map(|id| id.to_string()).collect()).collect()
    }

    #[test]
    fn parts_stay_apart_unless_they_share_a_sample() {
        for (parts, want) in [
            (vec![&["a", "b"][..], &["c"]], vec![vec!["a", "b"], vec!["c"]]),
            (vec![&["a"], &[], &["b"]], vec![vec!["a"], vec!["b"]]),
            (vec![&["a", "b"], &["b", "c"]], vec![vec!["a", "b", "c"]]),
            (vec![&["c"], &["a"], &["c"]], vec![vec!["c", "a"]]),
        ] {
            let shards = Shards::new(parts.iter().map(|ids| part(ids, "judge", "x")));
            assert_eq!(ids(&shards), want);
        }
    }

    #[test]
    fn scorers_are_kept_across_all_parts() {
        let mut shards = Shards::new([part(&["a"], "judge", "x"), part(&["b"], "match", "x")]);
        shards.keep_scorers(&["match".to_owned()]).expect("one part has it");
        assert_eq!(shards.iter().map(|part| part.scorers().count()).collect::<Vec<_>>(), [0, 1]);
        let error = Shards::new([part(&["a"], "judge", "x"), part(&["b"], "judge", "x")])
            .keep_scorers(&["jugde".to_owned()])
            .expect_err("no part has it");
        assert_eq!(error.kind(), &ErrorKind::NoScorer { scorer: "jugde".into(), known: vec!["judge".into()] });
    }

    #[test]
    fn samples_are_kept_where_any_part_has_the_value() {
        let shards = Shards::new([part(&["a"], "judge", "x"), part(&["b"], "judge", "y")]);
        assert_eq!(ids(&shards.keep_where("category", "y").expect("b has it")), [["b"]]);
        let error = shards.keep_where("category", "z").expect_err("no sample has it");
        assert_eq!(error.kind().to_string(), "no sample has `category` = `z`");
    }
}
