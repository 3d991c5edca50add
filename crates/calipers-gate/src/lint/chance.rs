//! Gates that chance decides, or that nothing can.

use super::{Basis, Checker, Count, Found, Gate};
use crate::policy::{BaselineMode, Comparison, Level, OnUndecided, Origin, RiskLevel, Rule};
use calipers_core::{Unit, counted};
use calipers_stats::proportion::{perfect_bound, perfect_needs};
use calipers_stats::special::binomial_cdf;

/// The confidence at which sample sizes are told where the policy asks for none.
const USUAL: f64 = 0.95;
/// How much better or worse than its threshold an agent is taken to be, in points.
const APART: f64 = 0.05;
/// From this chance of a wrong answer on, a gate is worth a warning.
const COIN_FLIP: f64 = 0.2;
/// From this chance that one of several good gates fails on, they are.
const ANY_FAILS: f64 = 0.1;
/// Without samples, so many gates are many.
const MANY: usize = 10;
/// No failure among as many samples as show this much needs no remark.
const NEARLY_ALL: f64 = 0.99;
/// Below this, `confidence` is a word for a guess.
const LEAST: f64 = 0.8;

/// True for gates that are decided on counts: all, or none.
fn is_counted(gate: &Gate<'_>) -> bool {
    let rule = gate.demand.rule;
    let none = rule.value == 0.0 && matches!(rule.comparison, Comparison::AtMost | Comparison::Equal);
    gate.demand.unit == Unit::Rate && (rule.asks_for_all() || none)
}

/// The share of successes that a gate needs, and what there is of it: a rate is at most x when at least 1 − x are not, and
/// a quantile is at most a limit when at least that many attempts are.
fn needed_share(gate: &Gate<'_>) -> Option<(f64, Option<Count>, &'static str)> {
    let wants_more = match gate.demand.rule.comparison {
        Comparison::AtLeast | Comparison::Above => true,
        Comparison::AtMost | Comparison::Below => false,
        Comparison::Equal => return None,
    };
    match gate.basis {
        Basis::Share(n) | Basis::Graded(n) => {
            let value = gate.demand.rule.value;
            Some((if wants_more { value } else { 1.0 - value }, n, "samples"))
        }
        Basis::Quantile(p, n) => Some((if wants_more { 1.0 - p } else { p }, n, "attempts")),
        Basis::Other => None,
    }
}

pub(super) fn undecidable(checker: &Checker<'_>) -> Vec<Found> {
    let Some(confidence) = checker.policy.confidence else { return Vec::new() };
    let gates = checker.gates.iter().filter(|gate| !is_counted(gate));
    gates.filter_map(|gate| undecidable_gate(gate, confidence)).collect()
}

fn undecidable_gate(gate: &Gate<'_>, confidence: f64) -> Option<Found> {
    let at = format!("at {} confidence", Unit::Rate.show(confidence));
    let rule = gate.demand.text();
    if gate.demand.rule.comparison == Comparison::Equal {
        let message = format!("no number of samples shows `{rule}` {at}");
        return Some(Found::error(message, "compare with ≥ or ≤").at(&gate.demand.span));
    }
    let (share, n, what) = needed_share(gate)?;
    let needs = perfect_needs(share, 1.0 - confidence).ok()?;
    let found = match n {
        Some(n) if n.worth >= needs => return None,
        Some(n) => {
            let best = perfect_bound(n.worth, 1.0 - confidence).map(|bound| Unit::Rate.show(bound)).ok();
            let shows = best.map_or_else(|| "show nothing".to_owned(), |best| format!("show no more than {best}"));
            let message = format!(
                "even a perfect score does not pass `{rule}` {at}: {} {shows}, and it needs {needs}",
                n.text(what)
            );
            let fix = format!("run at least {needs} {what}, or lower the threshold or the confidence");
            // Grades that are nearly perfect may be bounded more closely than a score of all or nothing.
            let is_graded = matches!(gate.basis, Basis::Graded(_)) || n.is_repeated;
            let is_error = gate.spec.level == Level::Blocking && !is_graded;
            if is_error { Found::error(message, fix) } else { Found::warning(message, fix) }
        }
        None => {
            let message = format!("`{rule}` needs at least {needs} {what} to pass {at}");
            Found::note(message, "see whether there are as many with `--samples` or `--suite`")
        }
    };
    Some(found.at(&gate.demand.span))
}

/// The chances of a wrong answer when an estimate is compared with a threshold.
struct Chances {
    n: Count,
    better: f64,
    /// An agent that is as good as `better` fails.
    fails: f64,
    worse: f64,
    /// An agent that is as bad as `worse` passes.
    passes: f64,
}

