//! What a figure rests on, sample by sample.

use crate::{Context, Error, Points, StateReader, StateWriter, Stored, damaged};
use calipers_stats::ExactSum;
use calipers_stats::matthews::TableTerm;

/// What a figure rests on, sample by sample: for those who judge it, weigh it, or combine it with others.
///
/// Samples are codes: places in the list of the run's samples.
#[derive(Clone, Debug, PartialEq)]
pub enum Evidence {
    /// A mean of one value per sample.
    Mean {
        /// The samples that have a value.
        samples: Vec<u32>,
        /// The value of each.
        values: Vec<f64>,
        /// The samples that have none.
        missing: Vec<u32>,
    },
    /// A sum over a sum, with one pair per sample.
    Ratio {
        /// The samples that have a pair; one that adds nothing to either sum is not among them.
        samples: Vec<u32>,
        /// The numerator of each.
        numerators: Vec<f64>,
        /// The denominator of each.
        denominators: Vec<f64>,
        /// The samples that have none.
        missing: Vec<u32>,
        /// What an attempt can add to the sums.
        limits: RatioLimits,
        /// The number of attempts of the sample that has most.
        attempts_max: u32,
    },
    /// A mean of one value per sample that a judge gave, with labels of people for some.
    Corrected {
        /// The samples that the judge gave a value.
        samples: Vec<u32>,
        /// The value of each.
        judged: Vec<f64>,
        /// What people said of each; none where they said nothing.
        labels: Vec<Option<f64>>,
        /// The samples that the judge gave none.
        missing: Vec<u32>,
    },
    /// A table of truths and predictions, with what each sample adds to its cells.
    Table {
        /// The samples that add something.
        samples: Vec<u32>,
        /// What each adds.
        counts: Vec<TableTerm>,
        /// The samples without a truth or a prediction.
        missing: Vec<u32>,
        /// The number of attempts of the sample that has most.
        attempts_max: u32,
    },
    /// A quantile of values, of which a sample may have several.
    Quantile {
        /// The quantile.
        p: f64,
        /// The sample of each value, attempts of one sample side by side.
        samples: Vec<u32>,
        /// The values; infinite for an attempt that ran out of time.
        values: Vec<f64>,
        /// The sample of each attempt without a value.
        missing: Vec<u32>,
    },
}

/// What an attempt can add to the sums of a ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RatioLimits {
    /// A count of successes over a count: at worst 1 to the denominator alone, at best this number to both, or nothing.
    /// It is 1 for precision, and 2 for F1, which counts a true positive twice.
    Counts {
        /// What a success adds to both sums.
        success: f64,
    },
    /// A part over the whole, where wholes differ in size: behaviours observed of those expected.
    Parts,
    /// An amount per attempt, such as its cost: what it is has no limit, and each attempt counts once.
    Amounts,
    /// Both are numbers without a limit, such as tokens.
    Open,
}

impl Stored for RatioLimits {
    fn save(&self, out: &mut StateWriter) {
        match self {
            Self::Counts { success } => {
                out.byte(0);
                out.put(success);
            }
            Self::Parts => out.byte(1),
            Self::Amounts => out.byte(2),
            Self::Open => out.byte(3),
        }
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        Ok(match from.byte()? {
            0 => Self::Counts { success: from.take()? },
            1 => Self::Parts,
            2 => Self::Amounts,
            3 => Self::Open,
            _ => return Err(damaged("limits have an unknown form")),
        })
    }
}

impl RatioLimits {
    /// True when the ratio is a share: at least 0 and at most 1.
    #[must_use]
    pub fn is_share(self) -> bool {
        matches!(self, Self::Counts { .. } | Self::Parts)
    }

    /// The worst and the best that a sample of a share can add: each a numerator and a denominator. None where there is no
    /// limit.
    ///
    /// ```
    /// use calipers_core::RatioLimits;
    ///
    /// // A sample of three attempts, in precision and in F1.
    /// let (precision, f1) = (RatioLimits::Counts { success: 1.0 }, RatioLimits::Counts { success: 2.0 });
    /// assert_eq!(precision.of_sample(3, 1.0), Some([(0.0, 3.0), (3.0, 3.0)]));
    /// assert_eq!(f1.of_sample(3, 1.0), Some([(0.0, 3.0), (6.0, 6.0)]));
    /// ```
    #[must_use]
    pub fn of_sample(self, attempts_max: u32, denominator_max: f64) -> Option<[(f64, f64); 2]> {
        let attempts = f64::from(attempts_max);
        match self {
            Self::Counts { success } => Some([(0.0, attempts), (success * attempts, success * attempts)]),
            Self::Parts => Some([(0.0, denominator_max), (denominator_max, denominator_max)]),
            Self::Amounts | Self::Open => None,
        }
    }
}

