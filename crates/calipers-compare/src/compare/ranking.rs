//! Several runs in the order of a metric.

use super::compare_report::{RankedRun, Ranking};
use super::run_metric::{ComparedMetric, RunMetric};
use super::sample_values::SampleValues;
use super::sampling::{PairedValues, estimate_mean_difference};
use super::{CompareQuestion, ComparedRun};
use calipers_core::metric::{clustered_mean, mean_figure};
use calipers_core::{Caveat, Context, Evidence, Figure, Incomparable, SampleId, Tally};
use calipers_stats::cluster::estimate_clustered;
use calipers_stats::multiplicity::{Correction, adjust};
use calipers_stats::threshold_test::Direction;
use calipers_stats::{Confidence, Moments};
use hashbrown::HashMap;
use indexmap::IndexMap;

/// The order of the runs by a metric.
///
/// Ranks come from paired tests of every two runs, adjusted by Holm whatever else is chosen: a run's best rank is one more
/// than the number of runs that are surely better. Intervals are widened so that all of them hold together (Bonferroni).
pub(super) fn rank(
    metric: &ComparedMetric,
    runs: &[ComparedRun<'_>],
    measured: &[Result<RunMetric, Incomparable>],
    clusters: &HashMap<SampleId, u32>,
    question: &CompareQuestion<'_>,
) -> Ranking {
    let rows = rank_rows(metric, runs, measured, clusters, question);
    Ranking { metric: metric.name.clone(), unit: metric.unit, rows }
}

fn rank_rows(
    metric: &ComparedMetric,
    runs: &[ComparedRun<'_>],
    measured: &[Result<RunMetric, Incomparable>],
    clusters: &HashMap<SampleId, u32>,
    question: &CompareQuestion<'_>,
) -> Result<Vec<RankedRun>, Incomparable> {
    let direction = metric.direction.ok_or(Incomparable::NoBetterSide)?;
    let (ids, columns) = collect_shared_values(runs, measured)?;
    let clusters: Option<Vec<u32>> =
        (!question.cluster.is_empty()).then(|| ids.iter().map(|id| clusters[id]).collect());
    let better = find_winners(&columns, clusters.as_deref(), direction, question);
    let confidence = question.context.confidence;
    let apart = 1.0 - (1.0 - confidence.level()) / runs.len() as f64;
    let confidence = Confidence::two_sided(apart).unwrap_or(confidence);
    let context = Context { confidence, ..question.context.clone() };
    let mut rows: Vec<RankedRun> = (0..runs.len())
        .map(|run| RankedRun {
            run: runs[run].name.clone(),
            figure: estimate_mean(&columns[run], clusters.as_deref(), &context),
            best_rank: 1 + better.iter().filter(|(winner, loser)| *loser == run && *winner != run).count() as u64,
            worst_rank: (runs.len() - better.iter().filter(|(winner, _)| *winner == run).count()) as u64,
        })
        .collect();
    let value = |row: &RankedRun| row.figure.value.as_ref().copied().unwrap_or(f64::NAN);
    rows.sort_by(|a, b| match direction {
        Direction::AtLeast => value(b).total_cmp(&value(a)),
        Direction::AtMost => value(a).total_cmp(&value(b)),
    });
    Ok(rows)
}

/// The samples of which every run has a value, in the order of their names, and those values run by run.
fn collect_shared_values(
    runs: &[ComparedRun<'_>],
    measured: &[Result<RunMetric, Incomparable>],
) -> Result<(Vec<SampleId>, Vec<Vec<f64>>), Incomparable> {
    let mut values: HashMap<SampleId, Vec<f64>> = HashMap::new();
    for (place, (run, measured)) in runs.iter().zip(measured).enumerate() {
        let measured = measured.as_ref().map_err(Clone::clone)?;
        let evidence = measured.evidence.as_ref().filter(|evidence| matches!(evidence, Evidence::Mean { .. }));
        let cells = SampleValues::of(evidence.ok_or(Incomparable::NotMean)?, measured);
        for (id, sample) in run.samples.ids().zip(0..) {
            let Some(value) = cells.value(sample) else { continue };
            let known = values.entry(id).or_default();
            if known.len() == place {
                known.push(value);
            }
        }
    }
    values.retain(|_, known| known.len() == runs.len());
    if values.is_empty() {
        return Err(Incomparable::NoSharedValue { runs: runs.len() });
    }
    let mut ids: Vec<SampleId> = values.keys().cloned().collect();
    ids.sort();
    let columns = (0..runs.len()).map(|run| ids.iter().map(|id| values[id][run]).collect()).collect();
    Ok((ids, columns))
}

/// The pairs of runs of which the first is surely better than the second.
fn find_winners(
    columns: &[Vec<f64>],
    clusters: Option<&[u32]>,
    direction: Direction,
    question: &CompareQuestion<'_>,
) -> Vec<(usize, usize)> {
    let (confidence, seed) = (question.context.confidence, question.context.seed);
    let pairs: Vec<(usize, usize)> =
        (0..columns.len()).flat_map(|a| (a + 1..columns.len()).map(move |b| (a, b))).collect();
    let found = pairs.iter().map(|&(a, b)| {
        let clusters = clusters.map(<[u32]>::to_vec);
        let values = PairedValues::new(&columns[a], &columns[b], clusters);
        estimate_mean_difference(&values, confidence, seed, false)
    });
    let found: Vec<_> = found.collect();
    let p_values: Vec<Option<f64>> = found.iter().map(|found| found.p.map(|(p, _)| p.clamp(0.0, 1.0))).collect();
    let adjusted = adjust(&p_values, Correction::Holm).expect("a p-value lies between 0 and 1");
    let sure = |((&(a, b), found), p): ((&(usize, usize), &super::sampling::ChangeEstimate), Option<f64>)| {
        let estimate = found.estimate.as_ref().ok().filter(|_| p.is_some_and(|p| p <= 1.0 - confidence.level()))?;
        let first_wins = (*estimate > 0.0) == (direction == Direction::AtLeast);
        Some(if first_wins { (a, b) } else { (b, a) })
    };
    pairs.iter().zip(&found).zip(adjusted).filter_map(sure).collect()
}

fn estimate_mean(values: &[f64], clusters: Option<&[u32]>, context: &Context) -> Figure {
    let tally = Tally { n: values.len() as u64, missing: 0 };
    let mut figure = mean_figure(&Moments::from_slice(values), tally, false, context);
    let Some(clusters) = clusters else { return figure };
    figure.interval = None;
    if let Ok(estimate) = estimate_clustered(values, clusters) {
        // CR2 alone has no width where all pass.
        let mut sums: IndexMap<u32, Moments> = IndexMap::new();
        clusters.iter().zip(values).for_each(|(&cluster, &x)| sums.entry(cluster).or_default().add(x));
        let units: Vec<(f64, f64)> = sums.values().map(|sum| (sum.sum(), sum.count() as f64)).collect();
        let moments = Moments::from_slice(values);
        figure.interval = clustered_mean(&units, &moments, (None, None), context.confidence).ok();
        figure.caveats = estimate.caveats().into_iter().map(Caveat::from).collect();
    }
    figure
}
