//! Limits of values: those that a gate needs and does not have, and those that nothing uses.

use super::{ChanceLint, Finding, NameLint, PolicyChecker};
use crate::Unbounded;
use crate::limits::{LimitEnd, RangeQuestion, ValueRanges};
use crate::policy::{ALL_SCORES, Comparison, Level, Rule, Span};
use calipers_core::{Metric, RunRows, Unit, ValueSource};

/// Gates that can never pass with confidence, since nothing says how large a value can be.
pub(super) fn no_limit(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    if checker.policy.confidence.is_none() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for gate in &checker.gates {
        let demand = &gate.demand;
        let wants_more = matches!(demand.rule.comparison, Comparison::AtLeast | Comparison::Above);
        let end = if wants_more { LimitEnd::Least } else { LimitEnd::Most };
        let lint = |missing| ChanceLint::NoLimit { metric: demand.name.clone(), missing };
        findings.extend(missing_limit(
            checker,
            &demand.metric,
            end,
            Some(demand.rule),
            &demand.span,
            gate.spec.level,
            lint,
        ));
    }
    for formula in checker.formulas() {
        for name in formula.value.expression.names() {
            let lint = |missing| ChanceLint::NoLimit { metric: name.to_owned(), missing };
            for end in [LimitEnd::Most, LimitEnd::Least] {
                let found = missing_limit(checker, name, end, None, &formula.span, Level::Warning, lint);
                if found.is_some() {
                    findings.extend(found);
                    break;
                }
            }
        }
    }
    findings
}

fn missing_limit(
    checker: &PolicyChecker<'_>,
    name: &str,
    end: LimitEnd,
    rule: Option<Rule>,
    span: &Span,
    level: Level,
    lint: impl Fn(crate::MissingLimit) -> ChanceLint,
) -> Option<Finding> {
    let metric = checker.metric(name)?;
    let Some(Unbounded::NoLimit(missing)) = ranges(checker, metric, name)?.missing(end, rule) else { return None };
    // Whether a field holds yes and no, which need no limit, is known only with samples.
    let may_be_flags = checker.draft.samples.is_none()
        && matches!(metric.source(), ValueSource::Field(field) if calipers_core::unit_of_field(field) == Unit::Plain);
    let is_sure = level == Level::Blocking && !may_be_flags;
    Some(if is_sure { Finding::error(lint(missing)) } else { Finding::warning(lint(missing)) }.at(span))
}

/// The values that a metric sums up or averages; none for other metrics.
fn ranges(checker: &PolicyChecker<'_>, metric: &Metric, name: &str) -> Option<ValueRanges> {
    if *metric.source() == ValueSource::Unknown {
        return None;
    }
    let (unit, _) = checker.about(name)?;
    let rows = checker.draft.samples.map(RunRows::new);
    let run = checker.draft.samples.zip(rows.as_ref());
    let (policy, reducer, context) = (checker.policy, &checker.reducer, checker.context.as_ref()?);
    RangeQuestion { policy, metric, run, evidence: None, reducer, context }.answer(unit).ok()
}

/// Limits of something that no metric of the policy sums up.
pub(super) fn unused_limit(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let metrics: Vec<&Metric> = checker.metrics.values().filter_map(|metric| metric.as_ref().ok()).collect();
    let scorers: Vec<&str> =
        checker.draft.samples.iter().flat_map(|samples| samples.scorers()).map(|name| &**name).collect();
    let is_used = |name: &str| metrics.iter().any(|metric| is_used_by(name, metric.source(), metric, &scorers));
    let unused = checker.policy.limits.iter().filter(|limit| !is_used(&limit.name.value));
    let finding = |limit: &crate::policy::Limit| {
        Finding::warning(NameLint::UnusedLimit { name: limit.name.value.clone() }).at(&limit.name.span)
    };
    unused.map(finding).collect()
}

fn is_used_by(name: &str, source: &ValueSource, metric: &Metric, scorers: &[&str]) -> bool {
    match source {
        ValueSource::Unknown => false,
        // Without samples, any name may be that of a scorer.
        ValueSource::Scores => {
            name == ALL_SCORES
                || metric.scorer().map_or(scorers.is_empty() || scorers.contains(&name), |own| own == name)
        }
        ValueSource::Field(field) | ValueSource::Grades(field) | ValueSource::ScoreKey(field) => **field == *name,
        ValueSource::Ratio(a, b) => is_used_by(name, a, metric, scorers) || is_used_by(name, b, metric, scorers),
    }
}
