//! A mean that is measured cheaply on all things and truly on some of them, where things go together or do not count alike.
//!
//! The estimate is that of [`crate::corrected_mean`], weighted. Its parts are ratios of sums over units: a unit is a cluster of things,
//! or a thing. Of 0/1 values they are the share measured positive, q, and the shares of true positives in both strata, p₁ and p₀;
//! of others they are the mean of Y − λH where the truth is known, and of H where it is not. Each part has the bounds of
//! [`crate::bounded_ratio`], in which an unseen unit is as bad and as large as a unit can be, and they are joined:
//!
//! - **Things with weights** are independent of one another, and so are the strata that they are in: the reaches of the parts are
//!   joined by their squares (MOVER, Donner and Zou 2012), as without weights.
//! - **Clusters** are in all parts at once. A hard document lowers both strata and the share, so the parts rise and fall together, and
//!   the bound is the worst value while every part is within its bounds.
//! - **Any number of looks**: bounds that hold at all times, each with its share of the error, and the worst within them. Only for
//!   0/1 values: λ is learned from the data, and what was learned at one look is not what was bet on before.

use crate::bounded_ratio::{BoundedRatio, Term};
use crate::joined_difference::{BoundedEstimate, find_p_above, find_p_below};
use crate::prediction_powered::PredictionPowered;
use crate::{Confidence, Interval, Method, Undefined};
use std::collections::BTreeMap;

/// A thing: the unit that it is part of, how much it counts, how it was measured, and its truth if that is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorrectedThing {
    /// What goes together has one code.
    pub unit: u32,
    /// How much it counts.
    pub weight: f64,
    /// The measurement, between 0 and 1; none for a thing that was not measured and is taken for a value.
    pub measured: Option<f64>,
    /// The truth, between 0 and 1, if it is known. Of a thing that was not measured, what it is taken for.
    pub truth: Option<f64>,
}

/// How the parts go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joining {
    /// Units are single things, which are in one part each.
    Things,
    /// Units are clusters of things, which are in all parts.
    Clusters,
}

/// A part of the estimate.
#[derive(Clone, Debug)]
struct Part {
    ratio: BoundedRatio,
    estimate: f64,
}

impl Part {
    /// From the sums of units, where a value lies between these ends.
    fn new(sums: &BTreeMap<u32, Term>, (low, high): (f64, f64)) -> Option<Self> {
        let size = sums.values().map(|term| term.denominator).fold(0.0, f64::max);
        let terms = sums.values().copied().filter(|term| term.denominator > 0.0);
        let ratio = BoundedRatio::new(terms, Term::new(low * size, size), Term::new(high * size, size)).ok()?;
        Some(Self { estimate: ratio.estimate(), ratio })
    }

    /// Both one-sided bounds, each wrong with this probability at most.
    fn bounds(&self, tail: f64, looks: Looks) -> Result<(f64, f64), Undefined> {
        let confidence = Confidence::two_sided(1.0 - 2.0 * tail)?;
        let interval = match looks {
            Looks::Once => self.ratio.interval(confidence),
            Looks::Any => self.ratio.interval_at_any_time(confidence),
        };
        Ok((interval.lower.unwrap_or(f64::NEG_INFINITY), interval.upper.unwrap_or(f64::INFINITY)))
    }
}

/// How often the data may be looked at.
#[derive(Clone, Copy, PartialEq)]
enum Looks {
    Once,
    Any,
}

#[derive(Clone, Debug)]
enum Parts {
    /// True positives among those measured positive, and negative; and the share measured positive.
    Strata { positive: Part, negative: Part, size: Part },
    /// The mean of Y − λH where the truth is known, and of H where it is not.
    Powered { rectified: Part, other: Option<Part>, weight: f64 },
    /// The truths alone: one of the strata has none.
    Truths(Part),
}

/// Things that were not measured: the share of those that were, and what the others are taken for.
#[derive(Clone, Debug)]
struct Unmeasured {
    share: Part,
    value: f64,
}

