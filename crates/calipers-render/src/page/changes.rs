//! What changed: against a recorded baseline, or against other runs.

use super::axis::{Axis, reach};
use super::gates::{at_zero, names};
use super::plots::{Mark, TableAxes, forest, key, no_change};
use super::{link, name, number_cell, sentence};
use crate::compare::words::{answer_words, incomparable, metric_sentence, typical};
use crate::gate::words::{baseline as dated, changes as lists, interval};
use crate::numbers::{Scale, count, factor, factors, p_digits};
use crate::outcome_words::shortcoming_sentence;
use crate::page::PageReport;
use crate::words::{caveat_next_step, caveat_sentence, undefined_sentence};
use calipers_compare::{
    AttemptCounts, ChangeScale, ChangeVerdict, CompareReport, Flakiness, MetricComparison, Ranking, RunComparison,
    SampleChange, SampleChanges,
};
use calipers_core::stats::multiplicity::Correction;
use calipers_core::{Caveat, Unit, pluralize};
use calipers_gate::{BaselineResult, GateReport, MetricDifference};
use maud::{Markup, html};

/// True when there is something to compare with.
pub(super) fn is_shown(report: &PageReport) -> bool {
    report.compare.is_some() || baseline(report).is_some()
}

fn baseline(report: &PageReport) -> Option<&BaselineResult> {
    report.gate.as_ref().and_then(|gate| gate.baseline.as_ref())
}

pub(super) fn changes(report: &PageReport) -> Markup {
    if !is_shown(report) {
        return html! {};
    }
    html! {
        section #changes {
            h2 { "What changed" }
            @if let Some(found) = baseline(report) { (against_baseline(found, report.gate.as_ref())) }
            @if let Some(compare) = &report.compare { (against_runs(compare, has_weights(report))) }
        }
    }
}

/// True if the verdict weighs scenarios, which a comparison of runs does not.
fn has_weights(report: &PageReport) -> bool {
    report.gate.iter().flat_map(|gate| &gate.gates).any(|gate| gate.unweighted.is_some())
}

fn against_baseline(found: &BaselineResult, gate: Option<&GateReport>) -> Markup {
    // Those on one scale stand together.
    let mut differences: Vec<&MetricDifference> = found.differences.iter().collect();
    let first = |unit: Unit| found.differences.iter().position(|other| other.unit == unit);
    differences.sort_by_key(|difference| first(difference.unit));
    let is_weighted = |difference: &MetricDifference| {
        let of_metric = |gates: &GateReport| {
            gates.gates.iter().any(|gate| gate.metric == difference.metric && gate.unweighted.is_some())
        };
        gate.is_some_and(of_metric)
    };
    let axis_of = |difference: &MetricDifference| {
        difference.difference.value.is_ok().then(|| difference_axis(&found.differences, difference.unit))
    };
    let mut axes = TableAxes::new(differences.iter().map(|difference| axis_of(difference)), (1, 5));
    html! {
        p.about { "against the baseline " (sentence(&dated(found))) }
        @if !found.differences.is_empty() {
            table.forest {
                thead { tr { th { "metric" } (axes.header()) th.num { "change" } th.num { "interval" } th.num { "before" } th.num { "now" } th.num { "pairs" } } }
                tbody { @for difference in &differences { (axes.before(axis_of(difference))) (difference_row(difference, axis_of(difference), is_weighted(difference))) } }
            }
        }
        @for (words, ids) in lists(found) {
            @if !ids.is_empty() { p.flips { b { (count(ids.len() as u64)) " " (words) } ": " (names(ids)) } }
        }
    }
}

/// The scale that all differences of a unit share.
fn difference_axis(differences: &[MetricDifference], unit: Unit) -> Axis {
    let alike = differences.iter().filter(|other| other.unit == unit);
    Axis::of_differences(unit, alike.flat_map(|other| reach(&other.difference)))
}

