//! Expressions, definitions and their mistakes.
#![allow(clippy::unwrap_used)] // a script that must work fails loudly

use calipers_core::{MetricSpec, Plan, Results, Samples};
use calipers_script::Library;

const DEFINITIONS: &str = r#"
def pass_rate(threshold = 0.5):
    """Proportion of samples scoring at or above `threshold`."""
    def metric(scores):
        if not scores:
            return 0.0
        passed = [s for s in scores if s.score.as_float() >= threshold]
        return len(passed) / len(scores)
    return metric

def mean_score():
    def reduce(scores):
        """Compute a mean value of all scores."""
        values = [to_float(score.value) for score in scores]
        return Score(value = mean(values))
    return reduce
"#;

fn samples() -> Samples {
    let mut samples = Samples::new();
    for (id, category, scores) in [(1, "a", ["C", "I"]), (2, "a", ["C", "C"]), (3, "b", ["I", "P"])] {
        for score in scores {
            samples.push(id).metadata("category", category).score("judge", score);
        }
    }
    samples
}

fn library() -> Library {
    let mut library = Library::builtin();
    library.load("metrics.star", DEFINITIONS).unwrap();
    library
}

fn measured(expression: &str) -> Results {
    let metrics: Vec<MetricSpec> = library().metrics(expression).unwrap();
    Plan::new().metrics(metrics).measure(&samples()).unwrap()
}

#[track_caller]
fn figure(results: &Results, name: &str) -> f64 {
    results.figure("judge", name).unwrap().value.clone().unwrap()
}

#[test]
fn expressions_are_written_as_in_inspect() {
    for expression in [
        "accuracy()",
        "mean()",
        "var()",
        "std()",
        "stderr()",
        "stderr(cluster=\"category\")",
        "bootstrap_stderr(num_samples=1000)",
        "ci(level=0.95)",
        "ci(level=0.9, method=\"bootstrap\", num_samples=100, cluster=\"category\")",
        "ci_wilson()",
        "grouped(accuracy(), \"category\")",
        "grouped(accuracy(), \"category\", all=\"groups\", name_template=\"category_{group_name}\")",
        "grouped(stderr(), \"category\", all=False)",
        "frequency([\"C\", \"I\"], normalize=False)",
        "[accuracy(), stderr()]",
    ] {
        assert!(!measured(expression).scores[0].metrics.is_empty(), "{expression}");
    }
    assert_eq!(figure(&measured("grouped(accuracy(), \"category\", all=\"groups\")"), "all"), 0.5);
}

#[test]
fn metrics_and_reducers_of_ones_own() {
    assert_eq!(figure(&measured("pass_rate(0.5)"), "pass_rate"), 2.0 / 3.0);
    assert_eq!(figure(&measured("pass_rate(threshold = 0.9)"), "pass_rate"), 1.0 / 3.0);
    let reducer = library().reducer("mean_score").unwrap();
    let results = Plan::new().reducers([reducer]).metrics([calipers_core::accuracy()]).measure(&samples()).unwrap();
    assert!((figure(&results, "accuracy") - 7.0 / 12.0).abs() < 1e-12);
}

#[test]
fn mistakes_are_underlined() {
    let error = library().metrics("acuracy()").unwrap_err().to_string();
    assert!(error.contains("acuracy") && error.contains("did you mean") && error.contains("^^^^"), "{error}");
    let error = library().metrics("grouped(accuracy(), \"category\", all=\"every\")").unwrap_err().to_string();
    assert!(error.contains("must be `samples`, `groups` or False"), "{error}");
    let error = library().metrics("accuracy").unwrap_err().to_string();
    assert!(error.contains("hint: write it as a call"), "{error}");
    let error = library().metrics("1 + 1").unwrap_err().to_string();
    assert!(error.contains("not a metric"), "{error}");
    let error = library().reducer("pas_at_2").unwrap_err().to_string();
    assert_eq!(error, "there is no reducer `pas_at_2`\n  hint: did you mean `pass_at_1`?");
    let mut broken = Library::builtin();
    let error = broken.load("metrics.star", "def f(:\n  pass\n").unwrap_err().to_string();
    assert!(error.contains("metrics.star:1"), "{error}");
}

#[test]
fn runaway_scripts_are_stopped() {
    let mut library = Library::builtin();
    library
        .load(
            "bad.star",
            "def deep():\n    def f(n):\n        return f(n + 1)\n    def metric(scores):\n        return f(0)\n    return metric\n\
             def wrong():\n    def metric(scores):\n        return \"many\"\n    return metric\n",
        )
        .unwrap();
    for (expression, want) in [("deep()", "overflow"), ("wrong()", "not a number")] {
        let metrics = library.metrics(expression).unwrap();
        let error = Plan::new().metrics(metrics).measure(&samples()).unwrap_err().to_string();
        assert!(error.contains(want), "{expression}: {error}");
    }
    let endless = "[x for x in range(2000000000) if x < 0]";
    let error = Library::builtin().metrics(endless).unwrap_err().to_string();
    assert!(error.contains("limit") || error.contains("ticks"), "{error}");
}
