//! From the attempts of a sample to one score.
//!
//! A reducer takes the scores of one sample's attempts, in the order of their epochs, and gives one. Plain
//! values are reduced as they are, maps key by key, lists place by place. The answer and the explanation are
//! kept only if all attempts agree on them; the metadata is that of the first attempt.

mod attempts;
mod by_column;
mod by_value;
mod equal_values;
mod rule;
mod spelling;

pub(crate) use attempts::AttemptGroups;
pub(crate) use equal_values::{first_equals, has_tie};
pub(crate) use rule::ReduceRule;
pub(crate) use spelling::SPELLINGS;

use crate::data::column::Column;
use crate::data::scores::{Maps, ScoreRow, Scores, Values};
use crate::{Error, ErrorKind, Labels, Outcome, Reason, Score, Value};
use std::fmt;
use std::sync::Arc;

/// A function of the scores of one sample's attempts.
type Custom = dyn Fn(&[Score]) -> Result<Score, Error> + Send + Sync;

/// How the attempts of a sample become one score.
///
/// ```
/// use calipers_core::{pass_at, Reducer, Score};
///
/// let attempts = ["C", "I", "C", "I", "I"].map(Score::new);
/// let reduced = pass_at(3).reduce(&attempts)?;
/// assert!((reduced.as_float()? - 0.9).abs() < 1e-12);
/// assert_eq!(Reducer::parse("pass_at_3")?.name(), "pass_at_3");
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Reducer {
    name: String,
    labels: Option<Labels>,
    how: ReducerKind,
}

#[derive(Clone)]
enum ReducerKind {
    Rule(ReduceRule),
    Collect,
    Custom(Arc<Custom>),
}

/// The average of the attempts.
#[must_use]
pub fn mean_score() -> Reducer {
    Reducer::rule("mean", ReduceRule::Mean)
}

/// The middle attempt, or the average of the middle two.
#[must_use]
pub fn median_score() -> Reducer {
    Reducer::rule("median", ReduceRule::Median)
}

/// The commonest value; of equally common ones, that seen first.
///
/// With an even number of attempts the first of a tie wins; [`majority`] leaves a tie unscored.
#[must_use]
pub fn mode_score() -> Reducer {
    Reducer::rule("mode", ReduceRule::Mode)
}

/// The largest value, as it was.
#[must_use]
pub fn max_score() -> Reducer {
    Reducer::rule("max", ReduceRule::Max)
}

/// The value that more than half of all attempts have, unscored ones included; else unscored.
///
/// The votes are kept under `panel` in the metadata.
#[must_use]
pub fn majority() -> Reducer {
    Reducer::rule("majority", ReduceRule::Majority)
}

/// All values in a list, for measures of agreement.
#[must_use]
pub fn collect() -> Reducer {
    Reducer { name: "collect".into(), labels: None, how: ReducerKind::Collect }
}

/// The probability that at least one of `k` attempts succeeds (Chen et al. 2021), without bias.
///
/// A sample with fewer than `k` scored attempts is unscored.
#[must_use]
pub fn pass_at(k: u64) -> Reducer {
    Reducer::rule(&format!("pass_at_{k}"), ReduceRule::PassAt { k, value: 1.0 })
}

/// The probability that all of `k` attempts succeed (Yao et al. 2024), without bias.
///
/// A sample with fewer than `k` scored attempts is unscored.
#[must_use]
pub fn pass_k(k: u64) -> Reducer {
    Reducer::rule(&format!("pass_k_{k}"), ReduceRule::PassK { k, value: 1.0 })
}

/// 1 if at least `k` attempts succeed, else 0. It depends on how many attempts there were.
///
/// A sample with fewer than `k` scored attempts is unscored. Inspect counts it as 0, and so does a plan that computes as
/// Inspect does.
#[must_use]
pub fn at_least(k: u64) -> Reducer {
    Reducer::rule(&format!("at_least_{k}"), ReduceRule::AtLeast { k, value: 1.0 })
}

/// A reducer of your own, from the scores of one sample in the order of its epochs.
///
/// ```
/// use calipers_core::{score_reducer, Score};
///
/// let worst = score_reducer("min", |scores| {
///     let mut least = f64::INFINITY;
///     for score in scores {
///         least = least.min(score.as_float()?);
///     }
///     Ok(Score::new(least))
/// });
/// assert_eq!(worst.reduce(&["C".into(), "P".into()])?, Score::new(0.5));
/// # Ok::<(), calipers_core::Error>(())
/// ```
pub fn score_reducer(
    name: impl Into<String>,
    reduce: impl Fn(&[Score]) -> Result<Score, Error> + Send + Sync + 'static,
) -> Reducer {
    Reducer { name: name.into(), labels: None, how: ReducerKind::Custom(Arc::new(reduce)) }
}

