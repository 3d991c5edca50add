//! `stderr`, plain and clustered.

use super::moments::of_moments;
use super::registry::Definition;
use super::{Context, Measure, Metric, Precision, Tally};
use crate::data::points::{CodePlaces, RowKeys};
use crate::{About, Answer, Caveat, Error, Family, Figure, Points, Unit, Value};
use calipers_stats::cluster::{ClusterEstimate, ClusterSums};
use calipers_stats::threshold_test::Direction;
use calipers_stats::{Moments, StatisticCaveat as Statistic, Undefined as NoStatistic};
use hashbrown::HashMap;

const STDERR: About = About {
    name: "stderr",
    summary: "the standard error of the mean",
    usage: "stderr(cluster=None)",
    tells: "How far the mean would move if the samples were drawn again from questions like these.",
    misleads: "When samples belong together but are treated as independent: name their clusters. Zero means that all \
               scores are equal, not that the mean is certain.",
    formula: "s / √n; with `cluster`, √(C/(C−1) · Σ_c(Σ_{i∈c}(x_i − x̄))²) / n (CR1, as in Inspect), with the CR2 \
              error and Satterthwaite's degrees of freedom among the details.",
    interval: "None: it measures the width of one. `ci` gives the interval.",
    example: "calipers score results.jsonl -m 'stderr(cluster=\"category\")'",
    unit: Unit::Plain,
    range: "≥ 0",
    direction: Some(Direction::AtMost),
    typical_threshold: None,
    use_case: "The error bar of a mean",
    family: Family::Error,
    parameters: &[("cluster", "a metadata key: samples with the same value belong together")],
    positional: &["cluster"],
    inspect: Some("stderr"),
    role: None,
};

/// The name of the method in results.
const METHOD: &str = "standard error of the mean";

/// The name of the method in results.
const CLUSTERED_METHOD: &str = "cluster-robust standard error, CR1";

/// The metrics of this file.
pub(super) static METRICS: &[Definition] =
    &[Definition { about: STDERR, make: |a| Ok(a.text("cluster")?.map_or_else(stderr, stderr_clustered)) }];

/// The standard error of the mean.
///
/// `calipers metrics stderr` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{accuracy, stderr, Plan, Samples};
///
/// let mut samples = Samples::new();
/// for (id, score) in [(1, "C"), (2, "C"), (3, "I"), (4, "C")] {
///     samples.push(id).score("choice", score);
/// }
/// let results = Plan::new().metrics([accuracy(), stderr()]).measure(&samples)?;
/// assert_eq!(results.figure("choice", "stderr").expect("asked for").value, Ok(0.25));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn stderr() -> Metric {
    of_moments("stderr", |moments, tally, _| {
        let figure = Figure::statistic(moments.stderr(), 0.0, tally, METHOD);
        figure.with_caveats(no_spread(moments))
    })
    .stating(Precision::StandardError)
    .of_mean()
}

/// The standard error of the mean when samples with the same value of a metadata key go together.
///
/// Every sample must have the key. Undefined with one cluster. See [`stderr`].
///
/// ```
/// use calipers_core::{accuracy, stderr_clustered, Plan, Samples};
///
/// let mut samples = Samples::new();
/// for (id, category, score) in [(1, "physics", "C"), (2, "physics", "C"), (3, "biology", "I"), (4, "biology", "I")] {
///     samples.push(id).metadata("category", category).score("choice", score);
/// }
/// let results = Plan::new().metrics([accuracy(), stderr_clustered("category")]).measure(&samples)?;
/// let error = results.figure("choice", "stderr").expect("asked for").value.clone().expect("defined");
/// assert!((error - 0.5).abs() < 1e-12); // without clusters: 0.29
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn stderr_clustered(key: impl Into<String>) -> Metric {
    let key = key.into();
    let metric = Metric::recorded("stderr", Clustered { key: key.clone() }).stating(Precision::StandardError);
    metric.keyed_by(&key).param("cluster", key)
}

struct Clustered {
    key: String,
}

