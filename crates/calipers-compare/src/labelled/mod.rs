//! How far a judge can be trusted: its scores against the labels of people for some of the samples.
//!
//! The sample is the unit. The corrected rate is that of a double sample for 0/1 scores, and PPI++ for others; it is chosen by
//! this rule and not by looking at which is narrower ([why](../../../../docs/design/judging-judges.md)).

mod join;
mod judge_report;
mod label_book;

use self::join::{JoinedLabels, JudgedSample, LabelledAttempt, join};
pub use self::judge_report::{Halving, JudgeReport, JudgedGroup, LabelCounts, LabelPlace};
pub use self::label_book::LabelBook;
use calipers_core::{Caveat, Confidence, Context, Error, Figure, Interval, POOR_AGREEMENT, Samples, Tally, Unit};
use calipers_stats::agreement::{
    RatingScale, alpha_resampler, binary_alpha, binary_alpha_interval, binary_kappa_interval, krippendorff_alpha,
};
use calipers_stats::bootstrap::{Bootstrap, BootstrapKind};
use calipers_stats::confusion::{Confusion, Share};
use calipers_stats::double_sampling::DoubleSample;
use calipers_stats::misclassification::Misclassified;
use calipers_stats::prediction_powered::PredictionPowered;
use calipers_stats::proportion::Proportion;
use calipers_stats::two_sample::{newcombe, welch};
use calipers_stats::{Moments, StatisticCaveat, Undefined as NoStatistic};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a judge is asked about.
#[derive(Clone, Copy, Debug)]
pub struct JudgeQuestion<'a> {
    /// What reports call the run.
    pub run_name: &'a str,
    /// The run.
    pub run: &'a Samples,
    /// Where the labels come from.
    pub labels_name: &'a str,
    /// The labels: samples whose scores are what people said, one scorer or one row per person.
    pub labels: &'a Samples,
    /// The metadata key by which samples are grouped too.
    pub by: Option<&'a str>,
    /// Level, seed, numbers of labels, and the threshold from which a score counts as passed.
    pub context: &'a Context,
    /// The program that asks.
    pub tool: &'a str,
}

/// The error of the checks whether labelled samples are like the others.
const UNLIKE_ERROR: f64 = 0.01;
/// Units from which a bootstrap interval of alpha is shown.
const ALPHA_UNITS_MIN: usize = 20;
const ALPHA_RESAMPLES: u64 = 1000;
/// The width that more labels are counted for.
const HALF: f64 = 0.5;

/// Compares a judge's scores with the labels of people, and corrects its rate by them.
///
/// Fails if the run has several scorers, if no label belongs to a sample of the run, and if labels contradict each other
/// or do not say which of several attempts they are about.
///
/// ```
/// use calipers_compare::labelled::{JudgeQuestion, assess_judge};
/// use calipers_core::{Context, Samples};
///
/// let (mut run, mut labels) = (Samples::new(), Samples::new());
/// for id in 0..400 {
///     run.push(id).score("judge", if id % 4 == 0 { 0.0 } else { 1.0 });
///     if id < 100 {
///         // The judge passes one in ten of what people fail.
///         labels.push(id).score("label", if id % 4 == 0 || id % 10 == 1 { 0.0 } else { 1.0 });
///     }
/// }
/// let context = Context::default();
/// let question = JudgeQuestion {
///     run_name: "run.jsonl", run: &run, labels_name: "labels.jsonl", labels: &labels, by: None, context: &context, tool: "",
/// };
/// let report = assess_judge(&question)?;
/// assert_eq!(report.all.naive.value, Ok(0.75));
/// assert!((report.all.corrected.value.expect("defined") - 0.65).abs() < 1e-9);
/// # Ok::<(), calipers_core::Error>(())
/// ```
pub fn assess_judge(question: &JudgeQuestion<'_>) -> Result<JudgeReport, Error> {
    let scorer = scorer_of(question.run)?;
    let context = question.context;
    let joined = join(question.run, question.labels, scorer.as_deref(), question.by, context)?;
    if joined.counts.labelled == 0 {
        return Err(nothing_joined(&joined.counts));
    }
    let everything: Vec<&JudgedSample> = joined.samples.iter().collect();
    let all = Assessment { samples: &everything, is_binary: joined.is_binary, context };
    let mut groups: BTreeMap<Arc<str>, Vec<&JudgedSample>> = BTreeMap::new();
    for sample in &joined.samples {
        if let Some(group) = &sample.group {
            groups.entry(group.clone()).or_default().push(sample);
        }
    }
    let named = groups.iter().map(|(name, samples)| {
        (name.to_string(), Assessment { samples, is_binary: joined.is_binary, context }.group())
    });
    let group = all.group();
    let people = people(&joined, context);
    let mut caveats = all.caveats(&group);
    caveats.extend(people.iter().filter_map(people_disagree));
    caveats.extend(question.by.and_then(|key| other_mix(key, &groups, &joined.counts)));
    Ok(JudgeReport {
        run: question.run_name.to_owned(),
        scorer,
        labels: question.labels_name.to_owned(),
        level: context.confidence.level(),
        pass_threshold: context.pass_threshold,
        unit: if joined.is_binary { Unit::Rate } else { Unit::Plain },
        people,
        rogan_gladen: all.rogan_gladen(),
        halving: all.halving(),
        all: group,
        by: question.by.filter(|_| !groups.is_empty()).map(str::to_owned),
        groups: named.collect(),
        counts: joined.counts,
        caveats,
        tool: question.tool.to_owned(),
    })
}

