//! A verdict on a page: the gates with their intervals, categories, formulas and required scenarios.

use super::axis::{Axis, reach};
use super::plots::{Mark, TableAxes, forest, key, no_change};
use super::{link, name, number_cell, sentence};
use crate::gate::cells::Cells;
use crate::gate::rule_words::requirement;
use crate::gate::words::{coverage, estimate, interval, interval_header, missing_from, remarks, scenarios};
use crate::numbers::{Scale, count, number};
use crate::outcome_words::{outcome_word, shortcoming_sentence};
use calipers_core::{ScenarioOutcome, Unit, Verdict};
use calipers_gate::policy::{BaselineMode, Level, Rule};
use calipers_gate::{CategoryResult, CompositeResult, GateKind, GateReport, GateResult, ScenarioCheck};
use maud::{Markup, html};

/// Columns before the pictures, and after them.
const AROUND: (usize, usize) = (2, 5);

pub(super) fn gates(report: &GateReport) -> Markup {
    let categories = without_gate(report);
    let of_gates = report.gates.iter().map(|gate| gate_axis(gate, report));
    let of_categories = categories.iter().map(|category| category.figure.value.is_ok().then_some(Axis::RATES));
    let mut axes = TableAxes::new(of_gates.chain(of_categories), AROUND);
    html! {
        section #gates {
            h2 { "Gates" }
            table.forest {
                thead {
                    tr {
                        th { "verdict" } th { "gate" } (axes.header())
                        th.num { "estimate" } th.num { (interval_header(report)) } th.num { "threshold" } th.num { "margin" } th.num { "n" }
                    }
                }
                @for (level, words) in [(Level::Blocking, "blocking"), (Level::Warning, "warning")] {
                    @let of_level = of_level(report, level);
                    @if !of_level.is_empty() {
                        tbody {
                            tr.level { th colspan="8" scope="rowgroup" { (words) } }
                            @for gate in of_level { (axes.before(gate_axis(gate, report))) (row(gate, report)) }
                        }
                    }
                }
                @if !categories.is_empty() {
                    tbody {
                        tr.level { th colspan="8" scope="rowgroup" { "categories without a gate, pass rates" } }
                        (axes.before(Some(Axis::RATES)))
                        @for category in categories { (category_row(category)) }
                    }
                }
            }
            p.quiet.legend {
                span { (key("passed")) "passes" } span { (key("failed")) "fails" } span { (key("unscored")) "undecided" }
                span { "dashed: the threshold, with an arrow to the side that passes" }
            }
            (required_scenarios(&report.required))
            @for composite in &report.composites { (formula(composite)) }
            p.about { (scenarios(&report.coverage)) ": " (coverage(&report.coverage).join(" · ")) }
            @if !report.coverage.missing.is_empty() {
                p { b { (report.coverage.missing.len()) " " (missing_from(&report.coverage)) } ": " (names(&report.coverage.missing)) }
            }
        }
    }
}

/// The gates of a level: as in the policy, with those on one scale together.
fn of_level(report: &GateReport, level: Level) -> Vec<&GateResult> {
    let mut gates: Vec<&GateResult> = report.gates.iter().filter(|gate| gate.level == level).collect();
    gates.sort_by_key(|gate| match gate.unit {
        _ if gate_axis(gate, report).is_none() => 0,
        _ if is_difference(gate) => 5,
        Unit::Rate => 0,
        Unit::Plain | Unit::Ratio => 1,
        Unit::Milliseconds => 2,
        Unit::Usd => 3,
        Unit::Tokens => 4,
    });
    gates
}

/// The scale of a gate, which gates with the same unit share. Plain numbers of one metric need not be like those of another.
fn gate_axis(gate: &GateResult, report: &GateReport) -> Option<Axis> {
    gate.figure.as_ref().filter(|figure| figure.value.is_ok())?;
    let is_own = matches!(gate.unit, Unit::Plain | Unit::Ratio);
    let is_alike = |other: &&GateResult| {
        other.unit == gate.unit
            && is_difference(other) == is_difference(gate)
            && (!is_own || other.metric == gate.metric)
    };
    let drawn = report.gates.iter().filter(is_alike).flat_map(|other| {
        let figures = other.figure.as_ref().map_or_else(Vec::new, |figure| reach(figure).collect());
        figures.into_iter().chain(other.threshold.map(|rule| rule.value))
    });
    Some(if is_difference(gate) { Axis::of_differences(gate.unit, drawn) } else { Axis::of_unit(gate.unit, drawn) })
}

fn is_difference(gate: &GateResult) -> bool {
    gate.kind == GateKind::Baseline(BaselineMode::NonInferiority)
}

fn mark(verdict: Verdict) -> Mark {
    match verdict {
        Verdict::Pass => Mark::Good,
        Verdict::Fail => Mark::Bad,
        Verdict::Undecided => Mark::Open,
    }
}

