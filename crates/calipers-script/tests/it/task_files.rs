//! Task files: what they may say, what their functions see, and what they may not do.

use calipers_core::{
    Dataset, DatasetOrigin, FileKind, Message, MetricSpec, ModelOutput, Outcome, Plan, SampleId, Samples, Score,
    TaskSample, Value,
};
use calipers_run::providers::MockModel;
use calipers_run::{AttemptScope, AttemptState, Catalog, FailOnError, Scorer, ScorerResult, Task};
use calipers_script::{Library, ScriptLimits, TaskFile, Vocabulary, literal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn parsed(source: &str) -> TaskFile {
    parsed_with(source, ScriptLimits::default())
}

fn parsed_with(source: &str, limits: ScriptLimits) -> TaskFile {
    TaskFile::parse("tasks/task.star", source, Vocabulary::builtin(), limits).unwrap_or_else(|error| panic!("{error}"))
}

/// The task that these arguments of `Task` make.
#[track_caller]
fn task(arguments: &str) -> Task {
    let file = parsed(&format!("def t():\n    return Task({arguments})\n"));
    file.task("t", &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// What is wrong with these arguments of `Task`.
#[track_caller]
fn mistake(arguments: &str) -> String {
    let file = parsed(&format!("def t():\n    return Task({arguments})\n"));
    file.task("t", &[]).unwrap_err().to_string()
}

fn state(sample: TaskSample, completion: &str) -> AttemptState {
    let mut state = AttemptState::new(Arc::new(sample), SampleId::from("q1"), 2);
    let output = ModelOutput::new("mockllm/model", completion);
    state.messages.push(output.message.clone());
    state.output = Some(output);
    state
}

fn judged(scorer: &dyn Scorer, state: &AttemptState) -> Result<ScorerResult, String> {
    let model = Arc::new(MockModel::new("unused"));
    let scope = AttemptScope::new(model, Default::default(), state.id.clone(), state.epoch, Default::default(), 0);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    runtime.block_on(scorer.score(state, &scope)).map_err(|fault| fault.to_string())
}

#[track_caller]
fn scored(scorer: &dyn Scorer, state: &AttemptState) -> Score {
    match judged(scorer, state).unwrap_or_else(|fault| panic!("{fault}")).outcome {
        Outcome::Scored(score) => score,
        unscored => panic!("{unscored:?}"),
    }
}

/// A file with one task that has this scorer.
fn with_scorer(definitions: &str, scorer: &str) -> Task {
    let source = format!("{definitions}\ndef t():\n    return Task(dataset = [Sample(\"x\")], scorer = {scorer})\n");
    parsed(&source).task("t", &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn samples_of(dataset: &Dataset) -> &[TaskSample] {
    match &dataset.origin {
        DatasetOrigin::Samples(samples) => samples,
        DatasetOrigin::File(file) => panic!("{file:?}"),
    }
}

fn names_of(specs: &[MetricSpec]) -> Vec<&str> {
    specs.iter().flat_map(MetricSpec::metrics).map(calipers_core::Metric::name).collect()
}

#[test]
fn a_task_says_what_it_is() {
    let task = task(
        "dataset = [Sample(input = \"What is 1 + 1?\", target = \"2\")],\n\
         solver = [system_message(\"Be brief.\"), generate()], scorer = [match(\"any\"), includes],\n\
         metrics = [grouped(accuracy(), \"category\"), stderr()], epochs = Epochs(5, [\"at_least_2\", \"at_least_5\"]),\n\
         model = \"openai/gpt-5\", model_roles = {\"grader\": \"anthropic/claude\"},\n\
         config = GenerateConfig(temperature = 0.5, top_p = 0.9, stop_seqs = [\"END\"]), temperature = 0, max_tokens = 100,\n\
         time_limit = 1.5, token_limit = 1000, cost_limit = 0.25, message_limit = 20, fail_on_error = 0.1,\n\
         retry_on_error = 2, name = \"sums\", version = 3, tags = [\"fast\"], metadata = {\"owner\": \"maths\"}",
    );
    assert_eq!(task.name, "sums");
    assert_eq!(task.solver.iter().map(|s| s.name()).collect::<Vec<_>>(), ["system_message", "generate"]);
    assert_eq!(task.solver[0].params(), Value::from([("template", "Be brief.")]));
    assert_eq!(task.scorers.iter().map(|s| s.name()).collect::<Vec<_>>(), ["match", "includes"]);
    assert_eq!(task.scorers[0].params(), Value::from([("location", "any")]));
    assert_eq!(names_of(task.metrics.as_deref().unwrap()), ["grouped", "stderr"]);
    let epochs = task.epochs.unwrap();
    assert_eq!(epochs.count(), 5);
    let reducers: Vec<&str> = epochs.reducers().unwrap().iter().map(calipers_core::Reducer::name).collect();
    assert_eq!(reducers, ["at_least_2", "at_least_5"]);
    assert_eq!(task.model.as_deref(), Some("openai/gpt-5"));
    assert_eq!(task.model_roles, [("grader".to_owned(), "anthropic/claude".to_owned())]);
    assert_eq!((task.config.temperature, task.config.top_p, task.config.max_tokens), (Some(0.0), Some(0.9), Some(100)));
    assert_eq!(task.config.stop, ["END"]);
    assert_eq!(task.limits.time, Some(Duration::from_millis(1500)));
    assert_eq!((task.limits.tokens, task.limits.cost_usd, task.limits.messages), (Some(1000), Some(0.25), Some(20)));
    assert_eq!((task.fail_on_error, task.retry_on_error), (FailOnError::Share(0.1), 2));
    assert_eq!((task.version, &task.tags[..]), (Value::Int(3), &["fast".to_owned()][..]));
    assert_eq!(task.metadata.get("owner"), Some(&Value::from("maths")));
}

#[test]
fn a_task_needs_only_samples() {
    let task = task("[Sample(\"Say hello.\")]");
    assert_eq!(task.name, "t");
    assert!(task.solver.is_empty() && task.scorers.is_empty() && task.metrics.is_none() && task.epochs.is_none());
    assert_eq!(task.fail_on_error, FailOnError::First);
}

#[test]
fn errors_may_be_borne() {
    for (written, want) in [
        ("True", FailOnError::First),
        ("False", FailOnError::Never),
        ("0", FailOnError::First),
        ("3", FailOnError::Count(3)),
        ("0.5", FailOnError::Share(0.5)),
    ] {
        let task = task(&format!("[Sample(\"x\")], fail_on_error = {written}"));
        assert_eq!(task.fail_on_error, want, "{written}");
    }
    assert!(
        mistake("[Sample(\"x\")], fail_on_error = 1.5").contains("not `True`, `False`, a count, or a share below 1")
    );
}

#[test]
fn samples_are_texts_or_conversations() {
    let task = task(
        "[Sample(input = \"Which?\", choices = [\"red\", \"blue\"], target = [\"A\", \"B\"], id = 7, metadata = {\"k\": [1]}),\n\
          Sample(input = [{\"role\": \"system\", \"content\": \"Be brief.\"}, ChatMessageUser(\"Why?\")], id = \"why\")]",
    );
    let samples = samples_of(&task.dataset);
    assert_eq!(samples[0].choices.iter().map(|c| &**c).collect::<Vec<_>>(), ["red", "blue"]);
    assert_eq!((samples[0].id.clone(), samples[0].target.0.len()), (Some(SampleId::Int(7)), 2));
    assert_eq!(samples[0].metadata.get("k"), Some(&Value::List(vec![Value::Int(1)])));
    assert_eq!(samples[1].input.messages(), [Message::system("Be brief."), Message::user("Why?")]);
    let shuffled = self::task("MemoryDataset([Sample(\"a\"), Sample(\"b\")], shuffle = True, seed = 4, limit = 1)");
    assert_eq!((shuffled.dataset.shuffle, shuffled.dataset.limit), (Some(4), Some(1)));
}

#[test]
fn datasets_are_files_beside_the_task() {
    let dataset = task("csv_dataset(\"data/q.csv\", FieldSpec(input = \"question\", metadata = [\"category\"]), auto_id = True, delimiter = \";\", shuffle = True, shuffle_choices = 3, limit = 10, name = \"q\")").dataset;
    assert_eq!((dataset.shuffle, dataset.shuffle_choices, dataset.limit), (Some(0), Some(3), Some(10)));
    assert_eq!(dataset.name.as_deref(), Some("q"));
    let DatasetOrigin::File(file) = dataset.origin else { panic!("a file") };
    assert_eq!((file.path, file.kind), (PathBuf::from("data/q.csv"), FileKind::Csv));
    assert_eq!((file.auto_id, file.delimiter), (true, ';'));
    assert_eq!((&*file.fields.input, &*file.fields.target), ("question", "target"));
    assert_eq!(file.fields.metadata, Some(vec!["category".to_owned()]));
    for (written, kind) in [
        ("json_dataset(\"q.jsonl\")", FileKind::Json),
        ("parquet_dataset(\"q.parquet\")", FileKind::Parquet),
        ("scenarios(\"s.json\")", FileKind::Scenarios),
    ] {
        let DatasetOrigin::File(file) = task(written).dataset.origin else { panic!("{written}") };
        assert_eq!(file.kind, kind, "{written}");
    }
    assert!(mistake("csv_dataset(\"https://example.org/q.csv\")").contains("is an address, not a file"));
    assert!(mistake("csv_dataset(\"q.csv\", delimiter = \";;\")").contains("one character"));
    assert!(mistake("csv_dataset(\"q.csv\", shufle = True)").contains("did you mean `shuffle`?"));
}

#[test]
fn a_function_makes_samples_of_records() {
    let source = r#"
def sample(record):
    if record["kind"] == "skip":
        return []
    if record["kind"] == "two":
        return [Sample(record["q"]), Sample(record["q"], target = str(record["n"]))]
    if record["kind"] == "none":
        return None
    return Sample(input = record["q"], metadata = {"n": record["n"]})

def t():
    return Task(json_dataset("q.json", sample))
"#;
    let DatasetOrigin::File(file) = parsed(source).task("t", &[]).unwrap().dataset.origin else { panic!("a file") };
    let mapping = file.mapping.unwrap();
    let record = |kind: &str| {
        let parts = [("kind", Value::from(kind)), ("q", Value::from("Why?")), ("n", Value::Int(4))];
        mapping.samples(&Value::Map(parts.map(|(key, value)| (key.into(), value)).into()))
    };
    assert_eq!(record("one").unwrap(), [TaskSample::new("Why?").metadata("n", 4)]);
    assert_eq!(record("two").unwrap(), [TaskSample::new("Why?"), TaskSample::new("Why?").target("4")]);
    assert_eq!(record("skip").unwrap(), []);
    let error = record("none").unwrap_err().to_string();
    assert!(error.contains("a record gives `None`") && error.contains("return `[]`"), "{error}");
    let error = mapping.samples(&Value::Map(Vec::new())).unwrap_err().to_string();
    assert!(error.contains("tasks/task.star, line 3") && error.contains("^^^"), "{error}");
}

#[test]
fn functions_that_return_tasks_are_tasks() {
    let source = r#"
load("parts.star", "imported")

def first(n = 1, category = "physics"):
    return Task([Sample(category)] * n)

def helper():
    return [Sample("x")]

def needs(path):
    return Task(csv_dataset(path))

def _private():
    return Task(helper())

def broken():
    return Task(dataset = helper(), scorer = nothing_like_it)

second = lambda: Task(helper(), name = "other")
"#;
    let folder = folder("functions");
    std::fs::write(folder.join("task.star"), source.replace("nothing_like_it", "[][0]")).unwrap();
    std::fs::write(folder.join("parts.star"), "def imported():\n    return Task([Sample(\"y\")])\n").unwrap();
    let file = TaskFile::load(folder.join("task.star"), Vocabulary::builtin(), ScriptLimits::default()).unwrap();
    assert_eq!(file.names(), ["first", "broken", "second"]);
    assert_eq!(file.task("second", &[]).unwrap().name, "other");
    let made = file.task("first", &[("n".into(), literal("2")), ("category".into(), literal("biology"))]).unwrap();
    assert_eq!(samples_of(&made.dataset), [TaskSample::new("biology"), TaskSample::new("biology")]);
    assert!(file.task("needs", &[("path".into(), literal("q.csv"))]).is_ok());
    let error = |name: &str, parameters: &[(&str, &str)]| {
        let parameters: Vec<(String, Value)> =
            parameters.iter().map(|(name, value)| ((*name).to_owned(), literal(value))).collect();
        file.task(name, &parameters).unwrap_err().to_string()
    };
    let unknown = error("first", &[("categry", "x")]);
    assert_eq!(unknown, "`first` has no parameter `categry`\n  hint: did you mean `category`?");
    assert_eq!(error("frist", &[]), "there is no task `frist`\n  hint: did you mean `first`?");
    assert_eq!(
        error("helper", &[]),
        "`helper` gives a list, not a task\n  hint: a task is a function that returns `Task(…)`"
    );
    assert!(error("needs", &[]).contains("path"), "{}", error("needs", &[]));
    assert!(error("imported", &[]).starts_with("there is no task `imported`"));
    let broken = error("broken", &[]);
    assert!(broken.contains("task.star, line 17") && broken.contains("^^^"), "{broken}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn parameters_are_literals_or_texts() {
    for (written, want) in [
        ("3", Value::Int(3)),
        ("-0.5", Value::Float(-0.5)),
        ("true", Value::Bool(true)),
        ("None", Value::Null),
        ("\"3\"", Value::from("3")),
        ("[1, \"a\", false]", Value::List(vec![Value::Int(1), Value::from("a"), Value::Bool(false)])),
        ("{\"a\": null}", Value::from([("a", Value::Null)])),
        ("physics", Value::from("physics")),
        ("[broken", Value::from("[broken")),
        ("nan", Value::from("nan")),
        ("a, b", Value::from("a, b")),
    ] {
        assert_eq!(literal(written), want, "{written}");
    }
}

const COLORS: &str = r#"
def pass_rate(threshold = 0.5):
    def rate(scores):
        passed = [s for s in scores if s.score.as_float() >= threshold and s.sample_metadata["lang"] == "en"]
        return len(passed) / len(scores)
    return metric(rate, name = "pass_rate")

def word_overlap():
    def score(state, target):
        output = state.output.completion.lower()
        words = target.text.lower().split()
        hits = len([word for word in words if word in output])
        return Score(value = hits / len(words) if words else 0.0, answer = output, explanation = state.input_text)
    return scorer(score, name = "word_overlap", metrics = [mean(), stderr(), pass_rate()])
"#;

#[test]
fn scorers_and_metrics_of_ones_own() {
    let task = with_scorer(COLORS, "word_overlap()");
    let scorer = &task.scorers[0];
    assert_eq!(scorer.name(), "word_overlap");
    let sample = TaskSample::new("Name three primary colors.").target("red green blue");
    let score = scored(&**scorer, &state(sample, "Red and GREEN"));
    assert_eq!(score, Score::new(2.0 / 3.0).answer("red and green").explanation("Name three primary colors."));
    let mut samples = Samples::new();
    for (id, value) in [(1, 0.25), (2, 0.5), (3, 1.0)] {
        samples.push(id).metadata("lang", "en").score("word_overlap", value);
    }
    let results = Plan::new().scorer("word_overlap", scorer.metrics()).measure(&samples).unwrap();
    assert_eq!(results.figure("word_overlap", "pass_rate").unwrap().value, Ok(2.0 / 3.0));
    assert!(results.figure("word_overlap", "mean").is_some() && results.figure("word_overlap", "stderr").is_some());
    // Without a call, and as a bare function.
    assert_eq!(with_scorer(COLORS, "word_overlap").scorers[0].name(), "word_overlap");
    let bare = with_scorer("def length(state, target):\n    return len(state.output.completion)\n", "length");
    assert_eq!(bare.scorers[0].name(), "length");
    assert_eq!(names_of(&bare.scorers[0].metrics()), ["accuracy", "stderr"]);
    assert_eq!(scored(&*bare.scorers[0], &state(TaskSample::new("x"), "four")).value, Value::Int(4));
}

#[test]
fn scorers_see_the_attempt() {
    let definitions = r#"
def look(state, target):
    return {
        "completion": state.output.completion,
        "model": state.output.model,
        "stop": state.output.stop_reason,
        "input": state.input_text,
        "messages": [m.role + ":" + m.content for m in state.messages][1],
        "id": state.sample_id,
        "epoch": state.epoch,
        "category": state.metadata["category"],
        "choices": state.choices[1].value,
        "chosen": state.choices[1].correct,
        "text": target.text,
        "first": target[0],
        "last": target[-1],
        "count": len(target),
        "all": ",".join([t for t in target]),
        "in": "b" in target and "c" not in target,
        "store": len(state.store),
    }
"#;
    let task = with_scorer(definitions, "look");
    let sample =
        TaskSample::new("Which?").target("a").target("b").choices(["red", "blue"]).metadata("category", "physics");
    let score = scored(&*task.scorers[0], &state(sample, "B"));
    for (key, want) in [
        ("completion", Value::from("B")),
        ("model", Value::from("mockllm/model")),
        ("stop", Value::from("stop")),
        ("input", Value::from("Which?")),
        ("messages", Value::from("assistant:B")),
        ("id", Value::from("q1")),
        ("epoch", Value::Int(2)),
        ("category", Value::from("physics")),
        ("choices", Value::from("blue")),
        ("chosen", Value::Null),
        ("text", Value::from("ab")),
        ("first", Value::from("a")),
        ("last", Value::from("b")),
        ("count", Value::Int(2)),
        ("all", Value::from("a,b")),
        ("in", Value::Bool(true)),
        ("store", Value::Int(0)),
    ] {
        assert_eq!(score.value.get(key), Some(&want), "{key}");
    }
    // An attempt without an answer has an empty one.
    let mut silent = state(TaskSample::new("x"), "");
    silent.output = None;
    let task = with_scorer("def s(state, target):\n    return state.output.completion == \"\"\n", "s");
    assert_eq!(scored(&*task.scorers[0], &silent).value, Value::Bool(true));
}

#[test]
fn a_scorer_that_cannot_tell_gives_no_score() {
    let judge = |body: &str| {
        let task = with_scorer(&format!("def s(state, target):\n    {body}\n"), "s");
        judged(&*task.scorers[0], &state(TaskSample::new("x"), "y"))
    };
    assert_eq!(judge("return None").unwrap().outcome, Outcome::unscored("the scorer gave no score"));
    assert_eq!(judge("pass").unwrap().outcome, Outcome::unscored("the scorer gave no score"));
    match judge("return Score(value = None, explanation = \"unreadable\")").unwrap().outcome {
        Outcome::Unscored { reason, score } => {
            assert_eq!(&*reason, "the scorer gave no value");
            assert_eq!(score.unwrap().explanation.as_deref(), Some("unreadable"));
        }
        scored => panic!("{scored:?}"),
    }
    assert_eq!(judge("return True").unwrap(), Outcome::from(Score::new(true)).into());
    assert_eq!(judge("return \"C\"").unwrap(), Outcome::from(Score::new("C")).into());
    let error = judge("return lambda: 1").unwrap_err();
    assert!(error.starts_with("the scorer gives a function, not a score\n  hint: return `Score"), "{error}");
    let error = judge("return state.output.complesion").unwrap_err();
    assert_eq!(
        error,
        "object of type `ModelOutput` has no attribute `complesion`\n  in tasks/task.star, line 2\n    return \
         state.output.complesion\n                        ^^^^^^^^^^\n  hint: did you mean `completion`?"
    );
}

#[test]
fn what_a_model_said_does_not_steer_a_terminal() {
    let task = with_scorer("def s(state, target):\n    fail(state.output.completion)\n", "s");
    let error = judged(&*task.scorers[0], &state(TaskSample::new("x"), "\u{1b}[2Jred\u{202e}")).unwrap_err();
    assert!(error.starts_with("\\u{1b}[2Jred\\u{202e}\n"), "{error:?}");
    let long = judged(&*task.scorers[0], &state(TaskSample::new("x"), &"x".repeat(1_000_000))).unwrap_err();
    assert!(long.len() < 3000, "{}", long.len());
}

#[test]
fn reducers_of_ones_own() {
    let source = r#"
def mean_score():
    to_float = value_to_float()
    def reduce(scores):
        return Score(value = mean([to_float(score.value) for score in scores]))
    return score_reducer(reduce, name = "own_mean")

def worst(scores):
    return min([s.as_float() for s in scores])

def t():
    return Task([Sample("x")], epochs = Epochs(3, [mean_score(), worst, "max"]))

def count():
    return Task([Sample("x")], epochs = 4)
"#;
    let file = parsed(source);
    assert_eq!(file.names(), ["t", "count"]);
    let epochs = file.task("t", &[]).unwrap().epochs.unwrap();
    let scores = [Score::new(1.0), Score::new(0.0), Score::new(0.5)];
    let reduced: Vec<(&str, Value)> =
        epochs.reducers().unwrap().iter().map(|r| (r.name(), r.reduce(&scores).unwrap().value)).collect();
    assert_eq!(reduced, [("own_mean", Value::Float(0.5)), ("worst", Value::Float(0.0)), ("max", Value::Float(1.0))]);
    let epochs = file.task("count", &[]).unwrap().epochs.unwrap();
    assert_eq!((epochs.count(), epochs.reducers().is_none()), (4, true));
    // From a metric expression too.
    assert_eq!(file.library().reducer("mean_score").unwrap().name(), "own_mean");
    assert!(mistake("[Sample(\"x\")], epochs = Epochs(3, \"pass_at_5\")").contains("needs 5 attempts, there are 3"));
    assert!(mistake("[Sample(\"x\")], epochs = Epochs(3, accuracy)").contains("`accuracy` is a metric, not a reducer"));
    assert!(mistake("[Sample(\"x\")], epochs = 0").contains("a whole number from 1"));
}

#[test]
fn a_name_that_means_two_things_means_what_its_place_says() {
    let task =
        task("[Sample(\"x\")], solver = command(\"./agent\"), scorer = [f1(), command(\"./judge\")], metrics = [f1()]");
    assert_eq!(task.solver[0].name(), "command");
    assert_eq!(task.scorers.iter().map(|s| s.name()).collect::<Vec<_>>(), ["f1", "command"]);
    assert_eq!(names_of(task.metrics.as_deref().unwrap()), ["f1"]);
    assert!(mistake("[Sample(\"x\")], solver = match()").contains("`match` is not a solver"));
    assert!(mistake("[Sample(\"x\")], scorer = generate()").contains("`generate` is not a scorer"));
    let error = mistake("[Sample(\"x\")], scorer = match(locatoin = \"end\")");
    assert!(error.contains("`match` has no parameter `locatoin`") && error.contains("         ^^^^^^^^"), "{error}");
}

#[test]
fn models_of_a_task_are_carried_by_it() {
    let task = task(
        "[Sample(\"x\")], model = mockllm([\"a\", \"b\"]), model_roles = {\"grader\": mockllm(\"GRADE: C\", name = \"judge\")}",
    );
    assert_eq!(task.model.as_deref(), Some("mockllm/model"));
    assert_eq!(task.model_roles, [("grader".to_owned(), "mockllm/judge".to_owned())]);
    assert_eq!(task.models.iter().map(|m| m.name()).collect::<Vec<_>>(), ["mockllm/model", "mockllm/judge"]);
    let graded = self::task(
        "[Sample(\"x\")], scorer = model_graded_qa(model = [mockllm(\"x\", name = \"a\"), \"openai/gpt-5\"])",
    );
    assert_eq!(graded.models[0].name(), "mockllm/a");
    let names = Value::List(vec!["mockllm/a".into(), "openai/gpt-5".into()]);
    assert_eq!(graded.scorers[0].params(), Value::from([("model", names)]));
    let error = mistake("[Sample(\"x\")], model = mockllm(\"a\"), model_roles = {\"grader\": mockllm(\"b\")}");
    assert!(error.contains("two models of the task are named `mockllm/model`"), "{error}");
}

#[test]
fn mistakes_are_underlined() {
    for (arguments, want) in [
        (
            "[Sample(\"x\")], sorcer = match()",
            "`Task` has no parameter `sorcer`\n  in tasks/task.star, line 2\n    return Task([Sample(\"x\")], sorcer = match())\n                               ^^^^^^\n  hint: did you mean `scorer`?",
        ),
        (
            "\"questions.csv\"",
            "`Task`: dataset is `\"questions.csv\"`, not a dataset\n  in tasks/task.star, line 2\n    return Task(\"questions.csv\")\n           ^^^^^^^^^^^^^^^^^^^^^\n  hint: give a list of samples, or `csv_dataset(\"file.csv\")`",
        ),
        (
            "[Sample(\"x\", target = 4)]",
            "`Sample`: target is `4`, not a string or a list of strings\n  in tasks/task.star, line 2\n    return Task([Sample(\"x\", target = 4)])\n                             ^^^^^^\n  hint: `str(x)` turns a number into a string",
        ),
        (
            "[Sample(\"x\")], time_limit = \"1h\"",
            "`Task`: time_limit is `\"1h\"`, not a number from 0\n  in tasks/task.star, line 2\n    return Task([Sample(\"x\")], time_limit = \"1h\")\n                               ^^^^^^^^^^",
        ),
        (
            "[Sample(\"x\")], scorer = 1",
            "expected a scorer, found `1`\n  in tasks/task.star, line 2\n    return Task([Sample(\"x\")], scorer = 1)\n           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n  hint: write one such as `match()`",
        ),
    ] {
        assert_eq!(mistake(arguments), want);
    }
    let parse = |source: &str| {
        let error = TaskFile::parse("task.star", source, Vocabulary::builtin(), ScriptLimits::default()).unwrap_err();
        error.to_string()
    };
    assert!(parse("@task\ndef t():\n    pass\n").contains("hint: leave the decorator out; a function that returns"));
    assert!(parse("@scorer(metrics = [])\ndef t():\n    pass\n").contains("return `scorer(score, name = …"));
    assert!(parse("async def t():\n    pass\n").contains("hint: leave `async` out"));
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("calipers-task-{name}-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("tasks/below")).unwrap();
    folder
}

#[test]
fn files_outside_the_folder_are_not_read() {
    let folder = folder("outside");
    let tasks = folder.join("tasks");
    std::fs::write(folder.join("secret.star"), "key = SECRET_WORD\n").unwrap();
    std::fs::write(folder.join("secret.txt"), "SECRET_WORD\n").unwrap();
    std::fs::write(tasks.join("notes.txt"), "SECRET_WORD\n").unwrap();
    std::fs::write(tasks.join("below/parts.star"), "load(\"../more.star\", \"x\")\ny = x\n").unwrap();
    std::fs::write(tasks.join("more.star"), "x = 1\n").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.join("secret.star"), tasks.join("link.star")).unwrap();
    let load = |name: &str| {
        let path = tasks.join("task.star");
        std::fs::write(&path, format!("load(\"{name}\", \"y\")\ndef t():\n    return Task([Sample(str(y))])\n"))
            .unwrap();
        TaskFile::load(&path, Vocabulary::builtin(), ScriptLimits::default())
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    assert_eq!(load("below/parts.star"), Ok(()));
    let absolute = folder.join("secret.star").display().to_string();
    let outside = ["../secret.star", "below/../../secret.star", &absolute, "/nowhere/at/all.star", "../nowhere.star"];
    for name in outside {
        let error = load(name).unwrap_err();
        assert!(
            error.contains("is not loaded: it is outside the folder") && !error.contains("SECRET"),
            "{name}: {error}"
        );
        assert!(error.contains("^^^"), "{error}");
    }
    #[cfg(unix)]
    assert!(load("link.star").unwrap_err().contains("outside the folder"));
    let error = load("notes.txt").unwrap_err();
    assert!(error.contains("does not end in `.star`") && !error.contains("SECRET"), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn each_call_of_a_scorer_has_its_own_time() {
    let limits = ScriptLimits {
        steps: u64::MAX / 2,
        time: Duration::from_secs(2),
        time_per_call: Duration::from_millis(200),
        ..ScriptLimits::default()
    };
    let source = "def slow(state, target):\n    for i in range(2000000000):\n        pass\n\
                  def quick(state, target):\n    n = 0\n    for i in range(20000):\n        n += i\n    return n\n\
                  def t():\n    return Task([Sample(\"x\")], scorer = [slow, quick])\n";
    let task = parsed_with(source, limits).task("t", &[]).unwrap();
    let (slow, quick) = (&task.scorers[0], &task.scorers[1]);
    let state = state(TaskSample::new("x"), "y");
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let error = judged(&**slow, &state).unwrap_err();
                assert!(error.contains("the script's time is up"), "{error}");
            });
        }
        // Others are not stopped with them, and go on for longer than all may take that share a time.
        scope.spawn(|| {
            while start.elapsed() < Duration::from_millis(2500) {
                assert_eq!(scored(&**quick, &state).value, Value::Int(199_990_000));
            }
        });
    });
}

#[test]
fn a_call_that_does_not_stop_is_overdue_whatever_else_ends() {
    let limits = ScriptLimits { time_per_call: Duration::from_millis(20), ..ScriptLimits::default() };
    // One long step does not hear that its time is up.
    let source = "def long(state, target):\n    return len(sorted(range(3000000), reverse = True))\n\
                  def short(state, target):\n    return 1\n\
                  def t():\n    return Task([Sample(\"x\")], scorer = [long, short])\n";
    let file = parsed_with(source, limits);
    let task = file.task("t", &[]).unwrap();
    let (watch, state) = (file.library().watch(), state(TaskSample::new("x"), "y"));
    std::thread::scope(|scope| {
        let long = scope.spawn(|| judged(&*task.scorers[0], &state));
        let mut was_overdue = false;
        while !long.is_finished() {
            assert_eq!(scored(&*task.scorers[1], &state).value, Value::Int(1));
            was_overdue |= watch.is_overdue(Duration::ZERO);
        }
        assert!(was_overdue);
    });
    assert!(!watch.is_overdue(Duration::ZERO), "nothing runs any more");
}

#[test]
fn runaway_task_files_are_stopped() {
    let limits =
        ScriptLimits { steps: 100_000, time: Duration::from_secs(5), memory: 1 << 26, ..ScriptLimits::default() };
    let parse = |source: &str| {
        TaskFile::parse("task.star", source, Vocabulary::builtin(), limits).map(|_| ()).map_err(|e| e.to_string())
    };
    assert!(parse("[x for x in range(2000000000)]\n").unwrap_err().contains("too many steps"));
    // A task that does not end is among the names, and says so when it is asked for.
    let source = "def t():\n    for i in range(2000000000):\n        pass\n    return Task([])\n";
    let file = TaskFile::parse("task.star", source, Vocabulary::builtin(), limits).unwrap();
    assert_eq!(file.names(), ["t"]);
    assert!(file.task("t", &[]).unwrap_err().to_string().contains("too many steps"));
    let nested = "def t():\n    x = []\n    for i in range(90000):\n        x = [x]\n    return Task([Sample(\"x\", metadata = {\"k\": x})])\n";
    let file = TaskFile::parse("task.star", nested, Vocabulary::builtin(), limits).unwrap();
    assert!(file.task("t", &[]).unwrap_err().to_string().contains("is not a plain value"));
}

#[test]
fn expressions_name_solvers_and_scorers() {
    let library = Library::for_tasks(Vocabulary::builtin(), ScriptLimits::default());
    let solvers = library.solvers("[system_message(\"x\"), generate]").unwrap();
    assert_eq!(solvers.iter().map(|s| s.name()).collect::<Vec<_>>(), ["system_message", "generate"]);
    assert_eq!(library.scorers("match(\"any\")").unwrap()[0].params(), Value::from([("location", "any")]));
    let error = library.scorers("macth()").err().unwrap().to_string();
    assert!(error.contains("there is no `macth`") && error.contains("did you mean `match`?"), "{error}");
    assert!(library.solvers("1").err().unwrap().to_string().contains("expected a solver, found `1`"));
    // The names of a task file are there, too.
    let file = parsed(COLORS);
    for written in ["word_overlap", "word_overlap()", "lambda state, target: 1"] {
        assert_eq!(file.library().scorers(written).unwrap().len(), 1, "{written}");
    }
    let error = mistake("[Sample(\"x\")], scorer = lambda state: 1");
    assert!(error.contains("cannot be called with a state and a target"), "{error}");
    // What measures results knows nothing of running.
    assert!(Library::builtin().metrics("generate()").is_err());
}

fn example(name: &str) -> TaskFile {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tasks").join(name);
    TaskFile::load(path, Vocabulary::builtin(), ScriptLimits::default()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_examples_are_tasks() {
    let colors = example("colors.star");
    assert_eq!(colors.names(), ["colors"]);
    let task = colors.task("colors", &[]).unwrap();
    assert_eq!(names_of(&task.scorers[0].metrics()), ["mean", "stderr", "pass_rate"]);
    let gpqa = example("gpqa.star");
    let names = [
        "gpqa",
        "gpqa_grouped",
        "gpqa_groups",
        "gpqa_named",
        "gpqa_clustered",
        "gpqa_mode",
        "gpqa_at_least",
        "gpqa_reduced",
        "gpqa_custom",
    ];
    assert_eq!(gpqa.names(), names);
    for name in names {
        let task = gpqa.task(name, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(task.name, name);
        assert_eq!(task.model.as_deref(), Some("mockllm/model"));
        let DatasetOrigin::File(file) = &task.dataset.origin else { panic!("a file") };
        assert!(gpqa.folder().join(&file.path).is_file(), "{}", file.path.display());
    }
    let custom = gpqa.task("gpqa_custom", &[("letter".into(), literal("A"))]).unwrap();
    assert_eq!(names_of(custom.metrics.as_deref().unwrap()), ["accuracy", "stderr", "share_of_letter"]);
}

/// A row for everything in a catalogue, as the page has it.
fn rows<T: ?Sized>(catalog: &Catalog<T>) -> Vec<String> {
    let row = |name| {
        let mut params: Vec<String> = catalog.params(name).iter().map(|param| format!("`{param}`")).collect();
        params.extend(catalog.is_open(name).then(|| "any other".to_owned()));
        format!("| `{name}` | {} | {} |", params.join(", "), catalog.about(name).unwrap_or_default())
    };
    catalog.names().map(row).collect()
}

#[test]
fn the_page_of_task_files_has_every_solver_and_scorer() {
    let page = include_str!("../../../../docs/tasks.md");
    let part = |heading: &str| {
        let from = page.find(heading).map(|at| &page[at + heading.len()..]).unwrap_or_else(|| panic!("no {heading}"));
        let lines = from.split("\n## ").next().unwrap().lines();
        lines.filter(|line| line.starts_with("| `")).map(str::to_owned).collect::<Vec<_>>()
    };
    let vocabulary = Vocabulary::builtin();
    for (heading, want) in
        [("\n## Solvers\n", rows(&vocabulary.solvers)), ("\n## Scorers\n", rows(&vocabulary.scorers))]
    {
        assert_eq!(part(heading), want, "docs/tasks.md should have:\n{}", want.join("\n"));
    }
}
