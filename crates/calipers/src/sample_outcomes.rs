//! How the samples of a run ended, and what decides it.

use calipers_core::{
    Context, Error, Outcome, OutcomeCounts, PassRule, Record, SampleId, Samples, ScenarioOutcome, Scenarios, Value,
};
use calipers_render::page::{PageOutcome, PassBasis};

/// The fields by which behaviours are judged.
const BEHAVIORS: [&str; 4] = ["expected_behaviors", "observed_behaviors", "must_not", "violations"];

/// How a sample ended.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleEnding {
    /// The sample.
    pub id: SampleId,
    /// Its outcome: it passed if every attempt that ran did.
    pub outcome: PageOutcome,
    /// Its attempts.
    pub attempts: u32,
    /// Those that passed.
    pub passed: u32,
    /// Those that did not.
    pub failed: u32,
    /// Those that did not run.
    pub errored: u32,
    /// The mean of its scores by the first scorer whose scores are numbers.
    pub score: Option<f64>,
}

impl SampleEnding {
    /// True when some attempts passed and some failed.
    #[must_use]
    pub fn is_flaky(&self) -> bool {
        self.passed > 0 && self.failed > 0
    }
}

/// How each sample ended, in the order of the run, and what decides it. `each` gets the first record of every sample.
pub(crate) fn sample_endings(
    samples: &Samples,
    context: &Context,
    mut each: impl FnMut(&Record),
) -> Result<(PassBasis, Vec<SampleEnding>), Error> {
    let (scenarios, basis) = decide_outcomes(samples, context)?;
    let is_judged = basis != PassBasis::Nothing;
    let first_scorer = samples.scorers().find(|name| !samples.has_maps(name));
    // Records come in the order of samples and epochs, as scenarios do.
    let mut records = samples.records();
    let mut endings = Vec::with_capacity(samples.len());
    for scenario in scenarios.iter() {
        let mut ending: Option<SampleEnding> = None;
        let (mut sum, mut scored, mut has_score) = (0.0, 0u32, false);
        for (attempt, record) in scenario.attempts.clone().zip(records.by_ref()) {
            let ending = ending.get_or_insert_with(|| {
                each(&record);
                let (id, outcome) = (record.id.clone(), PageOutcome::Unscored);
                SampleEnding { id, outcome, attempts: 0, passed: 0, failed: 0, errored: 0, score: None }
            });
            ending.attempts += 1;
            match scenarios.outcome(attempt) {
                ScenarioOutcome::Errored => ending.errored += 1,
                ScenarioOutcome::Passed if is_judged => ending.passed += 1,
                ScenarioOutcome::Failed if is_judged => ending.failed += 1,
                ScenarioOutcome::Unscored if is_judged => {}
                _ => has_score |= record.scores.iter().any(|(_, outcome)| matches!(outcome, Outcome::Scored(_))),
            }
            for (name, outcome) in &record.scores {
                if let (true, Outcome::Scored(score)) = (Some(name) == first_scorer, outcome)
                    && let Some(x) = context.labels.to_float(&score.value)
                {
                    (sum, scored) = (sum + x, scored + 1);
                }
            }
        }
        let Some(mut ending) = ending else { continue };
        ending.outcome = match () {
            () if ending.failed > 0 => PageOutcome::Failed,
            () if ending.passed > 0 => PageOutcome::Passed,
            () if has_score => PageOutcome::Scored,
            () if ending.errored > 0 => PageOutcome::Errored,
            () => PageOutcome::Unscored,
        };
        ending.score = (scored > 0).then(|| sum / f64::from(scored));
        endings.push(ending);
    }
    Ok((basis, endings))
}

/// The samples by outcome.
pub(crate) fn count_endings(endings: &[SampleEnding]) -> OutcomeCounts {
    let mut counts = OutcomeCounts { total: endings.len() as u64, ..OutcomeCounts::default() };
    for ending in endings {
        match ending.outcome {
            PageOutcome::Passed => counts.passed += 1,
            PageOutcome::Failed => counts.failed += 1,
            PageOutcome::Errored => counts.errored += 1,
            PageOutcome::Unscored => counts.unscored += 1,
            PageOutcome::Scored => {}
        }
        counts.flaky += u64::from(ending.is_flaky());
        counts.attempts += u64::from(ending.attempts);
        counts.errored_attempts += u64::from(ending.errored);
    }
    counts
}

/// The outcome of each attempt, and what decides it. Of several scorers, the first decides. Scores that are neither right nor
/// wrong decide nothing unless a threshold is given: a page does not invent failures.
pub(crate) fn decide_outcomes<'a>(
    samples: &'a Samples,
    context: &Context,
) -> Result<(Scenarios<'a>, PassBasis), Error> {
    let usual = Scenarios::by_rule(samples, &PassRule::default(), context)?;
    let has = |name: &str| samples.fields().any(|field| &**field == name);
    let threshold = context.pass_threshold.unwrap_or(1.0);
    if has("passed") {
        return Ok((usual, PassBasis::Recorded));
    }
    if BEHAVIORS.iter().any(|name| has(name)) {
        return Ok((usual, PassBasis::Behaviors { share: threshold }));
    }
    let mut scorers = samples.scorers().filter(|name| !samples.has_maps(name));
    let Some(scorer) = scorers.next().cloned() else { return Ok((usual, PassBasis::Nothing)) };
    let is_first = scorers.next().is_some();
    let rule = PassRule::default().of_scorer(scorer.clone());
    let scenarios = Scenarios::by_rule(samples, &rule, context)?;
    let is_decided = context.pass_threshold.is_some() || is_right_or_wrong(samples, &scorer, context);
    let basis = if is_decided { PassBasis::Score { scorer, threshold, is_first } } else { PassBasis::Nothing };
    Ok((scenarios, basis))
}

/// True if a scorer says right or wrong: every score is a label, true or false, 0 or 1.
fn is_right_or_wrong(samples: &Samples, scorer: &str, context: &Context) -> bool {
    samples.records().all(|record| {
        let found = record.scores.iter().find(|(name, _)| **name == *scorer);
        let Some((_, Outcome::Scored(score))) = found else { return true };
        match &score.value {
            Value::Float(x) => *x == 0.0 || *x == 1.0,
            Value::Int(x) => *x == 0 || *x == 1,
            // A number in quotes is a number.
            Value::Text(text) if text.trim().parse::<f64>().is_ok_and(|x| x != 0.0 && x != 1.0) => false,
            other => context.labels.to_float(other).is_some(),
        }
    })
}
