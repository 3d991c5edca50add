use super::*;
use proptest::prelude::*;

fn two_sided(level: f64) -> Confidence {
    Confidence::two_sided(level).unwrap()
}

/// Numbers without ties, the same in every run.
fn continuous(n: usize) -> Vec<f64> {
    let mut stream = Seed(11).stream(n as u64);
    (0..n).map(|_| -stream.unit().max(1e-9).ln()).collect()
}

/// Mean and standard deviation of the replicates are those of the bootstrap law within five errors.
fn check_law(values: &[f64], resamples: u64) {
    let resampler = MeanResampler::new(values, Seed(5)).unwrap();
    let replicates = resampler.replicates(resamples).unwrap();
    let answer = resampler.stderr(&replicates).unwrap();
    let limit = answer.limit.unwrap();
    let off = Moments::from_slice(&replicates).mean().unwrap() - resampler.estimate().unwrap();
    let n = values.len();
    assert!(off.abs() < 5.0 * limit / (resamples as f64).sqrt(), "n = {n}: the mean is off by {off}");
    assert!((answer.stderr - limit).abs() < 5.0 * limit / (2.0 * resamples as f64).sqrt(), "n = {n}: {answer:?}");
}

#[test]
fn every_way_of_drawing_has_the_law_of_uniform_draws() {
    let graded: Vec<f64> = (0..5000).map(|i| f64::from(i % 11) / 10.0).collect();
    let binary: Vec<f64> = (0..777).map(|i| f64::from(i % 5 == 0)).collect();
    check_law(&graded, 4000); // counts of few distinct values
    check_law(&binary, 4000); // one binomial draw
    check_law(&continuous(50), 4000); // indices
    check_law(&continuous(2048), 4000); // one full block
    check_law(&continuous(2049), 4000); // a block and a rest of one
    check_law(&continuous(20_000), 2000); // many blocks
}

#[test]
fn blocks_share_their_draws_like_uniform_draws() {
    // With all of the spread between two halves, only the numbers of draws per block matter.
    let mut values = continuous(8192);
    for (i, x) in values.iter_mut().enumerate() {
        *x = *x * 1e-9 + if i < 4096 { 0.0 } else { 1.0 };
    }
    check_law(&values, 4000);
}

#[test]
fn zero_and_one_have_the_exact_binomial_quantiles() {
    for (k, n, level, lower, upper) in [(18, 25, 0.95, 0.52, 0.88), (1, 12, 0.9, 0.0, 0.25)] {
        let values: Vec<f64> = (0..n).map(|i| f64::from(i < k)).collect();
        let resampling = Resampling { resamples: 100, seed: Seed(1) };
        let answer = mean_interval(&values, resampling, two_sided(level)).unwrap();
        assert_eq!((answer.interval.lower, answer.interval.upper), (Some(lower), Some(upper)));
        assert_eq!(answer.resamples, None);
    }
}

#[test]
fn nothing_to_vary_is_no_certainty() {
    let resampling = Resampling { resamples: 100, seed: Seed(1) };
    let same = mean_interval(&[0.7; 9], resampling, two_sided(0.95));
    assert_eq!(same, Err(Undefined::NoSpread { what: Quantity::Values }));
    assert!(mean_interval(&[0.7], resampling, two_sided(0.95)).is_err());
    assert_eq!(mean_interval(&[], resampling, two_sided(0.95)), Err(Undefined::Empty));
    let all = binary_mean_interval(5, 5, two_sided(0.95)).unwrap();
    assert_eq!((all.interval.lower, all.interval.upper), (Some(1.0), Some(1.0)));
    assert!(all.caveats.contains(&StatisticCaveat::NoSpread { n: 5 }));
    assert!(binary_mean_interval(6, 5, two_sided(0.95)).is_err());
    assert!(binary_mean_interval(0, 0, two_sided(0.95)).is_err());
    let median = Resampler::new(&[0.7; 30], |sorted| sorted[15], Seed(1)).unwrap();
    let replicates = median.replicates(100).unwrap();
    assert_eq!(
        median.interval(BootstrapKind::Bca, &replicates, two_sided(0.95)),
        Err(Undefined::NoSpread { what: Quantity::Resamples })
    );
}

