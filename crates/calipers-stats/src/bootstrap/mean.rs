//! Resamples of a mean, by the quickest way that has the same distribution.

use super::{Bootstrap, acceleration_of, skewness_of};
use crate::seed::Stream;
use crate::sum::ExactSum;
use crate::weighted::cluster_totals;
use crate::{AllowedRange, Moments, Quantity, Seed, Undefined};

/// Resamples the mean of values.
///
/// A resample of n values is drawn in one of two ways, of which both give the law of n uniform draws:
/// - few distinct values: how often each occurs, by binomial draws. For 0 and 1 that is one draw,
///   whatever n.
/// - else: n indices. The values are cut into blocks that fit the first cache; how many draws fall into a
///   block is binomial, and within it they are uniform. (Sketch: a million values are 8 MB; uniform
///   indices would miss the cache a million times per replicate.)
///
/// Values are sorted first, so that their order does not matter: O(n log n) once.
///
/// ```
/// use calipers_stats::bootstrap::{Bootstrap, MeanResampler};
/// use calipers_stats::Seed;
///
/// let mean = MeanResampler::new(&[1.0, 1.0, 0.0, 1.0, 0.0], Seed(1))?;
/// let answer = mean.stderr(&mean.replicates(1000)?)?;
/// let limit = answer.limit.unwrap(); // √(0.6 · 0.4 / 5)
/// assert!((answer.stderr - limit).abs() < 5.0 * answer.monte_carlo_error);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Debug)]
pub struct MeanResampler {
    plan: DrawPlan,
    moments: Moments,
    seed: Seed,
}

/// A value, and how often it occurs.
pub(super) type ValueCount = (f64, u64);

#[derive(Clone, Debug)]
enum DrawPlan {
    /// Distinct values, ascending.
    Few(Vec<Distinct>),
    /// All values, ascending.
    Many(Vec<f64>),
}

#[derive(Clone, Copy, Debug)]
struct Distinct {
    value: f64,
    /// How often it occurs.
    times: f64,
    /// Its share among itself and those after it.
    share: f64,
}

/// A binomial draw costs about as much as this many uniform ones.
const DRAWS_PER_BINOMIAL: u64 = 150;

impl MeanResampler {
    /// A resampler of values. Undefined when there are none or when one is not finite.
    pub fn new(values: &[f64], seed: Seed) -> Result<Self, Undefined> {
        Self::from_tallies(&tally(values)?, seed)
    }

    /// The same from pairs of a value and how often it occurs, in any order. Neither the answers nor the
    /// replicates differ from those of the values written out.
    ///
    /// ```
    /// use calipers_stats::bootstrap::{Bootstrap, MeanResampler};
    /// use calipers_stats::Seed;
    ///
    /// let counted = MeanResampler::from_counts(&[(1.0, 3), (0.0, 2)], Seed(1))?;
    /// let listed = MeanResampler::new(&[1.0, 0.0, 1.0, 1.0, 0.0], Seed(1))?;
    /// assert_eq!(counted.replicate(17), listed.replicate(17));
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn from_counts(counts: &[(f64, u64)], seed: Seed) -> Result<Self, Undefined> {
        Self::from_tallies(&merge_tallies(counts.to_vec())?, seed)
    }

    pub(super) fn from_tallies(tallies: &[ValueCount], seed: Seed) -> Result<Self, Undefined> {
        let mut moments = Moments::default();
        tallies.iter().for_each(|&(value, times)| moments.add_repeated(value, times));
        moments.mean()?;
        let (kinds, n) = (tallies.len() as u64, moments.count());
        let few = kinds <= 2 || kinds < n / DRAWS_PER_BINOMIAL;
        let plan = if few { DrawPlan::Few(distinct(tallies)) } else { DrawPlan::Many(written_out(tallies)) };
        Ok(Self { plan, moments, seed })
    }
}

impl Bootstrap for MeanResampler {
    fn units(&self) -> u64 {
        self.moments.count()
    }

    fn estimate(&self) -> Result<f64, Undefined> {
        self.moments.mean()
    }

    fn replicate(&self, index: u64) -> f64 {
        let mut stream = self.seed.stream(index);
        let total = match &self.plan {
            DrawPlan::Few(distinct) => few_total(distinct, self.moments.count(), &mut stream),
            DrawPlan::Many(values) => many_total(values, &mut stream),
        };
        total / self.moments.count() as f64
    }

