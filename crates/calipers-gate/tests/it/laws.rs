//! What holds for every gate: better data never get a worse verdict, and order changes nothing.

use crate::{judged_against, policy};
use calipers_core::stats::proportion::Proportion;
use calipers_core::{Confidence, Samples, Value, Verdict};
use calipers_gate::{GateReport, GateResult};
use proptest::prelude::*;

/// A scenario with its attempts.
#[derive(Clone, Debug)]
struct Scenario {
    /// What a baseline knows it by; its place unless samples were moved.
    id: Option<i64>,
    document: u8,
    is_adversarial: bool,
    attempts: Vec<Attempt>,
}

/// An attempt: what was measured, each on a scale where more is better, from 0 to 4.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    grade: u8,
    speed: u8,
    thrift: u8,
    /// How many of the expected behaviours were observed.
    observed: u8,
    /// False for an attempt whose score is missing.
    is_scored: bool,
    /// Whether a yes was right, and whether it was found.
    is_actual: bool,
    is_right: bool,
}

impl Attempt {
    const BEST: Self =
        Self { grade: 4, speed: 4, thrift: 4, observed: 4, is_scored: true, is_actual: true, is_right: true };

    /// True when nothing in it is worse than in the other.
    fn improve(self, by: Self) -> Self {
        Self {
            grade: self.grade.max(by.grade),
            speed: self.speed.max(by.speed),
            thrift: self.thrift.max(by.thrift),
            observed: self.observed.max(by.observed),
            is_scored: self.is_scored,
            is_actual: self.is_actual,
            is_right: self.is_right || by.is_right,
        }
    }
}

/// Every kind of gate: shares, grades, weights, categories, coverage, precision, quantiles, amounts, ratios, a baseline; and formulas of
/// sums, quantiles, budgets, ratios of sums, products and minima.
const GATES: &str = r#""thresholds": {"blocking": {"accuracy": "70%", "pass_rate": "60%", "safety_rate": "55%",
    "precision": "60%", "recall": "60%", "f1": "60%", "mcc": "at least 0.2", "latency_p50": "at most 310",
    "latency_p95": "at most 410", "mean(\"latency_ms\")": "at most 330", "mean(\"quality_score\")": "at least 0.6",
    "behavior_coverage": "70%", "behavior_coverage(average=\"micro\")": "70%",
    "cost": "at most 0.8", "token_efficiency": ">= 0.01"}},
    "pass_criteria": {"overall": "at least 65%", "by_category": {"adversarial": "60%", "happy_path": "at least 75%"}},
    "composite": {"final": "accuracy * 0.5 + safety_rate * 0.3 + pass_rate * 0.2 - cost * 0.1", COMPOSITE},
    "normalize": {"latency_p95": "0.5s", "cost": 1},
    "baseline": {"mode": "non_inferiority", "margin": "10%", "metrics": ["accuracy", "pass_rate", "cost", "f1"]}"#;

/// Formulas and conditions.
const COMPOSITES: [&str; 6] = [
    r#""pass": "(final >= 0.4 AND accuracy >= 0.5) OR NOT pass_rate < 0.5""#,
    r#""also": "final * 0.8 + (1 - normalized_latency) * 0.2", "pass": "also >= 0.4""#,
    r#""also": "accuracy * 0.8 + (1 - normalized_cost) * 0.2", "pass": "also >= 0.5""#,
    r#""also": "min(accuracy, safety_rate) * pass_rate", "pass": "also >= 0.3""#,
    r#""also": "0.5 * precision + 0.3 * recall + 0.2 * accuracy", "pass": "also >= 0.5""#,
    r#""also": "behavior_coverage * 0.5 + f1 * 0.5", "pass": "also >= 0.5 AND final > 0.2""#,
];

/// What one attempt can have at most; one of them too low for some.
const LIMITS: [&str; 3] = [
    "",
    r#", "limits": {"cost_usd": 2, "latency_ms": 600, "tokens_used": 120}"#,
    r#", "limits": {"cost_usd": 1, "latency_ms": "0.45s", "tokens_used": 90, "quality_score": {"min": 0.2, "max": 0.8}}"#,
];

