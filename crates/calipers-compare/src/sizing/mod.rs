//! How many samples and attempts: before the money is spent, and what a run that is over could have shown.
//!
//! From a [`Pilot`] or from assumptions, [`size`] says how many samples an interval of some width needs, a gate that can
//! pass, and a difference to be detected; and how many attempts per sample are worth their price. There is
//! deliberately no "power" of a difference that was observed: it says nothing that its p-value does not.

mod plan_report;
mod spread;

pub use plan_report::{PilotRun, PlanBasis, PlanReport};
pub use spread::{Pilot, PilotDifferences, PilotMeasure, ScoreRange, Spread, measure_differences};

use calipers_core::{Caveat, Error};
use calipers_stats::planned_mean::PlannedMean;
use calipers_stats::power::{
    ClusterDesign, Costs, Disagreement, Effect, EpochDesign, GateSampleSize, OptimalAttempts, PairedDesign,
    PlannedVariances, SampleSize, Test, Variances, clusters_needed, gate_sample_size, mcnemar_detectable,
    mcnemar_power, mcnemar_sample_size, optimal_attempts, paired_t_power, paired_t_sample_size, sample_size_z,
    two_proportions_sample_size,
};
use calipers_stats::proportion::{Proportion, perfect_bound};
use calipers_stats::threshold_test::{Direction, ThresholdTest};
use calipers_stats::{AllowedRange, Confidence, Quantity, Undefined, special};

/// The questions a plan answers. Those left out are not answered.
#[derive(Clone, Copy, Debug)]
pub struct SizingQuestion {
    /// How much scores vary.
    pub spread: Spread,
    /// The level of intervals; tests have the error 1 − level.
    pub level: f64,
    /// How often a difference that is there should be found, and a run that deserves it pass its gate.
    pub power: f64,
    /// Attempts at each sample.
    pub attempts: u64,
    /// Clusters of samples.
    pub clusters: Option<ClusterDesign>,
    /// The design effect of the differences of two runs, where runs have shown it; else that of scores is taken for it.
    pub difference_effect: Option<f64>,
    /// Half the width that an interval should have.
    pub half_width: Option<f64>,
    /// A threshold for a rate, and its side.
    pub gate: Option<(f64, Direction)>,
    /// A difference of two runs that should be seen: the other run's rate is higher by it, or lower if that cannot be.
    pub difference: Option<f64>,
    /// What two runs on the same samples share; without it only runs on different samples are planned for.
    pub pairing: Option<Pairing>,
    /// What samples and attempts cost.
    pub costs: Option<Costs>,
    /// The number of samples of a run that is over.
    pub finished: Option<u64>,
}

impl SizingQuestion {
    /// One attempt at each sample, and nothing asked yet.
    #[must_use]
    pub fn new(spread: Spread, level: f64, power: f64) -> Self {
        Self {
            spread,
            level,
            power,
            attempts: 1,
            clusters: None,
            difference_effect: None,
            half_width: None,
            gate: None,
            difference: None,
            pairing: None,
            costs: None,
            finished: None,
        }
    }
}

/// What two runs on the same samples share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pairing {
    /// The correlation of their samples' true means (of single attempts, where attempts are not separated).
    Correlation(f64),
    /// The share of samples that one passes and the other fails.
    Disagreement(f64),
    /// As two runs have shown it; see [`measure_differences`].
    Measured(Variances),
}

/// A plan.
#[derive(Clone, Debug)]
pub struct Sizing {
    /// Samples for the interval.
    pub interval: Option<SampleNeed>,
    /// Samples for the gate.
    pub gate: Option<GateNeed>,
    /// Samples that both runs share, for the difference.
    pub paired: Option<SampleNeed>,
    /// Samples of each run, where they share none, for the difference.
    pub unpaired: Option<SampleNeed>,
    /// Attempts that are worth their price.
    pub attempts: Option<AttemptsPlan>,
    /// What a run that is over could have shown.
    pub finished: Option<SizePoint>,
    /// A few sizes.
    pub table: Vec<SizePoint>,
    /// The same for many sizes, to draw.
    pub curve: Vec<SizePoint>,
    /// What to know about the plan.
    pub caveats: Vec<Caveat>,
}

