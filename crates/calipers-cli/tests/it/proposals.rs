//! What is proposed for tables of tools and people: it works when it is typed, leaves nothing out, and takes no figure for a sample.

use crate::program::calipers;
use crate::strangers::{RIGHT, SEVEN, advice, at_once, check, is, list, map, records, rows, score, with_advice, word};
use calipers_testing::{Scratch, text};
use serde_json::json;

const TWO: &[(f64, u64)] = &[(0.7, 10), (0.3, 10)];

/// What is said about a file, with the words in one line.
fn said(name: &str, content: impl AsRef<[u8]>) -> String {
    let folder = Scratch::with(name, content);
    let output = calipers().run_in(&folder, &["score", name]);
    let said = text(&output.stdout) + &text(&output.stderr);
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn models_in_texts_that_hold_maps_are_told_apart() {
    let both = |config: &dyn Fn(&str) -> serde_json::Value| -> String {
        ["a", "b"]
            .iter()
            .map(|model| {
                records(|id, right| {
                    json!({"id": format!("q{id}"), "score": if *model == "a" { right } else { 1 - right }, "config": config(model)})
                })
            })
            .collect()
    };
    check(vec![
        at_once("text.jsonl", both(&|model| json!(format!("{{\"model\": \"{model}\"}}"))), TWO),
        at_once("python.jsonl", both(&|model| json!(format!("{{'model': '{model}', 'seed': None}}"))), TWO),
        at_once("map.jsonl", both(&|model| json!({"model": model})), TWO),
    ]);
    // A path that is typed goes into them too.
    let answers = records(|id, right| json!({"id": id, "result": format!("{{\"correct\": {}}}", is(right))}));
    let folder = Scratch::with("answers.jsonl", answers);
    assert_eq!(score(&folder, "answers.jsonl", &["--columns", "score=result.correct"]), Ok(SEVEN.to_vec()));
}

#[test]
fn lists_of_scores_with_names_are_scorers() {
    let named = |right: u8| json!([{"name": "right", "value": right}, {"name": "tone", "value": 1}]);
    check(vec![
        with_advice(
            "scores.jsonl",
            records(|id, right| json!({"id": format!("q{id}"), "scores": named(right)})),
            "id=id,score.*=scores[name].value",
            SEVEN,
        ),
        with_advice(
            "attempts.jsonl",
            records(|id, right| json!({"id": format!("q{id}"), "scores": [right, right]})),
            "id=id,score=scores[]",
            SEVEN,
        ),
        // One grader with two measures is no pair of runs.
        with_advice(
            "graders.jsonl",
            records(
                |id, right| json!({"id": format!("i{id}"), "results": [{"name": "check", "passed": is(right), "score": right}]}),
            ),
            "id=id,score.*=results[name].passed",
            SEVEN,
        ),
    ]);
}

#[test]
fn measures_with_blanks_in_their_names_are_all_proposed() {
    check(vec![with_advice(
        "feedback.csv",
        rows("record_id,input,Answer Relevance,Groundedness,latency", |id, right| format!("r{id},i{id},{right},1,2.5")),
        "id=record_id,score.Answer_Relevance=Answer Relevance,score.Groundedness=Groundedness",
        SEVEN,
    )]);
}

#[test]
fn who_judged_is_no_score_and_what_was_asked_is_the_sample() {
    let judged = records(
        |id, right| json!({"question_id": format!("q{id}"), "judge": "large", "winner": word(right, ["small", "big"])}),
    );
    let folder = Scratch::with("judged.jsonl", judged);
    let error = score(&folder, "judged.jsonl", &[]).expect_err("no score is known");
    assert_eq!(advice(&error)[1], "id=question_id,score=winner", "{error}");
    let asked: String = ["a", "b"]
        .iter()
        .map(|model| {
            records(|id, right| {
                let right = if *model == "a" { right } else { 1 - right };
                json!({"uuid": format!("{model}-{id}"), "question": format!("What is {id}?"), "model": model, "correct": is(right)})
            })
        })
        .collect();
    check(vec![with_advice("asked.jsonl", asked, "id=question,score=correct", TWO)]);
}

#[test]
fn figures_are_no_samples() {
    let said_of = said("metrics.csv", "metric,value,stderr\naccuracy,0.65,0.1\nf1,0.6,0.1\nbleu,30.1,1\n");
    assert!(said_of.contains("each row is about a `metric`, not about a sample"), "{said_of}");
    let said_of = said("metrics.json", json!({"metrics": {"accuracy": 0.65, "stderr": 0.1}}).to_string());
    assert!(said_of.contains("none of them looks like the score of a sample"), "{said_of}");
    let tasks = "task_name,accuracy,acc_stderr\nlaw,0.6,0.01\nart,0.2,0.02\nlogic,0.4,0.01\n";
    let said_of = said("tasks.csv", tasks);
    assert!(said_of.contains("`acc_stderr` seems to be the error of a figure: each record counts as one"), "{said_of}");
    // A sample in a file of its own is still proposed.
    let said_of = said("q7.json", json!({"passed": true, "elapsed": 1.2}).to_string());
    assert!(said_of.contains("id=@stem,score=passed"), "{said_of}");
}

#[test]
fn errors_beside_scores_below_a_key_do_not_hide_the_proposal() {
    let broken = records(|id, right| match id {
        0 => json!({"id": "q0", "result": null, "error": "timeout"}),
        _ => json!({"id": format!("q{id}"), "result": {"score": right}, "error": null}),
    });
    check(vec![with_advice("broken.jsonl", broken, "id=id,score=result.score", &[(0.666667, 9)])]);
    // A run without an attempt that ended says what went wrong with it.
    let all = records(|id, _| json!({"id": format!("q{id}"), "error": "timeout"}));
    let said_of = said("all.jsonl", all);
    assert!(said_of.contains("10 errored"), "{said_of}");
}

#[test]
fn words_that_are_no_outcome_are_not_proposed_as_failures() {
    let table =
        rows("id,score", |id, right| format!("q{id},{}", if id == 0 { "ERROR".into() } else { right.to_string() }));
    let said_of = said("errors.csv", table);
    let wanted =
        "`--label 'ERROR=NUMBER'`, or score it C, I, P or N; where there was no outcome, leave the score empty";
    assert!(said_of.contains(wanted), "{said_of}");
    let quoted = rows("'id','score'", |id, right| format!("'q{id}','{right}'"));
    let said_of = said("quoted.csv", quoted.replace("'id','score'", "id,score"));
    assert!(said_of.contains("put the cells in double quotes or in none"), "{said_of}");
}

#[test]
fn yes_and_no_may_be_letters() {
    let letters = |words: [&'static str; 2]| rows("id,score", |id, right| format!("q{id},{}", word(right, words)));
    check(vec![
        at_once("large.csv", letters(["N", "Y"]), SEVEN),
        at_once("small.csv", letters(["n", "y"]), SEVEN),
        at_once("flag.csv", letters(["N", "Y"]).replacen("score", "correct", 1), SEVEN),
    ]);
    // Beside other letters they may mean something else.
    let said_of = said("xy.csv", letters(["x", "y"]));
    assert!(said_of.contains("`--label 'x=NUMBER' --label 'y=1'`; `y` counts as 1 by itself"), "{said_of}");
}

#[test]
fn lines_of_a_table_are_counted_with_either_line_end() {
    for end in ["\n", "\r\n"] {
        let table = format!("{}q0,1,0\n", rows("id,epoch,score", |id, right| format!("q{id},1,{right}")));
        let said_of = said("table.csv", table.replace('\n', end));
        assert!(said_of.contains("(line 2) and `0` (line 12) in table.csv, line 12"), "{said_of}");
        let said_of = said(
            "blank.csv",
            format!("{}\np0,1\n", rows("id,score", |id, right| format!("q{id},{right}"))).replace('\n', end),
        );
        assert!(said_of.contains("line 12 is blank"), "{said_of}");
    }
}

#[test]
fn a_note_on_several_models_says_how_to_tell_them_apart() {
    let table = rows("id,model,score", |id, right| format!("q{id},m{},{right}", id % 2));
    let said_of = said("models.csv", table);
    assert!(
        said_of.contains("whose samples differ: all are one run here, and `run=model` tells them apart"),
        "{said_of}"
    );
}

#[test]
fn no_model_is_left_out_of_a_proposal() {
    let questions =
        |flip: bool| list(|id, right| json!({"id": format!("q{id}"), "score": if flip { 1 - right } else { right }}));
    let by_seed = |flip: bool| json!({"seed1": questions(flip), "seed2": questions(flip)});
    let by_prompt = |flip: bool| json!({"short": questions(flip), "long": questions(!flip)});
    let answer = |right: u8| json!({"grade": word(right, ["B", "A"]), "ok": is(right)});
    check(vec![
        with_advice(
            "seeds.json",
            json!({"small": by_seed(false), "large": by_seed(true)}),
            "records=*.*[],id=id,run=^@key,score=score",
            TWO,
        ),
        with_advice(
            "prompts.json",
            json!({"small": by_prompt(false), "large": by_prompt(true)}),
            "records=*.*[],id=id,run=^@key+@key,score=score",
            &[(0.7, 10), (0.3, 10), (0.3, 10), (0.7, 10)],
        ),
        with_advice(
            "responses.jsonl",
            records(
                |id, right| json!({"question": {"id": id}, "responses": {"small": answer(right), "large": answer(1 - right)}}),
            ),
            "id=question.id,score=responses.*.ok,run=*",
            TWO,
        ),
        with_advice(
            "flags.jsonl",
            records(|id, right| json!({"id": id, "correct": [is(right), is(right)]})),
            "id=id,score=correct[]",
            SEVEN,
        ),
    ]);
}

#[test]
fn names_below_outcomes_are_samples_and_counts_are_no_scores() {
    let named = |wanted: u8| {
        list(|id, _| json!(format!("q{id}")))
            .as_array()
            .cloned()
            .unwrap_or_default()
            .into_iter()
            .zip(RIGHT)
            .filter(|(_, right)| *right == wanted)
            .map(|(id, _)| id)
            .collect::<Vec<_>>()
    };
    let folder = Scratch::with("ids.json", json!({"correct_ids": named(1), "incorrect_ids": named(0)}).to_string());
    let error = score(&folder, "ids.json", &[]).expect_err("the words are not known");
    assert_eq!(advice(&error)[1], "records=*[],id=@value,score=@key", "{error}");
    let flags =
        ["--columns", "records=*[],id=@value,score=@key", "--label", "correct_ids=1", "--label", "incorrect_ids=0"];
    assert_eq!(score(&folder, "ids.json", &flags), Ok(SEVEN.to_vec()));
    for header in ["id,num_correct,num_attempts", "id,passes,attempts"] {
        let said_of = said("counts.csv", rows(header, |id, right| format!("q{id},{},10", 7 * right)));
        assert!(said_of.contains("none of them looks like the score of a sample"), "{said_of}");
    }
}

#[test]
fn ids_that_start_again_in_each_subject_are_noted() {
    // Subjects of different sizes: most questions are not in all of them.
    let subjects = [("law", 30), ("art", 40), ("logic", 20), ("physics", 50)];
    let row = |(subject, count): (&str, usize)| -> String {
        (0..count).map(|id| format!("{subject},{id},{}\n", RIGHT[id % 10])).collect()
    };
    let rows: String = subjects.into_iter().map(row).collect();
    let said_of = said("subjects.csv", format!("subject,id,score\n{rows}"));
    let note =
        "samples have attempts with several values of `subject` (`law`, `art` …), which count as attempts of one run";
    assert!(said_of.contains(note) && said_of.contains("`id=subject+id` makes them different samples"), "{said_of}");
    // Answers differ too, and say nothing of what was tried.
    let answers: String =
        (0..60).map(|row| format!("q{},{},{}\n", row / 2, ["A", "B", "C"][row % 3 * (row / 7 % 2)], row % 2)).collect();
    let said_of = said("answers.csv", format!("id,answer,score\n{answers}"));
    assert!(!said_of.contains("note:"), "{said_of}");
}

#[test]
fn models_that_are_named_only_further_down_are_not_pooled() {
    let lines = |model: Option<&str>, flip: bool| -> String {
        let record = |id: usize| {
            let right = if flip { 1 - RIGHT[id % 10] } else { RIGHT[id % 10] };
            let mut record = json!({"id": id, "score": right});
            model.into_iter().for_each(|model| record["model"] = json!(model));
            format!("{record}\n")
        };
        (0..150).map(record).collect()
    };
    let nested = |lines: String| {
        lines
            .replace("\"model\":\"a\"", "\"config\":{\"model\":\"a\"}")
            .replace("\"model\":\"b\"", "\"config\":{\"model\":\"b\"}")
    };
    let folder = Scratch::with("joined.jsonl", lines(None, false) + &lines(Some("a"), false) + &lines(Some("b"), true));
    let found = score(&folder, "joined.jsonl", &[]).expect("runs");
    assert!(found.contains(&(0.7, 150)) && found.contains(&(0.3, 150)), "{found:?}");
    folder.write("nested.jsonl", nested(folder.read("joined.jsonl")));
    assert_eq!(score(&folder, "nested.jsonl", &[]), Ok(found));
    let output = calipers().run_in(&folder, &["score", "nested.jsonl", "-m", "accuracy"]);
    let shown = text(&output.stdout);
    assert!(["1 nested.jsonl ", "2 a ", "3 b "].iter().all(|name| shown.contains(name)), "{shown}");
    let said_of = said("partly.jsonl", lines(None, false) + &lines(Some("b"), true));
    assert!(said_of.contains("150 samples with `model` in some attempts and not in others"), "{said_of}");
}

#[test]
fn models_that_are_named_only_in_the_middle_are_not_pooled() {
    let lines = |ids: std::ops::Range<usize>, model: Option<&str>| -> String {
        let record = |id: usize| {
            let mut record =
                json!({"id": id, "score": RIGHT[id % 10], "answer": "a text of some length, as answers have"});
            model.into_iter().for_each(|model| record["config"] = json!({"model": model}));
            format!("{record}\n")
        };
        ids.map(record).collect()
    };
    let middle = lines(0..200, Some("a")) + &lines(0..200, Some("b"));
    let joined = lines(1000..6000, None) + &middle + &lines(6000..11_000, None);
    let all =
        json!(joined.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect::<Vec<serde_json::Value>>());
    let folder = Scratch::with("folder/joined.jsonl", &joined);
    folder.write("joined.jsonl", &joined);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, joined.as_bytes()).expect("memory");
    folder.write("joined.jsonl.gz", encoder.finish().expect("memory"));
    folder.write("list.json", all.to_string());
    folder.write("metadata.json", all.to_string().replace("\"config\"", "\"metadata\""));
    folder.write(
        "text.jsonl",
        joined
            .replace("{\"model\":\"a\"}", "\"{\\\"model\\\":\\\"a\\\"}\"")
            .replace("{\"model\":\"b\"}", "\"{\\\"model\\\":\\\"b\\\"}\""),
    );
    let cells: String = all
        .as_array()
        .into_iter()
        .flatten()
        .map(|record| {
            let config =
                record["config"]["model"].as_str().map_or(String::new(), |model| format!("{{'model': '{model}'}}"));
            format!("{},{},{config}\n", record["id"], record["score"])
        })
        .collect();
    folder.write("cells.csv", format!("id,score,config\n{cells}"));
    let want: &[(f64, u64)] = &[(0.7, 10_000), (0.7, 200), (0.7, 200)];
    for name in ["joined.jsonl", "joined.jsonl.gz", "folder", "list.json", "metadata.json", "text.jsonl", "cells.csv"] {
        assert_eq!(score(&folder, name, &[]).expect("runs"), want, "{name}");
    }
    folder.write("below.json", json!({"results": all}).to_string());
    let columns = ["--columns", "records=results,id=id,score=score"];
    assert_eq!(score(&folder, "below.json", &columns).expect("runs"), want);
    for bytes in [joined.into_bytes(), all.to_string().into_bytes()] {
        let output = calipers().run_with_input(&["score", "-", "-m", "accuracy"], &bytes);
        let shown = text(&output.stdout);
        assert!(["1 -", "2 a ", "3 b "].iter().all(|name| shown.contains(name)), "{shown}");
    }
}

#[test]
fn a_few_records_in_the_middle_that_name_their_models_are_not_pooled() {
    let mut lines: Vec<String> = (0..20_000).map(|id| json!({"id": id, "score": 1}).to_string()).collect();
    for (place, model) in [(9000, "a"), (12_000, "b")] {
        lines.insert(place, json!({"id": "x", "score": 1, "config": {"model": model}}).to_string());
    }
    let folder = Scratch::with("few.jsonl", lines.join("\n"));
    assert_eq!(score(&folder, "few.jsonl", &[]).expect("runs"), [(1.0, 20_000), (1.0, 1), (1.0, 1)]);
}

#[test]
fn lists_below_keys_are_runs_where_they_are_longer_than_there_are_keys() {
    let wrong: Vec<u8> = RIGHT.iter().map(|right| 1 - right).collect();
    let attempts: serde_json::Map<_, _> =
        RIGHT.iter().enumerate().map(|(id, right)| (format!("q{id}"), json!([right, right]))).collect();
    check(vec![
        with_advice(
            "models.json",
            json!({"large": RIGHT, "small": wrong}).to_string(),
            "records=*[],id=@index,run=@key",
            TWO,
        ),
        with_advice("attempts.json", json!(attempts).to_string(), "records=.,score=@value[]", SEVEN),
    ]);
}

#[test]
fn pairs_of_a_number_and_a_record_are_attempts() {
    let pairs =
        |right: &u8| json!([[0, {"passed": right == &1, "result": "x"}], [1, {"passed": right == &1, "result": "y"}]]);
    let tasks: serde_json::Map<_, _> =
        RIGHT.iter().enumerate().map(|(id, right)| (id.to_string(), pairs(right))).collect();
    check(vec![with_advice("bigcode.json", json!(tasks).to_string(), "records=*[][1],score=passed", SEVEN)]);
}

#[test]
fn a_table_with_outcomes_before_answers_is_read() {
    let cell = |right: u8| format!("\"[{}] ({right}.00)\n\n4\"", word(right, ["FAIL", "PASS"]));
    let table = rows("question,[openai:a] {{question}},[openai:b] {{question}}", |id, right| {
        format!("{id}+2,{},{}", cell(right), cell(1 - right))
    });
    check(vec![at_once("eval.csv", table, TWO)]);
}

#[test]
fn the_metrics_of_a_long_table_are_runs() {
    let rows = |model: &str, metric: &str, is_same: bool| -> String {
        let value = |right: &u8| if is_same { *right } else { 1 - right };
        RIGHT.iter().enumerate().map(|(id, right)| format!("{model},{metric},q{id},{}\n", value(right))).collect()
    };
    let one = rows("m", "exact", true) + &rows("m", "strict", false);
    let two = one.clone() + &rows("n", "exact", true) + &rows("n", "strict", false);
    let header = "model,metric,question,value\n";
    check(vec![
        with_advice("one.csv", header.to_owned() + &one, "id=question,run=metric,score=value", TWO),
        with_advice(
            "two.csv",
            header.to_owned() + &two,
            "id=question,run=model+metric,score=value",
            &[TWO, TWO].concat(),
        ),
    ]);
}

#[test]
fn moments_and_names_of_models_are_no_scores() {
    let traces: String = (0..9)
        .map(|i| {
            json!({"trace_id": i / 3, "span_id": i, "start_time": 1, "end_time": 1, "name": "llm"}).to_string() + "\n"
        })
        .collect();
    let battles: String = (0..9)
        .map(|i| json!({"question_id": i, "model_a": "x", "model_b": "y", "winner": "model_a"}).to_string() + "\n")
        .collect();
    for (name, content) in [("traces.jsonl", traces), ("battles.jsonl", battles)] {
        let said = said(name, content);
        assert!(!said.contains("_time`") && !said.contains("score=model"), "{said}");
    }
    // Columns that are named after models are those of runs.
    check(vec![with_advice(
        "wide.jsonl",
        records(|id, right| json!({"question": format!("q{id}"), "model_a": right, "model_b": 1 - right})),
        "id=question,score={model_a,model_b},run=*",
        TWO,
    )]);
}

#[test]
fn samples_by_model_are_runs_of_models() {
    let answer = |right: u8| json!({"correct": is(right), "text": "…"});
    let by_sample: serde_json::Map<_, _> = RIGHT
        .iter()
        .enumerate()
        .map(|(id, right)| (format!("q{id}"), json!({"small": answer(*right), "large": answer(1 - right)})))
        .collect();
    check(vec![with_advice("samples.json", json!(by_sample).to_string(), "records=.,score=*.correct,run=*", TWO)]);
}

#[test]
fn kinds_of_values_in_a_long_table_are_no_samples() {
    let long = |header: &str| rows(header, |id, right| format!("q{id},acc,{right}\nq{id},tone,{}", 1 - right));
    check(vec![
        with_advice("keys.csv", long("sample,key,val"), "id=sample,run=key,score=val", TWO),
        // As pandas writes it.
        at_once("melted.csv", long("id,variable,value"), TWO),
    ]);
}

#[test]
fn steps_are_neither_samples_nor_scores() {
    let history: String = (0..20).map(|step| format!("{step},{},0.{}\n", 1_700_000_000 + step, 10 + step)).collect();
    let said_of = said("history.csv", format!("_step,_timestamp,eval/accuracy\n{history}"));
    assert!(said_of.contains("each row is about a `_step`, not about a sample"), "{said_of}");
    let games =
        records(|id, right| json!({"question_id": id, "g1_winner": word(right, ["tie", "model_1"]), "turn": 1}));
    let folder = Scratch::with("games.jsonl", games);
    let error = score(&folder, "games.jsonl", &[]).expect_err("words");
    assert_eq!(advice(&error)[1], "id=question_id,score=g1_winner", "{error}");
}

#[test]
fn files_of_attempts_that_share_no_sample_are_noted() {
    let table = |id: &dyn Fn(usize) -> String| rows("id,score", |place, right| format!("{},{right}", id(place)));
    let note = "no sample is in two of the 2 files";
    for (first, second, is_noted) in [
        (table(&|id| format!("{id}")), table(&|id| format!("{id}.0")), true),
        (table(&|id| format!("q{id}")), table(&|id| format!("Q{id}")), true),
        (table(&|id| format!("q{id}")), table(&|id| format!("q{id}")), false),
    ] {
        let folder = Scratch::with("a.csv", first);
        folder.write("b.csv", second);
        let output = calipers().run_in(&folder, &["score", "a.csv", "b.csv", "--attempts-from", "files"]);
        let said = text(&output.stdout) + &text(&output.stderr);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(said.contains(note), is_noted, "{said}");
    }
}

#[test]
fn other_files_in_a_folder_are_named_by_a_pattern() {
    let folder = Scratch::new();
    for (id, right) in RIGHT.iter().enumerate() {
        folder.write(&format!("res/t{id}/result.txt"), format!("{right}.0\n"));
    }
    let error = score(&folder, "res", &[]).expect_err("no extension of results");
    assert!(error.contains("by a pattern: `'res/*/*.txt'`"), "{error}");
    let columns = ["--columns", "id=@folder,score=@value,run=@path.1"];
    assert_eq!(score(&folder, "res/*/*.txt", &columns), Ok(SEVEN.to_vec()));
}

#[test]
fn files_without_records_or_json_say_so() {
    for (content, wanted) in [
        ("[]", "the file has no records"),
        ("{}", "the file has no records"),
        ("null", "the file has no records"),
        ("[{id: 1, score: 1}]", "not valid JSON: key must be a string"),
    ] {
        let said_of = said("r.json", content);
        assert!(said_of.contains(wanted), "{content}: {said_of}");
    }
    let folder = Scratch::with("r.jsonl", b"{\"id\": \"caf\xe9\", \"score\": 1}\n{\"id\": 2, \"score\": 0}\n");
    let output = calipers().run_in(&folder, &["score", "r.jsonl"]);
    assert!(text(&output.stderr).contains("save it as UTF-8"), "{}", text(&output.stderr));
}

#[test]
fn models_with_dots_in_their_names_are_all_proposed() {
    let table = rows("question,gpt-4o,claude-3.5,llama.3", |id, right| format!("q{id},{right},{},1", 1 - right));
    let three: &[(f64, u64)] = &[(0.7, 10), (0.3, 10), (1.0, 10)];
    check(vec![with_advice("wide.csv", &table, "id=question,score={gpt-4o,claude-3.5,llama.3},run=*", three)]);
    let folder = Scratch::with("wide.csv", &table);
    let quoted = ["--columns", "id=question,score={gpt-4o,\"claude-3.5\",llama.3},run=*"];
    assert_eq!(score(&folder, "wide.csv", &quoted), Ok(three.to_vec()));
    // A name in braces that no record has is not left out in silence.
    for columns in ["id=question,score={gpt-4o,claude},run=*", "id=question,score.*={gpt-4o,claude}"] {
        let error = score(&folder, "wide.csv", &["--columns", columns]).expect_err("a name that is not there");
        assert!(error.contains("no record has `claude`"), "{error}");
    }
}

#[test]
fn a_list_of_runs_with_the_same_samples_is_proposed_as_runs() {
    let run = |flip: bool| list(|id, right| json!({"question_id": id, "is_correct": is(right) != flip}));
    let runs = json!([{"run_id": 1, "results": run(false)}, {"run_id": 2, "results": run(true)}]);
    check(vec![with_advice("runs.json", runs, "records=results,id=question_id,run=^run_id,score=is_correct", TWO)]);
}

#[test]
fn merged_cells_that_named_the_model_are_noted() {
    let block = |model: &str, flip: bool| -> String {
        let row = |(id, right): (usize, &u8)| {
            format!("{},q{id},{}\n", if id == 0 { model } else { "" }, if flip { 1 - right } else { *right })
        };
        RIGHT.iter().enumerate().map(row).collect()
    };
    let said_of = said("merged.csv", format!("model,id,score\n{}{}", block("a", false), block("b", true)));
    assert!(said_of.contains("`model` is empty in most records, and these name no run"), "{said_of}");
    let said_of = said("whole.csv", rows("model,id,score", |id, right| format!("a,q{id},{right}")));
    assert!(!said_of.contains("is empty"), "{said_of}");
}

#[test]
fn outcomes_come_before_numbers_beside_them() {
    check(vec![
        with_advice(
            "nameless.csv",
            RIGHT
                .iter()
                .enumerate()
                .map(|(id, right)| {
                    format!("\"What is {id}?\",x,A,{},0.2,0.3,0.1,0.4\n", word(*right, ["False", "True"]))
                })
                .collect::<String>(),
            "id=column 1,score=column 4",
            SEVEN,
        ),
        with_advice(
            "feedback.jsonl",
            records(|id, right| {
                json!({"id": format!("r{id}"), "run_type": "chain",
                    "feedback_stats": {"correctness": {"n": 1, "avg": right, "values": {}}}})
            }),
            "id=id,score=feedback_stats.correctness.avg",
            SEVEN,
        ),
        with_advice(
            "cells.csv",
            rows("id,scores", |id, right| format!("q{id},\"[{right}, {right}]\"")),
            "id=id,score=scores[]",
            SEVEN,
        ),
        with_advice(
            "answers.jsonl",
            records(
                |id, right| json!({"task_id": format!("g{id}"), "Level": "1", "prediction": word(right, ["Rome", "Paris"]), "true_answer": "Paris"}),
            ),
            "id=task_id,predicted=prediction,actual=true_answer",
            SEVEN,
        ),
        with_advice(
            "raters.csv",
            rows("item_id,rater1,rater2", |id, right| format!("q{id},{},{}", 5 * right, 2 + right)),
            "id=item_id,score.rater1=rater1,score.rater2=rater2",
            &[(3.5, 10)],
        ),
    ]);
    let of = |name: &str, turned: bool| {
        let results = map(|id, right| (format!("q{id}"), json!({"score": if turned { 1 - right } else { right }})));
        json!({"name": name, "results": results})
    };
    check(vec![with_advice(
        "models.json",
        json!({"a": of("A", false), "b": of("B", true)}),
        "records=*.results.*,run=^^@key,score=score",
        TWO,
    )]);
    // Who won is asked for, and not what else is true or false.
    let arena = records(|id, right| {
        json!({"question_id": format!("x{id}"), "model_a": "A", "model_b": "B", "winner": word(right, ["model_b", "model_a"]),
            "anony": true, "tstamp": 1 + id})
    });
    let folder = Scratch::with("arena.jsonl", arena);
    let flags = advice(&score(&folder, "arena.jsonl", &[]).expect_err("no score is known"));
    assert_eq!(flags[1], "id=question_id,score=winner");
    let labels = ["--label", "model_a=1", "--label", "model_b=0"];
    let flags: Vec<&str> = flags.iter().map(String::as_str).chain(labels).collect();
    assert_eq!(score(&folder, "arena.jsonl", &flags), Ok(SEVEN.to_vec()));
}

#[test]
fn comments_and_records_in_one_line_are_taken_apart_by_what_is_proposed() {
    let lines = "// results\n[{\"id\": 1, \"score\": 1},\n // the second\n {\"id\": 2, \"score\": 0}]\n";
    assert!(said("r.json", lines).contains("`sed 's|^ *//.*||' r.json > results.json`"));
    let within = "// results\n[{\"id\": 1, \"score\": 1}, // good\n {\"id\": 2, \"score\": 0},\n]\n";
    assert!(said("r.json", within).contains("`npx json5 r.json > results.json`"));
    let joined = "{\"id\":1,\"score\":1}{\"id\":2,\"score\":0}\n";
    assert!(said("r.jsonl", joined).contains("`jq -c . r.jsonl > results.jsonl`"));
}

#[test]
fn apps_and_sessions_are_what_was_tried() {
    for name in ["app_id", "session_name", "experiment_id"] {
        let header = format!("record_id,{name},score");
        let table = rows(&header, |id, right| format!("rec{id},{},{right}", ["one", "two"][id % 2]));
        let said_of = said("r.csv", table);
        assert!(said_of.contains(&format!("`run={name}` tells them apart")), "{said_of}");
    }
}

#[test]
fn lists_that_begin_with_a_number_are_named_by_it() {
    // The number was taken for a score beside the outcome: 2.6 for ten samples with two attempts each.
    let lists = records(|id, right| json!([id, right]));
    let folder = Scratch::with("r.jsonl", lists);
    let error = score(&folder, "r.jsonl", &[]).expect_err("nothing is known of it");
    let flags = advice(&error);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    assert_eq!(score(&folder, "r.jsonl", &flags), Ok(SEVEN.to_vec()), "{error}");
    // Outcomes of attempts, of which the first may be any number.
    folder.write("attempts.jsonl", records(|_, right| json!([right, 1 - right])));
    let error = score(&folder, "attempts.jsonl", &[]).expect_err("nothing is known of it");
    assert!(advice(&error)[1].contains("score=@value[]"), "{error}");
}

#[test]
fn who_did_it_is_no_score() {
    // The number of the annotator was proposed, and gave 1 for all.
    let tasks = list(|id, right| {
        let choice = json!({"type": "choices", "value": {"choices": [word(right, ["Incorrect", "Correct"])]}});
        json!({"id": id, "data": {"text": "x"}, "annotations": [{"id": 100 + id, "completed_by": 1, "result": [choice]}]})
    });
    let folder = Scratch::with("r.json", tasks.to_string());
    let error = score(&folder, "r.json", &[]).expect_err("nothing is known of it");
    assert!(!error.contains("=annotations[].completed_by"), "{error}");
    let flags = ["--columns", "id=id,score=annotations[0].result[0].value.choices[0]"];
    assert_eq!(score(&folder, "r.json", &flags), Ok(SEVEN.to_vec()));
}

#[test]
fn tasks_below_models_are_all_proposed() {
    // Of two tasks the first was proposed alone: 0.7 and 0.3 for ten samples each.
    let task = |model: &str, task: &str| {
        let is_right = |right: u8| if model == "a" { right } else { 1 - right };
        let score = |right: u8| if task == "law" { is_right(right) } else { 1 };
        map(|id, right| (format!("q{id}"), json!(score(right))))
    };
    let model = |name: &str| json!({"law": task(name, "law"), "art": task(name, "art")});
    let folder = Scratch::with("r.json", json!({"a": model("a"), "b": model("b")}).to_string());
    let error = score(&folder, "r.json", &[]).expect_err("nothing is known of it");
    let flags = advice(&error);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    assert_eq!(score(&folder, "r.json", &flags), Ok(vec![(0.85, 20), (0.65, 20)]), "{error}");
}

#[test]
fn json_in_texts_is_proposed_and_read() {
    let inner = |right: u8| json!({"score": right, "why": "x"}).to_string();
    for (file, content) in [
        ("field.jsonl", records(|id, right| json!({"id": id, "result": inner(right)}))),
        (
            "all.jsonl",
            records(|id, right| json!({"key": "k", "payload": json!({"id": id, "score": right}).to_string()})),
        ),
        ("list.json", list(|id, right| json!({"id": id, "result": inner(right)})).to_string()),
    ] {
        let folder = Scratch::with(file, content);
        let error = score(&folder, file, &[]).expect_err(file);
        let flags = advice(&error);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        assert_eq!(score(&folder, file, &flags), Ok(SEVEN.to_vec()), "{file}: {error}");
    }
    // A score that is such a text names what is in it.
    let folder = Scratch::with("score.jsonl", records(|id, right| json!({"id": id, "score": inner(right)})));
    let error = score(&folder, "score.jsonl", &[]).expect_err("a text");
    assert!(error.contains("as in `--columns score=score.score`"), "{error}");
    assert_eq!(score(&folder, "score.jsonl", &["--columns", "score=score.score"]), Ok(SEVEN.to_vec()));
    // A whole document in quotes is taken out of them.
    let quoted = json!(list(|id, right| json!({"id": id, "score": right})).to_string());
    folder.write("quoted.json", quoted.to_string());
    let error = score(&folder, "quoted.json", &[]).expect_err("in quotes");
    assert!(error.contains("JSON in quotes") && error.contains("`jq fromjson quoted.json > results.json`"), "{error}");
}

#[cfg(unix)]
#[test]
fn outputs_of_test_runners_are_named_with_what_makes_a_table_of_them() {
    let typed = |folder: &Scratch, error: &str, start: &str| {
        let from = error.find(&format!("`{start}")).unwrap_or_else(|| panic!("no `{start}` in: {error}")) + 1;
        let command = error[from..].split('`').next().unwrap_or_default();
        let status = std::process::Command::new("sh").args(["-c", command]).current_dir(folder.join("")).status();
        assert!(status.is_ok_and(|status| status.success()), "{command}");
    };
    let tests: String = RIGHT
        .iter()
        .enumerate()
        .map(|(id, right)| format!("{} {} - case {id}\n", word(*right, ["not ok", "ok"]), id + 1))
        .collect();
    for content in [format!("TAP version 13\n1..10\n{tests}"), format!("1..10\n{tests}"), format!("{tests}1..10\n")] {
        let folder = Scratch::with("r.tap", content);
        let error = score(&folder, "r.tap", &[]).expect_err("no table");
        assert!(error.contains("the file is TAP, the output of a test runner, which is not read"), "{error}");
        typed(&folder, &error, "awk ");
        assert_eq!(score(&folder, "results.csv", &[]), Ok(SEVEN.to_vec()));
    }
    // What was skipped has no outcome.
    let folder = Scratch::with("r.tap", format!("{tests}ok 11 # SKIP no key\nnot ok 12 # TODO later\n"));
    let error = score(&folder, "r.tap", &[]).expect_err("no table");
    typed(&folder, &error, "awk ");
    assert_eq!(score(&folder, "results.csv", &[]), Ok(SEVEN.to_vec()));
    let case =
        |id: usize, right: u8| format!("<test-case id=\"t{id}\" result=\"{}\"/>", word(right, ["Failed", "Passed"]));
    let cases: String = RIGHT.iter().enumerate().map(|(id, right)| case(id, *right)).collect();
    for content in [
        format!("<?xml version=\"1.0\"?>\n<test-run id=\"2\"><test-suite>{cases}</test-suite></test-run>"),
        format!("<run>{cases}</run>"),
    ] {
        let folder = Scratch::with("r.xml", content);
        let error = score(&folder, "r.xml", &[]).expect_err("no table");
        assert!(error.contains("the file is XML of another kind than JUnit, which is not read"), "{error}");
        typed(&folder, &error, "python3 ");
        assert_eq!(score(&folder, "results.jsonl", &["--columns", "id=id,score=result"]), Ok(SEVEN.to_vec()));
    }
}

#[test]
fn each_of_many_files_in_a_folder_is_a_sample() {
    // The folders were proposed as samples: 0.5 for two of them, with ten attempts each.
    let folder = Scratch::new();
    for (id, right) in RIGHT.iter().enumerate() {
        folder.write(&format!("results/a/t{id}.json"), json!({"task": format!("t{id}"), "score": right}).to_string());
        folder
            .write(&format!("results/b/t{id}.json"), json!({"task": format!("t{id}"), "score": 1 - right}).to_string());
    }
    let error = score(&folder, "results", &[]).expect_err("nothing is known of it");
    let error = &error[..error.find("\nerror").unwrap_or(error.len())];
    let flags = advice(error);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    assert_eq!(score(&folder, "results", &flags), Ok(vec![(0.7, 10), (0.3, 10)]), "{error}");
}

#[cfg(unix)]
#[test]
fn a_table_that_is_turned_around_names_its_samples() {
    let cells = |row: &dyn Fn(u8) -> u8| RIGHT.map(|right| row(right).to_string()).join(",");
    let names: Vec<String> = (0..RIGHT.len()).map(|id| format!("q{id}")).collect();
    let table = format!("model,{}\na,{}\nb,{}\n", names.join(","), cells(&|right| right), cells(&|right| 1 - right));
    let folder = Scratch::with("r.csv", table);
    let error = score(&folder, "r.csv", &[]).expect_err("rows are about models");
    let command = error[error.find("`python3 ").expect("a command") + 1..].split('`').next().unwrap();
    let status = std::process::Command::new("sh").args(["-c", command]).current_dir(folder.join("")).status();
    assert!(status.is_ok_and(|status| status.success()), "{command}");
    let error = score(&folder, "turned.csv", &[]).expect_err("nothing is known of it");
    let flags = advice(&error);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    assert_eq!(score(&folder, "turned.csv", &flags), Ok(vec![(0.7, 10), (0.3, 10)]), "{error}");
}

#[test]
fn words_of_other_languages_and_of_databases_are_understood() {
    for words in [["нет", "да"], ["错", "对"], ["ko", "ok"], ["off", "on"], ["Wrong Answer", "Accepted"]] {
        let folder = Scratch::with("r.csv", rows("id,score", |id, right| format!("q{id},{}", word(right, words))));
        let error = score(&folder, "r.csv", &[]).expect_err("labels");
        let labels = words.map(|word| format!("{word}={}", u8::from(word == words[1])));
        assert!(labels.iter().all(|label| error.contains(&format!("--label '{label}'"))), "{error}");
        assert_eq!(score(&folder, "r.csv", &["--label", &labels[0], "--label", &labels[1]]), Ok(SEVEN.to_vec()));
    }
    let folder = Scratch::with("r.tsv", rows("id\tscore", |id, right| format!("q{id}\t{right}")) + "q10\t\\N\n");
    assert_eq!(score(&folder, "r.tsv", &[]), Ok(SEVEN.to_vec()));
}

#[test]
fn what_a_search_or_a_server_says_of_a_record_is_no_score() {
    // Both were proposed: 1 for all records, and 200.
    let hit = |id: usize, right: u8| json!({"_id": format!("e{id}"), "_score": 1.0, "_source": {"qid": id, "correct": right == 1}});
    let folder = Scratch::with("r.json", json!({"hits": {"total": 10, "hits": list(hit)}}).to_string());
    let error = score(&folder, "r.json", &[]).expect_err("nothing is known of it");
    let flags = advice(&error);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    assert_eq!(score(&folder, "r.json", &flags), Ok(SEVEN.to_vec()), "{error}");
    let batch = records(
        |id, _| json!({"id": id, "response": {"status_code": 200, "body": {"choices": [{"index": 0, "text": "x"}]}}}),
    );
    folder.write("batch.jsonl", batch);
    let error = score(&folder, "batch.jsonl", &[]).expect_err("nothing is known of it");
    assert!(error.contains("none of them looks like the score of a sample"), "{error}");
}

#[test]
fn parts_of_a_dataset_are_runs() {
    let part = |name: &str, is_test: bool| {
        list(|id, right| json!({"id": format!("{name}{id}"), "score": if is_test { right } else { 1 }}))
    };
    let folder = Scratch::with("r.json", json!({"train": part("a", false), "test": part("q", true)}).to_string());
    let error = score(&folder, "r.json", &[]).expect_err("nothing is known of it");
    let flags = advice(&error);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    assert_eq!(score(&folder, "r.json", &flags), Ok(vec![(1.0, 10), (0.7, 10)]), "{error}");
}

#[test]
fn what_failed_beside_the_records_is_noted() {
    let samples = list(|id, right| json!({"id": id, "score": right}));
    let folder = Scratch::with("r.json", json!({"results": samples, "failed": ["x1", "x2"], "errors": []}).to_string());
    let output = calipers().run_in(&folder, &["score", "r.json", "--columns", "records=results"]);
    let said = text(&output.stdout);
    assert!(said.contains("note: `failed` beside the records has 2 entries, and was not read"), "{said}");
    assert!(!said.contains("`errors`"), "{said}");
}

#[test]
fn attempts_with_ids_of_their_own_are_no_samples() {
    let rows = |header: &str, row: &dyn Fn(usize, usize, usize) -> String| {
        let attempts = (0..3).flat_map(|trial| (0..10).map(move |question| (question, trial)));
        let lines = attempts.enumerate().map(|(id, (question, trial))| row(id, question, trial) + "\n");
        format!("{header}\n{}", lines.collect::<String>())
    };
    let table = |attempt: &str| {
        rows(&format!("id,question_id,{attempt},score"), &|id, question, trial| format!("{id},q{question},{trial},1"))
    };
    let folder = Scratch::with("policy.json", r#"{"thresholds": {"blocking": {"accuracy": 85}}, "confidence": "95%"}"#);
    let gate = |file: &str, flags: &[&str]| {
        calipers().run_in(&folder, &[&["gate", file, "--policy", "policy.json"], flags].concat())
    };
    for attempt in ["trial", "epoch", "seed", "attempt_no"] {
        folder.write("r.csv", table(attempt));
        let error = score(&folder, "r.csv", &[]).expect_err(attempt);
        let what = format!("each record has an id of its own, and is an attempt, as `question_id` and `{attempt}` say");
        assert!(error.contains(&what), "{error}");
        assert_eq!(advice(&error), ["--columns", "id=question_id"]);
        assert_eq!(gate("r.csv", &[]).status.code(), Some(2));
        assert_eq!(score(&folder, "r.csv", &["--columns", "id=question_id"]), Ok(vec![(1.0, 10)]), "{attempt}");
        // Thirty passes would be enough, ten are not.
        assert_eq!(gate("r.csv", &["--columns", "id=question_id"]).status.code(), Some(3));
        assert_eq!(score(&folder, "r.csv", &["--columns", "id=id"]), Ok(vec![(1.0, 30)]), "{attempt}");
    }
    // In other kinds of tables, however they are read.
    let lines = rows("", &|id, question, trial| {
        json!({"id": format!("r{id}"), "task_id": question, "trial": trial, "score": 1.0}).to_string()
    });
    folder.write("r.jsonl", lines.trim_start());
    assert_eq!(advice(&score(&folder, "r.jsonl", &[]).expect_err("attempts")), ["--columns", "id=task_id"]);
    // Several questions of one task, each tried once, or of several models, are samples.
    folder.write("tasks.csv", rows("id,task_id,trial,score", &|id, _, _| format!("{id},t{},1,1", id % 5)));
    assert_eq!(score(&folder, "tasks.csv", &[]), Ok(vec![(1.0, 30)]));
    folder.write("seeds.csv", rows("id,question_id,seed,score", &|id, _, _| format!("{id},q{id},{},1", id % 3)));
    assert_eq!(score(&folder, "seeds.csv", &[]), Ok(vec![(1.0, 30)]));
}