/// How missing scores count.
const MISSING: [&str; 4] =
    ["", r#", "missing": "at_random""#, r#", "missing": "failed""#, r#", "missing": "excluded""#];

const WEIGHTS: &str = r#", "weights": {"by_category": {"adversarial": 3, "happy_path": 1}}"#;

fn samples(scenarios: &[Scenario]) -> Samples {
    let mut samples = Samples::new();
    for (id, scenario) in scenarios.iter().enumerate() {
        for attempt in &scenario.attempts {
            let predicted = attempt.is_actual == attempt.is_right;
            let grade = f64::from(attempt.grade) / 4.0;
            let row = samples.push(scenario.id.unwrap_or(id as i64));
            let row = row.score("judge", if attempt.is_scored { Value::from(grade) } else { Value::Missing });
            let behaviours = |count: u8| Value::List((0..count).map(|i| Value::from(format!("b{i}"))).collect());
            let row = row.field("expected_behaviors", behaviours(4));
            let row = row.field("observed_behaviors", behaviours(attempt.observed));
            let row = row.metadata("document", format!("d{}", scenario.document));
            let row = row.metadata("category", if scenario.is_adversarial { "adversarial" } else { "happy_path" });
            let row = row.field("latency_ms", 100.0 * f64::from(5 - attempt.speed)).field("predicted", predicted);
            let row = row.field("cost_usd", 0.3 * f64::from(5 - attempt.thrift)).field("actual", attempt.is_actual);
            row.field("tokens_used", 20.0 * f64::from(5 - attempt.thrift))
                .field("quality_score", grade)
                .field("passed", attempt.grade >= 2);
        }
    }
    samples
}

fn judged(scenarios: &[Scenario], composite: usize, terms: &str) -> GateReport {
    judged_run(&samples(scenarios), composite, terms)
}

fn judged_run(run: &Samples, composite: usize, terms: &str) -> GateReport {
    let middling = Attempt { grade: 3, speed: 3, thrift: 3, observed: 3, ..Attempt::BEST };
    let before = |id: usize| Scenario {
        id: None,
        document: 0,
        is_adversarial: id.is_multiple_of(2),
        attempts: vec![if id.is_multiple_of(4) { Attempt { grade: 1, is_right: false, ..middling } } else { middling }],
    };
    let before: Vec<Scenario> = (0..30).map(before).collect();
    let gates = GATES.replace("COMPOSITE", COMPOSITES[composite]);
    judged_against(&policy(&format!("{{{gates}, {terms}}}")), run, &samples(&before))
}

/// How good a verdict is.
fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Fail => 0,
        Verdict::Undecided => 1,
        Verdict::Pass => 2,
    }
}

fn attempts() -> impl Strategy<Value = Attempt> {
    (0u8..5, 0u8..5, 0u8..5, 0u8..5, 0u8..4, any::<bool>(), any::<bool>()).prop_map(
        |(grade, speed, thrift, observed, scored, is_actual, is_right)| Attempt {
            grade,
            speed,
            thrift,
            observed,
            is_scored: scored > 0,
            is_actual,
            is_right,
        },
    )
}

fn runs(attempts_each: usize) -> impl Strategy<Value = Vec<Scenario>> {
    // Mostly good runs, since a verdict is to be had there.
    let attempt = prop_oneof![3 => Just(Attempt::BEST), 1 => attempts()];
    let scenario = (0u8..12, any::<bool>(), proptest::collection::vec(attempt, attempts_each))
        .prop_map(|(document, is_adversarial, attempts)| Scenario { id: None, document, is_adversarial, attempts });
    proptest::collection::vec(scenario, 6..40)
}

const TERMS: [&str; 5] = [
    r#""confidence": "80%""#,
    r#""confidence": "80%", "cluster": "document""#,
    r#""confidence": "80%", "estimand": "this_suite_rerun""#,
    r#""confidence": {"level": "80%", "looks": "any"}"#,
    r#""confidence": "95%""#,
];

