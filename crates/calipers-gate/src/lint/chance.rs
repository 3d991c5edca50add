//! Gates that chance decides, or that nothing can decide.

use super::{AgentChance, ChanceLint, EvidenceCount, EvidenceUnit, Finding, GateBasis, PolicyChecker, ResolvedGate};
use crate::clusters::find_likely;
use crate::policy::{BaselineMode, Comparison, Estimand, Level, OnUndecided, Origin, RiskLevel, Rule};
use calipers_core::{Evidence, PolicyRole, Unit};
use calipers_stats::proportion::{perfect_bound, perfect_needs};
use calipers_stats::special::binomial_cdf;

/// The confidence for sample sizes where the policy states none.
const USUAL_CONFIDENCE: f64 = 0.95;
/// How much better or worse than its threshold an agent is taken to be.
const APART: f64 = 0.05;
/// A gate that is wrong at least this often deserves a warning.
const COIN_FLIP: f64 = 0.2;
/// Several gates deserve a warning if a good agent fails one of them at least this often.
const ANY_FAILS: f64 = 0.1;
/// How often a gate is taken to fail by chance where the number of samples is unknown.
const EACH_FAILS: f64 = 0.05;
/// This many gates of unknown size are many.
const MANY_GATES: usize = 10;
/// If a run without a failure shows at least this much, no remark is needed.
const NEARLY_ALL: f64 = 0.99;
/// Below this, a confidence hardly deserves its name.
const CONFIDENCE_MIN: f64 = 0.8;

/// True for gates that are decided on counts: all, or none.
fn is_counted(gate: &ResolvedGate<'_>) -> bool {
    let rule = gate.demand.rule;
    let none = rule.value == 0.0 && matches!(rule.comparison, Comparison::AtMost | Comparison::Equal);
    gate.demand.unit == Unit::Rate && (rule.asks_for_all() || none)
}

/// The share of successes that a gate needs, and the evidence for it: a rate is at most x when at least 1 − x of the
/// samples are not counted, and a quantile is at most a limit when at least that share of the attempts is.
fn needed_share(gate: &ResolvedGate<'_>) -> Option<(f64, Option<EvidenceCount>, EvidenceUnit)> {
    let wants_more = match gate.demand.rule.comparison {
        Comparison::AtLeast | Comparison::Above => true,
        Comparison::AtMost | Comparison::Below => false,
        Comparison::Equal => return None,
    };
    match gate.basis {
        GateBasis::Share(n) | GateBasis::Graded(n) => {
            let value = gate.demand.rule.value;
            Some((if wants_more { value } else { 1.0 - value }, n, EvidenceUnit::Samples))
        }
        GateBasis::Quantile(p, n) => Some((if wants_more { 1.0 - p } else { p }, n, EvidenceUnit::Attempts)),
        GateBasis::Other => None,
    }
}

pub(super) fn undecidable(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let Some(confidence) = checker.policy.confidence else { return Vec::new() };
    let gates = checker.gates.iter().filter(|gate| !is_counted(gate));
    gates.filter_map(|gate| undecidable_gate(gate, confidence)).collect()
}

fn undecidable_gate(gate: &ResolvedGate<'_>, confidence: f64) -> Option<Finding> {
    let rule = gate.demand.metric_rule();
    if gate.demand.rule.comparison == Comparison::Equal {
        return Some(Finding::error(ChanceLint::UndecidableEquality { rule, confidence }).at(&gate.demand.span));
    }
    let (share, have, unit) = needed_share(gate)?;
    let needed = perfect_needs(share, 1.0 - confidence).ok()?;
    let finding = match have {
        Some(have) if have.effective >= needed => return None,
        Some(have) => {
            let best = perfect_bound(have.effective, 1.0 - confidence).ok();
            // Grades that are nearly perfect may be bounded more closely than a score of all or nothing.
            let is_graded = matches!(gate.basis, GateBasis::Graded(_)) || have.is_repeated;
            let is_error = gate.spec.level == Level::Blocking && !is_graded;
            let lint = ChanceLint::UndecidableGate { rule, confidence, have, best, needed };
            if is_error { Finding::error(lint) } else { Finding::warning(lint) }
        }
        None => Finding::note(ChanceLint::PerfectRunNeeds { rule, confidence, needed, unit }),
    };
    Some(finding.at(&gate.demand.span))
}

