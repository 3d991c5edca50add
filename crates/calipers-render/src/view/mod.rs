//! The pages of a history: its runs, one run, two runs beside each other, a case over time, a trend.
//!
//! A page is markup that reads and works without a script; style and script are files of the same server. Every text from data is
//! escaped, and nothing from data is ever a part of a script, a style or a path.

mod audit;
mod beside;
mod case;
mod compare;
mod json;
mod label;
mod run;
mod runs;
mod sample;
mod search;
mod trend;
mod trend_plot;
mod verdicts;

pub use audit::{AuditEntry, AuditView, audit_html};
pub use beside::BesideView;
pub use case::{CaseEntry, CaseView, case_html};
pub use compare::{CompareView, compare_html};
pub use json::{
    case_json, case_schema, sample_json, sample_schema, samples_json, samples_schema, verdicts_json, verdicts_schema,
};
pub use label::{JudgeView, LabelQueue, LabelView, judge_html, label_html};
pub use run::{RunView, progress_html, run_html};
pub use runs::{Facets, RunsView, runs_html};
pub use sample::{
    AttemptView, MESSAGES_ON_PAGE, SampleList, SampleRow, SampleView, TextHit, ViewMessage, sample_html, samples_html,
};
pub use search::{SearchView, search_html};
pub use trend::{
    CaseDifference, TrendBreak, TrendChange, TrendChoice, TrendDrift, TrendPoint, TrendView, trend_html, trend_json,
    trend_schema,
};
pub use verdicts::{VerdictEntry, VerdictsView, verdicts_html};

use crate::history::HistoryRun;
use crate::page::{content_hash, date, encode, name, sentence};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::sync::LazyLock;

/// The style of all pages: that of reports, and what is new here.
pub const STYLE: &str = concat!(include_str!("../page/page.css"), "\n", include_str!("view.css"));

/// The script of all pages.
pub const SCRIPT: &str = include_str!("view.js");

/// Where the script is. The address changes with its content, so that a browser may keep it.
pub static SCRIPT_ADDRESS: LazyLock<String> = LazyLock::new(|| {
    let hash = content_hash(SCRIPT);
    let letters: String = hash.chars().filter(char::is_ascii_alphanumeric).skip("sha256".len()).take(16).collect();
    format!("/assets/view.js?v={letters}")
});

/// What a page may do, for the header of its answer: show this style, load the script of its own server, and nothing else. The style
/// is in the page, so that nothing has to be waited for before the page is drawn.
pub static CONTENT_POLICY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "default-src 'none'; script-src 'self'; style-src {}; img-src data:; connect-src 'self'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'",
        content_hash(STYLE)
    )
});

/// The colours that a reader has chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Those of the system.
    #[default]
    System,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Theme {
    /// The theme of this name; that of the system if there is none.
    #[must_use]
    pub fn parse(name: &str) -> Self {
        [Self::Light, Self::Dark].into_iter().find(|theme| theme.name() == Some(name)).unwrap_or_default()
    }

    fn name(self) -> Option<&'static str> {
        match self {
            Self::System => None,
            Self::Light => Some("light"),
            Self::Dark => Some("dark"),
        }
    }
}

/// How a page is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery<'a> {
    /// By a server that has the script. The address leads to the same page as one file.
    Served {
        /// The address of this page, with its question.
        address: &'a str,
        /// The colours that the reader has chosen.
        theme: Theme,
    },
    /// As one file without a script, which needs no server.
    File,
}

/// The sections of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Runs,
    Trend,
    Verdicts,
    None,
}

