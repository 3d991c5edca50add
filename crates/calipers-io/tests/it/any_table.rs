//! Tables with other columns: the quick way and the general way read the same, in every form.

use calipers_core::{Record, Value};
use calipers_io::{Columns, Source, read};
use proptest::prelude::*;

/// One attempt: sample, run, attempt, score, metadata, latency.
type Row = (u8, u8, Option<u8>, Option<u8>, Option<u8>, Option<u8>);

/// The same rows in a form, and what is what in it.
fn table(rows: &[Row], form: &str) -> String {
    let id = |row: &Row| format!("s{}", row.0);
    let run = |row: &Row| format!("m{}", row.1);
    if form == "csv" {
        let cell = |value: Option<u8>| value.map_or(String::new(), |value| value.to_string());
        let line = |row: &Row| {
            [id(row), run(row), cell(row.2), cell(row.3), cell(row.4).replace(char::is_numeric, "t"), cell(row.5)]
                .join(";")
        };
        let lines: Vec<String> = rows.iter().map(line).collect();
        return format!("case;bot;nth;mark;topic;took\n{}\n", lines.join("\n"));
    }
    let line = |row: &Row| {
        let mut entries = vec![format!("\"case\": \"{}\"", id(row)), format!("\"bot\": \"{}\"", run(row))];
        entries.extend(row.2.map(|nth| format!("\"nth\": {nth}")));
        entries.extend(row.3.map(|mark| if mark == 2 { "\"mark\": null".into() } else { format!("\"mark\": {mark}") }));
        entries.extend(row.4.map(|_| "\"topic\": \"t\"".to_owned()));
        entries.extend(row.5.map(|took| format!("\"took\": {took}")));
        format!("{{{}}}", entries.join(", "))
    };
    let lines: Vec<String> = rows.iter().map(line).collect();
    if form == "list" { format!("[{}]", lines.join(",\n")) } else { lines.join("\n") }
}

/// The name of a run, and its records.
type NamedRecords = (Option<String>, Vec<Record>);

/// The runs of a table, with all that is in them but what only tells the two ways apart.
fn runs(text: &str, columns: &str) -> Result<Vec<NamedRecords>, String> {
    let columns: Columns = columns.parse().unwrap();
    let source = Source::bytes("table", text.as_bytes()).with_columns(columns);
    // The order of metadata says nothing.
    let without_mark = |mut record: Record| {
        let kept = record.metadata.iter().filter(|(key, _)| &***key != "general");
        let mut kept: Vec<_> = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
        kept.sort_by(|a, b| a.0.cmp(&b.0));
        record.metadata = std::sync::Arc::new(calipers_core::Metadata::new(kept));
        record
    };
    let runs = read(&source, None).map_err(|error| error.what().to_owned())?;
    Ok(runs.into_iter().map(|run| (run.name.clone(), run.samples.records().map(without_mark).collect())).collect())
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let row = (
        0..4u8,
        0..3u8,
        proptest::option::of(0..3u8),
        proptest::option::of(0..3u8),
        proptest::option::of(0..2u8),
        proptest::option::of(0..9u8),
    );
    proptest::collection::vec(row, 1..12)
}

proptest! {
    #[test]
    fn both_ways_read_the_same(rows in rows(), numbered in any::<bool>(), apart in any::<bool>()) {
        let rows: Vec<Row> = rows.into_iter().enumerate().map(|(place, mut row)| {
            // Attempts that are numbered differ, so that none contradicts another.
            row.2 = numbered.then_some(place as u8);
            row
        }).collect();
        let mut columns = "id=case,score=mark,category=topic,latency_ms=took".to_owned();
        if numbered {
            columns += ",epoch=nth";
        }
        if apart {
            columns += ",run=bot";
        }
        // The columns have to be somewhere.
        prop_assume!(rows.iter().any(|row| row.3.is_some()) && rows.iter().any(|row| row.4.is_some()) && rows.iter().any(|row| row.5.is_some()));
        for form in ["lines", "list", "csv"] {
            let text = table(&rows, form);
            let quick = runs(&text, &columns);
            let general = runs(&text, &format!("{columns},general=@index"));
            prop_assert!(quick.is_ok(), "{:?}\n{}", quick, text);
            prop_assert_eq!(quick, general, "{}", text);
        }
    }

    #[test]
    fn whatever_is_said_reading_ends_in_an_answer_or_an_error(columns in "[a-c@^*{}\\[\\]\\.,=\" ]{0,20}", record in "[\\{\\}\\[\\]a-c0-1:,\"]{0,30}") {
        if let Ok(columns) = columns.parse::<Columns>() {
            let source = Source::bytes("table", record.as_bytes()).with_columns(columns);
            let _ = read(&source, None);
        }
    }
}

#[test]
fn native_names_and_others_give_the_same() {
    let native =
        "{\"id\": \"a\", \"score\": 1, \"category\": \"x\"}\n{\"id\": \"b\", \"score\": 0, \"error\": \"timeout\"}\n";
    let other = native.replace("\"id\"", "\"case\"").replace("\"score\"", "\"mark\"").replace("\"error\"", "\"fault\"");
    let named = runs(&other, "id=case,score=mark,error=fault").unwrap();
    assert_eq!(named, runs(native, "").unwrap());
    assert_eq!(named[0].1[0].metadata.get("category"), Some(&Value::from("x")));
}

#[test]
fn deep_and_wide_records_end_in_time() {
    let deep = format!("{}1{}", "{\"a\":".repeat(120), "}".repeat(120));
    assert!(runs(&deep, "id=@line,score=a.a.a").is_err());
    let keys: Vec<String> = (0..20_000).map(|key| format!("\"k{key}_ok\": 1")).collect();
    let wide = format!("{{\"case\": 1, {}}}", keys.join(", "));
    assert_eq!(runs(&wide, "id=case,score=*_ok,run=*").unwrap().len(), 20_000);
}
