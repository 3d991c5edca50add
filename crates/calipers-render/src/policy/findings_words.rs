//! Findings in words: what is wrong with a policy, and what to do about it.

use crate::gate::caveat_words::gate_caveat;
use crate::gate::reason_words::missing_limit_words;
use crate::numbers::{Scale, value_text};
use crate::words::operation_words;
use calipers_core::{Error, GateCaveat, Unit, pluralize};
use calipers_gate::policy::{Comparison, MetricRule, Mistake, Span, WrittenUnit};
use calipers_gate::{
    AgentChance, BlockingLint, ChanceLint, EvidenceCount, EvidenceUnit, Finding, FormulaLint, Lint, NameLint,
    ScenarioLint, ThresholdLint, UnmatchedName, WrittenAmount,
};

/// What a finding says, in one sentence.
#[must_use]
pub fn finding_message(finding: &Finding) -> String {
    words_of(finding).message
}

/// What to do about a finding.
#[must_use]
pub fn finding_fix(finding: &Finding) -> Option<String> {
    words_of(finding).fix
}

/// A finding in words.
struct FindingWords {
    message: String,
    fix: Option<String>,
}

impl FindingWords {
    fn new(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { message: message.into(), fix: Some(fix.into()) }
    }
}

fn words_of(finding: &Finding) -> FindingWords {
    let from = finding.span.as_ref();
    match &finding.lint {
        Lint::Mistake(mistake) => mistake_words(mistake),
        Lint::Name(lint) => name_words(lint),
        Lint::Threshold(lint) => threshold_words(lint, from),
        Lint::Blocking(lint) => blocking_words(lint, from),
        Lint::Formula(lint) => formula_words(lint),
        Lint::Chance(lint) => chance_words(lint),
        Lint::Scenario(lint) => scenario_words(lint, from),
    }
}

fn mistake_words(mistake: &Mistake) -> FindingWords {
    FindingWords { message: mistake.message.clone(), fix: mistake.hint.clone() }
}

fn error_words(error: &Error) -> FindingWords {
    let fix = error.kind().hint().unwrap_or_else(|| "`calipers metrics` lists the metrics".to_owned());
    FindingWords::new(error.kind().to_string(), fix)
}

fn name_words(lint: &NameLint) -> FindingWords {
    match lint {
        NameLint::UnknownMetric(error)
        | NameLint::UnknownReducer(error)
        | NameLint::UnknownScorer(error)
        | NameLint::UnmeasurableMetric(error) => error_words(error),
        NameLint::UnknownRubricScorer(scorer) => FindingWords::new(
            format!("`{}` is not among the {} of the samples", scorer.name, pluralize(scorer.known, "scorer")),
            suggest(scorer, "scorers"),
        ),
        NameLint::UnusedMetric { metric } => FindingWords::new(
            format!("`{metric}` is defined, but no gate and no formula uses it"),
            "give it a threshold, use it in a formula, or remove it",
        ),
        NameLint::UnusedLimit { name } => FindingWords::new(
            format!("no metric of this policy sums or averages `{name}`, so nothing uses its limit"),
            "name a field such as `cost_usd`, or a scorer, that a gate is about, or remove it",
        ),
        NameLint::RedefinedMetric { metric, expression } => FindingWords::new(
            format!(
                "`{metric}` is a built-in metric, but every gate and formula of this policy uses it for `{expression}`"
            ),
            "choose a name that is not taken",
        ),
        NameLint::BaselineWithoutMetric { metric, baseline } => FindingWords::new(
            format!("`{}` is not among the {} of {baseline}", metric.name, pluralize(metric.known, "metric")),
            format!("{}; or record the baseline again", suggest(metric, "metrics")),
        ),
    }
}

