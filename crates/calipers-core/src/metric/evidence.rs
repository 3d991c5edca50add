//! What a figure rests on, sample by sample.

use calipers_stats::ExactSum;

/// What a figure rests on, sample by sample: for those who judge it, weigh it, or combine it with others.
///
/// Samples are codes: places in the list of the run's samples.
#[derive(Clone, Debug, PartialEq)]
pub enum Evidence {
    /// A mean of one value a sample.
    Mean {
        /// The samples that have a value.
        samples: Vec<u32>,
        /// The value of each.
        values: Vec<f64>,
        /// The samples that have none.
        missing: Vec<u32>,
    },
    /// A sum over a sum, of one pair a sample.
    Ratio {
        /// The samples that have a pair; one that adds nothing to either sum is not among them.
        samples: Vec<u32>,
        /// The numerator of each.
        numerators: Vec<f64>,
        /// The denominator of each.
        denominators: Vec<f64>,
        /// The samples that have none.
        missing: Vec<u32>,
        /// True when it counts: a share of whole numbers, such as precision.
        is_share: bool,
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

impl Evidence {
    /// True when a sample or an attempt has no value.
    pub fn has_missing(&self) -> bool {
        let (Self::Mean { missing, .. } | Self::Ratio { missing, .. } | Self::Quantile { missing, .. }) = self;
        !missing.is_empty()
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
    pub(crate) fn ratio(rows: &[u32], pairs: &[Option<(f64, f64)>], is_share: bool) -> Self {
        let (mut samples, mut numerators, mut denominators) = (Vec::new(), Vec::new(), Vec::new());
        let mut missing = Vec::new();
        for (sample, attempts) in by_sample(rows, pairs) {
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
        Self::Ratio { samples, numerators, denominators, missing, is_share }
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

/// The mean of the attempts that have a value, if any has.
pub(crate) fn mean_of_given(attempts: &[Option<f64>]) -> Option<f64> {
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
