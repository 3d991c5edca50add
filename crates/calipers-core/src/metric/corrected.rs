//! `corrected`.

use super::arguments::Arguments;
use super::evidence::{by_sample, mean_of_given};
use super::registry::Definition;
use super::{Context, Measure, Metric, Scope, Tally, View};
use crate::{
    About, Answer, Caveat, Error, Evidence, Family, Figure, Points, Reason, Samples, Score, StateReader, StateWriter,
    Stored, Undefined, Unit, accuracy, damaged,
};
use calipers_stats::agreement::{binary_kappa_interval, paired_alpha};
use calipers_stats::confusion::Confusion;
use calipers_stats::corrected_mean::CorrectedMean;
use calipers_stats::threshold_test::Direction;
use std::collections::BTreeMap;
use std::sync::Arc;

const CORRECTED: About = About {
    name: "corrected",
    summary: "a judge's mean score, corrected by human labels",
    usage: "corrected(metric=accuracy(), labels=\"human_label\")",
    tells: "What people would have said if they had labelled everything. It uses every score of the judge and every \
            label, and its interval accounts for the errors of both.",
    misleads: "When the labelled samples are not a random choice: labels of complaints say nothing about the rest.",
    formula: "For scores and labels that are 0 or 1, q·p₁ + (1 − q)·p₀: q is the share that the judge passes, p₁ and \
              p₀ are the shares that people pass among the samples that the judge passes and fails. For others \
              PPI++: mean(label) + λ(mean score of the others − mean score of the labelled). The score of a sample \
              is what the metric averages; its label is the mean of the labels of its attempts. Labels are a field, \
              a metadata key or a scorer.",
    interval: "Exact intervals for p₁ and p₀ and Wilson's for q, combined by MOVER, or by their distributions where \
               that is wider; for PPI++, t with a little weight at both ends. A gate uses the one-sided bound of the same method.",
    example: "calipers score results.jsonl --labels labels.jsonl -m corrected",
    unit: Unit::Rate,
    range: "that of the metric",
    direction: Some(Direction::AtLeast),
    typical_threshold: None,
    use_case: "Answers that are judged by a model",
    family: Family::Compound,
    parameters: &[
        ("metric", "the mean to correct: `accuracy()`, or `mean()` for scores on another scale"),
        ("labels", "where the human labels are: the name of a field, a metadata key or a scorer"),
    ],
    positional: &["metric"],
    inspect: None,
    role: None,
};

/// The field that labels of people are joined to attempts as.
pub const HUMAN_LABEL: &str = "human_label";

/// A kappa or alpha that lies below this for certain is a judge who disagrees with people too much.
pub const POOR_AGREEMENT: f64 = 0.6;

/// Labels from which the agreement of grades has an interval.
const ALPHA_UNITS_MIN: usize = 20;

/// The metrics of this file.
pub(super) static METRICS: &[Definition] = &[Definition { about: CORRECTED, make: make_corrected }];

fn make_corrected(arguments: &Arguments<'_>) -> Result<Metric, Error> {
    let inner = if arguments.has_inner("metric") { arguments.inner("metric")? } else { accuracy() };
    corrected(inner, &arguments.text("labels")?.unwrap_or_else(|| HUMAN_LABEL.to_owned()))
}

