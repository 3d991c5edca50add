//! Bounds for any number of looks beside those of `confseq`.
//!
//! Gates that may be looked at any number of times bet a mixture of stakes, which does not depend on the order of samples. The
//! references bet with stakes that depend on it (the hedged bet of Waudby-Smith and Ramdas), or use an inequality (the empirical
//! Bernstein bound). No feature uses either, since ours shows more: at every look its interval lies within theirs, and it rules out
//! what they rule out. Group-sequential boundaries, which need looks that are planned, are used by no feature.

use calipers_stats::Confidence;
use calipers_stats::bounded_ratio::BoundedRatio;
use calipers_testing::golden::read;

fn seen(values: &[f64], looks: u64) -> BoundedRatio {
    BoundedRatio::mean(&values[..looks as usize], 0.0, 1.0).unwrap()
}

#[test]
fn the_empirical_bernstein_bound_is_never_closer() {
    for v in read("sequential", &["confseq_empirical_bernstein"]) {
        let confidence = Confidence::two_sided(1.0 - v.number("alpha")).unwrap();
        for (place, look) in v.counts("at").into_iter().enumerate() {
            let ours = seen(&v.numbers("values"), look).interval_at_any_time(confidence);
            let [lower, upper] = ["lower", "upper"].map(|end| v.expected(end)[place].as_f64().unwrap());
            let is_within = ours.lower.unwrap() >= lower - 1e-9 && ours.upper.unwrap() <= upper + 1e-9;
            assert!(is_within, "{} at {look}: {ours:?}, not within {lower} to {upper}", v.name);
        }
    }
}

#[test]
fn what_the_hedged_bet_rules_out_is_ruled_out() {
    for v in read("sequential", &["betting_wealth"]) {
        for (mean, is_out) in v.numbers("m").into_iter().zip(v.expected("reject")) {
            if *is_out != true {
                continue;
            }
            // Half of the error for each side.
            let enough: f64 = (2.0 / v.number("alpha")).ln();
            let values = v.numbers("values");
            let rules_out = |look: u64| {
                let seen = seen(&values, look);
                seen.log_e_above(mean).max(seen.log_e_below(mean)) >= enough
            };
            assert!(v.counts("at").into_iter().any(rules_out), "{}: a mean of {mean}", v.name);
        }
    }
}