/// A number of samples, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleNeed {
    /// The smallest number that is enough.
    pub samples: Result<u64, Unplannable>,
    /// The same by the normal approximation, as formulas in the literature have it.
    pub normal: Option<SampleSize>,
    /// How it was found.
    pub method: SizingMethod,
}

/// How a number of samples was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizingMethod {
    /// Blaker's interval at the assumed rate.
    Blaker,
    /// The t interval of a mean, with weight at both ends.
    AdjustedT,
    /// The noncentral t distribution of paired differences.
    PairedNoncentralT,
    /// McNemar's exact test, averaged over the number of samples on which runs disagree.
    McNemarExact,
    /// The normal approximation for two independent shares.
    TwoShares,
    /// The normal approximation for two independent means.
    TwoMeans,
}

/// Why a plan has no answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unplannable {
    /// No number of samples is enough.
    NoNumberIsEnough,
    /// A statistic does not exist for what was asked.
    Statistic(Undefined),
    /// The rate that is expected is not known.
    NeedsRate,
    /// What two runs on the same samples share is not known.
    NeedsPairing,
    /// How much attempts at one sample vary is not known.
    NeedsRepeats,
    /// A correlation outside −1 to 1.
    Correlation(f64),
    /// Runs that disagree on so few samples cannot differ by so much.
    Disagreement {
        /// The share of samples on which they disagree.
        share: f64,
        /// The difference that is to be seen.
        difference: f64,
    },
}

/// The samples that a gate takes, by the exact binomial distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct GateNeed {
    /// The fewest with which it can pass at all: with a perfect score.
    pub perfect: Result<u64, Unplannable>,
    /// Those with which a run of the assumed rate passes with the power of the question.
    pub expected: Result<GateSampleSize, Unplannable>,
}

/// What attempts are worth.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptsPlan {
    /// The number of attempts at each sample that buys the smallest error for the money, or why there is none.
    pub optimal: Result<OptimalAttempts, Unplannable>,
    /// Plans with the same power or width, and their price.
    pub options: Vec<AttemptsOption>,
}

/// Some attempts at each sample, and what that takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttemptsOption {
    /// Attempts at each sample.
    pub attempts: u64,
    /// Samples that the question then takes.
    pub samples: u64,
    /// What all of it costs.
    pub cost: f64,
}

/// What a number of samples shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizePoint {
    /// The number of samples.
    pub samples: u64,
    /// Half the width of the interval.
    pub half_width: Option<f64>,
    /// The smallest difference that two runs on these samples detect with the power of the question.
    pub detectable_paired: Option<f64>,
    /// The same for two runs on different samples, as many each.
    pub detectable_unpaired: Option<f64>,
    /// The power of a paired comparison to detect the difference in question.
    pub power: Option<f64>,
    /// The highest threshold (for "at most": the lowest) that a perfect score passes.
    pub attainable_gate: Option<f64>,
}

/// The most samples that are planned for.
const SAMPLES_MAX: u64 = 1_000_000_000;
/// Gates are walked through size by size, up to this one.
const GATE_SAMPLES_MAX: u64 = 100_000;
/// From here on the normal approximation is as good as t.
const MANY: u64 = 50;
const TABLE: [u64; 9] = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
const ATTEMPTS: [u64; 6] = [1, 2, 3, 5, 8, 10];

/// Answers a question about sizes.
///
/// ```
/// use calipers_compare::sizing::{SizingQuestion, Spread, size};
/// use calipers_core::stats::threshold_test::Direction;
///
/// let plan = size(&SizingQuestion {
///     half_width: Some(0.02),
///     gate: Some((0.95, Direction::AtLeast)),
///     ..SizingQuestion::new(Spread::of_rate(0.99)?, 0.95, 0.8)
/// })?;
/// assert_eq!(plan.gate.expect("asked for").perfect, Ok(59));
/// assert_eq!(plan.interval.expect("asked for").samples, Ok(168));
/// # Ok::<(), calipers_core::Error>(())
/// ```
pub fn size(question: &SizingQuestion) -> Result<Sizing, Error> {
    let planner = Planner::new(question)?;
    let mut sizes: Vec<u64> = (0..=CURVE).map(|step| curve_size(step, planner.largest())).collect();
    sizes.dedup();
    Ok(Sizing {
        interval: question.half_width.map(|half| planner.interval(half, question.attempts)),
        gate: question.gate.map(|(threshold, direction)| planner.gate(threshold, direction)),
        paired: planner.paired(question.attempts),
        unpaired: question.difference.map(|delta| planner.unpaired(delta)),
        attempts: question.costs.map(|costs| planner.attempts(costs)),
        finished: question.finished.map(|samples| planner.point(samples)),
        table: TABLE.into_iter().map(|samples| planner.point(samples)).collect(),
        curve: sizes.into_iter().map(|samples| planner.point(samples)).collect(),
        caveats: planner.caveats(),
    })
}

