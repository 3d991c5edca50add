//! Tables with something in them that is no sample, or that means something else here: none gives a wrong number without a word.

use crate::program::calipers;
use crate::strangers::{RIGHT, SEVEN, at_once, check, is, list, map, records, rows, score, with_advice, word};
use calipers_testing::{Scratch, text};
use serde_json::{Value as Json, json};

/// What is said about a file, with the words in one line.
fn said(name: &str, content: impl AsRef<[u8]>, flags: &[&str]) -> String {
    let folder = Scratch::with(name, content);
    let output = calipers().run_in(&folder, &[&["score", name], flags].concat());
    let said = text(&output.stdout) + &text(&output.stderr);
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn plain() -> String {
    rows("id,score", |id, right| format!("q{id},{right}"))
}

#[test]
fn summaries_below_a_table_are_no_samples() {
    let below = [
        ("accuracy.csv", "accuracy,0.7\n"),
        ("words.csv", "Mean accuracy,70%\n"),
        ("spread.csv", "mean,0.7\nstd,0.483\n"),
        ("described.csv", "count,10\nmean,0.7\nstd,0.483\nmin,0\n25%,0.25\n50%,1\n75%,1\nmax,1\n"),
        ("final.csv", "Final score,0.7\n"),
    ];
    for (name, below) in below {
        let folder = Scratch::with(name, plain() + below);
        let error = score(&folder, name, &[]).expect_err(name);
        let is_said = error.contains("it is not a sample") || error.contains("sum up the others");
        assert!(is_said, "{name}: {error}");
    }
    let lines = records(|id, right| json!({"id": format!("q{id}"), "score": right}));
    let folder = Scratch::with("final.jsonl", lines + "{\"id\": \"final\", \"accuracy\": 0.7, \"score\": 0.7}\n");
    assert!(score(&folder, "final.jsonl", &[]).expect_err("a summary").contains("it is not a sample"));
    // Names alone are no summaries, and where all scores are the same, any sample has their mean.
    let folder = Scratch::with("count.csv", plain() + "count,1\n");
    assert_eq!(score(&folder, "count.csv", &[]), Ok(vec![(0.727273, 11)]));
    let same = rows("id,score", |id, _| format!("q{id},1")) + "final,1\n";
    let folder = Scratch::with("same.csv", same);
    assert_eq!(score(&folder, "same.csv", &[]), Ok(vec![(1.0, 11)]));
}

#[test]
fn a_header_that_is_repeated_is_no_row() {
    let twice = plain() + &plain().replace('q', "p");
    let folder = Scratch::with("twice.csv", &twice);
    assert_eq!(score(&folder, "twice.csv", &[]), Ok(vec![(0.7, 20)]));
    let said = said("twice.csv", twice, &[]);
    assert!(said.contains("note: 1 line below the first repeats the names of the columns"), "{said}");
}

#[test]
fn columns_that_weigh_or_count_are_named() {
    let note = |name: &str| format!("`{name}` differs between records and weighs nothing: each record counts once");
    let tasks = "task_name,accuracy,n\nlaw,0.6,50\nart,0.2,500\nlogic,0.4,10\n";
    let said_of = said("tasks.csv", tasks, &["-m", "accuracy"]);
    assert!(said_of.contains("0.400") && said_of.contains(&note("n")), "{said_of}");
    for name in ["weight", "Sample Weight", "count", "num_samples"] {
        let table = rows(&format!("id,score,{name}"), |id, right| format!("q{id},{right},{}", 1 + id % 3));
        let said_of = said("r.csv", &table, &["-m", "accuracy"]);
        assert!(said_of.contains(&note(name)), "{name}: {said_of}");
        let parquet = Scratch::with("r.csv", table);
        let output = calipers().run_in(&parquet, &["convert", "r.csv", "--to", "parquet", "--output", "r.parquet"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        // Metadata of a table that we wrote has its names.
        let said_of = text(&calipers().run_in(&parquet, &["score", "r.parquet", "-m", "accuracy"]).stdout);
        assert!(said_of.contains("0.700"), "{said_of}");
    }
    // What is the same for all weighs nothing in any case.
    let same = rows("id,score,weight", |id, right| format!("q{id},{right},2"));
    assert!(!said("same.csv", same, &[]).contains("weighs nothing"));
}

#[test]
fn letters_that_may_mean_something_else_are_named() {
    let letters = |words: [&'static str; 2]| rows("id,score", |id, right| format!("q{id},{}", word(right, words)));
    let said_of = said("pn.csv", letters(["N", "P"]), &[]);
    assert!(said_of.contains("the score `P` counts as 0.5 unless it is given another number"), "{said_of}");
    let said_of = said("pf.csv", letters(["F", "P"]), &[]);
    let wanted = "`--label 'F=0' --label 'P=0.5'`; `P` counts as 0.5 by itself";
    assert!(said_of.contains(wanted), "{said_of}");
    let given = said("pf.csv", letters(["F", "P"]), &["--label", "F=0", "--label", "P=1", "-m", "accuracy"]);
    assert!(given.contains("0.700"), "{given}");
    // Grades of a well-known benchmark: A is right, B is wrong, and C is no answer.
    let grades = rows("problem,grade", |id, _| format!("p{id},{}", ["A", "B", "C"][id % 3]));
    let said_of = said("grades.csv", grades, &["--columns", "id=problem,score=grade"]);
    assert!(said_of.contains("`C` counts as 1 by itself"), "{said_of}");
    // Ours are not in doubt.
    let ours = rows("id,score", |id, _| format!("q{id},{}", ["C", "I", "P"][id % 3]));
    assert!(!said("ours.csv", ours, &[]).contains("counts as"));
}

#[test]
fn every_word_that_is_no_score_is_named_at_once() {
    for (name, words, wanted) in [
        ("ok.csv", ["nok", "ok"], "scores `ok`, `nok` are not numbers or known labels"),
        ("ok.csv", ["nok", "ok"], "`--label 'ok=1' --label 'nok=0'`"),
        ("won.csv", ["model_b", "model_a"], "`--label 'model_a=NUMBER' --label 'model_b=NUMBER'`"),
        ("dash.csv", ["-x", "1"], "`--label='-x=NUMBER'`"),
    ] {
        let table = rows("id,score", |id, right| format!("q{id},{}", word(right, words)));
        let said_of = said(name, table, &[]);
        assert!(said_of.contains(wanted), "{name}: {said_of}");
    }
}

#[test]
fn answers_that_are_almost_right_are_counted() {
    let table = rows("id,predicted,actual", |id, right| {
        format!("q{id},{},{}", word(right, ["Rome", "Paris"]), if id == 0 { "paris." } else { "Paris" })
    });
    let said_of = said("answers.csv", table, &["-m", "accuracy"]);
    let wanted = "1 answer differs from `actual` only in capitals, blanks or punctuation, and counts as wrong";
    assert!(said_of.contains(wanted) && said_of.contains("0.600"), "{said_of}");
}

#[test]
fn what_names_attempts_or_differs_by_sample_splits_no_run() {
    for name in ["variant", "submission", "experiment", "candidate", "engine", "agent", "config_name"] {
        // Another name for each attempt.
        let attempts = rows(&format!("id,{name},score"), |id, right| {
            format!("q{id},v{},{right}\nq{id},v{},{right}", 2 * id, 2 * id + 1)
        });
        check(vec![at_once("attempts.csv", &attempts, SEVEN)]);
        let said_of = said("attempts.csv", attempts, &[]);
        assert!(said_of.contains(&format!("`{name}` has another value in each attempt")), "{said_of}");
        // Another value for each sample, as metadata, and the same for all.
        let metadata = rows(&format!("id,{name},score"), |id, right| format!("q{id},v{},{right}", id % 3));
        check(vec![at_once("metadata.csv", &metadata, SEVEN)]);
        let said_of = said("metadata.csv", metadata, &[]);
        assert!(said_of.contains(&format!("`{name}` has several values, whose samples differ")), "{said_of}");
        let same = rows(&format!("id,{name},score"), |id, right| format!("q{id},x,{right}\nq{id},x,{right}"));
        check(vec![at_once("same.csv", same, SEVEN)]);
    }
    // Scores by two metrics are not taken for one without a word, even if no sample has both.
    let metrics =
        rows(
            "id,metric,value",
            |id, right| {
                if id < 5 { format!("q{id},acc,{right}") } else { format!("q{id},bleu,{}", 30 + id) }
            },
        );
    let said_of = said("metrics.csv", metrics, &["-m", "mean"]);
    assert!(said_of.contains("`metric` has several values, whose samples differ"), "{said_of}");
}

#[test]
fn scores_by_kind_are_told_apart() {
    for name in ["dimension", "aspect", "score_type", "rubric"] {
        let table = rows(&format!("id,{name},score"), |id, right| format!("q{id},clarity,{right}\nq{id},depth,0.5"));
        check(vec![at_once("kinds.csv", table, &[(0.7, 10), (0.5, 10)])]);
    }
}

#[test]
fn proposals_neither_leave_out_models_nor_take_counts_for_scores() {
    let by_model = |flip: bool| map(|id, right| (format!("q{id}"), json!({"correct": is(right) != flip})));
    let halves = |from: usize, to: usize| -> Json {
        Json::Object((from..to).map(|id| (format!("t{id}"), json!(RIGHT[id]))).collect())
    };
    let evalplus = |_: usize, right: u8| json!({"nfiles": 1, "base": [[word(right, ["failed", "success"]), [true]]]});
    check(vec![
        with_advice(
            "models.json",
            json!({"small": by_model(false), "large": by_model(true)}),
            "records=*.*,run=^@key,score=correct",
            &[(0.7, 10), (0.3, 10)],
        ),
        // Different tasks below two keys are those of one run.
        with_advice("apps.json", json!({"chrome": halves(0, 5), "gimp": halves(5, 10)}), "records=*.*", SEVEN),
        with_advice(
            "evalplus.json",
            json!({"eval": map(|id, right| (format!("HumanEval/{id}"), evalplus(id, right)))}),
            "records=eval,score=base[][0]",
            SEVEN,
        ),
        with_advice(
            "epochs.csv",
            rows("id,epoch_1_score,epoch_2_score", |id, right| format!("q{id},{right},1")),
            "id=id,score=epoch_*_score,epoch=*",
            &[(0.85, 10)],
        ),
        with_advice(
            "two_ids.csv",
            rows("task_id,question_id,correct", |id, right| format!("t{},{},{right}", id / 5, id % 5)),
            "id=task_id+question_id",
            SEVEN,
        ),
        with_advice(
            "gaia.jsonl",
            records(
                |id, right| json!({"task_id": format!("g{id}"), "model_answer": word(right, ["5", "4"]), "final_answer": "4"}),
            ),
            "id=task_id,predicted=model_answer,actual=final_answer",
            SEVEN,
        ),
        with_advice(
            "rows.json",
            list(|id, right| json!([format!("q{id}"), right])),
            "records=.,id=@value[0],score=@value[1]",
            SEVEN,
        ),
        with_advice(
            "simpleqa.csv",
            rows("metadata,problem,verdict", |id, right| {
                format!("\"{{'topic': 'x', 'n': None}}\",p{id},{}", word(right, ["INCORRECT", "CORRECT"]))
            }),
            "id=problem,score=verdict",
            SEVEN,
        ),
        at_once("sep.csv", format!("\"sep=;\"\n{}", plain().replace(',', ";")), SEVEN),
        at_once(
            "listed.json",
            json!({"question_id": list(|id, _| json!(id)), "is_correct": list(|_, right| json!(is(right)))}),
            SEVEN,
        ),
    ]);
    for (name, table) in [
        ("tallies.csv", "category,passed,failed\nlaw,30,20\nart,10,40\n".to_owned()),
        (
            "turned.csv",
            format!(
                "id,{}\nscore,{}\n",
                (0..10).map(|id| format!("q{id}")).collect::<Vec<_>>().join(","),
                RIGHT.map(|right| right.to_string()).join(",")
            ),
        ),
    ] {
        let folder = Scratch::with(name, table);
        let error = score(&folder, name, &[]).expect_err(name);
        assert!(error.contains("none of them looks like the score of a sample"), "{name}: {error}");
    }
}

#[test]
fn a_folder_per_sample_is_proposed_as_one_run() {
    let folder = Scratch::new();
    for (id, right) in RIGHT.iter().enumerate() {
        folder.write(&format!("runs/t{id}/result.json"), json!({"reward": right, "steps": 4}).to_string());
    }
    let error = score(&folder, "runs/t1/result.json", &[]).expect_err("nothing names the sample");
    assert!(error.contains("`--columns score=reward,id=@folder,run=@path.-3`"), "{error}");
    assert_eq!(score(&folder, "runs", &["--columns", "score=reward,id=@folder,run=@path.-3"]), Ok(SEVEN.to_vec()));
}

#[test]
fn what_is_packed_or_no_table_is_named() {
    for (name, content, wanted) in [
        (
            "r.csv.bz2",
            &b"BZh91AY&SY...."[..],
            "compressed by bzip2, which is not read hint: unpack it: `bunzip2 r.csv.bz2`",
        ),
        ("r.csv.xz", b"\xfd7zXZ\0....", "`unxz r.csv.xz`"),
        ("r.ipynb", b"{\"cells\": [], \"metadata\": {}}", "the file is a notebook, which is not read"),
        ("r.txt", b"id score\nq1 1\nq2 0\n", "commas, semicolons, tabs or bars are between the cells"),
    ] {
        let said_of = said(name, content, &[]);
        let said_of = said_of.replace(&format!("in {name} "), "");
        assert!(said_of.contains(wanted), "{name}: {said_of}");
    }
}

#[test]
fn lines_that_are_lists_are_rows_or_runs() {
    let lines = records(|id, right| json!([format!("q{id}"), right]));
    let record = |id: usize, right: u8| json!({"id": format!("q{id}"), "score": right});
    let part = |from: usize, to: usize| Json::from((from..to).map(|id| record(id, RIGHT[id])).collect::<Vec<_>>());
    let (first, second) = (list(record), list(|id, _| record(id, 1)));
    let both: &[(f64, u64)] = &[(0.7, 10), (1.0, 10)];
    const PARTS: &str = "records=[][],id=id,score=score";
    const RUNS: &str = "records=[][],id=id,run=@key,score=score";
    check(vec![
        // With names above them they are a table, and without them the places are named.
        at_once("rows.jsonl", format!("[\"id\", \"score\"]\n{lines}"), SEVEN),
        with_advice("plain.jsonl", lines, "records=.,id=@value[0],score=@value[1]", SEVEN),
        // Lists of records are parts of one table, unless they name the same samples.
        with_advice("parts.jsonl", format!("{}\n{}\n", part(0, 4), part(4, 10)), PARTS, SEVEN),
        with_advice("runs.json", format!("{first}\n{second}\n"), RUNS, both),
        with_advice("pretty.json", format!("{first:#}\n\n{second:#}\n"), RUNS, both),
        with_advice("nested.json", json!([first, second]), RUNS, both),
        with_advice("twice.jsonl", records(|id, right| json!([record(id, right), record(id, right)])), PARTS, SEVEN),
    ]);
    // Several values on one line are nothing of this.
    let folder = Scratch::with("line.json", format!("{first}{second}"));
    let error = score(&folder, "line.json", &[]).expect_err("two values");
    assert!(error.contains("put each on a line of its own"), "{error}");
}

#[test]
fn a_second_table_is_not_read_as_rows_of_the_first() {
    for (name, second, line) in [
        ("blank.csv", "\ncategory,accuracy\nlaw,0.5\n", 13),
        ("names.csv", "metric,value\naccuracy,0.7\n", 12),
        ("wider.csv", "id,score,latency_ms\np1,1,30\n", 12),
        ("cleared.csv", ",\ncategory,accuracy\nlaw,0.5\n", 13),
        ("title.csv", "\nModel B\nid,score\nq1,1\n", 13),
        ("windows.csv", "\r\ncategory,accuracy\r\nlaw,0.5\r\n", 13),
    ] {
        let content = plain() + second;
        let content = if name == "windows.csv" { content.replace("\r\n", "\n").replace('\n', "\r\n") } else { content };
        let folder = Scratch::with(name, &content);
        let error = score(&folder, name, &[]).expect_err(name);
        assert!(error.contains("another table seems to begin here"), "{name}: {error}");
        assert!(error.contains(&format!("in {name}, line {line}\n")), "{name}: {error}");
        // What it advises gives the figure.
        let above = content.lines().take(line - 1).map(|line| line.to_owned() + "\n").collect::<String>();
        assert!(error.contains(&format!("`head -n {} {name} > first.csv`", line - 1)), "{name}: {error}");
        let folder = Scratch::with(name, above);
        assert_eq!(score(&folder, name, &[]), Ok(SEVEN.to_vec()), "{name}");
    }
    // Rows without names below a blank line are read, and it is said.
    let said = said("rows.csv", plain() + "\nlaw,0.5\n", &[]);
    assert!(said.contains("note: line 12 is blank: what is below it counts as samples too"), "{said}");
    assert!(!self::said("end.csv", plain() + "\n\n,\n", &[]).contains("blank"));
}

#[test]
fn advice_that_is_followed_gives_no_other_number() {
    // A word that nothing is known of is not half right, and what a formula could not compute is missing.
    let words = |word: &str| {
        rows("id,score", |id, right| format!("q{id},{}", if id == 2 { word.to_owned() } else { right.to_string() }))
    };
    let folder = Scratch::with("timeout.csv", words("timeout"));
    assert!(score(&folder, "timeout.csv", &[]).expect_err("a word").contains("`--label 'timeout=NUMBER'`"));
    for word in ["#DIV/0!", "#VALUE!", "#REF!"] {
        let folder = Scratch::with("formula.csv", words(word));
        assert_eq!(score(&folder, "formula.csv", &[]), Ok(vec![(0.666667, 9)]), "{word}");
        assert!(said("formula.csv", words(word), &[]).contains("note: 1 score marked as not available"), "{word}");
    }
    // Blanks between thousands are nothing else.
    let folder = Scratch::with(
        "thousands.csv",
        rows("id;score", |id, right| format!("q{id};{}", word(right, ["200", "1 200"]))),
    );
    assert_eq!(score(&folder, "thousands.csv", &["-m", "mean"]), Ok(vec![(900.0, 10)]));
    // Several raters of an item are no further items.
    let ratings: String = (0..12).map(|place| format!("i{},r{},{}\n", place / 3, place % 3, 1 + place % 5)).collect();
    check(vec![with_advice(
        "raters.csv",
        format!("item,rater,rating\n{ratings}"),
        "id=item,score=rating",
        &[(2.75, 4)],
    )]);
    // What people write for no score.
    let minus = said("minus.csv", words("-1"), &[]);
    assert!(minus.contains("if the lowest stands for no score, write null there"), "{minus}");
    // Lists of attempts under our own name.
    let lists = records(|id, right| json!({"id": id, "score": [right, right]}));
    let folder = Scratch::with("lists.jsonl", &lists);
    assert!(score(&folder, "lists.jsonl", &[]).expect_err("a list").contains("--columns 'score=score[]'"));
    assert_eq!(score(&folder, "lists.jsonl", &["--columns", "score=score[]"]), Ok(SEVEN.to_vec()));
}

#[test]
fn tables_of_terminals_and_of_python_are_read_or_explained() {
    let frame = "+----+-------+\n";
    let body: String = RIGHT.iter().enumerate().map(|(id, right)| format!("| q{id} | {right}     |\n")).collect();
    check(vec![at_once("psql.txt", format!("{frame}| id | score |\n{frame}{body}{frame}"), SEVEN)]);
    let python: String =
        RIGHT.iter().enumerate().map(|(id, right)| format!("{{'id': 'q{id}', 'score': {right}}}\n")).collect();
    let folder = Scratch::with("print.txt", python);
    let error = score(&folder, "print.txt", &[]).expect_err("no JSON");
    assert!(error.contains("a printout of Python") && error.contains("json.dumps"), "{error}");
    // Two lines of names: the second alone has lost the models.
    let body: String = RIGHT.iter().enumerate().map(|(id, right)| format!("q{id},{right},1,{right},0\n")).collect();
    let folder = Scratch::with("groups.csv", format!(",a,a,b,b\nid,acc,f1,acc,f1\n{body}"));
    let error = score(&folder, "groups.csv", &[]).expect_err("two lines of names");
    assert!(error.contains("make one line of both"), "{error}");
}

#[test]
fn what_is_proposed_drops_nothing_and_names_what_is_worse() {
    // All columns of a kind, not the first few.
    let measures: Vec<String> =
        (0..8).map(|place| format!("{}_score", ["a", "b", "c", "d", "e", "f", "g", "h"][place])).collect();
    let folder = Scratch::with(
        "many.csv",
        rows(&format!("id,{}", measures.join(",")), |id, right| {
            format!("q{id},{}", vec![right.to_string(); 8].join(","))
        }),
    );
    let error = score(&folder, "many.csv", &[]).expect_err("eight measures");
    assert!(
        error.contains("score=*_score,run=*") || measures.iter().all(|name| error.contains(&format!("={name}"))),
        "{error}"
    );
    // Lists of tests below the numbers of problems are no scorers of one sample.
    let tests = map(|id, right| (id.to_string(), json!([[true, is(right)], [is(right), true]])));
    let folder = Scratch::with("tests.json", tests.to_string());
    let error = score(&folder, "tests.json", &[]).expect_err("unknown");
    assert!(!error.contains("score.0"), "{error}");
    // `win` is in `follow_instruction`, and says nothing of a score.
    let lines =
        records(|id, right| json!({"key": id, "follow_instruction_list": [true, is(right)], "follow_all": is(right)}));
    let spelt =
        records(|id, right| json!({"task_id": id, "model_answer": word(right, ["B", "A"]), "Final answer": "A"}));
    check(vec![
        with_advice("follow.jsonl", lines, "id=key,score=follow_all", SEVEN),
        with_advice("spelt.jsonl", spelt, "id=task_id,predicted=model_answer,actual=Final answer", SEVEN),
    ]);
    for name in ["failed", "is_error", "hallucinated"] {
        let folder =
            Scratch::with("worse.csv", rows(&format!("id,{name}"), |id, right| format!("q{id},{}", 1 - right)));
        let error = score(&folder, "worse.csv", &[]).expect_err(name);
        assert!(error.contains(&format!("the more `{name}`, the worse")), "{error}");
    }
    // Steps of an attempt are counted as attempts, and it is said.
    let step = |id: usize, right: u8| {
        (0..1 + id % 3)
            .map(|step| json!({"task_id": id, "step": step, "reward": right}).to_string() + "\n")
            .collect::<String>()
    };
    let steps: String = RIGHT.iter().enumerate().map(|(id, right)| step(id, *right)).collect();
    let said = said("steps.jsonl", steps, &[]);
    assert!(said.contains("note:") && said.contains("`step`"), "{said}");
}

#[test]
fn json_in_quotes_or_behind_something_else_is_no_table() {
    let line = |id: usize, right: u8| json!({"id": id, "score": right}).to_string();
    let all = |before: &str| {
        RIGHT.iter().enumerate().map(|(id, right)| format!("{before}{}\n", line(id, *right))).collect::<String>()
    };
    for (name, content, command) in [
        ("quoted.jsonl", records(|id, right| json!(line(id, right))), "jq -c fromjson quoted.jsonl"),
        ("App.log", all("INFO 12:00:01,123 "), "sed 's/^[^{]*//' App.log"),
        ("events.txt", all("data: "), "sed 's/^[^{]*//' events.txt"),
        ("sequence.json", all("\u{1e}"), "sed 's/^[^{]*//' sequence.json"),
    ] {
        let folder = Scratch::with(name, content);
        let error = score(&folder, name, &[]).expect_err(name);
        assert!(error.contains(command), "{name}: {error}");
    }
}

#[test]
fn attempts_that_are_named_by_a_word_are_metadata() {
    // The first hundred records have numbers.
    let lines = |id: &str, column: &str| -> String {
        let line = |place: usize, attempt: Json| {
            format!("{}\n", json!({id: format!("q{place}"), "score": RIGHT[place % 10], column: attempt}))
        };
        (0..150).map(|place| line(place, json!(1))).chain((0..10).map(|place| line(place, json!("again")))).collect()
    };
    let table = |column: &str| -> String {
        let row = |place: usize, attempt: &str| format!("q{place},{},{attempt}\n", RIGHT[place % 10]);
        let rows: String =
            (0..150).map(|place| row(place, "1")).chain((0..10).map(|place| row(place, "again"))).collect();
        format!("id,score,{column}\n{rows}")
    };
    for (name, content, column) in [
        ("own.jsonl", lines("id", "attempt"), "attempt"),
        ("other.jsonl", lines("question_id", "trial"), "trial"),
        ("own.csv", table("rollout"), "rollout"),
    ] {
        let folder = Scratch::with(name, &content);
        assert_eq!(score(&folder, name, &[]), Ok(vec![(0.7, 150)]), "{name}");
        let said = said(name, &content, &[]);
        assert!(said.contains("150 samples, 160 attempts"), "{said}");
        let row = if name.ends_with("csv") { 152 } else { 151 };
        let note =
            format!("note: `{column}` is no number in some records (first in line {row}), and names no attempts");
        assert!(said.contains(&note), "{said}");
        // As metadata, it can be asked for.
        let condition = format!("{column}=again");
        assert_eq!(score(&folder, name, &["--where", &condition]), Ok(vec![(0.7, 10)]), "{name}");
        // What is said to number attempts has to.
        let columns = format!("epoch={column}");
        let error = score(&folder, name, &["--columns", &columns]).expect_err(name);
        assert!(error.contains("not a whole number"), "{error}");
    }
    // Two scores of one attempt remain an error.
    let twice = "id,score,attempt\nq1,1,1\nq1,0,1\n";
    let folder = Scratch::with("twice.csv", twice);
    assert!(score(&folder, "twice.csv", &[]).is_err());
}

#[test]
fn dots_that_may_separate_thousands_are_noted() {
    let table = |low: &'static str| rows("id;score", |id, right| format!("q{id};{}", word(right, [low, "1.200"])));
    let said_of = said("thousands.csv", table("2.500"), &[]);
    assert!(said_of.contains("note: `1.200` of `score` is 1.2 here: if its dots separate thousands"), "{said_of}");
    // 0.500 is no thousand.
    assert!(!said("decimals.csv", table("0.500"), &[]).contains("thousands"));
}

#[test]
fn what_says_that_there_was_no_error_is_none() {
    for word in ["False", "nan", "None", "0", "N/A", "NULL", "no error", "-"] {
        let table = rows("id,score,error", |id, right| format!("q{id},{right},{word}"));
        let said_of = said("r.csv", table, &[]);
        assert!(said_of.contains("10 samples") && !said_of.contains("errored"), "{word}: {said_of}");
        let lines = records(|id, right| json!({"id": id, "score": right, "error": word}));
        let said_of = said("r.jsonl", lines, &[]);
        assert!(!said_of.contains("errored"), "{word}: {said_of}");
    }
    for none in [json!(0), json!([]), json!({}), json!(null), json!(false)] {
        let lines = records(|id, right| json!({"id": id, "score": right, "error": none}));
        assert!(!said("r.jsonl", lines, &[]).contains("errored"), "{none}");
    }
    for word in ["timeout", "True", "1"] {
        let table = rows("id,score,error", |id, right| format!("q{id},{right},{word}"));
        assert!(said("r.csv", table, &[]).contains("10 errored"), "{word}");
    }
}

#[test]
fn scores_of_one_column_are_written_in_one_way() {
    let error = |scores: [&str; 3], separator: char| {
        let rows: String = scores.iter().enumerate().map(|(id, score)| format!("q{id}{separator}{score}\n")).collect();
        said("r.csv", format!("id{separator}score\n{rows}"), &["-m", "mean"])
    };
    let mixed = error(["85%", "90", "70 %"], ',');
    assert!(mixed.contains("error: `85%` is a share of 1, and `90` in the same column is none"), "{mixed}");
    let mixed = error(["4/5", "3", "5"], ',');
    assert!(mixed.contains("error: `4/5` is a share of 1, and `3` in the same column is none"), "{mixed}");
    let dots = error(["0,500", "1.000", "0,250"], ';');
    let want = "error: `0,500` has a decimal comma, and the dot of `1.000` in the same column may separate thousands";
    assert!(dots.contains(want), "{dots}");
    // Shares beside shares, and a decimal comma beside one digit, mean one thing.
    assert!(error(["85%", "0.9", "1"], ',').contains("0.917"));
    assert!(error(["0,5", "0.5", "1"], ';').contains("0.667"));
    // Shares are read in JSON too.
    let lines = "{\"id\":1,\"score\":\"4/5\"}\n{\"id\":2,\"score\":\"85%\"}\n{\"id\":3,\"score\":\"0.6\"}\n";
    let folder = Scratch::with("r.jsonl", lines);
    assert_eq!(score(&folder, "r.jsonl", &[]), Ok(vec![(0.75, 3)]));
}

#[test]
fn marks_and_most_points_that_no_figure_uses_are_named() {
    let skipped = rows("id,score,skipped", |id, right| format!("q{id},{right},{}", word(right, ["True", "False"])));
    let said_of = said("r.csv", &skipped, &[]);
    let note = "`skipped` is true for some of the records, which count like the others: the condition `skipped=False` leaves \
                them out";
    assert!(said_of.contains(note), "{said_of}");
    let folder = Scratch::with("r.csv", &skipped);
    assert_eq!(score(&folder, "r.csv", &["--where", "skipped=False"]), Ok(vec![(1.0, 7)]));
    assert!(!said("r.csv", skipped, &["--where", "skipped=False"]).contains("leaves them out"));
    let valid = records(|id, right| json!({"id": id, "score": right, "is_valid": is(right)}));
    assert!(said("r.jsonl", valid, &[]).contains("`is_valid` is false for some of the records"));
    let bits = rows("id,score,exclude", |id, right| format!("q{id},{right},{}", 1 - right));
    assert!(said("r.csv", &bits, &[]).contains("the condition `exclude=0` leaves them out"));
    let folder = Scratch::with("r.csv", &bits);
    assert_eq!(score(&folder, "r.csv", &["--where", "exclude=0"]), Ok(vec![(1.0, 7)]));
    let points = rows("id,score,max_score", |id, right| format!("q{id},{right},{}", 5 + 5 * right));
    assert!(said("r.csv", points, &[]).contains("`max_score` differs between records, and no score is divided by it"));
    let same = rows("id,score,max_score,skipped", |id, right| format!("q{id},{right},1,False"));
    let said_of = said("r.csv", same, &[]);
    assert!(!said_of.contains("note:"), "{said_of}");
}

#[test]
fn a_total_of_totals_is_no_sample() {
    let folder = Scratch::with("r.csv", plain() + "law total,4\nart total,3\ngrand total,7\n");
    let error = score(&folder, "r.csv", &[]).expect_err("a summary");
    assert!(error.contains("3 records, `law total`, `art total`, `grand total`, sum up others"), "{error}");
}

/// `1.1` and `1.10` are different questions and the same number.
#[test]
fn a_number_with_a_fraction_is_no_id() {
    let folder = Scratch::with(
        "r.jsonl",
        "{\"id\": 1.1, \"score\": 1}\n{\"id\": 1.10, \"score\": 0}\n{\"id\": 2, \"score\": 1}\n",
    );
    let error = score(&folder, "r.jsonl", &[]).expect_err("an id that may be that of another");
    assert!(error.contains("not text or a whole number"), "{error}");
}

#[test]
fn right_answers_that_look_like_outcomes_are_noted() {
    let table = rows("id,predicted,correct", |id, right| {
        let gold = word((id % 2) as u8, ["no", "yes"]);
        let given = if right == 1 { gold } else { word(1 - (id % 2) as u8, ["no", "yes"]) };
        format!("q{id},{given},{gold}")
    });
    let said_of = said("r.csv", &table, &[]);
    let note = "`correct` is read as whether the answer is right; if it is the right answer, as `predicted` suggests, say \
                `predicted=predicted,actual=correct`";
    assert!(said_of.contains(note), "{said_of}");
    let folder = Scratch::with("r.csv", table);
    assert_eq!(score(&folder, "r.csv", &["--columns", "predicted=predicted,actual=correct"]), Ok(SEVEN.to_vec()));
    let outcome = rows("id,predicted,correct", |id, right| format!("q{id},yes,{}", word(right, ["False", "True"])));
    assert!(!said("r.csv", outcome, &[]).contains("suggests"));
}

#[test]
fn a_table_of_one_column_asks_what_names_the_samples() {
    let lines: String = RIGHT.iter().map(|right| format!("{right}\n")).collect();
    for (name, header, wanted) in [("a.csv", "score", "id=@line"), ("b.csv", "judged", "id=@line,score=judged")] {
        let folder = Scratch::with(name, format!("{header}\n{lines}"));
        let error = score(&folder, name, &[]).expect_err("no column names the samples");
        assert!(error.contains(&format!("with `--columns {wanted}`")), "{error}");
        assert_eq!(score(&folder, name, &["--columns", wanted]), Ok(SEVEN.to_vec()));
    }
}
