//! Attempts that are delivered more than once: in parts, or the same again. What their deliveries say must agree, because
//! either of two that differ could be the right one.

use crate::data::row_index::RunRowIndex;
use crate::{Error, ErrorKind, Outcome, SampleId, Samples, Score, Value};
use hashbrown::HashMap;
use std::fmt;
use std::sync::Arc;

/// What the deliveries of one attempt have said so far, and where.
///
/// ```
/// use calipers_core::{DeliveredAttempt, Delivery, Outcome};
///
/// let score = |value: f64| Delivery { scores: vec![("judge".into(), Outcome::from(value))], ..Delivery::default() };
/// let mut attempt = DeliveredAttempt::default();
/// assert!(attempt.add("line 1", score(1.0)).is_ok());
/// assert!(attempt.add("line 2", score(1.0)).is_ok()); // the same again
/// let difference = attempt.add("line 3", score(0.0)).expect_err("another score");
/// assert_eq!(difference.places(), [&"line 1", &"line 3"]);
/// ```
#[derive(Debug)]
pub struct DeliveredAttempt<P> {
    scores: HashMap<Arc<str>, (Outcome, P)>,
    fields: HashMap<Arc<str>, (Value, P)>,
    metadata: HashMap<Arc<str>, (Value, P)>,
    error: Option<(Arc<str>, P)>,
    /// The first delivery that has a result and no error.
    result: Option<P>,
}

impl<P> Default for DeliveredAttempt<P> {
    fn default() -> Self {
        Self { scores: HashMap::new(), fields: HashMap::new(), metadata: HashMap::new(), error: None, result: None }
    }
}

/// What one record says about an attempt.
#[derive(Clone, Debug, Default)]
pub struct Delivery {
    /// What scorers said.
    pub scores: Vec<(Arc<str>, Outcome)>,
    /// Measurements of the attempt.
    pub fields: Vec<(Arc<str>, Value)>,
    /// Facts about the sample.
    pub metadata: Vec<(Arc<str>, Value)>,
    /// Why the attempt did not run.
    pub error: Option<Arc<str>>,
}

/// Two deliveries of one attempt that do not agree: what they differ in, and what each of them says, at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference<P> {
    part: DifferentPart,
    first: (String, P),
    other: (String, P),
}

/// What two deliveries of one attempt differ in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DifferentPart {
    /// The score by a scorer.
    Score(Arc<str>),
    /// Why a scorer could not decide.
    Reason(Arc<str>),
    /// The answer that a scorer looked at.
    Answer(Arc<str>),
    /// Why a scorer decided so.
    Explanation(Arc<str>),
    /// What else a scorer recorded, under this key.
    ScoreMetadata {
        /// The scorer.
        scorer: Arc<str>,
        /// The key.
        key: Arc<str>,
    },
    /// A measurement, or a fact about the sample.
    Value(Arc<str>),
    /// Why the attempt did not run.
    Error,
    /// Whether it ran: one has an error, and the other a result.
    ErrorOrResult,
}

/// Two deliveries of one attempt that do not agree, for an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The sample.
    pub sample: String,
    /// The attempt.
    pub epoch: u32,
    /// What they differ in.
    pub part: DifferentPart,
    /// What the first says, and where.
    pub first: (String, String),
    /// What the other says, and where.
    pub other: (String, String),
}

impl<P> Difference<P> {
    fn new(part: DifferentPart, first: (impl ToString, P), other: (impl ToString, P)) -> Self {
        Self { part, first: (first.0.to_string(), first.1), other: (other.0.to_string(), other.1) }
    }

    /// The two places.
    pub fn places(&self) -> [&P; 2] {
        [&self.first.1, &self.other.1]
    }

    /// The same with other places.
    pub fn map_places<Q>(self, place: impl Fn(P) -> Q) -> Difference<Q> {
        let Self { part, first, other } = self;
        Difference { part, first: (first.0, place(first.1)), other: (other.0, place(other.1)) }
    }

