//! The rows that a metric folds in.

use crate::data::column::{ABSENT, Coded, Column, Lineage};
use crate::data::labels::name_other_labels;
use crate::data::row_codes::FactColumn;
use crate::data::row_index::RunRowIndex;
use crate::data::scenario::AttemptBehaviors;
use crate::data::scores::{ScoreRow, Scores, Values};
use crate::reduce::AttemptGroups;
use crate::{Context, Error, ErrorKind, Labels, Metadata, Reducer, SampleId, SampleScore, Samples, Value};
use calipers_stats::Moments;
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

/// One scorer's scores with the samples they belong to: a shard of what a metric measures.
///
/// ```
/// use calipers_core::{accuracy, mean_score, Context, Samples};
///
/// let mut samples = Samples::new();
/// for (id, score) in [(1, "C"), (1, "I"), (2, "C"), (2, "C")] {
///     samples.push(id).score("judge", score);
/// }
/// let attempts = samples.points("judge")?;
/// let reduced = attempts.reduce(&mean_score(), &Context::default())?;
/// assert_eq!((attempts.len(), reduced.len()), (4, 2));
/// let answer = accuracy().measure(&reduced, &Context::default())?;
/// assert_eq!(answer.figure().expect("one number").value, Ok(0.75));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Points<'a> {
    samples: &'a Samples,
    scorer: Arc<str>,
    rows: PointRows<'a>,
    /// True when a row is an attempt, false when it stands for all attempts of a sample.
    is_by_attempt: bool,
    /// The moments of a column of floats, found once for all metrics that look at these rows.
    float_moments: Arc<OnceLock<Moments>>,
    /// What was expected of the attempts and what happened, found once likewise.
    behaviors: Arc<OnceLock<Arc<AttemptBehaviors>>>,
}

/// Where the rows are. Points are passed on by value, so none of these copies them.
#[derive(Clone, Debug)]
enum PointRows<'a> {
    /// Those of a run, as they were delivered.
    Delivered(&'a Scores),
    /// Those of a reduction.
    Reduced(Arc<Scores>),
    /// Some of the rows of other points, or all of them with other values.
    RowSelection(Arc<RowSelection<'a>>),
}

/// Rows picked from others. Most metrics use only the values, so the rest is picked when it is needed.
#[derive(Debug)]
struct RowSelection<'a> {
    from: Points<'a>,
    rows: PickedRows<'a>,
    values: Values,
    scores: OnceLock<Scores>,
}

/// Which rows were picked.
#[derive(Debug)]
enum PickedRows<'a> {
    All,
    Listed(Vec<u32>),
    /// Those of a group.
    OfGroup(Arc<GroupRows<'a>>, u32),
}

/// The rows of all groups. Few metrics ask for them, so they are listed when the first one does.
#[derive(Debug)]
struct GroupRows<'a> {
    codes: Cow<'a, [u32]>,
    sizes: Vec<usize>,
    lists: OnceLock<Vec<Vec<u32>>>,
}

impl GroupRows<'_> {
    fn of(&self, group: u32) -> &[u32] {
        let lists = self.lists.get_or_init(|| {
            let rows: Vec<u32> = (0..self.codes.len() as u32).collect();
            partition(&rows, &self.codes, &self.sizes)
        });
        &lists[group as usize]
    }
}

impl RowSelection<'_> {
    fn scores(&self) -> &Scores {
        self.scores.get_or_init(|| {
            let from = self.from.scores();
            let rows = match &self.rows {
                PickedRows::All => from.clone(),
                PickedRows::Listed(rows) => from.gather(rows),
                PickedRows::OfGroup(groups, group) => from.gather(groups.of(*group)),
            };
            Scores { values: self.values.clone(), ..rows }
        })
    }
}

/// Why a sample has no score by a scorer that scored others.
const NOT_LOOKED_AT: &str = "the scorer did not look at it";

impl Samples {
    /// The scores of a scorer, one row per attempt.
    pub fn points(&self, scorer: &str) -> Result<Points<'_>, Error> {
        let Some(scores) = self.scores(scorer) else {
            let known = self.scorers().map(ToString::to_string).collect();
            return Err(ErrorKind::NoField { field: scorer.to_owned(), known }.into());
        };
        Ok(Points::new(self, scorer.into(), PointRows::Delivered(scores)))
    }
}

impl Samples {
    /// The distinct texts among the scores of a scorer; none where all scores are numbers.
    #[must_use]
    pub fn score_labels(&self, scorer: &str) -> Vec<&str> {
        let Some(Values::Scalars(Column::Coded(coded))) = self.scores(scorer).map(|scores| &scores.values) else {
            return Vec::new();
        };
        let texts = coded.dictionary().iter().filter_map(|value| match value {
            Value::Text(text) => Some(&**text),
            _ => None,
        });
        texts.collect()
    }

    /// No rows, of a scorer that has not scored any of these samples.
    pub(crate) fn no_points(&self, scorer: &Arc<str>) -> Points<'_> {
        Points::new(self, scorer.clone(), PointRows::Reduced(Arc::default()))
    }

    /// Every attempt, scored or not, for metrics over fields.
    pub fn attempt_points(&self) -> Points<'_> {
        Points::new(self, "run".into(), PointRows::Reduced(Arc::new(self.all_attempts())))
    }
}

