//! Expressions, definitions and their mistakes.

use calipers_core::{Labels, MetricSpec, Plan, Registry, Results, Samples, Value};
use calipers_script::{Library, ScriptLimits};
use std::time::Duration;

const DEFINITIONS: &str = r#"
def pass_rate(threshold: float = 0.5) -> Metric:
    """Proportion of samples scoring at or above `threshold`."""
    def metric(scores: list[SampleScore]) -> float:
        if not scores:
            return 0.0
        passed = [s for s in scores if s.score.as_float() >= threshold]
        return len(passed) / len(scores)
    return metric

def mean_score() -> ScoreReducer:
    to_float = value_to_float()
    def reduce(scores: list[Score]) -> Score:
        """Compute a mean value of all scores."""
        values = [to_float(score.value) for score in scores]
        return Score(value = mean(values))
    return reduce

def worst(scores):
    return min([s.as_float() for s in scores])

def spread(scores):
    values = [s.score.as_float() for s in scores]
    return {"low": min(values), "high": max(values), "unknown": None}

def ordered(scores):
    return sorted([s.score.as_float() for s in scores])

def in_category(name):
    def metric(scores):
        return sum([s.score.as_float() for s in scores if s.sample_metadata["category"] == name])
    return metric

suite = [accuracy(), grouped(pass_rate(0.9), "category", all = False)]
"#;

fn samples() -> Samples {
    let mut samples = Samples::new();
    for (id, category, scores) in [(1, "a", ["C", "I"]), (2, "a", ["C", "C"]), (3, "b", ["I", "P"])] {
        for score in scores {
            let attempt = samples.push(id).metadata("category", category).score("judge", score);
            attempt.field("passed", score == "C").field("latency_ms", 100 * id).field("quality_score", 0.5);
        }
    }
    samples
}

fn library() -> Library {
    let mut library = Library::builtin();
    library.load("metrics.star", DEFINITIONS).unwrap();
    library
}

#[track_caller]
fn measured(expression: &str) -> Results {
    let metrics: Vec<MetricSpec> = library().metrics(expression).unwrap_or_else(|error| panic!("{error}"));
    Plan::new().metrics(metrics).measure(&samples()).unwrap()
}

#[track_caller]
fn figure(results: &Results, name: &str) -> f64 {
    let found = results.scores.iter().find_map(|score| score.metrics.get(name));
    found.unwrap_or_else(|| panic!("no `{name}` in {results:#?}")).figure.value.clone().unwrap()
}

#[track_caller]
fn mistake(expression: &str) -> String {
    library().metrics(expression).map(|_| "no mistake").unwrap_err().to_string()
}

#[test]
fn expressions_are_written_as_in_inspect() {
    for expression in [
        "accuracy()",
        "accuracy",
        "mean()",
        "var()",
        "std()",
        "stderr()",
        "stderr(cluster=\"category\")",
        "bootstrap_stderr(num_samples=1000)",
        "bootstrap_stderr(100)",
        "ci(level=0.95)",
        "ci(level=0.9, method=\"bootstrap\", num_samples=100, cluster=\"category\")",
        "ci_wilson()",
        "grouped(accuracy(), \"category\")",
        "grouped(accuracy, \"category\")",
        "grouped(metric=accuracy(), group_key=\"category\", all=None)",
        "grouped(accuracy(), \"category\", all=\"groups\", name_template=\"category_{group_name}\")",
        "grouped(stderr(), \"category\", all=False)",
        "frequency([\"C\", \"I\"], normalize=False)",
        "krippendorff_alpha(level=\"ordinal\")",
        "mean(\"quality_score\")",
        "quantile(\"latency_ms\", 0.95)",
        "ratio(\"quality_score\", \"latency_ms\")",
        "accuracy(to_float=value_to_float(correct=\"C\"))",
        "accuracy(to_float={\"correct\": \"C\"})",
        "[accuracy(), stderr()]",
        "(accuracy, [stderr, [mean]])",
        "suite",
    ] {
        assert!(!measured(expression).scores[0].metrics.is_empty(), "{expression}");
    }
    let grouped =
        measured("grouped(accuracy(), \"category\", all=\"groups\", name_template=\"category_{group_name}\")");
    assert_eq!(figure(&grouped, "all"), 0.5);
    assert_eq!(figure(&grouped, "category_a"), 0.75);
    assert_eq!(figure(&measured("grouped(pass_rate(0.9), \"category\", all=False)"), "a"), 0.5);
}

