//! States that travel: any plan, any sharding by sample, any order of merging, each part written to bytes and read back, gives
//! the bits of one place. Bytes that are damaged are an error or other figures, and never a panic.

use crate::laws::{Row, bits, differences, metrics, rows, samples};
use calipers_core::{
    Measure, Metric, Outcome, Partial, Plan, Reducer, Registry, Results, Samples, Seed, StateReader, StateWriter,
    Value, accuracy, by_key, collect, mean, metric, stderr,
};
use proptest::prelude::*;

/// Every reducer, and none: attempts are then rows.
const REDUCERS: [&str; 10] = [
    "mean",
    "median",
    "mode",
    "max",
    "pass_at_2",
    "pass_k_2",
    "at_least_2",
    "majority",
    "pass_at(2, value=0.5)",
    "none",
];

/// A plan: a choice of metrics, reducers, clusters, level and seed.
#[derive(Clone, Debug)]
struct Choice {
    metrics: Vec<prop::sample::Index>,
    reducers: Vec<prop::sample::Index>,
    is_clustered: bool,
    keeps_reductions: bool,
    level: f64,
    seed: u64,
}

fn choice() -> impl Strategy<Value = Choice> {
    let index = any::<prop::sample::Index>;
    let lists = (prop::collection::vec(index(), 1..12), prop::collection::vec(index(), 1..4));
    (lists, any::<(bool, bool)>(), 0.5..0.99f64, any::<u64>()).prop_map(|(lists, flags, level, seed)| Choice {
        metrics: lists.0,
        reducers: lists.1,
        is_clustered: flags.0,
        keeps_reductions: flags.1,
        level,
        seed,
    })
}

impl Choice {
    fn plan(&self) -> Plan {
        let all = metrics();
        let chosen = self.metrics.iter().map(|index| index.get(&all).clone());
        let reducers: Vec<&str> = self.reducers.iter().map(|index| *index.get(&REDUCERS)).collect();
        let is_off = reducers.contains(&"none");
        let reducers = reducers.into_iter().filter(|_| !is_off).map(|name| Reducer::parse(name).expect("a reducer"));
        let plan = Plan::new().seed(Seed(self.seed)).level(self.level).expect("a level").reducers(reducers);
        let plan = if self.is_clustered { plan.cluster(["document"]) } else { plan };
        let plan = if self.keeps_reductions { plan.keep_reductions() } else { plan };
        plan.metrics(chosen).in_parts()
    }
}

/// What was folded, written and read back.
fn through_bytes<'p>(plan: &'p Plan, part: &Partial<'_>) -> Partial<'p> {
    let mut out = StateWriter::new();
    part.save(&mut out).expect("every state is written");
    let bytes = out.finish();
    let mut from = StateReader::new(&bytes);
    let part = plan.load(&mut from).expect("what was written");
    from.end().expect("all of it");
    part
}

/// The results of parts that are folded apart and merged in this order, each as bytes; some merges are made far away, too.
fn merged(plan: &Plan, parts: &[Samples], order: &[usize]) -> Result<Results, calipers_core::Error> {
    let mut whole: Option<Partial<'_>> = None;
    for &place in order {
        let mut part = plan.start();
        part.fold(&parts[place])?;
        let part = through_bytes(plan, &part);
        whole = Some(match whole {
            None => part,
            Some(mut whole) => {
                whole.merge(part);
                if place % 2 == 0 { through_bytes(plan, &whole) } else { whole }
            }
        });
    }
    whole.unwrap_or_else(|| plan.start()).finish()
}

/// The parts that samples fall into.
fn parts(rows: &[Row], count: usize, seed: u64) -> Vec<Samples> {
    let place = |row: &Row| ((row.id as u64 + 1).wrapping_mul(seed | 1) >> 32) as usize % count;
    (0..count).map(|part| samples(rows.iter().filter(|row| place(row) == part))).collect()
}

fn order(count: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|place| (*place as u64 + 1).wrapping_mul(seed | 1));
    order
}

