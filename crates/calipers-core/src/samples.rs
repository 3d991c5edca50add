//! The samples of a run, column by column.

use crate::column::{ABSENT, Coded, Column};
use crate::scores::{Row, Scores, Values};
use crate::{Error, ErrorKind, Outcome, Value};
use indexmap::IndexMap;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

/// Values by name: what is known of a sample besides its scores.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata(Vec<(Arc<str>, Value)>);

impl Metadata {
    /// Metadata from names and values.
    pub fn new<K: Into<Arc<str>>, V: Into<Value>>(entries: impl IntoIterator<Item = (K, V)>) -> Self {
        Self(entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }

    /// The value under a name.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(name, _)| **name == *key).map(|(_, value)| value)
    }

    /// All names and values, in the order given.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Value)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    pub(crate) fn set(&mut self, key: &str, value: Value) {
        match self.0.iter_mut().find(|(name, _)| **name == *key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key.into(), value)),
        }
    }
}

/// The name of a sample: a number or text. `1` and `"1"` are the same sample, as in Inspect.
#[derive(Clone, Debug)]
pub enum SampleId {
    /// A number.
    Int(i64),
    /// Text.
    Text(Arc<str>),
}

impl SampleId {
    /// Numbers first, by size, then text: the order in which order matters.
    fn rank(&self) -> (bool, i64, &str) {
        match self {
            Self::Int(i) => (false, *i, ""),
            // Text that is a number ranks with the number that it equals.
            Self::Text(text) => match text.parse::<i64>() {
                Ok(i) if i.to_string() == **text => (false, i, ""),
                _ => (true, 0, text),
            },
        }
    }
}

impl PartialEq for SampleId {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for SampleId {}

impl std::hash::Hash for SampleId {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.rank().hash(state);
    }
}

impl PartialOrd for SampleId {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SampleId {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl fmt::Display for SampleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(i) => write!(f, "{i}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl From<i64> for SampleId {
    fn from(i: i64) -> Self {
        Self::Int(i)
    }
}

impl From<i32> for SampleId {
    fn from(i: i32) -> Self {
        Self::Int(i64::from(i))
    }
}

impl From<&str> for SampleId {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for SampleId {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

/// The samples of a run with their attempts, scores, fields and metadata.
///
/// Attempts may arrive in any order; what is computed from them does not depend on it.
///
/// ```
/// use calipers_core::Samples;
///
/// let mut samples = Samples::new();
/// samples.push("SEC-001").metadata("category", "adversarial").score("judge", 0.7).field("latency_ms", 812);
/// samples.push("SEC-001").score("judge", 0.9); // a second attempt
/// samples.push("SEC-002").error("connection reset");
/// assert_eq!((samples.len(), samples.attempts()), (2, 3));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Samples {
    ids: Vec<SampleId>,
    index: HashMap<SampleId, u32>,
    /// The last epoch seen of each sample.
    epochs: Vec<u32>,
    /// One row a sample.
    metadata: IndexMap<Arc<str>, Coded>,
    /// One row an attempt.
    attempt_sample: Vec<u32>,
    attempt_epoch: Vec<u32>,
    /// True once epochs were given by hand, so that an attempt may have been delivered twice.
    may_repeat: bool,
    fields: IndexMap<Arc<str>, Column>,
    errors: BTreeMap<u32, Arc<str>>,
    scores: IndexMap<Arc<str>, Scores>,
}

impl Samples {
    /// No samples yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an attempt of a sample. A name seen before counts the epochs up.
    pub fn push(&mut self, id: impl Into<SampleId>) -> Attempt<'_> {
        let sample = self.sample(id.into());
        let epoch = self.epochs[sample as usize].saturating_add(1);
        self.attempt(sample, epoch)
    }

    /// Adds the attempt of a sample with this epoch. An attempt delivered twice counts once.
    pub fn push_epoch(&mut self, id: impl Into<SampleId>, epoch: u32) -> Attempt<'_> {
        let sample = self.sample(id.into());
        self.may_repeat = true;
        self.attempt(sample, epoch)
    }

    fn sample(&mut self, id: SampleId) -> u32 {
        if let Some(&sample) = self.index.get(&id) {
            return sample;
        }
        let sample = self.ids.len() as u32;
        self.ids.push(id.clone());
        self.index.insert(id, sample);
        self.epochs.push(0);
        sample
    }

    fn attempt(&mut self, sample: u32, epoch: u32) -> Attempt<'_> {
        let last = &mut self.epochs[sample as usize];
        *last = (*last).max(epoch);
        self.attempt_sample.push(sample);
        self.attempt_epoch.push(epoch);
        let attempt = self.attempt_sample.len() as u32 - 1;
        Attempt { row: Row { sample, epoch, attempt }, samples: self }
    }

    /// The number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The number of attempts, each counted once however often it was delivered.
    #[must_use]
    pub fn attempts(&self) -> usize {
        if self.may_repeat { self.attempt_rows().len() } else { self.attempt_sample.len() }
    }

