//! Rates behind imperfect measurements, against sympy's delta method and ppi-python.

use calipers_stats::misclassification::Misclassified;
use calipers_stats::prediction_powered::PredictionPowered;
use calipers_stats::proportion::Proportion;
use calipers_stats::special::normal_quantile;
use calipers_testing::golden::{Vector, check};
use serde_json::json;

fn critical(v: &Vector) -> f64 {
    normal_quantile(0.5 + v.number("level") / 2.0)
}

#[test]
fn rogan_gladen() {
    check("judge", &["rogan_gladen"], |v| {
        let share = |k: &str, n: &str| Proportion::new(v.count(k), v.count(n)).unwrap();
        let judged = Misclassified {
            positives: share("judge_pass", "n"),
            sensitivity: share("calib_true_pos_judged_pos", "calib_true_pos"),
            specificity: share("calib_true_neg_judged_neg", "calib_true_neg"),
        };
        // The references have the plain normal interval, which ours replaces.
        let (corrected, se) = (judged.estimate().unwrap(), judged.stderr().unwrap());
        json!({
            "naive": judged.positives.estimate(),
            "sensitivity": judged.sensitivity.estimate(),
            "specificity": judged.specificity.estimate(),
            "corrected": corrected,
            "se": se,
            "lower": corrected - critical(v) * se,
            "upper": corrected + critical(v) * se,
        })
    });
}

#[test]
fn ppi() {
    check("judge", &["ppi_mean"], |v| {
        let [human, judged, others] = ["human", "judge_on_human", "judge_unlabeled"].map(|key| v.numbers(key));
        let tuned = PredictionPowered::new(&human, &judged, &others).unwrap();
        // The reference divides by n, not n − 1, and has the plain normal interval, which ours replaces.
        let bounds = |powered: PredictionPowered| {
            let share = |variance: f64, n: usize| variance * (n - 1) as f64 / (n * n) as f64;
            let (rectified, other) = powered.variances();
            let spread = share(rectified, human.len()) + powered.weight().powi(2) * share(other, others.len());
            [-1.0, 1.0].map(|side| powered.estimate() + side * critical(v) * spread.sqrt())
        };
        let plain = tuned.with_weight(1.0);
        let (ppi, ppi_tuned) = (bounds(plain), bounds(tuned));
        json!({
            "classical": tuned.with_weight(0.0).estimate(),
            "judge_only": others.iter().sum::<f64>() / others.len() as f64,
            "ppi": plain.estimate(),
            "ppi_lower": ppi[0],
            "ppi_upper": ppi[1],
            "ppi_tuned": tuned.estimate(),
            "ppi_tuned_lower": ppi_tuned[0],
            "ppi_tuned_upper": ppi_tuned[1],
        })
    });
}
