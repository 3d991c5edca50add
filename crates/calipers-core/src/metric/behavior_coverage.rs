//! `behavior_coverage`.

use super::arguments::Arguments;
use super::ratio::{OfSums, Pairs};
use super::registry::Definition;
use super::sample_mean::{Averaged, Known, SampleMean};
use super::{Context, Metric, MetricBasis, Scope, View};
use crate::data::scenario::{FIELDS, Scenarios};
use crate::{About, Error, Family, PassRule, Points, RatioLimits, Reason, Unit};
use calipers_stats::threshold_test::Direction;

const BEHAVIOR_COVERAGE: About = About {
    name: "behavior_coverage",
    summary: "the share of expected behaviours that were observed",
    usage: "behavior_coverage(average=\"macro\")",
    tells: "How much of what scenarios expect the agent does, with partial credit.",
    misleads: "A scenario with one expected behaviour counts as much as one with ten; `average=\"micro\"` counts \
               behaviours instead, but then violations do not show. Behaviours that no scenario expects are not \
               measured.",
    formula: "observed_behaviors / expected_behaviors, a mean of scenario scores: 0 after any violation, 1 if \
              nothing is expected. With `average=\"micro\"`, all observed behaviours / all expected behaviours.",
    interval: "As for `mean`. For `micro`, t over scenarios with a little weight at both ends.",
    example: "calipers score results.jsonl -m behavior_coverage -m 'behavior_coverage(average=\"micro\")'",
    unit: Unit::Rate,
    range: "0–100 %",
    direction: Some(Direction::AtLeast),
    typical_threshold: Some("≥ 90%"),
    use_case: "Behavioral evaluation",
    family: Family::Suite,
    parameters: &[("average", "`macro` for the mean of scenario scores, `micro` to count behaviours")],
    positional: &["average"],
    inspect: None,
    role: None,
};

/// The metrics of this file.
pub(super) static METRICS: &[Definition] =
    &[Definition { about: BEHAVIOR_COVERAGE, make: |a| Ok(behavior_coverage(average(a)?)) }];

fn average(arguments: &Arguments<'_>) -> Result<Average, Error> {
    match arguments.text("average")?.as_deref() {
        None | Some("macro") => Ok(Average::Macro),
        Some("micro") => Ok(Average::Micro),
        Some(_) => Err(arguments.wrong("average", "`macro` or `micro`")),
    }
}

/// What counts alike in [`behavior_coverage`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Average {
    /// Every scenario: the mean of their scores.
    #[default]
    Macro,
    /// Every behaviour: those observed over those expected.
    Micro,
}

/// The share of expected behaviours that were observed.
///
/// `calipers metrics behavior_coverage` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{behavior_coverage, Average, Plan, Samples, Value};
///
/// let list = |names: &[&str]| Value::List(names.iter().map(|name| Value::from(*name)).collect());
/// let mut samples = Samples::new();
/// samples
///     .push(1)
///     .field("expected_behaviors", list(&["refuses", "cites policy"]))
///     .field("observed_behaviors", list(&["refuses"]));
/// let results = Plan::new().metrics([behavior_coverage(Average::Macro)]).measure(&samples)?;
/// assert_eq!(results.figure("run", "behavior_coverage").expect("asked for").value, Ok(0.5));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn behavior_coverage(average: Average) -> Metric {
    let metric = match average {
        Average::Macro => Metric::recorded("behavior_coverage", SampleMean(Coverage)).about_samples(Scope::EverySample),
        Average::Micro => Metric::recorded("behavior_coverage", OfSums(Coverage)).param("average", "micro"),
    };
    let metric = metric.based_on(MetricBasis::Grades);
    metric.view(View::Attempts).reading_if_there(FIELDS.into_iter().skip(1))
}

struct Coverage;

impl Averaged for Coverage {
    const IS_SHARE: bool = true;
    const NOTHING: Reason = Reason::NoBehaviors;

    fn name(&self) -> &str {
        "behavior_coverage"
    }

