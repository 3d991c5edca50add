//! Plans of runs: against the golden vectors, and small cases by hand.

use calipers_compare::sizing::{
    Pairing, Pilot, PilotMeasure, ScoreRange, Sizing, SizingQuestion, Spread, Unplannable, measure_differences, size,
};
use calipers_core::stats::power::{ClusterDesign, Costs, Variances};
use calipers_core::stats::proportion::Proportion;
use calipers_core::stats::threshold_test::Direction;
use calipers_core::stats::{Confidence, Undefined};
use calipers_core::{Caveat, Context, Samples, accuracy, f1, mean, mean_score};
use calipers_testing::vectors::{folder, read};
use serde_json::Value as Json;

fn question(spread: Spread) -> SizingQuestion {
    SizingQuestion::new(spread, 0.95, 0.8)
}

fn plan(question: &SizingQuestion) -> Sizing {
    size(question).unwrap()
}

/// Runs of which each sample's difference has this variance.
fn differing_by(variance: f64) -> Pairing {
    Pairing::Measured(Variances { between: variance, within_a: 0.0, within_b: 0.0 })
}

/// The vectors with this statistic, for tests with two sides.
fn vectors(statistic: &str) -> Vec<Json> {
    let file = read(folder().join("golden").join("power.json"));
    let is_asked = |v: &&Json| v["statistic"] == statistic && v["params"].get("sides").is_none_or(|sides| sides == 2);
    let vectors: Vec<Json> = file["vectors"].as_array().unwrap().iter().filter(is_asked).cloned().collect();
    assert!(!vectors.is_empty(), "no vector of {statistic}");
    vectors
}

fn number(v: &Json, key: &str) -> f64 {
    v["input"].get(key).or_else(|| v["params"].get(key)).unwrap().as_f64().unwrap()
}

#[track_caller]
fn same(v: &Json, key: &str, got: f64) {
    let want = v["expected"][key].as_f64().unwrap();
    let bound = |key: &str| v["tolerance"][key].as_f64().unwrap();
    assert!(
        (got - want).abs() <= bound("abs") + bound("rel") * want.abs(),
        "{} {key}: got {got}, want {want}",
        v["name"]
    );
}

/// A question with the error and the power of a vector.
fn asked(v: &Json) -> SizingQuestion {
    let power = v["params"].get("power").map_or(0.8, |power| power.as_f64().unwrap());
    SizingQuestion { level: 1.0 - number(v, "alpha"), power, ..question(Spread::of_sd(1.0).unwrap()) }
}

/// What attempts leave of the variance of a difference.
fn of_epochs(v: &Json) -> Pairing {
    let within = |side: &str| number(v, &format!("sigma2_{side}")) / number(v, &format!("k_{side}"));
    Pairing::Measured(Variances { between: number(v, "omega2"), within_a: within("a"), within_b: within("b") })
}

#[test]
fn sizes_for_a_difference_are_those_of_the_vectors() {
    for v in vectors("sample_size_z") {
        let pairing = Some(differing_by(number(&v, "sd").powi(2)));
        let got = plan(&SizingQuestion { pairing, difference: Some(number(&v, "delta")), ..asked(&v) }).paired.unwrap();
        same(&v, "n_real", got.normal.unwrap().real);
        same(&v, "n", got.normal.unwrap().whole as f64);
    }
    for v in vectors("sample_size_epochs") {
        let pairing = Some(of_epochs(&v));
        let got = plan(&SizingQuestion { pairing, difference: Some(number(&v, "delta")), ..asked(&v) }).paired.unwrap();
        same(&v, "n_real", got.normal.unwrap().real);
    }
    for v in vectors("sample_size_t_paired") {
        let pairing = Some(differing_by(number(&v, "sd").powi(2)));
        let got = plan(&SizingQuestion { pairing, difference: Some(number(&v, "delta")), ..asked(&v) }).paired.unwrap();
        same(&v, "n", got.samples.unwrap() as f64);
    }
    for v in vectors("sample_size_two_proportions") {
        let (p1, p2) = (number(&v, "p1"), number(&v, "p2"));
        // The plan holds for a rise and for a drop. Towards a half takes more samples, so it starts from the farther share.
        let from = if (p1 - 0.5).abs() > (p2 - 0.5).abs() { p1 } else { p2 };
        let spread = Spread::of_rate(from).unwrap();
        let got = plan(&SizingQuestion { spread, difference: Some(p2 - p1), ..asked(&v) }).unpaired.unwrap();
        same(&v, "n_per_arm_real", got.normal.unwrap().real);
        same(&v, "n_per_arm", got.samples.unwrap() as f64);
    }
}

