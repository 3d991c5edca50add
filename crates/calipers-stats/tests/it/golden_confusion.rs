//! Precision, recall and their kin against scikit-learn and statsmodels.

use calipers_stats::confusion::{ClassAveraging, ClassMetric, Confusion, Multiclass, Share, ZeroDivision};
use calipers_stats::{Confidence, Undefined};
use calipers_testing::golden::{Vector, check, json};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn zero_division(v: &Vector) -> ZeroDivision {
    if v.params["undefined"] == "zero" { ZeroDivision::Zero } else { ZeroDivision::Undefined }
}

fn counts(v: &Vector) -> Confusion {
    Confusion::new(v.count("tp"), v.count("fp"), v.count("fn"), v.count("tn"))
}

#[test]
fn two_classes() {
    check("confusion", &["confusion_binary"], |v| {
        let (counts, zero_division) = (counts(v), zero_division(v));
        let answer = |metric: Result<f64, Undefined>| json(zero_division.answer(metric));
        json!({
            "accuracy": answer(counts.accuracy()),
            "precision": answer(counts.precision()),
            "recall": answer(counts.recall()),
            "specificity": answer(counts.specificity()),
            "npv": answer(counts.negative_predictive_value()),
            "f1": answer(counts.f1()),
            "balanced_accuracy": json(counts.balanced_accuracy_with(zero_division)),
            "mcc": answer(counts.mcc()),
            "kappa": answer(counts.kappa()),
        })
    });
}

#[test]
fn errors_and_intervals() {
    check("confusion", &["f1_delta"], |v| {
        let counts = counts(v);
        let confidence = Confidence::two_sided(v.number("level")).unwrap();
        let wilson = |share| counts.share(share).map(|p| p.wilson(confidence)).ok();
        let (precision, recall) = (wilson(Share::Precision), wilson(Share::Recall));
        json!({
            "f1": json(counts.f1()),
            "f1_se": json(counts.f1_stderr()),
            "precision_wilson_lower": precision.and_then(|i| i.lower),
            "precision_wilson_upper": precision.and_then(|i| i.upper),
            "recall_wilson_lower": recall.and_then(|i| i.lower),
            "recall_wilson_upper": recall.and_then(|i| i.upper),
        })
    });
}

#[test]
fn many_classes() {
    check("confusion", &["confusion_multiclass"], |v| {
        let column = |key: &str| v.field(key).as_array().unwrap().clone();
        let (truths, predictions) = (column("y_true"), column("y_pred"));
        let mut codes = BTreeMap::<String, u32>::new();
        let mut code = |label: &Value| {
            let next = codes.len() as u32;
            *codes.entry(label.to_string()).or_insert(next)
        };
        let mut counts = Multiclass::default();
        for (truth, prediction) in truths.iter().zip(&predictions) {
            counts.add(code(truth), code(prediction));
        }
        let zero_division = zero_division(v);
        let mut answer = json!({
            "accuracy": json(counts.accuracy()),
            "kappa": json(zero_division.answer(counts.kappa())),
            "mcc": json(zero_division.answer(counts.mcc())),
        });
        for (metric, name) in
            [(ClassMetric::Precision, "precision"), (ClassMetric::Recall, "recall"), (ClassMetric::F1, "f1")]
        {
            for (average, suffix) in [
                (ClassAveraging::Micro, "micro"),
                (ClassAveraging::Macro, "macro"),
                (ClassAveraging::Weighted, "weighted"),
            ] {
                let value = counts.average(metric, average, zero_division).map(|a| a.value);
                answer[format!("{name}_{suffix}")] = json(value);
            }
        }
        answer
    });
}