fn threshold_words(lint: &ThresholdLint, from: Option<&Span>) -> FindingWords {
    match lint {
        ThresholdLint::WrongUnit(mistake)
        | ThresholdLint::UnknownDirection(mistake)
        | ThresholdLint::OutsideRange(mistake) => mistake_words(mistake),
        ThresholdLint::AgainstDirection { rule, metric } => against_direction(rule, metric),
        ThresholdLint::UnreachableThreshold { rule, range } => FindingWords::new(
            format!("`{rule}` can never hold: {}", bounds(rule.unit, *range)),
            reachable_fix(rule, *range),
        ),
        ThresholdLint::VacuousThreshold { rule, range } => FindingWords::new(
            format!("`{rule}` always holds: {}", bounds(rule.unit, *range)),
            "make the threshold stricter, or remove it",
        ),
        ThresholdLint::ContradictoryThresholds { rule, earlier, earlier_span } => FindingWords::new(
            format!("`{rule}` and `{earlier}` ({}) cannot both hold", line_text(earlier_span, from)),
            "keep one of them",
        ),
        ThresholdLint::AmbiguousUnit { written, reading, alternative } => {
            let (reading, alternative) = (amount_text(reading), amount_text(alternative));
            FindingWords::new(
                format!("`{written}` is read as {reading}, but may be meant as {alternative}"),
                format!("write `\"{reading}\"` or `\"{alternative}\"`"),
            )
        }
        ThresholdLint::WideMargin { margin } => {
            let number = exact(*margin);
            FindingWords::new(
                format!(
                    "a margin of `{number}` is {} points for a rate, but may be meant as {number} %",
                    exact(margin * 100.0)
                ),
                format!("write `\"{number}%\"`, or a fraction such as 0.02"),
            )
        }
        ThresholdLint::FloatEquality { rule } => FindingWords::new(
            format!("`{rule}` holds only within 1e-9, and a better value does not pass either"),
            "compare with ≥ or ≤",
        ),
    }
}

fn against_direction(rule: &MetricRule, metric: &str) -> FindingWords {
    let is_upper = matches!(rule.rule.comparison, Comparison::AtMost | Comparison::Below);
    let (better, sign) = if is_upper { ("high", "≥") } else { ("low", "≤") };
    let threshold = rule.threshold_text();
    let value = threshold.trim_start_matches(rule.rule.comparison.sign()).trim_start();
    FindingWords::new(
        format!("`{rule}` lets the worse versions pass: `{metric}` is better when {better}"),
        format!("write `\"{sign} {value}\"`, unless this is what you mean"),
    )
}

fn bounds(unit: Unit, (low, high): (f64, f64)) -> String {
    match (low.is_finite(), high.is_finite()) {
        (true, true) => format!("it is never below {} or above {}", value_text(unit, low), value_text(unit, high)),
        (true, false) => format!("it is always above {}", value_text(unit, low)),
        _ => format!("it is never above {}", value_text(unit, high)),
    }
}

fn reachable_fix(rule: &MetricRule, range: (f64, f64)) -> &'static str {
    match (rule.rule.comparison, rule.unit) {
        (Comparison::Above, Unit::Rate) => "write `\"100%\"` to require all of them",
        (_, Unit::Milliseconds) => "give a duration that an attempt can have, such as `\"< 5000ms\"`",
        _ if rule.rule.value > 1.0 && range.1 <= 1.0 => "write a fraction such as 0.85, or a percentage such as `85%`",
        _ => "choose a threshold within these bounds",
    }
}

