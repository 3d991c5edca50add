//! How often gates with 95 % confidence pass an agent that is exactly on the threshold, and how often their intervals cover.
//!
//! Through the judge, from samples to a report. `cargo xtask calibrate gates_keep_their_level` runs it; with `BLESS=1` the table in
//! `docs/concepts/calibration.md` is rewritten. With `ONLY=mcc`, only rows of that gate are counted, and nothing is written.

mod further;
mod outsiders;
mod strangers;
mod unusual;

use crate::{gate_on, judged, judged_against, judged_at, policy};
use calipers_core::stats::Interval;
use calipers_core::stats::special::normal_quantile;
use calipers_core::{Samples, Value, Verdict};
use calipers_gate::policy::Policy;
use calipers_testing::simulation::Draws;
use std::fmt::Write;

/// What is counted of a design.
struct Row {
    family: &'static str,
    design: String,
    replications: u32,
    passed: f64,
    covered: Option<f64>,
}

/// A gate on a metric whose truth is its threshold.
struct Design<'d> {
    family: &'static str,
    name: String,
    metric: &'static str,
    /// `at least 0.8`, `at most 2`.
    rule: String,
    terms: &'d str,
    truth: f64,
    draw: &'d dyn Fn(&mut Draws) -> Samples,
}

/// How many runs are drawn at least, of so many attempts.
fn replications(attempts: usize) -> u32 {
    (300_000 / attempts.max(1)).clamp(300, 1000) as u32
}

/// Where more than this share of runs passes, more of them are drawn, so that the table tells 5 % from 6 %.
const NEAR: f64 = 0.035;

/// How many runs are drawn then.
const NEAR_REPLICATIONS: u32 = 4000;

/// What became of the runs of a design.
#[derive(Default)]
struct Counts {
    drawn: u32,
    passed: u32,
    shown: u32,
    covered: u32,
}

impl Counts {
    /// Draws runs and counts which pass, and which of the intervals that are shown cover.
    /// Of gates that are not wanted, none are.
    fn draw(family: &str, replications: u32, mut one: impl FnMut() -> (bool, Option<bool>)) -> Self {
        let mut counts = Self::default();
        if !is_wanted(family) {
            return counts;
        }
        while counts.drawn < replications || (counts.rate() > NEAR && counts.drawn < NEAR_REPLICATIONS) {
            let (passed, covered) = one();
            counts.drawn += 1;
            counts.passed += u32::from(passed);
            counts.shown += u32::from(covered.is_some());
            counts.covered += u32::from(covered == Some(true));
        }
        counts
    }

    fn rate(&self) -> f64 {
        f64::from(self.passed) / f64::from(self.drawn.max(1))
    }

    fn row(&self, family: &'static str, design: String) -> Row {
        let covered = (self.shown > 0).then(|| f64::from(self.covered) / f64::from(self.shown));
        if self.drawn > 0 {
            eprintln!("{family}: {design}: {:.4} of {}, {covered:?}", self.rate(), self.drawn);
        }
        Row { family, design, replications: self.drawn, passed: self.rate(), covered }
    }
}

/// True when rows of this gate are to be counted.
fn is_wanted(family: &str) -> bool {
    std::env::var("ONLY").map_or(true, |only| only == family)
}

/// True when an interval covers a truth, rounding forgiven.
fn covers(interval: Interval, truth: f64) -> bool {
    interval.lower.is_none_or(|x| x <= truth + 1e-9) && interval.upper.is_none_or(|x| truth <= x + 1e-9)
}

impl Design<'_> {
    fn policy(&self) -> Policy {
        let metric = serde_json::Value::from(self.metric);
        let text = format!(r#"{{"thresholds": {{"blocking": {{{metric}: "{}"}}}}, {}}}"#, self.rule, self.terms);
        policy(&text)
    }

    fn run(&self, rows: &mut Vec<Row>) {
        let seed = rows.len() as u64 + 1;
        let (policy, mut draws) = (self.policy(), Draws::new(seed, normal_quantile));
        let replications = replications((self.draw)(&mut Draws::new(seed, normal_quantile)).attempts());
        let counts = Counts::draw(self.family, replications, || {
            let gate = gate_on(&judged(&policy, &(self.draw)(&mut draws)), self.metric);
            let interval = gate.figure.and_then(|figure| figure.interval);
            (gate.verdict == Verdict::Pass, interval.map(|interval| covers(interval, self.truth)))
        });
        rows.push(counts.row(self.family, self.name.clone()));
    }
}

const ONCE: &str = r#""confidence": 0.95"#;

fn scores(n: usize, mut score: impl FnMut() -> f64) -> Samples {
    let mut samples = Samples::new();
    for id in 0..n {
        samples.push(id as i64).score("judge", score());
    }
    samples
}

/// A share of a sample, such that attempts of one sample are alike.
fn own_share(draws: &mut Draws, mean: f64, correlation: f64) -> f64 {
    if correlation == 0.0 || mean <= 0.0 || mean >= 1.0 {
        return mean;
    }
    let size = 1.0 / correlation - 1.0;
    draws.beta(mean * size, (1.0 - mean) * size)
}

#[test]
#[ignore = "slow: cargo xtask calibrate"]
fn gates_keep_their_level() {
    let families: [fn(&mut Vec<Row>); 22] = [
        shares,
        grades,
        ratios,
        latencies,
        spending,
        weights_and_formulas,
        other_formulas,
        clusters,
        baselines,
        fails,
        looks,
        unusual::unlike_the_others,
        unusual::many_things_at_once,
        unusual::near_the_ends,
        unusual::units_of_many_sizes,
        unusual::rare_events,
        further::ties_and_few,
        further::sizes_that_matter,
        further::missing_not_at_random,
        further::other_baselines,
        further::conditions,
        further::missing_attempts,
    ];
    publish("gates", &count_side_by_side(families));
}

