//! `pass_rate` and `safety_rate`.

use super::arguments::Arguments;
use super::registry::Definition;
use super::sample_mean::{Averaged, Known, SampleMean};
use super::{Context, Metric, MetricBasis, PolicyRole, Scope, View};
use crate::data::scenario::{FIELDS, Scenarios};
use crate::{About, Error, Family, PassRule, Points, Reason, ScenarioOutcome, Unit, Value};
use calipers_stats::threshold_test::Direction;

const PASS_RATE: About = About {
    name: "pass_rate",
    summary: "the share of scenarios that passed",
    usage: "pass_rate(pass_threshold=1)",
    tells: "The overall health of an evaluation: how often the agent does everything that a scenario asks for.",
    misleads: "It counts a security breach like a typo: name required scenarios, and gate on categories. A perfect \
               rate in few scenarios says little; look at the lower bound.",
    formula: "passed_scenarios / total_scenarios. A scenario with several attempts counts as the share of its \
              attempts that passed. An attempt passed if its record says so (`passed`); otherwise if there is no \
              violation and every expected behaviour was observed; otherwise if the only score reaches 1. \
              `pass_threshold` asks for a smaller share, or another score. An attempt that ended in an error has not \
              passed.",
    interval: "Blaker for one attempt per scenario, else as for `mean`.",
    example: "calipers score results.jsonl -m pass_rate",
    unit: Unit::Rate,
    range: "0–100 %",
    direction: Some(Direction::AtLeast),
    typical_threshold: Some("≥ 85%"),
    use_case: "Overall evaluation health",
    family: Family::Suite,
    parameters: &[("pass_threshold", "the share of the expected behaviours, or the score, that is enough")],
    positional: &["pass_threshold"],
    inspect: None,
    role: Some(PolicyRole::PassRate),
};

const SAFETY_RATE: About = About {
    name: "safety_rate",
    summary: "the share of adversarial scenarios that passed",
    usage: "safety_rate(category=\"adversarial\", pass_threshold=1)",
    tells: "How often the agent withstands scenarios that are designed to break it.",
    misleads: "5 of 5 is no proof: the true rate may still be as low as 55 %. Attacks without a scenario are not \
               measured.",
    formula: "adversarial_passed / adversarial_total, as for `pass_rate`, over the scenarios whose `category` is \
              `adversarial`, or the category that you name. Undefined if there are none.",
    interval: "As for `pass_rate`.",
    example: "calipers score results.jsonl -m safety_rate",
    unit: Unit::Rate,
    range: "0–100 %",
    direction: Some(Direction::AtLeast),
    typical_threshold: Some("100%"),
    use_case: "Security evaluation",
    family: Family::Suite,
    parameters: &[
        ("category", "the category of the scenarios"),
        ("pass_threshold", "the share of the expected behaviours, or the score, that is enough"),
    ],
    positional: &["category"],
    inspect: None,
    role: Some(PolicyRole::Safety),
};

/// The metrics of this file.
pub(super) static METRICS: &[Definition] = &[
    Definition { about: PASS_RATE, make: |a| Ok(pass_rate_by(&pass_rule(a)?)) },
    Definition {
        about: SAFETY_RATE,
        make: |a| Ok(safety_rate_by(a.text("category")?.as_deref().unwrap_or("adversarial"), &pass_rule(a)?)),
    },
];

fn pass_rule(arguments: &Arguments<'_>) -> Result<PassRule, Error> {
    let rule = arguments.number("pass_threshold")?.map_or_else(|| Ok(PassRule::default()), PassRule::new)?;
    Ok(arguments.text("scorer")?.into_iter().fold(rule, PassRule::of_scorer))
}

/// The share of scenarios that passed.
///
/// `calipers metrics pass_rate` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{pass_rate, Plan, Samples};
///
/// let mut samples = Samples::new();
/// samples.push("CORE-001").field("passed", true);
/// samples.push("CORE-002").error("timeout");
/// let results = Plan::new().metrics([pass_rate()]).measure(&samples)?;
/// assert_eq!(results.figure("run", "pass_rate").expect("asked for").value, Ok(0.5));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn pass_rate() -> Metric {
    pass_rate_by(&PassRule::default())
}

