//! How many samples: from a pilot run, or from what somebody assumes.

use crate::compare::{Chosen, Loaded, TOOL, metrics_of, reducer_of};
pub use calipers_compare::sizing::*;
use calipers_core::stats::power::{Costs, Variances};
use calipers_core::stats::threshold_test::Direction;
use calipers_core::{Caveat, Context, Error, Labels, Metric, Reducer, Registry, Seed, Unit};

/// What a plan is to answer, whatever it rests on.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The level of intervals; tests have the error 1 − level.
    pub level: f64,
    /// How often a difference that is there should be found.
    pub power: f64,
    /// Attempts at each sample; those of the pilot, or one, if it is not said.
    pub attempts: Option<u64>,
    /// Half the width that an interval should have.
    pub half_width: Option<f64>,
    /// A threshold for a rate, and its side.
    pub gate: Option<(f64, Direction)>,
    /// A difference of two runs that should be seen.
    pub difference: Option<f64>,
    /// What two runs on the same samples share, where no second run shows it.
    pub pairing: Option<Pairing>,
    /// What samples and attempts cost.
    pub costs: Option<Costs>,
    /// A number of samples to look at; those of the pilot, if it is not said.
    pub samples: Option<u64>,
}

/// How a pilot is measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What of the runs was looked at, as they were read.
    pub chosen: Chosen,
    /// The metric, in place of the first that the pilot records.
    pub metric: Option<Metric>,
    /// How attempts are reduced, in place of what the pilot records.
    pub reducer: Option<Reducer>,
    /// How labels become numbers.
    pub labels: Labels,
    /// The metadata by which samples go together.
    pub cluster: Option<String>,
    /// The metrics that names stand for.
    pub registry: Registry,
}

/// A plan by what is assumed about scores.
///
/// ```
/// use calipers::sizing::{Spread, Wanted, plan};
///
/// let wanted = Wanted {
///     level: 0.95,
///     power: 0.8,
///     attempts: None,
///     half_width: Some(0.02),
///     gate: None,
///     difference: None,
///     pairing: None,
///     costs: None,
///     samples: None,
/// };
/// let report = plan(Spread::of_rate(0.8)?, &wanted)?;
/// assert_eq!(report.sizing.interval.expect("asked for").samples, Ok(1535));
/// # Ok::<(), calipers::Error>(())
/// ```
pub fn plan(spread: Spread, wanted: &Wanted) -> Result<PlanReport, Error> {
    let unit = if spread.is_share { Unit::Rate } else { Unit::Plain };
    answered(question(spread, wanted), PlanBasis::Assumed, unit, Vec::new())
}

/// A plan by a run, and by a second one on the same samples if there is one.
///
/// Fails as [`Pilot::of_run`] and [`variance_of_differences`] do.
pub fn plan_by_run(
    run: &Loaded,
    against: Option<&Loaded>,
    measured: &Measured,
    wanted: &Wanted,
) -> Result<PlanReport, Error> {
    let runs = [Some(run), against];
    let all: Vec<_> = runs.iter().flatten().map(|loaded| &loaded.run).collect();
    let mut caveats = Vec::new();
    let reducer = reducer_of(&all, measured.reducer.as_ref(), &mut caveats);
    // Nothing here is random.
    let context = Context::new(wanted.level, Seed(0), measured.labels.clone())?;
    let metric = match &measured.metric {
        Some(metric) => metric.clone(),
        None => first(metrics_of(&all, &reducer, &context, &measured.registry, &mut caveats)?, &mut caveats),
    };
    let cluster = measured.cluster.as_deref();
    let measure = PilotMeasure { metric: &metric, reducer: &reducer, context: &context, cluster };
    let pilot = Pilot::of_run(&run.run.samples, &measure)?;
    let shown: Option<Variances> = against
        .map(|against| variance_of_differences([&run.run.samples, &against.run.samples], &measure))
        .transpose()?;
    let unit = if pilot.spread.is_share { Unit::Rate } else { measured.registry.sense(&metric).0 };
    let asked = SizingQuestion {
        attempts: wanted.attempts.unwrap_or_else(|| (pilot.attempts.round() as u64).max(1)),
        clusters: pilot.clusters,
        pairing: shown.map(Pairing::Measured).or(wanted.pairing),
        finished: wanted.samples.or(Some(pilot.samples)),
        ..question(pilot.spread, wanted)
    };
    let name = if metric.params().is_empty() { metric.name().to_owned() } else { format!("{metric:?}") };
    let pilot = PilotRun {
        name: run.name.clone(),
        metric: name,
        unit,
        pilot,
        against: against.map(|loaded| loaded.name.clone()),
        filter: measured.chosen.filter.clone(),
        scorers: measured.chosen.scorers.clone(),
    };
    answered(asked, PlanBasis::Run(Box::new(pilot)), unit, caveats)
}

/// The first of several metrics, and a word about the others.
fn first(metrics: Vec<Metric>, caveats: &mut Vec<Caveat>) -> Metric {
    if metrics.len() > 1 {
        let others = metrics[1..].iter().map(|metric| metric.name().to_owned()).collect();
        caveats.push(Caveat::FirstMetric { metric: metrics[0].name().to_owned(), others });
    }
    metrics.into_iter().next().expect("records speak of at least one metric")
}

fn question(spread: Spread, wanted: &Wanted) -> SizingQuestion {
    SizingQuestion {
        spread,
        level: wanted.level,
        power: wanted.power,
        attempts: wanted.attempts.unwrap_or(1),
        clusters: None,
        half_width: wanted.half_width,
        gate: wanted.gate,
        difference: wanted.difference,
        pairing: wanted.pairing,
        costs: wanted.costs,
        finished: wanted.samples,
    }
}

fn answered(question: SizingQuestion, basis: PlanBasis, unit: Unit, caveats: Vec<Caveat>) -> Result<PlanReport, Error> {
    let mut sizing = size(&question)?;
    sizing.caveats.splice(0..0, caveats);
    Ok(PlanReport { question, basis, unit, sizing, tool: TOOL.to_owned() })
}
