//! How much scores vary: from a run, or as assumed.

use calipers_core::metric::RunRows;
use calipers_core::{Clusters, Context, Error, ErrorKind, Evidence, Metric, Reducer, SampleId, Samples, cluster_name};
use calipers_stats::cluster::estimate_clustered;
use calipers_stats::components::{Components, UnitMoments};
use calipers_stats::power::{ClusterDesign, Variances};
use calipers_stats::{Moments, Undefined};
use std::collections::BTreeMap;

/// How much the scores of a run vary, between samples and between attempts at one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean score, where it is known.
    pub mean: Option<f64>,
    /// The variance of the samples' true means; where attempts are not separated, that of single attempts.
    pub between: f64,
    /// The variance of attempts at one sample; none where it is not known.
    pub within: Option<f64>,
    /// True when an attempt scores 0 or 1.
    pub is_share: bool,
    /// Where scores lie.
    pub range: ScoreRange,
}

/// Where the scores of samples lie, which decides on the interval of their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScoreRange {
    /// Between 0 and 1.
    Unit,
    /// Anywhere; these are the least and the greatest that were seen.
    Open {
        /// The least.
        least: f64,
        /// The greatest.
        most: f64,
    },
    /// Nothing is known but how much they vary.
    Unknown,
}

impl Spread {
    /// Samples that pass at this rate, one attempt each.
    ///
    /// ```
    /// use calipers_compare::sizing::Spread;
    ///
    /// assert_eq!(Spread::of_rate(0.8)?.between, 0.8 * (1.0 - 0.8));
    /// assert!(Spread::of_rate(80.0).is_err());
    /// # Ok::<(), calipers_core::Error>(())
    /// ```
    pub fn of_rate(rate: f64) -> Result<Self, Error> {
        if !(0.0..=1.0).contains(&rate) {
            let message = format!("a rate of {rate} is not between 0 and 1");
            return Err(Error::argument(message, "80 % is written 0.8"));
        }
        Ok(Self {
            mean: Some(rate),
            between: rate * (1.0 - rate),
            within: None,
            is_share: true,
            range: ScoreRange::Unit,
        })
    }

    /// Scores with this standard deviation, one attempt at each sample.
    pub fn of_sd(sd: f64) -> Result<Self, Error> {
        if !(sd > 0.0 && sd.is_finite()) {
            let message = format!("a standard deviation of {sd} is not above 0");
            return Err(Error::argument(message, "take that of the scores of a similar run"));
        }
        Ok(Self { mean: None, between: sd * sd, within: None, is_share: false, range: ScoreRange::Unknown })
    }

    /// The same scores, of whose variance this share lies between attempts at one sample.
    pub fn with_within(self, share: f64) -> Result<Self, Error> {
        if !(0.0..=1.0).contains(&share) {
            let message = format!("a share of {share} of the variance is not between 0 and 1");
            return Err(Error::argument(message, "half of it is written 0.5"));
        }
        Ok(Self { between: self.between * (1.0 - share), within: Some(self.between * share), ..self })
    }

    /// The variance of a sample's score when its attempts are averaged.
    #[must_use]
    pub fn variance(&self, attempts: u64) -> f64 {
        self.between + self.within.unwrap_or(0.0) / attempts.max(1) as f64
    }
}

/// What a run shows of a metric, to plan another one by.
#[derive(Clone, Debug)]
pub struct Pilot {
    /// The number of samples that have a score.
    pub samples: u64,
    /// The number of samples that have none.
    pub missing: u64,
    /// The mean number of attempts at a sample.
    pub attempts: f64,
    /// How much scores vary.
    pub spread: Spread,
    /// The clusters of samples, where a metadata key names them.
    pub clusters: Option<ClusterDesign>,
    /// Samples without any of the metadata that names clusters, which are clusters by themselves.
    pub alone: u64,
    /// The components of variance.
    pub components: Components,
}

/// What a run is measured with.
pub struct PilotMeasure<'a> {
    /// A metric that is a mean over samples.
    pub metric: &'a Metric,
    /// How attempts are reduced, for metrics that look at them together.
    pub reducer: &'a Reducer,
    /// Level, seed and labels.
    pub context: &'a Context,
    /// The metadata by which samples go together: those that share a value of any of these fields.
    pub cluster: &'a [&'a str],
}

