//! The rows of each sample, in the order of their epochs.

use crate::data::scores::{Scores, Values};
use crate::{Error, ErrorKind};

/// Rows grouped by sample.
pub(crate) struct AttemptGroups {
    /// Rows, sample after sample.
    rows: Vec<u32>,
    /// Samples in the order of their first row.
    samples: Vec<u32>,
    /// Where each sample's rows end.
    ends: Vec<u32>,
    /// True when some rows were delivered again and left out.
    has_repeats: bool,
}

impl AttemptGroups {
    /// Groups the rows. An attempt delivered twice counts once; if the two disagree it is an error, given with
    /// the sample that it belongs to.
    pub(crate) fn of(scores: &Scores) -> Result<Self, (u32, Error)> {
        let (sample, epoch): (&[u32], &[u32]) = (&scores.sample, &scores.epoch);
        if let Some(samples) = count_in_order(sample, epoch) {
            return Ok(Self::in_order(sample, samples));
        }
        let mut attempts = Self::group(sample);
        attempts.order_epochs(scores)?;
        Ok(attempts)
    }

    /// Rows that come sample after sample, of so many samples.
    fn in_order(sample: &[u32], count: usize) -> Self {
        let (mut samples, mut ends) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut end = 0;
        for rows in sample.chunk_by(|a, b| a == b) {
            end += rows.len() as u32;
            samples.push(rows[0]);
            ends.push(end);
        }
        Self { rows: (0..end).collect(), samples, ends, has_repeats: false }
    }

    /// Counting sort by sample, samples in the order of their first row.
    fn group(sample: &[u32]) -> Self {
        let highest = sample.iter().copied().max().map_or(0, |highest| highest as usize + 1);
        let mut place = vec![u32::MAX; highest];
        let mut samples = Vec::new();
        let mut ends: Vec<u32> = Vec::new();
        for &sample in sample {
            let place = &mut place[sample as usize];
            if *place == u32::MAX {
                *place = samples.len() as u32;
                samples.push(sample);
                ends.push(0);
            }
            ends[*place as usize] += 1;
        }
        let mut start = 0;
        for end in &mut ends {
            let count = *end;
            *end = start;
            start += count;
        }
        let mut rows = vec![0; sample.len()];
        for (row, &sample) in sample.iter().enumerate() {
            let end = &mut ends[place[sample as usize] as usize];
            rows[*end as usize] = row as u32;
            *end += 1;
        }
        Self { rows, samples, ends, has_repeats: false }
    }

    fn order_epochs(&mut self, scores: &Scores) -> Result<(), (u32, Error)> {
        let epochs: &[u32] = &scores.epoch;
        let epoch = |&row: &u32| epochs[row as usize];
        let mut start = 0;
        let mut repeated = false;
        for &end in &self.ends {
            let rows = &mut self.rows[start..end as usize];
            if !rows.is_sorted_by(|a, b| epoch(a) < epoch(b)) {
                rows.sort_by_key(epoch);
                repeated |= rows.windows(2).any(|pair| epoch(&pair[0]) == epoch(&pair[1]));
            }
            start = end as usize;
        }
        if repeated { self.drop_repeats(scores) } else { Ok(()) }
    }

    fn drop_repeats(&mut self, scores: &Scores) -> Result<(), (u32, Error)> {
        let mut rows = Vec::with_capacity(self.rows.len());
        let mut ends = Vec::with_capacity(self.ends.len());
        for (sample, group) in self.iter() {
            let first = rows.len();
            for &row in group {
                let (epoch, value) = (scores.epoch[row as usize], scores.values.get(row as usize));
                match rows[first..].last() {
                    Some(&last) if scores.epoch[last as usize] == epoch => {
                        let kept = scores.values.get(last as usize);
                        if kept != value {
                            let conflict = Error::from(ErrorKind::Conflict { first: kept, other: value });
                            return Err((sample, conflict.at_epoch(epoch)));
                        }
                    }
                    _ => rows.push(row),
                }
            }
            ends.push(rows.len() as u32);
        }
        self.has_repeats = rows.len() < self.rows.len();
        self.rows = rows;
        self.ends = ends;
        Ok(())
    }

