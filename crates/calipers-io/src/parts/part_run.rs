//! A run as bytes.

use crate::formats;
use crate::formats::{RecordedFigure, RecordedMetric, RecordedResults, RecordedRun, RecordedScorer};
use calipers_core::{Completeness, Error, RunEnding, Samples, StateReader, StateWriter, Stored, Value, damaged};

/// Metrics by key hold metrics, and those hold no more metrics by key.
const DEPTH_MAX: u32 = 4;

fn save_metric(metric: &RecordedMetric, out: &mut StateWriter) {
    let named = |kind: u8, name: &String, params: &Value, out: &mut StateWriter| {
        out.byte(kind);
        out.put(name);
        out.put(params);
    };
    match metric {
        RecordedMetric::Named { name, params } => named(0, name, params, out),
        RecordedMetric::Custom { name, params } => named(1, name, params, out),
        RecordedMetric::Keyed(keys) => {
            out.byte(2);
            out.length(keys.len());
            for (key, metrics) in keys {
                out.put(key);
                out.length(metrics.len());
                metrics.iter().for_each(|metric| save_metric(metric, out));
            }
        }
    }
}

fn load_metric(from: &mut StateReader<'_>, depth: u32) -> Result<RecordedMetric, Error> {
    match from.byte()? {
        0 => Ok(RecordedMetric::Named { name: from.take()?, params: from.take()? }),
        1 => Ok(RecordedMetric::Custom { name: from.take()?, params: from.take()? }),
        2 if depth < DEPTH_MAX => {
            let keys = from.list(|from| Ok((from.take()?, from.list(|from| load_metric(from, depth + 1))?)))?;
            Ok(RecordedMetric::Keyed(keys))
        }
        _ => Err(damaged("a metric has an unknown form")),
    }
}

impl Stored for RecordedScorer {
    fn save(&self, out: &mut StateWriter) {
        out.put(&self.name);
        out.length(self.metrics.len());
        self.metrics.iter().for_each(|metric| save_metric(metric, out));
        out.put(&self.options);
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        let (name, metrics) = (from.take()?, from.list(|from| load_metric(from, 0))?);
        Ok(Self { name, metrics, options: from.take()? })
    }
}

impl Stored for RecordedFigure {
    fn save(&self, out: &mut StateWriter) {
        out.put(&self.scorer);
        out.put(&self.score);
        out.put(&self.reducer);
        out.put(&self.metric);
        out.put(&self.value);
        out.put(&self.stderr);
        out.put(&self.n);
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        Ok(Self {
            scorer: from.take()?,
            score: from.take()?,
            reducer: from.take()?,
            metric: from.take()?,
            value: from.take()?,
            stderr: from.take()?,
            n: from.take()?,
        })
    }
}

impl Stored for RecordedResults {
    fn save(&self, out: &mut StateWriter) {
        out.put(&self.scorers);
        out.put(&self.reducers);
        out.put(&self.figures);
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        Ok(Self { scorers: from.take()?, reducers: from.take()?, figures: from.take()? })
    }
}

/// How a run ended, by its place here.
const ENDINGS: [RunEnding; 4] = [RunEnding::Finished, RunEnding::Open, RunEnding::Cancelled, RunEnding::Broken];

fn save_completeness(one: &Completeness, out: &mut StateWriter) {
    out.put(&(one.samples, one.samples_expected));
    out.put(&(one.attempts, one.attempts_expected));
    out.put(&one.never_ran);
    out.put(&one.has_names);
    out.byte(ENDINGS.iter().position(|ending| *ending == one.ending).unwrap_or_default() as u8);
}

fn load_completeness(from: &mut StateReader<'_>) -> Result<Completeness, Error> {
    let ((samples, samples_expected), (attempts, attempts_expected)) = (from.take()?, from.take()?);
    let (never_ran, has_names) = (from.take()?, from.take()?);
    let ending = ENDINGS[from.below(ENDINGS.len())?];
    Ok(Completeness { samples, samples_expected, attempts, attempts_expected, never_ran, has_names, ending })
}

/// All of a run but its samples; what a part of states says beside them.
impl Stored for RecordedRun<()> {
    fn save(&self, out: &mut StateWriter) {
        out.put(&self.source);
        out.text(self.format);
        out.put(&self.name);
        out.put(&self.columns);
        out.put(&(self.task.clone(), self.model.clone()));
        out.put(&(self.created.clone(), self.commit.clone()));
        out.put(&self.tried);
        out.put(&self.recorded);
        out.put(&self.completeness.is_some());
        self.completeness.iter().for_each(|one| save_completeness(one, out));
        out.put(&self.notes);
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        let source = from.take()?;
        let format = from.text()?;
        // A format that this program does not know is none that it can have read.
        let format = formats::known_name(format).ok_or_else(|| damaged("its format is unknown"))?;
        let (name, columns) = (from.take()?, from.take()?);
        let ((task, model), (created, commit)) = (from.take()?, from.take()?);
        let (tried, recorded) = (from.take()?, from.take()?);
        let completeness = if from.take()? { Some(load_completeness(from)?) } else { None };
        let notes = from.take()?;
        let samples = ();
        Ok(Self {
            source,
            format,
            name,
            columns,
            task,
            model,
            tried,
            created,
            commit,
            samples,
            recorded,
            completeness,
            notes,
        })
    }
}

impl Stored for RecordedRun {
    fn save(&self, out: &mut StateWriter) {
        let (run, samples) = self.clone().split();
        out.put(&run);
        out.put(&samples);
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        let run: RecordedRun<()> = from.take()?;
        let samples: Samples = from.take()?;
        Ok(run.map_samples(|()| samples))
    }
}
