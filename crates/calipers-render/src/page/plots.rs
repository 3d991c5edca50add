//! Small pictures as SVG. What they tell by colour they also tell by shape, and the numbers stand beside them.

use crate::numbers::Scale;
use calipers_core::{Bar, Distribution, DistributionOf};
use calipers_core::{Figure, pluralize};
use calipers_gate::policy::{Comparison, Rule};
use maud::{Markup, html};

/// The size of an interval's picture, and the room at its ends.
const WIDTH: f64 = 240.0;
const HEIGHT: f64 = 26.0;
const EDGE: f64 = 8.0;

/// The values that a picture spans.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    lower: f64,
    upper: f64,
}

impl Axis {
    /// From 0 to 1, or from a later tenth on, if everything lies beyond it.
    pub(super) fn of_rates(values: impl Iterator<Item = f64>) -> Self {
        let least = values.fold(1.0, f64::min);
        Self { lower: ((least * 10.0 - 0.2).floor() / 10.0).clamp(0.0, 0.9), upper: 1.0 }
    }

    /// Everything and zero.
    pub(super) fn from_zero(values: impl Iterator<Item = f64>) -> Self {
        let (least, most) = values.fold((0.0f64, 0.0f64), |(least, most), x| (least.min(x), most.max(x)));
        let room = 0.06 * (most - least);
        let end = |x: f64, room: f64| if x == 0.0 { 0.0 } else { x + room };
        Self { lower: end(least, -room), upper: end(most, room) }.or_unit()
    }

    /// Everything, with this value in the middle.
    pub(super) fn around(middle: f64, values: impl Iterator<Item = f64>) -> Self {
        let reach = values.map(|x| (x - middle).abs()).fold(0.0, f64::max) * 1.06;
        let reach = if reach > 0.0 { reach } else { 1.0 };
        Self { lower: middle - reach, upper: middle + reach }
    }

    /// An axis has two ends.
    fn or_unit(self) -> Self {
        if self.upper > self.lower { self } else { Self { lower: self.lower, upper: self.lower + 1.0 } }
    }

    fn at(self, x: f64) -> f64 {
        EDGE + (x - self.lower) / (self.upper - self.lower) * (WIDTH - 2.0 * EDGE)
    }
}

/// All numbers that a figure puts on an axis.
pub(super) fn reach(figure: &Figure) -> impl Iterator<Item = f64> {
    let (lower, upper) = figure.interval.map_or((None, None), |interval| (interval.lower, interval.upper));
    [figure.value.as_ref().ok().copied(), lower, upper].into_iter().flatten().filter(|x| x.is_finite())
}

/// How an estimate is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// A full circle.
    Good,
    /// A full diamond.
    Bad,
    /// A hollow circle.
    Open,
    /// A full square: nothing is judged.
    Plain,
}

impl Mark {
    fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Open => "open",
            Self::Plain => "plain",
        }
    }
}

/// An estimate with its interval and what it is held against.
pub(super) fn forest(axis: Axis, figure: &Figure, rule: Option<Rule>, mark: Mark) -> Markup {
    let middle = HEIGHT / 2.0;
    let Ok(value) = figure.value else { return html! {} };
    html! {
        svg.forest viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) aria-hidden="true" {
            line.rail x1=(EDGE) x2=(WIDTH - EDGE) y1=(middle) y2=(middle) {}
            @if let Some(rule) = rule { (threshold(axis, rule)) }
            @if let Some(interval) = figure.interval {
                @let (from, to) = (interval.lower.unwrap_or(axis.lower), interval.upper.unwrap_or(axis.upper));
                line.interval.(mark.class()) x1=(px(axis.at(from))) x2=(px(axis.at(to))) y1=(middle) y2=(middle) {}
                @for bound in [interval.lower, interval.upper].into_iter().flatten() {
                    line.cap.(mark.class()) x1=(px(axis.at(bound))) x2=(px(axis.at(bound))) y1=(middle - 4.0) y2=(middle + 4.0) {}
                }
            }
            (point(axis.at(value), middle, mark))
        }
    }
}