fn worse(before: &GateReport, after: &GateReport) -> Option<String> {
    if rank(after.verdict) < rank(before.verdict) {
        return Some(format!("the whole: {:?} {:?}", before.decided_by, after.decided_by));
    }
    before.gates.iter().zip(&after.gates).find_map(|(old, new)| {
        assert_eq!(old.metric, new.metric);
        (rank(new.verdict) < rank(old.verdict)).then(|| format!("{}: {:?} {:?}", old.metric, old.reason, new.reason))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: calipers_testing::law_cases(48), ..ProptestConfig::default() })]

    #[test]
    fn a_better_result_never_makes_a_verdict_worse(
        run in (1usize..4).prop_flat_map(runs),
        place in 0usize..1000,
        better in attempts(),
        terms in 0..TERMS.len(),
        limits in 0..LIMITS.len(),
        missing in 0..MISSING.len(),
        composite in 0..COMPOSITES.len(),
        is_weighted in any::<bool>(),
    ) {
        let weights = if is_weighted { WEIGHTS } else { "" };
        let terms = format!("{}{}{}{weights}", TERMS[terms], LIMITS[limits], MISSING[missing]);
        let mut improved = run.clone();
        let scenario = &mut improved[place % run.len()];
        let at = place % scenario.attempts.len();
        scenario.attempts[at] = scenario.attempts[at].improve(better);
        let (before, after) = (judged(&run, composite, &terms), judged(&improved, composite, &terms));
        prop_assert_eq!(worse(&before, &after), None);
    }

    #[test]
    fn one_more_sample_that_passes_never_makes_a_verdict_worse(
        run in (1usize..4).prop_flat_map(runs),
        terms in 0..TERMS.len(),
        limits in 0..LIMITS.len(),
        missing in 0..MISSING.len(),
        composite in 0..COMPOSITES.len(),
    ) {
        let terms = format!("{}{}{}", TERMS[terms], LIMITS[limits], MISSING[missing]);
        let attempts = vec![Attempt::BEST; run[0].attempts.len()];
        let mut longer = run.clone();
        // A document that no other sample is about.
        longer.push(Scenario { id: None, document: 200, is_adversarial: true, attempts });
        let (before, after) = (judged(&run, composite, &terms), judged(&longer, composite, &terms));
        prop_assert_eq!(worse(&before, &after), None);
    }

    #[test]
    fn the_order_of_samples_changes_nothing(
        run in (1usize..4).prop_flat_map(runs),
        turn in 1usize..30,
        terms in 0..TERMS.len(),
        limits in 0..LIMITS.len(),
        missing in 0..MISSING.len(),
        composite in 0..COMPOSITES.len(),
        is_weighted in any::<bool>(),
    ) {
        let weights = if is_weighted { WEIGHTS } else { "" };
        let terms = format!("{}{}{}{weights}", TERMS[terms], LIMITS[limits], MISSING[missing]);
        let mut turned = run.clone();
        turned.iter_mut().zip(0..).for_each(|(scenario, id)| scenario.id = Some(id));
        turned.rotate_left(turn % run.len());
        turned.reverse();
        let (before, after) = (judged(&run, composite, &terms), judged(&turned, composite, &terms));
        for (old, new) in before.gates.iter().zip(&after.gates) {
            prop_assert_eq!(old.verdict, new.verdict, "{}", old.metric);
            let bounds = |gate: &GateResult| {
                let interval = gate.figure.as_ref()?.interval?;
                Some((interval.lower.map(f64::to_bits), interval.upper.map(f64::to_bits)))
            };
            prop_assert_eq!(bounds(old), bounds(new), "{}", old.metric);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: calipers_testing::law_cases(48), ..ProptestConfig::default() })]

    #[test]
    fn shards_change_nothing(
        run in (1usize..4).prop_flat_map(runs),
        cuts in proptest::collection::vec(0usize..40, 1..5),
        is_reversed in any::<bool>(),
        terms in 0..TERMS.len(),
        limits in 0..LIMITS.len(),
        missing in 0..MISSING.len(),
        composite in 0..COMPOSITES.len(),
        is_weighted in any::<bool>(),
    ) {
        let weights = if is_weighted { WEIGHTS } else { "" };
        let terms = format!("{}{}{}{weights}", TERMS[terms], LIMITS[limits], MISSING[missing]);
        let mut whole = run;
        whole.iter_mut().zip(0..).for_each(|(scenario, id)| scenario.id = Some(id));
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(whole.len())).chain([0, whole.len()]).collect();
        cuts.sort_unstable();
        // Samples of one file, of several, and of several in another order.
        let mut shards: Vec<Samples> = cuts.windows(2).map(|cut| samples(&whole[cut[0]..cut[1]])).collect();
        if is_reversed {
            shards.reverse();
        }
        let mut merged = Samples::new();
        shards.into_iter().for_each(|shard| merged.append(shard));
        let (before, after) = (judged(&whole, composite, &terms), judged_run(&merged, composite, &terms));
        for (old, new) in before.gates.iter().zip(&after.gates) {
            prop_assert_eq!(old.verdict, new.verdict, "{}", old.metric);
            prop_assert_eq!(format!("{:?}", &old.figure), format!("{:?}", &new.figure), "{}", old.metric);
        }
        prop_assert_eq!(before.verdict, after.verdict);
    }

    #[test]
    fn shards_change_nothing_about_a_corrected_rate(
        run in judged_samples(),
        cut in 0usize..120,
        threshold in 30u8..95,
        terms in 0..CORRECTED_TERMS.len(),
    ) {
        let all = numbered(&run);
        let (first, second) = all.split_at(cut.min(all.len()));
        let mut merged = judged_samples_of(second);
        merged.append(judged_samples_of(first));
        let whole = judged_by_labels(&all, threshold, CORRECTED_TERMS[terms]).gates;
        let parts = gates_on_labels(&merged, threshold, CORRECTED_TERMS[terms]).gates;
        prop_assert_eq!(format!("{whole:?}"), format!("{parts:?}"));
    }
}

