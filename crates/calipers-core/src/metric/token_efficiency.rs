//! `token_efficiency`.

use super::ratio::{OfSums, Pairs};
use super::registry::Definition;
use super::sample_mean::{Known, finite_field};
use super::{Context, Metric, ValueSource, View};
use crate::data::scenario::{FIELDS, Scenarios};
use crate::{About, Error, Family, PassRule, Points, RatioLimits, Unit};
use calipers_stats::threshold_test::Direction;

const TOKEN_EFFICIENCY: About = About {
    name: "token_efficiency",
    summary: "quality per token",
    usage: "token_efficiency()",
    tells: "How much quality the tokens of a whole suite buy; useful to compare two versions of an agent on the same \
            suite.",
    misleads: "An agent that gives up at once uses few tokens: read it together with `accuracy`. It is not the mean \
               of the attempts' ratios, in which the cheapest attempt would count most.",
    formula: "quality_score / tokens_used, each summed over attempts that have both. Without a `quality_score`, the \
              scenario score is used, or else the only score. Undefined for zero tokens.",
    interval: "An upper end only, by Gaffke's test with samples as units, because nothing limits how many tokens an unseen \
               sample uses. With `limits`, both ends. None below six samples.",
    example: "calipers score results.jsonl -m token_efficiency",
    unit: Unit::Ratio,
    range: "≥ 0 quality per token",
    direction: Some(Direction::AtLeast),
    typical_threshold: None,
    use_case: "Cost optimization",
    family: Family::Suite,
    parameters: &[],
    positional: &[],
    inspect: None,
    role: None,
};

/// The metrics of this file.
pub(super) static METRICS: &[Definition] = &[Definition { about: TOKEN_EFFICIENCY, make: |_| Ok(token_efficiency()) }];

/// Quality for the tokens used.
///
/// `calipers metrics token_efficiency` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{token_efficiency, Plan, Samples};
///
/// let mut samples = Samples::new();
/// samples.push(1).field("quality_score", 0.9).field("tokens_used", 1200.0);
/// samples.push(2).field("quality_score", 0.3).field("tokens_used", 800.0);
/// let results = Plan::new().metrics([token_efficiency()]).measure(&samples)?;
/// let value = results.figure("run", "token_efficiency").expect("asked for").value.clone();
/// assert!((value.expect("defined") - 1.2 / 2000.0).abs() < 1e-15);
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn token_efficiency() -> Metric {
    let metric = Metric::recorded("token_efficiency", OfSums(Efficiency)).view(View::Attempts);
    let metric = metric.summing(ValueSource::Ratio(
        Box::new(ValueSource::Grades("quality_score".into())),
        Box::new(ValueSource::Field("tokens_used".into())),
    ));
    metric.reading(["tokens_used"]).reading_if_there(["quality_score"].into_iter().chain(FIELDS.into_iter().skip(1)))
}

struct Efficiency;

impl Pairs for Efficiency {
    const LIMITS: RatioLimits = RatioLimits::Open;
    const HAS_GRADES: bool = true;
    const METHOD: &'static str = "ratio of sums";

    fn name(&self) -> &str {
        "token_efficiency"
    }

    fn fields_without_limit(&self) -> Vec<String> {
        vec!["tokens_used".into()]
    }

    fn pairs(&self, points: &Points<'_>, context: &Context) -> Result<Known<(f64, f64)>, Error> {
        let tokens = finite_field(points, "tokens_used", context)?;
        let mut quality = finite_field(points, "quality_score", context)?;
        let scenarios = Scenarios::before_judging(points, &PassRule::default());
        let mut open = Vec::new();
        for (row, quality) in quality.iter_mut().enumerate() {
            *quality = quality.or_else(|| scenarios.score(row));
            if quality.is_none() && tokens[row].is_some() {
                open.push(row);
            }
        }
        let rests_on_score = scenarios.grades(&open, context, |row, grade| quality[row] = Some(grade))?;
        let pairs = quality.into_iter().zip(tokens).map(|(quality, tokens)| Some((quality?, tokens?)));
        Ok(Known { values: pairs.collect(), rests_on_score })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Plan, Samples, Value};

    #[track_caller]
    fn value(samples: &Samples) -> Result<f64, String> {
        let results = Plan::new().metrics([token_efficiency()]).measure(samples).map_err(|error| error.to_string())?;
        let figure = results.figure("run", "token_efficiency").expect("asked for");
        figure.value.clone().map_err(|why| format!("{:?}", why.reason()))
    }

    #[test]
    fn quality_is_what_the_record_says_or_its_behaviours_or_its_score() {
        let mut samples = Samples::new();
        samples.push(1).field("tokens_used", 100.0).field("quality_score", 0.5).score("judge", 1.0);
        let some = samples.push(2).field("tokens_used", 50.0).score("judge", 1.0);
        some.field("expected_behaviors", Value::List(vec!["a".into(), "b".into()]))
            .field("observed_behaviors", Value::List(vec!["a".into()]));
        samples.push(3).field("tokens_used", 50.0).score("judge", "C");
        samples.push(4).field("tokens_used", 1000.0);
        assert_eq!(value(&samples), Ok((0.5 + 0.5 + 1.0) / 200.0));
        samples.push(5).score("exact", 1.0).field("tokens_used", 10.0);
        assert!(value(&samples).expect_err("two scorers").starts_with("the run has several scorers: exact, judge"));
    }

    #[test]
    fn zero_tokens_have_no_efficiency() {
        let mut samples = Samples::new();
        samples.push(1).field("tokens_used", 0.0).field("quality_score", 0.5);
        assert_eq!(value(&samples), Err("Statistic(ZeroDenominator { what: DenominatorTotal })".into()));
    }
}
