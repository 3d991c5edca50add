//! Small pictures as SVG. What they tell by colour they also tell by shape, and the numbers stand beside them.

use super::axis::Axis;
use crate::numbers::{Scale, bar_label, count};
use calipers_core::{Bar, Distribution, DistributionOf, Figure, pluralize};
use calipers_gate::policy::{Comparison, Rule};
use maud::{Markup, html};

/// The size of an interval's picture, and the room at its ends.
const WIDTH: f64 = 260.0;
const HEIGHT: f64 = 30.0;
const EDGE: f64 = 14.0;

fn at(axis: Axis, x: f64) -> f64 {
    EDGE + axis.share(x) * (WIDTH - 2.0 * EDGE)
}

/// How an estimate is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
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

/// An estimate with its interval and what it is held against, on its axis. The labels of the axis are shown below it only where
/// no header has them.
pub(crate) fn forest(axis: Axis, figure: &Figure, rule: Option<Rule>, mark: Mark) -> Markup {
    let middle = HEIGHT / 2.0;
    let Ok(value) = figure.value else { return html! {} };
    let (least, most) = axis.ends();
    html! {
        svg.forest viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) aria-hidden="true" {
            @for (tick, _) in axis.ticks() {
                line.grid x1=(px(at(axis, tick))) x2=(px(at(axis, tick))) y1="0" y2=(HEIGHT) {}
            }
            line.rail x1=(px(at(axis, least))) x2=(px(at(axis, most))) y1=(middle) y2=(middle) {}
            @if let Some(rule) = rule { (threshold(axis, rule)) }
            @if let Some(interval) = figure.interval {
                @let (from, to) = (interval.lower.unwrap_or(least), interval.upper.unwrap_or(most));
                line.interval.(mark.class()) x1=(px(at(axis, from))) x2=(px(at(axis, to))) y1=(middle) y2=(middle) {}
                @for bound in [interval.lower, interval.upper].into_iter().flatten() {
                    line.cap.(mark.class()) x1=(px(at(axis, bound))) x2=(px(at(axis, bound))) y1=(middle - 4.0) y2=(middle + 4.0) {}
                }
            }
            (point(at(axis, value), middle, mark))
        }
        div.own-axis { (ticks(axis)) }
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
    let x = at(axis, rule.value);
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

/// A value with its interval on its axis, in a line of a list: one shape, because a list has many lines. Its rail is a part of the style.
pub(crate) fn interval_plot(axis: Axis, value: f64, lower: Option<f64>, upper: Option<f64>) -> Markup {
    let (least, most) = axis.ends();
    let (middle, cap, half) = (HEIGHT / 2.0, 4.0, 3.5);
    let mut shape = String::new();
    if lower.is_some() || upper.is_some() {
        let (from, to) = (lower.unwrap_or(least), upper.unwrap_or(most));
        shape += &format!("M{} {middle}H{}", px(at(axis, from)), px(at(axis, to)));
        for bound in [lower, upper].into_iter().flatten() {
            shape += &format!("M{} {}v{}", px(at(axis, bound)), middle - cap, 2.0 * cap);
        }
    }
    let side = 2.0 * half;
    shape += &format!("M{} {}h{side}v{side}h-{side}z", px(at(axis, value) - half), middle - half);
    html! { svg.forest.line viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) aria-hidden="true" { path d=(shape) {} } }
}

/// Shares of a whole as a bar without words.
pub(crate) fn shares_bar(parts: &[(&str, u64)]) -> Markup {
    let total: u64 = parts.iter().map(|(_, count)| count).sum();
    let mut from = 0.0;
    let placed = parts.iter().filter(|(_, count)| *count > 0).map(|(class, count)| {
        let width = 100.0 * *count as f64 / total as f64;
        from += width;
        (*class, from - width, width)
    });
    let placed: Vec<(&str, f64, f64)> = placed.collect();
    html! {
        svg.shares viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true" {
            @for (class, from, width) in &placed { rect class=(class) x=(px(*from)) y="0" width=(px(*width)) height="4" {} }
        }
    }
}

/// The labels of an axis.
pub(crate) fn ticks(axis: Axis) -> Markup {
    html! {
        svg.ticks viewBox=(format!("0 0 {WIDTH} 14")) aria-hidden="true" {
            @for (tick, label) in axis.ticks() {
                text x=(px(at(axis, tick))) y="11" text-anchor="middle" { (label) }
            }
        }
    }
}

