//! Estimates with their intervals, drawn with letters: one axis, one row per figure.

use crate::compare::text::plot_point;
use crate::compare::words::attempts;
use crate::gate::words::gate_name;
use crate::numbers::{Scale as Numbers, factor, number};
use crate::results::cells::figure_scale;
use crate::screen::Screen;
use crate::text::{clean, left, right, shorten_apart};
use calipers_compare::{AttemptCounts, ChangeScale, CompareReport, MetricComparison, RunComparison, SampleChange};
use calipers_core::{Report, RunReport, ScoreResult, Unit};
use calipers_gate::{GateReport, GateResult};
use unicode_width::UnicodeWidthStr;

/// What is drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Lines and dots.
    Unicode,
    /// What every terminal has.
    Ascii,
}

/// The letters of a plot.
pub(super) struct Letters {
    line: char,
    left: char,
    right: char,
    open_left: char,
    open_right: char,
    dot: char,
    mark: char,
    passed: char,
    failed: char,
    pub(super) corner: char,
    pub(super) axis: char,
    pub(super) wall: char,
}

impl Ink {
    pub(super) fn letters(self) -> Letters {
        match self {
            Self::Unicode => Letters {
                line: '─',
                left: '├',
                right: '┤',
                open_left: '◂',
                open_right: '▸',
                dot: '●',
                mark: '┊',
                passed: '■',
                failed: '□',
                corner: '└',
                axis: '─',
                wall: '│',
            },
            Self::Ascii => Letters {
                line: '-',
                left: '[',
                right: ']',
                open_left: '<',
                open_right: '>',
                dot: 'o',
                mark: ':',
                passed: '#',
                failed: '.',
                corner: '+',
                axis: '-',
                wall: '|',
            },
        }
    }
}

/// A figure to draw.
struct Row {
    label: String,
    estimate: f64,
    /// None where the interval is open.
    lower: Option<f64>,
    upper: Option<f64>,
    /// What it is compared with.
    mark: Option<f64>,
    /// The estimate in words.
    shown: String,
}

/// Figures that share an axis.
struct Forest {
    title: String,
    rows: Vec<Row>,
    /// How numbers on the axis are written.
    tick: fn(f64) -> String,
    /// Ratios are as far from 1 when halved as when doubled.
    is_logarithmic: bool,
}

/// As much of a name.
const LABEL_MAX: usize = 26;
/// A plot that is narrower tells nothing.
const PLOT_MIN: usize = 16;
/// Figures of one plot; more are in the tables.
const ROWS_MAX: usize = 40;

/// Samples whose attempts are drawn.
const SPARKS_MAX: usize = 16;

impl Forest {
    fn text(&self, screen: Screen, ink: Ink) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let shown = &self.rows[..self.rows.len().min(ROWS_MAX)];
        let labels: Vec<String> = shown.iter().map(|row| clean(&row.label)).collect();
        let labels = shorten_apart(&labels, LABEL_MAX);
        let widest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
        let label = widest(&mut labels.iter().map(|label| label.width()));
        let value = widest(&mut shown.iter().map(|row| row.shown.width()));
        let width = screen.width.saturating_sub(label + value + 6).max(PLOT_MIN);
        let axis = Axis::of(shown, width, self.is_logarithmic);
        let mut text = format!("{}\n", screen.style.bold(&self.title));
        for (row, name) in shown.iter().zip(&labels) {
            let drawn = axis.row(row, &ink.letters());
            text += format!("  {}  {drawn}  {}", left(name, label), right(&row.shown, value)).trim_end();
            text.push('\n');
        }
        text += &axis.ticks(2 + label + 2, self.tick);
        if self.rows.len() > shown.len() {
            text += &format!("  and {} more\n", self.rows.len() - shown.len());
        }
        text
    }
}

/// Where numbers lie in a row of letters.
struct Axis {
    low: f64,
    high: f64,
    width: usize,
    is_logarithmic: bool,
}