/// The chances of a gate in point mode, where the number of samples is known: exact for single attempts, by the binomial
/// distribution, and the most they can be where attempts of a sample are averaged.
fn chances(gate: &Gate<'_>) -> Option<Chances> {
    let Basis::Share(Some(n)) = gate.basis else { return None };
    if n.worth == 0 || is_counted(gate) {
        return None;
    }
    let (share, ..) = needed_share(gate)?;
    let is_strict = matches!(gate.demand.rule.comparison, Comparison::Above | Comparison::Below);
    let least = successes_needed(share, n.worth, is_strict);
    let apart = APART.min((1.0 - share) / 2.0);
    let (better, worse) = (share + apart, (share - APART).max(0.0));
    let below = |truth: f64| if least == 0 { 0.0 } else { binomial_cdf(least - 1, n.worth, truth) };
    Some(Chances { n, better, fails: below(better), worse, passes: 1.0 - below(worse) })
}

/// The least number of successes whose share of n reaches (or, if strict, exceeds) a threshold.
fn successes_needed(share: f64, n: u64, is_strict: bool) -> u64 {
    let exact = share * n as f64;
    // 0.9 × 20 is 18 and not a rounding error more.
    let near = exact.round();
    let is_whole = (exact - near).abs() < 1e-9;
    match (is_whole, is_strict) {
        (true, true) => near as u64 + 1,
        (true, false) => near as u64,
        (false, _) => exact.ceil() as u64,
    }
}

pub(super) fn coin_flip(checker: &Checker<'_>) -> Vec<Found> {
    if checker.policy.confidence.is_some() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for gate in checker.decisive() {
        let Some(chances) = chances(gate).filter(|chances| chances.fails.max(chances.passes) >= COIN_FLIP) else {
            continue;
        };
        let show = |truth: f64| {
            // A gate that asks for little is about what it does not want.
            let is_upper = matches!(gate.demand.rule.comparison, Comparison::AtMost | Comparison::Below);
            Unit::Rate.show(if is_upper { 1.0 - truth } else { truth })
        };
        let up_to = if chances.n.is_repeated { "up to " } else { "" };
        let message = format!(
            "with {} chance decides `{}`: an agent at {} fails it {up_to}{} of the time, and one at {} passes it {up_to}{} of the time",
            chances.n.text("samples"),
            gate.demand.text(),
            show(chances.better),
            Unit::Rate.show(chances.fails),
            show(chances.worse),
            Unit::Rate.show(chances.passes)
        );
        found.push(
            Found::warning(message, "add samples, or set `\"confidence\": 0.95` to be told when they do not decide")
                .at(&gate.demand.span),
        );
    }
    found
}

pub(super) fn all_of_few(checker: &Checker<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for gate in checker.decisive().filter(|gate| gate.demand.rule.asks_for_all()) {
        let (Basis::Share(Some(n)) | Basis::Graded(Some(n))) = gate.basis else { continue };
        let confidence = checker.policy.confidence.unwrap_or(USUAL);
        let Ok(bound) = perfect_bound(n.worth, 1.0 - confidence) else { continue };
        if bound >= NEARLY_ALL {
            continue;
        }
        let of = format!("{} of {}", n.total, n.text("samples"));
        let (bound, level) = (Unit::Rate.show(bound), Unit::Rate.show(confidence));
        let message = format!(
            "{of} show that `{}` is at least {bound} ({level} confidence), not that it is 100 %",
            gate.demand.name
        );
        let needs = perfect_needs(NEARLY_ALL, 1.0 - confidence).unwrap_or_default();
        found.push(Found::note(message, format!("{needs} samples without a failure show 99 %")).at(&gate.demand.span));
    }
    found
}

/// In confidence mode such a gate is undecidable.
pub(super) fn few_attempts(checker: &Checker<'_>) -> Vec<Found> {
    if checker.policy.confidence.is_some() {
        return Vec::new();
    }
    let few = |gate: &Gate<'_>| {
        let Basis::Quantile(p, Some(attempts)) = gate.basis else { return None };
        let needs = perfect_needs(p, 1.0 - USUAL).ok().filter(|needs| attempts.total < *needs)?;
        let message = format!(
            "`{}` is not bounded by {}: that takes {needs}, even if none is too slow",
            gate.demand.name,
            counted(attempts.total, "attempt")
        );
        Some(
            Found::warning(
                message,
                format!("run at least {}, or ask for a lower percentile", counted(needs, "attempt")),
            )
            .at(&gate.demand.span),
        )
    };
    checker.gates.iter().filter_map(few).collect()
}

