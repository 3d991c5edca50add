//! The rows that a metric folds in.

use crate::column::{ABSENT, Coded, Column};
use crate::reduce::Attempts;
use crate::scores::{Scores, Values};
use crate::{Context, Error, ErrorKind, Labels, Metadata, Reducer, SampleId, SampleScore, Samples, Value};
use calipers_stats::Moments;
use std::borrow::Cow;
use std::sync::Arc;

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
    scores: Cow<'a, Scores>,
}

impl Samples {
    /// The scores of a scorer, an attempt a row.
    pub fn points(&self, scorer: &str) -> Result<Points<'_>, Error> {
        let Some(scores) = self.scores(scorer) else {
            let known = self.scorers().map(ToString::to_string).collect();
            return Err(ErrorKind::NoField { field: scorer.to_owned(), known }.into());
        };
        Ok(Points { samples: self, scorer: scorer.into(), scores: Cow::Borrowed(scores) })
    }
}

impl Samples {
    /// Every attempt, scored or not, for metrics over fields.
    pub(crate) fn attempt_points(&self) -> Points<'_> {
        Points { samples: self, scorer: "run".into(), scores: Cow::Owned(self.all_attempts()) }
    }
}

impl<'a> Points<'a> {
    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.scores.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn values(&self) -> &Values {
        &self.scores.values
    }

