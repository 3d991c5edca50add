//! Designs that are like none of the others: what else a run may look like.

use super::{Counts, Design, ONCE, Row, covers, own_share, predictions_of, replications, scores};
use crate::{gate_on, judged, judged_against, judged_at, policy};
use calipers_core::stats::special::normal_quantile;
use calipers_core::{Samples, Verdict};
use calipers_testing::simulation::Draws;

/// Designs that are like none of the others.
pub(super) fn unlike_the_others(rows: &mut Vec<Row>) {
    for n in [10, 30, 100, 1000] {
        // Most grades are the best there is.
        let draw = |draws: &mut Draws| scores(n, || if draws.unit() < 0.7 { 1.0 } else { draws.unit() });
        let (name, rule) = (format!("seven of ten are 1, n = {n}"), "at least 0.85".to_owned());
        Design { family: "grades", name, metric: "mean", rule, terms: ONCE, truth: 0.85, draw: &draw }.run(rows);
    }
    for n in [10, 100] {
        // Of two attempts exactly one passes, in most samples.
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                let first = draws.coin(0.5) == 1.0;
                let second = if draws.unit() < 0.8 { !first } else { draws.coin(0.5) == 1.0 };
                samples.push(id).field("passed", first);
                samples.push(id).field("passed", second);
            }
            samples
        };
        let (name, rule) = (format!("{n} × 2 attempts that differ"), "at least 50%".to_owned());
        Design { family: "pass_rate", name, metric: "pass_rate", rule, terms: ONCE, truth: 0.5, draw: &draw }.run(rows);
    }
    for n in [20, 60] {
        // Hard samples are tried ten times, and easy ones once.
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                let (attempts, share) = if draws.unit() < 0.5 { (10, 0.8) } else { (1, 1.0) };
                let own = own_share(draws, share, 0.3);
                for _ in 0..attempts {
                    samples.push(id).field("passed", draws.coin(own) == 1.0);
                }
            }
            samples
        };
        let (name, rule) =
            (format!("{n} samples, hard ones with 10 attempts, others with 1"), "at least 90%".to_owned());
        Design { family: "pass_rate", name, metric: "pass_rate", rule, terms: ONCE, truth: 0.9, draw: &draw }.run(rows);
    }
    for correlation in [0.0, 0.3] {
        // Thirty documents of four, of which every third has weight 3 and is worse.
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for document in 0i64..30 {
                let is_heavy = document % 3 == 0;
                let share = own_share(draws, if is_heavy { 0.8 } else { 0.95 }, correlation);
                for place in 0..4 {
                    let row = samples.push(document * 4 + place).score("judge", draws.coin(share));
                    let row = row.metadata("category", if is_heavy { "adversarial" } else { "happy_path" });
                    row.metadata("document", document);
                }
            }
            samples
        };
        let truth = 0.6 * 0.8 + 0.4 * 0.95;
        let terms = r#""confidence": 0.95, "cluster": "document", "weights": {"by_category": {"adversarial": 3}}"#;
        let name = format!("30 documents of 4, a third counts three times, correlation {correlation}");
        let rule = format!("at least {}%", truth * 100.0);
        Design { family: "clusters and weights", name, metric: "accuracy", rule, terms, truth, draw: &draw }.run(rows);
    }
    for n in [30, 100, 1000] {
        // All passed before, and one in twenty fails now: all but a few are ties.
        let text = format!(
            r#"{{"baseline": {{"mode": "non_inferiority", "margin": 0.05, "metrics": ["accuracy"]}}, {ONCE}}}"#
        );
        let policy = policy(&text);
        let before = scores(n, || 1.0);
        let mut draws = Draws::new(rows.len() as u64 + 1, normal_quantile);
        let counts = Counts::draw("non-inferiority", replications(n), || {
            let gate = gate_on(&judged_against(&policy, &scores(n, || draws.coin(0.95)), &before), "accuracy");
            let interval = gate.figure.and_then(|figure| figure.interval);
            (gate.verdict == Verdict::Pass, interval.map(|interval| covers(interval, -0.05)))
        });
        rows.push(counts.row("non-inferiority", format!("0.95 beside 1, margin 0.05, n = {n}")));
    }
    let clustered = r#""confidence": 0.95, "cluster": "document""#;
    let any_look = r#""confidence": {"level": 0.95, "looks": "any"}"#;
    for (n, terms, about, correlation) in [(60, clustered, "clustered", 0.3), (200, any_look, "any look", 0.0)] {
        // Predictions of one document go together.
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            let (mut found, mut mistaken) = (0.8, 0.2);
            for id in 0..n {
                if id % 3 == 0 {
                    (found, mistaken) = (own_share(draws, 0.8, correlation), own_share(draws, 0.2, correlation));
                }
                let is_actual = draws.unit() < 0.5;
                let row = samples.push(id).field("actual", is_actual).metadata("document", id / 3);
                row.field("predicted", draws.coin(if is_actual { found } else { mistaken }) == 1.0);
            }
            samples
        };
        let (name, rule) =
            (format!("{about}, documents of 3, correlation {correlation}, n = {n}"), "at least 0.6".to_owned());
        Design { family: "mcc", name, metric: "mcc", rule, terms, truth: 0.6, draw: &draw }.run(rows);
    }
}