pub(super) fn many_gates(checker: &Checker<'_>) -> Vec<Found> {
    if checker.policy.confidence.is_some() {
        return Vec::new();
    }
    let gates: Vec<&Gate<'_>> =
        checker.decisive().filter(|gate| gate.spec.level == Level::Blocking && !is_counted(gate)).collect();
    let fix = "ask for fewer, or set `\"confidence\": 0.95`: then a fail has to hold for all gates together";
    let fails: Vec<f64> = gates.iter().filter_map(|gate| Some(chances(gate)?.fails)).collect();
    let any = 1.0 - fails.iter().map(|fails| 1.0 - fails).product::<f64>();
    if fails.len() > 1 && any >= ANY_FAILS {
        let message = format!(
            "of {} blocking gates at least one fails up to {} of the time for an agent that is better than each by up to 5 points",
            fails.len(),
            Unit::Rate.show(any)
        );
        return vec![Found::warning(message, fix).at_some(checker.key("thresholds").or(checker.key("pass_criteria")))];
    }
    if fails.is_empty() && gates.len() >= MANY {
        let any = Unit::Rate.show(1.0 - 0.95_f64.powf(gates.len() as f64));
        let message = format!(
            "of {} blocking gates that each fail 5 % of the time by chance, at least one fails up to {any} of the time",
            gates.len()
        );
        return vec![Found::note(message, fix).at_some(checker.key("thresholds").or(checker.key("pass_criteria")))];
    }
    Vec::new()
}

pub(super) fn low_confidence(checker: &Checker<'_>) -> Vec<Found> {
    let Some(confidence) = checker.policy.confidence.filter(|confidence| *confidence < LEAST) else {
        return Vec::new();
    };
    let wrong = Unit::Rate.show(1.0 - confidence);
    let message = format!(
        "at {} confidence a version below a threshold passes it up to {wrong} of the time",
        Unit::Rate.show(confidence)
    );
    vec![Found::warning(message, "use 0.95, or 0.9 where samples are dear").at_some(checker.key("confidence"))]
}

pub(super) fn undecided_safety(checker: &Checker<'_>) -> Vec<Found> {
    if checker.policy.on_undecided != OnUndecided::Warn {
        return Vec::new();
    }
    let is_safety = |gate: &&Gate<'_>| {
        let is_critical = matches!(&gate.spec.origin, Origin::Risk { level: RiskLevel::Critical, .. });
        gate.spec.level == Level::Blocking
            && (gate.demand.name == "safety_rate" || is_critical || gate.demand.rule.asks_for_all())
    };
    let gates = checker.gates.iter().filter(is_safety).count();
    if gates == 0 {
        return Vec::new();
    }
    let message = format!(
        "{} of safety may end undecided, for example because nothing ran, and `warn` lets that pass",
        counted(gates, "gate")
    );
    vec![Found::warning(message, "leave `on_undecided` out, or set it to `fail`").at_some(checker.key("on_undecided"))]
}

/// An agent that has not changed is above its own baseline about half the time, and exactly so often by the binomial
/// distribution where the baseline is known.
pub(super) fn above_baseline(checker: &Checker<'_>) -> Vec<Found> {
    let Some(rule) = checker.policy.baseline.as_ref().filter(|rule| rule.mode == BaselineMode::Above) else {
        return Vec::new();
    };
    let names: Vec<&str> = match &rule.metrics[..] {
        [] => checker.gates.iter().map(|gate| gate.demand.name.as_str()).collect(),
        named => named.iter().map(|name| name.value.as_str()).collect(),
    };
    let fix = "use `\"mode\": \"non_inferiority\"` with a margin that may be lost";
    let worst = names.iter().filter_map(|name| Some((*name, misses(checker, name)?)));
    let message = match worst.max_by(|a, b| a.1.total_cmp(&b.1)) {
        Some((name, chance)) => {
            format!(
                "an agent that has not changed misses its baseline of `{name}` plus the margin {} of the time",
                Unit::Rate.show(chance)
            )
        }
        None => {
            "an agent that has not changed misses \"above the baseline\" about 50 % of the time, and more with a margin"
                .to_owned()
        }
    };
    vec![Found::warning(message, fix).at(&rule.margin.span)]
}

/// How often an unchanged agent misses its baseline plus the margin.
fn misses(checker: &Checker<'_>, name: &str) -> Option<f64> {
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
