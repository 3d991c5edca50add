//! The figures of runs: metrics with intervals, how values are spread, repeats, what was spent, and how it was all computed.
//! What several runs have in common stands together, on one scale.

use super::axis::{Axis, reach};
use super::plots::{Mark, TableAxes, counts, forest, histogram, lying_bar};
use super::runs::{basis_sentence, run_label, run_names};
use super::{link_in, name, number_cell, sentence, settings};
use crate::numbers::{Scale, count, number, percent};
use crate::page::{PageReport, PageRun, PassedShare, Repeats};
use crate::results::cells::{figure_names, figure_scale, title as score_title};
use crate::words::columns_sentence;
use crate::words::{caveat_next_step, caveat_sentence, undefined_sentence};
use calipers_core::{Caveat, Distribution, Figure, MetricResult, Unit, pluralize};
use calipers_gate::GateReport;
use maud::{Markup, html};
use std::collections::{HashMap, HashSet};

/// The name of a run above its part of a section, where there are several.
fn heading(place: usize, names: &[String]) -> Markup {
    html! { @if names.len() > 1 { h3.source { (run_label(place, names)) } } }
}

/// Rows of a table that are shown before the rest is folded away.
const ROWS_MAX: usize = 60;

/// The figures under one title, such as a scorer, with those of all runs under each metric.
#[derive(Default)]
struct ScoreTable<'a> {
    title: String,
    metrics: Vec<(String, Vec<(usize, &'a MetricResult)>)>,
    /// The place of each metric.
    places: HashMap<String, usize>,
}

impl<'a> ScoreTable<'a> {
    fn add(&mut self, shown: String, run: usize, metric: &'a MetricResult) {
        let place = *self.places.entry(shown.clone()).or_insert(self.metrics.len());
        if place == self.metrics.len() {
            self.metrics.push((shown, Vec::new()));
        }
        self.metrics[place].1.push((run, metric));
    }

    /// The figures that are drawn.
    fn drawn(&self) -> impl Iterator<Item = &'a MetricResult> {
        let all = self.metrics.iter().flat_map(|(_, runs)| runs.iter().map(|(_, metric)| *metric));
        all.filter(|metric| is_drawn(metric))
    }
}

/// True for an estimate with an interval: a point alone needs no picture.
fn is_drawn(metric: &MetricResult) -> bool {
    metric.figure.interval.is_some() && metric.figure.value.is_ok()
}

fn score_tables(report: &PageReport) -> Vec<ScoreTable<'_>> {
    let mut tables: Vec<ScoreTable<'_>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (run, about) in report.runs.iter().enumerate() {
        for score in &about.report.results.scores {
            let title = score_title(score);
            let place = *places.entry(title.clone()).or_insert(tables.len());
            if place == tables.len() {
                tables.push(ScoreTable { title, ..ScoreTable::default() });
            }
            for (shown, metric) in figure_names(score).into_iter().zip(score.metrics.values()) {
                tables[place].add(shown, run, metric);
            }
        }
    }
    tables
}

pub(super) fn metrics(report: &PageReport) -> Markup {
    if report.runs.is_empty() {
        return html! {};
    }
    let names = run_names(report);
    html! {
        section #metrics {
            h2 { "Metrics" }
            @for table in &score_tables(report) { (score_table(table, report, &names)) }
            @for (place, run) in report.runs.iter().enumerate().filter(|(_, run)| !run.report.recorded.is_empty()) {
                (heading(place, &names))
                (recorded_figures(run))
            }
        }
    }
}

/// The axes of a table: one for each unit. Plain numbers that are not all grades, and ratios, have one for each metric, since
/// those of one metric need not be like those of another.
struct UnitAxes {
    axes: Vec<(Unit, Axis)>,
    are_grades: bool,
}

impl UnitAxes {
    fn new(table: &ScoreTable<'_>) -> Self {
        let mut values: Vec<(Unit, Vec<f64>)> = Vec::new();
        for metric in table.drawn() {
            match values.iter_mut().find(|(unit, _)| *unit == metric.unit) {
                Some((_, known)) => known.extend(reach(&metric.figure)),
                None => values.push((metric.unit, reach(&metric.figure).collect())),
            }
        }
        let is_grade = |x: &f64| (0.0..=1.0).contains(x);
        let are_grades = values.iter().all(|(unit, all)| *unit != Unit::Plain || all.iter().all(is_grade));
        let axes = values.into_iter().map(|(unit, all)| (unit, Axis::of_scores(unit, all.into_iter()))).collect();
        Self { axes, are_grades }
    }