/// The number of steps of a curve.
const CURVE: u32 = 40;

/// Sizes from 5 on, each larger by the same factor.
fn curve_size(step: u32, largest: u64) -> u64 {
    let share = f64::from(step) / f64::from(CURVE);
    (5.0 * (largest as f64 / 5.0).powf(share)).round() as u64
}

struct Planner<'a> {
    question: &'a SizingQuestion,
    confidence: Confidence,
    test: Test,
}

impl<'a> Planner<'a> {
    fn new(question: &'a SizingQuestion) -> Result<Self, Error> {
        let refused = |_: Undefined| Error::argument("the level lies strictly between 0 and 1", "95 % is written 0.95");
        let confidence = Confidence::two_sided(question.level).map_err(refused)?;
        let test = Test::two_sided(1.0 - question.level).map_err(refused)?;
        let is_open = |x: f64| x > 0.0 && x < 1.0;
        let is_positive = |x: f64| x > 0.0 && x.is_finite();
        for (holds, message, hint) in [
            (is_open(question.power), "the power lies strictly between 0 and 1", "80 % is written 0.8"),
            (question.attempts > 0, "a sample has at least one attempt", "name a number from 1 on"),
            (question.half_width.is_none_or(is_positive), "half a width is above 0", "±2 points are written 0.02"),
            (
                question.difference.is_none_or(|delta| is_positive(delta.abs())),
                "a difference that is to be seen is not 0",
                "two points are written 0.02",
            ),
            (
                question.clusters.is_none_or(|c| c.size >= 1.0 && is_positive(c.design_effect)),
                "clusters have at least one sample and a design effect above 0",
                "a design effect of 2 takes twice the samples",
            ),
        ] {
            if !holds {
                return Err(Error::argument(message, hint));
            }
        }
        Ok(Self { question, confidence, test })
    }

    fn design_effect(&self) -> f64 {
        self.question.clusters.map_or(1.0, |clusters| clusters.design_effect)
    }

    /// The design effect of the differences of two runs. Pairs take out what makes samples hard and leave what makes one run better
    /// on some clusters, so it may be smaller or larger than that of scores.
    fn difference_effect(&self) -> f64 {
        let effect = self.question.difference_effect.filter(|_| self.question.clusters.is_some());
        effect.unwrap_or_else(|| self.design_effect())
    }

    /// Half the width of the interval that so many samples will have.
    fn half_width(&self, samples: u64, attempts: u64) -> Option<f64> {
        let spread = &self.question.spread;
        if let (true, Some(rate)) = (self.is_decided_by_counts(attempts), spread.mean) {
            // Whole samples fall on either side of the rate, and the interval of either may be the wider one.
            let trials = samples.max(1) as f64;
            let widths = [(rate * trials).floor(), (rate * trials).ceil()].map(|successes| {
                let share = Proportion::new(successes as u64, trials as u64).ok()?;
                share.blaker(self.confidence).width()
            });
            return Some(widths[0]?.max(widths[1]?) / 2.0);
        }
        let units = self.question.clusters.map_or(samples as f64, |clusters| samples as f64 / clusters.size);
        let sd = self.sd_of_unit(spread.variance(attempts).sqrt(), self.design_effect());
        let planned = |mean: f64| PlannedMean { units, mean, variance: sd * sd };
        let beyond = |end: f64, mean: f64| mean + (end - mean) * self.sd_of_unit(1.0, self.design_effect()).min(1.0);
        let interval = match (spread.range, spread.mean) {
            (ScoreRange::Unit, Some(mean)) => planned(mean).unit_interval(self.confidence),
            (ScoreRange::Open { least, most }, Some(mean)) => {
                planned(mean).open_interval((beyond(least, mean), beyond(most, mean)), self.confidence)
            }
            _ => match mean_near_end(spread.variance(1)) {
                Some(mean) => planned(mean).unit_interval(self.confidence),
                // As far as so many normal values reach.
                None => {
                    let reach = sd * special::normal_quantile(1.0 - 1.0 / (units + 1.0));
                    planned(0.0).open_interval((-reach, reach), self.confidence)
                }
            },
        };
        interval.ok()?.width().map(|width| width / 2.0)
    }

