//! `cost` and `total_cost`.

use super::ratio::{OfSums, Pairs};
use super::registry::Definition;
use super::sample_mean::{Known, finite_field};
use super::{Context, Measure, Metric, Tally, ValueSource, View};
use crate::{
    About, Answer, Caveat, Error, Family, Figure, Points, RatioLimits, Reason, StateReader, StateWriter, Undefined,
    Unit,
};
use calipers_stats::ExactSum;
use calipers_stats::threshold_test::Direction;

const COST: About = About {
    name: "cost",
    summary: "the mean cost of an attempt",
    usage: "cost()",
    tells: "What one attempt costs on average.",
    misleads: "A few long conversations may cost more than all others together: look at `quantile(\"cost_usd\", \
               0.95)` too. Attempts without a `cost_usd` are left out.",
    formula: "Σ cost_usd / attempts that have one.",
    interval: "A lower end only, by Gaffke's test with samples as units, because nothing limits what an unseen sample costs. \
               With `limits`, both ends. None below six samples.",
    example: "calipers score results.jsonl -m cost",
    unit: Unit::Usd,
    range: "≥ 0 USD",
    direction: Some(Direction::AtMost),
    typical_threshold: None,
    use_case: "Cost of operation",
    family: Family::Suite,
    parameters: &[],
    positional: &[],
    inspect: None,
    role: None,
};

const TOTAL_COST: About = About {
    name: "total_cost",
    summary: "the cost of all attempts together",
    usage: "total_cost()",
    tells: "What the whole run cost.",
    misleads: "It grows with the number of samples and attempts: to compare runs of different sizes, use `cost`.",
    formula: "Σ cost_usd over attempts that have one.",
    interval: "None: it is what was spent, not an estimate.",
    example: "calipers score results.jsonl -m total_cost",
    unit: Unit::Usd,
    range: "≥ 0 USD",
    direction: Some(Direction::AtMost),
    typical_threshold: None,
    use_case: "Cost of evaluation",
    family: Family::Suite,
    parameters: &[],
    positional: &[],
    inspect: None,
    role: None,
};

/// The name of the method in results.
const TOTAL_METHOD: &str = "sum over attempts";

/// The metrics of this file.
pub(super) static METRICS: &[Definition] =
    &[Definition { about: COST, make: |_| Ok(cost()) }, Definition { about: TOTAL_COST, make: |_| Ok(total_cost()) }];

/// The mean cost of an attempt in US dollars, from the field `cost_usd`.
///
/// `calipers metrics cost` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{cost, Plan, Samples};
///
/// let mut samples = Samples::new();
/// samples.push(1).field("cost_usd", 0.25);
/// samples.push(2).field("cost_usd", 0.75);
/// let results = Plan::new().metrics([cost()]).measure(&samples)?;
/// assert_eq!(results.figure("run", "cost").expect("asked for").value, Ok(0.5));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn cost() -> Metric {
    let metric = Metric::recorded("cost", OfSums(PerAttempt)).view(View::Attempts).reading(["cost_usd"]);
    metric.summing(ValueSource::Field("cost_usd".into()))
}

struct PerAttempt;

impl Pairs for PerAttempt {
    const LIMITS: RatioLimits = RatioLimits::Amounts;
    const METHOD: &'static str = "mean over attempts";

    fn name(&self) -> &str {
        "cost"
    }

    fn fields_without_limit(&self) -> Vec<String> {
        vec!["cost_usd".into()]
    }

    fn is_not_negative(&self) -> bool {
        true
    }

    fn pairs(&self, points: &Points<'_>, context: &Context) -> Result<Known<(f64, f64)>, Error> {
        let costs = finite_field(points, "cost_usd", context)?;
        Ok(costs.into_iter().map(|cost| Some((cost?, 1.0))).collect::<Vec<_>>().into())
    }
}

