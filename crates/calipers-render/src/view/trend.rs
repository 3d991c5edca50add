//! A figure over time: each run with its interval, gaps where runs cannot be compared, and changes from paired samples.

use super::trend_plot::trend_plot;
use super::{Delivery, Section, address, date_of, layout, run_address, short, short_name};
use crate::compare::words::verdict_words;
use crate::document::{schema_text, to_json};
use crate::history::{HistoryFigure, HistoryRun};
use crate::numbers::{Scale, count, factor, factors, p_digits, percent};
use crate::page::plots::{key, run_key};
use crate::page::{name, sentence};
use crate::results::figure_scale;
use calipers_compare::{ChangeScale, ChangeVerdict};
use calipers_core::{Unit, pluralize};
use maud::{Markup, html};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

/// What the page of a trend shows.
#[derive(Clone, Debug, Default)]
pub struct TrendView {
    /// The suite, and all suites.
    pub suite: Option<String>,
    /// All suites with their numbers of runs.
    pub suites: Vec<(String, u64)>,
    /// The model, if one is chosen.
    pub model: Option<String>,
    /// All models of the suite.
    pub models: Vec<(String, u64)>,
    /// The branch, if one is chosen.
    pub branch: Option<String>,
    /// All branches of the suite.
    pub branches: Vec<(String, u64)>,
    /// The figure, and all figures of the suite.
    pub choice: Option<TrendChoice>,
    /// All figures of the suite.
    pub choices: Vec<TrendChoice>,
    /// The names of the series: models, or one without a name.
    pub series: Vec<String>,
    /// Series that are left out because there are too many.
    pub series_left_out: u64,
    /// The points, the first in time first.
    pub points: Vec<TrendPoint>,
    /// How many runs there are; more than points if there are too many.
    pub total: u64,
    /// What the last run of a series is beside the first one that it can be compared with.
    pub drifts: Vec<TrendDrift>,
    /// How many tests were made, which their p-values are adjusted for.
    pub tests: u64,
    /// The level of intervals and tests.
    pub level: f64,
    /// True when places are times; else runs stand one after the other.
    pub by_date: bool,
}

/// A figure that runs have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrendChoice {
    /// The score.
    pub score: String,
    /// The metric.
    pub metric: String,
    /// The reducer, if it is named.
    pub reducer: Option<String>,
}

/// A run on a trend.
#[derive(Clone, Debug, Default)]
pub struct TrendPoint {
    /// The run.
    pub run: HistoryRun,
    /// The place of its series.
    pub series: usize,
    /// Its figure.
    pub figure: HistoryFigure,
    /// Why it cannot simply be compared with the point before it in its series.
    pub breaks: Vec<TrendBreak>,
    /// True when the policy of its verdict is not that of the point before.
    pub is_new_policy: bool,
    /// What changed since the point before it in its series, if that was looked at.
    pub change: Option<TrendChange>,
}

/// Why a line is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrendBreak {
    /// The cases are not the same.
    Cases(CaseDifference),
    /// The scorers are not the same.
    Scorers,
}

/// How the cases of one run differ from those of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaseDifference {
    /// Cases that both have and that ask the same, as far as that is known.
    pub shared: u64,
    /// Cases that both have and that ask something else.
    pub changed: u64,
    /// Cases that only the first has.
    pub added: u64,
    /// Cases that only the second has.
    pub removed: u64,
}

impl CaseDifference {
    /// True when there is any.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.changed + self.added + self.removed > 0
    }
}

/// A change from paired samples, on the cases that both runs share.
#[derive(Clone, Debug)]
pub struct TrendChange {
    /// Difference or ratio.
    pub scale: ChangeScale,
    /// The change; none where it is not known.
    pub value: Option<f64>,
    /// The lower end of its interval.
    pub lower: Option<f64>,
    /// The upper end.
    pub upper: Option<f64>,
    /// The p-value adjusted for all tests of the trend.
    pub adjusted: Option<f64>,
    /// The answer, by the adjusted p-value.
    pub verdict: ChangeVerdict,
    /// The number of pairs.
    pub pairs: u64,
    /// Why it is not known.
    pub problem: Option<String>,
}

