//! How often the intervals of changes cover, and how often a change is found where there is none, through `compare`.
//!
//! `cargo xtask calibrate shown_changes` runs it; with `BLESS=1` the table in `docs/concepts/calibration.md` is rewritten. With
//! `ONLY=cost,mean`, only rows of metrics whose names begin so are counted, and nothing is written.

use calipers_compare::{ChangeScale, CompareQuestion, ComparedRun, compare};
use calipers_core::stats::components::Estimand;
use calipers_core::stats::multiplicity::Correction;
use calipers_core::stats::special::normal_quantile;
use calipers_core::{
    Context, Metric, PassRule, Registry, Samples, accuracy, cost, f1, latency_p50, latency_p95, mcc, mean, mean_of,
    mean_score, precision, recall, token_efficiency,
};
use calipers_testing::simulation::Draws;
use std::fmt::Write;

/// What is counted of a design.
struct Row {
    metric: &'static str,
    design: String,
    replications: u32,
    method: String,
    /// Of runs that do not differ, the share in which a change was found.
    found: Option<f64>,
    covered: Option<f64>,
    contradictions: u32,
}

/// Two runs whose change is known.
struct Design<'d> {
    metric: &'static str,
    name: String,
    measure: Metric,
    cluster: &'d [&'d str],
    truth: f64,
    draw: &'d dyn Fn(&mut Draws) -> [Samples; 2],
}

impl Design<'_> {
    fn run(&self, rows: &mut Vec<Row>) {
        let seed = 5000 + rows.len() as u64;
        if !is_wanted(self.metric) {
            let (design, method) = (self.name.clone(), "not counted".to_owned());
            let nothing = Row {
                metric: self.metric,
                design,
                replications: 1,
                method,
                found: None,
                covered: None,
                contradictions: 0,
            };
            return rows.push(nothing);
        }
        let size = (self.draw)(&mut Draws::new(seed, normal_quantile))[0].attempts();
        let (least, most) = if self.metric.starts_with("rerun") { (2000, 2000) } else { (300, 1500) };
        let replications = (250_000 / size.max(1)).clamp(least, most) as u32;
        let mut draws = Draws::new(seed, normal_quantile);
        let (mut shown, mut covered, mut found, mut contradictions) = (0u32, 0u32, 0u32, 0u32);
        let (mut method, mut null, mut is_tested) = (None, 0.0, false);
        let registry = Registry::builtin();
        for _ in 0..replications {
            let [candidate, baseline] = (self.draw)(&mut draws);
            let runs = [("new", &candidate), ("old", &baseline)]
                .map(|(name, samples)| ComparedRun { name: name.into(), samples });
            let question = CompareQuestion {
                metrics: std::slice::from_ref(&self.measure),
                registry: &registry,
                reducer: mean_score(),
                context: Context::default(),
                estimand: if self.metric.starts_with("rerun") { Estimand::FixedSuite } else { Estimand::Population },
                cluster: self.cluster,
                margin: None,
                correction: Correction::Holm,
                pass_rule: PassRule::default(),
                pairs_max: None,
            };
            let report = compare(&runs, &question).expect("the runs can be compared");
            let metric = &report.comparisons[0].metrics[0];
            null = if metric.scale == ChangeScale::Ratio { 1.0 } else { 0.0 };
            let typical = metric.typical.as_ref().filter(|_| self.metric.starts_with("typical"));
            let p = typical.map_or_else(|| metric.test.map(|test| test.p), |typical| typical.p);
            let figure = typical.map_or(&metric.change, |typical| &typical.change);
            let is_found = p.is_some_and(|p| p <= 0.05);
            found += u32::from(is_found);
            is_tested |= p.is_some();
            if let Some(interval) = figure.interval.filter(|one| one.lower.is_some() || one.upper.is_some()) {
                shown += 1;
                covered += u32::from(interval.contains(self.truth));
                method = Some(interval.method.name());
                // One test for all: a change is found if and only if the interval leaves out that there is none.
                let is_close = p.is_none_or(|p| (p / 0.05 - 1.0).abs() < 1e-3);
                contradictions += u32::from(is_found == interval.contains(null) && !is_close);
            }
        }
        let row = Row {
            metric: self.metric,
            design: self.name.clone(),
            replications,
            method: method.map_or_else(|| "not shown".to_owned(), |method| format!("`{method}`")),
            found: (self.truth == null && (is_tested || !self.metric.starts_with("typical")))
                .then(|| f64::from(found) / f64::from(replications)),
            // Where it is hardly ever shown, the few runs that show it are no sample of all runs.
            covered: (shown * 10 > replications).then(|| f64::from(covered) / f64::from(shown)),
            contradictions,
        };
        println!("{}", row.text());
        rows.push(row);
    }
}