impl<'a> Points<'a> {
    /// A row per attempt.
    fn new(samples: &'a Samples, scorer: Arc<str>, rows: PointRows<'a>) -> Self {
        Self { samples, scorer, rows, is_by_attempt: true, float_moments: Arc::default(), behaviors: Arc::default() }
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values().len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn values(&self) -> &Values {
        match &self.rows {
            PointRows::Delivered(scores) => &scores.values,
            PointRows::Reduced(scores) => &scores.values,
            PointRows::RowSelection(picked) => &picked.values,
        }
    }

    pub(crate) fn samples(&self) -> &'a Samples {
        self.samples
    }

    pub(crate) fn scores(&self) -> &Scores {
        match &self.rows {
            PointRows::Delivered(scores) => scores,
            PointRows::Reduced(scores) => scores,
            PointRows::RowSelection(picked) => picked.scores(),
        }
    }

    /// The number of different samples among the rows.
    pub(crate) fn distinct_samples(&self) -> u64 {
        let rows = &self.scores().sample;
        if rows.is_counting() {
            return rows.len() as u64;
        }
        // There may be as many scorers as samples, each with a few rows.
        if rows.len() < self.samples.len() / 16 {
            return rows.iter().collect::<HashSet<_>>().len() as u64;
        }
        let mut seen = vec![false; self.samples.len()];
        let fresh = |&&sample: &&u32| !std::mem::replace(&mut seen[sample as usize], true);
        rows.iter().filter(fresh).count() as u64
    }

    /// The sample of a row.
    #[must_use]
    pub fn sample_id(&self, row: usize) -> SampleId {
        self.samples.id(self.scores().sample[row])
    }

    /// A row as custom metrics see it.
    #[must_use]
    pub fn get(&self, row: usize) -> SampleScore {
        self.row(row, &self.samples.row_index())
    }

