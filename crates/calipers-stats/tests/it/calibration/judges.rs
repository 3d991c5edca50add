//! Rates behind a judge that errs, with labels for some of the things judged.

use super::{count_each, level};
use calipers_stats::agreement::{binary_alpha, binary_alpha_interval, binary_kappa_interval};
use calipers_stats::confusion::{Confusion, Share};
use calipers_stats::double_sampling::DoubleSample;
use calipers_stats::misclassification::Misclassified;
use calipers_stats::prediction_powered::PredictionPowered;
use calipers_stats::proportion::Proportion;
use calipers_stats::{Interval, Moments, Undefined};
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
