//! How often intervals of differences of precision, recall, F1 and Matthews' correlation cover, and how often a difference is found
//! where there is none. `cargo xtask calibrate differences_of_predictions` runs it.

use calipers_compare::sizing::{Pairing, SizingQuestion, Spread, size};
use calipers_compare::{CompareQuestion, ComparedRun, compare};
use calipers_core::stats::components::Estimand;
use calipers_core::stats::multiplicity::Correction;
use calipers_core::stats::power::ClusterDesign;
use calipers_core::stats::special::normal_quantile;
use calipers_core::{
    Context, Metric, PassRule, Registry, Samples, accuracy, f1, mcc, mean, mean_score, precision, recall,
};
use calipers_testing::simulation::{Claim, Draws, Table};

/// The shares of positives, of positives that are found and of negatives that are mistaken for one, in both runs.
struct Design {
    positive: f64,
    ours: [f64; 2],
    theirs: [f64; 2],
    samples: i64,
    attempts: u32,
}

impl Design {
    /// Precision, recall, F1 and the correlation of a run that finds and mistakes so many.
    fn truths(&self, [found, mistaken]: [f64; 2]) -> [f64; 4] {
        let (tp, fp) = (self.positive * found, (1.0 - self.positive) * mistaken);
        let (fnn, tn) = (self.positive - tp, 1.0 - self.positive - fp);
        let spread = ((tp + fp) * (tp + fnn) * (tn + fp) * (tn + fnn)).sqrt();
        [tp / (tp + fp), found, 2.0 * tp / (2.0 * tp + fp + fnn), (tp * tn - fp * fnn) / spread]
    }

    /// Two runs over the same samples, which are as hard for one as for the other in three of five cases.
    fn draw(&self, draws: &mut Draws) -> [Samples; 2] {
        let mut runs = [Samples::new(), Samples::new()];
        for id in 0..self.samples {
            let is_actual = draws.unit() < self.positive;
            let luck = draws.unit();
            let shared = draws.unit() < 0.6;
            for (run, shares) in runs.iter_mut().zip([self.ours, self.theirs]) {
                let share = if is_actual { shares[0] } else { shares[1] };
                // Half of what happens is the sample's own, and the other half the attempt's.
                let own = if shared { luck } else { draws.unit() };
                for _ in 0..self.attempts {
                    let at = if draws.unit() < 0.5 { own } else { draws.unit() };
                    run.push(id).field("actual", is_actual).field("predicted", at < share);
                }
            }
        }
        runs
    }
}

#[test]
#[ignore = "slow: cargo xtask calibrate"]
fn differences_of_predictions_cover_and_are_found_no_more_often_than_claimed() {
    let mut table =
        Table::new("differences of precision, recall, F1 and mcc: coverage of 95 % intervals, false findings");
    let registry = Registry::builtin();
    let all = [precision(true), recall(true), f1(true), mcc(true)];
    let names = ["precision", "recall", "f1", "mcc"];
    // The correlation again where its bounds are tightest, with enough draws to tell 93 from 95 %.
    for (samples, attempts, replications, first) in
        [(30, 1, 600, 0), (100, 1, 600, 0), (1000, 1, 300, 0), (30, 5, 400, 0), (60, 3, 400, 0), (1000, 1, 2000, 3)]
    {
        let metrics = &all[first..];
        for (positive, ours, theirs) in [
            (0.5, [0.8, 0.2], [0.8, 0.2]),
            (0.5, [0.9, 0.02], [0.98, 0.02]),
            (0.1, [0.95, 0.05], [0.8, 0.2]),
            (0.1, [0.8, 0.1], [0.8, 0.1]),
            (0.9, [0.95, 0.05], [0.8, 0.2]),
        ] {
            let design = Design { positive, ours, theirs, samples, attempts };
            let mut draws = Draws::new(samples as u64 * 31 + u64::from(attempts) + first as u64, normal_quantile);
            let (mut covered, mut shown, mut found) = ([0u64; 4], [0u64; 4], [0u64; 4]);
            for _ in 0..replications {
                let [candidate, baseline] = design.draw(&mut draws);
                let runs = [("new", &candidate), ("old", &baseline)]
                    .map(|(name, samples)| ComparedRun { name: name.into(), samples });
                let question = CompareQuestion {
                    metrics,
                    registry: &registry,
                    reducer: mean_score(),
                    context: Context::default(),
                    estimand: Estimand::Population,
                    cluster: &[],
                    margin: None,
                    correction: Correction::Holm,
                    pass_rule: PassRule::default(),
                    pairs_max: None,
                };
                let report = compare(&runs, &question).unwrap();
                let (ours, theirs) = (design.truths(ours), design.truths(theirs));
                for (at, metric) in (first..).zip(&report.comparisons[0].metrics) {
                    let truth = ours[at] - theirs[at];
                    // Before it is adjusted for the other metrics.
                    found[at] += u64::from(metric.test.is_some_and(|test| test.p <= 0.05));
                    if let Some(interval) = metric.change.interval {
                        shown[at] += 1;
                        covered[at] += u64::from(interval.contains(truth));
                    }
                }
            }
            for (at, name) in names.into_iter().enumerate().skip(first) {
                let what = format!("{name}, {samples} × {attempts}, positive {positive}, {ours:?} beside {theirs:?}");
                if shown[at] > 0 {
                    table.counted(&what, 0.95, covered[at], shown[at], Claim::AtLeast(0.945));
                }
                if ours == theirs {
                    table.counted(format!("{what}: found"), 0.05, found[at], replications, Claim::AtMost(0.055));
                }
            }
        }
    }
    table.finish();
}

