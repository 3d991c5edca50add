//! Two runs over the same samples, compared sample by sample.
//!
//! What two runs share (hard questions are hard for both) cancels in the differences d = a − b, so the paired
//! error is smaller than the unpaired one by about √(1−ρ). Matching the samples, and counting those that
//! have no partner, is the caller's part.

use crate::cluster::{ClusterEstimate, estimate_clustered};
use crate::components::{Estimand, FixedSuite, UnitMoments};
use crate::sum::{ExactSum, block_sum, two_product};
use crate::threshold_test::Verdict;
use crate::{AllowedRange, Confidence, Interval, Method, Moments, Quantity, Undefined, mean, special};

/// As many pairs are folded in at once.
const BLOCK: usize = 1024;

/// The matched values of two runs, folded.
///
/// Order and sharding change nothing.
///
/// ```
/// use calipers_stats::{paired::pair, Confidence};
///
/// let pairs = pair(&[0.9, 0.4, 0.8, 0.7], &[0.7, 0.3, 0.7, 0.5])?;
/// let difference = pairs.difference()?;
/// assert!((difference.mean - 0.15).abs() < 1e-12);
/// assert!(difference.stderr < pairs.se_unpaired()?);
/// assert!(!difference.interval(Confidence::two_sided(0.95)?)?.contains(0.0));
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct PairedDifferences {
    a: Moments,
    b: Moments,
    differences: Moments,
    products: ExactSum,
}

/// The pairs of two slices. Undefined when their lengths differ.
pub fn pair(a: &[f64], b: &[f64]) -> Result<PairedDifferences, Undefined> {
    let mut pairs = PairedDifferences::default();
    pairs.extend(a, b)?;
    Ok(pairs)
}

impl PairedDifferences {
    /// Folds in one pair.
    pub fn add(&mut self, a: f64, b: f64) {
        self.a.add(a);
        self.b.add(b);
        self.differences.add(a - b);
        self.products.add_product(a, b);
    }

    /// Folds in many pairs. Undefined, and without effect, when the lengths differ.
    pub fn extend(&mut self, a: &[f64], b: &[f64]) -> Result<(), Undefined> {
        Undefined::check_lengths(Quantity::PairedValues, a.len(), b.len())?;
        self.a.extend(a);
        self.b.extend(b);
        let (mut pairs, mut differences) = ([(0.0, 0.0); BLOCK], [0.0; BLOCK]);
        for (a, b) in a.chunks(BLOCK).zip(b.chunks(BLOCK)) {
            for (place, (&a, &b)) in a.iter().zip(b).enumerate() {
                pairs[place] = (a, b);
                differences[place] = a - b;
            }
            self.differences.extend(&differences[..a.len()]);
            self.add_products(&pairs[..a.len()]);
        }
        Ok(())
    }

    fn add_products(&mut self, pairs: &[(f64, f64)]) {
        match block_sum(pairs, |(a, b)| two_product(a, b).into()) {
            Some(sums) => sums.into_iter().for_each(|sum| self.products.add_wide(sum)),
            None => pairs.iter().for_each(|&(a, b)| self.products.add_product(a, b)),
        }
    }

    /// The moments of either side.
    #[must_use]
    pub fn sides(&self) -> (&Moments, &Moments) {
        (&self.a, &self.b)
    }

    /// The moments of a − b.
    #[must_use]
    pub fn differences(&self) -> &Moments {
        &self.differences
    }

    /// Folds in all pairs that another has seen.
    pub fn merge(&mut self, other: &Self) {
        self.a.merge(&other.a);
        self.b.merge(&other.b);
        self.differences.merge(&other.differences);
        self.products.merge(&other.products);
    }