    /// All rows as custom metrics see them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = SampleScore> + '_ {
        let index = self.samples.row_index();
        (0..self.len()).map(move |row| self.row(row, &index))
    }

    fn row(&self, row: usize, index: &RunRowIndex<'_>) -> SampleScore {
        let sample = self.scores().sample[row];
        SampleScore {
            score: self.scores().score(row),
            sample_id: self.samples.id(sample),
            sample_metadata: Arc::new(if self.is_by_attempt {
                index.metadata_at(sample, &[self.scores().attempt[row]])
            } else {
                index.metadata_of(sample)
            }),
        }
    }

    /// The metadata of the rows by key, where most rows have most keys and none has a value of its own.
    pub(crate) fn fact_columns(&self) -> Option<Vec<(Arc<str>, Coded)>> {
        let samples = self.samples;
        let given: usize = samples.metadata.values().map(FactColumn::count_given).sum();
        let is_sparse = given * 8 < samples.metadata.len() * samples.len();
        if is_sparse || (self.is_by_attempt && samples.attempt_facts.is_some()) {
            return None;
        }
        let codes = |column: &FactColumn| self.sample_codes().iter().map(|&sample| column.codes.get(sample)).collect();
        let columns = samples.metadata.iter();
        Some(columns.map(|(key, column)| (key.clone(), column.labels().with_codes(codes(column)))).collect())
    }

    pub(crate) fn score_metadata(&self, row: usize) -> Option<&Metadata> {
        self.scores().metadata(row)
    }

    pub(crate) fn epoch(&self, row: usize) -> u32 {
        self.scores().epoch[row]
    }

    /// A field of the attempts, or else a metadata key of their samples, row by row. `None` where it is not given.
    pub(crate) fn field(&self, name: &str, labels: &Labels) -> Result<Vec<Option<f64>>, Error> {
        let wrong = |row: usize, value: &Value| {
            let error = Error::from(ErrorKind::NotNumeric { field: name.to_owned(), value: value.clone() });
            error.at_sample(&self.sample_id(row)).at_epoch(self.epoch(row))
        };
        match self.field_values(name) {
            Column::Floats(floats) => {
                let maps_numbers = labels.map_numbers();
                let number = |x: f64| if maps_numbers { labels.number(x) } else { x };
                Ok(floats.into_iter().map(|x| (!x.is_nan()).then(|| number(x))).collect())
            }
            Column::Coded(coded) => {
                // Each label is looked up once; a label that is not a number matters only where it occurs.
                let is_given = |value: &Value| !matches!(value, Value::Missing | Value::Null);
                let known: Vec<Option<f64>> = coded.dictionary().iter().map(|value| labels.to_float(value)).collect();
                let number = |(row, &code): (usize, &u32)| match coded.dictionary().get(code as usize) {
                    Some(value) if is_given(value) => known[code as usize].map(Some).ok_or_else(|| wrong(row, value)),
                    _ => Ok(None),
                };
                coded.codes.iter().enumerate().map(number).collect()
            }
        }
    }

    /// The same field as it is stored, if that is one float for each row and no number stands for another; a NaN is a gap.
    pub(crate) fn stored_floats(&self, name: &str, labels: &Labels) -> Option<&'a [f64]> {
        if labels.map_numbers() { None } else { self.samples.stored_floats(name, &self.scores().attempt) }
    }

    /// True when every row is of its own sample, in their order.
    pub(crate) fn is_row_per_sample(&self) -> bool {
        self.scores().sample.is_counting()
    }

    /// An error if a row stands for attempts that have several values of a metadata key: none of them is the sample's.
    pub(crate) fn check_single(&self, key: &str) -> Result<(), Error> {
        if self.is_by_attempt { Ok(()) } else { self.samples.check_single(key) }
    }

    /// A field as it was given.
    pub(crate) fn field_values(&self, name: &str) -> Column {
        self.samples.field_values(name, &self.scores().attempt)
    }

    /// True when every sample certainly has a score: one row each, and none empty.
    pub(crate) fn covers_all_samples(&self) -> bool {
        self.len() == self.samples.len() && !self.has_missing() && self.is_row_per_sample()
    }

    /// The sample of each row, as a code.
    pub fn sample_codes(&self) -> &[u32] {
        &self.scores().sample
    }

    /// The same as a list of its own.
    pub(crate) fn list_samples(&self) -> Vec<u32> {
        self.scores().sample.to_vec()
    }

    /// True when the attempt of this row ended in an error.
    pub fn is_errored(&self, row: usize) -> bool {
        self.samples.is_errored(self.scores().attempt[row])
    }

    /// The error that the attempt of this row ended in.
    pub(crate) fn error(&self, row: usize) -> Option<&'a Arc<str>> {
        self.samples.error_at(self.scores().attempt[row])
    }

    /// The same rows, and one without a value for each sample that has none.
    pub(crate) fn with_absent_samples(&self) -> Points<'a> {
        if self.len() == self.samples.len() && self.is_row_per_sample() {
            return self.clone();
        }
        let mut has_row = vec![false; self.samples.len()];
        self.sample_codes().iter().for_each(|&sample| has_row[sample as usize] = true);
        if !has_row.contains(&false) {
            return self.clone();
        }
        let mut scores = self.scores().clone();
        let (samples, epochs) = self.samples.attempt_places();
        let attempts = samples.iter().zip(epochs).zip(0..);
        let absent = attempts.filter(|((sample, _), _)| !std::mem::replace(&mut has_row[**sample as usize], true));
        scores
            .add_absent(absent.map(|((&sample, &epoch), attempt)| ScoreRow { sample, epoch, attempt }), NOT_LOOKED_AT);
        self.with_scores(scores)
    }

    /// The same rows, and one without a value for each attempt that has none.
    pub(crate) fn with_absent_attempts(&self) -> Points<'a> {
        if self.len() >= self.samples.attempts() {
            return self.clone();
        }
        let known: HashSet<(u32, u32)> = {
            let scores = self.scores();
            scores.sample.iter().copied().zip(scores.epoch.iter().copied()).collect()
        };
        let attempts = self.samples.all_attempts();
        let mut scores = self.scores().clone();
        let rows = attempts.sample.iter().zip(&*attempts.epoch).zip(&*attempts.attempt);
        let rows = rows.map(|((&sample, &epoch), &attempt)| ScoreRow { sample, epoch, attempt });
        scores.add_absent(rows.filter(|row| !known.contains(&(row.sample, row.epoch))), NOT_LOOKED_AT);
        self.with_scores(scores)
    }

    /// One row per sample.
    pub fn reduce(&self, reducer: &Reducer, context: &Context) -> Result<Points<'a>, Error> {
        let name = |sample: u32, error: Error| error.at_sample(&self.samples.id(sample)).at_scorer(&self.scorer);
        let is_single = || self.is_row_per_sample();
        if reducer.keeps_single(self.scores(), &context.labels) && is_single() {
            return Ok(self.clone());
        }
        let scores = reducer.reduce_all(self.scores(), &context.labels, name)?;
        Ok(Points { is_by_attempt: false, ..self.with_scores(scores) })
    }

    /// Each attempt once, in the order of samples and epochs.
    pub(crate) fn unique(&self) -> Result<Points<'a>, Error> {
        let attempts = AttemptGroups::of(self.scores())
            .map_err(|(sample, error)| error.at_sample(&self.samples.id(sample)).at_scorer(&self.scorer))?;
        if attempts.rows().len() == self.len() { Ok(self.clone()) } else { Ok(self.gather(attempts.rows())) }
    }

    /// What was expected of the attempts and what happened, found once for all that look at these rows.
    pub(super) fn behaviors(&self, find: impl FnOnce() -> AttemptBehaviors) -> Arc<AttemptBehaviors> {
        self.behaviors.get_or_init(|| Arc::new(find())).clone()
    }

    /// The moments of a column of floats, whatever they stand for.
    fn float_moments(&self) -> Option<&Moments> {
        let Values::Scalars(Column::Floats(floats)) = self.values() else { return None };
        Some(self.float_moments.get_or_init(|| Moments::from_slice(floats)))
    }

    /// True when every value is a finite float. False does not say that one is not.
    fn are_finite_floats(&self) -> bool {
        // A NaN or an infinity among the terms shows in their sum.
        self.float_moments().is_some_and(|moments| moments.sum().is_finite())
    }

    /// True when a row has no value.
    fn has_missing(&self) -> bool {
        !self.are_finite_floats() && self.values().has_root_missing()
    }

    /// The rows that have a value.
    pub(crate) fn scored(&self) -> Points<'a> {
        if !self.has_missing() {
            return self.clone();
        }
        self.values().scored_rows().map_or_else(|| self.clone(), |rows| self.pick(rows))
    }

    /// The rows that have none.
    pub(crate) fn unscored(&self) -> Points<'a> {
        if !self.has_missing() {
            return self.pick(Vec::new());
        }
        let values = self.values();
        self.pick((0..self.len() as u32).filter(|&row| values.is_root_missing(row as usize)).collect())
    }

    pub(crate) fn gather(&self, rows: &[u32]) -> Points<'a> {
        self.pick(rows.to_vec())
    }

    fn pick(&self, rows: Vec<u32>) -> Points<'a> {
        let values = self.values().gather(&rows);
        self.select(PickedRows::Listed(rows), values)
    }

    fn select(&self, rows: PickedRows<'a>, values: Values) -> Points<'a> {
        let from = self.clone();
        let selection = RowSelection { from, rows, values, scores: OnceLock::new() };
        self.with(PointRows::RowSelection(Arc::new(selection)))
    }

    pub(crate) fn with_scores(&self, scores: Scores) -> Points<'a> {
        self.with(PointRows::Reduced(Arc::new(scores)))
    }

    pub(crate) fn with_values(&self, values: Values) -> Points<'a> {
        self.select(PickedRows::All, values)
    }

    fn with(&self, rows: PointRows<'a>) -> Points<'a> {
        Points { is_by_attempt: self.is_by_attempt, ..Points::new(self.samples, self.scorer.clone(), rows) }
    }

    /// An error that happened at a row.
    pub(crate) fn at(&self, row: usize, error: impl Into<Error>) -> Error {
        error.into().at_sample(&self.sample_id(row)).at_scorer(&self.scorer)
    }

    /// The scores as floats, row by row.
    pub fn floats(&self, context: &Context) -> Result<Cow<'_, [f64]>, Error> {
        match self.values() {
            Values::Scalars(Column::Floats(floats)) => {
                if !context.inspect
                    && !self.are_finite_floats()
                    && let Some(row) = first_not_finite(floats)
                {
                    return Err(self.at(row, not_a_number(floats[row])));
                }
                if context.labels.map_numbers() {
                    let number = |&x: &f64| if x.is_nan() { x } else { context.labels.number(x) };
                    return Ok(Cow::Owned(floats.iter().map(number).collect()));
                }
                Ok(Cow::Borrowed(floats))
            }
            Values::Scalars(Column::Coded(coded)) => {
                let table = self.numbers(coded, context)?;
                let number = |&code: &u32| table.get(code as usize).copied().unwrap_or(f64::NAN);
                Ok(Cow::Owned(coded.codes.iter().map(number).collect()))
            }
            values => {
                let number = |row| self.number(&values.get(row), row, context);
                Ok(Cow::Owned((0..self.len()).map(number).collect::<Result<_, _>>()?))
            }
        }
    }

    /// The moments of the scores, by label where there are few.
    pub fn moments(&self, context: &Context) -> Result<Moments, Error> {
        match self.values() {
            Values::Scalars(Column::Floats(_)) if !context.labels.map_numbers() => {
                if !context.inspect && !self.are_finite_floats() {
                    self.floats(context)?;
                }
                Ok(self.float_moments().cloned().unwrap_or_default())
            }
            Values::Scalars(Column::Coded(coded)) if coded.dictionary().len() <= self.len() / 4 + 1 => {
                let mut moments = Moments::default();
                self.number_counts(context)?.for_each(|(number, times)| moments.add_repeated(number, times));
                Ok(moments)
            }
            _ => Ok(Moments::from_slice(&self.floats(context)?)),
        }
    }

    /// The distinct values of a coded column with how often they occur, in the order of their first rows.
    pub(crate) fn label_counts(&self) -> Option<Vec<(&Value, u64)>> {
        let Values::Scalars(Column::Coded(coded)) = self.values() else { return None };
        let counts = code_counts(coded);
        if counts.iter().sum::<u64>() < self.len() as u64 {
            return None; // some rows have no code
        }
        let mut left: usize = counts.iter().filter(|&&count| count > 0).count();
        let mut seen = vec![false; counts.len()];
        let mut ordered = Vec::with_capacity(left);
        let mut codes = coded.codes.iter();
        while left > 0 {
            let code = *codes.next()? as usize;
            if !std::mem::replace(&mut seen[code], true) {
                ordered.push((&coded.dictionary()[code], counts[code]));
                left -= 1;
            }
        }
        Some(ordered)
    }

    /// Each distinct score and how often it occurs; nothing for a column that is not coded.
    pub(crate) fn number_counts(&self, context: &Context) -> Result<impl Iterator<Item = (f64, u64)>, Error> {
        let (table, counts) = match self.values() {
            Values::Scalars(Column::Coded(coded)) => (self.numbers(coded, context)?, code_counts(coded)),
            _ => Default::default(),
        };
        Ok(table.into_iter().zip(counts).filter(|&(_, times)| times > 0))
    }

    /// The number of each distinct value; an error names the first row that has a bad one.
    fn numbers(&self, coded: &Coded, context: &Context) -> Result<Vec<f64>, Error> {
        let mut bad = None;
        let mut table = Vec::with_capacity(coded.dictionary().len());
        for (code, value) in coded.dictionary().iter().enumerate() {
            let number = to_number(value, &context.labels, context.inspect);
            table.push(*number.as_ref().unwrap_or(&f64::NAN));
            if let (Err(error), None) = (number, &bad) {
                bad = coded.codes.iter().position(|&c| c == code as u32).map(|row| (row, error));
            }
        }
        let absent = if context.inspect { None } else { coded.first_gap() };
        match (bad, absent) {
            (Some((row, error)), _) => Err(self.at(row, name_other_labels(error, coded.dictionary(), &context.labels))),
            (None, Some(row)) => Err(self.at(row, ErrorKind::UnknownLabel(Value::Missing))),
            (None, None) => Ok(table),
        }
    }

    fn number(&self, value: &Value, row: usize, context: &Context) -> Result<f64, Error> {
        to_number(value, &context.labels, context.inspect).map_err(|error| self.at(row, error))
    }

    /// A label that lenient reading counts as 0; the first by name if there are several.
    pub(crate) fn unknown_label(&self, context: &Context) -> Option<String> {
        let strict = context.labels.clone().unknown_as_error();
        let unknown = |value: &Value| value.is_scalar() && !value.is_missing() && strict.to_float(value).is_none();
        let columns: Vec<&Column> = match self.values() {
            Values::Scalars(column) => vec![column],
            Values::Maps(maps) => maps.columns.iter().collect(),
            Values::Mixed(_) => Vec::new(),
        };
        let coded = columns.into_iter().filter_map(|column| match column {
            Column::Coded(coded) => Some(coded.dictionary()),
            Column::Floats(_) => None,
        });
        coded.flatten().filter(|value| unknown(value)).map(Value::to_string).min()
    }

    /// The cluster of each row as a dense code, and the clusters' names.
    pub(crate) fn clusters(&self, key: &str, metric: &str) -> Result<RowKeys<'a>, Error> {
        let Some((codes, column)) = self.cluster_codes(key, metric)? else { return Ok(RowKeys::default()) };
        Ok(RowKeys::new(codes, column, cluster_name))
    }

    /// The cluster of each row as a code, with the column that has its texts; nothing where clusters have other values, too.
    pub(crate) fn given_clusters(&self, key: &str, metric: &str) -> Result<GivenClusters<'a>, Error> {
        let Some(column) = self.samples.metadata_column(key).filter(|column| column.labels().has_only_texts()) else {
            return Ok(None);
        };
        Ok(Some((self.codes_for_clusters(key, Some(column), metric)?, column.labels())))
    }

    /// The cluster of each row as a place: the known one, or a new one from `place_of`.
    pub(crate) fn cluster_places(
        &self,
        key: &str,
        metric: &str,
        known: &mut CodePlaces,
        mut place_of: impl FnMut(&Value) -> u32,
    ) -> Result<Vec<u32>, Error> {
        let Some((codes, column)) = self.cluster_codes(key, metric)? else { return Ok(Vec::new()) };
        let mut codes = codes.into_owned();
        renumber(&mut codes, column.dictionary(), known.of(column.labels()), |value| {
            let number = value.canonical_number();
            place_of(number.as_ref().unwrap_or(value))
        });
        Ok(codes)
    }

    /// The code of each row's cluster, if there are rows.
    fn cluster_codes(&self, key: &str, metric: &str) -> Result<Option<Codes<'a>>, Error> {
        let column = self.samples.metadata_column(key);
        let codes = self.codes_for_clusters(key, column, metric)?;
        let Some(column) = column else { return Ok(None) };
        // Texts name clusters, whatever they are.
        if !column.labels().has_only_texts() && !column.dictionary().iter().all(is_cluster) {
            for (row, &code) in codes.iter().enumerate() {
                let value = &column.dictionary()[code as usize];
                if matches!(value, Value::Null | Value::Missing) {
                    return Err(self.at(row, no_cluster(key)).at_metric(metric));
                }
                if !is_cluster(value) {
                    let unusable = ErrorKind::UnusableCluster { key: key.to_owned(), found: value.kind() };
                    return Err(self.at(row, unusable).at_metric(metric));
                }
            }
        }
        Ok(Some((codes, column)))
    }

    /// The code of each row, all of which must have one.
    fn codes_for_clusters(
        &self,
        key: &str,
        column: Option<&'a FactColumn>,
        metric: &str,
    ) -> Result<Cow<'a, [u32]>, Error> {
        self.metadata_codes(key, column, |row| self.no_key(key, row, no_cluster(key)).at_metric(metric))
    }

    /// The group of each row as a dense code, and the groups' names.
    pub(crate) fn groups(&self, key: &str, metric: &str) -> Result<RowKeys<'a>, Error> {
        let column = self.samples.metadata_column(key);
        let missing = || ErrorKind::MissingMetadata { purpose: "group", key: key.to_owned() };
        let codes = self.metadata_codes(key, column, |row| self.no_key(key, row, missing()).at_metric(metric))?;
        let Some(column) = column else { return Ok(RowKeys::default()) };
        Ok(RowKeys::new(codes, column, |value| Value::from(value.to_string())))
    }

    /// The rows whose samples have this metadata key.
    pub(crate) fn with_key(&self, key: &str) -> Points<'a> {
        let gaps = |codes: Vec<u32>| -> Vec<u32> {
            codes.iter().zip(0..).filter(|(code, _)| **code != ABSENT).map(|(_, row)| row).collect()
        };
        let codes: Vec<u32> = match (self.samples.own_codes(key), self.samples.metadata_column(key)) {
            (Some(own), _) => self.scores().attempt.iter().map(|&at| own.by_attempt[at as usize]).collect(),
            (None, Some(column)) => self.scores().sample.iter().map(|&sample| column.codes.get(sample)).collect(),
            (None, None) => vec![ABSENT; self.len()],
        };
        let rows = gaps(codes);
        if rows.len() == self.len() { self.clone() } else { self.gather(&rows) }
    }

    /// The error for a row without a key: a key that no sample has is probably misspelt, so the error lists the known ones.
    fn no_key(&self, key: &str, row: usize, missing: ErrorKind) -> Error {
        let known: Vec<String> = self.samples.metadata_keys().map(ToString::to_string).collect();
        if known.is_empty() || known.iter().any(|known| known == key) {
            return self.at(row, missing);
        }
        ErrorKind::NoField { field: key.to_owned(), known }.into()
    }

    fn metadata_codes(
        &self,
        key: &str,
        column: Option<&'a FactColumn>,
        missing: impl Fn(usize) -> Error,
    ) -> Result<Cow<'a, [u32]>, Error> {
        self.check_single(key)?;
        if let Some(own) = self.samples.own_codes(key) {
            let codes: Vec<u32> = self.scores().attempt.iter().map(|&at| own.by_attempt[at as usize]).collect();
            let gap = codes.iter().position(|&code| code == ABSENT);
            return gap.map_or(Ok(Cow::Owned(codes)), |row| Err(missing(row)));
        }
        let sample = &self.scores().sample;
        let list = column.and_then(|column| column.codes.as_list());
        let codes: Cow<'a, [u32]> = match list.filter(|list| sample.len() <= list.len() && sample.is_counting()) {
            Some(list) => Cow::Borrowed(&list[..sample.len()]),
            None => {
                let code = |&sample: &u32| column.map_or(ABSENT, |column| column.codes.get(sample));
                Cow::Owned(sample.iter().map(code).collect())
            }
        };
        let is_full = matches!(codes, Cow::Borrowed(_)) && column.is_some_and(|column| column.codes.is_full());
        let gap = if is_full { None } else { codes.iter().position(|&code| code == ABSENT) };
        gap.map_or(Ok(codes), |row| Err(missing(row)))
    }

    /// The rows of each group.
    pub(crate) fn split(&self, codes: Cow<'a, [u32]>, groups: usize) -> Vec<Points<'a>> {
        let sizes: Vec<usize> = counts_of_many(&codes, groups).into_iter().map(|size| size as usize).collect();
        let rows = Arc::new(GroupRows { codes, sizes, lists: OnceLock::new() });
        let values: Vec<Values> = match self.values() {
            Values::Scalars(Column::Floats(floats)) => {
                let parts = partition(floats, &rows.codes, &rows.sizes).into_iter();
                parts.map(|floats| Values::Scalars(Column::Floats(floats))).collect()
            }
            Values::Scalars(Column::Coded(coded)) => {
                let parts = partition(&coded.codes, &rows.codes, &rows.sizes).into_iter();
                parts.map(|codes| Values::Scalars(Column::Coded(coded.with_some(codes)))).collect()
            }
            others => (0..groups as u32).map(|group| others.gather(rows.of(group))).collect(),
        };
        let group = |(values, group)| self.select(PickedRows::OfGroup(rows.clone(), group), values);
        values.into_iter().zip(0..).map(group).collect()
    }
}

