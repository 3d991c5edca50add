//! What a figure rests on, sample by sample.

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
        /// The samples that have a pair; one that adds nothing to the denominator is not among them.
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