proptest! {
    #![proptest_config(ProptestConfig { cases: calipers_testing::law_cases(96), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn states_that_travel_change_nothing(rows in rows(), choice in choice(), count in 1usize..9, seed in any::<u64>()) {
        let plan = choice.plan();
        let whole = plan.measure(&samples(&rows));
        let parts = parts(&rows, count, seed);
        let travelled = merged(&plan, &parts, &order(count, seed.rotate_left(17)));
        match (whole, travelled) {
            (Ok(whole), Ok(travelled)) => {
                prop_assert_eq!(differences(&bits(&whole), &bits(&travelled)), Vec::<String>::new());
                let sorted = |results: &Results| {
                    let mut caveats: Vec<String> = results.caveats.iter().map(|caveat| format!("{caveat:?}")).collect();
                    caveats.sort_unstable();
                    caveats
                };
                prop_assert_eq!(sorted(&whole), sorted(&travelled));
                let kept = |results: &Results| {
                    let kept = results.reductions.iter().map(|one| (one.scorer.clone(), one.reducer.clone(), one.samples.len()));
                    kept.collect::<Vec<_>>()
                };
                prop_assert_eq!(kept(&whole), kept(&travelled));
                prop_assert_eq!(whole.attempts, travelled.attempts);
            }
            (Err(whole), Err(travelled)) => prop_assert_eq!(whole.to_string(), travelled.to_string()),
            (whole, travelled) => prop_assert!(false, "{:?} and {:?}", whole.err(), travelled.err()),
        }
    }

    /// A scorer that only some parts have scores of is missing in the others.
    #[test]
    fn parts_need_not_know_the_scorers_of_others(rows in rows(), choice in choice(), count in 1usize..6, seed in any::<u64>()) {
        let plan = choice.plan();
        let with_more = |samples: &mut Samples, row: &Row| {
            // Of a few samples there are other scores too, numbers and labels.
            if row.id % 4 == 1 {
                samples.push_epoch(row.id, row.epoch).score("rare", Outcome::from(row.quality));
            }
            if row.id == 2 {
                samples.push_epoch(row.id, row.epoch).score("label", "C");
            }
        };
        let place = |row: &Row| ((row.id as u64 + 1).wrapping_mul(seed | 1) >> 32) as usize % count;
        let all = |wanted: &dyn Fn(&Row) -> bool| {
            let chosen: Vec<&Row> = rows.iter().filter(|row| wanted(row)).collect();
            let mut samples = samples(chosen.iter().copied());
            chosen.iter().for_each(|row| with_more(&mut samples, row));
            samples
        };
        let whole = all(&|_| true);
        // Metrics that need something of a scorer that it does not have fail here and there.
        let Ok(expected) = plan.measure(&whole) else { return Ok(()) };
        let parts: Vec<Samples> = (0..count).map(|part| all(&|row| place(row) == part)).collect();
        let travelled = merged(&plan, &parts, &order(count, seed)).expect("what one place can measure");
        prop_assert_eq!(differences(&bits(&expected), &bits(&travelled)), Vec::<String>::new());
    }

    #[test]
    fn lists_and_maps_travel_too(rows in rows(), count in 1usize..6, seed in any::<u64>()) {
        let registry = Registry::builtin();
        let agreement = |level: &str| registry.metric("krippendorff_alpha", &Value::from([("level", level)])).expect("known");
        let plan = Plan::new().reducers([collect()]).metrics([agreement("interval"), agreement("nominal")]).in_parts();
        let whole = plan.measure(&samples(&rows)).expect("valid rows");
        let travelled = merged(&plan, &parts(&rows, count, seed), &order(count, seed)).expect("valid rows");
        prop_assert_eq!(bits(&whole), bits(&travelled));

        let maps = |wanted: &dyn Fn(&Row) -> bool| {
            let mut samples = Samples::new();
            for row in rows.iter().filter(|row| wanted(row)) {
                let score = row.score.map_or(Value::Missing, Value::from);
                samples.push_epoch(row.id, row.epoch).score("judge", Value::from([("a", score), ("b", row.quality.into())]));
            }
            samples
        };
        let inner = Value::from([("name", "mean")]);
        let aggregate = registry.metric("aggregate", &Value::from([("key", "a".into()), ("agg", inner)])).expect("known");
        let plan = Plan::new().metrics([aggregate.into(), by_key([("*", vec![mean(), stderr()]), ("a", vec![accuracy()])])]);
        let plan = plan.in_parts();
        let place = |row: &Row| ((row.id as u64 + 1).wrapping_mul(seed | 1) >> 32) as usize % count;
        let parts: Vec<Samples> = (0..count).map(|part| maps(&|row| place(row) == part)).collect();
        let whole = bits(&plan.measure(&maps(&|_| true)).expect("valid rows"));
        prop_assert_eq!(whole, bits(&merged(&plan, &parts, &order(count, seed)).expect("valid rows")));
    }

    /// Whatever is done to the bytes of a part, reading, merging and finishing it ends.
    #[test]
    fn damaged_states_are_errors_or_other_figures(rows in rows(), choice in choice(), changes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..6)) {
        let plan = choice.plan();
        let mut part = plan.start();
        prop_assume!(part.fold(&samples(&rows)).is_ok());
        let mut out = StateWriter::new();
        part.save(&mut out).expect("every state is written");
        let good = out.finish();
        let mut bad = good.clone();
        for (place, byte) in &changes {
            let place = place.index(bad.len());
            bad[place] = *byte;
        }
        for bytes in [&bad[..], &bad[..bad.len() / 2], &good[..good.len() - 1]] {
            if let Ok(mut loaded) = plan.load(&mut StateReader::new(bytes)) {
                loaded.merge(through_bytes(&plan, &part));
                // A sum of counts that were changed may be anything, but it is a sum.
                let _ = loaded.finish();
            }
        }
    }
}

