//! Which samples began to fail or to pass, and which are flaky.

use super::compare_report::{AttemptCounts, Flakiness, SampleChange, SampleChanges};
use super::matching::{MatchedSample, RunMatch};
use super::run_metric::no_shared_scorer;
use super::{CompareQuestion, ComparedRun};
use calipers_core::metric::RunRows;
use calipers_core::{Error, Incomparable, Metric, PassRule, Scenario, ScenarioOutcome, Scenarios, Score, Shortcoming};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// The attempts of a run, sample by sample.
struct RunOutcomes<'a> {
    scenarios: Scenarios<'a>,
    /// The attempts of each sample, by its place; none where each has one, at the same place.
    attempts: Option<Vec<Range<u32>>>,
    samples: u32,
}

/// The samples that changed, or why that is not known.
pub(super) fn find_sample_changes(
    [candidate, baseline]: [&ComparedRun<'_>; 2],
    rows: [&RunRows<'_>; 2],
    joined: &RunMatch<'_>,
    question: &CompareQuestion<'_>,
) -> Result<SampleChanges, Incomparable> {
    let ours = RunOutcomes::new(candidate, rows[0], question)?;
    let theirs = RunOutcomes::new(baseline, rows[1], question)?;
    if ours.scenarios.rests_on_score() && theirs.scenarios.rests_on_score() {
        let scorers = |run: &ComparedRun<'_>| run.samples.scorers().cloned().collect::<BTreeSet<Arc<str>>>();
        if scorers(candidate).is_disjoint(&scorers(baseline)) {
            return Err(no_shared_scorer([candidate, baseline]));
        }
    }
    let mut changes = SampleChanges {
        flaky_candidate: ours.flakiness(),
        flaky_baseline: theirs.flakiness(),
        ..SampleChanges::default()
    };
    for pair in joined.pairs.iter() {
        let sample = || {
            let (now, then) = (ours.attempts(pair.candidate), theirs.attempts(pair.baseline));
            pair_up(joined, &pair, now, then, [&ours, &theirs])
        };
        if ours.is_flaky(pair.candidate) || theirs.is_flaky(pair.baseline) {
            changes.flaky.push(sample());
        }
        let passed = |run: &RunOutcomes<'_>, place: u32| run.has_passed(place, question);
        match (passed(&theirs, pair.baseline), passed(&ours, pair.candidate)) {
            (Some(true), Some(true)) => changes.still_passing += 1,
            (Some(false), Some(false)) => changes.still_failing += 1,
            (Some(true), Some(false)) => changes.newly_failing.push(sample()),
            (Some(false), Some(true)) => changes.newly_fixed.push(sample()),
            _ => changes.unknown += 1,
        }
    }
    // Samples that changed in every attempt come before flaky ones.
    for all in [&mut changes.newly_failing, &mut changes.newly_fixed] {
        all.sort_by_key(SampleChange::is_flaky);
    }
    if changes.unknown == joined.pairs.len() as u64 {
        return Err(Incomparable::NoSharedOutcome);
    }
    Ok(changes)
}

fn pair_up(
    joined: &RunMatch<'_>,
    pair: &MatchedSample,
    candidate: AttemptCounts,
    baseline: AttemptCounts,
    [ours, theirs]: [&RunOutcomes<'_>; 2],
) -> SampleChange {
    SampleChange {
        id: joined.id(pair),
        category: joined.category(pair).cloned(),
        candidate,
        baseline,
        reason: ours.reason(pair.candidate).or_else(|| theirs.reason(pair.baseline)),
    }
}

impl<'a> RunOutcomes<'a> {
    fn new(run: &ComparedRun<'_>, rows: &RunRows<'a>, question: &CompareQuestion<'_>) -> Result<Self, Incomparable> {
        let by_rule = |rule: &PassRule| {
            let scenarios = Scenarios::of_run(rows, rule, &question.context)?;
            scenarios.check("pass_rate").map(|()| scenarios)
        };
        let scenarios = match (by_rule(&question.pass_rule), find_scorer(question)) {
            // Of several scorers, the one that the metrics name.
            (Err(_), Some(scorer)) if question.pass_rule.scorer().is_none() => {
                by_rule(&question.pass_rule.clone().of_scorer(scorer))
            }
            (scenarios, _) => scenarios,
        };
        let scenarios = scenarios.map_err(|error: Error| run.incomparable(&error))?;
        let samples = run.samples.len();
        let attempts = (!scenarios.is_attempt_per_sample()).then(|| {
            let mut attempts = vec![0..0; samples];
            for Scenario { sample, attempts: own } in scenarios.iter() {
                attempts[sample as usize] = own.start as u32..own.end as u32;
            }
            attempts
        });
        Ok(Self { scenarios, attempts, samples: samples as u32 })
    }

    /// The attempts of a sample, as numbers for the questions of [`Scenarios`].
    fn places(&self, place: u32) -> Range<usize> {
        let own = self.attempts.as_ref().map_or(place..place + 1, |attempts| attempts[place as usize].clone());
        own.start as usize..own.end as usize
    }

    fn outcomes(&self, place: u32) -> &[ScenarioOutcome] {
        &self.scenarios.outcomes()[self.places(place)]
    }

    fn is_flaky(&self, place: u32) -> bool {
        self.attempts.is_some() && self.attempts(place).is_flaky()
    }

    fn attempts(&self, place: u32) -> AttemptCounts {
        let count =
            |wanted: ScenarioOutcome| self.outcomes(place).iter().filter(|outcome| **outcome == wanted).count() as u64;
        let passed = count(ScenarioOutcome::Passed);
        AttemptCounts { passed, scored: passed + count(ScenarioOutcome::Failed) }
    }

    /// Whether the reduced share of its attempts that passed is all of it; none if nothing is known.
    fn has_passed(&self, place: u32, question: &CompareQuestion<'_>) -> Option<bool> {
        let share = |outcome: &ScenarioOutcome| match outcome {
            ScenarioOutcome::Passed => Some(1.0),
            ScenarioOutcome::Failed => Some(0.0),
            // What did not run neither passed nor failed.
            ScenarioOutcome::Errored | ScenarioOutcome::Unscored => None,
        };
        let mut shares = self.outcomes(place).iter().filter_map(share);
        let share = match (shares.next(), shares.next()) {
            (first, None) => first,
            (first, second) => {
                let all = first.into_iter().chain(second).chain(shares);
                let scores: Vec<Score> = all.map(Score::new).collect();
                question.reducer.reduce(&scores).ok()?.value.as_number()
            }
        };
        share.map(|share| share >= 1.0 - 1e-12)
    }

    fn reason(&self, place: u32) -> Option<Shortcoming> {
        let failed = |attempt: &usize| self.scenarios.outcome(*attempt) == ScenarioOutcome::Failed;
        self.scenarios.shortcoming(self.places(place).find(failed)?)
    }

    fn flakiness(&self) -> Flakiness {
        let mut flakiness = Flakiness::default();
        // A single attempt cannot differ from others.
        for place in (0..self.samples).filter(|_| self.attempts.is_some()) {
            let attempts = self.attempts(place);
            flakiness.repeated += u64::from(attempts.scored > 1);
            flakiness.flaky += u64::from(attempts.is_flaky());
        }
        flakiness
    }
}

/// The scorer that the first metric with one names.
fn find_scorer(question: &CompareQuestion<'_>) -> Option<String> {
    let scorers = question.metrics.iter().flat_map(Metric::params);
    scorers.filter(|(name, _)| name == "scorer").map(|(_, scorer)| scorer.to_string()).next()
}
