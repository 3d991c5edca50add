//! The list of runs, with what can be chosen by.

use super::{Delivery, Section, address, date_of, layout, run_address, said_in_lines, short};
use crate::history::{HistoryList, HistoryRun, RunFilter, RunState};
use crate::numbers::{count, percent};
use crate::page::axis::Axis;
use crate::page::plots::{interval_plot, key, shares_bar, ticks};
use crate::page::{name, sentence};
use crate::results::figure_scale;
use calipers_core::{Unit, pluralize};
use maud::{Markup, html};

/// What the page of runs shows.
#[derive(Clone, Debug, Default)]
pub struct RunsView {
    /// The runs.
    pub list: HistoryList,
    /// What they were chosen by.
    pub filter: RunFilter,
    /// What else can be chosen.
    pub facets: Facets,
    /// How many runs a part of the list has at most.
    pub page_size: u64,
    /// How many runs the history has.
    pub all: u64,
    /// Files that could not be read, and why.
    pub problems: Vec<(String, String)>,
    /// What is in the way in folders, such as links that lead nowhere.
    pub obstacles: Vec<(String, String)>,
    /// True while files are still being read.
    pub is_reading: bool,
    /// The folders and files that are watched.
    pub roots: Vec<String>,
}

/// The values that runs can be chosen by, with how many runs have each.
#[derive(Clone, Debug, Default)]
pub struct Facets {
    /// Suites.
    pub suites: Vec<(String, u64)>,
    /// Models.
    pub models: Vec<(String, u64)>,
    /// Branches.
    pub branches: Vec<(String, u64)>,
    /// Versions.
    pub versions: Vec<(String, u64)>,
    /// Tags, as `name=value`.
    pub tags: Vec<(String, u64)>,
}

/// The page of runs.
#[must_use]
pub fn runs_html(view: &RunsView, delivery: Delivery<'_>) -> String {
    let main = html! {
        section.hero.slim {
            h1 { "Runs" }
            p.about {
                (pluralize(view.all, "run"))
                @if !view.filter.is_empty() { ", " (count(view.list.total)) " of them shown" }
                @if view.is_reading { span.reading { " · reading files …" } }
            }
        }
        @if view.all == 0 { (nothing(view)) }
        @else {
            (filter_form(view))
            (table(view))
            (pager(view))
        }
        (problems(view))
    };
    layout("Runs", Section::Runs, delivery, &main)
}

fn nothing(view: &RunsView) -> Markup {
    html! {
        div.empty {
            @if view.is_reading { p { "Reading the files. Runs appear here as they are read." } }
            @else if view.roots.is_empty() {
                p { "This history has no runs yet." }
                p.quiet { "Add some with " code { "calipers history add FOLDER" } ", or start with " code { "calipers view FOLDER" } "." }
            } @else {
                p { "No results were found in " (name(&view.roots.join(", "))) "." }
                p.quiet { "New files are picked up as soon as they are written." }
            }
        }
    }
}

/// As many values are a list; more are typed, with suggestions.
const LISTED_MAX: usize = 30;
/// As many are suggested: those of the most runs.
const SUGGESTED_MAX: usize = 60;

fn options(label: &str, field: &str, values: &[(String, u64)], chosen: Option<&str>) -> Markup {
    // One value leaves nothing to choose.
    if values.len() < 2 && chosen.is_none() {
        return html! {};
    }
    // Many values are found by typing, and cost a browser nothing before they are asked for.
    if values.len() > LISTED_MAX {
        let list = format!("all-{field}");
        return html! {
            label { span { (label) }
                input type="text" name=(field) list=(list) value=(chosen.unwrap_or_default()) placeholder="all" maxlength="1000" autocomplete="off";
                datalist id=(list) { @for (value, runs) in values.iter().take(SUGGESTED_MAX) { option value=(value) { (count(*runs)) } } }
            }
        };
    }
    let is_listed = values.iter().any(|(value, _)| Some(value.as_str()) == chosen);
    html! {
        label { span { (label) }
            select name=(field) {
                option value="" { "all" }
                @if let Some(chosen) = chosen.filter(|_| !is_listed) { option value=(chosen) selected { (name(chosen)) } }
                @for (value, runs) in values {
                    option value=(value) selected[Some(value.as_str()) == chosen] { (name(value)) " (" (count(*runs)) ")" }
                }
            }
        }
    }
}