/// A judge's mean score, corrected by the labels of people for some of the samples.
///
/// `calipers metrics corrected` says what it tells you, when it misleads, its formula and its interval.
///
/// Fails for a metric of fields, which no judge gives.
///
/// ```
/// use calipers_core::{Plan, Samples, accuracy, corrected};
///
/// let mut samples = Samples::new();
/// for id in 0..200 {
///     let attempt = samples.push(id).score("judge", f64::from(u8::from(id % 4 > 0)));
///     if id < 100 {
///         // Of what the judge passes, people fail one third.
///         attempt.field("human_label", f64::from(u8::from(id % 4 > 1)));
///     }
/// }
/// let results = Plan::new().metrics([accuracy(), corrected(accuracy(), "human_label")?]).measure(&samples)?;
/// assert_eq!(results.figure("judge", "accuracy").expect("asked for").value, Ok(0.75));
/// assert_eq!(results.figure("judge", "corrected").expect("asked for").value, Ok(0.5));
/// # Ok::<(), calipers_core::Error>(())
/// ```
pub fn corrected(metric: impl Into<Metric>, labels: &str) -> Result<Metric, Error> {
    let inner = metric.into();
    if inner.view == View::Attempts {
        let message = format!("`{}` reads fields, which no judge gives", inner.name);
        return Err(Error::argument(message, "correct a mean of scores, such as `accuracy()` or `mean()`"));
    }
    let of = |inner: Metric| {
        let outer = Corrected { metric: inner.clone(), labels: labels.into() };
        let mut metric = inner.within("corrected", outer).about_samples(Scope::EverySample);
        // It answers itself, with an interval that clusters change.
        metric.passes_on = false;
        let view = if inner.view == View::Attempts { inner.view } else { View::Reduced };
        let metric = metric.view(view).reading_if_there([labels]);
        if inner.name() == accuracy().name() && inner.params.is_empty() {
            metric
        } else {
            metric.param("metric", inner.as_param())
        }
    };
    let stand_in = inner.stand_in().map(|other| of(other).named("corrected"));
    let mut metric = of(inner);
    metric.reference = Some(labels.into());
    metric.without_scores = stand_in.map(Arc::new);
    Ok(if labels == HUMAN_LABEL { metric } else { metric.param("labels", labels) })
}

struct Corrected {
    metric: Metric,
    labels: Arc<str>,
}

/// What the judge said of each sample, with the label of people where there is one.
struct JudgedRows {
    samples: Vec<u32>,
    judged: Vec<f64>,
    labels: Vec<Option<f64>>,
    missing: Vec<u32>,
}

impl Corrected {
    fn rows(&self, points: &Points<'_>, context: &Context) -> Result<JudgedRows, Error> {
        let Some(Evidence::Mean { samples, values, missing }) = self.metric.evidence_of(points, context)? else {
            let message = format!("`{}` is not a mean of scores, and cannot be corrected", self.metric.name);
            return Err(Error::argument(message, "correct `accuracy()` or `mean()`"));
        };
        let known = labels_of(points.samples(), &self.labels, context)?;
        let labels = samples.iter().map(|&sample| known[sample as usize]).collect();
        Ok(JudgedRows { samples, judged: values, labels, missing })
    }
}

/// The label of each sample, by its place: that of its attempts, reduced as scores are.
///
/// A reducer that is no mean has a label only where all attempts do: of some, it would say something else.
fn labels_of(samples: &Samples, name: &str, context: &Context) -> Result<Vec<Option<f64>>, Error> {
    let mut labels = vec![None; samples.len()];
    let (rows, values): (Vec<u32>, Vec<Option<f64>>) = if samples.scores(name).is_some() {
        let points = samples.points(name)?.unique()?;
        let scored = points.scored();
        let given = scored.floats(context)?;
        let given = scored.sample_codes().iter().copied().zip(given.iter().map(|&x| Some(x)));
        let unscored = points.unscored();
        let absent = unscored.sample_codes().iter().map(|&sample| (sample, None));
        let mut rows: Vec<(u32, Option<f64>)> = given.chain(absent).collect();
        rows.sort_by_key(|row| row.0);
        rows.into_iter().unzip()
    } else if samples.has_column(name) {
        let points = samples.attempt_points();
        let values = points.field(name, &context.labels)?;
        if let Some(row) = values.iter().position(|value| value.is_some_and(|x| !x.is_finite())) {
            let error = Error::argument(format!("label `{name}` is infinite"), "give a finite number, or leave it out");
            return Err(error.at_sample(&points.sample_id(row)).at_epoch(points.epoch(row)));
        }
        (points.list_samples(), values)
    } else {
        return Ok(labels);
    };
    for (sample, attempts) in by_sample(&rows, &values) {
        let given = attempts.iter().flatten().count();
        labels[sample as usize] = if given == 0 {
            None
        } else if attempts.len() == 1 || context.attempts.is_mean() {
            mean_of_given(attempts)
        } else if given == attempts.len() {
            let scores: Vec<Score> = attempts.iter().flatten().map(|&x| Score::new(x)).collect();
            context.attempts.reduce_with(&scores, &context.labels)?.value.as_number()
        } else {
            None
        };
    }
    Ok(labels)
}

