//! `stderr`, plain and clustered.

use super::moments::of_moments;
use super::registry::Definition;
use super::{Context, Measure, Metric, Precision, Tally};
use crate::data::column::{Coded, Lineage};
use crate::data::points::{CodePlaces, NO_PLACE, RowKeys};
use crate::{
    About, Answer, Caveat, Error, Family, Figure, Points, StateReader, StateWriter, Stored, Unit, Value, damaged,
};
use calipers_stats::cluster::{ClusterEstimate, ClusterSums};
use calipers_stats::threshold_test::Direction;
use calipers_stats::{ExactSum, Moments, StatisticCaveat as Statistic, Undefined as NoStatistic};
use hashbrown::HashMap;
use std::borrow::Cow;

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

    fn save(&self, state: &Clusters, out: &mut StateWriter) -> Result<(), Error> {
        out.put(state);
        Ok(())
    }

    fn load(&self, from: &mut StateReader<'_>) -> Result<Clusters, Error> {
        from.take()
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
    /// The name of each cluster, by its place in the sums.
    names: Vec<Value>,
    /// In place of names, texts of a table by their codes. Nothing has looked at them yet.
    given: Option<GivenNames>,
    /// Filled only when a second shard arrives.
    places: HashMap<Value, u32>,
    known: CodePlaces,
    /// The dictionary whose codes are the places of the names, as long as they are.
    coded_by: Lineage,
}

/// Names of clusters that are texts of one table.
struct GivenNames {
    /// Only its texts are used.
    texts: Coded,
    places: GivenPlaces,
}

/// Where the clusters of a table's texts stand in the sums.
enum GivenPlaces {
    /// Each code is a place, and some may have no values.
    Codes,
    /// The code of each place, in the order of first appearance.
    Listed(Vec<u32>),
}

impl GivenNames {
    /// Those of a state without values, to which so many rows come first.
    fn new(labels: &Coded, rows: usize) -> Self {
        // Where there are more texts than rows, most codes would be places without values.
        let is_dense = labels.distinct() <= rows;
        let places = if is_dense { GivenPlaces::Codes } else { GivenPlaces::Listed(Vec::new()) };
        Self { texts: labels.with_codes(Vec::new()), places }
    }

    fn names(&self) -> Vec<Value> {
        let texts = self.texts.dictionary();
        match &self.places {
            GivenPlaces::Codes => texts.to_vec(),
            GivenPlaces::Listed(codes) => codes.iter().map(|&code| texts[code as usize].clone()).collect(),
        }
    }

    /// The code of each place.
    fn codes(&self) -> Cow<'_, [u32]> {
        match &self.places {
            GivenPlaces::Codes => (0..self.texts.distinct() as u32).collect(),
            GivenPlaces::Listed(codes) => codes.into(),
        }
    }
}

impl Stored for Clusters {
    fn save(&self, out: &mut StateWriter) {
        out.put(&self.all);
        match &self.given {
            Some(given) => out.put(&given.names()),
            None => out.put(&self.names),
        }
        let entries = self.sums.entries();
        out.length(entries.len());
        for (sum, count) in entries {
            out.put(&sum);
            out.put(&count);
        }
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        let (all, names): (Moments, Vec<Value>) = (from.take()?, from.take()?);
        let entries: Vec<(ExactSum, u64)> = from.take()?;
        if entries.len() > names.len() {
            return Err(damaged("a cluster has no name"));
        }
        let sums = ClusterSums::from_entries(entries);
        Ok(Self { all, sums, names, ..Self::default() })
    }
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
        let clusters = points.given_clusters(key, metric)?;
        if let Some((codes, labels)) = &clusters
            && labels.is_given()
            && let Some(places) = self.given_places(codes.clone(), labels)
        {
            self.all.merge(&points.moments(context)?);
            self.sums.extend(&places, &points.floats(context)?).expect(one_each);
            return Ok(());
        }
        self.list_names();
        if let Some((codes, labels)) = clusters.filter(|(codes, labels)| self.takes_codes(labels, codes.len())) {
            // Distinct codes have distinct names, so that none has to be looked up.
            self.coded_by = labels.lineage().keep();
            self.names.extend(labels.dictionary().iter().skip(self.names.len()).cloned());
            self.all.merge(&points.moments(context)?);
            self.sums.extend(&codes, &points.floats(context)?).expect(one_each);
            return Ok(());
        }
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

    /// True if the codes of a column of texts, which has so many rows here, can be places.
    fn takes_codes(&self, labels: &Coded, rows: usize) -> bool {
        // Where there are more texts than rows, most codes would be places without values.
        let begins = self.names.is_empty() && labels.distinct() <= rows;
        self.places.is_empty() && (begins || self.coded_by.is(labels.lineage()))
    }

