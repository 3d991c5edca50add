//! McNemar, sign, permutation, Welch and Newcombe against scipy, statsmodels and R, and adjusted p-values.

use calipers_stats::exact::{mcnemar, sign_flip, sign_test};
use calipers_stats::multiplicity::{Correction, adjust, reject};
use calipers_stats::proportion::Proportion;
use calipers_stats::two_sample::{newcombe, welch};
use calipers_stats::{Confidence, Moments, Seed};
use calipers_testing::golden::{Vector, check, json};
use serde_json::json;

fn confidence(v: &Vector) -> Confidence {
    Confidence::two_sided(v.number("level")).expect("a level between 0 and 1")
}

#[test]
fn mcnemar_tests() {
    check("tests", &["mcnemar"], |v| {
        let test = mcnemar(v.count("n10"), v.count("n01"));
        json!({
            "p_exact": test.p_exact,
            "p_mid": test.p_mid,
            "chi2_cc": json(test.chi2),
            "p_chi2_cc": json(test.p_chi2),
        })
    });
}

#[test]
fn sign_and_permutation_tests() {
    check("tests", &["paired_exact_tests"], |v| {
        let differences = v.numbers("diffs");
        json!({
            "sign_p": sign_test(&differences).unwrap().p,
            "permutation_p": sign_flip(&differences, 0, Seed(0)).unwrap().p,
        })
    });
}

#[test]
fn adjusted_p_values() {
    check("tests", &["adjust_pvalues"], |v| {
        let correction = match v.params["method"].as_str().unwrap() {
            "bonferroni" => Correction::Bonferroni,
            "holm" => Correction::Holm,
            "bh" => Correction::BenjaminiHochberg,
            "by" => Correction::BenjaminiYekutieli,
            other => panic!("no such method: {other}"),
        };
        let p: Vec<Option<f64>> = serde_json::from_value(v.input["p"].clone()).unwrap();
        let adjusted = adjust(&p, correction).unwrap();
        json!({ "reject": reject(&adjusted, v.number("alpha")), "adjusted": adjusted })
    });
}

#[test]
fn welch_tests() {
    check("tests", &["two_sample_welch"], |v| {
        let side = |key| Moments::from_slice(&v.numbers(key));
        let difference = welch(&side("a"), &side("b")).unwrap();
        let interval = difference.interval(confidence(v)).unwrap();
        json!({
            "diff": difference.mean,
            "t": json(difference.t()),
            "df": difference.df,
            "p_two_sided": json(difference.p_two_sided()),
            "lower": interval.lower,
            "upper": interval.upper,
        })
    });
}

#[test]
fn newcombe_intervals() {
    check("tests", &["two_proportions_newcombe"], |v| {
        let share = |successes, trials| Proportion::new(v.count(successes), v.count(trials)).unwrap();
        let (first, second) = (share("k1", "n1"), share("k2", "n2"));
        let interval = newcombe(first, second, confidence(v));
        json!({
            "diff": first.estimate() - second.estimate(),
            "lower": interval.lower,
            "upper": interval.upper,
        })
    });
}