    pub(crate) fn samples(&self) -> &'a Samples {
        self.samples
    }

    pub(crate) fn scores(&self) -> &Scores {
        &self.scores
    }

    /// The number of different samples among the rows.
    pub(crate) fn distinct_samples(&self) -> u64 {
        let mut seen = vec![false; self.samples.len()];
        let fresh = |&&sample: &&u32| !std::mem::replace(&mut seen[sample as usize], true);
        self.scores.sample.iter().filter(fresh).count() as u64
    }

    /// The sample of a row.
    #[must_use]
    pub fn sample_id(&self, row: usize) -> &'a SampleId {
        self.samples.id(self.scores.sample[row])
    }

    /// A row as custom metrics see it.
    #[must_use]
    pub fn get(&self, row: usize) -> SampleScore {
        let sample = self.scores.sample[row];
        SampleScore {
            score: self.scores.score(row),
            sample_id: self.samples.id(sample).clone(),
            sample_metadata: Arc::new(self.samples.metadata_of(sample)),
        }
    }

    pub(crate) fn score_metadata(&self, row: usize) -> Option<&Metadata> {
        self.scores.metadata(row)
    }

    pub(crate) fn epoch(&self, row: usize) -> u32 {
        self.scores.epoch[row]
    }

    /// A field of the attempts, or else a metadata key of their samples, row by row. `None` where it is not given.
    pub(crate) fn field(&self, name: &str, labels: &Labels) -> Result<Vec<Option<f64>>, Error> {
        let column = self.samples.field_values(name, &self.scores.attempt);
        let number = |row: usize| match column.get(row) {
            Value::Missing | Value::Null => Ok(None),
            value => match labels.to_float(&value) {
                Some(x) => Ok(Some(x)),
                None => {
                    let error = Error::from(ErrorKind::NotNumeric { field: name.to_owned(), value });
                    Err(error.at_sample(self.sample_id(row)).at_epoch(self.epoch(row)))
                }
            },
        };
        (0..self.len()).map(number).collect()
    }

    /// A field as it was given.
    pub(crate) fn field_values(&self, name: &str) -> Column {
        self.samples.field_values(name, &self.scores.attempt)
    }

    /// The sample of each row, as a code.
    pub(crate) fn sample_codes(&self) -> &[u32] {
        &self.scores.sample
    }

    /// True when the attempt of this row ended in an error.
    pub(crate) fn is_errored(&self, row: usize) -> bool {
        self.samples.is_errored(self.scores.attempt[row])
    }

    /// One row a sample.
    pub fn reduce(&self, reducer: &Reducer, context: &Context) -> Result<Points<'a>, Error> {
        let name = |sample: u32, error: Error| error.at_sample(self.samples.id(sample)).at_scorer(&self.scorer);
        let scores = reducer.reduce_all(&self.scores, &context.labels, name)?;
        Ok(self.with_scores(scores))
    }

    /// Each attempt once, in the order of samples and epochs.
    pub(crate) fn unique(&self) -> Result<Points<'a>, Error> {
        let attempts = Attempts::of(&self.scores)
            .map_err(|(sample, error)| error.at_sample(self.samples.id(sample)).at_scorer(&self.scorer))?;
        if attempts.rows().len() == self.len() { Ok(self.clone()) } else { Ok(self.gather(attempts.rows())) }
    }

    /// The rows that have a value.
    pub(crate) fn scored(&self) -> Points<'a> {
        self.scores.scored_rows().map_or_else(|| self.clone(), |rows| self.gather(&rows))
    }

    /// The rows that have none.
    pub(crate) fn unscored(&self) -> Points<'a> {
        if !self.scores.values.has_root_missing() {
            return self.gather(&[]);
        }
        let rows: Vec<u32> = (0..self.len() as u32).filter(|&row| self.scores.is_unscored(row as usize)).collect();
        self.gather(&rows)
    }

    pub(crate) fn gather(&self, rows: &[u32]) -> Points<'a> {
        self.with_scores(self.scores.gather(rows))
    }

    pub(crate) fn with_scores(&self, scores: Scores) -> Points<'a> {
        Points { samples: self.samples, scorer: self.scorer.clone(), scores: Cow::Owned(scores) }
    }

    pub(crate) fn with_values(&self, values: Values) -> Points<'a> {
        self.with_scores(self.scores.with_values(values))
    }

    /// An error that happened at a row.
    pub(crate) fn at(&self, row: usize, error: impl Into<Error>) -> Error {
        error.into().at_sample(self.sample_id(row)).at_scorer(&self.scorer)
    }

    /// The scores as floats, row by row.
    pub fn floats(&self, context: &Context) -> Result<Cow<'_, [f64]>, Error> {
        match self.values() {
            Values::Scalars(Column::Floats(floats)) => {
                if !context.inspect
                    && let Some(row) = floats.iter().position(|x| !x.is_finite())
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
            Values::Scalars(Column::Floats(floats)) if !context.labels.map_numbers() => {
                let moments = Moments::from_slice(floats);
                if !context.inspect && !moments.sum().is_finite() {
                    self.floats(context)?;
                }
                Ok(moments)
            }
            Values::Scalars(Column::Coded(coded)) if coded.dictionary().len() <= self.len() / 4 + 1 => {
                let mut moments = Moments::default();
                self.number_counts(context)?.for_each(|(number, times)| moments.add_repeated(number, times));
                Ok(moments)
            }
            _ => Ok(Moments::from_slice(&self.floats(context)?)),
        }
    }

    /// Each distinct score and how often it occurs; of a column that is not coded, nothing.
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
        let absent = if context.inspect { None } else { coded.codes.iter().position(|&code| code == ABSENT) };
        match (bad, absent) {
            (Some((row, error)), _) => Err(self.at(row, error)),
            (None, Some(row)) => Err(self.at(row, ErrorKind::UnknownLabel(Value::Missing))),
            (None, None) => Ok(table),
        }
    }

    fn number(&self, value: &Value, row: usize, context: &Context) -> Result<f64, Error> {
        to_number(value, &context.labels, context.inspect).map_err(|error| self.at(row, error))
    }

    /// A label that the lenient reading counts as 0: of several the first by name.
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
    pub(crate) fn clusters(&self, key: &str, metric: &str) -> Result<Keys, Error> {
        let column = self.samples.metadata_column(key);
        let missing = || ErrorKind::MissingMetadata { purpose: "cluster", key: key.to_owned() };
        let codes = self.metadata_codes(column, |row| self.at(row, missing()).at_metric(metric))?;
        let Some(column) = column else { return Ok(Keys::default()) };
        let mut merged = column.dictionary().iter().map(ClusterName::of);
        let unusable = merged.position(|name| name.is_none()).map(|code| code as u32);
        if unusable.is_some() {
            for (row, &code) in codes.iter().enumerate() {
                let value = &column.dictionary()[code as usize];
                if matches!(value, Value::Null | Value::Missing) {
                    return Err(self.at(row, missing()).at_metric(metric));
                }
                if ClusterName::of(value).is_none() {
                    let unusable = ErrorKind::UnusableCluster { key: key.to_owned(), found: value.kind() };
                    return Err(self.at(row, unusable).at_metric(metric));
                }
            }
        }
        Ok(Keys::new(codes, column, |value| ClusterName::of(value).unwrap_or(value.clone())))
    }

    /// The group of each row as a dense code, and the groups' names.
    pub(crate) fn groups(&self, key: &str, metric: &str) -> Result<Keys, Error> {
        let column = self.samples.metadata_column(key);
        let missing = || ErrorKind::MissingMetadata { purpose: "group", key: key.to_owned() };
        let codes = self.metadata_codes(column, |row| self.at(row, missing()).at_metric(metric))?;
        let Some(column) = column else { return Ok(Keys::default()) };
        Ok(Keys::new(codes, column, |value| Value::from(value.to_string())))
    }

    fn metadata_codes(&self, column: Option<&Coded>, missing: impl Fn(usize) -> Error) -> Result<Vec<u32>, Error> {
        let codes = column.map_or(&[][..], |column| &column.codes);
        let code = |&sample: &u32| codes.get(sample as usize).copied().unwrap_or(ABSENT);
        let codes: Vec<u32> = self.scores.sample.iter().map(code).collect();
        match codes.iter().position(|&code| code == ABSENT) {
            Some(row) => Err(missing(row)),
            None => Ok(codes),
        }
    }

    /// The rows of each group.
    pub(crate) fn split(&self, codes: &[u32], groups: usize) -> Vec<Points<'a>> {
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); groups];
        for (row, &code) in codes.iter().enumerate() {
            rows[code as usize].push(row as u32);
        }
        rows.iter().map(|rows| self.gather(rows)).collect()
    }
}

