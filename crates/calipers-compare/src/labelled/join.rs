//! What people said about samples, beside what the judge said.

use super::judge_report::{LabelCounts, LabelPlace};
use calipers_core::{Context, Error, ErrorKind, Outcome, Record, SampleId, Samples, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the judge said about a sample, and what people said about some of its attempts.
pub(super) struct JudgedSample {
    /// The group that it belongs to.
    pub(super) group: Option<Arc<str>>,
    /// The judge's scores of all attempts that have one.
    pub(super) judged: Vec<f64>,
    /// Attempts with both.
    pub(super) pairs: Vec<LabelledAttempt>,
}

/// An attempt with the judge's score and at least one rating by a person.
pub(super) struct LabelledAttempt {
    pub(super) judge: f64,
    pub(super) ratings: Vec<f64>,
    /// What people say together: the majority of 0/1 ratings, or else the mean. None if the majority is tied.
    pub(super) human: Option<f64>,
}

/// Samples and labels, joined by their ids.
pub(super) struct JoinedLabels {
    pub(super) samples: Vec<JudgedSample>,
    pub(super) counts: LabelCounts,
    /// True when every score and every rating is 0 or 1.
    pub(super) is_binary: bool,
}

/// Columns that say who labelled a sample, the first that there is.
const ANNOTATOR_KEYS: [&str; 6] = ["annotator", "annotator_id", "rater", "labeler", "labeller", "reviewer"];
/// Fields that say whether an attempt passed, where there is no scorer.
const PASS_FIELDS: [&str; 2] = ["passed", "correct"];

pub(super) fn join(
    run: &Samples,
    labels: &Samples,
    scorer: Option<&str>,
    group: Option<&str>,
    context: &Context,
) -> Result<JoinedLabels, Error> {
    let mut counts = LabelCounts::default();
    let mut ratings = ratings_of(labels, context, &mut counts)?;
    let by_attempt = labels.gives_epochs();
    let mut samples: Vec<JudgedSample> = Vec::new();
    let mut last: Option<SampleId> = None;
    for record in run.records() {
        counts.attempts += 1;
        let judge = judge_score(&record, scorer, context)?;
        if last.as_ref() != Some(&record.id) {
            let group = group.and_then(|key| record.metadata.get(key)).map(|value| value.to_string().into());
            samples.push(JudgedSample { group, judged: Vec::new(), pairs: Vec::new() });
        } else if !by_attempt && ratings.was_used(&record.id) {
            return Err(several_attempts(&record.id));
        }
        let sample = samples.last_mut().expect("one was just added");
        sample.judged.extend(judge);
        let found = ratings.take(&record.id, by_attempt.then_some(record.epoch));
        match (judge, found) {
            (Some(judge), Some(ratings)) => sample.pairs.push(LabelledAttempt { judge, ratings, human: None }),
            (None, Some(_)) => {
                counts.unjudged.push(LabelPlace { id: record.id.clone(), epoch: by_attempt.then_some(record.epoch) });
            }
            (None, None) => counts.unscored += 1,
            (Some(_), None) => {}
        }
        last = Some(record.id);
    }
    counts.unknown = ratings.list_unused();
    let is_voted = ratings.are_votes();
    let is_binary = is_voted && samples.iter().flat_map(|sample| &sample.judged).all(|&x| x == 0.0 || x == 1.0);
    for sample in &mut samples {
        for pair in &mut sample.pairs {
            pair.human = combine(&pair.ratings, is_voted);
        }
        let rated = sample.pairs.len();
        sample.pairs.retain(|pair| pair.human.is_some());
        counts.tied += (rated - sample.pairs.len()) as u64;
    }
    samples.retain(|sample| !sample.judged.is_empty());
    counts.samples = samples.len() as u64;
    counts.labelled = samples.iter().filter(|sample| !sample.pairs.is_empty()).count() as u64;
    counts.labelled_attempts = samples.iter().map(|sample| sample.pairs.len() as u64).sum();
    Ok(JoinedLabels { samples, counts, is_binary })
}

/// What several ratings come to: the majority of votes, of which there may be none, or else the mean.
pub(super) fn combine(ratings: &[f64], is_voted: bool) -> Option<f64> {
    let mean = calipers_stats::Moments::from_slice(ratings).mean().ok()?;
    match (is_voted, mean) {
        (false, mean) => Some(mean),
        (true, mean) if mean > 0.5 => Some(1.0),
        (true, mean) if mean < 0.5 => Some(0.0),
        (true, _) => None,
    }
}

pub(super) fn several_attempts(id: &SampleId) -> Error {
    let message = format!("sample `{id}` has several attempts, and its label does not say which one it is about");
    Error::argument(message, "give the labels an `epoch`: the attempt, counted from 1")
}

/// The judge's score of an attempt, if it has one.
fn judge_score(record: &Record, scorer: Option<&str>, context: &Context) -> Result<Option<f64>, Error> {
    let place = |error: Error| error.at_sample(&record.id).at_epoch(record.epoch);
    let value = match scorer {
        Some(name) => {
            let score = record.scores.iter().find(|(scorer, _)| **scorer == *name);
            match score {
                Some((_, Outcome::Scored(score))) => Some(score.value.clone()),
                _ => None,
            }
        }
        None => PASS_FIELDS.iter().find_map(|name| field(record, name)),
    };
    if record.error.is_some() && value.is_none() {
        return Ok(None);
    }
    value.map(|value| number(&value, context).map_err(place)).transpose()
}

fn field(record: &Record, name: &str) -> Option<Value> {
    let field = record.fields.iter().find(|(known, _)| **known == *name).map(|(_, value)| value.clone());
    field.filter(|value| !value.is_missing())
}

/// A score as a number; 0 or 1 where a threshold says so.
fn number(value: &Value, context: &Context) -> Result<f64, Error> {
    let number = context.labels.to_float(value).filter(|x| x.is_finite());
    let number = number.ok_or_else(|| Error::from(ErrorKind::UnknownLabel(value.clone())))?;
    Ok(context.pass_threshold.map_or(number, |threshold| f64::from(u8::from(number >= threshold))))
}

/// The ratings of every labelled sample or attempt, until they are taken.
pub(super) struct Ratings {
    pub(super) by_place: BTreeMap<(SampleId, Option<u32>), RatingList>,
}

#[derive(Default)]
pub(super) struct RatingList {
    /// Who gave which.
    pub(super) given: Vec<(String, f64)>,
    is_used: bool,
}

impl Ratings {
    fn take(&mut self, id: &SampleId, epoch: Option<u32>) -> Option<Vec<f64>> {
        let list = self.by_place.get_mut(&(id.clone(), epoch))?;
        list.is_used = true;
        Some(list.given.iter().map(|(_, rating)| *rating).collect())
    }

    /// True when all ratings are 0 or 1: what passed, by vote.
    pub(super) fn are_votes(&self) -> bool {
        self.by_place.values().flat_map(|list| &list.given).all(|(_, x)| *x == 0.0 || *x == 1.0)
    }

    fn was_used(&self, id: &SampleId) -> bool {
        self.by_place.get(&(id.clone(), None)).is_some_and(|list| list.is_used)
    }

    fn list_unused(&self) -> Vec<LabelPlace> {
        let unused = self.by_place.iter().filter(|(_, list)| !list.is_used);
        unused.map(|((id, epoch), _)| LabelPlace { id: id.clone(), epoch: *epoch }).collect()
    }
}

/// Every rating by its sample, and by its attempt where labels name attempts.
pub(super) fn ratings_of(labels: &Samples, context: &Context, counts: &mut LabelCounts) -> Result<Ratings, Error> {
    labels.check_repeats()?;
    let by_attempt = labels.gives_epochs();
    let has_scorers = labels.scorers().next().is_some();
    let has_several = labels.scorers().nth(1).is_some();
    let mut by_place: BTreeMap<(SampleId, Option<u32>), RatingList> = BTreeMap::new();
    for record in labels.records() {
        let annotator = ANNOTATOR_KEYS
            .iter()
            .find_map(|key| record.metadata.get(key).filter(|value| !value.is_missing()).map(ToString::to_string));
        // Without a name, each row is by someone else.
        let rater = annotator.unwrap_or_else(|| format!("#{}", record.epoch));
        let scored = record.scores.iter().map(|(scorer, outcome)| match outcome {
            Outcome::Scored(score) => (scorer.to_string(), Some(score.value.clone())),
            Outcome::Unscored { .. } => (scorer.to_string(), None),
        });
        let by_field = || PASS_FIELDS.iter().find_map(|name| field(&record, name));
        let values: Vec<(String, Option<Value>)> =
            if has_scorers { scored.collect() } else { vec![(String::new(), by_field())] };
        for (scorer, value) in values {
            let Some(value) = value else {
                counts.blank += 1;
                continue;
            };
            let place = |error: Error| error.at_sample(&record.id);
            let rating = number(&value, context).map_err(place)?;
            counts.ratings += 1;
            let list = by_place.entry((record.id.clone(), by_attempt.then_some(record.epoch))).or_default();
            let rater = if has_several { format!("{rater}: {scorer}") } else { rater.clone() };
            match list.given.iter().find(|(known, _)| *known == rater) {
                Some((_, known)) if *known == rating => counts.doubled += 1,
                Some(_) => return Err(place(contradiction(&rater))),
                None => list.given.push((rater, rating)),
            }
        }
    }
    if by_place.is_empty() {
        let hint = "give each sample a `label`, or say which column it is";
        return Err(Error::argument("no sample has a label", hint));
    }
    Ok(Ratings { by_place })
}

fn contradiction(rater: &str) -> Error {
    let message = format!("`{rater}` gave two different labels");
    Error::argument(message, "keep the one that counts, or name the annotators apart")
}