impl Evidence {
    /// True when all values of samples are between 0 and 1, where each sample has one. A rate of others is no share of anything.
    ///
    /// ```
    /// use calipers_core::Evidence;
    ///
    /// let mean = |values: Vec<f64>| Evidence::Mean { samples: vec![0, 1], values, missing: Vec::new() };
    /// assert!(mean(vec![0.0, 1.0]).are_shares());
    /// assert!(!mean(vec![1.0, 5.0]).are_shares());
    /// ```
    #[must_use]
    pub fn are_shares(&self) -> bool {
        let is_share = |x: &f64| (0.0..=1.0).contains(x);
        match self {
            // No early exit, so that vector instructions can do it.
            Self::Mean { values, .. } => values.iter().fold(true, |all, x| all & is_share(x)),
            Self::Corrected { judged, labels, .. } => judged.iter().chain(labels.iter().flatten()).all(is_share),
            _ => true,
        }
    }

    /// True when a sample or an attempt has no value.
    pub fn has_missing(&self) -> bool {
        !self.missing().is_empty()
    }

    /// The samples, or the samples of attempts, that have a value.
    #[must_use]
    pub fn samples(&self) -> &[u32] {
        let (Self::Mean { samples, .. }
        | Self::Ratio { samples, .. }
        | Self::Corrected { samples, .. }
        | Self::Table { samples, .. }
        | Self::Quantile { samples, .. }) = self;
        samples
    }

    /// The samples, or the samples of attempts, that have no value.
    #[must_use]
    pub fn missing(&self) -> &[u32] {
        let (Self::Mean { missing, .. }
        | Self::Ratio { missing, .. }
        | Self::Corrected { missing, .. }
        | Self::Table { missing, .. }
        | Self::Quantile { missing, .. }) = self;
        missing
    }

    /// Adds what another part of the attempts gave.
    pub(crate) fn append(&mut self, other: Self) {
        match (self, other) {
            (
                Self::Mean { samples, values, missing },
                Self::Mean { samples: more, values: more_values, missing: more_missing },
            )
            | (
                Self::Quantile { samples, values, missing, .. },
                Self::Quantile { samples: more, values: more_values, missing: more_missing, .. },
            ) => {
                samples.extend(more);
                values.extend(more_values);
                missing.extend(more_missing);
            }
            (
                Self::Ratio { samples, numerators, denominators, missing, attempts_max, .. },
                Self::Ratio {
                    samples: more,
                    numerators: more_numerators,
                    denominators: more_denominators,
                    missing: more_missing,
                    attempts_max: more_attempts,
                    ..
                },
            ) => {
                samples.extend(more);
                numerators.extend(more_numerators);
                denominators.extend(more_denominators);
                missing.extend(more_missing);
                *attempts_max = (*attempts_max).max(more_attempts);
            }
            (
                Self::Table { samples, counts, missing, attempts_max },
                Self::Table { samples: more, counts: more_counts, missing: more_missing, attempts_max: more_attempts },
            ) => {
                samples.extend(more);
                counts.extend(more_counts);
                missing.extend(more_missing);
                *attempts_max = (*attempts_max).max(more_attempts);
            }
            (
                Self::Corrected { samples, judged, labels, missing },
                Self::Corrected { samples: more, judged: more_judged, labels: more_labels, missing: more_missing },
            ) => {
                samples.extend(more);
                judged.extend(more_judged);
                labels.extend(more_labels);
                missing.extend(more_missing);
            }
            // One metric has one kind of evidence.
            _ => unreachable!("the evidence of a metric is of one kind"),
        }
    }

    /// The mean of the scores of these rows, all of which have one.
    pub(crate) fn of_scores(points: &Points<'_>, context: &Context) -> Result<Self, Error> {
        let values = points.floats(context)?.into_owned();
        Ok(Self::Mean { samples: points.list_samples(), values, missing: Vec::new() })
    }