fn filter_form(view: &RunsView) -> Markup {
    let filter = &view.filter;
    let tag = filter.tag.as_ref().map(|(one, value)| format!("{one}={value}"));
    html! {
        form.filters method="get" action="/" role="search" {
            label.wide { span { "Search" } input #search type="search" name="q" value=(filter.text.as_deref().unwrap_or_default()) placeholder="suite, model, version, file …" maxlength="200"; }
            (options("Suite", "suite", &view.facets.suites, filter.suite.as_deref()))
            (options("Model", "model", &view.facets.models, filter.model.as_deref()))
            (options("Branch", "branch", &view.facets.branches, filter.branch.as_deref()))
            (options("Version", "version", &view.facets.versions, filter.version.as_deref()))
            (options("Tag", "tag", &view.facets.tags, tag.as_deref()))
            label { span { "Verdict" }
                select name="verdict" {
                    option value="" { "all" }
                    @for verdict in ["pass", "fail", "undecided", "none"] {
                        option value=(verdict) selected[filter.verdict.as_deref() == Some(verdict)] { (if verdict == "none" { "not judged" } else { verdict }) }
                    }
                }
            }
            label { span { "State" }
                select name="state" {
                    option value="" { "all" }
                    @for state in RunState::ALL {
                        option value=(state.name()) selected[filter.state == Some(state)] { (state_words(state)) }
                    }
                }
            }
            button type="submit" { "Show" }
            @if !filter.is_empty() { a href="/" { "Show all" } }
        }
    }
}

fn state_words(state: RunState) -> &'static str {
    match state {
        RunState::Whole => "nothing missing",
        RunState::Lacking => "something missing",
        RunState::Invalid => "not counted",
    }
}

fn table(view: &RunsView) -> Markup {
    if view.list.runs.is_empty() {
        return html! { div.empty { p { "No run matches." } p { a href="/" { "Show all" } } } };
    }
    let has = |of: fn(&HistoryRun) -> bool| view.list.runs.iter().any(of);
    let has_version = has(|run| run.version_or_commit().is_some());
    let has_branch = has(|run| run.branch.is_some());
    let has_model = has(|run| run.model.is_some());
    let has_notes = has(|run| run.verdict.is_some() || !notes(run).is_empty());
    let level = view.list.runs.iter().find_map(|run| run.headline()).map_or(0.95, |figure| figure.level);
    let are_grades = view.list.runs.iter().filter_map(HistoryRun::headline).all(is_grade);
    html! {
        form #compare method="get" action="/compare" {
            div.bar-top { button type="submit" { "Compare the chosen runs" } span.hint { "Choose two or more. The first one chosen is compared with the others." } }
            table.runs.stack {
                thead { tr {
                    th.choose { span.visually-hidden { "choose" } } th.date { "date" } th.suite { "suite" }
                    @if has_model { th.model { "model" } }
                    @if has_version { th.version { "version" } }
                    @if has_branch { th.branch { "branch" } }
                    th.outcomes { "samples" } th.figure { "first figure" }
                    th.plot { @if are_grades { (ticks(Axis::GRADES)) } }
                    @if has_notes { th.notes { "verdict" } }
                } }
                tbody { @for run in &view.list.runs { (row(run, Columns { has_model, has_version, has_branch, has_notes, are_grades })) } }
            }
        }
        p.quiet { "Lines show " (percent(level)) " intervals" @if are_grades { ", from 0 to 1" } ". Every figure is that of " code { "calipers score" } "." }
    }
}

