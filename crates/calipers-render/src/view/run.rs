//! One run: what a report of it shows, and where it stands in the history.

use super::runs::{badge, notes};
use super::{Delivery, Section, address, date_of, layout, run_address, said_in_lines, short, short_name};
use crate::history::{HistoryRun, HistoryVerdict};
use crate::numbers::count;
use crate::page::{PageReport, encode, name, number_cell, report_sections};
use crate::results::figure_scale;
use maud::{Markup, html};

/// What the page of a run shows.
#[derive(Clone, Debug, Default)]
pub struct RunView {
    /// The run.
    pub run: HistoryRun,
    /// What a report of it shows, read from its file.
    pub report: Option<PageReport>,
    /// Why the file cannot be read, if it cannot.
    pub problem: Option<String>,
    /// The run before it in its suite, with the same model if there is one.
    pub before: Option<HistoryRun>,
    /// All verdicts on it, the latest first.
    pub verdicts: Vec<HistoryVerdict>,
}

/// The page of a run.
#[must_use]
pub fn run_html(view: &RunView, delivery: Delivery<'_>) -> String {
    let run = &view.run;
    let main = html! {
        (place_in_history(view))
        @if run.is_open() && view.report.is_none() { section.hero.slim { h1 { (name(&run.suite)) } } }
        @if run.is_open() { (progress_part(run)) }
        @match &view.report {
            None if run.is_open() => p.quiet { a href=(format!("{}?report=1", run_address(&run.key))) { "Show a report of the samples that have ended" } },
            Some(report) => (report_sections(report, &format!("/runs/{}/sample?id=", encode(&run.key)))),
            None => (figures_of_index(view)),
        }
    };
    layout(&format!("{} · {}", run.suite, short_name(run)), Section::Runs, delivery, &main)
}

/// How far a run is that goes on, or was killed. It has no interval: looking again and again would make it too narrow, and samples
/// that end early may differ from those that end late.
fn progress_part(run: &HistoryRun) -> Markup {
    let counts = run.counts;
    let scored = counts.passed + counts.failed + run.scored;
    html! {
        section #progress data-address=(format!("{}/live", run_address(&run.key))) aria-live="polite" {
            h2 { "So far" }
            p {
                b.num { (count(counts.total)) }
                @if let Some(expected) = run.expected { " of " span.num { (count(expected)) } " samples have ended" } @else { " samples have ended" }
                @if counts.errored > 0 { span.bad { ", " (count(counts.errored)) " in an error" } }
                @if counts.unscored > 0 { span.open { ", " (count(counts.unscored)) " without a score" } }
                "."
            }
            @if let Some(expected) = run.expected {
                progress max=(expected) value=(counts.total) aria-label="Samples that have ended" { (count(counts.total)) }
            }
            @if scored > 0 {
                table.plain.narrow {
                    thead { tr { th { "score" } th { "metric" } th.num { "mean so far" } th.num { "n" } } }
                    tbody {
                        @for figure in run.figures.iter().filter(|figure| figure.has_interval()) {
                            @if let Some(value) = figure.value {
                                tr { td { (name(&figure.score)) } td { (name(&figure.metric)) } td.num { (figure_scale(figure.unit, value).text(value)) } td.num { (count(figure.n)) } }
                            }
                        }
                    }
                }
            }
            @if let Some(expected) = run.expected.filter(|_| counts.passed + counts.failed > 0) {
                p { "If it comes to its end, between " b.num { (share(counts.passed, expected)) } " and " b.num { (share(counts.passed + run.never_ran() + counts.errored + counts.unscored, expected)) } " of the samples will have passed, whatever the others bring." }
            }
            p.quiet { "There is no interval before the end: looking again and again would make it too narrow, and samples that end early may differ from the others." }
        }
    }
}

/// The progress of a run, for a page that shows it already.
#[must_use]
pub fn progress_html(run: &HistoryRun) -> String {
    if run.is_open() { progress_part(run).into_string() } else { String::new() }
}

fn share(part: u64, whole: u64) -> String {
    crate::numbers::percent(part as f64 / whole.max(1) as f64)
}

