//! Many tests at once: p-values adjusted so that the errors stay as rare as promised.
//!
//! Twenty metrics, each at 5 %, raise a false alarm 64 % of the time. "Every gate must pass" needs no
//! adjustment for its *pass*, since all of them must hold; a *fail* by any one of many does.

use crate::{AllowedRange, Quantity, Undefined};

/// How p-values are adjusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Correction {
    /// m·p: bounds the chance of any false rejection. Never better than Holm; for comparison.
    Bonferroni,
    /// Step-down (Holm 1979): bounds the chance of any false rejection under any dependence. For gates.
    Holm,
    /// Step-up (Benjamini and Hochberg 1995): bounds the expected share of false ones among the
    /// rejections, for independent or positively related tests. For dashboards.
    BenjaminiHochberg,
    /// The same under any dependence (Benjamini and Yekutieli 2001), at the price of a factor Σ1/k.
    BenjaminiYekutieli,
}

/// The adjusted p-values, in the order given.
///
/// `None` is a test that was not made: it stays `None` and does not count. Undefined when a p-value lies
/// outside [0, 1].
///
/// ```
/// use calipers_stats::multiplicity::{adjust, reject, Correction};
///
/// let adjusted = adjust(&[Some(0.01), None, Some(0.04), Some(0.03)], Correction::Holm)?;
/// assert_eq!(adjusted, [Some(0.03), None, Some(0.06), Some(0.06)]);
/// assert_eq!(reject(&adjusted, 0.05), [true, false, false, false]);
/// # Ok::<(), calipers_stats::Undefined>(())
/// ```
pub fn adjust(p_values: &[Option<f64>], correction: Correction) -> Result<Vec<Option<f64>>, Undefined> {
    let mut tested: Vec<(usize, f64)> =
        p_values.iter().enumerate().filter_map(|(index, p)| p.map(|p| (index, p))).collect();
    for &(_, p) in &tested {
        check_probability(p)?;
    }
    tested.sort_by(|a, b| a.1.total_cmp(&b.1));
    let sorted: Vec<f64> = tested.iter().map(|&(_, p)| p).collect();
    let mut adjusted = vec![None; p_values.len()];
    for (&(index, _), p) in tested.iter().zip(adjust_sorted(&sorted, correction)) {
        adjusted[index] = Some(p);
    }
    Ok(adjusted)
}

/// Which tests reject: adjusted p-value at most `alpha`. A test that was not made rejects nothing.
#[must_use]
pub fn reject(adjusted: &[Option<f64>], alpha: f64) -> Vec<bool> {
    adjusted.iter().map(|p| p.is_some_and(|p| p <= alpha)).collect()
}

fn check_probability(p: f64) -> Result<(), Undefined> {
    if (0.0..=1.0).contains(&p) {
        Ok(())
    } else {
        Err(Undefined::OutOfRange { what: Quantity::PValue, value: p, allowed: AllowedRange::UnitInterval })
    }
}

/// The adjusted values of ascending p-values.
fn adjust_sorted(p: &[f64], correction: Correction) -> Vec<f64> {
    let m = p.len() as f64;
    match correction {
        Correction::Bonferroni => p.iter().map(|p| (m * p).min(1.0)).collect(),
        Correction::Holm => step_down(p),
        Correction::BenjaminiHochberg => step_up(p, m),
        Correction::BenjaminiYekutieli => step_up(p, m * harmonic(p.len())),
    }
}

/// The largest of (m − i)·p_i so far, with i counted from 0.
fn step_down(p: &[f64]) -> Vec<f64> {
    let mut largest = 0.0f64;
    let remaining = (1..=p.len()).rev();
    p.iter()
        .zip(remaining)
        .map(|(p, remaining)| {
            largest = largest.max(remaining as f64 * p);
            largest.min(1.0)
        })
        .collect()
}

/// The smallest of factor·p_i/i from here on.
fn step_up(p: &[f64], factor: f64) -> Vec<f64> {
    let mut smallest = 1.0f64;
    let mut adjusted: Vec<f64> = p
        .iter()
        .enumerate()
        .rev()
        .map(|(index, p)| {
            smallest = smallest.min(factor / (index + 1) as f64 * p);
            smallest
        })
        .collect();
    adjusted.reverse();
    adjusted
}

/// Σ 1/k for k = 1 to m.
fn harmonic(m: usize) -> f64 {
    crate::sum::sum_of((1..=m).map(|k| 1.0 / k as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Correction; 4] =
        [Correction::Bonferroni, Correction::Holm, Correction::BenjaminiHochberg, Correction::BenjaminiYekutieli];

    #[test]
    fn a_p_value_outside_the_unit_interval_is_refused() {
        for p in [-0.1, 1.1, f64::NAN] {
            assert!(matches!(adjust(&[Some(p)], Correction::Holm), Err(Undefined::OutOfRange { .. })));
        }
    }

    #[test]
    fn no_tests_and_one_test_need_no_adjustment() {
        for correction in ALL {
            assert_eq!(adjust(&[], correction), Ok(vec![]));
            assert_eq!(adjust(&[None, Some(0.03)], correction), Ok(vec![None, Some(0.03)]));
        }
    }

    fn p_values() -> impl Strategy<Value = Vec<Option<f64>>> {
        prop::collection::vec(prop::option::weighted(0.8, 0.0f64..=1.0), 0..30)
    }

    proptest! {
        #[test]
        fn adjusted_values_keep_their_order_and_never_shrink(p in p_values()) {
            for correction in ALL {
                let adjusted = adjust(&p, correction).unwrap();
                let mut pairs: Vec<(f64, f64)> =
                    p.iter().zip(&adjusted).filter_map(|(p, q)| Some(((*p)?, (*q)?))).collect();
                pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
                prop_assert!(pairs.windows(2).all(|w| w[0].1 <= w[1].1), "{:?}", correction);
                prop_assert!(pairs.iter().all(|&(p, q)| q >= p * (1.0 - 1e-15) && q <= 1.0));
            }
        }

        #[test]
        fn the_order_given_does_not_matter(p in p_values(), by in 0usize..30) {
            let mut turned = p.clone();
            let by = by.min(p.len());
            turned.rotate_left(by);
            turned.reverse();
            for correction in ALL {
                let mut want = adjust(&p, correction).unwrap();
                want.rotate_left(by);
                want.reverse();
                prop_assert_eq!(adjust(&turned, correction).unwrap(), want);
            }
        }

        #[test]
        fn holm_lies_between_none_and_bonferroni(p in p_values()) {
            let (holm, bonferroni) = (adjust(&p, Correction::Holm).unwrap(), adjust(&p, Correction::Bonferroni).unwrap());
            prop_assert!(holm.iter().zip(&bonferroni).all(|(holm, bonferroni)| holm <= bonferroni));
        }
    }
}
