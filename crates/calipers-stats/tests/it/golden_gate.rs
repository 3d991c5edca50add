//! Gates and e-processes against scipy's exact test and quadrature.

use calipers_stats::Verdict;
use calipers_stats::eprocess::BinaryEprocess;
use calipers_stats::proportion::Proportion;
use calipers_stats::threshold_test::ThresholdTest;
use calipers_testing::golden::check;
use serde_json::{Value, json};

#[test]
fn gates_on_a_proportion() {
    check("gate", &["gate_proportion"], |v| {
        let gate = ThresholdTest::at_least(v.number("threshold"), v.number("alpha")).unwrap();
        let evidence = gate.judge(Proportion::new(v.count("successes"), v.count("n")).unwrap());
        json!({
            "p_pass": evidence.p_pass,
            "p_fail": evidence.p_fail,
            "lower_one_sided": evidence.lower,
            "upper_one_sided": evidence.upper,
            "decision": reference_name(evidence.verdict),
        })
    });
}

#[test]
fn binary_eprocesses() {
    check("eprocess", &["binary_eprocess"], |v| {
        let outcomes = v.counts("outcomes");
        let mut process = BinaryEprocess::new(v.number("threshold")).unwrap();
        let (mut pass, mut fail, mut verdicts) = (Vec::new(), Vec::new(), Vec::<Value>::new());
        let mut seen = 0;
        for look in v.counts("at") {
            // The reference looks only here, so what lies between is one block.
            let block = &outcomes[seen..look as usize];
            let successes = block.iter().sum::<u64>();
            process.observe_many(successes, block.len() as u64 - successes);
            seen = look as usize;
            pass.push(process.e_pass());
            fail.push(process.e_fail());
            verdicts.push(reference_name(process.verdict(v.number("alpha")).unwrap()).into());
        }
        json!({"e_pass": pass, "e_fail": fail, "verdict_at": verdicts})
    });
}

/// A verdict as the reference implementation writes it.
fn reference_name(verdict: Verdict) -> &'static str {
    if verdict == Verdict::Undecided { "inconclusive" } else { verdict.name() }
}