impl Axis {
    fn of(rows: &[Row], width: usize, is_logarithmic: bool) -> Self {
        let all = || rows.iter().flat_map(|row| [row.lower, row.upper, Some(row.estimate), row.mark]).flatten();
        let (low, high) = all().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        // A single number has room on both sides.
        let room = if high > low { 0.0 } else { high.abs().max(1.0) * 0.1 };
        let low = if is_logarithmic { (low - room).max(f64::MIN_POSITIVE) } else { low - room };
        Self { low, high: high + room, width, is_logarithmic }
    }

    fn column(&self, x: f64) -> usize {
        let at = |x: f64| if self.is_logarithmic { x.max(f64::MIN_POSITIVE).ln() } else { x };
        let share = (at(x) - at(self.low)) / (at(self.high) - at(self.low));
        (share.clamp(0.0, 1.0) * (self.width - 1) as f64).round() as usize
    }

    fn row(&self, row: &Row, letters: &Letters) -> String {
        let mut cells = vec![' '; self.width];
        if let Some(mark) = row.mark {
            cells[self.column(mark)] = letters.mark;
        }
        let from = row.lower.map_or(0, |x| self.column(x));
        let to = row.upper.map_or(self.width - 1, |x| self.column(x));
        for cell in &mut cells[from..=to] {
            *cell = if *cell == letters.mark { letters.mark } else { letters.line };
        }
        cells[from] = if row.lower.is_some() { letters.left } else { letters.open_left };
        cells[to] = if row.upper.is_some() { letters.right } else { letters.open_right };
        cells[self.column(row.estimate)] = letters.dot;
        cells.into_iter().collect()
    }

    /// Both ends, and the middle where there is room.
    fn ticks(&self, start: usize, tick: fn(f64) -> String) -> String {
        let (low, high) = (tick(self.low), tick(self.high));
        let room = self.width.saturating_sub(low.width() + high.width());
        format!("{}{low}{}{high}\n", " ".repeat(start), " ".repeat(room))
    }
}

/// The changes of all metrics as a forest plot, and the attempts at flaky samples.
#[must_use]
pub fn compare_plot(report: &CompareReport, screen: Screen, ink: Ink) -> String {
    let several = report.comparisons.len() > 1;
    let all = || {
        report.comparisons.iter().flat_map(|comparison| {
            let metrics = comparison.metrics.iter().chain(&comparison.resources);
            metrics.map(move |metric| (comparison, metric))
        })
    };
    let rows = |fits: &dyn Fn(&MetricComparison) -> bool, mark: f64| -> Vec<Row> {
        all()
            .filter(|(_, metric)| fits(metric))
            .filter_map(|(comparison, metric)| {
                let (estimate, lower, upper, shown) = plot_point(metric)?;
                let against = if several { format!(" / {}", comparison.baseline) } else { String::new() };
                Some(Row { label: metric.metric.clone() + &against, estimate, lower, upper, mark: Some(mark), shown })
            })
            .collect()
    };
    let is_rate = |metric: &MetricComparison| metric.scale == ChangeScale::Difference && metric.unit == Unit::Rate;
    let is_score = |metric: &MetricComparison| metric.scale == ChangeScale::Difference && metric.unit != Unit::Rate;
    let is_ratio = |metric: &MetricComparison| metric.scale == ChangeScale::Ratio;
    let forests = [
        Forest {
            title: "change in points; the dotted line is no change".into(),
            rows: rows(&is_rate, 0.0),
            tick: |x| Numbers::Points.change(x),
            is_logarithmic: false,
        },
        Forest {
            title: "change; the dotted line is no change".into(),
            rows: rows(&is_score, 0.0),
            tick: |x| Numbers::Number.change(x),
            is_logarithmic: false,
        },
        Forest {
            title: "change as a factor; the dotted line is no change".into(),
            rows: rows(&is_ratio, 1.0),
            tick: factor,
            is_logarithmic: true,
        },
    ];
    let mut sections: Vec<String> = forests.iter().map(|forest| forest.text(screen, ink)).collect();
    if let [RunComparison { samples: Ok(samples), .. }] = &report.comparisons[..] {
        sections.push(sparks(&samples.flaky, screen, ink));
    }
    screen.defuse(&join_columns(sections))
}

