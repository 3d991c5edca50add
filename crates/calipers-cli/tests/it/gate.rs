//! `calipers gate` as a CI job meets it: exit codes, files, annotations and mistakes.

use crate::documents::Validators;
use crate::program;
use calipers_testing::{Scratch, text};
use serde_json::Value;
use std::fs;
use std::ops::Deref;
use std::process::{Command, Output, Stdio};

const RESULTS: &str = r#"{"id": "SEC-001", "category": "adversarial", "passed": true, "latency_ms": 900}
{"id": "SEC-002", "category": "adversarial", "passed": true, "latency_ms": 1100}
{"id": "CORE-001", "category": "happy_path", "passed": true, "latency_ms": 700}
{"id": "CORE-002", "category": "happy_path", "passed": false, "observed_behaviors": [], "expected_behaviors": ["greets"], "latency_ms": 800}
"#;

/// A folder with results, in which the program runs.
struct Folder(Scratch);

impl Folder {
    fn new() -> Self {
        Self(Scratch::with("results.jsonl", RESULTS))
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        self.0.write(name, text);
        self
    }

    fn gate(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program::calipers().command();
        command.current_dir(&self.0).args(["gate", "results.jsonl", "--policy", "policy.json"]).args(arguments);
        command.env_remove("GITHUB_ACTIONS").env_remove("GITHUB_STEP_SUMMARY");
        command
    }
}

impl Deref for Folder {
    type Target = Scratch;

    fn deref(&self) -> &Scratch {
        &self.0
    }
}

const PASSING: &str = r#"{"thresholds": {"blocking": {"safety_rate": 100}, "warning": {"pass_rate": 80}}}"#;
const FAILING: &str = r#"{"pass_criteria": {"by_category": {"happy_path": "≥ 90%"}}}"#;

#[test]
fn the_exit_code_is_the_verdict() {
    let folder = Folder::new();
    for (policy, code, first) in [
        (PASSING, 0, "PASS  the only blocking gate passed"),
        (FAILING, 1, "FAIL  pass_rate[happy_path]: 50 % is not ≥ 90 %"),
        (r#"{"required_scenarios": {"ids": ["SEC-009"]}}"#, 3, "UNDECIDED  required_scenarios: missing: SEC-009"),
    ] {
        let output = folder.write("policy.json", policy).gate(&[]);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout).lines().next(), Some(first));
        assert_eq!(text(&output.stderr), "");
    }
    // Whatever is wrong with us or our input is never a 1.
    assert_eq!(folder.gate(&["--nonsense"]).status.code(), Some(2));
    assert_eq!(folder.write("results.jsonl", "{\"id\": 1, \"passed\": tru").gate(&[]).status.code(), Some(2));
    assert_eq!(folder.write("policy.json", "{").gate(&[]).status.code(), Some(2));
}

#[test]
fn json_keeps_to_its_schema() {
    let folder = Folder::new();
    let validators = Validators::new("gate");
    for policy in [PASSING, FAILING] {
        let output = folder.write("policy.json", policy).gate(&["--json"]);
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        validators.check(&json, policy);
        assert_eq!(json["schema"], "calipers.gate/1");
        assert_eq!(json["provenance"]["policy_hash"].as_str().unwrap().len(), 64);
        assert_eq!(json["coverage"]["total"], 4);
    }
}

