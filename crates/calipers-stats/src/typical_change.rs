//! What the typical pair changed by: the median of the changes of pairs, and how many of them rose and fell.
//!
//! A mean may rest on one pair in twenty that did not occur, a median does not: its interval is that of order statistics and holds for
//! every distribution. It is another claim, though. If nineteen of twenty samples become cheaper and one becomes ten times as expensive, the
//! typical sample is cheaper, and the bill is higher.
//!
//! The p-value is that of the sign test with all pairs counted, also those that did not change: they are neither above nor below. It is
//! small exactly where the interval leaves out no change. (The sign test that drops unchanged pairs, [`crate::exact::sign_test`], asks
//! whether more pairs rose than fell, which may be so although the median is no change.)

use crate::quantile::linear;
use crate::special::{binomial_quantile, binomial_sf};
use crate::unit_quantile::UnitQuantile;
use crate::{Confidence, Interval, Method, Undefined};

/// The median of changes.
///
/// ```
/// use calipers_stats::{Confidence, typical_change::TypicalChange};
///
/// // Seven of eight samples took 5 to 11 % longer, and one took a tenth of the time.
/// let factors = [1.05, 1.06, 1.07, 1.08, 1.09, 1.10, 1.11, 0.1];
/// let typical = TypicalChange::new(&factors, 1.0, None, Confidence::two_sided(0.95)?)?;
/// assert_eq!((typical.higher, typical.lower, typical.same), (7, 1, 0));
/// assert_eq!(typical.median, Some((1.07 + 1.08) / 2.0));
/// assert!((typical.p.unwrap() - 18.0 / 256.0).abs() < 1e-12);
/// assert_eq!(typical.interval.lower, Some(0.1));
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TypicalChange {
    /// Pairs above no change.
    pub higher: u64,
    /// Pairs below it.
    pub lower: u64,
    /// Pairs that did not change.
    pub same: u64,
    /// The median change; none where it lies among infinite ones.
    pub median: Option<f64>,
    /// Its interval. An end is `None` with too few pairs, or among infinite changes.
    pub interval: Interval,
    /// The two-sided p-value of "the median is no change"; none where pairs go together in clusters.
    pub p: Option<f64>,
}

impl TypicalChange {
    /// The median of changes, of which `none` stands for no change. Changes may be infinite: a cost that was 0 before.
    ///
    /// `clusters` tells which pairs go together. Undefined without changes, and for one that is not a number.
    pub fn new(
        changes: &[f64],
        none: f64,
        clusters: Option<&[u32]>,
        confidence: Confidence,
    ) -> Result<Self, Undefined> {
        let count = |keep: fn(f64, f64) -> bool| changes.iter().filter(|&&change| keep(change, none)).count() as u64;
        let (higher, lower) = (count(|x, none| x > none), count(|x, none| x < none));
        let n = changes.len() as u64;
        if changes.is_empty() {
            return Err(Undefined::Empty);
        }
        if changes.iter().any(|change| change.is_nan()) {
            return Err(Undefined::NotFinite { value: f64::NAN });
        }
        // There may be millions, and four of them in order are enough.
        let low = binomial_quantile(confidence.tail(), n, 0.5).checked_sub(1);
        let high = Some(binomial_quantile(1.0 - confidence.tail(), n, 0.5)).filter(|rank| *rank < n);
        let middle = [(n - 1) / 2, n / 2];
        let ranked = RankedValues::new(changes, [low, high, Some(middle[0]), Some(middle[1])]);
        let at = |rank: Option<u64>| rank.map(|rank| ranked.get(rank));
        let median = linear(&middle.map(|rank| ranked.get(rank)), 0.5);
        let interval = match clusters {
            None => {
                let finite = |x: f64| Some(x).filter(|x| x.is_finite());
                confidence.partial_interval(
                    Method::OrderStatistic,
                    || at(low).and_then(finite),
                    || at(high).and_then(finite),
                )
            }
            Some(clusters) => UnitQuantile::new(changes, clusters, 0.5)?.interval(confidence)?.interval,
        };
        let p = clusters.is_none().then(|| {
            let most = higher.max(lower);
            // As many as that or more: above one less than that.
            most.checked_sub(1).map_or(1.0, |below| (2.0 * binomial_sf(below, n, 0.5)).min(1.0))
        });
        Ok(Self {
            higher,
            lower,
            same: n - higher - lower,
            median: Some(median).filter(|x| x.is_finite()),
            interval,
            p,
        })
    }
}

