//! pass@k and pass^k against Inspect and scipy.

use calipers_stats::pass_at_k::{AttemptRule, AttemptSuite};
use calipers_testing::golden::{check, json};
use serde_json::{Value, json};

/// The estimate of each problem, and of the suite unless one of them has none.
fn answer(rule: AttemptRule, attempts: &[u64], correct: &[u64], k: u64) -> [Value; 3] {
    let mut suite = AttemptSuite::new(rule, k);
    let each: Vec<_> = attempts.iter().zip(correct).map(|(&n, &c)| suite.add(n, c)).collect();
    let whole = each.iter().try_for_each(|x| x.map(|_| ()));
    [
        each.iter().map(|&x| json(x)).collect(),
        json(whole.and_then(|()| suite.estimate())),
        json(whole.and_then(|()| suite.stderr())),
    ]
}

#[test]
fn suites() {
    check("pass_at_k", &["pass_at_k_suite"], |v| {
        let (attempts, correct, k) = (v.counts("n"), v.counts("c"), v.count("k"));
        let [any, any_mean, any_stderr] = answer(AttemptRule::AnyOfK, &attempts, &correct, k);
        let [all, all_mean, all_stderr] = answer(AttemptRule::AllOfK, &attempts, &correct, k);
        // Not part of the library: the vectors show the plug-in form beside the unbiased one.
        let plug_in = |(&n, &c): (&u64, &u64)| 1.0 - (1.0 - c as f64 / n as f64).powi(k as i32);
        let plug_in_mean = attempts.iter().zip(&correct).map(plug_in).sum::<f64>() / attempts.len() as f64;
        json!({
            "pass_at_per_problem": any, "pass_at_mean": any_mean, "pass_at_stderr": any_stderr,
            "pass_k_per_problem": all, "pass_k_mean": all_mean, "pass_k_stderr": all_stderr,
            "plugin_pass_at_mean": plug_in_mean,
        })
    });
}
