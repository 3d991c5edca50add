//! What was tried is found wherever a table says it: attempts by two models, or at two temperatures, are never pooled without
//! a word.

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field};
use calipers_core::Samples;
use calipers_io::{Columns, Projection, Source, choose, read};
use parquet::arrow::ArrowWriter;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Ten samples, each tried in two ways: the first always succeeds, the second never.
fn rows() -> Vec<(i64, usize)> {
    (0..10).flat_map(|id| [(id, 0), (id, 1)]).collect()
}

fn lines(record: impl Fn(i64, usize) -> String) -> Vec<u8> {
    rows().into_iter().map(|(id, way)| record(id, way) + "\n").collect::<String>().into_bytes()
}

/// A table whose column `config` is a struct with one entry.
fn batch(key: &str, values: ArrayRef) -> RecordBatch {
    let entry = Arc::new(Field::new(key, values.data_type().clone(), true));
    let config: ArrayRef = Arc::new(StructArray::from(vec![(entry, values)]));
    batch_with("config", config)
}

fn batch_with(name: &str, values: ArrayRef) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows().iter().map(|(id, _)| *id)));
    let scores: ArrayRef = Arc::new(Float64Array::from_iter_values(rows().iter().map(|(_, way)| 1.0 - *way as f64)));
    RecordBatch::try_from_iter([("id", ids), ("score", scores), (name, values)]).unwrap()
}

fn parquet(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn texts(values: [&str; 2]) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(rows().iter().map(|(_, way)| values[*way])))
}

fn floats(values: [f64; 2]) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(rows().iter().map(|(_, way)| values[*way])))
}

/// The names of the runs, and all notes.
fn read_all(source: &Source) -> (Vec<Option<String>>, String) {
    let runs = read(source, None).unwrap_or_else(|error| panic!("{}: {error}", source.name));
    let notes: Vec<String> = runs.iter().flat_map(|run| run.notes.clone()).collect();
    (runs.into_iter().map(|run| run.name).collect(), notes.join("\n"))
}

