//! What `calipers eval` does with files that may come from someone else, and what it keeps from others: programs run only
//! where that was said, keys stay where they are, and logs and caches are their owner's.
#![cfg(unix)] // agents are shell scripts

use crate::evaluation::{Folder, near, value};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Three samples. The program of `--solver` answers them.
const TASK: &str = r#"
def t(right = "ok"):
    return Task(
        dataset = [Sample(input = "q%d" % i, target = right, id = i) for i in range(1, 4)],
        scorer = includes(),
        model = mockllm("ok"),
    )
"#;

fn folder() -> Folder {
    Folder::new().with("t.star", TASK)
}

/// A program that leaves a trace, and breaks until it is mended.
const TRACE: &str = "touch trace; test -e mended && echo ok";

/// A run of this program that broke, without its trace.
fn broken(program: &str) -> (Folder, String) {
    let folder = folder();
    let solver = format!("command(\"{program}\")");
    folder.eval(&["t.star", "--solver", &solver, "--max-samples", "1"]).says(2, &["did not finish"]);
    std::fs::remove_file(folder.path("trace")).unwrap();
    let log = folder.last_log();
    (folder, log)
}

#[test]
fn a_log_runs_nothing_that_was_not_asked_for() {
    let (folder, log) = broken(TRACE);
    let refused = folder.eval(&["--resume", &log]);
    // Everything that would run is shown, and where.
    let here = std::fs::canonicalize(folder.path(".")).unwrap();
    refused.says(2, &["may come from someone else", TRACE, here.to_str().unwrap(), "--trust", "`--resume` added"]);
    assert!(!folder.path("trace").exists());
    let folder = folder.with("mended", "");
    let trusted = folder.eval(&["--resume", &log, "--trust"]);
    trusted.says(0, &[TRACE]);
    assert!(folder.path("trace").exists());
    assert_eq!(folder.document(&log)["status"], "success");
}

#[test]
fn what_a_log_records_is_shown_on_one_line() {
    let program = "touch trace; exit 3\\n::error::gotcha\\n\\033[2J";
    let (folder, log) = broken(program);
    let refused = folder.eval(&["--resume", &log]);
    refused.says(2, &["touch trace", "::error::gotcha"]);
    assert!(!refused.err.lines().any(|line| line.starts_with("::")), "{}", refused.err);
    assert!(!refused.err.contains('\u{1b}'), "{}", refused.err);
}

#[test]
fn a_log_goes_on_with_the_command_that_began_it_and_no_other() {
    let (folder, log) = broken(TRACE);
    let solver = format!("command(\"{TRACE}\")");
    let typed = ["t.star", "--solver", &solver, "--resume", &log];
    for (options, what) in [
        (&["--epochs", "2"][..], "the number of attempts per sample is `2` and was `1`"),
        (&["--model", "mockllm/other"], "the model is `mockllm/other` and was `mockllm/model`"),
        (&["--scorer", "match()"], "not the same scorers"),
        (&["--scorer", "includes(ignore_case=False)"], "not the same scorers"),
        (&["--limit", "2"], "not the same samples"),
        (&["-T", "right=no"], "not the same content of the samples"),
        (&["--seed", "3"], "the seed is `3` and was `0`"),
        (&["--time-limit", "5"], "not the same limits of an attempt"),
        (&["--temperature", "0.5"], "not the same generation options"),
        (&["-m", "mean()"], "not the same scorers"),
        (&["--solver", "generate()"], "not the same solvers"),
    ] {
        let other = folder.eval(&[&typed[..], options].concat());
        other.says(2, &["not the run that the log has begun with", what, "hint: "]);
    }
    folder.eval(&["t.star", "--resume", &log]).says(2, &["not the same solvers"]);
    assert!(!folder.path("trace").exists(), "nothing ran");
    // What decides no answer may change.
    let folder = folder.with("mended", "");
    let json =
        folder.json(&[&typed[..], &["--max-samples", "3", "--fail-on-error", "never", "--tags", "later"]].concat());
    assert!(near(value(&json, "accuracy"), 1.0), "{json:#}");
}

