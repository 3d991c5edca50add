//! What is written is read again as the same samples, in every form.

use calipers_core::{Metadata, Outcome, SampleId, Samples, Score, Value};
use calipers_io::{Contents, InspectLog, OutputFile, RecordedRun, Source, WriteError, read, writer};
use calipers_testing::Scratch;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The endings, and the form to ask for where the ending does not say it.
const FORMS: [(&str, Option<&str>); 9] = [
    ("jsonl", None),
    ("json", None),
    ("csv", None),
    ("parquet", None),
    ("eval", None),
    ("json", Some("inspect")),
    ("jsonl.gz", None),
    ("csv.zst", None),
    ("json.gz", Some("inspect")),
];

fn write(run: &RecordedRun, to: Option<&str>, path: &Path) -> Result<Vec<String>, WriteError> {
    let writer = writer(to, path.to_str().unwrap())?;
    let mut out = OutputFile::create(path, true)?;
    let notes = writer.write(&Contents { run, results: None }, &mut out)?;
    out.finish()?;
    Ok(notes)
}

fn read_one(path: &Path) -> RecordedRun {
    let mut runs = read(&Source::path(path), None).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

/// One attempt, in a form in which the order of names does not count.
type Seen =
    (SampleId, u32, BTreeMap<String, String>, BTreeMap<String, String>, BTreeMap<String, String>, Option<Arc<str>>);

/// All attempts. NaN in metadata is null where the form has nothing else (`nan_is_null`).
fn attempts(samples: &Samples, nan_is_null: bool) -> Vec<Seen> {
    let fact = |value: &Value| if nan_is_null { without_nan(value) } else { value.clone() };
    let facts = |metadata: &Metadata| -> BTreeMap<String, String> {
        metadata.iter().map(|(key, value)| (key.to_string(), format!("{:?}", fact(value)))).collect()
    };
    let score = |score: &Score| {
        let metadata = score.metadata.as_ref().map(|metadata| facts(metadata)).filter(|facts| !facts.is_empty());
        format!("{:?} {:?} {:?} {metadata:?}", score.value, score.answer, score.explanation)
    };
    let outcome = |outcome: &Outcome| match outcome {
        Outcome::Scored(found) => score(found),
        Outcome::Unscored { reason, score: found } => {
            format!("unscored {reason:?} {}", score(&found.as_deref().cloned().unwrap_or_else(Score::unscored)))
        }
    };
    let seen = |record: calipers_core::Record| {
        let fields = record.fields.iter().map(|(name, value)| (name.to_string(), format!("{:?}", fact(value))));
        let scores = record.scores.iter().map(|(name, found)| (name.to_string(), outcome(found)));
        (record.id, record.epoch, scores.collect(), facts(&record.metadata), fields.collect(), record.error)
    };
    let mut attempts: Vec<Seen> = samples.records().map(seen).collect();
    attempts.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    attempts
}

fn without_nan(value: &Value) -> Value {
    match value {
        Value::Missing => Value::Null,
        Value::List(items) => Value::List(items.iter().map(without_nan).collect()),
        Value::Map(entries) => {
            Value::Map(entries.iter().map(|(key, value)| (key.clone(), without_nan(value))).collect())
        }
        other => other.clone(),
    }
}

#[track_caller]
fn check_round_trip(run: &RecordedRun, folder: &Scratch, what: &str) {
    for (ending, to) in FORMS {
        let path = folder.join(&format!("out.{ending}"));
        write(run, to, &path).unwrap_or_else(|error| panic!("{what} as {ending} {to:?}: {error}"));
        let is_inspect = ending == "eval" || to == Some("inspect");
        let again = read_one(&path);
        let (want, found) = (attempts(&run.samples, !is_inspect), attempts(&again.samples, !is_inspect));
        for (want, found) in want.iter().zip(&found) {
            assert_eq!(want, found, "{what} as {ending} {to:?}");
        }
        assert_eq!(want.len(), found.len(), "{what} as {ending} {to:?}");
        // Bytes, too: what was written twice is the same file.
        let bytes = std::fs::read(&path).unwrap();
        write(run, to, &path).unwrap();
        assert!(
            bytes == std::fs::read(&path).unwrap(),
            "{what} as {ending} {to:?} differs from one writing to the next"
        );
    }
}

fn fixtures() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![crate::seen::fixture("")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

#[test]
fn every_fixture_survives_every_form() {
    let folder = Scratch::new();
    let mut runs = 0;
    for path in fixtures() {
        // Fixtures that are refused are tested elsewhere.
        let Ok(found) = read(&Source::path(&path), None) else { continue };
        for run in found.iter().filter(|run| !run.samples.is_empty()) {
            check_round_trip(run, &folder, &path.display().to_string());
            runs += 1;
        }
    }
    assert!(runs > 30, "only {runs} runs were found");
}

/// Everything at once that is known to be hard.
fn hard() -> RecordedRun {
    let mut samples = Samples::new();
    let texts =
        ["", " ", "1", "1.0", "true", "True", "null", "NaN", "nan", "\"quoted\"", "{\"value\": 1}", "[1]", "a,b;c\td"];
    let texts = texts.into_iter().chain([
        "line\nbreak\r\n",
        "\u{0}\u{1}\u{1f}",
        "ünï ☃ 🦀",
        "  padded ",
        "{not json",
        "C",
        "+5",
        "-",
        "none",
    ]);
    for text in texts {
        let score = Score::new(text).answer(text).explanation(text).metadata(Metadata::new([(text, text)]));
        samples
            .push(format!("id {text:?}"))
            .score("texts", text)
            .score("rich", score)
            .metadata("fact", text)
            .field("predicted", text)
            .field("note", text)
            .metadata("nested", Value::List(vec![text.into(), Value::Null, Value::from([(text, Value::Null)])]));
        if !text.is_empty() {
            let odd = format!("odd {text}");
            samples.push(odd.clone()).score(odd.clone(), 1).metadata(odd.clone(), 1).field(odd, 1);
        }
        samples.push(format!("failed {text:?}")).error(if text.trim().is_empty() { "why" } else { text });
    }
    let numbers = [0.0, -0.0, 1.0, 0.1, 1e308, -1e308, 5e-324, 1e21, 1e16, 123_456_789.123_456_79, 1e-7, f64::MAX];
    for x in numbers {
        samples
            .push(format!("number {x:?}"))
            .score("floats", x)
            .score("mixed", x)
            .metadata("size", x)
            .field("latency_ms", x)
            .field("cost_usd", x)
            .field("tokens_used", x);
    }
    for i in [0, 1, -1, i64::MAX, i64::MIN, 1 << 53, (1 << 53) + 1] {
        samples.push(i).score("ints", i).score("mixed", i).metadata("size", i).field("latency_ms", i).field("steps", i);
    }
    samples.push("flags").score("mixed", true).metadata("ok", false).field("passed", true).field("correct", 1);
    samples.push("null fact").metadata("gone", Value::Null).field("nothing", Value::Null);
    let map =
        [("a", Value::from(1)), ("b", Value::Missing), ("c", Value::Null), ("value", "x".into()), ("", 1.5.into())];
    samples.push("maps").score("map", map.clone());
    samples.push("maps").score("map", Score::new(map).answer("y"));
    samples.push("maps").score("map", [("value", 1)]);
    samples.push("maps").score("map", [("value", 1), ("answer", 2)]);
    samples
        .push("lists")
        .score("list", Value::List(vec![1.into(), Value::Missing, "C".into(), false.into(), 0.5.into()]));
    samples.push("lists").score("list", Value::List(Vec::new()));
    samples.push("unscored").score("judge", Outcome::unscored("null"));
    samples.push("unscored").score("judge", Outcome::unscored("no value"));
    samples.push("unscored").score("judge", Outcome::unscored("refusal")).error("and failed");
    samples.push("unscored").score("judge", Outcome::unscored("null")).error("and failed");
    let said = Score::unscored().answer("?").metadata(Metadata::new([("k", Value::from([("deep", vec![1, 2])]))]));
    samples.push("unscored").score("judge", Outcome::Unscored { reason: "grader".into(), score: Some(Box::new(said)) });
    samples
        .push_epoch("scenario", 7)
        .field("expected_behaviors", vec!["a;b", "c"])
        .field("observed_behaviors", Value::List(Vec::new()))
        .field("violations", vec!["x"])
        .field("must_not", Value::from([("x", true)]));
    samples
        .push("talk")
        .score("judge", 1)
        .metadata("input", "What?")
        .metadata("target", vec!["a", "b"])
        .metadata("choices", vec!["a", "b", "c"])
        .metadata("completion", "a\u{7}");
    samples.push("talk less").score("judge", 1).metadata("input", 5).metadata("target", 42).metadata("output", "x");
    for name in
        ["id", "epoch", "scores", "score", "metadata", "fields", "error", "latency_ms", "a.b", "scores.x", "tail "]
    {
        samples.push(format!("names {name}")).score(name, 1).metadata(name, "fact").field(name, "field");
    }
    RecordedRun { source: "hard.jsonl".into(), samples, ..RecordedRun::default() }
}

#[test]
fn what_is_hard_to_write_survives_every_form() {
    check_round_trip(&hard(), &Scratch::new(), "hard");
}

#[test]
fn more_names_than_columns_survive_every_form() {
    let mut run: RecordedRun = RecordedRun::default();
    for id in 0..600_i64 {
        let row = run.samples.push(id).score("judge", 1.0).score(format!("s{id}"), "C").metadata("common", "x");
        row.metadata(format!("k{id}"), id).field(format!("f{id}"), "y");
    }
    let folder = Scratch::new();
    check_round_trip(&run, &folder, "many names");
    write(&run, None, &folder.path().join("many.csv")).unwrap();
    let header = folder.read("many.csv").lines().next().unwrap_or_default().to_owned();
    assert_eq!(header, "id,epoch,scores.judge,metadata.common,scores,fields,metadata");
}

#[test]
fn infinite_numbers_survive_and_are_noted() {
    let mut samples = Samples::new();
    samples.push(1).score("x", f64::INFINITY).metadata("m", f64::NEG_INFINITY).field("latency_ms", f64::INFINITY);
    samples.push(2).score("x", f64::NEG_INFINITY).metadata("m", 0.5).field("latency_ms", 1.0);
    let run = RecordedRun { samples, ..RecordedRun::default() };
    let folder = Scratch::new();
    check_round_trip(&run, &folder, "infinite");
    let notes = write(&run, None, &folder.join("out.jsonl")).unwrap();
    let want =
        "an infinite number is written as `Infinity`, which strict JSON readers refuse (4 times, first in sample `1`)";
    assert_eq!(notes, [want]);
}

#[test]
fn nan_in_metadata_becomes_null_and_is_noted() {
    let mut samples = Samples::new();
    samples.push("a").metadata("x", Value::Missing).metadata("y", Value::List(vec![Value::Missing])).score("s", 1);
    let run = RecordedRun { samples, ..RecordedRun::default() };
    let folder = Scratch::new();
    check_round_trip(&run, &folder, "NaN");
    for ending in ["jsonl", "csv", "parquet"] {
        let notes = write(&run, None, &folder.join(&format!("out.{ending}"))).unwrap();
        assert_eq!(
            notes,
            ["a NaN in metadata or fields is written as null (2 times, first in sample `a`)"],
            "{ending}"
        );
    }
    assert_eq!(write(&run, None, &folder.join("out.eval")).unwrap(), [""; 0]);
}

#[test]
fn written_records_are_strict_json_with_the_names_of_the_documentation() {
    let mut samples = Samples::new();
    let odd = Outcome::Unscored { reason: "refusal".into(), score: Some(Box::new(Score::unscored().answer("no"))) };
    samples
        .push("SEC-001")
        .score("judge", 0.7)
        .score("rubric", [("tone", Value::from(1)), ("facts", Value::Missing)])
        .score("grader", odd)
        .metadata("category", "adversarial")
        .metadata("topic", Value::Null)
        .field("latency_ms", 812.0)
        .field("steps", 3);
    samples.push(2).error("connection reset");
    let run = RecordedRun { samples, ..RecordedRun::default() };
    let folder = Scratch::new();
    assert_eq!(write(&run, None, &folder.join("out.jsonl")).unwrap(), [""; 0]);
    let want = r#"{"id":"SEC-001","epoch":1,"scores":{"judge":0.7,"rubric":{"value":{"tone":1,"facts":null},"unscored":["facts"]},"grader":{"value":null,"reason":"refusal","answer":"no"}},"latency_ms":812.0,"fields":{"steps":3},"metadata":{"category":"adversarial"},"null_metadata":["topic"]}
{"id":2,"epoch":1,"error":"connection reset"}
"#;
    assert_eq!(std::fs::read_to_string(folder.join("out.jsonl")).unwrap(), want);
    assert_eq!(write(&run, None, &folder.join("out.csv")).unwrap(), [""; 0]);
    let want = "id,epoch,scores.judge,scores.rubric,scores.grader,latency_ms,fields.steps,metadata.category,error,null_metadata
SEC-001,1,0.7,\"{\"\"value\"\":{\"\"tone\"\":1,\"\"facts\"\":null},\"\"unscored\"\":[\"\"facts\"\"]}\",\"{\"\"value\"\":null,\"\"reason\"\":\"\"refusal\"\",\"\"answer\"\":\"\"no\"\"}\",812.0,3,adversarial,,\"[\"\"topic\"\"]\"
2,1,,,,,,,connection reset,
";
    assert_eq!(std::fs::read_to_string(folder.join("out.csv")).unwrap(), want);
}

#[test]
fn what_a_form_cannot_hold_is_noted() {
    let folder = Scratch::new();
    let mut samples = Samples::new();
    samples.push("a").error(" ");
    let grading = Metadata::new([("grading", Value::List(Vec::new())), ("kept", 1.into())]);
    samples.push("b").score("judge", Score::new(1).metadata(grading)).score("none", Score::new(Value::Null));
    samples.push("").score("judge", 1);
    let run = RecordedRun { samples, ..RecordedRun::default() };
    let want = [
        "`grading` in the metadata of a score is written, but Calipers does not read it back (in sample `b`)",
        "a score of null is written as unscored: Inspect refuses null (in sample `b`)",
    ];
    assert_eq!(write(&run, None, &folder.join("out.eval")).unwrap(), want);
    // A log may have a sample without a name; a record may not.
    let again = read_one(&folder.join("out.eval"));
    assert!(again.samples.records().any(|record| record.id.to_string().is_empty()));
    assert!(write(&run, None, &folder.join("out.parquet")).is_err());
    let mut samples = Samples::new();
    samples.push("a").error(" ");
    samples.push("b").score("none", Score::new(Value::Null));
    let run = RecordedRun { samples, ..RecordedRun::default() };
    let notes = write(&run, None, &folder.join("out.parquet")).unwrap();
    let want = [
        "a score of null is written as unscored (in sample `b`)",
        "an error without words is written as `error` (in sample `a`)",
    ];
    assert_eq!(notes, want);
    assert_eq!(read_one(&folder.join("out.parquet")).samples.errored_attempts(), 1);
    for ending in ["jsonl", "csv"] {
        let file = folder.join(&format!("out.{ending}"));
        assert_eq!(write(&run, None, &file).unwrap(), want[..1], "{ending}");
        assert_eq!(read_one(&file).samples.records().find_map(|record| record.error).as_deref(), Some(" "), "{ending}");
    }
}

#[test]
fn a_file_appears_whole_or_not_at_all() {
    let folder = Scratch::new();
    let path = folder.join("out.jsonl");
    std::fs::write(&path, "before").unwrap();
    let error = OutputFile::create(&path, false).unwrap_err().to_string();
    assert!(error.starts_with("the file exists\n"), "{error}");
    let mut samples = Samples::new();
    samples.push("fine").score("x", 1);
    samples.push(" ").score("x", 1);
    let run = RecordedRun { samples, ..RecordedRun::default() };
    let error = write(&run, None, &path).unwrap_err().to_string();
    assert!(error.starts_with("the id of a sample is blank"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "before");
    assert_eq!(folder.names(), ["out.jsonl"]);
    let nowhere = OutputFile::create(folder.join("no/such/folder.csv"), false).unwrap_err().to_string();
    assert!(nowhere.contains("hint: check the folder"), "{nowhere}");
    let error = OutputFile::create(folder.path(), true).unwrap_err().to_string();
    assert!(error.starts_with("this is a folder"), "{error}");
}

#[test]
#[cfg(unix)]
fn a_device_is_written_to_and_not_replaced() {
    let run = hard();
    let mut out = OutputFile::create("/dev/null", false).unwrap();
    writer(None, "x.csv").unwrap().write(&Contents { run: &run, results: None }, &mut out).unwrap();
    out.finish().unwrap();
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn forms_are_chosen_by_name_and_by_ending() {
    for (path, want) in [("a.JSONL", "native"), ("a.ndjson.zst", "native"), ("-", "native"), ("a.json", "native")] {
        assert_eq!(writer(None, path).unwrap().name(), want, "{path}");
    }
    assert_eq!(writer(None, "a.csv.gz").unwrap().name(), "csv");
    assert_eq!(writer(Some("inspect"), "a.json").unwrap().name(), "inspect");
    let error = writer(None, "a.xlsx").err().unwrap().to_string();
    assert!(error.contains("end it in .jsonl,"), "{error}");
    let error = writer(Some("excel"), "a.csv").err().unwrap().to_string();
    assert!(error.contains("the forms are native, csv, parquet, inspect"), "{error}");
}

#[test]
fn logs_of_inspect_are_copied_whole_from_one_form_to_the_other() {
    let folder = Scratch::new();
    for name in ["multi_scorer", "dict_epochs", "edges"] {
        let copy = |from: &Path, to: &str| {
            let to = folder.join(to);
            let mut out = OutputFile::create(&to, true).unwrap();
            assert_eq!(InspectLog::open(&Source::path(from)).unwrap().write(&mut out).unwrap(), [""; 0]);
            out.finish().unwrap();
            to
        };
        let archive = crate::seen::fixture(&format!("inspect/{name}.eval"));
        let document = copy(&archive, "copy.json");
        // Inspect wrote the same log in both forms. Times and ids are those of one run.
        let ours = json(&std::fs::read(&document).unwrap());
        let theirs = json(&std::fs::read(crate::seen::fixture(&format!("inspect/{name}.json"))).unwrap());
        assert_eq!(keys(&ours), keys(&theirs), "{name}");
        if name != "edges" {
            assert_same(&ours, &theirs, "log", true);
        }
        // And back: every member holds what it held, but for the pools of messages, which are optional.
        let back = copy(&document, "back.eval");
        let (before, after) = (members(&archive), members(&back));
        // The journal tells of the beginning and of the way; a document knows only the end.
        for (member, content) in before.iter().filter(|(name, _)| !name.starts_with("_journal/")) {
            let (mut want, mut found) = (json(content), json(&after[member]));
            if member.starts_with("samples/") {
                let events = |sample: &mut serde_json::Value| sample.as_object_mut().unwrap().remove("events").unwrap();
                let (want, found) = (events(&mut want), events(&mut found));
                assert_eq!(want.as_array().unwrap().len(), found.as_array().unwrap().len());
            }
            want_without_pool(&mut want);
            assert_same(&want, &found, member, false);
        }
        for run in [read_one(&document), read_one(&back)] {
            assert_eq!(attempts(&run.samples, false), attempts(&read_one(&archive).samples, false));
        }
        let same = copy(&archive, "same.eval");
        assert!(std::fs::read(&archive).unwrap() == std::fs::read(same).unwrap());
    }
}

fn want_without_pool(sample: &mut serde_json::Value) {
    if let Some(sample) = sample.as_object_mut() {
        sample.remove("events_data");
    }
}

/// The same JSON; says where it differs, because logs are long. The second may name defaults that the first leaves out.
#[track_caller]
fn assert_same(a: &serde_json::Value, b: &serde_json::Value, place: &str, defaults: bool) {
    use serde_json::Value as Json;
    match (a, b) {
        (Json::Object(a), Json::Object(b)) => {
            let is_default = |value: &Json| value.is_null() || *value == serde_json::json!({});
            let named = |(key, value): &(&String, &Json)| a.contains_key(*key) || !(defaults && is_default(value));
            let keys: BTreeSet<&String> = b.iter().filter(named).map(|(key, _)| key).collect();
            assert_eq!(a.keys().collect::<BTreeSet<_>>(), keys, "{place}");
            a.iter().for_each(|(key, value)| assert_same(value, &b[key], &format!("{place}.{key}"), defaults));
        }
        (Json::Array(a), Json::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{place}");
            a.iter().zip(b).enumerate().for_each(|(at, (a, b))| assert_same(a, b, &format!("{place}[{at}]"), defaults));
        }
        _ => assert_eq!(a, b, "{place}"),
    }
}

/// JSON with bare NaN, as something to compare.
fn json(bytes: &[u8]) -> serde_json::Value {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let text = text.replace(":NaN", ":\"<NaN>\"").replace(": NaN", ": \"<NaN>\"");
    serde_json::from_str(&text).unwrap()
}

fn keys(json: &serde_json::Value) -> Vec<String> {
    json.as_object().unwrap().keys().cloned().collect()
}

fn members(path: &Path) -> BTreeMap<String, Vec<u8>> {
    use std::io::Read;
    let mut archive = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    let mut members = BTreeMap::new();
    for place in 0..archive.len() {
        let mut member = archive.by_index(place).unwrap();
        let mut content = Vec::new();
        member.read_to_end(&mut content).unwrap();
        members.insert(String::from_utf8_lossy(member.name_raw()).into_owned(), content);
    }
    members
}

/// Texts that are likely to be taken for something else.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,6}",
        "[ -~]{0,12}",
        "\\PC{0,8}",
        "[\\x00-\\x1f \"',;{}\\[\\]]{0,6}",
        prop::sample::select(vec!["", "1", "-1", "0x1", "1e5", "true", "null", "NaN", "C", "I", "\u{feff}", "\\u0041"])
            .prop_map(str::to_owned),
    ]
}

fn scalars() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        prop_oneof![any::<i64>(), -3..3i64].prop_map(Value::Int),
        prop_oneof![
            prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO,
            (-3..3i32).prop_map(f64::from)
        ]
        .prop_map(Value::Float),
        texts().prop_map(Value::from),
    ]
}

