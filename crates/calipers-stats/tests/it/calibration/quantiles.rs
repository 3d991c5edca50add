//! Quantiles of a skewed distribution.

use super::{count, level};
use calipers_stats::quantile::SortedValues;
use calipers_stats::special::normal_quantile;
use calipers_testing::simulation::{Claim, Table};

#[test]
#[ignore = "calibration"]
fn order_statistics_cover_the_quantiles_of_a_lognormal() {
    const REPLICATIONS: u64 = 20_000;
    let mut table = Table::new("Order-statistic intervals of the quantiles of a lognormal");
    for (p, sizes) in [(0.5, [10, 30, 100]), (0.9, [40, 60, 100]), (0.95, [72, 100, 300])] {
        let truth = normal_quantile(p).exp();
        for n in sizes {
            let hits = count(n, REPLICATIONS, |draws| {
                let sorted =
                    SortedValues::new((0..n).map(|_| draws.normal().exp()).collect()).expect("there are values");
                let answer = sorted.order_interval(p, level()).expect("a quantile");
                assert!(answer.interval.width().is_some(), "both bounds exist");
                answer.interval.contains(truth)
            });
            table.counted(format!("p{:.0}, n = {n}", p * 100.0), 0.95, hits, REPLICATIONS, Claim::AtLeast(0.95));
        }
    }
    table.finish();
}