/// Labels beside scores, and the scores of samples without a label.
#[derive(Default)]
struct CorrectedState {
    pairs: Vec<(f64, f64)>,
    others: Vec<f64>,
}

impl Stored for CorrectedState {
    fn save(&self, out: &mut StateWriter) {
        let (labels, judged): (Vec<f64>, Vec<f64>) = self.pairs.iter().copied().unzip();
        out.floats(&labels);
        out.floats(&judged);
        out.floats(&self.others);
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        let (labels, judged) = (from.floats()?, from.floats()?);
        if labels.len() != judged.len() {
            return Err(damaged("a label has no score"));
        }
        Ok(Self { pairs: labels.into_iter().zip(judged).collect(), others: from.floats()? })
    }
}

impl CorrectedState {
    fn add(&mut self, rows: &JudgedRows) {
        for (&judged, label) in rows.judged.iter().zip(&rows.labels) {
            match label {
                Some(label) => self.pairs.push((*label, judged)),
                None => self.others.push(judged),
            }
        }
    }
}

impl Measure for Corrected {
    type State = CorrectedState;

    fn start(&self) -> CorrectedState {
        CorrectedState::default()
    }

    fn fold(&self, state: &mut CorrectedState, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        state.add(&self.rows(points, context)?);
        Ok(())
    }

    fn save(&self, state: &CorrectedState, out: &mut StateWriter) -> Result<(), Error> {
        out.put(state);
        Ok(())
    }

    fn load(&self, from: &mut StateReader<'_>) -> Result<CorrectedState, Error> {
        from.take()
    }

    fn merge(&self, state: &mut CorrectedState, other: CorrectedState) {
        state.pairs.extend(other.pairs);
        state.others.extend(other.others);
    }

    fn finish(&self, state: CorrectedState, tally: Tally, context: &Context) -> Result<Answer, Error> {
        let judged = (state.pairs.len() + state.others.len()) as u64;
        // Over attempts, a sample without a value has rows like the others.
        let missing = if self.metric.view == View::Attempts { tally.n - judged.min(tally.n) } else { tally.missing };
        let tally = Tally { n: judged, missing };
        if state.pairs.is_empty() {
            let reason = Reason::NoLabels { labels: self.labels.to_string() };
            let value = Err(Undefined::new(reason, f64::NAN));
            return Ok(Figure::from_result(value, tally, "corrected").into());
        }
        let mean = CorrectedMean::new(&state.pairs, &state.others);
        let interval = mean.and_then(|mean| mean.interval(context.confidence)).ok();
        let method = if mean.is_ok_and(|mean| mean.is_of_shares()) { "double-sampling" } else { "PPI++" };
        let value = mean.map(|mean| mean.estimate());
        let mut figure = Figure::statistic(value, f64::NAN, tally, method).with_interval(interval);
        figure = figure.with_detail("labels", state.pairs.len() as f64);
        if let Some(weight) = mean.ok().and_then(|mean| mean.weight()) {
            figure = figure.with_detail("weight", weight);
        }
        let all = || state.pairs.iter().flat_map(|(y, h)| [*y, *h]).chain(state.others.iter().copied());
        let (min, max) = all().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let is_unit = min >= 0.0 && max <= 1.0;
        if self.metric.unit() == Unit::Rate && !is_unit && figure.value.is_ok() {
            figure.caveats.push(Caveat::OutsideUnit { min, max });
        }
        if missing > 0 {
            let ends = mean.ok().filter(|_| is_unit).map(|mean| {
                (mean.with_unmeasured(missing, 0.0).estimate(), mean.with_unmeasured(missing, 1.0).estimate())
            });
            figure.caveats.push(Caveat::Missing { missing, range: ends });
        }
        figure.caveats.extend(find_disagreement(&state.pairs, None, context));
        Ok(figure.into())
    }