    /// The number of pairs.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.differences.count()
    }

    /// The mean of a − b. Undefined for no pairs.
    pub fn mean_diff(&self) -> Result<f64, Undefined> {
        self.differences.mean()
    }

    /// The mean difference with its error, s_d/√n, and t with n − 1 degrees of freedom.
    ///
    /// Undefined below two pairs. Differences that vary by no more than the rounding of their terms are taken
    /// as equal, with an error of 0.
    pub fn difference(&self) -> Result<Difference, Undefined> {
        let mean = self.mean_diff()?;
        let n = self.count();
        if n < 2 {
            return Err(Undefined::TooFew { what: Quantity::Pairs, need: 2, have: n });
        }
        let stderr = if self.is_level() { 0.0 } else { self.differences.stderr()? };
        Ok(Difference { mean, stderr, df: (n - 1) as f64, method: Method::T })
    }

    /// True when there are pairs and no difference: the runs agree on every sample.
    #[must_use]
    pub fn is_identical(&self) -> bool {
        self.mean_diff() == Ok(0.0) && self.differences.is_constant()
    }

    /// Pearson's correlation of the two sides. Undefined below two pairs and when a side does not vary.
    pub fn correlation(&self) -> Result<f64, Undefined> {
        self.mean_diff()?;
        let spread = self.a.std()? * self.b.std()?;
        if spread == 0.0 {
            return Err(Undefined::NoSpread { what: Quantity::OneSideValues });
        }
        let n = self.count() as f64;
        // Σab and n·ā·b̄ nearly cancel far from zero, hence twice the precision.
        let means = self.a.wide_mean().times(self.b.wide_mean()).scale(n);
        let covariance = self.products.wide().minus(means).value() / (n - 1.0);
        Undefined::check_finite(covariance / spread).map(|r| r.clamp(-1.0, 1.0))
    }

    /// The error that ignores the pairing, √(SE_a² + SE_b²), to show what pairing gained.
    pub fn se_unpaired(&self) -> Result<f64, Undefined> {
        self.mean_diff()?;
        Ok(self.a.stderr()?.hypot(self.b.stderr()?))
    }

    /// True when the differences vary by no more than the rounding of their terms.
    ///
    /// 0.3 − 0.2 and 0.9 − 0.8 differ in the last digit only; a t of 10¹⁵ made from that would be absurd.
    fn is_level(&self) -> bool {
        let ends = [self.a.min(), self.a.max(), self.b.min(), self.b.max()];
        let scale = ends.into_iter().flatten().fold(0.0f64, |scale, end| scale.max(end.abs()));
        let spread = self.differences.max().and_then(|max| Ok(max - self.differences.min()?));
        spread.is_ok_and(|spread| spread <= 4.0 * f64::EPSILON * scale)
    }
}

/// The clustered estimate of the mean of a − b.
///
/// [`Difference::cr2`] and [`Difference::cr1`] make tests and intervals of it. Undefined with one cluster and
/// when lengths differ.
///
/// ```
/// use calipers_stats::paired::{paired_clustered, Difference};
///
/// let (a, b) = ([1.0, 1.0, 0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
/// let difference = Difference::cr2(&paired_clustered(&a, &b, &[0, 0, 1, 1, 2, 2])?)?;
/// assert_eq!(difference.mean, 0.5);
/// assert!(difference.p_two_sided()? > 0.05); // three clusters show little
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn paired_clustered(a: &[f64], b: &[f64], clusters: &[u32]) -> Result<ClusterEstimate, Undefined> {
    let pairs = pair(a, b)?;
    let mut differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    if pairs.mean_diff().is_ok() && pairs.is_level() {
        // What varies is rounding, not data.
        differences.fill(pairs.differences.min()?);
    }
    estimate_clustered(&differences, clusters)
}

/// Two runs with several attempts at each unit, averaged by unit first.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PairedAttempts {
    /// The unit means, paired.
    pub pairs: PairedDifferences,
    /// The number of units that only the first run has.
    pub only_a: u64,
    /// The number of units that only the second run has.
    pub only_b: u64,
    fixed_suite: Result<FixedSuite, Undefined>,
}

/// Pairs the units that both runs attempted; units are matched by code.
///
/// ```
/// use calipers_stats::{components::{Estimand, UnitMoments}, paired::paired_attempts};
///
/// let candidate = UnitMoments::from_rows(&[[1.0, 1.0], [0.0, 1.0], [1.0, 1.0]]);
/// let baseline = UnitMoments::from_rows(&[[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]);
/// let runs = paired_attempts(&candidate, &baseline)?;
/// assert_eq!(runs.pairs.count(), 3);
/// assert!(runs.difference(Estimand::FixedSuite)?.stderr > 0.0);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn paired_attempts(a: &UnitMoments, b: &UnitMoments) -> Result<PairedAttempts, Undefined> {
    let mut pairs = PairedDifferences::default();
    let (mut only_a, mut only_b) = (0, 0);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for unit in 0..a.codes().max(b.codes()) {
        match (a.get(unit), b.get(unit)) {
            (Some(a), Some(b)) => {
                pairs.add(a.mean()?, b.mean()?);
                ours.push(a);
                theirs.push(b);
            }
            (Some(_), None) => only_a += 1,
            (None, Some(_)) => only_b += 1,
            (None, None) => {}
        }
    }
    let fixed_suite =
        FixedSuite::of(ours.into_iter()).and_then(|ours| Ok(ours.plus(FixedSuite::of(theirs.into_iter())?)));
    Ok(PairedAttempts { pairs, only_a, only_b, fixed_suite })
}