fn difference_row(difference: &MetricDifference, axis: Option<Axis>, is_weighted: bool) -> Markup {
    let scale = Scale::of(difference.unit, difference.baseline);
    let of_change = scale.of_differences();
    let figure = &difference.difference;
    let now = difference.candidate.map_or_else(|| "undefined".to_owned(), |now| scale.text(now));
    html! {
        tr {
            th scope="row" { (name(&difference.metric)) @if is_weighted { small { "weighted as the policy says" } } }
            @match &figure.value {
                Ok(change) => {
                    td.plot { @if let Some(axis) = axis { (forest(axis, figure, at_zero(), Mark::Plain)) } }
                    td.num.estimate data-label="change" { b { (of_change.signed(*change)) } }
                    (number_cell("interval", &interval(figure, of_change)))
                }
                Err(why) => { td.words colspan="3" { "undefined: " (sentence(&undefined_sentence(why))) } }
            }
            (number_cell("before", &scale.text(difference.baseline)))
            (number_cell("now", &now))
            (number_cell("pairs", &count(figure.n)))
        }
    }
}

fn against_runs(compare: &CompareReport, has_weights: bool) -> Markup {
    html! {
        @for comparison in &compare.comparisons { (against_run(comparison, 1.0 - compare.settings.level)) }
        @for ranking in &compare.rankings { (ranking_table(ranking)) }
        @for caveat in &compare.caveats {
            p.caveat { (sentence(&caveat_sentence(caveat))) @if let Some(next) = caveat_next_step(caveat) { " " span.next { "→ " (sentence(&next)) } } }
        }
        p.quiet {
            "Attempts are reduced by " (name(&compare.settings.reducer)) ", and samples are paired by id. P-values are adjusted ("
            (correction(compare.settings.correction)) ") for " (pluralize(compare.settings.tests, "test")) "."
            @if has_weights { " The weights of the policy are for its gates: before, now and the change are without them." }
        }
    }
}

/// A correction by its authors.
pub(super) fn correction(correction: Correction) -> &'static str {
    match correction {
        Correction::Bonferroni => "Bonferroni",
        Correction::Holm => "Holm",
        Correction::BenjaminiHochberg => "Benjamini-Hochberg",
        Correction::BenjaminiYekutieli => "Benjamini-Yekutieli",
    }
}

fn against_run(comparison: &RunComparison, alpha: f64) -> Markup {
    let matching = &comparison.matching;
    html! {
        p.about {
            b { (name(&comparison.candidate)) } " against " b { (name(&comparison.baseline)) } ": "
            (pluralize(matching.matched, "sample")) " in both"
            @if !matching.only_candidate.is_empty() { ", " (count(matching.only_candidate.len() as u64)) " only in the first" }
            @if !matching.only_baseline.is_empty() { ", " (count(matching.only_baseline.len() as u64)) " only in the second" }
        }
        @if let Some(problem) = &comparison.problem { p.problem { (sentence(&incomparable(problem))) } }
        @else {
            (metric_table(comparison, alpha))
            (by_category(&comparison.metrics))
            @match &comparison.samples {
                Ok(samples) => (flips(samples)),
                Err(why) => p.quiet { "It is not known which samples newly fail: " (sentence(&incomparable(why))) },
            }
        }
    }
}

/// What changed, metric by metric. Changes in one unit share a scale, and so do factors.
fn metric_table(comparison: &RunComparison, alpha: f64) -> Markup {
    let all = || comparison.metrics.iter().chain(&comparison.resources);
    let axis_of = |metric: &MetricComparison| {
        let is_alike = |other: &&MetricComparison| {
            other.scale == metric.scale && (metric.scale == ChangeScale::Ratio || other.unit == metric.unit)
        };
        let drawn = all().filter(is_alike).flat_map(|other| reach(&other.change));
        metric.change.value.is_ok().then(|| change_axis(metric, drawn))
    };
    let mut axes = TableAxes::new(all().map(axis_of), (2, 6));
    html! {
        table.forest {
            thead { tr { th { "" } th { "metric" } (axes.header()) th.num { "change" } th.num { "interval" } th.num { "before" } th.num { "now" } th.num { "adjusted p" } th.num { "pairs" } } }
            tbody { @for metric in &comparison.metrics { (axes.before(axis_of(metric))) (metric_row(metric, axis_of(metric), alpha)) } }
            @if !comparison.resources.is_empty() {
                tbody {
                    tr.level { th colspan="9" scope="rowgroup" { "time, tokens and cost" } }
                    @for metric in &comparison.resources { (axes.before(axis_of(metric))) (metric_row(metric, axis_of(metric), alpha)) }
                }
            }
        }
    }
}