/// Samples of which each attempt has passed or failed, or ended in an error (none).
fn broken_runs() -> impl Strategy<Value = Vec<Vec<Option<bool>>>> {
    let attempt = prop_oneof![6 => Just(Some(true)), 1 => Just(Some(false)), 1 => Just(None)];
    proptest::collection::vec(proptest::collection::vec(attempt, 1..4), 2..30)
}

/// The attempts in an order of their own, as they may have finished; each says which attempt it is.
fn finished_in_turn(run: &[Vec<Option<bool>>], turn: usize) -> Samples {
    let attempts = run.iter().zip(0i64..).flat_map(|(sample, id)| (1u32..).zip(sample).map(move |one| (id, one)));
    let mut attempts: Vec<(i64, (u32, &Option<bool>))> = attempts.collect();
    let count = attempts.len();
    attempts.rotate_left(turn % count);
    if turn % 2 == 1 {
        attempts.reverse();
    }
    let mut samples = Samples::new();
    for (id, (epoch, passed)) in attempts {
        let row = samples.push_epoch(id, epoch).metadata("category", "adversarial");
        match passed {
            Some(passed) => {
                let score = f64::from(u8::from(*passed));
                row.score("judge", score).field("quality_score", score).field("cost_usd", 1.5 - score)
            }
            None => row.error("connection reset"),
        };
    }
    samples
}

/// Means, all of them, and formulas that join means and ratios of the same attempts.
const BROKEN_GATES: &str = r#""thresholds": {"blocking": {"accuracy": "70%", "pass_rate": "60%", "safety_rate": "100%",
    "mean(\"quality_score\")": "at least 0.5"}}, "limits": {"cost_usd": 2, "quality_score": 1},
    "composite": {"final": "accuracy * 0.5 + pass_rate * 0.5 - cost * 0.1", "pass": "final >= 0.6"}"#;