/// The same by another rule for what has passed.
///
/// ```
/// use calipers_core::{PassRule, Plan, Samples, pass_rate_by};
///
/// let mut samples = Samples::new();
/// samples.push(1).score("judge", 0.8).score("exact", 0.0);
/// let lenient = pass_rate_by(&PassRule::new(0.75)?.of_scorer("judge"));
/// let results = Plan::new().metrics([lenient]).measure(&samples)?;
/// assert_eq!(results.figure("run", "pass_rate").expect("asked for").value, Ok(1.0));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn pass_rate_by(rule: &PassRule) -> Metric {
    by_rule("pass_rate", rule)
}

/// The share of the scenarios of a category that passed: `safety_rate("adversarial")`.
///
/// `calipers metrics safety_rate` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{safety_rate, Plan, Samples};
///
/// let mut samples = Samples::new();
/// samples.push("SEC-001").metadata("category", "adversarial").field("passed", true);
/// samples.push("SEC-002").metadata("category", "adversarial").field("passed", false);
/// samples.push("CORE-001").metadata("category", "happy_path").field("passed", false);
/// let results = Plan::new().metrics([safety_rate("adversarial")]).measure(&samples)?;
/// assert_eq!(results.figure("run", "safety_rate").expect("asked for").value, Ok(0.5));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn safety_rate(category: &str) -> Metric {
    safety_rate_by(category, &PassRule::default())
}

/// The same by another rule for what has passed.
#[must_use]
pub fn safety_rate_by(category: &str, rule: &PassRule) -> Metric {
    let all = by_rule("safety_rate", rule);
    let mut metric = all.chosen(&[("category".into(), Value::from(category))]);
    metric.params.clone_from(&all.params);
    metric.param("category", category)
}

fn by_rule(name: &'static str, rule: &PassRule) -> Metric {
    let metric = Metric::recorded(name, SampleMean(Passed { name, rule: rule.clone() }));
    let metric = metric.about_samples(Scope::EverySample).based_on(MetricBasis::PassShares);
    let mut metric = metric.view(View::Attempts).reading_if_there(FIELDS);
    if rule.has_threshold() {
        metric = metric.param("pass_threshold", rule.threshold());
    }
    if let Some(scorer) = rule.scorer() {
        metric.scorer = Some(scorer.clone());
        metric = metric.param("scorer", &**scorer);
    }
    metric
}

struct Passed {
    name: &'static str,
    rule: PassRule,
}

impl Averaged for Passed {
    const IS_SHARE: bool = true;
    const NOTHING: Reason = Reason::NoOutcome;

    fn name(&self) -> &str {
        self.name
    }

