//! Bad input, strictly: a clear error that says what, where and what to do, or an undefined figure with its reason.
//! Never 0, never NaN, never a panic.

use calipers_core::stats::{Quantity, Undefined as NoStatistic};
use calipers_core::{
    All, Caveat, Ci, Epochs, Grouped, Metadata, Metric, OnMissing, Outcome, Plan, Reason, Reducer, Registry, Results,
    Samples, Score, Value, accuracy, aggregate, by_key, ci, ci_wilson, frequency, grouped, mean, mean_of, median_score,
    pass_at, perplexity_per_token, quantile, ratio, std, stderr, stderr_clustered, var,
};

/// Samples `q1`, `q2`, … with a score of `judge`, and a topic where there is one.
fn run(rows: &[(Value, Option<Value>)]) -> Samples {
    let mut samples = Samples::new();
    for (place, (score, topic)) in rows.iter().enumerate() {
        let attempt = samples.push(format!("q{}", place + 1)).score("judge", Score::new(score.clone()));
        if let Some(topic) = topic {
            attempt.metadata("topic", topic.clone());
        }
    }
    samples
}

/// A run whose first sample is good and whose second has this score and topic.
fn second(score: impl Into<Value>, topic: impl Into<Value>) -> Samples {
    run(&[(1.0.into(), Some("physics".into())), (score.into(), Some(topic.into()))])
}

fn list(items: &[f64]) -> Value {
    Value::from(items.to_vec())
}

fn measure(metric: impl Into<Metric>, samples: &Samples) -> Result<Results, String> {
    Plan::new().metrics([metric.into()]).measure(samples).map_err(|error| error.to_string())
}

fn error(metric: impl Into<Metric>, samples: &Samples) -> String {
    measure(metric, samples).map(|results| format!("{:?}", results.scores)).expect_err("bad input is an error")
}

const EMPTY: Reason = Reason::Statistic(NoStatistic::Empty);

/// Why every figure of a metric is undefined.
fn reasons(results: &Results) -> Vec<Reason> {
    let figures = results.scores.iter().flat_map(|score| score.metrics.values());
    figures.map(|metric| metric.figure.value.clone().expect_err("undefined").reason().clone()).collect()
}

#[test]
fn a_sample_without_the_key_of_clusters_or_groups() {
    let samples = run(&[(1.0.into(), Some("physics".into())), (0.0.into(), None)]);
    let clustered: [(&str, Metric); 3] = [
        ("stderr", stderr_clustered("topic")),
        ("ci", Ci::new().cluster("topic").into()),
        ("ci_wilson", Ci::wilson().cluster("topic").into()),
    ];
    for (name, metric) in clustered {
        assert_eq!(
            error(metric, &samples),
            format!(
                "no cluster: the metadata has no `topic`\n  at `{name}`, scorer `judge`, sample `q2`\n  \
                 hint: give every sample a `topic`, or drop the option"
            )
        );
    }
    assert_eq!(
        error(grouped(mean(), "topic"), &samples),
        "no group: the metadata has no `topic`\n  at `grouped`, scorer `judge`, sample `q2`\n  \
         hint: give every sample a `topic`, or drop the option"
    );
}

#[test]
fn values_that_cannot_name_a_cluster() {
    let missing = "no cluster: the metadata has no `topic`\n  at `stderr`, scorer `judge`, sample `q2`\n  \
                   hint: give every sample a `topic`, or drop the option";
    assert_eq!(error(stderr_clustered("topic"), &second(0.0, Value::Null)), missing);
    assert_eq!(error(stderr_clustered("topic"), &second(0.0, f64::NAN)), missing);
    let unusable = |kind: &str| {
        format!(
            "`topic` is a {kind}, which cannot name a cluster\n  at `stderr`, scorer `judge`, sample `q2`\n  \
             hint: use text, a number or a bool"
        )
    };
    assert_eq!(error(stderr_clustered("topic"), &second(0.0, list(&[1.0]))), unusable("list"));
    assert_eq!(error(stderr_clustered("topic"), &second(0.0, Value::from([("k", 1)]))), unusable("map"));
}