/// The only scorer; none where there is none.
fn scorer_of(run: &Samples) -> Result<Option<String>, Error> {
    let scorers: BTreeSet<&str> = run.scorers().map(|name| &**name).collect();
    if scorers.len() > 1 {
        let names = Vec::from_iter(scorers).join(", ");
        return Err(Error::argument(
            format!("the run has several scorers: {names}"),
            "choose the one that is the judge",
        ));
    }
    Ok(scorers.first().map(|name| (*name).to_owned()))
}

fn nothing_joined(counts: &LabelCounts) -> Error {
    if let Some(place) = counts.unknown.first() {
        let message = format!("no label belongs to a scored attempt of the run; `{}` is not in it", place.id);
        return Error::argument(
            message,
            "labels are joined by the `id` of the sample; check that both files have the same ids",
        );
    }
    let message = match counts.unjudged.first() {
        Some(place) => format!("the judge scored none of the labelled samples, such as `{}`", place.id),
        None => "people are evenly split on every labelled sample".to_owned(),
    };
    Error::argument(message, "label samples that the judge has scored, by an odd number of people")
}

/// Some samples, and what to make of them.
struct Assessment<'a> {
    samples: &'a [&'a JudgedSample],
    is_binary: bool,
    context: &'a Context,
}

impl Assessment<'_> {
    fn confidence(&self) -> Confidence {
        self.context.confidence
    }

    fn pairs(&self) -> impl Iterator<Item = &LabelledAttempt> {
        self.samples.iter().flat_map(|sample| &sample.pairs)
    }

    /// True when two labelled attempts belong to one sample: then pairs are not independent.
    fn is_clustered(&self) -> bool {
        self.samples.iter().any(|sample| sample.pairs.len() > 1)
    }

    fn table(&self) -> Option<Confusion> {
        self.is_binary.then(|| {
            let mut table = Confusion::default();
            self.pairs().for_each(|pair| table.add(pair.human == Some(1.0), pair.judge == 1.0));
            table
        })
    }

    fn group(&self) -> JudgedGroup {
        let table = self.table();
        let share = |share: Share| table.map(|table| self.share(table.share(share)));
        JudgedGroup {
            samples: self.samples.len() as u64,
            labelled: self.samples.iter().filter(|sample| !sample.pairs.is_empty()).count() as u64,
            table,
            agreement: share(Share::Accuracy),
            kappa: table.map(|table| self.kappa(&table)),
            alpha: self.alpha(table.as_ref()),
            sensitivity: share(Share::Recall),
            specificity: share(Share::Specificity),
            bias: self.bias(),
            naive: self.naive(),
            corrected: self.correct(),
        }
    }

    fn tally(&self) -> Tally {
        Tally { n: self.pairs().count() as u64, missing: 0 }
    }

    /// A share of pairs. Without an interval where pairs of one sample go together.
    fn share(&self, share: Result<Proportion, NoStatistic>) -> Figure {
        let tally = Tally { n: share.map_or(0, Proportion::trials), missing: 0 };
        let interval = share.ok().map(|share| share.clopper_pearson(self.confidence()));
        let figure = Figure::statistic(share.map(Proportion::estimate), f64::NAN, tally, "share");
        figure.with_interval(interval.filter(|_| !self.is_clustered()))
    }

    fn kappa(&self, table: &Confusion) -> Figure {
        let interval = binary_kappa_interval(table, self.confidence()).ok().filter(|_| !self.is_clustered());
        Figure::statistic(table.kappa(), f64::NAN, self.tally(), "Cohen's kappa").with_interval(interval)
    }

    /// Krippendorff's alpha of judge and people: nominal for 0/1, or else interval.
    fn alpha(&self, table: Option<&Confusion>) -> Figure {
        let method = "Krippendorff's alpha";
        if let Some(table) = table {
            let interval = binary_alpha_interval(table, self.confidence()).ok().filter(|_| !self.is_clustered());
            return Figure::statistic(binary_alpha(table), f64::NAN, self.tally(), method).with_interval(interval);
        }
        let units: Vec<[f64; 2]> = self.pairs().filter_map(|pair| Some([pair.judge, pair.human?])).collect();
        let value = krippendorff_alpha(&units, RatingScale::Interval);
        let interval =
            if self.is_clustered() { None } else { alpha_interval(&units, RatingScale::Interval, self.context) };
        Figure::statistic(value, f64::NAN, self.tally(), method).with_interval(interval)
    }

    /// Judge minus people, sample by sample.
    fn bias(&self) -> Figure {
        let mut differences = Moments::default();
        for sample in self.samples.iter().filter(|sample| !sample.pairs.is_empty()) {
            let pairs: Vec<f64> = sample.pairs.iter().filter_map(|pair| Some(pair.judge - pair.human?)).collect();
            differences.add(mean(&pairs));
        }
        let interval = differences.difference_interval(self.confidence());
        let interval = interval.or_else(|_| differences.t_interval(self.confidence())).ok();
        let tally = Tally { n: differences.count(), missing: 0 };
        Figure::statistic(differences.mean(), f64::NAN, tally, "mean-difference").with_interval(interval)
    }

    /// The judge's scores as they are, a mean for each sample.
    fn naive(&self) -> Figure {
        let means: Vec<f64> = self.samples.iter().map(|sample| mean(&sample.judged)).collect();
        let scores = Moments::from_slice(&means);
        let tally = Tally { n: scores.count(), missing: 0 };
        let interval = match scores.is_binary() {
            true => Proportion::new(scores.sum() as u64, scores.count()).map(|share| share.wilson(self.confidence())),
            false => scores.unit_interval(self.confidence()).or_else(|_| scores.t_interval(self.confidence())),
        };
        Figure::statistic(scores.mean(), f64::NAN, tally, "mean").with_interval(interval.ok())
    }

    /// The samples as a double sample: 0/1 scores, and one attempt each.
    fn double_sample(&self) -> Option<DoubleSample> {
        if !self.is_binary || self.samples.iter().any(|sample| sample.judged.len() > 1) {
            return None;
        }
        let mut counts = DoubleSample { known: self.table()?, ..DoubleSample::default() };
        for sample in self.samples.iter().filter(|sample| sample.pairs.is_empty()) {
            if sample.judged == [1.0] { counts.positives += 1 } else { counts.negatives += 1 }
        }
        Some(counts)
    }

    /// Truths, the judge's scores of the same attempts, and those of samples without a label.
    fn predict(&self) -> Result<PredictionPowered, NoStatistic> {
        let (labelled, others): (Vec<&JudgedSample>, Vec<&JudgedSample>) =
            self.samples.iter().partition(|sample| !sample.pairs.is_empty());
        let labels = |sample: &&JudgedSample| sample.pairs.iter().filter_map(|pair| pair.human).collect::<Vec<f64>>();
        let human: Vec<f64> = labelled.iter().map(|sample| mean(&labels(sample))).collect();
        let judged =
            |samples: &[&JudgedSample]| samples.iter().map(|sample| mean(&sample.judged)).collect::<Vec<f64>>();
        let (judge, others) = (judged(&labelled), judged(&others));
        PredictionPowered::new(&human, &judge, &others)
    }

    fn correct(&self) -> Figure {
        let labelled = self.samples.iter().filter(|sample| !sample.pairs.is_empty()).count() as u64;
        let tally = Tally { n: self.samples.len() as u64, missing: 0 };
        let figure = if let Some(counts) = self.double_sample() {
            let interval = counts.interval(self.confidence()).ok();
            let method = "double-sampling";
            Figure::statistic(counts.estimate(), f64::NAN, tally, method).with_interval(interval)
        } else {
            let powered = self.predict();
            let interval = powered.and_then(|powered| powered.interval(self.confidence())).ok();
            let value = powered.map(|powered| powered.estimate());
            let figure = Figure::statistic(value, f64::NAN, tally, "PPI++").with_interval(interval);
            match powered {
                Ok(powered) => figure.with_detail("weight", powered.weight()),
                Err(_) => figure,
            }
        };
        figure.with_detail("labels", labelled as f64)
    }

    fn rogan_gladen(&self) -> Option<Figure> {
        let counts = self.double_sample()?;
        let positives = counts.known.true_positives + counts.known.false_positives + counts.positives;
        let shares = || -> Result<Misclassified, NoStatistic> {
            Ok(Misclassified {
                positives: Proportion::new(positives, counts.total())?,
                sensitivity: counts.known.share(Share::Recall)?,
                specificity: counts.known.share(Share::Specificity)?,
            })
        };
        let interval = shares().and_then(|shares| shares.interval(self.confidence()));
        // An estimate that nothing bounds says nothing.
        let value = interval.and(shares()).and_then(|shares| shares.estimate()).map(|x| x.clamp(0.0, 1.0));
        let tally = Tally { n: counts.total(), missing: 0 };
        let figure = Figure::statistic(value, f64::NAN, tally, "Rogan-Gladen").with_interval(interval.ok());
        Some(figure.with_detail("labels", counts.known_count() as f64))
    }

    fn halving(&self) -> Halving {
        let labelled = self.samples.iter().filter(|sample| !sample.pairs.is_empty()).count() as u64;
        let needed = match self.double_sample() {
            Some(counts) => counts.truths_for(HALF, self.confidence()),
            None => self.predict().and_then(|powered| powered.truths_for(HALF, self.confidence())),
        };
        match needed {
            Ok(Some(needed)) => Halving::Labels(needed.saturating_sub(labelled)),
            Ok(None) => Halving::Samples,
            Err(_) => Halving::NoInterval,
        }
    }

    /// What to know about the judge and about which samples have labels.
    fn caveats(&self, group: &JudgedGroup) -> Vec<Caveat> {
        let mut caveats = Vec::new();
        let agreement = group.kappa.as_ref().unwrap_or(&group.alpha);
        let upper = agreement.interval.and_then(|interval| interval.upper);
        if let (Ok(value), Some(upper)) = (&agreement.value, upper.filter(|upper| *upper < POOR_AGREEMENT)) {
            caveats.push(Caveat::JudgeDisagrees {
                run: None,
                scorer: None,
                agreement: *value,
                upper,
                needed: POOR_AGREEMENT,
            });
        }
        if let Some(prevalence) = group.table.and_then(|table| prevalence(&table)) {
            caveats.push(StatisticCaveat::ExtremePrevalence { prevalence }.into());
        }
        let (labelled, others): (Vec<&JudgedSample>, Vec<&JudgedSample>) =
            self.samples.iter().partition(|sample| !sample.pairs.is_empty());
        let scores = |samples: &[&JudgedSample]| {
            Moments::from_slice(&samples.iter().map(|sample| mean(&sample.judged)).collect::<Vec<f64>>())
        };
        let (labelled, others) = (scores(&labelled), scores(&others));
        if are_unlike(&labelled, &others)
            && let (Ok(labelled), Ok(others)) = (labelled.mean(), others.mean())
        {
            caveats.push(Caveat::LabelsUnlikeOthers { labelled, others, weighed: self.double_sample().is_some() });
        }
        caveats
    }
}