/// The same table in every form, with a fact under this key: as a column, in a map, and around the records.
fn sources(key: &str, values: [&str; 2], arrays: ArrayRef) -> Vec<Source> {
    let score = |way: usize| 1 - way;
    let in_map = |map: &str| {
        lines(|id, way| format!(r#"{{"id": {id}, "score": {}, "{map}": {{"{key}": {}}}}}"#, score(way), values[way]))
    };
    let list = |bytes: Vec<u8>| {
        let text = String::from_utf8(bytes).unwrap();
        format!("[{}]", text.trim_end().replace('\n', ",")).into_bytes()
    };
    let csv = |header: &str, cell: &dyn Fn(&str) -> String| {
        let rows = lines(|id, way| format!("{id},{},{}", score(way), cell(values[way])));
        [format!("id,score,{header}\n").into_bytes(), rows].concat()
    };
    let plain = |value: &str| value.trim_matches('"').to_owned();
    let cell = |value: &str| format!("\"{{\"\"{key}\"\": {}}}\"", value.replace('"', "\"\""));
    let around = |way: usize| {
        let records: Vec<String> = (0..10).map(|id| format!(r#"{{"id": {id}, "score": {}}}"#, score(way))).collect();
        format!(r#"{{"config": {{"{key}": {}}}, "results": [{}]}}"#, values[way], records.join(", "))
    };
    let items = lines(|id, way| {
        let tries: Vec<String> =
            [0, 1].iter().map(|way| format!(r#"{{"{key}": {}, "ok": {}}}"#, values[*way], score(*way))).collect();
        if way == 0 { format!(r#"{{"id": {id}, "tries": [{}]}}"#, tries.join(", ")) } else { String::new() }
    });
    let said = |columns: &str| columns.parse::<Columns>().unwrap();
    let nested = batch(key, arrays.clone());
    let flat = batch_with(key, arrays.clone());
    let dotted = batch_with(&format!("config.{key}"), arrays);
    vec![
        Source::bytes("metadata.jsonl", in_map("metadata")),
        Source::bytes("config.jsonl", in_map("config")),
        Source::bytes("config.json", list(in_map("config"))),
        Source::bytes("metadata.json", list(in_map("metadata"))),
        Source::bytes(
            "deep.jsonl",
            lines(|id, way| {
                format!(r#"{{"id": {id}, "score": {}, "args": {{"llm": {{"{key}": {}}}}}}}"#, score(way), values[way])
            }),
        ),
        Source::bytes("flat.csv", csv(key, &plain)),
        Source::bytes("dotted.csv", csv(&format!("config.{key}"), &plain)),
        Source::bytes("slash.csv", csv(&format!("params/{key}"), &plain)),
        Source::bytes("cells.csv", csv("config", &cell)),
        Source::bytes("nested.parquet", parquet(&nested)),
        Source::bytes("flat.parquet", parquet(&flat)),
        Source::bytes("dotted.parquet", parquet(&dotted)),
        Source::table("nested frame", [nested]),
        Source::table("flat frame", [flat]),
        Source::table("dotted frame", [dotted]),
        Source::bytes("around.json", format!("[{}, {}]", around(0), around(1)).into_bytes())
            .with_columns(said("records=results,id=id,score=score")),
        Source::bytes("items.jsonl", items).with_columns(said("id=id,score=tries[].ok")),
    ]
}

#[test]
fn two_models_are_two_runs_wherever_they_are_named() {
    for source in sources("model", ["\"a\"", "\"b\""], texts(["a", "b"])) {
        let (names, _) = read_all(&source);
        assert_eq!(names, [Some("a".to_owned()), Some("b".to_owned())], "{}", source.name);
    }
}

#[test]
fn two_models_in_tags_are_no_attempts_of_one_run() {
    let models = ["a", "b"];
    let tagged = |tags: &dyn Fn(usize) -> String| {
        lines(|id, way| format!(r#"{{"id": {id}, "score": {}, "tags": {}}}"#, 1 - way, tags(way)))
    };
    let list = tagged(&|way| format!(r#"["lang:en", "model:{}"]"#, models[way]));
    let text = tagged(&|way| format!(r#""lang:en, Model={}""#, models[way]));
    let csv: String =
        rows().iter().map(|(id, way)| format!("{id},{},\"[\"\"model:{}\"\"]\"\n", 1 - way, models[*way])).collect();
    let csv = format!("id,score,tags\n{csv}").into_bytes();
    for source in [Source::bytes("l.jsonl", list), Source::bytes("t.jsonl", text), Source::bytes("t.csv", csv)] {
        let error = read(&source, None).unwrap_err().to_string();
        assert!(error.contains("`tags` says of sample `0` both `model:a` and `model:b`"), "{}: {error}", source.name);
    }
    // Different samples may have been tried with different models: that is worth knowing.
    let apart = r#"[{"id": 1, "score": 1, "tags": ["model:a"]}, {"id": 2, "score": 0, "tags": ["model:b"]}]"#;
    let (names, notes) = read_all(&Source::bytes("apart.json", apart.as_bytes()));
    assert_eq!(names.len(), 1);
    assert!(notes.contains("`tags` holds `model:a` and `model:b`: all are one run here"), "{notes}");
    // Conversations have speakers, which are no tags.
    let talk =
        lines(|id, way| format!(r#"{{"id": {id}, "score": {way}, "output": ["system: {way}", "agent: {way}"]}}"#));
    assert_eq!(read_all(&Source::bytes("talk.jsonl", talk)).0, [None]);
    // One model everywhere is nothing to speak of.
    let one = tagged(&|_| r#"["model:a"]"#.to_owned());
    assert_eq!(read_all(&Source::bytes("one.jsonl", one)), (vec![None], String::new()));
}

#[test]
fn an_attempt_that_is_there_twice_is_an_error_in_tables_with_our_names_too() {
    let read = |text: &str| read(&Source::bytes("x.csv", text.as_bytes().to_vec()), None);
    for name in ["attempt", "trial", "Attempt", "rollout_idx"] {
        let error = read(&format!("id,{name},score\na,1,1\na,1,0\n")).unwrap_err().to_string();
        assert!(error.contains("sample `a`, epoch 1 has two different scores"), "{error}");
        let runs = read(&format!("id,{name},score\na,1,1\na,2,0\n")).unwrap();
        assert_eq!(runs[0].samples.attempts(), 2);
    }
    // How many iterations an agent needed says nothing of the attempt.
    assert_eq!(read("id,iteration,score\na,1,1\na,1,0\n").unwrap()[0].samples.attempts(), 2);
}

#[test]
fn two_temperatures_are_noted_wherever_they_stand() {
    for source in sources("temperature", ["0.0", "1.0"], floats([0.0, 1.0])) {
        let (names, notes) = read_all(&source);
        assert_eq!(names.len(), 1, "{}", source.name);
        assert!(notes.contains("temperature`") && notes.contains("tells them apart"), "{}: {notes}", source.name);
        // What the note proposes works.
        let columns = notes.split('`').find(|part| part.starts_with("run=")).expect("a proposal");
        let said = source.clone().with_columns(
            match source.name.as_str() {
                "around.json" => format!("records=results,id=id,score=score,{columns}"),
                "items.jsonl" => format!("id=id,score=tries[].ok,{columns}"),
                _ => columns.to_owned(),
            }
            .parse::<Columns>()
            .unwrap(),
        );
        let (names, notes) = read_all(&said);
        assert_eq!((names.len(), notes.as_str()), (2, ""), "{} with {columns}", source.name);
    }
}

#[test]
fn a_run_named_by_one_part_of_a_map_leaves_the_others_open() {
    let record = |id: i64, way: usize| {
        format!(r#"{{"id": {id}, "score": {way}, "config": {{"model": "m", "prompt": "p", "temperature": {way}}}}}"#)
    };
    let said: Columns = "run=config.prompt".parse().unwrap();
    let (names, notes) = read_all(&Source::bytes("x.jsonl", lines(record)).with_columns(said.clone()));
    assert_eq!(names, [Some("p".to_owned())]);
    assert!(notes.contains("`run=config.prompt+config.temperature` tells them apart"), "{notes}");
    let models = |id: i64, way: usize| {
        let model = ["a", "b"][way];
        format!(r#"{{"id": {id}, "score": {way}, "config": {{"model": "{model}", "prompt": "p"}}}}"#)
    };
    let error = read(&Source::bytes("x.jsonl", lines(models)).with_columns(said), None).unwrap_err().to_string();
    assert!(error.contains("`config.model` has several values for sample `0` in the run `p`"), "{error}");
}

#[test]
fn numbers_that_count_attempts_are_no_settings() {
    let record = |key: &str, values: [&str; 2]| {
        let key = key.to_owned();
        lines(move |id, way| format!(r#"{{"id": {id}, "score": {way}, "{key}": {}}}"#, values[way]))
    };
    for (key, values, is_noted) in [
        ("sample_index", ["0", "1"], false),
        ("seed", ["41", "42"], false),
        ("started_at", ["\"2026-01-01\"", "\"2026-01-02\""], false),
        ("run", ["\"run-1\"", "\"run-2\""], false),
        ("run", ["\"base\"", "\"tuned\""], true),
        ("noise", ["0.1", "0.5"], true),
        ("with_tools", ["true", "false"], true),
        ("candidate_kind", ["\"x\"", "\"y\""], true),
        ("sentiment", ["\"x\"", "\"y\""], true),
    ] {
        let (_, notes) = read_all(&Source::bytes("x.jsonl", record(key, values)));
        assert_eq!(notes.contains(key), is_noted, "{key}: {notes}");
    }
    // Outcomes of attempts vary, and are not crossed with samples.
    let outcome = |id: i64, way: usize| {
        let words = if id % 3 == 0 { "bad" } else { ["good", "bad"][way] };
        format!(r#"{{"id": {id}, "score": {way}, "verdict": "{words}", "tokens": {}}}"#, id * 7 + way as i64)
    };
    assert_eq!(read_all(&Source::bytes("x.jsonl", lines(outcome))).1, "");
}

#[test]
fn what_tells_attempts_apart_further_down_is_found_too() {
    // The first hundred records are all of different samples.
    let blocks: String =
        ["en", "de"].iter().flat_map(|language| (0..500).map(move |id| format!("q{id},1,{language}\n"))).collect();
    let (_, notes) = read_all(&Source::bytes("x.csv", format!("id,score,language\n{blocks}").into_bytes()));
    assert!(notes.contains("each `language`"), "{notes}");
    let mixed: String = (0..1000)
        .map(|row| {
            let id = if row < 500 { row } else { row - 500 };
            let language = ["en", "de"][usize::from((row < 500) ^ (id % 2 == 0))];
            format!("{{\"id\": {id}, \"score\": 1, \"metadata\": {{\"language\": \"{language}\"}}}}\n")
        })
        .collect();
    let (_, notes) = read_all(&Source::bytes("x.jsonl", mixed.into_bytes()));
    assert!(notes.contains("each `language`"), "{notes}");
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values((0..500).chain(0..500)));
    let scores: ArrayRef = Arc::new(Float64Array::from(vec![1.0; 1000]));
    let languages: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..1000).map(|row| if row < 500 { "en" } else { "de" })));
    let table = RecordBatch::try_from_iter([("id", ids), ("score", scores), ("language", languages)]).unwrap();
    for source in [Source::bytes("x.parquet", parquet(&table)), Source::table("frame", [table.clone()])] {
        let (_, notes) = read_all(&source);
        assert!(notes.contains("each `language`"), "{}: {notes}", source.name);
    }
}

#[test]
fn attempts_that_do_not_say_what_was_tried_are_noted() {
    let record =
        |id: i64, way: usize| format!(r#"{{"id": {id}, "score": {way}, "model": {}}}"#, ["\"a\"", "null"][way]);
    let (names, notes) = read_all(&Source::bytes("x.jsonl", lines(record)));
    assert_eq!(names, [None]);
    assert_eq!(notes, "10 samples with `model` in some attempts and not in others: all are one run here");
}

#[test]
fn many_languages_and_long_prompts_are_noted() {
    let languages: String =
        (0..10).flat_map(|id| (0..130).map(move |language| format!("q{id},1,l{language}\n"))).collect();
    let (_, notes) = read_all(&Source::bytes("x.csv", format!("id,score,language\n{languages}").into_bytes()));
    assert!(notes.contains("each `language`"), "{notes}");
    let prompts = ["Think step by step. ".repeat(20), "Answer only.".to_owned()];
    let record = |id: i64, way: usize| format!(r#"{{"id": {id}, "score": {way}, "prompt": "{}"}}"#, prompts[way]);
    let (_, notes) = read_all(&Source::bytes("x.jsonl", lines(record)));
    assert!(notes.contains("each `prompt` (`Think step by step. Think step by step.…`"), "{notes}");
}

#[test]
fn what_was_only_looked_at_is_not_kept() {
    let record = |id: i64, _: usize| format!(r#"{{"id": {id}, "score": 1, "config": {{"model": "m", "top_p": 0.5}}}}"#);
    let run = read(&Source::bytes("x.jsonl", lines(record)), None).unwrap().remove(0);
    assert_eq!(run.samples.metadata_keys().map(|key| &**key).collect::<Vec<_>>(), ["config"]);
}

#[test]
fn lists_and_long_texts_in_parquet_are_not_looked_at() {
    let list = Field::new_list_field(DataType::Int64, true);
    let mut builder =
        arrow_array::builder::ListBuilder::new(arrow_array::builder::Int64Builder::new()).with_field(list);
    rows().iter().for_each(|(id, way)| builder.append_value([Some(*id), Some(*way as i64)]));
    let table = batch_with("model", Arc::new(builder.finish()));
    let (names, notes) = read_all(&Source::bytes("x.parquet", parquet(&table)));
    assert_eq!((names.len(), notes.as_str()), (1, ""));
}

/// How many samples a table passes on as a stream, and its notes; nothing if it has to be read whole.
fn stream(source: &Source) -> Option<(usize, Vec<String>)> {
    let count = AtomicUsize::new(0);
    let sink = |_: usize, samples: Samples| {
        assert_eq!(samples.metadata_column("model").map(|_| ()), None, "what was only looked at is not passed on");
        count.fetch_add(samples.len(), Ordering::Relaxed);
        true
    };
    let table = choose(source, None).unwrap().stream(source, &Projection::only(["task"]), &sink)?;
    Some((count.into_inner(), table.notes))
}

/// A table with a row per sample, in the order of their names, and two more columns.
fn wide_batch(ids: &[i64], models: &[&str]) -> RecordBatch {
    let texts =
        |texts: &mut dyn Iterator<Item = String>| -> ArrayRef { Arc::new(StringArray::from_iter_values(texts)) };
    let columns: [(&str, ArrayRef); 4] = [
        ("id", texts(&mut ids.iter().map(|id| format!("q{id:06}")))),
        ("score", Arc::new(Float64Array::from_iter_values(ids.iter().map(|id| (id % 2) as f64)))),
        ("model", texts(&mut models.iter().map(ToString::to_string))),
        ("task", texts(&mut ids.iter().map(|id| format!("task-{}", id % 3)))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

#[test]
fn a_table_with_models_is_read_as_a_stream_as_long_as_no_sample_has_two() {
    let ids: Vec<i64> = (0..1000).collect();
    let several: Vec<&str> = ids.iter().map(|id| ["gpt", "claude"][(id / 100 % 2) as usize]).collect();
    let note =
        "`model` has several values, whose samples differ: all are one run here, and `run=model` tells them apart";
    let note = note.to_owned();
    let in_both =
        |batch: &RecordBatch| [Source::bytes("t.parquet", parquet(batch)), Source::table("table", vec![batch.clone()])];
    for source in in_both(&wide_batch(&ids, &several)) {
        assert_eq!(stream(&source), Some((1000, vec![note.clone()])), "{}", source.name);
        assert_eq!(read_all(&source), (vec![None], note.clone()), "as when it is read whole");
    }
    for source in in_both(&wide_batch(&ids, &vec!["gpt"; 1000])) {
        assert_eq!(stream(&source), Some((1000, Vec::new())), "{}", source.name);
    }
    // The last sample has two attempts: by one model, and by two.
    let (mut twice, mut models) = (ids.clone(), several.clone());
    twice.push(999);
    models.push(several[999]);
    for source in in_both(&wide_batch(&twice, &models)) {
        assert_eq!(read_all(&source).0, [None], "{}", source.name);
    }
    *models.last_mut().unwrap() = "another";
    for source in in_both(&wide_batch(&twice, &models)) {
        assert_eq!(stream(&source), None, "{}", source.name);
        assert_eq!(read_all(&source).0.len(), 3, "a run per model");
    }
}

#[test]
fn what_only_later_rows_of_columns_name_is_found() {
    // The first rows have other samples, and name nothing.
    let before = 200;
    let ids = (1000..1000 + before).chain(rows().into_iter().map(|(id, _)| id));
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(ids));
    let scores = std::iter::repeat_n(1.0, before as usize).chain(rows().into_iter().map(|(_, way)| 1.0 - way as f64));
    let scores: ArrayRef = Arc::new(Float64Array::from_iter_values(scores));
    let named = |name: &dyn Fn(usize) -> String| -> StringArray {
        let nothing = std::iter::repeat_n(None, before as usize);
        nothing.chain(rows().into_iter().map(|(_, way)| Some(name(way)))).collect()
    };
    let models = named(&|way| ["a", "b"][way].to_owned());
    let entry = Arc::new(Field::new("model", DataType::Utf8, true));
    let nulls = arrow_buffer::NullBuffer::from_iter((0..before + 20).map(|row| row >= before));
    let structs: ArrayRef = Arc::new(StructArray::new(vec![entry].into(), vec![Arc::new(models)], Some(nulls)));
    let cells: ArrayRef = Arc::new(named(&|way| format!("{{\"model\": \"{}\"}}", ["a", "b"][way])));
    for config in [structs, cells] {
        let columns = [("id", ids.clone()), ("score", scores.clone()), ("config", config)];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        for source in [Source::bytes("t.parquet", parquet(&batch)), Source::table("t", [batch.clone()])] {
            let (names, _) = read_all(&source);
            assert_eq!(names, [None, Some("a".to_owned()), Some("b".to_owned())], "{}", source.name);
        }
    }
}

#[test]
fn moments_in_a_column_of_scores_are_an_error() {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10));
    let moments: ArrayRef = Arc::new(arrow_array::TimestampMicrosecondArray::from_iter_values(
        1_767_225_600_000_000..1_767_225_600_000_010,
    ));
    let batch = RecordBatch::try_from_iter([("id", ids), ("score", moments)]).unwrap();
    let source = Source::bytes("t.parquet", parquet(&batch));
    let error = read(&source, None).unwrap_err().to_string();
    assert!(error.contains("the column `score` holds dates or times"), "{error}");
}
