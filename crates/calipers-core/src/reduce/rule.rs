//! The built-in rules, on the plain values of one sample's attempts.

use crate::Labels;
use calipers_stats::{ExactSum, Undefined, pass_at_k};
use hashbrown::HashMap;

/// A built-in way to reduce plain values.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReduceRule {
    Mean,
    Median,
    Mode,
    Max,
    Majority,
    PassAt { k: u64, value: f64 },
    PassK { k: u64, value: f64 },
    AtLeast { k: u64, value: f64 },
}

/// One attempt's plain value as the rules see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScoreClass {
    /// Its number; meaningless for the rules that only count.
    pub(crate) number: f64,
    /// The same for values that are equal.
    pub(crate) class: u32,
}

impl ScoreClass {
    /// An attempt without a value. No rule gets to see it.
    pub(super) const MISSING: Self = Self { number: 0.0, class: u32::MAX };

    pub(super) fn is_missing(self) -> bool {
        self.class == Self::MISSING.class
    }
}

/// What at least k successes of fewer than k attempts are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shortage {
    /// No value: nothing is known about attempts that were not made.
    Unscored,
    /// 0, as in Inspect.
    Zero,
}

impl Shortage {
    /// Only a plan that computes as Inspect does is lenient about labels.
    pub(super) fn of(labels: &Labels) -> Self {
        if labels.is_lenient() { Self::Zero } else { Self::Unscored }
    }
}

/// What a rule decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pick {
    /// No value: too few, or no majority.
    Nothing,
    /// A new number.
    Number(f64),
    /// 0 or 1.
    Flag(bool),
    /// The value of the attempt at this place.
    Attempt(usize),
}

impl ReduceRule {
    pub(crate) fn k(&self) -> Option<u64> {
        match self {
            Self::PassAt { k, .. } | Self::PassK { k, .. } | Self::AtLeast { k, .. } => Some(*k),
            _ => None,
        }
    }

    /// The base of the name, k and the threshold of a rule that counts successes.
    pub(super) fn counted(&self) -> Option<(&'static str, u64, f64)> {
        match *self {
            Self::PassAt { k, value } => Some(("pass_at", k, value)),
            Self::PassK { k, value } => Some(("pass_k", k, value)),
            Self::AtLeast { k, value } => Some(("at_least", k, value)),
            _ => None,
        }
    }

    pub(crate) fn set_threshold(&mut self, threshold: f64) {
        if let Self::PassAt { value, .. } | Self::PassK { value, .. } | Self::AtLeast { value, .. } = self {
            *value = threshold;
        }
    }

    /// True when the values are only compared with one another, so that any label will do.
    pub(super) fn only_counts(&self) -> bool {
        matches!(self, Self::Mode | Self::Majority)
    }

    /// True when the rule refuses lists and maps even where others read them as 0.
    pub(super) fn needs_scalars(&self) -> bool {
        matches!(self, Self::Mode | Self::Majority | Self::AtLeast { .. })
    }

    /// Decides between the scored attempts of one sample; `total` counts the unscored ones too.
    pub(super) fn decide(
        &self,
        attempts: &[ScoreClass],
        total: usize,
        shortage: Shortage,
        sorted: &mut Vec<f64>,
    ) -> Pick {
        if attempts.is_empty() {
            return Pick::Nothing;
        }
        match *self {
            Self::Mean => Pick::Number(mean(attempts)),
            Self::Median => Pick::Number(median(attempts, sorted)),
            Self::Mode => Pick::Attempt(most_common(attempts).0),
            Self::Majority => match most_common(attempts) {
                (place, count) if 2 * count > total => Pick::Attempt(place),
                _ => Pick::Nothing,
            },
            Self::Max => Pick::Attempt(largest(attempts)),
            // Fewer attempts than k can never be enough, whatever the model does, so 0 would say nothing about it; Inspect
            // says 0. Attempts that were made and have no score are no successes, here as there.
            Self::AtLeast { k, .. } if (total as u64) < k && shortage == Shortage::Unscored => Pick::Nothing,
            Self::AtLeast { k, value } => Pick::Flag(successes(attempts, value) >= k),
            // With no attempts, it is true that none passes and that all do.
            Self::PassAt { k: 0, .. } => Pick::Number(0.0),
            Self::PassK { k: 0, .. } => Pick::Number(1.0),
            Self::PassAt { k, value } => share(pass_at_k::pass_at_k, attempts, k, value),
            Self::PassK { k, value } => share(pass_at_k::pass_hat_k, attempts, k, value),
        }
    }
}

fn mean(attempts: &[ScoreClass]) -> f64 {
    let (total, n) = (ExactSum::of_few(attempts.iter().map(|attempt| attempt.number)), attempts.len() as f64);
    if total.is_finite() {
        return total / n;
    }
    // The sum may be too large for a float where the mean is not.
    attempts.iter().map(|attempt| attempt.number / n).sum()
}

fn median(attempts: &[ScoreClass], sorted: &mut Vec<f64>) -> f64 {
    sorted.clear();
    sorted.extend(attempts.iter().map(|attempt| attempt.number));
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { sorted[middle - 1].midpoint(sorted[middle]) }
}

/// More attempts than this are not compared with one another.
const FEW_ATTEMPTS: usize = 64;

/// The place of the first attempt with the commonest value, and how common it is.
fn most_common(attempts: &[ScoreClass]) -> (usize, usize) {
    if attempts.len() <= FEW_ATTEMPTS { most_common_of_few(attempts) } else { most_common_of_many(attempts) }
}

