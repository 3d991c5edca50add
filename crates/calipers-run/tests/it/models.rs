//! Models by name: the mock, replayed outputs, and providers behind a server that misbehaves.

use calipers_core::{GenerateConfig, Message, ModelOutput, Role, SampleId, StopReason, ToolCall, Usage, Value};
use calipers_run::providers::{MockModel, MockOutputs, Price, ProviderOptions, Replay, resolve};
use calipers_run::{Model, ModelError, ModelFault, Request};
use calipers_testing::server::{Reply, Server};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

const KEY: &str = "sk-very-secret-0123456789";

fn request(messages: Vec<Message>) -> Request {
    Request { messages, config: GenerateConfig::default(), sample: 1.into(), epoch: 1, call: 0 }
}

fn question() -> Request {
    request(vec![Message::user("What is it?")])
}

fn with_keys() -> ProviderOptions {
    ProviderOptions::from_variables(|name| name.ends_with("_API_KEY").then(|| KEY.to_owned()))
}

fn at(server: &Server) -> ProviderOptions {
    with_keys().at(&server.url)
}

fn model(name: &str, options: &ProviderOptions) -> Arc<dyn Model> {
    resolve(name, options).expect("a model")
}

/// What comes of one question to a model whose server replies so.
async fn outcome(name: &str, reply: Reply) -> Result<ModelOutput, ModelError> {
    let server = Server::start([reply]).await;
    model(name, &at(&server)).generate(&question()).await
}

async fn failure(name: &str, reply: Reply) -> ModelError {
    outcome(name, reply).await.expect_err("a failure")
}

fn openai_answer() -> Json {
    json!({
        "id": "x", "object": "chat.completion", "model": "gpt-test-2026",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": " An answer.\n"}}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 7, "total_tokens": 27,
                  "prompt_tokens_details": {"cached_tokens": 8}, "completion_tokens_details": {"reasoning_tokens": 3}},
    })
}

fn anthropic_answer() -> Json {
    json!({
        "id": "x", "type": "message", "role": "assistant", "model": "claude-test-2026", "stop_reason": "end_turn",
        "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "An "},
                    {"type": "text", "text": "answer."}],
        "usage": {"input_tokens": 10, "output_tokens": 7, "cache_read_input_tokens": 8, "cache_creation_input_tokens": 2},
    })
}

fn answers() -> [(&'static str, Json); 2] {
    [("openai/gpt-test", openai_answer()), ("anthropic/claude-test", anthropic_answer())]
}

// What is said

#[tokio::test]
async fn openai_is_asked_in_its_format_and_understood() {
    let server = Server::start([Reply::json(200, openai_answer())]).await;
    let mut options = at(&server);
    options.prices = vec![("gpt-test".into(), Price { cache_read_usd: Some(1.0), ..Price::new(2.0, 10.0) })];
    let call = ToolCall { id: "c1".into(), function: "look".into(), arguments: Value::from([("x", 1)]) };
    let mut asked = request(vec![
        Message::system("Be brief."),
        Message::user("Look."),
        Message { tool_calls: vec![call], ..Message::assistant("") },
        Message { tool_call_id: Some("c1".into()), ..Message::new(Role::Tool, "seen") },
    ]);
    asked.config = GenerateConfig {
        temperature: Some(0.5),
        top_p: Some(0.9),
        max_tokens: Some(99),
        stop: vec!["END".into()],
        seed: Some(7),
        reasoning_effort: Some("low".into()),
    };
    let output = model("openai/gpt-test", &options).generate(&asked).await.expect("an answer");

    // The answer as it came, space and all: what is scored is what was said.
    assert_eq!(output.completion(), " An answer.\n");
    assert_eq!((&*output.model, output.stop_reason), ("gpt-test-2026", StopReason::Stop));
    let want = Usage {
        cache_read_tokens: Some(8),
        reasoning_tokens: Some(3),
        cost_usd: Some((12.0 * 2.0 + 8.0 * 1.0 + 7.0 * 10.0) / 1e6),
        ..Usage::new(20, 7)
    };
    assert_eq!(output.usage, Some(want));
    assert!(output.time_s.is_some_and(|time| time > 0.0 && time < 20.0));

    let seen = &server.requests()[0];
    assert!(seen.head.starts_with("POST /chat/completions HTTP/1.1"), "{}", seen.head);
    assert!(seen.head.to_ascii_lowercase().contains(&format!("authorization: bearer {KEY}")));
    let want = json!({
        "model": "gpt-test",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": "", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"x\":1}"}}]},
            {"role": "tool", "content": "seen", "tool_call_id": "c1"},
        ],
        "temperature": 0.5, "top_p": 0.9, "max_tokens": 99, "stop": ["END"], "seed": 7, "reasoning_effort": "low",
    });
    assert_eq!(seen.json(), want);
}

