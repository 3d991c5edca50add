//! Which gates block, and which have no effect beside others.

use super::demand::Demand;
use super::{BlockingLint, Finding, PolicyChecker, ResolvedGate};
use crate::policy::{GateSpec, Level, Origin, Progressive, RiskLevel, Spanned, Threshold};

/// Pairs of gates of one metric, the later one first.
fn pairs<'c, 'a>(checker: &'c PolicyChecker<'a>) -> impl Iterator<Item = (&'c ResolvedGate<'a>, &'c ResolvedGate<'a>)> {
    let gates = &checker.gates;
    let pairs = gates.iter().enumerate().flat_map(|(at, gate)| gates[..at].iter().map(move |first| (gate, first)));
    pairs.filter(|(gate, first)| gate.demand.name == first.demand.name)
}

pub(super) fn duplicate(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let same = pairs(checker)
        .filter(|(gate, first)| gate.demand.is_same(&first.demand) && gate.spec.level == first.spec.level);
    same.map(|(gate, first)| {
        let (rule, earlier_span) = (gate.demand.metric_rule(), first.demand.span.clone());
        Finding::note(BlockingLint::DuplicateGate { rule, earlier_span }).at(&gate.demand.span)
    })
    .collect()
}

/// A gate that cannot change the verdict, because another one is at least as strict and blocks at least as much.
pub(super) fn find_shadowed(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for gate in &checker.gates {
        let stronger = checker.gates.iter().find(|other| {
            let is_same = gate.demand.is_same(&other.demand);
            gate.demand.name == other.demand.name
                && other.spec.level <= gate.spec.level
                && gate.demand.follows_from(&other.demand)
                // Of two equal gates, only a warning beside a blocking one has no effect.
                && (!is_same || other.spec.level < gate.spec.level)
        });
        if let Some(other) = stronger {
            let lint = BlockingLint::ShadowedGate {
                rule: gate.demand.metric_rule(),
                stricter: other.demand.metric_rule(),
                stricter_span: other.demand.span.clone(),
            };
            findings.push(Finding::warning(lint).at(&gate.demand.span));
        }
    }
    findings.extend(checker.policy.progressive.iter().filter_map(|step| shadowed_versions(checker, step)));
    findings
}

/// Thresholds of versions add to those that always hold.
fn shadowed_versions(checker: &PolicyChecker<'_>, step: &Progressive) -> Option<Finding> {
    let always: Vec<&ResolvedGate<'_>> = checker
        .gates
        .iter()
        .filter(|gate| gate.spec.level == Level::Blocking && gate.demand.name == step.metric.value)
        .collect();
    let mut versions = Vec::new();
    let mut by = None;
    for (version, demand) in steps(checker, step) {
        if let Some(gate) = always.iter().find(|gate| demand.follows_from(&gate.demand)) {
            versions.push(version);
            by = Some(*gate);
        }
    }
    let stricter = by?;
    let lint = BlockingLint::ShadowedVersions {
        versions,
        stricter: stricter.demand.metric_rule(),
        stricter_span: stricter.demand.span.clone(),
    };
    Some(Finding::warning(lint).at(&step.metric.span))
}

/// The thresholds of versions, with their meaning.
fn steps(checker: &PolicyChecker<'_>, step: &Progressive) -> Vec<(String, Demand)> {
    let Some((unit, direction)) = checker.about(&step.metric.value) else { return Vec::new() };
    let one = |(version, threshold): &(Spanned<String>, Threshold)| {
        let rule = threshold.rule_in(unit, direction, &step.metric.value).ok()?;
        let (metric, span, range) = (step.metric.value.clone(), threshold.span.clone(), unit.range());
        let demand = Demand { name: metric.clone(), metric, rule, unit, level: Level::Blocking, span, range };
        Some((version.value.clone(), demand))
    };
    step.versions.iter().filter_map(one).collect()
}

pub(super) fn softer_than_warning(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for blocking in checker.gates.iter().filter(|gate| gate.spec.level == Level::Blocking) {
        let stricter = checker.gates.iter().find(|gate| {
            gate.spec.level == Level::Warning
                && gate.demand.name == blocking.demand.name
                && blocking.demand.follows_from(&gate.demand)
                && !gate.demand.is_same(&blocking.demand)
        });
        if let Some(warning) = stricter {
            let lint = BlockingLint::BlockingSofterThanWarning {
                blocking: blocking.demand.metric_rule(),
                warning: warning.demand.metric_rule(),
                warning_span: warning.demand.span.clone(),
            };
            findings.push(Finding::note(lint).at(&blocking.demand.span));
        }
    }
    findings
}

pub(super) fn progressive_falls(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for step in &checker.policy.progressive {
        for pair in steps(checker, step).windows(2) {
            let [(earlier_version, earlier), (version, next)] = pair else { continue };
            if next.follows_from(earlier) && !next.is_same(earlier) {
                let lint = BlockingLint::ProgressiveFalls {
                    version: version.clone(),
                    rule: next.metric_rule(),
                    earlier_version: earlier_version.clone(),
                    earlier: earlier.metric_rule(),
                };
                findings.push(Finding::warning(lint).at(&next.span));
            }
        }
    }
    findings
}

/// Critical and high are the levels that block unless the policy says otherwise.
pub(super) fn risk_does_not_block(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for gate in &checker.policy.gates {
        let Origin::Risk { level: level @ (RiskLevel::Critical | RiskLevel::High), .. } = gate.origin else {
            continue;
        };
        if gate.level == Level::Warning {
            let lint = BlockingLint::RiskDoesNotBlock { level, metric: gate.metric.value.clone() };
            findings.push(Finding::warning(lint).at(&gate.threshold.span));
        }
    }
    for blocking in &checker.policy.risk_blocking {
        let level = blocking.value;
        let has_level = |gate: &GateSpec| matches!(gate.origin, Origin::Risk { level: stated, .. } if stated == level);
        if !checker.policy.gates.iter().any(has_level) {
            findings.push(Finding::warning(BlockingLint::RiskLevelWithoutRows { level }).at(&blocking.span));
        }
    }
    findings
}

pub(super) fn nothing_blocks(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let policy = checker.policy;
    let has_scenario_rule = !policy.required.is_empty()
        || !policy.blocking_failures.is_empty()
        || policy.rubric.is_some()
        || policy.epochs.min_pass_rate.is_some();
    let has_block = policy.gates.iter().any(|gate| gate.level == Level::Blocking)
        || policy.baseline.as_ref().is_some_and(|rule| rule.level == Level::Blocking)
        || policy.pass.is_some()
        || has_scenario_rule;
    if has_block {
        return Vec::new();
    }
    if let Some(step) = policy.progressive.first() {
        return vec![Finding::warning(BlockingLint::NothingBlocksWithoutVersion).at(&step.metric.span)];
    }
    match policy.gates.len() + usize::from(policy.baseline.is_some()) {
        0 => vec![Finding::error(BlockingLint::EmptyPolicy)],
        gates => vec![Finding::warning(BlockingLint::NothingBlocks { gates })],
    }
}
