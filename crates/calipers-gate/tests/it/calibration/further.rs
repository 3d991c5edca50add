//! Further designs: what decides how many attempts there are, how large a cluster is, what is missing and what is labelled.

use super::unusual::gate;
use super::{Counts, ONCE, Row, covers, own_share, predictions_of, replications, scores};
use crate::{gate_on, judged, judged_against, policy};
use calipers_core::stats::special::normal_quantile;
use calipers_core::{Samples, Verdict};
use calipers_testing::simulation::Draws;

/// Grades of few distinct values, and few samples.
const TIED_LAWS: [super::Law; 6] = [
    ("five grades, mostly the best", 0.885, |d| match d.unit() {
        u if u < 0.02 => 0.0,
        u if u < 0.04 => 0.25,
        u if u < 0.1 => 0.5,
        u if u < 0.3 => 0.75,
        _ => 1.0,
    }),
    ("0.8 or 1", 0.94, |d| if d.unit() < 0.3 { 0.8 } else { 1.0 }),
    ("0.5, one in 200 is 0", 0.4975, |d| if d.unit() < 0.005 { 0.0 } else { 0.5 }),
    ("0.99, one in 10 is 0.5", 0.941, |d| if d.unit() < 0.1 { 0.5 } else { 0.99 }),
    ("half 0.6, some 1, few 0", 0.7, |d| match d.unit() {
        u if u < 0.1 => 0.0,
        u if u < 0.6 => 0.6,
        _ => 1.0,
    }),
    ("0 or 0.999", 0.8991, |d| if d.unit() < 0.1 { 0.0 } else { 0.999 }),
];

pub(super) fn ties_and_few(rows: &mut Vec<Row>) {
    for (law, truth, one) in TIED_LAWS {
        for n in [4usize, 6, 8, 9, 10, 30, 100, 300] {
            let draw = |draws: &mut Draws| scores(n, || one(draws));
            let rule = format!("at least {truth}");
            gate(rows, "tied grades", format!("{law}, n = {n}"), ("mean", &rule), ONCE, truth, &draw);
        }
    }
    // Categories of very few scenarios.
    for each in [2i64, 3, 5, 8] {
        for share in [0.3, 0.5, 0.8] {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                for id in 0..40 + each {
                    let is_rare = id < each;
                    let row = samples.push(id).field("passed", draws.coin(if is_rare { share } else { 0.95 }) == 1.0);
                    row.metadata("category", if is_rare { "adversarial" } else { "happy_path" });
                }
                samples
            };
            let name = format!("{each} adversarial ones of {}, share {share}", 40 + each);
            let rule = format!("at least {}%", share * 100.0);
            gate(rows, "safety_rate", name, ("safety_rate", &rule), ONCE, share, &draw);
        }
    }
}

