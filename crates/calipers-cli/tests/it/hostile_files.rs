//! Files that are not what they seem, and paths that lead where they should not.

use crate::program::{calipers, run, said};
use calipers_testing::Scratch;

const POLICY: &str = r#"{"thresholds": {"blocking": {"pass_rate": 50}}}"#;
const PASSING: &str = "{\"id\": \"good\", \"score\": 1}\n";
const SECRET: &str = "hunter2";

#[track_caller]
fn refused(folder: &Scratch, arguments: &[&str], wanted: &str) {
    let output = run(folder, arguments);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(said.contains(wanted), "{arguments:?}: {said}");
    assert!(!said.contains(SECRET), "{arguments:?}: {said}");
}

#[test]
#[cfg(unix)]
fn what_is_no_file_among_results_is_named_and_nothing_waits_for_it() {
    use std::os::unix::fs::symlink;
    let folder = Scratch::with("policy.json", POLICY);
    folder.write("logs/good.jsonl", PASSING);
    let logs = folder.path().join("logs");
    let gate = |what: &str| ["gate".to_owned(), what.to_owned(), "--policy".to_owned(), "policy.json".to_owned()];
    let check = |wanted: &str| {
        for named in ["logs", "logs/*.jsonl*"] {
            let arguments = gate(named);
            refused(&folder, &arguments.each_ref().map(String::as_str), wanted);
        }
    };
    let pipe = logs.join("pipe.jsonl");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    check("this is not a file");
    std::fs::remove_file(&pipe).unwrap();
    // A device through a link.
    symlink("/dev/zero", &pipe).unwrap();
    check("this is not a file");
    std::fs::remove_file(&pipe).unwrap();
    // A packing that is not read must not go unread.
    folder.write("logs/bad.jsonl.xz", "\u{fd}7zXZ");
    refused(&folder, &["gate", "logs", "--policy", "policy.json"], "results in this compression format are not read");
    std::fs::remove_file(logs.join("bad.jsonl.xz")).unwrap();
    // A link back up is followed once, and a folder that a pattern matches is read.
    symlink("..", logs.join("loop")).unwrap();
    folder.write("logs/deep/bad.jsonl", "{\"id\": \"bad\", \"score\": 0}\n");
    for named in ["logs", "logs/*", "lo*"] {
        let arguments = gate(named);
        let output = run(&folder, &arguments.each_ref().map(String::as_str));
        assert!(said(&output).contains("1 of 2"), "{named}: {}", said(&output));
    }
}

#[test]
fn a_policy_extends_only_policies_beside_it_and_below() {
    let outside = Scratch::with("base.json", POLICY);
    outside.write("secret.env", format!("API_KEY={SECRET}\n"));
    let folder = Scratch::with("results.jsonl", PASSING);
    let outside_path = outside.path().to_str().unwrap().replace('\\', "/");
    folder.write("policies/inner/base.json", POLICY);
    folder.write("above.json", POLICY);
    let gate = |extends: &str| {
        folder.write("policies/policy.json", format!("{{\"extends\": {extends}}}"));
        run(&folder, &["gate", "results.jsonl", "--policy", "policies/policy.json"])
    };
    let good = gate("\"inner/base.json\"");
    assert_eq!(good.status.code(), Some(0), "{}", said(&good));
    let wrong = |extends: &str, wanted: &str| {
        let output = gate(extends);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{extends}: {said}");
        assert!(said.contains(wanted), "{extends}: {said}");
        assert!(!said.contains(SECRET), "{extends}: {said}");
    };
    for path in ["/proc/self/environ", "../above.json", "inner/../../above.json", &format!("{outside_path}/base.json")]
    {
        wrong(&format!("\"{path}\""), "outside the folder of the policy");
    }
    // What is not a policy is an error, and is not quoted.
    for (content, wanted) in [
        ("[]", "is a list, not a policy"),
        ("5", "is a number, not a policy"),
        ("null", "is null, not a policy"),
        ("\"text\"", "is a string, not a policy"),
        ("true", "not a policy"),
        ("", "is empty"),
        (&format!("API_KEY={SECRET}\n"), "is not a policy"),
        (&format!("api_key: {SECRET}\nname: x\n"), "is not a policy"),
        (&format!("{{\"api_key\": \"{SECRET}\""), "is not a policy"),
        (&format!("A={SECRET}\0B={SECRET}\0"), "is not a policy"),
    ] {
        folder.write("policies/inner/other", content);
        wrong("\"inner/other\"", wanted);
        wrong("[\"inner/base.json\", \"inner/other\"]", wanted);
    }
    wrong("\"policy.json\"", "in a cycle");
    wrong("5", "`extends` is a number");
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        let policies = folder.path().join("policies");
        symlink(outside.path().join("base.json"), policies.join("link.json")).unwrap();
        wrong("\"link.json\"", "outside the folder of the policy");
        let pipe = policies.join("pipe.json");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        wrong("\"pipe.json\"", "must name a file");
    }
}

