//! Why a gate has its verdict, in words.

use super::rule_words::comparison;
use super::words::first_of;
use crate::numbers::{difference_text, percent, threshold_text, value_beside, value_text};
use crate::words::{reason_sentence, statistic_reason_sentence, undefined_sentence};
use calipers_core::stats::threshold_test::Direction;
use calipers_core::{Reason, Unit, pluralize, unit_of_field};
use calipers_gate::policy::Comparison;
use calipers_gate::{
    BaselineDifference, BaselineReason, ConditionReason, ConfidenceBound, CorrectedLimit, CoverageReason, DecidedBy,
    FormulaDoubt, GateKind, GateReason, GateReport, LimitEnd, MissingLimit, PoorGrade, QuantileShare, SampleUnit,
    ScenarioReason, ScenarioShare, ThresholdFinding, ThresholdReason, Unbounded,
};

/// Names before the rest is counted.
const NAMES_MAX: usize = 5;

/// What decided a verdict, in one line: `pass_rate: 80 % is not ≥ 85 %`.
#[must_use]
pub fn gate_decision(report: &GateReport) -> String {
    let about = |place: usize| {
        let gate = &report.gates[place];
        let reason = gate_reason(&gate.reason);
        match gate.kind {
            GateKind::Baseline(_) if gate.metric != "baseline" => {
                format!("{} against the baseline: {reason}", gate.metric)
            }
            _ => format!("{}: {reason}", gate.metric),
        }
    };
    match report.decided_by {
        DecidedBy::AllPassed { blocking: 0 } => "no gate blocks".to_owned(),
        DecidedBy::AllPassed { blocking: 1 } => "the only blocking gate passed".to_owned(),
        DecidedBy::AllPassed { blocking: 2 } => "both blocking gates passed".to_owned(),
        DecidedBy::AllPassed { blocking } => format!("all {blocking} blocking gates passed"),
        DecidedBy::Gate(place) => about(place),
        DecidedBy::UndecidedAsFail(place) => format!("{} (undecided, which the policy counts as a fail)", about(place)),
        DecidedBy::UndecidedAsWarning(place) => {
            format!("{} (undecided, about which the policy only warns)", about(place))
        }
    }
}

/// Why a gate has its verdict, in one line.
#[must_use]
pub fn gate_reason(reason: &GateReason) -> String {
    match reason {
        GateReason::Threshold(reason) => threshold_sentence(reason),
        GateReason::Condition(reason) => condition_sentence(reason),
        GateReason::Scenarios(reason) => scenario_sentence(reason),
        GateReason::Baseline(reason) => baseline_sentence(reason),
        GateReason::Coverage(reason) => coverage_sentence(reason),
        GateReason::PossiblyChance { reason, gates } => {
            format!("{}, which may be chance among {gates} gates", gate_reason(reason))
        }
    }
}

