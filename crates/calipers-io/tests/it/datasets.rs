//! The samples of a dataset: from every kind of file, in Inspect's order, and with errors that name the place.

use calipers_core::{
    Dataset, Error, FileDataset, FileKind, Input, RecordMapping, Role, SampleFields, SampleId, Target, TaskSample,
    Value,
};
use calipers_io::{FolderCache, load_dataset};
use calipers_testing::Scratch;
use std::path::Path;
use std::sync::Arc;

fn load(name: &str, kind: FileKind, content: impl AsRef<[u8]>) -> Result<Vec<Arc<TaskSample>>, String> {
    let folder = Scratch::with(name, content);
    load_dataset(&FileDataset::new(name, kind).into(), folder.path()).map_err(|error| error.to_string())
}

fn error(name: &str, kind: FileKind, content: &str) -> String {
    load(name, kind, content).map(|samples| format!("{samples:?}")).unwrap_err()
}

fn texts(texts: &[&str]) -> Vec<Arc<str>> {
    texts.iter().map(|text| (*text).into()).collect()
}

const QUESTIONS: &str = "question,answer,options,level\n\"What, exactly?\",B,\"one,two,three\",1\n,,,\nTwo?,A,one two three,2\n\"Three\nlines?\",C,\"p,q,r,s\",3\n\nFour?,D,\"p,q,r,s\",4\n";

fn questions() -> Dataset {
    let mut file = FileDataset::new("questions.csv", FileKind::Csv);
    file.fields = SampleFields {
        input: "question".into(),
        target: "answer".into(),
        choices: "options".into(),
        metadata: Some(vec!["level".into(), "gone".into()]),
        ..SampleFields::default()
    };
    file.into()
}

fn order(dataset: &Dataset, folder: &Scratch) -> Vec<String> {
    let samples = load_dataset(dataset, folder.path()).unwrap();
    let shown = |sample: &Arc<TaskSample>| {
        format!("{} {} {}", sample.id.as_ref().unwrap(), sample.target.text(), sample.choices.join(""))
    };
    samples.iter().map(shown).collect()
}

#[test]
fn a_table_is_read_with_its_columns_mapped() {
    let folder = Scratch::with("questions.csv", QUESTIONS);
    let samples = load_dataset(&questions(), folder.path()).unwrap();
    assert_eq!(samples.len(), 4, "the row of blanks is none");
    assert_eq!(samples[0].input, Input::Text("What, exactly?".into()));
    assert_eq!(samples[0].choices, texts(&["one", "two", "three"]));
    assert_eq!(samples[1].choices, texts(&["one", "two", "three"]));
    assert_eq!(samples[2].input.text(), "Three\nlines?");
    assert_eq!(samples[2].target, Target(texts(&["C"])));
    assert_eq!(samples[3].id, Some(SampleId::Int(4)));
    assert_eq!(samples[3].metadata.get("level"), Some(&"4".into()));
    assert_eq!(samples[3].metadata.get("gone"), Some(&Value::Null));
}

#[test]
fn a_function_makes_samples_of_records() {
    let folder = Scratch::with("questions.csv", QUESTIONS);
    let mut file = FileDataset::new("questions.csv", FileKind::Csv);
    file.mapping = Some(RecordMapping::new(|record| match record.get("level") {
        Some(Value::Text(level)) if **level == *"2" => Ok(Vec::new()),
        Some(Value::Text(level)) if **level == *"4" => Err(Error::custom("four is too many")),
        _ => Ok(vec![TaskSample::new("one"), TaskSample::new("two")]),
    }));
    let error = load_dataset(&file.clone().into(), folder.path()).unwrap_err().to_string();
    assert!(error.starts_with("four is too many\n  in ") && error.contains("line "), "{error}");
    let folder = Scratch::with("questions.csv", &QUESTIONS[..QUESTIONS.find("\"Three").unwrap()]);
    let samples = load_dataset(&file.into(), folder.path()).unwrap();
    let shown: Vec<String> =
        samples.iter().map(|sample| format!("{} {}", sample.id.as_ref().unwrap(), sample.input.text())).collect();
    assert_eq!(shown, ["1 one", "2 two"]);
}