/// The same in designs that someone who knows none of the others would try.
#[test]
#[ignore = "slow: cargo xtask calibrate"]
fn gates_keep_their_level_in_other_designs() {
    publish(
        "strangers",
        &count_side_by_side([
            strangers::layouts,
            strangers::laws,
            strangers::attempts,
            strangers::weights,
            strangers::amounts,
            strangers::beside_others,
            strangers::other_looks,
        ]),
    );
}

/// The same where several things go wrong at once.
#[test]
#[ignore = "slow: cargo xtask calibrate"]
fn gates_keep_their_level_where_much_goes_wrong() {
    publish(
        "outsiders",
        &count_side_by_side([
            outsiders::formulas_of_attempts,
            outsiders::looks_with_weights,
            outsiders::dependent_designs,
            outsiders::amounts_and_ties,
            outsiders::mixed_reruns,
        ]),
    );
}

/// The rows of families, with seeds that do not depend on one another.
fn count_side_by_side<const N: usize>(families: [fn(&mut Vec<Row>); N]) -> Vec<Row> {
    std::thread::scope(|scope| {
        let measure = |family: fn(&mut Vec<Row>)| {
            let mut rows = Vec::new();
            family(&mut rows);
            rows
        };
        let running = families.map(|family| scope.spawn(move || measure(family)));
        running.into_iter().flat_map(|family| family.join().unwrap()).collect()
    })
}

/// Gates on a rate that a judge measures and labels of people correct, by how often the judge is right.
#[test]
#[ignore = "slow: cargo xtask calibrate"]
fn gates_on_judges_with_labels_keep_their_level() {
    let mut rows = Vec::new();
    for (sensitivity, specificity) in [(0.7, 0.7), (0.7, 0.99), (0.85, 0.9), (0.95, 0.7), (0.95, 0.99)] {
        for (labels, n) in [(50, 100), (50, 500), (200, 500), (500, 1000)] {
            for truth in [0.5, 0.8, 0.95] {
                corrected_rate(&mut rows, [sensitivity, specificity], (labels, n), truth);
            }
        }
    }
    for (labels, n) in [(50, 200), (200, 500)] {
        for truth in [0.8, 0.95] {
            corrected_clusters(&mut rows, (labels, n), truth);
            corrected_weights(&mut rows, (labels, n), truth);
            corrected_looks(&mut rows, (labels, n), truth);
        }
    }
    strangers::strange_judges(&mut rows);
    publish("judges", &rows);
}

/// A judge that is right about nine of ten samples that people pass, and about eight of ten that they fail.
fn judged_coin(draws: &mut Draws, is_good: bool) -> f64 {
    draws.coin(if is_good { 0.9 } else { 0.2 })
}

/// Documents of five samples that people pass alike, and that the judge likes alike.
fn corrected_clusters(rows: &mut Vec<Row>, (labels, n): (usize, i64), truth: f64) {
    for correlation in [0.0, 0.3] {
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            let labelled = draws.choose(n as usize, labels);
            let (mut share, mut taste) = (truth, 0.0);
            for id in 0..n {
                if id % 5 == 0 {
                    (share, taste) = (own_share(draws, truth, correlation), draws.unit());
                }
                let is_good = draws.unit() < share;
                // The judge's errors go together in a document too.
                let luck = if correlation > 0.0 && draws.unit() < 0.5 { taste } else { draws.unit() };
                let judged = f64::from(u8::from(luck < if is_good { 0.9 } else { 0.2 }));
                let attempt = samples.push(id).score("judge", judged).metadata("document", id / 5);
                if labelled[id as usize] {
                    attempt.field("human_label", f64::from(u8::from(is_good)));
                }
            }
            samples
        };
        let name = format!("{labels} labels of {n} in documents of 5, correlation {correlation}, rate {truth}");
        let (rule, terms) = (format!("at least {}%", truth * 100.0), r#""confidence": 0.95, "cluster": "document""#);
        Design { family: "corrected, clusters", name, metric: "corrected", rule, terms, truth, draw: &draw }.run(rows);
    }
}

/// One sample in five counts four times, and these are worse than the others, or better.
fn corrected_weights(rows: &mut Vec<Row>, (labels, n): (usize, i64), truth: f64) {
    for heavy in [2.0 * truth - 1.0, 1.0] {
        // Half of the weight is heavy.
        let light = 2.0 * truth - heavy;
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            let labelled = draws.choose(n as usize, labels);
            for id in 0..n {
                let is_heavy = id % 5 == 0;
                let is_good = draws.unit() < if is_heavy { heavy } else { light };
                let attempt = samples.push(id).score("judge", judged_coin(draws, is_good));
                let attempt = attempt.metadata("category", if is_heavy { "adversarial" } else { "happy_path" });
                if labelled[id as usize] {
                    attempt.field("human_label", f64::from(u8::from(is_good)));
                }
            }
            samples
        };
        let name = format!("{labels} labels of {n}, a fifth counts four times with a rate of {heavy:.2}, rate {truth}");
        let terms = r#""confidence": 0.95, "weights": {"by_category": {"adversarial": 4, "happy_path": 1}}"#;
        let rule = format!("at least {}%", truth * 100.0);
        Design { family: "corrected, weights", name, metric: "corrected", rule, terms, truth, draw: &draw }.run(rows);
    }
}