/// The share of the commonest answer, where it is extreme.
fn prevalence(table: &Confusion) -> Option<f64> {
    let mut ratings = calipers_stats::agreement::PairedRatings::default();
    ratings.add_repeated(1, 1, table.true_positives);
    ratings.add_repeated(0, 1, table.false_positives);
    ratings.add_repeated(1, 0, table.false_negatives);
    ratings.add_repeated(0, 0, table.true_negatives);
    ratings.caveats().into_iter().find_map(|caveat| match caveat {
        StatisticCaveat::ExtremePrevalence { prevalence } => Some(prevalence),
        _ => None,
    })
}

fn mean(values: &[f64]) -> f64 {
    Moments::from_slice(values).mean().unwrap_or(f64::NAN)
}

/// True when the judge scored labelled samples differently from the others, beyond chance.
fn are_unlike(labelled: &Moments, others: &Moments) -> bool {
    if labelled.is_binary() && others.is_binary() {
        let share = |scores: &Moments| Proportion::new(scores.sum() as u64, scores.count()).ok();
        let level = Confidence::two_sided(1.0 - UNLIKE_ERROR).ok();
        let shares = share(labelled).zip(share(others)).zip(level);
        return shares.is_some_and(|((one, other), level)| !newcombe(one, other, level).contains(0.0));
    }
    welch(labelled, others).and_then(|difference| difference.p_two_sided()).is_ok_and(|p| p < UNLIKE_ERROR)
}

