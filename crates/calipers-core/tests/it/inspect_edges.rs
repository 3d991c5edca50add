//! Where Inspect's answer is easily missed, found by comparing with it on random input.

use calipers_core::stats::{Quantity, Undefined as NoStatistic};
use calipers_core::{
    Answer, Context, Labels, Metadata, Plan, Reason, Reducer, Registry, Samples, Score, Seed, Value, by_key, majority,
    mean, mode_score, pass_at, pass_k,
};

fn inspect() -> Context {
    Context { labels: Labels::default().unknown_as_zero(), inspect: true, seed: Seed(1), ..Context::default() }
}

/// What Inspect prints for a metric called by hand on these scores, whose samples have these metadata under `doc`.
fn measured<V: Into<Value> + Clone, D: Into<Value> + Clone>(name: &str, params: Value, rows: &[(V, D)]) -> Answer {
    let mut samples = Samples::new();
    for (id, (score, doc)) in rows.iter().enumerate() {
        let score: Value = score.clone().into();
        samples.push(id as i64).metadata("doc", doc.clone()).score("s", Score::new(score));
    }
    let metric = Registry::builtin().metric(name, &params).unwrap();
    metric.measure(&samples.points("s").unwrap(), &inspect()).unwrap()
}

fn printed(answer: &Answer) -> f64 {
    answer.figure().unwrap().inspect_value()
}

#[test]
fn clusters_with_large_numbers_for_names_stay_apart() {
    let large = 1i64 << 53;
    let rows = [(1.0, large), (1.0, large + 1), (0.0, large + 2)];
    let by_number = printed(&measured("stderr", Value::from([("cluster", "doc")]), &rows));
    let each_alone = printed(&measured("stderr", Value::Null, &rows));
    assert!((by_number - each_alone).abs() < 1e-15);
}

#[test]
fn zero_and_minus_zero_are_one_cluster() {
    let answer = measured("stderr", Value::from([("cluster", "doc")]), &[(1.0, 0.0), (0.0, -0.0), (1.0, 0.0)]);
    let too_few = NoStatistic::TooFew { what: Quantity::Clusters, need: 2, have: 1 };
    let why = answer.figure().unwrap().value.clone().unwrap_err();
    assert_eq!(why.reason(), &Reason::Statistic(too_few));
}

#[test]
fn labels_that_are_numbers_apply_to_columns_of_floats() {
    let half = Labels::default().partial(0.25);
    let mut samples = Samples::new();
    for (id, score) in [(1, 0.25), (2, 1.0)] {
        samples.push(id).score("s", score);
    }
    let results = Plan::new().labels(half.clone()).metrics([mean()]).measure(&samples).unwrap();
    assert_eq!(results.figure("s", "mean").unwrap().value, Ok(0.75));
    let reduced = samples.points("s").unwrap().reduce(&Reducer::parse("median").unwrap().labels(half), &inspect());
    assert_eq!(reduced.unwrap().get(0).score.value, Value::from(0.5));
}

#[test]
fn a_mean_may_be_finite_where_the_sum_is_not() {
    let reduced = Reducer::parse("mean").unwrap().reduce(&[1e308, 1e308, 0.0].map(Score::new)).unwrap();
    assert!((reduced.as_float().unwrap() / 6.666666666666667e307 - 1.0).abs() < 1e-15);
}

#[test]
fn of_no_attempts_none_passes_and_all_do() {
    let attempts = ["C", "I"].map(Score::new);
    assert_eq!(pass_at(0).reduce(&attempts).unwrap().value, Value::from(0.0));
    assert_eq!(pass_k(0).reduce(&attempts).unwrap().value, Value::from(1.0));
}

