//! Metrics from a plain function.

use super::{Context, Measure, Metric, Tally};
use crate::data::score_rows::RowBlock;
use crate::{Answer, Error, Figure, Points, Reason, SampleScore, ScoreRows, StateReader, StateWriter, Undefined};
use indexmap::IndexMap;
use std::sync::Arc;

/// A metric of your own, from all scores in the order of their samples' names.
///
/// The function may give a number, a number or `None` where there is none, numbers in order, or numbers by name. It is
/// given at least one score; with none the metric is undefined, so there is no empty case to think of.
///
/// ```
/// use calipers_core::{mean, metric, stderr, Metric, Plan, Samples};
///
/// /// Proportion of samples scoring at or above `threshold`.
/// fn pass_rate(threshold: f64) -> Metric {
///     metric("pass_rate", move |scores| {
///         let mut passed = 0;
///         for s in scores {
///             if s.score.as_float()? >= threshold {
///                 passed += 1;
///             }
///         }
///         Ok(f64::from(passed) / scores.len() as f64)
///     })
/// }
///
/// let mut samples = Samples::new();
/// for (id, overlap) in [(1, 0.25), (2, 0.5), (3, 1.0)] {
///     samples.push(id).score("word_overlap", overlap);
/// }
/// let plan = Plan::new().scorer("word_overlap", [mean(), stderr(), pass_rate(0.5)]);
/// let results = plan.measure(&samples)?;
/// assert_eq!(results.figure("word_overlap", "pass_rate").expect("attached").value, Ok(2.0 / 3.0));
/// # Ok::<(), calipers_core::Error>(())
/// ```
///
/// Each named number is a separate figure:
///
/// ```
/// use calipers_core::{metric, Plan, Samples};
///
/// let mut samples = Samples::new();
/// samples.push("short").score("match", "C");
/// samples.push("long").score("match", "I");
/// let by_sample = metric("by_sample", |scores| {
///     scores.iter().map(|s| Ok((s.sample_id.to_string(), s.score.as_float()?))).collect::<Result<Vec<_>, _>>()
/// });
/// let results = Plan::new().metrics([by_sample]).measure(&samples)?;
/// assert_eq!(results.figure("match", "short").expect("named").value, Ok(1.0));
/// # Ok::<(), calipers_core::Error>(())
/// ```
pub fn metric<A: IntoAnswer>(
    name: impl Into<Arc<str>>,
    measure: impl Fn(&[SampleScore]) -> Result<A, Error> + Send + Sync + 'static,
) -> Metric {
    metric_of_rows(name, move |rows| measure(&rows.iter().collect::<Vec<_>>()))
}

/// The same from a function that makes its own objects of the scores, such as one in another language.
///
/// ```
/// use calipers_core::{Plan, Samples, metric_of_rows};
///
/// let mut samples = Samples::new();
/// samples.push(1).score("match", "C");
/// samples.push(2).score("match", "I");
/// let share = metric_of_rows("share", |rows| {
///     let passed = (0..rows.len()).filter(|&row| rows.score(row).as_bool() == Ok(true)).count();
///     Ok(passed as f64 / rows.len() as f64)
/// });
/// let results = Plan::new().metrics([share]).measure(&samples)?;
/// assert_eq!(results.figure("match", "share").expect("asked for").value, Ok(0.5));
/// # Ok::<(), calipers_core::Error>(())
/// ```
pub fn metric_of_rows<A: IntoAnswer>(
    name: impl Into<Arc<str>>,
    measure: impl Fn(ScoreRows) -> Result<A, Error> + Send + Sync + 'static,
) -> Metric {
    Metric::new(name, Custom(measure))
}

/// What a custom metric may return.
pub trait IntoAnswer {
    /// The answer, from this many samples.
    fn into_answer(self, tally: Tally) -> Answer;
}

const METHOD: &str = "custom";

impl IntoAnswer for f64 {
    fn into_answer(self, tally: Tally) -> Answer {
        Figure::new(self, tally, METHOD).into()
    }
}

impl IntoAnswer for Vec<f64> {
    fn into_answer(self, tally: Tally) -> Answer {
        Answer::Listed(self.into_iter().map(|x| Figure::new(x, tally, METHOD)).collect())
    }
}

impl IntoAnswer for Option<f64> {
    /// `None` is undefined.
    fn into_answer(self, tally: Tally) -> Answer {
        let value = self.ok_or_else(|| Undefined::new(Reason::NoNumber, f64::NAN));
        Figure::from_result(value, tally, METHOD).into()
    }
}

impl<K: Into<String>> IntoAnswer for Vec<(K, f64)> {
    fn into_answer(self, tally: Tally) -> Answer {
        let figure = |x| Figure::new(x, tally, METHOD).into();
        Answer::Named(self.into_iter().map(|(name, x)| (name.into(), figure(x))).collect::<IndexMap<_, _>>())
    }
}

impl<K: Into<String>, const N: usize> IntoAnswer for [(K, f64); N] {
    fn into_answer(self, tally: Tally) -> Answer {
        Vec::from(self).into_answer(tally)
    }
}

struct Custom<F>(F);

impl<F, A> Measure for Custom<F>
where
    F: Fn(ScoreRows) -> Result<A, Error> + Send + Sync + 'static,
    A: IntoAnswer,
{
    type State = Vec<RowBlock>;

    fn start(&self) -> Self::State {
        Vec::new()
    }

    fn fold(&self, state: &mut Self::State, points: &Points<'_>, _: &Context) -> Result<(), Error> {
        if !points.is_empty() {
            state.push(RowBlock::of(points));
        }
        Ok(())
    }

    fn save(&self, state: &Self::State, out: &mut StateWriter) -> Result<(), Error> {
        out.length(state.iter().map(RowBlock::len).sum());
        for (score, epoch) in state.iter().flat_map(RowBlock::iter) {
            out.put(&score.sample_id);
            out.put(&epoch);
            out.put(&score.score);
            out.put(&*score.sample_metadata);
        }
        Ok(())
    }

    fn load(&self, from: &mut StateReader<'_>) -> Result<Self::State, Error> {
        let rows = from.list(|from| {
            let (sample_id, epoch) = from.take()?;
            let score = from.take()?;
            Ok((SampleScore { score, sample_id, sample_metadata: Arc::new(from.take()?) }, epoch))
        })?;
        Ok(if rows.is_empty() { Vec::new() } else { vec![RowBlock::of_rows(rows)] })
    }

    fn merge(&self, state: &mut Self::State, other: Self::State) {
        state.extend(other);
    }

    fn finish(&self, state: Self::State, tally: Tally, _: &Context) -> Result<Answer, Error> {
        if state.is_empty() {
            let nothing = calipers_stats::Undefined::Empty;
            return Ok(Figure::statistic(Err(nothing), f64::NAN, tally, METHOD).into());
        }
        Ok((self.0)(ScoreRows::new(state))?.into_answer(tally))
    }
}