    /// The number of attempts that ended in an error.
    #[must_use]
    pub fn errored(&self) -> usize {
        let attempt = |row: &u32| (self.attempt_sample[*row as usize], self.attempt_epoch[*row as usize]);
        self.errors.keys().map(attempt).collect::<std::collections::BTreeSet<_>>().len()
    }

    /// The names of the scorers, in the order of their first score.
    pub fn scorers(&self) -> impl Iterator<Item = &Arc<str>> {
        self.scores.keys()
    }

    /// The names of the fields, in the order of their first appearance.
    pub fn fields(&self) -> impl Iterator<Item = &Arc<str>> {
        self.fields.keys()
    }

    pub(crate) fn id(&self, sample: u32) -> &SampleId {
        &self.ids[sample as usize]
    }

    pub(crate) fn scores(&self, scorer: &str) -> Option<&Scores> {
        self.scores.get(scorer)
    }

    /// The metadata of a sample, as one value.
    pub(crate) fn metadata_of(&self, sample: u32) -> Metadata {
        let known = self.metadata.iter().filter_map(|(key, column)| {
            let code = *column.codes.get(sample as usize)?;
            Some((key.clone(), column.dictionary().get(code as usize)?.clone()))
        });
        Metadata(known.collect())
    }

    pub(crate) fn metadata_column(&self, key: &str) -> Option<&Coded> {
        self.metadata.get(key)
    }

    pub(crate) fn is_errored(&self, attempt: u32) -> bool {
        self.errors.contains_key(&attempt)
    }

    /// The sample and the epoch of every attempt, as they were delivered.
    pub(crate) fn attempt_places(&self) -> (&[u32], &[u32]) {
        (&self.attempt_sample, &self.attempt_epoch)
    }

    /// Why an attempt did not run.
    pub(crate) fn error_at(&self, attempt: u32) -> Option<&Arc<str>> {
        self.errors.get(&attempt)
    }

    /// The fields of an attempt that was delivered in these rows. The first row that has a field counts.
    pub(crate) fn fields_at(&self, rows: &[u32]) -> Vec<(Arc<str>, Value)> {
        let value = |column: &Column, row: u32| {
            let given = (row as usize) < column.len() && !column.is_missing(row as usize);
            given.then(|| column.get(row as usize))
        };
        let known = self
            .fields
            .iter()
            .filter_map(|(name, column)| Some((name.clone(), rows.iter().find_map(|&row| value(column, row))?)));
        known.collect()
    }

    /// All attempts, each once, by sample and then by epoch: the rows of metrics over fields.
    pub(crate) fn all_attempts(&self) -> Scores {
        let rows = self.attempt_rows();
        let pick = |column: &[u32]| rows.iter().map(|&row| column[row as usize]).collect();
        Scores {
            sample: pick(&self.attempt_sample),
            epoch: pick(&self.attempt_epoch),
            values: Values::Scalars(Column::Floats(vec![f64::NAN; rows.len()])),
            attempt: rows,
            ..Scores::default()
        }
    }

    fn attempt_rows(&self) -> Vec<u32> {
        let mut rows: Vec<u32> = (0..self.attempt_sample.len() as u32).collect();
        let place = |&row: &u32| (self.attempt_sample[row as usize], self.attempt_epoch[row as usize]);
        if !rows.is_sorted_by(|a, b| place(a) < place(b)) {
            rows.sort_by_key(place);
            rows.dedup_by_key(|row| place(row));
        }
        rows
    }

    /// Leaves out all scorers but these. Fails when one of them has not scored.
    pub fn keep_scorers(&mut self, scorers: &[String]) -> Result<(), Error> {
        if let Some(unknown) = scorers.iter().find(|name| !self.scores.contains_key(name.as_str())) {
            let known = self.scorers().map(ToString::to_string).collect();
            return Err(ErrorKind::NoScorer { scorer: unknown.clone(), known }.into());
        }
        self.scores.retain(|name, _| scorers.iter().any(|kept| **kept == **name));
        Ok(())
    }

    /// The samples whose metadata has this value, as it prints. Fails when no sample has it.
    pub fn keep_where(&self, key: &str, value: &str) -> Result<Self, Error> {
        let column = self.metadata.get(key).ok_or_else(|| {
            let known = self.metadata.keys().map(ToString::to_string).collect();
            Error::from(ErrorKind::NoField { field: key.to_owned(), known })
        })?;
        let code = |sample: u32| column.codes.get(sample as usize).copied().unwrap_or(ABSENT);
        let matches: Vec<bool> = column.dictionary().iter().map(|known| known.to_string() == value).collect();
        let wanted = |&sample: &u32| matches.get(code(sample) as usize).copied().unwrap_or(false);
        let kept: Vec<u32> = (0..self.ids.len() as u32).filter(wanted).collect();
        if kept.is_empty() {
            let mut known: Vec<String> = column.dictionary().iter().map(Value::to_string).collect();
            known.truncate(8);
            let message = format!("no sample has `{key}` = `{value}`");
            return Err(Error::argument(message, format!("the values are {}", known.join(", "))));
        }
        Ok(self.select(&kept))
    }

