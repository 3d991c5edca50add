//! Every solver, by name.

use crate::scripted::{Scripted, answered, none, scope, score, solve, state};
use calipers_core::{Message, Role, TaskSample, Value};
use calipers_run::{AttemptFault, AttemptState, Solvers};
use serde_json::{Value as Json, json};
use std::time::{Duration, Instant};

fn said(state: &AttemptState) -> Vec<String> {
    state.messages.iter().map(|message| format!("{}: {}", message.role.name(), message.content)).collect()
}

#[tokio::test]
async fn the_model_answers_as_it_is_told() {
    let model = Scripted::new(&["fine"]);
    let mut state = state(TaskSample::new("how are you?"));
    let params = json!({"temperature": 0.5, "max_tokens": 10, "stop_seqs": ["\n"], "seed": 3});
    solve("generate", params.into(), &mut state, &model).await.unwrap();
    assert_eq!(
        (said(&state), state.completion()),
        (vec!["user: how are you?".into(), "assistant: fine".into()], "fine")
    );
    let config = &model.configs()[0];
    assert_eq!((config.temperature, config.max_tokens, config.seed), (Some(0.5), Some(10), Some(3)));
    assert_eq!(config.stop, ["\n"]);
}

#[test]
fn only_those_who_ask_the_model_say_so() {
    let solvers = Solvers::builtin();
    let asks = |name: &str, params: Value| solvers.make(name, &params).unwrap().asks_model();
    assert!(asks("generate", none()) && asks("multiple_choice", none()));
    assert!(
        !asks("command", Value::from([("cmd", "./agent")]))
            && !asks("system_message", Value::from([("template", "x")]))
    );
}

#[tokio::test]
async fn messages_are_added_where_they_belong() {
    let model = Scripted::new(&[]);
    let mut state = state(TaskSample::new("q").metadata("topic", "birds"));
    let template = |text: &str| Value::from([("template", text), ("tone", "kind")]);
    solve("system_message", template("Be {tone}."), &mut state, &model).await.unwrap();
    solve("assistant_message", template("About {topic}? {unknown}"), &mut state, &model).await.unwrap();
    solve("user_message", template("Yes, {{topic}}."), &mut state, &model).await.unwrap();
    solve("system_message", template("Be brief."), &mut state, &model).await.unwrap();
    let want = [
        "system: Be kind.",
        "system: Be brief.",
        "user: q",
        "assistant: About birds? {unknown}",
        "user: Yes, {topic}.",
    ];
    assert_eq!(said(&state), want);
}

#[tokio::test]
async fn questions_are_reworded() {
    let model = Scripted::new(&[]);
    let mut state = state(TaskSample::new("Why {x}?").metadata("prompt", "not this").metadata("name", "Ada"));
    let params = Value::from([("template", "Dear {name}: {prompt} ({place})"), ("place", "here")]);
    solve("prompt_template", params, &mut state, &model).await.unwrap();
    assert_eq!(said(&state), ["user: Dear Ada: Why {x}? (here)"]);
    solve("chain_of_thought", none(), &mut state, &model).await.unwrap();
    let text = &said(&state)[0];
    assert!(text.starts_with("user: Dear Ada: Why {x}? (here)\n\n") && text.contains("\"ANSWER: $ANSWER\""), "{text}");
    solve("chain_of_thought", Value::from([("template", "{prompt} {name}")]), &mut state, &model).await.unwrap();
    assert!(said(&state)[0].ends_with("{name}"), "the template of chain_of_thought knows the prompt only");
    state.messages = vec![Message::assistant("x")];
    assert!(solve("chain_of_thought", none(), &mut state, &model).await.is_err());
}

#[tokio::test]
async fn an_answer_is_criticised_and_given_again() {
    let model = Scripted::new(&["too {question} short", "better"]);
    let mut state = answered(TaskSample::new("why?").metadata("style", "terse"), "because");
    let params = Value::from([
        ("critique_template", "{question} {completion} {style}"),
        ("completion_template", "{question}|{completion}|{critique}"),
        ("model", "grader"),
    ]);
    solve("self_critique", params, &mut state, &model).await.unwrap();
    assert_eq!(&*model.asked()[0][0].content, "why? because terse");
    assert_eq!(said(&state)[2..], ["user: why?|because|too {question} short", "assistant: better"]);
    assert_eq!(state.completion(), "better");
}

