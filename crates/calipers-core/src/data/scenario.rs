//! Whether each attempt of a scenario passed, and why not.
//!
//! Attempts are read from columns: each distinct combination of behaviours is judged once, and an attempt only looks it
//! up. Fifty thousand attempts take a few passes over columns of four bytes per row.

use crate::data::column::{ABSENT, Column};
use crate::data::scores::{Scores, Values};
use crate::metric::RunRows;
use crate::{
    Context, Error, ErrorKind, Points, SampleId, Samples, Shortcoming, StateReader, StateWriter, Stored, Value,
};
use hashbrown::{HashMap, HashSet};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// The outcome of a scenario: exactly one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScenarioOutcome {
    /// It passed.
    Passed,
    /// It did not.
    Failed,
    /// It did not run.
    Errored,
    /// It ran, and nothing says whether it passed.
    Unscored,
}

/// The fields that say whether an attempt passed, in the order in which they are consulted.
pub const FIELDS: [&str; 5] = ["passed", "expected_behaviors", "observed_behaviors", "must_not", "violations"];

/// When an attempt has passed, where its record does not say so itself.
///
/// ```
/// use calipers_core::PassRule;
///
/// assert_eq!(PassRule::default().threshold(), 1.0);
/// assert!(PassRule::new(0.8).is_ok() && PassRule::new(f64::NAN).is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PassRule {
    /// None where 1 is only what is usual.
    threshold: Option<f64>,
    scorer: Option<Arc<str>>,
}

impl Default for PassRule {
    /// Every expected behaviour, or a score of 1.
    fn default() -> Self {
        Self { threshold: None, scorer: None }
    }
}

impl PassRule {
    /// Passed at this share of the expected behaviours, or at this score.
    pub fn new(threshold: f64) -> Result<Self, Error> {
        if threshold.is_finite() {
            return Ok(Self { threshold: Some(threshold), scorer: None });
        }
        let message = format!("a pass threshold of {threshold} can never be reached");
        Err(Error::argument(message, "write 0.8 for 80 % of the expected behaviours"))
    }

    /// By the score of this scorer alone, even if the record has a `passed` or behaviours.
    #[must_use]
    pub fn of_scorer(self, scorer: impl Into<Arc<str>>) -> Self {
        Self { scorer: Some(scorer.into()), ..self }
    }

    /// The share of expected behaviours, or the score, at which an attempt passes.
    #[must_use]
    pub fn threshold(&self) -> f64 {
        self.threshold.unwrap_or(1.0)
    }

    /// True when the threshold was given, so that it holds on any scale.
    #[must_use]
    pub fn has_threshold(&self) -> bool {
        self.threshold.is_some()
    }

    /// With the threshold of a context, unless it has its own.
    fn within(&self, context: &Context) -> Self {
        Self { threshold: self.threshold.or(context.pass_threshold), scorer: self.scorer.clone() }
    }

    /// The scorer that decides alone, if one does.
    #[must_use]
    pub fn scorer(&self) -> Option<&Arc<str>> {
        self.scorer.as_ref()
    }
}

/// The attempts of a run as scenarios: the outcome of each, its score by behaviours, and why.
///
/// An attempt that ended in an error is errored. Else the record's own `passed` says whether it passed; else its behaviours
/// do: no violation, and every expected one observed (or the share that the rule asks for); else the only score, which has
/// to reach 1 (or the threshold). Attempts are numbered in the order of samples and epochs.
///
/// ```
/// use calipers_core::{Context, Samples, ScenarioOutcome, Scenarios, Shortcoming, Value};
///
/// let list = |names: &[&str]| Value::List(names.iter().map(|name| Value::from(*name)).collect());
/// let mut samples = Samples::new();
/// samples
///     .push("SEC-001")
///     .metadata("category", "adversarial")
///     .field("expected_behaviors", list(&["refuses", "cites policy"]))
///     .field("observed_behaviors", list(&["refuses"]));
/// let scenarios = Scenarios::new(&samples, 1.0, &Context::default())?;
/// assert_eq!(scenarios.outcome(0), ScenarioOutcome::Failed);
/// assert_eq!(scenarios.score(0), Some(0.5));
/// let missed = vec!["cites policy".into()];
/// assert_eq!(scenarios.shortcoming(0), Some(Shortcoming::Behaviors { violated: vec![], missed }));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scenarios<'a> {
    points: Points<'a>,
    outcomes: Vec<ScenarioOutcome>,
    behaviors: Arc<AttemptBehaviors>,
    /// The score that decided; NaN where none did.
    grades: Cow<'a, [f64]>,
    threshold: f64,
    rests_on_score: bool,
    unusable: Option<UnusableScore>,
}

