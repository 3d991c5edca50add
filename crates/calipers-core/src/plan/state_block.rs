//! States of metrics that see the same rows, for a score as a whole or for the keys of scores that are maps.

use super::MetricResult;
use super::figure_names::FigureNames;
use super::glob;
use crate::data::scores::Values;
use crate::metric::{Precision, Split, State};
use crate::{
    Answer, Caveat, Context, Error, ErrorKind, Figure, Metric, Points, Reason, SampleId, StateReader, StateWriter,
    Undefined, Value, damaged,
};
use calipers_stats::StatisticCaveat;
use indexmap::{IndexMap, IndexSet};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// States that see the same rows.
#[derive(Default)]
pub(super) struct StateBlock {
    pub(super) states: Vec<State>,
    pub(super) scored: u64,
    pub(super) unscored: u64,
}

/// States for the keys of a map.
pub(super) struct KeyedBlock {
    patterns: Vec<(String, Vec<Metric>)>,
    pub(super) keys: IndexMap<Arc<str>, StateBlock>,
    /// The keys of the maps seen, with a sample for each set of them.
    shapes: BTreeMap<BTreeSet<Arc<str>>, SampleId>,
    pub(super) unscored: u64,
    matched: Vec<bool>,
}

impl StateBlock {
    /// Starts the metrics that are not there yet.
    fn start_new(&mut self, metrics: &[Metric], context: &Context) {
        for metric in metrics {
            // Inspect keeps only the first of two metrics with the same name, whatever their parameters.
            let same = |state: &State| {
                let other = state.metric();
                other.is_same_as(metric) || (context.inspect && other.name() == metric.name())
            };
            if !self.states.iter().any(same) {
                self.states.push(metric.start());
            }
        }
    }

    pub(super) fn fold(&mut self, split: &Split<'_>, context: &Context) -> Result<(), Error> {
        self.scored += split.scored.len() as u64;
        self.unscored += split.unscored.len() as u64 + split.absent;
        self.states.iter_mut().try_for_each(|state| state.fold_split(split, context))
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.scored += other.scored;
        self.unscored += other.unscored;
        for (mine, theirs) in self.states.iter_mut().zip(other.states) {
            mine.merge(theirs);
        }
    }

    pub(super) fn save(&self, out: &mut StateWriter) -> Result<(), Error> {
        out.put(&(self.scored, self.unscored));
        self.states.iter().try_for_each(|state| state.save(out))
    }

    /// Reads what a block with the same metrics has written.
    pub(super) fn load(&mut self, from: &mut StateReader<'_>) -> Result<(), Error> {
        (self.scored, self.unscored) = from.take()?;
        for state in &mut self.states {
            *state = state.metric().load(from)?;
        }
        Ok(())
    }

