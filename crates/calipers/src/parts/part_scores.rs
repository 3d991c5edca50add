//! Parts with states of metrics, and the report that they make.

use super::part_fit::{is_silent, read_payload};
use super::{FoldOptions, Parts, RunInParts, Share};
use crate::judge::unless_said;
use crate::load::has_scores;
use crate::pipeline::{NeverRan, fold_with};
use crate::score::{
    SCORING_FIELDS, ScoreOptions, attempts_of, cached_answers, lacks_scores, limits_caveat, limits_hit,
    metrics_by_names, metrics_without_scores, plan, with_default_metrics,
};
use crate::{RunError, Selection, recorded_check};
use calipers_core::{
    Caveat, Error, ErrorKind, JudgeLabels, Partial, Plan, RunReport, SampleCounts, StateReader, StateWriter, Stored,
};
use calipers_io::{Part, PartHeader, PartKind, RecordedRun};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// What a report says besides figures.
struct PartSummary {
    run: RecordedRun<()>,
    counts: SampleCounts,
    attempts: u64,
    limits: BTreeMap<Arc<str>, u64>,
    cached: (u64, u64),
    /// Labels of people beside scores; none where they could not be read.
    labels: Option<JudgeLabels>,
    /// The metrics of records without scores, by name.
    metrics_by_fields: Vec<String>,
    /// The scorers of which it has scores.
    scorers: Vec<String>,
    /// True where fields stand in for scores; not known where there is neither.
    is_scored_by_fields: Option<bool>,
}

impl Stored for PartSummary {
    fn save(&self, out: &mut StateWriter) {
        out.put(&self.run);
        out.put(&self.counts);
        out.put(&self.attempts);
        out.put(&self.limits.iter().map(|(kind, count)| (kind.clone(), *count)).collect::<Vec<_>>());
        out.put(&(self.cached.0, self.cached.1.min(1 << 40)));
        out.put(&self.labels);
        out.put(&self.metrics_by_fields);
        out.put(&self.scorers);
        out.put(&self.is_scored_by_fields);
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        Ok(Self {
            run: from.take()?,
            counts: from.take()?,
            attempts: from.take()?,
            limits: from.list(StateReader::take)?.into_iter().collect(),
            cached: from.take()?,
            labels: from.take()?,
            metrics_by_fields: from.take()?,
            scorers: from.take()?,
            is_scored_by_fields: from.take()?,
        })
    }
}

