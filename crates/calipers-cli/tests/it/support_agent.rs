//! The example of a support agent: what its files show, and the action and workflow for GitHub.
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

/// A folder like that of a repository that uses the action.
struct Folder(Scratch);

impl Folder {
    fn new() -> Self {
        Self(Scratch::new())
    }

    /// With the results, the policy and the suite in it, as in a repository that uses the action.
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

    /// The exit code of a step of the action in this folder.
    fn run(&self, step: &str, variables: &str) -> Option<i32> {
        let lines = format!("export GITHUB_OUTPUT=output OUTPUT=reports {variables}\n{}", script_of(step));
        shell_in(self.0.path(), &["bash", "-eo", "pipefail", "-c"], &lines).status.code()
    }
}

/// The steps at these keys of a file of the repository.
fn steps_in(path: &str, keys: &[&str]) -> Vec<Item> {
    let bytes = std::fs::read(Path::new(ROOT).join(path)).unwrap();
    let document = calipers::io::read_document(path, &bytes).unwrap();
    let steps = keys.iter().fold(&document, |item, key| item.get(key).unwrap());
    let Data::List(steps) = &steps.value else { panic!("the steps are a list") };
    steps.clone()
}

/// The steps of the action that gates a pull request.
fn action_steps() -> Vec<Item> {
    steps_in("action.yml", &["runs", "steps"])
}

/// The steps of the workflow that uses it.
fn workflow_steps() -> Vec<Item> {
    steps_in(&format!("{FOLDER}/github-workflow.yml"), &["jobs", "gate", "steps"])
}

fn text<'a>(step: &'a Item, key: &str) -> Option<&'a str> {
    match &step.get(key)?.value {
        Data::Text(text) => Some(text),
        _ => None,
    }
}

fn script_of(name: &str) -> String {
    let steps = action_steps();
    let step = steps.iter().find(|step| text(step, "name") == Some(name)).unwrap();
    text(step, "run").unwrap().to_owned()
}

#[test]
fn every_script_of_the_action_is_valid_bash_without_text_from_outside() {
    let steps = [action_steps(), workflow_steps()].concat();
    let scripts: Vec<&str> = steps.iter().filter_map(|step| text(step, "run")).collect();
    assert_eq!(scripts.len(), 5);
    for script in scripts {
        // What GitHub puts in for an expression becomes part of the script: a name could end a command and begin another.
        assert!(!script.contains("${{"), "{script}");
        let output = shell_in(Path::new(ROOT), &["bash", "-n", "-c"], script);
        assert!(output.status.success() && output.stderr.is_empty(), "{script}{output:?}");
    }
}

#[test]
fn every_action_of_the_workflow_has_a_version_and_the_inputs_exist() {
    let bytes = std::fs::read(Path::new(ROOT).join("action.yml")).unwrap();
    let action = calipers::io::read_document("action.yml", &bytes).unwrap();
    let mut gates = 0;
    for step in workflow_steps() {
        let Some(used) = text(&step, "uses") else { continue };
        let (name, version) = used.split_once("@v").unwrap();
        assert!(version.parse::<u32>().is_ok(), "{used}");
        if name != "calipers-eval/calipers" {
            continue;
        }
        let Data::Map(given) = &step.get("with").unwrap().value else { panic!("the inputs are a map") };
        for (input, _) in given {
            assert!(action.get("inputs").unwrap().get(&input.value).is_some(), "`{}` is no input", input.value);
        }
        gates += 1;
    }
    assert_eq!(gates, 1);
}

