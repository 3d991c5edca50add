//! The log of an evaluation in motion: readable at every moment, never short of a finished attempt, and gone on with.

use calipers_core::{
    Input, LimitReached, Message, Metadata, MetricSpec, ModelOutput, Outcome, Plan, Results, Role, SampleId, Samples,
    Score, Target, ToolCall, Transcript, Usage, Value, accuracy, mean_of, stderr,
};
use calipers_io::{
    EarlyStop, EarlyStopping, Ending, EvalLog, InspectLog, LogDataset, LogHeader, LogLimits, LogScorer, LogStatus,
    LogStep, OutputFile, RecordedMetric, RecordedRun, ResumedLog, Source, log_name, read, read_attempts, timestamp,
};
use calipers_testing::Scratch;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

const BEGUN: i64 = 1_767_225_600_000;

fn header() -> LogHeader {
    let metric = |name: &str| RecordedMetric::Named { name: name.into(), params: Value::Map(Vec::new()) };
    let mut header = LogHeader::new("colors", "mockllm/model", timestamp(BEGUN));
    header.task_file = Some("colors.star".into());
    header.task_args = vec![("level".into(), 3.into())];
    header.model_roles = vec![("grader".into(), "mockllm/judge".into())];
    header.config.temperature = Some(0.5);
    header.config.stop = vec!["END".into()];
    header.config.max_tokens = Some(64);
    header.dataset = LogDataset {
        name: Some("colors".into()),
        location: Some("colors.csv".into()),
        sample_ids: (1..=4).map(SampleId::Int).chain(["a/b é".into()]).collect(),
        shuffled: true,
    };
    header.epochs = 2;
    header.reducers = Some(vec!["mean".into()]);
    header.scorers = vec![LogScorer {
        name: "match".into(),
        params: Value::from([("location", "end")]),
        metrics: vec![metric("accuracy"), metric("stderr")],
    }];
    header.plan = vec![LogStep { name: "generate".into(), params: Value::from([("cache", true)]) }];
    header.limits = LogLimits { time_s: Some(60), tokens: Some(1000), cost_usd: Some(0.5), messages: Some(9) };
    header.fail_on_error = Some(false.into());
    header.retry_on_error = 2;
    header.tags = vec!["nightly".into()];
    header.metadata = Metadata::new([("team", "blue")]);
    header.calipers = Metadata::new([("seed", Value::Int(7)), ("arguments", Value::List(vec!["--limit".into()]))]);
    header
}

fn attempt(id: impl Into<SampleId>, epoch: u32) -> Transcript {
    let id = id.into();
    let count = i64::from(epoch) * 10 + id.to_string().len() as i64;
    let mut output = ModelOutput::new("mockllm/model", format!("red {count}"));
    output.usage = Some(Usage::new(10, 5));
    output.time_s = Some(0.25);
    Transcript {
        epoch,
        input: Input::Text("Name a color.".into()),
        choices: vec!["red".into(), "blue".into()],
        target: Target(vec!["red".into()]),
        metadata: Metadata::new([("category", "art")]),
        messages: vec![Message::user("Name a color."), output.message.clone()],
        output: Some(output),
        scores: vec![("match".into(), Outcome::from(Score::new(if count % 2 == 0 { "C" } else { "I" }).answer("red")))],
        fields: Vec::new(),
        usage: vec![("mockllm/model".into(), Usage { cost_usd: Some(0.1), ..Usage::new(10, 5) })],
        started_ms: BEGUN + 1,
        completed_ms: BEGUN + 1002,
        working_s: 0.9,
        error: None,
        error_retries: Vec::new(),
        limit: None,
        id,
    }
}

fn errored(id: impl Into<SampleId>, epoch: u32) -> Transcript {
    let mut attempt = attempt(id, epoch);
    attempt.output = None;
    attempt.scores.clear();
    attempt.error = Some("connection reset".into());
    attempt.error_retries = vec!["timeout".into()];
    attempt
}

