//! The picture of a trend as SVG: points with intervals, lines that are interrupted where the test changed.

use super::{TrendPoint, TrendView, day, run_address};
use crate::page::axis::Axis;
use crate::page::plots::px;
use crate::page::{PageOutcome, name};
use crate::results::figure_scale;
use calipers_compare::ChangeVerdict;
use calipers_core::Unit;
use maud::{Markup, html};

const HEIGHT: f64 = 320.0;
const LEFT: f64 = 54.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 34.0;
/// A label of a date takes so much room.
const DATE_WIDTH: f64 = 76.0;
/// With more points than this, they are drawn smaller.
const MANY: usize = 120;

struct Frame {
    axis: Axis,
    width: f64,
    /// The places of points, from 0 to 1.
    places: Vec<f64>,
}

impl Frame {
    fn new(view: &TrendView, unit: Unit, width: f64) -> Self {
        let all = view.points.iter().map(|point| &point.figure);
        let values = all.flat_map(|figure| [figure.value, figure.lower, figure.upper]).flatten();
        let axis = Axis::of_scores(unit, values.filter(|x| x.is_finite()));
        Self { axis, width, places: places(view) }
    }

    fn x(&self, point: usize) -> f64 {
        LEFT + self.places[point] * (self.width - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        TOP + (1.0 - self.axis.share(value)) * (HEIGHT - TOP - BOTTOM)
    }
}

fn places(view: &TrendView) -> Vec<f64> {
    let last = view.points.len().saturating_sub(1).max(1) as f64;
    let times: Vec<i64> = view.points.iter().map(|point| point.run.at_ms).collect();
    let (from, to) = (times.iter().min().copied().unwrap_or(0), times.iter().max().copied().unwrap_or(0));
    if view.points.len() == 1 {
        return vec![0.5];
    }
    let place = |(order, at): (usize, &i64)| match view.by_date && to > from {
        true => (at - from) as f64 / (to - from) as f64,
        false => order as f64 / last,
    };
    times.iter().enumerate().map(place).collect()
}

/// The picture, so many units wide.
pub(super) fn trend_plot(view: &TrendView, unit: Unit, width: f64, words: &str) -> Markup {
    let frame = Frame::new(view, unit, width);
    html! {
        svg.trend-plot viewBox=(format!("0 0 {width} {HEIGHT}")) role="img" aria-label=(words) {
            @for (tick, label) in frame.axis.ticks() {
                @let y = px(frame.y(tick));
                line.grid x1=(LEFT) x2=(px(width - RIGHT)) y1=(y) y2=(y) {}
                text x=(px(LEFT - 8.0)) y=(px(frame.y(tick) + 4.0)) text-anchor="end" { (label) }
            }
            (dates(view, &frame))
            @for (place, point) in view.points.iter().enumerate() { (marks(&frame, place, point)) }
            @for series in 0..view.series.len() { (line(view, &frame, series)) }
            @for (place, point) in view.points.iter().enumerate() { (dot(view, &frame, place, point)) }
        }
    }
}

/// As many dates as fit, from the first on.
fn dates(view: &TrendView, frame: &Frame) -> Markup {
    let mut labelled: Vec<usize> = Vec::new();
    let mut last_text = String::new();
    // A label at an edge begins or ends at its point, and so reaches further than the others, which stand in the middle.
    let is_at_start = |x: f64| x < LEFT + DATE_WIDTH / 2.0;
    let is_at_end = |x: f64| x > frame.width - RIGHT - DATE_WIDTH / 2.0;
    let end = |x: f64| x + if is_at_start(x) { DATE_WIDTH } else { DATE_WIDTH / 2.0 };
    let begin = |x: f64| x - if is_at_end(x) { DATE_WIDTH } else { DATE_WIDTH / 2.0 };
    for place in 0..view.points.len() {
        let is_free = labelled.last().is_none_or(|&last| begin(frame.x(place)) >= end(frame.x(last)));
        let text = day(view.points[place].run.at_ms);
        if is_free && text != last_text {
            labelled.push(place);
            last_text = text;
        }
    }
    html! {
        @for (nth, place) in labelled.iter().enumerate() {
            @let x = frame.x(*place);
            @let anchor = if nth == 0 && is_at_start(x) { "start" } else if is_at_end(x) { "end" } else { "middle" };
            text x=(px(x)) y=(px(HEIGHT - 10.0)) text-anchor=(anchor) { (day(view.points[*place].run.at_ms)) }
        }
    }
}

/// What stands behind the points: an interruption, a new policy, a change.
fn marks(frame: &Frame, place: usize, point: &TrendPoint) -> Markup {
    let x = frame.x(place);
    let before = if place > 0 { (frame.x(place - 1) + x) / 2.0 } else { x - 6.0 };
    let change = point.change.as_ref().map(|change| change.verdict);
    let class = match change {
        Some(ChangeVerdict::Regressed) => "bad",
        Some(ChangeVerdict::Improved) => "good",
        Some(ChangeVerdict::Changed) => "open",
        _ => "",
    };
    html! {
        @if !point.breaks.is_empty() { line.break-line x1=(px(before)) x2=(px(before)) y1=(TOP) y2=(px(HEIGHT - BOTTOM)) {} }
        @if point.is_new_policy { line.policy-line x1=(px(x)) x2=(px(x)) y1=(px(HEIGHT - BOTTOM - 8.0)) y2=(px(HEIGHT - BOTTOM)) {} }
        @if !class.is_empty() { rect.change.(class) x=(px(before)) y=(TOP) width=(px((x - before).max(2.0))) height=(px(HEIGHT - TOP - BOTTOM)) {} }
    }
}

/// The line through the points of a series, in pieces.
fn line(view: &TrendView, frame: &Frame, series: usize) -> Markup {
    let mut pieces: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
    for (place, point) in view.points.iter().enumerate().filter(|(_, point)| point.series == series) {
        if !point.breaks.is_empty() {
            pieces.push(Vec::new());
        }
        match (point.figure.value, pieces.last_mut()) {
            (Some(value), Some(piece)) => piece.push((frame.x(place), frame.y(value))),
            // An undefined figure is no reason to draw a line over it.
            _ => pieces.push(Vec::new()),
        }
    }
    let path = |piece: &Vec<(f64, f64)>| {
        piece.iter().map(|(x, y)| format!("{},{}", px(*x), px(*y))).collect::<Vec<_>>().join(" ")
    };
    html! {
        @for piece in pieces.iter().filter(|piece| piece.len() > 1) {
            polyline class=(format!("outline run-{series}")) points=(path(piece)) {}
        }
    }
}

fn dot(view: &TrendView, frame: &Frame, place: usize, point: &TrendPoint) -> Markup {
    let Some(value) = point.figure.value else { return html! {} };
    let (x, y) = (frame.x(place), frame.y(value));
    let is_many = view.points.len() > MANY;
    let radius = if is_many { 2.0 } else { 4.0 };
    let scale = figure_scale(point.figure.unit, value);
    let interval = if point.figure.has_interval() {
        format!(" {}", scale.interval(point.figure.lower, point.figure.upper))
    } else {
        String::new()
    };
    let lacking = point.run.counts.errored + point.run.counts.unscored + point.run.never_ran() > 0;
    let words =
        format!("{}: {}{interval}, n {}", name(&super::short_name(&point.run)), scale.text(value), point.figure.n);
    html! {
        a href=(run_address(&point.run.key)) {
            title { (words) @if lacking { ", some samples are missing (" (PageOutcome::Errored.name()) " or " (PageOutcome::Unscored.name()) ")" } }
            @if let (Some(lower), Some(upper)) = (point.figure.lower.or(point.figure.value), point.figure.upper.or(point.figure.value)) {
                @if point.figure.has_interval() {
                    line class=(format!("whisker run-{}", point.series)) x1=(px(x)) x2=(px(x)) y1=(px(frame.y(lower))) y2=(px(frame.y(upper))) {}
                }
            }
            circle class=(format!("dot run-{}{}", point.series, if lacking { " lacking" } else { "" })) cx=(px(x)) cy=(px(y)) r=(radius) {}
        }
    }
}