/// Values of which only some are in their place in ascending order.
struct RankedValues(Vec<f64>);

impl RankedValues {
    fn new<const N: usize>(values: &[f64], ranks: [Option<u64>; N]) -> Self {
        // Negative zero equals zero.
        let mut values: Vec<f64> = values.iter().map(|x| x + 0.0).collect();
        let mut ranks: Vec<usize> = ranks.into_iter().flatten().map(|rank| rank as usize).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let mut begin = 0;
        for rank in ranks {
            values[begin..].select_nth_unstable_by(rank - begin, f64::total_cmp);
            begin = rank + 1;
        }
        Self(values)
    }

    fn get(&self, rank: u64) -> f64 {
        self.0[rank as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantile::SortedValues;
    use proptest::prelude::*;

    fn level() -> Confidence {
        Confidence::two_sided(0.95).unwrap()
    }

    #[test]
    fn pairs_that_did_not_change_are_neither_above_nor_below() {
        let typical = TypicalChange::new(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0], 1.0, None, level()).unwrap();
        assert_eq!((typical.higher, typical.lower, typical.same), (3, 0, 3));
        // Three or more of six heads: 42 of 64, and twice that is more than all.
        assert_eq!(typical.p, Some(1.0));
        let alike = TypicalChange::new(&[0.0; 9], 0.0, None, level()).unwrap();
        assert_eq!((alike.same, alike.p, alike.median), (9, Some(1.0), Some(0.0)));
    }

    #[test]
    fn costs_that_were_nothing_before_have_no_median_among_them() {
        let typical = TypicalChange::new(&[f64::INFINITY, f64::INFINITY, 2.0], 1.0, None, level()).unwrap();
        assert_eq!((typical.higher, typical.median), (3, None));
        assert_eq!((typical.interval.lower, typical.interval.upper), (None, None));
        assert!(TypicalChange::new(&[], 1.0, None, level()).is_err());
        assert!(TypicalChange::new(&[f64::NAN], 1.0, None, level()).is_err());
    }

    #[test]
    fn clusters_show_less_than_their_pairs() {
        let changes: Vec<f64> = (0..60).map(|i| 1.0 + f64::from(i % 12) / 100.0).collect();
        let clusters: Vec<u32> = (0..60).map(|i| i % 12).collect();
        let [alone, together] =
            [None, Some(&clusters[..])].map(|clusters| TypicalChange::new(&changes, 1.0, clusters, level()).unwrap());
        assert!(alone.interval.width().unwrap() < together.interval.width().unwrap(), "{alone:?} {together:?}");
        assert_eq!(together.p, None);
    }

    proptest! {
        #[test]
        fn the_interval_is_that_of_order_statistics(changes in prop::collection::vec(-9f64..9.0, 1..200)) {
            let sorted = SortedValues::new(changes.clone()).unwrap();
            let typical = TypicalChange::new(&changes, 0.0, None, level()).unwrap();
            prop_assert_eq!(typical.interval, sorted.order_interval(0.5, level()).unwrap().interval);
            prop_assert_eq!(typical.median, sorted.linear(0.5).ok());
        }

        #[test]
        fn p_and_interval_agree(changes in prop::collection::vec((0i32..7).prop_map(f64::from), 1..60), none in 0i32..7) {
            let none = f64::from(none);
            let typical = TypicalChange::new(&changes, none, None, level()).unwrap();
            prop_assert_eq!(typical.p.unwrap() > 0.05, typical.interval.contains(none), "{:?}", typical);
        }

        #[test]
        fn order_changes_nothing(changes in prop::collection::vec(-9f64..9.0, 1..60), turn in 0usize..60) {
            let mut moved = changes.clone();
            moved.rotate_left(turn % changes.len());
            let of = |changes: &[f64]| TypicalChange::new(changes, 0.0, None, level()).unwrap();
            prop_assert_eq!(of(&changes), of(&moved));
        }
    }
}