fn change_axis(metric: &MetricComparison, drawn: impl Iterator<Item = f64>) -> Axis {
    match metric.scale {
        ChangeScale::Difference => Axis::of_differences(metric.unit, drawn),
        ChangeScale::Ratio => Axis::of_factors(drawn),
    }
}

fn mark(change: ChangeVerdict) -> (Mark, &'static str) {
    match change {
        ChangeVerdict::Improved => (Mark::Good, "passed"),
        ChangeVerdict::Regressed => (Mark::Bad, "failed"),
        ChangeVerdict::Changed => (Mark::Plain, "unscored"),
        ChangeVerdict::WithinNoise | ChangeVerdict::NoChangeDetected => (Mark::Plain, "neutral"),
        ChangeVerdict::Unknown => (Mark::Open, "unscored"),
    }
}

fn metric_row(metric: &MetricComparison, axis: Option<Axis>, alpha: f64) -> Markup {
    let (mark, class) = mark(metric.verdict);
    let middle = metric.scale.no_change();
    let side = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |x| Scale::of(metric.unit, x).text(x));
    let (now, before) = match metric.matched {
        Some((now, before)) => (Some(now), Some(before)),
        None => (metric.candidate.value.as_ref().ok().copied(), metric.baseline.value.as_ref().ok().copied()),
    };
    html! {
        tr {
            td { span.badge.(class) { (key(class)) (answer_words(metric)) } }
            th scope="row" {
                (name(&metric.metric))
                // What the badge and the numbers say is not said again.
                @if metric.verdict == ChangeVerdict::Unknown { small { (sentence(&metric_sentence(metric))) } }
                @if let Some(typical) = typical(metric) { small { (sentence(&typical)) } }
                @for caveat in metric.change.caveats.iter().filter(|caveat| matches!(caveat, Caveat::OpenChange { .. })) {
                    small { (sentence(&caveat_sentence(caveat))) @if let Some(next) = caveat_next_step(caveat) { " " span.next { "→ " (sentence(&next)) } } }
                }
            }
            @match &metric.change.value {
                Ok(change) => {
                    td.plot { @if let Some(axis) = axis { (forest(axis, &metric.change, Some(no_change(middle)), mark)) } }
                    td.num.estimate data-label="change" { b { (change_text(metric, *change)) } }
                    (number_cell("interval", &change_interval(metric)))
                }
                Err(why) => { td.words colspan="3" { "undefined: " (sentence(&undefined_sentence(why))) } }
            }
            (number_cell("before", &side(before)))
            (number_cell("now", &side(now)))
            (number_cell("adjusted p", &metric.test.map_or_else(String::new, |test| p_digits(test.adjusted, alpha))))
            (number_cell("pairs", &count(metric.change.n)))
        }
    }
}

/// The scale of a metric's differences.
fn difference_scale(metric: &MetricComparison) -> Scale {
    let size = metric.matched.map_or(0.0, |(_, before)| before);
    Scale::of(metric.unit, size).of_differences()
}

fn change_text(metric: &MetricComparison, change: f64) -> String {
    match metric.scale {
        ChangeScale::Difference => difference_scale(metric).signed(change),
        ChangeScale::Ratio => factor(change),
    }
}

fn change_interval(metric: &MetricComparison) -> String {
    match metric.scale {
        ChangeScale::Difference => interval(&metric.change, difference_scale(metric)),
        ChangeScale::Ratio => {
            metric.change.interval.map_or_else(String::new, |found| factors(found.lower, found.upper))
        }
    }
}

