//! Results on web servers: as they should be, and as they should not.

use crate::program::{calipers, said};
use calipers_testing::Scratch;
use calipers_testing::object_server::{Answer, ObjectRequest, ObjectServer};
use serde_json::Value as Json;
use std::process::Output;
use std::time::{Duration, Instant};

const POLICY: &str = r#"{"thresholds": {"blocking": {"pass_rate": 50}}}"#;
/// No server may take longer than this, with all that is tried again.
const PATIENCE: Duration = Duration::from_secs(40);

/// Records of a run: two of three pass.
fn records(count: usize) -> Vec<u8> {
    let line = |id: usize| {
        format!("{{\"id\": {id}, \"score\": {}, \"answer\": \"{id:064x}\"}}\n", u8::from(!id.is_multiple_of(3)))
    };
    (0..count).map(line).collect::<String>().into_bytes()
}

/// What the program does, with as little patience as it can have.
fn run(arguments: &[&str]) -> Output {
    calipers().command().env("CALIPERS_STORE_SECONDS", "4").args(arguments).output().unwrap()
}

/// The first run without its name.
#[track_caller]
fn scored(name: &str) -> Json {
    let output = run(&["score", name, "--json"]);
    assert!(output.status.success(), "{}", said(&output));
    let mut json: Json = serde_json::from_slice(&output.stdout).unwrap();
    let run = json["runs"][0].as_object_mut().unwrap();
    run.remove("source");
    Json::Object(run.clone())
}

/// A server that misbehaves ends a gate with an error, which names the object and what is wrong with it.
#[track_caller]
fn refused(answer: impl Fn(&ObjectRequest, usize) -> Answer + Send + Sync + 'static, wanted: &str) {
    let server = ObjectServer::start(answer);
    let folder = Scratch::with("policy.json", POLICY);
    let begun = Instant::now();
    let name = format!("{}/results.jsonl", server.url);
    let output = run(&["gate", &name, "--policy", folder.join("policy.json").to_str().unwrap()]);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(wanted), "{said}");
    assert!(said.contains(&name), "{said}");
    assert!(begun.elapsed() < PATIENCE, "{:?}: {said}", begun.elapsed());
}

#[test]
fn a_file_on_a_web_server_is_read_as_one_on_the_disk() {
    for count in [3, 10_000, 200_000] {
        let content = records(count);
        let folder = Scratch::with("results.jsonl", &content);
        let server = ObjectServer::of(content.clone());
        let here = scored(folder.join("results.jsonl").to_str().unwrap());
        assert_eq!(scored(&format!("{}/logs/results.jsonl?token=x", server.url)), here);
        let requests = server.requests().len();
        assert!(requests <= 3 + content.len() / (16 << 20), "{requests} requests for {} bytes", content.len());
    }
}

#[test]
fn compressed_files_and_tables_are_read_from_web_servers() {
    let folder = Scratch::with("results.jsonl", records(5_000));
    for name in ["results.jsonl.gz", "results.parquet", "results.csv", "results.eval"] {
        let source = folder.join("results.jsonl");
        let output = calipers().run_in(&folder, &["convert", source.to_str().unwrap(), "-o", name]);
        assert!(output.status.success(), "{}", said(&output));
        let server = ObjectServer::of(std::fs::read(folder.join(name)).unwrap());
        assert_eq!(scored(&format!("{}/{name}", server.url)), scored(folder.join(name).to_str().unwrap()), "{name}");
    }
}

#[test]
fn a_server_without_ranges_sends_all_of_it() {
    let content = records(10_000);
    let server = ObjectServer::start({
        let content = content.clone();
        move |_, _| Answer::new("200 OK", &[], &*content)
    });
    let folder = Scratch::with("results.jsonl", &content);
    assert_eq!(
        scored(&format!("{}/results.jsonl", server.url)),
        scored(folder.join("results.jsonl").to_str().unwrap())
    );
}

#[test]
fn an_object_that_is_replaced_while_it_is_read_is_an_error() {
    let content = records(200_000);
    refused(
        move |request, before| Answer::object(request, &content, if before == 0 { "\"1\"" } else { "\"2\"" }),
        "replaced",
    );
    // A server without tags, whose object grows.
    refused(
        |request, before| {
            let content = records(200_000 + before);
            let range = request.range(content.len()).unwrap();
            let place = format!("bytes {}-{}/{}", range.start, range.end - 1, content.len());
            Answer::new("206 Partial Content", &[("content-range", &place)], &content[range])
        },
        "replaced",
    );
}

