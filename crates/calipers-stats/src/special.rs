//! Distribution functions and their inverses.
//!
//! The ground on which the statistics stand: plain numbers in, plain numbers out. These are the only functions
//! of the crate that may answer NaN, and they do so exactly where `f64::sqrt` would: when an argument is NaN or
//! lies outside the domain written beside the function. The statistics check their arguments before they call.
//!
//! Each tail has its own function, and neither is computed as one minus the other, so that a p-value of 1e-200 has
//! all of its digits. Against scipy 1.17.1, and mpmath where scipy is off, the relative error stays below about
//! 1e-11 for shapes from 1e-3 to 1e7 and degrees of freedom from 1e-3 to 1e12, and mostly below 1e-14.
//!
//! Taken from statrs 0.19.1: the normal quantile and ln Γ (relative error 1e-15 and 4e-14). Written here,
//! because statrs is wrong by more than that:
//! - `erfc`: relative error 1e-10 in both tails.
//! - `beta_reg`: subtracts logarithms of Γ that grow with the shapes and stops after 140 steps (statrs #434);
//!   its upper tail is 1 − lower.
//! - `inv_beta_reg`: does not always end (statrs #435).
//! - Student's t: both of the above; its quantile is off by 6.8 % at 1e7 degrees of freedom.

use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::gamma;

const LN_SQRT_2_PI: f64 = 0.918_938_533_204_672_741_78;
const SQRT_2_PI: f64 = 2.506_628_274_631_000_502_4;

/// From here on the continued fraction would need millions of steps and Temme's expansion has all the digits.
const SHAPE_HUGE: f64 = 1e11;

/// Enough for every pair of shapes below [`SHAPE_HUGE`]; a guard, not a tuning knob.
const FRACTION_STEPS_MAX: u32 = 4_000_000;

/// A tail below this is worth computing on its own side rather than as one minus the other.
const TAIL_SMALL: f64 = 1e-3;

/// Steps granted to a tail on its slow side before one minus the other is taken after all.
const SLOW_SIDE_STEPS_MAX: u32 = 20_000;

/// Student's t differs from the normal by about t³/4df, here less than rounding.
const DF_NORMAL: f64 = 1e15;

/// Logits below this are beyond the power law x^a / (a B(a, b)) to the last bit.
const LOGIT_POWER_LAW: f64 = -700.0;

/// Two probabilities this close in proportion are a tie that rounding has split.
const TIE: f64 = 1e-13;

/// Φ(x) = P(Z ≤ x) for a standard normal Z.
///
/// ```
/// use calipers_stats::special::normal_cdf;
///
/// assert_eq!(normal_cdf(0.0), 0.5);
/// assert!((normal_cdf(-10.0) / 7.61985302416047e-24 - 1.0).abs() < 1e-13);
/// ```
#[must_use]
pub fn normal_cdf(x: f64) -> f64 {
    normal_sf(-x)
}

/// P(Z > x) for a standard normal Z, with all digits far out.
///
/// ```
/// use calipers_stats::special::normal_sf;
///
/// assert!((normal_sf(30.0) / 4.906713927147908e-198 - 1.0).abs() < 1e-13);
/// ```
#[must_use]
pub fn normal_sf(x: f64) -> f64 {
    if x < -2.0 {
        1.0 - normal_upper_tail(-x)
    } else if x < 2.0 {
        0.5 - normal_middle(x)
    } else {
        normal_upper_tail(x)
    }
}

/// Φ(x) − ½ by φ(x)(x + x³/3 + x⁵/15 + …), Abramowitz & Stegun 26.2.11: all terms have the same sign.
fn normal_middle(x: f64) -> f64 {
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term.abs() > sum.abs() * f64::EPSILON / 4.0 {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    sum * normal_density(x)
}

/// P(Z > x) for x ≥ 2 by Laplace's continued fraction φ(x) / (x + 1/(x + 2/(x + 3/…))).
fn normal_upper_tail(x: f64) -> f64 {
    // The error after m steps falls like exp(−2x √(2m)).
    let steps = (400.0 / (x * x)) as u32 + 8;
    let fraction = (1..=steps).rev().fold(x, |below, step| x + f64::from(step) / below);
    if x.is_infinite() { 0.0 } else { normal_density(x) / fraction }
}

fn normal_density(x: f64) -> f64 {
    // x² is rounded; at x = 38 the lost part would cost three digits of the exponential.
    let square = x * x;
    let lost = x.mul_add(x, -square);
    let lost = if lost.is_finite() { lost } else { 0.0 };
    (-square / 2.0).exp() * (1.0 - lost / 2.0) / SQRT_2_PI
}

/// Φ⁻¹(p), for 0 ≤ p ≤ 1; infinite at the ends.
///
/// ```
/// use calipers_stats::special::normal_quantile;
///
/// assert!((normal_quantile(0.975) - 1.959963984540054).abs() < 1e-14);
/// assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
/// assert!(normal_quantile(1.5).is_nan());
/// ```
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
    if (0.0..=1.0).contains(&p) { Normal::standard().inverse_cdf(p) } else { f64::NAN }
}