/// The items of each group, of which these are the sizes, in their order.
fn partition<T: Copy>(items: &[T], codes: &[u32], sizes: &[usize]) -> Vec<Vec<T>> {
    let mut parts: Vec<Vec<T>> = sizes.iter().map(|&size| Vec::with_capacity(size)).collect();
    for (&item, &code) in items.iter().zip(codes) {
        parts[code as usize].push(item);
    }
    parts
}

/// True for 0, 1, 2 and so on: one row per sample, none left out.
pub(crate) fn is_counting(sample: &[u32]) -> bool {
    const BLOCK: usize = 1024;
    // No early exit within a block, so that vector instructions can do it.
    let counts =
        |(block, first): (&[u32], u32)| block.iter().zip(first..).fold(true, |all, (&x, place)| all & (x == place));
    sample.chunks(BLOCK).zip((0..).step_by(BLOCK)).all(counts)
}

fn no_cluster(key: &str) -> ErrorKind {
    ErrorKind::MissingMetadata { purpose: "cluster", key: key.to_owned() }
}

/// The code of each row, and the column that has their dictionary.
type Codes<'a> = (Cow<'a, [u32]>, &'a FactColumn);

/// The cluster of each row as a code, with the column that has its texts.
type GivenClusters<'a> = Option<(Cow<'a, [u32]>, &'a Coded)>;

