//! `calipers convert`, as a user sees it.

use crate::program;
use calipers_testing::Scratch;
use std::io::Write;
use std::process::{Output, Stdio};

const RESULTS: &str = "tests/cases/results.jsonl";

fn calipers(arguments: &[&str]) -> Output {
    program::calipers().command().args(arguments).output().unwrap()
}

#[track_caller]
fn done(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    (text(&output.stdout), text(&output.stderr))
}

#[track_caller]
fn refused(output: &Output, folder: &Scratch, message: &str) {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).replace(folder.path().to_str().unwrap(), "FOLDER");
    assert_eq!(said, message);
}

#[test]
fn every_form_scores_the_same() {
    let folder = Scratch::new();
    let want = done(&calipers(&["score", RESULTS, "--json"])).0;
    // Where they come from is all that may differ.
    let figures = |text: &str| {
        let mut json: serde_json::Value = serde_json::from_str(text).unwrap();
        ["source", "format", "task", "model", "notes"].iter().for_each(|key| json["runs"][0][*key] = "".into());
        json
    };
    for name in ["a.jsonl", "a.ndjson.gz", "a.json", "a.csv", "a.csv.zst", "a.parquet", "a.eval"] {
        let file = folder.file(name);
        assert_eq!(done(&calipers(&["convert", RESULTS, "-o", &file])), (String::new(), String::new()), "{name}");
        let found = done(&calipers(&["score", &file, "--json"])).0;
        assert_eq!(figures(&found), figures(&want), "{name}");
    }
    let log = folder.file("log.json");
    done(&calipers(&["convert", RESULTS, "-o", &log, "--to", "inspect"]));
    let score = done(&calipers(&["score", &log])).0;
    assert!(score.contains("inspect · results · 4 samples"), "{score}");
}

#[test]
fn records_go_to_standard_output_and_a_closed_pipe_is_no_mistake() {
    let (lines, notes) = done(&calipers(&["convert", RESULTS, "-o", "-"]));
    assert_eq!(notes, "");
    assert_eq!(lines.lines().count(), 5);
    let (csv, _) = done(&calipers(&["convert", RESULTS, "-o", "-", "--to", "csv"]));
    assert!(csv.starts_with("id,epoch,"), "{csv}");
    let mut child = program::calipers()
        .command()
        .args(["convert", "-", "-o", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let many = (0..50_000).map(|id| format!("{{\"id\": {id}, \"score\": 1}}\n")).collect::<String>();
    child.stdin.take().unwrap().write_all(many.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn a_log_stays_a_log_in_a_json_file_and_records_stay_records() {
    let folder = Scratch::new();
    let log = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/formats/inspect/multi_scorer.eval");
    let (a, b) = (folder.file("a.json"), folder.file("b.json"));
    done(&calipers(&["convert", log, "-o", &a]));
    done(&calipers(&["convert", RESULTS, "-o", &b]));
    let root = |file: &str| serde_json::from_slice::<serde_json::Value>(&std::fs::read(file).unwrap()).unwrap();
    assert!(root(&a)["samples"][0]["events"].is_array());
    assert!(root(&b)[0]["id"].is_string());
    let records = folder.file("c.json");
    done(&calipers(&["convert", log, "-o", &records, "--to", "native"]));
    assert_eq!(root(&records)[0]["id"], 1);
}

#[test]
fn several_runs_go_into_a_folder() {
    let folder = Scratch::new();
    let logs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/formats/inspect/m*.eval");
    let out = folder.file("out/");
    refused(
        &calipers(&["convert", logs, "-o", &folder.file("all.csv")]),
        &folder,
        "error: 6 files do not fit into one file\n  writing FOLDER/all.csv\n  \
         hint: a file holds one run; name a folder with `/` at its end for one file per run\n",
    );
    refused(
        &calipers(&["convert", logs, "-o", &out]),
        &folder,
        "error: the format to write is not known\n  writing FOLDER/out/\n  \
         hint: name the format with `--to`, because a folder has no extension\n",
    );
    done(&calipers(&["convert", logs, "-o", &out, "--to", "parquet"]));
    let names = ["min_deflate", "min_nohdr", "min_stored", "min_summ", "min_zstd", "multi_scorer"];
    assert_eq!(folder.names_in("out"), names.map(|name| format!("{name}.parquet")));
}

#[test]
fn mistakes_are_named_and_leave_nothing_behind() {
    let folder = Scratch::new();
    let file = folder.file("out.csv");
    std::fs::write(&file, "precious").unwrap();
    refused(
        &calipers(&["convert", RESULTS, "-o", &file]),
        &folder,
        "error: the file exists\n  writing FOLDER/out.csv\n  hint: name another file, or replace this one with `--force`\n",
    );
    refused(
        &calipers(&["convert", RESULTS, "-o", &folder.file("out.xlsx")]),
        &folder,
        "error: the extension of the file name does not select a form\n  writing FOLDER/out.xlsx\n  hint: end it in .jsonl, \
         .ndjson, .json, .jsonl.gz, .ndjson.gz, .json.gz, .jsonl.zst, .ndjson.zst, .json.zst, .csv, .csv.gz, .csv.zst, \
         .parquet, .eval, or name the form with `--to`\n",
    );
    // The place is looked at before the sources are.
    refused(
        &calipers(&["convert", "nowhere.jsonl", "-o", &folder.file("no/out.csv")]),
        &folder,
        "error: no such file or directory\n  writing FOLDER/no/out.csv\n  \
         hint: check the folder, and that it may be written to\n",
    );
    assert_eq!(calipers(&["convert", "nowhere.jsonl", "-o", &file, "--force"]).status.code(), Some(2));
    assert_eq!(calipers(&["convert", RESULTS, "-o", "-", "--to", "parquet"]).status.code(), Some(2));
    assert_eq!(calipers(&["convert", RESULTS, "-o", &file, "--force", "--reducer", "pas_at_1"]).status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
    assert_eq!(folder.names(), ["out.csv"]);
    done(&calipers(&["convert", RESULTS, "-o", &file, "--force"]));
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("id,epoch,"));
}

#[test]
fn what_a_log_cannot_say_is_noted() {
    let folder = Scratch::new();
    let records = folder.file("records.jsonl");
    std::fs::write(&records, "{\"id\": 1, \"scores\": {\"a\": {\"x\": 1}}}\n{\"id\": 1, \"scores\": {\"a\": 2}}\n")
        .unwrap();
    let (_, notes) = done(&calipers(&["convert", &records, "-o", &folder.file("log.eval")]));
    assert!(
        notes.starts_with("note: the log is written without results, because they cannot be computed: "),
        "{notes}"
    );
}
