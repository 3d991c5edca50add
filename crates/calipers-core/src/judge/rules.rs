//! Rules about single scenarios, and what became of all of them.

use super::decide::{Decided, holds};
use super::{Fault, Judge, Judged};
use crate::policy::{Level, RubricRule, Rule, Spanned, rule_text};
use crate::scenario::Scenario;
use crate::{
    AttemptResult, Coverage, Error, GateKind, GateResult, SampleId, ScenarioCheck, ScenarioOutcome, ScenarioResult,
    Score, Unit, Value, Verdict,
};
use std::collections::BTreeSet;

/// So many scenarios are named in a reason.
const NAMED: usize = 5;

impl Judge<'_> {
    /// What became of a scenario whose attempts are taken together: it passed if the reduced share of attempts that
    /// passed reaches what the policy asks for, which is all of it unless it says otherwise.
    fn outcome(&self, scenario: &Scenario<'_>) -> ScenarioOutcome {
        let outcomes: Vec<ScenarioOutcome> = scenario.attempts().iter().map(|attempt| attempt.outcome).collect();
        let is = |wanted| outcomes.iter().all(|&outcome| outcome == wanted);
        let told = outcomes.iter().any(|outcome| matches!(outcome, ScenarioOutcome::Passed | ScenarioOutcome::Failed));
        if is(ScenarioOutcome::Passed) && !outcomes.is_empty() {
            return ScenarioOutcome::Passed;
        }
        if !told {
            let errored = outcomes.contains(&ScenarioOutcome::Errored);
            return if errored { ScenarioOutcome::Errored } else { ScenarioOutcome::Unscored };
        }
        if self.share(scenario).is_some_and(|share| share >= self.share_wanted()) {
            ScenarioOutcome::Passed
        } else {
            ScenarioOutcome::Failed
        }
    }

    /// The reduced share of a scenario's attempts that passed.
    fn share(&self, scenario: &Scenario<'_>) -> Option<f64> {
        let passed = |outcome: ScenarioOutcome| match outcome {
            ScenarioOutcome::Passed => Some(1.0),
            ScenarioOutcome::Failed | ScenarioOutcome::Errored => Some(0.0),
            ScenarioOutcome::Unscored => None,
        };
        let shares: Vec<f64> = scenario.attempts().iter().filter_map(|attempt| passed(attempt.outcome)).collect();
        match &shares[..] {
            [] => None,
            [one] => Some(*one),
            shares => {
                let scores: Vec<Score> = shares.iter().map(|&share| Score::new(share)).collect();
                self.reducer.reduce(&scores).ok()?.value.as_number()
            }
        }
    }

    /// The share of attempts from which a scenario has passed.
    fn share_wanted(&self) -> f64 {
        self.min_pass_rate().map_or(1.0, |rule| rule.value) - 1e-12
    }

    fn min_pass_rate(&self) -> Option<Rule> {
        let threshold = self.policy.epochs.min_pass_rate.as_ref()?;
        threshold.rule_for(Unit::Rate, Some(calipers_stats::gate::Direction::AtLeast)).ok()
    }

    /// Gates about lists of scenarios.
    pub(super) fn scenario_gates(&self) -> Result<Vec<Judged>, Fault> {
        if let Some(threshold) = &self.policy.epochs.min_pass_rate {
            threshold.rule_for(Unit::Rate, Some(calipers_stats::gate::Direction::AtLeast))?;
        }
        let gates = [self.required_gate(), self.min_pass_rate_gate(), self.failures_gate(), self.rubric_gate()?];
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
        Some(counted(GateKind::Required, "required_scenarios", format!("all pass ({passed} of {})", checks.len()), decided))
    }

    /// Every scenario passes often enough; the average hides a dead one.
    fn min_pass_rate_gate(&self) -> Option<Judged> {
        let rule = self.min_pass_rate()?;
        let mut below = Vec::new();
        let mut errored = Vec::new();
        for scenario in self.scenarios.iter().filter(|scenario| !self.is_optional(scenario.id())) {
            let attempts = scenario.attempts();
            let count = |wanted| attempts.iter().filter(|attempt| attempt.outcome == wanted).count() as f64;
            let (passed, failed, broken) =
                (count(ScenarioOutcome::Passed), count(ScenarioOutcome::Failed), count(ScenarioOutcome::Errored));
            let all = passed + failed + broken;
            if all == 0.0 || holds(rule, passed / all) {
                continue;
            }
            let list = if holds(rule, (passed + broken) / all) { &mut errored } else { &mut below };
            list.push(format!("{} {passed}/{all}", scenario.id()));
        }
        let decided = if !below.is_empty() {
            Decided::new(Verdict::Fail, format!("below: {}", named(&below)))
        } else if !errored.is_empty() {
            Decided::new(Verdict::Undecided, format!("attempts ended in errors: {}", named(&errored)))
        } else {
            Decided::new(Verdict::Pass, "every scenario passes often enough")
        };
        let rule = rule_text("each scenario", &rule, Unit::Rate);
        Some(counted(GateKind::MinPassRate, "min_pass_rate", rule, decided))
    }

    /// No failure of a blocking kind: a violation, or a `failure_type` of the record, of that name.
    fn failures_gate(&self) -> Option<Judged> {
        let kinds = &self.policy.blocking_failures;
        if kinds.is_empty() {
            return None;
        }
        let mut found = Vec::new();
        for scenario in self.scenarios.iter().filter(|scenario| !self.is_optional(scenario.id())) {
            let of_attempts = scenario.attempts().iter().flat_map(|attempt| attempt.failures());
            let all: BTreeSet<&str> = of_attempts.collect();
            let blocking = kinds.iter().filter(|kind| all.contains(kind.value.as_str()));
            found.extend(blocking.map(|kind| format!("{} in {}", kind.value, scenario.id())));
        }
        let names: Vec<&str> = kinds.iter().map(|kind| kind.value.as_str()).collect();
        let decided = if found.is_empty() {
            Decided::new(Verdict::Pass, "none occurred")
        } else {
            Decided::new(Verdict::Fail, named(&found))
        };
        Some(counted(GateKind::BlockingFailures, "blocking_failures", format!("none of {}", named(&names)), decided))
    }

    fn rubric_gate(&self) -> Result<Option<Judged>, Fault> {
        let Some(rubric) = &self.policy.rubric else { return Ok(None) };
        let min = match &rubric.min_score {
            Some(threshold) => Some(threshold.rule_for(Unit::Rate, Some(calipers_stats::gate::Direction::AtLeast))?),
            None => None,
        };
        let scorer = self.rubric_scorer(rubric)?;
        let mut found = Vec::new();
        let mut graded = 0;
        for record in self.samples.records() {
            let Some(grades) = record.scores.iter().find(|(name, _)| **name == *scorer).and_then(|(_, outcome)| grades(outcome.value()?)) else {
                continue;
            };
            if self.is_optional(&record.id) {
                continue;
            }
            graded += 1;
            let share = grades.iter().map(|(_, grade)| grade).sum::<f64>() / (rubric.best * grades.len() as f64);
            if let Some((criterion, _)) = grades.iter().find(|(_, grade)| rubric.no_zero && *grade == 0.0) {
                found.push(format!("{} has 0 for {criterion}", record.id));
            } else if min.is_some_and(|min| !holds(min, share)) {
                found.push(format!("{} has {}", record.id, Unit::Rate.show(share)));
            }
        }
        let decided = match (graded, found.is_empty()) {
            (0, _) => Decided::new(Verdict::Undecided, format!("no attempt has grades by `{scorer}`")),
            (_, true) => Decided::new(Verdict::Pass, format!("{graded} attempts graded")),
            (_, false) => Decided::new(Verdict::Fail, named(&found)),
        };
        let parts = [min.map(|min| rule_text("score", &min, Unit::Rate)), rubric.no_zero.then(|| "no criterion at 0".to_owned())];
        let rule = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        Ok(Some(counted(GateKind::Rubric, "rubric", rule, decided)))
    }

    /// The scorer whose scores are grades by criterion.
    fn rubric_scorer(&self, rubric: &RubricRule) -> Result<String, Fault> {
        if let Some(scorer) = &rubric.scorer {
            return Ok(scorer.value.clone());
        }
        let maps: Vec<&str> = self.samples.scorers().filter(|name| self.samples.has_maps(name)).map(|name| &**name).collect();
        match &maps[..] {
            [one] => Ok((*one).to_owned()),
            [] => Err(Error::argument("no scorer grades by criterion", "score a map such as {\"tone\": 2, \"facts\": 1}").into()),
            several => Err(Error::argument(format!("several scorers grade by criterion: {}", several.join(", ")), "name one as `rubric.scorer`").into()),
        }
    }

    pub(super) fn checks(&self, ids: &[Spanned<String>]) -> Vec<ScenarioCheck> {
        ids.iter().map(|id| self.check(&id.value)).collect()
    }

    fn check(&self, id: &str) -> ScenarioCheck {
        let Some(scenario) = self.scenarios.iter().find(|scenario| scenario.id().to_string() == id) else {
            return ScenarioCheck { id: id.to_owned(), outcome: None, passed: (0, 0), reason: None };
        };
        let attempts = scenario.attempts();
        let passed = attempts.iter().filter(|attempt| attempt.outcome == ScenarioOutcome::Passed).count() as u32;
        let outcome = self.outcome(&scenario);
        let reason = attempts.iter().find_map(|attempt| attempt.reason()).filter(|_| outcome != ScenarioOutcome::Passed);
        ScenarioCheck { id: id.to_owned(), outcome: Some(outcome), passed: (passed, attempts.len() as u32), reason }
    }

    pub(super) fn is_optional(&self, id: &SampleId) -> bool {
        !self.policy.optional.is_empty() && {
            let id = id.to_string();
            self.policy.optional.iter().any(|optional| optional.value == id)
        }
    }

    pub(super) fn coverage(&self) -> Coverage {
        let mut coverage = Coverage { attempts: self.samples.attempts() as u64, ..Coverage::default() };
        coverage.errored_attempts = self.samples.errored() as u64;
        for scenario in self.scenarios.iter() {
            coverage.total += 1;
            match self.outcome(&scenario) {
                ScenarioOutcome::Passed => coverage.passed += 1,
                ScenarioOutcome::Failed => coverage.failed += 1,
                ScenarioOutcome::Errored => coverage.errored += 1,
                ScenarioOutcome::Unscored => coverage.unscored += 1,
            }
            let has = |wanted| scenario.attempts().iter().any(|attempt| attempt.outcome == wanted);
            coverage.flaky += u64::from(has(ScenarioOutcome::Passed) && has(ScenarioOutcome::Failed));
        }
        let present: BTreeSet<String> = self.scenarios.iter().map(|scenario| scenario.id().to_string()).collect();
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
    pub(super) fn coverage_gate(&self, coverage: &Coverage) -> Option<Judged> {
        let told = coverage.passed + coverage.failed;
        let scored = self.samples.counts().scored;
        let reason = if coverage.total == 0 {
            "the run is empty".to_owned()
        } else if told == 0 && scored == 0 {
            format!("none of {} scenarios has a score or says whether it passed", coverage.total)
        } else if coverage.expected_by == Some("suite") && !coverage.missing.is_empty() {
            format!("{} of the suite are missing: {}", coverage.missing.len(), named(&coverage.missing))
        } else {
            return None;
        };
        let rule = "every scenario ran".to_owned();
        Some(counted(GateKind::Coverage, "coverage", rule, Decided::new(Verdict::Undecided, reason)))
    }

    pub(super) fn scenario_results(&self) -> Vec<ScenarioResult> {
        let required: BTreeSet<&str> = self.policy.required.iter().map(|id| id.value.as_str()).collect();
        let result = |(place, scenario): (usize, Scenario<'_>)| ScenarioResult {
            id: scenario.id().clone(),
            category: scenario.category().map(Into::into),
            outcome: self.outcome(&scenario),
            attempts: scenario
                .attempts()
                .iter()
                .map(|attempt| AttemptResult {
                    epoch: attempt.epoch,
                    outcome: attempt.outcome,
                    reason: attempt.reason(),
                    latency_ms: attempt.latency_ms,
                })
                .collect(),
            scores: self.share(&scenario).map(|share| ("pass_rate".to_owned(), share)).into_iter().collect(),
            weight: self.weights().map_or(1.0, |weights| weights[place]),
            is_required: required.contains(scenario.id().to_string().as_str()),
        };
        self.scenarios.iter().enumerate().map(result).collect()
    }
}

/// A gate that counts scenarios.
fn counted(kind: GateKind, name: &str, rule: String, decided: Decided) -> Judged {
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
            margin: None,
            verdict: decided.verdict,
            reason: decided.reason,
            more_samples: None,
            rationale: None,
        },
    }
}

/// The first few names of a list.
fn named(names: &[impl AsRef<str>]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMED).map(AsRef::as_ref).collect();
    let rest = names.len().saturating_sub(NAMED);
    if rest == 0 { shown.join(", ") } else { format!("{} and {rest} more", shown.join(", ")) }
}

/// Grades by criterion.
fn grades(value: &Value) -> Option<Vec<(String, f64)>> {
    let Value::Map(entries) = value else { return None };
    entries.iter().map(|(name, grade)| Some((name.to_string(), grade.as_number()?))).collect()
}

