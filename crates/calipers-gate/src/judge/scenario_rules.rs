//! Rules about single scenarios.

use super::threshold_question::{Judgement, holds};
use super::{Fault, Judge, PendingGate};
use crate::policy::{Comparison, Policy, Rule, Spanned, pass_rate_name};
use crate::{
    AttemptResult, BlockingFailure, GateKind, GateRule, ScenarioCheck, ScenarioReason, ScenarioResult, ScenarioShare,
};
use calipers_core::{
    Column, FactColumn, Reducer, SampleId, Samples, Scenario, ScenarioOutcome, Scenarios, Score, Value, Verdict,
};
use hashbrown::HashMap;
use indexmap::IndexMap;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// The keys under which records name kinds of failure.
const FAILURES: [&str; 3] = ["failure_type", "failure_types", "failures"];

/// A scenario with its attempts taken together. A run may have millions of them, so names are looked up where they are used.
#[derive(Clone)]
pub(super) struct ScenarioSummary {
    pub(super) sample: u32,
    attempts: Range<u32>,
    pub(super) outcome: ScenarioOutcome,
    /// The reduced share of its attempts that passed; NaN if that is known of none.
    share: f64,
    /// True when an attempt ended in an error.
    pub(super) is_errored: bool,
    pub(super) is_optional: bool,
}

impl ScenarioSummary {
    /// Its attempts, as numbers for the questions of [`Scenarios`].
    pub(super) fn attempts(&self) -> Range<usize> {
        self.attempts.start as usize..self.attempts.end as usize
    }

    /// The reduced share of its attempts that passed, if that is known of any.
    pub(super) fn share(&self) -> Option<f64> {
        Some(self.share).filter(|share| !share.is_nan())
    }
}

/// The scenarios of a run. Of one with a single attempt, everything follows from its outcome: such scenarios are not listed.
pub(super) enum ScenarioSummaries {
    /// Every sample, with one attempt each, in their order: the outcome of each, and what scenarios of each outcome are like.
    Single {
        outcomes: Vec<ScenarioOutcome>,
        alike: Box<[ScenarioSummary; 4]>,
    },
    Listed(Vec<ScenarioSummary>),
}

impl ScenarioSummaries {
    fn len(&self) -> usize {
        match self {
            Self::Single { outcomes, .. } => outcomes.len(),
            Self::Listed(summaries) => summaries.len(),
        }
    }

    fn get(&self, place: usize) -> ScenarioSummary {
        match self {
            Self::Single { outcomes, alike } => {
                let sample = place as u32;
                let like = &alike[outcome_place(outcomes[place])];
                ScenarioSummary { sample, attempts: sample..sample + 1, ..*like }
            }
            Self::Listed(summaries) => summaries[place].clone(),
        }
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = ScenarioSummary> {
        (0..self.len()).map(|place| self.get(place))
    }

    /// The share of its attempts that each scenario passed, where that is known.
    pub(super) fn pass_shares(&self) -> Vec<(u32, f64)> {
        self.iter().filter_map(|scenario| Some((scenario.sample, scenario.share()?))).collect()
    }
}

const OUTCOMES: [ScenarioOutcome; 4] =
    [ScenarioOutcome::Passed, ScenarioOutcome::Failed, ScenarioOutcome::Errored, ScenarioOutcome::Unscored];

/// The place of an outcome among [`OUTCOMES`].
fn outcome_place(outcome: ScenarioOutcome) -> usize {
    match outcome {
        ScenarioOutcome::Passed => 0,
        ScenarioOutcome::Failed => 1,
        ScenarioOutcome::Errored => 2,
        ScenarioOutcome::Unscored => 3,
    }
}

/// The value that each sample has of a metadata key, as a name.
pub(super) struct ScenarioNames<'a> {
    column: Option<&'a FactColumn>,
    names: Vec<Option<Arc<str>>>,
}

impl<'a> ScenarioNames<'a> {
    pub(super) fn new(samples: &'a Samples, key: &str) -> Self {
        let column = samples.metadata_column(key);
        let name = |value: &Value| match value {
            Value::Null | Value::Missing => None,
            Value::Text(text) => Some(text.clone()),
            other => Some(other.to_string().into()),
        };
        Self { column, names: column.map_or_else(Vec::new, |column| column.dictionary().iter().map(name).collect()) }
    }

    pub(super) fn of(&self, sample: u32) -> Option<&Arc<str>> {
        self.names.get(self.column?.code(sample)? as usize)?.as_ref()
    }