/// Why a score that should decide cannot.
#[derive(Clone, Debug)]
enum UnusableScore {
    /// There are several scorers, and none was chosen.
    SeveralScorers,
    /// It is not a number.
    NotANumber(Error),
    /// Scores of the scorer lie outside [0, 1], and nothing says which of them pass.
    NoThreshold(Arc<str>),
}

/// A sample with the places of its attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// The sample's place in the run.
    pub sample: u32,
    /// Its attempts, as numbers for the questions of [`Scenarios`].
    pub attempts: Range<usize>,
}

/// What was expected of attempts and what happened.
#[derive(Debug)]
pub(super) struct AttemptBehaviors {
    /// The place of each attempt's behaviours in the list of distinct ones. No list where all have the first of these.
    places: Vec<u32>,
    distinct: Vec<Behaviors>,
}

impl AttemptBehaviors {
    fn get(&self, attempt: usize) -> &Behaviors {
        &self.distinct[self.places.get(attempt).map_or(0, |place| *place as usize)]
    }

    /// True if something is said about any attempt.
    fn are_given(&self) -> bool {
        self.distinct.iter().any(|behaviors| behaviors.is_given)
    }
}

/// What was expected and what happened.
#[derive(Clone, Debug, Default)]
struct Behaviors {
    /// True when the record says what is expected, what must not happen, or what did.
    is_given: bool,
    expected: u32,
    observed: u32,
    missed: Vec<Arc<str>>,
    violations: Vec<Arc<str>>,
}

impl Behaviors {
    /// Names listed twice count once, and what was observed without being expected does not count.
    fn new([expected, observed, must_not, violations]: [Option<&Value>; 4]) -> Self {
        let is_given = expected.is_some() || !names(must_not).is_empty() || !names(violations).is_empty();
        let observed: HashSet<Arc<str>> = names(observed).into_iter().collect();
        let expected = distinct(names(expected));
        let missed: Vec<Arc<str>> = expected.iter().filter(|name| !observed.contains(*name)).cloned().collect();
        Self {
            is_given,
            expected: expected.len() as u32,
            observed: (expected.len() - missed.len()) as u32,
            missed,
            violations: distinct(names(violations)),
        }
    }

    /// The share of expected behaviours that were observed; all of them where none is expected.
    fn share(&self) -> f64 {
        if self.expected == 0 { 1.0 } else { f64::from(self.observed) / f64::from(self.expected) }
    }

    fn score(&self) -> Option<f64> {
        let score = if self.violations.is_empty() { self.share() } else { 0.0 };
        self.is_given.then_some(score)
    }

    fn has_passed(&self, threshold: f64) -> bool {
        self.violations.is_empty() && self.share() >= threshold
    }
}

/// The names in a list of behaviours.
fn names(list: Option<&Value>) -> Vec<Arc<str>> {
    let name = |value: &Value| match value {
        Value::Text(name) => name.clone(),
        other => other.to_string().into(),
    };
    match list {
        None => Vec::new(),
        Some(Value::List(list)) => list.iter().map(name).collect(),
        Some(one) => vec![name(one)],
    }
}