#[test]
fn a_server_that_lies_is_an_error() {
    let lie = |said: usize, sent: usize| {
        move |_: &ObjectRequest, _: usize| {
            let head = format!(
                "HTTP/1.1 206 Partial Content\r\ncontent-length: {said}\r\netag: \"1\"\r\ncontent-range: bytes 0-{}/{said}\r\n",
                said - 1
            );
            Answer::Whole(head, vec![b'x'; sent])
        }
    };
    // It sends less than it says, also when asked for the rest.
    refused(lie(1000, 10), "");
    // A part of another place.
    refused(|_, _| Answer::new("206 Partial Content", &[("content-range", "bytes 500-599/1000")], vec![b'x'; 100]), "");
    // A size beyond anything.
    refused(
        |_, _| {
            let headers = [("content-range", "bytes 0-262143/18446744073709551615"), ("etag", "\"1\"")];
            Answer::new("206 Partial Content", &headers, vec![b' '; 262_144])
        },
        "",
    );
}

#[test]
fn a_body_without_end_ends() {
    refused(|_, _| Answer::Endless("HTTP/1.1 200 OK\r\n".into(), b'{'), "");
    let endless = "HTTP/1.1 206 Partial Content\r\netag: \"1\"\r\ncontent-range: bytes 0-262143/9000000\r\n";
    refused(move |_, _| Answer::Endless(endless.into(), b'{'), "");
    refused(|_, _| Answer::Endless("HTTP/1.1 403 Forbidden\r\n".into(), b'x'), "access was refused");
}

#[test]
fn a_slow_server_ends() {
    refused(|_, _| Answer::Silence(Duration::from_secs(60)), "within 4 s");
    refused(
        |_, _| {
            let head = "HTTP/1.1 206 Partial Content\r\ncontent-length: 1000\r\ncontent-range: bytes 0-999/1000\r\n";
            Answer::Drip(head.into(), vec![b'x'; 1000], Duration::from_millis(500))
        },
        "within 4 s",
    );
}

#[test]
fn redirects_into_this_network_are_not_followed() {
    let inside = ObjectServer::of(records(10));
    for target in [inside.url.clone(), "http://169.254.169.254/latest/meta-data/".into(), "https://127.0.0.1/a".into()]
    {
        refused(move |_, _| Answer::new("302 Found", &[("location", &target)], ""), "the server redirects");
    }
    assert!(inside.requests().is_empty(), "another port of this machine is another server");
    refused(|_, _| Answer::new("302 Found", &[("location", "/again")], ""), "redirects too often");
}

#[test]
fn a_redirect_within_the_server_is_followed_and_passwords_stay_there() {
    let content = records(100);
    let server = ObjectServer::start({
        let content = content.clone();
        move |request, _| match &*request.path {
            "/results.jsonl" => Answer::new("307 Temporary Redirect", &[("location", "/moved")], ""),
            _ => Answer::object(request, &content, "\"1\""),
        }
    });
    let folder = Scratch::with("results.jsonl", &content);
    let url = server.url.replace("http://", "http://me:hunter2@");
    assert_eq!(scored(&format!("{url}/results.jsonl")), scored(folder.join("results.jsonl").to_str().unwrap()));
    assert!(server.requests().iter().all(|request| request.headers["authorization"] == "Basic bWU6aHVudGVyMg=="));
}

#[test]
fn a_server_that_fails_is_asked_again_and_then_named() {
    let content = records(1000);
    let server = ObjectServer::start({
        let content = content.clone();
        move |request, before| match before {
            0 => Answer::new("500 Internal Server Error", &[], "oh"),
            1 => Answer::new("429 Too Many Requests", &[("retry-after", "1")], ""),
            // Half of it, and then the rest.
            2 => {
                let place = format!("bytes 0-{}/{}", content.len() - 1, content.len());
                let head = format!(
                    "HTTP/1.1 206 Partial Content\r\ncontent-length: {}\r\netag: \"1\"\r\ncontent-range: {place}\r\n",
                    content.len()
                );
                Answer::Whole(head, content[..content.len() / 2].to_vec())
            }
            _ => Answer::object(request, &content, "\"1\""),
        }
    });
    let folder = Scratch::with("results.jsonl", &content);
    assert_eq!(
        scored(&format!("{}/results.jsonl", server.url)),
        scored(folder.join("results.jsonl").to_str().unwrap())
    );
    refused(|_, _| Answer::new("500 Internal Server Error", &[], "<script>::error::"), "the server answered 500");
    refused(|_, _| Answer::new("429 Too Many Requests", &[("retry-after", "86400")], ""), "");
    refused(|_, _| Answer::new("404 Not Found", &[], ""), "there is no such object");
}