/// One where two are needed.
fn too_few(what: Quantity) -> Reason {
    Reason::Statistic(NoStatistic::TooFew { what, need: 2, have: 1 })
}

#[test]
fn one_cluster_and_one_sample_have_no_spread() {
    let alike = second(0.0, "physics");
    let clustered: [Metric; 4] = [
        stderr_clustered("topic"),
        Ci::new().cluster("topic").into(),
        Ci::wilson().cluster("topic").into(),
        Ci::new().bootstrap(100).cluster("topic").into(),
    ];
    for metric in clustered {
        for reason in reasons(&measure(metric, &alike).unwrap()) {
            assert_eq!(reason, too_few(Quantity::Clusters));
        }
    }
    let single = run(&[(1.0.into(), None)]);
    let by_t = Ci::new().t().into();
    let resampled = [Ci::new().bootstrap(100).into(), calipers_core::bootstrap_stderr(100)];
    for metric in [var(), std(), stderr(), by_t].into_iter().chain(resampled) {
        for reason in reasons(&measure(metric, &single).unwrap()) {
            assert_eq!(reason, too_few(Quantity::Values));
        }
    }
}

#[test]
fn scores_that_are_no_numbers() {
    let clustered: Metric = Ci::new().cluster("topic").into();
    for metric in [accuracy(), std(), ci(), ci_wilson(), clustered, grouped(mean(), "topic")] {
        assert_eq!(
            error(metric, &second("maybe", "biology")),
            "score `maybe` is not a number or a known label\n  at scorer `judge`, sample `q2`\n  \
             hint: map it to a number with `Labels::with`, or score it C, I, P or N"
        );
    }
    assert_eq!(
        error(mean(), &second(Value::Null, "biology")),
        "a score is null\n  at scorer `judge`, sample `q2`\n  hint: mark it as unscored, or give it a value"
    );
    assert_eq!(
        error(mean(), &run(&[(list(&[1.0, 2.0]), None)])),
        "score `[1.0, 2.0]` is a list, not a number\n  at scorer `judge`, sample `q1`\n  \
         hint: use a metric for lists, or score a single number"
    );
    assert_eq!(
        error(mean(), &run(&[(Value::from([("tone", 1)]), None)])),
        "score `{'tone': 1.0}` is a map, not a number\n  at scorer `judge`, sample `q1`\n  \
         hint: name metrics for its keys, or pick one key with `aggregate`"
    );
    assert_eq!(
        error(frequency(["a"], true), &run(&[(list(&[1.0]), None)])),
        "`frequency` takes plain values, not a list\n  at scorer `judge`, sample `q1`\n  \
         hint: apply it to one key: `aggregate(\"key\", …)` or a map of metrics"
    );
}

#[test]
fn infinite_scores() {
    let infinite = |value: &str| {
        format!(
            "score `{value}` is infinite\n  at scorer `judge`, sample `q2`\n  \
             hint: mark the attempt as unscored, or clip the score where it is made"
        )
    };
    for metric in [mean(), std(), ci(), ci_wilson(), grouped(mean(), "topic")] {
        assert_eq!(error(metric, &second(f64::NEG_INFINITY, "biology")), infinite("-inf"));
    }
    // Nor does a reducer hide them, in a column of floats, among labels, or in a map.
    for name in ["mean", "median", "mode", "max", "at_least_1", "pass_at_1", "pass_k_1"] {
        for others in [Value::from(0.5), Value::from("C")] {
            let mut samples = Samples::new();
            samples.push("q1").score("judge", 1.0);
            for score in [Value::from(f64::INFINITY), Value::from(f64::INFINITY), others, f64::NEG_INFINITY.into()] {
                samples.push("q2").score("judge", Score::new(score));
            }
            let plan = Plan::new().reducers([Reducer::parse(name).unwrap()]).metrics([mean()]);
            assert_eq!(plan.measure(&samples).unwrap_err().to_string(), infinite("inf"), "{name}");
        }
    }
    let in_map = run(&[(Value::from([("tone", 1.0)]), None), (Value::from([("tone", f64::INFINITY)]), None)]);
    let plan = Plan::new().metrics([by_key([("tone", vec![mean()])])]);
    assert_eq!(plan.measure(&in_map).unwrap_err().to_string(), infinite("inf"));
}