    fn interval(&self, half: f64, attempts: u64) -> SampleNeed {
        let is_enough = |samples| self.half_width(samples, attempts).is_some_and(|width| width <= half);
        let is_share = self.is_decided_by_counts(attempts) && self.question.spread.mean.is_some();
        SampleNeed {
            samples: find_smallest(is_enough).ok_or(Unplannable::NoNumberIsEnough),
            normal: None,
            method: if is_share { SizingMethod::Blaker } else { SizingMethod::AdjustedT },
        }
    }

    fn gate(&self, threshold: f64, direction: Direction) -> GateNeed {
        let alpha = 1.0 - self.question.level;
        let gate = match direction {
            Direction::AtLeast => ThresholdTest::at_least(threshold, alpha),
            Direction::AtMost => ThresholdTest::at_most(threshold, alpha),
        };
        let inflate = |samples: u64| (samples as f64 * self.design_effect() - 1e-9).ceil() as u64;
        let perfect = gate.and_then(ThresholdTest::samples_to_pass).map(inflate).map_err(Unplannable::Statistic);
        let expected = match (gate, self.question.spread.mean) {
            (_, None) => Err(Unplannable::NeedsRate),
            (gate, Some(rate)) => gate
                .and_then(|gate| gate_sample_size(gate, rate, self.question.power, GATE_SAMPLES_MAX))
                .map(|size| GateSampleSize { first: inflate(size.first), stable: size.stable.map(inflate) })
                .map_err(Unplannable::Statistic),
        };
        GateNeed { perfect, expected }
    }

    /// The standard deviation of the differences of two runs on the same samples.
    fn sd_of_differences(&self, attempts: u64, delta: f64) -> Result<f64, Unplannable> {
        let pairing = self.question.pairing.ok_or(Unplannable::NeedsPairing)?;
        let Spread { between, within, .. } = self.question.spread;
        let variances = match pairing {
            Pairing::Correlation(correlation) if (-1.0..=1.0).contains(&correlation) => {
                // The scores of single attempts are correlated as far as samples differ; attempts add noise of their own.
                let within = within.unwrap_or(0.0);
                let shared = correlation * (between + within);
                Variances { between: 2.0 * (between - shared).max(0.0), within_a: within, within_b: within }
            }
            Pairing::Correlation(correlation) => return Err(Unplannable::Correlation(correlation)),
            Pairing::Disagreement(share) => {
                let variance = share - delta * delta;
                if !(0.0..=1.0).contains(&share) || variance <= 0.0 {
                    return Err(Unplannable::Disagreement { share, difference: delta });
                }
                return Ok(variance.sqrt());
            }
            Pairing::Measured(variances) => variances,
        };
        let epochs = EpochDesign { a: attempts, b: attempts };
        let design = PairedDesign::new(variances, epochs).map_err(Unplannable::Statistic)?;
        Ok(design.variance().sqrt())
    }

    /// True when passes are counted: in the interval of a run, and where two runs are compared by what each passes alone.
    fn is_decided_by_counts(&self, attempts: u64) -> bool {
        self.question.spread.is_share && attempts == 1 && self.question.clusters.is_none()
    }

    fn paired(&self, attempts: u64) -> Option<SampleNeed> {
        let delta = self.question.difference?;
        let method = SizingMethod::PairedNoncentralT;
        let sd = match self.sd_of_differences(attempts, delta) {
            Ok(sd) => sd,
            Err(why) => return Some(SampleNeed { samples: Err(why), normal: None, method }),
        };
        let effect = Effect { delta, sd };
        let method = if self.is_decided_by_counts(attempts) { SizingMethod::McNemarExact } else { method };
        let samples = match self.question.clusters {
            None if method == SizingMethod::McNemarExact => {
                mcnemar_sample_size(disagreement(sd, delta), self.test, self.question.power)
            }
            None => paired_t_sample_size(effect, self.test, self.question.power),
            Some(ClusterDesign { size, .. }) => {
                let clusters = ClusterDesign { size, design_effect: self.difference_effect() };
                clusters_needed(effect, clusters, self.test, self.question.power)
                    .map(|count| (count as f64 * size).ceil() as u64)
            }
        };
        let inflated = Effect { delta, sd: sd * self.difference_effect().sqrt() };
        let normal = sample_size_z(inflated, self.test, self.question.power).ok();
        Some(SampleNeed { samples: samples.map_err(Unplannable::Statistic), normal, method })
    }

