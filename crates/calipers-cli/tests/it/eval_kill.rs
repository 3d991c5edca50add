//! A run that is killed, stopped or asked to end: whatever is done stays done, and the log goes on to the same answers.
#![cfg(target_os = "linux")] // processes are looked up in /proc

use crate::evaluation::Folder;
use serde_json::Value;
use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Twenty samples, twice each. The agent takes a moment, is right or wrong by the sample and the attempt, and keeps count.
const TASK: &str = r#"
def slow():
    return Task(
        dataset = [Sample(input = "q%d" % i, target = "yes", id = i, metadata = {"kind": "ab"[i % 2]}) for i in range(1, 21)],
        solver = command("sh agent.sh"),
        scorer = match(),
        metrics = [accuracy(), stderr(), grouped(mean(), "kind")],
        epochs = 2,
    )
"#;
const AGENT: &str = "told=$(cat); sleep 0.03; echo x >> asked\n\
    case $told in *'\"epoch\":1'*q?3*|*q?3*'\"epoch\":1'*|*q2*|*q?7*) echo no;; *) echo yes;; esac\n";
const EVAL: [&str; 6] = ["eval", "slow.star", "--allow-commands", "--max-samples", "4", "--json"];

fn folder() -> Folder {
    Folder::new().with("slow.star", TASK).with("agent.sh", AGENT)
}

/// What does not depend on when and where a run was made.
fn answers(json: &Value) -> Value {
    let run = &json["runs"][0];
    serde_json::json!([run["samples"], run["attempts"], run["scores"], run["caveats"]])
}

/// What an uninterrupted run says.
fn undisturbed() -> Value {
    let folder = folder();
    let json = folder.run(&EVAL).json();
    assert_eq!(asked(&folder), 40);
    answers(&json)
}

fn asked(folder: &Folder) -> usize {
    std::fs::read_to_string(folder.path("asked")).unwrap_or_default().lines().count()
}

/// Every attempt is in the log once.
#[track_caller]
fn is_whole(folder: &Folder) {
    let logs = folder.logs();
    assert_eq!(logs.len(), 1, "{logs:?}");
    let log = folder.document(&logs[0]);
    assert_eq!(log["status"], "success");
    let samples = log["samples"].as_array().unwrap();
    let attempts: BTreeSet<(i64, i64)> =
        samples.iter().map(|sample| (sample["id"].as_i64().unwrap(), sample["epoch"].as_i64().unwrap())).collect();
    assert_eq!((samples.len(), attempts.len()), (40, 40));
}

fn signal(name: &str, target: &str) {
    let _ = Command::new("kill").args([name, "--", target]).status();
}

/// The process that does the work.
fn worker(parent: u32) -> Option<String> {
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    children.split_whitespace().next().map(str::to_owned)
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}: not so after 10 s");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn start(folder: &Folder) -> Child {
    match folder.logs().pop() {
        None => folder.command(&EVAL).spawn().unwrap(),
        Some(log) => folder.command(&["eval", "--resume", &log, "--trust", "--json"]).spawn().unwrap(),
    }
}

/// Kills a run at moments that a seed decides, and goes on until it is done.
fn killed(seed: u64, kills_child: bool) {
    let folder = folder();
    let mut random = seed;
    let mut kills = 0;
    for _ in 0..6 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut child = start(&folder);
        std::thread::sleep(Duration::from_millis(40 + (random >> 33) % 160));
        match worker(child.id()).filter(|_| kills_child) {
            Some(worker) => signal("-KILL", &worker),
            None => child.kill().unwrap(),
        }
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            break;
        }
        kills += 1;
        if kills_child && output.status.code().is_some() {
            assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
        }
        // What was killed before its log had a beginning has nothing to go on with.
        if let Some(log) = folder.logs().pop()
            && folder.run(&["score", &log]).code != Some(0)
            && asked(&folder) == 0
        {
            std::fs::remove_file(folder.path(&log)).unwrap();
        }
    }
    assert!(kills >= 2, "only {kills} kills: the run is too quick to be killed");
    let is_done = |log: &String| folder.document(log)["status"] == "success";
    let undisturbed = undisturbed();
    if !folder.logs().last().is_some_and(is_done) {
        let output = start(&folder).wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(answers(&serde_json::from_slice(&output.stdout).unwrap()), undisturbed);
    }
    is_whole(&folder);
    let scored = folder.run(&["score", &folder.last_log(), "--json"]).json();
    assert_eq!(answers(&scored), undisturbed);
    // What is made again each time is the four attempts under way, and on a busy machine some that wait to be written.
    let asked = asked(&folder);
    assert!((40..=40 + 12 * kills).contains(&asked), "{asked} attempts after {kills} kills");
}