/// A gate on one metric of a run.
pub(super) fn gate(
    rows: &mut Vec<Row>,
    family: &'static str,
    name: String,
    asked: (&'static str, &str),
    terms: &str,
    truth: f64,
    draw: &dyn Fn(&mut Draws) -> Samples,
) {
    let (metric, rule) = asked;
    Design { family, name, metric, rule: rule.to_owned(), terms, truth, draw }.run(rows);
}

/// Weights, clusters, attempts, missing scores and formulas together.
pub(super) fn many_things_at_once(rows: &mut Vec<Row>) {
    for correlation in [0.0, 0.3] {
        for n in [20i64, 60] {
            // Documents of one to five samples with one to four attempts; every third document is adversarial, counts four times and is
            // worse.
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                let mut id = 0i64;
                for document in 0..n {
                    let is_heavy = document % 3 == 0;
                    let share = own_share(draws, if is_heavy { 0.85 } else { 0.95 }, correlation);
                    for _ in 0..1 + document % 5 {
                        let own = own_share(draws, share.clamp(1e-9, 1.0 - 1e-9), correlation);
                        for _ in 0..1 + id % 4 {
                            let row =
                                samples.push(id).field("passed", draws.coin(own) == 1.0).metadata("document", document);
                            row.metadata("category", if is_heavy { "adversarial" } else { "happy_path" });
                        }
                        id += 1;
                    }
                }
                samples
            };
            let (mut heavy, mut light) = (0.0, 0.0);
            for document in 0..n {
                let size = (1 + document % 5) as f64;
                if document % 3 == 0 { heavy += 4.0 * size } else { light += size }
            }
            let truth = (heavy * 0.85 + light * 0.95) / (heavy + light);
            let terms = r#""confidence": 0.95, "cluster": "document", "weights": {"by_category": {"adversarial": 4}},
                "required_scenarios": {"ids": ["0"]}"#;
            let name = format!(
                "{n} documents of 1 to 5 with 1 to 4 attempts, a third counts four times, correlation {correlation}"
            );
            gate(
                rows,
                "clusters, weights, attempts",
                name,
                ("pass_rate", &format!("at least {truth}")),
                terms,
                truth,
                &draw,
            );
            // The same, as a formula of two metrics.
            let text = format!(
                r#"{{"composite": {{"final": "pass_rate * 0.5 + safety_rate * 0.5", "pass": "final >= {}"}}, {terms}}}"#,
                0.5 * truth + 0.5 * 0.85
            );
            let policy = policy(&text);
            let mut draws = Draws::new(rows.len() as u64 + 1, normal_quantile);
            let counts = Counts::draw("composite of clusters", replications(n as usize * 8), || {
                let report = judged(&policy, &draw(&mut draws));
                let passed = gate_on(&report, "composite").verdict == Verdict::Pass;
                let interval = report.composites[0].figure.interval;
                (passed, interval.map(|interval| covers(interval, 0.5 * truth + 0.425)))
            });
            rows.push(
                counts.row("composite of clusters", format!("{n} documents, as above, correlation {correlation}")),
            );
        }
    }
    // Five categories whose weights rise as their shares fall, with few samples each.
    for each in [3i64, 10] {
        let kinds = [("a", 1.0, 0.99), ("b", 2.0, 0.95), ("c", 5.0, 0.9), ("d", 10.0, 0.85), ("e", 20.0, 0.8)];
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for (kind, (category, _, share)) in (0i64..).zip(kinds) {
                for id in 0..each {
                    samples.push(kind * each + id).score("judge", draws.coin(share)).metadata("category", category);
                }
            }
            samples
        };
        let weights: f64 = kinds.iter().map(|kind| kind.1).sum();
        let truth = kinds.iter().map(|kind| kind.1 * kind.2).sum::<f64>() / weights;
        let terms = r#""confidence": 0.95, "weights": {"by_category": {"a": 1, "b": 2, "c": 5, "d": 10, "e": 20}}"#;
        let name = format!("five categories of {each}, weights from 1 to 20, heavier ones are worse");
        gate(rows, "weighted", name, ("accuracy", &format!("at least {truth}")), terms, truth, &draw);
    }
    // Scores that are missing: by chance, or mostly where they would be bad.
    for (name, terms, lost, truth) in [
        ("a tenth is missing by chance, counted as the worst", ONCE, [0.1, 0.1], 0.9),
        ("a third of the failures is missing, counted as the worst", ONCE, [0.0, 1.0 / 3.0], 0.9),
        ("a tenth is missing by chance, left out", r#""confidence": 0.95, "missing": "at_random""#, [0.1, 0.1], 0.9),
    ] {
        for n in [30i64, 100] {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                for id in 0..n {
                    let score = draws.coin(0.9);
                    let is_lost = draws.unit() < if score == 1.0 { lost[0] } else { lost[1] };
                    let row = samples.push(id);
                    if is_lost {
                        row.error("timeout")
                    } else {
                        row.score("judge", score)
                    };
                }
                samples
            };
            let policy =
                policy(&format!(r#"{{"thresholds": {{"blocking": {{"accuracy": "at least {truth}"}}}}, {terms}}}"#));
            let mut draws = Draws::new(rows.len() as u64 + 1, normal_quantile);
            let counts = Counts::draw("missing scores", replications(n as usize), || {
                let gate = gate_on(&judged(&policy, &draw(&mut draws)), "accuracy");
                let interval = gate.figure.and_then(|figure| figure.interval);
                (gate.verdict == Verdict::Pass, interval.map(|interval| covers(interval, truth)))
            });
            rows.push(counts.row("missing scores", format!("{name}, n = {n}")));
        }
    }
    // A rerun of the same suite: samples differ as much as they like, and are given.
    for (n, k) in [(10i64, 5), (30, 3), (50, 10)] {
        let share = |id: i64| [1.0, 0.95, 0.7, 1.0, 0.85][(id % 5) as usize];
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                for _ in 0..k {
                    samples.push(id).field("passed", draws.coin(share(id)) == 1.0);
                }
            }
            samples
        };
        let terms = r#""confidence": 0.95, "estimand": "this_suite_rerun""#;
        gate(
            rows,
            "this suite rerun",
            format!("{n} samples × {k} attempts"),
            ("pass_rate", "at least 90%"),
            terms,
            0.9,
            &draw,
        );
    }
    // A baseline that has other scenarios too.
    for (n, before) in [(30usize, 300usize), (100, 120), (300, 150)] {
        let text =
            format!(r#"{{"baseline": {{"mode": "non_inferiority", "margin": 0.1, "metrics": ["accuracy"]}}, {ONCE}}}"#);
        let policy = policy(&text);
        let mut draws = Draws::new(rows.len() as u64 + 1, normal_quantile);
        let counts = Counts::draw("non-inferiority", replications(n + before), || {
            let luck: Vec<f64> = (0..n.max(before)).map(|_| draws.unit()).collect();
            let mut run = |count: usize, share: f64| {
                let mut samples = Samples::new();
                for (id, own) in luck.iter().enumerate().take(count) {
                    let at = if draws.unit() < 0.6 { *own } else { draws.unit() };
                    samples.push(id as i64).score("judge", f64::from(u8::from(at < share)));
                }
                samples
            };
            let (old, new) = (run(before, 0.95), run(n, 0.85));
            let gate = gate_on(&judged_against(&policy, &new, &old), "accuracy");
            let interval = gate.figure.and_then(|figure| figure.interval);
            (gate.verdict == Verdict::Pass, interval.map(|interval| covers(interval, -0.1)))
        });
        rows.push(
            counts.row("non-inferiority", format!("0.85 beside 0.95, margin 0.1, {n} scenarios, {before} before")),
        );
    }
    // Looks after numbers of samples that depend on what was seen: soon again after a good one, late after a bad one.
    for (truth, first) in [(0.9, 30usize), (0.7, 10)] {
        for (about, terms) in
            [("any number", r#""confidence": {"level": 0.95, "looks": "any"}"#), ("counted in a file", ONCE)]
        {
            let policy =
                policy(&format!(r#"{{"thresholds": {{"blocking": {{"accuracy": "at least {truth}"}}}}, {terms}}}"#));
            let mut draws = Draws::new(rows.len() as u64 + 1, normal_quantile);
            let counts = Counts::draw("looks", 600, || {
                let mut drawn: Vec<f64> = Vec::new();
                let mut more = first;
                for look in 1..=12 {
                    drawn.extend((0..more).map(|_| draws.coin(truth)));
                    let mut at = drawn.iter();
                    let run = scores(drawn.len(), move || *at.next().unwrap());
                    let verdict = gate_on(&judged_at(&policy, &run, Some(look)), "accuracy").verdict;
                    if verdict == Verdict::Pass {
                        return (true, None);
                    }
                    let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
                    more = if mean > truth { 1 } else { 40 };
                }
                (false, None)
            });
            rows.push(
                counts.row("looks", format!("{about}, soon again after good ones, from n = {first}, share {truth}")),
            );
        }
    }
}

/// Few samples, and thresholds near 0 and 1.
pub(super) fn near_the_ends(rows: &mut Vec<Row>) {
    for n in [2usize, 3, 5, 7] {
        for (law, truth, one) in super::LAWS.into_iter().chain(LOW_LAWS) {
            let draw = |draws: &mut Draws| scores(n, || one(draws));
            gate(
                rows,
                "few grades",
                format!("{law}, n = {n}"),
                ("mean", &format!("at least {truth}")),
                ONCE,
                truth,
                &draw,
            );
        }
    }
    for (n, share) in [(20usize, 0.05), (100, 0.01), (300, 0.01), (1000, 0.005), (20, 0.3), (5, 0.2)] {
        let draw = |draws: &mut Draws| scores(n, || draws.coin(share));
        for (word, rule) in [("at least", format!("at least {share}")), ("at most", format!("at most {share}"))] {
            gate(rows, "shares near an end", format!("{word} {share}, n = {n}"), ("mean", &rule), ONCE, share, &draw);
        }
    }
    for (n, share) in [(300usize, 0.99), (1000, 0.995), (3000, 0.999)] {
        let draw = |draws: &mut Draws| scores(n, || draws.coin(share));
        let rule = format!("at least {}%", share * 100.0);
        gate(rows, "shares near an end", format!("at least {share}, n = {n}"), ("accuracy", &rule), ONCE, share, &draw);
    }
    // Grades of which little is better: most are 0, some are 1 or between.
    for (law, truth, one) in LOW_LAWS {
        for n in [10usize, 30, 100, 1000] {
            let draw = |draws: &mut Draws| scores(n, || one(draws));
            for word in ["at least", "at most"] {
                let rule = format!("{word} {truth}");
                gate(rows, "low grades", format!("{law}, {word}, n = {n}"), ("mean", &rule), ONCE, truth, &draw);
            }
        }
    }
}

/// Laws of grades that are mostly low.
const LOW_LAWS: [super::Law; 5] = [
    ("0, one in 20 is 1", 0.05, |d| f64::from(u8::from(d.unit() < 0.05))),
    ("0.02, one in 50 is 1", 0.0396, |d| if d.unit() < 0.02 { 1.0 } else { 0.02 }),
    ("Beta(0.1, 0.9)", 0.1, |d| d.beta(0.1, 0.9)),
    ("Beta(1, 9)", 0.1, |d| d.beta(1.0, 9.0)),
    ("0, or uniform to 0.2", 0.02, |d| if d.unit() < 0.2 { 0.2 * d.unit() } else { 0.0 }),
];

/// Clusters of one beside large ones, samples with many attempts beside others with one.
pub(super) fn units_of_many_sizes(rows: &mut Vec<Row>) {
    let designs: [(&str, Vec<usize>); 4] = [
        ("60 of 1 and one of 60", std::iter::repeat_n(1, 60).chain([60]).collect()),
        ("100 of 1 and three of 30", std::iter::repeat_n(1, 100).chain([30; 3]).collect()),
        ("200 of 1 and ten of 10", std::iter::repeat_n(1, 200).chain([10; 10]).collect()),
        ("halves: 256, 128 … 1", (0..9).map(|power| 1usize << power).collect()),
    ];
    for (sizes_name, sizes) in &designs {
        // Samples of a cluster alike, and large clusters worse or better than others.
        for (about, large, small) in
            [("all alike", 0.8, 0.8), ("large ones worse", 0.6, 0.95), ("large ones better", 0.95, 0.6)]
        {
            let is_large = |size: usize| size >= 10;
            let all: usize = sizes.iter().sum();
            let in_large: usize = sizes.iter().copied().filter(|size| is_large(*size)).sum();
            let truth = (in_large as f64 * large + (all - in_large) as f64 * small) / all as f64;
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                let mut id = 0i64;
                for (cluster, &size) in sizes.iter().enumerate() {
                    let share = own_share(draws, if is_large(size) { large } else { small }, 0.3);
                    for _ in 0..size {
                        samples.push(id).score("judge", draws.coin(share)).metadata("document", cluster as i64);
                        id += 1;
                    }
                }
                samples
            };
            let terms = r#""confidence": 0.95, "cluster": "document""#;
            let rule = format!("at least {truth}");
            gate(
                rows,
                "clusters",
                format!("{sizes_name}, {about}, correlation 0.3"),
                ("accuracy", &rule),
                terms,
                truth,
                &draw,
            );
        }
    }
    for n in [30i64, 100] {
        // Documents of one to eight samples, each with its own times and predictions.
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            let mut id = 0i64;
            for document in 0..n {
                let own = draws.normal() * 0.5f64.sqrt();
                let (found, mistaken) = (own_share(draws, 0.8, 0.3), own_share(draws, 0.2, 0.3));
                for _ in 0..1 + document % 8 {
                    let is_actual = draws.unit() < 0.5;
                    let row = samples.push(id).metadata("document", document).field("actual", is_actual);
                    let row = row.field("predicted", draws.coin(if is_actual { found } else { mistaken }) == 1.0);
                    let row = row.field("latency_ms", 1000.0 * (own + draws.normal() * 0.5f64.sqrt()).exp());
                    row.field("cost_usd", draws.exponential().min(4.0));
                    id += 1;
                }
            }
            samples
        };
        let p95 = 1000.0 * normal_quantile(0.95).exp();
        for (metric, rule, truth) in [
            ("precision", "at least 80%".to_owned(), 0.8),
            ("recall", "at least 80%".to_owned(), 0.8),
            ("f1", "at least 80%".to_owned(), 0.8),
            ("latency_p95", format!("at most {p95}ms"), p95),
            ("cost", format!("at most {}", 1.0 - (-4f64).exp()), 1.0 - (-4f64).exp()),
        ] {
            let terms = r#""confidence": 0.95, "cluster": "document", "limits": {"cost_usd": 4}"#;
            let name = format!("{metric}, {n} documents of 1 to 8, correlation 0.3 to 0.5");
            gate(rows, "other metrics in clusters", name, (metric, &rule), terms, truth, &draw);
        }
    }
    for n in [30i64, 100] {
        // Slow samples are tried five times, and others once: a quantile is one of attempts.
        let draw = |draws: &mut Draws| {
            let mut samples = Samples::new();
            for id in 0..n {
                let is_hard = draws.unit() < 0.3;
                let own = draws.normal() * 0.5;
                for _ in 0..if is_hard { 5 } else { 1 } {
                    let ms = if is_hard { 2000.0 } else { 500.0 } * (own + 0.5 * draws.normal()).exp();
                    samples.push(id).field("latency_ms", ms);
                }
            }
            samples
        };
        // 0.3 · 5 of 2.2 attempts are at hard samples, half of which take at most 2000 ms, as do 0.975 of the others.
        let spread = 0.5f64.sqrt();
        let below = |ms: f64| {
            let within = |centre: f64| special_normal((ms / centre).ln() / spread);
            (1.5 * within(2000.0) + 0.7 * within(500.0)) / 2.2
        };
        let (mut low, mut high) = (100.0, 100_000.0);
        for _ in 0..200 {
            let middle: f64 = f64::midpoint(low, high);
            if below(middle) < 0.9 { low = middle } else { high = middle }
        }
        let rule = format!("at most {high}ms");
        let name = format!("slow ones with five attempts, others with one, n = {n}");
        gate(rows, "latency_p90", name, ("latency_p90", &rule), ONCE, high, &draw);
    }
}

/// The distribution of the standard normal.
fn special_normal(x: f64) -> f64 {
    calipers_core::stats::special::normal_cdf(x)
}

/// Precision of a rare class, times with ties, and what seldom happens.
pub(super) fn rare_events(rows: &mut Vec<Row>) {
    for (n, positive) in [(300usize, 0.02), (1000, 0.01)] {
        for (found, mistaken) in [(0.9, 0.002), (0.5, 0.01)] {
            let (tp, fp) = (positive * found, (1.0 - positive) * mistaken);
            let precision = tp / (tp + fp);
            let f1 = 2.0 * tp / (tp + fp + positive);
            let draw = |draws: &mut Draws| predictions_of(draws, n, 1, [positive, found, mistaken]);
            for (metric, truth) in [("precision", precision), ("recall", found), ("f1", f1)] {
                let name = format!("{metric}, positive {positive}, found {found}, mistaken {mistaken}, n = {n}");
                gate(rows, "a rare class", name, (metric, &format!("at least {}%", truth * 100.0)), ONCE, truth, &draw);
            }
        }
    }
    // Times that are 100, 200 or 1000 ms, of which just too many are 1000.
    for (n, k) in [(60i64, 1), (100, 1), (60, 3), (300, 1)] {
        for (metric, slow) in [("latency_p95", 0.0501), ("latency_p50", 0.5001)] {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                for id in 0..n {
                    let own = own_share(draws, slow, if k > 1 { 0.3 } else { 0.0 });
                    for _ in 0..k {
                        let ms = if draws.unit() < own { 1000.0 } else { [100.0, 200.0][draws.below(2)] };
                        samples.push(id).field("latency_ms", ms);
                    }
                }
                samples
            };
            let name = format!("{metric} of 100, 200 and 1000 ms, {n} × {k} attempts");
            gate(rows, "ties", name, (metric, "at most 200ms"), ONCE, 1000.0, &draw);
        }
    }
    // Limits that hardly any value comes near, and amounts that are mostly 0.
    for n in [10usize, 30, 100, 1000] {
        for (law, limit, truth, one) in [
            (
                "0, one in 10 is 5, limit 10",
                10.0,
                0.5,
                (|d: &mut Draws| if d.unit() < 0.1 { 5.0 } else { 0.0 }) as fn(&mut Draws) -> f64,
            ),
            ("1, one in 1000 is 100, limit 100", 100.0, 1.099, |d| if d.unit() < 0.001 { 100.0 } else { 1.0 }),
            ("uniform to 2, limit 1000", 1000.0, 1.0, |d| 2.0 * d.unit()),
        ] {
            let draw = |draws: &mut Draws| {
                let mut samples = Samples::new();
                (0..n).for_each(|id| {
                    samples.push(id as i64).field("cost_usd", one(draws));
                });
                samples
            };
            let terms = format!(r#"{ONCE}, "limits": {{"cost_usd": {limit}}}"#);
            for word in ["at most", "at least"] {
                let name = format!("{law}, {word}, n = {n}");
                gate(rows, "cost", name, ("cost", &format!("{word} {truth}")), &terms, truth, &draw);
            }
        }
    }
    // How often one of forty gates fails that should not: many categories with few samples.
    let kinds: Vec<String> = (0..20).map(|kind| format!(r#""c{kind}": "at least 80%""#)).collect();
    let text = format!(
        r#"{{"pass_criteria": {{"overall": "at least 80%", "by_category": {{{}}}}}, {ONCE}}}"#,
        kinds.join(", ")
    );
    let policy = policy(&text);
    for each in [3i64, 10] {
        let mut draws = Draws::new(rows.len() as u64 + 1, normal_quantile);
        let counts = Counts::draw("false fail, any of 21 gates", replications(each as usize * 20), || {
            let mut samples = Samples::new();
            for id in 0..each * 20 {
                let row = samples.push(id).field("passed", draws.coin(0.8) == 1.0);
                row.metadata("category", format!("c{}", id % 20));
            }
            (judged(&policy, &samples).verdict == Verdict::Fail, None)
        });
        rows.push(
            counts.row("false fail, any of 21 gates", format!("20 categories of {each}, all on their thresholds")),
        );
    }
}
