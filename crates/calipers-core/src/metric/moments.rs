//! Metrics that need no more than the moments of the scores.

use super::{Context, Measure, Metric, Tally};
use crate::{Answer, Error, Evidence, Figure, Points, StateReader, StateWriter};
use calipers_stats::Moments;

/// A metric whose figure is a function of count, sum, sum of squares and range.
pub(super) fn of_moments(
    name: &'static str,
    figure: impl Fn(&Moments, Tally, &Context) -> Figure + Send + Sync + 'static,
) -> Metric {
    Metric::recorded(name, OfMoments { figure, is_mean: false })
}

/// The same for a figure that is the mean of the scores.
pub(super) fn mean_of_scores(
    name: &'static str,
    figure: impl Fn(&Moments, Tally, &Context) -> Figure + Send + Sync + 'static,
) -> Metric {
    Metric::recorded(name, OfMoments { figure, is_mean: true })
}

struct OfMoments<F> {
    figure: F,
    is_mean: bool,
}

impl<F: Fn(&Moments, Tally, &Context) -> Figure + Send + Sync + 'static> Measure for OfMoments<F> {
    type State = Moments;

    fn start(&self) -> Moments {
        Moments::default()
    }

    fn fold(&self, state: &mut Moments, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        state.merge(&points.moments(context)?);
        Ok(())
    }

    fn save(&self, state: &Moments, out: &mut StateWriter) -> Result<(), Error> {
        out.put(state);
        Ok(())
    }

    fn load(&self, from: &mut StateReader<'_>) -> Result<Moments, Error> {
        from.take()
    }

    fn merge(&self, state: &mut Moments, other: Moments) {
        state.merge(&other);
    }

    fn finish(&self, state: Moments, tally: Tally, context: &Context) -> Result<Answer, Error> {
        Ok((self.figure)(&state, tally, context).into())
    }

    fn evidence(&self, points: &Points<'_>, context: &Context) -> Result<Option<Evidence>, Error> {
        if !self.is_mean {
            return Ok(None);
        }
        let (scored, unscored) = (points.scored(), points.unscored());
        Ok(Some(Evidence::Mean {
            samples: scored.list_samples(),
            values: scored.floats(context)?.into_owned(),
            missing: unscored.list_samples(),
        }))
    }
}
