//! A page in one file: it needs no network, and reads and prints without its script.
//!
//! The first screen is markup that is made here. The table of samples and a sample's own view are made by the script in
//! `page.js` from the data in the page, always as text. A policy in the head of the page names the one script and the one style
//! by their hashes, so that nothing else in it can run, whatever a model wrote.

pub(crate) mod axis;
mod changes;
mod data;
mod figures;
mod gates;
pub(crate) mod plots;
mod report;
pub(crate) mod runs;

pub use report::*;
pub(crate) use runs::date;

use crate::gate::reason_words::gate_decision;
use crate::gate::words::provenance;
use crate::numbers::{count, percent};
use crate::outcome_words::shortcoming_sentence;
use crate::text::{abridge, clean};
use calipers_core::{Verdict, pluralize};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("page.css");
const FRAGMENT_STYLE: &str = include_str!("fragment.css");
const SCRIPT: &str = include_str!("page.js");

/// A report as a page.
///
/// Cost: one pass over the samples; the page is in memory as a whole. Without samples it has no table.
#[must_use]
pub fn page_html(report: &PageReport) -> String {
    let data = data::blocks(report);
    let title = name(&report.title);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(content_policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (word(report)) (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the report" }
                (header(report, &title))
                main #main {
                    (first_screen(report))
                    (figures::metrics(report))
                    (figures::spread(report))
                    (figures::repeats(report))
                    (figures::spending(report))
                    (samples(report))
                    (figures::method(report))
                }
                (sample_view())
                footer { p { "Made by calipers " (env!("CARGO_PKG_VERSION")) ". Everything on this page is in this file." } }
                @if !report.samples.is_empty() {
                    script #rows type="application/json" { (PreEscaped(&data.rows)) }
                    @for (place, block) in data.details.iter().enumerate() {
                        script id=(format!("details-{place}")) type="application/json" { (PreEscaped(block)) }
                    }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// The verdict, the changes and the metrics of a report as a part of another page, such as a notebook. It has no script, and its
/// style reaches nothing outside it.
#[must_use]
pub fn page_fragment(report: &PageReport) -> String {
    // Rules that stand inside a rule are about what is inside its element, and `&` is that element.
    let dark = "[data-jp-theme-light=\"false\"] &, .vscode-dark &";
    // A light notebook stays light where everything else is dark.
    let colors =
        STYLE.split_once(":root {").and_then(|(_, rest)| rest.split_once('}')).map_or("", |(colors, _)| colors);
    let light = format!("[data-jp-theme-light=\"true\"] &, .vscode-light & {{ {colors} }}");
    let style = STYLE.replace(":root:not([data-theme=\"light\"])", "&").replace(":root[data-theme=\"dark\"]", dark);
    let style = style.replace(":root {", "& {").replace("\nbody {", "\n& {");
    let style = format!(".calipers-report {{ {style} {light} {FRAGMENT_STYLE} }}");
    let fragment = html! {
        div.calipers-report {
            style { (PreEscaped(style)) }
            @if report.gate.is_some() || report.compare.is_some() { (first_screen(report)) }
            (figures::metrics(report))
        }
    };
    fragment.into_string()
}

/// What a page shows of runs, without the table of samples: a part of a page that has its own. Links to samples begin with this
/// address, and their names follow it.
pub(crate) fn report_sections(report: &PageReport, sample_address: &str) -> Markup {
    let sections = html! {
        (first_screen(report))
        (figures::metrics(report))
        (figures::spread(report))
        (figures::repeats(report))
        (figures::spending(report))
        (figures::method(report))
    };
    // Text is escaped, so that this is found in markup of ours alone.
    PreEscaped(sections.into_string().replace(SAMPLE_LINK, &format!("class=\"sample\" href=\"{sample_address}")))
}

/// What links to samples begin with in this page.
const SAMPLE_LINK: &str = "class=\"sample\" href=\"#sample=";

/// A text as a policy names it.
pub(crate) fn content_hash(text: &str) -> String {
    format!("'sha256-{}'", base64(&Sha256::digest(text.as_bytes())))
}

/// The policy of [`page_html`], for the header of an answer with that page.
#[must_use]
pub fn page_policy() -> String {
    content_policy() + "; frame-ancestors 'none'"
}

/// What may happen on the page: the script and the style that are ours, and nothing else.
fn content_policy() -> String {
    let (script, style) = (content_hash(SCRIPT), content_hash(STYLE));
    format!(
        "default-src 'none'; script-src {script}; style-src {style}; img-src data:; base-uri 'none'; form-action 'none'"
    )
}

/// Bytes as a policy writes them (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

/// As much of a name as fits a line.
const NAME_MAX: usize = 120;
/// As much of a sentence.
const TEXT_MAX: usize = 600;

/// A name from data.
pub(crate) fn name(text: &str) -> String {
    clean(&abridge(text, NAME_MAX))
}

/// A sentence that may quote a model.
pub(crate) fn sentence(text: &str) -> String {
    clean(&abridge(text, TEXT_MAX))
}

/// A number in a table, with the words that stand beside it where there is no room for a header.
pub(crate) fn number_cell(label: &str, text: &str) -> Markup {
    html! { td.num data-label=(label) { (text) } }
}

/// A link to a sample's own view, in the first run that has it.
fn link(id: &str) -> Markup {
    link_in(0, id)
}

/// The same in the run at this place.
fn link_in(run: usize, id: &str) -> Markup {
    let run = if run == 0 { String::new() } else { format!("&run={run}") };
    html! { a.sample href=(format!("#sample={}{run}", encode(id))) { (name(id)) } }
}

/// A name within an address (RFC 3986, section 2.3).
pub(crate) fn encode(text: &str) -> String {
    let put = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(put).collect()
}

/// The verdict, before the title.
fn word(report: &PageReport) -> String {
    report.gate.as_ref().map_or_else(String::new, |gate| format!("{} · ", gate.verdict.name().to_uppercase()))
}

fn header(report: &PageReport, title: &str) -> Markup {
    let links = [
        ("gates", "Gates", report.gate.is_some()),
        ("changes", "Changes", changes::is_shown(report)),
        ("metrics", "Metrics", !report.runs.is_empty()),
        ("spread", "Spread", report.runs.iter().any(|run| !run.distributions.is_empty())),
        ("samples", "Samples", !report.samples.is_empty()),
        ("method", "Method", !report.runs.is_empty() || report.gate.is_some()),
    ];
    html! {
        header.top {
            div.line {
                p.title { (title) }
                nav aria-label="Sections" {
                    @for (place, words, is_shown) in links {
                        @if is_shown { a href=(format!("#{place}")) { (words) } }
                    }
                }
                button #theme type="button" title="Light, dark, or the setting of the system" { "Theme: system" }
            }
        }
    }
}

fn first_screen(report: &PageReport) -> Markup {
    html! {
        (verdict(report))
        @if let Some(gate) = &report.gate { (gates::gates(gate)) }
        (changes::changes(report))
    }
}

/// The verdict and what decided it; without a policy, what there is.
fn verdict(report: &PageReport) -> Markup {
    let (class, word, sentence_of) = match (&report.gate, &report.compare) {
        (Some(gate), _) => (gate.verdict.name(), gate.verdict.name(), gate_decision(gate)),
        (None, Some(compare)) => {
            let word = match compare.verdict {
                Verdict::Pass => "no regression",
                Verdict::Fail => "regression",
                Verdict::Undecided => "undecided",
            };
            (compare.verdict.name(), word, crate::compare::words::decision(compare))
        }
        (None, None) => ("none", "", String::new()),
    };
    let restriction = report.gate.as_ref().and_then(crate::gate::words::restriction);
    html! {
        section.hero.(class) aria-label="Verdict" {
            @if !word.is_empty() {
                h1.verdict { (seal(class)) span { (word) } }
                p.decided { (sentence(&sentence_of)) }
            } @else {
                h1 { (name(&report.title)) }
            }
            @if let Some(restriction) = restriction { p.restriction { (sentence(&restriction)) } }
            (runs::run_lines(report))
            @for note in &report.notes { p.quiet { "Note: " (sentence(note)) } }
        }
    }
}

/// The verdict as a shape.
fn seal(class: &str) -> Markup {
    let shape = match class {
        "pass" => html! { circle cx="12" cy="12" r="11" {} path.ink d="M6.5 12.5l3.5 3.5 7.5-8" {} },
        "fail" => html! { rect x="2" y="2" width="20" height="20" rx="4" {} path.ink d="M8 8l8 8M16 8l-8 8" {} },
        _ => html! { path d="M12 1l11 11-11 11L1 12z" {} path.ink d="M12 6.5v7M12 16.5v1" {} },
    };
    html! { svg.seal viewBox="0 0 24 24" aria-hidden="true" { (shape) } }
}

/// So many samples are in the table that reads and prints without a script.
const STATIC_MAX: usize = 50;

/// The table of samples: a short one in markup, and the place where the script makes the whole.
fn samples(report: &PageReport) -> Markup {
    if report.samples.is_empty() {
        return html! {};
    }
    let is_failing = |sample: &&PageSample| sample.outcome.is_shortcoming();
    let is_judged = report.runs.iter().any(PageRun::is_judged);
    let words = if is_judged { "did not pass" } else { "did not run, or have no score" };
    let failing: Vec<&PageSample> = report.samples.iter().filter(is_failing).collect();
    let shown: Vec<&PageSample> = failing.iter().copied().take(STATIC_MAX).collect();
    html! {
        section #samples {
            h2 { "Samples" }
            div #table hidden {}
            div.static {
                p.quiet {
                    @if failing.is_empty() { @if is_judged { "All samples passed." } @else { "All samples have a score." } }
                    @else if failing.len() > shown.len() { "The first " (shown.len()) " of " (count(failing.len() as u64)) " samples that " (words) "." }
                    @else { (pluralize(failing.len(), "sample")) " " (words) "." }
                    span.scriptless { " The whole table, search and each sample's own view need JavaScript." }
                }
                @if !shown.is_empty() {
                    table.plain.stack {
                        thead { tr { th { "outcome" } th { "sample" } th { "category" } th { "attempts passed" } th { "why" } } }
                        tbody { @for sample in &shown { (static_row(sample)) } }
                    }
                }
            }
        }
    }
}

fn static_row(sample: &PageSample) -> Markup {
    let passed = sample.attempts.iter().filter(|attempt| attempt.outcome == PageOutcome::Passed).count();
    let word = sample.outcome.name();
    html! {
        tr {
            td { (plots::key(word)) " " (word) }
            td { (link_in(sample.run, &sample.id.to_string())) }
            td { (sample.category.as_deref().map(name).unwrap_or_default()) }
            td.num data-label="attempts passed" { @if sample.outcome != PageOutcome::Scored { (passed) " of " (sample.attempts.len()) } }
            td { (sample.reason.as_ref().map(shortcoming_sentence).as_deref().map(sentence).unwrap_or_default()) }
        }
    }
}

/// The place of a sample's own view.
fn sample_view() -> Markup {
    html! { section #sample hidden tabindex="-1" aria-label="Sample" {} }
}

/// How verdicts were reached, in words.
fn settings(report: &PageReport) -> Vec<String> {
    let mut parts = report.gate.as_ref().map(provenance).unwrap_or_default();
    if let Some(run) = report.runs.first().filter(|_| parts.is_empty()) {
        let results = &run.report.results;
        parts.push(format!("intervals at {}", percent(results.level)));
        if !results.cluster.is_empty() {
            parts.push(format!("clusters by {}", results.cluster.join(", ")));
        }
        parts.push(format!("seed {}", results.seed.0));
    }
    if let Some(compare) = &report.compare {
        let settings = &compare.settings;
        parts.push(format!("{} over {}", changes::correction(settings.correction), pluralize(settings.tests, "test")));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_as_the_standard_does() {
        // RFC 4648, section 10.
        for (bytes, want) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
            assert_eq!(base64(bytes.as_bytes()), want);
        }
    }

    #[test]
    fn the_style_and_the_script_cannot_end_early() {
        assert!(!STYLE.contains("</") && !SCRIPT.contains("</"));
        // Every text from data goes through the one function that sets text.
        assert!(!SCRIPT.contains("innerHTML") && !SCRIPT.contains("insertAdjacentHTML") && !SCRIPT.contains("eval("));
    }

    #[test]
    fn a_link_to_a_sample_begins_as_expected() {
        assert!(link("a b").into_string().contains(&format!("{SAMPLE_LINK}a%20b\"")));
    }

    #[test]
    fn a_link_holds_any_name() {
        assert_eq!(encode("a b/ü&#"), "a%20b%2F%C3%BC%26%23");
    }
}
