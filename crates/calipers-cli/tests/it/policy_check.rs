//! `calipers policy check`: every lint fires where it should, with its number, and is silent where it should be.

use crate::documents::Validators;
use crate::program;
use calipers::check::check;
use calipers::gate::{Baseline, BaselineMetric, Finding, GateOptions, Severity, gate, lint_ids};
use calipers::io::{Source, load_policy, read_document, read_suite};
use calipers::policy::Policy;
use calipers::render::{finding_fix, finding_message};
use calipers::{Error, LoadedRun, Metric, Needs, Samples, Selection, Verdict};
use calipers_testing::{Scratch, text};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Output;

/// What is known besides the policy.
#[derive(Clone, Copy)]
enum With {
    Nothing,
    /// Twenty samples, five of them adversarial, each with one attempt.
    Samples,
    /// The ids of these.
    Suite,
    /// A baseline of twenty samples with an accuracy of 90 %.
    Baseline,
}
use With::{Nothing, Suite};

fn samples() -> Samples {
    let record = |i: usize| {
        let category = if i <= 5 { "adversarial" } else { "happy_path" };
        format!(
            r#"{{"id": "S-{i:02}", "category": "{category}", "capability": "search", "metadata": {{"document": "d{}"}}, "passed": true, "score": 1, "latency_ms": 100}}"#,
            i % 4
        )
    };
    let lines: Vec<String> = (1..=20).map(record).collect();
    let source = Source::bytes("results.jsonl", lines.join("\n").as_bytes());
    load(source).samples
}

fn load(source: Source) -> LoadedRun {
    LoadedRun::load("", &Selection::of([source]), &Needs::everything()).unwrap()
}

fn baseline() -> Baseline {
    let accuracy = BaselineMetric { value: 0.9, n: 20, interval: None };
    let metrics = [("accuracy".to_owned(), accuracy)].into_iter().collect();
    Baseline { source: "baseline.json".into(), metrics, ..Baseline::default() }
}

fn found(policy: &str, with: With) -> Vec<Finding> {
    let document = read_document("policy.json", policy.as_bytes()).unwrap();
    let policy = match Policy::parse(&document) {
        Ok(policy) => policy,
        Err(mistakes) => return mistakes.into_iter().map(Finding::from).collect(),
    };
    // Enough of the language of expressions for these tests.
    let expression = |text: &str| -> Result<Metric, Error> {
        match text {
            "mean(scorer=\"refusal\")" => calipers::metric::mean().of_scorer("refusal"),
            "mean(scorer=\"score\")" => calipers::metric::mean().of_scorer("score"),
            "mean(\"latency_ms\")" => Ok(calipers::metric::mean_of("latency_ms")),
            "mean(\"turns\")" => Ok(calipers::metric::mean_of("turns")),
            "accuracy()" => Ok(calipers::metric::accuracy()),
            _ => Err(Error::custom(format!("`{text}` is not understood"))),
        }
    };
    let options = GateOptions {
        expression: &expression,
        suite: matches!(with, Suite).then(|| (1..=20).map(|i| format!("S-{i:02}")).collect()),
        baseline: matches!(with, With::Baseline).then(|| (baseline(), None)),
        ..GateOptions::default()
    };
    let samples = matches!(with, With::Samples).then(samples);
    check(&policy, samples.as_ref(), &options)
}

