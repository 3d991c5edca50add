//! The standard error of a mean whose values rise and fall together in clusters.
//!
//! Questions about one document, prompts from one template and attempts at one task share their luck.
//! Treated as independent they make the error too small, so the residuals are summed by cluster first.
//! With m_g values in cluster g, n in all, h_g = m_g/n and S_g = Σ(x − x̄) over the cluster:
//!
//! - CR0 = √(ΣS_g²)/n (Liang and Zeger 1986; Miller 2024, appendix A)
//! - CR1 = CR0·√(C/(C−1)), what Inspect, Stata and statsmodels report, with t of C − 1 degrees of freedom
//! - CR2 = √(ΣS_g²/(1−h_g))/n (Bell and McCaffrey 2002), what we report, with Satterthwaite's degrees
//! - CR3 = √(ΣS_g²/(1−h_g)²)/n, close to the jackknife
//!
//! Balanced clusters lose nothing by CR2: it equals CR1 and its degrees of freedom are C − 1. With one
//! large cluster among small ones (40, 5, 5, 5, 5; intraclass correlation 0.5) a 95 % interval by CR1 and
//! C − 1 covers 79 % of the time, by CR2 and Satterthwaite 96 %.
//!
//! Cost: one cache line of 32 bytes per value, a pass over the clusters at the end.

use crate::fixed_sums::FixedSums;
use crate::proportion::{Proportion, wilson_bounds};
use crate::sum::{ExactSum, Wide, sum_of};
use crate::{
    AllowedRange, Confidence, Interval, Method, Moments, Quantity, StatisticCaveat, Undefined, mean::around, special,
};
use std::borrow::Cow;

/// Below this, t with C − 1 degrees of freedom undercovers unless the clusters are balanced.
const FEW_CLUSTERS: u64 = 20;

/// Above this share, the mean is that of one cluster and the others say little about its error.
const DOMINANT_SHARE: f64 = 0.5;

/// Cluster totals this much smaller than the spread of the values are what rounding left of zero.
const ROUNDING: f64 = 1e-12;

/// How many squares are added up at once.
const SQUARES_BLOCK: usize = 1024;
/// Sizes of clusters up to this one are looked up in a table.
const SIZES_KNOWN: u64 = 1024;

/// What one cluster has seen.
///
/// Aligned to its size, so that no entry straddles two cache lines.
#[derive(Clone, Debug, Default)]
#[repr(align(32))]
struct ClusterEntry {
    sum: ExactSum,
    count: u64,
}

impl ClusterEntry {
    #[inline(always)]
    fn add(&mut self, x: f64) {
        self.sum.add(x);
        self.count += 1;
    }
}

/// What clusters of one size have in common.
#[derive(Clone, Copy)]
struct OfSize {
    /// m·x̄.
    expected: Wide,
    /// 1/(1 − h), with one rounding.
    leverage: f64,
}

/// The same for every size up to a limit, as most clusters have one of a few sizes.
struct SizeTable {
    mean: Wide,
    count: u64,
    known: Vec<OfSize>,
}

impl SizeTable {
    fn new(all: &Moments, largest: u64) -> Self {
        let mut table = Self { mean: all.wide_mean(), count: all.count(), known: Vec::new() };
        table.known = (0..=largest.min(SIZES_KNOWN)).map(|size| table.find(size)).collect();
        table
    }

    fn get(&self, size: u64) -> OfSize {
        self.known.get(size as usize).copied().unwrap_or_else(|| self.find(size))
    }

    fn find(&self, size: u64) -> OfSize {
        let leverage = self.count as f64 / (self.count - size) as f64;
        OfSize { expected: self.mean.scale(size as f64), leverage }
    }
}

/// The sum and the number of values of each cluster.
///
/// Clusters have dense codes: memory is 32 bytes times the largest code. Codes without a value are no
/// clusters. The sums are exact, so order and sharding change nothing, nor does the numbering.
///
/// ```
/// use calipers_stats::{cluster::ClusterSums, Moments};
///
/// let (values, documents) = ([1.0, 1.0, 0.0, 1.0, 0.0, 0.0], [0, 0, 1, 1, 2, 2]);
/// let mut sums = ClusterSums::default();
/// sums.extend(&documents, &values)?;
/// let estimate = sums.estimate(&Moments::from_slice(&values))?;
/// assert_eq!((estimate.n, estimate.clusters, estimate.mean), (6, 3, 0.5));
/// assert!(estimate.cr2 > estimate.naive);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ClusterSums {
    entries: Vec<ClusterEntry>,
    /// All that was seen, in place of entries, while all values have few digits.
    fixed: Option<FixedSums>,
}

