//! Quantiles and their intervals against numpy, scipy and R.

use calipers_stats::{Confidence, quantile::SortedValues};
use calipers_testing::golden::{Vector, check, json};
use serde_json::{Value, json};

fn sorted(v: &Vector) -> SortedValues {
    SortedValues::new(v.numbers("values")).unwrap()
}

#[test]
fn linear_quantiles() {
    check("quantiles", &["quantile_linear"], |v| {
        let values = sorted(v);
        json!({ "quantiles": v.numbers("p").iter().map(|&p| json(values.linear(p))).collect::<Vec<Value>>() })
    });
}

#[test]
fn order_statistic_intervals() {
    check("quantiles", &["quantile_ci_order"], |v| {
        let (values, p) = (sorted(v), v.number("p"));
        let confidence = Confidence::two_sided(v.number("level")).unwrap();
        let interval = values.order_interval(p, confidence).unwrap().interval;
        json!({ "estimate": json(values.linear(p)), "lower": interval.lower, "upper": interval.upper })
    });
}

#[test]
fn harrell_davis_quantiles() {
    check("quantiles", &["quantile_harrell_davis"], |v| {
        let values = sorted(v);
        json!({ "quantiles": v.numbers("p").iter().map(|&p| json(values.harrell_davis(p))).collect::<Vec<Value>>() })
    });
}