#[test]
fn every_registered_metric_is_an_expression() {
    for name in Registry::builtin().names() {
        let expression = match name {
            "grouped" => "grouped(mean(), \"category\")".to_owned(),
            "aggregate" => "aggregate(\"tone\", mean())".to_owned(),
            "quantile" => "quantile(\"latency_ms\", p=0.5)".to_owned(),
            "ratio" => "ratio(\"passed\", \"latency_ms\")".to_owned(),
            _ => name.to_owned(),
        };
        if let Err(error) = Library::builtin().metrics(&expression) {
            panic!("{name}: {error}");
        }
    }
}

#[test]
fn metrics_may_look_at_some_samples_or_at_one_scorer() {
    assert_eq!(figure(&measured("accuracy(where={\"category\": \"a\"})"), "accuracy"), 0.75);
    assert_eq!(figure(&measured("mean(scorer=\"judge\")"), "mean"), 7.0 / 12.0);
    let builtin = Library::builtin().metrics("pass_rate(where={\"category\": \"b\"})").unwrap();
    let results = Plan::new().metrics(builtin).measure(&samples()).unwrap();
    assert_eq!(results.figure("run", "pass_rate").unwrap().value, Ok(0.0));
    let params = &results.scores[0].metrics["pass_rate"].params;
    assert_eq!(params[0], ("where".into(), Value::from([("category", "b")])));
}

#[test]
fn metrics_of_keys_are_a_map() {
    let mut samples = Samples::new();
    samples.push(1).score("judge", [("lower", 0.5), ("upper", 1.0)]);
    samples.push(2).score("judge", [("lower", 0.0), ("upper", 1.0)]);
    let metrics = library().metrics("{\"lower\": [mean()], \"*\": [accuracy(), spread], \"upper\": std}").unwrap();
    let results = Plan::new().metrics(metrics).measure(&samples).unwrap();
    assert_eq!(results.figure("lower", "mean").unwrap().value, Ok(0.25));
    assert_eq!(results.figure("upper", "accuracy").unwrap().value, Ok(1.0));
    assert!(results.figure("upper", "std").is_some());
}

#[test]
fn metrics_and_reducers_of_ones_own() {
    assert_eq!(figure(&measured("pass_rate(0.5)"), "pass_rate"), 2.0 / 3.0);
    assert_eq!(figure(&measured("pass_rate(threshold = 0.9)"), "pass_rate"), 1.0 / 3.0);
    assert_eq!(figure(&measured("pass_rate"), "pass_rate"), 2.0 / 3.0);
    assert_eq!(figure(&measured("in_category(\"b\")"), "in_category"), 0.25);
    let both = measured("[pass_rate(0.5), pass_rate(0.9)]");
    assert_eq!((figure(&both, "pass_rate"), figure(&both, "pass_rate2")), (2.0 / 3.0, 1.0 / 3.0));
    assert_eq!(both.scores[0].metrics["pass_rate2"].params, [("threshold".into(), Value::Float(0.9))]);
    let spread = measured("spread");
    assert_eq!((figure(&spread, "low"), figure(&spread, "high")), (0.25, 1.0));
    assert!(spread.scores[0].metrics["unknown"].figure.value.is_err());
    assert_eq!(figure(&measured("ordered"), "ordered-2"), 0.5);
    assert_eq!(figure(&measured("lambda scores: len(scores)"), "lambda"), 3.0);
    for (reducer, want) in [("mean_score", 7.0 / 12.0), ("mean_score()", 7.0 / 12.0), ("worst", 1.0 / 3.0)] {
        let reducer = library().reducer(reducer).unwrap();
        let results = Plan::new().reducers([reducer]).metrics([calipers_core::accuracy()]).measure(&samples()).unwrap();
        assert!((figure(&results, "accuracy") - want).abs() < 1e-12);
    }
    assert_eq!(library().reducer("pass_at_2").unwrap().name(), "pass_at_2");
}

#[test]
fn later_files_use_what_earlier_ones_define() {
    let mut library = library();
    let source = "def adder(n):\n    return lambda x: x + n\n";
    library.load("a.star", source).unwrap();
    library.load("b.star", "def own(scores):\n    return adder(1)(len(scores))\nboth = [own, pass_rate]\n").unwrap();
    let results = Plan::new().metrics(library.metrics("both").unwrap()).measure(&samples()).unwrap();
    assert_eq!((figure(&results, "own"), figure(&results, "pass_rate")), (4.0, 2.0 / 3.0));
}