/// The changes of each metric by category, folded away: they are for looking at, not for deciding.
fn by_category(metrics: &[MetricComparison]) -> Markup {
    html! {
        @for metric in metrics.iter().filter(|metric| metric.categories.len() > 1) {
            details {
                summary { (name(&metric.metric)) " by category" }
                @let axis = change_axis(metric, metric.categories.iter().flat_map(|category| reach(&category.change)));
                table.forest {
                    thead { tr { th { "category" } (TableAxes::new(std::iter::once(Some(axis)), (1, 3)).header()) th.num { "change" } th.num { "before → now" } th.num { "pairs" } } }
                    tbody {
                        @for category in &metric.categories {
                            tr {
                                th scope="row" { (name(&category.category)) }
                                td.plot { (forest(axis, &category.change, Some(no_change(metric.scale.no_change())), Mark::Plain)) }
                                td.num.estimate data-label="change" { @if let Ok(change) = category.change.value { b { (change_text(metric, change)) } } }
                                td.num data-label="before → now" { (Scale::of(metric.unit, category.baseline).text(category.baseline)) " → " (Scale::of(metric.unit, category.candidate).text(category.candidate)) }
                                (number_cell("pairs", &count(category.change.n)))
                            }
                        }
                    }
                }
                p.quiet { "These changes are not tested. Look at them, but draw no conclusions from them." }
            }
        }
    }
}

/// Samples that are named before the rest is counted.
const LINES_MAX: usize = 12;

fn flips(samples: &SampleChanges) -> Markup {
    let lists = [
        ("newly failing", &samples.newly_failing),
        ("newly fixed", &samples.newly_fixed),
        ("flaky in either run", &samples.flaky),
    ];
    html! {
        div.columns {
            @for (words, list) in lists {
                @if !list.is_empty() {
                    div {
                        h3 { (list.len()) " " (words) }
                        ul.samples { @for change in list.iter().take(LINES_MAX) { (flip(change)) } }
                        @if list.len() > LINES_MAX { p.quiet { "and " (list.len() - LINES_MAX) " more" } }
                    }
                }
            }
        }
        p.quiet {
            (count(samples.still_passing)) " pass in both, " (count(samples.still_failing)) " fail in both"
            @if samples.unknown > 0 { ", " (count(samples.unknown)) " are not known" }
            (flakiness("the first", samples.flaky_candidate)) (flakiness("the second", samples.flaky_baseline))
        }
    }
}

fn flakiness(run: &str, flakiness: Flakiness) -> Markup {
    html! {
        @if flakiness.repeated > 0 { "; " (count(flakiness.flaky)) " of " (pluralize(flakiness.repeated, "repeated sample")) " of " (run) " are flaky" }
    }
}

fn flip(change: &SampleChange) -> Markup {
    let told = |attempts: AttemptCounts| format!("{} of {}", attempts.passed, attempts.scored);
    html! {
        li {
            (link(&change.id.to_string())) " " span.quiet { (told(change.baseline)) " → " (told(change.candidate)) }
            @if let Some(reason) = &change.reason { small { (sentence(&shortcoming_sentence(reason))) } }
        }
    }
}

fn ranking_table(ranking: &Ranking) -> Markup {
    html! {
        h3 { "Ranking by " (name(&ranking.metric)) }
        @match &ranking.rows {
            Err(why) => p.quiet { (sentence(&incomparable(why))) },
            Ok(rows) => {
                @let axis = Axis::of_unit(ranking.unit, rows.iter().flat_map(|row| reach(&row.figure)));
                table.forest {
                    thead { tr { th.num { "rank" } th { "run" } (TableAxes::new(std::iter::once(Some(axis)), (2, 2)).header()) th.num { "estimate" } th.num { "interval" } } }
                    tbody {
                        @for row in rows {
                            tr {
                                td.num data-label="rank" { @if row.best_rank == row.worst_rank { (row.best_rank) } @else { (row.best_rank) "–" (row.worst_rank) } }
                                th scope="row" { (name(&row.run)) }
                                td.plot { (forest(axis, &row.figure, None, Mark::Plain)) }
                                td.num.estimate data-label="estimate" { b { (crate::gate::words::estimate(&row.figure, ranking.unit)) } }
                                td.num data-label="interval" { (row.figure.value.as_ref().map_or_else(|_| String::new(), |value| interval(&row.figure, Scale::of(ranking.unit, *value)))) }
                            }
                        }
                    }
                }
            }
        }
    }
}
