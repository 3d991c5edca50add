//! Laws that every registered metric obeys: any order of arrival, any sharding, any number of threads, and rows
//! delivered twice give the same bits.

use calipers_core::stats::corrected_mean::CorrectedMean;
use calipers_core::stats::matthews::MatthewsTable;
use calipers_core::{
    Answer, Context, Evidence, Figure, Metric, Outcome, Plan, Reducer, Registry, Results, Samples, Seed, Value,
    accuracy, by_key, collect, grouped, mean_of, mean_score, metric, pass_rate, quantile,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// One attempt of a sample, with all that any metric asks for.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) id: i64,
    pub(crate) epoch: u32,
    pub(crate) score: Option<f64>,
    tokens: i64,
    pub(crate) quality: f64,
    flags: (bool, bool, bool),
}

pub(crate) fn rows() -> impl Strategy<Value = Vec<Row>> {
    let grade = prop_oneof![3 => Just(0.0), 3 => Just(1.0), 1 => Just(0.5), 3 => 0.0..1.0f64];
    let row = (prop::option::weighted(0.9, grade), 1i64..4000, 0.0..1.0f64, any::<(bool, bool, bool)>());
    let sample = prop::collection::vec(row, 1..5);
    prop::collection::vec(sample, 2..20).prop_map(|samples| {
        let rows = samples.into_iter().enumerate().flat_map(|(id, attempts)| {
            let numbered = attempts.into_iter().zip(1..);
            numbered.map(move |((score, tokens, quality, flags), epoch)| Row {
                id: id as i64,
                epoch,
                score,
                tokens,
                quality,
                flags,
            })
        });
        rows.collect()
    })
}

fn push(samples: &mut Samples, row: &Row) {
    let outcome = row.score.map_or_else(|| Outcome::unscored("refusal"), Outcome::from);
    let facts = [("num_tokens", Value::from(row.tokens)), ("sum_log_probs", Value::from(-row.quality * 50.0))];
    let score = match outcome {
        Outcome::Scored(score) => Outcome::from(score.metadata(calipers_core::Metadata::new(facts))),
        unscored => unscored,
    };
    let (predicted, actual, passed) = row.flags;
    let names = |names: &[&str]| Value::List(names.iter().map(|name| Value::from(*name)).collect());
    let attempt = samples
        .push_epoch(row.id, row.epoch)
        .metadata("category", format!("c{}", row.id % 5))
        .metadata("document", row.id % 3)
        .score("judge", score)
        .field("latency_ms", row.quality * 1000.0)
        .field("tokens_used", row.tokens)
        .field("quality_score", row.quality)
        .field("cost_usd", row.quality / 16.0)
        .field("predicted", predicted)
        .field("actual", actual)
        .field("expected_behaviors", names(&["cites", "refuses", "explains"][..(row.tokens % 4) as usize]))
        .field("observed_behaviors", names(&["refuses", "cites", "refuses"][..(row.tokens % 3) as usize]))
        .field("violations", names(&["leaks"][..usize::from(predicted && !actual)]));
    // People have looked at some attempts of some samples.
    let attempt = if row.id % 3 == 0 && row.epoch < 3 {
        attempt.field("human_label", f64::from(u8::from(actual)))
    } else {
        attempt
    };
    // Some records say whether they passed, the first among them; of others their behaviours do.
    let attempt =
        if row.tokens % 5 < 3 || (row.id, row.epoch) == (0, 1) { attempt.field("passed", passed) } else { attempt };
    if row.quality > 0.95 {
        attempt.error("request timed out");
    }
}

pub(crate) fn samples<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Samples {
    let mut samples = Samples::new();
    rows.into_iter().for_each(|row| push(&mut samples, row));
    samples
}