#[test]
fn calipers_toml_names_only_files_beside_it_and_below() {
    let folder = Scratch::with("results.jsonl", PASSING);
    folder.write("inner/policy.json", POLICY);
    folder.write("secret.env", format!("API_KEY={SECRET}\n"));
    let gate = |key: &str, path: &str| {
        folder.write("work/calipers.toml", format!("{key} = \"{path}\"\n"));
        let mut command = calipers().command();
        command.current_dir(folder.path().join("work")).args(["gate", "../results.jsonl"]);
        command.output().unwrap()
    };
    folder.write("work/policy.json", POLICY);
    assert_eq!(gate("policy", "policy.json").status.code(), Some(0));
    for (key, path) in [("policy", "/proc/self/environ"), ("policy", "../secret.env"), ("suite", "../secret.env")] {
        let output = gate(key, path);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{path}: {said}");
        assert!(said.contains("outside the folder of calipers.toml") && !said.contains(SECRET), "{path}: {said}");
    }
}

#[test]
fn two_sources_never_become_one_file() {
    let folder = Scratch::with("a/x.jsonl", PASSING);
    folder.write("b/x.jsonl", "{\"id\": \"bad\", \"score\": 0}\n");
    let convert = ["convert", "a/x.jsonl", "b/x.jsonl", "--to", "native", "-o", "out/", "--force"];
    refused(&folder, &convert, "a/x.jsonl and b/x.jsonl would be written to one file");
    assert!(!folder.path().join("out/x.jsonl").exists(), "nothing is written");
    // A run of one file may be called as another file is.
    folder.write(
        "a/y.jsonl",
        "{\"id\": 1, \"model\": \"p\", \"score\": 1}\n{\"id\": 1, \"model\": \"q\", \"score\": 1}\n",
    );
    folder.write("b/y-1.jsonl", PASSING);
    let convert = ["convert", "a/y.jsonl", "b/y-1.jsonl", "--to", "native", "-o", "out/", "--force"];
    refused(&folder, &convert, "would be written to one file");
}

#[test]
fn cells_that_spreadsheets_take_for_formulas_are_written_in_quotes() {
    let formulas = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "＝1", "-5", "plain", "=\"x\""];
    let records: String = formulas
        .iter()
        .enumerate()
        .map(|(row, text)| {
            let text = serde_json::Value::from(*text);
            format!("{{\"id\": {text}, \"score\": {row}, \"note\": {text}, \"fields\": {{\"f\": {text}}}, \"predicted\": {text}}}\n")
        })
        .collect();
    let errored = "{\"id\": \"e\", \"error\": \"=1+1\"}\n";
    let folder = Scratch::with("a.jsonl", records + errored);
    let convert = |from: &str, to: &str| {
        let output = run(&folder, &["convert", from, "-o", to, "--force"]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    };
    convert("a.jsonl", "a.csv");
    let table = folder.read("a.csv");
    for cell in table.split([',', '\n']) {
        let cell = cell.trim_matches('"');
        let is_formula = cell.starts_with(['=', '+', '-', '@', '＝']) && cell.parse::<f64>().is_err();
        assert!(!is_formula || table.contains(&format!("\"\"\"{cell}")), "{cell}: {table}");
    }
    convert("a.csv", "b.jsonl");
    convert("a.jsonl", "c.jsonl");
    assert_eq!(folder.read("b.jsonl"), folder.read("c.jsonl"));
}
