//! Scenarios, categories and capabilities that a policy names, beside those that there are.

use super::{Checker, Found, Known, meant};
use crate::policy::{Origin, Span, Spanned};
use calipers_core::{Unit, counted};
use std::collections::BTreeSet;

/// The category that `safety_rate` is about.
const ADVERSARIAL: &str = "adversarial";

pub(super) fn unknown_scenario(checker: &Checker<'_>) -> Vec<Found> {
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
    let told = |id: &Spanned<String>| {
        let message = format!("`{}` is not among the {} that there are", id.value, counted(known.len(), "scenario"));
        (message, meant(&id.value, &known, "scenarios"))
    };
    let is_unknown = |id: &&Spanned<String>| !ids.contains(id.value.as_str());
    let required = checker.policy.required.iter().filter(is_unknown).map(|id| {
        let (message, fix) = told(id);
        Found::error(format!("{message}, and it is required"), fix).at(&id.span)
    });
    let optional = checker.policy.optional.iter().filter(is_unknown).map(|id| {
        let (message, fix) = told(id);
        Found::warning(message, fix).at(&id.span)
    });
    required.chain(optional).collect()
}

/// What the samples have under a key, each once.
fn values<'c>(checker: &'c Checker<'_>, of: fn(&Known) -> Option<&String>) -> Vec<&'c str> {
    let values: BTreeSet<&str> = checker.scenarios.iter().filter_map(|known| of(known).map(String::as_str)).collect();
    values.into_iter().collect()
}

pub(super) fn unknown_category(checker: &Checker<'_>) -> Vec<Found> {
    if checker.scenarios.is_empty() {
        return Vec::new();
    }
    let known = values(checker, |known| known.category.as_ref());
    let mut found = Vec::new();
    for gate in &checker.policy.gates {
        let Origin::Category(category) = &gate.origin else { continue };
        if !known.contains(&&**category) {
            let message = format!(
                "0 of {} samples have the category `{category}`, so its gate is never decided",
                checker.scenarios.len()
            );
            found.push(Found::error(message, meant(category, &known, "categories")).at(&gate.metric.span));
        }
    }
    found.extend(unknown_weights(checker, &checker.policy.weights.by_category, &known, ("category", "categories")));
    found
}

pub(super) fn unknown_capability(checker: &Checker<'_>) -> Vec<Found> {
    if checker.scenarios.is_empty() {
        return Vec::new();
    }
    let known = values(checker, |known| known.capability.as_ref());
    unknown_weights(checker, &checker.policy.weights.by_capability, &known, ("capability", "capabilities"))
}

fn unknown_weights(
    checker: &Checker<'_>,
    weights: &[(Spanned<String>, f64)],
    known: &[&str],
    (one, many): (&str, &str),
) -> Vec<Found> {
    let unknown = weights.iter().filter(|(name, _)| !known.contains(&name.value.as_str()));
    unknown
        .map(|(name, _)| {
            let message = format!(
                "0 of {} samples have the {one} `{}`, so its weight is for nothing",
                checker.scenarios.len(),
                name.value
            );
            Found::warning(message, meant(&name.value, known, many)).at(&name.span)
        })
        .collect()
}

/// A scenario that need not pass, where all of its kind must.
pub(super) fn optional_blocks(checker: &Checker<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for id in &checker.policy.optional {
        let Some(scenario) = checker.scenarios.iter().find(|known| known.id == id.value) else { continue };
        let counts = |gate: &&super::Gate<'_>| {
            let is_its = match (&gate.spec.origin, gate.demand.name.as_str()) {
                (Origin::Category(category), _) => scenario.category.as_deref() == Some(&**category),
                (_, "safety_rate") => scenario.category.as_deref() == Some(ADVERSARIAL),
                (_, "pass_rate") => true,
                _ => false,
            };
            is_its && gate.demand.unit == Unit::Rate && gate.demand.rule.asks_for_all()
        };
        if let Some(gate) = checker.gates.iter().find(counts) {
            let message = format!(
                "`{}` is optional, and fails `{}` in line {} when it fails",
                id.value,
                gate.demand.text(),
                gate.demand.span.line()
            );
            found.push(Found::warning(message, "take it out of the list, or ask for less than 100 %").at(&id.span));
        }
    }
    found
}

pub(super) fn zero_weights(checker: &Checker<'_>) -> Vec<Found> {
    let weights = &checker.policy.weights;
    let Some(first) = weights.by_category.first().or(weights.by_capability.first()) else { return Vec::new() };
    let fix = "give at least one of them a weight above 0";
    if !checker.scenarios.is_empty() && checker.scenarios.iter().all(|known| checker.weight(known) == 0.0) {
        let message = format!(
            "the weights of all {} are 0, and nothing can be measured",
            counted(checker.scenarios.len(), "sample")
        );
        return vec![Found::error(message, fix).at(&first.0.span)];
    }
    let lists = [("by_category", &weights.by_category), ("by_capability", &weights.by_capability)];
    lists.iter().filter_map(|(name, list)| all_zero(name, list, fix)).collect()
}

fn all_zero(name: &str, list: &[(Spanned<String>, f64)], fix: &str) -> Option<Found> {
    let first: &Span = &list.first()?.0.span;
    let is_zero = list.iter().all(|(_, weight)| *weight == 0.0);
    let message =
        || format!("all {} weights of `{name}` are 0: only scenarios that it does not name count", list.len());
    is_zero.then(|| Found::warning(message(), fix).at(first))
}

/// A gate about scenarios that count nothing.
pub(super) fn zero_weight_gate(checker: &Checker<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for gate in &checker.policy.gates {
        let category = match (&gate.origin, gate.metric.value.as_str()) {
            (Origin::Category(category), _) => &**category,
            (_, "safety_rate") => ADVERSARIAL,
            _ => continue,
        };
        let weights = &checker.policy.weights.by_category;
        if weights.iter().any(|(name, weight)| name.value == category && *weight == 0.0) {
            let message = format!(
                "`{category}` has the weight 0, so `{}` is undefined and its gate never decided",
                super::gate_name(gate)
            );
            found.push(
                Found::error(message, "give the category a weight above 0, or take the gate out").at(&gate.metric.span),
            );
        }
    }
    found
}