/// Attempts, clusters and weights whose number or size says something about the result.
pub(super) fn sizes_that_matter(rows: &mut Vec<Row>) {
    // Each sample is tried until it passes, at most five times.
    for (hard, share) in [(0.3, 0.4), (0.1, 0.2)] {
        // The share of attempts that passed is 1/k where the k-th did.
        let of = |p: f64| (1..=5).map(|k| p * (1.0 - p).powi(k - 1) / f64::from(k)).sum::<f64>();
        let truth = hard * of(share) + (1.0 - hard) * of(0.95);
        for n in [10i64, 30, 100] {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                for id in 0..n {
                    let p = if draws.unit() < hard { share } else { 0.95 };
                    for _ in 0..5 {
                        let passed = draws.coin(p) == 1.0;
                        samples.push(id).field("passed", passed);
                        if passed {
                            break;
                        }
                    }
                }
                samples
            };
            let name = format!("tried until they pass, a share of {hard} is hard, n = {n}");
            gate(rows, "pass_rate", name, ("pass_rate", &format!("at least {truth}")), ONCE, truth, &draw);
        }
    }
    // Slow samples are tried again, so that a quantile over attempts has more of them.
    for (n, p) in [(60i64, 0.9), (150, 0.9), (300, 0.95)] {
        // A third of the samples is slow: 1000 ms with this probability, else 100, and again after each slow attempt, up to four.
        let slow: f64 = 0.2;
        let attempts = (0..4).map(|k| slow.powi(k)).sum::<f64>();
        let slow_attempts = (1..=4).map(|k| slow.powi(k)).sum::<f64>();
        // The others have one attempt, slow as often as makes the share 1 − p and a little.
        let other = ((1.0 - p) * 1.001 * (attempts / 3.0 + 2.0 / 3.0) - slow_attempts / 3.0) / (2.0 / 3.0);
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                let is_hard = draws.unit() < 1.0 / 3.0;
                for _ in 0..if is_hard { 4 } else { 1 } {
                    let is_slow = draws.unit() < if is_hard { slow } else { other.max(0.0) };
                    samples.push(id).field("latency_ms", if is_slow { 1000.0 } else { 100.0 });
                    if !is_slow {
                        break;
                    }
                }
            }
            samples
        };
        let metric = if p == 0.9 { "latency_p90" } else { "latency_p95" };
        let name = format!("{metric}, slow ones are tried again, n = {n}");
        if other > 0.0 {
            gate(rows, "ties", name, (metric, "at most 500ms"), ONCE, 1000.0, &draw);
        }
    }
    // Sizes of clusters drawn at random, large ones worse or better.
    for count in [8i64, 20, 60] {
        for (about, rate) in [
            ("worse", (|size: usize| 0.98 - 0.03 * size as f64) as fn(usize) -> f64),
            ("better", |size: usize| 0.5 + 0.045 * size as f64),
        ] {
            let sizes = [1usize, 2, 3, 5, 10];
            let all: usize = sizes.iter().sum();
            let truth = sizes.iter().map(|&size| size as f64 * rate(size)).sum::<f64>() / all as f64;
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                let mut id = 0i64;
                for document in 0..count {
                    let size = sizes[draws.below(5)];
                    let share = own_share(draws, rate(size), 0.2);
                    for _ in 0..size {
                        samples.push(id).score("judge", draws.coin(share)).metadata("document", document);
                        id += 1;
                    }
                }
                samples
            };
            let terms = r#""confidence": 0.95, "cluster": "document""#;
            let name = format!("{count} of 1 to 10 at random, large ones {about}, correlation 0.2");
            gate(rows, "clusters", name, ("accuracy", &format!("at least {truth}")), terms, truth, &draw);
        }
    }
    // Documents within repositories, both alike; and templates that cross documents.
    for (about, terms) in [
        ("by repository", r#""confidence": 0.95, "cluster": "repo""#),
        ("by repository and document", r#""confidence": 0.95, "cluster": ["repo", "document"]"#),
    ] {
        for repos in [10i64, 40] {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                let mut id = 0i64;
                for repo in 0..repos {
                    let in_repo = own_share(draws, 0.85, 0.15);
                    for document in 0..3 {
                        let share = own_share(draws, in_repo.clamp(1e-9, 1.0 - 1e-9), 0.2);
                        for _ in 0..1 + draws.below(3) {
                            let row = samples.push(id).score("judge", draws.coin(share)).metadata("repo", repo);
                            row.metadata("document", repo * 3 + document);
                            id += 1;
                        }
                    }
                }
                samples
            };
            let name = format!("{repos} repositories of 3 documents of 1 to 3, {about}");
            gate(rows, "clusters", name, ("accuracy", "at least 85%"), terms, 0.85, &draw);
        }
    }
    // Weights at random: each sample is of a kind, and heavy kinds are worse.
    for n in [20i64, 60, 200] {
        let kinds = [("a", 1.0, 0.98), ("b", 3.0, 0.9), ("c", 9.0, 0.8)];
        let weights: f64 = kinds.iter().map(|kind| kind.1).sum();
        let truth = kinds.iter().map(|kind| kind.1 * kind.2).sum::<f64>() / weights;
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                let (category, _, share) = kinds[draws.below(3)];
                samples.push(id).score("judge", draws.coin(share)).metadata("category", category);
            }
            samples
        };
        let terms = r#""confidence": 0.95, "weights": {"by_category": {"a": 1, "b": 3, "c": 9}}"#;
        let name = format!("kinds at random, weights 1, 3 and 9, n = {n}");
        gate(rows, "weighted", name, ("accuracy", &format!("at least {truth}")), terms, truth, &draw);
    }
}

