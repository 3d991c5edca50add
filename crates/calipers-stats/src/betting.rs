//! The wealth of a gambler who bets that terms are positive on average.

/// ln ∫₀¹ Π (1 + s·aᵢ/|a₀|) ds for weights aᵢ with their counts; the last weight is a₀, the least that a term can be, and no
/// term itself.
///
/// Each stake s is a fair or losing game if the mean of the terms is at most 0, and an average over stakes is one too. At or
/// below 0 for a least weight that is not negative: then there is nothing to bet against.
pub(crate) fn log_wealth(weights: &[(f64, f64)]) -> f64 {
    let Some(((least, _), terms)) = weights.split_last() else { return 0.0 };
    if *least >= 0.0 {
        // No term can be below 0. The first that is above it refutes a mean of at most 0.
        return if terms.iter().any(|(a, _)| *a > 0.0) { f64::INFINITY } else { 0.0 };
    }
    // A term below the least would end the game with debts; rounding may bring one a hair below it.
    let games: Vec<(f64, f64)> = terms.iter().map(|(a, count)| ((a / -least).max(-1.0), *count)).collect();
    let ln_wealth = |stake: f64| -> f64 { games.iter().map(|(a, count)| count * (stake * a).ln_1p()).sum() };
    let slope = |stake: f64| -> f64 { games.iter().map(|(a, count)| count * a / (1.0 + stake * a)).sum() };
    // The logarithm is concave: one peak, found by its slope.
    let peak = if slope(0.0) <= 0.0 {
        0.0
    } else if slope(1.0) >= 0.0 {
        1.0
    } else {
        bisect(0.0, 1.0, |stake| slope(stake) > 0.0)
    };
    let top = ln_wealth(peak);
    // Beyond where it has fallen by exp(−40) nothing adds to the integral.
    let is_near = |stake: f64| ln_wealth(stake) > top - 40.0;
    let left = if is_near(0.0) { 0.0 } else { bisect(0.0, peak, |stake| !is_near(stake)) };
    let right = if is_near(1.0) { 1.0 } else { bisect(peak, 1.0, is_near) };
    let area = |from: f64, to: f64| -> f64 {
        const PANELS: u32 = 6;
        let width = (to - from) / f64::from(PANELS);
        let panel = |place: u32| {
            let middle = from + width * (f64::from(place) + 0.5);
            let node = |(x, weight): &(f64, f64)| {
                let at = |x: f64| (ln_wealth(middle + 0.5 * width * x) - top).exp();
                weight * (at(*x) + at(-x))
            };
            GAUSS_LEGENDRE.iter().map(node).sum::<f64>() * 0.5 * width
        };
        if width > 0.0 { (0..PANELS).map(panel).sum() } else { 0.0 }
    };
    top + (area(left, peak) + area(peak, right)).ln()
}

/// Nodes and weights of the ten-point rule on [−1, 1], one of each pair.
const GAUSS_LEGENDRE: [(f64, f64); 5] = [
    (0.148_874_338_981_631_21, 0.295_524_224_714_752_87),
    (0.433_395_394_129_247_2, 0.269_266_719_309_996_36),
    (0.679_409_568_299_024_4, 0.219_086_362_515_982_04),
    (0.865_063_366_688_984_5, 0.149_451_349_150_580_6),
    (0.973_906_528_517_171_7, 0.066_671_344_308_688_14),
];

/// The place between `from` and `to` up to which something holds.
fn bisect(mut from: f64, mut to: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..48 {
        let middle = from.midpoint(to);
        if holds(middle) { from = middle } else { to = middle }
    }
    from.midpoint(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eprocess::BinaryEprocess;

    #[test]
    fn zero_and_one_give_the_binary_process() {
        for (threshold, s, f) in [(0.8, 1, 0), (0.8, 20, 0), (0.9, 50, 3), (0.5, 0, 40), (0.95, 4000, 150), (0.3, 5, 7)]
        {
            let mut process = BinaryEprocess::new(threshold).unwrap();
            process.observe_many(s, f);
            let games = |gain: (f64, u64), loss: (f64, u64), least: f64| {
                let seen = [gain, loss].into_iter().filter(|(_, count)| *count > 0);
                log_wealth(&seen.map(|(a, count)| (a, count as f64)).chain([(least, 1.0)]).collect::<Vec<_>>())
            };
            let above = games((1.0 - threshold, s), (-threshold, f), -threshold);
            let below = games((threshold, f), (threshold - 1.0, s), threshold - 1.0);
            assert!((above - process.log_e_pass()).abs() < 1e-9, "{threshold} {s} {f}: {above}");
            assert!((below - process.log_e_fail()).abs() < 1e-9, "{threshold} {s} {f}: {below}");
        }
    }

    #[test]
    fn nothing_seen_is_worth_nothing() {
        assert!(log_wealth(&[(-0.5, 1.0)]).abs() < 1e-12);
        assert_eq!(log_wealth(&[]), 0.0);
        assert_eq!(log_wealth(&[(0.5, 1.0), (0.0, 1.0)]), f64::INFINITY);
    }
}
