//! The samples of a run as rows of a page, and what they come to together.

use super::texts::{ByAttempt, Room};
use crate::sample_outcomes::decide_outcomes;
use calipers_core::stats::quantile::SortedValues;
use calipers_core::{
    Context, Distribution, DistributionOf, Error, Outcome, OutcomeCounts, Record, SampleId, Samples, ScenarioOutcome,
    Shortcoming, Unit, Value,
};
use calipers_gate::{GateReport, ScenarioResult};
use calipers_io::AttemptTexts;
use calipers_render::page::{
    PageAttempt, PageBehavior, PageOutcome, PageSample, PageScore, PassBasis, PassedShare, Repeats, Spending,
};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The samples of a run and what they come to.
pub(super) struct Rows {
    pub(super) samples: Vec<PageSample>,
    pub(super) counts: OutcomeCounts,
    pub(super) pass_basis: PassBasis,
    pub(super) scorers: Vec<Arc<str>>,
    /// What distributions are made of, once those of the other runs are known too.
    pub(super) values: Vec<SpreadValues>,
    pub(super) repeats: Option<Repeats>,
    pub(super) spending: Vec<Spending>,
}

/// Values of a run that are counted together with those of other runs.
pub(super) struct SpreadValues {
    name: String,
    unit: Unit,
    of: DistributionOf,
    values: Vec<f64>,
}

pub(super) fn of_run(
    run: usize,
    samples: &Samples,
    texts: ByAttempt,
    gate: Option<&GateReport>,
    context: &Context,
    room: &mut Room,
) -> Result<Rows, Error> {
    let (scenarios, mut pass_basis) = decide_outcomes(samples, context)?;
    if gate.is_some() {
        pass_basis = PassBasis::Policy;
    }
    let by_policy: HashMap<&SampleId, &ScenarioResult> =
        gate.iter().flat_map(|gate| &gate.scenarios).map(|scenario| (&scenario.id, scenario)).collect();
    let scorers: Vec<Arc<str>> = samples.scorers().filter(|name| !samples.has_maps(name)).cloned().collect();
    let latencies = scenarios.latencies(context)?;
    let is_judged = pass_basis != PassBasis::Nothing;
    let places = scorers.iter().zip(0..).map(|(name, place)| (&**name, place)).collect();
    let mut maker = Maker { run, is_judged, places, by_policy, texts, context, room };
    // Records come in the order of samples and epochs, as scenarios do.
    let mut records = samples.records();
    let mut rows = Vec::new();
    let mut spent: [Vec<Option<f64>>; 3] = Default::default();
    for scenario in scenarios.iter() {
        let judged = scenario.attempts.clone().map(|attempt| AttemptOutcome {
            outcome: scenarios.outcome(attempt),
            reason: scenarios.shortcoming(attempt),
            latency_ms: latencies[attempt],
        });
        let attempts: Vec<(Record, AttemptOutcome)> =
            records.by_ref().zip(judged).take(scenario.attempts.len()).collect();
        for (record, judged) in &attempts {
            spent[0].push(judged.latency_ms);
            spent[1].push(field(record, "tokens_used"));
            spent[2].push(field(record, "cost_usd"));
        }
        rows.push(maker.sample(attempts));
    }
    let values = spread_values(&rows, &scorers, &spent);
    Ok(Rows {
        counts: counts(&rows),
        pass_basis,
        repeats: repeats(&rows),
        spending: RESOURCES.iter().zip(&spent).filter_map(|(what, values)| spending(what, values)).collect(),
        values,
        samples: rows,
        scorers,
    })
}

/// An attempt with its outcome.
struct AttemptOutcome {
    outcome: ScenarioOutcome,
    reason: Option<Shortcoming>,
    /// Infinite for one that ran out of time.
    latency_ms: Option<f64>,
}

/// The most facts of a sample that are shown: what is more is in the file.
const FACTS_MAX: usize = 24;

/// Makes rows of attempts.
struct Maker<'a> {
    run: usize,
    /// Whether anything says which samples passed.
    is_judged: bool,
    /// The place of each scorer.
    places: HashMap<&'a str, usize>,
    by_policy: HashMap<&'a SampleId, &'a ScenarioResult>,
    texts: ByAttempt,
    context: &'a Context,
    room: &'a mut Room,
}