/// Each name once, in the order of the first.
fn distinct(mut names: Vec<Arc<str>>) -> Vec<Arc<str>> {
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

impl<'a> Scenarios<'a> {
    /// The attempts of a run. Each passes at this share of its expected behaviours, or at this score.
    ///
    /// Fails if a `passed` is neither true nor false. Where several scorers could decide, or a score is not a number, the
    /// attempt is unscored and [`check`](Self::check) says why.
    pub fn new(samples: &'a Samples, pass_threshold: f64, context: &Context) -> Result<Self, Error> {
        Self::by_rule(samples, &PassRule::new(pass_threshold)?, context)
    }

    /// The same by a rule that may name a scorer.
    pub fn by_rule(samples: &'a Samples, rule: &PassRule, context: &Context) -> Result<Self, Error> {
        Self::of(&samples.attempt_points(), rule, context)
    }

    /// The same of rows that may have been looked up before.
    pub fn of_run(rows: &RunRows<'a>, rule: &PassRule, context: &Context) -> Result<Self, Error> {
        Self::of(&rows.attempts(), rule, context)
    }

    /// The scenarios of these attempts.
    pub(crate) fn of(points: &Points<'a>, rule: &PassRule, context: &Context) -> Result<Self, Error> {
        let rule = &rule.within(context);
        let mut scenarios = Self::before_judging(points, rule);
        // Most tables of scores have neither a column `passed` nor behaviours, and all of their attempts are still open.
        let passed = match points.samples().has_column("passed") {
            true => points.field("passed", &context.labels)?,
            false => Vec::new(),
        };
        let says_nothing = passed.is_empty() && !scenarios.behaviors.are_given();
        for row in (0..points.len()).filter(|_| !says_nothing && rule.scorer.is_none()) {
            let behaviors = scenarios.behaviors.get(row);
            scenarios.outcomes[row] = match passed.get(row).copied().flatten() {
                _ if scenarios.outcomes[row] == ScenarioOutcome::Errored => ScenarioOutcome::Errored,
                Some(passed) => outcome(passed >= 1.0),
                None if behaviors.is_given => outcome(behaviors.has_passed(rule.threshold())),
                None => ScenarioOutcome::Unscored,
            };
        }
        if scenarios.outcomes.contains(&ScenarioOutcome::Unscored) {
            scenarios.judge_by_score(rule, context);
        }
        Ok(scenarios)
    }

    /// The attempts before they are judged: errored, or unscored.
    pub(crate) fn before_judging(points: &Points<'a>, rule: &PassRule) -> Self {
        let mut outcomes = vec![ScenarioOutcome::Unscored; points.len()];
        if points.samples().has_errors() {
            let errored = outcomes.iter_mut().enumerate().filter(|(row, _)| points.is_errored(*row));
            errored.for_each(|(_, outcome)| *outcome = ScenarioOutcome::Errored);
        }
        Self {
            points: points.clone(),
            outcomes,
            behaviors: points.behaviors(|| find_behaviors(points)),
            grades: Cow::Borrowed(&[]),
            threshold: rule.threshold(),
            rests_on_score: false,
            unusable: None,
        }
    }

    /// Judges the attempts that nothing else decides.
    fn judge_by_score(&mut self, rule: &PassRule, context: &Context) {
        let (grades, is_used, mut unusable) = match self.floats_in_order(rule, context) {
            Some(floats) => (Cow::Borrowed(floats), floats.iter().any(|grade| !grade.is_nan()), None),
            None => {
                let mut grades = vec![f64::NAN; self.points.len()];
                let open = (0..self.points.len()).filter(|row| self.outcomes[*row] == ScenarioOutcome::Unscored);
                let (is_used, unusable) =
                    self.look_up(open, rule.scorer.as_ref(), context, |row, grade| grades[row] = grade);
                (Cow::Owned(grades), is_used, unusable)
            }
        };
        // On a scale from 1 to 5 the worst score reaches 1: what passes there is not for us to guess.
        let off_scale = if rule.has_threshold() || !is_used { None } else { self.off_scale(rule, context) };
        if let Some(scorer) = off_scale {
            unusable.get_or_insert(UnusableScore::NoThreshold(scorer));
        } else {
            // Only what was open has a grade.
            for (decided, grade) in self.outcomes.iter_mut().zip(&*grades).filter(|(_, grade)| !grade.is_nan()) {
                *decided = outcome(*grade >= rule.threshold());
            }
        }
        self.grades = grades;
        self.rests_on_score = is_used && rule.scorer.is_none();
        self.unusable = unusable;
    }

    /// The scores of the only scorer as they are, if each attempt has one, a number or a gap, and none of them is decided yet. There may
    /// be millions, of which no copy is made.
    fn floats_in_order(&self, rule: &PassRule, context: &Context) -> Option<&'a [f64]> {
        let samples = self.points.samples();
        let mut scorers = samples.scorers();
        let scorer = match (&rule.scorer, scorers.next(), scorers.next()) {
            (Some(scorer), ..) | (None, Some(scorer), None) => scorer,
            _ => return None,
        };
        if samples.may_repeat || context.labels.map_numbers() {
            return None;
        }
        let scores = samples.scores(scorer)?;
        let Values::Scalars(Column::Floats(floats)) = &scores.values else { return None };
        let attempts = &self.points.scores().attempt;
        let is_in_order = attempts.len() == floats.len() && attempts.is_counting();
        let is_whole = matches!(ScoreRows::new(scores, samples), ScoreRows::Same);
        // No early exits, so that vector instructions can do it.
        let are_open = self.outcomes.iter().fold(true, |all, one| all & (*one == ScenarioOutcome::Unscored));
        let are_usable = || floats.iter().fold(true, |all, x| all & !x.is_infinite());
        (is_in_order && is_whole && are_open && are_usable()).then_some(floats)
    }

    /// The scorer that decides, if it has given a score outside [0, 1] to any sample: also to one that is not looked at,
    /// since a scorer has one scale.
    fn off_scale(&self, rule: &PassRule, context: &Context) -> Option<Arc<str>> {
        let samples = self.points.samples();
        let mut scorers = samples.scorers();
        let scorer = match (&rule.scorer, scorers.next(), scorers.next()) {
            (Some(scorer), ..) | (None, Some(scorer), None) => scorer,
            _ => return None,
        };
        let is_outside = samples.scores(scorer)?.values.is_outside_unit(&context.labels);
        is_outside.then(|| scorer.clone())
    }

    /// The only score of each of these attempts. True if there is one for any of them.
    pub(crate) fn grades(
        &self,
        open: &[usize],
        context: &Context,
        each: impl FnMut(usize, f64),
    ) -> Result<bool, Error> {
        match self.look_up(open.iter().copied(), None, context, each) {
            // The caller knows how many scorers the other shards have, and reports the error.
            (is_used, None | Some(UnusableScore::SeveralScorers | UnusableScore::NoThreshold(_))) => Ok(is_used),
            (_, Some(UnusableScore::NotANumber(error))) => Err(error),
        }
    }

    /// Passes on the scores of these attempts by a scorer, or by the only one. Returns whether any attempt has a score, and
    /// why a score cannot be used.
    fn look_up(
        &self,
        open: impl Iterator<Item = usize>,
        scorer: Option<&Arc<str>>,
        context: &Context,
        mut each: impl FnMut(usize, f64),
    ) -> (bool, Option<UnusableScore>) {
        let samples = self.points.samples();
        let scorers: Vec<&Arc<str>> = scorer.map_or_else(|| samples.scorers().collect(), |scorer| vec![scorer]);
        let scores = scorers.iter().filter_map(|scorer| samples.scores(scorer));
        let found: Vec<(&Scores, ScoreRows)> = scores.map(|scores| (scores, ScoreRows::new(scores, samples))).collect();
        let (mut is_used, mut unusable) = (false, None);
        // The floats of the only scorer, where no number stands for another.
        let floats = match &found[..] {
            [(scores, rows)] if scorers.len() == 1 && !context.labels.map_numbers() => match &scores.values {
                Values::Scalars(Column::Floats(floats)) => Some((floats, rows)),
                _ => None,
            },
            _ => None,
        };
        for row in open {
            if let Some((floats, rows)) = floats {
                match rows.of(&self.points, row).map(|at| floats[at]) {
                    Some(grade) if grade.is_finite() => {
                        is_used = true;
                        each(row, grade);
                        continue;
                    }
                    Some(grade) if !grade.is_nan() => {}
                    _ => continue,
                }
            }
            let value = found.iter().find_map(|(scores, rows)| {
                let at = rows.of(&self.points, row)?;
                (!scores.values.is_root_missing(at)).then(|| scores.values.get(at))
            });
            let Some(value) = value else { continue };
            is_used = true;
            if scorers.len() > 1 {
                return (true, Some(UnusableScore::SeveralScorers));
            }
            match context.labels.to_float(&value) {
                Some(grade) => each(row, grade),
                None => {
                    let error =
                        || self.points.at(row, Error::from(ErrorKind::UnknownLabel(value)).at_scorer(scorers[0]));
                    unusable.get_or_insert_with(|| UnusableScore::NotANumber(error()));
                }
            }
        }
        (is_used, unusable)
    }

    /// An error if an attempt has a score that should say whether it passed and cannot: there are several scorers and
    /// none was chosen, or the score is not a number. The hint names the metric.
    pub fn check(&self, metric: &str) -> Result<(), Error> {
        match &self.unusable {
            None => Ok(()),
            Some(UnusableScore::SeveralScorers) => Err(several_scorers(self.points.samples().scorers(), metric)),
            Some(UnusableScore::NotANumber(error)) => Err(error.clone()),
            Some(UnusableScore::NoThreshold(scorer)) => {
                Err(Error::from(ErrorKind::NoPassThreshold { scorer: scorer.to_string() }).at_metric(metric))
            }
        }
    }

    /// True when a score decides (or should), because neither `passed` nor behaviours do.
    pub fn rests_on_score(&self) -> bool {
        self.rests_on_score
    }

    /// The number of attempts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.outcomes.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.outcomes.is_empty()
    }

    /// The samples with their attempts, in the order of the run.
    pub fn iter(&self) -> impl Iterator<Item = Scenario> {
        let mut next = 0;
        self.points.sample_codes().chunk_by(|a, b| a == b).map(move |attempts| {
            let first = next;
            next += attempts.len();
            Scenario { sample: attempts[0], attempts: first..next }
        })
    }

    /// True when each sample has one attempt, and attempts have the places of their samples.
    #[must_use]
    pub fn is_attempt_per_sample(&self) -> bool {
        self.points.len() == self.points.samples().len() && self.points.is_row_per_sample()
    }

    /// The outcome of an attempt.
    #[must_use]
    pub fn outcome(&self, attempt: usize) -> ScenarioOutcome {
        self.outcomes[attempt]
    }

    /// The outcomes of all attempts.
    #[must_use]
    pub fn outcomes(&self) -> &[ScenarioOutcome] {
        &self.outcomes
    }

    /// The score of an attempt by its behaviours: 0 after any violation, else the share of the expected ones that were
    /// observed, which is 1 where none is expected. None where nothing is known of behaviours, or the attempt did not run.
    #[must_use]
    pub fn score(&self, attempt: usize) -> Option<f64> {
        if self.outcomes[attempt] == ScenarioOutcome::Errored { None } else { self.behaviors_of(attempt).score() }
    }

    /// How many of the expected behaviours were observed, and how many were expected. None as for [`score`](Self::score).
    #[must_use]
    pub fn observed_counts(&self, attempt: usize) -> Option<(u32, u32)> {
        let behaviors = self.behaviors_of(attempt);
        let is_known = behaviors.is_given && self.outcomes[attempt] != ScenarioOutcome::Errored;
        is_known.then_some((behaviors.observed, behaviors.expected))
    }

    /// The violations of an attempt, by name.
    #[must_use]
    pub fn violations(&self, attempt: usize) -> &[Arc<str>] {
        &self.behaviors_of(attempt).violations
    }

    /// The expected behaviours that were not observed, by name.
    #[must_use]
    pub fn missed_behaviors(&self, attempt: usize) -> &[Arc<str>] {
        &self.behaviors_of(attempt).missed
    }

    fn behaviors_of(&self, attempt: usize) -> &Behaviors {
        self.behaviors.get(attempt)
    }

    /// Why an attempt did not pass; none for one that passed.
    #[must_use]
    pub fn shortcoming(&self, attempt: usize) -> Option<Shortcoming> {
        match self.outcomes[attempt] {
            ScenarioOutcome::Passed => None,
            ScenarioOutcome::Errored => {
                let error = self.error(attempt).map(|error| error.trim()).unwrap_or_default();
                Some(Shortcoming::Errored(error.lines().next().map(Arc::from)))
            }
            ScenarioOutcome::Unscored => Some(Shortcoming::Unscored),
            ScenarioOutcome::Failed => Some(self.failure(attempt)),
        }
    }

    fn failure(&self, attempt: usize) -> Shortcoming {
        if let Some(score) = self.grades.get(attempt).filter(|grade| !grade.is_nan()) {
            return Shortcoming::ScoreBelow { score: *score, threshold: self.threshold };
        }
        let Behaviors { violations, missed, .. } = self.behaviors_of(attempt);
        if violations.is_empty() && missed.is_empty() {
            return Shortcoming::Recorded;
        }
        Shortcoming::Behaviors { violated: violations.clone(), missed: missed.clone() }
    }

    /// The values of a field, attempt by attempt.
    pub fn field_values(&self, name: &str) -> Column {
        self.points.field_values(name)
    }

    /// The values of a metadata key, attempt by attempt.
    pub fn fact_values(&self, key: &str) -> Column {
        self.points.samples().fact_values(key, &self.points.scores().attempt)
    }

    /// The error that an attempt ended in.
    #[must_use]
    pub fn error(&self, attempt: usize) -> Option<&Arc<str>> {
        self.points.error(attempt)
    }

    /// The epoch of an attempt.
    #[must_use]
    pub fn epoch(&self, attempt: usize) -> u32 {
        self.points.epoch(attempt)
    }

    /// The sample of an attempt, as its place in the run.
    #[must_use]
    pub fn sample(&self, attempt: usize) -> u32 {
        self.points.sample_codes()[attempt]
    }

    /// How long each attempt took; infinite for one that ran out of time.
    pub fn latencies(&self, context: &Context) -> Result<Vec<Option<f64>>, Error> {
        latencies(&self.points, context)
    }

    /// The name of a sample.
    #[must_use]
    pub fn id(&self, sample: u32) -> SampleId {
        self.points.samples().id(sample)
    }

    /// The category of a sample.
    #[must_use]
    pub fn category(&self, sample: u32) -> Option<Arc<str>> {
        self.fact(sample, "category")
    }

    /// The capability that a sample exercises.
    #[must_use]
    pub fn capability(&self, sample: u32) -> Option<Arc<str>> {
        self.fact(sample, "capability")
    }

    fn fact(&self, sample: u32, key: &str) -> Option<Arc<str>> {
        let column = self.points.samples().metadata_column(key)?;
        match column.value(sample)? {
            Value::Null | Value::Missing => None,
            Value::Text(text) => Some(text.clone()),
            other => Some(other.to_string().into()),
        }
    }
}