impl Pilot {
    /// From a run.
    ///
    /// Fails if the metric is not a mean over samples, or fewer than five samples have a score.
    pub fn of_run(samples: &Samples, measure: &PilotMeasure<'_>) -> Result<Self, Error> {
        let values = collect_attempts(samples, measure)?;
        let mut units = UnitMoments::default();
        values.iter().for_each(|&(sample, value)| units.add(sample, value));
        let components = units.components().map_err(reject_pilot)?;
        if components.units < PILOT_SAMPLES_MIN {
            return Err(too_small(components.units));
        }
        let means = average_by_sample(&units, samples.len() as u32);
        let all: Vec<f64> = means.iter().map(|(_, mean)| *mean).collect();
        let total = Moments::from_slice(&all).variance().map_err(reject_pilot)?;
        let each: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        let each = Moments::from_slice(&each);
        let spread = Spread {
            mean: Some(components.mean),
            between: components.between.unwrap_or(total),
            within: components.ms_within.ok(),
            is_share: each.is_binary(),
            range: if each.is_unit() {
                ScoreRange::Unit
            } else {
                let ends = Moments::from_slice(&all);
                ScoreRange::Open { least: ends.min().map_err(reject_pilot)?, most: ends.max().map_err(reject_pilot)? }
            },
        };
        let found = measure_clusters(samples, measure.cluster, &means)?;
        let (clusters, alone) = found.map_or((None, 0), |(design, alone)| (Some(design), alone));
        Ok(Self {
            samples: components.units,
            missing: (samples.len() as u64).saturating_sub(components.units),
            attempts: components.attempts as f64 / components.units as f64,
            spread,
            clusters,
            alone,
            components,
        })
    }
}

fn reject_pilot(why: Undefined) -> Error {
    if let Undefined::NotFinite { value } = why {
        return Error::argument(format!("a score of the pilot is {value}"), "plan from a run whose scores are finite");
    }
    too_small(1)
}

/// Fewer samples cannot say how much scores vary: the deviation of two may be anything from half to thirty times the true one.
const PILOT_SAMPLES_MIN: u64 = 5;

fn too_small(samples: u64) -> Error {
    let what = match samples {
        0 | 1 => "a pilot needs scores of several samples".to_owned(),
        samples => format!("{samples} samples with a score cannot say how much scores vary"),
    };
    Error::argument(
        what,
        format!("plan from a run in which at least {PILOT_SAMPLES_MIN} samples have a score, or assume a rate"),
    )
}

/// What the differences of two runs on the same samples show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PilotDifferences {
    /// How much they vary.
    pub variances: Variances,
    /// How much more they vary by clusters than they would if samples were independent, where a metadata key names clusters.
    pub design_effect: Option<f64>,
}

/// How much the differences of two runs on the same samples vary, and how far those of one cluster go together.
///
/// Fails if they share fewer than two samples that have a score in both.
pub fn measure_differences(runs: [&Samples; 2], measure: &PilotMeasure<'_>) -> Result<PilotDifferences, Error> {
    let [ours, theirs] =
        runs.map(|samples| collect_attempts(samples, measure).map(|values| units_by_id(samples, &values)));
    let (ours, theirs) = (ours?, theirs?);
    let mut differences = Moments::default();
    let mut each = BTreeMap::new();
    let (mut a, mut b) = (AttemptNoise::default(), AttemptNoise::default());
    for (id, mine) in &ours {
        let Some(other) = theirs.get(id) else { continue };
        if let (Ok(x), Ok(y)) = (mine.mean(), other.mean()) {
            differences.add(x - y);
            each.insert(id.clone(), x - y);
            a.add(mine);
            b.add(other);
        }
    }
    let hint = "plan from two runs of the same samples";
    let total = differences
        .variance()
        .map_err(|_| Error::argument("the runs share fewer than two samples with a score", hint))?;
    let (within_a, within_b) = (a.variance(), b.variance());
    let between = (total - a.of_means() - b.of_means()).max(0.0);
    let clustered = || {
        let of_samples: Vec<(u32, f64)> =
            (0..runs[0].len() as u32).filter_map(|sample| Some((sample, *each.get(&runs[0].id(sample))?))).collect();
        measure_clusters(runs[0], measure.cluster, &of_samples)
    };
    // Runs that differ nowhere have no design effect, and say nothing about one.
    let clusters = if total > 0.0 { clustered()? } else { None };
    let design_effect = clusters.map(|(design, _)| design.design_effect);
    Ok(PilotDifferences { variances: Variances { between, within_a, within_b }, design_effect })
}

