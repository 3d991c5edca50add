//! The metrics of one scorer under one reducer, while rows come in.

use super::attempt_notes::AttemptNotes;
use super::state_block::{KeyedBlock, StateBlock};
use super::{MetricSpec, Reduction, Results, ScoreResult};
use crate::metric::{Split, State};
use crate::{Context, Error, Points, Reducer, SampleId, Score, StateReader, StateWriter};
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
    /// Rows that were folded in, with a score or without.
    rows: u64,
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
        Self { scorer, reducer, label, simple, keyed, reduced: Vec::new(), notes: AttemptNotes::default(), rows: 0 }
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
        // What a metric reduces beside the scores is reduced as they are.
        let own = self.reducer.as_ref().filter(|reducer| !reducer.is_mean());
        let own = own.map(|reducer| Context { attempts: reducer.clone(), ..context.clone() });
        let context = own.as_ref().unwrap_or(context);
        if keep && self.reducer.is_some() {
            let scores = (0..rows.len()).map(|row| (rows.sample_id(row), rows.scores().score(row)));
            self.reduced.extend(scores);
        }
        // Inspect counts no sample that its scorers did not look at. There may be as many scorers as samples, so that those
        // without a score are listed only where it matters which they are.
        let needs_rows = self.simple.iter().flat_map(|block| &block.states).any(State::tells_missing_apart);
        let (rows, absent) = match &self.reducer {
            _ if context.inspect => (rows, 0),
            Some(_) if needs_rows => (rows.with_absent_samples(), 0),
            None if needs_rows => (rows.with_absent_attempts(), 0),
            Some(_) => {
                let absent = rows.samples().len().saturating_sub(rows.len()) as u64;
                (rows, absent)
            }
            None => {
                let absent = rows.samples().attempts().saturating_sub(rows.len()) as u64;
                (rows, absent)
            }
        };
        self.rows += rows.len() as u64 + absent;
        if let Some(block) = &mut self.simple {
            block.fold(&Split { absent, ..Split::new(&rows) }, context)?;
        }
        self.keyed.iter_mut().try_for_each(|block| block.fold(&rows, absent, context))
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
        self.rows += other.rows;
    }

    pub(super) fn save(&self, out: &mut StateWriter) -> Result<(), Error> {
        self.simple.as_ref().map_or(Ok(()), |block| block.save(out))?;
        self.keyed.iter().try_for_each(|block| block.save(out))?;
        out.put(&self.reduced);
        out.put(&self.notes);
        out.put(&self.rows);
        Ok(())
    }

    /// Reads what a state of the same scorer, reducer and metrics has written.
    pub(super) fn load(&mut self, from: &mut StateReader<'_>, context: &Context) -> Result<(), Error> {
        self.simple.as_mut().map_or(Ok(()), |block| block.load(from))?;
        self.keyed.iter_mut().try_for_each(|block| block.load(from, context))?;
        self.reduced = from.take()?;
        self.notes = from.take()?;
        self.rows = from.take()?;
        Ok(())
    }

    /// Takes over, for a scorer that has looked at none of the samples, what was noted of them.
    pub(super) fn copy_absent(&mut self, absent: &[Self]) -> Result<(), Error> {
        let is_alike = |other: &&Self| other.label == self.label && other.is_reduced() == self.is_reduced();
        let Some(other) = absent.iter().find(is_alike) else { return Ok(()) };
        if let (Some(mine), Some(theirs)) = (&mut self.simple, &other.simple) {
            mine.copy_absent(theirs)?;
        }
        for mine in &mut self.keyed {
            mine.unscored = other.rows;
        }
        self.rows = other.rows;
        self.notes = other.notes.clone();
        Ok(())
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
        let own = (!context.limits.is_empty()).then(|| {
            let limits = context.limits.for_scorer(&self.scorer, self.reducer.as_ref());
            Context { limits, ..context.clone() }
        });
        let context = own.as_ref().unwrap_or(context);
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