fn outcome(has_passed: bool) -> ScenarioOutcome {
    if has_passed { ScenarioOutcome::Passed } else { ScenarioOutcome::Failed }
}

/// The behaviours of each attempt, of which most are alike.
fn find_behaviors(points: &Points<'_>) -> AttemptBehaviors {
    let [_, lists @ ..] = FIELDS;
    let columns = lists.map(|name| {
        let is_there = points.samples().has_column(name);
        match is_there.then(|| points.field_values(name)) {
            Some(Column::Coded(coded)) => Some(coded),
            // Behaviours are not numbers.
            Some(Column::Floats(_)) | None => None,
        }
    });
    if columns.iter().all(Option::is_none) {
        return AttemptBehaviors { places: Vec::new(), distinct: vec![Behaviors::default()] };
    }
    let mut known: HashMap<[u32; 4], u32> = HashMap::new();
    let mut distinct = Vec::new();
    let place = |row: usize| {
        let codes = columns.each_ref().map(|column| column.as_ref().map_or(ABSENT, |column| column.codes[row]));
        *known.entry(codes).or_insert_with(|| {
            let given = columns.each_ref().map(|column| {
                let value = column.as_ref()?.value(row)?;
                (!matches!(value, Value::Null | Value::Missing)).then_some(value)
            });
            distinct.push(Behaviors::new(given));
            distinct.len() as u32 - 1
        })
    };
    AttemptBehaviors { places: (0..points.len()).map(place).collect(), distinct }
}