/// Keys of rows: dense codes, and what each stands for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    pub(crate) codes: Vec<u32>,
    pub(crate) names: Vec<Value>,
}

impl Keys {
    /// Keeps only the names that occur, in the order of their first row, and joins those that are the same.
    fn new(mut codes: Vec<u32>, column: &Coded, name: impl Fn(&Value) -> Value) -> Self {
        let mut place = vec![u32::MAX; column.dictionary().len()];
        let mut names: indexmap::IndexSet<Value> = indexmap::IndexSet::new();
        let plain = column.dictionary().iter().all(|value| matches!(value, Value::Text(_)));
        let mut count = 0;
        let mut plain_names = Vec::new();
        for code in &mut codes {
            let place = &mut place[*code as usize];
            if *place == u32::MAX {
                let value = &column.dictionary()[*code as usize];
                // Distinct texts have distinct names, so there is nothing to join.
                *place = if plain {
                    plain_names.push(value.clone());
                    count += 1;
                    count - 1
                } else {
                    names.insert_full(name(value)).0 as u32
                };
            }
            *code = *place;
        }
        Self { codes, names: if plain { plain_names } else { names.into_iter().collect() } }
    }
}

/// Values that are equal to Python name the same cluster: 1, 1.0 and True.
struct ClusterName;

impl ClusterName {
    fn of(value: &Value) -> Option<Value> {
        match value {
            Value::Text(_) => Some(value.clone()),
            _ => value.canonical_number(),
        }
    }
}

fn to_number(value: &Value, labels: &Labels, inspect: bool) -> Result<f64, Error> {
    if value.is_missing() {
        // Inspect's metrics, called by hand, compute with the NaN. Its pipeline takes such rows out, and so does ours.
        return if inspect { Ok(f64::NAN) } else { Err(ErrorKind::UnknownLabel(Value::Missing).into()) };
    }
    let number = labels.to_float(value).ok_or_else(|| ErrorKind::UnknownLabel(value.clone()))?;
    if number.is_finite() || inspect { Ok(number) } else { Err(not_a_number(number)) }
}

fn not_a_number(x: f64) -> Error {
    if x.is_nan() { ErrorKind::UnknownLabel(Value::Missing).into() } else { ErrorKind::NotFinite(x).into() }
}

/// How often each code occurs.
///
/// Four counters a code, used in turn: with two or three labels each increment would otherwise wait for the one
/// before it.
fn code_counts(coded: &Coded) -> Vec<u64> {
    let labels = coded.dictionary().len();
    let mut counts = vec![[0u32; 4]; labels];
    let mut chunks = coded.codes.chunks_exact(4);
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