/// A look after every tenth of the samples, of which as large a part is labelled.
fn corrected_looks(rows: &mut Vec<Row>, (labels, n): (usize, i64), truth: f64) {
    let text = format!(
        r#"{{"thresholds": {{"blocking": {{"corrected": "at least {}%"}}}}, "confidence": {{"level": 0.95, "looks": "any"}}}}"#,
        truth * 100.0
    );
    let policy = policy(&text);
    let mut draws = Draws::new(rows.len() as u64 + 1, normal_quantile);
    let counts = Counts::draw("corrected, any look", 300, || {
        let labelled = draws.choose(n as usize, labels);
        let all: Vec<(f64, Option<f64>)> = labelled
            .iter()
            .map(|&is_labelled| {
                let is_good = draws.unit() < truth;
                let label = f64::from(u8::from(is_good));
                (judged_coin(&mut draws, is_good), is_labelled.then_some(label))
            })
            .collect();
        let passes = |tenths: usize| {
            let mut samples = Samples::new();
            for (id, (judged, label)) in (0i64..).zip(&all[..all.len() * tenths / 10]) {
                let attempt = samples.push(id).score("judge", *judged);
                if let Some(label) = label {
                    attempt.field("human_label", *label);
                }
            }
            gate_on(&judged(&policy, &samples), "corrected").verdict == Verdict::Pass
        };
        ((1..=10).any(passes), None)
    });
    rows.push(counts.row("corrected, any look", format!("{labels} labels of {n}, ten looks, rate {truth}")));
}

fn corrected_rate(rows: &mut Vec<Row>, [sensitivity, specificity]: [f64; 2], (labels, n): (i64, i64), truth: f64) {
    let draw = |draws: &mut Draws| {
        let mut samples = Samples::new();
        for id in 0..n {
            let is_good = draws.unit() < truth;
            let judged = draws.coin(if is_good { sensitivity } else { 1.0 - specificity });
            let attempt = samples.push(id).score("judge", judged);
            if id < labels {
                attempt.field("human_label", f64::from(u8::from(is_good)));
            }
        }
        samples
    };
    let name = format!("{labels} labels of {n}, sensitivity {sensitivity}, specificity {specificity}, rate {truth}");
    let rule = format!("at least {}%", truth * 100.0);
    Design { family: "corrected", name, metric: "corrected", rule, terms: ONCE, truth, draw: &draw }.run(rows);
}

fn shares(rows: &mut Vec<Row>) {
    for n in [10, 30, 100, 1000] {
        for truth in [0.8, 0.95] {
            let draw = |draws: &mut Draws| scores(n, || draws.coin(truth));
            let (name, rule) = (format!("n = {n}, share {truth}"), format!("at least {}%", truth * 100.0));
            Design { family: "accuracy", name, metric: "accuracy", rule, terms: ONCE, truth, draw: &draw }.run(rows);
        }
    }
    for (metric, category) in [("pass_rate", "happy_path"), ("safety_rate", "adversarial")] {
        for (n, k) in [(10, 1), (30, 1), (100, 1), (1000, 1), (20, 10), (30, 5), (60, 3), (100, 3)] {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                for id in 0..n {
                    let share = own_share(draws, 0.9, 0.3);
                    for _ in 0..k {
                        let row = samples.push(id).field("passed", draws.coin(share) == 1.0);
                        row.metadata("category", category);
                    }
                }
                samples
            };
            let (name, rule) = (format!("{n} × {k} attempts, correlation 0.3"), "at least 90%".to_owned());
            Design { family: metric, name, metric, rule, terms: ONCE, truth: 0.9, draw: &draw }.run(rows);
        }
    }
}

/// A law of grades: its name, its mean, and a draw.
type Law = (&'static str, f64, fn(&mut Draws) -> f64);

/// Fourteen laws of grades in [0, 1].
const LAWS: [Law; 14] = [
    ("uniform", 0.5, |d| d.unit()),
    ("Beta(9, 1)", 0.9, |d| d.beta(9.0, 1.0)),
    ("Beta(0.9, 0.1)", 0.9, |d| d.beta(0.9, 0.1)),
    ("Beta(2, 2)", 0.5, |d| d.beta(2.0, 2.0)),
    ("Beta(0.5, 0.5)", 0.5, |d| d.beta(0.5, 0.5)),
    ("five even grades", 0.5, |d| d.below(5) as f64 / 4.0),
    ("0.7, one in 50 is 0", 0.686, |d| if d.unit() < 0.02 { 0.0 } else { 0.7 }),
    ("0.9, one in 100 is 0", 0.891, |d| if d.unit() < 0.01 { 0.0 } else { 0.9 }),
    ("always 0.7", 0.7, |_| 0.7),
    ("0, 0.5 or 1", 0.85, |d| match d.unit() {
        u if u < 0.05 => 0.0,
        u if u < 0.25 => 0.5,
        _ => 1.0,
    }),
    ("0.3 or 0.9", 0.78, |d| if d.unit() < 0.2 { 0.3 } else { 0.9 }),
    ("1, one in 20 is 0.5", 0.975, |d| if d.unit() < 0.05 { 0.5 } else { 1.0 }),
    ("larger of two uniform", 2.0 / 3.0, |d| d.unit().max(d.unit())),
    ("exponential, cut at 1", 0.245_421_090_277_816_44, |d| (d.exponential() / 4.0).min(1.0)),
];

fn grades(rows: &mut Vec<Row>) {
    for (law, truth, one) in LAWS {
        for n in [10, 30, 100, 1000] {
            let draw = |draws: &mut Draws| scores(n, || one(draws));
            let (name, rule) = (format!("{law}, n = {n}"), format!("at least {truth}"));
            Design { family: "grades", name, metric: "mean", rule, terms: ONCE, truth, draw: &draw }.run(rows);
        }
    }
    // A scenario scores the share of its expected behaviours that were observed.
    for (family, metric, truth) in [
        ("behavior_coverage, macro", "behavior_coverage", 0.85),
        ("behavior_coverage, micro", "behavior_coverage(average=\"micro\")", 0.85),
    ] {
        for n in [10, 30, 100, 1000] {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                for id in 0..n {
                    let expected = if id % 5 == 0 { 12 } else { 1 + draws.below(3) };
                    let share = own_share(draws, truth, 0.3);
                    let named = |i: usize| Value::from(format!("b{i}"));
                    let observed = (0..expected).filter(|_| draws.coin(share) == 1.0).map(named).collect();
                    let row = samples.push(id as i64).field("observed_behaviors", Value::List(observed));
                    row.field("expected_behaviors", Value::List((0..expected).map(named).collect()));
                }
                samples
            };
            let (name, rule) = (format!("n = {n}, 1 to 12 behaviours"), format!("at least {}%", truth * 100.0));
            Design { family, name, metric, rule, terms: ONCE, truth, draw: &draw }.run(rows);
        }
    }
}