#[tokio::test]
async fn anthropic_is_asked_in_its_format_and_understood() {
    let server = Server::start([Reply::json(200, anthropic_answer())]).await;
    let call = |id: &str| ToolCall { id: id.into(), function: "look".into(), arguments: Value::from([("x", 1)]) };
    let seen = |id: &str| Message { tool_call_id: Some(id.into()), ..Message::new(Role::Tool, "seen") };
    let mut asked = request(vec![
        Message::system("Be brief."),
        Message::user("Look."),
        Message { tool_calls: vec![call("c1"), call("c2")], ..Message::assistant("") },
        seen("c1"),
        seen("c2"),
        Message::assistant(""),
        Message::user("Well?"),
    ]);
    asked.config = GenerateConfig { stop: vec!["END".into()], ..GenerateConfig::default() };
    let output = model("anthropic/claude-test", &at(&server)).generate(&asked).await.expect("an answer");

    assert_eq!(output.completion(), "An answer.");
    assert_eq!((&*output.model, output.stop_reason), ("claude-test-2026", StopReason::Stop));
    let want = Usage { cache_read_tokens: Some(8), cache_write_tokens: Some(2), ..Usage::new(20, 7) };
    assert_eq!(output.usage, Some(want));

    let seen = &server.requests()[0];
    assert!(seen.head.starts_with("POST /v1/messages HTTP/1.1"), "{}", seen.head);
    assert!(seen.head.contains(&format!("x-api-key: {KEY}")) && seen.head.contains("anthropic-version: 2023-06-01"));
    let text = |text: &str| json!({"type": "text", "text": text});
    let used = |id: &str| json!({"type": "tool_use", "id": id, "name": "look", "input": {"x": 1}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "seen"});
    let want = json!({
        "model": "claude-test", "max_tokens": 16384, "system": "Be brief.", "stop_sequences": ["END"],
        "messages": [
            {"role": "user", "content": [text("Look.")]},
            {"role": "assistant", "content": [used("c1"), used("c2")]},
            {"role": "user", "content": [result("c1"), result("c2")]},
            {"role": "assistant", "content": [text("(no content)")]},
            {"role": "user", "content": [text("Well?")]},
        ],
    });
    assert_eq!(seen.json(), want);
}

#[tokio::test]
async fn google_is_asked_in_its_format_and_understood() {
    let answer = json!({
        "candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
            {"text": "hm", "thought": true}, {"text": "An answer."},
            {"functionCall": {"name": "look", "args": {"x": 1}}}]}}],
        "usageMetadata": {"promptTokenCount": 20, "candidatesTokenCount": 4, "thoughtsTokenCount": 3,
                          "totalTokenCount": 27, "cachedContentTokenCount": 8},
        "modelVersion": "gemini-test-001",
    });
    let server = Server::start([Reply::json(200, answer)]).await;
    let call = ToolCall { id: "c1".into(), function: "look".into(), arguments: Value::from([("x", 1)]) };
    let mut asked = request(vec![
        Message::system("Be brief."),
        Message::user("Look."),
        Message { tool_calls: vec![call], ..Message::assistant("") },
        Message { tool_call_id: Some("c1".into()), ..Message::new(Role::Tool, "seen") },
    ]);
    asked.config = GenerateConfig { max_tokens: Some(9), seed: Some(7), ..GenerateConfig::default() };
    let output = model("google/gemini-test", &at(&server)).generate(&asked).await.expect("an answer");

    assert_eq!(output.completion(), "An answer.");
    assert_eq!((&*output.model, output.stop_reason), ("gemini-test-001", StopReason::ToolCalls));
    assert_eq!(output.message.tool_calls[0].arguments, Value::from([("x", 1)]));
    let want = Usage { cache_read_tokens: Some(8), reasoning_tokens: Some(3), ..Usage::new(20, 7) };
    assert_eq!(output.usage, Some(want));

    let seen = &server.requests()[0];
    assert!(seen.head.starts_with("POST /v1beta/models/gemini-test:generateContent HTTP/1.1"), "{}", seen.head);
    assert!(seen.head.contains(&format!("x-goog-api-key: {KEY}")));
    let want = json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Look."}]},
            {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {"x": 1}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"result": "seen"}}}]},
        ],
        "generationConfig": {"maxOutputTokens": 9, "seed": 7},
    });
    assert_eq!(seen.json(), want);
}

