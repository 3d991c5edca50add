//! Means over samples of what attempts say besides scores.

use super::interval::{field_figure, mean_figure};
use super::{Context, Measure, Tally};
use crate::data::scenario::ScoreFallback;
use crate::metric::evidence::{by_sample, mean_of_given, mean_of_one};
use crate::{Answer, Error, Evidence, Points, Reason, Score, StateReader, StateWriter, Undefined};
use calipers_stats::Moments;

/// What is known of attempts, row by row.
pub(super) struct Known<T> {
    pub(super) values: Vec<Option<T>>,
    /// True when a score stood in for something that the records do not say.
    pub(super) rests_on_score: bool,
}

impl<T> From<Vec<Option<T>>> for Known<T> {
    fn from(values: Vec<Option<T>>) -> Self {
        Self { values, rests_on_score: false }
    }
}

/// What a mean over samples is taken of.
pub(super) trait Averaged: Send + Sync + 'static {
    /// True when values are shares.
    const IS_SHARE: bool;
    /// Why there is no figure when no attempt has a value.
    const NOTHING: Reason;

    /// The metric, for messages.
    fn name(&self) -> &str;

    /// The field whose values they are, if they may be anything.
    fn field(&self) -> Option<&str> {
        None
    }

    /// The values as they are stored, if each attempt has one, and all are finite.
    fn stored<'s>(&self, _points: &Points<'s>, _context: &Context) -> Option<&'s [f64]> {
        None
    }

    /// The value of each attempt, if it has one.
    fn values(&self, points: &Points<'_>, context: &Context) -> Result<Known<f64>, Error>;
}

/// As many means of samples are added up at once.
const MEANS_MAX: usize = 4096;

/// The mean over samples: attempts are averaged first.
pub(super) struct SampleMean<A>(pub(super) A);

/// The means of the samples, and how many samples have no value.
#[derive(Default)]
pub(super) struct SampleMeanState {
    means: Moments,
    missing: u64,
    /// The most attempts that a sample has of which the reducer made no value.
    unreduced: u64,
    fallback: ScoreFallback,
}

impl<A: Averaged> SampleMean<A> {
    /// The values of the samples as they are stored, where each has one attempt with a finite value: there may be millions, and
    /// nothing to reduce.
    fn stored<'s>(&self, points: &Points<'s>, context: &Context) -> Option<&'s [f64]> {
        self.0.stored(points, context).filter(|_| points.is_row_per_sample())
    }

    /// The value of a sample. Shares are reduced as the run's scores are; what is measured is averaged.
    fn one_of(&self, attempts: &[Option<f64>], context: &Context) -> Result<Option<f64>, Error> {
        let given = attempts.iter().flatten().count();
        if given < 2 || !A::IS_SHARE || context.attempts.is_mean() {
            return Ok(mean_of_given(attempts));
        }
        let scores: Vec<Score> = attempts.iter().flatten().map(|&x| Score::new(x)).collect();
        Ok(context.attempts.reduce_with(&scores, &context.labels)?.value.as_number())
    }
}

impl<A: Averaged> Measure for SampleMean<A> {
    type State = SampleMeanState;

    fn start(&self) -> SampleMeanState {
        SampleMeanState::default()
    }

    fn fold(&self, state: &mut SampleMeanState, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        if let Some(values) = self.stored(points, context) {
            state.fallback.note(points.samples(), false);
            for values in values.chunks(MEANS_MAX) {
                let means: Vec<f64> = values.iter().map(|&value| mean_of_one(value)).collect();
                state.means.extend(&means);
            }
            return Ok(());
        }
        let known = self.0.values(points, context)?;
        state.fallback.note(points.samples(), known.rests_on_score);
        // Many are added up in much less time than one by one, to the same sum.
        let mut means = Vec::new();
        for (_, attempts) in by_sample(points.sample_codes(), &known.values) {
            match self.one_of(attempts, context)? {
                Some(mean) => means.push(mean),
                None => {
                    state.missing += 1;
                    state.unreduced = state.unreduced.max(attempts.iter().flatten().count() as u64);
                }
            }
            if means.len() == MEANS_MAX {
                state.means.extend(&means);
                means.clear();
            }
        }
        state.means.extend(&means);
        Ok(())
    }

    fn save(&self, state: &SampleMeanState, out: &mut StateWriter) -> Result<(), Error> {
        out.put(&state.means);
        out.put(&(state.missing, state.unreduced));
        out.put(&state.fallback);
        Ok(())
    }

    fn load(&self, from: &mut StateReader<'_>) -> Result<SampleMeanState, Error> {
        let means = from.take()?;
        let (missing, unreduced) = from.take()?;
        Ok(SampleMeanState { means, missing, unreduced, fallback: from.take()? })
    }

    fn merge(&self, state: &mut SampleMeanState, other: SampleMeanState) {
        state.means.merge(&other.means);
        state.missing += other.missing;
        state.unreduced = state.unreduced.max(other.unreduced);
        state.fallback.merge(other.fallback);
    }

    fn finish(&self, state: SampleMeanState, _: Tally, context: &Context) -> Result<Answer, Error> {
        state.fallback.check(self.0.name())?;
        let tally = Tally { n: state.means.count(), missing: state.missing };
        let mut figure = match self.0.field() {
            Some(field) if !context.inspect => field_figure(&state.means, tally, field, context),
            _ => mean_figure(&state.means, tally, A::IS_SHARE, context),
        };
        if tally.n == 0 && tally.missing > 0 {
            let why = match state.unreduced {
                0 => A::NOTHING,
                attempts => context.attempts.no_value_reason(attempts),
            };
            figure.value = Err(Undefined::new(why, f64::NAN));
        }
        Ok(figure.into())
    }

    fn evidence(&self, points: &Points<'_>, context: &Context) -> Result<Option<Evidence>, Error> {
        let mut fallback = ScoreFallback::default();
        if let Some(values) = self.stored(points, context) {
            fallback.note(points.samples(), false);
            fallback.check(self.0.name())?;
            let values = values.iter().map(|&value| mean_of_one(value)).collect();
            return Ok(Some(Evidence::Mean { samples: points.list_samples(), values, missing: Vec::new() }));
        }
        let known = self.0.values(points, context)?;
        fallback.note(points.samples(), known.rests_on_score);
        fallback.check(self.0.name())?;
        // An error of the reducer has shown when the figure was made.
        let one_of = |attempts: &[Option<f64>]| self.one_of(attempts, context).ok().flatten();
        Ok(Some(Evidence::mean(points.sample_codes(), &known.values, one_of)))
    }
}

/// A field that is to be summed: an infinite value would leave nothing of the others.
pub(super) fn finite_field(points: &Points<'_>, name: &str, context: &Context) -> Result<Vec<Option<f64>>, Error> {
    let values = points.field(name, &context.labels)?;
    match values.iter().position(|value| value.is_some_and(f64::is_infinite)) {
        Some(row) if !context.inspect => {
            let hint = "leave it out where nothing was measured, or use `quantile`, to which infinity is only large";
            let error = Error::argument(format!("field `{name}` is infinite"), hint);
            Err(error.at_sample(&points.sample_id(row)).at_epoch(points.epoch(row)))
        }
        _ => Ok(values),
    }
}