/// The group that labelled samples have too many or too few of, if one stands out.
fn other_mix(key: &str, groups: &BTreeMap<Arc<str>, Vec<&JudgedSample>>, counts: &LabelCounts) -> Option<Caveat> {
    let (labelled, others) = (counts.labelled, counts.samples - counts.labelled);
    let level = Confidence::two_sided(1.0 - UNLIKE_ERROR / groups.len().max(1) as f64).ok()?;
    let shares = groups.iter().filter_map(|(name, samples)| {
        let inside = samples.iter().filter(|sample| !sample.pairs.is_empty()).count() as u64;
        let outside = samples.len() as u64 - inside;
        Some((name, Proportion::new(inside, labelled).ok()?, Proportion::new(outside, others).ok()?))
    });
    let unlike = shares.filter(|(_, inside, outside)| !newcombe(*inside, *outside, level).contains(0.0));
    let distance = |inside: Proportion, outside: Proportion| (inside.estimate() - outside.estimate()).abs();
    let (name, inside, outside) =
        unlike.max_by(|a, b| distance(a.1, a.2).total_cmp(&distance(b.1, b.2)).then_with(|| b.0.cmp(a.0)))?;
    Some(Caveat::LabelsOfOtherMix {
        key: key.to_owned(),
        value: name.to_string(),
        labelled: inside.estimate(),
        others: outside.estimate(),
    })
}