#[tokio::test]
async fn ollama_is_asked_without_a_key() {
    let server = Server::start([Reply::json(200, openai_answer())]).await;
    let output = model("ollama/llama3:8b-low", &at(&server)).generate(&question()).await.expect("an answer");
    assert_eq!(output.completion(), " An answer.\n");
    let seen = &server.requests()[0];
    assert!(seen.head.starts_with("POST /v1/chat/completions HTTP/1.1"), "{}", seen.head);
    assert!(!seen.head.to_ascii_lowercase().contains("authorization"));
    assert_eq!(seen.json()["model"], "llama3:8b-low");
}

#[tokio::test]
async fn effort_is_said_as_each_provider_wants_to_hear_it() {
    for (name, answer, place, want) in [
        ("openai/o3", openai_answer(), "/reasoning_effort", json!("high")),
        ("anthropic/claude-opus-5", anthropic_answer(), "/output_config/effort", json!("high")),
        ("anthropic/claude-sonnet-4-5", anthropic_answer(), "/thinking/budget_tokens", json!(12288)),
    ] {
        let server = Server::start([Reply::json(200, answer)]).await;
        let mut asked = question();
        asked.config.reasoning_effort = Some("high".into());
        asked.config.max_tokens = Some(20_000);
        model(name, &at(&server)).generate(&asked).await.expect("an answer");
        let body = server.requests()[0].json();
        assert_eq!(body.pointer(place), Some(&want), "{name}: {body}");
        let tokens = if name == "openai/o3" { "max_completion_tokens" } else { "max_tokens" };
        assert_eq!(body[tokens], 20_000, "{name}");
    }
}

#[tokio::test]
async fn the_reason_to_stop_is_kept() {
    use StopReason::{ContentFilter, MaxTokens, Stop, ToolCalls, Unknown};
    let openai = |reason: Json| {
        let mut answer = openai_answer();
        answer["choices"][0]["finish_reason"] = reason;
        answer
    };
    let anthropic = |reason: Json| {
        let mut answer = anthropic_answer();
        answer["stop_reason"] = reason;
        answer
    };
    for (answer, name, want) in [
        (openai(json!("length")), "openai/m", MaxTokens),
        (openai(json!("tool_calls")), "openai/m", ToolCalls),
        (openai(json!("content_filter")), "openai/m", ContentFilter),
        (openai(json!("whim")), "openai/m", Unknown),
        (openai(json!(null)), "openai/m", Unknown),
        (anthropic(json!("stop_sequence")), "anthropic/m", Stop),
        (anthropic(json!("max_tokens")), "anthropic/m", MaxTokens),
        (anthropic(json!("tool_use")), "anthropic/m", ToolCalls),
        (anthropic(json!("refusal")), "anthropic/m", ContentFilter),
        (json!({"promptFeedback": {"blockReason": "SAFETY"}}), "google/m", ContentFilter),
        (json!({"candidates": [{"finishReason": "MAX_TOKENS"}]}), "google/m", MaxTokens),
        (json!({"candidates": [{"finishReason": "SAFETY"}]}), "google/m", ContentFilter),
    ] {
        let output = outcome(name, Reply::json(200, &answer)).await.expect("an answer");
        assert_eq!(output.stop_reason, want, "{answer}");
    }
}

#[tokio::test]
async fn a_content_filter_is_an_answer() {
    let anthropic = json!({"type": "invalid_request_error", "message": "Output blocked by content filtering policy"});
    for (name, error) in [
        ("openai/m", json!({"code": "content_filter", "message": "The prompt was filtered."})),
        ("anthropic/m", anthropic),
    ] {
        let output = outcome(name, Reply::json(400, json!({"error": error}))).await.expect("an answer");
        assert_eq!(
            (output.completion(), output.stop_reason),
            (error["message"].as_str().expect("words"), StopReason::ContentFilter)
        );
    }
}

