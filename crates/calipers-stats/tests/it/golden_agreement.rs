//! Kappa and alpha against scikit-learn, statsmodels and the krippendorff package.

use calipers_stats::Undefined;
use calipers_stats::agreement::{AgreementWeights, PairedRatings, RatingScale, fleiss_kappa, krippendorff_alpha};
use calipers_testing::golden::{check, json};
use serde_json::{Value, json};

#[test]
fn alpha() {
    check("agreement", &["krippendorff_alpha"], |v| {
        let raters = v.field("ratings").as_array().unwrap();
        let units = raters[0].as_array().unwrap().len();
        let ratings_of = |unit: usize| raters.iter().filter_map(|rater| rater[unit].as_f64()).collect::<Vec<f64>>();
        let units: Vec<Vec<f64>> = (0..units).map(ratings_of).collect();
        let scale = match v.params["level"].as_str().unwrap() {
            "nominal" => RatingScale::Nominal,
            "ordinal" => RatingScale::Ordinal,
            "interval" => RatingScale::Interval,
            other => panic!("{other}"),
        };
        // The vectors follow Inspect, which calls ratings that are all alike complete agreement.
        let alpha = krippendorff_alpha(&units, scale);
        json!({ "alpha": if matches!(alpha, Err(Undefined::NoSpread { .. })) { json!(1.0) } else { json(alpha) } })
    });
}

#[test]
fn kappa() {
    check("agreement", &["cohen_kappa"], |v| {
        let categories = v.field("categories").as_array().unwrap();
        let code = |label: &Value| categories.iter().position(|c| c == label).unwrap() as u32;
        let column = |key: &str| v.field(key).as_array().unwrap().iter().map(code).collect::<Vec<u32>>();
        let mut ratings = PairedRatings::default();
        column("a").into_iter().zip(column("b")).for_each(|(a, b)| ratings.add(a, b));
        let weights = match v.params["weights"].as_str() {
            None => AgreementWeights::Nominal,
            Some("linear") => AgreementWeights::Linear,
            Some("quadratic") => AgreementWeights::Quadratic,
            Some(other) => panic!("{other}"),
        };
        json!({ "kappa": json(ratings.kappa(weights)), "se": json(ratings.kappa_stderr()) })
    });
}

#[test]
fn fleiss() {
    check("agreement", &["fleiss_kappa"], |v| {
        let row = |counts: &Value| {
            let counts = counts.as_array().unwrap().iter().enumerate();
            counts.flat_map(|(c, times)| std::iter::repeat_n(c as f64, times.as_u64().unwrap() as usize)).collect()
        };
        let units: Vec<Vec<f64>> = v.field("table").as_array().unwrap().iter().map(row).collect();
        json!({ "kappa": json(fleiss_kappa(&units)) })
    });
}
