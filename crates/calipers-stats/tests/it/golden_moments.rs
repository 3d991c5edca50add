//! Mean, variance, standard error and t intervals against numpy and scipy.

use calipers_stats::{Confidence, Moments, special};
use calipers_testing::golden::{check, json};
use serde_json::json;

#[test]
fn t_intervals_of_a_mean() {
    check("mean_ci", &["ci_mean_t"], |v| {
        let moments = Moments::from_slice(&v.numbers("values"));
        let confidence = Confidence::two_sided(v.number("level")).unwrap();
        let df = moments.count() - 1;
        let mean = moments.mean().unwrap();
        // In Inspect's reading a single value has an interval of no width.
        let placeholder = || if v.params["undefined"] == "zero" { json!(mean) } else { json!(null) };
        let interval = moments.t_interval(confidence).ok();
        let bound = |bound: Option<f64>| bound.map_or_else(placeholder, |x| json!(x));
        json!({
            "mean": mean,
            "stderr": json(moments.stderr()),
            "df": df,
            "t_crit": (df > 0).then(|| special::t_quantile(0.5 + confidence.level() / 2.0, df as f64)),
            "lower": bound(interval.and_then(|i| i.lower)),
            "upper": bound(interval.and_then(|i| i.upper)),
        })
    });
}