#[test]
fn a_panel_takes_the_place_of_one_in_the_metadata_and_may_be_empty() {
    let metadata = Metadata::new([("panel", Value::from(1)), ("k", Value::from(2))]);
    let reduced = majority().reduce(&[Score::new("C").metadata(metadata)]).unwrap();
    let kept = reduced.metadata.unwrap();
    assert_eq!(kept.iter().map(|(key, _)| &**key).collect::<Vec<_>>(), ["panel", "k"]);
    let empty = majority().reduce(&[]).unwrap();
    let panel = Value::from([("votes", Value::List(vec![])), ("size", 0.into()), ("failures", Value::List(vec![]))]);
    assert_eq!(empty.metadata.unwrap().get("panel"), Some(&panel));
}

#[test]
fn the_mode_tells_large_numbers_apart() {
    let large = 1i64 << 53;
    let reduced = mode_score().reduce(&[large, large + 1, large + 1].map(Score::new)).unwrap();
    assert_eq!(reduced.value, Value::from(large + 1));
}

fn list(items: &[Value]) -> Value {
    Value::List(items.to_vec())
}

#[test]
fn aggregate_applies_its_labels_before_the_metric() {
    let params = Value::from([
        ("key", Value::from("a")),
        ("agg", Value::from([("name", "frequency")])),
        ("to_float", Value::from([("correct", "yes!")])),
    ]);
    let rows = [("yes!", 1), ("odd", 2)].map(|(label, doc)| (Value::from([("a", label)]), doc));
    let answer = measured("aggregate", params, &rows);
    assert_eq!((printed(answer.get("1.0").unwrap()), printed(answer.get("0.0").unwrap())), (0.5, 0.5));
    // What stands in for a missing key is no value for the labels.
    let params = Value::from([
        ("key", Value::from("b")),
        ("agg", Value::from([("name", "mean")])),
        ("to_float", Value::from([("partial", 0)])),
        ("on_missing", "zero".into()),
    ]);
    assert_eq!(printed(&measured("aggregate", params, &rows)), 0.0);
}

#[test]
fn a_metric_within_another_sees_the_rows_of_the_other() {
    let mut samples = Samples::new();
    for (id, score) in [(1, "C"), (1, "I"), (2, "C"), (2, "C")] {
        samples.push(id).score("s", [("a", score)]);
    }
    let params = Value::from([("key", Value::from("a")), ("agg", Value::from([("name", "frequency")]))]);
    let metric = Registry::builtin().metric("aggregate", &params).unwrap();
    let results = Plan::new().inspect_compatible().metrics([metric]).measure(&samples).unwrap();
    assert_eq!(results.scores[0].metrics.keys().collect::<Vec<_>>(), ["0.5", "1.0"]);
}

#[test]
fn ordered_ratings_that_no_label_names_count_as_zero() {
    let params = Value::from([("level", Value::from("interval")), ("to_float", Value::Map(vec![]))]);
    let rows = [(list(&["odd".into(), "C".into()]), 1), (list(&[1.into(), 1.into()]), 2)];
    let zeros = [(list(&[0.into(), 1.into()]), 1), (list(&[1.into(), 1.into()]), 2)];
    let plain = Value::from([("level", "interval")]);
    let (got, want) = (measured("krippendorff_alpha", params, &rows), measured("krippendorff_alpha", plain, &zeros));
    assert_eq!(printed(&got), printed(&want));
}

#[test]
fn infinity_has_a_place_on_an_ordered_scale() {
    let ordinal = || Value::from([("level", "ordinal")]);
    let rows = |largest: f64| [(list(&[1.into(), largest.into()]), 1), (list(&[2.into(), 1.into()]), 2)];
    let of = |largest| printed(&measured("krippendorff_alpha", ordinal(), &rows(largest)));
    assert_eq!(of(f64::INFINITY), of(3.0));
}

