//! A plan that names clusters: every interval is that of clusters, or none.

use calipers_core::{
    Caveat, Ci, ErrorKind, Figure, Metric, Plan, Results, Samples, Value, accuracy, ci, cost, frequency, grouped,
    latency_p50, mean, precision, stderr,
};
use calipers_stats::Method;
use calipers_stats::cluster::estimate_clustered;

/// Sixty samples of twenty documents and two templates, of which some have no document.
fn samples(document: impl Fn(i64) -> Value) -> Samples {
    let mut samples = Samples::new();
    for id in 0..60i64 {
        let row = samples.push(id).metadata("document", document(id)).metadata("template", id % 2);
        let row = row.metadata("kind", if id < 30 { "early" } else { "late" });
        let row = row.score("match", f64::from(u8::from(id / 3 % 5 != 0)));
        let row = row.field("cost_usd", 1.0 + id as f64 / 60.0).field("latency_ms", 1000.0 + id as f64);
        row.field("actual", id / 3 % 4 != 0).field("predicted", true);
    }
    samples
}

fn of_thirds() -> Samples {
    samples(|id| Value::from(id / 3))
}

fn figure(results: &Results, name: &str) -> Figure {
    let found = results.scores.iter().flat_map(|score| score.metrics.get(name));
    found.map(|metric| metric.figure.clone()).next().expect("asked for")
}