/// A corrected mean over units.
///
/// ```
/// use calipers_stats::Confidence;
/// use calipers_stats::corrected_units::{CorrectedThing, CorrectedUnits, Joining};
///
/// // Sixty clusters of five, measured 1 in four of five cases; the truth of two of each five is known.
/// let things = (0..300).map(|i| {
///     let measured = f64::from(u8::from(i % 5 > 0));
///     CorrectedThing { unit: i / 5, weight: 1.0, measured: Some(measured), truth: (i % 5 < 2).then_some(measured) }
/// });
/// let mean = CorrectedUnits::new(things, Joining::Clusters)?;
/// assert!((mean.estimate() - 0.8).abs() < 1e-12);
/// let bound = mean.interval(Confidence::lower(0.95)?)?.lower.unwrap();
/// assert!(0.6 < bound && bound < 0.8, "{bound}");
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Debug)]
pub struct CorrectedUnits {
    parts: Parts,
    joining: Joining,
    unmeasured: Option<Unmeasured>,
    truths: u64,
}

impl CorrectedUnits {
    /// From things in any order.
    ///
    /// Undefined without a truth of a thing that was measured, below two of them where a value is not 0 or 1, and for numbers that are
    /// not finite.
    pub fn new(things: impl IntoIterator<Item = CorrectedThing>, joining: Joining) -> Result<Self, Undefined> {
        let mut things: Vec<CorrectedThing> = things.into_iter().collect();
        for thing in &things {
            for value in [Some(thing.weight), thing.measured, thing.truth].into_iter().flatten() {
                Undefined::check_finite(value)?;
            }
        }
        // In one order, so that the order of arrival changes no bit.
        let key = |thing: &CorrectedThing| {
            let bits = |value: Option<f64>| value.map(f64::to_bits);
            (thing.unit, thing.weight.to_bits(), bits(thing.measured), bits(thing.truth))
        };
        things.sort_by_key(key);
        things.retain(|thing| thing.weight > 0.0);
        let measured: Vec<(CorrectedThing, f64)> =
            things.iter().filter_map(|thing| Some((*thing, thing.measured?))).collect();
        let truths = measured.iter().filter(|(thing, _)| thing.truth.is_some()).count() as u64;
        if truths == 0 {
            return Err(Undefined::Empty);
        }
        let is_binary = |x: f64| x == 0.0 || x == 1.0;
        let are_shares = measured.iter().all(|(thing, h)| is_binary(*h) && thing.truth.is_none_or(is_binary));
        let parts = if are_shares { Self::find_strata(&measured) } else { Self::find_powered(&measured)? };
        let unmeasured = things.iter().find(|thing| thing.measured.is_none()).and_then(|thing| {
            let share = things.iter().map(|thing| (*thing, f64::from(u8::from(thing.measured.is_some()))));
            Some(Unmeasured { share: Part::new(&sum_up(share), (0.0, 1.0))?, value: thing.truth? })
        });
        Ok(Self { parts: parts.ok_or(Undefined::Empty)?, joining, unmeasured, truths })
    }

    fn find_strata(measured: &[(CorrectedThing, f64)]) -> Option<Parts> {
        let known = |stratum: Option<f64>| {
            let of = measured.iter().filter(move |(_, h)| stratum.is_none_or(|stratum| *h == stratum));
            Part::new(&sum_up(of.filter_map(|(thing, _)| Some((*thing, thing.truth?)))), (0.0, 1.0))
        };
        let size = Part::new(&sum_up(measured.iter().copied()), (0.0, 1.0))?;
        match known(Some(1.0)).zip(known(Some(0.0))) {
            Some((positive, negative)) => Some(Parts::Strata { positive, negative, size }),
            None => known(None).map(Parts::Truths),
        }
    }

    fn find_powered(measured: &[(CorrectedThing, f64)]) -> Result<Option<Parts>, Undefined> {
        let known: Vec<(CorrectedThing, f64, f64)> =
            measured.iter().filter_map(|(thing, h)| Some((*thing, thing.truth?, *h))).collect();
        let others: Vec<(CorrectedThing, f64)> =
            measured.iter().copied().filter(|(thing, _)| thing.truth.is_none()).collect();
        let (truths, predictions): (Vec<f64>, Vec<f64>) = known.iter().map(|(_, y, h)| (*y, *h)).unzip();
        let others_measured: Vec<f64> = others.iter().map(|(_, h)| *h).collect();
        let weight = PredictionPowered::new(&truths, &predictions, &others_measured)?.weight();
        let rectified = sum_up(known.iter().map(|(thing, y, h)| (*thing, y - weight * h)));
        let Some(rectified) = Part::new(&rectified, (-weight, 1.0)) else { return Ok(None) };
        Ok(Some(Parts::Powered { rectified, other: Part::new(&sum_up(others), (0.0, 1.0)), weight }))
    }