impl Measure for Clustered {
    type State = Clusters;

    fn start(&self) -> Clusters {
        Clusters::default()
    }

    fn fold(&self, state: &mut Clusters, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        state.fold(points, &self.key, "stderr", context)
    }

    fn merge(&self, state: &mut Clusters, other: Clusters) {
        state.merge(other);
    }

    fn finish(&self, state: Clusters, tally: Tally, _: &Context) -> Result<Answer, Error> {
        let estimate = state.estimate();
        // Deviations from an infinite mean are NaN, and so is what Inspect makes of them.
        let stderr = estimate.as_ref().map(|estimate| estimate.cr1).map_err(|&why| match (why, state.all.mean()) {
            (NoStatistic::NotFinite { .. }, Err(_)) => NoStatistic::NotFinite { value: f64::NAN },
            (other, _) => other,
        });
        let mut figure = Figure::statistic(stderr, 0.0, tally, CLUSTERED_METHOD);
        let Ok(estimate) = estimate else { return Ok(figure.into()) };
        let caveats = estimate.caveats().into_iter().map(Caveat::from).chain(no_spread(&state.all));
        figure.details = cluster_details(&estimate);
        Ok(figure.with_caveats(caveats).into())
    }
}

/// The numbers behind a clustered error.
pub(super) fn cluster_details(estimate: &ClusterEstimate) -> Vec<(&'static str, f64)> {
    let mut details = vec![("clusters", estimate.clusters as f64), ("cr2", estimate.cr2)];
    details.extend(estimate.df_satterthwaite.ok().map(|df| ("df_satterthwaite", df)));
    details
}

fn no_spread(moments: &Moments) -> Option<Caveat> {
    if moments.count() < 2 || !moments.is_constant() {
        return None;
    }
    Some(Statistic::NoSpread { n: moments.count() }.into())
}

/// Sums by cluster, with the clusters' names so that shards can be joined.
#[derive(Default)]
pub(super) struct Clusters {
    pub(super) all: Moments,
    pub(super) sums: ClusterSums,
    names: Vec<Value>,
    /// Filled only when a second shard arrives.
    places: HashMap<Value, u32>,
    known: CodePlaces,
}

impl Clusters {
    pub(super) fn fold(
        &mut self,
        points: &Points<'_>,
        key: &str,
        metric: &str,
        context: &Context,
    ) -> Result<(), Error> {
        let one_each = "one cluster a value, by construction";
        if self.names.is_empty() {
            let RowKeys { codes, names } = points.clusters(key, metric)?;
            self.all = points.moments(context)?;
            self.sums.extend(&codes, &points.floats(context)?).expect(one_each);
            self.names = names;
            return Ok(());
        }
        self.make_places();
        let mut known = std::mem::take(&mut self.known);
        let places = points.cluster_places(key, metric, &mut known, |name| self.place(name))?;
        self.known = known;
        self.all.merge(&points.moments(context)?);
        self.sums.extend(&places, &points.floats(context)?).expect(one_each);
        Ok(())
    }

    fn make_places(&mut self) {
        if self.places.is_empty() {
            self.places = self.names.iter().cloned().zip(0..).collect();
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        if self.names.is_empty() {
            *self = other;
            return;
        }
        self.all.merge(&other.all);
        self.make_places();
        let map: Vec<u32> = other.names.iter().map(|name| self.place(name)).collect();
        self.sums.merge(&other.sums, &map).expect("every cluster has a place");
    }

    fn place(&mut self, name: &Value) -> u32 {
        if let Some(&place) = self.places.get(name) {
            return place;
        }
        let place = self.names.len() as u32;
        self.names.push(name.clone());
        self.places.insert(name.clone(), place);
        place
    }

    pub(super) fn estimate(&self) -> Result<ClusterEstimate, calipers_stats::Undefined> {
        self.sums.estimate(&self.all)
    }

    /// Sum and count of each cluster.
    pub(super) fn totals(&self) -> Vec<(f64, u64)> {
        self.sums.totals().collect()
    }
}
