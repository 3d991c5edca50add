//! Every trap that a caveat names is noticed, and every caveat comes with a next step.

use calipers_core::{
    All, Caveat, Ci, Epochs, Grouped, Labels, Outcome, Plan, Reducer, Results, Samples, accuracy, bootstrap_stderr,
    by_key, mean, quantile, ratio, stderr, stderr_clustered,
};
use calipers_render::{caveat_next_step, caveat_sentence};

/// Samples with these scores, one attempt each.
fn scored<V: Into<Outcome>>(scores: impl IntoIterator<Item = V>) -> Samples {
    let mut samples = Samples::new();
    for (id, score) in scores.into_iter().enumerate() {
        samples.push(id as i64).score("s", score);
    }
    samples
}

/// Samples with these scores in these clusters.
fn clustered(rows: &[(f64, i64)]) -> Samples {
    let mut samples = Samples::new();
    for (id, (score, cluster)) in rows.iter().enumerate() {
        samples.push(id as i64).metadata("doc", *cluster).score("s", *score);
    }
    samples
}

/// Samples with these attempts.
fn attempts(rows: &[&[&str]]) -> Samples {
    let mut samples = Samples::new();
    for (id, scores) in rows.iter().enumerate() {
        for score in *scores {
            samples.push(id as i64).score("s", *score);
        }
    }
    samples
}

fn all(results: &Results) -> Vec<&Caveat> {
    let figures = results.scores.iter().flat_map(|score| score.metrics.values());
    results.caveats.iter().chain(figures.flat_map(|metric| &metric.figure.caveats)).collect()
}

#[track_caller]
fn check(plan: Plan, samples: &Samples, id: &str, text: &str) {
    let results = plan.measure(samples).expect("a valid run");
    let found = all(&results).into_iter().find(|caveat| caveat.id() == id);
    let found = found.unwrap_or_else(|| panic!("no {id} among {:?}", all(&results)));
    assert_eq!(caveat_sentence(found), text);
    assert!(caveat_next_step(found).is_some());
}

#[test]
fn traps_of_few_and_of_equal_scores() {
    let plan = || Plan::new().metrics([accuracy()]);
    check(
        plan(),
        &scored(["C"; 5]),
        "perfect-score",
        "5 of 5: the true rate may be as low as 54.9 % (one-sided bound)",
    );
    check(
        plan(),
        &scored(["I"; 59]),
        "perfect-score",
        "0 of 59: the true rate may be as high as 5.0 % (one-sided bound)",
    );
    check(plan(), &scored([1.0, 7.0, 3.0]), "outside-unit", "scores from 1 to 7 are not shares");
    let mean = || Plan::new().metrics([mean()]);
    check(mean(), &scored([3.0; 40]), "no-spread", "all 40 values are alike, which is not certainty");
    check(mean(), &scored([3.0, 5.0]), "small-sample", "2 values are few for this interval (use at least 30)");
    let t = Plan::new().metrics([Ci::new().t()]);
    let text = "a t interval of 4 scores that are 0 or 1 covers the truth too rarely";
    check(t, &scored(["C", "I", "C", "C"]), "share-by-t", text);
    let boot = Plan::new().metrics([bootstrap_stderr(200)]);
    check(boot, &scored([0.0, 1.0]), "bootstrap-divisor", "a bootstrap divides by n; the standard error is 0.500000");
    let boot = Plan::new().metrics([Ci::new().bootstrap(100)]);
    let spread: Vec<f64> = (0..50).map(|i| f64::from(i).sqrt()).collect();
    check(boot, &scored(spread), "few-resamples", "100 resamples are few for an end point (use at least 10000)");
}

#[test]
fn traps_of_missing_scores() {
    let mut samples = scored(["C", "C", "C", "I"]);
    samples.push(100).score("s", Outcome::unscored("refusal"));
    let text = "1 without a score: with it the mean lies between 0.600 and 0.800";
    check(Plan::new().metrics([accuracy()]), &samples, "missing", text);
    samples.push(101).error("connection reset");
    check(Plan::new(), &samples, "errored", "one attempt ended in an error");
}

