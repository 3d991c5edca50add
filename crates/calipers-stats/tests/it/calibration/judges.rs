//! Rates behind a judge that errs, with labels for some of the things judged.

use super::{count_each, level};
use calipers_stats::agreement::{binary_alpha, binary_alpha_interval, binary_kappa_interval};
use calipers_stats::confusion::{Confusion, Share};
use calipers_stats::corrected_mean::CorrectedMean;
use calipers_stats::double_sampling::DoubleSample;
use calipers_stats::joined_difference::JoinedDifference;
use calipers_stats::misclassification::Misclassified;
use calipers_stats::prediction_powered::PredictionPowered;
use calipers_stats::proportion::Proportion;
use calipers_stats::special::normal_quantile;
use calipers_stats::{Confidence, Interval, Moments, Undefined};
use calipers_testing::simulation::{Claim, Draws, Table};

/// What a judge is like, and how much of its work was labelled.
#[derive(Clone, Copy)]
struct Design {
    rate: f64,
    sensitivity: f64,
    specificity: f64,
    labels: u64,
    samples: u64,
}

impl Design {
    fn draw(self, draws: &mut Draws) -> DoubleSample {
        let mut seen = DoubleSample::default();
        for sample in 0..self.samples {
            let truth = draws.unit() < self.rate;
            let judged = draws.unit() < if truth { self.sensitivity } else { 1.0 - self.specificity };
            match (sample < self.labels, judged) {
                (true, _) => seen.known.add(truth, judged),
                (false, true) => seen.positives += 1,
                (false, false) => seen.negatives += 1,
            }
        }
        seen
    }

    /// The chances of agreeing on yes, of a false and of a missed yes, and of agreeing on no, times a large number.
    fn limit(self) -> Confusion {
        let large = |x: f64| (x * 1e12).round() as u64;
        let (yes, no) = (self.rate, 1.0 - self.rate);
        Confusion::new(
            large(yes * self.sensitivity),
            large(no * (1.0 - self.specificity)),
            large(yes * (1.0 - self.sensitivity)),
            large(no * self.specificity),
        )
    }
}

fn designs() -> impl Iterator<Item = Design> {
    [0.05, 0.3, 0.5, 0.85, 0.95].into_iter().flat_map(|rate| {
        [(0.7, 0.7), (0.7, 0.99), (0.85, 0.9), (0.95, 0.7), (0.95, 0.99)].into_iter().flat_map(
            move |(sensitivity, specificity)| {
                [(50, 100), (50, 500), (100, 1000), (500, 1000)].into_iter().map(move |(labels, samples)| Design {
                    rate,
                    sensitivity,
                    specificity,
                    labels,
                    samples,
                })
            },
        )
    })
}

/// Rogan and Gladen's interval, from the labels of the sample itself.
fn rogan_gladen(seen: &DoubleSample) -> Result<Interval, Undefined> {
    let positives = seen.known.true_positives + seen.known.false_positives + seen.positives;
    Misclassified {
        positives: Proportion::new(positives, seen.total())?,
        sensitivity: seen.known.share(Share::Recall)?,
        specificity: seen.known.share(Share::Specificity)?,
    }
    .interval(level())
}

#[test]
#[ignore = "calibration"]
fn corrected_rates_and_agreement_cover_their_truth() {
    const REPLICATIONS: u64 = 2000;
    let names = ["double sampling", "Rogan-Gladen, or none", "kappa", "alpha", "bias"];
    let mut table = Table::new("Judges and labels: coverage of 95 % intervals, the least of 100 designs");
    let mut least = names.map(|_| (REPLICATIONS, String::new()));
    for (seed, design) in designs().enumerate() {
        let limit = design.limit();
        let (kappa, alpha) = (limit.kappa().expect("varies"), binary_alpha(&limit).expect("varies"));
        let bias = design.rate * design.sensitivity + (1.0 - design.rate) * (1.0 - design.specificity) - design.rate;
        let hits = count_each(seed as u64 + 100, REPLICATIONS, |draws| {
            let seen = design.draw(draws);
            let holds = |interval: Result<Interval, Undefined>, truth: f64| interval.is_ok_and(|it| it.contains(truth));
            let mut differences = Moments::default();
            differences.add_repeated(1.0, seen.known.false_positives);
            differences.add_repeated(-1.0, seen.known.false_negatives);
            differences.add_repeated(0.0, seen.known.true_positives + seen.known.true_negatives);
            [
                holds(seen.interval(level()), design.rate),
                rogan_gladen(&seen).map_or(true, |interval| interval.contains(design.rate)),
                binary_kappa_interval(&seen.known, level()).map_or(true, |interval| interval.contains(kappa)),
                binary_alpha_interval(&seen.known, level()).map_or(true, |interval| interval.contains(alpha)),
                holds(differences.difference_interval(level()), bias),
            ]
        });
        for (least, hits) in least.iter_mut().zip(hits) {
            if hits < least.0 {
                let Design { rate, sensitivity, specificity, labels, samples } = design;
                *least = (hits, format!("{rate}, {sensitivity}/{specificity}, {labels} of {samples}"));
            }
        }
    }
    for (name, (hits, design)) in names.into_iter().zip(least) {
        table.counted(format!("{name} ({design})"), 0.95, hits, REPLICATIONS, Claim::AtLeast(0.94));
    }
    table.finish();
}