#[test]
fn ratings_that_were_not_given_are_left_out() {
    let missing = f64::NAN;
    let mut samples = Samples::new();
    samples.push(1).score("s", list(&["a".into(), "a".into(), missing.into()]));
    samples.push(2).score("s", list(&["b".into(), missing.into(), "b".into()]));
    samples.push(3).score("s", list(&["b".into(), missing.into()]));
    let metric = Registry::builtin().metric("krippendorff_alpha", &Value::Null).unwrap();
    let points = samples.points("s").unwrap();
    let strict = metric.measure(&points, &Context::default()).unwrap();
    let figure = strict.figure().unwrap();
    assert_eq!((figure.value.clone(), figure.n, figure.missing), (Ok(1.0), 2, 1));
    // Inspect counts each as a separate category.
    let lenient = printed(&metric.measure(&points, &inspect()).unwrap());
    assert!((lenient - 0.125).abs() < 1e-12, "{lenient}");
}

fn perplexity(name: &str, facts: &[(Value, Value)], context: &Context) -> Result<Answer, String> {
    let mut samples = Samples::new();
    for (id, (tokens, log_prob)) in facts.iter().enumerate() {
        let facts = Metadata::new([("num_tokens", tokens.clone()), ("sum_log_probs", log_prob.clone())]);
        samples.push(id as i64).score("s", Score::new(0.0).metadata(facts));
    }
    let metric = Registry::builtin().metric(name, &Value::Null).unwrap();
    metric.measure(&samples.points("s").unwrap(), context).map_err(|error| error.to_string())
}

#[test]
fn perplexity_reads_what_inspect_reads() {
    let both = |facts: &[(Value, Value)]| {
        let of = |name| printed(&perplexity(name, facts, &inspect()).unwrap());
        (of("perplexity_per_token"), of("perplexity_per_seq"))
    };
    let close = |got: (f64, f64), want: (f64, f64)| (got.0 - want.0).abs() < 1e-12 && (got.1 - want.1).abs() < 1e-12;
    // Log-probabilities count even where no tokens are, and numbers may be text.
    let (one, e) = (Value::from(1), |x: f64| x.exp());
    assert!(close(both(&[(0.into(), (-1.0).into()), (one.clone(), (-1.0).into())]), (e(2.0), e(1.0))));
    assert!(close(both(&[("2".into(), "-1.0".into())]), (e(0.5), e(0.5))));
    let (per_token, per_seq) = both(&[(one.clone(), f64::NEG_INFINITY.into())]);
    assert_eq!((per_token, per_seq), (f64::INFINITY, f64::INFINITY));
    let strict = perplexity("perplexity_per_seq", &[(one.clone(), f64::INFINITY.into())], &Context::default());
    assert!(strict.unwrap().figure().unwrap().value.is_err());
    let error = perplexity("perplexity_per_token", &[("many".into(), one)], &Context::default()).unwrap_err();
    assert_eq!(
        error,
        "the score's metadata has `many` for `num_tokens`\n  at scorer `s`, sample `0`\n  \
         hint: record a number there, or leave it out"
    );
}

#[test]
fn what_is_infinite_prints_as_ieee_arithmetic_has_it() {
    let cluster = || Value::from([("cluster", "doc")]);
    let bounds = |params, rows: &[(f64, i32)]| {
        let answer = measured("ci", params, rows);
        (printed(answer.get("lower").unwrap()), printed(answer.get("upper").unwrap()))
    };
    let infinite = [(f64::INFINITY, 1), (0.0, 2)];
    assert!(printed(&measured("stderr", cluster(), &infinite)).is_nan());
    assert!(bounds(cluster(), &infinite).0.is_nan() && bounds(Value::Null, &infinite).1.is_nan());
    // One cluster has a standard error of 0 in Inspect, and one sample is its own interval.
    assert_eq!(bounds(cluster(), &[(f64::INFINITY, 1), (0.0, 1)]), (f64::INFINITY, f64::INFINITY));
    assert_eq!(bounds(Value::Null, &[(f64::INFINITY, 1)]), (f64::INFINITY, f64::INFINITY));
    // Squares may be infinite where no score is.
    assert_eq!(bounds(Value::Null, &[(1e308, 1), (0.0, 2)]), (f64::NEG_INFINITY, f64::INFINITY));
}

