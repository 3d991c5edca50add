//! The samples of a run, column by column.

use crate::data::attempt_facts::AttemptFacts;
use crate::data::column::{ABSENT, Coded, Column};
use crate::data::cow_indices::CowIndices;
use crate::data::field_column::FieldColumn;
use crate::data::ids::SampleIds;
use crate::data::row_codes::{FactColumn, RowCodes};
use crate::data::row_index::RunRowIndex;
use crate::data::scores::{ScoreRow, Scores, Values};
use crate::{Error, ErrorKind, Labels, Outcome, SampleId, Value};
use indexmap::IndexMap;
use std::collections::BTreeMap;
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

    /// Metadata of names that differ.
    pub(crate) fn of(entries: impl Iterator<Item = (Arc<str>, Value)>) -> Self {
        Self(entries.collect())
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
    pub(crate) metadata: IndexMap<Arc<str>, FactColumn>,
    /// One row per attempt.
    pub(crate) attempt_sample: CowIndices,
    pub(crate) attempt_epoch: CowIndices,
    /// True where the epoch was counted, not given.
    pub(crate) attempt_counted: Vec<bool>,
    /// True once epochs were given by hand, so that an attempt may have been delivered twice.
    pub(crate) may_repeat: bool,
    pub(crate) fields: IndexMap<Arc<str>, FieldColumn>,
    pub(crate) errors: BTreeMap<u32, Arc<str>>,
    pub(crate) scores: IndexMap<Arc<str>, Scores>,
    /// Metadata by attempt. `None` as long as every sample has one attempt: then it is the metadata.
    pub(crate) attempt_facts: Option<AttemptFacts>,
}