    /// The samples of each of two runs that share none.
    fn unpaired(&self, delta: f64) -> SampleNeed {
        let (spread, power) = (&self.question.spread, self.question.power);
        let (size, method) = match (spread.is_share, self.question.attempts, spread.mean) {
            (true, 1, Some(rate)) => {
                // A drop from a high rate takes more samples than a rise does, and either has to be seen.
                let others = [rate + delta, rate - delta].into_iter().filter(|other| (0.0..=1.0).contains(other));
                let sizes = others.map(|other| two_proportions_sample_size(rate, other, self.test, power));
                let more = |a: &Result<SampleSize, Undefined>, b: &Result<SampleSize, Undefined>| {
                    let real =
                        |size: &Result<SampleSize, Undefined>| size.as_ref().map_or(f64::INFINITY, |size| size.real);
                    real(a).total_cmp(&real(b))
                };
                let too_large = Err(Undefined::OutOfRange {
                    what: Quantity::Share,
                    value: rate + delta,
                    allowed: AllowedRange::UnitInterval,
                });
                (sizes.max_by(more).unwrap_or(too_large), SizingMethod::TwoShares)
            }
            _ => {
                let sd = (2.0 * spread.variance(self.question.attempts)).sqrt();
                (sample_size_z(Effect { delta, sd }, self.test, power), SizingMethod::TwoMeans)
            }
        };
        let inflate = |size: &SampleSize| (size.real * self.design_effect() - 1e-9).ceil().max(1.0) as u64;
        SampleNeed {
            samples: size.as_ref().map(inflate).map_err(|why| Unplannable::Statistic(*why)),
            normal: size.ok(),
            method,
        }
    }

    fn attempts(&self, costs: Costs) -> AttemptsPlan {
        let Spread { between, within, .. } = self.question.spread;
        let optimal = match within {
            None => Err(Unplannable::NeedsRepeats),
            Some(within) => {
                optimal_attempts(PlannedVariances { between, within }, costs).map_err(Unplannable::Statistic)
            }
        };
        let best = optimal.as_ref().ok().map(|optimal: &OptimalAttempts| optimal.whole);
        let mut counts: Vec<u64> = ATTEMPTS.into_iter().chain(best).collect();
        counts.sort_unstable();
        counts.dedup();
        let option = |attempts: u64| {
            let needed = self.paired(attempts).filter(|needed| needed.samples.is_ok());
            let needed = needed.or_else(|| self.question.half_width.map(|half| self.interval(half, attempts)))?;
            let samples = needed.samples.ok()?;
            let cost = samples as f64 * (costs.sample + attempts as f64 * costs.attempt);
            Some(AttemptsOption { attempts, samples, cost })
        };
        let options = if within.is_some() { counts.into_iter().filter_map(option).collect() } else { Vec::new() };
        AttemptsPlan { optimal, options }
    }

    /// The samples to draw a curve up to: twice as many as anything takes, and no fewer than the table shows.
    fn largest(&self) -> u64 {
        let question = self.question;
        let needed =
            [question.half_width.map(|half| self.interval(half, question.attempts)), self.paired(question.attempts)];
        let most = needed.into_iter().flatten().filter_map(|needed| needed.samples.ok()).max().unwrap_or(0);
        most.saturating_mul(2).clamp(TABLE[TABLE.len() - 1], SAMPLES_MAX)
    }

