//! A metric asked of a whole run: its answer, and what that rests on.

use super::{Context, Metric, View};
use crate::data::column::Column;
use crate::data::scenario::several_scorers;
use crate::plan::finish_one;
use crate::{Answer, Error, ErrorKind, Evidence, Points, Reducer, Samples, Value};
use hashbrown::HashMap;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The rows of a run, looked up once for all metrics that are asked.
pub struct RunRows<'s> {
    samples: &'s Samples,
    attempts: OnceCell<Points<'s>>,
    /// How many attempts there are, each counted once, which takes a look at all of them.
    attempt_count: OnceCell<usize>,
}

/// The values of attempts that have one.
pub struct AttemptValues {
    /// The place of the attempt's sample, and the value.
    pub values: Vec<(u32, f64)>,
    /// True when they are recorded as yes and no.
    pub are_flags: bool,
}

/// A sample of which some attempts have a value and others have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartlyMissing {
    /// Its place in the list of the run's samples.
    pub sample: u32,
    /// How many of its attempts have no value.
    pub missing: u32,
    /// How many attempts it has.
    pub attempts: u32,
}

/// An attempt of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptPlace {
    /// The place of its sample in the list of the run's samples.
    pub sample: u32,
    /// Which attempt at the sample it is.
    pub epoch: u32,
    /// True for an attempt that ended in an error.
    pub is_errored: bool,
}

/// What a metric rests on, attempt by attempt. Which attempt a row is matters where several metrics are joined: their rows need not be in
/// the same order, nor of the same attempts.
#[derive(Clone, Debug)]
pub struct AttemptEvidence {
    /// Samples occur as often as they have attempts.
    pub evidence: Evidence,
    /// The epochs of the rows that have a value, in their order.
    pub epochs: Vec<u32>,
    /// The epochs of the rows that have none.
    pub missing_epochs: Vec<u32>,
}

impl<'s> RunRows<'s> {
    /// The rows of a run, none of them looked at yet.
    pub fn new(samples: &'s Samples) -> Self {
        Self { samples, attempts: OnceCell::new(), attempt_count: OnceCell::new() }
    }

    fn attempt_count(&self) -> usize {
        *self.attempt_count.get_or_init(|| self.samples.attempts())
    }

    /// Every attempt, scored or not.
    pub fn attempts(&self) -> Points<'s> {
        self.attempts.get_or_init(|| self.samples.attempt_points()).clone()
    }

    /// All attempts, each once.
    #[must_use]
    pub fn attempt_places(&self) -> Vec<AttemptPlace> {
        let points = self.attempts();
        let place = |(row, &sample): (usize, &u32)| AttemptPlace {
            sample,
            epoch: points.epoch(row),
            is_errored: points.is_errored(row),
        };
        points.sample_codes().iter().enumerate().map(place).collect()
    }

    /// The values of a field, or else of a metadata key.
    pub fn field_values(&self, name: &str, context: &Context) -> Result<AttemptValues, Error> {
        let points = self.attempts();
        let values = points.field(name, &context.labels)?;
        let are_flags = match points.field_values(name) {
            Column::Floats(_) => false,
            Column::Coded(coded) => {
                let is_flag = |value: &Value| matches!(value, Value::Bool(_) | Value::Missing | Value::Null);
                coded.dictionary().iter().all(is_flag)
            }
        };
        let given = points.sample_codes().iter().zip(values).filter_map(|(&sample, value)| Some((sample, value?)));
        Ok(AttemptValues { values: given.collect(), are_flags })
    }

    /// The scores of a scorer.
    pub fn score_values(&self, scorer: &str, context: &Context) -> Result<AttemptValues, Error> {
        let scored = self.samples.points(scorer)?.unique()?.scored();
        let values = scored.sample_codes().iter().copied().zip(scored.floats(context)?.iter().copied()).collect();
        Ok(AttemptValues { values, are_flags: false })
    }
}

