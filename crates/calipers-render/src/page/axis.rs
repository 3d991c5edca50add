//! Scales of pictures: what they span, and the round numbers that label them.
//!
//! Rates have 0 to 100 %, grades 0 to 1, whatever the data: a part of that makes small differences look large. Other
//! measurements begin at 0. Changes have no change in the middle, and factors are equally far from 1 on both sides.

use crate::numbers::{Scale, axis_label, factor_label};
use calipers_core::{Figure, Unit};

/// The values that pictures span. Pictures with equal axes can be compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    lower: f64,
    upper: f64,
    labels: Labels,
}

/// What the labels of an axis say.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Labels {
    /// Multiples of a step.
    Steps { step: f64, scale: Scale, is_signed: bool },
    /// Factors: both ends, and 1. Places are logarithms.
    Factors { least: f64, most: f64 },
}

/// An axis has about this many steps.
const STEPS: f64 = 4.0;
/// An axis whose ends are not round needs more of them, to have enough within it.
const BETWEEN_STEPS: f64 = 6.0;
/// What a factor may be within. Both ends of each are round.
const FACTORS: [(f64, f64); 11] = [
    (0.99, 1.01),
    (0.98, 1.02),
    (0.95, 1.05),
    (0.9, 1.1),
    (0.8, 1.25),
    (0.5, 2.0),
    (0.2, 5.0),
    (0.1, 10.0),
    (0.01, 100.0),
    (0.001, 1000.0),
    (1e-6, 1e6),
];

impl Axis {
    /// From 0 to 100 %.
    pub(crate) const RATES: Self =
        Self { lower: 0.0, upper: 1.0, labels: Labels::Steps { step: 0.2, scale: Scale::Percent, is_signed: false } };

    /// From 0 to 1.
    pub(crate) const GRADES: Self =
        Self { lower: 0.0, upper: 1.0, labels: Labels::Steps { step: 0.2, scale: Scale::Number, is_signed: false } };

    /// The axis of figures with this unit: that of rates, or one from 0.
    pub(crate) fn of_unit(unit: Unit, values: impl Iterator<Item = f64>) -> Self {
        let (least, most) = values.fold((0.0f64, 0.0f64), |(least, most), x| (least.min(x), most.max(x)));
        if unit == Unit::Rate && least >= 0.0 && most <= 1.0 {
            return Self::RATES;
        }
        Self::from_zero(Scale::of(unit, most.max(-least)), least, most)
    }

    /// The axis of scores: 0 to 1 where all are within it, as the numbers themselves are written.
    pub(crate) fn of_scores(unit: Unit, values: impl Iterator<Item = f64>) -> Self {
        let (least, most) = values.fold((0.0f64, 0.0f64), |(least, most), x| (least.min(x), most.max(x)));
        match unit {
            Unit::Rate | Unit::Plain if least >= 0.0 && most <= 1.0 => Self::GRADES,
            Unit::Rate => Self::from_zero(Scale::Number, least, most),
            unit => Self::from_zero(Scale::of(unit, most.max(-least)), least, most),
        }
    }

    fn from_zero(scale: Scale, least: f64, most: f64) -> Self {
        let reach = if most > least { most - least } else { 1.0 };
        let step = round_step(reach / STEPS);
        let (lower, upper) = ((least / step + NEARLY).floor() * step, (most / step - NEARLY).ceil() * step);
        let (lower, upper) = (lower.min(0.0), upper.max(if least < 0.0 { 0.0 } else { step }));
        Self { lower, upper, labels: Labels::Steps { step, scale, is_signed: false } }
    }

    /// The axis between these values.
    pub(crate) fn between(scale: Scale, lower: f64, upper: f64) -> Self {
        let reach = if upper > lower { upper - lower } else { 1.0 };
        let labels = Labels::Steps { step: round_step(reach / BETWEEN_STEPS), scale, is_signed: false };
        Self { lower, upper: lower + reach, labels }
    }

    /// The axis of differences, with 0 in the middle.
    pub(crate) fn of_differences(unit: Unit, values: impl Iterator<Item = f64>) -> Self {
        let reach = values.map(f64::abs).fold(0.0, f64::max);
        let reach = if reach > 0.0 { reach } else { LEAST_REACH };
        let step = round_step(reach / (STEPS / 2.0));
        let end = (reach / step - NEARLY).ceil() * step;
        let scale = Scale::of(unit, reach).of_differences();
        Self { lower: -end, upper: end, labels: Labels::Steps { step, scale, is_signed: true } }
    }

    /// The axis of factors. What lies beyond the widest one is drawn at its end.
    pub(crate) fn of_factors(values: impl Iterator<Item = f64>) -> Self {
        let (least, most) = values.fold((1.0f64, 1.0f64), |(least, most), x| (least.min(x), most.max(x)));
        let holds = |(lower, upper): &&(f64, f64)| *lower <= least && most <= *upper;
        let (least, most) = *FACTORS.iter().find(holds).unwrap_or(&FACTORS[FACTORS.len() - 1]);
        Self { lower: least.ln(), upper: most.ln(), labels: Labels::Factors { least, most } }
    }