fn detail(figure: &Figure, name: &str) -> Option<f64> {
    figure.details.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

fn measure(samples: &Samples, keys: &[&str], metric: impl Into<Metric>) -> Results {
    Plan::new().cluster(keys.iter().copied()).metrics([metric.into()]).measure(samples).expect("measurable")
}

#[test]
fn intervals_are_those_of_clusters_and_name_them() {
    let samples = of_thirds();
    for (metric, name, method) in [
        (accuracy(), "accuracy", Method::AdjustedClusterT),
        (mean(), "mean", Method::AdjustedClusterT),
        (precision(true), "precision", Method::AdjustedClusterT),
        (cost(), "cost", Method::GaffkeClustered),
        (latency_p50(), "latency_p50", Method::Woodruff),
        (grouped(accuracy(), "kind"), "early", Method::AdjustedClusterT),
        (accuracy().only_where([("kind", "late")]).expect("a condition"), "accuracy", Method::AdjustedClusterT),
    ] {
        let results = measure(&samples, &["document"], metric.clone());
        let (clustered, plain) = (figure(&results, name), figure(&measure(&samples, &[], metric), name));
        let interval = clustered.interval.expect("twenty clusters");
        assert_eq!((interval.method, &clustered.value), (method, &plain.value), "{name}");
        // A cost has a lower end only.
        let plain = plain.interval.expect("sixty samples");
        assert!(interval.width() > plain.width() || interval.lower < plain.lower, "{name}: {interval:?}");
        assert!(detail(&clustered, "clusters") >= Some(10.0), "{name}");
        assert_eq!(results.cluster.iter().map(|key| &**key).collect::<Vec<_>>(), ["document"]);
    }
}

#[test]
fn the_error_beside_it_is_that_of_clusters_too() {
    let samples = of_thirds();
    let values: Vec<f64> = (0..60).map(|id| f64::from(u8::from(id / 3 % 5 != 0))).collect();
    let codes: Vec<u32> = (0..60).map(|id| id / 3).collect();
    let error = figure(&measure(&samples, &["document"], stderr()), "stderr");
    assert!((error.value.unwrap() - estimate_clustered(&values, &codes).unwrap().cr2).abs() < 1e-12);
    assert!(error.method.contains("CR2"));
    // `ci` is the same interval, at its own level, and with its own clusters as well.
    let narrow: Metric = Ci::new().level(0.5).unwrap().into();
    let lower = |metric: Metric, keys: &[&str]| figure(&measure(&samples, keys, metric), "lower").value.unwrap();
    let shown = figure(&measure(&samples, &["document"], accuracy()), "accuracy").interval.unwrap().lower.unwrap();
    assert_eq!(lower(ci(), &["document"]), shown);
    assert_eq!(lower(Ci::new().cluster("document").into(), &[]), shown);
    assert!(lower(narrow, &["document"]) > shown);
}

#[test]
fn all_that_pass_in_few_documents_show_little() {
    let mut samples = Samples::new();
    for id in 0..60i64 {
        samples.push(id).metadata("document", id % 3).score("match", "C");
    }
    let interval = figure(&measure(&samples, &["document"], accuracy()), "accuracy").interval.unwrap();
    assert!(interval.lower < Some(0.37) && interval.upper == Some(1.0), "{interval:?}");
}

#[test]
fn samples_without_a_value_stand_alone_and_are_counted() {
    let some = samples(|id| if id < 30 { Value::from(id / 3) } else { Value::Null });
    let results = measure(&some, &["document"], accuracy());
    assert_eq!(detail(&figure(&results, "accuracy"), "clusters"), Some(40.0));
    let alone = Caveat::SamplesAlone { key: "document".into(), samples: 30 };
    assert!(results.caveats.contains(&alone), "{:?}", results.caveats);
    // Where all stand alone, samples are the units, as without clusters.
    let none = measure(&samples(Value::from), &["document"], accuracy());
    let plain = measure(&samples(Value::from), &[], accuracy());
    assert_eq!(figure(&none, "accuracy").interval, figure(&plain, "accuracy").interval);
}

#[test]
fn a_value_of_any_field_connects() {
    let joined = figure(&measure(&of_thirds(), &["document", "template"], accuracy()), "accuracy");
    assert_eq!(detail(&joined, "clusters"), Some(1.0));
    assert_eq!((joined.interval, joined.caveats[0].id()), (None, "few-clusters"));
}

#[test]
fn an_interval_that_knows_nothing_of_clusters_is_left_out() {
    let results = measure(&of_thirds(), &["document"], frequency(["1"], true));
    let share = figure(&results, "1");
    assert_eq!((share.interval, share.caveats[0].id()), (None, "no-clustered-interval"));
}

#[test]
fn a_field_that_no_sample_has_is_an_error_that_lists_the_known_ones() {
    let plan = Plan::new().cluster(["documnt"]).metrics([accuracy()]);
    let error = plan.measure(&of_thirds()).expect_err("misspelt");
    let known = ["document", "kind", "template"].map(str::to_owned).to_vec();
    assert_eq!(*error.kind(), ErrorKind::NoField { field: "documnt".into(), known });
}

#[test]
fn shards_and_their_order_change_no_bit() {
    let whole = of_thirds();
    let metrics = || [accuracy(), precision(true), cost(), latency_p50(), stderr()];
    let plan = Plan::new().cluster(["document", "kind"]).metrics(metrics());
    let want = plan.measure(&whole).expect("measurable");
    let mut shards: Vec<Samples> = (0..7).map(|_| Samples::new()).collect();
    for id in 0..60i64 {
        let row = shards[id as usize % 7].push(id).metadata("document", id / 3).metadata("template", id % 2);
        let row = row.metadata("kind", if id < 30 { "early" } else { "late" });
        let row = row.score("match", f64::from(u8::from(id / 3 % 5 != 0)));
        let row = row.field("cost_usd", 1.0 + id as f64 / 60.0).field("latency_ms", 1000.0 + id as f64);
        row.field("actual", id / 3 % 4 != 0).field("predicted", true);
    }
    for turn in 0..3 {
        let mut all = plan.start();
        for at in 0..7 {
            let mut part = plan.start();
            part.fold(&shards[(at * (turn + 1) + turn) % 7]).expect("measurable");
            all.merge(part);
        }
        let got = all.finish().expect("measurable");
        for (a, b) in want.scores.iter().zip(&got.scores) {
            for (name, metric) in &a.metrics {
                assert_eq!(metric.figure.interval, b.metrics[name].figure.interval, "{name}");
                assert_eq!(metric.figure.value, b.metrics[name].figure.value, "{name}");
            }
        }
    }
}