#[test]
fn every_reducer_is_among_the_plans() {
    for name in REDUCERS.iter().filter(|name| **name != "none") {
        assert!(Reducer::parse(name).is_ok(), "{name}");
    }
}

#[test]
fn functions_travel_with_their_rows_and_other_states_refuse() {
    let sum = metric("sum", |scores| scores.iter().map(|s| s.score.as_float()).sum::<Result<f64, _>>());
    let plan = Plan::new().metrics([sum]).in_parts();
    let parts = [0, 1].map(|part| {
        let mut samples = Samples::new();
        (0..10).filter(|id| id % 2 == part).for_each(|id| {
            samples.push(id).score("judge", 0.1 * id as f64);
        });
        samples
    });
    let results = merged(&plan, &parts, &[1, 0]).expect("valid rows");
    let one_place = (0..10).map(|id| 0.1 * f64::from(id)).sum::<f64>();
    assert_eq!(results.figure("judge", "sum").expect("asked for").value, Ok(one_place));

    struct Own;
    impl Measure for Own {
        type State = u64;

        fn start(&self) -> u64 {
            0
        }

        fn fold(
            &self,
            seen: &mut u64,
            points: &calipers_core::Points<'_>,
            _: &calipers_core::Context,
        ) -> Result<(), calipers_core::Error> {
            *seen += points.len() as u64;
            Ok(())
        }

        fn merge(&self, seen: &mut u64, other: u64) {
            *seen += other;
        }

        fn finish(
            &self,
            seen: u64,
            tally: calipers_core::Tally,
            _: &calipers_core::Context,
        ) -> Result<calipers_core::Answer, calipers_core::Error> {
            Ok(calipers_core::Figure::new(seen as f64, tally, "own").into())
        }
    }
    let plan = Plan::new().metrics([Metric::new("own", Own)]);
    let mut part = plan.start();
    part.fold(&parts[0]).expect("valid rows");
    let error = part.save(&mut StateWriter::new()).expect_err("nothing says how");
    assert!(error.to_string().starts_with("the state of `own` cannot be saved"), "{error}");
}

#[test]
fn states_are_small() {
    let mut samples = Samples::new();
    (0..20_000).for_each(|id| {
        samples.push(id).score("judge", if id % 3 == 0 { "C" } else { "I" });
    });
    let size = |metrics: Vec<Metric>| {
        let plan = Plan::new().metrics(metrics).in_parts();
        let mut part = plan.start();
        part.fold(&samples).expect("valid rows");
        let mut out = StateWriter::new();
        part.save(&mut out).expect("every state is written");
        out.finish().len()
    };
    assert!(size(vec![accuracy(), stderr()]) < 400, "{}", size(vec![accuracy(), stderr()]));
}