/// P(T ≤ t) for Student's t with `df` > 0 degrees of freedom, which need not be whole.
///
/// ```
/// use calipers_stats::special::t_cdf;
///
/// assert!((t_cdf(1.0, 1.0) - 0.75).abs() < 1e-15);
/// assert!((t_cdf(-1.96, 1e9) - 0.02499789521).abs() < 1e-10);
/// ```
#[must_use]
pub fn t_cdf(t: f64, df: f64) -> f64 {
    if t.is_nan() || df.is_nan() || df <= 0.0 {
        f64::NAN
    } else if df > DF_NORMAL {
        normal_cdf(t)
    } else if t <= 0.0 {
        t_tail(-t, df)
    } else {
        1.0 - t_tail(t, df)
    }
}

/// P(T > t) for t ≥ 0: ½ I_x(df/2, ½) with x = df / (df + t²), Abramowitz & Stegun 26.7.1.
fn t_tail(t: f64, df: f64) -> f64 {
    let ratio = t / df.sqrt();
    let (a, square) = (df / 2.0, ratio * ratio);
    if square == 0.0 {
        0.5
    } else if square > 1e300 {
        0.5 * (-2.0 * ratio.ln() * a - a.ln() - ln_beta(a, 0.5)).exp()
    } else {
        0.5 * BetaTails::new(1.0 / (1.0 + square), square / (1.0 + square), a, 0.5).lower()
    }
}

/// The quantile of Student's t with `df` > 0 degrees of freedom, for 0 ≤ p ≤ 1.
///
/// ```
/// use calipers_stats::special::t_quantile;
///
/// assert!((t_quantile(0.975, 9.0) - 2.262157162798205).abs() < 1e-13);
/// assert!((t_quantile(0.975, 1e7) - 1.959964221767205).abs() < 1e-12);
/// ```
#[must_use]
pub fn t_quantile(p: f64, df: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) || df.is_nan() || df <= 0.0 {
        f64::NAN
    } else if df > DF_NORMAL {
        normal_quantile(p)
    } else if p == 0.5 {
        0.0
    } else if p < 0.5 {
        -t_reach(p, df)
    } else {
        t_reach(1.0 - p, df)
    }
}

/// The t ≥ 0 with P(T > t) = p, for p ≤ ½.
fn t_reach(p: f64, df: f64) -> f64 {
    let (both, a) = (2.0 * p, df / 2.0);
    let logit = beta_power_law(both, a, 0.5);
    if logit < LOGIT_POWER_LAW {
        return df.sqrt() * (-logit / 2.0).exp();
    }
    // The half of the distribution in which the probability is small keeps its digits.
    let (x, y) = if both <= 0.5 {
        beta_lower_quantile(both, a, 0.5)
    } else {
        let (y, x) = beta_lower_quantile(1.0 - both, 0.5, a);
        (x, y)
    };
    (df * (y / x)).sqrt()
}

/// P(T ≤ t) for the noncentral t distribution: T = (Z + `noncentrality`) / √(χ²/df).
///
/// The error is absolute, about 1e-13, which is what a power needs; a tail of 1e-20 has no digits here.
/// Costs a few hundred evaluations of the normal distribution, more for large noncentrality or `df` below 1.
///
/// ```
/// use calipers_stats::special::noncentral_t_cdf;
///
/// assert!((noncentral_t_cdf(2.0, 10.0, 1.5) - 0.6591540724421908).abs() < 1e-13);
/// ```
#[must_use]
pub fn noncentral_t_cdf(t: f64, df: f64, noncentrality: f64) -> f64 {
    if t.is_nan() || noncentrality.is_nan() || df.is_nan() || df <= 0.0 {
        return f64::NAN;
    }
    if noncentrality == 0.0 {
        return t_cdf(t, df);
    }
    if t == 0.0 || noncentrality.is_infinite() || t.is_infinite() || df > DF_NORMAL {
        let reach = if t.is_infinite() && noncentrality.is_infinite() { -noncentrality } else { t - noncentrality };
        return normal_cdf(reach);
    }
    // With v = ln √(χ²/df), the mean of Φ(t eᵛ − δ) over the density exp(df (v − (e²ᵛ − 1)/2)). The integrand is
    // smooth and dies on both sides, where the trapezoidal rule converges faster than any power of its step.
    // Both ends lie where the density has fallen by e⁻⁴⁰ from its peak, or a little further.
    let reach = 40.0 / df + (40.0 / df).sqrt();
    let (from, to) = (-reach, 0.5 * (2.0 * reach).ln_1p());
    let steepness = (t.abs() * to.exp()).min(noncentrality.abs() + 9.0);
    // The left side falls only like exp(df v), whose Fourier transform falls like exp(−πω/4): hence the 9.
    let density = (2.0 * (2.0 * df).sqrt().hypot(steepness)).max(9.0);
    let points = ((to - from) * density).clamp(32.0, 4e5) as u32;
    let step = (to - from) / f64::from(points);
    let (mut total, mut weights) = (0.0, 0.0);
    for point in 0..=points {
        let v = from + step * f64::from(point);
        let weight = (df * log_minus_square(v)).exp();
        total += weight * normal_cdf(t * v.exp() - noncentrality);
        weights += weight;
    }
    (total / weights).clamp(0.0, 1.0)
}