/// The attempts at flaky samples, before and now.
fn sparks(flaky: &[SampleChange], screen: Screen, ink: Ink) -> String {
    let shown = &flaky[..flaky.len().min(SPARKS_MAX)];
    if shown.is_empty() {
        return String::new();
    }
    let names: Vec<String> = shown.iter().map(|sample| clean(&sample.id.to_string())).collect();
    let names = shorten_apart(&names, LABEL_MAX);
    let width = names.iter().map(|name| name.width()).max().unwrap_or(0);
    let before: Vec<String> = shown.iter().map(|sample| spark(sample.baseline, ink)).collect();
    let column = before.iter().map(|text| text.width()).max().unwrap_or(0).max("before".len());
    let header = format!("  {}  {}  now", left("", width), left("before", column));
    let mut text = format!("{}\n{}\n", screen.style.bold("attempts at flaky samples, those that passed first"), header);
    for ((sample, name), before) in shown.iter().zip(&names).zip(&before) {
        let line = format!("  {}  {}  {}", left(name, width), left(before, column), spark(sample.candidate, ink));
        text += &format!("{}\n", line.trim_end());
    }
    if flaky.len() > shown.len() {
        text += &format!("  and {} more\n", flaky.len() - shown.len());
    }
    text
}

/// A letter for each attempt, or for each tenth of many.
fn spark(told: AttemptCounts, ink: Ink) -> String {
    const MOST: u64 = 10;
    let letters = ink.letters();
    let total = told.scored.min(MOST);
    let passed = match told.scored {
        0 => 0,
        all if all <= MOST => told.passed,
        // What is neither all nor nothing does not look like it.
        all => (told.passed * MOST / all).clamp(u64::from(told.passed > 0), MOST - u64::from(told.passed < all)),
    };
    let cells: String = (0..total).map(|at| if at < passed { letters.passed } else { letters.failed }).collect();
    format!("{cells} {}", attempts(told))
}

/// The gates of a verdict as a forest plot: the dotted line is the threshold.
#[must_use]
pub fn gate_plot(report: &GateReport, screen: Screen, ink: Ink) -> String {
    let row = |gate: &GateResult| {
        let figure = gate.figure.as_ref()?;
        let (estimate, interval) = (figure.value.clone().ok()?, figure.interval?);
        let shown = Numbers::of(gate.unit, estimate).text(estimate);
        let mark = gate.threshold.map(|rule| rule.value);
        Some(Row { label: gate_name(gate), estimate, lower: interval.lower, upper: interval.upper, mark, shown })
    };
    let of = |title: &str, fits: &dyn Fn(Unit) -> bool, tick: fn(f64) -> String| Forest {
        title: format!("{title}; the dotted line is the threshold"),
        rows: report.gates.iter().filter(|gate| fits(gate.unit)).filter_map(row).collect(),
        tick,
        is_logarithmic: false,
    };
    let forests = [
        of("rates", &|unit| unit == Unit::Rate, |x| Numbers::Percent.text(x)),
        of("latency", &|unit| unit == Unit::Milliseconds, |x| Numbers::Seconds.text(x)),
        of("other gates", &|unit| !matches!(unit, Unit::Rate | Unit::Milliseconds), number),
    ];
    screen.defuse(&join_columns(forests.iter().map(|forest| forest.text(screen, ink)).collect()))
}

/// The figures of runs that have intervals: what lies between 0 and 1 on one axis, anything else by metric.
#[must_use]
pub fn results_plot(report: &Report, screen: Screen, ink: Ink) -> String {
    let mut forests: Vec<(Option<&str>, Unit, Vec<Row>)> = vec![(None, Unit::Plain, Vec::new())];
    for run in &report.runs {
        let scores = run.results.scores.iter();
        for (score, (name, metric)) in scores.flat_map(|score| score.metrics.iter().map(move |one| (score, one))) {
            let Some(row) = figure_row(report, run, score, name) else { continue };
            let is_within = row.lower.is_some_and(|x| x >= 0.0) && row.upper.is_some_and(|x| x <= 1.0);
            // A dollar is no share, however few cents it is.
            let is_share = is_within && matches!(metric.unit, Unit::Rate | Unit::Plain);
            let title = (!is_share).then_some(&*metric.name);
            match forests.iter_mut().find(|(known, ..)| *known == title) {
                Some((.., rows)) => rows.push(row),
                None => forests.push((title, metric.unit, vec![row])),
            }
        }
    }
    let text = |(title, unit, rows): (Option<&str>, Unit, Vec<Row>)| {
        let title = title.map_or_else(|| "estimates with their intervals".to_owned(), clean);
        let tick: fn(f64) -> String = match unit {
            Unit::Milliseconds => |x| Numbers::of(Unit::Milliseconds, x).text(x),
            Unit::Usd => |x| Numbers::Usd.text(x),
            Unit::Rate | Unit::Tokens | Unit::Ratio | Unit::Plain => number,
        };
        Forest { title, rows, tick, is_logarithmic: false }.text(screen, ink)
    };
    screen.defuse(&join_columns(forests.into_iter().map(text).collect()))
}

