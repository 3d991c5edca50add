//! Where a continuous function changes its sign.

/// The place between `out`, where `surplus` is positive, and `kept`, where it is not, up to which it is positive: the last one on the
/// side of `out`, within `tolerance` of the change.
///
/// Chandrupatla (1997): a parabola through three places, turned on its side, where it can be trusted, and a bisection elsewhere. The
/// bracket never grows, and smooth functions need some eight places for all digits.
pub(crate) fn last_positive(
    (out, at_out): (f64, f64),
    (kept, at_kept): (f64, f64),
    tolerance: impl Fn(f64) -> f64,
    surplus: impl Fn(f64) -> f64,
) -> f64 {
    // The newest place, the one across the change from it, and the one before.
    let (mut new, mut at_new) = (kept, at_kept);
    let (mut across, mut at_across) = (out, at_out);
    let mut step = 0.5;
    for _ in 0..200 {
        let next = new + step * (across - new);
        let at_next = surplus(next);
        let (before, at_before);
        if (at_next > 0.0) == (at_new > 0.0) {
            (before, at_before) = (new, at_new);
        } else {
            (before, at_before) = (across, at_across);
            (across, at_across) = (new, at_new);
        }
        (new, at_new) = (next, at_next);
        let width = (across - new).abs();
        let enough = tolerance(new.abs().max(across.abs()));
        if width <= enough {
            break;
        }
        // No step is so short that it would leave the change on the same side for ever.
        let least = 0.5 * enough / width;
        let (chi, phi) = ((new - across) / (before - across), (at_new - at_across) / (at_before - at_across));
        let is_smooth = phi * phi < chi && (1.0 - phi) * (1.0 - phi) < 1.0 - chi;
        step = if is_smooth {
            let one = at_new / (at_across - at_new) * at_before / (at_across - at_before);
            let other =
                (before - new) / (across - new) * at_new / (at_before - at_new) * at_across / (at_before - at_across);
            (one + other).clamp(least, 1.0 - least)
        } else {
            0.5
        };
    }
    if at_new > 0.0 { new } else { across }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A function, and where it changes its sign.
    type Case = (fn(f64) -> f64, f64);

    #[test]
    fn the_change_is_found_in_few_steps() {
        let functions: [Case; 4] = [
            (|x| 2.0 - x * x, 2f64.sqrt()),
            (|x| (1.0 - x).powi(3), 1.0),
            (|x| if x < 0.3 { 1.0 } else { -1.0 }, 0.3),
            (|x| (-x).exp() - 0.1, 10f64.ln()),
        ];
        for (place, (function, root)) in functions.into_iter().enumerate() {
            for (out, kept) in [(0.0, 3.0), (-2.0, 4.0)] {
                if function(out) <= 0.0 {
                    continue;
                }
                let steps = Cell::new(0);
                let counted = |x: f64| {
                    steps.set(steps.get() + 1);
                    function(x)
                };
                let found = last_positive((out, function(out)), (kept, function(kept)), |x| 1e-13 * x, counted);
                assert!(function(found) > 0.0, "{place}");
                assert!((found - root).abs() < 1e-5 && steps.get() < 60, "{place}: {found} {}", steps.get());
            }
        }
    }
}