/// How much attempts at one sample vary, over samples that have several.
#[derive(Default)]
struct AttemptNoise {
    squares: f64,
    degrees: f64,
    /// Σ 1/K over samples, and how many there are.
    shares: f64,
    samples: f64,
}

impl AttemptNoise {
    fn add(&mut self, attempts: &Moments) {
        let count = attempts.count() as f64;
        if let Ok(variance) = attempts.variance() {
            self.squares += variance * (count - 1.0);
            self.degrees += count - 1.0;
        }
        self.shares += 1.0 / count;
        self.samples += 1.0;
    }

    /// The variance of an attempt; 0 where no sample has two, so that all variance counts as between samples.
    fn variance(&self) -> f64 {
        if self.degrees > 0.0 { self.squares / self.degrees } else { 0.0 }
    }

    /// What it adds to the variance of the samples' means.
    fn of_means(&self) -> f64 {
        self.variance() * self.shares / self.samples.max(1.0)
    }
}

/// The value of every attempt, or of every sample where attempts cannot be separated.
fn collect_attempts(samples: &Samples, measure: &PilotMeasure<'_>) -> Result<Vec<(u32, f64)>, Error> {
    samples.check_repeats()?;
    let rows = RunRows::new(samples);
    let context = Context { attempts: measure.reducer.clone(), ..measure.context.clone() };
    if measure.reducer.is_mean()
        && let Some(values) = measure.metric.attempts_for(&rows, None, &context)?
    {
        return Ok(values);
    }
    match measure.metric.evidence_for(&rows, measure.reducer, None, &context)? {
        Some(Evidence::Mean { samples, values, .. }) => Ok(samples.into_iter().zip(values).collect()),
        Some(Evidence::Corrected { .. }) => {
            let message = format!("`{}` rests on labels, and a plan counts samples", measure.metric.name());
            let hint = "`calipers judge` says how many more labels would halve its interval";
            Err(Error::argument(message, hint))
        }
        _ => {
            let message = format!("`{}` is not a mean over samples", measure.metric.name());
            Err(Error::argument(message, "plan by one that is, such as `accuracy` or `pass_rate`"))
        }
    }
}

fn average_by_sample(units: &UnitMoments, samples: u32) -> Vec<(u32, f64)> {
    let mean = |unit: u32| Some((unit, units.get(unit)?.mean().ok()?));
    (0..samples).filter_map(mean).collect()
}

/// By id, in order: sums must not depend on the order of a hash table.
fn units_by_id(samples: &Samples, values: &[(u32, f64)]) -> BTreeMap<SampleId, Moments> {
    let mut units: BTreeMap<SampleId, Moments> = BTreeMap::new();
    for &(sample, value) in values {
        units.entry(samples.id(sample)).or_default().add(value);
    }
    units
}

/// The clusters by these fields, as in a gate, and how many samples are clusters by themselves for want of a value.
fn measure_clusters(
    samples: &Samples,
    fields: &[&str],
    means: &[(u32, f64)],
) -> Result<Option<(ClusterDesign, u64)>, Error> {
    if fields.is_empty() {
        return Ok(None);
    }
    for &field in fields {
        samples.check_single(field)?;
        if samples.metadata_column(field).is_none() {
            let known = samples.metadata_keys().map(ToString::to_string).collect();
            return Err(ErrorKind::NoField { field: field.to_owned(), known }.into());
        }
    }
    let names = |field: &str| means.iter().map(|(sample, _)| cluster_name(samples, *sample, field)).collect::<Vec<_>>();
    let clusters = Clusters::by_values(means.len(), fields.iter().map(|field| names(field)));
    let values: Vec<f64> = means.iter().map(|(_, mean)| *mean).collect();
    let no_effect = |_: Undefined| {
        let key = fields.join(", ");
        let message = format!("clusters by `{key}` have no design effect: there are too few, or scores do not vary");
        Error::argument(message, "plan from a run with several clusters, or leave the clusters out")
    };
    let estimate = estimate_clustered(&values, &clusters.of_samples).map_err(no_effect)?;
    let effect = estimate.design_effect().map_err(no_effect)?;
    // Clusters that seem to help do so by chance, so a plan does not count on it.
    let size = estimate.n as f64 / estimate.clusters as f64;
    Ok(Some((ClusterDesign { size, design_effect: effect.max(1.0) }, clusters.alone)))
}
