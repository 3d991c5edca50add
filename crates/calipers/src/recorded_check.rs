//! Whether figures that are computed here are those that a log records.

use crate::{LoadedRun, Selection};
use calipers_core::{Caveat, Figure, RecordedCause, Reducer, Results};
use calipers_io::RecordedFigure;

/// Recorded figures have gone through decimal digits, and sums in another order.
const TOLERANCE: f64 = 1e-9;

/// Sets recorded figures beside those of the results that differ from them, with a caveat.
pub(crate) fn check_results(results: &mut Results, recorded: &[RecordedFigure], selection: &Selection) {
    // Of other samples, other figures are expected.
    if !selection.filter.is_empty() {
        return;
    }
    for score in &mut results.scores {
        for (key, metric) in &mut score.metrics {
            let is_same = |figure: &&RecordedFigure| {
                figure.metric == *key
                    && figure.score == score.name
                    && score.scorer.as_deref().is_none_or(|scorer| scorer == figure.scorer)
                    && is_reducer(figure, score.reducer.as_deref())
            };
            let Some(value) = recorded.iter().find(is_same).and_then(|figure| figure.value) else { continue };
            if let Some(caveat) = difference(&metric.figure, value, score.reducer.as_deref(), selection) {
                metric.recorded = Some(value);
                metric.figure.caveats.push(caveat);
            }
        }
    }
}

/// The caveats about figures of one run, each with the name of its metric, that differ from those in its log.
pub(crate) fn caveats<'f>(
    run: &LoadedRun,
    figures: impl IntoIterator<Item = (&'f str, &'f Figure)>,
    reducer: &str,
    selection: &Selection,
) -> Vec<Caveat> {
    // A log of a part of the samples says nothing about all of them.
    if !selection.filter.is_empty() || run.files.len() != 1 || run.samples.scorers().count() > 1 {
        return Vec::new();
    }
    let mut caveats = Vec::new();
    for (metric, figure) in figures {
        let is_same = |recorded: &&RecordedFigure| {
            recorded.metric == metric && recorded.score == recorded.scorer && is_reducer(recorded, Some(reducer))
        };
        let value = run.recorded.figures.iter().find(is_same).and_then(|recorded| recorded.value);
        let caveat = value.and_then(|value| difference(figure, value, Some(reducer), selection));
        caveats.extend(caveat.filter(|caveat| !caveats.contains(caveat)));
    }
    caveats
}

/// True for the figure of a reducer, or for one that names none where the mean is taken.
fn is_reducer(figure: &RecordedFigure, reducer: Option<&str>) -> bool {
    let mean = |name: Option<&str>| name.unwrap_or("mean").to_owned();
    mean(figure.reducer.as_deref()) == mean(reducer)
}

fn difference(figure: &Figure, recorded: f64, reducer: Option<&str>, selection: &Selection) -> Option<Caveat> {
    let computed = *figure.value.as_ref().ok()?;
    let scale = computed.abs().max(recorded.abs());
    if !recorded.is_finite() || (computed - recorded).abs() <= TOLERANCE * scale {
        return None;
    }
    let needs_threshold = |name: &str| Reducer::parse(name).is_ok_and(|reducer| reducer.attempts_needed().is_some());
    let cause = if !selection.mapped_labels().is_empty() {
        RecordedCause::Labels
    } else if let Some(reducer) = reducer.filter(|name| needs_threshold(name)) {
        RecordedCause::Threshold { reducer: reducer.to_owned() }
    } else if figure.missing > 0 {
        RecordedCause::Missing { samples: figure.missing }
    } else {
        RecordedCause::Unknown
    };
    Some(Caveat::DiffersFromRecorded { computed, recorded, cause })
}
