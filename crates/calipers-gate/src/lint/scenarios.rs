//! Scenarios, categories and capabilities that a policy names, beside those that exist.

use super::{Finding, KnownScenario, PolicyChecker, ResolvedGate, ScenarioLint, UnmatchedName};
use crate::policy::{Origin, Spanned};
use calipers_core::{Metric, MetricBasis, Scope, Unit};
use std::collections::BTreeSet;

pub(super) fn unknown_scenario(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let (suite, samples) = (checker.draft.suite, checker.draft.samples);
    if suite.is_none() && samples.is_none() {
        return Vec::new();
    }
    let ids: BTreeSet<&str> = checker
        .scenarios
        .iter()
        .map(|known| known.id.as_str())
        .chain(suite.into_iter().flatten().map(String::as_str))
        .collect();
    let known: Vec<&str> = ids.iter().copied().collect();
    let is_unknown = |id: &&Spanned<String>| !ids.contains(id.value.as_str());
    let lint = |id: &Spanned<String>, is_required: bool| ScenarioLint::UnknownScenario {
        scenario: UnmatchedName::new(&id.value, &known),
        is_required,
    };
    let required = checker.policy.required.iter().filter(is_unknown);
    let optional = checker.policy.optional.iter().filter(is_unknown);
    let errors = required.map(|id| Finding::error(lint(id, true)).at(&id.span));
    errors.chain(optional.map(|id| Finding::warning(lint(id, false)).at(&id.span))).collect()
}

/// The values of a key in the samples, each once.
fn distinct<'c>(checker: &'c PolicyChecker<'_>, of: fn(&KnownScenario) -> Option<&String>) -> Vec<&'c str> {
    let values: BTreeSet<&str> = checker.scenarios.iter().filter_map(|known| of(known).map(String::as_str)).collect();
    values.into_iter().collect()
}

pub(super) fn unknown_category(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let samples = checker.scenarios.len();
    if samples == 0 {
        return Vec::new();
    }
    let known = distinct(checker, |known| known.category.as_ref());
    let mut findings = Vec::new();
    for gate in &checker.policy.gates {
        let Origin::Category(category) = &gate.origin else { continue };
        if !known.contains(&&**category) {
            let lint = ScenarioLint::UnknownCategory { category: UnmatchedName::new(category, &known), samples };
            findings.push(Finding::error(lint).at(&gate.metric.span));
        }
    }
    let weight = |category| ScenarioLint::UnknownCategoryWeight { category, samples };
    findings.extend(unknown_weights(&checker.policy.weights.by_category, &known, weight));
    findings
}

pub(super) fn unknown_capability(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let samples = checker.scenarios.len();
    if samples == 0 {
        return Vec::new();
    }
    let known = distinct(checker, |known| known.capability.as_ref());
    let weight = |capability| ScenarioLint::UnknownCapabilityWeight { capability, samples };
    unknown_weights(&checker.policy.weights.by_capability, &known, weight)
}

fn unknown_weights(
    weights: &[(Spanned<String>, f64)],
    known: &[&str],
    lint: impl Fn(UnmatchedName) -> ScenarioLint,
) -> Vec<Finding> {
    let unknown = weights.iter().map(|(name, _)| name).filter(|name| !known.contains(&name.value.as_str()));
    unknown.map(|name| Finding::warning(lint(UnmatchedName::new(&name.value, known))).at(&name.span)).collect()
}

/// A scenario that need not pass, where all of its kind must.
pub(super) fn optional_blocks(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for id in &checker.policy.optional {
        let Some(scenario) = checker.scenarios.iter().find(|known| known.id == id.value) else { continue };
        let requires_it = |gate: &&ResolvedGate<'_>| {
            let Some(metric) = checker.metric(&gate.spec.metric.value) else { return false };
            let covers_it = match (&gate.spec.origin, metric.scope()) {
                (Origin::Category(category), _) => scenario.category.as_deref() == Some(&**category),
                _ if metric.basis() != MetricBasis::PassShares => false,
                (_, Scope::Category(category)) => scenario.category.as_deref() == Some(&**category),
                (_, Scope::EverySample) => true,
                (_, Scope::Unknown) => false,
            };
            covers_it && gate.demand.unit == Unit::Rate && gate.demand.rule.asks_for_all()
        };
        if let Some(gate) = checker.gates.iter().find(requires_it) {
            let (rule, rule_span) = (gate.demand.metric_rule(), gate.demand.span.clone());
            let lint = ScenarioLint::OptionalBlocks { scenario: id.value.clone(), rule, rule_span };
            findings.push(Finding::warning(lint).at(&id.span));
        }
    }
    findings
}

pub(super) fn zero_weights(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let weights = &checker.policy.weights;
    let Some(first) = weights.by_category.first().or(weights.by_capability.first()) else { return Vec::new() };
    let samples = checker.scenarios.len();
    if samples > 0 && checker.scenarios.iter().all(|known| checker.weight(known) == 0.0) {
        return vec![Finding::error(ScenarioLint::ZeroWeights { samples }).at(&first.0.span)];
    }
    let lists = [("by_category", &weights.by_category), ("by_capability", &weights.by_capability)];
    lists.into_iter().filter_map(|(key, list)| zero_weight_list(key, list)).collect()
}

fn zero_weight_list(key: &'static str, list: &[(Spanned<String>, f64)]) -> Option<Finding> {
    let (first, _) = list.first()?;
    let is_zero = list.iter().all(|(_, weight)| *weight == 0.0);
    is_zero.then(|| Finding::warning(ScenarioLint::ZeroWeightList { key, weights: list.len() }).at(&first.span))
}

/// A gate about scenarios whose weight is 0.
pub(super) fn zero_weight_gate(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for gate in &checker.policy.gates {
        let category = match (&gate.origin, checker.metric(&gate.metric.value).map(Metric::scope)) {
            (Origin::Category(category), _) | (_, Some(Scope::Category(category))) => &**category,
            _ => continue,
        };
        let weights = &checker.policy.weights.by_category;
        if weights.iter().any(|(name, weight)| name.value == category && *weight == 0.0) {
            let lint = ScenarioLint::ZeroWeightGate { category: category.to_owned(), metric: super::gate_name(gate) };
            findings.push(Finding::error(lint).at(&gate.metric.span));
        }
    }
    findings
}