/// The p-value of a change, as `compare` finds it.
fn p_of_change(metric: &Metric, runs: &[Samples; 2], cluster: &[&str]) -> Option<f64> {
    let [candidate, baseline] = runs;
    let runs =
        [("new", candidate), ("old", baseline)].map(|(name, samples)| ComparedRun { name: name.into(), samples });
    let question = CompareQuestion {
        metrics: std::slice::from_ref(metric),
        registry: &Registry::builtin(),
        reducer: mean_score(),
        context: Context::default(),
        estimand: Estimand::Population,
        cluster,
        margin: None,
        correction: Correction::Holm,
        pass_rule: PassRule::default(),
        pairs_max: None,
    };
    let report = compare(&runs, &question).unwrap();
    report.comparisons[0].metrics[0].test.map(|test| test.p)
}

#[test]
#[ignore = "slow: cargo xtask calibrate"]
fn plans_deliver_their_power() {
    const REPLICATIONS: u64 = 2000;
    let mut table = Table::new("power of runs that are as large as planned for 80 %");
    let mut count = |what: String, metric: &Metric, cluster: &[&str], draw: &mut dyn FnMut() -> [Samples; 2]| {
        let found = (0..REPLICATIONS).filter(|_| p_of_change(metric, &draw(), cluster).is_some_and(|p| p <= 0.05));
        let found = found.count() as u64;
        table.counted(what, 0.8, found, REPLICATIONS, Claim::About(0.8, 0.015));
    };
    // Passes that one run has and the other has not, for rises and for drops.
    for (rate, disagreement, difference) in [(0.7, 0.2, 0.05), (0.9, 0.1, 0.04), (0.95, 0.05, 0.05)] {
        let question = SizingQuestion {
            difference: Some(difference),
            pairing: Some(Pairing::Disagreement(disagreement)),
            ..SizingQuestion::new(Spread::of_rate(rate).unwrap(), 0.95, 0.8)
        };
        let samples = size(&question).unwrap().paired.unwrap().samples.unwrap();
        for sign in [1.0, -1.0] {
            let (won, lost) = ((disagreement + sign * difference) / 2.0, (disagreement - sign * difference) / 2.0);
            let mut draws = Draws::new(samples + 1, normal_quantile);
            let mut draw = || {
                let mut runs = [Samples::new(), Samples::new()];
                for id in 0..samples as i64 {
                    let (new, old) = match draws.unit() {
                        u if u < won => (1.0, 0.0),
                        u if u < won + lost => (0.0, 1.0),
                        _ => (1.0, 1.0),
                    };
                    runs[0].push(id).score("judge", new);
                    runs[1].push(id).score("judge", old);
                }
                runs
            };
            let way = if sign > 0.0 { "rise" } else { "drop" };
            let what = format!("passes, disagreement {disagreement}, a {way} by {difference}, n = {samples}");
            count(what, &accuracy(), &[], &mut draw);
        }
    }
    // Scores with a correlation, and differences that go together in documents.
    for (sd, correlation, difference, alike, sign) in [
        (0.25, 0.6, 0.04, 0.0, 1.0),
        (0.25, 0.6, 0.04, 0.0, -1.0),
        (1.0, 0.5, 0.3, 0.3, 1.0),
        (1.0, 0.5, 0.3, 0.3, -1.0),
    ] {
        const SIZE: u64 = 5;
        let effect = 1.0 + (SIZE - 1) as f64 * alike;
        let is_clustered = alike > 0.0;
        let question = SizingQuestion {
            difference: Some(difference),
            pairing: Some(Pairing::Correlation(correlation)),
            clusters: is_clustered.then_some(ClusterDesign { size: SIZE as f64, design_effect: 1.0 }),
            difference_effect: is_clustered.then_some(effect),
            ..SizingQuestion::new(Spread::of_sd(sd).unwrap(), 0.95, 0.8)
        };
        let samples = size(&question).unwrap().paired.unwrap().samples.unwrap();
        let mut draws = Draws::new(samples + 7, normal_quantile);
        let of_difference = sd * (2.0f64 * (1.0 - correlation)).sqrt();
        let mut draw = || {
            let mut runs = [Samples::new(), Samples::new()];
            let mut own = 0.0;
            for id in 0..samples as i64 {
                if id % SIZE as i64 == 0 {
                    own = draws.normal();
                }
                let old = 10.0 + sd * draws.normal();
                let moved = alike.sqrt() * own + (1.0 - alike).sqrt() * draws.normal();
                let new = old + sign * difference + of_difference * moved;
                for (run, score) in runs.iter_mut().zip([new, old]) {
                    run.push(id).score("judge", score).metadata("document", id / SIZE as i64);
                }
            }
            runs
        };
        let clusters: &[&str] = if is_clustered { &["document"] } else { &[] };
        let what = format!("scores, sd {sd}, by {}, alike {alike}, n = {samples}", sign * difference);
        count(what, &mean(), clusters, &mut draw);
    }
    table.finish();
}