    fn values(&self, points: &Points<'_>, _: &Context) -> Result<Known<f64>, Error> {
        let scenarios = Scenarios::before_judging(points, &PassRule::default());
        Ok((0..points.len()).map(|attempt| scenarios.score(attempt)).collect::<Vec<_>>().into())
    }
}

impl Pairs for Coverage {
    const LIMITS: RatioLimits = RatioLimits::Parts;
    const METHOD: &'static str = "observed over expected";

    fn name(&self) -> &str {
        "behavior_coverage"
    }

    fn pairs(&self, points: &Points<'_>, _: &Context) -> Result<Known<(f64, f64)>, Error> {
        let scenarios = Scenarios::before_judging(points, &PassRule::default());
        let pair = |attempt: usize| scenarios.observed_counts(attempt).map(|(y, x)| (f64::from(y), f64::from(x)));
        Ok((0..points.len()).map(pair).collect::<Vec<_>>().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Evidence, Figure, Plan, Samples, Value, mean_score};

    fn list(names: &[&str]) -> Value {
        Value::List(names.iter().map(|name| Value::from(*name)).collect())
    }

    /// Scores 1/2, 1, 0 (violated), 1 (expects nothing), and (1/4 + 3/4) / 2 over two attempts; one that did not run.
    fn suite() -> Samples {
        let mut samples = Samples::new();
        let half = samples.push("half").field("expected_behaviors", list(&["a", "b"]));
        half.field("observed_behaviors", list(&["a", "z"]));
        let full = samples.push("full").field("expected_behaviors", list(&["a"]));
        full.field("observed_behaviors", list(&["a"]));
        let violated = samples.push("violated").field("expected_behaviors", list(&["a"]));
        violated.field("observed_behaviors", list(&["a"])).field("violations", list(&["leaks"]));
        samples.push("nothing").field("must_not", list(&["leaks"]));
        let all = list(&["a", "b", "c", "d"]);
        samples.push("two").field("expected_behaviors", all.clone()).field("observed_behaviors", list(&["a"]));
        samples
            .push("two")
            .field("expected_behaviors", all.clone())
            .field("observed_behaviors", list(&["a", "b", "c"]));
        samples.push("broken").field("expected_behaviors", all).error("connection reset");
        samples
    }

    #[track_caller]
    fn figure(average: Average) -> Figure {
        let results = Plan::new().metrics([behavior_coverage(average)]).measure(&suite()).expect("measurable");
        results.figure("run", "behavior_coverage").expect("asked for").clone()
    }

    #[test]
    fn macro_is_the_mean_of_scenario_scores_and_micro_counts_behaviours() {
        let each = figure(Average::Macro);
        assert_eq!((each.value, each.n, each.missing), (Ok((0.5 + 1.0 + 0.0 + 1.0 + 0.5) / 5.0), 5, 1));
        let all = figure(Average::Micro);
        // 1 + 1 + 1 + 0 + 1 + 3 of 2 + 1 + 1 + 0 + 4 + 4
        assert_eq!((all.value, all.n, all.missing), (Ok(7.0 / 12.0), 6, 1));
    }

    #[test]
    fn what_it_rests_on_gives_the_same_figure() {
        let samples = suite();
        let evidence = |average| {
            let metric = behavior_coverage(average);
            metric.evidence(&samples, &mean_score(), None, &Context::default()).expect("measurable")
        };
        let want =
            Evidence::Mean { samples: vec![0, 1, 2, 3, 4], values: vec![0.5, 1.0, 0.0, 1.0, 0.5], missing: vec![5] };
        assert_eq!(evidence(Average::Macro), Some(want));
        let want = Evidence::Ratio {
            samples: vec![0, 1, 2, 4],
            numerators: vec![1.0, 1.0, 1.0, 4.0],
            denominators: vec![2.0, 1.0, 1.0, 8.0],
            missing: vec![5],
            limits: RatioLimits::Parts,
            attempts_max: 2,
        };
        assert_eq!(evidence(Average::Micro), Some(want));
    }
}
