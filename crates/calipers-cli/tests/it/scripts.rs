//! Expressions and scripts on the command line: what they print, and that bad ones end in an error and not in a crash.

use crate::program;
use calipers_testing::{Scratch, text};
use std::io::Write;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const RESULTS: &str = "examples/agent/results.jsonl";

fn calipers(arguments: &[&str]) -> Output {
    program::calipers().command().args(arguments).current_dir(ROOT).output().unwrap()
}

fn score(arguments: &[&str]) -> Output {
    calipers(&[&["score", RESULTS], arguments].concat())
}

#[track_caller]
fn json(arguments: &[&str]) -> serde_json::Value {
    let output = score(&[arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[track_caller]
fn refused(output: &Output, message: &str) {
    assert_eq!(text(&output.stderr), message);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(text(&output.stdout), "");
}

/// A file with this text, gone when dropped.
struct File(Scratch);

impl File {
    fn new(text: &str) -> Self {
        Self(Scratch::with("file.star", text))
    }

    fn path(&self) -> String {
        self.0.file("file.star")
    }
}

#[test]
fn the_example_with_metrics_of_its_own_prints_what_is_expected() {
    let output = score(&[
        "--load",
        "examples/agent/metrics.star",
        "-m",
        "pass_rate(0.9)",
        "-m",
        "grouped(accuracy(), \"category\", all=\"groups\", name_template=\"category_{group_name}\")",
        "--reducer",
        "mean_score",
    ]);
    assert_eq!(text(&output.stderr), "");
    assert_eq!(text(&output.stdout), include_str!("../../../../examples/agent/expected-metrics.txt"));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn expressions_take_the_place_of_recorded_metrics() {
    let json = json(&["-m", "accuracy", "-m", "[std(), accuracy(where={\"category\": \"adversarial\"})]"]);
    let metrics = json["runs"][0]["scores"][0]["metrics"].as_object().unwrap();
    assert_eq!(metrics.keys().collect::<Vec<_>>(), ["accuracy", "std", "accuracy2"]);
    assert_eq!(metrics["accuracy2"]["name"], "accuracy");
    assert_eq!(metrics["accuracy2"]["params"]["where"]["category"], "adversarial");
    assert_eq!(metrics["accuracy2"]["n"], 4);
}

#[test]
fn metrics_over_fields_and_of_one_scorer() {
    let json = json(&["-m", "pass_rate()", "-m", "quantile(\"latency_ms\", 0.95)", "-m", "mean(scorer=\"judge\")"]);
    let scores = json["runs"][0]["scores"].as_array().unwrap();
    let names: Vec<&str> = scores.iter().map(|score| score["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["judge", "run"]);
    assert_eq!(scores[1]["metrics"].as_object().unwrap().len(), 2);
}

#[test]
fn a_reducer_of_ones_own_is_named_in_the_results() {
    let file = File::new("def worst(scores):\n    return min([score.as_float() for score in scores])\n");
    let json = json(&["--load", &file.path(), "--reducer", "worst", "--reducer", "max"]);
    let scores = json["runs"][0]["scores"].as_array().unwrap();
    assert_eq!((&scores[0]["reducer"], &scores[1]["reducer"]), (&"worst".into(), &"max".into()));
    let value = |at: usize| scores[at]["metrics"]["accuracy"]["value"].as_f64().unwrap();
    assert!(value(0) < value(1));
}

#[test]
fn mistakes_are_underlined() {
    refused(
        &score(&["-m", "acuracy()"]),
        "error: there is no `acuracy`\n  in the expression\n    acuracy()\n    ^^^^^^^\n  hint: did you mean `accuracy`?\n",
    );
    refused(
        &score(&["-m", "stderr(clustr=\"category\")"]),
        "error: `stderr` has no parameter `clustr`\n  in the expression\n    stderr(clustr=\"category\")\n           \
         ^^^^^^\n  hint: did you mean `cluster`?\n",
    );
    refused(
        &score(&["-m", "stderr(cluster=category)"]),
        "error: there is no `category`\n  in the expression\n    stderr(cluster=category)\n                   \
         ^^^^^^^^\n  hint: a string needs quotes: `cluster=\"category\"`\n",
    );
    refused(
        &score(&["--load", "examples/agent/metrics.star", "--reducer", "mean_scor"]),
        "error: there is no reducer `mean_scor`\n  hint: did you mean `mean_score`?\n",
    );
    refused(
        &score(&["--load", "examples/agent/nowhere.star"]),
        "error: `examples/agent/nowhere.star` cannot be read: No such file or directory (os error 2)\n  \
         hint: check the name of the file\n",
    );
    refused(
        &score(&["-m", "accuracy(where={\"categry\": \"a\"})"]),
        "error: no sample has the field `categry`\n  at `accuracy`\n  \
         in examples/agent/results.jsonl\n  hint: the run has category, latency_ms, passed, tokens_used\n",
    );
    let file = File::new("def broken(scores):\n    return 1 / 0\n");
    let output = score(&["--load", &file.path(), "-m", "broken"]);
    let message = text(&output.stderr);
    assert!(message.contains(", line 2\n    return 1 / 0\n           ^^^^^\n  at `broken`\n"), "{message}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn labels_get_a_number_on_the_command_line() {
    let with_input = |arguments: &[&str]| {
        let mut child = program::calipers()
            .command()
            .args([&["score", "-"], arguments].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A mistake in the usage ends the program before it reads anything.
        let _ = child.stdin.take().unwrap().write_all(b"{\"id\": 1, \"score\": \"maybe\"}");
        child.wait_with_output().unwrap()
    };
    let file = File::new("def own(scores):\n    return mean([s.score.as_float() for s in scores])\n");
    let output = with_input(&["--label", "maybe=0.75", "--load", &file.path(), "-m", "[mean, own]", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let metrics = &json["runs"][0]["scores"][0]["metrics"];
    assert_eq!((metrics["mean"]["value"].as_f64(), metrics["own"]["value"].as_f64()), (Some(0.75), Some(0.75)));
    refused(
        &with_input(&["--label", "maybe"]),
        "error: `--label maybe` gives no number\n  hint: write `--label maybe=0.5`\n",
    );
}

/// What each bomb must say. None may take long, and none may end by a signal.
#[track_caller]
fn defused(arguments: &[&str], wanted: &str) {
    let start = Instant::now();
    // A script that fills its memory slowly needs time for it, also on a machine that is busy.
    let seconds = if wanted.contains("memory") { "30" } else { "3" };
    let output = score(&[&["--script-time", seconds], arguments].concat());
    let message = text(&output.stderr);
    let arguments: Vec<String> = arguments.iter().map(|one| one.chars().take(60).collect()).collect();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(message.starts_with("error: "), "{arguments:?}: {message}");
    assert!(message.contains(wanted), "{arguments:?}: {message}");
    assert!(!message.contains("panicked") && !message.contains("memory allocation of"), "{arguments:?}: {message}");
    assert!(start.elapsed() < Duration::from_secs(40), "{arguments:?} took {:?}", start.elapsed());
}

#[test]
fn expressions_that_want_all_memory_are_refused() {
    for bomb in [
        "[0] * 2000000000",
        "list(range(2000000000))",
        "\"a\" * 2000000000",
        "(\"a\" * 100000).replace(\"a\", \"b\" * 100000)",
    ] {
        defused(&["-m", bomb], "the script ran out of memory");
    }
    // Whether memory or time ends first depends on the machine.
    defused(&["-m", "[[0] * 100000 for i in range(100000)]"], "the script");
}

#[test]
fn functions_that_want_all_memory_are_refused() {
    let file = File::new(
        "def doubling(scores):\n    x = \"ab\"\n    for i in range(60):\n        x = x + x\n    return len(x)\n\
         def many(scores):\n    return len([0] * 2000000000)\n\
         def nested(scores):\n    x = []\n    for i in range(3000000):\n        x = [x]\n    return len(str(x))\n",
    );
    defused(&["--load", &file.path(), "-m", "doubling"], "the script ran out of memory");
    defused(&["--load", &file.path(), "-m", "many"], "the script ran out of memory");
    defused(&["--load", &file.path(), "-m", "nested"], "the script ran out of memory");
    defused(&["--load", &file.path(), "--reducer", "many"], "the script ran out of memory");
    let file = File::new("x = [0] * 2000000000\n");
    defused(&["--load", &file.path()], "the script ran out of memory");
}

#[test]
fn scripts_that_do_not_end_are_stopped() {
    let file = File::new(
        "def loop(scores):\n    for i in range(2000000000):\n        for j in range(2000000000):\n            pass\n    return 1\n\
         def deep(scores):\n    return deep(scores)\n\
         def numbers(scores):\n    x = 3\n    for i in range(60):\n        x = x * x\n    return 1\n\
         def sleepy(scores):\n    return sum(range(2000000000))\n",
    );
    defused(&["--load", &file.path(), "-m", "loop"], "the script");
    defused(&["--load", &file.path(), "-m", "deep"], "the script's calls nest too deeply");
    defused(&["--load", &file.path(), "-m", "numbers"], "the script");
    defused(&["--load", &file.path(), "-m", "sleepy"], "the script's time is up");
    defused(&["-m", "[x for x in range(2000000000) if x < 0]"], "the script");
}

#[test]
fn deep_expressions_are_refused() {
    let brackets = "(".repeat(9000) + &")".repeat(100);
    defused(&["-m", &brackets], "brackets nest deeper than 200 levels");
    let chain = "1".to_owned() + &"+1".repeat(8000);
    defused(&["-m", &chain], "expected a metric");
    defused(&["-m", &("+".to_owned() + &"-".repeat(16_000))], "parse error");
    defused(&["-m", &"1".repeat(20_000)], "longer than 16 KiB");
}

#[test]
fn the_exit_code_and_the_input_pass_through_the_child() {
    let mut child = program::calipers()
        .command()
        .args(["score", "-", "-m", "lambda scores: len(scores)", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"{\"id\": 1, \"score\": 1}\n{\"id\": 2, \"score\": 0}\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["runs"][0]["scores"][0]["metrics"]["lambda"]["value"].as_f64(), Some(2.0));
    let file = File::new("def said(scores):\n    print(\"so many:\", len(scores))\n    return 1\n");
    let output = score(&["--load", &file.path(), "-m", "said"]);
    assert!(text(&output.stderr).contains("so many: 12"), "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(0));
}
