//! A verdict on a page: the gates with their intervals, categories, formulas and required scenarios.

use super::plots::{Axis, Mark, forest, key, no_change, reach, ticks};
use super::{link, name, sentence};
use crate::gate::cells::Cells;
use crate::gate::rule_words::requirement;
use crate::gate::words::{coverage, estimate, interval, interval_header, missing_from, remarks, scenarios};
use crate::numbers::{Scale, number};
use crate::outcome_words::{outcome_word, shortcoming_sentence};
use calipers_core::{ScenarioOutcome, Unit, Verdict};
use calipers_gate::policy::{BaselineMode, Level, Rule};
use calipers_gate::{CategoryResult, CompositeResult, GateKind, GateReport, GateResult, ScenarioCheck};
use maud::{Markup, html};

pub(super) fn gates(report: &GateReport) -> Markup {
    let is_rate = |gate: &&GateResult| gate.unit == Unit::Rate && !is_difference(gate);
    let rates = report.gates.iter().filter(is_rate);
    let on_rates = rates.flat_map(|gate| gate.threshold.map(|rule| rule.value).into_iter().chain(figures(gate)));
    let of_categories = report.categories.iter().flat_map(|category| reach(&category.figure));
    let axis = Axis::of_rates(on_rates.chain(of_categories));
    html! {
        section #gates {
            h2 { "Gates" }
            table.forest {
                thead {
                    tr {
                        th { "verdict" } th { "gate" } th.plot { (ticks(axis, Scale::Percent)) }
                        th.num { "estimate" } th.num { (interval_header(report)) } th.num { "threshold" } th.num { "margin" } th.num { "n" }
                    }
                }
                @for (level, words) in [(Level::Blocking, "blocking"), (Level::Warning, "warning")] {
                    @let of_level: Vec<&GateResult> = report.gates.iter().filter(|gate| gate.level == level).collect();
                    @if !of_level.is_empty() {
                        tbody {
                            tr.level { th colspan="8" scope="rowgroup" { (words) } }
                            @for gate in of_level { (row(gate, report, axis)) }
                        }
                    }
                }
                (categories(report, axis))
            }
            p.quiet.legend {
                span { (key("passed")) "passes" } span { (key("failed")) "fails" } span { (key("unscored")) "undecided" }
                span { "dashed: the threshold, with an arrow to the side that is asked for" }
                span { "what is no rate has a scale of its own, from 0" }
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

fn figures(gate: &GateResult) -> Vec<f64> {
    gate.figure.as_ref().map_or_else(Vec::new, |figure| reach(figure).collect())
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

fn row(gate: &GateResult, report: &GateReport, rates: Axis) -> Markup {
    let cells = Cells::of(gate);
    let numbers = || figures(gate).into_iter().chain(gate.threshold.map(|rule| rule.value));
    let axis = match gate.unit {
        _ if is_difference(gate) => Axis::around(0.0, numbers()),
        Unit::Rate => rates,
        _ => Axis::from_zero(numbers()),
    };
    let remarks = remarks(gate, report);
    html! {
        tr class=(gate.verdict.name()) {
            td { (badge(gate.verdict)) }
            th scope="row" {
                (name(&cells.name))
                // A condition over formulas may fail by a part that has no row of its own.
                @if gate.kind == GateKind::Composite { small { (sentence(&requirement(gate))) } }
                @for remark in &remarks { small { (sentence(remark)) } }
            }
            @if cells.words.is_empty() {
                td.plot { @if let Some(figure) = &gate.figure { (forest(axis, figure, gate.threshold, mark(gate.verdict))) } }
                td.num.estimate {
                    b { (cells.estimate) }
                    @if !cells.without_weights.is_empty() { small { (cells.without_weights) " unweighted" } }
                }
                td.num { (cells.interval) }
                td.num { (cells.threshold) }
                td.num { (cells.margin) }
                td.num { (cells.n) }
            } @else {
                td.words colspan="6" { (sentence(&cells.words)) }
            }
        }
    }
}

/// Categories without a gate; those that have one stand among the gates.
fn categories(report: &GateReport, axis: Axis) -> Markup {
    let rest: Vec<&CategoryResult> = report.categories.iter().filter(|category| category.gate.is_none()).collect();
    if rest.is_empty() {
        return html! {};
    }
    html! {
        tbody {
            tr.level { th colspan="8" scope="rowgroup" { "categories without a gate, pass rates" } }
            @for category in rest {
                tr {
                    td {}
                    th scope="row" {
                        (name(&category.category))
                        @if let Some(weight) = category.weight.filter(|weight| *weight != 1.0) { small { "counts × " (number(weight)) } }
                    }
                    @if category.figure.value.is_ok() {
                        td.plot { (forest(axis, &category.figure, None, Mark::Plain)) }
                        td.num.estimate { b { (estimate(&category.figure, Unit::Rate)) } }
                        td.num { (interval(&category.figure, Scale::Percent)) }
                        td {} td {}
                        td.num { (category.figure.n) }
                    } @else {
                        td.words colspan="6" { (estimate(&category.figure, Unit::Rate)) }
                    }
                }
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