impl Metric {
    /// The answer for a run, from the rows that a [`Plan`](crate::Plan) would choose.
    ///
    /// A metric of scores needs a scorer: its own, else this one, else the only one there is. With several it is an error
    /// that lists them. In a run without scores `accuracy` uses `correct`, then `passed`.
    ///
    /// ```
    /// use calipers_core::{Context, Samples, accuracy, mean_score};
    ///
    /// let mut samples = Samples::new();
    /// samples.push(1).score("judge", "C").score("exact", "I");
    /// let (reducer, context) = (mean_score(), Context::default());
    /// let answer = accuracy().answer(&samples, &reducer, Some("judge"), &context)?;
    /// assert_eq!(answer.figure().expect("one number").value, Ok(1.0));
    /// let error = accuracy().answer(&samples, &reducer, None, &context).unwrap_err();
    /// assert!(error.to_string().starts_with("the run has several scorers: exact, judge"));
    /// # Ok::<(), calipers_core::Error>(())
    /// ```
    pub fn answer(
        &self,
        samples: &Samples,
        reducer: &Reducer,
        scorer: Option<&str>,
        context: &Context,
    ) -> Result<Answer, Error> {
        self.answer_for(&RunRows::new(samples), reducer, scorer, context)
    }

    /// The same for rows that may have been looked up before.
    pub fn answer_for(
        &self,
        rows: &RunRows<'_>,
        reducer: &Reducer,
        scorer: Option<&str>,
        context: &Context,
    ) -> Result<Answer, Error> {
        let (metric, points) = self.asked_of(rows, reducer, scorer, context)?;
        // As in a plan: what has no row is missing.
        let points = match metric.view {
            _ if context.inspect => points,
            View::Attempts => points,
            View::Unreduced => points.with_absent_attempts(),
            _ => points.with_absent_samples(),
        };
        let mut state = metric.start();
        state.fold(&points, context)?;
        finish_one(state, context)
    }

    /// What the answer for a run rests on, sample by sample; none for metrics that are no mean, ratio of sums or quantile.
    ///
    /// The rows are those of [`answer`](Self::answer). Samples that the scorer did not look at, such as those that ended in
    /// errors, are among the missing ones.
    ///
    /// ```
    /// use calipers_core::{Context, Evidence, Samples, accuracy, mean_score};
    ///
    /// let mut samples = Samples::new();
    /// samples.push("a").score("judge", "C");
    /// samples.push("b").error("connection reset");
    /// let evidence = accuracy().evidence(&samples, &mean_score(), None, &Context::default())?;
    /// assert_eq!(evidence, Some(Evidence::Mean { samples: vec![0], values: vec![1.0], missing: vec![1] }));
    /// # Ok::<(), calipers_core::Error>(())
    /// ```
    pub fn evidence(
        &self,
        samples: &Samples,
        reducer: &Reducer,
        scorer: Option<&str>,
        context: &Context,
    ) -> Result<Option<Evidence>, Error> {
        self.evidence_for(&RunRows::new(samples), reducer, scorer, context)
    }

    /// The same for rows that may have been looked up before.
    pub fn evidence_for(
        &self,
        rows: &RunRows<'_>,
        reducer: &Reducer,
        scorer: Option<&str>,
        context: &Context,
    ) -> Result<Option<Evidence>, Error> {
        let (metric, points) = self.asked_of(rows, reducer, scorer, context)?;
        let points = if metric.view == View::Attempts { points } else { points.with_absent_samples() };
        metric.evidence_of(&points, context)
    }

    /// The value of every attempt with its sample's place, for a metric that is a mean over samples; none for others.
    pub fn attempts_for(
        &self,
        rows: &RunRows<'_>,
        scorer: Option<&str>,
        context: &Context,
    ) -> Result<Option<Vec<(u32, f64)>>, Error> {
        let each = self.clone().view(if self.view == View::Attempts { self.view } else { View::Unreduced });
        let (metric, points) = each.asked_of(rows, &context.attempts, scorer, context)?;
        let mut values = Vec::new();
        // First attempts, second attempts and so on: with one attempt per sample there is nothing to reduce.
        for rows in attempts_apart(points.sample_codes()) {
            let Some(Evidence::Mean { samples, values: each, .. }) =
                metric.evidence_of(&points.gather(&rows), context)?
            else {
                return Ok(None);
            };
            values.extend(samples.into_iter().zip(each));
        }
        Ok(Some(values))
    }