    /// Where a value lies: 0 at the lower end, 1 at the upper one.
    pub(crate) fn share(self, x: f64) -> f64 {
        let place = match self.labels {
            Labels::Factors { .. } => x.max(f64::MIN_POSITIVE).ln(),
            Labels::Steps { .. } => x,
        };
        ((place - self.lower) / (self.upper - self.lower)).clamp(0.0, 1.0)
    }

    /// The ends.
    pub(crate) fn ends(self) -> (f64, f64) {
        match self.labels {
            Labels::Factors { least, most } => (least, most),
            Labels::Steps { .. } => (self.lower, self.upper),
        }
    }

    /// The labelled values with their labels. One unit is enough: the last has it.
    pub(crate) fn ticks(self) -> Vec<(f64, String)> {
        match self.labels {
            Labels::Factors { least, most } => [least, 1.0, most].map(|x| (x, factor_label(x))).to_vec(),
            Labels::Steps { step, scale, is_signed } => {
                let first = (self.lower / step - NEARLY).ceil() as i64;
                let last = (self.upper / step + NEARLY).floor() as i64;
                let value = |tick: i64| if tick == 0 { 0.0 } else { tick as f64 * step };
                (first..=last)
                    .map(|tick| (value(tick), axis_label(scale, value(tick), is_signed, tick == last)))
                    .collect()
            }
        }
    }
}

/// What is left over of 0.3 / 0.1 does not add a step.
const NEARLY: f64 = 1e-9;
/// What did not change at all is drawn on an axis of a point to each side.
const LEAST_REACH: f64 = 0.01;

/// The next of 1, 2, 2.5 and 5 times a power of ten that is at least this.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let rounds = [1.0, 2.0, 2.5, 5.0].map(|round| round * power);
    rounds.into_iter().find(|round| *round >= step * (1.0 - NEARLY)).unwrap_or(10.0 * power)
}

/// All numbers that a figure puts on an axis.
pub(crate) fn reach(figure: &Figure) -> impl Iterator<Item = f64> {
    let (lower, upper) = figure.interval.map_or((None, None), |interval| (interval.lower, interval.upper));
    [figure.value.as_ref().ok().copied(), lower, upper].into_iter().flatten().filter(|x| x.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn rates_have_their_whole_range_whatever_the_data() {
        assert_eq!(labels(Axis::of_unit(Unit::Rate, [0.95, 1.0].into_iter())), ["0", "20", "40", "60", "80", "100 %"]);
        assert_eq!(labels(Axis::of_scores(Unit::Plain, [0.7].into_iter())), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
    }

    #[test]
    fn measurements_begin_at_zero_and_end_at_a_round_number() {
        for (unit, values, want) in [
            (Unit::Milliseconds, vec![3100.0, 4755.0], vec!["0", "2", "4", "6 s"]),
            (Unit::Milliseconds, vec![812.0], vec!["0", "250", "500", "750", "1,000 ms"]),
            (Unit::Usd, vec![0.0123], vec!["$0", "$0.005", "$0.01", "$0.015"]),
            (Unit::Plain, vec![1.0, 4.2], vec!["0", "2", "4", "6"]),
            (Unit::Plain, vec![-3.0, 5.0], vec!["-4", "-2", "0", "2", "4", "6"]),
            (Unit::Plain, vec![], vec!["0", "0.25"]),
        ] {
            assert_eq!(labels(Axis::of_unit(unit, values.into_iter())), want);
        }
    }

    #[test]
    fn changes_have_no_change_in_the_middle() {
        let axis = Axis::of_differences(Unit::Rate, [0.03, -0.071].into_iter());
        assert_eq!(labels(axis), ["-10", "-5", "0", "+5", "+10 pp"]);
        assert_eq!(axis.share(0.0), 0.5);
        assert_eq!(Axis::of_differences(Unit::Rate, [0.0].into_iter()).share(0.0), 0.5);
        let axis = Axis::of_factors([0.93, 1.3].into_iter());
        assert_eq!(labels(axis), ["× 0.5", "× 1", "× 2"]);
        assert!((axis.share(1.0) - 0.5).abs() < 1e-9);
        // A factor of nothing is at the end, not beyond it.
        assert_eq!(Axis::of_factors([0.0, 1.0].into_iter()).share(0.0), 0.0);
    }

    #[test]
    fn everything_that_is_drawn_is_on_its_axis() {
        for scale in [1e-6, 0.37, 1.0, 3.0, 1e9] {
            for (least, most) in [(0.0, 1.0), (0.4, 0.9), (-1.0, 0.2), (-2.0, -1.0)] {
                let values = [least * scale, most * scale];
                let (lower, upper) = Axis::of_unit(Unit::Plain, values.into_iter()).ends();
                assert!(lower <= values[0] && values[1] <= upper, "{values:?} in {lower}..{upper}");
                assert!(lower <= 0.0 && upper >= 0.0);
                let axis = Axis::of_differences(Unit::Plain, values.into_iter());
                assert!(axis.ends().0 <= values[0] && values[1] <= axis.ends().1);
                assert!(axis.ticks().len() <= 8, "{:?}", axis.ticks());
            }
        }
    }
}
