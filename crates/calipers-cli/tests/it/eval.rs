//! `calipers eval`: tasks, models, logs, gates, and everything that the command line can change about them.
#![cfg(unix)] // agents are shell scripts

use crate::evaluation::{Folder, near, value, value_of};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Twelve samples, of which the model gets every third wrong, and each of those right in its second attempt.
const TWELVE: &str = r#"
def twelve(right = "yes"):
    answers = {str(i): ["no", "yes"] if i % 3 == 0 else "yes" for i in range(1, 13)}
    return Task(
        dataset = [Sample(input = "q%d" % i, target = right, id = i, metadata = {"kind": "ab"[i % 2]}) for i in range(1, 13)],
        scorer = match(),
        model = mockllm(answers),
        tags = ["own"],
    )
"#;

fn twelve() -> Folder {
    Folder::new().with("twelve.star", TWELVE)
}

#[test]
fn the_examples_have_the_figures_that_can_be_worked_out_by_hand() {
    let folder = Folder::of("tasks");
    // Seven of ten right at the first attempt: three of four in physics, two of three in chemistry and in biology.
    let stderr = (0.7 * 0.3 / 9.0_f64).sqrt();
    let colors = 2.0 / 3.0;
    for (task, metric, want) in [
        ("colors.star", "mean", colors),
        ("colors.star", "stderr", 0.0),
        ("colors.star", "pass_rate", 1.0),
        ("gpqa.star@gpqa", "accuracy", 0.7),
        ("gpqa.star@gpqa", "stderr", stderr),
        ("gpqa.star@gpqa_grouped", "physics", 0.75),
        ("gpqa.star@gpqa_grouped", "chemistry", 2.0 / 3.0),
        ("gpqa.star@gpqa_grouped", "all", 0.7),
        ("gpqa.star@gpqa_groups", "all", (0.75 + 2.0 / 3.0 + 2.0 / 3.0) / 3.0),
        ("gpqa.star@gpqa_named", "category_biology", 2.0 / 3.0),
        ("gpqa.star@gpqa_clustered", "accuracy", 0.7),
        // √(Σ_c (Σ (x - 0.7))² · 3/2) / 10, with cluster sums 0.2, -0.1 and -0.1.
        ("gpqa.star@gpqa_clustered", "stderr", (0.06_f64 * 1.5).sqrt() / 10.0),
        ("gpqa.star@gpqa_reduced", "accuracy", 0.7),
        ("gpqa.star@gpqa_mode", "accuracy", 0.7),
        ("gpqa.star@gpqa_custom", "share_of_letter", 0.3),
    ] {
        let found = value(&folder.json(&[task]), metric);
        assert!(near(found, want), "{metric} of {task} is {found}, not {want}");
    }
    // P2 is right in three of five attempts, P4 in two, C2 in four, B3 in one, six always, C3 never.
    let reduced = folder.json(&["gpqa.star@gpqa_at_least"]);
    assert!(near(value_of(&reduced, 0, "accuracy"), 0.8) && near(value_of(&reduced, 1, "accuracy"), 0.5), "{reduced}");
}

#[test]
fn parameters_of_a_task_are_set_by_name() {
    let folder = twelve();
    assert!(near(value(&folder.json(&["twelve.star"]), "accuracy"), 2.0 / 3.0));
    assert!(near(value(&folder.json(&["twelve.star", "-T", "right=no"]), "accuracy"), 1.0 / 3.0));
    folder.eval(&["twelve.star", "-T", "wrong=no"]).says(2, &["`twelve` has no parameter `wrong`"]);
    folder.eval(&["twelve.star", "-T", "right"]).says(2, &["`-T right` has no `=`"]);
}

#[test]
fn of_several_tasks_one_has_to_be_named() {
    let folder = Folder::of("tasks");
    folder.eval(&["gpqa.star"]).says(2, &["has several tasks: gpqa, gpqa_grouped", "`gpqa.star@gpqa`"]);
    folder.eval(&["gpqa.star@nope"]).says(2, &["there is no task `nope`", "gpqa_grouped"]);
    assert!(folder.logs().is_empty());
}

