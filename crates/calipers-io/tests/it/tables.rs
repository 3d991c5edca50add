//! Native records in JSON, CSV and Parquet, and lighteval's tables.

use crate::seen::{counts, error, fact, mean, mutate, run, scores, text};
use calipers_io::{Source, read};

#[test]
fn native_records_are_read() {
    let run = run("native/records.jsonl");
    assert_eq!(run.format, "native");
    assert_eq!(counts(&run), (3, 4, 1));
    assert_eq!(scores(&run, "judge"), "SEC-001=0.7 SEC-001=nan 7=nan");
    assert_eq!(scores(&run, "exact"), "SEC-001=C SEC-001=I");
    assert_eq!(fact(&run, "judge", 0, "category"), "adversarial");
    assert_eq!(fact(&run, "judge", 0, "source"), "doc-17");
    assert_eq!(mean(&run, "latency_ms"), (812.0 + 950.5) / 2.0);
    assert_eq!(mean(&run, "cost_usd"), 0.01);
}

#[test]
fn a_map_over_several_lines_is_one_record_and_several_are_several() {
    assert_eq!(scores(&run("native/one.json"), "score"), "ONE=0.25");
    let two = "{\n\"id\": 1,\n\"score\": 1\n}\n{\n\"id\": 2,\n\"score\": 0\n}\n";
    assert_eq!(scores(&text(two).unwrap(), "score"), "1=1 2=0");
    let broken = "{\n\"id\": 1,\n\"score\": 1\n}\n{\n\"id\": 2,\n\"score\" 0\n}\n";
    assert!(error(broken).contains("line 7"), "{}", error(broken));
    assert!(error("{\n\"id\": 1,\n\"score\":").contains("cut off"));
}

