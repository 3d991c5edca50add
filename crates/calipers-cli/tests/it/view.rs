//! `calipers view`: the pages and the API of the server, and who may ask for them.

use crate::history::{OWN_COLUMNS, json, keys, own_table, program, records, run, suite};
use crate::program::flat_output;
use calipers_testing::{Scratch, text};
use serde_json::Value as Json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server, ended with the test.
pub(crate) struct Served {
    child: Child,
    address: String,
}

impl Served {
    fn start(folder: &Scratch, words: &[&str]) -> Self {
        Self::of(program(folder), words)
    }

    /// The server that this command becomes.
    pub(crate) fn of(mut command: Command, words: &[&str]) -> Self {
        let mut child = command
            .args(["view", "--port", "0", "--no-open"])
            .args(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/').replace("0.0.0.0", "127.0.0.1");
        assert!(!address.is_empty(), "it says where it listens");
        Self { child, address }
    }

    /// A server whose history has so many runs.
    fn with_runs(folder: &Scratch, words: &[&str], count: u64) -> Self {
        let served = Self::start(folder, words);
        served.wait_for_runs(count);
        served
    }

    /// Waits until its history has so many runs.
    pub(crate) fn wait_for_runs(&self, count: u64) {
        let end = Instant::now() + Duration::from_secs(60);
        while self.get("/api/runs?size=1").json()["total"].as_u64() != Some(count) {
            assert!(Instant::now() < end, "the runs never came");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let has_host = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host"));
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if !has_host {
            head += &format!("Host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        Answer::parse(&bytes)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    fn parse(bytes: &[u8]) -> Self {
        let whole = String::from_utf8_lossy(bytes);
        let (head, body) = whole.split_once("\r\n\r\n").unwrap_or((&whole, ""));
        let status = head.split_whitespace().nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let head = head.to_ascii_lowercase();
        let body = if head.contains("transfer-encoding: chunked") { unchunk(body) } else { body.to_owned() };
        Self { status, head, body }
    }

    pub(crate) fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

fn unchunk(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 || rest.len() < size {
            break;
        }
        whole += &rest[..size];
        body = rest[size..].trim_start_matches("\r\n");
    }
    whole
}

#[test]
fn the_pages_show_what_the_command_line_prints() {
    let folder = suite();
    let served = Served::with_runs(&folder, &["logs"], 3);
    let keys = keys(&folder);
    let list = json(&folder, &["history", "list"]);
    let source = |place: usize| list["runs"][place]["source"].as_str().unwrap().to_owned();
    // The same bytes.
    let of_server = served.get(&format!("/api/runs/{}", keys[0]));
    assert_eq!(of_server.body, text(&run(&folder, &["score", &source(0), "--json"]).stdout));
    let compared = served.get(&format!("/api/compare?run={}&run={}", keys[0], keys[2]));
    assert_eq!(compared.body, text(&run(&folder, &["compare", &source(0), &source(2), "--json"]).stdout));
    run(&folder, &["report", &source(0), "-o", "report.html"]);
    assert_eq!(served.get(&format!("/runs/{}/report", keys[0])).body, folder.read("report.html"));
    let all = served.get("/api/runs");
    assert_eq!(all.json(), json(&folder, &["history", "list", "--limit", "50"]));
    // The list, a run, two runs, a sample, a case.
    let page = served.get("/").body;
    assert!(page.contains("3 runs") && page.contains("nightly") && page.contains("0.662"), "{page}");
    let page = served.get(&format!("/runs/{}", keys[0])).body;
    assert!(page.contains("accuracy") && page.contains("0.662") && page.contains("27"), "{page}");
    let page = served.get(&format!("/compare?run={}&run={}", keys[0], keys[2])).body;
    assert!(page.contains("regression") && page.contains("newly failing"), "{page}");
    let page = served.get(&format!("/runs/{}/samples?outcome=failed", keys[0])).body;
    assert!(page.contains("27 samples") && page.contains("q03"), "{page}");
    let page = served.get(&format!("/runs/{}/sample?id=q03", keys[0])).body;
    assert!(page.contains("question 3") && page.contains("In 3 runs"), "{page}");
    let page = served.get("/case?suite=nightly&id=q03").body;
    assert!(page.contains("passed in 1 of 3"), "{page}");
}

#[test]
fn programs_get_samples_cases_and_verdicts_as_the_pages_show_them() {
    let folder = suite();
    folder.write("policy.json", r#"{"pass_criteria": {"overall": "at least 80%"}}"#);
    let served = Served::with_runs(&folder, &["logs", "--policy", "policy.json"], 3);
    let keys = keys(&folder);
    let failed = served.get(&format!("/api/runs/{}/samples?outcome=failed&first=2&size=3", keys[0])).json();
    assert_eq!((&failed["total"], &failed["first"], &failed["run"]), (&27.into(), &2.into(), &keys[0].as_str().into()));
    let samples = failed["samples"].as_array().unwrap();
    assert_eq!((samples.len(), &samples[0]["outcome"]), (3, &"failed".into()), "{failed:#}");
    let beyond = served.get(&format!("/api/runs/{}/samples?first=1000000", keys[0])).json();
    assert_eq!(beyond["samples"], serde_json::json!([]));
    let sample = served.get(&format!("/api/runs/{}/sample?id=q03", keys[0])).json();
    assert_eq!((&sample["sample"]["id"], &sample["other_runs"]), (&"q03".into(), &2.into()), "{sample:#}");
    assert!(sample["input"].as_str().unwrap().contains("question 3"), "{sample:#}");
    assert_eq!(sample["attempt"]["scores"].as_array().unwrap().len(), 1, "{sample:#}");
    let case = served.get("/api/case?suite=nightly&id=q03").json();
    let passed = case["runs"].as_array().unwrap().iter().filter(|run| run["outcome"] == "passed").count();
    assert_eq!((passed, &case["total"]), (1, &3.into()), "{case:#}");
    let verdicts = served.get("/api/verdicts?suite=nightly").json();
    let count = |word: &str| verdicts["runs"].as_array().unwrap().iter().filter(|run| run["replayed"] == word).count();
    assert_eq!((count("pass"), count("fail")), (2, 1), "{verdicts:#}");
    for (path, status) in [
        (format!("/api/runs/{}/sample", keys[0]), 400),
        (format!("/api/runs/{}/sample?id=nothing", keys[0]), 404),
        ("/api/case?suite=nightly".to_owned(), 400),
        ("/api/runs/zz/samples".to_owned(), 404),
    ] {
        let answer = served.get(&path);
        assert_eq!(answer.status, status, "{path}");
        assert!(answer.json()["error"].is_string(), "{path}: {}", answer.body);
    }
}

#[test]
fn a_trend_knows_its_error_and_breaks_where_the_cases_changed() {
    let folder = suite();
    folder.write("logs/nightly/4.jsonl", records(|id| id % 3 == 0, " rewritten"));
    let served = Served::with_runs(&folder, &["logs"], 4);
    let trend = served.get("/api/trend?suite=nightly&score=score&metric=accuracy").json();
    assert_eq!(trend["schema"], "calipers.trend/1");
    let points = trend["points"].as_array().unwrap();
    assert_eq!(points.len(), 4);
    let breaks: Vec<usize> = points.iter().map(|point| point["breaks"].as_array().unwrap().len()).collect();
    assert_eq!(breaks, [0, 0, 0, 1], "only the last run asks something else");
    assert_eq!(points[2]["change"]["verdict"], "regressed");
    assert_eq!(points[1]["change"]["verdict"], "no change detected");
    // All cases of the last run ask something else: nothing is left to compare.
    assert_eq!(points[3]["change"]["verdict"], "unknown");
    assert_eq!(trend["tests"], 2, "{trend:#}");
    let (value, lower) = (points[0]["value"].as_f64().unwrap(), points[0]["lower"].as_f64().unwrap());
    assert!(value == 0.875 && lower < value && lower > 0.7);
    let page = served.get("/trend?suite=nightly").body;
    assert!(page.contains("break-line") && page.contains("80 cases ask something else"), "{page}");
    assert!(page.contains("2 tests"), "{page}");
    // A comparison across the change says so, and compares nothing unless it is asked to.
    let keys = keys(&folder);
    let page = served.get(&format!("/compare?run={}&run={}", keys[0], keys[1])).body;
    assert!(page.contains("something else under the same name"), "{page}");
    let all = served.get(&format!("/compare?run={}&run={}&cases=all", keys[0], keys[1])).body;
    assert!(all.contains("They are compared nevertheless"), "{all}");
}

#[test]
fn what_is_searched_for_may_be_written_large_or_small() {
    let folder = Scratch::new();
    folder.write("logs/ÄRGER 100%/1.jsonl", records(|id| id % 2 == 0, ""));
    folder.write("logs/other/1.jsonl", records(|id| id % 2 == 0, ""));
    let served = Served::with_runs(&folder, &["logs"], 2);
    for (text, found) in [("%C3%84RGER", 1), ("%C3%84rger", 1), ("100%25", 1), ("R_100", 0), ("OTHER", 1), ("", 2)] {
        assert_eq!(served.get(&format!("/api/runs?q={text}")).json()["total"], found, "{text}");
    }
}

/// A log of thirty samples with four attempts each, of which so many pass; two reducers are recorded.
fn log_of_attempts(day: u32, passing: usize) -> String {
    let attempt = |id: usize, epoch: usize| {
        let value = if epoch <= passing { "C" } else { "I" };
        serde_json::json!({ "id": id, "epoch": epoch, "input": format!("q{id}"), "target": "x", "scores": { "match": { "value": value } } })
    };
    let samples: Vec<Json> = (0..30).flat_map(|id| (1..=4).map(move |epoch| attempt(id, epoch))).collect();
    serde_json::json!({
        "version": 2, "status": "success", "samples": samples,
        "eval": {
            "task": "nightly", "model": "acme/large", "created": format!("2026-01-0{day}T09:00:00+00:00"),
            "dataset": { "samples": 30 }, "config": { "epochs": 4, "epochs_reducer": ["mean", "max"] },
            "scorers": [{ "name": "match", "metrics": [{ "name": "inspect_ai/accuracy" }] }],
        },
    })
    .to_string()
}

#[test]
fn the_changes_of_a_trend_are_of_the_reducer_that_it_shows() {
    let folder = Scratch::new();
    for (day, passing) in [(1, 3), (2, 3), (3, 1)] {
        folder.write(&format!("logs/{day}.json"), log_of_attempts(day, passing));
    }
    let served = Served::with_runs(&folder, &["logs"], 3);
    // Asked one after the other: what is kept of one is not taken for the other.
    for (reducer, value, change, verdict) in
        [("mean", 0.25, -0.5, "regressed"), ("max", 1.0, 0.0, "no change detected"), ("mean", 0.25, -0.5, "regressed")]
    {
        let trend =
            served.get(&format!("/api/trend?suite=nightly&score=match&metric=accuracy&reducer={reducer}")).json();
        let last = &trend["points"][2];
        assert_eq!((&trend["reducer"], &last["value"]), (&Json::from(reducer), &Json::from(value)), "{trend:#}");
        assert_eq!(last["change"]["value"], change, "{reducer}: {trend:#}");
        assert_eq!(last["change"]["verdict"], verdict, "{reducer}: {trend:#}");
        assert_eq!(trend["drifts"][0]["change"]["value"], change, "{reducer}: {trend:#}");
    }
}

#[test]
fn a_case_of_several_models_has_a_strip_for_each() {
    let folder = Scratch::new();
    for (day, large, small) in [(1, 4, 0), (2, 4, 0), (3, 0, 0)] {
        folder.write(&format!("logs/{day}.json"), log_of_attempts(day, large));
        folder.write(
            &format!("logs/{day}-s.json"),
            log_of_attempts(day, small).replace("acme/large", "acme/small").replace("T09", "T10"),
        );
    }
    folder.write("policy.json", r#"{"pass_criteria": {"overall": "at least 80%"}}"#);
    let served = Served::with_runs(&folder, &["logs", "--policy", "policy.json"], 6);
    let runs = served.get("/api/runs").json();
    let of_model = |model: &str| -> Vec<String> {
        let runs = runs["runs"].as_array().unwrap().iter().filter(|run| run["model"] == model);
        runs.map(|run| run["key"].as_str().unwrap().to_owned()).collect()
    };
    let page = served.get("/case?suite=nightly&id=7").body;
    assert_eq!(page.matches("<ol class=\"outcome-strip\"").count(), 2, "{page}");
    assert!(page.contains("passed in 2 of 3") && page.contains("passed in 0 of 3"), "{page}");
    for keys in [of_model("acme/large"), of_model("acme/small")] {
        for pair in keys.windows(2) {
            let beside = format!("/runs/{}/sample?id=7&amp;attempt=1&amp;beside={}", pair[0], pair[1]);
            assert!(page.contains(&beside), "{beside}: {page}");
        }
    }
    // Verdicts tell the models apart, too.
    let verdicts = served.get("/verdicts").body;
    assert_eq!((verdicts.matches("acme/large").count(), verdicts.matches("acme/small").count()), (3, 3), "{verdicts}");
}

#[test]
fn the_documents_of_the_api_are_those_that_it_describes() {
    let folder = suite();
    let served = Served::with_runs(&folder, &["logs"], 3);
    let keys = keys(&folder);
    for id in 0..40 {
        let body = format!("{{\"id\": \"q{id:02}\", \"epoch\": 1, \"rater\": \"Ann\", \"value\": {}}}", id % 2);
        let path = format!("/api/runs/{}/labels", keys[0]);
        assert_eq!(served.ask("POST", &path, &[("x-calipers", "1")], &body).status, 200);
    }
    let about = served.get("/api/openapi.json").json();
    let mut tried = Vec::new();
    for (path, methods) in about["paths"].as_object().expect("paths") {
        let content = &methods["get"]["responses"]["200"]["content"]["application/json"];
        let Some(name) = content["schema"]["$ref"].as_str().and_then(|name| name.rsplit('/').next()) else { continue };
        let question = match path.as_str() {
            "/api/compare" => format!("?run={}&run={}&run={}", keys[0], keys[1], keys[2]),
            "/api/trend" | "/api/verdicts" => "?suite=nightly".to_owned(),
            "/api/case" => "?suite=nightly&id=q03".to_owned(),
            "/api/runs/{key}/sample" => "?id=q03".to_owned(),
            _ => String::new(),
        };
        let answer = served.get(&(path.replace("{key}", &keys[0]) + &question));
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        let validator = jsonschema::options().build(&about["components"]["schemas"][name]).expect("a schema");
        let wrong: Vec<String> = validator.iter_errors(&answer.json()).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{path}: {wrong:?}");
        assert!(!validator.is_valid(&serde_json::json!({ "nothing": true })), "{name} allows anything");
        tried.push(name.to_owned());
    }
    tried.sort();
    let all = ["case", "compare", "history", "judge", "results", "sample", "samples", "trend", "verdicts"];
    assert_eq!(tried, all);
}

#[test]
fn a_policy_is_replayed_over_past_runs() {
    let folder = suite();
    folder.write("policy.json", r#"{"pass_criteria": {"overall": "at least 80%"}}"#);
    let served = Served::with_runs(&folder, &["logs", "--policy", "policy.json"], 3);
    let page = served.get("/verdicts").body;
    let count = |word: &str| page.matches(&format!("</svg>{word}</span>")).count();
    // Each is told once in the table, and once in the tally above it.
    assert_eq!((count("pass"), count("fail")), (2 + 1, 1 + 1), "{page}");
}

#[test]
fn new_files_appear_by_themselves() {
    let folder = suite();
    let served = Served::with_runs(&folder, &["logs"], 3);
    let mut events = TcpStream::connect(&served.address).unwrap();
    events.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    events.write_all(format!("GET /events HTTP/1.1\r\nHost: {}\r\n\r\n", served.address).as_bytes()).unwrap();
    let mut reader = BufReader::new(events);
    let mut next = || {
        let mut line = String::new();
        while !line.starts_with("data: ") {
            line.clear();
            assert!(reader.read_line(&mut line).unwrap() > 0, "the events end");
        }
        line
    };
    let first = next();
    folder.write("logs/nightly/5.jsonl", records(|_| false, ""));
    // Earlier files may still be news.
    let mut last = first.clone();
    while served.get("/api/runs").json()["total"] != 4 {
        last = next();
    }
    assert_ne!(last, first);
}

#[test]
fn a_page_comes_in_one_piece_and_in_its_colours() {
    let folder = suite();
    let served = Served::with_runs(&folder, &["logs"], 3);
    let page = served.get("/");
    assert!(!page.body.contains("rel=\"stylesheet\"") && page.body.contains("<style>"), "{}", page.body);
    assert!(page.head.contains("style-src 'sha256-") && !page.head.contains("unsafe"), "{}", page.head);
    let (_, rest) = page.body.split_once("<script src=\"").expect("a script");
    let (script, _) = rest.split_once('"').expect("its end");
    assert!(served.get(script).head.contains("immutable"), "{script}");
    for old in ["/assets/view.js", "/assets/view.js?v=old", &format!("{script}x")] {
        assert!(served.get(old).head.contains("cache-control: no-cache"), "{old}");
    }
    for (cookie, want) in [
        ("calipers_theme=dark", Some("<html lang=\"en\" data-theme=\"dark\">")),
        ("a=b; calipers_theme=light", Some("<html lang=\"en\" data-theme=\"light\">")),
        ("calipers_theme=system", None),
        ("calipers_theme=\"><script>", None),
    ] {
        let page = served.ask("GET", "/", &[("Cookie", cookie)], "").body;
        assert!(page.contains(want.unwrap_or("<html lang=\"en\">")), "{cookie}");
    }
}

#[test]
fn nothing_of_a_run_is_markup() {
    let folder = Scratch::new();
    let hostile = "<script>alert(1)</script><img src=x onerror=alert(2)>\\\"' --><b>";
    let lines: String = (0..4)
        .map(|id| format!("{{\"id\": \"{id}{hostile}\", \"input\": \"{hostile}\", \"output\": \"{hostile}\", \"score\": {}, \"explanation\": \"{hostile}\"}}\n", id % 2))
        .collect();
    folder.write("logs/<b>suite<x>/r.jsonl", lines);
    run(
        &folder,
        &["history", "add", "logs", "--version-name", hostile, "--branch", hostile, "--tag", &format!("x={hostile}")],
    );
    let served = Served::with_runs(&folder, &[], 1);
    let list = served.get("/api/runs").json();
    let key = list["runs"][0]["key"].as_str().unwrap().to_owned();
    let id = "0%3Cscript%3Ealert(1)%3C%2Fscript%3E%3Cimg%20src%3Dx%20onerror%3Dalert(2)%3E%22%27%20--%3E%3Cb%3E";
    let suite = "%3Cb%3Esuite%3Cx%3E";
    for path in [
        "/".to_owned(),
        format!("/?q={id}&suite={id}&model={id}&tag={id}%3D{id}&version={id}"),
        format!("/runs/{key}"),
        format!("/runs/{key}/samples?q={id}"),
        format!("/runs/{key}/sample?id={id}"),
        format!("/case?suite={suite}&id={id}"),
        format!("/case?suite={id}&id={id}"),
        format!("/trend?suite={suite}"),
        format!("/trend?suite={id}&figure={id}&model={id}&branch={id}"),
        format!("/compare?run={key}&run={key}"),
        format!("/compare?run={id}&run={id}"),
        "/verdicts".to_owned(),
        format!("/runs/{id}"),
        format!("/?save=1&q={id}"),
    ] {
        let answer = served.get(&path);
        assert!(answer.status < 500, "{path}: {}", answer.status);
        for tag in ["<script>alert", "<img src=x", "<b>suite", "onerror=alert(2)>"] {
            assert!(!answer.body.contains(tag), "{path} has `{tag}`:\n{}", answer.body);
        }
        assert!(answer.head.contains("content-security-policy: default-src 'none'"), "{path}: {}", answer.head);
        for header in ["x-frame-options: deny", "x-content-type-options: nosniff", "referrer-policy: same-origin"] {
            assert!(answer.head.contains(header), "{path} lacks {header}");
        }
        assert!(!answer.head.contains("access-control-allow"), "{path}");
    }
}

#[test]
fn bad_huge_and_hostile_questions_get_an_answer() {
    let folder = suite();
    let served = Served::with_runs(&folder, &["logs"], 3);
    let key = &keys(&folder)[0];
    let long = "x".repeat(9000);
    let medium = "y".repeat(3000);
    for (path, want) in [
        ("/nothing".to_owned(), 404),
        ("/../../etc/passwd".to_owned(), 404),
        ("/runs/..%2F..%2Fetc%2Fpasswd".to_owned(), 404),
        ("/runs/%2e%2e%2f%2e%2e/report".to_owned(), 404),
        (format!("/runs/{key}%00"), 404),
        ("/runs/%ff%fe".to_owned(), 400),
        (format!("/?q={long}"), 414),
        (format!("/?q={medium}"), 200),
        ("/?page=99999999999999999999".to_owned(), 200),
        ("/?page=-1".to_owned(), 200),
        ("/?page=9999999".to_owned(), 200),
        ("/?q=%00".to_owned(), 200),
        ("/compare".to_owned(), 400),
        (format!("/compare?run={key}"), 400),
        (format!("/compare?{}", format!("run={key}&").repeat(40)), 400),
        ("/compare?run=ffff&run=eeee".to_owned(), 404),
        (format!("/runs/{key}/sample"), 400),
        (format!("/runs/{key}/sample?id=none"), 404),
        (format!("/runs/{key}/sample?id=q03&attempt=99"), 200),
        (format!("/runs/{key}/sample?id=q03&from=9999999"), 200),
        ("/case".to_owned(), 400),
        ("/trend?figure=%1f%1f".to_owned(), 200),
        ("/api/runs?size=999999999".to_owned(), 200),
        ("/api/runs/zz".to_owned(), 404),
        ("/api/compare?run=1".to_owned(), 400),
        ("/api/nothing".to_owned(), 404),
        ("/assets/../view.css".to_owned(), 404),
    ] {
        let answer = served.get(&path);
        assert_eq!(answer.status, want, "{} {}", &path[..path.len().min(90)], answer.body);
    }
    for method in ["PUT", "DELETE", "POST", "PATCH"] {
        assert!(served.ask(method, "/", &[("x-calipers", "1")], "").status >= 400, "{method}");
    }
    let huge = "z".repeat(100_000);
    let path = format!("/api/runs/{key}/invalidate");
    assert_eq!(served.ask("POST", &path, &[("x-calipers", "1")], &huge).status, 413);
    assert_eq!(served.ask("POST", &path, &[("x-calipers", "1")], "{").status, 400);
    assert_eq!(served.get("/health").body, "ok\n");
    let about = served.get("/api/openapi.json").json();
    assert_eq!(about["openapi"], "3.1.0");
    assert!(served.get("/metrics").body.contains("calipers_runs 3\n"));
}

#[test]
fn pages_of_other_sites_can_neither_read_nor_change() {
    let folder = suite();
    let served = Served::with_runs(&folder, &["logs"], 3);
    let key = &keys(&folder)[0];
    let path = format!("/api/runs/{key}/invalidate");
    let body = r#"{"why": "a test"}"#;
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost:1"] {
        for path in ["/", "/api/runs", "/assets/view.js", "/metrics", "/events", "/health"] {
            assert_eq!(served.ask("GET", path, &[("Host", host)], "").status, 403, "{host} {path}");
        }
    }
    for headers in [
        &[("Origin", "http://evil.example"), ("x-calipers", "1")][..],
        &[("Origin", "null"), ("x-calipers", "1")],
        &[("Sec-Fetch-Site", "cross-site"), ("x-calipers", "1")],
        &[("Content-Type", "text/plain")],
        &[],
    ] {
        assert_eq!(served.ask("POST", &path, headers, body).status, 403, "{headers:?}");
    }
    assert_eq!(json(&folder, &["history", "list", "--state", "invalid"])["total"], 0);
    let origin = format!("http://{}", served.address);
    assert_eq!(served.ask("POST", &path, &[("Origin", &origin), ("x-calipers", "1")], body).status, 200);
    assert_eq!(json(&folder, &["history", "list", "--state", "invalid"])["runs"][0]["invalid"], "a test");
    assert_eq!(served.ask("POST", &format!("/api/runs/{key}/restore"), &[("x-calipers", "1")], "").status, 200);
    assert_eq!(json(&folder, &["history", "list", "--state", "invalid"])["total"], 0);
}

#[test]
fn beyond_this_machine_a_token_and_its_role_decide() {
    let folder = suite();
    let output = run(&folder, &["view", "logs", "--bind", "0.0.0.0", "--port", "0", "--no-open"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        flat_output(&output).contains("no token") && flat_output(&output).contains("--tokens"),
        "{}",
        flat_output(&output)
    );
    folder.write("weak.txt", "read short\n");
    let output = run(&folder, &["view", "--bind", "0.0.0.0", "--tokens", "weak.txt"]);
    assert!(flat_output(&output).contains("in weak.txt, line 1"), "{}", flat_output(&output));
    run(&folder, &["history", "add", "logs"]);
    let key = &keys(&folder)[0];
    let (read, label, admin) = ("read-0123456789abc", "label-0123456789ab", "admin-0123456789ab");
    folder.write("tokens.txt", format!("# roles\nread {read}\nlabel {label}\n\nadmin {admin}\n"));
    let served = Served::start(&folder, &["--bind", "0.0.0.0", "--tokens", "tokens.txt"]);
    let ask = |method: &str, path: &str, token: &str| {
        let bearer = format!("Bearer {token}");
        let body = if method == "POST" { r#"{"why": "x"}"# } else { "" };
        served.ask(method, path, &[("Authorization", &bearer), ("x-calipers", "1")], body).status
    };
    let invalidate = format!("/api/runs/{key}/invalidate");
    let run_page = format!("/runs/{key}");
    let reading = [
        "/",
        "/trend",
        "/verdicts",
        "/compare",
        "/case",
        "/api/runs",
        "/api/trend",
        "/api/openapi.json",
        run_page.as_str(),
    ];
    for path in reading {
        let without = served.get(path);
        assert!(matches!(without.status, 303 | 401), "{path} {}", without.status);
        assert!(!without.body.contains("nightly"), "{path}");
        assert!(matches!(ask("GET", path, "wrong-0123456789abc"), 303 | 401), "{path}");
        for token in [read, label, admin] {
            assert!(matches!(ask("GET", path, token), 200 | 400), "{path} {token}");
        }
    }
    for (method, path, wanted) in [("POST", invalidate.as_str(), [403, 200, 200]), ("GET", "/metrics", [403, 403, 200])]
    {
        assert_eq!(served.ask(method, path, &[("x-calipers", "1")], "{}").status, 401, "{path}");
        let found = [read, label, admin].map(|token| ask(method, path, token));
        assert_eq!(found, wanted, "{path}");
    }
    // A browser keeps the token in a cookie that no script reads and no other site sends.
    assert_eq!(served.ask("POST", "/login", &[], "token=wrong").status, 401);
    assert_eq!(
        served.ask("POST", "/login", &[("Origin", "http://evil.example")], &format!("token={read}")).status,
        403
    );
    let login = served.ask("POST", "/login", &[], &format!("token={read}"));
    assert_eq!(login.status, 303);
    assert!(login.head.contains("httponly; samesite=strict"), "{}", login.head);
    assert_eq!(served.ask("GET", "/", &[("Cookie", &format!("calipers_token={read}"))], "").status, 200);
    assert_eq!(served.get("/health").status, 200);
}

#[test]
fn a_view_saves_as_one_file() {
    let folder = suite();
    let served = Served::with_runs(&folder, &["logs"], 3);
    let key = &keys(&folder)[0];
    for path in ["/?save=1".to_owned(), format!("/runs/{key}?save=1"), "/trend?suite=nightly&save=1".to_owned()] {
        let answer = served.get(&path);
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.head.contains("content-disposition: attachment"), "{path}");
        assert!(answer.body.contains("<style>") && answer.body.contains("'sha256-"), "{path}");
        for reference in ["src=\"/", " href=\"/", "<script"] {
            assert!(!answer.body.contains(reference), "{path} has {reference}");
        }
    }
}

#[cfg(unix)]
#[test]
fn it_ends_when_it_is_asked_to_even_while_pages_listen() {
    let folder = suite();
    let mut served = Served::with_runs(&folder, &["logs"], 3);
    let mut events = TcpStream::connect(&served.address).unwrap();
    events.write_all(format!("GET /events HTTP/1.1\r\nHost: {}\r\n\r\n", served.address).as_bytes()).unwrap();
    let mut some = [0; 16];
    events.read_exact(&mut some).unwrap();
    let ended = std::process::Command::new("kill").args(["-TERM", &served.child.id().to_string()]).status().unwrap();
    assert!(ended.success());
    let end = Instant::now() + Duration::from_secs(10);
    let status = loop {
        if let Some(status) = served.child.try_wait().unwrap() {
            break status;
        }
        assert!(Instant::now() < end, "it does not end");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status.code(), Some(0));
}

#[test]
fn labels_correct_a_judge_as_the_command_line_does() {
    let folder = suite();
    let served = Served::with_runs(&folder, &["logs"], 3);
    let key = &keys(&folder)[0];
    let source = json(&folder, &["history", "list"])["runs"][0]["source"].as_str().unwrap().to_owned();
    let page = served.get(&format!("/runs/{key}/label?rater=Ann")).body;
    assert!(page.contains("0 of 80 labelled by Ann") && page.contains("question"), "{page}");
    // Blind: neither the score nor the outcome is on the page, though both are on that of the sample.
    let shows = |page: &str, what: &str| page.split_once("<main").is_some_and(|(_, main)| main.contains(what));
    assert!(!shows(&page, "badge") && !shows(&page, "<dt>score</dt>"), "{page}");
    let sample = served.get(&format!("/runs/{key}/sample?id=q76")).body;
    assert!(shows(&sample, "badge") && shows(&sample, "<dt>score</dt>"), "{sample}");
    let path = format!("/api/runs/{key}/labels");
    let label = |id: usize, rater: &str, value: usize| {
        let body = format!("{{\"id\": \"q{id:02}\", \"epoch\": 1, \"rater\": \"{rater}\", \"value\": {value}}}");
        served.ask("POST", &path, &[("x-calipers", "1")], &body).status
    };
    for id in 0..40 {
        assert_eq!(label(id, "Ann", usize::from(id % 4 != 0)), 200);
    }
    assert_eq!(label(0, "Ben", 1), 200);
    // A second thought replaces the first.
    assert_eq!(label(1, "Ann", 0), 200);
    assert_eq!(label(1, "Ann", 1), 200);
    assert_eq!(label(99, "Ann", 1), 404);
    assert_eq!(
        served
            .ask("POST", &path, &[("x-calipers", "1")], r#"{"id": "q01", "epoch": 1, "rater": "", "value": 1}"#)
            .status,
        400
    );
    assert_eq!(
        served
            .ask("POST", &path, &[("x-calipers", "1")], r#"{"id": "q01", "epoch": 1, "rater": "A", "value": 2}"#)
            .status,
        400
    );
    assert_eq!(served.ask("POST", &path, &[], r#"{"id": "q01", "epoch": 1, "rater": "A", "value": 1}"#).status, 403);
    // The same numbers as on the command line, which reads what the server writes.
    let lines = served.get(&path).body;
    assert_eq!(lines.lines().count(), 40);
    folder.write("labels.jsonl", lines);
    let of_server = served.get(&format!("/api/runs/{key}/judge")).json();
    assert_eq!(of_server, json(&folder, &["judge", &source, "--labels", "labels.jsonl"]));
    let page = served.get(&format!("/runs/{key}/judge")).body;
    assert!(page.contains("41 labels by 2 people"), "{page}");
    // Labels are records: they outlive the index.
    let exported = text(&run(&folder, &["history", "export"]).stdout);
    assert_eq!(exported.lines().filter(|line| line.contains("\"labelled\"")).count(), 43);
}

#[test]
fn no_label_is_lost_however_often_the_server_is_killed() {
    let folder = Scratch::new();
    for place in 0..40 {
        folder.write(&format!("logs/s/{place:02}.jsonl"), records(|id| id % (2 + place % 7) == 0, ""));
    }
    run(&folder, &["history", "add", "logs/s/00.jsonl"]);
    let key = keys(&folder)[0].clone();
    let path = format!("/api/runs/{key}/labels");
    let mut given = Vec::new();
    for (round, wait) in [2, 9, 23, 41, 77, 130, 260].into_iter().enumerate() {
        // Every round has something to read while labels come in.
        folder.write("logs/s/39.jsonl", records(|id| id % (round + 2) == 0, &format!(" {round}")));
        let mut served = Served::start(&folder, &["logs"]);
        let end = Instant::now() + Duration::from_millis(wait);
        let address = served.address.clone();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(end.saturating_duration_since(Instant::now()));
            served.child.kill().unwrap();
            served.child.wait().unwrap();
        });
        for id in 0..80 {
            let (rater, value) = (format!("rater {round}"), (id + round) % 2);
            let body = format!("{{\"id\": \"q{id:02}\", \"epoch\": 1, \"rater\": \"{rater}\", \"value\": {value}}}");
            let head = format!(
                "POST {path} HTTP/1.1\r\nHost: {address}\r\nx-calipers: 1\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            let Ok(mut stream) = TcpStream::connect(&address) else { break };
            let mut answer = Vec::new();
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
            let _ = stream.read_to_end(&mut answer);
            // Only what was confirmed is promised.
            if Answer::parse(&answer).status == 200 {
                given.push((rater, id, value));
            }
        }
        killer.join().unwrap();
    }
    let exported = text(&run(&folder, &["history", "export"]).stdout);
    let kept: Vec<(String, usize, usize)> = exported
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).unwrap())
        .filter(|line| line["kind"] == "labelled")
        .map(|line| {
            let body = &line["body"];
            let id = body["id"].as_str().unwrap().trim_start_matches('q').parse().unwrap();
            (body["rater"].as_str().unwrap().to_owned(), id, body["value"].as_u64().unwrap() as usize)
        })
        .collect();
    assert!(!given.is_empty(), "some labels were given");
    for label in &given {
        assert!(kept.contains(label), "{label:?} was confirmed and is lost");
    }
    // The index is completed, and has the figures of one that was never disturbed.
    run(&folder, &["history", "add", "logs"]);
    run(&folder, &["history", "add", "logs", "--database", "fresh.db"]);
    let figures = |words: &[&str]| {
        let list = json(&folder, &[&["history", "list", "--limit", "100"], words].concat());
        let mut all: Vec<String> =
            list["runs"].as_array().unwrap().iter().map(|run| format!("{} {}", run["key"], run["figures"])).collect();
        all.sort();
        all
    };
    assert_eq!(figures(&[]).len(), 40);
    assert_eq!(figures(&[]), figures(&["--database", "fresh.db"]));
}

#[test]
fn two_servers_on_one_history_do_not_disturb_each_other() {
    let folder = suite();
    let (one, other) = (Served::start(&folder, &["logs"]), Served::start(&folder, &["logs"]));
    for place in 4..24 {
        folder.write(&format!("logs/nightly/{place}.jsonl"), records(|id| id % place == 0, ""));
    }
    let end = Instant::now() + Duration::from_secs(60);
    while [&one, &other].iter().any(|served| served.get("/api/runs?size=1").json()["total"] != 23) {
        assert!(Instant::now() < end, "the runs never came");
        std::thread::sleep(Duration::from_millis(50));
    }
    let key = keys(&folder)[0].clone();
    let label = |served: &Served, rater: &str, id: usize| {
        let body = format!("{{\"id\": \"q{id:02}\", \"epoch\": 1, \"rater\": \"{rater}\", \"value\": 1}}");
        served.ask("POST", &format!("/api/runs/{key}/labels"), &[("x-calipers", "1")], &body).status
    };
    std::thread::scope(|scope| {
        for (served, rater) in [(&one, "Ann"), (&other, "Ben")] {
            scope.spawn(move || (0..40).for_each(|id| assert_eq!(label(served, rater, id), 200, "{rater} {id}")));
        }
    });
    let lines = |served: &Served| served.get(&format!("/api/runs/{key}/labels")).body;
    assert_eq!(lines(&one), lines(&other));
    assert_eq!(lines(&one).matches("\"Ann\"").count() + lines(&one).matches("\"Ben\"").count(), 80);
    assert_eq!(one.get("/api/runs?size=100").json(), other.get("/api/runs?size=100").json());
    // What is said on one page is seen on the other.
    let invalidate = format!("/api/runs/{key}/invalidate");
    assert_eq!(one.ask("POST", &invalidate, &[("x-calipers", "1")], r#"{"why": "a test"}"#).status, 200);
    assert_eq!(other.get("/api/runs?state=invalid").json()["total"], 1);
}

#[cfg(unix)]
#[test]
fn a_run_that_goes_on_is_followed_without_an_interval() {
    let folder = Scratch::new();
    let lines = (0..8).map(|id| format!("{{\"id\": {id}, \"input\": \"{id}\", \"target\": \"yes\"}}\n"));
    folder.write("cases.jsonl", lines.collect::<String>());
    folder.write(
        "task.star",
        "def slow():\n    return Task(dataset=json_dataset(\"cases.jsonl\"), solver=generate(), scorer=includes())\n",
    );
    let served = Served::start(&folder, &["logs"]);
    std::fs::create_dir_all(folder.join("logs")).unwrap();
    let mut running = program(&folder)
        .args([
            "eval",
            "task.star",
            "--solver",
            "command(\"sleep 0.7; echo yes\")",
            "--max-samples",
            "1",
            "--model",
            "mockllm/x",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    let mut seen = Vec::new();
    while running.try_wait().unwrap().is_none() {
        assert!(Instant::now() < end, "it never ends");
        if let Some(one) = served.get("/api/runs").json()["runs"].as_array().and_then(|runs| runs.first().cloned()) {
            let page = served.get(&format!("/runs/{}", one["key"].as_str().unwrap())).body;
            if page.contains("id=\"progress\"") {
                assert!(page.contains("mean so far") || one["samples"]["total"] == 0, "{page}");
                assert!(!page.contains("<section id=\"metrics\""), "no report before the end: {page}");
                seen.push(one["samples"]["total"].as_u64().unwrap());
            }
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    seen.dedup();
    assert!(seen.len() >= 2 && seen.iter().all(|total| *total <= 8), "it is followed: {seen:?}");
    let list = loop {
        let list = served.get("/api/runs").json();
        if list["runs"][0]["ending"] != "open" {
            break list;
        }
        assert!(Instant::now() < end, "its end is never seen: {list:#}");
        std::thread::sleep(Duration::from_millis(100));
    };
    let key = list["runs"][0]["key"].as_str().unwrap();
    let page = served.get(&format!("/runs/{key}")).body;
    assert!(!page.contains("id=\"progress\"") && page.contains("id=\"metrics\""), "{page}");
    let source = list["runs"][0]["source"].as_str().unwrap();
    assert_eq!(served.get(&format!("/api/runs/{key}")).body, text(&run(&folder, &["score", source, "--json"]).stdout));
}

#[test]
fn what_was_said_is_found_and_every_message_has_an_address() {
    let folder = Scratch::new();
    let messages: Vec<String> = (0..240)
        .map(|n| {
            format!(
                r#"{{"role": "{}", "content": "message {n} of many"}}"#,
                if n % 2 == 0 { "user" } else { "assistant" }
            )
        })
        .collect();
    folder.write("logs/s/a.jsonl", format!("{{\"id\": \"long\", \"messages\": [{}], \"score\": 1}}\n{{\"id\": \"short\", \"input\": \"REFUND please\", \"score\": 0}}\n", messages.join(", ")));
    let served = Served::with_runs(&folder, &["logs"], 1);
    let key = &keys(&folder)[0];
    let page = served.get(&format!("/runs/{key}/search?q=refund")).body;
    assert!(page.contains("1 place") && page.contains("REFUND please") && page.contains("id=short"), "{page}");
    let page = served.get(&format!("/runs/{key}/search?q=message%20137%20of")).body;
    assert!(page.contains("from=100#m138"), "{page}");
    let page = served.get(&format!("/runs/{key}/sample?id=long&find=message%20205")).body;
    assert!(page.contains("1 place found") && page.contains("from=200#m206"), "{page}");
    let page = served.get(&format!("/runs/{key}/sample?id=long&attempt=1&from=200")).body;
    assert!(page.contains("id=\"m206\"") && page.contains("message 205 of many"), "{page}");
    assert!(served.get(&format!("/runs/{key}/search?q=nothing%20like%20it")).body.contains("Nothing in this run"));
}

#[test]
fn a_table_is_watched_by_the_columns_that_are_named() {
    let folder = own_table();
    folder.write("policy.json", r#"{"pass_criteria": {"overall": "at least 30%"}}"#);
    let flags = ["--columns", OWN_COLUMNS, "--pass-threshold", "4"];
    let served = Served::with_runs(&folder, &[&["logs", "--policy", "policy.json"], &flags[..]].concat(), 2);
    let of_table = || json(&folder, &["history", "list", "table.csv"])["runs"].as_array().unwrap().clone();
    let list = of_table();
    let key = |place: usize| list[place]["key"].as_str().unwrap();
    let name = |place: usize| list[place]["run"].as_str().unwrap();
    let score =
        |name: &str| run(&folder, &[&["score", "logs/own/table.csv", "--json", "--run", name], &flags[..]].concat());
    assert_eq!(served.get(&format!("/api/runs/{}", key(0))).body, text(&score(name(0)).stdout));
    // Everything that reads the file again knows its columns.
    let compared = served.get(&format!("/api/compare?run={}&run={}", key(0), key(1)));
    assert!(
        compared.body.contains("\"score\": \"stars\"") && compared.body.contains("is below 4"),
        "{}",
        compared.body
    );
    for (path, words) in [
        (format!("/runs/{}", key(0)), "3.000"),
        (format!("/runs/{}/report", key(0)), "q03"),
        (format!("/runs/{}/sample?id=q03", key(0)), "q03"),
        (format!("/runs/{}/search?q=nothing%20like%20it", key(0)), "Nothing in this run"),
        ("/verdicts".to_owned(), "</svg>pass</span>"),
    ] {
        let page = served.get(&path);
        assert!(page.status == 200 && page.body.contains(words), "{path}: {}", page.body);
        assert!(!page.body.contains("is unknown") && !page.body.contains("no column"), "{path}: {}", page.body);
    }
    // What is added to the file is read in the same way.
    folder.write("logs/own/table.csv", folder.read("logs/own/table.csv") + "q20,small,5\nq20,large,5\n");
    let end = Instant::now() + Duration::from_secs(60);
    while of_table()[0]["samples"]["total"].as_u64() != Some(21) {
        assert!(Instant::now() < end, "the change never came");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(of_table()[0]["samples"]["passed"].as_u64(), Some(9));
    // Runs whose scores count differently are not compared.
    run(&folder, &["history", "add", "nightly", "--pass-threshold", "0.5"]);
    let log = json(&folder, &["history", "list", "1.jsonl"])["runs"][0]["key"].as_str().unwrap().to_owned();
    let answer = served.get(&format!("/api/compare?run={}&run={log}", key(0)));
    assert!(answer.status >= 400 && answer.body.contains("another pass threshold"), "{}", answer.body);
}