#[test]
fn enumeration_agrees_with_many_resamples() {
    for values in [
        vec![0.0, 0.5, 1.0, 1.0, 0.5, 1.0, 0.0, 1.0, 1.0, 1.0, 0.5, 0.0],
        vec![1.0, 2.0, 4.0, 9.0, 9.0, 4.0, 2.0],
        continuous(8),
    ] {
        let resampling = Resampling { resamples: 100, seed: Seed(1) };
        let exact = mean_interval(&values, resampling, two_sided(0.8)).unwrap();
        assert_eq!(exact.resamples, None);
        let resampler = MeanResampler::new(&values, Seed(2)).unwrap();
        let drawn = resampler
            .interval(BootstrapKind::Percentile, &resampler.replicates(200_000).unwrap(), two_sided(0.8))
            .unwrap();
        let near =
            |a: Option<f64>, b: Option<f64>| (a.unwrap() - b.unwrap()).abs() < 0.02 * drawn.interval.width().unwrap();
        assert!(near(exact.interval.lower, drawn.interval.lower), "{exact:?} {drawn:?}");
        assert!(near(exact.interval.upper, drawn.interval.upper), "{exact:?} {drawn:?}");
    }
}

#[test]
fn too_many_multisets_are_drawn() {
    let resampling = Resampling { resamples: 500, seed: Seed(1) };
    let answer = mean_interval(&continuous(40), resampling, two_sided(0.95)).unwrap();
    assert_eq!(answer.resamples, Some(500));
    assert!(answer.caveats.contains(&StatisticCaveat::FewResamples { resamples: 500, need: 10_000 }));
    assert!(answer.monte_carlo_error > 0.0);
}

#[test]
fn one_sided_intervals_have_one_bound() {
    let resampler = MeanResampler::new(&continuous(40), Seed(1)).unwrap();
    let replicates = resampler.replicates(2000).unwrap();
    for kind in [BootstrapKind::Percentile, BootstrapKind::Basic, BootstrapKind::Bca] {
        let lower = resampler.interval(kind, &replicates, Confidence::lower(0.95).unwrap()).unwrap().interval;
        let both = resampler.interval(kind, &replicates, two_sided(0.9)).unwrap().interval;
        assert_eq!(lower.upper, None);
        assert!((lower.lower.unwrap() - both.lower.unwrap()).abs() < 1e-9);
    }
}

#[test]
fn the_fast_acceleration_of_a_mean_is_that_of_leaving_out() {
    for values in [continuous(40), (0..600).map(|i| f64::from(i % 3 == 0)).collect()] {
        let fast = MeanResampler::new(&values, Seed(1)).unwrap().acceleration().unwrap();
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        let slow = Resampler::new(&values, mean, Seed(1)).unwrap().acceleration().unwrap();
        let codes: Vec<u32> = (0..values.len() as u32).collect();
        let clustered = ClusterMeanResampler::new(&values, &codes, Seed(1)).unwrap().acceleration().unwrap();
        assert!((fast - slow).abs() < 1e-10 && (fast - clustered).abs() < 1e-10, "{fast} {slow} {clustered}");
    }
}

#[test]
fn bca_without_acceleration_falls_back_to_percentiles() {
    // Leaving out any one value does not move the median of these.
    let values = [1.0, 2.0, 2.0, 2.0, 2.0, 3.0, 4.0];
    let median = Resampler::new(&values, |sorted| quantile::linear(sorted, 0.5), Seed(1)).unwrap();
    let answer = median.interval(BootstrapKind::Bca, &median.replicates(1000).unwrap(), two_sided(0.95)).unwrap();
    assert_eq!(answer.interval.method, Method::BootstrapPercentile);
    assert!(answer.caveats.contains(&StatisticCaveat::NoAcceleration));
}

#[test]
fn a_statistic_without_a_value_is_undefined() {
    let broken = Resampler::new(&continuous(20), |_| f64::NAN, Seed(1)).unwrap();
    assert!(matches!(broken.estimate(), Err(Undefined::NotFinite { .. })));
    let sometimes = Resampler::new(&[1.0, 2.0], |v| if v[0] == v[1] { f64::INFINITY } else { 1.0 }, Seed(1)).unwrap();
    let replicates = sometimes.replicates(100).unwrap();
    assert!(sometimes.interval(BootstrapKind::Percentile, &replicates, two_sided(0.9)).is_err());
    assert!(sometimes.stderr(&replicates).is_err());
}