#[test]
fn scores_outside_the_range_of_a_share() {
    assert_eq!(
        error(ci_wilson(), &second(1.5, "biology")),
        "score 1.5 is outside [0, 1]\n  at `ci_wilson`, scorer `judge`, sample `q2`\n  \
         hint: use `ci()` for scores that are not shares"
    );
}

#[test]
fn attempts_that_do_not_fit_together() {
    let names = ["mean", "median", "mode", "max", "majority", "at_least_1", "pass_at_2", "pass_k_2"];
    let of = |name: &str, attempts: [Value; 2]| {
        let mut samples = Samples::new();
        for score in attempts {
            samples.push("q1").score("judge", Score::new(score));
        }
        let plan = Plan::new().reducers([Reducer::parse(name).unwrap()]).metrics([mean()]);
        plan.measure(&samples).unwrap_err().to_string()
    };
    let shapes = |first: &str, other: &str| {
        format!(
            "attempts have scores of different shapes, a {first} and a {other}\n  at scorer `judge`, sample `q1`\n  \
             hint: let the scorer return one shape, or mark the attempt as unscored"
        )
    };
    let map = |key: &str| Value::from([(key, 1)]);
    for name in names {
        assert_eq!(of(name, [1.0.into(), map("tone")]), shapes("number", "map"));
        assert_eq!(of(name, [map("tone"), 1.0.into()]), shapes("map", "number"));
        assert_eq!(of(name, [list(&[1.0]), 1.0.into()]), shapes("list", "number"));
        assert_eq!(
            of(name, [map("tone"), map("facts")]),
            "attempts have scores with different keys, `tone` and `facts`\n  at scorer `judge`, sample `q1`\n  \
             hint: score the same things in every attempt, or mark the attempt as unscored"
        );
        assert_eq!(
            of(name, [list(&[1.0]), list(&[1.0, 0.0])]),
            "attempts have lists of different lengths, 1 and 2\n  at scorer `judge`, sample `q1`\n  \
             hint: score the same things in every attempt, or mark the attempt as unscored"
        );
    }
    assert_eq!(
        of("collect", [1.0.into(), map("tone")]),
        "`collect` takes plain values, not a map\n  at scorer `judge`, sample `q1`\n  \
         hint: apply it to one key: `aggregate(\"key\", …)` or a map of metrics"
    );
}

#[test]
fn more_attempts_asked_for_than_there_are() {
    let mut samples = Samples::new();
    for (id, attempts) in [("q1", 2), ("q2", 1)] {
        for _ in 0..attempts {
            samples.push(id).score("judge", 1.0);
        }
    }
    for name in ["pass_at_3", "pass_k_3", "at_least_3"] {
        assert_eq!(
            Epochs::new(2, name).unwrap_err().to_string(),
            format!("`{name}` needs 3 attempts, there are 2\n  hint: run more epochs, or ask for a smaller k")
        );
        let plan = Plan::new().reducers([Reducer::parse(name).unwrap()]).metrics([mean()]);
        let results = plan.measure(&samples).unwrap();
        let too_few = Caveat::TooFewAttempts { reducer: name.to_owned(), samples: 2 };
        assert!(results.caveats.contains(&too_few), "{:?}", results.caveats);
        assert_eq!(reasons(&results), [Reason::NothingScored]);
    }
}