/// Attempts with all that they may hold.
fn attempts() -> Vec<Transcript> {
    let mut tools = attempt(2, 1);
    let call = |id: &str, arguments: Value| ToolCall { id: id.into(), function: "look".into(), arguments };
    tools.messages[1].tool_calls = vec![call("1", Value::from([("x", 1)])), call("2", "not JSON".into())];
    tools.messages.push(Message { tool_call_id: Some("1".into()), ..Message::new(Role::Tool, "4") });
    tools.output.as_mut().unwrap().message = tools.messages[1].clone();
    let mut fields = attempt(3, 1);
    fields.fields = vec![
        ("latency_ms".into(), 12.5.into()),
        ("observed_behaviors".into(), Value::List(vec!["refuses".into()])),
        ("passed".into(), true.into()),
    ];
    fields.usage.push(("mockllm/judge".into(), Usage::new(7, 1)));
    fields.limit = Some(LimitReached { kind: "token", limit: 100.0 });
    let mut unscored = attempt("a/b é", 2);
    unscored.input = Input::Messages(vec![Message::system("Be brief."), Message::user("Hm?\u{1b}[31m\u{0}")]);
    unscored.scores = vec![
        ("match".into(), Outcome::unscored("refusal")),
        ("judge".into(), Outcome::from(Score::new(0.5).explanation("why"))),
    ];
    unscored.target = Target(vec!["x".into(), "y".into()]);
    unscored.usage.clear();
    vec![attempt(1, 1), attempt(1, 2), tools, fields, unscored, errored(4, 1)]
}

fn run(path: &Path) -> Result<RecordedRun, String> {
    read(&Source::path(path), None).map(|mut runs| runs.remove(0)).map_err(|error| error.to_string())
}

/// Every attempt in a form in which the order of names does not count.
fn seen(samples: &Samples) -> BTreeSet<String> {
    let record = |record: calipers_core::Record| {
        let fields: BTreeMap<String, String> =
            record.fields.iter().map(|(name, value)| (name.to_string(), format!("{value:?}"))).collect();
        let scores: BTreeMap<String, String> =
            record.scores.iter().map(|(name, outcome)| (name.to_string(), format!("{outcome:?}"))).collect();
        format!("{} {} {fields:?} {scores:?} {:?} {:?}", record.id, record.epoch, record.metadata, record.error)
    };
    samples.records().map(record).collect()
}

fn live(attempts: &[Transcript]) -> Samples {
    let mut samples = Samples::new();
    attempts.iter().for_each(|attempt| attempt.add_to(&mut samples));
    samples
}

fn results(samples: &Samples) -> Results {
    let metrics: [MetricSpec; 3] = [accuracy().into(), stderr().into(), mean_of("latency_ms").into()];
    Plan::new().scorer("match", metrics).measure(samples).unwrap()
}

/// A log may be written by another thread than the one that began it.
const _: fn() = || {
    fn can_be_sent<T: Send>() {}
    can_be_sent::<EvalLog>();
};

fn ending(status: LogStatus) -> Ending<'static> {
    Ending::new(status, BEGUN, BEGUN + 60_000)
}

/// A log of these attempts.
fn finished(path: &Path, attempts: &[Transcript], status: LogStatus) {
    let mut log = EvalLog::create(path, &header()).unwrap();
    attempts.iter().for_each(|attempt| log.add(attempt).unwrap());
    log.finish(&ending(status)).unwrap();
}

fn resumed(path: &Path) -> ResumedLog {
    EvalLog::resume(path).unwrap_or_else(|error| panic!("{error}"))
}

/// The members of an archive, by a reader that is not ours. A name that is there twice fails.
fn members(path: &Path) -> BTreeMap<String, String> {
    let bytes = std::fs::read(path).unwrap();
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(&bytes)).unwrap();
    // Of members with one name the reader shows the last; the directory counts them all.
    let counted = bytes[bytes.len() - 12..bytes.len() - 10].try_into().map(u16::from_le_bytes).unwrap();
    assert_eq!(usize::from(counted), archive.len(), "a name appears twice");
    let mut members = BTreeMap::new();
    for place in 0..archive.len() {
        let mut member = archive.by_index(place).unwrap();
        let name = member.name().unwrap().into_owned();
        let mut text = String::new();
        member.read_to_string(&mut text).unwrap();
        // Inspect's JSON has bare NaN, and other readers do not know it.
        members.insert(name, text.replace(":NaN", ":null"));
    }
    members
}

fn summaries(members: &BTreeMap<String, String>) -> Vec<String> {
    let list: Vec<serde_json::Value> = serde_json::from_str(&members["summaries.json"]).unwrap();
    list.iter().map(|summary| format!("{} {} {}", summary["id"], summary["epoch"], summary["error"])).collect()
}