    fn values(&self, points: &Points<'_>, context: &Context) -> Result<Known<f64>, Error> {
        let scenarios = Scenarios::of(points, &self.rule, context)?;
        scenarios.check(self.name)?;
        let values = scenarios.outcomes().iter().map(|outcome| match outcome {
            ScenarioOutcome::Passed => Some(1.0),
            ScenarioOutcome::Failed | ScenarioOutcome::Errored => Some(0.0),
            ScenarioOutcome::Unscored => None,
        });
        Ok(Known { values: values.collect(), rests_on_score: scenarios.rests_on_score() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Evidence, Plan, Samples, UnmetCondition, mean_score};

    /// Twelve results as the seed's code would see them: (category, passed).
    fn suite() -> Samples {
        let mut samples = Samples::new();
        for (id, (category, passed)) in [
            ("happy_path", true),
            ("happy_path", true),
            ("happy_path", false),
            ("edge_case", true),
            ("edge_case", false),
            ("adversarial", true),
            ("adversarial", true),
            ("adversarial", true),
            ("adversarial", false),
            ("regression", true),
        ]
        .into_iter()
        .enumerate()
        {
            samples.push(id as i64).metadata("category", category).field("passed", passed);
        }
        samples
    }

    #[track_caller]
    fn value(samples: &Samples, metric: Metric) -> Result<f64, Reason> {
        let name = metric.name().to_owned();
        let results = Plan::new().metrics([metric]).measure(samples).expect("measurable");
        results.figure("run", &name).expect("asked for").value.clone().map_err(|why| why.reason().clone())
    }

    #[test]
    fn rates_are_passed_over_total() {
        let samples = suite();
        assert_eq!(value(&samples, pass_rate()), Ok(0.7));
        assert_eq!(value(&samples, safety_rate("adversarial")), Ok(0.75));
        assert_eq!(value(&samples, safety_rate("edge_case")), Ok(0.5));
        let none_of = |wanted: &str, known: &[&str]| {
            let known = known.iter().map(|name| (*name).to_owned()).collect();
            Reason::NoMatch(vec![UnmetCondition {
                key: "category".into(),
                wanted: wanted.into(),
                known,
                has_more: false,
            }])
        };
        let known = ["adversarial", "edge_case", "happy_path", "regression"];
        assert_eq!(value(&samples, safety_rate("attack")), Err(none_of("attack", &known)));
        let mut plain = Samples::new();
        plain.push(1).field("passed", true);
        let why = value(&plain, safety_rate("adversarial")).expect_err("no category");
        assert_eq!(why, none_of("adversarial", &[]));
    }

    #[test]
    fn a_score_decides_where_nothing_else_does_and_there_is_only_one() {
        let mut samples = Samples::new();
        samples.push(1).score("judge", "C");
        samples.push(2).score("judge", 0.9);
        samples.push(3).field("passed", true).score("judge", 0.0);
        samples.push(4).error("connection reset");
        assert_eq!(value(&samples, pass_rate()), Ok(0.5));
        let lenient = PassRule::new(0.9).expect("a number");
        assert_eq!(value(&samples, pass_rate_by(&lenient)), Ok(0.75));
        assert_eq!(value(&samples, pass_rate_by(&lenient.clone().of_scorer("judge"))), Ok(0.5));
        samples.push(5).score("exact", 1.0);
        let error = Plan::new().metrics([pass_rate()]).measure(&samples).unwrap_err().to_string();
        assert_eq!(error, "the run has several scorers: exact, judge\n  hint: name one: `pass_rate(scorer=\"exact\")`");
    }

    #[test]
    fn scorers_of_other_shards_are_seen_too() {
        let (mut left, mut right) = (Samples::new(), Samples::new());
        left.push(1).score("judge", 1.0);
        right.push(2).score("exact", 1.0).field("passed", true);
        let plan = Plan::new().metrics([pass_rate()]);
        for shards in [[&left, &right], [&right, &left]] {
            let (mut first, mut second) = (plan.start(), plan.start());
            first.fold(shards[0]).expect("one scorer");
            second.fold(shards[1]).expect("one scorer");
            first.merge(second);
            assert!(first.finish().unwrap_err().to_string().starts_with("the run has several scorers: exact, judge"));
        }
    }

    #[test]
    fn a_rate_rests_on_the_share_of_attempts_that_passed() {
        let mut samples = Samples::new();
        for passed in [true, false, true, true] {
            samples.push("a").metadata("category", "adversarial").field("passed", passed);
        }
        samples.push("b").error("timeout");
        samples.push("c").metadata("category", "adversarial");
        let context = Context::default();
        let evidence = |metric: Metric| metric.evidence(&samples, &mean_score(), None, &context).expect("measurable");
        let want = Evidence::Mean { samples: vec![0, 1], values: vec![0.75, 0.0], missing: vec![2] };
        assert_eq!(evidence(pass_rate()), Some(want));
        let want = Evidence::Mean { samples: vec![0], values: vec![0.75], missing: vec![2] };
        assert_eq!(evidence(safety_rate("adversarial")), Some(want));
    }

    #[test]
    fn nothing_that_says_whether_it_passed_is_undefined() {
        let mut samples = Samples::new();
        samples.push(1).field("latency_ms", 3.0);
        assert_eq!(value(&samples, pass_rate()), Err(Reason::NoOutcome));
    }
}
