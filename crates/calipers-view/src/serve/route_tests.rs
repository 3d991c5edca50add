//! Every address is tried by every role, from every wrong place and with hostile values. The list is the server's own, so an address
//! without a case fails.

use super::api::openapi;
use super::routes::{Route, routes};
use super::{Server, ServerOptions};
use crate::access::{AccessToken, Role};
use crate::{History, RunDescription, index_files};
use axum::http::Method;
use calipers_testing::Scratch;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// A question that has an answer, for each address; and what is sent. `{key}` is a run, `{other}` another one.
const CASES: [(&str, &str, &str, &str); 35] = [
    ("GET", "/", "?q=a&page=0", ""),
    ("GET", "/runs/{key}", "", ""),
    ("GET", "/runs/{key}/report", "", ""),
    ("GET", "/runs/{key}/samples", "?q=q&outcome=failed&page=0", ""),
    ("GET", "/runs/{key}/sample", "?id=q1&attempt=1&from=0&find=question&beside={other}&other=1", ""),
    ("GET", "/runs/{key}/search", "?q=question", ""),
    ("GET", "/runs/{key}/live", "", ""),
    ("GET", "/runs/{key}/judge", "", ""),
    ("GET", "/runs/{key}/label", "?rater=ada&queue=random&id=q1&attempt=1", ""),
    ("GET", "/case", "?suite=nightly&id=q1", ""),
    ("GET", "/compare", "?run={key}&run={other}&cases=all", ""),
    ("GET", "/trend", "?suite=nightly&score=score&metric=accuracy&by=date&model=&branch=&figure=", ""),
    ("GET", "/verdicts", "?suite=nightly", ""),
    ("GET", "/events", "", ""),
    ("GET", "/audit", "?page=0", ""),
    ("GET", "/metrics", "", ""),
    ("GET", "/health", "", ""),
    ("GET", "/login", "", ""),
    ("GET", "/assets/view.js", "", ""),
    ("GET", "/api/runs", "?first=0&size=5&state=whole&verdict=none&tag=a=b", ""),
    ("GET", "/api/runs/{key}", "", ""),
    ("GET", "/api/runs/{key}/judge", "", ""),
    ("GET", "/api/runs/{key}/labels", "?queue=all", ""),
    ("GET", "/api/runs/{key}/samples", "?q=q&outcome=failed&first=0&size=5", ""),
    ("GET", "/api/runs/{key}/sample", "?id=q1&attempt=1&from=0", ""),
    ("GET", "/api/case", "?suite=nightly&id=q1", ""),
    ("GET", "/api/verdicts", "?suite=nightly", ""),
    ("GET", "/api/compare", "?run={key}&run={other}&cases=all", ""),
    ("GET", "/api/trend", "?suite=nightly&score=score&metric=accuracy&reducer=mean", ""),
    ("GET", "/api/audit", "?first=0&size=3", ""),
    ("GET", "/api/openapi.json", "", ""),
    ("POST", "/api/runs/{key}/labels", "", r#"{"id": "q1", "epoch": 1, "rater": "ada", "value": 1}"#),
    ("POST", "/api/runs/{key}/invalidate", "", r#"{"why": "the server was down"}"#),
    ("POST", "/api/runs/{key}/restore", "", "{}"),
    ("POST", "/login", "", "token=read-0123456789abcdef"),
];

const TOKENS: [(Role, &str); 3] = [
    (Role::Read, "read-0123456789abcdef"),
    (Role::Label, "label-0123456789abcdef"),
    (Role::Admin, "admin-0123456789abcdef"),
];

/// A server over three runs, which ends with the test.
struct Tried {
    address: SocketAddr,
    keys: Vec<String>,
    app: Arc<super::App>,
    end: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
    _folder: Scratch,
}

impl Drop for Tried {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Starts a server: on the loopback interface without tokens, or beyond it with them.
fn start(is_open: bool) -> Tried {
    let folder = Scratch::new();
    for place in 0..3 {
        let line = |id: usize| {
            let hostile = "<script>alert(1)</script>";
            format!(
                "{{\"id\": \"q{id}\", \"input\": \"question {id} {hostile}\", \"output\": \"{hostile}\", \"score\": {}}}\n",
                u8::from(!(id + place).is_multiple_of(3))
            )
        };
        folder.write(&format!("nightly/{place}.jsonl"), (0..30).map(line).collect::<String>());
    }
    let history = History::open(&folder.join("history.db")).expect("it opens");
    let names = [folder.join("nightly").display().to_string()];
    let report = index_files(&history, &names, None, &RunDescription::default(), &|_, _| {}).expect("they are read");
    let named = |(role, secret): &(Role, &str)| AccessToken::new(*role, secret).expect("long").named(&secret[..4]);
    let tokens: Vec<AccessToken> = if is_open { Vec::new() } else { TOKENS.iter().map(named).collect() };
    let ip = if is_open { [127, 0, 0, 1] } else { [0, 0, 0, 0] };
    let options = ServerOptions { address: SocketAddr::from((ip, 0)), tokens, ..ServerOptions::default() };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("it starts");
    let server = runtime.block_on(Server::bind(history, options)).expect("it listens");
    let port = server.address().expect("it has one").port();
    let (end, ended) = tokio::sync::oneshot::channel();
    let app = server.app.clone();
    let thread = std::thread::spawn(move || {
        let _ = runtime.block_on(server.run(async move {
            let _ = ended.await;
        }));
    });
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    Tried { address, keys: report.keys, app, end: Some(end), thread: Some(thread), _folder: folder }
}

/// The status of an answer, its headers in small letters, and what it says.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Tried {
    /// Sends a request with exactly these headers.
    fn send(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("it is set");
        let mut text = format!("{method} {target} HTTP/1.1\r\nconnection: close\r\n");
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        if method == "POST" {
            text += &format!("content-length: {}\r\n", body.len());
        }
        text += "\r\n";
        let _ = stream.write_all(text.as_bytes());
        // A server may refuse what is too long before all of it is sent.
        let _ = stream.write_all(body.as_bytes());
        let mut bytes = Vec::new();
        let mut part = [0; 16 * 1024];
        loop {
            match stream.read(&mut part) {
                Ok(0) | Err(_) => break,
                Ok(size) => bytes.extend(&part[..size]),
            }
            // News never end.
            if String::from_utf8_lossy(&bytes).contains("text/event-stream") {
                break;
            }
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    /// The same with what an honest program sends.
    fn ask(&self, method: &str, target: &str, token: Option<&str>, body: &str) -> Answer {
        let host = self.host();
        let bearer = token.map(|token| format!("Bearer {token}"));
        let mut headers = vec![("host", host.as_str()), ("x-calipers", "1")];
        headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
        self.send(method, target, &headers, body)
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.address.port())
    }

    fn fill(&self, text: &str) -> String {
        text.replace("{key}", &self.keys[0]).replace("{other}", &self.keys[1])
    }

    fn records(&self) -> u64 {
        self.app.history.audit(0, 1).expect("it answers").1
    }
}

/// The question and the body of a case.
fn case(route: &Route) -> (&'static str, &'static str) {
    let is_of = |(method, path, ..): &&(&str, &str, &'static str, &'static str)| {
        *method == route.method.as_str() && *path == route.path
    };
    let found = CASES.iter().find(is_of);
    let (_, _, question, body) = found.unwrap_or_else(|| panic!("{} {} has no case", route.method, route.path));
    (question, body)
}

#[test]
fn every_role_may_do_what_it_may_on_and_off_loopback() {
    let (open, closed) = (start(true), start(false));
    for route in routes() {
        let (question, body) = case(&route);
        let method = route.method.as_str();
        let is_allowed = |status: u16| status == 200 || status == 303 || status == 422;
        let name = format!("{method} {}", route.path);
        // On loopback without tokens everything is allowed.
        let answer = open.ask(method, &open.fill(&format!("{}{question}", route.path)), None, body);
        assert!(is_allowed(answer.status), "{name}: {} {}", answer.status, answer.body);
        let target = closed.fill(&format!("{}{question}", route.path));
        let before = closed.records();
        let nobody = closed.ask(method, &target, None, body);
        let stranger = closed.ask(method, &target, Some("admin-0123456789abcdeg"), body);
        for answer in [&nobody, &stranger] {
            match route.needs {
                None => assert!(is_allowed(answer.status), "{name}: {}", answer.status),
                Some(_) => {
                    let is_sent_away = answer.status == 303 && answer.head.contains("location: /login");
                    assert!(answer.status == 401 || is_sent_away, "{name}: {} {}", answer.status, answer.head);
                    assert!(!answer.body.contains("question 1"), "{name} says nothing");
                }
            }
        }
        for (role, token) in TOKENS {
            let is_enough = route.needs.is_none_or(|needed| role >= needed);
            let refused = closed.records();
            let answer = closed.ask(method, &target, Some(token), body);
            if is_enough {
                assert!(is_allowed(answer.status), "{name} as {role:?}: {} {}", answer.status, answer.body);
            } else {
                assert_eq!(answer.status, 403, "{name} as {role:?}");
                assert_eq!(closed.records(), refused, "{name} as {role:?} changes nothing");
            }
        }
        let is_change = route.method == Method::POST && route.needs.is_some();
        assert_eq!(
            closed.records() > before,
            is_change,
            "{name} leaves a record if it changes something, and only then"
        );
    }
}

#[test]
fn no_other_name_leads_here_and_no_other_site_loads_or_changes_anything() {
    for tried in [start(true), start(false)] {
        let ours = tried.host();
        let token = if tried.app.rules().needs_token() { Some(TOKENS[2].1) } else { None };
        let bearer = token.map(|token| format!("Bearer {token}")).unwrap_or_default();
        let port = tried.address.port();
        let before = tried.records();
        for route in routes() {
            let (question, body) = case(&route);
            let (method, target) = (route.method.as_str(), tried.fill(&format!("{}{question}", route.path)));
            let name = format!("{method} {}", route.path);
            let with = |extra: &[(&str, &str)]| {
                let mut headers = vec![("authorization", bearer.as_str())];
                headers.extend_from_slice(extra);
                tried.send(method, &target, &headers, body).status
            };
            for host in [
                "evil.example".to_owned(),
                format!("evil.example:{port}"),
                format!("127.0.0.1.evil.example:{port}"),
                format!("localhost.evil.example:{port}"),
                format!("127.0.0.1:{}", port.wrapping_add(1)),
                format!("127.0.0.1:{port}@evil.example"),
                "localhost:x".to_owned(),
            ] {
                assert_eq!(with(&[("host", &host), ("x-calipers", "1")]), 403, "{name} as {host}");
            }
            assert_eq!(with(&[("x-calipers", "1")]), 400, "{name} without a name");
            for second in ["evil.example", ours.as_str()] {
                let extra = [("host", ours.as_str()), ("host", second), ("x-calipers", "1")];
                assert_eq!(with(&extra), 400, "{name} as {ours} and {second}");
            }
            for named in
                ["http://evil.example", &format!("http://evil.example:{port}"), &format!("http://{ours}@evil.example")]
            {
                let headers = [("authorization", bearer.as_str()), ("host", &ours), ("x-calipers", "1")];
                let found = tried.send(method, &format!("{named}{target}"), &headers, body).status;
                assert_eq!(found, 403, "{name} at {named}");
            }
            for foreign in ["cross-site", "same-site"] {
                let extra = [
                    ("host", ours.as_str()),
                    ("x-calipers", "1"),
                    ("sec-fetch-site", foreign),
                    ("sec-fetch-mode", "no-cors"),
                ];
                assert_eq!(with(&extra), 403, "{name} from {foreign}");
            }
            if route.method == Method::POST {
                for origin in ["http://evil.example", "null", "file://", &format!("http://{ours}.evil.example")] {
                    assert_eq!(
                        with(&[("host", &ours), ("x-calipers", "1"), ("origin", origin)]),
                        403,
                        "{name} from {origin}"
                    );
                }
                // A form of another site can send anything but a header.
                if route.path != "/login" {
                    assert_eq!(with(&[("host", &ours)]), 403, "{name} without the header");
                    let cookie = format!("calipers_token={}", token.unwrap_or_default());
                    assert_eq!(with(&[("host", &ours), ("cookie", &cookie)]), 403, "{name} with a cookie alone");
                }
            }
        }
        assert_eq!(tried.records(), before, "nothing was changed");
    }
}

/// Values that must neither break anything nor come back as markup.
fn hostile_values() -> Vec<String> {
    let mut values: Vec<String> = [
        "..%2F..%2F..%2Fetc%2Fpasswd",
        "..%5C..%5Cwindows%5Cwin.ini",
        "%2e%2e%2f",
        "%00",
        "q1%00",
        "%zz",
        "%F0%9F%98%80",
        "%FF%FE",
        "%3Cscript%3Ealert(1)%3C%2Fscript%3E",
        "%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E",
        "'%20OR%201=1%20--",
        "%25",
        "!",
        "_",
        "$1",
        "{key}",
        "-1",
        "0",
        "1e9",
        "NaN",
        "18446744073709551616",
        "9223372036854775807",
        "4294967296",
        "10000000",
        "%0d%0aset-cookie:%20a=b",
        "",
    ]
    .map(str::to_owned)
    .to_vec();
    values.extend(["a".repeat(1001), "9".repeat(400), "%C3%A9".repeat(400)]);
    values
}

fn check_answer(answer: &Answer, name: &str) {
    assert!((200..500).contains(&answer.status), "{name}: {} {}", answer.status, answer.body);
    // JSON is text to a browser, which is told not to guess.
    let is_markup = answer.head.contains("text/html");
    let is_hostile = answer.body.contains("<script>alert") || answer.body.contains("<img src=x");
    assert!(!(is_markup && is_hostile), "{name} comes back as markup");
    assert!(!answer.body.contains("root:x:0"), "{name} reads a file");
    assert!(!answer.head.contains("set-cookie: a=b"), "{name} adds a header");
    for header in
        ["content-security-policy: ", "x-content-type-options: nosniff", "x-frame-options: deny", "cache-control: "]
    {
        assert!(answer.head.contains(header), "{name} lacks {header}: {}", answer.head);
    }
}

#[test]
fn hostile_values_break_nothing_and_come_back_as_text() {
    let tried = start(true);
    let mut names: BTreeSet<&str> = BTreeSet::from(["save", "report", "unknown"]);
    for (_, _, question, _) in CASES {
        names.extend(
            question
                .trim_start_matches('?')
                .split('&')
                .filter_map(|pair| pair.split('=').next())
                .filter(|name| !name.is_empty()),
        );
    }
    for route in routes() {
        if route.path == "/events" {
            continue;
        }
        let (question, body) = case(&route);
        let method = route.method.as_str();
        for hostile in hostile_values() {
            if route.path.contains("{key}") {
                let target = route.path.replace("{key}", &hostile) + question;
                let answer = tried.ask(method, &tried.fill(&target), None, body);
                let is_run = hostile == "0" || hostile.is_empty() || tried.keys[0].starts_with(&hostile);
                check_answer(&answer, &target);
                assert!(is_run || answer.status >= 400 || hostile == "{key}", "{target} is no run: {}", answer.status);
            }
        }
        // The values of one name at a time, and all names together.
        let is_pure = route.method == Method::GET && !question.is_empty();
        for hostile in hostile_values().iter().filter(|_| is_pure) {
            // A request line of more than 64 KB does not even reach the server: hyper refuses it.
            let fit = 60_000 / (hostile.len() + 10);
            let all: Vec<String> = names.iter().map(|name| format!("{name}={hostile}")).take(fit).collect();
            let mut targets = vec![format!("{}?{}", route.path, all.join("&"))];
            for name in question.trim_start_matches('?').split('&').filter_map(|pair| pair.split('=').next()) {
                let others: Vec<&str> = question
                    .trim_start_matches('?')
                    .split('&')
                    .filter(|pair| !pair.starts_with(&format!("{name}=")))
                    .collect();
                targets.push(format!("{}?{}&{name}={hostile}", route.path, others.join("&")));
            }
            for target in targets {
                check_answer(&tried.ask(method, &tried.fill(&target), None, ""), &target);
            }
        }
    }
    let long = format!("/?q={}", "a".repeat(9000));
    assert_eq!(tried.ask("GET", &long, None, "").status, 414);
}

#[test]
fn hostile_bodies_change_nothing() {
    let tried = start(true);
    let before = tried.records();
    let bodies = [
        String::new(),
        "{".to_owned(),
        "null".to_owned(),
        "[]".to_owned(),
        "[".repeat(20_000),
        r#"{"id": "q1", "epoch": 1, "rater": "ada", "value": 2}"#.to_owned(),
        r#"{"id": "q1", "epoch": 1, "rater": "ada", "value": null}"#.to_owned(),
        r#"{"id": "q1", "epoch": 1, "rater": "ada", "value": 1, "queue": "mine"}"#.to_owned(),
        r#"{"id": "q1", "epoch": 99, "rater": "ada", "value": 1}"#.to_owned(),
        r#"{"id": "nobody", "epoch": 1, "rater": "ada", "value": 1}"#.to_owned(),
        r#"{"id": "q1", "epoch": 1, "rater": "  ", "value": 1}"#.to_owned(),
        format!(r#"{{"id": "q1", "epoch": 1, "rater": "{}", "value": 1}}"#, "a".repeat(101)),
        format!(r#"{{"id": "q1", "epoch": 1, "rater": "ada", "value": 1, "note": "{}"}}"#, "a".repeat(1001)),
        r#"{"why": "  "}"#.to_owned(),
        r#"{"why": 3}"#.to_owned(),
        format!(r#"{{"why": "{}"}}"#, "a".repeat(2001)),
        "a".repeat(100_000),
        "token=%00%ff".to_owned(),
    ];
    for route in routes().iter().filter(|route| route.method == Method::POST && route.path != "/api/runs/{key}/restore")
    {
        for body in &bodies {
            let answer = tried.ask("POST", &tried.fill(route.path), None, body);
            let name = format!("{} with {}", route.path, &body[..body.len().min(60)]);
            assert!((300..500).contains(&answer.status), "{name}: {}", answer.status);
        }
    }
    assert_eq!(tried.records(), before);
}

#[test]
fn the_description_of_the_api_has_every_address_of_it() {
    let document = openapi();
    let mut described = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for method in methods.as_object().expect("methods").keys() {
            described.insert((method.to_uppercase(), path.clone()));
        }
    }
    let served: BTreeSet<(String, String)> = routes()
        .iter()
        .filter(|route| route.path.starts_with("/api/"))
        .map(|route| (route.method.to_string(), route.path.to_owned()))
        .collect();
    assert_eq!(described, served);
}

#[test]
fn who_said_what_is_kept() {
    let tried = start(false);
    let target = |path: &str| tried.fill(path);
    let (label, admin) = (Some(TOKENS[1].1), Some(TOKENS[2].1));
    let body = r#"{"id": "q1", "epoch": 1, "rater": "ada", "value": 0, "note": "not what was asked"}"#;
    assert_eq!(tried.ask("POST", &target("/api/runs/{key}/labels"), label, body).status, 200);
    assert_eq!(tried.ask("POST", &target("/api/runs/{key}/labels"), admin, &body.replace('0', "1")).status, 200);
    assert_eq!(tried.ask("POST", &target("/api/runs/{key}/invalidate"), label, r#"{"why": "down"}"#).status, 200);
    assert_eq!(tried.ask("POST", &target("/api/runs/{key}/restore"), admin, "{}").status, 200);
    let (records, total) = tried.app.history.audit(0, 10).expect("it answers");
    let said: Vec<(&str, &str)> = records
        .iter()
        .map(|record| (record["kind"].as_str().unwrap_or_default(), record["body"]["by"].as_str().unwrap_or_default()))
        .collect();
    // The latest first; what was said before stays.
    assert_eq!(said, [("restored", "admi"), ("invalidated", "labe"), ("labelled", "admi"), ("labelled", "labe")]);
    assert_eq!(total, 4);
    let page = tried.ask("GET", "/audit", admin, "");
    assert!(page.body.contains("not what was asked") && page.body.contains("down"), "{}", page.body);
}

#[test]
fn labels_of_answers_that_were_chosen_for_a_reason_do_not_correct_the_judge() {
    let tried = start(true);
    let target = tried.fill("/api/runs/{key}/labels");
    let label = |id: usize, queue: &str| {
        let body = format!(r#"{{"id": "q{id}", "epoch": 1, "rater": "ada", "value": 1, "queue": "{queue}"}}"#);
        assert_eq!(tried.ask("POST", &target, None, &body).status, 200);
    };
    let lines =
        |question: &str| tried.ask("GET", &format!("{target}{question}"), None, "").body.matches("\"ada\"").count();
    (0..30).for_each(|id| label(id, "disagreements"));
    assert_eq!((lines(""), lines("?queue=all")), (0, 30));
    // Once the random order has come so far, they are a part of the random choice.
    let page = tried.ask("GET", &tried.fill("/runs/{key}/label?rater=bo"), None, "").body;
    let first = page.split("data-id=\"q").nth(1).and_then(|rest| rest.split('"').next()).expect("an answer");
    label(first.parse().expect("a number"), "random");
    assert_eq!(lines(""), 1);
}