    /// Leaving out x moves the mean by (x̄ − x)/(n − 1), so the values themselves will do.
    fn acceleration(&self) -> Option<f64> {
        let mean = self.moments.mean().ok()?;
        match &self.plan {
            DrawPlan::Few(distinct) => skewness_of(distinct.iter().map(|d| (d.value - mean, d.times)), mean),
            DrawPlan::Many(values) => skewness_of(values.iter().map(|x| (x - mean, 1.0)), mean),
        }
    }

    fn stderr_limit(&self) -> Option<f64> {
        self.moments.bootstrap_stderr_limit().ok()
    }
}

/// The distinct values, ascending, with how often each occurs.
pub(super) fn tally(values: &[f64]) -> Result<Vec<ValueCount>, Undefined> {
    let mut sorted = values.to_vec();
    for value in &mut sorted {
        Undefined::check_finite(*value)?;
        // Negative zero is zero.
        *value += 0.0;
    }
    sorted.sort_unstable_by(f64::total_cmp);
    Ok(sorted.chunk_by(|a, b| a == b).map(|equal| (equal[0], equal.len() as u64)).collect())
}

/// The same from pairs in any order, in which a value may occur more than once.
pub(super) fn merge_tallies(mut counts: Vec<(f64, u64)>) -> Result<Vec<ValueCount>, Undefined> {
    counts.retain(|&(_, times)| times > 0);
    for (value, _) in &mut counts {
        Undefined::check_finite(*value)?;
        *value += 0.0;
    }
    counts.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let times_of = |equal: &[ValueCount]| equal.iter().try_fold(0u64, |sum, &(_, times)| sum.checked_add(times));
    // Counts become doubles below, which hold every whole number up to here.
    let few_enough = times_of(&counts).is_some_and(|n| n <= 1 << 53);
    if !few_enough {
        return Err(Undefined::OutOfRange {
            what: Quantity::Count,
            value: f64::INFINITY,
            allowed: AllowedRange::AtMost(1 << 53),
        });
    }
    let tally = |equal: &[ValueCount]| (equal[0].0, times_of(equal).unwrap_or(0));
    Ok(counts.chunk_by(|a, b| a.0 == b.0).map(tally).collect())
}

fn distinct(tallies: &[ValueCount]) -> Vec<Distinct> {
    let mut left: u64 = tallies.iter().map(|&(_, times)| times).sum();
    let next = |&(value, times): &ValueCount| {
        let share = times as f64 / left as f64;
        left -= times;
        Distinct { value, times: times as f64, share }
    };
    tallies.iter().map(next).collect()
}

fn written_out(tallies: &[ValueCount]) -> Vec<f64> {
    tallies.iter().flat_map(|&(value, times)| std::iter::repeat_n(value, times as usize)).collect()
}

/// The sum of `n` draws: how many are the first value, how many of the rest the second, and so on.
fn few_total(distinct: &[Distinct], n: u64, stream: &mut Stream) -> f64 {
    let mut left = n;
    let mut total = 0.0;
    for each in distinct {
        let times = stream.binomial(left, each.share);
        total += times as f64 * each.value;
        left -= times;
        if left == 0 {
            break;
        }
    }
    total
}

/// Bits of an index within a block: 2048 values are 16 KB, half of the smallest first cache in use, and a
/// power of two makes indices of random bits as they are, without bias.
const BLOCK_BITS: u32 = 11;
const BLOCK: usize = 1 << BLOCK_BITS;

/// The sum of as many draws as there are values.
fn many_total(values: &[f64], stream: &mut Stream) -> f64 {
    let (blocks, rest) = values.as_chunks::<BLOCK>();
    let (mut draws, mut values_left) = (values.len() as u64, values.len());
    let mut total = 0.0;
    for block in blocks {
        let inside = stream.binomial(draws, BLOCK as f64 / values_left as f64);
        total += block_total(block, inside, stream);
        draws -= inside;
        values_left -= BLOCK;
    }
    total + rest_total(rest, draws, stream)
}

/// The sum of `draws` draws from a full block, five of them from one random word.
#[inline(always)]
fn block_total(block: &[f64; BLOCK], draws: u64, stream: &mut Stream) -> f64 {
    const EACH: u64 = (u64::BITS / BLOCK_BITS) as u64;
    let pick = |bits: u64, lane: u32| block[(bits >> (lane * BLOCK_BITS)) as usize % BLOCK];
    let mut lanes = [0.0; EACH as usize];
    for _ in 0..draws / EACH {
        let bits = stream.next();
        for (lane, sum) in lanes.iter_mut().enumerate() {
            *sum += pick(bits, lane as u32);
        }
    }
    let bits = stream.next();
    let last: f64 = (0..(draws % EACH) as u32).map(|lane| pick(bits, lane)).sum();
    lanes.iter().sum::<f64>() + last
}

