//! The samples of a run, and one of them with its attempts and their conversations.

use super::beside::{AttemptSide, BesideView, beside_part};
use super::{Delivery, Section, address, date_of, layout, run_address, said_in_lines, sample_address, short_name};
use crate::history::HistoryRun;
use crate::numbers::{count, number};
use crate::outcome_words::shortcoming_sentence;
use crate::page::plots::key;
use crate::page::{PageOutcome, name, sentence};
use crate::text::{abridge, clean};
use calipers_core::{Shortcoming, Value, pluralize};
use maud::{Markup, html};

/// A part of the samples of a run.
#[derive(Clone, Debug, Default)]
pub struct SampleList {
    /// The run.
    pub run: HistoryRun,
    /// The samples of this part, those that did not pass first.
    pub rows: Vec<SampleRow>,
    /// The place of the first of them.
    pub first: u64,
    /// How many there are.
    pub total: u64,
    /// How many a part has at most.
    pub page_size: u64,
    /// A part of their names.
    pub text: Option<String>,
    /// Only this outcome.
    pub outcome: Option<PageOutcome>,
}

/// A sample of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleRow {
    /// Its name.
    pub id: String,
    /// Its outcome.
    pub outcome: PageOutcome,
    /// Its attempts.
    pub attempts: u32,
    /// Those that passed.
    pub passed: u32,
    /// Those that did not.
    pub failed: u32,
    /// The mean of its scores by the first scorer.
    pub score: Option<f64>,
}

/// A sample with its attempts.
#[derive(Clone, Debug)]
pub struct SampleView {
    /// The run.
    pub run: HistoryRun,
    /// How it ended.
    pub row: SampleRow,
    /// What was asked.
    pub input: Option<String>,
    /// What should be answered.
    pub target: Option<String>,
    /// The attempt that is shown.
    pub attempt: Option<AttemptView>,
    /// The epoch of the attempt that is asked for.
    pub epoch: u32,
    /// The epochs that there are.
    pub epochs: Vec<u32>,
    /// Why the attempt cannot be read, if it cannot.
    pub problem: Option<String>,
    /// The next sample of the same list, and the one before.
    pub neighbours: (Option<String>, Option<String>),
    /// How many other runs have the case.
    pub other_runs: u64,
    /// What the conversation was searched for, and where it is.
    pub search: Option<(String, Vec<TextHit>)>,
    /// The attempt that this one is shown beside.
    pub beside: Option<BesideView>,
}

/// A place in a conversation that has what was searched for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextHit {
    /// The number of the message, from 1; none for what is not a message.
    pub message: Option<usize>,
    /// Who speaks, or what the text is.
    pub role: String,
    /// The text around it.
    pub excerpt: String,
}

/// An attempt of a sample.
#[derive(Clone, Debug, Default)]
pub struct AttemptView {
    /// The error that it ended in.
    pub error: Option<String>,
    /// Why it did not pass, as far as that is known.
    pub reason: Option<Shortcoming>,
    /// Scorer, score, answer and explanation.
    pub scores: Vec<(String, Value, Option<String>, Option<String>)>,
    /// Measurements.
    pub fields: Vec<(String, String)>,
    /// What else is known.
    pub facts: Vec<(String, String)>,
    /// The messages of this part of the conversation.
    pub messages: Vec<ViewMessage>,
    /// The place of the first of them, and how many messages the conversation has.
    pub place: (usize, usize),
    /// What was answered, unless the conversation ends with it.
    pub output: Option<String>,
}

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewMessage {
    /// Who speaks.
    pub role: &'static str,
    /// What is said.
    pub text: String,
    /// The tools that are called, with their arguments.
    pub calls: Vec<(String, String)>,
}

/// As many messages of a conversation are on one page.
pub const MESSAGES_ON_PAGE: usize = 100;

/// As much of one text is shown before the rest is folded away.
pub(super) const TEXT_SHOWN: usize = 20_000;
/// As much of one text is on a page at all. The rest is in the file.
const TEXT_MOST: usize = 400_000;

const OUTCOMES: [PageOutcome; 5] =
    [PageOutcome::Failed, PageOutcome::Errored, PageOutcome::Unscored, PageOutcome::Scored, PageOutcome::Passed];