fn blocking_words(lint: &BlockingLint, from: Option<&Span>) -> FindingWords {
    let put_under_blocking = "put what must hold under `thresholds.blocking`";
    match lint {
        BlockingLint::DuplicateGate { rule, earlier_span } => FindingWords::new(
            format!("`{rule}` is stated twice, first in {}", line_text(earlier_span, from)),
            "keep one of them, so that they cannot drift apart",
        ),
        BlockingLint::ShadowedGate { rule, stricter, stricter_span } => FindingWords::new(
            format!("`{rule}` has no effect: `{stricter}` in {} is at least as strict", line_text(stricter_span, from)),
            "keep the one that you mean",
        ),
        BlockingLint::ShadowedVersions { versions, stricter, stricter_span } => FindingWords::new(
            format!(
                "the threshold of {} has no effect: `{stricter}` in {} applies to every version and is at least as strict",
                quoted_names(versions),
                line_text(stricter_span, from)
            ),
            "remove the gate that applies to every version, or the thresholds of the versions",
        ),
        BlockingLint::BlockingSofterThanWarning { blocking, warning, warning_span } => FindingWords::new(
            format!(
                "`{blocking}` blocks, and the stricter `{warning}` in {} only warns: what lies between ships with a warning",
                line_text(warning_span, from)
            ),
            "swap the two if the stricter one should block",
        ),
        BlockingLint::ProgressiveFalls { version, rule, earlier_version, earlier } => FindingWords::new(
            format!("`{rule}` of {version} is softer than `{earlier}` of {earlier_version} before it"),
            "put the versions in order, or raise the threshold from version to version",
        ),
        BlockingLint::RiskDoesNotBlock { level, metric } => FindingWords::new(
            format!("a {} risk does not block: missing `{metric}` only warns", level.name()),
            format!("add `{}` to `risk_blocking`", level.name()),
        ),
        BlockingLint::RiskLevelWithoutRows { level } => FindingWords::new(
            format!("`{}` blocks, but 0 rows of `risk` have that level", level.name()),
            "give a metric that level, or remove it from the list",
        ),
        BlockingLint::EmptyPolicy => {
            FindingWords::new("the policy requires nothing: it has 0 gates", put_under_blocking)
        }
        BlockingLint::NothingBlocks { gates } => FindingWords::new(
            format!("0 of {gates} gates block: every run passes, whatever its results"),
            put_under_blocking,
        ),
        BlockingLint::NothingBlocksWithoutVersion => {
            FindingWords::new("0 gates block unless a version is chosen", put_under_blocking)
        }
    }
}

fn formula_words(lint: &FormulaLint) -> FindingWords {
    match lint {
        FormulaLint::NoBudget { name, metric } => FindingWords::new(
            format!("`{name}` is {metric} over its budget, but the policy has no budget for it"),
            format!("add `\"normalize\": {{\"{metric}\": 10000}}`, or a threshold for `{metric}`"),
        ),
        FormulaLint::CompositeWeights { formula, weights, sum } => {
            let sum = exact(*sum);
            FindingWords::new(
                format!("the {weights} weights of `{formula}` add up to {sum}, not to 1"),
                format!("divide each by {sum}, or choose thresholds on a scale of 0 to {sum}"),
            )
        }
        FormulaLint::UndefinedFormula { written, operation } => FindingWords::new(
            format!("`{written}` {}, for any values of the metrics", operation_words(*operation)),
            "correct the formula: a gate that uses it is never decided",
        ),
        FormulaLint::ConstantCondition { written, holds } => FindingWords::new(
            if *holds {
                format!("`{written}` holds for all results: it requires nothing")
            } else {
                format!("`{written}` never holds, whatever the results")
            },
            "compare a metric or a formula with a number",
        ),
    }
}