fn threshold_sentence(reason: &ThresholdReason) -> String {
    let rule = comparison(&reason.rule, reason.unit);
    let beside = |value: f64| value_beside(reason.unit, value, reason.rule.value);
    let estimate = |value: f64| if value.is_infinite() { "longer than any limit".to_owned() } else { beside(value) };
    match &reason.finding {
        ThresholdFinding::ScoresOutsideUnit => reason_sentence(&Reason::ScoresOutsideUnit),
        ThresholdFinding::Undefined(why) => format!("undefined: {}", undefined_sentence(why)),
        ThresholdFinding::Met { value } => format!("{} is {rule}", estimate(*value)),
        ThresholdFinding::MetUnlessUnscored { value, unscored } => {
            let unscored = pluralize(unscored, "sample");
            format!("{} is {rule}, but missing scores of {unscored} could change that", estimate(*value))
        }
        ThresholdFinding::Missed { value } => format!("{} is not {rule}", estimate(*value)),
        ThresholdFinding::MissedUnlessErrored { value, best, errored } => {
            let (value, best, errored) = (estimate(*value), beside(*best), pluralize(errored, "sample"));
            format!("{value} is not {rule}, but it would be {best} if {errored} that ended in an error had passed")
        }
        ThresholdFinding::NeverExact => {
            let threshold = threshold_text(reason.unit, reason.rule.value);
            format!("no number of samples can show that it is exactly {threshold}")
        }
        ThresholdFinding::Unbounded(why) => unbounded_sentence(why),
        ThresholdFinding::BoundMet(bound) | ThresholdFinding::BoundMissed(bound) => bound_sentence(reason, bound),
        ThresholdFinding::PerfectNotEnough { counted: unit, have, need, quantile } => {
            let have = match unit {
                SampleUnit::Samples => pluralize(have, "sample"),
                SampleUnit::Attempts => pluralize(have, "attempt"),
                SampleUnit::Clusters => pluralize(have, "cluster"),
                SampleUnit::Labels => pluralize(have, "label"),
            };
            match quantile {
                Some(quantile) => {
                    let share = wanted_share(quantile);
                    let within = within(reason);
                    format!(
                        "{have} cannot show that {share} of the attempts are {within}, even if all go well; {need} are needed"
                    )
                }
                None => format!("even a perfect score on {have} cannot show {rule}; {need} are needed"),
            }
        }
        ThresholdFinding::UnscoredCouldChange { unscored } => {
            format!("missing scores of {} could change the answer", pluralize(unscored, "sample"))
        }
        ThresholdFinding::Between { low, high, quantile: Some(quantile) } => {
            let share = |share: f64| value_beside(Unit::Rate, share, quantile.share);
            let (low, high, within, needed) = (share(*low), share(*high), within(reason), needed_share(quantile));
            format!("between {low} and {high} of the attempts may be {within}, and {needed}")
        }
        ThresholdFinding::Between { low, high, quantile: None } => {
            format!("it may be anything between {} and {}", beside(*low), beside(*high))
        }
        ThresholdFinding::AsBadAs { bound } => format!("it may be as bad as {}", beside(*bound)),
    }
}

/// What a bound says: `at least 96.1 % with 95 % confidence`.
fn bound_sentence(reason: &ThresholdReason, found: &ConfidenceBound) -> String {
    let confidence = format!("with {} confidence", percent(found.confidence));
    let Some((direction, bound)) = found.bound else {
        return format!("{} {confidence}", comparison(&reason.rule, reason.unit));
    };
    let side = side(direction);
    match &found.quantile {
        None => format!("{side} {} {confidence}", value_beside(reason.unit, bound, reason.rule.value)),
        Some(quantile) => {
            let share = value_beside(Unit::Rate, bound, quantile.share);
            let (within, needed) = (within(reason), needed_share(quantile));
            format!("{side} {share} of the attempts are {within}, and {needed}, {confidence}")
        }
    }
}

fn side(direction: Direction) -> &'static str {
    match direction {
        Direction::AtLeast => "at least",
        Direction::AtMost => "at most",
    }
}

/// The values that the limit of a quantile counts: `within 5 s`.
fn within(reason: &ThresholdReason) -> String {
    let is_open = matches!(reason.rule.comparison, Comparison::Below | Comparison::AtLeast);
    format!("{} {}", if is_open { "below" } else { "within" }, threshold_text(reason.unit, reason.rule.value))
}

fn wanted_share(quantile: &QuantileShare) -> String {
    let share = value_text(Unit::Rate, quantile.share);
    if quantile.direction == Direction::AtLeast { share } else { format!("at most {share}") }
}

/// How many attempts a quantile asks for: `95 % have to be`.
fn needed_share(quantile: &QuantileShare) -> String {
    match quantile.direction {
        Direction::AtLeast => format!("{} have to be", wanted_share(quantile)),
        Direction::AtMost => format!("{} may be", wanted_share(quantile)),
    }
}

/// Why a metric has no bound.
pub(crate) fn unbounded_sentence(why: &Unbounded) -> String {
    match why {
        Unbounded::Method(method) => format!("`{method}` has no bound that a gate could use"),
        Unbounded::UnscoredWithoutLimit { samples } => {
            format!(
                "{} without a score, and nothing limits what the score could have been",
                pluralize(samples, "sample")
            )
        }
        Unbounded::NoValues => "there is nothing to judge".to_owned(),
        Unbounded::Statistic(why) => format!("undefined: {}", statistic_reason_sentence(why)),
        Unbounded::TooFewValues { values: 1 } => "1 value cannot bound it".to_owned(),
        Unbounded::TooFewValues { values } => format!("{values} values cannot bound it"),
        Unbounded::NotByAttempt => {
            "it is not the mean over attempts, so attempts alone cannot show what a rerun would give".to_owned()
        }
        Unbounded::NoLimit(missing) => {
            let (what, fix) = missing_limit_words(missing);
            format!("{what}; {fix}")
        }
        Unbounded::NegativeNumerators => "a ratio whose numerators may be negative has no bound".to_owned(),
        Unbounded::Corrected(limit) => {
            let (limit, remedy) = match limit {
                CorrectedLimit::Looks => {
                    ("any number of looks at graded scores", "look once, or score passes and failures")
                }
                CorrectedLimit::Scale => ("scores outside 0 to 1", "map scores and labels to [0, 1]"),
            };
            format!("the bound of a corrected mean does not allow for {limit}; {remedy}")
        }
        Unbounded::Open => "the data do not bound it".to_owned(),
    }
}