/// The page of the samples of a run.
#[must_use]
pub fn samples_html(list: &SampleList, delivery: Delivery<'_>) -> String {
    let run = &list.run;
    let path = format!("{}/samples", run_address(&run.key));
    let outcome = list.outcome.map_or("", PageOutcome::name);
    let text = list.text.as_deref().unwrap_or_default();
    let page_of = |page: u64| {
        let page = page.to_string();
        address(&path, [("q", text), ("outcome", outcome), ("page", if page == "0" { "" } else { &page })])
    };
    let size = list.page_size.max(1);
    let (page, pages) = (list.first / size, list.total.div_ceil(size));
    let main = html! {
        (crumbs(run, "samples"))
        section.hero.slim { h1 { "Samples" } p.about { (pluralize(list.total, "sample")) @if list.text.is_some() || list.outcome.is_some() { " of " (count(run.counts.total)) } } }
        form.filters method="get" action=(path) role="search" {
            label.wide { span { "Search" } input #search type="search" name="q" value=(text) placeholder="name of a sample" maxlength="200"; }
            label { span { "Outcome" }
                select name="outcome" {
                    option value="" { "all" }
                    @for one in OUTCOMES { option value=(one.name()) selected[list.outcome == Some(one)] { (one.name()) } }
                }
            }
            button type="submit" { "Show" }
        }
        @if list.rows.is_empty() { div.empty { p { "No sample matches." } } }
        @else {
            table.plain.list.stack {
                thead { tr { th { "sample" } th { "outcome" } th.num { "attempts passed" } th.num { "score" } } }
                tbody {
                    @for row in &list.rows {
                        tr {
                            th scope="row" { a.run-link href=(sample_address(&run.key, &row.id)) { (name(&row.id)) } }
                            td { (key(row.outcome.name())) " " (row.outcome.name()) }
                            td.num data-label="attempts passed" { @if row.passed + row.failed > 0 { (row.passed) " of " (row.passed + row.failed) } }
                            td.num data-label="score" { @if let Some(score) = row.score { (number(score)) } }
                        }
                    }
                }
            }
        }
        @if pages > 1 {
            nav.pager aria-label="Parts of the list" {
                @if page > 0 { a rel="prev" href=(page_of(page - 1)) { "← Before" } }
                span { (count(list.first + 1)) "–" (count(list.first + list.rows.len() as u64)) " of " (count(list.total)) }
                @if page + 1 < pages { a rel="next" href=(page_of(page + 1)) { "After →" } }
            }
        }
    };
    layout(&format!("Samples · {}", short_name(run)), Section::Runs, delivery, &main)
}

pub(super) fn crumbs(run: &HistoryRun, here: &str) -> Markup {
    html! {
        nav.crumbs aria-label="Place" {
            a href="/" { "Runs" } " / " a href=(address("/", [("suite", run.suite.as_str())])) { (name(&run.suite)) } " / "
            a href=(run_address(&run.key)) { (date_of(run)) } " / " span { (name(here)) }
        }
    }
}

/// The page of a sample.
#[must_use]
pub fn sample_html(view: &SampleView, delivery: Delivery<'_>) -> String {
    let (run, row) = (&view.run, &view.row);
    let main = html! {
        (crumbs(run, &row.id))
        section.hero.slim {
            h1 { (name(&row.id)) }
            p.about {
                span.badge.(row.outcome.name()) { (key(row.outcome.name())) (row.outcome.name()) }
                @if row.passed + row.failed > 1 { " " (row.passed) " of " (row.passed + row.failed) " attempts passed" }
                @if row.passed > 0 && row.failed > 0 { " · flaky" }
            }
            p.actions {
                @if let Some(before) = &view.neighbours.1 { a.button rel="prev" href=(sample_address(&run.key, before)) { "← Sample before" } }
                @if let Some(next) = &view.neighbours.0 { a.button rel="next" href=(sample_address(&run.key, next)) { "Next sample →" } }
                @if view.other_runs > 0 { a.button href=(address("/case", [("suite", run.suite.as_str()), ("id", row.id.as_str())])) { "In " (count(view.other_runs + 1)) " runs" } }
            }
        }
        (list_texts(&[("Asked", view.input.as_deref()), ("Expected", view.target.as_deref())]))
        (attempt_links(view))
        @if let Some(problem) = &view.problem { p.problem { (said_in_lines(problem)) } }
        @if let Some(attempt) = &view.attempt { (attempt_part(view, attempt)) }
    };
    layout(&format!("{} · {}", row.id, short_name(run)), Section::Runs, delivery, &main)
}

fn epoch_address(view: &SampleView, epoch: u32, from: usize) -> String {
    let (epoch, from) = (epoch.to_string(), if from == 0 { String::new() } else { from.to_string() });
    let path = format!("{}/sample", run_address(&view.run.key));
    address(&path, [("id", view.row.id.as_str()), ("attempt", epoch.as_str()), ("from", from.as_str())])
}

fn attempt_links(view: &SampleView) -> Markup {
    let others = view.epochs.iter().filter(|epoch| **epoch != view.epoch).take(BESIDE_MAX);
    html! {
        @if view.epochs.len() > 1 {
            nav.attempts aria-label="Attempts" {
                @for epoch in &view.epochs {
                    a.button href=(epoch_address(view, *epoch, 0)) aria-current=[(*epoch == view.epoch).then_some("page")] { "Attempt " (epoch) }
                }
            }
            p.quiet { "Show it beside" @for epoch in others { " " a href=(beside_address(&view.run.key, &view.row.id, view.epoch, (&view.run.key, *epoch))) { "attempt " (epoch) } } }
        }
    }
}

/// As many other attempts are offered beside one.
const BESIDE_MAX: usize = 10;

/// The address of an attempt beside another one.
pub(super) fn beside_address(key: &str, id: &str, epoch: u32, beside: (&str, u32)) -> String {
    let (epoch, other) = (epoch.to_string(), beside.1.to_string());
    let path = format!("{}/sample", run_address(key));
    address(&path, [("id", id), ("attempt", epoch.as_str()), ("beside", beside.0), ("other", other.as_str())])
}

fn beside_conversation(view: &SampleView, attempt: &AttemptView, beside: &BesideView) -> Markup {
    let ours = AttemptSide { run: &view.run, epoch: view.epoch, attempt };
    html! {
        @if let Some(problem) = &beside.problem { p.problem { (said_in_lines(problem)) } }
        @if let Some(attempt) = &beside.attempt {
            (beside_part(&view.row.id, &ours, &AttemptSide { run: &beside.run, epoch: beside.epoch, attempt }))
        }
        p { a href=(epoch_address(view, view.epoch, 0)) { "Show this attempt alone" } }
    }
}

fn attempt_part(view: &SampleView, attempt: &AttemptView) -> Markup {
    html! {
        section.attempt {
            @if let Some(reason) = &attempt.reason { p.why { (sentence(&shortcoming_sentence(reason))) } }
            (list_texts(&[("Error", attempt.error.as_deref())]))
            @for (scorer, value, answer, explanation) in &attempt.scores {
                dl.facts.said {
                    dt { (name(scorer)) } dd { b { (name(&score_text(value))) } }
                    (list_pairs(&[("answer", answer.as_deref()), ("explanation", explanation.as_deref())]))
                }
            }
            @if !attempt.fields.is_empty() { (facts(&attempt.fields)) }
            @match &view.beside {
                Some(beside) => (beside_conversation(view, attempt, beside)),
                None => { (conversation(view, attempt)) (list_texts(&[("Answered", attempt.output.as_deref())])) }
            }
            @if !attempt.facts.is_empty() { details { summary { (pluralize(attempt.facts.len(), "fact")) } (facts(&attempt.facts)) } }
        }
    }
}

pub(super) fn score_text(value: &Value) -> String {
    match value {
        Value::Float(x) => number(*x),
        Value::Missing => "no score".to_owned(),
        other => other.to_string(),
    }
}

fn facts(pairs: &[(String, String)]) -> Markup {
    html! { dl.facts { @for (one, value) in pairs { dt { (name(one)) } dd { (sentence(value)) } } } }
}

/// The messages of an attempt, after what stands beside their title. Each has a number that leads to it within its page.
pub(super) fn conversation_part(attempt: &AttemptView, beside: &Markup) -> Markup {
    let (first, all) = attempt.place;
    let last = first + attempt.messages.len();
    html! {
        @if attempt.messages.is_empty() { (beside) }
        @else {
            div.conversation-top { h2 { "Conversation" } (beside) }
            @if attempt.messages.len() < all { p.quiet { "Messages " (first + 1) " to " (last) " of " (count(all as u64)) } }
            ol.messages start=(first + 1) {
                @for (place, message) in attempt.messages.iter().enumerate() {
                    @let number = first + place + 1;
                    li.message.(message.role) id=(format!("m{number}")) {
                        p.label { a href=(format!("#m{number}")) { (number) } " " (message.role) }
                        @if message.role == "tool" && message.text.len() > FOLDED {
                            details { summary { (count(message.text.chars().count() as u64)) " characters" } (long_text(&message.text)) }
                        } @else if !message.text.is_empty() { (long_text(&message.text)) }
                        @for (function, arguments) in &message.calls {
                            details { summary { "calls " code { (name(function)) } } (long_text(arguments)) }
                        }
                    }
                }
            }
        }
    }
}

/// A search in the conversation.
fn search_part(view: &SampleView, attempt: &AttemptView) -> Markup {
    // What fits on a screen or two is read, not searched.
    if attempt.place.1 < 8 && view.search.is_none() {
        return html! {};
    }
    let text = view.search.as_ref().map_or("", |(text, _)| text);
    html! {
        form.filters method="get" action=(format!("{}/sample", run_address(&view.run.key))) role="search" {
            input type="hidden" name="id" value=(view.row.id);
            input type="hidden" name="attempt" value=(view.epoch);
            label.wide { span.visually-hidden { "Search this conversation" } input #search type="search" name="find" value=(text) placeholder="search this conversation" maxlength="200" required; }
            button type="submit" { "Search" }
            @if view.search.is_some() { a href=(epoch_address(view, view.epoch, 0)) { "Show all" } }
        }
    }
}

/// What the search found.
fn found_part(view: &SampleView) -> Markup {
    html! {
        @if let Some((_, hits)) = &view.search {
            p.quiet.found { (pluralize(hits.len(), "place")) " found" }
            ul.samples { @for hit in hits { li { (hit_link(view, hit)) small { (name(&hit.excerpt)) } } } }
        }
    }
}

fn hit_link(view: &SampleView, hit: &TextHit) -> Markup {
    html! {
        @match hit.message {
            Some(number) => a href=(message_address(&view.run.key, &view.row.id, view.epoch, number)) { (number) " " (name(&hit.role)) },
            None => span { (name(&hit.role)) },
        }
    }
}

/// The address of a message, with the part of the conversation that it is in.
pub(super) fn message_address(key: &str, id: &str, epoch: u32, number: usize) -> String {
    let from = (number.saturating_sub(1) / MESSAGES_ON_PAGE) * MESSAGES_ON_PAGE;
    let (epoch, from) = (epoch.to_string(), if from == 0 { String::new() } else { from.to_string() });
    let path = format!("{}/sample", run_address(key));
    address(&path, [("id", id), ("attempt", epoch.as_str()), ("from", from.as_str())]) + &format!("#m{number}")
}

fn conversation(view: &SampleView, attempt: &AttemptView) -> Markup {
    let (first, all) = attempt.place;
    let last = first + attempt.messages.len();
    html! {
        (found_part(view))
        (conversation_part(attempt, &search_part(view, attempt)))
        @if attempt.messages.len() < all {
            nav.pager aria-label="Parts of the conversation" {
                @if first > 0 { a rel="prev" href=(epoch_address(view, view.epoch, first.saturating_sub(attempt.messages.len().max(1)))) { "← Earlier messages" } }
                @if last < all { a rel="next" href=(epoch_address(view, view.epoch, last)) { "Later messages →" } }
            }
        }
    }
}

/// What a tool answers is folded if it is longer.
const FOLDED: usize = 600;

/// Texts with what they are. Those that are none are left out.
pub(super) fn list_texts(texts: &[(&str, Option<&str>)]) -> Markup {
    html! { @if texts.iter().any(|(_, text)| text.is_some()) { dl.facts.said { (list_pairs(texts)) } } }
}

fn list_pairs(texts: &[(&str, Option<&str>)]) -> Markup {
    html! {
        @for (what, text) in texts {
            @if let Some(text) = text { dt { (what) } dd { (frame_text(text)) } }
        }
    }
}

/// What fits on a line needs no frame.
const LINE: usize = 120;

fn frame_text(text: &str) -> Markup {
    if text.len() > LINE || text.contains('\n') {
        long_text(text)
    } else {
        html! { span.text { (clean(text)) } }
    }
}

/// A text, its rest folded away where it is long.
pub(super) fn long_text(text: &str) -> Markup {
    let visible = |text: &str| text.lines().map(clean).collect::<Vec<_>>().join("\n");
    let mut end = TEXT_SHOWN.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (shown, rest) = text.split_at(end);
    html! {
        pre.text { (visible(shown)) }
        @if !rest.is_empty() {
            details { summary { (count(rest.chars().count() as u64)) " more characters" } pre.text { (visible(&abridge(rest, TEXT_MOST))) } }
        }
    }
}