#[test]
fn reducers_see_the_attempts_that_have_a_score() {
    let mut samples = samples();
    samples.push(3).score("judge", Value::Missing);
    samples.push(4).score("judge", Value::Missing);
    let plan = Plan::new().reducers([library().reducer("worst").unwrap()]).metrics([calipers_core::mean()]);
    let results = plan.measure(&samples).unwrap();
    let mean = results.figure("judge", "mean").unwrap();
    assert_eq!((mean.value.clone(), mean.n, mean.missing), (Ok(1.0 / 3.0), 3, 1));
}

#[test]
fn labels_of_the_user_count_in_scripts_too() {
    let mut samples = Samples::new();
    samples.push(1).score("judge", "maybe");
    let labels = Labels::default().with("maybe", 0.75);
    let mut library = Library::new(Registry::builtin(), labels.clone(), ScriptLimits::default());
    library.load("m.star", "def own(scores):\n    return mean([s.score.as_float() for s in scores])\n").unwrap();
    let plan = Plan::new().metrics(library.metrics("own").unwrap()).labels(labels);
    assert_eq!(figure(&plan.measure(&samples).unwrap(), "own"), 0.75);
}

#[test]
fn the_language_has_what_metrics_need() {
    let definitions = r#"
def check(scores):
    s = scores[0]
    return {
        "sum of ints": sum([1, 2, True]),
        "sum": sum([0.1, 0.2, 0.3]),
        "mean": mean([1, 2]),
        "sqrt": sqrt(9),
        "log": log(exp(2)),
        "log2": log(8, base = 2),
        "pow": pow(2, 10),
        "round": round(2.5),
        "round 2": round(2.675, 2),
        "min": min([3, 1]),
        "text": len(fmt(1.0, 2) + str(sum([1, 2])) + f"{s.sample_id}"),
        "float": to_float("P"),
        "score": Score(value = "C", answer = "x", metadata = {"k": 1}).as_float(),
        "id": s.sample_id,
        "value": 1 if s.score.value == "C" else 0,
        "answer": 1 if s.score.answer == "B" else 0,
        "none": 1 if s.score.explanation == None else 0,
        "metadata": s.score.metadata["votes"],
    }
"#;
    let mut samples = Samples::new();
    let metadata = calipers_core::Metadata::new([("votes", 3)]);
    samples.push(7).score("judge", calipers_core::Score::new("C").answer("B").metadata(metadata));
    let mut library = Library::builtin();
    library.load("check.star", definitions).unwrap();
    let plan = Plan::new().metrics(library.metrics("check").unwrap()).reducers([]);
    let results = plan.measure(&samples).unwrap_or_else(|error| panic!("{error}"));
    for (name, want) in [
        ("sum of ints", 4.0),
        ("sum", 0.6),
        ("mean", 1.5),
        ("sqrt", 3.0),
        ("log", 2.0),
        ("log2", 3.0),
        ("pow", 1024.0),
        ("round", 2.0),
        ("round 2", 2.67),
        ("min", 1.0),
        ("text", 6.0),
        ("float", 0.5),
        ("score", 1.0),
        ("id", 7.0),
        ("value", 1.0),
        ("answer", 1.0),
        ("none", 1.0),
        ("metadata", 3.0),
    ] {
        assert!((figure(&results, name) - want).abs() < 1e-12, "{name}: {}", figure(&results, name));
    }
}