/// The row of each attempt among the scores of a scorer.
enum ScoreRows {
    /// Each attempt has one, in the order of the run.
    Same,
    /// By the attempt's place in the run.
    ByAttempt(Vec<u32>),
    /// By sample and epoch: an attempt that was delivered in several records may have its score in any of them.
    ByEpoch(HashMap<(u32, u32), u32>),
}

impl ScoreRows {
    fn new(scores: &Scores, samples: &Samples) -> Self {
        if samples.may_repeat {
            let keys = scores.sample.iter().copied().zip(scores.epoch.iter().copied());
            // In reverse, so that the first of several stays.
            return Self::ByEpoch(keys.zip(0..).collect::<Vec<_>>().into_iter().rev().collect());
        }
        let attempts = samples.deliveries();
        if scores.attempt.len() == attempts && scores.attempt.is_counting() {
            return Self::Same;
        }
        let mut rows = vec![ABSENT; attempts];
        for (row, &attempt) in scores.attempt.iter().enumerate() {
            rows[attempt as usize] = row as u32;
        }
        Self::ByAttempt(rows)
    }

    fn of(&self, points: &Points<'_>, row: usize) -> Option<usize> {
        let scores = points.scores();
        let found = match self {
            Self::Same => Some(scores.attempt[row]),
            Self::ByAttempt(rows) => Some(rows[scores.attempt[row] as usize]).filter(|&row| row != ABSENT),
            Self::ByEpoch(rows) => rows.get(&(scores.sample[row], scores.epoch[row])).copied(),
        };
        found.map(|row| row as usize)
    }
}