impl ClusterSums {
    /// Folds in one value.
    pub fn add(&mut self, cluster: u32, x: f64) {
        self.settle();
        self.grow_to(cluster);
        self.entries[cluster as usize].add(x);
    }

    /// Folds in many values, each with its cluster.
    ///
    /// Undefined, and without effect, when the lengths differ.
    pub fn extend(&mut self, clusters: &[u32], values: &[f64]) -> Result<(), Undefined> {
        Undefined::check_lengths(Quantity::ValuesAndClusters, clusters.len(), values.len())?;
        if clusters.is_empty() {
            return Ok(());
        }
        if self.entries.is_empty() && self.fixed.is_none() {
            self.fixed = FixedSums::for_values(values);
        }
        if let Some(fixed) = self.fixed.as_mut().filter(|fixed| fixed.fit(values)) {
            fixed.extend(clusters, values);
            return Ok(());
        }
        self.settle();
        self.grow_to(clusters.iter().fold(0, |largest, &cluster| largest.max(cluster)));
        let entries = &mut self.entries[..];
        for (&cluster, &x) in clusters.iter().zip(values) {
            entries[cluster as usize].add(x);
        }
        Ok(())
    }

    /// All that was seen, as entries.
    fn all(&self) -> Cow<'_, [ClusterEntry]> {
        match &self.fixed {
            Some(fixed) => fixed.iter().map(|(sum, count)| ClusterEntry { sum, count }).collect(),
            None => Cow::Borrowed(&self.entries),
        }
    }

    /// Has the entries hold all that was seen.
    fn settle(&mut self) {
        if let Cow::Owned(entries) = self.all() {
            (self.entries, self.fixed) = (entries, None);
        }
    }

    /// Folds in all that another has seen, whose cluster `c` is our `map[c]`.
    ///
    /// Undefined, and without effect, when the map is too short.
    ///
    /// ```
    /// use calipers_stats::cluster::ClusterSums;
    ///
    /// let (mut ours, mut theirs) = (ClusterSums::default(), ClusterSums::default());
    /// ours.extend(&[0, 1], &[1.0, 0.0])?;
    /// theirs.extend(&[0, 1], &[1.0, 0.5])?;
    /// ours.merge(&theirs, &[1, 2])?;
    /// assert_eq!(ours.clusters(), 3);
    /// assert!(ours.merge(&theirs, &[1]).is_err());
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn merge(&mut self, other: &Self, map: &[u32]) -> Result<(), Undefined> {
        let others = other.all();
        if map.len() < others.len() {
            return Undefined::check_lengths(Quantity::ClustersAndMap, others.len(), map.len());
        }
        self.settle();
        let occupied = || others.iter().zip(map).filter(|(theirs, _)| theirs.count > 0);
        let Some(largest) = occupied().map(|(_, &cluster)| cluster).max() else { return Ok(()) };
        self.grow_to(largest);
        for (theirs, &cluster) in occupied() {
            let mine = &mut self.entries[cluster as usize];
            if mine.count == 0 {
                *mine = theirs.clone();
                continue;
            }
            mine.sum.merge(&theirs.sum);
            mine.count += theirs.count;
        }
        Ok(())
    }

    /// The sum and the number of values of each code, in order.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = (ExactSum, u64)> {
        self.all().into_owned().into_iter().map(|entry| (entry.sum, entry.count))
    }

    /// True if nothing was folded in.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.fixed.as_ref().is_none_or(|fixed| fixed.len() == 0)
    }

    /// The sums whose entries these are.
    ///
    /// ```
    /// use calipers_stats::cluster::ClusterSums;
    ///
    /// let mut sums = ClusterSums::default();
    /// sums.extend(&[0, 2], &[1.0, 0.5])?;
    /// let copy = ClusterSums::from_entries(sums.entries());
    /// assert_eq!((copy.clusters(), copy.entries().len()), (2, 3));
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn from_entries(entries: impl IntoIterator<Item = (ExactSum, u64)>) -> Self {
        let entries = entries.into_iter().map(|(sum, count)| ClusterEntry { sum, count }).collect();
        Self { entries, fixed: None }
    }

    fn grow_to(&mut self, cluster: u32) {
        let needed = cluster as usize + 1;
        if needed > self.entries.len() {
            self.entries.resize_with(needed, ClusterEntry::default);
        }
    }

    /// The number of clusters that have values.
    #[must_use]
    pub fn clusters(&self) -> u64 {
        occupied(&self.all()).count() as u64
    }

    /// The number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.all().iter().map(|entry| entry.count).sum()
    }

    /// The sum and the count of each cluster that has values, by code.
    ///
    /// ```
    /// let mut sums = calipers_stats::cluster::ClusterSums::default();
    /// sums.extend(&[2, 0, 2], &[0.5, 1.0, 0.25])?;
    /// assert_eq!(sums.totals().collect::<Vec<_>>(), [(1.0, 1), (0.75, 2)]);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn totals(&self) -> impl Iterator<Item = (f64, u64)> {
        let all = self.all().into_owned().into_iter();
        all.filter(|entry| entry.count > 0).map(|entry| (entry.sum.value(), entry.count))
    }

    /// The mean with its cluster-robust errors; `all` are the moments of the same values.
    ///
    /// Undefined without values, with one cluster, with values that are infinite or not numbers, and when
    /// `all` has seen another number of values.
    pub fn estimate(&self, all: &Moments) -> Result<ClusterEstimate, Undefined> {
        let entries = &*self.all();
        let sizes = sizes(entries);
        let (n, clusters) = sizes.iter().fold((0, 0), |(n, all), (size, alike)| (n + size * alike, all + alike));
        Undefined::check_lengths(Quantity::ClusteredValuesAndMoments, n as usize, all.count() as usize)?;
        match clusters {
            0 => return Err(Undefined::Empty),
            1 => return Err(Undefined::TooFew { what: Quantity::Clusters, need: 2, have: 1 }),
            _ => {}
        }
        let mean = all.mean()?;
        let naive = all.stderr()?;
        let largest = sizes.last().map_or(0, |&(size, _)| size);
        let [cr0, cr1, cr2, cr3] = errors(entries, all, clusters, largest, naive)?;
        Ok(ClusterEstimate {
            n,
            clusters,
            mean,
            min: all.min()?,
            max: all.max()?,
            naive,
            cr0,
            cr1,
            cr2,
            cr3,
            df_cr1: clusters - 1,
            df_satterthwaite: if cr1 > 0.0 {
                Ok(satterthwaite(&sizes))
            } else {
                Err(Undefined::NoSpread { what: Quantity::ClusterMeans })
            },
            largest_share: largest as f64 / n as f64,
        })
    }
}

