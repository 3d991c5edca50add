//! Which figures carry an interval, and which one.

use calipers_core::{
    All, Caveat, Ci, Figure, Grouped, Metric, Plan, Samples, accuracy, ci, collect, krippendorff_alpha, mean, std,
    stderr,
};
use calipers_stats::agreement::RatingScale;
use calipers_stats::proportion::Proportion;
use calipers_stats::weighted::StratifiedMean;
use calipers_stats::{Confidence, Method, Moments};

fn figure(plan: Plan, samples: &Samples, name: &str) -> Figure {
    plan.measure(samples).expect("a valid run").figure("s", name).expect("asked for").clone()
}

fn ids(figure: &Figure) -> Vec<&'static str> {
    figure.caveats.iter().map(Caveat::id).collect()
}

/// Samples in groups.
fn grouped(rows: &[(f64, u32)]) -> Samples {
    let mut samples = Samples::new();
    for (id, (score, group)) in rows.iter().enumerate() {
        samples.push(id as i64).metadata("group", i64::from(*group)).score("s", *score);
    }
    samples
}

fn mean_of_groups(metric: Metric, rows: &[(f64, u32)]) -> Figure {
    let metric = Grouped::new(metric, "group").all(All::Groups);
    figure(Plan::new().metrics([metric]), &grouped(rows), "all")
}

const ROWS: [(f64, u32); 9] =
    [(1.0, 0), (0.0, 0), (1.0, 0), (1.0, 0), (0.0, 1), (1.0, 1), (0.0, 2), (0.0, 2), (1.0, 2)];

#[test]
fn the_mean_of_groups_has_the_interval_of_a_stratified_mean() {
    let (values, codes): (Vec<f64>, Vec<u32>) = ROWS.into_iter().unzip();
    let stratified = StratifiedMean::equal(&values, &codes).expect("three strata");
    let want = stratified.interval(Confidence::two_sided(0.95).expect("a level")).expect("all vary");
    for metric in [accuracy(), mean(), accuracy().named("share")] {
        let all = mean_of_groups(metric, &ROWS);
        assert!((all.value.clone().expect("defined") - stratified.mean).abs() < 1e-15);
        assert_eq!(all.interval, Some(want));
        assert_eq!((want.method, ids(&all)), (Method::T, vec!["small-sample"]));
    }
    let many: Vec<(f64, u32)> = (0..90).map(|i| (f64::from(i % 7), i % 3)).collect();
    let all = mean_of_groups(mean(), &many);
    assert!(all.interval.is_some() && all.caveats.is_empty(), "{all:?}");
}

#[test]
fn the_mean_of_groups_has_no_interval_where_a_spread_is_not_known() {
    let single = [(1.0, 0), (0.5, 0), (1.0, 1)];
    let constant = [(1.0, 0), (0.5, 0), (1.0, 1), (1.0, 1)];
    for rows in [&single[..], &constant] {
        let all = mean_of_groups(accuracy(), rows);
        assert!(all.value.is_ok() && all.interval.is_none() && all.caveats.is_empty(), "{all:?}");
    }
    for metric in [stderr(), std(), std().named("mean"), stderr().named("accuracy")] {
        assert_eq!(mean_of_groups(metric, &ROWS).interval, None);
    }
}

#[test]
fn the_mean_of_groups_of_passes_has_an_interval_even_if_a_group_does_not_vary() {
    // 35 of 40 in four groups of ten, which weigh alike: Clopper and Pearson's bounds.
    let rows: Vec<(f64, u32)> = (0..40).map(|i| (f64::from(u8::from(i % 4 != 0 || i % 8 == 0)), i % 4)).collect();
    let interval = mean_of_groups(accuracy(), &rows).interval.expect("passes and failures");
    let exact = Proportion::new(35, 40).unwrap().clopper_pearson(Confidence::two_sided(0.95).unwrap());
    assert!((interval.lower.unwrap() - exact.lower.unwrap()).abs() < 1e-9, "{interval:?} {exact:?}");
    assert!((interval.upper.unwrap() - exact.upper.unwrap()).abs() < 1e-9, "{interval:?} {exact:?}");
    // A sample of a small group weighs more: three groups that pass as a whole, of which one has a single sample.
    let perfect: Vec<(f64, u32)> = (0..21).map(|i| (1.0, if i == 20 { 2 } else { i % 2 })).collect();
    let lower = mean_of_groups(accuracy(), &perfect).interval.expect("all pass").lower.unwrap();
    assert!(lower < 0.5, "one failure of the single sample would cost a third: {lower}");
}