/// Keys of rows: dense codes, and what each stands for.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowKeys<'a> {
    pub(crate) codes: Cow<'a, [u32]>,
    pub(crate) names: Vec<Value>,
}

impl<'a> RowKeys<'a> {
    /// Keeps only the names that occur, in the order of their first row, and joins those that are the same.
    fn new(codes: Cow<'a, [u32]>, column: &FactColumn, name: impl Fn(&Value) -> Value) -> Self {
        let dictionary = column.dictionary();
        // Distinct texts have distinct names, so there is nothing to join.
        if column.labels().has_only_texts() {
            return match distinct_if_ranked(&codes) {
                Some(distinct) => Self { codes, names: dictionary[..distinct].to_vec() },
                None => Self::of_texts(codes.into_owned(), dictionary),
            };
        }
        let mut codes = codes.into_owned();
        let mut names: indexmap::IndexSet<Value> = indexmap::IndexSet::new();
        let mut places = vec![NO_PLACE; dictionary.len()];
        renumber(&mut codes, dictionary, &mut places, |value| names.insert_full(name(value)).0 as u32);
        Self { codes: codes.into(), names: names.into_iter().collect() }
    }

    fn of_texts(mut codes: Vec<u32>, dictionary: &[Value]) -> Self {
        let mut names = Vec::new();
        renumber(&mut codes, dictionary, &mut vec![NO_PLACE; dictionary.len()], |value| {
            names.push(value.clone());
            names.len() as u32 - 1
        });
        Self { codes: codes.into(), names }
    }
}

