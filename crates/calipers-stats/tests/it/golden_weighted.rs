//! Weighted and stratified means and ratios against R's survey package.

use calipers_stats::ratio::{mean_of_ratios, ratio_of_sums};
use calipers_stats::weighted::{StratifiedMean, weighted_mean};
use calipers_testing::golden::{Vector, check, json};
use serde_json::{Map, Value, json};

fn clusters(v: &Vector) -> Option<Vec<u32>> {
    v.input.get("clusters").filter(|c| !c.is_null()).map(|_| v.codes("clusters"))
}

#[test]
fn weighted_means() {
    check("weighted", &["weighted_mean"], |v| {
        let answer = weighted_mean(&v.numbers("values"), &v.numbers("weights"), clusters(v).as_deref()).unwrap();
        json!({ "mean": answer.mean.estimate, "se": json(answer.mean.stderr), "n_eff_kish": answer.effective_n })
    });
}

#[test]
fn stratified_means() {
    check("weighted", &["stratified_mean"], |v| {
        let given = v.field("stratum_weights").as_object().unwrap();
        let names: Vec<&String> = given.keys().collect();
        let weights: Vec<f64> = given.values().map(|w| w.as_f64().unwrap()).collect();
        let code = |label: &Value| names.iter().position(|&name| name == label.as_str().unwrap()).unwrap() as u32;
        let strata: Vec<u32> = v.field("strata").as_array().unwrap().iter().map(code).collect();
        let answer = StratifiedMean::new(&v.numbers("values"), &strata, &weights).unwrap();
        let by_name = |value: &dyn Fn(usize) -> Value| -> Map<String, Value> {
            (0..answer.strata.len()).map(|i| (names[answer.strata[i].code as usize].clone(), value(i))).collect()
        };
        json!({
            "mean": answer.mean,
            "se": json(answer.stderr),
            "sample_mean": answer.sample_mean,
            "group_means": by_name(&|i| json!(answer.strata[i].mean)),
            "group_stderrs": by_name(&|i| json(answer.strata[i].stderr)),
            "inspect_grouped_stderr_all_groups_MISLEADING": answer.misleading_mean_of_stderrs,
        })
    });
}

#[test]
fn ratios() {
    check("weighted", &["ratio_delta"], |v| {
        let (num, den) = (v.numbers("num"), v.numbers("den"));
        let answer = ratio_of_sums(&num, &den, clusters(v).as_deref()).unwrap();
        let each = mean_of_ratios(&num, &den);
        json!({
            "ratio_of_sums": answer.ratio.estimate,
            "se_delta": json(answer.ratio.stderr),
            "mean_of_ratios": json(each.clone().and_then(|m| m.mean())),
            "se_mean_of_ratios": json(each.and_then(|m| m.stderr())),
        })
    });
}