fn alpha(scale: RatingScale, units: &[[i64; 2]]) -> Figure {
    let mut samples = Samples::new();
    for (id, ratings) in units.iter().enumerate() {
        for rating in ratings {
            samples.push(id as i64).score("s", *rating);
        }
    }
    let plan = Plan::new().reducers([collect()]).metrics([krippendorff_alpha(scale, None)]);
    figure(plan, &samples, "krippendorff_alpha")
}

#[test]
fn alpha_has_an_interval_from_twenty_units_on() {
    let units: Vec<[i64; 2]> = (0..40).map(|i| [i % 4, i % 4 + i % 5 / 4]).collect();
    for scale in [RatingScale::Nominal, RatingScale::Ordinal, RatingScale::Interval] {
        let many = alpha(scale, &units[..20]);
        let interval = many.interval.expect("twenty are enough");
        assert_eq!(interval.method, Method::BootstrapPercentile);
        assert!(interval.contains(many.value.clone().expect("defined")), "{many:?}");
        assert!(many.caveats.is_empty() && many.details[0].0 == "monte_carlo_error", "{many:?}");
        let few = alpha(scale, &units[..19]);
        assert!(few.value.is_ok() && few.interval.is_none());
        assert_eq!(ids(&few), ["small-sample"]);
    }
    // Full agreement stays full in every resample, which is not certainty.
    let agreed: Vec<[i64; 2]> = (0..40).map(|i| [i % 4, i % 4]).collect();
    let agreed = alpha(RatingScale::Nominal, &agreed);
    assert_eq!((agreed.value.clone(), agreed.interval), (Ok(1.0), None));
}

#[test]
fn clusters_that_all_pass_have_an_honest_bound_too() {
    let detail = |figure: &Figure, name: &str| figure.details.iter().find(|(n, _)| *n == name).map(|(_, x)| *x);
    let bounds = |score: Option<f64>| {
        let rows: Vec<(f64, u32)> = (0..60).map(|i| (score.unwrap_or(f64::from(i % 2)), i % 3)).collect();
        let plan = Plan::new().metrics([Ci::wilson().cluster("group")]);
        figure(plan, &grouped(&rows), "lower")
    };
    let passed = bounds(Some(1.0));
    let third = 0.025f64.powf(1.0 / 3.0);
    assert!((passed.value.clone().expect("Inspect's") - 0.764).abs() < 1e-3);
    assert!((detail(&passed, "honest_lower").expect("at an end") - third).abs() < 1e-12);
    assert_eq!(detail(&passed, "honest_upper"), Some(1.0));
    let failed = bounds(Some(0.0));
    assert_eq!(detail(&failed, "honest_lower"), Some(0.0));
    assert!((detail(&failed, "honest_upper").expect("at an end") - (1.0 - third)).abs() < 1e-12);
    assert_eq!(detail(&bounds(None), "honest_lower"), None);
}

#[test]
fn ci_follows_the_level_of_the_plan() {
    let values = [1.0, 2.0, 4.0, 7.0, 3.0, 3.0, 5.0, 2.0, 4.0, 6.0];
    let samples = grouped(&values.map(|x| (x, 0)));
    for level in [0.8, 0.9, 0.99] {
        let plan = || Plan::new().level(level).expect("a level").metrics([ci()]);
        let want = Moments::from_slice(&values).open_interval(Confidence::two_sided(level).expect("a level"));
        let want = want.expect("they vary");
        let (lower, upper) = (figure(plan(), &samples, "lower"), figure(plan(), &samples, "upper"));
        assert_eq!((lower.value.ok(), upper.value.ok()), (want.lower, want.upper));
        assert_eq!(lower.interval, Some(want));
        let own = Plan::new().level(level).expect("a level").metrics([Ci::new().level(0.5).expect("a level")]);
        assert!(figure(own, &samples, "lower").value.expect("defined") > want.lower.expect("two-sided"));
    }
}