    /// The place of each row, if all names so far are texts of the same table.
    fn given_places<'c>(&mut self, codes: Cow<'c, [u32]>, labels: &Coded) -> Option<Cow<'c, [u32]>> {
        if self.is_empty() {
            self.given = Some(GivenNames::new(labels, codes.len()));
        }
        let given = self.given.as_mut().filter(|given| given.texts.lineage().is(labels.lineage()))?;
        match &mut given.places {
            GivenPlaces::Codes => Some(codes),
            GivenPlaces::Listed(listed) => {
                let known = self.known.of(labels);
                Some(codes.iter().map(|&code| given_place(code, &mut known[code as usize], listed)).collect())
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.names.is_empty() && self.given.is_none()
    }

    /// Looks at given names, so that others can be added.
    fn list_names(&mut self) {
        if let Some(given) = self.given.take() {
            self.names = given.names();
        }
    }

    fn make_places(&mut self) {
        self.list_names();
        if self.places.is_empty() {
            self.places = self.names.iter().cloned().zip(0..).collect();
        }
    }

    pub(super) fn merge(&mut self, mut other: Self) {
        if self.is_empty() {
            *self = other;
            return;
        }
        self.all.merge(&other.all);
        let every = "every cluster has a place";
        if let Some(theirs) = &other.given
            && let Some(map) = self.given_places(theirs.codes(), &theirs.texts)
        {
            self.sums.merge(&other.sums, &map).expect(every);
            return;
        }
        self.make_places();
        other.list_names();
        let map: Vec<u32> = other.names.iter().map(|name| self.place(name)).collect();
        self.sums.merge(&other.sums, &map).expect(every);
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

/// The place of a code, which is the next one if it has none yet.
fn given_place(code: u32, known: &mut u32, codes: &mut Vec<u32>) -> u32 {
    if *known == NO_PLACE {
        *known = codes.len() as u32;
        codes.push(code);
    }
    *known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cells, DistinctTexts, Plan, Samples, Table};

    /// Where the names of a shard's clusters come from.
    #[derive(Clone, Copy, Debug)]
    enum Names {
        Pushed,
        OneTable,
        OtherTable,
    }

    /// Two hundred samples from this one on, in clusters that other shards have too.
    fn shard(first: i64, clusters: &Cells, names: Names) -> Samples {
        let ids: Vec<i64> = (first..first + 200).collect();
        let code = |id: i64| (id * 31 % 97) as u32;
        let mut cells = match names {
            Names::Pushed => Cells::labels(),
            Names::OneTable => clusters.clone(),
            Names::OtherTable => Cells::of_texts(DistinctTexts::new(texts()).expect("distinct")),
        };
        if !cells.extend_codes(ids.iter().map(|&id| code(id))) {
            ids.iter().for_each(|&id| cells.push_text(&texts()[code(id) as usize]));
        }
        let scores = ids.iter().map(|&id| (id * 7919 % 1000) as f64 / 1000.0).collect();
        let mut table = Table::with_numbers(ids);
        table.score("judge", None, Cells::floats(scores));
        table.metadata("document", cells);
        Samples::from(table)
    }

    fn texts() -> Vec<String> {
        (0..97).rev().map(|place| format!("document {place}")).collect()
    }

    #[test]
    fn clusters_are_the_same_wherever_their_names_come_from() {
        use Names::{OneTable, OtherTable, Pushed};
        let one = Cells::of_texts(DistinctTexts::new(texts()).expect("distinct"));
        let plan = Plan::new().metrics([stderr_clustered("document")]);
        let measure = |shards: [Names; 3], is_folded: bool, is_saved: bool| {
            let mut whole = plan.start();
            for (names, first) in shards.into_iter().zip([0, 200, 400]) {
                let samples = shard(first, &one, names);
                if is_folded {
                    whole.fold(&samples).expect("folds");
                    continue;
                }
                let mut part = plan.start();
                part.fold(&samples).expect("folds");
                if is_saved {
                    let mut out = StateWriter::new();
                    part.save(&mut out).expect("saves");
                    part = plan.load(&mut StateReader::new(&out.finish())).expect("loads");
                }
                whole.merge(part);
            }
            let results = whole.finish().expect("finishes");
            let figure = results.figure("judge", "stderr").expect("asked for").clone();
            (figure.value.expect("defined").to_bits(), figure.details)
        };
        let want = measure([Pushed; 3], true, false);
        for shards in [
            [OneTable; 3],
            [OneTable, OtherTable, Pushed],
            [Pushed, OneTable, OneTable],
            [OtherTable, OneTable, OneTable],
            [OneTable, OneTable, Pushed],
        ] {
            for (is_folded, is_saved) in [(true, false), (false, false), (false, true)] {
                assert_eq!(measure(shards, is_folded, is_saved), want, "{shards:?}");
            }
        }
    }
}