fn figure_row(report: &Report, run: &RunReport, score: &ScoreResult, name: &str) -> Option<Row> {
    let metric = score.metrics.get(name)?;
    let figure = &metric.figure;
    let estimate = run.results.shown(figure).ok()?;
    let interval = figure.interval?;
    let mut label = name.to_owned();
    if run.results.scores.len() > 1 {
        label = format!("{} {label}", score.name);
    }
    if report.runs.len() > 1 {
        label = format!("{label} / {}", run.source.rsplit('/').next().unwrap_or_default());
    }
    let shown = figure_scale(metric.unit, estimate).text(estimate);
    Some(Row { label, estimate, lower: interval.lower, upper: interval.upper, mark: None, shown })
}

fn join_columns(mut sections: Vec<String>) -> String {
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spark_shows_no_more_than_ten_attempts_and_never_hides_a_failure() {
        for (passed, scored, want) in [
            (0, 0, " 0/0"),
            (2, 3, "##. 2/3"),
            (10, 10, "########## 10/10"),
            (99, 100, "#########. 99/100"),
            (1, 100, "#......... 1/100"),
            (0, 100, ".......... 0/100"),
            (100, 100, "########## 100/100"),
        ] {
            assert_eq!(spark(AttemptCounts { passed, scored }, Ink::Ascii), want);
        }
    }

    fn row(estimate: f64, lower: Option<f64>, upper: Option<f64>, mark: Option<f64>) -> Row {
        Row { label: "accuracy".into(), estimate, lower, upper, mark, shown: String::new() }
    }

    #[test]
    fn an_interval_is_drawn_between_its_ends_and_open_where_it_has_none() {
        let axis = Axis { low: 0.0, high: 10.0, width: 11, is_logarithmic: false };
        for (row, want) in [
            (row(5.0, Some(2.0), Some(8.0), None), "  [--o--]  "),
            (row(5.0, Some(2.0), Some(8.0), Some(0.0)), ": [--o--]  "),
            (row(5.0, Some(2.0), Some(8.0), Some(7.0)), "  [--o-:]  "),
            (row(5.0, None, Some(8.0), None), "<----o--]  "),
            (row(5.0, Some(2.0), None, None), "  [--o---->"),
            (row(0.0, Some(0.0), Some(0.0), None), "o          "),
        ] {
            assert_eq!(axis.row(&row, &Ink::Ascii.letters()), want);
        }
    }

    #[test]
    fn a_factor_and_its_inverse_are_equally_far_from_1() {
        let axis = Axis { low: 0.25, high: 4.0, width: 21, is_logarithmic: true };
        for (x, column) in [(0.25, 0), (0.5, 5), (1.0, 10), (2.0, 15), (4.0, 20), (9.0, 20), (0.0, 0)] {
            assert_eq!(axis.column(x), column, "{x}");
        }
    }

    #[test]
    fn more_rows_than_fit_are_counted() {
        let rows = (0..ROWS_MAX + 2).map(|_| row(0.5, Some(0.4), Some(0.6), None)).collect();
        let forest = Forest { title: "rates".into(), rows, tick: number, is_logarithmic: false };
        let text = forest.text(Screen { width: 60, ..Screen::PLAIN }, Ink::Ascii);
        assert_eq!((text.lines().count(), text.lines().last()), (ROWS_MAX + 3, Some("  and 2 more")));
    }
}
