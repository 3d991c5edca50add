//! One case over all runs that have it: a strip of outcomes, and a line for each run.

use super::sample::beside_address;
use super::{Delivery, Section, address, date_of, layout, run_address, sample_address, short};
use crate::history::HistoryRun;
use crate::numbers::{Scale, count, number};
use crate::page::plots::key;
use crate::page::{PageOutcome, name};
use calipers_core::pluralize;
use maud::{Markup, html};

/// A case over time.
#[derive(Clone, Debug, Default)]
pub struct CaseView {
    /// Its suite.
    pub suite: String,
    /// Its name.
    pub id: String,
    /// The runs that have it, the latest first.
    pub entries: Vec<CaseEntry>,
    /// How many runs have it; more than are listed if there are too many.
    pub total: u64,
}

/// A case in one run.
#[derive(Clone, Debug)]
pub struct CaseEntry {
    /// The run.
    pub run: HistoryRun,
    /// How it ended there.
    pub outcome: PageOutcome,
    /// Attempts that passed.
    pub passed: u32,
    /// Attempts that did not.
    pub failed: u32,
    /// All attempts.
    pub attempts: u32,
    /// The mean of its scores by the first scorer.
    pub score: Option<f64>,
    /// True when it asks something else than in the run of the same model before.
    pub is_changed: bool,
}

/// The page of a case.
#[must_use]
pub fn case_html(view: &CaseView, delivery: Delivery<'_>) -> String {
    let count_of = |outcome| view.entries.iter().filter(|entry| entry.outcome == outcome).count();
    let (passed, failed) = (count_of(PageOutcome::Passed), count_of(PageOutcome::Failed));
    let flaky = view.entries.iter().filter(|entry| entry.passed > 0 && entry.failed > 0).count();
    let main = html! {
        nav.crumbs aria-label="Place" { a href="/" { "Runs" } " / " a href=(address("/", [("suite", view.suite.as_str())])) { (name(&view.suite)) } " / " span { (name(&view.id)) } }
        section.hero.slim {
            h1 { (name(&view.id)) }
            p.about {
                (pluralize(view.total, "run")) @if view.total > view.entries.len() as u64 { ", the latest " (view.entries.len()) " shown" }
                @if passed + failed > 0 { " · passed in " (passed) " of " (passed + failed) " (" (Scale::Percent.text(passed as f64 / (passed + failed) as f64)) ")" }
                @if flaky > 0 { " · flaky in " (count(flaky as u64)) }
            }
        }
        @if view.entries.is_empty() { div.empty { p { "No run of this suite has such a case." } } }
        @else { (strips(view)) (table(view)) }
    };
    layout(&format!("{} · {}", view.id, view.suite), Section::Runs, delivery, &main)
}

/// The models of the entries, those of the latest runs first.
fn models(view: &CaseView) -> Vec<Option<&str>> {
    let mut models: Vec<Option<&str>> = Vec::new();
    for entry in &view.entries {
        let model = entry.run.model.as_deref();
        if !models.contains(&model) {
            models.push(model);
        }
    }
    models
}

/// A strip for each model: whether a case is flaky, or got worse, is a question about one of them.
fn strips(view: &CaseView) -> Markup {
    let models = models(view);
    html! {
        @for model in &models {
            @if models.len() > 1 { p.quiet { (model.map_or_else(|| "without a model".to_owned(), name)) " · " (passed_sentence(view, *model)) } }
            (strip(view, *model))
        }
    }
}

fn passed_sentence(view: &CaseView, model: Option<&str>) -> String {
    let of_model = || view.entries.iter().filter(move |entry| entry.run.model.as_deref() == model);
    let count_of = |outcome| of_model().filter(|entry| entry.outcome == outcome).count();
    let (passed, failed) = (count_of(PageOutcome::Passed), count_of(PageOutcome::Failed));
    match passed + failed {
        0 => "no verdict".to_owned(),
        judged => {
            format!("passed in {passed} of {judged} ({})", Scale::Percent.text(passed as f64 / judged as f64))
        }
    }
}

/// The outcomes from the first run of a model to the last. A gap stands where the case began to ask something else.
fn strip(view: &CaseView, model: Option<&str>) -> Markup {
    html! {
        ol.outcome-strip aria-label="Outcomes, from the first run to the latest" {
            @for entry in view.entries.iter().rev().filter(|entry| entry.run.model.as_deref() == model) {
                li.changed[entry.is_changed] {
                    a href=(sample_address(&entry.run.key, &view.id)) title=(format!("{}: {}", date_of(&entry.run), entry.outcome.name())) {
                        (key(entry.outcome.name())) span.visually-hidden { (date_of(&entry.run)) ": " (entry.outcome.name()) }
                    }
                }
            }
        }
    }
}

fn table(view: &CaseView) -> Markup {
    let has_version = view.entries.iter().any(|entry| entry.run.version_or_commit().is_some());
    let has_model = view.entries.iter().any(|entry| entry.run.model.is_some());
    let has_score = view.entries.iter().any(|entry| entry.score.is_some());
    html! {
        table.plain.list.stack {
            thead {
                tr {
                    th { "run" } th { "outcome" }
                    @if has_version { th { "version" } }
                    @if has_model { th { "model" } }
                    th.num { "attempts passed" }
                    @if has_score { th.num { "score" } }
                    @if view.entries.len() > 1 { th { "answers" } }
                }
            }
            tbody {
                @for (place, entry) in view.entries.iter().enumerate() {
                    tr {
                        th scope="row" { a.run-link href=(run_address(&entry.run.key)) { (date_of(&entry.run)) } @if entry.is_changed { small.open { "asks something else than in the run before" } } }
                        td { a href=(sample_address(&entry.run.key, &view.id)) { (key(entry.outcome.name())) (entry.outcome.name()) } }
                        @if has_version { td data-label="version" { (entry.run.version_or_commit().map(|version| name(&short(version))).unwrap_or_default()) } }
                        @if has_model { td data-label="model" { (entry.run.model.as_deref().map(name).unwrap_or_default()) } }
                        td.num data-label="attempts passed" { @if entry.passed + entry.failed > 0 { (entry.passed) " of " (entry.passed + entry.failed) } @else { (entry.attempts) " without a verdict" } }
                        @if has_score { td.num data-label="score" { @if let Some(score) = entry.score { (number(score)) } } }
                        @if view.entries.len() > 1 {
                            td { @if let Some(before) = view.entries[place + 1..].iter().find(|before| before.run.model == entry.run.model) { a href=(beside_address(&entry.run.key, &view.id, 1, (&before.run.key, 1))) { "beside the run before" } } }
                        }
                    }
                }
            }
        }
    }
}
