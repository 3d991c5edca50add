//! The runs of a page: what each is, when it was made, and how its samples ended.

use super::plots::{OVERLAID_MAX, run_key, shares};
use super::{PageReport, PageRun, PassBasis, name, sentence};
use crate::numbers::{Scale, count, number};
use calipers_core::{OutcomeCounts, pluralize};
use maud::{Markup, html};
use std::collections::HashSet;

/// What may tell one run from another, the most telling first.
const MARKS: [fn(&PageRun) -> Option<String>; 6] = [
    |run| run.report.name.clone(),
    |run| run.report.model.clone(),
    |run| run.report.task.clone(),
    |run| part_of_path(run, 0),
    |run| part_of_path(run, 1),
    |run| Some(run.report.source.clone()),
];

fn part_of_path(run: &PageRun, place: usize) -> Option<String> {
    run.report.source.rsplit(['/', '\\']).nth(place).map(str::to_owned)
}

/// The names of the runs: what tells them apart.
pub(super) fn run_names(report: &PageReport) -> Vec<String> {
    let apart = MARKS.iter().find_map(|mark| {
        let names: Vec<String> = report.runs.iter().map(mark).collect::<Option<_>>()?;
        let distinct: HashSet<&String> = names.iter().collect();
        (distinct.len() == names.len()).then_some(names)
    });
    let of_run = |run: &PageRun| match &run.report.name {
        Some(name) => format!("{} · {name}", run.report.source),
        None => run.report.source.clone(),
    };
    let names = apart.unwrap_or_else(|| report.runs.iter().map(of_run).collect());
    names.iter().map(|one| name(one)).collect()
}

/// A run's name beside the line that stands for it in pictures, or beside its number where there are too many for that.
pub(super) fn run_label(place: usize, names: &[String]) -> Markup {
    html! {
        span.run-name {
            @if names.len() <= OVERLAID_MAX { (run_key(place)) } @else { span.quiet { (place + 1) " " } }
            (names[place])
        }
    }
}

/// The samples of the runs by outcome, and what each run is.
pub(super) fn run_lines(report: &PageReport) -> Markup {
    let names = run_names(report);
    let is_several = names.len() > 1;
    html! {
        div.runs.several[is_several] {
            @for (place, run) in report.runs.iter().enumerate() {
                div.run {
                    @if is_several { p { b { (run_label(place, &names)) } } }
                    p.about { (about(run, report, names.get(place).filter(|_| is_several)).join(" · ")) }
                    (outcomes(run))
                }
            }
        }
        @if report.gate.is_none() { (bases(report, &names)) }
    }
}

fn outcomes(run: &PageRun) -> Markup {
    let OutcomeCounts { passed, failed, errored, unscored, .. } = run.counts;
    // A bar of one colour says nothing where nothing is judged and nothing is missing.
    if !run.is_judged() && errored + unscored == 0 {
        return html! {};
    }
    shares(&[
        ("passed", "passed", passed),
        ("failed", "failed", failed),
        ("scored", "scored", run.scored()),
        ("errored", "errored", errored),
        ("unscored", "unscored", unscored),
    ])
}

/// How many samples a run has, what it is, and when it was made.
fn about(run: &PageRun, report: &PageReport, label: Option<&String>) -> Vec<String> {
    let OutcomeCounts { total, flaky, attempts, .. } = run.counts;
    let about = &run.report;
    let mut words = vec![pluralize(total, "sample")];
    if attempts != total {
        words.push(pluralize(attempts, "attempt"));
    }
    if flaky > 0 {
        words.push(format!("{} flaky", count(flaky)));
    }
    // What is said above it is not said again.
    let is_new = |text: &String| label != Some(text);
    words.extend(about.task.iter().chain(&about.model).map(|text| name(text)).filter(is_new));
    let needs_source = about.task.is_none() || report.runs.len() > 1;
    let is_title = |source: &String| report.gate.is_none() && *source == report.title;
    words.extend(needs_source.then(|| name(&about.source)).filter(|source| is_new(source) && !is_title(source)));
    words.extend(about.created.as_ref().map(|created| date(created)));
    let commit = report.commit.as_ref().or(about.commit.as_ref());
    words.extend(commit.map(|commit| format!("commit {}", short_hash(commit))));
    words
}