    /// The names that these samples have, in the order of their first samples, and how many have each.
    pub(super) fn count(&self, samples: impl Iterator<Item = u32>) -> IndexMap<&Arc<str>, u64> {
        let mut counts = vec![0; self.names.len()];
        let mut order = Vec::new();
        // Without the key, no sample is looked at.
        let coded = self.column.map(|column| samples.filter_map(|sample| column.code(sample)));
        for code in coded.into_iter().flatten() {
            if let Some(count) = counts.get_mut(code as usize) {
                if *count == 0 {
                    order.push(code as usize);
                }
                *count += 1;
            }
        }
        // Two values may have one name, such as 1 and "1".
        let mut named = IndexMap::new();
        for code in order {
            if let Some(name) = &self.names[code] {
                *named.entry(name).or_default() += counts[code];
            }
        }
        named
    }
}

/// The scenarios of a run. One has passed if the reduced share of its attempts that passed reaches what the policy asks
/// for, which is all of it unless it says otherwise.
pub(super) fn summarize(
    policy: &Policy,
    scenarios: &Scenarios<'_>,
    reducer: &Reducer,
) -> Result<ScenarioSummaries, Fault> {
    let wanted = match &policy.epochs.min_pass_rate {
        Some(threshold) => threshold.share("min_pass_rate")?,
        None => 1.0,
    };
    let optional: BTreeSet<&str> = policy.optional.iter().map(|id| id.value.as_str()).collect();
    let is_optional =
        |sample: u32| !optional.is_empty() && optional.contains(scenarios.id(sample).to_string().as_str());
    let of_outcomes = |scenario: Scenario, outcomes: &[ScenarioOutcome]| {
        let share = share(outcomes, reducer);
        ScenarioSummary {
            sample: scenario.sample,
            attempts: scenario.attempts.start as u32..scenario.attempts.end as u32,
            outcome: overall_outcome(outcomes, share, wanted),
            share: share.unwrap_or(f64::NAN),
            is_errored: outcomes.contains(&ScenarioOutcome::Errored),
            is_optional: is_optional(scenario.sample),
        }
    };
    if optional.is_empty() && scenarios.is_attempt_per_sample() {
        let alike = |outcome: ScenarioOutcome| of_outcomes(Scenario { sample: 0, attempts: 0..1 }, &[outcome]);
        let outcomes = scenarios.outcomes().to_vec();
        return Ok(ScenarioSummaries::Single { outcomes, alike: Box::new(OUTCOMES.map(alike)) });
    }
    let one = |scenario: Scenario| {
        let outcomes = &scenarios.outcomes()[scenario.attempts.clone()];
        of_outcomes(scenario, outcomes)
    };
    Ok(ScenarioSummaries::Listed(scenarios.iter().map(one).collect()))
}

fn overall_outcome(outcomes: &[ScenarioOutcome], share: Option<f64>, wanted: f64) -> ScenarioOutcome {
    let has_verdict =
        outcomes.iter().any(|outcome| matches!(outcome, ScenarioOutcome::Passed | ScenarioOutcome::Failed));
    match share {
        _ if !has_verdict && outcomes.contains(&ScenarioOutcome::Errored) => ScenarioOutcome::Errored,
        _ if !has_verdict => ScenarioOutcome::Unscored,
        Some(share) if share >= wanted - 1e-12 => ScenarioOutcome::Passed,
        // It did not fail: it did not run often enough.
        Some(_) if !outcomes.contains(&ScenarioOutcome::Failed) => ScenarioOutcome::Errored,
        Some(_) => ScenarioOutcome::Failed,
        // The reducer asks for more attempts than there are.
        None => ScenarioOutcome::Unscored,
    }
}

/// The reduced share of attempts that passed.
fn share(outcomes: &[ScenarioOutcome], reducer: &Reducer) -> Option<f64> {
    let passed = |outcome: &ScenarioOutcome| match outcome {
        ScenarioOutcome::Passed => Some(1.0),
        ScenarioOutcome::Failed | ScenarioOutcome::Errored => Some(0.0),
        ScenarioOutcome::Unscored => None,
    };
    if reducer.is_mean() {
        // A sum of zeros and ones has no rounding.
        let (sum, count) = outcomes.iter().filter_map(passed).fold((0.0, 0.0), |(sum, n), x| (sum + x, n + 1.0));
        return (count > 0.0).then(|| sum / count);
    }
    let shares: Vec<f64> = outcomes.iter().filter_map(passed).collect();
    match &shares[..] {
        [] => None,
        [one] => Some(*one),
        shares => {
            let scores: Vec<Score> = shares.iter().map(|&share| Score::new(share)).collect();
            reducer.reduce(&scores).ok()?.value.as_number()
        }
    }
}