/// The line at no change.
pub(super) fn no_change(value: f64) -> Rule {
    Rule { comparison: Comparison::Equal, value }
}

/// The axes of the rows of a table. Where all rows share one, the header has its labels; else each group of rows that share one
/// begins with them.
pub(super) struct TableAxes {
    shared: Option<Axis>,
    last: Option<Axis>,
    /// The columns before the pictures, and those after them.
    around: (usize, usize),
}

impl TableAxes {
    pub(super) fn new(axes: impl Iterator<Item = Option<Axis>>, around: (usize, usize)) -> Self {
        let axes: Vec<Axis> = axes.flatten().collect();
        let shared = axes.first().copied().filter(|first| axes.iter().all(|axis| axis == first));
        Self { shared, last: None, around }
    }

    /// The header of the pictures.
    pub(super) fn header(&self) -> Markup {
        html! { th.plot { @if let Some(axis) = self.shared { (ticks(axis)) } } }
    }

    /// The labels before a row on this axis, unless the row before it or the header has them.
    pub(super) fn before(&mut self, axis: Option<Axis>) -> Markup {
        let Some(axis) = axis.filter(|axis| self.shared.is_none() && self.last != Some(*axis)) else {
            return html! {};
        };
        self.last = Some(axis);
        let (before, after) = self.around;
        html! { tr.axis { td colspan=(before) {} td.plot { (ticks(axis)) } td colspan=(after) {} } }
    }
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
                span { (key(class)) b { (self::count(**count)) } " " (words) }
            }
        }
    }
}

/// The shape that stands for an outcome.
pub(crate) fn key(class: &str) -> Markup {
    let shape = match class {
        "passed" => html! { circle cx="5" cy="5" r="4" {} },
        "failed" => html! { polygon points="5,0 10,5 5,10 0,5" {} },
        "errored" => html! { path d="M1 1 9 9M9 1 1 9" {} },
        "scored" => html! { rect x="1.5" y="1.5" width="7" height="7" {} },
        _ => html! { circle.hollow cx="5" cy="5" r="3.5" {} },
    };
    html! { svg.key.(class) viewBox="0 0 10 10" aria-hidden="true" { (shape) } }
}

/// Runs with a colour and a line of their own; further ones are drawn one below the other.
pub(super) const OVERLAID_MAX: usize = 5;

/// The line that stands for one of several runs.
pub(crate) fn run_key(run: usize) -> Markup {
    html! {
        svg.run-key.(format!("run-{run}")) viewBox="0 0 18 10" aria-hidden="true" { line x1="0" x2="18" y1="5" y2="5" {} }
    }
}

/// The size of a histogram.
const BARS_WIDTH: f64 = 340.0;
const BARS_HEIGHT: f64 = 104.0;
/// The room at the ends, for labels that stand below the first and the last bar.
const BARS_EDGE: f64 = 18.0;
/// How wide a character of a label is, at most.
const CHARACTER: f64 = 6.4;

/// The spread of one thing in one run or in several. All have the same bars.
pub(super) fn histogram(spreads: &[(usize, &Distribution)]) -> Markup {
    let Some((_, first)) = spreads.first() else { return html! {} };
    let is_several = spreads.len() > 1;
    let of = |spread: &Distribution| match spread.of {
        DistributionOf::Samples => pluralize(spread.n, "sample"),
        DistributionOf::Attempts => pluralize(spread.n, "attempt"),
    };
    let about = if is_several {
        let what = if first.of == DistributionOf::Samples { "samples" } else { "attempts" };
        format!("share of {what} in each run")
    } else {
        of(first)
    };
    let beyond: u64 = spreads.iter().map(|(_, spread)| spread.beyond).sum();
    let scale = Scale::of(first.unit, first.bars.last().map_or(0.0, |bar| bar.upper));
    let (lower, upper) = ends(first, scale);
    let words = format!("{}, {about}, from {lower} to {upper}", first.name);
    html! {
        figure.spread {
            figcaption { b { (super::name(&first.name)) } " " span.quiet { (about) @if beyond > 0 { ", " (count(beyond)) " out of time" } } }
            @if spreads.len() > OVERLAID_MAX {
                @for (run, spread) in spreads {
                    div.strip { span.quiet { (run + 1) } (bars(&[(*run, spread)], scale, true)) }
                }
            } @else {
                svg viewBox=(format!("0 0 {BARS_WIDTH} {}", BARS_HEIGHT + 18.0)) role="img" aria-label=(words) {
                    (bars(spreads, scale, false))
                }
            }
        }
    }
}

