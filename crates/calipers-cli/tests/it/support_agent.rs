//! The example of a support agent: what its files show, and its workflow for GitHub.
#![cfg(unix)] // the commands are written for a shell

use crate::shown::{ROOT, assert_shown, printed, replayed, shell, shell_in};
use calipers::policy::document::{Data, Item};
use calipers_testing::Scratch;
use serde_json::Value;
use std::path::Path;

const FOLDER: &str = "examples/support-agent";

/// Judges results of the example by one of its policies.
#[track_caller]
fn gate(results: &str, policy: &str, more: &str) -> String {
    printed(&format!("calipers gate {FOLDER}/{results} --policy {FOLDER}/{policy} {more}"))
}

#[test]
fn the_gates_of_the_example_print_what_is_expected() {
    let shown = |file: &str, found: &str| assert_shown(&format!("{FOLDER}/{file}"), found);
    shown("expected.txt", &gate("results.jsonl", "policy.json", ""));
    shown("expected-next.txt", &gate("results-next.jsonl", "policy.json", ""));
    shown("expected-confidence.txt", &gate("results.jsonl", "policy-confidence.yaml", ""));
}

#[test]
fn the_comment_of_the_example_is_what_is_expected() {
    let scratch = Scratch::new();
    let file = scratch.join("gate.md");
    gate("results-next.jsonl", "policy.json", &format!("--output markdown={}", file.display()));
    assert_shown(&format!("{FOLDER}/expected-comment.md"), &std::fs::read_to_string(file).unwrap());
}

#[test]
fn the_readme_of_the_example_shows_what_its_commands_print() {
    let path = format!("{FOLDER}/README.md");
    let (page, outputs) = replayed(&std::fs::read_to_string(Path::new(ROOT).join(&path)).unwrap());
    assert!(outputs > 0, "have the blocks changed their form?");
    assert_shown(&path, &page);
}

#[test]
fn the_policy_in_yaml_asks_for_the_same() {
    let rules = |policy: &str| {
        let output = shell(&format!("calipers gate {FOLDER}/results.jsonl --policy {FOLDER}/{policy} --json"));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let asked = |gate: &Value| {
            let keys = ["kind", "subject", "metric", "level", "rule", "rationale", "estimate"];
            keys.map(|key| gate[key].clone())
        };
        let gates: Vec<_> = report["gates"].as_array().unwrap().iter().map(asked).collect();
        (gates, report["scenarios"].clone(), report["composite"][0]["estimate"].clone(), report["mode"].clone())
    };
    let (json, yaml) = (rules("policy.json"), rules("policy-confidence.yaml"));
    assert_eq!((&json.0, &json.1, &json.2), (&yaml.0, &yaml.1, &yaml.2));
    assert_ne!(json.3, yaml.3);
}

#[test]
fn the_results_of_the_example_are_those_of_its_suite() {
    for results in ["results.jsonl", "results-next.jsonl"] {
        let output = shell(&format!(
            "calipers gate {FOLDER}/{results} --policy {FOLDER}/policy.json --suite {FOLDER}/scenarios.json --json || true"
        ));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let coverage = &report["coverage"];
        assert_eq!((&coverage["total"], &coverage["expected_by"]), (&60.into(), &"suite".into()), "{results}");
        assert_eq!((coverage["missing"].as_array(), coverage["unexpected"].as_array()), (Some(&vec![]), Some(&vec![])));
    }
}

/// A folder like that of a repository that uses the workflow.
struct Folder(Scratch);

impl Folder {
    /// With the results, the policy and the suite in it, as in a repository that uses the workflow.
    fn with_results(results: &str) -> Self {
        let scratch = Scratch::new();
        for (from, to) in
            [(results, "results.jsonl"), ("policy.json", "policy.json"), ("scenarios.json", "scenarios.json")]
        {
            std::fs::copy(Path::new(ROOT).join(FOLDER).join(from), scratch.join(to)).unwrap();
        }
        Self(scratch)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_default()
    }

    /// The exit code of a step of the workflow in this folder.
    fn run(&self, step: &str, variables: &str) -> Option<i32> {
        let lines = format!("export GITHUB_OUTPUT=output {variables}\n{}", script_of(step));
        shell_in(self.0.path(), &["bash", "-e", "-c"], &lines).status.code()
    }
}