#[test]
fn what_a_finished_run_could_have_found_is_that_of_the_vectors() {
    for v in vectors("mde_epochs") {
        let finished = Some(number(&v, "n") as u64);
        let got = plan(&SizingQuestion { pairing: Some(of_epochs(&v)), finished, ..asked(&v) }).finished.unwrap();
        same(&v, "mde", got.detectable_paired.unwrap());
    }
    for v in vectors("power_t_paired") {
        let pairing = Some(differing_by(number(&v, "sd").powi(2)));
        let (finished, difference) = (Some(number(&v, "n") as u64), Some(number(&v, "delta")));
        let got = plan(&SizingQuestion { pairing, finished, difference, ..asked(&v) }).finished.unwrap();
        same(&v, "power", got.power.unwrap());
    }
}

#[test]
fn gates_are_planned_as_in_the_vectors() {
    for v in vectors("gate_sample_size_binomial") {
        let spread = Spread::of_rate(number(&v, "p_true")).unwrap();
        let gate = Some((number(&v, "threshold"), Direction::AtLeast));
        let got = plan(&SizingQuestion { spread, gate, ..asked(&v) }).gate.unwrap();
        same(&v, "n_first", got.expected.unwrap().first as f64);
    }
}

#[test]
fn a_gate_of_95_percent_takes_59_samples_without_a_failure() {
    for (threshold, samples) in [(0.8, 14), (0.9, 29), (0.95, 59), (0.99, 299), (0.999, 2995)] {
        let gate = Some((threshold, Direction::AtLeast));
        let got = plan(&SizingQuestion { gate, ..question(Spread::of_rate(1.0).unwrap()) }).gate.unwrap();
        assert_eq!((got.perfect, got.expected.unwrap().first), (Ok(samples), samples), "{threshold}");
    }
    let hopeless = SizingQuestion { gate: Some((0.95, Direction::AtLeast)), ..question(Spread::of_rate(0.9).unwrap()) };
    let got = plan(&hopeless).gate.unwrap();
    assert!(matches!(got.expected, Err(Unplannable::Statistic(Undefined::Unattainable { .. }))), "{:?}", got.expected);
    let finished = plan(&SizingQuestion { finished: Some(20), ..hopeless }).finished.unwrap();
    assert!((finished.attainable_gate.unwrap() - 0.05f64.powf(1.0 / 20.0)).abs() < 1e-12);
}

#[test]
fn an_interval_is_as_wide_as_asked_for_and_one_sample_fewer_is_not_enough() {
    let of_rate = SizingQuestion { half_width: Some(0.02), ..question(Spread::of_rate(0.5).unwrap()) };
    let got = plan(&of_rate).interval.unwrap();
    // Wilson's would be z/(2√(n + z²)) = 0.02, so n = z²(1/0.0016 − 1) = 2398; an exact interval takes a few more.
    let needed = got.samples.unwrap();
    assert!((2398..2500).contains(&needed), "{needed}");
    let share = |n: u64| Proportion::new(n / 2, n).unwrap().blaker(Confidence::two_sided(0.95).unwrap());
    assert!(share(needed).width() <= Some(0.04), "{needed}");
    let of_scores = SizingQuestion { half_width: Some(0.1), ..question(Spread::of_sd(0.5).unwrap()) };
    let needed = plan(&of_scores).interval.unwrap().samples.unwrap();
    let width =
        |samples: u64| plan(&SizingQuestion { finished: Some(samples), ..of_scores }).finished.unwrap().half_width;
    assert!(width(needed).unwrap() <= 0.1 && width(needed - 1).unwrap() > 0.1, "{needed}");
    // With weight 1.1524 at both ends, 99.305 in all: 1.98441 · √((96 · 0.25 + 1.1524 · 0.5) / 98.305 / 99.305) < 0.1.
    assert_eq!(needed, 97);
    let clustered = SizingQuestion { clusters: Some(ClusterDesign { size: 10.0, design_effect: 2.0 }), ..of_scores };
    assert!(plan(&clustered).interval.unwrap().samples.unwrap() > 2 * needed);
}

