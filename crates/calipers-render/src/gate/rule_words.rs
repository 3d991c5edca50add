//! What a gate asks for, in words.

use super::words::first_of;
use crate::numbers::{difference_text, threshold_text, value_text};
use calipers_core::Unit;
use calipers_gate::policy::Rule;
use calipers_gate::{GateResult, GateRule};

/// Names before the rest is counted.
const NAMES_MAX: usize = 5;

/// What a gate asks for, with the name of its metric: `safety_rate ≥ 100 % (26 of 26)`.
#[must_use]
pub fn gate_rule(gate: &GateResult) -> String {
    let metric = &gate.metric;
    match &gate.rule {
        GateRule::Threshold { .. } | GateRule::NotWorse { .. } | GateRule::Above { .. } => {
            format!("{metric} {}", requirement(gate))
        }
        _ => requirement(gate),
    }
}

/// What a gate asks for, without the name of its metric: `≥ 100 % (26 of 26)`.
pub(crate) fn requirement(gate: &GateResult) -> String {
    let unit = gate.unit;
    match &gate.rule {
        GateRule::Threshold { rule, counts } => format!("{}{}", comparison(rule, unit), counts_text(*counts)),
        GateRule::Condition(text) => text.clone(),
        GateRule::NotWorse { baseline, margin } => {
            let (baseline, margin) = (value_text(unit, *baseline), difference_text(unit, *margin));
            format!("not worse than the baseline's {baseline} by more than {margin}")
        }
        GateRule::Above { rule, baseline, margin } => {
            let (sign, threshold) = (rule.comparison.sign(), value_text(unit, rule.value));
            let (baseline, margin) = (value_text(unit, *baseline), difference_text(unit, *margin));
            format!("{sign} {threshold} (better than the baseline's {baseline} by {margin})")
        }
        GateRule::HasBaseline => "compared with a baseline".to_owned(),
        GateRule::AllPass { passed, total } => format!("all pass ({passed} of {total})"),
        GateRule::EachScenario(rule) => format!("each scenario {}", comparison(rule, Unit::Rate)),
        GateRule::NoneOf(kinds) => format!("none of {}", first_of(kinds, NAMES_MAX)),
        GateRule::Rubric { min, no_zero } => {
            let min = min.map(|rule| format!("score {}", comparison(&rule, Unit::Rate)));
            let no_zero = no_zero.then(|| "no criterion at 0".to_owned());
            min.into_iter().chain(no_zero).collect::<Vec<_>>().join(", ")
        }
        GateRule::EveryScenarioRan => "every scenario ran".to_owned(),
        GateRule::SomethingAsked => "the policy asks for something".to_owned(),
    }
}

/// A comparison with its number: `≥ 85 %`.
pub(crate) fn comparison(rule: &Rule, unit: Unit) -> String {
    format!("{} {}", rule.comparison.sign(), threshold_text(unit, rule.value))
}

/// Successes and trials after a threshold: ` (26 of 26)`.
pub(crate) fn counts_text(counts: Option<(u64, u64)>) -> String {
    counts.map_or_else(String::new, |(passed, all)| format!(" ({passed} of {all})"))
}
