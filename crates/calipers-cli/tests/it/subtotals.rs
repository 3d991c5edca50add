//! Records between the others that are no samples: subtotals, and rows without a name. None counts as a sample without a word, and what
//! the errors propose works.

use crate::program::calipers;
use crate::strangers::{RIGHT, SEVEN, advice, records, rows, score};
use calipers_testing::{Scratch, text};
use serde_json::json;

/// What is said about a file, with the words in one line.
fn said(folder: &Scratch, file: &str, flags: &[&str]) -> String {
    let output = calipers().run_in(folder, &[&["score", file], flags].concat());
    let said = text(&output.stdout) + &text(&output.stderr);
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Four samples of maths, then a row; six of law, then another.
fn blocks(header: &str, row: impl Fn(usize, &str) -> String, between: [&str; 2]) -> String {
    let block = |from: usize, to: usize, name: &str| (from..to).map(|id| row(id, name) + "\n").collect::<String>();
    format!("{header}\n{}{}\n{}{}\n", block(0, 4, "math"), between[0], block(4, 10, "law"), between[1])
}

fn table(between: [&str; 2]) -> String {
    blocks("subject,id,score", |id, subject| format!("{subject},q{id},{}", RIGHT[id]), between)
}

/// The command in an error that begins with this, typed in a shell of the folder.
fn typed(folder: &Scratch, error: &str, start: &str) {
    let from = error.find(&format!("`{start}")).unwrap_or_else(|| panic!("no `{start}` in: {error}")) + 1;
    let command = error[from..].split('`').next().unwrap_or_default();
    let status = std::process::Command::new("sh").args(["-c", command]).current_dir(folder.join("")).status();
    assert!(status.is_ok_and(|status| status.success()), "{command}");
}

#[cfg(unix)]
#[test]
fn subtotals_between_samples_are_named_with_their_lines() {
    for between in [
        ["math,Total,3", "law,Total,4"],
        ["math,Total,0.75", "law,Total,0.667"],
        ["math,Subtotal,3", "law,Subtotal,4"],
        ["math,mean,75", "law,mean,66.7"],
        ["math,math average,0.75", "law,law average,0.667"],
        ["math,all,4", "law,all,6"],
        ["math,Math Total,3", "law,Law Total,4"],
    ] {
        let folder = Scratch::with("r.csv", table(between));
        let error = score(&folder, "r.csv", &[]).expect_err(between[0]);
        assert!(error.contains("not a sample") || error.contains("not samples"), "{between:?}: {error}");
        assert!(error.contains("lines 6 and 13"), "{between:?}: {error}");
        typed(&folder, &error, "sed ");
        assert_eq!(score(&folder, "samples.csv", &[]), Ok(SEVEN.to_vec()), "{between:?}");
        // If they are samples, that can be said.
        let flags = advice(&error);
        assert_eq!(flags, ["--columns", "id=@line+id"]);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        assert_eq!(score(&folder, "r.csv", &flags).map(|figures| figures[0].1), Ok(12), "{between:?}");
    }
    // One of them, and in JSON.
    let folder = Scratch::with("r.csv", table(["math,Total,3", "law,q10,1"]));
    let error = score(&folder, "r.csv", &[]).expect_err("a subtotal");
    assert!(error.contains("r.csv, line 6") && error.contains("`sed '6d' r.csv > samples.csv`"), "{error}");
    let line = |id: usize| format!("{}\n", json!({"id": format!("q{id}"), "score": RIGHT[id]}));
    let lines = (0..4).map(line).collect::<String>()
        + "{\"id\": \"Total\", \"score\": 3}\n"
        + &(4..10).map(line).collect::<String>();
    folder.write("r.jsonl", &lines);
    let error = score(&folder, "r.jsonl", &[]).expect_err("a subtotal");
    assert!(error.contains("r.jsonl, line 5") && error.contains("`sed '5d' r.jsonl > samples.jsonl`"), "{error}");
    typed(&folder, &error, "sed ");
    assert_eq!(score(&folder, "samples.jsonl", &[]), Ok(SEVEN.to_vec()));
    folder.write("r.json", format!("[{}]", lines.trim_end().replace('\n', ",\n")));
    let error = score(&folder, "r.json", &[]).expect_err("a subtotal");
    assert!(error.contains("r.json, at `[4]`") && error.contains("`jq 'del(.[4])' r.json > samples.json`"), "{error}");
}

#[cfg(unix)]
#[test]
fn subtotals_are_found_in_every_layout() {
    use serde_json::Value;
    let names = |at: usize| if at == 4 { "Total".to_owned() } else { format!("q{}", at - usize::from(at > 4)) };
    let scores = |at: usize| if at == 4 { 3 } else { RIGHT[at - usize::from(at > 4)] };
    let lines = |line: &dyn Fn(String, u8) -> String| -> String {
        (0..11).map(|at| line(names(at), scores(at)) + "\n").collect()
    };
    let list = || Value::from((0..11).map(|at| json!({"id": names(at), "score": scores(at)})).collect::<Vec<_>>());
    let map = || Value::Object((0..11).map(|at| (names(at), json!({"score": scores(at)}))).collect());
    let cells = |name: String, score: u8| format!("{name},{score}");
    let shapes = [
        ("tabs.tsv", lines(&|name, score| format!("{name}\t{score}")), "id\tscore\n", ", line 6", "sed '6d' tabs.tsv"),
        // A line above the names is a line of the file.
        (
            "sep.csv",
            lines(&|name, score| format!("{name};{score}")),
            "sep=;\nid;score\n",
            ", line 7",
            "sed '7d' sep.csv",
        ),
        ("my results.csv", lines(&cells), "id,score\n", ", line 6", "sed '6d' 'my results.csv'"),
        (
            "list.json",
            json!({"model": "m", "results": list()}).to_string(),
            "",
            "at `results[4]`",
            "jq 'del(.results|.[4])' list.json",
        ),
        (
            "map.json",
            json!({"results": map()}).to_string(),
            "",
            "row 5",
            "jq 'del(.results|.[keys_unsorted[4]])' map.json",
        ),
        ("outer.json", map().to_string(), "", "row 5", "jq 'del(.[keys_unsorted[4]])' outer.json"),
    ];
    for (file, content, header, place, command) in shapes {
        let folder = Scratch::with(file, format!("{header}{content}"));
        let error = score(&folder, file, &[]).expect_err(file);
        assert!(error.contains(place) && error.contains(&format!("`{command} > samples.")), "{file}: {error}");
        if command.starts_with("sed") {
            typed(&folder, &error, "sed ");
            let rest = format!("samples.{}", file.rsplit('.').next().unwrap());
            assert_eq!(score(&folder, &rest, &[]), Ok(SEVEN.to_vec()), "{file}");
        }
    }
    // Cells that were merged are no subtotals.
    let merged =
        rows("id,score", |id, right| format!("{},{right}", if id % 2 == 0 { format!("q{id}") } else { String::new() }));
    let folder = Scratch::with("merged.csv", merged);
    let error = score(&folder, "merged.csv", &[]).expect_err("cells without a name");
    assert!(error.contains("if cells were merged, fill in each") && !error.contains("sed"), "{error}");
}

#[test]
fn a_sample_may_have_the_name_of_a_summary() {
    let folder = Scratch::with("r.csv", table(["math,all,1", "law,q10,1"]));
    assert_eq!(score(&folder, "r.csv", &[]), Ok(vec![(0.75, 12)]));
    let said = said(&folder, "r.csv", &[]);
    assert!(
        said.contains("note: the name of a record, `all`, is that of a summary: it was read as a sample"),
        "{said}"
    );
    // A question is no summary.
    folder.write("questions.csv", table(["math,What is the sum of the mean and the total,0.75", "law,q10,1"]));
    assert_eq!(score(&folder, "questions.csv", &[]), Ok(vec![(0.729167, 12)]));
    // A model is a run, whatever it is called.
    let models = rows("id,model,score", |id, right| format!("q{id},all,{right}\nq{id},average,0"));
    folder.write("models.csv", models);
    assert_eq!(score(&folder, "models.csv", &[]), Ok(vec![(0.7, 10), (0.0, 10)]));
}

#[cfg(unix)]
#[test]
fn rows_without_a_name_are_named_with_their_lines() {
    let folder = Scratch::with("r.csv", table(["math,,0.75", "law,,0.667"]));
    for (file, content, column) in [
        ("r.csv", table(["math,,0.75", "law,,0.667"]), "id"),
        ("k.csv", table(["math,,3", "Total,,4"]).replace(",id,score", ",question_id,is_correct"), "question_id"),
    ] {
        folder.write(file, content);
        let error = score(&folder, file, &[]).expect_err(file);
        assert!(error.contains(&format!("2 records have no `{column}`: lines 6 and 13")), "{error}");
        typed(&folder, &error, "sed ");
        assert_eq!(score(&folder, "samples.csv", &[]), Ok(SEVEN.to_vec()), "{file}");
        let flags = advice(&error);
        assert_eq!(flags, ["--columns", "id=@line"]);
        std::fs::remove_file(folder.join("samples.csv")).unwrap();
    }
    let empty =
        rows("id,score", |id, right| format!("{},{right}", if id == 3 { String::new() } else { format!("q{id}") }));
    folder.write("one.csv", empty);
    let error = score(&folder, "one.csv", &[]).expect_err("one without a name");
    assert!(error.contains("`id` is empty") && error.contains("one.csv, line 5"), "{error}");
    folder.write(
        "r.jsonl",
        records(|id, right| if id < 2 { json!({"score": right}) } else { json!({"id": id, "score": right}) }),
    );
    let error = score(&folder, "r.jsonl", &[]).expect_err("no `id`");
    assert!(error.contains("2 records have no `id`: lines 1 and 2"), "{error}");
}

#[cfg(unix)]
#[test]
fn rows_that_are_known_by_their_lines_are_no_subtotals() {
    // A proposal for a column that is empty in subtotals says so, and works without them.
    let content = table(["Total,,3", "Total,,4"]).replace(",id,score", ",question,score");
    let folder = Scratch::with("r.csv", content);
    let error = score(&folder, "r.csv", &[]).expect_err("the id is not known");
    assert_eq!(advice(&error), ["--columns", "id=question,score=score"]);
    typed(&folder, &error, "sed ");
    assert_eq!(score(&folder, "samples.csv", &["--columns", "id=question,score=score"]), Ok(SEVEN.to_vec()));
    // With nothing but lines to name them, what stands in the rows tells.
    for between in [["Total,3", "Total,4"], ["Total,0.75", "Total,0.667"]] {
        let content = blocks("subject,score", |id, subject| format!("{subject},{}", RIGHT[id]), between);
        let folder = Scratch::with("r.csv", content);
        let error = score(&folder, "r.csv", &[]).expect_err("the id is not known");
        assert_eq!(advice(&error), ["--columns", "id=@line,score=score"]);
        assert!(error.contains("lines 6 and 13"), "{error}");
        let error = score(&folder, "r.csv", &["--columns", "id=@line,score=score"]).expect_err("subtotals");
        assert!(error.contains("not samples (lines 6 and 13)"), "{error}");
        typed(&folder, &error, "sed ");
        assert_eq!(score(&folder, "samples.csv", &["--columns", "id=@line,score=score"]), Ok(SEVEN.to_vec()));
        let flags = advice(&error);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        assert_eq!(score(&folder, "r.csv", &flags).map(|figures| figures[0].1), Ok(12), "{between:?}");
    }
    // What only lacks a name is counted, and said to be.
    let content = table(["math,,1", "law,,0"]).replace(",id,score", ",question,score");
    let folder = Scratch::with("r.csv", content);
    let said = said(&folder, "r.csv", &["--columns", "id=@line,score=score"]);
    assert!(
        said.contains("note: `question` is empty in 2 records and names all others: all count as samples"),
        "{said}"
    );
}

#[test]
fn bare_outcomes_below_a_key_are_samples() {
    let outcomes = [
        json!(RIGHT),
        json!(RIGHT.map(|right| right == 1)),
        json!(RIGHT.map(|right| ["fail", "pass"][usize::from(right)])),
    ];
    for outcomes in outcomes {
        for (document, records) in [
            (json!({"results": outcomes}), "results"),
            (json!({"model": "m", "accuracy": 0.7, "scores": outcomes}), "scores"),
            (json!({"model": "m", "eval": {"name": "x", "correct": outcomes}}), "eval.correct"),
        ] {
            let folder = Scratch::with("r.json", document.to_string());
            let error = score(&folder, "r.json", &[]).expect_err(records);
            let flags = advice(&error);
            assert!(flags[1].starts_with(&format!("records={records},id=@index")), "{error}");
            let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            assert_eq!(score(&folder, "r.json", &flags), Ok(SEVEN.to_vec()), "{flags:?}");
        }
    }
    // Attempts are no samples.
    let folder = Scratch::with("r.json", json!({"task": "t", "attempts": RIGHT}).to_string());
    let error = score(&folder, "r.json", &[]).expect_err("attempts");
    let flags = advice(&error);
    assert!(flags[1].contains("score=attempts[]"), "{error}");
}

#[test]
fn numbered_attempts_are_attempts_wherever_their_outcome_stands() {
    let both = |right: u8| json!({"attempt_1": {"answer": [[1]], "correct": right == 1}, "attempt_2": {"answer": [[2]], "correct": false}});
    let lines = records(|id, right| {
        let mut record = both(right);
        record["task_id"] = json!(format!("t{id}"));
        record
    });
    let map = serde_json::Value::Object(
        RIGHT.iter().enumerate().map(|(id, right)| (format!("t{id}"), both(*right))).collect(),
    );
    for (file, content, columns) in [
        ("arc.jsonl", lines, "id=task_id,score=attempt_*.correct,epoch=*"),
        ("arc.json", map.to_string(), "records=.,score=attempt_*.correct,epoch=*"),
    ] {
        let folder = Scratch::with(file, content);
        let error = score(&folder, file, &[]).expect_err(file);
        assert_eq!(advice(&error), ["--columns", columns], "{error}");
        let flags = ["--columns", columns, "--reducer", "pass_at_2"];
        assert_eq!(score(&folder, file, &flags), Ok(SEVEN.to_vec()), "{file}");
    }
}

#[test]
fn nested_columns_of_parquet_and_arrow_are_found_by_their_paths() {
    let seven = (0.7, 10);
    for (columns, want) in [
        ("id=task,score=info.reward", vec![seven]),
        ("id=task,score=info.judge.verdict", vec![seven]),
        ("id=task,score=trials[]", vec![(0.466667, 10)]),
        ("id=task,score=trials[0]", vec![seven]),
        ("id=task,score=pair[]", vec![(0.5, 10)]),
        ("id=task,score=runs[].reward,epoch=runs[].seed", vec![(0.35, 10)]),
        ("id=task,score=runs[1].reward", vec![(0.0, 10)]),
        ("id=task,score.*=criteria[name].met", vec![seven]),
        ("id=task,score=models.*,run=*", vec![seven, (0.3, 10)]),
        ("id=task,score=by_model.*,run=*", vec![seven, (0.3, 10)]),
        ("id=task,score=by_model.small", vec![seven]),
        ("id=task,score=partly.reward", vec![(0.75, 8)]),
    ] {
        for file in ["parquet/nested.parquet", "arrow/nested.arrow", "arrow/nested_stream.arrow"] {
            let path = std::path::Path::new(calipers_testing::ROOT).join("testdata/formats").join(file);
            let folder = Scratch::with("none", "");
            let found = score(&folder, &path.to_string_lossy(), &["--columns", columns]);
            assert_eq!(found, Ok(want.clone()), "{columns} {file}");
        }
    }
}

#[test]
fn columns_that_sum_up_others_are_no_runs() {
    let mean = |id: usize, right: u8| f64::from(right + (id % 2) as u8) / 2.0;
    let table = rows("problem,run_1,run_2,mean", |id, right| format!("p{id},{right},{},{}", id % 2, mean(id, right)));
    let folder = Scratch::with("runs.csv", table);
    let error = score(&folder, "runs.csv", &[]).expect_err("nothing is known of it");
    assert_eq!(advice(&error), ["--columns", "id=problem,score=run_*,epoch=*"]);
    let table =
        rows("question,small,large,average", |id, right| format!("p{id},{right},{},{}", id % 2, mean(id, right)));
    folder.write("models.csv", table);
    let error = score(&folder, "models.csv", &[]).expect_err("nothing is known of it");
    assert_eq!(advice(&error), ["--columns", "id=question,score={small,large},run=*"]);
    // A model may have such a name.
    let table = rows("question,small,average", |id, right| format!("p{id},{right},{}", id % 2));
    folder.write("named.csv", table);
    let error = score(&folder, "named.csv", &[]).expect_err("nothing is known of it");
    assert_eq!(advice(&error), ["--columns", "id=question,score={small,average},run=*"]);
}

#[test]
fn lines_that_stand_for_samples_are_no_names_across_files() {
    let table = |ids: &mut dyn Iterator<Item = usize>| -> String {
        let row = |id: usize| format!("what is {id}?,c{},{}\n", id % 2, RIGHT[id % 10]);
        format!("prompt,category,correct\n{}", ids.map(row).collect::<String>())
    };
    let folder = Scratch::with("new.csv", table(&mut (0..40)));
    folder.write("old.csv", table(&mut (0..40).rev()));
    let said = |flags: &[&str]| {
        let output = calipers().run_in(&folder, &[&["compare", "new.csv", "old.csv", "--columns"], flags].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let by_line = said(&["id=@line,score=correct"]);
    let caveat = "samples are matched by their lines, which holds only for files in the same order: `category` differs for 40 of 40";
    assert!(by_line.contains(caveat), "{by_line}");
    let by_name = said(&["id=prompt,score=correct"]);
    assert!(!by_name.contains("matched by their lines") && by_name.contains("still passing 28"), "{by_name}");
}