/// A time as logs write it, to the minute: `2026-03-01 14:02 UTC`. What is no time is shown as it is.
pub(crate) fn date(text: &str) -> String {
    let bytes = text.as_bytes();
    let is_shaped = |pattern: &str| {
        bytes.len() >= pattern.len()
            && pattern.bytes().zip(bytes).all(|(wanted, byte)| match wanted {
                b'0' => byte.is_ascii_digit(),
                b'T' => matches!(byte, b'T' | b' '),
                other => *byte == other,
            })
    };
    if !is_shaped("0000-00-00") {
        return name(text);
    }
    if !is_shaped("0000-00-00T00:00") {
        return text[..10].to_owned();
    }
    // After the seconds and their parts comes the zone.
    let zone = text[16..].trim_start_matches(|c: char| c == ':' || c == '.' || c.is_ascii_digit());
    let zone = match zone {
        "Z" | "+00:00" | "+0000" => " UTC".to_owned(),
        zone if zone.len() <= 6 && !zone.is_empty() => format!(" {}", name(zone)),
        _ => String::new(),
    };
    format!("{} {}{zone}", &text[..10], &text[11..16])
}

/// As much of a hash as people use; other names of commits as they are.
fn short_hash(commit: &str) -> String {
    const SHOWN: usize = 10;
    let is_hash = commit.len() > SHOWN && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash { commit[..SHOWN].to_owned() } else { name(commit) }
}

/// What decides whether samples passed, once where it is the same for all runs.
fn bases(report: &PageReport, names: &[String]) -> Markup {
    let Some(first) = report.runs.first() else { return html! {} };
    let is_same = report.runs.iter().all(|run| run.pass_basis == first.pass_basis);
    html! {
        @if is_same { p.quiet.basis { (sentence(&basis_sentence(&first.pass_basis))) } }
        @else {
            @for (run, name) in report.runs.iter().zip(names) {
                p.quiet.basis { (name) ": " (sentence(&basis_sentence(&run.pass_basis))) }
            }
        }
    }
}

/// What decides whether a sample passed.
pub(super) fn basis_sentence(basis: &PassBasis) -> String {
    let score = |threshold: f64| if threshold == 1.0 { "1".to_owned() } else { number(threshold) };
    match basis {
        PassBasis::Policy => "The policy decides which samples passed.".into(),
        PassBasis::Recorded => "A sample passed if its record says so.".into(),
        PassBasis::Behaviors { share: 1.0 } => {
            "A sample passed if everything expected and nothing forbidden was observed.".into()
        }
        PassBasis::Behaviors { share } => format!(
            "A sample passed if at least {} of what is expected and nothing forbidden was observed.",
            Scale::Percent.exact(*share)
        ),
        PassBasis::Score { scorer, threshold, is_first } => {
            let first = if *is_first { ", the first scorer," } else { "" };
            format!("A sample passed if its score by {scorer}{first} is at least {}.", score(*threshold))
        }
        PassBasis::Nothing => {
            "Nothing says which scores pass, so samples are not counted as passed or failed. A policy or a pass threshold \
             decides it."
                .into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_to_the_minute() {
        for (text, want) in [
            ("2026-03-01T14:02:11+00:00", "2026-03-01 14:02 UTC"),
            ("2026-03-01T14:02:11.123456Z", "2026-03-01 14:02 UTC"),
            ("2026-03-01 14:02:11-05:00", "2026-03-01 14:02 -05:00"),
            ("2026-03-01T14:02:11", "2026-03-01 14:02"),
            ("2026-03-01", "2026-03-01"),
            ("last Tuesday", "last Tuesday"),
            ("2026-03-01T14:02:11<script>é", "2026-03-01 14:02"),
            ("2026-03-0é", "2026-03-0é"),
        ] {
            assert_eq!(date(text), want);
        }
        assert_eq!(short_hash("0123456789abcdef0123"), "0123456789");
        assert_eq!(short_hash("v2.1-rc1"), "v2.1-rc1");
    }
}
