//! Task files, models and agents that mean harm or are broken: nothing hangs, nothing reaches the terminal as it is, and
//! nothing stays behind.
#![cfg(unix)] // agents are shell scripts

use crate::evaluation::{Folder, near, value};
use std::path::Path;
use std::time::{Duration, Instant};

/// A task of two samples whose scorer is this function body.
fn scored_by(body: &str) -> Folder {
    let task = format!(
        "def _score(state, target):\n    {body}\n\ndef t():\n    return Task(dataset = [Sample(input = 'a'), \
         Sample(input = 'b')], scorer = scorer(_score, name = 's'), model = mockllm('x'))\n"
    );
    Folder::new().with("t.star", task)
}

/// A task of one sample that this program answers.
fn answered_by(agent: &str) -> Folder {
    let task = "def t():\n    return Task(dataset = [Sample(input = 'a', target = 'ok')], \
                solver = command('sh agent.sh', timeout = 5), scorer = includes())\n";
    Folder::new().with("t.star", task).with("agent.sh", agent)
}

#[test]
fn a_scorer_that_does_not_end_is_ended() {
    let begun = Instant::now();
    let loops = scored_by("return len([i for i in range(1000000000) for j in range(1000000000)])");
    loops.eval(&["t.star", "--script-time", "1"]).says(2, &["did not finish", "the script's time is up"]);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn a_scorer_that_wants_all_memory_or_all_stack_gets_an_error() {
    let text = scored_by("return len('x' * 2000000000 + 'y' * 2000000000)");
    text.eval(&["t.star", "--script-time", "5"]).says(2, &["hint: "]);
    let deep = Folder::new().with(
        "t.star",
        "def f(n):\n    return f(n + 1) + 1\n\ndef _score(state, target):\n    return f(0)\n\ndef t():\n    return \
         Task(dataset = [Sample(input = 'a')], scorer = scorer(_score, name = 's'), model = mockllm('x'))\n",
    );
    deep.eval(&["t.star@t"]).says(2, &["nest too deeply", "return f(n + 1) + 1"]);
}

#[test]
fn files_that_are_no_task_files_are_not_read() {
    let task = "def t():\n    return Task(dataset = [Sample(input = 'a')], scorer = match(), model = mockllm('x'))\n";
    for (name, why) in [("/etc/passwd", "does not end in `.star`"), ("../other.star", "")] {
        let folder = Folder::new().with("t.star", format!("load(\"{name}\", \"x\")\n{task}"));
        let done = folder.eval(&["t.star"]);
        done.says(2, &[name, why, "line 1"]);
        assert!(!done.err.contains("root:"), "{}", done.err);
    }
}

/// Everything that would steer a terminal.
fn is_clean(text: &str) -> bool {
    text.chars().all(|c| c == '\n' || !c.is_control())
}

#[test]
fn nothing_that_steers_a_terminal_is_printed() {
    let name = r#"na\x1b[31mme\x07\x9b5m"#;
    let task = format!(
        "def _score(state, target):\n    print('{name}')\n    if state.epoch == 2: fail('{name}' + state.output.completion)\n    \
         return Score(value = 1, explanation = '{name}')\n\ndef t():\n    return Task(name = '{name}', dataset = [Sample(input = \
         '{name}', id = '{name}', metadata = {{'{name}': '{name}'}})], scorer = scorer(_score, name = 's{name}', metrics = \
         [grouped(mean(), '{name}')]), model = mockllm('{name}\\x00'))\n"
    );
    let folder = Folder::new().with("t.star", task);
    for arguments in
        [&["t.star"][..], &["t.star", "--epochs", "2"], &["t.star", "--epochs", "2", "--fail-on-error", "never"]]
    {
        let done = folder.eval(arguments);
        assert!(is_clean(&done.out), "{:?}", done.out);
        assert!(is_clean(&done.err), "{:?}", done.err);
        assert!(done.err.contains("[31mme"), "{:?}", done.err);
    }
    let broken = answered_by("printf 'no \\033[31mluck\\007\\n' >&2; exit 1");
    let done = broken.eval(&["t.star", "--allow-commands"]);
    done.says(2, &["[31mluck"]);
    assert!(is_clean(&done.err), "{:?}", done.err);
    let scored = folder.run(&["score", &folder.logs()[0]]);
    assert!(is_clean(&scored.out), "{:?}", scored.out);
}

#[test]
fn a_huge_answer_is_scored_and_logged() {
    let task = "def t():\n    return Task(dataset = [Sample(input = 'a', target = 'end')], scorer = includes(), \
                model = mockllm('x' * 5000000 + 'end'))\n";
    let folder = Folder::new().with("t.star", task);
    assert!(near(value(&folder.json(&["t.star"]), "accuracy"), 1.0));
    let log = folder.document(&folder.last_log());
    let said = log["samples"][0]["output"]["choices"][0]["message"]["content"].as_str().unwrap();
    assert_eq!(said.len(), 5_000_003);
}

#[test]
fn agents_may_say_anything_and_read_nothing() {
    for (agent, accuracy) in [
        // NUL, and what is not UTF-8.
        ("printf 'a\\000\\377ok'", 1.0),
        // It does not read what it is told.
        ("exec <&-; echo ok", 1.0),
        // It says nothing more, and goes on for a while.
        ("echo ok; exec 1>&- 2>&-; sleep 0.2", 1.0),
        ("true", 0.0),
        ("echo '{\"output\": 5}'", 0.0),
        ("echo '{\"output\": \"ok\"} and more'", 1.0),
    ] {
        let folder = answered_by(agent);
        let json = folder.json(&["t.star", "--allow-commands"]);
        assert!(near(value(&json, "accuracy"), accuracy), "{agent}: {json:#}");
        let scored = folder.run(&["score", &folder.last_log(), "--json"]).json();
        assert_eq!(json, scored, "{agent}");
    }
    for agent in
        ["echo '{\"messages\": 5}'", "echo '{\"error\": \"tired\"}'", "echo '{\"output\": \"ok\", \"tokens\": -1}'"]
    {
        answered_by(agent).eval(&["t.star", "--allow-commands"]).says(2, &["sh agent.sh"]);
    }
}

#[test]
fn an_agent_that_does_not_read_a_huge_question_does_not_hang() {
    let task = "def t():\n    return Task(dataset = [Sample(input = 'a' * 5000000, target = 'ok')], \
                solver = command('echo ok', timeout = 10), scorer = includes())\n";
    let folder = Folder::new().with("t.star", task);
    assert!(near(value(&folder.json(&["t.star", "--allow-commands"]), "accuracy"), 1.0));
}

/// True while a process does something.
fn is_alive(pid: &str) -> bool {
    let state = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    state.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[cfg(target_os = "linux")]
#[test]
fn an_agent_that_will_not_end_is_ended_with_all_that_it_started() {
    let agent = "trap '' TERM INT HUP\n(trap '' TERM INT HUP; echo $$ >> pids; sleep 600 & echo $! >> pids; wait) &\n\
                 sleep 600 &\necho $! >> pids; wait; wait\n";
    let folder = answered_by(agent);
    let begun = Instant::now();
    let task = std::fs::read_to_string(folder.path("t.star")).unwrap().replace("timeout = 5", "timeout = 0.5");
    let folder = folder.with("t.star", task);
    let json = folder.json(&["t.star", "--allow-commands"]);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(json["runs"][0]["samples"]["scored"], 1);
    let pids = std::fs::read_to_string(folder.path("pids")).unwrap();
    assert_eq!(pids.lines().count(), 3, "{pids}");
    let deadline = Instant::now() + Duration::from_secs(5);
    while pids.lines().any(is_alive) {
        assert!(Instant::now() < deadline, "still there: {pids}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// One scenario without an agent: neither the task nor an option has a script.
fn judged_by(policy: &str) -> Folder {
    let scenarios = r#"{"scenarios": [{"id": "A-1", "category": "core", "input": "hello",
        "expected_behaviors": [{"name": "greets", "contains": "hello"}]}]}"#;
    Folder::new().with("scenarios.json", scenarios).with("policy.json", policy)
}

/// Runs it by a model that needs no script either.
const BY_MODEL: [&str; 5] = ["scenarios.json", "--model", "mockllm/model", "--gate", "policy.json"];

#[test]
fn a_policy_that_wants_all_memory_gets_an_error() {
    let policy = |expression: &str| {
        format!(r#"{{"metrics": {{"big": "{expression}"}}, "thresholds": {{"blocking": {{"big": "≥ 0.5"}}}}}}"#)
    };
    let harmless = judged_by(&policy("pass_rate()")).eval(&BY_MODEL);
    assert!(matches!(harmless.code, Some(0 | 1)), "{harmless:?}");
    for bomb in ["[0] * 2000000000", "('a' * 100000).replace('a', 'b' * 100000)"] {
        let done = judged_by(&policy(bomb)).eval(&BY_MODEL);
        done.says(2, &["error: the script ran out of memory", "hint: "]);
        assert!(!done.err.contains("memory allocation of"), "{}", done.err);
    }
}

#[test]
fn a_file_for_the_policy_that_wants_all_memory_gets_an_error() {
    let policy = r#"{"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}"#;
    let folder = judged_by(policy).with("bomb.star", "x = [0] * 2000000000\n");
    let done = folder.eval(&[&BY_MODEL[..], &["--load", "bomb.star"]].concat());
    done.says(2, &["error: the script ran out of memory"]);
}