/// The steps of the workflow.
fn steps() -> Vec<Item> {
    let bytes = std::fs::read(Path::new(ROOT).join(FOLDER).join("github-workflow.yml")).unwrap();
    let workflow = calipers::io::read_document("github-workflow.yml", &bytes).unwrap();
    let steps = workflow.get("jobs").unwrap().get("gate").unwrap().get("steps").unwrap();
    let Data::List(steps) = &steps.value else { panic!("the steps are a list") };
    steps.clone()
}

fn text<'a>(step: &'a Item, key: &str) -> Option<&'a str> {
    match &step.get(key)?.value {
        Data::Text(text) => Some(text),
        _ => None,
    }
}

fn script_of(name: &str) -> String {
    let steps = steps();
    let step = steps.iter().find(|step| text(step, "name") == Some(name)).unwrap();
    text(step, "run").unwrap().to_owned()
}

#[test]
fn every_script_of_the_workflow_is_one_for_bash() {
    let scripts: Vec<String> = steps().iter().filter_map(|step| text(step, "run").map(str::to_owned)).collect();
    assert_eq!(scripts.len(), 5);
    for script in scripts {
        let output = shell_in(Path::new(ROOT), &["bash", "-n", "-c"], &script);
        assert!(output.status.success() && output.stderr.is_empty(), "{script}{output:?}");
    }
}

#[test]
fn every_action_of_the_workflow_has_a_version() {
    let actions: Vec<String> = steps().iter().filter_map(|step| text(step, "uses").map(str::to_owned)).collect();
    assert!(!actions.is_empty());
    for action in actions {
        assert!(action.split_once("@v").is_some_and(|(_, version)| version.parse::<u32>().is_ok()), "{action}");
    }
}

#[test]
fn the_workflow_tells_verdicts_from_mistakes() {
    let judged = |results: &str, policy: Option<&str>| {
        let scratch = Folder::with_results(results);
        if let Some(policy) = policy {
            std::fs::write(scratch.0.join("policy.json"), policy).unwrap();
        }
        let code = scratch.run("Judge the results", "");
        (code, scratch.read("output"), scratch.read("gate.md"), scratch.read("gate.xml"))
    };
    let (code, output, comment, junit) = judged("results.jsonl", None);
    assert_eq!((code, &*output), (Some(0), "code=0\n"));
    assert!(comment.starts_with("<!-- calipers gate -->\n") && junit.starts_with("<?xml"));
    let (code, output, ..) = judged("results-next.jsonl", None);
    assert_eq!((code, &*output), (Some(0), "code=1\n"));
    let unknown = r#"{"required_scenarios": ["NO-SUCH"]}"#;
    assert_eq!(judged("results.jsonl", Some(unknown)).1, "code=3\n");
    let (code, output, ..) = judged("results.jsonl", Some(r#"{"threshold": {}}"#));
    assert_eq!((code, &*output), (Some(2), "code=2\n"));
    let scratch = Folder(Scratch::new());
    for code in [0, 1, 3] {
        assert_eq!(scratch.run("Follow the verdict", &format!("CODE={code}")), Some(code));
    }
}

#[test]
fn the_workflow_updates_its_comment() {
    let said_to_github = |known: &str| {
        let scratch = Folder(Scratch::new());
        // Says which comments there are, and writes down what else it is asked.
        let gh =
            format!("#!/bin/sh\ncase \"$*\" in\n*--paginate*) printf '{known}' ;;\n*) echo \"$*\" >> asked ;;\nesac\n");
        std::fs::write(scratch.0.join("gh"), gh).unwrap();
        shell_in(scratch.0.path(), &["sh", "-ec"], "chmod +x gh");
        assert_eq!(scratch.run("Comment on the pull request", "GITHUB_REPOSITORY=o/r NUMBER=7"), Some(0));
        scratch.read("asked")
    };
    let first = said_to_github("");
    assert_eq!(first, "api --method POST repos/o/r/issues/7/comments --field body=@gate.md --silent\n");
    let again = said_to_github("12\\n15\\n");
    assert_eq!(again, "api --method PATCH repos/o/r/issues/comments/12 --field body=@gate.md --silent\n");
}
