//! The samples row by row again, for writers.

use crate::data::row_index::RunRowIndex;
use crate::data::scores::Scores;
use crate::{Metadata, Outcome, SampleId, Samples, Value};
use std::sync::Arc;

/// One attempt with everything that is known about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The sample.
    pub id: SampleId,
    /// Which attempt of the sample.
    pub epoch: u32,
    /// What each scorer said, in the order of the run's scorers. A scorer that did not look at the attempt is not here.
    pub scores: Vec<(Arc<str>, Outcome)>,
    /// Facts about the sample, as this attempt gives them.
    pub metadata: Arc<Metadata>,
    /// Measurements of the attempt that were given.
    pub fields: Vec<(Arc<str>, Value)>,
    /// Why the attempt did not run, if it did not.
    pub error: Option<Arc<str>>,
}

impl Samples {
    /// Every attempt once, in the order of samples and then of epochs.
    ///
    /// An attempt that was delivered in several parts is put together; of a part delivered twice, the first counts.
    ///
    /// ```
    /// use calipers_core::{Outcome, Samples};
    ///
    /// let mut samples = Samples::new();
    /// samples.push("a").score("judge", 0.7).field("latency_ms", 812.0);
    /// samples.push("b").error("timeout");
    /// samples.push("a").score("judge", 0.9);
    /// let records: Vec<_> = samples.records().collect();
    /// assert_eq!(records.iter().map(|r| (r.id.to_string(), r.epoch)).collect::<Vec<_>>(),
    ///            [("a".into(), 1), ("a".into(), 2), ("b".into(), 1)]);
    /// assert_eq!(records[1].scores, [("judge".into(), Outcome::from(0.9))]);
    /// assert_eq!(records[2].error.as_deref(), Some("timeout"));
    /// ```
    pub fn records(&self) -> impl Iterator<Item = Record> {
        let (sample, epoch) = self.attempt_places();
        let rows = by_place(sample, epoch);
        let index = self.row_index();
        let scores = ScoreCursors::of(self);
        Records { samples: self, index, rows, at: 0, scores, metadata: None }
    }
}

/// Rows by sample and epoch. Rows of one place stay in the order in which they were delivered.
fn by_place(sample: &[u32], epoch: &[u32]) -> Vec<u32> {
    let mut rows: Vec<u32> = (0..sample.len() as u32).collect();
    let place = |row: &u32| (sample[*row as usize], epoch[*row as usize]);
    if !rows.is_sorted_by_key(place) {
        rows.sort_by_key(place);
    }
    rows
}

struct Records<'a> {
    samples: &'a Samples,
    rows: Vec<u32>,
    at: usize,
    index: RunRowIndex<'a>,
    scores: ScoreCursors<'a>,
    /// The metadata of the sample met last: its attempts follow one another.
    metadata: Option<(u32, Arc<Metadata>)>,
}

/// The scores of a run, from sample to sample and from epoch to epoch.
enum ScoreCursors<'a> {
    /// One cursor per scorer.
    Few(Vec<(Arc<str>, RecordCursor<'a>)>),
    /// All scores in one list: of thousands of scorers, most say nothing of a sample.
    Many { scorers: Vec<(&'a Arc<str>, &'a Scores)>, places: Vec<ScorePlace>, at: usize },
}

/// The place of a score among the records, its scorer, and its row there.
type ScorePlace = ((u32, u32), u32, u32);

/// From this many scorers on, their scores are sorted into one list.
const SCORERS_MANY: usize = 32;

impl<'a> ScoreCursors<'a> {
    fn of(samples: &'a Samples) -> Self {
        let scorers: Vec<(&Arc<str>, &Scores)> = samples.scores.iter().collect();
        if scorers.len() < SCORERS_MANY {
            let cursor =
                |scores: &'a Scores| RecordCursor { rows: by_place(&scores.sample, &scores.epoch), at: 0, scores };
            return Self::Few(scorers.into_iter().map(|(name, scores)| (name.clone(), cursor(scores))).collect());
        }
        let mut places: Vec<ScorePlace> = Vec::new();
        for ((_, scores), scorer) in scorers.iter().zip(0..) {
            let rows = scores.sample.iter().zip(&*scores.epoch).zip(0..);
            places.extend(rows.map(|((&sample, &epoch), row)| ((sample, epoch), scorer, row)));
        }
        places.sort_unstable();
        Self::Many { scorers, places, at: 0 }
    }

    /// What scorers say of the attempt at this place, which comes after those before.
    fn take(&mut self, here: (u32, u32)) -> Vec<(Arc<str>, Outcome)> {
        match self {
            Self::Few(cursors) => {
                let taken =
                    |(name, cursor): &mut (Arc<str>, RecordCursor<'a>)| Some((name.clone(), cursor.take(here)?));
                cursors.iter_mut().filter_map(taken).collect()
            }
            Self::Many { scorers, places, at } => {
                let mut taken: Vec<(Arc<str>, Outcome)> = Vec::new();
                let mut last = None;
                while let Some(&(place, scorer, row)) = places.get(*at).filter(|(place, ..)| *place <= here) {
                    // Of a score that was delivered twice, the first counts.
                    if place == here && last.replace(scorer) != Some(scorer) {
                        let (name, scores) = scorers[scorer as usize];
                        taken.push((name.clone(), scores.outcome(row as usize)));
                    }
                    *at += 1;
                }
                taken
            }
        }
    }
}

/// A scorer's rows; those before `at` have been returned.
struct RecordCursor<'a> {
    scores: &'a Scores,
    rows: Vec<u32>,
    at: usize,
}

impl RecordCursor<'_> {
    fn take(&mut self, place: (u32, u32)) -> Option<Outcome> {
        let mut found = None;
        while let Some(&row) = self.rows.get(self.at) {
            let row = row as usize;
            if (self.scores.sample[row], self.scores.epoch[row]) > place {
                break;
            }
            if (self.scores.sample[row], self.scores.epoch[row]) == place && found.is_none() {
                found = Some(self.scores.outcome(row));
            }
            self.at += 1;
        }
        found
    }
}

