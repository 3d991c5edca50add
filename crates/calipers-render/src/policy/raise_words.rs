//! Why a threshold is raised or kept, in words.

use crate::gate::reason_words::unbounded_sentence;
use crate::gate::rule_words::comparison;
use crate::numbers::{percent, threshold_text, value_text};
use crate::words::undefined_sentence;
use calipers_gate::policy::Comparison;
use calipers_gate::{KeptReason, NewThreshold, Raise, WritingObstacle};

/// What a new threshold rests on: `accuracy: 96.1 % measured (n=200), at least 93 % with 95 % confidence`.
pub(crate) fn change_sentence(raise: &Raise, change: &NewThreshold) -> String {
    let is_up = change.is_lower == (change.value < raise.rule.value);
    let side = if is_up { "at least" } else { "at most" };
    let show = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| value_text(raise.unit, value));
    let eased = if change.is_lower { "eased, " } else { "" };
    let missing = if raise.missing > 0 { format!(", {} missing", raise.missing) } else { String::new() };
    format!(
        "{}: {eased}{} measured (n={}{missing}), {side} {} with {} confidence",
        raise.metric,
        show(raise.estimate),
        raise.n,
        show(raise.bound),
        percent(raise.confidence)
    )
}

/// A threshold that is kept, with the reason and what was measured.
pub(crate) fn kept_line(raise: &Raise) -> String {
    let rule = comparison(&raise.rule, raise.unit);
    let why = raise.change.as_ref().err().map_or_else(String::new, |reason| kept_sentence(raise, reason));
    let missing = if raise.missing > 0 { format!(", {} missing", raise.missing) } else { String::new() };
    let measured = raise.estimate.map_or_else(String::new, |estimate| {
        format!(" ({} measured, n={}{missing})", value_text(raise.unit, estimate), raise.n)
    });
    format!("{} {rule}: {why}{measured}", raise.metric)
}

/// Why a threshold is kept.
pub(crate) fn kept_sentence(raise: &Raise, reason: &KeptReason) -> String {
    let show = |value: f64| value_text(raise.unit, value);
    let shown = |bound: f64| {
        let is_up = matches!(raise.rule.comparison, Comparison::AtLeast | Comparison::Above | Comparison::Equal);
        let side = if is_up { "at least" } else { "at most" };
        format!("{side} {} with {} confidence", show(bound), percent(raise.confidence))
    };
    match reason {
        KeptReason::SuiteIncomplete { missing: 1 } => "1 scenario of the suite is missing".to_owned(),
        KeptReason::SuiteIncomplete { missing } => format!("{missing} scenarios of the suite are missing"),
        KeptReason::AsksForAll => "it already asks for all of them".to_owned(),
        KeptReason::AllowsNone => "it already allows none".to_owned(),
        KeptReason::ExactValue => "it asks for one exact value".to_owned(),
        KeptReason::Undefined(why) => format!("the metric is undefined: {}", undefined_sentence(why)),
        KeptReason::Unbounded(why) => unbounded_sentence(why),
        KeptReason::NotShown { bound } => format!("{} does not support more", shown(*bound)),
        KeptReason::NoRoom { bound } => format!("{} leaves no headroom", shown(*bound)),
        KeptReason::WorseThanBaseline { now, then } => {
            format!("{} is worse than the baseline's {}", show(*now), show(*then))
        }
        KeptReason::Budget { value, name, metric } => {
            let (value, budget) = (show(*value), threshold_text(raise.unit, raise.rule.value));
            format!(
                "{value} is supported, but the threshold is also the budget of `{name}`, which would change with it; write \
                 `\"normalize\": {{\"{metric}\": \"{budget}\"}}` to keep that"
            )
        }
        KeptReason::ByHand { value, obstacle } => {
            let obstacle = match obstacle {
                WritingObstacle::SeveralThresholds => "it stands for several thresholds at once",
                WritingObstacle::Notation => "its notation cannot express it",
            };
            format!("{} is supported, but {obstacle}; write it by hand", show(*value))
        }
    }
}
