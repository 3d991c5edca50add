//! The names of the ways to compute a change, as JSON has them.

pub(super) const MEAN_DIFFERENCE: &str = "mean of differences paired by sample";
pub(super) const RATIO_OF_MEANS: &str = "ratio of means paired by sample";
pub(super) const MEDIAN_OF_RATIOS: &str = "median of ratios paired by sample";
pub(super) const MEDIAN_OF_DIFFERENCES: &str = "median of differences paired by sample";
pub(super) const RATIO_OF_SUMS: &str = "ratio of ratios of sums paired by sample";
pub(super) const SHARE_DIFFERENCE: &str = "difference of shares paired by sample";
pub(super) const QUANTILES: &str = "quantiles paired by sample";
pub(super) const CORRELATION_DIFFERENCE: &str = "difference of correlations paired by sample";
pub(super) const CORRECTED: &str = "difference of corrected means, correlated by sample";
pub(super) const NONE: &str = "none";
