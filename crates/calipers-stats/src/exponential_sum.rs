//! The distribution of a weighted sum of independent exponential variables at 0.

use crate::special::beta_cdf;

/// How far the nodes of the trapezoidal rule lie apart. It converges exponentially: this step leaves errors near 1e-13, twice
/// the step 1e-7.
const STEP: f64 = 0.125;
/// A node that adds less than this to a sum of order 1 ends the integration.
const SMALL: f64 = 1e-17;
/// With two variables, the fewest, some 300 nodes do.
const NODES_MAX: u32 = 1000;
/// The largest number of equal variables that are multiplied one by one.
const EXPONENT_MAX: f64 = 64.0;
/// How many nodes are evaluated side by side.
const AT_A_TIME: usize = 8;

/// P(Σ aᵢEᵢ ≤ 0) for weights aᵢ, each with the whole number of variables that have it.
///
/// With weights of one size on each side it is a beta probability. Otherwise the moment generating function
/// M(θ) = Π (1 − θaᵢ)⁻¹ is integrated, P = −1/(2πi) ∫ M(θ)/θ dθ, along a hyperbola through the saddle point that bends as the
/// path of steepest descent does, so that nothing cancels (Daniels 1987; Weideman and Trefethen 2007). The cost is some dozens
/// of steps for each distinct weight.
pub(crate) fn probability_not_positive(weights: &[(f64, f64)]) -> f64 {
    let largest = weights.iter().fold(0.0f64, |most, (a, _)| most.max(a.abs()));
    if largest == 0.0 {
        return 1.0;
    }
    let scaled: Vec<(f64, f64)> =
        weights.iter().filter(|(a, _)| *a != 0.0).map(|(a, count)| (a / largest, *count)).collect();
    let (positive, negative): (Vec<_>, Vec<_>) = scaled.iter().partition(|(a, _)| *a > 0.0);
    match (one_size(&positive), one_size(&negative)) {
        (None, _) if positive.is_empty() => 1.0,
        (_, None) if negative.is_empty() => 0.0,
        (Some((up, gains)), Some((down, losses))) => beta_cdf(-down / (up - down), gains, losses),
        _ => {
            // The tail that is small is integrated.
            let mean: f64 = scaled.iter().map(|(a, count)| a * count).sum();
            if mean >= 0.0 {
                lower_tail(&scaled)
            } else {
                let mirrored: Vec<(f64, f64)> = scaled.iter().map(|(a, count)| (-a, *count)).collect();
                1.0 - lower_tail(&mirrored)
            }
        }
    }
}

/// The common weight and the number of variables, if all weights are equal.
fn one_size(weights: &[(f64, f64)]) -> Option<(f64, f64)> {
    let (first, _) = weights.first()?;
    weights.iter().all(|(a, _)| a == first).then(|| (*first, weights.iter().map(|(_, count)| count).sum()))
}

/// P(Σ aᵢEᵢ ≤ 0) for weights of both signs whose sum is not negative.
fn lower_tail(weights: &[(f64, f64)]) -> f64 {
    let saddle = saddle_point(weights);
    let (mut second, mut third) = (saddle.powi(-2), -2.0 * saddle.powi(-3));
    for (a, count) in weights {
        let part = a / (1.0 - saddle * a);
        second += count * part * part;
        third += 2.0 * count * part * part * part;
    }
    let scale = second.sqrt().recip();
    let bend = -third / (3.0 * second) * scale;
    let [(ln_top, _)] = ln_integrand(weights, &[(saddle, 0.0)]);
    let mut sum = 0.5;
    // Nodes are evaluated some at a time, since a product waits for the one before it and those of other nodes do not.
    'nodes: for first in (1..=NODES_MAX).step_by(AT_A_TIME) {
        let sides: [(f64, f64); AT_A_TIME] = std::array::from_fn(|place| {
            let u = STEP * f64::from(first + place as u32);
            (u.sinh(), u.cosh())
        });
        let path = sides.map(|(sinh, cosh)| (saddle - scale * bend * (cosh - 1.0), scale * sinh));
        for ((sinh, cosh), (ln_size, angle)) in sides.into_iter().zip(ln_integrand(weights, &path)) {
            let size = (ln_size - ln_top).exp();
            // The real part of the integrand times the direction of the path.
            sum += size * (cosh * angle.cos() - bend * sinh * angle.sin());
            if size * cosh < SMALL {
                break 'nodes;
            }
        }
    }
    (ln_top.exp() * scale * sum * STEP / std::f64::consts::PI).clamp(0.0, 1.0)
}

