//! The samples of a run, column by column.

use crate::data::column::{ABSENT, Coded, Column};
use crate::data::cow_indices::CowIndices;
use crate::data::ids::SampleIds;
use crate::data::scores::{ScoreRow, Scores, Values};
use crate::{Error, ErrorKind, Outcome, SampleId, Value};
use indexmap::IndexMap;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// Values by name: what is known about a sample besides its scores.
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

    /// Sets the value under a name.
    pub fn set(&mut self, key: &str, value: Value) {
        match self.0.iter_mut().find(|(name, _)| **name == *key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key.into(), value)),
        }
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
    pub(crate) ids: SampleIds,
    /// The last epoch seen of each sample.
    pub(crate) epochs: CowIndices,
    /// One row per sample.
    pub(crate) metadata: IndexMap<Arc<str>, Coded>,
    /// One row per attempt.
    pub(crate) attempt_sample: CowIndices,
    pub(crate) attempt_epoch: CowIndices,
    /// True where the epoch was counted, not given.
    pub(crate) attempt_counted: Vec<bool>,
    /// True once epochs were given by hand, so that an attempt may have been delivered twice.
    pub(crate) may_repeat: bool,
    pub(crate) fields: IndexMap<Arc<str>, Column>,
    pub(crate) errors: BTreeMap<u32, Arc<str>>,
    pub(crate) scores: IndexMap<Arc<str>, Scores>,
    /// Metadata values that contradict the first record of a sample, by key: the sample and the code of the other value.
    /// Kept for the [keys](SINGLE_VALUE_KEYS) that decide how a sample is counted.
    pub(crate) contradicting_values: BTreeMap<Arc<str>, BTreeSet<(u32, u32)>>,
}

/// The metadata keys whose value must be the same in all records of a sample, because they decide how it is counted.
pub(crate) const SINGLE_VALUE_KEYS: [&str; 5] = ["category", "capability", "failure_type", "failure_types", "failures"];

