//! Power and sample sizes against statsmodels, R and brute force.

use calipers_stats::power::{
    Effect, EpochDesign, PairedDesign, Test, Variances, gate_power, gate_sample_size, paired_t_power,
    paired_t_sample_size, sample_size_z, two_proportions_sample_size,
};
use calipers_stats::threshold_test::ThresholdTest;
use calipers_testing::golden::{Vector, check};
use serde_json::json;

fn test(v: &Vector) -> Test {
    let one_sided = v.params.get("sides").is_some_and(|sides| sides == 1);
    let test = if one_sided { Test::one_sided } else { Test::two_sided };
    test(v.number("alpha")).expect("alpha of a vector lies between 0 and 1")
}

fn effect(v: &Vector) -> Effect {
    Effect { delta: v.number("delta"), sd: v.number("sd") }
}

fn design(v: &Vector) -> PairedDesign {
    let variances =
        Variances { between: v.number("omega2"), within_a: v.number("sigma2_a"), within_b: v.number("sigma2_b") };
    PairedDesign::new(variances, EpochDesign { a: v.count("k_a"), b: v.count("k_b") }).expect("a vector has variances")
}

#[test]
fn sample_sizes_by_the_normal_distribution() {
    check("power", &["sample_size_z", "sample_size_epochs"], |v| {
        let size = match v.statistic.as_str() {
            "sample_size_z" => sample_size_z(effect(v), test(v), v.number("power")),
            _ => design(v).sample_size(v.number("delta"), test(v), v.number("power")),
        }
        .unwrap();
        json!({"n_real": size.real, "n": size.whole})
    });
}

#[test]
fn detectable_differences() {
    check(
        "power",
        &["mde_epochs"],
        |v| json!({"mde": design(v).detectable(v.count("n"), test(v), v.number("power")).unwrap()}),
    );
}

#[test]
fn paired_t() {
    check(
        "power",
        &["power_t_paired"],
        |v| json!({"power": paired_t_power(v.count("n"), effect(v), test(v)).unwrap()}),
    );
    check(
        "power",
        &["sample_size_t_paired"],
        |v| json!({"n": paired_t_sample_size(effect(v), test(v), v.number("power")).unwrap()}),
    );
}

#[test]
fn two_proportions() {
    check("power", &["sample_size_two_proportions"], |v| {
        let size = two_proportions_sample_size(v.number("p1"), v.number("p2"), test(v), v.number("power")).unwrap();
        json!({"n_per_arm_real": size.real, "n_per_arm": size.whole})
    });
}

#[test]
fn exact_gates() {
    let gate = |v: &Vector| ThresholdTest::at_least(v.number("threshold"), v.number("alpha")).unwrap();
    check("power", &["gate_power_binomial"], |v| {
        let power = gate_power(gate(v), v.number("p_true"), v.count("n")).unwrap();
        json!({"critical_successes": power.critical_successes, "power": power.power})
    });
    check("power", &["gate_sample_size_binomial"], |v| {
        let size = gate_sample_size(gate(v), v.number("p_true"), v.number("power"), 20_000).unwrap();
        json!({"n_first": size.first, "n_stable": size.stable})
    });
}
