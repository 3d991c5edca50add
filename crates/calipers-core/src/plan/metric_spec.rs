//! A metric that a plan asks for, or metrics by key of scores that are maps.

use crate::Metric;

/// A metric, or metrics for the keys of scores that are maps.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant)] // a plan has a handful, and most are of the large kind
pub enum MetricSpec {
    /// A metric of the score.
    One(Metric),
    /// Metrics of the entries of a map score, by key or pattern (`*`, `?`, `[ab]`).
    Keyed(Vec<(String, Vec<Metric>)>),
}

impl MetricSpec {
    /// The metrics, whatever keys they are for.
    #[must_use]
    pub fn metrics(&self) -> Vec<&Metric> {
        match self {
            Self::One(metric) => vec![metric],
            Self::Keyed(keys) => keys.iter().flat_map(|(_, metrics)| metrics).collect(),
        }
    }
}

impl From<Metric> for MetricSpec {
    fn from(metric: Metric) -> Self {
        Self::One(metric)
    }
}

macro_rules! spec_from_builder {
    ($($builder:ty),*) => {$(
        impl From<$builder> for MetricSpec {
            fn from(builder: $builder) -> Self {
                Self::One(builder.into())
            }
        }
    )*};
}
spec_from_builder!(crate::Ci, crate::Grouped);

/// Metrics of the entries of scores that are maps.
///
/// A key may be a pattern. A key matched by several patterns gets the metrics of all of them.
///
/// ```
/// use calipers_core::{by_key, mean, std, Plan, Samples};
///
/// let mut samples = Samples::new();
/// samples.push(1).score("judge", [("tone", 1.0), ("facts", 0.5)]);
/// samples.push(2).score("judge", [("tone", 0.0), ("facts", 0.5)]);
/// let plan = Plan::new().metrics([by_key([("*", vec![mean()]), ("t*", vec![std()])])]);
/// let results = plan.measure(&samples)?;
/// assert_eq!(results.figure("tone", "mean").expect("matched").value, Ok(0.5));
/// assert!(results.figure("facts", "std").is_none());
/// # Ok::<(), calipers_core::Error>(())
/// ```
pub fn by_key<K: Into<String>>(metrics: impl IntoIterator<Item = (K, Vec<Metric>)>) -> MetricSpec {
    MetricSpec::Keyed(metrics.into_iter().map(|(key, metrics)| (key.into(), metrics)).collect())
}
