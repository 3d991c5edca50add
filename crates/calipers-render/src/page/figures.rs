//! The figures of runs: metrics with intervals, how values are spread, repeats, what was spent, and how it was all computed.

use super::plots::{Axis, Mark, counts, forest, histogram, reach, ticks};
use super::{link_in, name, sentence, settings};
use crate::numbers::{Scale, number, percent};
use crate::page::{PageReport, PageRun};
use crate::results::cells::title as score_title;
use crate::words::{caveat_next_step, caveat_sentence, undefined_sentence};
use calipers_core::{Caveat, Figure, MetricResult, Results, ScoreResult, pluralize};
use calipers_gate::GateReport;
use maud::{Markup, html};

/// The name of a run above its part of a section, where there are several.
fn heading(report: &PageReport, run: &PageRun) -> Markup {
    html! { @if report.runs.len() > 1 { h3.source { (name(&run.report.source)) } } }
}

/// Figures of a score that are shown before the rest is folded away.
const FIGURES_MAX: usize = 40;

pub(super) fn metrics(report: &PageReport) -> Markup {
    if report.runs.is_empty() {
        return html! {};
    }
    html! {
        section #metrics {
            h2 { "Metrics" }
            @for run in &report.runs {
                (heading(report, run))
                @let axis = shared_axis(&run.report.results);
                @for score in &run.report.results.scores { (score_table(score, &run.report.results, axis)) }
                @if !run.report.recorded.is_empty() { (recorded_figures(run)) }
            }
        }
    }
}

/// True for figures that can share an axis: those between 0 and 1.
fn is_unit(figure: &Figure) -> bool {
    figure.interval.is_some() && reach(figure).all(|x| (0.0..=1.0).contains(&x))
}

/// One axis for all scores of a run, so that they can be compared.
fn shared_axis(results: &Results) -> Axis {
    let figures = results.scores.iter().flat_map(|score| score.metrics.values()).map(|metric| &metric.figure);
    Axis::of_rates(figures.filter(|figure| is_unit(figure)).flat_map(reach))
}

fn score_table(score: &ScoreResult, results: &Results, shared: Axis) -> Markup {
    let figures: Vec<(&String, &MetricResult)> = score.metrics.iter().collect();
    let has_shared = figures.iter().any(|(_, metric)| is_unit(&metric.figure));
    let row = |(shown, metric): &(&String, &MetricResult)| {
        let figure = &metric.figure;
        let axis = if is_unit(figure) { shared } else { Axis::from_zero(reach(figure)) };
        figure_row(shown, figure, axis, results)
    };
    html! {
        h3 { (score_title(score)) }
        table.forest {
            thead { tr { th { "metric" } th.plot { @if has_shared { (ticks(shared, Scale::Number)) } } th.num { "estimate" } th.num { (percent(results.level)) " interval" } th.num { "n" } th.num { "missing" } } }
            tbody { @for figure in figures.iter().take(FIGURES_MAX) { (row(figure)) } }
        }
        @if figures.len() > FIGURES_MAX {
            details {
                summary { (figures.len() - FIGURES_MAX) " more" }
                table.forest { tbody { @for figure in &figures[FIGURES_MAX..] { (row(figure)) } } }
            }
        }
    }
}

fn figure_row(shown: &str, figure: &Figure, axis: Axis, results: &Results) -> Markup {
    let bounds =
        figure.interval.map_or_else(String::new, |interval| Scale::Number.interval(interval.lower, interval.upper));
    html! {
        tr {
            th scope="row" { (name(shown)) }
            @match results.shown(figure) {
                Ok(value) => {
                    td.plot { @if figure.interval.is_some() { (forest(axis, figure, None, Mark::Plain)) } }
                    td.num.estimate { b { (number(value)) } }
                    td.num { (bounds) }
                }
                Err(why) => { td.words colspan="3" { "undefined: " (sentence(&undefined_sentence(why))) } }
            }
            td.num { (figure.n) }
            td.num { @if figure.missing > 0 { (figure.missing) } }
        }
    }
}

/// What the file says and we cannot compute.
fn recorded_figures(run: &PageRun) -> Markup {
    html! {
        h3 { "Recorded, not recomputed" }
        table.plain.narrow {
            tbody {
                @for one in &run.report.recorded {
                    tr { th scope="row" { (name(&one.score)) " · " (name(&one.metric)) } td.num { (one.value.map_or_else(|| "–".to_owned(), number)) } }
                }
            }
        }
    }
}

pub(super) fn spread(report: &PageReport) -> Markup {
    if report.runs.iter().all(|run| run.distributions.is_empty()) {
        return html! {};
    }
    html! {
        section #spread {
            h2 { "Spread" }
            @for run in &report.runs {
                (heading(report, run))
                div.spreads { @for distribution in &run.distributions { (histogram(distribution)) } }
            }
        }
    }
}

/// Flaky samples that are named before the rest is counted.
const FLAKY_MAX: usize = 24;