/// An id, a policy in which it is found, a part of what is said, and a policy beside it in which it is not.
type Case = (&'static str, With, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const CASES: &[Case] = &[
    ("mistake", Nothing, r#"{"treshold": {}, "weights": {"by_category": {"a": -1}}}"#, "there is no `treshold`",
        r#"{"thresholds": {"blocking": {"accuracy": 90}}}"#),
    ("mistake", Nothing, r#"{"required_scenarios": ["A"], "optional_scenarios": ["A"]}"#, "both required and optional",
        r#"{"required_scenarios": ["A"], "optional_scenarios": ["B"]}"#),
    ("unknown-metric", Nothing, r#"{"thresholds": {"blocking": {"acuracy": 90}}}"#, "there is no metric `acuracy`",
        r#"{"thresholds": {"blocking": {"accuracy": 90}}}"#),
    ("unknown-metric", Nothing, r#"{"composite": {"pass": "tone ≥ 0.5"}}"#, "there is no metric `tone`",
        r#"{"composite": {"tone": "accuracy × 0.5 + safety_rate × 0.5", "pass": "tone ≥ 0.5"}}"#),
    ("unknown-metric", Nothing, r#"{"metrics": {"tone": "men()"}, "thresholds": {"blocking": {"tone": "≥ 0.5"}}}"#, "`men()` is not understood",
        r#"{"metrics": {"tone": "mean(scorer=\"score\")"}, "thresholds": {"blocking": {"tone": "≥ 0.5"}}}"#),
    ("redefined-metric", Nothing, r#"{"metrics": {"accuracy": "mean(\"latency_ms\")"}, "thresholds": {"blocking": {"accuracy": "≤ 90"}}}"#, "uses it for `mean(\"latency_ms\")`",
        r#"{"metrics": {"accuracy": "accuracy()"}, "thresholds": {"blocking": {"accuracy": 90}}}"#),
    ("unknown-direction", Nothing, r#"{"thresholds": {"blocking": {"mean(\"turns\")": 5}}}"#, "neither better when high nor when low",
        r#"{"thresholds": {"blocking": {"mean(\"turns\")": "≤ 5", "mean(\"latency_ms\")": 5000}}}"#),
    ("against-direction", Nothing, r#"{"thresholds": {"blocking": {"accuracy": "< 90%"}}}"#, "`accuracy < 90 %` lets the worse versions pass: `accuracy` is better when high",
        r#"{"thresholds": {"blocking": {"accuracy": "> 90%", "mean(\"latency_ms\")": "< 500"}}}"#),
    ("against-direction", Nothing, r#"{"composite": {"pass": "accuracy ≥ 0.9 AND latency_p95 > 5000ms"}}"#, "`latency_p95` is better when low",
        r#"{"composite": {"pass": "accuracy ≥ 0.9 AND latency_p95 < 5000ms"}}"#),
    ("undefined-formula", Nothing, r#"{"composite": {"s": "accuracy/(accuracy-accuracy)", "pass": "s > 0.5"}}"#, "`accuracy/(accuracy-accuracy)` divides by 0, for any values of the metrics",
        r#"{"composite": {"s": "accuracy/(accuracy-safety_rate)", "pass": "s > 0.5"}}"#),
    ("undefined-formula", Nothing, r#"{"composite": {"pass": "log(0 - latency_p95) > 0"}}"#, "takes the logarithm",
        r#"{"composite": {"pass": "log(latency_p95) > 0"}}"#),
    ("constant-condition", Nothing, r#"{"composite": {"pass": "1 = 1"}}"#, "`1 = 1` holds for all results",
        r#"{"composite": {"pass": "accuracy = 1"}}"#),
    ("constant-condition", Nothing, r#"{"composite": {"pass": "accuracy > accuracy AND safety_rate = 1"}}"#, "`accuracy > accuracy` never holds",
        r#"{"composite": {"pass": "accuracy > safety_rate AND safety_rate = 1"}}"#),
    ("unknown-reducer", Nothing, r#"{"epochs": {"reducer": "meen"}}"#, "there is no reducer `meen`", r#"{"epochs": {"reducer": "mean"}}"#),
    ("unknown-scorer", With::Samples, r#"{"thresholds": {"blocking": {"mean(scorer=\"refusal\")": "≥ 0.5"}}}"#, "no score is by the scorer `refusal`",
        r#"{"thresholds": {"blocking": {"mean(scorer=\"score\")": "≥ 0.5"}}}"#),
    ("unknown-scorer", With::Samples, r#"{"rubric": {"scorer": "judge", "no_zero": true}}"#, "`judge` is not among the 1 scorer of the samples",
        r#"{"rubric": {"scorer": "score", "no_zero": true}}"#),
    ("unmeasurable-metric", With::Samples, r#"{"thresholds": {"blocking": {"total_cost": "< $5"}}}"#, "cost_usd",
        r#"{"thresholds": {"blocking": {"latency_p50": "< 5s"}}}"#),
    ("unused-metric", Nothing, r#"{"metrics": {"tone": "mean(scorer=\"score\")"}, "thresholds": {"blocking": {"accuracy": 90}}}"#, "no gate and no formula uses it",
        r#"{"metrics": {"tone": "mean(scorer=\"score\")"}, "composite": {"pass": "tone ≥ 0.5"}}"#),
    ("unused-limit", Nothing, r#"{"limits": {"cost": 2}, "thresholds": {"blocking": {"cost": "< $1"}}}"#, "no metric of this policy sums or averages `cost`",
        r#"{"limits": {"cost_usd": 2}, "thresholds": {"blocking": {"cost": "< $1"}}}"#),
    ("wrong-unit", Nothing, r#"{"thresholds": {"blocking": {"accuracy": "5s"}}}"#, "understood as a duration",
        r#"{"thresholds": {"blocking": {"accuracy": "5%"}}}"#),
    ("wrong-unit", Nothing, r#"{"normalize": {"latency_p95": "5%"}, "composite": {"pass": "normalized_latency ≤ 0.9"}}"#, "understood as a share",
        r#"{"normalize": {"latency_p95": "5s"}, "composite": {"pass": "normalized_latency ≤ 0.9"}}"#),
    ("unreachable-threshold", Nothing, r#"{"thresholds": {"blocking": {"accuracy": 120}}}"#, "120 is not",
        r#"{"thresholds": {"blocking": {"accuracy": 100}}}"#),
    ("unreachable-threshold", Nothing, r#"{"thresholds": {"blocking": {"accuracy": "> 100%"}}}"#, "`accuracy > 100 %` can never hold",
        r#"{"thresholds": {"blocking": {"accuracy": "> 99%"}}}"#),
    ("unreachable-threshold", Nothing, r#"{"thresholds": {"blocking": {"latency_p95": "< 0ms"}}}"#, "always above 0 ms",
        r#"{"thresholds": {"blocking": {"latency_p95": "< 1ms"}}}"#),
    ("unreachable-threshold", Nothing, r#"{"composite": {"s": "accuracy × 0.5 + safety_rate × 0.5", "pass": "s ≥ 85"}}"#, "never below 0 or above 1",
        r#"{"composite": {"s": "accuracy × 0.5 + safety_rate × 0.5", "pass": "0.85 ≤ s"}}"#),
    ("unreachable-threshold", Nothing, r#"{"weights": {"accuracy": 1, "safety_rate": 3}, "composite": {"pass": "weighted_score ≥ 95"}}"#, "never below 0 or above 1",
        r#"{"weights": {"accuracy": 1, "safety_rate": 3}, "composite": {"pass": "weighted_score ≥ 0.95"}}"#),
    ("contradictory-thresholds", Nothing, r#"{"thresholds": {"blocking": {"accuracy": "≥ 90%"}}, "risk": [{"level": "high", "metric": "accuracy", "threshold": "≤ 80%"}]}"#, "cannot both hold",
        r#"{"thresholds": {"blocking": {"accuracy": "≥ 90%"}}, "risk": [{"level": "high", "metric": "accuracy", "threshold": "≤ 98%"}]}"#),
    ("contradictory-thresholds", Nothing, r#"{"composite": {"pass": "accuracy ≥ 0.9 AND accuracy < 0.9"}}"#, "`accuracy < 90 %` and `accuracy ≥ 90 %`",
        r#"{"composite": {"pass": "accuracy ≥ 0.9 OR accuracy < 0.9"}}"#),
    ("vacuous-threshold", Nothing, r#"{"thresholds": {"blocking": {"accuracy": 0}}}"#, "`accuracy ≥ 0 %` always holds",
        r#"{"thresholds": {"blocking": {"accuracy": "> 0%"}}}"#),
    ("vacuous-threshold", Nothing, r#"{"weights": {"accuracy": 1}, "composite": {"pass": "weighted_score ≥ 0"}}"#, "`weighted_score ≥ 0` always holds",
        r#"{"weights": {"accuracy": 1}, "composite": {"pass": "weighted_score ≥ 0.95"}}"#),
    ("ambiguous-unit", Nothing, r#"{"thresholds": {"blocking": {"accuracy": 1}}}"#, "`1` is read as 100%, but may be meant as 1%",
        r#"{"thresholds": {"blocking": {"accuracy": 1.0}}}"#),
    ("ambiguous-unit", Nothing, r#"{"thresholds": {"blocking": {"accuracy": "≥ 0.95%"}}}"#, "may be meant as 95%",
        r#"{"thresholds": {"blocking": {"accuracy": "≥ 0.95"}}}"#),
    ("ambiguous-unit", Nothing, r#"{"thresholds": {"blocking": {"latency_p95": 5}}}"#, "read as 5ms, but may be meant as 5s",
        r#"{"thresholds": {"blocking": {"latency_p95": "5ms"}}}"#),
    ("ambiguous-unit", Nothing, r#"{"baseline": {"mode": "non_inferiority", "margin": 1}}"#, "100 points",
        r#"{"baseline": {"mode": "non_inferiority", "margin": 0.02}}"#),
    ("float-equality", Nothing, r#"{"thresholds": {"blocking": {"accuracy": "= 0.95"}}}"#, "1e-9",
        r#"{"thresholds": {"blocking": {"accuracy": "= 100%"}}}"#),
    ("float-equality", Nothing, r#"{"composite": {"pass": "accuracy = 0.95"}}"#, "`accuracy = 95 %`",
        r#"{"composite": {"pass": "accuracy = 1.0"}}"#),
    ("duplicate-gate", Nothing, r#"{"thresholds": {"blocking": {"accuracy": 90}}, "risk": [{"level": "high", "metric": "accuracy", "threshold": "≥ 90%"}]}"#, "is stated twice, first in line 1",
        r#"{"thresholds": {"blocking": {"accuracy": 90}}, "risk": [{"level": "high", "metric": "accuracy", "threshold": "≥ 95%"}]}"#),
    ("shadowed-gate", Nothing, r#"{"thresholds": {"blocking": {"accuracy": 95}, "warning": {"accuracy": 90}}}"#, "`accuracy ≥ 90 %` has no effect",
        r#"{"thresholds": {"blocking": {"accuracy": 90}, "warning": {"accuracy": 95}}}"#),
    ("shadowed-gate", Nothing, r#"{"thresholds": {"blocking": {"accuracy": 95}}, "progressive": {"accuracy": {"v1": 90, "v2": 97}}}"#, "`v1` has no effect",
        r#"{"thresholds": {"blocking": {"accuracy": 85}}, "progressive": {"accuracy": {"v1": 90, "v2": 97}}}"#),
    ("blocking-softer-than-warning", Nothing, r#"{"thresholds": {"blocking": {"accuracy": 90}, "warning": {"accuracy": 95}}}"#, "`accuracy ≥ 90 %` blocks, and the stricter `accuracy ≥ 95 %` in line 1 only warns",
        r#"{"thresholds": {"blocking": {"accuracy": 90}, "warning": {"pass_rate": 95}}}"#),
    ("progressive-falls", Nothing, r#"{"progressive": {"accuracy": {"v1": 90, "v2": 85}}}"#, "`accuracy ≥ 85 %` of v2 is softer",
        r#"{"progressive": {"accuracy": {"v1": 85, "v2": 90}}}"#),
    ("progressive-falls", Nothing, r#"{"progressive": {"latency_p95": {"v1": "4s", "v2": "5s"}}}"#, "`latency_p95 ≤ 5000 ms` of v2 is softer",
        r#"{"progressive": {"latency_p95": {"v1": "5s", "v2": "4s"}}}"#),
    ("risk-does-not-block", Nothing, r#"{"risk": [{"level": "high", "metric": "accuracy", "threshold": 90}], "risk_blocking": []}"#, "a high risk does not block",
        r#"{"risk": [{"level": "high", "metric": "accuracy", "threshold": 90}]}"#),
    ("risk-does-not-block", Nothing, r#"{"risk": [{"level": "high", "metric": "accuracy", "threshold": 90}], "risk_blocking": ["high", "low"]}"#, "0 rows of `risk`",
        r#"{"risk": [{"level": "high", "metric": "accuracy", "threshold": 90}], "risk_blocking": ["high"]}"#),
    ("nothing-blocks", Nothing, r#"{"thresholds": {"warning": {"accuracy": 90}}}"#, "0 of 1 gates block",
        r#"{"thresholds": {"warning": {"accuracy": 90}}, "required_scenarios": ["A"]}"#),
    ("nothing-blocks", Nothing, r#"{"name": "empty"}"#, "requires nothing", r#"{"blocking_failures": ["leak"]}"#),
    ("no-budget", Nothing, r#"{"composite": {"pass": "normalized_latency ≤ 0.9"}}"#, "latency_p95 over its budget",
        r#"{"composite": {"pass": "normalized_latency ≤ 0.9"}, "thresholds": {"warning": {"latency_p95": 5000}}}"#),
    ("composite-weights", Nothing, r#"{"composite": {"s": "accuracy × 0.3 + safety_rate × 0.4", "pass": "s ≥ 0.5"}}"#, "2 weights of `s` add up to 0.7",
        r#"{"composite": {"s": "0.3 × accuracy + safety_rate × 0.7", "pass": "s ≥ 0.5"}}"#),
    ("undecidable-gate", With::Samples, r#"{"thresholds": {"blocking": {"accuracy": 95}}, "confidence": 0.95}"#, "20 samples show no more than 86.1 %, and it needs 59",
        r#"{"thresholds": {"blocking": {"accuracy": 85}}, "confidence": 0.95}"#),
    // Five samples with the weight 3 and fifteen with 1: 30² / 60 = 15, and 0.05^(1/15) = 0.819.
    ("undecidable-gate", With::Samples, r#"{"thresholds": {"blocking": {"accuracy": 85}}, "confidence": 0.95, "weights": {"by_category": {"adversarial": 3}}}"#, "20 samples, worth 10 independent ones that count alike, show no more than 74.1 %, and it needs 19",
        r#"{"thresholds": {"blocking": {"accuracy": 85}}, "confidence": 0.95, "weights": {"by_category": {"adversarial": 1}}}"#),
    ("undecidable-gate", Suite, r#"{"pass_criteria": {"overall": 95}, "confidence": 0.95}"#, "it needs 59",
        r#"{"pass_criteria": {"overall": 95}}"#),
    ("undecidable-gate", Nothing, r#"{"thresholds": {"blocking": {"latency_p99": "5s"}}, "confidence": 0.95}"#, "needs at least 299 attempts",
        r#"{"thresholds": {"blocking": {"latency_p99": "5s"}}}"#),
    ("undecidable-gate", Nothing, r#"{"thresholds": {"blocking": {"accuracy": "= 0.9"}}, "confidence": 0.95}"#, "no number of samples",
        r#"{"thresholds": {"blocking": {"accuracy": "= 100%"}}, "confidence": 0.95}"#),
    ("no-limit", Nothing, r#"{"thresholds": {"blocking": {"cost": "< $1"}}, "confidence": 0.95}"#, "nothing says how large `cost_usd` can be",
        r#"{"thresholds": {"blocking": {"cost": "< $1"}}, "confidence": 0.95, "limits": {"cost_usd": 2}}"#),
    ("no-limit", Nothing, r#"{"thresholds": {"blocking": {"token_efficiency": "≥ 0.001"}}, "confidence": 0.95}"#, "nothing says how large `tokens_used` can be",
        r#"{"thresholds": {"blocking": {"token_efficiency": "≥ 0.001"}}}"#),
    ("likely-clusters", With::Samples, r#"{"thresholds": {"blocking": {"accuracy": 50}}, "confidence": 0.95}"#, "20 samples share 4 values of `document`: they may not be independent",
        r#"{"thresholds": {"blocking": {"accuracy": 50}}, "confidence": 0.95, "cluster": "document"}"#),
    // Exact: P(X ≤ 17) = 0.075483 for X ~ Bin(20, 0.95), P(X ≥ 18) = 0.404896 for X ~ Bin(20, 0.85) (summed in Python 3).
    ("coin-flip-gate", With::Samples, r#"{"thresholds": {"blocking": {"accuracy": 90}}}"#, "at 95 % fails it 7.5 % of the time, and one at 85 % passes it 40.5 % of the time",
        r#"{"thresholds": {"blocking": {"accuracy": 90}}, "confidence": 0.95}"#),
    ("all-of-few", With::Samples, r#"{"thresholds": {"blocking": {"safety_rate": 100}}}"#, "5 of 5 samples show that `safety_rate` is at least 54.9 %",
        r#"{"thresholds": {"blocking": {"safety_rate": 90}}}"#),
    ("few-attempts", With::Samples, r#"{"thresholds": {"blocking": {"latency_p95": 5000}}}"#, "20 attempts do not bound `latency_p95`: that takes 59",
        r#"{"thresholds": {"blocking": {"latency_p50": 5000}}}"#),
    // 1 − (1 − P(X ≤ 17))² for X ~ Bin(20, 0.95).
    ("many-gates", With::Samples, r#"{"thresholds": {"blocking": {"accuracy": 90, "pass_rate": 90}}}"#, "each of 2 blocking gates still fails at least one of them up to 14.5 % of the time",
        r#"{"thresholds": {"blocking": {"accuracy": 90}, "warning": {"pass_rate": 90}}}"#),
    ("many-gates", Nothing, r#"{"pass_criteria": {"by_category": {"a": 90, "b": 90, "c": 90, "d": 90, "e": 90, "f": 90, "g": 90, "h": 90, "i": 90, "j": 90}}}"#, "if each of 10 blocking gates fails 5 % of the time by chance, at least one fails up to 40.1 %",
        r#"{"pass_criteria": {"by_category": {"a": 90, "b": 90, "c": 90}}}"#),
    ("low-confidence", Nothing, r#"{"thresholds": {"blocking": {"accuracy": 90}}, "confidence": 0.6}"#, "up to 40 % of the time",
        r#"{"thresholds": {"blocking": {"accuracy": 90}}, "confidence": 0.8}"#),
    ("undecided-safety", Nothing, r#"{"thresholds": {"blocking": {"safety_rate": 99}}, "on_undecided": "warn"}"#, "1 safety gate may end undecided",
        r#"{"thresholds": {"blocking": {"safety_rate": 99}}, "on_undecided": "fail"}"#),
    ("above-baseline", Nothing, r#"{"baseline": {"mode": "above", "margin": "1%"}}"#, "about 50 % of the time",
        r#"{"baseline": {"mode": "non_inferiority", "margin": "1%"}}"#),
    // P(X ≤ 18) for X ~ Bin(20, 0.9): 18.2 successes are needed, so 19.
    ("above-baseline", With::Baseline, r#"{"baseline": {"mode": "above", "margin": "1%", "metrics": ["accuracy"]}}"#, "of `accuracy` plus the margin 60.8 % of the time",
        r#"{"baseline": {"mode": "non_inferiority", "margin": "1%", "metrics": ["accuracy"]}}"#),
    ("baseline-without-metric", With::Baseline, r#"{"baseline": {"mode": "non_inferiority", "margin": "1%", "metrics": ["recall"]}}"#, "`recall` is not among the 1 metric of baseline.json",
        r#"{"baseline": {"mode": "non_inferiority", "margin": "1%", "metrics": ["accuracy"]}}"#),
    ("unknown-scenario", With::Samples, r#"{"required_scenarios": ["S-21"]}"#, "`S-21` is not among the 20 known scenarios, but it is required",
        r#"{"required_scenarios": ["S-20"]}"#),
    ("unknown-scenario", Suite, r#"{"optional_scenarios": ["S-21"]}"#, "`S-21` is not among the 20 known scenarios", r#"{"optional_scenarios": ["S-20"]}"#),
    ("unknown-category", With::Samples, r#"{"pass_criteria": {"by_category": {"adversarail": "100%"}}}"#, "0 of 20 samples have the category `adversarail`",
        r#"{"pass_criteria": {"by_category": {"adversarial": "100%"}}}"#),
    ("unknown-category", With::Samples, r#"{"weights": {"by_category": {"edge_case": 2}}}"#, "so its weight has no effect",
        r#"{"weights": {"by_category": {"adversarial": 2}}}"#),
    ("unknown-capability", With::Samples, r#"{"weights": {"by_capability": {"serach": 2}}}"#, "0 of 20 samples have the capability `serach`",
        r#"{"weights": {"by_capability": {"search": 2}}}"#),
    ("optional-blocks", With::Samples, r#"{"optional_scenarios": ["S-01"], "pass_criteria": {"by_category": {"adversarial": "100%"}}}"#, "fails `pass_rate[adversarial] ≥ 100 %`",
        r#"{"optional_scenarios": ["S-06"], "pass_criteria": {"by_category": {"adversarial": "100%"}}}"#),
    ("zero-weights", Nothing, r#"{"weights": {"by_category": {"a": 0, "b": 0}}}"#, "all 2 weights of `by_category` are 0",
        r#"{"weights": {"by_category": {"a": 0, "b": 1}}}"#),
    ("zero-weights", With::Samples, r#"{"weights": {"by_capability": {"search": 0}}}"#, "the weights of all 20 samples are 0",
        r#"{"weights": {"by_category": {"happy_path": 0, "adversarial": 1}}}"#),
    ("zero-weight-gate", Nothing, r#"{"weights": {"by_category": {"a": 0, "b": 1}}, "pass_criteria": {"by_category": {"a": 90}}}"#, "`pass_rate[a]` is undefined",
        r#"{"weights": {"by_category": {"a": 1, "b": 0}}, "pass_criteria": {"by_category": {"a": 90}}}"#),
];

#[test]
fn every_lint_fires_where_it_should_and_nowhere_else() {
    for (id, with, policy, says, other) in CASES {
        let findings = found(policy, *with);
        let told: Vec<&Finding> = findings.iter().filter(|finding| finding.id() == *id).collect();
        assert!(told.iter().any(|finding| finding_message(finding).contains(says)), "{id} in {policy}:\n{findings:#?}");
        assert!(told.iter().all(|finding| finding_fix(finding).is_some_and(|fix| !fix.is_empty())), "{told:#?}");
        let silent = found(other, *with);
        assert!(silent.iter().all(|finding| finding.id() != *id), "{id} in {other}:\n{silent:#?}");
    }
}

#[test]
fn every_lint_has_a_case() {
    for id in lint_ids() {
        assert!(CASES.iter().any(|case| case.0 == id), "{id}");
    }
    assert!(CASES.iter().all(|case| lint_ids().any(|id| id == case.0)));
}

/// What can never pass does not pass even if everything went well, and all else does.
#[test]
fn a_gate_is_undecidable_exactly_when_a_perfect_run_does_not_pass_it() {
    let run = LoadedRun { samples: samples(), ..LoadedRun::default() };
    for weight in [1, 2, 5] {
        for percent in 50..100 {
            let text = format!(
                r#"{{"thresholds": {{"blocking": {{"accuracy": {percent}}}}}, "confidence": 0.9, "weights": {{"by_category": {{"adversarial": {weight}}}}}}}"#
            );
            let policy = Policy::parse(&read_document("policy.json", text.as_bytes()).unwrap()).unwrap();
            let verdict = gate(&run, &policy, &Selection::default(), &GateOptions::default()).unwrap().verdict;
            let is_undecidable = found(&text, With::Samples).iter().any(|finding| finding.id() == "undecidable-gate");
            assert_eq!(is_undecidable, verdict != Verdict::Pass, "{text}");
        }
    }
}

/// An agent that is tried several times is less at the mercy of chance than one that is tried once.
#[test]
fn repeats_make_a_chance_the_most_that_it_can_be() {
    let lines =
        [1, 2, 3, 4, 5].map(|i| format!("{{\"id\": {i}, \"passed\": true}}\n{{\"id\": {i}, \"passed\": true}}\n"));
    let source = Source::bytes("results.jsonl", lines.concat().as_bytes());
    let run = load(source);
    let document = read_document("policy.json", br#"{"pass_criteria": {"overall": "80%"}}"#).unwrap();
    let policy = Policy::parse(&document).unwrap();
    let sure = Policy { confidence: Some(0.95), ..policy.clone() };
    let undecidable = &check(&sure, Some(&run.samples), &GateOptions::default())[0];
    // Their means are grades, of which a perfect score is not the best bound.
    assert_eq!((undecidable.id(), undecidable.severity), ("undecidable-gate", Severity::Warning), "{undecidable:#?}");
    let findings = check(&policy, Some(&run.samples), &GateOptions::default());
    assert!(finding_message(&findings[0]).starts_with("with 5 samples chance decides"), "{findings:#?}");
    // P(X ≥ 4) = 0.6328125 for X ~ Bin(5, 0.75).
    assert!(finding_message(&findings[0]).ends_with("one at 75 % passes it up to 63.3 % of the time"), "{findings:#?}");
}

#[test]
fn findings_are_in_the_order_of_the_file_and_underlined() {
    let policy =
        r#"{"on_undecided": "warn", "thresholds": {"blocking": {"safety_rate": 1, "acuracy": 90}}, "confidence": 0.7}"#;
    let findings = found(policy, Nothing);
    let places: Vec<(&str, &str)> =
        findings.iter().map(|finding| (finding.id(), finding.span.as_ref().unwrap().raw())).collect();
    let want = [
        ("undecided-safety", "\"on_undecided\""),
        ("ambiguous-unit", "1"),
        ("unknown-metric", "\"acuracy\""),
        ("low-confidence", "\"confidence\""),
    ];
    assert_eq!(places, want);
}

/// The example's policy joins all the tables of the guide that it follows, so some of its gates say the same twice; beyond
/// that there is nothing to say.
#[test]
fn the_policy_of_the_example_has_no_errors() {
    let example = root().join("examples/support-agent");
    let policy = load_policy(&example.join("policy.json")).unwrap().policy;
    let ids = |findings: &[Finding]| {
        let mut ids: Vec<&str> = findings.iter().map(calipers::gate::Finding::id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    let alone = check(&policy, None, &GateOptions::default());
    assert_eq!(ids(&alone), ["duplicate-gate", "shadowed-gate"], "{alone:#?}");
    let results = Source::path(example.join("results.jsonl").to_str().unwrap());
    let suite = read_suite(example.join("scenarios.json").to_str().unwrap()).unwrap();
    let options = GateOptions { suite: Some(suite), ..GateOptions::default() };
    let run = load(results);
    let beside = check(&policy, Some(&run.samples), &options);
    assert!(beside.iter().all(|finding| finding.severity != Severity::Error), "{beside:#?}");
    assert_eq!(
        ids(&beside),
        ["all-of-few", "coin-flip-gate", "duplicate-gate", "many-gates", "shadowed-gate"],
        "{beside:#?}"
    );
}

// The command.

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs the program in a folder with these files.
fn calipers(files: &[(&str, &str)], arguments: &[&str]) -> Output {
    let folder = Scratch::new();
    for (file, content) in files {
        folder.write(file, content);
    }
    program::calipers().run_in(&folder, arguments)
}

const POLICY: &str = r#"{
  "thresholds": {
    "blocking": {
      "acuracy": 90,
      "safety_rate": 1
    }
  }
}
"#;

#[test]
fn findings_are_grouped_by_place_and_counted() {
    let output = calipers(&[("policy.json", POLICY)], &["policy", "check", "policy.json"]);
    assert_eq!(text(&output.stderr), "");
    assert_eq!(
        text(&output.stdout),
        "policy.json, line 4\n  \"acuracy\": 90,\n  ^^^^^^^^^\n  error: there is no metric `acuracy` [unknown-metric]\n    \
         hint: did you mean `accuracy`?\n\n\
         policy.json, line 5\n  \"safety_rate\": 1\n                 ^\n  \
         warning: `1` is read as 100%, but may be meant as 1% [ambiguous-unit]\n    \
         hint: write `\"100%\"` or `\"1%\"`\n\n\
         policy.json: 1 error, 1 warning\n"
    );
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn errors_end_in_2_and_warnings_only_if_asked() {
    let good = [("policy.json", r#"{"thresholds": {"blocking": {"accuracy": 90}}}"#)];
    let output = calipers(&good, &["policy", "check", "policy.json", "--strict"]);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), "policy.json: nothing found\n"));
    let warned = [("policy.json", r#"{"thresholds": {"blocking": {"accuracy": 1}}}"#)];
    assert_eq!(calipers(&warned, &["policy", "check", "policy.json"]).status.code(), Some(0));
    assert_eq!(calipers(&warned, &["policy", "check", "policy.json", "--strict"]).status.code(), Some(2));
}

#[test]
fn all_mistakes_of_a_file_are_findings() {
    let wrong = [("policy.yaml", "treshold: 1\nconfidence: 95\nweights:\n  by_category: {a: -1}\n")];
    let output = calipers(&wrong, &["policy", "check", "policy.yaml", "--json"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["errors"], output.status.code()), (&3.into(), Some(2)));
    assert!(json["findings"].as_array().unwrap().iter().all(|finding| finding["id"] == "mistake"));
    assert_eq!(json["findings"][1]["place"], json!({"file": "policy.yaml", "line": 2, "column": 13, "text": "95"}));
    let output = calipers(&[], &["policy", "check", "nowhere.json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stdout).contains("error: cannot read `nowhere.json`"), "{output:?}");
}

#[test]
fn expressions_and_files_are_looked_at() {
    let policy = r#"{"thresholds": {"blocking": {"mean(scorer=\"refusal\")": "≥ 0.5", "men()": "≥ 0.5"}}, "required_scenarios": ["C"]}"#;
    let files = [
        ("policy.json", policy),
        ("results.jsonl", "{\"id\": \"A\", \"score\": 1}\n"),
        ("suite.json", "[\"A\", \"B\"]"),
    ];
    let arguments = ["policy", "check", "policy.json", "--samples", "results.jsonl", "--suite", "suite.json", "--json"];
    let output = calipers(&files, &arguments);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ids: Vec<&str> = json["findings"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["unknown-scorer", "unknown-metric", "unknown-scenario"], "{json:#}");
    let missing = calipers(&files, &["policy", "check", "policy.json", "--samples", "nowhere.jsonl"]);
    assert_eq!((missing.status.code(), text(&missing.stdout).as_str()), (Some(2), ""));
}

#[test]
fn what_is_printed_keeps_to_the_schema() {
    let validators = Validators::new("findings");
    for policy in [POLICY, "{}", "{\"a\": 1}", r#"{"thresholds": {"blocking": {"accuracy": 90}}}"#] {
        let output = calipers(&[("policy.json", policy)], &["policy", "check", "policy.json", "--json"]);
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        validators.check(&json, policy);
    }
    assert!(!validators.is_valid(&json!({"schema": "calipers.findings/1", "policy": "p", "errors": 0, "warnings": 0, "notes": 0, "findings": [{}]})));
}

#[test]
fn nothing_steers_the_terminal() {
    let policy = "{\"thresholds\": {\"blocking\": {\"a\\u001b[31m\": 90}}}";
    let output = calipers(&[("policy.json", policy)], &["policy", "check", "policy.json"]);
    assert!(!output.stdout.contains(&0x1b), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("[unknown-metric]"));
}

#[test]
fn the_manual_has_the_command() {
    let manual = text(&calipers(&[], &["man"]).stdout);
    let (_, section) = manual.split_once(".SH \"CALIPERS POLICY CHECK\"").unwrap();
    assert!(section.contains("\\-\\-samples"), "{section}");
}

#[test]
fn the_documentation_lists_every_id_and_no_other() {
    let page = std::fs::read_to_string(root().join("docs/policy-check.md")).unwrap();
    let mut listed: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`').map(|(id, _)| id)).collect();
    let mut known: Vec<&str> = lint_ids().collect();
    listed.sort_unstable();
    known.sort_unstable();
    assert_eq!(listed, known);
}
