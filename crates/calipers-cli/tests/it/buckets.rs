//! Results in buckets, on a real server of the S3 protocol.
//!
//! `cargo xtask test` makes an environment with `moto` and names its interpreter in `CALIPERS_MOTO_PYTHON`. Without it there
//! is no server, and the tests say so.

use crate::program::{calipers, said};
#[cfg(feature = "view")]
use crate::view::Served;
use calipers_testing::Scratch;
use serde_json::Value as Json;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A server with the bucket `team`, while it lives.
struct Bucket {
    server: Child,
    port: u16,
    folder: Scratch,
}

/// The server wants a signature on what is not public, and does not check it.
const SIGNED: &str =
    "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";

impl Bucket {
    /// The server, if there is one.
    fn start() -> Option<Self> {
        let Some(python) = std::env::var_os("CALIPERS_MOTO_PYTHON").map(PathBuf::from) else {
            println!("skipped: CALIPERS_MOTO_PYTHON does not name a Python with moto; `cargo xtask test` does");
            return None;
        };
        let folder = Scratch::new();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let log = File::create(folder.join("server.log")).unwrap();
        let mut command = Command::new(python);
        command.args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &port.to_string()]);
        let server = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let bucket = Self { server, port, folder };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{}", bucket.folder.read("server.log"));
            std::thread::sleep(Duration::from_millis(100));
        }
        bucket.send("PUT", "/team", b"");
        Some(bucket)
    }

    fn send(&self, method: &str, path: &str, body: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nauthorization: {SIGNED}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            self.port,
            body.len()
        );
        stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let status = String::from_utf8_lossy(&answer[..answer.len().min(12)]).into_owned();
        assert!(status.starts_with("HTTP/1.1 20"), "{method} {path}: {status}");
        answer
    }

    fn put(&self, key: &str, content: impl AsRef<[u8]>) {
        self.send("PUT", &format!("/team/{key}"), content.as_ref());
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = calipers().command();
        command.env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port));
        command.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "hunter2").env("AWS_REGION", "us-east-1");
        command.args(arguments).current_dir(self.folder.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let output = self.command(arguments).output().unwrap();
        assert!(!said(&output).contains("hunter2"));
        output
    }

    #[track_caller]
    fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    #[track_caller]
    fn refuse(&self, arguments: &[&str], wanted: &str) {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(wanted), "{arguments:?}: {}", said(&output));
    }

    /// The figures of the runs in these files, without their names.
    #[track_caller]
    fn scored(&self, names: &[&str]) -> Vec<Json> {
        let json: Json = serde_json::from_str(&self.succeed(&[&["score", "--json"], names].concat())).unwrap();
        let figures = |run: &Json| serde_json::json!([run["samples"], run["attempts"], run["scores"]]);
        json["runs"].as_array().unwrap().iter().map(figures).collect()
    }

    /// How often an object was asked for.
    fn requests(&self, key: &str) -> usize {
        let log = self.folder.read("server.log");
        log.lines()
            .filter(|line| line.contains(&format!(" /team/{key} ")) || line.contains(&format!(" /team/{key}?")))
            .count()
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Records whose texts do not compress: so many bytes for each.
fn records(count: usize, bytes: usize) -> String {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let text = |id: usize| {
        let mut answer = String::new();
        while answer.len() < bytes {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            answer += &format!("{:08x}", state >> 32);
        }
        format!("{{\"id\": {id}, \"score\": {}, \"answer\": \"{answer}\"}}\n", u8::from(!id.is_multiple_of(4)))
    };
    (0..count).map(text).collect()
}

const POLICY: &str = r#"{"thresholds": {"blocking": {"pass_rate": 50}}}"#;

#[test]
fn files_folders_and_patterns_of_a_bucket_are_read_as_on_the_disk() {
    let Some(bucket) = Bucket::start() else { return };
    for (place, name) in
        ["logs/a.jsonl", "logs/b.jsonl", "logs/old/c.jsonl", "logs/note.txt", "logs/.hidden.jsonl"].iter().enumerate()
    {
        let content = if name.ends_with(".txt") { "a note".to_owned() } else { records(10 + place, 8) };
        bucket.put(name, &content);
        bucket.folder.write(name, &content);
    }
    bucket.put("logs/old/", "");
    for name in
        ["logs/a.jsonl", "logs/", "logs", "logs/*.jsonl", "logs/**/*.jsonl", "logs/old", "logs/[ab].jsonl", "l*"]
    {
        assert_eq!(bucket.scored(&[&format!("s3://team/{name}")]), bucket.scored(&[name]), "{name}");
    }
    bucket.refuse(&["score", "s3://team/logs/*.eval"], "no object matches the pattern");
    bucket.refuse(&["score", "s3://team/none/"], "the folder is empty");
    bucket.refuse(&["score", "s3://team/none.jsonl"], "there is no such object");
    bucket.refuse(&["score", "s3://nobody/a.jsonl"], "there is no bucket `nobody`");
}

#[test]
fn what_cannot_be_read_in_a_bucket_makes_no_verdict() {
    let Some(bucket) = Bucket::start() else { return };
    bucket.folder.write("policy.json", POLICY);
    bucket.put("logs/good.jsonl", records(40, 8));
    let gate = ["gate", "s3://team/logs/", "--policy", "policy.json"];
    assert_eq!(bucket.run(&gate).status.code(), Some(0));
    for (name, content) in [("logs/bad.eval", "no archive"), ("logs/empty.jsonl", ""), ("logs/cut.parquet", "PAR1")] {
        bucket.put(name, content);
        let output = bucket.run(&gate);
        assert!(matches!(output.status.code(), Some(2 | 3)), "{name}: {}", said(&output));
        assert!(said(&output).contains(name), "{}", said(&output));
        bucket.send("DELETE", &format!("/team/{name}"), b"");
    }
    bucket.put("logs/packed.jsonl.xz", "xz");
    bucket.refuse(&gate, "this compression format");
}

#[test]
fn large_archives_and_tables_come_in_few_requests() {
    let Some(bucket) = Bucket::start() else { return };
    bucket.folder.write("results.jsonl", records(12_000, 3_000));
    for name in ["results.eval", "results.parquet"] {
        bucket.succeed(&["convert", "results.jsonl", "-o", name]);
        let length = std::fs::metadata(bucket.folder.join(name)).unwrap().len();
        assert!(length > 17 << 20, "{name} has {length} bytes");
        bucket.put(name, std::fs::read(bucket.folder.join(name)).unwrap());
        let before = bucket.requests(name);
        assert_eq!(bucket.scored(&[&format!("s3://team/{name}")]), bucket.scored(&[name]), "{name}");
        let requests = bucket.requests(name) - before;
        assert!(requests < 10, "{requests} requests for {name} of {length} bytes");
    }
}

#[test]
fn what_is_written_to_a_bucket_is_whole_and_replaces_nothing_unasked() {
    let Some(bucket) = Bucket::start() else { return };
    bucket.folder.write("results.jsonl", records(100, 8));
    bucket.folder.write("large.jsonl", records(10_000, 3_000));
    for (from, to) in [
        ("results.jsonl", "out/a.csv"),
        ("results.jsonl", "out/a.eval"),
        ("large.jsonl", "out/large.parquet"),
        ("results.jsonl", "out/a.jsonl.gz"),
    ] {
        let here = to.replace("out/", "");
        let to = format!("s3://team/{to}");
        bucket.succeed(&["convert", from, "-o", &to]);
        bucket.succeed(&["convert", from, "-o", &here]);
        assert_eq!(bucket.scored(&[&to]), bucket.scored(&[&here]), "{to}");
        bucket.refuse(&["convert", from, "-o", &to], "exists");
        bucket.succeed(&["convert", from, "-o", &to, "--force"]);
    }
    bucket.succeed(&["convert", "results.jsonl", "large.jsonl", "-o", "s3://team/both/", "--to", "parquet"]);
    assert_eq!(bucket.scored(&["s3://team/both/"]).len(), 2);
    bucket.refuse(&["convert", "results.jsonl", "-o", "s3://nobody/a.csv"], "there is no bucket");
    bucket.folder.write("policy.json", POLICY);
    bucket.put("policies/policy.json", r#"{"extends": "base.json"}"#);
    bucket.put("policies/base.json", POLICY);
    bucket.succeed(&[
        "report",
        "s3://team/out/a.csv",
        "-o",
        "s3://team/report.html",
        "--policy",
        "s3://team/policies/policy.json",
    ]);
    let page = String::from_utf8_lossy(&bucket.send("GET", "/team/report.html", b"")).into_owned();
    assert!(page.to_lowercase().contains("<!doctype html>"));
    bucket.succeed(&[
        "gate",
        "s3://team/out/a.csv",
        "--policy",
        "s3://team/policies/policy.json",
        "--output",
        "json=s3://team/verdict.json",
    ]);
    assert!(String::from_utf8_lossy(&bucket.send("GET", "/team/verdict.json", b"")).contains("\"pass\""));
    bucket.succeed(&[
        "baseline",
        "record",
        "s3://team/out/a.csv",
        "--policy",
        "policy.json",
        "-o",
        "s3://team/baseline.json",
    ]);
    bucket.succeed(&[
        "gate",
        "s3://team/out/a.csv",
        "--policy",
        "policy.json",
        "--baseline",
        "s3://team/baseline.json",
    ]);
    bucket.succeed(&["compare", "s3://team/out/a.csv", "results.jsonl"]);
}

/// Twelve samples, and an agent that takes a moment and keeps count.
const TASK: &str = r#"
def slow():
    return Task(
        dataset = [Sample(input = "q%d" % i, target = "yes", id = i) for i in range(1, 13)],
        solver = command("sh agent.sh"),
        scorer = match(),
    )
"#;

#[test]
#[cfg(feature = "view")]
fn a_history_has_the_runs_of_a_bucket_as_it_has_those_of_a_folder() {
    let Some(bucket) = Bucket::start() else { return };
    let list = |arguments: &[&str]| -> Json {
        serde_json::from_str(&bucket.succeed(&[&["history", "list", "--json"], arguments].concat())).unwrap()
    };
    let two = |first: u8| format!("{{\"id\": 1, \"score\": {first}}}\n{{\"id\": 2, \"score\": 1}}\n");
    bucket.put("suite/a.jsonl", two(1));
    bucket.put("suite/b.jsonl", two(1));
    bucket.succeed(&["history", "add", "s3://team/suite/"]);
    let found = list(&[]);
    assert_eq!(found["total"], 2, "{found:#}");
    let run = &list(&["a.jsonl"])["runs"][0];
    assert_eq!((&run["source"], &run["suite"]), (&"s3://team/suite/a.jsonl".into(), &"suite".into()), "{run:#}");
    assert_eq!(run["figures"][0]["value"], 1.0, "{run:#}");

    // What has not changed is not read again, and what has is, though its size is the same.
    let before = bucket.requests("suite/b.jsonl");
    bucket.put("suite/a.jsonl", two(0));
    bucket.succeed(&["history", "add", "s3://team/suite/"]);
    assert_eq!(bucket.requests("suite/b.jsonl"), before);
    let run = &list(&["a.jsonl"])["runs"][0];
    assert_eq!(run["figures"][0]["value"], 0.5, "{run:#}");
    // It is read again from the bucket where a question needs more than the index has.
    let key = run["key"].as_str().unwrap();
    let shown: Json = serde_json::from_str(&bucket.succeed(&["history", "show", key, "--json"])).unwrap();
    assert_eq!(shown["runs"][0]["source"], "s3://team/suite/a.jsonl", "{shown:#}");

    bucket.send("DELETE", "/team/suite/b.jsonl", b"");
    bucket.succeed(&["history", "add", "s3://team/suite/"]);
    let gone = &list(&["b.jsonl"])["runs"][0];
    assert_eq!(gone["gone"], true, "{gone:#}");
    assert_eq!(list(&["a.jsonl"])["runs"][0]["gone"], false);

    bucket.put("other/c.jsonl", two(1));
    bucket.succeed(&["score", "s3://team/other/c.jsonl", "--history", "--tag", "version=7"]);
    assert_eq!(list(&["--version-name", "7"])["runs"][0]["source"], "s3://team/other/c.jsonl");
    bucket.refuse(&["history", "add", "s3://team/nothing/"], "the folder is empty");
}

#[test]
#[cfg(feature = "view")]
fn a_policy_is_replayed_over_the_runs_of_a_bucket() {
    let Some(bucket) = Bucket::start() else { return };
    bucket.folder.write("policy.json", POLICY);
    for (name, right) in [("good", 9), ("bad", 2)] {
        let lines: String =
            (0..10).map(|id| format!("{{\"id\": {id}, \"score\": {}}}\n", u8::from(id < right))).collect();
        bucket.put(&format!("suite/{name}.jsonl"), lines);
    }
    let served = Served::of(bucket.command(&[]), &["s3://team/suite/", "--policy", "policy.json"]);
    served.wait_for_runs(2);
    let page = served.get("/verdicts").body;
    let verdicts = |page: &str| ["</svg>pass</span>", "</svg>fail</span>"].map(|verdict| page.matches(verdict).count());
    // Each is told in the table, and in the tally above it.
    assert_eq!(verdicts(&page), [2, 2], "{page}");
    // Runs of a bucket are compared in a trend, as those of a folder are.
    let trend = served.get("/api/trend").json();
    assert_eq!((&trend["points"][1]["change"]["pairs"], &trend["tests"]), (&10.into(), &1.into()), "{trend:#}");
    // What is no longer there cannot be judged again.
    bucket.send("DELETE", "/team/suite/good.jsonl", b"");
    let page = served.get("/verdicts").body;
    assert_eq!(verdicts(&page)[0], 0, "{page}");
}

fn logs(bucket: &Bucket) -> Vec<String> {
    let listed = String::from_utf8_lossy(&bucket.send("GET", "/team?list-type=2&prefix=logs/", b"")).into_owned();
    listed.split("<Key>").skip(1).map(|rest| rest.split('<').next().unwrap().to_owned()).collect()
}

#[test]
fn the_log_of_an_evaluation_is_in_the_bucket_and_goes_on_after_a_kill() {
    let Some(bucket) = Bucket::start() else { return };
    bucket.folder.write("slow.star", TASK);
    bucket.folder.write("agent.sh", "sleep ${PAUSE:-0}; echo x >> asked; echo yes\n");
    let eval = ["eval", "slow.star", "--allow-commands", "--log-dir", "s3://team/logs", "--json", "--max-samples", "1"];
    bucket.succeed(&eval);
    let first = logs(&bucket);
    assert_eq!(first.len(), 1);
    assert_eq!(bucket.scored(&[&format!("s3://team/{}", first[0])])[0][0]["total"], 12);
    bucket.send("DELETE", &format!("/team/{}", first[0]), b"");
    std::fs::remove_file(bucket.folder.join("asked")).unwrap();
    // Killed in the middle: the object is what it was when the log began.
    let mut child = bucket
        .command(&eval)
        .env("PAUSE", "0.3")
        .args(["--env", "PAUSE"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while std::fs::read_to_string(bucket.folder.join("asked")).unwrap_or_default().lines().count() < 3 {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(50));
    }
    // The worker dies with the process that waits for it. Left alone, it would send what it has, and a run that went on before
    // that would find its object replaced.
    let group = format!("-{}", child.id());
    assert!(Command::new("kill").args(["-KILL", "--", &group]).status().unwrap().success());
    child.wait().unwrap();
    let log = logs(&bucket);
    assert_eq!(log.len(), 1, "{log:?}");
    let log = format!("s3://team/{}", log[0]);
    bucket.succeed(&[&eval[..3], &["--resume", &log, "--json"]].concat());
    assert_eq!(bucket.scored(&[&log])[0][0]["total"], 12);
    bucket.refuse(&[&eval[..3], &["--resume", &log]].concat(), "is finished");
    // A log on a server that does not answer is noticed before anything is paid for.
    bucket.folder.write("agent.sh", "touch asked-again; echo yes\n");
    bucket.refuse(&["eval", "slow.star", "--allow-commands", "--log-dir", "s3://nobody/logs"], "there is no bucket");
    assert!(!bucket.folder.join("asked-again").exists());
}

/// Google's store speaks the XML of S3 to those who ask for it, as our client does, so one server stands for both.
#[test]
fn buckets_of_google_are_read_and_written() {
    let Some(bucket) = Bucket::start() else { return };
    bucket.folder.write("results.jsonl", records(100, 8));
    bucket.put("logs/a.jsonl", records(100, 8));
    bucket.put("logs/b.jsonl", records(50, 8));
    let run = |arguments: &[&str]| {
        let host = format!("http://127.0.0.1:{}", bucket.port);
        let output = bucket.command(arguments).env("STORAGE_EMULATOR_HOST", host).output().unwrap();
        (output.status.code(), said(&output))
    };
    for (name, runs) in [("gs://team/logs/a.jsonl", 1), ("gs://team/logs/", 2), ("gs://team/**/[ab].jsonl", 2)] {
        let (code, said) = run(&["score", name, "--json"]);
        assert_eq!(code, Some(0), "{said}");
        let json: Json = serde_json::from_str(&said).unwrap();
        assert_eq!(json["runs"].as_array().unwrap().len(), runs, "{name}");
    }
    assert_eq!(run(&["convert", "results.jsonl", "-o", "gs://team/out.parquet"]).0, Some(0));
    let (code, said) = run(&["convert", "results.jsonl", "-o", "gs://team/out.parquet"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("exists"), "{said}");
    assert_eq!(run(&["score", "gs://team/out.parquet"]).0, Some(0));
    assert!(run(&["score", "gs://team/none.jsonl"]).1.contains("no such object"));
}

/// The account of every emulator of Azure, which its documentation names.
const AZURE_ACCOUNT: &str = "devstoreaccount1";

/// Creates the container `team`: a signed request, as the tools of Azure make it.
const AZURE_CONTAINER: &str = r#"
import base64, email.utils, hashlib, hmac, sys, urllib.request
base, account = sys.argv[1:]
key = base64.b64decode("Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==")
date = email.utils.formatdate(usegmt=True)
text = f"PUT{chr(10) * 12}x-ms-date:{date}\nx-ms-version:2021-08-06\n/{account}/{account}/team\nrestype:container"
signed = base64.b64encode(hmac.new(key, text.encode(), hashlib.sha256).digest()).decode()
headers = {"x-ms-date": date, "x-ms-version": "2021-08-06", "Authorization": f"SharedKey {account}:{signed}"}
urllib.request.urlopen(urllib.request.Request(f"{base}/{account}/team?restype=container", method="PUT", headers=headers))
"#;

#[test]
fn containers_of_azure_are_read_and_written() {
    let (Some(azurite), Some(python)) =
        (std::env::var_os("CALIPERS_AZURITE"), std::env::var_os("CALIPERS_MOTO_PYTHON"))
    else {
        println!("skipped: CALIPERS_AZURITE does not name the program azurite-blob; `cargo xtask test` does");
        return;
    };
    let folder = Scratch::with("results.jsonl", records(100, 8));
    folder.write("large.jsonl", records(10_000, 3_000));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new(azurite);
    command.args(["--silent", "--skipApiVersionCheck", "--inMemoryPersistence", "--blobPort", &port.to_string()]);
    let server = command.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let server = Bucket { server, port, folder };
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(100));
    }
    let base = format!("http://127.0.0.1:{port}");
    assert!(Command::new(python).args(["-c", AZURE_CONTAINER, &base, AZURE_ACCOUNT]).status().unwrap().success());
    let run = |arguments: &[&str]| {
        let mut command = server.command(arguments);
        command.env("AZURE_STORAGE_USE_EMULATOR", "true").env("AZURITE_BLOB_STORAGE_URL", &base);
        let output = command.output().unwrap();
        (output.status.code(), said(&output))
    };
    let scores = |name: &str| {
        let (code, said) = run(&["score", name, "--json"]);
        assert_eq!(code, Some(0), "{said}");
        let json: Json = serde_json::from_str(&said).unwrap();
        json["runs"][0]["scores"].clone()
    };
    for (from, to) in [("results.jsonl", "az://team/out/a.csv"), ("large.jsonl", "az://team/out/large.eval")] {
        assert_eq!(run(&["convert", from, "-o", to]).0, Some(0));
        assert_eq!(scores(to), scores(from));
        let (code, said) = run(&["convert", from, "-o", to]);
        assert_eq!(code, Some(2));
        assert!(said.contains("exists"), "{said}");
    }
    assert_eq!(scores("az://team/**/*.csv"), scores("results.jsonl"));
    let (code, said) = run(&["score", "az://team/none.csv"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("no such object"), "{said}");
}