/// Which limit of values is missing, and what to write.
pub(crate) fn missing_limit_words(missing: &MissingLimit) -> (String, String) {
    let (name, unit) = (&missing.name, unit_of_field(&missing.name));
    let (large, above, end) = match missing.end {
        LimitEnd::Most => ("large", "above", "most"),
        LimitEnd::Least => ("small", "below", "least"),
    };
    if let Some(beyond) = &missing.exceeded {
        let (value, limit) = (value_beside(unit, beyond.value, beyond.limit), threshold_text(unit, beyond.limit));
        let what =
            format!("`{name}` is {value} in sample {}, {above} the {end} that `limits` states, {limit}", beyond.sample);
        return (what, "correct the limit, or the record".to_owned());
    }
    let written = match missing.end {
        LimitEnd::Most => format!("`\"limits\": {{\"{name}\": MOST}}`"),
        LimitEnd::Least => format!("`\"limits\": {{\"{name}\": {{\"min\": LEAST, \"max\": MOST}}}}`"),
    };
    let what = format!("nothing says how {large} `{name}` can be, and one unseen value could outweigh all others");
    let fix =
        format!("state the {end} that one attempt can have, {written}, or gate on a quantile, which needs no limit");
    (what, fix)
}

fn condition_sentence(reason: &ConditionReason) -> String {
    match reason {
        ConditionReason::Comparison { text, reason } => format!("{text}: {}", gate_reason(reason)),
        ConditionReason::Not(reason) => format!("not: {}", gate_reason(reason)),
        ConditionReason::Both(first, second) => {
            format!("{}; {}", gate_reason(first), gate_reason(second))
        }
        ConditionReason::Undefined(why) => undefined_sentence(why),
        ConditionReason::NotACondition { text } => format!("`{text}` is a number, not a condition"),
        ConditionReason::Value { value, threshold, doubt } => {
            let value = value_beside(Unit::Plain, *value, *threshold);
            match doubt {
                None => value,
                Some(FormulaDoubt::Unscored) => format!("{value}, but missing scores could change that"),
                Some(FormulaDoubt::Errored) => {
                    format!("{value}, but it might hold without the samples that ended in an error")
                }
            }
        }
        ConditionReason::Bounds { threshold, lower, upper, confidence } => {
            let beside = |bound: &f64| value_beside(Unit::Plain, *bound, *threshold);
            let range = match (lower, upper) {
                (Some(lower), Some(upper)) => format!("between {} and {}", beside(lower), beside(upper)),
                (Some(lower), None) => format!("at least {}", beside(lower)),
                (None, Some(upper)) => format!("at most {}", beside(upper)),
                (None, None) => return unbounded_sentence(&Unbounded::Open),
            };
            format!("{range} with {} confidence", percent(*confidence))
        }
        ConditionReason::Open { why: Some(why), .. } => unbounded_sentence(why),
        ConditionReason::Open { metric: Some(metric), .. } => format!("the data do not bound `{metric}`"),
        ConditionReason::Open { metric: None, .. } => unbounded_sentence(&Unbounded::Open),
    }
}