pub(super) fn repeats(report: &PageReport) -> Markup {
    if report.runs.iter().all(|run| run.repeats.is_none()) {
        return html! {};
    }
    html! {
        section #attempts {
            h2 { "Attempts" }
            @for (place, run) in report.runs.iter().enumerate() {
                @if let Some(repeats) = &run.repeats {
                    (heading(report, run))
                    div.pair {
                        div {
                            p.about { "Samples by how many of their attempts passed" }
                            (counts(&repeats.bars))
                        }
                        div {
                            p.about { b { (repeats.flaky) } " of " (repeats.repeated) " repeated samples are flaky: some attempts passed and some failed" }
                            p.flips {
                                @let flaky: Vec<String> = report.samples.iter().filter(|sample| sample.run == place && sample.is_flaky).map(|sample| sample.id.to_string()).collect();
                                @for (nth, id) in flaky.iter().take(FLAKY_MAX).enumerate() { @if nth > 0 { ", " } (link_in(place, id)) }
                                @if flaky.len() > FLAKY_MAX { " and " (flaky.len() - FLAKY_MAX) " more" }
                            }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn spending(report: &PageReport) -> Markup {
    if report.runs.iter().all(|run| run.spending.is_empty()) {
        return html! {};
    }
    html! {
        section #spending {
            h2 { "Time, tokens and cost" }
            @for run in report.runs.iter().filter(|run| !run.spending.is_empty()) {
                (heading(report, run))
                div.scroll { table.plain {
                    thead { tr { th { "" } th.num { "all attempts" } th.num { "mean" } th.num { "median" } th.num { "95th percentile" } th.num { "most" } th.num { "attempts" } th.num { "missing" } } }
                    tbody {
                        @for spent in &run.spending {
                            @let text = |x: f64| Scale::of(spent.unit, x).text(x);
                            tr {
                                th scope="row" { (spent.what) }
                                td.num { b { (text(spent.total)) } }
                                @for x in [spent.mean, spent.median, spent.p95, spent.most] { td.num { (text(x)) } }
                                td.num { (spent.n) }
                                td.num { @if spent.missing > 0 { (spent.missing) } }
                            }
                        }
                    }
                } }
            }
        }
    }
}

/// How every figure was computed.
pub(super) fn method(report: &PageReport) -> Markup {
    if report.runs.is_empty() && report.gate.is_none() {
        return html! {};
    }
    html! {
        section #method {
            h2 { "How it was computed" }
            p.about { (settings(report).iter().map(|part| name(part)).collect::<Vec<_>>().join(" · ")) }
            @for run in &report.runs { (run_method(report, run)) }
            @if let Some(gate) = &report.gate { (gate_method(gate)) }
            (worth_knowing(report))
            @if report.left_out.texts > 0 {
                p.caveat { (pluralize(report.left_out.texts, "text")) " " (if report.left_out.texts == 1 { "is" } else { "are" }) " not whole on this page: " (report.left_out.characters) " characters are left out. The results have them." }
            }
        }
    }
}

fn run_method(report: &PageReport, run: &PageRun) -> Markup {
    let about = &run.report;
    let all: Vec<(String, &Figure)> = about
        .results
        .scores
        .iter()
        .flat_map(|score| {
            score.metrics.iter().map(|(name, metric)| (format!("{} · {name}", score_title(score)), &metric.figure))
        })
        .collect();
    html! {
        (heading(report, run))
        p.quiet {
            (name(&about.source)) ", read as " (about.format) ". A sample passed: " (sentence(&run.pass_rule)) ". Intervals at "
            (percent(about.results.level)) ", seed " (about.results.seed.0) "."
        }
        @for note in &about.notes { p.quiet { "Note: " (sentence(note)) } }
        (method_table(&all, "figures of this run"))
    }
}

fn gate_method(gate: &GateReport) -> Markup {
    let figures = gate.gates.iter().filter_map(|one| Some((crate::gate::words::gate_name(one), one.figure.as_ref()?)));
    method_table(&figures.collect::<Vec<_>>(), "figures of gates")
}

fn method_table(figures: &[(String, &Figure)], words: &str) -> Markup {
    html! {
        @if !figures.is_empty() {
            details {
                summary { (figures.len()) " " (words) ": method, interval, n" }
                div.scroll { table.plain {
                    thead { tr { th { "figure" } th { "method" } th { "interval" } th.num { "n" } th.num { "missing" } th { "on the way" } } }
                    tbody {
                        @for (shown, figure) in figures {
                            tr {
                                th scope="row" { (name(shown)) }
                                td { (figure.method) }
                                td { @if let Some(interval) = figure.interval { (interval.method.name()) ", " (percent(interval.confidence.level())) } }
                                td.num { (figure.n) }
                                td.num { (figure.missing) }
                                td.quiet { @for (detail, value) in &figure.details { (detail) " " (number(*value)) " " } }
                            }
                        }
                    }
                } }
            }
        }
    }
}

/// Caveats, each with a next step, and each once.
fn worth_knowing(report: &PageReport) -> Markup {
    let mut told: Vec<(String, String)> = Vec::new();
    let mut tell = |message: String, next: String| {
        if !told.iter().any(|(known, _)| *known == message) {
            told.push((message, next));
        }
    };
    let next_step = |caveat: &Caveat| caveat_next_step(caveat).unwrap_or_default();
    let of = |shown: &str, caveat: &Caveat| (format!("{shown}: {}", caveat_sentence(caveat)), next_step(caveat));
    for note in report.gate.iter().flat_map(|gate| &gate.caveats) {
        tell(caveat_sentence(note), caveat_next_step(note).unwrap_or_default());
    }
    for gate in report.gate.iter().flat_map(|gate| &gate.gates) {
        for caveat in gate.figure.iter().flat_map(|figure| &figure.caveats) {
            let (message, next) = of(&gate.metric, caveat);
            tell(message, next);
        }
    }
    for run in &report.runs {
        for caveat in &run.report.results.caveats {
            tell(caveat_sentence(caveat), next_step(caveat));
        }
        for (shown, metric) in run.report.results.scores.iter().flat_map(|score| &score.metrics) {
            for caveat in &metric.figure.caveats {
                let (message, next) = of(shown, caveat);
                tell(message, next);
            }
        }
    }
    html! {
        @if !told.is_empty() {
            h3 { "Worth knowing" }
            @for (message, next) in &told {
                p.caveat { (sentence(message)) @if !next.is_empty() { " " span.next { "→ " (sentence(next)) } } }
            }
        }
    }
}