/// The place left of 0 where M(θ)/|θ| is least.
fn saddle_point(weights: &[(f64, f64)]) -> f64 {
    let least = weights.iter().fold(0.0f64, |least, (a, _)| least.min(*a));
    let (mut low, mut high) = (least.recip(), 0.0f64);
    let mut at = low / 2.0;
    for _ in 0..200 {
        let (mut slope, mut curvature) = (-at.recip(), at.powi(-2));
        for (a, count) in weights {
            let part = a / (1.0 - at * a);
            slope += count * part;
            curvature += count * part * part;
        }
        if slope < 0.0 {
            low = at;
        } else {
            high = at;
        }
        let newton = at - slope / curvature;
        let next = if newton > low && newton < high { newton } else { low.midpoint(high) };
        if (next - at).abs() <= 1e-9 * at.abs() {
            break;
        }
        at = next;
    }
    at
}

/// The logarithm of |M(θ)/θ| at each θ = c + iy, and the angle of −M(θ)/θ. What others are evaluated beside it changes no bit.
fn ln_integrand<const N: usize>(weights: &[(f64, f64)], at: &[(f64, f64); N]) -> [(f64, f64); N] {
    let (c, y) = (at.map(|at| at.0), at.map(|at| at.1));
    let (mut ln_size, mut angle) = ([0.0; N], [0.0; N]);
    // Factors are multiplied and their logarithms taken only now and then.
    let (mut re, mut im) = (c.map(|c| -c), y.map(|y| -y));
    for (a, count) in weights {
        let factors = [c.map(|c| 1.0 - c * a), y.map(|y| -y * a)];
        if let Some([of_re, of_im]) = power(factors, *count) {
            let mut is_far = false;
            for n in 0..N {
                (re[n], im[n]) = (re[n] * of_re[n] - im[n] * of_im[n], re[n] * of_im[n] + im[n] * of_re[n]);
                is_far |= is_extreme(re[n] * re[n] + im[n] * im[n]);
            }
            for n in (0..N).filter(|_| is_far) {
                let size = re[n] * re[n] + im[n] * im[n];
                if is_extreme(size) {
                    ln_size[n] += 0.5 * size.ln();
                    angle[n] += im[n].atan2(re[n]);
                    (re[n], im[n]) = (1.0, 0.0);
                }
            }
        } else {
            for n in 0..N {
                let factor = (factors[0][n], factors[1][n]);
                ln_size[n] += count * 0.5 * (factor.0 * factor.0 + factor.1 * factor.1).ln();
                angle[n] += count * factor.1.atan2(factor.0);
            }
        }
    }
    std::array::from_fn(|n| {
        (-(ln_size[n] + 0.5 * (re[n] * re[n] + im[n] * im[n]).ln()), -(angle[n] + im[n].atan2(re[n])))
    })
}

/// Real and imaginary parts of N numbers.
type Parts<const N: usize> = [[f64; N]; 2];

/// Numbers to a small whole power, by squaring: a logarithm and an angle for each cost twenty times as much. None for other powers,
/// and where one of them is too large or too small for a product with another number.
fn power<const N: usize>(base: Parts<N>, exponent: f64) -> Option<Parts<N>> {
    if exponent == 1.0 {
        return Some(base);
    }
    if !((2.0..=EXPONENT_MAX).contains(&exponent) && exponent.fract() == 0.0) {
        return None;
    }
    let times = |[a, b]: Parts<N>, [c, d]: Parts<N>| -> Parts<N> {
        [std::array::from_fn(|n| a[n] * c[n] - b[n] * d[n]), std::array::from_fn(|n| a[n] * d[n] + b[n] * c[n])]
    };
    let (mut left, mut square, mut product) = (exponent as u32, base, None);
    while left > 0 {
        if left & 1 == 1 {
            product = Some(product.map_or(square, |product| times(product, square)));
        }
        left >>= 1;
        if left > 0 {
            square = times(square, square);
        }
    }
    let is_moderate = |[re, im]: &Parts<N>| (0..N).all(|n| (1e-80..1e80).contains(&(re[n] * re[n] + im[n] * im[n])));
    product.filter(is_moderate)
}