    /// The axis of a metric of these runs.
    fn of(&self, unit: Unit, runs: &[(usize, &MetricResult)]) -> Option<Axis> {
        if unit == Unit::Ratio || (unit == Unit::Plain && !self.are_grades) {
            return Some(Axis::of_scores(unit, runs.iter().flat_map(|(_, metric)| reach(&metric.figure))));
        }
        self.axes.iter().find(|(known, _)| *known == unit).map(|(_, axis)| *axis)
    }
}

fn score_table(table: &ScoreTable<'_>, report: &PageReport, names: &[String]) -> Markup {
    let is_several = names.len() > 1;
    let of_units = UnitAxes::new(table);
    let axis_of = |runs: &[(usize, &MetricResult)], metric: &MetricResult| {
        if is_drawn(metric) { of_units.of(metric.unit, runs) } else { None }
    };
    let all = table.metrics.iter().flat_map(|(_, runs)| runs.iter().map(|(_, metric)| axis_of(runs, metric)));
    let mut axes = TableAxes::new(all, (1, 4));
    let level = report.runs.first().map_or(0.95, |run| run.report.results.level);
    let header = html! {
        thead { tr { th { @if is_several { "run" } @else { "metric" } } (axes.header()) th.num { "estimate" } th.num { (percent(level)) " interval" } th.num { "n" } th.num { "missing" } } }
    };
    let mut rows: Vec<Markup> = Vec::new();
    for (shown, runs) in &table.metrics {
        if is_several {
            rows.push(html! { tr.level { th colspan="6" scope="rowgroup" { (name(shown)) } } });
        }
        for (run, metric) in runs {
            let axis = axis_of(runs, metric);
            let label = if is_several {
                run_label(*run, names)
            } else {
                html! { (name(shown)) }
            };
            rows.push(html! { (axes.before(axis)) (figure_row(&label, metric, axis, report, *run)) });
        }
    }
    let rest = rows.split_off(rows.len().min(ROWS_MAX));
    html! {
        h3 { (table.title) }
        table.forest { (header) tbody { @for row in &rows { (row) } } }
        @if !rest.is_empty() {
            details {
                summary { (count(rest.len() as u64)) " more rows" }
                table.forest { (header) tbody { @for row in &rest { (row) } } }
            }
        }
    }
}

fn figure_row(label: &Markup, metric: &MetricResult, axis: Option<Axis>, report: &PageReport, run: usize) -> Markup {
    let figure = &metric.figure;
    html! {
        tr {
            th scope="row" { (label) }
            @match report.runs[run].report.results.shown(figure) {
                Ok(value) => {
                    @let scale = figure_scale(metric.unit, value);
                    td.plot { @if let Some(axis) = axis { (forest(axis, figure, None, Mark::Plain)) } }
                    td.num.estimate data-label="estimate" { b { (scale.text(value)) } }
                    (number_cell("interval", &figure.interval.map_or_else(String::new, |interval| scale.interval(interval.lower, interval.upper))))
                }
                Err(why) => { td.words colspan="3" { "undefined: " (sentence(&undefined_sentence(why))) } }
            }
            (number_cell("n", &count(figure.n)))
            (number_cell("missing", &if figure.missing > 0 { count(figure.missing) } else { String::new() }))
        }
    }
}

/// What the file says and we cannot compute.
fn recorded_figures(run: &PageRun) -> Markup {
    html! {
        h3 { "Recorded, not recomputed" }
        @let has_intervals = run.report.recorded.iter().any(|one| one.interval.is_some());
        table.plain.narrow {
            @if has_intervals {
                thead { tr { th { "metric" } th.num { "estimate" } th.num { (percent(run.report.results.level)) " interval from the recorded standard error" } th.num { "n" } } }
            }
            tbody {
                @for one in &run.report.recorded {
                    tr {
                        th scope="row" { (name(&one.score)) " · " (name(&one.metric)) }
                        td.num { (one.value.map_or_else(|| "–".to_owned(), number)) }
                        @if has_intervals {
                            td.num { @if let Some(interval) = one.interval { (Scale::Number.interval(interval.lower, interval.upper)) } }
                            td.num { @if let Some(n) = one.n { (count(n)) } }
                        }
                    }
                }
            }
        }
    }
}