impl PairedAttempts {
    /// The mean difference of unit means with the error for the claim made.
    ///
    /// For the population, that of the paired means. For the fixed suite, √(Σ(s²_a/K_a + s²_b/K_b))/n with
    /// Satterthwaite's degrees of freedom: which questions are asked is no luck, and how a run answers them
    /// is. Undefined when any unit has one attempt on a side, or no attempt ever differs.
    pub fn difference(&self, estimand: Estimand) -> Result<Difference, Undefined> {
        match estimand {
            Estimand::Population => self.pairs.difference(),
            Estimand::FixedSuite => {
                let suite = self.fixed_suite?;
                let mean = self.pairs.mean_diff()?;
                Ok(Difference { mean, stderr: suite.stderr(), df: suite.df()?, method: Method::T })
            }
        }
    }
}

/// A mean difference with its error, and the t law that goes with it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Difference {
    /// The mean difference, first minus second.
    pub mean: f64,
    /// Its standard error.
    pub stderr: f64,
    /// The degrees of freedom, seldom whole.
    pub df: f64,
    /// How the error was made.
    pub method: Method,
}

impl Difference {
    /// By the CR1 error and C − 1 degrees of freedom, as Inspect and statsmodels do.
    #[must_use]
    pub fn cr1(estimate: &ClusterEstimate) -> Self {
        let df = estimate.df_cr1 as f64;
        Self { mean: estimate.mean, stderr: estimate.cr1, df, method: Method::ClusterT }
    }

    /// By the CR2 error and Satterthwaite's degrees of freedom. Undefined when the cluster means are alike.
    pub fn cr2(estimate: &ClusterEstimate) -> Result<Self, Undefined> {
        let df = estimate.df_satterthwaite?;
        Ok(Self { mean: estimate.mean, stderr: estimate.cr2, df, method: Method::ClusterSatterthwaite })
    }

    pub(crate) fn welch(mean: f64, stderr: f64, df: f64) -> Self {
        Self { mean, stderr, df, method: Method::Welch }
    }

    /// The t statistic against no difference. Undefined when the differences do not vary.
    pub fn t(&self) -> Result<f64, Undefined> {
        self.t_against(0.0)
    }

    fn t_against(&self, null: f64) -> Result<f64, Undefined> {
        if self.stderr == 0.0 {
            return Err(Undefined::NoSpread { what: Quantity::Differences });
        }
        if self.df.is_nan() || self.df <= 0.0 {
            return Err(Undefined::OutOfRange {
                what: Quantity::DegreesOfFreedom,
                value: self.df,
                allowed: AllowedRange::Positive,
            });
        }
        Undefined::check_finite((self.mean - null) / self.stderr)
    }

    /// The two-sided p-value against no difference. Undefined when the differences do not vary.
    pub fn p_two_sided(&self) -> Result<f64, Undefined> {
        Ok(mean::t_p_value(self.t()?, self.df))
    }

    /// The t interval. It has no width when the differences do not vary, which is not certainty.
    pub fn interval(&self, confidence: Confidence) -> Result<Interval, Undefined> {
        mean::around(self.method, self.mean, self.stderr, self.df, confidence)
    }