#[tokio::test]
async fn calls_of_tools_are_read_whatever_the_model_wrote() {
    let mut answer = openai_answer();
    answer["choices"][0]["message"] = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"x\": [1, null]}"}},
        {"id": "c2", "type": "function", "function": {"name": "look", "arguments": "{broken"}},
    ]});
    let output = outcome("openai/m", Reply::json(200, answer)).await.expect("an answer");
    assert_eq!(output.completion(), "");
    let [first, second] = &*output.message.tool_calls else { panic!("two calls, not {:?}", output.message) };
    assert_eq!(first.arguments, Value::from(json!({"x": [1, null]})));
    assert_eq!((&*second.id, &second.arguments), ("c2", &Value::from("{broken")));
}

// What goes wrong

#[tokio::test]
async fn a_busy_provider_says_when_to_come_back() {
    for (name, _) in answers() {
        let without = failure(name, Reply::json(429, "{}")).await;
        assert_eq!((without.fault, without.retry_after), (ModelFault::Busy, None));
        assert!(without.is_transient());

        let seconds = failure(name, Reply::whole(429, &[("retry-after", "3")], "slow down")).await;
        assert_eq!((seconds.fault, seconds.retry_after), (ModelFault::Busy, Some(Duration::from_secs(3))));
        assert_eq!(seconds.message, "the provider is busy (429): slow down");

        let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
        let overloaded = failure(name, Reply::json(529, overloaded)).await;
        assert_eq!(overloaded.fault, ModelFault::Busy);
    }
}

#[tokio::test]
async fn a_failure_is_of_the_kind_that_its_status_says() {
    let refused = json!({"error": {"message": "no such model", "type": "not_found_error"}});
    for (name, _) in answers() {
        for (status, want) in [
            (500, ModelFault::Server),
            (502, ModelFault::Server),
            (503, ModelFault::Server),
            (504, ModelFault::Timeout),
            (408, ModelFault::Timeout),
            (400, ModelFault::Refused),
            (401, ModelFault::Refused),
            (404, ModelFault::Refused),
        ] {
            let error = failure(name, Reply::json(status, &refused)).await;
            assert_eq!(error.fault, want, "{name} {status}");
            assert!(error.message.contains("no such model"), "{error}");
        }
    }
    let error = failure("openai/m", Reply::json(401, refused)).await;
    assert_eq!(
        error.to_string(),
        "model `openai/m`: the provider refused (401): no such model\n  hint: check `OPENAI_API_KEY`"
    );
}

#[tokio::test]
async fn a_connection_that_breaks_is_told_from_an_answer() {
    for (name, answer) in answers() {
        let half = answer.to_string()[..100].to_owned();
        for reply in [Reply::Reset(half.clone()), Reply::Cut(half), Reply::Silence] {
            let error = failure(name, reply).await;
            assert_eq!(error.fault, ModelFault::Connection, "{error}");
            assert!(error.message.starts_with("the connection broke to `127.0.0.1`: "), "{error}");
        }
    }
    let options = with_keys().at("http://127.0.0.1:1");
    let error = model("openai/m", &options).generate(&question()).await.expect_err("no server is there");
    assert_eq!(error.fault, ModelFault::Connection);
    assert!(error.message.starts_with("no connection to `127.0.0.1`: "), "{error}");
}