/// A part with the states of metrics over the files of a selection.
///
/// ```
/// use calipers::io::Source;
/// use calipers::parts::{FoldOptions, PartPlace, Parts, fold_scores};
/// use calipers::score::ScoreOptions;
/// use calipers::Selection;
///
/// let options = ScoreOptions::default();
/// let part = |number: u32, score: &str| {
///     let line = format!(r#"{{"id": {number}, "score": "{score}"}}"#);
///     let selection = Selection::of([Source::bytes("part.jsonl", line.as_bytes())]);
///     let place = PartPlace { number, of: 2, is_bucket: false };
///     fold_scores(&selection, &options, &FoldOptions { place, ..FoldOptions::default() })
/// };
/// let parts = Parts::new(vec![("a".to_owned(), part(1, "C")?), ("b".to_owned(), part(2, "I")?)])?;
/// let report = parts.score(&Selection::default(), &options)?;
/// assert_eq!(report.results.figure("score", "accuracy").expect("default").value, Ok(0.5));
/// # Ok::<(), calipers::RunError>(())
/// ```
pub fn fold_scores(selection: &Selection, options: &ScoreOptions, fold: &FoldOptions) -> Result<Part, RunError> {
    check_travels(selection, options)?;
    let share = Share::load(selection, &options.needs(selection), fold)?;
    let names: Vec<String> = share.runs.iter().filter_map(|run| run.name.clone()).collect();
    if share.runs.len() > 1 {
        return Err(Error::from(ErrorKind::SeveralRuns { runs: names }).into());
    }
    let run = share.runs.into_iter().next().unwrap_or_default();
    let (mut run, mut samples) = run.split();
    let had_scores = has_scores(&samples);
    if options.metrics.as_deref().is_some_and(|metrics| lacks_scores(metrics, &samples)) {
        samples.score_by_fields(&SCORING_FIELDS);
    }
    let is_scored_by_fields = has_scores(&samples).then_some(!had_scores);
    run.recorded = with_default_metrics(run.recorded, &samples);
    let (plan, _) = plan(&run.recorded, selection, options, &mut run.notes)?;
    let by_fields = if options.metrics.is_none() { metrics_without_scores(&samples) } else { Vec::new() };
    let metrics_by_fields: Vec<String> = by_fields.iter().map(|metric| metric.name().to_owned()).collect();
    let plan = if by_fields.is_empty() { plan } else { plan.metrics(by_fields) }.in_parts();
    let parts: Vec<_> = samples.iter().collect();
    let scorers = parts.iter().flat_map(|part| part.scorers()).map(ToString::to_string).collect();
    let never_ran = NeverRan::of(run.completeness.as_ref().map_or(&[][..], |one| &one.never_ran), &samples);
    let summary = PartSummary {
        counts: samples.counts(),
        attempts: attempts_of(&samples),
        limits: limits_hit(&samples),
        cached: cached_answers(&samples),
        labels: JudgeLabels::of(&parts, &selection.context()?).ok(),
        metrics_by_fields,
        scorers,
        is_scored_by_fields,
        run,
    };
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let threads = threads.min(NonZeroUsize::new(samples.iter().count()).unwrap_or(NonZeroUsize::MIN));
    let partial = fold_with(&plan, samples, &never_ran, threads)?;
    let mut out = StateWriter::new();
    out.put(&summary);
    partial.save(&mut out)?;
    Ok(Part {
        header: PartHeader {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            kind: PartKind::States,
            plan: describe(&plan, selection, &fold.depends_on),
            words: fold.words.clone(),
            place: fold.place,
            inputs: share.inputs,
            left_out: share.left_out,
            samples: share.samples,
        },
        payload: out.finish(),
    })
}

/// What needs all attempts in one place cannot be measured in parts.
fn check_travels(selection: &Selection, options: &ScoreOptions) -> Result<(), Error> {
    let what = match () {
        () if selection.missing.is_some() => "attempts without a score are failed or left out",
        () if selection.human_labels.is_some() => "labels in another file belong to their samples",
        () if options.inspect => "the numbers of another tool are computed",
        () if selection.attempts_from.is_some() => "it is known which file is which attempt",
        () => return Ok(()),
    };
    let hint = "fold attempts instead of states, merge them, and score the whole";
    Err(Error::argument(format!("{what} only where all attempts are"), hint))
}

/// Everything that moves the figures.
fn describe(plan: &Plan, selection: &Selection, depends_on: &[(String, String)]) -> Vec<(String, String)> {
    let plan = plan.describe().into_iter().map(|(name, value)| (name.to_owned(), value));
    let filter: Vec<String> = selection.filter.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let chosen =
        [("chosen scorers".to_owned(), selection.scorers.join(", ")), ("conditions".to_owned(), filter.join(", "))];
    plan.chain(chosen).chain(depends_on.iter().cloned()).collect()
}