/// v − (e²ᵛ − 1)/2 without cancellation near 0: −Σ_{k ≥ 2} (2v)ᵏ / (2 k!).
fn log_minus_square(v: f64) -> f64 {
    if v.abs() > 0.25 {
        return v - (2.0 * v).exp_m1() / 2.0;
    }
    let (mut term, mut sum) = (v, 0.0);
    for k in 2..20 {
        term *= 2.0 * v / f64::from(k);
        sum -= term;
    }
    sum
}

/// ln Γ(x), for x > 0.
///
/// ```
/// use calipers_stats::special::ln_gamma;
///
/// assert!((ln_gamma(5.0) - 24f64.ln()).abs() < 1e-13);
/// ```
#[must_use]
pub fn ln_gamma(x: f64) -> f64 {
    if x > 0.0 { gamma::ln_gamma(x) } else { f64::NAN }
}

/// ln B(a, b), for a, b > 0, without the cancellation of three logarithms of Γ.
///
/// ```
/// use calipers_stats::special::ln_beta;
///
/// assert!((ln_beta(2.0, 3.0) + 12f64.ln()).abs() < 1e-14);
/// ```
#[must_use]
pub fn ln_beta(a: f64, b: f64) -> f64 {
    if !are_shapes(a, b) {
        return f64::NAN;
    }
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    let sum = small + large;
    // Stirling's formula for each Γ, with the large terms taken together.
    (small - 0.5) * (small / sum).ln() - (large - 0.5) * (small / large).ln_1p() - 0.5 * sum.ln()
        + LN_SQRT_2_PI
        + stirling_error(small)
        + stirling_error(large)
        - stirling_error(sum)
}

fn are_shapes(a: f64, b: f64) -> bool {
    a > 0.0 && b > 0.0 && (a + b).is_finite()
}

/// ln Γ(x) − ((x − ½) ln x − x + ½ ln 2π), what Stirling's formula lacks (Loader 2000).
fn stirling_error(x: f64) -> f64 {
    // The series holds from 16 on; below, step up by Γ(x + 1) = x Γ(x), which loses nothing.
    let (mut x, mut steps) = (x, 0.0);
    while x < 16.0 {
        let log_ratio = if x < 1.0 { x.ln_1p() - x.ln() } else { (1.0 / x).ln_1p() };
        steps += (x + 0.5) * log_ratio - 1.0;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    // Bernoulli numbers B₂ₖ / (2k(2k − 1)).
    const SERIES: [f64; 8] = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1260.0,
        -1.0 / 1680.0,
        1.0 / 1188.0,
        -691.0 / 360_360.0,
        1.0 / 156.0,
        -3617.0 / 122_400.0,
    ];
    steps + SERIES.iter().rev().fold(0.0, |sum, coefficient| sum * square + coefficient) / x
}

