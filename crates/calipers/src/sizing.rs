//! How many samples the next run needs: from a pilot run, or from assumptions.

use crate::compare::{count_missing, metrics_of, reducer_of};
use crate::{LoadedNames, LoadedRun, Needs, Selection, TOOL};
pub use calipers_compare::sizing::*;
use calipers_core::stats::power::Costs;
use calipers_core::stats::threshold_test::Direction;
use calipers_core::{Caveat, Error, Metric, Registry, Unit};

/// What a plan is to answer, whatever it rests on.
#[derive(Clone, Copy, Debug)]
pub struct PlanQuestion {
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

/// How a pilot is measured, besides what the selection says.
#[derive(Clone, Debug)]
pub struct PilotOptions {
    /// The metric, in place of the first that the pilot records.
    pub metric: Option<Metric>,
    /// The metadata by which samples go together.
    pub cluster: Vec<String>,
    /// The metrics that names stand for.
    pub registry: Registry,
    /// The reducers of loaded files. Their metrics are made of all samples at once, so no plan rests on them.
    pub loaded: LoadedNames,
}

impl PilotOptions {
    /// The columns that are read of a pilot.
    #[must_use]
    pub fn needs(&self, selection: &Selection) -> Needs {
        Needs::of_comparison(selection, self.metric.as_ref().map(std::slice::from_ref), &self.cluster)
    }
}

/// A plan by what is assumed about scores.
///
/// ```
/// use calipers::sizing::{Spread, PlanQuestion, plan};
///
/// let question = PlanQuestion {
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
/// let report = plan(Spread::of_rate(0.8)?, &question)?;
/// assert_eq!(report.sizing.interval.expect("asked for").samples, Ok(1564));
/// # Ok::<(), calipers::Error>(())
/// ```
pub fn plan(spread: Spread, wanted: &PlanQuestion) -> Result<PlanReport, Error> {
    let unit = if spread.is_share { Unit::Rate } else { Unit::Plain };
    answer(question(spread, wanted), PlanBasis::Assumed, unit, Vec::new())
}

/// A plan by a run, and by a second one on the same samples if there is one.
///
/// Fails as [`Pilot::of_run`] and [`measure_differences`] do.
pub fn plan_by_run(
    run: &LoadedRun,
    against: Option<&LoadedRun>,
    selection: &Selection,
    options: &PilotOptions,
    wanted: &PlanQuestion,
) -> Result<PlanReport, Error> {
    let mut runs: Vec<LoadedRun> = [Some(run), against].into_iter().flatten().cloned().collect();
    let (ruled, mut caveats) = count_missing(&runs, selection);
    runs = ruled.unwrap_or(runs);
    let (run, against) = (&runs[0], runs.get(1));
    let all: Vec<&LoadedRun> = runs.iter().collect();
    let reducer = reducer_of(&all, selection.reducer(), &options.loaded, &mut caveats)?;
    let context = selection.context()?;
    let metric = match &options.metric {
        Some(metric) => metric.clone(),
        None => {
            let names = (&options.registry, &LoadedNames::default());
            first(metrics_of(&all, &reducer, &context, names, &mut caveats)?, &mut caveats)
        }
    };
    let cluster: Vec<&str> = options.cluster.iter().map(String::as_str).collect();
    let measure = PilotMeasure { metric: &metric, reducer: &reducer, context: &context, cluster: &cluster };
    let pilot = Pilot::of_run(&run.samples, &measure)?;
    if pilot.alone > 0 {
        caveats.push(Caveat::SamplesAlone { key: cluster.join(", "), samples: pilot.alone });
    }
    let shown = against.map(|against| measure_differences([&run.samples, &against.samples], &measure)).transpose()?;
    let unit = match options.registry.sense(&metric).0 {
        _ if pilot.spread.is_share => Unit::Rate,
        // Scores on another scale are no shares, whatever the metric makes of them.
        Unit::Rate if pilot.spread.range != ScoreRange::Unit => Unit::Plain,
        unit => unit,
    };
    let asked = SizingQuestion {
        attempts: wanted.attempts.unwrap_or_else(|| (pilot.attempts.round() as u64).max(1)),
        clusters: pilot.clusters,
        difference_effect: shown.and_then(|shown| shown.design_effect),
        pairing: shown.map(|shown| Pairing::Measured(shown.variances)).or(wanted.pairing),
        finished: wanted.samples.or(Some(pilot.samples)),
        ..question(pilot.spread, wanted)
    };
    let name = if metric.params().is_empty() { metric.name().to_owned() } else { format!("{metric:?}") };
    let pilot = PilotRun {
        name: run.name.clone(),
        columns: run.columns.clone(),
        metric: name,
        unit,
        pilot,
        against: against.map(|run| run.name.clone()),
        filter: selection.filter.clone(),
        scorers: selection.scorers.clone(),
    };
    answer(asked, PlanBasis::Run(Box::new(pilot)), unit, caveats)
}

/// The first of several metrics, and a word about the others.
fn first(metrics: Vec<Metric>, caveats: &mut Vec<Caveat>) -> Metric {
    if metrics.len() > 1 {
        let others = metrics[1..].iter().map(|metric| metric.name().to_owned()).collect();
        caveats.push(Caveat::FirstMetric { metric: metrics[0].name().to_owned(), others });
    }
    metrics.into_iter().next().expect("records speak of at least one metric")
}

fn question(spread: Spread, wanted: &PlanQuestion) -> SizingQuestion {
    SizingQuestion {
        spread,
        level: wanted.level,
        power: wanted.power,
        attempts: wanted.attempts.unwrap_or(1),
        clusters: None,
        difference_effect: None,
        half_width: wanted.half_width,
        gate: wanted.gate,
        difference: wanted.difference,
        pairing: wanted.pairing,
        costs: wanted.costs,
        finished: wanted.samples,
    }
}

fn answer(question: SizingQuestion, basis: PlanBasis, unit: Unit, caveats: Vec<Caveat>) -> Result<PlanReport, Error> {
    let mut sizing = size(&question)?;
    sizing.caveats.splice(0..0, caveats);
    Ok(PlanReport { question, basis, unit, sizing, tool: TOOL.to_owned() })
}