/// The cost of all attempts together in US dollars, from the field `cost_usd`.
///
/// `calipers metrics total_cost` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{total_cost, Plan, Samples};
///
/// let mut samples = Samples::new();
/// samples.push(1).field("cost_usd", 0.25);
/// samples.push(1).field("cost_usd", 0.75);
/// let results = Plan::new().metrics([total_cost()]).measure(&samples)?;
/// assert_eq!(results.figure("run", "total_cost").expect("asked for").value, Ok(1.0));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn total_cost() -> Metric {
    Metric::recorded("total_cost", Total).view(View::Attempts).reading(["cost_usd"])
}

struct Total;

/// The sum so far, and how many attempts are in it and how many are not.
#[derive(Default)]
struct Spent {
    sum: ExactSum,
    tally: Tally,
}

impl Measure for Total {
    type State = Spent;

    fn start(&self) -> Spent {
        Spent::default()
    }

    fn fold(&self, state: &mut Spent, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        for cost in finite_field(points, "cost_usd", context)? {
            match cost {
                Some(cost) => {
                    state.sum.add(cost);
                    state.tally.n += 1;
                }
                None => state.tally.missing += 1,
            }
        }
        Ok(())
    }

    fn save(&self, state: &Spent, out: &mut StateWriter) -> Result<(), Error> {
        out.put(&state.sum);
        out.put(&state.tally);
        Ok(())
    }

    fn load(&self, from: &mut StateReader<'_>) -> Result<Spent, Error> {
        Ok(Spent { sum: from.take()?, tally: from.take()? })
    }

    fn merge(&self, state: &mut Spent, other: Spent) {
        state.sum.merge(&other.sum);
        state.tally.n += other.tally.n;
        state.tally.missing += other.tally.missing;
    }

    fn finish(&self, state: Spent, _: Tally, _: &Context) -> Result<Answer, Error> {
        let tally = state.tally;
        let value = (tally.n > 0).then(|| state.sum.value());
        let value = value.ok_or_else(|| Undefined::new(Reason::Statistic(calipers_stats::Undefined::Empty), f64::NAN));
        let figure = Figure::from_result(value, tally, TOTAL_METHOD);
        let missing = (tally.missing > 0).then_some(Caveat::Missing { missing: tally.missing, range: None });
        Ok(figure.with_caveats(missing).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Plan, Samples};

    #[test]
    fn costs_are_counted_by_attempt_and_clustered_by_sample() {
        let mut samples = Samples::new();
        for (id, cost) in [(1, 0.5), (1, 0.5), (2, 0.25), (3, 0.75), (3, 1.0)] {
            samples.push(id).field("cost_usd", cost);
        }
        samples.push(4).error("connection reset");
        let results = Plan::new().metrics([cost(), total_cost()]).measure(&samples).expect("measurable");
        let mean = results.figure("run", "cost").expect("asked for");
        assert_eq!((&mean.value, mean.n, mean.missing), (&Ok(0.6), 5, 1));
        // Three samples show no more than three coin flips could.
        assert_eq!((mean.interval, mean.caveats[0].id()), (None, "small-sample"));
        let total = results.figure("run", "total_cost").expect("asked for");
        assert_eq!((&total.value, total.n, total.missing), (&Ok(3.0), 5, 1));
    }

    #[test]
    fn a_cost_has_a_lower_end_and_a_reason_for_no_upper_one() {
        let run = |least: f64| {
            let mut samples = Samples::new();
            (0..30).for_each(|id| {
                samples.push(id).field("cost_usd", if id == 0 { least } else { 1.0 });
            });
            let results = Plan::new().metrics([cost()]).measure(&samples).expect("measurable");
            results.figure("run", "cost").expect("asked for").clone()
        };
        let figure = run(1.0);
        let interval = figure.interval.expect("thirty costs");
        // Thirty ones and an unseen 0.
        assert!(
            (interval.lower.expect("a lower end") - 0.025f64.powf(1.0 / 30.0)).abs() < 1e-9 && interval.upper.is_none()
        );
        let caveat = Caveat::OpenInterval { fields: vec!["cost_usd".into()], lower: true, upper: false };
        assert!(figure.caveats.contains(&caveat), "{:?}", figure.caveats);
        // What has been negative once has no lower end either.
        assert_eq!(run(-1.0).interval, None);
    }
}