/// A page around its main part.
fn layout(title: &str, section: Section, delivery: Delivery<'_>, main: &Markup) -> String {
    let title = name(title);
    let links = [
        (Section::Runs, "/", "Runs"),
        (Section::Trend, "/trend", "Trend"),
        (Section::Verdicts, "/verdicts", "Verdicts"),
    ];
    let is_file = delivery == Delivery::File;
    let theme = if let Delivery::Served { theme, .. } = delivery { theme } else { Theme::System };
    let page = html! {
        (DOCTYPE)
        html lang="en" data-theme=[theme.name()] {
            head {
                meta charset="utf-8";
                @if is_file { meta http-equiv="Content-Security-Policy" content=(file_policy()); }
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="same-origin";
                title { (title) " · Calipers" }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
                @if !is_file { script src=(*SCRIPT_ADDRESS) defer {} }
            }
            body.view {
                a.skip href="#main" { "Skip to the page" }
                header.top {
                    div.line {
                        @if is_file { p.title { (title) } }
                        @else {
                            p.title { a href="/" { "Calipers" } }
                            nav aria-label="Sections" {
                                @for (one, address, words) in links {
                                    a href=(address) aria-current=[(one == section).then_some("page")] { (words) }
                                }
                            }
                            @if let Delivery::Served { address, .. } = delivery {
                                a.save href=(with_save(address)) download { "Save as a file" }
                            }
                            button #theme type="button" title="Light, dark, or the setting of the system" { "Theme: system" }
                        }
                    }
                }
                // A page that shows no runs needs no news of them, and a visitor without a token gets none.
                @if !is_file && section != Section::None { p #live role="status" hidden {} }
                main #main { (main) }
                footer { p { "Made by calipers " (env!("CARGO_PKG_VERSION")) "." @if !is_file { " " a href="/audit" { "Audit trail" } " · " a href="/api/openapi.json" { "API" } } } }
            }
        }
    };
    let page = page.into_string();
    if is_file { without_links(&page) } else { page }
}

/// What a page in a file may do: show its style.
fn file_policy() -> String {
    format!("default-src 'none'; style-src {}; img-src data:; base-uri 'none'; form-action 'none'", content_hash(STYLE))
}

fn with_save(address: &str) -> String {
    format!("{address}{}save=1", if address.contains('?') { '&' } else { '?' })
}

/// The page without addresses that only a server knows. Text is escaped, so that this is found in markup of ours alone.
fn without_links(page: &str) -> String {
    page.replace(" href=\"/", " data-was=\"/")
}

/// What is wrong, with its place and its hint on lines of their own.
fn said_in_lines(what: &str) -> Markup {
    html! { @for (place, line) in what.lines().enumerate() { @if place > 0 { br; } (sentence(line.trim())) } }
}

/// A page that says what is wrong.
#[must_use]
pub fn problem_html(title: &str, what: &str, hint: &str) -> String {
    let main = html! {
        section.hero {
            h1 { (name(title)) }
            p.decided { (said_in_lines(what)) }
            @if !hint.is_empty() { p.quiet { (sentence(hint)) } }
            p { a href="/" { "All runs" } }
        }
    };
    layout(title, Section::None, Delivery::Served { address: "/", theme: Theme::System }, &main)
}

/// The page that asks for a token.
#[must_use]
pub fn login_html(is_wrong: bool) -> String {
    let main = html! {
        section.hero.slim {
            h1 { "This server needs a token" }
            p.about { "Ask the person who started it." }
        }
        @if is_wrong { p.problem { "That is not one of its tokens." } }
        form.filters method="post" action="/login" {
            // For programs that keep passwords.
            input type="text" name="username" value="calipers" autocomplete="username" hidden;
            label.wide { span { "Token" } input type="password" name="token" required autocomplete="current-password" maxlength="512"; }
            button type="submit" { "Open" }
        }
    };
    layout("Token", Section::None, Delivery::Served { address: "/", theme: Theme::System }, &main)
}

/// When a run began, to the minute; else when its file was written.
pub(crate) fn date_of(run: &HistoryRun) -> String {
    match &run.started {
        Some(started) => date(started),
        None => minute(run.at_ms),
    }
}

/// A time in milliseconds since 1970, to the minute, in UTC.
pub(crate) fn minute(at_ms: i64) -> String {
    let (year, month, day) = civil_day(at_ms.div_euclid(86_400_000));
    let minutes = at_ms.rem_euclid(86_400_000) / 60_000;
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", minutes / 60, minutes % 60)
}

/// The day of a time in milliseconds since 1970.
pub(crate) fn day(at_ms: i64) -> String {
    minute(at_ms).chars().take(10).collect()
}

/// The date of a day counted from 1970-01-01 (Howard Hinnant, *chrono-compatible low-level date algorithms*, 2013).
fn civil_day(day: i64) -> (i64, i64, i64) {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// An address with a question of names and values, those that are empty left out.
fn address<'a>(path: &str, question: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let pairs = question.into_iter().filter(|(_, value)| !value.is_empty());
    let pairs: Vec<String> = pairs.map(|(name, value)| format!("{name}={}", encode(value))).collect();
    if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) }
}

fn run_address(key: &str) -> String {
    format!("/runs/{}", encode(key))
}

fn sample_address(key: &str, id: &str) -> String {
    address(&format!("/runs/{}/sample", encode(key)), [("id", id)])
}

/// What a run is called where there is little room: version or commit, model, day.
fn short_name(run: &HistoryRun) -> String {
    let mut words: Vec<String> = Vec::new();
    words.extend(run.name.iter().map(|one| name(one)));
    words.extend(run.version_or_commit().map(|version| name(&short(version))));
    words.extend(run.model.iter().map(|model| name(model)));
    words.push(date_of(run));
    words.join(" · ")
}

/// A hash to as many digits as people use; anything else as it is.
fn short(text: &str) -> String {
    const SHOWN: usize = 10;
    let is_hash = text.len() > SHOWN && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash { text[..SHOWN].to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_dates() {
        for (at_ms, want) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_400_000, "2000-02-29 00:00 UTC"),
            (1_772_373_731_000, "2026-03-01 14:02 UTC"),
            (-1, "1969-12-31 23:59 UTC"),
        ] {
            assert_eq!(minute(at_ms), want);
        }
    }

    #[test]
    fn addresses_hold_any_text() {
        assert_eq!(address("/compare", [("run", "a&b=c"), ("x", "")]), "/compare?run=a%26b%3Dc");
        assert_eq!(run_address("../etc/passwd"), "/runs/..%2Fetc%2Fpasswd");
    }

    #[test]
    fn a_page_in_a_file_leads_to_no_server() {
        let page = layout("t", Section::Runs, Delivery::File, &html! { a href="/runs/x" { "x" } p { "href=\"/safe" } });
        assert!(!page.contains(" href=\"/") && page.contains("data-was=\"/runs/x\""));
        assert!(!page.contains("<script"));
        assert!(page.contains("href=&quot;/safe"), "what is text stays text");
    }

    #[test]
    fn style_and_script_are_what_the_policy_allows() {
        assert!(!STYLE.contains("</") && !STYLE.contains("@import") && !STYLE.contains("url("));
        for forbidden in ["innerHTML", "insertAdjacentHTML", "eval(", "document.write", "http://", "https://"] {
            assert!(!SCRIPT.contains(forbidden), "{forbidden}");
        }
    }
}