fn maps(values: impl Strategy<Value = Value>, size: usize) -> impl Strategy<Value = Value> {
    prop::collection::btree_map(texts(), values, 0..size)
        .prop_map(|map| Value::Map(map.into_iter().map(|(key, value)| (key.into(), value)).collect()))
}

/// Values that may nest, with nulls.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![8 => scalars(), 1 => Just(Value::Null)];
    leaf.prop_recursive(2, 8, 4, |inner| {
        prop_oneof![prop::collection::vec(inner.clone(), 0..4).prop_map(Value::List), maps(inner, 4)]
    })
}

fn score_values() -> impl Strategy<Value = Value> {
    let item = || prop_oneof![6 => scalars(), 1 => Just(Value::Missing)];
    prop_oneof![
        4 => scalars(),
        1 => prop::collection::vec(item(), 0..4).prop_map(Value::List),
        1 => maps(prop_oneof![6 => item(), 1 => Just(Value::Null)], 4),
    ]
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    let extras = (prop::option::of(texts()), prop::option::of(texts()), prop::option::of(maps(values(), 3)));
    (prop_oneof![4 => score_values().prop_map(Some), 1 => Just(None)], any::<bool>(), extras, texts()).prop_map(
        |(value, plain, (answer, explanation, metadata), reason)| {
            let mut score = Score::new(value.clone().unwrap_or(Value::Missing));
            if !plain {
                score.answer = answer.map(Into::into);
                score.explanation = explanation.map(Into::into);
                if let Some(Value::Map(entries)) = metadata {
                    // Stepped over by the reader of logs, and noted by their writer.
                    let entries = entries.into_iter().filter(|(key, _)| **key != *"grading");
                    score.metadata = Some(Arc::new(Metadata::new(entries)));
                }
            }
            match value {
                Some(_) => Outcome::Scored(score),
                None => Outcome::Unscored { reason: reason.into(), score: (!plain).then(|| Box::new(score)) },
            }
        },
    )
}