    fn point(&self, samples: u64) -> SizePoint {
        let question = self.question;
        let attempts = question.attempts;
        let sd = self.sd_of_differences(attempts, 0.0).ok();
        let apart = (2.0 * question.spread.variance(attempts)).sqrt();
        let power = question.difference.and_then(|delta| {
            let sd = self.sd_of_differences(attempts, delta).ok()?;
            if self.is_decided_by_counts(attempts) {
                return mcnemar_power(samples, disagreement(sd, delta), self.test).ok();
            }
            let units = self.units(samples)?;
            let effect = Effect { delta, sd: self.sd_of_unit(sd, self.difference_effect()) };
            paired_t_power(units, effect, self.test).ok()
        });
        // Shares differ by 1 at most: a larger difference is no answer.
        let can_be = |difference: &f64| !question.spread.is_share || *difference <= 1.0;
        let bound = perfect_bound((samples as f64 / self.design_effect()) as u64, 1.0 - question.level).ok();
        SizePoint {
            samples,
            half_width: self.half_width(samples, attempts).filter(can_be),
            detectable_paired: match sd {
                Some(sd) if self.is_decided_by_counts(attempts) => {
                    mcnemar_detectable(samples, sd * sd, self.test, question.power).ok()
                }
                sd => sd.zip(self.detectable(samples, self.difference_effect())).map(|(sd, size)| sd * size),
            }
            .filter(can_be),
            detectable_unpaired: self
                .detectable(samples, self.design_effect())
                .filter(|_| apart > 0.0)
                .map(|size| apart * size)
                .filter(can_be),
            power,
            attainable_gate: bound.filter(|_| question.spread.is_share).map(|bound| match question.gate {
                Some((_, Direction::AtMost)) => 1.0 - bound,
                _ => bound,
            }),
        }
    }

    /// The independent units among so many samples.
    fn units(&self, samples: u64) -> Option<u64> {
        let units = self.question.clusters.map_or(samples, |clusters| (samples as f64 / clusters.size) as u64);
        (units > 1).then_some(units)
    }

    /// The standard deviation of a unit's mean, with this design effect.
    fn sd_of_unit(&self, sd: f64, design_effect: f64) -> f64 {
        let size = self.question.clusters.map_or(1.0, |clusters| clusters.size);
        sd * (design_effect / size).sqrt()
    }

    /// The smallest difference that so many samples find, in standard deviations of what is averaged.
    fn detectable(&self, samples: u64, design_effect: f64) -> Option<f64> {
        let units = self.units(samples)?;
        let of_unit = self.sd_of_unit(1.0, design_effect);
        let variances = Variances { between: of_unit * of_unit, within_a: 0.0, within_b: 0.0 };
        let design = PairedDesign::new(variances, EpochDesign { a: 1, b: 1 }).ok()?;
        let normal = design.detectable(units, self.test, self.question.power).ok()?;
        if units >= MANY {
            return Some(normal);
        }
        // Few units know their error badly: t asks for more.
        let finds = |delta: f64| paired_t_power(units, Effect { delta, sd: of_unit }, self.test).unwrap_or(0.0);
        let (mut low, mut high) = (normal / 2.0, normal);
        while finds(high) < self.question.power {
            (low, high) = (high, 2.0 * high);
        }
        while high - low > 1e-9 * high {
            let middle = low + (high - low) / 2.0;
            (low, high) = if finds(middle) < self.question.power { (middle, high) } else { (low, middle) };
        }
        Some(high)
    }

    fn caveats(&self) -> Vec<Caveat> {
        let question = self.question;
        let has_gate = question.gate.is_some();
        let by_disagreement = matches!(question.pairing, Some(Pairing::Disagreement(_)));
        let assumes_effect = question.difference.is_some()
            && question.pairing.is_some()
            && question.clusters.is_some()
            && question.difference_effect.is_none();
        let all = [
            (question.attempts > 1 && question.spread.within.is_none(), Caveat::UnknownAttempts),
            (question.difference.is_some() && question.pairing.is_none(), Caveat::UnknownPairing),
            (by_disagreement && question.attempts > 1, Caveat::DisagreementOfAttempts),
            (has_gate && !question.spread.is_share, Caveat::GateOfScores),
            (has_gate && question.clusters.is_some(), Caveat::GateOfClusters),
            (assumes_effect, Caveat::EffectOfScores),
        ];
        all.into_iter().filter(|(applies, _)| *applies).map(|(_, caveat)| caveat).collect()
    }
}

/// The mean nearest to an end that scores between 0 and 1 can have whose variance is this; none where it is no variance of such
/// scores. Their interval is widest there.
fn mean_near_end(variance: f64) -> Option<f64> {
    (variance <= 0.25).then(|| (1.0 + (1.0 - 4.0 * variance).sqrt()) / 2.0)
}

