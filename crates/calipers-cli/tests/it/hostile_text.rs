//! Names that would steer a terminal, or be commands to what keeps the log of a workflow.

use crate::program;
use calipers_testing::{Scratch, text};

const ATTACK: &str =
    "::error::x\\n::stop-commands::y\\n##[error]z ##vso[task.complete] ##teamcity[a]\\u001b[31m\\u009b2J\\u202e\\rPASS";

/// Lines of a log that a runner takes for commands, and characters that a terminal obeys.
#[track_caller]
fn is_tame(output: &str, what: &str) {
    let steers = |c: char| c != '\n' && c != '\t' && c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!output.contains(steers), "{what}: {output:?}");
    for line in output.lines() {
        assert!(!line.trim_start().starts_with("::"), "{what}: {line}");
        for word in ["##[", "##vso[", "##teamcity["] {
            assert!(!line.contains(word), "{what}: {line}");
        }
    }
}

#[test]
fn no_name_from_a_file_is_a_command_to_a_terminal_or_a_log() {
    let record = |id: &str, scores: [u32; 2]| {
        format!(
            "{{\"id\": \"{id}{ATTACK}\", \"category\": \"{ATTACK}\", \"scores\": {{\"a{ATTACK}\": {}, \"{ATTACK}\": {}}}, \"{ATTACK}\": 1, \"model\": \"{ATTACK}\"}}\n",
            scores[0], scores[1]
        )
    };
    let folder = Scratch::with(
        "a.jsonl",
        record("", [1, 0]) + &record("2", [0, 1]) + "{\"id\": 3, \"error\": \"" + ATTACK + "\"}\n",
    );
    folder.write("b.jsonl", record("", [1, 1]) + &record("2", [0, 1]));
    folder.write("bad.jsonl", format!("{{\"id\": \"{ATTACK}\", \"passed\": \"{ATTACK}\"}}\n"));
    folder.write("two.jsonl", format!("{{\"id\": \"{ATTACK}\", \"epoch\": 1, \"score\": 1, \"k\": \"{ATTACK}\"}}\n{{\"id\": \"{ATTACK}\", \"epoch\": 1, \"score\": 1, \"k\": \"other\"}}\n"));
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"accuracy(scorer=\"x\")": 1}}}"#);
    folder.write("simple.json", r#"{"thresholds": {"blocking": {"pass_rate": 1}}}"#);
    folder.write(
        "odd.json",
        format!("{{\"thresholds\": {{\"blocking\": {{\"{ATTACK}\": \"{ATTACK}\"}}}}, \"{ATTACK}\": 1}}"),
    );
    folder.write(
        "one.jsonl",
        format!("{{\"id\": \"{ATTACK}\", \"score\": 1, \"category\": \"{ATTACK}\"}}\n{{\"id\": 2, \"score\": 0}}\n"),
    );
    let grouped = "grouped(accuracy(), \"category\")";
    for arguments in [
        &["score", "a.jsonl"][..],
        &["score", "a.jsonl", "--json"],
        &["score", "a.jsonl", "b.jsonl", "--plot"],
        &["score", "a.jsonl", "--reductions"],
        &["score", "one.jsonl", "-m", grouped],
        &["score", "a.jsonl", "--where", "category=x"],
        &["score", "a.jsonl", "--scorer", "x"],
        &["score", "a.jsonl", "-m", "mean(\"x\")"],
        &["score", "a.jsonl", "--run", "x"],
        &["score", "bad.jsonl"],
        &["score", "two.jsonl"],
        &["gate", "a.jsonl", "--policy", "policy.json"],
        &["gate", "a.jsonl", "--policy", "simple.json"],
        &["gate", "one.jsonl", "--policy", "simple.json"],
        &["gate", "one.jsonl", "--policy", "simple.json", "--json"],
        &["gate", "one.jsonl", "--policy", "simple.json", "--output", "markdown=-"],
        &["gate", "one.jsonl", "--policy", "simple.json", "--output", "junit=-"],
        &["gate", "one.jsonl", "--policy", "odd.json"],
        &["policy", "check", "odd.json"],
        &["policy", "check", "odd.json", "--json"],
        &["policy", "check", "simple.json", "--samples", "a.jsonl"],
        &["compare", "a.jsonl", "b.jsonl"],
        &["compare", "a.jsonl", "b.jsonl", "--plot"],
        &["compare", "a.jsonl", "b.jsonl", "--json"],
        &["compare", "a.jsonl", "b.jsonl", "--output", "markdown=-"],
        &["plan", "a.jsonl", "--half-width", "0.1"],
        &["plan", "a.jsonl", "--half-width", "0.1", "--json"],
        &["baseline", "record", "one.jsonl", "--policy", "simple.json", "--output", "-"],
        &["score", "one.jsonl", "-m", "fail(\"::error::x\\n::error::y ##[z]\")"],
        &["score", "one.jsonl", "-m", "print(\"::error::x\\n::error::y ##[z]\") or accuracy()"],
        &["score", "\n::error::nowhere.jsonl"],
        &["score", "one.jsonl", "--\n::error::x"],
        &["score", "one.jsonl", "--where", "\n::error::x"],
        &["::error::x"],
    ] {
        let output = program::calipers().run_in(&folder, arguments);
        assert!(output.status.code().is_some_and(|code| code <= 3), "{arguments:?}");
        is_tame(&text(&output.stdout), &format!("{arguments:?}, stdout"));
        is_tame(&text(&output.stderr), &format!("{arguments:?}, stderr"));
    }
}