/// The scale of scores that were reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReducedScale {
    /// That of the scores.
    Same,
    /// Shares between 0 and 1, whatever the scores are.
    Shares,
    /// Only the function knows.
    Unknown,
}

impl Reducer {
    fn rule(name: &str, rule: ReduceRule) -> Self {
        Self { name: name.into(), labels: None, how: ReducerKind::Rule(rule) }
    }

    /// The reducer of a name: `mean`, `median`, `mode`, `max`, `majority`, `collect`, `pass_at_{k}` or `pass@{k}`,
    /// `pass_k_{k}` or `pass^{k}`, `at_least_{k}`, or a call such as `pass_at(2, value=0.5)`.
    pub fn parse(name: &str) -> Result<Self, Error> {
        spelling::parse(name)
    }

    /// What counts as a success, for `pass_at`, `pass_k` and `at_least`: a score of at least this. 1 unless set.
    #[must_use]
    pub fn value(mut self, threshold: f64) -> Self {
        if let ReducerKind::Rule(rule) = &mut self.how {
            rule.set_threshold(threshold);
            if let Some((base, k, value)) = rule.counted() {
                self.name = spelling::with_threshold(base, k, value);
            }
        }
        self
    }

    /// How labels become numbers in this reducer, if not as in the rest of the plan.
    #[must_use]
    pub fn labels(mut self, labels: Labels) -> Self {
        self.labels = Some(labels);
        self
    }

    /// The name, as it is recorded in logs: [`Reducer::parse`] reads it back.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True for a custom function.
    #[must_use]
    pub fn is_own(&self) -> bool {
        matches!(self.how, ReducerKind::Custom(_))
    }

    /// The number of attempts that the reducer needs, if it needs some.
    #[must_use]
    pub fn attempts_needed(&self) -> Option<u64> {
        match &self.how {
            ReducerKind::Rule(rule) => rule.k(),
            _ => None,
        }
    }

    /// True for the plain mean.
    pub fn is_mean(&self) -> bool {
        self.is_rule(|rule| matches!(rule, ReduceRule::Mean))
    }

    /// What it makes of the scale that scores are on.
    #[must_use]
    pub fn scale(&self) -> ReducedScale {
        match &self.how {
            ReducerKind::Rule(rule) if rule.k().is_some() => ReducedScale::Shares,
            ReducerKind::Rule(_) => ReducedScale::Same,
            _ => ReducedScale::Unknown,
        }
    }

    /// Why it makes no value of samples that have at most this many scored attempts.
    pub fn no_value_reason(&self, attempts: u64) -> Reason {
        let reducer = self.name.to_string();
        match self.attempts_needed() {
            Some(need) if need > attempts => Reason::TooFewAttempts { reducer, need, have: attempts },
            _ => Reason::NothingReduced { reducer },
        }
    }

    pub(crate) fn is_rule(&self, wanted: fn(&ReduceRule) -> bool) -> bool {
        matches!(&self.how, ReducerKind::Rule(rule) if wanted(rule))
    }

    /// One score from the scores of one sample, in the order of its epochs.
    pub fn reduce(&self, scores: &[Score]) -> Result<Score, Error> {
        self.reduce_with(scores, &Labels::default())
    }

    /// The same, with other labels.
    pub fn reduce_with(&self, scores: &[Score], labels: &Labels) -> Result<Score, Error> {
        let labels = self.labels.as_ref().unwrap_or(labels);
        match &self.how {
            ReducerKind::Custom(reduce) => reduce(scores).map_err(|error| error.at_metric(&self.name)),
            ReducerKind::Rule(rule) => {
                let values: Vec<&Value> = scores.iter().map(|score| &score.value).collect();
                Ok(self.kept_fields(rule.reduce_values(&values, labels, &self.name)?, scores))
            }
            ReducerKind::Collect => Ok(self.kept_fields(collect_values(scores, &self.name)?, scores)),
        }
    }

