//! Paired comparisons and variance components against scipy, statsmodels, clubSandwich and pingouin.

use calipers_stats::Confidence;
use calipers_stats::Verdict;
use calipers_stats::components::UnitMoments;
use calipers_stats::paired::{Difference, pair, paired_clustered};
use calipers_testing::golden::{Vector, check, json};
use serde_json::json;

fn confidence(v: &Vector) -> Confidence {
    Confidence::two_sided(v.number("level")).expect("a level between 0 and 1")
}

#[test]
fn paired_differences() {
    check("paired", &["paired_diff"], |v| {
        let pairs = pair(&v.numbers("a"), &v.numbers("b")).unwrap();
        let difference = pairs.difference().unwrap();
        let interval = difference.interval(confidence(v)).unwrap();
        json!({
            "n": pairs.count(),
            "mean_diff": difference.mean,
            "se": difference.stderr,
            "t": json(difference.t()),
            "df": difference.df,
            "p_two_sided": json(difference.p_two_sided()),
            "lower": interval.lower,
            "upper": interval.upper,
            "correlation": json(pairs.correlation()),
            "se_unpaired": json(pairs.se_unpaired()),
        })
    });
}

#[test]
fn clustered_paired_differences() {
    check("paired", &["paired_diff_clustered"], |v| {
        let estimate = paired_clustered(&v.numbers("a"), &v.numbers("b"), &v.codes("clusters")).unwrap();
        let (cr1, cr2) = (Difference::cr1(&estimate), Difference::cr2(&estimate));
        let interval = cr1.interval(confidence(v)).unwrap();
        json!({
            "n": estimate.n,
            "n_clusters": estimate.clusters,
            "mean_diff": estimate.mean,
            "se": estimate.cr1,
            "t": json(cr1.t()),
            "df": estimate.df_cr1,
            "p_two_sided": json(cr1.p_two_sided()),
            "lower": interval.lower,
            "upper": interval.upper,
            "se_naive": estimate.naive,
            "cr2_se": estimate.cr2,
            "cr2_df": json(estimate.df_satterthwaite),
            "cr2_p": json(cr2.and_then(|difference| difference.p_two_sided())),
        })
    });
}

#[test]
fn noninferiority_and_equivalence() {
    check("paired", &["noninferiority_paired"], |v| {
        let difference = pair(&v.numbers("candidate"), &v.numbers("baseline")).unwrap().difference().unwrap();
        let answer = difference.noninferiority(v.number("margin"), v.number("alpha")).unwrap();
        json!({
            "mean_diff": difference.mean,
            "p_noninferior": answer.p,
            "lower_one_sided": answer.lower,
            "tost_p": json(difference.equivalence_p(v.number("margin"))),
            "decision": reference_name(answer.verdict),
        })
    });
}

#[test]
fn variance_components() {
    check("paired", &["variance_components"], |v| {
        let rows: Vec<Vec<f64>> = serde_json::from_value(v.input["scores"].clone()).unwrap();
        let components = UnitMoments::from_rows(&rows).components().unwrap();
        json!({
            "mean": components.mean,
            "ms_between": json(components.ms_between),
            "ms_within": json(components.ms_within),
            "icc1": json(components.icc1),
            "se_fixed_suite": json(components.se_fixed_suite),
            "se_question_level": json(components.se_population),
            "se_naive_iid": json(components.se_naive_iid),
            "se_clustered_by_question": json(components.se_clustered_by_unit),
        })
    });
}

/// A verdict as the reference implementation writes it.
fn reference_name(verdict: Verdict) -> &'static str {
    if verdict == Verdict::Undecided { "inconclusive" } else { verdict.name() }
}