/// The last run of a series beside the first one with the same cases and scorers.
#[derive(Clone, Debug)]
pub struct TrendDrift {
    /// The place of the series.
    pub series: usize,
    /// The first run.
    pub first: HistoryRun,
    /// The last run.
    pub last: HistoryRun,
    /// How many runs lie between them, with both.
    pub runs: u64,
    /// What changed.
    pub change: TrendChange,
}

/// What differs between the cases of two runs, in words. The other run is called by this name.
pub(super) fn case_difference_sentence(difference: &CaseDifference, other: &str) -> String {
    let mut parts = Vec::new();
    if difference.changed > 0 {
        let verb = if difference.changed == 1 { "asks" } else { "ask" };
        parts.push(format!("{} {verb} something else under the same name", pluralize(difference.changed, "case")));
    }
    if difference.added > 0 {
        parts.push(format!("{} new", count(difference.added)));
    }
    if difference.removed > 0 {
        parts.push(format!("{} gone", count(difference.removed)));
    }
    format!("The cases are not those of {other}: {}; {} shared.", parts.join(", "), count(difference.shared))
}

/// The page of a trend.
#[must_use]
pub fn trend_html(view: &TrendView, delivery: Delivery<'_>) -> String {
    let main = html! {
        section.hero.slim {
            h1 { @match (&view.suite, &view.choice) { (Some(suite), Some(choice)) => { (name(&choice.metric)) " of " (name(suite)) } (Some(suite), None) => (name(suite)), _ => "Trend" } }
        }
        (form(view))
        @if view.points.is_empty() {
            div.empty {
                @if view.suites.is_empty() { p { "There are no runs yet." } }
                @else if view.suite.is_none() { p { "Choose a suite." } }
                @else { p { "No run has this figure." } }
            }
        } @else {
            (picture(view))
            (drifts(view))
            (table(view))
        }
    };
    let title = view.suite.as_deref().map_or_else(|| "Trend".to_owned(), |suite| format!("Trend · {suite}"));
    layout(&title, Section::Trend, delivery, &main)
}

fn select(label: &str, field: &str, values: &[(String, u64)], chosen: Option<&str>, all: Option<&str>) -> Markup {
    if values.len() < 2 && chosen.is_none() && all.is_some() {
        return html! {};
    }
    html! {
        label { span { (label) }
            select name=(field) {
                @if let Some(all) = all { option value="" { (all) } }
                @for (value, runs) in values { option value=(value) selected[chosen == Some(value.as_str())] { (name(value)) " (" (count(*runs)) ")" } }
            }
        }
    }
}

/// Separates the parts of a figure in an address: no name holds it.
const UNIT_SEPARATOR: char = '\u{1f}';

impl TrendChoice {
    /// The figure as one text, for addresses.
    #[must_use]
    pub fn to_text(&self) -> String {
        let reducer = self.reducer.as_deref().unwrap_or_default();
        [self.score.as_str(), self.metric.as_str(), reducer].join(&UNIT_SEPARATOR.to_string())
    }

    /// The figure of such a text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(UNIT_SEPARATOR).map(str::to_owned);
        let (score, metric) = (parts.next()?, parts.next()?);
        Some(Self { score, metric, reducer: parts.next().filter(|reducer| !reducer.is_empty()) })
    }

    fn words(&self) -> String {
        let reducer = self.reducer.as_ref().map(|reducer| format!(", reduced by {}", name(reducer)));
        format!("{} · {}{}", name(&self.score), name(&self.metric), reducer.unwrap_or_default())
    }
}

fn form(view: &TrendView) -> Markup {
    html! {
        form.filters method="get" action="/trend" {
            (select("Suite", "suite", &view.suites, view.suite.as_deref(), None))
            @if view.choices.len() > 1 {
                label { span { "Figure" }
                    select name="figure" {
                        @for choice in &view.choices { option value=(choice.to_text()) selected[view.choice.as_ref() == Some(choice)] { (choice.words()) } }
                    }
                }
            }
            (select("Model", "model", &view.models, view.model.as_deref(), Some("all")))
            (select("Branch", "branch", &view.branches, view.branch.as_deref(), Some("all")))
            label { span { "Places" }
                select name="by" { option value="" { "run after run" } option value="date" selected[view.by_date] { "by date" } }
            }
            button type="submit" { "Show" }
        }
    }
}

