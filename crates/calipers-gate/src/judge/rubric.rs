//! Grades by criterion against a rubric.

use super::threshold_question::{Judgement, holds};
use super::{Fault, Judge, PendingGate};
use crate::policy::{Comparison, RubricRule, Rule};
use crate::{GateKind, GateRule, PoorGrade, ScenarioReason};
use calipers_core::{Error, Outcome, Score, Value, Verdict};

impl Judge<'_> {
    pub(super) fn rubric_gate(&self) -> Result<Option<PendingGate>, Fault> {
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
            let scenario = record.id.to_string();
            if let Some((criterion, _)) = grades.iter().find(|(_, grade)| rubric.no_zero && *grade == 0.0) {
                found.push(PoorGrade::Zero { scenario, criterion: criterion.clone() });
            } else if min.is_some_and(|min| !holds(min, share)) {
                found.push(PoorGrade::Share { scenario, share });
            }
        }
        let judgement = match (found.is_empty(), ungraded.is_empty()) {
            (false, _) => Judgement::new(Verdict::Fail, ScenarioReason::PoorGrades(found)),
            (true, false) => {
                Judgement::new(Verdict::Undecided, ScenarioReason::Ungraded { scorer, scenarios: ungraded })
            }
            (true, true) => Judgement::new(Verdict::Pass, ScenarioReason::AllGraded { graded }),
        };
        let rule = GateRule::Rubric { min, no_zero: rubric.no_zero };
        Ok(Some(PendingGate::new(GateKind::Rubric, "rubric", rule, judgement)))
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
}

/// Grades by criterion.
fn grades(outcome: &Outcome) -> Option<Vec<(String, f64)>> {
    let Outcome::Scored(Score { value: Value::Map(entries), .. }) = outcome else { return None };
    entries.iter().map(|(name, grade)| Some((name.to_string(), grade.as_number()?))).collect()
}
