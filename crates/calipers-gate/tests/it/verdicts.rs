//! Verdicts on small runs, with their reasons.

use crate::{gate_on, judged, judged_against, judged_at, policy};
use calipers_core::stats::Method;
use calipers_core::stats::proportion::Proportion;
use calipers_core::stats::threshold_test::ThresholdTest;
use calipers_core::{Samples, Verdict};
use calipers_gate::policy::Policy;
use calipers_gate::{
    BeyondLimit, ConfidenceBound, GateReason, GateResult, LimitEnd, MissingLimit, SampleUnit, ThresholdFinding,
    Unbounded,
};

/// Scores of samples that are about documents.
fn scored(scores: impl IntoIterator<Item = (f64, String)>) -> Samples {
    let mut samples = Samples::new();
    for (id, (score, document)) in scores.into_iter().enumerate() {
        samples.push(id as i64).score("judge", score).metadata("document", document);
    }
    samples
}

fn passes(passed: usize, all: usize) -> Samples {
    scored((0..all).map(|i| (f64::from(u8::from(i < passed)), format!("d{i}"))))
}

fn accuracy(samples: &Samples, threshold: &str, terms: &str) -> GateResult {
    let text = format!(r#"{{"thresholds": {{"blocking": {{"accuracy": "{threshold}"}}}}, {terms}}}"#);
    gate_on(&judged(&policy(&text), samples), "accuracy")
}

fn bound(gate: &GateResult) -> Option<f64> {
    let GateReason::Threshold(reason) = &gate.reason else { return None };
    match &reason.finding {
        ThresholdFinding::BoundMet(ConfidenceBound { bound, .. })
        | ThresholdFinding::BoundMissed(ConfidenceBound { bound, .. }) => bound.map(|(_, bound)| bound),
        _ => None,
    }
}

#[test]
fn single_attempts_of_0_and_1_are_judged_by_clopper_and_pearsons_test() {
    for n in [1, 5, 28, 29, 59, 60, 120] {
        for k in 0..=n {
            for (threshold, rule) in [(0.5, "at least 50%"), (0.9, "at least 90%"), (0.3, "at most 30%")] {
                let is_least = rule.starts_with("at least");
                let test = if is_least {
                    ThresholdTest::at_least(threshold, 0.05)
                } else {
                    ThresholdTest::at_most(threshold, 0.05)
                };
                let exact = test.unwrap().judge(Proportion::new(k as u64, n as u64).unwrap());
                let gate = accuracy(&passes(k, n), rule, r#""confidence": 0.95"#);
                assert_eq!(gate.verdict, exact.verdict, "{k} of {n} {rule}");
                if let Some(bound) = bound(&gate) {
                    let want = if (gate.verdict == Verdict::Pass) == is_least { exact.lower } else { exact.upper };
                    assert!((bound - want).abs() < 1e-9, "{k} of {n} {rule}: {bound} {want}");
                }
            }
        }
    }
}

#[test]
fn the_interval_beside_a_gate_is_that_of_its_test() {
    let gate = accuracy(&passes(60, 60), "at least 90%", r#""confidence": 0.95"#);
    let interval = gate.figure.unwrap().interval.unwrap();
    assert_eq!(interval.method, Method::ClopperPearson);
    assert!((interval.lower.unwrap() - 0.025f64.powf(1.0 / 60.0)).abs() < 1e-9);
    let graded = scored((0..60).map(|i| (if i == 0 { 0.5 } else { 1.0 }, format!("d{i}"))));
    let interval = accuracy(&graded, "at least 90%", r#""confidence": 0.95"#).figure.unwrap().interval.unwrap();
    assert_eq!(interval.method, Method::Gaffke);
}

#[test]
fn clusters_count_instead_of_samples() {
    let of = |documents: usize, each: usize| scored((0..documents * each).map(|i| (1.0, format!("d{}", i / each))));
    let terms = r#""confidence": 0.95, "cluster": "document""#;
    assert_eq!(accuracy(&of(3, 20), "at least 95%", r#""confidence": 0.95"#).verdict, Verdict::Pass);
    let few = accuracy(&of(3, 20), "at least 95%", terms);
    assert_eq!(few.verdict, Verdict::Undecided);
    let GateReason::Threshold(reason) = &few.reason else { panic!("a threshold") };
    assert!(
        matches!(
            reason.finding,
            ThresholdFinding::PerfectNotEnough { counted: SampleUnit::Clusters, have: 3, need: 59, .. }
        ),
        "{:?}",
        reason.finding
    );
    let interval = few.figure.unwrap().interval.unwrap();
    assert_eq!(interval.method, Method::GaffkeClustered);
    assert!((interval.lower.unwrap() - 0.025f64.powf(1.0 / 3.0)).abs() < 1e-9);
    assert_eq!(accuracy(&of(59, 2), "at least 95%", terms).verdict, Verdict::Pass);
    // 36.8 % is what 3 documents show.
    let shown = bound(&accuracy(&of(3, 20), "at least 36%", terms)).unwrap();
    assert!((shown - 0.05f64.powf(1.0 / 3.0)).abs() < 1e-9);
}

#[test]
fn a_field_that_samples_obviously_share_gets_a_caveat() {
    let samples = scored((0..60).map(|i| (1.0, format!("d{}", i / 20))));
    let caveats = |terms: &str| {
        let text = format!(r#"{{"thresholds": {{"blocking": {{"accuracy": "95%"}}}}{terms}}}"#);
        let report = judged(&policy(&text), &samples);
        report.caveats.iter().map(|caveat| caveat.id().to_owned()).collect::<Vec<_>>()
    };
    assert!(caveats(r#", "confidence": 0.95"#).contains(&"likely-clusters".to_owned()));
    assert!(!caveats(r#", "confidence": 0.95, "cluster": "document""#).contains(&"likely-clusters".to_owned()));
    assert!(!caveats("").contains(&"likely-clusters".to_owned()));
}

#[test]
fn a_rerun_of_the_same_suite_counts_attempts() {
    let mut samples = Samples::new();
    for id in 0..12i64 {
        for _ in 0..5 {
            samples.push(id).score("judge", 1.0);
        }
    }
    let like_these = accuracy(&samples, "at least 95%", r#""confidence": 0.95"#);
    let rerun = accuracy(&samples, "at least 95%", r#""confidence": 0.95, "estimand": "this_suite_rerun""#);
    // 0.95^12 = 0.54, and 0.95^60 = 0.046.
    assert_eq!((like_these.verdict, rerun.verdict), (Verdict::Undecided, Verdict::Pass));
}

#[test]
fn looks_that_are_counted_spend_the_level_and_any_number_of_looks_needs_more() {
    let text = r#"{"thresholds": {"blocking": {"accuracy": "90%"}}, "confidence": 0.95}"#;
    let verdict = |n: usize, look: Option<u64>| judged_at(&policy(text), &passes(n, n), look).verdict;
    // 0.9^29 = 0.047; the second look has 0.05 / 6, and 0.9^46 = 0.0079.
    assert_eq!((verdict(29, None), verdict(29, Some(1))), (Verdict::Pass, Verdict::Undecided));
    assert_eq!((verdict(45, Some(2)), verdict(46, Some(2))), (Verdict::Undecided, Verdict::Pass));
    let report = judged_at(&policy(text), &passes(46, 46), Some(2));
    assert_eq!(report.terms.look.map(|look| (look.number, look.level)), Some((2, 0.95)));
    let any = r#""confidence": {"level": 0.95, "looks": "any"}"#;
    let verdict = |n: usize| accuracy(&passes(n, n), "at least 90%", any);
    assert_eq!((verdict(29).verdict, verdict(60).verdict), (Verdict::Undecided, Verdict::Pass));
    assert_eq!(verdict(60).figure.unwrap().interval.unwrap().method, Method::Betting);
    // Counting looks does not change what may be looked at any number of times.
    let text = format!(r#"{{"thresholds": {{"blocking": {{"accuracy": "90%"}}}}, {any}}}"#);
    assert_eq!(judged_at(&policy(&text), &passes(60, 60), Some(7)).verdict, Verdict::Pass);
}

#[test]
fn perfect_metrics_in_a_formula_need_no_bound_each() {
    let text =
        r#"{"composite": {"both": "accuracy * 0.5 + pass_rate * 0.5", "pass": "both >= 0.95"}, "confidence": 0.95}"#;
    let report = |n: usize| {
        let mut samples = Samples::new();
        (0..n).for_each(|id| {
            samples.push(id as i64).score("judge", 1.0).field("passed", true);
        });
        judged(&policy(text), &samples).verdict
    };
    // 0.95^59 < 0.05: as many as for one of them.
    assert_eq!((report(58), report(59)), (Verdict::Undecided, Verdict::Pass));
}

#[test]
fn weights_are_not_an_effective_number() {
    // 4 heavy samples that all pass say little of heavy ones.
    let mut samples = Samples::new();
    for id in 0..104i64 {
        samples.push(id).score("judge", 1.0).metadata("category", if id < 4 { "heavy" } else { "light" });
    }
    let terms = r#""confidence": 0.95, "weights": {"by_category": {"heavy": 12.5, "light": 0.5}}"#;
    assert_eq!(accuracy(&samples, "at least 85%", terms).verdict, Verdict::Undecided);
    assert_eq!(accuracy(&samples, "at least 85%", r#""confidence": 0.95"#).verdict, Verdict::Pass);
}

/// A gate on the mean of a field of so many attempts.
fn spent(field: &str, values: impl IntoIterator<Item = f64>, rule: &str, limits: &str) -> GateResult {
    let mut samples = Samples::new();
    for (id, value) in values.into_iter().enumerate() {
        samples.push(format!("s{id}")).field(field.to_owned(), value);
    }
    let metric = format!("mean(\\\"{field}\\\")");
    let text = format!(r#"{{"thresholds": {{"blocking": {{"{metric}": "{rule}"}}}}, "confidence": 0.95{limits}}}"#);
    gate_on(&judged(&policy(&text), &samples), &format!("mean(\"{field}\")"))
}

fn missing_limit(gate: &GateResult) -> Option<MissingLimit> {
    let GateReason::Threshold(reason) = &gate.reason else { return None };
    match &reason.finding {
        ThresholdFinding::Unbounded(Unbounded::NoLimit(missing)) => Some(missing.clone()),
        _ => None,
    }
}

#[test]
fn a_mean_of_values_without_a_limit_cannot_pass_and_says_what_to_state() {
    for (field, rule) in [("cost_usd", "at most 2"), ("latency_ms", "at most 2"), ("turns", "at most 2")] {
        let gate = spent(field, [1.0; 1000], rule, "");
        assert_eq!(gate.verdict, Verdict::Undecided, "{field}");
        let missing = MissingLimit { name: field.into(), end: LimitEnd::Most, exceeded: None };
        assert_eq!(missing_limit(&gate), Some(missing));
        assert_eq!(gate.figure.unwrap().interval.and_then(|interval| interval.upper), None);
    }
    // Counts that were never above 1 are no shares.
    let gate = spent("errors", [0.0; 1000], "at most 0.1", "");
    assert_eq!(
        (gate.verdict, missing_limit(&gate).map(|missing| missing.end)),
        (Verdict::Undecided, Some(LimitEnd::Most))
    );
}

#[test]
fn what_is_never_negative_can_fail_without_a_limit() {
    let gate = spent("cost_usd", [50.0; 30], "at most 2", "");
    assert_eq!(gate.verdict, Verdict::Fail);
    // 30 of them, and one that is free: 50 · 0.05^(1/30).
    assert!((bound(&gate).unwrap() - 50.0 * 0.05f64.powf(1.0 / 30.0)).abs() < 1e-9);
}

#[test]
fn with_a_limit_a_mean_is_judged_as_a_share_of_the_limit() {
    let gate = spent("cost_usd", [0.0; 60], "at most 0.1", r#", "limits": {"cost_usd": 2}"#);
    assert_eq!(gate.verdict, Verdict::Pass);
    assert!((bound(&gate).unwrap() - 2.0 * (1.0 - 0.05f64.powf(1.0 / 60.0))).abs() < 1e-9);
    let scale = r#", "limits": {"stars": {"min": 1, "max": 5}}"#;
    let gate = spent("stars", [5.0; 60], "at least 4", scale);
    assert_eq!(gate.verdict, Verdict::Pass);
    assert!((bound(&gate).unwrap() - (1.0 + 4.0 * 0.05f64.powf(1.0 / 60.0))).abs() < 1e-9);
}

#[test]
fn a_value_beyond_its_limit_is_named() {
    let values = (0..60).map(|i| if i == 7 { 3.0 } else { 0.0 });
    let gate = spent("cost_usd", values, "at most 1", r#", "limits": {"cost_usd": 2}"#);
    assert_eq!(gate.verdict, Verdict::Undecided);
    let exceeded = Some(BeyondLimit { sample: "s7".into(), value: 3.0, limit: 2.0 });
    assert_eq!(missing_limit(&gate).unwrap().exceeded, exceeded);
}

#[test]
fn one_key_of_map_scores_is_judged_as_scores_are() {
    let judged_by = |metric: &str, rule: &str, terms: &str, is_map: bool| {
        let mut samples = Samples::new();
        for id in 0..60 {
            let grade = f64::from(u8::from(id % 12 != 0));
            let row = samples.push(id);
            if is_map {
                row.score("judge", [("tone", grade), ("facts", 0.0)])
            } else {
                row.score("judge", grade)
            };
        }
        let text = format!(r#"{{"thresholds": {{"blocking": {{"{metric}": "{rule}"}}}}, "confidence": 0.95{terms}}}"#);
        let gate = gate_on(&judged(&policy(&text), &samples), metric);
        (gate.verdict, bound(&gate))
    };
    for (rule, limits) in [("at least 0.8", ""), ("at least 0.99", ""), ("at least 1.1", r#", "limits": {"NAME": 5}"#)]
    {
        let of = |metric: &str, name: &str, is_map| judged_by(metric, rule, &limits.replace("NAME", name), is_map);
        assert_eq!(of("aggregate(tone)", "tone", true), of("mean", "judge", false), "{rule}");
    }
    assert_eq!(judged_by("aggregate(tone)", "at least 0.8", "", true).0, Verdict::Pass);
}

/// So many samples with attempts that pass, of which the last ones have no score.
fn with_lost_attempts(samples: i64, attempts: usize, lost: usize) -> Samples {
    let mut run = Samples::new();
    for id in 0..samples {
        for attempt in 0..attempts {
            let row = run.push(id);
            if attempt < attempts - lost {
                row.score("judge", 1.0)
            } else {
                row.error("timeout")
            };
        }
    }
    run
}

#[test]
fn an_attempt_without_a_score_counts_as_the_worst_beside_attempts_that_have_one() {
    let asked = |share: u32, terms: &str| {
        policy(&format!(r#"{{"thresholds": {{"blocking": {{"accuracy": "at least {share}%"}}}}{terms}}}"#))
    };
    let verdict = |policy: &Policy, run: &Samples| gate_on(&judged(policy, run), "accuracy").verdict;
    let (whole, lost) = (with_lost_attempts(100, 4, 0), with_lost_attempts(100, 4, 1));
    // At worst each sample has 3 of 4.
    for terms in [r#", "confidence": "95%""#, ""] {
        assert_eq!(verdict(&asked(80, terms), &whole), Verdict::Pass);
        assert_eq!(verdict(&asked(80, terms), &lost), Verdict::Undecided);
        assert_eq!(verdict(&asked(70, terms), &lost), Verdict::Pass);
        let at_random = format!(r#"{terms}, "missing": "at_random""#);
        assert_eq!(verdict(&asked(80, &at_random), &lost), Verdict::Pass);
    }
    let interval = |run: &Samples| {
        let gate = gate_on(&judged(&asked(80, r#", "confidence": "95%""#), run), "accuracy");
        gate.figure.and_then(|figure| figure.interval).unwrap()
    };
    let (narrow, wide) = (interval(&whole), interval(&lost));
    assert!(wide.lower.unwrap() < 0.75 && 0.75 < narrow.lower.unwrap(), "{wide:?} {narrow:?}");
    assert_eq!(wide.upper, Some(1.0));
}

#[test]
fn an_attempt_without_a_prediction_counts_as_a_wrong_one() {
    let predicted = |lost: usize| {
        let mut run = Samples::new();
        for id in 0..200i64 {
            for attempt in 0..4 {
                let row = run.push(id).field("actual", id % 2 == 0);
                if attempt >= lost {
                    row.field("predicted", id % 2 == 0);
                }
            }
        }
        run
    };
    for (metric, threshold) in [("precision", 0.9), ("recall", 0.9), ("f1", 0.9), ("mcc", 0.8)] {
        let text =
            format!(r#"{{"thresholds": {{"blocking": {{"{metric}": "at least {threshold}"}}}}, "confidence": "95%"}}"#);
        let verdict = |run: &Samples| gate_on(&judged(&policy(&text), run), metric).verdict;
        assert_eq!((verdict(&predicted(0)), verdict(&predicted(1))), (Verdict::Pass, Verdict::Undecided), "{metric}");
    }
}

#[test]
fn the_interval_beside_a_gate_counts_missing_scores_as_the_verdict_does() {
    let mut run = Samples::new();
    for id in 0..100i64 {
        let row = run.push(id);
        if id < 80 {
            row.score("judge", 1.0)
        } else {
            row.error("timeout")
        };
    }
    let of = |missing: &str| {
        let text = format!(
            r#"{{"thresholds": {{"blocking": {{"accuracy": "at least 90%"}}}}, "confidence": "95%", "missing": "{missing}"}}"#
        );
        gate_on(&judged(&policy(&text), &run), "accuracy").figure.and_then(|figure| figure.interval).unwrap()
    };
    // Clopper-Pearson of 80 of 100 below, nothing above; and of 80 of 80.
    let (worst, at_random) = (of("worst"), of("at_random"));
    assert!((worst.lower.unwrap() - 0.708_157_3).abs() < 1e-6, "{worst:?}");
    assert_eq!(worst.upper, Some(1.0));
    assert!((at_random.lower.unwrap() - 0.954_933_3).abs() < 1e-4, "{at_random:?}");
}

#[test]
fn a_scenario_that_one_of_two_runs_could_not_score_is_the_worst_difference_before_a_pass() {
    let run = |lost: i64| {
        let mut samples = Samples::new();
        for id in 0..300i64 {
            let row = samples.push(id);
            if id >= lost {
                row.score("judge", 1.0)
            } else {
                row.error("timeout")
            };
        }
        samples
    };
    let verdict = |now: &Samples, then: &Samples, terms: &str| {
        let text = format!(
            r#"{{"baseline": {{"mode": "non_inferiority", "margin": 0.05, "metrics": ["accuracy"]}}, "confidence": "95%"{terms}}}"#
        );
        gate_on(&judged_against(&policy(&text), now, then), "accuracy").verdict
    };
    assert_eq!(verdict(&run(0), &run(0), ""), Verdict::Pass);
    assert_eq!(verdict(&run(30), &run(0), ""), Verdict::Undecided);
    assert_eq!(verdict(&run(30), &run(0), r#", "missing": "at_random""#), Verdict::Pass);
    // What fails now may have passed before, or not.
    let mut failing = Samples::new();
    for id in 0..300i64 {
        failing.push(id).score("judge", f64::from(u8::from(id >= 30)));
    }
    assert_eq!(verdict(&failing, &run(0), ""), Verdict::Fail);
    assert_eq!(verdict(&failing, &run(30), ""), Verdict::Undecided);
    assert_eq!(verdict(&failing, &run(30), r#", "missing": "at_random""#), Verdict::Pass);
}

#[test]
fn a_metric_without_a_value_per_scenario_is_compared_with_the_interval_of_the_baseline() {
    let run = |samples: i64, wrong: i64| {
        let mut run = Samples::new();
        for id in 0..samples {
            run.push(id).field("actual", true).field("predicted", id >= wrong);
        }
        run
    };
    let verdict = |now: &Samples, then: &Samples, confidence: &str| {
        let text = format!(
            r#"{{"baseline": {{"mode": "non_inferiority", "margin": 0.1, "metrics": ["recall"]}}, "confidence": "{confidence}"}}"#
        );
        gate_on(&judged_against(&policy(&text), now, then), "recall").verdict
    };
    // 90 of 100 is at most 95.1 %: a margin of ten points leaves 85.1 %, which 465 of 500 clear.
    assert_eq!(verdict(&run(500, 35), &run(100, 10), "95%"), Verdict::Pass);
    // As an exact number, 90 % would leave 80 %, and 425 of 500 would clear it.
    assert_eq!(verdict(&run(500, 75), &run(100, 10), "95%"), Verdict::Undecided);
    assert_eq!(verdict(&run(500, 300), &run(100, 10), "95%"), Verdict::Fail);
    // A 95 % interval shows nothing with 99 % confidence.
    assert_eq!(verdict(&run(500, 0), &run(100, 10), "99%"), Verdict::Undecided);
}