#[test]
fn secrets_in_addresses_are_never_shown() {
    let server = ObjectServer::start(|_, _| Answer::new("403 Forbidden", &[], "<Code>SignatureDoesNotMatch</Code>"));
    let url = server.url.replace("http://", "http://me:hunter2@");
    let folder = Scratch::with("policy.json", POLICY);
    let policy = folder.join("policy.json");
    for arguments in [
        vec!["score", "URL/a.jsonl?sig=hunter2"],
        vec!["gate", "URL/a.jsonl?sig=hunter2&x=hunter2", "--policy", policy.to_str().unwrap()],
        vec!["convert", "URL/a.jsonl?hunter2", "-o", "-"],
        vec!["score", "URL/*.jsonl?sig=hunter2"],
        vec!["score", "s3://me:hunter2@bucket/a.jsonl"],
        vec!["gate", policy.to_str().unwrap(), "--policy", "URL/policy.json?sig=hunter2"],
        vec!["convert", policy.to_str().unwrap(), "-o", "URL/a.jsonl?sig=hunter2"],
    ] {
        let arguments: Vec<String> = arguments.iter().map(|argument| argument.replace("URL", &url)).collect();
        let output = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", said(&output));
        assert!(!said(&output).contains("hunter2"), "{}", said(&output));
    }
    // What is read is named in reports.
    let server = ObjectServer::of(records(10));
    let url = server.url.replace("http://", "http://me:hunter2@");
    let name = format!("{url}/a.jsonl?sig=hunter2");
    for arguments in
        [&["score", &*name, "--json"][..], &["gate", &name, "--json", "--policy", policy.to_str().unwrap()]]
    {
        let output = run(arguments);
        assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{}", said(&output));
        assert!(!said(&output).contains("hunter2"), "{}", said(&output));
        assert!(said(&output).contains("/a.jsonl?sig=…"), "{}", said(&output));
    }
}

#[test]
fn addresses_without_encryption_are_only_read_here() {
    let output = run(&["score", "http://192.0.2.1/a.jsonl"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("without encryption"), "{}", said(&output));
    assert!(said(&output).contains("CALIPERS_ALLOW_HTTP"), "{}", said(&output));
    let endpoint = |url: &str| {
        let mut command = calipers().command();
        command.env("AWS_ENDPOINT_URL", url).env("AWS_ACCESS_KEY_ID", "a").env("AWS_SECRET_ACCESS_KEY", "hunter2");
        command.args(["score", "s3://bucket/a.jsonl"]).output().unwrap()
    };
    for wrong in ["localhost:9000", "ftp://host", "x"] {
        let output = endpoint(wrong);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains("the endpoint in the environment is not an address"), "{}", said(&output));
    }
    let output = endpoint("http://192.0.2.1:9000");
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("AWS_ALLOW_HTTP"), "{}", said(&output));
    assert!(!said(&output).contains("hunter2"));
}

#[test]
fn credentials_of_a_bucket_are_not_sent_after_a_redirect() {
    let elsewhere = ObjectServer::of(records(10));
    let target = elsewhere.url.clone();
    let server = ObjectServer::start(move |_, _| Answer::new("307 Temporary Redirect", &[("location", &target)], ""));
    let mut command = calipers().command();
    command.env("AWS_ENDPOINT_URL", &server.url).env("AWS_ACCESS_KEY_ID", "a").env("AWS_SECRET_ACCESS_KEY", "hunter2");
    let output = command.env("CALIPERS_STORE_SECONDS", "4").args(["score", "s3://bucket/a.jsonl"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(elsewhere.requests().is_empty());
    assert!(said(&output).contains("AWS_REGION"), "{}", said(&output));
}