#[test]
fn levels_and_other_arguments_out_of_range() {
    for level in [0.0, 1.0, -0.5, 100.0, f64::NAN, f64::INFINITY] {
        let want = format!("level is {level}, must be strictly between 0 and 1\n  hint: 95 % is written 0.95");
        assert_eq!(Plan::new().level(level).unwrap_err().to_string(), want);
        assert_eq!(Ci::new().level(level).unwrap_err().to_string(), want);
    }
    assert_eq!(
        Ci::wilson().level(90.0).unwrap_err().to_string(),
        "level is 90, must be strictly between 0 and 1\n  hint: a level of 90 % is written 0.9"
    );
    assert_eq!(
        quantile("latency_ms", 1.5).unwrap_err().to_string(),
        "a quantile of 1.5 does not lie between 0 and 1\n  hint: the 95th percentile is written 0.95"
    );
    assert_eq!(
        Reducer::parse("pas_at_3").unwrap_err().to_string(),
        "there is no reducer `pas_at_3`\n  hint: did you mean `pass_at_3`? the reducers are mean, median, mode, max, \
         majority, collect, pass_at_K or pass@K, pass_k_K or pass^K, and at_least_K; a threshold is written as in \
         `pass_at(2, value=0.5)`"
    );
    let registry = Registry::builtin();
    let named = |name: &str, params: Value| registry.metric(name, &params).unwrap_err().to_string();
    assert_eq!(
        named("ci", Value::from([("method", "z")])),
        "`ci`: method is `z`, not `auto`, `t` or `bootstrap`\n  hint: give `auto`, `t` or `bootstrap`"
    );
    assert_eq!(
        named("ci", Value::from([("levle", 0.9)])),
        "`ci` has no parameter `levle`\n  hint: did you mean `level`?"
    );
    assert_eq!(
        named("std", Value::from([("cluster", "x")])),
        "`std` has no parameter `cluster`\n  hint: it has where, scorer, to_float"
    );
}

/// Every metric that Calipers brings, with parameters where it needs some.
fn builtin() -> Vec<Metric> {
    let registry = Registry::builtin();
    let metric = |name: &str| {
        let inner = Value::from([("name", "mean")]);
        let params = match name {
            "grouped" => Value::from([("metric", inner), ("group_key", "topic".into())]),
            "aggregate" => Value::from([("key", Value::from("tone")), ("agg", inner)]),
            "quantile" => Value::from([("field", "latency_ms")]),
            "ratio" => Value::from([("numerator", "passed"), ("denominator", "latency_ms")]),
            _ => Value::Null,
        };
        registry.metric(name, &params).expect("these are its parameters")
    };
    registry.names().map(metric).collect()
}

#[test]
fn nothing_to_measure_is_undefined_for_every_metric() {
    for metric in builtin() {
        let name = metric.name().to_owned();
        let results = Plan::new().scorer("judge", [metric.clone()]).measure(&Samples::new()).unwrap();
        let reasons = reasons(&results);
        assert!(!reasons.is_empty(), "{name}");
        let is_known = |why: &Reason| match why {
            Reason::NothingScored | Reason::Statistic(NoStatistic::Empty | NoStatistic::ZeroDenominator { .. }) => true,
            Reason::Statistic(NoStatistic::NoSpread { what }) => *what == Quantity::TruthsOrPredictions,
            _ => false,
        };
        assert!(reasons.iter().all(is_known), "{name}: {reasons:?}");
        // Without a scorer there is nothing to report on.
        let unscored = Plan::new().metrics([metric]).measure(&Samples::new()).unwrap();
        assert!(unscored.scores.iter().all(|score| score.name == "run"), "{name}");
    }
}