/// The clusters that have values.
fn occupied(entries: &[ClusterEntry]) -> impl Iterator<Item = &ClusterEntry> {
    entries.iter().filter(|entry| entry.count > 0)
}

/// CR0 to CR3.
fn errors(
    entries: &[ClusterEntry],
    all: &Moments,
    clusters: u64,
    largest: u64,
    naive: f64,
) -> Result<[f64; 4], Undefined> {
    if naive == 0.0 {
        return Ok([0.0; 4]);
    }
    let n = all.count() as f64;
    let sizes = SizeTable::new(all, largest);
    let mut sums: [ExactSum; 3] = Default::default();
    // Blocks of squares are added up by vector instructions.
    let mut blocks: [Vec<f64>; 3] = Default::default();
    let mut entries = occupied(entries).peekable();
    while entries.peek().is_some() {
        blocks.iter_mut().for_each(Vec::clear);
        for entry in entries.by_ref().take(SQUARES_BLOCK) {
            let OfSize { expected, leverage } = sizes.get(entry.count);
            // S_g = Σ(x − x̄), in twice the precision of a double: the sum and m·x̄ nearly cancel far from zero.
            let residual = entry.sum.wide().minus(expected).value();
            let square = residual * residual;
            blocks[0].push(square);
            blocks[1].push(square * leverage);
            blocks[2].push(square * leverage * leverage);
        }
        sums.iter_mut().zip(&blocks).for_each(|(sum, block)| sum.extend(block));
    }
    let [cr0, cr2, cr3] = sums.map(|sum| sum.value().sqrt() / n);
    let cr1 = cr0 * (clusters as f64 / (clusters - 1) as f64).sqrt();
    if cr1 <= ROUNDING * naive {
        return Ok([0.0; 4]);
    }
    Ok([cr0, cr1, Undefined::check_finite(cr2)?, Undefined::check_finite(cr3)?])
}

/// The sizes of clusters, smallest first, each with the number of clusters that have it.
fn sizes(entries: &[ClusterEntry]) -> Vec<(u64, u64)> {
    let mut alike = vec![0_u64; SIZES_KNOWN as usize + 1];
    let mut large = Vec::new();
    for entry in entries {
        match alike.get_mut(entry.count as usize) {
            Some(times) => *times += 1,
            None => large.push(entry.count),
        }
    }
    // Most clusters are small: counting them is sorting them.
    large.sort_unstable();
    let large = large.chunk_by(|x, y| x == y).map(|run| (run[0], run.len() as u64));
    (0..).zip(alike).chain(large).filter(|&(size, times)| size > 0 && times > 0).collect()
}