impl Parts {
    /// The report of parts with states. `selection` and `options` are those that the parts were folded with.
    pub fn score(self, selection: &Selection, options: &ScoreOptions) -> Result<RunReport, RunError> {
        let mut summaries: Vec<PartSummary> = Vec::new();
        let mut states: Vec<(&str, &Part, usize)> = Vec::new();
        for (name, part) in &self.parts {
            if part.header.kind != PartKind::States {
                let what = format!("{name} holds attempts, and no states of metrics");
                return Err(Error::argument(what, "merge the parts into one, and score that").into());
            }
            let mut from = StateReader::new(&part.payload);
            summaries.push(from.take().map_err(RunError::in_source(name))?);
            states.push((name, part, part.payload.len() - from.left()));
        }
        let speaking = states.iter().zip(&summaries).find(|((_, part, _), _)| !is_silent(part));
        let ((_, first, _), summary) = speaking.unwrap_or((&states[0], &summaries[0]));
        let by_fields = |wanted: bool| summaries.iter().any(|one| one.is_scored_by_fields == Some(wanted));
        if by_fields(true) && by_fields(false) {
            let what = "some parts have scores, and in others only fields say how attempts went";
            return Err(
                Error::argument(what, "fold attempts instead of states, merge them, and score the whole").into()
            );
        }
        let mut notes = Vec::new();
        let (plan, figures) = plan(&summary.run.recorded, selection, options, &mut notes)?;
        let by_fields = metrics_by_names(&summary.metrics_by_fields);
        let plan = if by_fields.is_empty() { plan } else { plan.metrics(by_fields) }.in_parts();
        let known = describe(&plan, selection, &[]);
        if let Some((name, value)) = known.iter().find(|pair| !first.header.plan.contains(pair)) {
            let what = format!("the parts were folded with other {name} than `{value}`");
            return Err(
                Error::argument(what, "merge with the options and scripts that the parts were folded with").into()
            );
        }
        let mut whole: Option<Partial<'_>> = None;
        for (name, part, at) in states.iter().filter(|(_, part, _)| !is_silent(part)) {
            let rest = Part { header: part.header.clone(), payload: part.payload[*at..].to_vec() };
            let partial = read_payload(name, &rest, |from| plan.load(from))?;
            match &mut whole {
                Some(whole) => whole.merge(partial),
                None => whole = Some(partial),
            }
        }
        let mut results = whole.unwrap_or_else(|| plan.start()).finish()?;
        let scorers: Vec<String> = summaries.iter().flat_map(|summary| summary.scorers.iter().cloned()).collect();
        let mut all = summaries.into_iter();
        let Some(first) = all.next() else {
            return Err(Error::argument("there are no parts", "name the files of all parts").into());
        };
        let PartSummary { run, mut counts, mut attempts, mut limits, mut cached, mut labels, .. } = first;
        let mut run = RunInParts::new(run);
        for other in all {
            run.add(other.run)?;
            counts += other.counts;
            attempts += other.attempts;
            other.limits.into_iter().for_each(|(kind, count)| *limits.entry(kind).or_default() += count);
            cached = (cached.0 + other.cached.0, cached.1 + other.cached.1);
            labels = match (labels, other.labels) {
                (Some(mut mine), Some(theirs)) => {
                    mine.merge(theirs);
                    Some(mine)
                }
                _ => None,
            };
        }
        let run = run.finish();
        check_chosen(selection, &counts, scorers)?;
        let mut caveats: Vec<Caveat> = run.completeness.iter().filter_map(|one| one.caveat(None)).collect();
        caveats.extend(limits_caveat(limits));
        caveats.extend(Caveat::of_cached(None, cached, attempts));
        recorded_check::check_results(&mut results, &run.recorded.figures, selection);
        let figures = if run.recorded.figures.is_empty() { Vec::new() } else { figures };
        let shown = results.scores.iter().flat_map(|score| score.metrics.values()).map(|metric| &metric.figure);
        let disagreements = labels.map(|labels| labels.caveats(&selection.context().unwrap_or_default()));
        let disagreements = unless_said(disagreements.unwrap_or_default(), shown);
        results.caveats.splice(0..0, caveats.into_iter().chain(disagreements));
        Ok(RunReport {
            source: run.source,
            format: run.format.to_owned(),
            name: run.name,
            columns: run.columns,
            task: run.task,
            model: run.model,
            created: run.created,
            commit: run.commit,
            samples: counts,
            results,
            recorded: figures,
            notes: run.notes,
        })
    }
}

/// A scorer or a condition that no part knows is a mistake, as it is in one place.
fn check_chosen(selection: &Selection, counts: &SampleCounts, mut scorers: Vec<String>) -> Result<(), Error> {
    scorers.sort_unstable();
    scorers.dedup();
    if let Some(unknown) = selection.scorers.iter().find(|name| !scorers.contains(name)) {
        return Err(ErrorKind::NoScorer { scorer: unknown.clone(), known: scorers }.into());
    }
    if counts.total == 0 && !selection.filter.is_empty() {
        let filter: Vec<String> = selection.filter.iter().map(|(key, value)| format!("`{key}` = `{value}`")).collect();
        return Err(Error::argument(format!("no sample has {}", filter.join(" and ")), "check the conditions"));
    }
    Ok(())
}