    /// The answer and explanation only if all agree, the metadata of the first.
    fn kept_fields(&self, value: Value, scores: &[Score]) -> Score {
        let first = scores.first();
        let same = |part: fn(&Score) -> &Option<Arc<str>>| {
            let first = part(first?);
            if scores.iter().all(|score| part(score) == first) { first.clone() } else { None }
        };
        let mut metadata = first.and_then(|score| score.metadata.clone());
        if self.is_rule(|rule| matches!(rule, ReduceRule::Majority)) {
            let mut with_panel = metadata.map(|m| (*m).clone()).unwrap_or_default();
            with_panel.set("panel", panel(scores));
            metadata = Some(Arc::new(with_panel));
        }
        Score { value, answer: same(|score| &score.answer), explanation: same(|score| &score.explanation), metadata }
    }

    /// True when the scores stay as they are, should each sample have one attempt.
    pub(crate) fn keeps_single(&self, scores: &Scores, labels: &Labels) -> bool {
        let labels = self.labels.as_ref().unwrap_or(labels);
        match &scores.values {
            Values::Scalars(Column::Floats(floats)) => {
                let is_finite = || !floats.iter().fold(false, |found, x| found | x.is_infinite());
                self.is_rule(|rule| matches!(rule, ReduceRule::Mean | ReduceRule::Median))
                    && !scores.has_extras()
                    && !labels.map_numbers()
                    && is_finite()
            }
            _ => false,
        }
    }

    /// One score per sample, from the scores of all attempts.
    ///
    /// Samples keep the order of their first appearance.
    pub(crate) fn reduce_all(
        &self,
        scores: &Scores,
        labels: &Labels,
        name: impl Fn(u32, Error) -> Error,
    ) -> Result<Scores, Error> {
        let attempts = AttemptGroups::of(scores).map_err(|(sample, error)| name(sample, error))?;
        let labels = self.labels.as_ref().unwrap_or(labels);
        if let ReducerKind::Rule(rule) = &self.how
            && !scores.has_extras()
            && !matches!(rule, ReduceRule::Majority)
            && let Some(values) = rule.reduce_columns(scores, &attempts, labels, &name)?
        {
            return Ok(attempts.into_scores(scores, values));
        }
        if let (ReducerKind::Collect, Values::Scalars(column)) = (&self.how, &scores.values)
            && !scores.has_extras()
            && !column.has_missing()
        {
            let list = |rows: &[u32]| Value::List(rows.iter().map(|&row| column.get(row as usize)).collect());
            let values = attempts.iter().map(|(_, rows)| list(rows)).collect();
            return Ok(attempts.into_scores(scores, values));
        }
        let mut reduced = Scores::default();
        for (sample, rows) in attempts.iter() {
            let whole: Vec<Score> = rows.iter().map(|&row| scores.score(row as usize)).collect();
            let score = self.reduce_with(&whole, labels).map_err(|error| name(sample, error))?;
            let reason = score.value.is_missing().then(|| self.unscored_reason(scores, rows));
            let attempt = scores.attempt[rows[0] as usize];
            reduced.push(ScoreRow { sample, epoch: 0, attempt }, score.into());
            if let Some(reason) = reason {
                reduced.reasons.insert(reduced.len() as u32 - 1, reason);
            }
        }
        Ok(reduced)
    }

    /// The reason recorded with an attempt, or else that the reducer found too few.
    fn unscored_reason(&self, scores: &Scores, rows: &[u32]) -> Arc<str> {
        let recorded = rows.iter().find_map(|row| scores.reasons.get(row).cloned());
        recorded.unwrap_or_else(|| Outcome::too_few_attempts(&self.name))
    }
}

fn collect_values(scores: &[Score], by: &str) -> Result<Value, Error> {
    if let Some(score) = scores.iter().find(|score| !score.value.is_scalar()) {
        return Err(ErrorKind::NotScalar { by: by.to_owned(), found: score.value.kind() }.into());
    }
    let values: Vec<Value> = scores.iter().map(|s| &s.value).filter(|v| !v.is_missing()).cloned().collect();
    Ok(if values.is_empty() { Value::Missing } else { Value::List(values) })
}

