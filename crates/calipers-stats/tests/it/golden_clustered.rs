//! Cluster-robust errors and intervals against statsmodels, clubSandwich and Inspect.

use calipers_stats::cluster::{ClusterEstimate, estimate_clustered, wilson_clustered_inspect};
use calipers_stats::{Confidence, Moments, Undefined};
use calipers_testing::golden::{Vector, check, json};
use serde_json::json;

fn estimate(v: &Vector) -> Result<ClusterEstimate, Undefined> {
    estimate_clustered(&v.numbers("values"), &v.codes("clusters"))
}

#[test]
fn cluster_robust_errors() {
    check("clustered", &["clustered_stderr"], |v| {
        let moments = Moments::from_slice(&v.numbers("values"));
        let estimate = estimate(v);
        // Inspect reads an error that does not exist as 0.
        let placeholder = if v.params["undefined"] == "zero" { json!(0.0) } else { json!(null) };
        let field = |of: fn(&ClusterEstimate) -> f64| estimate.as_ref().map_or(placeholder.clone(), |e| json!(of(e)));
        let clusters = v.codes("clusters").iter().max().map_or(0, |code| code + 1);
        json!({
            "n": moments.count(),
            "n_clusters": clusters,
            "mean": json(moments.mean()),
            "se_naive": json(moments.stderr()),
            "se_cr0": field(|e| e.cr0),
            "se_cr1": field(|e| e.cr1),
            "se_cr2": field(|e| e.cr2),
            "se_cr3": field(|e| e.cr3),
            "df_cr1": estimate.as_ref().map_or(clusters.saturating_sub(1).into(), |e| e.df_cr1),
            "df_satterthwaite": json(estimate.and_then(|e| e.df_satterthwaite)),
        })
    });
}

#[test]
fn clustered_t_intervals_of_a_mean() {
    check("mean_ci", &["ci_mean_t_clustered"], |v| {
        let estimate = estimate(v).unwrap();
        let confidence = Confidence::two_sided(v.number("level")).unwrap();
        let cr1 = estimate.interval_cr1(confidence).unwrap();
        let cr2 = estimate.interval(confidence).ok();
        json!({
            "mean": estimate.mean,
            "se": estimate.cr1,
            "df": estimate.df_cr1,
            "lower": cr1.lower,
            "upper": cr1.upper,
            "cr2_se": estimate.cr2,
            "cr2_df": json(estimate.df_satterthwaite),
            "cr2_lower": cr2.and_then(|i| i.lower),
            "cr2_upper": cr2.and_then(|i| i.upper),
        })
    });
}

#[test]
fn clustered_wilson_intervals_as_inspect_computes_them() {
    check("proportions", &["wilson_clustered"], |v| {
        let confidence = Confidence::two_sided(v.number("level")).unwrap();
        let interval = wilson_clustered_inspect(&estimate(v).unwrap(), confidence).unwrap();
        json!({ "lower": interval.lower, "upper": interval.upper })
    });
}