impl Judge<'_> {
    pub(super) fn outcomes(&self, scenario: &ScenarioSummary) -> &[ScenarioOutcome] {
        &self.scenarios.outcomes()[scenario.attempts()]
    }

    /// The name of a scenario.
    pub(super) fn id(&self, scenario: &ScenarioSummary) -> String {
        self.scenarios.id(scenario.sample).to_string()
    }

    /// The scenarios that rules about single scenarios apply to.
    pub(super) fn binding(&self) -> impl Iterator<Item = ScenarioSummary> {
        self.summaries.iter().filter(|scenario| !scenario.is_optional)
    }

    /// Gates about lists of scenarios.
    pub(super) fn scenario_gates(&self) -> Result<Vec<PendingGate>, Fault> {
        let gates = [self.required_gate(), self.min_pass_rate_gate()?, self.failures_gate(), self.rubric_gate()?];
        Ok(gates.into_iter().flatten().collect())
    }

    fn required_gate(&self) -> Option<PendingGate> {
        let required = &self.policy.required;
        if required.is_empty() {
            return None;
        }
        let checks = self.checks(required);
        let these = |wanted: Option<ScenarioOutcome>| -> Vec<String> {
            checks.iter().filter(|check| check.outcome == wanted).map(|check| check.id.clone()).collect()
        };
        let failed = these(Some(ScenarioOutcome::Failed));
        let (passed, total) = (these(Some(ScenarioOutcome::Passed)).len(), checks.len());
        let judgement = if !failed.is_empty() {
            Judgement::new(Verdict::Fail, ScenarioReason::RequiredFailed(failed))
        } else if passed == total {
            Judgement::new(Verdict::Pass, ScenarioReason::RequiredPassed { total })
        } else {
            let reason = ScenarioReason::RequiredOpen {
                missing: these(None),
                errored: these(Some(ScenarioOutcome::Errored)),
                unscored: these(Some(ScenarioOutcome::Unscored)),
            };
            Judgement::new(Verdict::Undecided, reason)
        };
        let rule = GateRule::AllPass { passed, total };
        Some(PendingGate::new(GateKind::Required, "required_scenarios", rule, judgement))
    }

    /// Every scenario passes often enough; the average hides a dead one.
    fn min_pass_rate_gate(&self) -> Result<Option<PendingGate>, Fault> {
        let Some(threshold) = &self.policy.epochs.min_pass_rate else { return Ok(None) };
        let rule = Rule { comparison: Comparison::AtLeast, value: threshold.share("min_pass_rate")? };
        let mut below = Vec::new();
        let mut errored = Vec::new();
        for scenario in self.binding() {
            let count = |wanted| self.outcomes(&scenario).iter().filter(|outcome| **outcome == wanted).count();
            let (passed, failed) = (count(ScenarioOutcome::Passed), count(ScenarioOutcome::Failed));
            let broken = count(ScenarioOutcome::Errored);
            let attempts = passed + failed + broken;
            if attempts == 0 || holds(rule, passed as f64 / attempts as f64) {
                continue;
            }
            let list = if holds(rule, (passed + broken) as f64 / attempts as f64) { &mut errored } else { &mut below };
            list.push(ScenarioShare { scenario: self.id(&scenario), passed, attempts });
        }
        let judgement = if !below.is_empty() {
            Judgement::new(Verdict::Fail, ScenarioReason::TooRarely(below))
        } else if !errored.is_empty() {
            Judgement::new(Verdict::Undecided, ScenarioReason::TooManyErrors(errored))
        } else {
            Judgement::new(Verdict::Pass, ScenarioReason::OftenEnough)
        };
        Ok(Some(PendingGate::new(GateKind::MinPassRate, "min_pass_rate", GateRule::EachScenario(rule), judgement)))
    }

    /// No failure of a blocking kind: a violation, or a `failure_type` of the record, of that name.
    fn failures_gate(&self) -> Option<PendingGate> {
        let kinds = &self.policy.blocking_failures;
        if kinds.is_empty() {
            return None;
        }
        let mut found = Vec::new();
        let said = self.failure_columns();
        for scenario in self.binding() {
            let all = self.failures_of(&scenario, &said);
            let blocking = kinds.iter().filter(|kind| all.contains(&kind.value));
            found.extend(
                blocking.map(|kind| BlockingFailure { kind: kind.value.clone(), scenario: self.id(&scenario) }),
            );
        }
        let judgement = if found.is_empty() {
            Judgement::new(Verdict::Pass, ScenarioReason::NoBlockingFailure)
        } else {
            Judgement::new(Verdict::Fail, ScenarioReason::BlockingFailures(found))
        };
        let rule = GateRule::NoneOf(kinds.iter().map(|kind| kind.value.clone()).collect());
        Some(PendingGate::new(GateKind::BlockingFailures, "blocking_failures", rule, judgement))
    }

    /// What records say of failures, attempt by attempt: as fields and as facts about the scenario.
    pub(super) fn failure_columns(&self) -> Vec<Column> {
        let is_there = |name: &&&str| self.samples.columns().any(|known| **known == ***name);
        let there = FAILURES.iter().filter(is_there);
        let all = there.flat_map(|name| [self.scenarios.field_values(name), self.scenarios.fact_values(name)]);
        // Most records say nothing of the kind.
        all.filter(|column| (0..column.len()).any(|row| !column.is_missing(row))).collect()
    }

    /// The violations of a scenario, and what its records call its failures: those of every attempt.
    pub(super) fn failures_of(&self, scenario: &ScenarioSummary, said: &[Column]) -> BTreeSet<String> {
        let violations = scenario.attempts().flat_map(|attempt| self.scenarios.violations(attempt));
        violations.map(ToString::to_string).chain(self.failure_types(scenario, said)).collect()
    }

    /// What the records of a scenario call its failures, in any attempt.
    fn failure_types(&self, scenario: &ScenarioSummary, said: &[Column]) -> Vec<String> {
        let of_attempts = scenario.attempts().flat_map(|attempt| said.iter().map(move |column| column.get(attempt)));
        of_attempts
            .flat_map(|value| match value {
                Value::Null | Value::Missing => Vec::new(),
                Value::List(failures) => failures.iter().map(failure_type).collect(),
                one => vec![failure_type(&one)],
            })
            .collect()
    }

    pub(super) fn checks(&self, ids: &[Spanned<String>]) -> Vec<ScenarioCheck> {
        if ids.is_empty() {
            return Vec::new();
        }
        let named: HashMap<SampleId, ScenarioSummary> =
            self.summaries.iter().rev().map(|scenario| (self.scenarios.id(scenario.sample), scenario)).collect();
        ids.iter().map(|id| self.check(&id.value, named.get(&SampleId::from(id.value.as_str())))).collect()
    }

    fn check(&self, id: &str, scenario: Option<&ScenarioSummary>) -> ScenarioCheck {
        let Some(scenario) = scenario else {
            return ScenarioCheck { id: id.to_owned(), outcome: None, passed: (0, 0), reason: None };
        };
        let passed =
            self.outcomes(scenario).iter().filter(|outcome| **outcome == ScenarioOutcome::Passed).count() as u32;
        let reason = scenario.attempts().find_map(|attempt| self.scenarios.shortcoming(attempt));
        ScenarioCheck {
            id: id.to_owned(),
            outcome: Some(scenario.outcome),
            passed: (passed, scenario.attempts().len() as u32),
            reason: reason.filter(|_| scenario.outcome != ScenarioOutcome::Passed),
        }
    }

    pub(super) fn scenario_results(&self) -> Result<Vec<ScenarioResult>, Fault> {
        let required: BTreeSet<&str> = self.policy.required.iter().map(|id| id.value.as_str()).collect();
        let latencies = self.scenarios.latencies(&self.context)?;
        let attempt = |attempt: usize| AttemptResult {
            epoch: self.scenarios.epoch(attempt),
            outcome: self.scenarios.outcome(attempt),
            reason: self.scenarios.shortcoming(attempt),
            latency_ms: latencies[attempt].filter(|latency| latency.is_finite()),
        };
        let result = |scenario: &ScenarioSummary| ScenarioResult {
            id: self.scenarios.id(scenario.sample),
            category: self.categories.of(scenario.sample).cloned(),
            outcome: scenario.outcome,
            attempts: scenario.attempts().map(attempt).collect(),
            scores: scenario.share().map(|share| (pass_rate_name().to_owned(), share)).into_iter().collect(),
            weight: self.weights().map_or(1.0, |weights| weights[scenario.sample as usize]),
            is_required: !required.is_empty() && required.contains(self.id(scenario).as_str()),
        };
        Ok(self.summaries.iter().map(|scenario| result(&scenario)).collect())
    }
}

/// The kind of a failure: a name, or what a map calls its `type` or its `name`.
fn failure_type(failure: &Value) -> String {
    failure.get("type").or_else(|| failure.get("name")).unwrap_or(failure).to_string()
}