/// Satterthwaite's degrees of freedom under working independence, from the sizes of clusters with their numbers.
///
/// Bell and McCaffrey (2002) give (tr G)²/ΣG² for G_ij = w_i w_j (m_i·1[i=j] − m_i m_j/n) with
/// w_g = 1/(n√(1−h_g)). Here w_g² m_g (1−h_g) = m_g/n², so tr G = 1/n, and with b_g = h_g²/(1−h_g) the
/// squares off the diagonal add to Σ b_i b_j / n² over i ≠ j. What remains is
/// 1/(Σh_g² + Σ_g b_g (B − b_g)) with B = Σb_g, one term for each size: n values have at most √(2n) of those.
fn satterthwaite(sizes: &[(u64, u64)]) -> f64 {
    let n = sizes.iter().map(|(size, times)| size * times).sum::<u64>() as f64;
    let b = |m: f64| m / n * (m / (n - m));
    let alike = || sizes.iter().map(|&(size, times)| (size as f64, times as f64));
    let mut total = ExactSum::default();
    alike().for_each(|(m, times)| total.add_product(b(m), times));
    // One dominant b makes B − b cancel, hence twice the precision.
    let total = total.wide();
    let others = |m: f64| total.minus(Wide { high: b(m), low: 0.0 }).value();
    1.0 / sum_of(alike().map(|(m, times)| times * ((m / n).powi(2) + b(m) * others(m))))
}

/// The cluster-robust estimate of a mean from values and their clusters; see [`ClusterSums::estimate`].
///
/// ```
/// use calipers_stats::Quantity;
/// use calipers_stats::{cluster::estimate_clustered, Confidence, Undefined};
///
/// let estimate = estimate_clustered(&[1.0, 1.0, 0.0, 1.0, 0.0, 0.0], &[0, 0, 1, 1, 2, 2])?;
/// let interval = estimate.interval(Confidence::two_sided(0.95)?)?;
/// assert!(interval.contains(0.5));
/// let alone = estimate_clustered(&[1.0, 0.0], &[0, 0]);
/// assert_eq!(alone.unwrap_err(), Undefined::TooFew { what: Quantity::Clusters, need: 2, have: 1 });
/// # Ok::<(), Undefined>(())
/// ```
pub fn estimate_clustered(values: &[f64], clusters: &[u32]) -> Result<ClusterEstimate, Undefined> {
    let mut sums = ClusterSums::default();
    sums.extend(clusters, values)?;
    sums.estimate(&Moments::from_slice(values))
}

/// A mean with the errors that clusters give it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClusterEstimate {
    /// The number of values.
    pub n: u64,
    /// The number of clusters, C, at least two.
    pub clusters: u64,
    /// The mean of the values.
    pub mean: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// The standard error that ignores clusters, s/√n.
    pub naive: f64,
    /// The error without a correction for few clusters.
    pub cr0: f64,
    /// The error with the factor √(C/(C−1)): what Inspect reports.
    pub cr1: f64,
    /// The error corrected by each cluster's share: what we report.
    pub cr2: f64,
    /// The error close to that of leaving out one cluster at a time.
    pub cr3: f64,
    /// The degrees of freedom that go with CR1, C − 1.
    pub df_cr1: u64,
    /// The degrees of freedom that go with CR2, seldom whole. Undefined when the cluster means are all
    /// alike: then every error is 0 and no t is worth its name.
    pub df_satterthwaite: Result<f64, Undefined>,
    /// The share of all values that the largest cluster holds.
    pub largest_share: f64,
}

impl ClusterEstimate {
    /// How many times the clusters multiply the variance of the mean: CR2²/naive².
    ///
    /// Below 1 when values within a cluster repel each other. Undefined when no value varies.
    pub fn design_effect(&self) -> Result<f64, Undefined> {
        if self.naive == 0.0 {
            return Err(Undefined::NoSpread { what: Quantity::Values });
        }
        Ok((self.cr2 / self.naive).powi(2))
    }

    /// The number of independent values that would say as much: n over the design effect.
    ///
    /// Undefined when no value or no cluster mean varies.
    pub fn effective_n(&self) -> Result<f64, Undefined> {
        let effect = self.design_effect()?;
        if effect == 0.0 {
            return Err(Undefined::NoSpread { what: Quantity::ClusterMeans });
        }
        Ok(self.n as f64 / effect)
    }

