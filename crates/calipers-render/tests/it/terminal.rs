//! What people see, whole: read a changed snapshot as if it were prose. `BLESS=1 cargo test` rewrites them.

use calipers_core::{
    MetricSpec, Plan, RecordedResult, Report, RunReport, Samples, accuracy, ci, frequency, grouped, mean_of, stderr,
};
use calipers_render::{Screen, Style, results_text};
use calipers_testing::snapshot::assert_file;
use std::path::Path;
use unicode_width::UnicodeWidthStr;

fn run(source: &str, model: Option<&str>, samples: &Samples, metrics: Vec<MetricSpec>) -> RunReport {
    let plan = if metrics.is_empty() { Plan::new() } else { Plan::new().metrics(metrics) };
    RunReport {
        source: source.into(),
        format: "native".into(),
        name: None,
        columns: Vec::new(),
        task: None,
        model: model.map(str::to_owned),
        created: None,
        commit: None,
        samples: samples.counts(),
        results: plan.measure(samples).unwrap(),
        recorded: Vec::new(),
        notes: Vec::new(),
    }
}

/// So many samples, of which every `fails`-th fails, in so many topics.
fn samples(scorer: &str, total: usize, fails: usize, topics: usize) -> Samples {
    let mut samples = Samples::new();
    for id in 0..total {
        let score = if id % fails == 0 { "I" } else { "C" };
        samples.push(id as i64).metadata("topic", format!("topic {:02}", id % topics)).score(scorer, score);
    }
    samples
}

fn report(runs: Vec<RunReport>) -> Report {
    Report { runs, ..Report::default() }
}

fn at(width: usize) -> Screen {
    Screen { width, ..Screen::PLAIN }
}

#[track_caller]
fn snapshot(name: &str, text: &str, width: usize) {
    assert_file(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(format!("{name}.txt")), text);
    for line in text.lines() {
        // A name without blanks is shown whole: it may be all that tells two things apart.
        assert!(line.width() <= width || !line.trim().contains(' '), "{} columns in `{line}`", line.width());
        assert_eq!(line, line.trim_end(), "blanks at the end");
    }
}

#[test]
fn two_runs_stand_side_by_side() {
    let runs = report(vec![
        run("logs/old.jsonl", None, &samples("judge", 40, 3, 2), vec![]),
        run("logs/new.jsonl", None, &samples("judge", 44, 5, 2), vec![]),
    ]);
    let text = results_text(&runs, Screen::PLAIN);
    snapshot("two_runs", &text, 80);
    assert!(include_str!("../../../../README.md").contains(&text), "the README shows another output");
}

#[test]
fn three_runs_have_a_line_each_at_80_columns_and_a_column_each_at_140() {
    let runs = report(vec![
        run("logs/a.eval", Some("openai/gpt-5"), &samples("judge", 40, 3, 2), vec![]),
        run("logs/b.eval", Some("anthropic/claude-opus-4"), &samples("judge", 44, 5, 2), vec![]),
        run("logs/c.eval", Some("mistral/mistral-large-2411-instruct-preview"), &samples("judge", 1, 2, 2), vec![]),
    ]);
    snapshot("three_runs_80", &results_text(&runs, at(80)), 80);
    snapshot("three_runs_140", &results_text(&runs, at(140)), 140);
}

#[test]
fn a_dozen_runs_stay_aligned() {
    let runs = (1..=12).map(|n| run(&format!("logs/{n}.jsonl"), None, &samples("judge", 20 * n, n + 1, 2), vec![]));
    snapshot("dozen", &results_text(&report(runs.collect()), Screen::PLAIN), 80);
}

