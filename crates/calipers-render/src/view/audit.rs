//! The audit trail: what people said about runs and answers, and who said it.

use super::{Delivery, Section, address, layout, run_address};
use crate::numbers::count;
use crate::page::{date, name, sentence};
use calipers_core::pluralize;
use maud::html;

/// A part of the audit trail.
#[derive(Clone, Debug, Default)]
pub struct AuditView {
    /// What was said, the latest first.
    pub entries: Vec<AuditEntry>,
    /// The place of the first of them.
    pub first: u64,
    /// How many there are.
    pub total: u64,
    /// How many a part has at most.
    pub page_size: u64,
}

/// Something that was said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditEntry {
    /// When.
    pub at: String,
    /// What: `labelled`, `invalidated`, `restored` or `described`.
    pub kind: String,
    /// The key of the run.
    pub run: String,
    /// Who, as far as it is known.
    pub by: Option<String>,
    /// What exactly, by name and value.
    pub facts: Vec<(String, String)>,
}

/// The page of the audit trail.
#[must_use]
pub fn audit_html(view: &AuditView, delivery: Delivery<'_>) -> String {
    let size = view.page_size.max(1);
    let (page, pages) = (view.first / size, view.total.div_ceil(size));
    let page_of = |page: u64| {
        let page = page.to_string();
        address("/audit", [("page", if page == "0" { "" } else { &page })])
    };
    let main = html! {
        section.hero.slim {
            h1 { "Audit trail" }
            p.about { (pluralize(view.total, "record")) " of labels and of runs that are counted or not. Records are only ever added. " code { "calipers history export" } " prints all of them." }
        }
        @if view.entries.is_empty() { div.empty { p { "Nothing has been said yet." } } }
        @else {
            table.plain.list.stack {
                thead { tr { th { "time" } th { "who" } th { "did" } th { "run" } th { "what" } } }
                tbody {
                    @for entry in &view.entries {
                        tr {
                            td data-label="time" { (date(&entry.at)) }
                            td data-label="who" { (entry.by.as_deref().map_or_else(|| "not known".to_owned(), name)) }
                            td data-label="did" { (name(&entry.kind)) }
                            td data-label="run" { a.run-link href=(run_address(&entry.run)) { (name(&entry.run)) } }
                            td data-label="what" { @for (one, value) in &entry.facts { span.fact { span.quiet { (name(one)) } " " (sentence(value)) } " " } }
                        }
                    }
                }
            }
        }
        @if pages > 1 {
            nav.pager aria-label="Parts of the list" {
                @if page > 0 { a rel="prev" href=(page_of(page - 1)) { "← Later" } }
                span { (count(view.first + 1)) "–" (count(view.first + view.entries.len() as u64)) " of " (count(view.total)) }
                @if page + 1 < pages { a rel="next" href=(page_of(page + 1)) { "Earlier →" } }
            }
        }
    };
    layout("Audit trail", Section::None, delivery, &main)
}