/// How high a bar is, of the highest: by counts for one run, by shares for several, which may have different numbers.
fn heights(spreads: &[(usize, &Distribution)]) -> (f64, impl Fn(&Distribution, &Bar) -> f64) {
    let is_several = spreads.len() > 1;
    let height = move |spread: &Distribution, bar: &Bar| {
        if is_several { bar.count as f64 / spread.n.max(1) as f64 } else { bar.count as f64 }
    };
    let all = spreads.iter().flat_map(|(_, spread)| spread.bars.iter().map(move |bar| (*spread, bar)));
    let most = all.map(|(spread, bar)| height(spread, bar)).fold(0.0, f64::max);
    (if most > 0.0 { most } else { 1.0 }, height)
}

fn bars(spreads: &[(usize, &Distribution)], scale: Scale, is_strip: bool) -> Markup {
    let (most, height) = heights(spreads);
    let first = spreads[0].1;
    let by_value = first.bars.iter().all(|bar| bar.lower == bar.upper);
    let top = if is_strip { 2.0 } else { 18.0 };
    let slot = (BARS_WIDTH - 2.0 * BARS_EDGE) / first.bars.len() as f64;
    let is_several = spreads.len() > 1;
    // What is there is seen, however little it is.
    let tall = |spread: &Distribution, bar: &Bar| {
        let tall = height(spread, bar) / most * (BARS_HEIGHT - top);
        if bar.count > 0 { tall.max(1.5) } else { 0.0 }
    };
    let left = |place: usize| BARS_EDGE + place as f64 * slot;
    let gap = if by_value { (slot * 0.3).min(14.0) } else { 1.0 };
    let thin = (slot - gap) / spreads.len() as f64;
    let picture = html! {
        line.base x1=(BARS_EDGE) x2=(BARS_WIDTH - BARS_EDGE) y1=(BARS_HEIGHT) y2=(BARS_HEIGHT) {}
        @for (nth, (run, spread)) in spreads.iter().enumerate() {
            @let class = if is_several { format!("run-{run}") } else { "bar".to_owned() };
            @if is_several && !by_value {
                (outline(&class, spread, |bar| tall(spread, bar), left))
            } @else {
                @for (place, bar) in spread.bars.iter().enumerate() {
                    @let x = left(place) + gap / 2.0 + nth as f64 * thin;
                    rect class=(class) x=(px(x)) y=(px(BARS_HEIGHT - tall(spread, bar))) width=(px(thin.max(0.5))) height=(px(tall(spread, bar))) {
                        title { (range(bar, scale)) ": " (count(bar.count)) }
                    }
                }
            }
        }
        (highest(spreads, |spread, bar| tall(spread, bar), |spread, bar| height(spread, bar), left, slot, by_value && !is_several))
        (labels(first, scale, left, slot, by_value))
    };
    if !is_strip {
        return picture;
    }
    html! { svg viewBox=(format!("0 0 {BARS_WIDTH} {}", BARS_HEIGHT + 18.0)) aria-hidden="true" { (picture) } }
}

/// A run as a line over the bars, so that others can be seen behind it.
fn outline(class: &str, spread: &Distribution, tall: impl Fn(&Bar) -> f64, left: impl Fn(usize) -> f64) -> Markup {
    let mut path = format!("M{} {}", px(left(0)), px(BARS_HEIGHT));
    for (place, bar) in spread.bars.iter().enumerate() {
        path += &format!("V{}H{}", px(BARS_HEIGHT - tall(bar)), px(left(place + 1)));
    }
    path += &format!("V{}", px(BARS_HEIGHT));
    html! { path.outline.(class) d=(path) {} }
}