fn scenario_sentence(reason: &ScenarioReason) -> String {
    let list = |names: &[String]| first_of(names, NAMES_MAX);
    match reason {
        ScenarioReason::RequiredPassed { total } => format!("all {total} passed"),
        ScenarioReason::RequiredFailed(ids) => format!("failed: {}", list(ids)),
        ScenarioReason::RequiredOpen { missing, errored, unscored } => {
            let parts = [("missing", missing), ("ended in an error", errored), ("without a score", unscored)];
            let parts = parts.iter().filter(|(_, ids)| !ids.is_empty());
            parts.map(|(what, ids)| format!("{what}: {}", list(ids))).collect::<Vec<_>>().join("; ")
        }
        ScenarioReason::OftenEnough => "every scenario passes often enough".to_owned(),
        ScenarioReason::TooRarely(shares) => format!("below: {}", list(&share_texts(shares))),
        ScenarioReason::TooManyErrors(shares) => {
            format!("attempts ended in errors: {}", list(&share_texts(shares)))
        }
        ScenarioReason::NoBlockingFailure => "none occurred".to_owned(),
        ScenarioReason::BlockingFailures(failures) => {
            let failures = failures.iter().map(|failure| format!("{} in {}", failure.kind, failure.scenario));
            list(&failures.collect::<Vec<_>>())
        }
        ScenarioReason::AllGraded { graded } => format!("{graded} graded, and all pass"),
        ScenarioReason::Ungraded { scorer, scenarios } => format!("not graded by `{scorer}`: {}", list(scenarios)),
        ScenarioReason::PoorGrades(grades) => list(&grades.iter().map(grade_text).collect::<Vec<_>>()),
    }
}

fn share_texts(shares: &[ScenarioShare]) -> Vec<String> {
    let text = |share: &ScenarioShare| format!("{} {}/{}", share.scenario, share.passed, share.attempts);
    shares.iter().map(text).collect()
}

fn grade_text(grade: &PoorGrade) -> String {
    match grade {
        PoorGrade::Zero { scenario, criterion } => format!("{scenario} has 0 for {criterion}"),
        PoorGrade::Share { scenario, share } => format!("{scenario} has {}", value_text(Unit::Rate, *share)),
    }
}

fn baseline_sentence(reason: &BaselineReason) -> String {
    match reason {
        BaselineReason::NotGiven => "no baseline is given".to_owned(),
        BaselineReason::NoCommonMetric => {
            "the baseline has none of the metrics of this policy; record it again".to_owned()
        }
        BaselineReason::NoCommonScenario => "no scenario that ran is in the baseline too".to_owned(),
        BaselineReason::Undefined => "the difference is undefined".to_owned(),
        BaselineReason::FewRan { ran, recorded } => {
            format!("only {} of the {recorded} in the baseline ran", pluralize(ran, "scenario"))
        }
        BaselineReason::NoLimit(missing) => unbounded_sentence(&Unbounded::NoLimit(missing.clone())),
        BaselineReason::ScoresOutsideUnit => reason_sentence(&Reason::ScoresOutsideUnit),
        BaselineReason::TooFewToBound => "too few scenarios to bound the difference".to_owned(),
        BaselineReason::NoRecordedInterval => {
            "the baseline has no interval for it, so nothing says how exact the recorded value is".to_owned()
        }
        BaselineReason::RecordedIntervalTooNarrow { confidence } => format!(
            "the recorded value has a 95 % interval, which cannot show a difference with {} confidence",
            value_text(Unit::Rate, *confidence)
        ),
        BaselineReason::Difference(found) => difference_sentence(found),
    }
}

fn difference_sentence(found: &BaselineDifference) -> String {
    let sign = if found.direction == Direction::AtMost { -1.0 } else { 1.0 };
    let change = |x: f64| match sign * x {
        0.0 => "no worse".to_owned(),
        better if better > 0.0 => format!("{} better", difference_text(found.unit, x)),
        _ => format!("{} worse", difference_text(found.unit, x)),
    };
    let (scenarios, margin) = (pluralize(found.scenarios, "scenario"), difference_text(found.unit, found.margin));
    let difference = format!("{} over {scenarios} ({margin} allowed)", change(found.difference));
    match found.bounds {
        None => difference,
        Some((low, high)) => {
            let unknown = match found.unknown {
                0 => String::new(),
                count => format!(", with {} at worst and at best", pluralize(count, "missing scenario")),
            };
            format!("{difference}; it may be anything from {} to {}{unknown}", change(low), change(high))
        }
    }
}