/// x ln(x/mean) + mean − x, the deviance part of a Poisson or binomial probability (Loader 2000, `bd0`).
fn deviance(x: f64, mean: f64) -> f64 {
    let difference = x - mean;
    if difference.abs() >= 0.1 * (x + mean) {
        return x * (x / mean).ln() - difference;
    }
    let v = difference / (x + mean);
    let (mut sum, mut term) = (difference * v, 2.0 * x * v);
    // |v| < 0.1, so a dozen terms do; the bound keeps infinite arguments from looping.
    for odd in 1..50 {
        term *= v * v;
        let next = sum + term / f64::from(2 * odd + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// Both tails of a beta distribution at one point, as logarithms.
///
/// The point is given by x and y = 1 − x, so that neither loses digits near its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BetaTails {
    /// ln of x^a y^b / B(a, b), which is the density of the logit.
    pub(crate) ln_density: f64,
    /// ln I_x(a, b).
    pub(crate) ln_lower: f64,
    /// ln (1 − I_x(a, b)).
    pub(crate) ln_upper: f64,
}

impl BetaTails {
    /// For 0 < x, y < 1 with x + y = 1 and finite shapes above 0.
    pub(crate) fn new(x: f64, y: f64, a: f64, b: f64) -> Self {
        // The mode of the logit is a/(a + b); one count to spare keeps small shapes on their quick side.
        if x * (b + 1.0) <= y * (a + 1.0) {
            Self::from_lower(x, y, a, b)
        } else {
            Self::from_lower(y, x, b, a).mirror()
        }
    }

    fn mirror(self) -> Self {
        Self { ln_lower: self.ln_upper, ln_upper: self.ln_lower, ..self }
    }

    /// The tails from the lower one, which is the shorter at this point.
    fn from_lower(x: f64, y: f64, a: f64, b: f64) -> Self {
        let ln_density = beta_ln_density(x, y, a, b);
        let ln_lower = temme_ln_lower(x, y, a, b)
            .unwrap_or_else(|| ln_density - beta_fraction(x, y, a, b, FRACTION_STEPS_MAX).0.ln())
            .min(0.0);
        let rest = -ln_lower.exp_m1();
        // A shape far below 1 piles nearly everything up at its end; what is left over needs its own fraction.
        let slow = if rest < TAIL_SMALL { Some(beta_fraction(y, x, b, a, SLOW_SIDE_STEPS_MAX)) } else { None };
        let ln_upper = match slow {
            Some((fraction, true)) => (ln_density - fraction.ln()).min(0.0),
            _ => rest.ln(),
        };
        Self { ln_density, ln_lower, ln_upper }
    }

    pub(crate) fn lower(self) -> f64 {
        self.ln_lower.exp()
    }

    pub(crate) fn upper(self) -> f64 {
        self.ln_upper.exp()
    }
}

/// ln of x^a y^b / B(a, b) in Loader's (2000) form, whose terms stay small where the probability is.
fn beta_ln_density(x: f64, y: f64, a: f64, b: f64) -> f64 {
    let n = a + b;
    stirling_error(n) - stirling_error(a) - stirling_error(b) - deviance(a, n * x) - deviance(b, n * y)
        + 0.5 * (a * (b / n)).ln()
        - LN_SQRT_2_PI
}

/// (x^a y^b / B(a, b)) / I_x(a, b), and whether it converged.
///
/// DiDonato & Morris 1992 (TOMS 708), continued fraction (9), by Lentz's method. Unlike the older fraction in
/// Numerical Recipes it meets y, not 1 − x, and so survives one shape of 1e12 beside another of ½.
fn beta_fraction(x: f64, y: f64, a: f64, b: f64, steps_max: u32) -> (f64, bool) {
    let lead = a * y - b * x + 1.0;
    let denominator =
        |m: f64| m + m * (b - m) * x / (a + 2.0 * m - 1.0) + (a + m) / (a + 2.0 * m + 1.0) * (lead + m * (1.0 + y));
    let guard = |value: f64| if value == 0.0 { f64::MIN_POSITIVE } else { value };
    let mut fraction = guard(a / (a + 1.0) * lead);
    let (mut c, mut d) = (fraction, 0.0);
    for step in 1..=steps_max {
        let m = f64::from(step);
        let width = a + 2.0 * m - 1.0;
        let numerator = (a + m - 1.0) / width * ((a + b + m - 1.0) / width) * m * (b - m) * x * x;
        let below = denominator(m);
        d = 1.0 / guard(below + numerator * d);
        c = guard(below + numerator / c);
        let change = c * d;
        fraction *= change;
        if (change - 1.0).abs() <= f64::EPSILON {
            return (fraction, true);
        }
        if !change.is_finite() {
            break;
        }
    }
    (fraction, false)
}

/// ln I_x(a, b) for huge shapes: Temme 1982, the normal term and the first correction.
///
/// None for smaller shapes and far from the centre, where the fraction is quick at any size.
fn temme_ln_lower(x: f64, y: f64, a: f64, b: f64) -> Option<f64> {
    if a.min(b) < SHAPE_HUGE {
        return None;
    }
    let n = a + b;
    let (mean, rest) = (a / n, b / n);
    let spread = (mean * rest).sqrt();
    let reach = (2.0 * (deviance(a, n * x) + deviance(b, n * y))).sqrt();
    let reach = if x < mean { -reach } else { reach };
    if reach.abs() > 10.0 {
        return None;
    }
    // Near the centre the two poles cancel; their difference tends to (1 − 2 mean) / 3 spread.
    let correction =
        if reach.abs() < 1e-3 { (rest - mean) / (3.0 * spread) } else { n.sqrt() / reach - spread / (x - mean) };
    Some((normal_cdf(reach) + normal_density(reach) * correction / n.sqrt()).ln())
}

/// P(X ≤ x) for X ~ Beta(a, b), the regularised incomplete beta function I_x(a, b), for a, b > 0.
///
/// ```
/// use calipers_stats::special::beta_cdf;
///
/// assert!((beta_cdf(0.5, 2.0, 2.0) - 0.5).abs() < 1e-15);
/// assert_eq!(beta_cdf(-1.0, 2.0, 2.0), 0.0);
/// assert!(beta_cdf(0.5, 0.0, 2.0).is_nan());
/// ```
#[must_use]
pub fn beta_cdf(x: f64, a: f64, b: f64) -> f64 {
    if x.is_nan() || !are_shapes(a, b) {
        f64::NAN
    } else if x <= 0.0 {
        0.0
    } else if x >= 1.0 {
        1.0
    } else {
        BetaTails::new(x, 1.0 - x, a, b).lower()
    }
}

/// P(X > x) for X ~ Beta(a, b), with all digits where it is small.
///
/// ```
/// use calipers_stats::special::beta_sf;
///
/// assert!((beta_sf(0.9, 1.0, 300.0) / 1e-300 - 1.0).abs() < 1e-12);
/// ```
#[must_use]
pub fn beta_sf(x: f64, a: f64, b: f64) -> f64 {
    if x.is_nan() || !are_shapes(a, b) {
        f64::NAN
    } else if x <= 0.0 {
        1.0
    } else if x >= 1.0 {
        0.0
    } else {
        BetaTails::new(x, 1.0 - x, a, b).upper()
    }
}

/// The quantile of Beta(a, b), for 0 ≤ p ≤ 1 and a, b > 0.
///
/// Always ends: Newton's steps on ln I over the logit of x, which is concave, within a bracket.
///
/// ```
/// use calipers_stats::special::beta_quantile;
///
/// assert!((beta_quantile(0.05, 1.0, 6.0) - 0.00851244461084712).abs() < 1e-16);
/// assert!((beta_quantile(1e-300, 2.0, 1.0) / 1e-150 - 1.0).abs() < 1e-12);
/// ```
#[must_use]
pub fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) || !are_shapes(a, b) {
        f64::NAN
    } else if p <= 0.5 {
        beta_lower_quantile(p, a, b).0
    } else {
        beta_lower_quantile(1.0 - p, b, a).1
    }
}