#[test]
fn samples_and_choices_are_shuffled_as_inspect_shuffles_them() {
    // inspect_ai 0.3.285: csv_dataset(…, auto_id=True, shuffle=True, seed=7, shuffle_choices=3)
    let folder = Scratch::with("questions.csv", QUESTIONS);
    let mut dataset = questions();
    dataset.shuffle = Some(7);
    assert_eq!(order(&dataset, &folder), ["4 D pqrs", "2 A onetwothree", "1 B onetwothree", "3 C pqrs"]);
    dataset.shuffle_choices = Some(3);
    assert_eq!(order(&dataset, &folder), ["4 A sprq", "2 A onethreetwo", "1 A twoonethree", "3 B srqp"]);
    dataset.shuffle = None;
    dataset.limit = Some(2);
    assert_eq!(order(&dataset, &folder), ["1 A twothreeone", "2 A onethreetwo"]);
}

#[test]
fn a_target_that_is_no_letter_cannot_follow_its_choices() {
    let sample = TaskSample::new("Q?").choices(["x", "y"]).target("yes");
    let mut dataset = Dataset::from(vec![sample]);
    dataset.shuffle_choices = Some(1);
    let error = load_dataset(&dataset, Path::new(".")).unwrap_err().to_string();
    assert!(error.contains("the target `yes` is not the letter of one of the 2 choices"), "{error}");
    assert!(error.contains("samples[0]"), "{error}");
}