/// Every registered metric, with parameters that exercise it.
pub(crate) fn metrics() -> Vec<Metric> {
    let registry = Registry::builtin();
    let grouped = |inner: &str, all: &str| {
        Value::from([
            ("metric", Value::from([("name", inner)])),
            ("group_key", Value::from("category")),
            ("all", Value::from(all)),
            ("name_template", Value::from(format!("{inner}_{all}_{{group_name}}"))),
            ("all_label", Value::from(format!("{inner}_{all}"))),
        ])
    };
    let only = |key: &str, value: Value| Value::from([("where", Value::Map(vec![(key.into(), value)]))]);
    let mut metrics = Vec::new();
    for name in registry.names() {
        let params = match name {
            // Of some samples, and of none.
            "accuracy" => vec![Value::Null, only("category", "c1".into()), only("category", "c9".into())],
            "corrected" => vec![Value::Null, only("category", "c1".into()), Value::from([("labels", "actual")])],
            "pass_rate" => vec![
                Value::Null,
                only("document", 1.into()),
                only("passed", true.into()),
                Value::from([("pass_threshold", 0.5)]),
                Value::from([("scorer", "judge")]),
            ],
            "safety_rate" => vec![Value::Null, Value::from([("category", "c1")])],
            "behavior_coverage" => vec![Value::Null, Value::from([("average", "micro")])],
            "grouped" => {
                vec![grouped("accuracy", "samples"), grouped("mean", "groups"), grouped("stderr", "groups")]
            }
            "stderr" => vec![Value::Null, Value::from([("cluster", "document")])],
            "ci" => vec![
                Value::Null,
                Value::from([("cluster", "document")]),
                Value::from([("method", "bootstrap")]),
                Value::from([("method", "bootstrap"), ("cluster", "document")]),
            ],
            "ci_wilson" => vec![Value::Null, Value::from([("cluster", "category")])],
            "mean" => vec![Value::Null, Value::from([("field", "quality_score")])],
            "quantile" => vec![Value::from([("field", Value::from("latency_ms")), ("p", Value::from(0.9))])],
            "ratio" => vec![Value::from([("numerator", "quality_score"), ("denominator", "tokens_used")])],
            // These two take scores that are maps or lists.
            "aggregate" | "krippendorff_alpha" => vec![],
            _ => vec![Value::Null],
        };
        metrics.extend(params.iter().map(|params| registry.metric(name, params).expect("a registered metric")));
    }
    metrics.push(metric("sum", |scores| scores.iter().map(|s| s.score.as_float()).sum::<Result<f64, _>>()));
    metrics
}

fn plan() -> Plan {
    let reducers = ["mean", "median", "mode", "max", "pass_at_2", "pass_k_2", "at_least_2", "majority"];
    let reducers = reducers.map(|name| Reducer::parse(name).expect("a known reducer"));
    Plan::new().seed(Seed(11)).reducers(reducers).metrics(metrics())
}

/// Figures by where they stand, with every bit of their numbers.
pub(crate) fn bits(results: &Results) -> BTreeMap<String, String> {
    let number = |x: Option<f64>| x.map(f64::to_bits);
    let figure = |f: &Figure| {
        let ends = f.interval.map(|i| (number(i.lower), number(i.upper)));
        let details: Vec<_> = f.details.iter().map(|(name, x)| (*name, x.to_bits())).collect();
        format!("{:?} {} {} {ends:?} {details:?}", f.value.as_ref().map(|x| x.to_bits()), f.n, f.missing)
    };
    let mut all = BTreeMap::new();
    for score in &results.scores {
        // Names that had to be made unique depend on the order of groups; their figures do not.
        for metric in score.metrics.values() {
            let place =
                format!("{} {:?} {:?} {} {:?}", score.name, score.reducer, metric.group, metric.name, metric.params);
            all.insert(place, figure(&metric.figure));
        }
    }
    all
}