/// The same for any number of attempts.
fn most_common_of_many(attempts: &[ScoreClass]) -> (usize, usize) {
    let mut counts: HashMap<u32, (usize, usize)> = HashMap::new();
    for (place, attempt) in attempts.iter().enumerate() {
        counts.entry(attempt.class).or_insert((place, 0)).1 += 1;
    }
    // The most of them, and of several the first.
    let best = counts.into_values().max_by_key(|&(place, count)| (count, std::cmp::Reverse(place)));
    best.unwrap_or((0, 0))
}

fn most_common_of_few(attempts: &[ScoreClass]) -> (usize, usize) {
    let mut best = (0, 0);
    for (place, attempt) in attempts.iter().enumerate() {
        let same = |other: &&ScoreClass| other.class == attempt.class;
        if attempts[..place].iter().any(|earlier| same(&earlier)) {
            continue;
        }
        let count = attempts[place..].iter().filter(same).count();
        if count > best.1 {
            best = (place, count);
        }
    }
    best
}

/// The place of the first of the largest.
fn largest(attempts: &[ScoreClass]) -> usize {
    let (mut best, mut largest) = (0, f64::NEG_INFINITY);
    for (place, attempt) in attempts.iter().enumerate() {
        // Both are chosen without a jump, which no processor could foresee.
        let is_larger = attempt.number > largest;
        best = if is_larger { place } else { best };
        largest = if is_larger { attempt.number } else { largest };
    }
    best
}

fn successes(attempts: &[ScoreClass], value: f64) -> u64 {
    attempts.iter().filter(|attempt| attempt.number >= value).count() as u64
}

fn share(estimate: fn(u64, u64, u64) -> Result<f64, Undefined>, attempts: &[ScoreClass], k: u64, value: f64) -> Pick {
    estimate(attempts.len() as u64, successes(attempts, value), k).map_or(Pick::Nothing, Pick::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commonest_of_many_is_that_of_few() {
        for (count, step) in [(1_u32, 1), (5, 2), (40, 7), (64, 13), (64, 1), (60, 31)] {
            let class = |place: u32| place * step % 17 % 9;
            let attempts: Vec<ScoreClass> =
                (0..count).map(|place| ScoreClass { number: f64::from(class(place)), class: class(place) }).collect();
            assert_eq!(most_common_of_many(&attempts), most_common_of_few(&attempts), "{count} by {step}");
        }
    }

    #[test]
    fn rules_decide_between_attempts() {
        use Pick::{Attempt, Flag, Nothing, Number};
        let (pass_at, pass_k) = (ReduceRule::PassAt { k: 2, value: 1.0 }, ReduceRule::PassK { k: 2, value: 1.0 });
        let at_least = ReduceRule::AtLeast { k: 2, value: 0.5 };
        // rule, scored attempts, all attempts, decision; pass@2 of 1 in 3 is 1 − C(2, 2)/C(3, 2) = 2/3
        for (rule, scores, total, want) in [
            (ReduceRule::Mean, &[1.0, 0.0, 0.5][..], 3, Number(0.5)),
            (ReduceRule::Mean, &[f64::MAX, f64::MAX], 2, Number(f64::MAX)),
            (ReduceRule::Median, &[3.0, 1.0, 2.0], 3, Number(2.0)),
            (ReduceRule::Median, &[4.0, 1.0, 2.0, 3.0], 4, Number(2.5)),
            (ReduceRule::Mode, &[1.0, 0.0, 0.0], 3, Attempt(1)),
            (ReduceRule::Mode, &[1.0, 0.0], 2, Attempt(0)),
            (ReduceRule::Max, &[0.5, 1.0, 1.0], 3, Attempt(1)),
            (ReduceRule::Majority, &[1.0, 1.0, 0.0], 3, Attempt(0)),
            (ReduceRule::Majority, &[1.0, 1.0], 4, Nothing),
            (pass_at, &[1.0, 0.0, 0.0], 3, Number(2.0 / 3.0)),
            (pass_k, &[1.0, 1.0, 0.0], 3, Number(1.0 / 3.0)),
            (pass_at, &[1.0], 1, Nothing),
            (at_least, &[0.5, 0.4, 1.0], 3, Flag(true)),
            (at_least, &[0.5, 0.4], 2, Flag(false)),
            (at_least, &[0.5], 1, Nothing),
            (at_least, &[0.5], 2, Flag(false)),
            (ReduceRule::PassAt { k: 0, value: 1.0 }, &[1.0], 1, Number(0.0)),
            (ReduceRule::PassK { k: 0, value: 1.0 }, &[0.0], 1, Number(1.0)),
            (ReduceRule::Mean, &[], 2, Nothing),
        ] {
            // Equal numbers are of one class, as in a column of floats.
            let class = |x: f64| scores.iter().position(|&other| other == x).unwrap_or(0) as u32;
            let attempts: Vec<ScoreClass> =
                scores.iter().map(|&number| ScoreClass { number, class: class(number) }).collect();
            let decision = rule.decide(&attempts, total, Shortage::Unscored, &mut Vec::new());
            let is_near = match (decision, want) {
                (Number(x), Number(y)) => (x - y).abs() <= 1e-12 * y.abs().max(1.0),
                (decision, want) => decision == want,
            };
            assert!(is_near, "{rule:?} of {scores:?}: {decision:?} and not {want:?}");
        }
    }
}