    fn evidence(&self, points: &Points<'_>, context: &Context) -> Result<Option<Evidence>, Error> {
        let JudgedRows { samples, judged, labels, missing } = self.rows(points, context)?;
        Ok(Some(Evidence::Corrected { samples, judged, labels, missing }))
    }
}

/// A caveat on a judge that certainly agrees with people too little: labels beside its scores.
fn find_disagreement(pairs: &[(f64, f64)], scorer: Option<&str>, context: &Context) -> Option<Caveat> {
    let is_binary = |x: f64| x == 0.0 || x == 1.0;
    let (agreement, upper) = if pairs.iter().all(|(y, h)| is_binary(*y) && is_binary(*h)) {
        let mut table = Confusion::default();
        pairs.iter().for_each(|(label, judged)| table.add(*label == 1.0, *judged == 1.0));
        (table.kappa().ok()?, binary_kappa_interval(&table, context.confidence).ok()?.upper?)
    } else {
        if pairs.len() < ALPHA_UNITS_MIN {
            return None;
        }
        let (alpha, interval) = paired_alpha(pairs, context.confidence).ok()?;
        (alpha, interval.upper?)
    };
    (upper < POOR_AGREEMENT).then(|| Caveat::JudgeDisagrees {
        run: None,
        scorer: scorer.map(str::to_owned),
        agreement,
        upper,
        needed: POOR_AGREEMENT,
    })
}

/// What to know about the judges of a run whose samples have labels of people: every figure of such a scorer rests on it.
///
/// The parts are those of one run. Without labels there is nothing to know.
pub fn judge_caveats(parts: &[&Samples], context: &Context) -> Result<Vec<Caveat>, Error> {
    Ok(JudgeLabels::of(parts, context)?.caveats(context))
}

/// The labels of people beside what each scorer says, for parts of a run that are looked at apart.
#[derive(Default)]
pub struct JudgeLabels(BTreeMap<Arc<str>, CorrectedState>);

impl JudgeLabels {
    /// The labels in these parts of a run.
    pub fn of(parts: &[&Samples], context: &Context) -> Result<Self, Error> {
        let mut labels = Self::default();
        if !parts.iter().any(|samples| samples.has_column(HUMAN_LABEL)) {
            return Ok(labels);
        }
        let judge = Corrected { metric: accuracy(), labels: HUMAN_LABEL.into() };
        for samples in parts {
            for scorer in samples.scorers().filter(|scorer| !samples.has_maps(scorer)) {
                let points = samples.points(scorer)?.reduce(&context.attempts, context)?;
                labels.0.entry(scorer.clone()).or_default().add(&judge.rows(&points, context)?);
            }
        }
        Ok(labels)
    }

    /// Adds those of another part.
    pub fn merge(&mut self, other: Self) {
        for (scorer, theirs) in other.0 {
            let mine = self.0.entry(scorer).or_default();
            mine.pairs.extend(theirs.pairs);
        }
    }

    /// What to know about the scorers.
    #[must_use]
    pub fn caveats(&self, context: &Context) -> Vec<Caveat> {
        let found =
            |(scorer, state): (&Arc<str>, &CorrectedState)| find_disagreement(&state.pairs, Some(scorer), context);
        self.0.iter().filter_map(found).collect()
    }
}