/// What differs, so that a failure can be read.
pub(crate) fn differences(a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> Vec<String> {
    let places = a.keys().chain(b.keys()).collect::<std::collections::BTreeSet<_>>();
    let differing = places.into_iter().filter(|place| a.get(*place) != b.get(*place));
    differing.map(|place| format!("{place}: {:?} {:?}", a.get(place), b.get(place))).collect()
}

fn sharded(plan: &Plan, rows: &[Row], shards: i64) -> Results {
    let mut whole = plan.start();
    for shard in (0..shards).rev() {
        let mut part = plan.start();
        part.fold(&samples(rows.iter().filter(|row| row.id % shards == shard))).expect("valid rows");
        whole.merge(part);
    }
    whole.finish().expect("valid rows")
}

fn threaded(plan: &Plan, rows: &[Row], threads: i64) -> Results {
    let shards: Vec<Samples> =
        (0..threads).map(|shard| samples(rows.iter().filter(|row| row.id % threads == shard))).collect();
    std::thread::scope(|scope| {
        let fold = |shard| {
            let mut part = plan.start();
            part.fold(shard).expect("valid rows");
            part
        };
        let workers: Vec<_> = shards.iter().map(|shard| scope.spawn(move || fold(shard))).collect();
        let mut whole = plan.start();
        workers.into_iter().for_each(|worker| whole.merge(worker.join().expect("no panic")));
        whole.finish().expect("valid rows")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: calipers_testing::law_cases(48), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn order_of_arrival_changes_nothing(rows in rows(), seed in any::<u64>()) {
        let plan = plan();
        let straight = bits(&plan.measure(&samples(&rows)).expect("valid rows"));
        let mut shuffled = rows.clone();
        shuffled.sort_by_key(|row| (row.id as u64 * 31 + u64::from(row.epoch)).wrapping_mul(seed | 1));
        prop_assert_eq!(differences(&straight, &bits(&plan.measure(&samples(&shuffled)).expect("valid rows"))), Vec::<String>::new());
        shuffled.reverse();
        prop_assert_eq!(differences(&straight, &bits(&plan.measure(&samples(&shuffled)).expect("valid rows"))), Vec::<String>::new());
    }

    #[test]
    fn sharding_and_threads_change_nothing(rows in rows(), shards in 2i64..9) {
        let plan = plan();
        let whole = bits(&plan.measure(&samples(&rows)).expect("valid rows"));
        prop_assert_eq!(differences(&whole, &bits(&sharded(&plan, &rows, shards))), Vec::<String>::new());
        prop_assert_eq!(differences(&whole, &bits(&threaded(&plan, &rows, shards))), Vec::<String>::new());
    }

    #[test]
    fn rows_delivered_twice_count_once(rows in rows(), every in 1usize..4) {
        let plan = plan();
        let repeated = rows.iter().chain(rows.iter().step_by(every));
        let once = plan.measure(&samples(&rows)).expect("valid rows");
        let twice = plan.measure(&samples(repeated)).expect("valid rows");
        prop_assert_eq!(bits(&once), bits(&twice));
        prop_assert_eq!(once.attempts, twice.attempts);
    }

    #[test]
    fn lists_and_maps_obey_the_same_laws(rows in rows(), shards in 2i64..6) {
        let registry = Registry::builtin();
        let agreement = registry.metric("krippendorff_alpha", &Value::from([("level", "interval")])).expect("known");
        let plan = Plan::new().reducers([collect()]).metrics([agreement]);
        let whole = plan.measure(&samples(&rows)).expect("valid rows");
        prop_assert_eq!(bits(&whole), bits(&sharded(&plan, &rows, shards)));

        let maps = |rows: &[Row]| {
            let mut samples = Samples::new();
            for row in rows {
                let score = row.score.map_or(Value::Missing, Value::from);
                samples.push_epoch(row.id, row.epoch).score("judge", Value::from([("a", score), ("b", row.quality.into())]));
            }
            samples
        };
        let inner = Value::from([("name", "mean")]);
        let aggregate = registry.metric("aggregate", &Value::from([("key", "a".into()), ("agg", inner)])).expect("known");
        let keyed = calipers_core::by_key([("*", vec![calipers_core::mean(), calipers_core::stderr()])]);
        let plan = Plan::new().metrics([aggregate.into(), keyed]);
        let straight = bits(&plan.measure(&maps(&rows)).expect("valid rows"));
        let reversed: Vec<Row> = rows.iter().rev().cloned().collect();
        prop_assert_eq!(straight, bits(&plan.measure(&maps(&reversed)).expect("valid rows")));
    }
}

#[test]
fn the_interval_of_alpha_ignores_the_order_of_arrival() {
    let registry = Registry::builtin();
    let ratings = ["good", "bad", "ugly"];
    let rate = |id: i64| [ratings[(id % 3) as usize], ratings[(id * id % 7 % 3) as usize]];
    for level in ["nominal", "ordinal", "interval"] {
        let agreement = registry.metric("krippendorff_alpha", &Value::from([("level", level)])).expect("known");
        let plan = Plan::new().seed(Seed(3)).reducers([collect()]).metrics([agreement]);
        let measured = |ids: &mut dyn Iterator<Item = i64>| {
            let mut samples = Samples::new();
            for id in ids {
                for rating in rate(id) {
                    let number = rating.len() as i64;
                    let rating = if level == "nominal" { Value::from(rating) } else { Value::from(number) };
                    samples.push(id).score("judge", rating);
                }
            }
            bits(&plan.measure(&samples).expect("valid rows"))
        };
        let straight = measured(&mut (0..30));
        assert!(straight.values().all(|figure| figure.contains("monte_carlo_error")), "{straight:?}");
        assert_eq!(straight, measured(&mut (0..30).rev()), "{level}");
        assert_eq!(straight, measured(&mut (0..30).map(|id| id * 7 % 30)), "{level}");
    }
}

#[test]
fn every_registered_metric_is_under_the_laws() {
    let plan = plan();
    let tested: Vec<String> = metrics().iter().map(|metric| metric.name().to_owned()).collect();
    for name in Registry::builtin().names().filter(|name| !matches!(*name, "aggregate" | "krippendorff_alpha")) {
        assert!(tested.iter().any(|tested| tested == name), "{name}");
    }
    let one = samples(&[Row { id: 1, epoch: 1, score: Some(1.0), tokens: 5, quality: 0.5, flags: (true, true, true) }]);
    let results = plan.measure(&one).expect("one row is a run");
    assert!(bits(&results).len() > 100);
    let answer = Answer::from(results.figure("judge", "accuracy").expect("asked for").clone());
    assert_eq!(answer.figure().expect("one number").value, Ok(1.0));
}

/// The results of two shards, folded apart and merged.
fn apart(plan: &Plan, shards: [&Samples; 2]) -> Result<Results, calipers_core::Error> {
    let [mut left, mut right] = [plan.start(), plan.start()];
    left.fold(shards[0])?;
    right.fold(shards[1])?;
    left.merge(right);
    left.finish()
}

#[test]
fn a_field_may_be_absent_from_a_shard_but_not_from_the_run() {
    let (mut ran, mut broken) = (Samples::new(), Samples::new());
    ran.push(1).metadata("kind", "easy").field("passed", true);
    broken.push(2).metadata("kind", "hard").error("timeout");
    let plan = Plan::new().metrics([pass_rate(), grouped(pass_rate(), "kind")]);
    let results = apart(&plan, [&ran, &broken]).expect("one shard has the field");
    let value = |name: &str| results.figure("run", name).expect("asked for").value.clone();
    assert_eq!((value("pass_rate"), value("easy"), value("hard")), (Ok(0.5), Ok(1.0), Ok(0.0)));
    let error = apart(&Plan::new().metrics([mean_of("speed")]), [&ran, &broken]).unwrap_err();
    assert_eq!(error.to_string(), "no sample has the field `speed`\n  at `mean`\n  hint: the run has kind, passed");
}

#[test]
fn what_stands_in_for_scores_obeys_the_laws_and_steps_back_once_there_is_one() {
    let (mut left, mut right, mut scored) = (Samples::new(), Samples::new(), Samples::new());
    left.push(1).metadata("kind", "easy").field("correct", true);
    left.push(1).field("correct", false).field("passed", true);
    right.push(2).metadata("kind", "hard").field("passed", true);
    right.push(3).metadata("kind", "hard").error("connection reset");
    scored.push(4).metadata("kind", "hard").score("judge", 0.0);
    let hard = accuracy().only_where([("kind", "hard")]).expect("a condition");
    let plan = Plan::new().metrics([accuracy(), hard]);
    for shards in [[&left, &right], [&right, &left]] {
        let results = apart(&plan, shards).expect("one shard has the field");
        let [all, hard] = ["accuracy", "accuracy2"].map(|name| results.figure("run", name).expect("asked for"));
        assert_eq!((&all.value, all.n, all.missing), (&Ok(0.75), 2, 1));
        assert_eq!((&hard.value, hard.n, hard.missing), (&Ok(1.0), 1, 1));
    }
    for shards in [[&left, &scored], [&scored, &left]] {
        let results = apart(&plan, shards).expect("measurable");
        assert!(results.figure("run", "accuracy").is_none());
        assert_eq!(results.figure("judge", "accuracy").expect("asked for").value, Ok(0.0));
    }
    let mut silent = Samples::new();
    silent.push(1).field("latency_ms", 3.0);
    let results = Plan::new().metrics([accuracy()]).measure(&silent).expect("measurable");
    assert!(results.scores.is_empty(), "nothing says what is correct: {results:?}");
}

#[test]
fn what_a_figure_rests_on_gives_that_figure() {
    let row = |id: i64, epoch: u32| {
        let x = (id * 7 + i64::from(epoch) * 3) % 11;
        let score = (x != 5).then_some(x as f64 / 10.0);
        let flags = (x % 2 == 0, x % 3 == 0, x > 4);
        Row { id, epoch, score, tokens: 10 + x * 13, quality: x as f64 / 12.0, flags }
    };
    let rows: Vec<Row> = (0..40).flat_map(|id| (1..=1 + id as u32 % 3).map(move |epoch| row(id, epoch))).collect();
    let samples = samples(&rows);
    let (reducer, context) = (mean_score(), Context::default());
    let mut compared = Vec::new();
    for metric in metrics() {
        let Some(evidence) = metric.evidence(&samples, &reducer, None, &context).expect("valid rows") else { continue };
        let answer = metric.answer(&samples, &reducer, None, &context).expect("valid rows");
        let Ok(value) = answer.figure().expect("one number").value else { continue };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let again = match evidence {
            Evidence::Mean { values, .. } => mean(&values),
            Evidence::Ratio { numerators, denominators, .. } => mean(&numerators) / mean(&denominators),
            Evidence::Corrected { judged, labels, .. } => {
                let (pairs, others): (Vec<_>, Vec<_>) = judged.iter().zip(&labels).partition(|(_, y)| y.is_some());
                let pairs: Vec<(f64, f64)> = pairs.into_iter().map(|(h, y)| (y.expect("labelled"), *h)).collect();
                let others: Vec<f64> = others.into_iter().map(|(h, _)| *h).collect();
                CorrectedMean::new(&pairs, &others).expect("there are labels").estimate()
            }
            Evidence::Table { counts, .. } => {
                MatthewsTable::new(counts, 3.0).expect("a table").estimate().expect("both classes")
            }
            Evidence::Quantile { p, mut values, .. } => {
                values.sort_by(f64::total_cmp);
                let at = p * (values.len() - 1) as f64;
                let (low, high) = (values[at.floor() as usize], values[at.ceil() as usize]);
                low + (high - low) * at.fract()
            }
        };
        assert!((again - value).abs() < 1e-12, "{metric:?}: {again} {value}");
        compared.push(metric.name().to_owned());
    }
    for name in [
        "accuracy",
        "mean",
        "pass_rate",
        "safety_rate",
        "behavior_coverage",
        "corrected",
        "precision",
        "recall",
        "mcc",
        "ratio",
        "token_efficiency",
        "cost",
        "quantile",
        "latency_p50",
        "latency_p95",
    ] {
        assert!(compared.iter().any(|compared| compared == name), "{name} of {compared:?}");
    }
}

#[test]
fn keys_must_be_the_same_in_every_shard() {
    let (mut left, mut right, mut both) = (Samples::new(), Samples::new(), Samples::new());
    for samples in [&mut left, &mut both] {
        samples.push(1).score("judge", [("tone", 1.0)]);
    }
    for samples in [&mut right, &mut both] {
        samples.push(2).score("judge", [("tone", 1.0), ("facts", 0.0)]);
    }
    let plan = Plan::new().metrics([by_key([("*", vec![calipers_core::mean()])])]);
    let whole = plan.measure(&both).unwrap_err().to_string();
    assert!(whole.starts_with("the score has no key `facts`\n  at scorer `judge`, sample `1`"), "{whole}");
    assert_eq!(apart(&plan, [&left, &right]).unwrap_err().to_string(), whole);
    assert_eq!(apart(&plan, [&right, &left]).unwrap_err().to_string(), whole);
    let one = Plan::new().metrics([by_key([("t*", vec![calipers_core::mean()])])]);
    assert!(one.measure(&both).is_ok() && apart(&one, [&left, &right]).is_ok());
}

#[test]
fn metrics_that_differ_in_anything_are_all_computed() {
    let mut samples = Samples::new();
    for id in 0..10 {
        samples.push(id).metadata("kind", "easy").field("latency_ms", id).score("judge", [("tone", 0.6)]);
    }
    let of_latency = |p| grouped(quantile("latency_ms", p).expect("a share"), "kind");
    let results = Plan::new().metrics([of_latency(0.5), of_latency(0.9), of_latency(0.5)]).measure(&samples);
    let results = results.expect("valid rows");
    let names: Vec<&str> = results.scores[0].metrics.keys().map(String::as_str).collect();
    assert_eq!(names, ["easy", "all", "easy2", "all2"]);

    let at = |threshold: f64| {
        metric("passed", move |scores| {
            let passed = scores.iter().map(|s| Ok(s.score.as_float()? >= threshold));
            Ok(passed.collect::<Result<Vec<_>, calipers_core::Error>>()?.iter().filter(|passed| **passed).count()
                as f64)
        })
    };
    let keyed = Plan::new().metrics([by_key([("*", vec![at(0.5), at(0.9)])])]).measure(&samples).expect("valid rows");
    let values: Vec<_> = keyed.scores[0].metrics.values().map(|found| found.figure.value.clone()).collect();
    assert_eq!(values, [Ok(10.0), Ok(0.0)]);
}