#[test]
fn mistakes_are_underlined_with_what_was_meant() {
    for (expression, want) in [
        (
            "acuracy()",
            "there is no `acuracy`\n  in the expression\n    acuracy()\n    ^^^^^^^\n  hint: did you mean `accuracy`?",
        ),
        (
            "[mean(), stderr(clustr=\"category\")]",
            "`stderr` has no parameter `clustr`\n  in the expression\n    [mean(), stderr(clustr=\"category\")]\n                    ^^^^^^\n  hint: did you mean `cluster`?",
        ),
        (
            "quantile(feild=\"latency_ms\")",
            "`quantile` has no parameter `feild`\n  in the expression\n    quantile(feild=\"latency_ms\")\n             ^^^^^\n  hint: did you mean `field`?",
        ),
        (
            "pass_rate(treshold=0.5)",
            "`pass_rate` has no parameter `treshold`\n  in the expression\n    pass_rate(treshold=0.5)\n              ^^^^^^^^\n  hint: did you mean `threshold`?",
        ),
        (
            "grouped(accuracy(), \"category\", all=\"every\")",
            "`grouped`: all is `every`, not `samples`, `groups` or false\n  in the expression\n    grouped(accuracy(), \"category\", all=\"every\")\n    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n  hint: give `samples`, `groups` or false",
        ),
        (
            "1 + 1",
            "expected a metric, found `2`\n  in the expression\n    1 + 1\n    ^^^^^\n  hint: write one such as `accuracy()`",
        ),
        (
            "accuracy(",
            "parse error: unexpected end of line, expected expression\n  in the expression\n    accuracy(\n             ^",
        ),
        (
            "accuracy(0.5)",
            "`accuracy` takes no arguments without a name\n  in the expression\n    accuracy(0.5)\n    ^^^^^^^^^^^^^\n  hint: name them, as in `accuracy(where={\"category\": \"adversarial\"})`",
        ),
        ("", "the expression is empty\n  hint: write one such as `accuracy()`"),
    ] {
        assert_eq!(mistake(expression), want, "{expression}");
    }
}

#[test]
fn mistakes_in_files_name_the_line() {
    let load = |source: &str| Library::builtin().load("metrics.star", source).unwrap_err().to_string();
    let error = load("x = 1\n\n@metric\ndef f(scores):\n    return 1\n");
    assert!(error.contains("in metrics.star, line 3\n    @metric\n    ^"), "{error}");
    assert!(error.contains("hint: leave the decorator out"), "{error}");
    assert!(load("import numpy as np\n").contains("hint: there is nothing to import"));
    assert!(load("def f(x):\n    while x:\n        pass\n").contains("hint: write `for i in range(…)`"));
    assert!(load("x = sum(1 for y in [1])\n").contains("hint: write a list"));
    let running = |source: &str| {
        let mut library = Library::builtin();
        library.load("metrics.star", source).unwrap();
        Plan::new().metrics(library.metrics("own").unwrap()).measure(&samples()).unwrap_err().to_string()
    };
    assert_eq!(
        running("def own(scores):\n    # why\n    return mean([s.score.as_flot() for s in scores])\n"),
        "object of type `Score` has no attribute `as_flot`\n  in metrics.star, line 3\n    return mean([s.score.as_flot() for s in scores])\n                         ^^^^^^^\n  at `own`\n  hint: did you mean `as_float`?"
    );
    assert!(running("def own(scores):\n    return round(1.0, digit = 2)\n").contains("hint: did you mean `digits`?"));
    assert!(
        running("def own(scores):\n    return \"many\"\n").starts_with("the metric gives `\"many\"`, not a number")
    );
    assert!(running("def own(scores):\n    fail(\"no idea\")\n").starts_with("no idea\n  in metrics.star, line 2"));
    let error = running("def own(threshold):\n    def metric(scores):\n        return 1\n    return metric\n");
    assert!(error.contains("hint: call it with its arguments"), "{error}");
}

#[test]
fn unknown_reducers_are_named_as_the_core_names_them() {
    let error = library().reducer("pas_at_2").unwrap_err().to_string();
    assert!(
        error.starts_with("there is no reducer `pas_at_2`\n  hint: did you mean `pass_at_2`? the reducers are "),
        "{error}"
    );
    let error = library().reducer("wurst").unwrap_err().to_string();
    assert_eq!(error, "there is no reducer `wurst`\n  hint: did you mean `worst`?");
}