/// What is spread, with the distributions of all runs that have it.
fn spreads(report: &PageReport) -> Vec<Vec<(usize, &Distribution)>> {
    let mut all: Vec<Vec<(usize, &Distribution)>> = Vec::new();
    let mut places = HashMap::new();
    for (run, about) in report.runs.iter().enumerate() {
        for one in &about.distributions {
            let place = *places.entry((&*one.name, one.of)).or_insert(all.len());
            if place == all.len() {
                all.push(Vec::new());
            }
            all[place].push((run, one));
        }
    }
    all
}

pub(super) fn spread(report: &PageReport) -> Markup {
    let spreads = spreads(report);
    if spreads.is_empty() {
        return html! {};
    }
    let names = run_names(report);
    html! {
        section #spread {
            h2 { "Spread" }
            @if names.len() > 1 { p.legend { @for place in 0..names.len() { span { (run_label(place, &names)) } } } }
            div.spreads { @for group in &spreads { (histogram(group)) } }
        }
    }
}

/// Flaky samples that are named before the rest is counted.
const FLAKY_MAX: usize = 24;

pub(super) fn repeats(report: &PageReport) -> Markup {
    let runs: Vec<(usize, &Repeats)> =
        report.runs.iter().enumerate().filter_map(|(place, run)| Some((place, run.repeats.as_ref()?))).collect();
    if runs.is_empty() {
        return html! {};
    }
    let names = run_names(report);
    html! {
        section #attempts {
            h2 { "Attempts" }
            @if names.len() > 1 { (repeats_of_runs(&runs, &names)) }
            @for (place, repeats) in runs {
                @if names.len() > 1 {
                    @if repeats.flaky > 0 { p.flips { (run_label(place, &names)) ": " (count(repeats.flaky)) " flaky: " (flaky_names(report, place)) } }
                } @else {
                    div.pair {
                        div {
                            p.about { "Samples by how many of their attempts passed" }
                            (counts(&labelled_bars(repeats)))
                        }
                        div {
                            p.about { b { (count(repeats.flaky)) } " of " (pluralize(repeats.repeated, "repeated sample")) " flaky: some attempts passed and some failed" }
                            p.flips { (flaky_names(report, place)) }
                        }
                    }
                }
            }
        }
    }
}

fn flaky_names(report: &PageReport, run: usize) -> Markup {
    let is_flaky = |sample: &&super::PageSample| sample.run == run && sample.is_flaky;
    let flaky: Vec<String> = report.samples.iter().filter(is_flaky).map(|sample| sample.id.to_string()).collect();
    html! {
        @for (nth, id) in flaky.iter().take(FLAKY_MAX).enumerate() { @if nth > 0 { ", " } (link_in(run, id)) }
        @if flaky.len() > FLAKY_MAX { " and " (count((flaky.len() - FLAKY_MAX) as u64)) " more" }
    }
}

/// How often samples passed, a row per run. Runs with other numbers of attempts have a separate table.
fn repeats_of_runs(runs: &[(usize, &Repeats)], names: &[String]) -> Markup {
    let labels = |repeats: &Repeats| labelled_bars(repeats).into_iter().map(|(label, _)| label).collect::<Vec<_>>();
    type RepeatRows<'r> = Vec<(usize, &'r Repeats)>;
    let mut tables: Vec<(Vec<String>, RepeatRows<'_>)> = Vec::new();
    for (run, repeats) in runs {
        match tables.iter_mut().find(|(known, _)| *known == labels(repeats)) {
            Some((_, rows)) => rows.push((*run, repeats)),
            None => tables.push((labels(repeats), vec![(*run, repeats)])),
        }
    }
    html! {
        p.about { "Share of the repeated samples, by how many of their attempts passed" }
        @for (labels, rows) in &tables {
            div.scroll { table.plain {
                thead { tr { th { "run" } @for label in labels { th { (label) } } th.num { "repeated" } th.num { "flaky" } } }
                tbody {
                    @for (run, repeats) in rows {
                        tr {
                            th scope="row" { (run_label(*run, names)) }
                            @for (_, number) in &repeats.bars {
                                @let share = *number as f64 / repeats.repeated.max(1) as f64;
                                td.bar-cell { (lying_bar(share)) span.num { (Scale::Percent.text(share)) } }
                            }
                            td.num { (count(repeats.repeated)) }
                            td.num { (count(repeats.flaky)) }
                        }
                    }
                }
            } }
        }
    }
}