#[test]
fn a_killed_run_goes_on_to_the_same_answers() {
    killed(1, false);
}

#[test]
fn a_run_whose_worker_is_killed_goes_on_to_the_same_answers() {
    killed(2, true);
}

/// A run with its own process group, as a shell starts it, once some attempts are done.
fn under_way(folder: &Folder, done: usize) -> Child {
    let child = folder.command(&EVAL).process_group(0).spawn().unwrap();
    wait_until("attempts are made", || asked(folder) >= done);
    child
}

#[test]
fn an_interrupt_lets_attempts_end_and_leaves_a_log_that_goes_on() {
    let folder = folder();
    let child = under_way(&folder, 6);
    signal("-INT", &format!("-{}", child.id()));
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for text in
        ["stopping when the running attempts are done", "it was stopped", "--max-samples 4 --json --resume logs/"]
    {
        assert!(said.contains(text), "{said}");
    }
    let log = folder.document(&folder.last_log());
    assert_eq!(log["status"], "cancelled");
    let made = asked(&folder);
    assert_eq!(log["samples"].as_array().unwrap().len(), made, "what was under way ended");
    assert!(made < 40);
    // The hint is a command that works.
    let done = folder.run(&[&EVAL[..], &["--resume", &folder.last_log()]].concat());
    assert_eq!(answers(&done.json()), undisturbed());
    assert_eq!(asked(&folder), 40, "nothing was made twice");
    is_whole(&folder);
}

/// An agent that takes for ever.
fn endless() -> Folder {
    folder().with("agent.sh", "echo x >> asked; echo $$ >> pids; exec sleep 600")
}

fn all_gone(folder: &Folder) {
    let pids = std::fs::read_to_string(folder.path("pids")).unwrap();
    let is_alive = |pid: &str| {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        state.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    };
    wait_until("the agents are gone", || !pids.lines().any(is_alive));
}

#[test]
fn a_second_interrupt_ends_everything_at_once() {
    let folder = endless();
    let child = under_way(&folder, 4);
    let group = format!("-{}", child.id());
    signal("-INT", &group);
    std::thread::sleep(Duration::from_millis(200));
    let begun = Instant::now();
    signal("-INT", &group);
    let output = child.wait_with_output().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("stopping at once"));
    assert_eq!(folder.document(&folder.last_log())["status"], "cancelled");
    all_gone(&folder);
}

#[test]
fn whoever_is_asked_to_end_leaves_no_agents_behind() {
    for target in ["parent", "worker", "group"] {
        let folder = endless();
        let mut child = under_way(&folder, 4);
        match target {
            "parent" => signal("-TERM", &child.id().to_string()),
            "worker" => signal("-TERM", &worker(child.id()).unwrap()),
            _ => signal("-TERM", &format!("-{}", child.id())),
        }
        assert!(!child.wait().unwrap().success(), "{target}");
        let log = folder.last_log();
        wait_until("the log is finished", || {
            let converted = folder.run(&["convert", &log, "-o", "document.json", "--force"]);
            converted.code == Some(0)
                && std::fs::read_to_string(folder.path("document.json")).unwrap().contains("\"cancelled\"")
        });
        all_gone(&folder);
    }
}

#[test]
fn two_processes_do_not_go_on_with_one_log() {
    let folder = endless();
    let mut child = under_way(&folder, 4);
    let other = folder.run(&["eval", "--resume", &folder.last_log()]);
    signal("-TERM", &format!("-{}", child.id()));
    child.wait().unwrap();
    other.says(2, &["another process is writing to it", "hint: wait for it to end"]);
    all_gone(&folder);
}

#[test]
fn an_interrupt_of_one_process_is_an_interrupt_of_the_run() {
    for target in ["parent", "worker", "group"] {
        let folder = folder();
        let child = under_way(&folder, 6);
        let target = match target {
            "parent" => child.id().to_string(),
            "worker" => worker(child.id()).unwrap(),
            _ => format!("-{}", child.id()),
        };
        signal("-INT", &target);
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("stopping when the running attempts are done"), "{said}");
        assert!(!said.contains("stopping at once"), "{said}");
        let log = folder.document(&folder.last_log());
        assert_eq!(log["status"], "cancelled");
        assert_eq!(log["samples"].as_array().unwrap().len(), asked(&folder), "what was under way ended");
    }
}

#[test]
fn two_interrupts_of_the_parent_end_everything_at_once() {
    let folder = endless();
    let child = under_way(&folder, 4);
    for _ in 0..2 {
        signal("-INT", &child.id().to_string());
        std::thread::sleep(Duration::from_millis(200));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("stopping at once"));
    all_gone(&folder);
}