impl Maker<'_> {
    fn sample(&mut self, attempts: Vec<(Record, AttemptOutcome)>) -> PageSample {
        let first = &attempts[0].0;
        let (id, metadata) = (first.id.clone(), first.metadata.clone());
        let policy = self.by_policy.get(&id).copied();
        let mut texts = AttemptTexts::among(metadata.iter());
        let behaviors = behaviors(attempts.iter().map(|(record, _)| record));
        let scores = self.mean_scores(&attempts);
        let mean_of = |name: &str| mean(attempts.iter().filter_map(|(record, _)| field(record, name)));
        let (tokens, cost_usd) = (mean_of("tokens_used"), mean_of("cost_usd"));
        let latency_ms = mean(attempts.iter().filter_map(|(_, judged)| judged.latency_ms.filter(|ms| ms.is_finite())));
        let attempts: Vec<PageAttempt> =
            attempts.into_iter().map(|attempt| self.attempt(attempt, policy, &behaviors, &mut texts)).collect();
        let outcome = policy.map_or_else(|| overall(&attempts), |policy| policy.outcome.into());
        let count = |wanted| attempts.iter().filter(|attempt| attempt.outcome == wanted).count();
        PageSample {
            run: self.run,
            category: metadata.get("category").map(|category| category.to_string().into()),
            outcome,
            is_flaky: count(PageOutcome::Passed) > 0 && count(PageOutcome::Failed) > 0,
            is_required: policy.is_some_and(|policy| policy.is_required),
            scores,
            latency_ms,
            tokens,
            cost_usd,
            reason: attempts.iter().find_map(|attempt| attempt.reason.clone()),
            standing: None,
            input: texts.input.map(|text| self.room.text(text)),
            target: texts.target.map(|text| self.room.text(text)),
            behaviors,
            facts: metadata
                .iter()
                .filter(|(name, value)| {
                    ***name != *"category" && !AttemptTexts::has_name(name) && !matches!(value, Value::Null)
                })
                .take(FACTS_MAX)
                .map(|(name, value)| (name.clone(), self.room.text(value.to_string().into())))
                .collect(),
            attempts,
            id,
        }
    }

    fn attempt(
        &mut self,
        (record, judged): (Record, AttemptOutcome),
        policy: Option<&ScenarioResult>,
        behaviors: &[PageBehavior],
        known: &mut AttemptTexts,
    ) -> PageAttempt {
        let own = self.texts.remove(&(record.id.clone(), record.epoch));
        let texts = match own {
            Some(own) => {
                // What was asked is the same in all attempts.
                known.input = known.input.take().or(own.input);
                known.target = known.target.take().or(own.target);
                AttemptTexts { messages: own.messages, output: own.output, ..AttemptTexts::default() }
            }
            // What the samples keep is that of the first attempt.
            None => AttemptTexts {
                messages: std::mem::take(&mut known.messages),
                output: known.output.take(),
                ..AttemptTexts::default()
            },
        };
        let decided = policy.and_then(|policy| policy.attempts.iter().find(|attempt| attempt.epoch == record.epoch));
        let (outcome, reason) = match decided {
            Some(decided) => (decided.outcome.into(), decided.reason.clone()),
            None => self.outcome(&record, judged.outcome, judged.reason),
        };
        let ends_with_output = texts.messages.last().is_some_and(|last| Some(&last.content) == texts.output.as_ref());
        let happened = observed_flags(&record, behaviors);
        PageAttempt {
            epoch: record.epoch,
            outcome,
            reason,
            happened,
            latency_ms: judged.latency_ms.filter(|ms| ms.is_finite()),
            tokens: field(&record, "tokens_used"),
            cost_usd: field(&record, "cost_usd"),
            error: record.error.clone().map(|error| self.room.text(error)),
            messages: texts.messages.iter().map(|message| self.room.message(message)).collect(),
            output: texts.output.filter(|_| !ends_with_output).map(|output| self.room.text(output)),
            scores: record.scores.into_iter().map(|(scorer, outcome)| self.score(scorer, outcome)).collect(),
        }
    }

    /// The outcome of an attempt that no policy judges. Where nothing says what passes, a score is only a score.
    fn outcome(
        &self,
        record: &Record,
        outcome: ScenarioOutcome,
        reason: Option<Shortcoming>,
    ) -> (PageOutcome, Option<Shortcoming>) {
        if self.is_judged || outcome == ScenarioOutcome::Errored {
            return (outcome.into(), reason);
        }
        let is_scored = record.scores.iter().any(|(_, outcome)| matches!(outcome, Outcome::Scored(_)));
        if is_scored { (PageOutcome::Scored, None) } else { (PageOutcome::Unscored, Some(Shortcoming::Unscored)) }
    }

    fn score(&mut self, scorer: Arc<str>, outcome: Outcome) -> PageScore {
        let mut text = |text: Option<Arc<str>>| text.map(|text| self.room.text(text));
        match outcome {
            Outcome::Scored(score) => {
                let (answer, explanation) = (text(score.answer), text(score.explanation));
                PageScore { scorer, value: score.value, answer, explanation }
            }
            Outcome::Unscored { reason, score } => {
                let (answer, explanation) = score.map(|score| (score.answer, score.explanation)).unwrap_or_default();
                let (answer, explanation) = (text(answer), text(explanation.or(Some(reason))));
                PageScore { scorer, value: Value::Missing, answer, explanation }
            }
        }
    }

    /// The mean of the scores of each scorer that are numbers.
    fn mean_scores(&self, attempts: &[(Record, AttemptOutcome)]) -> Vec<Option<f64>> {
        let mut values: Vec<Vec<f64>> = vec![Vec::new(); self.places.len()];
        for (name, outcome) in attempts.iter().flat_map(|(record, _)| &record.scores) {
            if let (Some(&place), Outcome::Scored(score)) = (self.places.get(&**name), outcome) {
                values[place].extend(self.context.labels.to_float(&score.value));
            }
        }
        values.into_iter().map(|values| mean(values.into_iter())).collect()
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

fn field(record: &Record, name: &str) -> Option<f64> {
    record.fields.iter().find(|(known, _)| **known == *name)?.1.as_number().filter(|x| x.is_finite())
}

fn names<'r>(record: &'r Record, name: &str) -> impl Iterator<Item = Arc<str>> + 'r {
    let list = record.fields.iter().find(|(known, _)| **known == *name).map(|(_, value)| value);
    let items = match list {
        Some(Value::List(items)) => &items[..],
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    items.iter().map(|item| match item {
        Value::Text(text) => text.clone(),
        other => other.to_string().into(),
    })
}