    /// The error for an attempt whose deliveries differ so.
    pub fn to_error(&self, id: &SampleId, epoch: u32) -> Error
    where
        P: fmt::Display,
    {
        let place = |(value, place): &(String, P)| (value.clone(), place.to_string());
        let contradiction = Contradiction {
            sample: id.to_string(),
            epoch,
            part: self.part.clone(),
            first: place(&self.first),
            other: place(&self.other),
        };
        ErrorKind::Contradiction(Box::new(contradiction)).into()
    }
}

impl<P: Clone> DeliveredAttempt<P> {
    /// Adds what is said at this place, or returns what it contradicts. Parts that are not given contradict nothing.
    pub fn add(&mut self, place: P, delivery: Delivery) -> Result<(), Difference<P>> {
        let has_result = delivery.has_result();
        for (scorer, outcome) in delivery.scores {
            match self.scores.get(&scorer) {
                None => drop(self.scores.insert(scorer, (outcome, place.clone()))),
                Some((first, first_place)) => {
                    if let Some((part, [a, b])) = outcome_difference(&scorer, first, &outcome) {
                        return Err(Difference::new(part, (a, first_place.clone()), (b, place)));
                    }
                }
            }
        }
        for (known, given) in [(&mut self.fields, delivery.fields), (&mut self.metadata, delivery.metadata)] {
            for (name, value) in given.into_iter().filter(|(_, value)| is_given(value)) {
                match known.get(&name) {
                    None => drop(known.insert(name, (value, place.clone()))),
                    Some((first, _)) if is_same(first, &value) => {}
                    Some((first, first_place)) => {
                        let part = DifferentPart::Value(name);
                        return Err(Difference::new(part, (first, first_place.clone()), (value, place)));
                    }
                }
            }
        }
        match (delivery.error, &self.error) {
            (Some(error), Some((first, first_place))) if error != *first => {
                return Err(Difference::new(DifferentPart::Error, (first, first_place.clone()), (error, place)));
            }
            (Some(error), None) => self.error = Some((error, place)),
            (None, _) if has_result => self.result = self.result.take().or(Some(place)),
            _ => {}
        }
        match (&self.error, &self.result) {
            (Some((error, failed)), Some(result)) => {
                Err(Difference::new(DifferentPart::ErrorOrResult, (error, failed.clone()), ("", result.clone())))
            }
            _ => Ok(()),
        }
    }
}

impl Delivery {
    /// True when it says how the attempt went.
    fn has_result(&self) -> bool {
        let is_result = |name: &str| matches!(name, "passed" | "correct" | "observed_behaviors" | "violations");
        self.scores.iter().any(|(_, outcome)| matches!(outcome, Outcome::Scored(score) if !score.value.is_missing()))
            || self.fields.iter().any(|(name, value)| is_result(name) && is_given(value))
    }
}

fn is_given(value: &Value) -> bool {
    !matches!(value, Value::Missing | Value::Null)
}

/// True when two values say the same: 1 is 1.0, and maps have no order.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => a == b || a.as_number() == b.as_number(),
        (Value::List(x), Value::List(y)) => x.len() == y.len() && x.iter().zip(y).all(|(a, b)| is_same(a, b)),
        (Value::Map(x), Value::Map(y)) if x.len() == y.len() => {
            let known: HashMap<&str, &Value> = x.iter().map(|(key, value)| (&**key, value)).collect();
            y.iter().all(|(key, b)| known.get(&**key).is_some_and(|a| is_same(a, b)))
        }
        _ => a == b,
    }
}