    /// The number of things whose truth is known.
    #[must_use]
    pub fn truths(&self) -> u64 {
        self.truths
    }

    /// True when all values are 0 or 1.
    #[must_use]
    pub fn is_of_shares(&self) -> bool {
        !matches!(self.parts, Parts::Powered { .. })
    }

    /// The estimate.
    #[must_use]
    pub fn estimate(&self) -> f64 {
        let seen = self.measured_estimate();
        self.unmeasured.as_ref().map_or(seen, |other| {
            let share = other.share.estimate;
            share * seen + (1.0 - share) * other.value
        })
    }

    fn measured_estimate(&self) -> f64 {
        match &self.parts {
            Parts::Strata { positive, negative, size } => {
                size.estimate * positive.estimate + (1.0 - size.estimate) * negative.estimate
            }
            Parts::Powered { rectified, other, weight } => {
                rectified.estimate + weight * other.as_ref().map_or(0.0, |other| other.estimate)
            }
            Parts::Truths(part) => part.estimate,
        }
    }

    /// The interval for one look.
    pub fn interval(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        let tail = confidence.tail();
        let method = self.method();
        if self.joining == Joining::Clusters {
            let (low, high) = self.corners(tail, Looks::Once)?;
            return Ok(confidence.interval(method, || low, || high));
        }
        let moves = self.moves(tail)?;
        let reach = |side: fn(&(f64, f64)) -> f64| moves.iter().map(|moved| side(moved).powi(2)).sum::<f64>().sqrt();
        let estimate = self.estimate();
        let lower = || (estimate - reach(|moves| moves.0)).max(0.0);
        Ok(confidence.interval(method, lower, || (estimate + reach(|moves| moves.1)).min(1.0)))
    }

    /// The least and the greatest mean while every part is within its bounds, each of which is wrong with this probability.
    fn corners(&self, tail: f64, looks: Looks) -> Result<(f64, f64), Undefined> {
        let bounds = |part: &Part| part.bounds(tail, looks);
        // Between two bounded numbers, the worst mixture is at an end.
        let mix = |share: (f64, f64), one: (f64, f64), other: (f64, f64)| {
            let at = |share: f64, one: f64, other: f64| share * one + (1.0 - share) * other;
            (
                at(share.0, one.0, other.0).min(at(share.1, one.0, other.0)),
                at(share.0, one.1, other.1).max(at(share.1, one.1, other.1)),
            )
        };
        let seen = match &self.parts {
            Parts::Strata { positive, negative, size } => mix(bounds(size)?, bounds(positive)?, bounds(negative)?),
            Parts::Powered { rectified, other, weight } => {
                let (rectified, other) = (bounds(rectified)?, other.as_ref().map_or(Ok((0.0, 0.0)), bounds)?);
                ((rectified.0 + weight * other.0).max(0.0), (rectified.1 + weight * other.1).min(1.0))
            }
            Parts::Truths(part) => bounds(part)?,
        };
        Ok(match &self.unmeasured {
            None => seen,
            Some(other) => mix(bounds(&other.share)?, seen, (other.value, other.value)),
        })
    }