impl Scores {
    /// What the scorer said in this row.
    pub(super) fn outcome(&self, row: usize) -> Outcome {
        let score = self.score(row);
        if !score.value.is_missing() {
            return Outcome::Scored(score);
        }
        let reason = self.reasons.get(&(row as u32)).cloned().unwrap_or_else(|| "no value".into());
        Outcome::Unscored { reason, score: score.has_extras().then(|| Box::new(score)) }
    }
}

impl Iterator for Records<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        let (samples, epochs) = self.samples.attempt_places();
        let place = |row: u32| (samples[row as usize], epochs[row as usize]);
        let here = place(*self.rows.get(self.at)?);
        let parts = self.rows[self.at..].iter().take_while(|&&row| place(row) == here).count();
        let rows = &self.rows[self.at..self.at + parts];
        self.at += parts;
        let metadata = match &self.metadata {
            _ if self.samples.attempt_facts.is_some() => Arc::new(self.index.metadata_at(here.0, rows)),
            Some((sample, metadata)) if *sample == here.0 => metadata.clone(),
            _ => Arc::new(self.index.metadata_of(here.0)),
        };
        self.metadata = Some((here.0, metadata.clone()));
        Some(Record {
            id: self.samples.id(here.0).clone(),
            epoch: here.1,
            scores: self.scores.take(here),
            metadata,
            fields: self.index.fields_at(rows),
            error: rows.iter().find_map(|&row| self.samples.error_at(row)).cloned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Score;

    #[test]
    fn an_attempt_delivered_in_parts_is_one_record() {
        let mut samples = Samples::new();
        samples.push_epoch("b", 2).score("x", 1).field("latency_ms", 5.0);
        samples.push_epoch("a", 1).score("y", "C").metadata("topic", "law");
        samples.push_epoch("b", 2).score("y", Outcome::unscored("refusal")).field("passed", true).error("late");
        samples.push_epoch("b", 1).score("x", Score::new(0.5).answer("z"));
        samples.push_epoch("b", 2).score("x", 1);
        let records: Vec<Record> = samples.records().collect();
        let places: Vec<_> = records.iter().map(|record| (record.id.to_string(), record.epoch)).collect();
        assert_eq!(places, [("b".into(), 1), ("b".into(), 2), ("a".into(), 1)]);
        assert_eq!(records[0].scores, [("x".into(), Outcome::from(Score::new(0.5).answer("z")))]);
        assert_eq!(records[1].scores, [("x".into(), Outcome::from(1)), ("y".into(), Outcome::unscored("refusal"))]);
        assert_eq!(records[1].fields, [("latency_ms".into(), 5.0.into()), ("passed".into(), true.into())]);
        assert_eq!(records[1].error.as_deref(), Some("late"));
        assert_eq!(records[2].metadata.get("topic"), Some(&"law".into()));
        assert_eq!(samples.attempts(), records.len());
    }
}