/// True when a product has grown or shrunk so far that the next one may be no number.
fn is_extreme(size: f64) -> bool {
    !(1e-200..1e200).contains(&size)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P(Σ aᵢEᵢ > 0) for distinct weights: Σ over positive ones of Π aᵢ/(aᵢ − aⱼ).
    fn above(weights: &[f64]) -> f64 {
        let ratio = |i: usize| {
            weights
                .iter()
                .enumerate()
                .filter(|(j, _)| *j != i)
                .map(|(_, b)| weights[i] / (weights[i] - b))
                .product::<f64>()
        };
        (0..weights.len()).filter(|&i| weights[i] > 0.0).map(ratio).sum()
    }

    #[test]
    fn sums_of_a_few_distinct_weights_are_exact() {
        for weights in [
            &[0.3, -0.5][..],
            &[0.3, 0.1, -0.7],
            &[1.0, 0.4, 0.2, -0.1, -0.9],
            &[1e-3, 2.0, -1.0, -1e-4],
            &[0.25, 0.5, 0.75, 1.0, -0.05],
            &[0.05, -0.25, -0.5, -0.75, -1.0],
        ] {
            let counted: Vec<(f64, f64)> = weights.iter().map(|&a| (a, 1.0)).collect();
            let (ours, exact) = (probability_not_positive(&counted), 1.0 - above(weights));
            assert!((ours - exact).abs() < 1e-12, "{weights:?}: {ours} {exact}");
        }
    }

    #[test]
    fn weights_that_hardly_differ_are_as_good_as_equal() {
        // The beta probability and the integral meet.
        for (gains, losses, threshold) in [(55u32, 6u32, 0.8), (3, 1, 0.5), (990, 11, 0.98), (1, 1, 0.3), (2, 40, 0.2)]
        {
            let spread =
                |count: u32, a: f64| (0..count).map(move |i| (a * (1.0 + 1e-9 * f64::from(i) / f64::from(count)), 1.0));
            let weights: Vec<(f64, f64)> = spread(gains, 1.0 - threshold).chain(spread(losses, -threshold)).collect();
            let equal = beta_cdf(threshold, f64::from(gains), f64::from(losses));
            let ours = probability_not_positive(&weights);
            assert!((ours - equal).abs() < 1e-6 * equal, "{gains} {losses}: {ours} {equal}");
        }
    }

    #[test]
    fn equal_weights_may_be_counted_or_written_out() {
        for count in [2.0, 3.0, 10.0, 63.0, 64.0, 65.0, 200.0] {
            let rest = [(0.5, 1.0), (0.3, 2.0), (-0.9, 1.0)];
            let counted: Vec<(f64, f64)> = [(0.2, count)].into_iter().chain(rest).collect();
            let written: Vec<(f64, f64)> = std::iter::repeat_n((0.2, 1.0), count as usize).chain(rest).collect();
            let (ours, slow) = (probability_not_positive(&counted), probability_not_positive(&written));
            assert!((ours / slow - 1.0).abs() < 1e-11, "{count}: {ours} {slow}");
        }
    }

    #[test]
    fn nothing_on_one_side_is_certain() {
        assert_eq!(probability_not_positive(&[(0.0, 3.0)]), 1.0);
        assert_eq!(probability_not_positive(&[(-0.5, 2.0), (-0.1, 1.0)]), 1.0);
        assert_eq!(probability_not_positive(&[(0.5, 2.0), (0.0, 1.0)]), 0.0);
    }

    #[test]
    fn tiny_probabilities_keep_their_digits() {
        // 200 gains of two sizes against one loss.
        let p = probability_not_positive(&[(1.0, 100.0), (0.5, 100.0), (-1.0, 1.0)]);
        // P(A < E) = E[exp(−A)] = 2⁻¹⁰⁰ · 1.5⁻¹⁰⁰.
        let exact = (-100.0 * (2f64.ln() + 1.5f64.ln())).exp();
        assert!((p / exact - 1.0).abs() < 1e-9, "{p} {exact}");
    }
}