    /// How far each part moves the estimate down and up when it is at its bounds.
    fn moves(&self, tail: f64) -> Result<Vec<(f64, f64)>, Undefined> {
        let reaches = |part: &Part| {
            let (low, high) = part.bounds(tail, Looks::Once)?;
            Ok::<_, Undefined>(((part.estimate - low).max(0.0), (high - part.estimate).max(0.0)))
        };
        let scaled = |(below, above): (f64, f64), slope: f64| {
            if slope >= 0.0 { (slope * below, slope * above) } else { (-slope * above, -slope * below) }
        };
        let mut moves = match &self.parts {
            Parts::Strata { positive, negative, size } => vec![
                scaled(reaches(positive)?, size.estimate),
                scaled(reaches(negative)?, 1.0 - size.estimate),
                scaled(reaches(size)?, positive.estimate - negative.estimate),
            ],
            Parts::Powered { rectified, other, weight } => {
                let other = other.as_ref().map(|other| Ok(scaled(reaches(other)?, *weight)));
                [Some(reaches(rectified)), other].into_iter().flatten().collect::<Result<_, _>>()?
            }
            Parts::Truths(part) => vec![reaches(part)?],
        };
        if let Some(other) = &self.unmeasured {
            let share = other.share.estimate;
            moves.iter_mut().for_each(|moved| *moved = (moved.0 * share, moved.1 * share));
            moves.push(scaled(reaches(&other.share)?, self.measured_estimate() - other.value));
        }
        Ok(moves)
    }

    /// The interval for any number of looks; none where a value is not 0 or 1.
    pub fn interval_at_any_time(&self, confidence: Confidence) -> Option<Interval> {
        // The shares by which others are mixed may matter at both of their ends, and everything else at one.
        let ends = match &self.parts {
            Parts::Strata { .. } => 4.0,
            Parts::Powered { .. } => return None,
            Parts::Truths(_) => 1.0,
        };
        let ends = if self.unmeasured.is_some() { ends + 2.0 } else { ends };
        let (low, high) = self.corners(confidence.tail() / ends, Looks::Any).ok()?;
        Some(confidence.interval(Method::Betting, || low, || high))
    }

    fn method(&self) -> Method {
        if self.is_of_shares() { Method::DoubleSampling } else { Method::Gaffke }
    }

    /// The error at which the lower bound reaches a value: how probable data this high are at it.
    #[must_use]
    pub fn p_above(&self, value: f64) -> f64 {
        find_p_above(value, |confidence| self.interval(confidence))
    }

    /// The same of the upper bound.
    #[must_use]
    pub fn p_below(&self, value: f64) -> f64 {
        find_p_below(value, |confidence| self.interval(confidence))
    }

    /// The error at which the lower bound for any number of looks reaches a value; 1 where there is no such bound.
    #[must_use]
    pub fn p_above_at_any_time(&self, value: f64) -> f64 {
        find_p_above(value, |confidence| self.interval_at_any_time(confidence).ok_or(Undefined::Empty))
    }

    /// The same of the upper bound.
    #[must_use]
    pub fn p_below_at_any_time(&self, value: f64) -> f64 {
        find_p_below(value, |confidence| self.interval_at_any_time(confidence).ok_or(Undefined::Empty))
    }
}

impl BoundedEstimate for CorrectedUnits {
    fn estimate(&self) -> f64 {
        Self::estimate(self)
    }

    fn interval(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        Self::interval(self, confidence)
    }
}

