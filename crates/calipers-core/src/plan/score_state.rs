//! The metrics of one scorer under one reducer, while rows come in.

use super::attempt_notes::AttemptNotes;
use super::state_block::{KeyedBlock, StateBlock};
use super::{MetricSpec, Reduction, Results, ScoreResult};
use crate::metric::Split;
use crate::{Context, Error, Points, Reducer, SampleId, Score};
use std::sync::Arc;

/// The states of one scorer's metrics under one reducer.
pub(super) struct ScoreState {
    scorer: Arc<str>,
    reducer: Option<Reducer>,
    label: Option<String>,
    simple: Option<StateBlock>,
    keyed: Vec<KeyedBlock>,
    reduced: Vec<(SampleId, Score)>,
    notes: AttemptNotes,
}

impl ScoreState {
    /// The states of these metrics. With `always_whole` there is a result for the whole score even without metrics
    /// of it, as there is in Inspect when a scorer lists its metrics.
    pub(super) fn new(
        scorer: Arc<str>,
        reducer: Option<Reducer>,
        label: Option<String>,
        specs: &[MetricSpec],
        always_whole: bool,
    ) -> Self {
        let mut simple = Vec::new();
        let mut keyed = Vec::new();
        for spec in specs {
            match spec {
                MetricSpec::One(metric) => simple.push(metric.start()),
                MetricSpec::Keyed(patterns) => keyed.push(KeyedBlock::new(patterns)),
            }
        }
        let simple =
            (always_whole || !simple.is_empty()).then(|| StateBlock { states: simple, ..StateBlock::default() });
        Self { scorer, reducer, label, simple, keyed, reduced: Vec::new(), notes: AttemptNotes::default() }
    }

    /// True when a row is a sample, false when it is an attempt.
    pub(super) fn is_reduced(&self) -> bool {
        self.reducer.is_some()
    }

    pub(super) fn fold(&mut self, attempts: &Points<'_>, keep: bool, context: &Context) -> Result<(), Error> {
        let rows = match &self.reducer {
            Some(reducer) => attempts.reduce(reducer, context)?,
            None => attempts.unique()?,
        };
        self.notes.take(attempts, &rows, self.reducer.as_ref(), context);
        if keep && self.reducer.is_some() {
            let scores = (0..rows.len()).map(|row| (rows.sample_id(row), rows.scores().score(row)));
            self.reduced.extend(scores);
        }
        // Inspect counts no sample that its scorers did not look at.
        let rows = match &self.reducer {
            _ if context.inspect => rows,
            Some(_) => rows.with_absent_samples(),
            None => rows.with_absent_attempts(),
        };
        if let Some(block) = &mut self.simple {
            block.fold(&Split::new(&rows), context)?;
        }
        self.keyed.iter_mut().try_for_each(|block| block.fold(&rows, context))
    }

    pub(super) fn merge(&mut self, other: Self) {
        match (&mut self.simple, other.simple) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine, theirs) => *mine = mine.take().or(theirs),
        }
        for (mine, theirs) in self.keyed.iter_mut().zip(other.keyed) {
            mine.merge(theirs);
        }
        self.reduced.extend(other.reduced);
        self.notes.merge(other.notes);
    }

    pub(super) fn finish(self, results: &mut Results, keep: bool, context: &Context) -> Result<(), Error> {
        results.caveats.extend(self.notes.caveats(self.reducer.as_ref()));
        if keep && self.reducer.is_some() {
            results.reductions.push(Reduction {
                scorer: self.scorer.clone(),
                reducer: self.label.clone(),
                samples: self.reduced,
            });
        }
        let pooled = self.notes.pooled.filter(|(attempts, samples)| attempts > samples);
        let finish = |name: String, block: StateBlock, keyed: bool| -> Result<ScoreResult, Error> {
            Ok(ScoreResult {
                name,
                scorer: Some(self.scorer.clone()),
                reducer: self.label.clone(),
                scored_samples: block.scored,
                unscored_samples: block.unscored,
                metrics: block.finish(keyed, pooled, context)?,
            })
        };
        if let Some(block) = self.simple {
            results.scores.push(finish(self.scorer.to_string(), block, false)?);
        }
        for mut block in self.keyed {
            block.check_shapes(context).map_err(|error| error.at_scorer(&self.scorer))?;
            results.caveats.extend(block.unmatched(context));
            block.name_unresolved();
            for (key, mut states) in block.keys {
                states.unscored += block.unscored;
                results.scores.push(finish(key.to_string(), states, true)?);
            }
        }
        Ok(())
    }
}
