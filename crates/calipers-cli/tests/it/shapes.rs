//! Results as people have them: each shape gives the right number, or an error whose proposal then gives it.

use crate::program::calipers;
use calipers_testing::{Scratch, text};
use serde_json::{Value as Json, json};

/// Seven of ten are right.
const RIGHT: [u8; 10] = [1, 0, 1, 1, 0, 1, 0, 1, 1, 1];

/// One line for each of ten samples.
fn lines(line: impl Fn(usize, bool) -> String) -> String {
    RIGHT.iter().enumerate().map(|(id, right)| line(id, *right == 1) + "\n").collect()
}

/// A JSON value for each of ten samples.
fn items(item: impl Fn(usize, bool) -> Json) -> Vec<Json> {
    RIGHT.iter().enumerate().map(|(id, right)| item(id, *right == 1)).collect()
}

fn records(records: &[Json]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// The accuracy of the first score of each run, with its n.
fn figures(report: &Json) -> Vec<(f64, u64)> {
    let of = |run: &Json| {
        let metrics = &run["scores"][0]["metrics"];
        let metric =
            ["accuracy", "mean", "pass_rate"].iter().map(|name| &metrics[*name]).find(|metric| !metric.is_null());
        let metric = metric.unwrap_or(&Json::Null);
        (rounded(metric["value"].as_f64().unwrap_or(-1.0)), metric["n"].as_u64().unwrap_or(0))
    };
    report["runs"].as_array().unwrap().iter().map(of).collect()
}

fn rounded(x: f64) -> f64 {
    (x * 1e9).round() / 1e9
}

/// What `score --json` gives, or its error.
fn score(folder: &Scratch, file: &str, flags: &[&str]) -> Result<Vec<(f64, u64)>, String> {
    let output = calipers().run_in(folder, &[&["score", file, "--json"], flags].concat());
    match output.status.code() {
        Some(0) => Ok(figures(&serde_json::from_slice(&output.stdout).unwrap())),
        _ => Err(text(&output.stderr)),
    }
}

/// What an error proposes to type after `--columns`.
#[track_caller]
fn proposal(error: &str) -> String {
    let start = error.find("`--columns ").unwrap_or_else(|| panic!("no proposal in: {error}"));
    let written = &error[start + "`--columns ".len()..];
    let written = &written[..written.rfind('`').unwrap()];
    written.trim_matches('\'').replace("'\\''", "'")
}

#[track_caller]
fn is_read(name: &str, content: impl AsRef<[u8]>, flags: &[&str], want: f64) {
    let folder = Scratch::with(name, content);
    assert_eq!(score(&folder, name, flags), Ok(vec![(rounded(want), 10)]), "{name} {flags:?}");
}

/// Without words the shape is refused, and what the error proposes works.
#[track_caller]
fn is_proposed(name: &str, content: impl AsRef<[u8]>, columns: &str, want: f64) {
    let folder = Scratch::with(name, content);
    let error = score(&folder, name, &[]).expect_err(name);
    assert_eq!(proposal(&error), columns, "{error}");
    assert_eq!(score(&folder, name, &["--columns", columns]), Ok(vec![(rounded(want), 10)]), "{name} {columns}");
}

#[test]
fn spreadsheets_are_read_as_they_are_exported() {
    let yes = |right: bool| if right { "Yes" } else { "No" };
    for (name, content, want) in [
        (
            "semicolons",
            format!(
                "\u{feff}question_id;is_correct\n{}",
                lines(|id, right| format!("q{id};{}", right.to_string().to_uppercase()))
            ),
            0.7,
        ),
        (
            "decimal commas",
            format!("id;score\n{}", lines(|id, right| format!("q{id};{}", if right { "0,75" } else { "0,25" }))),
            0.6,
        ),
        (
            "quoted commas",
            format!("id,score\n{}", lines(|id, right| format!("q{id},\"{}\"", if right { "0,75" } else { "0,25" }))),
            0.6,
        ),
        (
            "percentages",
            format!("id,score\n{}", lines(|id, right| format!("q{id},{}", if right { "75%" } else { "25 %" }))),
            0.6,
        ),
        ("yes and no", format!("id,score\n{}", lines(|id, right| format!("q{id},{}", yes(right)))), 0.7),
        (
            "words",
            format!("id,score\n{}", lines(|id, right| format!("q{id},{}", if right { "Pass" } else { "Fail" }))),
            0.7,
        ),
        (
            "correct",
            format!(
                "id,score\n{}",
                lines(|id, right| format!("q{id},{}", if right { "correct" } else { "incorrect" }))
            ),
            0.7,
        ),
        (
            "line breaks",
            format!("id,answer,score\n{}", lines(|id, right| format!("q{id},\"a\nb, \"\"c\"\"\",{}", u8::from(right)))),
            0.7,
        ),
        ("tabs", format!("question_id\tis_correct\n{}", lines(|id, right| format!("q{id}\t{right}"))), 0.7),
        (
            "a line that names the delimiter",
            format!("sep=;\nid;score\n{}", lines(|id, right| format!("q{id};{}", u8::from(right)))),
            0.7,
        ),
        (
            "cleared rows",
            format!("id,score,note\n{},,\n,,\n", lines(|id, right| format!("q{id},{},", u8::from(right)))),
            0.7,
        ),
        ("an index", format!(",question_id,is_correct\n{}", lines(|id, right| format!("{id},q{id},{right}"))), 0.7),
        (
            "two notes",
            format!("id,score,note,note\n{}", lines(|id, right| format!("q{id},{},a,b", u8::from(right)))),
            0.7,
        ),
        ("other capitals", format!("Question ID,Is Correct\n{}", lines(|id, right| format!("q{id},{right}"))), 0.7),
        ("camels", format!("questionId,isCorrect\n{}", lines(|id, right| format!("q{id},{right}"))), 0.7),
        (
            "our names in capitals",
            format!("ID,Score\n{}", lines(|id, right| format!("q{id},{}", u8::from(right)))),
            0.7,
        ),
        (
            "old line ends",
            format!("id,score\n{}", lines(|id, right| format!("q{id},{}", u8::from(right)))).replace('\n', "\r"),
            0.7,
        ),
    ] {
        let file = format!("{}.csv", name.replace(' ', "-"));
        is_read(&file, &content, &[], want);
        let utf16: Vec<u8> =
            [0xff, 0xfe].into_iter().chain(content.encode_utf16().flat_map(u16::to_le_bytes)).collect();
        is_read(&file, utf16, &[], want);
    }
    let latin = format!("id,name,score\n{}", lines(|id, right| format!("q{id},café,{}", u8::from(right))));
    let latin: Vec<u8> = latin.chars().map(|c| u8::try_from(c as u32).unwrap()).collect();
    is_read("latin.csv", latin, &[], 0.7);
}

#[test]
fn a_score_that_is_not_available_is_missing() {
    for word in ["NA", "N/A", "#N/A", "", "nan", "None"] {
        let content = format!("id,score\n{}q10,{word}\n", lines(|id, right| format!("q{id},{}", u8::from(right))));
        let folder = Scratch::with("r.csv", content);
        assert_eq!(score(&folder, "r.csv", &[]), Ok(vec![(0.7, 10)]), "{word}");
        assert_eq!(score(&folder, "r.csv", &["--missing", "failed"]), Ok(vec![(rounded(7.0 / 11.0), 11)]), "{word}");
    }
}

#[test]
fn json_is_read_in_the_layouts_of_pandas_and_others() {
    let ids = items(|id, _| json!(format!("q{id}")));
    let right = items(|_, right| json!(right));
    let by_row = |values: &[Json]| -> Json {
        values
            .iter()
            .enumerate()
            .map(|(row, value)| (row.to_string(), value.clone()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let rows = items(|id, right| json!([format!("q{id}"), right]));
    let header = json!([json!(["question_id", "is_correct"])].into_iter().chain(rows.clone()).collect::<Vec<_>>());
    for (name, content) in [
        ("columns", json!({"question_id": by_row(&ids), "is_correct": by_row(&right)})),
        ("lists", json!({"question_id": ids, "is_correct": right})),
        (
            "split",
            json!({"columns": ["question_id", "is_correct"], "index": (0..10).collect::<Vec<_>>(), "data": rows}),
        ),
        ("header", header),
        ("records", json!(items(|id, right| json!({"question_id": id, "is_correct": right})))),
    ] {
        is_read(&format!("{name}.json"), content.to_string(), &[], 0.7);
    }
    let nested = json!({"table": {"columns": ["q", "ok"], "data": rows}});
    is_read("nested.json", nested.to_string(), &["--columns", "records=table,id=q,score=ok"], 0.7);
    is_proposed("other.json", json!({"q": ids, "ok": right}).to_string(), "id=q,score=ok", 0.7);
    let index: serde_json::Map<_, _> = items(|id, right| json!({"id": id, "is_correct": right, "x": 1}))
        .into_iter()
        .enumerate()
        .map(|(row, record)| (format!("q{row}"), record))
        .collect();
    is_proposed("index.json", Json::from(index).to_string(), "records=.,id=id,score=is_correct", 0.7);
}

#[test]
fn json_lines_are_read_as_they_are_written() {
    let line = |id: usize, right: bool| json!({"id": format!("q{id}"), "score": u8::from(right)}).to_string();
    is_read("commas.jsonl", lines(|id, right| line(id, right) + ","), &[], 0.7);
    is_read("marked.jsonl", format!("\u{feff}{}", lines(line)), &[], 0.7);
    is_read("texts.jsonl", lines(|id, right| format!(r#"{{"id": {id}, "score": "{right}"}}"#)), &[], 0.7);
    is_read("maps.jsonl", lines(|id, right| format!(r#"{{"id": {id}, "score": {{"value": {right}}}}}"#)), &[], 0.7);
    is_read(
        "infinite.jsonl",
        lines(|id, right| format!(r#"{{"id": {id}, "score": {right}, "ppl": Infinity}}"#)),
        &[],
        0.7,
    );
}

#[test]
fn outputs_of_harnesses_are_proposed_with_their_paths() {
    let status = |right: bool| if right { "pass" } else { "fail" };
    let by_task = |record: &dyn Fn(usize, bool) -> Json| -> String {
        let tasks: serde_json::Map<_, _> =
            RIGHT.iter().enumerate().map(|(id, right)| (format!("HumanEval/{id}"), record(id, *right == 1))).collect();
        json!({"date": "2026-01-01", "eval": tasks}).to_string()
    };
    // One list of solutions for each task.
    let solution = |id: usize, right: bool| json!([{"task_id": format!("HumanEval/{id}"), "solution": "…", "status": status(right)}]);
    is_proposed("eval_results.json", by_task(&solution), "records=eval.*[],id=task_id,score=status", 0.7);
    // Lists of lists, whose first item is the outcome.
    let lists = |_: usize, right: bool| json!({"nfiles": 2, "base": [[status(right), [true]], ["fail", []]]});
    is_proposed("old.json", by_task(&lists), "records=eval,score=base[][0]", 0.35);
    let graded = records(&items(|id, right| json!({"question_id": id, "graded_list": [right, false]})));
    is_proposed("graded.jsonl", graded, "id=question_id,score=graded_list[]", 0.35);
    let attempts =
        records(&items(|id, right| json!({"task_id": id, "attempts": [{"success": right}, {"success": false}]})));
    is_proposed("attempts.jsonl", attempts, "id=task_id,score=attempts[].success", 0.35);
    let calls = records(&items(|id, right| json!({"id": id, "output": {"scores": {"exact": {"match": right}}}})));
    is_proposed("calls.jsonl", calls, "id=id,score=output.scores.exact.match", 0.7);
    let below = json!({"data": {"items": items(|id, right| json!({"qid": id, "em": right}))}}).to_string();
    is_proposed("below.json", below, "records=data.items,id=qid,score=em", 0.7);
    let ids: serde_json::Map<_, _> = items(|_, right| json!([right, false]))
        .into_iter()
        .enumerate()
        .map(|(id, list)| (format!("q{id}"), list))
        .collect();
    is_proposed("ids.json", Json::from(ids).to_string(), "records=.,score=@value[]", 0.35);
    let passed = |want: bool| -> Vec<String> {
        RIGHT.iter().enumerate().filter(|(_, right)| (**right == 1) == want).map(|(id, _)| format!("q{id}")).collect()
    };
    let outcomes = json!({"passed": passed(true), "failed": passed(false)}).to_string();
    is_proposed("outcomes.json", outcomes, "records=*[],id=@value,score=@key", 0.7);
    let feedback = format!(
        "id,inputs.question,feedback.correctness\n{}",
        lines(|id, right| format!("u{id},q,{}", u8::from(right)))
    );
    is_proposed("export.csv", feedback, "id=id,score=\"feedback.correctness\"", 0.7);
    let literal = format!(
        "id,result\n{}",
        lines(|id, right| format!("q{id},\"{{'correct': {}, 'why': None}}\"", if right { "True" } else { "False" }))
    );
    is_proposed("pandas.csv", literal, "id=id,score=result.correct", 0.7);
}

#[test]
fn several_measures_and_several_models_are_told_apart() {
    let ragas = format!(
        "user_input,faithfulness,answer_relevancy\n{}",
        lines(|id, right| format!("what {id}?,{},0.5", u8::from(right)))
    );
    is_proposed(
        "ragas.csv",
        ragas,
        "id=user_input,score.faithfulness=faithfulness,score.answer_relevancy=answer_relevancy",
        0.7,
    );
    let wide =
        format!("question,small_correct,large_correct\n{}", lines(|id, right| format!("q{id},{},1", u8::from(right))));
    let folder = Scratch::with("wide.csv", wide);
    let error = score(&folder, "wide.csv", &[]).expect_err("it is not known");
    assert_eq!(proposal(&error), "id=question,score=*_correct,run=*");
    assert_eq!(score(&folder, "wide.csv", &["--columns", &proposal(&error)]), Ok(vec![(0.7, 10), (1.0, 10)]));
    let objects = records(&items(
        |id, right| json!({"q": format!("q{id}"), "small_1": {"is_correct": right}, "large_1": {"is_correct": true}}),
    ));
    let models = Scratch::with("objects.jsonl", objects);
    let error = score(&models, "objects.jsonl", &[]).expect_err("it is not known");
    assert_eq!(proposal(&error), "id=q,score=*.is_correct,run=*");
    assert_eq!(score(&models, "objects.jsonl", &["--columns", &proposal(&error)]), Ok(vec![(0.7, 10), (1.0, 10)]));
    // Columns that are attempts are counted in their order.
    let attempts = ["--columns", "id=question,score={small,large}_correct,epoch=*"];
    assert_eq!(score(&folder, "wide.csv", &attempts), Ok(vec![(0.85, 10)]));
    let models = json!({"a": {"q1": 1, "q2": 0, "q3": 1}, "b": {"q1": 0, "q2": 0, "q3": 1}}).to_string();
    let folder = Scratch::with("models.json", models);
    let error = score(&folder, "models.json", &[]).expect_err("it is not known");
    assert_eq!(proposal(&error), "records=*.*,run=^@key");
    assert_eq!(
        score(&folder, "models.json", &["--columns", "records=*.*,run=^@key"]),
        Ok(vec![(rounded(2.0 / 3.0), 3), (rounded(1.0 / 3.0), 3)])
    );
    let runs = json!({"runs": [
        {"model": "a", "results": [{"q": "x", "score": 1}, {"q": "y", "score": 1}]},
        {"model": "b", "results": [{"q": "x", "score": 0}, {"q": "y", "score": 1}]}]});
    let folder = Scratch::with("runs.json", runs.to_string());
    let error = score(&folder, "runs.json", &[]).expect_err("it is not known");
    assert_eq!(proposal(&error), "records=runs[].results,id=q,run=^model,score=score");
    assert_eq!(score(&folder, "runs.json", &["--columns", &proposal(&error)]), Ok(vec![(1.0, 2), (0.5, 2)]));
}

#[test]
fn a_folder_with_a_file_per_sample_is_one_run_if_it_is_said() {
    let folder = Scratch::new();
    for (id, right) in RIGHT.iter().enumerate() {
        folder.write(&format!("results/m/q{id}.json"), json!({"prompt": "…", "correct": *right == 1}).to_string());
        folder.write(&format!("tasks/t{id}/result.txt"), format!("{right}.0\n"));
        folder.write(&format!("ids/{id}.json"), json!({"task_id": id, "score": right}).to_string());
    }
    assert_eq!(score(&folder, "results", &["--columns", "id=@stem,run=@folder"]), Ok(vec![(0.7, 10)]));
    let error = score(&folder, "results/m/q1.json", &[]).expect_err("nothing names the sample");
    assert_eq!(proposal(&error), "id=@stem,score=correct,run=@folder");
    assert_eq!(
        score(&folder, "tasks/*/result.txt", &["--columns", "id=@folder,score=@value,run=@path.1"]),
        Ok(vec![(0.7, 10)])
    );
    let output = calipers().run_in(&folder, &["score", "ids"]);
    let note = "note: each of these 10 files holds one sample; `--columns run=@path.1` makes one run of them\n";
    assert!(text(&output.stderr).ends_with(note), "{}", text(&output.stderr));
    assert_eq!(score(&folder, "ids", &["--columns", "run=@path.1"]), Ok(vec![(0.7, 10)]));
}

#[test]
fn parts_of_file_names_are_runs_and_attempts() {
    let folder = Scratch::new();
    for (model, always) in [("small", false), ("large", true)] {
        for subject in ["law", "art"] {
            let rows = lines(|id, right| format!("{subject}{id},{}", u8::from(right || always)));
            folder.write(&format!("parts/{model}_{subject}.csv"), format!("id,score\n{rows}"));
        }
        for seed in 1..=2 {
            let rows = lines(|id, right| format!("q{id},{}", u8::from((right || always) && seed == 1)));
            folder.write(&format!("seeds/{model}_seed{seed}.csv"), format!("id,score\n{rows}"));
        }
    }
    assert_eq!(score(&folder, "parts", &["--columns", "run=@name.1"]), Ok(vec![(1.0, 20), (0.7, 20)]));
    assert_eq!(score(&folder, "seeds", &["--columns", "run=@name.1,epoch=@name.-1"]), Ok(vec![(0.5, 10), (0.35, 10)]));
    assert_eq!(
        score(&folder, "seeds", &["--columns", "run=@name.1", "--attempts-from", "files"]),
        Ok(vec![(0.5, 10), (0.35, 10)])
    );
}

#[test]
fn what_is_not_read_is_named_with_what_to_do() {
    for (name, content, words) in [
        ("r.db", &b"SQLite format 3\0"[..], "sqlite3 -header -csv r.db 'select * from TABLE' > results.csv"),
        ("r.xlsx", b"PK\x03\x04", "save its sheet as CSV"),
        ("r.feather", b"FEA1\0\0", "write the table as Parquet"),
        ("r.pkl", b"\x80\x04\x95", "write its records as JSON Lines"),
        ("plain.csv", b"q1,1\nq2,0\nq3,1\n", "`--columns 'id=column 1,score=column 2'`"),
        ("r.yaml", b"- id: a\n  score: 1\n", "yq -o=json . r.yaml > results.json"),
        ("r.html", b"<table><tr><td>a</td></tr></table>", "save its table as CSV"),
        ("doubled.csv", b"id,score,score\nq1,1,0\n", "`--columns score=score`"),
        (
            "summary.jsonl",
            b"{\"accuracy\": 0.9, \"total_count\": 10}\n{\"id\": \"a\", \"valid\": false}\n{\"id\": \"b\", \"valid\": false}\n",
            "the first line is not a record: the keys are accuracy, total_count",
        ),
        ("words.csv", b"id,score\na,maybe\nb,1\n", "`--label 'maybe=0.5'`"),
    ] {
        let folder = Scratch::with(name, content);
        let error = score(&folder, name, &[]).expect_err(name);
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn many_runs_have_a_line_each_and_all_figures_on_request() {
    let folder = Scratch::new();
    for step in 0..40 {
        let tasks: serde_json::Map<_, _> = ["piqa", "sciq", "wsc"]
            .iter()
            .map(|task| ((*task).to_owned(), json!({"acc": f64::from(step) / 40.0, "acc_stderr": 0.01})))
            .collect();
        let document = json!({"results": tasks, "versions": {}, "config": {"model": "m"}});
        folder.write(&format!("runs/step{step}.json"), document.to_string());
    }
    let shown = |flags: &[&str]| text(&calipers().run_in(&folder, &[&["score", "runs"], flags].concat()).stdout);
    let table = shown(&[]);
    assert!(table.starts_with("120 runs  lm-eval"), "{table}");
    assert!(table.lines().count() < 52, "{table}");
    let line =
        |name: &str| table.lines().position(|line| line.contains(name)).unwrap_or_else(|| panic!("{name}: {table}"));
    assert!(line("step2.json") < line("step10.json"), "in the order of numbers: {table}");
    assert!(table.contains("intervals from the recorded standard errors"), "{table}");
    let one = shown(&["--run", "sciq"]);
    assert!(one.starts_with("40 runs  lm-eval · sciq") && one.contains("0.225 [0.205, 0.245]"), "{one}");
    assert!(shown(&["--long"]).lines().count() > 300);
}