/// Samples that go together by a field, though the policy counts them as independent.
pub(super) fn likely_clusters(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let policy = checker.policy;
    let counts_samples = policy.cluster.is_empty() && policy.estimand == Estimand::QuestionsLikeThese;
    let (Some(samples), true, true) = (checker.draft.samples, counts_samples, policy.confidence.is_some()) else {
        return Vec::new();
    };
    let values = checker.gates.iter().find_map(|gate| {
        let metric = checker.metric(&gate.spec.metric.value)?;
        match checker.evidence(metric, &Origin::Thresholds)? {
            Evidence::Mean { samples, values, .. } => Some(samples.into_iter().zip(values).collect::<Vec<_>>()),
            _ => None,
        }
    });
    let found = values.and_then(|values| find_likely(samples, &values));
    let lint = found.map(|found| ChanceLint::LikelyClusters {
        field: found.field,
        clusters: found.clusters,
        samples: found.samples,
        correlation: found.correlation,
    });
    let place = |finding: Finding| match checker.key("confidence") {
        Some(span) => finding.at(span),
        None => finding,
    };
    lint.map(|lint| place(Finding::warning(lint))).into_iter().collect()
}

/// How often comparing an estimate with a threshold gives the wrong answer.
struct ErrorChances {
    have: EvidenceCount,
    /// An agent that is better than the threshold, as a share of successes.
    better: f64,
    /// How often that agent fails.
    fails: f64,
    /// An agent that is worse than the threshold, as a share of successes.
    worse: f64,
    /// How often that agent passes.
    passes: f64,
}

/// The chances of a gate in point mode, where the number of samples is known: exact for single attempts, by the binomial
/// distribution, and upper limits where the attempts of a sample are averaged.
fn error_chances(gate: &ResolvedGate<'_>) -> Option<ErrorChances> {
    let GateBasis::Share(Some(have)) = gate.basis else { return None };
    if have.effective == 0 || is_counted(gate) {
        return None;
    }
    let (share, ..) = needed_share(gate)?;
    let is_strict = matches!(gate.demand.rule.comparison, Comparison::Above | Comparison::Below);
    let least = successes_needed(share, have.effective, is_strict);
    let apart = APART.min((1.0 - share) / 2.0);
    let (better, worse) = (share + apart, (share - APART).max(0.0));
    let below = |truth: f64| if least == 0 { 0.0 } else { binomial_cdf(least - 1, have.effective, truth) };
    Some(ErrorChances { have, better, fails: below(better), worse, passes: 1.0 - below(worse) })
}

/// The least number of successes whose share of n reaches (or, if strict, exceeds) a threshold.
fn successes_needed(share: f64, n: u64, is_strict: bool) -> u64 {
    let exact = share * n as f64;
    // 0.9 × 20 is 18, and not a rounding error more.
    let near = exact.round();
    let is_whole = (exact - near).abs() < 1e-9;
    match (is_whole, is_strict) {
        (true, true) => near as u64 + 1,
        (true, false) => near as u64,
        (false, _) => exact.ceil() as u64,
    }
}

pub(super) fn coin_flip(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    if checker.policy.confidence.is_some() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for gate in checker.decisive() {
        let Some(chances) = error_chances(gate).filter(|chances| chances.fails.max(chances.passes) >= COIN_FLIP) else {
            continue;
        };
        // A gate with an upper limit counts what the agent should not do.
        let is_upper = matches!(gate.demand.rule.comparison, Comparison::AtMost | Comparison::Below);
        let rate = |share: f64| if is_upper { 1.0 - share } else { share };
        let lint = ChanceLint::CoinFlip {
            rule: gate.demand.metric_rule(),
            have: chances.have,
            better: AgentChance { rate: rate(chances.better), chance: chances.fails },
            worse: AgentChance { rate: rate(chances.worse), chance: chances.passes },
        };
        findings.push(Finding::warning(lint).at(&gate.demand.span));
    }
    findings
}

pub(super) fn all_of_few(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for gate in checker.decisive().filter(|gate| gate.demand.rule.asks_for_all()) {
        let (GateBasis::Share(Some(have)) | GateBasis::Graded(Some(have))) = gate.basis else { continue };
        let confidence = checker.policy.confidence.unwrap_or(USUAL_CONFIDENCE);
        let Ok(bound) = perfect_bound(have.effective, 1.0 - confidence) else { continue };
        if bound >= NEARLY_ALL {
            continue;
        }
        let needed = perfect_needs(NEARLY_ALL, 1.0 - confidence).unwrap_or_default();
        let metric = gate.demand.name.clone();
        let lint = ChanceLint::AllOfFew { metric, have, bound, confidence, needed, target: NEARLY_ALL };
        findings.push(Finding::note(lint).at(&gate.demand.span));
    }
    findings
}

/// In confidence mode such a gate is undecidable.
pub(super) fn few_attempts(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    if checker.policy.confidence.is_some() {
        return Vec::new();
    }
    let few = |gate: &ResolvedGate<'_>| {
        let GateBasis::Quantile(p, Some(have)) = gate.basis else { return None };
        let needed = perfect_needs(p, 1.0 - USUAL_CONFIDENCE).ok().filter(|needed| have.total < *needed)?;
        let lint = ChanceLint::FewAttempts { metric: gate.demand.name.clone(), attempts: have.total, needed };
        Some(Finding::warning(lint).at(&gate.demand.span))
    };
    checker.gates.iter().filter_map(few).collect()
}

