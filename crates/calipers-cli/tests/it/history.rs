//! `calipers history`: what is kept of runs, and that it is what `score` says.
//!
//! Histories are files. If `CALIPERS_TEST_POSTGRES` names a server, they are databases there, and everything must hold as well.

use crate::program::{calipers, flat_output};
use calipers_testing::{ROOT, Scratch, text};
use serde_json::Value as Json;
use std::collections::HashSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::time::Duration;

/// Names a database of a Postgres server, beside which others can be created.
const POSTGRES: &str = "CALIPERS_TEST_POSTGRES";
/// Names the same server where it speaks TLS, and the certificate that it shows there.
const POSTGRES_TLS: &str = "CALIPERS_TEST_POSTGRES_TLS";
const CERTIFICATE: &str = "CALIPERS_TEST_POSTGRES_CERTIFICATE";

/// True where histories are databases on a server.
pub(crate) fn is_on_server() -> bool {
    std::env::var_os(POSTGRES).is_some()
}

/// The address of a database of this folder's own, if there is a server for it.
fn database_of(folder: &Scratch) -> Option<String> {
    static CREATED: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    let server = std::env::var(POSTGRES).ok()?;
    let letters = folder.path().to_str()?.bytes().filter(u8::is_ascii_alphanumeric);
    let name: String = letters.map(|letter| char::from(letter.to_ascii_lowercase())).collect();
    let name = format!("t{}", &name[name.len().saturating_sub(50)..]);
    let mut created = CREATED.lock().unwrap();
    if created.get_or_insert_default().insert(name.clone()) {
        let words = ["--quiet", "--command", &format!("CREATE DATABASE {name}")];
        let output = Command::new("psql").arg(&server).args(words).output().expect("psql is there");
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    Some(server.replacen("/postgres?", &format!("/{name}?"), 1))
}

/// The program in a folder, with a history of the folder's own.
pub(crate) fn program(folder: &Scratch) -> Command {
    let mut command = calipers().command();
    command.current_dir(folder);
    if let Some(address) = database_of(folder) {
        command.env("CALIPERS_HISTORY", address);
    }
    command
}

pub(crate) fn run(folder: &Scratch, arguments: &[&str]) -> Output {
    program(folder).args(arguments).output().unwrap()
}

#[track_caller]
pub(crate) fn json(folder: &Scratch, arguments: &[&str]) -> Json {
    let output = run(folder, &[arguments, &["--json"]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
}

/// Records of a run: these of eighty samples fail.
pub(crate) fn records(fails: impl Fn(usize) -> bool, note: &str) -> String {
    let line = |id: usize| {
        format!("{{\"id\": \"q{id:02}\", \"input\": \"question {id}{note}\", \"score\": {}}}\n", u8::from(!fails(id)))
    };
    (0..80).map(line).collect()
}

/// A folder with a suite of three runs, the last of which is worse.
pub(crate) fn suite() -> Scratch {
    let folder = Scratch::new();
    folder.write("logs/nightly/1.jsonl", records(|id| id % 8 == 0, ""));
    folder.write("logs/nightly/2.jsonl", records(|id| id % 8 == 0 || id == 3, ""));
    folder.write("logs/nightly/3.jsonl", records(|id| id % 3 == 0, ""));
    for (place, name) in ["1", "2", "3"].iter().enumerate() {
        let file =
            std::fs::File::options().append(true).open(folder.join(&format!("logs/nightly/{name}.jsonl"))).unwrap();
        let time = std::time::UNIX_EPOCH + Duration::from_secs(1_767_225_600 + 86_400 * place as u64);
        file.set_modified(time).unwrap();
    }
    folder
}

pub(crate) fn keys(folder: &Scratch) -> Vec<String> {
    let list = json(folder, &["history", "list"]);
    list["runs"].as_array().unwrap().iter().map(|run| run["key"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn runs_are_added_listed_and_shown() {
    let folder = suite();
    let output = run(&folder, &["history", "add", "logs"]);
    assert_eq!(text(&output.stdout), "added 3 runs from 3 files\n", "{}", text(&output.stderr));
    let list = json(&folder, &["history", "list"]);
    assert_eq!((list["schema"].as_str(), list["total"].as_u64()), (Some("calipers.history/1"), Some(3)));
    let latest = &list["runs"][0];
    assert_eq!((latest["suite"].as_str(), latest["samples"]["failed"].as_u64()), (Some("nightly"), Some(27)));
    assert_eq!(latest["figures"][0]["metric"], "accuracy");
    let shown = run(&folder, &["history", "list"]);
    insta_like(&text(&shown.stdout), &["run", "date", "suite", "2026-01-03", "nightly", "accuracy 0.662"]);
    assert!(text(&shown.stdout).lines().all(|line| line.chars().count() <= 80), "{}", text(&shown.stdout));
    // Nothing is read again.
    let again = run(&folder, &["history", "add", "logs"]);
    assert_eq!(text(&again.stdout), "added 0 runs from 0 files, 3 files unchanged\n");
    // A key may be shortened, and what is shown is what `score` shows.
    let key = latest["key"].as_str().unwrap();
    let one = run(&folder, &["history", "show", &key[..6]]);
    let source = latest["source"].as_str().unwrap();
    assert!(text(&one.stdout).ends_with(&text(&run(&folder, &["score", source]).stdout)), "{}", text(&one.stdout));
    // The folder of the history is not for version control.
    if !is_on_server() {
        assert_eq!(folder.read(".calipers/.gitignore"), "*\n");
    }
}

fn insta_like(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
}

#[test]
fn what_is_kept_is_what_score_prints_to_the_byte() {
    let folder = suite();
    run(&folder, &["history", "add", "logs"]);
    for one in json(&folder, &["history", "list"])["runs"].as_array().unwrap() {
        let (key, source) = (one["key"].as_str().unwrap(), one["source"].as_str().unwrap());
        let kept = run(&folder, &["history", "show", key, "--json"]);
        assert_eq!(text(&kept.stdout), text(&run(&folder, &["score", source, "--json"]).stdout));
    }
}

#[test]
fn every_format_is_kept_as_score_prints_it() {
    let folder = Scratch::new();
    let formats = Path::new(ROOT).join("testdata/formats").canonicalize().unwrap();
    let examples = Path::new(ROOT).join("examples/support-agent").canonicalize().unwrap();
    let added = run(&folder, &["history", "add", formats.to_str().unwrap(), examples.to_str().unwrap()]);
    let list = json(&folder, &["history", "list", "--limit", "10000"]);
    let runs = list["runs"].as_array().unwrap();
    assert!(runs.len() > 60, "{} runs: {}", runs.len(), flat_output(&added));
    let mut sources: Vec<&str> = runs.iter().map(|run| run["source"].as_str().unwrap()).collect();
    sources.sort_unstable();
    sources.dedup();
    // A few of each would do; these take no longer than one command each.
    for source in sources.into_iter().step_by(3) {
        let scored = json(&folder, &["score", source]);
        let wanted = scored["runs"].as_array().unwrap();
        let of_source: Vec<&Json> = runs.iter().filter(|run| run["source"] == source).collect();
        assert_eq!(of_source.len(), wanted.len(), "{source}");
        for one in of_source {
            let kept = json(&folder, &["history", "show", one["key"].as_str().unwrap()]);
            assert!(wanted.contains(&kept["runs"][0]), "{source}: {kept:#}\n is not among\n{scored:#}");
        }
    }
}

#[test]
fn a_changed_file_is_read_again_and_one_that_is_gone_stays_in_the_list() {
    let folder = suite();
    run(&folder, &["history", "add", "logs"]);
    let before = keys(&folder);
    folder.write("logs/nightly/2.jsonl", records(|_| true, ""));
    std::fs::remove_file(folder.join("logs/nightly/1.jsonl")).unwrap();
    let output = run(&folder, &["history", "add", "logs"]);
    assert_eq!(text(&output.stdout), "added 1 run from 1 file, 1 file unchanged, 1 file gone\n");
    let list = json(&folder, &["history", "list"]);
    let mut after = keys(&folder);
    after.sort();
    let mut sorted = before.clone();
    sorted.sort();
    assert_eq!(after, sorted, "a run keeps its key");
    let of = |name: &str| {
        let runs = list["runs"].as_array().unwrap();
        runs.iter().find(|run| run["source"].as_str().unwrap().ends_with(name)).unwrap().clone()
    };
    assert_eq!(of("2.jsonl")["samples"]["failed"], 80);
    assert_eq!(of("1.jsonl")["gone"], true);
    // It can no longer be computed, but what was computed is there.
    let key = of("1.jsonl")["key"].as_str().unwrap().to_owned();
    assert_eq!(run(&folder, &["history", "show", &key]).status.code(), Some(2));
    assert_eq!(json(&folder, &["history", "show", &key])["runs"][0]["samples"]["total"], 80);
}

#[test]
fn what_is_said_about_runs_is_kept_and_exported() {
    let folder = suite();
    let flags = [
        "--version-name",
        "1.4",
        "--branch",
        "main",
        "--commit",
        "0123abc",
        "--tag",
        "team=support",
        "--suite",
        "agent",
    ];
    let output = run(&folder, &[&["history", "add", "logs/nightly/3.jsonl"][..], &flags].concat());
    assert_eq!(output.status.code(), Some(0), "{}", flat_output(&output));
    run(&folder, &["history", "add", "logs"]);
    let found = json(&folder, &["history", "list", "--tag", "team=support"]);
    assert_eq!(found["total"], 1);
    let one = &found["runs"][0];
    let said = ["suite", "version", "branch", "commit"].map(|name| one[name].as_str().unwrap());
    assert_eq!(said, ["agent", "1.4", "main", "0123abc"]);
    let key = one["key"].as_str().unwrap();
    assert_eq!(json(&folder, &["history", "list", "--state", "invalid"])["total"], 0);
    run(&folder, &["history", "invalidate", key, "--why", "the server was down"]);
    assert_eq!(json(&folder, &["history", "list", "--state", "invalid"])["runs"][0]["invalid"], "the server was down");
    run(&folder, &["history", "invalidate", key, "--restore"]);
    assert_eq!(json(&folder, &["history", "list", "--state", "invalid"])["total"], 0);
    let lines = text(&run(&folder, &["history", "export"]).stdout);
    let kinds: Vec<String> = lines
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).unwrap()["kind"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds, ["described", "invalidated", "restored"]);
    // A file that is read again keeps what was said about it.
    folder.write("logs/nightly/3.jsonl", records(|_| false, ""));
    run(&folder, &["history", "add", "logs"]);
    assert_eq!(json(&folder, &["history", "list", "--version-name", "1.4"])["runs"][0]["samples"]["passed"], 80);
}

#[test]
fn runs_are_found_by_parts_of_names_and_nothing_else() {
    let folder = suite();
    run(&folder, &["history", "add", "logs"]);
    for (words, want) in [
        (&["night"][..], 3),
        (&["3.jsonl"], 1),
        (&["%"], 0),
        (&["_"], 0),
        (&["' OR 1=1 --"], 0),
        (&["--suite", "nightly"], 3),
        (&["--suite", "night"], 0),
        (&["--verdict", "none"], 3),
        (&["--verdict", "pass"], 0),
        (&["--state", "whole"], 3),
        (&["--limit", "2", "--skip", "1"], 3),
    ] {
        assert_eq!(json(&folder, &[&["history", "list"], words].concat())["total"], want, "{words:?}");
    }
    assert_eq!(json(&folder, &["history", "list", "--limit", "2", "--skip", "2"])["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    let folder = suite();
    for (words, what, hint) in [
        (&["history", "list"][..], "there is no history", "calipers history add"),
        (&["history", "add", "nowhere"], "nowhere", "check"),
        (&["history", "add", "logs", "--tag", "x"], "--tag x", "team=support"),
    ] {
        // A database on a server is there, or it is not.
        if words.len() == 2 && is_on_server() {
            continue;
        }
        let output = run(&folder, words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(flat_output(&output).contains(what) && flat_output(&output).contains(hint), "{}", flat_output(&output));
    }
    run(&folder, &["history", "add", "logs"]);
    for (words, what) in [
        (&["history", "show", "zz"][..], "has no run `zz`"),
        (&["history", "show", "../../etc/passwd"], "has no run"),
        (&["history", "show", ""], "has no run"),
        (&["history", "invalidate", "zz", "--why", " "], "has no run"),
    ] {
        let output = run(&folder, words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(flat_output(&output).contains(what), "{words:?}: {}", flat_output(&output));
    }
    // A file that cannot be read takes nothing from the others.
    folder.write("logs/nightly/bad.jsonl", "{\"id\": 1, \"score\"");
    let output = run(&folder, &["history", "add", "logs"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(flat_output(&output).contains("bad.jsonl"), "{}", flat_output(&output));
    assert_eq!(keys(&folder).len(), 3);
    // Neither does a link that leads nowhere, whatever is found after it.
    #[cfg(unix)]
    {
        std::fs::remove_file(folder.join("logs/nightly/bad.jsonl")).unwrap();
        std::os::unix::fs::symlink("gone.jsonl", folder.join("logs/a.jsonl")).unwrap();
        folder.write("logs/z.jsonl", records(|_| true, ""));
        let output = run(&folder, &["history", "add", "logs"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(flat_output(&output).contains("the link leads nowhere"), "{}", flat_output(&output));
        assert!(flat_output(&output).contains("logs/a.jsonl"), "{}", flat_output(&output));
        assert_eq!(keys(&folder).len(), 4);
    }
    // What is no database is not written over.
    folder.write("precious.db", "my thesis");
    let output = run(&folder, &["history", "add", "logs", "--database", "precious.db"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(folder.read("precious.db"), "my thesis");
}

/// A server elsewhere is spoken to through TLS; one on this machine if that is asked for.
#[test]
fn a_server_with_tls_must_have_a_certificate_that_is_trusted_and_its_own() {
    let (Ok(address), Ok(certificate)) = (std::env::var(POSTGRES_TLS), std::env::var(CERTIFICATE)) else {
        println!("skipped: {POSTGRES_TLS} names no server; `cargo xtask test` does");
        return;
    };
    let folder = Scratch::new();
    folder.write("a.jsonl", records(|id| id < 8, ""));
    let add = |address: &str, trusted: &str| {
        let mut command = calipers().command();
        command.current_dir(&folder).env("SSL_CERT_FILE", trusted).env_remove("SSL_CERT_DIR");
        command.args(["history", "add", "a.jsonl", "--database", address]).output().unwrap()
    };
    let output = add(&address, &certificate);
    assert!(output.status.success(), "{}", text(&output.stderr));
    // The name in the address is not the one in the certificate.
    let output = add(&address.replace("@localhost:", "@127.0.0.1:"), &certificate);
    assert_eq!(output.status.code(), Some(2));
    assert!(flat_output(&output).contains("certificate"), "{}", text(&output.stderr));
    // Nobody vouches for it.
    let other = folder.join("other.pem");
    std::fs::write(&other, "").unwrap();
    let output = add(&address, other.to_str().unwrap());
    assert_eq!(output.status.code(), Some(2));
    assert!(flat_output(&output).contains("certificate"), "{}", text(&output.stderr));
}

#[test]
fn a_killed_indexer_leaves_a_history_that_is_completed() {
    let folder = Scratch::new();
    for place in 0..60 {
        folder.write(&format!("logs/s/{place}.jsonl"), records(|id| id % (2 + place % 7) == 0, ""));
    }
    for wait in [5, 20, 40, 80, 120] {
        let mut child = program(&folder)
            .args(["history", "add", "logs", "--version-name", "1"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // Two at once do not disturb each other.
    let start = || program(&folder).args(["history", "add", "logs"]).stdout(Stdio::null()).spawn().unwrap();
    let (mut one, mut other) = (start(), start());
    assert!(one.wait().unwrap().success() && other.wait().unwrap().success());
    run(&folder, &["history", "add", "logs", "--database", "fresh.db"]);
    let without_words = |mut list: Json| {
        for run in list["runs"].as_array_mut().unwrap() {
            run["version"] = Json::Null;
        }
        list
    };
    let completed = json(&folder, &["history", "list", "--limit", "100"]);
    let fresh = json(&folder, &["history", "list", "--limit", "100", "--database", "fresh.db"]);
    assert_eq!(completed["total"], 60);
    // The order of runs of one time is that in which they were added.
    let sorted = |list: Json| {
        let mut runs = without_words(list)["runs"].as_array().unwrap().clone();
        runs.sort_by_key(|run| run["key"].as_str().unwrap().to_owned());
        runs
    };
    assert_eq!(sorted(completed.clone()), sorted(fresh));
    // What was computed is the same to the byte, no matter which process wrote it and how often.
    for one in completed["runs"].as_array().unwrap().iter().step_by(7) {
        let show = ["history", "show", one["key"].as_str().unwrap(), "--json"];
        let again = run(&folder, &[&show[..], &["--database", "fresh.db"]].concat());
        assert_eq!(text(&run(&folder, &show).stdout), text(&again.stdout));
    }
}

#[test]
fn a_link_that_leads_nowhere_is_named_and_hides_nothing() {
    let folder = suite();
    #[cfg(unix)]
    std::os::unix::fs::symlink("nowhere.jsonl", folder.join("logs/nightly/broken.jsonl")).unwrap();
    let output = run(&folder, &["history", "add", "logs"]);
    assert_eq!(keys(&folder).len(), 3, "{}", flat_output(&output));
    if cfg!(unix) {
        assert_eq!(output.status.code(), Some(2));
        let said = flat_output(&output);
        assert!(
            said.contains("added 3 runs") && said.contains("broken.jsonl") && said.contains("leads nowhere"),
            "{said}"
        );
    }
}

#[test]
fn commands_record_what_they_did() {
    let folder = suite();
    folder.write("policy.json", r#"{"pass_criteria": {"overall": "at least 80%"}}"#);
    let gate = [
        "gate",
        "logs/nightly/3.jsonl",
        "--policy",
        "policy.json",
        "--history",
        "--tag",
        "version=2.0",
        "--tag",
        "team=a",
    ];
    let output = program(&folder)
        .args(gate)
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_SHA", "feed1234")
        .env("GITHUB_REF_NAME", "main")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", flat_output(&output));
    let one = &json(&folder, &["history", "list", "--verdict", "fail"])["runs"][0];
    let said = ["version", "branch", "commit"].map(|name| one[name].as_str().unwrap());
    assert_eq!((said, one["tags"]["team"].as_str()), (["2.0", "main", "feed1234"], Some("a")));
    assert_eq!(
        (one["verdict"]["verdict"].as_str(), one["verdict"]["policy"].as_str()),
        (Some("fail"), Some("policy.json"))
    );
    // The whole report is in the export, as the gate prints it.
    let printed = json(&folder, &["gate", "logs/nightly/3.jsonl", "--policy", "policy.json"]);
    let lines = text(&run(&folder, &["history", "export"]).stdout);
    let record: Json = lines
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).unwrap())
        .find(|line| line["kind"] == "judged")
        .unwrap();
    assert_eq!(record["body"]["report"], printed);
    // Nothing is recorded unless it is asked for, and a name of a file is taken with `=` only.
    run(&folder, &["score", "logs/nightly/1.jsonl"]);
    assert_eq!(keys(&folder).len(), 1);
    run(&folder, &["score", "--history", "logs/nightly/1.jsonl"]);
    assert_eq!(keys(&folder).len(), 2);
    run(&folder, &["score", "--history=other.db", "logs/nightly/1.jsonl"]);
    assert!(folder.has("other.db"));
    let output = crate::program::with_input(&["score", "-", "--history=x.db"], b"{}");
    assert!(flat_output(&output).contains("standard input cannot be recorded"), "{}", flat_output(&output));
}

/// What git prints in a folder, with a name that its commits need.
fn git(folder: &Scratch, words: &[&str]) -> String {
    let named = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"];
    let output = Command::new("git").args(named).args(words).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
    text(&output.stdout).trim().to_owned()
}

#[test]
fn git_says_what_was_evaluated_and_flags_and_logs_say_it_better() {
    let folder = suite();
    git(&folder, &["init", "--quiet", "--initial-branch", "trunk"]);
    git(&folder, &["add", "."]);
    git(&folder, &["commit", "--quiet", "--message", "one"]);
    let commit = git(&folder, &["rev-parse", "HEAD"]);
    run(&folder, &["score", "logs/nightly/1.jsonl", "--history"]);
    let only = |folder: &Scratch| json(folder, &["history", "list", "1.jsonl"])["runs"][0].clone();
    let said = |one: &Json| ["version", "branch", "commit"].map(|name| one[name].as_str().unwrap_or("none").to_owned());
    assert_eq!(said(&only(&folder)), ["none", "trunk", &commit]);
    assert_eq!(only(&folder)["tags"]["uncommitted"], Json::Null);
    // A later look at the same file does not change what it was.
    git(&folder, &["commit", "--quiet", "--allow-empty", "--message", "two"]);
    git(&folder, &["tag", "v2"]);
    run(&folder, &["score", "logs/nightly/1.jsonl", "--history"]);
    assert_eq!(said(&only(&folder))[2], commit);
    // A new file is a new run, of the commit that is there now; and the tree is not quite that commit.
    folder.write("logs/nightly/1.jsonl", records(|id| id % 5 == 0, ""));
    run(&folder, &["score", "logs/nightly/1.jsonl", "--history", "--tag", "branch=mine"]);
    let now = git(&folder, &["rev-parse", "HEAD"]);
    assert_eq!(said(&only(&folder)), ["v2", "mine", &now]);
    assert_eq!(only(&folder)["tags"]["uncommitted"], "yes");
    // What a log says of its own commit counts more.
    let log = std::fs::read_to_string(Path::new(ROOT).join("testdata/formats/inspect/basic.json"));
    if let Ok(log) = log {
        folder.write("logs/own.json", log);
        run(&folder, &["score", "logs/own.json", "--history"]);
        let own = &json(&folder, &["score", "logs/own.json"])["runs"][0]["commit"];
        let kept = &json(&folder, &["history", "list", "own.json"])["runs"][0]["commit"];
        assert!(own.is_null() || own == kept, "{own} {kept}");
    }
}

#[test]
fn a_comparison_and_an_evaluation_record_themselves() {
    let folder = suite();
    let words = ["compare", "logs/nightly/3.jsonl", "logs/nightly/1.jsonl"];
    let output = run(&folder, &[&words[..], &["--history", "--tag", "version=3"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", flat_output(&output));
    let runs = json(&folder, &["history", "list"]);
    assert_eq!(runs["total"], 2);
    assert_eq!((runs["runs"][0]["version"].as_str(), runs["runs"][1]["version"].as_str()), (Some("3"), None));
    let exported = text(&run(&folder, &["history", "export"]).stdout);
    let record: Json = exported
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).unwrap())
        .find(|line| line["kind"] == "compared")
        .unwrap();
    assert_eq!(record["run"], runs["runs"][0]["key"]);
    assert_eq!(record["body"]["with"], serde_json::json!([runs["runs"][1]["key"]]));
    assert_eq!(record["body"]["report"], json(&folder, &words));
    // An evaluation, with the verdict of its policy.
    folder.write("cases.jsonl", "{\"id\": \"a\", \"input\": \"say yes\", \"target\": \"yes\"}\n");
    folder.write("policy.json", r#"{"pass_criteria": {"overall": "at least 50%"}}"#);
    folder.write(
        "task.star",
        "def echo():\n    return Task(dataset=json_dataset(\"cases.jsonl\"), solver=generate(), scorer=includes())\n",
    );
    let eval = ["eval", "task.star", "--model", "mockllm/yes", "--gate", "policy.json"];
    let output = run(&folder, &[&eval[..], &["--history", "--tag", "version=9", "--tags", "nightly"]].concat());
    let found = json(&folder, &["history", "list", "--version-name", "9"]);
    assert_eq!(found["total"], 1, "{}", flat_output(&output));
    let one = &found["runs"][0];
    assert!(one["verdict"]["policy"] == "policy.json" && one["source"].as_str().unwrap().contains("logs"), "{one:#}");
    // What could not be recorded is said before anything runs.
    for (words, what) in [
        (&["compare", "-", "logs/nightly/1.jsonl", "--history"][..], "standard input cannot be recorded"),
        (&["score", "https://example.org/a.jsonl?sig=secret", "--history"], "cannot be opened by its name later"),
        (&["score", "logs/nightly/1.jsonl", "--history", "--tag", "x"], "has no name and value"),
        (&["score", "logs/nightly/1.jsonl", "--tag", "x=y"], "--history"),
    ] {
        let output = run(&folder, words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(flat_output(&output).contains(what), "{words:?}: {}", flat_output(&output));
    }
}

/// Two models in a table whose columns have names of its own, and 1 to 5 as its scores.
pub(crate) fn own_table() -> Scratch {
    let folder = Scratch::new();
    let row = |place: usize| format!("q{:02},{},{}\n", place / 2, ["small", "large"][place % 2], 1 + place % 5);
    let rows: String = (0..40).map(row).collect();
    folder.write("logs/own/table.csv", format!("question,who,stars\n{rows}"));
    folder.write("nightly/1.jsonl", records(|id| id % 8 == 0, ""));
    folder
}

pub(crate) const OWN_COLUMNS: &str = "id=question,score=stars,run=who";

#[test]
fn a_table_is_kept_by_the_columns_that_are_named() {
    let folder = own_table();
    // It is no results until its columns are known.
    let output = run(&folder, &["history", "add", "logs"]);
    assert_eq!(text(&output.stdout), "added 0 runs from 0 files, 1 file without results\n");
    assert!(text(&output.stderr).contains("table.csv was left out"), "{}", text(&output.stderr));
    let flags = ["--columns", OWN_COLUMNS, "--pass-threshold", "4"];
    let output = run(&folder, &[&["history", "add", "logs"], &flags[..]].concat());
    assert_eq!(text(&output.stdout), "added 2 runs from 1 file\n", "{}", text(&output.stderr));
    let kept = || json(&folder, &["history", "list", "table.csv"])["runs"].as_array().unwrap().clone();
    assert_eq!(kept().len(), 2);
    for one in kept() {
        let (key, name) = (one["key"].as_str().unwrap(), one["run"].as_str().unwrap());
        assert_eq!((one["samples"]["total"].as_u64(), one["samples"]["passed"].as_u64()), (Some(20), Some(8)));
        let shown = run(&folder, &["history", "show", key]);
        let score = run(&folder, &[&["score", "logs/own/table.csv", "--run", name], &flags[..]].concat());
        assert!(text(&shown.stdout).ends_with(&text(&score.stdout)), "{}", flat_output(&shown));
    }
    // Without flags it is read as it was read before, even if it has changed; with others it is read again.
    let output = run(&folder, &["history", "add", "logs"]);
    assert_eq!(text(&output.stdout), "added 0 runs from 0 files, 1 file unchanged\n");
    folder.write("logs/own/table.csv", folder.read("logs/own/table.csv") + "q20,small,5\nq20,large,5\n");
    let output = run(&folder, &["history", "add", "logs"]);
    assert_eq!(text(&output.stdout), "added 2 runs from 1 file\n");
    assert_eq!((kept()[0]["samples"]["total"].as_u64(), kept()[0]["samples"]["passed"].as_u64()), (Some(21), Some(9)));
    let output = run(&folder, &[&["history", "add", "logs/own/table.csv"], &flags[..2], &["--run", "small"]].concat());
    assert_eq!(text(&output.stdout), "added 1 run from 1 file\n");
    assert_eq!((kept().len(), kept()[0]["run"].as_str()), (1, Some("small")));
    let output = run(&folder, &["history", "add", "logs", "--columns", "id=question,score=starz"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(flat_output(&output).contains("starz"), "{}", flat_output(&output));
    assert_eq!(kept().len(), 1, "a slip takes nothing away");
}

#[test]
fn parts_of_a_path_name_runs_in_a_history_as_in_a_score() {
    let folder = Scratch::new();
    for model in ["small", "large"] {
        folder.write(&format!("runs/{model}/r.csv"), "id,score\na,1\nb,0\n");
    }
    run(&folder, &["history", "add", "runs", "--columns", "run=@path.2"]);
    let names = |runs: &Json| -> HashSet<String> {
        runs["runs"].as_array().unwrap().iter().map(|one| one["run"].as_str().unwrap_or("").to_owned()).collect()
    };
    let wanted: HashSet<String> = ["small", "large"].map(str::to_owned).into();
    assert_eq!(names(&json(&folder, &["history", "list"])), wanted);
    assert_eq!(names(&json(&folder, &["score", "runs", "--columns", "run=@path.2"])), wanted);
}

#[test]
fn what_a_command_records_is_read_as_it_read_it() {
    let folder = own_table();
    folder.write("policy.json", r#"{"pass_criteria": {"overall": "at least 30%"}}"#);
    let flags = ["--columns", OWN_COLUMNS, "--pass-threshold", "4", "--run", "small", "--history"];
    for words in [&["score", "logs/own/table.csv"][..], &["gate", "logs/own/table.csv", "--policy", "policy.json"]] {
        let output = run(&folder, &[words, &flags].concat());
        assert_ne!(output.status.code(), Some(2), "{}", flat_output(&output));
        let one = &json(&folder, &["history", "list"])["runs"][0];
        assert_eq!((one["run"].as_str(), one["samples"]["passed"].as_u64()), (Some("small"), Some(8)), "{words:?}");
    }
}

#[test]
fn a_suite_in_the_settings_is_a_file_and_no_name() {
    let folder = suite();
    folder.write("calipers.toml", "suite = \"suite.txt\"\n");
    folder.write("suite.txt", "q01\n");
    run(&folder, &["history", "add", "logs"]);
    assert_eq!(json(&folder, &["history", "list"])["runs"][0]["suite"], "nightly");
}