/// The places of a dictionary's codes, kept while rows with the same dictionary follow.
#[derive(Debug, Default)]
pub(crate) struct CodePlaces {
    lineage: Lineage,
    places: Vec<u32>,
}

impl CodePlaces {
    pub(crate) fn of(&mut self, column: &Coded) -> &mut [u32] {
        if !self.lineage.is(column.lineage()) {
            self.lineage = column.lineage().keep();
            self.places.clear();
        }
        self.places.resize(column.distinct().max(self.places.len()), NO_PLACE);
        &mut self.places
    }
}

/// The place of a code that has none yet.
pub(crate) const NO_PLACE: u32 = u32::MAX;

/// Replaces each code by its place: the known one, or a new one from its value.
fn renumber(codes: &mut [u32], dictionary: &[Value], places: &mut [u32], mut place_of: impl FnMut(&Value) -> u32) {
    for code in codes {
        let place = &mut places[*code as usize];
        if *place == NO_PLACE {
            *place = place_of(&dictionary[*code as usize]);
        }
        *code = *place;
    }
}

/// The number of distinct codes, if each new one is the next number: then the codes are dense as they are.
fn distinct_if_ranked(codes: &[u32]) -> Option<usize> {
    let mut next = 0;
    for block in codes.chunks(256) {
        // Most blocks have no new code, and vector instructions find that out.
        if block.iter().fold(0, |largest, &code| largest.max(code)) < next {
            continue;
        }
        for &code in block {
            if code > next {
                return None;
            }
            next += u32::from(code == next);
        }
    }
    Some(next as usize)
}