#[test]
fn impossible_requests_are_errors_not_panics() {
    let resampler = MeanResampler::new(&[0.0, 1.0], Seed(1)).unwrap();
    assert!(resampler.replicates(0).is_err());
    assert!(resampler.replicates(u64::MAX).is_err());
    assert!(resampler.interval(BootstrapKind::Bca, &[], two_sided(0.9)).is_err());
    assert!(resampler.stderr(&[0.5]).is_err());
    assert!(MeanResampler::new(&[f64::NAN], Seed(1)).is_err());
    assert!(MeanResampler::from_counts(&[(1.0, u64::MAX), (0.0, u64::MAX)], Seed(1)).is_err());
    assert!(MeanResampler::from_counts(&[(1.0, 0)], Seed(1)).is_err());
    assert!(ClusterMeanResampler::new(&[1.0], &[], Seed(1)).is_err());
    assert!(ClusterMeanResampler::from_totals(&[(f64::MAX, 1), (f64::MAX, 1)], Seed(1)).is_err());
    assert!(UnitResampler::new(0, |_| 0.0, Seed(1)).is_err());
    let one = ClusterMeanResampler::new(&[1.0, 2.0], &[4, 4], Seed(1)).unwrap();
    let want = Undefined::TooFew { what: Quantity::Clusters, need: 2, have: 1 };
    assert_eq!(one.interval(BootstrapKind::Percentile, &one.replicates(10).unwrap(), two_sided(0.9)), Err(want));
}

#[test]
fn huge_counts_need_no_memory() {
    let resampler = MeanResampler::from_counts(&[(0.0, 1 << 40), (1.0, 1 << 41), (0.5, 77)], Seed(1)).unwrap();
    let replicates = resampler.replicates(2000).unwrap();
    let answer = resampler.stderr(&replicates).unwrap();
    assert!((answer.stderr / answer.limit.unwrap() - 1.0).abs() < 0.1);
}

#[test]
fn whole_clusters_are_drawn() {
    // Equal clusters: the mean of a resample is the mean of as many values as there are clusters.
    let values: Vec<f64> = (0..300).map(|i| f64::from(i / 10)).collect();
    let codes: Vec<u32> = (0..300).map(|i| i / 10).collect();
    let resampler = ClusterMeanResampler::new(&values, &codes, Seed(1)).unwrap();
    let answer = resampler.stderr(&resampler.replicates(4000).unwrap()).unwrap();
    let means: Vec<f64> = (0..30).map(f64::from).collect();
    let limit = Moments::from_slice(&means).bootstrap_stderr_limit().unwrap();
    assert!((answer.stderr - limit).abs() < 5.0 * answer.monte_carlo_error);
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|x| x.to_bits()).collect()
}

proptest! {
    #[test]
    fn order_of_rows_and_names_of_clusters_change_no_bit(
        rows in prop::collection::vec((0u32..6, prop_oneof![(-9i32..9).prop_map(f64::from), -1e3f64..1e3]), 2..60),
        turn in 0usize..60,
    ) {
        let mut moved: Vec<(u32, f64)> = rows.iter().map(|&(c, x)| (100 - c, x)).collect();
        moved.rotate_left(turn % rows.len());
        moved.reverse();
        let (codes, values): (Vec<u32>, Vec<f64>) = rows.into_iter().unzip();
        let (other_codes, other): (Vec<u32>, Vec<f64>) = moved.into_iter().unzip();
        let mean = |v: &[f64]| bits(&MeanResampler::new(v, Seed(1)).unwrap().replicates(20).unwrap());
        prop_assert_eq!(mean(&values), mean(&other));
        let pairs: Vec<(f64, u64)> = other.iter().map(|&x| (x, 1)).collect();
        let counted = MeanResampler::from_counts(&pairs, Seed(1)).unwrap();
        prop_assert_eq!(mean(&values), bits(&counted.replicates(20).unwrap()));
        let clustered = |v: &[f64], c: &[u32]| bits(&ClusterMeanResampler::new(v, c, Seed(1)).unwrap().replicates(20).unwrap());
        prop_assert_eq!(clustered(&values, &codes), clustered(&other, &other_codes));
        let median = |v: &[f64]| quantile::linear(v, 0.5);
        let general = |v: &[f64]| Resampler::new(v, median, Seed(1)).unwrap();
        prop_assert_eq!(bits(&general(&values).replicates(20).unwrap()), bits(&general(&other).replicates(20).unwrap()));
        prop_assert_eq!(general(&values).acceleration(), general(&other).acceleration());
        let whole = |v: &[f64], c: &[u32]| Resampler::clustered(v, c, median, Seed(1)).unwrap();
        prop_assert_eq!(
            bits(&whole(&values, &codes).replicates(20).unwrap()),
            bits(&whole(&other, &other_codes).replicates(20).unwrap())
        );
    }

    #[test]
    fn replicates_do_not_depend_on_each_other(values in prop::collection::vec(-1e3f64..1e3, 2..40), index in 0u64..50) {
        let resampler = MeanResampler::new(&values, Seed(9)).unwrap();
        prop_assert_eq!(resampler.replicates(50).unwrap()[index as usize].to_bits(), resampler.replicate(index).to_bits());
    }
}