/// What two outcomes of one scorer differ in, and what each says.
fn outcome_difference(scorer: &Arc<str>, first: &Outcome, other: &Outcome) -> Option<(DifferentPart, [String; 2])> {
    let unscored = Score::unscored();
    let parts = |outcome: &Outcome| match outcome {
        Outcome::Scored(score) => (score.clone(), None),
        Outcome::Unscored { reason, score } => {
            let mut score = score.as_deref().unwrap_or(&unscored).clone();
            score.value = Value::Missing;
            (score, Some(reason.clone()))
        }
    };
    let ((a, a_reason), (b, b_reason)) = (parts(first), parts(other));
    let shown = |score: &Score| if score.value.is_missing() { "unscored".to_owned() } else { score.value.to_string() };
    if !is_same(&a.value, &b.value) {
        return Some((DifferentPart::Score(scorer.clone()), [shown(&a), shown(&b)]));
    }
    let texts = [
        (DifferentPart::Reason(scorer.clone()), a_reason, b_reason),
        (DifferentPart::Answer(scorer.clone()), a.answer, b.answer),
        (DifferentPart::Explanation(scorer.clone()), a.explanation, b.explanation),
    ];
    for (part, a, b) in texts {
        if let (Some(a), Some(b)) = (a, b)
            && a != b
        {
            return Some((part, [a.to_string(), b.to_string()]));
        }
    }
    let (a, b) = (a.metadata?, b.metadata?);
    let known: HashMap<&str, &Value> = a.iter().map(|(key, value)| (&**key, value)).collect();
    b.iter().find_map(|(key, b)| {
        let a = known.get(&**key).filter(|a| !is_same(a, b))?;
        let part = DifferentPart::ScoreMetadata { scorer: scorer.clone(), key: key.clone() };
        Some((part, [a.to_string(), b.to_string()]))
    })
}

impl Samples {
    /// The number of records that delivered attempts. An attempt that was delivered twice counts twice.
    #[must_use]
    pub fn deliveries(&self) -> usize {
        self.attempt_sample.len()
    }

    /// True when an attempt was delivered more than once.
    #[must_use]
    pub fn has_repeats(&self) -> bool {
        !self.repeated_rows().is_empty()
    }

    /// The attempts that were delivered more than once.
    #[must_use]
    pub fn repeated_attempts(&self) -> Vec<(SampleId, u32)> {
        let place = |rows: &Vec<u32>| {
            let row = rows[0] as usize;
            (self.id(self.attempt_sample[row]), self.attempt_epoch[row])
        };
        self.repeated_rows().iter().map(place).collect()
    }

    fn place(&self, row: u32) -> (u32, u32) {
        (self.attempt_sample[row as usize], self.attempt_epoch[row as usize])
    }

    /// The rows of each attempt that was delivered more than once, in the order of delivery.
    fn repeated_rows(&self) -> Vec<Vec<u32>> {
        let places = || self.attempt_sample.iter().zip(&*self.attempt_epoch);
        if !self.may_repeat || places().is_sorted_by(|a, b| a < b) {
            return Vec::new();
        }
        let mut rows: Vec<u32> = (0..self.attempt_sample.len() as u32).collect();
        rows.sort_by_key(|&row| self.place(row));
        let groups = rows.chunk_by(|&a, &b| self.place(a) == self.place(b));
        groups.filter(|rows| rows.len() > 1).map(<[u32]>::to_vec).collect()
    }

    /// The first two deliveries of one attempt that do not agree, by their rows.
    #[must_use]
    pub fn contradiction(&self) -> Option<(SampleId, u32, Difference<usize>)> {
        let repeated = self.repeated_rows();
        if repeated.is_empty() {
            return None;
        }
        let mut scores = self.scores_of(repeated.iter().flatten().copied());
        let index = self.row_index();
        for rows in &repeated {
            let mut attempt = DeliveredAttempt::default();
            for &row in rows {
                if let Err(difference) = attempt.add(row as usize, self.delivery(&index, row, scores.remove(&row))) {
                    let (sample, epoch) = self.place(row);
                    return Some((self.id(sample), epoch, difference));
                }
            }
        }
        None
    }