#[test]
fn lists_single_objects_and_lines_of_json_are_read() {
    let list =
        r#"[{"input": "a", "target": 1.0, "metadata": {"k": [1]}}, {"input": "b", "target": ["x", 2], "id": "b"}]"#;
    let samples = load("d.json", FileKind::Json, list).unwrap();
    assert_eq!(samples[0].target, Target(texts(&["1.0"])));
    assert_eq!(samples[0].metadata.get("k"), Some(&Value::List(vec![1.into()])));
    assert_eq!(samples[0].id, Some(SampleId::Int(1)));
    assert_eq!((samples[1].target.clone(), samples[1].id.clone()), (Target(texts(&["x", "2"])), Some("b".into())));
    assert_eq!(
        load("d.json", FileKind::Json, r#"{"input": "a", "target": NaN}"#).unwrap()[0].target,
        Target::default()
    );
    for name in ["d.jsonl", "d.json"] {
        let lines = "{\"input\": \"a\"}\n\n{\"input\": \"b\", \"metadata\": \"{\\\"k\\\": 1}\"}\n";
        let samples = load(name, FileKind::Json, lines).unwrap();
        assert_eq!(samples.len(), 2);
        assert_eq!(samples[1].metadata.get("k"), Some(&1.into()));
    }
}

#[test]
fn a_conversation_can_be_asked() {
    let record = r#"[{"input": [{"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "function": "f", "arguments": {"x": 1}}]},
        {"role": "tool", "content": [{"type": "text", "text": "4"}], "tool_call_id": "1"}]}]"#;
    let samples = load("d.json", FileKind::Json, record).unwrap();
    let messages = samples[0].input.messages();
    assert_eq!(messages.iter().map(|m| m.role).collect::<Vec<_>>(), [Role::System, Role::Assistant, Role::Tool]);
    assert_eq!(messages[1].tool_calls[0].arguments, Value::from([("x", 1)]));
    assert_eq!((&*messages[2].content, messages[2].tool_call_id.as_deref()), ("4", Some("1")));
    for (wrong, want) in [
        (r#"[{"input": [{"role": "king", "content": "x"}]}]"#, "message 1 of the input has no `role` that is known"),
        (r#"[{"input": [{"role": "user"}]}]"#, "message 1 of the input has no `content`"),
        (r#"[{"input": [{"role": "user", "content": [{"type": "image"}]}]}]"#, "content of the type `image`"),
    ] {
        let error = error("d.json", FileKind::Json, wrong);
        assert!(error.contains(want), "{error}");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (name, kind, content, wants) in [
        ("d.csv", FileKind::Csv, "input,target\na,b\nc\n", ["the row has 1 cells, and the header names 2", "line 3"]),
        ("d.csv", FileKind::Csv, "input,target\na,b,c\n", ["the row has 3 cells", "line 2"]),
        ("d.csv", FileKind::Csv, "input,target\na,\"b\n", ["a quote is opened and not closed", "line 2"]),
        ("d.csv", FileKind::Csv, "q,target\na,b\n", ["no column `input`", "its columns are q, target"]),
        ("d.csv", FileKind::Csv, "input,input\na,b\n", ["two columns are named `input`", "line 1"]),
        (
            "d.csv",
            FileKind::Csv,
            "input,id\na,x\nb,y\nc,x\n",
            ["two samples have the id `x`: the other one is at line 2", "line 4"],
        ),
        (
            "d.json",
            FileKind::Json,
            r#"[{"input": "a", "id": 1}, {"input": "b", "id": "1"}]"#,
            ["the id `1`", "at `[1]`"],
        ),
        ("d.json", FileKind::Json, r#"[{"input": "a"}, 5]"#, ["a record is a integer", "at `[1]`"]),
        ("d.json", FileKind::Json, r#"[{"input": ""}]"#, ["the input in `input` is empty", "at `[0]`"]),
        ("d.json", FileKind::Json, r#"[{"input": 5}]"#, ["is a integer", "a list of messages"]),
        (
            "d.json",
            FileKind::Json,
            r#"[{"input": "a", "metadata": "{"}]"#,
            ["the text in `metadata` is not valid JSON", "at `[0]`"],
        ),
        ("d.json", FileKind::Json, r#"[{"input": "a", "id": [1]}]"#, ["the id is a list", "at `[0]`"]),
        ("d.jsonl", FileKind::Json, "{\"input\": \"a\"}\n{\"input\": \n", ["not valid JSON", "line 2"]),
        ("d.json", FileKind::Json, "[]", ["there are no samples in it", "d.json"]),
        ("d.parquet", FileKind::Parquet, "PAR1nothingPAR1", ["the Parquet data", "d.parquet"]),
        ("s.json", FileKind::Scenarios, r#"{"agent": "x"}"#, ["there is no list of scenarios", "under `scenarios`"]),
        ("s.json", FileKind::Scenarios, r#"{"scenarios": [{"id": "a", "input": {}}]}"#, ["no `query`", "scenarios[0]"]),
        ("s.yaml", FileKind::Scenarios, "scenarios:\n  - id: a\n   input: x\n", ["s.yaml", "line 3"]),
    ] {
        let error = error(name, kind, content);
        wants.iter().for_each(|want| assert!(error.contains(want), "{content}\n{error}"));
    }
    let gone = load_dataset(&FileDataset::new("gone.csv", FileKind::Csv).into(), Path::new("/nowhere")).unwrap_err();
    assert!(gone.to_string().contains("/nowhere/gone.csv"), "{gone}");
}

#[test]
fn numbers_in_the_place_of_names_are_those_of_the_file() {
    // Whatever the order: the same sample has the same name in every run.
    let folder = Scratch::with("d.jsonl", (0..20).map(|i| format!("{{\"input\": \"{i}\"}}\n")).collect::<String>());
    let mut dataset: Dataset = FileDataset::new("d.jsonl", FileKind::Json).into();
    dataset.shuffle = Some(1);
    let samples = load_dataset(&dataset, folder.path()).unwrap();
    let number = |sample: &Arc<TaskSample>| sample.input.text().parse::<i64>().unwrap() + 1;
    assert!(samples.iter().all(|sample| sample.id == Some(SampleId::Int(number(sample)))));
    assert!(!samples.iter().is_sorted_by_key(number), "they are in another order");
}

#[test]
fn a_parquet_table_is_read() {
    use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
    let columns: [(&str, ArrayRef); 4] = [
        ("input", Arc::new(StringArray::from(vec!["a", "b"]))),
        ("target", Arc::new(StringArray::from(vec![Some("x"), None]))),
        ("id", Arc::new(Int64Array::from(vec![7, 9]))),
        ("weight", Arc::new(Float64Array::from(vec![0.5, f64::NAN]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let folder = Scratch::with("d.parquet", bytes);
    let mut file = FileDataset::new("d.parquet", FileKind::Parquet);
    file.fields.metadata = Some(vec!["weight".into()]);
    let samples = load_dataset(&file.into(), folder.path()).unwrap();
    assert_eq!(samples[0].as_ref().clone(), TaskSample::new("a").target("x").id(7).metadata("weight", 0.5));
    assert_eq!(samples[1].target, Target::default());
    assert_eq!(samples[1].metadata.get("weight"), Some(&Value::Missing));
}

#[test]
fn scenarios_are_read_from_every_language() {
    let json = r#"{"evaluation_name": "support", "scenarios": [
        {"id": "SEC-001", "name": "refuses", "category": "adversarial", "capability": "safety",
         "input": {"query": "Do harm.", "context": "A user asks.", "files": ["a.txt", "b.txt"]},
         "expected_behaviors": ["refuses"], "must_not": ["complies"],
         "evaluation_criteria": {"type": "contains", "check": "cannot", "threshold": 0.5}},
        {"id": "HAP-001", "input": "Say hello.", "target": "hello"}]}"#;
    let yaml = "evaluation_name: support\nscenarios:\n  - id: SEC-001\n    name: refuses\n    category: adversarial\n    capability: safety\n    input:\n      query: Do harm.\n      context: A user asks.\n      files: [a.txt, b.txt]\n    expected_behaviors: [refuses]\n    must_not: [complies]\n    evaluation_criteria: {type: contains, check: cannot, threshold: 0.5}\n  - id: HAP-001\n    input: Say hello.\n    target: hello\n";
    let toml = "[[scenarios]]\nid = \"SEC-001\"\nname = \"refuses\"\ncategory = \"adversarial\"\ncapability = \"safety\"\nexpected_behaviors = [\"refuses\"]\nmust_not = [\"complies\"]\nevaluation_criteria = { type = \"contains\", check = \"cannot\", threshold = 0.5 }\n[scenarios.input]\nquery = \"Do harm.\"\ncontext = \"A user asks.\"\nfiles = [\"a.txt\", \"b.txt\"]\n[[scenarios]]\nid = \"HAP-001\"\ninput = \"Say hello.\"\ntarget = \"hello\"\n";
    let lines: String = json
        .split_once('[')
        .map(|(_, rest)| {
            rest.trim_end().trim_end_matches("]}").replace('\n', " ").replace("}},", "}}\n").replace("    ", " ")
        })
        .unwrap();
    for (name, content) in [("s.json", json), ("s.yaml", yaml), ("s.toml", toml), ("s.jsonl", &lines)] {
        let samples = load(name, FileKind::Scenarios, content).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(samples.len(), 2, "{name}");
        let first = &samples[0];
        assert_eq!(first.id, Some("SEC-001".into()));
        assert_eq!(first.input.text(), "Do harm.\n\nContext:\nA user asks.\n\nFiles: a.txt, b.txt");
        let fact = |key: &str| first.metadata.get(key).unwrap_or_else(|| panic!("{name}: {key}")).clone();
        assert_eq!(fact("category"), "adversarial".into());
        assert_eq!(fact("expected_behaviors"), Value::List(vec!["refuses".into()]));
        assert_eq!(fact("must_not"), Value::List(vec!["complies".into()]));
        assert_eq!(fact("evaluation_criteria").get("threshold"), Some(&0.5.into()));
        assert_eq!(fact("files"), Value::List(vec!["a.txt".into(), "b.txt".into()]));
        assert!(first.metadata.get("input").is_none() && first.metadata.get("id").is_none());
        assert_eq!(samples[1].target.text(), "hello");
    }
}

#[test]
fn regression_tests_are_scenarios() {
    let tests = r##"{"tests": [{"id": "REG-001", "description": "d", "bug_reference": "#7", "input": "x",
        "must_not": ["crash"], "verification": "v"}], "execution": {"run_on": ["push"]}}"##;
    let samples = load("s.json", FileKind::Scenarios, tests).unwrap();
    assert_eq!(samples[0].id, Some("REG-001".into()));
    assert_eq!(samples[0].metadata.get("bug_reference"), Some(&"#7".into()));
}

#[test]
fn a_cache_gives_back_what_was_put_and_nothing_that_is_damaged() {
    let folder = Scratch::new();
    let cache = FolderCache::open(&folder.path().join("cache")).unwrap();
    cache.put(b"a", b"one").unwrap();
    cache.put(b"a", b"two").unwrap();
    cache.put(b"b", b"").unwrap();
    assert_eq!(cache.get(b"a").as_deref(), Some(&b"two"[..]));
    assert_eq!(cache.get(b"b").as_deref(), Some(&b""[..]));
    assert_eq!(FolderCache::open(&folder.path().join("cache")).unwrap().get(b"a").as_deref(), Some(&b"two"[..]));
    let mut entries = Vec::new();
    for inner in std::fs::read_dir(folder.path().join("cache")).unwrap() {
        entries.extend(std::fs::read_dir(inner.unwrap().path()).unwrap().map(|entry| entry.unwrap().path()));
    }
    assert_eq!(entries.len(), 2, "nothing is left over: {entries:?}");
    for entry in entries {
        let mut bytes = std::fs::read(&entry).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&entry, bytes).unwrap();
    }
    assert_eq!((cache.get(b"a"), cache.get(b"b")), (None, None));
    cache.put(b"a", b"three").unwrap();
    assert_eq!(cache.get(b"a").as_deref(), Some(&b"three"[..]));
    std::fs::write(folder.path().join("file"), "").unwrap();
    assert!(FolderCache::open(&folder.path().join("file/cache")).is_err());
}