    /// Is the first at most `margin` worse than the second? Judged at error `alpha` on each side.
    ///
    /// H0: δ ≤ −margin. Pass when p < alpha; fail when the opposite is as sure, P(T < t) < alpha; else
    /// undecided. Undefined for a margin that is not positive and when the differences do not vary.
    ///
    /// ```
    /// use calipers_stats::{threshold_test::Verdict, paired::pair};
    ///
    /// let (candidate, baseline) = ([0.8, 0.7, 0.9, 0.6, 0.8], [0.8, 0.6, 0.9, 0.7, 0.8]);
    /// let difference = pair(&candidate, &baseline)?.difference()?;
    /// assert_eq!(difference.noninferiority(0.2, 0.05)?.verdict, Verdict::Pass);
    /// assert_eq!(difference.noninferiority(0.01, 0.05)?.verdict, Verdict::Undecided);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn noninferiority(&self, margin: f64, alpha: f64) -> Result<NonInferiority, Undefined> {
        check_margin(margin)?;
        Undefined::check_open_unit(Quantity::Alpha, alpha)?;
        let t = self.t_against(-margin)?;
        let (p, opposite) = (special::t_cdf(-t, self.df), special::t_cdf(t, self.df));
        let verdict = if p < alpha {
            Verdict::Pass
        } else if opposite < alpha {
            Verdict::Fail
        } else {
            Verdict::Undecided
        };
        let lower = self.mean - special::t_quantile(1.0 - alpha, self.df) * self.stderr;
        Ok(NonInferiority { margin, alpha, p, lower, verdict })
    }

    /// The p-value that the two differ by less than `margin` either way, by two one-sided tests (Schuirmann 1987).
    ///
    /// Undefined for a margin that is not positive and when the differences do not vary.
    ///
    /// ```
    /// use calipers_stats::paired::pair;
    ///
    /// let difference = pair(&[0.8, 0.7, 0.9, 0.6, 0.8], &[0.8, 0.6, 0.9, 0.7, 0.8])?.difference()?;
    /// assert!(difference.equivalence_p(0.2)? < 0.05);
    /// assert!(difference.equivalence_p(0.01)? > 0.05);
    /// # Ok::<(), calipers_stats::Undefined>(())
    /// ```
    pub fn equivalence_p(&self, margin: f64) -> Result<f64, Undefined> {
        check_margin(margin)?;
        let not_worse = special::t_cdf(-self.t_against(-margin)?, self.df);
        let not_better = special::t_cdf(self.t_against(margin)?, self.df);
        Ok(not_worse.max(not_better))
    }
}

fn check_margin(margin: f64) -> Result<(), Undefined> {
    if margin > 0.0 && margin.is_finite() {
        Ok(())
    } else {
        Err(Undefined::OutOfRange { what: Quantity::Margin, value: margin, allowed: AllowedRange::Positive })
    }
}