fn point(x: f64, y: f64, mark: Mark) -> Markup {
    let class = format!("point {}", mark.class());
    match mark {
        Mark::Good | Mark::Open => html! { circle class=(class) cx=(px(x)) cy=(px(y)) r="4.5" {} },
        Mark::Bad => {
            let corners = [(0.0, -6.0), (6.0, 0.0), (0.0, 6.0), (-6.0, 0.0)];
            let corners = corners.map(|(dx, dy)| format!("{},{}", px(x + dx), px(y + dy))).join(" ");
            html! { polygon class=(class) points=(corners) {} }
        }
        Mark::Plain => html! { rect class=(class) x=(px(x - 3.5)) y=(px(y - 3.5)) width="7" height="7" {} },
    }
}

/// A line at the threshold, and on it the side that is asked for.
fn threshold(axis: Axis, rule: Rule) -> Markup {
    let x = axis.at(rule.value);
    let side = match rule.comparison {
        Comparison::AtLeast | Comparison::Above => 5.0,
        Comparison::AtMost | Comparison::Below => -5.0,
        Comparison::Equal => 0.0,
    };
    html! {
        line.threshold x1=(px(x)) x2=(px(x)) y1="1" y2=(HEIGHT - 1.0) {}
        @if side != 0.0 {
            polygon.side points=(format!("{},0 {},3.5 {},7", px(x), px(x + side), px(x))) {}
        }
    }
}

/// The ends of an axis that rows share, and ticks between them.
pub(super) fn ticks(axis: Axis, scale: Scale) -> Markup {
    let step = if axis.upper - axis.lower > 0.55 { 0.2 } else { 0.1 };
    let first = (axis.lower / step - 1e-9).ceil() as i64;
    let last = (axis.upper / step + 1e-9).floor() as i64;
    html! {
        svg.ticks viewBox=(format!("0 0 {WIDTH} 14")) aria-hidden="true" {
            @for tick in first..=last {
                @let (x, is_last) = (axis.at(tick as f64 * step), tick == last);
                @let label = scale.exact(tick as f64 * step);
                // One sign of the unit is enough.
                text x=(px(x)) y="11" text-anchor="middle" { (if is_last { &*label } else { label.trim_end_matches(" %") }) }
            }
        }
    }
}

/// The line at no change.
pub(super) fn no_change(value: f64) -> Rule {
    Rule { comparison: Comparison::Equal, value }
}

/// A picture of shares of a whole, with words below it.
pub(super) fn shares(parts: &[(&str, &str, u64)]) -> Markup {
    let total: u64 = parts.iter().map(|(_, _, count)| count).sum();
    if total == 0 {
        return html! {};
    }
    let mut before = 0;
    let mut placed = Vec::new();
    for (class, words, count) in parts.iter().filter(|(_, _, count)| *count > 0) {
        placed.push((class, words, count, before as f64 / total as f64 * 100.0, *count as f64 / total as f64 * 100.0));
        before += count;
    }
    html! {
        svg.shares viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true" {
            @for (class, _, _, from, width) in &placed {
                rect class=(class) x=(px(*from)) y="0" width=(px(*width)) height="4" {}
            }
        }
        p.legend {
            @for (class, words, count, ..) in &placed {
                span { (key(class)) b { (count) } " " (words) }
            }
        }
    }
}

/// The shape that stands for an outcome.
pub(super) fn key(class: &str) -> Markup {
    let shape = match class {
        "passed" => html! { circle cx="5" cy="5" r="4" {} },
        "failed" => html! { polygon points="5,0 10,5 5,10 0,5" {} },
        "errored" => html! { path d="M1 1 9 9M9 1 1 9" {} },
        _ => html! { circle.hollow cx="5" cy="5" r="3.5" {} },
    };
    html! { svg.key.(class) viewBox="0 0 10 10" aria-hidden="true" { (shape) } }
}

/// The size of a histogram.
const BARS_WIDTH: f64 = 320.0;
const BARS_HEIGHT: f64 = 96.0;