/// The word for a verdict, with its shape.
fn badge(verdict: Verdict) -> Markup {
    let class = match verdict {
        Verdict::Pass => "passed",
        Verdict::Fail => "failed",
        Verdict::Undecided => "unscored",
    };
    html! { span.badge.(class) { (key(class)) (verdict.name()) } }
}

fn row(gate: &GateResult, report: &GateReport) -> Markup {
    let cells = Cells::of(gate);
    let remarks = remarks(gate, report);
    html! {
        tr class=(gate.verdict.name()) {
            td { (badge(gate.verdict)) }
            th scope="row" {
                (name(&cells.name))
                // A condition over formulas may fail by a part that has no row.
                @if gate.kind == GateKind::Composite { small { (sentence(&requirement(gate))) } }
                @for remark in &remarks { small { (sentence(remark)) } }
            }
            @if cells.words.is_empty() {
                td.plot {
                    @if let (Some(figure), Some(axis)) = (&gate.figure, gate_axis(gate, report)) {
                        (forest(axis, figure, gate.threshold, mark(gate.verdict)))
                    }
                }
                td.num.estimate data-label="estimate" {
                    b { (cells.estimate) }
                    @if !cells.without_weights.is_empty() { small { "weighted; plain " (cells.without_weights) } }
                }
                (number_cell("interval", &cells.interval))
                (number_cell("threshold", &cells.threshold))
                (number_cell("margin", &cells.margin))
                (number_cell("n", &cells.n))
            } @else {
                td.words colspan="6" { (sentence(&cells.words)) }
            }
        }
    }
}

/// Categories without a gate; those that have one stand among the gates.
fn without_gate(report: &GateReport) -> Vec<&CategoryResult> {
    report.categories.iter().filter(|category| category.gate.is_none()).collect()
}

fn category_row(category: &CategoryResult) -> Markup {
    html! {
        tr {
            td {}
            th scope="row" {
                (name(&category.category))
                @if let Some(weight) = category.weight.filter(|weight| *weight != 1.0) { small { "counts × " (number(weight)) } }
            }
            @if category.figure.value.is_ok() {
                td.plot { (forest(Axis::RATES, &category.figure, None, Mark::Plain)) }
                td.num.estimate data-label="estimate" { b { (estimate(&category.figure, Unit::Rate)) } }
                (number_cell("interval", &interval(&category.figure, Scale::Percent)))
                td {} td {}
                (number_cell("n", &count(category.figure.n)))
            } @else {
                td.words colspan="6" { (estimate(&category.figure, Unit::Rate)) }
            }
        }
    }
}

/// Names that are listed before the rest is counted.
const NAMES_MAX: usize = 40;

/// Samples by name, each with a link.
pub(super) fn names(ids: &[String]) -> Markup {
    html! {
        @for (place, id) in ids.iter().take(NAMES_MAX).enumerate() {
            @if place > 0 { ", " }
            (link(id))
        }
        @if ids.len() > NAMES_MAX { " and " (ids.len() - NAMES_MAX) " more" }
    }
}

/// Required scenarios that did not pass in full.
fn required_scenarios(all: &[ScenarioCheck]) -> Markup {
    let passed =
        |check: &&ScenarioCheck| check.outcome == Some(ScenarioOutcome::Passed) && check.passed.0 == check.passed.1;
    let rest: Vec<&ScenarioCheck> = all.iter().filter(|check| !passed(check)).collect();
    if rest.is_empty() {
        return html! {};
    }
    html! {
        h3 { "Required scenarios that did not pass in full" }
        ul {
            @for check in rest.iter().take(NAMES_MAX) {
                li {
                    (link(&check.id)) " " (outcome_word(check.outcome))
                    @if check.passed.1 > 1 { ", " (check.passed.0) " of " (check.passed.1) " attempts" }
                    @if let Some(reason) = &check.reason { ": " (sentence(&shortcoming_sentence(reason))) }
                }
            }
        }
        @if rest.len() > NAMES_MAX { p.quiet { "and " (rest.len() - NAMES_MAX) " more" } }
    }
}

/// A formula with what each term adds.
fn formula(composite: &CompositeResult) -> Markup {
    html! {
        h3 { (name(&composite.name)) " " b { (estimate(&composite.figure, Unit::Plain)) } " " span.quiet { (interval(&composite.figure, Scale::Number)) } }
        table.plain.narrow {
            tbody {
                @for term in &composite.terms {
                    tr {
                        th scope="row" { (sentence(&term.text)) }
                        td.num { (term.value.map_or_else(|| "undefined".to_owned(), number)) }
                        td.quiet {
                            @for (metric, value) in &term.metrics {
                                (name(metric)) " " (value.map_or_else(|| "undefined".to_owned(), number)) " "
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A difference held against no change.
pub(super) fn at_zero() -> Option<Rule> {
    Some(no_change(0.0))
}