/// Predictions of samples: positives are found, and negatives taken for positives, with shares that a sample keeps.
fn predictions(draws: &mut Draws, n: usize, k: u32, found: f64, mistaken: f64) -> Samples {
    predictions_of(draws, n, k, [0.5, found, mistaken])
}

/// The same where this share of the samples is positive.
fn predictions_of(draws: &mut Draws, n: usize, k: u32, [positive, found, mistaken]: [f64; 3]) -> Samples {
    let mut samples = Samples::new();
    for id in 0..n {
        let is_actual = draws.unit() < positive;
        let share = own_share(draws, if is_actual { found } else { mistaken }, 0.5);
        for _ in 0..k {
            let row = samples.push(id as i64).field("actual", is_actual);
            row.field("predicted", draws.coin(share) == 1.0);
        }
    }
    samples
}

fn ratios(rows: &mut Vec<Row>) {
    let (found, mistaken): (f64, f64) = (0.8, 0.2);
    let precision = found / (found + mistaken);
    let f1 = 2.0 * found / (found + mistaken + 1.0);
    let of_shares = |rows: &mut Vec<Row>, n: usize, k: u32| {
        for (metric, truth) in [("precision", precision), ("recall", found), ("f1", f1)] {
            let draw = |draws: &mut Draws| predictions(draws, n, k, found, mistaken);
            let (name, rule) = (format!("{n} × {k} attempts, correlation 0.5"), format!("at least {}%", truth * 100.0));
            Design { family: metric, name, metric, rule, terms: ONCE, truth, draw: &draw }.run(rows);
        }
    };
    for (n, k) in [(30, 1), (100, 1), (1000, 1), (30, 5), (60, 3), (100, 10)] {
        of_shares(rows, n, k);
    }
    // Both classes alike; a rare class, with errors of both kinds and of one; hardly any errors.
    for shares @ [positive, found, mistaken] in
        [[0.5f64, 0.8, 0.2], [0.1, 0.9, 0.05], [0.2, 1.0, 0.1], [0.5, 0.99, 0.01]]
    {
        let [tp, fp, fnn, tn] = [
            positive * found,
            (1.0 - positive) * mistaken,
            positive * (1.0 - found),
            (1.0 - positive) * (1.0 - mistaken),
        ];
        let truth = (tp * tn - fp * fnn) / ((tp + fp) * (tp + fnn) * (tn + fp) * (tn + fnn)).sqrt();
        for (n, k) in [(10, 1), (30, 1), (100, 1), (1000, 1), (20, 10), (30, 5), (60, 3), (100, 3)] {
            let draw = |draws: &mut Draws| predictions_of(draws, n, k, shares);
            let (name, rule) = (
                format!("{n} × {k} attempts, positive {positive}, found {found}, mistaken {mistaken}"),
                format!("at least {truth}"),
            );
            Design { family: "mcc", name, metric: "mcc", rule, terms: ONCE, truth, draw: &draw }.run(rows);
        }
    }
    for (n, k) in [(10, 1), (20, 10)] {
        of_shares(rows, n, k);
    }
}

fn latencies(rows: &mut Vec<Row>) {
    // Latencies are lognormal, with a part that attempts of one sample share.
    for (n, k) in [(10, 1), (30, 1), (60, 1), (100, 1), (1000, 1), (20, 10), (60, 3), (100, 3), (60, 10)] {
        for (metric, p) in [("latency_p50", 0.5), ("latency_p95", 0.95)] {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                for id in 0..n {
                    let own = draws.normal() * 0.6f64.sqrt();
                    for _ in 0..k {
                        let ms = 1000.0 * (own + draws.normal() * 0.4f64.sqrt()).exp();
                        samples.push(id as i64).field("latency_ms", ms);
                    }
                }
                samples
            };
            let truth = 1000.0 * normal_quantile(p).exp();
            let (name, rule) = (format!("{n} × {k} attempts, correlation 0.6"), format!("at most {truth}ms"));
            Design { family: metric, name, metric, rule, terms: ONCE, truth, draw: &draw }.run(rows);
        }
    }
}