/// Values that are missing where they would be bad, in every kind of metric.
pub(super) fn missing_not_at_random(rows: &mut Vec<Row>) {
    for n in [30i64, 100, 300] {
        // A tenth fails; a third of the failures has no score, and one in fifty of the others.
        let grades = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                let grade = if draws.unit() < 0.1 { 0.2 } else { 0.7 + 0.3 * draws.unit() };
                let is_lost = draws.unit() < if grade < 0.5 { 1.0 / 3.0 } else { 0.02 };
                let row = samples.push(id);
                if is_lost {
                    row.error("timeout")
                } else {
                    row.score("judge", grade)
                };
            }
            samples
        };
        let truth = 0.02 + 0.9 * 0.85;
        let rule = format!("at least {truth}");
        gate(
            rows,
            "missing scores",
            format!("grades, bad ones more often, n = {n}"),
            ("mean", &rule),
            ONCE,
            truth,
            &grades,
        );
        // Slow attempts have no latency more often.
        let times = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                let ms = 1000.0 * draws.normal().exp();
                let is_lost = draws.unit() < if ms > 1000.0 { 0.1 } else { 0.01 };
                let row = samples.push(id).score("judge", 1.0);
                if !is_lost {
                    row.field("latency_ms", ms);
                }
            }
            samples
        };
        let name = format!("latency_p50, slow ones more often, n = {n}");
        gate(rows, "missing scores", name, ("latency_p50", "at most 1000ms"), ONCE, 1000.0, &times);
        // Predictions that are wrong are missing more often.
        let predicted = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                let is_actual = draws.unit() < 0.5;
                let is_right = draws.unit() < 0.8;
                let row = samples.push(id).field("actual", is_actual);
                if draws.unit() >= if is_right { 0.01 } else { 0.2 } {
                    row.field("predicted", is_actual == is_right);
                }
            }
            samples
        };
        for metric in ["precision", "recall", "f1"] {
            let name = format!("{metric}, wrong ones more often, n = {n}");
            gate(rows, "missing scores", name, (metric, "at least 80%"), ONCE, 0.8, &predicted);
        }
    }
    // Nine attempts in ten of which one is missing, in one sample.
    for (n, k) in [(60i64, 3), (20, 5)] {
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                let own = draws.normal() * 0.5f64.sqrt();
                for attempt in 0..k {
                    let row = samples.push(id).score("judge", 1.0);
                    if (id, attempt) != (0, 0) {
                        row.field("latency_ms", 1000.0 * (own + draws.normal() * 0.5f64.sqrt()).exp());
                    }
                }
            }
            samples
        };
        let name = format!("latency_p50, one attempt, {n} × {k}");
        gate(rows, "missing scores", name, ("latency_p50", "at most 1000ms"), ONCE, 1000.0, &draw);
    }
}