#[test]
fn a_log_without_its_secrets_is_not_resumed_from_itself() {
    let folder = folder();
    let solver = "command(\"test \\\"$KEY\\\" = hunter2 && test -e mended && echo ok\", env={\"KEY\": \"hunter2\"})";
    let broken = folder.eval(&["t.star", "--solver", solver]);
    broken.says(2, &["--resume logs/", "--trust"]);
    let log = folder.last_log();
    assert!(!folder.document(&log).to_string().contains("KEY\\\": \\\"hunter2"), "the value is in the log");
    let folder = folder.with("mended", "");
    folder.eval(&["--resume", &log, "--trust"]).says(2, &["a part of it is secret", "repeat the command"]);
    folder.eval(&["t.star", "--solver", solver, "--resume", &log]).says(0, &[]);
}

/// Task files that run a program in a way that is not obvious.
const HIDDEN: [(&str, &str); 5] = [
    ("solver = command('touch trace; echo ok')", ""),
    ("scorer = command('touch trace; echo 1')", ""),
    ("solver = [generate(), command('touch trace; echo ok')]", ""),
    ("solver = agent", "def agent():\n    return command('touch trace; echo ok')\n"),
    ("solver = command(['sh', '-c', 'touch trace; echo ok'], cwd = '.')", ""),
];

#[test]
fn a_task_file_runs_programs_only_if_that_is_allowed() {
    for (part, before) in HIDDEN {
        let scorer = if part.starts_with("scorer") { "" } else { "scorer = includes(), " };
        let task = format!(
            "{before}def t():\n    return Task(dataset = [Sample(input = 'a', target = 'ok')], {scorer}{part}, \
             model = mockllm('ok'))\n"
        );
        let folder = Folder::new().with("t.star", task);
        folder.eval(&["t.star@t"]).says(2, &["t.star runs a program", "touch trace", "--allow-commands"]);
        assert!(!folder.path("trace").exists() && folder.logs().is_empty(), "{part}");
        folder.eval(&["t.star@t", "--allow-commands"]).says(0, &[]);
        assert!(folder.path("trace").exists(), "{part}");
    }
}

#[test]
fn a_program_of_the_command_line_is_allowed_and_one_behind_a_name_of_the_file_is_not() {
    let own = "def agent():\n    return command('touch trace; echo ok')\n";
    let folder = Folder::new().with("t.star", format!("{own}{TASK}"));
    folder.eval(&["t.star@t", "--solver", "agent()"]).says(2, &["t.star runs a program", "touch trace"]);
    assert!(!folder.path("trace").exists());
    folder.eval(&["t.star@t", "--solver", "command('echo ok')"]).says(0, &[]);
    folder.eval(&["t.star@t", "--scorer", "command('echo 1')"]).says(0, &[]);
    // A file that gives the word another meaning.
    let evil = "load('other.star', 'run')\ndef command(line):\n    return run('touch trace; echo ok')\n";
    let folder = Folder::new().with("t.star", format!("{evil}{TASK}")).with("other.star", "run = command\n");
    folder.eval(&["t.star@t", "--solver", "command('echo ok')"]).says(2, &["t.star runs a program", "touch trace"]);
    assert!(!folder.path("trace").exists());
}