fn is_grade(figure: &crate::history::HistoryFigure) -> bool {
    let is_within = |x: Option<f64>| x.is_none_or(|x| (0.0..=1.0).contains(&x));
    matches!(figure.unit, Unit::Rate | Unit::Plain)
        && [figure.value, figure.lower, figure.upper].into_iter().all(is_within)
}

/// The columns that some run has something for.
#[derive(Clone, Copy)]
struct Columns {
    has_model: bool,
    has_version: bool,
    has_branch: bool,
    has_notes: bool,
    are_grades: bool,
}

fn row(run: &HistoryRun, columns: Columns) -> Markup {
    let Columns { has_model, has_version, has_branch, has_notes, are_grades } = columns;
    html! {
        tr class=[run.invalid.is_some().then_some("invalid")] {
            td.choose { input type="checkbox" name="run" value=(run.key) aria-label=(format!("choose {} of {}", name(&run.suite), date_of(run))); }
            th.date scope="row" { a.run-link href=(run_address(&run.key)) { (date_of(run)) } }
            td.suite { (name(&run.suite)) @if let Some(of_file) = &run.name { small { (name(of_file)) } } }
            @if has_model { td.model { (run.model.as_deref().map(name).unwrap_or_default()) } }
            @if has_version { td.version { (run.version_or_commit().map(|version| name(&short(version))).unwrap_or_default()) } }
            @if has_branch { td.branch { (run.branch.as_deref().map(name).unwrap_or_default()) } }
            td.outcomes { (outcomes(run)) }
            (figure_cells(run, are_grades))
            @if has_notes { td.notes { (verdict_badge(run)) @for note in notes(run) { small { (note) } } } }
        }
    }
}

/// How the samples ended: a bar, and in words what is not well.
fn outcomes(run: &HistoryRun) -> Markup {
    let counts = run.counts;
    let parts = [
        ("passed", counts.passed),
        ("failed", counts.failed),
        ("scored", run.scored),
        ("errored", counts.errored),
        ("unscored", counts.unscored + run.never_ran()),
    ];
    html! {
        (shares_bar(&parts))
        small {
            @if run.never_ran() > 0 { (count(counts.total)) " of " (count(run.expected.unwrap_or_default())) }
            @else { (count(counts.total)) }
            @if counts.attempts != counts.total { " × " (attempts(run)) }
            @if counts.errored > 0 { span.bad { " · " (count(counts.errored)) " errored" } }
            @if counts.unscored > 0 { span.open { " · " (count(counts.unscored)) " unscored" } }
            @if run.never_ran() > 0 { span.open { " · " (count(run.never_ran())) " never ran" } }
        }
    }
}

fn attempts(run: &HistoryRun) -> String {
    let (attempts, total) = (run.counts.attempts, run.counts.total.max(1));
    if attempts % total == 0 { count(attempts / total) } else { format!("{} attempts", count(attempts)) }
}

fn figure_cells(run: &HistoryRun, are_grades: bool) -> Markup {
    html! {
        @match run.headline() {
            None => { td.figure.words { "none" } td.plot {} }
            Some(figure) => {
                td.figure {
                    @match figure.value {
                        Some(value) => {
                            @let scale = figure_scale(figure.unit, value);
                            span.metric { (name(&figure.metric)) } " " b.num { (scale.text(value)) }
                            @if run.is_open() { small.num { "so far, n " (count(figure.n)) } }
                            @else if figure.has_interval() { small.num { (scale.interval(figure.lower, figure.upper)) ", n " (count(figure.n)) @if figure.missing > 0 { ", " (count(figure.missing)) " missing" } } }
                        }
                        None => { span.metric { (name(&figure.metric)) } " undefined" }
                    }
                }
                // What goes on has no interval yet.
                @let (lower, upper) = if run.is_open() { (None, None) } else { (figure.lower, figure.upper) };
                td.plot { @if are_grades && let Some(value) = figure.value { (interval_plot(Axis::GRADES, value, lower, upper)) } }
            }
        }
    }
}