    /// An error if two deliveries of one attempt do not agree.
    pub fn check_repeats(&self) -> Result<(), Error> {
        let Some((id, epoch, difference)) = self.contradiction() else { return Ok(()) };
        Err(difference.map_places(|row| format!("record {}", row + 1)).to_error(&id, epoch))
    }

    /// The samples with each attempt in one row, whatever it was delivered in: its parts are put together, and of a part
    /// that was delivered twice, the first counts.
    #[must_use]
    pub fn put_together(self) -> Self {
        let repeated = self.repeated_rows();
        if repeated.is_empty() {
            return self;
        }
        let later: HashMap<u32, &[u32]> = repeated.iter().map(|rows| (rows[0], &rows[1..])).collect();
        let mut is_later = vec![false; self.deliveries()];
        repeated.iter().flat_map(|rows| &rows[1..]).for_each(|&row| is_later[row as usize] = true);
        let mut scores = self.scores_of(0..self.deliveries() as u32);
        let index = self.row_index();
        let mut whole = Self::new();
        for row in (0..self.deliveries() as u32).filter(|&row| !is_later[row as usize]) {
            let mut parts = self.delivery(&index, row, scores.remove(&row));
            for &other in later.get(&row).copied().unwrap_or_default() {
                parts.fill_from(self.delivery(&index, other, scores.remove(&other)));
            }
            let (sample, epoch) = self.place(row);
            let sample = whole.sample_of_attempt(self.id(sample));
            let mut attempt = whole.attempt(sample, epoch, self.attempt_counted[row as usize]);
            for (key, value) in parts.metadata {
                attempt = attempt.metadata(key, value);
            }
            for (name, value) in parts.fields {
                attempt = attempt.field(name, value);
            }
            for (scorer, outcome) in parts.scores {
                attempt = attempt.score(scorer, outcome);
            }
            if let Some(error) = parts.error {
                attempt.error(error);
            }
        }
        whole.may_repeat = true;
        whole
    }

    /// What scorers said in these rows.
    fn scores_of(&self, rows: impl Iterator<Item = u32>) -> HashMap<u32, Vec<(Arc<str>, Outcome)>> {
        let mut found: HashMap<u32, Vec<(Arc<str>, Outcome)>> = rows.map(|row| (row, Vec::new())).collect();
        for (scorer, scores) in &self.scores {
            for (row, attempt) in scores.attempt.iter().enumerate() {
                if let Some(outcomes) = found.get_mut(attempt) {
                    outcomes.push((scorer.clone(), scores.outcome(row)));
                }
            }
        }
        found
    }

    /// What was delivered in this row.
    fn delivery(&self, index: &RunRowIndex<'_>, row: u32, scores: Option<Vec<(Arc<str>, Outcome)>>) -> Delivery {
        let metadata = index.delivered_metadata(self.attempt_sample[row as usize], row);
        Delivery {
            scores: scores.unwrap_or_default(),
            fields: index.fields_at(&[row]),
            metadata: metadata.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
            error: self.error_at(row).cloned(),
        }
    }
}