/// The behaviours of a sample, each once: what is expected, then what is forbidden, then what else was violated.
fn behaviors<'r>(attempts: impl Iterator<Item = &'r Record> + Clone) -> Vec<PageBehavior> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for (list, is_forbidden) in [("expected_behaviors", false), ("must_not", true), ("violations", true)] {
        for name in attempts.clone().flat_map(|record| names(record, list)) {
            if seen.insert((is_forbidden, name.clone())) {
                all.push(PageBehavior { name, is_forbidden });
            }
        }
    }
    all
}

fn observed_flags(record: &Record, behaviors: &[PageBehavior]) -> Vec<bool> {
    if behaviors.is_empty() {
        return Vec::new();
    }
    let observed: Vec<Arc<str>> = names(record, "observed_behaviors").collect();
    let violated: Vec<Arc<str>> = names(record, "violations").collect();
    let of = |behavior: &PageBehavior| if behavior.is_forbidden { &violated } else { &observed };
    behaviors.iter().map(|behavior| of(behavior).contains(&behavior.name)).collect()
}

/// The outcome of a sample: it passed if every attempt that ran did.
fn overall(attempts: &[PageAttempt]) -> PageOutcome {
    let has = |wanted| attempts.iter().any(|attempt| attempt.outcome == wanted);
    [PageOutcome::Failed, PageOutcome::Passed, PageOutcome::Scored, PageOutcome::Errored]
        .into_iter()
        .find(|outcome| has(*outcome))
        .unwrap_or(PageOutcome::Unscored)
}

fn counts(rows: &[PageSample]) -> OutcomeCounts {
    let mut counts = OutcomeCounts { total: rows.len() as u64, ..OutcomeCounts::default() };
    for row in rows {
        match row.outcome {
            PageOutcome::Passed => counts.passed += 1,
            PageOutcome::Failed => counts.failed += 1,
            PageOutcome::Errored => counts.errored += 1,
            PageOutcome::Unscored => counts.unscored += 1,
            PageOutcome::Scored => {}
        }
    }
    counts.flaky = rows.iter().filter(|row| row.is_flaky).count() as u64;
    let attempts = || rows.iter().flat_map(|row| &row.attempts);
    counts.attempts = attempts().count() as u64;
    counts.errored_attempts = attempts().filter(|attempt| attempt.outcome == PageOutcome::Errored).count() as u64;
    counts
}