/// The last verdict as a badge.
pub(super) fn verdict_badge(run: &HistoryRun) -> Markup {
    html! { @if let Some(found) = &run.verdict { (badge(found.verdict.name())) } }
}

/// A verdict as a badge, in colour, shape and word.
pub(super) fn badge(verdict: &str) -> Markup {
    let class = match verdict {
        "pass" => "passed",
        "fail" => "failed",
        _ => "unscored",
    };
    html! { span.badge.(class) { (key(class)) (verdict) } }
}

/// What to know before the run is used.
pub(super) fn notes(run: &HistoryRun) -> Vec<String> {
    let ending = (run.ending != "finished").then(|| match run.ending.as_str() {
        "open" => "running, or killed".to_owned(),
        other => name(other),
    });
    let invalid = run.invalid.as_ref().map(|why| format!("not counted: {}", sentence(why)));
    let gone = run.is_gone.then(|| "file gone".to_owned());
    [ending, invalid, gone].into_iter().flatten().collect()
}

fn pager(view: &RunsView) -> Markup {
    let (size, total) = (view.page_size.max(1), view.list.total);
    if total <= size {
        return html! {};
    }
    let (page, pages) = (view.list.first / size, total.div_ceil(size));
    html! {
        nav.pager aria-label="Parts of the list" {
            @if page > 0 { a rel="prev" href=(page_address(&view.filter, page - 1)) { "← Later" } }
            span { (count(view.list.first + 1)) "–" (count(view.list.first + view.list.runs.len() as u64)) " of " (count(total)) }
            @if page + 1 < pages { a rel="next" href=(page_address(&view.filter, page + 1)) { "Earlier →" } }
        }
    }
}

fn page_address(filter: &RunFilter, page: u64) -> String {
    let page = if page == 0 { String::new() } else { page.to_string() };
    let tag = filter.tag.as_ref().map(|(one, value)| format!("{one}={value}")).unwrap_or_default();
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let pairs = [
        ("q", text(&filter.text)),
        ("suite", text(&filter.suite)),
        ("model", text(&filter.model)),
        ("branch", text(&filter.branch)),
        ("version", text(&filter.version)),
        ("tag", tag),
        ("verdict", text(&filter.verdict)),
        ("state", filter.state.map(|state| state.name().to_owned()).unwrap_or_default()),
        ("page", page),
    ];
    address("/", pairs.iter().map(|(one, value)| (*one, value.as_str())))
}

fn problems(view: &RunsView) -> Markup {
    const SHOWN: usize = 50;
    let all: Vec<&(String, String)> = view.obstacles.iter().chain(&view.problems).collect();
    html! {
        @if !all.is_empty() {
            section #problems {
                h2 { (pluralize(all.len(), "file")) " could not be read" }
                ul.samples {
                    @for (file, why) in all.iter().take(SHOWN) { li { code { (name(file)) } small { (said_in_lines(why)) } } }
                }
                @if all.len() > SHOWN { p.quiet { "and " (count((all.len() - SHOWN) as u64)) " more" } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_are_a_list_and_many_are_typed() {
        let values = |count: usize| (0..count).map(|place| (format!("suite-{place}"), 1)).collect::<Vec<_>>();
        let shown = |count, chosen| options("Suite", "suite", &values(count), chosen).into_string();
        assert_eq!(shown(1, None), "", "one value leaves nothing to choose");
        assert!(shown(LISTED_MAX, None).contains("<select") && !shown(LISTED_MAX, None).contains("<datalist"));
        let many = shown(1_000, Some("suite-999"));
        assert!(!many.contains("<select") && many.contains("list=\"all-suite\"") && many.contains("id=\"all-suite\""));
        assert!(many.contains("value=\"suite-999\" placeholder"), "what was chosen stays: {many}");
        assert_eq!(many.matches("<option").count(), SUGGESTED_MAX);
    }
}