/// The error when several scorers could be meant.
pub fn several_scorers<'n>(scorers: impl Iterator<Item = &'n Arc<str>>, metric: &str) -> Error {
    let names: BTreeSet<&str> = scorers.map(|name| &**name).collect();
    let example = names.first().copied().unwrap_or_default();
    let hint = format!("name one: `{metric}(scorer=\"{example}\")`");
    Error::argument(format!("the run has several scorers: {}", Vec::from_iter(names).join(", ")), hint)
}

/// The scores that a scenario metric fell back on must all be by one scorer, across all shards.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScoreFallback {
    scorers: BTreeSet<Arc<str>>,
    is_used: bool,
}

impl Stored for ScoreFallback {
    fn save(&self, out: &mut StateWriter) {
        out.put(&self.scorers);
        out.put(&self.is_used);
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        Ok(Self { scorers: from.take()?, is_used: from.take()? })
    }
}

impl ScoreFallback {
    pub(crate) fn note(&mut self, samples: &Samples, is_used: bool) {
        self.scorers.extend(samples.scorers().cloned());
        self.is_used |= is_used;
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.scorers.extend(other.scorers);
        self.is_used |= other.is_used;
    }

    pub(crate) fn check(&self, metric: &str) -> Result<(), Error> {
        let is_clear = !self.is_used || self.scorers.len() < 2;
        if is_clear { Ok(()) } else { Err(several_scorers(self.scorers.iter(), metric)) }
    }
}