/// The answer of [`Difference::noninferiority`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct NonInferiority {
    /// The margin asked for.
    pub margin: f64,
    /// The error allowed on each side.
    pub alpha: f64,
    /// The p-value of "worse by the margin or more".
    pub p: f64,
    /// The one-sided lower bound of the difference at level 1 − alpha; above −margin exactly when passed.
    pub lower: f64,
    /// What it comes to.
    pub verdict: Verdict,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_differences_have_no_t() {
        let pairs = pair(&[0.3, 0.5, 0.9], &[0.2, 0.4, 0.8]).unwrap();
        let difference = pairs.difference().unwrap();
        assert_eq!(difference.stderr, 0.0);
        assert_eq!(difference.t(), Err(Undefined::NoSpread { what: Quantity::Differences }));
        assert!(difference.p_two_sided().is_err() && difference.noninferiority(0.1, 0.05).is_err());
        assert!(!pairs.is_identical());
        assert!(pair(&[0.3, 0.5], &[0.3, 0.5]).unwrap().is_identical());
        let clustered = paired_clustered(&[0.3, 0.5, 0.9], &[0.2, 0.4, 0.8], &[0, 0, 1]).unwrap();
        assert_eq!(clustered.cr1, 0.0);
        assert!(Difference::cr1(&clustered).t().is_err());
    }

    #[test]
    fn what_cannot_be_compared_says_why() {
        assert!(matches!(pair(&[1.0], &[]), Err(Undefined::Mismatched { .. })));
        assert_eq!(PairedDifferences::default().difference(), Err(Undefined::Empty));
        let one = pair(&[1.0], &[0.0]).unwrap();
        assert_eq!(one.difference(), Err(Undefined::TooFew { what: Quantity::Pairs, need: 2, have: 1 }));
        let infinite = pair(&[f64::INFINITY, 1.0], &[0.0, 0.0]).unwrap();
        assert!(matches!(infinite.difference(), Err(Undefined::NotFinite { .. })));
        assert!(infinite.correlation().is_err());
        assert!(!pair(&[f64::NAN, 1.0], &[1.0, 1.0]).unwrap().is_identical());
    }

    #[test]
    fn margins_must_be_positive() {
        let difference = pair(&[1.0, 0.0, 1.0], &[0.0, 0.0, 1.0]).unwrap().difference().unwrap();
        for margin in [0.0, -0.1, f64::NAN, f64::INFINITY] {
            assert!(matches!(difference.noninferiority(margin, 0.05), Err(Undefined::OutOfRange { .. })));
            assert!(matches!(difference.equivalence_p(margin), Err(Undefined::OutOfRange { .. })));
        }
        assert!(difference.noninferiority(0.1, 1.0).is_err());
    }

    #[test]
    fn units_without_a_partner_are_counted() {
        let mut a = UnitMoments::from_rows(&[vec![1.0, 0.0], vec![], vec![1.0, 1.0, 0.0]]);
        a.add(4, 1.0);
        let b = UnitMoments::from_rows(&[vec![0.0, 0.0], vec![1.0], vec![0.0, 1.0]]);
        let runs = paired_attempts(&a, &b).unwrap();
        assert_eq!((runs.pairs.count(), runs.only_a, runs.only_b), (2, 1, 1));
        // s²: 1/2 and 1/3 over 2 and 3 attempts; 0 and 1/2 over 2.
        let want = (0.25f64 + 1.0 / 9.0 + 0.0 + 0.25).sqrt() / 2.0;
        let got = runs.difference(Estimand::FixedSuite).unwrap();
        assert!((got.stderr - want).abs() < 1e-12, "{got:?}");
        assert!(paired_attempts(&a, &UnitMoments::default()).unwrap().difference(Estimand::Population).is_err());
    }

    #[test]
    fn many_pairs_at_once_give_the_bits_of_one_by_one() {
        let plain = |i: u32| (f64::from(i % 101) / 100.0, f64::from(i % 7) / 6.0);
        let uneven = |i: u32| (f64::from(i).powi(i as i32 % 90), -1e-200 * f64::from(i));
        let endless = |i: u32| if i == 1500 { (f64::INFINITY, 1.0) } else { plain(i) };
        for of in [&plain as &dyn Fn(u32) -> (f64, f64), &uneven, &endless] {
            let (a, b): (Vec<f64>, Vec<f64>) = (0..3000).map(of).unzip();
            let at_once = pair(&a, &b).unwrap();
            let mut one_by_one = PairedDifferences::default();
            a.iter().zip(&b).for_each(|(&a, &b)| one_by_one.add(a, b));
            assert_eq!(at_once.products.value().to_bits(), one_by_one.products.value().to_bits());
            assert_eq!(at_once.mean_diff(), one_by_one.mean_diff());
            assert_eq!(at_once.difference(), one_by_one.difference());
            assert_eq!(at_once.correlation(), one_by_one.correlation());
        }
    }

    fn two_runs() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
        prop::collection::vec((-1e3f64..1e3, -1e3f64..1e3), 3..60).prop_map(|pairs| pairs.into_iter().unzip())
    }

    proptest! {
        #[test]
        fn shards_and_order_give_the_same_bits((a, b) in two_runs(), cut in 0usize..60) {
            let whole = pair(&a, &b).unwrap();
            let cut = cut.min(a.len());
            let mut parts = pair(&a[cut..], &b[cut..]).unwrap();
            a[..cut].iter().zip(&b).rev().for_each(|(&a, &b)| parts.add(a, b));
            prop_assert_eq!(parts.difference(), whole.difference());
            prop_assert_eq!(parts.correlation(), whole.correlation());
            prop_assert_eq!(parts.se_unpaired(), whole.se_unpaired());
        }

        #[test]
        fn the_correlation_explains_what_pairing_gains((a, b) in two_runs()) {
            let pairs = pair(&a, &b).unwrap();
            let (sa, sb) = (Moments::from_slice(&a).stderr().unwrap(), Moments::from_slice(&b).stderr().unwrap());
            let explained = pairs.se_unpaired().unwrap().powi(2) - 2.0 * pairs.correlation().unwrap() * sa * sb;
            let got = pairs.difference().unwrap().stderr.powi(2);
            prop_assert!((got - explained).abs() <= 1e-9 * (sa * sa + sb * sb));
        }

        #[test]
        fn the_verdict_agrees_with_the_bounds((a, b) in two_runs(), margin in 1.0f64..500.0) {
            let difference = pair(&a, &b).unwrap().difference().unwrap();
            let answer = difference.noninferiority(margin, 0.05).unwrap();
            let upper = difference.interval(Confidence::upper(0.95).unwrap()).unwrap().upper.unwrap();
            match answer.verdict {
                Verdict::Pass => prop_assert!(answer.lower > -margin),
                Verdict::Fail => prop_assert!(upper < -margin),
                Verdict::Undecided => prop_assert!(answer.lower <= -margin && upper >= -margin),
            }
        }
    }
}