fn runs() -> impl Strategy<Value = RecordedRun> {
    let names = || prop_oneof![3 => "[ab]".prop_map(String::from), 1 => texts()];
    let fields =
        prop::sample::select(vec!["latency_ms", "tokens_used", "passed", "predicted", "violations", "steps", "limit"]);
    let attempt = (
        prop_oneof![any::<i64>().prop_map(SampleId::from), texts().prop_map(|text| SampleId::from(format!("{text}!")))],
        1..4u32,
        prop::collection::vec((names(), outcomes()), 0..3),
        prop::collection::vec((names(), values()), 0..3),
        prop::collection::vec((fields, values()), 0..3),
        prop::option::weighted(0.2, texts()),
    );
    prop::collection::vec(attempt, 1..6).prop_map(|attempts| {
        let mut samples = Samples::new();
        let mut taken = Vec::new();
        for (id, epoch, scores, facts, fields, error) in attempts {
            // Twice the same attempt, or twice the same scorer, is for other tests.
            if taken.contains(&(id.clone(), epoch)) {
                continue;
            }
            taken.push((id.clone(), epoch));
            let mut attempt = samples.push_epoch(id, epoch);
            let mut seen: Vec<String> = Vec::new();
            for (name, outcome) in scores {
                if !name.is_empty() && !seen.contains(&name) {
                    attempt = attempt.score(name.clone(), outcome);
                    seen.push(name);
                }
            }
            for (key, value) in facts {
                attempt = attempt.metadata(key, value);
            }
            let mut seen = Vec::new();
            for (name, value) in fields {
                if !seen.contains(&name) {
                    attempt = attempt.field(name, value);
                    seen.push(name);
                }
            }
            if let Some(error) = error.filter(|error| !error.trim().is_empty()) {
                attempt.error(error);
            }
        }
        RecordedRun { source: "random.jsonl".into(), samples, ..RecordedRun::default() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: calipers_testing::law_cases(300), ..ProptestConfig::default() })]

    #[test]
    fn random_samples_survive_every_form(run in runs()) {
        check_round_trip(&run, &Scratch::new(), "random");
    }
}
