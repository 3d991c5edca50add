//! Words that leave this crate as soon as gates and comparisons hold typed reasons.

use crate::{Reason, Undefined, UnmetCondition};
use std::fmt;

impl fmt::Display for Undefined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&reason_sentence(self.reason()))
    }
}

fn reason_sentence(reason: &Reason) -> String {
    match reason {
        Reason::Statistic(reason) => reason.to_string(),
        Reason::NothingScored => "no sample has a score".into(),
        Reason::Part(name) => format!("`{name}` is undefined"),
        Reason::SeveralFigures { metric } => format!("`{metric}` has several figures, which have no mean"),
        Reason::NoMatch(conditions) => no_match_sentence(conditions),
        Reason::NoCorrectness => "no record says whether its answer is correct".into(),
        Reason::NoOutcome => "no record says whether it passed: neither `passed`, nor behaviours, nor a score".into(),
        Reason::NoBehaviors => "no record has behaviours: `expected_behaviors`, `must_not` or `violations`".into(),
        Reason::NoTokenCounts => "no score has `num_tokens` and `sum_log_probs` in its metadata".into(),
        Reason::NoRatings => "no sample has a list of two or more ratings".into(),
        Reason::NoNumber => "the metric gives no number for these scores".into(),
        Reason::TooFewAttempts { reducer, need, have } => {
            format!("`{reducer}` needs {need} attempts of a sample, and there are {have}")
        }
        Reason::NothingReduced { reducer } => format!("`{reducer}` makes no value of the attempts of any sample"),
        Reason::TimedOut { p, timed_out, attempts } => {
            let percentile = (p * 100.0).round();
            format!(
                "the {percentile}th percentile lies among the {timed_out} of {attempts} attempts that ran out of time"
            )
        }
        Reason::Incomparable(_) => "cannot be compared".into(),
        Reason::Other(words) => words.clone().into_owned(),
        reason => format!("{reason:?}"),
    }
}

fn no_match_sentence(conditions: &[UnmetCondition]) -> String {
    let wanted = conditions.iter().map(|condition| format!("`{}` = `{}`", condition.key, condition.wanted));
    let known = conditions.iter().map(|UnmetCondition { key, known, has_more, .. }| {
        let more = if *has_more { ", …" } else { "" };
        format!("`{key}` is {}{more}", if known.is_empty() { "not given".into() } else { known.join(", ") })
    });
    let (wanted, known): (Vec<String>, Vec<String>) = (wanted.collect(), known.collect());
    format!("no sample has {}; {}", wanted.join(" and "), known.join("; "))
}
