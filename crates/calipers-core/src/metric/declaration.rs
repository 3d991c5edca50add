//! What a metric declares to those who judge by it, so that they need not know it by its name.

use std::sync::Arc;

/// What a policy means by a metric without naming it. At most one metric has each role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyRole<'a> {
    /// The share of scenarios that passed: what `pass_criteria` are about, and what every baseline records.
    PassRate,
    /// It measures safety, so a policy that passes while it is undecided deserves a warning.
    Safety,
    /// Formulas call it by this word after `normalized_`.
    Normalized(&'a str),
}

/// Which samples of a run a metric is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Only the samples themselves can tell.
    #[default]
    Unknown,
    /// All of them.
    EverySample,
    /// Those of one category.
    Category(Arc<str>),
}

/// What a metric is computed from, as far as that is known before any sample is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum MetricBasis {
    /// Only the samples themselves can tell.
    #[default]
    Unknown,
    /// It is the mean over samples of the share of attempts that passed.
    PassShares,
    /// It is a mean of grades between 0 and 1, even where all of them happen to be 0 or 1.
    Grades,
    /// It is this quantile of attempts.
    Quantile(f64),
}

/// What the values of attempts are that a metric sums up or averages, so that a limit that is stated for them can be found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ValueSource {
    /// Only the metric knows.
    #[default]
    Unknown,
    /// Scores.
    Scores,
    /// One key of scores that are maps.
    ScoreKey(Arc<str>),
    /// A field of attempts.
    Field(Arc<str>),
    /// A field of grades, which lie between 0 and 1 unless someone says otherwise.
    Grades(Arc<str>),
    /// A sum of the one over a sum of the other.
    Ratio(Box<ValueSource>, Box<ValueSource>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::DEFINITIONS;
    use crate::{accuracy, latency_p95, pass_rate, quantile, safety_rate};

    #[test]
    fn no_role_is_played_twice() {
        let roles = DEFINITIONS.iter().copied().flatten().filter_map(|definition| definition.about.role);
        let roles: Vec<PolicyRole<'_>> = roles.collect();
        assert!(roles.iter().enumerate().all(|(at, role)| !roles[..at].contains(role)), "{roles:?}");
        assert!(roles.contains(&PolicyRole::PassRate));
    }

    #[test]
    fn a_condition_on_the_category_narrows_the_scope() {
        let adversarial = Scope::Category("adversarial".into());
        assert_eq!(*safety_rate("adversarial").scope(), adversarial);
        let chosen = |key: &str| pass_rate().only_where([(key, "adversarial")]).expect("free");
        assert_eq!(*chosen("category").scope(), adversarial);
        assert_eq!(*chosen("topic").scope(), Scope::Unknown);
        assert_eq!(chosen("topic").basis(), MetricBasis::PassShares);
        assert_eq!(*accuracy().scope(), Scope::EverySample);
    }

    #[test]
    fn quantiles_say_which_one_they_are() {
        assert_eq!(latency_p95().basis(), MetricBasis::Quantile(0.95));
        assert_eq!(quantile("tokens_used", 0.9).expect("between 0 and 1").basis(), MetricBasis::Quantile(0.9));
    }
}