    /// Takes over what a block with these metrics and others has seen of rows that have no score.
    pub(super) fn copy_absent(&mut self, other: &Self) -> Result<(), Error> {
        (self.scored, self.unscored) = (other.scored, other.unscored);
        for mine in &mut self.states {
            let metric = mine.metric().clone();
            if let Some(theirs) = other.states.iter().find(|theirs| theirs.metric().is_same_as(&metric)) {
                let mut out = StateWriter::new();
                theirs.save(&mut out)?;
                *mine = metric.load(&mut StateReader::new(&out.finish()))?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(
        self,
        keyed: bool,
        pooled: Option<(u64, u64)>,
        context: &Context,
    ) -> Result<IndexMap<String, MetricResult>, Error> {
        let cluster = self.states.iter().find_map(|state| state.metric().cluster());
        let mut answers = Vec::new();
        for state in self.states {
            let metric = state.metric().clone();
            let mut answer = finish_one(state, context)?;
            add_caveats(&mut answer, &metric, cluster.as_deref(), pooled);
            answers.push((metric, answer));
        }
        say_perfect_once(&mut answers);
        let mut names = FigureNames::new(keyed);
        for (metric, answer) in answers {
            names.add(&metric, answer, context)?;
        }
        Ok(names.metrics)
    }
}

/// The answer of a metric, whatever it saw.
pub(crate) fn finish_one(state: State, context: &Context) -> Result<Answer, Error> {
    let tally = state.tally();
    let answer = state.finish(context);
    if tally.n > 0 {
        return answer;
    }
    // Inspect prints NaN for a metric of nothing, also where the metric refuses, unless it has a special shape.
    Ok(match answer {
        Err(error) if !context.inspect => return Err(error),
        Ok(Answer::Named(entries)) if !entries.is_empty() => Answer::Named(entries),
        _ => Figure::from_result(Err(Undefined::new(Reason::NothingScored, f64::NAN)), tally, "none").into(),
    })
}

/// Where a mean says what a perfect score hides, the error beside it need not say that all values are alike.
fn say_perfect_once(answers: &mut [(Metric, Answer)]) {
    let mut is_perfect = false;
    for (metric, answer) in answers.iter_mut().filter(|(metric, _)| metric.precision() == Precision::NotStated) {
        // Figures of groups are about other samples than the error is.
        if metric.group_key().is_none() {
            answer.for_each(&mut |figure| {
                is_perfect |= figure.caveats.iter().any(|caveat| matches!(caveat, Caveat::PerfectScore { .. }));
            });
        }
    }
    let errors = answers.iter_mut().filter(|(metric, _)| metric.precision() == Precision::StandardError);
    for (_, answer) in errors.filter(|_| is_perfect) {
        answer.for_each(&mut |figure| {
            figure.caveats.retain(|caveat| !matches!(caveat, Caveat::Statistic(StatisticCaveat::NoSpread { .. })));
        });
    }
}

fn add_caveats(answer: &mut Answer, metric: &Metric, cluster: Option<&str>, pooled: Option<(u64, u64)>) {
    let states_precision = metric.precision() != Precision::NotStated;
    let ignored = cluster.filter(|key| metric.cluster().is_none() && !metric.is_within_one(key));
    // All samples of a group share its key; only the figure for all groups is about several.
    let is_grouped = ignored.is_some_and(|key| metric.group_key() == Some(key));
    let ignored = ignored.filter(|_| !is_grouped);
    if let (true, Some(key), Answer::Named(entries)) = (is_grouped, cluster, &mut *answer)
        && let Some(all) = entries.get_mut(metric.all_label())
    {
        all.for_each(&mut |figure| {
            if figure.value.is_ok() && figure.interval.is_some() {
                figure.caveats.push(Caveat::IgnoresClusters { key: key.to_owned() });
            }
        });
    }
    answer.for_each(&mut |figure| {
        if figure.value.is_err() || !(states_precision || figure.interval.is_some()) {
            return;
        }
        if let Some(key) = ignored {
            figure.caveats.push(Caveat::IgnoresClusters { key: key.to_owned() });
        }
        if let Some((attempts, samples)) = pooled {
            figure.caveats.push(Caveat::PooledAttempts { attempts, samples });
        }
    });
}

impl KeyedBlock {
    pub(super) fn new(patterns: &[(String, Vec<Metric>)]) -> Self {
        Self {
            matched: vec![false; patterns.len()],
            patterns: patterns.to_vec(),
            keys: IndexMap::new(),
            shapes: BTreeMap::new(),
            unscored: 0,
        }
    }

    /// Folds in rows, beside which this many samples have none.
    pub(super) fn fold(&mut self, rows: &Points<'_>, absent: u64, context: &Context) -> Result<(), Error> {
        let unscored = rows.unscored();
        let rows = rows.scored();
        self.unscored += unscored.len() as u64 + absent;
        if rows.is_empty() {
            return Ok(());
        }
        match rows.values() {
            Values::Maps(maps) => {
                self.resolve(&maps.keys, &rows.sample_id(0), context);
                for (key, column) in maps.keys.iter().zip(&maps.columns) {
                    if let Some(block) = self.keys.get_mut(key) {
                        let under_key = rows.with_values(Values::Scalars(column.clone()));
                        block.fold(&Split::new(&under_key), context)?;
                    }
                }
                Ok(())
            }
            _ => self.fold_mixed(&rows, context),
        }
    }

    fn fold_mixed(&mut self, rows: &Points<'_>, context: &Context) -> Result<(), Error> {
        let values: Vec<Value> = (0..rows.len()).map(|row| rows.values().get(row)).collect();
        let maps = values.iter().filter_map(|value| match value {
            Value::Map(entries) => Some(entries.iter().map(|(key, _)| key.clone())),
            _ => None,
        });
        // Inspect goes by the first map alone.
        let keys: IndexSet<Arc<str>> = maps.take(if context.inspect { 1 } else { values.len() }).flatten().collect();
        if values.iter().any(|value| matches!(value, Value::Map(_))) {
            self.resolve(&keys.into_iter().collect::<Vec<_>>(), &rows.sample_id(0), context);
        }
        // Inspect does not look at scores that no metric is for.
        if context.inspect && if self.is_resolved() { self.keys.is_empty() } else { self.patterns.is_empty() } {
            return Ok(());
        }
        if let Some(row) = values.iter().position(|value| !matches!(value, Value::Map(_))) {
            let kind = ErrorKind::NotMap { by: "a map of metrics".into(), found: values[row].kind() };
            return Err(rows.at(row, kind));
        }
        for (key, block) in &mut self.keys {
            let mut under_key = Vec::with_capacity(values.len());
            for (row, value) in values.iter().enumerate() {
                let missing = || rows.at(row, ErrorKind::MissingKey { key: key.to_string(), null: false });
                under_key.push(value.get(key).cloned().ok_or_else(missing)?);
            }
            let under_key = rows.with_values(under_key.into_iter().collect());
            block.fold(&Split::new(&under_key), context)?;
        }
        Ok(())
    }

    /// Gives each key that a pattern matches the metrics of that pattern, in the order of the patterns.
    fn resolve(&mut self, keys: &[Arc<str>], sample: &SampleId, context: &Context) {
        let shape: BTreeSet<Arc<str>> = keys.iter().cloned().collect();
        if self.shapes.contains_key(&shape) || (context.inspect && self.is_resolved()) {
            return;
        }
        self.shapes.insert(shape, sample.clone());
        for ((pattern, metrics), matched) in self.patterns.iter().zip(&mut self.matched) {
            for key in keys.iter().filter(|key| glob::matches(pattern, key)) {
                *matched = true;
                self.keys.entry(key.clone()).or_default().start_new(metrics, context);
            }
        }
    }

    pub(super) fn save(&self, out: &mut StateWriter) -> Result<(), Error> {
        out.put(&self.unscored);
        self.matched.iter().for_each(|matched| out.put(matched));
        out.length(self.shapes.len());
        for (shape, sample) in &self.shapes {
            out.put(shape);
            out.put(sample);
        }
        out.length(self.keys.len());
        for (key, block) in &self.keys {
            out.put(key);
            block.save(out)?;
        }
        Ok(())
    }

    /// Reads what a block with the same patterns has written.
    pub(super) fn load(&mut self, from: &mut StateReader<'_>, context: &Context) -> Result<(), Error> {
        self.unscored = from.take()?;
        for matched in &mut self.matched {
            *matched = from.take()?;
        }
        self.shapes = from.list(StateReader::take)?.into_iter().collect();
        for _ in 0..from.length()? {
            let key: Arc<str> = from.take()?;
            let mut block = StateBlock::default();
            for (_, metrics) in self.patterns.iter().filter(|(pattern, _)| glob::matches(pattern, &key)) {
                block.start_new(metrics, context);
            }
            if block.states.is_empty() {
                return Err(damaged("a key has no metric"));
            }
            block.load(from)?;
            self.keys.insert(key, block);
        }
        Ok(())
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.unscored += other.unscored;
        for (shape, sample) in other.shapes {
            self.shapes.entry(shape).or_insert(sample);
        }
        for (mine, theirs) in self.matched.iter_mut().zip(other.matched) {
            *mine |= theirs;
        }
        for (key, theirs) in other.keys {
            match self.keys.get_mut(&key) {
                Some(mine) => mine.merge(theirs),
                None => {
                    self.keys.insert(key, theirs);
                }
            }
        }
    }

    /// True once a map was seen whose keys the patterns were matched with.
    fn is_resolved(&self) -> bool {
        !self.shapes.is_empty()
    }

    /// A key that has metrics must be in every map, whichever shard it was in.
    pub(super) fn check_shapes(&self, context: &Context) -> Result<(), Error> {
        if context.inspect {
            return Ok(());
        }
        for key in self.keys.keys() {
            if let Some((_, sample)) = self.shapes.iter().find(|(shape, _)| !shape.contains(key)) {
                let missing = ErrorKind::MissingKey { key: key.to_string(), null: false };
                return Err(Error::from(missing).at_sample(sample));
            }
        }
        Ok(())
    }

    pub(super) fn unmatched(&self, context: &Context) -> Vec<Caveat> {
        if !self.is_resolved() || context.inspect {
            return Vec::new();
        }
        let known: BTreeSet<&Arc<str>> = self.shapes.keys().flatten().collect();
        let known: Vec<String> = known.into_iter().map(ToString::to_string).collect();
        let lonely = self.patterns.iter().zip(&self.matched).filter(|(_, matched)| !**matched);
        lonely.map(|((key, _), _)| Caveat::UnmatchedKey { key: key.clone(), known: known.clone() }).collect()
    }

    /// When no sample has a score there are no keys to match, and the patterns stand for themselves.
    pub(super) fn name_unresolved(&mut self) {
        if self.is_resolved() {
            return;
        }
        for (pattern, metrics) in &self.patterns {
            let states = metrics.iter().map(Metric::start).collect();
            self.keys.insert(pattern.as_str().into(), StateBlock { states, ..StateBlock::default() });
        }
    }
}
