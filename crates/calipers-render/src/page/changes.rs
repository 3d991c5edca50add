//! What changed: against a recorded baseline, or against other runs.

use super::gates::{at_zero, names};
use super::plots::{Axis, Mark, forest, key, no_change, reach};
use super::{link, name, sentence};
use crate::compare::words::{incomparable, metric_sentence, verdict_words};
use crate::gate::words::{baseline as dated, changes as lists, interval};
use crate::numbers::{Scale, factor, factors, p_digits};
use crate::outcome_words::shortcoming_sentence;
use crate::page::PageReport;
use crate::words::{caveat_next_step, caveat_sentence, undefined_sentence};
use calipers_compare::{
    AttemptCounts, ChangeScale, ChangeVerdict, CompareReport, Flakiness, MetricComparison, Ranking, RunComparison,
    SampleChange, SampleChanges,
};
use calipers_core::pluralize;
use calipers_core::stats::multiplicity::Correction;
use calipers_gate::{BaselineResult, MetricDifference};
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
            @if let Some(found) = baseline(report) { (against_baseline(found)) }
            @if let Some(compare) = &report.compare { (against_runs(compare)) }
        }
    }
}

fn against_baseline(found: &BaselineResult) -> Markup {
    html! {
        p.about { "against the baseline " (sentence(&dated(found))) }
        @if !found.differences.is_empty() {
            table.forest {
                thead { tr { th { "metric" } th.plot { "worse or better than before" } th.num { "change" } th.num { "interval" } th.num { "before" } th.num { "now" } th.num { "pairs" } } }
                tbody { @for difference in &found.differences { (difference_row(difference)) } }
            }
        }
        @for (words, ids) in lists(found) {
            @if !ids.is_empty() { p.flips { b { (ids.len()) " " (words) } ": " (names(ids)) } }
        }
    }
}

fn difference_row(difference: &MetricDifference) -> Markup {
    let scale = Scale::of(difference.unit, difference.baseline);
    let of_change = scale.of_differences();
    let figure = &difference.difference;
    let now = difference.candidate.map_or_else(|| "undefined".to_owned(), |now| scale.text(now));
    html! {
        tr {
            th scope="row" { (name(&difference.metric)) }
            @match &figure.value {
                Ok(change) => {
                    td.plot { (forest(Axis::around(0.0, reach(figure)), figure, at_zero(), Mark::Plain)) }
                    td.num.estimate { b { (of_change.signed(*change)) } }
                    td.num { (interval(figure, of_change)) }
                }
                Err(why) => { td.words colspan="3" { "undefined: " (sentence(&undefined_sentence(why))) } }
            }
            td.num { (scale.text(difference.baseline)) }
            td.num { (now) }
            td.num { (figure.n) }
        }
    }
}

