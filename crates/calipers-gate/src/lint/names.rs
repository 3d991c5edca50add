//! Names that nothing has, and things that nothing names.

use super::{Checker, Found, meant};
use crate::policy::{Level, Node, Policy, Spanned, normalized};
use calipers_core::{Error, ErrorKind, Value, counted};

/// Every name of a metric in a policy, with its place; formulas and what they are called are not among them.
pub(super) fn named(policy: &Policy) -> Vec<Spanned<String>> {
    let mut names: Vec<Spanned<String>> = policy.gates.iter().map(|gate| gate.metric.clone()).collect();
    names.extend(policy.metrics.iter().map(|(name, _)| name.clone()));
    names.extend(policy.progressive.iter().map(|step| step.metric.clone()));
    names.extend(policy.normalize.iter().map(|(name, _)| name.clone()));
    names.extend(policy.weights.by_metric.iter().map(|(name, _)| name.clone()));
    names.extend(policy.baseline.iter().flat_map(|rule| rule.metrics.iter().cloned()));
    names.extend(policy.shown.iter().cloned());
    names.extend(in_formulas(policy));
    let is_formula = |name: &str| {
        policy.composite.iter().any(|composite| composite.name.value == name)
            || (name == "weighted_score" && !policy.weights.by_metric.is_empty())
    };
    names.retain(|name| !is_formula(&name.value));
    names
}

/// The metrics that formulas name; `normalized_latency` stands for the latency that it is made from.
fn in_formulas(policy: &Policy) -> Vec<Spanned<String>> {
    let mut names = Vec::new();
    let formulas = policy.composite.iter().map(|composite| &composite.formula).chain(&policy.pass);
    for formula in formulas {
        formula.value.expression.visit(&mut |part| {
            if let Node::Name(name) = &part.node {
                let value = normalized(name).unwrap_or_else(|| name.clone());
                names.push(Spanned { value, span: formula.value.place(&formula.span, part) });
            }
        });
    }
    names
}

fn told(error: &Error, named: &Spanned<String>) -> Found {
    let fix = error.kind().hint().unwrap_or_else(|| "`calipers metrics` lists the metrics".to_owned());
    Found::error(error.kind().to_string(), fix).at(&error.place_within(&named.span))
}

pub(super) fn unknown_metric(checker: &Checker<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for name in named(checker.policy) {
        let Some(Err(error)) = checker.metrics.get(&name.value) else { continue };
        let own = checker.policy.metrics.iter().find(|(known, _)| known.value == name.value);
        match own {
            // An expression that is wrong is wrong once, where it is written.
            Some((known, expression)) if known.span == name.span => found.push(told(error, expression)),
            Some(_) => {}
            None => found.push(told(error, &name)),
        }
    }
    found
}

pub(super) fn unknown_reducer(checker: &Checker<'_>) -> Vec<Found> {
    let Some(name) = &checker.policy.epochs.reducer else { return Vec::new() };
    match (checker.draft.reducers)(&name.value) {
        Ok(_) => Vec::new(),
        Err(error) => vec![told(&error, name)],
    }
}

/// Scorers are known only from samples.
pub(super) fn unknown_scorer(checker: &Checker<'_>) -> Vec<Found> {
    let Some(samples) = checker.draft.samples else { return Vec::new() };
    let mut found: Vec<Found> = failing(checker)
        .into_iter()
        .filter(|(_, error)| is_about_scorers(error))
        .map(|(name, error)| told(&error, &name))
        .collect();
    if let Some(scorer) = checker.policy.rubric.as_ref().and_then(|rubric| rubric.scorer.as_ref()) {
        let known: Vec<&str> = samples.scorers().map(|name| &**name).collect();
        if !known.contains(&scorer.value.as_str()) {
            let message =
                format!("`{}` is not among the {} of the samples", scorer.value, counted(known.len(), "scorer"));
            found.push(Found::error(message, meant(&scorer.value, &known, "scorers")).at(&scorer.span));
        }
    }
    found
}

pub(super) fn unmeasurable_metric(checker: &Checker<'_>) -> Vec<Found> {
    failing(checker)
        .into_iter()
        .filter(|(_, error)| !is_about_scorers(error))
        .map(|(name, error)| told(&error, &name))
        .collect()
}

fn is_about_scorers(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NoScorer { .. })
}

/// The metrics that the samples cannot be measured by, and why; a fault of one sample is none of the policy's.
fn failing(checker: &Checker<'_>) -> Vec<(Spanned<String>, Error)> {
    let (Some(samples), Some(context)) = (checker.draft.samples, &checker.context) else { return Vec::new() };
    let mut seen: Vec<String> = Vec::new();
    let mut failing = Vec::new();
    for name in named(checker.policy) {
        let Some(metric) = checker.metric(&name.value).filter(|_| !seen.contains(&name.value)) else { continue };
        seen.push(name.value.clone());
        if let Err(error) = metric.answer(samples, &checker.reducer, None, context)
            && error.place().sample.is_none()
        {
            failing.push((name, error));
        }
    }
    failing
}

pub(super) fn unused_metric(checker: &Checker<'_>) -> Vec<Found> {
    let policy = checker.policy;
    let names = named(policy);
    let is_used = |own: &Spanned<String>| {
        names.iter().any(|name| name.value == own.value && name.span != own.span)
            // A definition with a threshold or for the report has the name's own place.
            || policy.gates.iter().any(|gate| gate.metric == *own)
            || policy.shown.contains(own)
            || policy.weights.by_metric.iter().any(|(name, _)| name == own)
    };
    let unused = policy.metrics.iter().map(|(name, _)| name).filter(|name| !is_used(name));
    unused
        .map(|name| {
            let message = format!("`{}` is defined, and 0 gates and 0 formulas use it", name.value);
            Found::warning(message, "give it a threshold, use it in a formula, or take it out").at(&name.span)
        })
        .collect()
}

/// A name that everybody knows and that means something else here.
pub(super) fn redefined_metric(checker: &Checker<'_>) -> Vec<Found> {
    let registry = checker.draft.registry;
    let is_other = |name: &str| {
        let usual = registry.metric(name, &Value::Null);
        registry.names().any(|known| known == name)
            && !usual.is_ok_and(|usual| checker.metric(name).is_some_and(|own| own.is_same_as(&usual)))
    };
    let own = checker.policy.metrics.iter().filter(|(name, _)| is_other(&name.value));
    own.map(|(name, expression)| {
        let message = format!(
            "`{}` is the name of a metric, and means `{}` in this policy: every gate and formula uses that",
            name.value, expression.value
        );
        Found::warning(message, "give it a name of its own").at(&name.span)
    })
    .collect()
}

pub(super) fn baseline_without_metric(checker: &Checker<'_>) -> Vec<Found> {
    let (Some(baseline), Some(rule)) = (checker.draft.baseline, &checker.policy.baseline) else { return Vec::new() };
    let known: Vec<&str> = baseline.metrics.keys().map(String::as_str).collect();
    let absent = rule.metrics.iter().filter(|name| !baseline.metrics.contains_key(&name.value));
    absent
        .map(|name| {
            let message =
                format!("`{}` is not among the {} of {}", name.value, counted(known.len(), "metric"), baseline.source);
            let fix = format!("{}; or record the baseline again", meant(&name.value, &known, "metrics"));
            let found =
                if rule.level == Level::Blocking { Found::error(message, fix) } else { Found::warning(message, fix) };
            found.at(&name.span)
        })
        .collect()
}