    /// What the answer rests on, attempt by attempt: samples occur as often as they have attempts. None for metrics that rest
    /// on no evidence, and for those that have several values per attempt.
    ///
    /// ```
    /// use calipers_core::{Context, RunRows, Samples, accuracy};
    ///
    /// let mut samples = Samples::new();
    /// samples.push_epoch("a", 2).score("judge", "C");
    /// samples.push_epoch("a", 1).score("judge", "I");
    /// let found = accuracy().evidence_by_attempt(&RunRows::new(&samples), None, &Context::default())?.expect("a mean");
    /// assert_eq!(found.epochs.len(), 2);
    /// # Ok::<(), calipers_core::Error>(())
    /// ```
    pub fn evidence_by_attempt(
        &self,
        rows: &RunRows<'_>,
        scorer: Option<&str>,
        context: &Context,
    ) -> Result<Option<AttemptEvidence>, Error> {
        let each = self.clone().view(if self.view == View::Attempts { self.view } else { View::Unreduced });
        let (metric, points) = each.asked_of(rows, &context.attempts, scorer, context)?;
        let mut all: Option<AttemptEvidence> = None;
        for (attempt, rows) in attempts_apart(points.sample_codes()).iter().enumerate() {
            let points = points.gather(rows);
            let points =
                if attempt > 0 || metric.view == View::Attempts { points } else { points.with_absent_samples() };
            let Some(evidence) = metric.evidence_of(&points, context)? else { return Ok(None) };
            // Each sample has one row here.
            let epochs: HashMap<u32, u32> =
                points.sample_codes().iter().enumerate().map(|(row, &sample)| (sample, points.epoch(row))).collect();
            let of = |samples: &[u32]| samples.iter().map(|sample| epochs[sample]).collect();
            let (epochs, missing_epochs): (Vec<u32>, Vec<u32>) = (of(evidence.samples()), of(evidence.missing()));
            match &mut all {
                None => all = Some(AttemptEvidence { evidence, epochs, missing_epochs }),
                Some(all) => {
                    all.evidence.append(evidence);
                    all.epochs.extend(epochs);
                    all.missing_epochs.extend(missing_epochs);
                }
            }
        }
        Ok(all)
    }

    /// The samples of which some attempts have a value and others have none. Their values in [`evidence`](Self::evidence) rest on the
    /// attempts that have one.
    ///
    /// ```
    /// use calipers_core::{Context, PartlyMissing, RunRows, Samples, accuracy};
    ///
    /// let mut samples = Samples::new();
    /// samples.push("a").score("judge", "C");
    /// samples.push("a").error("connection reset");
    /// samples.push("b").score("judge", "C");
    /// let partly = accuracy().partly_missing(&RunRows::new(&samples), None, &Context::default())?;
    /// assert_eq!(partly, [PartlyMissing { sample: 0, missing: 1, attempts: 2 }]);
    /// # Ok::<(), calipers_core::Error>(())
    /// ```
    pub fn partly_missing(
        &self,
        rows: &RunRows<'_>,
        scorer: Option<&str>,
        context: &Context,
    ) -> Result<Vec<PartlyMissing>, Error> {
        // Most runs are whole, and are not looked at attempt by attempt.
        if rows.attempt_count() == rows.samples.len() || !rows.samples.has_gaps() {
            return Ok(Vec::new());
        }
        let count = |samples: &[u32]| {
            let mut counts = vec![0u32; rows.samples.len()];
            samples.iter().for_each(|&sample| counts[sample as usize] += 1);
            counts
        };
        let attempts = count(rows.attempts().sample_codes());
        let missing = match self.evidence_by_attempt(rows, scorer, context)?.map(|found| found.evidence) {
            // Attempts that the scorer did not look at have no row.
            Some(Evidence::Mean { samples, .. }) => {
                attempts.iter().zip(count(&samples)).map(|(all, known)| all.saturating_sub(known)).collect()
            }
            Some(evidence @ (Evidence::Ratio { .. } | Evidence::Table { .. })) => count(evidence.missing()),
            // The attempts of a quantile are listed one by one, and labels are of samples.
            Some(Evidence::Quantile { .. } | Evidence::Corrected { .. }) | None => Vec::new(),
        };
        let each = (0u32..).zip(missing.into_iter().zip(attempts));
        let partly = each.filter(|(_, (missing, attempts))| *missing > 0 && missing < attempts);
        Ok(partly.map(|(sample, (missing, attempts))| PartlyMissing { sample, missing, attempts }).collect())
    }