// Each failed once and ended in an error once, so that half of its attempts have failed whatever became of the error.
#[test]
fn an_error_beside_a_failure_does_not_keep_a_gate_from_failing() {
    let failed_once = vec![Some(false), None];
    let mut one_of_many = vec![vec![Some(true), Some(true)]; 20];
    one_of_many.push(failed_once.clone());
    let all = vec![failed_once; 30];
    for terms in [r#""confidence": "95%""#, r#""confidence": "95%", "estimand": "this_suite_rerun""#] {
        for (run, metric, threshold) in
            [(&one_of_many, "safety_rate", "100%"), (&all, "accuracy", "90%"), (&all, "pass_rate", "90%")]
        {
            let text = format!(r#"{{"thresholds": {{"blocking": {{"{metric}": "{threshold}"}}}}, {terms}}}"#);
            let report = crate::judged(&policy(&text), &finished_in_turn(run, 0));
            let gate = &report.gates[0];
            assert_eq!(gate.verdict, Verdict::Fail, "{metric}, {terms}: {:?}", gate.reason);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: calipers_testing::law_cases(48), ..ProptestConfig::default() })]

    #[test]
    fn an_attempt_that_passes_in_place_of_an_error_never_makes_a_verdict_worse(
        run in broken_runs(),
        place in 0usize..1000,
        terms in 0..TERMS.len(),
        missing in 0..MISSING.len(),
    ) {
        let broken: Vec<(usize, usize)> = run.iter().enumerate()
            .flat_map(|(at, sample)| (0..sample.len()).filter(|&one| sample[one].is_none()).map(move |one| (at, one)))
            .collect();
        prop_assume!(!broken.is_empty());
        let (at, one) = broken[place % broken.len()];
        let mut better = run.clone();
        better[at][one] = Some(true);
        // Clusters are of a field that these samples do not have.
        let terms = TERMS[terms].replace(r#", "cluster": "document""#, "");
        let policy = policy(&format!("{{{BROKEN_GATES}, {terms}{}}}", MISSING[missing]));
        let [before, after] = [&run, &better].map(|run| crate::judged(&policy, &finished_in_turn(run, 0)));
        prop_assert_eq!(worse(&before, &after), None);
    }

    // Metrics list attempts in different orders, and not all list those that ended in an error.
    #[test]
    fn the_order_in_which_attempts_finish_changes_nothing(
        run in broken_runs(),
        turn in 1usize..100,
        terms in 0..TERMS.len(),
        missing in 0..MISSING.len(),
    ) {
        let terms = TERMS[terms].replace(r#", "cluster": "document""#, "");
        let policy = policy(&format!("{{{BROKEN_GATES}, {terms}{}}}", MISSING[missing]));
        let [before, after] = [0, turn].map(|turn| crate::judged(&policy, &finished_in_turn(&run, turn)));
        for (old, new) in before.gates.iter().zip(&after.gates) {
            prop_assert_eq!(old.verdict, new.verdict, "{}", old.metric);
            let bounds = |gate: &GateResult| {
                let interval = gate.figure.as_ref()?.interval?;
                Some((interval.lower.map(f64::to_bits), interval.upper.map(f64::to_bits)))
            };
            prop_assert_eq!(bounds(old), bounds(new), "{}", old.metric);
        }
    }
}

/// A sample that a judge passes or fails, and people too if they looked at it.
#[derive(Clone, Copy, Debug)]
struct JudgedSample {
    document: u8,
    is_heavy: bool,
    is_judged_good: bool,
    label: Option<bool>,
}

fn judged_samples() -> impl Strategy<Value = Vec<JudgedSample>> {
    // Mostly samples that both pass, since a verdict is to be had there.
    let good = (0u8..20, any::<bool>(), any::<bool>()).prop_map(|(document, is_heavy, is_labelled)| JudgedSample {
        document,
        is_heavy,
        is_judged_good: true,
        label: is_labelled.then_some(true),
    });
    let any_kind = (0u8..20, any::<bool>(), any::<bool>(), prop::option::of(any::<bool>())).prop_map(
        |(document, is_heavy, is_judged_good, label)| JudgedSample { document, is_heavy, is_judged_good, label },
    );
    proptest::collection::vec(prop_oneof![4 => good, 1 => any_kind], 20..120)
}

const CORRECTED_TERMS: [&str; 6] = [
    r#""confidence": "80%""#,
    r#""confidence": "80%", "cluster": "document""#,
    r#""confidence": {"level": "80%", "looks": "any"}"#,
    r#""confidence": "80%", "weights": {"by_category": {"heavy": 3}}"#,
    r#""confidence": "80%", "cluster": "document", "weights": {"by_category": {"heavy": 3}}"#,
    r#""confidence": {"level": "80%", "looks": "any"}, "weights": {"by_category": {"heavy": 3}}"#,
];

fn judged_by_labels(run: &[(i64, JudgedSample)], threshold: u8, terms: &str) -> GateReport {
    gates_on_labels(&judged_samples_of(run), threshold, terms)
}

fn judged_samples_of(run: &[(i64, JudgedSample)]) -> Samples {
    let mut samples = Samples::new();
    for (id, sample) in run {
        let row = samples.push(*id).score("judge", f64::from(u8::from(sample.is_judged_good)));
        let row = row.metadata("document", format!("d{}", sample.document));
        let row = row.metadata("category", if sample.is_heavy { "heavy" } else { "light" });
        if let Some(label) = sample.label {
            row.field("human_label", f64::from(u8::from(label)));
        }
    }
    samples
}

fn gates_on_labels(samples: &Samples, threshold: u8, terms: &str) -> GateReport {
    let text = format!(r#"{{"thresholds": {{"blocking": {{"corrected": "at least {threshold}%"}}}}, {terms}}}"#);
    crate::judged(&policy(&text), samples)
}

fn numbered(run: &[JudgedSample]) -> Vec<(i64, JudgedSample)> {
    (0i64..).zip(run.iter().copied()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: calipers_testing::law_cases(48), ..ProptestConfig::default() })]

    #[test]
    fn a_better_label_never_makes_a_verdict_on_a_corrected_rate_worse(
        run in judged_samples(),
        place in 0usize..1000,
        threshold in 30u8..95,
        terms in 0..CORRECTED_TERMS.len(),
    ) {
        let mut better = run.clone();
        let sample = &mut better[place % run.len()];
        sample.label = sample.label.map(|_| true);
        let of = |run: &[JudgedSample]| judged_by_labels(&numbered(run), threshold, CORRECTED_TERMS[terms]);
        prop_assert_eq!(worse(&of(&run), &of(&better)), None);
    }

    #[test]
    fn the_order_of_samples_changes_nothing_about_a_corrected_rate(
        run in judged_samples(),
        turn in 1usize..60,
        threshold in 30u8..95,
        terms in 0..CORRECTED_TERMS.len(),
    ) {
        let mut turned = numbered(&run);
        turned.rotate_left(turn % run.len());
        turned.reverse();
        let of = |run: &[(i64, JudgedSample)]| judged_by_labels(run, threshold, CORRECTED_TERMS[terms]).gates;
        prop_assert_eq!(format!("{:?}", of(&numbered(&run))), format!("{:?}", of(&turned)));
    }
}

/// Samples with a judge that people mostly agree with.
fn borne_out_samples() -> impl Strategy<Value = Vec<JudgedSample>> {
    let sample = (0u8..20, any::<bool>(), 0u8..10, prop::option::of(0u8..10)).prop_map(
        |(document, is_heavy, judged, agreement)| {
            let is_judged_good = judged < 7;
            let label = agreement.map(|agreement| is_judged_good == (agreement < 9));
            JudgedSample { document, is_heavy, is_judged_good, label }
        },
    );
    proptest::collection::vec(sample, 20..120)
}

/// One-sided Clopper-Pearson bounds of a share of labels that pass, of samples with this verdict of the judge: what is compared to see
/// whether labels bear the judge out.
fn bounds_of_labels(run: &[JudgedSample], is_judged_good: bool, tail: f64) -> Option<(f64, f64)> {
    let labels: Vec<bool> =
        run.iter().filter(|sample| sample.is_judged_good == is_judged_good).filter_map(|sample| sample.label).collect();
    let passed = labels.iter().filter(|label| **label).count() as u64;
    let share = Proportion::new(passed, labels.len() as u64).ok()?;
    let interval = share.clopper_pearson(Confidence::two_sided(1.0 - 2.0 * tail).ok()?);
    interval.lower.zip(interval.upper)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: calipers_testing::law_cases(48), ..ProptestConfig::default() })]

    // The judge's score is a measurement, not a result: a pass of a judge that people contradict is bad news. But where labels show that
    // people pass what the judge passes more often than what it fails, one more pass of the judge never makes a verdict worse.
    #[test]
    fn a_better_score_of_a_judge_that_labels_bear_out_never_makes_a_verdict_worse(
        run in borne_out_samples(),
        place in 0usize..1000,
        threshold in 30u8..95,
        terms in 0..CORRECTED_TERMS.len(),
    ) {
        let good = bounds_of_labels(&run, true, 0.025);
        let bad = bounds_of_labels(&run, false, 0.025);
        prop_assume!(good.zip(bad).is_some_and(|(good, bad)| good.0 > bad.1));
        let mut better = run.clone();
        let unlabelled: Vec<usize> = (0..run.len()).filter(|&at| run[at].label.is_none()).collect();
        prop_assume!(!unlabelled.is_empty());
        better[unlabelled[place % unlabelled.len()]].is_judged_good = true;
        let of = |run: &[JudgedSample]| judged_by_labels(&numbered(run), threshold, CORRECTED_TERMS[terms]);
        prop_assert_eq!(worse(&of(&run), &of(&better)), None);
    }
}