/// The number above the highest bar, or above each where there is room for all.
fn highest(
    spreads: &[(usize, &Distribution)],
    tall: impl Fn(&Distribution, &Bar) -> f64,
    height: impl Fn(&Distribution, &Bar) -> f64,
    left: impl Fn(usize) -> f64,
    slot: f64,
    is_each: bool,
) -> Markup {
    let text = |spread: &Distribution, bar: &Bar| {
        if spreads.len() > 1 { Scale::Percent.text(height(spread, bar)) } else { count(bar.count) }
    };
    let all = || {
        spreads
            .iter()
            .flat_map(|(_, spread)| spread.bars.iter().enumerate().map(move |(place, bar)| (*spread, place, bar)))
    };
    let fits = all().all(|(spread, _, bar)| text(spread, bar).len() as f64 * CHARACTER + 4.0 <= slot);
    let best = all().reduce(|best, one| if height(one.0, one.2) > height(best.0, best.2) { one } else { best });
    let shown: Vec<_> = if is_each && fits { all().collect() } else { best.into_iter().collect() };
    html! {
        @for (spread, place, bar) in shown {
            @let words = text(spread, bar);
            @let half = words.len() as f64 * CHARACTER / 2.0;
            @let x = (left(place) + slot / 2.0).clamp(half, BARS_WIDTH - half);
            text.count x=(px(x)) y=(px(BARS_HEIGHT - tall(spread, bar) - 4.0)) text-anchor="middle" { (words) }
        }
    }
}

/// The labels below: as many of the values, or of round numbers, as do not touch one another.
fn labels(spread: &Distribution, scale: Scale, left: impl Fn(usize) -> f64, slot: f64, by_value: bool) -> Markup {
    let placed: Vec<(f64, String)> = if by_value {
        let label = |(place, bar): (usize, &Bar)| (left(place) + slot / 2.0, bar_label(scale, bar.lower));
        spread.bars.iter().enumerate().map(label).collect()
    } else {
        let (lower, upper) = (spread.bars[0].lower, spread.bars[spread.bars.len() - 1].upper);
        let axis = Axis::between(scale, lower, upper);
        let width = slot * spread.bars.len() as f64;
        axis.ticks().into_iter().map(|(x, label)| (left(0) + axis.share(x) * width, label)).collect()
    };
    html! {
        @for (x, label) in without_collisions(placed) {
            text x=(px(x)) y=(BARS_HEIGHT + 13.0) text-anchor="middle" { (label) }
        }
    }
}

/// Labels that do not touch: every one, every second one, and so on.
fn without_collisions(placed: Vec<(f64, String)>) -> Vec<(f64, String)> {
    let half = |label: &str| label.chars().count() as f64 * CHARACTER / 2.0 + 3.0;
    let is_free = |every: &usize| {
        let kept: Vec<&(f64, String)> = placed.iter().step_by(*every).collect();
        kept.windows(2).all(|pair| pair[0].0 + half(&pair[0].1) <= pair[1].0 - half(&pair[1].1))
    };
    let every = (1..=placed.len().max(1)).find(is_free).unwrap_or(1);
    placed.into_iter().step_by(every).collect()
}

fn ends(spread: &Distribution, scale: Scale) -> (String, String) {
    let lower = spread.bars.first().map_or(0.0, |bar| bar.lower);
    let upper = spread.bars.last().map_or(0.0, |bar| bar.upper);
    (bar_label(scale, lower), bar_label(scale, upper))
}

fn range(bar: &Bar, scale: Scale) -> String {
    if bar.lower == bar.upper {
        return bar_label(scale, bar.lower);
    }
    format!("{} to {}", bar_label(scale, bar.lower), bar_label(scale, bar.upper))
}

/// Counts by name, as bars that lie.
pub(super) fn counts(bars: &[(String, u64)]) -> Markup {
    let most = bars.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    html! {
        table.counts {
            @for (name, number) in bars {
                tr {
                    th scope="row" { (name) }
                    td.wide { (lying_bar(*number as f64 / most as f64)) }
                    td.num { (count(*number)) }
                }
            }
        }
    }
}

/// A bar of this share of its cell.
pub(super) fn lying_bar(share: f64) -> Markup {
    let width = if share > 0.0 { (share * 100.0).max(0.6) } else { 0.0 };
    html! {
        svg.lying viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" {
            rect.bar x="0" y="0" height="10" width=(px(width)) {}
        }
    }
}

/// A place in a picture: tenths of a pixel are plenty.
pub(crate) fn px(x: f64) -> String {
    format!("{x:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_do_not_touch_one_another() {
        let placed = |step: f64| (0..12).map(|i| (f64::from(i) * step, "0.667".to_owned())).collect::<Vec<_>>();
        assert_eq!(without_collisions(placed(60.0)).len(), 12);
        let thinned = without_collisions(placed(24.0));
        assert_eq!(thinned.len(), 6);
        assert_eq!(without_collisions(Vec::new()), Vec::new());
    }
}