fn chance_words(lint: &ChanceLint) -> FindingWords {
    let set_confidence = "require fewer, or set `\"confidence\": 0.95`: then a gate fails only if the failure holds for all gates together";
    match lint {
        ChanceLint::UndecidableEquality { rule, confidence } => FindingWords::new(
            format!("no number of samples shows `{rule}` at {} confidence", rate(*confidence)),
            "compare with ≥ or ≤",
        ),
        ChanceLint::UndecidableGate { rule, confidence, have, best, needed } => {
            let shows = match best {
                Some(best) => format!("show no more than {}", rate(*best)),
                None => "show nothing".to_owned(),
            };
            FindingWords::new(
                format!(
                    "even a perfect score does not pass `{rule}` at {} confidence: {} {shows}, and it needs {needed}",
                    rate(*confidence),
                    evidence_text(*have)
                ),
                format!("run at least {}, or lower the threshold or the confidence", unit_text(*needed, have.unit)),
            )
        }
        ChanceLint::PerfectRunNeeds { rule, confidence, needed, unit } => FindingWords::new(
            format!(
                "`{rule}` needs at least {} to pass at {} confidence",
                unit_text(*needed, *unit),
                rate(*confidence)
            ),
            "check the policy with results or a suite to see whether there are as many",
        ),
        ChanceLint::CoinFlip { rule, have, better, worse } => coin_flip(rule, *have, *better, *worse),
        ChanceLint::AllOfFew { metric, have, bound, confidence, needed, target } => FindingWords::new(
            format!(
                "{} of {} show that `{metric}` is at least {} ({} confidence), not that it is 100 %",
                have.total,
                evidence_text(*have),
                rate(*bound),
                rate(*confidence)
            ),
            format!("{} without a failure show {}", unit_text(*needed, have.unit), rate(*target)),
        ),
        ChanceLint::FewAttempts { metric, attempts, needed } => FindingWords::new(
            format!(
                "{} do not bound `{metric}`: that takes {needed}, even if none is too slow",
                pluralize(attempts, "attempt")
            ),
            format!("run at least {}, or require a lower percentile", pluralize(needed, "attempt")),
        ),
        ChanceLint::LikelyClusters { field, clusters, samples, correlation } => {
            let caveat = GateCaveat::LikelyClusters {
                field: field.clone(),
                clusters: *clusters,
                samples: *samples,
                correlation: *correlation,
            };
            let (sentence, _) = gate_caveat(&caveat);
            FindingWords::new(sentence, format!("add `\"cluster\": \"{field}\"`"))
        }
        ChanceLint::ManyGates { gates, any_fails, better_by } => FindingWords::new(
            format!(
                "an agent that is up to {} better than each of {gates} blocking gates still fails at least one of them up \
                 to {} of the time",
                Scale::Points.size(*better_by),
                rate(*any_fails)
            ),
            set_confidence,
        ),
        ChanceLint::ManyUnknownGates { gates, each_fails, any_fails } => FindingWords::new(
            format!(
                "if each of {gates} blocking gates fails {} of the time by chance, at least one fails up to {} of the time",
                rate(*each_fails),
                rate(*any_fails)
            ),
            set_confidence,
        ),
        ChanceLint::NoLimit { metric, missing } => {
            let (what, fix) = missing_limit_words(missing);
            FindingWords::new(format!("`{metric}` can never pass with confidence: {what}"), fix)
        }
        ChanceLint::LowConfidence { confidence } => FindingWords::new(
            format!(
                "at {} confidence a version below a threshold passes it up to {} of the time",
                rate(*confidence),
                rate(1.0 - confidence)
            ),
            "use 0.95, or 0.9 where samples are expensive",
        ),
        ChanceLint::UndecidedSafety { gates } => FindingWords::new(
            format!(
                "{} may end undecided, for example because nothing ran, and `warn` lets that pass",
                pluralize(gates, "safety gate")
            ),
            "remove `on_undecided`, or set it to `fail`",
        ),
        ChanceLint::AboveBaseline { metric, chance } => FindingWords::new(
            format!(
                "an unchanged agent misses its baseline of `{metric}` plus the margin {} of the time",
                rate(*chance)
            ),
            USE_NON_INFERIORITY,
        ),
        ChanceLint::AboveUnknownBaseline => FindingWords::new(
            "an unchanged agent misses \"above the baseline\" about 50 % of the time, and more often with a margin",
            USE_NON_INFERIORITY,
        ),
    }
}

const USE_NON_INFERIORITY: &str = "use `\"mode\": \"non_inferiority\"` with the margin that may be lost";

fn coin_flip(rule: &MetricRule, have: EvidenceCount, better: AgentChance, worse: AgentChance) -> FindingWords {
    let up_to = if have.is_repeated { "up to " } else { "" };
    FindingWords::new(
        format!(
            "with {} chance decides `{rule}`: an agent at {} fails it {up_to}{} of the time, and one at {} passes it \
             {up_to}{} of the time",
            evidence_text(have),
            rate(better.rate),
            rate(better.chance),
            rate(worse.rate),
            rate(worse.chance)
        ),
        "add samples, or set `\"confidence\": 0.95` to learn when they are too few to decide",
    )
}