/// Attempts without a value at samples of which others have one: bad ones more often.
pub(super) fn missing_attempts(rows: &mut Vec<Row>) {
    for (n, k) in [(20i64, 10), (30, 5), (60, 3), (100, 3), (300, 3)] {
        let scored = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                let share = own_share(draws, 0.9, 0.3);
                for _ in 0..k {
                    let score = draws.coin(share);
                    let row = samples.push(id).metadata("document", id / 2);
                    if score == 0.0 && draws.unit() < 1.0 / 3.0 {
                        row.error("timeout")
                    } else {
                        row.score("judge", score)
                    };
                }
            }
            samples
        };
        for (about, terms) in [
            ("", ONCE),
            (", documents of 2", r#""confidence": 0.95, "cluster": "document""#),
            (", any look", r#""confidence": {"level": 0.95, "looks": "any"}"#),
        ] {
            let name = format!("accuracy, a third of the attempts that fail, {n} × {k}{about}");
            gate(rows, "missing attempts", name, ("accuracy", "at least 90%"), terms, 0.9, &scored);
        }
        let predicted = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                let is_actual = draws.unit() < 0.5;
                let share = own_share(draws, 0.8, 0.3);
                for _ in 0..k {
                    let is_right = draws.unit() < share;
                    let row = samples.push(id).field("actual", is_actual);
                    if is_right || draws.unit() < 0.7 {
                        row.field("predicted", is_actual == is_right);
                    }
                }
            }
            samples
        };
        for (metric, rule, truth) in [
            ("precision", "at least 80%", 0.8),
            ("recall", "at least 80%", 0.8),
            ("f1", "at least 80%", 0.8),
            ("mcc", "at least 0.6", 0.6),
        ] {
            // Its test takes longest.
            if metric == "mcc" && n > 60 {
                continue;
            }
            let name = format!("{metric}, three in ten of the wrong attempts, {n} × {k}");
            gate(rows, "missing attempts", name, (metric, rule), ONCE, truth, &predicted);
        }
    }
    // The same suite again: each sample has a share of its own.
    for (n, k) in [(10i64, 5), (30, 3), (50, 10)] {
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                let share = [1.0, 0.95, 0.7, 1.0, 0.85][(id % 5) as usize];
                for _ in 0..k {
                    let score = draws.coin(share);
                    let row = samples.push(id);
                    if score == 0.0 && draws.unit() < 1.0 / 3.0 {
                        row.error("timeout")
                    } else {
                        row.score("judge", score)
                    };
                }
            }
            samples
        };
        let terms = r#""confidence": 0.95, "estimand": "this_suite_rerun""#;
        let name = format!("accuracy of this suite rerun, a third of the attempts that fail, {n} × {k}");
        gate(rows, "missing attempts", name, ("accuracy", "at least 90%"), terms, 0.9, &draw);
    }
}

/// What is compared with a baseline: differences that go against each other, metrics without a value per scenario, missing scores.
pub(super) fn other_baselines(rows: &mut Vec<Row>) {
    let mut compare = |family: &'static str,
                       name: String,
                       (metric, margin, truth): (&str, f64, f64),
                       terms: &str,
                       draw: &dyn Fn(&mut Draws) -> (Samples, Samples)| {
        let text = format!(
            r#"{{"baseline": {{"mode": "non_inferiority", "margin": {margin}, "metrics": ["{metric}"]}}, {terms}}}"#
        );
        let policy = policy(&text);
        let mut draws = Draws::new(rows.len() as u64 + 1, normal_quantile);
        let size = draw(&mut Draws::new(1, normal_quantile)).0.attempts();
        let counts = Counts::draw(family, replications(2 * size), || {
            let (before, now) = draw(&mut draws);
            let gate = gate_on(&judged_against(&policy, &now, &before), metric);
            let interval = gate.figure.and_then(|figure| figure.interval);
            (gate.verdict == Verdict::Pass, interval.map(|interval| covers(interval, truth)))
        });
        rows.push(counts.row(family, name));
    };
    let family = "non-inferiority";
    for n in [10usize, 30, 100, 300] {
        // What passed before fails now, mostly.
        let against = |draws: &mut Draws| {
            let luck: Vec<f64> = (0..n).map(|_| draws.unit()).collect();
            let of = |share: f64, is_turned: bool| {
                let mut at = luck.iter();
                scores(n, move || {
                    let u = *at.next().unwrap();
                    f64::from(u8::from(if is_turned { 1.0 - u } else { u } < share))
                })
            };
            (of(0.6, false), of(0.5, true))
        };
        compare(
            family,
            format!("0.5 beside 0.6, one passes where the other fails, n = {n}"),
            ("accuracy", 0.1, -0.1),
            ONCE,
            &against,
        );
        // A third of what fails now has no score.
        let lost = |draws: &mut Draws| {
            let (mut before, mut now) = (Samples::new(), Samples::new());
            for id in 0..n as i64 {
                let u = draws.unit();
                before.push(id).score("judge", f64::from(u8::from(u < 0.95)));
                let v = if draws.unit() < 0.7 { u } else { draws.unit() };
                let row = now.push(id);
                if v < 0.85 {
                    row.score("judge", 1.0);
                } else if draws.unit() < 1.0 / 3.0 {
                    row.error("timeout");
                } else {
                    row.score("judge", 0.0);
                }
            }
            (before, now)
        };
        compare(
            family,
            format!("0.85 beside 0.95, a third of the failures is missing, n = {n}"),
            ("accuracy", 0.1, -0.1),
            ONCE,
            &lost,
        );
        // Before, some of what passes ended in an error.
        let lost_before = |draws: &mut Draws| {
            let (mut before, mut now) = (Samples::new(), Samples::new());
            for id in 0..n as i64 {
                let u = draws.unit();
                let row = before.push(id);
                if draws.unit() < 0.1 {
                    row.error("timeout")
                } else {
                    row.field("passed", u < 0.95)
                };
                now.push(id).field("passed", u < 0.85);
            }
            (before, now)
        };
        compare(
            family,
            format!("0.85 beside 0.95, a tenth ended in an error before, n = {n}"),
            ("pass_rate", 0.1, -0.1),
            ONCE,
            &lost_before,
        );
    }
    for (then, n) in [(30usize, 30usize), (100, 100), (30, 300), (300, 300)] {
        // The recorded value is one of a run, with an error of its own.
        let predicted = |draws: &mut Draws| {
            (predictions_of(draws, then, 1, [0.5, 0.9, 0.1]), predictions_of(draws, n, 1, [0.5, 0.8, 0.2]))
        };
        for metric in ["precision", "recall", "f1"] {
            compare(
                family,
                format!("{metric}, 0.8 beside 0.9, {n} scenarios, {then} before"),
                (metric, 0.1, -0.1),
                ONCE,
                &predicted,
            );
        }
        let times = |draws: &mut Draws| {
            let mut run = |count: usize, scale: f64| {
                let mut samples = Samples::new();
                (0..count).for_each(|id| {
                    samples
                        .push(id as i64)
                        .score("judge", 1.0)
                        .field("latency_ms", scale * (0.5 * draws.normal()).exp());
                });
                samples
            };
            (run(then, 1000.0), run(n, 1200.0))
        };
        compare(
            family,
            format!("latency_p50, 1200 ms beside 1000, {n} scenarios, {then} before"),
            ("latency_p50", 200.0, 200.0),
            ONCE,
            &times,
        );
    }
}