#[test]
fn all_scores_unscored_is_undefined_for_every_metric_of_scores() {
    let mut samples = Samples::new();
    samples.push("q1").metadata("topic", "physics").score("judge", Outcome::unscored("refused"));
    samples.push("q2").score("judge", Outcome::unscored("refused"));
    for metric in builtin().into_iter().filter(|metric| metric.rows() != calipers_core::View::Attempts) {
        let results = measure(metric, &samples).unwrap();
        assert_eq!((results.scores[0].scored_samples, results.scores[0].unscored_samples), (0, 2));
        for reason in reasons(&results) {
            assert!([Reason::NothingScored, EMPTY].contains(&reason), "{reason:?}");
        }
    }
    let keyed = Plan::new().metrics([by_key([("*", vec![mean(), ci()])])]).measure(&samples).unwrap();
    assert_eq!(reasons(&keyed), [Reason::NothingScored, EMPTY, EMPTY]);
}

#[test]
fn keys_that_are_not_there() {
    let samples = run(&[(Value::from([("tone", 1.0)]), None), (Value::from([("facts", 1.0)]), None)]);
    let missing = |key: &str, sample: &str| {
        format!(
            "the score has no key `{key}`\n  at scorer `judge`, sample `{sample}`\n  \
             hint: pick the key with `aggregate`, which can skip such samples or count them as 0"
        )
    };
    assert_eq!(error(aggregate("tone", mean(), OnMissing::Error), &samples), missing("tone", "q2"));
    let keyed = |key: &str| Plan::new().metrics([by_key([(key, vec![mean()])])]).measure(&samples);
    assert_eq!(keyed("tone").unwrap_err().to_string(), missing("tone", "q2"));
    let plain = run(&[(1.0.into(), None)]);
    let not_a_map = |by: &str| {
        format!(
            "`{by}` takes scores that are maps, not a number\n  at scorer `judge`, sample `q1`\n  \
             hint: apply the metric itself, without a key"
        )
    };
    assert_eq!(error(aggregate("tone", mean(), OnMissing::Zero), &plain), not_a_map("aggregate"));
    let on_plain = Plan::new().metrics([by_key([("tone", vec![mean()])])]).measure(&plain);
    assert_eq!(on_plain.unwrap_err().to_string(), not_a_map("a map of metrics"));
    // A key that no score has is no error, because patterns may match nothing; but it is said.
    let lonely = Plan::new().metrics([by_key([("style", vec![mean()])])]);
    let results = lonely.measure(&run(&[(Value::from([("tone", 1.0)]), None)])).unwrap();
    assert!(results.scores.is_empty());
    assert_eq!(results.caveats, [Caveat::UnmatchedKey { key: "style".into(), known: vec!["tone".into()] }]);
}

#[test]
fn fields_that_are_not_there_or_are_no_numbers() {
    let with = |value: Value| {
        let mut samples = Samples::new();
        samples.push("q1").field("latency_ms", 812).field("speed", 1.0);
        samples.push("q2").field("latency_ms", 790).field("speed", value);
        samples
    };
    let fields = [("mean", mean_of("latency")), ("quantile", quantile("latency", 0.5).unwrap())];
    for (name, metric) in fields.into_iter().chain([("ratio", ratio("speed", "latency"))]) {
        assert_eq!(
            error(metric, &with(1.0.into())),
            format!("no sample has the field `latency`\n  at `{name}`\n  hint: the run has latency_ms, speed")
        );
    }
    let numbers = || [mean_of("speed"), quantile("speed", 0.5).unwrap(), ratio("latency_ms", "speed")];
    for metric in numbers() {
        assert_eq!(
            error(metric, &with("slow".into())),
            "field `speed` is `slow`, which is not a number\n  at sample `q2`, epoch 1\n  \
             hint: record a number or a label there, or name another field"
        );
    }
    for metric in [mean_of("speed"), ratio("latency_ms", "speed"), ratio("speed", "latency_ms")] {
        assert_eq!(
            error(metric, &with(f64::INFINITY.into())),
            "field `speed` is infinite\n  at sample `q2`, epoch 1\n  \
             hint: leave it out where nothing was measured, or use `quantile`, to which infinity is only large"
        );
    }
    // A timeout is longer than any time, and that is all that a quantile has to know.
    let fastest = measure(quantile("speed", 0.001).unwrap(), &with(f64::INFINITY.into())).unwrap();
    assert!(fastest.figure("run", "quantile").unwrap().value.is_err(), "between 1 and infinity");
    let none = reasons(
        &measure(ratio("latency_ms", "speed"), &{
            let mut samples = Samples::new();
            samples.push("q1").field("latency_ms", 1).field("speed", 0);
            samples
        })
        .unwrap(),
    );
    assert_eq!(none, [Reason::Statistic(NoStatistic::ZeroDenominator { what: Quantity::DenominatorTotal })]);
}