#[test]
fn attempts_are_worth_their_price_while_their_luck_dominates() {
    // Variance 0.157 between samples and 0.083 between attempts.
    let spread =
        Spread { mean: Some(0.62), between: 0.157, within: Some(0.083), is_share: false, range: ScoreRange::Unit };
    let costs = Some(Costs { sample: 10.0, attempt: 1.0 });
    let pairing = Some(Pairing::Correlation(0.5));
    let asked = SizingQuestion { costs, pairing, difference: Some(0.05), ..question(spread) };
    let got = plan(&asked).attempts.unwrap();
    assert_eq!(got.optimal.unwrap().whole, 2);
    // Pairing halves what samples differ by and not the luck of attempts: more of them pay in pairs.
    let best = got.options.iter().min_by(|a, b| a.cost.total_cmp(&b.cost)).unwrap();
    assert!(best.attempts >= 2, "{best:?}");
    let once = got.options.iter().find(|option| option.attempts == 1).unwrap();
    // Twice 0.157 + 0.083, of which half is shared; (1.96 + 0.84)²/0.05² times that, and two for t.
    assert!((once.samples as f64 - 7.849 * 0.24 / 0.0025).abs() < 4.0, "{once:?}");
    assert_eq!(once.cost, once.samples as f64 * 11.0);
    let unknown = plan(&SizingQuestion { spread: Spread::of_rate(0.6).unwrap(), attempts: 5, ..asked });
    assert!(unknown.attempts.unwrap().optimal.is_err());
    assert_eq!(unknown.caveats[0], Caveat::UnknownAttempts);
}

#[test]
fn more_samples_show_more() {
    let asked = SizingQuestion {
        difference: Some(0.1),
        pairing: Some(Pairing::Correlation(0.6)),
        half_width: Some(0.05),
        ..question(Spread::of_rate(0.7).unwrap())
    };
    let got = plan(&asked);
    assert_eq!(got.table.len(), 9);
    assert!(got.curve.len() > 30 && got.curve.windows(2).all(|pair| pair[0].samples < pair[1].samples));
    for pair in got.table.windows(2).chain(got.curve.windows(2)) {
        assert!(pair[1].half_width.unwrap() < pair[0].half_width.unwrap());
        // Five disagreements out of five are no proof at 5 %, so a few pairs find nothing.
        let detectable = |place: usize| pair[place].detectable_paired.unwrap_or(f64::INFINITY);
        assert!(detectable(1) < detectable(0) || pair[1].samples <= 5, "{pair:?}");
        assert!(pair[1].power.unwrap() >= pair[0].power.unwrap() - 1e-9);
    }
    // Of a handful of samples, exact tests find less than normal formulas promise.
    for point in got.table.iter().filter(|point| point.samples >= 50) {
        assert!(point.detectable_paired.unwrap() < point.detectable_unpaired.unwrap(), "{point:?}");
    }
    let needed = got.paired.unwrap().samples.unwrap();
    let at = |samples: u64| plan(&SizingQuestion { finished: Some(samples), ..asked }).finished.unwrap().power.unwrap();
    assert!(at(needed) >= 0.8 && at(needed - 1) < 0.8);
    let alone = plan(&SizingQuestion { pairing: None, ..asked });
    assert!(alone.paired.unwrap().samples.is_err() && alone.unpaired.unwrap().samples.unwrap() > needed);
}

#[test]
fn pairs_that_disagree_seldom_take_fewer_samples() {
    // 15 of 100 samples differ, 9 more one way: the standard deviation is √(0.15 − 0.09²).
    let asked = SizingQuestion {
        difference: Some(0.09),
        pairing: Some(Pairing::Disagreement(0.15)),
        ..question(Spread::of_rate(0.7).unwrap())
    };
    let got = plan(&asked).paired.unwrap();
    let sd = (0.15f64 - 0.0081).sqrt();
    assert!((got.normal.unwrap().real - (2.801_585 * sd / 0.09).powi(2)).abs() < 0.01, "{got:?}");
    let cannot = plan(&SizingQuestion { difference: Some(0.5), ..asked }).paired.unwrap();
    assert_eq!(cannot.samples, Err(Unplannable::Disagreement { share: 0.15, difference: 0.5 }));
}