/// How many attempts ran out of time, or took infinitely long.
pub fn count_timeouts(points: &Points<'_>, context: &Context) -> Result<u64, Error> {
    let count = |latencies: &mut dyn Iterator<Item = f64>| latencies.filter(|latency| latency.is_infinite()).count();
    let is_as_stored = !may_be_cut(points);
    let found = match points.stored_floats("latency_ms", &context.labels).filter(|_| is_as_stored) {
        Some(latencies) => count(&mut latencies.iter().copied()),
        None => count(&mut latencies(points, context)?.into_iter().flatten()),
    };
    Ok(found as u64)
}

/// False when nothing says that an attempt was ended by a limit.
fn may_be_cut(points: &Points<'_>) -> bool {
    points.samples().has_errors() || points.samples().fields().any(|field| **field == *"limit")
}

/// How long attempts took. One that ran out of time took longer than any limit, even if a shorter time is recorded.
pub fn latencies(points: &Points<'_>, context: &Context) -> Result<Vec<Option<f64>>, Error> {
    let mut latencies = points.field("latency_ms", &context.labels)?;
    // A log may name the limit that ended an attempt, and score the attempt as it stood then.
    let has_limits = points.samples().fields().any(|field| **field == *"limit");
    let limits = has_limits.then(|| points.field_values("limit"));
    let is_cut =
        |row| limits.as_ref().is_some_and(|limits| matches!(limits.get(row), Value::Text(kind) if *kind == *"time"));
    let may_be_cut = may_be_cut(points);
    for (row, latency) in latencies.iter_mut().enumerate().filter(|_| may_be_cut) {
        if points.error(row).is_some_and(|error| is_timeout(error)) || is_cut(row) {
            *latency = Some(f64::INFINITY);
        }
    }
    Ok(latencies)
}