#[tokio::test]
async fn choices_are_shown_with_letters() {
    for (cot, several, parts) in [
        (false, false, ["LETTER is one of A,B", "Your whole response"]),
        (true, false, ["LETTER is one of A,B", "Think step by step"]),
        (false, true, ["LETTERS is one or more of A,B", "Your whole response"]),
        (true, true, ["LETTERS is one or more of A,B", "Think step by step"]),
    ] {
        let model = Scripted::new(&["ANSWER: A"]);
        let mut state = state(TaskSample::new("{letters}?").choices(["red", "blue"]).target("A"));
        let params = Value::from([("cot", cot), ("multiple_correct", several)]);
        solve("multiple_choice", params, &mut state, &model).await.unwrap();
        let prompt = model.prompt();
        assert!(prompt.ends_with("\n\n{letters}?\n\nA) red\nB) blue"), "{prompt}");
        assert!(parts.iter().all(|part| prompt.contains(part)) && prompt.contains("'ANSWER: $LETTER"), "{prompt}");
        assert_eq!(state.choices.iter().map(|choice| choice.correct).collect::<Vec<_>>(), [Some(true), Some(false)]);
    }
}

#[tokio::test]
async fn shuffled_choices_are_told_in_the_order_of_the_dataset() {
    let texts = ["w", "x", "y", "z"];
    let sample = || TaskSample::new("q").choices(texts).target("C");
    let params = || Value::from([("shuffle", 3)]);
    let model = Scripted::new(&["I say\nANSWER: B"]);
    let mut attempt = state(sample());
    solve("multiple_choice", params(), &mut attempt, &model).await.unwrap();
    let shown: Vec<usize> = attempt.choices.iter().map(|choice| choice.original).collect();
    assert_ne!(shown, [0, 1, 2, 3]);
    assert!(model.prompt().contains(&format!("B) {}\n", texts[shown[1]])));
    let letter = char::from(b'A' + u8::try_from(shown[1]).unwrap());
    assert_eq!(attempt.completion(), format!("ANSWER: {letter}"));
    assert_eq!(attempt.messages[1].content, attempt.output.as_ref().unwrap().message.content);
    assert!(attempt.messages[0].content.ends_with("A) w\nB) x\nC) y\nD) z"), "{}", attempt.messages[0].content);

    let right = shown.iter().position(|original| *original == 2).unwrap();
    let model = Scripted::new(&[&format!("ANSWER: {}", char::from(b'A' + u8::try_from(right).unwrap()))]);
    let mut attempt = state(sample());
    solve("multiple_choice", params(), &mut attempt, &model).await.unwrap();
    let judged = score("choice", none(), &attempt, &model).await.unwrap();
    let text = format!("{judged:?}");
    assert!(text.contains("Text(\"C\")") && text.contains("answer: Some(\"C\")"), "{text}");
    assert!(text.contains("Choices were shuffled") && text.contains("Shuffled answer:"), "{text}");
}

#[tokio::test]
async fn wrong_parameters_of_solvers_are_errors() {
    let wrong = |name: &str, params: Value| Solvers::builtin().make(name, &params).err().unwrap().to_string();
    for (name, params, want) in [
        ("genarate", none(), "there is no solver `genarate`\n  hint: did you mean `generate`?"),
        (
            "generate",
            Value::from([("max_tokens", -1)]),
            "`max_tokens` of `generate` is `-1`\n  hint: give a whole number from 0",
        ),
        ("system_message", none(), "`system_message` needs `template`\n  hint: write system_message(template=…)"),
        (
            "multiple_choice",
            Value::from([("shuffle", "yes")]),
            "`shuffle` of `multiple_choice` is `yes`\n  hint: give true or a seed",
        ),
        ("command", none(), "`command` needs `cmd`\n  hint: write command(cmd=…)"),
    ] {
        assert_eq!(wrong(name, params), want);
    }
    assert!(wrong("multiple_choice", Value::from([("template", "{question}")])).contains("{choices}"));
    assert!(wrong("command", json!({"cmd": "x", "timeout": 0}).into()).contains("seconds above 0"));
    let mut without = state(TaskSample::new("q"));
    assert!(solve("multiple_choice", none(), &mut without, &Scripted::new(&[])).await.is_err());
    let solvers = Solvers::builtin();
    assert_eq!(solvers.names().count(), 9);
    assert!(solvers.is_open("prompt_template") && !solvers.is_open("generate"));
}

async fn run_agent(params: Json, state: &mut AttemptState) -> Result<(), AttemptFault> {
    solve("command", params.into(), state, &Scripted::new(&[])).await
}

async fn agent(script: &str) -> Result<AttemptState, String> {
    let mut state = state(TaskSample::new("question").target("SECRET"));
    run_agent(json!({"cmd": script, "timeout": 20}), &mut state)
        .await
        .map(|()| state)
        .map_err(|fault| fault.to_string())
}