#[test]
#[ignore = "calibration"]
fn corrected_means_of_graded_scores_cover_their_truth() {
    const REPLICATIONS: u64 = 2000;
    type Law = fn(&mut Draws) -> f64;
    type Judge = fn(&mut Draws, f64) -> f64;
    let laws: [(&str, Law, f64); 4] = [
        ("near an end", |draws| draws.beta(5.0, 2.0), 5.0 / 7.0),
        ("U-shaped", |draws| draws.beta(0.3, 0.3), 0.5),
        ("rarely 0", |draws| if draws.unit() < 0.01 { 0.0 } else { 0.9 }, 0.891),
        ("0 or 1", |draws| draws.coin(0.9), 0.9),
    ];
    let judges: [(&str, Judge); 3] = [
        ("noisy and kind", |draws, truth| (truth + 0.05 + 0.1 * draws.normal()).clamp(0.0, 1.0)),
        ("exact", |_, truth| truth),
        ("half guessing", |draws, truth| if draws.unit() < 0.5 { truth } else { draws.unit() }),
    ];
    let mut table = Table::new("Graded judges and labels: coverage of 95 % intervals");
    for (seed, (name, law, mean)) in laws.into_iter().enumerate() {
        for (judge_name, judge) in judges {
            for (labels, samples) in [(50, 100), (50, 500), (200, 1000)] {
                let [adjusted] = count_each(seed as u64 + 300, REPLICATIONS, |draws| {
                    let truths: Vec<f64> = (0..samples).map(|_| law(draws)).collect();
                    let judged: Vec<f64> = truths.iter().map(|&truth| judge(draws, truth)).collect();
                    let powered =
                        PredictionPowered::new(&truths[..labels], &judged[..labels], &judged[labels..]).unwrap();
                    [powered.interval(level()).unwrap().contains(mean)]
                });
                let what = format!("{name}, {judge_name}, {labels} of {samples}");
                table.counted(what, 0.95, adjusted, REPLICATIONS, Claim::AtLeast(0.94));
            }
        }
    }
    table.finish();
}

/// How often one-sided 95 % bounds of graded means miss, the lower and the upper one.
#[test]
#[ignore = "calibration"]
fn bounds_of_corrected_means_of_grades_keep_their_level() {
    const REPLICATIONS: u64 = 2000;
    type Law = fn(&mut Draws) -> f64;
    let laws: [(&str, Law, f64); 4] = [
        ("near an end", |draws| draws.beta(5.0, 2.0), 5.0 / 7.0),
        ("U-shaped", |draws| draws.beta(0.3, 0.3), 0.5),
        ("rarely 0", |draws| if draws.unit() < 0.03 { 0.0 } else { 0.9 }, 0.873),
        ("mostly 1", |draws| if draws.unit() < 0.8 { 1.0 } else { draws.unit() }, 0.9),
    ];
    let mut table = Table::new("Graded judges and labels: one-sided 95 % bounds that miss");
    for (seed, (name, law, mean)) in laws.into_iter().enumerate() {
        for noise in [0.0, 0.1, 0.4] {
            for (labels, samples) in [(50, 100), (50, 500), (200, 1000)] {
                let [low, high] = count_each(seed as u64 + 500, REPLICATIONS, |draws| {
                    let mut draw = || {
                        let truth = law(draws);
                        (truth, (truth + 0.05 + noise * draws.normal()).clamp(0.0, 1.0))
                    };
                    let pairs: Vec<(f64, f64)> = (0..labels).map(|_| draw()).collect();
                    let others: Vec<f64> = (labels..samples).map(|_| draw().1).collect();
                    let corrected = CorrectedMean::new(&pairs, &others).unwrap();
                    let lower = corrected.interval(Confidence::lower(0.95).unwrap()).unwrap().lower.unwrap();
                    let upper = corrected.interval(Confidence::upper(0.95).unwrap()).unwrap().upper.unwrap();
                    [lower > mean, upper < mean]
                });
                let what = format!("{name}, noise {noise}, {labels} of {samples}");
                table.counted(format!("{what}: lower"), 0.05, low, REPLICATIONS, Claim::AtMost(0.06));
                table.counted(format!("{what}: upper"), 0.05, high, REPLICATIONS, Claim::AtMost(0.06));
            }
        }
    }
    table.finish();
}