#[test]
fn traps_of_clusters() {
    let by_doc = || Plan::new().metrics([accuracy(), stderr_clustered("doc")]);
    let few = clustered(&[(1.0, 1), (0.0, 1), (1.0, 2), (1.0, 2), (0.0, 3)]);
    check(by_doc(), &few, "few-clusters", "only 3 clusters");
    let text = "ignores that samples with the same `doc` belong together";
    check(by_doc(), &few, "ignores-clusters", text);
    let dominant = clustered(&[(1.0, 1), (0.0, 1), (1.0, 1), (1.0, 1), (0.0, 3)]);
    check(by_doc(), &dominant, "dominant-cluster", "one cluster holds 80 % of the values");
    let repelled: Vec<(f64, i64)> = (0..40).map(|i| (f64::from(i % 2), i64::from(i / 2))).collect();
    let text = "the clustered error 0.0000 is below the plain one 0.0801";
    check(by_doc(), &clustered(&repelled), "clustered-below-naive", text);
}

#[test]
fn traps_of_groups() {
    let rows = [(1.0, 1), (0.0, 1), (1.0, 2), (0.0, 2), (1.0, 3), (1.0, 3)];
    let by_doc = Grouped::new(stderr(), "doc").all(All::Groups);
    let text = "a mean of standard errors; the standard error of the groups' mean is 0.2357";
    check(Plan::new().metrics([by_doc]), &clustered(&rows), "mean-of-errors", text);
}

#[test]
fn traps_of_attempts() {
    let two = attempts(&[&["C", "I"], &["C", "C"], &["I", "C"]]);
    let pooled = Plan::new().reducers([]).metrics([stderr()]);
    check(pooled, &two, "pooled-attempts", "6 attempts of 3 samples are counted as independent");
    let mode = || Plan::new().epochs(Epochs::new(2, "mode").expect("two attempts"));
    check(mode(), &two, "mode-ties", "2 samples have no single most frequent score");
    let pass = Plan::new().reducers([Reducer::parse("pass_at_2").expect("a known reducer")]);
    check(pass.clone(), &two, "few-attempts", "2 attempts are few for k = 2");
    let uneven = attempts(&[&["C", "I"], &["C"]]);
    check(pass, &uneven, "too-few-attempts", "one sample has too few scored attempts for `pass_at_2`");
    let same = attempts(&[&["C", "C"], &["I", "I"]]);
    check(Plan::new(), &same, "identical-attempts", "attempts of the same sample never differ");
}

#[test]
fn traps_of_names_and_labels() {
    let mut samples = Samples::new();
    samples.push(1).score("s", [("tone", 1.0)]);
    let plan = Plan::new().metrics([by_key([("facts", vec![mean()])])]);
    check(plan, &samples, "unmatched-key", "the metric key `facts` matches no score");
    let lenient = Plan::new().labels(Labels::default().unknown_as_zero());
    let text = "labels such as `maybe` were counted as 0";
    check(lenient, &scored(["C", "maybe", "perhaps"]), "unknown-labels", text);
}

#[test]
fn traps_of_fields() {
    let mut samples = Samples::new();
    for (id, latency) in [120.0, 80.0, 95.0, 4000.0].into_iter().enumerate() {
        samples.push(id as i64).field("latency_ms", latency).field("quality_score", 1.0);
    }
    let p95 = Plan::new().metrics([quantile("latency_ms", 0.95).expect("a quantile")]);
    check(
        p95,
        &samples,
        "no-bound",
        "a two-sided interval needs 72 samples to have both ends, and there are 4; one side alone needs fewer",
    );
    let per_ms = Plan::new().metrics([ratio("quality_score", "latency_ms")]);
    check(per_ms, &samples, "noisy-denominator", "the denominator varies by 91 %");
}
