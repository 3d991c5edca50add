//! Tables in memory: what is read of them is what is read of a file with the same columns.

use arrow_array::builder::{StringDictionaryBuilder, StringViewBuilder};
use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BooleanArray, DurationSecondArray, Float64Array, Int64Array, LargeStringArray, RecordBatch, StringArray,
    StructArray, UInt64Array,
};
use arrow_schema::{DataType, Field};
use calipers_core::{Record, Samples};
use calipers_io::{Columns, Projection, Source, choose, read, read_shards};
use std::sync::Arc;

const IDS: [&str; 4] = ["a", "b", "a name that is too long to be inlined", "d"];
const KINDS: [&str; 4] = ["x", "y", "x", "x"];

fn floats(values: [Option<f64>; 4]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

fn texts(values: [&str; 4]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn records(source: &Source) -> Vec<Record> {
    let runs = read(source, None).unwrap_or_else(|error| panic!("{error}"));
    runs.into_iter().flat_map(|run| run.samples.records().collect::<Vec<_>>()).collect()
}

fn table(columns: Vec<(&str, ArrayRef)>) -> Source {
    Source::table("frame", [RecordBatch::try_from_iter(columns).unwrap()])
}

/// The same as records of JSON.
fn lines() -> Vec<Record> {
    let scores = ["1.0", "0.5", "null", "0.0"];
    let lines: String = (0..4)
        .map(|row| {
            let (id, kind, score) = (IDS[row], KINDS[row], scores[row]);
            format!("{{\"id\": {id:?}, \"score\": {score}, \"kind\": {kind:?}, \"passed\": {}}}\n", row == 0)
        })
        .collect();
    records(&Source::bytes("results.jsonl", lines.as_bytes()))
}

#[test]
fn texts_of_every_kind_are_read_like_a_file() {
    let scores = || floats([Some(1.0), Some(0.5), None, Some(0.0)]);
    let passed = || -> ArrayRef { Arc::new(BooleanArray::from(vec![true, false, false, false])) };
    let view = |values: [&str; 4]| -> ArrayRef {
        let mut builder = StringViewBuilder::new();
        values.iter().for_each(|value| builder.append_value(value));
        Arc::new(builder.finish())
    };
    let large = |values: [&str; 4]| -> ArrayRef { Arc::new(LargeStringArray::from(values.to_vec())) };
    let coded = |values: [&str; 4]| -> ArrayRef {
        let mut builder = StringDictionaryBuilder::<Int8Type>::new();
        values.iter().for_each(|value| builder.append_value(value));
        Arc::new(builder.finish())
    };
    type Encoding<'a> = &'a dyn Fn([&str; 4]) -> ArrayRef;
    let kinds: [Encoding<'_>; 4] = [&texts, &view, &large, &coded];
    for of_ids in kinds {
        for of_facts in kinds {
            let source =
                table(vec![("id", of_ids(IDS)), ("score", scores()), ("kind", of_facts(KINDS)), ("passed", passed())]);
            assert_eq!(records(&source), lines());
        }
    }
}

#[test]
fn what_is_not_plain_is_read_too() {
    let scores: ArrayRef = Arc::new(StructArray::from(vec![
        (Arc::new(Field::new("a", DataType::Float64, true)), floats([Some(1.0), Some(0.0), Some(1.0), Some(1.0)])),
        (Arc::new(Field::new("b", DataType::Utf8, true)), texts(["C", "I", "C", "C"])),
    ]));
    // 64 bits without a sign have no plain form here.
    let ids: ArrayRef = Arc::new(UInt64Array::from(vec![1, 2, 3, u64::from(u32::MAX) + 7]));
    let found = records(&table(vec![("id", ids), ("scores", scores)]));
    assert_eq!(found.iter().map(|record| record.id.to_string()).collect::<Vec<_>>(), ["1", "2", "3", "4294967302"]);
    assert_eq!(found[1].scores.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn rows_in_parts_are_those_of_one_part() {
    let rows = 250_000;
    let batch = |from: i64, to: i64| {
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(from..to));
        let scores: ArrayRef = Arc::new(Float64Array::from_iter_values((from..to).map(|id| (id % 7) as f64)));
        RecordBatch::try_from_iter([("id", ids), ("score", scores)]).unwrap()
    };
    let whole = Source::table("frame", [batch(0, rows)]);
    let parts = Source::table("frame", [batch(0, 10), batch(10, 200_000), batch(200_000, rows)]);
    assert_eq!(records(&whole), records(&parts));
    let shards = read_shards(&whole, None, &Projection::only(Vec::<String>::new())).unwrap();
    assert_eq!(shards[0].samples.iter().map(Samples::len).sum::<usize>(), rows as usize);
}

#[test]
fn an_attempt_that_is_delivered_twice_is_an_error_if_the_two_differ() {
    let ids = || texts(["a", "a", "b", "c"]);
    let epochs = || -> ArrayRef { Arc::new(Int64Array::from(vec![1, 1, 1, 1])) };
    let same = table(vec![("id", ids()), ("epoch", epochs()), ("score", floats([Some(1.0), Some(1.0), None, None]))]);
    assert_eq!(records(&same).len(), 3);
    let other = table(vec![("id", ids()), ("epoch", epochs()), ("score", floats([Some(1.0), Some(0.0), None, None]))]);
    assert!(read(&other, None).is_err());
}

#[test]
fn columns_can_be_named_and_what_is_wrong_is_explained() {
    let mut columns = Columns::default();
    columns.add("id=question,score=points").unwrap();
    let source = || table(vec![("question", texts(IDS)), ("points", floats([Some(1.0), None, None, None]))]);
    assert_eq!(records(&source().with_columns(columns)).len(), 4);
    let error = read(&table(vec![("colour", texts(IDS)), ("points", floats([None; 4]))]), None).unwrap_err();
    assert!(error.to_string().contains("id"), "{error}");
    assert!(choose(&source(), Some("csv")).is_err());
    let empty = RecordBatch::try_from_iter([("id", texts(IDS))]).unwrap().slice(0, 0);
    assert_eq!(read(&Source::table("frame", [empty]), None).unwrap_err().what(), "the table has no rows");
    assert!(read(&Source::table("frame", []), None).is_err());
}

#[test]
fn durations_are_measurements_and_never_scores() {
    let seconds = || -> ArrayRef { Arc::new(DurationSecondArray::from(vec![1, 2, 3, 4])) };
    let measured = table(vec![("id", texts(IDS)), ("passed", passes()), ("latency_ms", seconds())]);
    assert_eq!(records(&measured).len(), 4);
    for source in [
        table(vec![("id", texts(IDS)), ("score", seconds())]),
        table(vec![("id", texts(IDS)), ("passed", passes()), ("scores.speed", seconds())]),
        table(vec![("id", texts(IDS)), ("took", seconds())]).with_columns(columns("score=took")),
    ] {
        let error = read(&source, None).expect_err("a duration has a unit");
        assert!(error.what().contains("a duration is no score"), "{error}");
        assert!(error.advice().is_some_and(|hint| hint.contains("latency_ms")), "{error}");
    }
}

fn passes() -> ArrayRef {
    Arc::new(BooleanArray::from(vec![true, false, false, true]))
}

fn columns(pairs: &str) -> Columns {
    let mut columns = Columns::default();
    columns.add(pairs).unwrap();
    columns
}