#[test]
fn programs_get_the_variables_that_are_named_and_no_others() {
    let folder = folder();
    let said = |options: &[&str]| {
        let arguments = ["eval", "t.star", "--solver", "command(\"env\", env={\"MODE\": \"quick\"})", "--limit", "1"];
        let mut command = folder.command(&[&arguments[..], options].concat());
        command.env("OPENAI_API_KEY", "sk-hidden").env("DEPLOY_TOKEN", "tk-hidden").env("LC_TIME", "C");
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let log = folder.document(&folder.last_log());
        log["samples"][0]["output"]["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
    };
    let usual = said(&[]);
    assert!(!usual.contains("hidden") && !usual.contains("CALIPERS_SCRIPT_CHILD"), "{usual}");
    for there in ["PATH=", "LC_TIME=C", "MODE=quick"] {
        assert!(usual.lines().any(|line| line.starts_with(there)), "{there}: {usual}");
    }
    let named = said(&["--env", "OPENAI_API_KEY"]);
    assert!(named.contains("OPENAI_API_KEY=sk-hidden") && !named.contains("tk-hidden"), "{named}");
}

#[test]
fn an_agent_that_lacks_its_key_gets_a_hint() {
    let folder = folder();
    let needs = "command(\"test -n \\\"$OPENAI_API_KEY\\\" && echo ok\")";
    let mut command = folder.command(&["eval", "t.star", "--solver", needs]);
    let output = command.env("OPENAI_API_KEY", "sk-hidden").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("if the program needs `OPENAI_API_KEY`, add `--env OPENAI_API_KEY`"), "{said}");
    assert!(!said.contains("sk-hidden"), "{said}");
}

/// The permissions of a file or folder.
fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn logs_are_for_their_owner() {
    let folder = folder();
    folder.eval(&["t.star"]).says(0, &[]);
    assert_eq!(mode(&folder.path(&folder.last_log())), 0o600);
}

#[test]
fn a_run_in_which_everything_broke_is_no_success() {
    let folder = folder();
    let all = ["t.star", "--solver", "command(\"echo no luck >&2; exit 3\")", "--fail-on-error", "never"];
    let broken = folder.eval(&all);
    broken.says(2, &["all 3 attempts ended in an error", "no luck", "--resume logs/"]);
    assert_eq!(folder.document(&folder.last_log())["status"], "error");
    let folder = folder.with("p.json", r#"{"thresholds": {"warning": {"accuracy": 1}}}"#);
    folder.eval(&[&all[..], &["--gate", "p.json"]].concat()).says(2, &["all 3 attempts ended in an error"]);
    // One answer is an answer.
    let one = "command(\"case $(cat) in *q2*) echo ok;; *) exit 3;; esac\")";
    folder.eval(&["t.star", "--solver", one, "--fail-on-error", "never"]).says(0, &["2 attempts ended in an error"]);
}

/// Where the directory of an archive begins.
fn directory(bytes: &[u8]) -> usize {
    bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap()
}

#[test]
fn a_log_that_lost_its_directory_is_finished_again() {
    let folder = folder();
    folder.eval(&["t.star"]).says(0, &[]);
    let log = folder.last_log();
    folder.eval(&["t.star", "--resume", &log]).says(2, &["is finished: nothing is left to do"]);
    let bytes = std::fs::read(folder.path(&log)).unwrap();
    std::fs::write(folder.path(&log), &bytes[..directory(&bytes)]).unwrap();
    let json = folder.json(&["t.star", "--resume", &log]);
    assert!(near(value(&json, "accuracy"), 1.0), "{json:#}");
    let mended = std::fs::read(folder.path(&log)).unwrap();
    assert!(directory(&mended) > 0);
    assert_eq!(folder.document(&log)["samples"].as_array().unwrap().len(), 3);
}

#[test]
fn a_disk_that_is_full_at_the_end_costs_nothing_but_the_end() {
    // The same noise each time, so that the log has the same length each time.
    let mut state = 1_u64;
    let noise: String = (0..60_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'!' + (state >> 57) as u8 % 90)
        })
        .collect();
    let folder = folder().with("noise", format!("ok {noise}"));
    let noise = "command(\"cat noise\")";
    let arguments = ["t.star", "--solver", noise, "--epochs", "10", "--max-samples", "1"];
    folder.eval(&arguments).says(0, &[]);
    let whole = std::fs::metadata(folder.path(&folder.last_log())).unwrap().size();
    assert!(whole > 1 << 20, "{whole}: a log needs a mebibyte to begin");
    for missing in [1024, 3000, 8000] {
        std::fs::remove_dir_all(folder.path("logs")).unwrap();
        let eval = folder.command(&[&["eval"], &arguments[..]].concat());
        let mut limited = std::process::Command::new("sh");
        // Writes beyond the limit fail, as on a full disk, where the signal is ignored.
        let script = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"", (whole - missing) / 512);
        limited.args(["-c", &script]).arg(eval.get_program()).args(eval.get_args());
        let output = limited.current_dir(folder.path(".")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("cannot be written"), "{said}");
        let log = folder.last_log();
        assert_eq!(folder.run(&["score", &log]).code, Some(0), "what is in it can be read");
        folder.eval(&[&arguments[..], &["--resume", &log]].concat()).says(0, &[]);
        let document = folder.document(&log);
        assert_eq!((&document["status"], document["samples"].as_array().unwrap().len()), (&"success".into(), 30));
    }
}