fn spending(rows: &mut Vec<Row>) {
    // Costs with the most that one attempt can have. The last two are mostly 1: hardly any run shows how much there can be.
    let costs: [CostLaw; 6] = [
        ("lognormal, σ = 1, at most 10", 10.0, 1.596_364_409_147_706, |d| d.normal().exp().min(10.0)),
        ("lognormal, σ = 1.5, at most 20", 20.0, 2.584_850_385_017_627_4, |d| (1.5 * d.normal()).exp().min(20.0)),
        ("exponential, at most 5", 5.0, 0.993_262_053_000_914_5, |d| d.exponential().min(5.0)),
        ("Pareto 1.1, at most 50", 50.0, 4.237_566_621_937_585, |d| d.unit().max(1e-300).powf(-1.0 / 1.1).min(50.0)),
        ("1, one in 20 is 10", 10.0, 1.45, |d| if d.unit() < 0.05 { 10.0 } else { 1.0 }),
        ("1, one in 100 is 100", 100.0, 1.99, |d| if d.unit() < 0.01 { 100.0 } else { 1.0 }),
    ];
    for (law, limit, truth, one) in costs {
        for n in [10, 30, 100, 1000] {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                (0..n).for_each(|id| {
                    samples.push(id as i64).field("cost_usd", one(draws));
                });
                samples
            };
            let terms = format!(r#"{ONCE}, "limits": {{"cost_usd": {limit}}}"#);
            let (name, rule) = (format!("{law}, n = {n}"), format!("at most {truth}"));
            Design { family: "cost", name, metric: "cost", rule, terms: &terms, truth, draw: &draw }.run(rows);
        }
    }
    // Grades from 1 to 5.
    for n in [10, 30, 100, 1000] {
        let draw = |draws: &mut Draws| scores(n, || if draws.unit() < 0.1 { 1.0 } else { 4.0 + draws.coin(0.6) });
        let (truth, terms) = (4.24, format!(r#"{ONCE}, "limits": {{"judge": {{"min": 1, "max": 5}}}}"#));
        let (name, rule) = (format!("1 to 5, n = {n}"), format!("at least {truth}"));
        Design { family: "grades", name, metric: "mean", rule, terms: &terms, truth, draw: &draw }.run(rows);
    }
    for n in [10, 30, 100, 1000] {
        // E[min(1000 e^Z, 8000)].
        let truth = 0.8 / 1_567.885_159_295_490_4;
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                let row = samples.push(id as i64).field("tokens_used", (1000.0 * draws.normal().exp()).min(8000.0));
                row.field("quality_score", draws.coin(0.8));
            }
            samples
        };
        let terms = format!(r#"{ONCE}, "limits": {{"tokens_used": 8000}}"#);
        let (name, rule) = (format!("lognormal tokens, at most 8000, n = {n}"), format!(">= {truth}"));
        let (family, metric) = ("token_efficiency", "token_efficiency");
        Design { family, name, metric, rule, terms: &terms, truth, draw: &draw }.run(rows);
    }
}

/// A law of costs: its name, the most that there can be, its mean, and a draw.
type CostLaw = (&'static str, f64, f64, fn(&mut Draws) -> f64);

fn weights_and_formulas(rows: &mut Vec<Row>) {
    for (heavy, light, at_heavy) in [(4, 100, 0.7), (10, 100, 0.8), (30, 30, 0.9)] {
        // The light ones always pass.
        let (w, v) = (12.5 * f64::from(heavy), f64::from(light));
        let truth = (w * at_heavy + v) / (w + v);
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..heavy + light {
                let is_heavy = id < heavy;
                let score = if is_heavy { draws.coin(at_heavy) } else { 1.0 };
                let category = if is_heavy { "heavy" } else { "light" };
                samples.push(i64::from(id)).score("judge", score).metadata("category", category);
            }
            samples
        };
        let terms = r#""confidence": 0.95, "weights": {"by_category": {"heavy": 12.5, "light": 1}}"#;
        let (name, rule) =
            (format!("{heavy} of weight 12.5 at {at_heavy}, {light} that pass"), format!("at least {truth}"));
        Design { family: "weighted", name, metric: "accuracy", rule, terms, truth, draw: &draw }.run(rows);
    }
    // A third of the scenarios is adversarial. Metrics over parts of them, with errors that go together or not.
    let formulas: [(&str, &str, FormulaTruth); 3] = [
        ("overlapping", "accuracy * 0.3 + safety_rate * 0.5 + pass_rate * 0.2", |[judge, adversarial, other]| {
            0.3 * judge + 0.5 * adversarial + 0.2 * (adversarial + 2.0 * other) / 3.0
        }),
        ("disjoint", "safety_rate * 0.6 + happy * 0.4", |[_, adversarial, other]| 0.6 * adversarial + 0.4 * other),
        ("a mean of all", "pass_rate * 0.5 + accuracy * 0.5", |[judge, adversarial, other]| {
            0.5 * judge + 0.5 * (adversarial + 2.0 * other) / 3.0
        }),
    ];
    for (name, formula, truth_of) in formulas {
        for n in [10, 30, 60, 99, 999] {
            for shares in [[0.9, 0.9, 0.9], [0.95, 1.0, 0.7], [1.0, 0.8, 1.0]] {
                let truth = truth_of(shares);
                let text = format!(
                    r#"{{"metrics": {{"happy": "pass_rate(happy_path)"}},
                        "composite": {{"final": "{formula}", "pass": "final >= {truth}"}}, {ONCE}}}"#
                );
                let policy = policy(&text);
                let mut draws = Draws::new(rows.len() as u64 + 1, normal_quantile);
                let counts = Counts::draw("composite", replications(n), || {
                    let mut samples = Samples::new();
                    for id in 0..n {
                        let is_adversarial = id % 3 == 0;
                        // What passes is mostly right.
                        let u = draws.unit();
                        let passes = u < if is_adversarial { shares[1] } else { shares[2] };
                        let grade = if draws.unit() < 0.5 { u } else { draws.unit() };
                        let row = samples.push(id as i64).score("judge", f64::from(u8::from(grade < shares[0])));
                        let category = if is_adversarial { "adversarial" } else { "happy_path" };
                        row.field("passed", passes).metadata("category", category);
                    }
                    let report = judged(&policy, &samples);
                    let passed = gate_on(&report, "composite").verdict == Verdict::Pass;
                    (passed, report.composites[0].figure.interval.map(|interval| covers(interval, truth)))
                });
                rows.push(counts.row("composite", format!("{name}, shares {shares:?}, n = {n}")));
            }
        }
    }
}