    /// These samples, in this order.
    fn select(&self, kept: &[u32]) -> Self {
        let mut place = vec![ABSENT; self.ids.len()];
        for (new, &old) in kept.iter().enumerate() {
            place[old as usize] = new as u32;
        }
        let mut attempt_place = vec![ABSENT; self.attempt_sample.len()];
        let mut rows: Vec<u32> = Vec::new();
        for (row, &sample) in self.attempt_sample.iter().enumerate() {
            if place[sample as usize] != ABSENT {
                attempt_place[row] = rows.len() as u32;
                rows.push(row as u32);
            }
        }
        let metadata = self.metadata.iter().map(|(key, column)| {
            let codes = kept.iter().map(|&sample| column.codes.get(sample as usize).copied().unwrap_or(ABSENT));
            (key.clone(), column.with_codes(codes.collect()))
        });
        let fields = self.fields.iter().map(|(name, column)| {
            let mut column = column.clone();
            column.pad(self.attempt_sample.len());
            (name.clone(), column.gather(&rows))
        });
        let scores = self.scores.iter().filter_map(|(scorer, scores)| {
            let wanted = (0..scores.len() as u32).filter(|&row| place[scores.sample[row as usize] as usize] != ABSENT);
            let mut scores = scores.gather(&wanted.collect::<Vec<_>>());
            scores.sample.iter_mut().for_each(|sample| *sample = place[*sample as usize]);
            scores.attempt.iter_mut().for_each(|attempt| *attempt = attempt_place[*attempt as usize]);
            (scores.len() > 0).then(|| (scorer.clone(), scores))
        });
        let ids: Vec<SampleId> = kept.iter().map(|&sample| self.ids[sample as usize].clone()).collect();
        Self {
            index: ids.iter().cloned().zip(0..).collect(),
            ids,
            epochs: kept.iter().map(|&sample| self.epochs[sample as usize]).collect(),
            metadata: metadata.collect(),
            attempt_sample: rows.iter().map(|&row| place[self.attempt_sample[row as usize] as usize]).collect(),
            attempt_epoch: rows.iter().map(|&row| self.attempt_epoch[row as usize]).collect(),
            may_repeat: self.may_repeat,
            fields: fields.collect(),
            errors: self
                .errors
                .iter()
                .filter(|(row, _)| attempt_place[**row as usize] != ABSENT)
                .map(|(row, message)| (attempt_place[*row as usize], message.clone()))
                .collect(),
            scores: scores.collect(),
        }
    }

    /// The names under which [`field_values`](Self::field_values) finds something.
    pub(crate) fn known_fields(&self) -> impl Iterator<Item = &Arc<str>> {
        self.fields.keys().chain(self.metadata.keys())
    }

    /// A field, or else a metadata key, by attempt. Where it is not known nothing was said: the samples of another
    /// shard may have it.
    pub(crate) fn field_values(&self, name: &str, rows: &[u32]) -> Column {
        if let Some(column) = self.fields.get(name) {
            let mut column = column.clone();
            column.pad(self.attempt_sample.len());
            return column.gather(rows);
        }
        if let Some(column) = self.metadata.get(name) {
            let sample = |&row: &u32| self.attempt_sample[row as usize] as usize;
            let code = |row: &u32| column.codes.get(sample(row)).copied().unwrap_or(ABSENT);
            return Column::Coded(column.with_codes(rows.iter().map(code).collect()));
        }
        Column::Floats(vec![f64::NAN; rows.len()])
    }
}

/// One attempt of a sample, being described.
#[derive(Debug)]
pub struct Attempt<'a> {
    row: Row,
    samples: &'a mut Samples,
}

impl Attempt<'_> {
    /// What a scorer said of it.
    pub fn score(self, scorer: impl Into<Arc<str>>, outcome: impl Into<Outcome>) -> Self {
        let scores = self.samples.scores.entry(scorer.into()).or_default();
        scores.push(self.row, outcome.into());
        self
    }

    /// A fact about the sample, the same in every attempt. The first one given stays.
    pub fn metadata(self, key: impl Into<Arc<str>>, value: impl Into<Value>) -> Self {
        let column = self.samples.metadata.entry(key.into()).or_default();
        let sample = self.row.sample as usize;
        if column.codes.len() <= sample {
            column.pad(sample);
            column.push(value.into());
        } else if column.codes[sample] == ABSENT {
            column.push(value.into());
            column.codes[sample] = column.codes.pop().unwrap_or(ABSENT);
        }
        self
    }

    /// A measurement of this attempt: `latency_ms`, `tokens_used`, `passed`, …
    pub fn field(self, name: impl Into<Arc<str>>, value: impl Into<Value>) -> Self {
        let row = self.row.attempt as usize;
        let column = self.samples.fields.entry(name.into()).or_default();
        column.pad(row);
        column.push(value.into());
        self
    }

    /// The attempt failed to run. It has neither passed nor been scored.
    pub fn error(self, message: impl Into<Arc<str>>) -> Self {
        self.samples.errors.insert(self.row.attempt, message.into());
        self
    }
}