/// True when a value can name a cluster.
fn is_cluster(value: &Value) -> bool {
    matches!(value, Value::Text(_) | Value::Bool(_) | Value::Int(_) | Value::Float(_))
}

/// Values that are equal to Python name the same cluster: 1, 1.0 and True.
fn cluster_name(value: &Value) -> Value {
    value.canonical_number().unwrap_or_else(|| value.clone())
}

fn to_number(value: &Value, labels: &Labels, inspect: bool) -> Result<f64, Error> {
    if value.is_missing() {
        // Inspect's metrics, called by hand, compute with the NaN. Its pipeline takes such rows out, and so does ours.
        return if inspect { Ok(f64::NAN) } else { Err(ErrorKind::UnknownLabel(Value::Missing).into()) };
    }
    let number = labels.to_float(value).ok_or_else(|| ErrorKind::UnknownLabel(value.clone()))?;
    if number.is_finite() || inspect { Ok(number) } else { Err(not_a_number(number)) }
}

/// Checks whole blocks without an early exit, so that the compiler can vectorise it.
fn first_not_finite(floats: &[f64]) -> Option<usize> {
    let block = floats.chunks(1024).position(|block| !block.iter().fold(true, |all, x| all & x.is_finite()))?;
    let start = block * 1024;
    floats[start..].iter().position(|x| !x.is_finite()).map(|row| start + row)
}

fn not_a_number(x: f64) -> Error {
    if x.is_nan() { ErrorKind::UnknownLabel(Value::Missing).into() } else { ErrorKind::NotFinite(x).into() }
}