#[test]
fn the_command_line_wins_over_the_task() {
    let folder = twelve();
    let changed = folder.json(&["twelve.star", "--model", "mockllm/model", "--scorer", "includes()", "-m", "mean()"]);
    assert_eq!(changed["runs"][0]["model"], "mockllm/model");
    assert_eq!(changed["runs"][0]["scores"][0]["scorer"], "includes");
    assert!(changed["runs"][0]["scores"][0]["metrics"].get("accuracy").is_none());
    let asked = folder.json(&["twelve.star", "--solver", "user_message('again')", "--solver", "generate()"]);
    assert!(near(value(&asked, "accuracy"), 2.0 / 3.0));
    let plan = &folder.document(&folder.last_log())["plan"]["steps"];
    assert_eq!([&plan[0]["solver"], &plan[1]["solver"]], ["user_message", "generate"]);
}

#[test]
fn attempts_are_repeated_and_reduced() {
    let folder = twelve();
    let json = folder.json(&["twelve.star", "--epochs", "2", "--reducer", "mean", "--reducer", "at_least_1"]);
    assert_eq!(json["runs"][0]["attempts"]["total"], 24);
    assert!(near(value_of(&json, 0, "accuracy"), 10.0 / 12.0), "{json:#}");
    assert!(near(value_of(&json, 1, "accuracy"), 1.0), "{json:#}");
    folder.eval(&["twelve.star", "--epochs", "0"]).says(2, &["--epochs"]);
}

#[test]
fn samples_are_chosen_by_number_and_by_name() {
    let folder = twelve();
    let total = |arguments: &[&str]| {
        let json = folder.json(&[&["twelve.star"], arguments].concat());
        json["runs"][0]["samples"]["total"].as_u64().unwrap()
    };
    assert_eq!(total(&["--limit", "5"]), 5);
    assert_eq!(total(&["--sample-id", "3", "--sample-id", "12"]), 2);
    assert_eq!(total(&["--sample-id", "3", "--sample-id", "12", "--limit", "1"]), 1);
    folder.eval(&["twelve.star", "--sample-id", "99"]).says(2, &["the dataset has no sample `99`"]);
    folder.eval(&["twelve.star", "--limit", "0"]).says(2, &["the task has no samples"]);
}

#[test]
fn the_log_has_tags_and_the_seed() {
    let folder = twelve();
    folder.json(&["twelve.star", "--tags", "nightly,big", "--tags", "third", "--seed", "17"]);
    let log = folder.document(&folder.last_log());
    let tags: Vec<&str> = log["eval"]["tags"].as_array().unwrap().iter().map(|tag| tag.as_str().unwrap()).collect();
    assert_eq!(tags, ["own", "nightly", "big", "third"]);
    assert_eq!(log["status"], "success");
    assert_eq!(log["eval"]["metadata"]["calipers"]["seed"], "17");
}

#[test]
fn eval_and_score_say_the_same_of_a_log() {
    let folder = Folder::of("tasks").with("twelve.star", TWELVE);
    for arguments in [
        &["gpqa.star@gpqa_grouped"][..],
        &["gpqa.star@gpqa_groups"],
        &["gpqa.star@gpqa_named"],
        &["gpqa.star@gpqa_clustered"],
        &["gpqa.star@gpqa_at_least"],
        &["twelve.star", "--epochs", "3"],
        &["twelve.star", "-m", "grouped(stderr(cluster='kind'), 'kind')", "-m", "ci()"],
        &["twelve.star", "--model", "mockllm/model", "--limit", "2"],
    ] {
        let said = folder.json(arguments);
        let scored = folder.run(&["score", &folder.last_log(), "--json"]).json();
        assert_eq!(said, scored, "{arguments:?}");
    }
}