fn picture(view: &TrendView) -> Markup {
    let breaks = view.points.iter().filter(|point| !point.breaks.is_empty()).count();
    let unit = view.points.first().map_or(Unit::Plain, |point| point.figure.unit);
    let words = format!(
        "{} over {}, {}; the same numbers are in the table below",
        view.choice.as_ref().map(TrendChoice::words).unwrap_or_default(),
        pluralize(view.points.len(), "run"),
        pluralize(breaks, "interruption"),
    );
    html! {
        @if view.series.len() > 1 {
            p.legend { @for (place, one) in view.series.iter().enumerate() { span { (run_key(place)) (name(one)) } } }
        }
        @if view.series_left_out > 0 { p.quiet { (pluralize(view.series_left_out, "model")) " with fewer runs left out. Choose one above to see it." } }
        figure.trend {
            div.wide { (trend_plot(view, unit, 1060.0, &words)) }
            div.slim { (trend_plot(view, unit, 400.0, &words)) }
        }
        p.quiet {
            "Points with " (percent(view.level)) " intervals" @if view.total > view.points.len() as u64 { ", the latest " (count(view.points.len() as u64)) " of " (count(view.total)) " runs" } "."
            @if breaks > 0 { " A line is interrupted where the cases or the scorers changed: what lies on both sides is not the same test." }
        }
    }
}

fn change_text(change: &TrendChange, unit: Unit, size: f64) -> Option<(String, String)> {
    let value = change.value?;
    Some(match change.scale {
        ChangeScale::Difference => {
            let scale = Scale::of(unit, size).of_differences();
            (scale.signed(value), scale.changes(change.lower, change.upper))
        }
        ChangeScale::Ratio => (factor(value), factors(change.lower, change.upper)),
    })
}

fn change_class(verdict: ChangeVerdict) -> &'static str {
    match verdict {
        ChangeVerdict::Improved => "passed",
        ChangeVerdict::Regressed => "failed",
        ChangeVerdict::Changed | ChangeVerdict::Unknown => "unscored",
        ChangeVerdict::WithinNoise | ChangeVerdict::NoChangeDetected => "neutral",
    }
}

fn change_markup(change: &TrendChange, unit: Unit, size: f64, alpha: f64) -> Markup {
    let class = change_class(change.verdict);
    html! {
        span.badge.(class) { (key(class)) (verdict_words(change.verdict)) }
        @if let Some((value, interval)) = change_text(change, unit, size) {
            " " b.num { (value) } small.num { (interval) ", " (pluralize(change.pairs, "pair")) @if let Some(p) = change.adjusted { ", adjusted p " (p_digits(p, alpha)) } }
        }
        @if let Some(problem) = &change.problem { small { (sentence(problem)) } }
    }
}

fn drifts(view: &TrendView) -> Markup {
    html! {
        @if !view.drifts.is_empty() {
            section #drift {
                h2 { "Since the tests are the same" }
                @for drift in &view.drifts {
                    p {
                        @if view.series.len() > 1 { (run_key(drift.series)) b { (name(&view.series[drift.series])) } " " }
                        (change_markup(&drift.change, unit(view), size(view), 1.0 - view.level))
                        " from " a href=(run_address(&drift.first.key)) { (short_name(&drift.first)) }
                        " to " a href=(run_address(&drift.last.key)) { (short_name(&drift.last)) }
                        ", over " (pluralize(drift.runs, "run")) ". "
                        a href=(address("/compare", [("run", drift.last.key.as_str()), ("run", drift.first.key.as_str())])) { "Compare them" }
                    }
                }
            }
        }
        @if view.tests > 0 {
            p.quiet { "Changes come from the samples that two runs share, paired. Their p-values are adjusted (Holm) for all " (pluralize(view.tests, "test")) " of this page, so that at most " (percent(1.0 - view.level)) " of such pages show a change where there is none." }
        }
    }
}