/// The bars with their headings.
fn labelled_bars(repeats: &Repeats) -> Vec<(String, u64)> {
    repeats.bars.iter().map(|(share, number)| (passed_share(*share), *number)).collect()
}

fn passed_share(share: PassedShare) -> String {
    match share {
        PassedShare::Count { passed, of } => format!("{passed} of {of}"),
        PassedShare::Never => "never".to_owned(),
        PassedShare::UnderHalf => "under half".to_owned(),
        PassedShare::HalfOrMore => "half or more".to_owned(),
        PassedShare::Always => "always".to_owned(),
    }
}

/// The columns of what was spent.
const SPENDING: [&str; 5] = ["all attempts", "mean", "median", "95th percentile", "most"];

pub(super) fn spending(report: &PageReport) -> Markup {
    let mut kinds: Vec<&'static str> = Vec::new();
    for spent in report.runs.iter().flat_map(|run| &run.spending) {
        if !kinds.contains(&spent.what) {
            kinds.push(spent.what);
        }
    }
    if kinds.is_empty() {
        return html! {};
    }
    let names = run_names(report);
    let is_several = names.len() > 1;
    html! {
        section #spending {
            h2 { "Time, tokens and cost" }
            table.stack {
                thead { tr { th { "" } @for column in SPENDING { th.num { (column) } } th.num { "attempts" } th.num { "missing" } } }
                tbody {
                    @for kind in kinds {
                        @if is_several { tr.level { th colspan="8" scope="rowgroup" { (kind) } } }
                        @for (place, run) in report.runs.iter().enumerate() {
                            @for spent in run.spending.iter().filter(|spent| spent.what == kind) {
                                @let text = |x: f64| Scale::of(spent.unit, x).text(x);
                                tr {
                                    th scope="row" { @if is_several { (run_label(place, &names)) } @else { (kind) } }
                                    td.num.estimate data-label=(SPENDING[0]) { b { (text(spent.total)) } }
                                    @for (label, x) in SPENDING[1..].iter().zip([spent.mean, spent.median, spent.p95, spent.most]) { (number_cell(label, &text(x))) }
                                    (number_cell("attempts", &count(spent.n)))
                                    (number_cell("missing", &if spent.missing > 0 { count(spent.missing) } else { String::new() }))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// How every figure was computed.
pub(super) fn method(report: &PageReport) -> Markup {
    if report.runs.is_empty() && report.gate.is_none() {
        return html! {};
    }
    let names = run_names(report);
    html! {
        section #method {
            h2 { "How it was computed" }
            p.about { (settings(report).iter().map(|part| name(part)).collect::<Vec<_>>().join(" · ")) }
            @for (place, run) in report.runs.iter().enumerate() { (run_method(&names, place, run)) }
            @if let Some(gate) = &report.gate { (gate_method(gate)) }
            (worth_knowing(report))
            @if report.left_out.texts > 0 {
                p.caveat { (pluralize(report.left_out.texts, "text")) " " (if report.left_out.texts == 1 { "is" } else { "are" }) " shortened on this page: " (report.left_out.characters) " characters are left out. They are in the results." }
            }
        }
    }
}

fn run_method(names: &[String], place: usize, run: &PageRun) -> Markup {
    let about = &run.report;
    let all: Vec<(String, &Figure)> = about
        .results
        .scores
        .iter()
        .flat_map(|score| {
            let names = figure_names(score).into_iter().zip(score.metrics.values());
            names.map(|(name, metric)| (format!("{} · {name}", score_title(score)), &metric.figure)).collect::<Vec<_>>()
        })
        .collect();
    html! {
        (heading(place, names))
        p.quiet {
            (name(&about.source)) ", read as " (about.format)
            @if !about.columns.is_empty() { " (" (columns_sentence(&about.columns)) ")" }
            ". " (sentence(&basis_sentence(&run.pass_basis))) " Intervals at "
            (percent(about.results.level))
            @if !about.results.cluster.is_empty() { ", clusters by " (about.results.cluster.join(", ")) }
            ", seed " (about.results.seed.0) "."
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
                                td.num { (count(figure.n)) }
                                td.num { (count(figure.missing)) }
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
    let mut known: HashSet<String> = HashSet::new();
    let mut tell = |message: String, next: String| {
        if known.insert(message.clone()) {
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
        for score in &run.report.results.scores {
            for (shown, metric) in figure_names(score).iter().zip(score.metrics.values()) {
                for caveat in &metric.figure.caveats {
                    let (message, next) = of(shown, caveat);
                    tell(message, next);
                }
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