impl Row {
    fn text(&self) -> String {
        let rate = |rate: Option<f64>| rate.map_or_else(|| "–".to_owned(), |rate| format!("{rate:.3}"));
        let (found, covered) = (rate(self.found), rate(self.covered));
        format!("| {} | {} | {} | {found} | {covered} |", self.metric, self.design, self.method)
    }
}

/// True when rows of this metric are to be counted.
fn is_wanted(metric: &str) -> bool {
    std::env::var("ONLY").map_or(true, |only| only.split(',').any(|name| metric.starts_with(name)))
}

/// A law of pairs, with the change of their means: a ratio of costs, a difference of scores.
type PairLaw = (&'static str, f64, fn(&mut Draws) -> (f64, f64));

const SQRT_E: f64 = 1.648_721_270_700_128_2;

const COSTS: [PairLaw; 15] = [
    ("lognormal, σ = 1", 1.0, |d| (d.normal().exp(), d.normal().exp())),
    ("lognormal, σ = 1, nearly alike", 1.0, |d| {
        let own = d.normal();
        ((own + 0.4 * d.normal()).exp(), (own + 0.4 * d.normal()).exp())
    }),
    ("lognormal, σ = 1, twice as much", 2.0, |d| (2.0 * d.normal().exp(), d.normal().exp())),
    ("lognormal, σ = 1.5", 1.0, |d| ((1.5 * d.normal()).exp(), (1.5 * d.normal()).exp())),
    ("exponential", 1.0, |d| (d.exponential(), d.exponential())),
    ("exponential, half as much", 0.5, |d| (0.5 * d.exponential(), d.exponential())),
    ("lognormal, σ = 1 beside 0.5", 1.0, |d| (d.normal().exp() / SQRT_E, (0.5 * d.normal() - 0.125).exp())),
    ("lognormal, σ = 0.5 beside 1", 1.0, |d| ((0.5 * d.normal() - 0.125).exp(), d.normal().exp() / SQRT_E)),
    ("exponential beside 1", 1.0, |d| (d.exponential(), 1.0)),
    ("Pareto 2.2", 1.0, |d| (d.unit().powf(-1.0 / 2.2), d.unit().powf(-1.0 / 2.2))),
    ("1, one in 20 is 10", 1.0, |d| {
        let one = |d: &mut Draws| if d.unit() < 0.05 { 10.0 } else { 1.0 + 0.1 * d.unit() };
        (one(d), one(d))
    }),
    ("each varies by a lognormal factor, σ = 0.5", 1.133_148_453_066_826_4, |d| {
        let own = d.normal().exp();
        (own * (0.5 * d.normal()).exp(), own)
    }),
    ("a fifth less, one in 20 is 5", 1.01, |d| (if d.unit() < 0.05 { 5.0 } else { 0.8 }, 1.0)),
    ("lognormal, σ = 1, a tenth less, one in 20 three times as much", 1.005, |d| {
        let own = d.normal().exp();
        (own * if d.unit() < 0.05 { 3.0 } else { 0.9 }, own)
    }),
    ("lognormal, σ = 1.5 beside 0.7", 1.0, |d| ((1.5 * d.normal() - 1.125).exp(), (0.7 * d.normal() - 0.245).exp())),
];

const GRADES: [PairLaw; 9] = [
    ("even, unrelated", 0.0, |d| (d.unit(), d.unit())),
    ("Beta(9, 1), unrelated", 0.0, |d| (d.beta(9.0, 1.0), d.beta(9.0, 1.0))),
    ("one in 20 loses 0.7", -0.035, |d| (if d.unit() < 0.05 { 0.2 } else { 0.9 }, 0.9)),
    ("one in 50 loses 0.9", -0.018, |d| (if d.unit() < 0.02 { 0.05 } else { 0.95 }, 0.95)),
    ("one in 10 changes by half, either way", 0.0, |d| {
        let change = if d.unit() < 0.1 { d.coin(0.5) - 0.5 } else { 0.0 };
        (0.5 + change, 0.5)
    }),
    ("all gain a little, one in 20 loses much", -0.0055, |d| (if d.unit() < 0.05 { 0.1 } else { 0.83 }, 0.799)),
    ("two humps", 0.0, |d| {
        let one = |d: &mut Draws| if d.unit() < 0.3 { 0.1 * d.unit() } else { 0.9 + 0.1 * d.unit() };
        (one(d), one(d))
    }),
    ("quarters", 0.0, |d| (d.below(5) as f64 / 4.0, d.below(5) as f64 / 4.0)),
    ("quarters, nine of ten unchanged", 0.0, |d| {
        let old = d.below(5) as f64 / 4.0;
        (if d.unit() < 0.1 { d.below(5) as f64 / 4.0 } else { old }, old)
    }),
];

const SCORES: [PairLaw; 6] = [
    ("normal", 0.0, |d| (10.0 + d.normal(), 10.0 + d.normal())),
    ("ratings 1 to 5", 0.0, |d| (1.0 + d.below(5) as f64, 1.0 + d.below(5) as f64)),
    ("lognormal, σ = 1", 0.0, |d| (d.normal().exp(), d.normal().exp())),
    ("exponential beside 1", 0.0, |d| (d.exponential(), 1.0)),
    ("80 to 100, one in 50 is 0", 0.0, |d| {
        let one = |d: &mut Draws| if d.unit() < 0.02 { 0.0 } else { 80.0 + 20.0 * d.unit() };
        (one(d), one(d))
    }),
    ("80 to 100, one in 50 is lost", -1.8, |d| {
        let old = 80.0 + 20.0 * d.unit();
        (if d.unit() < 0.02 { 0.0 } else { old }, old)
    }),
];

/// Pairs as two runs, with `put` to record a value.
fn runs(n: usize, mut pair: impl FnMut() -> (f64, f64), put: fn(&mut Samples, i64, f64)) -> [Samples; 2] {
    let mut runs = [Samples::new(), Samples::new()];
    for id in 0..n as i64 {
        let (new, old) = pair();
        put(&mut runs[0], id, new);
        put(&mut runs[1], id, old);
    }
    runs
}

fn put_cost(samples: &mut Samples, id: i64, x: f64) {
    samples.push(id).field("cost_usd", x);
}

fn put_score(samples: &mut Samples, id: i64, x: f64) {
    samples.push(id).score("judge", x);
}

#[test]
#[ignore = "slow: cargo xtask calibrate"]
fn shown_changes_cover_and_are_found_no_more_often_than_claimed() {
    let mut rows = Vec::new();
    paired(&mut rows);
    few(&mut rows);
    ratios(&mut rows);
    quantiles(&mut rows);
    clusters(&mut rows);
    predictions(&mut rows);
    outsiders(&mut rows);
    reruns(&mut rows);
    publish(&rows);
}

fn paired(rows: &mut Vec<Row>) {
    for n in [10, 12, 30, 100, 300] {
        for (law, truth, pair) in COSTS {
            let draw = |draws: &mut Draws| runs(n, || pair(draws), put_cost);
            let name = format!("{law}, n = {n}");
            Design { metric: "cost", name, measure: cost(), cluster: &[], truth, draw: &draw }.run(rows);
        }
        for (laws, metric) in [(&GRADES[..], "mean of grades"), (&SCORES[..], "mean, unknown range")] {
            for (law, truth, pair) in laws {
                let draw = |draws: &mut Draws| runs(n, || pair(draws), put_score);
                let name = format!("{law}, n = {n}");
                Design { metric, name, measure: mean(), cluster: &[], truth: *truth, draw: &draw }.run(rows);
            }
        }
        for (won, lost) in [(0.1, 0.1), (0.02, 0.02), (0.01, 0.06), (0.0, 0.02)] {
            let draw = |draws: &mut Draws| {
                let pair = || match draws.unit() {
                    u if u < won => (1.0, 0.0),
                    u if u < won + lost => (0.0, 1.0),
                    _ => (1.0, 1.0),
                };
                runs(n, pair, put_score)
            };
            let name = format!("{won} won, {lost} lost, n = {n}");
            let truth = if won == lost { 0.0 } else { won - lost };
            Design { metric: "accuracy", name, measure: accuracy(), cluster: &[], truth, draw: &draw }.run(rows);
        }
    }
}

/// Fewer samples than one should compare.
fn few(rows: &mut Vec<Row>) {
    for n in [2, 3, 4, 5, 6, 7, 8, 9] {
        for (law, truth, pair) in [COSTS[0], COSTS[1], COSTS[6], COSTS[8]] {
            let draw = |draws: &mut Draws| runs(n, || pair(draws), put_cost);
            let name = format!("{law}, n = {n}");
            Design { metric: "cost", name, measure: cost(), cluster: &[], truth, draw: &draw }.run(rows);
        }
        for (law, truth, pair) in [GRADES[0], GRADES[1], GRADES[2], GRADES[7], SCORES[3], SCORES[5]] {
            let draw = |draws: &mut Draws| runs(n, || pair(draws), put_score);
            let name = format!("{law}, n = {n}");
            Design { metric: "mean", name, measure: mean(), cluster: &[], truth, draw: &draw }.run(rows);
        }
    }
}

fn ratios(rows: &mut Vec<Row>) {
    for n in [10, 30, 100] {
        for (name, rate, spread) in [("tokens alike", 0.8, 1.0), ("tokens vary less", 0.5, 0.3)] {
            let draw = |draws: &mut Draws| {
                let mut runs = [Samples::new(), Samples::new()];
                for id in 0..n {
                    let own = draws.normal();
                    for (run, sigma) in runs.iter_mut().zip([spread, 1.0]) {
                        let tokens = 1000.0 * (sigma * own + 0.3 * draws.normal() - sigma * sigma / 2.0).exp();
                        run.push(id).field("tokens_used", tokens).field("quality_score", draws.coin(rate));
                    }
                }
                runs
            };
            let name = format!("{name}, rate {rate}, n = {n}");
            let measure = token_efficiency();
            Design { metric: "token_efficiency", name, measure, cluster: &[], truth: 1.0, draw: &draw }.run(rows);
        }
    }
}

fn quantiles(rows: &mut Vec<Row>) {
    /// How alike times of a sample are in both runs, and how many attempts it has in each; 0 for 1 to 6.
    const DESIGNS: [(usize, f64, [usize; 2]); 9] = [
        (10, 0.0, [1, 1]),
        (30, 0.5, [1, 1]),
        (100, 0.0, [1, 1]),
        (100, 0.9, [1, 1]),
        (300, 0.5, [1, 1]),
        (30, 0.5, [5, 5]),
        (100, 0.7, [3, 3]),
        (100, 0.7, [5, 1]),
        (100, 0.3, [0, 2]),
    ];
    for (n, alike, attempts) in DESIGNS {
        for ratio in [1.0, 1.4] {
            let draw = |draws: &mut Draws| {
                let mut runs = [Samples::new(), Samples::new()];
                for id in 0..n {
                    let own = draws.normal();
                    for (place, run) in runs.iter_mut().enumerate() {
                        let factor = if place == 0 { ratio } else { 1.0 };
                        let times = if attempts[place] == 0 { 1 + id % 6 } else { attempts[place] };
                        for _ in 0..times {
                            let x = alike.sqrt() * own + (1.0 - alike).sqrt() * draws.normal();
                            run.push(id as i64).field("latency_ms", 1000.0 * factor * x.exp());
                        }
                    }
                }
                runs
            };
            for (metric, measure) in [("latency_p50", latency_p50()), ("latency_p95", latency_p95())] {
                let [ours, theirs] = attempts.map(|k| if k == 0 { "1 to 6".into() } else { k.to_string() });
                let name = format!("{n} × {ours} beside {theirs}, correlation {alike}, × {ratio}");
                Design { metric, name, measure, cluster: &[], truth: ratio, draw: &draw }.run(rows);
            }
        }
    }
    // Slow samples are slow in both runs, or in one of them.
    for n in [30, 100, 300] {
        for is_shared in [true, false] {
            let draw = |draws: &mut Draws| {
                let mut runs = [Samples::new(), Samples::new()];
                for id in 0..n {
                    let mut is_slow = draws.unit() < 0.06;
                    for run in &mut runs {
                        for _ in 0..3 {
                            let slow = if is_slow && draws.unit() < 0.8 { 10_000.0 } else { 0.0 };
                            run.push(id).field("latency_ms", slow + (1000.0 * (1.0 + draws.unit())).round());
                        }
                        is_slow = if is_shared { is_slow } else { draws.unit() < 0.06 };
                    }
                }
                runs
            };
            let shared = if is_shared { "the same" } else { "others" };
            let name = format!("{n} × 3, one sample in 17 is slow, {shared} in both");
            let measure = latency_p95();
            Design { metric: "latency_p95", name, measure, cluster: &[], truth: 1.0, draw: &draw }.run(rows);
        }
    }
}

/// Clusters of samples that change together.
fn clusters(rows: &mut Vec<Row>) {
    let layouts: [(&str, Vec<usize>); 6] = [
        ("5 of 12", vec![12; 5]),
        ("40, 5, 5, 5, 5", vec![40, 5, 5, 5, 5]),
        ("10 geometric", (0..10).map(|i| (40.0 * 0.7f64.powi(i)).round() as usize).collect()),
        ("12 of 10", vec![10; 12]),
        ("40 of 1 to 20", (0..40).map(|i| i % 20 + 1).collect()),
        ("100 of 3", vec![3; 100]),
    ];
    for (layout, sizes) in &layouts {
        for (share, loss, is_balanced) in [(0.02, 0.9, false), (0.1, 0.5, false), (0.05, 0.7, true), (0.5, 0.3, false)]
        {
            let draw = |draws: &mut Draws| {
                let mut runs = [Samples::new(), Samples::new()];
                for (cluster, &size) in sizes.iter().enumerate() {
                    let is_changed = draws.unit() < share;
                    let way = if is_balanced { 2.0 * draws.coin(0.5) - 1.0 } else { -1.0 };
                    for _ in 0..size {
                        // Grades vary by sample; a cluster that changes does so in nine of ten samples.
                        let old = 0.9 + 0.1 * draws.unit() * f64::from(u8::from(!is_balanced));
                        let (old, loss) = if is_balanced { (0.5, 0.5 * loss) } else { (old, loss) };
                        let new = if is_changed && draws.unit() < 0.9 { old + way * loss } else { old };
                        let id = runs[0].len() as i64;
                        for (run, score) in runs.iter_mut().zip([new, old]) {
                            run.push(id).score("judge", score).metadata("document", cluster as i64);
                        }
                    }
                }
                runs
            };
            let truth = if is_balanced { 0.0 } else { -0.9 * share * loss };
            let way = if is_balanced { ", either way" } else { "" };
            let name = format!("{layout}, {share} of them change by {loss}{way}");
            let (metric, measure) = ("mean of grades in clusters", mean());
            Design { metric, name, measure, cluster: &["document"], truth, draw: &draw }.run(rows);
        }
        few_lose_much(rows, layout, sizes);
        for (metric, measure) in [("cost in clusters", cost()), ("latency_p50 in clusters", latency_p50())] {
            let draw = |draws: &mut Draws| {
                let mut runs = [Samples::new(), Samples::new()];
                for (cluster, &size) in sizes.iter().enumerate() {
                    let own = [draws.normal(), draws.normal()];
                    for _ in 0..size {
                        let id = runs[0].len() as i64;
                        for (run, own) in runs.iter_mut().zip(own) {
                            let x = (0.3f64.sqrt() * own + 0.7f64.sqrt() * draws.normal()).exp();
                            let row = run.push(id).field("cost_usd", x).field("latency_ms", 1000.0 * x);
                            row.metadata("document", cluster as i64);
                        }
                    }
                }
                runs
            };
            let name = format!("{layout}, lognormal, correlation 0.3");
            Design { metric, name, measure, cluster: &["document"], truth: 1.0, draw: &draw }.run(rows);
        }
    }
}

/// Eight of a hundred samples lose nearly everything, mostly in a few clusters, and all others gain a little or change by chance.
fn few_lose_much(rows: &mut Vec<Row>, layout: &str, sizes: &[usize]) {
    const SHARE: f64 = 0.08;
    for correlation in [0.0, 0.1, 0.3, 0.8] {
        for (others, gain, noise) in [("gain 0.04", 0.04, 0.01), ("vary by 0.1", 0.0, 0.1)] {
            let draw = |draws: &mut Draws| {
                let mut runs = [Samples::new(), Samples::new()];
                for (cluster, &size) in sizes.iter().enumerate() {
                    let spread = 1.0 / correlation - 1.0;
                    let share =
                        if correlation == 0.0 { SHARE } else { draws.beta(SHARE * spread, (1.0 - SHARE) * spread) };
                    for _ in 0..size {
                        let change =
                            if draws.unit() < share { -0.7 } else { gain + noise * (2.0 * draws.unit() - 1.0) };
                        let id = runs[0].len() as i64;
                        for (run, score) in runs.iter_mut().zip([0.85 + change, 0.85]) {
                            run.push(id).score("judge", score).metadata("document", cluster as i64);
                        }
                    }
                }
                runs
            };
            let name = format!("{layout}, one in 12 loses 0.7, others {others}, correlation {correlation}");
            let (metric, measure, truth) = ("mean of grades in clusters", mean(), -0.7 * SHARE + (1.0 - SHARE) * gain);
            Design { metric, name, measure, cluster: &["document"], truth, draw: &draw }.run(rows);
        }
    }
}

/// A class that is rare, and one that is frequent.
fn predictions(rows: &mut Vec<Row>) {
    for (n, attempts) in [(30, 1), (100, 1), (300, 1), (1000, 1), (100, 3)] {
        for (positive, ours, theirs) in [
            (0.01, [0.8, 0.02], [0.8, 0.02]),
            (0.05, [0.8, 0.02], [0.8, 0.02]),
            (0.05, [0.9, 0.01], [0.6, 0.05]),
            (0.95, [0.98, 0.2], [0.98, 0.2]),
            (0.5, [0.9, 0.1], [0.9, 0.1]),
        ] {
            let truths = |[found, mistaken]: [f64; 2]| {
                let (tp, fp): (f64, f64) = (positive * found, (1.0 - positive) * mistaken);
                let (fnn, tn) = (positive - tp, 1.0 - positive - fp);
                let spread = ((tp + fp) * (tp + fnn) * (tn + fp) * (tn + fnn)).sqrt();
                [tp / (tp + fp), found, 2.0 * tp / (2.0 * tp + fp + fnn), (tp * tn - fp * fnn) / spread]
            };
            let draw = |draws: &mut Draws| {
                let mut runs = [Samples::new(), Samples::new()];
                for id in 0..n {
                    let is_actual = draws.unit() < positive;
                    let luck = draws.unit();
                    let is_shared = draws.unit() < 0.6;
                    for (run, shares) in runs.iter_mut().zip([ours, theirs]) {
                        let share = if is_actual { shares[0] } else { shares[1] };
                        let own = if is_shared { luck } else { draws.unit() };
                        for _ in 0..attempts {
                            // Half of what happens is the sample's own, and the other half the attempt's.
                            let at = if draws.unit() < 0.5 { own } else { draws.unit() };
                            run.push(id).field("actual", is_actual).field("predicted", at < share);
                        }
                    }
                }
                runs
            };
            let all = [("precision", precision(true)), ("recall", recall(true)), ("f1", f1(true)), ("mcc", mcc(true))];
            for ((metric, measure), (ours_is, theirs_is)) in
                all.into_iter().zip(truths(ours).into_iter().zip(truths(theirs)))
            {
                let name = format!("{n} × {attempts}, positive {positive}, {ours:?} beside {theirs:?}");
                let truth = if ours == theirs { 0.0 } else { ours_is - theirs_is };
                Design { metric, name, measure, cluster: &[], truth, draw: &draw }.run(rows);
            }
        }
    }
}

/// Costs that are often nothing, have few values or heavy tails; grades with three values; clusters in two ways; the typical sample.
fn outsiders(rows: &mut Vec<Row>) {
    const ODD_COSTS: [PairLaw; 6] = [
        ("nothing in six of ten, unrelated", 1.0, |d| {
            let one = |d: &mut Draws| if d.unit() < 0.6 { 0.0 } else { d.exponential() };
            (one(d), one(d))
        }),
        ("1 to 5, unrelated", 1.0, |d| (1.0 + d.below(5) as f64, 1.0 + d.below(5) as f64)),
        ("1 to 5, one in five changes by one", 1.0, |d| {
            let old = 2.0 + d.below(3) as f64;
            let change = if d.unit() < 0.2 { 2.0 * d.coin(0.5) - 1.0 } else { 0.0 };
            (old + change, old)
        }),
        ("nearly alike", 1.0, |d| (1.0 + 0.01 * d.normal(), 1.0 + 0.01 * d.normal())),
        ("all 6 % higher, within 1 %", 1.06, |d| {
            let own = d.normal().exp();
            (own * 1.06 * (0.01 * (2.0 * d.unit() - 1.0) + 1.0), own)
        }),
        ("mostly near 0, beside gamma 3", 1.0, |d| {
            let few = d.unit().powf(1.0 / 0.3) * d.exponential();
            (few / 0.230_769_230_769_230_77, (d.exponential() + d.exponential() + d.exponential()) / 3.0)
        }),
    ];
    const ODD_GRADES: [PairLaw; 4] = [
        ("0, 0.5 or 1, unrelated", 0.0, |d| (d.below(3) as f64 / 2.0, d.below(3) as f64 / 2.0)),
        ("Beta(0.2, 0.2), unrelated", 0.0, |d| (d.beta(0.2, 0.2), d.beta(0.2, 0.2))),
        ("nothing in nine of ten, unrelated", 0.0, |d| {
            let one = |d: &mut Draws| if d.unit() < 0.9 { 0.0 } else { d.unit() };
            (one(d), one(d))
        }),
        ("0.5 ± 0.001", 0.0, |d| (0.5 + 0.001 * d.normal(), 0.5 + 0.001 * d.normal())),
    ];
    for n in [10, 30, 100, 300] {
        for (law, truth, pair) in ODD_COSTS {
            let draw = |draws: &mut Draws| runs(n, || pair(draws), put_cost);
            let name = format!("{law}, n = {n}");
            Design { metric: "cost", name, measure: cost(), cluster: &[], truth, draw: &draw }.run(rows);
        }
        for (law, truth, pair) in ODD_GRADES {
            let draw = |draws: &mut Draws| runs(n, || pair(draws), put_score);
            let name = format!("{law}, n = {n}");
            Design { metric: "mean of grades", name, measure: mean(), cluster: &[], truth, draw: &draw }.run(rows);
        }
        // The median of the ratios is known where factors are symmetric on the scale of logarithms.
        let typical: [PairLaw; 3] = [
            ("each varies by a lognormal factor, σ = 1", 1.0, |d| {
                let own = d.normal().exp();
                (own * d.normal().exp(), own)
            }),
            ("a third less", 0.7, |d| {
                let own = d.normal().exp();
                (0.7 * own * (0.3 * d.normal()).exp(), own)
            }),
            ("one in five changes by one", 1.0, ODD_COSTS[2].2),
        ];
        for (law, truth, pair) in typical {
            let draw = |draws: &mut Draws| runs(n, || pair(draws), put_cost);
            let (metric, name) = ("typical cost", format!("{law}, n = {n}"));
            Design { metric, name, measure: cost(), cluster: &[], truth, draw: &draw }.run(rows);
        }
    }
    for (layout, documents, size) in [("12 of 5", 12i64, 5i64), ("40 of 3", 40, 3), ("100 of 2", 100, 2)] {
        for correlation in [0.0f64, 0.7] {
            let draw = |draws: &mut Draws| {
                let mut runs = [Samples::new(), Samples::new()];
                let mut shared = 0.0;
                for document in 0..documents {
                    if document % 2 == 0 {
                        shared = draws.normal();
                    }
                    for place in 0..size {
                        let x = correlation.sqrt() * shared + (1.0 - correlation).sqrt() * draws.normal();
                        let old = draws.normal().exp();
                        for (run, cost) in runs.iter_mut().zip([old * (0.5 * x).exp(), old]) {
                            // Two documents have an author in common, and each has one of its own.
                            let author = if place == 0 { document / 2 } else { -1 - document };
                            let row = run.push(document * size + place).field("cost_usd", cost);
                            row.metadata("document", document).metadata("author", author);
                        }
                    }
                }
                runs
            };
            for (metric, truth) in [("cost in clusters", 0.125f64.exp()), ("typical cost in clusters", 1.0)] {
                let name = format!("{layout} in pairs by author, factors, correlation {correlation}");
                let cluster = &["document", "author"];
                Design { metric, name, measure: cost(), cluster, truth, draw: &draw }.run(rows);
            }
        }
    }
}

/// The same suite again: samples are given, and only their attempts are luck.
fn reruns(rows: &mut Vec<Row>) {
    type Shares = (&'static str, [f64; 5], [f64; 5]);
    const SHARES: [Shares; 6] = [
        ("half are coins", [1.0, 0.5, 0.0, 1.0, 0.5], [1.0, 0.5, 0.0, 1.0, 0.5]),
        ("one in five fails at times", [1.0, 1.0, 1.0, 1.0, 0.9], [1.0, 1.0, 1.0, 1.0, 0.9]),
        ("all alike", [0.8; 5], [0.8; 5]),
        ("one in fifty fails beside none", [0.98; 5], [1.0; 5]),
        ("one in 200 fails beside none", [0.995; 5], [1.0; 5]),
        ("0.05 beside 0.01", [0.05; 5], [0.01; 5]),
    ];
    for (n, k) in
        [(100usize, [2usize, 2]), (30, [2, 2]), (20, [5, 5]), (100, [5, 2]), (10, [3, 3]), (60, [3, 3]), (300, [2, 2])]
    {
        for (about, ours, theirs) in SHARES {
            let draw = |draws: &mut Draws| {
                let mut runs = [Samples::new(), Samples::new()];
                for ((run, k), shares) in runs.iter_mut().zip(k).zip([ours, theirs]) {
                    for id in 0..n {
                        for _ in 0..k {
                            run.push(id as i64).score("judge", draws.coin(shares[id % 5]));
                        }
                    }
                }
                runs
            };
            let average = |shares: [f64; 5]| shares.iter().sum::<f64>() / 5.0;
            let truth = if ours == theirs { 0.0 } else { average(ours) - average(theirs) };
            let name = format!("{n} × {} beside {}, {about}", k[0], k[1]);
            let (metric, measure) = ("rerun, accuracy", accuracy());
            Design { metric, name, measure, cluster: &[], truth, draw: &draw }.run(rows);
        }
        // Costs of attempts that are skewed, of samples that differ tenfold.
        let draw = |draws: &mut Draws| {
            let mut runs = [Samples::new(), Samples::new()];
            for (run, k) in runs.iter_mut().zip(k) {
                for id in 0..n {
                    for _ in 0..k {
                        let x = (1 + id % 10) as f64 * (0.5 * draws.normal()).exp();
                        run.push(id as i64).field("latency_ms", 100.0 * x);
                    }
                }
            }
            runs
        };
        let name = format!("{n} × {} beside {}, lognormal attempts, σ = 0.5", k[0], k[1]);
        let (metric, measure) = ("rerun, latency", mean_of("latency_ms"));
        Design { metric, name, measure, cluster: &[], truth: 1.0, draw: &draw }.run(rows);
    }
}

fn publish(rows: &[Row]) {
    let mut text = String::from("| metric | design | method | found without a change | coverage |\n|--|--|--|--|--|\n");
    let mut broken = Vec::new();
    for row in rows {
        writeln!(text, "{}", row.text()).unwrap();
        // The promise, and three standard errors of the count.
        let noise = |p: f64| 3.0 * (p * (1.0 - p) / f64::from(row.replications)).sqrt();
        let is_short = row.covered.is_some_and(|covered| covered < 0.93 - noise(0.93));
        let is_bold = row.found.is_some_and(|found| found > 0.06 + noise(0.06));
        if is_short || is_bold || row.contradictions > 0 {
            broken.push(format!("{} contradictions: {}", row.text(), row.contradictions));
        }
    }
    assert!(broken.is_empty(), "changes that are claimed too boldly:\n{}", broken.join("\n"));
    if std::env::var_os("ONLY").is_some() {
        return;
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/concepts/calibration.md");
    let before = std::fs::read_to_string(page).unwrap();
    let (begin, end) = ("<!-- changes: written by cargo xtask calibrate -->\n", "<!-- changes: end -->");
    let (head, rest) = before.split_once(begin).expect("a place for the table");
    let (old, tail) = rest.split_once(end).expect("an end of the table");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(page, format!("{head}{begin}{text}{end}{tail}")).unwrap();
    } else if !old.is_empty() {
        assert_eq!(old, text, "run with BLESS=1 to rewrite the table");
    }
}