fn scenario_words(lint: &ScenarioLint, from: Option<&Span>) -> FindingWords {
    let weight_above_0 = "give at least one of them a weight above 0";
    match lint {
        ScenarioLint::UnknownScenario { scenario, is_required } => {
            let required = if *is_required { ", but it is required" } else { "" };
            FindingWords::new(
                format!(
                    "`{}` is not among the {}{required}",
                    scenario.name,
                    pluralize(scenario.known, "known scenario")
                ),
                suggest(scenario, "scenarios"),
            )
        }
        ScenarioLint::UnknownCategory { category, samples } => FindingWords::new(
            format!("0 of {samples} samples have the category `{}`, so its gate is never decided", category.name),
            suggest(category, "categories"),
        ),
        ScenarioLint::UnknownCategoryWeight { category, samples } => FindingWords::new(
            format!("0 of {samples} samples have the category `{}`, so its weight has no effect", category.name),
            suggest(category, "categories"),
        ),
        ScenarioLint::UnknownCapabilityWeight { capability, samples } => FindingWords::new(
            format!("0 of {samples} samples have the capability `{}`, so its weight has no effect", capability.name),
            suggest(capability, "capabilities"),
        ),
        ScenarioLint::OptionalBlocks { scenario, rule, rule_span } => FindingWords::new(
            format!("`{scenario}` is optional, but fails `{rule}` in {} when it fails", line_text(rule_span, from)),
            "remove it from the list, or require less than 100 %",
        ),
        ScenarioLint::ZeroWeights { samples } => FindingWords::new(
            format!("the weights of all {} are 0, so nothing can be measured", pluralize(samples, "sample")),
            weight_above_0,
        ),
        ScenarioLint::ZeroWeightList { key, weights } => FindingWords::new(
            format!("all {weights} weights of `{key}` are 0: only scenarios that it does not name count"),
            weight_above_0,
        ),
        ScenarioLint::ZeroWeightGate { category, metric } => FindingWords::new(
            format!("`{category}` has the weight 0, so `{metric}` is undefined and its gate is never decided"),
            "give the category a weight above 0, or remove the gate",
        ),
    }
}

/// The name that was probably meant, or the names that exist.
fn suggest(name: &UnmatchedName, what: &str) -> String {
    let examples = name.examples.join(", ");
    match &name.nearest {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None if name.known > name.examples.len() => format!("there are {} {what}, such as {examples}", name.known),
        None if name.known == 0 => format!("there are no {what}"),
        None => format!("the {what} are {examples}"),
    }
}

/// A place as seen from another: the line, with the file if it is another one.
fn line_text(span: &Span, from: Option<&Span>) -> String {
    let is_same_file = from.is_none_or(|from| from.text.name == span.text.name);
    if is_same_file { format!("line {}", span.line()) } else { format!("{}, line {}", span.text.name, span.line()) }
}

/// `20 samples`, `20 samples, worth 15 by their weights,`
fn evidence_text(count: EvidenceCount) -> String {
    let text = unit_text(count.total, count.unit);
    if count.effective == count.total {
        text
    } else {
        format!("{text}, worth {} independent ones that count alike,", count.effective)
    }
}

fn unit_text(count: u64, unit: EvidenceUnit) -> String {
    match unit {
        EvidenceUnit::Samples => pluralize(count, "sample"),
        EvidenceUnit::Attempts => pluralize(count, "attempt"),
    }
}

/// Names in backticks, one after another.
fn quoted_names(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// An amount as a policy can write it.
fn amount_text(amount: &WrittenAmount) -> String {
    let number = exact(amount.number);
    match amount.unit {
        WrittenUnit::Percent => format!("{number}%"),
        WrittenUnit::Milliseconds => format!("{number}ms"),
        WrittenUnit::Seconds => format!("{number}s"),
        WrittenUnit::Minutes => format!("{number}min"),
        WrittenUnit::Usd => format!("${number}"),
        WrittenUnit::Tokens => format!("{number} tokens"),
    }
}

/// A number without the noise of binary fractions.
fn exact(number: f64) -> String {
    Scale::Number.exact(number)
}

fn rate(share: f64) -> String {
    value_text(Unit::Rate, share)
}