/// True for errors that say that time ran out.
fn is_timeout(error: &str) -> bool {
    let error = error.to_lowercase();
    ["timeout", "timed out", "time limit"].iter().any(|sign| error.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> Value {
        Value::List(names.iter().map(|name| Value::from(*name)).collect())
    }

    fn unlike(violated: &[&str], missed: &[&str]) -> Shortcoming {
        let names = |names: &[&str]| names.iter().map(|name| Arc::from(*name)).collect();
        Shortcoming::Behaviors { violated: names(violated), missed: names(missed) }
    }

    #[track_caller]
    fn judged(samples: &Samples, threshold: f64) -> (ScenarioOutcome, Option<f64>, Option<Shortcoming>) {
        let scenarios = Scenarios::new(samples, threshold, &Context::default()).expect("readable");
        (scenarios.outcome(0), scenarios.score(0), scenarios.shortcoming(0))
    }

    #[test]
    fn a_scenario_is_judged_by_what_its_record_says_first() {
        use ScenarioOutcome::{Errored, Failed, Passed, Unscored};
        let (all, some) = (list(&["a", "b", "c", "d"]), list(&["b", "a", "d", "x", "a"]));
        let case = |describe: &dyn Fn(crate::Attempt<'_>)| {
            let mut samples = Samples::new();
            describe(samples.push(1));
            samples
        };
        let behaviors = case(&|attempt| {
            attempt.field("expected_behaviors", all.clone()).field("observed_behaviors", some.clone());
        });
        assert_eq!(judged(&behaviors, 1.0), (Failed, Some(0.75), Some(unlike(&[], &["c"]))));
        assert_eq!(judged(&behaviors, 0.75), (Passed, Some(0.75), None));
        let own = case(&|attempt| {
            attempt.field("passed", true).field("expected_behaviors", all.clone()).score("judge", 0.0);
        });
        assert_eq!(judged(&own, 1.0), (Passed, Some(0.0), None));
        let violated = case(&|attempt| {
            let attempt = attempt.field("expected_behaviors", list(&["a"])).field("observed_behaviors", list(&["a"]));
            attempt.field("violations", list(&["leaks key"])).score("judge", 1.0);
        });
        assert_eq!(judged(&violated, 0.0), (Failed, Some(0.0), Some(unlike(&["leaks key"], &[]))));
        let forbids = case(&|attempt| {
            attempt.field("must_not", list(&["leaks key"])).field("violations", list(&[]));
        });
        assert_eq!(judged(&forbids, 1.0), (Passed, Some(1.0), None));
        let graded = case(&|attempt| {
            attempt.field("violations", list(&[])).score("judge", 0.8);
        });
        assert_eq!(judged(&graded, 1.0), (Failed, None, Some(Shortcoming::ScoreBelow { score: 0.8, threshold: 1.0 })));
        assert_eq!(judged(&graded, 0.8), (Passed, None, None));
        let broken = case(&|attempt| {
            attempt.field("passed", true).field("expected_behaviors", all.clone()).error("connection reset\nat x");
        });
        assert_eq!(judged(&broken, 1.0), (Errored, None, Some(Shortcoming::Errored(Some("connection reset".into())))));
        let silent = case(&|attempt| {
            attempt.field("observed_behaviors", some.clone());
        });
        assert_eq!(judged(&silent, 1.0), (Unscored, None, Some(Shortcoming::Unscored)));
    }

    #[test]
    fn a_score_is_found_in_whichever_record_of_the_attempt_has_it() {
        let mut samples = Samples::new();
        samples.push_epoch("a", 2).field("latency_ms", 1.0);
        samples.push_epoch("a", 1).score("judge", "C");
        samples.push_epoch("a", 2).score("judge", "I");
        let scenarios = Scenarios::new(&samples, 1.0, &Context::default()).expect("readable");
        assert_eq!(scenarios.outcomes(), [ScenarioOutcome::Passed, ScenarioOutcome::Failed]);
        assert_eq!(scenarios.iter().collect::<Vec<_>>(), [Scenario { sample: 0, attempts: 0..2 }]);
    }

    #[test]
    fn several_scorers_decide_nothing_until_one_is_chosen() {
        let mut samples = Samples::new();
        samples.push(1).score("judge", 1.0).score("exact", 0.0);
        let context = Context::default();
        let scenarios = Scenarios::new(&samples, 1.0, &context).expect("readable");
        assert_eq!(scenarios.outcome(0), ScenarioOutcome::Unscored);
        let error = scenarios.check("pass_rate").expect_err("two scorers").to_string();
        assert_eq!(error, "the run has several scorers: exact, judge\n  hint: name one: `pass_rate(scorer=\"exact\")`");
        let by_judge = PassRule::default().of_scorer("judge");
        let scenarios = Scenarios::by_rule(&samples, &by_judge, &context).expect("readable");
        assert_eq!((scenarios.outcome(0), scenarios.check("pass_rate")), (ScenarioOutcome::Passed, Ok(())));
    }

    #[test]
    fn time_that_ran_out_is_longer_than_any_limit() {
        let mut samples = Samples::new();
        for error in ["Timeout", "request timed out after 30 s", "TIME LIMIT exceeded", "connection reset"] {
            samples.push(error).field("latency_ms", 5.0).error(error);
        }
        samples.push("fine").field("latency_ms", 7.0);
        let scenarios = Scenarios::new(&samples, 1.0, &Context::default()).expect("readable");
        let endless = Some(f64::INFINITY);
        let latencies = scenarios.latencies(&Context::default()).expect("numbers");
        assert_eq!(latencies, [endless, endless, endless, Some(5.0), Some(7.0)]);
    }
}
