//! The part of a run that a look may see: samples that are whole, in the order in which they were launched.
//!
//! Attempts end in another order, in which quick ones come first. If wrong answers take longer, the first results look better
//! than the run is, and no test is right about them.

use calipers_core::{SampleId, Samples};
use std::collections::{HashMap, HashSet};

/// How far a run has come without gaps.
pub(super) struct LaunchPrefix {
    /// The samples in the order in which they are launched.
    order: Vec<SampleId>,
    epochs: u32,
    /// The attempts that have ended, by sample.
    ended: HashMap<SampleId, u32>,
    /// The first samples of the order all of whose attempts have ended.
    whole: usize,
}

impl LaunchPrefix {
    /// A run of these samples, of which these attempts were made before.
    pub(super) fn new(ids: &[SampleId], seed: Option<u64>, epochs: u32, known: &Samples) -> Self {
        let order = calipers_run::launch_order(ids.len(), seed).into_iter().map(|place| ids[place].clone()).collect();
        let mut prefix = Self { order, epochs, ended: HashMap::new(), whole: 0 };
        known.records().for_each(|record| prefix.note(&record.id));
        prefix
    }

    /// Another attempt of this sample has ended.
    pub(super) fn note(&mut self, id: &SampleId) {
        *self.ended.entry(id.clone()).or_default() += 1;
        let is_whole = |id: &SampleId| self.ended.get(id).is_some_and(|&ended| ended >= self.epochs);
        while self.order.get(self.whole).is_some_and(is_whole) {
            self.whole += 1;
        }
    }
}

/// What a look may see of a run that goes on.
pub struct RunSoFar<'a> {
    pub(super) prefix: &'a LaunchPrefix,
    pub(super) known: &'a Samples,
}

impl RunSoFar<'_> {
    /// The number of samples all of whose attempts, and those of the samples launched before, have ended.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.prefix.whole
    }

    /// These samples.
    #[must_use]
    pub fn to_samples(&self) -> Samples {
        let whole: HashSet<&SampleId> = self.prefix.order[..self.prefix.whole].iter().collect();
        self.known.of_samples(|id| whole.contains(id))
    }
}

impl std::fmt::Debug for RunSoFar<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunSoFar").field("samples", &self.samples()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_counts_when_all_before_it_have_ended() {
        let ids: Vec<SampleId> = (1..=3).map(SampleId::Int).collect();
        let mut known = Samples::new();
        known.push_epoch(2, 1).score("judge", 1.0);
        let mut prefix = LaunchPrefix::new(&ids, None, 2, &known);
        let mut whole = Vec::new();
        for (id, epoch) in [(2, 2), (1, 2), (3, 1), (1, 1), (3, 2)] {
            known.push_epoch(id, epoch).score("judge", 0.0);
            prefix.note(&SampleId::Int(id));
            let so_far = RunSoFar { prefix: &prefix, known: &known };
            assert_eq!(so_far.to_samples().len(), so_far.samples());
            whole.push(so_far.samples());
        }
        assert_eq!(whole, [0, 0, 0, 2, 3]);
    }
}