impl Stored for JudgeLabels {
    fn save(&self, out: &mut StateWriter) {
        out.length(self.0.len());
        for (scorer, state) in &self.0 {
            out.put(scorer);
            // Samples without a label say nothing about the judge.
            out.put(&CorrectedState { pairs: state.pairs.clone(), others: Vec::new() });
        }
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        Ok(Self(from.list(StateReader::take)?.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Plan, latency_p95, mean, mean_score, median_score, stderr};

    /// A judge that passes everything, of which people pass two thirds.
    fn samples(attempts: u32, labelled: u32) -> Samples {
        let mut samples = Samples::new();
        for id in 0..60 {
            for epoch in 1..=attempts {
                let attempt = samples.push_epoch(i64::from(id), epoch).score("judge", f64::from(u8::from(id % 6 < 5)));
                if id < 30 && epoch <= labelled {
                    attempt.field(HUMAN_LABEL, f64::from(u8::from(id % 6 < 4)));
                }
            }
        }
        samples
    }

    fn figure(samples: &Samples, metric: Metric) -> Figure {
        let results = Plan::new().metrics([metric]).measure(samples).expect("measurable");
        results.figure("judge", "corrected").expect("asked for").clone()
    }

    #[test]
    fn labels_correct_what_the_judge_says() {
        let found = figure(&samples(1, 1), corrected(accuracy(), HUMAN_LABEL).expect("a mean"));
        assert_eq!((found.n, found.details[0]), (60, ("labels", 30.0)));
        assert!((found.value.clone().expect("defined") - 4.0 / 6.0).abs() < 1e-12);
        assert!(found.interval.is_some_and(|interval| interval.contains(2.0 / 3.0)));
    }

    #[test]
    fn without_labels_there_is_a_reason() {
        let found = figure(&samples(1, 0), corrected(accuracy(), HUMAN_LABEL).expect("a mean"));
        let why = found.value.expect_err("no labels");
        assert_eq!(why.reason(), &Reason::NoLabels { labels: HUMAN_LABEL.to_owned() });
    }

    #[test]
    fn labels_of_some_attempts_are_those_of_the_sample_unless_the_reducer_needs_all() {
        for (labelled, want) in [(2, Some(30.0)), (1, None)] {
            let samples = samples(2, labelled);
            let metric = corrected(accuracy(), HUMAN_LABEL).expect("a mean");
            let by = |reducer| {
                let context = Context { attempts: mean_score(), ..Context::default() };
                let context = Context { attempts: reducer, ..context };
                let reducer = context.attempts.clone();
                metric.answer(&samples, &reducer, None, &context).expect("measurable")
            };
            let labels = |answer: Answer| answer.figure().and_then(|figure| figure.details.first().copied());
            assert_eq!(labels(by(mean_score())), Some(("labels", 30.0)));
            assert_eq!(labels(by(median_score())).map(|(_, labels)| labels), want);
        }
    }

    #[test]
    fn labels_may_be_a_scorer_which_is_not_corrected_itself() {
        let mut samples = Samples::new();
        for id in 0..40 {
            let attempt = samples.push(id).score("judge", 1.0);
            if id < 20 {
                attempt.score("person", f64::from(u8::from(id % 2 == 0)));
            }
        }
        let metric = corrected(accuracy(), "person").expect("a mean");
        let results = Plan::new().metrics([metric.clone()]).measure(&samples).expect("measurable");
        assert_eq!(results.figure("judge", "corrected").expect("asked for").value, Ok(0.5));
        assert!(results.figure("person", "corrected").is_none());
        let answer = metric.answer(&samples, &mean_score(), None, &Context::default()).expect("one judge");
        assert_eq!(answer.figure().expect("one number").value, Ok(0.5));
    }

    #[test]
    fn only_means_of_scores_are_corrected() {
        assert!(corrected(latency_p95(), HUMAN_LABEL).is_err());
        let error = Plan::new().metrics([corrected(stderr(), HUMAN_LABEL).expect("of scores")]).measure(&samples(1, 1));
        assert!(error.expect_err("no mean").to_string().contains("is not a mean of scores"));
        assert_eq!(corrected(mean(), HUMAN_LABEL).expect("a mean").unit(), Unit::Plain);
    }

    #[test]
    fn a_judge_that_disagrees_is_a_caveat_on_its_scorer() {
        let mut samples = Samples::new();
        for id in 0..100u32 {
            let judged = f64::from(u8::from(id % 2 == 0));
            samples.push(i64::from(id)).score("judge", judged).field(HUMAN_LABEL, f64::from(u8::from(id % 4 < 2)));
        }
        let caveats = judge_caveats(&[&samples], &Context::default()).expect("measurable");
        assert!(
            matches!(&caveats[..], [Caveat::JudgeDisagrees { scorer: Some(scorer), upper, .. }] if scorer == "judge" && *upper < 0.6),
            "{caveats:?}"
        );
        let none = judge_caveats(&[&Samples::new()], &Context::default()).expect("nothing to measure");
        assert!(none.is_empty());
    }
}