/// The logit at which x^a / (a B(a, b)) is p: the quantile where x is so small that y no longer matters.
fn beta_power_law(p: f64, a: f64, b: f64) -> f64 {
    (p.ln() + a.ln() + ln_beta(a, b)) / a
}

/// The x with I_x(a, b) = p, and 1 − x, for p ≤ ½.
fn beta_lower_quantile(p: f64, a: f64, b: f64) -> (f64, f64) {
    let limit = -LOGIT_POWER_LAW;
    let far = beta_power_law(p, a, b);
    if far < -limit {
        return (far.exp(), 1.0);
    }
    let (mut low, mut high) = (-limit, limit);
    // Mean and spread of the logit, roughly; any start would do.
    let mut logit = ((a / b).ln() + normal_quantile(p) * (1.0 / a + 1.0 / b).sqrt()).clamp(far.min(limit), limit);
    for _ in 0..200 {
        let (x, y) = (logistic(logit), logistic(-logit));
        let tails = BetaTails::new(x, y, a, b);
        let excess = tails.ln_lower - p.ln();
        let step = -excess * (tails.ln_lower - tails.ln_density).exp();
        if step.abs() < 1e-8 {
            return (x * (1.0 + y * step), y * (1.0 - x * step));
        }
        if excess > 0.0 {
            high = logit;
        } else {
            low = logit;
        }
        let next = logit + step;
        logit = if next > low && next < high { next } else { 0.5 * (low + high) };
        if logit <= low || logit >= high {
            break;
        }
    }
    (logistic(logit), logistic(-logit))
}

fn logistic(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}

/// P(X ≤ k) for X ~ Binomial(n, p), 0 ≤ p ≤ 1.
///
/// ```
/// use calipers_stats::special::binomial_cdf;
///
/// assert!((binomial_cdf(0, 10, 0.9) / 1e-10 - 1.0).abs() < 1e-13);
/// assert_eq!(binomial_cdf(10, 10, 0.9), 1.0);
/// ```
#[must_use]
pub fn binomial_cdf(k: u64, n: u64, p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        f64::NAN
    } else if k >= n || p == 0.0 {
        1.0
    } else if p == 1.0 {
        0.0
    } else {
        binomial_tails(k, n, p).upper()
    }
}

/// P(X > k) for X ~ Binomial(n, p), 0 ≤ p ≤ 1, with all digits where it is small.
///
/// ```
/// use calipers_stats::special::binomial_sf;
///
/// assert!((binomial_sf(9, 10, 0.1) / 1e-10 - 1.0).abs() < 1e-13);
/// assert_eq!(binomial_sf(10, 10, 0.1), 0.0);
/// ```
#[must_use]
pub fn binomial_sf(k: u64, n: u64, p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        f64::NAN
    } else if k >= n || p == 0.0 {
        0.0
    } else if p == 1.0 {
        1.0
    } else {
        binomial_tails(k, n, p).lower()
    }
}

/// P(X > k) = I_p(k + 1, n − k), Abramowitz & Stegun 26.5.24; for k < n and 0 < p < 1.
fn binomial_tails(k: u64, n: u64, p: f64) -> BetaTails {
    BetaTails::new(p, 1.0 - p, k as f64 + 1.0, (n - k) as f64)
}

/// P(X ≥ k), the upper tail that includes k.
pub(crate) fn binomial_at_least(k: u64, n: u64, p: f64) -> f64 {
    if k == 0 { 1.0 } else { binomial_sf(k - 1, n, p) }
}

/// P(X = k) for X ~ Binomial(n, p), 0 ≤ p ≤ 1 (Loader 2000).
///
/// ```
/// use calipers_stats::special::binomial_pmf;
///
/// assert!((binomial_pmf(2, 4, 0.5) - 0.375).abs() < 1e-15);
/// assert_eq!(binomial_pmf(5, 4, 0.5), 0.0);
/// ```
#[must_use]
pub fn binomial_pmf(k: u64, n: u64, p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if k > n {
        return 0.0;
    }
    let (successes, failures, trials) = (k as f64, (n - k) as f64, n as f64);
    if k == 0 {
        (trials * (-p).ln_1p()).exp()
    } else if k == n {
        (trials * p.ln()).exp()
    } else if p == 0.0 || p == 1.0 {
        0.0
    } else {
        let ln_density = beta_ln_density(p, 1.0 - p, successes, failures);
        (ln_density - (successes * (failures / trials)).ln()).exp()
    }
}