/// How often samples passed; none where no sample has two attempts that passed or failed.
fn repeats(rows: &[PageSample]) -> Option<Repeats> {
    let passed_of = |row: &PageSample| {
        let count = |wanted| row.attempts.iter().filter(|attempt| attempt.outcome == wanted).count();
        let passed = count(PageOutcome::Passed);
        (passed, passed + count(PageOutcome::Failed))
    };
    let repeated: Vec<(usize, usize)> = rows.iter().map(passed_of).filter(|(_, decided)| *decided > 1).collect();
    let most = repeated.iter().map(|(_, decided)| *decided).max()?;
    let is_even = repeated.iter().all(|(_, decided)| *decided == most) && most <= EVEN_MAX;
    let bars = if is_even {
        let count = |passed| repeated.iter().filter(|(own, _)| *own == passed).count() as u64;
        (0..=most).map(|passed| (PassedShare::Count { passed, of: most }, count(passed))).collect()
    } else {
        let count = |is: fn(usize, usize) -> bool| repeated.iter().filter(|(p, n)| is(*p, *n)).count() as u64;
        vec![
            (PassedShare::Never, count(|passed, _| passed == 0)),
            (PassedShare::UnderHalf, count(|passed, decided| passed > 0 && passed * 2 < decided)),
            (PassedShare::HalfOrMore, count(|passed, decided| passed * 2 >= decided && passed < decided)),
            (PassedShare::Always, count(|passed, decided| passed == decided)),
        ]
    };
    let flaky = repeated.iter().filter(|(passed, decided)| *passed > 0 && passed < decided).count() as u64;
    Some(Repeats { bars, flaky, repeated: repeated.len() as u64 })
}

/// With more attempts than this, they share bars.
const EVEN_MAX: usize = 12;

/// What attempts take.
const RESOURCES: [(&str, Unit); 3] = [("latency", Unit::Milliseconds), ("tokens", Unit::Tokens), ("cost", Unit::Usd)];

/// The scores of samples and what attempts took, for distributions.
fn spread_values(rows: &[PageSample], scorers: &[Arc<str>], spent: &[Vec<Option<f64>>; 3]) -> Vec<SpreadValues> {
    let of_scorer = |(place, name): (usize, &Arc<str>)| SpreadValues {
        name: name.to_string(),
        unit: Unit::Plain,
        of: DistributionOf::Samples,
        values: rows.iter().filter_map(|row| row.scores[place]).collect(),
    };
    let of_resource = |((what, unit), values): (&(&str, Unit), &Vec<Option<f64>>)| SpreadValues {
        name: (*what).to_owned(),
        unit: *unit,
        of: DistributionOf::Attempts,
        values: values.iter().flatten().copied().collect(),
    };
    scorers.iter().enumerate().map(of_scorer).chain(RESOURCES.iter().zip(spent).map(of_resource)).collect()
}

/// The distributions of each run. What several runs have is counted in the same bars.
pub(super) fn distributions(runs: Vec<Vec<SpreadValues>>) -> Vec<Vec<Distribution>> {
    let mut found: Vec<Vec<Distribution>> = runs.iter().map(|_| Vec::new()).collect();
    // The values of each run under what they are of, in the order in which runs have them.
    let mut together: Vec<(SpreadValues, Vec<Vec<f64>>)> = Vec::new();
    let mut places: HashMap<(String, DistributionOf), usize> = HashMap::new();
    let count = runs.len();
    for (run, all) in runs.into_iter().enumerate() {
        for mut one in all {
            let values = std::mem::take(&mut one.values);
            let place = *places.entry((one.name.clone(), one.of)).or_insert(together.len());
            if place == together.len() {
                together.push((one, vec![Vec::new(); count]));
            }
            together[place].1[run] = values;
        }
    }
    for (SpreadValues { name, unit, of, .. }, values) in together {
        let of_runs = Distribution::of_runs(name, unit, of, values);
        found.iter_mut().zip(of_runs).for_each(|(found, one)| found.extend(one));
    }
    found
}

/// What attempts took; none if nothing is recorded. An attempt that ran out of time is in no sum.
fn spending((what, unit): &(&'static str, Unit), values: &[Option<f64>]) -> Option<Spending> {
    let known: Vec<f64> = values.iter().flatten().copied().filter(|value| value.is_finite()).collect();
    let total: f64 = known.iter().sum();
    let n = known.len();
    let sorted = SortedValues::new(known).ok()?;
    Some(Spending {
        what,
        unit: *unit,
        total,
        mean: total / n as f64,
        median: sorted.linear(0.5).ok()?,
        p95: sorted.linear(0.95).ok()?,
        most: sorted.linear(1.0).ok()?,
        n: n as u64,
        missing: (values.len() - n) as u64,
    })
}