impl Samples {
    /// No samples yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an attempt of a sample. Further attempts of a sample get the next epoch.
    pub fn push(&mut self, id: impl Into<SampleId>) -> Attempt<'_> {
        let sample = self.sample(id.into());
        let epoch = self.epochs[sample as usize].saturating_add(1);
        self.attempt(sample, epoch, true)
    }

    /// Adds the attempt of a sample with this epoch. An attempt delivered twice counts once.
    pub fn push_epoch(&mut self, id: impl Into<SampleId>, epoch: u32) -> Attempt<'_> {
        let sample = self.sample(id.into());
        self.may_repeat = true;
        self.attempt(sample, epoch, false)
    }

    fn sample(&mut self, id: SampleId) -> u32 {
        let sample = self.ids.place((&id).into());
        if self.epochs.len() < self.ids.len() {
            self.epochs.push(0);
        }
        sample
    }

    fn attempt(&mut self, sample: u32, epoch: u32, is_counted: bool) -> Attempt<'_> {
        let last = &mut self.epochs.own()[sample as usize];
        *last = (*last).max(epoch);
        self.attempt_sample.push(sample);
        self.attempt_epoch.push(epoch);
        self.attempt_counted.push(is_counted);
        let attempt = self.attempt_sample.len() as u32 - 1;
        Attempt { row: ScoreRow { sample, epoch, attempt }, samples: self }
    }

    /// Adds the samples of another part of the same run, as if its attempts had been pushed here one by one.
    pub fn append(&mut self, other: Self) {
        if self.attempt_sample.is_empty() {
            *self = other;
            return;
        }
        let first = self.attempt_sample.len() as u32;
        let place: Vec<u32> = other.ids.iter().map(|id| self.sample(id)).collect();
        for ((&sample, &epoch), &is_counted) in
            other.attempt_sample.iter().zip(&*other.attempt_epoch).zip(&other.attempt_counted)
        {
            let sample = place[sample as usize];
            let epoch = if is_counted { self.epochs[sample as usize].saturating_add(1) } else { epoch };
            self.attempt(sample, epoch, is_counted);
        }
        self.may_repeat |= other.may_repeat;
        for (key, theirs) in &other.metadata {
            self.append_metadata(key, theirs, other.contradicting_values.get(key), &place);
        }
        for (name, mut theirs) in other.fields {
            theirs.pad(other.attempt_sample.len());
            let mine = self.fields.entry(name).or_default();
            mine.pad(first as usize);
            mine.append(&theirs);
        }
        self.errors.extend(other.errors.into_iter().map(|(attempt, why)| (first + attempt, why)));
        for (scorer, theirs) in other.scores {
            let (samples, epochs) = (&self.attempt_sample, &self.attempt_epoch);
            self.scores.entry(scorer).or_default().append(theirs, |attempt| {
                let attempt = first + attempt;
                ScoreRow { sample: samples[attempt as usize], epoch: epochs[attempt as usize], attempt }
            });
        }
    }

    /// Adds metadata of other records. The values that are already here stay.
    fn append_metadata(
        &mut self,
        key: &Arc<str>,
        theirs: &Coded,
        otherwise: Option<&BTreeSet<(u32, u32)>>,
        place: &[u32],
    ) {
        let mine = self.metadata.entry(key.clone()).or_default();
        let codes = mine.codes_of(theirs);
        let mut contradictions = Vec::new();
        for (code, &sample) in theirs.codes.iter().zip(place) {
            let Some(&code) = codes.get(*code as usize) else { continue };
            if mine.codes.len() <= sample as usize {
                mine.pad(sample as usize);
                mine.codes.push(code);
            } else if mine.codes[sample as usize] == ABSENT {
                mine.codes[sample as usize] = code;
            } else {
                contradictions.push((sample, code));
            }
        }
        let others = otherwise.into_iter().flatten();
        contradictions
            .extend(others.filter_map(|(sample, code)| Some((place[*sample as usize], *codes.get(*code as usize)?))));
        for (sample, code) in contradictions {
            self.add_contradiction(key, sample, code);
        }
    }

    /// Remembers that a later record has another value, where that matters.
    fn add_contradiction(&mut self, key: &Arc<str>, sample: u32, code: u32) {
        let known = self.metadata.get(key).and_then(|column| column.codes.get(sample as usize));
        if SINGLE_VALUE_KEYS.contains(&&**key) && known.is_some_and(|known| *known != code) {
            self.contradicting_values.entry(key.clone()).or_default().insert((sample, code));
        }
    }

    /// The metadata values of these samples that contradict their first record, each with its sample.
    pub fn contradicting_values(&self, key: &str, samples: Range<u32>) -> impl Iterator<Item = (u32, &Value)> {
        let column = self.metadata.get(key);
        let values = self
            .contradicting_values
            .get(key)
            .into_iter()
            .flat_map(move |values| values.range((samples.start, 0)..(samples.end, 0)));
        values.filter_map(move |(sample, code)| Some((*sample, column?.dictionary().get(*code as usize)?)))
    }

    /// The number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.len() == 0
    }

    /// The first and the last name, if the samples are in the order of their names. Two runs of samples whose ranges do
    /// not touch have no sample in common.
    #[must_use]
    pub fn id_range(&self) -> Option<(SampleId, SampleId)> {
        self.ids.range()
    }

    /// The number of attempts, each counted once however often it was delivered.
    #[must_use]
    pub fn attempts(&self) -> usize {
        if self.may_repeat { self.attempt_rows().len() } else { self.attempt_sample.len() }
    }

    /// True when an attempt was delivered more than once.
    #[must_use]
    pub fn has_repeats(&self) -> bool {
        self.may_repeat && self.attempt_rows().len() < self.attempt_sample.len()
    }

    /// The number of attempts that ended in an error.
    #[must_use]
    pub fn errored_attempts(&self) -> usize {
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

    /// True when a scorer's scores are maps.
    #[must_use]
    pub fn has_maps(&self, scorer: &str) -> bool {
        match self.scores.get(scorer).map(|scores| &scores.values) {
            Some(Values::Maps(_)) => true,
            Some(Values::Mixed(values)) => values.iter().any(|value| matches!(value, Value::Map(_))),
            _ => false,
        }
    }

    /// The names of the samples, in the order of the run.
    pub fn ids(&self) -> impl Iterator<Item = SampleId> + '_ {
        self.ids.iter()
    }

    /// The name of a sample.
    pub fn id(&self, sample: u32) -> SampleId {
        self.ids.get(sample)
    }

    pub(crate) fn scores(&self, scorer: &str) -> Option<&Scores> {
        self.scores.get(scorer)
    }

    /// The metadata of a sample, as one value.
    pub fn metadata_of(&self, sample: u32) -> Metadata {
        let known = self.metadata.iter().filter_map(|(key, column)| {
            let code = *column.codes.get(sample as usize)?;
            Some((key.clone(), column.dictionary().get(code as usize)?.clone()))
        });
        Metadata(known.collect())
    }

    /// The metadata keys, in the order of their first appearance.
    pub fn metadata_keys(&self) -> impl Iterator<Item = &Arc<str>> {
        self.metadata.keys()
    }

    /// The values of a metadata key, sample by sample.
    pub fn metadata_column(&self, key: &str) -> Option<&Coded> {
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
            attempt: rows.into(),
            ..Scores::default()
        }
    }

    /// An error if an attempt was delivered twice with different values of a field: either could be the right one.
    pub fn check_repeats(&self) -> Result<(), Error> {
        let place = |row: u32| (self.attempt_sample[row as usize], self.attempt_epoch[row as usize]);
        let mut rows: Vec<u32> = (0..self.attempt_sample.len() as u32).collect();
        if rows.is_sorted_by(|&a, &b| place(a) < place(b)) {
            return Ok(());
        }
        rows.sort_by_key(|&row| place(row));
        for repeated in rows.chunk_by(|&a, &b| place(a) == place(b)).filter(|rows| rows.len() > 1) {
            for (name, column) in &self.fields {
                let given =
                    repeated.iter().filter(|row| (**row as usize) < column.len()).map(|&row| column.get(row as usize));
                let mut given = given.filter(|value| !matches!(value, Value::Missing | Value::Null));
                let Some(first) = given.next() else { continue };
                if let Some(other) = given.find(|other| *other != first) {
                    let message = format!("one attempt has two different values of `{name}`, `{first}` and `{other}`");
                    let hint = "remove one of the two records, or number the attempts with `epoch`";
                    let (sample, epoch) = place(repeated[0]);
                    return Err(Error::argument(message, hint).at_sample(&self.id(sample)).at_epoch(epoch));
                }
            }
        }
        Ok(())
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

    /// The samples whose metadata has this value, as it prints. Fails when no sample has it.
    pub(crate) fn keep_where(&self, key: &str, value: &str) -> Result<Self, Error> {
        let column = self.metadata.get(key).ok_or_else(|| {
            let known = self.metadata.keys().map(ToString::to_string).collect();
            Error::from(ErrorKind::NoField { field: key.to_owned(), known })
        })?;
        let code = |sample: u32| column.codes.get(sample as usize).copied().unwrap_or(ABSENT);
        // True and False print with a capital letter, as in Python; JSON writes them in lower case.
        let is_it = |known: &Value| match known {
            Value::Bool(_) => known.to_string().eq_ignore_ascii_case(value),
            _ => known.to_string() == value,
        };
        let matches: Vec<bool> = column.dictionary().iter().map(is_it).collect();
        let wanted = |&sample: &u32| matches.get(code(sample) as usize).copied().unwrap_or(false);
        let kept: Vec<u32> = (0..self.ids.len() as u32).filter(wanted).collect();
        if kept.is_empty() {
            let mut known: Vec<String> = column.dictionary().iter().map(Value::to_string).collect();
            known.truncate(8);
            let message = format!("no sample has `{key}` = `{value}`");
            return Err(Error::argument(message, format!("the values are {}", known.join(", "))));
        }
        Ok(self.select(&kept, false))
    }

    /// The same samples, sorted by a key of their names and first epochs. Where attempts are pushed as they finish, lists in
    /// the order of first appearance, such as groups, must not depend on which attempt was faster.
    ///
    /// ```
    /// use calipers_core::Samples;
    ///
    /// let mut samples = Samples::new();
    /// samples.push("b").score("judge", 1.0);
    /// samples.push("a").score("judge", 0.0);
    /// let sorted = samples.sorted_by_key(|id, epoch| (epoch, id.to_string()));
    /// assert_eq!(sorted.records().next().map(|first| first.id), Some("a".into()));
    /// ```
    #[must_use]
    pub fn sorted_by_key<K: Ord>(&self, key: impl Fn(&SampleId, u32) -> K) -> Self {
        let mut first = vec![u32::MAX; self.ids.len()];
        for (&sample, &epoch) in self.attempt_sample.iter().zip(&*self.attempt_epoch) {
            first[sample as usize] = first[sample as usize].min(epoch);
        }
        let mut order: Vec<u32> = (0..self.ids.len() as u32).collect();
        order.sort_by_cached_key(|&sample| key(&self.ids.get(sample), first[sample as usize]));
        self.select(&order, true)
    }

    /// These samples, in this order; their attempts as they came, or sorted by epoch and then by sample.
    fn select(&self, kept: &[u32], is_sorted: bool) -> Self {
        let mut place = vec![ABSENT; self.ids.len()];
        for (new, &old) in kept.iter().enumerate() {
            place[old as usize] = new as u32;
        }
        let rows_of = |sample: &[u32], epoch: &[u32]| -> Vec<u32> {
            let is_kept = |&row: &u32| place[sample[row as usize] as usize] != ABSENT;
            let mut rows: Vec<u32> = (0..sample.len() as u32).filter(is_kept).collect();
            if is_sorted {
                rows.sort_by_key(|&row| (epoch[row as usize], place[sample[row as usize] as usize]));
            }
            rows
        };
        let rows = rows_of(&self.attempt_sample, &self.attempt_epoch);
        let mut attempt_place = vec![ABSENT; self.attempt_sample.len()];
        for (new, &old) in rows.iter().enumerate() {
            attempt_place[old as usize] = new as u32;
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
            let mut scores = scores.gather(&rows_of(&scores.sample, &scores.epoch));
            scores.sample.own().iter_mut().for_each(|sample| *sample = place[*sample as usize]);
            scores.attempt.own().iter_mut().for_each(|attempt| *attempt = attempt_place[*attempt as usize]);
            (scores.len() > 0).then(|| (scorer.clone(), scores))
        });
        Self {
            ids: kept.iter().map(|&sample| self.ids.get(sample)).collect(),
            epochs: kept.iter().map(|&sample| self.epochs[sample as usize]).collect(),
            metadata: metadata.collect(),
            attempt_sample: rows.iter().map(|&row| place[self.attempt_sample[row as usize] as usize]).collect(),
            attempt_epoch: rows.iter().map(|&row| self.attempt_epoch[row as usize]).collect(),
            attempt_counted: rows.iter().map(|&row| self.attempt_counted[row as usize]).collect(),
            may_repeat: self.may_repeat,
            fields: fields.collect(),
            errors: self
                .errors
                .iter()
                .filter(|(row, _)| attempt_place[**row as usize] != ABSENT)
                .map(|(row, message)| (attempt_place[*row as usize], message.clone()))
                .collect(),
            scores: scores.collect(),
            contradicting_values: self.select_contradictions(&place),
        }
    }

    fn select_contradictions(&self, place: &[u32]) -> BTreeMap<Arc<str>, BTreeSet<(u32, u32)>> {
        let move_to =
            |(sample, code): &(u32, u32)| Some((place[*sample as usize], *code)).filter(|moved| moved.0 != ABSENT);
        let values = self.contradicting_values.iter();
        values.map(|(key, values)| (key.clone(), values.iter().filter_map(move_to).collect())).collect()
    }

    /// The names of fields, and then of metadata keys.
    pub fn columns(&self) -> impl Iterator<Item = &Arc<str>> {
        self.fields.keys().chain(self.metadata.keys())
    }

    /// A field, or else a metadata key, by attempt. An unknown name is a column of gaps: the samples of another shard may
    /// have it.
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