impl Delivery {
    /// Adds what the other has and this one has not.
    fn fill_from(&mut self, other: Self) {
        fn fill<T>(mine: &mut Vec<(Arc<str>, T)>, theirs: Vec<(Arc<str>, T)>) {
            let known: hashbrown::HashSet<Arc<str>> = mine.iter().map(|(name, _)| name.clone()).collect();
            mine.extend(theirs.into_iter().filter(|(name, _)| !known.contains(name)));
        }
        fill(&mut self.scores, other.scores);
        fill(&mut self.fields, other.fields);
        fill(&mut self.metadata, other.metadata);
        self.error = self.error.take().or(other.error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attempt, Metadata, Record};

    type Step = fn(Attempt<'_>) -> Attempt<'_>;

    fn deliver(first: Step, other: Step) -> Samples {
        let mut samples = Samples::new();
        first(samples.push_epoch("a", 1));
        samples.push_epoch("b", 1);
        other(samples.push_epoch("a", 1));
        samples
    }

    #[test]
    fn deliveries_of_one_attempt_must_agree_in_every_part() {
        let score = |explanation: &str| Score::new(1.0).explanation(explanation);
        let refused: [(Step, Step, &str); 10] = [
            (|a| a.field("passed", true), |a| a.field("passed", false), "`passed`"),
            (|a| a.field("latency_ms", 1.0), |a| a.field("latency_ms", 2.0), "`latency_ms`"),
            (|a| a.metadata("model", "x"), |a| a.metadata("model", "y"), "`model`"),
            (|a| a.error("timeout"), |a| a.error("reset"), "errors"),
            (
                |a| a.score("judge", 1.0),
                |a| a.score("judge", 0.0),
                "scores by `judge`: `1.0` (record 1) and `0.0` (record 3)",
            ),
            (|a| a.score("judge", 1.0), |a| a.score("judge", Outcome::unscored("no")), "scores by `judge`"),
            (
                |a| a.score("judge", Score::new(1.0).answer("A")),
                |a| a.score("judge", Score::new(1.0).answer("B")),
                "answers",
            ),
            (
                |a| a.score("judge", Score::new(1.0).metadata(Metadata::new([("k", 1)]))),
                |a| a.score("judge", Score::new(1.0).metadata(Metadata::new([("k", 2)]))),
                "`k` in the score",
            ),
            (|a| a.error("timeout"), |a| a.score("judge", 1.0), "an error and a result"),
            (|a| a.field("passed", true), |a| a.error("timeout"), "an error and a result"),
        ];
        for (first, other, part) in refused {
            let error = deliver(first, other).check_repeats().expect_err(part).to_string();
            assert!(error.contains(part) && error.contains("sample `a`, epoch 1"), "{error}");
        }
        let mut explained = Samples::new();
        explained.push_epoch("a", 1).score("judge", score("good"));
        explained.push_epoch("a", 1).score("judge", score("bad"));
        assert!(explained.check_repeats().expect_err("two").to_string().contains("explanations"));
    }

    #[test]
    fn parts_of_one_attempt_are_put_together() {
        let map = |entries: [(&str, f64); 2]| Outcome::from(entries);
        let agreed: [(Step, Step); 4] = [
            (|a| a.field("passed", true), |a| a.metadata("model", "y")),
            (|a| a.metadata("model", "x"), |a| a.metadata("model", "x")),
            (|a| a.field("n", 1), |a| a.field("n", 1.0)),
            (|a| a.score("judge", 1.0), |a| a.field("latency_ms", 5.0).score("other", 0.0)),
        ];
        for (first, other) in agreed {
            let samples = deliver(first, other);
            assert!(samples.check_repeats().is_ok() && samples.has_repeats());
            let before: Vec<Record> = samples.records().collect();
            let whole = samples.put_together();
            assert_eq!((whole.deliveries(), whole.attempts(), whole.has_repeats()), (2, 2, false));
            assert_eq!(whole.records().collect::<Vec<_>>(), before);
        }
        let mut maps = Samples::new();
        maps.push_epoch("a", 1).score("judge", map([("x", 1.0), ("y", 0.0)]));
        maps.push_epoch("a", 1).score("judge", map([("y", 0.0), ("x", 1.0)]));
        assert!(maps.check_repeats().is_ok());
    }

    #[test]
    fn many_deliveries_of_one_attempt_take_no_longer_than_as_many_attempts() {
        let mut samples = Samples::new();
        for row in 0..100_000 {
            samples.push_epoch("a", 1).field("passed", row < 99_999);
        }
        let (_, _, difference) = samples.contradiction().expect("the last differs");
        assert_eq!(difference.places(), [&0, &99_999]);
    }
}