#[tokio::test]
async fn a_slow_answer_is_waited_for_until_the_limit() {
    for (name, answer) in answers() {
        let body = answer.to_string();
        let quick = outcome(name, Reply::Slow(body.clone(), Duration::from_micros(10))).await.expect("an answer");
        assert_eq!(quick.completion().trim(), "An answer.");

        let server = Server::start([Reply::Slow(body, Duration::from_millis(100))]).await;
        let mut options = at(&server);
        options.timeout = Duration::from_millis(300);
        let started = Instant::now();
        let error = model(name, &options).generate(&question()).await.expect_err("too slow");
        assert_eq!((error.fault, &*error.message), (ModelFault::Timeout, "no answer in time"));
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}

#[tokio::test]
async fn what_is_no_answer_is_unreadable_and_says_where() {
    let without = |answer: &Json, place: &str| {
        let mut answer = answer.clone();
        let (parent, name) = place.rsplit_once('/').expect("a place");
        answer.pointer_mut(parent).and_then(Json::as_object_mut).expect("an object").remove(name);
        answer.to_string()
    };
    let with = |answer: &Json, place: &str, value: Json| {
        let mut answer = answer.clone();
        *answer.pointer_mut(place).expect("a place") = value;
        answer.to_string()
    };
    let (openai, anthropic) = (openai_answer(), anthropic_answer());
    for (name, body, want) in [
        ("openai/m", "{\"choices\": [".into(), "EOF while parsing"),
        ("openai/m", String::new(), "EOF while parsing"),
        ("openai/m", "null".into(), "`choices.0.message` is missing"),
        ("openai/m", without(&openai, "/choices"), "`choices.0.message` is missing"),
        ("openai/m", with(&openai, "/choices", json!([])), "`choices.0.message` is missing"),
        ("openai/m", with(&openai, "/choices", json!("text")), "`choices.0.message` is missing"),
        ("openai/m", without(&openai, "/choices/0/message/content"), "`choices.0.message.content` is missing"),
        ("openai/m", with(&openai, "/choices/0/message/content", json!(7)), "is a number, not a string"),
        ("openai/m", with(&openai, "/choices/0/finish_reason", json!({})), "is an object, not a string"),
        ("openai/m", "[".repeat(100_000), "recursion limit exceeded"),
        ("anthropic/m", "<html>".into(), "the answer is not JSON but `application/json`"),
        ("anthropic/m", without(&anthropic, "/content"), "`content` is missing"),
        ("anthropic/m", with(&anthropic, "/content", json!("text")), "`content` is a string, not a list"),
        ("anthropic/m", with(&anthropic, "/content/1/text", json!([])), "`text` is a list, not a string"),
        ("anthropic/m", with(&anthropic, "/content/1", json!(1)), "`type` is missing"),
        ("google/m", json!({"candidates": []}).to_string(), "`candidates.0.content.parts` is missing"),
    ] {
        let error = failure(name, Reply::json(200, &body)).await;
        assert_eq!(error.fault, ModelFault::Unreadable, "{error}");
        assert!(error.message.contains(want), "{error}");
    }
}

#[tokio::test]
async fn a_usage_that_is_wrong_costs_no_answer() {
    for usage in [json!("many"), json!({"prompt_tokens": -1}), json!({"prompt_tokens": 1.5}), json!(null)] {
        let mut answer = openai_answer();
        answer["usage"] = usage;
        let output = outcome("openai/m", Reply::json(200, answer)).await.expect("an answer");
        assert_eq!(output.usage, None);
    }
    let mut answer = anthropic_answer();
    answer["usage"] = json!({"input_tokens": u64::MAX, "output_tokens": u64::MAX, "cache_read_input_tokens": u64::MAX});
    let output = outcome("anthropic/m", Reply::json(200, answer)).await.expect("an answer");
    assert_eq!(output.usage.map(|usage| usage.total_tokens), Some(u64::MAX));
}

#[tokio::test]
async fn a_body_without_end_is_read_to_a_bound() {
    for (name, _) in answers() {
        let server = Server::start([Reply::Endless(200, "{\"choices\": ")]).await;
        let error = model(name, &at(&server)).generate(&question()).await.expect_err("no end");
        assert_eq!((error.fault, &*error.message), (ModelFault::Unreadable, "the answer is longer than 8 MiB"));
        assert!(server.bytes_sent() < 64 << 20, "{} bytes were taken", server.bytes_sent());

        let server = Server::start([Reply::Endless(500, "it broke")]).await;
        let error = model(name, &at(&server)).generate(&question()).await.expect_err("no end");
        assert_eq!((error.fault, &*error.message), (ModelFault::Server, "the server failed (500): it broke"));
        assert!(server.bytes_sent() < 64 << 20, "{} bytes were taken", server.bytes_sent());
    }
}

#[tokio::test]
async fn a_content_type_matters_only_where_the_content_is_wrong() {
    let text = [("content-type", "text/plain")];
    let output = outcome("openai/m", Reply::whole(200, &text, openai_answer())).await.expect("an answer");
    assert_eq!(output.completion(), " An answer.\n");
    let error = failure("openai/m", Reply::whole(200, &[("content-type", "text/html")], "<html>Welcome</html>")).await;
    assert_eq!(error.fault, ModelFault::Unreadable);
    assert!(error.message.starts_with("the answer is not JSON but `text/html`"), "{error}");
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_key() {
    for (name, answer) in answers() {
        let elsewhere = Server::start([Reply::json(200, answer)]).await;
        for status in [301, 302, 307, 308] {
            let error = failure(name, Reply::whole(status, &[("location", &elsewhere.url)], "")).await;
            assert_eq!(error.fault, ModelFault::Refused);
            let want = format!("the server redirects ({status}) to `{}`", elsewhere.url);
            assert!(error.message.starts_with(&want), "{error}");
        }
        assert!(elsewhere.requests().is_empty());
    }
}

#[tokio::test]
async fn a_complaint_in_a_success_is_a_failure() {
    let body = json!({"error": {"message": "upstream is full", "code": 429}});
    let error = failure("openai/m", Reply::json(200, body)).await;
    assert_eq!(error.fault, ModelFault::Busy);
    assert!(error.message.contains("upstream is full"), "{error}");
}

// Keys

#[tokio::test]
async fn a_key_is_never_shown() {
    for name in ["openai/m", "anthropic/m", "google/m"] {
        let echo = format!("the key {KEY} is wrong");
        for reply in [
            Reply::json(401, json!({"error": {"message": echo}})),
            Reply::whole(500, &[], &echo),
            Reply::whole(302, &[("location", &format!("http://h/?key={KEY}"))], ""),
            Reply::whole(200, &[("content-type", KEY)], "nothing"),
            Reply::json(200, json!({"error": {"message": echo}})),
        ] {
            let error = failure(name, reply).await;
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains(KEY) && shown.contains("[key]"), "{shown}");
        }
    }
    let options = with_keys();
    let shown = format!("{options:?}");
    assert!(!shown.contains(KEY) && shown.contains("OPENAI_API_KEY"), "{shown}");
}

#[tokio::test]
async fn a_password_in_an_address_is_never_shown() {
    let options = with_keys().at("http://me:hunter22@127.0.0.1:1/v1");
    let error = model("openai/m", &options).generate(&question()).await.expect_err("no server is there");
    assert!(!format!("{error} {error:?}").contains("hunter22"), "{error:?}");
    let options = with_keys().at("ftp://me:hunter22@h");
    let error = resolve("openai/m", &options).err().expect("no address");
    assert_eq!(error, "the base URL of `openai` is not an address: write it as `https://host/path`");
}

#[tokio::test]
async fn what_a_server_says_is_short_and_on_one_line() {
    let body = format!("bad\r\n\u{1b}[31mred\u{7}{}", "x".repeat(100_000));
    let error = failure("openai/m", Reply::whole(400, &[], body)).await;
    assert!(error.message.starts_with("the provider refused (400): bad [31mred xxx"), "{error}");
    assert!(error.message.chars().count() < 400 && !error.message.contains(['\u{1b}', '\u{7}', '\n']), "{error}");
}

// Names

#[test]
fn names_are_resolved_or_the_mistake_is_named() {
    let nothing = ProviderOptions::default();
    let error = |name: &str, options: &ProviderOptions| resolve(name, options).err().expect("a mistake");
    for (name, want) in [
        (
            "gpt-4o",
            "`gpt-4o` is not the name of a model: write a provider, a slash and a model, such as `openai/gpt-4o`",
        ),
        ("openai/", "`openai/` is not the name of a model"),
        ("opnai/gpt-4o", "hint: did you mean `openai`?"),
        ("zzz/gpt-4o", "There are `anthropic`, `google`, `mockllm`, `ollama`, `openai`"),
        ("openai/gpt-4o", "`openai` needs a key\n  hint: set `OPENAI_API_KEY`"),
        ("anthropic/claude", "hint: set `ANTHROPIC_API_KEY`"),
        ("google/gemini", "hint: set `GOOGLE_API_KEY` or `GEMINI_API_KEY`"),
    ] {
        let error = error(name, &nothing);
        assert!(error.contains(want), "{name}: {error}");
    }
    let local = ProviderOptions::default().at("http://localhost:8000/v1");
    assert_eq!(model("openai/org/model", &local).name(), "openai/org/model");
    assert_eq!(model("ollama/llama3", &nothing).name(), "ollama/llama3");
}

// The mock and the replay

async fn said(model: &impl Model, sample: impl Into<SampleId>, epoch: u32, call: u32) -> String {
    let asked = Request { sample: sample.into(), epoch, call, ..question() };
    model.generate(&asked).await.expect("an answer").completion().to_owned()
}

#[tokio::test]
async fn a_mock_says_what_it_is_told_whatever_the_order() {
    assert_eq!(said(&MockModel::new(MockOutputs::default()), 1, 1, 0).await, "Default output from mockllm/model");
    let same = MockModel::new("B");
    assert_eq!([said(&same, 1, 1, 0).await, said(&same, 9, 4, 2).await], ["B", "B"]);
    let list = MockModel::new(MockOutputs::list(["A", "B", "C"]));
    for (epoch, call, want) in [(1, 0, "A"), (1, 1, "B"), (1, 3, "A"), (2, 0, "B"), (2, 1, "C"), (3, 1, "A")] {
        assert_eq!(said(&list, "q", epoch, call).await, want, "attempt {epoch}, call {call}");
    }
    assert_eq!(said(&list, "q", u32::MAX, u32::MAX).await, "C");
    let by_sample = MockModel::new(MockOutputs::from("else").sample("q1", ["A"]).sample(2, ["C", "D"]));
    assert_eq!(said(&by_sample, "q1", 3, 0).await, "A");
    assert_eq!(said(&by_sample, 2, 2, 0).await, "D");
    assert_eq!(said(&by_sample, 3, 1, 0).await, "else");
}

#[tokio::test]
async fn a_mock_counts_words_as_tokens() {
    let mut options = ProviderOptions::default();
    options.mock_outputs = Some("one two".into());
    options.prices = vec![("mockllm/m".into(), Price::new(1e6, 2e6))];
    let output = model("mockllm/m", &options).generate(&question()).await.expect("an answer");
    assert_eq!(output.usage, Some(Usage { cost_usd: Some(7.0), ..Usage::new(3, 2) }));
    assert_eq!(&*output.model, "mockllm/m");
}

#[tokio::test]
async fn outputs_of_a_mock_can_be_settings() {
    let mock = |value: Json| MockOutputs::from_value(&Value::from(value)).map(MockModel::new);
    assert_eq!(said(&mock(json!("B")).expect("a string"), 1, 1, 0).await, "B");
    assert_eq!(said(&mock(json!(["A", "B"])).expect("a list"), 1, 2, 0).await, "B");
    let by_sample = mock(json!({"1": ["A", "B"], "q": "C"})).expect("a map");
    assert_eq!(said(&by_sample, 1, 2, 0).await, "B");
    assert_eq!(said(&by_sample, "q", 2, 0).await, "C");
    for wrong in [json!(7), json!(["A", null]), json!({"q": {"a": 1}})] {
        let error = mock(wrong).expect_err("no outputs");
        assert!(error.starts_with("an output of `mockllm` is a string, not "), "{error}");
    }
}

#[tokio::test]
async fn a_replay_answers_as_the_log_did_and_refuses_the_rest() {
    let output = |text: &str| ModelOutput { usage: Some(Usage::new(5, 6)), ..ModelOutput::new("gpt", text) };
    let earlier = [("a", 1, "x"), ("a", 2, "y"), ("a", 2, "z")];
    let replay = Replay::new("openai/gpt", earlier.map(|(id, epoch, text)| (id.into(), epoch, output(text))));
    assert_eq!(replay.name(), "openai/gpt");
    assert_eq!([said(&replay, "a", 1, 0).await, said(&replay, "a", 2, 1).await], ["x", "z"]);
    for (id, epoch, call, want) in [
        ("b", 1, 0, "the replayed log has no output for attempt 1 of sample `b`"),
        ("a", 1, 1, "attempt 1 of sample `a` has 1 outputs in the replayed log, and call 2 is asked for"),
    ] {
        let asked = Request { sample: id.into(), epoch, call, ..question() };
        let error = replay.generate(&asked).await.expect_err("not in the log");
        assert_eq!((error.fault, &*error.message), (ModelFault::Refused, want));
    }
}