#[test]
fn a_template_with_stray_braces_is_refused() {
    for template in ["{", "}", "{}", "{other}", "{group_name", "{group_name!r}", "a}b"] {
        let params = Value::from([
            ("metric", Value::from([("name", "mean")])),
            ("group_key", "doc".into()),
            ("name_template", template.into()),
        ]);
        let mut samples = Samples::new();
        samples.push(1).metadata("doc", "x").score("s", 1.0);
        let metric = Registry::builtin().metric("grouped", &params).unwrap();
        let error = metric.measure(&samples.points("s").unwrap(), &inspect()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "`name_template` is `{template}`, which has a brace out of place\n  \
                 hint: write `{{group_name}}` for the group, and `{{{{` and `}}}}` for braces"
            )
        );
    }
}

fn named(name: &str, params: Value) -> calipers_core::Metric {
    Registry::builtin().metric(name, &params).unwrap()
}

#[test]
fn a_metric_that_refuses_nothing_is_nan_when_nothing_is_scored() {
    let wilson = named("ci_wilson", Value::from([("cluster", "doc")]));
    let mut samples = Samples::new();
    samples.push(1).metadata("doc", "x").score("s", Score::unscored());
    let results = Plan::new().inspect_compatible().metrics([wilson]).measure(&samples).unwrap();
    assert!(results.figure("s", "ci_wilson").unwrap().inspect_value().is_nan());
}

#[test]
fn without_a_map_patterns_stand_for_themselves() {
    let plan = || Plan::new().scorer("s", [by_key([("a*", vec![mean()]), ("b", vec![mean()])])]);
    for results in [plan().measure(&Samples::new()).unwrap(), {
        let mut samples = Samples::new();
        samples.push(1).score("s", Score::unscored());
        plan().measure(&samples).unwrap()
    }] {
        assert_eq!(results.scores.iter().map(|score| &*score.name).collect::<Vec<_>>(), ["a*", "b"]);
        let why = results.figure("b", "mean").unwrap().value.clone().unwrap_err();
        assert_eq!(why.reason(), &Reason::NothingScored);
    }
}

#[test]
fn patterns_that_match_no_key_of_the_first_map_give_nothing() {
    let mut samples = Samples::new();
    samples.push(1).score("s", Score::unscored());
    samples.push(2).score("s", [("x", 1.0)]);
    samples.push(3).score("s", "not a map");
    let plan = Plan::new().scorer("s", [by_key([("a*", vec![mean()])])]);
    assert!(plan.clone().inspect_compatible().measure(&samples).unwrap().scores.is_empty());
    assert!(plan.measure(&samples).is_err());
}

#[test]
fn a_list_of_metrics_always_has_a_result_for_the_whole_score() {
    let mut samples = Samples::new();
    samples.push(1).score("s", [("x", "C")]);
    let frequency = || calipers_core::frequency(["C"], true);
    let plan = Plan::new().scorer("s", [by_key([("x", vec![frequency()])]), by_key([("x", vec![mean()])])]);
    let names = |plan: Plan| {
        let results = plan.measure(&samples).unwrap();
        results.scores.iter().map(|score| format!("{} {}", score.name, score.metrics.len())).collect::<Vec<_>>()
    };
    assert_eq!(names(plan.clone().inspect_compatible()), ["s 0", "x 1", "s 0", "x 1"]);
    assert_eq!(names(plan), ["x 1", "x 1"]);
}

#[test]
fn a_scorer_without_samples_has_a_reduction_without_samples() {
    let results = Plan::new().scorer("s", [mean()]).keep_reductions().measure(&Samples::new()).unwrap();
    assert_eq!((results.reductions.len(), results.reductions[0].samples.len()), (1, 0));
}
