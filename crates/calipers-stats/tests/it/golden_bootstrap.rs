//! The bootstrap against numpy, scipy and Inspect.

use calipers_stats::bootstrap::{
    Bootstrap, BootstrapKind, ClusterMeanResampler, MeanResampler, Resampler, binary_mean_interval,
};
use calipers_stats::{Confidence, Interval, Moments, Seed};
use calipers_testing::golden::{Vector, check, json};
use serde_json::{Value, json};

fn confidence(v: &Vector) -> Confidence {
    Confidence::two_sided(v.number("level")).unwrap()
}

fn bounds(interval: Interval) -> Value {
    json!({ "lower": interval.lower, "upper": interval.upper })
}

/// Ten thousand resamples or more, from a fixed seed.
fn resampled(v: &Vector, kind: BootstrapKind, bootstrap: &impl Bootstrap) -> Value {
    let replicates = bootstrap.replicates(2 * v.count("n_resamples_min")).unwrap();
    bounds(bootstrap.interval(kind, &replicates, confidence(v)).unwrap().interval)
}

fn kind(v: &Vector) -> BootstrapKind {
    match v.params["method"].as_str().unwrap() {
        "percentile" => BootstrapKind::Percentile,
        "basic" => BootstrapKind::Basic,
        "bca" => BootstrapKind::Bca,
        other => panic!("{other}"),
    }
}

fn median(sorted: &[f64]) -> f64 {
    (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0
}

#[test]
fn the_limit_of_the_standard_error() {
    check(
        "bootstrap",
        &["bootstrap_stderr_limit"],
        |v| json!({ "se": json(Moments::from_slice(&v.numbers("values")).bootstrap_stderr_limit()) }),
    );
}

#[test]
fn exact_intervals_of_a_binary_mean() {
    check("bootstrap", &["percentile_bootstrap_binary_exact"], |v| {
        bounds(binary_mean_interval(v.count("successes"), v.count("n"), confidence(v)).unwrap().interval)
    });
}

#[test]
fn resampled_intervals() {
    check("bootstrap", &["bootstrap_ci"], |v| {
        let values = v.numbers("values");
        match v.params["statistic"].as_str().unwrap() {
            "mean" => resampled(v, kind(v), &MeanResampler::new(&values, Seed(1)).unwrap()),
            "median" => resampled(v, kind(v), &Resampler::new(&values, median, Seed(1)).unwrap()),
            other => panic!("{other}"),
        }
    });
}

#[test]
fn clustered_intervals() {
    check("bootstrap", &["cluster_bootstrap_ci"], |v| {
        let (values, clusters) = (v.numbers("values"), v.codes("clusters"));
        resampled(v, kind(v), &ClusterMeanResampler::new(&values, &clusters, Seed(1)).unwrap())
    });
}