impl Samples {
    /// No samples yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an attempt of a sample. Further attempts of a sample get the next epoch.
    pub fn push(&mut self, id: impl Into<SampleId>) -> Attempt<'_> {
        let sample = self.sample_of_attempt(id.into());
        let epoch = self.epochs[sample as usize].saturating_add(1);
        self.attempt(sample, epoch, true)
    }

    /// Adds the attempt of a sample with this epoch. An attempt delivered twice counts once.
    pub fn push_epoch(&mut self, id: impl Into<SampleId>, epoch: u32) -> Attempt<'_> {
        let sample = self.sample_of_attempt(id.into());
        self.may_repeat = true;
        self.attempt(sample, epoch, false)
    }

    /// The sample that the next attempt is of.
    pub(super) fn sample_of_attempt(&mut self, id: SampleId) -> u32 {
        let sample = self.sample(id);
        let is_new = self.attempt_sample.len() < self.ids.len();
        if self.attempt_facts.is_none() && !is_new {
            self.keep_attempt_facts();
        }
        sample
    }

    fn sample(&mut self, id: SampleId) -> u32 {
        let sample = self.ids.place((&id).into());
        if self.epochs.len() < self.ids.len() {
            self.epochs.push(0);
        }
        sample
    }

    pub(super) fn attempt(&mut self, sample: u32, epoch: u32, is_counted: bool) -> Attempt<'_> {
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
        let known = self.ids.len() as u32;
        // Where every sample has one attempt and names ascend, nothing has to be looked up.
        if self.attempt_facts.is_none() && other.attempt_facts.is_none() && self.ids.append_after(&other.ids) {
            self.append_new(other, known, first);
            return;
        }
        let place: Vec<u32> = other.ids.iter().map(|id| self.sample(id)).collect();
        if other.attempt_facts.is_some() || place.iter().any(|&sample| sample < known) {
            self.keep_attempt_facts();
        }
        for ((&sample, &epoch), &is_counted) in
            other.attempt_sample.iter().zip(&*other.attempt_epoch).zip(&other.attempt_counted)
        {
            let sample = place[sample as usize];
            let epoch = if is_counted { self.epochs[sample as usize].saturating_add(1) } else { epoch };
            self.attempt(sample, epoch, is_counted);
        }
        self.may_repeat |= other.may_repeat;
        self.append_metadata(&other, &place, first as usize);
        for (name, theirs) in other.fields {
            self.fields.entry(name).or_default().append(first, theirs);
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

    /// Adds the samples of another part of the same run if that takes no look at single samples: names ascend from part to part,
    /// and every sample has one attempt. Gives the part back otherwise.
    ///
    /// ```
    /// use calipers_core::Samples;
    ///
    /// let part = |id: &str| {
    ///     let mut samples = Samples::new();
    ///     samples.push(id).score("judge", 1.0);
    ///     samples
    /// };
    /// let mut samples = part("q1");
    /// assert!(samples.append_after(part("q2")).is_ok());
    /// assert_eq!(samples.append_after(part("q1")).expect_err("it does not come after").len(), 1);
    /// assert_eq!(samples.len(), 2);
    /// ```
    pub fn append_after(&mut self, other: Self) -> Result<(), Box<Self>> {
        let is_single = self.attempt_facts.is_none() && other.attempt_facts.is_none();
        if self.attempt_sample.is_empty() || is_single && self.ids.are_before(&other.ids) {
            self.append(other);
            return Ok(());
        }
        Err(Box::new(other))
    }

    /// Makes room for this many samples with one attempt each, so that parts can be added without a move of those before them.
    pub fn reserve(&mut self, samples: usize) {
        self.ids.reserve(samples);
        let lists = [&mut self.epochs, &mut self.attempt_sample, &mut self.attempt_epoch].into_iter();
        let of_scores = self.scores.values_mut().flat_map(|scores| {
            scores.values.reserve(samples);
            [&mut scores.sample, &mut scores.epoch, &mut scores.attempt]
        });
        CowIndices::reserve_each(lists.chain(of_scores).collect(), samples);
        self.attempt_counted.reserve(samples);
        self.fields.values_mut().for_each(|field| field.reserve(samples));
        self.metadata.values_mut().for_each(|column| column.codes.reserve(samples));
    }

    /// Adds the attempts of a part whose samples are all new and have been named here, one attempt each.
    fn append_new(&mut self, other: Self, known: u32, first: u32) {
        self.append_places(&other, known, first);
        self.attempt_counted.extend(&other.attempt_counted);
        self.may_repeat |= other.may_repeat;
        for (key, theirs) in &other.metadata {
            let mine = self.metadata.entry(key.clone()).or_default();
            let codes = mine.labels_mut().codes_of(theirs.labels());
            mine.codes.append(known, &theirs.codes, |code| codes.get(code as usize).copied().unwrap_or(ABSENT));
        }
        for (name, theirs) in other.fields {
            self.fields.entry(name).or_default().append(first, theirs);
        }
        self.errors.extend(other.errors.into_iter().map(|(attempt, why)| (first + attempt, why)));
        for (scorer, theirs) in other.scores {
            self.scores.entry(scorer).or_default().append_values(theirs);
        }
    }

    /// Adds the samples, epochs and attempts of such a part, and those of its scores.
    fn append_places(&mut self, other: &Self, known: u32, first: u32) {
        let take = std::mem::take::<CowIndices>;
        let mut lists = vec![
            (take(&mut self.epochs), &other.epochs, 0),
            (take(&mut self.attempt_sample), &other.attempt_sample, known),
            (take(&mut self.attempt_epoch), &other.attempt_epoch, 0),
        ];
        for (scorer, theirs) in &other.scores {
            let mine = self.scores.entry(scorer.clone()).or_default();
            lists.push((take(&mut mine.sample), &theirs.sample, known));
            lists.push((take(&mut mine.epoch), &theirs.epoch, 0));
            lists.push((take(&mut mine.attempt), &theirs.attempt, first));
        }
        let mut appended = CowIndices::append_each(lists).into_iter();
        let mut put = |list: &mut CowIndices| *list = appended.next().unwrap_or_default();
        [&mut self.epochs, &mut self.attempt_sample, &mut self.attempt_epoch].into_iter().for_each(&mut put);
        for scorer in other.scores.keys() {
            if let Some(mine) = self.scores.get_mut(scorer) {
                [&mut mine.sample, &mut mine.epoch, &mut mine.attempt].into_iter().for_each(&mut put);
            }
        }
    }

    /// Adds the attempts of another file as further attempts: they get the epochs after the last one of their sample,
    /// whatever their own are.
    ///
    /// ```
    /// use calipers_core::Samples;
    ///
    /// let file = |score: f64| {
    ///     let mut samples = Samples::new();
    ///     samples.push_epoch("a", 1).score("judge", score);
    ///     samples
    /// };
    /// let mut samples = file(1.0);
    /// samples.append_attempts(file(0.0));
    /// assert_eq!((samples.len(), samples.attempts()), (1, 2));
    /// ```
    pub fn append_attempts(&mut self, mut other: Self) {
        if self.attempt_sample.is_empty() {
            *self = other;
            return;
        }
        let place: Vec<u32> = other.ids.iter().map(|id| self.sample(id)).collect();
        let mut last: Vec<u32> = place.iter().map(|&sample| self.epochs[sample as usize]).collect();
        // An attempt that was delivered in two parts stays one.
        let mut known: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (sample, epoch) in other.attempt_sample.iter().zip(other.attempt_epoch.own()) {
            *epoch = *known.entry((*sample, *epoch)).or_insert_with(|| {
                let last = &mut last[*sample as usize];
                *last = last.saturating_add(1);
                *last
            });
        }
        other.attempt_counted.fill(false);
        self.append(other);
    }

    /// Adds the metadata of another part, whose samples are at these places here and whose attempts begin at `first`. The
    /// values that are already here stay.
    fn append_metadata(&mut self, other: &Self, place: &[u32], first: usize) {
        let first = first as u32;
        // Where the other part has no facts of attempts, each of its samples has one attempt.
        let attempt_of = match (&self.attempt_facts, &other.attempt_facts) {
            (Some(_), None) => other.attempt_of_samples(),
            _ => Vec::new(),
        };
        for (key, theirs) in &other.metadata {
            let mine = self.metadata.entry(key.clone()).or_default();
            let codes = mine.labels_mut().codes_of(theirs.labels());
            let code_here = |code: u32| codes.get(code as usize).copied().unwrap_or(ABSENT);
            for (sample, code) in theirs.codes.iter() {
                mine.codes.set_if_gap(place[sample as usize], code_here(code));
            }
            let Some(facts) = &mut self.attempt_facts else { continue };
            match &other.attempt_facts {
                Some(others) => {
                    let Some(theirs) = others.get(key) else { continue };
                    let facts = facts.entry(key.clone()).or_default();
                    theirs.iter().for_each(|(row, code)| facts.set_if_gap(first + row, code_here(code)));
                }
                None => {
                    let facts = facts.entry(key.clone()).or_default();
                    for (sample, code) in theirs.codes.iter() {
                        facts.set_if_gap(first + attempt_of[sample as usize], code_here(code));
                    }
                }
            }
        }
    }

    /// The attempt of each sample, where each has one.
    pub(super) fn attempt_of_samples(&self) -> Vec<u32> {
        let mut attempts = vec![0; self.ids.len()];
        for (&sample, attempt) in self.attempt_sample.iter().zip(0..) {
            attempts[sample as usize] = attempt;
        }
        attempts
    }

    /// Names every sample by this task too, because another task may have samples of the same names.
    ///
    /// ```
    /// use calipers_core::Samples;
    ///
    /// let mut samples = Samples::new();
    /// samples.push(1).score("judge", 1.0);
    /// samples.name_within("law");
    /// assert_eq!(samples.ids().next(), Some("law/1".into()));
    /// ```
    pub fn name_within(&mut self, task: &str) {
        let mut ids = SampleIds::default();
        for id in self.ids.iter() {
            ids.place((&id.within(task)).into());
        }
        self.ids = ids;
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

    /// The place of each sample in another run, if it is there.
    ///
    /// ```
    /// use calipers_core::Samples;
    ///
    /// let run = |ids: &[&str]| {
    ///     let mut samples = Samples::new();
    ///     ids.iter().for_each(|id| drop(samples.push(*id)));
    ///     samples
    /// };
    /// assert_eq!(run(&["a", "b", "1"]).places_in(&run(&["1", "c", "a"])), [Some(2), None, Some(0)]);
    /// ```
    #[must_use]
    pub fn places_in(&self, other: &Self) -> Vec<Option<u32>> {
        self.ids.places_in(&other.ids)
    }

    /// True when both runs have the same samples in one order, which is that of their names. False does not say that they do not.
    #[must_use]
    pub fn has_same_order(&self, other: &Self) -> bool {
        self.ids.is_same_order(&other.ids)
    }

    /// The order of two samples by their names, without a copy of these.
    #[must_use]
    pub fn compare_ids(&self, a: u32, b: u32) -> std::cmp::Ordering {
        self.ids.compare(a, b)
    }

    /// The number of attempts, each counted once however often it was delivered.
    #[must_use]
    pub fn attempts(&self) -> usize {
        // Samples that ascend have one attempt each.
        let may_repeat = self.may_repeat && !self.attempt_sample.is_sorted_by(|a, b| a < b);
        if may_repeat { self.attempt_rows().len() } else { self.attempt_sample.len() }
    }

    /// True when some epochs were given, not counted.
    #[must_use]
    pub fn gives_epochs(&self) -> bool {
        self.attempt_counted.contains(&false)
    }

    /// The number of attempts that ended in an error.
    #[must_use]
    pub fn errored_attempts(&self) -> usize {
        let attempt = |row: &u32| (self.attempt_sample[*row as usize], self.attempt_epoch[*row as usize]);
        self.errors.keys().map(attempt).collect::<std::collections::BTreeSet<_>>().len()
    }

    /// The number of attempts that ended in an error and have a score all the same.
    #[must_use]
    pub fn scored_errors(&self) -> usize {
        let mut attempts = std::collections::BTreeSet::new();
        for scores in self.scores.values().filter(|_| !self.errors.is_empty()) {
            let rows = scores.attempt.iter().enumerate();
            let scored = rows
                .filter(|(row, attempt)| self.errors.contains_key(*attempt) && !scores.values.is_root_missing(*row));
            attempts.extend(scored.map(|(row, _)| (scores.sample[row], scores.epoch[row])));
        }
        attempts.len()
    }

    /// True when some attempt may lack a score or a field that other attempts have. No attempt is looked at by itself.
    pub(crate) fn has_gaps(&self) -> bool {
        let attempts = self.attempt_sample.len();
        let is_short = |scores: &Scores| scores.len() < attempts || scores.values.has_root_missing();
        self.scores.values().any(is_short) || self.fields.values().any(|field| field.has_gaps(attempts))
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

    /// A key of a scorer's maps: the first one of the first map.
    #[must_use]
    pub fn map_key(&self, scorer: &str) -> Option<Arc<str>> {
        match &self.scores.get(scorer)?.values {
            Values::Maps(maps) => maps.keys.first().cloned(),
            Values::Mixed(values) => values.iter().find_map(|value| match value {
                Value::Map(entries) => entries.first().map(|(key, _)| key.clone()),
                _ => None,
            }),
            Values::Scalars(_) => None,
        }
    }

    /// The names of the samples, in the order of the run.
    pub fn ids(&self) -> impl Iterator<Item = SampleId> + '_ {
        self.ids.iter()
    }

    /// The names that are texts and do not end in a digit, each with the place of its sample. Nothing is copied, so that all names can be
    /// looked at.
    ///
    /// ```
    /// use calipers_core::Samples;
    ///
    /// let mut samples = Samples::new();
    /// for id in ["q1", "q2", "mean"] {
    ///     samples.push(id);
    /// }
    /// assert!(samples.words_among_ids().any(|(sample, name)| (sample, name) == (2, "mean")));
    /// ```
    pub fn words_among_ids(&self) -> impl Iterator<Item = (u32, &str)> {
        self.ids.words()
    }

    /// The name of a sample.
    pub fn id(&self, sample: u32) -> SampleId {
        self.ids.get(sample)
    }

    /// True when there is one scorer, and some of its scores are numbers outside [0, 1].
    #[must_use]
    pub fn is_outside_unit(&self, labels: &Labels) -> bool {
        match self.scores.values().collect::<Vec<_>>()[..] {
            [scores] => scores.values.is_outside_unit(labels),
            _ => false,
        }
    }

    pub(crate) fn scores(&self, scorer: &str) -> Option<&Scores> {
        self.scores.get(scorer)
    }

    /// The metadata of a sample, as one value. Where those of many samples are needed, [`records`](Self::records) finds them
    /// without a look at every key for every sample.
    pub fn metadata_of(&self, sample: u32) -> Metadata {
        let known = self.metadata.iter();
        Metadata::of(known.filter_map(|(key, column)| Some((key.clone(), column.value(sample)?.clone()))))
    }

    /// What is known about each row, to go through all of them.
    pub(crate) fn row_index(&self) -> RunRowIndex<'_> {
        RunRowIndex::of(self)
    }

    /// The metadata keys, in the order of their first appearance.
    pub fn metadata_keys(&self) -> impl Iterator<Item = &Arc<str>> {
        self.metadata.keys()
    }

    /// Leaves a metadata key out.
    pub fn forget_metadata(&mut self, key: &str) {
        self.metadata.shift_remove(key);
        self.attempt_facts.iter_mut().for_each(|facts| {
            facts.shift_remove(key);
        });
    }

    /// The values of a metadata key, sample by sample.
    pub fn metadata_column(&self, key: &str) -> Option<&FactColumn> {
        self.metadata.get(key)
    }

    /// True when some attempt ended in an error.
    pub(crate) fn has_errors(&self) -> bool {
        !self.errors.is_empty()
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

    /// All attempts, each once, by sample and then by epoch: the rows of metrics over fields.
    pub(crate) fn all_attempts(&self) -> Scores {
        let nothing = |rows: usize| Values::Scalars(Column::Coded(Coded::missing(rows)));
        // With one attempt per sample, in their order, the list of samples is that of rows.
        if self.attempt_sample.is_counting() {
            let (sample, epoch) = (self.attempt_sample.clone(), self.attempt_epoch.clone());
            let values = nothing(sample.len());
            return Scores { attempt: sample.clone(), sample, epoch, values, ..Scores::default() };
        }
        let rows = self.attempt_rows();
        let values = nothing(rows.len());
        // Rows that are in order are all rows.
        let is_whole = rows.len() == self.attempt_sample.len() && rows.is_sorted();
        let pick = |column: &CowIndices| match is_whole {
            true => column.clone(),
            false => rows.iter().map(|&row| column[row as usize]).collect(),
        };
        let (sample, epoch) = (pick(&self.attempt_sample), pick(&self.attempt_epoch));
        Scores { sample, epoch, values, attempt: rows.into(), ..Scores::default() }
    }

    /// Makes a scorer of a field, if there is one of this name. An attempt that did not run has no score.
    pub(crate) fn score_by_field(&mut self, name: &str) {
        let Some((field, _)) = self.fields.get_key_value(name) else { return };
        let field = field.clone();
        let rows: Vec<u32> =
            (0..self.attempt_sample.len() as u32).filter(|row| !self.errors.contains_key(row)).collect();
        let pick = |column: &[u32]| rows.iter().map(|&row| column[row as usize]).collect();
        let scores = Scores {
            sample: pick(&self.attempt_sample),
            epoch: pick(&self.attempt_epoch),
            values: Values::Scalars(self.field_values(name, &rows)),
            attempt: rows.into(),
            ..Scores::default()
        };
        self.scores.insert(field, scores);
    }

    /// Gives every attempt a field, from the name of its sample and its epoch; none leaves it without.
    ///
    /// ```
    /// use calipers_core::Samples;
    ///
    /// let mut samples = Samples::new();
    /// samples.push("a").score("judge", 1.0);
    /// samples.push("b").score("judge", 0.0);
    /// samples.set_field("human_label", |id, _| Ok((*id == "a".into()).then_some(0.0)))?;
    /// let labelled = samples.records().filter(|record| !record.fields.is_empty()).count();
    /// assert_eq!(labelled, 1);
    /// # Ok::<(), calipers_core::Error>(())
    /// ```
    pub fn set_field(
        &mut self,
        name: &str,
        mut value: impl FnMut(&SampleId, u32) -> Result<Option<f64>, Error>,
    ) -> Result<(), Error> {
        let places = self.attempt_sample.iter().zip(&*self.attempt_epoch);
        let values = places.map(|(&sample, &epoch)| Ok(value(&self.ids.get(sample), epoch)?.unwrap_or(f64::NAN)));
        let values: Vec<f64> = values.collect::<Result<_, Error>>()?;
        self.fields.insert(name.into(), Column::Floats(values).into());
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
        // True and False print with a capital letter, as in Python; JSON writes them in lower case.
        let is_it = |known: &Value| match known {
            Value::Bool(_) => known.to_string().eq_ignore_ascii_case(value),
            _ => known.to_string() == value,
        };
        let matches: Vec<bool> = column.dictionary().iter().map(is_it).collect();
        let matches = |code: u32| matches.get(code as usize).copied().unwrap_or(false);
        // Where the attempts of a sample differ, each is kept or left out by its own value.
        let attempts: Option<Vec<bool>> =
            self.own_codes(key).map(|own| own.by_attempt.into_iter().map(matches).collect());
        let mut is_kept = vec![false; self.ids.len()];
        match &attempts {
            Some(attempts) => {
                let kept = self.attempt_sample.iter().zip(attempts).filter(|(_, matches)| **matches);
                kept.for_each(|(sample, _)| is_kept[*sample as usize] = true);
            }
            None => {
                is_kept.iter_mut().zip(0..).for_each(|(is_kept, sample)| *is_kept = matches(column.codes.get(sample)));
            }
        }
        let kept: Vec<u32> = (0..self.ids.len() as u32).filter(|&sample| is_kept[sample as usize]).collect();
        if kept.is_empty() {
            let mut known: Vec<String> = column.dictionary().iter().map(Value::to_string).collect();
            known.truncate(8);
            let message = format!("no sample has `{key}` = `{value}`");
            return Err(Error::argument(message, format!("the values are {}", known.join(", "))));
        }
        Ok(self.select(&kept, attempts.as_deref(), false))
    }

    /// The samples whose names are wanted, with all their attempts.
    ///
    /// ```
    /// use calipers_core::Samples;
    ///
    /// let mut samples = Samples::new();
    /// samples.push("a").score("judge", 1.0);
    /// samples.push("b").score("judge", 0.0);
    /// assert_eq!(samples.of_samples(|id| *id == "b".into()).ids().collect::<Vec<_>>(), ["b".into()]);
    /// ```
    #[must_use]
    pub fn of_samples(&self, is_wanted: impl Fn(&SampleId) -> bool) -> Self {
        let kept: Vec<u32> = (0..self.ids.len() as u32).filter(|&sample| is_wanted(&self.ids.get(sample))).collect();
        self.select(&kept, None, false)
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
        self.select(&order, None, true)
    }

    /// These samples, in this order; their attempts as they came, or sorted by epoch and then by sample. Without `attempts`
    /// all of theirs are kept.
    fn select(&self, kept: &[u32], attempts: Option<&[bool]>, is_sorted: bool) -> Self {
        let mut place = vec![ABSENT; self.ids.len()];
        for (new, &old) in kept.iter().enumerate() {
            place[old as usize] = new as u32;
        }
        let rows_of = |sample: &[u32], epoch: &[u32], attempt: Option<&[u32]>| -> Vec<u32> {
            let attempt_of = |row: u32| attempt.map_or(row, |attempt| attempt[row as usize]);
            let is_kept = |&row: &u32| {
                place[sample[row as usize] as usize] != ABSENT
                    && attempts.is_none_or(|attempts| attempts[attempt_of(row) as usize])
            };
            let mut rows: Vec<u32> = (0..sample.len() as u32).filter(is_kept).collect();
            if is_sorted {
                rows.sort_by_key(|&row| (epoch[row as usize], place[sample[row as usize] as usize]));
            }
            rows
        };
        let rows = rows_of(&self.attempt_sample, &self.attempt_epoch, None);
        let mut attempt_place = vec![ABSENT; self.attempt_sample.len()];
        for (new, &old) in rows.iter().enumerate() {
            attempt_place[old as usize] = new as u32;
        }
        let (attempt_epoch, epochs) = match attempts {
            None => (
                rows.iter().map(|&row| self.attempt_epoch[row as usize]).collect::<Vec<u32>>(),
                kept.iter().map(|&sample| self.epochs[sample as usize]).collect::<Vec<u32>>(),
            ),
            Some(_) => self.count_again(&rows, &place, kept.len()),
        };
        let metadata = self.metadata.iter().map(|(key, column)| {
            let moved = column.codes.move_rows(&place, kept.len());
            // The first value may have been that of an attempt that is left out.
            let Some(own) = attempts.and_then(|_| self.own_codes(key)) else {
                return (key.clone(), column.with_codes(moved));
            };
            let mut codes = moved.to_list(kept.len());
            {
                kept.iter()
                    .filter(|&&old| own.varying[old as usize])
                    .for_each(|&old| codes[place[old as usize] as usize] = ABSENT);
                for &row in &rows {
                    let code = &mut codes[place[self.attempt_sample[row as usize] as usize] as usize];
                    if *code == ABSENT {
                        *code = own.by_attempt[row as usize];
                    }
                }
            }
            (key.clone(), column.with_codes(codes.into()))
        });
        let attempt_facts = self.attempt_facts.as_ref().map(|facts| {
            let select = |codes: &RowCodes| codes.move_rows(&attempt_place, rows.len());
            facts.iter().map(|(key, codes)| (key.clone(), select(codes))).collect()
        });
        let fields = self.fields.iter().map(|(name, column)| (name.clone(), column.move_rows(&rows, &attempt_place)));
        let scores = self.scores.iter().filter_map(|(scorer, scores)| {
            let rows = rows_of(&scores.sample, &scores.epoch, Some(&scores.attempt));
            let mut scores = scores.gather(&rows);
            scores.sample.own().iter_mut().for_each(|sample| *sample = place[*sample as usize]);
            scores.attempt.own().iter_mut().for_each(|attempt| *attempt = attempt_place[*attempt as usize]);
            let epochs = scores.attempt.iter().map(|&attempt| attempt_epoch[attempt as usize]).collect();
            scores.epoch = epochs;
            (scores.len() > 0).then(|| (scorer.clone(), scores))
        });
        Self {
            ids: kept.iter().map(|&sample| self.ids.get(sample)).collect(),
            metadata: metadata.collect(),
            attempt_sample: rows.iter().map(|&row| place[self.attempt_sample[row as usize] as usize]).collect(),
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
            attempt_facts,
            attempt_epoch: attempt_epoch.into(),
            epochs: epochs.into(),
        }
    }

    /// The epochs of these attempts, and the last of each sample, after other attempts were left out: those that were counted
    /// are counted again, so that the same attempts of two models have the same numbers.
    fn count_again(&self, rows: &[u32], place: &[u32], samples: usize) -> (Vec<u32>, Vec<u32>) {
        let mut last = vec![0u32; samples];
        let epochs = rows.iter().map(|&row| {
            let row = row as usize;
            let last = &mut last[place[self.attempt_sample[row] as usize] as usize];
            let epoch = if self.attempt_counted[row] { last.saturating_add(1) } else { self.attempt_epoch[row] };
            *last = epoch.max(*last);
            epoch
        });
        (epochs.collect(), last)
    }

    /// True for the name of a field or a metadata key.
    #[must_use]
    pub fn has_column(&self, name: &str) -> bool {
        self.fields.contains_key(name) || self.metadata.contains_key(name)
    }

    /// The names of fields, and then of metadata keys.
    pub fn columns(&self) -> impl Iterator<Item = &Arc<str>> {
        self.fields.keys().chain(self.metadata.keys())
    }

    /// A field, or else a metadata key, by attempt. An unknown name is a column of gaps: the samples of another shard may
    /// have it.
    pub(crate) fn field_values(&self, name: &str, rows: &[u32]) -> Column {
        if let Some(column) = self.fields.get(name) {
            return column.gather(rows);
        }
        self.fact_values(name, rows)
    }

    /// A field by attempt, if it is stored as one float for each of these rows, in their order; a NaN is a gap.
    pub(crate) fn stored_floats(&self, name: &str, rows: &CowIndices) -> Option<&[f64]> {
        self.fields.get(name)?.stored_floats(rows)
    }

    /// A metadata key by attempt, each with its own value.
    pub(crate) fn fact_values(&self, key: &str, rows: &[u32]) -> Column {
        let Some(column) = self.metadata.get(key) else { return Column::Floats(vec![f64::NAN; rows.len()]) };
        let codes = match self.own_codes(key) {
            Some(own) => rows.iter().map(|&row| own.by_attempt[row as usize]).collect(),
            None => rows.iter().map(|&row| column.codes.get(self.attempt_sample[row as usize])).collect(),
        };
        Column::Coded(column.labels().with_codes(codes))
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

    /// A fact about the sample. Where attempts give different ones, each keeps its own and the sample has the first.
    pub fn metadata(self, key: impl Into<Arc<str>>, value: impl Into<Value>) -> Self {
        let key = key.into();
        let column = self.samples.metadata.entry(key.clone()).or_default();
        let code = column.labels_mut().code(value.into());
        column.codes.set_if_gap(self.row.sample, code);
        if let Some(facts) = &mut self.samples.attempt_facts {
            facts.entry(key).or_default().set_if_gap(self.row.attempt, code);
        }
        self
    }

    /// A measurement of this attempt: `latency_ms`, `tokens_used`, `passed`, … Of two with one name, the first counts.
    pub fn field(self, name: impl Into<Arc<str>>, value: impl Into<Value>) -> Self {
        self.samples.fields.entry(name.into()).or_default().push(self.row.attempt, value.into());
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

    /// The values besides the first ones, as they print.
    fn others(samples: &Samples, key: &str) -> Vec<(u32, Vec<String>)> {
        let text = |values: Vec<&Value>| values.iter().map(ToString::to_string).collect();
        samples.other_values(key).into_iter().map(|(sample, values)| (sample, text(values))).collect()
    }

    #[test]
    fn attempts_keep_the_values_that_differ() {
        let mut samples = Samples::new();
        samples.push("a").metadata("category", "x").metadata("source", "1");
        samples.push("b").metadata("category", "x");
        samples.push("a").metadata("category", "y").metadata("source", "2");
        samples.push("b").metadata("category", "x");
        assert_eq!(others(&samples, "category"), [(0, vec!["y".to_owned()])]);
        assert_eq!(others(&samples, "source"), [(0, vec!["2".to_owned()])]);
        let mut more = Samples::new();
        more.push("b").metadata("category", "z");
        more.push("c").metadata("category", "z");
        more.push("c").metadata("category", "w");
        samples.append(more);
        let all = [(0, "y"), (1, "z"), (2, "w")].map(|(sample, value)| (sample, vec![value.to_owned()]));
        assert_eq!(others(&samples, "category"), all);
        assert!(samples.check_single("category").is_err() && samples.check_single("level").is_ok());
        // Of a and c, only the attempts with that value are left.
        let kept = samples.keep_where("category", "z").expect("there are two");
        assert_eq!((kept.len(), kept.attempts()), (2, 2));
        assert!(kept.check_single("category").is_ok());
    }

    #[test]
    fn attempts_are_kept_by_their_own_facts() {
        // Two models in one file.
        let mut samples = Samples::new();
        for (id, model, score) in [("q1", "A", 1.0), ("q1", "B", 0.0), ("q2", "A", 1.0), ("q2", "B", 0.0)] {
            samples.push(id).metadata("model", model).score("match", score).field("latency_ms", score);
        }
        for (model, score) in [("A", 1.0), ("B", 0.0)] {
            let kept = samples.keep_where("model", model).expect("it is there");
            let records: Vec<_> = kept.records().collect();
            assert_eq!(records.len(), 2);
            for record in records {
                assert_eq!((record.epoch, record.scores[0].1.clone()), (1, Outcome::from(score)));
                assert_eq!(record.metadata.get("model"), Some(&model.into()));
            }
            assert_eq!(kept.metadata_of(0).get("model"), Some(&model.into()));
        }
    }

    #[test]
    fn an_attempt_that_does_not_say_has_the_value_of_its_sample_unless_there_are_several() {
        let mut samples = Samples::new();
        samples.push("a").metadata("topic", "law");
        samples.push("a");
        samples.push("b").metadata("topic", "law");
        samples.push("b").metadata("topic", "art");
        samples.push("b");
        let kept = samples.keep_where("topic", "law").expect("there are some");
        assert_eq!((kept.len(), kept.attempts()), (2, 3));
        assert_eq!(others(&samples, "topic"), [(1, vec!["art".to_owned()])]);
    }

    #[test]
    fn many_names_take_room_for_what_they_hold() {
        let mut samples = Samples::new();
        let mut more = Samples::new();
        const NAMES: usize = 4000;
        for name in 0..NAMES {
            for (samples, id) in [(&mut samples, name), (&mut more, name / 2 + NAMES)] {
                let row = samples.push(id as i64).score("judge", 1.0);
                row.metadata(format!("k{name}"), "x").metadata("common", "y").field(format!("f{name}"), 1.0);
            }
        }
        samples.append(more);
        let kept = samples.of_samples(|id| !matches!(id, SampleId::Int(id) if id % 7 == 0));
        for samples in [samples, kept] {
            let facts: usize = samples.metadata.values().map(|column| column.codes.cells()).sum();
            let own: usize = samples.attempt_facts.iter().flat_map(IndexMap::values).map(RowCodes::cells).sum();
            let fields: usize = samples.fields.values().map(FieldColumn::len).sum();
            // Two values per attempt, besides names that are all in the first rows, which are short lists.
            let bound = 8 * samples.deliveries();
            assert!(facts <= bound && own <= bound && fields <= bound, "{facts}, {own} and {fields}, not {bound}");
            let of_records: usize = samples.records().map(|record| record.metadata.iter().count()).sum();
            assert!(of_records >= 2 * samples.deliveries(), "each has what it said");
        }
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
