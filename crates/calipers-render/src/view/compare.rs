//! Runs beside each other: what changed, on the cases that they share.

use super::trend::{CaseDifference, case_difference_sentence};
use super::{Delivery, Section, address, layout, run_address, said_in_lines, short_name};
use crate::history::HistoryRun;
use crate::page::{PageReport, encode, name, report_sections, sentence};
use maud::{Markup, html};

/// What the page of a comparison shows.
#[derive(Clone, Debug, Default)]
pub struct CompareView {
    /// The runs, the candidate first.
    pub runs: Vec<HistoryRun>,
    /// The comparison, as a report of the candidate; none where there is none.
    pub report: Option<PageReport>,
    /// Why there is no comparison.
    pub problem: Option<String>,
    /// How the cases of each other run differ from those of the candidate.
    pub cases: Vec<CaseDifference>,
    /// True when cases whose content differs are compared too.
    pub has_changed_cases: bool,
    /// True for each other run whose scorers are not those of the candidate.
    pub other_scorers: Vec<bool>,
}

/// The page of a comparison.
#[must_use]
pub fn compare_html(view: &CompareView, delivery: Delivery<'_>) -> String {
    let main = html! {
        nav.crumbs aria-label="Place" { a href="/" { "Runs" } " / " span { "Compare" } }
        (runs(view))
        @if let Some(problem) = &view.problem { p.problem { (said_in_lines(problem)) } }
        @if let Some(report) = &view.report {
            @let key = view.runs.first().map(|run| encode(&run.key)).unwrap_or_default();
            (report_sections(report, &format!("/runs/{key}/sample?id=")))
        }
    };
    layout("Compare", Section::Runs, delivery, &main)
}

fn runs(view: &CompareView) -> Markup {
    html! {
        div.facts-line {
            @for (place, run) in view.runs.iter().enumerate() {
                span { span.quiet { (if place == 0 { "candidate " } else { "against " }) } a href=(run_address(&run.key)) { (name(&run.suite)) " · " (short_name(run)) } }
            }
        }
        @if view.runs.len() == 2 {
            p { a href=(address("/compare", [("run", view.runs[1].key.as_str()), ("run", view.runs[0].key.as_str())])) { "The other way round" } }
        }
        @for (run, difference) in view.runs.iter().skip(1).zip(&view.cases) {
            @if difference.is_any() {
                p.caveat { (sentence(&case_difference_sentence(difference, &short_name(run)))) " " (changed_note(view, difference)) }
            }
        }
        @for (run, is_other) in view.runs.iter().skip(1).zip(&view.other_scorers) {
            @if *is_other { p.caveat { "The scorers of " (short_name(run)) " are not the same, or have other options: a change may be one of the scorers." } }
        }
        @for run in view.runs.iter().skip(1).filter(|run| has_other_policy(&view.runs[0], run)) {
            p.caveat { (short_name(run)) " was judged by another policy: the verdicts cannot be compared. What is compared here does not depend on policies." }
        }
        (fingerprints(&view.runs))
    }
}

/// True if both runs were judged, by policies that are not the same.
fn has_other_policy(run: &HistoryRun, other: &HistoryRun) -> bool {
    let hash = |run: &HistoryRun| run.verdict.as_ref().map(|verdict| verdict.policy_hash.clone());
    hash(run).zip(hash(other)).is_some_and(|(one, other)| one != other)
}

/// What tells whether runs asked the same, judged it the same way, and had to meet the same policy.
fn fingerprints(runs: &[HistoryRun]) -> Markup {
    let short = |hash: &str| hash.chars().take(8).collect::<String>();
    html! {
        details {
            summary { "Fingerprints of cases, scorers and policies" }
            table.plain.narrow {
                thead { tr { th { "run" } th { "cases" } th { "scorers" } th { "policy" } } }
                tbody {
                    @for run in runs {
                        tr {
                            td { (short_name(run)) }
                            td { code { (short(&run.case_set)) } }
                            td { code { (short(&run.scorers)) } }
                            td { @if let Some(verdict) = &run.verdict { code { (short(&verdict.policy_hash)) } } @else { "not judged" } }
                        }
                    }
                }
            }
        }
    }
}

/// What was done about cases that ask something else, and how to do the other.
fn changed_note(view: &CompareView, difference: &CaseDifference) -> Markup {
    if difference.changed == 0 {
        return html! {};
    }
    let keys = view.runs.iter().map(|run| ("run", run.key.as_str()));
    html! {
        @if view.has_changed_cases {
            "They are compared nevertheless. " a href=(address("/compare", keys)) { "Leave them out" }
        } @else {
            "Those that ask something else are left out. " a href=(address("/compare", keys.chain([("cases", "all")]))) { "Compare them too" }
        }
    }
}