#[test]
fn a_finished_log_reads_as_what_was_added() {
    let folder = Scratch::new();
    let path = folder.join(&log_name(&header()));
    let want = live(&attempts());
    let computed = results(&want);
    let stops = EarlyStopping {
        manager: "gate".into(),
        stops: vec![EarlyStop { id: 4.into(), epoch: 2, reason: "decided".into() }],
        metadata: Metadata::new([("level", 0.95)]),
    };
    let mut log = EvalLog::create(&path, &header()).unwrap();
    attempts().iter().for_each(|attempt| log.add(attempt).unwrap());
    let usage = [("mockllm/model".into(), Usage::new(50, 25))];
    let ending =
        Ending { results: Some(&computed), early_stopping: Some(&stops), usage: &usage, ..ending(LogStatus::Success) };
    log.finish(&ending).unwrap();
    let found = run(&path).unwrap();
    assert_eq!(seen(&found.samples), seen(&want));
    assert_eq!((found.task.as_deref(), found.model.as_deref()), (Some("colors"), Some("mockllm/model")));
    assert!(found.notes.is_empty(), "{:?}", found.notes);
    let figures =
        |results: &Results| format!("{:?} {:?}", results.figure("match", "accuracy"), results.figure("run", "mean"));
    assert_eq!(figures(&results(&found.samples)), figures(&computed));
    let accuracy = found.recorded.figures.iter().find(|figure| figure.metric == "accuracy").unwrap();
    assert_eq!(accuracy.value, computed.figure("match", "accuracy").unwrap().value.clone().ok());
    let members = members(&path);
    assert_eq!(summaries(&members).len(), 6);
    let header: serde_json::Value = serde_json::from_str(&members["header.json"]).unwrap();
    assert_eq!(header["results"]["early_stopping"]["early_stops"][0]["reason"], "decided");
    assert_eq!(header["stats"]["model_usage"]["mockllm/model"]["total_tokens"], 75);
    assert_eq!(header["stats"]["started_at"], "2026-01-01T00:00:00+00:00");
    assert_eq!(header["eval"]["metadata"]["calipers"]["seed"], 7);
    let sample: serde_json::Value = serde_json::from_str(&members["samples/2_epoch_1.json"]).unwrap();
    assert_eq!(sample["messages"][1]["tool_calls"][1]["parse_error"], "not JSON");
    assert_eq!(sample["messages"][1]["id"], sample["output"]["choices"][0]["message"]["id"]);
    let broken: serde_json::Value = serde_json::from_str(&members["samples/4_epoch_1.json"]).unwrap();
    assert_eq!(broken["error"]["message"], "connection reset");
    assert_eq!(broken["error_retries"][0]["message"], "timeout");
}

#[test]
fn a_log_is_readable_as_soon_as_it_is_there_and_after_every_flush() {
    let folder = Scratch::new();
    let path = folder.join("x.eval");
    let mut log = EvalLog::create(&path, &header()).unwrap();
    assert_eq!(run(&path).unwrap().task.as_deref(), Some("colors"));
    for (count, attempt) in attempts().iter().enumerate() {
        log.add(attempt).unwrap();
        log.flush().unwrap();
        log.flush().unwrap();
        let members = members(&path);
        let journalled: usize = (1..=count + 1)
            .map(|journal| {
                let list = &members[&format!("_journal/summaries/{journal}.json")];
                serde_json::from_str::<Vec<serde_json::Value>>(list).unwrap().len()
            })
            .sum();
        assert_eq!(journalled, count + 1);
        assert_eq!(run(&path).unwrap().samples.attempts(), count + 1);
    }
    drop(log);
    assert!(!members(&path).contains_key("header.json"));
}

