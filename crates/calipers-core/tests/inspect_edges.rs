//! Where Inspect's answer is easily missed, found by comparing with it on random input.

use calipers_core::{
    Answer, Context, Labels, Metadata, Plan, Reducer, Registry, Samples, Score, Seed, Value, majority, mean,
    mode_score, pass_at, pass_k,
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
    assert_eq!(answer.figure().unwrap().value.as_ref().unwrap_err().to_string(), "needs at least 2 clusters, has 1");
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