    /// What to beware of: few clusters, a dominant one, an error below the plain one, no spread at all.
    ///
    /// ```
    /// use calipers_stats::cluster::estimate_clustered;
    ///
    /// let estimate = estimate_clustered(&[1.0, 0.0, 1.0, 0.0, 1.0, 0.0], &[0, 0, 1, 1, 2, 2])?;
    /// let ids: Vec<_> = estimate.caveats().iter().map(|caveat| caveat.id()).collect();
    /// assert_eq!(ids, ["few-clusters", "clustered-below-naive"]);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    #[must_use]
    pub fn caveats(&self) -> Vec<StatisticCaveat> {
        let mut caveats = Vec::new();
        if self.clusters < FEW_CLUSTERS {
            caveats.push(StatisticCaveat::FewClusters { clusters: self.clusters });
        }
        if self.largest_share > DOMINANT_SHARE {
            caveats.push(StatisticCaveat::DominantCluster { share: self.largest_share });
        }
        // Singletons make the two errors equal but for rounding, which is no reason to warn.
        if self.cr2 < self.naive * (1.0 - ROUNDING) {
            caveats.push(StatisticCaveat::ClusteredBelowNaive { clustered: self.cr2, naive: self.naive });
        }
        if self.naive == 0.0 {
            caveats.push(StatisticCaveat::NoSpread { n: self.n });
        }
        caveats
    }

    /// The interval that Inspect ships: CR1, and t with C − 1 degrees of freedom.
    ///
    /// It undercovers when clusters are few and unequal; prefer [`interval`](Self::interval).
    pub fn interval_cr1(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        around(Method::ClusterT, self.mean, self.cr1, self.df_cr1 as f64, confidence)
    }

    /// The interval we report: CR2, and t with Satterthwaite's degrees of freedom.
    ///
    /// Undefined when the cluster means are all alike.
    pub fn interval(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        around(Method::ClusterSatterthwaite, self.mean, self.cr2, self.df_satterthwaite?, confidence)
    }

    /// The error to judge by: the larger of the plain and the clustered one.
    ///
    /// Values within a cluster that repel each other can make the clustered error as small as 0 by chance,
    /// and a gate must not pass on that.
    #[must_use]
    pub fn gate_stderr(&self) -> f64 {
        self.naive.max(self.cr2)
    }

    /// True when every value is 0, or every value is 1.
    fn is_at_an_end(&self) -> bool {
        self.min == self.max && (self.min == 0.0 || self.min == 1.0)
    }

    fn check_unit(&self) -> Result<(), Undefined> {
        let outside = [self.min, self.max].into_iter().find(|x| !(0.0..=1.0).contains(x));
        outside.map_or(Ok(()), |value| {
            Err(Undefined::OutOfRange { what: Quantity::Value, value, allowed: AllowedRange::UnitInterval })
        })
    }
}

/// Wilson's score interval of a clustered share, with clusters as the units when all values agree.
///
/// The effective number of values is n_eff = min(n, p(1−p)/CR1²) and the critical value is t with C − 1
/// degrees of freedom (Korn and Graubard 1998; Franco and others 2019). When every value is 1, CR1 is 0 and
/// says nothing: then C clusters that all passed are C successes of C, and Clopper and Pearson's exact
/// bound applies, α^(1/C) one-sided. For sixty passes in three clusters that is 0.368 and not 0.95.
///
/// Undefined when a value lies outside [0, 1].
///
/// ```
/// use calipers_stats::{cluster::{estimate_clustered, wilson_clustered}, Confidence, Method};
///
/// let codes: Vec<u32> = (0..60).map(|i| i % 3).collect();
/// let perfect = wilson_clustered(&estimate_clustered(&[1.0; 60], &codes)?, Confidence::lower(0.95)?)?;
/// assert_eq!(perfect.method, Method::ClopperPearson);
/// assert!((perfect.lower.unwrap() - 0.05f64.powf(1.0 / 3.0)).abs() < 1e-12);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn wilson_clustered(estimate: &ClusterEstimate, confidence: Confidence) -> Result<Interval, Undefined> {
    if !estimate.is_at_an_end() {
        return wilson_clustered_inspect(estimate, confidence);
    }
    let passed = if estimate.mean == 1.0 { estimate.clusters } else { 0 };
    Ok(Proportion::new(passed, estimate.clusters)?.clopper_pearson(confidence))
}

/// The same as Inspect computes it: when all values agree, every value counts as independent.
///
/// That is far too sure (sixty passes in three clusters: at least 0.76); it is here for comparison with
/// Inspect's `ci_wilson(cluster=)`. Elsewhere the two agree.
///
/// ```
/// use calipers_stats::{cluster::{estimate_clustered, wilson_clustered_inspect}, Confidence};
///
/// let codes: Vec<u32> = (0..60).map(|i| i % 3).collect();
/// let perfect = wilson_clustered_inspect(&estimate_clustered(&[1.0; 60], &codes)?, Confidence::two_sided(0.95)?)?;
/// assert!((perfect.lower.unwrap() - 0.764).abs() < 1e-3);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn wilson_clustered_inspect(estimate: &ClusterEstimate, confidence: Confidence) -> Result<Interval, Undefined> {
    estimate.check_unit()?;
    let (p, n) = (estimate.mean, estimate.n as f64);
    let spread = p * (1.0 - p);
    let variance = estimate.cr1 * estimate.cr1;
    let n = if spread > 0.0 && variance > 0.0 { n.min(spread / variance) } else { n };
    let critical = special::t_quantile(1.0 - confidence.tail(), estimate.df_cr1 as f64);
    let (lower, upper) = wilson_bounds(p, n, critical);
    Ok(confidence.interval(Method::ClusteredWilson, || lower, || upper))
}