fn run(rows: &[Vec<f64>]) -> Samples {
    let mut samples = Samples::new();
    for (id, row) in (0i64..).zip(rows) {
        for &score in row {
            samples.push(id).metadata("document", id / 3).score("score", score);
        }
    }
    samples
}

#[test]
fn a_pilot_has_the_components_of_the_vectors() {
    let (reducer, context, metric) = (mean_score(), Context::default(), accuracy());
    let measure = PilotMeasure { metric: &metric, reducer: &reducer, context: &context, cluster: &[] };
    let file = read(folder().join("golden").join("paired.json"));
    let vectors = file["vectors"].as_array().unwrap().iter().filter(|v| v["statistic"] == "variance_components");
    let mut checked = 0;
    for v in vectors {
        checked += 1;
        let rows: Vec<Vec<f64>> = serde_json::from_value(v["input"]["scores"].clone()).unwrap();
        let pilot = Pilot::of_run(&run(&rows), &measure).unwrap();
        same(v, "ms_within", pilot.spread.within.unwrap());
        same(v, "mean", pilot.spread.mean.unwrap());
        same(v, "se_fixed_suite", pilot.components.se_fixed_suite.unwrap());
        let k = pilot.attempts;
        let want = (v["expected"]["ms_between"].as_f64().unwrap() - v["expected"]["ms_within"].as_f64().unwrap()) / k;
        assert!((pilot.spread.between - want).abs() < 1e-12);
        // A second run of the same size has the error that this one has.
        let error = v["expected"]["se_question_level"].as_f64().unwrap();
        let variance = pilot.spread.variance(k as u64) / pilot.samples as f64;
        assert!((variance.sqrt() - error).abs() < 1e-9);
        assert!(pilot.spread.is_share && pilot.samples == rows.len() as u64);
    }
    assert!(checked > 0);
}

#[test]
fn a_pilot_without_repeats_or_spread_says_what_is_missing() {
    let (reducer, context) = (mean_score(), Context::default());
    let (by_mean, by_f1) = (mean(), f1(true));
    let measure = PilotMeasure { metric: &by_mean, reducer: &reducer, context: &context, cluster: &[] };
    let once = Pilot::of_run(&run(&[0.2, 0.4, 0.9, 0.2, 0.4].map(|x| vec![x])), &measure).unwrap();
    assert_eq!((once.spread.within, once.spread.is_share), (None, false));
    assert!((once.spread.between - 0.082).abs() < 1e-12);
    let error = Pilot::of_run(&run(&[0.0, 1.0].map(|x| vec![x])), &measure).unwrap_err();
    assert!(error.to_string().starts_with("2 samples with a score cannot say how much scores vary"), "{error}");
    let error = Pilot::of_run(&run(&[vec![0.2]]), &measure).unwrap_err();
    assert!(error.to_string().contains("a pilot needs scores of several samples"), "{error}");
    let mut confusions = Samples::new();
    confusions.push(1).field("predicted", true).field("actual", true);
    let error = Pilot::of_run(&confusions, &PilotMeasure { metric: &by_f1, ..measure }).unwrap_err();
    assert!(error.to_string().starts_with("`f1` is not a mean over samples"), "{error}");
    let clustered = PilotMeasure { cluster: &["document"], ..measure };
    let rows: Vec<Vec<f64>> = (0..12).map(|id| vec![f64::from(id / 3) + 0.01 * f64::from(id % 3)]).collect();
    let clusters = Pilot::of_run(&run(&rows), &clustered).unwrap().clusters.unwrap();
    assert!(clusters.size == 3.0 && clusters.design_effect > 2.5, "{clusters:?}");
}