#[test]
fn groups_come_in_the_same_order_whichever_attempt_was_the_quickest() {
    let folder = Folder::of("tasks");
    let run = || {
        let mut json = folder.json(&["gpqa.star@gpqa_grouped"]);
        json["runs"][0]["source"] = Value::Null;
        json.to_string()
    };
    let first = run();
    assert!((0..6).all(|_| run() == first), "{first}");
}

#[test]
fn a_log_of_inspect_names_the_metric_within_a_grouping_as_inspect_does() {
    let folder = Folder::of("tasks");
    folder.json(&["gpqa.star@gpqa_grouped"]);
    let log = folder.document(&folder.last_log());
    let grouped = &log["eval"]["scorers"][0]["metrics"][0];
    assert_eq!(grouped["name"], "inspect_ai/grouped");
    let within = serde_json::json!({"type": "metric", "name": "inspect_ai/accuracy", "params": {}});
    assert_eq!(grouped["options"], serde_json::json!({"metric": within, "group_key": "category"}));
}

/// The scenarios of the example, its agent and its policy.
const AGENT: [&str; 3] = ["scenarios.json", "--solver", "command(\"./agent.sh\")"];

#[test]
fn scenarios_are_run_by_an_agent_and_judged() {
    let folder = Folder::of("scenarios");
    let passed = folder.eval(&[&AGENT[..], &["--gate", "policy.json"]].concat());
    passed.says(0, &[]);
    assert!(passed.out.contains("\nPASS  all 4 blocking gates passed\n"), "{}", passed.out);
    let json = folder.json(&AGENT);
    assert!(near(value(&json, "mean"), 0.875), "three of four in full, one half");
    let log = folder.document(&folder.last_log());
    let calls = &log["samples"][0]["output"]["choices"][0]["message"]["tool_calls"];
    assert_eq!(calls[0]["function"], "start_refund");
    let folder = folder.with("fails.json", r#"{"pass_criteria": {"overall": "≥ 90%"}}"#);
    let failed = folder.eval(&[&AGENT[..], &["--gate", "fails.json"]].concat());
    failed.says(1, &[]);
    assert!(failed.out.contains("FAIL  pass_rate: 75 % is not ≥ 90 %"), "{}", failed.out);
    let folder = folder.with("unsure.json", r#"{"pass_criteria": {"overall": "≥ 70%"}, "confidence": 0.95}"#);
    folder.eval(&[&AGENT[..], &["--gate", "unsure.json"]].concat()).says(3, &[]);
    let json = folder.json(&[&AGENT[..], &["--gate", "policy.json"]].concat());
    assert_eq!((&json["schema"], &json["verdict"]), (&"calipers.gate/1".into(), &"pass".into()));
}

/// Four hundred samples, all of them right or all of them wrong.
const MANY: &str = r#"
def many(answer = "yes"):
    return Task(
        dataset = [Sample(input = "q", target = "yes", id = i) for i in range(400)],
        scorer = match(),
        model = mockllm(answer),
    )
"#;

#[test]
fn a_decided_gate_ends_the_run_early_in_an_order_that_the_seed_decides() {
    let folder =
        Folder::new().with("many.star", MANY).with("p.json", r#"{"thresholds": {"blocking": {"accuracy": 70}}}"#);
    let run = |answer: &str, seed: &str, code: i32| {
        let answer = format!("answer={answer}");
        let stop = ["--gate", "p.json", "--stop-when-decided", "--max-samples", "1", "--seed", seed];
        let done = folder.eval(&[&["many.star", "-T", &answer], &stop[..]].concat());
        done.says(code, &["note: decided early: ", " not needed"]);
        folder.document(&folder.last_log())
    };
    let ids = |log: &Value| -> BTreeSet<i64> {
        log["samples"].as_array().unwrap().iter().map(|sample| sample["id"].as_i64().unwrap()).collect()
    };
    let failed = run("no", "1", 1);
    let made = ids(&failed).len();
    assert!((5..50).contains(&made), "{made}");
    let stops = failed["results"]["early_stopping"]["early_stops"].as_array().unwrap();
    assert_eq!(stops.len() + made, 400);
    assert!(stops[0]["reason"].as_str().unwrap().contains("accuracy is clearly missed"), "{}", stops[0]);
    assert_eq!(failed["eval"]["metadata"]["calipers"]["seed"], "1");
    assert_eq!(failed["status"], "success");
    // How many attempts end while the gate is being decided is chance, and which ones is not.
    let (one, other) = (ids(&failed), ids(&run("no", "1", 1)));
    assert!(one.is_subset(&other) || other.is_subset(&one), "{one:?}\n{other:?}");
    assert!(one.iter().any(|&id| id >= 200), "not the first of the file: {one:?}");
    let passed = ids(&run("yes", "2", 0));
    assert!(!passed.is_subset(&one) && !one.is_subset(&passed), "another seed is another order");
}

/// Two hundred samples, half of which an agent gets wrong, and takes longer for.
fn slow_failures() -> Folder {
    let task = "def t():\n    return Task(dataset = [Sample(input = 'q%d' % i, target = 'yes', id = i) for i in range(200)], \
                scorer = match())\n";
    let agent =
        "case $(cat) in *q?[02468]\\\"*|*q??[02468]\\\"*|*q[02468]\\\"*) sleep 0.7; echo no;; *) echo yes;; esac";
    Folder::new().with("t.star", task).with("agent.sh", agent)
}

#[test]
fn quick_answers_do_not_decide_before_slow_ones() {
    let folder = slow_failures().with("p.json", r#"{"thresholds": {"blocking": {"accuracy": 75}}}"#);
    let agent = ["t.star", "--solver", "command(\"sh agent.sh\")", "--max-samples", "40", "--seed", "3"];
    let done = folder.eval(&[&agent[..], &["--gate", "p.json", "--stop-when-decided"]].concat());
    // In the order in which they end, the first forty answers are nearly all right.
    done.says(1, &["note: decided early: accuracy is clearly missed", " not needed"]);
}

#[test]
fn what_broke_does_not_decide_a_gate_early() {
    // Three of ten break, and the others are right: the true rate is between 70 % and 100 %.
    let agent = "case $(cat) in *[0-2],\\\"epoch\\\"*) exit 3;; *) echo yes;; esac";
    let judged = |threshold: u32| {
        let policy = format!(r#"{{"thresholds": {{"blocking": {{"accuracy": {threshold}}}}}, "confidence": 0.95}}"#);
        let folder = Folder::new().with("many.star", MANY).with("agent.sh", agent).with("p.json", policy);
        let options = ["--fail-on-error", "never", "--gate", "p.json", "--stop-when-decided", "--seed", "5"];
        folder.eval(&[&["many.star", "--solver", "command(\"sh agent.sh\")"], &options[..]].concat())
    };
    let met = judged(50);
    assert_eq!(met.code == Some(0), met.err.contains("clearly met"), "{met:?}");
    // Where what broke could turn the verdict, no look decides, and the level is spent once.
    let unsure = judged(85);
    unsure.says(3, &["the verdict has 96 % confidence"]);
    assert!(!unsure.err.contains("decided early"), "{unsure:?}");
    assert!(unsure.out.contains("decided with 96 % confidence"), "{unsure:?}");
}

#[test]
fn replayed_answers_have_the_same_scores_and_other_scorers_have_others() {
    let folder = twelve();
    let first = folder.json(&["twelve.star", "--epochs", "2"]);
    let log = folder.last_log();
    let same = folder.json(&["twelve.star", "--replay", &log]);
    assert_eq!(first["runs"][0]["scores"], same["runs"][0]["scores"]);
    assert_eq!(same["runs"][0]["attempts"]["total"], 24);
    let same = folder.json(&["--replay", &log, "--scorer", "match()"]);
    assert_eq!(same["runs"][0]["task"], "twelve");
    assert_eq!(first["runs"][0]["scores"], same["runs"][0]["scores"]);
    let other = folder.json(&["--replay", &log, "--scorer", "pattern('(no)')"]);
    assert!(near(value(&other, "accuracy"), 0.0), "the target is yes");
    folder.eval(&["--replay", &log]).says(2, &["nothing scores the answers", "--scorer"]);
    folder.eval(&["--replay", "nope.eval", "--scorer", "match()"]).says(2, &["nope.eval", "hint: check the name"]);
}

/// A server that speaks OpenAI's language and says yes. It counts how often it is asked.
fn server() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, count) = (stream.unwrap(), count.clone());
            std::thread::spawn(
                move || while answer(&mut stream).is_some_and(|()| count.fetch_add(1, Relaxed) < 1000) {},
            );
        }
    });
    (address, asked)
}