/// A histogram with its ends and its highest count.
pub(super) fn histogram(spread: &Distribution) -> Markup {
    let most = spread.bars.iter().map(|bar| bar.count).max().unwrap_or(0).max(1);
    let slot = BARS_WIDTH / spread.bars.len() as f64;
    let by_value = spread.bars.iter().all(|bar| bar.lower == bar.upper);
    let gap = if by_value { (slot * 0.25).min(12.0) } else { 1.0 };
    let last = spread.bars.last().map_or(0.0, |bar| bar.upper);
    let scale = Scale::of(spread.unit, last);
    let of = match spread.of {
        DistributionOf::Samples => pluralize(spread.n, "sample"),
        DistributionOf::Attempts => pluralize(spread.n, "attempt"),
    };
    let words = format!("{} of {of}, from {} to {}", spread.name, ends(spread, scale).0, ends(spread, scale).1);
    html! {
        figure.spread {
            figcaption { b { (spread.name) } " " span.quiet { (of) @if spread.beyond > 0 { ", " (spread.beyond) " out of time" } } }
            svg viewBox=(format!("0 0 {BARS_WIDTH} {}", BARS_HEIGHT + 16.0)) role="img" aria-label=(words) {
                line.base x1="0" x2=(BARS_WIDTH) y1=(BARS_HEIGHT) y2=(BARS_HEIGHT) {}
                @for (place, bar) in spread.bars.iter().enumerate() {
                    @let height = bar.count as f64 / most as f64 * (BARS_HEIGHT - 14.0);
                    // What is there is seen, however little it is.
                    @let height = if bar.count > 0 { height.max(1.5) } else { 0.0 };
                    @let x = place as f64 * slot;
                    rect.bar x=(px(x + gap / 2.0)) y=(px(BARS_HEIGHT - height)) width=(px((slot - gap).max(0.5))) height=(px(height)) {
                        title { (range(bar, scale)) ": " (bar.count) }
                    }
                    @if by_value {
                        text x=(px(x + slot / 2.0)) y=(BARS_HEIGHT + 12.0) text-anchor="middle" { (scale.exact(bar.lower)) }
                        text.count x=(px(x + slot / 2.0)) y=(px(BARS_HEIGHT - height - 4.0)) text-anchor="middle" { (bar.count) }
                    } @else if bar.count == most && spread.bars[..place].iter().all(|earlier| earlier.count < most) {
                        text.count x=(px((x + slot / 2.0).clamp(12.0, BARS_WIDTH - 12.0))) y=(px(BARS_HEIGHT - height - 4.0)) text-anchor="middle" { (bar.count) }
                    }
                }
                @if !by_value {
                    text x="0" y=(BARS_HEIGHT + 12.0) { (ends(spread, scale).0) }
                    text x=(BARS_WIDTH) y=(BARS_HEIGHT + 12.0) text-anchor="end" { (ends(spread, scale).1) }
                }
            }
        }
    }
}

fn ends(spread: &Distribution, scale: Scale) -> (String, String) {
    let lower = spread.bars.first().map_or(0.0, |bar| bar.lower);
    let upper = spread.bars.last().map_or(0.0, |bar| bar.upper);
    (scale.exact(lower), scale.exact(upper))
}

fn range(bar: &Bar, scale: Scale) -> String {
    if bar.lower == bar.upper {
        return scale.exact(bar.lower);
    }
    format!("{} to {}", scale.exact(bar.lower), scale.exact(bar.upper))
}

/// Counts by name, as bars that lie.
pub(super) fn counts(bars: &[(String, u64)]) -> Markup {
    let most = bars.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    html! {
        table.counts {
            @for (name, count) in bars {
                tr {
                    th scope="row" { (name) }
                    td.wide {
                        svg.lying viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" {
                            rect.bar x="0" y="0" height="10" width=(px((*count as f64 / most as f64 * 100.0).max(if *count > 0 { 0.6 } else { 0.0 }))) {}
                        }
                    }
                    td.num { (count) }
                }
            }
        }
    }
}

/// A place in a picture: tenths of a pixel are plenty.
fn px(x: f64) -> String {
    format!("{x:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_holds_all_that_is_drawn_on_it() {
        for (values, want) in
            [(vec![0.95, 1.0], (0.9, 1.0)), (vec![0.49], (0.4, 1.0)), (vec![0.02], (0.0, 1.0)), (vec![], (0.9, 1.0))]
        {
            let axis = Axis::of_rates(values.into_iter());
            assert!((axis.lower - want.0).abs() < 1e-12 && axis.upper == want.1, "{axis:?}");
        }
        let axis = Axis::from_zero([100.0, 400.0].into_iter());
        assert_eq!((axis.lower, axis.upper), (0.0, 424.0));
        let axis = Axis::around(1.0, [0.5, 1.2].into_iter());
        assert!((axis.lower + axis.upper - 2.0).abs() < 1e-12 && axis.lower < 0.5);
        // What did not change stands in the middle.
        assert_eq!(Axis::around(1.0, [1.0].into_iter()).at(1.0), WIDTH / 2.0);
        // Nothing but zeros still has a place on paper.
        assert!(Axis::from_zero(std::iter::empty()).at(0.0).is_finite());
    }
}
