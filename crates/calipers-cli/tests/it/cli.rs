//! What a user sees: output, errors and exit codes.

use crate::program;
use crate::program::with_input;
use calipers_testing::{Scratch, text};
use std::process::{Output, Stdio};

const RESULTS: &str = "tests/cases/results.jsonl";

fn calipers(arguments: &[&str]) -> Output {
    program::calipers().command().args(arguments).output().unwrap()
}

#[track_caller]
fn refused(output: &Output, message: &str) {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(text(&output.stdout), "");
    assert_eq!(text(&output.stderr), message);
}

#[test]
fn scores_are_shown_in_an_aligned_table() {
    let output = calipers(&["score", RESULTS]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
    assert_eq!(text(&output.stdout), include_str!("../cases/results.out"));
}

#[test]
fn a_figure_that_cannot_be_recomputed_says_so() {
    let output = calipers(&["score", "tests/cases/recorded.json"]);
    assert_eq!(text(&output.stdout), include_str!("../cases/recorded.out"));
}

#[test]
fn json_has_a_schema_and_no_placeholders() {
    let output = calipers(&["score", RESULTS, "--json", "--scorer", "judge", "--reductions"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["schema"], "calipers.results/1");
    let run = &json["runs"][0];
    assert_eq!(run["samples"], serde_json::json!({"total": 4, "scored": 2, "unscored": 1, "errored": 1}));
    assert_eq!(run["attempts"], serde_json::json!({"total": 5, "errored": 1}));
    let scores = run["scores"].as_array().unwrap();
    assert_eq!(scores.len(), 1);
    assert_eq!(scores[0]["metrics"]["accuracy"]["n"], 2);
    assert_eq!(scores[0]["metrics"]["accuracy"]["missing"], 2, "null, and broken");
    assert_eq!(run["reductions"][0]["samples"].as_array().unwrap().len(), 3);
    assert_eq!(json["caveats"], serde_json::json!([]));
}

#[test]
fn a_sample_keeps_its_name_in_json() {
    let lines = b"{\"id\": \"007\", \"score\": 1}\n{\"id\": 7, \"score\": 0}";
    let output = with_input(&["score", "-", "--json", "--reductions"], lines);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let samples = &json["runs"][0]["reductions"][0]["samples"];
    assert_eq!((&samples[0]["sample_id"], &samples[1]["sample_id"]), (&"007".into(), &7.into()));
}

#[test]
fn one_sample_has_no_standard_error_unless_inspect_is_asked() {
    let one = br#"{"id": 1, "score": "C"}"#;
    let ours = with_input(&["score", "-", "--json"], one);
    let json: serde_json::Value = serde_json::from_slice(&ours.stdout).unwrap();
    let stderr = &json["runs"][0]["scores"][0]["metrics"]["stderr"];
    assert_eq!(stderr["value"], serde_json::Value::Null);
    assert_eq!(stderr["undefined"], "needs at least 2 values, has 1");
    let theirs = with_input(&["score", "-", "--json", "--compat", "inspect"], one);
    let json: serde_json::Value = serde_json::from_slice(&theirs.stdout).unwrap();
    assert_eq!(json["runs"][0]["scores"][0]["metrics"]["stderr"]["value"], 0.0);
}

#[test]
fn samples_are_chosen_by_their_metadata() {
    let output = calipers(&["score", RESULTS, "--json", "--where", "category=happy_path"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["runs"][0]["samples"]["total"], 3);
    refused(
        &calipers(&["score", RESULTS, "--where", "category=nowhere"]),
        "error: no sample has `category` = `nowhere`\n  in tests/cases/results.jsonl\n  \
         hint: the values are adversarial, happy_path\n",
    );
}

#[test]
fn mistakes_are_named_with_place_and_hint() {
    refused(
        &calipers(&["score", "nowhere.jsonl"]),
        "error: no such file or directory\n  in nowhere.jsonl\n  hint: check the name of the file\n",
    );
    refused(
        &with_input(&["score", "-"], b"{\"id\": 1, \"score\": 1}\n{\"id\": 2, \"score\": }\n"),
        "error: not a record: expected value\n  in -, line 2\n    {\"id\": 2, \"score\": }\n                       ^\n  hint: write one JSON record per line\n",
    );
    refused(
        &with_input(&["score", "-"], b"{\"id\": 1, \"score\": \"maybe\"}"),
        "error: score `maybe` is not a number or a known label\n  at scorer `score`, sample `1`\n  in -\n  \
         hint: say what it counts with `--label 'maybe=0.5'`, or score it C, I, P or N\n",
    );
    refused(
        &calipers(&["score", RESULTS, "--reducer", "pas_at_2"]),
        "error: there is no reducer `pas_at_2`\n  hint: did you mean `pass_at_2`? the reducers are mean, median, mode, max, \
         majority, collect, pass_at_K or pass@K, pass_k_K or pass^K, and at_least_K; a threshold is written as in \
         `pass_at(2, value=0.5)`\n",
    );
    let empty = with_input(&["score", "-"], b"  \n");
    refused(&empty, "error: the file is empty\n  in -\n  hint: rerun the evaluation that should have written it\n");
}

#[test]
fn a_wrong_flag_is_a_mistake_and_help_is_not() {
    assert_eq!(calipers(&["score", "--nope"]).status.code(), Some(2));
    assert_eq!(calipers(&["--help"]).status.code(), Some(0));
    assert_eq!(calipers(&["--version"]).status.code(), Some(0));
    assert_eq!(calipers(&["score", RESULTS, "--level", "95"]).status.code(), Some(2));
}

#[test]
#[cfg(unix)]
fn a_pipe_is_read_as_a_file() {
    let output = with_input(&["score", "/dev/stdin"], br#"{"id": 1, "score": "C"}"#);
    assert!(text(&output.stdout).starts_with("/dev/stdin  native"), "{output:?}");
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let output = with_input(&["score", "-"], "{\"id\": 1, \"scores\": {\"\u{1b}[31mred\": 1}}".as_bytes());
    assert!(!output.stdout.contains(&0x1b), "{}", text(&output.stdout));
}

#[test]
fn control_characters_of_errors_do_not_reach_the_terminal() {
    let output = with_input(&["score", "-"], "{\"id\": 1, \"score\": \"\\u001b[31mred\"}".as_bytes());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("[31mred"));
    assert!(!output.stderr.contains(&0x1b), "{}", text(&output.stderr));
}

#[test]
fn several_runs_are_compared() {
    let output = calipers(&["score", RESULTS, "../../examples/agent/results.jsonl"]);
    assert_eq!(text(&output.stdout), include_str!("../cases/several.out"));
}

#[test]
fn a_caught_panic_is_an_error_without_noise() {
    let whole = include_bytes!("../../../../testdata/formats/parquet/records.parquet");
    // Damage in a page and in the directory that the Parquet library answers with a panic.
    for at in [1411, 2161, 3082] {
        let mut damaged = whole.to_vec();
        damaged[at] ^= 0xff;
        let output = with_input(&["score", "-", "--json"], &damaged);
        assert_eq!(output.status.code(), Some(2), "byte {at}: {output:?}");
        let message = text(&output.stderr);
        assert!(message.starts_with("error: the Parquet data is damaged: "), "byte {at}: {message}");
    }
}

#[test]
fn the_manual_and_the_completions_have_every_option_of_the_help() {
    let manual = text(&calipers(&["man"]).stdout);
    assert!(text(&calipers(&["score", "--help"]).stdout).contains("  --where <KEY=VALUE>"));
    assert!(manual.contains(".TH calipers 1"));
    for shell in ["bash", "zsh", "fish"] {
        let script = text(&calipers(&["completions", shell]).stdout);
        for command in ["score", "formats", "schema", "completions"] {
            assert!(script.contains(command), "{shell}: {command}");
            let help = text(&calipers(&[command, "--help"]).stdout);
            let is_option = |line: &&str| line.trim_start().starts_with('-') && !line.trim_start().starts_with("- ");
            let lines = help.lines().filter(is_option);
            let options: Vec<&str> =
                lines.filter_map(|line| line.split("--").nth(1)?.split([' ', '.', '[']).next()).collect();
            assert!(options.contains(&"help"), "{help}");
            for option in options {
                let written = if shell == "fish" { format!("-l {option}") } else { format!("--{option}") };
                assert!(script.contains(&written), "{shell}: {command} {written}");
                let section = manual.split(".SH \"CALIPERS ").find(|part| part.starts_with(&command.to_uppercase()));
                let written = format!("\\-\\-{}", option.replace('-', "\\-"));
                assert!(section.unwrap().contains(&written), "manual: {command} {written}");
            }
        }
    }
}

#[test]
fn a_reader_that_goes_away_is_no_mistake() {
    for arguments in [&["man"][..], &["completions", "bash"], &["completions", "zsh"], &["completions", "fish"]]
        .into_iter()
        .chain([&["schema", "results"][..], &["formats"], &["score", RESULTS], &["score", RESULTS, "--json"]])
    {
        let mut child = program::calipers()
            .command()
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()), "{arguments:?}");
    }
}

#[test]
fn every_format_is_listed() {
    let output = calipers(&["formats"]);
    assert!(text(&output.stdout).lines().any(|line| line.starts_with("native ")));
}

#[test]
fn the_example_prints_what_the_readme_shows() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let output = program::calipers()
        .command()
        .args(["score", "examples/agent/results.jsonl"])
        .current_dir(root)
        .output()
        .unwrap();
    let expected = include_str!("../../../../examples/agent/expected.txt");
    assert_eq!(text(&output.stdout), expected);
    assert!(include_str!("../../../../README.md").contains(expected), "the README shows another output");
}