fn answer(stream: &mut TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse().ok()?,
            None if line.trim_end().is_empty() => break,
            _ => {}
        }
    }
    reader.read_exact(&mut vec![0; length]).ok()?;
    let usage = r#"{"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}"#;
    let message = r#"{"role": "assistant", "content": "yes"}"#;
    let choice = format!(r#"{{"index": 0, "finish_reason": "stop", "message": {message}}}"#);
    let body = format!(r#"{{"model": "m", "choices": [{choice}], "usage": {usage}}}"#);
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all((head + &body).as_bytes()).ok()
}

#[test]
fn cached_answers_are_not_asked_for_again() {
    let folder = twelve();
    let (address, asked) = server();
    let run =
        || folder.json(&["twelve.star", "--model", "openai/m", "--model-base-url", &address, "--cache", "answers"]);
    let first = run();
    assert!(near(value(&first, "accuracy"), 1.0));
    assert_eq!(asked.load(Relaxed), 12);
    let second = run();
    assert_eq!(first["runs"][0]["scores"], second["runs"][0]["scores"]);
    assert_eq!(asked.load(Relaxed), 12, "all of it was known");
}

#[test]
fn tokens_and_prices_are_counted_and_limited() {
    let folder = twelve();
    let (address, _) = server();
    let local = ["twelve.star", "--model", "openai/m", "--model-base-url", &address, "--price", "openai/m=2,4"];
    folder.json(&[&local[..], &["--limit", "2"]].concat());
    let log = folder.document(&folder.last_log());
    let usage = &log["stats"]["model_usage"]["openai/m"];
    assert_eq!(usage["total_tokens"], 3000);
    assert!(near(usage["total_cost"].as_f64().unwrap(), 2.0 * (0.002 + 0.002)), "{usage}");
    for (option, limit, kind) in [("--token-limit", "100", "token"), ("--cost-limit", "0.001", "cost")] {
        folder.json(&[&local[..], &["--limit", "1", option, limit]].concat());
        let log = folder.document(&folder.last_log());
        assert_eq!(log["samples"][0]["limit"]["type"], kind);
    }
}

#[test]
fn mistakes_are_told_before_anything_is_asked() {
    let folder = twelve()
        .with("bad.star", "def t():\n    return Task(dataset = [Sample(input = 'a')], scorer = matsch())\n")
        .with("none.star", "x = 1\n")
        .with("noscorer.star", "def t():\n    return Task(dataset = [Sample(input = 'a')], model = mockllm('x'))\n")
        .with("nodata.star", "def t():\n    return Task(dataset = csv_dataset('nope.csv'), scorer = match())\n")
        .with("nomodel.star", "def t():\n    return Task(dataset = [Sample(input = 'a')], scorer = match())\n")
        .with("data.csv", "id,input\n1,a\n");
    for (arguments, texts) in [
        (&["nope.star"][..], &["`nope.star` cannot be read", "hint: "][..]),
        (&["bad.star"], &["in bad.star, line 2", "^^^^^^", "did you mean `match`?"]),
        (&["none.star"], &["none.star has no task", "calipers/tasks.html"]),
        (&["noscorer.star"], &["nothing scores the answers of `t`", "--scorer"]),
        (&["nodata.star", "--model", "mockllm/model"], &["nope.csv", "hint: check the name of the file"]),
        (&["nomodel.star"], &["no model is named", "--model"]),
        (&["data.csv"], &["neither a task file nor a file of scenarios", "`.star`"]),
        (&["twelve.star", "--model", "opnai/gpt-5"], &["there is no provider `opnai`", "did you mean `openai`?"]),
        (&["twelve.star", "--model", "gpt-5"], &["`gpt-5` is not the name of a model"]),
        (&["twelve.star", "--model", "openai/gpt-5"], &["needs a key", "`OPENAI_API_KEY`"]),
        (&["twelve.star", "--scorer", "exakt()"], &["there is no `exakt`", "^^^^^"]),
        (&["twelve.star", "--time-limit=-1"], &["`--time-limit -1`"]),
        (&["twelve.star", "--fail-on-error", "often"], &["`--fail-on-error often`", "never"]),
        (&["twelve.star", "--price", "x"], &["`--price x` is not a price"]),
        (&["twelve.star", "--gate", "nope.json"], &["nope.json"]),
        (&["twelve.star", "--log-dir", "/proc/nope"], &["/proc/nope", "hint: check the folder"]),
        (&["--resume", "nope.eval"], &["nope.eval", "hint: check its name"]),
        (&["--resume", "x.eval", "--trust", "--epochs", "2"], &["cannot be used with"]),
        (&["twelve.star", "--resume", "x.eval", "--trust"], &["cannot be used with"]),
        (&["twelve.star", "--env", "SURELY_NOT_SET"], &["`SURELY_NOT_SET` of `--env` is not set"]),
        (&["twelve.star", "--env", "A=b"], &["takes the name of a variable", "stays out of the log"]),
        (&["twelve.star", "--budget", "0"], &["`--budget 0` is not an amount of money"]),
        (&["twelve.star", "--cost-limit=-1"], &["`--cost-limit -1` is not an amount of money"]),
        (&["twelve.star", "--cost-limit", "nan"], &["is not an amount of money"]),
        (&["twelve.star", "--requests-per-minute", "0"], &["--requests-per-minute"]),
        (&["twelve.star", "--solver", "./agent.py"], &["to run a program", "--solver 'command(\"./agent.py\")'"]),
        (&["twelve.star", "--solver", "agent.py --fast"], &["--solver 'command(\"agent.py --fast\")'"]),
        (&["twelve.star", "--scorer", "./judge.sh"], &["--scorer 'command(\"./judge.sh\")'"]),
    ] {
        folder.eval(arguments).says(2, texts);
    }
    assert!(folder.logs().is_empty(), "{:?}", folder.logs());
}

#[test]
fn a_task_in_python_without_an_interpreter_names_the_fix() {
    let folder = twelve().with("colors.py", "");
    let mut command = folder.command(&["eval", "colors.py@colors", "--model", "mockllm/model"]);
    let done = command.env("CALIPERS_PYTHON", folder.path("nowhere")).output().expect("started");
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    for text in ["tasks in Python need Python", "install Python 3.10 or newer", "`CALIPERS_PYTHON`"] {
        assert!(said.contains(text), "{text:?} is not in {said}");
    }
}

#[test]
fn a_disk_without_room_is_told_before_anything_is_asked() {
    let folder = twelve();
    std::fs::create_dir(folder.path("small")).unwrap();
    let small = folder.path("small");
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
        .arg(&small)
        .output()
        .is_ok_and(|output| output.status.success());
    if !mounted {
        eprintln!("not checked: a small disk cannot be mounted here");
        return;
    }
    let asks = "def t():\n    return Task(dataset = [Sample(input = 'a')], solver = command('touch asked'), scorer = match())\n";
    std::fs::write(folder.path("asks.star"), asks).unwrap();
    let done = folder.eval(&["asks.star", "--allow-commands", "--log-dir", "small"]);
    let left = std::fs::read_dir(&small).unwrap().count();
    let _ = std::process::Command::new("umount").arg(&small).status();
    done.says(2, &["the log cannot be started", "make room, or name another folder"]);
    assert_eq!(left, 0, "half a log would be in the way");
    assert!(!folder.path("asked").exists());
}

/// An agent that breaks for every sample whose question has a `b` in it.
const BREAKS: &str = r#"
def breaks():
    return Task(
        dataset = [Sample(input = text, target = "ok", id = text) for text in ["a1", "b1", "a2", "b2", "a3"]],
        solver = command("case $(cat) in *b?*) echo no luck >&2; exit 3;; esac; echo ok"),
        scorer = match(),
    )
"#;

#[test]
fn what_broke_is_neither_right_nor_wrong() {
    let folder = Folder::new().with("breaks.star", BREAKS);
    let first = folder.eval(&["breaks.star", "--allow-commands", "--max-samples", "1"]);
    first.says(2, &["attempt 1 of sample `b1` ended in an error", "no luck", "--max-samples 1 --resume logs/"]);
    let never = folder.eval(&["breaks.star", "--allow-commands", "--fail-on-error", "never"]);
    never.says(0, &["2 attempts ended in an error", "`b1`", "no luck"]);
    let json = folder.json(&["breaks.star", "--allow-commands", "--fail-on-error", "never"]);
    assert!(near(value(&json, "accuracy"), 1.0), "{json:#}");
    let samples = &json["runs"][0]["samples"];
    assert_eq!([&samples["total"], &samples["scored"], &samples["errored"]], [5, 3, 2]);
    folder.eval(&["breaks.star", "--allow-commands", "--fail-on-error", "3"]).says(0, &[]);
    folder
        .eval(&["breaks.star", "--allow-commands", "--fail-on-error", "2"])
        .says(2, &["2 attempts ended in an error, and 2 stop the run"]);
    folder.eval(&["breaks.star", "--allow-commands", "--fail-on-error", "0.5"]).says(0, &[]);
    folder
        .eval(&["breaks.star", "--allow-commands", "--fail-on-error", "0.4"])
        .says(2, &["2 of 5 attempts ended in an error"]);
}

/// The same with an agent that keeps count, and that breaks no more once it is mended.
fn mendable() -> Folder {
    let agent = "echo x >> count; test -e mended || case $(cat) in *b?*) exit 3;; esac; echo ok";
    let own = "case $(cat) in *b?*) echo no luck >&2; exit 3;; esac; echo ok";
    Folder::new().with("breaks.star", BREAKS.replace(own, "sh agent.sh")).with("agent.sh", agent)
}

#[test]
fn what_broke_is_made_again_by_resume_and_what_is_done_is_not() {
    let folder = mendable();
    folder
        .eval(&["breaks.star", "--allow-commands", "--max-samples", "1", "--fail-on-error", "2"])
        .says(2, &["--resume"]);
    let folder = folder.with("mended", "");
    let log = folder.last_log();
    let resumed = folder.eval(&["--resume", &log, "--trust", "--json"]);
    resumed.says(0, &[]);
    assert!(near(value(&resumed.json(), "accuracy"), 1.0));
    assert_eq!(resumed.json()["runs"][0]["samples"]["scored"], 5);
    assert_eq!(resumed.json()["runs"][0]["source"], log.as_str());
    // Four attempts until the second broke, then the two that broke and the one that was not begun.
    assert_eq!(std::fs::read_to_string(folder.path("count")).unwrap().lines().count(), 4 + 3);
    assert_eq!(folder.logs().len(), 1);
    folder.eval(&["--resume", &log]).says(2, &["is finished: nothing is left to do"]);
}

#[test]
fn a_log_is_gone_on_with_from_any_folder() {
    let folder = mendable();
    folder.eval(&["breaks.star", "--allow-commands", "--max-samples", "1"]).says(2, &["--resume"]);
    let folder = folder.with("mended", "");
    let log = folder.path(&folder.last_log());
    let (parent, name) = (log.parent().unwrap(), log.file_name().unwrap().to_str().unwrap());
    let output = folder.command(&["eval", "--resume", name, "--trust"]).current_dir(parent).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(folder.document(&folder.last_log())["status"], "success");
}

#[test]
fn limits_end_attempts_and_not_the_run() {
    let slow = "def slow():\n    return Task(dataset = [Sample(input = 'a', target = 'x', id = i) for i in range(3)], \
                solver = command('sleep 30'), scorer = match())\n";
    let folder = Folder::new().with("slow.star", slow);
    let begun = std::time::Instant::now();
    let json = folder.json(&["slow.star", "--allow-commands", "--time-limit", "0.3"]);
    assert!(begun.elapsed().as_secs() < 10);
    assert_eq!(json["runs"][0]["samples"]["scored"], 3, "{json:#}");
    let log = folder.document(&folder.last_log());
    assert_eq!(log["samples"][0]["limit"]["type"], "time");
    let many = twelve();
    let json = many.json(&["twelve.star", "--message-limit", "1", "--limit", "1"]);
    assert_eq!(json["runs"][0]["samples"]["total"], 1);
    assert_eq!(many.document(&many.last_log())["samples"][0]["limit"]["type"], "message");
}

#[test]
fn the_policy_of_a_run_takes_the_options_of_gate() {
    let folder = Folder::of("scenarios")
        .with("suite.json", r#"["CORE-001", "NOT-RUN-001"]"#)
        .with("own.star", "def halves(scores):\n    return 0.5\n")
        .with("own.json", r#"{"metrics": {"half": "halves"}, "thresholds": {"blocking": {"half": "≥ 0.4"}}}"#);
    let judge = |policy: &str, more: &[&str]| folder.json(&[&AGENT[..], &["--gate", policy], more].concat());
    let loaded = judge("own.json", &["--load", "own.star"]);
    assert_eq!(
        (&loaded["verdict"], &loaded["provenance"]["scripts"]),
        (&"pass".into(), &serde_json::json!(["own.star"]))
    );
    folder.eval(&[&AGENT[..], &["--gate", "own.json"]].concat()).says(2, &["halves"]);
    let with_suite = folder.eval(&[&AGENT[..], &["--gate", "policy.json", "--suite", "suite.json", "--json"]].concat());
    assert!(with_suite.out.contains("NOT-RUN-001"), "{with_suite:?}");
    let log = folder.last_log();
    let recorded = folder.run(&["baseline", "record", &log, "--policy", "policy.json", "-o", "baseline.json"]);
    assert_eq!(recorded.code, Some(0), "{recorded:?}");
    let compared = judge("policy.json", &["--baseline", "baseline.json"]);
    assert!(!compared["baseline"].is_null(), "{compared}");
    folder.eval(&["scenarios.json", "--suite", "suite.json"]).says(2, &["--gate"]);
}

#[test]
fn a_metric_and_a_scorer_are_called_as_the_functions_that_make_them() {
    let task = r#"
def pass_rate(threshold: float = 0.5) -> Metric:
    """Proportion of samples scoring at or above `threshold`."""
    def metric(scores: list[SampleScore]) -> float:
        if not scores:
            return 0.0
        passed = [s for s in scores if s.score.as_float() >= threshold]
        return len(passed) / len(scores)
    return metric

def word_overlap():
    def score(state: TaskState, target: Target) -> Score:
        words = target.text.lower().split()
        hits = len([word for word in words if word in state.output.completion.lower()])
        return Score(value = hits / len(words) if words else 0.0)
    return score

def colors(by_name = False):
    return Task(
        dataset = [Sample(input = "Name three primary colors.", target = "red green blue")],
        scorer = word_overlap if by_name else word_overlap(),
        metrics = [mean(), pass_rate if by_name else pass_rate()],
        model = mockllm("Red, yellow and blue."),
    )
"#;
    let folder = Folder::new().with("colors.star", task);
    for by_name in ["false", "true"] {
        let json = folder.json(&["colors.star@colors", "-T", &format!("by_name={by_name}")]);
        assert_eq!(json["runs"][0]["scores"][0]["scorer"], "word_overlap", "{json:#}");
        assert!(near(value(&json, "pass_rate"), 1.0), "{json:#}");
    }
}