fn against_runs(compare: &CompareReport) -> Markup {
    html! {
        @for comparison in &compare.comparisons { (against_run(comparison, 1.0 - compare.settings.level)) }
        @for ranking in &compare.rankings { (ranking_table(ranking)) }
        @for caveat in &compare.caveats {
            p.caveat { (sentence(&caveat_sentence(caveat))) @if let Some(next) = caveat_next_step(caveat) { " " span.next { "→ " (sentence(&next)) } } }
        }
        p.quiet {
            "AttemptCounts are reduced by " (name(&compare.settings.reducer)) " and samples paired by name. P-values are adjusted ("
            (correction(compare.settings.correction)) ") for " (pluralize(compare.settings.tests, "test")) "."
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
            @if !matching.only_candidate.is_empty() { ", " (matching.only_candidate.len()) " only in the first" }
            @if !matching.only_baseline.is_empty() { ", " (matching.only_baseline.len()) " only in the second" }
        }
        @if let Some(problem) = &comparison.problem { p.problem { (sentence(&incomparable(problem))) } }
        @else {
            table.forest {
                thead { tr { th { "" } th { "metric" } th.plot { "change" } th.num { "change" } th.num { "interval" } th.num { "before" } th.num { "now" } th.num { "p" } th.num { "pairs" } } }
                tbody { @for metric in &comparison.metrics { (metric_row(metric, alpha)) } }
                @if !comparison.resources.is_empty() {
                    tbody {
                        tr.level { th colspan="9" scope="rowgroup" { "what it takes" } }
                        @for metric in &comparison.resources { (metric_row(metric, alpha)) }
                    }
                }
            }
            (by_category(&comparison.metrics))
            @match &comparison.samples {
                Ok(samples) => (flips(samples)),
                Err(why) => p.quiet { "Which samples began to fail is not known: " (sentence(&incomparable(why))) },
            }
        }
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

fn metric_row(metric: &MetricComparison, alpha: f64) -> Markup {
    let (mark, class) = mark(metric.verdict);
    let middle = metric.scale.no_change();
    let side = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |x| Scale::of(metric.unit, x).text(x));
    let (now, before) = match metric.matched {
        Some((now, before)) => (Some(now), Some(before)),
        None => (metric.candidate.value.as_ref().ok().copied(), metric.baseline.value.as_ref().ok().copied()),
    };
    html! {
        tr {
            td { span.badge.(class) { (key(class)) (verdict_words(metric.verdict)) } }
            th scope="row" { (name(&metric.metric)) small { (sentence(&metric_sentence(metric))) } }
            @match &metric.change.value {
                Ok(change) => {
                    td.plot { (forest(Axis::around(middle, reach(&metric.change)), &metric.change, Some(no_change(middle)), mark)) }
                    td.num.estimate { b { (change_text(metric, *change)) } }
                    td.num { (change_interval(metric)) }
                }
                Err(why) => { td.words colspan="3" { "undefined: " (sentence(&undefined_sentence(why))) } }
            }
            td.num { (side(before)) }
            td.num { (side(now)) }
            td.num { (metric.test.map_or_else(String::new, |test| p_digits(test.adjusted, alpha))) }
            td.num { (metric.change.n) }
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
                @let axis = Axis::around(metric.scale.no_change(), metric.categories.iter().flat_map(|category| reach(&category.change)));
                table.forest {
                    tbody {
                        @for category in &metric.categories {
                            tr {
                                th scope="row" { (name(&category.category)) }
                                td.plot { (forest(axis, &category.change, Some(no_change(metric.scale.no_change())), Mark::Plain)) }
                                td.num.estimate { @if let Ok(change) = category.change.value { b { (change_text(metric, change)) } } }
                                td.num { (Scale::of(metric.unit, category.baseline).text(category.baseline)) " → " (Scale::of(metric.unit, category.candidate).text(category.candidate)) }
                                td.num { (category.change.n) }
                            }
                        }
                    }
                }
                p.quiet { "These are not tested: look, and do not conclude." }
            }
        }
    }
}

/// Samples that are named before the rest is counted.
const LINES_MAX: usize = 12;

fn flips(samples: &SampleChanges) -> Markup {
    let lists =
        [("newly failing", &samples.newly_failing), ("newly fixed", &samples.newly_fixed), ("flaky", &samples.flaky)];
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
            (samples.still_passing) " pass in both, " (samples.still_failing) " fail in both"
            @if samples.unknown > 0 { ", of " (samples.unknown) " it is not known" }
            (flakiness("the first", samples.flaky_candidate)) (flakiness("the second", samples.flaky_baseline))
        }
    }
}

fn flakiness(run: &str, flakiness: Flakiness) -> Markup {
    html! {
        @if flakiness.repeated > 0 { "; " (flakiness.flaky) " of " (flakiness.repeated) " repeated samples of " (run) " are flaky" }
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
                @let axis = Axis::from_zero(rows.iter().flat_map(|row| reach(&row.figure)));
                table.forest {
                    tbody {
                        @for row in rows {
                            tr {
                                td.num { @if row.best_rank == row.worst_rank { (row.best_rank) } @else { (row.best_rank) "–" (row.worst_rank) } }
                                th scope="row" { (name(&row.run)) }
                                td.plot { (forest(axis, &row.figure, None, Mark::Plain)) }
                                td.num.estimate { b { (crate::gate::words::estimate(&row.figure, ranking.unit)) } }
                                td.num { (row.figure.value.as_ref().map_or_else(|_| String::new(), |value| interval(&row.figure, Scale::of(ranking.unit, *value)))) }
                            }
                        }
                    }
                }
            }
        }
    }
}