/// The weighted sums of values, by unit.
fn sum_up(values: impl IntoIterator<Item = (CorrectedThing, f64)>) -> BTreeMap<u32, Term> {
    let mut sums: BTreeMap<u32, Term> = BTreeMap::new();
    for (thing, value) in values {
        let sum = sums.entry(thing.unit).or_insert(Term::new(0.0, 0.0));
        sum.numerator += thing.weight * value;
        sum.denominator += thing.weight;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corrected_mean::CorrectedMean;
    use proptest::prelude::*;

    fn things(pairs: &[(f64, f64)], others: &[f64], size: u32) -> Vec<CorrectedThing> {
        let known = pairs.iter().map(|&(y, h)| (h, Some(y)));
        let all = known.chain(others.iter().map(|&h| (h, None)));
        let thing = |(at, (h, truth)): (u32, (f64, Option<f64>))| CorrectedThing {
            unit: at / size,
            weight: 1.0,
            measured: Some(h),
            truth,
        };
        (0..).zip(all).map(thing).collect()
    }

    #[test]
    fn things_that_count_alike_have_the_plain_estimate() {
        let (coin, grade) =
            (|i: u32, k: u32| f64::from(u8::from(!i.is_multiple_of(k))), |i: u32, k: u32| f64::from(i % k) / 10.0);
        let shares: Vec<(f64, f64)> = (0..60).map(|i| (coin(i, 4), coin(i, 5))).collect();
        let grades: Vec<(f64, f64)> = (0..60).map(|i| (grade(i, 8), grade(i, 9))).collect();
        for (pairs, others) in [(shares, vec![1.0, 0.0, 1.0, 1.0]), (grades, vec![0.3, 0.9, 0.6])] {
            let plain = CorrectedMean::new(&pairs, &others).unwrap();
            let ours = CorrectedUnits::new(things(&pairs, &others, 1), Joining::Things).unwrap();
            assert!((ours.estimate() - plain.estimate()).abs() < 1e-12);
            assert_eq!(ours.is_of_shares(), plain.is_of_shares());
            let confidence = Confidence::two_sided(0.95).unwrap();
            let (ours, plain) = (ours.interval(confidence).unwrap(), plain.interval(confidence).unwrap());
            // The share measured positive has exact bounds here and Wilson's there.
            assert!((ours.lower.unwrap() - plain.lower.unwrap()).abs() < 0.06, "{ours:?} {plain:?}");
            assert!((ours.upper.unwrap() - plain.upper.unwrap()).abs() < 0.06, "{ours:?} {plain:?}");
        }
    }

    #[test]
    fn clusters_and_looks_widen_it() {
        let pairs: Vec<(f64, f64)> =
            (0..200).map(|i| (f64::from(u8::from(i % 7 > 0)), f64::from(u8::from(i % 6 > 0)))).collect();
        let lower = |size, joining| {
            let units = CorrectedUnits::new(things(&pairs, &[1.0; 100], size), joining).unwrap();
            let confidence = Confidence::lower(0.95).unwrap();
            let any = units.interval_at_any_time(confidence).unwrap().lower.unwrap();
            (units.interval(confidence).unwrap().lower.unwrap(), any)
        };
        let (one, any) = lower(1, Joining::Things);
        let (clustered, _) = lower(10, Joining::Clusters);
        assert!(clustered < one && any < one, "{one} {clustered} {any}");
    }

    #[test]
    fn things_that_were_not_measured_are_what_they_are_taken_for() {
        let pairs: Vec<(f64, f64)> = (0..50).map(|i| (f64::from(u8::from(i % 5 > 0)), 1.0)).collect();
        let with = |value: f64| {
            let more =
                (0..50).map(|i| CorrectedThing { unit: 1000 + i, weight: 1.0, measured: None, truth: Some(value) });
            let all = things(&pairs, &[], 1).into_iter().chain(more);
            CorrectedUnits::new(all, Joining::Things).unwrap()
        };
        assert!((with(0.0).estimate() - 0.4).abs() < 1e-12 && (with(1.0).estimate() - 0.9).abs() < 1e-12);
        assert!(with(0.0).p_above(0.3) > with(1.0).p_above(0.3));
        assert!(CorrectedUnits::new([], Joining::Things).is_err());
    }

    proptest! {
        #[test]
        fn order_changes_no_bit_and_a_better_truth_lowers_no_bound(
            rows in prop::collection::vec((0u32..6, 0.5..3.0f64, any::<bool>(), prop::option::of(any::<bool>())), 8..40),
            turn in 0usize..40,
            place in 0usize..40,
        ) {
            let coin = |is: bool| f64::from(u8::from(is));
            let thing = |&(unit, weight, measured, truth): &(u32, f64, bool, Option<bool>)| CorrectedThing {
                unit, weight, measured: Some(coin(measured)), truth: truth.map(coin),
            };
            let all: Vec<CorrectedThing> = rows.iter().map(thing).collect();
            prop_assume!(all.iter().any(|thing| thing.truth.is_some()));
            let mut moved = all.clone();
            moved.rotate_left(turn % all.len());
            let confidence = Confidence::two_sided(0.9).unwrap();
            let interval = |things: &[CorrectedThing]| {
                CorrectedUnits::new(things.iter().copied(), Joining::Clusters).unwrap().interval(confidence).unwrap()
            };
            prop_assert_eq!(interval(&all), interval(&moved));
            let mut better = all.clone();
            let at = place % all.len();
            better[at].truth = better[at].truth.map(|_| 1.0);
            prop_assert!(interval(&better).lower.unwrap() >= interval(&all).lower.unwrap() - 1e-9);
        }
    }
}