    /// What the figure for these rows rests on.
    pub(super) fn evidence_of(&self, points: &Points<'_>, context: &Context) -> Result<Option<Evidence>, Error> {
        let evidence = self.measure.evidence(points, &self.own_context(context));
        evidence.map_err(|error| error.at_metric_if_unnamed(&self.name))
    }

    /// The metric, or what takes its place without scores, and its rows.
    fn asked_of<'s>(
        &self,
        rows: &RunRows<'s>,
        reducer: &Reducer,
        scorer: Option<&str>,
        context: &Context,
    ) -> Result<(Cow<'_, Self>, Points<'s>), Error> {
        let samples = rows.samples;
        let known: BTreeSet<&Arc<str>> = samples.columns().collect();
        let scorers: Vec<&Arc<str>> = samples.scorers().collect();
        // As in a plan: an attempt that did not run says nothing about names.
        if rows.attempt_count() > samples.errored_attempts() {
            self.check_fields(&known)?;
            self.check_scorer(&scorers)?;
        }
        if self.view == View::Attempts {
            return Ok((Cow::Borrowed(self), rows.attempts()));
        }
        let named = self.scorer.as_deref().or(scorer);
        let candidates: Vec<&Arc<str>> = scorers.iter().copied().filter(|scorer| self.is_for(scorer)).collect();
        let scorer = match (named, &candidates[..]) {
            (Some(scorer), _) => scorer,
            (None, [only]) => only,
            (None, []) => {
                let stand_in = self.stand_in().filter(|metric| metric.has_field_among(&known));
                let metric = stand_in.ok_or_else(|| self.no_scores())?;
                return Ok((Cow::Owned(metric), rows.attempts()));
            }
            (None, several) => return Err(several_scorers(several.iter().copied(), &self.name)),
        };
        if samples.scores(scorer).is_none() {
            let known = scorers.iter().map(ToString::to_string).collect();
            return Err(Error::from(ErrorKind::NoScorer { scorer: scorer.to_owned(), known }).at_metric(&self.name));
        }
        let attempts = samples.points(scorer)?;
        let rows = if self.view == View::Unreduced { attempts.unique() } else { attempts.reduce(reducer, context) };
        Ok((Cow::Borrowed(self), rows?))
    }

    pub(crate) fn no_scores(&self) -> Error {
        let hint = "score the run, or use a metric over fields, such as `pass_rate`";
        Error::argument(format!("`{}` needs scores, and the run has none", self.name), hint)
    }
}

/// The rows of first attempts, of second ones, and so on.
fn attempts_apart(samples: &[u32]) -> Vec<Vec<u32>> {
    let mut seen = vec![0; samples.iter().max().map_or(0, |&last| last as usize + 1)];
    let mut apart: Vec<Vec<u32>> = Vec::new();
    for (&sample, row) in samples.iter().zip(0..) {
        let attempt = &mut seen[sample as usize];
        if *attempt == apart.len() {
            apart.push(Vec::new());
        }
        apart[*attempt].push(row);
        *attempt += 1;
    }
    apart
}