fn unit(view: &TrendView) -> Unit {
    view.points.first().map_or(Unit::Plain, |point| point.figure.unit)
}

fn size(view: &TrendView) -> f64 {
    view.points.iter().filter_map(|point| point.figure.value).next().unwrap_or(0.0)
}

/// Rows that are shown before the rest is folded away.
const ROWS_MAX: usize = 60;

fn table(view: &TrendView) -> Markup {
    let rows: Vec<Markup> = view.points.iter().rev().map(|point| row(view, point)).collect();
    let (shown, rest) = rows.split_at(rows.len().min(ROWS_MAX));
    let has_changes = view.points.iter().any(|point| point.change.is_some());
    let header = html! {
        thead { tr { th { "run" } @if view.series.len() > 1 { th { "model" } } @if has_versions(view) { th { "version" } } th.num { "estimate" } th.num { (percent(view.level)) " interval" } th.num { "n" } th.num { "missing" } @if has_changes { th { "since the run before" } } } }
    };
    html! {
        section #points {
            h2 { "Runs" }
            table.plain.list.stack { (header) tbody { @for row in shown { (row) } } }
            @if !rest.is_empty() {
                details { summary { (count(rest.len() as u64)) " more rows" } table.plain.list.stack { (header) tbody { @for row in rest { (row) } } } }
            }
        }
    }
}

fn has_versions(view: &TrendView) -> bool {
    view.points.iter().any(|point| point.run.version_or_commit().is_some())
}

fn row(view: &TrendView, point: &TrendPoint) -> Markup {
    let (figure, run) = (&point.figure, &point.run);
    let has_changes = view.points.iter().any(|point| point.change.is_some());
    html! {
        tr {
            th scope="row" {
                a.run-link href=(run_address(&run.key)) { (date_of(run)) }
                @for found in &point.breaks { small.open { (break_words(found)) } }
                @if point.is_new_policy { small { "judged by another policy from here on" } }
            }
            @if view.series.len() > 1 { td data-label="model" { (run_key(point.series)) (name(&view.series[point.series])) } }
            @if has_versions(view) { td data-label="version" { (run.version_or_commit().map(|version| name(&short(version))).unwrap_or_default()) } }
            @match figure.value {
                Some(value) => {
                    @let scale = figure_scale(figure.unit, value);
                    td.num data-label="estimate" { b { (scale.text(value)) } }
                    td.num data-label="interval" { @if figure.has_interval() { (scale.interval(figure.lower, figure.upper)) } }
                }
                None => { td.words data-label="estimate" { "undefined" } td {} }
            }
            td.num data-label="n" { (count(figure.n)) }
            td.num data-label="missing" { @if figure.missing > 0 { (count(figure.missing)) } }
            @if has_changes { td data-label="change" { @if let Some(change) = &point.change { (change_markup(change, figure.unit, size(view), 1.0 - view.level)) } } }
        }
    }
}

fn break_words(found: &TrendBreak) -> String {
    match found {
        TrendBreak::Cases(difference) => case_difference_sentence(difference, "the run before"),
        TrendBreak::Scorers => "The scorers are not those of the run before.".to_owned(),
    }
}

const SCHEMA: &str = "calipers.trend/1";

/// The trend as JSON.
#[must_use]
pub fn trend_json(view: &TrendView) -> Json {
    to_json(&TrendDocument {
        schema: SCHEMA,
        suite: view.suite.clone(),
        score: view.choice.as_ref().map(|choice| choice.score.clone()),
        metric: view.choice.as_ref().map(|choice| choice.metric.clone()),
        reducer: view.choice.as_ref().and_then(|choice| choice.reducer.clone()),
        level: view.level,
        tests: view.tests,
        total: view.total,
        points: view.points.iter().map(|point| TrendPointDocument::new(view, point)).collect(),
        drifts: view.drifts.iter().map(|drift| TrendDriftDocument::new(view, drift)).collect(),
    })
}

/// The schema of the JSON.
#[must_use]
pub fn trend_schema() -> String {
    schema_text::<TrendDocument>("trend")
}