#[test]
fn the_action_tells_verdicts_from_mistakes() {
    let judged = |results: &str, policy: Option<&str>| {
        let scratch = Folder::with_results(results);
        if let Some(policy) = policy {
            std::fs::write(scratch.0.join("policy.json"), policy).unwrap();
        }
        let inputs = "RESULTS=results.jsonl POLICY=policy.json SUITE=scenarios.json BASELINE=";
        let code = scratch.run("Judge the results", inputs);
        (code, scratch.read("output"), scratch.read("reports/gate.md"), scratch.read("reports/gate.xml"))
    };
    let output = |verdict: &str| format!("verdict={verdict}\nreport=reports/gate.html\n");
    let (code, said, comment, junit) = judged("results.jsonl", None);
    assert_eq!((code, said), (Some(0), output("pass")));
    assert!(comment.starts_with("<!-- calipers gate -->\n") && junit.starts_with("<?xml"));
    let (code, said, ..) = judged("results-next.jsonl", None);
    assert_eq!((code, said), (Some(0), output("fail")));
    let unknown = r#"{"required_scenarios": ["NO-SUCH"]}"#;
    assert_eq!(judged("results.jsonl", Some(unknown)).1, output("undecided"));
    let (code, said, ..) = judged("results.jsonl", Some(r#"{"threshold": {}}"#));
    assert_eq!((code, &*said), (Some(2), ""));
}

#[test]
fn the_action_reads_several_files_whatever_their_names_are() {
    let scratch = Folder::with_results("results.jsonl");
    std::fs::rename(scratch.0.join("results.jsonl"), scratch.0.join("-a $(touch hit) b.jsonl")).unwrap();
    let inputs = "RESULTS=$'-a $(touch hit) b.jsonl\\n\\n' POLICY=policy.json SUITE= BASELINE=";
    assert_eq!(scratch.run("Judge the results", inputs), Some(0));
    assert!(scratch.read("output").starts_with("verdict=pass\n"));
    assert!(!scratch.0.join("hit").exists());
}

#[test]
fn the_job_follows_the_verdict() {
    let scratch = Folder::new();
    let followed = |verdict: &str, undecided: &str| {
        scratch.run("Follow the verdict", &format!("VERDICT={verdict} UNDECIDED={undecided}")).unwrap()
    };
    for (verdict, undecided, want) in [
        ("pass", "fail", 0),
        ("fail", "fail", 1),
        ("fail", "pass", 1),
        ("undecided", "fail", 3),
        ("undecided", "pass", 0),
        ("", "fail", 3),
    ] {
        assert_eq!(followed(verdict, undecided), want, "{verdict} {undecided}");
    }
}

#[test]
fn the_action_updates_its_comment() {
    let said_to_github = |known: &str| {
        let scratch = Folder::new();
        // Says which comments there are, and writes down what else it is asked.
        let gh =
            format!("#!/bin/sh\ncase \"$*\" in\n*--paginate*) printf '{known}' ;;\n*) echo \"$*\" >> asked ;;\nesac\n");
        std::fs::write(scratch.0.join("gh"), gh).unwrap();
        shell_in(scratch.0.path(), &["sh", "-ec"], "chmod +x gh");
        assert_eq!(scratch.run("Comment on the pull request", "GITHUB_REPOSITORY=o/r NUMBER=7"), Some(0));
        scratch.read("asked")
    };
    let first = said_to_github("");
    assert_eq!(first, "api --method POST repos/o/r/issues/7/comments --field body=@reports/gate.md --silent\n");
    let again = said_to_github("12\\n15\\n");
    assert_eq!(again, "api --method PATCH repos/o/r/issues/comments/12 --field body=@reports/gate.md --silent\n");
}

#[test]
#[cfg(target_os = "linux")] // the archive and the sums are made with the tools of Linux
fn the_action_installs_an_archive_only_if_its_checksum_is_right() {
    // Stands for the page of releases: the archive that a release packs, and `curl` that fetches from it.
    const RELEASE: &str = r#"
        name=calipers-v9.9.9-x86_64-unknown-linux-gnu
        mkdir -p $name page
        printf '#!/bin/sh\necho 9.9.9\n' > $name/calipers
        tar -czf page/$name.tar.gz $name
        printf '#!/bin/sh\nwhile [ "$1" != --output ]; do shift; done\ncp "../page/$2" "$2"\n' > curl
        chmod +x curl
        echo 'version = "0.0.0"' > Cargo.toml
        cd page
    "#;
    let installed = |sums: &str| {
        let scratch = Folder::new();
        let made = shell_in(scratch.0.path(), &["bash", "-ec"], &format!("{RELEASE}{sums}"));
        assert!(made.status.success(), "{made:?}");
        let runner = "RUNNER_TEMP=. RUNNER_OS=Linux RUNNER_ARCH=X64 GITHUB_PATH=path";
        let code = scratch.run("Install Calipers", &format!("{runner} ACTION=. VERSION=v9.9.9 REPOSITORY=none"));
        (code == Some(0), scratch.0.join("calipers/bin/calipers").exists())
    };
    assert_eq!(installed("sha256sum -- *.gz > SHA256SUMS"), (true, true));
    assert_eq!(installed("sha256sum -- *.gz | sed 's/^......../00000000/' > SHA256SUMS"), (false, false));
    assert_eq!(installed("echo '0  other.tar.gz' > SHA256SUMS"), (false, false));
}