fn coverage_sentence(reason: &CoverageReason) -> String {
    match reason {
        CoverageReason::NothingAsked => {
            "the policy asks for nothing; give it `thresholds`, `pass_criteria`, `required_scenarios` or `composite.pass`"
                .to_owned()
        }
        CoverageReason::EmptyRun => "the run is empty".to_owned(),
        CoverageReason::NothingScored { scenarios } => {
            format!("{} and no score: nothing says whether any passed", pluralize(scenarios, "scenario"))
        }
        CoverageReason::NothingReduced(reason) => reason_sentence(reason),
        CoverageReason::SuiteIncomplete { missing } => match &missing[..] {
            [one] => format!("1 scenario of the suite is missing: {one}"),
            many => format!("{} scenarios of the suite are missing: {}", many.len(), first_of(many, NAMES_MAX)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use calipers_gate::policy::Rule;

    fn threshold(comparison: Comparison, value: f64, unit: Unit, finding: ThresholdFinding) -> String {
        gate_reason(&GateReason::Threshold(ThresholdReason { rule: Rule { comparison, value }, unit, finding }))
    }

    #[test]
    fn a_threshold_reason_has_its_numbers_in_the_unit_of_the_metric() {
        let rate = |finding| threshold(Comparison::AtLeast, 0.9, Unit::Rate, finding);
        let bound = ConfidenceBound { bound: Some((Direction::AtLeast, 0.912)), confidence: 0.95, quantile: None };
        for (finding, want) in [
            (ThresholdFinding::Met { value: 0.95 }, "95 % is ≥ 90 %"),
            (ThresholdFinding::Missed { value: 0.8996 }, "89.96 % is not ≥ 90 %"),
            (
                ThresholdFinding::MetUnlessUnscored { value: 0.95, unscored: 1 },
                "95 % is ≥ 90 %, but missing scores of 1 sample could change that",
            ),
            (
                ThresholdFinding::MissedUnlessErrored { value: 0.85, best: 0.95, errored: 2 },
                "85 % is not ≥ 90 %, but it would be 95 % if 2 samples that ended in an error had passed",
            ),
            (ThresholdFinding::BoundMet(bound), "at least 91.2 % with 95 % confidence"),
            (
                ThresholdFinding::Between { low: 0.85, high: 0.97, quantile: None },
                "it may be anything between 85 % and 97 %",
            ),
            (ThresholdFinding::NeverExact, "no number of samples can show that it is exactly 90 %"),
            (ThresholdFinding::Unbounded(Unbounded::Open), "the data do not bound it"),
        ] {
            assert_eq!(rate(finding), want);
        }
    }

    #[test]
    fn a_latency_is_written_in_a_sentence_as_in_the_table() {
        let slow = |finding| threshold(Comparison::AtMost, 5000.0, Unit::Milliseconds, finding);
        assert_eq!(slow(ThresholdFinding::Missed { value: 6120.0 }), "6.12 s is not ≤ 5 s");
        assert_eq!(slow(ThresholdFinding::Missed { value: f64::INFINITY }), "longer than any limit is not ≤ 5 s");
        let quantile = Some(QuantileShare { share: 0.95, direction: Direction::AtLeast });
        assert_eq!(
            slow(ThresholdFinding::PerfectNotEnough { counted: SampleUnit::Attempts, have: 20, need: 59, quantile }),
            "20 attempts cannot show that 95 % of the attempts are within 5 s, even if all go well; 59 are needed"
        );
    }

    #[test]
    fn a_possible_chance_is_said_after_the_reason() {
        let finding = ThresholdFinding::Missed { value: 0.5 };
        let rule = Rule { comparison: Comparison::AtLeast, value: 0.9 };
        let reason = Box::new(GateReason::Threshold(ThresholdReason { rule, unit: Unit::Rate, finding }));
        let chance = GateReason::PossiblyChance { reason, gates: 10 };
        assert_eq!(gate_reason(&chance), "50 % is not ≥ 90 %, which may be chance among 10 gates");
    }

    #[test]
    fn a_difference_to_a_baseline_is_better_or_worse() {
        let found = |difference, direction, bounds| {
            let found = BaselineDifference {
                difference,
                unit: Unit::Rate,
                direction,
                scenarios: 59,
                margin: 0.02,
                bounds,
                unknown: 0,
            };
            gate_reason(&BaselineReason::Difference(found).into())
        };
        assert_eq!(found(-0.034, Direction::AtLeast, None), "3.4 pp worse over 59 scenarios (2 pp allowed)");
        assert_eq!(found(-0.034, Direction::AtMost, None), "3.4 pp better over 59 scenarios (2 pp allowed)");
        assert_eq!(
            found(0.0, Direction::AtLeast, Some((-0.01, 0.02))),
            "no worse over 59 scenarios (2 pp allowed); it may be anything from 1 pp worse to 2 pp better"
        );
    }
}