#[test]
fn a_kill_at_any_byte_loses_only_the_attempt_being_written() {
    let folder = Scratch::new();
    let path = folder.join("x.eval");
    let all = attempts();
    let mut log = EvalLog::create(&path, &header()).unwrap();
    let mut stages = Vec::new();
    for (count, attempt) in all.iter().enumerate() {
        log.add(attempt).unwrap();
        if count == 2 {
            log.flush().unwrap();
            stages.push(std::fs::read(&path).unwrap());
        }
    }
    stages.push(std::fs::read(&path).unwrap());
    std::mem::forget(log); // as a kill would
    let cut_path = folder.join("cut.eval");
    let mut gone_on = 0;
    // The first stage has a journal and a directory behind its last attempt; before that, both are alike.
    for (bytes, first) in stages.iter().zip([3, 0]) {
        let ends = ends(bytes);
        let from = if first == 0 { 0 } else { ends[first].1 };
        assert!(ends[first].0.starts_with(if first == 0 { "_journal" } else { "samples/" }));
        for cut in from..=bytes.len() {
            let whole = ends.iter().filter(|(name, end)| name.starts_with("samples/") && *end <= cut).count();
            std::fs::write(&cut_path, &bytes[..cut]).unwrap();
            let Ok(again) = EvalLog::resume(&cut_path) else {
                assert!(cut < ends[0].1, "the beginning is there at {cut}");
                continue;
            };
            let done = again.done.len() + again.again.len();
            assert_eq!(done, whole, "cut at {cut} of {}", bytes.len());
            assert_eq!(again.header, header());
            if cut % 7 == 0 && whole > 0 {
                assert_eq!(seen(&run(&cut_path).unwrap().samples), seen(&live(&all[..whole])), "cut at {cut}");
            }
            if cut % 97 == 0 || cut == bytes.len() {
                drop(again);
                go_on(&cut_path, &all);
                gone_on += 1;
            }
        }
    }
    assert!(gone_on > 10);
}

/// The members that stand one after another, with their ends.
fn ends(bytes: &[u8]) -> Vec<(String, usize)> {
    let number = |at: usize, length: usize| (0..length).rev().fold(0, |sum, i| sum << 8 | usize::from(bytes[at + i]));
    let mut ends: Vec<(String, usize)> = Vec::new();
    let mut at = 0;
    // What is written at the end has its sizes elsewhere.
    while bytes[at..].starts_with(b"PK\x03\x04") && number(at + 18, 4) != 0xffff_ffff {
        let name = String::from_utf8_lossy(&bytes[at + 30..at + 30 + number(at + 26, 2)]).into_owned();
        at += 30 + number(at + 26, 2) + number(at + 28, 2) + number(at + 18, 4);
        ends.push((name, at));
    }
    ends
}

/// Makes what is missing, and compares with an uninterrupted run.
fn go_on(path: &Path, all: &[Transcript]) {
    let ResumedLog { mut log, samples, done, usage, .. } = resumed(path);
    assert_eq!(samples.attempts(), done.len());
    let tokens: u64 = usage.iter().map(|(_, usage)| usage.total_tokens).sum();
    let is_done = |attempt: &&Transcript| done.contains(&(attempt.id.clone(), attempt.epoch));
    let want: u64 =
        all.iter().filter(is_done).flat_map(|attempt| &attempt.usage).map(|(_, usage)| usage.total_tokens).sum();
    assert_eq!(tokens, want);
    for attempt in all.iter().filter(|attempt| !is_done(attempt)) {
        log.add(attempt).unwrap();
    }
    log.finish(&ending(LogStatus::Success)).unwrap();
    let found = run(path).unwrap();
    assert_eq!(seen(&found.samples), seen(&live(all)));
    assert!(found.notes.is_empty(), "{:?}", found.notes);
    assert_eq!(summaries(&members(path)).len(), all.len());
}

#[test]
fn attempts_that_broke_are_made_again_and_nothing_is_there_twice() {
    let folder = Scratch::new();
    let path = folder.join("x.eval");
    finished(&path, &[attempt(1, 1), errored(2, 1), attempt(3, 1)], LogStatus::Error);
    let before = std::fs::read(&path).unwrap();
    let first = resumed(&path);
    assert_eq!(first.done, [(SampleId::Int(1), 1), (SampleId::Int(3), 1)]);
    assert_eq!(first.again, [(SampleId::Int(2), 1)]);
    assert_eq!(first.header, header());
    drop(first);
    assert_eq!(std::fs::read(&path).unwrap(), before, "nothing is changed before there is something to add");
    // Cancelled once more, killed once more, and then finished.
    let ResumedLog { mut log, .. } = resumed(&path);
    log.add(&errored(2, 1)).unwrap();
    log.finish(&ending(LogStatus::Cancelled)).unwrap();
    let ResumedLog { mut log, again, .. } = resumed(&path);
    assert_eq!(again, [(SampleId::Int(2), 1)]);
    log.add(&attempt(2, 1)).unwrap();
    std::mem::forget(log);
    std::fs::copy(&path, folder.join("killed.eval")).unwrap();
    let path = folder.join("killed.eval");
    let ResumedLog { log, again, done, .. } = resumed(&path);
    assert!(again.is_empty());
    assert_eq!(done.len(), 3);
    log.finish(&ending(LogStatus::Success)).unwrap();
    let want = [attempt(1, 1), attempt(2, 1), attempt(3, 1)];
    assert_eq!(seen(&run(&path).unwrap().samples), seen(&live(&want)));
    let mut rows = summaries(&members(&path));
    rows.sort();
    assert_eq!(rows, ["1 1 null", "2 1 null", "3 1 null"]);
}

