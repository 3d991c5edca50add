//! Intervals for proportions against statsmodels and scipy.

use calipers_stats::{Confidence, Interval, proportion::Proportion};
use calipers_testing::golden::check;
use serde_json::{Map, Value, json};

#[test]
fn intervals_of_a_proportion() {
    check("proportions", &["proportion_ci"], |v| {
        let share = Proportion::new(v.count("successes"), v.count("n")).unwrap();
        let level = v.number("level");
        let both = Confidence::two_sided(level).unwrap();
        let mut answer = Map::new();
        answer.insert("estimate".into(), json!(share.estimate()));
        let mut put = |name: &str, interval: Interval| {
            for (end, bound) in [("lower", interval.lower), ("upper", interval.upper)] {
                if bound.is_some() {
                    answer.insert(format!("{name}_{end}"), json!(bound));
                }
            }
        };
        put("wilson", share.wilson(both));
        put("clopper_pearson", share.clopper_pearson(both));
        put("jeffreys", share.jeffreys(both));
        put("beta_uniform", share.uniform_beta(both));
        put("agresti_coull", share.agresti_coull(both));
        put("wald", share.wald(both));
        put("cp_one_sided", share.clopper_pearson(Confidence::lower(level).unwrap()));
        put("cp_one_sided", share.clopper_pearson(Confidence::upper(level).unwrap()));
        Value::Object(answer)
    });
}