    /// Each sample with its rows.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &[u32])> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|&end| end as usize));
        let ranges = starts.zip(&self.ends);
        self.samples.iter().zip(ranges).map(|(&sample, (start, &end))| (sample, &self.rows[start..end as usize]))
    }

    /// All rows once, sample after sample.
    pub(crate) fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// True when every sample has one attempt, in order: reduction leaves the rows as they are.
    pub(crate) fn is_single(&self) -> bool {
        let is_one_each = !self.has_repeats && self.rows.len() == self.samples.len();
        is_one_each && self.rows.iter().enumerate().all(|(place, &row)| place == row as usize)
    }

    /// Scores with one row per sample.
    pub(crate) fn into_scores(self, scores: &Scores, values: Values) -> Scores {
        let attempts: &[u32] = &scores.attempt;
        let attempt = self.iter().map(|(_, rows)| attempts[rows[0] as usize]).collect();
        let epoch = vec![0; self.samples.len()].into();
        Scores { sample: self.samples.into(), epoch, attempt, values, ..Scores::default() }
    }
}

/// The number of samples, if rows come sample after sample and each sample's in the order of their epochs.
fn count_in_order(sample: &[u32], epoch: &[u32]) -> Option<usize> {
    // Without an early end, several pairs are compared at once.
    let (mut count, mut is_ordered) = (usize::from(!sample.is_empty()), true);
    for (samples, epochs) in sample.windows(2).zip(epoch.windows(2)) {
        let is_next = samples[0] < samples[1];
        is_ordered &= is_next | ((samples[0] == samples[1]) & (epochs[0] < epochs[1]));
        count += usize::from(is_next);
    }
    is_ordered.then_some(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    fn scores(rows: &[(u32, u32, f64)]) -> Scores {
        Scores {
            sample: rows.iter().map(|row| row.0).collect(),
            epoch: rows.iter().map(|row| row.1).collect(),
            attempt: (0..rows.len() as u32).collect(),
            values: rows.iter().map(|row| Value::Float(row.2)).collect(),
            ..Scores::default()
        }
    }

    #[test]
    fn rows_are_grouped_by_sample_and_ordered_by_epoch() {
        for (rows, want, is_single) in [
            (&[(0, 1, 1.0), (1, 1, 0.0)][..], vec![(0, vec![0]), (1, vec![1])], true),
            (&[(0, 1, 1.0), (0, 2, 0.0), (1, 1, 1.0)], vec![(0, vec![0, 1]), (1, vec![2])], false),
            (&[(2, 2, 1.0), (0, 1, 0.0), (2, 1, 1.0)], vec![(2, vec![2, 0]), (0, vec![1])], false),
            // Delivered again, with the same score: it counts once.
            (&[(0, 1, 1.0), (0, 1, 1.0), (0, 2, 0.0)], vec![(0, vec![0, 2])], false),
            (&[], vec![], true),
        ] {
            let groups = AttemptGroups::of(&scores(rows)).expect("no conflicts");
            let found: Vec<(u32, Vec<u32>)> = groups.iter().map(|(sample, rows)| (sample, rows.to_vec())).collect();
            assert_eq!((found, groups.is_single()), (want, is_single), "{rows:?}");
        }
    }

    #[test]
    fn two_scores_of_one_attempt_conflict() {
        let (sample, error) =
            AttemptGroups::of(&scores(&[(3, 1, 1.0), (4, 2, 1.0), (4, 2, 0.0)])).err().expect("a conflict");
        assert_eq!(sample, 4);
        assert_eq!(error.kind(), &ErrorKind::Conflict { first: Value::Float(1.0), other: Value::Float(0.0) });
        assert_eq!(error.place().epoch, Some(2));
    }
}