/// The standard error of a mean whose values share luck in two ways, such as question and template.
///
/// V = V_a + V_b − V_ab (Cameron, Gelbach and Miller 2008), where `both` clusters by the pair of codes. That
/// difference can be small or negative by chance, so the answer is at least either error alone. Undefined
/// when the three estimates are of different numbers of values.
///
/// ```
/// use calipers_stats::cluster::{estimate_clustered, two_way_stderr};
///
/// let values = [1.0, 1.0, 0.0, 0.0, 1.0, 0.0];
/// let question = estimate_clustered(&values, &[0, 0, 1, 1, 2, 2])?;
/// let template = estimate_clustered(&values, &[0, 1, 0, 1, 0, 1])?;
/// let both = estimate_clustered(&values, &[0, 1, 2, 3, 4, 5])?;
/// assert!(two_way_stderr(&question, &template, &both)? >= question.cr2);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn two_way_stderr(a: &ClusterEstimate, b: &ClusterEstimate, both: &ClusterEstimate) -> Result<f64, Undefined> {
    Undefined::check_lengths(Quantity::ValuesClusteredTwice, a.n as usize, b.n as usize)?;
    Undefined::check_lengths(Quantity::ValuesClusteredTwice, a.n as usize, both.n as usize)?;
    let variance = a.cr2.powi(2) + b.cr2.powi(2) - both.cr2.powi(2);
    Ok(variance.max(0.0).sqrt().max(a.cr2).max(b.cr2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn count_sizes(sizes: &[u64]) -> Vec<(u64, u64)> {
        sizes.chunk_by(|x, y| x == y).map(|run| (run[0], run.len() as u64)).collect()
    }

    #[test]
    fn clusters_are_counted_by_size() {
        let sizes = [3, 1, 2000, 1, 1024, 1025, 2000];
        let codes: Vec<u32> = (0..).step_by(2).zip(sizes).flat_map(|(code, size)| vec![code; size]).collect();
        let mut sums = ClusterSums::default();
        sums.extend(&codes, &vec![1.0; codes.len()]).unwrap();
        assert_eq!(super::sizes(&sums.all()), [(1, 2), (3, 1), (1024, 1), (1025, 1), (2000, 2)]);
    }

    /// The double loop over all pairs of clusters, as the source writes it.
    fn slow_satterthwaite(sizes: &[u64]) -> f64 {
        let n = sizes.iter().sum::<u64>() as f64;
        let weight = |m: f64| 1.0 / (n * (1.0 - m / n).sqrt());
        let (mut trace, mut squares) = (0.0, 0.0);
        for (i, &a) in sizes.iter().enumerate() {
            for (j, &b) in sizes.iter().enumerate() {
                let (a, b) = (a as f64, b as f64);
                let same = if i == j { a } else { 0.0 };
                let g = weight(a) * weight(b) * (same - a * b / n);
                squares += g * g;
                trace += if i == j { g } else { 0.0 };
            }
        }
        trace * trace / squares
    }

    /// The four errors by the plain formulas.
    fn slow_errors(values: &[f64], clusters: &[u32]) -> [f64; 4] {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let mut codes = clusters.to_vec();
        codes.sort_unstable();
        codes.dedup();
        let c = codes.len() as f64;
        let mut sums = [0.0; 3];
        for code in codes {
            let members = || clusters.iter().zip(values).filter(|(k, _)| **k == code).map(|(_, x)| x);
            let s: f64 = members().map(|x| x - mean).sum();
            let h = members().count() as f64 / n;
            for (power, sum) in sums.iter_mut().enumerate() {
                *sum += s * s / (1.0 - h).powi(power as i32);
            }
        }
        let [cr0, cr2, cr3] = sums.map(|sum: f64| sum.sqrt() / n);
        [cr0, cr0 * (c / (c - 1.0)).sqrt(), cr2, cr3]
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-10 * a.abs().max(b.abs())
    }

    fn bits(e: &ClusterEstimate) -> [u64; 8] {
        let df = e.df_satterthwaite.unwrap_or(-1.0);
        [e.mean, e.naive, e.cr0, e.cr1, e.cr2, e.cr3, df, e.largest_share].map(f64::to_bits)
    }

    #[test]
    fn an_entry_is_half_a_cache_line() {
        assert_eq!(std::mem::size_of::<ClusterEntry>(), 32);
    }

    #[test]
    fn blocks_of_any_values_give_the_bits_of_single_ones() {
        let blocks: [&[f64]; 7] =
            [&[1.0, 0.0, 1.0, 0.5], &[0.1, 0.7, 0.3], &[1e-30, 1.0], &[-0.25, 1.0], &[3.0, 1e9], &[0.1], &[1e-9, -1e9]];
        for first in 0..blocks.len() {
            let (mut blockwise, mut single) = (ClusterSums::default(), ClusterSums::default());
            let mut seen = Moments::default();
            for block in blocks[first..].iter().chain(&blocks[..first]) {
                let clusters: Vec<u32> = (0..block.len()).map(|place| (place * 7 % 3) as u32).collect();
                blockwise.extend(&clusters, block).unwrap();
                clusters.iter().zip(*block).for_each(|(&cluster, &x)| single.add(cluster, x));
                seen.merge(&Moments::from_slice(block));
                assert!(blockwise.totals().eq(single.totals()), "{block:?}");
                let estimates = [&blockwise, &single].map(|sums| sums.estimate(&seen).map(|found| bits(&found)));
                assert_eq!(estimates[0], estimates[1], "{block:?}");
            }
        }
    }

    #[test]
    fn what_is_not_finite_is_found_in_every_block() {
        for odd in [f64::INFINITY, f64::NAN] {
            let mut sums = ClusterSums::default();
            sums.extend(&[0, 1], &[1.0, 0.0]).unwrap();
            sums.extend(&[0, 1], &[odd, 0.0]).unwrap();
            assert!(!sums.totals().next().unwrap().0.is_finite());
        }
    }

    #[test]
    fn an_offset_of_a_billion_does_not_hurt() {
        let plain: Vec<f64> = (0..300).map(|i| f64::from(i * 7919 % 300) / 512.0).collect();
        let offset: Vec<f64> = plain.iter().map(|x| x + 1e9).collect();
        let codes: Vec<u32> = (0..300).map(|i| i * i % 17).collect();
        let (a, b) = (estimate_clustered(&plain, &codes).unwrap(), estimate_clustered(&offset, &codes).unwrap());
        for (a, b) in [(a.cr0, b.cr0), (a.cr1, b.cr1), (a.cr2, b.cr2), (a.cr3, b.cr3)] {
            assert!(close(a, b), "{a} {b}");
        }
    }

    #[test]
    fn clusters_that_cancel_have_no_error_and_no_degrees_of_freedom() {
        let values: Vec<f64> = [0.1, 0.9, 0.3, 0.7, 0.2, 0.8].to_vec();
        let estimate = estimate_clustered(&values, &[0, 0, 1, 1, 2, 2]).unwrap();
        assert_eq!([estimate.cr0, estimate.cr1, estimate.cr2, estimate.cr3], [0.0; 4]);
        assert_eq!(estimate.df_satterthwaite, Err(Undefined::NoSpread { what: Quantity::ClusterMeans }));
        assert_eq!(estimate.gate_stderr(), estimate.naive);
        assert!(estimate.interval(Confidence::two_sided(0.95).unwrap()).is_err());
    }

    #[test]
    fn equal_values_have_no_error_even_when_their_mean_is_rounded() {
        let estimate = estimate_clustered(&[0.1; 7], &[0, 0, 0, 1, 1, 2, 2]).unwrap();
        assert_eq!((estimate.cr1, estimate.naive), (0.0, 0.0));
        assert!(estimate.design_effect().is_err());
    }

    #[test]
    fn what_cannot_be_estimated_says_why() {
        assert_eq!(estimate_clustered(&[], &[]), Err(Undefined::Empty));
        assert!(matches!(estimate_clustered(&[1.0], &[0, 1]), Err(Undefined::Mismatched { .. })));
        assert!(matches!(estimate_clustered(&[1.0, f64::NAN, 0.0], &[0, 1, 1]), Err(Undefined::NotFinite { .. })));
        let mut sums = ClusterSums::default();
        sums.add(0, 1.0);
        sums.add(1, 0.0);
        assert!(matches!(sums.estimate(&Moments::from_slice(&[1.0])), Err(Undefined::Mismatched { .. })));
        let outside = estimate_clustered(&[2.0, 0.0, 1.0], &[0, 1, 2]).unwrap();
        assert!(wilson_clustered(&outside, Confidence::lower(0.95).unwrap()).is_err());
    }

    #[test]
    fn a_share_of_zero_mirrors_a_share_of_one() {
        let confidence = Confidence::two_sided(0.9).unwrap();
        let codes = [0, 0, 1, 1, 2, 3];
        for wilson in [wilson_clustered, wilson_clustered_inspect] {
            let none = wilson(&estimate_clustered(&[0.0; 6], &codes).unwrap(), confidence).unwrap();
            let all = wilson(&estimate_clustered(&[1.0; 6], &codes).unwrap(), confidence).unwrap();
            assert_eq!((none.lower, all.upper), (Some(0.0), Some(1.0)));
            assert!(close(none.upper.unwrap(), 1.0 - all.lower.unwrap()));
        }
    }

    #[test]
    fn a_huge_cluster_keeps_the_degrees_of_freedom_exact() {
        // Nearly all in one cluster: B and the largest b agree in all but the last digits.
        let sizes = [1, 1, 2, 1_000_000];
        assert!(close(satterthwaite(&count_sizes(&sizes)), slow_satterthwaite(&sizes)));
    }

    fn rows() -> impl Strategy<Value = Vec<(u32, f64)>> {
        prop::collection::vec((0u32..12, -1e3f64..1e3), 3..80)
            .prop_map(|mut rows| {
                rows[0].0 = 12; // at least two clusters
                rows
            })
            .prop_filter("two clusters", |rows| rows.iter().any(|row| row.0 != 12))
    }

    proptest! {
        #[test]
        fn order_sharding_and_numbering_give_the_same_bits(rows in rows(), cut in 0usize..80, shift in 1u32..9) {
            let (clusters, values): (Vec<u32>, Vec<f64>) = rows.iter().copied().unzip();
            let whole = estimate_clustered(&values, &clusters).unwrap();
            let (left, right) = rows.split_at(cut.min(rows.len()));
            let mut ours = ClusterSums::default();
            right.iter().rev().for_each(|&(cluster, x)| ours.add(cluster + shift, x));
            let mut theirs = ClusterSums::default();
            let (codes, xs): (Vec<u32>, Vec<f64>) = left.iter().map(|&(cluster, x)| (12 - cluster, x)).unzip();
            theirs.extend(&codes, &xs).unwrap();
            let map: Vec<u32> = (0..13).map(|code| 12 - code + shift).collect();
            ours.merge(&theirs, &map).unwrap();
            let parts = ours.estimate(&Moments::from_slice(&values)).unwrap();
            prop_assert_eq!(bits(&whole), bits(&parts));
        }

        /// The first slice is added up by plain additions where its digits allow that.
        #[test]
        fn slices_give_the_same_bits_as_single_values(rows in prop::collection::vec((0u32..6, any::<i32>(), 0i32..70), 1..60)) {
            let (mut slice, mut single) = (ClusterSums::default(), ClusterSums::default());
            let clusters: Vec<u32> = rows.iter().map(|row| row.0).collect();
            let values: Vec<f64> = rows.iter().map(|row| f64::from(row.1) * 0.5f64.powi(row.2)).collect();
            slice.extend(&clusters, &values).unwrap();
            clusters.iter().zip(&values).for_each(|(&cluster, &x)| single.add(cluster, x));
            prop_assert!(slice.totals().eq(single.totals()));
            let wide = |sums: &ClusterSums| sums.entries().map(|(sum, _)| sum.wide()).collect::<Vec<_>>();
            prop_assert_eq!(wide(&slice), wide(&single));
        }

        #[test]
        fn the_errors_agree_with_the_plain_formulas(rows in rows()) {
            let (clusters, values): (Vec<u32>, Vec<f64>) = rows.iter().copied().unzip();
            let got = estimate_clustered(&values, &clusters).unwrap();
            for (got, want) in [got.cr0, got.cr1, got.cr2, got.cr3].into_iter().zip(slow_errors(&values, &clusters)) {
                prop_assert!((got - want).abs() <= 1e-9 * want + 1e-9, "{} {}", got, want);
            }
        }

        #[test]
        fn the_degrees_of_freedom_agree_with_the_double_loop(mut sizes in prop::collection::vec(1u64..200, 2..30)) {
            sizes.sort_unstable();
            prop_assert!(close(satterthwaite(&count_sizes(&sizes)), slow_satterthwaite(&sizes)));
        }

        #[test]
        fn singletons_have_the_plain_error(values in prop::collection::vec(-1e3f64..1e3, 2..60)) {
            let codes: Vec<u32> = (0..values.len() as u32).collect();
            let estimate = estimate_clustered(&values, &codes).unwrap();
            prop_assert!(close(estimate.cr1, estimate.naive));
            prop_assert!(close(estimate.cr2, estimate.naive));
            prop_assert!(close(estimate.df_satterthwaite.unwrap_or(estimate.df_cr1 as f64), estimate.df_cr1 as f64));
        }
    }
}