/// How far people agree with one another, where some of them rated the same.
fn people(joined: &JoinedLabels, context: &Context) -> Option<Figure> {
    let pairs = joined.samples.iter().flat_map(|sample| &sample.pairs);
    let units: Vec<&[f64]> = pairs.map(|pair| &pair.ratings[..]).filter(|ratings| ratings.len() > 1).collect();
    if units.is_empty() {
        return None;
    }
    let scale = if joined.is_binary { RatingScale::Nominal } else { RatingScale::Interval };
    let tally = Tally { n: units.len() as u64, missing: joined.counts.labelled_attempts - units.len() as u64 };
    let value = krippendorff_alpha(&units, scale);
    let is_clustered = joined.samples.iter().any(|sample| sample.pairs.len() > 1);
    let interval = if is_clustered { None } else { alpha_interval(&units, scale, context) };
    Some(Figure::statistic(value, f64::NAN, tally, "Krippendorff's alpha").with_interval(interval))
}

fn people_disagree(people: &Figure) -> Option<Caveat> {
    let upper = people.interval.and_then(|interval| interval.upper).filter(|upper| *upper < POOR_AGREEMENT)?;
    Some(Caveat::PeopleDisagree { alpha: people.value.clone().ok()?, upper, needed: POOR_AGREEMENT })
}

/// The percentiles of resampled units, from enough units on.
fn alpha_interval<U: AsRef<[f64]>>(units: &[U], scale: RatingScale, context: &Context) -> Option<Interval> {
    if units.len() < ALPHA_UNITS_MIN {
        return None;
    }
    let alpha = alpha_resampler(units, scale, context.seed).ok()?;
    let replicates = alpha.replicates(ALPHA_RESAMPLES).ok()?;
    alpha.interval(BootstrapKind::Percentile, &replicates, context.confidence).ok().map(|found| found.interval)
}