#[test]
fn files_load_files_beside_them() {
    let folder = std::env::temp_dir().join(format!("calipers-script-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("deep")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("main.star", "load(\"deep/a.star\", \"double\")\ndef own(scores):\n    return double(len(scores))\n");
    write("deep/a.star", "load(\"../b.star\", \"two\")\ndef double(x):\n    return two * x\n");
    write("b.star", "two = 2\n");
    let mut library = Library::builtin();
    library.load_file(folder.join("main.star")).unwrap();
    let results = Plan::new().metrics(library.metrics("own").unwrap()).measure(&samples()).unwrap();
    assert_eq!(figure(&results, "own"), 6.0);

    write("b.star", "load(\"main.star\", \"own\")\ntwo = 2\n");
    let error = Library::builtin().load_file(folder.join("main.star")).unwrap_err().to_string();
    assert!(error.starts_with("`main.star` is being loaded already\n") && error.contains("^^^^"), "{error}");
    write("b.star", "load(\"nowhere.star\", \"two\")\n");
    let error = Library::builtin().load_file(folder.join("main.star")).unwrap_err().to_string();
    assert!(error.contains("nowhere.star` cannot be read") && error.contains("load(\"nowhere.star\""), "{error}");
    write("b.star", "to = 2\n");
    let error = Library::builtin().load_file(folder.join("main.star")).unwrap_err().to_string();
    assert!(error.contains("did you mean `to`?"), "{error}");
    let error = Library::builtin().load_file(folder.join("none.star")).unwrap_err().to_string();
    assert!(error.contains("hint: check the name of the file"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn runaway_scripts_are_stopped() {
    let limits =
        ScriptLimits { steps: 1_000_000, time: Duration::from_secs(2), memory: 1 << 26, ..ScriptLimits::default() };
    let fresh = || Library::new(Registry::builtin(), Labels::default(), limits);
    let mut library = fresh();
    library
        .load(
            "bad.star",
            "def deep(scores):\n    return deep(scores)\n\
             def long(scores):\n    for i in range(2000000000):\n        pass\n    return 1\n\
             def much(scores):\n    all = []\n    for i in range(2000000000):\n        all.append(\"text %d\" % i)\n    return 1\n\
             def slow(scores):\n    return sum(range(2000000000))\n",
        )
        .unwrap();
    for (expression, want) in [
        ("deep", "the script's calls nest too deeply"),
        ("long", "the script takes too many steps"),
        ("much", "the script "),
        ("slow", "the script's time is up"),
    ] {
        let metrics = library.metrics(expression).unwrap();
        let error = Plan::new().metrics(metrics).measure(&samples()).unwrap_err().to_string();
        assert!(error.contains(want) && error.contains(&format!("`{expression}`")), "{expression}: {error}");
    }
    let endless = "[x for x in range(2000000000) if x < 0]";
    let error = fresh().metrics(endless).unwrap_err().to_string();
    assert!(error.contains("too many steps"), "{error}");
}

#[test]
fn deep_sources_do_not_end_the_process() {
    let brackets = "(".repeat(5000) + "1" + &")".repeat(5000);
    assert!(mistake(&brackets).contains("brackets nest deeper than 200 levels"));
    for long in [
        "1".to_owned() + &"+1".repeat(8000),
        "-".repeat(16_000) + "1",
        "not ".repeat(4000) + "1",
        "a".to_owned() + &".b".repeat(8000),
        "accuracy".to_owned() + &"()".repeat(8000),
        "lambda: ".repeat(2000) + "1",
        "1 if 1 else ".repeat(1300) + "1",
    ] {
        assert!(!mistake(&long).is_empty(), "{}", &long[..20]);
    }
    let within = (0..400).map(|depth| format!("{}if True:\n", " ".repeat(depth))).collect::<String>();
    let source = format!("{within}{}x = 1\n", " ".repeat(400));
    assert!(Library::builtin().load("deep.star", &source).is_ok());
    let chain = format!("x = 1{}\n", "+1".repeat(16_000));
    assert!(Library::builtin().load("chain.star", &chain.repeat(7)).is_ok());
    let unary = format!("x = {}1\n", "-".repeat(32_000));
    assert!(Library::builtin().load("unary.star", &unary).is_ok());
    let otherwise = "if 0:\n  x = 0\n".to_owned() + &"elif 0:\n  x = 1\n".repeat(15_000);
    assert!(Library::builtin().load("elif.star", &otherwise).is_ok());
    let refused = |source: &str| Library::builtin().load("long.star", source).unwrap_err().to_string();
    assert!(refused(&"#".repeat(1 << 19)).contains("longer than 256 KiB"));
    assert!(
        refused(&format!("x = {}1\n", "-".repeat(40_000))).contains("a statement of long.star is longer than 32 KiB")
    );
    let quoted = format!("x = \"{}\" # {}\n", "(".repeat(500), "[".repeat(500));
    assert!(Library::builtin().load("quoted.star", &quoted).is_ok());
}