/// A judge that is better at one run than at the other, on samples that are hard for both.
#[test]
#[ignore = "calibration"]
fn differences_of_corrected_rates_cover_their_truth() {
    const REPLICATIONS: u64 = 2000;
    let mut table = Table::new("Judges and labels: coverage of 95 % intervals of differences");
    for (seed, (ours, theirs)) in [(0.8, 0.8), (0.9, 0.8), (0.5, 0.6), (0.95, 0.95)].into_iter().enumerate() {
        for judges in [[(0.9, 0.9), (0.7, 0.9)], [(0.95, 0.99), (0.7, 0.7)], [(0.9, 0.9), (0.9, 0.9)]] {
            for (labels, samples) in [(50, 100), (50, 500), (200, 500)] {
                for is_same in [true, false] {
                    let [held] = count_each(seed as u64 + 700, REPLICATIONS, |draws| {
                        let arms = draw_arms(draws, [ours, theirs], judges, (labels, samples), is_same);
                        let [one, other] = arms.each_ref().map(|arm| correct(arm));
                        let influences = |mean: &CorrectedMean, arm: &[(f64, Option<f64>)]| -> Vec<f64> {
                            arm.iter().map(|(judged, label)| mean.influence(*judged, *label)).collect()
                        };
                        let pairs =
                            calipers_stats::paired::pair(&influences(&one, &arms[0]), &influences(&other, &arms[1]));
                        let correlation = pairs.unwrap().correlation().unwrap_or(0.0);
                        let difference = JoinedDifference { ours: one, theirs: other, correlation };
                        [difference.interval(level()).unwrap().contains(ours - theirs)]
                    });
                    let which = if is_same { "the same" } else { "other" };
                    let what =
                        format!("{ours} and {theirs}, judges {judges:?}, {labels} of {samples}, {which} labelled");
                    table.counted(what, 0.95, held, REPLICATIONS, Claim::AtLeast(0.94));
                }
            }
        }
    }
    table.finish();
}

/// Scores with labels of two runs on the same samples.
fn draw_arms(
    draws: &mut Draws,
    rates: [f64; 2],
    judges: [(f64, f64); 2],
    (labels, samples): (usize, usize),
    is_same: bool,
) -> [Vec<(f64, Option<f64>)>; 2] {
    let mut arms = [Vec::new(), Vec::new()];
    for sample in 0..samples {
        let shared = draws.normal();
        for (arm, place) in arms.iter_mut().zip(0..) {
            let (sensitivity, specificity) = judges[place];
            let is_good = 0.8 * shared + 0.6 * draws.normal() < normal_quantile(rates[place]);
            let judged = draws.coin(if is_good { sensitivity } else { 1.0 - specificity });
            let is_labelled = if is_same || place == 0 { sample < labels } else { sample >= samples - labels };
            arm.push((judged, is_labelled.then_some(f64::from(u8::from(is_good)))));
        }
    }
    arms
}

fn correct(arm: &[(f64, Option<f64>)]) -> CorrectedMean {
    let pairs: Vec<(f64, f64)> = arm.iter().filter_map(|(judged, label)| Some(((*label)?, *judged))).collect();
    let others: Vec<f64> = arm.iter().filter(|(_, label)| label.is_none()).map(|(judged, _)| *judged).collect();
    CorrectedMean::new(&pairs, &others).unwrap()
}