/// Conditions of several comparisons, and judges with labels that were not chosen at random.
pub(super) fn conditions(rows: &mut Vec<Row>) {
    // Metrics that rise and fall together, or against each other.
    let draw = |draws: &mut Draws, n: i64, [accuracy, passed]: [f64; 2], is_turned: bool| {
        let mut samples = Samples::new();
        for id in 0..n {
            let u = draws.unit();
            let v = if draws.unit() < 0.8 { if is_turned { 1.0 - u } else { u } } else { draws.unit() };
            samples.push(id).score("judge", f64::from(u8::from(u < accuracy))).field("passed", v < passed);
        }
        samples
    };
    for (about, condition, shares) in [
        ("both of two, one on its threshold", "accuracy >= 0.8 AND pass_rate >= 0.8", [0.8, 0.99]),
        ("both of two on their thresholds", "accuracy >= 0.8 AND pass_rate >= 0.8", [0.8, 0.8]),
        ("one of two on their thresholds", "accuracy >= 0.8 OR pass_rate >= 0.8", [0.8, 0.8]),
        ("one of two, other thresholds", "accuracy >= 0.7 OR pass_rate >= 0.9", [0.7, 0.9]),
        ("not below", "NOT accuracy < 0.8 AND NOT pass_rate < 0.6", [0.8, 0.9]),
        ("a sum, or one of them", "(0.5 * accuracy + 0.5 * pass_rate >= 0.8) OR accuracy >= 0.8", [0.8, 0.8]),
    ] {
        for is_turned in [false, true] {
            for n in [30i64, 100, 300] {
                let policy = policy(&format!(r#"{{"composite": {{"pass": "{condition}"}}, {ONCE}}}"#));
                let mut draws = Draws::new(rows.len() as u64 + 1, normal_quantile);
                let counts = Counts::draw("condition", replications(n as usize), || {
                    let report = judged(&policy, &draw(&mut draws, n, shares, is_turned));
                    (gate_on(&report, "composite").verdict == Verdict::Pass, None)
                });
                let together = if is_turned { "against each other" } else { "together" };
                rows.push(counts.row("condition", format!("{about}, {together}, n = {n}")));
            }
        }
    }
}