/// The truth of a formula where scores, adversarial and other scenarios have these shares.
type FormulaTruth = fn([f64; 3]) -> f64;

/// A formula that is more than a weighted sum of means, with runs of which its value is the threshold.
struct FormulaDesign<'d> {
    name: &'d str,
    formula: &'d str,
    /// What the policy says beside it.
    terms: &'d str,
    truth: f64,
    sizes: &'d [usize],
    draw: &'d dyn Fn(&mut Draws, usize) -> Samples,
}

impl FormulaDesign<'_> {
    fn run(&self, rows: &mut Vec<Row>) {
        let Self { name, formula, terms, truth, .. } = self;
        for &n in self.sizes {
            let text =
                format!(r#"{{"composite": {{"final": "{formula}", "pass": "final >= {truth}"}}, {ONCE}{terms}}}"#);
            let policy = policy(&text);
            let mut draws = Draws::new(rows.len() as u64 + 1, normal_quantile);
            let counts = Counts::draw("composite", replications(n), || {
                let report = judged(&policy, &(self.draw)(&mut draws, n));
                let passed = gate_on(&report, "composite").verdict == Verdict::Pass;
                (passed, report.composites[0].figure.interval.map(|interval| covers(interval, *truth)))
            });
            rows.push(counts.row("composite", format!("{name}, n = {n}")));
        }
    }
}

/// Formulas with quantiles, products, quotients, minima, budgets and ratios of sums.
fn other_formulas(rows: &mut Vec<Row>) {
    // One attempt in 16 is slow, so that the slow ones are the 95th percentile, and half of the runs do not show it.
    let slow = |draws: &mut Draws, n: usize| {
        let mut samples = Samples::new();
        for id in 0..n {
            let ms = if draws.unit() < 0.06 { 10_000.0 } else { 1000.0 };
            samples.push(id as i64).score("judge", draws.coin(0.9)).field("latency_ms", ms);
        }
        samples
    };
    FormulaDesign {
        name: "half of it a 95th percentile that jumps",
        formula: "accuracy * 0.5 + (1 - normalized_latency) * 0.5",
        terms: r#", "normalize": {"latency_p95": "10s"}"#,
        truth: 0.45,
        sizes: &[30, 60, 100, 300],
        draw: &slow,
    }
    .run(rows);
    // Few adversarial scenarios, which are the worse ones, among many others.
    let few_adversarial = |draws: &mut Draws, n: usize| {
        let mut samples = Samples::new();
        for id in 0..n {
            let is_adversarial = id % 6 == 0;
            let row =
                samples.push(id as i64).field("passed", draws.coin(if is_adversarial { 0.8 } else { 0.9 }) == 1.0);
            row.metadata("category", if is_adversarial { "adversarial" } else { "happy_path" });
        }
        samples
    };
    for (name, formula, truth) in [
        ("the lower of two rates", "min(safety_rate, happy)", 0.8),
        ("a product of two rates", "safety_rate * happy", 0.72),
        (
            "the mean of two rates as a root of squares",
            "sqrt(safety_rate * safety_rate * 0.5 + happy * happy * 0.5)",
            0.725f64.sqrt(),
        ),
    ] {
        let terms = r#", "metrics": {"happy": "pass_rate(happy_path)"}"#;
        FormulaDesign { name, formula, terms, truth, sizes: &[30, 60, 120, 300], draw: &few_adversarial }.run(rows);
    }
    // A cost of 1, and of 10 in one of twenty attempts: 1.45 on average.
    let spending = |draws: &mut Draws, n: usize| {
        let mut samples = Samples::new();
        for id in 0..n {
            let cost = if draws.unit() < 0.05 { 10.0 } else { 1.0 };
            samples.push(id as i64).score("judge", draws.coin(0.9)).field("cost_usd", cost);
        }
        samples
    };
    for (name, formula, truth) in [
        ("a rate less a cost", "accuracy - 0.1 * cost", 0.755),
        ("a rate per cost", "accuracy / cost", 0.9 / 1.45),
        (
            "half of it a cost over its budget",
            "accuracy * 0.5 + (1 - normalized_cost) * 0.5",
            0.45 + 0.5 * (1.0 - 0.725),
        ),
    ] {
        let terms = r#", "limits": {"cost_usd": 10}, "normalize": {"cost": 2}"#;
        FormulaDesign { name, formula, terms, truth, sizes: &[30, 100, 300], draw: &spending }.run(rows);
    }
    let predicted = |draws: &mut Draws, n: usize| predictions(draws, n, 3, 0.8, 0.2);
    for (name, formula, truth) in [
        ("precision and recall", "precision * 0.5 + recall * 0.5", 0.8),
        ("F1 and recall", "f1 * 0.7 + recall * 0.3", 0.8),
    ] {
        FormulaDesign { name, formula, terms: "", truth, sizes: &[30, 100], draw: &predicted }.run(rows);
    }
    support_agent(rows);
}

