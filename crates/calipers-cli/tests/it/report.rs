//! `calipers report`: a page in one file. What a browser makes of it is looked at by `cargo xtask test`.

use crate::program::with_input;
use calipers::compare::{CompareOptions, compare};
use calipers::io::Source;
use calipers::page::{PageReport, SampleStanding, page};
use calipers::render::page_html;
use calipers::{LoadedFile, LoadedRun, Needs, Selection, load};
use calipers_testing::text;
use serde_json::Value;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";

fn example(name: &str) -> String {
    format!("{ROOT}/examples/support-agent/{name}")
}

/// The page that the program writes to standard output.
#[track_caller]
fn written(arguments: &[&str], input: &str) -> String {
    let output = with_input(&[&["report", "-o", "-"], arguments].concat(), input.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// What the program complains of.
#[track_caller]
fn refused(arguments: &[&str]) -> String {
    let output = with_input(arguments, b"");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    text(&output.stderr)
}

/// A block of data in a page.
#[track_caller]
fn block(page: &str, id: &str) -> Value {
    let start = format!("<script id=\"{id}\" type=\"application/json\">");
    let rest = page.split_once(&start).unwrap_or_else(|| panic!("there is no block {id}")).1;
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

fn records(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_page_with_weights_says_that_comparisons_are_without_them() {
    let said = "The weights of the policy are for its gates: before, now and the change are without them.";
    let (results, next) = (example("results.jsonl"), example("results-next.jsonl"));
    let policy: Value = serde_json::from_str(&std::fs::read_to_string(example("policy.json")).unwrap()).unwrap();
    let mut plain = policy.clone();
    plain.as_object_mut().unwrap().remove("weights").expect("the example has weights");
    let folder = calipers_testing::Scratch::new();
    for (name, policy, is_weighted) in [("weighted.json", policy, true), ("plain.json", plain, false)] {
        folder.write(name, policy.to_string());
        let policy = folder.path().join(name).display().to_string();
        let page = written(&[&next, "--policy", &policy, "--against", &results], "");
        assert_eq!(page.contains(said), is_weighted, "{name}");
    }
}

#[test]
fn a_page_has_the_verdict_what_changed_and_every_sample() {
    let (results, policy, baseline) = (example("results-next.jsonl"), example("policy.json"), example("baseline.json"));
    let page = written(&[&results, "--policy", &policy, "--baseline", &baseline], "");
    assert!(page.contains("<title>FAIL · "), "the verdict is in the title");
    for part in
        ["97.3 % is not ≥ 100 %", "10 newly failing", "categories without a gate", "95th percentile", "woodruff, 95 %"]
    {
        assert!(page.contains(part), "{part}");
    }
    let rows = block(&page, "rows");
    assert_eq!(rows["id"].as_array().unwrap().len(), 60);
    assert_eq!(rows["outcome"].as_str().unwrap().matches('f').count(), 13);
    assert_eq!(rows["standing"].as_str().unwrap().matches('f').count(), 10);
    let details = block(&page, "details-0");
    assert_eq!(details[0]["attempts"].as_array().unwrap().len(), 3);
    // A reader without a script has the table of failures.
    assert!(page.contains("14 samples did not pass"), "13 failed and one did not run");
}

#[test]
fn nothing_in_a_page_leads_out_of_it() {
    let page = written(&[&example("results.jsonl"), "--policy", &example("policy.json")], "");
    let policy = page.split_once("Content-Security-Policy\" content=\"").unwrap().1.split_once('"').unwrap().0;
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    let outside: Vec<&str> = page.split(['"', '\'', '(', ' ']).filter(|word| word.starts_with("http")).collect();
    // The name of a kind of document, which is never fetched.
    assert_eq!(outside.iter().filter(|word| **word != "http://www.w3.org/2000/svg").count(), 1, "{outside:?}");
    assert!(outside.contains(&"http-equiv=") && !page.contains("<link") && !page.contains(" src="));
}

#[test]
fn what_a_model_wrote_is_data_and_never_markup() {
    let line = serde_json::json!({
        "id": HOSTILE, "category": HOSTILE, "input": HOSTILE, "output": HOSTILE, "error": HOSTILE, "topic": HOSTILE,
        "expected_behaviors": [HOSTILE], "scores": {"judge": {"value": 0, "answer": HOSTILE, "explanation": HOSTILE}},
    });
    let page = written(&["-"], &records(&[line]));
    assert!(!page.contains("<img") && !page.contains("<script>alert"), "{page}");
    assert_eq!(page.matches("<script").count(), 3, "rows, details and the script");
    let details = block(&page, "details-0");
    assert_eq!(details[0]["input"], HOSTILE);
    assert_eq!(details[0]["attempts"][0]["output"], HOSTILE);
    assert_eq!(details[0]["attempts"][0]["scores"][0]["explanation"], HOSTILE);
}

#[test]
fn every_attempt_has_what_it_answered() {
    let attempt =
        |id: &str, output: &str| serde_json::json!({"id": id, "score": 1, "input": "asked", "output": output});
    let page = written(&["-"], &records(&[attempt("a", "one"), attempt("b", "other"), attempt("a", "two")]));
    let details = block(&page, "details-0");
    assert_eq!(details[0]["input"], "asked");
    assert_eq!([&details[0]["attempts"][0]["output"], &details[0]["attempts"][1]["output"]], ["one", "two"]);
    assert_eq!(details[1]["attempts"][0]["output"], "other");
}

#[test]
fn logs_of_inspect_show_the_conversation() {
    let page = written(&[&format!("{ROOT}/testdata/formats/inspect/multi_scorer.eval")], "");
    let details = block(&page, "details-0");
    assert!(details[0]["input"].as_str().is_some_and(|input| !input.is_empty()), "{}", details[0]);
    let attempt = &details[0]["attempts"][0];
    let is_told = attempt["messages"].as_array().is_some_and(|all| !all.is_empty()) || attempt["output"].is_string();
    assert!(is_told, "{attempt}");
}

#[test]
fn a_verdict_can_be_written_as_a_page() {
    let (results, policy) = (example("results.jsonl"), example("policy.json"));
    let output = with_input(&["gate", &results, "--policy", &policy, "--output", "html=-"], b"");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stdout), written(&[&results, "--policy", &policy], ""));
    // Standard input can be read only once, and is judged and shown.
    let lines = std::fs::read(&results).unwrap();
    let output = with_input(&["gate", "-", "--policy", &policy, "--output", "html=-"], &lines);
    assert_eq!(block(&text(&output.stdout), "rows")["id"].as_array().unwrap().len(), 60);
}

#[test]
fn mistakes_are_told_before_anything_is_written() {
    let (results, policy) = (example("results.jsonl"), example("policy.json"));
    for (arguments, want) in [
        (vec!["report", &results], "--output"),
        (vec!["report", &results, "-o", &results], "would replace what is read"),
        (vec!["report", &results, "-o", "-", "--baseline", "b.json"], "needs `--policy`"),
        (vec!["report", "nowhere.jsonl", "-o", "-"], "nowhere.jsonl"),
        (vec!["report", &results, "-o", "-", "--policy", &results], "error"),
        (vec!["gate", &results, "--policy", &policy, "--output", "pdf=x"], "html"),
    ] {
        let told = refused(&arguments);
        assert!(told.contains(want), "{arguments:?}: {told}");
    }
}

fn source(name: &str, lines: &str) -> Source {
    Source::bytes(name, lines.as_bytes())
}

/// The page of one run beside another.
fn compared(candidate: &str, baseline: &str) -> PageReport {
    let selection = Selection::default();
    let run = |name, lines| LoadedRun::merge(name, files([source(name, lines)])).unwrap();
    let runs = [run("new", candidate), run("old", baseline)];
    let comparison = compare(&runs, &selection, &CompareOptions::default()).unwrap();
    page(files([source("new", candidate)]), &selection, None, Some(comparison)).unwrap()
}

fn files<const N: usize>(sources: [Source; N]) -> Vec<LoadedFile> {
    load(&Selection::of(sources), &Needs::everything()).collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_comparison_says_where_each_sample_stands() {
    let run = |scores: &[(&str, f64)]| -> String {
        scores.iter().map(|(id, score)| format!("{{\"id\": \"{id}\", \"score\": {score}}}\n")).collect()
    };
    let page = compared(
        &run(&[("a", 0.0), ("b", 1.0), ("c", 0.5), ("d", 1.0), ("e", 1.0)]),
        &run(&[("a", 1.0), ("b", 0.0), ("c", 0.25), ("d", 1.0)]),
    );
    let standings: Vec<_> = page.samples.iter().map(|sample| sample.standing.unwrap()).collect();
    assert_eq!(
        standings,
        [
            SampleStanding::NewlyFailing,
            SampleStanding::NewlyPassing,
            SampleStanding::Changed,
            SampleStanding::Same,
            SampleStanding::Added
        ]
    );
    let html = page_html(&page);
    assert!(html.contains("1 newly failing") && html.contains("id=\"rows\""), "{html}");
}

#[test]
fn runs_that_share_nothing_are_not_compared() {
    let page = compared("{\"id\": \"a\", \"score\": 1}\n", "{\"id\": \"b\", \"score\": 1}\n");
    assert!(page.samples.iter().all(|sample| sample.standing.is_none()));
    let html = page_html(&page);
    assert!(html.contains("undecided") && html.contains("class=\"problem\""), "{html}");
}

#[test]
fn the_same_sample_of_two_runs_has_two_addresses() {
    let lines = "{\"id\": \"q 1\", \"score\": 0}\n";
    let page = page(files([source("b", lines), source("a", lines)]), &Selection::default(), None, None).unwrap();
    assert_eq!((page.title.as_str(), page.samples.len()), ("b and 1 more", 2));
    let html = page_html(&page);
    assert!(html.contains("\"#sample=q%201\"") && html.contains("\"#sample=q%201&amp;run=1\""), "{html}");
}

#[test]
fn a_page_of_nothing_says_so() {
    let page = page_html(&page(files([source("-", "")]), &Selection::default(), None, None).unwrap());
    assert!(page.contains("- is empty") && !page.contains("id=\"rows\""));
}

#[test]
fn a_comparison_is_written_as_a_page_too() {
    let (new, old) = (example("results-next.jsonl"), example("results.jsonl"));
    let output = with_input(&["compare", &new, &old, "--output", "html=-"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let html = text(&output.stdout);
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("newly failing") && html.contains("id=\"rows\""));
}
