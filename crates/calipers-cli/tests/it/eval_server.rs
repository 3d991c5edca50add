//! `calipers eval` against a real server that misbehaves on purpose: what may pass is tried again, what does not is an
//! error of its attempt, and nothing hangs, is paid for twice, or shows the key.

use crate::program;
use calipers_testing::server::{Reply, Server};
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

const KEY: &str = "sk-very-secret-0123456789";
/// No case takes a quarter of this, whatever the server does.
const PATIENCE: Duration = Duration::from_secs(120);

fn answer() -> Json {
    json!({
        "id": "x", "object": "chat.completion", "model": "test-2026",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "It is Paris."}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150},
    })
}

fn good() -> Reply {
    Reply::json(200, answer())
}

/// A server, and a folder with a task whose model is there.
struct Case {
    runtime: Runtime,
    server: Server,
    folder: PathBuf,
}

impl Case {
    fn new(name: &str, samples: usize, replies: impl IntoIterator<Item = Reply>) -> Self {
        let folder = std::env::temp_dir().join(format!("calipers-eval-server-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let samples: Vec<String> =
            (1..=samples).map(|n| format!("Sample(id = {n}, input = \"Question {n}?\", target = \"Paris\")")).collect();
        let task =
            format!("def capital():\n    return Task(dataset = [{}], scorer = includes())\n", samples.join(", "));
        std::fs::write(folder.join("capital.star"), task).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let server = runtime.block_on(Server::start(replies));
        Self { runtime, server, folder }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program::calipers().command();
        command.arg("eval").args(arguments).current_dir(&self.folder).env("OPENAI_API_KEY", KEY);
        command.env("OPENAI_BASE_URL", &self.server.url).env_remove("http_proxy");
        command
    }

    #[track_caller]
    fn eval(&self, options: &[&str]) -> Run {
        let arguments = [&["capital.star", "--model", "openai/test", "--json"], options].concat();
        self.run(&arguments)
    }

    #[track_caller]
    fn run(&self, arguments: &[&str]) -> Run {
        let started = Instant::now();
        let child = self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = within(child, PATIENCE);
        let run = Run {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            took: started.elapsed(),
        };
        self.assert_no_key(&run);
        run
    }

    /// The one log there is.
    fn log(&self) -> PathBuf {
        let mut logs = std::fs::read_dir(self.folder.join("logs")).unwrap().map(|entry| entry.unwrap().path());
        let log = logs.next().unwrap();
        assert!(logs.next().is_none(), "more than one log");
        log
    }

    /// Everything that the log says, without compression.
    fn logged(&self) -> Json {
        let out = self.folder.join("log.json");
        let _ = std::fs::remove_file(&out);
        let mut convert = program::calipers().command();
        let done = convert.arg("convert").arg(self.log()).arg("-o").arg(&out).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        // Inspect writes what is not defined as NaN, which is no JSON.
        let text = std::fs::read_to_string(&out).unwrap().replace("NaN", "null");
        serde_json::from_str(&text).unwrap()
    }

    #[track_caller]
    fn assert_no_key(&self, run: &Run) {
        assert!(!run.stdout.contains(KEY), "{}", run.stdout);
        assert!(!run.stderr.contains(KEY), "{}", run.stderr);
        if self.folder.join("logs").exists() {
            let logged = self.logged().to_string();
            assert!(logged.contains("Question 1?") || logged.contains("samples"), "{logged}");
            assert!(!logged.contains(KEY), "{logged}");
        }
        // It was there to be shown.
        assert!(self.server.requests().iter().all(|request| request.head.contains(KEY)));
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        let _inside = self.runtime.enter();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The summary of a run.
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    took: Duration,
}

impl Run {
    #[track_caller]
    fn report(&self) -> Json {
        let json: Json =
            serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("{}{}", self.stdout, self.stderr));
        json["runs"][0].clone()
    }

    /// The samples that were scored, that broke, and the accuracy.
    #[track_caller]
    fn found(&self) -> (u64, u64, Option<f64>) {
        let report = self.report();
        let count = |name: &str| report["samples"][name].as_u64().unwrap();
        (count("scored"), count("errored"), report["scores"][0]["metrics"]["accuracy"]["value"].as_f64())
    }
}

/// Waits for a program, and fails the test where it hangs.
#[track_caller]
fn within(mut child: Child, patience: Duration) -> Output {
    let started = Instant::now();
    // Its output is small, so that it fits into the pipes.
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > patience {
            let _ = child.kill();
            panic!("it hangs");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().unwrap()
}

#[test]
fn what_may_pass_is_tried_again_and_counted() {
    let body = answer().to_string();
    let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
    let cases: Vec<(&str, Reply, u64, &[&str])> = vec![
        ("seconds", Reply::whole(429, &[("retry-after", "1")], "{}"), 1000, &[]),
        ("date", Reply::whole(429, &[date, ("retry-after", "Sun, 06 Nov 1994 08:49:39 GMT")], "{}"), 2000, &[]),
        ("busy", Reply::json(429, json!({"error": {"message": "slow down"}})), 0, &[]),
        ("failed", Reply::whole(500, &[], "<html>oops</html>"), 0, &[]),
        ("away", Reply::whole(503, &[("retry-after", "1")], ""), 1000, &[]),
        ("reset", Reply::Reset(body[..40].to_owned()), 0, &[]),
        ("cut", Reply::Cut(body[..40].to_owned()), 0, &[]),
        ("silence", Reply::Silence, 0, &[]),
        ("not json", Reply::json(200, "{\"choices\": [{"), 0, &[]),
        ("wrong types", Reply::json(200, json!({"choices": 5, "usage": "many"})), 0, &[]),
        ("page", Reply::whole(200, &[("content-type", "text/html")], "<html>Welcome!</html>"), 0, &[]),
        ("endless", Reply::Endless(200, "{\"choices\": ["), 0, &[]),
        ("slow", Reply::Slow(body.clone(), Duration::from_millis(50)), 1000, &["--timeout", "1"]),
    ];
    std::thread::scope(|scope| {
        for (name, reply, wait_ms, options) in cases {
            scope.spawn(move || {
                let case = Case::new(&name.replace(' ', "-"), 3, [good(), reply, good()]);
                let run = case.eval(options);
                assert_eq!(run.code, Some(0), "{name}: {}", run.stderr);
                assert_eq!(run.found(), (3, 0, Some(1.0)), "{name}: {}", run.stderr);
                assert_eq!(case.server.requests().len(), 4, "{name}");
                assert!(run.stderr.contains("took: 1 retry, 450 tokens\n"), "{name}: {}", run.stderr);
                assert!(run.took >= Duration::from_millis(wait_ms), "{name}: only {:?}", run.took);
            });
        }
    });
}

#[test]
fn what_does_not_pass_is_an_error_of_its_attempt_and_no_wrong_answer() {
    let refused =
        json!({"error": {"message": format!("Incorrect API key provided: {KEY}."), "code": "invalid_api_key"}});
    let cases: Vec<(&str, Reply, &str)> = vec![
        ("refused", Reply::json(401, refused), "the provider refused (401)"),
        ("no model", Reply::json(404, json!({"error": {"message": "no such model"}})), "no such model"),
        ("no money", Reply::json(429, json!({"error": {"message": "x", "code": "insufficient_quota"}})), "(429)"),
        ("elsewhere", Reply::whole(302, &[("location", "http://127.0.0.1:1/")], ""), "redirects (302)"),
        ("too long", Reply::whole(429, &[("retry-after", "86400")], ""), "too long"),
    ];
    for (name, reply, what) in cases {
        // One after another, so that the second sample is the one that breaks.
        let case = Case::new(&name.replace(' ', "-"), 3, [good(), reply, good()]);
        let run = case.eval(&["--max-connections", "1", "--fail-on-error", "never"]);
        assert_eq!(run.code, Some(0), "{name}: {}", run.stderr);
        assert_eq!(run.found(), (2, 1, Some(1.0)), "{name}: {}", run.stdout);
        assert_eq!(case.server.requests().len(), 3, "{name}");
        assert!(run.stderr.contains("took: 1 error, 300 tokens\n"), "{name}: {}", run.stderr);
        let log = case.logged();
        let samples = log["samples"].as_array().unwrap();
        let broken = samples.iter().find(|sample| sample["id"] == 2).unwrap();
        assert!(broken["error"]["message"].as_str().unwrap().contains(what), "{name}: {}", broken["error"]);
        assert!(samples.iter().all(|sample| sample["id"] == 2 || sample["error"].is_null()));
    }
}

#[test]
fn a_server_that_never_recovers_ends_the_run_with_a_log() {
    for (name, reply) in [
        ("down", Reply::whole(500, &[], "down for maintenance")),
        ("gone", Reply::Silence),
        ("stuck", Reply::Slow(answer().to_string(), Duration::from_secs(5))),
    ] {
        let case = Case::new(&format!("never-{name}"), 2, [reply]);
        let run = case.eval(&["--max-connections", "1", "--max-retries", "1", "--timeout", "1"]);
        assert_eq!(run.code, Some(2), "{name}: {}", run.stderr);
        assert!(run.stderr.contains("attempt 1 of sample `1` ended in an error"), "{name}: {}", run.stderr);
        assert!(run.stderr.contains("(after 1 retries)"), "{name}: {}", run.stderr);
        assert_eq!(case.server.requests().len(), 2, "{name}");
        assert_eq!(case.logged()["status"], "error", "{name}");
    }
}

#[test]
fn tokens_and_money_are_summed() {
    let case = Case::new("price", 4, [Reply::whole(500, &[], ""), good()]);
    let run =
        case.eval(&["--price", "openai/test=2,10", "--epochs", "2", "-m", "accuracy()", "-m", "mean(\"cost_usd\")"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    // 100 tokens at 2 dollars a million and 50 at 10 are 0.0007 dollars, and there are 8 attempts.
    assert!(run.stderr.contains("took: 1 retry, 1200 tokens, $0.0056\n"), "{}", run.stderr);
    let usage = &case.logged()["stats"]["model_usage"]["openai/test"];
    for (name, want) in [("input_tokens", 800), ("output_tokens", 400), ("total_tokens", 1200)] {
        assert_eq!(usage[name], want, "{usage}");
    }
    assert!((usage["total_cost"].as_f64().unwrap() - 0.0056).abs() < 1e-12, "{usage}");
    let figures = run.report()["scores"].to_string();
    assert!(figures.contains("0.0007"), "{figures}");
}

#[test]
fn an_answer_that_is_kept_is_not_asked_for_again() {
    let case = Case::new("cache", 3, [good()]);
    let options = ["--cache", "answers", "--price", "openai/test=2,10"];
    let first = case.eval(&[&options[..], &["--log-dir", "first"]].concat());
    assert_eq!((first.code, case.server.requests().len()), (Some(0), 3), "{}", first.stderr);
    assert!(first.stderr.contains("$0.0021"), "{}", first.stderr);
    let again = case.eval(&options);
    assert_eq!((again.code, case.server.requests().len()), (Some(0), 3), "{}", again.stderr);
    assert_eq!(again.found(), first.found());
    // What was paid for once is not paid for again.
    assert!(!again.stderr.contains('$'), "{}", again.stderr);
    assert_eq!(case.logged()["stats"]["model_usage"], json!({}));
    // Another attempt is another question.
    let more = case.eval(&[&options[..], &["--log-dir", "more", "--epochs", "2"]].concat());
    assert_eq!((more.code, case.server.requests().len()), (Some(0), 6), "{}", more.stderr);
    // An error is not kept.
    let case = Case::new("cache-error", 1, [Reply::whole(400, &[], "no"), good()]);
    let failed = case.eval(&["--cache", "answers", "--log-dir", "first"]);
    assert_eq!(failed.code, Some(2), "{}", failed.stderr);
    let well = case.eval(&["--cache", "answers"]);
    assert_eq!((well.code, case.server.requests().len()), (Some(0), 2), "{}", well.stderr);
}

#[test]
fn each_model_has_connections_of_its_own() {
    let late = |text: &str| {
        let body = answer().to_string().replace("It is Paris.", text);
        Reply::Late(body, Duration::from_millis(60))
    };
    let case = Case::new("connections", 12, [late("It is Paris.")]);
    let grader = case.runtime.block_on(Server::start([late("GRADE: C")]));
    let arguments = [
        "capital.star",
        "--json",
        "--model",
        "openai/test",
        "--model-base-url",
        &case.server.url,
        "--model-role",
        "grader=openai/judge",
        "--scorer",
        "model_graded_qa()",
        "--max-connections",
        "3",
        "--max-samples",
        "12",
    ];
    // The address of the command line is that of the model; the grader is where the environment says.
    let mut command = case.command(&arguments);
    command.env("OPENAI_BASE_URL", &grader.url);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let output = within(child, PATIENCE);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for (name, server) in [("test", &case.server), ("judge", &grader)] {
        assert_eq!(server.requests().len(), 12, "{name}");
        assert!(server.requests().iter().all(|request| request.json()["model"] == name));
        assert!(server.most_at_once() <= 3, "{name}: {} at once", server.most_at_once());
    }
    assert_eq!(case.server.most_at_once(), 3);
}

#[test]
fn a_run_that_an_outage_ended_is_finished_later() {
    let outage = Reply::whole(503, &[], "down");
    let case = Case::new("outage", 6, [good(), good(), good(), outage, good()]);
    let options = ["--max-connections", "1", "--max-retries", "0"];
    let broken = case.eval(&options);
    assert_eq!(broken.code, Some(2), "{}", broken.stderr);
    let log = case.log();
    let path = log.to_str().unwrap();
    assert!(broken.stderr.contains("--max-retries 0 --resume "), "{}", broken.stderr);
    let resumed = case.run(&["--resume", path, "--trust", "--json"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(resumed.found(), (6, 0, Some(1.0)));
    // Six answers and the outage: nothing is asked twice but what broke.
    let asked: Vec<String> =
        case.server.requests().iter().map(|request| request.json()["messages"][0]["content"].to_string()).collect();
    let want: Vec<String> = [1, 2, 3, 4, 4, 5, 6].map(|n| format!("\"Question {n}?\"")).to_vec();
    assert_eq!(asked, want);
    let logged = case.logged();
    assert_eq!((&logged["status"], logged["samples"].as_array().unwrap().len()), (&"success".into(), 6));
    assert_eq!(logged["stats"]["model_usage"]["openai/test"]["total_tokens"], 900);
    let again = case.run(&["--resume", path]);
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("is finished: nothing is left to do"), "{}", again.stderr);
}

#[test]
fn a_slow_attempt_ends_at_its_time_limit() {
    let case = Case::new("limit", 1, [Reply::Slow(answer().to_string(), Duration::from_millis(100))]);
    let run = case.eval(&["--time-limit", "0.5"]);
    assert!(run.took < Duration::from_secs(20), "{:?}", run.took);
    let limit = &case.logged()["samples"][0]["limit"];
    assert_eq!(limit["type"], "time", "{} {}", run.stderr, case.logged()["samples"][0]);
}

#[test]
fn a_password_in_an_address_does_not_get_into_the_log() {
    let case = Case::new("password", 1, [good()]);
    let address = case.server.url.replace("http://", "http://me:hunter2@");
    for address in [address.clone(), format!("{}?api-key=hunter2", case.server.url)] {
        let run = case.eval(&["--model-base-url", &address, "--max-retries", "0"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let said = [run.stdout, run.stderr, case.logged().to_string()].concat();
        assert!(!said.contains("hunter2") && said.contains("(not logged)"), "{said}");
        std::fs::remove_dir_all(case.folder.join("logs")).unwrap();
    }
    let mut command = case.command(&["capital.star", "--model", "openai/test"]);
    let child = command.env("OPENAI_BASE_URL", &address).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let output = within(child, PATIENCE);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!case.logged().to_string().contains("hunter2"));
}

#[test]
fn answers_of_one_server_are_not_those_of_another_and_cached_ones_are_counted() {
    let case = Case::new("address", 3, [good()]);
    let other = case.runtime.block_on(Server::start([Reply::json(200, answer().to_string().replace("Paris", "Rome"))]));
    let at = |address: &str, logs: &str| {
        case.eval(&["--cache", "answers", "--model-base-url", address, "--log-dir", logs, "-m", "accuracy()"])
    };
    assert_eq!(at(&case.server.url, "a").found(), (3, 0, Some(1.0)));
    let elsewhere = at(&other.url, "b");
    assert_eq!(elsewhere.found(), (3, 0, Some(0.0)), "{}", elsewhere.stderr);
    assert!(!elsewhere.stderr.contains("cached"), "{}", elsewhere.stderr);
    // The same question to the same server is not asked again, and that is said everywhere.
    let again = at(&other.url, "logs");
    assert_eq!((again.found(), other.requests().len()), ((3, 0, Some(0.0)), 3));
    assert!(again.stderr.contains("took: 3 cached answers"), "{}", again.stderr);
    let caveat = &again.report()["caveats"][0];
    assert_eq!(caveat["id"], "cached-answers", "{caveat}");
    assert!(caveat.to_string().contains("3 answers in 3 of 3 attempts were taken from a cache"), "{caveat}");
    let sample = case.logged()["samples"][0].clone();
    assert_eq!(sample["store"]["calipers"]["fields"]["cached_answers"], 1, "{sample}");
    assert!(sample.get("total_time").is_none_or(Json::is_null), "an answer from a cache has no latency: {sample}");
    let mut score = program::calipers().command();
    let scored = score.arg("score").arg(case.log()).arg("--json").output().unwrap();
    let scored: Json = serde_json::from_slice(&scored.stdout).unwrap();
    assert_eq!(scored["runs"][0]["caveats"], again.report()["caveats"]);
}

#[test]
fn a_limit_on_costs_without_a_price_is_refused_before_anything_is_paid_for() {
    let case = Case::new("no-price", 3, [good()]);
    for (options, said) in [
        (&["--cost-limit", "1"][..], "the cost limit cannot be kept: the price of model `openai/test` is not known"),
        (&["--budget", "1"], "the budget cannot be kept: the price of model `openai/test` is not known"),
        (
            &["--budget", "1", "--price", "openai/test=2,10", "--scorer", "model_graded_qa(model=\"openai/judge\")"],
            "the price of model `openai/judge` is not known",
        ),
        (
            &["--budget", "1", "--price", "test=2,10", "--model-role", "grader=openai/judge"],
            "the price of model `openai/judge` is not known",
        ),
        (&["--price", "openai/tset=2,10"], "did you mean `openai/test`?"),
        (&["--price", "opnai/test=2,10"], "did you mean `openai/test`?"),
        (&["--price", "unrelated=2,10"], "the run uses openai/test"),
        (&["--price", "openai/test=2,10", "--price", "openai/test=1,1"], "two prices for `openai/test`"),
    ] {
        let run = case.eval(options);
        assert_eq!(run.code, Some(2), "{options:?}: {}", run.stderr);
        assert!(run.stderr.contains(said) && run.stderr.contains("hint: "), "{options:?}: {}", run.stderr);
    }
    assert_eq!(case.server.requests().len(), 0);
    assert!(!case.folder.join("logs").exists());
    let short = case.eval(&["--cost-limit", "1", "--budget", "1", "--price", "test=2,10"]);
    assert_eq!((short.code, case.server.requests().len()), (Some(0), 3), "{}", short.stderr);
}

#[test]
fn a_run_ends_before_it_exceeds_its_budget_and_goes_on_with_a_larger_one() {
    // An answer costs 0.0007 dollars.
    let case = Case::new("budget", 12, [good()]);
    let options = ["--price", "openai/test=2,10", "--max-connections", "4"];
    let broken = case.eval(&[&options[..], &["--budget", "0.0036"]].concat());
    assert_eq!(broken.code, Some(2), "{}", broken.stderr);
    assert!(
        broken.stderr.contains("the budget of $0.0036 is spent: $0.0035 so far, and the next call may cost $0.0007"),
        "{}",
        broken.stderr
    );
    assert_eq!(case.server.requests().len(), 5);
    let logged = case.logged();
    assert_eq!(logged["status"], "error");
    let log = case.log();
    let log = log.to_str().unwrap();
    // What is spent stays spent.
    let still = case.eval(&[&options[..], &["--budget", "0.0036", "--resume", log]].concat());
    assert_eq!((still.code, case.server.requests().len()), (Some(2), 5), "{}", still.stderr);
    assert!(still.stderr.contains("with a larger `--budget` and `--resume "), "{}", still.stderr);
    let more = case.eval(&[&options[..], &["--budget", "0.0064", "--resume", log]].concat());
    assert_eq!((more.code, case.server.requests().len()), (Some(2), 9), "{}", more.stderr);
    let enough = case.eval(&[&options[..], &["--budget", "1", "--resume", log]].concat());
    assert_eq!(enough.found(), (12, 0, Some(1.0)), "{}", enough.stderr);
    assert_eq!(case.server.requests().len(), 12, "no answer was paid for twice");
}

#[test]
fn agents_count_towards_the_budget_and_have_to_say_what_they_cost() {
    let case = Case::new("agent-budget", 6, [good()]);
    let run = |said: &str, options: &[&str]| {
        std::fs::write(case.folder.join("agent.sh"), format!("echo '{said}'")).unwrap();
        let agent = ["--solver", "command(\"sh agent.sh\")", "--log-dir", "agents"];
        case.run(&[&["capital.star", "--json"], &agent[..], options].concat())
    };
    let paid = run("{\"output\": \"Paris\", \"cost_usd\": 0.25}", &["--budget", "1"]);
    assert_eq!(paid.code, Some(2), "{}", paid.stderr);
    assert!(paid.stderr.contains("the budget of $1 is spent: $1.0000 so far"), "{}", paid.stderr);
    for (limit, said) in [
        (&["--budget", "1"][..], "the budget cannot be enforced"),
        (&["--cost-limit", "1"], "the cost limit cannot be enforced"),
        (&["--token-limit", "10"], "the token limit cannot be enforced"),
    ] {
        let silent = run("Paris", limit);
        assert_eq!(silent.code, Some(2), "{limit:?}: {}", silent.stderr);
        assert!(silent.stderr.contains(said), "{limit:?}: {}", silent.stderr);
    }
}

#[cfg(unix)]
#[test]
fn no_more_calls_begin_in_a_minute_than_allowed() {
    let case = Case::new("minute", 6, [good()]);
    for (option, allowed) in [(&["--requests-per-minute", "2"][..], 2), (&["--tokens-per-minute", "500"], 3)] {
        let before = case.server.requests().len();
        let arguments = [&["capital.star", "--model", "openai/test"], option].concat();
        let child = case.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let asked = || case.server.requests().len() - before;
        let started = Instant::now();
        while asked() < allowed && started.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(1500));
        assert_eq!(asked(), allowed, "{option:?}");
        for _ in 0..2 {
            let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
            std::thread::sleep(Duration::from_millis(200));
        }
        let output = within(child, PATIENCE);
        assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_limit_on_tokens_of_a_model_that_does_not_count_them_is_an_error() {
    let mut silent = answer();
    silent.as_object_mut().unwrap().remove("usage");
    let case = Case::new("uncounted", 2, [Reply::json(200, silent)]);
    let run = case.eval(&["--tokens-per-minute", "1000"]);
    assert_eq!(run.code, Some(2), "{}", run.stdout);
    assert!(run.stderr.contains("the limit on tokens per minute cannot be enforced"), "{}", run.stderr);
}

#[test]
fn limits_that_were_hit_are_counted_apart() {
    let case = Case::new("limits", 3, [good()]);
    std::fs::write(case.folder.join("p.json"), r#"{"thresholds": {"blocking": {"accuracy": 50}}}"#).unwrap();
    let limit = ["--token-limit", "10", "--log-dir", "elsewhere"];
    let run = case.eval(&limit);
    assert!(run.stderr.contains("took: 3 limits hit"), "{}", run.stderr);
    assert_eq!(run.report()["caveats"][0]["id"], "limits-hit", "{}", run.stdout);
    let table = case.run(&[&["capital.star", "--model", "openai/test"], &limit[..]].concat());
    assert!(table.stdout.contains("3 attempts were stopped by a limit: token limit 3"), "{}", table.stdout);
    let gate = case.eval(&[&limit[..], &["--gate", "p.json"]].concat());
    assert!(gate.stdout.contains("3 attempts were stopped by a limit: token limit 3"), "{}", gate.stdout);
}