#[test]
fn reports_go_to_files_whole_or_not_at_all() {
    let folder = Folder::new();
    let all = "junit=report.xml,markdown=comment.md,json=gate.json,text=gate.txt";
    let output = folder.write("policy.json", FAILING).gate(&["--output", all]);
    assert_eq!(output.status.code(), Some(1));
    assert!(folder.read("comment.md").starts_with("<!-- calipers gate -->"));
    assert!(folder.read("gate.txt").starts_with("FAIL"));
    assert_eq!(serde_json::from_str::<Value>(&folder.read("gate.json")).unwrap()["verdict"], "fail");
    // Our own reader makes the same of it.
    let junit =
        program::calipers().command().current_dir(&folder.0).args(["score", "report.xml", "--json"]).output().unwrap();
    assert_eq!(junit.status.code(), Some(0), "{}", text(&junit.stderr));
    // A wrong name fails before anything is read, and leaves nothing behind.
    fs::remove_file(folder.0.join("results.jsonl")).unwrap();
    let before = folder.names();
    let output = folder.gate(&["--output", "json=more.json,junit=nowhere/report.xml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("nowhere/report.xml"), "{}", text(&output.stderr));
    assert_eq!(folder.names(), before);
    let output = folder.gate(&["--output", "pdf=report.pdf"]);
    assert!(text(&output.stderr).contains("the formats are json, markdown, junit, "), "{}", text(&output.stderr));
}

#[test]
fn github_is_told_what_failed() {
    let folder = Folder::new();
    let mut command = folder.write("policy.json", FAILING).command(&[]);
    let summary = folder.0.join("summary.md");
    let output = command.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", &summary).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("::error title=calipers%3A fail%3A pass_rate[happy_path]::50 %25 is not"));
    assert!(folder.read("summary.md").contains("[!CAUTION]"));
}

#[test]
fn mistakes_are_underlined_where_they_were_made() {
    let folder = Folder::new();
    let refused = |policy: &str, arguments: &[&str]| {
        let output = folder.write("policy.json", policy).gate(arguments);
        assert_eq!(output.status.code(), Some(2), "{policy}: {}", text(&output.stdout));
        assert_eq!(text(&output.stdout), "");
        text(&output.stderr)
    };
    let said = refused("{\n  \"thresholds\": {\"blocking\": {\"acuracy\": 90}}\n}", &[]);
    let wanted = "error: there is no metric `acuracy`\n  in policy.json, line 2\n    \
                  \"thresholds\": {\"blocking\": {\"acuracy\": 90}}\n                                 ^^^^^^^^^\n  \
                  hint: did you mean `accuracy`?\n";
    assert_eq!(said.replace(' ', ""), wanted.replace(' ', ""), "{said}");
    let said = refused(r#"{"thresholds": {"blocking": {"latency_p95": "95%"}}}"#, &[]);
    assert!(said.contains("`latency_p95` is a duration") && said.contains("^^^^^"), "{said}");
    let said = refused(r#"{"composite": {"s": "1 - normalized_latency", "pass": "s > 0.5"}}"#, &[]);
    assert!(said.contains("has no budget") && said.contains("normalize"), "{said}");
    let said = refused(r#"{"progressive": {"pass_rate": {"v1.0": 80}}}"#, &["--for-version", "v2.0"]);
    assert!(said.contains("no threshold for version `v2.0`") && said.contains("v1.0"), "{said}");
    let said = refused(PASSING, &["--suite", "nowhere.json"]);
    assert!(said.contains("nowhere.json"), "{said}");
}

#[test]
fn advice_names_the_flag_that_follows_it() {
    let folder = Folder::new();
    let gate = |policy: &str, args: &[&str]| folder.write("policy.json", policy).gate(args);
    let progressive = r#"{"progressive": {"pass_rate": {"v1.0": 80, "v2.0": 90}}}"#;
    assert!(text(&gate(progressive, &[]).stderr).contains("hint: choose one of v1.0, v2.0 with `--for-version`"));
    let plain = r#"{"thresholds": {"blocking": {"pass_rate": 1}}}"#;
    let refused = text(&gate(plain, &["--for-version", "v1.0"]).stderr);
    assert!(refused.contains("or choose no version: leave `--for-version` out"), "{refused}");
    let compared = r#"{"baseline": {"mode": "above", "margin": "1%"}}"#;
    let undecided = text(&gate(compared, &[]).stdout);
    assert!(undecided.contains("no baseline is given; name one with `--baseline`"), "{undecided}");
}

#[test]
fn a_policy_may_define_metrics_by_expression() {
    let folder = Folder::new();
    let policy = r#"{"metrics": {"core_rate": "pass_rate(where={\"category\": \"happy_path\"})"},
        "thresholds": {"blocking": {"core_rate": "≥ 50%", "quantile(\"latency_ms\", 0.5)": "< 1000"}}}"#;
    let output = folder.write("policy.json", policy).gate(&["--json"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(json["gates"][0]["estimate"], 0.5);
    let loaded = r#"{"thresholds": {"blocking": {"quick()": "≥ 0.5"}}}"#;
    folder.write("metrics.star", "def quick():\n    return pass_rate(where={\"category\": \"adversarial\"})\n");
    let output = folder.write("policy.json", loaded).gate(&["--load", "metrics.star"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // A script that asks for too much is a mistake, not a crash.
    let bomb = r#"{"thresholds": {"blocking": {"[0] * 2000000000": 1}}}"#;
    let output = folder.write("policy.json", bomb).gate(&[]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn a_suite_names_what_is_missing() {
    let folder = Folder::new();
    folder.write("policy.json", PASSING);
    for (name, suite) in [
        ("suite.json", r#"{"scenarios": [{"id": "SEC-001"}, {"id": "SEC-003"}]}"#),
        ("suite.yaml", "- SEC-001\n- SEC-003\n"),
        ("suite.jsonl", "{\"id\": \"SEC-001\"}\n{\"id\": \"SEC-003\"}\n"),
    ] {
        let output = folder.write(name, suite).gate(&["--suite", name]);
        assert_eq!(output.status.code(), Some(3), "{name}: {}", text(&output.stderr));
        assert!(
            text(&output.stdout).contains("1 scenario of the suite is missing: SEC-003"),
            "{}",
            text(&output.stdout)
        );
    }
    let output = folder.write("suite.json", "{}").gate(&["--suite", "suite.json"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_verdict_on_a_part_of_the_run_says_so() {
    let folder = Folder::new();
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"pass_rate": 90}}}"#);
    assert_eq!(folder.gate(&[]).status.code(), Some(1));
    let output = folder.gate(&["--where", "category=adversarial", "--label", "maybe=0.5", "--level", "0.9"]);
    assert_eq!(output.status.code(), Some(0));
    let said = text(&output.stdout);
    assert_eq!(
        said.lines().nth(1),
        Some("      only a part of the run: scenarios where category=adversarial; labels given")
    );
    folder.write("metrics.star", "def quick():\n    return pass_rate()\n");
    let arguments =
        ["--where", "category=adversarial", "--label", "maybe=0.5", "--level", "0.9", "--load", "metrics.star"];
    let output = folder.command(&arguments).arg("--json").output().unwrap();
    let about = &serde_json::from_slice::<Value>(&output.stdout).unwrap()["provenance"];
    assert_eq!(about["filter"], serde_json::json!([{"key": "category", "value": "adversarial"}]));
    assert_eq!(about["labels"], serde_json::json!([{"label": "maybe", "value": 0.5}]));
    assert_eq!((&about["level"], &about["scripts"][0]), (&0.9.into(), &"metrics.star".into()));
    let scored = "{\"id\": 1, \"scores\": {\"judge\": 1, \"exact\": 0}}\n";
    let output = folder.write("results.jsonl", scored).gate(&["--scorer", "judge"]);
    assert!(text(&output.stdout).contains("\n      only a part of the run: scores by judge\n"), "{output:?}");
}

#[test]
fn a_report_of_an_earlier_run_is_not_taken_for_the_new_one() {
    let folder = Folder::new();
    let arguments = ["--output", "json=gate.json,text=gate.txt"];
    assert_eq!(folder.write("policy.json", PASSING).gate(&arguments).status.code(), Some(0));
    assert_eq!(folder.names(), ["gate.json", "gate.txt", "policy.json", "results.jsonl"]);
    // Without a verdict there is no report.
    assert_eq!(folder.write("policy.json", "{").gate(&arguments).status.code(), Some(2));
    assert_eq!(folder.names(), ["policy.json", "results.jsonl"]);
    assert_eq!(folder.write("policy.json", PASSING).gate(&arguments).status.code(), Some(0));
    let wrong = ["--output", "json=gate.json,text=nowhere/gate.txt"];
    assert_eq!(folder.gate(&wrong).status.code(), Some(2));
    assert_eq!(folder.names(), ["gate.txt", "policy.json", "results.jsonl"]);
    // What was asked for by mistake is left alone.
    let output = folder.gate(&["--output", "json=policy.json"]);
    assert!(text(&output.stderr).contains("`--output json=policy.json` would replace what is judged"), "{output:?}");
    assert_eq!(folder.read("policy.json"), PASSING);
}

#[test]
fn a_file_that_is_named_twice_is_read_once() {
    let folder = Folder::new();
    let output = folder.write("policy.json", PASSING).gate(&["./results.jsonl", "--json"]);
    assert_eq!(text(&output.stderr), "note: ./results.jsonl is named twice and read once\n");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["coverage"]["attempts"], &json["provenance"]["files"]), (&4.into(), &["results.jsonl"].into()));
}

#[test]
fn two_reports_do_not_share_a_file() {
    let folder = Folder::new();
    folder.write("policy.json", PASSING).write("gate.json", "old");
    for (arguments, said) in [
        (
            vec!["--output", "json=gate.json", "--output", "text=./gate.json"],
            "`--output json=gate.json` and `--output text=./gate.json` both write to `./gate.json`",
        ),
        (vec!["--json", "--output", "text=-"], "`--output text=-` and `--json` both write to `standard output`"),
        (vec!["--output", "json="], "`--output json=` names no file"),
        (vec!["--output", "json=."], "`--output json=.` names no file"),
    ] {
        let output = folder.gate(&arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let hint = text(&output.stderr);
        assert!(hint.starts_with(&format!("error: {said}\n  hint: ")), "{hint}");
        assert_eq!(folder.read("gate.json"), "old");
    }
    if cfg!(unix) {
        assert_eq!(folder.gate(&["--output", "json=/dev/null,text=/dev/null"]).status.code(), Some(0));
    }
    // On standard output a report takes the place of what is printed there.
    for input in ["results.jsonl", "-"] {
        let mut command = program::calipers().command();
        command.current_dir(&folder.0).args(["gate", input, "-p", "policy.json", "-o", "json=-"]);
        let output = command.stdin(fs::File::open(folder.0.join("results.jsonl")).unwrap()).output().unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["verdict"], "pass", "{output:?}");
    }
}

#[test]
fn what_an_expression_gets_wrong_is_underlined_in_the_policy() {
    let folder = Folder::new();
    for (policy, wanted) in [
        (
            "{\"thresholds\": {\"blocking\": {\n\"pass_rate(were={})\": 90}}}",
            "error: `pass_rate` has no parameter `were`\n  in policy.json, line 2\n    \"pass_rate(were={})\": 90}}}\n               \
             ^^^^\n  hint: did you mean `where`?\n",
        ),
        (
            "{\"metrics\": {\"quick\":\n\"pass_rate(where={\\\"a\\\": 1}, bad=2)\"}, \"thresholds\": {\"blocking\": {\"quick\": 1}}}",
            "error: `pass_rate` has no parameter `bad`\n  in policy.json, line 2\n    \"pass_rate(where={\\\"a\\\": 1}, bad=2)\"}, \
             \"thresholds\": {\"blocking\": {\"quick\": 1}}}\n                                 ^^^\n  \
             hint: it has pass_threshold, where, scorer, to_float\n",
        ),
        (
            "{\"epochs\": {\"reducer\": \"meen\"}}",
            "error: there is no reducer `meen`\n  in policy.json, line 1\n    {\"epochs\": {\"reducer\": \"meen\"}}\n                           \
             ^^^^^^\n  hint: did you mean `mean`? the reducers are mean, median, mode, max, majority, collect, pass_at_K or pass@K, \
             pass_k_K or pass^K, and at_least_K; a threshold is written as in `pass_at(2, value=0.5)`\n",
        ),
        (
            "{\"extends\": \".\"}",
            "error: `extends` must name a file, and `.` is a folder\n  in policy.json, line 1\n    {\"extends\": \".\"}\n                \
             ^^^\n  hint: name a file in it, from the folder of the file that says so\n",
        ),
    ] {
        let output = folder.write("policy.json", policy).gate(&[]);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(text(&output.stderr), wanted);
    }
    // A file that is loaded is shown itself, whether anything uses it or not.
    folder.write("policy.json", PASSING).write("metrics.star", "def quick():\n    return acuracy()\n");
    let output = folder.gate(&["--load", "metrics.star"]);
    let wanted = "error: there is no `acuracy`\n  in metrics.star, line 2\n    return acuracy()\n           ^^^^^^^\n  \
                  hint: did you mean `accuracy`?\n";
    assert_eq!(text(&output.stderr), wanted);
    let output = folder.gate(&["--reducer", "avg"]);
    assert!(text(&output.stderr).contains("hint: the reducers are mean, median, "), "{output:?}");
}

#[test]
fn a_label_that_is_not_known_can_be_given_on_the_command_line() {
    let folder = Folder::new();
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"mean": 0.5}}}"#);
    folder.write("results.jsonl", "{\"id\": 1, \"score\": \"maybe\"}\n");
    let output = folder.gate(&[]);
    let wanted = "error: score `maybe` is not a number or a known label\n  at scorer `score`, sample `1`\n  \
                  hint: say what it counts with `--label 'maybe=0.5'`, or score it C, I, P or N\n";
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), wanted.to_owned()));
    assert_eq!(folder.gate(&["--label", "maybe=0.5"]).status.code(), Some(0));
}

#[test]
fn a_name_as_long_as_a_file_is_not_a_message_as_long() {
    let folder = Folder::new();
    let name = "a".repeat(900_000);
    folder.write("policy.json", &format!("{{\"thresholds\": {{\"blocking\": {{\"{name}\": 1}}}}}}"));
    let output = folder.gate(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr.len() < 1000, "{}", output.stderr.len());
    assert!(text(&output.stderr).contains("… (899800 more characters)`\n  in policy.json, line 1\n"), "{output:?}");
    let mut check = program::calipers().command();
    let output = check.current_dir(&folder.0).args(["policy", "check", "policy.json"]).output().unwrap();
    assert!(output.stdout.len() < 1000, "{}", output.stdout.len());
    folder
        .write("policy.json", PASSING)
        .write("results.jsonl", &format!("{{\"id\": \"{name}\", \"passed\": \"maybe\"}}\n"));
    let output = folder.gate(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr.len() < 2000, "{}", output.stderr.len());
}

#[test]
fn a_baseline_without_a_real_date_is_refused_with_its_place() {
    let folder = Folder::new();
    folder.write("policy.json", PASSING);
    let dated = |date: &str| {
        let text =
            format!(r#"{{"schema": "calipers.baseline/1", "date": "{date}", "metrics": {{}}, "scenarios": {{}}}}"#);
        folder.write("baseline.json", &text).gate(&["--baseline", "baseline.json"])
    };
    for date in ["yesterday", "2026-02-30", "2026-13-01", "16.11.2026", "2026-1-1", "2025-02-29", "2026-11-16x", ""] {
        let output = dated(date);
        assert_eq!(output.status.code(), Some(2), "{date}: {}", text(&output.stdout));
        let said = text(&output.stderr);
        assert!(
            said.contains(&format!("`{date}` is not a day")) && said.contains("baseline.json") && said.contains("date"),
            "{said}"
        );
        assert!(said.contains("hint: record the baseline again"), "{said}");
    }
    for date in ["2026-02-28", "2024-02-29", "2026-11-16T10:00:00Z"] {
        assert_eq!(dated(date).status.code(), Some(0), "{date}");
    }
    let future = dated("2999-01-01");
    assert!(text(&future.stdout).contains("dated 2999-01-01"), "{}", text(&future.stdout));
}

#[test]
fn a_threshold_that_is_a_budget_too_is_not_raised() {
    let folder = Folder::new();
    let lines: Vec<String> =
        (0..100).map(|id| format!(r#"{{"id": {id}, "passed": true, "latency_ms": {}}}"#, 800 + id)).collect();
    folder.write("results.jsonl", &lines.join("\n"));
    let raise = |normalize: &str| {
        let policy = format!(
            r#"{{"thresholds": {{"blocking": {{"latency_p95": 5000}}}}{normalize},
                "composite": {{"s": "1 - normalized_latency", "pass": "s ≥ 0.5"}}}}"#
        );
        folder.write("policy.json", &policy);
        let mut command = program::calipers().command();
        command.current_dir(&folder.0).args([
            "baseline",
            "raise",
            "results.jsonl",
            "--policy",
            "policy.json",
            "--write",
        ]);
        text(&command.output().unwrap().stdout)
    };
    let kept = raise("");
    let words = kept.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("the threshold is also the budget of `normalized_latency`"), "{kept}");
    assert!(words.contains(r#"write `"normalize": {"latency_p95": "5 s"}` to keep that"#), "{kept}");
    assert!(folder.read("policy.json").contains(r#""latency_p95": 5000}"#));
    raise(r#", "normalize": {"latency_p95": 5000}"#);
    let raised = folder.read("policy.json");
    assert!(!raised.contains(r#""blocking": {"latency_p95": 5000}"#), "{raised}");
}

/// The verdict on these records, by exit code.
fn code_of(records: impl IntoIterator<Item = String>, policy: &str, arguments: &[&str]) -> Option<i32> {
    let folder = Folder::new();
    let records: Vec<String> = records.into_iter().collect();
    folder.write("results.jsonl", &records.join("\n")).write("policy.json", policy);
    folder.gate(arguments).status.code()
}

#[test]
fn better_data_never_get_a_worse_verdict() {
    let gate = |rule: &str| format!(r#"{{"thresholds": {{"blocking": {{{rule}}}}}, "confidence": "95%"}}"#);
    let latency = |slow: usize| {
        (0..180).map(move |i| format!(r#"{{"id": {}, "latency_ms": {}}}"#, i / 3, if i < slow { 9000 } else { 100 }))
    };
    let policy = gate(r#""latency_p95": "5s""#);
    assert_eq!((code_of(latency(0), &policy, &[]), code_of(latency(180), &policy, &[])), (Some(0), Some(1)));
    let accuracy =
        |first: f64| (0..24).map(move |i| format!(r#"{{"id": {i}, "score": {}}}"#, if i == 0 { first } else { 1.0 }));
    let policy = gate(r#""accuracy": "88%""#);
    assert_eq!((code_of(accuracy(0.99), &policy, &[]), code_of(accuracy(1.0), &policy, &[])), (Some(0), Some(0)));
    let precision =
        |wrong: usize| (0..90).map(move |i| format!(r#"{{"id": {i}, "predicted": true, "actual": {}}}"#, i >= wrong));
    let policy = gate(r#""precision": "94%", "f1": "94%""#);
    assert_eq!((code_of(precision(1), &policy, &[]), code_of(precision(0), &policy, &[])), (Some(0), Some(0)));
    let coverage = |lost: usize| {
        (0..73).map(move |i| {
            let observed = if i < lost { "[]" } else { r#"["a"]"# };
            format!(r#"{{"id": {i}, "expected_behaviors": ["a"], "observed_behaviors": {observed}}}"#)
        })
    };
    let policy = gate(r#""behavior_coverage(average=\"micro\")": "93%""#);
    assert_eq!((code_of(coverage(1), &policy, &[]), code_of(coverage(0), &policy, &[])), (Some(0), Some(0)));
}

#[test]
fn samples_of_one_document_are_not_independent() {
    let records = |documents: usize| {
        let document = move |i: usize| i * documents / 60;
        (0..60).map(move |i| format!(r#"{{"id": {i}, "score": 1, "metadata": {{"document": "d{}"}}}}"#, document(i)))
    };
    let policy = r#"{"thresholds": {"blocking": {"accuracy": "95%"}}, "confidence": "95%"}"#;
    let clustered =
        r#"{"thresholds": {"blocking": {"accuracy": "95%"}}, "confidence": "95%", "cluster": ["document"]}"#;
    assert_eq!(code_of(records(3), policy, &[]), Some(0));
    assert_eq!(code_of(records(3), clustered, &[]), Some(3));
    assert_eq!(code_of(records(3), policy, &["--cluster", "document"]), Some(3));
    assert_eq!(code_of(records(60), clustered, &[]), Some(0));
    // A field that no sample has is a mistake, not sixty clusters.
    assert_eq!(code_of(records(3), policy, &["--cluster", "documents"]), Some(2));
}

#[test]
fn gates_at_the_same_time_are_different_looks() {
    let folder = Folder::new();
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"accuracy": "90%"}}, "confidence": "95%"}"#);
    let mut gates = Vec::new();
    for n in 10..16 {
        let records: String = (0..n).map(|id| format!("{{\"id\": {id}, \"score\": 1}}\n")).collect();
        folder.write(&format!("{n}.jsonl"), &records);
        let mut command = crate::program::calipers().command();
        command.current_dir(&folder.0).args([
            "gate",
            &format!("{n}.jsonl"),
            "-p",
            "policy.json",
            "--looks",
            "looks.jsonl",
        ]);
        gates.push(command.stdout(Stdio::null()).spawn().unwrap());
    }
    gates.iter_mut().for_each(|gate| assert_eq!(gate.wait().unwrap().code(), Some(3)));
    let looks = folder.read("looks.jsonl");
    let look = |line: &str| serde_json::from_str::<Value>(line).unwrap()["look"].as_u64().unwrap();
    assert_eq!(looks.lines().map(look).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn looks_are_counted_in_a_file_and_the_same_results_are_one_look() {
    let folder = Folder::new();
    let records = |n: usize| (0..n).map(|i| format!("{{\"id\": {i}, \"score\": 1}}\n")).collect::<String>();
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"accuracy": "90%"}}, "confidence": "95%"}"#);
    // 0.9^29 = 0.047, 0.9^45 = 0.0087 and 0.9^53 = 0.0038: the looks have 0.025, 0.0083 and 0.0041.
    for (n, code, lines) in [(29, 3, 1), (29, 3, 1), (45, 3, 2), (53, 0, 3)] {
        folder.write("results.jsonl", &records(n));
        let output = folder.gate(&["--looks", "looks.jsonl"]);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stdout));
        assert_eq!(folder.read("looks.jsonl").lines().count(), lines, "{n}");
    }
    let output = folder.gate(&["--looks", "looks.jsonl", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (report["look"]["number"].as_u64(), report["look"]["confidence_together"].as_f64()),
        (Some(3), Some(0.95))
    );
    folder.write("looks.jsonl", "not a look\n");
    let output = folder.gate(&["--looks", "looks.jsonl"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("this is not a look at a suite"), "{}", text(&output.stderr));
    folder.write("policy.json", PASSING);
    assert_eq!(folder.gate(&["--looks", "new.jsonl"]).status.code(), Some(2));
}