#[test]
fn a_log_with_a_damaged_attempt_makes_it_again() {
    let folder = Scratch::new();
    let path = folder.join("x.eval");
    finished(&path, &[attempt(1, 1), attempt(2, 1)], LogStatus::Cancelled);
    let mut bytes = std::fs::read(&path).unwrap();
    let (_, end) = ends(&bytes)[1];
    bytes[end - 20] ^= 0xff;
    let path = folder.join("damaged.eval");
    std::fs::write(&path, bytes).unwrap();
    let found = resumed(&path);
    assert_eq!((found.done.len(), found.again), (1, vec![("1".into(), 1)]));
}

#[test]
fn logs_that_cannot_be_gone_on_with_say_why() {
    let folder = Scratch::new();
    let path = folder.join("x.eval");
    finished(&path, &[attempt(1, 1)], LogStatus::Success);
    let why = |path: &Path| EvalLog::resume(path).unwrap_err().to_string();
    assert!(why(&path).contains("is finished: nothing is left to do"), "{}", why(&path));
    let theirs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/formats/inspect");
    let mut tried = 0;
    for entry in std::fs::read_dir(theirs).unwrap() {
        let found = entry.unwrap().path();
        if found.extension().is_some_and(|ending| ending == "eval") {
            let copy = folder.join("theirs.eval");
            std::fs::copy(&found, &copy).unwrap();
            assert!(EvalLog::resume(&copy).is_err(), "{}", found.display());
            assert_eq!(std::fs::read(&copy).unwrap(), std::fs::read(&found).unwrap());
            tried += 1;
        }
    }
    assert!(tried > 0);
    assert!(why(&folder.join("gone.eval")).contains("check its name"));
    let running = folder.join("running.eval");
    let log = EvalLog::create(&running, &header()).unwrap();
    assert!(why(&running).contains("another process is writing to it"), "{}", why(&running));
    drop(log);
    assert!(EvalLog::resume(&running).is_ok());
}

#[test]
fn a_log_that_cannot_be_written_is_refused_before_anything_is_done() {
    let folder = Scratch::new();
    let why = |path: &Path, header: &LogHeader| EvalLog::create(path, header).unwrap_err().to_string();
    let path = folder.join("x.eval");
    finished(&path, &[attempt(1, 1)], LogStatus::Success);
    let before = std::fs::read(&path).unwrap();
    assert!(why(&path, &header()).contains("a log is never overwritten"));
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert!(why(&path.join("y.eval"), &header()).contains("check the folder"));
    let mut long = header();
    long.dataset.sample_ids = vec!["x".repeat(70_000).into()];
    assert!(why(&folder.join("long.eval"), &long).contains("give it a shorter one"));
    assert!(!folder.join("long.eval").exists());
    let mut unnamed = header();
    unnamed.scorers[0].name.clear();
    assert!(why(&folder.join("unnamed.eval"), &unnamed).contains("a scorer has no name"));
    EvalLog::create(&folder.join("new/folder/x.eval"), &header()).unwrap();
}

