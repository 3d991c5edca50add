//! Names that match nothing, and definitions that are never used.

use super::{Finding, NameLint, PolicyChecker, UnmatchedName};
use crate::policy::{Level, Node, Policy, Spanned, WEIGHTED_SCORE, normalized};
use calipers_core::{Context, Error, ErrorKind, Value};

/// Every name of a metric in a policy, with its place. The names of the policy's own formulas are not metrics.
pub(super) fn metric_names(policy: &Policy) -> Vec<Spanned<String>> {
    let mut names: Vec<Spanned<String>> = policy.gates.iter().map(|gate| gate.metric.clone()).collect();
    names.extend(policy.metrics.iter().map(|(name, _)| name.clone()));
    names.extend(policy.progressive.iter().map(|step| step.metric.clone()));
    names.extend(policy.normalize.iter().map(|(name, _)| name.clone()));
    names.extend(policy.weights.by_metric.iter().map(|(name, _)| name.clone()));
    names.extend(policy.baseline.iter().flat_map(|rule| rule.metrics.iter().cloned()));
    names.extend(policy.shown.iter().cloned());
    names.extend(names_in_formulas(policy));
    let is_formula = |name: &str| {
        policy.composite.iter().any(|composite| composite.name.value == name)
            || (name == WEIGHTED_SCORE && !policy.weights.by_metric.is_empty())
    };
    names.retain(|name| !is_formula(&name.value));
    names
}

/// The metrics that formulas name; `normalized_latency` stands for the latency that it is made from.
fn names_in_formulas(policy: &Policy) -> Vec<Spanned<String>> {
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

/// An error about a name: where it is in the expression, if the error says so.
fn name_error(lint: fn(Error) -> NameLint, error: Error, name: &Spanned<String>) -> Finding {
    let place = error.place_within(&name.span);
    Finding::error(lint(error)).at(&place)
}

pub(super) fn unknown_metric(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in metric_names(checker.policy) {
        let Some(Err(error)) = checker.metrics.get(&name.value) else { continue };
        let definition = checker.policy.metrics.iter().find(|(known, _)| known.value == name.value);
        let place = match definition {
            // A wrong expression is reported once, where it is written.
            Some((known, expression)) if known.span == name.span => expression,
            Some(_) => continue,
            None => &name,
        };
        findings.push(name_error(NameLint::UnknownMetric, error.clone(), place));
    }
    findings
}

pub(super) fn unknown_reducer(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let Some(name) = &checker.policy.epochs.reducer else { return Vec::new() };
    let error = (checker.draft.reducers)(&name.value).err();
    error.into_iter().map(|error| name_error(NameLint::UnknownReducer, error, name)).collect()
}

/// Scorers are known only from samples.
pub(super) fn unknown_scorer(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let Some(samples) = checker.draft.samples else { return Vec::new() };
    let mut findings: Vec<Finding> = metric_failures(checker)
        .into_iter()
        .filter(|(_, error)| is_about_scorers(error))
        .map(|(name, error)| name_error(NameLint::UnknownScorer, error, &name))
        .collect();
    if let Some(scorer) = checker.policy.rubric.as_ref().and_then(|rubric| rubric.scorer.as_ref()) {
        let known: Vec<&str> = samples.scorers().map(|name| &**name).collect();
        if !known.contains(&scorer.value.as_str()) {
            let lint = NameLint::UnknownRubricScorer(UnmatchedName::new(&scorer.value, &known));
            findings.push(Finding::error(lint).at(&scorer.span));
        }
    }
    findings
}

pub(super) fn unmeasurable_metric(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    metric_failures(checker)
        .into_iter()
        .filter(|(_, error)| !is_about_scorers(error))
        .map(|(name, error)| name_error(NameLint::UnmeasurableMetric, error, &name))
        .collect()
}

fn is_about_scorers(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NoScorer { .. })
}

/// The metrics that cannot be computed from the samples, and why. An error about one sample is not the policy's fault.
fn metric_failures(checker: &PolicyChecker<'_>) -> Vec<(Spanned<String>, Error)> {
    let (Some(samples), Some(context)) = (checker.draft.samples, &checker.context) else { return Vec::new() };
    let mut tried: Vec<String> = Vec::new();
    let mut failures = Vec::new();
    for name in metric_names(checker.policy) {
        let Some(metric) = checker.metric(&name.value).filter(|_| !tried.contains(&name.value)) else { continue };
        tried.push(name.value.clone());
        // A plain name is judged by the policy's threshold, a metric that the policy defines by its own.
        let is_defined = checker.policy.metrics.iter().any(|(own, _)| own.value == name.value);
        let threshold = if is_defined { None } else { checker.policy.pass_threshold_of(samples, context) };
        let context = &Context { pass_threshold: threshold, ..context.clone() };
        if let Err(error) = metric.answer(samples, &checker.reducer, None, context)
            && error.place().sample.is_none()
        {
            failures.push((name, error));
        }
    }
    failures
}

pub(super) fn unused_metric(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let policy = checker.policy;
    let names = metric_names(policy);
    let is_used = |own: &Spanned<String>| {
        names.iter().any(|name| name.value == own.value && name.span != own.span)
            // A definition with a threshold or for the report has the same place as the name.
            || policy.gates.iter().any(|gate| gate.metric == *own)
            || policy.shown.contains(own)
            || policy.weights.by_metric.iter().any(|(name, _)| name == own)
    };
    let unused = policy.metrics.iter().map(|(name, _)| name).filter(|name| !is_used(name));
    unused.map(|name| Finding::warning(NameLint::UnusedMetric { metric: name.value.clone() }).at(&name.span)).collect()
}

/// A built-in name that means something else in this policy.
pub(super) fn redefined_metric(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let registry = checker.draft.registry;
    let is_other = |name: &str| {
        let usual = registry.metric(name, &Value::Null);
        registry.names().any(|known| known == name)
            && !usual.is_ok_and(|usual| checker.metric(name).is_some_and(|own| own.is_same_as(&usual)))
    };
    let redefined = checker.policy.metrics.iter().filter(|(name, _)| is_other(&name.value));
    redefined
        .map(|(name, expression)| {
            let (metric, expression) = (name.value.clone(), expression.value.clone());
            Finding::warning(NameLint::RedefinedMetric { metric, expression }).at(&name.span)
        })
        .collect()
}

pub(super) fn baseline_without_metric(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let (Some(baseline), Some(rule)) = (checker.draft.baseline, &checker.policy.baseline) else { return Vec::new() };
    let known: Vec<&str> = baseline.metrics.keys().map(String::as_str).collect();
    let absent = rule.metrics.iter().filter(|name| !baseline.metrics.contains_key(&name.value));
    absent
        .map(|name| {
            let metric = UnmatchedName::new(&name.value, &known);
            let lint = NameLint::BaselineWithoutMetric { metric, baseline: baseline.source.clone() };
            let is_error = rule.level == Level::Blocking;
            if is_error { Finding::error(lint).at(&name.span) } else { Finding::warning(lint).at(&name.span) }
        })
        .collect()
}
