//! Metrics that need no more than the moments of the scores.

use super::{Context, Measure, Metric, Tally};
use crate::{Answer, Error, Figure, Points};
use calipers_stats::Moments;

/// A metric whose figure is a function of count, sum, sum of squares and range.
pub(super) fn of_moments(
    name: &'static str,
    figure: impl Fn(&Moments, Tally, &Context) -> Figure + Send + Sync + 'static,
) -> Metric {
    Metric::recorded(name, OfMoments(figure))
}

struct OfMoments<F>(F);

impl<F: Fn(&Moments, Tally, &Context) -> Figure + Send + Sync + 'static> Measure for OfMoments<F> {
    type State = Moments;

    fn start(&self) -> Moments {
        Moments::default()
    }

    fn fold(&self, state: &mut Moments, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        state.merge(&points.moments(context)?);
        Ok(())
    }

    fn merge(&self, state: &mut Moments, other: Moments) {
        state.merge(&other);
    }

    fn finish(&self, state: Moments, tally: Tally, context: &Context) -> Result<Answer, Error> {
        Ok((self.0)(&state, tally, context).into())
    }
}