pub(super) fn many_gates(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    if checker.policy.confidence.is_some() {
        return Vec::new();
    }
    let gates: Vec<&ResolvedGate<'_>> =
        checker.decisive().filter(|gate| gate.spec.level == Level::Blocking && !is_counted(gate)).collect();
    let fails: Vec<f64> = gates.iter().filter_map(|gate| Some(error_chances(gate)?.fails)).collect();
    let any_fails = 1.0 - fails.iter().map(|fails| 1.0 - fails).product::<f64>();
    let finding = if fails.len() > 1 && any_fails >= ANY_FAILS {
        Finding::warning(ChanceLint::ManyGates { gates: fails.len(), any_fails, better_by: APART })
    } else if fails.is_empty() && gates.len() >= MANY_GATES {
        let any_fails = 1.0 - (1.0 - EACH_FAILS).powf(gates.len() as f64);
        Finding::note(ChanceLint::ManyUnknownGates { gates: gates.len(), each_fails: EACH_FAILS, any_fails })
    } else {
        return Vec::new();
    };
    vec![finding.at_some(checker.key("thresholds").or(checker.key("pass_criteria")))]
}

pub(super) fn low_confidence(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let Some(confidence) = checker.policy.confidence.filter(|confidence| *confidence < CONFIDENCE_MIN) else {
        return Vec::new();
    };
    vec![Finding::warning(ChanceLint::LowConfidence { confidence }).at_some(checker.key("confidence"))]
}

pub(super) fn undecided_safety(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    if checker.policy.on_undecided != OnUndecided::Warn {
        return Vec::new();
    }
    let is_safety = |gate: &&ResolvedGate<'_>| {
        let is_critical = matches!(&gate.spec.origin, Origin::Risk { level: RiskLevel::Critical, .. });
        gate.spec.level == Level::Blocking
            && (checker.has_role(&gate.spec.metric.value, PolicyRole::Safety)
                || is_critical
                || gate.demand.rule.asks_for_all())
    };
    match checker.gates.iter().filter(is_safety).count() {
        0 => Vec::new(),
        gates => vec![Finding::warning(ChanceLint::UndecidedSafety { gates }).at_some(checker.key("on_undecided"))],
    }
}

/// An unchanged agent is above its own baseline about half the time; where the baseline is known, the binomial
/// distribution says how often exactly.
pub(super) fn above_baseline(checker: &PolicyChecker<'_>) -> Vec<Finding> {
    let Some(rule) = checker.policy.baseline.as_ref().filter(|rule| rule.mode == BaselineMode::Above) else {
        return Vec::new();
    };
    let names: Vec<&str> = match &rule.metrics[..] {
        [] => checker.gates.iter().map(|gate| gate.demand.name.as_str()).collect(),
        named => named.iter().map(|name| name.value.as_str()).collect(),
    };
    let chances = names.iter().filter_map(|name| Some((*name, miss_chance(checker, name)?)));
    let lint = match chances.max_by(|a, b| a.1.total_cmp(&b.1)) {
        Some((name, chance)) => ChanceLint::AboveBaseline { metric: name.to_owned(), chance },
        None => ChanceLint::AboveUnknownBaseline,
    };
    vec![Finding::warning(lint).at(&rule.margin.span)]
}

/// How often an unchanged agent misses its baseline plus the margin.
fn miss_chance(checker: &PolicyChecker<'_>, name: &str) -> Option<f64> {
    let recorded = checker.draft.baseline?.metrics.get(name)?;
    let (unit, _) = checker.about(name)?;
    if unit != Unit::Rate || recorded.n == 0 || !(0.0..=1.0).contains(&recorded.value) {
        return None;
    }
    let margin = checker.policy.baseline.as_ref()?.margin.amount_in(unit, name).ok()?;
    let wanted = Rule { comparison: Comparison::AtLeast, value: (recorded.value + margin).min(1.0) };
    let least = successes_needed(wanted.value, recorded.n, false);
    Some(if least == 0 { 0.0 } else { binomial_cdf(least - 1, recorded.n, recorded.value) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successes_needed_are_counted_without_rounding() {
        // share, n, strict, successes
        for (share, n, is_strict, want) in [
            (0.9, 20, false, 18),
            (0.9, 20, true, 19),
            (0.07, 100, false, 7),
            (0.9, 25, false, 23),
            (0.9, 25, true, 23),
            (0.0, 5, false, 0),
        ] {
            assert_eq!(successes_needed(share, n, is_strict), want, "{share} of {n}");
        }
    }
}