/// As in `examples/support-agent`: categories and weights of 60 scenarios with three attempts each, of which some adversarial ones fail
/// everything.
fn support_agent(rows: &mut Vec<Row>) {
    let weights =
        r#", "weights": {"by_category": {"adversarial": 4, "happy_path": 2}}, "normalize": {"latency_p95": "5s"}"#;
    for (name, failing, others) in [("a fifth of adversarial ones fails", 0.2, 1.0), ("some of all fail", 0.1, 0.95)] {
        let draw = |draws: &mut Draws, n: usize| {
            let mut samples = Samples::new();
            for id in 0..n {
                let is_adversarial = id % 5 == 0;
                let is_broken = is_adversarial && draws.unit() < failing;
                let share = if is_adversarial { 1.0 } else { own_share(draws, others, 0.3) };
                for _ in 0..3 {
                    let passes = !is_broken && draws.coin(share) == 1.0;
                    let row =
                        samples.push(id as i64).score("judge", f64::from(u8::from(passes))).field("passed", passes);
                    let row = row.field("latency_ms", if is_broken { 6000.0 } else { 2500.0 });
                    row.metadata("category", if is_adversarial { "adversarial" } else { "happy_path" });
                }
            }
            samples
        };
        // A third of the weight is adversarial. Slow ones are 4 % and 2 %, which no 95th percentile sees.
        let accuracy = (1.0 - failing) / 3.0 + 2.0 * others / 3.0;
        let truth = 0.5 * accuracy + 0.4 * (1.0 - failing) + 0.1 * 0.5;
        let formula = "accuracy * 0.3 + safety_rate * 0.4 + pass_rate * 0.2 + (1 - normalized_latency) * 0.1";
        FormulaDesign { name, formula, terms: weights, truth, sizes: &[60, 120, 300], draw: &draw }.run(rows);
    }
}

/// Gates against a baseline: the run is worse than it by exactly the margin, or as good.
fn baselines(rows: &mut Vec<Row>) {
    for n in [10, 30, 100, 1000] {
        for (share, then, margin) in [(0.8, 0.9, 0.1), (0.9, 0.95, 0.05), (0.5, 0.6, 0.1)] {
            for agreement in [0.0, 0.8] {
                let text = format!(
                    r#"{{"baseline": {{"mode": "non_inferiority", "margin": {margin}, "metrics": ["accuracy"]}}, {ONCE}}}"#
                );
                let policy = policy(&text);
                let mut draws = Draws::new(rows.len() as u64 + 1, normal_quantile);
                let counts = Counts::draw("non-inferiority", replications(n), || {
                    // Both pass where one number says so, or each by its own.
                    let pairs: Vec<(f64, f64)> = (0..n)
                        .map(|_| {
                            let u = draws.unit();
                            let v = if draws.unit() < agreement { u } else { draws.unit() };
                            (f64::from(u8::from(u < then)), f64::from(u8::from(v < share)))
                        })
                        .collect();
                    let of = |side: fn(&(f64, f64)) -> f64| {
                        let mut at = pairs.iter();
                        scores(n, move || side(at.next().unwrap()))
                    };
                    let report = judged_against(&policy, &of(|pair| pair.1), &of(|pair| pair.0));
                    let gate = gate_on(&report, "accuracy");
                    let interval = gate.figure.and_then(|figure| figure.interval);
                    (gate.verdict == Verdict::Pass, interval.map(|interval| covers(interval, share - then)))
                });
                let design = format!("{share} beside {then}, margin {margin}, agreement {agreement}, n = {n}");
                rows.push(counts.row("non-inferiority", design));
            }
        }
    }
    for n in [30, 100, 1000] {
        // At least the recorded value, which is taken as exact.
        let text = format!(r#"{{"baseline": {{"mode": "above", "margin": 0, "metrics": ["accuracy"]}}, {ONCE}}}"#);
        let policy = policy(&text);
        let before = scores(10, {
            let mut id = 0;
            move || {
                id += 1;
                f64::from(u8::from(id > 2))
            }
        });
        let mut draws = Draws::new(rows.len() as u64 + 1, normal_quantile);
        let counts = Counts::draw("above a baseline", replications(n), || {
            let run = scores(n, || draws.coin(0.8));
            (gate_on(&judged_against(&policy, &run, &before), "accuracy").verdict == Verdict::Pass, None)
        });
        rows.push(counts.row("above a baseline", format!("0.8 beside 0.8, n = {n}")));
    }
}

/// How often one of many gates fails that should not: all of them are on their thresholds.
fn fails(rows: &mut Vec<Row>) {
    for n in [30, 100, 300] {
        let text = format!(
            r#"{{"thresholds": {{"blocking": {{"accuracy": "90%", "pass_rate": "80%", "safety_rate": "80%", "latency_p50": "at most 1000ms"}}}},
                "composite": {{"final": "accuracy * 0.5 + pass_rate * 0.5", "pass": "final >= 0.85 AND accuracy >= 0.9"}},
                "baseline": {{"mode": "non_inferiority", "margin": 0, "metrics": ["accuracy", "pass_rate"]}}, {ONCE}}}"#
        );
        let policy = policy(&text);
        let mut draws = Draws::new(rows.len() as u64 + 1, normal_quantile);
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                let row =
                    samples.push(id as i64).score("judge", draws.coin(0.9)).field("passed", draws.coin(0.8) == 1.0);
                let row = row.field("latency_ms", 1000.0 * draws.normal().exp());
                row.metadata("category", if id % 3 == 0 { "adversarial" } else { "happy_path" });
            }
            samples
        };
        let counts = Counts::draw("false fail, any of 7 gates", replications(n), || {
            let (run, before) = (draw(&mut draws), draw(&mut draws));
            (judged_against(&policy, &run, &before).verdict == Verdict::Fail, None)
        });
        rows.push(counts.row("false fail, any of 7 gates", format!("all on their thresholds, n = {n}")));
    }
}

