//! Verdicts over time, and what a policy would have said about past runs.

use super::runs::badge;
use super::{Delivery, Section, date_of, layout, run_address, said_in_lines, short};
use crate::history::{HistoryRun, HistoryVerdict};
use crate::page::{date, name, sentence};
use calipers_core::{Verdict, pluralize};
use maud::{Markup, html};

/// What the page of verdicts shows.
#[derive(Clone, Debug, Default)]
pub struct VerdictsView {
    /// The policy that is replayed, with its hash, if there is one.
    pub policy: Option<(String, String)>,
    /// Why it cannot be applied at all.
    pub problem: Option<String>,
    /// The runs, the latest first.
    pub entries: Vec<VerdictEntry>,
    /// How many runs there are; more than are shown if there are too many.
    pub total: u64,
    /// The suite that is shown.
    pub suite: Option<String>,
    /// All suites.
    pub suites: Vec<(String, u64)>,
}

/// A run with what was and what would be said about it.
#[derive(Clone, Debug)]
pub struct VerdictEntry {
    /// The run.
    pub run: HistoryRun,
    /// The verdicts that were given, the latest first.
    pub given: Vec<HistoryVerdict>,
    /// What the policy says today and what decides it, or why it cannot be said.
    pub replayed: Option<Result<(Verdict, String), String>>,
}

/// The page of verdicts.
#[must_use]
pub fn verdicts_html(view: &VerdictsView, delivery: Delivery<'_>) -> String {
    let main = html! {
        section.hero.slim {
            h1 { "Verdicts" }
            @match &view.policy {
                Some((policy, hash)) => {
                    p.about { "What " b { (name(policy)) } " (" (hash.chars().take(8).collect::<String>()) ") says about " @if view.total > view.entries.len() as u64 { "the latest " (view.entries.len()) " of " } (pluralize(view.total, "run")) }
                    (tally(view))
                }
                None => p.about { "Verdicts that were recorded. Start with " code { "calipers view --policy FILE" } " to see what a policy would have said about past runs." }
            }
        }
        @if let Some(problem) = &view.problem { p.problem { (said_in_lines(problem)) } }
        (suite_form(view))
        @if view.entries.is_empty() {
            div.empty { p { "No verdicts yet." } p.quiet { "Record them with " code { "calipers gate … --history" } "." } }
        } @else { (table(view)) }
    };
    layout("Verdicts", Section::Verdicts, delivery, &main)
}

fn tally(view: &VerdictsView) -> Markup {
    let count = |wanted: Verdict| {
        let is = |entry: &&VerdictEntry| matches!(&entry.replayed, Some(Ok((verdict, _))) if *verdict == wanted);
        view.entries.iter().filter(is).count()
    };
    html! {
        p.legend {
            @for verdict in [Verdict::Pass, Verdict::Fail, Verdict::Undecided] {
                @if count(verdict) > 0 { span { (badge(verdict.name())) " " b { (count(verdict)) } } }
            }
        }
    }
}

fn suite_form(view: &VerdictsView) -> Markup {
    html! {
        @if view.suites.len() > 1 || view.suite.is_some() {
            form.filters method="get" action="/verdicts" {
                label { span { "Suite" }
                    select name="suite" {
                        option value="" { "all" }
                        @for (suite, _) in &view.suites { option value=(suite) selected[view.suite.as_deref() == Some(suite.as_str())] { (name(suite)) } }
                    }
                }
                button type="submit" { "Show" }
            }
        }
    }
}

fn table(view: &VerdictsView) -> Markup {
    let is_replayed = view.policy.is_some();
    let has_version = view.entries.iter().any(|entry| entry.run.version_or_commit().is_some());
    let has_model = view.entries.iter().any(|entry| entry.run.model.is_some());
    let has_given = view.entries.iter().any(|entry| !entry.given.is_empty());
    html! {
        table.plain.list.stack {
            thead { tr { th { "run" } th { "suite" } @if has_model { th { "model" } } @if has_version { th { "version" } } @if is_replayed { th { "this policy" } } @if has_given { th { "recorded" } } } }
            tbody {
                @for entry in &view.entries {
                    tr {
                        th scope="row" { a.run-link href=(run_address(&entry.run.key)) { (date_of(&entry.run)) } }
                        td data-label="suite" { (name(&entry.run.suite)) }
                        @if has_model { td data-label="model" { (entry.run.model.as_deref().map(name).unwrap_or_default()) } }
                        @if has_version { td data-label="version" { (entry.run.version_or_commit().map(|version| name(&short(version))).unwrap_or_default()) } }
                        @if is_replayed {
                            td {
                                @match &entry.replayed {
                                    Some(Ok((verdict, why))) => { (badge(verdict.name())) small { (sentence(why)) } }
                                    Some(Err(why)) => small { "cannot be judged: " (said_in_lines(why)) },
                                    None => {}
                                }
                            }
                        }
                        @if has_given { td {
                            @for given in &entry.given {
                                p.given { (badge(given.verdict.name())) small { (name(&given.policy)) " (" (given.policy_hash.chars().take(8).collect::<String>()) "), " (date(&given.at)) } }
                            }
                        } }
                    }
                }
            }
        }
    }
}