#[cfg(unix)] // the agent is a shell script
#[tokio::test]
async fn an_agent_is_told_the_sample_but_not_the_answer() {
    let sample = TaskSample::new("q \"quoted\" ü")
        .target("SECRET")
        .choices(["a", "b"])
        .metadata("category", "edge")
        .metadata("expected_behaviors", vec!["SECRET"])
        .metadata("must_not", vec!["SECRET"])
        .metadata("evaluation_criteria", Value::from([("check", "SECRET")]));
    let mut state = state(sample);
    run_agent(json!({"cmd": "printf 'told: '; cat"}), &mut state).await.unwrap();
    let told: Json = serde_json::from_str(state.completion().strip_prefix("told: ").unwrap()).unwrap();
    let question = "q \"quoted\" ü";
    let want = json!({"id": 1, "epoch": 1, "input": question, "messages": [{"role": "user", "content": question}],
        "choices": ["a", "b"], "metadata": {"category": "edge"}});
    assert_eq!(told, want);
}

#[cfg(unix)] // the agent is a shell script
#[tokio::test]
async fn an_agent_answers_with_text_or_json() {
    let plain = agent("echo '  forty two '").await.unwrap();
    assert_eq!((plain.completion(), said(&plain)[1].as_str()), ("forty two", "assistant: forty two"));
    assert_eq!(agent("echo '{\"answer\": 4}'").await.unwrap().completion(), "{\"answer\": 4}");
    assert_eq!(agent("echo 4").await.unwrap().completion(), "4");
    assert_eq!(agent("true").await.unwrap().completion(), "");

    let full = r#"{"output": "done", "model": "mine", "usage": {"input_tokens": 5, "output_tokens": 2}, "cost_usd": 0.25,
        "latency_ms": 12.5, "observed_behaviors": ["asks"],
        "tool_calls": [{"name": "search", "arguments": {"q": "x"}}],
        "messages": [{"role": "user", "content": "question"}, {"role": "tool", "content": "found", "tool_call_id": "1"}]}"#;
    let state = agent(&format!("cat <<'E'\n{full}\nE")).await.unwrap();
    assert_eq!(said(&state), ["user: question", "tool: found", "assistant: done"]);
    let output = state.output.as_ref().unwrap();
    assert_eq!(
        (&*output.model, output.usage.unwrap().total_tokens, output.usage.unwrap().cost_usd),
        ("mine", 7, Some(0.25))
    );
    assert_eq!(&*output.message.tool_calls[0].function, "search");
    let fields: Vec<String> = state.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(fields, ["latency_ms=12.5", "tokens_used=7", "cost_usd=0.25"]);
    assert_eq!(state.store[0], ("observed_behaviors".into(), vec!["asks"].into()));

    let told = r#"echo '{"tokens": 9, "messages": [{"role": "assistant", "content": "hi"}]}'"#;
    let state = agent(told).await.unwrap();
    assert_eq!((said(&state), state.completion()), (vec!["user: question".into(), "assistant: hi".into()], "hi"));
    assert_eq!(state.messages[1].role, Role::Assistant);
    assert_eq!(state.output.unwrap().usage.unwrap().total_tokens, 9);
}

#[tokio::test]
async fn an_agent_that_fails_is_an_error_with_its_last_words() {
    for (script, want) in [
        ("echo first >&2; echo 'last \u{1b}[31mwords' >&2; exit 3", ["exit status: 3", "first\n  last [31mwords"]),
        ("kill -9 $$", ["ended with signal: 9", ""]),
        ("echo '{\"error\": \"no quota\"}'", ["reports: no quota", ""]),
        ("echo '{\"output\": \"x\", \"tokens\": \"many\"}'", ["`tokens` is a string, not a number", ""]),
        ("echo '{\"messages\": [{\"content\": 1}]}'", ["a message has no `role`", ""]),
        ("exec /no/such/program", ["ended with exit status: 127", "no/such/program"]),
    ] {
        let error = agent(script).await.unwrap_err();
        assert!(want.iter().all(|part| error.contains(part)), "{script}: {error}");
    }
    let mut state = state(TaskSample::new("q"));
    let error = run_agent(json!({"cmd": ["/no/such/program", "x"]}), &mut state).await.unwrap_err().to_string();
    assert!(error.starts_with("cannot start `/no/such/program`: "), "{error}");
}

#[cfg(unix)] // the agent is a shell script
#[tokio::test]
async fn an_agent_has_its_environment_and_its_folder() {
    let mut state = state(TaskSample::new("q"));
    let params = json!({"cmd": "echo $NAME $PWD", "env": {"NAME": "Ada"}, "cwd": "/"});
    run_agent(params, &mut state).await.unwrap();
    assert_eq!(state.completion(), "Ada /");
}