#[test]
fn what_a_model_or_scorer_says_never_makes_a_log_unreadable() {
    let folder = Scratch::new();
    let path = folder.join("x.eval");
    let mut deep = Value::Int(1);
    for _ in 0..500 {
        deep = Value::List(vec![deep]);
    }
    let mut hostile = attempt("../../etc/passwd", 1);
    hostile.messages[1].tool_calls =
        vec![ToolCall { id: "1".into(), function: "f".into(), arguments: Value::from([("x", deep.clone())]) }];
    hostile.metadata = Metadata::new([("deep", deep.clone()), ("nan", Value::Missing)]);
    hostile.fields = vec![("deep".into(), deep.clone())];
    hostile.scores = vec![
        ("match".into(), Outcome::from(Score::new(deep.clone()))),
        ("null".into(), Outcome::from(Score::new(Value::Null))),
        ("map".into(), Outcome::from(Score::new(Value::from([("a", 0.5), ("b", 1.0)])))),
        ("told".into(), Outcome::from(Score::new(1).metadata(Metadata::new([("deep", deep)])))),
    ];
    hostile.working_s = f64::NAN;
    hostile.limit = Some(LimitReached { kind: "cost", limit: f64::INFINITY });
    finished(&path, &[hostile, attempt(1, 1)], LogStatus::Success);
    let found = run(&path).unwrap();
    assert_eq!(found.samples.attempts(), 2);
    assert_eq!(summaries(&members(&path)).len(), 2);
    let record = found.samples.records().find(|record| record.epoch == 1 && record.id != 1.into()).unwrap();
    let outcome = |name: &str| record.scores.iter().find(|(scorer, _)| **scorer == *name).unwrap().1.clone();
    assert!(matches!(outcome("match"), Outcome::Unscored { reason, .. } if reason.contains("more than plain values")));
    assert!(matches!(outcome("null"), Outcome::Unscored { .. }));
    assert!(matches!(outcome("told"), Outcome::Scored(_)));
    assert_eq!(outcome("map"), Outcome::from(Score::new(Value::from([("a", 0.5), ("b", 1.0)]))));
    let mut log = EvalLog::create(&folder.join("y.eval"), &header()).unwrap();
    let mut unnamed = attempt(1, 1);
    unnamed.scores[0].0 = "".into();
    assert!(log.add(&unnamed).unwrap_err().to_string().contains("has no name"));
}

#[test]
fn many_attempts_are_journalled_in_parts_and_all_found_again() {
    let folder = Scratch::new();
    let path = folder.join("x.eval");
    let mut log = EvalLog::create(&path, &header()).unwrap();
    let mut attempt = attempt(0, 1);
    // Summaries hold the first 5 kB of a question.
    attempt.input = Input::Text("why? ".repeat(1000).into());
    for id in 0..700 {
        attempt.id = id.into();
        log.add(&attempt).unwrap();
    }
    log.finish(&ending(LogStatus::Success)).unwrap();
    let members = members(&path);
    assert!(members.contains_key("_journal/summaries/3.json"));
    assert_eq!(summaries(&members).len(), 700);
    assert_eq!(run(&path).unwrap().samples.attempts(), 700);
}

#[test]
fn what_was_answered_can_be_replayed_from_both_forms() {
    let folder = Scratch::new();
    let path = folder.join("x.eval");
    let all = attempts();
    finished(&path, &all, LogStatus::Success);
    let document = folder.join("x.json");
    let mut out = OutputFile::create(&document, false).unwrap();
    InspectLog::open(&Source::path(&path)).unwrap().write(&mut out).unwrap();
    out.finish().unwrap();
    for path in [&path, &document] {
        let mut found: Vec<_> = read_attempts(&Source::path(path)).unwrap().map(Result::unwrap).collect();
        assert_eq!(found.len(), all.len());
        for attempt in &all {
            let place = found.iter().position(|f| *f.id() == attempt.id && f.epoch == attempt.epoch).unwrap();
            let found = found.remove(place);
            assert_eq!(found.output, attempt.output);
            assert_eq!(found.messages, attempt.messages);
            assert_eq!(found.sample.input, attempt.input);
            assert_eq!(found.sample.target, attempt.target);
            assert_eq!(found.sample.choices, attempt.choices);
            assert_eq!(found.sample.metadata, attempt.metadata);
            assert_eq!(found.error, attempt.error);
        }
    }
    let theirs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/formats/inspect/multi_scorer.eval");
    let found: Vec<_> = read_attempts(&Source::path(theirs)).unwrap().map(Result::unwrap).collect();
    let answers: Vec<&str> = found.iter().map(|attempt| attempt.output.as_ref().unwrap().completion()).collect();
    assert_eq!(answers[..3], ["The answer is 4", "Paris", "It is Barcelona."]);
    assert_eq!(found[0].output.as_ref().unwrap().usage, Some(Usage::new(20, 4)));
}