#[test]
fn lists_are_read_and_their_faults_placed() {
    assert_eq!(scores(&text(r#"[{"id": "a", "value": 1}, {"id": "a", "value": 0}]"#).unwrap(), "score"), "a=1 a=0");
    let fault = error(r#"[{"id": "a"}, {"score": 1}]"#);
    assert!(fault.contains("the record has no `id`") && fault.contains("at `[1]`"), "{fault}");
}

#[test]
fn a_map_that_only_has_an_id_is_not_taken_for_a_record() {
    let job = r#"{"id": "0f3c", "started_at": "2026-03-01T10:00:00Z", "n_total_trials": 8, "stats": {"n_trials": 8}}"#;
    assert!(error(job).contains("the format of the content is unknown"));
    assert_eq!(counts(&text(&format!("{job}\n{job}\n")).unwrap()), (1, 2, 0), "lines are records");
    assert_eq!(counts(&text(r#"{"id": "a", "metadata": {"job": 1}}"#).unwrap()), (1, 1, 0));
}

#[test]
fn wrong_types_are_errors_with_a_place() {
    for (line, want) in [
        (r#"{"id": 1, "latency_ms": "soon"}"#, "`latency_ms` is `soon` (a string), not a number"),
        (r#"{"id": 1, "passed": "perhaps"}"#, "`passed` is `perhaps` (a string), not true or false"),
        (r#"{"id": 1, "scores": [1]}"#, "`scores` is `[1]` (a list), not a map of scorers to scores"),
        (r#"{"id": 1, "scores": {"j": {"value": [[1]]}}}"#, "a score holds a list inside a list, by scorer `j`"),
        (r#"{"id": 1, "epoch": -1}"#, "`epoch` is `-1`"),
        (r#"{"id": 1, "epoch": 4294967295}"#, "`epoch` is `4294967295`"),
        (r#"{"id": "", "score": 1}"#, "`id` is empty"),
        (r#"{"id": [1]}"#, "`id` is `[1]` (a list), not text or a whole number"),
        (r#"{"id": 1, "expected_behaviors": [1]}"#, "not a list of names or of maps with a `name`"),
        (r#"{"id": 1, "must_not": {"a": "b"}}"#, "not marked with true or false"),
        (r#"{"id": 1, "score": 1, "value": 0}"#, "two different scores by `score`"),
        (r#"{"id": 1"#, "cut off"),
        (r#"[1, 2]"#, "a record, which is a map"),
    ] {
        let fault =
            error(&format!("{{\"id\": 0}}\n{line}\n")) + &text(line).map_or_else(|e| e.to_string(), |_| "".into());
        assert!(fault.contains(want) && fault.contains("line 2"), "{line}\n{fault}");
    }
}

#[test]
fn an_attempt_scored_twice_differently_names_both_places() {
    let fault =
        error("{\"id\": 1, \"epoch\": 1, \"score\": 1}\n{\"id\": 2}\n{\"id\": 1, \"epoch\": 1, \"score\": 0}\n");
    assert!(fault.contains("(line 1)") && fault.contains("(line 3)"), "{fault}");
    let fault = error("id,epoch,score\n1,1,1\n1,1,0\n");
    assert!(fault.contains("(line 2)") && fault.contains("(line 3)"), "{fault}");
    let same = text("{\"id\": 1, \"epoch\": 1, \"score\": 1}\n{\"id\": 1, \"epoch\": 1, \"score\": 1}\n").unwrap();
    assert_eq!(same.notes, ["1 record read twice: each attempt counts once"]);
    let other =
        text("{\"id\": 1, \"epoch\": 1, \"scores\": {\"a\": 1}}\n{\"id\": 1, \"epoch\": 1, \"scores\": {\"b\": 0}}\n");
    assert_eq!(counts(&other.unwrap()), (1, 1, 0));
}

#[test]
fn csv_is_read_as_json_is() {
    let run = run("csv/records.csv");
    assert_eq!(run.format, "csv");
    assert_eq!(counts(&run), (3, 4, 1));
    assert_eq!(scores(&run, "judge"), "SEC-001=0.7 SEC-001=nan 007=1");
    assert_eq!(scores(&run, "exact"), "SEC-001=C SEC-001=I 007=C");
    assert_eq!(fact(&run, "judge", 0, "source"), "doc-17");
    assert_eq!(fact(&run, "judge", 0, "version"), "1.10");
    assert_eq!(fact(&run, "judge", 2, "category"), "happy path, with a\nline break");
    assert_eq!(mean(&run, "passed"), (0.5 + 1.0) / 2.0);
    let shown = format!("{:?}", run.samples);
    assert!(shown.contains(r#"List([Text("greets"), Text("asks for a name")])"#), "{shown}");
}

#[test]
fn csv_with_other_delimiters_and_a_byte_order_mark_is_read() {
    for content in ["\u{feff}id;score\r\na;1\r\n", "id\tscore\na\t1", "\"sample_id\",\"score\"\n\"a\",\"1\"\n"] {
        assert_eq!(scores(&text(content).unwrap(), "score"), "a=1", "{content:?}");
    }
    let run = text(",id,score\n0,a,1\n").unwrap();
    assert_eq!(run.notes, ["column 1 has no name and was not read"]);
}

#[test]
fn faulty_csv_is_refused_with_a_line() {
    for (content, want) in [
        ("id,score\na,1\nb\n", "line 3"),
        ("id,score\na,1\nb,1,2\n", "the row has 3 cells, and the header names 2 columns"),
        ("id,score\na,1\nb,\"1\n", "a quote is opened and not closed"),
        ("id,score\na,1\n\"b,1\n", "a quote is opened and not closed"),
        ("id,score,score\na,1,2\n", "`score` and `score (2)` could each be the score"),
        ("id,latency_ms\na,soon\n", "`latency_ms` is `soon`"),
        ("id,score\n,1\n", "`id` is empty"),
        ("name,score\na,1\n", "the format of the content is unknown"),
    ] {
        assert!(error(content).contains(want), "{content:?}\n{}", error(content));
    }
    // Where some of the text is UTF-8, the rest is damaged.
    let mixed = b"id,category\n\xc3\xa9,\xff\n".to_vec();
    let fault = read(&Source::bytes("x", mixed), None).unwrap_err().to_string();
    assert!(fault.contains("not UTF-8") && fault.contains("line 2"), "{fault}");
    let old = read(&Source::bytes("x", b"id,category,score\na,caf\xe9,1\n".to_vec()), None).unwrap();
    assert_eq!(old[0].notes, ["the text is not UTF-8 and was read as Windows-1252"]);
    assert_eq!(fact(&old[0], "score", 0, "category"), "café");
}

#[test]
fn parquet_is_read_as_json_is() {
    let run = run("parquet/records.parquet");
    assert_eq!(run.format, "parquet");
    assert_eq!(counts(&run), (3, 4, 1));
    assert_eq!(scores(&run, "judge"), "SEC-001=0.7 SEC-001=nan 7=1.0");
    assert_eq!(scores(&run, "exact"), "SEC-001=C SEC-001=I 7=C");
    assert_eq!(fact(&run, "judge", 2, "source"), "doc-18");
    assert_eq!(fact(&run, "judge", 2, "category"), "happy_path");
    assert_eq!(fact(&run, "judge", 0, "at"), "1");
    assert_eq!(mean(&run, "latency_ms"), ((812.0 + 950.5) / 2.0 + 3.0) / 2.0);
    assert_eq!(mean(&run, "tokens_used"), (1250.0 + 5.0) / 2.0);
    assert_eq!(run.notes, ["column `transcript` holds long text and was not read"]);
    let shown = format!("{:?}", run.samples);
    assert!(shown.contains(r#"List([Text("leaks key")])"#), "{shown}");
}

#[test]
fn lighteval_details_and_figures_are_read() {
    let details = run("lighteval/details.parquet");
    assert_eq!((details.format, details.task.as_deref()), ("lighteval", Some("riddles:easy|0")));
    assert_eq!(counts(&details), (2, 2, 0));
    assert_eq!(scores(&details, "em"), "0=1.0 1=0.0");
    assert_eq!(scores(&details, "pass@k:k=2"), "0=1.0 1=nan");
    assert_eq!(mean(&details, "tokens_used"), (6.0 + 2.0) / 2.0);
    assert_eq!(details.notes, ["metric `corpus` is not a plain value and was not read"]);

    let older = run("lighteval/details_text.parquet");
    assert_eq!(scores(&older, "em"), "0=1.0 1=nan");
    assert_eq!(scores(&older, "ok"), "0=True 1=False");

    let results = run("lighteval/results.json");
    assert_eq!((results.format, results.model.as_deref()), ("lighteval", Some("acme/small-7b")));
    assert_eq!(results.recorded.figures.len(), 4);
    assert!(
        results.recorded.figures.iter().all(|figure| figure.scorer.starts_with("riddles:") && figure.value.is_some())
    );
    assert_eq!(results.notes.len(), 3);
}

#[test]
fn damaged_text_tables_are_errors_and_nothing_worse() {
    mutate(&["native/records.jsonl", "native/one.json", "csv/records.csv", "lighteval/results.json"], 1500);
}

#[test]
fn damaged_parquet_is_an_error_and_nothing_worse() {
    // Panics of the Parquet library are caught and become errors; their texts need not fill the log.
    std::panic::set_hook(Box::new(|_| {}));
    let names = ["parquet/records.parquet", "lighteval/details.parquet", "lighteval/details_text.parquet"];
    let outcome = std::panic::catch_unwind(|| mutate(&names, 3000));
    let _ = std::panic::take_hook();
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}

/// Seconds that this thread has worked, which a busy machine does not stretch.
fn worked() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e9
}

/// `cargo test -p calipers-io --test it -- tables --ignored --nocapture`
#[test]
#[ignore = "measures speed"]
fn a_million_rows() {
    const ROWS: usize = 1_000_000;
    let path = |end: &str| std::env::temp_dir().join(format!("calipers-million-{}.{end}", std::process::id()));
    write_rows(&path("parquet"), ROWS);
    let (mut csv, mut lines) = (String::from("id,score,category,passed,latency_ms,tokens_used\n"), String::new());
    for row in 0..ROWS {
        use std::fmt::Write;
        let (score, category, passed) = ((row % 997) as f64 / 997.0, row % 5, row % 3 > 0);
        let (latency, tokens) = (row % 5000, row % 4000);
        writeln!(csv, "sample-{row:07},{score},category {category},{passed},{latency},{tokens}").unwrap();
        let line = format!("\"id\": \"sample-{row:07}\", \"score\": {score}, \"category\": \"category {category}\"");
        let rest = format!("\"passed\": {passed}, \"latency_ms\": {latency}, \"tokens_used\": {tokens}");
        writeln!(lines, "{{{line}, {rest}}}").unwrap();
    }
    std::fs::write(path("csv"), csv).unwrap();
    std::fs::write(path("jsonl"), lines).unwrap();
    for end in ["parquet", "parquet", "csv", "csv", "jsonl", "jsonl"] {
        let started = worked();
        let runs = read(&Source::path(path(end)), None).unwrap();
        let seconds = worked() - started;
        assert_eq!(runs[0].samples.attempts(), ROWS);
        println!("{end}: {seconds:.3} s of work, {:.2} million rows per second", ROWS as f64 / seconds / 1e6);
    }
    ["parquet", "csv", "jsonl"].iter().for_each(|end| std::fs::remove_file(path(end)).unwrap());
}

#[allow(clippy::unwrap_used)]
fn write_rows(path: &std::path::Path, rows: usize) {
    use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
    use parquet::file::writer::SerializedFileWriter;
    let schema = "message records { required binary id (UTF8); required double score; required binary category (UTF8);
        required boolean passed; optional double latency_ms; required int64 tokens_used; }";
    let schema = std::sync::Arc::new(parquet::schema::parser::parse_message_type(schema).unwrap());
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, std::sync::Arc::default()).unwrap();
    let text = |text: String| ByteArray::from(text.into_bytes());
    for start in (0..rows).step_by(250_000) {
        let rows = start..(start + 250_000).min(rows);
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let ids: Vec<ByteArray> = rows.clone().map(|row| text(format!("sample-{row:07}"))).collect();
        column.typed::<ByteArrayType>().write_batch(&ids, None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let scores: Vec<f64> = rows.clone().map(|row| (row % 997) as f64 / 997.0).collect();
        column.typed::<DoubleType>().write_batch(&scores, None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let categories: Vec<ByteArray> = rows.clone().map(|row| text(format!("category {}", row % 5))).collect();
        column.typed::<ByteArrayType>().write_batch(&categories, None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let passed: Vec<bool> = rows.clone().map(|row| row % 3 > 0).collect();
        column.typed::<BoolType>().write_batch(&passed, None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let levels: Vec<i16> = rows.clone().map(|row| i16::from(row % 10 > 0)).collect();
        let latencies: Vec<f64> = rows.clone().filter(|row| row % 10 > 0).map(|row| (row % 5000) as f64).collect();
        column.typed::<DoubleType>().write_batch(&latencies, Some(&levels), None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let tokens: Vec<i64> = rows.map(|row| (row % 4000) as i64).collect();
        column.typed::<Int64Type>().write_batch(&tokens, None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    writer.close().unwrap();
}
