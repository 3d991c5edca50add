//! What a command may use of memory, and what is said when that is not enough.
#![cfg(target_os = "linux")]

use crate::program;
use calipers_testing::{Scratch, text};

/// Two records, one with a text of so many megabytes.
fn record(megabytes: usize) -> String {
    let note = "x".repeat(megabytes << 20);
    format!("{{\"id\": 1, \"score\": 1, \"note\": \"{note}\"}}\n{{\"id\": 2, \"score\": 0}}\n")
}

#[test]
fn more_memory_than_allowed_is_an_error_with_advice() {
    let folder = Scratch::with("large.jsonl", record(120));
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"pass_rate": 1}}}"#);
    for arguments in [
        &["convert", "large.jsonl", "-o", "out.csv"][..],
        &["report", "large.jsonl", "--output", "page.html"],
        &["gate", "large.jsonl", "--policy", "policy.json", "--missing", "failed"],
    ] {
        let output = program::calipers().run_in(&folder, &[arguments, &["--memory", "100MB"]].concat());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains("needs more memory than may be used"), "{arguments:?}: {error}");
        assert!(error.contains("hint: ") && error.contains("`--memory`") && !error.contains("allocation"), "{error}");
    }
    assert!(!folder.path().join("out.csv").exists());
    // What is enough changes nothing.
    let plain = program::calipers().run_in(&folder, &["score", "large.jsonl"]);
    let limited = program::calipers().run_in(&folder, &["score", "large.jsonl", "--memory", "4GB"]);
    let unlimited = program::calipers().run_in(&folder, &["score", "large.jsonl", "--memory", "none"]);
    assert_eq!(plain.status.code(), Some(0), "{}", text(&plain.stderr));
    assert_eq!((text(&limited.stdout), text(&unlimited.stdout)), (text(&plain.stdout), text(&plain.stdout)));
}

#[test]
fn a_table_is_measured_while_it_is_read() {
    use std::fmt::Write;
    let mut lines = String::new();
    (0..1_000_000u32).for_each(|id| writeln!(lines, "{{\"id\":{id},\"score\":{}}}", u8::from(id % 3 != 0)).unwrap());
    let folder = Scratch::with("rows.jsonl", lines);
    let output = program::calipers().run_in(&folder, &["convert", "rows.jsonl", "-o", "rows.parquet"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let score = |arguments: &[&str]| {
        program::calipers().run_in(&folder, &[&["score", "rows.parquet", "--memory", "64MB"], arguments].concat())
    };
    let output = score(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("1,000,000"), "{}", text(&output.stdout));
    // What needs all rows at once does not fit.
    assert_eq!(score(&["--missing", "failed"]).status.code(), Some(2));
    let output = score(&["-m", "accuracy"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("of memory for their stack"), "{}", text(&output.stderr));
}

#[test]
fn a_limit_that_the_process_was_started_with_holds_too() {
    let folder = Scratch::with("large.jsonl", record(200));
    let program = program::calipers();
    let script = format!("ulimit -v 400000; exec '{}' convert large.jsonl -o out.csv", program.path().display());
    let mut command = std::process::Command::new("sh");
    let output = command.args(["-c", &script]).current_dir(folder.path()).output().unwrap();
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("needs more memory than may be used"), "{error}");
}

#[test]
fn verdicts_come_through_the_child_as_they_are() {
    let folder = Scratch::with("a.jsonl", "{\"id\": 1, \"score\": 0}\n");
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"pass_rate": 50}}}"#);
    folder.write("none.jsonl", "{\"id\": 1, \"error\": \"x\"}\n");
    for (file, code) in [("a.jsonl", 1), ("none.jsonl", 3), ("nowhere.jsonl", 2)] {
        let output = program::calipers().run_in(&folder, &["gate", file, "--policy", "policy.json", "--memory", "1GB"]);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    }
    let output = program::calipers().run_with_input(&["score", "-", "--json"], b"{\"id\": 1, \"score\": 1}\n");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for wrong in ["x", "1KB", "-1GB"] {
        let output = program::calipers().run_in(&folder, &["score", "a.jsonl", &format!("--memory={wrong}")]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
}