/// How often runs disagree whose differences have this standard deviation around this mean.
fn disagreement(sd: f64, delta: f64) -> Disagreement {
    let share = (sd * sd + delta * delta).min(1.0);
    // Where runs disagree in one way only, rounding must not make the share smaller than the difference.
    let is_rounded = (share - delta.abs()).abs() <= 1e-9 * delta.abs();
    Disagreement { share: if is_rounded { delta.abs() } else { share }, delta }
}

/// The smallest number of samples that is enough, where more are never worse.
fn find_smallest(is_enough: impl Fn(u64) -> bool) -> Option<u64> {
    if !is_enough(SAMPLES_MAX) {
        return None;
    }
    let (mut low, mut high) = (1, SAMPLES_MAX);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_enough(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(spread: Spread) -> SizingQuestion {
        SizingQuestion::new(spread, 0.95, 0.8)
    }

    #[test]
    fn the_smallest_number_that_is_enough_is_found() {
        for enough_from in [1, 2, 59, 1000, SAMPLES_MAX] {
            assert_eq!(find_smallest(|samples| samples >= enough_from), Some(enough_from));
        }
        assert_eq!(find_smallest(|_| false), None);
    }

    #[test]
    fn a_curve_goes_from_5_to_the_largest_size() {
        assert_eq!((curve_size(0, 5000), curve_size(CURVE, 5000)), (5, 5000));
        assert!((1..=CURVE).all(|step| curve_size(step, 5000) >= curve_size(step - 1, 5000)));
    }

    #[test]
    fn each_assumption_that_is_missing_is_a_caveat() {
        let rate = Spread::of_rate(0.8).unwrap();
        let repeated = rate.with_within(0.5).unwrap();
        let scores = Spread::of_sd(0.3).unwrap();
        let gate = Some((0.9, Direction::AtLeast));
        let clusters = Some(ClusterDesign { size: 3.0, design_effect: 2.0 });
        let disagreement = Some(Pairing::Disagreement(0.2));
        for (question, want) in [
            (question(rate), vec![]),
            (SizingQuestion { attempts: 3, ..question(rate) }, vec![Caveat::UnknownAttempts]),
            (SizingQuestion { attempts: 3, ..question(repeated) }, vec![]),
            (SizingQuestion { difference: Some(0.05), ..question(rate) }, vec![Caveat::UnknownPairing]),
            (SizingQuestion { difference: Some(0.05), pairing: disagreement, ..question(rate) }, vec![]),
            (
                SizingQuestion { pairing: disagreement, attempts: 2, ..question(repeated) },
                vec![Caveat::DisagreementOfAttempts],
            ),
            (SizingQuestion { gate, ..question(scores) }, vec![Caveat::GateOfScores]),
            (SizingQuestion { gate, clusters, ..question(rate) }, vec![Caveat::GateOfClusters]),
            (
                SizingQuestion { difference: Some(0.05), pairing: disagreement, clusters, ..question(rate) },
                vec![Caveat::EffectOfScores],
            ),
        ] {
            assert_eq!(size(&question).unwrap().caveats, want, "{question:?}");
        }
    }

    #[test]
    fn what_has_no_answer_says_why() {
        let rate = Spread::of_rate(0.8).unwrap();
        let paired = |pairing: Option<Pairing>| {
            let question = SizingQuestion { difference: Some(0.5), pairing, ..question(rate) };
            size(&question).unwrap().paired.unwrap().samples
        };
        for (pairing, want) in [
            (None, Unplannable::NeedsPairing),
            (Some(Pairing::Correlation(1.5)), Unplannable::Correlation(1.5)),
            (Some(Pairing::Disagreement(0.2)), Unplannable::Disagreement { share: 0.2, difference: 0.5 }),
        ] {
            assert_eq!(paired(pairing), Err(want));
        }
        let gate = Some((0.9, Direction::AtLeast));
        let scores = size(&SizingQuestion { gate, ..question(Spread::of_sd(0.3).unwrap()) }).unwrap();
        assert_eq!(scores.gate.unwrap().expected, Err(Unplannable::NeedsRate));
        let costs = Some(Costs { sample: 1.0, attempt: 1.0 });
        let once = size(&SizingQuestion { costs, ..question(rate) }).unwrap();
        assert_eq!(once.attempts.unwrap().optimal, Err(Unplannable::NeedsRepeats));
    }
}