/// A figure over time.
#[derive(Serialize, JsonSchema)]
struct TrendDocument {
    /// The name and version of this schema.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// The suite; null where there is none.
    suite: Option<String>,
    /// The score of the figure.
    score: Option<String>,
    /// Its metric.
    metric: Option<String>,
    /// Its reducer, if it is named.
    reducer: Option<String>,
    /// The level of intervals and tests.
    level: f64,
    /// How many tests were made, which p-values are adjusted for (Holm).
    tests: u64,
    /// How many runs there are; more than points if there are too many.
    total: u64,
    /// The runs, the first in time first.
    points: Vec<TrendPointDocument>,
    /// The last run of each series beside the first with the same cases and scorers.
    drifts: Vec<TrendDriftDocument>,
}

/// A run on a trend.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "trend_point")]
struct TrendPointDocument {
    /// The run.
    key: String,
    /// When it began, or when its file was written, in milliseconds since 1970.
    at_ms: i64,
    /// The series: a model; empty where there is one series.
    series: String,
    /// The version.
    version: Option<String>,
    /// The value; null where it is undefined.
    value: Option<f64>,
    /// The lower end of its interval.
    lower: Option<f64>,
    /// The upper end.
    upper: Option<f64>,
    /// How many samples it rests on.
    n: u64,
    /// How many have no score.
    missing: u64,
    /// What changed in the test since the point before: `cases`, `scorers`.
    breaks: Vec<&'static str>,
    /// True when the policy of its verdict is not that of the point before.
    new_policy: bool,
    /// What changed since the point before; null where that was not looked at.
    change: Option<TrendChangeDocument>,
}

/// A change from paired samples.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "trend_change")]
struct TrendChangeDocument {
    /// `difference` or `ratio`.
    scale: &'static str,
    /// The change; null where it is not known.
    value: Option<f64>,
    /// The lower end of its interval.
    lower: Option<f64>,
    /// The upper end.
    upper: Option<f64>,
    /// The adjusted p-value.
    adjusted_p: Option<f64>,
    /// The answer, in words.
    verdict: String,
    /// The number of pairs.
    pairs: u64,
    /// Why it is not known.
    problem: Option<String>,
}

/// The ends of a series.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "trend_drift")]
struct TrendDriftDocument {
    /// The series.
    series: String,
    /// The first run.
    first: String,
    /// The last run.
    last: String,
    /// How many runs there are from the first to the last.
    runs: u64,
    /// What changed.
    change: TrendChangeDocument,
}

impl TrendPointDocument {
    fn new(view: &TrendView, point: &TrendPoint) -> Self {
        let kind = |found: &TrendBreak| match found {
            TrendBreak::Cases(_) => "cases",
            TrendBreak::Scorers => "scorers",
        };
        Self {
            key: point.run.key.clone(),
            at_ms: point.run.at_ms,
            series: view.series[point.series].clone(),
            version: point.run.version.clone(),
            value: point.figure.value,
            lower: point.figure.lower,
            upper: point.figure.upper,
            n: point.figure.n,
            missing: point.figure.missing,
            breaks: point.breaks.iter().map(kind).collect(),
            new_policy: point.is_new_policy,
            change: point.change.as_ref().map(TrendChangeDocument::from),
        }
    }
}

impl TrendDriftDocument {
    fn new(view: &TrendView, drift: &TrendDrift) -> Self {
        Self {
            series: view.series[drift.series].clone(),
            first: drift.first.key.clone(),
            last: drift.last.key.clone(),
            runs: drift.runs,
            change: TrendChangeDocument::from(&drift.change),
        }
    }
}

impl From<&TrendChange> for TrendChangeDocument {
    fn from(change: &TrendChange) -> Self {
        Self {
            scale: match change.scale {
                ChangeScale::Difference => "difference",
                ChangeScale::Ratio => "ratio",
            },
            value: change.value,
            lower: change.lower,
            upper: change.upper,
            adjusted_p: change.adjusted,
            verdict: verdict_words(change.verdict).to_owned(),
            pairs: change.pairs,
            problem: change.problem.clone(),
        }
    }
}