/// One attempt of a sample, while it is being described.
#[derive(Debug)]
pub struct Attempt<'a> {
    row: ScoreRow,
    samples: &'a mut Samples,
}

impl Attempt<'_> {
    /// The outcome of a scorer.
    pub fn score(self, scorer: impl Into<Arc<str>>, outcome: impl Into<Outcome>) -> Self {
        let scores = self.samples.scores.entry(scorer.into()).or_default();
        scores.push(self.row, outcome.into());
        self
    }

    /// A fact about the sample, the same in every attempt. The first one given stays.
    pub fn metadata(self, key: impl Into<Arc<str>>, value: impl Into<Value>) -> Self {
        let key = key.into();
        let column = self.samples.metadata.entry(key.clone()).or_default();
        let sample = self.row.sample as usize;
        if column.codes.len() <= sample {
            column.pad(sample);
            column.push(value.into());
        } else if column.codes[sample] == ABSENT {
            column.push(value.into());
            column.codes[sample] = column.codes.pop().unwrap_or(ABSENT);
        } else if SINGLE_VALUE_KEYS.contains(&&*key) {
            column.push(value.into());
            let code = column.codes.pop().unwrap_or(ABSENT);
            self.samples.add_contradiction(&key, self.row.sample, code);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The values that contradict the first record, as they print.
    fn contradictions(samples: &Samples) -> Vec<(u32, String)> {
        samples
            .contradicting_values("category", 0..samples.len() as u32)
            .map(|(at, value)| (at, value.to_string()))
            .collect()
    }

    #[test]
    fn values_that_contradict_the_first_record_are_kept() {
        let mut samples = Samples::new();
        samples.push("a").metadata("category", "x").metadata("source", "1");
        samples.push("b").metadata("category", "x");
        samples.push("a").metadata("category", "y").metadata("source", "2");
        samples.push("b").metadata("category", "x");
        assert_eq!(contradictions(&samples), [(0, "y".to_owned())]);
        // Values that do not decide how a sample is counted may differ.
        assert_eq!(samples.contradicting_values("source", 0..2).count(), 0);
        let mut more = Samples::new();
        more.push("b").metadata("category", "z");
        more.push("c").metadata("category", "z");
        more.push("c").metadata("category", "w");
        samples.append(more);
        assert_eq!(contradictions(&samples), [(0, "y".to_owned()), (1, "z".to_owned()), (2, "w".to_owned())]);
        let kept = samples.keep_where("category", "z").expect("there is one");
        assert_eq!(contradictions(&kept), [(0, "w".to_owned())]);
    }

    /// Attempts of a few samples in a mixed order: with and without epochs, scores, facts, fields and errors.
    fn attempts() -> Vec<u32> {
        (0..60u32).map(|i| i.wrapping_mul(2_654_435_761) >> 16).collect()
    }

    fn push(samples: &mut Samples, x: u32) {
        let id =
            if x.is_multiple_of(3) { SampleId::Int(i64::from(x % 5)) } else { SampleId::from(format!("s{}", x % 7)) };
        let attempt = if x.is_multiple_of(4) { samples.push_epoch(id, 100 + x % 9) } else { samples.push(id) };
        let attempt = match x % 5 {
            0 => attempt.score("a", f64::from(x % 11) / 10.0),
            1 => attempt.score("a", Outcome::unscored("refused")),
            2 => attempt.score("b", if x.is_multiple_of(2) { "C" } else { "I" }).score("a", 1.0),
            3 => attempt.score("m", [("x", f64::from(x % 3)), ("y", 1.0)]),
            _ => attempt,
        };
        let attempt = if x.is_multiple_of(6) { attempt.metadata("kind", format!("k{}", x % 4)) } else { attempt };
        let attempt = if x.is_multiple_of(7) { attempt.field("latency_ms", f64::from(x)) } else { attempt };
        let attempt = if x.is_multiple_of(8) { attempt.field("label", i64::from(x % 3)) } else { attempt };
        if x.is_multiple_of(9) {
            attempt.error("timeout");
        }
    }

    #[test]
    fn appending_parts_equals_pushing_attempts_one_by_one() {
        let all = attempts();
        let mut straight = Samples::new();
        all.iter().for_each(|&x| push(&mut straight, x));
        for size in [1, 7, 30, 59, 60] {
            let mut joined = Samples::new();
            for part in all.chunks(size) {
                let mut samples = Samples::new();
                part.iter().for_each(|&x| push(&mut samples, x));
                joined.append(samples);
            }
            let (joined, straight): (Vec<_>, Vec<_>) = (joined.records().collect(), straight.records().collect());
            assert_eq!(joined, straight, "parts of {size}");
        }
    }
}