/// The sum of `draws` draws from fewer values than a block holds, two of them from one random word.
fn rest_total(rest: &[f64], draws: u64, stream: &mut Stream) -> f64 {
    if draws == 0 {
        return 0.0;
    }
    let size = rest.len() as u32;
    let (mut even, mut odd) = (0.0, 0.0);
    for _ in 0..draws / 2 {
        let (first, second) = stream.pair_below(size);
        even += rest[first];
        odd += rest[second];
    }
    if draws % 2 == 1 {
        even += rest[stream.below(rest.len())];
    }
    even + odd
}

/// Resamples the mean of all values by drawing whole clusters.
///
/// A cluster is its sum and its count. Clusters are sorted by size and sum, so
/// that neither the order of rows nor the names of clusters change a bit. Percentile intervals over few
/// clusters undercover (0.82 at five clusters, 0.90 at ten): prefer the CR2 error there.
///
/// ```
/// use calipers_stats::bootstrap::{Bootstrap, ClusterMeanResampler, BootstrapKind};
/// use calipers_stats::{Confidence, Seed};
///
/// let scores = [1.0, 1.0, 0.0, 0.0, 1.0, 0.0];
/// let documents = [7, 7, 7, 8, 8, 9];
/// let mean = ClusterMeanResampler::new(&scores, &documents, Seed(1))?;
/// let answer = mean.interval(BootstrapKind::Percentile, &mean.replicates(10_000)?, Confidence::two_sided(0.9)?)?;
/// assert_eq!((answer.estimate, answer.units), (0.5, 3));
/// assert_eq!(answer.caveats[0].id(), "few-clusters");
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Debug)]
pub struct ClusterMeanResampler {
    /// Sum and count, both as numbers to add up.
    clusters: Vec<(f64, f64)>,
    estimate: f64,
    seed: Seed,
}

impl ClusterMeanResampler {
    /// A resampler of values, of which those with the same code are a cluster. Undefined when there are
    /// none, or when one is not finite.
    pub fn new(values: &[f64], clusters: &[u32], seed: Seed) -> Result<Self, Undefined> {
        let totals = cluster_totals(values, clusters)?;
        Self::from_totals(&totals, seed)
    }

    /// The same from the sum and the count of each cluster, in any order.
    pub fn from_totals(totals: &[(f64, u64)], seed: Seed) -> Result<Self, Undefined> {
        let mut clusters: Vec<(f64, f64)> =
            totals.iter().filter(|(_, count)| *count > 0).map(|&(sum, count)| (sum + 0.0, count as f64)).collect();
        if clusters.is_empty() {
            return Err(Undefined::Empty);
        }
        clusters.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(a.0.total_cmp(&b.0)));
        let (sum, count) = whole(&clusters);
        let estimate = Undefined::check_finite(sum / count)?;
        Ok(Self { clusters, estimate, seed })
    }
}

fn whole(clusters: &[(f64, f64)]) -> (f64, f64) {
    let (mut sum, mut count) = (ExactSum::default(), ExactSum::default());
    for cluster in clusters {
        sum.add(cluster.0);
        count.add(cluster.1);
    }
    (sum.value(), count.value())
}

impl Bootstrap for ClusterMeanResampler {
    fn units(&self) -> u64 {
        self.clusters.len() as u64
    }

    fn estimate(&self) -> Result<f64, Undefined> {
        Ok(self.estimate)
    }

    fn replicate(&self, index: u64) -> f64 {
        let mut stream = self.seed.stream(index);
        let (mut sum, mut count) = (0.0, 0.0);
        for _ in 0..self.clusters.len() {
            let cluster = self.clusters[stream.below(self.clusters.len())];
            sum += cluster.0;
            count += cluster.1;
        }
        sum / count
    }

    fn acceleration(&self) -> Option<f64> {
        let (sum, count) = whole(&self.clusters);
        let without: Vec<f64> = self.clusters.iter().map(|cluster| (sum - cluster.0) / (count - cluster.1)).collect();
        acceleration_of(&without)
    }

    fn is_clustered(&self) -> bool {
        true
    }
}