#[test]
fn a_figure_that_a_run_lacks_stays_empty_and_words_are_wrapped() {
    let mut recorded =
        run("recorded.eval", None, &samples("judge", 40, 3, 2), vec![accuracy().into(), stderr().into()]);
    recorded.recorded.push(RecordedResult {
        score: "judge".into(),
        reducer: None,
        metric: "house_score".into(),
        value: Some(0.625),
        ..RecordedResult::default()
    });
    recorded.notes.push("the log's reducer `vote` is not known here; its results are left out".into());
    let mut gaps = samples("judge", 1, 2, 2);
    gaps.push("lost").score("judge", f64::NAN);
    gaps.push("other").score("exact", "C");
    let plain = run("plain.jsonl", None, &gaps, vec![]);
    snapshot("words_in_columns", &results_text(&report(vec![recorded, plain]), at(110)), 110);
}

#[test]
fn runs_that_share_nothing_follow_one_another() {
    let runs = report(vec![
        run("a.jsonl", None, &samples("judge", 40, 3, 2), vec![]),
        run("b.jsonl", None, &samples("exact", 44, 5, 2), vec![]),
    ]);
    snapshot("nothing_shared", &results_text(&runs, Screen::PLAIN), 80);
}

#[test]
fn many_groups_stay_readable() {
    let metrics = vec![grouped(accuracy(), "topic").into(), stderr().into()];
    let runs = report(vec![run("groups.jsonl", None, &samples("judge", 210, 7, 50), metrics)]);
    snapshot("many_groups", &results_text(&runs, Screen::PLAIN), 80);
}

#[test]
fn long_wide_small_and_large_things_are_aligned() {
    let mut odd = Samples::new();
    for id in 0..30i64 {
        let score = if id % 3 == 0 { "I" } else { "C" };
        odd.push(id)
            .metadata(
                "topic",
                ["数学と物理", "日本語の読解", "plain", "a topic whose name is longer than the room that a table has"]
                    [id as usize % 4],
            )
            .field("latency_ms", 1.0e12 + id as f64 * 1.0e11)
            .field("cost", 1.0e-7 * (id + 1) as f64)
            .score("a_scorer_with_a_rather_long_name_that_somebody_generated_from_a_path/to/a/file.py", score);
    }
    odd.push("gone").error("connection reset");
    let metrics = vec![
        grouped(accuracy(), "topic").into(),
        mean_of("latency_ms").into(),
        mean_of("cost").into(),
        ci().into(),
        frequency(["C", "I"], true).into(),
    ];
    let mut report = report(vec![run("結果/とても長い名前のファイル.jsonl", Some("評価/モデル"), &odd, metrics)]);
    report.runs[0].task = Some("a task that also has a name".into());
    report.runs[0].recorded.push(RecordedResult {
        score: "custom metric".into(),
        reducer: Some("vote".into()),
        metric: "house_score".into(),
        value: None,
        ..RecordedResult::default()
    });
    snapshot("odd", &results_text(&report, Screen::PLAIN), 80);
}

#[test]
fn colour_changes_nothing_but_colour() {
    let runs = report(vec![
        run("a.jsonl", None, &samples("judge", 40, 3, 2), vec![]),
        run("b.jsonl", None, &samples("judge", 44, 5, 2), vec![]),
    ]);
    let colour = results_text(&runs, Screen { style: Style::Colour, ..Screen::PLAIN });
    assert!(colour.contains("\u{1b}[1m"));
    let plain = colour.replace("\u{1b}[1m", "").replace("\u{1b}[2m", "").replace("\u{1b}[0m", "");
    assert_eq!(plain, results_text(&runs, Screen::PLAIN));
}

#[test]
fn text_from_files_cannot_steer_the_terminal() {
    let mut samples = Samples::new();
    samples.push(1).metadata("topic", "\u{202e}evil\u{1b}[2J").score("\u{7}judge", "C");
    let mut runs = report(vec![run("a\u{1b}.jsonl", Some("m\r"), &samples, vec![grouped(accuracy(), "topic").into()])]);
    runs.runs[0].notes.push("\u{9b}2J".into());
    let text = results_text(&runs, Screen::PLAIN);
    let steers = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!text.contains(steers), "{text:?}");
}
