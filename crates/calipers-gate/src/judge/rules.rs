//! Rules about single scenarios, and what became of all of them.

use super::decide::{Decided, holds};
use super::{Fault, Judge, Judged};
use crate::policy::{Comparison, Level, Policy, RubricRule, Rule, Spanned, rule_text};
use crate::{AttemptResult, Coverage, GateKind, GateResult, ScenarioCheck, ScenarioResult};
use calipers_core::Column;
use calipers_core::{Error, Outcome, Reducer, Scenario, ScenarioOutcome, Scenarios, Score, Unit, Value, Verdict};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// The keys under which records name kinds of failure.
const FAILURES: [&str; 3] = ["failure_type", "failure_types", "failures"];
/// So many scenarios are named in a reason.
const NAMED: usize = 5;

/// A scenario with its attempts taken together.
pub(super) struct Told {
    pub(super) id: String,
    pub(super) sample: u32,
    pub(super) attempts: Range<usize>,
    pub(super) category: Option<Arc<str>>,
    pub(super) capability: Option<Arc<str>>,
    pub(super) outcome: ScenarioOutcome,
    /// The reduced share of its attempts that passed, if that is known of any.
    pub(super) share: Option<f64>,
    /// True when an attempt ended in an error.
    pub(super) is_errored: bool,
    pub(super) is_optional: bool,
}

/// The scenarios of a run. One has passed if the reduced share of its attempts that passed reaches what the policy asks
/// for, which is all of it unless it says otherwise.
pub(super) fn told(policy: &Policy, scenarios: &Scenarios<'_>, reducer: &Reducer) -> Result<Vec<Told>, Fault> {
    let wanted = match &policy.epochs.min_pass_rate {
        Some(threshold) => threshold.share("min_pass_rate")?,
        None => 1.0,
    };
    let optional: BTreeSet<&str> = policy.optional.iter().map(|id| id.value.as_str()).collect();
    let one = |scenario: Scenario| {
        let outcomes = &scenarios.outcomes()[scenario.attempts.clone()];
        let share = share(outcomes, reducer);
        let id = scenarios.id(scenario.sample).to_string();
        Told {
            sample: scenario.sample,
            attempts: scenario.attempts.clone(),
            category: scenarios.category(scenario.sample),
            capability: scenarios.capability(scenario.sample),
            outcome: together(outcomes, share, wanted),
            share,
            is_errored: outcomes.contains(&ScenarioOutcome::Errored),
            is_optional: optional.contains(id.as_str()),
            id,
        }
    };
    Ok(scenarios.iter().map(one).collect())
}