/// The votes behind a majority, so that it can be checked.
fn panel(scores: &[Score]) -> Value {
    let vote = |score: &Score| if score.value.is_missing() { Value::Null } else { score.value.clone() };
    let failures = scores.iter().enumerate().filter(|(_, score)| score.value.is_missing()).map(|(index, score)| {
        let text = |text: Option<String>| text.map_or(Value::Null, Value::from);
        Value::from([
            ("index", Value::Int(index as i64)),
            ("reason", text(score.metadata.as_ref().and_then(|m| m.get("unscored_reason")).map(Value::to_string))),
            ("explanation", text(score.explanation.as_ref().map(ToString::to_string))),
        ])
    });
    Value::from([
        ("votes", Value::List(scores.iter().map(vote).collect())),
        ("size", Value::Int(scores.len() as i64)),
        ("failures", Value::List(failures.collect())),
    ])
}

impl ReduceRule {
    /// Column by column, where the values allow it.
    fn reduce_columns(
        &self,
        scores: &Scores,
        attempts: &AttemptGroups,
        labels: &Labels,
        name: &impl Fn(u32, Error) -> Error,
    ) -> Result<Option<Values>, Error> {
        match &scores.values {
            Values::Scalars(column) => Ok(Some(Values::Scalars(self.reduce_column(column, attempts, labels, name)?))),
            Values::Maps(maps) => {
                let reduce = |column| self.reduce_column(column, attempts, labels, name);
                let columns = maps.columns.iter().map(reduce).collect::<Result<_, _>>()?;
                let missing = |rows: &[u32]| rows.iter().all(|&row| maps.missing[row as usize]);
                let missing = attempts.iter().map(|(_, rows)| missing(rows)).collect();
                Ok(Some(Values::Maps(Maps { keys: maps.keys.clone(), columns, missing })))
            }
            Values::Mixed(_) => Ok(None),
        }
    }
}

impl fmt::Debug for Reducer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reducer").field(&self.name).finish()
    }
}

impl TryFrom<&str> for Reducer {
    type Error = Error;

    fn try_from(name: &str) -> Result<Self, Error> {
        Self::parse(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extras_are_kept_only_where_attempts_agree() {
        let score = |answer: &str, explanation: &str| Score::new(1.0).answer(answer).explanation(explanation);
        let reduced = mean_score().reduce(&[score("B", "first"), score("B", "second")]).expect("plain values");
        assert_eq!((reduced.answer.as_deref(), reduced.explanation), (Some("B"), None));
    }

    #[test]
    fn a_majority_carries_its_votes() {
        let votes = [Score::new("C"), Score::unscored(), Score::new("C")];
        let reduced = majority().reduce(&votes).expect("plain values");
        assert_eq!(reduced.value, Value::from("C"));
        let metadata = reduced.metadata.expect("the panel");
        let panel = metadata.get("panel").expect("the panel");
        assert_eq!(panel.get("votes"), Some(&Value::List(vec!["C".into(), Value::Null, "C".into()])));
        assert_eq!(panel.get("size"), Some(&Value::Int(3)));
        let Some(Value::List(failures)) = panel.get("failures") else { panic!("{panel}") };
        assert_eq!(failures[0].get("index"), Some(&Value::Int(1)));
        // Two of four is no majority.
        let split = [Score::new("C"), Score::new("C"), Score::new("I"), Score::unscored()];
        assert!(majority().reduce(&split).expect("plain values").value.is_missing());
    }

    #[test]
    fn collecting_keeps_scored_values_in_order() {
        let scores = [Score::new("C"), Score::unscored(), Score::new(0.5)];
        let values = collect().reduce(&scores).expect("plain values").value;
        assert_eq!(values, Value::List(vec!["C".into(), 0.5.into()]));
        assert!(collect().reduce(&[Score::unscored()]).expect("nothing scored").value.is_missing());
        let nested = collect().reduce(&[Score::new(Value::List(vec![]))]).expect_err("a list");
        assert_eq!(nested.kind(), &ErrorKind::NotScalar { by: "collect".into(), found: "list" });
    }

    #[test]
    fn thresholds_and_labels_of_a_reducer_win_over_those_of_the_plan() {
        let scores = [Score::new(0.7), Score::new("maybe")];
        let labels = Labels::default().with("maybe", 0.8);
        let at = |threshold: f64| {
            at_least(2).value(threshold).labels(labels.clone()).reduce(&scores).map(|score| score.value)
        };
        assert_eq!((at(0.7).ok(), at(0.75).ok()), (Some(Value::Int(1)), Some(Value::Int(0))));
        assert!(at_least(2).reduce(&scores).is_err(), "`maybe` is unknown to the plan");
    }
}