#[cfg(unix)] // the agent is a shell script
#[tokio::test]
async fn much_in_and_much_out_does_not_deadlock() {
    let text = "x".repeat(2_000_000);
    let mut state = state(TaskSample::new(text.as_str()));
    // It writes before it reads, and again after.
    run_agent(
        json!({"cmd": "head -c 300000 /dev/zero | tr '\\0' a; cat >/dev/null; echo b", "timeout": 60}),
        &mut state,
    )
    .await
    .unwrap();
    assert_eq!(state.completion().len(), 300_001);
    let mut deaf = crate::scripted::state(TaskSample::new(text.as_str()));
    run_agent(json!({"cmd": "echo ok", "timeout": 60}), &mut deaf).await.unwrap();
    assert_eq!(deaf.completion(), "ok");
}

#[cfg(unix)] // the agent is a shell script
#[tokio::test]
async fn endless_output_is_cut_off() {
    let mut state = state(TaskSample::new("q"));
    let error = run_agent(json!({"cmd": "yes", "timeout": 120}), &mut state).await.unwrap_err().to_string();
    assert!(error.ends_with("it wrote more than 64 MiB"), "{error}");
}

/// True while a process lives: a zombie that was not reaped yet is dead.
fn lives(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| !rest.trim_start().starts_with('Z')))
}

fn dies(pid: &str) -> bool {
    let started = Instant::now();
    while lives(pid) && started.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(10));
    }
    !lives(pid)
}

/// A file for process ids that is removed afterwards.
struct Pids(std::path::PathBuf);

impl Pids {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("calipers-{name}-{}", std::process::id())))
    }

    fn read(&self) -> String {
        let started = Instant::now();
        loop {
            let text = std::fs::read_to_string(&self.0).unwrap_or_default();
            if text.ends_with('\n') {
                return text.trim().to_owned();
            }
            assert!(started.elapsed() < Duration::from_secs(10), "no process id was written");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Pids {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_agent_out_of_time_is_killed_with_its_children() {
    let pids = Pids::new("timeout");
    let script = format!("sh -c 'echo $$ > {}; sleep 600' & wait", pids.0.display());
    let mut state = state(TaskSample::new("q"));
    let fault = run_agent(json!({"cmd": script, "timeout": 1}), &mut state).await.unwrap_err();
    assert!(matches!(&fault, AttemptFault::Limit(limit) if limit.kind == "time" && limit.limit == 1.0), "{fault}");
    assert!(dies(&pids.read()));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_an_agent_leaves_behind_is_killed_and_not_waited_for() {
    let pids = Pids::new("orphan");
    let script = format!("sh -c 'echo $$ > {}; sleep 600' & echo done", pids.0.display());
    let started = Instant::now();
    let state = agent(&format!("{script}; while ! test -s {}; do sleep 0.05; done", pids.0.display())).await.unwrap();
    assert_eq!(state.completion(), "done");
    assert!(started.elapsed() < Duration::from_secs(15));
    assert!(dies(&pids.read()));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_agent_whose_attempt_is_cancelled_is_killed() {
    let pids = Pids::new("cancelled");
    let script = format!("echo $$ > {}; sleep 600; echo never", pids.0.display());
    let attempt = tokio::spawn(async move {
        let mut state = state(TaskSample::new("q"));
        run_agent(json!({"cmd": script}), &mut state).await
    });
    let path = pids.0.clone();
    while std::fs::read_to_string(&path).unwrap_or_default().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let pid = pids.read();
    assert!(lives(&pid));
    attempt.abort();
    assert!(attempt.await.unwrap_err().is_cancelled());
    assert!(dies(&pid));
}

#[tokio::test]
async fn a_seed_of_the_run_orders_choices_too() {
    let order = |shuffle: Value| async move {
        let model = Scripted::new(&["ANSWER: A"]);
        let mut attempt = state(TaskSample::new("q").choices(["1", "2", "3", "4", "5", "6"]).target("A"));
        let solver = Solvers::builtin().make("multiple_choice", &Value::from([("shuffle", shuffle)])).unwrap();
        solver.solve(&mut attempt, &scope(&model)).await.unwrap();
        attempt.choices.iter().map(|choice| choice.original).collect::<Vec<_>>()
    };
    let first = order(true.into()).await;
    assert_eq!(first, order(true.into()).await);
    assert_ne!(first, [0, 1, 2, 3, 4, 5]);
    assert_eq!(order(false.into()).await, [0, 1, 2, 3, 4, 5]);
    assert_ne!(order(1.into()).await, order(2.into()).await);
}