    /// A mean over samples of the means of their attempts. Attempts of one sample stand side by side.
    pub(crate) fn mean(rows: &[u32], values: &[Option<f64>], one_of: impl Fn(&[Option<f64>]) -> Option<f64>) -> Self {
        let (mut samples, mut means, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for (sample, attempts) in by_sample(rows, values) {
            match one_of(attempts) {
                Some(mean) => {
                    samples.push(sample);
                    means.push(mean);
                }
                None => missing.push(sample),
            }
        }
        Self::Mean { samples, values: means, missing }
    }

    /// A sum over a sum. Attempts of one sample stand side by side, and are added up.
    pub(crate) fn ratio(rows: &[u32], pairs: &[Option<(f64, f64)>], limits: RatioLimits) -> Self {
        let (mut samples, mut numerators, mut denominators) = (Vec::new(), Vec::new(), Vec::new());
        let (mut missing, mut attempts_max) = (Vec::new(), 0);
        for (sample, attempts) in by_sample(rows, pairs) {
            attempts_max = attempts_max.max(attempts.len() as u32);
            match sums_of_given(attempts) {
                None => missing.push(sample),
                Some((y, x)) if y == 0.0 && x == 0.0 => {}
                Some((y, x)) => {
                    samples.push(sample);
                    numerators.push(y);
                    denominators.push(x);
                }
            }
        }
        Self::Ratio { samples, numerators, denominators, missing, limits, attempts_max }
    }

    /// A table of truths and predictions. Attempts of one sample stand side by side, and are added up.
    pub(crate) fn table(rows: &[u32], predictions: &[Option<(bool, bool)>]) -> Self {
        let (mut samples, mut counts, mut missing, mut attempts_max) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for (sample, attempts) in by_sample(rows, predictions) {
            attempts_max = attempts_max.max(attempts.len() as u32);
            let mut sum = TableTerm::default();
            for &(truth, prediction) in attempts.iter().flatten() {
                sum.add(TableTerm::of(truth, prediction));
            }
            if attempts.iter().all(Option::is_none) {
                missing.push(sample);
            } else {
                samples.push(sample);
                counts.push(sum);
            }
        }
        Self::Table { samples, counts, missing, attempts_max }
    }

    /// A quantile of the values of attempts.
    pub(crate) fn quantile(p: f64, rows: &[u32], values: &[Option<f64>]) -> Self {
        let given = rows.iter().zip(values).filter_map(|(&sample, value)| Some((sample, (*value)?)));
        let (samples, known) = given.unzip();
        let without = rows.iter().zip(values).filter(|(_, value)| value.is_none());
        Self::Quantile { p, samples, values: known, missing: without.map(|(&sample, _)| sample).collect() }
    }
}

/// The attempts of each sample, which stand side by side.
pub(crate) fn by_sample<'v, T>(rows: &'v [u32], values: &'v [T]) -> impl Iterator<Item = (u32, &'v [T])> {
    let mut first = 0;
    rows.chunk_by(|a, b| a == b).map(move |attempts| {
        let from = first;
        first += attempts.len();
        (attempts[0], &values[from..first])
    })
}

/// The mean of one value. A sum has no negative zero.
pub(crate) fn mean_of_one(value: f64) -> f64 {
    value + 0.0
}

/// The mean of the attempts that have a value, if any has.
pub(crate) fn mean_of_given(attempts: &[Option<f64>]) -> Option<f64> {
    if let [one] = attempts {
        return one.map(mean_of_one);
    }
    let mut sum = ExactSum::default();
    let mut count = 0u32;
    for x in attempts.iter().flatten() {
        sum.add(*x);
        count += 1;
    }
    (count > 0).then(|| sum.value() / f64::from(count))
}

/// The sums of the pairs of attempts that have one, if any has.
pub(crate) fn sums_of_given(attempts: &[Option<(f64, f64)>]) -> Option<(f64, f64)> {
    let (mut numerator, mut denominator) = (ExactSum::default(), ExactSum::default());
    let mut is_given = false;
    for (y, x) in attempts.iter().flatten() {
        numerator.add(*y);
        denominator.add(*x);
        is_given = true;
    }
    is_given.then(|| (numerator.value(), denominator.value()))
}