/// How often each code occurs.
fn code_counts(coded: &Coded) -> Vec<u64> {
    let labels = coded.dictionary().len();
    if labels <= 4 { counts_of_few(&coded.codes, labels) } else { counts_of_many(&coded.codes, labels) }
}

/// A pass for each code over blocks that fit the first cache: comparing and adding are vector instructions.
fn counts_of_few(codes: &[u32], labels: usize) -> Vec<u64> {
    let mut counts = vec![0; labels];
    for block in codes.chunks(4096) {
        for (count, label) in counts.iter_mut().zip(0..) {
            *count += u64::from(block.iter().map(|&code| u32::from(code == label)).sum::<u32>());
        }
    }
    counts
}

/// Four counters per code, used in turn: with two or three labels, each increment would otherwise wait for the previous
/// one.
fn counts_of_many(codes: &[u32], labels: usize) -> Vec<u64> {
    let mut counts = vec![[0u32; 4]; labels];
    let mut chunks = codes.chunks_exact(4);
    for chunk in &mut chunks {
        for (lane, &code) in chunk.iter().enumerate() {
            if let Some(count) = counts.get_mut(code as usize) {
                count[lane] += 1;
            }
        }
    }
    for &code in chunks.remainder() {
        if let Some(count) = counts.get_mut(code as usize) {
            count[0] += 1;
        }
    }
    counts.iter().map(|lanes| lanes.iter().map(|&n| u64::from(n)).sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{accuracy, grouped, stderr_clustered};

    /// Three samples with two attempts each, sample after sample or epoch after epoch.
    fn attempts(by_epoch: bool) -> Samples {
        let mut rows: Vec<(i64, u32, &str)> =
            vec![(1, 1, "C"), (1, 2, "I"), (2, 1, "I"), (2, 2, "I"), (3, 1, "C"), (3, 2, "C")];
        if by_epoch {
            rows.sort_by_key(|row| row.1);
        }
        let mut samples = Samples::new();
        for (id, epoch, label) in rows {
            samples.push_epoch(id, epoch).score("judge", label);
        }
        samples
    }

    #[test]
    fn reduction_does_not_depend_on_how_attempts_are_interleaved() {
        let context = Context::default();
        for name in ["mean", "median", "mode", "max", "at_least_2", "pass_at_2", "pass_k_2", "collect"] {
            let reduced = [false, true].map(|by_epoch| {
                let samples = attempts(by_epoch);
                let points = samples.points("judge").expect("scored");
                let reduced = points.reduce(&Reducer::parse(name).expect("known"), &context).expect("reducible");
                (0..reduced.len()).map(|row| reduced.get(row)).collect::<Vec<_>>()
            });
            assert_eq!(reduced[0], reduced[1], "{name}");
        }
    }

    #[test]
    fn a_sample_without_a_score_stays_so_when_reduced_again() {
        let mut samples = attempts(false);
        samples.push(4).score("judge", Value::Missing);
        let context = Context::default();
        let reduce = |points: &Points<'_>, name: &str| {
            let reduced = points.reduce(&Reducer::parse(name).expect("known"), &context).expect("reducible");
            (reduced.scored().len(), reduced.unscored().len())
        };
        let points = samples.points("judge").expect("scored");
        let largest = points.reduce(&crate::max_score(), &context).expect("reducible");
        assert_eq!(reduce(&points, "max"), (3, 1));
        assert_eq!(reduce(&largest, "mean"), (3, 1));
    }

    #[test]
    fn groups_come_in_the_order_of_their_rows_even_when_named_late() {
        let mut samples = Samples::new();
        samples.push(1).score("judge", "C");
        samples.push(2).score("judge", "I").metadata("group", "b");
        samples.push(3).score("judge", "C").metadata("group", "b");
        samples.push(1).metadata("group", "a");
        let points = samples.points("judge").expect("scored");
        let keys = points.groups("group", "grouped").expect("all have one");
        assert_eq!((keys.codes.as_ref(), keys.names), (&[0, 1, 1][..], vec!["a".into(), "b".into()]));
    }

    #[test]
    fn a_row_picked_by_group_still_knows_its_sample() {
        let mut samples = Samples::new();
        samples.push(1).score("judge", "C").metadata("group", "a").metadata("cluster", "x");
        samples.push(2).score("judge", "I").metadata("group", "b").metadata("cluster", "y");
        samples.push(3).score("judge", "I").metadata("group", "b").metadata("cluster", Value::Null);
        let points = samples.points("judge").expect("scored");
        let keys = points.groups("group", "grouped").expect("all have one");
        let parts = points.split(keys.codes, keys.names.len());
        assert_eq!((parts[1].len(), parts[1].sample_id(1)), (2, SampleId::Int(3)));
        let by_cluster = grouped(stderr_clustered("cluster"), "group");
        let error = by_cluster.measure(&points, &Context::default()).expect_err("sample 3 has no cluster");
        assert!(error.to_string().contains("cluster"), "{error}");
        assert!(grouped(accuracy(), "group").measure(&points, &Context::default()).is_ok());
    }
}