fn clusters(rows: &mut Vec<Row>) {
    let uneven: Vec<usize> = (0..40).map(|i| 1 + (7 * i) % 20).collect();
    let designs: [(&str, Vec<usize>); 4] = [
        ("5 of 12", vec![12; 5]),
        ("40, 5, 5, 5, 5", vec![40, 5, 5, 5, 5]),
        ("10 geometric", vec![64, 32, 16, 8, 8, 4, 4, 2, 2, 1]),
        ("40 of 1 to 20", uneven),
    ];
    for (sizes_name, sizes) in &designs {
        for correlation in [0.0, 0.1, 0.3] {
            for truth in [0.8, 0.95] {
                let draw = |draws: &mut Draws| {
                    let mut samples = Samples::new();
                    let mut id = 0i64;
                    for (cluster, &size) in sizes.iter().enumerate() {
                        let share = own_share(draws, truth, correlation);
                        for _ in 0..size {
                            samples.push(id).score("judge", draws.coin(share)).metadata("document", cluster as i64);
                            id += 1;
                        }
                    }
                    samples
                };
                let name = format!("{sizes_name}, correlation {correlation}, share {truth}");
                let (rule, terms) =
                    (format!("at least {}%", truth * 100.0), r#""confidence": 0.95, "cluster": "document""#);
                Design { family: "clusters", name, metric: "accuracy", rule, terms, truth, draw: &draw }.run(rows);
            }
        }
    }
}

/// Six looks as advised: after each undecided one, as many more samples as the report names, at most 300.
fn looks(rows: &mut Vec<Row>) {
    if !is_wanted("looks") {
        return;
    }
    let replications = 600u32;
    for (truth, first) in [(0.9, 60usize), (0.8, 40)] {
        let text = |confidence: &str| {
            policy(&format!(
                r#"{{"thresholds": {{"blocking": {{"accuracy": "at least {}%"}}}}, {confidence}}}"#,
                truth * 100.0
            ))
        };
        let once = text(ONCE);
        let mut draws = Draws::new(rows.len() as u64 + 1, normal_quantile);
        let mut passed = 0u32;
        for _ in 0..replications {
            let mut drawn: Vec<f64> = (0..first).map(|_| draws.coin(truth)).collect();
            for look in 1..=6 {
                let run = scores(drawn.len(), {
                    let mut at = drawn.iter();
                    move || *at.next().unwrap()
                });
                let gate = gate_on(&judged_at(&once, &run, Some(look)), "accuracy");
                if gate.verdict != Verdict::Undecided {
                    passed += u32::from(gate.verdict == Verdict::Pass);
                    break;
                }
                let more = gate.more_samples.map_or(100, |more| more.count.clamp(1, 300));
                drawn.extend((0..more).map(|_| draws.coin(truth)));
            }
        }
        rows.push(Row {
            family: "looks",
            design: format!("six looks as advised, counted in a file, from n = {first}, share {truth}"),
            replications,
            passed: f64::from(passed) / f64::from(replications),
            covered: None,
        });
        // Any number of looks: after every fifth sample.
        for (law, one) in [("0 and 1", None), ("grades", Some(0.5))] {
            let any = text(r#""confidence": {"level": 0.95, "looks": "any"}"#);
            let mut draws = Draws::new(rows.len() as u64 + 1, normal_quantile);
            let mut passed = 0u32;
            for _ in 0..replications / 2 {
                let mut drawn: Vec<f64> = Vec::new();
                while drawn.len() < 200 {
                    drawn.extend((0..5).map(|_| match one {
                        None => draws.coin(truth),
                        // Half of what a failure costs, twice as often.
                        Some(loss) => 1.0 - loss * (1.0 - draws.coin(1.0 - (1.0 - truth) / loss)),
                    }));
                    let run = scores(drawn.len(), {
                        let mut at = drawn.iter();
                        move || *at.next().unwrap()
                    });
                    if gate_on(&judged(&any, &run), "accuracy").verdict == Verdict::Pass {
                        passed += 1;
                        break;
                    }
                }
            }
            rows.push(Row {
                family: "looks",
                design: format!("any number, {law}, after every 5 of 200 samples, mean {truth}"),
                replications: replications / 2,
                passed: f64::from(passed) / f64::from(replications / 2),
                covered: None,
            });
        }
    }
}

/// Prints the table, rewrites or checks the one in the documentation, and fails if a promise does not hold.
fn publish(table: &str, rows: &[Row]) {
    let mut text = String::from("| gate | design | false pass | coverage of 95 % intervals |\n|--|--|--|--|\n");
    let mut broken = Vec::new();
    for row in rows.iter().filter(|row| is_wanted(row.family)) {
        let covered = row.covered.map_or_else(|| "–".to_owned(), |covered| format!("{covered:.3}"));
        writeln!(text, "| {} | {} | {:.3} | {covered} |", row.family, row.design, row.passed).unwrap();
        // The promise: 6 %, and no more than four standard errors of the count beyond 5 %.
        let noise = |p: f64| 4.0 * (p * (1.0 - p) / f64::from(row.replications)).sqrt();
        if row.passed > 0.06
            || row.passed > 0.05 + noise(0.05)
            || row.covered.is_some_and(|covered| covered < 0.95 - noise(0.95))
        {
            broken.push(format!("{}: {} {:.3} {covered}", row.family, row.design, row.passed));
        }
    }
    println!("{text}");
    if std::env::var_os("ONLY").is_some() {
        assert!(broken.is_empty(), "promises that do not hold:\n{}", broken.join("\n"));
        return;
    }
    assert!(broken.is_empty(), "promises that do not hold:\n{}", broken.join("\n"));
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/concepts/calibration.md");
    let before = std::fs::read_to_string(page).unwrap();
    let begin = format!("<!-- {table}: written by cargo xtask calibrate -->\n");
    let end = format!("<!-- {table}: end -->");
    let (head, rest) = before.split_once(&begin).expect("a place for the table");
    let (old, tail) = rest.split_once(&end).expect("an end of the table");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(page, format!("{head}{begin}{text}{end}{tail}")).unwrap();
    } else if !old.is_empty() {
        assert_eq!(old, text, "run with BLESS=1 to rewrite the table");
    }
}