#[test]
#[cfg(unix)]
fn names_of_files_are_tame_too() {
    let folder = Scratch::with("::error::a.jsonl", "{\"id\": 1, \"score\": 1}\n");
    folder.write("x\n::error::b ##[c].jsonl", "{\"id\": 1, \"score\": 1}\n");
    folder.write("other\n::error::.json", "{\"what\": 1}\n");
    folder.write("\u{1b}[31m::policy\n::error::.json", r#"{"thresholds": {"blocking": {"pass_rate": "x"}}}"#);
    for arguments in [
        &["score", "::error::a.jsonl"][..],
        &["score", "x\n::error::b ##[c].jsonl"],
        &["score", "."],
        &["score", ".", "--json"],
        &["gate", ".", "--policy", "\u{1b}[31m::policy\n::error::.json"],
        &["policy", "check", "\u{1b}[31m::policy\n::error::.json"],
        &["compare", "::error::a.jsonl", "x\n::error::b ##[c].jsonl"],
        &["convert", "x\n::error::b ##[c].jsonl", "-o", "::error::/\n::error::.jsonl"],
        &["score", "::error::a.jsonl", "::error::a.jsonl"],
    ] {
        let output = program::calipers().run_in(&folder, arguments);
        is_tame(&text(&output.stdout), &format!("{arguments:?}, stdout"));
        is_tame(&text(&output.stderr), &format!("{arguments:?}, stderr"));
    }
}

#[test]
fn messages_have_an_end() {
    let long = "x".repeat(1 << 20);
    let lines = "y\\n".repeat(100_000);
    let folder = Scratch::with("long.jsonl", format!("{{\"id\": 1, \"passed\": \"{long}\"}}\n"));
    folder.write(
        "key.jsonl",
        format!("{{\"id\": 1, \"score\": 1, \"{long}\": 1}}\n{{\"id\": 1, \"score\": 1, \"{long}\": 2}}\n"),
    );
    folder.write("lines.jsonl", format!("{{\"id\": \"{lines}\", \"epoch\": 1, \"passed\": true}}\n{{\"id\": \"{lines}\", \"epoch\": 1, \"passed\": false}}\n"));
    for arguments in [
        &["score", "long.jsonl"][..],
        &["score", "lines.jsonl"],
        &["score", "key.jsonl", "--where", "x=1"],
        &["score", "key.jsonl", "-m", "[print(\"x\" * 10000) for i in range(1000)] and accuracy()"],
        &["score", "key.jsonl", "-m", "fail(\"x\\n\" * 100000)"],
    ] {
        let output = program::calipers().run_in(&folder, arguments);
        assert!(output.stderr.len() < 400_000, "{arguments:?}: {}", output.stderr.len());
    }
}
