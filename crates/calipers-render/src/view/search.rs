//! What was asked and answered in a run, searched.

use super::sample::{TextHit, crumbs, message_address};
use super::{Delivery, Section, layout, run_address, said_in_lines, sample_address, short_name};
use crate::history::HistoryRun;
use crate::page::name;
use calipers_core::pluralize;
use maud::html;

/// What a search through a run shows.
#[derive(Clone, Debug, Default)]
pub struct SearchView {
    /// The run.
    pub run: HistoryRun,
    /// What is searched for.
    pub text: String,
    /// The samples that have it, with their attempts and the places.
    pub hits: Vec<(String, u32, TextHit)>,
    /// True when there are more.
    pub has_more: bool,
    /// Why the file cannot be searched.
    pub problem: Option<String>,
}

/// The page of a search.
#[must_use]
pub fn search_html(view: &SearchView, delivery: Delivery<'_>) -> String {
    let run = &view.run;
    let main = html! {
        (crumbs(run, "search"))
        section.hero.slim {
            h1 { "Search" }
            p.about { @if view.has_more { "The first " } (pluralize(view.hits.len(), "place")) }
        }
        form.filters method="get" action=(format!("{}/search", run_address(&run.key))) role="search" {
            label.wide { span { "Search what was asked and answered" } input #search type="search" name="q" value=(view.text) maxlength="200" required; }
            button type="submit" { "Search" }
        }
        @if let Some(problem) = &view.problem { p.problem { (said_in_lines(problem)) } }
        @else if view.hits.is_empty() { div.empty { p { "Nothing in this run has it." } } }
        @else {
            table.plain.list.stack {
                thead { tr { th { "sample" } th { "place" } th { "text" } } }
                tbody {
                    @for (id, epoch, hit) in &view.hits {
                        tr {
                            td data-label="sample" {
                                @match hit.message {
                                    Some(number) => a.run-link href=(message_address(&run.key, id, *epoch, number)) { (name(id)) },
                                    None => a.run-link href=(sample_address(&run.key, id)) { (name(id)) },
                                }
                                @if *epoch > 1 { " · attempt " (epoch) }
                            }
                            td data-label="place" { @if let Some(number) = hit.message { (number) " " } (name(&hit.role)) }
                            td data-label="text" { (name(&hit.excerpt)) }
                        }
                    }
                }
            }
        }
    };
    layout(&format!("Search · {}", short_name(run)), Section::Runs, delivery, &main)
}