#[test]
fn a_bad_file_takes_nothing_from_the_others() {
    let folder = Scratch::new();
    folder.write("a.jsonl", "{\"id\": 1, \"score\": 1}\n");
    folder.write("b.jsonl", "{\"id\": 1, \"score\": \"maybe\"}\n");
    folder.write("notes.json", "{\"author\": \"unknown\"}\n");
    let output = calipers(&["score", &folder.file(""), "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["runs"].as_array().unwrap().len(), 1);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.starts_with("note: ") && said.contains("notes.json was left out"), "{said}");
    assert!(said.contains("error: score `maybe` is not a number or a known label"), "{said}");
}

#[test]
fn a_metric_of_somebodys_own_is_not_taken_for_ours() {
    // The log of a task with its own `pass_rate`, which is not the share of `passed` records.
    let output = calipers(&["score", "../../examples/inspect-docs/colors.json", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let recorded = json["runs"][0]["recorded"].as_array().unwrap();
    assert!(recorded.iter().any(|figure| figure["metric"] == "pass_rate"), "{recorded:?}");
}

#[test]
fn records_are_measured_by_what_they_have() {
    let metrics = |lines: &str| {
        let output = with_input(&["score", "-", "--json"], lines.as_bytes());
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        json["runs"][0]["scores"].clone()
    };
    let passed = metrics("{\"id\": 1, \"passed\": true}\n{\"id\": 2, \"passed\": false}\n");
    assert_eq!(passed[0]["metrics"]["pass_rate"]["value"], 0.5);
    let maps = metrics(
        "{\"id\": 1, \"score\": {\"tone\": 1, \"facts\": 0.5}}\n{\"id\": 2, \"score\": {\"tone\": 0, \"facts\": 0.5}}\n",
    );
    let names: Vec<_> = maps.as_array().unwrap().iter().map(|score| score["name"].clone()).collect();
    assert_eq!(names, ["tone", "facts"]);
    assert_eq!(maps[0]["metrics"]["accuracy"]["value"], 0.5);
}

#[test]
fn samples_that_a_scorer_did_not_look_at_are_named() {
    let output = with_input(&["score", "-"], b"{\"id\": 1, \"score\": 1}\n{\"id\": 2, \"scor\": 1}\n");
    let shown = text(&output.stdout);
    assert!(shown.contains("one sample has no score by `score` and is in none of its figures"), "{shown}");
}

#[test]
fn reductions_are_shown_sample_by_sample() {
    let lines = b"{\"id\": \"a\", \"score\": 1}\n{\"id\": \"a\", \"score\": 0}\n{\"id\": \"bc\", \"score\": null}\n";
    let output = with_input(&["score", "-", "--reductions"], lines);
    let shown = text(&output.stdout);
    assert!(shown.contains("score, sample by sample\n  a   0.500\n  bc  unscored\n"), "{shown}");
}

#[test]
fn mistakes_in_names_say_what_there_is() {
    let lines = b"{\"id\": 1, \"score\": 1, \"category\": \"a\", \"hard\": true}\n{\"id\": 2, \"score\": 0, \"category\": \"b\", \"hard\": false}\n";
    let said = |arguments: &[&str]| text(&with_input(&[&["score", "-"], arguments].concat(), lines).stderr);
    for arguments in [["-m", "stderr(cluster=\"categry\")"], ["-m", "grouped(mean(), \"categry\")"]] {
        let said = said(&arguments);
        assert!(said.contains("categry") && said.contains("category, hard"), "{said}");
    }
    assert!(said(&["--reducer", "pass_at_0"]).contains("`pass_at_0` asks for no attempt at all"));
    assert!(
        said(&["--reducer", "none", "--reducer", "mean"])
            .contains("`--reducer none` cannot be combined with another reducer")
    );
    assert_eq!(with_input(&["score", "-", "--where", "hard=true"], lines).status.code(), Some(0));
}