fn together(outcomes: &[ScenarioOutcome], share: Option<f64>, wanted: f64) -> ScenarioOutcome {
    let is_told = outcomes.iter().any(|outcome| matches!(outcome, ScenarioOutcome::Passed | ScenarioOutcome::Failed));
    match share {
        _ if !is_told && outcomes.contains(&ScenarioOutcome::Errored) => ScenarioOutcome::Errored,
        _ if !is_told => ScenarioOutcome::Unscored,
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
    fn outcomes(&self, told: &Told) -> &[ScenarioOutcome] {
        &self.scenarios.outcomes()[told.attempts.clone()]
    }

    /// The scenarios that rules about single scenarios apply to.
    pub(super) fn binding(&self) -> impl Iterator<Item = &Told> {
        self.told.iter().filter(|told| !told.is_optional)
    }

    /// Gates about lists of scenarios.
    pub(super) fn scenario_gates(&self) -> Result<Vec<Judged>, Fault> {
        let gates = [self.required_gate(), self.min_pass_rate_gate()?, self.failures_gate(), self.rubric_gate()?];
        Ok(gates.into_iter().flatten().collect())
    }

    fn required_gate(&self) -> Option<Judged> {
        let required = &self.policy.required;
        if required.is_empty() {
            return None;
        }
        let checks = self.checks(required);
        let these = |wanted: Option<ScenarioOutcome>| -> Vec<&str> {
            checks.iter().filter(|check| check.outcome == wanted).map(|check| check.id.as_str()).collect()
        };
        let failed = these(Some(ScenarioOutcome::Failed));
        let open = [
            (these(None), "missing"),
            (these(Some(ScenarioOutcome::Errored)), "ended in an error"),
            (these(Some(ScenarioOutcome::Unscored)), "without a score"),
        ];
        let told = |(ids, what): &(Vec<&str>, &str)| (!ids.is_empty()).then(|| format!("{}: {}", what, named(ids)));
        let open: Vec<String> = open.iter().filter_map(told).collect();
        let decided = match (failed.is_empty(), open.is_empty()) {
            (false, _) => Decided::new(Verdict::Fail, format!("failed: {}", named(&failed))),
            (true, false) => Decided::new(Verdict::Undecided, open.join("; ")),
            (true, true) => Decided::new(Verdict::Pass, format!("all {} passed", checks.len())),
        };
        let passed = these(Some(ScenarioOutcome::Passed)).len();
        Some(counted(
            GateKind::Required,
            "required_scenarios",
            format!("all pass ({passed} of {})", checks.len()),
            decided,
        ))
    }

    /// Every scenario passes often enough; the average hides a dead one.
    fn min_pass_rate_gate(&self) -> Result<Option<Judged>, Fault> {
        let Some(threshold) = &self.policy.epochs.min_pass_rate else { return Ok(None) };
        let rule = Rule { comparison: Comparison::AtLeast, value: threshold.share("min_pass_rate")? };
        let mut below = Vec::new();
        let mut errored = Vec::new();
        for told in self.binding() {
            let count = |wanted| self.outcomes(told).iter().filter(|outcome| **outcome == wanted).count() as f64;
            let (passed, failed) = (count(ScenarioOutcome::Passed), count(ScenarioOutcome::Failed));
            let broken = count(ScenarioOutcome::Errored);
            let all = passed + failed + broken;
            if all == 0.0 || holds(rule, passed / all) {
                continue;
            }
            let list = if holds(rule, (passed + broken) / all) { &mut errored } else { &mut below };
            list.push(format!("{} {passed}/{all}", told.id));
        }
        let decided = if !below.is_empty() {
            Decided::new(Verdict::Fail, format!("below: {}", named(&below)))
        } else if !errored.is_empty() {
            Decided::new(Verdict::Undecided, format!("attempts ended in errors: {}", named(&errored)))
        } else {
            Decided::new(Verdict::Pass, "every scenario passes often enough")
        };
        let rule = rule_text("each scenario", &rule, Unit::Rate);
        Ok(Some(counted(GateKind::MinPassRate, "min_pass_rate", rule, decided)))
    }

    /// No failure of a blocking kind: a violation, or a `failure_type` of the record, of that name.
    fn failures_gate(&self) -> Option<Judged> {
        let kinds = &self.policy.blocking_failures;
        if kinds.is_empty() {
            return None;
        }
        let mut found = Vec::new();
        let said = self.said_of_failures();
        for told in self.binding() {
            let all = self.failures_of(told, &said);
            let blocking = kinds.iter().filter(|kind| all.contains(&kind.value));
            found.extend(blocking.map(|kind| format!("{} in {}", kind.value, told.id)));
        }
        let names: Vec<&str> = kinds.iter().map(|kind| kind.value.as_str()).collect();
        let decided = if found.is_empty() {
            Decided::new(Verdict::Pass, "none occurred")
        } else {
            Decided::new(Verdict::Fail, named(&found))
        };
        Some(counted(GateKind::BlockingFailures, "blocking_failures", format!("none of {}", named(&names)), decided))
    }

    /// What records say of failures, attempt by attempt.
    pub(super) fn said_of_failures(&self) -> [Column; FAILURES.len()] {
        FAILURES.map(|name| self.scenarios.field_values(name))
    }

    /// The violations of a scenario, and what its records call its failures: those of every attempt.
    pub(super) fn failures_of(&self, told: &Told, said: &[Column]) -> BTreeSet<String> {
        let violations = told.attempts.clone().flat_map(|attempt| self.scenarios.violations(attempt));
        violations.map(ToString::to_string).chain(self.failure_types(told, said)).collect()
    }

    /// What the records of a scenario call its failures, in any attempt or as a fact about it.
    fn failure_types(&self, told: &Told, said: &[Column]) -> Vec<String> {
        let first = self.samples.metadata_of(told.sample);
        let first = FAILURES.iter().filter_map(|key| first.get(key).cloned());
        let later =
            FAILURES.iter().flat_map(|key| self.samples.contradicting_values(key, told.sample..told.sample + 1));
        let of_attempts = told.attempts.clone().flat_map(|attempt| said.iter().map(move |column| column.get(attempt)));
        first
            .chain(later.map(|(_, value)| value.clone()))
            .chain(of_attempts)
            .flat_map(|value| match value {
                Value::Null | Value::Missing => Vec::new(),
                Value::List(failures) => failures.iter().map(failure_type).collect(),
                one => vec![failure_type(&one)],
            })
            .collect()
    }

    fn rubric_gate(&self) -> Result<Option<Judged>, Fault> {
        let Some(rubric) = &self.policy.rubric else { return Ok(None) };
        let min = match &rubric.min_score {
            Some(threshold) => Some(Rule { comparison: Comparison::AtLeast, value: threshold.share("min_score")? }),
            None => None,
        };
        let scorer = self.rubric_scorer(rubric)?;
        let (mut found, mut ungraded, mut graded) = (Vec::new(), Vec::new(), 0);
        for record in self.samples.records() {
            if self.policy.optional.iter().any(|optional| optional.value == record.id.to_string()) {
                continue;
            }
            let score = record.scores.iter().find(|(name, _)| **name == *scorer);
            let Some(grades) = score.and_then(|(_, outcome)| grades(outcome)) else {
                ungraded.push(record.id.to_string());
                continue;
            };
            graded += 1;
            if let Some((criterion, grade)) = grades.iter().find(|(_, grade)| !(0.0..=rubric.best).contains(grade)) {
                let message = format!("the grade {grade} for `{criterion}` is not between 0 and {}", rubric.best);
                let error = Error::argument(message, "say what the best grade is with `rubric.best`");
                return Err(error.at_sample(&record.id).at_epoch(record.epoch).into());
            }
            let share = grades.iter().map(|(_, grade)| grade).sum::<f64>() / (rubric.best * grades.len() as f64);
            if let Some((criterion, _)) = grades.iter().find(|(_, grade)| rubric.no_zero && *grade == 0.0) {
                found.push(format!("{} has 0 for {criterion}", record.id));
            } else if min.is_some_and(|min| !holds(min, share)) {
                found.push(format!("{} has {}", record.id, Unit::Rate.show(share)));
            }
        }
        let decided = match (found.is_empty(), ungraded.is_empty()) {
            (false, _) => Decided::new(Verdict::Fail, named(&found)),
            (true, false) => {
                Decided::new(Verdict::Undecided, format!("not graded by `{scorer}`: {}", named(&ungraded)))
            }
            (true, true) => Decided::new(Verdict::Pass, format!("{graded} graded, and all pass")),
        };
        let parts = [
            min.map(|min| rule_text("score", &min, Unit::Rate)),
            rubric.no_zero.then(|| "no criterion at 0".to_owned()),
        ];
        let rule = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        Ok(Some(counted(GateKind::Rubric, "rubric", rule, decided)))
    }

    /// The scorer whose scores are grades by criterion.
    fn rubric_scorer(&self, rubric: &RubricRule) -> Result<String, Fault> {
        if let Some(scorer) = &rubric.scorer {
            return Ok(scorer.value.clone());
        }
        let maps: Vec<&str> =
            self.samples.scorers().filter(|name| self.samples.has_maps(name)).map(|name| &**name).collect();
        match &maps[..] {
            [one] => Ok((*one).to_owned()),
            [] => {
                Err(Error::argument("no scorer grades by criterion", "score a map such as {\"tone\": 2, \"facts\": 1}")
                    .into())
            }
            several => Err(Error::argument(
                format!("several scorers grade by criterion: {}", several.join(", ")),
                "name one as `rubric.scorer`",
            )
            .into()),
        }
    }

    pub(super) fn checks(&self, ids: &[Spanned<String>]) -> Vec<ScenarioCheck> {
        ids.iter().map(|id| self.check(&id.value)).collect()
    }

    fn check(&self, id: &str) -> ScenarioCheck {
        let Some(told) = self.told.iter().find(|told| told.id == id) else {
            return ScenarioCheck { id: id.to_owned(), outcome: None, passed: (0, 0), reason: None };
        };
        let passed = self.outcomes(told).iter().filter(|outcome| **outcome == ScenarioOutcome::Passed).count() as u32;
        let reason = told.attempts.clone().find_map(|attempt| self.scenarios.reason(attempt));
        ScenarioCheck {
            id: id.to_owned(),
            outcome: Some(told.outcome),
            passed: (passed, told.attempts.len() as u32),
            reason: reason.filter(|_| told.outcome != ScenarioOutcome::Passed),
        }
    }

    pub(super) fn coverage(&self) -> Coverage {
        let mut coverage = Coverage { attempts: self.samples.attempts() as u64, ..Coverage::default() };
        coverage.errored_attempts = self.samples.errored_attempts() as u64;
        for told in &self.told {
            coverage.total += 1;
            match told.outcome {
                ScenarioOutcome::Passed => coverage.passed += 1,
                ScenarioOutcome::Failed => coverage.failed += 1,
                ScenarioOutcome::Errored => coverage.errored += 1,
                ScenarioOutcome::Unscored => coverage.unscored += 1,
            }
            let has = |wanted| self.outcomes(told).contains(&wanted);
            coverage.flaky += u64::from(has(ScenarioOutcome::Passed) && has(ScenarioOutcome::Failed));
        }
        let present: BTreeSet<String> = self.told.iter().map(|told| told.id.clone()).collect();
        let absent = |ids: &mut dyn Iterator<Item = &str>| -> Vec<String> {
            ids.filter(|id| !present.contains(*id)).map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
        };
        if let Some(suite) = self.case.suite {
            coverage.expected_by = Some("suite");
            coverage.missing = absent(&mut suite.iter().map(String::as_str));
            let known: BTreeSet<&str> = suite.iter().map(String::as_str).collect();
            coverage.unexpected = present.iter().filter(|id| !known.contains(id.as_str())).cloned().collect();
        } else if let Some((baseline, _)) = self.case.baseline.filter(|(baseline, _)| !baseline.scenarios.is_empty()) {
            coverage.expected_by = Some("baseline");
            let named = self.policy.required.iter().chain(&self.policy.optional).map(|id| id.value.as_str());
            coverage.missing = absent(&mut baseline.scenarios.keys().map(String::as_str).chain(named));
        } else if !(self.policy.required.is_empty() && self.policy.optional.is_empty()) {
            coverage.expected_by = Some("policy");
            let named = self.policy.required.iter().chain(&self.policy.optional);
            coverage.missing = absent(&mut named.map(|id| id.value.as_str()));
        }
        coverage
    }

    /// Nothing to judge is never a pass, and neither is a part of a suite.
    pub(super) fn coverage_gate(&self, coverage: &Coverage, gates: &[Judged]) -> Option<Judged> {
        let is_told = coverage.passed + coverage.failed > 0;
        let has_figure =
            |gate: &Judged| gate.result.figure.as_ref().is_some_and(|figure| figure.value.is_ok() && figure.n > 0);
        let is_measured = is_told || self.samples.counts().scored > 0 || gates.iter().any(has_figure);
        let reason = if coverage.total == 0 {
            "the run is empty".to_owned()
        } else if !is_measured {
            self.nothing_measured(coverage.total)
        } else if coverage.expected_by == Some("suite") && !coverage.missing.is_empty() {
            match &coverage.missing[..] {
                [one] => format!("a scenario of the suite is missing: {one}"),
                many => format!("{} scenarios of the suite are missing: {}", many.len(), named(many)),
            }
        } else {
            return None;
        };
        let rule = "every scenario ran".to_owned();
        Some(counted(GateKind::Coverage, "coverage", rule, Decided::new(Verdict::Undecided, reason)))
    }

    /// Why no scenario of a run says anything.
    fn nothing_measured(&self, total: u64) -> String {
        let is_told = |outcome: &&ScenarioOutcome| matches!(outcome, ScenarioOutcome::Passed | ScenarioOutcome::Failed);
        let attempts = self.told.iter().map(|told| self.outcomes(told).iter().filter(is_told).count() as u64).max();
        match attempts.unwrap_or(0) {
            0 => format!("{} and no score: nothing says whether any passed", calipers_core::counted(total, "scenario")),
            attempts => self.reducer.nothing_of(attempts),
        }
    }

    pub(super) fn scenario_results(&self) -> Result<Vec<ScenarioResult>, Fault> {
        let required: BTreeSet<&str> = self.policy.required.iter().map(|id| id.value.as_str()).collect();
        let latencies = self.scenarios.latencies(&self.context)?;
        let attempt = |attempt: usize| AttemptResult {
            epoch: self.scenarios.epoch(attempt),
            outcome: self.scenarios.outcome(attempt),
            reason: self.scenarios.reason(attempt),
            latency_ms: latencies[attempt].filter(|latency| latency.is_finite()),
        };
        let result = |told: &Told| ScenarioResult {
            id: self.scenarios.id(told.sample),
            category: told.category.clone(),
            outcome: told.outcome,
            attempts: told.attempts.clone().map(attempt).collect(),
            scores: told.share.map(|share| ("pass_rate".to_owned(), share)).into_iter().collect(),
            weight: self.weights().map_or(1.0, |weights| weights[told.sample as usize]),
            is_required: required.contains(told.id.as_str()),
        };
        Ok(self.told.iter().map(result).collect())
    }
}

/// A gate that counts scenarios.
pub(super) fn counted(kind: GateKind, name: &str, rule: String, decided: Decided) -> Judged {
    Judged {
        p_fail: None,
        result: GateResult {
            kind,
            metric: name.to_owned(),
            level: Level::Blocking,
            rule,
            threshold: None,
            figure: None,
            unit: Unit::Plain,
            unweighted: None,
            counts: None,
            margin: None,
            verdict: decided.verdict,
            reason: decided.reason,
            more_samples: None,
            rationale: None,
        },
    }
}

/// The first few names of a list.
pub(super) fn named(names: &[impl AsRef<str>]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMED).map(AsRef::as_ref).collect();
    let rest = names.len().saturating_sub(NAMED);
    if rest == 0 { shown.join(", ") } else { format!("{} and {rest} more", shown.join(", ")) }
}

/// The kind of a failure: a name, or what a map calls its `type` or its `name`.
fn failure_type(failure: &Value) -> String {
    failure.get("type").or_else(|| failure.get("name")).unwrap_or(failure).to_string()
}

/// Grades by criterion.
fn grades(outcome: &Outcome) -> Option<Vec<(String, f64)>> {
    let Outcome::Scored(Score { value: Value::Map(entries), .. }) = outcome else { return None };
    entries.iter().map(|(name, grade)| Some((name.to_string(), grade.as_number()?))).collect()
}