/// The smallest k with P(X ≤ k) ≥ q, for 0 ≤ q ≤ 1; the whole range 0 to n where q or p is out of range.
///
/// A probability that falls short of q by less than one part in 1e13 counts as reached: the two are then equal
/// but for rounding. Costs ⌈log₂ n⌉ evaluations of the distribution function.
///
/// ```
/// use calipers_stats::special::binomial_quantile;
///
/// assert_eq!(binomial_quantile(0.5, 2, 0.5), 1);
/// assert_eq!(binomial_quantile(0.75, 2, 0.5), 1);
/// assert_eq!(binomial_quantile(0.7500001, 2, 0.5), 2);
/// ```
#[must_use]
pub fn binomial_quantile(q: f64, n: u64, p: f64) -> u64 {
    if q >= 1.0 && p > 0.0 {
        return n;
    }
    smallest(n, |k| binomial_cdf(k, n, p) >= q * (1.0 - TIE))
}

/// The smallest number up to `largest` for which a condition holds that, once true, stays true; or `largest`.
pub(crate) fn smallest(largest: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, largest);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Relative error allowed against scipy, which is itself wrong by about as much in places.
    const CLOSE: f64 = 1e-11;

    #[track_caller]
    fn check(got: f64, want: f64) {
        assert!((got - want).abs() <= CLOSE * want.abs(), "got {got:e}, want {want:e}");
    }

    // All tables: scipy 1.17.1, `scipy.special` (ndtr, stdtr, stdtrit, betainc, betaincc, betaincinv, nctdtr).

    #[test]
    fn normal_tails_match_scipy() {
        for (x, want) in [
            (-37.0, 5.7255712225239266e-300),
            (-20.0, 2.7536241186061556e-89),
            (-8.0, 6.22096057427174e-16),
            (-3.3, 0.00048342414238377744),
            (-2.0, 0.022750131948179195),
            (-1.5, 0.06680720126885807),
            (-0.1, 0.460172162722971),
            (0.7, 0.758036347776927),
            (3.0, 0.9986501019683699),
            (6.0, 0.9999999990134123),
        ] {
            check(normal_cdf(x), want);
            check(normal_sf(-x), want);
        }
    }

    #[test]
    fn student_t_matches_scipy_from_few_to_many_degrees_of_freedom() {
        for (t, df, want) in [
            (-50.0, 0.1, 0.28225036079634874),
            (-3.0, 0.5, 0.1836540779929717),
            (-1e-5, 3.7, 0.4999962683845055),
            (-40.0, 5.0, 9.205981085886477e-08),
            (-10.0, 30.0, 2.287625704114809e-11),
            (-6.0, 1e4, 1.0208092364613106e-09),
            (2.0, 1e5, 0.9772485182712467),
            (-3.0, 1e7, 0.0013499013555185817),
            (-1.96, 1e12, 0.02499789514835908),
        ] {
            check(t_cdf(t, df), want);
        }
        for (p, df, want) in [
            (0.4, 0.01, -246458794.80553275),
            (0.975, 0.1, 1682362288745.0078),
            (0.3, 0.5, -1.0095258786071655),
            (1e-12, 1.0, -318309886183.7907),
            (0.9995, 2.0, 31.599054576445365),
            (0.025, 4.5, -2.658912347204404),
            (0.6, 1e4, 0.253353843445727),
            (0.975, 1e5, 1.9599877075346095),
            (0.975, 1e7, 1.959964221767205),
            (0.995, 1e9, 2.5758293084654484),
            (0.05, 1e12, -1.6448536269529965),
        ] {
            check(t_quantile(p, df), want);
        }
    }

    #[test]
    fn beta_tails_match_scipy() {
        for (x, a, b, lower, upper) in [
            (0.3, 1e-3, 1e-3, 0.4995769621396763, 0.5004230378603235),
            (0.5, 1e-2, 100.5, 1.0, 1.1498323834106405e-34),
            (1e-6, 0.5, 1e5, 0.3452788311131676, 0.6547211688868324),
            (0.9, 0.5, 20.0, 1.0, 1.3180531602803738e-21),
            (0.01, 1.0, 1e3, 0.9999568287525893, 4.317124741065824e-05),
            (0.2, 4.0, 1.0, 0.0016, 0.9984),
            (0.3, 100.5, 20.0, 1.8719532087746683e-34, 1.0),
            (0.9, 20.0, 300.0, 1.0, 2.416308757532469e-271),
            (0.505, 1e4, 1e4, 0.9213529911183369, 0.07864700888166413),
            (0.5, 1e4, 1.1e4, 0.9999999999974379, 2.5620087577097377e-12),
            (0.0991, 1e5, 1e6, 1.0, 1.074004086856863e-186),
            (0.501, 1e6, 1e6, 0.997661150593068, 0.0023388494069315046),
            (0.5, 1e7, 1.001e7, 0.9873080329102154, 0.012691967089787076),
        ] {
            check(beta_cdf(x, a, b), lower);
            check(beta_sf(x, a, b), upper);
        }
    }

    #[test]
    fn beta_quantiles_match_scipy() {
        for (p, a, b, want) in [
            (1e-12, 0.5, 0.5, 2.4674011002723395e-24),
            (0.9, 1e-3, 1e-3, 1.0),
            (0.05, 1e-2, 4.0, 1.2697926013775787e-131),
            (1e-6, 1.0, 1e7, 1.0000005000002834e-13),
            (0.5, 1e-3, 0.5, 3.726927839085292e-301),
            (0.025, 1e3, 1e3, 0.4780947196206838),
            (0.975, 1e4, 1e5, 0.09261497962792963),
            (1e-12, 1e6, 1e6, 0.4975129494652678),
            (0.001, 1e7, 1e7, 0.4996545015617803),
            (0.9999, 1e7, 1e6, 0.9094129493785558),
            (0.95, 0.5, 1e6, 1.920728045928923e-06),
        ] {
            check(beta_quantile(p, a, b), want);
        }
        // mpmath 1.3.0 with 50 digits, where scipy is off by 3e-6; and by the power law, where it is off by 2e-8.
        check(beta_quantile(0.95, 1e3, 1e7), 1.052469156928276e-4);
        check(beta_quantile(1e-300, 20.0, 4.0), 6.880010039025729e-16);
    }

    #[test]
    fn noncentral_t_matches_scipy() {
        for (t, df, noncentrality, want) in [
            (2.0, 1.0, 2.5, 0.2627689394529212),
            (-0.5, 1.0, 1.0, 0.0896324008645972),
            (2.7, 3.0, 4.0, 0.14929237446271626),
            (0.5, 5.0, 1.0, 0.30212586193611357),
            (5.0, 11.5, 4.0, 0.729952774507594),
            (40.0, 39.0, 30.0, 0.985279458594611),
            (2.0, 99.0, 2.5, 0.3085178271786217),
            (-2.0, 1e3, -3.0, 0.8412240174764545),
            (5.0, 1e5, 4.0, 0.8413265992319702),
            (12.0, 1e7, 10.0, 0.9772494631188189),
        ] {
            let got = noncentral_t_cdf(t, df, noncentrality);
            assert!((got - want).abs() < 2e-13, "{t} {df} {noncentrality}: got {got:e}, want {want:e}");
        }
    }

    #[test]
    fn binomial_probabilities_match_scipy() {
        for (k, n, p, want) in [
            (0, 30, 0.05, 0.21463876394293752),
            (5, 10, 0.5, 0.24609375),
            (29, 30, 0.999, 0.0291420710889816),
            (300, 1000, 0.3, 0.027521003821268382),
            (99_900, 100_000, 0.999, 0.0398809422346256),
            (3_000_000, 10_000_000, 0.3, 0.0002752963192402079),
            (1, 10_000_000, 1e-7, 0.36787945956541535),
        ] {
            check(binomial_pmf(k, n, p), want);
        }
        // mpmath 1.3.0, where scipy is off by 3e-10.
        check(binomial_cdf(0, 10_000_000, 1e-6), 4.539970276325217e-5);
    }

    #[test]
    fn huge_shapes_join_smoothly_and_end() {
        // Across the border between the fraction and Temme's expansion, in units of the standard deviation.
        for z in [-8.0, -2.0, -1e-4, 0.0, 0.7, 5.0] {
            let at = |n: f64| {
                let x = 0.3 + z * (0.21 / n).sqrt();
                beta_cdf(x, 0.3 * n, 0.7 * n)
            };
            let (below, above) = (at(SHAPE_HUGE / 0.31), at(SHAPE_HUGE / 0.29));
            assert!((below / above - 1.0).abs() < 1e-6 * (1.0 + z * z), "{z}: {below:e} {above:e}");
        }
        assert!((binomial_quantile(0.5, u64::MAX, 0.25) as f64 / (u64::MAX / 4) as f64 - 1.0).abs() < 1e-9);
        assert_eq!(beta_cdf(0.5, 1e300, 1e300), 0.5);
    }

    #[test]
    fn ends_of_the_range() {
        assert_eq!((t_quantile(0.0, 3.0), t_quantile(1.0, 3.0)), (f64::NEG_INFINITY, f64::INFINITY));
        assert_eq!((t_quantile(0.5, 3.0), t_cdf(0.0, 3.0)), (0.0, 0.5));
        assert_eq!((t_cdf(f64::NEG_INFINITY, 3.0), t_cdf(f64::INFINITY, 3.0)), (0.0, 1.0));
        assert_eq!((normal_cdf(f64::NEG_INFINITY), normal_cdf(f64::INFINITY)), (0.0, 1.0));
        assert_eq!((beta_quantile(0.0, 2.0, 3.0), beta_quantile(1.0, 2.0, 3.0)), (0.0, 1.0));
        assert_eq!((binomial_quantile(0.0, 9, 0.3), binomial_quantile(1.0, 9, 0.3)), (0, 9));
        assert_eq!((binomial_quantile(0.3, 9, 0.0), binomial_quantile(0.3, 9, 1.0)), (0, 9));
        assert_eq!((binomial_cdf(0, 0, 0.3), binomial_sf(0, 0, 0.3), binomial_pmf(0, 0, 0.3)), (1.0, 0.0, 1.0));
        assert_eq!((binomial_pmf(0, 3, 0.0), binomial_pmf(3, 3, 1.0), binomial_pmf(1, 3, 0.0)), (1.0, 1.0, 0.0));
        for outside in
            [t_cdf(1.0, 0.0), t_quantile(2.0, 1.0), ln_beta(-1.0, 1.0), ln_gamma(0.0), binomial_cdf(1, 2, 1.5)]
        {
            assert!(outside.is_nan());
        }
    }

    /// Numbers over many orders of magnitude.
    fn magnitude(low: f64, high: f64) -> impl Strategy<Value = f64> {
        (low.log10()..high.log10()).prop_map(|exponent| 10f64.powf(exponent))
    }

    proptest! {
        #[test]
        fn beta_quantiles_invert_the_distribution(
            p in prop_oneof![magnitude(1e-200, 0.5), 0.5..0.9999f64], a in magnitude(1e-2, 1e6), b in magnitude(1e-2, 1e6),
        ) {
            let x = beta_quantile(p, a, b);
            prop_assert!((0.0..=1.0).contains(&x));
            prop_assume!(x > 1e-300 && x < 1.0 - 1e-3);
            // x is rounded, and the probability moves by its density times that.
            let rounding = (BetaTails::new(x, 1.0 - x, a, b).ln_density.exp() / (1.0 - x)) * 4.0 * f64::EPSILON;
            prop_assert!((beta_cdf(x, a, b) - p).abs() < 1e-11 * p + rounding, "{}", beta_cdf(x, a, b));
        }

        #[test]
        fn t_quantiles_invert_the_distribution(p in magnitude(1e-100, 0.5), df in magnitude(0.5, 1e12)) {
            let t = t_quantile(p, df);
            // Far out, t rounded to 53 bits moves the tail by t² (normal) or df (power law) parts in 2⁵³.
            let slack = 1e-11 + 4.0 * f64::EPSILON * (t * t).min(df);
            prop_assert!((t_cdf(t, df) / p - 1.0).abs() < slack, "{t} {}", t_cdf(t, df));
            if p > 1e-10 {
                prop_assert!((t_quantile(1.0 - p, df) + t).abs() <= 1e-5 * t.abs());
            }
        }

        #[test]
        fn tails_add_up_to_one(x in 0.0..=1.0f64, a in magnitude(1e-3, 1e7), b in magnitude(1e-3, 1e7)) {
            prop_assert!((beta_cdf(x, a, b) + beta_sf(x, a, b) - 1.0).abs() < 1e-13);
            prop_assert!((beta_cdf(x, a, b) - beta_sf(1.0 - x, b, a)).abs() < 1e-9);
        }

        #[test]
        fn binomial_tails_are_sums_of_probabilities((n, k) in (1..200u64).prop_flat_map(|n| (Just(n), 0..n)), p in 0.001..0.999f64) {
            let sum: f64 = (k + 1..=n).map(|j| binomial_pmf(j, n, p)).sum();
            prop_assume!(sum > 1e-290);
            prop_assert!((binomial_sf(k, n, p) / sum - 1.0).abs() < 1e-11);
            let rest: f64 = (0..=k).map(|j| binomial_pmf(j, n, p)).sum();
            prop_assume!(rest > 1e-290);
            prop_assert!((binomial_cdf(k, n, p) / rest - 1.0).abs() < 1e-11);
        }

        #[test]
        fn the_binomial_quantile_is_the_smallest(q in 0.0001..0.9999f64, n in 1..100_000u64, p in 0.001..0.999f64) {
            let k = binomial_quantile(q, n, p);
            prop_assert!(binomial_cdf(k, n, p) >= q * (1.0 - TIE));
            prop_assert!(k == 0 || binomial_cdf(k - 1, n, p) < q);
        }

        #[test]
        fn nothing_panics_or_hangs_and_probabilities_are_probabilities(
            x in any::<f64>(), a in any::<f64>(), b in any::<f64>(), k in any::<u64>(), n in any::<u64>(),
        ) {
            let unit = x.abs() % 1.0;
            for probability in [
                normal_cdf(x), t_cdf(x, a), beta_cdf(unit, a, b), beta_sf(unit, a, b), beta_quantile(unit, a, b),
                binomial_cdf(k, n, unit), binomial_sf(k, n, unit), binomial_pmf(k, n, unit),
            ] {
                prop_assert!(probability.is_nan() || (0.0..=1.0).contains(&probability), "{probability}");
            }
            prop_assert!(binomial_quantile(x, n, unit) <= n);
            let _ = (t_quantile(unit, a), ln_beta(a, b), ln_gamma(a), noncentral_t_cdf(x, a.abs().max(1.0), b));
        }

        #[test]
        fn within_the_domain_nothing_is_nan(unit in 0.0..=1.0f64, a in magnitude(1e-300, 1e300), b in magnitude(1e-300, 1e300)) {
            for value in [
                t_cdf(-a, b), t_quantile(unit, a), beta_cdf(unit, a, b), beta_sf(unit, a, b),
                beta_quantile(unit, a, b), ln_beta(a, b), noncentral_t_cdf(b, a.max(1.0), unit),
            ] {
                prop_assert!(!value.is_nan(), "{unit} {a:e} {b:e}");
            }
        }
    }
}
