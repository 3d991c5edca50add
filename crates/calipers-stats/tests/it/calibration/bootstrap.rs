//! Intervals by resampling.

use super::{count_each, level};
use calipers_stats::bootstrap::{Bootstrap, BootstrapKind, ClusterMeanResampler, MeanResampler};
use calipers_stats::{Interval, Moments, Seed};
use calipers_testing::simulation::{Claim, Table};

const RESAMPLES: u64 = 1000;

fn interval(bootstrap: &impl Bootstrap, kind: BootstrapKind, replicates: &[f64]) -> Interval {
    bootstrap.interval(kind, replicates, level()).expect("values differ").interval
}

#[test]
#[ignore = "calibration"]
fn bca_follows_a_skewed_mean_better_than_percentiles() {
    const REPLICATIONS: u64 = 4000;
    let mut table = Table::new("The mean of exponential values by bootstrap");
    for (n, percentile, bca) in [(10, 0.86, 0.88), (20, 0.90, 0.91), (50, 0.93, 0.935)] {
        let [percentiles, corrected, plain] = count_each(n, REPLICATIONS, |draws| {
            let values: Vec<f64> = (0..n).map(|_| draws.exponential()).collect();
            let resampler = MeanResampler::new(&values, Seed(draws.below(1 << 30) as u64)).expect("there are values");
            let replicates = resampler.replicates(RESAMPLES).expect("enough resamples");
            let [p, c] =
                [BootstrapKind::Percentile, BootstrapKind::Bca].map(|kind| interval(&resampler, kind, &replicates));
            let t = Moments::from_slice(&values).t_interval(level()).expect("values differ");
            [p.contains(1.0), c.contains(1.0), t.contains(1.0)]
        });
        table.counted(format!("percentile, n = {n}"), 0.95, percentiles, REPLICATIONS, Claim::About(percentile, 0.01));
        table.counted(format!("BCa, n = {n}"), 0.95, corrected, REPLICATIONS, Claim::About(bca, 0.01));
        table.counted(format!("t, n = {n}, for comparison"), 0.95, plain, REPLICATIONS, Claim::About(0.92, 0.03));
    }
    table.finish();
}

#[test]
#[ignore = "calibration"]
fn the_cluster_bootstrap_needs_many_clusters() {
    const REPLICATIONS: u64 = 4000;
    let mut table = Table::new("The percentile cluster bootstrap, clusters of 5, intraclass correlation 0.5");
    for (clusters, wanted) in [(5, 0.82), (10, 0.90), (20, 0.92), (50, 0.94)] {
        let [hits] = count_each(clusters, REPLICATIONS, |draws| {
            let (mut values, mut codes) = (Vec::new(), Vec::new());
            for code in 0..clusters as u32 {
                let shared = draws.normal();
                values.extend((0..5).map(|_| shared + draws.normal()));
                codes.extend([code; 5]);
            }
            let seed = Seed(draws.below(1 << 30) as u64);
            let resampler = ClusterMeanResampler::new(&values, &codes, seed).expect("there are values");
            let replicates = resampler.replicates(RESAMPLES).expect("enough resamples");
            [interval(&resampler, BootstrapKind::Percentile, &replicates).contains(0.0)]
        });
        table.counted(format!("{clusters} clusters"), 0.95, hits, REPLICATIONS, Claim::About(wanted, 0.01));
    }
    table.finish();
}
