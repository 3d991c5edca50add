//! A gate as the cells of a table.

use super::reason_words::gate_reason;
use super::rule_words::{counts_text, requirement};
use super::words::{gate_name, interval, undefined};
use crate::numbers::{Scale, count};
use calipers_core::Figure;
use calipers_gate::policy::BaselineMode;
use calipers_gate::{GateKind, GateResult, GateRule};

/// What a table says about a gate: its numbers, or words where there are none.
pub(crate) struct Cells {
    pub(crate) name: String,
    pub(crate) estimate: String,
    /// The estimate without weights, where it differs.
    pub(crate) without_weights: String,
    pub(crate) interval: String,
    /// The comparison and the number: `≥ 100 %`.
    pub(crate) threshold: String,
    /// The same as the policy's reader understood it, with counts: `≥ 100 % (26 of 26)`.
    pub(crate) understood: String,
    pub(crate) margin: String,
    pub(crate) n: String,
    /// Words in place of the estimate and what follows from it.
    pub(crate) words: String,
}

impl Cells {
    pub(crate) fn of(gate: &GateResult) -> Self {
        let value = gate.figure.as_ref().and_then(|figure| figure.value.as_ref().ok().copied());
        // A threshold sets the scale: `0.812 s` beside `≤ 5 s`.
        let scale = Scale::of(gate.unit, gate.threshold.map_or_else(|| value.unwrap_or(0.0), |rule| rule.value));
        let is_difference = gate.kind == GateKind::Baseline(BaselineMode::NonInferiority);
        let scale = if is_difference { scale.of_differences() } else { scale };
        // A threshold that follows from a baseline was not written by anyone: it is rounded like an estimate.
        let is_baseline = matches!(gate.kind, GateKind::Baseline(_));
        let shown = |x: f64| if is_baseline { scale.text(x) } else { scale.exact(x) };
        let threshold =
            gate.threshold.map_or_else(String::new, |rule| format!("{} {}", rule.comparison.sign(), shown(rule.value)));
        let understood = match gate.rule {
            _ if threshold.is_empty() => requirement(gate),
            GateRule::Threshold { counts, .. } => format!("{threshold}{}", counts_text(counts)),
            _ => threshold.clone(),
        };
        let estimate = value.map(|value| {
            let threshold = gate.threshold.map(|rule| rule.value);
            threshold.map_or_else(|| scale.text(value), |threshold| scale.text_beside(value, threshold))
        });
        let words = match (&estimate, &gate.figure) {
            (Some(_), _) => String::new(),
            (None, Some(Figure { value: Err(why), missing, .. })) => undefined(why, *missing),
            (None, _) => gate_reason(&gate.reason),
        };
        let without_weights = gate.unweighted.filter(|_| estimate.is_some()).map(|x| scale.text(x));
        let without_weights = without_weights.filter(|text| Some(text) != estimate.as_ref());
        Self {
            name: gate_name(gate),
            estimate: estimate.unwrap_or_default(),
            without_weights: without_weights.unwrap_or_default(),
            interval: gate.figure.as_ref().filter(|_| value.is_some()).map_or_else(String::new, |f| interval(f, scale)),
            threshold,
            understood,
            margin: gate.margin.map_or_else(String::new, |margin| scale.of_differences().signed(margin)),
            n: gate.figure.as_ref().map_or_else(String::new, |figure| count(figure.n)),
            words,
        }
    }

    /// The threshold as understood, or as it is where nothing was understood beyond it.
    pub(crate) fn requirement(&self) -> &str {
        if self.understood.is_empty() { &self.threshold } else { &self.understood }
    }
}