#[test]
fn two_runs_show_the_variance_of_their_differences() {
    let (reducer, context, metric) = (mean_score(), Context::default(), mean());
    let measure = PilotMeasure { metric: &metric, reducer: &reducer, context: &context, cluster: &[] };
    let (a, b) = (run(&[vec![0.9], vec![0.4], vec![0.8]]), run(&[vec![0.7], vec![0.3], vec![0.7], vec![0.1]]));
    let once = measure_differences([&a, &b], &measure).unwrap().variances;
    // Differences of 0.2, 0.1 and 0.1.
    assert!((once.between - 1.0 / 300.0).abs() < 1e-12 && once.within_a == 0.0);
    let repeated = run(&[vec![0.8, 1.0], vec![0.3, 0.5], vec![0.7, 0.9]]);
    let twice = measure_differences([&repeated, &b], &measure).unwrap().variances;
    assert!((twice.within_a - 0.02).abs() < 1e-12, "{twice:?}");
    assert_eq!(twice.between, 0.0);
    let mut elsewhere = Samples::new();
    elsewhere.push("x").score("score", 1.0);
    let error = measure_differences([&a, &elsewhere], &measure).unwrap_err();
    assert!(error.to_string().contains("the runs share fewer than two samples with a score"), "{error}");
}

#[test]
fn differences_have_a_design_effect_of_their_own() {
    let (reducer, context, metric) = (mean_score(), Context::default(), mean());
    let measure = PilotMeasure { metric: &metric, reducer: &reducer, context: &context, cluster: &["document"] };
    // Documents of three samples. Scores differ by sample, and one run gains on every other document.
    let score = |id: u32| vec![f64::from(id % 3)];
    let gained = |id: u32| vec![f64::from(id % 3) + f64::from(id / 3 % 2) + 0.01 * f64::from(id % 2)];
    let before: Vec<Vec<f64>> = (0..24).map(score).collect();
    let after: Vec<Vec<f64>> = (0..24).map(gained).collect();
    let of_scores = Pilot::of_run(&run(&before), &measure).unwrap().clusters.unwrap();
    let of_differences = measure_differences([&run(&after), &run(&before)], &measure).unwrap().design_effect;
    assert!(of_scores.design_effect == 1.0 && of_differences.is_some_and(|effect| effect > 2.5), "{of_differences:?}");
    let asked = |difference_effect| {
        let pairing = Some(Pairing::Correlation(0.5));
        let question = SizingQuestion {
            clusters: Some(of_scores),
            difference_effect,
            pairing,
            difference: Some(0.1),
            ..question(Spread::of_sd(0.5).unwrap())
        };
        *plan(&question).paired.unwrap().samples.as_ref().unwrap() as f64
    };
    let (assumed, shown) = (asked(None), asked(of_differences));
    assert!((shown / assumed / of_differences.unwrap() - 1.0).abs() < 0.05, "{assumed} {shown}");
}

#[test]
fn nonsense_is_refused_with_a_way_out() {
    let rate = Spread::of_rate(0.5).unwrap();
    for (asked, message) in [
        (SizingQuestion { level: 95.0, ..question(rate) }, "95 % is written 0.95"),
        (SizingQuestion { power: 1.0, ..question(rate) }, "80 % is written 0.8"),
        (SizingQuestion { attempts: 0, ..question(rate) }, "at least one attempt"),
        (SizingQuestion { half_width: Some(0.0), ..question(rate) }, "half a width is above 0"),
        (SizingQuestion { difference: Some(0.0), ..question(rate) }, "is not 0"),
    ] {
        let error = size(&asked).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    assert!(Spread::of_sd(f64::NAN).is_err() && Spread::of_rate(1.5).is_err());
    assert_eq!(Spread::of_rate(0.5).unwrap().with_within(0.4).unwrap().within, Some(0.1));
}

#[test]
fn runs_that_disagree_in_one_way_only_can_be_planned_for() {
    for (rate, difference) in [(0.95, 0.05), (0.9, 0.1), (0.7, 0.3)] {
        let spread = Spread::of_rate(rate).unwrap();
        let pairing = Some(Pairing::Disagreement(difference));
        let plan = plan(&SizingQuestion { pairing, difference: Some(difference), ..question(spread) });
        assert!(plan.paired.unwrap().samples.is_ok(), "{rate} {difference}");
    }
}