#[test]
fn groups_whose_names_collide() {
    let samples = second(0.0, "all");
    assert_eq!(
        error(Grouped::new(mean(), "topic").name_template("group"), &samples),
        "`name_template` gives two groups the name `group`\n  hint: put `{group_name}` into the template"
    );
    assert_eq!(
        error(grouped(mean(), "topic"), &samples),
        "a group is named `all`, like the figure for all\n  \
         hint: choose another `all_label`, or turn the aggregate off"
    );
    assert!(measure(Grouped::new(mean(), "topic").all(All::Off), &samples).is_ok());
    assert!(measure(Grouped::new(mean(), "topic").all_label("overall"), &samples).is_ok());
}

#[test]
fn an_attempt_delivered_twice() {
    let twice = |again: f64| {
        let mut samples = Samples::new();
        samples.push_epoch("q1", 1).score("judge", 1.0);
        samples.push_epoch("q1", 1).score("judge", again);
        samples
    };
    for plan in [Plan::new(), Plan::new().reducers([])] {
        let plan = plan.metrics([mean()]);
        let same = plan.measure(&twice(1.0)).unwrap();
        assert_eq!((same.attempts, same.figure("judge", "mean").unwrap().n), (1, 1));
        assert_eq!(
            plan.measure(&twice(0.5)).unwrap_err().to_string(),
            "one attempt has two different scores, `1.0` and `0.5`\n  at scorer `judge`, sample `q1`, epoch 1\n  \
             hint: remove one of the two records, or number the attempts with `epoch`"
        );
    }
}

#[test]
fn nothing_at_all() {
    let results = Plan::new().metrics([accuracy()]).measure(&Samples::new()).unwrap();
    assert!(results.scores.is_empty());
    assert_eq!(results.caveats, [Caveat::NoScores]);
}

#[test]
fn a_map_that_names_a_key_twice() {
    let samples = run(&[(Value::from([("a", 1.0), ("b", 0.0)]), None), (Value::from([("a", 1.0), ("a", 0.0)]), None)]);
    let keyed = Plan::new().metrics([by_key([("*", vec![mean()])])]).measure(&samples);
    assert!(keyed.unwrap_err().to_string().starts_with("the score has no key `b`\n  at scorer `judge`, sample `q2`"));
}

#[test]
fn numbers_beyond_all_bounds() {
    let mut samples = Samples::new();
    for id in 0..3 {
        let facts = Metadata::new([("num_tokens", 1e300), ("sum_log_probs", -1.0)]);
        samples.push(id).score("nll", Score::new(1.0).metadata(facts));
    }
    assert!(measure(perplexity_per_token(), &samples).is_ok());

    let mut samples = Samples::new();
    samples.push_epoch("q1", u32::MAX).score("judge", 1.0);
    samples.push("q1").score("judge", 0.0);
    assert!(error(mean(), &samples).starts_with("one attempt has two different scores"));

    let mut samples = Samples::new();
    samples.push("q1").score("judge", f64::MAX);
    samples.push("q1").score("judge", f64::MAX);
    let plan = Plan::new().reducers([pass_at(u64::MAX), median_score()]).metrics([mean()]);
    let results = plan.measure(&samples).unwrap();
    assert_eq!(results.reduced("judge", "median").unwrap().metrics["mean"].figure.value, Ok(f64::MAX));
}