/// A form that says that the run is not to be counted, or that it is again.
fn invalidation(run: &HistoryRun) -> Markup {
    let (path, words) = match run.invalid {
        Some(_) => ("restore", "Count this run again"),
        None => ("invalidate", "Do not count this run"),
    };
    html! {
        details.invalidation {
            summary { (words) }
            form.change data-address=(format!("/api/runs/{}/{path}", encode(&run.key))) {
                @if run.invalid.is_none() { label.wide { span.quiet { "Why" } " " input name="why" required maxlength="500"; } }
                button type="submit" { (words) }
                p.problem role="alert" {}
            }
            noscript { p.quiet { "This needs JavaScript; " code { "calipers history invalidate " (run.key) } " does the same." } }
        }
    }
}

fn place_in_history(view: &RunView) -> Markup {
    let run = &view.run;
    let facts = [
        ("suite", Some(run.suite.as_str())),
        ("version", run.version.as_deref()),
        ("branch", run.branch.as_deref()),
        ("commit", run.commit.as_deref()),
    ];
    html! {
        nav.crumbs aria-label="Place" { a href="/" { "Runs" } " / " a href=(address("/", [("suite", run.suite.as_str())])) { (name(&run.suite)) } " / " span { (date_of(run)) } }
        div.facts-line {
            @for (label, value) in facts { @if let Some(value) = value { span { span.quiet { (label) " " } (name(&short(value))) } } }
            @for (tag, value) in &run.tags { span { span.quiet { (name(tag)) " " } (name(value)) } }
            @for note in notes(run) { span.open { (note) } }
        }
        p.actions {
            a.button href=(format!("{}/samples", run_address(&run.key))) { (count(run.counts.total)) " samples" }
            @if let Some(before) = &view.before {
                a.button href=(compare_address(&run.key, &before.key)) { "Compare with the run before (" (date_of(before)) ")" }
            }
            a.button href=(trend_address(run)) { "Trend" }
            a.button href=(format!("{}/label", run_address(&run.key))) { "Label" }
            a.button href=(format!("{}/judge", run_address(&run.key))) { "Judge" }
            a.button href=(format!("{}/report", run_address(&run.key))) { "Report as one file" }
            a.button href=(format!("/api/runs/{}", encode(&run.key))) { "JSON" }
        }
        form.filters method="get" action=(format!("{}/search", run_address(&run.key))) role="search" {
            label.wide { span { "Search what was asked and answered" } input #search type="search" name="q" maxlength="200" required; }
            button type="submit" { "Search" }
        }
        (invalidation(run))
        @for verdict in &view.verdicts {
            p.quiet { (badge(verdict.verdict.name())) " by " (name(&verdict.policy)) " (" (verdict.policy_hash.chars().take(8).collect::<String>()) ") on " (crate::page::date(&verdict.at)) }
        }
        @if let Some(problem) = &view.problem {
            p.problem { "The file of this run cannot be read now: " (said_in_lines(problem)) }
            p.quiet { "These are the figures that were computed when it was added." }
        }
    }
}

pub(super) fn compare_address(key: &str, other: &str) -> String {
    address("/compare", [("run", key), ("run", other)])
}

pub(super) fn trend_address(run: &HistoryRun) -> String {
    let figure = run.headline();
    let of = |part: fn(&crate::history::HistoryFigure) -> &str| figure.map_or("", part);
    address(
        "/trend",
        [
            ("suite", run.suite.as_str()),
            ("model", run.model.as_deref().unwrap_or_default()),
            ("score", of(|figure| &figure.score)),
            ("metric", of(|figure| &figure.metric)),
        ],
    )
}

/// The figures as they were computed when the run was added.
fn figures_of_index(view: &RunView) -> Markup {
    html! {
        section #metrics {
            h1 { (name(&view.run.suite)) }
            table.plain.narrow {
                thead { tr { th { "score" } th { "metric" } th.num { "estimate" } th.num { "interval" } th.num { "n" } th.num { "missing" } } }
                tbody {
                    @for figure in &view.run.figures {
                        tr {
                            td { (name(&figure.score)) @if let Some(reducer) = &figure.reducer { small { "reduced by " (name(reducer)) } } }
                            th scope="row" { (name(&figure.metric)) }
                            @match figure.value {
                                Some(value) => {
                                    @let scale = figure_scale(figure.unit, value);
                                    td.num { b { (scale.text(value)) } }
                                    td.num { @if figure.has_interval() { (scale.interval(figure.lower, figure.upper)) } }
                                }
                                None => { td.words colspan="2" { "undefined" } }
                            }
                            (number_cell("n", &count(figure.n)))
                            (number_cell("missing", &if figure.missing > 0 { count(figure.missing) } else { String::new() }))
                        }
                    }
                }
            }
        }
    }
}