/// True while a process does something.
fn is_alive(pid: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[test]
fn a_process_that_a_program_leaves_behind_does_not_keep_it() {
    let folder = folder().with("agent.sh", "(sleep 600 &)\nsleep 600 &\necho ok\n");
    let begun = std::time::Instant::now();
    folder.json(&["t.star", "--solver", "command(\"sh agent.sh\", timeout=60)", "--limit", "1"]);
    assert!(begun.elapsed().as_secs() < 50, "{:?}", begun.elapsed());
}

#[cfg(target_os = "linux")]
#[test]
fn what_leaves_the_group_of_its_program_ends_with_it() {
    if std::process::Command::new("setsid").arg("true").output().is_err() {
        eprintln!("not checked: there is no `setsid` here");
        return;
    }
    // A session of its own, one whose parent is gone, and one that has thrown its environment away.
    let agent = "touch pids\n\
                 setsid sh -c 'echo $$ >> pids; exec sleep 600' &\n\
                 (setsid sh -c 'echo $$ >> pids; sleep 600 & echo $! >> pids; wait' &)\n\
                 (setsid env -i sh -c 'echo $$ >> pids; exec /bin/sleep 600' &)\n\
                 while test $(wc -l < pids) -lt 4; do sleep 0.01; done\n";
    for (end, timeout) in [("echo ok", 30.0), ("sleep 600", 1.0)] {
        let folder = folder().with("agent.sh", format!("{agent}{end}\n"));
        let solver = format!("command(\"sh agent.sh\", timeout={timeout})");
        let begun = std::time::Instant::now();
        folder.json(&["t.star", "--solver", &solver, "--limit", "1"]);
        assert!(begun.elapsed().as_secs() < 25, "{:?}", begun.elapsed());
        let pids = std::fs::read_to_string(folder.path("pids")).unwrap();
        assert_eq!(pids.lines().count(), 4, "{pids}");
        let left: Vec<&str> = pids.lines().filter(|pid| is_alive(pid)).collect();
        assert!(left.is_empty(), "{end}: still there: {left:?}");
    }
}

#[test]
fn the_path_of_the_log_is_printed_once() {
    let folder = folder().with("p.json", r#"{"thresholds": {"blocking": {"accuracy": 50}}}"#);
    for options in [&[][..], &["--gate", "p.json"]] {
        let done = folder.eval(&[&["t.star"], options].concat());
        let said = done.out + &done.err;
        assert_eq!(said.matches(".eval").count(), 1, "{said}");
    }
}

#[test]
fn the_folders_of_a_cache_are_for_their_owner() {
    let folder = folder();
    folder.eval(&["t.star", "--cache", "own/answers"]).says(0, &[]);
    assert_eq!((mode(&folder.path("own")), mode(&folder.path("own/answers"))), (0o700, 0o700));
}
